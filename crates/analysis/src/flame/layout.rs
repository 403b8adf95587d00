//! Where each node lies.

use crate::CallTree;

/// A node that is wide enough to see.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NodeBox {
    /// Its number in [`CallTree::nodes`].
    pub node: u32,
    /// Left edge, as a share of the whole.
    pub x: f64,
    /// Width, as a share of the whole.
    pub width: f64,
}

/// The places of a tree's nodes, callers first.
///
/// A node is as wide as its total. Callees that overlapped in time can add up to more than their caller:
/// they are narrowed together to fit into it, and their numbers stay what they are.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// The nodes wide enough to see.
    pub places: Vec<NodeBox>,
    /// Rows that are needed.
    pub depth: u32,
}

impl Layout {
    /// Lays out `tree`, without nodes narrower than `least`, a share of the whole.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "places on a screen; the numbers shown are the tree's own"
    )]
    pub fn of(tree: &CallTree, least: f64) -> Self {
        /// A node on the path: where its next callee begins, and width of a unit of value in it.
        struct PathNode {
            next: f64,
            unit: f64,
        }
        let positive = |node: u32| {
            let total = tree.nodes.get(node as usize).map_or(0, |node| node.total);
            total.max(0) as f64
        };
        let unit_within = |width: f64, value: f64, below: f64| width / value.max(below).max(1.0);
        let whole: f64 = tree.roots().map(positive).sum();
        let mut path = vec![PathNode {
            next: 0.0,
            unit: unit_within(1.0, tree.total.max(0) as f64, whole),
        }];
        let mut places = Vec::new();
        let mut depth = 0;
        let mut number = 0;
        while let Some(node) = tree.nodes.get(number as usize) {
            path.truncate(node.depth as usize + 1);
            let Some(caller) = path.last_mut() else { break };
            let width = positive(number) * caller.unit;
            let x = caller.next;
            caller.next += width;
            if width < least || width <= 0.0 {
                number = node.end;
                continue;
            }
            depth = depth.max(node.depth + 1);
            places.push(NodeBox {
                node: number,
                x,
                width,
            });
            let below: f64 = tree.children(number).map(positive).sum();
            path.push(PathNode {
                next: x,
                unit: unit_within(width, positive(number), below),
            });
            number += 1;
        }
        Self { places, depth }
    }

    /// Lays out at most `most` nodes, the widest ones, without those narrower than `least`.
    #[must_use]
    pub fn widest(tree: &CallTree, least: f64, most: usize) -> Self {
        let layout = Self::of(tree, least);
        if layout.places.len() <= most {
            return layout;
        }
        let mut widths: Vec<f64> = layout.places.iter().map(|place| place.width).collect();
        widths.sort_by(|a, b| b.total_cmp(a));
        // Nodes as wide as the first that has no place have none either.
        let least = widths.get(most).copied().unwrap_or(least);
        Self::of(tree, least.next_up())
    }
}
