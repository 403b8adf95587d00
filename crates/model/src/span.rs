//! Spans: something ran on a track from a start to an end.

use crate::bounds::row_number;
use crate::sparse::Each;
use crate::{
    Attribute, Attributes, ExceptionId, FunctionId, PartId, SpanId, Sparse, StackId, StringId,
    Timestamp, TrackId, ValueTypeId,
};

/// How a span ended, and whether all of it was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SpanStatus {
    /// Start and end were recorded.
    #[default]
    Complete,
    /// The end was recorded, the start was not.
    PartialStart,
    /// The start was recorded, the end was not: it ran past the data.
    PartialEnd,
    /// Complete, and the producer marks it as failed.
    Error,
}

/// Identity of a span across processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SpanContext {
    /// Trace id, 128 bits.
    pub trace: u128,
    /// Span id.
    pub span: u64,
    /// Parent span id, 0 for none.
    pub parent: u64,
}

/// Where a span's bytes begin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Origin {
    /// The part of the input.
    pub part: PartId,
    /// Offset in the decoded bytes of the part.
    pub offset: u64,
    /// Ordinal of the record in the unit at `offset`.
    pub index: u32,
}

/// An exception, shared by reference.
#[derive(Clone, PartialEq, Debug)]
pub struct Exception {
    /// Class name.
    pub class: Option<StringId>,
    /// Message.
    pub message: Option<StringId>,
    /// Where it was thrown.
    pub stack: Option<StackId>,
    /// The exception it wraps.
    pub cause: Option<ExceptionId>,
}

/// One span, as a row that a lowering fills and a writer reads.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanRow<'a> {
    /// Its id, reserved at its start.
    pub id: SpanId,
    /// The enclosing span.
    pub parent: Option<SpanId>,
    /// Spans that enclose it on its track.
    pub depth: u32,
    /// The line it ran on.
    pub track: TrackId,
    /// What ran.
    pub function: Option<FunctionId>,
    /// The producer's word for its kind, such as a trace type.
    pub kind: Option<StringId>,
    /// First nanosecond.
    pub start: Timestamp,
    /// Nanosecond after the last; not before `start`.
    pub end: Timestamp,
    /// How it ended.
    pub status: SpanStatus,
    /// It is a call: a span without parent, or one its format marks as an entry.
    pub entry: bool,
    /// Numbers the producer counted for it.
    pub counters: &'a [(ValueTypeId, i64)],
    /// Named values.
    pub attributes: &'a [Attribute],
    /// The exception it ended with.
    pub exception: Option<ExceptionId>,
    /// Identity across processes.
    pub context: Option<SpanContext>,
    /// Where its bytes are.
    pub origin: Option<Origin>,
}

impl SpanRow<'_> {
    /// A complete call without parent.
    #[must_use]
    pub const fn call(
        id: SpanId,
        track: TrackId,
        function: FunctionId,
        start: Timestamp,
        end: Timestamp,
    ) -> Self {
        Self {
            id,
            parent: None,
            depth: 0,
            track,
            function: Some(function),
            kind: None,
            start,
            end,
            status: SpanStatus::Complete,
            entry: true,
            counters: &[],
            attributes: &[],
            exception: None,
            context: None,
            origin: None,
        }
    }

    /// Returns the duration in nanoseconds.
    #[must_use]
    pub const fn duration(&self) -> u64 {
        if self.end > self.start {
            self.end.abs_diff(self.start)
        } else {
            0
        }
    }
}

