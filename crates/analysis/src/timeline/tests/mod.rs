mod others;
mod page;
mod thin;

use proptest::prelude::*;
use traceloom_model::{
    Clock, CounterBatch, EventBatch, EventRow, EventType, EventTypeId, Frame, Function, FunctionId,
    Level, Note, Order, Origin, PartId, Profile, SampleBatch, SampleRow, Series, Sink, SpanBatch,
    SpanId, SpanRow, Stack, Tables, Timestamp, TrackId, TrackKind, Unit,
};

use super::*;
use crate::monitors::WaitKind;
use crate::{TreeBuilder, TreeOptions, top};

/// A recording under construction.
#[derive(Default)]
struct Made {
    tables: Tables,
    spans: SpanBatch,
    events: EventBatch,
    collector: Collector,
}

impl Made {
    fn function(&mut self, name: &str) -> FunctionId {
        let name = self.tables.string(name);
        self.tables.function(Function::named(name))
    }

    fn track(&mut self, name: &str, kind: TrackKind, parent: Option<TrackId>) -> TrackId {
        let name = self.tables.string(name);
        self.tables.track(traceloom_model::Track {
            kind,
            parent,
            ..traceloom_model::Track::thread(name)
        })
    }

    fn thread(&mut self, name: &str) -> TrackId {
        self.track(name, TrackKind::Thread, None)
    }

    fn span(
        &mut self,
        track: TrackId,
        (start, end): (Timestamp, Timestamp),
        parent: Option<SpanId>,
    ) -> SpanId {
        let function = self.function(&format!("f{start}"));
        let id = self.tables.reserve_span();
        self.spans.push(&SpanRow {
            parent,
            ..SpanRow::call(id, track, function, start, end)
        });
        id
    }

    fn event_type(&mut self, name: &str) -> EventTypeId {
        let name = self.tables.string(name);
        self.tables.event_type(EventType {
            name,
            label: None,
            fields: Vec::new(),
        })
    }

    fn event(&mut self, name: &str, track: Option<TrackId>, time: i64, end: Option<i64>) {
        let event_type = self.event_type(name);
        self.events.push(&EventRow {
            track,
            ..EventRow::of_process(event_type, time, end)
        });
    }

    fn collect(mut self) -> Collector {
        let _ = self.collector.define(self.tables.take_definitions());
        let _ = self.collector.spans(self.spans);
        let _ = self.collector.events(self.events);
        self.collector
    }

    fn timeline(self) -> Timeline {
        let mut timeline = Timeline::default();
        timeline.add("made", self.collect(), false);
        timeline
    }
}

/// Rows of a track: kind, lane, level, and from when to when its items run.
fn rows(timeline: &Timeline, track: usize) -> Vec<(RowKind, u32, u32, Vec<(i64, i64)>)> {
    let rows = timeline.rows_of(&timeline.tracks[track]).iter();
    rows.map(|row| {
        let items = row.items.clone();
        let items = items.map(|at| (timeline.items.start[at], timeline.items.end[at]));
        (row.kind, row.lane, row.level, items.collect())
    })
    .collect()
}

#[test]
fn nested_spans_are_levels_and_partial_overlap_is_a_lane() {
    let mut made = Made::default();
    let main = made.thread("main");
    let outer = made.span(main, (0, 100), None);
    made.span(main, (10, 40), Some(outer));
    made.span(main, (40, 41), Some(outer));
    made.span(main, (90, 150), None);
    made.span(main, (200, 200), None);
    let timeline = made.timeline();
    assert_eq!(
        rows(&timeline, 0),
        [
            (RowKind::Span, 0, 0, vec![(0, 100), (200, 200)]),
            (RowKind::Span, 0, 1, vec![(10, 40), (40, 41)]),
            (RowKind::Span, 1, 0, vec![(90, 150)]),
        ]
    );
    let totals = timeline.tracks[0].totals;
    assert_eq!((totals.spans, totals.busy, totals.longest), (5, 150, 100));
}

