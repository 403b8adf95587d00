//! Spans into the tree: children come before their parents and wait in side trees.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{FunctionId, SpanId, SpanRow, SpanStatus, Timestamp, TrackId};

use super::arena::{Arena, ROOT};
use super::cover::Cover;
use crate::symbol::key_of_function;

/// What of a span matters to the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeSpan {
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub track: TrackId,
    pub function: Option<FunctionId>,
    pub start: Timestamp,
    pub end: Timestamp,
    pub status: SpanStatus,
    /// A root that the selection refuses.
    pub refused: bool,
    /// The key of its own group; none for what is in its caller's.
    pub group: Option<u32>,
}

impl TreeSpan {
    pub(crate) fn of(row: &SpanRow<'_>, refused: bool) -> Self {
        Self {
            id: row.id,
            parent: row.parent,
            track: row.track,
            function: row.function,
            start: row.start,
            end: row.end,
            status: row.status,
            refused,
            group: None,
        }
    }
}

/// Children of a span that has not come: their side tree, and what of it they cover.
#[derive(Debug)]
struct PendingChildren {
    side: u32,
    cover: Cover,
    /// That of the child that came first.
    track: TrackId,
}

/// The part of a span's children that belongs to a group of its own.
#[derive(Debug)]
struct Apart {
    group: u32,
    side: u32,
    /// What it took of the span.
    time: i64,
}

/// A span, and its track where spans of others are no children.
type Place = (SpanId, Option<TrackId>);

/// Finds the node that the calls of a track hang from.
pub(crate) type Ground<'g> = &'g mut dyn FnMut(&mut Arena, TrackId) -> u32;

/// Spans on their way into the tree.
#[derive(Debug)]
pub(crate) struct SpanFeed {
    /// Spans of other tracks count as children too.
    across: bool,
    /// Durations are noted.
    timed: bool,
    waiting: HashMap<Place, PendingChildren, RandomState>,
    /// Children with groups of their own, or in which such children are, of spans that are waited for.
    apart: HashMap<Place, Vec<Apart>, RandomState>,
    /// Spans of a reader without order, until all have come.
    held: Vec<TreeSpan>,
}

impl SpanFeed {
    pub fn new(across: bool, timed: bool) -> Self {
        Self {
            across,
            timed,
            waiting: HashMap::default(),
            apart: HashMap::default(),
            held: Vec::new(),
        }
    }

    /// Keeps a span for [`SpanFeed::finish`], which puts children before parents.
    pub fn hold(&mut self, piece: TreeSpan) {
        self.held.push(piece);
    }

    /// Puts a span in, after all its children; a root hangs from `ground`.
    ///
    /// What of it belongs to other groups is told there once more, with the time that it took: the parts of all
    /// groups come to the duration.
    pub fn put(&mut self, arena: &mut Arena, ground: u32, piece: &TreeSpan) {
        let line = (!self.across).then_some(piece.track);
        let waiting = self.waiting.remove(&(piece.id, line));
        let apart = match self.apart.is_empty() {
            true => None,
            false => self.apart.remove(&(piece.id, line)),
        };
        let duration = piece.end.saturating_sub(piece.start).max(0);
        let covered = waiting
            .as_ref()
            .map_or(0, |waiting| waiting.cover.within(piece.start, piece.end));
        let key = key_of_function(piece.function);
        if piece.parent.is_none() && piece.refused {
            waiting.inspect(|waiting| arena.discard(waiting.side));
            discard(arena, apart);
            return;
        }
        let mut above = match piece.parent {
            None => ground,
            Some(parent) => {
                let around = self.around(arena, parent, line, piece.track);
                around.cover.add(piece.start, piece.end);
                around.side
            }
        };
        let mut left = duration;
        if let (Some(waiting), Some(apart)) = (&waiting, apart) {
            for Apart { group, side, time } in apart {
                if piece.group == Some(group) {
                    arena.move_children(side, waiting.side);
                    arena.discard(side);
                    continue;
                }
                let time = time.min(left);
                left -= time;
                let apart = self.apart(arena, piece, line, (group, time));
                let at = arena.adopt(side, apart, key);
                let node = arena.node_mut(at);
                node.total = node.total.saturating_add(time);
            }
        }
        if let Some(group) = piece.group {
            above = self.apart(arena, piece, line, (group, left));
        }
        let at = match waiting {
            Some(waiting) => arena.adopt(waiting.side, above, key),
            None => arena.child(above, key),
        };
        let node = arena.node_mut(at);
        node.total = node.total.saturating_add(left);
        node.own = node
            .own
            .saturating_add(duration.saturating_sub(covered).max(0));
        node.count += 1;
        if matches!(
            piece.status,
            SpanStatus::PartialStart | SpanStatus::PartialEnd
        ) {
            *arena.partial.entry(at).or_default() += 1;
        } else if self.timed {
            arena.time(at, duration);
        }
    }

