//! The markers of a track, kept in a few words each until the tables in front of them are known.

use traceloom_model::bounds::{row_number, subslice};
use traceloom_model::{
    AttrKeyId, EventTypeId, FunctionId, SpanStatus, StackId, StringId, Timestamp, ValueTypeId,
};

/// What a marker says besides its times and its name.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum MarkerField {
    Kind(StringId),
    Status(SpanStatus),
    /// A place in [`super::rows::Rows::contexts`].
    Context(u32),
    Counter(ValueTypeId, i64),
    Cause(StackId),
    I64(AttrKeyId, i64),
    U64(AttrKeyId, u64),
    F64(AttrKeyId, f64),
    Bool(AttrKeyId, bool),
    Text(AttrKeyId, StringId),
    /// A place in [`super::rows::Rows::values`].
    Value(AttrKeyId, u32),
}

/// What a marker is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MarkerKind {
    Span(Option<FunctionId>),
    Event(EventTypeId),
    /// An event without an end.
    Instant(EventTypeId),
}

/// The markers of a track in the order in which they came.
#[derive(Default)]
pub(super) struct Markers {
    /// Of [`PIECE`] markers each, but the last one.
    pieces: Vec<MarkerPiece>,
    pub has_spans: bool,
    pub has_events: bool,
}

const PIECE: usize = 1 << 10;

#[derive(Default)]
struct MarkerPiece {
    rows: Vec<MarkerRow>,
    /// What the markers are of and their items, one marker after the other.
    said: Vec<u32>,
}

#[derive(Clone, Copy)]
struct MarkerRow {
    start: Timestamp,
    /// Nanoseconds until the end, or [`WIDE`], or [`INSTANT`].
    length: u32,
    /// Where what it says begins, and in the lowest bit whether it is of an event.
    at: u32,
}

/// The end stands behind what the marker is of.
const WIDE: u32 = u32::MAX;
const INSTANT: u32 = u32::MAX - 1;
/// A span without a function.
const NONE: u32 = u32::MAX;
/// Where what a marker says may begin: behind eight gigabytes of its piece it says nothing.
const FURTHEST: u32 = u32::MAX >> 1;

impl MarkerRow {
    const fn said(&self) -> usize {
        (self.at >> 1) as usize
    }

    const fn is_event(&self) -> bool {
        self.at & 1 != 0
    }
}

impl Markers {
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub fn len(&self) -> usize {
        let last = self.pieces.last().map_or(0, |piece| piece.rows.len());
        self.pieces.len().saturating_sub(1) * PIECE + last
    }

    /// Adds a marker; returns where its items are added.
    #[inline]
    pub fn add(
        &mut self,
        what: MarkerKind,
        start: Timestamp,
        end: Timestamp,
    ) -> Option<&mut Vec<u32>> {
        if self
            .pieces
            .last()
            .is_none_or(|last| last.rows.len() >= PIECE)
        {
            self.next_piece();
        }
        let MarkerPiece { rows, said } = self.pieces.last_mut()?;
        let length = end.checked_sub(start).and_then(|ns| u32::try_from(ns).ok());
        let length = length.filter(|&length| length < INSTANT).unwrap_or(WIDE);
        let (id, is_event, length) = match what {
            MarkerKind::Span(id) => (id.map_or(NONE, FunctionId::raw), false, length),
            MarkerKind::Event(id) => (id.raw(), true, length),
            MarkerKind::Instant(id) => (id.raw(), true, INSTANT),
        };
        self.has_events |= is_event;
        self.has_spans |= !is_event;
        let at = row_number(said.len()).min(FURTHEST);
        rows.push(MarkerRow {
            start,
            length,
            at: at << 1 | u32::from(is_event),
        });
        said.push(id);
        if length == WIDE {
            put_wide(end.cast_unsigned(), said);
        }
        Some(said)
    }

    #[inline(never)]
    fn next_piece(&mut self) {
        // The first one grows: there are many tracks of a few markers.
        let next = self.pieces.last().map(|last| MarkerPiece {
            rows: Vec::with_capacity(PIECE),
            said: Vec::with_capacity(last.said.len()),
        });
        self.pieces.push(next.unwrap_or_default());
    }

    /// The starts of markers, and whether they are of events.
    pub fn starts(&self) -> impl DoubleEndedIterator<Item = (Timestamp, bool)> {
        let rows = self.pieces.iter().flat_map(|piece| &piece.rows);
        rows.map(|row| (row.start, row.is_event()))
    }

    #[inline]
    fn row(&self, at: u32) -> Option<(&MarkerRow, &MarkerPiece)> {
        let piece = self.pieces.get(at as usize / PIECE)?;
        Some((piece.rows.get(at as usize % PIECE)?, piece))
    }

    #[inline]
    pub fn start(&self, at: u32) -> Option<Timestamp> {
        Some(self.row(at)?.0.start)
    }