#[test]
fn children_stay_in_the_lane_of_their_parent() {
    let mut made = Made::default();
    let tasks = made.track("tasks", TrackKind::Async, None);
    made.span(tasks, (0, 100), None);
    let second = made.span(tasks, (50, 200), None);
    made.span(tasks, (110, 120), Some(second));
    let timeline = made.timeline();
    assert_eq!(
        rows(&timeline, 0),
        [
            (RowKind::Span, 0, 0, vec![(0, 100)]),
            (RowKind::Span, 1, 0, vec![(50, 200)]),
            (RowKind::Span, 1, 1, vec![(110, 120)]),
        ]
    );
}

#[test]
fn tracks_stand_by_name_and_below_what_they_hang_from() {
    let mut made = Made::default();
    let ten = made.thread("exec-10");
    let nine = made.thread("exec-9");
    let task = made.track("task", TrackKind::Async, Some(nine));
    for track in [ten, nine, task] {
        made.span(track, (0, 10), None);
    }
    made.event("pause", None, 5, Some(7));
    let timeline = made.timeline();
    let tracks = timeline.tracks.iter();
    let tracks: Vec<_> = tracks
        .map(|track| (track.name.as_str(), track.line.word(), track.level))
        .collect();
    assert_eq!(
        tracks,
        [
            ("made", "process", 0),
            ("exec-9", "thread", 0),
            ("task", "async", 1),
            ("exec-10", "thread", 0)
        ]
    );
}

#[test]
fn waits_pauses_events_and_samples_have_rows_of_their_own() {
    let mut made = Made::default();
    let main = made.thread("main");
    made.event("monitor_contention", Some(main), 10, Some(30));
    made.event("jdk.ThreadPark", Some(main), 40, Some(45));
    // Half a pair: that a wait began.
    made.event("mon_contended_enter", Some(main), 10, None);
    made.event("jdk.SocketRead", Some(main), 50, Some(60));
    made.event("jdk.GCPhasePause", None, 20, Some(25));
    made.event("jdk.DataLoss", None, 70, Some(90));
    let column = made.tables.string("cpu");
    let column = made
        .tables
        .value_type(traceloom_model::ValueType::sum(column, Unit::Nanoseconds));
    let profile = made.tables.profile(Profile {
        value_types: vec![column],
        ..Profile::default()
    });
    let mut stack = None;
    for name in ["run", "read"] {
        let function = made.function(name);
        let frame = made.tables.frame(Frame::of(function));
        stack = Some(made.tables.stack(Stack::under(stack, frame)));
    }
    let mut samples = SampleBatch::new(profile, 1);
    for time in [Some(33), Some(33), None] {
        samples.push(&SampleRow {
            stack,
            values: &[1],
            time,
            track: Some(main),
            span: None,
            labels: &[],
        });
    }
    let mut collector = made.collect();
    let _ = collector.samples(samples);
    let mut timeline = Timeline::default();
    timeline.add("made", collector, false);
    assert_eq!(
        rows(&timeline, 0),
        [
            (RowKind::Pause, 0, 0, vec![(20, 25)]),
            (RowKind::Loss, 0, 0, vec![(70, 90)]),
        ]
    );
    assert_eq!(
        rows(&timeline, 1),
        [
            (RowKind::Wait, 0, 0, vec![(10, 30), (40, 45)]),
            (RowKind::Event, 0, 0, vec![(10, 10), (50, 60)]),
            (RowKind::Sample, 0, 0, vec![(33, 33), (33, 33)]),
        ]
    );
    assert_eq!(timeline.rows.last().unwrap().value, "cpu");
    // Both samples share one list.
    let sample = timeline.rows.last().unwrap().items.clone();
    let details = &timeline.items.detail[sample.clone()];
    assert_eq!(details, [details[0]; 2]);
    let stack = timeline.sources[0].details.pairs(details[0]);
    assert_eq!(
        stack.collect::<Vec<_>>(),
        [("stack".into(), "read\nrun".into())]
    );
    let name = timeline.items.name[sample.start] as usize;
    assert_eq!(timeline.names.texts[name], "read");
    let page = html(
        &timeline,
        &crate::hotspots::Categories::default(),
        ("made", ""),
        Some(100),
    );
    assert_eq!(page.matches("read\\u000arun").count(), 1);
    let totals = timeline.totals();
    let waits = WaitKind::ALL.map(|kind| {
        let waits = totals.waits_of(kind);
        (waits.count, waits.total)
    });
    assert_eq!(waits, [(1, 20), (0, 0), (1, 5)]);
    assert_eq!((totals.pauses.total, totals.losses.total), (5, 20));
    assert_eq!((totals.events, totals.samples), (2, 2));
    assert_eq!(timeline.sources[0].timeless, 1);
    assert!(
        missing(&timeline, &timeline.sources[0])
            .unwrap()
            .starts_with("1 samples without")
    );
}

