//! What a collector says while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Each connection and each refusal.
    Debug,
    /// What happens once in a while.
    Info,
    /// What an operator should look at.
    Warn,
    /// What ends the collector.
    Error,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::Debug, Self::Info, Self::Warn, Self::Error];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Something that happened. Its texts hold whatever clients sent: who prints them escapes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEvent {
    /// How much it matters.
    pub level: Level,
    /// A sentence.
    pub text: String,
    /// Names from a closed list, and what they are.
    pub fields: Vec<(&'static str, String)>,
}

impl LogEvent {
    /// Returns an event without fields.
    #[must_use]
    pub fn new(level: Level, text: impl Into<String>) -> Self {
        Self {
            level,
            text: text.into(),
            fields: Vec::new(),
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }
}

/// Events that wait for being printed; more are counted.
const WAITING: usize = 4096;

/// Where sessions leave events. None of them waits.
#[derive(Clone)]
pub(crate) struct EventLog {
    least: Level,
    sender: mpsc::Sender<LogEvent>,
    lost: Arc<AtomicU64>,
}

/// Where they are printed.
pub(crate) struct PrintedEvents {
    receiver: mpsc::Receiver<LogEvent>,
    lost: Arc<AtomicU64>,
}

impl EventLog {
    /// Returns the two ends; what matters less than `least` is dropped at once.
    pub(crate) fn new(least: Level) -> (Self, PrintedEvents) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let log = Self {
            least,
            sender,
            lost: lost.clone(),
        };
        (log, PrintedEvents { receiver, lost })
    }

    /// Leaves an event that `make` makes, if anybody wants it.
    pub(crate) fn say(&self, level: Level, make: impl FnOnce() -> LogEvent) {
        if level >= self.least && self.sender.try_send(make()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl PrintedEvents {
    /// Returns the next event once there is one.
    pub(crate) async fn next(&mut self) -> Option<LogEvent> {
        if let Some(lost) = self.lost() {
            return Some(lost);
        }
        self.receiver.recv().await
    }

    /// Returns an event that is there already.
    pub(crate) fn pending(&mut self) -> Option<LogEvent> {
        self.lost().or_else(|| self.receiver.try_recv().ok())
    }

    fn lost(&self) -> Option<LogEvent> {
        match self.lost.swap(0, Ordering::Relaxed) {
            0 => None,
            n => Some(LogEvent::new(
                Level::Warn,
                format!("{n} events found no room in the log"),
            )),
        }
    }
}
