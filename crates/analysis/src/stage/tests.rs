use std::num::NonZeroU64;

use super::*;
use crate::filter::Selection;
use traceloom_model::{
    Clock, CounterBatch, EventBatch, EventRow, EventType, Frame, Function, ObjectBatch, ObjectId,
    ObjectRow, Order, Profile, Recording, Resource, SampleBatch, SampleRow, Series, Sink,
    SpanBatch, SpanId, SpanRow, SpanStatus, Stack, Tables, Track, TrackId, TrackKind, Unit,
    ValueType,
};

/// A root from 0 to 100 with children `[10, 30]` and `[40, 90]`, and a second root `[200, 260]`.
fn spans(tables: &mut Tables, track: TrackId) -> SpanBatch {
    let names = ["outer", "first", "second", "other"].map(|name| {
        let name = tables.string(name);
        tables.function(Function::named(name))
    });
    let mut batch = SpanBatch::default();
    let mut push = |id: u64, parent: Option<u64>, at: usize, start, end| {
        batch.push(&SpanRow {
            parent: parent.map(SpanId),
            entry: parent.is_none(),
            depth: u32::from(parent.is_some()),
            ..SpanRow::call(SpanId(id), track, names[at], start, end)
        });
    };
    push(1, Some(0), 1, 10, 30);
    push(2, Some(0), 2, 40, 90);
    push(0, None, 0, 0, 100);
    push(3, None, 3, 200, 260);
    batch
}

fn recording(sink: &mut dyn Sink) {
    let mut tables = Tables::new();
    let service = tables.string("shop");
    let resource = tables.resource(Resource {
        service: Some(service),
        ..Resource::default()
    });
    let name = tables.string("main");
    let track = tables.track(Track {
        resource: Some(resource),
        ..Track::thread(name)
    });
    let batch = spans(&mut tables, track);
    let name = tables.string("heap");
    let series = tables.series(Series {
        name,
        unit: Unit::Bytes,
        track: None,
    });
    let mut points = CounterBatch::default();
    (0..3).for_each(|at| points.push(series, at * 50, 1.0));
    let pause = tables.string("pause");
    let pause = tables.event_type(EventType {
        name: pause,
        label: None,
        fields: Vec::new(),
    });
    let mut events = EventBatch::default();
    events.push(&EventRow::of_process(pause, 20, Some(60)));
    sink.begin(Order::Nested, Clock::Unknown(None));
    let _ = sink.define(tables.take_definitions());
    let _ = sink.spans(batch);
    let _ = sink.counters(points);
    let _ = sink.events(events);
}

fn rows(recording: &Recording) -> Vec<(u64, i64, i64, SpanStatus)> {
    let rows = recording.spans.iter();
    rows.map(|row| (row.id.0, row.start, row.end, row.status))
        .collect()
}

#[test]
fn a_window_clips() {
    let range = Range {
        since: Some(20),
        until: Some(50),
    };
    let mut inside = Recording::default();
    recording(&mut Window::new(&mut inside, range));
    use SpanStatus::{Complete, PartialEnd, PartialStart};
    assert_eq!(
        rows(&inside),
        [
            (1, 20, 30, PartialStart),
            (2, 40, 50, PartialEnd),
            (0, 20, 50, PartialEnd)
        ]
    );
    assert_eq!(inside.counters.time, [] as [i64; 0]);
    assert_eq!(
        (inside.events.time[0], inside.events.end[0]),
        (20, Some(50))
    );

    let mut late = Recording::default();
    let until_the_end = Range {
        since: Some(100),
        until: None,
    };
    recording(&mut Window::new(&mut late, until_the_end));
    assert_eq!(rows(&late), [(3, 200, 260, Complete)]);
    assert_eq!(late.counters.time, [100]);
}

#[test]
fn a_window_has_the_objects_and_the_length_of_its_stretch() {
    let range = Range {
        since: Some(20),
        until: Some(50),
    };
    let mut tables = Tables::new();
    tables.profile(Profile {
        time: Some(10),
        duration: Some(30),
        ..Profile::default()
    });
    let mut objects = ObjectBatch::default();
    for (id, time) in [(1, Some(10)), (2, Some(20)), (3, None), (4, Some(50))] {
        objects.rows.push(ObjectRow {
            id: ObjectId(id),
            generation: 0,
            class: None,
            size: 8,
            is_array: false,
            time,
            site: None,
            thread: None,
        });
    }
    let mut inside = Recording::default();
    let mut window = Window::new(&mut inside, range);
    let _ = window.define(tables.take_definitions());
    let _ = window.objects(objects);
    let ids: Vec<u64> = inside.objects.iter().map(|row| row.id.0).collect();
    assert_eq!(ids, [2, 3]);
    let profile = inside.profiles[0].as_ref().unwrap();
    assert_eq!((profile.time, profile.duration), (Some(20), Some(20)));
}