    /// Returns the end of a marker that is no instant.
    #[inline]
    pub fn end(&self, at: u32) -> Option<Timestamp> {
        let (row, piece) = self.row(at)?;
        match row.length {
            INSTANT => None,
            WIDE => {
                let wide = piece.said.get(row.said() + 1..)?.first_chunk();
                Some(wide.map_or(row.start, |wide| wide_of(*wide).cast_signed()))
            }
            length => Some(row.start + Timestamp::from(length)),
        }
    }

    /// Returns what a marker is of, and its items.
    #[inline]
    pub fn get(&self, at: u32) -> Option<(MarkerKind, MarkerItems<'_>)> {
        let (row, piece) = self.row(at)?;
        let next = piece.rows.get(at as usize % PIECE + 1);
        let end = next.map_or(piece.said.len(), MarkerRow::said);
        let said = subslice(&piece.said, row.said()..end);
        let (&id, items) = said.split_first().unwrap_or((&NONE, &[]));
        let what = if !row.is_event() {
            MarkerKind::Span((id != NONE).then(|| FunctionId::new(id)))
        } else if row.length == INSTANT {
            MarkerKind::Instant(EventTypeId::new(id))
        } else {
            MarkerKind::Event(EventTypeId::new(id))
        };
        let skipped = if row.length == WIDE { 2 } else { 0 };
        Some((what, MarkerItems(subslice(items, skipped..))))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half")]
fn put_wide(number: u64, said: &mut Vec<u32>) {
    said.extend_from_slice(&[(number >> 32) as u32, number as u32]);
}

const fn wide_of([high, low]: [u32; 2]) -> u64 {
    (high as u64) << 32 | low as u64
}

const STATUSES: [SpanStatus; 4] = [
    SpanStatus::Complete,
    SpanStatus::PartialStart,
    SpanStatus::PartialEnd,
    SpanStatus::Error,
];

/// What an item is, in the lowest bits of its first word; the others are an id. One or two words more may follow.
mod kind {
    pub const BITS: u32 = 4;
    pub const KIND: u32 = 0;
    pub const STATUS: u32 = 1;
    pub const CONTEXT: u32 = 2;
    pub const CAUSE: u32 = 3;
    pub const FALSE: u32 = 4;
    pub const TRUE: u32 = 5;
    pub const TEXT: u32 = 6;
    pub const VALUE: u32 = 7;
    pub const F64: u32 = 8;
    // Numbers in one word; those of the next kind are in two.
    pub const COUNTER: u32 = 10;
    pub const I64: u32 = 12;
    pub const U64: u32 = 14;
}

/// An id that stands behind the first word.
const FAR: u32 = u32::MAX >> kind::BITS;

#[inline]
fn put_head(kind: u32, id: u32, said: &mut Vec<u32>) {
    if id < FAR {
        said.push(id << kind::BITS | kind);
    } else {
        said.extend_from_slice(&[FAR << kind::BITS | kind, id]);
    }
}

#[inline]
fn put_signed(kind: u32, id: u32, number: i64, said: &mut Vec<u32>) {
    if let Ok(few) = i32::try_from(number) {
        put_head(kind, id, said);
        said.push(few.cast_unsigned());
    } else {
        put_head(kind + 1, id, said);
        put_wide(number.cast_unsigned(), said);
    }
}

impl MarkerField {
    /// Adds the item to those of the marker added last.
    #[inline]
    pub fn keep(self, said: &mut Vec<u32>) {
        match self {
            Self::Kind(id) => put_head(kind::KIND, id.raw(), said),
            Self::Status(status) => {
                let at = STATUSES.iter().position(|&known| known == status);
                let at = at.and_then(|at| u32::try_from(at).ok());
                put_head(kind::STATUS, at.unwrap_or(0), said);
            }
            Self::Context(at) => put_head(kind::CONTEXT, at, said),
            Self::Cause(id) => put_head(kind::CAUSE, id.raw(), said),
            Self::Bool(key, false) => put_head(kind::FALSE, key.raw(), said),
            Self::Bool(key, true) => put_head(kind::TRUE, key.raw(), said),
            Self::Text(key, id) => {
                put_head(kind::TEXT, key.raw(), said);
                said.push(id.raw());
            }
            Self::Value(key, at) => {
                put_head(kind::VALUE, key.raw(), said);
                said.push(at);
            }
            Self::F64(key, number) => {
                put_head(kind::F64, key.raw(), said);
                put_wide(number.to_bits(), said);
            }
            Self::Counter(id, number) => put_signed(kind::COUNTER, id.raw(), number, said),
            Self::I64(key, number) => put_signed(kind::I64, key.raw(), number, said),
            Self::U64(key, number) => {
                if let Ok(few) = u32::try_from(number) {
                    put_head(kind::U64, key.raw(), said);
                    said.push(few);
                } else {
                    put_head(kind::U64 + 1, key.raw(), said);
                    put_wide(number, said);
                }
            }
        }
    }
}

/// The items of a marker.
#[derive(Clone, Copy)]
pub(super) struct MarkerItems<'m>(&'m [u32]);

impl MarkerItems<'_> {
    /// Returns true if none is left.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    fn word(&mut self) -> Option<u32> {
        let (&word, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(word)
    }

