//! Parents that are on another track than what is inside them.
//!
//! Formats of slices nest what lies on one track; a parent elsewhere is said by an id or not at all.

use traceloom_model::{SpanBatch, SpanMap, TrackId};

/// How many spans wait for a parent, and on which tracks they are.
pub(super) struct SpansWithoutParent {
    track: TrackId,
    spans: u64,
    /// Those on other tracks than the first one.
    elsewhere: Vec<TrackId>,
}

/// Spans by the parent they wait for: a parent comes after what is inside it.
pub(super) type Parents = SpanMap<SpansWithoutParent>;

/// Parents waited for at most; the spans of more are not looked at.
const PARENTS: usize = 1 << 20;

/// Counts the spans of which a batch tells that their parent is on another track.
pub(super) fn distant(parents: &mut Parents, batch: &SpanBatch) -> u64 {
    let mut distant = 0;
    let rows = batch.id.iter().zip(&batch.parent).zip(&batch.track);
    for ((&id, parent), &track) in rows {
        if let Some(waiting) = parents.remove(id) {
            let first = if waiting.track == track {
                0
            } else {
                waiting.spans
            };
            let others = waiting.elsewhere.iter().filter(|&&of| of != track);
            distant += first + others.count() as u64;
        }
        let Some(parent) = *parent else { continue };
        if let Some(waiting) = parents.get_mut(parent) {
            if waiting.track == track {
                waiting.spans += 1;
            } else {
                waiting.elsewhere.push(track);
            }
        } else if parents.len() < PARENTS {
            let waiting = SpansWithoutParent {
                track,
                spans: 1,
                elsewhere: Vec::new(),
            };
            parents.insert(parent, waiting);
        }
    }
    distant
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_model::{FunctionId, SpanId, SpanRow};

    #[test]
    fn spans_of_a_parent_elsewhere_are_counted_when_it_comes() {
        let [here, there, beyond] = [0, 1, 2].map(TrackId::new);
        let mut batch = SpanBatch::default();
        for (id, parent, track) in [
            (1, Some(5), here),
            (2, Some(5), there),
            (3, Some(5), there),
            (4, Some(5), beyond),
            (5, Some(6), there),
            (6, None, there),
        ] {
            let row = SpanRow::call(SpanId(id), track, FunctionId::new(0), 0, 1);
            batch.push(&SpanRow {
                parent: parent.map(SpanId),
                ..row
            });
        }
        let mut parents = Parents::default();
        assert_eq!(distant(&mut parents, &batch), 2);
        assert!(parents.is_empty());
    }
}
