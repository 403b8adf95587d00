//! What of spans and events is kept until the end: a few words of each, by track.

use traceloom_model::{
    AttrKeyId, Attribute, EventBatch, EventTypeId, FunctionId, SpanBatch, SpanContext, SpanStatus,
    StackId, StringId, Timestamp, TrackId, Value, ValueTypeId,
};

use super::forms::Seen;

/// What a marker says besides its times and its name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Kind(StringId),
    Status(SpanStatus),
    /// A place in [`Rows::contexts`].
    Context(u32),
    Counter(ValueTypeId, i64),
    Cause(StackId),
    I64(AttrKeyId, i64),
    U64(AttrKeyId, u64),
    F64(AttrKeyId, f64),
    Bool(AttrKeyId, bool),
    Text(AttrKeyId, StringId),
    /// A place in [`Rows::values`].
    Value(AttrKeyId, u32),
}

/// What a marker is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Span(Option<FunctionId>),
    Event(EventTypeId),
    /// An event without an end.
    Instant(EventTypeId),
}

/// A marker; its items are those of its track from `first` on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    pub start: Timestamp,
    pub end: Timestamp,
    pub what: What,
    first: u32,
    count: u32,
}

/// The markers of a track as they came.
#[derive(Default)]
pub(super) struct Markers {
    rows: Vec<Marker>,
    items: Vec<Item>,
    pub has_spans: bool,
    has_events: bool,
}

impl Markers {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Puts the markers in the order of their starts, of those that begin together the spans first.
    pub fn sort(&mut self) {
        if self.has_spans && self.has_events {
            let is_event = |row: &Marker| !matches!(row.what, What::Span(_));
            self.rows.sort_by_key(|row| (row.start, is_event(row)));
        } else if let Some(sorted) = by_start(&self.rows) {
            self.rows = sorted;
        } else {
            self.rows.sort_by_key(|row| row.start);
        }
    }

    pub fn rows(&self) -> &[Marker] {
        &self.rows
    }

    pub fn items(&self, marker: &Marker) -> &[Item] {
        let first = marker.first as usize;
        let items = self.items.get(first..first + marker.count as usize);
        items.unwrap_or(&[])
    }

    /// Adds a marker that has the items from `first` on.
    fn push(&mut self, first: usize, what: What, start: Timestamp, end: Timestamp) {
        let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        self.rows.push(Marker {
            start,
            end,
            what,
            first: narrow(first),
            count: narrow(self.items.len() - first),
        });
    }
}

/// Returns markers in the order of their starts, those of one start as they came: start and place in one integer
/// each, which sort several times faster than the markers do. None where they do not fit one.
fn by_start(rows: &[Marker]) -> Option<Vec<Marker>> {
    let starts = || rows.iter().map(|row| row.start);
    let (first, last) = (starts().min()?, starts().max()?);
    let bits = usize::BITS - rows.len().leading_zeros();
    if last.abs_diff(first).leading_zeros() < bits {
        return None;
    }
    let keys = (0..).zip(starts());
    let key = |(at, start): (u64, Timestamp)| start.abs_diff(first) << bits | at;
    let mut keys: Vec<u64> = keys.map(key).collect();
    keys.sort_unstable();
    let mask = (1_u64 << bits) - 1;
    let place = |key: u64| usize::try_from(key & mask).unwrap_or(usize::MAX);
    let sorted = keys.into_iter().filter_map(|key| rows.get(place(key)));
    Some(sorted.copied().collect())
}

/// Markers by track, and what has no place in a few words.
#[derive(Default)]
pub(super) struct Rows {
    /// Of no track, then of each one.
    tracks: Vec<Markers>,
    pub contexts: Vec<SpanContext>,
    pub values: Vec<Value>,
    /// Which values the attributes of spans have, and of each type of events.
    pub of_spans: Option<Seen>,
    pub of_events: Vec<Option<Seen>>,
    /// The first time of any marker.
    pub first: Option<Timestamp>,
}

