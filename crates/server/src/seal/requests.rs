//! Requests of commands to whoever has the data folder: a file each, in a folder that only its owner reads.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use traceloom_input::captures::{CaptureId, DataFolder};

use super::thread::SealedJournal;
use super::{Audited, Request, SealRules, Sealer};
use crate::Error;
use crate::audit::{Actor, AuditFile, AuditLine};
use crate::journal::{Journal, unix_ns};

/// The end of the name of a request that is whole.
const WHOLE: &str = "request";

/// Time that a command waits for a running collector.
const PATIENCE: Duration = Duration::from_secs(30);

impl Request {
    fn line(&self) -> String {
        match self {
            Self::Pin(id) => format!("pin {id}\n"),
            Self::Unpin(id) => format!("unpin {id}\n"),
            Self::Delete(id) => format!("delete {id}\n"),
            // Collectors alone ask for it, of themselves.
            Self::Resume(_) => String::new(),
        }
    }

    fn of_line(line: &str) -> Option<Self> {
        let (verb, id) = line.split_once(' ')?;
        let id: CaptureId = id.parse().ok()?;
        match verb {
            "pin" => Some(Self::Pin(id)),
            "unpin" => Some(Self::Unpin(id)),
            "delete" => Some(Self::Delete(id)),
            _ => None,
        }
    }
}

/// Returns what was asked for, and the files that ask.
pub(super) fn read(folder: &DataFolder) -> Result<(Vec<Request>, Vec<PathBuf>), Error> {
    let path = folder.requests();
    let failed = |error: io::Error| Error::new(format!("{}: {error}", path.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(&path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|extension| extension == WHOLE) {
            files.push(file);
        }
    }
    files.sort();
    let mut asked = Vec::new();
    for file in &files {
        let text = fs::read_to_string(file).map_err(failed)?;
        asked.extend(text.lines().filter_map(Request::of_line));
    }
    Ok((asked, files))
}

/// Returns who asked: the owner of the first file.
pub(super) fn who(files: &[PathBuf]) -> Actor {
    use std::os::unix::fs::MetadataExt as _;
    let owner = files.first().and_then(|file| fs::metadata(file).ok());
    Actor {
        uid: owner.map(|owner| owner.uid()),
        ..Actor::default()
    }
}

impl Audited {
    /// Returns the line of the audit log; `asking` is who left requests.
    pub(super) fn line(&self, asking: &Actor) -> AuditLine {
        let who = self.rule.map_or_else(|| asking.clone(), Actor::rule);
        AuditLine::new(who, self.what, &self.capture.to_string(), &self.outcome)
    }
}

/// Tells those who asked that it is done.
pub(super) fn finish(files: &[PathBuf]) -> Result<(), Error> {
    for file in files {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::new(format!("{}: {error}", file.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Has requests carried out: by the collector that has the folder, or here where there is none. Returns what could not
/// be done, a sentence each, as far as it was done here.
///
/// # Errors
/// When the log or a manifest is damaged, the disk refuses, or the collector does not take the requests up.
pub fn ask(folder: &DataFolder, requests: &[Request]) -> Result<Vec<String>, Error> {
    if let Ok(_lock) = folder.lock() {
        return carry_out(folder, requests);
    }
    let failed = |error: io::Error| Error::new(format!("{}: {error}", folder.requests().display()));
    let name = format!("{:020}-{}", unix_ns(), std::process::id());
    let file = folder.requests().join(&name).with_extension(WHOLE);
    let new = file.with_extension("new");
    let text: String = requests.iter().map(Request::line).collect();
    let written = fs::File::create(&new).and_then(|mut new| new.write_all(text.as_bytes()));
    written
        .and_then(|()| fs::rename(&new, &file))
        .map_err(failed)?;
    let until = Instant::now() + PATIENCE;
    while file.exists() {
        if let Ok(_lock) = folder.lock() {
            // The collector ended meanwhile.
            fs::remove_file(&file).map_err(failed)?;
            return carry_out(folder, requests);
        }
        if Instant::now() > until {
            finish(&[file])?;
            return Err(Error::new(
                "the collector that uses this data folder did not take the request up",
            ));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(Vec::new())
}

/// Does what a collector would do.
fn carry_out(folder: &DataFolder, requests: &[Request]) -> Result<Vec<String>, Error> {
    let rules = SealRules::default();
    let (journal, recovered) = Journal::open(folder, rules.log_bytes, rules.segment_bytes())?;
    let disks = folder.disks()?;
    let mut sealer = Sealer::new(disks, Some(folder.clone()), rules, recovered.incarnation)?;
    let mut log = SealedJournal(Arc::new(journal));
    sealer.step(&mut log, unix_ns(), requests)?;
    let until = Instant::now() + PATIENCE;
    while sealer.is_behind() && Instant::now() < until {
        // Somebody reads, or the disk is full.
        std::thread::sleep(Duration::from_millis(100));
        sealer.step(&mut log, unix_ns(), &[])?;
    }
    if let Some(journal) = Arc::into_inner(log.0) {
        journal.close()?;
    }
    let audit = AuditFile::of(folder.path());
    for audited in sealer.take_audited() {
        audit.append(&audited.line(&Actor::this_user()), true)?;
    }
    let mut events = sealer.take_events();
    events.dedup();
    Ok(events)
}
