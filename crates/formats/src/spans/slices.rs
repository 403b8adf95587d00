//! Begins and ends to spans, track by track: what readers of begin and end events share.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{
    Attribute, FunctionId, Level, Limit, Limits, Link, LinkBatch, SpanBatch, SpanId, SpanRow,
    SpanStatus, StringId, Tables, Timestamp, ValueTypeId,
};

use crate::codec::CountedNotes;
use crate::spans::by_line::{ByLine, SliceLine};
use crate::spans::reserved_args::ReservedArgs;

/// What arguments say of a span or event.
#[derive(PartialEq, Debug, Default)]
pub(crate) struct Annotated {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) marks: ReservedArgs,
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

/// What the arguments of a slice say: nothing where it has none, so that slices that wait are small.
#[derive(Debug, Default)]
pub(crate) struct SliceArgs(Option<Box<Annotated>>);

impl From<Annotated> for SliceArgs {
    fn from(annotated: Annotated) -> Self {
        let is_any = annotated != Annotated::default();
        Self(is_any.then(|| Box::new(annotated)))
    }
}

impl SliceArgs {
    /// Adds what the end of a slice says to what its begin said.
    pub(crate) fn append(&mut self, more: Self) {
        match (&mut self.0, more.0) {
            (Some(own), Some(more)) => own.append(*more),
            (own @ None, more) => *own = more,
            (Some(_), None) => {}
        }
    }

    pub(crate) fn attributes(&self) -> &[Attribute] {
        self.0.as_deref().map_or(&[], |args| &args.attributes)
    }

    /// Returns how many slices of no length come before it and not in it.
    pub(crate) fn follows(&self) -> u64 {
        self.0.as_deref().map_or(0, |args| args.marks.follows)
    }
}

/// A slice that began.
#[derive(Debug)]
pub(crate) struct OpenSlice {
    pub(crate) name: Option<StringId>,
    pub(crate) function: Option<FunctionId>,
    pub(crate) kind: Option<StringId>,
    pub(crate) start: Timestamp,
    pub(crate) args: SliceArgs,
    /// When it ends, where its begin says so.
    pub(crate) until: Option<Timestamp>,
}

/// Flows of an event: those that go on, then those that end here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flows {
    pub(crate) on: Vec<u64>,
    pub(crate) ending: Vec<u64>,
}

impl Flows {
    fn is_empty(&self) -> bool {
        self.on.is_empty() && self.ending.is_empty()
    }
}

/// What happens on a track.
#[derive(Debug)]
pub(crate) enum SliceStep {
    Begin(OpenSlice),
    End(SliceArgs),
    /// Nothing but flows, for the slice that is open.
    Touch,
}

/// A step that was held: on which line and when.
pub(crate) type HeldStep = (SliceLine, Timestamp, Flows, SliceStep);

#[derive(Debug)]
struct HeldSlice {
    line: SliceLine,
    time: Timestamp,
    flows: Option<Box<Flows>>,
    step: SliceStep,
}

impl HeldSlice {
    fn into_step(self) -> HeldStep {
        let flows = self.flows.map(|flows| *flows).unwrap_or_default();
        (self.line, self.time, flows, self.step)
    }
}

/// How long what is held of a line has to wait.
#[derive(Clone, Copy, Debug, Default)]
struct LineWait {
    latest: Option<Timestamp>,
    /// Rows with which it is worth to look for some that need not wait any more.
    look_at: usize,
}

/// Rows that are not worth to look through.
const FEW_ROWS: usize = 256;

/// Where a flow was met last.
#[derive(Clone, Copy, Debug)]
struct FlowEnd {
    time: Timestamp,
    id: SpanId,
    /// It ends there, and where it came from is not known yet.
    ends: bool,
}

/// The slices of all tracks.
#[derive(Debug)]
pub(crate) struct Slices {
    open: ByLine<Vec<(SpanId, OpenSlice)>>,
    /// Lines out of order, until what lies before it is known.
    held: ByLine<Vec<HeldSlice>>,
    waits: ByLine<LineWait>,
    /// Lines with open slices at the end of the input, the first one last; `None` until `end_one` is called.
    unfinished: Option<Vec<SliceLine>>,
    n_held: usize,
    n_open: usize,
    flows: HashMap<u64, FlowEnd, RandomState>,
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
            open: ByLine::default(),
            held: ByLine::default(),
            waits: ByLine::default(),
            unfinished: None,
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

