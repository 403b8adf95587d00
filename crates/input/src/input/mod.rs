//! An opened path: its parts, their formats, and what belongs together.

mod document;
mod named;

pub use document::Document;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use traceloom_formats::protocol::Identity;
use traceloom_formats::{
    Error as FormatError, FORMATS, Format, PROBED, Part, Probe, Pull, Reader, RecordSink, Unknown,
    detect, drive, info,
};
use traceloom_model::{Flow, Limits, Note};

use crate::intake::Intake;
use crate::store::{Store, StoredBytes, piece_starts};
use crate::{Buffers, Error, Progress, Streams, Wrapper, captures};
use named::{chosen_parts, file_parts, folder_parts, opened};

/// How to open an input.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Read every part as this format instead of asking all of them; of a format of sets, all parts as one.
    pub format: Option<&'static Format>,
    /// Limits in force.
    pub limits: Limits,
    /// Counts what is taken in before reading can begin: standard input, members of an archive.
    pub opening: Progress,
    /// What came from standard input and pipes, which can be read once, for those who open them again.
    pub streams: Streams,
    /// Buffers that inputs which are read one after another share.
    pub buffers: Buffers,
}

/// A part of an input.
#[derive(Debug)]
pub struct InputPart {
    /// Name, format and size.
    pub part: Part,
    /// Why there is no format.
    pub unknown: Option<Unknown>,
    /// The part that holds this one's bytes: a recorded conversation.
    pub inside: Option<usize>,
    stored: Arc<StoredBytes>,
}

impl InputPart {
    /// Returns the compression around it, outermost first.
    #[must_use]
    pub fn wrappers(&self) -> &[Wrapper] {
        &self.stored.wrappers
    }

    /// Returns who sent it, where a collector received it.
    #[must_use]
    pub fn sender(&self) -> Option<&Identity> {
        self.stored.sender.as_deref()
    }

    /// Returns the bytes it takes where it is stored.
    #[must_use]
    pub fn stored_size(&self) -> u64 {
        self.stored.size
    }
}

/// An opened path.
#[derive(Debug)]
pub struct Input {
    path: String,
    /// The folder that names of parts count from, empty inside of archives.
    location: String,
    folder: bool,
    /// The parts are those of captures, whose ids their names begin with.
    of_captures: bool,
    parts: Vec<InputPart>,
    sets: Vec<(Option<&'static Format>, Vec<usize>)>,
    unread: Vec<Error>,
    progress: Progress,
}

impl Input {
    /// Opens a file, a folder, an archive, a pipe, standard input for `-`, or captures of a collector's data folder for
    /// `DATA#ID`.
    ///
    /// # Errors
    /// When the path cannot be read, or is not valid UTF-8. Bytes that no format knows are not an error: they are a
    /// part without format.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, Error> {
        let path = path.as_ref();
        match path.to_str() {
            Some(path) => Self::open_text(path, options),
            None => Err(Error::about(path, "the path is not valid UTF-8")),
        }
    }

    fn open_text(path: &str, options: &OpenOptions) -> Result<Self, Error> {
        let progress = Progress::default();
        let (opening, buffers) = (options.opening.clone(), options.buffers.clone());
        let intake = Arc::new(Intake::new(options.limits, opening, buffers));
        let chosen = captures::ChosenCaptures::of(path);
        let folder = chosen.is_some() || (path != "-" && Path::new(path).is_dir());
        let (mut stored, unread) = match &chosen {
            Some(chosen) => (chosen_parts(chosen, &intake)?, Vec::new()),
            None if folder => folder_parts(path, &intake)?,
            None => (file_parts(path, options, &intake)?, Vec::new()),
        };
        let archived = stored.len() > 1
            || stored
                .iter()
                .any(|(_, s)| s.wrappers.iter().any(|wrapper| wrapper.is_archive()));
        let is_marker = |name: &str| name.rsplit('/').next() == Some(crate::save::MARKER);
        stored.retain(|(name, _)| !name.is_empty() && !is_marker(name));
        let names: Vec<String> = stored.iter().map(|(name, _)| name.clone()).collect();
        let mut parts = Vec::new();
        let siblings = FilesByFolder::of(&names);
        for (name, stored) in stored {
            let beside = siblings.beside(&name);
            parts.push(recognise(name, stored, None, beside, options)?);
        }
        let mut input = Self {
            path: path.to_owned(),
            location: if archived && !folder {
                String::new()
            } else {
                location(path, folder)
            },
            folder: folder || archived,
            of_captures: chosen.is_some()
                || (folder && captures::DataFolder::is_at(Path::new(path))),
            parts,
            sets: Vec::new(),
            unread,
            progress,
        };
        input.add_members(0, options)?;
        input.group(options.format);
        Ok(input)
    }

