use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use traceloom_model::{
    Attribute, Clock, Frame, Function, FunctionId, Merge, Order, PathBatch, Profile, SampleBatch,
    SampleRow, Scope, Sink, SpanBatch, SpanRow, SpanStatus, Spot, Stack, StepBatch, Tables, Track,
    TrackId, TrackKind, Unit, Value, ValueType,
};

use super::*;
use crate::filter::Selection;
use crate::{Functions, TopRow, bottom_up, top};

/// A recording of nested calls on two tracks, as steps and as spans.
#[derive(Debug, Default)]
struct Nested {
    tables: Tables,
    steps: StepBatch,
    /// Rows of the calls, for the batch after the steps.
    calls: SpanBatch,
    spans: SpanBatch,
}

fn names(tables: &mut Tables, count: usize) -> Vec<FunctionId> {
    (0..count)
        .map(|number| {
            let name = tables.string(&format!("com.acme.F{number}.run"));
            tables.function(Function::named(name))
        })
        .collect()
}

fn thread(tables: &mut Tables, name: &str, kind: TrackKind) -> TrackId {
    let name = tables.string(name);
    tables.track(Track {
        kind,
        ..Track::thread(name)
    })
}

impl Nested {
    /// Each move enters one of five functions or leaves; what is open at the end is left.
    fn of(moves: &[(bool, u8, u16)]) -> Self {
        let mut all = Self::default();
        let functions = names(&mut all.tables, 5);
        let title = all.tables.attribute_named("profiler.title");
        for (number, half) in moves.chunks(moves.len() / 2 + 1).enumerate() {
            let track = thread(&mut all.tables, &format!("t{number}"), TrackKind::Thread);
            all.steps.track(track);
            let mut time = 1_000;
            let mut open = Vec::new();
            let leaves = std::iter::repeat_n((false, 0, 1), half.len());
            for (enter, function, gap) in half.iter().copied().chain(leaves) {
                time += i64::from(gap);
                if enter {
                    let function = functions[usize::from(function) % 5];
                    all.steps.enter(time, function);
                    open.push((all.tables.reserve_span(), function, time));
                    continue;
                }
                let Some((id, function, start)) = open.pop() else {
                    continue;
                };
                let step = u32::try_from(all.steps.len()).unwrap();
                all.steps.exit(time);
                let parent = open.last().map(|&(id, ..)| id);
                let text = all.tables.string(&format!("call {}", id.0 % 3));
                let attributes = [Attribute::new(title, Value::Text(text))];
                let row = SpanRow {
                    parent,
                    depth: u32::try_from(open.len()).unwrap(),
                    entry: parent.is_none(),
                    attributes: if parent.is_none() { &attributes } else { &[] },
                    ..SpanRow::call(id, track, function, start, time)
                };
                all.spans.push(&row);
                if parent.is_none() {
                    let number = u32::try_from(all.calls.len()).unwrap();
                    all.steps.calls.push((step, number));
                    all.calls.push(&row);
                }
            }
        }
        all
    }

    /// Gives the second function the name of the first, which has another signature.
    fn with_an_overload(mut self) -> Self {
        let mut tables = Tables::new();
        let [first, second] = ["", "(I)V"].map(|signature| Function {
            signature: Some(tables.string(signature)),
            ..Function::named(tables.string("com.acme.F0.run"))
        });
        let [of_first, of_second] = [first, second].map(|row| tables.function(row));
        for function in self.steps.function.iter_mut().flatten() {
            *function = match function.raw() {
                0 => of_first,
                _ => of_second,
            };
        }
        self.tables = tables;
        self
    }

    /// Pushes the steps a few at a time, one track after the other, and asks for functions alone.
    fn functions_of_few_steps(mut self) -> Functions {
        let mut builder = TreeBuilder::new(TreeOptions {
            functions: true,
            ..TreeOptions::default()
        });
        let _ = builder.define(self.tables.take_definitions());
        let _ = builder.steps(StepBatch::default());
        let runs: Vec<_> = self.steps.runs().collect();
        for few in 0..self.steps.len().div_ceil(7) {
            for (track, steps) in &runs {
                let mut batch = StepBatch::default();
                batch.track(*track);
                for step in steps.clone().skip(few * 7).take(7) {
                    batch.time.push(self.steps.time[step]);
                    batch.function.push(self.steps.function[step]);
                }
                let _ = builder.steps(batch);
            }
        }
        let [functions, _] = builder.finish_functions();
        functions.into_iter().next().unwrap()
    }

    fn tree_of_steps(mut self, options: TreeOptions) -> CallTree {
        let mut builder = TreeBuilder::new(options);
        let _ = builder.define(self.tables.take_definitions());
        let _ = builder.steps(self.steps);
        let _ = builder.spans(self.calls);
        builder.finish().spans.unwrap()
    }

