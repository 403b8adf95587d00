//! Columns of the list of calls, by their names.

use std::convert::Infallible;
use std::str::FromStr;

/// A column. The well-known ones have one name for all formats; any counter or attribute is a column
/// under its own name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// First nanosecond.
    Start,
    /// Nanosecond after the last.
    End,
    /// Wall time.
    Duration,
    /// Processor time.
    Cpu,
    /// Time during which the process was paused.
    Suspended,
    /// Time spent waiting before it began.
    Queue,
    /// Functions entered.
    Calls,
    /// Transactions.
    Transactions,
    /// What it ran in.
    Service,
    /// The process of it.
    Instance,
    /// The machine.
    Host,
    /// Name of the track.
    Thread,
    /// What it did, in words.
    Title,
    /// The function.
    Method,
    /// It failed.
    Error,
    /// How it ended, or that it was running: [`crate::calls::CallState::word`].
    Status,
    /// It is on an async track or a lane.
    Async,
    /// It is inside another call.
    Nested,
    /// What kind of work it was: its attribute `component`, else the producer's word for its kind.
    Component,
    /// What it ended with: class and message.
    Exception,
    /// Its trace across processes.
    Trace,
    /// Attributes that have no other place, as `name=value`.
    Attributes,
    /// How often the methods looked for were called in it ([`crate::calls::CallQuery::with_method`]).
    Uses,
    /// The time spent in them.
    UsedTime,
    /// A counter or attribute of this name.
    Named(String),
    /// The counter of this name, typed `counter.NAME`.
    Counter(String),
    /// The attribute of this name, typed `attr.NAME`.
    Attribute(String),
}

pub(crate) const KNOWN: [(&str, Column); 24] = [
    ("start", Column::Start),
    ("end", Column::End),
    ("duration", Column::Duration),
    ("cpu", Column::Cpu),
    ("suspended", Column::Suspended),
    ("queue", Column::Queue),
    ("calls", Column::Calls),
    ("transactions", Column::Transactions),
    ("service", Column::Service),
    ("instance", Column::Instance),
    ("host", Column::Host),
    ("thread", Column::Thread),
    ("title", Column::Title),
    ("method", Column::Method),
    ("error", Column::Error),
    ("status", Column::Status),
    ("async", Column::Async),
    ("nested", Column::Nested),
    ("component", Column::Component),
    ("exception", Column::Exception),
    ("trace", Column::Trace),
    ("attributes", Column::Attributes),
    ("uses", Column::Uses),
    ("used_time", Column::UsedTime),
];

impl FromStr for Column {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        if let Some((_, known)) = KNOWN.iter().find(|(known, _)| *known == name) {
            return Ok(known.clone());
        }
        if let Some(name) = name.strip_prefix(Self::ATTRIBUTE) {
            return Ok(Self::Attribute(name.to_owned()));
        }
        Ok(match name.strip_prefix(Self::COUNTER) {
            Some(name) => Self::Counter(name.to_owned()),
            None => Self::Named(name.to_owned()),
        })
    }
}

impl Column {
    /// The columns a person sees first.
    pub const DEFAULT: [Self; 10] = [
        Self::Start,
        Self::Duration,
        Self::Status,
        Self::Cpu,
        Self::Suspended,
        Self::Queue,
        Self::Calls,
        Self::Transactions,
        Self::Thread,
        Self::Title,
    ];

    /// The columns a person sees first where calls are of kinds: web requests, statements, jobs.
    pub const OF_KINDS: [Self; 10] = [
        Self::Start,
        Self::Duration,
        Self::Status,
        Self::Component,
        Self::Error,
        Self::Calls,
        Self::Thread,
        Self::Title,
        Self::Attributes,
        Self::Exception,
    ];

    /// What the name of an attribute has in front where columns of the list stand beside it.
    pub const ATTRIBUTE: &'static str = "attr.";

    /// What the name of a counter has in front there.
    pub const COUNTER: &'static str = "counter.";

    /// Returns the names of the columns that every format has.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        KNOWN.iter().map(|&(name, _)| name)
    }

    /// Returns the name of this column; that of a counter or attribute is the capture's own.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Counter(name) | Self::Attribute(name) => name,
            known => KNOWN
                .iter()
                .find(|(_, column)| column == known)
                .map_or("", |(name, _)| name),
        }
    }

    /// Returns the names under which producers count this; the first one found wins.
    #[must_use]
    pub fn sources(&self) -> Vec<&str> {
        match self {
            Self::Cpu => vec!["cpu", "cpu_time", "time.cpu"],
            Self::Queue => vec!["queue", "queue_wait", "queue_wait_time", "time.queue.wait"],
            Self::Calls => vec!["calls"],
            Self::Transactions => vec!["transactions", "j2ee.transactions"],
            Self::Component => vec!["component"],
            Self::Named(name) | Self::Counter(name) | Self::Attribute(name) => vec![name],
            _ => Vec::new(),
        }
    }
}