    /// Returns the path as it was given.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// Returns why files and subfolders of the folder are not among the parts: the system refused them.
    #[must_use]
    pub fn unread(&self) -> &[Error] {
        &self.unread
    }

    /// Returns true if this is a folder or an archive, which may hold many parts.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.folder
    }

    /// Returns true if the parts are those of captures, whose ids their names begin with.
    #[must_use]
    pub fn is_of_captures(&self) -> bool {
        self.of_captures
    }

    /// Returns the parts, in the order of their names.
    #[must_use]
    pub fn parts(&self) -> &[InputPart] {
        &self.parts
    }

    /// Returns the recordings: sets first, then parts that stand alone.
    pub fn documents(&self) -> impl Iterator<Item = Document<'_>> {
        self.sets
            .iter()
            .map(|(format, members)| Document::new(self, *format, members.clone()))
    }

    /// Returns the parts that hold others.
    fn containers(&self) -> HashSet<usize> {
        self.parts.iter().filter_map(|part| part.inside).collect()
    }

    /// Returns the counter of stored bytes read, which begins at 0: the parts inside another count in its
    /// place.
    pub fn start_progress(&self) -> &Progress {
        let containers = self.containers();
        let read = self
            .parts
            .iter()
            .enumerate()
            .filter(|(at, _)| !containers.contains(at));
        self.progress
            .begin(read.map(|(_, part)| part.stored_size()).sum());
        self.parts
            .iter()
            .for_each(|part| part.stored.mark.restart());
        &self.progress
    }

    /// Returns the counter of stored bytes read.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Returns the stored bytes of all parts.
    #[must_use]
    pub fn stored_size(&self) -> u64 {
        let outer = self.parts.iter().filter(|part| part.inside.is_none());
        outer.map(InputPart::stored_size).sum()
    }

    /// Runs a reader over a part from `offset` on; what is wrong with its bytes adds notes at the end.
    ///
    /// Returns false when the sink broke.
    ///
    /// # Errors
    /// When the part cannot be read.
    pub fn read(
        &self,
        part: usize,
        offset: u64,
        reader: &mut dyn Reader,
        out: &mut dyn RecordSink,
    ) -> Result<bool, FormatError> {
        let mut pull = self.pull(part, offset)?;
        if !drive(pull.as_mut(), reader, out)? {
            return Ok(false);
        }
        let told = |note| out.note(note) == Flow::Continue(());
        Ok(self.notes(part).into_iter().all(told))
    }

    /// Returns what is wrong with the bytes of a part before any format looks at them, as far as they were
    /// read: a compressed stream that stops or is damaged, a member that its archive does not hold whole.
    #[must_use]
    pub fn notes(&self, part: usize) -> Vec<Note> {
        let part = self.parts.get(part);
        part.map_or_else(Vec::new, |part| part.stored.notes())
    }

    /// Returns the length of a part's decoded bytes, decoding them where it is not known.
    ///
    /// # Errors
    /// When the part cannot be read.
    pub fn decoded_size(&self, part: usize) -> Result<u64, Error> {
        let part = self.parts.get(part);
        let part = part.ok_or_else(|| Error::about(&self.path, "there is no such part"))?;
        match part.stored.decoded_size() {
            Some(size) => Ok(size),
            None => Ok(part.stored.spool(&self.progress)?.size()),
        }
    }

    /// Opens a part at `offset` of its decoded bytes.
    ///
    /// # Errors
    /// When there is no such part, or it cannot be opened.
    pub fn pull(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        let part = self.parts.get(part);
        let part = part.ok_or_else(|| Error::about(&self.path, "there is no such part"))?;
        part.stored.pull(offset, &self.progress)
    }

    /// Adds the members of the parts from `from` on; members that were compressed may have their own, once.
    fn add_members(&mut self, from: usize, options: &OpenOptions) -> Result<(), Error> {
        let mut found = Vec::new();
        for (at, part) in self.parts.iter().enumerate().skip(from) {
            if from > 0 && part.wrappers().is_empty() {
                continue;
            }
            let Some(list) = part.part.format.and_then(|format| format.members) else {
                continue;
            };
            let mut pull = self.pull(at, 0)?;
            let members = list(pull.as_mut(), &options.limits)
                .map_err(|error| Error::about(&part.stored.path, error.to_string()))?;
            found.extend(members.into_iter().map(|member| (at, member)));
        }
        // Two recordings may hold members of the same names: each then has a folder of its own.
        let recordings: BTreeSet<usize> = found.iter().map(|(at, _)| *at).collect();
        let mut opened_members = Vec::new();
        for (at, member) in found {
            let Some(outer) = self.parts.get(at) else {
                continue;
            };
            let whole = outer.stored.clone();
            let name = match recordings.len() {
                1 if from == 0 => member.name.clone(),
                _ => format!("{}/{}", outer.part.name, member.name),
            };
            let path = format!("{}#{}", whole.path, member.name);
            let (starts, size) = piece_starts(&member.pieces);
            let stored = || {
                let store = Store::Pieces {
                    whole: whole.clone(),
                    pieces: member.pieces.clone(),
                    starts: starts.clone(),
                };
                let mut stored = StoredBytes::new(path.clone(), store, size).of(&whole.intake);
                stored.opening.clone_from(&member.notes);
                stored
            };
            // What is compressed in a way nobody opens stays as it is: a part without format.
            let inner = opened(name.clone(), stored(), false, 0);
            let inner = inner.unwrap_or_else(|_| vec![(name, stored())]);
            opened_members.extend(inner.into_iter().map(|(name, stored)| (at, name, stored)));
        }
        let names: Vec<String> = opened_members
            .iter()
            .map(|(_, name, _)| name.clone())
            .collect();
        let first = self.parts.len();
        let siblings = FilesByFolder::of(&names);
        for (at, name, stored) in opened_members {
            let beside = siblings.beside(&name);
            let guessed = OpenOptions {
                format: None,
                ..options.clone()
            };
            self.parts
                .push(recognise(name, stored, Some(at), beside, &guessed)?);
        }
        match from {
            0 if first < self.parts.len() => self.add_members(first, options),
            _ => Ok(()),
        }
    }

    /// Puts together what belongs together. Read as `forced`, a format of sets, everything does that the set does not
    /// take apart.
    fn group(&mut self, forced: Option<&'static Format>) {
        let plain: Vec<Part> = self.parts.iter().map(|part| part.part.clone()).collect();
        if let Some(format) = forced
            && format.reader.is_none()
            && let Some(set) = format.set
        {
            let mut groups = set(&plain);
            if groups.is_empty() && !plain.is_empty() {
                groups.push((0..plain.len()).collect());
            }
            let groups = groups.into_iter().map(|group| (Some(format), group));
            self.sets.extend(groups);
            return;
        }
        let mut taken: Vec<Option<&Format>> = vec![None; plain.len()];
        for format in FORMATS {
            let Some(set) = format.set else { continue };
            for group in set(&plain) {
                // Groups of one format may share a part: restarts of a process their params.
                let of = |at: &usize| taken.get(*at).copied().flatten();
                let free = |at: &usize| of(at).is_none_or(|other| other == *format);
                let is_new = group.iter().any(|at| of(at).is_none());
                if !is_new || !group.iter().all(free) {
                    continue;
                }
                for &at in &group {
                    if let Some(owner) = taken.get_mut(at) {
                        *owner = Some(*format);
                    }
                }
                self.sets.push((Some(*format), group));
            }
        }
        let containers = self.containers();
        for (at, part) in self.parts.iter().enumerate() {
            if taken.get(at) == Some(&None) && !containers.contains(&at) {
                self.sets.push((part.part.format, vec![at]));
            }
        }
    }
}

