//! One sentence about what is slow, for whoever reads no further.

use crate::hotspots::{Categories, hotspots};
use crate::names::levels;
use crate::{CallTree, TreeSource, amount, top};
use traceloom_model::Merge;

/// Calls, and samples, under which nothing is said.
const LEAST_CALLS: u64 = 20;
const LEAST_SAMPLES: u64 = 100;

/// Percent of the whole from which a kind of work, and a function by itself, is worth the sentence.
const MUCH_OF_KINDS: f64 = 30.0;
const MUCH_OF_FUNCTIONS: f64 = 5.0;

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
        TreeSource::Samples => (
            tree.nodes.iter().map(|node| node.count).sum::<u64>(),
            LEAST_SAMPLES,
        ),
    };
    if seen < least || tree.total <= 0 || tree.measure.merge != Merge::Sum {
        return None;
    }
    let whole = amount(&tree.measure.unit, tree.total);
    let what = &tree.measure.name;
    let kinds = hotspots(tree, categories);
    let kind = kinds
        .iter()
        .find_map(|kind| Some((kind.category.as_ref()?, tree.percent(kind.own)?)));
    if let Some((kind, percent)) = kind.filter(|&(_, percent)| percent >= MUCH_OF_KINDS) {
        let kind = word(kind);
        return Some(match tree.measure.source {
            TreeSource::Spans => format!("Calls spend {percent:.0} % of {whole} {kind}"),
            TreeSource::Samples => format!("{percent:.0} % of {whole} {what} goes {kind}"),
        });
    }
    let widest = top(tree)
        .into_iter()
        .filter(|row| !tree.symbol(row.symbol).group)
        .max_by_key(|row| row.own)?;
    let percent = tree.percent(widest.own)?;
    let forms = levels(&tree.symbol(widest.symbol).name);
    let name = forms.get(forms.len().checked_sub(2)?).or(forms.first())?;
    (percent >= MUCH_OF_FUNCTIONS).then(|| match tree.measure.source {
        TreeSource::Spans => format!("Calls spend {percent:.0} % of {whole} in {name} itself"),
        TreeSource::Samples => format!("{name} takes {percent:.0} % of {whole} {what} by itself"),
    })
}

/// Says what a kind of work is; those of a user's own rules are said by their names.
fn word(kind: &str) -> String {
    let word = match kind {
        "db" => "in the database",
        "orm" => "in object-relational mapping",
        "network" => "waiting for the network",
        "waiting" => "waiting for locks and queues",
        "io" => "reading and writing files",
        "gc" => "collecting garbage",
        "logging" => "in logging",
        "json" => "with JSON",
        "xml" => "with XML",
        "crypto" => "in cryptography",
        "compression" => "compressing",
        "messaging" => "in messaging",
        "web" => "in the web framework",
        other => return format!("in {other}"),
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TreeBuilder, TreeOptions};
    use traceloom_model::{Function, Sink, StepBatch, Tables, Track};

    /// Calls, each of `com.acme.Shop.serve`, which calls another function for so many nanoseconds of a hundred.
    fn tree(calls: u64, callee: &str, share: i64) -> CallTree {
        let mut tables = Tables::new();
        let mut function = |name: &str| {
            let name = tables.string(name);
            tables.function(Function::named(name))
        };
        let functions = [function("com.acme.Shop.serve"), function(callee)];
        let thread = tables.string("main");
        let mut steps = StepBatch::default();
        steps.track(tables.track(Track::thread(thread)));
        for call in 0..i64::try_from(calls).unwrap() {
            steps.enter(call * 100, functions[0]);
            steps.enter(call * 100, functions[1]);
            steps.exit(call * 100 + share);
            steps.exit(call * 100 + 100);
        }
        let mut builder = TreeBuilder::new(TreeOptions::default());
        let _ = builder.define(tables.take_definitions());
        let _ = builder.steps(steps);
        builder.finish().spans.unwrap()
    }

    #[test]
    fn a_kind_of_work_comes_before_a_function() {
        let said =
            |calls, callee, share| finding(&tree(calls, callee, share), &Categories::default());
        let sql = "java.sql.Statement.execute";
        assert_eq!(
            said(50, sql, 80).unwrap(),
            "Calls spend 80 % of 5 µs in the database"
        );
        assert_eq!(
            said(50, "com.acme.Other.run", 20).unwrap(),
            "Calls spend 80 % of 5 µs in Shop.serve itself"
        );
        assert_eq!(said(19, sql, 80), None, "too few calls");
    }
}
