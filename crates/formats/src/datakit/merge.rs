//! One recording into the tables of another: what several files of a bundle say, under one set of ids.
//!
//! A file's lowering numbers its rows from 0, so its rows are told again to the bundle's tables, which
//! make equal ones equal across files. The file is held in memory meanwhile: bundles are uploads, some
//! megabytes each.

use std::collections::HashMap;

use traceloom_model::{
    AttrKeyId, Attribute, AttributeKey, Attributes, BATCH_ROWS, Class, ClassId, CounterBatch,
    EventBatch, EventRow, EventType, EventTypeId, Exception, ExceptionId, Flow, Frame, FrameId,
    Function, FunctionId, LinkBatch, MappingId, Note, ObjectBatch, Origin, PartId, Profile,
    ProfileId, Recording, Resource, ResourceId, SampleBatch, SampleRow, Series, SeriesId, Sink,
    SpanBatch, SpanId, SpanRow, Stack, StackId, StringId, Tables, Text, Track, TrackId, Unit,
    Value, ValueType, ValueTypeId,
};

/// What a bundle changes in the rows of a file.
pub(super) struct Change<'c> {
    /// The resource of the bundle; the file's own hang under it.
    pub(super) resource: ResourceId,
    /// The file's part in the source.
    pub(super) part: PartId,
    /// The name of a value in the bundle: from its name and whether it is a plain count.
    pub(super) rename: &'c dyn Fn(&str, bool) -> Option<String>,
    /// Completes a profile.
    pub(super) complete: &'c dyn Fn(&mut Profile, &mut Tables),
}

/// Tracks of the bundle: several files name the same threads.
#[derive(Default)]
pub(super) struct Tracks(HashMap<Track, TrackId>);

/// Pushes everything a recording holds, except notes about nothing, into `sink`.
pub(super) fn merge(
    from: Recording,
    change: &Change<'_>,
    tracks: &mut Tracks,
    tables: &mut Tables,
    sink: &mut dyn Sink,
) -> Flow {
    let mut merge = Merge {
        change,
        tables,
        ids: Ids::default(),
    };
    merge.tables_of(&from, tracks);
    for note in from.notes.kept() {
        sink.note(Note {
            part: change.part,
            ..note.clone()
        })?;
    }
    sink.define(merge.tables.take_definitions())?;
    merge.batches(from, sink)?;
    let new = merge.tables.take_definitions();
    if new.is_empty() {
        Flow::Continue(())
    } else {
        sink.define(new)
    }
}

#[derive(Default)]
struct Ids {
    strings: Vec<StringId>,
    resources: Vec<ResourceId>,
    tracks: Vec<TrackId>,
    classes: Vec<ClassId>,
    functions: Vec<FunctionId>,
    mappings: Vec<MappingId>,
    frames: Vec<FrameId>,
    stacks: Vec<Option<StackId>>,
    value_types: Vec<ValueTypeId>,
    profiles: Vec<ProfileId>,
    event_types: Vec<EventTypeId>,
    series: Vec<SeriesId>,
    exceptions: Vec<ExceptionId>,
    attribute_keys: Vec<AttrKeyId>,
    spans: HashMap<SpanId, SpanId>,
}

struct Merge<'m> {
    change: &'m Change<'m>,
    tables: &'m mut Tables,
    ids: Ids,
}

