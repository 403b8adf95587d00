//! Samples and other nested values of a profile, as the JSON text of a field (contradictions C6 and C7).

use std::collections::BTreeMap;

use traceloom_model::Limits;

use crate::text::json::{Document, Kind, Value, push_string};

/// One stack with its values.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sample {
    /// Values.
    pub values: Vec<SampleValue>,
    /// Id of the span it was taken in, unsigned decimal.
    pub span_id: String,
    /// Id of that span's root.
    pub root_span_id: String,
    /// Resource of the trace.
    pub trace_endpoint: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Frames, leaf first.
    pub stack_trace: Vec<TraceFunc>,
}

/// One value of a sample.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SampleValue {
    /// Kind, such as `cpu` or `inuse_space`.
    pub kind: String,
    /// Amount.
    pub value: i64,
    /// Unit of the amount.
    pub unit: String,
}

/// One frame.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceFunc {
    /// Function name.
    pub name: String,
    /// Source file.
    pub file: String,
    /// Line, 0 when unknown.
    pub line: i64,
}

fn separated<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut push: impl FnMut(&mut Vec<u8>, T),
) {
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push(out, item);
    }
}

fn member(out: &mut Vec<u8>, key: &str, value: &str) {
    push_string(key.as_bytes(), out);
    out.push(b':');
    push_string(value.as_bytes(), out);
}

pub(crate) fn list(texts: &[String]) -> Vec<u8> {
    let mut out = vec![b'['];
    separated(&mut out, texts, |out, text| {
        push_string(text.as_bytes(), out)
    });
    out.push(b']');
    out
}

pub(crate) fn map(texts: &BTreeMap<String, String>) -> Vec<u8> {
    let mut out = vec![b'{'];
    separated(&mut out, texts, |out, (key, value)| member(out, key, value));
    out.push(b'}');
    out
}

pub(crate) fn write(samples: &BTreeMap<String, Vec<Sample>>) -> Vec<u8> {
    let mut out = vec![b'{'];
    separated(&mut out, samples, |out, (event, samples)| {
        push_string(event.as_bytes(), out);
        out.extend(b":[");
        separated(out, samples, write_sample);
        out.push(b']');
    });
    out.push(b'}');
    out
}

/// Writes samples as texts of at most `limit` bytes, cut between samples; one sample that is longer is a text of its
/// own.
pub(crate) fn write_pieces(samples: &BTreeMap<String, Vec<Sample>>, limit: usize) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut piece = Vec::new();
    let mut event_of_piece = None;
    for (event, samples) in samples {
        let mut name = Vec::new();
        push_string(event.as_bytes(), &mut name);
        for sample in samples {
            let mut text = Vec::new();
            write_sample(&mut text, sample);
            // A comma, the name with its brackets, and the end of both.
            if !piece.is_empty() && piece.len() + name.len() + text.len() + 6 > limit {
                piece.extend(b"]}");
                pieces.push(std::mem::take(&mut piece));
                event_of_piece = None;
            }
            if event_of_piece == Some(event) {
                piece.push(b',');
            } else {
                piece.extend(if piece.is_empty() {
                    &b"{"[..]
                } else {
                    &b"],"[..]
                });
                piece.extend_from_slice(&name);
                piece.extend(b":[");
                event_of_piece = Some(event);
            }
            piece.extend_from_slice(&text);
        }
    }
    if !piece.is_empty() {
        piece.extend(b"]}");
        pieces.push(piece);
    }
    pieces
}

fn write_sample(out: &mut Vec<u8>, sample: &Sample) {
    out.extend(b"{\"values\":[");
    separated(out, &sample.values, |out, value| {
        out.push(b'{');
        member(out, "type", &value.kind);
        out.extend(format!(",\"value\":{},", value.value).bytes());
        member(out, "unit", &value.unit);
        out.push(b'}');
    });
    out.extend(b"],");
    member(out, "span_id", &sample.span_id);
    out.push(b',');
    member(out, "root_span_id", &sample.root_span_id);
    out.push(b',');
    member(out, "trace_endpoint", &sample.trace_endpoint);
    out.extend(b",\"labels\":");
    out.extend(map(&sample.labels));
    out.extend(b",\"stack_trace\":[");
    separated(out, &sample.stack_trace, |out, frame| {
        out.push(b'{');
        member(out, "name", &frame.name);
        out.push(b',');
        member(out, "file", &frame.file);
        out.extend(format!(",\"line\":{}}}", frame.line).bytes());
    });
    out.extend(b"]}");
}

pub(crate) fn text_of(value: Option<Value<'_>>) -> String {
    let Some(value) = value else {
        return String::new();
    };
    match value.kind() {
        Kind::String => value.text().unwrap_or_default().into_owned(),
        Kind::Null => String::new(),
        _ => String::from_utf8_lossy(value.raw()).into_owned(),
    }
}

fn key_of(value: Value<'_>) -> String {
    String::from_utf8_lossy(&value.key().unwrap_or_default()).into_owned()
}

fn texts(value: Value<'_>) -> BTreeMap<String, String> {
    value
        .items()
        .map(|item| (key_of(item), text_of(Some(item))))
        .collect()
}

pub(crate) fn read_list(text: &str, limits: &Limits) -> Vec<String> {
    let document = Document::parse(text.as_bytes(), limits);
    let list = document.root().filter(|root| root.kind() == Kind::Array);
    match list {
        Some(list) => list.items().map(|item| text_of(Some(item))).collect(),
        None if text.is_empty() => Vec::new(),
        None => vec![text.to_owned()],
    }
}

pub(crate) fn read_map(text: &str, limits: &Limits) -> BTreeMap<String, String> {
    let document = Document::parse(text.as_bytes(), limits);
    document.root().map(texts).unwrap_or_default()
}

pub(crate) fn read(text: &str, limits: &Limits) -> BTreeMap<String, Vec<Sample>> {
    let document = Document::parse(text.as_bytes(), limits);
    let Some(root) = document.root() else {
        return BTreeMap::new();
    };
    let of = |event: Value<'_>| {
        let samples = match event.kind() {
            Kind::Array => event.items().map(read_sample).collect(),
            _ => vec![read_sample(event)],
        };
        (key_of(event), samples)
    };
    root.items().map(of).collect()
}

fn read_sample(value: Value<'_>) -> Sample {
    let items = |key: &str| value.get(key).into_iter().flat_map(Value::items);
    Sample {
        values: items("values")
            .map(|value| SampleValue {
                kind: text_of(value.get("type")),
                value: value.get("value").and_then(Value::i64).unwrap_or(0),
                unit: text_of(value.get("unit")),
            })
            .collect(),
        span_id: text_of(value.get("span_id")),
        root_span_id: text_of(value.get("root_span_id")),
        trace_endpoint: text_of(value.get("trace_endpoint")),
        labels: value.get("labels").map(texts).unwrap_or_default(),
        stack_trace: items("stack_trace")
            .map(|frame| TraceFunc {
                name: text_of(frame.get("name")),
                file: text_of(frame.get("file")),
                line: frame.get("line").and_then(Value::i64).unwrap_or(0),
            })
            .collect(),
    }
}
