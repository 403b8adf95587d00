//! The sink that keeps when everything ran.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, Attribute, Clock, CounterBatch, Definitions, EventBatch, EventRow, EventTypeId, Flow,
    FrameId, Level, Note, Order, Origin, Recording, SampleBatch, Sink, SpanBatch, SpanContext,
    SpanRow, SpanStatus, StackId, StringId, Timestamp, TrackId, Value, Wants,
};

use super::details::{AddDetail, DetailText, Details, LEFT_OUT};
use super::held::{HeldRow, HeldRows, Spans};
use super::html::MOST_ITEMS;
use super::others::Others;
use super::points::{CounterPoints, MOST_POINTS};
use super::thin::{LastRows, NewSpan, Scratch, Thinning};
use super::{FAILED, PARTIAL_END, PARTIAL_START, RowKind, Totals};
use crate::monitors::WaitKind;
use crate::pauses::is_pause;
use crate::symbol::{symbol_of_frame, symbol_of_function};
use crate::text::value_text;

/// Stands for no track, no function and no number of a text.
pub(super) const NONE: u32 = u32::MAX;

/// Event types by which producers tell that they lost data.
const LOSSES: [&str; 2] = ["loss", "jdk.DataLoss"];

/// Damage that is kept with its place.
const FAULTS: usize = 10_000;

/// Frames of a stack that are kept.
const FRAMES: usize = 24;

/// Bytes for attributes of spans and fields of events, and for those of each row that is held.
const DETAIL_BYTES: usize = 32 << 20;
const ROW_DETAIL_BYTES: usize = 32;

/// Points of one counter.
pub(super) type Points = Vec<(Timestamp, f64)>;

/// Damage of the input, and where in its bytes.
#[derive(Debug)]
pub(super) struct InputDamage {
    pub(super) place: u64,
    pub(super) text: String,
    pub(super) count: u64,
}

/// Keeps one recording for a [`super::Timeline`].
///
/// Memory is 69 bytes a span, 40 bytes an event or a sample, 16 bytes a point of a counter (vectors grow by doubling,
/// so up to twice of that), the tables of the recording, and at most 32 MiB of attributes. Of more spans, events and
/// samples than [`MOST_ITEMS`], or than were asked for, short neighbours are held as one, and longer ones as there come
/// more; what tracks come to is counted before.
#[derive(Debug)]
pub struct Collector {
    pub(super) tables: Recording,
    pub(super) clock: Clock,
    pub(super) spans: Spans,
    /// What tracks come to, but for how long they were busy.
    pub(super) totals: HashMap<u32, Totals, RandomState>,
    /// Waits, events, samples and the like by their kind; samples by their profile too.
    pub(super) marks: BTreeMap<(RowKind, u32), HeldRows>,
    pub(super) points: CounterPoints,
    pub(super) others: Others,
    pub(super) details: Details,
    pub(super) faults: Vec<InputDamage>,
    pub(super) more_faults: u64,
    /// Samples without a time.
    pub(super) timeless: u64,
    kinds: Vec<Option<(RowKind, Option<WaitKind>)>>,
    /// Rows that are held; of more, short neighbours are held as one.
    most: usize,
    /// Tracks that have a line of their own.
    most_tracks: usize,
    thinning: Thinning,
    /// Spans that were held together as [`Self::thinning`] says.
    thinned: usize,
    /// Rows that were left single when there were too many.
    single: usize,
    /// There were fewer rows when longer stretches of them were held together, the last time only stretches grew.
    stretch_matters: bool,
    last_rows: LastRows,
    pub(super) scratch: Scratch,
    order: Order,
}

impl Default for Collector {
    fn default() -> Self {
        Self::holding(MOST_ITEMS)
    }
}

impl Collector {
    /// Starts with nothing; at most about so many spans, events and samples are held one by one.
    #[must_use]
    pub fn holding(most: usize) -> Self {
        Self {
            tables: Recording::default(),
            clock: Clock::default(),
            spans: Spans::default(),
            totals: HashMap::default(),
            marks: BTreeMap::new(),
            points: CounterPoints::default(),
            others: Others::default(),
            details: Details::new(DETAIL_BYTES.min(most.saturating_mul(ROW_DETAIL_BYTES))),
            faults: Vec::new(),
            more_faults: 0,
            timeless: 0,
            kinds: Vec::new(),
            most,
            most_tracks: usize::MAX,
            thinning: Thinning::default(),
            thinned: 0,
            single: most / 2,
            stretch_matters: true,
            last_rows: LastRows::default(),
            scratch: Scratch::default(),
            order: Order::default(),
        }
    }

