//! What of spans and events is kept until the end: a few words of each, by track.

use traceloom_model::{
    AttrKeyId, Attribute, EventBatch, EventTypeId, FunctionId, SpanBatch, SpanContext, SpanStatus,
    StackId, StringId, Timestamp, TrackId, Value, ValueTypeId,
};

use super::forms::Seen;
use crate::pieces::Pieces;

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

impl Marker {
    pub fn n_items(&self) -> usize {
        self.count as usize
    }

    pub fn is_event(&self) -> bool {
        !matches!(self.what, What::Span(_))
    }

    #[cfg(test)]
    pub fn of(start: Timestamp, what: What) -> Self {
        Self {
            start,
            end: start,
            what,
            first: 0,
            count: 0,
        }
    }
}

/// The markers of a track as they came.
#[derive(Default)]
pub(super) struct Markers {
    rows: Pieces<Marker>,
    items: Pieces<Item>,
    pub has_spans: bool,
    pub has_events: bool,
}

impl Markers {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn rows(&self) -> &Pieces<Marker> {
        &self.rows
    }

    #[inline]
    pub fn items(&self, marker: &Marker) -> impl Iterator<Item = &Item> {
        let first = marker.first as usize;
        (first..first + marker.count as usize).filter_map(|at| self.items.get(at))
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
        // Half the columns are of no use here.
        let columns = batch.track.iter().zip(&batch.function).zip(&batch.status);
        let columns = columns.zip(&batch.start).zip(&batch.end);
        let (mut kinds, mut contexts) = (batch.kind.each(), batch.context.each());
        for (row, ((((&track, &function), &status), &start), &end)) in columns.enumerate() {
            let (kind, context) = (kinds.of_next(), contexts.of_next());
            let Some(on) = on(&mut self.tracks, Some(track)) else {
                continue;
            };
            let first = on.items.len();
            if let Some(&kind) = kind {
                on.items.push(Item::Kind(kind));
            }
            if status != SpanStatus::Complete {
                on.items.push(Item::Status(status));
            }
            if let Some(&context) = context {
                on.items
                    .push(Item::Context(place(&mut self.contexts, context)));
            }
            for &(id, value) in batch.counters(row) {
                on.items.push(Item::Counter(id, value));
            }
            for attribute in attributes.row_mut(row) {
                seen.see(attribute);
                on.items.push(item(attribute, &mut self.values));
            }
            on.has_spans = true;
            on.push(first, What::Span(function), start, end.max(start));
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
            if let Some(stack) = event.stack {
                on.items.push(Item::Cause(stack));
            }
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
