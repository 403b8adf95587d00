//! The spans of a track, kept until the tables in front of them are known.

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{SpanId, Timestamp};

use super::pieces::ChunkedList;

/// What of a span is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FrameSpan {
    pub id: SpanId,
    pub parent: Option<SpanId>,
    pub start: Timestamp,
    pub end: Timestamp,
    /// What is shown; its meaning is the caller's.
    pub frame: u32,
}

/// Spans in the order in which they came.
#[derive(Default)]
pub(super) struct FrameSpans {
    rows: ChunkedList<PackedSpan>,
    /// Those that a row has no room for.
    wide: Vec<FrameSpan>,
    /// The id of the first one.
    first: Option<SpanId>,
}

/// A span in half the bytes, as most are short and near the others.
#[derive(Clone, Copy)]
struct PackedSpan {
    /// Of a wide one its place among them.
    start: Timestamp,
    /// Nanoseconds; [`WIDE`] for a wide one.
    length: u32,
    /// How far its id is from the first one's.
    id: i32,
    /// How far its parent's id is from its own, 0 for no parent.
    above: i32,
    frame: u32,
}

const WIDE: u32 = u32::MAX;

/// How far one id is from another, as far as that is near.
fn distance(from: SpanId, to: SpanId) -> Option<i32> {
    i32::try_from(to.0.wrapping_sub(from.0).cast_signed()).ok()
}

fn near(from: SpanId, distance: i32) -> SpanId {
    SpanId(from.0.wrapping_add_signed(distance.into()))
}

impl PackedSpan {
    #[inline]
    fn of(span: &FrameSpan, first: SpanId) -> Option<Self> {
        let above = match span.parent {
            Some(parent) => distance(span.id, parent).filter(|&above| above != 0)?,
            None => 0,
        };
        let length = u32::try_from(span.end.checked_sub(span.start)?).ok()?;
        Some(Self {
            start: span.start,
            length: Some(length).filter(|&length| length != WIDE)?,
            id: distance(first, span.id)?,
            above,
            frame: span.frame,
        })
    }
}

impl FrameSpans {
    #[inline]
    pub fn push(&mut self, span: FrameSpan) {
        let first = *self.first.get_or_insert(span.id);
        let row = PackedSpan::of(&span, first).unwrap_or_else(|| self.widen(span));
        self.rows.push(row);
    }

    #[inline(never)]
    fn widen(&mut self, span: FrameSpan) -> PackedSpan {
        let place = saturated_i64(self.wide.len());
        self.wide.push(span);
        PackedSpan {
            start: place,
            length: WIDE,
            id: 0,
            above: 0,
            frame: 0,
        }
    }

    #[inline]
    fn span(&self, row: &PackedSpan) -> Option<FrameSpan> {
        if row.length == WIDE {
            return self.wide.get(usize::try_from(row.start).ok()?).copied();
        }
        let id = near(self.first?, row.id);
        Some(FrameSpan {
            id,
            parent: (row.above != 0).then(|| near(id, row.above)),
            start: row.start,
            end: row.start + Timestamp::from(row.length),
            frame: row.frame,
        })
    }

    #[inline]
    pub fn get(&self, at: usize) -> Option<FrameSpan> {
        self.span(self.rows.get(at)?)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = FrameSpan> {
        self.rows.iter().filter_map(|row| self.span(row))
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

impl FromIterator<FrameSpan> for FrameSpans {
    fn from_iter<I: IntoIterator<Item = FrameSpan>>(spans: I) -> Self {
        let mut all = Self::default();
        spans.into_iter().for_each(|span| all.push(span));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_kept_as_they_are() {
        let far = |by: u64| [5, 5 + by, 5_u64.wrapping_sub(by)].map(SpanId);
        let ids = [0, 1, 1 << 31, (1 << 31) - 1, 1 << 32, 1 << 63]
            .into_iter()
            .flat_map(far);
        let mut spans = Vec::new();
        for id in ids {
            for parent in [None, Some(id), Some(SpanId(5)), Some(SpanId(u64::MAX))] {
                for (start, end) in [
                    (0, 0),
                    (7, 7 + i64::from(WIDE)),
                    (7, 6 + i64::from(WIDE)),
                    (i64::MIN, i64::MAX),
                    (i64::MAX, i64::MAX),
                ] {
                    let frame = u32::MAX - 1;
                    spans.push(FrameSpan {
                        id,
                        parent,
                        start,
                        end,
                        frame,
                    });
                }
            }
        }
        let kept: FrameSpans = spans.iter().copied().collect();
        assert!(kept.iter().eq(spans.iter().copied()));
        assert!(kept.iter().rev().eq(spans.iter().rev().copied()));
        assert!((0..=spans.len()).all(|at| kept.get(at) == spans.get(at).copied()));
    }
}
