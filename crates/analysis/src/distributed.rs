//! One trace across processes: spans of several recordings whose ids say that they belong together.
//!
//! Two passes over each recording, because a child may be read before its parent and because most of
//! what is read belongs to other traces: [`Contexts`] notes which call trees name which spans, and
//! [`ChosenTrees`] lets the trees through that [`related`] chose. [`attach`] then finds the places where one
//! tree hangs below another. Clocks of two processes are compared nowhere: only ids join.

use std::collections::{HashMap, HashSet};

use traceloom_model::{
    Asks, Clock, Definitions, Flow, Note, Order, Origin, Recording, Sink, SpanBatch, SpanContext,
    SpanId, SpanRow, TrackId, Wants,
};

use crate::stage::HeldSpans;

/// A call tree of a recording, wherever it is read again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TreeKey {
    /// Where its root's bytes are.
    Origin(Origin),
    /// The root's number, where a format has no origins.
    Span(SpanId),
}

impl TreeKey {
    /// Returns the key of the tree below `root`.
    #[must_use]
    pub fn of(root: &SpanRow<'_>) -> Self {
        root.origin.map_or(Self::Span(root.id), Self::Origin)
    }
}

/// A call tree with the identities of the calls in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallContexts {
    /// The tree.
    pub key: TreeKey,
    /// What its calls are called across processes.
    pub contexts: Vec<SpanContext>,
}

/// Collects the call trees whose calls have identities across processes.
#[derive(Debug, Default)]
pub struct Contexts {
    trees: Vec<CallContexts>,
    order: Order,
    /// Calls whose root has not ended, by track: children come first.
    pending: HashMap<TrackId, Vec<SpanContext>>,
    /// All spans of a recording that has no order.
    held: HeldSpans,
}

impl Contexts {
    /// Returns the trees: those of a recording with an order in the order of their ends.
    #[must_use]
    pub fn finish(mut self) -> Vec<CallContexts> {
        for tree in self.held.trees() {
            let rows = tree.iter().filter_map(|&at| self.held.spans.row(at));
            let contexts: Vec<SpanContext> = rows.filter_map(|row| identity(&row)).collect();
            let root = tree.first().and_then(|&at| self.held.spans.row(at));
            self.trees.extend(
                root.filter(|_| !contexts.is_empty())
                    .map(|root| CallContexts {
                        key: TreeKey::of(&root),
                        contexts,
                    }),
            );
        }
        self.trees
    }
}

/// Returns what a call is called across processes, if it is called anything.
fn identity(row: &SpanRow<'_>) -> Option<SpanContext> {
    row.context.filter(|it| it.trace != 0 || it.span != 0)
}

