//! From what was collected to rows: tracks in order, items in lanes and levels.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{
    Clock, EventTypeId, FunctionId, Recording, SeriesId, StackId, Timestamp, TrackId, TrackKind,
};

use super::collect::{Collector, NONE, frame_name};
use super::details::{AddDetail, DetailText, LEFT_OUT};
use super::held::{HeldRows, Numbers, Spans, get};
use super::nest::{LaneOfSpan, Lanes, Place};
use super::order::{display_order, id, process};
use super::others::OtherLine;
use super::thin::Scratch;
use super::{Counter, Row, RowKind, Source, Timeline, Totals, Track, TrackLine, loss};
use crate::MeasureUnit;
use crate::symbol::symbol_of_function;
use crate::text::track_name;

impl Timeline {
    /// Lays a recording out behind those that are there.
    ///
    /// Of a `windowed` recording a part was left out, so that damage at its ends has no time.
    pub fn add(&mut self, title: &str, mut collector: Collector, windowed: bool) {
        let unplaced = lose(&mut collector, windowed);
        collector.take_others(true);
        list_stacks(&mut collector);
        // What follows needs the memory.
        collector.scratch = Scratch::default();
        let Collector {
            tables,
            clock,
            mut spans,
            marks,
            points,
            mut others,
            details,
            totals,
            more_faults,
            timeless,
            ..
        } = collector;
        let lists = marks.values().map(|marks| &marks.detail);
        let lists = lists.chain([&spans.rows.detail]).flatten();
        let details_left_out = lists.filter(|&&list| list == LEFT_OUT).count() as u64;
        let by_track = Grouped::of(&spans, &marks);
        // They are in order now, and damage has its time: memory that the rows need.
        (spans.depth, spans.place) = Default::default();
        let marked = marks.values().map(HeldRows::len);
        self.items.reserve(spans.rows.len() + marked.sum::<usize>());
        let source = self.sources.len();
        let (first_track, first_counter) = (self.tracks.len(), self.counters.len());
        let order = display_order(&tables, by_track.tracks());
        let covered = covered(&spans);
        let mut building = RowBuilder {
            timeline: self,
            tables: &tables,
            spans: &spans,
            covered: &covered,
            symbols: HashMap::default(),
        };
        let mut places = HashMap::<u32, usize, RandomState>::default();
        let mut lines = OtherLines::of(others.lines(&totals));
        for (track, level) in order {
            let of = id(track).map(|id| process(&tables, id)).unwrap_or_default();
            lines.reach(&mut building, source, Some(&of));
            places.insert(track, building.timeline.tracks.len());
            let (line, name) = match id(track) {
                None => (TrackLine::Process, title.to_owned()),
                Some(id) => {
                    let kind = tables.track(id).map(|row| row.kind).unwrap_or_default();
                    (TrackLine::Of(kind), track_name(&tables, id).into_owned())
                }
            };
            let mut shown = Track {
                source,
                name,
                process: of,
                line,
                level,
                stands_for: 0,
                totals: totals.get(&track).copied().unwrap_or_default(),
                rows: building.timeline.rows.len()..building.timeline.rows.len(),
            };
            building.rows(&by_track, &marks, track, &mut shown.totals);
            shown.rows.end = building.timeline.rows.len();
            building.timeline.tracks.push(shown);
        }
        lines.reach(&mut building, source, None);
        let line_places = lines.places;
        let other_tracks = others.len();
        let (points, other_counters, points_left_out) = points.finish();
        for (series, points) in points {
            let row = tables.series_row(SeriesId::new(series));
            let track = row.and_then(|row| row.track);
            let place = |id: TrackId| {
                let own = places.get(&id.raw()).copied();
                own.or_else(|| {
                    line_places
                        .get(others.line_of(id.raw())?)
                        .copied()
                        .flatten()
                })
            };
            self.counters.push(Counter {
                source,
                track: track.and_then(place),
                name: row.map_or_else(
                    || format!("#{series}"),
                    |row| tables.text(row.name).into_owned(),
                ),
                unit: MeasureUnit::of(row.map(|row| row.unit).unwrap_or_default(), &tables),
                points,
            });
        }
        let times = self.reach(first_track, first_counter);
        self.sources.push(Source {
            title: title.to_owned(),
            unix: clock == Clock::Unix,
            times,
            timeless,
            unplaced: unplaced + more_faults,
            details_left_out,
            other_tracks,
            other_counters,
            points_left_out,
            details,
        });
        self.thin();
    }