fn recognise(
    name: String,
    mut stored: StoredBytes,
    inside: Option<usize>,
    siblings: &[&str],
    options: &OpenOptions,
) -> Result<InputPart, Error> {
    // Parts of a set have formats of their own; `group` puts them together.
    let forced = options.format.filter(|format| format.reader.is_some());
    let look = |len: usize| {
        let head = stored.head(len)?;
        let probe = Probe {
            head: &head,
            whole: head.len() < len,
            name: &name,
            siblings,
        };
        Ok::<_, Error>(detect(&probe))
    };
    let detected = match forced.or(stored.format) {
        Some(format) => Ok((format, false)),
        None => {
            let [first, more @ ..] = PROBED;
            let mut detected = look(first)?;
            for len in more {
                if detected.undecided {
                    detected = look(len)?;
                }
            }
            detected.format
        }
    };
    let (format, unknown) = match detected {
        Ok((format, guessed)) => {
            if guessed {
                let text = format!(
                    "taken for {}, which is all that the bytes do not contradict",
                    format.name
                );
                stored.opening.push(info("guessed_format", 0, text));
            }
            (Some(format), None)
        }
        Err(unknown) => (None, Some(unknown)),
    };
    let size = stored.decoded_size();
    Ok(InputPart {
        part: Part { name, format, size },
        unknown,
        inside,
        stored: Arc::new(stored),
    })
}

