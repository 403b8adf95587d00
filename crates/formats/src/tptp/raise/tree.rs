//! The spans of one track as a tree, in one table.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{FunctionId, SpanId, SpanRow, SpanStatus};

/// What is written of a span.
#[derive(Clone, Debug)]
pub(super) struct SpanNode {
    id: SpanId,
    /// Its own id where it has none.
    parent: SpanId,
    pub start: i64,
    pub end: i64,
    pub function: Option<FunctionId>,
    links: Links,
    /// Where what few spans tell is.
    told: u32,
    pub status: SpanStatus,
}

impl SpanNode {
    /// What is written of a span, but for what few spans tell.
    #[inline]
    pub fn of(row: &SpanRow<'_>) -> Self {
        Self {
            id: row.id,
            parent: row.parent.unwrap_or(row.id),
            start: row.start,
            end: row.end,
            function: row.function,
            links: Links::NONE,
            told: NONE,
            status: row.status,
        }
    }

    /// Returns true if it has numbers that few spans have.
    #[inline]
    pub const fn tells(&self) -> bool {
        self.told != NONE
    }

    #[inline]
    fn has_parent(&self) -> bool {
        self.parent != self.id
    }
}

/// What few spans tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct RareSpanFacts {
    /// Processor time of the thread at the entry.
    pub cpu_at_entry: u64,
    /// Processor time of the thread in between.
    pub cpu: u64,
    /// The object whose method it is, 0 for none.
    pub object: u64,
}

/// The place of a span among the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Links {
    /// The first span inside it.
    child: u32,
    /// The one after it in the same parent.
    next: u32,
}

/// Stands where there is no span.
const NONE: u32 = u32::MAX;

impl Links {
    const NONE: Self = Self {
        child: NONE,
        next: NONE,
    };
}

/// Spans that wait for the outermost one around them.
///
/// In nested order a span comes right behind those inside it: it takes them from the end of `tops`, and nothing
/// is looked up by its id. What comes in another order is put together when it is complete.
#[derive(Debug, Default)]
pub(super) struct SpanForest {
    nodes: Vec<SpanNode>,
    told: Vec<RareSpanFacts>,
    /// Those that no span has taken yet.
    tops: Vec<u32>,
    /// Parents whose children did not come by start.
    unsorted: Vec<u32>,
}

impl SpanForest {
    #[inline]
    pub fn push(&mut self, mut node: SpanNode, told: RareSpanFacts) {
        let at = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        let id = node.id;
        if told != RareSpanFacts::default() {
            node.told = u32::try_from(self.told.len()).unwrap_or(NONE);
            self.told.push(told);
        }
        self.nodes.push(node);
        let inside = |top: &SpanNode| top.parent == id && top.has_parent();
        while let Some(&top) = self.tops.last()
            && self.node(top).is_some_and(inside)
        {
            self.tops.pop();
            self.adopt(at, top);
        }
        self.tops.push(at);
    }

    pub fn node(&self, at: u32) -> Option<&SpanNode> {
        self.nodes.get(at as usize)
    }

    /// Returns what a span tells besides.
    #[inline]
    pub fn told(&self, node: &SpanNode) -> RareSpanFacts {
        let told = self.told.get(node.told as usize);
        told.copied().unwrap_or_default()
    }

    fn node_mut(&mut self, at: u32) -> Option<&mut SpanNode> {
        self.nodes.get_mut(at as usize)
    }

    /// Returns the first span inside this one.
    pub fn child(&self, at: u32) -> Option<u32> {
        let child = self.node(at)?.links.child;
        Some(child).filter(|&child| child != NONE)
    }

    /// Returns the span after this one in the same parent.
    pub fn next(&self, at: u32) -> Option<u32> {
        let next = self.node(at)?.links.next;
        Some(next).filter(|&next| next != NONE)
    }

    /// Puts a span before the children of another.
    fn adopt(&mut self, parent: u32, child: u32) {
        let Some(first) = self.node(parent).map(|node| node.links.child) else {
            return;
        };
        let behind = self.node(first).map(|node| node.start);
        if let Some(node) = self.node_mut(child) {
            node.links.next = first;
            if behind.is_some_and(|behind| behind < node.start) {
                self.unsorted.push(parent);
            }
        }
        if let Some(node) = self.node_mut(parent) {
            node.links.child = child;
        }
    }

    /// Puts everything in its parent by start, and returns what has no parent here in the same order.
    pub fn roots(&mut self) -> Vec<u32> {
        let mut roots = std::mem::take(&mut self.tops);
        let inner = |at: &u32| self.node(*at).is_some_and(SpanNode::has_parent);
        if roots.iter().any(inner) {
            roots.clear();
            self.link_by_id(&mut roots);
        }
        let mut unsorted = std::mem::take(&mut self.unsorted);
        unsorted.sort_unstable();
        unsorted.dedup();
        unsorted.into_iter().for_each(|parent| self.sort(parent));
        let start = |at: &u32| self.node(*at).map(|node| node.start);
        if !roots.is_sorted_by_key(start) {
            roots.sort_by_key(start);
        }
        roots
    }

    fn link_by_id(&mut self, roots: &mut Vec<u32>) {
        self.unsorted.clear();
        let mut places: HashMap<SpanId, u32, RandomState> = HashMap::default();
        places.reserve(self.nodes.len());
        for (at, node) in (0..).zip(&mut self.nodes) {
            node.links = Links::NONE;
            places.insert(node.id, at);
        }
        let last = u32::try_from(self.nodes.len()).unwrap_or(NONE);
        for at in (0..last).rev() {
            let node = self.node(at).filter(|node| node.has_parent());
            let parent = node.and_then(|node| places.get(&node.parent).copied());
            match parent.filter(|&parent| parent != at) {
                Some(parent) => self.adopt(parent, at),
                None => roots.push(at),
            }
        }
        roots.reverse();
    }

    fn sort(&mut self, parent: u32) {
        let mut children = Vec::new();
        let mut next = self.child(parent);
        while let Some(at) = next {
            children.push((self.node(at).map(|node| node.start), at));
            next = self.next(at);
        }
        children.sort_by_key(|&(start, _)| start);
        if let Some(node) = self.node_mut(parent) {
            node.links.child = NONE;
        }
        for (_, child) in children.into_iter().rev() {
            self.adopt(parent, child);
        }
    }

    /// Empties it for the next call, keeping `roots` and what room calls usually need.
    pub fn clear(&mut self, mut roots: Vec<u32>) {
        self.nodes.clear();
        self.nodes.shrink_to(USUAL);
        self.told.clear();
        self.told.shrink_to(USUAL);
        roots.clear();
        roots.shrink_to(USUAL);
        self.tops = roots;
    }
}

/// Spans of a call whose room is kept for the next.
const USUAL: usize = 1 << 12;