#[test]
fn shifts_move_a_recording_or_a_service() {
    let mut moved = Recording::default();
    let all = Shifts {
        all: Some(1_000),
        services: Vec::new(),
    };
    recording(&mut Shift::new(&mut moved, all));
    assert_eq!(moved.spans.start, [1_010, 1_040, 1_000, 1_200]);
    assert_eq!(moved.clock, Clock::Unix);

    let mut moved = Recording::default();
    let services = vec![("shop".to_owned(), -5), ("bank".to_owned(), 7)];
    let mut shift = Shift::new(
        &mut moved,
        Shifts {
            all: None,
            services,
        },
    );
    recording(&mut shift);
    assert_eq!(shift.finish(), [true, false]);
    assert_eq!(moved.spans.end, [25, 85, 95, 255]);
    assert_eq!(moved.counters.time, [-5, 45, 95]);
    assert_eq!(moved.clock, Clock::Unknown(None));
}

#[test]
fn calls_are_chosen_whole() {
    let mut chosen = Recording::default();
    let selection = Selection {
        min_duration: 80,
        ..Selection::default()
    };
    let mut choose = Choose::new(&mut chosen, selection, None, 100);
    recording(&mut choose);
    assert!(choose.finish().is_continue());
    assert_eq!(chosen.spans.id, [SpanId(1), SpanId(2), SpanId(0)]);
    assert_eq!(chosen.counters.time.len(), 3);
}

#[test]
fn a_fraction_is_the_same_in_every_run_and_about_as_large() {
    let run = || {
        let mut chosen = Recording::default();
        let one_in_ten = Fraction::one_in(NonZeroU64::new(10).unwrap());
        let mut choose = Choose::new(&mut chosen, Selection::default(), Some(one_in_ten), 100);
        let mut batch = SpanBatch::default();
        for id in 0..10_000 {
            let track = TrackId::new(0);
            let function = traceloom_model::FunctionId::new(0);
            let root = SpanId(2 * id);
            batch.push(&SpanRow {
                parent: Some(root),
                ..SpanRow::call(SpanId(2 * id + 1), track, function, 0, 1)
            });
            batch.push(&SpanRow::call(root, track, function, 0, 2));
        }
        let _ = Sink::spans(&mut choose, batch);
        assert!(choose.finish().is_continue());
        chosen.spans.id
    };
    let ids = run();
    assert_eq!(ids, run());
    assert!((1_800..2_200).contains(&ids.len()), "{}", ids.len());
    // A call comes with what is in it.
    assert!(ids.chunks(2).all(|pair| pair[0].0 == pair[1].0 + 1));
}

#[test]
fn spans_as_samples_keep_own_time_and_calls() {
    for order in [Order::Nested, Order::None] {
        let mut told = Recording::default();
        let mut samples = AsSamples::new(&mut told, false);
        samples.begin(order, Clock::Unix);
        let mut tables = Tables::new();
        let name = tables.string("main");
        let track = tables.track(Track::thread(name));
        let batch = spans(&mut tables, track);
        let _ = samples.define(tables.take_definitions());
        let _ = Sink::spans(&mut samples, batch);
        assert_eq!(samples.finish(), ToldSpans { told: 4, left: 0 });
        assert!(told.spans.is_empty());
        let mut lines: Vec<_> = told
            .samples
            .iter()
            .flat_map(SampleBatch::iter)
            .map(|row| {
                let mut names = Vec::new();
                let mut next = row.stack;
                while let Some(stack) = next.and_then(|stack| told.stack(stack)) {
                    let function = told.frame(stack.frame).unwrap().function.unwrap();
                    names.push(told.function_name(function).into_owned());
                    next = stack.parent;
                }
                names.reverse();
                (names.join(";"), row.values.to_vec())
            })
            .collect();
        lines.sort();
        assert_eq!(
            lines,
            [
                ("other".to_owned(), vec![1, 60]),
                ("outer".to_owned(), vec![1, 30]),
                ("outer;first".to_owned(), vec![1, 20]),
                ("outer;second".to_owned(), vec![1, 50]),
            ]
        );
    }
}

