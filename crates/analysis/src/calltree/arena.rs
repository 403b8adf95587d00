//! The growing tree: nodes in one vector, children found by what was entered last.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::Merge;
use traceloom_model::bounds::row_number;

use crate::Sketch;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// The node above all roots.
pub(super) const ROOT: u32 = 0;

/// The parent of a node that is not in use.
const FREE: u32 = NONE - 1;

/// A node while the tree grows: 48 bytes, so that an enter touches one cache line.
#[derive(Clone, Debug)]
pub(crate) struct ArenaNode {
    pub key: u32,
    pub parent: u32,
    pub first_child: u32,
    pub next_sibling: u32,
    /// The child entered last.
    recent_child: u32,
    /// The sibling that was entered after this one the last time.
    follower: u32,
    pub total: i64,
    pub own: i64,
    pub count: u64,
}

impl ArenaNode {
    const fn new(key: u32, parent: u32, next_sibling: u32) -> Self {
        Self {
            key,
            parent,
            first_child: NONE,
            next_sibling,
            recent_child: NONE,
            follower: NONE,
            total: 0,
            own: 0,
            count: 0,
        }
    }
}

/// Nodes by number, and the map from parent and key to child.
///
/// Programs call the same things in the same order, so most enters hit the child entered last or the
/// one that followed it the time before: two compares in a line that is needed anyway. The map answers
/// the rest. A list of children alone would be quadratic in a dispatcher's thousand callees; a map alone
/// costs a cache miss for every enter.
#[derive(Debug)]
pub(crate) struct Arena {
    nodes: Vec<ArenaNode>,
    /// Children that have siblings: most nodes of a deep tree are the only child.
    children: HashMap<u64, u32, RandomState>,
    free: u32,
    /// Nodes that are free.
    unused: usize,
    /// Nodes for which there is room as soon as the tree is large; 0 where nobody knows how many there will be.
    room: usize,
    /// Nodes that stand for spans of which a part was not recorded, and for how many.
    pub partial: HashMap<u32, u64, RandomState>,
    /// What the base of a difference came to, without signs; 0 where the values are no difference from one.
    pub base: i64,
    /// How long the calls of nodes took, where that is asked for.
    durations: HashMap<u32, Sketch, RandomState>,
}

/// Nodes of a large tree: its table is then moved once, to where it finds room for all. What of that room is not used
/// is only reserved, and each move clears as many pages as the table has.
const LARGE: usize = 1 << 14;

/// Nodes that may come before a tree is found to have too many.
const BETWEEN_LOOKS: usize = 1 << 12;

const fn edge(parent: u32, key: u32) -> u64 {
    (parent as u64) << 32 | key as u64
}

/// Returns the child of a node that has no other.
fn only_child(nodes: &[ArenaNode], parent: u32) -> Option<u32> {
    let child = nodes.get(parent as usize)?.first_child;
    let row = nodes.get(child as usize)?;
    (row.next_sibling == NONE).then_some(child)
}

#[expect(
    clippy::indexing_slicing,
    reason = "node numbers are handed out by this arena only; one out of range is a bug to hear of"
)]
impl Arena {
    pub fn new() -> Self {
        Self::of_at_most(0)
    }

    /// Returns a tree of which it is known that it has `most` nodes at most, or about as many; 0 where nobody knows.
    pub fn of_at_most(most: usize) -> Self {
        Self {
            nodes: vec![ArenaNode::new(NONE, NONE, NONE)],
            children: HashMap::default(),
            free: NONE,
            unused: 0,
            room: if most == 0 { 0 } else { most + BETWEEN_LOOKS },
            partial: HashMap::default(),
            base: 0,
            durations: HashMap::default(),
        }
    }

    #[inline]
    pub fn node(&self, node: u32) -> &ArenaNode {
        &self.nodes[node as usize]
    }

    /// Returns a node; none for what follows the last sibling.
    pub fn get(&self, node: u32) -> Option<&ArenaNode> {
        self.nodes.get(node as usize)
    }

    #[inline]
    pub fn node_mut(&mut self, node: u32) -> &mut ArenaNode {
        &mut self.nodes[node as usize]
    }

