//! Ids of spans that are written: their own where they have some, made ones elsewhere (SPEC.md §7).

use std::collections::{HashSet, VecDeque};

use foldhash::fast::RandomState;
use traceloom_model::{SpanContext, SpanId, SpanMap, Timestamp};

/// The ids by which a span is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SpanIds {
    pub(super) trace: u128,
    pub(super) span: u64,
}

/// What decides the ids of a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdentitySource {
    pub(super) id: SpanId,
    pub(super) context: Option<SpanContext>,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
}

/// A span's place in its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Assigned {
    pub(super) ids: SpanIds,
    /// Id of the parent, 0 for none.
    pub(super) parent: u64,
    /// The ids say nothing of the span's context, which has to be written otherwise.
    pub(super) hides_context: bool,
}

/// Written spans that late children are matched with, for sources that push children before their parents.
const RECENT: usize = 1 << 20;

/// Ids of spans that are checked for being unique.
const UNIQUE: usize = 1 << 20;

/// Assigns ids.
///
/// Made ids are a function of the recording alone, so that a conversion gives the same bytes each time; the first
/// span seeds them, so that two recordings have different ones.
#[derive(Debug, Default)]
pub(super) struct AssignedIds {
    written: SpanMap<SpanIds>,
    /// The written spans, the oldest first; none where all are remembered.
    recent: Option<VecDeque<SpanId>>,
    /// Ids that children or links were written with before the span came.
    promised: SpanMap<SpanIds>,
    used: HashSet<(u128, u64), RandomState>,
    seed: Option<u64>,
}

impl AssignedIds {
    /// Remembers a bounded number of written spans: the source pushes children first.
    pub(super) fn forget_old(&mut self) {
        self.recent = Some(VecDeque::new());
    }

    /// Returns the ids of a span that was written or promised.
    pub(super) fn of(&self, id: SpanId) -> Option<SpanIds> {
        self.written
            .get(id)
            .or_else(|| self.promised.get(id))
            .copied()
    }

    /// Returns true if a span that has not come has ids all the same.
    pub(super) fn is_promised(&self, id: SpanId) -> bool {
        self.promised.get(id).is_some()
    }

    /// Returns the ids of a span, fixed by this call if it has not come.
    ///
    /// All promised spans are of one trace, because a promised span may turn out to be the child of another.
    pub(super) fn promise(&mut self, id: SpanId) -> SpanIds {
        if let Some(known) = self.of(id) {
            return known;
        }
        let ids = SpanIds {
            trace: self.made_trace(u64::MAX),
            span: self.made_span(id.0),
        };
        self.promised.insert(id, ids);
        ids
    }

    /// Returns ids for something that is no span of the model, by its ordinal.
    pub(super) fn of_event(&mut self, number: u64) -> SpanIds {
        SpanIds {
            trace: self.made_trace(u64::MAX),
            span: self.made_span(!number),
        }
    }

    /// Assigns the ids of a span whose parent has these.
    pub(super) fn assign(&mut self, span: &IdentitySource, parent: Option<SpanIds>) -> Assigned {
        self.seed
            .get_or_insert_with(|| mix(span.start.cast_unsigned()) ^ span.end.cast_unsigned());
        let promised = self.promised.remove(span.id);
        let assigned = self
            .own(span, parent, promised)
            .unwrap_or_else(|| self.made(span, parent, promised));
        self.remember(span.id, assigned.ids);
        assigned
    }

    /// Returns the ids of its own that a span has, where they are unique and lead to its parent.
    fn own(
        &mut self,
        span: &IdentitySource,
        parent: Option<SpanIds>,
        promised: Option<SpanIds>,
    ) -> Option<Assigned> {
        let context = span.context.filter(|_| promised.is_none())?;
        let ids = SpanIds {
            trace: context.trace,
            span: context.span,
        };
        let leads = parent
            .is_none_or(|parent| (parent.trace, parent.span) == (context.trace, context.parent));
        if ids.trace == 0 || ids.span == 0 || !leads {
            return None;
        }
        if self.used.len() < UNIQUE && !self.used.insert((ids.trace, ids.span)) {
            return None;
        }
        Some(Assigned {
            ids,
            parent: context.parent,
            hides_context: false,
        })
    }

