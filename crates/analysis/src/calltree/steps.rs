//! Enter and exit steps into the tree: the path that a trace of gigabytes takes.

use traceloom_model::{FunctionId, Timestamp, TrackId};

use super::arena::{Arena, ROOT};
use crate::symbol::key_of_function;

/// A function that was entered and not left.
#[derive(Clone, Copy, Debug)]
struct EnteredFunction {
    node: u32,
    start: Timestamp,
    /// Duration of the children that ended.
    covered: i64,
}

/// What is open on one track.
#[derive(Debug)]
pub(super) struct TrackStack {
    /// What is open, outermost first. At the bottom lies what calls hang from: their ground, or
    /// a side tree while calls are selected.
    stack: Vec<EnteredFunction>,
    last: Timestamp,
    /// The root, or the group of the track.
    ground: u32,
}

/// The tracks that steps came for.
#[derive(Debug, Default)]
pub(super) struct TrackStacks {
    /// Those on which something is open: each call may have a track of its own.
    lines: Vec<Option<Box<TrackStack>>>,
    /// Those without anything open, for tracks to come.
    #[expect(clippy::vec_box, reason = "a track takes the box")]
    spare: Vec<Box<TrackStack>>,
    /// Durations are noted.
    timed: bool,
}

/// Decides about a call that ended: the step number of its exit, the function, its first and last time.
pub(super) type Verdict<'a> = &'a mut dyn FnMut(usize, u32, Timestamp, Timestamp) -> bool;

/// Decides about a call that never ended, by its track.
pub(super) type LastVerdict<'a> = &'a mut dyn FnMut(TrackId, u32, Timestamp, Timestamp) -> bool;

impl TrackStacks {
    /// No track yet; how long calls took is noted with `timed`.
    pub fn new(timed: bool) -> Self {
        Self {
            lines: Vec::new(),
            spare: Vec::new(),
            timed,
        }
    }

    /// Returns true if no steps came.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns true if nothing is open.
    pub fn is_idle(&self) -> bool {
        let mut lines = self.lines.iter().flatten();
        lines.all(|line| line.stack.len() < 2)
    }

    /// Takes the steps of one track, whose calls hang from `ground`; `judge` is asked at the end of each call
    /// when calls are selected.
    pub fn run(
        &mut self,
        arena: &mut Arena,
        (track, ground): (TrackId, u32),
        (first, times, functions): (usize, &[Timestamp], &[Option<FunctionId>]),
        judge: Option<Verdict<'_>>,
    ) {
        let (selecting, timed) = (judge.is_some(), self.timed);
        let mut line = self.take_line(arena, (track, ground), selecting);
        match judge {
            None if timed => line.fold::<true>(arena, times, functions),
            None => line.fold::<false>(arena, times, functions),
            Some(judge) if timed => {
                line.fold_calls::<true>(arena, first, times, functions, judge);
            }
            Some(judge) => line.fold_calls::<false>(arena, first, times, functions, judge),
        }
        if let Some(&last) = times.last() {
            line.last = last;
        }
        match self.lines.get_mut(track.index()) {
            Some(slot) if line.stack.len() > 1 => *slot = Some(line),
            _ => self.spare.push(line),
        }
    }

    /// Takes out what is open on a track.
    fn take_line(
        &mut self,
        arena: &mut Arena,
        (track, ground): (TrackId, u32),
        selecting: bool,
    ) -> Box<TrackStack> {
        if self.lines.len() <= track.index() {
            self.lines.resize_with(track.index() + 1, || None);
        }
        if let Some(line) = self.lines.get_mut(track.index()).and_then(Option::take) {
            return line;
        }
        let base = |node| EnteredFunction {
            node,
            start: 0,
            covered: 0,
        };
        let Some(mut line) = self.spare.pop() else {
            let node = if selecting { arena.side_tree() } else { ground };
            return Box::new(TrackStack {
                stack: vec![base(node)],
                last: Timestamp::MIN,
                ground,
            });
        };
        if !selecting {
            line.stack.clear();
            line.stack.push(base(ground));
        }
        line.ground = ground;
        line
    }

    /// Ends what is open at the last time of its track, marked as partial.
    pub fn finish(&mut self, arena: &mut Arena, mut judge: Option<LastVerdict<'_>>) {
        for (track, line) in (0..).zip(self.lines.drain(..)) {
            let Some(mut line) = line else { continue };
            let [ground, root, ..] = *line.stack else {
                continue;
            };
            let mut covered = 0;
            while line.stack.len() > 1
                && let Some(mut open) = line.stack.pop()
            {
                open.covered = open.covered.saturating_add(covered);
                covered = leave::<false>(arena, &open, line.last);
                *arena.partial.entry(open.node).or_default() += 1;
            }
            let key = arena.node(root.node).key;
            if let Some(judge) = judge.as_mut()
                && judge(TrackId::new(track), key, root.start, line.last)
            {
                arena.move_children(ground.node, line.ground);
            }
        }
    }
}

/// Books an exit and returns the duration.
#[inline]
fn leave<const TIMED: bool>(arena: &mut Arena, open: &EnteredFunction, time: Timestamp) -> i64 {
    let duration = time.saturating_sub(open.start).max(0);
    let node = arena.node_mut(open.node);
    node.total = node.total.saturating_add(duration);
    node.own = node
        .own
        .saturating_add(duration.saturating_sub(open.covered).max(0));
    node.count += 1;
    if TIMED {
        arena.time(open.node, duration);
    }
    duration
}

impl TrackStack {
    fn fold<const TIMED: bool>(
        &mut self,
        arena: &mut Arena,
        times: &[Timestamp],
        functions: &[Option<FunctionId>],
    ) {
        let stack = &mut self.stack;
        // The innermost open function stays in registers; the ground is always there.
        let Some(mut top) = stack.pop() else {
            return;
        };
        for (&time, &function) in times.iter().zip(functions) {
            if function.is_some() {
                let node = arena.child(top.node, key_of_function(function));
                stack.push(top);
                top = EnteredFunction {
                    node,
                    start: time,
                    covered: 0,
                };
            } else if let Some(below) = stack.pop() {
                let duration = leave::<TIMED>(arena, &top, time);
                top = below;
                top.covered = top.covered.saturating_add(duration);
            }
        }
        stack.push(top);
    }

    fn fold_calls<const TIMED: bool>(
        &mut self,
        arena: &mut Arena,
        first: usize,
        times: &[Timestamp],
        functions: &[Option<FunctionId>],
        judge: Verdict<'_>,
    ) {
        for (at, (&time, &function)) in times.iter().zip(functions).enumerate() {
            if function.is_some() {
                let parent = self.stack.last().map_or(ROOT, |open| open.node);
                let node = arena.child(parent, key_of_function(function));
                self.stack.push(EnteredFunction {
                    node,
                    start: time,
                    covered: 0,
                });
                continue;
            }
            if self.stack.len() < 2 {
                continue;
            }
            let (Some(open), Some(caller)) = (self.stack.pop(), self.stack.last_mut()) else {
                continue;
            };
            let duration = leave::<TIMED>(arena, &open, time);
            caller.covered = caller.covered.saturating_add(duration);
            if self.stack.len() > 1 {
                continue;
            }
            let base = self.stack.first().map_or(ROOT, |ground| ground.node);
            let key = arena.node(open.node).key;
            if judge(first + at, key, open.start, time) {
                arena.move_children(base, self.ground);
            } else {
                arena.clear(base);
            }
        }
    }
}
