//! Several recordings into one sink: every id moves behind those already used.

use crate::{
    Asks, AttrKeyId, Attribute, AttributeKey, Attributes, Batch, ClassId, Definitions, EventBatch,
    EventTypeId, ExceptionId, Flow, FrameId, FunctionId, LinkBatch, MappingId, ObjectBatch,
    ObjectId, Order, PartId, ProfileId, ResourceId, SampleBatch, SeriesId, Sink, SpanBatch, SpanId,
    StackId, Stage, StepBatch, StringId, TrackId, Unit, Value, ValueTypeId,
};

/// A sink that numbers the rows of each recording after those of the recordings before it.
///
/// Nothing is merged: two processes that run the same function keep a row each, because a row may be
/// redefined later and because a target decides itself what equals what. Spans, objects and parts move
/// along.
pub struct Concat<'s, S: Sink + ?Sized> {
    to: &'s mut S,
    base: Bases,
    next: Bases,
    begun: bool,
    order: Option<Order>,
}

#[derive(Clone, Copy, Default)]
struct Bases {
    strings: u32,
    resources: u32,
    tracks: u32,
    classes: u32,
    functions: u32,
    mappings: u32,
    frames: u32,
    stacks: u32,
    value_types: u32,
    profiles: u32,
    event_types: u32,
    series: u32,
    exceptions: u32,
    attribute_keys: u32,
    spans: u64,
    objects: u64,
    dumps: u32,
    parts: u32,
}

macro_rules! shifts {
    ($($method:ident $field:ident $id:ident)*) => {$(
        fn $method(&mut self, id: &mut $id) {
            let moved = id.raw().saturating_add(self.base.$field);
            self.next.$field = self.next.$field.max(moved.saturating_add(1));
            *id = $id::new(moved);
        }
    )*};
}

impl<'s, S: Sink + ?Sized> Concat<'s, S> {
    /// Passes recordings on to `to`.
    #[must_use]
    pub fn new(to: &'s mut S) -> Self {
        Self {
            to,
            base: Bases::default(),
            next: Bases::default(),
            begun: false,
            order: None,
        }
    }

    /// Announces spans in no order, whatever the recordings say: the first one cannot speak for others.
    #[must_use]
    pub fn of_many(self) -> Self {
        Self {
            order: Some(Order::None),
            ..self
        }
    }

    /// Says that a recording of `parts` parts is complete and another one follows.
    pub fn next_recording(&mut self, parts: usize) {
        let before = self.base.parts;
        self.base = self.next;
        self.base.parts = before.saturating_add(u32::try_from(parts).unwrap_or(u32::MAX));
        self.next = self.base;
    }

    shifts! {
        string strings StringId
        resource resources ResourceId
        track tracks TrackId
        class classes ClassId
        function functions FunctionId
        mapping mappings MappingId
        frame frames FrameId
        stack stacks StackId
        value_type value_types ValueTypeId
        profile profiles ProfileId
        event_type event_types EventTypeId
        series series SeriesId
        exception exceptions ExceptionId
        attribute_key attribute_keys AttrKeyId
    }

    fn span(&mut self, id: &mut SpanId) {
        id.0 = id.0.saturating_add(self.base.spans);
        self.next.spans = self.next.spans.max(id.0.saturating_add(1));
    }

    fn object(&mut self, id: &mut ObjectId) {
        id.0 = id.0.saturating_add(self.base.objects);
        self.next.objects = self.next.objects.max(id.0.saturating_add(1));
    }

    fn dump(&mut self, dump: &mut u32) {
        *dump = dump.saturating_add(self.base.dumps);
        self.next.dumps = self.next.dumps.max(dump.saturating_add(1));
    }

    fn each<I>(&mut self, ids: &mut [I], shift: fn(&mut Self, &mut I)) {
        for id in ids {
            shift(self, id);
        }
    }

    fn each_some<I>(&mut self, ids: &mut [Option<I>], shift: fn(&mut Self, &mut I)) {
        for id in ids.iter_mut().flatten() {
            shift(self, id);
        }
    }

    fn some<I>(&mut self, id: &mut Option<I>, shift: fn(&mut Self, &mut I)) {
        if let Some(id) = id {
            shift(self, id);
        }
    }

    fn unit(&mut self, unit: &mut Unit) {
        if let Unit::Other(name) = unit {
            self.string(name);
        }
    }