    #[inline]
    fn few(&mut self) -> Option<i64> {
        Some(self.word()?.cast_signed().into())
    }

    #[inline]
    fn wide(&mut self) -> Option<u64> {
        let (&wide, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(wide_of(wide))
    }
}

impl Iterator for MarkerItems<'_> {
    type Item = MarkerField;

    #[inline]
    fn next(&mut self) -> Option<MarkerField> {
        const COUNTERS: u32 = kind::COUNTER + 1;
        const I64S: u32 = kind::I64 + 1;
        let head = self.word()?;
        let id = match head >> kind::BITS {
            FAR => self.word()?,
            id => id,
        };
        let key = AttrKeyId::new(id);
        Some(match head & ((1 << kind::BITS) - 1) {
            kind::KIND => MarkerField::Kind(StringId::new(id)),
            kind::STATUS => MarkerField::Status(*STATUSES.get(id as usize)?),
            kind::CONTEXT => MarkerField::Context(id),
            kind::CAUSE => MarkerField::Cause(StackId::new(id)),
            kind::FALSE => MarkerField::Bool(key, false),
            kind::TRUE => MarkerField::Bool(key, true),
            kind::TEXT => MarkerField::Text(key, StringId::new(self.word()?)),
            kind::VALUE => MarkerField::Value(key, self.word()?),
            kind::F64 => MarkerField::F64(key, f64::from_bits(self.wide()?)),
            kind::COUNTER => MarkerField::Counter(ValueTypeId::new(id), self.few()?),
            COUNTERS => MarkerField::Counter(ValueTypeId::new(id), self.wide()?.cast_signed()),
            kind::I64 => MarkerField::I64(key, self.few()?),
            I64S => MarkerField::I64(key, self.wide()?.cast_signed()),
            kind::U64 => MarkerField::U64(key, self.word()?.into()),
            _ => MarkerField::U64(key, self.wide()?),
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn markers_are_kept_as_they_are() {
        let ids = [0, 1, FAR - 1, FAR, u32::MAX - 1];
        let few = [i32::MIN, i32::MAX].map(i64::from);
        let numbers = [
            0,
            1,
            -1,
            few[0],
            few[0] - 1,
            few[1],
            few[1] + 1,
            i64::MIN,
            i64::MAX,
        ];
        let mut items: Vec<MarkerField> = STATUSES.into_iter().map(MarkerField::Status).collect();
        for id in ids {
            let (key, text) = (AttrKeyId::new(id), StringId::new(id));
            items.extend([
                MarkerField::Kind(text),
                MarkerField::Context(id),
                MarkerField::Cause(StackId::new(id)),
                MarkerField::Bool(key, false),
                MarkerField::Bool(key, true),
                MarkerField::Text(key, text),
                MarkerField::Value(key, id),
            ]);
            for number in numbers {
                items.extend([
                    MarkerField::Counter(ValueTypeId::new(id), number),
                    MarkerField::I64(key, number),
                    MarkerField::U64(key, number.cast_unsigned()),
                    MarkerField::F64(key, f64::from_bits(number.cast_unsigned() >> 2)),
                ]);
            }
        }
        let mut whats = vec![MarkerKind::Span(None)];
        for id in ids {
            whats.push(MarkerKind::Span(Some(FunctionId::new(id))));
            whats.push(MarkerKind::Event(EventTypeId::new(id)));
            whats.push(MarkerKind::Instant(EventTypeId::new(id)));
        }
        let times = [
            (0, 0),
            (7, 6 + i64::from(INSTANT)),
            (7, 7 + i64::from(INSTANT)),
            (7, 7 + i64::from(WIDE)),
            (i64::MIN, i64::MAX),
        ];
        let mut markers = Markers::default();
        let mut expected = Vec::new();
        for round in 0..5 * PIECE {
            let (what, (start, end)) = (whats[round % whats.len()], times[round % times.len()]);
            let items = &items[round % items.len()..];
            let items = &items[..(round % 4).min(items.len())];
            let said = markers.add(what, start, end).unwrap();
            items.iter().for_each(|item| item.keep(said));
            expected.push((what, start, end, items.to_vec()));
        }
        assert_eq!(markers.len(), expected.len());
        assert!(markers.has_spans && markers.has_events);
        let is_event = |what| !matches!(what, MarkerKind::Span(_));
        let starts = || expected.iter().map(|row| (row.1, is_event(row.0)));
        assert!(markers.starts().eq(starts()) && markers.starts().rev().eq(starts().rev()));
        for (at, (what, start, end, items)) in (0..).zip(expected) {
            let end = Some(end).filter(|_| !matches!(what, MarkerKind::Instant(_)));
            assert_eq!((markers.start(at), markers.end(at)), (Some(start), end));
            let (found, kept) = markers.get(at).unwrap();
            assert_eq!((found, kept.collect::<Vec<_>>()), (what, items));
        }
    }
}