    /// Pushes the spans a few at a time, so that a tree is thinned more than once.
    fn tree_of_few_spans(mut self, options: TreeOptions) -> CallTree {
        let mut builder = TreeBuilder::new(options);
        builder.begin(Order::Nested, Clock::Unix);
        let _ = builder.define(self.tables.take_definitions());
        let _ = builder.spans(SpanBatch::default());
        let rows: Vec<_> = self.spans.iter().collect();
        for few in rows.chunks(7) {
            let mut batch = SpanBatch::default();
            few.iter().for_each(|row| batch.push(row));
            let _ = builder.spans(batch);
        }
        builder.finish().spans.unwrap()
    }

    fn tree_of_spans(mut self, options: TreeOptions, order: Order, rotate: usize) -> CallTree {
        // Selecting needs names at once; a tree can wait for them.
        let late = options.calls.is_none();
        let mut builder = TreeBuilder::new(options);
        builder.begin(order, Clock::Unix);
        let mut batch = SpanBatch::default();
        let rows = self.spans.len();
        for row in 0..rows {
            // 7919 is prime to every length here: all rows, in an order unlike any.
            let row = if rotate == 0 {
                row
            } else {
                (row * 7919 + rotate) % rows
            };
            batch.push(&self.spans.row(row).unwrap());
        }
        let definitions = self.tables.take_definitions();
        if late {
            let _ = builder.spans(batch);
            let _ = builder.define(definitions);
        } else {
            let _ = builder.define(definitions);
            let _ = builder.spans(batch);
        }
        builder.finish().spans.unwrap()
    }
}

fn moves() -> impl Strategy<Value = Vec<(bool, u8, u16)>> {
    prop::collection::vec((any::<bool>(), 0..5_u8, 0..50_u16), 2..200)
}

fn selection(filter: &str, min_duration: u64) -> TreeOptions {
    TreeOptions {
        calls: Some(Selection {
            filter: filter.parse().unwrap(),
            min_duration,
            errors: false,
        }),
        ..TreeOptions::default()
    }
}

/// Rows as name, own, total, count: symbol numbers differ with the order of reading.
fn rows(tree: &CallTree) -> Vec<(String, i64, i64, u64)> {
    let named = |row: &crate::TopRow| {
        let name = tree.symbol(row.symbol).name.clone();
        (name, row.own, row.total, row.count)
    };
    top(tree).iter().map(named).collect()
}

fn paths(tree: &CallTree) -> Vec<(u32, String, i64, i64, u64, u64)> {
    let shown = |node: &Node| {
        let name = tree.symbol(node.symbol).name.clone();
        (
            node.depth,
            name,
            node.total,
            node.own,
            node.count,
            node.partial,
        )
    };
    tree.nodes.iter().map(shown).collect()
}

fn check_shape(tree: &CallTree) {
    let mut roots = 0;
    for (number, node) in tree.nodes.iter().enumerate() {
        let number = u32::try_from(number).unwrap();
        let below: i64 = tree
            .children(number)
            .map(|c| tree.nodes[c as usize].total)
            .sum();
        assert_eq!(node.total, node.own + below, "node {number}");
        assert!(node.own >= 0);
        assert!(node.end > number && node.end as usize <= tree.nodes.len());
        for child in tree.children(number) {
            assert_eq!(tree.nodes[child as usize].parent, Some(number));
        }
        if node.parent.is_none() {
            roots += node.total;
        }
    }
    assert_eq!(roots, tree.total);
    assert_eq!(
        tree.roots()
            .map(|r| tree.nodes[r as usize].total)
            .sum::<i64>(),
        tree.total
    );
}

