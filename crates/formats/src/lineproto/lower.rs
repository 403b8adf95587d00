//! Points to the model: index points are profiles, all others events.

use std::borrow::Cow;
use std::collections::HashMap;

use traceloom_model::{
    Attribute, AttributeKey, BATCH_ROWS, Clock, ElementType, EventBatch, EventRow, EventType,
    EventTypeId, Flow, Note, Order, PartId, ResourceId, Sink, StringId, Tables,
    Value as ModelValue,
};

use super::record::{Point, Value};
use super::text::{Escapes, unescape};
use super::{Line, Lines, Reader, base64};
use crate::points::{self, Profile};
use crate::points::{FieldValue, OwnedPoint};
use crate::{Chunk, Error, LowerOptions, Record, RecordSink, Source, drive, warn};

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::None, Clock::Unix);
    let mut lowering = Lowering {
        options,
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
        if !drive(pull.as_mut(), &mut reader, &mut lowering)? {
            return Ok(());
        }
    }
    let _ = lowering.flush();
    Ok(())
}

struct Lowering<'s> {
    options: &'s LowerOptions,
    tables: Tables,
    types: HashMap<StringId, EventTypeId>,
    events: EventBatch,
    part: PartId,
    /// Resources of profiles in several points, by their ids.
    resources: HashMap<String, ResourceId>,
    sink: &'s mut dyn Sink,
}

impl RecordSink for Lowering<'_> {
    fn record(&mut self, record: &dyn Record) -> Flow {
        if record.kind() != "point" {
            return Flow::Continue(());
        }
        // The record's own bytes give the point back: the face of a record hides its type.
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        let chunk = Chunk {
            bytes: &bytes,
            offset: record.offset(),
            eof: true,
        };
        match Lines::new(chunk, usize::MAX).next() {
            Some(Line::Point(point)) => self.point(point),
            _ => Flow::Continue(()),
        }
    }

    fn note(&mut self, note: Note) -> Flow {
        self.sink.note(Note {
            part: self.part,
            ..note
        })
    }
}

impl Lowering<'_> {
    fn point(&mut self, point: &Point<'_>) -> Flow {
        let owned = OwnedPoint::from(point);
        if Profile::is_point(&owned) {
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
            return Flow::Continue(());
        }
        self.event(point, &owned)
    }

    fn event(&mut self, point: &Point<'_>, owned: &OwnedPoint) -> Flow {
        let name = self.tables.bytes(&owned.measurement);
        let tables = &mut self.tables;
        let event_type = *self.types.entry(name).or_insert_with(|| {
            tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            })
        });
        let mut attributes = Vec::with_capacity(owned.tags.len() + owned.fields.len());
        for (key, value) in &owned.tags {
            let key = AttributeKey {
                index: true,
                ..AttributeKey::named(tables.bytes(key))
            };
            let value = ModelValue::Text(tables.bytes(value));
            attributes.push(Attribute::new(tables.attribute_key(key), value));
        }
        for (key, value) in &owned.fields {
            let key = AttributeKey::named(tables.bytes(key));
            let value = model_value(value, tables);
            attributes.push(Attribute::new(tables.attribute_key(key), value));
        }
        if point.time.is_none() {
            let text =
                "the point has no time; it means the time of arrival, which a file does not keep";
            let part = self.part;
            self.sink.note(Note {
                part,
                ..warn("point_without_time", point.offset, text)
            })?;
        }
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

fn model_value(value: &FieldValue, tables: &mut Tables) -> ModelValue {
    match value {
        FieldValue::I64(value) => ModelValue::I64(*value),
        FieldValue::U64(value) => ModelValue::U64(*value),
        FieldValue::F64(value) => ModelValue::F64(*value),
        FieldValue::Bool(value) => ModelValue::Bool(*value),
        FieldValue::Text(text) => ModelValue::Text(tables.bytes(text)),
        FieldValue::Bytes(bytes) => ModelValue::Bytes(bytes.clone().into_boxed_slice()),
        FieldValue::List(items) => {
            let items: Box<[ModelValue]> =
                items.iter().map(|item| model_value(item, tables)).collect();
            ModelValue::List(ElementType::common(&items), items)
        }
    }
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
