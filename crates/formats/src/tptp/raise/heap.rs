//! Heap objects, references and roots to messages.

use std::collections::HashMap;

use traceloom_model::bounds::in_memory;
use traceloom_model::{EdgeBatch, EventRow, Flow, ObjectRow, RootBatch, Value};

use super::order::Rank;
use super::{Writer, schema};
use crate::tptp::message::Draft;

/// Dumps by their place in the recording, and the names of root kinds.
#[derive(Default)]
pub(super) struct HeapDumps {
    ids: Vec<u64>,
    kinds: HashMap<u32, String>,
    /// When the last one was made.
    time: Option<i64>,
}

impl HeapDumps {
    pub fn defined(&mut self, numbers: &[(&'static str, u64)], time: i64) {
        self.time = Some(time);
        let id = numbers.iter().find(|(name, _)| *name == "heapDumpId");
        self.ids.push(id.map_or(0, |(_, id)| *id));
    }
}

impl Writer<'_> {
    pub(super) fn object(&mut self, row: &ObjectRow) {
        let Some(time) = row.time else {
            // It is known from a root alone, which names its class too.
            return;
        };
        let thread = row.thread.map_or(0, |track| self.thread(track, time));
        let class = row.class.map_or(0, |class| self.class(class));
        let site = row.site.and_then(|site| self.tables.stack(site));
        let frame = site.and_then(|site| self.tables.frame(site.frame)).cloned();
        let function = frame.as_ref().and_then(|frame| frame.function);
        let method = function.map_or(0, |function| self.method(function).0);
        let line = frame.map_or(0, |frame| frame.line);
        let draft = Draft::new(schema(1014))
            .number("threadIdRef", thread)
            .number("time", self.time(time));
        let draft = draft
            .number("isArray", row.is_array.into())
            .number("objId", row.id.0);
        let draft = draft
            .number("size", row.size)
            .number("lineNumber", line.into());
        let draft = draft.number("methodIdRef", method);
        self.put(time, Rank::Happens, &draft.number("classIdRef", class));
    }

    pub(super) fn root_kind(&mut self, event: &EventRow<'_>) {
        let (mut number, mut name) = (None, String::new());
        for attribute in event.attributes {
            match attribute.value {
                Value::U64(value) => number = u32::try_from(value).ok(),
                Value::Text(text) => name = self.tables.text(text).into_owned(),
                _ => {}
            }
        }
        if let Some(number) = number {
            self.heap.kinds.insert(number, name);
        }
    }

    /// Takes the id of a dump; one that no event tells of is defined here.
    fn dump(&mut self, dump: u32) -> u64 {
        let at = in_memory(dump);
        if let Some(&id) = self.heap.ids.get(at) {
            return id;
        }
        // Dumps are counted from 0 without gaps; a recording that has them gets one dump for the rest.
        let id = self.heap.ids.len() as u64 + 1;
        self.heap.ids.push(id);
        self.put_heap(&Draft::new(schema(1038)).number("heapDumpId", id));
        id
    }

    /// What lies in a dump has no time of its own.
    fn put_heap(&mut self, draft: &Draft<'_>) {
        let waiting = &self.waiting;
        let time = *self.heap.time.get_or_insert_with(|| waiting.latest());
        self.put(time, Rank::Happens, draft);
    }

    pub(super) fn take_edges(&mut self, batch: &EdgeBatch) -> Flow {
        for ((dump, from), to) in batch.dump.iter().zip(&batch.from).zip(&batch.to) {
            let dump = self.dump(*dump);
            let draft = Draft::new(schema(1040))
                .number("srcIdRef", from.0)
                .number("targetIdRef", to.0);
            self.put_heap(&draft.number("heapDumpIdRef", dump));
            self.flush()?;
        }
        Flow::Continue(())
    }

    pub(super) fn take_roots(&mut self, batch: &RootBatch) -> Flow {
        for ((dump, object), kind) in batch.dump.iter().zip(&batch.object).zip(&batch.kind) {
            self.dump(*dump);
            let number = kind.to_string();
            let name = self.heap.kinds.get(kind).unwrap_or(&number).clone();
            let draft = Draft::new(schema(1039)).number("objIdRef", object.0);
            self.put_heap(&draft.text("type", &name));
            self.flush()?;
        }
        Flow::Continue(())
    }
}
