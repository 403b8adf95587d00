//! What a span has besides its arguments, as arguments of reserved names.
//!
//! Formats that hold a name, two times and arguments carry status, exception and identity of a span as
//! arguments `span.…`; a reader of such a format puts them back. Text, so that viewers show it.

use traceloom_model::{Exception, ExceptionId, SpanContext, SpanStatus, StringId, Tables, Unit};

/// A reserved name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReservedArg {
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
pub(crate) const NAMES: [(&str, ReservedArg); 8] = [
    ("span.status", ReservedArg::Status),
    ("span.entry", ReservedArg::Entry),
    ("span.trace_id", ReservedArg::TraceId),
    ("span.id", ReservedArg::SpanId),
    ("span.parent_id", ReservedArg::ParentId),
    ("span.exception", ReservedArg::Exception),
    ("span.counters", ReservedArg::Counters),
    ("span.follows", ReservedArg::Follows),
];

/// Finds what a name is reserved for.
pub(crate) fn find(name: &[u8]) -> Option<ReservedArg> {
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
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ReservedArgs {
    pub(crate) status: SpanStatus,
    pub(crate) entry: Option<bool>,
    pub(crate) exception: Option<ExceptionId>,
    pub(crate) follows: u64,
    trace: Option<u128>,
    span: u64,
    parent: u64,
}

impl ReservedArgs {
    /// Takes the text of a reserved argument; false when it is none that this argument can have.
    pub(crate) fn set(&mut self, mark: ReservedArg, text: &[u8]) -> bool {
        let text = std::str::from_utf8(text).unwrap_or("");
        let id = || u64::from_str_radix(text, 16).ok();
        match (mark, text) {
            (ReservedArg::Status, "partial_start") => self.status = SpanStatus::PartialStart,
            (ReservedArg::Status, "partial_end") => self.status = SpanStatus::PartialEnd,
            (ReservedArg::Status, "error") => self.status = SpanStatus::Error,
            (ReservedArg::Entry, "true") => self.entry = Some(true),
            (ReservedArg::Entry, "false") => self.entry = Some(false),
            (ReservedArg::TraceId, text) => match u128::from_str_radix(text, 16) {
                Ok(trace) => self.trace = Some(trace),
                Err(_) => return false,
            },
            (ReservedArg::SpanId, _) => match id() {
                Some(span) => self.span = span,
                None => return false,
            },
            (ReservedArg::ParentId, _) => match id() {
                Some(parent) => self.parent = parent,
                None => return false,
            },
            (ReservedArg::Follows, text) => match text.parse() {
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
