//! The audit log: who changed what, and who was refused. A line of JSON each, in a file of the data folder.
//!
//! Several processes append to it: a lock makes a line whole and lets one of them begin the next file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Error;
use crate::journal::unix_ns;

/// Bytes of a file after which the next begins.
const FILE_BYTES: u64 = 4 << 20;
/// Files that are kept beside the newest.
const OLD_FILES: u32 = 4;
/// Lines that wait for the disk; more are counted.
const WAITING: usize = 1024;
/// Refusals that are written in a window; more are counted.
const REFUSALS: u64 = 100;
/// The window.
const WINDOW: Duration = Duration::from_secs(60);
/// Characters of a text that a client chose.
const LONGEST_TEXT: usize = 200;

/// Who did something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Actor {
    /// Address of a client.
    pub(crate) peer: Option<String>,
    /// Name of its token.
    pub(crate) token: Option<String>,
    /// The user of this machine whose command it was.
    pub(crate) uid: Option<u32>,
    /// A rule of the collector.
    pub(crate) rule: Option<&'static str>,
}

impl Actor {
    /// Returns the user who runs this process.
    pub(crate) fn this_user() -> Self {
        Self {
            uid: Some(rustix::process::getuid().as_raw()),
            ..Self::default()
        }
    }

    pub(crate) fn rule(rule: &'static str) -> Self {
        Self {
            rule: Some(rule),
            ..Self::default()
        }
    }

    pub(crate) fn peer(peer: &str, token: Option<String>) -> Self {
        Self {
            peer: Some(peer.to_owned()),
            token,
            ..Self::default()
        }
    }

    fn json(&self) -> Value {
        let mut who = serde_json::Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            who.extend(value.map(|value| (key.to_owned(), value)));
        };
        put("peer", self.peer.as_deref().map(Into::into));
        put("token", self.token.as_deref().map(Into::into));
        put("uid", self.uid.map(Into::into));
        put("rule", self.rule.map(Into::into));
        Value::Object(who)
    }
}

/// A line of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditLine {
    at_ns: i64,
    pub(crate) who: Actor,
    /// A word from a closed list.
    what: &'static str,
    /// What it was done to.
    on: String,
    /// `done`, or a word or sentence that says why not.
    outcome: String,
}

/// The word for sessions and requests that were refused; clients can cause any number of them.
const REFUSED: &str = "refused";

impl AuditLine {
    pub(crate) fn new(who: Actor, what: &'static str, on: &str, outcome: &str) -> Self {
        Self {
            at_ns: unix_ns(),
            who,
            what,
            on: on.chars().take(LONGEST_TEXT).collect(),
            outcome: outcome.to_owned(),
        }
    }

    /// Returns the line of a session or a request that was refused.
    pub(crate) fn refused(who: Actor, on: &str, reason: &str) -> Self {
        Self::new(who, REFUSED, on, reason)
    }

    fn text(&self) -> String {
        let row = json!({
            "at_ns": self.at_ns,
            "who": self.who.json(),
            "what": self.what,
            "on": self.on,
            "outcome": self.outcome,
        });
        format!("{row}\n")
    }
}

/// The file, as any process appends to it.
#[derive(Clone, Debug)]
pub(crate) struct AuditFile {
    path: PathBuf,
    file_bytes: u64,
}

impl AuditFile {
    /// Returns the audit log of a data folder.
    pub(crate) fn of(folder: &Path) -> Self {
        Self {
            path: folder.join("audit.jsonl"),
            file_bytes: FILE_BYTES,
        }
    }

