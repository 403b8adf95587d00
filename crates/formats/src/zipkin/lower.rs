//! Spans to the model (SPEC.md §3).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{
    Attribute, BATCH_ROWS, Clock, EventBatch, EventRow, EventType, EventTypeId, Flow, Function,
    Level, Order, Resource, ResourceId, Sink, SpanBatch, SpanContext, SpanId, SpanRow, SpanStatus,
    Tables, Timestamp, TrackId, Value as Attr,
};

use super::span::{id, short_id, spans, times};
use crate::codec::CountedNotes;
use crate::spans::by_context::{self, IdentifiedSpan, PlacedSpans};
use crate::spans::rows::push_events;
use crate::text::json::{Kind, Lowered, Value, lower_documents};
use crate::{Error, LowerOptions, Source};

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    lower_documents(
        source,
        options,
        sink,
        Order::None,
        |_| Clock::Unix,
        document,
    )
}

/// A span that has a time.
struct TimedSpan<'d> {
    value: Value<'d>,
    context: Option<SpanContext>,
    start: Timestamp,
    end: Option<Timestamp>,
    process: u32,
}

fn document(root: Value<'_>, to: &mut Lowered<'_>) -> Flow {
    let mut notes = CountedNotes::default();
    let mut processes = EndpointServices::default();
    let mut timed = Vec::new();
    let mut last = Timestamp::MIN;
    for value in spans(root) {
        let offset = value.start() as u64;
        let (Some(start), end) = times(value) else {
            notes.add(Level::Warn, "no_time", offset, || {
                "a span without timestamp and annotations is left out".to_owned()
            });
            continue;
        };
        last = last.max(end.unwrap_or(start));
        timed.push(TimedSpan {
            value,
            context: context(value, &mut notes),
            start,
            end,
            process: processes.of(value, to.tables),
        });
    }
    not_spans(root, &mut notes);
    let identified: Vec<IdentifiedSpan> = timed
        .iter()
        .map(|span| IdentifiedSpan {
            ids: span.context.map(|own| (own.trace, own.span)),
            parent: span.context.map_or(0, |own| own.parent),
            start: span.start,
            end: span.end.unwrap_or(last).max(span.start),
            process: span.process,
            thread: 0,
        })
        .collect();
    let placed = PlacedSpans::of(&identified);
    told(&placed, &timed, &mut notes);
    let mut rows = DocumentSpans {
        first: to.tables.reserve_spans(timed.len() as u64),
        pushed: 0,
        tracks: by_context::tracks(&placed.lines, &processes.resources, &[], to.tables),
        annotation: None,
        spans: SpanBatch::default(),
        events: EventBatch::default(),
    };
    for ((span, place), row) in timed.iter().zip(&placed.places).zip(&identified) {
        let track = rows.tracks.get(place.line as usize).copied();
        let Some(track) = track else { continue };
        rows.span(span, (place, track, row.end), to);
        rows.flush(BATCH_ROWS, to)?;
    }
    rows.flush(1, to)?;
    let mut notes = notes.into_notes();
    notes.try_for_each(|note| to.note(note))
}

/// Notes elements that are no spans.
fn not_spans(root: Value<'_>, notes: &mut CountedNotes) {
    let is_list = root.kind() == Kind::Array;
    let list = root.items().filter(|_| is_list);
    let inner = list.flat_map(|element| {
        let rows = (element.kind() == Kind::Array).then(|| element.items());
        let own = rows.is_none().then_some(element);
        own.into_iter().chain(rows.into_iter().flatten())
    });
    let others = inner.filter(|element| element.kind() != Kind::Object);
    let root = (!is_list).then_some(root);
    for element in root.into_iter().chain(others) {
        let offset = element.start() as u64;
        notes.add(Level::Damage, "not_a_span", offset, || {
            "a value that is no span stands in the place of one".to_owned()
        });
    }
}

