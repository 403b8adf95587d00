//! What a path holds, as named bytes: files of a folder, members of archives, captures of a collector.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use traceloom_formats::{FORMATS, Format, damage, info};
use traceloom_model::Note;

use crate::captures::posts::PostId;
use crate::captures::profile_index::{ProfileIndex, RecognisedPart, SealedAt};
use crate::captures::{CaptureId, ChosenCaptures};
use crate::intake::Intake;
use crate::spool::Spool;
use crate::store::{Store, StoredBytes, piece_starts};
use crate::{Error, Progress, Wrapper, archive, captures, streams, walk};

use super::{Input, OpenOptions};

/// Named bytes, before any format looks at them.
pub(super) type Named = Vec<(String, StoredBytes)>;

/// Takes in the files of a folder; what cannot be read is in the second list.
pub(super) fn folder_parts(path: &str, intake: &Arc<Intake>) -> Result<(Named, Vec<Error>), Error> {
    if captures::DataFolder::is_at(Path::new(path)) {
        return Ok((captured_parts(Path::new(path), None, intake)?, Vec::new()));
    }
    let walk::Listing {
        files, mut unread, ..
    } = walk::files(Path::new(path))?;
    let mut parts = Vec::new();
    for (name, file) in files {
        let name = Wrapper::strip_suffix(&name).to_owned();
        match opened_if_possible(name, || stored_file(&file, intake)) {
            Ok(found) => parts.extend(found),
            Err(error) => unread.push(error),
        }
    }
    Ok((parts, unread))
}

/// Opens compression and archives of one file among others: an archive that cannot be opened is a part as it is.
fn opened_if_possible(
    name: String,
    stored: impl Fn() -> Result<StoredBytes, Error>,
) -> Result<Named, Error> {
    match opened(name.clone(), stored()?, false, 0) {
        Err(error) if !error.is_io() => {
            let mut closed = stored()?;
            let text = error.message().to_owned();
            closed.opening.push(damage("unreadable_archive", 0, text));
            Ok(vec![(name, closed)])
        }
        found => found,
    }
}

/// Takes in the captures that a path names.
pub(super) fn chosen_parts(chosen: &ChosenCaptures, intake: &Arc<Intake>) -> Result<Named, Error> {
    captured_parts(&chosen.folder, Some(chosen), intake)
}

/// Takes in captures of a collector's data folder, all unless some are `chosen`, those too that are being sent.
fn captured_parts(
    folder: &Path,
    chosen: Option<&ChosenCaptures>,
    intake: &Arc<Intake>,
) -> Result<Named, Error> {
    let path = folder.display().to_string();
    let folder = captures::DataFolder::open(folder)?;
    let mut captures = match chosen {
        None => captures::Captures::read(&folder)?,
        Some(chosen) => captures::Captures::read_chosen(&folder, &chosen.ids)?,
    };
    if let Some(chosen) = chosen {
        let ids = &chosen.ids;
        let has = |id: &CaptureId| captures.list.iter().any(|capture| capture.id == *id);
        if let Some(missing) = ids.iter().find(|id| !has(id)) {
            let text = format!("there is no capture {missing}; `traceloom captures ls` lists them");
            return Err(Error::about(&path, text));
        }
        for capture in &mut captures.list {
            only_posts(chosen, capture).map_err(|text| Error::about(&path, text))?;
        }
    }
    let spool = Spool::Captures(captures.bytes.clone());
    let whole = StoredBytes::new(path.clone(), Store::Spooled(spool.clone()), spool.size());
    let whole = Arc::new(whole.of(intake));
    let mut parts = Vec::new();
    for capture in captures.list {
        let mut notes = capture.notes();
        let mut capture = capture;
        if let Some(n_bytes) = chosen.and_then(|chosen| chosen.n_beginning(capture.id)) {
            notes.extend(only_beginning(&mut capture, n_bytes));
        }
        let is_whole = chosen.is_none_or(|chosen| chosen.has_whole(capture.id));
        let manifest = capture.manifest.filter(|_| capture.is_sealed && is_whole);
        let sealed = manifest.map(|manifest| {
            Arc::new(SealedAt {
                folder: folder.clone(),
                id: capture.id,
                manifest,
            })
        });
        let known = sealed.as_deref().map(KnownParts::of).unwrap_or_default();
        let has_files = capture.protocol.is_some_and(captures::posts::are_files);
        let first = parts.len();
        for part in capture.parts {
            let name = format!("{}/{}", capture.id, part.name);
            let (starts, size) = piece_starts(&part.pieces);
            let shown = format!("{path}#{name}");
            intake.add_stored(size);
            let notes = std::mem::take(&mut notes);
            let stored = || {
                let store = Store::Pieces {
                    whole: whole.clone(),
                    pieces: part.pieces.clone(),
                    starts: starts.clone(),
                };
                let mut stored = StoredBytes::new(shown.clone(), store, size).of(intake);
                stored.opening.clone_from(&notes);
                stored
            };
            let plain_name = match has_files {
                true => Wrapper::strip_suffix(&name),
                false => &name,
            };
            if let Some((format, wrappers)) = known.0.get(plain_name) {
                let mut stored = stored();
                stored.format = Some(*format);
                stored.wrappers.clone_from(wrappers);
                parts.push((plain_name.to_owned(), stored));
                continue;
            }
            match has_files {
                // A file as it was: compression and archives are opened as those of any other file.
                true => {
                    let name = Wrapper::strip_suffix(&name).to_owned();
                    parts.extend(opened_if_possible(name, || Ok(stored()))?);
                }
                false => parts.push((name, stored())),
            }
        }
        let sender = Arc::new(capture.identity);
        for (_, stored) in parts.iter_mut().skip(first) {
            stored.sender = Some(sender.clone());
            stored.sealed.clone_from(&sealed);
        }
    }
    Ok(parts)
}

