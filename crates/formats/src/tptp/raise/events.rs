//! Events to the messages they came from, and foreign ones to custom messages.

use traceloom_model::{EventRow, StackId, Value};

use super::{Raising, schema, ticks};
use crate::tptp::emit::Emit;
use crate::tptp::markup::escape;
use crate::tptp::message::Draft;
use crate::tptp::table::{Kind, Layout, MESSAGES, Schema};

/// A message put together from names and values that are not there for long.
pub(super) struct Rebuilt {
    schema: &'static Schema,
    numbers: Vec<(&'static str, u64)>,
    texts: Vec<(&'static str, String)>,
}

impl Rebuilt {
    pub fn new(schema: &'static Schema) -> Self {
        Self {
            schema,
            numbers: Vec::new(),
            texts: Vec::new(),
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

    fn attribute(&self, name: &str) -> Option<&'static str> {
        let fields = self.schema.fields(Layout::Table);
        let field = fields
            .iter()
            .find(|field| field.name == name && !field.kind.is_array())?;
        Some(field.attribute)
    }

    pub fn text_by_name(&mut self, name: &str, text: &str) {
        if let Some(attribute) = self.attribute(name) {
            self.text(attribute, text);
        }
    }

    pub fn value_by_name(&mut self, name: &str, value: &Value) {
        let number = match *value {
            Value::U64(number) => number,
            Value::I64(number) => {
                let signed = self.schema.fields(Layout::Table).iter();
                let signed = signed
                    .filter(|field| field.kind == Kind::Signed)
                    .any(|field| field.name == name);
                if signed {
                    number.cast_unsigned() & u64::from(u32::MAX)
                } else {
                    ticks(number)
                }
            }
            Value::Bool(flag) => flag.into(),
            _ => return,
        };
        if let Some(attribute) = self.attribute(name) {
            self.number(attribute, number);
        }
    }

    pub fn write(&self, emit: &mut Emit) {
        let mut draft = Draft::new(self.schema);
        for (attribute, number) in &self.numbers {
            draft = draft.number(attribute, *number);
        }
        for (attribute, text) in &self.texts {
            draft = draft.text(attribute, text);
        }
        emit.message(&draft);
    }
}

impl Raising<'_> {
    pub(super) fn event(&mut self, event: &EventRow<'_>) {
        let name = self.tables.event_type(event.event_type).map(|row| row.name);
        let name = self.text(name);
        match name.as_str() {
            "monitor_wait" => self.monitor(event, 1032, 1033),
            "monitor_contention" => self.monitor(event, 1034, 1035),
            "gc" => self.collection(event),
            // Its class is defined when it is used; its ids belong to another trace.
            "class_def" => {}
            "root_kind" => self.root_kind(event),
            _ => match MESSAGES.iter().find(|schema| schema.kind == name) {
                Some(schema) => self.plain(event, schema),
                None => self.foreign(event, &name),
            },
        }
    }

    fn plain(&mut self, event: &EventRow<'_>, schema: &'static Schema) {
        if schema.id == 1009
            && event
                .track
                .is_some_and(|track| self.threads.contains_key(&track))
        {
            return;
        }
        let mut message = Rebuilt::new(schema);
        let thread = match event.track {
            Some(track) if schema.id == 1009 => self.thread_id(track),
            Some(track) => self.thread(track, event.time),
            None => 0,
        };
        message.number("time", ticks(event.time));
        message.number("objIdRef", event.object.map_or(0, |object| object.0));
        for (name, value) in self.named(event) {
            match value {
                Value::Text(text) => message.text_by_name(&name, &self.tables.text(text)),
                value => message.value_by_name(&name, &value),
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
        if schema.id == 1038 {
            self.heap.defined(&message.numbers);
        }
        // What ends threads, traces and agents must not come before what happened in them.
        if matches!(schema.id, 1004 | 1006 | 1010 | 1031) {
            let start = self.emit.out.len();
            message.write(&mut self.emit);
            self.last.extend(self.emit.out.drain(start..));
        } else {
            message.write(&mut self.emit);
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

    fn monitor(&mut self, event: &EventRow<'_>, begin: u16, end: u16) {
        let thread = event
            .track
            .map_or(0, |track| self.thread(track, event.time));
        let owner = event
            .owner
            .map_or(0, |owner| self.thread(owner, event.time));
        let object = event.object.map_or(0, |object| object.0);
        let named = self.named(event);
        let number = |name: &str| match named.iter().find(|(key, _)| key == name) {
            Some((_, Value::U64(number))) => *number,
            _ => 0,
        };
        let frames = self.frames(event.stack);
        let frames: Vec<(&[u8], u64)> = frames
            .iter()
            .map(|(name, line)| (name.as_bytes(), *line))
            .collect();
        let draft = Draft::new(schema(begin))
            .number("threadIdRef", thread)
            .number("objIdRef", object);
        let draft = draft
            .number("time", ticks(event.time))
            .number("threadOwner", owner);
        self.emit
            .message(&draft.number("timeout", number("timeout")).stack(&frames));
        if let Some(time) = event.end {
            let draft = Draft::new(schema(end))
                .number("threadIdRef", thread)
                .number("objIdRef", object);
            let draft = draft.number("time", ticks(time));
            self.emit
                .message(&draft.number("timeout", number("waited_timeout")));
        }
    }

    fn collection(&mut self, event: &EventRow<'_>) {
        let thread = event
            .track
            .map_or(0, |track| self.thread(track, event.time));
        let start = Draft::new(schema(1023)).number("threadIdRef", thread);
        self.emit.message(&start.number("time", ticks(event.time)));
        let Some(end) = event.end else {
            return;
        };
        let mut finish = Rebuilt::new(schema(1027));
        finish.number("threadIdRef", thread);
        finish.number("time", ticks(end));
        for (name, value) in self.named(event) {
            finish.value_by_name(&name, &value);
        }
        finish.write(&mut self.emit);
    }

    /// An event that TPTP has no message for, as the element a probe would emit.
    fn foreign(&mut self, event: &EventRow<'_>, name: &str) {
        let mut body = b"<event type=\"".to_vec();
        escape(name, &mut body);
        body.extend_from_slice(format!("\" time=\"{}\"", event.time).as_bytes());
        if let Some(end) = event.end {
            body.extend_from_slice(format!(" end=\"{end}\"").as_bytes());
        }
        if let Some(track) = event.track {
            let thread = self.thread(track, event.time);
            body.extend_from_slice(format!(" threadIdRef=\"{thread}\"").as_bytes());
        }
        body.push(b'>');
        for (name, value) in self.named(event) {
            body.extend_from_slice(b"<attribute name=\"");
            escape(&name, &mut body);
            body.extend_from_slice(b"\" value=\"");
            escape(&self.shown(&value), &mut body);
            body.extend_from_slice(b"\"/>");
        }
        body.extend_from_slice(b"</event>");
        let body = String::from_utf8_lossy(&body);
        self.emit
            .message(&Draft::new(schema(1041)).text("body", &body));
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
