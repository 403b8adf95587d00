//! Points to the model: index points are profiles, all others events.

use std::borrow::Cow;
use std::collections::HashMap;

use traceloom_model::{
    Asks, Attribute, AttributeKey, BATCH_ROWS, Clock, ElementType, EventBatch, EventRow, EventType,
    EventTypeId, Flow, Note, Order, PartId, ResourceId, Sink, StringId, Tables,
    Value as ModelValue,
};

use super::read::LineSink;
use super::record::{Point, Value};
use super::text::{Escapes, unescape};
use super::{Reader, base64};
use crate::codec::each_window;
use crate::points::{self, FieldValue, OwnedPoint, Profile};
use crate::{Chunk, Error, LowerOptions, Opaque, Source, warn};

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::None, Clock::Unix);
    let mut lowering = Lowering {
        options,
        depth: Depth::of(&sink.asks()),
        tables: Tables::new(),
        types: HashMap::new(),
        events: EventBatch::default(),
        part: PartId::default(),
        resources: HashMap::new(),
        sink,
    };
    for part in 0..source.parts().len() {
        lowering.part = PartId::nth(part);
        let mut pull = source.open(part, 0)?;
        let mut reader = Reader::new(&options.limits);
        let read = |window: Chunk<'_>| reader.read_lines(window, &mut lowering);
        if !each_window(pull.as_mut(), 1, read)? {
            return Ok(());
        }
    }
    let _ = lowering.flush();
    Ok(())
}

/// How much of the points the sink wants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// Notes alone.
    Notes,
    /// Profiles with samples.
    Samples,
    /// Those, and events without their attributes.
    Amounts,
    /// Everything.
    Rows,
}

impl Depth {
    fn of(asks: &Asks) -> Self {
        if asks.notes_only {
            Self::Notes
        } else if asks.amounts_only {
            Self::Amounts
        } else if asks.events {
            Self::Rows
        } else {
            Self::Samples
        }
    }
}

struct Lowering<'s> {
    options: &'s LowerOptions,
    depth: Depth,
    tables: Tables,
    types: HashMap<StringId, EventTypeId>,
    events: EventBatch,
    part: PartId,
    /// Resources of profiles in several points, by their ids.
    resources: HashMap<String, ResourceId>,
    sink: &'s mut dyn Sink,
}

impl LineSink for Lowering<'_> {
    fn point(&mut self, point: &Point<'_>) -> Flow {
        if is_index_point(point) {
            return match self.depth {
                Depth::Notes => Flow::Continue(()),
                Depth::Samples | Depth::Amounts if !has_samples(point) => Flow::Continue(()),
                _ => self.profile(point),
            };
        }
        if point.time.is_none() {
            let text =
                "the point has no time; it means the time of arrival, which a file does not keep";
            self.note(warn("point_without_time", point.offset, text))?;
        }
        match self.depth {
            Depth::Notes | Depth::Samples => Flow::Continue(()),
            Depth::Amounts | Depth::Rows => self.event(point),
        }
    }

    fn other(&mut self, _record: &Opaque<'_>) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.sink.note(Note {
            part: self.part,
            ..note
        })
    }
}

impl Lowering<'_> {
    fn profile(&mut self, point: &Point<'_>) -> Flow {
        let owned = OwnedPoint::from(point);
        let profile = Profile::from_point(&owned, &self.options.limits);
        let first = self.resources.get(&profile.profile_id).copied();
        let of = first.filter(|_| Profile::is_further_part(&owned));
        let (resource, batches) = points::lower_profile(&profile, of, &mut self.tables);
        if Profile::is_part(&owned) && of.is_none() {
            self.resources.insert(profile.profile_id.clone(), resource);
        }
        self.sink.define(self.tables.take_definitions())?;
        for batch in batches {
            self.sink.samples(batch)?;
        }
        Flow::Continue(())
    }

    fn event(&mut self, point: &Point<'_>) -> Flow {
        let tables = &mut self.tables;
        let name = tables.bytes(&point.name());
        let event_type = *self.types.entry(name).or_insert_with(|| {
            tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            })
        });
        let attributes = match self.depth {
            Depth::Rows => attributes(point, tables),
            _ => Vec::new(),
        };
        self.events.push(&EventRow {
            attributes: &attributes,
            ..EventRow::of_process(event_type, point.time.unwrap_or(0), None)
        });
        if self.events.len() >= BATCH_ROWS {
            return self.flush();
        }
        Flow::Continue(())
    }

    fn flush(&mut self) -> Flow {
        let new = self.tables.take_definitions();
        if !new.is_empty() {
            self.sink.define(new)?;
        }
        if self.events.is_empty() {
            return Flow::Continue(());
        }
        self.sink.events(std::mem::take(&mut self.events))
    }
}

