//! One sentence about what is slow, for whoever reads no further.

use crate::hotspots::{Categories, Hotspot, hotspots, where_to};
use crate::names::levels;
use crate::{CallTree, MeasureUnit, TopRow, TreeSource, amount, grouped, top};
use traceloom_model::Merge;

/// Calls, and samples, under which nothing is said.
const LEAST_CALLS: u64 = 20;
const LEAST_SAMPLES: u64 = 100;

/// Percent of the whole from which a kind of work, a second one beside it, and a function by itself are worth the sentence.
const MUCH_OF_KINDS: f64 = 30.0;
const MUCH_OF_SECOND: f64 = 15.0;
const MUCH_OF_FUNCTIONS: f64 = 5.0;
/// Percent of the whole that what is called again and again comes to, and how often one call of its caller calls it.
const MUCH_OF_REPEATED: f64 = 15.0;
const MANY: u64 = 10;
/// Percent of the whole that a function that calls itself comes to.
const MUCH_OF_RECURSION: f64 = 20.0;

/// Says what takes most of a tree; nothing where too little was seen, or nothing stands out.
///
/// ```
/// use traceloom_analysis::hotspots::Categories;
/// use traceloom_analysis::{CallTree, Measure, finding};
///
/// assert_eq!(finding(&CallTree::empty(Measure::wall()), &Categories::default()), None);
/// ```
#[must_use]
pub fn finding(tree: &CallTree, categories: &Categories) -> Option<String> {
    let (seen, least) = match tree.measure.source {
        TreeSource::Spans => {
            let roots = tree
                .roots()
                .filter_map(|root| tree.nodes.get(root as usize));
            (roots.map(|root| root.count).sum(), LEAST_CALLS)
        }
        TreeSource::Samples => (samples(tree), LEAST_SAMPLES),
    };
    if seen < least || tree.total <= 0 || tree.measure.merge != Merge::Sum {
        return None;
    }
    let of_what = Subject::of(tree);
    if of_what != Subject::Time {
        return largest(tree, of_what);
    }
    let kinds = hotspots(tree, categories);
    repeated(tree, &kinds)
        .or_else(|| of_kinds(tree, &kinds))
        .or_else(|| recursive(tree))
        .or_else(|| largest(tree, of_what))
}

/// Returns the number of samples: where the value is their number, a record of many is as many.
fn samples(tree: &CallTree) -> u64 {
    let records: u64 = tree.nodes.iter().map(|node| node.count).sum();
    let measure = &tree.measure;
    let counts = measure.event.unwrap_or(&measure.name).contains("samples")
        && !matches!(measure.unit, MeasureUnit::Nanoseconds | MeasureUnit::Bytes);
    match counts {
        true => records.max(u64::try_from(tree.total).unwrap_or(0)),
        false => records,
    }
}

/// What values of a tree are of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    Time,
    Allocations,
    Live,
    Locks,
    Exceptions,
}

impl Subject {
    fn of(tree: &CallTree) -> Self {
        let name = tree.measure.event.unwrap_or(&tree.measure.name);
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        match tree.measure.source {
            TreeSource::Spans => Self::Time,
            _ if has(&["alloc"]) => Self::Allocations,
            _ if has(&["inuse", "live", "heap"]) => Self::Live,
            _ if has(&["lock", "contention", "mutex"]) => Self::Locks,
            _ if has(&["exception"]) => Self::Exceptions,
            _ => Self::Time,
        }
    }
}

/// The name of a function for a sentence: class and method.
fn said(tree: &CallTree, row: &TopRow) -> String {
    let name = &tree.symbol(row.symbol).name;
    let mut forms = levels(name);
    let at = forms.len().saturating_sub(2);
    if forms.is_empty() {
        return name.clone();
    }
    forms.swap_remove(at)
}

fn functions(tree: &CallTree) -> impl Iterator<Item = TopRow> {
    let rows = top(tree).into_iter();
    rows.filter(|row| !tree.symbol(row.symbol).group)
}

