//! What kinds of work are called and how they are coloured: the same as `ui/src/shared/kinds.ts`, held together by
//! `ui/examples/kinds.json`.

use super::{Categories, OwnCode, TreeWork};
use crate::colour::{SHADES, colour};
use crate::{CallTree, Symbol};
use traceloom_model::bounds::row_number;

/// The kinds of the rules that come with the program: what people call them, their colour, and a sentence's end about them.
const KINDS: [(&str, &str, &str, &str); 14] = [
    ("db", "Database", "k-db", "in the database"),
    (
        "orm",
        "Object-relational mapping",
        "k-db-2",
        "in object-relational mapping",
    ),
    ("network", "Network", "k-net", "waiting for the network"),
    ("io", "Files", "k-net", "reading and writing files"),
    ("messaging", "Messaging", "k-net", "in messaging"),
    (
        "waiting",
        "Locks, waiting",
        "k-lock",
        "waiting for locks and queues",
    ),
    ("gc", "GC, pauses", "k-gc", "collecting garbage"),
    ("reflection", "Reflection", "k-rt", "in reflection"),
    ("logging", "Logging", "k-lib", "in logging"),
    ("json", "JSON", "k-lib", "with JSON"),
    ("xml", "XML", "k-lib", "with XML"),
    ("crypto", "Cryptography", "k-lib", "in cryptography"),
    ("compression", "Compression", "k-lib", "compressing"),
    ("web", "Web framework", "k-lib", "in the web framework"),
];

fn row(
    category: &str,
) -> Option<&'static (&'static str, &'static str, &'static str, &'static str)> {
    KINDS.iter().find(|(name, ..)| *name == category)
}

/// Returns what people call a category; those of a user's own rules by their names.
pub(crate) fn title(category: &str) -> &str {
    row(category).map_or(category, |&(_, title, ..)| title)
}

/// Returns the token of a category's colour: libraries, where the rules are a user's own.
pub(crate) fn token(category: &str) -> &'static str {
    row(category).map_or("k-lib", |&(_, _, token, _)| token)
}

/// Returns how a sentence about a category ends: time goes `in the database`.
pub(crate) fn where_to(category: &str) -> String {
    row(category).map_or_else(|| format!("in {category}"), |&(.., words)| words.to_owned())
}

/// The colour's token of a kind of work, and its name.
pub(crate) type WorkKind<'c> = (&'static str, &'c str);

/// Returns the kind of work of a function that no rule matches.
pub(crate) fn unnamed(symbol: &Symbol, own: &OwnCode) -> (&'static str, &'static str) {
    if own.has(symbol) {
        return ("k-own", "Own code");
    }
    match colour(symbol) / SHADES {
        0 => ("k-rt", "Runtime"),
        1 | 2 => ("k-sys", "Native"),
        3 => ("k-none", "Unknown"),
        _ => ("k-lib", "Libraries"),
    }
}

/// The kinds of work of a tree's nodes, each kind once.
#[derive(Default)]
pub(crate) struct NodeKinds<'c> {
    pub(crate) kinds: Vec<WorkKind<'c>>,
    /// By node: the place of its kind.
    of_nodes: Vec<u32>,
}

impl<'c> NodeKinds<'c> {
    pub(crate) fn of(tree: &CallTree, categories: &'c Categories) -> Self {
        let work = TreeWork::of(tree, categories);
        let mut kinds: Vec<WorkKind<'c>> = Vec::new();
        let mut place = |kind| {
            let known = kinds.iter().position(|known| *known == kind);
            row_number(known.unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            }))
        };
        let names = categories.names().iter();
        let of_categories: Vec<u32> = names
            .map(|name| place((token(name), title(name.as_str()))))
            .collect();
        let symbols = tree.symbols.iter();
        let unnamed: Vec<u32> = symbols
            .map(|symbol| place(unnamed(symbol, &work.own)))
            .collect();
        let unknown = place(("k-none", "Unknown"));
        let kind = |symbol: usize, category: Option<usize>| {
            let named = category.and_then(|category| of_categories.get(category));
            let kind = named.or_else(|| unnamed.get(symbol));
            kind.copied().unwrap_or(unknown)
        };
        let nodes = tree.nodes.iter().zip(work.of_nodes(tree));
        let of_nodes = nodes.map(|(node, category)| kind(node.symbol.index(), category));
        Self {
            of_nodes: of_nodes.collect(),
            kinds,
        }
    }

    /// Returns the place of a node's kind.
    pub(crate) fn of_node(&self, node: u32) -> Option<usize> {
        Some(*self.of_nodes.get(node as usize)? as usize)
    }

    /// Returns what each kind comes to by itself in the nodes of the tree.
    pub(crate) fn own_values(&self, tree: &CallTree) -> Vec<i64> {
        let mut sums = vec![0_i64; self.kinds.len()];
        for (node, &kind) in tree.nodes.iter().zip(&self.of_nodes) {
            if let Some(sum) = sums.get_mut(kind as usize) {
                *sum = sum.saturating_add(node.own);
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hotspots::Categories;

    #[test]
    fn pages_call_and_colour_kinds_alike() {
        let table = include_str!("../../../../ui/examples/kinds.json");
        let rows: Vec<[String; 3]> = serde_json::from_str(table).unwrap();
        for [name, said, colour] in &rows {
            assert_eq!((title(name), token(name)), (said.as_str(), colour.as_str()));
        }
        for name in Categories::default().names() {
            assert!(rows.iter().any(|[known, ..]| known == name), "{name}");
        }
    }
}