    /// Appends a line, which is on disk when this returns if `durable`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn append(&self, line: &AuditLine, durable: bool) -> Result<(), Error> {
        let written = self.write(&line.text(), durable);
        written.map_err(|error| Error::new(format!("{}: {error}", self.path.display())))
    }

    fn write(&self, text: &str, durable: bool) -> io::Result<()> {
        loop {
            let mut file = self.locked()?;
            let length = file.metadata()?.len();
            if length > 0 && length + text.len() as u64 > self.file_bytes {
                self.begin_next()?;
                continue;
            }
            // Ends the line of a process that died in it.
            let torn = length > 0 && last_byte(&mut file)? != b'\n';
            let newline = if torn { "\n" } else { "" };
            file.write_all(format!("{newline}{text}").as_bytes())?;
            return match durable {
                true => file.sync_data(),
                false => Ok(()),
            };
        }
    }

    /// Opens the newest file and locks it.
    fn locked(&self) -> io::Result<File> {
        loop {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true).mode(0o600);
            let file = options.open(&self.path)?;
            file.lock()?;
            // Another process may have begun the next file meanwhile.
            let (opened, named) = (file.metadata()?, fs::metadata(&self.path));
            if named.is_ok_and(|named| (named.dev(), named.ino()) == (opened.dev(), opened.ino())) {
                return Ok(file);
            }
        }
    }

    /// Renames the files; the lock of the newest is held.
    fn begin_next(&self) -> io::Result<()> {
        let named = |n: u32| match n {
            0 => self.path.clone(),
            n => self.path.with_extension(format!("{n}.jsonl")),
        };
        for n in (0..OLD_FILES).rev() {
            match fs::rename(named(n), named(n + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut byte = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// The audit log of a running collector, written by a thread of its own.
pub(crate) struct Audit {
    sender: Option<SyncSender<AuditLine>>,
    lost: std::sync::Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Audit {
    /// Starts the thread; `tell` learns what could not be written.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(
        file: AuditFile,
        tell: impl Fn(String) + Send + 'static,
    ) -> Result<Self, Error> {
        let (sender, lines) = sync_channel(WAITING);
        let lost = std::sync::Arc::new(AtomicU64::new(0));
        let counted = lost.clone();
        let thread = std::thread::Builder::new().name("audit".to_owned());
        let thread = thread.spawn(move || write_all(&file, &lines, &counted, &tell));
        let thread = thread.map_err(|error| Error::new(format!("no threads: {error}")))?;
        Ok(Self {
            sender: Some(sender),
            lost,
            thread: Some(thread),
        })
    }

    /// Has a line written. Nobody waits for it; what finds no room is counted.
    pub(crate) fn note(&self, line: AuditLine) {
        let sender = self.sender.as_ref();
        if sender.is_none_or(|sender| sender.try_send(line).is_err()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            // It has told what it failed with.
            let _ = thread.join();
        }
    }
}

/// Writes lines until nobody sends any more.
fn write_all(
    file: &AuditFile,
    lines: &Receiver<AuditLine>,
    lost: &AtomicU64,
    tell: &dyn Fn(String),
) {
    let mut window = Instant::now();
    let (mut n_refusals, mut n_more) = (0, 0);
    let mut failed = false;
    let mut append = |line: &AuditLine, durable: bool| {
        let written = file.append(line, durable);
        if let (Err(error), false) = (&written, failed) {
            tell(format!("the audit log cannot be written: {error}"));
        }
        failed = written.is_err();
    };
    loop {
        let line = lines.recv();
        let n_lost = lost.swap(0, Ordering::Relaxed);
        let is_over = line.is_err() || window.elapsed() >= WINDOW;
        if is_over {
            let more = std::mem::take(&mut n_more) + n_lost;
            if more > 0 {
                let who = Actor::rule("at most 100 refusals a minute are written");
                append(&AuditLine::new(who, "more", "", &more.to_string()), false);
            }
            (window, n_refusals) = (Instant::now(), 0);
        } else {
            n_more += n_lost;
        }
        let Ok(line) = line else { return };
        if line.what != REFUSED {
            append(&line, true);
            continue;
        }
        n_refusals += 1;
        match n_refusals <= REFUSALS {
            true => append(&line, false),
            false => n_more += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines()
            .map(|row| serde_json::from_str(row).unwrap())
            .collect()
    }

    #[test]
    fn old_files_are_kept_up_to_a_number_and_no_line_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let file = AuditFile {
            file_bytes: 1000,
            ..AuditFile::of(folder.path())
        };
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let file = &file;
                scope.spawn(move || {
                    for n in 0..50 {
                        let on = format!("{writer}\n{n}\u{2028}");
                        let line = AuditLine::new(Actor::this_user(), "pin", &on, "done");
                        file.append(&line, false).unwrap();
                    }
                });
            }
        });
        let names = ["audit.jsonl", "audit.1.jsonl", "audit.4.jsonl"];
        for name in names {
            let path = folder.path().join(name);
            assert!(fs::metadata(&path).unwrap().len() <= 1000);
            assert!(rows(&path).len() > 1, "{name}");
            assert_eq!(rows(&path)[0]["what"], "pin");
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        }
        assert!(!folder.path().join("audit.5.jsonl").exists());
    }

    #[test]
    fn a_line_that_a_crash_cut_stays_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = AuditFile::of(folder.path());
        fs::write(&file.path, "{\"at_ns\": 12").unwrap();
        let line = AuditLine::new(Actor::this_user(), "unpin", "1-1", "done");
        file.append(&line, true).unwrap();
        let text = fs::read_to_string(&file.path).unwrap();
        let last: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
        assert_eq!(
            (&last["what"], &last["on"]),
            (&"unpin".into(), &"1-1".into())
        );
    }

    #[test]
    fn a_flood_of_refusals_leaves_room_for_what_matters() {
        let folder = tempfile::tempdir().unwrap();
        let file = AuditFile::of(folder.path());
        let audit = Audit::start(file.clone(), |failed| panic!("{failed}")).unwrap();
        for _ in 0..5000 {
            let who = Actor::peer("127.0.0.1:9", None);
            audit.note(AuditLine::refused(who, "cdt", "no_request"));
        }
        // The thread may be behind.
        while audit.lost.load(Ordering::Relaxed) > 0 {
            audit.note(AuditLine::refused(Actor::default(), "cdt", "no_request"));
            std::thread::sleep(Duration::from_millis(1));
        }
        audit.note(AuditLine::new(Actor::this_user(), "pin", "1-1", "done"));
        drop(audit);
        let rows = rows(&file.path);
        let count = |what: &str| rows.iter().filter(|row| row["what"] == what).count();
        assert_eq!((count("refused"), count("more")), (100, 1));
        let more: u64 = rows.last().unwrap()["outcome"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!(more >= 4900, "{more}");
        assert_eq!(count("pin"), 1);
    }
}