/// Formats and compression of the parts of a capture by their names, as far as they are known from its index.
#[derive(Default)]
struct KnownParts(HashMap<String, (&'static Format, Vec<Wrapper>)>);

impl KnownParts {
    fn of(sealed: &SealedAt) -> Self {
        let index = ProfileIndex::open(&sealed.folder, sealed.id, sealed.manifest);
        let parts = index.as_ref().map_or(&[][..], ProfileIndex::parts);
        let known = parts.iter().map(|part| {
            let format = FORMATS.iter().find(|format| format.name == part.format)?;
            let wrappers = part.wrappers.iter().map(|name| Wrapper::named(name));
            let wrappers = wrappers.collect::<Option<Vec<_>>>()?;
            Some((part.name.clone(), (*format, wrappers)))
        });
        Self(known.collect::<Option<_>>().unwrap_or_default())
    }
}

/// Returns true for notes that say something of a capture, whatever its parts are.
fn is_of_capture(note: &Note) -> bool {
    matches!(
        note.kind,
        "not_understood" | "capture_open" | "capture_beginning"
    )
}

impl Input {
    /// Returns what the parts of a capture were recognised as, for its index. None where one of them could be something else another
    /// time: an archive or its member, what no format knows, a guess.
    #[must_use]
    pub fn recognised(&self, parts: &[usize]) -> Option<Vec<RecognisedPart>> {
        let mut names = HashSet::new();
        let mut found = Vec::new();
        for part in parts.iter().map(|&at| self.parts.get(at)) {
            let part = part?;
            // Those inside of another part are found in it.
            if part.inside.is_some() {
                continue;
            }
            let wrappers = part.wrappers();
            let is_sure = part.stored.opening.iter().all(is_of_capture)
                && !wrappers.iter().any(|wrapper| wrapper.is_archive())
                && names.insert(part.part.name.as_str());
            found.push(RecognisedPart {
                name: part.part.name.clone(),
                format: part.part.format.filter(|_| is_sure)?.name.to_owned(),
                wrappers: wrappers.iter().map(|one| one.name().to_owned()).collect(),
            });
        }
        Some(found)
    }
}

/// Leaves the posts of a capture that are meant, where it is not meant as a whole.
fn only_posts(chosen: &ChosenCaptures, capture: &mut captures::Capture) -> Result<(), String> {
    let Some(posts) = chosen.posts(capture.id) else {
        return Ok(());
    };
    let number = |part: &captures::CapturePart| PostId::number_of(&part.name);
    let has = |wanted: &u32| {
        capture
            .parts
            .iter()
            .any(|part| number(part) == Some(*wanted))
    };
    if let Some(missing) = posts.iter().find(|wanted| !has(wanted)) {
        return Err(format!("capture {} has no post {missing}", capture.id));
    }
    capture
        .parts
        .retain(|part| number(part).is_some_and(|number| posts.contains(&number)));
    Ok(())
}

/// Leaves the beginning of a capture: its small parts, such as dictionaries, and of the others as large a share of each, so that they end
/// at about the same time. Returns what says so.
fn only_beginning(capture: &mut captures::Capture, n_bytes: u64) -> Option<Note> {
    let sizes = capture.parts.iter().map(|part| part.n_bytes);
    let all = sizes.sum::<u64>();
    if all <= n_bytes {
        return None;
    }
    let mut by_size: Vec<_> = capture.parts.iter_mut().collect();
    by_size.sort_by_key(|part| part.n_bytes);
    let (mut room, mut rest) = (n_bytes, all);
    for part in by_size {
        let is_small = all - rest + part.n_bytes <= n_bytes / 8;
        let share = u128::from(part.n_bytes) * u128::from(room) / u128::from(rest.max(1));
        if !is_small {
            part.cut(u64::try_from(share).unwrap_or(part.n_bytes));
            continue;
        }
        room -= part.n_bytes;
        rest -= part.n_bytes;
    }
    let id = capture.id;
    let text = format!("capture {id}: the first {n_bytes} of its {all} bytes are read");
    Some(info("capture_beginning", 0, text))
}

pub(super) fn file_parts(
    path: &str,
    options: &OpenOptions,
    intake: &Arc<Intake>,
) -> Result<Named, Error> {
    let file = Path::new(path);
    let (name, stored) = match streams::shown(path)? {
        Some(shown) => {
            let (spool, note) = options.streams.spool(path, intake)?;
            let size = spool.size();
            intake.add_stored(size);
            let mut stored = StoredBytes::new(shown, Store::Spooled(spool), size).of(intake);
            stored.opening.extend(note);
            (path.into(), stored)
        }
        None => {
            let name = file.file_name();
            let name = name.map_or(path.into(), |name| name.to_string_lossy());
            (name, stored_file(file, intake)?)
        }
    };
    let name = Wrapper::strip_suffix(&name).to_owned();
    opened(name, stored, true, 0)
}

fn stored_file(path: &Path, intake: &Arc<Intake>) -> Result<StoredBytes, Error> {
    let size = std::fs::metadata(path)
        .map_err(|error| Error::io(path, error))?
        .len();
    let shown = path.to_string_lossy().into_owned();
    intake.add_stored(size);
    Ok(StoredBytes::new(shown, Store::File(path.to_owned()), size).of(intake))
}

/// Opens compression and archives: one part, or the members of an archive, which may be archives themselves. `alone`
/// drops the archive's own name from theirs.
pub(super) fn opened(
    name: String,
    stored: StoredBytes,
    alone: bool,
    depth: u32,
) -> Result<Named, Error> {
    const DEEPEST: u32 = 3;
    let stored = stored.unwrap_layers()?;
    let kind = archive::kind(&stored.head(archive::HEAD)?);
    let Some(kind) = kind.filter(|_| depth < DEEPEST) else {
        return Ok(vec![(name, stored)]);
    };
    let spool = stored.spool(&Progress::default())?;
    let mut parts = Vec::new();
    // An archive that itself was compressed may be damaged there.
    let mut around = stored.notes();
    for member in archive::members(kind, &stored.path, &spool, &stored.intake)? {
        let path = format!("{}#{}", stored.path, member.name);
        let inner = if alone {
            member.name
        } else {
            format!("{name}/{}", member.name)
        };
        let inner = Wrapper::strip_suffix(&inner).to_owned();
        let size = member.bytes.size();
        let mut notes = std::mem::take(&mut around);
        notes.extend(member.notes);
        let store = Store::Spooled(member.bytes);
        let unpacked = || StoredBytes::new(path.clone(), store.clone(), size).of(&stored.intake);
        // What is no archive after all is a part.
        let found = opened(inner.clone(), unpacked(), false, depth + 1);
        let found = found.or_else(|error| match error.is_io() {
            true => Err(error),
            false => Ok(vec![(inner, unpacked().unwrap_layers()?)]),
        })?;
        for (at, (name, mut part)) in found.into_iter().enumerate() {
            part.wrappers.insert(0, kind);
            if at == 0 {
                part.opening.splice(0..0, std::mem::take(&mut notes));
            }
            parts.push((name, part));
        }
    }
    Ok(parts)
}
