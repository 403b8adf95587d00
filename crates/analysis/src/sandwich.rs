//! One function in the middle: who calls it, and what it calls.

use crate::calltree::{Arena, add, flatten, grow};
use crate::{CallTree, Node, Predicate, Symbol, SymbolId};

/// Callers followed from one function upwards; deeper ones add up in the last.
const CALLERS: usize = 512;

/// Returns the tree of what the functions that match call, each of them a root.
///
/// Of a recursion the outermost call counts. 100 % is what the functions came to together.
#[must_use]
pub fn callees_of(tree: &CallTree, matches: &Predicate<'_>) -> CallTree {
    let mut arena = Arena::new();
    let mut inside: Vec<u32> = Vec::new();
    let mut root = None;
    for (group, node, is_root) in under(tree, matches) {
        let depth = if is_root {
            root = Some(node.depth);
            0
        } else {
            node.depth - root.unwrap_or(node.depth)
        };
        inside.truncate(depth as usize);
        let parent = match inside.last() {
            Some(&caller) => caller,
            None => group.map_or(0, |group| arena.child(0, group.0)),
        };
        let at = arena.child(parent, node.symbol.0);
        add(&mut arena, at, node, tree.measure.merge);
        inside.push(at);
    }
    if tree.is_grouped() {
        arena.sum_grounds();
    }
    let total = arena.roots_total();
    flatten(
        arena,
        tree.measure.clone(),
        tree.symbols.clone(),
        total,
        |symbol| symbol,
    )
}

/// Returns the tree of who calls the functions that match, with the functions as roots and their callers below.
///
/// A node's total is what the function came to when it was called along that path; its own value is the part of
/// calls that began there. Of a recursion the outermost call counts.
#[must_use]
pub fn callers_of(tree: &CallTree, matches: &Predicate<'_>) -> CallTree {
    let mut of = tree.clone();
    of.total = 0;
    for (_, node, is_root) in under(tree, matches) {
        if is_root {
            of.total = of.total.saturating_add(node.total);
        }
    }
    grow(&of, |add| {
        for (group, node, is_root) in under(tree, matches) {
            if !is_root {
                continue;
            }
            let callers = tree.callers(node).map(|node| node.symbol).take(CALLERS);
            add(&mut group.into_iter().chain(callers), node.total, node.count, node.partial);
        }
    })
}

/// The nodes of the outermost functions that match with the groups they are in, each followed by everything below
/// it.
fn under<'t>(
    tree: &'t CallTree,
    matches: &Predicate<'_>,
) -> impl Iterator<Item = (Option<SymbolId>, &'t Node, bool)> {
    let wanted = |symbol: &Symbol| !symbol.group && matches(symbol);
    let wanted: Vec<bool> = tree.symbols.iter().map(wanted).collect();
    let is_wanted = move |symbol: SymbolId| wanted.get(symbol.index()) == Some(&true);
    let grouped = tree.is_grouped();
    let (mut until, mut group) = (0, None);
    (0_u32..).zip(&tree.nodes).filter_map(move |(at, node)| {
        if at < until {
            return Some((group, node, false));
        }
        if grouped && node.depth == 0 {
            group = Some(node.symbol);
        }
        let root = is_wanted(node.symbol);
        if root {
            until = node.end;
        }
        root.then_some((group, node, true))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TreeBuilder, TreeOptions, top};
    use traceloom_model::{Function, FunctionId, Sink, StepBatch, Tables, Track};

    /// `web(price(tax) price)`, `batch(price(price(tax)))`, each call 10 by itself.
    fn tree() -> CallTree {
        let mut tables = Tables::new();
        let [web, batch, price, tax] = ["web", "batch", "price", "tax"].map(|name| {
            let name = tables.string(name);
            tables.function(Function::named(name))
        });
        let thread = tables.string("main");
        let mut steps = StepBatch::default();
        steps.track(tables.track(Track::thread(thread)));
        let mut now = 0;
        let mut walk = |script: &[Option<FunctionId>]| {
            for step in script {
                now += 5;
                match step {
                    Some(function) => steps.enter(now, *function),
                    None => steps.exit(now),
                }
            }
        };
        walk(&[
            Some(web),
            Some(price),
            Some(tax),
            None,
            None,
            Some(price),
            None,
            None,
        ]);
        walk(&[
            Some(batch),
            Some(price),
            Some(price),
            Some(tax),
            None,
            None,
            None,
            None,
        ]);
        let mut builder = TreeBuilder::new(TreeOptions::default());
        let _ = builder.define(tables.take_definitions());
        let _ = builder.steps(steps);
        builder.finish().spans.unwrap()
    }

    fn lines(tree: &CallTree) -> Vec<(String, i64, u64)> {
        let mut path: Vec<&str> = Vec::new();
        let lines = tree.nodes.iter().map(|node| {
            path.truncate(node.depth as usize);
            path.push(&tree.symbol(node.symbol).name);
            (path.join(";"), node.total, node.count)
        });
        lines.collect()
    }

    fn named(name: &'static str) -> Predicate<'static> {
        Box::new(move |symbol| symbol.name == name)
    }

    #[test]
    fn both_halves_come_to_the_functions_total() {
        let tree = tree();
        let price = top(&tree)
            .into_iter()
            .find(|row| tree.symbol(row.symbol).name == "price")
            .unwrap();
        for half in [
            callees_of(&tree, &named("price")),
            callers_of(&tree, &named("price")),
        ] {
            assert_eq!(half.total, price.total);
            assert_eq!(half.nodes[0].total, price.total);
        }
        assert_eq!(
            lines(&callees_of(&tree, &named("price"))),
            [
                ("price".to_owned(), 45, 3),
                ("price;price".to_owned(), 15, 1),
                ("price;price;tax".to_owned(), 5, 1),
                ("price;tax".to_owned(), 5, 1),
            ]
        );
        assert_eq!(
            lines(&callers_of(&tree, &named("price"))),
            [
                ("price".to_owned(), 45, 3),
                ("price;batch".to_owned(), 25, 1),
                ("price;web".to_owned(), 20, 2),
            ]
        );
    }

    #[test]
    fn nothing_matches_nothing() {
        let tree = tree();
        assert!(callees_of(&tree, &named("gift")).nodes.is_empty());
        assert_eq!(callers_of(&tree, &named("gift")).total, 0);
    }
}