/// Spans in columns: one entry a span in each, but in those that few spans have something in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpanBatch {
    /// Ids, reserved at the starts.
    pub id: Vec<SpanId>,
    /// Enclosing spans.
    pub parent: Vec<Option<SpanId>>,
    /// Nesting depths on the track, 0 for a call.
    pub depth: Vec<u32>,
    /// Tracks.
    pub track: Vec<TrackId>,
    /// Functions.
    pub function: Vec<Option<FunctionId>>,
    /// Kinds.
    pub kind: Sparse<StringId>,
    /// Starts, in nanoseconds.
    pub start: Vec<Timestamp>,
    /// Ends, in nanoseconds.
    pub end: Vec<Timestamp>,
    /// Outcomes.
    pub status: Vec<SpanStatus>,
    /// Entry marks.
    pub entry: Vec<bool>,
    /// Exceptions.
    pub exception: Sparse<ExceptionId>,
    /// Identities across processes.
    pub context: Sparse<SpanContext>,
    /// Places of the bytes.
    pub origin: Sparse<Origin>,
    /// Attributes.
    pub attributes: Attributes,
    counter_ends: Vec<u32>,
    counters: Vec<(ValueTypeId, i64)>,
}

impl SpanBatch {
    /// Empty, with room for `rows` spans: a dozen columns that grow one by one cost more than filling them.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            id: Vec::with_capacity(rows),
            parent: Vec::with_capacity(rows),
            depth: Vec::with_capacity(rows),
            track: Vec::with_capacity(rows),
            function: Vec::with_capacity(rows),
            kind: Sparse::default(),
            start: Vec::with_capacity(rows),
            end: Vec::with_capacity(rows),
            status: Vec::with_capacity(rows),
            entry: Vec::with_capacity(rows),
            exception: Sparse::default(),
            context: Sparse::default(),
            origin: Sparse::default(),
            attributes: Attributes::with_capacity(rows),
            counter_ends: Vec::with_capacity(rows),
            counters: Vec::new(),
        }
    }

    /// Adds a span.
    pub fn push(&mut self, row: &SpanRow<'_>) {
        self.attributes.push_row(row.attributes.iter().cloned());
        self.push_columns(row);
    }

    /// Adds a span with `attributes` in place of its own, and leaves them empty: moved, not copied.
    #[inline]
    pub fn push_with(&mut self, row: &SpanRow<'_>, attributes: &mut Vec<Attribute>) {
        self.attributes.append_row(attributes);
        self.push_columns(row);
    }

    /// Adds a span with the attributes that `make` appends in place of its own: made where they stay.
    #[inline]
    pub fn push_made(&mut self, row: &SpanRow<'_>, make: impl FnOnce(&mut Vec<Attribute>)) {
        self.attributes.make_row(make);
        self.push_columns(row);
    }

    // In place, what a lowering never says takes no column's time.
    #[inline(always)]
    fn push_columns(&mut self, row: &SpanRow<'_>) {
        let at = self.id.len();
        self.id.push(row.id);
        self.parent.push(row.parent);
        self.depth.push(row.depth);
        self.track.push(row.track);
        self.function.push(row.function);
        self.kind.push(at, row.kind);
        self.start.push(row.start);
        self.end.push(row.end);
        self.status.push(row.status);
        self.entry.push(row.entry);
        self.exception.push(at, row.exception);
        self.context.push(at, row.context);
        self.origin.push(at, row.origin);
        self.counters.extend_from_slice(row.counters);
        self.counter_ends.push(row_number(self.counters.len()));
    }

    /// Returns the number of spans.
    #[must_use]
    pub fn len(&self) -> usize {
        self.id.len()
    }

    /// Returns true if there is no span.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.id.is_empty()
    }

    /// Returns the span at `row`.
    #[inline]
    #[must_use]
    pub fn row(&self, row: usize) -> Option<SpanRow<'_>> {
        Some(SpanRow {
            id: *self.id.get(row)?,
            parent: *self.parent.get(row)?,
            depth: *self.depth.get(row)?,
            track: *self.track.get(row)?,
            function: *self.function.get(row)?,
            kind: self.kind.get(row).copied(),
            start: *self.start.get(row)?,
            end: *self.end.get(row)?,
            status: *self.status.get(row)?,
            entry: *self.entry.get(row)?,
            counters: self.counters(row),
            attributes: self.attributes.row(row),
            exception: self.exception.get(row).copied(),
            context: self.context.get(row).copied(),
            origin: self.origin.get(row).copied(),
        })
    }

    /// Returns the counters of the span at `row`; empty for a row that does not exist, and once they were taken out.
    #[inline]
    #[must_use]
    pub fn counters(&self, row: usize) -> &[(ValueTypeId, i64)] {
        let end = self.counter_end(row);
        let before = row.checked_sub(1);
        let start = before.map_or(0, |before| self.counter_end(before));
        self.counters.get(start..end).unwrap_or_default()
    }

    /// Takes the counters of all spans out; [`SpanBatch::counter_end`] still says whose is whose.
    #[must_use]
    pub fn take_counters(&mut self) -> Vec<(ValueTypeId, i64)> {
        std::mem::take(&mut self.counters)
    }

    /// Returns how many of all counters are those of the span at `row` and of the spans before it.
    #[inline]
    #[must_use]
    pub fn counter_end(&self, row: usize) -> usize {
        self.counter_ends.get(row).copied().unwrap_or(0) as usize
    }

    pub(crate) fn all_counters_mut(&mut self) -> &mut [(ValueTypeId, i64)] {
        &mut self.counters
    }

    /// Iterates over the spans that are calls: entry points, and spans without a parent.
    pub fn calls(&self) -> impl Iterator<Item = SpanRow<'_>> {
        self.iter().filter(|row| row.entry || row.parent.is_none())
    }

    /// Iterates over the spans in their order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = SpanRow<'_>> {
        SpanRows {
            batch: self,
            row: 0,
            attributes: 0,
            counters: 0,
            kinds: self.kind.each(),
            exceptions: self.exception.each(),
            contexts: self.context.each(),
            origins: self.origin.each(),
        }
    }

    /// Appends the spans of `other`.
    pub fn append(&mut self, other: Self) {
        let base = row_number(self.counters.len());
        let rows = self.id.len();
        self.id.extend(other.id);
        self.parent.extend(other.parent);
        self.depth.extend(other.depth);
        self.track.extend(other.track);
        self.function.extend(other.function);
        self.kind.append(rows, other.kind);
        self.start.extend(other.start);
        self.end.extend(other.end);
        self.status.extend(other.status);
        self.entry.extend(other.entry);
        self.exception.append(rows, other.exception);
        self.context.append(rows, other.context);
        self.origin.append(rows, other.origin);
        self.attributes.append(other.attributes);
        self.counter_ends.extend(
            other
                .counter_ends
                .iter()
                .map(|end| end.saturating_add(base)),
        );
        self.counters.extend(other.counters);
    }
}

