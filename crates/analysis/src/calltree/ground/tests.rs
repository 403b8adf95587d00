use traceloom_model::{
    Attribute, Clock, Frame, Function, Order, Profile, Resource, SampleBatch, Sink, SpanBatch,
    SpanId, Stack, StepBatch, Tables, Track, Unit, Value, ValueType,
};

use super::*;
use crate::calltree::{CallTree, TreeBuilder, TreeOptions};
use crate::filter::Selection;
use crate::{bottom_up, callees_of, callers_of, top_of_groups};

/// A call as a test writes it: name, start, end, parameters, and its callees.
struct Made<'m>(&'m str, i64, i64, &'m [(&'m str, &'m str)], &'m [Made<'m>]);

struct Recorded {
    tables: Tables,
    spans: SpanBatch,
}

impl Recorded {
    fn of(threads: &[(&str, &[Made<'_>])]) -> Self {
        let mut all = Self {
            tables: Tables::new(),
            spans: SpanBatch::default(),
        };
        for (name, calls) in threads {
            let name = all.tables.string(name);
            let track = all.tables.track(Track::thread(name));
            for call in *calls {
                all.put(track, None, call);
            }
        }
        all
    }

    fn put(&mut self, track: TrackId, parent: Option<SpanId>, call: &Made<'_>) {
        let &Made(name, start, end, params, callees) = call;
        let id = self.tables.reserve_span();
        for callee in callees {
            self.put(track, Some(id), callee);
        }
        let name = self.tables.string(name);
        let function = self.tables.function(Function::named(name));
        let attributes: Vec<Attribute> = params
            .iter()
            .map(|(name, value)| {
                let key = self.tables.attribute_named(name);
                Attribute::new(key, Value::Text(self.tables.string(value)))
            })
            .collect();
        self.spans.push(&SpanRow {
            parent,
            attributes: &attributes,
            ..SpanRow::call(id, track, function, start, end)
        });
    }

    fn tree(mut self, options: TreeOptions, order: Order) -> CallTree {
        let mut builder = TreeBuilder::new(options);
        builder.begin(order, Clock::Unix);
        let _ = builder.define(self.tables.take_definitions());
        let _ = builder.spans(self.spans);
        builder.finish().spans.unwrap()
    }
}

fn by(what: &str) -> TreeOptions {
    TreeOptions {
        by: Some(what.parse().unwrap()),
        ..TreeOptions::default()
    }
}

/// Path, total, own value and count of every node.
fn lines(tree: &CallTree) -> Vec<(String, i64, i64, u64)> {
    let mut path: Vec<&str> = Vec::new();
    let lines = (0..).zip(&tree.nodes).map(|(number, node)| {
        path.truncate(node.depth as usize);
        path.push(&tree.symbol(node.symbol).name);
        (path.join(";"), node.total, node.own, tree.count(number))
    });
    lines.collect()
}

fn line(path: &str, total: i64, own: i64, count: u64) -> (String, i64, i64, u64) {
    (path.to_owned(), total, own, count)
}

const QUERIES: &[(&str, &[Made<'_>])] = &[(
    "exec-1",
    &[Made(
        "web",
        0,
        100,
        &[("customer", "a")],
        &[
            Made(
                "price",
                10,
                40,
                &[],
                &[Made("query", 20, 30, &[("sql", "select 1")], &[])],
            ),
            Made(
                "query",
                50,
                70,
                &[("sql", "select 2")],
                &[Made("socket", 55, 65, &[], &[])],
            ),
            Made("query", 80, 85, &[("sql", "delete from t")], &[]),
        ],
    )],
)];

#[test]
fn a_statement_takes_its_time_from_the_calls_around_it() {
    for order in [Order::Nested, Order::None] {
        let tree = Recorded::of(QUERIES).tree(by("sql-shape"), order);
        assert_eq!(tree.total, 100);
        assert_eq!(
            lines(&tree),
            [
                line("(no sql)", 65, 0, 1),
                line("(no sql);web", 65, 45, 1),
                line("(no sql);web;price", 20, 20, 1),
                line("select ?", 30, 0, 2),
                line("select ?;web", 30, 0, 0),
                line("select ?;web;query", 20, 10, 1),
                line("select ?;web;query;socket", 10, 10, 1),
                line("select ?;web;price", 10, 0, 0),
                line("select ?;web;price;query", 10, 10, 1),
                line("delete from t", 5, 0, 1),
                line("delete from t;web", 5, 0, 0),
                line("delete from t;web;query", 5, 5, 1),
            ]
            .map(|line| line)
        );
    }
}

#[test]
fn a_parameter_of_a_call_is_of_everything_in_it() {
    let tree = Recorded::of(QUERIES).tree(by("Customer"), Order::Nested);
    let plain = Recorded::of(QUERIES).tree(TreeOptions::default(), Order::Nested);
    let below: Vec<_> = lines(&tree)
        .into_iter()
        .filter_map(|(path, ..)| path.strip_prefix("a;").map(str::to_owned))
        .collect();
    let paths: Vec<String> = lines(&plain).into_iter().map(|line| line.0).collect();
    assert_eq!(below, paths);
    let none = Recorded::of(QUERIES).tree(by("client"), Order::Nested);
    assert_eq!(lines(&none)[0], line("(no client)", 100, 0, 1));
}

#[test]
fn spans_that_overlap_share_no_more_than_there_is() {
    let overlapping: &[(&str, &[Made<'_>])] = &[(
        "loop",
        &[Made(
            "web",
            0,
            100,
            &[],
            &[
                Made("fetch", 0, 80, &[("sql", "select 1")], &[]),
                Made("fetch", 10, 90, &[("sql", "delete")], &[]),
            ],
        )],
    )];
    let tree = Recorded::of(overlapping).tree(by("sql-shape"), Order::Finish);
    let roots: Vec<i64> = tree
        .roots()
        .map(|root| tree.nodes[root as usize].total)
        .collect();
    assert_eq!(roots.iter().sum::<i64>(), 100, "{roots:?}");
    assert_eq!(tree.total, 100);
}

#[test]
fn steps_and_spans_stand_on_the_same_threads() {
    let calls: &[(&str, &[Made<'_>])] = &[
        (
            "a",
            &[Made("buy", 0, 10, &[], &[]), Made("buy", 20, 25, &[], &[])],
        ),
        ("b", &[Made("sell", 0, 7, &[], &[])]),
    ];
    let mut recorded = Recorded::of(calls);
    let mut steps = StepBatch::default();
    for row in recorded.spans.iter() {
        steps.track(row.track);
        steps.enter(row.start, row.function.unwrap());
        steps.exit(row.end);
    }
    for selection in [None, Some("thread = a or method = sell")] {
        let options = TreeOptions {
            calls: selection.map(|text| Selection {
                filter: text.parse().unwrap(),
                ..Selection::default()
            }),
            ..by("thread")
        };
        let mut builder = TreeBuilder::new(options);
        let _ = builder.define(recorded.tables.take_definitions());
        if selection.is_some() {
            recorded = Recorded::of(calls);
            let _ = builder.define(recorded.tables.take_definitions());
        }
        let _ = builder.steps(steps.clone());
        let tree = builder.finish().spans.unwrap();
        assert_eq!(
            lines(&tree),
            [
                line("a", 15, 0, 2),
                line("a;buy", 15, 15, 2),
                line("b", 7, 0, 1),
                line("b;sell", 7, 7, 1),
            ]
        );
    }
    let spans = Recorded::of(calls).tree(by("thread"), Order::Nested);
    assert_eq!(lines(&spans)[0], line("a", 15, 0, 2));
}

#[test]
fn groups_stay_on_top_of_a_tree_upside_down_and_of_both_halves() {
    let tree = Recorded::of(QUERIES).tree(by("sql-shape"), Order::Nested);
    let up = lines(&bottom_up(&tree));
    assert!(
        up.contains(&line("select ?;query;web", 10, 10, 1)),
        "{up:?}"
    );
    let query: crate::Predicate<'_> = Box::new(|symbol| symbol.name == "query");
    let callers = callers_of(&tree, &query);
    assert_eq!(callers.total, 35);
    assert!(lines(&callers).contains(&line("select ?;query;price;web", 10, 10, 1)));
    let callees = callees_of(&tree, &query);
    assert_eq!(callees.total, 35);
    assert!(lines(&callees).contains(&line("select ?;query;socket", 10, 10, 1)));
    let groups = top_of_groups(&tree);
    let sums: Vec<_> = groups
        .iter()
        .map(|group| (group.sum.own, group.sum.total, group.sum.count))
        .collect();
    assert_eq!(sums, [(65, 65, 1), (30, 30, 2), (5, 5, 1)]);
}

#[test]
fn values_beyond_the_most_share_a_group() {
    let mut grounds = Grounds::new("user".parse().unwrap());
    let keys: Vec<u32> = (0..MOST + 2)
        .map(|number| grounds.of_text(&number.to_string()))
        .collect();
    assert_eq!(keys[MOST..], [OTHER_GROUPS, OTHER_GROUPS]);
    assert_eq!(grounds.of_text("7"), keys[7]);
    let symbol = grounds.symbol(&Recording::default(), OTHER_GROUPS);
    assert_eq!(symbol.name, "(more than 10000 values)");
    assert!(symbol.group);
}

#[test]
fn samples_are_grouped_by_label_thread_and_service() {
    let made = |what: &str| {
        let mut tables = Tables::new();
        let [name, shop, cpu, run, value] =
            ["worker", "shop", "cpu", "run", "eu"].map(|text| tables.string(text));
        let resource = tables.resource(Resource {
            service: Some(shop),
            ..Resource::default()
        });
        let track = tables.track(Track {
            resource: Some(resource),
            ..Track::thread(name)
        });
        let cpu = tables.value_type(ValueType::sum(cpu, Unit::Count));
        let profile = tables.profile(Profile {
            value_types: vec![cpu],
            ..Profile::default()
        });
        let function = tables.function(Function::named(run));
        let frame = tables.frame(Frame::of(function));
        let stack = tables.stack(Stack::under(None, frame));
        let region = tables.attribute_named("region");
        let labels = [Attribute::new(region, Value::Text(value))];
        let mut samples = SampleBatch::new(profile, 1);
        for (value, track, labels) in [
            (5, Some(track), &labels[..]),
            (3, Some(track), &[]),
            (2, None, &[]),
        ] {
            samples.push(&SampleRow {
                stack: Some(stack),
                values: &[value],
                time: None,
                track,
                span: None,
                labels,
            });
        }
        let mut builder = TreeBuilder::new(by(what));
        let _ = builder.define(tables.take_definitions());
        let _ = builder.samples(samples);
        let tree = builder.finish().samples.remove(0);
        assert_eq!(tree.total, 10);
        lines(&tree)
            .into_iter()
            .map(|(path, total, _, count)| (path, total, count))
            .collect::<Vec<_>>()
    };
    let line = |path: &str, total: i64, count: u64| (path.to_owned(), total, count);
    let thread = |name: &str| {
        [
            line(name, 8, 2),
            line(&format!("{name};run"), 8, 2),
            line(
                &format!("(no {})", if name == "shop" { "service" } else { "thread" }),
                2,
                1,
            ),
        ]
    };
    assert_eq!(made("thread")[..3], thread("worker"));
    assert_eq!(made("service")[..3], thread("shop"));
    assert_eq!(
        made("region"),
        [
            line("(no region)", 5, 2),
            line("(no region);run", 5, 2),
            line("eu", 5, 1),
            line("eu;run", 5, 1),
        ]
    );
}

#[test]
fn durations_follow_functions_groups_and_selections() {
    let calls: Vec<Made<'_>> = (0..10)
        .map(|number| {
            let start = number * 100;
            let customer: &[(&str, &str)] = match number {
                0..5 => &[("customer", "a")],
                _ => &[("customer", "b")],
            };
            Made("buy", start, start + number, customer, &[])
        })
        .collect();
    let options = |selection: Option<&str>| TreeOptions {
        durations: true,
        calls: selection.map(|text| Selection {
            filter: text.parse().unwrap(),
            ..Selection::default()
        }),
        ..by("customer")
    };
    let tree = Recorded::of(&[("t", &calls)]).tree(options(None), Order::Nested);
    let groups = top_of_groups(&tree);
    let told = |at: usize, percent| {
        let durations = groups[at].durations.get(groups[at].sum.symbol).unwrap();
        (
            durations.percentile(percent),
            durations.max(),
            durations.count(),
        )
    };
    assert_eq!(told(0, 50), (Some(7), Some(9), 5));
    assert_eq!(told(1, 90), (Some(4), Some(4), 5));
    let functions = crate::Functions::of(tree);
    let buy = functions.rows[0].symbol;
    assert_eq!(
        functions.durations.get(buy).unwrap().percentile(50),
        Some(4)
    );
    for order in [Order::Nested, Order::None] {
        let recorded = Recorded::of(&[("t", &calls)]);
        let tree = recorded.tree(options(Some("$customer=b")), order);
        let functions = crate::Functions::of(tree);
        let buy = functions.durations.get(functions.rows[0].symbol).unwrap();
        assert_eq!((buy.count(), buy.percentile(50)), (5, Some(7)));
    }
}

#[test]
fn durations_of_steps_are_those_of_spans_and_survive_merging() {
    let mut tables = Tables::new();
    let name = tables.string("t");
    let track = tables.track(Track::thread(name));
    let name = tables.string("run");
    let run = tables.function(Function::named(name));
    let definitions = tables.take_definitions();
    let tree = |durations: std::ops::Range<i64>| {
        let mut steps = StepBatch::default();
        steps.track(track);
        for duration in durations {
            steps.enter(duration * 1_000, run);
            steps.exit(duration * 1_000 + duration);
        }
        // What never ended has no duration.
        steps.enter(1_000_000_000, run);
        let mut builder = TreeBuilder::new(TreeOptions {
            durations: true,
            ..TreeOptions::default()
        });
        let _ = builder.define(definitions.clone());
        let _ = builder.steps(steps);
        builder.finish().spans.unwrap()
    };
    let mut all = tree(1..61);
    all.merge(&tree(61..101));
    assert_eq!(all.nodes[0].count, 102);
    assert_eq!(all.durations[0].count(), 100);
    assert_eq!(all.durations[0].percentile(95), Some(95));
    let hidden = all.select(&crate::FrameFilter {
        focus: Some(Box::new(|symbol| symbol.name == "run")),
        ..crate::FrameFilter::default()
    });
    assert_eq!(hidden.durations, all.durations);
    assert_eq!(bottom_up(&all).durations[0].percentile(99), Some(99));
}