proptest! {
    #[test]
    fn steps_and_spans_in_any_order_give_one_tree(moves in moves()) {
        let steps = Nested::of(&moves).tree_of_steps(TreeOptions::default());
        check_shape(&steps);
        let nested = Nested::of(&moves).tree_of_spans(TreeOptions::default(), Order::Nested, 0);
        prop_assert_eq!(paths(&steps), paths(&nested));
        for rotate in [1, 3] {
            let any = Nested::of(&moves).tree_of_spans(TreeOptions::default(), Order::None, rotate);
            prop_assert_eq!(paths(&steps), paths(&any));
        }
        let lanes = TreeOptions { lanes: true, ..TreeOptions::default() };
        let across = Nested::of(&moves).tree_of_spans(lanes, Order::Finish, 0);
        prop_assert_eq!(paths(&steps), paths(&across));
    }

    #[test]
    fn steps_make_the_same_functions_without_a_tree(moves in moves(), cut in 0..20_usize) {
        for overload in [false, true] {
            let made = || {
                let mut made = Nested::of(&moves);
                // The last calls never end.
                made.steps.time.truncate(made.steps.len().saturating_sub(cut));
                made.steps.function.truncate(made.steps.time.len());
                made.steps.tracks.retain(|&(first, _)| (first as usize) < made.steps.time.len());
                made.steps.calls.clear();
                made.calls = SpanBatch::default();
                if overload { made.with_an_overload() } else { made }
            };
            let tree = made().tree_of_steps(TreeOptions::default());
            let told = made().functions_of_few_steps();
            let tree = Functions::of(tree);
            let rows = |all: &Functions| {
                let mut rows: Vec<_> = all.rows.iter().map(|row| {
                    let name = all.symbols.get(row.symbol).unwrap().name.clone();
                    (name, row.own, row.total, row.count, row.partial)
                }).collect();
                rows.sort();
                rows
            };
            prop_assert_eq!(rows(&told), rows(&tree));
            prop_assert_eq!((told.total, told.entries, told.whole), (tree.total, tree.entries, tree.whole));
        }
    }

    #[test]
    fn a_thinned_tree_has_the_same_functions(moves in moves()) {
        let options = |most| TreeOptions { most, ..TreeOptions::default() };
        let whole = Nested::of(&moves).tree_of_few_spans(options(0));
        let thinned = Nested::of(&moves).tree_of_few_spans(options(12));
        prop_assert_eq!(rows(&thinned), rows(&whole));
        prop_assert_eq!(thinned.total, whole.total);
        prop_assert!(whole.rest.is_empty());
        prop_assert!(thinned.nodes.len() <= whole.nodes.len());
        let own = |tree: &CallTree| -> i64 { tree.nodes.iter().map(|node| node.own).sum() };
        let rest: i64 = thinned.rest.iter().map(|row| row.own).sum();
        prop_assert_eq!(own(&thinned) + rest, own(&whole));
        let mut twice = thinned.clone();
        twice.merge(&thinned);
        let doubled = rows(&whole).into_iter().map(|(name, own, total, count)| (name, 2 * own, 2 * total, 2 * count));
        prop_assert_eq!(rows(&twice), doubled.collect::<Vec<_>>());
    }

    #[test]
    fn a_thinned_sum_of_trees_has_the_same_functions(moves in moves(), other in moves()) {
        let tree = |moves| Nested::of(moves).tree_of_steps(TreeOptions::default());
        let mut whole = tree(&moves);
        whole.merge(&tree(&other));
        let mut thinned = whole.clone();
        thinned.thin(8);
        for (number, node) in (0..).zip(&thinned.nodes) {
            let children: Vec<_> = thinned.children(number).map(|child| &thinned.nodes[child as usize]).collect();
            prop_assert!(children.iter().all(|child| child.parent == Some(number)));
            prop_assert!(node.own + children.iter().map(|child| child.total).sum::<i64>() <= node.total);
            prop_assert!(node.end > number && node.end as usize <= thinned.nodes.len());
        }
        prop_assert_eq!(rows(&thinned), rows(&whole));
        let n_roots = whole.nodes.iter().filter(|node| node.depth == 0).count();
        let most = if whole.nodes.len() > 8 { n_roots + 4 } else { 8 };
        prop_assert!(thinned.nodes.len() <= most);
        let all = paths(&whole);
        for path in paths(&thinned) {
            prop_assert!(all.contains(&path));
        }
        let one_by_one = [&other, &moves, &other].into_iter().fold(whole.clone(), |mut sum, moves| {
            sum.merge(&tree(moves));
            sum
        });
        let [sum, thinned_sum] = [TreesSum::new(), TreesSum::thinned(8)].map(|mut sum| {
            for moves in [&moves, &other, &other, &moves, &other] {
                sum.push(Trees { spans: Some(tree(moves)), ..Trees::default() });
            }
            sum.finish().spans.unwrap()
        });
        let mut alone = TreesSum::thinned(8);
        alone.push(Trees { spans: Some(whole.clone()), ..Trees::default() });
        prop_assert_eq!(alone.finish().spans, Some(whole.clone()));
        prop_assert_eq!(paths(&sum), paths(&one_by_one));
        prop_assert_eq!(&sum.symbols, &one_by_one.symbols);
        prop_assert_eq!(rows(&thinned_sum), rows(&one_by_one));
        prop_assert_eq!(thinned_sum.total, one_by_one.total);
        thinned.merge(&whole);
        let doubled = rows(&whole).into_iter().map(|(name, own, total, count)| (name, 2 * own, 2 * total, 2 * count));
        prop_assert_eq!(rows(&thinned), doubled.collect::<Vec<_>>());
    }

    #[test]
    fn selected_calls_come_whole(moves in moves(), least in 0..200_u64) {
        let steps = Nested::of(&moves).tree_of_steps(selection("'call 1'", least));
        check_shape(&steps);
        let spans = Nested::of(&moves).tree_of_spans(selection("'call 1'", least), Order::Nested, 0);
        prop_assert_eq!(paths(&steps), paths(&spans));
        let mixed = Nested::of(&moves).tree_of_spans(selection("'call 1'", least), Order::None, 1);
        prop_assert_eq!(paths(&steps), paths(&mixed));
        // What two filters select apart adds up to what they select together.
        let other = Nested::of(&moves).tree_of_steps(selection("-'call 1'", 0));
        let mut both = Nested::of(&moves).tree_of_steps(selection("'call 1'", 0));
        both.merge(&other);
        let all = Nested::of(&moves).tree_of_steps(TreeOptions::default());
        prop_assert_eq!(paths(&both), paths(&all));
    }

    #[test]
    fn top_down_and_bottom_up_agree(moves in moves()) {
        let tree = Nested::of(&moves).tree_of_steps(TreeOptions::default());
        let table = rows(&tree);
        prop_assert_eq!(table.iter().map(|row| row.1).sum::<i64>(), tree.total);
        let upside = bottom_up(&tree);
        prop_assert_eq!(upside.total, tree.total);
        for root in upside.roots() {
            let node = &upside.nodes[root as usize];
            let name = &upside.symbol(node.symbol).name;
            let row = table.iter().find(|row| row.0 == *name).unwrap();
            prop_assert_eq!((node.total, node.count), (row.1, row.3));
        }
        // The outermost occurrences, found the slow way.
        for (name, _, total, count) in &table {
            let mut outermost = 0;
            let mut calls = 0;
            for node in tree.nodes.iter().filter(|n| tree.symbol(n.symbol).name == *name) {
                calls += node.count;
                let mut above = node.parent;
                let mut inner = false;
                while let Some(number) = above {
                    inner |= tree.nodes[number as usize].symbol == node.symbol;
                    above = tree.nodes[number as usize].parent;
                }
                outermost += if inner { 0 } else { node.total };
            }
            prop_assert_eq!((outermost, calls), (*total, *count));
        }
    }

    #[test]
    fn frame_filters_keep_sums(moves in moves()) {
        let tree = Nested::of(&moves).tree_of_steps(TreeOptions::default());
        let with = |wanted: &'static str| -> Predicate<'static> {
            Box::new(move |symbol: &Symbol| symbol.name.contains(wanted))
        };
        let focused = tree.select(&FrameFilter { focus: Some(with("F1")), ..FrameFilter::default() });
        let ignored = tree.select(&FrameFilter { ignore: Some(with("F1")), ..FrameFilter::default() });
        check_shape(&focused);
        check_shape(&ignored);
        prop_assert_eq!(focused.total + ignored.total, tree.total);
        prop_assert!(rows(&ignored).iter().all(|row| !row.0.contains("F1")));
        let hidden = tree.select(&FrameFilter { hide: Some(with("F1")), ..FrameFilter::default() });
        check_shape(&hidden);
        // Only what began in a hidden function with nobody above it is gone.
        let mut gone = 0;
        for node in &tree.nodes {
            let mut path = vec![node.symbol];
            let mut above = node.parent;
            while let Some(number) = above {
                path.push(tree.nodes[number as usize].symbol);
                above = tree.nodes[number as usize].parent;
            }
            if path.iter().all(|s| tree.symbol(*s).name.contains("F1")) {
                gone += node.own;
            }
        }
        prop_assert_eq!(hidden.total, tree.total - gone);
    }
}

