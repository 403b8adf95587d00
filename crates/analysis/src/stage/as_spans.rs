//! Samples told as spans: what was on the stack from one sample to the next.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{
    Asks, BATCH_ROWS, Batch, Flow, FrameId, Function, FunctionId, Profile, ProfileId, Recording,
    SampleBatch, Sink, SpanBatch, SpanId, SpanRow, SpanStatus, StackId, Stage, Timestamp, Track,
    TrackId, TrackKind, Unit, Wants,
};

use super::added_rows::AddedRows;
use crate::symbol::symbol_of_frame;

/// Turns the timed samples of one profile into spans.
///
/// A frame that is on the stack of two samples in a row ran in between; how long before and after, no
/// sample says. A sample counts until the next one of its track, at most twice the median distance of that
/// track's samples: a longer gap is a gap. Samples without a time stay samples. The times are held until the
/// end, 24 bytes a sample, because not every reader brings them in order.
pub struct AsSpans<'s> {
    to: &'s mut (dyn Sink + Send),
    value: Option<String>,
    tables: Recording,
    added: AddedRows,
    chosen: Option<ProfileId>,
    points: BTreeMap<Option<TrackId>, Vec<(Timestamp, Option<StackId>)>>,
    busy: HashSet<TrackId, RandomState>,
    left: u64,
}

/// How many samples became spans and how many could not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConvertedSamples {
    /// Samples that spans tell of.
    pub told: u64,
    /// Samples without a time, or of another profile.
    pub left: u64,
}

impl std::fmt::Debug for AsSpans<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsSpans")
            .field("chosen", &self.chosen)
            .finish_non_exhaustive()
    }
}

/// A frame that is running.
struct RunningFrame {
    id: SpanId,
    frame: FrameId,
    start: Timestamp,
}

impl<'s> AsSpans<'s> {
    /// Passes on to `to` the profile that has a column `value`; the first one with timed samples for none.
    pub fn new(to: &'s mut (dyn Sink + Send), value: Option<String>) -> Self {
        Self {
            to,
            value,
            tables: Recording::default(),
            added: AddedRows::default(),
            chosen: None,
            points: BTreeMap::new(),
            busy: HashSet::default(),
            left: 0,
        }
    }

    /// Pushes the spans.
    pub fn finish(mut self) -> ConvertedSamples {
        let points = std::mem::take(&mut self.points);
        let told = points.values().map(|points| points.len() as u64).sum();
        let mut functions = BTreeMap::new();
        for (track, mut points) in points {
            points.sort_by_key(|&(time, _)| time);
            let track = self.track(track);
            // A sink that breaks has its reason and wants no more.
            if self.line(track, &points, &mut functions).is_break() {
                break;
            }
        }
        ConvertedSamples {
            told,
            left: self.left,
        }
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        let timed = batch.time.iter().any(Option::is_some);
        if self.chosen.is_none() && timed && self.shows(batch.profile) {
            self.chosen = Some(batch.profile);
        }
        if self.chosen != Some(batch.profile) {
            self.left += batch.len() as u64;
            return self.to.samples(batch);
        }
        let mut rest = SampleBatch::new(batch.profile, batch.width());
        for row in batch.iter() {
            match row.time {
                Some(time) => self
                    .points
                    .entry(row.track)
                    .or_default()
                    .push((time, row.stack)),
                None => rest.push(&row),
            }
        }
        if rest.is_empty() {
            return Flow::Continue(());
        }
        self.left += rest.len() as u64;
        self.to.samples(rest)
    }

    fn shows(&self, profile: ProfileId) -> bool {
        let Some(value) = &self.value else {
            return true;
        };
        let columns = self
            .tables
            .profile(profile)
            .map_or(&[][..], |row| &row.value_types);
        columns.iter().any(|&column| {
            let name = self.tables.value_type(column).map(|row| row.name);
            name.is_some_and(|name| self.tables.text(name) == value.as_str())
        })
    }

    /// The track to draw on: the samples' own, a lane beside it where the reader has spans there, or one for
    /// samples of no track.
    fn track(&mut self, of: Option<TrackId>) -> TrackId {
        match of {
            Some(track) if !self.busy.contains(&track) => track,
            Some(track) => self.added.track(Track {
                kind: TrackKind::Lane,
                parent: Some(track),
                lane: 1,
                ..self.tables.track(track).cloned().unwrap_or_default()
            }),
            None => {
                let name = self.added.string("samples");
                self.added.track(Track::thread(name))
            }
        }
    }

