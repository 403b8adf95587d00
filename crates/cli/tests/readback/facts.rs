//! What a recording says, fact by fact, so that what is missing from it can be held against a loss report.

use std::collections::BTreeMap;

use traceloom_model::{
    Attribute, ExceptionId, FrameId, FunctionId, Recording, ResourceId, SpanStatus, StackId,
    StringId, TrackId, TrackKind, Value, ValueTypeId,
};

/// Facts of one kind, and how often each is said.
pub(super) type Facts = BTreeMap<&'static str, BTreeMap<String, u64>>;

/// Kinds of facts with the entries of a loss report that account for them when they are missing.
pub(super) const ACCOUNTED: &[(&str, &[&str])] = &[
    (
        "span",
        &["spans", "sub_millisecond", "sub_microsecond", "wide_times"],
    ),
    ("signature", &["function_details"]),
    ("source", &["source_lines"]),
    ("kind", &["span_kinds", "inner_marks"]),
    ("error", &["error_status"]),
    ("partial", &["partial_spans"]),
    ("call", &["inner_calls"]),
    ("parent", &["distant_parents", "async_tracks"]),
    ("thread", &["tracks", "track_ids", "async_tracks"]),
    ("async", &["async_tracks"]),
    ("attribute", VALUES),
    ("attribute time", &["attribute_times"]),
    ("upward", &["upward_attributes"]),
    (
        "counter of a span",
        &["span_counters", "inner_counters", "wide_integers"],
    ),
    ("exception", &["exceptions", "source_lines"]),
    ("trace id", &["trace_ids", "inner_marks"]),
    ("span id", &["span_contexts", "inner_marks"]),
    (
        "sample",
        &[
            "samples",
            "many_values",
            "inclusive_values",
            "negative_values",
            "wide_integers",
        ],
    ),
    ("sample time", &["samples", "sample_times"]),
    ("sample thread", &["samples", "sample_tracks"]),
    (
        "label",
        &[
            "samples",
            "sample_labels",
            "typed_attributes",
            "unsigned_integers",
        ],
    ),
    (
        "frame",
        &["samples", "source_lines", "addresses", "frame_kinds"],
    ),
    ("profile", &["samples", "profile_headers"]),
    ("event", &["events", "sub_millisecond", "sub_microsecond"]),
    (
        "event end",
        &[
            "events",
            "event_durations",
            "sub_millisecond",
            "sub_microsecond",
        ],
    ),
    ("event attribute", EVENT_VALUES),
    (
        "counter",
        &["counters", "sub_millisecond", "sub_microsecond"],
    ),
    ("link", &["links"]),
    ("object", &["heap_objects"]),
    ("resource", &["resources"]),
    ("key", &["attribute_keys"]),
];

const VALUES: &[&str] = &[
    "span_attributes",
    "typed_attributes",
    "float_attributes",
    "unsigned_integers",
    "wide_integers",
    "list_attributes",
    "nested_attributes",
    "upward_attributes",
    "invalid_text",
];

const EVENT_VALUES: &[&str] = &[
    "events",
    "event_attributes",
    "typed_attributes",
    "float_attributes",
    "unsigned_integers",
    "wide_integers",
    "list_attributes",
    "nested_attributes",
];

/// Lists what a recording says.
pub(super) fn facts(recording: &Recording) -> Facts {
    let mut teller = Teller {
        recording,
        facts: Facts::new(),
    };
    teller.spans();
    teller.samples();
    teller.events();
    teller.rest();
    teller.facts
}

/// Returns the facts of `before` that `after` says less often: kind, fact, how often it is missing.
pub(super) fn missing<'f>(before: &'f Facts, after: &Facts) -> Vec<(&'static str, &'f str, u64)> {
    let mut missing = Vec::new();
    for (kind, facts) in before {
        for (fact, count) in facts {
            let back = after.get(kind).and_then(|facts| facts.get(fact));
            let less = count.saturating_sub(back.copied().unwrap_or(0));
            if less > 0 {
                missing.push((*kind, fact.as_str(), less));
            }
        }
    }
    missing
}

struct Teller<'r> {
    recording: &'r Recording,
    facts: Facts,
}

