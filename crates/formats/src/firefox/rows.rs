//! What of spans and events is kept until the end, by track.

use traceloom_model::bounds::row_number;
use traceloom_model::{
    Attribute, EventBatch, SpanBatch, SpanContext, SpanStatus, Timestamp, TrackId, Value,
};

use super::forms::SeenForms;
use super::kept::{MarkerField, MarkerKind, Markers};

/// Markers by track, and what has no place in a few words.
#[derive(Default)]
pub(super) struct MarkerRows {
    /// Of no track, then of each one.
    tracks: Vec<Markers>,
    pub contexts: Vec<SpanContext>,
    pub values: Vec<Value>,
    /// Which values the attributes of spans have, and of each type of events.
    pub of_spans: Option<SeenForms>,
    pub of_events: Vec<Option<SeenForms>>,
    /// The first time of any marker.
    pub first: Option<Timestamp>,
}

impl MarkerRows {
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
            let Some(items) = on.add(MarkerKind::Span(function), start, end.max(start)) else {
                continue;
            };
            if let Some(&kind) = kind {
                MarkerField::Kind(kind).keep(items);
            }
            if status != SpanStatus::Complete {
                MarkerField::Status(status).keep(items);
            }
            if let Some(&context) = context {
                MarkerField::Context(place(&mut self.contexts, context)).keep(items);
            }
            for &(id, value) in batch.counters(row) {
                MarkerField::Counter(id, value).keep(items);
            }
            for attribute in attributes.row_mut(row) {
                seen.see(attribute);
                item(attribute, &mut self.values).keep(items);
            }
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
            let (what, end) = match event.end {
                Some(end) => (MarkerKind::Event(event.event_type), end),
                None => (MarkerKind::Instant(event.event_type), event.time),
            };
            let Some(items) = on.add(what, event.time, end) else {
                continue;
            };
            if let Some(stack) = event.stack {
                MarkerField::Cause(stack).keep(items);
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
                item(attribute, &mut self.values).keep(items);
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
    pub fn take_tracks(&mut self) -> TrackMarkers {
        TrackMarkers(std::mem::take(&mut self.tracks))
    }
}

/// Markers of which each track's are taken once.
pub(super) struct TrackMarkers(Vec<Markers>);

impl TrackMarkers {
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
    row_number(rows.len() - 1)
}

/// Takes a value from its attribute.
#[inline]
fn item(attribute: &mut Attribute, values: &mut Vec<Value>) -> MarkerField {
    let key = attribute.key;
    match attribute.value {
        Value::I64(number) => MarkerField::I64(key, number),
        Value::U64(number) => MarkerField::U64(key, number),
        Value::F64(number) => MarkerField::F64(key, number),
        Value::Bool(yes) => MarkerField::Bool(key, yes),
        Value::Text(text) => MarkerField::Text(key, text),
        ref mut value => {
            MarkerField::Value(key, place(values, std::mem::replace(value, Value::Null)))
        }
    }
}