#[test]
fn a_tree_of_many_paths_holds_the_widest() {
    // All paths of five functions, five deep: the first function takes the most.
    let mut moves = Vec::new();
    for path in 0..5_u32.pow(5) {
        let functions = (0..5).map(|place| u8::try_from(path / 5_u32.pow(place) % 5).unwrap());
        moves.extend(functions.clone().map(|function| (true, function, 1)));
        moves.extend(
            functions
                .rev()
                .map(|function| (false, 0, u16::from(5 - function))),
        );
    }
    let options = |most| TreeOptions {
        most,
        ..TreeOptions::default()
    };
    let whole = Nested::of(&moves).tree_of_few_spans(options(0));
    let thinned = Nested::of(&moves).tree_of_few_spans(options(500));
    assert!(whole.nodes.len() > 3_000);
    assert!(thinned.nodes.len() <= 500, "{}", thinned.nodes.len());
    assert!(thinned.nodes.len() > 100, "{}", thinned.nodes.len());
    assert_eq!(rows(&thinned), rows(&whole));
    assert_eq!(thinned.total, whole.total);
}

#[test]
fn recursion_counts_its_outermost_call() {
    // F0 (0..100) calls F1 (10..90) calls F0 (20..60).
    let moves = [
        (true, 0, 0),
        (true, 1, 10),
        (true, 0, 10),
        (false, 0, 40),
        (false, 0, 30),
        (false, 0, 10),
    ];
    let mut padded = moves.to_vec();
    padded.extend([(false, 0, 0); 7]);
    let tree = Nested::of(&padded).tree_of_steps(TreeOptions::default());
    assert_eq!(
        rows(&tree),
        [
            ("com.acme.F0.run".to_owned(), 60, 100, 2),
            ("com.acme.F1.run".to_owned(), 40, 80, 1),
        ]
    );
    assert_eq!(tree.percent(60), Some(60.0));
}

