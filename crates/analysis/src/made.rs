//! A recording under construction, for the tests of views that fold events and objects.

use traceloom_model::{
    Class, ClassId, EventBatch, EventType, EventTypeId, Frame, Function, ObjectBatch, ObjectId,
    ObjectRow, Sink, Stack, StackId, Tables, Track, TrackId,
};

#[derive(Default)]
pub(crate) struct MadeName {
    pub tables: Tables,
    pub events: EventBatch,
    pub objects: ObjectBatch,
}

impl MadeName {
    pub fn event_type(&mut self, name: &str) -> EventTypeId {
        let name = self.tables.string(name);
        self.tables.event_type(EventType {
            name,
            label: None,
            fields: Vec::new(),
        })
    }

    pub fn thread(&mut self, name: &str) -> TrackId {
        let name = self.tables.string(name);
        self.tables.track(Track::thread(name))
    }

    /// A stack of functions, the outermost first.
    pub fn stack(&mut self, names: &[&str]) -> StackId {
        let mut stack = None;
        for name in names {
            let name = self.tables.string(name);
            let function = self.tables.function(Function::named(name));
            let frame = self.tables.frame(Frame {
                function: Some(function),
                line: 7,
                ..Frame::default()
            });
            stack = Some(self.tables.stack(Stack::under(stack, frame)));
        }
        stack.unwrap()
    }

    pub fn class(&mut self, name: &str) -> ClassId {
        let name = self.tables.string(name);
        self.tables.class(Class {
            name,
            superclass: None,
            loader: None,
            file: None,
        })
    }

    pub fn allocate(
        &mut self,
        id: u64,
        generation: u32,
        class: ClassId,
        size: u64,
        time: Option<i64>,
    ) {
        self.objects.rows.push(ObjectRow {
            id: ObjectId(id),
            generation,
            class: Some(class),
            size,
            is_array: false,
            time,
            site: None,
            thread: None,
        });
    }

    /// Pushes everything since the last time, in the order in which readers do.
    pub fn flush(&mut self, table: &mut dyn Sink) {
        let _ = table.define(self.tables.take_definitions());
        let _ = table.events(std::mem::take(&mut self.events));
        let _ = table.objects(std::mem::take(&mut self.objects));
    }
}
