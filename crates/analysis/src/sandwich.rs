//! One function in the middle: who calls it, and what it calls.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::calltree::{Added, Arena, add, add_of, flatten, grow};
use crate::{CallTree, Node, Predicate, Symbol, SymbolId};

/// Callers followed from one function upwards; deeper ones add up in the last.
const CALLERS: usize = 512;

/// Returns the tree of what the functions that match call, each of them a root.
///
/// Of a recursion the outermost call counts. 100 % is what the functions came to together.
#[must_use]
pub fn callees_of(tree: &CallTree, matches: &Predicate<'_>) -> CallTree {
    let mut arena = Arena::new();
    arena.base = tree.base;
    let mut inside: Vec<u32> = Vec::new();
    let mut root = None;
    for (group, number, node, is_root) in under(tree, matches) {
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
        add_of(&mut arena, at, tree, number);
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
    of.total = total_of(tree, matches);
    grow(&of, |add| {
        for (group, number, node, is_root) in under(tree, matches) {
            if !is_root {
                continue;
            }
            let callers = tree.callers(node).map(|node| node.symbol).take(CALLERS);
            let mut path = group.into_iter().chain(callers);
            add(&mut path, &Added::of(tree, number, |node| node.total));
        }
    })
}

/// Returns the paths on which the functions that match were called, from the root down: where a function is used.
///
/// A node's total is what the functions came to below it, its count how often they were called there. Of a recursion
/// the outermost call counts; 100 % is what the functions came to together.
#[must_use]
pub fn usages_of(tree: &CallTree, matches: &Predicate<'_>) -> CallTree {
    // Of each node what the functions came to in it, how often, and whether it is one of them.
    let mut sums = vec![(0_i64, 0_u64, false); tree.nodes.len()];
    for (_, number, node, is_root) in under(tree, matches) {
        if let Some(sum) = sums.get_mut(number as usize).filter(|_| is_root) {
            *sum = (node.total, node.count, true);
        }
    }
    for (number, node) in tree.nodes.iter().enumerate().rev() {
        let (total, count, _) = sums.get(number).copied().unwrap_or_default();
        let caller = node.parent.and_then(|parent| sums.get_mut(parent as usize));
        if let Some(caller) = caller {
            caller.0 = caller.0.saturating_add(total);
            caller.1 = caller.1.saturating_add(count);
        }
    }
    let mut arena = Arena::new();
    arena.base = tree.base;
    let mut at: Vec<u32> = Vec::with_capacity(tree.nodes.len());
    for ((number, node), &(total, count, used)) in tree.nodes.iter().enumerate().zip(&sums) {
        let caller = node.parent.and_then(|parent| at.get(parent as usize));
        // What is below a function found, or leads to none, has no place.
        let above = match node.parent {
            None => Some(0),
            Some(_) => caller.copied().filter(|&at| at != u32::MAX),
        };
        let Some(above) = above.filter(|_| count > 0 || total != 0) else {
            at.push(u32::MAX);
            continue;
        };
        let here = arena.child(above, node.symbol.0);
        let own = if used { total } else { 0 };
        let values = Node {
            total,
            own,
            count: if tree.symbol(node.symbol).group {
                0
            } else {
                count
            },
            partial: if used { node.partial } else { 0 },
            ..*node
        };
        add(&mut arena, here, &values, tree.measure.merge);
        if let Some(durations) = tree.durations.get(number).filter(|_| used) {
            arena.take_durations(here, durations);
        }
        at.push(if used { u32::MAX } else { here });
    }
    flatten(
        arena,
        tree.measure.clone(),
        tree.symbols.clone(),
        total_of(tree, matches),
        |symbol| symbol,
    )
}

/// What the functions that match came to together, the outermost calls of recursions.
fn total_of(tree: &CallTree, matches: &Predicate<'_>) -> i64 {
    under(tree, matches)
        .filter(|(.., is_root)| *is_root)
        .fold(0, |total, (_, _, node, _)| total.saturating_add(node.total))
}

/// Which side of a function is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The calls that the functions received: who called them.
    Incoming,
    /// The calls that the functions made: whom they called.
    Outgoing,
}

/// Direct calls of functions, and what they come to.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectCalls {
    /// The functions that match together, as [`top`] would show one of that name.
    ///
    /// [`top`]: crate::top
    pub of: Edge,
    /// The other end of the calls, the largest total first.
    pub edges: Vec<(Option<SymbolId>, Edge)>,
}

/// What calls from one function to another come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Value of the functions called and of what they called; of a recursion the outermost call counts.
    pub total: i64,
    /// Value of the functions called alone.
    pub own: i64,
    /// How many calls there were, recursive ones included; of samples, those whose innermost frame was called so.
    pub count: u64,
}

impl Edge {
    fn add(&mut self, node: &Node, outermost: bool) {
        if outermost {
            self.total = self.total.saturating_add(node.total);
        }
        self.own = self.own.saturating_add(node.own);
        self.count = self.count.saturating_add(node.count);
    }
}