#[test]
fn overlapping_children_never_make_own_time_negative() {
    let mut tables = Tables::new();
    let functions = names(&mut tables, 2);
    let track = thread(&mut tables, "t", TrackKind::Thread);
    let parent = tables.reserve_span();
    let mut spans = SpanBatch::default();
    for (start, end) in [(0, 60), (20, 80), (70, 130)] {
        spans.push(&SpanRow {
            parent: Some(parent),
            ..SpanRow::call(tables.reserve_span(), track, functions[1], start, end)
        });
    }
    spans.push(&SpanRow::call(parent, track, functions[0], 0, 100));
    let mut builder = TreeBuilder::new(TreeOptions::default());
    builder.begin(Order::Finish, Clock::Unix);
    let _ = builder.define(tables.take_definitions());
    let _ = builder.spans(spans);
    let tree = builder.finish().spans.unwrap();
    assert_eq!(
        rows(&tree),
        [
            ("com.acme.F1.run".to_owned(), 180, 180, 3),
            ("com.acme.F0.run".to_owned(), 0, 100, 1),
        ]
    );
    assert_eq!(tree.total, 100, "roots are the whole");
}

#[test]
fn lanes_and_other_threads_count_on_request() {
    let build = |lanes: bool| {
        let mut tables = Tables::new();
        let functions = names(&mut tables, 3);
        let main = thread(&mut tables, "main", TrackKind::Thread);
        let other = thread(&mut tables, "other", TrackKind::Thread);
        let lane = thread(&mut tables, "lane", TrackKind::Async);
        let root = tables.reserve_span();
        let mut spans = SpanBatch::default();
        for (track, function, start, end) in [(other, 1, 10, 30), (lane, 2, 40, 90)] {
            spans.push(&SpanRow {
                parent: Some(root),
                ..SpanRow::call(
                    tables.reserve_span(),
                    track,
                    functions[function],
                    start,
                    end,
                )
            });
        }
        spans.push(&SpanRow::call(root, main, functions[0], 0, 100));
        let options = TreeOptions {
            lanes,
            ..TreeOptions::default()
        };
        let mut builder = TreeBuilder::new(options);
        builder.begin(Order::Finish, Clock::Unix);
        let _ = builder.define(tables.take_definitions());
        let _ = builder.spans(spans);
        builder.finish().spans.unwrap()
    };
    let name = |number: u32| format!("com.acme.F{number}.run");
    assert_eq!(
        paths(&build(false)),
        [(0, name(0), 100, 100, 1, 0), (0, name(1), 20, 20, 1, 0)]
    );
    assert_eq!(
        paths(&build(true)),
        [
            (0, name(0), 100, 30, 1, 0),
            (1, name(2), 50, 50, 1, 0),
            (1, name(1), 20, 20, 1, 0)
        ]
    );
}

#[test]
fn open_steps_end_partial_at_the_last_time() {
    let mut tables = Tables::new();
    let functions = names(&mut tables, 2);
    let mut steps = StepBatch::default();
    steps.track(thread(&mut tables, "t", TrackKind::Thread));
    steps.exit(5);
    steps.enter(10, functions[0]);
    steps.enter(20, functions[1]);
    steps.exit(50);
    let mut builder = TreeBuilder::new(TreeOptions::default());
    let _ = builder.define(tables.take_definitions());
    let _ = builder.steps(steps);
    let tree = builder.finish().spans.unwrap();
    assert_eq!(
        paths(&tree),
        [
            (0, "com.acme.F0.run".into(), 40, 10, 1, 1),
            (1, "com.acme.F1.run".into(), 30, 30, 1, 0)
        ]
    );
}

#[test]
fn partial_spans_and_orphans_are_roots() {
    let mut tables = Tables::new();
    let functions = names(&mut tables, 1);
    let track = thread(&mut tables, "t", TrackKind::Thread);
    let mut spans = SpanBatch::default();
    let missing = tables.reserve_span();
    spans.push(&SpanRow {
        parent: Some(missing),
        status: SpanStatus::PartialEnd,
        ..SpanRow::call(tables.reserve_span(), track, functions[0], 5, 9)
    });
    let mut builder = TreeBuilder::new(TreeOptions::default());
    let _ = builder.spans(spans);
    let tree = builder.finish().spans.unwrap();
    assert_eq!(paths(&tree), [(0, "#0".into(), 4, 4, 1, 1)]);
}