    /// Finds what a span hangs from in a group of its own, or its children's, of which it takes `time`.
    fn apart(
        &mut self,
        arena: &mut Arena,
        piece: &TreeSpan,
        line: Option<TrackId>,
        (group, time): (u32, i64),
    ) -> u32 {
        let Some(parent) = piece.parent else {
            return arena.child(ROOT, group);
        };
        let apart = self.apart.entry((parent, line)).or_default();
        let known = apart.iter_mut().find(|one| one.group == group);
        if let Some(one) = known {
            one.time = one.time.saturating_add(time);
            return one.side;
        }
        let side = arena.side_tree();
        apart.push(Apart { group, side, time });
        side
    }

    fn around(
        &mut self,
        arena: &mut Arena,
        parent: SpanId,
        line: Option<TrackId>,
        track: TrackId,
    ) -> &mut PendingChildren {
        let entry = self.waiting.entry((parent, line));
        entry.or_insert_with(|| PendingChildren {
            side: arena.side_tree(),
            cover: Cover::default(),
            track,
        })
    }

    /// Puts in what was held, then makes roots of children whose parent never came.
    ///
    /// With calls selected such children are dropped: nothing tells which call they belong to.
    pub fn finish(&mut self, arena: &mut Arena, selecting: bool, ground: Ground<'_>) {
        let held = std::mem::take(&mut self.held);
        let spans: Vec<_> = held.iter().map(|piece| (piece.id, piece.parent)).collect();
        for at in children_first(&spans) {
            if let Some(piece) = held.get(at) {
                let ground = ground(arena, piece.track);
                self.put(arena, ground, piece);
            }
        }
        let mut orphans: Vec<_> = self.waiting.drain().collect();
        orphans.sort_unstable_by_key(|(key, _)| *key);
        for (place, waiting) in orphans {
            let apart = self.apart.remove(&place);
            if !selecting {
                let ground = ground(arena, waiting.track);
                arena.move_children(waiting.side, ground);
                for one in apart.iter().flatten() {
                    let ground = arena.child(ROOT, one.group);
                    arena.move_children(one.side, ground);
                }
            }
            arena.discard(waiting.side);
            discard(arena, apart);
        }
    }
}

fn discard(arena: &mut Arena, apart: Option<Vec<Apart>>) {
    for one in apart.into_iter().flatten() {
        arena.discard(one.side);
    }
}

/// Orders spans so that each comes after all spans that name it as parent.
///
/// Spans in a circle of parents have no such order; they come last, as they were.
pub(crate) fn children_first(spans: &[(SpanId, Option<SpanId>)]) -> Vec<usize> {
    let rows: HashMap<SpanId, usize, RandomState> = spans
        .iter()
        .enumerate()
        .map(|(at, &(id, _))| (id, at))
        .collect();
    let parent = |at: usize| {
        let &(_, parent) = spans.get(at)?;
        rows.get(&parent?).copied()
    };
    let mut open = vec![0_u32; spans.len()];
    for at in 0..spans.len() {
        if let Some(count) = parent(at).and_then(|parent| open.get_mut(parent)) {
            *count += 1;
        }
    }
    let mut order: Vec<usize> = (0..spans.len())
        .filter(|&at| open.get(at) == Some(&0))
        .collect();
    let mut done = vec![false; spans.len()];
    let mut next = 0;
    while let Some(&at) = order.get(next) {
        next += 1;
        if let Some(done) = done.get_mut(at) {
            *done = true;
        }
        let Some(parent) = parent(at) else { continue };
        if let Some(count) = open.get_mut(parent) {
            *count -= 1;
            if *count == 0 {
                order.push(parent);
            }
        }
    }
    order.extend((0..spans.len()).filter(|&at| done.get(at) == Some(&false)));
    order
}