    /// Nodes ever in use, the root and freed ones included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Nodes that are in use, the root and those of side trees included.
    pub fn in_use(&self) -> usize {
        self.nodes.len() - self.unused
    }

    /// Puts the children of a node into `into`; keeps those that `is_kept` and takes the others off, which is told with each.
    /// [`Arena::tidy`] has to follow.
    pub fn split_children(
        &mut self,
        of: u32,
        is_kept: impl Fn(u32, &ArenaNode) -> bool,
        into: &mut Vec<(u32, bool)>,
    ) {
        let mut child = std::mem::replace(&mut self.nodes[of as usize].first_child, NONE);
        self.nodes[of as usize].recent_child = NONE;
        while child != NONE {
            let row = &self.nodes[child as usize];
            let next = row.next_sibling;
            let is_kept = is_kept(child, row);
            if is_kept {
                let first = std::mem::replace(&mut self.nodes[of as usize].first_child, child);
                self.nodes[child as usize].next_sibling = first;
            }
            into.push((child, !is_kept));
            child = next;
        }
    }

    /// Makes the map from parent and key to child anew, of what hangs from anything. Nodes that are free are used in their
    /// order from then on, so that what comes together lies together.
    pub fn tidy(&mut self) {
        self.children.clear();
        self.free = NONE;
        for number in (0..self.nodes.len()).rev() {
            let (node, row) = (row_number(number), &self.nodes[number]);
            match row.parent {
                NONE => {}
                FREE => self.nodes[number].next_sibling = std::mem::replace(&mut self.free, node),
                parent => {
                    let is_last = row.next_sibling == NONE;
                    let is_only = is_last && self.nodes[parent as usize].first_child == node;
                    if !is_only {
                        self.children.insert(edge(parent, row.key), node);
                    }
                }
            }
        }
    }

    /// Finds the child of `parent` called `key`.
    fn find(&self, parent: u32, key: u32) -> Option<u32> {
        match only_child(&self.nodes, parent) {
            Some(child) => (self.nodes[child as usize].key == key).then_some(child),
            None if self.nodes[parent as usize].first_child == NONE => None,
            None => self.children.get(&edge(parent, key)).copied(),
        }
    }

    /// Iterates over a node and its callers, without the root.
    pub fn callers(&self, node: u32) -> impl Iterator<Item = u32> {
        let above = |&node: &u32| Some(self.nodes[node as usize].parent);
        std::iter::successors(Some(node), above).take_while(|&node| node != ROOT)
    }

    /// Iterates over the totals of the nodes that hang from any but the root.
    pub fn inner_totals(&self) -> impl Iterator<Item = i64> {
        let inner = |row: &&ArenaNode| !matches!(row.parent, ROOT | FREE | NONE);
        self.nodes.iter().filter(inner).map(|row| row.total)
    }

    /// Iterates over the nodes that hang under the root, by whatever way.
    pub fn used(&self) -> impl Iterator<Item = u32> {
        let mut work = vec![self.nodes[ROOT as usize].first_child];
        std::iter::from_fn(move || {
            let node = loop {
                match work.pop()? {
                    NONE => {}
                    node => break node,
                }
            };
            let row = &self.nodes[node as usize];
            work.push(row.next_sibling);
            work.push(row.first_child);
            Some(node)
        })
    }

    /// Returns what the roots come to.
    pub fn roots_total(&self) -> i64 {
        self.children_total(ROOT)
    }

    fn children_total(&self, node: u32) -> i64 {
        let mut total = 0_i64;
        let mut child = self.nodes[node as usize].first_child;
        while child != NONE {
            let row = &self.nodes[child as usize];
            total = total.saturating_add(row.total);
            child = row.next_sibling;
        }
        total
    }

    /// Gives the nodes below the root what their children come to.
    pub fn sum_grounds(&mut self) {
        let mut ground = self.nodes[ROOT as usize].first_child;
        while ground != NONE {
            let total = self.children_total(ground);
            let row = &mut self.nodes[ground as usize];
            row.total = total;
            ground = row.next_sibling;
        }
    }