    fn value(&mut self, value: &mut Value) {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            match value {
                Value::Text(text) => self.string(text),
                Value::Exception(id) => self.exception(id),
                Value::List(_, items) => pending.extend(items.iter_mut()),
                Value::Map(entries) => {
                    pending.extend(entries.iter_mut().flat_map(|(key, value)| [key, value]));
                }
                Value::Null
                | Value::I64(_)
                | Value::U64(_)
                | Value::F64(_)
                | Value::Bool(_)
                | Value::Bytes(_) => {}
            }
        }
    }

    fn attribute(&mut self, attribute: &mut Attribute) {
        self.attribute_key(&mut attribute.key);
        self.value(&mut attribute.value);
        self.some(&mut attribute.from, Self::span);
    }

    fn attributes(&mut self, attributes: &mut Attributes) {
        for attribute in attributes.all_mut() {
            self.attribute(attribute);
        }
    }

    fn tables(&mut self, new: &mut Definitions) {
        for (id, _) in &mut new.strings {
            self.string(id);
        }
        for (id, row) in &mut new.resources {
            self.resource(id);
            self.some(&mut row.parent, Self::resource);
            let names = [
                &mut row.service,
                &mut row.instance,
                &mut row.host,
                &mut row.namespace,
                &mut row.language,
                &mut row.runtime,
                &mut row.os,
                &mut row.arch,
                &mut row.version,
                &mut row.env,
            ];
            names
                .into_iter()
                .for_each(|name| self.some(name, Self::string));
            row.attributes
                .iter_mut()
                .for_each(|attribute| self.attribute(attribute));
        }
        for (id, row) in &mut new.tracks {
            self.track(id);
            self.some(&mut row.resource, Self::resource);
            self.some(&mut row.parent, Self::track);
            self.some(&mut row.name, Self::string);
        }
        for (id, row) in &mut new.classes {
            self.class(id);
            self.string(&mut row.name);
            self.some(&mut row.superclass, Self::class);
            self.some(&mut row.loader, Self::string);
            self.some(&mut row.file, Self::string);
        }
        for (id, row) in &mut new.functions {
            self.function(id);
            self.string(&mut row.name);
            self.some(&mut row.class, Self::class);
            let names = [
                &mut row.system_name,
                &mut row.package,
                &mut row.library,
                &mut row.file,
                &mut row.signature,
            ];
            names
                .into_iter()
                .for_each(|name| self.some(name, Self::string));
        }
        for (id, row) in &mut new.mappings {
            self.mapping(id);
            self.some(&mut row.file, Self::string);
            self.some(&mut row.build_id, Self::string);
        }
        for (id, row) in &mut new.frames {
            self.frame(id);
            self.some(&mut row.function, Self::function);
            self.some(&mut row.mapping, Self::mapping);
        }
        for (id, row) in &mut new.stacks {
            self.stack(id);
            self.some(&mut row.parent, Self::stack);
            self.frame(&mut row.frame);
        }
        self.descriptions(new);
    }

    fn descriptions(&mut self, new: &mut Definitions) {
        for (id, row) in &mut new.value_types {
            self.value_type(id);
            self.string(&mut row.name);
            self.unit(&mut row.unit);
        }
        for (id, row) in &mut new.profiles {
            self.profile(id);
            self.each(&mut row.value_types, Self::value_type);
            self.some(&mut row.default, Self::value_type);
            if let Some((value_type, _)) = &mut row.period {
                self.value_type(value_type);
            }
            self.each(&mut row.comments, Self::string);
            let names = [&mut row.drop_frames, &mut row.keep_frames, &mut row.doc_url];
            names
                .into_iter()
                .for_each(|name| self.some(name, Self::string));
            row.settings
                .iter_mut()
                .for_each(|attribute| self.attribute(attribute));
        }
        for (id, row) in &mut new.event_types {
            self.event_type(id);
            self.string(&mut row.name);
            self.some(&mut row.label, Self::string);
            self.each(&mut row.fields, Self::attribute_key);
        }
        for (id, row) in &mut new.series {
            self.series(id);
            self.string(&mut row.name);
            self.unit(&mut row.unit);
            self.some(&mut row.track, Self::track);
        }
        for (id, row) in &mut new.exceptions {
            self.exception(id);
            self.some(&mut row.class, Self::string);
            self.some(&mut row.message, Self::string);
            self.some(&mut row.stack, Self::stack);
            self.some(&mut row.cause, Self::exception);
        }
        for (id, row) in &mut new.attribute_keys {
            self.attribute_key(id);
            let AttributeKey {
                name,
                unit,
                order: _,
                list: _,
                index: _,
                signature,
            } = row;
            self.string(name);
            self.unit(unit);
            self.some(signature, Self::string);
        }
    }
}

