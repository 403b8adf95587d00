//! Events, counter series and links between spans.

use crate::{
    Attribute, Attributes, EventTypeId, ObjectId, SeriesId, SpanId, StackId, StringId, Timestamp,
    TrackId, Unit,
};

/// A kind of event and the fields its events carry as attributes.
#[derive(Clone, Debug, PartialEq)]
pub struct EventType {
    /// Name, such as `pause` or `jdk.GarbageCollection`.
    pub name: StringId,
    /// Name for people.
    pub label: Option<StringId>,
    /// Attribute keys in field order.
    pub fields: Vec<crate::AttrKeyId>,
}

/// One event, as a row that a lowering fills and a writer reads.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow<'a> {
    /// Its kind.
    pub event_type: EventTypeId,
    /// The line it happened on; none for events of the whole process.
    pub track: Option<TrackId>,
    /// When it began.
    pub time: Timestamp,
    /// When it ended; none for an instant.
    pub end: Option<Timestamp>,
    /// The object it concerns.
    pub object: Option<ObjectId>,
    /// The thread that owned the object.
    pub owner: Option<TrackId>,
    /// Where it happened.
    pub stack: Option<StackId>,
    /// Its fields.
    pub attributes: &'a [Attribute],
}

impl EventRow<'_> {
    /// An event of the whole process.
    #[must_use]
    pub const fn of_process(
        event_type: EventTypeId,
        time: Timestamp,
        end: Option<Timestamp>,
    ) -> Self {
        Self {
            event_type,
            track: None,
            time,
            end,
            object: None,
            owner: None,
            stack: None,
            attributes: &[],
        }
    }
}

/// Events in columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventBatch {
    /// Kinds.
    pub event_type: Vec<EventTypeId>,
    /// Tracks.
    pub track: Vec<Option<TrackId>>,
    /// Beginnings.
    pub time: Vec<Timestamp>,
    /// Ends.
    pub end: Vec<Option<Timestamp>>,
    /// Objects.
    pub object: Vec<Option<ObjectId>>,
    /// Owners of the objects.
    pub owner: Vec<Option<TrackId>>,
    /// Stacks.
    pub stack: Vec<Option<StackId>>,
    /// Fields.
    pub attributes: Attributes,
}

impl EventBatch {
    /// Adds an event.
    pub fn push(&mut self, row: &EventRow<'_>) {
        self.event_type.push(row.event_type);
        self.track.push(row.track);
        self.time.push(row.time);
        self.end.push(row.end);
        self.object.push(row.object);
        self.owner.push(row.owner);
        self.stack.push(row.stack);
        self.attributes.push_row(row.attributes.iter().cloned());
    }

    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.time.len()
    }

    /// Returns true if there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    /// Returns the event at `row`.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<EventRow<'_>> {
        Some(EventRow {
            event_type: *self.event_type.get(row)?,
            track: *self.track.get(row)?,
            time: *self.time.get(row)?,
            end: *self.end.get(row)?,
            object: *self.object.get(row)?,
            owner: *self.owner.get(row)?,
            stack: *self.stack.get(row)?,
            attributes: self.attributes.row(row),
        })
    }

    /// Iterates over the events in their order.
    pub fn iter(&self) -> impl Iterator<Item = EventRow<'_>> {
        (0..self.len()).filter_map(|row| self.row(row))
    }

    /// Appends the events of `other`.
    pub fn append(&mut self, other: Self) {
        self.event_type.extend(other.event_type);
        self.track.extend(other.track);
        self.time.extend(other.time);
        self.end.extend(other.end);
        self.object.extend(other.object);
        self.owner.extend(other.owner);
        self.stack.extend(other.stack);
        self.attributes.append(other.attributes);
    }
}

/// A counter: a number that has a value at each of its times.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Series {
    /// Name.
    pub name: StringId,
    /// Unit.
    pub unit: Unit,
    /// The line it belongs to; none for the whole process.
    pub track: Option<TrackId>,
}

/// Points of counter series, in columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CounterBatch {
    /// Series.
    pub series: Vec<SeriesId>,
    /// Times.
    pub time: Vec<Timestamp>,
    /// Values.
    pub value: Vec<f64>,
}

impl CounterBatch {
    /// Adds a point.
    pub fn push(&mut self, series: SeriesId, time: Timestamp, value: f64) {
        self.series.push(series);
        self.time.push(time);
        self.value.push(value);
    }
}

/// A flow from one span to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The span that causes.
    pub from: SpanId,
    /// The span that follows.
    pub to: SpanId,
    /// The producer's word for the relation.
    pub kind: Option<StringId>,
}

/// Links, one a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkBatch {
    /// The links.
    pub links: Vec<Link>,
}