#[test]
fn damage_shows_between_the_spans_around_it() {
    let mut made = Made::default();
    let main = made.thread("main");
    for (start, end, offset) in [(0, 10, 100), (500, 600, 300)] {
        let function = made.function("f");
        let id = made.tables.reserve_span();
        let part = PartId(1);
        made.spans.push(&SpanRow {
            origin: Some(Origin {
                part,
                offset,
                index: 0,
            }),
            ..SpanRow::call(id, main, function, start, end)
        });
    }
    let mut collector = made.collect();
    for (part, level) in [(1, Level::Damage), (2, Level::Damage), (1, Level::Info)] {
        let _ = collector.note(Note {
            part: PartId(part),
            ..Note::new(level, "lost", 200, "9 bytes skipped")
        });
    }
    let mut timeline = Timeline::default();
    timeline.add("made", collector, false);
    assert_eq!(rows(&timeline, 0), [(RowKind::Loss, 0, 0, vec![(10, 500)])]);
    assert_eq!(timeline.sources[0].unplaced, 1);
    let detail = timeline.items.detail[0];
    let details = timeline.sources[0]
        .details
        .pairs(detail)
        .collect::<Vec<_>>();
    assert_eq!(details, [("damage".into(), "9 bytes skipped".into())]);
}

#[test]
fn activity_is_the_share_of_each_column() {
    let mut made = Made::default();
    let main = made.thread("main");
    let outer = made.span(main, (0, 250), None);
    made.span(main, (10, 20), Some(outer));
    made.span(main, (500, 501), None);
    made.span(main, (1_000, 1_000), None);
    let timeline = made.timeline();
    let activity = Activity::of(&timeline, 0, 10);
    let track = &timeline.tracks[0];
    assert_eq!(
        activity.share(&timeline, track, RowKind::Span),
        [1000, 1000, 500, 0, 0, 10, 0, 0, 0, 1]
    );
    assert_eq!(
        activity.count(&timeline, track, RowKind::Span)[..3],
        [1, 0, 0]
    );
}

#[test]
fn counters_hold_until_the_next_point() {
    let mut made = Made::default();
    let main = made.thread("main");
    made.span(main, (0, 100), None);
    let name = made.tables.string("heap");
    let series = made.tables.series(Series {
        name,
        unit: Unit::Bytes,
        track: Some(main),
    });
    let mut points = CounterBatch::default();
    points.push(series, 50, 2.0);
    points.push(series, 20, 1.0);
    let mut collector = made.collect();
    let _ = collector.counters(points);
    let mut timeline = Timeline::default();
    timeline.add("made", collector, false);
    let counter = &timeline.counters[0];
    assert_eq!((counter.track, counter.name.as_str()), (Some(0), "heap"));
    assert_eq!(counter.points, [(20, 1.0), (50, 2.0)]);
    let levels = Activity::of(&timeline, 0, 4).level(counter);
    assert_eq!(levels, [Some(1.0), Some(1.0), Some(2.0), Some(2.0)]);
}

