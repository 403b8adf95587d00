use super::*;
use crate::{TreeBuilder, TreeOptions};
use traceloom_model::{
    Clock, Function, Order, Profile, SampleBatch, SampleRow, Sink, SpanBatch, SpanId, SpanRow,
    Stack, StepBatch, Tables, Track, TrackId, Unit, ValueType,
};

/// `serve` twice, each with `query` in it; the batch is told to two sinks.
fn recording() -> (CallTree, Vec<OverTime>) {
    let mut tables = Tables::new();
    let mut function = |name: &str| {
        let name = tables.string(name);
        tables.function(Function::named(name))
    };
    let [serve, query] = ["com.acme.Shop.serve", "com.acme.Shop.query"].map(&mut function);
    let name = tables.string("main");
    let track = tables.track(Track::thread(name));
    let mut batch = SpanBatch::default();
    for call in 0..2_u64 {
        let from = i64::try_from(call).unwrap() * 500;
        let root = SpanId(call * 2 + 1);
        let mut inner = SpanRow::call(SpanId(call * 2), track, query, from + 100, from + 300);
        inner.parent = Some(root);
        batch.push(&inner);
        batch.push(&SpanRow::call(root, track, serve, from, from + 400));
    }
    let definitions = tables.take_definitions();
    let mut builder = TreeBuilder::new(TreeOptions::default());
    let mut collector = OverTimeCollector::new(Vec::new(), false);
    let sinks: [&mut dyn Sink; 2] = [&mut builder, &mut collector];
    for sink in sinks {
        sink.begin(Order::Nested, Clock::Unix);
        let _ = sink.define(definitions.clone());
        let _ = sink.spans(batch.clone());
    }
    let mut over = Vec::new();
    collector.finish(&mut over);
    (builder.finish().spans.unwrap(), over)
}

#[test]
fn stretches_come_to_what_the_tree_says() {
    let (tree, over) = recording();
    assert!(over[0].is_of(&tree));
    let sum = |values: &[NodeStretch], node: usize| -> i64 {
        let own = values.iter().filter(|one| one.node as usize == node);
        own.map(|one| one.own).sum()
    };
    let values = over[0].of(&tree).unwrap();
    for (number, node) in tree.nodes.iter().enumerate() {
        assert_eq!(sum(&values, number), node.own, "{number}");
    }
    let classes = tree.by(Dimension::Class);
    let places = places_by(&tree, Dimension::Class, &classes).unwrap();
    assert_eq!(places, [0, 0], "functions of one class are one frame");
    let second = values
        .iter()
        .filter(|one| one.stretch * over[0].step() >= 500);
    assert_eq!(second.clone().map(|one| one.own).sum::<i64>(), 400);
    assert_eq!(second.map(|one| one.count).sum::<u64>(), 2);
    assert_eq!(over[0].threads, ["main"]);
}

/// Threads are numbered in the order of the recording, whichever ran first.
#[test]
fn threads_have_the_order_of_the_recording() {
    let mut tables = Tables::new();
    let name = tables.string("work");
    let work = tables.function(Function::named(name));
    let tracks = ["late", "early"].map(|name| {
        let name = tables.string(name);
        tables.track(Track::thread(name))
    });
    let mut batch = SpanBatch::default();
    for (number, (track, start)) in (0..).zip(tracks.into_iter().zip([5_000, 10])) {
        batch.push(&SpanRow::call(
            SpanId(number),
            track,
            work,
            start,
            start + 7,
        ));
    }
    let mut collector = OverTimeCollector::new(Vec::new(), false);
    collector.begin(Order::Nested, Clock::Unix);
    let _ = collector.define(tables.take_definitions());
    let _ = collector.spans(batch);
    let mut all = Vec::new();
    collector.finish(&mut all);
    assert_eq!(all[0].threads, ["late", "early"]);
    let cells = all[0].grid.cells();
    let mut threads: Vec<u32> = cells.iter().map(|((_, on, _), _)| *on).collect();
    threads.dedup();
    assert_eq!(threads, [1, 0], "in the order of time");
}