/// What one function came to by itself.
fn largest(tree: &CallTree, subject: Subject) -> Option<String> {
    let widest = functions(tree).max_by_key(|row| row.own)?;
    let percent = tree.percent(widest.own)?;
    if percent < MUCH_OF_FUNCTIONS {
        return None;
    }
    let name = said(tree, &widest);
    let whole = amount(&tree.measure.unit, tree.total);
    let what = &tree.measure.name;
    let verb = match subject {
        Subject::Time if tree.measure.source == TreeSource::Spans => {
            return Some(format!(
                "Calls spend {percent:.0} % of {whole} in {name} itself"
            ));
        }
        Subject::Time => {
            return Some(format!(
                "{name} takes {percent:.0} % of {whole} {what} by itself"
            ));
        }
        Subject::Locks => {
            return Some(format!(
                "Threads wait {percent:.0} % of {whole} for locks in {name}"
            ));
        }
        Subject::Allocations => "allocates",
        Subject::Live => "holds",
        Subject::Exceptions => "throws",
    };
    let what = match subject {
        Subject::Exceptions => " exceptions",
        _ => "",
    };
    Some(format!("{name} {verb} {percent:.0} % of {whole}{what}"))
}

/// One kind of work, or two.
fn of_kinds(tree: &CallTree, kinds: &[Hotspot]) -> Option<String> {
    let whole = amount(&tree.measure.unit, tree.total);
    let mut named = kinds
        .iter()
        .filter_map(|kind| Some((where_to(kind.category.as_ref()?), tree.percent(kind.own)?)));
    let (first, percent) = named
        .next()
        .filter(|&(_, percent)| percent >= MUCH_OF_KINDS)?;
    let second = named
        .next()
        .filter(|&(_, percent)| percent >= MUCH_OF_SECOND);
    let beside = second.map_or_else(String::new, |(kind, percent)| {
        format!(" and {percent:.0} % {kind}")
    });
    let what = &tree.measure.name;
    Some(match tree.measure.source {
        TreeSource::Spans => format!("Calls spend {percent:.0} % of {whole} {first}{beside}"),
        TreeSource::Samples => format!("{percent:.0} % of {whole} {what} goes {first}{beside}"),
    })
}

/// A statement or request that one call repeats: the nearest of its callers that runs seldom is who repeats it.
fn repeated(tree: &CallTree, kinds: &[Hotspot]) -> Option<String> {
    if tree.measure.source != TreeSource::Spans {
        return None;
    }
    let outside = |kind: &&Hotspot| matches!(kind.category.as_deref(), Some("db" | "network"));
    let outside = kinds.iter().filter(outside);
    let functions = outside.flat_map(|kind| kind.functions.iter().map(|&(symbol, ..)| symbol));
    let functions: Vec<_> = functions.collect();
    let leaves = tree
        .nodes
        .iter()
        .filter(|node| node.count >= MANY && functions.contains(&node.symbol));
    let found = leaves.filter_map(|leaf| {
        let percent = tree.percent(leaf.total)?;
        let caller = tree
            .callers(leaf)
            .skip(1)
            .find(|caller| caller.count > 0 && leaf.count / caller.count >= MANY)?;
        Some((leaf, caller, percent))
    });
    let (leaf, caller, percent) = found
        .filter(|&(.., percent)| percent >= MUCH_OF_REPEATED)
        .max_by_key(|(leaf, ..)| leaf.total)?;
    let name = |symbol| {
        let forms = levels(&tree.symbol(symbol).name);
        forms
            .get(forms.len().saturating_sub(2))
            .cloned()
            .unwrap_or_default()
    };
    Some(format!(
        "Each call of {} calls {} {} times, {percent:.0} % of {}",
        name(caller.symbol),
        name(leaf.symbol),
        grouped(leaf.count / caller.count),
        amount(&tree.measure.unit, tree.total),
    ))
}

