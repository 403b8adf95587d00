//! Walking over every id of rows and batches: what moves a recording into another numbering.
//!
//! Which ids a row or a batch holds is said here once; [`crate::Concat`] shifts them, [`crate::Join`]
//! looks them up.

use crate::{
    AttrKeyId, Attribute, AttributeKey, Attributes, Batch, Class, ClassId, EventBatch, EventType,
    EventTypeId, Exception, ExceptionId, Frame, FrameId, Function, FunctionId, Mapping, MappingId,
    ObjectId, Profile, ProfileId, Resource, ResourceId, SampleBatch, Series, SeriesId, SpanBatch,
    SpanId, Spot, Stack, StackId, StringId, Track, TrackId, Unit, Value, ValueType, ValueTypeId,
};

/// A new number for each id; the rest follows.
pub(crate) trait Renumber: Sized {
    fn string(&mut self, id: &mut StringId);
    fn resource(&mut self, id: &mut ResourceId);
    fn track(&mut self, id: &mut TrackId);
    fn class(&mut self, id: &mut ClassId);
    fn function(&mut self, id: &mut FunctionId);
    fn mapping(&mut self, id: &mut MappingId);
    fn frame(&mut self, id: &mut FrameId);
    fn stack(&mut self, id: &mut StackId);
    fn value_type(&mut self, id: &mut ValueTypeId);
    fn profile(&mut self, id: &mut ProfileId);
    fn event_type(&mut self, id: &mut EventTypeId);
    fn series(&mut self, id: &mut SeriesId);
    fn exception(&mut self, id: &mut ExceptionId);
    fn attribute_key(&mut self, id: &mut AttrKeyId);
    fn span(&mut self, id: &mut SpanId);
    fn object(&mut self, id: &mut ObjectId);
    fn dump(&mut self, dump: &mut u32);

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

    #[inline]
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::Text(text) => self.string(text),
            Value::Exception(id) => self.exception(id),
            Value::List(..) | Value::Map(_) => self.nested(value),
            Value::Null
            | Value::I64(_)
            | Value::U64(_)
            | Value::F64(_)
            | Value::Bool(_)
            | Value::Bytes(_) => {}
        }
    }

    fn nested(&mut self, value: &mut Value) {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            match value {
                Value::List(_, items) => pending.extend(items.iter_mut()),
                Value::Map(entries) => {
                    pending.extend(entries.iter_mut().flat_map(|(key, value)| [key, value]));
                }
                single => self.value(single),
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

    fn resource_row(&mut self, row: &mut Resource) {
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
        for attribute in &mut row.attributes {
            self.attribute(attribute);
        }
    }

    fn track_row(&mut self, row: &mut Track) {
        self.some(&mut row.resource, Self::resource);
        self.some(&mut row.parent, Self::track);
        self.some(&mut row.name, Self::string);
    }

    fn class_row(&mut self, row: &mut Class) {
        self.string(&mut row.name);
        self.some(&mut row.superclass, Self::class);
        self.some(&mut row.loader, Self::string);
        self.some(&mut row.file, Self::string);
    }

    fn function_row(&mut self, row: &mut Function) {
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

    fn mapping_row(&mut self, row: &mut Mapping) {
        self.some(&mut row.file, Self::string);
        self.some(&mut row.build_id, Self::string);
    }

    fn frame_row(&mut self, row: &mut Frame) {
        self.some(&mut row.function, Self::function);
        self.some(&mut row.mapping, Self::mapping);
    }

    fn stack_row(&mut self, row: &mut Stack) {
        self.some(&mut row.parent, Self::stack);
        self.frame(&mut row.frame);
    }

    fn value_type_row(&mut self, row: &mut ValueType) {
        self.string(&mut row.name);
        self.unit(&mut row.unit);
    }

    fn profile_row(&mut self, row: &mut Profile) {
        self.some(&mut row.resource, Self::resource);
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
        for attribute in &mut row.settings {
            self.attribute(attribute);
        }
    }

    fn event_type_row(&mut self, row: &mut EventType) {
        self.string(&mut row.name);
        self.some(&mut row.label, Self::string);
        self.each(&mut row.fields, Self::attribute_key);
    }

    fn series_row(&mut self, row: &mut Series) {
        self.string(&mut row.name);
        self.unit(&mut row.unit);
        self.some(&mut row.track, Self::track);
    }

    fn exception_row(&mut self, row: &mut Exception) {
        self.some(&mut row.class, Self::string);
        self.some(&mut row.message, Self::string);
        self.some(&mut row.stack, Self::stack);
        self.some(&mut row.cause, Self::exception);
    }

    fn attribute_key_row(&mut self, row: &mut AttributeKey) {
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

    /// Moves the ids of a batch of rows; definitions and notes are the caller's.
    fn batch(&mut self, batch: &mut Batch) {
        match batch {
            Batch::Spans(batch) => self.spans(batch),
            Batch::Steps(batch) => {
                self.each_some(&mut batch.function, Self::function);
                let open = batch.open.iter_mut().map(|(track, _)| track);
                let tracks = batch.tracks.iter_mut().map(|(_, track)| track);
                tracks.chain(open).for_each(|track| self.track(track));
            }
            Batch::Samples(batch) => self.samples(batch),
            Batch::Paths(batch) => {
                self.profile(&mut batch.profile);
                for spot in batch.spots_mut() {
                    match spot {
                        Spot::Function(id) => self.function(id),
                        Spot::Frame(id) => self.frame(id),
                    }
                }
            }
            Batch::Events(batch) => self.events(batch),
            Batch::Counters(batch) => self.each(&mut batch.series, Self::series),
            Batch::Links(batch) => {
                for link in &mut batch.links {
                    self.span(&mut link.from);
                    self.span(&mut link.to);
                    self.some(&mut link.kind, Self::string);
                }
            }
            Batch::Objects(batch) => {
                for row in &mut batch.rows {
                    self.object(&mut row.id);
                    self.some(&mut row.class, Self::class);
                    self.some(&mut row.site, Self::stack);
                    self.some(&mut row.thread, Self::track);
                }
            }
            Batch::Edges(batch) => {
                self.each(&mut batch.dump, Self::dump);
                self.each(&mut batch.from, Self::object);
                self.each(&mut batch.to, Self::object);
            }
            Batch::Roots(batch) => {
                self.each(&mut batch.dump, Self::dump);
                self.each(&mut batch.object, Self::object);
            }
            Batch::Forget(strings) => self.each(strings, Self::string),
            Batch::Begin(..) | Batch::Define(_) | Batch::Note(_) => {}
        }
    }

    fn spans(&mut self, batch: &mut SpanBatch) {
        self.each(&mut batch.id, Self::span);
        self.each_some(&mut batch.parent, Self::span);
        self.each(&mut batch.track, Self::track);
        self.each_some(&mut batch.function, Self::function);
        self.each(batch.kind.values_mut(), Self::string);
        self.each(batch.exception.values_mut(), Self::exception);
        for (value_type, _) in batch.all_counters_mut() {
            self.value_type(value_type);
        }
        self.attributes(&mut batch.attributes);
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
}
