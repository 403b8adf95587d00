//! A file that a program writes, received as it grows: what a sender would have sent.
//!
//! A capture is one file. It ends when the file is cut, or when its name leads to another one; then the next begins. A later start of
//! the collector goes on where this one stopped.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use traceloom_formats::Error as FormatError;
use traceloom_formats::protocol::{Entry, Protocol, Session, SessionOptions, UnitCounts};
use traceloom_input::captures::{CaptureId, Captures, DataFolder, Event, SessionEnd, State};
use traceloom_log::{Position, Refused};

use crate::Stop;
use crate::counts::ListenerCounts;
use crate::journal::{Journal, unix_ns};
use crate::log_events::{Level, LogEvent};
use crate::observer::Observer;
use crate::seal::Resumer;
use crate::session_ids::SessionIds;

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;
/// Time between two looks at a file that does not grow.
const LOOK: Duration = Duration::from_millis(50);
/// Time until there may be room in the log.
const ROOM: Duration = Duration::from_micros(500);
/// Time that a file which was renamed may still be written to.
const RENAMED: Duration = Duration::from_secs(1);
/// Bytes at the beginning by which a file is known again.
const COMPARED: usize = 64 << 10;
/// What a capture of a collector that was asked to end has as its reason.
const STOPPED: &str = "collector_stopped";

/// A file to follow, and where its bytes go.
pub(crate) struct FollowedFile {
    pub(crate) path: PathBuf,
    pub(crate) protocol: &'static Protocol,
    pub(crate) data: PathBuf,
    pub(crate) journal: Arc<Journal>,
    pub(crate) ids: Arc<SessionIds>,
    pub(crate) counts: Arc<ListenerCounts>,
    pub(crate) observer: Observer,
    pub(crate) resumer: Resumer,
    pub(crate) stop: Stop,
}

/// Device and number of a file.
type FileNumber = (u64, u64);

fn number(file: &fs::Metadata) -> FileNumber {
    (file.dev(), file.ino())
}

/// A file that was followed to a place.
struct LeftOff {
    id: CaptureId,
    offset: u64,
}

/// A capture that is being received.
struct Receiving {
    id: CaptureId,
    session: Box<dyn Session>,
    /// Where the window begins in the file.
    offset: u64,
    window: Vec<u8>,
    /// Units that may not be safe yet.
    last: Option<Position>,
    counted: UnitCounts,
}

impl FollowedFile {
    /// Returns what the captures of a file have as their sender.
    fn sender(&self, number: FileNumber) -> String {
        format!("file {} {}:{}", self.path.display(), number.0, number.1)
    }

    fn is_over(&self) -> bool {
        self.stop.is_asked() || self.journal.failure().is_some()
    }

