//! Begins and ends to spans, track by track: what readers of begin and end events share.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, FunctionId, Level, Limit, Limits, Link, LinkBatch, SpanBatch, SpanId, SpanRow,
    SpanStatus, StringId, Tables, Timestamp, TrackId, ValueTypeId,
};

use crate::marks::Marks;
use crate::tally::Tally;

/// What arguments say of a span or event.
#[derive(Debug, Default)]
pub(crate) struct Annotated {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) marks: Marks,
    pub(crate) counters: Vec<(ValueTypeId, i64)>,
}

impl Annotated {
    /// Adds what the end of a slice says to what its begin said.
    pub(crate) fn append(&mut self, more: Self) {
        self.attributes.extend(more.attributes);
        self.counters.extend(more.counters);
        self.marks.add(more.marks);
    }
}

/// A slice that began.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) name: Option<StringId>,
    pub(crate) function: Option<FunctionId>,
    pub(crate) kind: Option<StringId>,
    pub(crate) start: Timestamp,
    pub(crate) annotated: Annotated,
    /// When it ends, where its begin says so.
    pub(crate) until: Option<Timestamp>,
}

/// Flows of an event: those that go on, then those that end here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flows {
    pub(crate) on: Vec<u64>,
    pub(crate) ending: Vec<u64>,
}

/// What happens on a track.
#[derive(Debug)]
pub(crate) enum Step {
    Begin(Open),
    End(Annotated),
    /// Nothing but flows, for the slice that is open.
    Touch,
}

#[derive(Debug)]
struct Held {
    time: Timestamp,
    flows: Flows,
    step: Step,
}

/// The slices of all tracks.
#[derive(Debug)]
pub(crate) struct Slices {
    open: HashMap<TrackId, Vec<(SpanId, Open)>, RandomState>,
    /// Tracks out of order, until all of them is known.
    held: HashMap<TrackId, Vec<Held>, RandomState>,
    n_held: usize,
    n_open: usize,
    flows: HashMap<u64, (Timestamp, SpanId), RandomState>,
    last: Timestamp,
    most_open: usize,
    most_deep: usize,
    most_flows: usize,
    pub(crate) spans: SpanBatch,
    pub(crate) links: LinkBatch,
}