    /// From when to when rows and counters reach, from a track and a counter on.
    fn reach(&self, first_track: usize, first_counter: usize) -> Option<(Timestamp, Timestamp)> {
        let mut reach = None::<(Timestamp, Timestamp)>;
        let mut see = |start: Timestamp, end: Timestamp| {
            let all = reach.get_or_insert((start, end));
            *all = (all.0.min(start), all.1.max(end));
        };
        let tracks = self.tracks.iter().skip(first_track);
        for row in tracks.flat_map(|track| self.rows_of(track)) {
            // Items of a row follow each other.
            let first = self.items.start.get(row.items.start);
            let last = row.items.end.checked_sub(1);
            let last = last.and_then(|last| self.items.end.get(last));
            if let (Some(&first), Some(&last)) = (first, last) {
                see(first, last);
            }
        }
        for counter in self.counters.iter().skip(first_counter) {
            if let (Some(first), Some(last)) = (counter.points.first(), counter.points.last()) {
                see(first.0, last.0);
            }
        }
        reach
    }
}

/// The lines of tracks beside the busiest, each behind the tracks of its process.
struct OtherLines<'o> {
    lines: &'o [OtherLine],
    /// The process of the track before.
    before: Option<String>,
    /// Where each line is among the tracks.
    places: Vec<Option<usize>>,
}

impl<'o> OtherLines<'o> {
    fn of(lines: &'o [OtherLine]) -> Self {
        Self {
            lines,
            before: None,
            places: vec![None; lines.len()],
        }
    }

    /// Adds the line of the process before where another one follows, or all that are left at the end.
    fn reach(&mut self, building: &mut RowBuilder<'_>, source: usize, next: Option<&str>) {
        let ended = self
            .before
            .take()
            .filter(|before| Some(before.as_str()) != next);
        for (line, place) in self.lines.iter().zip(&mut self.places) {
            let is_ended = next.is_none() || ended.as_deref() == Some(&*line.process);
            if is_ended && place.is_none() {
                *place = Some(building.timeline.tracks.len());
                building.line(line, source);
            }
        }
        self.before = next.map(str::to_owned);
    }
}

/// Turns faults into items; returns how many nothing tells the time of.
fn lose(collector: &mut Collector, windowed: bool) -> u64 {
    let faults = std::mem::take(&mut collector.faults);
    let placed = loss::place(&collector.spans, &faults, windowed);
    let unplaced = faults.len().saturating_sub(placed.len()) as u64;
    for (start, end, fault) in placed {
        let detail = collector.details.list(&collector.tables, |add| {
            add("damage".into(), fault.text.as_str().into());
            if fault.count > 1 {
                add("count".into(), fault.count.to_string().as_str().into());
            }
        });
        let totals = collector.totals.entry(NONE).or_default();
        totals.losses.see(end.abs_diff(start));
        let marks = collector.marks.entry((RowKind::Loss, 0)).or_default();
        marks.push((start, end), (NONE, NONE, detail));
    }
    unplaced
}

/// Gives samples their stacks as attributes, one list for all samples of a stack.
fn list_stacks(collector: &mut Collector) {
    let mut lists: HashMap<u32, u32, RandomState> = HashMap::default();
    let samples = collector.marks.iter_mut();
    for (_, marks) in samples.filter(|((kind, _), _)| *kind == RowKind::Sample) {
        for (detail, &stack) in marks.detail.iter_mut().zip(&marks.name) {
            if stack == NONE {
                continue;
            }
            *detail = *lists.entry(stack).or_insert_with(|| {
                let stack = DetailText::Stack(StackId::new(stack));
                let add = |add: AddDetail<'_>| add("stack".into(), stack);
                collector.details.list(&collector.tables, add)
            });
        }
    }
}

/// What was collected, by track.
struct Grouped {
    spans: BTreeMap<u32, Numbers>,
    marks: BTreeMap<(RowKind, u32), BTreeMap<u32, Numbers>>,
}

impl Grouped {
    fn of(spans: &Spans, marks: &BTreeMap<(RowKind, u32), HeldRows>) -> Self {
        let marks = marks.iter().map(|(&key, marks)| (key, marks.by_start()));
        Self {
            spans: spans.by_start(0, |_| true),
            marks: marks.collect(),
        }
    }

    fn tracks(&self) -> Vec<u32> {
        let marks = self.marks.values().flat_map(BTreeMap::keys);
        let mut tracks: Vec<u32> = self.spans.keys().chain(marks).copied().collect();
        tracks.sort_unstable();
        tracks.dedup();
        tracks
    }
}

