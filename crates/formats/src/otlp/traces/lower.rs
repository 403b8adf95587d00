//! Spans to the model (SPEC.md §5).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, BATCH_ROWS, Clock, EventBatch, EventRow, EventType, EventTypeId, Flow,
    Function, Level, Link, LinkBatch, Order, ResourceId, Sink, SpanBatch, SpanContext, SpanId,
    SpanRow, SpanStatus, StringId, Tables, Track, TrackId, Value, ValueType, ValueTypeId,
};

use super::survey::{SpanHead, SurveyedTraces, survey, time};
use super::{KINDS, names};
use crate::codec::{CountedNotes, two_pass};
use crate::otlp::schema::{SCOPE_SPANS, TRACES_DATA, TRACES_SCHEMA};
use crate::otlp::value;
use crate::protobuf::{Content, FieldSplitter, MessagePiece, Split, each, fields};
use crate::spans::by_context::{self, ThreadName};
use crate::spans::reserved_args;
use crate::spans::rows::push_events;
use crate::spans::wanted::Wanted;
use crate::{Error, LowerOptions, Pull, Source};

/// Lowers every part of a source, each a message or several end to end.
///
/// # Errors
/// What the source fails with.
pub(in crate::otlp) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let begin = |surveyed: &SurveyedTraces, tables: &mut Tables| {
        let clock = match &surveyed.clock {
            Some(name) => Clock::Unknown(Some(tables.bytes(name))),
            None => Clock::Unix,
        };
        (Order::None, clock)
    };
    two_pass::lower(
        source,
        &options.limits,
        sink,
        |pass, limits, note| survey(pass.pull.as_mut(), limits, note),
        begin,
        |surveyed, pass, to, sink| rows(surveyed, pass.pull.as_mut(), options, to, sink),
    )
}

fn rows(
    mut surveyed: SurveyedTraces,
    pull: &mut dyn Pull,
    options: &LowerOptions,
    (tables, tally): (&mut Tables, &mut CountedNotes),
    sink: &mut dyn Sink,
) -> Result<Flow, Error> {
    *tally = std::mem::take(&mut surveyed.tally);
    let no_text = |_| &[][..];
    let bodies = surveyed.resources.iter();
    let resources: Vec<ResourceId> = bodies
        .map(|body| {
            let row = value::resource(body, &no_text, tables);
            tables.resource(row)
        })
        .collect();
    let threads: Vec<ThreadName> = surveyed
        .threads
        .iter()
        .map(|(id, name)| ThreadName {
            id: *id,
            name: (!name.is_empty()).then(|| tables.bytes(name)),
        })
        .collect();
    let tracks = by_context::tracks(&surveyed.placed.lines, &resources, &threads, tables);
    let resources_of_events = surveyed.events.iter();
    let resources_of_events = resources_of_events
        .map(|&process| resources.get(process as usize).copied())
        .collect();
    let first = tables.reserve_spans(surveyed.placed.places.len() as u64);
    // Targets that write a span before what follows from it is known prepare for links.
    if sink.links(LinkBatch::default()).is_break() {
        return Ok(Flow::Break(()));
    }
    let mut lowering = Lowering {
        surveyed: &surveyed,
        wanted: Wanted::of(sink.asks()),
        keys: OwnKeys::new(tables),
        tables,
        tally,
        first,
        tracks,
        resources_of_events,
        at: 0,
        event_at: 0,
        scope: Vec::new(),
        event_types: HashMap::default(),
        spans: SpanBatch::default(),
        events: EventBatch::default(),
        links: LinkBatch::default(),
    };
    let mut splitter = FieldSplitter::new(TRACES_SCHEMA, &options.limits);
    let whole = each(pull, &mut splitter, u64::MAX, |piece| match piece {
        MessagePiece::Field(field) => {
            lowering.field(field);
            lowering.flush(BATCH_ROWS, sink)
        }
        MessagePiece::Damage { .. } => Flow::Continue(()),
    })?;
    if !whole {
        return Ok(Flow::Break(()));
    }
    Ok(lowering.flush(1, sink))
}

