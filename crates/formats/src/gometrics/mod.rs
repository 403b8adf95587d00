//! Go metrics: what a Go profiler reports beside its profiles, an array of pairs of name and number.
//!
//! One document becomes one event whose attributes are the pairs: whole numbers without a point are
//! integers, all others floats (`datakit/SPEC.md` §9). The file says no time; in a bundle the profile
//! does.
//!
//! ```
//! use traceloom_formats::{Records, gometrics, read_slice};
//! use traceloom_model::Limits;
//!
//! let bytes = br#"[["go_gc_count", 2], ["go_cpu_cores", 1.5]]"#;
//! let mut records = Records::default();
//! read_slice(gometrics::FORMAT.reader(&Limits::default()).as_mut(), bytes, &mut records);
//! assert_eq!(records.kinds(), ["metrics", "metric", "metrics", "metric", "metrics"]);
//! assert_eq!(records.written(), bytes);
//! ```

use traceloom_model::{
    Attribute, Clock, EventBatch, EventRow, EventType, Flow, Limits, Order, Sink,
    Value as ModelValue,
};

use crate::points::GO_METRICS;
use crate::text::json::{Document, JsonLayout, JsonReader, Kind, Lowered, Value, lower_documents};
use crate::{Confidence, Error, Format, LowerOptions, Probe, Source, warn};

/// Go metrics.
pub const FORMAT: Format = Format {
    name: "go-metrics",
    title: "Go profiler's metrics.json",
    extensions: &["json"],
    magic: b"[[\"go_",
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    lower: Some(lower),
    lowers_notes: true,
    ..Format::BASE
};

static LAYOUT: JsonLayout = JsonLayout {
    document: "metrics",
    elements: &[(&["*"], "metric")],
    time: |_| None,
};

/// Takes a pair apart. One that the end of the file cuts is none: its number may go on.
fn pair(item: Value<'_>) -> Option<(Value<'_>, Value<'_>)> {
    let mut items = item.items();
    let (name, number) = (items.next()?, items.next()?);
    let fits = name.kind() == Kind::String && number.kind() == Kind::Number;
    (fits && items.next().is_none() && item.raw().ends_with(b"]")).then_some((name, number))
}

/// A pair that is none, or is cut, says nothing against the others.
fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Array)?;
    let (mut n_pairs, mut n_others, mut go) = (0, 0, false);
    for item in root.items() {
        match pair(item) {
            Some((name, _)) => {
                n_pairs += 1;
                go |= name.bytes().is_some_and(|name| name.starts_with(b"go_"));
            }
            None => n_others += 1,
        }
    }
    match n_pairs {
        0 => None,
        _ if go => Some(Confidence::Certain),
        _ => (n_others <= n_pairs).then_some(Confidence::Possible),
    }
}

fn lower(source: &dyn Source, options: &LowerOptions, sink: &mut dyn Sink) -> Result<(), Error> {
    lower_documents(
        source,
        options,
        sink,
        Order::None,
        // Nothing says when: a date would be 1970.
        |_| Clock::Unknown(None),
        document,
    )
}

fn document(root: Value<'_>, to: &mut Lowered<'_>) -> Flow {
    let mut attributes = Vec::new();
    for item in root.items() {
        let Some((name, number)) = pair(item) else {
            to.note(warn(
                "not_a_metric",
                item.start() as u64,
                "expected a name and a number",
            ))?;
            continue;
        };
        let key = to.tables.bytes(&name.bytes().unwrap_or_default());
        let key = to
            .tables
            .attribute_key(traceloom_model::AttributeKey::named(key));
        let text = number.number().unwrap_or("0");
        let whole = text.parse().ok().map(ModelValue::I64);
        let value = whole.or_else(|| number.f64().map(ModelValue::F64));
        attributes.push(Attribute::new(key, value.unwrap_or(ModelValue::Null)));
    }
    let name = to.tables.string(GO_METRICS);
    let event_type = to.tables.event_type(EventType {
        name,
        label: None,
        fields: attributes.iter().map(|attribute| attribute.key).collect(),
    });
    let mut events = EventBatch::default();
    events.push(&EventRow {
        attributes: &attributes,
        ..EventRow::of_process(event_type, 0, None)
    });
    to.define()?;
    to.sink.events(events)
}