/// Returns the folder that is named, or that holds the file that is.
fn location(path: &str, folder: bool) -> String {
    let Ok(whole) = std::fs::canonicalize(path) else {
        return String::new();
    };
    let folder = match folder {
        true => Some(whole.as_path()),
        false => whole.parent(),
    };
    let location = folder.map(|folder| folder.to_string_lossy().replace('\\', "/"));
    location.unwrap_or_default()
}

fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The names of files by their folders.
#[derive(Default)]
struct FilesByFolder<'n>(HashMap<&'n str, Vec<&'n str>>);

impl<'n> FilesByFolder<'n> {
    fn of(names: &'n [String]) -> Self {
        let mut folders = Self::default();
        for name in names {
            let file = name.rsplit('/').next().unwrap_or(name);
            folders.0.entry(folder_of(name)).or_default().push(file);
        }
        folders
    }

    fn beside(&self, name: &str) -> &[&'n str] {
        self.0.get(folder_of(name)).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use traceloom_formats::Source as _;

    use super::*;

    #[test]
    fn inputs_that_are_open_share_the_buffers_of_closed_windows() {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions::default();
        let open: Vec<Input> = (0..3)
            .map(|number| {
                let path = folder.path().join(format!("{number}.folded"));
                std::fs::write(&path, "main;work 1\n").unwrap();
                Input::open(&path, &options).unwrap()
            })
            .collect();
        for input in &open {
            let document = input.documents().next().unwrap();
            let mut pull = document.open(0, 0).unwrap();
            assert_eq!(pull.pull(0, 1).unwrap().bytes, b"main;work 1\n");
        }
        assert_eq!(options.buffers.len(), 1);
    }
}