    /// Has a line for each of the `most` busiest tracks, and for each process one for its others; thins counters of too many points,
    /// and leaves out those beyond as many as a page can show.
    #[must_use]
    pub fn with_tracks(mut self, most: usize) -> Self {
        self.points.bound(MOST_POINTS);
        Self {
            most_tracks: most,
            ..self
        }
    }

    /// Adds up the tracks beside the busiest.
    pub(super) fn take_others(&mut self, end: bool) {
        if self.most_tracks < usize::MAX {
            let held = (&mut self.spans, &mut self.marks);
            self.others.take(&self.tables, held, self.most_tracks, end);
        }
    }

    fn span(&mut self, row: &SpanRow<'_>) {
        let flags = match row.status {
            SpanStatus::Complete => 0,
            SpanStatus::PartialStart => PARTIAL_START,
            SpanStatus::PartialEnd => PARTIAL_END,
            SpanStatus::Error => FAILED,
        };
        let end = row.end.max(row.start);
        let length = end.abs_diff(row.start);
        let totals = self.totals.entry(row.track.raw()).or_default();
        totals.spans += 1;
        totals.partial += u64::from(flags & (PARTIAL_START | PARTIAL_END) != 0);
        totals.failed += u64::from(flags & FAILED != 0);
        totals.longest = totals.longest.max(length);
        let span = NewSpan {
            times: (row.start, end),
            track: row.track.raw(),
            depth: row.depth,
            parent: row.parent.map_or(u64::MAX, |id| id.0),
            function: row.function.map_or(NONE, |id| id.raw()),
        };
        let spans = &mut self.spans;
        // What is on no line of its own is added up as it is.
        let may_join = !self.others.has(span.track);
        if may_join && spans.join(&span, self.thinning, &mut self.last_rows) {
            return;
        }
        let tables = &self.tables;
        let add = |add: AddDetail<'_>| span_details(tables, row, add);
        let is_short = self.thinning.is_short(HeldRow::single(row.start, end));
        let detail = match self.details.has_room(is_short) {
            true => self.details.list_of(tables, is_short, add),
            // Values are not made texts to no purpose.
            false if has_details(row) => LEFT_OUT,
            false => 0,
        };
        spans
            .rows
            .push(span.times, (span.track, span.function, detail));
        spans.id.push(row.id.0);
        spans.parent.push(span.parent);
        spans.place.push(row.origin.map_or(u64::MAX, place));
        spans.depth.push(span.depth);
        spans.flags.push(flags);
    }

    fn kind(&mut self, id: EventTypeId) -> (RowKind, Option<WaitKind>) {
        let at = id.index();
        if self.kinds.len() <= at {
            self.kinds.resize(at + 1, None);
        }
        let Some(slot) = self.kinds.get_mut(at) else {
            return (RowKind::Event, None);
        };
        if let Some(kind) = slot {
            return *kind;
        }
        let Some(row) = self.tables.event_type(id) else {
            return (RowKind::Event, None);
        };
        let name = self.tables.text(row.name);
        let wait = WaitKind::of_event(&name);
        let kind = if is_pause(&name) {
            (RowKind::Pause, None)
        } else if LOSSES.contains(&name.as_ref()) {
            (RowKind::Loss, None)
        } else if wait.is_some() {
            (RowKind::Wait, wait)
        } else {
            (RowKind::Event, None)
        };
        *slot = Some(kind);
        kind
    }

