//! Several recordings into one sink: every id moves behind those already used.

use crate::bounds::row_number;
use crate::renumber::Renumber;
use crate::{
    Asks, AttrKeyId, Batch, ClassId, Clock, Definitions, EventTypeId, ExceptionId, Flow, FrameId,
    FunctionId, MappingId, ObjectId, Order, PartId, ProfileId, ResourceId, SeriesId, Sink, SpanId,
    StackId, Stage, StringId, TrackId, ValueTypeId,
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
    begun: Option<(Order, Clock)>,
    order: Option<Order>,
    /// No recording follows the first: ids stay as they are.
    alone: bool,
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
            begun: None,
            order: None,
            alone: false,
        }
    }

    /// Passes on one recording as it is: looking at every id of it would change none.
    #[must_use]
    pub fn of_one(self) -> Self {
        Self {
            alone: true,
            ..self
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
        self.base.parts = before.saturating_add(row_number(parts));
        self.next = self.base;
    }
}

impl<S: Sink + ?Sized> Renumber for Concat<'_, S> {
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
}

/// Moves the rows of a table: their own ids and those in them.
macro_rules! move_rows {
    ($self:ident $new:ident $($table:ident $id:ident $row:ident)*) => {$(
        for (id, row) in &mut $new.$table {
            $self.$id(id);
            $self.$row(row);
        }
    )*};
}

impl<S: Sink + ?Sized> Concat<'_, S> {
    fn tables(&mut self, new: &mut Definitions) {
        for (id, _) in &mut new.strings {
            self.string(id);
        }
        move_rows! { self new
            resources resource resource_row
            tracks track track_row
            classes class class_row
            functions function function_row
            mappings mapping mapping_row
            frames frame frame_row
            stacks stack stack_row
            value_types value_type value_type_row
            profiles profile profile_row
            event_types event_type event_type_row
            series series series_row
            exceptions exception exception_row
            attribute_keys attribute_key attribute_key_row
        }
    }
}

impl<S: Sink + ?Sized> Stage for Concat<'_, S> {
    fn asks(&self) -> Asks {
        self.to.asks()
    }

    fn pass(&mut self, mut batch: Batch) -> Flow {
        if self.alone {
            return batch.push(self.to);
        }
        match &mut batch {
            Batch::Begin(order, clock) => {
                // The first recording speaks for all.
                let first = (self.order.unwrap_or(*order), *clock);
                (*order, *clock) = *self.begun.get_or_insert(first);
            }
            Batch::Define(new) => self.tables(new),
            Batch::Note(note) => {
                note.part = PartId(note.part.0.saturating_add(self.base.parts));
            }
            rows => {
                if let Batch::Spans(spans) = rows {
                    for origin in spans.origin.values_mut() {
                        origin.part = PartId(origin.part.0.saturating_add(self.base.parts));
                    }
                }
                self.batch(rows);
            }
        }
        batch.push(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Function, Recording, SpanBatch, SpanRow, Tables, Track};

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