impl Rows {
    pub fn spans(&mut self, mut batch: SpanBatch) {
        if batch.is_empty() {
            return;
        }
        let seen = self.of_spans.get_or_insert_default();
        let mut attributes = std::mem::take(&mut batch.attributes);
        for (row, span) in batch.iter().enumerate() {
            let Some(on) = on(&mut self.tracks, Some(span.track)) else {
                continue;
            };
            let first = on.items.len();
            on.items.extend(span.kind.map(Item::Kind));
            if span.status != SpanStatus::Complete {
                on.items.push(Item::Status(span.status));
            }
            if let Some(context) = span.context {
                on.items
                    .push(Item::Context(place(&mut self.contexts, context)));
            }
            let counters = span.counters.iter();
            on.items
                .extend(counters.map(|&(id, value)| Item::Counter(id, value)));
            for attribute in attributes.row_mut(row) {
                seen.see(attribute);
                on.items.push(item(attribute, &mut self.values));
            }
            on.has_spans = true;
            on.push(
                first,
                What::Span(span.function),
                span.start,
                span.end.max(span.start),
            );
        }
        let first = batch.start.iter().min().copied();
        self.first = first.into_iter().chain(self.first).min();
    }

    pub fn events(&mut self, mut batch: EventBatch) {
        let mut attributes = std::mem::take(&mut batch.attributes);
        for (row, event) in batch.iter().enumerate() {
            let Some(on) = on(&mut self.tracks, event.track) else {
                continue;
            };
            let first = on.items.len();
            on.items.extend(event.stack.map(Item::Cause));
            let at = event.event_type.index();
            if self.of_events.len() <= at {
                self.of_events.resize_with(at + 1, || None);
            }
            let mut unknown = None;
            let seen = self.of_events.get_mut(at).unwrap_or(&mut unknown);
            let seen = seen.get_or_insert_default();
            for attribute in attributes.row_mut(row) {
                seen.see(attribute);
                on.items.push(item(attribute, &mut self.values));
            }
            on.has_events = true;
            match event.end {
                Some(end) => on.push(first, What::Event(event.event_type), event.time, end),
                None => on.push(
                    first,
                    What::Instant(event.event_type),
                    event.time,
                    event.time,
                ),
            }
        }
        let first = batch.time.iter().min().copied();
        self.first = first.into_iter().chain(self.first).min();
    }

    /// The tracks that have markers.
    pub fn tracks(&self) -> impl Iterator<Item = Option<TrackId>> {
        let tracks = std::iter::once(None).chain((0..).map(|raw| Some(TrackId::new(raw))));
        let tracks = tracks.zip(&self.tracks);
        tracks.filter_map(|(track, markers)| (!markers.is_empty()).then_some(track))
    }

    /// Takes the markers.
    pub fn take_tracks(&mut self) -> Tracks {
        Tracks(std::mem::take(&mut self.tracks))
    }
}

/// Markers of which each track's are taken once.
pub(super) struct Tracks(Vec<Markers>);

impl Tracks {
    pub fn take(&mut self, track: Option<TrackId>) -> Markers {
        let markers = self.0.get_mut(number(track));
        markers.map_or_else(Markers::default, std::mem::take)
    }
}

fn number(track: Option<TrackId>) -> usize {
    track.map_or(0, |id| id.index() + 1)
}

/// Where the markers of a track are, which there is a place for from then on.
#[inline]
fn on(tracks: &mut Vec<Markers>, track: Option<TrackId>) -> Option<&mut Markers> {
    let at = number(track);
    if tracks.len() <= at {
        tracks.resize_with(at + 1, Markers::default);
    }
    tracks.get_mut(at)
}

fn place<T>(rows: &mut Vec<T>, row: T) -> u32 {
    rows.push(row);
    u32::try_from(rows.len() - 1).unwrap_or(u32::MAX)
}

/// Takes a value from its attribute.
#[inline]
fn item(attribute: &mut Attribute, values: &mut Vec<Value>) -> Item {
    let key = attribute.key;
    match attribute.value {
        Value::I64(number) => Item::I64(key, number),
        Value::U64(number) => Item::U64(key, number),
        Value::F64(number) => Item::F64(key, number),
        Value::Bool(yes) => Item::Bool(key, yes),
        Value::Text(text) => Item::Text(key, text),
        ref mut value => Item::Value(key, place(values, std::mem::replace(value, Value::Null))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn markers_are_sorted_as_they_would_be_one_by_one(
            starts in prop::collection::vec(-5..5_i64, 0..40),
            far: bool,
        ) {
            let mut markers = Markers::default();
            for (end, start) in (10..).zip(starts) {
                let start = if far { start * (i64::MAX / 5) } else { start };
                markers.push(0, What::Span(None), start, end);
            }
            let mut expected = markers.rows.clone();
            expected.sort_by_key(|row| row.start);
            markers.sort();
            let times = |rows: &[Marker]| -> Vec<_> {
                rows.iter().map(|row| (row.start, row.end)).collect()
            };
            prop_assert_eq!(times(&markers.rows), times(&expected));
        }
    }
}
