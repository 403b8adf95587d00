//! Which parts belong together: the streams of one process.

use std::collections::BTreeMap;

use super::probe::Stream;
use crate::Part;

fn is_ours(part: &Part) -> bool {
    part.format.is_some_and(|format| {
        super::STREAMS_OF_A_PROCESS
            .iter()
            .any(|ours| ours.name == format.name)
    })
}

/// Splits an agent's path `…/<restart>/<stream>/<number>` into the restart's folder and the stream;
/// `None` for a part in another place.
fn agent_path(name: &str) -> Option<(&str, &str)> {
    let (folder, file) = name.rsplit_once('/')?;
    let number = file.split(['.', '-']).next().unwrap_or(file);
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (restart, stream) = match folder.rsplit_once('/') {
        Some((restart, stream)) => (restart, stream),
        None => ("", folder),
    };
    Stream::of(stream).map(|_| (restart, stream))
}

/// Returns true if a restart's folder is part of an agent's dump: `<yyyy>/<MM>/<dd>/<startMs>`.
fn is_restart(folder: &str) -> bool {
    let last = folder.rsplit('/').next().unwrap_or(folder);
    last.len() >= 12 && last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the folder of the server that a restart belongs to: four levels up.
fn server_folder(folder: &str) -> &str {
    let mut folder = folder;
    for _ in 0..4 {
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
    folder
}

/// Groups the parts of an agent's dump directory by process restart.
///
/// A restart without params takes those of another restart of its server: the agent writes them once
/// (§9).
pub(super) fn dump(parts: &[Part]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        if let Some((restart, _)) = agent_path(&part.name)
            && is_ours(part)
            && is_restart(restart)
        {
            groups.entry(restart).or_default().push(index);
        }
    }
    let is_params = |index: &&usize| {
        let part = parts.get(**index);
        part.and_then(|part| part.format) == Some(&super::PARAMS)
    };
    let mut spare_params: BTreeMap<&str, usize> = BTreeMap::new();
    for (restart, members) in &groups {
        if let Some(&index) = members.iter().find(is_params) {
            spare_params.entry(server_folder(restart)).or_insert(index);
        }
    }
    let complete = |(restart, mut members): (&str, Vec<usize>)| {
        if members.iter().find(is_params).is_none()
            && let Some(&index) = spare_params.get(server_folder(restart))
        {
            members.push(index);
        }
        members
    };
    groups.into_iter().map(complete).collect()
}

/// Groups collector streams: by pod where each pod has a folder, else by the folder of the files.
pub(super) fn streams(parts: &[Part]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, part) in parts.iter().enumerate() {
        if !is_ours(part) {
            continue;
        }
        let folder = match agent_path(&part.name) {
            Some((restart, _)) if is_restart(restart) => continue,
            Some((pod, _)) => pod,
            None => part.name.rsplit_once('/').map_or("", |(folder, _)| folder),
        };
        groups.entry(folder).or_default().push(index);
    }
    groups
        .into_values()
        .filter(|members| members.len() > 1)
        .collect()
}