#[test]
fn clocks_without_a_date_begin_at_the_left() {
    let recording = |times: (i64, i64), unix: bool| {
        let mut made = Made::default();
        let main = made.thread("main");
        made.span(main, times, None);
        let mut collector = made.collect();
        if !unix {
            collector.begin(Order::Nested, Clock::Unknown(None));
        }
        collector
    };
    let mut timeline = Timeline::default();
    timeline.add("own", recording((-50, 950), false), false);
    assert_eq!(timeline.times(), Some((-50, 950)));
    timeline.add("dated", recording((10_000, 10_400), true), false);
    assert_eq!(timeline.times(), Some((10_000, 11_000)));
    assert_eq!(
        (timeline.base(0, 10_000), timeline.base(1, 10_000)),
        (-50, 10_000)
    );
    assert_eq!(Timeline::default().times(), None);
}

#[test]
fn a_time_far_away_does_not_hide_the_rest() {
    let mut made = Made::default();
    let main = made.thread("main");
    for at in 0..300 {
        made.span(main, (1_000 + at * 10, 1_005 + at * 10), None);
    }
    assert_eq!(made.timeline().bulk(), None);
    let mut made = Made::default();
    let main = made.thread("main");
    for at in 0..300 {
        made.span(main, (1_000 + at * 10, 1_005 + at * 10), None);
    }
    made.span(main, (i64::MAX - 1, i64::MAX), None);
    // Four of 301 at each end are few.
    let first = 1_000 + 4 * 10;
    let last = 1_005 + (301 - 4 - 1) * 10;
    let slack = (last - first) / 20;
    assert_eq!(made.timeline().bulk(), Some((1_000, last + slack)));
}

/// A tree of calls as starts and ends that nest.
fn nested() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((0_u8..4, 0_u8..20), 1..60)
}

proptest! {
    #[test]
    fn own_times_are_those_of_top(steps in nested()) {
        let mut made = Made::default();
        let main = made.thread("main");
        let mut open: Vec<(SpanId, i64, FunctionId)> = Vec::new();
        let mut spans = SpanBatch::default();
        let mut time = 0;
        let mut close = |open: &mut Vec<(SpanId, i64, FunctionId)>, time| {
            if let Some((id, start, function)) = open.pop() {
                spans.push(&SpanRow {
                    parent: open.last().map(|above| above.0),
                    depth: u32::try_from(open.len()).unwrap(),
                    ..SpanRow::call(id, main, function, start, time)
                });
            }
        };
        for (what, passed) in steps {
            time += i64::from(passed);
            if what < 2 {
                let function = made.function(["a", "b"][usize::from(what)]);
                let id = made.tables.reserve_span();
                open.push((id, time, function));
            } else {
                close(&mut open, time);
            }
        }
        while !open.is_empty() {
            close(&mut open, time);
        }
        let definitions = made.tables.take_definitions();
        let mut builder = TreeBuilder::new(TreeOptions::default());
        let _ = builder.define(definitions.clone());
        let _ = builder.spans(spans.clone());
        let mut expected: Vec<(String, i64)> = Vec::new();
        if let Some(tree) = builder.finish().spans {
            let rows = top(&tree).into_iter();
            expected.extend(rows.map(|row| (tree.symbol(row.symbol).name.clone(), row.own)));
        }
        let mut collector = Collector::default();
        let _ = collector.define(definitions);
        let _ = collector.spans(spans);
        let mut timeline = Timeline::default();
        timeline.add("made", collector, false);
        let mut own: HashMap<String, i64, RandomState> = HashMap::default();
        for at in 0..timeline.items.start.len() {
            let name = timeline.names.texts[timeline.items.name[at] as usize].clone();
            let length = timeline.items.end[at].abs_diff(timeline.items.start[at]);
            let left = length - timeline.items.covered[at];
            *own.entry(name).or_default() += i64::try_from(left).unwrap();
        }
        expected.sort();
        let mut own: Vec<_> = own.into_iter().collect();
        own.sort();
        prop_assert_eq!(own, expected);
    }
}
