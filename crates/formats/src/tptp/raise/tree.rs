//! The spans of one track that wait for the outermost one around them.

use traceloom_model::{FunctionId, SpanId, SpanRow, SpanStatus};

use crate::spans::parents_first::{Children, ParentLists, PendingSpan};

/// What is written of a span.
#[derive(Debug)]
pub(super) struct EntryExit {
    id: SpanId,
    pub start: i64,
    pub end: i64,
    pub function: Option<FunctionId>,
    pub status: SpanStatus,
    pub rare: Option<Box<RareSpanFacts>>,
}

impl EntryExit {
    #[inline]
    pub fn of(row: &SpanRow<'_>, rare: RareSpanFacts) -> Self {
        Self {
            id: row.id,
            start: row.start,
            end: row.end,
            function: row.function,
            status: row.status,
            rare: (rare != RareSpanFacts::default()).then(|| Box::new(rare)),
        }
    }
}

impl PendingSpan for EntryExit {
    fn id(&self) -> SpanId {
        self.id
    }

    fn order(&self) -> (i64, i64) {
        (self.start, 0)
    }
}

/// Values that few spans have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct RareSpanFacts {
    /// Processor time of the thread at the entry.
    pub cpu_at_entry: u64,
    /// Processor time of the thread in between.
    pub cpu: u64,
    /// The object whose method it is, 0 for none.
    pub object: u64,
}

/// Finished spans of one track.
#[derive(Debug, Default)]
pub(super) struct PendingCall {
    roots: Vec<EntryExit>,
    pub inner: ParentLists<EntryExit>,
}

impl PendingCall {
    #[inline]
    pub fn push(&mut self, parent: Option<SpanId>, span: EntryExit) {
        match parent.filter(|&parent| parent != span.id) {
            Some(parent) => self.inner.push(parent, span),
            None => self.roots.push(span),
        }
    }

    /// Takes the spans without a parent on this track, in the order of their starts, each with those inside it.
    pub fn take_roots(&mut self) -> Vec<(EntryExit, Children)> {
        let roots = self.roots.drain(..);
        let mut roots: Vec<_> = roots
            .map(|root| {
                let inside = self.inner.of(root.id);
                (root, inside)
            })
            .collect();
        if !self.inner.is_empty() {
            roots.extend(self.inner.take_tops());
        }
        roots.sort_by_key(|(root, _)| root.start);
        roots
    }

    /// Gives back the memory of an unusually large call.
    pub fn shrink(&mut self) {
        if self.inner.is_empty() && self.inner.capacity() > USUAL {
            self.inner = ParentLists::default();
        }
    }
}

/// Spans of a call whose room is kept for the next.
const USUAL: usize = 1 << 12;