    /// Keeps what happens on a line in a queue that is out of order: that of the line, or one of several lines.
    ///
    /// Returns what need not wait any more, as nothing that comes next lies further than `late_by` nanoseconds behind a begin
    /// or an end that came; when too much is held, all of the queues that hold most: damage, because what follows on them may
    /// nest wrongly.
    pub(crate) fn hold(
        &mut self,
        (queue, line): (SliceLine, SliceLine),
        late_by: i64,
        (time, offset): (Timestamp, u64),
        flows: Flows,
        step: SliceStep,
        tally: &mut CountedNotes,
    ) -> Vec<HeldStep> {
        let flows = (!flows.is_empty()).then(|| Box::new(flows));
        // How far a step may lie behind others is told of begins and ends.
        if !matches!(step, SliceStep::Touch) {
            let wait = self.waits.or_default(queue);
            wait.latest = wait.latest.max(Some(time));
        }
        let row = HeldSlice {
            line,
            time,
            flows,
            step,
        };
        self.held.or_default(queue).push(row);
        self.n_held += 1;
        if self.n_held <= self.most_open {
            return self.release_settled(queue, late_by);
        }
        tally.add(Level::Damage, "limit_open_spans", offset, || {
            "slices out of order are more than allowed: what follows may nest wrongly".to_owned()
        });
        let full = self.held.fullest(self.most_open);
        full.into_iter()
            .flat_map(|queue| self.release(queue))
            .collect()
    }

    /// Takes what is held of a queue, in the order of time; what has one time as it came.
    pub(crate) fn release(&mut self, queue: SliceLine) -> impl Iterator<Item = HeldStep> + use<> {
        let mut rows = self.held.take(queue);
        self.n_held -= rows.len();
        rows.sort_by_key(|row| row.time);
        rows.into_iter().map(HeldSlice::into_step)
    }

    /// Looks now and then for what of a queue lies before all that is to come of it, and takes it in the order of time.
    #[inline]
    fn release_settled(&mut self, queue: SliceLine, late_by: i64) -> Vec<HeldStep> {
        let n_rows = self.held.get(queue).map_or(0, Vec::len);
        let wait = self.waits.get(queue).copied().unwrap_or_default();
        match n_rows >= wait.look_at.max(FEW_ROWS) {
            true => self.settled(queue, wait, late_by),
            false => Vec::new(),
        }
    }

    fn settled(&mut self, queue: SliceLine, wait: LineWait, late_by: i64) -> Vec<HeldStep> {
        let rows = self.held.or_default(queue);
        rows.sort_by_key(|row| row.time);
        let settled = wait.latest.map_or(0, |latest| {
            let until = latest.saturating_sub(late_by);
            rows.partition_point(|row| row.time < until)
        });
        let steps = rows.drain(..settled).map(HeldSlice::into_step).collect();
        self.n_held -= settled;
        self.waits.or_default(queue).look_at = 2 * rows.len();
        steps
    }

    /// Returns the queues of which something is held.
    pub(crate) fn holding(&self) -> Vec<SliceLine> {
        self.held.in_use()
    }

