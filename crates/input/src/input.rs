//! An opened path: its parts, their formats, and what belongs together.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use traceloom_formats::{
    Error as FormatError, FORMATS, Format, Part, Probe, Pull, Reader, RecordSink, damage, drive,
    info,
};
use traceloom_model::{Flow, Limits, Note};

use crate::nearest::Nearest;
use crate::spool::Spool;
use crate::store::{Store, Stored, piece_starts};
use crate::{Document, Error, Progress, Unknown, Wrapper, archive, detect, walk};

/// Bytes a format sees when it is asked whether a part is its own.
const PROBED: usize = 64 << 10;

/// How to open an input.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Read every part as this format instead of asking all of them.
    pub format: Option<&'static Format>,
    /// Limits in force.
    pub limits: Limits,
    /// Counts what is taken in before reading can begin: standard input, members of an archive.
    pub opening: Progress,
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
    stored: Arc<Stored>,
}

impl InputPart {
    /// Returns the compression around it, outermost first.
    #[must_use]
    pub fn wrappers(&self) -> &[Wrapper] {
        &self.stored.wrappers
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
    parts: Vec<InputPart>,
    sets: Vec<(Option<&'static Format>, Vec<usize>)>,
    progress: Progress,
}

impl Input {
    /// Opens a file, a folder, a zip archive, or standard input for `-`.
    ///
    /// # Errors
    /// When the path cannot be read. Bytes that no format knows are not an error: they are a part
    /// without format.
    pub fn open(path: &str, options: &OpenOptions) -> Result<Self, Error> {
        let progress = Progress::default();
        let folder = path != "-" && Path::new(path).is_dir();
        let mut stored = if folder {
            folder_parts(path, &options.opening)?
        } else {
            file_parts(path, &options.opening)?
        };
        let archived = stored.len() > 1
            || stored
                .iter()
                .any(|(_, s)| s.wrappers.contains(&Wrapper::Zip));
        stored.retain(|(name, _)| !name.is_empty());
        let names: Vec<String> = stored.iter().map(|(name, _)| name.clone()).collect();
        let neighbours = if folder || archived {
            Vec::new()
        } else {
            neighbours(path)
        };
        let nearest = Nearest::default();
        let mut parts = Vec::new();
        for (name, stored) in stored {
            let siblings = siblings(&name, &names, &neighbours);
            parts.push(recognise(name, stored, None, &siblings, &nearest, options)?);
        }
        let mut input = Self {
            path: path.to_owned(),
            location: if archived && !folder {
                String::new()
            } else {
                location(path, folder)
            },
            folder: folder || archived,
            parts,
            sets: Vec::new(),
            progress,
        };
        input.add_members(0, &nearest, options)?;
        input.group();
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

    /// Tells whether this is a folder or an archive, which may hold many parts.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.folder
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

    /// Returns the counter of stored bytes read, which begins at 0: the parts inside another count in its
    /// place.
    pub fn start_progress(&self) -> &Progress {
        let holds_others = |at| self.parts.iter().any(|part| part.inside == Some(at));
        let read = self
            .parts
            .iter()
            .enumerate()
            .filter(|(at, _)| !holds_others(*at));
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

    pub(crate) fn pull(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        let part = self.parts.get(part);
        let part = part.ok_or_else(|| Error::about(&self.path, "there is no such part"))?;
        part.stored.pull(offset, &self.progress)
    }

    /// Adds the members of the parts from `from` on; members that were compressed may have their own, once.
    fn add_members(
        &mut self,
        from: usize,
        nearest: &Nearest,
        options: &OpenOptions,
    ) -> Result<(), Error> {
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
                Stored::new(path.clone(), store, size)
            };
            // What is compressed in a way nobody opens stays as it is: a part without format.
            let inner = opened(name.clone(), stored(), false, &options.opening);
            let inner = inner.unwrap_or_else(|_| vec![(name, stored())]);
            opened_members.extend(inner.into_iter().map(|(name, stored)| (at, name, stored)));
        }
        let names: Vec<String> = opened_members
            .iter()
            .map(|(_, name, _)| name.clone())
            .collect();
        let first = self.parts.len();
        for (at, name, stored) in opened_members {
            let siblings = siblings(&name, &names, &[]);
            let guessed = OpenOptions {
                format: None,
                limits: options.limits,
                opening: options.opening.clone(),
            };
            self.parts.push(recognise(
                name,
                stored,
                Some(at),
                &siblings,
                nearest,
                &guessed,
            )?);
        }
        match from {
            0 if first < self.parts.len() => self.add_members(first, nearest, options),
            _ => Ok(()),
        }
    }

    fn group(&mut self) {
        let plain: Vec<Part> = self.parts.iter().map(|part| part.part.clone()).collect();
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
        for (at, part) in self.parts.iter().enumerate() {
            let holds_others = self.parts.iter().any(|other| other.inside == Some(at));
            if taken.get(at) == Some(&None) && !holds_others {
                self.sets.push((part.part.format, vec![at]));
            }
        }
    }
}

fn recognise(
    name: String,
    mut stored: Stored,
    inside: Option<usize>,
    siblings: &[&str],
    nearest: &Nearest,
    options: &OpenOptions,
) -> Result<InputPart, Error> {
    let head = stored.head(PROBED)?;
    let whole = head.len() < PROBED;
    let probe = Probe {
        head: &head,
        whole,
        name: &name,
        siblings,
    };
    let forced = options
        .format
        .filter(|format| format.reader.is_some() || format.lower.is_some());
    let detected = match forced {
        Some(format) => Ok((format, false)),
        None => detect::detect(&probe, nearest),
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

fn folder_parts(path: &str, opening: &Progress) -> Result<Vec<(String, Stored)>, Error> {
    let mut parts = Vec::new();
    for (name, file) in walk::files(Path::new(path))? {
        let stored = stored_file(&file)?;
        let name = Wrapper::strip_suffix(&name).to_owned();
        // An archive that cannot be opened hides nothing of the other files.
        match opened(name.clone(), stored, false, opening) {
            Ok(found) => parts.extend(found),
            Err(error) if error.is_io() => return Err(error),
            Err(error) => {
                let mut closed = stored_file(&file)?;
                let text = error.message().to_owned();
                closed.opening.push(damage("unreadable_archive", 0, text));
                parts.push((name, closed));
            }
        }
    }
    Ok(parts)
}

fn file_parts(path: &str, opening: &Progress) -> Result<Vec<(String, Stored)>, Error> {
    let (name, stored) = if path == "-" {
        let (spool, error) =
            Spool::fill(Counting(std::io::stdin(), opening)).map_err(|e| Error::io(path, e))?;
        if let Some(error) = error {
            return Err(Error::io("standard input", error));
        }
        let size = spool.size();
        (
            "-".to_owned(),
            Stored::new("standard input".to_owned(), Store::Spooled(spool), size),
        )
    } else {
        let file = Path::new(path);
        let name = file
            .file_name()
            .map_or(path.into(), |name| name.to_string_lossy());
        (Wrapper::strip_suffix(&name).to_owned(), stored_file(file)?)
    };
    opened(name, stored, true, opening)
}

/// Counts what comes from a stream.
struct Counting<'p, R>(R, &'p Progress);

impl<R: Read> Read for Counting<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.0.read(buffer)?;
        self.1.add(len as u64);
        Ok(len)
    }
}

fn stored_file(path: &Path) -> Result<Stored, Error> {
    let size = std::fs::metadata(path)
        .map_err(|error| Error::io(path, error))?
        .len();
    let shown = path.to_string_lossy().into_owned();
    Ok(Stored::new(shown, Store::File(path.to_owned()), size))
}

/// Opens compression and archives: one part, or the members of an archive. `alone` drops the
/// archive's own name from theirs.
fn opened(
    name: String,
    stored: Stored,
    alone: bool,
    opening: &Progress,
) -> Result<Vec<(String, Stored)>, Error> {
    let stored = stored.unwrap_layers()?;
    if !archive::is_zip(&stored.head(4)?) {
        return Ok(vec![(name, stored)]);
    }
    let spool = stored.spool(&Progress::default())?;
    let mut parts = Vec::new();
    // An archive that itself was compressed may be damaged there.
    let mut around = stored.notes();
    for member in archive::unzip(&stored.path, &spool, opening)? {
        let path = format!("{}#{}", stored.path, member.name);
        let inner = if alone {
            member.name
        } else {
            format!("{name}/{}", member.name)
        };
        let size = member.bytes.size();
        let mut unpacked = Stored::new(path, Store::Spooled(member.bytes), size).unwrap_layers()?;
        unpacked.wrappers.insert(0, Wrapper::Zip);
        unpacked.opening.append(&mut around);
        unpacked.opening.extend(member.notes);
        parts.push((Wrapper::strip_suffix(&inner).to_owned(), unpacked));
    }
    Ok(parts)
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

fn siblings<'n>(name: &str, names: &'n [String], outside: &'n [String]) -> Vec<&'n str> {
    let folder = folder_of(name);
    let inside = names
        .iter()
        .filter(|other| *other != name && folder_of(other) == folder);
    inside
        .chain(outside)
        .map(|other| other.rsplit('/').next().unwrap_or(other))
        .collect()
}

/// Names of the files beside a single file.
fn neighbours(path: &str) -> Vec<String> {
    let path = Path::new(path);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = std::fs::read_dir(folder.unwrap_or(Path::new("."))) else {
        return Vec::new();
    };
    let own = path.file_name();
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .take(10_000)
        .filter(|entry| Some(entry.file_name().as_os_str()) != own)
        .map(|entry| Wrapper::strip_suffix(&entry.file_name().to_string_lossy()).to_owned())
        .collect();
    names.sort();
    names
}
