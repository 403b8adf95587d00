//! What happened from one time to another.

use traceloom_model::{
    Asks, Batch, CounterBatch, Definitions, EventBatch, EventRow, Flow, Level, Note, SampleBatch,
    Sink, SpanBatch, SpanRow, SpanStatus, Stage, Timestamp,
};

/// A stretch of time: from `since` on, before `until`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// First nanosecond, none for the beginning.
    pub since: Option<Timestamp>,
    /// Nanosecond after the last, none for the end.
    pub until: Option<Timestamp>,
}

impl Range {
    /// Returns `true` if a time lies in it.
    #[must_use]
    pub fn has(&self, time: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time < until)
    }

    /// What lies from `start` to `end` touches a stretch it shares no time with only as an instant.
    fn touches(&self, start: Timestamp, end: Timestamp) -> bool {
        if end <= start {
            return self.has(start);
        }
        self.since.is_none_or(|since| since < end) && self.until.is_none_or(|until| start < until)
    }

    fn clip(&self, time: Timestamp) -> Timestamp {
        let time = self.since.map_or(time, |since| time.max(since));
        self.until.map_or(time, |until| time.min(until))
    }
}

/// Passes on what happened in a stretch of time.
///
/// Of a span or event that reaches across the border the part inside stays, and a span is marked as partial: times
/// add up to the stretch, in every view alike.
/// Counters of a span are those of the whole span, because nothing tells which share of them is inside.
/// Links, and heap objects of a dump stay: they have no time of their own. Samples without a time lie in no
/// stretch; they are left out and counted, and [`Window::finish`] says how many. A profile that says when
/// it was taken was taken in the part of that inside, so that rates stay rates.
pub struct Window<'s> {
    to: &'s mut dyn Sink,
    range: Range,
    timeless: u64,
    kept: bool,
}

impl std::fmt::Debug for Window<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Window")
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl<'s> Window<'s> {
    /// Passes on to `to` what happened in `range`.
    pub fn new(to: &'s mut dyn Sink, range: Range) -> Self {
        Self {
            to,
            range,
            timeless: 0,
            kept: false,
        }
    }

    /// Returns true if nothing that happened was passed on so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.kept
    }

    /// Returns a note about samples that have no time, if there were any.
    #[must_use]
    pub fn finish(self) -> Option<Note> {
        let text = "samples without a time are in no stretch of it and were left out";
        let note = Note::new(Level::Warn, "samples_without_time", 0, text);
        (self.timeless > 0).then(|| note.counting(self.timeless))
    }

    fn spans_inside(&self, batch: SpanBatch) -> SpanBatch {
        let inside = |row: &SpanRow<'_>| {
            self.range.clip(row.start) == row.start && self.range.clip(row.end) == row.end
        };
        if batch
            .iter()
            .all(|row| inside(&row) && self.range.touches(row.start, row.end))
        {
            return batch;
        }
        let mut kept = SpanBatch::default();
        for row in batch
            .iter()
            .filter(|row| self.range.touches(row.start, row.end))
        {
            kept.push(&self.clipped(row));
        }
        kept
    }

    fn clipped<'r>(&self, row: SpanRow<'r>) -> SpanRow<'r> {
        let (start, end) = (self.range.clip(row.start), self.range.clip(row.end));
        // A failure is told by the end, so a span that ends inside keeps it.
        let status = match row.status {
            _ if end < row.end => SpanStatus::PartialEnd,
            SpanStatus::Complete if start > row.start => SpanStatus::PartialStart,
            status => status,
        };
        SpanRow {
            start,
            end,
            status,
            ..row
        }
    }

    fn samples_inside(&mut self, batch: &SampleBatch) -> SampleBatch {
        let mut kept = SampleBatch::new(batch.profile, batch.width());
        for row in batch.iter() {
            match row.time {
                Some(time) if self.range.has(time) => kept.push(&row),
                Some(_) => {}
                None => self.timeless += 1,
            }
        }
        kept
    }

    fn events_inside(&self, batch: &EventBatch) -> EventBatch {
        let mut kept = EventBatch::default();
        for row in batch.iter() {
            if !self.range.touches(row.time, row.end.unwrap_or(row.time)) {
                continue;
            }
            kept.push(&EventRow {
                time: self.range.clip(row.time),
                end: row.end.map(|end| self.range.clip(end)),
                ..row
            });
        }
        kept
    }

    /// Moves the borders of profiles inside.
    fn profiles_inside(&self, new: &mut Definitions) {
        for (_, profile) in &mut new.profiles {
            let (Some(start), Some(duration)) = (profile.time, profile.duration) else {
                continue;
            };
            let end = self.range.clip(start.saturating_add(duration));
            let start = self.range.clip(start);
            profile.time = Some(start);
            profile.duration = Some(end.saturating_sub(start));
        }
    }

    fn counters_inside(&self, batch: &CounterBatch) -> CounterBatch {
        let mut kept = CounterBatch::default();
        for ((&series, &time), &value) in batch.series.iter().zip(&batch.time).zip(&batch.value) {
            if self.range.has(time) {
                kept.push(series, time, value);
            }
        }
        kept
    }
}

impl Stage for Window<'_> {
    fn asks(&self) -> Asks {
        let asks = self.to.asks();
        Asks {
            // A step says nothing about the span it belongs to, and a border falls between steps.
            wants: asks.wants.without_steps(),
            // A sample written out as a path has no time.
            stacks: true,
            sums: false,
            ..asks
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let batch = match batch {
            // A reader may push more than it was asked for: what it pushes as spans too.
            Batch::Steps(_) => return Flow::Continue(()),
            Batch::Spans(spans) => Batch::Spans(self.spans_inside(spans)),
            Batch::Samples(samples) => Batch::Samples(self.samples_inside(&samples)),
            Batch::Events(events) => Batch::Events(self.events_inside(&events)),
            Batch::Counters(points) => Batch::Counters(self.counters_inside(&points)),
            Batch::Objects(mut objects) => {
                let has = |time: Option<Timestamp>| time.is_none_or(|time| self.range.has(time));
                objects.rows.retain(|row| has(row.time));
                Batch::Objects(objects)
            }
            Batch::Define(mut new) => {
                self.profiles_inside(&mut new);
                Batch::Define(new)
            }
            other => other,
        };
        self.kept |= match &batch {
            Batch::Spans(spans) => !spans.is_empty(),
            Batch::Samples(samples) => !samples.is_empty(),
            Batch::Events(events) => !events.is_empty(),
            Batch::Counters(points) => !points.time.is_empty(),
            Batch::Objects(objects) => objects.rows.iter().any(|row| row.time.is_some()),
            _ => false,
        };
        batch.push(self.to)
    }
}