/// A call of one track from `from` to `to` with another one in it, which goes on for all but its first tenth; recordings after
/// others are told what came before.
fn add_recording(all: &mut Vec<OverTime>, (from, to): (i64, i64), after: bool) {
    let mut tables = Tables::new();
    let [outer, inner] = ["outer", "inner"].map(|name| {
        let name = tables.string(name);
        tables.function(Function::named(name))
    });
    let name = tables.string("main");
    let track = tables.track(Track::thread(name));
    let mut batch = SpanBatch::default();
    let mut callee = SpanRow::call(SpanId(1), track, inner, from + (to - from) / 10, to);
    callee.parent = Some(SpanId(2));
    batch.push(&callee);
    batch.push(&SpanRow::call(SpanId(2), track, outer, from, to));
    let mut collector = OverTimeCollector::new(Vec::new(), false);
    if after {
        collector = collector.after(all);
    }
    collector.begin(Order::Nested, Clock::Unix);
    let _ = collector.define(tables.take_definitions());
    let _ = collector.spans(batch);
    collector.finish(all);
}

#[test]
fn a_recording_after_others_begins_with_their_stretches() {
    const SECOND: i64 = 1_000_000_000;
    let recordings = [
        (0, 100_000 * SECOND),
        (7, 90_001),
        (50 * SECOND + 3, 9_000 * SECOND),
        (-5 * SECOND, 250_000 * SECOND),
    ];
    let [mut apart, mut after] = [Vec::new(), Vec::new()];
    for times in recordings {
        add_recording(&mut apart, times, false);
        add_recording(&mut after, times, true);
    }
    let [apart, after] = [&apart[0], &after[0]];
    assert_eq!(apart.step(), 10 * SECOND);
    assert_eq!(after.step(), apart.step());
    assert_eq!(after.grid.cells(), apart.grid.cells());
    let all: i64 = recordings.iter().map(|(from, to)| to - from).sum();
    let own = after.grid.cells().into_iter().map(|(_, came)| came.own);
    assert_eq!(own.sum::<i64>(), all);
}

/// Calls of three tracks as steps, with times that stand still now and then, and as spans by their ends.
fn both_ways() -> (Tables, Vec<StepBatch>, Vec<SpanBatch>) {
    let mut tables = Tables::new();
    let functions = ["a", "b", "c", "d"].map(|name| {
        let name = tables.string(name);
        tables.function(Function::named(name))
    });
    let function_of = |number: u64| functions[usize::try_from(number).unwrap()];
    let tracks: Vec<TrackId> = (0..3)
        .map(|number| {
            let name = tables.string(&format!("worker {number}"));
            tables.track(Track::thread(name))
        })
        .collect();
    let mut state = 5_u64;
    let mut bits = move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        state >> 33
    };
    let (mut steps, mut spans) = (Vec::new(), Vec::new());
    let mut open: Vec<Vec<(u64, i64, u64)>> = vec![Vec::new(); 3];
    let (mut times, mut id) = ([0_i64; 3], 0);
    for round in 0..600 {
        let at = usize::try_from(bits() % 3).unwrap();
        let (mut batch, mut ended) = (StepBatch::default(), SpanBatch::default());
        batch.track(tracks[at]);
        for _ in 0..20 {
            let bits = bits();
            times[at] += i64::try_from(bits % 5).unwrap().saturating_sub(2).max(0) * 1_700;
            let stack = &mut open[at];
            let is_enter = round < 590 && (stack.is_empty() || bits >> 8 & 1 == 0);
            if is_enter {
                let function = bits >> 16 & 3;
                batch.enter(times[at], function_of(function));
                stack.push((id, times[at], function));
                id += 1;
            } else if let Some((id, start, function)) = stack.pop() {
                batch.exit(times[at]);
                let function = function_of(function);
                let mut row = SpanRow::call(SpanId(id), tracks[at], function, start, times[at]);
                row.parent = stack.last().map(|&(id, ..)| SpanId(id));
                ended.push(&row);
            }
        }
        steps.push(batch);
        spans.push(ended);
    }
    // What is open ends at the last time of its track.
    for (at, stack) in open.iter_mut().enumerate() {
        let mut ended = SpanBatch::default();
        while let Some((id, start, function)) = stack.pop() {
            let function = function_of(function);
            let mut row = SpanRow::call(SpanId(id), tracks[at], function, start, times[at]);
            row.parent = stack.last().map(|&(id, ..)| SpanId(id));
            ended.push(&row);
        }
        spans.push(ended);
    }
    (tables, steps, spans)
}

