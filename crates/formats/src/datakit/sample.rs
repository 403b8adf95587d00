//! Samples and other nested values of a profile, as the JSON text of a field (contradictions C6 and C7).

use std::collections::BTreeMap;

use traceloom_model::Limits;

use crate::json::{Document, Kind, Value, push_string};

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

pub(super) fn list(texts: &[String]) -> Vec<u8> {
    let mut out = vec![b'['];
    separated(&mut out, texts, |out, text| {
        push_string(text.as_bytes(), out)
    });
    out.push(b']');
    out
}

pub(super) fn map(texts: &BTreeMap<String, String>) -> Vec<u8> {
    let mut out = vec![b'{'];
    separated(&mut out, texts, |out, (key, value)| member(out, key, value));
    out.push(b'}');
    out
}

pub(super) fn write(samples: &BTreeMap<String, Vec<Sample>>) -> Vec<u8> {
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

pub(super) fn text_of(value: Option<Value<'_>>) -> String {
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

pub(super) fn read_list(text: &str, limits: &Limits) -> Vec<String> {
    let document = Document::parse(text.as_bytes(), limits);
    let list = document.root().filter(|root| root.kind() == Kind::Array);
    match list {
        Some(list) => list.items().map(|item| text_of(Some(item))).collect(),
        None if text.is_empty() => Vec::new(),
        None => vec![text.to_owned()],
    }
}

pub(super) fn read_map(text: &str, limits: &Limits) -> BTreeMap<String, String> {
    let document = Document::parse(text.as_bytes(), limits);
    document.root().map(texts).unwrap_or_default()
}

pub(super) fn read(text: &str, limits: &Limits) -> BTreeMap<String, Vec<Sample>> {
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

fn event_json(seed: u64, attachments: &str) -> String {
    format!(
        "{{\"attachments\":[{attachments}],\"tags_profiler\":\"service:shop-{},env:prod,host:node-{}.example.com,\
         language:golang,runtime:go,version:v1.{}\",\"start\":\"2024-08-08T15:47:06.{:09}Z\",\
         \"end\":\"2024-08-08T15:48:06Z\",\"family\":\"golang\",\"format\":\"pprof\",\"version\":\"4\"}}\n",
        seed % 7,
        seed % 40,
        seed % 9,
        seed % 1_000_000_000,
    )
}

/// Makes an `event.json`; it has one size, whatever is asked for.
pub(super) fn event(seed: u64, _bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(event_json(seed, "\"metrics.json\"").as_bytes());
}

/// Makes an upload with metadata and as many files of Go metrics as `bytes` hold.
pub(super) fn request(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let file = "[[\"go_num_goroutine\",26],[\"go_gcs_per_sec\",0.5]]";
    let head = "Content-Disposition: form-data; name=";
    let n_files = (bytes / 160).clamp(1, 100_000);
    out(format!("--b{seed:x}\r\n{head}\"event\"; filename=\"event.json\"\r\n\r\n").as_bytes());
    out(event_json(seed, "").as_bytes());
    for at in 0..n_files {
        let name = format!("metrics-{at}.json");
        let part =
            format!("\r\n--b{seed:x}\r\n{head}\"{name}\"; filename=\"{name}\"\r\n\r\n{file}");
        out(part.as_bytes());
    }
    out(format!("\r\n--b{seed:x}--\r\n").as_bytes());
}

/// Makes `/ingest` requests, one after the other as a connection carries them.
pub(super) fn ingest(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut made = 0;
    let mut at = seed;
    while made < bytes {
        at = at
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let body = format!("main;worker;step-{} {}\n", at % 10, at % 1000);
        let request = format!(
            "POST /ingest?name=shop%7Benv%3Dprod%7D&from={}&until={}&format=folded&spyName=gospy HTTP/1.1\r\n\
             Host: node.example.com\r\nContent-Type: binary/octet-stream\r\nContent-Length: {}\r\n\r\n{body}",
            1_723_000_000 + at % 1000,
            1_723_000_060 + at % 1000,
            body.len()
        );
        made += request.len() as u64;
        out(request.as_bytes());
    }
}

/// Makes a `sample_type_config` of as many value types as `bytes` hold.
pub(super) fn config(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(b"{\"alloc_objects\":{\"units\":\"objects\"}");
    for at in 0..bytes / 100 {
        let kind = seed.wrapping_mul(at | 1) % 1_000;
        let row = format!(
            ",\n\"value_{at}\":{{\"units\":\"bytes\",\"display-name\":\"shown_{kind}\",\"aggregation\":\"average\"}}"
        );
        out(row.as_bytes());
    }
    out(b"}\n");
}