#[test]
fn a_circle_of_parents_ends() {
    let mut tables = Tables::new();
    let functions = names(&mut tables, 1);
    let track = thread(&mut tables, "t", TrackKind::Thread);
    let (a, b) = (tables.reserve_span(), tables.reserve_span());
    let mut spans = SpanBatch::default();
    for (id, parent) in [(a, b), (b, a)] {
        spans.push(&SpanRow {
            parent: Some(parent),
            ..SpanRow::call(id, track, functions[0], 0, 10)
        });
    }
    let mut builder = TreeBuilder::new(TreeOptions::default());
    builder.begin(Order::None, Clock::Unix);
    let _ = builder.spans(spans);
    let tree = builder.finish().spans.unwrap();
    assert_eq!(rows(&tree)[0].3, 2);
}

#[test]
fn two_hundred_thousand_levels_need_no_stack() {
    let mut tables = Tables::new();
    let functions = names(&mut tables, 2);
    let mut steps = StepBatch::default();
    steps.track(thread(&mut tables, "t", TrackKind::Thread));
    for level in 0..200_000_i64 {
        steps.enter(level, functions[usize::from(level % 2 == 1)]);
    }
    let mut builder = TreeBuilder::new(selection("F0", 0));
    let _ = builder.define(tables.take_definitions());
    let _ = builder.steps(steps);
    let mut tree = builder.finish().spans.unwrap();
    assert_eq!((tree.nodes.len(), tree.total), (200_000, 199_999));
    tree.merge(&tree.clone());
    assert_eq!((tree.nodes.len(), tree.total), (200_000, 399_998));
    assert_eq!(top(&tree)[0].count, 200_000);
}

/// Three samples: F0/F1 = 5, F0 = 2, no stack = 1; the column has this merge and scope.
fn sampled(merge: Merge, scope: Scope, early: bool) -> Trees {
    let mut tables = Tables::new();
    let functions = names(&mut tables, 2);
    let cpu = tables.string("cpu");
    let wall = tables.string("wall");
    let columns = vec![
        tables.value_type(ValueType::sum(wall, Unit::Count)),
        tables.value_type(ValueType {
            merge,
            scope,
            ..ValueType::sum(cpu, Unit::Nanoseconds)
        }),
    ];
    let profile = tables.profile(Profile {
        value_types: columns,
        ..Profile::default()
    });
    let mut stack = |parent, function| {
        let frame = tables.frame(Frame::of(function));
        tables.stack(Stack::under(parent, frame))
    };
    let outer = stack(None, functions[0]);
    let inner = stack(Some(outer), functions[1]);
    let mut batch = SampleBatch::new(profile, 2);
    for (stack, value) in [
        (Some(inner), 4),
        (Some(outer), 7),
        (None, 1),
        (Some(inner), 1),
    ] {
        batch.push(&SampleRow {
            stack,
            values: &[100, value],
            time: None,
            track: None,
            span: None,
            labels: &[],
        });
    }
    let mut builder = TreeBuilder::new(TreeOptions::default());
    if early {
        let _ = builder.samples(batch);
        let _ = builder.define(tables.take_definitions());
    } else {
        let _ = builder.define(tables.take_definitions());
        let _ = builder.samples(batch);
    }
    builder.finish()
}

#[test]
fn samples_of_each_kind_of_value() {
    let table = |merge, scope| {
        let trees = sampled(merge, scope, false);
        assert_eq!(trees, sampled(merge, scope, true), "late definitions");
        assert_eq!(trees.spans, None);
        let tree = &trees.samples[0];
        assert_eq!(tree.measure.name, "cpu", "the last column");
        let mut rows = rows(tree);
        rows.sort();
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(_, own, total, count)| (own, total, count))
            .collect();
        (rows, tree.total)
    };
    // (no stack), F0, F1
    assert_eq!(
        table(Merge::Sum, Scope::Own),
        (vec![(1, 1, 1), (7, 12, 1), (5, 5, 2)], 13)
    );
    assert_eq!(
        table(Merge::Sum, Scope::Inclusive),
        (vec![(1, 1, 1), (2, 7, 1), (5, 5, 2)], 8)
    );
    assert_eq!(
        table(Merge::Max, Scope::Own),
        (vec![(1, 1, 1), (7, 7, 1), (4, 4, 2)], 7)
    );
    assert_eq!(
        table(Merge::Min, Scope::Own),
        (vec![(1, 1, 1), (7, 1, 1), (1, 1, 2)], 1)
    );
    assert_eq!(
        table(Merge::Min, Scope::Inclusive),
        (vec![(1, 1, 1), (7, 7, 1), (1, 1, 2)], 1)
    );
}