    /// Follows the file until the collector ends, or nothing can be stored any more.
    pub(crate) fn run(self) {
        let mut told = None;
        // One whose session ended by itself is left alone until it is cut or replaced.
        let mut ended: Option<(FileNumber, u64)> = None;
        while !self.is_over() {
            let opened = File::open(&self.path).and_then(|file| {
                let metadata = file.metadata()?;
                Ok((file, metadata))
            });
            let trouble = match opened {
                Ok((file, metadata)) if metadata.is_file() => {
                    let is_ended = ended.is_some_and(|(which, size)| {
                        which == number(&metadata) && metadata.len() >= size
                    });
                    if !is_ended {
                        match self.follow(&file, &metadata) {
                            Ok(at) => ended = at.map(|size| (number(&metadata), size)),
                            Err(FollowEnd::Refused) => return,
                            Err(FollowEnd::Unread(error)) => {
                                self.tell(&mut told, error.to_string())
                            }
                        }
                    }
                    None
                }
                Ok(_) => Some("it is no file that can grow".to_owned()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(trouble) = trouble {
                self.tell(&mut told, trouble);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Tells what is wrong with the file, once.
    fn tell(&self, told: &mut Option<String>, trouble: String) {
        if told.as_ref() != Some(&trouble) {
            let text = format!("{} is not followed: {trouble}", self.path.display());
            let event = LogEvent::new(Level::Warn, text);
            self.observer.log.say(Level::Warn, || event);
            *told = Some(trouble);
        }
    }

    /// Receives a file to its end; returns its size where its session ended by itself.
    fn follow(&self, file: &File, metadata: &fs::Metadata) -> Result<Option<u64>, FollowEnd> {
        let number = number(metadata);
        let mut receiving = self.begin(file, number)?;
        let mut renamed: Option<Instant> = None;
        let reason = loop {
            let n_read = receiving.fill(file).map_err(FollowEnd::Unread)?;
            self.feed(&mut receiving)?;
            if receiving.session.closed().is_some() {
                break None;
            }
            if self.is_over() {
                break Some((STOPPED, false));
            }
            if n_read > 0 {
                renamed = renamed.map(|_| Instant::now());
                continue;
            }
            let size = file.metadata().map_err(FollowEnd::Unread)?.len();
            if size < receiving.end() {
                break Some(("truncated", false));
            }
            if size > receiving.end() {
                continue;
            }
            if self.leads_elsewhere(number).map_err(FollowEnd::Unread)? {
                if renamed.get_or_insert_with(Instant::now).elapsed() >= RENAMED {
                    break Some(("rotated", true));
                }
            } else {
                renamed = None;
            }
            std::thread::sleep(LOOK);
        };
        let end = receiving.end();
        self.finish(receiving, reason)?;
        Ok(reason.is_none().then_some(end))
    }

    /// Begins a capture, or goes on with the one that an earlier start left.
    fn begin(&self, file: &File, number: FileNumber) -> Result<Receiving, FollowEnd> {
        let options = SessionOptions::default();
        let session = (self.protocol.session)(&options, Duration::ZERO);
        let sender = self.sender(number);
        let left = left_off(&self.data, &sender, file);
        let left = left.filter(|left| self.resumer.resume_blocking(left.id));
        let is_new = left.is_none();
        let left = left.unwrap_or_else(|| LeftOff {
            id: self.ids.next(),
            offset: 0,
        });
        if is_new {
            self.counts.sessions.add(1);
            let opened = Event::Opened {
                protocol: self.protocol.captures.number,
                at_ns: unix_ns(),
                peer: sender,
            };
            self.store_event(left.id, &opened)?;
        }
        Ok(Receiving {
            id: left.id,
            session,
            offset: left.offset,
            window: Vec::new(),
            last: None,
            counted: UnitCounts::default(),
        })
    }

    /// Has what was read stored.
    fn feed(&self, receiving: &mut Receiving) -> Result<(), FollowEnd> {
        let mut stored = Ok(());
        let Receiving {
            id,
            session,
            window,
            last,
            ..
        } = receiving;
        let used = session.read(window, Duration::ZERO, &mut |entry| {
            let submitted = self.store(*id, entry);
            stored = submitted.map(|position| *last = Some(position));
            stored.is_ok()
        });
        receiving.offset += used as u64;
        receiving.window.drain(..used);
        let (units, counted) = (receiving.session.units(), &mut receiving.counted);
        self.counts.received.add(units.received - counted.received);
        self.counts.decoded.add(units.decoded - counted.decoded);
        (counted.received, counted.decoded) = (units.received, units.decoded);
        if receiving
            .last
            .is_some_and(|last| self.journal.durable() > last)
        {
            self.counts.stored.add(units.received - counted.safe);
            counted.safe = units.received;
        }
        self.counts.received_bytes.add(used as u64);
        stored.map_err(FollowEnd::from)
    }

    /// Ends a capture.
    fn finish(
        &self,
        mut receiving: Receiving,
        reason: Option<(&'static str, bool)>,
    ) -> Result<(), FollowEnd> {
        let id = receiving.id;
        let rest = std::mem::take(&mut receiving.window);
        receiving
            .session
            .finish(&rest, &mut |entry| self.store(id, entry).is_ok());
        let own = receiving.session.closed();
        let own = own.map_or((STOPPED, false), |ending| (ending.reason, ending.orderly));
        let (reason, orderly) = reason.unwrap_or(own);
        let closed = Event::Closed {
            at_ns: unix_ns(),
            orderly,
            reason: reason.to_owned(),
        };
        self.store_event(id, &closed)?;
        self.counts.ended.add(reason);
        Ok(())
    }

    /// Stores an entry once there is room for it.
    fn store(&self, id: CaptureId, entry: &Entry<'_>) -> Result<Position, Refused> {
        self.submit(id, entry.stream, entry.kind, entry.bytes)
    }

    fn store_event(&self, id: CaptureId, event: &Event) -> Result<(), FollowEnd> {
        let (kind, bytes) = event.encode();
        let stored = self.submit(id, traceloom_input::captures::EVENTS, kind, &bytes);
        stored.map(drop).map_err(FollowEnd::from)
    }

    fn submit(
        &self,
        id: CaptureId,
        stream: u32,
        kind: u8,
        bytes: &[u8],
    ) -> Result<Position, Refused> {
        loop {
            match self.journal.submit(id, stream, kind, bytes) {
                Err(Refused::Full) => std::thread::sleep(ROOM),
                done => return done,
            }
        }
    }

    /// Returns `true` if the name leads to another file. One that is gone may be about to be replaced.
    fn leads_elsewhere(&self, own: FileNumber) -> io::Result<bool> {
        match fs::metadata(&self.path) {
            Ok(named) => Ok(number(&named) != own),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Why following ended.
enum FollowEnd {
    /// Nothing can be stored any more.
    Refused,
    /// The file cannot be read.
    Unread(io::Error),
}

impl From<Refused> for FollowEnd {
    fn from(_: Refused) -> Self {
        Self::Refused
    }
}

impl Receiving {
    /// Returns the offset behind what was read.
    fn end(&self) -> u64 {
        self.offset + self.window.len() as u64
    }

    /// Reads what is there; returns the number of bytes.
    fn fill(&mut self, file: &File) -> io::Result<usize> {
        let filled = self.window.len();
        let at = self.end();
        self.window.resize(PIECE.max(filled), 0);
        let room = self.window.get_mut(filled..).unwrap_or_default();
        let read = match room.is_empty() {
            true => Ok(0),
            false => file.read_at(room, at),
        };
        let n_read = *read.as_ref().unwrap_or(&0);
        self.window.truncate(filled + n_read);
        read
    }
}

/// Finds the capture of a file that an earlier start of the collector left unfinished, if the file still begins as what was stored.
fn left_off(data: &Path, sender: &str, file: &File) -> Option<LeftOff> {
    let captures = Captures::read(&DataFolder::open(data).ok()?).ok()?;
    let own = captures
        .list
        .iter()
        .filter(|capture| capture.peer == sender);
    let newest = own.max_by_key(|capture| (capture.incarnation, capture.id))?;
    let unfinished = match &newest.state {
        State::Interrupted => true,
        State::Closed(SessionEnd { reason, .. }) => reason == STOPPED,
        State::Open => false,
    };
    let offset = newest.parts.iter().map(|part| part.n_bytes).sum();
    if !unfinished || file.metadata().ok()?.len() < offset {
        return None;
    }
    let mut stored = Vec::new();
    if let Some(part) = newest.parts.first() {
        let copied = captures.copy(part, &mut |bytes| {
            stored.extend_from_slice(bytes);
            match stored.len() < COMPARED {
                true => Ok(()),
                false => Err(FormatError::io("that is enough")),
            }
        });
        if copied.is_err() && stored.len() < COMPARED {
            return None;
        }
    }
    let mut begins = vec![0; stored.len()];
    file.read_exact_at(&mut begins, 0).ok()?;
    (begins == stored).then_some(LeftOff {
        id: newest.id,
        offset,
    })
}