impl Merge<'_> {
    fn string(&mut self, id: StringId) -> StringId {
        match self.ids.strings.get(id.index()) {
            Some(&known) => known,
            None => self.tables.string(&format!("#{}", id.raw())),
        }
    }

    fn some(&mut self, id: Option<StringId>) -> Option<StringId> {
        id.map(|id| self.string(id))
    }

    fn unit(&mut self, unit: Unit) -> Unit {
        match unit {
            Unit::Other(name) => Unit::Other(self.string(name)),
            known => known,
        }
    }

    /// Tells the tables again, each after those it refers to. A row refers to earlier rows of its own
    /// table only, because a lowering needs their ids to build it.
    fn tables_of(&mut self, from: &Recording, tracks: &mut Tracks) {
        for (at, row) in from.strings.iter().enumerate() {
            let undefined;
            let bytes = match row.as_ref().map(Text::as_bytes) {
                Some(bytes) => bytes,
                None => {
                    undefined = format!("#{at}");
                    undefined.as_bytes()
                }
            };
            let id = self.tables.bytes(bytes);
            self.ids.strings.push(id);
        }
        for row in &from.attribute_keys {
            let id = self.attribute_key(row.as_ref());
            self.ids.attribute_keys.push(id);
        }
        for row in &from.classes {
            let id = self.class(row.as_ref());
            self.ids.classes.push(id);
        }
        for row in &from.functions {
            let id = self.function(row.as_ref());
            self.ids.functions.push(id);
        }
        for row in &from.mappings {
            let mut row = row.clone().unwrap_or_default();
            row.file = self.some(row.file);
            row.build_id = self.some(row.build_id);
            let id = self.tables.mapping(row);
            self.ids.mappings.push(id);
        }
        for row in &from.frames {
            let id = self.frame(row.as_ref());
            self.ids.frames.push(id);
        }
        for row in &from.stacks {
            let id = row.as_ref().and_then(|row| self.stack(row));
            self.ids.stacks.push(id);
        }
        for row in &from.exceptions {
            let id = self.exception(row.as_ref());
            self.ids.exceptions.push(id);
        }
        for row in &from.resources {
            let id = self.resource(row.as_ref());
            self.ids.resources.push(id);
        }
        for row in &from.tracks {
            let row = self.track(row.as_ref());
            let tables = &mut *self.tables;
            let id = *tracks
                .0
                .entry(row.clone())
                .or_insert_with(|| tables.new_track(row));
            self.ids.tracks.push(id);
        }
        for row in &from.value_types {
            let id = self.value_type(from, row.as_ref());
            self.ids.value_types.push(id);
        }
        for row in &from.profiles {
            let id = self.profile(row.as_ref());
            self.ids.profiles.push(id);
        }
        for row in &from.event_types {
            let id = self.event_type(row.as_ref());
            self.ids.event_types.push(id);
        }
        for row in &from.series {
            let id = self.series(row.as_ref());
            self.ids.series.push(id);
        }
    }

    fn attribute_key(&mut self, row: Option<&AttributeKey>) -> AttrKeyId {
        let Some(&row) = row else {
            return self.tables.attribute_named("");
        };
        let row = AttributeKey {
            name: self.string(row.name),
            unit: self.unit(row.unit),
            signature: self.some(row.signature),
            ..row
        };
        self.tables.attribute_key(row)
    }

    fn class(&mut self, row: Option<&Class>) -> ClassId {
        let row = match row {
            Some(row) => Class {
                name: self.string(row.name),
                superclass: row
                    .superclass
                    .and_then(|id| known(&self.ids.classes, id.index())),
                loader: self.some(row.loader),
                file: self.some(row.file),
            },
            None => Class {
                name: self.tables.string(""),
                superclass: None,
                loader: None,
                file: None,
            },
        };
        self.tables.class(row)
    }

    fn function(&mut self, row: Option<&Function>) -> FunctionId {
        let row = match row {
            Some(row) => Function {
                name: self.string(row.name),
                system_name: self.some(row.system_name),
                class: row
                    .class
                    .and_then(|id| known(&self.ids.classes, id.index())),
                package: self.some(row.package),
                library: self.some(row.library),
                file: self.some(row.file),
                signature: self.some(row.signature),
                ..*row
            },
            None => Function::named(self.tables.string("")),
        };
        self.tables.function(row)
    }

    fn frame(&mut self, row: Option<&Frame>) -> FrameId {
        let row = row.cloned().unwrap_or_default();
        let row = Frame {
            function: row
                .function
                .and_then(|id| known(&self.ids.functions, id.index())),
            mapping: row
                .mapping
                .and_then(|id| known(&self.ids.mappings, id.index())),
            ..row
        };
        self.tables.frame(row)
    }

    fn stack(&mut self, row: &Stack) -> Option<StackId> {
        let frame = known(&self.ids.frames, row.frame.index())?;
        let parent = row
            .parent
            .and_then(|id| known(&self.ids.stacks, id.index()).flatten());
        Some(self.tables.stack(Stack {
            parent,
            frame,
            truncated: row.truncated || row.parent.is_some() && parent.is_none(),
        }))
    }

    fn exception(&mut self, row: Option<&Exception>) -> ExceptionId {
        let row = Exception {
            class: row.and_then(|row| row.class).map(|id| self.string(id)),
            message: row.and_then(|row| row.message).map(|id| self.string(id)),
            stack: row.and_then(|row| self.stack_id(row.stack)),
            cause: row
                .and_then(|row| row.cause)
                .and_then(|id| known(&self.ids.exceptions, id.index())),
        };
        self.tables.exception(row)
    }

    fn resource(&mut self, row: Option<&Resource>) -> ResourceId {
        let row = row.cloned().unwrap_or_default();
        let parent = row
            .parent
            .and_then(|id| known(&self.ids.resources, id.index()));
        let row = Resource {
            parent: Some(parent.unwrap_or(self.change.resource)),
            service: self.some(row.service),
            instance: self.some(row.instance),
            host: self.some(row.host),
            namespace: self.some(row.namespace),
            pid: row.pid,
            language: self.some(row.language),
            runtime: self.some(row.runtime),
            os: self.some(row.os),
            arch: self.some(row.arch),
            version: self.some(row.version),
            env: self.some(row.env),
            attributes: self.attributes(&row.attributes),
        };
        self.tables.resource(row)
    }

    fn track(&mut self, row: Option<&Track>) -> Track {
        let row = row.cloned().unwrap_or_default();
        let resource = row
            .resource
            .and_then(|id| known(&self.ids.resources, id.index()));
        Track {
            resource: Some(resource.unwrap_or(self.change.resource)),
            parent: row
                .parent
                .and_then(|id| known(&self.ids.tracks, id.index())),
            name: self.some(row.name),
            ..row
        }
    }

    fn value_type(&mut self, from: &Recording, row: Option<&ValueType>) -> ValueTypeId {
        let Some(&row) = row else {
            let name = self.tables.string("");
            return self.tables.value_type(ValueType::sum(name, Unit::Count));
        };
        let count = !matches!(row.unit, Unit::Nanoseconds | Unit::Bytes);
        let name = match (self.change.rename)(&from.text(row.name), count) {
            Some(name) => self.tables.string(&name),
            None => self.string(row.name),
        };
        let unit = self.unit(row.unit);
        self.tables.value_type(ValueType { name, unit, ..row })
    }

    fn profile(&mut self, row: Option<&Profile>) -> ProfileId {
        let row = row.cloned().unwrap_or_default();
        let value = |ids: &Ids, id: ValueTypeId| known(&ids.value_types, id.index());
        let mut row = Profile {
            value_types: row
                .value_types
                .iter()
                .filter_map(|&id| value(&self.ids, id))
                .collect(),
            default: row.default.and_then(|id| value(&self.ids, id)),
            period: row
                .period
                .and_then(|(id, period)| Some((value(&self.ids, id)?, period))),
            comments: row.comments.iter().map(|&id| self.string(id)).collect(),
            drop_frames: self.some(row.drop_frames),
            keep_frames: self.some(row.keep_frames),
            doc_url: self.some(row.doc_url),
            settings: self.attributes(&row.settings),
            ..row
        };
        (self.change.complete)(&mut row, self.tables);
        self.tables.profile(row)
    }

    fn event_type(&mut self, row: Option<&EventType>) -> EventTypeId {
        let row = match row {
            Some(row) => EventType {
                name: self.string(row.name),
                label: self.some(row.label),
                fields: row
                    .fields
                    .iter()
                    .filter_map(|id| known(&self.ids.attribute_keys, id.index()))
                    .collect(),
            },
            None => EventType {
                name: self.tables.string(""),
                label: None,
                fields: Vec::new(),
            },
        };
        self.tables.event_type(row)
    }

    fn series(&mut self, row: Option<&Series>) -> SeriesId {
        let row = match row {
            Some(row) => Series {
                name: self.string(row.name),
                unit: self.unit(row.unit),
                track: self.track_id(row.track),
            },
            None => Series {
                name: self.tables.string(""),
                unit: Unit::Count,
                track: None,
            },
        };
        self.tables.series(row)
    }

    fn stack_id(&self, id: Option<StackId>) -> Option<StackId> {
        known(&self.ids.stacks, id?.index()).flatten()
    }

    fn track_id(&self, id: Option<TrackId>) -> Option<TrackId> {
        known(&self.ids.tracks, id?.index())
    }

    fn span_id(&mut self, id: SpanId) -> SpanId {
        let tables = &mut *self.tables;
        *self
            .ids
            .spans
            .entry(id)
            .or_insert_with(|| tables.reserve_span())
    }

    fn attributes(&mut self, attributes: &[Attribute]) -> Vec<Attribute> {
        let mut told = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            let key = match known(&self.ids.attribute_keys, attribute.key.index()) {
                Some(key) => key,
                None => self
                    .tables
                    .attribute_named(&format!("#{}", attribute.key.raw())),
            };
            told.push(Attribute {
                key,
                value: self.value(&attribute.value, 0),
                at: attribute.at,
                from: attribute.from.map(|id| self.span_id(id)),
            });
        }
        told
    }

    fn value(&mut self, value: &Value, depth: usize) -> Value {
        // Deeper values come from no format; a bound keeps the recursion off the end of the stack.
        const DEEPEST: usize = 512;
        match value {
            _ if depth > DEEPEST => Value::Null,
            Value::Text(id) => Value::Text(self.string(*id)),
            Value::List(kind, items) => {
                let items = items
                    .iter()
                    .map(|item| self.value(item, depth + 1))
                    .collect();
                Value::List(*kind, items)
            }
            Value::Map(entries) => {
                let mut entry = |(key, value): &(Value, Value)| {
                    (self.value(key, depth + 1), self.value(value, depth + 1))
                };
                Value::Map(entries.iter().map(&mut entry).collect())
            }
            Value::Exception(id) => match known(&self.ids.exceptions, id.index()) {
                Some(id) => Value::Exception(id),
                None => Value::Null,
            },
            plain => plain.clone(),
        }
    }

    fn rows(&mut self, attributes: &Attributes, row: usize) -> Vec<Attribute> {
        self.attributes(attributes.row(row))
    }

    fn batches(&mut self, from: Recording, sink: &mut dyn Sink) -> Flow {
        for batch in &from.samples {
            self.samples(batch, sink)?;
        }
        self.events(&from.events, sink)?;
        self.spans(&from.spans, sink)?;
        let counters = &from.counters;
        let points = counters
            .series
            .iter()
            .zip(&counters.time)
            .zip(&counters.value);
        let mut batch = CounterBatch::default();
        for ((series, &time), &value) in points {
            if let Some(series) = known(&self.ids.series, series.index()) {
                batch.push(series, time, value);
            }
            if batch.series.len() >= BATCH_ROWS {
                sink.counters(std::mem::take(&mut batch))?;
            }
        }
        if !batch.series.is_empty() {
            sink.counters(batch)?;
        }
        self.heap(from, sink)
    }

    fn samples(&mut self, from: &SampleBatch, sink: &mut dyn Sink) -> Flow {
        let Some(profile) = known(&self.ids.profiles, from.profile.index()) else {
            return Flow::Continue(());
        };
        let mut batch = SampleBatch::new(profile, from.width());
        for row in from.iter() {
            let labels = self.attributes(row.labels);
            batch.push(&SampleRow {
                stack: self.stack_id(row.stack),
                track: self.track_id(row.track),
                span: row.span.map(|id| self.span_id(id)),
                labels: &labels,
                ..row
            });
        }
        sink.samples(batch)
    }

    fn events(&mut self, from: &EventBatch, sink: &mut dyn Sink) -> Flow {
        let mut batch = EventBatch::default();
        for at in 0..from.len() {
            let Some(row) = from.row(at) else { continue };
            let Some(event_type) = known(&self.ids.event_types, row.event_type.index()) else {
                continue;
            };
            let attributes = self.rows(&from.attributes, at);
            batch.push(&EventRow {
                event_type,
                track: self.track_id(row.track),
                owner: self.track_id(row.owner),
                stack: self.stack_id(row.stack),
                attributes: &attributes,
                ..row
            });
            if batch.len() >= BATCH_ROWS {
                sink.events(std::mem::take(&mut batch))?;
            }
        }
        if batch.is_empty() {
            Flow::Continue(())
        } else {
            sink.events(batch)
        }
    }

    fn spans(&mut self, from: &SpanBatch, sink: &mut dyn Sink) -> Flow {
        let mut batch = SpanBatch::default();
        for row in from.iter() {
            let Some(track) = self.track_id(Some(row.track)) else {
                continue;
            };
            let attributes = self.attributes(row.attributes);
            let counter = |&(id, value): &(ValueTypeId, i64)| {
                Some((known(&self.ids.value_types, id.index())?, value))
            };
            let counters: Vec<_> = row.counters.iter().filter_map(counter).collect();
            batch.push(&SpanRow {
                id: self.span_id(row.id),
                parent: row.parent.map(|id| self.span_id(id)),
                track,
                function: row
                    .function
                    .and_then(|id| known(&self.ids.functions, id.index())),
                kind: row.kind.map(|id| self.string(id)),
                counters: &counters,
                attributes: &attributes,
                exception: row
                    .exception
                    .and_then(|id| known(&self.ids.exceptions, id.index())),
                origin: row.origin.map(|origin| Origin {
                    part: self.change.part,
                    ..origin
                }),
                ..row
            });
            if batch.len() >= BATCH_ROWS {
                sink.spans(std::mem::take(&mut batch))?;
            }
        }
        if batch.is_empty() {
            Flow::Continue(())
        } else {
            sink.spans(batch)
        }
    }

    fn heap(&mut self, from: Recording, sink: &mut dyn Sink) -> Flow {
        let mut links = LinkBatch::default();
        for link in from.links {
            links.links.push(traceloom_model::Link {
                from: self.span_id(link.from),
                to: self.span_id(link.to),
                kind: self.some(link.kind),
            });
        }
        if !links.links.is_empty() {
            sink.links(links)?;
        }
        let mut objects = ObjectBatch::default();
        for mut row in from.objects {
            row.class = row
                .class
                .and_then(|id| known(&self.ids.classes, id.index()));
            row.thread = self.track_id(row.thread);
            row.site = self.stack_id(row.site);
            objects.rows.push(row);
        }
        if !objects.rows.is_empty() {
            sink.objects(objects)?;
        }
        if !from.edges.from.is_empty() {
            sink.edges(from.edges)?;
        }
        if from.roots.object.is_empty() {
            return Flow::Continue(());
        }
        sink.roots(from.roots)
    }
}

fn known<T: Copy>(ids: &[T], index: usize) -> Option<T> {
    ids.get(index).copied()
}
