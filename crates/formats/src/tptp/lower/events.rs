//! Monitors, collections, and messages that are told as they are.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, EventRow, EventType, EventTypeId, Flow, ObjectId, Stack, StackId,
    TrackId, Value,
};

use super::Lowering;
use super::names::DefinitionIds;
use crate::tptp::message::Message;
use crate::tptp::xml::Element;

#[derive(Debug, Default)]
pub(super) struct EventRows {
    types: HashMap<&'static str, EventTypeId>,
    monitors: HashMap<(u64, u64, bool), PendingWait, RandomState>,
    collection: Option<(i64, Option<TrackId>)>,
}

/// A wait or a contention that has not ended.
#[derive(Debug)]
struct PendingWait {
    time: i64,
    track: Option<TrackId>,
    owner: Option<TrackId>,
    stack: Option<StackId>,
    timeout: u64,
}

/// Fields that events tell in columns of their own.
const COLUMNS: &[&str] = &[
    "time",
    "threadIdRef",
    "transientThreadIdRef",
    "objIdRef",
    "stackDepth",
];

impl Lowering<'_> {
    pub(super) fn event_type(&mut self, name: &'static str) -> EventTypeId {
        let tables = &mut self.tables;
        *self.events.types.entry(name).or_insert_with(|| {
            let name = tables.string(name);
            tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            })
        })
    }

    fn key(&mut self, name: &str) -> AttrKeyId {
        self.tables.attribute_named(name)
    }

    /// A definition is an event where it tells when it happened.
    pub(super) fn definition(&mut self, message: &Message<'_>) {
        if message.number("time") != 0 {
            self.plain_event(message);
        }
    }

    /// A message as an event of its own name.
    pub(super) fn plain_event(&mut self, message: &Message<'_>) {
        let time = self.now(message.number("time"), 0);
        let event_type = self.event_type(message.schema.kind);
        let track = match message.schema.id {
            1009 => {
                let id = [
                    message.number("threadId"),
                    message.number("transientThreadId"),
                ];
                self.track_by_id(id.into_iter().find(|&id| id != 0).unwrap_or(0))
            }
            _ => self.track_of(message),
        };
        let object = Some(message.number("objIdRef")).filter(|&id| id != 0);
        let stack = self.stack(message);
        let attributes = self.attributes(message, COLUMNS, 0);
        self.batches.events.push(&EventRow {
            track,
            object: object.map(ObjectId),
            stack,
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
    }

    /// An element that no table has, as TPTP's probes emit them.
    pub(super) fn foreign_element(&mut self, element: &Element<'_>) -> Flow {
        let event_type = self.event_type("custom");
        let body = match element.charset.decode(element.raw) {
            Ok(text) => self.tables.string(&text),
            Err(_) => self.tables.bytes(element.raw),
        };
        let attribute = Attribute::new(self.key("body"), Value::Text(body));
        let time = self.now(0, element.offset);
        self.batches.events.push(&EventRow {
            attributes: &[attribute],
            ..EventRow::of_process(event_type, time, None)
        });
        if self.batches.full() {
            self.flush()
        } else {
            Flow::Continue(())
        }
    }

    pub(super) fn gc_start(&mut self, message: &Message<'_>) {
        let time = self.now(message.number("time"), 0);
        let track = self.track_of(message);
        if let Some((start, track)) = self.events.collection.replace((time, track)) {
            self.collection(start, None, track, &[]);
        }
    }

    pub(super) fn gc_finish(&mut self, message: &Message<'_>) {
        let end = self.now(message.number("time"), 0);
        let Some((start, track)) = self.events.collection.take() else {
            self.plain_event(message);
            return;
        };
        let attributes = self.attributes(message, COLUMNS, 0);
        self.collection(start, Some(end.max(start)), track, &attributes);
    }

    fn collection(
        &mut self,
        start: i64,
        end: Option<i64>,
        track: Option<TrackId>,
        attributes: &[Attribute],
    ) {
        let event_type = self.event_type("gc");
        self.batches.events.push(&EventRow {
            track,
            attributes,
            ..EventRow::of_process(event_type, start, end)
        });
    }

    /// Waits and contentions pair by thread and object (SPEC.md §2.7).
    pub(super) fn monitor(&mut self, message: &Message<'_>, offset: u64) -> Flow {
        let id = message.schema.id;
        let time = self.now(message.number("time"), offset);
        let track = self.track_of(message);
        let wait = id <= 1033;
        let key = (
            message.number("threadIdRef"),
            message.number("objIdRef"),
            wait,
        );
        if matches!(id, 1032 | 1034) {
            if self.events.monitors.len() >= self.limit_table {
                return self.limit("limit_table", offset, "too many waits are open");
            }
            let owner = self.track_by_id(message.number("threadOwner"));
            let stack = self.stack(message);
            let waiting = PendingWait {
                time,
                track,
                owner,
                stack,
                timeout: message.number("timeout"),
            };
            if let Some(earlier) = self.events.monitors.insert(key, waiting) {
                self.waited(key, &earlier, None, 0);
            }
            return Flow::Continue(());
        }
        if let Some(mut waiting) = self.events.monitors.remove(&key) {
            if waiting.stack.is_none() {
                waiting.stack = self.stack(message);
            }
            let end = time.max(waiting.time);
            self.waited(key, &waiting, Some(end), message.number("timeout"));
            return Flow::Continue(());
        }
        let event_type = self.event_type(message.schema.kind);
        let stack = self.stack(message);
        let attributes = self.attributes(message, COLUMNS, offset);
        self.batches.events.push(&EventRow {
            track,
            object: Some(ObjectId(key.1)),
            stack,
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
        Flow::Continue(())
    }

    fn waited(
        &mut self,
        key: (u64, u64, bool),
        waiting: &PendingWait,
        end: Option<i64>,
        flag: u64,
    ) {
        let event_type = self.event_type(if key.2 {
            "monitor_wait"
        } else {
            "monitor_contention"
        });
        let mut attributes = Vec::new();
        for (name, number) in [("timeout", waiting.timeout), ("waited_timeout", flag)] {
            if number != 0 {
                attributes.push(Attribute::new(self.key(name), Value::U64(number)));
            }
        }
        self.batches.events.push(&EventRow {
            track: waiting.track,
            object: Some(ObjectId(key.1)),
            owner: waiting.owner,
            stack: waiting.stack,
            attributes: &attributes,
            ..EventRow::of_process(event_type, waiting.time, end)
        });
    }

    pub(super) fn end_events(&mut self) {
        let mut open: Vec<_> = self.events.monitors.drain().collect();
        open.sort_unstable_by_key(|(key, waiting)| (waiting.time, *key));
        for (key, waiting) in open {
            self.waited(key, &waiting, None, 0);
            if self.batches.full() && self.flush().is_break() {
                return;
            }
        }
        if let Some((start, track)) = self.events.collection.take() {
            self.collection(start, None, track, &[]);
        }
    }

    /// The stack of a message; the wire has its innermost frame first.
    fn stack(&mut self, message: &Message<'_>) -> Option<StackId> {
        let mut frames = Vec::new();
        message.frames.each(&mut |method, line| {
            let function = DefinitionIds::spelled(&mut self.tables, &message.texts.lossy(method));
            frames.push(DefinitionIds::frame(&mut self.tables, function, line));
        });
        frames.into_iter().rev().fold(None, |parent, frame| {
            Some(self.tables.stack(Stack {
                parent,
                frame,
                truncated: false,
            }))
        })
    }
}