impl<S: Sink + ?Sized> Concat<'_, S> {
    fn spans(&mut self, batch: &mut SpanBatch) {
        self.each(&mut batch.id, Self::span);
        self.each_some(&mut batch.parent, Self::span);
        self.each(&mut batch.track, Self::track);
        self.each_some(&mut batch.function, Self::function);
        self.each_some(&mut batch.kind, Self::string);
        self.each_some(&mut batch.exception, Self::exception);
        for origin in batch.origin.iter_mut().flatten() {
            origin.part = PartId(origin.part.0.saturating_add(self.base.parts));
        }
        for (value_type, _) in batch.all_counters_mut() {
            self.value_type(value_type);
        }
        self.attributes(&mut batch.attributes);
    }

    fn steps(&mut self, batch: &mut StepBatch) {
        self.each_some(&mut batch.function, Self::function);
        for (_, track) in &mut batch.tracks {
            self.track(track);
        }
    }

    fn samples(&mut self, batch: &mut SampleBatch) {
        self.profile(&mut batch.profile);
        self.each_some(&mut batch.stack, Self::stack);
        self.each_some(&mut batch.track, Self::track);
        self.each_some(&mut batch.span, Self::span);
        self.attributes(&mut batch.labels);
    }

    fn events(&mut self, batch: &mut EventBatch) {
        self.each(&mut batch.event_type, Self::event_type);
        self.each_some(&mut batch.track, Self::track);
        self.each_some(&mut batch.object, Self::object);
        self.each_some(&mut batch.owner, Self::track);
        self.each_some(&mut batch.stack, Self::stack);
        self.attributes(&mut batch.attributes);
    }

    fn links(&mut self, batch: &mut LinkBatch) {
        for link in &mut batch.links {
            self.span(&mut link.from);
            self.span(&mut link.to);
            self.some(&mut link.kind, Self::string);
        }
    }

    fn objects(&mut self, batch: &mut ObjectBatch) {
        for row in &mut batch.rows {
            self.object(&mut row.id);
            self.some(&mut row.class, Self::class);
            self.some(&mut row.site, Self::stack);
            self.some(&mut row.thread, Self::track);
        }
    }
}

impl<S: Sink + ?Sized> Stage for Concat<'_, S> {
    fn asks(&self) -> Asks {
        Asks::of(self.to)
    }

    fn pass(&mut self, mut batch: Batch) -> Flow {
        match &mut batch {
            Batch::Begin(order, _) => {
                if std::mem::replace(&mut self.begun, true) {
                    return Flow::Continue(());
                }
                *order = self.order.unwrap_or(*order);
            }
            Batch::Define(new) => self.tables(new),
            Batch::Spans(batch) => self.spans(batch),
            Batch::Steps(batch) => self.steps(batch),
            Batch::Samples(batch) => self.samples(batch),
            Batch::Events(batch) => self.events(batch),
            Batch::Counters(batch) => self.each(&mut batch.series, Self::series),
            Batch::Links(batch) => self.links(batch),
            Batch::Objects(batch) => self.objects(batch),
            Batch::Edges(batch) => {
                self.each(&mut batch.dump, Self::dump);
                self.each(&mut batch.from, Self::object);
                self.each(&mut batch.to, Self::object);
            }
            Batch::Roots(batch) => {
                self.each(&mut batch.dump, Self::dump);
                self.each(&mut batch.object, Self::object);
            }
            Batch::Note(note) => {
                note.part = PartId(note.part.0.saturating_add(self.base.parts));
            }
        }
        batch.push(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Function, Recording, SpanRow, Tables, Track};

    fn push_one(sink: &mut dyn Sink, function: &str, thread: &str) {
        let mut tables = Tables::new();
        let function = tables.string(function);
        let function = tables.function(Function::named(function));
        let thread = tables.string(thread);
        let track = tables.track(Track::thread(thread));
        let mut spans = SpanBatch::default();
        spans.push(&SpanRow::call(tables.reserve_span(), track, function, 0, 1));
        let _ = sink.define(tables.take_definitions());
        let _ = sink.spans(spans);
    }

    #[test]
    fn two_recordings_keep_their_names_apart() {
        let mut recording = Recording::default();
        let mut both = Concat::new(&mut recording);
        push_one(&mut both, "a", "main");
        both.next_recording(1);
        push_one(&mut both, "b", "worker");
        assert_eq!(recording.spans.id, [SpanId(0), SpanId(1)]);
        let names: Vec<_> = recording
            .spans
            .iter()
            .map(|span| recording.function_name(span.function.unwrap()).into_owned())
            .collect();
        assert_eq!(names, ["a", "b"]);
        let second = recording.spans.track[1];
        let name = recording.track(second).unwrap().name.unwrap();
        assert_eq!(recording.text(name), "worker");
    }
}