    fn event(&mut self, row: &EventRow<'_>) {
        let (kind, wait) = match self.kind(row.event_type) {
            // A wait without an end says that it began or ended; the pair of them is another event.
            (RowKind::Wait, _) if row.end.is_none() => (RowKind::Event, None),
            kind => kind,
        };
        let tables = &self.tables;
        let add = |add: AddDetail<'_>| {
            if let Some(owner) = row.owner {
                let name = crate::text::track_name(tables, owner);
                add("held by".into(), (&*name).into());
            }
            attributes(tables, row.attributes, add);
            if let Some(stack) = row.stack.filter(|_| kind == RowKind::Wait) {
                add("stack".into(), DetailText::Stack(stack));
            }
        };
        let track = row.track.map_or(NONE, TrackId::raw);
        let end = row.end.unwrap_or(row.time).max(row.time);
        let is_short = self.thinning.is_short(HeldRow::single(row.time, end));
        let detail = self.details.list_of(tables, is_short, add);
        let length = end.abs_diff(row.time);
        let totals = self.totals.entry(track).or_default();
        match (kind, wait) {
            (RowKind::Pause, _) => totals.pauses.see(length),
            (RowKind::Loss, _) => totals.losses.see(length),
            (RowKind::Wait, Some(wait)) => totals.waits_mut(wait).see(length),
            _ => totals.events += 1,
        }
        let marks = self.marks.entry((kind, 0)).or_default();
        marks.push((row.time, end), (track, row.event_type.raw(), detail));
    }

    /// Rows that are held.
    pub(super) fn held(&self) -> usize {
        let marks = self.marks.values().map(HeldRows::len);
        self.spans.rows.len() + marks.sum::<usize>()
    }

    /// Holds short neighbours as one where there are too many rows.
    fn thin(&mut self) {
        if self.held() <= self.most {
            return;
        }
        let before = self.spans.rows.len();
        self.take_others(false);
        if self.spans.rows.len() < before {
            self.thinned = 0;
        }
        let enough = self.most / 4 * 3;
        // What came since is less to put in order than all.
        if self.held() > enough && self.thinned > 0 && self.thinning.is_local() {
            self.hold_spans_together(self.thinning, self.thinned);
        }
        if self.held() > enough {
            self.thin_rows(enough);
        }
        self.last_rows.forget();
        self.keep_details();
    }

    /// Keeps the attributes of the rows that are held; where they take much room, of those that are not short.
    fn keep_details(&mut self) {
        let is_crowded = self.details.is_crowded();
        let mut kept = vec![false; self.details.len()];
        let slot = |list: u32| list.checked_sub(1).map(|at| at as usize);
        for rows in self.marks.values().chain([&self.spans.rows]) {
            for (at, &list) in (0..).zip(&rows.detail) {
                let is_short = || self.thinning.is_short(rows.row(at));
                if let Some(kept) = slot(list).and_then(|list| kept.get_mut(list))
                    && !(is_crowded && is_short())
                {
                    *kept = true;
                }
            }
        }
        let numbers = self.details.keep(&kept);
        for rows in self.marks.values_mut().chain([&mut self.spans.rows]) {
            for list in &mut rows.detail {
                if let Some(&new) = slot(*list).and_then(|at| numbers.get(at)) {
                    *list = if new == 0 { LEFT_OUT } else { new };
                }
            }
        }
    }

    /// Holds longer rows together, and longer stretches of them, until there are few enough.
    fn thin_rows(&mut self, enough: usize) {
        let mut room = self.single;
        loop {
            let (rule, whole) = self.rule_leaving(room);
            let before = self.held();
            let is_stretch_alone = self.thinned == before && !rule.takes_more_than(self.thinning);
            // All rows are not put in order for a rule that would change nothing.
            if is_stretch_alone && !self.stretch_matters && room > self.fewest_single() {
                room /= 2;
                continue;
            }
            self.hold_together(rule);
            if is_stretch_alone {
                self.stretch_matters = self.held() < before / 16 * 15;
            }
            if self.held() <= enough {
                self.thinning = rule;
                let is_roomy = self.held() < self.most / 2;
                let single = if is_roomy { room * 2 } else { room };
                self.single = single.clamp(self.fewest_single(), self.most / 2);
                return;
            }
            if room == 0 && rule.reaches(whole) {
                break;
            }
            room /= 2;
            self.thinning = rule.coarser();
        }
        // Many tracks of few spans each: they are as many as the tables of the recording.
        self.most = self.most.max(self.held().saturating_mul(2));
    }

    /// Rows that thinning begins to leave single, at least: what then is still too much needs longer stretches.
    fn fewest_single(&self) -> usize {
        self.most / 32
    }

    /// Returns the rule that leaves about `room` rows single, and how long the recording is.
    fn rule_leaving(&mut self, room: usize) -> (Thinning, u64) {
        let mut lengths = std::mem::take(&mut self.scratch.longs);
        let whole = self.measure(&mut lengths);
        let rule = self.thinning.next(&mut lengths, whole, room);
        self.scratch.longs = lengths;
        // Without room it must do without parents that never come.
        let is_by_parent = self.order != Order::None && room > 0;
        (rule.by_parent(is_by_parent), whole)
    }

    /// How long the rows are from the first to the last, and each of them in `lengths`.
    fn measure(&self, lengths: &mut Vec<u64>) -> u64 {
        lengths.clear();
        let (mut first, mut last) = (Timestamp::MAX, Timestamp::MIN);
        for rows in self.marks.values().chain([&self.spans.rows]) {
            let times = rows.start.iter().zip(&rows.end);
            for ((&start, &end), &count) in times.zip(&rows.count) {
                (first, last) = (first.min(start), last.max(end));
                // What is held together is short already.
                lengths.push(if count == 1 { end.abs_diff(start) } else { 0 });
            }
        }
        last.abs_diff(first)
    }

    fn hold_spans_together(&mut self, rule: Thinning, from: usize) {
        let totals = &mut self.totals;
        let undrawn = |track, count| totals.entry(track).or_default().undrawn += count;
        self.spans.thin((rule, from), &mut self.scratch, undrawn);
        self.thinned = self.spans.rows.len();
    }

    fn hold_together(&mut self, rule: Thinning) {
        self.hold_spans_together(rule, 0);
        let totals = &mut self.totals;
        let mut undrawn = |track, count| totals.entry(track).or_default().undrawn += count;
        for marks in self.marks.values_mut() {
            marks.thin(rule, &mut self.scratch, &mut undrawn);
        }
    }
}