    fn line(
        &mut self,
        track: TrackId,
        points: &[(Timestamp, Option<StackId>)],
        functions: &mut BTreeMap<FrameId, FunctionId>,
    ) -> Flow {
        let typical = self.typical(points);
        let longest = typical.saturating_mul(2);
        let mut open: Vec<RunningFrame> = Vec::new();
        let mut batch = SpanBatch::default();
        for (at, &(time, stack)) in points.iter().enumerate() {
            let frames = self.frames(stack);
            let same = open
                .iter()
                .zip(&frames)
                .take_while(|(open, frame)| open.frame == **frame);
            let keep = same.count();
            self.close(&mut open, keep, time, track, functions, &mut batch);
            for &frame in frames.iter().skip(keep) {
                let id = self.added.span();
                open.push(RunningFrame {
                    id,
                    frame,
                    start: time,
                });
            }
            let next = points.get(at + 1).map(|&(next, _)| next);
            let until = match next {
                Some(next) if next.saturating_sub(time) <= longest => continue,
                _ => time.saturating_add(typical),
            };
            self.close(&mut open, 0, until, track, functions, &mut batch);
            if batch.len() >= BATCH_ROWS / 2 {
                self.to.define(self.added.take())?;
                self.to.spans(std::mem::take(&mut batch))?;
            }
        }
        self.to.define(self.added.take())?;
        self.to.spans(batch)
    }

    fn close(
        &mut self,
        open: &mut Vec<RunningFrame>,
        keep: usize,
        end: Timestamp,
        track: TrackId,
        functions: &mut BTreeMap<FrameId, FunctionId>,
        batch: &mut SpanBatch,
    ) {
        while open.len() > keep {
            let Some(span) = open.pop() else { return };
            let function = self.function(span.frame, functions);
            let parent = open.last().map(|open| open.id);
            batch.push(&SpanRow {
                parent,
                depth: row_number(open.len()),
                entry: parent.is_none(),
                status: SpanStatus::Complete,
                ..SpanRow::call(span.id, track, function, span.start, end)
            });
        }
    }

    /// The median distance of samples, else the period of the profile.
    fn typical(&self, points: &[(Timestamp, Option<StackId>)]) -> i64 {
        let following = points.iter().skip(1);
        let gaps = points.iter().zip(following);
        let mut gaps: Vec<i64> = gaps
            .map(|(a, b)| b.0.saturating_sub(a.0))
            .filter(|&gap| gap > 0)
            .collect();
        gaps.sort_unstable();
        if let Some(&median) = gaps.get(gaps.len() / 2) {
            return median;
        }
        let period = |profile: &Profile| {
            let (column, amount) = profile.period?;
            let unit = self.tables.value_type(column)?.unit;
            (unit == Unit::Nanoseconds && amount > 0).then_some(amount)
        };
        let profile = self.chosen.and_then(|profile| self.tables.profile(profile));
        profile.and_then(period).unwrap_or(0)
    }

    /// Frames of a stack, outermost first; a loop of stacks ends at as many frames as there are stacks.
    fn frames(&self, stack: Option<StackId>) -> Vec<FrameId> {
        let mut frames = Vec::new();
        let mut next = stack;
        while let Some(row) = next.and_then(|stack| self.tables.stack(stack)) {
            frames.push(row.frame);
            next = row
                .parent
                .filter(|_| frames.len() <= self.tables.stacks.len());
        }
        frames.reverse();
        frames
    }

    /// A frame's function, or one made of its address.
    fn function(&mut self, frame: FrameId, made: &mut BTreeMap<FrameId, FunctionId>) -> FunctionId {
        let row = self.tables.frame(frame);
        if let Some(function) = row.and_then(|row| row.function) {
            return function;
        }
        if let Some(&function) = made.get(&frame) {
            return function;
        }
        let name = symbol_of_frame(&self.tables, frame).name;
        let name = self.added.string(&name);
        let function = self.added.function(Function::named(name));
        made.insert(frame, function);
        function
    }
}

impl Stage for AsSpans<'_> {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Spans,
            labels: true,
            sums: false,
            ..self.to.asks()
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match batch {
            Batch::Samples(samples) => self.samples(samples),
            Batch::Define(new) => {
                self.added.see(&new);
                self.tables.define(new.clone())?;
                self.to.define(new)
            }
            Batch::Forget(strings) => {
                for id in &strings {
                    self.tables.strings.drop_row(id.index());
                }
                self.to.forget(&strings);
                Flow::Continue(())
            }
            Batch::Spans(spans) => {
                spans.id.iter().for_each(|&id| self.added.see_span(id));
                self.busy.extend(&spans.track);
                self.to.spans(spans)
            }
            other => other.push(self.to),
        }
    }
}
