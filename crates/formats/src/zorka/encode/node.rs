//! What is kept of a span until its trace is written.

use traceloom_model::{
    Attribute, ExceptionId, FunctionId, SpanContext, SpanId, SpanRow, SpanStatus, StringId, TrackId,
};

use crate::spans::parents_first::{HoldsValues, PendingSpan, ValuesAt};

/// A span that waits for its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingRecord {
    pub(crate) id: SpanId,
    pub(crate) start: i64,
    pub(super) end: i64,
    pub(crate) track: TrackId,
    pub(super) function: Option<FunctionId>,
    pub(super) kind: Option<StringId>,
    pub(super) exception: Option<ExceptionId>,
    pub(super) error: bool,
    pub(super) entry: bool,
    /// Some of its attributes were set by another span.
    pub(crate) handed_up: bool,
    pub(super) own: ValuesAt,
    /// Its identity across processes.
    pub(crate) context: Option<SpanContext>,
}

impl PendingRecord {
    #[inline]
    pub(crate) fn of(row: &SpanRow<'_>, own: ValuesAt, attributes: &[Attribute]) -> Self {
        Self {
            id: row.id,
            start: row.start,
            end: row.end,
            track: row.track,
            function: row.function,
            kind: row.kind,
            error: row.status == SpanStatus::Error,
            entry: row.entry,
            handed_up: attributes.iter().any(|one| one.from.is_some()),
            own,
            exception: row.exception,
            context: row.context,
        }
    }
}

impl PendingSpan for PendingRecord {
    fn id(&self) -> SpanId {
        self.id
    }

    fn order(&self) -> (i64, i64) {
        (self.start, 0)
    }
}

impl HoldsValues for PendingRecord {
    fn own(&self) -> ValuesAt {
        self.own
    }

    fn own_mut(&mut self) -> &mut ValuesAt {
        &mut self.own
    }
}
