use super::*;
use crate::flame::Compared;
use crate::made::MadeName;
use crate::{TreeBuilder, TreeOptions};
use traceloom_model::{
    Function, Profile, SampleBatch, SampleRow, Sink, Spot, StepBatch, Tables, Track, Unit,
    ValueType,
};

/// A trace of calls `outer(inner)`, each with its own duration, and of a lambda in some of them.
fn traced(names: [&str; 3], calls: &[(i64, i64)]) -> CallTree {
    let mut tables = Tables::new();
    let functions = names.map(|name| {
        let name = tables.string(name);
        tables.function(Function::named(name))
    });
    let thread = tables.string("main");
    let mut steps = StepBatch::default();
    steps.track(tables.track(Track::thread(thread)));
    let mut now = 0;
    for &(own, inner) in calls {
        steps.enter(now, functions[0]);
        steps.enter(now + own, functions[1]);
        steps.exit(now + own + inner);
        steps.exit(now + own + inner);
        now += own + inner + 5;
    }
    let mut builder = TreeBuilder::new(TreeOptions::default());
    let _ = builder.define(tables.take_definitions());
    let _ = builder.steps(steps);
    builder.finish().spans.unwrap()
}

fn sampled(counts: &[(&str, u64)]) -> CallTree {
    let mut made = MadeName::default();
    let cpu = made.tables.string("cpu");
    let value_type = made.tables.value_type(ValueType::sum(cpu, Unit::Count));
    let profile = made.tables.profile(Profile {
        value_types: vec![value_type],
        ..Profile::default()
    });
    let mut batch = SampleBatch::new(profile, 1);
    for &(name, count) in counts {
        let stack = made.stack(&[name]);
        for _ in 0..count {
            batch.push(&SampleRow::at(stack, &[1]));
        }
    }
    let mut builder = TreeBuilder::new(TreeOptions::default());
    let _ = builder.define(made.tables.take_definitions());
    let _ = builder.samples(batch);
    builder.finish().samples.remove(0)
}

const OLD: [&str; 3] = ["com.acme.Shop.buy(int)", "com/acme/Shop$$Lambda$7.run", "x"];
const NEW: [&str; 3] = [
    "void com.acme.Shop.buy(long) (Shop.java:9) [shop.jar]",
    "com.acme.Shop$$Lambda$31.run",
    "x",
];