    /// Takes the next thing that happens on a track.
    pub(crate) fn take(
        &mut self,
        line: SliceLine,
        (time, offset): (Timestamp, u64),
        flows: &Flows,
        step: SliceStep,
        tables: &mut Tables,
        tally: &mut CountedNotes,
    ) {
        self.last = self.last.max(time);
        self.expire(line, time);
        match step {
            SliceStep::Begin(open) => {
                let rows = self.open.or_default(line);
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
            SliceStep::End(args) => {
                let rows = self.open.get_mut(line);
                let Some(&(id, _)) = rows.as_ref().and_then(|rows| rows.last()) else {
                    tally.add(Level::Warn, "unmatched_end", offset, || {
                        "a slice ends that did not begin".to_owned()
                    });
                    return;
                };
                self.flow(id, time, flows);
                self.close(line, time, args, SpanStatus::Complete);
            }
            SliceStep::Touch => {
                let rows = self.open.get(line);
                if let Some(&(id, _)) = rows.and_then(|rows| rows.last()) {
                    self.flow(id, time, flows);
                }
            }
        }
    }

    /// Ends slices whose end came with their begin.
    fn expire(&mut self, line: SliceLine, time: Timestamp) {
        loop {
            let top = self.open.get(line).and_then(|rows| rows.last());
            let Some(until) = top.and_then(|(_, open)| open.until) else {
                return;
            };
            if until > time {
                return;
            }
            self.close(line, until, SliceArgs::default(), SpanStatus::Complete);
        }
    }

    /// Returns true if a slice that begins and ends then lies within what is open on a track.
    pub(crate) fn fits(&mut self, line: SliceLine, time: Timestamp, until: Timestamp) -> bool {
        self.expire(line, time);
        let top = self.open.get(line).and_then(|rows| rows.last());
        top.and_then(|(_, open)| open.until)
            .is_none_or(|around| until <= around)
    }

    fn flow(&mut self, id: SpanId, time: Timestamp, flows: &Flows) {
        for (list, ends) in [(&flows.on, false), (&flows.ending, true)] {
            for &flow in list {
                let here = FlowEnd { time, id, ends };
                let known = self.flows.get(&flow).copied();
                // What comes behind an end is another flow with its number.
                let known = known.filter(|known| !(known.ends && known.time < time));
                if let Some(other) = known.filter(|known| known.id != id) {
                    let is_before = other.time <= time && !other.ends;
                    let (from, to) = if is_before {
                        (other.id, id)
                    } else {
                        (id, other.id)
                    };
                    self.links.links.push(Link {
                        from,
                        to,
                        kind: None,
                    });
                    if !is_before {
                        continue;
                    }
                }
                if ends && known.is_some() {
                    self.flows.remove(&flow);
                } else if self.flows.len() < self.most_flows {
                    self.flows.insert(flow, here);
                }
            }
        }
    }

    fn close(&mut self, line: SliceLine, end: Timestamp, more: SliceArgs, status: SpanStatus) {
        let Some(rows) = self.open.get_mut(line) else {
            return;
        };
        let Some((id, mut open)) = rows.pop() else {
            return;
        };
        self.n_open -= 1;
        open.args.append(more);
        let args = open.args.0.map(|args| *args).unwrap_or_default();
        let (mut attributes, marks) = (args.attributes, args.marks);
        let parent = rows.last().map(|&(id, _)| id);
        let status = match marks.status {
            SpanStatus::Complete => status,
            marked => marked,
        };
        let row = SpanRow {
            id,
            parent,
            depth: row_number(rows.len()),
            track: line.track,
            function: open.function,
            kind: open.kind,
            start: open.start,
            end: end.max(open.start),
            status,
            entry: marks.entry.unwrap_or(parent.is_none()),
            counters: &args.counters,
            attributes: &[],
            exception: marks.exception,
            context: marks.context(),
            origin: None,
        };
        self.spans.push_with(&row, &mut attributes);
    }

    /// Ends slices that are still open, a batch at most or all of one line; returns false when there are none.
    ///
    /// Nothing may be taken after the first call.
    pub(crate) fn end_one(&mut self) -> bool {
        let open = &self.open;
        let unfinished = self.unfinished.get_or_insert_with(|| {
            let mut lines = open.in_use();
            lines.reverse();
            lines
        });
        let Some(&line) = unfinished.last() else {
            return false;
        };
        while let Some((_, open)) = self.open.get(line).and_then(|rows| rows.last()) {
            let (end, status) = match open.until {
                Some(until) => (until, SpanStatus::Complete),
                None => (self.last, SpanStatus::PartialEnd),
            };
            self.close(line, end, SliceArgs::default(), status);
            if self.spans.len() >= traceloom_model::BATCH_ROWS {
                return true;
            }
        }
        self.open.take(line);
        self.unfinished.as_mut().and_then(Vec::pop);
        true
    }
}
