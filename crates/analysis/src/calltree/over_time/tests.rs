use super::*;
use crate::{TreeBuilder, TreeOptions};
use traceloom_model::{
    Clock, Function, Order, Profile, SampleBatch, SampleRow, Sink, SpanBatch, SpanId, SpanRow,
    Stack, Tables, Track, Unit, ValueType,
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