    fn made(
        &mut self,
        span: &IdentitySource,
        parent: Option<SpanIds>,
        promised: Option<SpanIds>,
    ) -> Assigned {
        let around = promised.or(parent).map(|ids| ids.trace);
        let context = span.context.filter(|context| context.trace != 0);
        let trace = around.or(context.map(|context| context.trace));
        let trace = trace.unwrap_or_else(|| self.made_trace(span.id.0));
        let remote = context.filter(|context| parent.is_none() && context.trace == trace);
        Assigned {
            ids: SpanIds {
                trace,
                span: promised.map_or_else(|| self.made_span(span.id.0), |ids| ids.span),
            },
            parent: parent.map_or_else(
                || remote.map_or(0, |context| context.parent),
                |ids| ids.span,
            ),
            hides_context: span.context.is_some(),
        }
    }

    fn remember(&mut self, id: SpanId, ids: SpanIds) {
        self.written.insert(id, ids);
        if let Some(recent) = &mut self.recent {
            recent.push_back(id);
            if recent.len() > RECENT
                && let Some(oldest) = recent.pop_front()
            {
                self.written.remove(oldest);
            }
        }
    }

    fn made_trace(&self, number: u64) -> u128 {
        let seed = self.seed.unwrap_or_default();
        let high = mix(seed ^ mix(number)) | 1;
        u128::from(high) << 64 | u128::from(mix(high ^ number))
    }

    fn made_span(&self, number: u64) -> u64 {
        mix(number ^ mix(!self.seed.unwrap_or_default())).max(1)
    }
}

/// Spreads the bits of a number; different numbers stay different. (The last step of SplitMix64.)
const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(id: u64, context: Option<(u128, u64, u64)>) -> IdentitySource {
        IdentitySource {
            id: SpanId(id),
            context: context.map(|(trace, span, parent)| SpanContext {
                trace,
                span,
                parent,
            }),
            start: 5,
            end: 9,
        }
    }

    #[test]
    fn own_ids_are_kept_where_they_lead_to_the_parent() {
        let mut ids = AssignedIds::default();
        let root = ids.assign(&span(1, Some((7, 2, 9))), None);
        assert_eq!((root.ids.trace, root.ids.span, root.parent), (7, 2, 9));
        let child = ids.assign(&span(2, Some((7, 3, 2))), Some(root.ids));
        assert_eq!(
            (child.ids.span, child.parent, child.hides_context),
            (3, 2, false)
        );
        // One that names another parent is put where the model has it.
        let moved = ids.assign(&span(3, Some((8, 4, 1))), Some(root.ids));
        assert_eq!(
            (moved.ids.trace, moved.parent, moved.hides_context),
            (7, 2, true)
        );
        // Nor are ids used twice.
        let again = ids.assign(&span(4, Some((7, 2, 9))), None);
        assert!(again.hides_context && again.ids.span != 2);
        assert_eq!((again.ids.trace, again.parent), (7, 9));
    }

    #[test]
    fn made_ids_follow_the_parent_and_are_the_same_each_time() {
        let made = || {
            let mut ids = AssignedIds::default();
            let root = ids.assign(&span(1, None), None);
            let child = ids.assign(&span(2, None), Some(root.ids));
            assert_eq!(
                (child.ids.trace, child.parent),
                (root.ids.trace, root.ids.span)
            );
            assert_ne!(child.ids.span, root.ids.span);
            let other = ids.assign(&span(3, None), None);
            assert_ne!(other.ids.trace, root.ids.trace);
            (root, child, other)
        };
        assert_eq!(made(), made());
    }

    #[test]
    fn promised_ids_are_kept_whatever_the_span_says() {
        let mut ids = AssignedIds::default();
        let child = ids.assign(&span(1, None), None);
        let promised = ids.promise(SpanId(2));
        assert!(ids.is_promised(SpanId(2)));
        let parent = ids.assign(&span(2, Some((7, 8, 0))), None);
        assert_eq!((parent.ids, parent.hides_context), (promised, true));
        assert!(!ids.is_promised(SpanId(2)));
        assert_eq!(ids.promise(SpanId(1)), child.ids);
    }
}