/// How long the children of each span on the same track cover it, by the rule of [`crate::top`].
fn covered(spans: &Spans) -> Vec<u64> {
    let count = row_number(spans.id.len());
    let mut by_id: Numbers = (0..count).collect();
    by_id.sort_by_key(|&at| get(&spans.id, at));
    let mut by_start: Numbers = (0..count).collect();
    by_start.sort_by_key(|&at| get(&spans.rows.start, at));
    let mut covered = vec![0_u64; spans.id.len()];
    let mut reached = vec![Timestamp::MIN; spans.id.len()];
    for at in by_start {
        let parent = get(&spans.parent, at);
        if parent == u64::MAX {
            continue;
        }
        let found = by_id.binary_search_by_key(&parent, |&at| get(&spans.id, at));
        let Some(&above) = found.ok().and_then(|found| by_id.get(found)) else {
            continue;
        };
        if above == at || get(&spans.rows.track, above) != get(&spans.rows.track, at) {
            continue;
        }
        let (Some(sum), Some(reached)) = (
            covered.get_mut(above as usize),
            reached.get_mut(above as usize),
        ) else {
            continue;
        };
        let start = get(&spans.rows.start, at)
            .max(get(&spans.rows.start, above))
            .max(*reached);
        let end = get(&spans.rows.end, at).min(get(&spans.rows.end, above));
        if end > start {
            *sum += end.abs_diff(start).min(get(&spans.rows.filled, at));
            *reached = end;
        }
    }
    covered
}

/// A timeline, and the recording that is laid out into it.
struct RowBuilder<'b> {
    timeline: &'b mut Timeline,
    tables: &'b Recording,
    spans: &'b Spans,
    covered: &'b [u64],
    /// Numbers of names, by what has them.
    symbols: HashMap<(RowKind, u32), u32, RandomState>,
}

/// One item on its way to a row.
struct RowItem {
    start: Timestamp,
    end: Timestamp,
    name: u32,
    detail: u32,
    covered: u64,
    flags: u8,
    count: u32,
    filled: u64,
}