#[test]
fn samples_that_are_there_stand_for_the_spans_beside_them() {
    for (is_sampled, wanted) in [
        (false, ToldSpans { told: 4, left: 0 }),
        (true, ToldSpans { told: 0, left: 4 }),
    ] {
        let mut told = Recording::default();
        let mut samples = AsSamples::where_none_are(&mut told);
        let mut tables = Tables::new();
        let name = tables.string("main");
        let track = tables.track(Track::thread(name));
        let cpu = tables.value_type(ValueType::sum(name, Unit::Nanoseconds));
        let profile = tables.profile(Profile {
            value_types: vec![cpu],
            ..Profile::default()
        });
        let batch = spans(&mut tables, track);
        let _ = samples.define(tables.take_definitions());
        let _ = Sink::spans(&mut samples, batch);
        if is_sampled {
            let mut batch = SampleBatch::new(profile, 1);
            batch.push(&SampleRow {
                stack: None,
                values: &[7],
                time: None,
                track: None,
                span: None,
                labels: &[],
            });
            let _ = Sink::samples(&mut samples, batch);
        }
        assert_eq!(samples.n_samples(), u64::from(is_sampled));
        assert_eq!(samples.finish(), wanted);
        let rows = told.samples.iter().map(SampleBatch::len).sum::<usize>();
        assert_eq!(rows, if is_sampled { 1 } else { 4 });
    }
}

#[test]
fn spans_beside_their_thread_become_samples_on_request() {
    for (lanes, wanted) in [
        (false, ToldSpans { told: 0, left: 4 }),
        (true, ToldSpans { told: 4, left: 0 }),
    ] {
        let mut told = Recording::default();
        let mut samples = AsSamples::new(&mut told, lanes);
        let mut tables = Tables::new();
        let name = tables.string("beside");
        let track = tables.track(Track {
            kind: TrackKind::Async,
            ..Track::thread(name)
        });
        let batch = spans(&mut tables, track);
        let _ = samples.define(tables.take_definitions());
        let _ = Sink::spans(&mut samples, batch);
        assert_eq!(samples.finish(), wanted);
        let rows = told.samples.iter().map(SampleBatch::len).sum::<usize>();
        assert_eq!(rows as u64, wanted.told);
    }
}

#[test]
fn samples_as_spans_last_until_the_next_and_no_longer() {
    let mut tables = Tables::new();
    let name = tables.string("main");
    let track = tables.track(Track::thread(name));
    let mut stack = |parent, name: &str| {
        let name = tables.string(name);
        let function = Some(tables.function(Function::named(name)));
        let frame = tables.frame(Frame {
            function,
            ..Frame::default()
        });
        tables.stack(Stack::under(parent, frame))
    };
    let a = stack(None, "a");
    let ab = stack(Some(a), "b");
    let ac = stack(Some(a), "c");
    let cpu = tables.string("cpu");
    let cpu = tables.value_type(ValueType::sum(cpu, Unit::Nanoseconds));
    let profile = tables.profile(Profile {
        value_types: vec![cpu],
        ..Profile::default()
    });
    let mut batch = SampleBatch::new(profile, 1);
    // Out of order, with a gap after 30, and one without a time.
    for (time, stack) in [
        (Some(30), ac),
        (Some(10), ab),
        (Some(20), ab),
        (Some(100), ab),
        (None, a),
    ] {
        batch.push(&SampleRow {
            stack: Some(stack),
            values: &[10],
            time,
            track: Some(track),
            span: None,
            labels: &[],
        });
    }
    let mut told = Recording::default();
    let mut spans = AsSpans::new(&mut told, None);
    let _ = spans.define(tables.take_definitions());
    let _ = Sink::samples(&mut spans, batch);
    assert_eq!(spans.finish(), ConvertedSamples { told: 4, left: 1 });
    let shown: Vec<_> = told
        .spans
        .iter()
        .map(|row| {
            (
                told.function_name(row.function.unwrap()).into_owned(),
                row.start,
                row.end,
                row.depth,
            )
        })
        .collect();
    let row = |name: &str, start, end, depth| (name.to_owned(), start, end, depth);
    assert_eq!(
        shown,
        [
            row("b", 10, 30, 1),
            row("c", 30, 40, 1),
            row("a", 10, 40, 0),
            row("b", 100, 110, 1),
            row("a", 100, 110, 0)
        ]
    );
    assert_eq!(told.samples[0].len(), 1);
}