    /// Finds or adds the child of `parent` called `key`.
    #[inline]
    pub fn child(&mut self, parent: u32, key: u32) -> u32 {
        let recent = self.nodes[parent as usize].recent_child;
        if let Some(node) = self.nodes.get(recent as usize) {
            if node.key == key && node.parent == parent {
                return recent;
            }
            let next = node.follower;
            if let Some(node) = self.nodes.get(next as usize)
                && node.key == key
                && node.parent == parent
            {
                self.nodes[parent as usize].recent_child = next;
                return next;
            }
        }
        self.look_up(parent, key, recent)
    }

    #[inline(never)]
    fn look_up(&mut self, parent: u32, key: u32, recent: u32) -> u32 {
        let found = self.find(parent, key);
        let child = found.unwrap_or_else(|| self.add(parent, key));
        if let Some(node) = self.nodes.get_mut(recent as usize) {
            node.follower = child;
        }
        self.nodes[parent as usize].recent_child = child;
        child
    }

    fn add(&mut self, parent: u32, key: u32) -> u32 {
        let node = self.allocate();
        self.link(node, parent, key);
        node
    }

    /// Adds a child without looking for one of that name and without being found later: for callers that
    /// know the place of each node themselves and let [`super::flatten`] join what is equal.
    pub fn append(&mut self, parent: u32, key: u32) -> u32 {
        let node = self.allocate();
        self.chain(node, parent, key);
        node
    }

    fn link(&mut self, node: u32, parent: u32, key: u32) {
        if let Some(sibling) = only_child(&self.nodes, parent) {
            let edge = edge(parent, self.nodes[sibling as usize].key);
            self.children.insert(edge, sibling);
        }
        self.chain(node, parent, key);
        if self.nodes[node as usize].next_sibling != NONE {
            self.children.insert(edge(parent, key), node);
        }
    }

    fn chain(&mut self, node: u32, parent: u32, key: u32) {
        let sibling = std::mem::replace(&mut self.nodes[parent as usize].first_child, node);
        let row = &mut self.nodes[node as usize];
        row.key = key;
        row.parent = parent;
        row.next_sibling = sibling;
        row.follower = NONE;
    }

    fn allocate(&mut self) -> u32 {
        let node = self.free;
        if node == NONE {
            let node = row_number(self.nodes.len());
            assert!(node < FREE, "a call tree holds fewer than 2^32 - 2 nodes");
            if self.nodes.len() == self.nodes.capacity() {
                self.grow();
            }
            self.nodes.push(ArenaNode::new(NONE, NONE, NONE));
            return node;
        }
        self.free = self.nodes[node as usize].next_sibling;
        self.unused -= 1;
        self.nodes[node as usize] = ArenaNode::new(NONE, NONE, NONE);
        node
    }

    /// Makes room for more nodes.
    #[cold]
    fn grow(&mut self) {
        let n_nodes = self.nodes.len();
        if n_nodes >= LARGE && n_nodes < self.room {
            self.nodes.reserve_exact(self.room - n_nodes);
        }
    }

    /// Frees a node that nothing hangs from and that hangs from nothing.
    pub fn release(&mut self, node: u32) {
        if !self.partial.is_empty() {
            self.partial.remove(&node);
        }
        if !self.durations.is_empty() {
            self.durations.remove(&node);
        }
        self.nodes[node as usize] = ArenaNode::new(NONE, FREE, self.free);
        self.free = node;
        self.unused += 1;
    }

    /// Makes a node without parent: the side tree of a span or call that has not ended.
    pub fn side_tree(&mut self) -> u32 {
        self.allocate()
    }

    /// Hangs a side tree under `parent` as `key`, into the child of that name when there is one.
    pub fn adopt(&mut self, side: u32, parent: u32, key: u32) -> u32 {
        let Some(known) = self.find(parent, key) else {
            self.link(side, parent, key);
            return side;
        };
        self.add_values(side, known);
        self.move_children(side, known);
        self.release(side);
        known
    }