/// Returns the tags in the order of their keys, marked as index, and the fields.
fn attributes(point: &Point<'_>, tables: &mut Tables) -> Vec<Attribute> {
    let mut attributes = Vec::with_capacity(point.tags.len() + point.fields.len());
    let tag = |raw| unescape(raw, Escapes::Tag);
    let tags = point.tags.iter();
    let mut tags: Vec<_> = tags.map(|(key, value)| (tag(key), tag(value))).collect();
    tags.sort();
    for (key, value) in &tags {
        let key = AttributeKey {
            index: true,
            ..AttributeKey::named(tables.bytes(key))
        };
        let value = ModelValue::Text(tables.bytes(value));
        attributes.push(Attribute::new(tables.attribute_key(key), value));
    }
    for field in &point.fields {
        let key = unescape(field.key, Escapes::FieldKey);
        let key = AttributeKey::named(tables.bytes(&key));
        let value = model_value(field.value, tables);
        attributes.push(Attribute::new(tables.attribute_key(key), value));
    }
    attributes
}

fn model_value(value: Value<'_>, tables: &mut Tables) -> ModelValue {
    match value {
        Value::I64(value) => ModelValue::I64(value),
        Value::U64(value) => ModelValue::U64(value),
        Value::F64(value) => ModelValue::F64(value),
        Value::Bool(value) => ModelValue::Bool(value),
        Value::Text(raw) => ModelValue::Text(tables.bytes(&unescape(raw, Escapes::Text))),
        Value::Bytes(raw) => {
            let bytes = base64::decode(raw).unwrap_or_default();
            ModelValue::Bytes(bytes.into_boxed_slice())
        }
        Value::List(_) => {
            let items = value.elements().map(|item| model_value(item, tables));
            let items: Box<[ModelValue]> = items.collect();
            ModelValue::List(ElementType::common(&items), items)
        }
    }
}

/// Returns true if a point is an index point. The words looked for hold nothing that is escaped, so that keys are
/// compared as they are written.
fn is_index_point(point: &Point<'_>) -> bool {
    let keys = point.fields.iter().map(|field| field.key);
    let keys = keys.chain(point.tags.iter().map(|(key, _)| *key));
    Profile::is_index(point.measurement, keys)
}

fn has_samples(point: &Point<'_>) -> bool {
    let mut keys = point.fields.iter().map(|field| field.key);
    keys.any(Profile::is_samples) || point.tags.iter().any(|(key, _)| Profile::is_samples(key))
}

impl From<Value<'_>> for FieldValue {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::I64(value) => Self::I64(value),
            Value::U64(value) => Self::U64(value),
            Value::F64(value) => Self::F64(value),
            Value::Bool(value) => Self::Bool(value),
            Value::Text(raw) => Self::Text(unescape(raw, Escapes::Text).into_owned()),
            Value::Bytes(raw) => Self::Bytes(base64::decode(raw).unwrap_or_default()),
            Value::List(_) => Self::List(value.elements().map(Self::from).collect()),
        }
    }
}

impl From<&Point<'_>> for OwnedPoint {
    /// Resolves escapes and sorts the tags.
    fn from(point: &Point<'_>) -> Self {
        let tag = |raw| unescape(raw, Escapes::Tag).into_owned();
        let mut tags: Vec<_> = point
            .tags
            .iter()
            .map(|(key, value)| (tag(key), tag(value)))
            .collect();
        tags.sort();
        let key = |raw| Cow::into_owned(unescape(raw, Escapes::FieldKey));
        let fields = point.fields.iter();
        Self {
            measurement: point.name().into_owned(),
            tags,
            fields: fields
                .map(|field| (key(field.key), field.value.into()))
                .collect(),
            time: point.time,
        }
    }
}