#[test]
fn samples_select_and_merge() {
    let tree = sampled(Merge::Sum, Scope::Own, false).samples.remove(0);
    let inner = FrameFilter {
        focus: Some(Box::new(|symbol| symbol.name.contains("F1"))),
        ..FrameFilter::default()
    };
    let focused = tree.select(&inner);
    assert_eq!(focused.total, 5);
    assert_eq!(rows(&focused)[1], ("com.acme.F0.run".to_owned(), 0, 5, 0));
    let hide = FrameFilter {
        hide: Some(Box::new(|symbol| symbol.name.contains("F1"))),
        ..FrameFilter::default()
    };
    assert_eq!(
        rows(&tree.select(&hide))[0],
        ("com.acme.F0.run".to_owned(), 12, 12, 3)
    );

    let mut twice = sampled(Merge::Sum, Scope::Own, false);
    twice.merge(sampled(Merge::Sum, Scope::Own, true));
    assert_eq!(twice.samples.len(), 1);
    assert_eq!(twice.samples[0].total, 26);
    let mut least = sampled(Merge::Min, Scope::Own, false);
    least.merge(sampled(Merge::Min, Scope::Own, false));
    assert_eq!(least.samples, sampled_twice_counts(least.samples.clone()));
    assert_eq!(least.samples[0].total, 1);
}

/// Minima of equal halves are those of one half; only counts double.
fn sampled_twice_counts(trees: Vec<CallTree>) -> Vec<CallTree> {
    let mut once = sampled(Merge::Min, Scope::Own, false).samples;
    for node in once.iter_mut().flat_map(|tree| &mut tree.nodes) {
        node.count *= 2;
    }
    assert_eq!(once[0].nodes.len(), trees[0].nodes.len());
    once
}

#[test]
fn the_value_asked_for() {
    let builder = |value: &str| {
        TreeBuilder::new(TreeOptions {
            values: vec![value.to_owned()],
            ..TreeOptions::default()
        })
    };
    assert!(builder("nothing").finish().samples.is_empty());
}

#[test]
fn frames_without_function_are_addresses() {
    let mut tables = Tables::new();
    let file = tables.string("/usr/lib/libz.so");
    let mapping = tables.mapping(traceloom_model::Mapping {
        start: 0x7000,
        limit: 0x9000,
        offset: 0x1000,
        file: Some(file),
        build_id: None,
    });
    let frame = tables.frame(Frame {
        address: Some(0x7123),
        mapping: Some(mapping),
        ..Frame::default()
    });
    let stack = tables.stack(Stack::under(None, frame));
    let name = tables.string("cpu");
    let cpu = tables.value_type(ValueType::sum(name, Unit::Count));
    let profile = tables.profile(Profile {
        value_types: vec![cpu],
        ..Profile::default()
    });
    let mut batch = SampleBatch::new(profile, 1);
    batch.push(&SampleRow::at(stack, &[3]));
    let mut builder = TreeBuilder::new(TreeOptions::default());
    let _ = builder.define(tables.take_definitions());
    let _ = builder.samples(batch);
    let trees = builder.finish();
    assert_eq!(trees.samples[0].symbols[0].name, "libz.so+0x1123");
    assert_eq!(
        trees.samples[0].symbols[0].library.as_deref(),
        Some("/usr/lib/libz.so")
    );
}

proptest! {
    /// Tools write folded stacks sorted: a node that more comes to is not taken out.
    #[test]
    fn a_thinned_tree_of_samples_in_order_of_their_stacks_is_exact(
        mut samples in prop::collection::vec((prop::collection::vec(0_u32..5, 1..6), 1_i64..9), 0..60)
    ) {
        samples.sort();
        let mut tables = Tables::new();
        let functions = names(&mut tables, 5);
        let column = ValueType::sum(tables.string("cpu"), Unit::Count);
        let column = tables.value_type(column);
        let profile = tables.profile(Profile { value_types: vec![column], ..Profile::default() });
        let mut batch = PathBatch::new(profile, 1);
        for (site, function) in (0..).zip(functions) {
            batch.tell(site, [Spot::Function(function)]);
        }
        for (stack, value) in &samples {
            stack.iter().rev().for_each(|&site| batch.push_site(site));
            batch.push(&[*value]);
        }
        let definitions = tables.take_definitions();
        let tree_of = |most| {
            let mut builder = TreeBuilder::new(TreeOptions { most, paths: true, ..TreeOptions::default() });
            let _ = builder.define(definitions.clone());
            let _ = builder.paths(batch.clone());
            builder.finish().samples.pop()
        };
        let totals = |tree: Option<CallTree>| -> BTreeMap<Vec<String>, i64> {
            let mut path = Vec::new();
            let tree = tree.into_iter().flat_map(|tree| paths(&tree));
            let totals = tree.map(|(depth, name, total, ..)| {
                path.truncate(depth as usize);
                path.push(name);
                (path.clone(), total)
            });
            totals.collect()
        };
        let (whole, thinned) = (totals(tree_of(1000)), totals(tree_of(12)));
        for (path, total) in &thinned {
            prop_assert_eq!(whole.get(path), Some(total), "{:?}", path);
        }
    }
}