impl Teller<'_> {
    fn say(&mut self, kind: &'static str, fact: String) {
        *self.facts.entry(kind).or_default().entry(fact).or_default() += 1;
    }

    /// Samples of one stack may be added up, so that their values are a sum.
    fn add(&mut self, kind: &'static str, fact: String, value: u64) {
        let sum = self.facts.entry(kind).or_default().entry(fact).or_default();
        *sum = sum.saturating_add(value);
    }

    fn text(&self, id: Option<StringId>) -> String {
        id.map_or_else(String::new, |id| self.recording.text(id).into_owned())
    }

    fn function(&self, id: Option<FunctionId>) -> String {
        id.map_or_else(String::new, |id| {
            self.recording.function_name(id).into_owned()
        })
    }

    fn value(&self, value: &Value) -> String {
        match value {
            Value::Null => "null".to_owned(),
            Value::I64(value) => format!("i{value}"),
            Value::U64(value) => format!("u{value}"),
            Value::F64(value) => format!("f{value:?}"),
            Value::Bool(value) => value.to_string(),
            Value::Text(id) => format!("{:?}", self.recording.text(*id)),
            Value::Bytes(bytes) => format!("b{bytes:02x?}"),
            Value::List(_, values) => {
                let values = values.iter().map(|value| self.value(value));
                format!("[{}]", values.collect::<Vec<_>>().join(","))
            }
            Value::Map(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(key, value)| (self.value(key), self.value(value)));
                let pairs = pairs.map(|(key, value)| format!("{key}:{value}"));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
            }
            Value::Exception(id) => self.exception(*id),
        }
    }

    fn pair(&self, attribute: &Attribute) -> String {
        let key = self.recording.attribute_key(attribute.key);
        let key = self.text(key.map(|key| key.name));
        format!("{key}={}", self.value(&attribute.value))
    }

    fn counter(&self, id: ValueTypeId) -> String {
        let row = self.recording.value_type(id);
        self.text(row.map(|row| row.name))
    }

    fn frame(&self, id: FrameId) -> String {
        let row = self.recording.frame(id).cloned().unwrap_or_default();
        self.function(row.function)
    }

    fn stack(&self, id: Option<StackId>) -> String {
        let mut names = Vec::new();
        let mut next = id;
        while let Some(row) = next.and_then(|id| self.recording.stack(id)) {
            names.push(self.frame(row.frame));
            next = row.parent;
        }
        names.join(";")
    }

    fn exception(&self, id: ExceptionId) -> String {
        let mut said = String::new();
        let mut next = Some(id);
        for _ in 0..10 {
            let Some(row) = next.and_then(|id| self.recording.exception(id)) else {
                break;
            };
            let (class, message) = (self.text(row.class), self.text(row.message));
            said += &format!("{class}: {message} at {} by ", self.stack(row.stack));
            next = row.cause;
        }
        said
    }

    fn track(&self, id: TrackId) -> String {
        let row = self.recording.track(id).cloned().unwrap_or_default();
        let mut name = self.text(row.name);
        if name.is_empty() {
            name = format!("{:?}", row.id);
        }
        format!("{name} {:?}", row.os_id)
    }

    fn spans(&mut self) {
        let rows = self.recording.spans.iter();
        let names: BTreeMap<u64, String> = rows
            .map(|row| (row.id.0, self.function(row.function)))
            .collect();
        for row in self.recording.spans.iter() {
            let name = self.function(row.function);
            self.say("span", format!("{name} {} {}", row.start, row.end));
            if let Some(function) = row.function.and_then(|id| self.recording.function(id)) {
                if function.signature.is_some() || function.library.is_some() {
                    let (signature, library) =
                        (self.text(function.signature), self.text(function.library));
                    self.say("signature", format!("{name} {signature} {library}"));
                }
                if function.file.is_some() || function.line > 0 {
                    let file = self.text(function.file);
                    self.say("source", format!("{name} {file}:{}", function.line));
                }
            }
            if let Some(kind) = row.kind {
                let kind = self.text(Some(kind));
                self.say("kind", format!("{name} {kind}"));
            }
            match row.status {
                SpanStatus::Error => self.say("error", name.clone()),
                SpanStatus::PartialStart | SpanStatus::PartialEnd => {
                    self.say("partial", format!("{name} {:?}", row.status));
                }
                SpanStatus::Complete => {}
            }
            if row.entry {
                self.say("call", name.clone());
            }
            if let Some(parent) = row.parent {
                let parent = names.get(&parent.0).cloned().unwrap_or_default();
                self.say("parent", format!("{name} in {parent}"));
            }
            if let Some(track) = self.recording.track(row.track) {
                if track.name.is_some() || track.id.is_some() || track.os_id.is_some() {
                    let track = self.track(row.track);
                    self.say("thread", format!("{name} on {track}"));
                }
                if matches!(track.kind, TrackKind::Async | TrackKind::Lane) {
                    self.say("async", name.clone());
                }
            }
            for attribute in row.attributes {
                let pair = self.pair(attribute);
                if let Some(at) = attribute.at {
                    self.say("attribute time", format!("{name} {pair} {at}"));
                }
                if attribute.from.is_some() {
                    self.say("upward", format!("{name} {pair}"));
                }
                self.say("attribute", format!("{name} {pair}"));
            }
            for &(counter, value) in row.counters {
                let counter = self.counter(counter);
                self.say("counter of a span", format!("{name} {counter}={value}"));
            }
            if let Some(exception) = row.exception {
                let exception = self.exception(exception);
                self.say("exception", format!("{name} {exception}"));
            }
            if let Some(context) = row.context {
                if context.trace != 0 {
                    self.say("trace id", format!("{name} {:x}", context.trace));
                }
                if context.span != 0 || context.parent != 0 {
                    self.say(
                        "span id",
                        format!("{name} {:x} {:x}", context.span, context.parent),
                    );
                }
            }
        }
    }

    fn samples(&mut self) {
        for batch in &self.recording.samples {
            let Some(profile) = self.recording.profile(batch.profile) else {
                continue;
            };
            let columns: Vec<_> = profile
                .value_types
                .iter()
                .map(|&id| self.counter(id))
                .collect();
            for row in batch.iter() {
                let stack = self.stack(row.stack);
                for (column, &value) in columns.iter().zip(row.values) {
                    let sign = if value < 0 { "-" } else { "" };
                    self.add(
                        "sample",
                        format!("{column} {sign} {stack}"),
                        value.unsigned_abs(),
                    );
                }
                if let Some(time) = row.time {
                    self.say("sample time", format!("{stack} {time}"));
                }
                if let Some(track) = row.track {
                    let track = self.track(track);
                    self.say("sample thread", format!("{stack} on {track}"));
                }
                for label in row.labels {
                    let label = self.pair(label);
                    self.say("label", format!("{stack} {label}"));
                }
            }
        }
        for profile in self.recording.profiles.iter().flatten() {
            let period = profile
                .period
                .map(|(of, period)| (self.counter(of), period));
            let comments: Vec<_> = profile
                .comments
                .iter()
                .map(|&id| self.text(Some(id)))
                .collect();
            let settings: Vec<_> = profile.settings.iter().map(|one| self.pair(one)).collect();
            let said = [
                period.map(|period| format!("period {period:?}")),
                profile.time.map(|time| format!("time {time}")),
                profile
                    .duration
                    .map(|duration| format!("duration {duration}")),
            ];
            let said = said.into_iter().flatten().chain(comments).chain(settings);
            for fact in said.collect::<Vec<_>>() {
                self.say("profile", fact);
            }
        }
        for row in self.recording.frames.iter().flatten() {
            if row.line > 0 || row.address.is_some() || row.inlined {
                let name = self.function(row.function);
                let function = row.function.and_then(|id| self.recording.function(id));
                let file = self.text(function.and_then(|function| function.file));
                let (line, address) = (row.line, row.address);
                self.say(
                    "frame",
                    format!("{name} {file}:{line} {address:?} {}", row.inlined),
                );
            }
        }
    }

    fn events(&mut self) {
        for row in self.recording.events.iter() {
            let event = self.recording.event_types.get(row.event_type.index());
            let name = self.text(event.and_then(Option::as_ref).map(|event| event.name));
            self.say("event", format!("{name} {}", row.time));
            if let Some(end) = row.end {
                self.say("event end", format!("{name} {end}"));
            }
            for attribute in row.attributes {
                let pair = self.pair(attribute);
                self.say("event attribute", format!("{name} {pair}"));
            }
        }
        let points = &self.recording.counters;
        let rows = points.series.iter().zip(&points.time).zip(&points.value);
        for ((&series, time), value) in rows {
            let row = self.recording.series_row(series);
            let name = self.text(row.map(|row| row.name));
            self.say("counter", format!("{name} {time} {value}"));
        }
    }

    fn resource(&mut self, id: ResourceId) {
        let mut next = Some(id);
        while let Some(row) = next.and_then(|id| self.recording.resource(id)) {
            for (what, word) in row.texts() {
                if word.is_some() {
                    let word = self.text(word);
                    self.say("resource", format!("{what} {word}"));
                }
            }
            if let Some(pid) = row.pid {
                self.say("resource", format!("pid {pid}"));
            }
            for attribute in &row.attributes {
                let pair = self.pair(attribute);
                self.say("resource", pair);
            }
            next = row.parent;
        }
    }

    fn rest(&mut self) {
        for at in 0..self.recording.resources.len() {
            let parent = |row: &traceloom_model::Resource| row.parent;
            let inner = self.recording.resources.iter().flatten().filter_map(parent);
            let id = ResourceId::new(u32::try_from(at).expect("few resources"));
            if !inner.collect::<Vec<_>>().contains(&id) {
                self.resource(id);
            }
        }
        for link in &self.recording.links {
            let kind = self.text(link.kind);
            self.say("link", kind);
        }
        for object in &self.recording.objects {
            let class = object.class.and_then(|id| self.recording.class(id));
            let class = self.text(class.map(|class| class.name));
            self.say("object", format!("{class} {}", object.size));
        }
        let (edges, roots) = (
            self.recording.edges.from.len(),
            self.recording.roots.object.len(),
        );
        self.add("object", "references".to_owned(), edges as u64);
        self.add("object", "roots".to_owned(), roots as u64);
        for key in self.recording.attribute_keys.iter().flatten() {
            if key.order != 0 || key.list || key.index || key.signature.is_some() {
                let (name, signature) = (self.text(Some(key.name)), self.text(key.signature));
                let (order, list, index) = (key.order, key.list, key.index);
                self.say("key", format!("{name} {order} {list} {index} {signature}"));
            }
        }
    }
}