/// Keys of the attributes for what a span has beside its attributes.
struct OwnKeys {
    scope: AttrKeyId,
    scope_version: AttrKeyId,
    link: AttrKeyId,
    span_id: AttrKeyId,
    thread: [AttrKeyId; 2],
    kind: AttrKeyId,
    entry: AttrKeyId,
    status: AttrKeyId,
    counters: AttrKeyId,
    context: [AttrKeyId; 3],
    event: AttrKeyId,
}

impl OwnKeys {
    fn new(tables: &mut Tables) -> Self {
        let mut key = |name| tables.attribute_named(name);
        Self {
            scope: key(names::SCOPE),
            scope_version: key(names::SCOPE_VERSION),
            link: key(names::LINK),
            span_id: key(names::SPAN_ID),
            thread: [key(names::THREAD_ID), key(names::THREAD_NAME)],
            kind: key(names::KIND),
            entry: key(names::ENTRY),
            status: key(names::STATUS),
            counters: key(names::COUNTERS),
            context: names::CONTEXT.map(&mut key),
            event: key(names::EVENT),
        }
    }
}

impl OwnKeys {
    /// Returns which id of a context an attribute is, and the id.
    fn context_id(&self, key: AttrKeyId, text: &[u8]) -> Option<(usize, u128)> {
        let own = self.context.iter().position(|&own| own == key)?;
        let text = std::str::from_utf8(text).ok()?;
        Some((own, u128::from_str_radix(text, 16).ok()?))
    }
}

struct Lowering<'a> {
    surveyed: &'a SurveyedTraces,
    wanted: Wanted,
    tables: &'a mut Tables,
    tally: &'a mut CountedNotes,
    keys: OwnKeys,
    first: SpanId,
    tracks: Vec<TrackId>,
    resources_of_events: Vec<Option<ResourceId>>,
    /// Position of the next span.
    at: usize,
    /// Position of the next span that is an event.
    event_at: usize,
    /// What the scope says of each of its spans.
    scope: Vec<Attribute>,
    event_types: HashMap<StringId, EventTypeId, RandomState>,
    spans: SpanBatch,
    events: EventBatch,
    links: LinkBatch,
}

/// What attributes say of a span beside the values they are.
#[derive(Default)]
struct SpecialAttributes {
    attributes: Vec<Attribute>,
    counters: Vec<(ValueTypeId, i64)>,
    kind: Option<StringId>,
    entry: Option<bool>,
    partial: Option<SpanStatus>,
    /// Trace, span and parent, where they are not those of the span.
    context: [Option<u128>; 3],
}

impl SpecialAttributes {
    fn context(&self) -> Option<SpanContext> {
        let [trace, span, parent] = self.context;
        Some(SpanContext {
            trace: trace?,
            span: u64::try_from(span?).ok()?,
            parent: u64::try_from(parent?).ok()?,
        })
    }
}

const NO_TEXT: &value::Lookup<'static> = &|_| &[];