/// Reads the ids of a span; none where the trace or the span has no id that can be read.
fn context(value: Value<'_>, notes: &mut CountedNotes) -> Option<SpanContext> {
    let mut bad = |key: &'static str, text: &[u8]| {
        let text = String::from_utf8_lossy(text).into_owned();
        notes.add(Level::Damage, "bad_id", value.start() as u64, || {
            format!("`{key}` is no id: `{text}`")
        });
    };
    let trace = match id(value, "traceId") {
        Some(Ok(trace)) => Some(trace),
        Some(Err(text)) => {
            bad("traceId", &text);
            None
        }
        None => {
            bad("traceId", b"");
            None
        }
    };
    let mut short = |key: &'static str, required: bool| match short_id(value, key) {
        Some(Ok(id)) => Some(id),
        Some(Err(text)) => {
            bad(key, &text);
            None
        }
        None if required => {
            bad(key, b"");
            None
        }
        None => Some(0),
    };
    let (span, parent) = (short("id", true), short("parentId", false));
    Some(SpanContext {
        trace: trace?,
        span: span?,
        parent: parent.unwrap_or(0),
    })
}

fn told(placed: &PlacedSpans, timed: &[TimedSpan<'_>], notes: &mut CountedNotes) {
    let place = |at: u32| {
        let span = timed.get(at as usize)?;
        Some((span, span.value.start() as u64))
    };
    for (span, offset) in placed.repeated.iter().filter_map(|&at| place(at)) {
        let shared = span.value.get("shared").map(Value::kind);
        if shared != Some(Kind::True) {
            notes.add(Level::Warn, "repeated_span_id", offset, || {
                "two spans of a service have one id; what is in them is put into the first"
                    .to_owned()
            });
        }
    }
    for (_, offset) in placed.circular.iter().filter_map(|&at| place(at)) {
        notes.add(Level::Damage, "parent_circle", offset, || {
            "a span is its own ancestor; it is read as one without parent".to_owned()
        });
    }
}

/// Services by their local endpoints.
#[derive(Default)]
struct EndpointServices {
    resources: Vec<ResourceId>,
    by_endpoint: HashMap<Vec<u8>, u32, RandomState>,
}

impl EndpointServices {
    fn of(&mut self, span: Value<'_>, tables: &mut Tables) -> u32 {
        let endpoint = span.get("localEndpoint");
        let spelt = endpoint.map(Value::raw).unwrap_or_default();
        if let Some(&known) = self.by_endpoint.get(spelt) {
            return known;
        }
        let mut resource = Resource::default();
        for member in endpoint.into_iter().flat_map(Value::items) {
            let key = member.key().unwrap_or_default();
            match (&*key, member.bytes()) {
                (b"serviceName", Some(name)) => resource.service = Some(tables.bytes(&name)),
                _ => resource.attributes.extend(attribute(&key, member, tables)),
            }
        }
        let number = row_number(self.resources.len());
        self.resources.push(tables.resource(resource));
        self.by_endpoint.insert(spelt.to_vec(), number);
        number
    }
}

/// Reads a scalar as an attribute.
fn attribute(name: &[u8], value: Value<'_>, tables: &mut Tables) -> Option<Attribute> {
    let read = match value.kind() {
        Kind::True => Attr::Bool(true),
        Kind::False => Attr::Bool(false),
        Kind::String => Attr::Text(tables.value(&value.bytes()?)),
        Kind::Number => match (value.i64(), value.f64()) {
            (Some(whole), _) => Attr::I64(whole),
            (None, float) => Attr::F64(float?),
        },
        Kind::Null => return None,
        // Tags are texts: what is none is kept as it is written.
        Kind::Array | Kind::Object => Attr::Text(tables.value(value.raw())),
    };
    let name = tables.bytes(name);
    let key = tables.attribute_key(traceloom_model::AttributeKey::named(name));
    Some(Attribute::new(key, read))
}

struct DocumentSpans {
    /// The id of the first span of the document.
    first: SpanId,
    /// Spans before the next one.
    pushed: u64,
    tracks: Vec<TrackId>,
    annotation: Option<EventTypeId>,
    spans: SpanBatch,
    events: EventBatch,
}

/// Members of the remote endpoint, and what they are called as attributes.
const REMOTE: [(&str, &str); 4] = [
    ("serviceName", "remote.service"),
    ("ipv4", "remote.ipv4"),
    ("ipv6", "remote.ipv6"),
    ("port", "remote.port"),
];

impl DocumentSpans {
    fn nth(&self, at: u32) -> SpanId {
        SpanId(self.first.0 + u64::from(at))
    }

    fn span(
        &mut self,
        span: &TimedSpan<'_>,
        (place, track, end): (&by_context::SpanPlace, TrackId, Timestamp),
        to: &mut Lowered<'_>,
    ) {
        let (value, tables) = (span.value, &mut *to.tables);
        let mut attributes = Vec::new();
        let mut status = match span.end {
            Some(_) => SpanStatus::Complete,
            None => SpanStatus::PartialEnd,
        };
        for tag in value.get("tags").into_iter().flat_map(Value::items) {
            let key = tag.key().unwrap_or_default();
            if *key == *b"error" && span.end.is_some() {
                status = SpanStatus::Error;
            }
            attributes.extend(attribute(&key, tag, tables));
        }
        let remote = value.get("remoteEndpoint");
        for (member, name) in REMOTE {
            let member = remote.and_then(|remote| remote.get(member));
            attributes.extend(member.and_then(|value| attribute(name.as_bytes(), value, tables)));
        }
        if let Some(debug) = value
            .get("debug")
            .filter(|debug| debug.kind() == Kind::True)
        {
            attributes.extend(attribute(b"debug", debug, tables));
        }
        let name = value.get("name").and_then(Value::bytes).unwrap_or_default();
        let name = tables.bytes(&name);
        let kind = value.get("kind").and_then(Value::bytes);
        let kind = kind.map(|kind| tables.bytes(&kind.to_ascii_lowercase()));
        let row = SpanRow {
            parent: place.parent.map(|parent| self.nth(parent)),
            depth: place.depth,
            kind,
            status,
            entry: place.parent.is_none(),
            attributes: &attributes,
            context: span.context,
            ..SpanRow::call(
                SpanId(self.first.0 + self.pushed),
                track,
                tables.function(Function::named(name)),
                span.start,
                end,
            )
        };
        self.pushed += 1;
        self.spans.push(&row);
        for annotation in value.get("annotations").into_iter().flat_map(Value::items) {
            self.annotation(annotation, (span, track), tables);
        }
    }

    fn annotation(
        &mut self,
        annotation: Value<'_>,
        (span, track): (&TimedSpan<'_>, TrackId),
        tables: &mut Tables,
    ) {
        let event_type = *self.annotation.get_or_insert_with(|| {
            let name = tables.string("annotation");
            tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            })
        });
        let time = annotation
            .get("timestamp")
            .and_then(|time| time.scaled(1_000));
        let text = annotation.get("value");
        let mut attributes: Vec<Attribute> = text
            .and_then(|text| attribute(b"value", text, tables))
            .into_iter()
            .collect();
        if let Some(context) = span.context {
            let id = tables.value(format!("{:016x}", context.span).as_bytes());
            attributes.push(Attribute::new(
                tables.attribute_named("span_id"),
                Attr::Text(id),
            ));
        }
        self.events.push(&EventRow {
            track: Some(track),
            attributes: &attributes,
            ..EventRow::of_process(event_type, time.unwrap_or(span.start), None)
        });
    }

    fn flush(&mut self, least: usize, to: &mut Lowered<'_>) -> Flow {
        if self.spans.len() < least && self.events.len() < least {
            return Flow::Continue(());
        }
        to.define()?;
        if !self.spans.is_empty() {
            to.sink.spans(std::mem::take(&mut self.spans))?;
        }
        push_events(std::mem::take(&mut self.events), to.sink)
    }
}