impl RowBuilder<'_> {
    /// Adds the rows of a track.
    fn rows(
        &mut self,
        grouped: &Grouped,
        marks: &BTreeMap<(RowKind, u32), HeldRows>,
        track: u32,
        totals: &mut Totals,
    ) {
        let of_kind = |kind: RowKind| grouped.marks.iter().filter(move |(key, _)| key.0 == kind);
        let kinds = [
            RowKind::Pause,
            RowKind::Loss,
            RowKind::Span,
            RowKind::Wait,
            RowKind::Event,
            RowKind::Sample,
        ];
        for kind in kinds {
            if kind == RowKind::Span {
                if let Some(numbers) = grouped.spans.get(&track) {
                    self.span_rows(numbers, totals);
                }
                continue;
            }
            for (key, by) in of_kind(kind) {
                if let (Some(numbers), Some(marks)) = (by.get(&track), marks.get(key)) {
                    self.mark_rows(*key, numbers, marks, totals);
                }
            }
        }
    }

    fn span_rows(&mut self, numbers: &[u32], totals: &mut Totals) {
        let spans = self.spans;
        let mut lanes = Lanes::default();
        let mut lane_of = LaneOfSpan::default();
        let mut rows: BTreeMap<Place, Numbers> = BTreeMap::new();
        let mut reached = Timestamp::MIN;
        for &at in numbers {
            let (start, end) = (get(&spans.rows.start, at), get(&spans.rows.end, at));
            if end > reached {
                let filled = get(&spans.rows.filled, at);
                totals.busy += end.abs_diff(start.max(reached)).min(filled);
                reached = end;
            }
            let parent = lane_of.of(get(&spans.parent, at));
            match lanes.place(start, end, parent) {
                Some(place) => {
                    lane_of.remember(get(&spans.id, at), place.0);
                    rows.entry(place).or_default().push(at);
                }
                None => totals.undrawn += u64::from(get(&spans.rows.count, at)),
            }
        }
        for (place, numbers) in rows {
            let from = self.timeline.items.start.len();
            for at in numbers {
                let name = self.name(RowKind::Span, get(&spans.rows.name, at));
                self.push(RowItem {
                    start: get(&spans.rows.start, at),
                    end: get(&spans.rows.end, at),
                    name,
                    detail: get(&spans.rows.detail, at),
                    covered: get(self.covered, at),
                    flags: get(&spans.flags, at),
                    count: get(&spans.rows.count, at),
                    filled: get(&spans.rows.filled, at),
                });
            }
            self.row(RowKind::Span, place, String::new(), from);
        }
    }

    fn mark_rows(
        &mut self,
        (kind, profile): (RowKind, u32),
        numbers: &[u32],
        marks: &HeldRows,
        totals: &mut Totals,
    ) {
        let mut lanes = Lanes::default();
        let mut rows: BTreeMap<Place, Numbers> = BTreeMap::new();
        for &at in numbers {
            let (start, end) = (get(&marks.start, at), get(&marks.end, at));
            match lanes.place(start, end, None) {
                Some(place) => rows.entry(place).or_default().push(at),
                None => totals.undrawn += u64::from(get(&marks.count, at)),
            }
        }
        let value = match kind {
            RowKind::Sample => self.value(profile),
            _ => String::new(),
        };
        for (place, numbers) in rows {
            let from = self.timeline.items.start.len();
            for at in numbers {
                let name = self.name(kind, get(&marks.name, at));
                self.push(RowItem {
                    start: get(&marks.start, at),
                    end: get(&marks.end, at),
                    name,
                    detail: get(&marks.detail, at),
                    covered: 0,
                    flags: 0,
                    count: get(&marks.count, at),
                    filled: get(&marks.filled, at),
                });
            }
            self.row(kind, place, value.clone(), from);
        }
    }

    /// Adds the line of tracks that have none of their own.
    fn line(&mut self, line: &OtherLine, source: usize) {
        let first = self.timeline.rows.len();
        for (&(kind, profile), course) in &line.courses {
            let from = self.timeline.items.start.len();
            for item in course.items() {
                let name = self.name(kind, item.name);
                self.push(RowItem {
                    start: item.start,
                    end: item.end,
                    name,
                    detail: 0,
                    covered: 0,
                    flags: 0,
                    count: item.count,
                    filled: item.filled,
                });
            }
            let value = match kind {
                RowKind::Sample => self.value(profile),
                _ => String::new(),
            };
            self.row(kind, (0, 0), value, from);
        }
        self.timeline.tracks.push(Track {
            source,
            name: line.name(),
            process: line.process.clone(),
            line: TrackLine::Of(TrackKind::Thread),
            level: 0,
            stands_for: line.tracks,
            totals: line.totals,
            rows: first..self.timeline.rows.len(),
        });
    }

    fn push(&mut self, item: RowItem) {
        let items = &mut self.timeline.items;
        items.start.push(item.start);
        items.end.push(item.end);
        items.name.push(item.name);
        items.detail.push(item.detail);
        items.covered.push(item.covered);
        items.flags.push(item.flags);
        items.count.push(item.count);
        items.filled.push(item.filled);
    }

    fn row(&mut self, kind: RowKind, (lane, level): Place, value: String, from: usize) {
        self.timeline.rows.push(Row {
            kind,
            lane: row_number(lane),
            level: row_number(level),
            value,
            items: from..self.timeline.items.start.len(),
        });
    }

    /// The value that samples of a profile are shown by.
    fn value(&self, profile: u32) -> String {
        let id = traceloom_model::ProfileId::new(profile);
        let column = self.tables.profile(id).and_then(|profile| {
            let column = self.tables.shown_column(profile, &[])?;
            self.tables.value_type(*profile.value_types.get(column)?)
        });
        column.map_or_else(String::new, |row| self.tables.text(row.name).into_owned())
    }

    /// The number of a name: of a function, an event type, or the innermost frame of a stack.
    fn name(&mut self, kind: RowKind, number: u32) -> u32 {
        let kind = match kind {
            RowKind::Span | RowKind::Sample => kind,
            _ => RowKind::Event,
        };
        if let Some(&known) = self.symbols.get(&(kind, number)) {
            return known;
        }
        let tables = self.tables;
        let text = match kind {
            RowKind::Span if number == NONE => "(unknown)".to_owned(),
            RowKind::Span => symbol_of_function(tables, FunctionId::new(number)).name,
            RowKind::Sample => leaf(tables, number),
            _ if number == NONE => "damage".to_owned(),
            _ => {
                let row = tables.event_type(EventTypeId::new(number));
                row.map_or_else(
                    || format!("#{number}"),
                    |row| tables.text(row.name).into_owned(),
                )
            }
        };
        let name = self.timeline.names.intern(text);
        self.symbols.insert((kind, number), name);
        name
    }
}

/// The function at the top of a stack.
fn leaf(tables: &Recording, stack: u32) -> String {
    if stack == NONE {
        return "(no stack)".to_owned();
    }
    match tables.stack(StackId::new(stack)) {
        Some(stack) => frame_name(tables, stack.frame),
        None => format!("#{stack}"),
    }
}
