//! Frame filters: focus, ignore and hide, with the meaning pprof gives them.

use super::arena::{Arena, ROOT};
use super::samples::settle;
use super::{CallTree, flatten};
use crate::measure::TreeSource;
use crate::symbol::Symbol;

/// A test of a function, such as a regular expression on its name.
pub type Predicate<'p> = Box<dyn Fn(&Symbol) -> bool + 'p>;

/// Which frames a view shows.
#[derive(Default)]
pub struct FrameFilter<'p> {
    /// Only paths on which some frame matches.
    pub focus: Option<Predicate<'p>>,
    /// No paths on which some frame matches.
    pub ignore: Option<Predicate<'p>>,
    /// Frames to leave out; their callees hang under their callers, their own value goes to the caller.
    pub hide: Option<Predicate<'p>>,
}

impl std::fmt::Debug for FrameFilter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameFilter")
            .field("focus", &self.focus.is_some())
            .field("ignore", &self.ignore.is_some())
            .field("hide", &self.hide.is_some())
            .finish()
    }
}

impl FrameFilter<'_> {
    /// Returns true if everything passes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.focus.is_none() && self.ignore.is_none() && self.hide.is_none()
    }

    fn marks(predicate: Option<&Predicate<'_>>, symbols: &[Symbol]) -> Vec<bool> {
        symbols
            .iter()
            .map(|symbol| !symbol.group && predicate.is_some_and(|matches| matches(symbol)))
            .collect()
    }
}

/// What becomes of a node while its path is walked.
#[derive(Clone, Copy)]
struct PathStep {
    focused: bool,
    ignored: bool,
    /// Where it or, when hidden, its nearest caller went.
    at: u32,
}

impl CallTree {
    /// Returns the tree of what `filter` shows.
    ///
    /// A path from a root to a node is what a sample is: it stays when no frame of it is ignored and,
    /// with a focus, one matches. Callers keep the calls counted but lose the value of paths that went.
    /// 100 % is what remains.
    #[must_use]
    pub fn select(&self, filter: &FrameFilter<'_>) -> Self {
        if filter.is_empty() {
            return self.clone();
        }
        let focus = FrameFilter::marks(filter.focus.as_ref(), &self.symbols);
        let ignore = FrameFilter::marks(filter.ignore.as_ref(), &self.symbols);
        let hide = FrameFilter::marks(filter.hide.as_ref(), &self.symbols);
        let marked = |marks: &[bool], node: &super::Node| {
            marks.get(node.symbol.index()).copied().unwrap_or(false)
        };
        let mut steps: Vec<PathStep> = Vec::with_capacity(self.nodes.len());
        let mut kept = vec![false; self.nodes.len()];
        let mut lost = vec![0_i64; self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            let caller = node.parent.and_then(|parent| steps.get(parent as usize));
            let focused = caller.map_or(filter.focus.is_none(), |caller| caller.focused)
                || marked(&focus, node);
            let ignored = caller.is_some_and(|caller| caller.ignored) || marked(&ignore, node);
            steps.push(PathStep {
                focused,
                ignored,
                at: ROOT,
            });
            if let (Some(kept), Some(lost)) = (kept.get_mut(number), lost.get_mut(number)) {
                *kept = focused && !ignored;
                *lost = if *kept { 0 } else { node.own };
            }
        }
        for (number, node) in self.nodes.iter().enumerate().rev() {
            let Some(parent) = node.parent.map(|parent| parent as usize) else {
                continue;
            };
            let keep = kept.get(number).copied().unwrap_or(false);
            let below = lost.get(number).copied().unwrap_or(0);
            if let (Some(kept), Some(lost)) = (kept.get_mut(parent), lost.get_mut(parent)) {
                *kept |= keep;
                *lost = lost.saturating_add(below);
            }
        }
        let alone = self.measure.goes_with_function();
        let mut arena = Arena::new();
        arena.base = self.base;
        for (number, node) in self.nodes.iter().enumerate() {
            if !kept.get(number).copied().unwrap_or(false) {
                continue;
            }
            let caller = node.parent.and_then(|parent| steps.get(parent as usize));
            let above = caller.map_or(ROOT, |caller| caller.at);
            let Some(step) = steps.get_mut(number) else {
                continue;
            };
            let hidden = marked(&hide, node);
            step.at = if hidden {
                above
            } else {
                arena.child(above, node.symbol.0)
            };
            let shown = step.focused && !step.ignored;
            let own = if shown { node.own } else { 0 };
            let lost = lost.get(number).copied().unwrap_or(0);
            let at = step.at;
            let merge = self.measure.merge;
            // A sample belongs to its path; a call was made whether or not its own time is shown.
            let samples = self.measure.source == TreeSource::Samples;
            let count = if samples && !shown { 0 } else { node.count };
            if !hidden {
                let values = super::Node {
                    own,
                    total: node.total.saturating_sub(lost),
                    count,
                    ..*node
                };
                flatten::add(&mut arena, at, &values, merge);
                if let Some(durations) = self.durations.get(number) {
                    arena.take_durations(at, durations);
                }
            } else if at != ROOT && shown && (!samples || count > 0) && !alone {
                arena.combine(at, own, if samples { count } else { 0 }, merge);
            }
        }
        let total = if self.measure.settles() {
            settle(&mut arena, &self.measure)
        } else {
            arena.roots_total()
        };
        flatten::flatten(
            arena,
            self.measure.clone(),
            self.symbols.clone(),
            total,
            |symbol| symbol,
        )
    }
}
