//! Events to the messages they came from, and foreign ones to custom messages.

use traceloom_model::{EventRow, StackId, Value};

use super::order::Rank;
use super::{Writer, schema, ticks};
use crate::tptp::markup::escape;
use crate::tptp::message::Draft;
use crate::tptp::table::{FieldDef, Kind, Layout, Schema, by_kind};

/// A message put together from names and values that are not there for long.
pub(super) struct Rebuilt {
    schema: &'static Schema,
    base: i64,
    numbers: Vec<(&'static str, u64)>,
    texts: Vec<(&'static str, String)>,
    frames: Vec<(String, u64)>,
}

impl Rebuilt {
    /// A message whose times are counted from `base`.
    pub fn new(schema: &'static Schema, base: i64) -> Self {
        Self {
            schema,
            base,
            numbers: Vec::new(),
            texts: Vec::new(),
            frames: Vec::new(),
        }
    }

    pub fn number(&mut self, attribute: &'static str, number: u64) {
        self.numbers.push((attribute, number));
    }

    pub fn text(&mut self, attribute: &'static str, text: &str) {
        if !text.is_empty() {
            self.texts.push((attribute, text.to_owned()));
        }
    }

    fn field(&self, name: &str) -> Option<&'static FieldDef> {
        let mut fields = self.schema.fields(Layout::Table).iter();
        fields.find(|field| field.name == name && !field.kind.is_array())
    }

    pub fn text_by_name(&mut self, name: &str, text: &str) {
        if let Some(field) = self.field(name) {
            self.text(field.attribute, text);
        }
    }

    pub fn value_by_name(&mut self, name: &str, value: &Value) {
        let Some(field) = self.field(name) else {
            return;
        };
        let number = match *value {
            Value::U64(number) => number,
            Value::I64(number) if field.kind == Kind::Signed => {
                number.cast_unsigned() & u64::from(u32::MAX)
            }
            Value::I64(ns) if matches!(name, "time" | "basetime") => {
                ticks(ns.saturating_add(self.base))
            }
            Value::I64(number) => ticks(number),
            Value::Bool(flag) => flag.into(),
            _ => return,
        };
        self.number(field.attribute, number);
    }

    /// Returns true if a value has a field that takes it as it is.
    fn takes(&self, name: &str, value: &Value) -> bool {
        let Some(field) = self.field(name) else {
            return false;
        };
        match value {
            Value::Text(_) => field.kind == Kind::Text,
            Value::U64(number) => match field.kind {
                Kind::Long | Kind::Ticks => true,
                Kind::Int => u32::try_from(*number).is_ok(),
                _ => false,
            },
            Value::I64(number) => match field.kind {
                Kind::Ticks => true,
                Kind::Signed => i32::try_from(*number).is_ok(),
                _ => false,
            },
            Value::Bool(_) => field.kind == Kind::Byte,
            _ => false,
        }
    }

    /// Hands the message over.
    pub fn draft(&self, then: impl FnOnce(&Draft<'_>)) {
        let mut draft = Draft::new(self.schema);
        for (attribute, number) in &self.numbers {
            draft = draft.number(attribute, *number);
        }
        for (attribute, text) in &self.texts {
            draft = draft.text(attribute, text);
        }
        let frames = self.frames.iter();
        let frames: Vec<(&[u8], u64)> = frames
            .map(|(name, line)| (name.as_bytes(), *line))
            .collect();
        then(&draft.stack(&frames));
    }
}

/// Returns `true` if a message has room for what an event has besides its attributes.
fn holds(schema: &Schema, event: &EventRow<'_>) -> bool {
    let has = |attribute| schema.position(Layout::Table, attribute).is_some();
    (event.track.is_none() || has("threadIdRef") || has("threadId"))
        && (event.owner.is_none() || has("threadOwner"))
        && (event.object.is_none() || has("objIdRef"))
        && (event.stack.is_none() || schema.has_stack())
}

impl Writer<'_> {
    pub(super) fn event(&mut self, event: &EventRow<'_>) {
        let name = self.tables.event_type(event.event_type).map(|row| row.name);
        let name = self.text(name);
        let named = self.named(event);
        let fits = |ids: &[u16]| {
            let messages: Vec<Rebuilt> = ids
                .iter()
                .map(|&id| Rebuilt::new(schema(id), self.base))
                .collect();
            named.iter().all(|(name, value)| {
                name == "waited_timeout" || messages.iter().any(|m| m.takes(name, value))
            })
        };
        match name.as_str() {
            "monitor_wait" if fits(&[1032]) => self.monitor(event, &named, 1032, 1033),
            "monitor_contention" if fits(&[1034]) => self.monitor(event, &named, 1034, 1035),
            "gc" if fits(&[1027]) && (named.is_empty() || event.end.is_some()) => {
                self.collection(event, &named);
            }
            "root_kind" => self.root_kind(event),
            _ => match by_kind(&name) {
                Some(schema)
                    if fits(&[schema.id]) && event.end.is_none() && holds(schema, event) =>
                {
                    self.plain(event, &named, schema);
                }
                _ => self.foreign(event, &named, &name),
            },
        }
    }

    fn plain(&mut self, event: &EventRow<'_>, named: &[(String, Value)], schema: &'static Schema) {
        let mut message = Rebuilt::new(schema, self.base);
        let thread = match event.track {
            Some(track) if schema.id == 1009 => {
                let thread = self.threads.of(track);
                let told = thread.starting.take().is_none();
                if told && thread.id.is_some() {
                    // Its calls have left: another start would be another thread.
                    return;
                }
                self.thread_id(track)
            }
            Some(track) => self.thread(track, event.time),
            None => 0,
        };
        let owner = event
            .owner
            .map_or(0, |owner| self.thread(owner, event.time));
        message.number("threadOwner", owner);
        message.number("time", self.time(event.time));
        message.number("objIdRef", event.object.map_or(0, |object| object.0));
        for (name, value) in named {
            match value {
                Value::Text(text) => message.text_by_name(name, &self.tables.text(*text)),
                value => message.value_by_name(name, value),
            }
        }
        message.number(
            if schema.id == 1009 {
                "threadId"
            } else {
                "threadIdRef"
            },
            thread,
        );
        match schema.id {
            1011 => self.class_defined(&mut message, event.time),
            1038 => self.heap.defined(&message.numbers, event.time),
            _ => {}
        }
        if schema.has_stack() {
            message.frames = self.frames(event.stack);
        }
        let rank = match schema.id {
            1009 | 1011 => Rank::Defines,
            1004 | 1006 | 1010 | 1031 => Rank::Ends,
            _ => Rank::Happens,
        };
        message.draft(|draft| self.put(event.time, rank, draft));
    }

    /// The event of a definition: the class has an id of this trace.
    fn class_defined(&mut self, message: &mut Rebuilt, time: i64) {
        let name = message.texts.iter().find(|(name, _)| *name == "name");
        let name = name.map_or_else(String::new, |(_, name)| name.replace('/', "."));
        let known = self.class_names.get(&name).map(Vec::as_slice);
        let known = known.unwrap_or_default();
        let new = known.iter().find(|class| !self.classes.contains_key(class));
        message.number("transientClassId", 0);
        if let Some(&class) = new.or(known.first()) {
            self.classes.entry(class).or_insert(time);
            message.number("classId", u64::from(class.raw()) + 1);
        }
    }

    fn named(&self, event: &EventRow<'_>) -> Vec<(String, Value)> {
        let attributes = event.attributes.iter();
        attributes
            .map(|attribute| {
                let key = self.tables.attribute_key(attribute.key).map(|key| key.name);
                (self.text(key), attribute.value.clone())
            })
            .collect()
    }

    fn monitor(&mut self, event: &EventRow<'_>, named: &[(String, Value)], begin: u16, end: u16) {
        let thread = event
            .track
            .map_or(0, |track| self.thread(track, event.time));
        let owner = event
            .owner
            .map_or(0, |owner| self.thread(owner, event.time));
        let object = event.object.map_or(0, |object| object.0);
        let number = |name: &str| match named.iter().find(|(key, _)| key == name) {
            Some((_, Value::U64(number))) => *number,
            _ => 0,
        };
        let mut start = Rebuilt::new(schema(begin), self.base);
        start.number("threadIdRef", thread);
        start.number("objIdRef", object);
        start.number("time", self.time(event.time));
        start.number("threadOwner", owner);
        start.number("timeout", number("timeout"));
        start.frames = self.frames(event.stack);
        start.draft(|draft| self.put(event.time, Rank::Happens, draft));
        if let Some(time) = event.end {
            let draft = Draft::new(schema(end))
                .number("threadIdRef", thread)
                .number("objIdRef", object);
            let draft = draft.number("time", self.time(time));
            let draft = draft.number("timeout", number("waited_timeout"));
            self.put(time, Rank::Happens, &draft);
        }
    }

    fn collection(&mut self, event: &EventRow<'_>, named: &[(String, Value)]) {
        let thread = event
            .track
            .map_or(0, |track| self.thread(track, event.time));
        let start = Draft::new(schema(1023)).number("threadIdRef", thread);
        let start = start.number("time", self.time(event.time));
        self.put(event.time, Rank::Happens, &start);
        let Some(end) = event.end else {
            return;
        };
        let mut finish = Rebuilt::new(schema(1027), self.base);
        for (name, value) in named {
            match value {
                Value::Text(text) => finish.text_by_name(name, &self.tables.text(*text)),
                value => finish.value_by_name(name, value),
            }
        }
        finish.number("threadIdRef", thread);
        finish.number("time", self.time(end));
        finish.draft(|draft| self.put(end, Rank::Happens, draft));
    }

    /// An event that TPTP has no message for, as the element a probe would emit.
    fn foreign(&mut self, event: &EventRow<'_>, named: &[(String, Value)], name: &str) {
        let mut body = b"<event type=\"".to_vec();
        escape(name, &mut body);
        body.extend_from_slice(format!("\" time=\"{}\"", event.time).as_bytes());
        if let Some(end) = event.end {
            body.extend_from_slice(format!(" end=\"{end}\"").as_bytes());
        }
        for (track, attribute) in [(event.track, "threadIdRef"), (event.owner, "threadOwner")] {
            if let Some(track) = track {
                let thread = self.thread(track, event.time);
                body.extend_from_slice(format!(" {attribute}=\"{thread}\"").as_bytes());
            }
        }
        if let Some(object) = event.object {
            body.extend_from_slice(format!(" objIdRef=\"{}\"", object.0).as_bytes());
        }
        body.push(b'>');
        for (name, value) in named {
            body.extend_from_slice(b"<attribute name=\"");
            escape(name, &mut body);
            body.extend_from_slice(b"\" value=\"");
            escape(&self.shown(value), &mut body);
            body.extend_from_slice(b"\"/>");
        }
        for (method, line) in self.frames(event.stack) {
            body.extend_from_slice(b"<annotation name=\"stack\" method=\"");
            escape(&method, &mut body);
            body.extend_from_slice(format!("\" line=\"{line}\"/>").as_bytes());
        }
        body.extend_from_slice(b"</event>");
        let body = String::from_utf8_lossy(&body);
        let draft = Draft::new(schema(1041)).text("body", &body);
        self.put(event.time, Rank::Happens, &draft);
    }

    fn shown(&self, value: &Value) -> String {
        match value {
            Value::Text(text) => self.tables.text(*text).into_owned(),
            Value::I64(number) => number.to_string(),
            Value::U64(number) => number.to_string(),
            Value::F64(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            other => format!("{other:?}"),
        }
    }

    /// The frames of a stack, innermost first, as monitor messages spell them.
    fn frames(&self, stack: Option<StackId>) -> Vec<(String, u64)> {
        let mut frames = Vec::new();
        let mut next = stack;
        while let Some(row) = next.and_then(|id| self.tables.stack(id)) {
            let frame = self.tables.frame(row.frame);
            let function = frame.and_then(|frame| frame.function);
            let mut name = function.map_or_else(String::new, |function| self.spelled(function));
            name.retain(|c| c != '\0');
            frames.push((name, frame.map_or(0, |frame| frame.line.into())));
            next = row.parent.filter(|_| frames.len() < 1 << 16);
        }
        frames
    }

    fn spelled(&self, function: traceloom_model::FunctionId) -> String {
        let name = self.tables.function_name(function);
        let (class, method) = name.rsplit_once('.').unwrap_or(("", &name));
        let signature = self.tables.function(function).and_then(|row| row.signature);
        let dot = if class.is_empty() { "" } else { "." };
        let method = match method {
            "<init>" => "-init-",
            "<clinit>" => "-clinit-",
            other => other,
        };
        format!(
            "{}{dot}{method}{}",
            class.replace('.', "/"),
            self.text(signature)
        )
    }
}
