//! Profiles to the model: the dictionary and the layout first, then the samples.

use foldhash::fast::RandomState;
use std::collections::HashMap;
use traceloom_model::{
    AttrKeyId, Attribute, AttributeKey, BATCH_ROWS, Clock, Flow, Level, Order, Profile, ProfileId,
    ResourceId, SampleBatch, SampleRow, Sink, StackId, StringId, Tables, Track, Unit, Value,
    ValueType, ValueTypeId,
};

use super::code::Code;
use super::dictionary::ProfilesDictionary;
use super::layout::SampleFieldOrder;
use super::sample::SampleLists;
use super::schema::{PROFILE, PROFILES_DATA, PROFILES_SCHEMA, RESOURCE_PROFILES, SCOPE_PROFILES};
use super::survey::{MessageSegment, MessageSegments, survey};
use super::value;
use crate::codec::CountedNotes;
use crate::codec::two_pass;
use crate::profile::unit;
use crate::protobuf::{Content, FieldSplitter, MessagePiece, Split, each, fields, packed_varints};
use crate::{Error, LowerOptions, Pull, Source};

/// Lowers every part of a source, each a message or several end to end.
///
/// # Errors
/// What the source fails with.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let begin = |segments: &MessageSegments, tables: &mut Tables| {
        let clock = match &segments.clock {
            Some(name) => Clock::Unknown(Some(tables.bytes(name))),
            None => Clock::Unix,
        };
        (Order::Nested, clock)
    };
    two_pass::lower(
        source,
        &options.limits,
        sink,
        |pass, limits, note| survey(pass.pull.as_mut(), limits, note),
        begin,
        |segments, pass, to, sink| rows(segments, pass.pull.as_mut(), options, to, sink),
    )
}

fn rows(
    mut segments: MessageSegments,
    pull: &mut dyn Pull,
    options: &LowerOptions,
    (tables, tally): (&mut Tables, &mut CountedNotes),
    sink: &mut dyn Sink,
) -> Result<Flow, Error> {
    *tally = std::mem::take(&mut segments.tally);
    let mut lowering = Lowering::new(&segments, tables, tally);
    let mut splitter = FieldSplitter::new(PROFILES_SCHEMA, &options.limits);
    let whole = each(pull, &mut splitter, u64::MAX, |piece| match piece {
        MessagePiece::Field(field) => lowering.field(field, sink),
        MessagePiece::Damage { .. } => Flow::Continue(()),
    })?;
    if !whole || lowering.end_profile(sink).is_break() {
        return Ok(Flow::Break(()));
    }
    Ok(lowering.flush(sink))
}

/// The profile that is being read.
struct Current {
    id: ProfileId,
    row: Profile,
    factor: i64,
    batch: SampleBatch,
    /// The sink knows its row as it is.
    told: bool,
}

struct Lowering<'a> {
    segments: &'a MessageSegments,
    tables: &'a mut Tables,
    tally: &'a mut CountedNotes,
    resources: usize,
    segment: usize,
    layout: SampleFieldOrder,
    code: Code,
    attributes: Vec<Option<(AttrKeyId, Value)>>,
    resource: Option<ResourceId>,
    scope: Vec<Attribute>,
    current: Option<Current>,
    columns: SampleLists,
    links: Option<[AttrKeyId; 2]>,
    link_texts: HashMap<u64, [StringId; 2], RandomState>,
}

impl<'a> Lowering<'a> {
    fn new(
        segments: &'a MessageSegments,
        tables: &'a mut Tables,
        tally: &'a mut CountedNotes,
    ) -> Self {
        Self {
            segments,
            tables,
            tally,
            resources: 0,
            segment: usize::MAX,
            layout: SampleFieldOrder::default(),
            code: Code::default(),
            attributes: Vec::new(),
            resource: None,
            scope: Vec::new(),
            current: None,
            columns: SampleLists::default(),
            links: None,
            link_texts: HashMap::default(),
        }
    }