impl Lowering<'_> {
    fn nth(&self, at: usize) -> SpanId {
        SpanId(self.first.0 + at as u64)
    }

    fn field(&mut self, field: &Split<'_>) {
        if std::ptr::eq(field.within, &TRACES_DATA) {
            self.scope.clear();
            return;
        }
        if !std::ptr::eq(field.within, &SCOPE_SPANS) {
            // The next scope begins.
            self.scope.clear();
            return;
        }
        match (field.number, field.value) {
            (1, Content::Len(body)) => self.scope(body),
            (2, Content::Len(body)) => self.span(body, field.offset),
            _ => {}
        }
    }

    fn scope(&mut self, body: &[u8]) {
        self.scope.clear();
        for (number, raw) in fields(body) {
            let key = match number {
                1 => self.keys.scope,
                2 => self.keys.scope_version,
                3 => {
                    let row = value::attribute(raw.bytes(), NO_TEXT, self.tables);
                    self.scope.push(row);
                    continue;
                }
                _ => continue,
            };
            if !raw.bytes().is_empty() {
                let text = Value::Text(self.tables.bytes(raw.bytes()));
                self.scope.push(Attribute::new(key, text));
            }
        }
    }

    fn span(&mut self, body: &[u8], offset: u64) {
        let head = SpanHead::of(body);
        if let Some(form) = head.event {
            return self.lone_event(body, &head, form);
        }
        let Some(place) = self.surveyed.placed.places.get(self.at).copied() else {
            return;
        };
        let Some(&track) = self.tracks.get(place.line as usize) else {
            return;
        };
        let id = self.nth(self.at);
        self.at += 1;
        let mut told = SpecialAttributes::default();
        if self.wanted.details {
            told.attributes.clone_from(&self.scope);
        }
        let (mut name, mut kind, mut failed) = (&[][..], 0, false);
        for (number, raw) in fields(body) {
            match number {
                3 if !raw.bytes().is_empty() => {
                    self.text(names::TRACE_STATE, raw.bytes(), &mut told);
                }
                5 => name = raw.bytes(),
                6 => kind = raw.number(),
                9 => self.attribute(raw.bytes(), &mut told),
                10 | 12 | 14 => self.dropped(number, raw.number(), offset, &mut told),
                11 => self.event(raw.bytes(), (&head, track), offset),
                13 => self.link(raw.bytes(), id, &mut told),
                15 => failed |= self.status(raw.bytes(), &mut told),
                16 if raw.number() != 0 && self.wanted.details => {
                    let key = self.tables.attribute_named(names::FLAGS);
                    let flags = Value::I64(raw.number().cast_signed());
                    told.attributes.push(Attribute::new(key, flags));
                }
                _ => {}
            }
        }
        let known = usize::try_from(kind).ok().and_then(|kind| KINDS.get(kind));
        if known.is_none() {
            self.tally.add(Level::Warn, "span_kind", offset, || {
                format!("{kind} is no kind of a span")
            });
        }
        let known = known.filter(|kind| !kind.is_empty());
        let known = known.map(|kind| self.tables.string(kind));
        let start = time(head.start);
        let (end, partial) = if head.is_open() {
            (self.surveyed.last, SpanStatus::PartialEnd)
        } else {
            (time(head.end), SpanStatus::Complete)
        };
        let ids = head.ids();
        if ids.is_none() {
            self.text("trace_id", hex(head.trace).as_bytes(), &mut told);
            self.text(names::SPAN_ID, hex(head.span).as_bytes(), &mut told);
        }
        let name = self.tables.bytes(name);
        let function = self.tables.function(Function::named(name));
        let status = told.partial.unwrap_or(partial);
        let row = SpanRow {
            parent: place.parent.map(|parent| self.nth(parent as usize)),
            depth: place.depth,
            kind: told.kind.or(known),
            status: match failed {
                true if status == SpanStatus::Complete => SpanStatus::Error,
                _ => status,
            },
            entry: told.entry.unwrap_or(place.parent.is_none()),
            counters: &told.counters,
            context: told.context().or(ids.map(|(trace, span)| SpanContext {
                trace,
                span,
                parent: head.parent(),
            })),
            ..SpanRow::call(id, track, function, start, end.max(start))
        };
        self.spans.push_with(&row, &mut told.attributes);
    }

    fn text(&mut self, name: &str, text: &[u8], told: &mut SpecialAttributes) {
        if !self.wanted.details {
            return;
        }
        let key = self.tables.attribute_named(name);
        let value = Value::Text(self.tables.value(text));
        told.attributes.push(Attribute::new(key, value));
    }

    fn attribute(&mut self, pair: &[u8], told: &mut SpecialAttributes) {
        if !self.wanted.details && !names::may_be_own(key_of(pair)) {
            return;
        }
        let row = value::attribute(pair, NO_TEXT, self.tables);
        let keys = &self.keys;
        let text = text_of(pair);
        match &row.value {
            // The track says them.
            Value::I64(_) if row.key == keys.thread[0] => {}
            Value::Text(_) if row.key == keys.thread[1] && !text.is_empty() => {}
            Value::Text(id) if row.key == keys.kind => told.kind = Some(*id),
            Value::Bool(entry) if row.key == keys.entry => told.entry = Some(*entry),
            Value::Text(_) if row.key == keys.status && text == b"partial_start" => {
                told.partial = Some(SpanStatus::PartialStart);
            }
            Value::Text(_) if row.key == keys.status && text == b"partial_end" => {
                told.partial = Some(SpanStatus::PartialEnd);
            }
            Value::Map(pairs) if row.key == keys.counters => {
                for (name, value) in pairs {
                    let (Value::Text(name), Value::I64(value)) = (name, value) else {
                        continue;
                    };
                    let text = self.tables.string_bytes(*name).to_vec();
                    let (name, unit) = reserved_args::counter_name(&text);
                    let name = self.tables.bytes(name);
                    let id = self.tables.value_type(ValueType::sum(name, unit));
                    told.counters.push((id, *value));
                }
            }
            value => match keys.context_id(row.key, text) {
                Some((own, id)) if matches!(value, Value::Text(_)) => {
                    if let Some(slot) = told.context.get_mut(own) {
                        *slot = Some(id);
                    }
                }
                _ => told.attributes.push(row),
            },
        }
    }

    fn dropped(&mut self, number: u32, count: u64, offset: u64, told: &mut SpecialAttributes) {
        if count == 0 {
            return;
        }
        let text = || "the producer left attributes, events or links out".to_owned();
        self.tally
            .add_many(Level::Warn, "dropped", offset, count, text);
        let name = names::DROPPED.iter().find(|(known, _)| *known == number);
        if let Some((_, name)) = name {
            let key = self.tables.attribute_named(name);
            let count = Value::I64(count.cast_signed());
            told.attributes.push(Attribute::new(key, count));
        }
    }

    /// Reads a status; returns true for one of a failed span.
    fn status(&mut self, body: &[u8], told: &mut SpecialAttributes) -> bool {
        let mut failed = false;
        for (number, raw) in fields(body) {
            match (number, raw.number()) {
                (2, _) if !raw.bytes().is_empty() => {
                    self.text(names::STATUS_MESSAGE, raw.bytes(), told);
                }
                (3, 1) => self.text(names::STATUS_CODE, b"OK", told),
                (3, code) => failed = code == 2,
                _ => {}
            }
        }
        failed
    }

    fn event(&mut self, body: &[u8], (span, track): (&SpanHead<'_>, TrackId), offset: u64) {
        let (mut at, mut name) = (span.start, &[][..]);
        let mut attributes = Vec::new();
        let is_wanted = self.wanted.events;
        for (number, raw) in fields(body) {
            match number {
                1 => at = raw.number(),
                2 => name = raw.bytes(),
                3 if !is_wanted => {}
                3 => attributes.push(value::attribute(raw.bytes(), NO_TEXT, self.tables)),
                4 if raw.number() != 0 => {
                    let text = || "the producer left attributes of events out".to_owned();
                    self.tally
                        .add_many(Level::Warn, "dropped", offset, raw.number(), text);
                }
                _ => {}
            }
        }
        if !is_wanted {
            return;
        }
        if !span.span.is_empty() {
            let id = self.tables.value(hex(span.span).as_bytes());
            attributes.push(Attribute::new(self.keys.span_id, Value::Text(id)));
        }
        let event_type = self.event_type(name);
        self.events.push(&EventRow {
            track: Some(track),
            attributes: &attributes,
            ..EventRow::of_process(event_type, time(at), None)
        });
    }

    /// Reads a span that is an event.
    fn lone_event(&mut self, body: &[u8], head: &SpanHead<'_>, form: &[u8]) {
        let Some(&resource) = self.resources_of_events.get(self.event_at) else {
            return;
        };
        self.event_at += 1;
        if !self.wanted.events {
            return;
        }
        let mut name = &[][..];
        let mut attributes = Vec::new();
        for (number, raw) in fields(body) {
            match number {
                5 => name = raw.bytes(),
                9 => {
                    let row = value::attribute(raw.bytes(), NO_TEXT, self.tables);
                    if row.key != self.keys.event && !self.keys.thread.contains(&row.key) {
                        attributes.push(row);
                    }
                }
                _ => {}
            }
        }
        let is_threaded = head.thread.is_some() || !head.thread_name.is_empty();
        let track = is_threaded.then(|| {
            let name = head.thread_name;
            let name = (!name.is_empty()).then(|| self.tables.bytes(name));
            self.tables.track(Track {
                resource,
                name,
                os_id: head.thread,
                ..Track::default()
            })
        });
        let event_type = self.event_type(name);
        let start = time(head.start);
        let end = (form == names::INTERVAL.as_bytes()).then(|| time(head.end).max(start));
        self.events.push(&EventRow {
            track,
            attributes: &attributes,
            ..EventRow::of_process(event_type, start, end)
        });
    }

    fn event_type(&mut self, name: &[u8]) -> EventTypeId {
        let name = self.tables.bytes(name);
        let known = &mut self.event_types;
        let tables = &mut *self.tables;
        *known.entry(name).or_insert_with(|| {
            tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            })
        })
    }

    fn link(&mut self, body: &[u8], to: SpanId, told: &mut SpecialAttributes) {
        let (mut trace, mut span) = (&[][..], &[][..]);
        let mut pairs = Vec::new();
        let mut more = false;
        for (number, raw) in fields(body) {
            match number {
                1 => trace = raw.bytes(),
                2 => span = raw.bytes(),
                3 if !raw.bytes().is_empty() => {
                    more = true;
                    let state = Value::Text(self.tables.value(raw.bytes()));
                    pairs.push(self.pair("trace_state", state));
                }
                4 => {
                    more = true;
                    let (key, value) = value::pair(raw.bytes(), NO_TEXT, self.tables);
                    pairs.push((Value::Text(key), value));
                }
                _ => {}
            }
        }
        let found = self
            .surveyed
            .placed
            .find(value::id(trace), value::span_id(span));
        if let Some(at) = found {
            let from = self.nth(at);
            self.links.links.push(Link {
                from,
                to,
                kind: None,
            });
        }
        if (found.is_none() || more) && self.wanted.details {
            let trace = self.tables.value(hex(trace).as_bytes());
            let span = self.tables.value(hex(span).as_bytes());
            let mut map = vec![
                self.pair("trace_id", Value::Text(trace)),
                self.pair("span_id", Value::Text(span)),
            ];
            map.append(&mut pairs);
            let value = Value::Map(map.into());
            told.attributes.push(Attribute::new(self.keys.link, value));
        }
    }

    fn pair(&mut self, name: &str, value: Value) -> (Value, Value) {
        (Value::Text(self.tables.string(name)), value)
    }

    fn flush(&mut self, least: usize, sink: &mut dyn Sink) -> Flow {
        let most = self.spans.len().max(self.events.len());
        if most.max(self.links.links.len()) < least {
            return Flow::Continue(());
        }
        self.tables.push_definitions(sink)?;
        if !self.links.links.is_empty() {
            sink.links(std::mem::take(&mut self.links))?;
        }
        if !self.spans.is_empty() {
            sink.spans(std::mem::take(&mut self.spans))?;
        }
        push_events(std::mem::take(&mut self.events), sink)
    }
}

/// Returns the name of a `KeyValue`.
fn key_of(pair: &[u8]) -> &[u8] {
    let key = fields(pair).filter(|&(number, _)| number == 1).last();
    key.map_or(&[], |(_, key)| key.bytes())
}

/// Returns the text that is the value of a `KeyValue`; empty where it is none.
fn text_of(pair: &[u8]) -> &[u8] {
    let value = fields(pair).filter(|&(number, _)| number == 2).last();
    let text = value.and_then(|(_, any)| fields(any.bytes()).last());
    text.filter(|&(number, _)| number == 1)
        .map_or(&[], |(_, text)| text.bytes())
}

/// Returns bytes in hexadecimal digits; ids that are too long are cut.
fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let halves = bytes
        .iter()
        .take(64)
        .flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = halves.filter_map(|half| DIGITS.get(usize::from(half)));
    digits.collect()
}