/// The innermost frames of a stack, a line each.
pub(super) fn frames(tables: &Recording, stack: StackId) -> String {
    let stacks = std::iter::successors(tables.stack(stack), |row| tables.stack(row.parent?));
    let names = stacks.take(FRAMES).map(|row| frame_name(tables, row.frame));
    names.collect::<Vec<String>>().join("\n")
}

/// The function of a frame, or where it is when it has none.
pub(super) fn frame_name(tables: &Recording, frame: FrameId) -> String {
    match tables.frame(frame).and_then(|row| row.function) {
        Some(function) => symbol_of_function(tables, function).name,
        None => symbol_of_frame(tables, frame).name,
    }
}

/// A place in the input as one number: the part above 48 bits of offset.
fn place(origin: Origin) -> u64 {
    u64::from(origin.part.0) << 48 | origin.offset & ((1 << 48) - 1)
}

fn context(row: &SpanRow<'_>) -> Option<SpanContext> {
    row.context.filter(|context| context.trace != 0)
}

/// Returns true if [`span_details`] are any.
fn has_details(row: &SpanRow<'_>) -> bool {
    let lists = !row.attributes.is_empty() || !row.counters.is_empty();
    lists || row.kind.is_some() || row.exception.is_some() || context(row).is_some()
}

fn span_details(tables: &Recording, row: &SpanRow<'_>, add: AddDetail<'_>) {
    if let Some(kind) = row.kind {
        add("kind".into(), kind.into());
    }
    attributes(tables, row.attributes, add);
    for &(id, value) in row.counters {
        let name = tables.value_type(id).map(|row| row.name.into());
        let name = name.unwrap_or("counter".into());
        add(name, DetailText::Number(value));
    }
    if let Some(id) = row.exception {
        let value = Value::Exception(id);
        add("exception".into(), (&*value_text(tables, &value)).into());
    }
    if let Some(context) = context(row) {
        let trace = format!("{:032x}", context.trace);
        add("trace".into(), trace.as_str().into());
    }
}

fn attributes(tables: &Recording, attributes: &[Attribute], add: AddDetail<'_>) {
    for attribute in attributes {
        let key = tables.attribute_key(attribute.key);
        let name = key.map_or("attribute".into(), |row| row.name.into());
        match attribute.value {
            Value::Text(id) => add(name, id.into()),
            Value::I64(number) => add(name, DetailText::Number(number)),
            Value::U64(number) if number <= i64::MAX.cast_unsigned() => {
                add(name, DetailText::Number(number.cast_signed()));
            }
            ref value => add(name, (&*value_text(tables, value)).into()),
        }
    }
}

impl Sink for Collector {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Spans,
            sampled_events: false,
            derived_samples: false,
            timeless_stacks: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.clock = clock;
        self.order = order;
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.tables.define(new)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        batch.iter().for_each(|row| self.span(&row));
        self.thin();
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        for row in batch.iter() {
            let Some(time) = row.time else {
                self.timeless += 1;
                continue;
            };
            let kind = (RowKind::Sample, batch.profile.raw());
            let track = row.track.map_or(NONE, TrackId::raw);
            let stack = row.stack.map_or(NONE, |id| id.raw());
            self.totals.entry(track).or_default().samples += 1;
            let marks = self.marks.entry(kind).or_default();
            marks.push((time, time), (track, stack, 0));
        }
        self.thin();
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        batch.iter().for_each(|row| self.event(&row));
        self.thin();
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        for ((series, &time), &value) in batch.series.iter().zip(&batch.time).zip(&batch.value) {
            self.points.push(series.raw(), (time, value));
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
        self.details.forget(strings);
    }

    fn note(&mut self, note: Note) -> Flow {
        if note.level == Level::Damage {
            if self.faults.len() < FAULTS {
                self.faults.push(InputDamage {
                    place: place(Origin {
                        part: note.part,
                        offset: note.offset,
                        index: 0,
                    }),
                    text: note.text,
                    count: note.count,
                });
            } else {
                self.more_faults += 1;
            }
        }
        Flow::Continue(())
    }
}