#[test]
fn steps_come_to_what_spans_do() {
    let (mut tables, steps, spans) = both_ways();
    let definitions = tables.take_definitions();
    let mut builder = TreeBuilder::new(TreeOptions::default());
    let mut collectors = [(); 3].map(|()| OverTimeCollector::new(Vec::new(), false));
    let sinks = collectors.iter_mut().map(|sink| sink as &mut dyn Sink);
    for sink in sinks.chain([&mut builder as &mut dyn Sink]) {
        sink.begin(Order::Nested, Clock::Unix);
        let _ = sink.define(definitions.clone());
    }
    let [by_steps, by_spans, unordered] = &mut collectors;
    unordered.begin(Order::None, Clock::Unix);
    for batch in steps {
        let _ = by_steps.steps(batch);
    }
    for batch in spans {
        let _ = builder.spans(batch.clone());
        let _ = unordered.spans(batch.clone());
        let _ = by_spans.spans(batch);
    }
    let tree = builder.finish().spans.unwrap();
    let of_each = collectors.map(|collector| {
        let mut over = Vec::new();
        collector.finish(&mut over);
        (over[0].threads.clone(), over[0].of(&tree).unwrap())
    });
    assert!(of_each[0].1.len() > 1_000, "{}", of_each[0].1.len());
    assert_eq!(of_each[0], of_each[1]);
    assert_eq!(of_each[2], of_each[1]);
}

#[test]
fn calls_that_come_late_keep_their_time() {
    let mut tables = Tables::new();
    let name = tables.string("work");
    let function = tables.function(Function::named(name));
    let track = tables.track(Track::thread(name));
    let mut collector = OverTimeCollector::new(Vec::new(), false);
    collector.begin(Order::Nested, Clock::Unix);
    let _ = collector.define(tables.take_definitions());
    for (start, end) in [(1_200, 1_500), (1_000, 2_000), (1_600, 1_900)] {
        let mut batch = StepBatch::default();
        batch.track(track);
        batch.enter(start, function);
        batch.exit(end);
        let _ = collector.steps(batch);
    }
    let mut over = Vec::new();
    collector.finish(&mut over);
    let cells = over[0].grid.cells();
    let own: i64 = cells.iter().map(|(_, came)| came.own).sum();
    let count: u64 = cells.iter().map(|(_, came)| came.count).sum();
    assert_eq!((own, count), (300 + 1_000 + 300, 3));
}

#[test]
fn a_tree_without_some_of_the_functions_has_no_course() {
    let (mut tree, over) = recording();
    tree.symbols[1].name = "other".to_owned();
    assert_eq!(over[0].of(&tree), None);
}

/// A profile for each thread, of one measure.
#[test]
fn threads_are_in_the_order_of_their_profiles() {
    let of_run = || {
        let mut tables = Tables::new();
        let name = tables.string("com.acme.Shop.serve");
        let function = tables.function(Function::named(name));
        let frame = tables.frame(traceloom_model::Frame::of(function));
        let stack = tables.stack(Stack::under(None, frame));
        let column = ValueType::sum(tables.string("cpu"), Unit::Count);
        let column = tables.value_type(column);
        let names: Vec<String> = (0..8).map(|number| format!("worker {number}")).collect();
        let batches: Vec<SampleBatch> = names
            .iter()
            .map(|name| {
                let name = tables.string(name);
                let track = tables.track(Track::thread(name));
                let profile = tables.profile(Profile {
                    value_types: vec![column],
                    ..Profile::default()
                });
                let mut batch = SampleBatch::new(profile, 1);
                batch.push(&SampleRow {
                    time: Some(5),
                    track: Some(track),
                    ..SampleRow::at(stack, &[3])
                });
                batch
            })
            .collect();
        let mut collector = OverTimeCollector::new(Vec::new(), false);
        collector.begin(Order::None, Clock::Unix);
        let _ = collector.define(tables.take_definitions());
        for batch in batches {
            let _ = collector.samples(batch);
        }
        let mut over = Vec::new();
        collector.finish(&mut over);
        assert_eq!(over[0].threads, names);
    };
    (0..4).for_each(|_| of_run());
}
