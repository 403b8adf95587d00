//! What a span has besides its arguments, as arguments of reserved names.
//!
//! Formats that hold a name, two times and arguments carry status, exception and identity of a span as
//! arguments `span.…`; a reader of such a format puts them back. Text, so that viewers show it.

use traceloom_model::{Exception, ExceptionId, SpanContext, SpanStatus, StringId, Tables, Unit};

/// A reserved name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    Status,
    Entry,
    TraceId,
    SpanId,
    ParentId,
    Exception,
    Counters,
    /// How many spans of no length that lie where it begins come before it, and not in it.
    Follows,
}

/// The reserved names.
pub(crate) const NAMES: [(&str, Mark); 8] = [
    ("span.status", Mark::Status),
    ("span.entry", Mark::Entry),
    ("span.trace_id", Mark::TraceId),
    ("span.id", Mark::SpanId),
    ("span.parent_id", Mark::ParentId),
    ("span.exception", Mark::Exception),
    ("span.counters", Mark::Counters),
    ("span.follows", Mark::Follows),
];

/// Finds what a name is reserved for.
pub(crate) fn mark(name: &[u8]) -> Option<Mark> {
    let row = NAMES.iter().find(|(known, _)| known.as_bytes() == name);
    row.map(|&(_, mark)| mark)
}

/// The word for a status other than complete.
pub(crate) fn status_word(status: SpanStatus) -> Option<&'static str> {
    match status {
        SpanStatus::Complete => None,
        SpanStatus::PartialStart => Some("partial_start"),
        SpanStatus::PartialEnd => Some("partial_end"),
        SpanStatus::Error => Some("error"),
    }
}

/// What the reserved arguments of one span say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    pub(crate) status: SpanStatus,
    pub(crate) entry: Option<bool>,
    pub(crate) exception: Option<ExceptionId>,
    pub(crate) follows: u64,
    trace: Option<u128>,
    span: u64,
    parent: u64,
}

impl Marks {
    /// Takes the text of a reserved argument; false when it is none that this argument can have.
    pub(crate) fn set(&mut self, mark: Mark, text: &[u8]) -> bool {
        let text = std::str::from_utf8(text).unwrap_or("");
        let id = || u64::from_str_radix(text, 16).ok();
        match (mark, text) {
            (Mark::Status, "partial_start") => self.status = SpanStatus::PartialStart,
            (Mark::Status, "partial_end") => self.status = SpanStatus::PartialEnd,
            (Mark::Status, "error") => self.status = SpanStatus::Error,
            (Mark::Entry, "true") => self.entry = Some(true),
            (Mark::Entry, "false") => self.entry = Some(false),
            (Mark::TraceId, text) => match u128::from_str_radix(text, 16) {
                Ok(trace) => self.trace = Some(trace),
                Err(_) => return false,
            },
            (Mark::SpanId, _) => match id() {
                Some(span) => self.span = span,
                None => return false,
            },
            (Mark::ParentId, _) => match id() {
                Some(parent) => self.parent = parent,
                None => return false,
            },
            (Mark::Follows, text) => match text.parse() {
                Ok(follows) => self.follows = follows,
                Err(_) => return false,
            },
            _ => return false,
        }
        true
    }

    /// Takes class and message of the exception.
    pub(crate) fn except(
        &mut self,
        class: Option<StringId>,
        message: Option<StringId>,
        tables: &mut Tables,
    ) {
        self.exception = Some(tables.exception(Exception {
            class,
            message,
            stack: None,
            cause: None,
        }));
    }

    /// Adds what later arguments of the span say.
    pub(crate) fn add(&mut self, more: Self) {
        if more.status != SpanStatus::Complete {
            self.status = more.status;
        }
        self.entry = more.entry.or(self.entry);
        self.exception = more.exception.or(self.exception);
        self.follows = self.follows.max(more.follows);
        if more.trace.is_some() {
            (self.trace, self.span, self.parent) = (more.trace, more.span, more.parent);
        }
    }

    pub(crate) fn context(&self) -> Option<SpanContext> {
        Some(SpanContext {
            trace: self.trace?,
            span: self.span,
            parent: self.parent,
        })
    }
}

const UNITS: [(&str, Unit); 4] = [
    (" [ns]", Unit::Nanoseconds),
    (" [bytes]", Unit::Bytes),
    (" [chars]", Unit::Chars),
    (" [percent]", Unit::Percent),
];

/// What a counter's unit adds to its name.
pub(crate) fn unit_suffix(unit: Unit) -> &'static str {
    let row = UNITS.iter().find(|&&(_, known)| known == unit);
    row.map_or("", |&(suffix, _)| suffix)
}

/// Splits a counter's name from its unit.
pub(crate) fn counter_name(text: &[u8]) -> (&[u8], Unit) {
    let found = UNITS
        .iter()
        .find_map(|&(suffix, unit)| Some((text.strip_suffix(suffix.as_bytes())?, unit)));
    found.unwrap_or((text, Unit::Count))
}