impl Slices {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            open: HashMap::default(),
            held: HashMap::default(),
            n_held: 0,
            n_open: 0,
            flows: HashMap::default(),
            last: Timestamp::MIN,
            most_open: limits.size(Limit::OpenSpans),
            most_deep: limits.size(Limit::Depth),
            most_flows: limits.size(Limit::Table),
            spans: SpanBatch::default(),
            links: LinkBatch::default(),
        }
    }

    /// Keeps what happens on a track that is out of order.
    ///
    /// Returns the track that holds most when too much is held: damage, because what follows on it may nest
    /// wrongly.
    pub(crate) fn hold(
        &mut self,
        track: TrackId,
        (time, offset): (Timestamp, u64),
        flows: Flows,
        step: Step,
        tally: &mut Tally,
    ) -> Option<TrackId> {
        let row = Held { time, flows, step };
        self.held.entry(track).or_default().push(row);
        self.n_held += 1;
        if self.n_held <= self.most_open {
            return None;
        }
        tally.add(Level::Damage, "limit_open_spans", offset, || {
            "slices out of order are more than allowed: what follows may nest wrongly".to_owned()
        });
        let rows = self.held.iter();
        rows.max_by_key(|(track, rows)| (rows.len(), **track))
            .map(|(&track, _)| track)
    }

    /// Takes what is held of a track, in the order of time; what has one time as it came.
    pub(crate) fn release(
        &mut self,
        track: TrackId,
    ) -> impl Iterator<Item = (Timestamp, Flows, Step)> + use<> {
        let mut rows = self.held.remove(&track).unwrap_or_default();
        self.n_held -= rows.len();
        rows.sort_by_key(|row| row.time);
        rows.into_iter().map(|row| (row.time, row.flows, row.step))
    }

    /// Returns the tracks of which something is held.
    pub(crate) fn holding(&self) -> Vec<TrackId> {
        let mut tracks: Vec<TrackId> = self.held.keys().copied().collect();
        tracks.sort_unstable();
        tracks
    }

    /// Takes the next thing that happens on a track.
    pub(crate) fn take(
        &mut self,
        track: TrackId,
        (time, offset): (Timestamp, u64),
        flows: &Flows,
        step: Step,
        tables: &mut Tables,
        tally: &mut Tally,
    ) {
        self.last = self.last.max(time);
        self.expire(track, time);
        match step {
            Step::Begin(open) => {
                let rows = self.open.entry(track).or_default();
                if self.n_open >= self.most_open || rows.len() >= self.most_deep {
                    tally.add(Level::Damage, "limit_open_spans", offset, || {
                        "more slices are open than allowed: this one is left out".to_owned()
                    });
                    return;
                }
                let id = tables.reserve_span();
                self.last = self.last.max(open.until.unwrap_or(time));
                rows.push((id, open));
                self.n_open += 1;
                self.flow(id, time, flows);
            }
            Step::End(annotated) => {
                let rows = self.open.get_mut(&track);
                let Some(&(id, _)) = rows.as_ref().and_then(|rows| rows.last()) else {
                    tally.add(Level::Warn, "unmatched_end", offset, || {
                        "a slice ends that did not begin".to_owned()
                    });
                    return;
                };
                self.flow(id, time, flows);
                self.close(track, time, Some(annotated), SpanStatus::Complete);
            }
            Step::Touch => {
                let rows = self.open.get(&track);
                if let Some(&(id, _)) = rows.and_then(|rows| rows.last()) {
                    self.flow(id, time, flows);
                }
            }
        }
    }

    /// Ends slices whose end came with their begin.
    fn expire(&mut self, track: TrackId, time: Timestamp) {
        loop {
            let top = self.open.get(&track).and_then(|rows| rows.last());
            let Some(until) = top.and_then(|(_, open)| open.until) else {
                return;
            };
            if until > time {
                return;
            }
            self.close(track, until, None, SpanStatus::Complete);
        }
    }

    /// Tells whether a slice that begins and ends then lies within what is open on a track.
    pub(crate) fn fits(&mut self, track: TrackId, time: Timestamp, until: Timestamp) -> bool {
        self.expire(track, time);
        let top = self.open.get(&track).and_then(|rows| rows.last());
        top.and_then(|(_, open)| open.until)
            .is_none_or(|around| until <= around)
    }

    fn flow(&mut self, id: SpanId, time: Timestamp, flows: &Flows) {
        for (list, ends) in [(&flows.on, false), (&flows.ending, true)] {
            for &flow in list {
                if let Some(&(before, other)) = self.flows.get(&flow)
                    && other != id
                {
                    let (from, to) = if before <= time {
                        (other, id)
                    } else {
                        (id, other)
                    };
                    self.links.links.push(Link {
                        from,
                        to,
                        kind: None,
                    });
                    if before > time {
                        continue;
                    }
                }
                if ends {
                    self.flows.remove(&flow);
                } else if self.flows.len() < self.most_flows {
                    self.flows.insert(flow, (time, id));
                }
            }
        }
    }

    fn close(
        &mut self,
        track: TrackId,
        end: Timestamp,
        more: Option<Annotated>,
        status: SpanStatus,
    ) {
        let Some(rows) = self.open.get_mut(&track) else {
            return;
        };
        let Some((id, mut open)) = rows.pop() else {
            return;
        };
        self.n_open -= 1;
        if let Some(more) = more {
            open.annotated.append(more);
        }
        let marks = &open.annotated.marks;
        let parent = rows.last().map(|&(id, _)| id);
        let status = match marks.status {
            SpanStatus::Complete => status,
            marked => marked,
        };
        self.spans.push(&SpanRow {
            id,
            parent,
            depth: u32::try_from(rows.len()).unwrap_or(u32::MAX),
            track,
            function: open.function,
            kind: open.kind,
            start: open.start,
            end: end.max(open.start),
            status,
            entry: marks.entry.unwrap_or(parent.is_none()),
            counters: &open.annotated.counters,
            attributes: &open.annotated.attributes,
            exception: marks.exception,
            context: marks.context(),
            origin: None,
        });
    }

    /// Ends one slice that is still open, on whatever track; false when there is none.
    pub(crate) fn end_one(&mut self) -> bool {
        let tracks = self.open.iter().filter(|(_, rows)| !rows.is_empty());
        let Some(track) = tracks.map(|(&track, _)| track).min() else {
            return false;
        };
        while let Some((_, open)) = self.open.get(&track).and_then(|rows| rows.last()) {
            let (end, status) = match open.until {
                Some(until) => (until, SpanStatus::Complete),
                None => (self.last, SpanStatus::PartialEnd),
            };
            self.close(track, end, None, status);
            if self.spans.len() >= traceloom_model::BATCH_ROWS {
                return true;
            }
        }
        self.open.remove(&track);
        true
    }
}