proptest! {
    /// Functions 0 and 3 have one name; frames of a function differ in their line.
    #[test]
    fn a_table_without_a_tree_is_the_same_table(
        samples in prop::collection::vec((prop::collection::vec((0_usize..4, 0_u32..2), 0..6), -4_i64..9), 0..40)
    ) {
        let mut tables = Tables::new();
        let mut functions = names(&mut tables, 3);
        let name = tables.string("com.acme.F0.run");
        let file = tables.string("Other.java");
        functions.push(tables.function(Function { file: Some(file), ..Function::named(name) }));
        let column = ValueType::sum(tables.string("cpu"), Unit::Count);
        let column = tables.value_type(column);
        let profile = tables.profile(Profile { value_types: vec![column], ..Profile::default() });
        let mut batch = SampleBatch::new(profile, 1);
        let mut paths = PathBatch::new(profile, 1);
        let mut spots = HashMap::new();
        for (frames, value) in &samples {
            let mut frame = |&(function, line): &(usize, u32)| {
                let function = functions.get(function).copied();
                let frame = tables.frame(Frame { function, line, ..Frame::default() });
                let spot = function.filter(|_| line == 0).map_or(Spot::Frame(frame), Spot::Function);
                spots.insert(frame, spot);
                frame
            };
            let frames: Vec<_> = frames.iter().map(&mut frame).collect();
            // Neighbours of a sample as one site, as if the inner one were inlined.
            for site in frames.chunks(3) {
                let number = site.iter().fold(0, |number, frame| number * 50 + frame.raw() + 1);
                paths.tell(number, site.iter().map(|&frame| spots[&frame]));
                paths.push_site(number);
            }
            paths.push(&[*value]);
            let stack = frames.iter().rev().fold(None, |parent, &frame| {
                Some(tables.stack(Stack::under(parent, frame)))
            });
            batch.push(&SampleRow {
                stack, values: &[*value], time: None, track: None, span: None, labels: &[],
            });
        }
        let definitions = tables.take_definitions();
        let tree_of = |most| {
            let mut builder = TreeBuilder::new(TreeOptions { most, paths: most > 0, ..TreeOptions::default() });
            let _ = builder.define(definitions.clone());
            let _ = match most {
                0 => builder.samples(batch.clone()),
                _ => builder.paths(paths.clone()),
            };
            builder.finish().samples
        };
        let [whole, same, thinned] = [0, 10_000, 12].map(tree_of);
        for ((whole, same), thinned) in whole.iter().zip(&same).zip(&thinned) {
            prop_assert_eq!(self::paths(whole), self::paths(same));
            prop_assert!(same.rest.is_empty());
            prop_assert_eq!(rows(whole), rows(thinned));
            prop_assert_eq!((whole.total, whole.whole), (thinned.total, thinned.whole));
            prop_assert!(thinned.nodes.len() <= whole.nodes.len());
            let mut twice = thinned.clone();
            twice.merge(thinned);
            let doubled = rows(whole).into_iter().map(|(name, own, total, count)| (name, 2 * own, 2 * total, 2 * count));
            prop_assert_eq!(rows(&twice), doubled.collect::<Vec<_>>());
            prop_assert_eq!((twice.total, twice.whole), (2 * whole.total, 2 * whole.whole));
            prop_assert_eq!(twice.total, twice.roots().map(|root| twice.nodes[root as usize].total).sum::<i64>());
        }
        prop_assert_eq!(whole.len(), thinned.len());
        let options = || TreeOptions { functions: true, ..TreeOptions::default() };
        let mut trees = TreeBuilder::new(options());
        let _ = trees.define(definitions.clone());
        let _ = trees.samples(batch);
        let mut tables = TreeBuilder::new(options());
        let _ = tables.define(definitions);
        let _ = tables.paths(paths);
        let [of_trees, _] = trees.finish_functions();
        let [of_paths, _] = tables.finish_functions();
        prop_assert_eq!(said(&of_trees), said(&of_paths));
        let mut twice = of_trees.clone();
        of_paths.into_iter().for_each(|table| table.merge_into(&mut twice));
        for ((total, rows), (doubled, rows_doubled)) in said(&of_trees).into_iter().zip(said(&twice)) {
            prop_assert_eq!(total * 2, doubled);
            let double = |(name, own, total, count)| (name, own * 2, total * 2, count * 2);
            prop_assert_eq!(rows.into_iter().map(double).collect::<Vec<_>>(), rows_doubled);
        }
    }
}

/// Tables in words, rows in their order.
fn said(tables: &[Functions]) -> Vec<(i64, Vec<(String, i64, i64, u64)>)> {
    let rows = |table: &Functions| {
        let mut rows = table.rows.clone();
        rows.sort_by(|a, b| table.order(a, b));
        let row = |row: &TopRow| {
            let name = table.symbol(row.symbol).name.clone();
            (name, row.own, row.total, row.count)
        };
        rows.iter().map(row).collect()
    };
    tables
        .iter()
        .map(|table| (table.total, rows(table)))
        .collect()
}