    fn dictionary(&self) -> Option<&'a ProfilesDictionary> {
        let segment = self.segments.all.get(self.segment)?;
        Some(&segment.dictionary)
    }

    fn field(&mut self, field: &Split<'_>, sink: &mut dyn Sink) -> Flow {
        let in_profile = std::ptr::eq(field.within, &PROFILE);
        if !in_profile {
            self.end_profile(sink)?;
        }
        let body = match field.value {
            Content::Len(body) => body,
            _ => &[],
        };
        if std::ptr::eq(field.within, &PROFILES_DATA) {
            if field.number == 1 {
                self.enter_resource(field.offset);
            }
        } else if std::ptr::eq(field.within, &RESOURCE_PROFILES) {
            if field.number == 1 {
                let dictionary = self.dictionary();
                let lookup = |index| dictionary.map_or(&[][..], |rows| rows.text(index));
                let row = value::resource(body, &lookup, self.tables);
                self.resource = Some(self.tables.resource(row));
            }
        } else if std::ptr::eq(field.within, &SCOPE_PROFILES) {
            match field.number {
                1 => self.scope(body),
                2 => self.begin_profile(),
                _ => {}
            }
        } else if in_profile {
            return match (field.number, field.value) {
                (2, Content::Len(body)) => self.sample(body, field.offset, sink),
                _ => {
                    self.header(field);
                    Flow::Continue(())
                }
            };
        }
        Flow::Continue(())
    }

    fn enter_resource(&mut self, offset: u64) {
        let segment = self.segments.of_resource.get(self.resources).copied();
        let segment = segment.unwrap_or(0);
        self.resources += 1;
        self.resource = None;
        self.scope.clear();
        if segment == self.segment {
            return;
        }
        self.segment = segment;
        let found = self.segments.all.get(segment);
        let rows = self.dictionary().map_or(0, |rows| rows.attributes.len());
        self.layout = found.map_or(SampleFieldOrder::default(), MessageSegment::layout);
        if self.layout == SampleFieldOrder::V1_9 {
            self.tally.add(Level::Info, "layout_1_9", offset, || {
                "samples are laid out as in version 1.9, which readers of 1.10 find empty"
                    .to_owned()
            });
        }
        self.attributes = vec![None; rows];
        self.link_texts.clear();
        if let Some(dictionary) = self.dictionary() {
            self.code = Code::new(dictionary, self.tables, self.tally);
        }
    }

    fn scope(&mut self, body: &[u8]) {
        self.scope.clear();
        for (number, raw) in fields(body) {
            let (name, text) = match number {
                1 => ("otel.scope.name", raw.bytes()),
                2 => ("otel.scope.version", raw.bytes()),
                3 => {
                    let attribute = value::attribute(raw.bytes(), &|_| &[], self.tables);
                    self.scope.push(attribute);
                    continue;
                }
                _ => continue,
            };
            let key = self.tables.attribute_named(name);
            let text = Value::Text(self.tables.bytes(text));
            self.scope.push(Attribute::new(key, text));
        }
    }

    fn begin_profile(&mut self) {
        let row = Profile {
            settings: self.scope.clone(),
            ..Profile::default()
        };
        let id = self.tables.profile(row.clone());
        self.current = Some(Current {
            id,
            row,
            factor: 1,
            batch: SampleBatch::new(id, 1),
            told: true,
        });
    }

    fn value_type(&mut self, body: &[u8]) -> (ValueTypeId, i64) {
        let (mut name, mut spelling) = (0, 0);
        for (number, value) in fields(body) {
            match number {
                1 => name = value.number(),
                2 => spelling = value.number(),
                _ => {}
            }
        }
        let text = |index| self.dictionary().map_or(&[][..], |rows| rows.text(index));
        let (name, spelling) = (text(name), text(spelling));
        let name = self.tables.bytes(name);
        let (unit, factor) = unit::parse(spelling, self.tables);
        (self.tables.value_type(ValueType::sum(name, unit)), factor)
    }

    /// Takes a field of a profile that is no sample.
    fn header(&mut self, field: &Split<'_>) {
        let Some(mut current) = self.current.take() else {
            return;
        };
        match (field.number, field.value) {
            (1, Content::Len(body)) => {
                let (id, factor) = self.value_type(body);
                current.row.value_types = vec![id];
                current.factor = factor;
            }
            (3, Content::Fixed64(time)) => {
                current.row.time = i64::try_from(time).ok().filter(|&time| time != 0);
            }
            (4, Content::Varint(length)) => {
                current.row.duration = i64::try_from(length).ok().filter(|&length| length != 0);
            }
            (5, Content::Len(body)) => {
                let (id, factor) = self.value_type(body);
                let amount = current.row.period.map_or(0, |(_, amount)| amount);
                current.row.period = Some((id, amount.saturating_mul(factor)));
            }
            (6, Content::Varint(amount)) => {
                let factor = current.factor;
                if let Some((_, period)) = &mut current.row.period {
                    *period = amount.cast_signed().saturating_mul(factor);
                } else {
                    self.tally.add(Level::Warn, "period", field.offset, || {
                        "the period has no type and is not used".to_owned()
                    });
                }
            }
            (8, Content::Varint(count)) if count > 0 => {
                let at = field.offset;
                self.tally
                    .add_many(Level::Warn, "dropped_attributes", at, count, || {
                        "the producer left attributes out".to_owned()
                    });
            }
            (10, _) => {
                self.tally
                    .add(Level::Info, "original_payload", field.offset, || {
                        "the profile as it was before is kept in the dump and not lowered"
                            .to_owned()
                    });
            }
            (11, value) => {
                let mut indices = Vec::new();
                match value {
                    Content::Len(run) => {
                        packed_varints(crate::protobuf::RawValue::Len(run), &mut indices);
                    }
                    Content::Varint(index) => indices.push(index),
                    _ => {}
                }
                for index in indices {
                    let found = self.attribute(index, field.offset);
                    current
                        .row
                        .settings
                        .extend(found.map(|(key, value)| Attribute::new(key, value)));
                }
            }
            _ => {
                self.current = Some(current);
                return;
            }
        }
        current.told = false;
        self.current = Some(current);
    }

    /// Returns an attribute of the dictionary.
    fn attribute(&mut self, index: u64, offset: u64) -> Option<(AttrKeyId, Value)> {
        let slot = usize::try_from(index).ok()?;
        if let Some(Some(known)) = self.attributes.get(slot) {
            return Some(known.clone());
        }
        let dictionary = self.dictionary()?;
        let Some(row) = dictionary.attributes.get(slot) else {
            self.tally
                .add(Level::Damage, "attribute_index", offset, || {
                    format!("attribute {index} is referred to and does not exist")
                });
            return None;
        };
        let name = self.tables.bytes(dictionary.text(row.key));
        let spelling = dictionary.text(row.unit);
        let unit = if spelling.is_empty() {
            Unit::Count
        } else {
            match unit::parse(spelling, self.tables) {
                (unit, 1) if unit != Unit::Count => unit,
                _ => Unit::Other(self.tables.bytes(spelling)),
            }
        };
        let key = self.tables.attribute_key(AttributeKey {
            unit,
            ..AttributeKey::named(name)
        });
        let lookup = |index| dictionary.text(index);
        let value = value::value(&row.value, &lookup, self.tables);
        if let Some(entry) = self.attributes.get_mut(slot) {
            *entry = Some((key, value.clone()));
        }
        Some((key, value))
    }

    fn sample(&mut self, body: &[u8], offset: u64, sink: &mut dyn Sink) -> Flow {
        let Some(mut current) = self.current.take() else {
            return Flow::Continue(());
        };
        self.columns.read(body, self.layout);
        let columns = std::mem::take(&mut self.columns);
        let stack = self.stack(columns.stack, offset);
        let mut labels = Vec::with_capacity(columns.attributes.len());
        for &index in &columns.attributes {
            if let Some((key, value)) = self.attribute(index, offset) {
                labels.push(Attribute::new(key, value));
            }
        }
        if columns.link != 0 {
            self.link(columns.link, offset, &mut labels);
        }
        let track = self.track(&labels);
        let track = track.map(|track| self.tables.track(track));
        let rows = columns.values.len().max(columns.timestamps.len());
        let counted = columns.values.is_empty();
        if !counted
            && !columns.timestamps.is_empty()
            && columns.values.len() != columns.timestamps.len()
        {
            self.tally.add(Level::Warn, "value_count", offset, || {
                format!(
                    "a sample has {} values and {} timestamps",
                    columns.values.len(),
                    columns.timestamps.len()
                )
            });
        }
        if rows == 0 {
            self.tally.add(Level::Warn, "empty_sample", offset, || {
                "a sample has neither values nor timestamps".to_owned()
            });
        }
        for row in 0..rows {
            let value = columns.values.get(row).map(|value| value.cast_signed());
            let value = value.unwrap_or(i64::from(counted));
            let value = value.checked_mul(current.factor).unwrap_or_else(|| {
                self.tally
                    .add(Level::Damage, "value_out_of_range", offset, || {
                        format!("{value} times {} has more than 64 bits", current.factor)
                    });
                if value < 0 { i64::MIN } else { i64::MAX }
            });
            let time = columns.timestamps.get(row).copied();
            current.batch.push(&SampleRow {
                stack,
                values: &[value],
                time: time.map(u64::cast_signed),
                track,
                span: None,
                labels: &labels,
            });
            if current.batch.len() >= BATCH_ROWS {
                self.hand_on(&mut current, sink)?;
            }
        }
        self.columns = columns;
        self.current = Some(current);
        Flow::Continue(())
    }

    fn stack(&mut self, index: u64, offset: u64) -> Option<StackId> {
        let dictionary = self.dictionary()?;
        self.code
            .stack(dictionary, index, offset, self.tables, self.tally)
    }

    /// Trace and span of a sample, as labels.
    fn link(&mut self, index: u64, offset: u64, labels: &mut Vec<Attribute>) {
        let found = usize::try_from(index).ok();
        let found = found.and_then(|slot| self.dictionary()?.links.get(slot).copied());
        let Some((trace, span)) = found else {
            self.tally.add(Level::Damage, "link_index", offset, || {
                format!("link {index} is referred to and does not exist")
            });
            return;
        };
        let tables = &mut *self.tables;
        let keys = *self.links.get_or_insert_with(|| {
            ["trace_id", "span_id"].map(|name| tables.attribute_named(name))
        });
        let texts = *self.link_texts.entry(index).or_insert_with(|| {
            [format!("{trace:032x}"), format!("{span:016x}")]
                .map(|text| tables.value(text.as_bytes()))
        });
        for (key, text) in keys.into_iter().zip(texts) {
            labels.push(Attribute::new(key, Value::Text(text)));
        }
    }

    /// The thread that labels name.
    fn track(&mut self, labels: &[Attribute]) -> Option<Track> {
        let mut track = Track {
            resource: self.resource,
            ..Track::default()
        };
        for label in labels {
            match (self.role(label.key), &label.value) {
                (Some("thread.id"), Value::I64(id)) => track.os_id = Some(id.cast_unsigned()),
                (Some("thread.name"), Value::Text(name)) => track.name = Some(*name),
                _ => {}
            }
        }
        let known = track.os_id.is_some() || track.name.is_some();
        (known || self.resource.is_some()).then_some(track)
    }

    fn role(&mut self, key: AttrKeyId) -> Option<&'static str> {
        let tables = &mut *self.tables;
        let roles = ["thread.id", "thread.name"];
        roles
            .into_iter()
            .find(|name| tables.attribute_named(name) == key)
    }

    fn hand_on(&mut self, current: &mut Current, sink: &mut dyn Sink) -> Flow {
        if !std::mem::replace(&mut current.told, true) {
            self.tables
                .redefine_profile(current.id, current.row.clone());
        }
        self.flush(sink)?;
        if current.batch.is_empty() {
            return Flow::Continue(());
        }
        let next = SampleBatch::new(current.id, 1);
        sink.samples(std::mem::replace(&mut current.batch, next))
    }

    fn end_profile(&mut self, sink: &mut dyn Sink) -> Flow {
        let Some(mut current) = self.current.take() else {
            return Flow::Continue(());
        };
        if current.row.value_types.is_empty() {
            // Counted by its timestamps, or damaged.
            let name = self.tables.string("samples");
            let id = self.tables.value_type(ValueType::sum(name, Unit::Count));
            current.row.value_types = vec![id];
            current.told = false;
        }
        self.hand_on(&mut current, sink)
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Flow {
        let new = self.tables.take_definitions();
        if new.is_empty() {
            return Flow::Continue(());
        }
        sink.define(new)
    }
}
