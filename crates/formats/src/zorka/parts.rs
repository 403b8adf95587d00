//! What the names of parts say: which definitions go with which traces, and the order of chunks.

use std::collections::{HashMap, HashSet};

use crate::Part;

/// A part's name taken apart: `folder/STEM[.agd|.trc].chunkN.bin`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PartName<'a> {
    /// Folder with its slash, or nothing.
    pub(crate) folder: &'a str,
    /// What traces, definitions and chunks of one capture have in common.
    pub(crate) stem: &'a str,
    /// The chunk's number.
    pub(crate) chunk: Option<u64>,
    /// A table of symbols in JSON.
    pub(crate) json: bool,
}

impl<'a> PartName<'a> {
    pub(crate) fn of(name: &'a str) -> Self {
        let (folder, file) = match name.rfind('/') {
            Some(slash) => name.split_at(slash + 1),
            None => ("", name),
        };
        let json = file.ends_with(".symbols.json");
        let mut stem = file.strip_suffix(".symbols.json").unwrap_or(file);
        stem = stem.strip_suffix(".bin").unwrap_or(stem);
        let mut chunk = None;
        if let Some((before, number)) = stem.rsplit_once(".chunk")
            && let Ok(number) = number.parse()
        {
            chunk = Some(number);
            stem = before;
        }
        for mark in [".agd", ".trc", "-agd", "-trc"] {
            stem = stem.strip_suffix(mark).unwrap_or(stem);
        }
        Self {
            folder,
            stem,
            chunk,
            json,
        }
    }
}

/// Groups the parts of each folder that Zorka wrote: one folder is one session (SPEC.md §3).
pub(crate) fn set(parts: &[Part]) -> Vec<Vec<usize>> {
    let known = |part: &Part| {
        let name = part.format.map_or("", |format| format.name);
        name.starts_with("zorka-") && name != "zorka-store"
    };
    let captures: HashSet<(&str, &str)> = parts
        .iter()
        .filter(|part| known(part))
        .map(|part| PartName::of(&part.name))
        .map(|name| (name.folder, name.stem))
        .collect();
    // A chunk may be the middle of a string: its siblings say what it is.
    let piece = |part: &Part| {
        let name = PartName::of(&part.name);
        part.format.is_none()
            && name.chunk.is_some()
            && captures.contains(&(name.folder, name.stem))
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_folder: HashMap<&str, usize> = HashMap::new();
    for (at, part) in parts.iter().enumerate() {
        if !known(part) && !piece(part) {
            continue;
        }
        let folder = PartName::of(&part.name).folder;
        let number = *of_folder.entry(folder).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups.into_iter().filter(|group| group.len() > 1).collect()
}