/// A function that calls itself.
fn recursive(tree: &CallTree) -> Option<String> {
    let row = functions(tree).find(|row| {
        let percent = tree.percent(row.own);
        percent.is_some_and(|percent| percent >= MUCH_OF_RECURSION)
    })?;
    let depth = |node: &crate::Node| {
        tree.callers(node)
            .filter(|one| one.symbol == row.symbol)
            .count()
    };
    let own = tree.nodes.iter().filter(|node| node.symbol == row.symbol);
    let deepest = own.map(depth).max().filter(|&deepest| deepest > 2)?;
    let percent = tree.percent(row.total)?;
    let whole = amount(&tree.measure.unit, tree.total);
    Some(format!(
        "{} calls itself up to {} deep and takes {percent:.0} % of {whole}",
        said(tree, &row),
        grouped(deepest as u64)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TreeBuilder, TreeOptions};
    use traceloom_model::{Function, Sink, StepBatch, Tables, Track};

    /// Calls, each of `com.acme.Shop.serve`, below which the callees call each other for so many nanoseconds of a hundred.
    fn tree(calls: u64, callees: &[&str], share: i64) -> CallTree {
        let mut tables = Tables::new();
        let mut function = |name: &str| {
            let name = tables.string(name);
            tables.function(Function::named(name))
        };
        let serve = function("com.acme.Shop.serve");
        let callees: Vec<_> = callees.iter().map(|name| function(name)).collect();
        let thread = tables.string("main");
        let mut steps = StepBatch::default();
        steps.track(tables.track(Track::thread(thread)));
        for call in 0..i64::try_from(calls).unwrap() {
            steps.enter(call * 100, serve);
            for &callee in &callees {
                steps.enter(call * 100, callee);
            }
            for _ in &callees {
                steps.exit(call * 100 + share);
            }
            steps.exit(call * 100 + 100);
        }
        let mut builder = TreeBuilder::new(TreeOptions::default());
        let _ = builder.define(tables.take_definitions());
        let _ = builder.steps(steps);
        builder.finish().spans.unwrap()
    }

    fn said(tree: &CallTree) -> Option<String> {
        finding(tree, &Categories::default())
    }

    const SQL: &str = "java.sql.Statement.execute";

    #[test]
    fn a_kind_of_work_comes_before_a_function() {
        assert_eq!(
            said(&tree(50, &[SQL], 80)).unwrap(),
            "Calls spend 80 % of 5 µs in the database"
        );
        assert_eq!(
            said(&tree(50, &["com.acme.Other.run"], 20)).unwrap(),
            "Calls spend 80 % of 5 µs in Shop.serve itself"
        );
        assert_eq!(said(&tree(19, &[SQL], 80)), None, "too few calls");
    }

    #[test]
    fn a_second_kind_is_said_with_the_first() {
        let mut tree = tree(50, &["java.net.Socket.read", SQL], 50);
        tree.nodes[1].own = 1_000;
        tree.nodes[1].total = 3_500;
        assert_eq!(
            said(&tree).unwrap(),
            "Calls spend 50 % of 5 µs in the database and 20 % waiting for the network"
        );
    }

    #[test]
    fn what_each_call_repeats_comes_first() {
        let mut tree = tree(50, &["com.acme.Orders.find", SQL], 60);
        tree.nodes[2].count = 5_000;
        assert_eq!(
            said(&tree).unwrap(),
            "Each call of Orders.find calls Statement.execute 100 times, 60 % of 5 µs"
        );
    }

    #[test]
    fn recursion_says_how_deep() {
        assert_eq!(
            said(&tree(50, &["com.acme.Tree.walk"; 3], 80)).unwrap(),
            "Tree.walk calls itself up to 3 deep and takes 80 % of 5 µs"
        );
    }

    #[test]
    fn samples_are_counted_by_their_records_or_by_their_value() {
        let mut tree = tree(50, &["com.acme.Other.run"], 20);
        tree.measure.source = TreeSource::Samples;
        tree.measure.unit = crate::MeasureUnit::Count;
        tree.measure.name = "samples".to_owned();
        tree.nodes.iter_mut().for_each(|node| node.count = 1);
        let all = "Shop.serve takes 80 % of 5,000 samples by itself";
        assert_eq!(said(&tree).unwrap(), all);
        tree.measure.name = "wakeups".to_owned();
        assert_eq!(said(&tree), None, "two records of wakeups");
    }

    #[test]
    fn values_that_are_no_time_have_verbs_of_their_own() {
        let mut tree = tree(120, &["com.acme.Other.run"], 20);
        tree.measure.source = TreeSource::Samples;
        tree.measure.unit = crate::MeasureUnit::Bytes;
        for (name, words) in [
            ("alloc_space", "Shop.serve allocates 80 % of 11.7 KiB"),
            ("inuse_space", "Shop.serve holds 80 % of 11.7 KiB"),
            (
                "lock",
                "Threads wait 80 % of 11.7 KiB for locks in Shop.serve",
            ),
            ("exception", "Shop.serve throws 80 % of 11.7 KiB exceptions"),
            ("cpu", "Shop.serve takes 80 % of 11.7 KiB cpu by itself"),
        ] {
            name.clone_into(&mut tree.measure.name);
            assert_eq!(said(&tree).unwrap(), words);
        }
    }
}