    /// Moves the children of `from` under `to`, adding up those of one name.
    ///
    /// Every step frees a node or moves one for good, so folding the side trees of all spans costs no
    /// more steps than there are spans.
    pub fn move_children(&mut self, from: u32, to: u32) {
        let mut work = vec![(from, to)];
        while let Some((source, to)) = work.pop() {
            let mut child = std::mem::replace(&mut self.nodes[source as usize].first_child, NONE);
            self.nodes[source as usize].recent_child = NONE;
            while child != NONE {
                let next = self.nodes[child as usize].next_sibling;
                let key = self.nodes[child as usize].key;
                self.children.remove(&edge(source, key));
                match self.find(to, key) {
                    None => self.link(child, to, key),
                    Some(known) => {
                        self.add_values(child, known);
                        work.push((child, known));
                    }
                }
                child = next;
            }
            if source != from {
                self.release(source);
            }
        }
    }

    fn add_values(&mut self, from: u32, to: u32) {
        let ArenaNode {
            total, own, count, ..
        } = self.nodes[from as usize];
        let row = &mut self.nodes[to as usize];
        row.total = row.total.saturating_add(total);
        row.own = row.own.saturating_add(own);
        row.count = row.count.saturating_add(count);
        if !self.durations.is_empty()
            && let Some(durations) = self.durations.remove(&from)
        {
            self.take_durations(to, &durations);
        }
        if self.partial.is_empty() {
            return;
        }
        if let Some(partial) = self.partial.remove(&from) {
            *self.partial.entry(to).or_default() += partial;
        }
    }

    /// Notes how long a call of `node` took.
    pub fn time(&mut self, node: u32, duration: i64) {
        self.durations.entry(node).or_default().add(duration);
    }

    /// Adds durations to those of `node`.
    pub fn take_durations(&mut self, node: u32, durations: &Sketch) {
        self.durations.entry(node).or_default().merge(durations);
    }

    /// Returns true if durations were noted.
    pub fn is_timed(&self) -> bool {
        !self.durations.is_empty()
    }

    /// Takes the durations of `node` out.
    pub fn durations_of(&mut self, node: u32) -> Sketch {
        self.durations.remove(&node).unwrap_or_default()
    }

    /// Frees everything under `node`, and keeps `node`.
    pub fn clear(&mut self, node: u32) {
        let mut work = Vec::new();
        self.take_children(node, &mut work);
        while let Some(child) = work.pop() {
            self.take_children(child, &mut work);
            self.release(child);
        }
    }

    fn take_children(&mut self, node: u32, into: &mut Vec<u32>) {
        let mut child = std::mem::replace(&mut self.nodes[node as usize].first_child, NONE);
        self.nodes[node as usize].recent_child = NONE;
        while child != NONE {
            let row = &self.nodes[child as usize];
            let next = row.next_sibling;
            self.children.remove(&edge(node, row.key));
            into.push(child);
            child = next;
        }
    }

    /// Frees a side tree.
    pub fn discard(&mut self, side: u32) {
        self.clear(side);
        self.release(side);
    }

    /// Adds the values of `from`, a sibling of the same name, to those of `to`; a value nobody recorded has
    /// no part in a minimum or maximum.
    pub fn join(&mut self, from: u32, to: u32, merge: Merge) {
        if merge == Merge::Sum {
            self.add_values(from, to);
            return;
        }
        let ArenaNode {
            total, own, count, ..
        } = self.nodes[from as usize];
        let row = &mut self.nodes[to as usize];
        let pick = |a: i64, b: i64| {
            if merge == Merge::Min {
                a.min(b)
            } else {
                a.max(b)
            }
        };
        row.total = pick(row.total, total);
        row.own = match (row.count, count) {
            (_, 0) => row.own,
            (0, _) => own,
            _ => pick(row.own, own),
        };
        row.count = row.count.saturating_add(count);
    }

    /// Returns how many spans of this node were not recorded whole.
    pub fn partial_of(&self, node: u32) -> u64 {
        if self.partial.is_empty() {
            return 0;
        }
        self.partial.get(&node).copied().unwrap_or(0)
    }

    /// Combines `value` into the own value of `node`.
    pub fn combine(&mut self, node: u32, value: i64, count: u64, merge: Merge) {
        let row = &mut self.nodes[node as usize];
        row.own = match merge {
            Merge::Sum => row.own.saturating_add(value),
            _ if row.count == 0 => value,
            Merge::Min => row.own.min(value),
            Merge::Max => row.own.max(value),
        };
        row.count = row.count.saturating_add(count);
    }
}