/// The rows of a batch, one after the other.
struct SpanRows<'a> {
    batch: &'a SpanBatch,
    row: usize,
    /// How many attributes and counters the rows before it have.
    attributes: usize,
    counters: usize,
    kinds: Each<'a, StringId>,
    exceptions: Each<'a, ExceptionId>,
    contexts: Each<'a, SpanContext>,
    origins: Each<'a, Origin>,
}

impl<'a> Iterator for SpanRows<'a> {
    type Item = SpanRow<'a>;

    // A row is two hundred bytes: handed over by a call it would be copied, which takes as long as making it.
    #[inline(always)]
    fn next(&mut self) -> Option<SpanRow<'a>> {
        let (batch, row) = (self.batch, self.row);
        self.row += 1;
        let attributes = self.attributes..batch.attributes.end(row);
        let counters = self.counters..batch.counter_end(row);
        (self.attributes, self.counters) = (attributes.end, counters.end);
        Some(SpanRow {
            id: *batch.id.get(row)?,
            parent: *batch.parent.get(row)?,
            depth: *batch.depth.get(row)?,
            track: *batch.track.get(row)?,
            function: *batch.function.get(row)?,
            kind: self.kinds.of_next().copied(),
            start: *batch.start.get(row)?,
            end: *batch.end.get(row)?,
            status: *batch.status.get(row)?,
            entry: *batch.entry.get(row)?,
            // Both may have been taken out of the batch.
            counters: batch.counters.get(counters).unwrap_or_default(),
            attributes: batch.attributes.all().get(attributes).unwrap_or_default(),
            exception: self.exceptions.of_next().copied(),
            context: self.contexts.of_next().copied(),
            origin: self.origins.of_next().copied(),
        })
    }
}