#[test]
fn functions_are_found_again_under_other_names() {
    let before = traced(OLD, &[(10, 40), (10, 40)]);
    let after = traced(NEW, &[(30, 40), (30, 40), (30, 40)]);
    let diff = Diff::new(
        Recorded::tree(&before),
        Recorded::tree(&after),
        Per::Recording,
    )
    .unwrap();
    let rows: Vec<_> = diff
        .rows
        .iter()
        .map(|row| {
            let name = diff.symbol(row.symbol).unwrap().name.as_str();
            (
                name,
                row.before.own,
                row.after.own,
                row.before.total,
                row.after.total,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [(NEW[0], 20, 90, 100, 210), (NEW[1], 80, 120, 80, 120)]
    );
    assert_eq!(diff.rows[0].own_chance, None, "calls are exact");
    assert_eq!(diff.counterparts(false), [Some((100, 20)), Some((80, 80))]);
    assert_eq!(diff.counterparts(true), [Some((210, 90)), Some((120, 120))]);
}

#[test]
fn values_are_divided_as_asked() {
    let before = traced(OLD, &[(10, 40), (10, 40)]);
    let after = traced(OLD, &[(10, 40), (10, 40), (10, 40), (10, 40)]);
    let change = |per| {
        let timed = |tree, seconds| Recorded {
            seconds: Some(seconds),
            ..Recorded::tree(tree)
        };
        let diff = Diff::new(timed(&before, 1.0), timed(&after, 2.0), per).unwrap();
        let row = diff.rows.iter().find(|row| row.after.own == 40).unwrap();
        diff.percent(row.before.own, row.after.own)
    };
    assert_eq!(change(Per::Recording), Some(100.0));
    assert_eq!(change(Per::Second), Some(0.0));
    assert_eq!(change(Per::Call), Some(0.0));
    assert_eq!(change(Per::Total), Some(0.0));
    let unknown = Diff::new(Recorded::tree(&before), Recorded::tree(&after), Per::Second);
    assert_eq!(unknown.err(), Some(DiffError::NoDuration));
}

#[test]
fn pictures_show_growth_by_its_share() {
    let before = traced(OLD, &[(10, 40), (10, 40)]);
    let after = traced(NEW, &[(30, 38)]);
    let diff = Diff::new(Recorded::tree(&before), Recorded::tree(&after), Per::Call).unwrap();
    let changes = diff.changes(false);
    let shown: Vec<_> = changes
        .iter()
        .map(|change| (change.total, change.own))
        .collect();
    assert_eq!(shown, [(50, 10), (40, 40)], "as of one call");
    let mirrored = Compared::new(&diff, true);
    assert_eq!(mirrored.changes[0].total, 136);
    let compared = Compared::new(&diff, false);
    let picture = crate::flame::Picture {
        title: "diff",
        changes: Some(&compared),
        ..Default::default()
    };
    // The change that is told is the one that is coloured: of own values, in percent of all before.
    let svg = crate::flame::svg(&diff.after.tree, &picture);
    assert!(
        svg.contains("before 50 ns, self 10 ns; change of self +20 ns, +40.00 % of all before")
    );
    assert!(svg.contains("before 40 ns, self 40 ns; change of self -2 ns, -4.00 % of all before"));
    assert!(svg.contains("<rect class=\"d6\"") && svg.contains("<rect class=\"d0\""));
    assert!(svg.contains("slower: self, by 0.1, 0.5, 2 % of all before"));
    assert!(svg.contains("2 calls before, 1 after"), "{svg}");
    let html = crate::flame::html(std::slice::from_ref(&diff.after.tree), &picture);
    assert!(html.contains("\"was\":\"kDwC\""));
    assert!(html.contains("\"whole\":50"));
}

#[test]
fn a_finding_says_what_may_be_chance() {
    let finding = |before, after| {
        let (before, after) = (sampled(&[("a", before)]), sampled(&[("a", after)]));
        Diff::new(
            Recorded::tree(&before),
            Recorded::tree(&after),
            Per::Recording,
        )
        .unwrap()
        .finding()
    };
    let said = |before, after| finding(before, after).unwrap();
    assert!(
        said(1_000, 1_050).ends_with("5.0 % more: may be chance"),
        "{}",
        said(1_000, 1_050)
    );
    assert!(said(1_000, 1_200).ends_with("20.0 % more"));
    assert!(said(1_000, 4_000).ends_with("4.0 times as much"));
    assert_eq!(finding(99, 1_000), None);
}

#[test]
fn few_samples_say_little() {
    let before = sampled(&[("a", 100), ("b", 3)]);
    let after = sampled(&[("a", 200), ("b", 5)]);
    let diff = Diff::new(
        Recorded::tree(&before),
        Recorded::tree(&after),
        Per::Recording,
    )
    .unwrap();
    let chance = |name: &str| {
        let row = diff
            .rows
            .iter()
            .find(|row| diff.symbol(row.symbol).unwrap().name == name);
        row.unwrap().own_chance.unwrap()
    };
    assert!(chance("a") < 0.001, "{}", chance("a"));
    assert!(chance("b") > 0.5, "{}", chance("b"));
}

#[test]
fn budgets_are_checked() {
    let before = traced(OLD, &[(10, 40), (10, 40)]);
    let after = traced(NEW, &[(12, 40), (12, 40)]);
    let diff = Diff::new(
        Recorded::tree(&before),
        Recorded::tree(&after),
        Per::Recording,
    )
    .unwrap();
    let met = |text: &str| text.parse::<Budget>().unwrap().check(&diff).unwrap().met;
    for yes in [
        "self(com.acme.Shop.buy) > +10%",
        "self(com.acme.Shop.buy) >= +20%",
        "self(com.acme.Shop.buy)>+3ns",
        "self(com.acme.Shop.buy) > 23ns",
        "total > +3%",
        "total >= 104",
        "calls(com.acme.Shop.buy) <= +0%",
        "total(com.acme.Shop$$Lambda$99.run) < +1%",
    ] {
        assert!(met(yes), "{yes}");
    }
    for no in [
        "self(com.acme.Shop.buy) > +20%",
        "total(com.acme.Shop.buy) > +5ms",
        "total < -1%",
        "calls(com.acme.Shop.buy) > 2",
    ] {
        assert!(!met(no), "{no}");
    }
    let verdict = "self(com.acme.Shop.buy) > +10%"
        .parse::<Budget>()
        .unwrap()
        .check(&diff)
        .unwrap();
    assert_eq!(verdict.text, "20 ns before, 24 ns after, +20.0 %");
    let missing = "self(com.acme.Till.buy) > +1%"
        .parse::<Budget>()
        .unwrap()
        .check(&diff);
    assert!(
        missing
            .unwrap_err()
            .message
            .contains("did you mean com.acme.Shop.buy?")
    );
}

#[test]
fn what_is_no_budget() {
    for (text, message) in [
        ("self(a)", "a comparison"),
        ("own(a) > +1%", "expected self(FUNCTION)"),
        ("self() > +1%", "the name of a function"),
        ("self(a) > 10%", "write +10%"),
        ("self(a) > fast", "expected a limit"),
        ("self(a) > +5 parsecs", "expected a limit"),
    ] {
        let error = text.parse::<Budget>().unwrap_err();
        assert!(error.message.contains(message), "{text}: {error}");
    }
    assert!(
        "self(java.util.List<A>.get) > +1%"
            .parse::<Budget>()
            .is_ok()
    );
}

#[test]
fn functions_named_alike_count_once_in_a_sample() {
    let build = |functions: bool| {
        let mut tables = Tables::new();
        let cpu = tables.string("cpu");
        let cpu = tables.value_type(ValueType::sum(cpu, Unit::Count));
        let profile = tables.profile(Profile {
            value_types: vec![cpu],
            ..Profile::default()
        });
        // One lambda under another number calls itself.
        let frames = ["main", "Shop$$Lambda$7.run", "Shop$$Lambda$19.run"].map(|name| {
            let name = tables.string(name);
            let function = tables.function(Function::named(name));
            tables.frame(traceloom_model::Frame {
                function: Some(function),
                ..traceloom_model::Frame::default()
            })
        });
        let mut builder = TreeBuilder::new(TreeOptions {
            functions,
            alike: functions,
            ..TreeOptions::default()
        });
        if functions {
            let mut paths = traceloom_model::PathBatch::new(profile, 1);
            for frame in frames.into_iter().rev() {
                paths.tell(frame.raw(), [Spot::Frame(frame)]);
                paths.push_site(frame.raw());
            }
            paths.push(&[4]);
            let _ = builder.define(tables.take_definitions());
            let _ = builder.paths(paths);
        } else {
            let mut stack = None;
            for frame in frames {
                stack = Some(tables.stack(traceloom_model::Stack {
                    parent: stack,
                    frame,
                    truncated: false,
                }));
            }
            let mut samples = SampleBatch::new(profile, 1);
            samples.push(&SampleRow {
                stack,
                values: &[4],
                time: None,
                track: None,
                span: None,
                labels: &[],
            });
            let _ = builder.define(tables.take_definitions());
            let _ = builder.samples(samples);
        }
        builder
    };
    let trees = build(false).finish();
    let [tables, _] = build(true).finish_functions();
    let tree = Recorded::tree(&trees.samples[0]);
    let bare = CallTree {
        total: tables[0].total,
        whole: tables[0].whole,
        ..CallTree::empty(tables[0].measure.clone())
    };
    let table = Recorded {
        functions: Some(&tables[0]),
        ..Recorded::tree(&bare)
    };
    let rows = |recorded| Diff::new(recorded, recorded, Per::Recording).unwrap().rows;
    let told = |rows: Vec<DiffRow>| rows.iter().map(|row| row.after).collect::<Vec<_>>();
    assert_eq!(told(rows(table)), told(rows(tree)));
    let both = Diff::new(tree, table, Per::Recording).unwrap();
    assert_eq!(both.rows.len(), 2);
    assert!(
        both.rows.iter().all(|row| row.before == row.after),
        "{:?}",
        both.rows
    );
    assert_eq!(both.rows[0].after.total, 4);
    assert_eq!(both.before.calls, both.after.calls);
}
