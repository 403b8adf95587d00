//! Generated traces of OpenTelemetry, and profiles in JSON: requests to a shop that asks a stock service.

use std::fmt::Write as _;

use crate::random::Random;
use traceloom_formats::protobuf::{put_bytes, put_fixed64, put_message, put_number};

/// A span, before it is encoded.
struct WrittenSpan {
    trace: u128,
    id: u64,
    parent: u64,
    name: String,
    kind: u64,
    start: u64,
    end: u64,
    rows: u64,
    failed: bool,
}

/// Makes the spans of a request, as they end: those of the shop, and those of the stock service.
fn request(random: &mut Random, at: &mut u64) -> [Vec<WrittenSpan>; 2] {
    let trace = u128::from(random.number(u64::MAX)) << 64 | u128::from(*at);
    let root = 1 + random.number(1 << 60);
    let (asked, found) = (
        1_000_000 + random.number(900_000),
        50_000 + random.number(99_000),
    );
    let start = *at;
    let span = |id: u64, parent: u64, name: &str, kind: u64, from: u64, lasted: u64| WrittenSpan {
        trace,
        id,
        parent,
        name: name.to_owned(),
        kind,
        start: start + from,
        end: start + from + lasted,
        rows: 0,
        failed: false,
    };
    let mut query = span(root + 3, root, "select", 1, 20_000 + asked, found);
    query.rows = found;
    let mut client = span(root + 1, root, "GET /stock", 3, 10_000, asked);
    client.failed = random.number(8) == 0;
    let whole = span(root, 0, "buy", 2, 0, asked + found + 50_000);
    let server = span(root + 2, root + 1, "GET /stock", 2, 15_000, asked - 20_000);
    *at = whole.end + random.number(50_000);
    [vec![client, query, whole], vec![server]]
}

/// When the first request comes.
const BEGIN: u64 = 1_700_000_000_000_000_000;

/// Makes traces of about `bytes` bytes in protobuf, a message a request.
pub(crate) fn protobuf(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let (mut at, mut made) = (BEGIN, 0);
    while made < bytes.max(1) {
        let mut message = Vec::new();
        for (service, spans) in ["shop", "stock"]
            .into_iter()
            .zip(request(&mut random, &mut at))
        {
            put_message(&mut message, 1, |body| {
                put_message(body, 1, |resource| {
                    put_text(resource, 1, "service.name", service)
                });
                put_message(body, 2, |scope| {
                    put_message(scope, 1, |name| put_bytes(name, 1, b"shop.tracer"));
                    for span in &spans {
                        put_message(scope, 2, |out| put_span(span, out));
                    }
                });
            });
        }
        made += message.len() as u64;
        out(&message);
    }
}

fn put_text(out: &mut Vec<u8>, number: u32, key: &str, text: &str) {
    put_message(out, number, |pair| {
        put_bytes(pair, 1, key.as_bytes());
        put_message(pair, 2, |any| put_bytes(any, 1, text.as_bytes()));
    });
}

fn put_span(span: &WrittenSpan, out: &mut Vec<u8>) {
    put_bytes(out, 1, &span.trace.to_be_bytes());
    put_bytes(out, 2, &span.id.to_be_bytes());
    if span.parent != 0 {
        put_bytes(out, 4, &span.parent.to_be_bytes());
    }
    put_bytes(out, 5, span.name.as_bytes());
    put_number(out, 6, span.kind);
    put_fixed64(out, 7, span.start);
    put_fixed64(out, 8, span.end);
    if span.rows > 0 {
        put_message(out, 9, |pair| {
            put_bytes(pair, 1, b"db.rows");
            put_message(pair, 2, |any| put_number(any, 3, span.rows));
        });
        put_message(out, 11, |event| {
            put_fixed64(event, 1, span.start + 10);
            put_bytes(event, 2, b"cache.miss");
        });
    }
    if span.failed {
        put_message(out, 15, |status| put_number(status, 3, 2));
    }
}

/// Makes traces of about `bytes` bytes in JSON, a document a line.
pub(crate) fn json(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    let (mut at, mut made) = (BEGIN, 0);
    while made < bytes.max(1) {
        let mut line = "{\"resourceSpans\":[".to_owned();
        for (service, spans) in ["shop", "stock"]
            .into_iter()
            .zip(request(&mut random, &mut at))
        {
            if service == "stock" {
                line.push(',');
            }
            let _ = write!(
                line,
                "{{\"resource\":{{\"attributes\":[{{\"key\":\"service.name\",\"value\":{{\"stringValue\":\
                 \"{service}\"}}}}]}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"shop.tracer\"}},\"spans\":["
            );
            let spans: Vec<String> = spans.iter().map(span_json).collect();
            line.push_str(&spans.join(","));
            line.push_str("]}]}");
        }
        line.push_str("]}\n");
        made += line.len() as u64;
        out(line.as_bytes());
    }
}

fn span_json(span: &WrittenSpan) -> String {
    let mut text = format!(
        "{{\"traceId\":\"{:032x}\",\"spanId\":\"{:016x}\",",
        span.trace, span.id
    );
    if span.parent != 0 {
        let _ = write!(text, "\"parentSpanId\":\"{:016x}\",", span.parent);
    }
    let _ = write!(
        text,
        "\"name\":\"{}\",\"kind\":{},\"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\"",
        span.name, span.kind, span.start, span.end
    );
    if span.rows > 0 {
        let _ = write!(
            text,
            ",\"attributes\":[{{\"key\":\"db.rows\",\"value\":{{\"intValue\":\"{}\"}}}}],\
             \"events\":[{{\"timeUnixNano\":\"{}\",\"name\":\"cache.miss\"}}]",
            span.rows,
            span.start + 10
        );
    }
    let status = if span.failed { "{\"code\":2}" } else { "{}" };
    let _ = write!(text, ",\"status\":{status}}}");
    text
}

/// Makes a profile of about `bytes` bytes in JSON.
pub(crate) fn profile_json(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let mut random = Random::new(seed);
    out(b"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",");
    out(b"\"value\":{\"stringValue\":\"shop\"}}]},\"scopeProfiles\":[{\"scope\":{\"name\":\"profiler\"},");
    out(b"\"profiles\":[{\"sampleType\":{\"typeStrindex\":1,\"unitStrindex\":2},");
    out(b"\"timeUnixNano\":\"1700000000000000000\",\"durationNano\":\"30000000000\",\"samples\":[");
    let rows = (bytes / 50).max(1);
    for row in 0..rows {
        let comma = if row == 0 { "" } else { ",\n" };
        let (stack, value) = (1 + random.number(2), random.number(50) * 10_000_000);
        out(format!("{comma}{{\"stackIndex\":{stack},\"values\":[\"{value}\"]}}").as_bytes());
    }
    out(b"]}]}]}],\"dictionary\":{\"mappingTable\":[{}],\"locationTable\":[{},{\"lines\":[{");
    out(b"\"functionIndex\":1,\"line\":\"7\"}]},{\"lines\":[{\"functionIndex\":2}]}],\"functionTable\":[{},");
    out(b"{\"nameStrindex\":3,\"filenameStrindex\":5},{\"nameStrindex\":4}],\"linkTable\":[{}],");
    out(b"\"stringTable\":[\"\",\"cpu\",\"nanoseconds\",\"main\",\"work\",\"shop.rs\"],");
    out(b"\"attributeTable\":[{}],\"stackTable\":[{},{\"locationIndices\":[1]},{\"locationIndices\":[2,1]}]}}\n");
}