/// Adds up the direct calls to or from the functions that match; the other end is none for calls that begin there.
#[must_use]
pub fn direct_calls(tree: &CallTree, matches: &Predicate<'_>, direction: Direction) -> DirectCalls {
    let wanted = |symbol: &Symbol| !symbol.group && matches(symbol);
    let wanted: Vec<bool> = tree.symbols.iter().map(wanted).collect();
    let is_wanted = |symbol: SymbolId| wanted.get(symbol.index()) == Some(&true);
    let mut of = Edge::default();
    let mut edges: HashMap<Option<SymbolId>, Edge, RandomState> = HashMap::default();
    // The other ends of the path to the current node, and how often each is among them.
    let mut path: Vec<(SymbolId, Option<Option<SymbolId>>)> = Vec::new();
    let mut open: HashMap<Option<SymbolId>, u32, RandomState> = HashMap::default();
    let mut inside = 0_u32;
    for node in &tree.nodes {
        while path.len() > node.depth as usize {
            let Some((symbol, end)) = path.pop() else {
                break;
            };
            inside -= u32::from(is_wanted(symbol));
            if let Some(times) = end.and_then(|end| open.get_mut(&end)) {
                *times -= 1;
            }
        }
        let caller = path.last().map(|&(symbol, _)| symbol);
        let caller = caller.filter(|&symbol| !tree.symbol(symbol).group);
        let matched = is_wanted(node.symbol);
        if matched {
            of.add(node, inside == 0);
        }
        let end = match direction {
            Direction::Incoming => matched.then_some(caller),
            Direction::Outgoing => caller.is_some_and(is_wanted).then_some(Some(node.symbol)),
        };
        if let Some(end) = end {
            let times = open.entry(end).or_default();
            edges.entry(end).or_default().add(node, *times == 0);
            *times += 1;
        }
        inside += u32::from(matched);
        path.push((node.symbol, end));
    }
    let name = |end: Option<SymbolId>| end.map(|id| &tree.symbol(id).name);
    let mut edges: Vec<_> = edges.into_iter().collect();
    edges.sort_by(|a, b| {
        let order = b.1.total.cmp(&a.1.total);
        order.then_with(|| (name(a.0), a.0).cmp(&(name(b.0), b.0)))
    });
    DirectCalls { of, edges }
}

/// The nodes of the outermost functions that match with their groups and numbers, each followed by everything below
/// it.
fn under<'t>(
    tree: &'t CallTree,
    matches: &Predicate<'_>,
) -> impl Iterator<Item = (Option<SymbolId>, u32, &'t Node, bool)> {
    let wanted = |symbol: &Symbol| !symbol.group && matches(symbol);
    let wanted: Vec<bool> = tree.symbols.iter().map(wanted).collect();
    let is_wanted = move |symbol: SymbolId| wanted.get(symbol.index()) == Some(&true);
    let grouped = tree.is_grouped();
    let (mut until, mut group) = (0, None);
    (0_u32..).zip(&tree.nodes).filter_map(move |(at, node)| {
        if at < until {
            return Some((group, at, node, false));
        }
        if grouped && node.depth == 0 {
            group = Some(node.symbol);
        }
        let root = is_wanted(node.symbol);
        if root {
            until = node.end;
        }
        root.then_some((group, at, node, true))
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
    fn usages_lead_to_the_function_and_no_further() {
        let tree = tree();
        let used = usages_of(&tree, &named("price"));
        assert_eq!(used.total, 45);
        assert_eq!(
            lines(&used),
            [
                ("batch".to_owned(), 25, 1),
                ("batch;price".to_owned(), 25, 1),
                ("web".to_owned(), 20, 2),
                ("web;price".to_owned(), 20, 2),
            ]
        );
        assert!(usages_of(&tree, &named("gift")).nodes.is_empty());
    }

    #[test]
    fn direct_calls_add_up_to_what_they_called() {
        let tree = tree();
        let ends = |direction| {
            let found = direct_calls(&tree, &named("price"), direction);
            let name = |end: Option<SymbolId>| end.map(|id| tree.symbol(id).name.clone());
            let ends = found.edges.iter().map(|(end, edge)| {
                let name = name(*end).unwrap_or_default();
                (name, edge.total, edge.own, edge.count)
            });
            (found.of, ends.collect::<Vec<_>>())
        };
        let (of, callers) = ends(Direction::Incoming);
        let price = top(&tree)
            .into_iter()
            .find(|row| tree.symbol(row.symbol).name == "price")
            .unwrap();
        assert_eq!(
            (of.total, of.own, of.count),
            (price.total, price.own, price.count)
        );
        assert_eq!(
            callers,
            [
                ("batch".to_owned(), 25, 10, 1),
                ("web".to_owned(), 20, 15, 2),
                ("price".to_owned(), 15, 10, 1),
            ]
        );
        assert_eq!(callers.iter().map(|row| row.3).sum::<u64>(), of.count);
        assert_eq!(callers.iter().map(|row| row.2).sum::<i64>(), of.own);
        let (_, callees) = ends(Direction::Outgoing);
        assert_eq!(
            callees,
            [
                ("price".to_owned(), 15, 10, 1),
                ("tax".to_owned(), 10, 10, 2),
            ]
        );
        let web = direct_calls(&tree, &named("web"), Direction::Incoming);
        assert_eq!(web.edges[0].0, None, "nobody calls what begins there");
    }

    #[test]
    fn nothing_matches_nothing() {
        let tree = tree();
        assert!(callees_of(&tree, &named("gift")).nodes.is_empty());
        assert_eq!(callers_of(&tree, &named("gift")).total, 0);
    }
}