impl Sink for Contexts {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Calls,
            derived_samples: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, _clock: Clock) {
        self.order = order;
    }

    fn define(&mut self, _definitions: Definitions) -> Flow {
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.iter() {
            let own = identity(&row);
            if self.order == Order::None {
                self.held.put(&SpanRow {
                    attributes: &[],
                    ..row
                });
                continue;
            }
            if row.parent.is_some() {
                if let Some(context) = own {
                    self.pending.entry(row.track).or_default().push(context);
                }
                continue;
            }
            let mut contexts = self.pending.remove(&row.track).unwrap_or_default();
            contexts.extend(own);
            if !contexts.is_empty() {
                self.trees.push(CallContexts {
                    key: TreeKey::of(&row),
                    contexts,
                });
            }
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Returns true if two identities may be of one trace: a recording without trace ids has 0.
const fn one_trace(a: u128, b: u128) -> bool {
    a == b || a == 0 || b == 0
}

/// Chooses the trees of a trace from those of several recordings.
///
/// These are the trees with a call of trace `trace`, unless that is 0, those of the calls in `from`, and
/// every tree below them: one whose call names a chosen span as its parent.
#[must_use]
pub fn related(
    recordings: &[Vec<CallContexts>],
    trace: u128,
    from: &[SpanContext],
) -> Vec<HashSet<TreeKey>> {
    let mut chosen: Vec<HashSet<TreeKey>> = vec![HashSet::new(); recordings.len()];
    let mut by_parent: HashMap<u64, Vec<(usize, &CallContexts)>> = HashMap::new();
    let mut spans: Vec<SpanContext> = from.to_vec();
    let asked: HashSet<&SpanContext> = from.iter().collect();
    for (at, trees) in recordings.iter().enumerate() {
        for tree in trees {
            let here = |context: &SpanContext| {
                trace != 0 && context.trace == trace || asked.contains(context)
            };
            if tree.contexts.iter().any(here) {
                if let Some(chosen) = chosen.get_mut(at) {
                    chosen.insert(tree.key);
                }
                spans.extend(&tree.contexts);
                continue;
            }
            for context in tree.contexts.iter().filter(|context| context.parent != 0) {
                by_parent
                    .entry(context.parent)
                    .or_default()
                    .push((at, tree));
            }
        }
    }
    while let Some(span) = spans.pop() {
        // Taken out: a tree is looked at once for each parent that it names.
        for (at, tree) in by_parent.remove(&span.span).unwrap_or_default() {
            let below = tree
                .contexts
                .iter()
                .any(|context| context.parent == span.span && one_trace(context.trace, span.trace));
            let new = below && chosen.get_mut(at).is_some_and(|set| set.insert(tree.key));
            if new {
                spans.extend(&tree.contexts);
            }
        }
    }
    chosen
}

/// Passes the chosen trees of a recording on, with all definitions.
#[derive(Debug)]
pub struct ChosenTrees<'s, S: Sink + ?Sized> {
    to: &'s mut S,
    chosen: &'s HashSet<TreeKey>,
    order: Order,
    pending: HashMap<TrackId, SpanBatch>,
    /// All spans of a recording that has no order.
    held: HeldSpans,
}

impl<'s, S: Sink + ?Sized> ChosenTrees<'s, S> {
    /// Passes the trees of `chosen` on to `to`.
    pub fn new(to: &'s mut S, chosen: &'s HashSet<TreeKey>) -> Self {
        Self {
            to,
            chosen,
            order: Order::default(),
            pending: HashMap::new(),
            held: HeldSpans::default(),
        }
    }

    /// Passes the trees of a recording without an order on.
    pub fn finish(self) -> Flow {
        let Self {
            to, chosen, held, ..
        } = self;
        for tree in held.trees() {
            let root = tree.first().and_then(|&at| held.spans.row(at));
            if !root.is_some_and(|root| chosen.contains(&TreeKey::of(&root))) {
                continue;
            }
            let mut spans = SpanBatch::default();
            let rows = tree.iter().filter_map(|&at| held.spans.row(at));
            rows.for_each(|row| spans.push(&row));
            to.spans(spans)?;
        }
        Flow::Continue(())
    }
}

impl<S: Sink + ?Sized> Sink for ChosenTrees<'_, S> {
    fn asks(&self) -> Asks {
        Asks {
            derived_samples: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.order = order;
        self.to.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.to.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.iter() {
            if self.order == Order::None {
                self.held.put(&row);
                continue;
            }
            let tree = self.pending.entry(row.track).or_default();
            tree.push(&row);
            if row.parent.is_none() {
                let tree = std::mem::take(tree);
                if self.chosen.contains(&TreeKey::of(&row)) {
                    self.to.spans(tree)?;
                }
            }
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.to.note(note)
    }
}

/// Finds the spans that hang below a span of another tree, each with that span.
///
/// A call hangs below the span that it names as its parent, when no call around it belongs to a trace
/// itself. What would close a circle stays a root.
#[must_use]
pub fn attach(recording: &Recording) -> HashMap<SpanId, SpanId> {
    let spans = &recording.spans;
    let mut parent_of: HashMap<SpanId, SpanId> = HashMap::new();
    let mut context_of: HashMap<SpanId, SpanContext> = HashMap::new();
    let mut by_span: HashMap<u64, Vec<(SpanId, SpanContext)>> = HashMap::new();
    for row in spans.iter() {
        if let Some(parent) = row.parent {
            parent_of.insert(row.id, parent);
        }
        let Some(context) = row.context else { continue };
        context_of.insert(row.id, context);
        if context.span != 0 {
            by_span
                .entry(context.span)
                .or_default()
                .push((row.id, context));
        }
    }
    let mut attached = HashMap::new();
    for row in spans.iter() {
        let Some(context) = row.context.filter(|context| context.parent != 0) else {
            continue;
        };
        let mut around = row.parent;
        while let Some(id) = around.filter(|id| !context_of.contains_key(id)) {
            around = parent_of.get(&id).copied();
        }
        if around.is_some() {
            continue;
        }
        let candidates = by_span.get(&context.parent).map_or(&[][..], Vec::as_slice);
        let fits = |(id, other): &&(SpanId, SpanContext)| {
            *id != row.id && one_trace(other.trace, context.trace)
        };
        let same = candidates
            .iter()
            .filter(fits)
            .find(|(_, other)| other.trace == context.trace);
        let Some(&(parent, _)) = same.or_else(|| candidates.iter().find(fits)) else {
            continue;
        };
        let mut above = Some(parent);
        while let Some(id) = above.filter(|&id| id != row.id) {
            let next = attached.get(&id).or_else(|| parent_of.get(&id));
            above = next.copied();
        }
        if above.is_none() {
            attached.insert(row.id, parent);
        }
    }
    attached
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_model::{Function, Tables};

    /// Rows of (span, parent span, enclosing row): children first.
    fn recording(trace: u128, rows: &[(u64, u64, Option<u64>)]) -> Recording {
        let mut tables = Tables::new();
        let name = tables.string("f");
        let function = tables.function(Function::named(name));
        let track = tables.track(traceloom_model::Track::default());
        let mut batch = SpanBatch::default();
        for (at, &(span, parent, enclosing)) in (0..).zip(rows) {
            batch.push(&SpanRow {
                parent: enclosing.map(SpanId),
                context: (span != 0).then_some(SpanContext {
                    trace,
                    span,
                    parent,
                }),
                ..SpanRow::call(SpanId(at), track, function, 0, 1)
            });
        }
        let mut recording = Recording::default();
        let _ = recording.define(tables.take_definitions());
        let _ = recording.spans(batch);
        recording
    }

    fn contexts(recording: &Recording) -> Vec<CallContexts> {
        let mut sink = Contexts::default();
        let _ = sink.spans(recording.spans.clone());
        sink.finish()
    }

    fn numbers(chosen: &[HashSet<TreeKey>]) -> Vec<Vec<u64>> {
        let number = |key: &TreeKey| match key {
            TreeKey::Span(id) => id.0,
            TreeKey::Origin(_) => u64::MAX,
        };
        let sorted = |set: &HashSet<TreeKey>| {
            let mut all: Vec<u64> = set.iter().map(number).collect();
            all.sort_unstable();
            all
        };
        chosen.iter().map(sorted).collect()
    }

    #[test]
    fn trees_of_a_trace_are_found_by_its_id_and_by_the_spans_they_name() {
        // A call 10 around a plain record around a call 11; another call 12.
        let front = recording(
            7,
            &[
                (11, 0, Some(1)),
                (0, 0, Some(2)),
                (10, 0, None),
                (12, 0, None),
            ],
        );
        let back = recording(0, &[(20, 11, None), (21, 99, None), (22, 20, None)]);
        let all = [contexts(&front), contexts(&back)];
        assert_eq!(all[0].len(), 2);
        assert_eq!(all[0][0].contexts.len(), 2);
        assert_eq!(numbers(&related(&all, 7, &[])), [vec![2, 3], vec![0, 2]]);
        let from = [SpanContext {
            trace: 7,
            span: 20,
            parent: 0,
        }];
        assert_eq!(numbers(&related(&all, 0, &from)), [vec![], vec![2]]);
        let own = [SpanContext {
            trace: 0,
            span: 20,
            parent: 11,
        }];
        assert_eq!(numbers(&related(&all, 0, &own)), [vec![], vec![0, 2]]);
        let other = [SpanContext {
            trace: 8,
            span: 20,
            parent: 0,
        }];
        assert_eq!(numbers(&related(&all, 8, &other)), [vec![], vec![2]]);
    }

    #[test]
    fn other_trees_do_not_pass() {
        let both = recording(7, &[(11, 0, Some(1)), (10, 0, None), (12, 0, None)]);
        let chosen = HashSet::from([TreeKey::Span(SpanId(1))]);
        let mut kept = Recording::default();
        let _ = ChosenTrees::new(&mut kept, &chosen).spans(both.spans);
        assert_eq!(kept.spans.id, [SpanId(0), SpanId(1)]);
    }

    #[test]
    fn a_call_hangs_below_its_parent_and_never_below_itself() {
        let joined = recording(
            7,
            &[
                (11, 0, Some(1)),
                (10, 0, None),
                (20, 11, None),
                // Inside another call of the trace already.
                (31, 10, Some(4)),
                (30, 20, None),
                (40, 40, None),
                (50, 51, None),
                (51, 50, None),
            ],
        );
        let mut found: Vec<_> = attach(&joined)
            .into_iter()
            .map(|(child, parent)| (child.0, parent.0))
            .collect();
        found.sort_unstable();
        assert_eq!(found, [(2, 0), (4, 2), (6, 7)]);
    }
}
