//! Traces of OpenTelemetry and of Zipkin: what they mean, there and back, and what hostile ones do.
#![allow(missing_docs, reason = "a test")]

#[allow(dead_code, reason = "not every test needs all of it")]
mod raised;
#[allow(dead_code, reason = "not every test needs all of it")]
mod said;
#[allow(dead_code, reason = "not every test needs all of it")]
mod top;

use raised::raise;
use top::lowered;
use traceloom_formats::protobuf::{put_bytes, put_fixed64, put_message, put_number};
use traceloom_formats::{Format, by_name};
use traceloom_model::{Recording, SpanRow, SpanStatus, Value};

fn format(name: &str) -> &'static Format {
    by_name(name).unwrap()
}

fn name(recording: &Recording, row: &SpanRow<'_>) -> String {
    recording.function_name(row.function.unwrap()).into_owned()
}

fn span<'r>(recording: &'r Recording, wanted: &str) -> SpanRow<'r> {
    let mut rows = recording.spans.iter();
    rows.find(|row| name(recording, row) == wanted).unwrap()
}

fn service(recording: &Recording, row: &SpanRow<'_>) -> String {
    let track = recording.track(row.track).unwrap();
    let resource = recording.resource(track.resource.unwrap()).unwrap();
    recording.text(resource.service.unwrap()).into_owned()
}

/// The kinds of all notes.
fn notes(recording: &Recording) -> Vec<&'static str> {
    let mut kinds: Vec<_> = recording
        .notes
        .kept()
        .iter()
        .map(|note| note.kind)
        .collect();
    kinds.sort_unstable();
    kinds
}

/// A trace of two services in JSON: the callee comes first, its parent is elsewhere.
const TRACE: &str = r#"{"resourceSpans": [
 {"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "stock"}}]},
  "scopeSpans": [{"scope": {"name": "lib", "version": "2"}, "spans": [
   {"traceId": "0000000000000000000000000000000A", "spanId": "0000000000000002", "parentSpanId": "0000000000000001",
    "name": "serve", "kind": "SPAN_KIND_SERVER", "startTimeUnixNano": "1020", "endTimeUnixNano": "1040",
    "links": [{"traceId": "0000000000000000000000000000000a", "spanId": "0000000000000003"},
              {"traceId": "0000000000000000000000000000000b", "spanId": "0000000000000009", "traceState": "k=v",
               "attributes": [{"key": "why", "value": {"stringValue": "batch"}}]}]}]}]},
 {"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]},
  "scopeSpans": [{"spans": [
   {"traceId": "0000000000000000000000000000000a", "spanId": "0000000000000003", "parentSpanId": "0000000000000001",
    "name": "load", "startTimeUnixNano": 1030, "endTimeUnixNano": 1060, "attributes": [
     {"key": "big", "value": {"intValue": "9007199254740993"}},
     {"key": "list", "value": {"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "x"}]}}},
     {"key": "map", "value": {"kvlistValue": {"values": [{"key": "k", "value": {"doubleValue": "NaN"}}]}}},
     {"key": "bytes", "value": {"bytesValue": "AAH/"}}]},
   {"traceId": "0000000000000000000000000000000a", "spanId": "0000000000000001", "name": "buy", "kind": 3,
    "startTimeUnixNano": "1000", "endTimeUnixNano": "1100", "traceState": "a=b", "flags": 257,
    "droppedEventsCount": 4, "status": {"code": "STATUS_CODE_ERROR", "message": "no stock"},
    "events": [{"timeUnixNano": "1035", "name": "retry", "attributes": [{"key": "n", "value": {"intValue": 2}}]}]},
   {"traceId": "0000000000000000000000000000000a", "spanId": "0000000000000004", "parentSpanId": "0000000000000001",
    "name": "beside", "startTimeUnixNano": "1040", "endTimeUnixNano": "1070"},
   {"traceId": "0000000000000000000000000000000a", "spanId": "0000000000000005", "parentSpanId": "0000000000000004",
    "name": "open", "startTimeUnixNano": "1050"}]}]}]}
"#;

#[test]
fn a_trace_across_services_has_its_parents_tracks_links_and_values() {
    let recording = lowered(format("otlp-traces-json"), TRACE.as_bytes());
    assert_eq!(notes(&recording), ["dropped"]);
    let [serve, buy, load, beside, open] =
        ["serve", "buy", "load", "beside", "open"].map(|name| span(&recording, name));
    assert_eq!(
        [&serve, &buy].map(|row| service(&recording, row)),
        ["stock", "shop"]
    );
    // The caller is in another process.
    assert_eq!((serve.parent, serve.entry), (None, true));
    let context = serve.context.unwrap();
    assert_eq!((context.trace, context.span, context.parent), (10, 2, 1));
    assert_eq!((load.parent, load.track), (Some(buy.id), buy.track));
    assert_eq!(beside.parent, Some(buy.id));
    assert_ne!(beside.track, buy.track);
    assert_eq!(recording.text(buy.kind.unwrap()), "client");
    assert_eq!(buy.status, SpanStatus::Error);
    assert_eq!((open.status, open.end), (SpanStatus::PartialEnd, 1100));
    assert_eq!(load.attributes[0].value, Value::I64(9_007_199_254_740_993));
    assert_eq!(load.attributes[3].value, Value::Bytes([0, 1, 255].into()));
    assert!(matches!(&load.attributes[2].value, Value::Map(map) if map.len() == 1));
    let link = recording.links[0];
    assert_eq!(
        (link.from, link.to, recording.links.len()),
        (load.id, serve.id, 1)
    );
    assert_eq!(recording.events.row(0).unwrap().time, 1035);
    assert_eq!(recording.events.row(0).unwrap().track, Some(buy.track));
}

#[test]
fn both_encodings_and_zipkin_are_read_from_what_is_generated() {
    for seed in 0..3 {
        let both = ["otlp-traces", "otlp-traces-json"]
            .map(|from| lowered(format(from), &traceloom_samples::bytes(from, seed, 20_000)));
        for recording in &both {
            assert!(recording.spans.len() >= 40);
            assert_eq!(recording.notes.total(), 0);
        }
        let told = both.map(|recording| {
            let rows = recording.spans.iter();
            let rows = rows.map(|row| (name(&recording, &row), row.start, row.end, row.depth));
            rows.take(40).collect::<Vec<_>>()
        });
        assert_eq!(told[0], told[1]);
    }
}

/// Everything that is said of a span, but for numbers of tables and tracks.
fn told(recording: &Recording) -> Vec<String> {
    let rows: Vec<SpanRow<'_>> = recording.spans.iter().collect();
    let mut told: Vec<String> = rows
        .iter()
        .map(|row| {
            let parent = rows.iter().find(|parent| Some(parent.id) == row.parent);
            let parent = parent.map(|parent| name(recording, parent));
            let pair = |own: &traceloom_model::Attribute| {
                let key = recording.attribute_key(own.key).unwrap().name;
                format!(
                    "{}={}",
                    recording.text(key),
                    said::value(recording, &own.value)
                )
            };
            let mut pairs: Vec<String> = row.attributes.iter().map(pair).collect();
            pairs.sort();
            let counter = |&(id, value): &(_, i64)| {
                let row = recording.value_type(id).unwrap();
                format!("{} {:?} {value}", recording.text(row.name), row.unit)
            };
            let counters: Vec<String> = row.counters.iter().map(counter).collect();
            let kind = row.kind.map(|kind| recording.text(kind).into_owned());
            format!(
                "{} in {parent:?} {kind:?} {} {} {:?} {} {:x?} {pairs:?} {counters:?}",
                name(recording, row),
                row.start,
                row.end,
                row.status,
                row.entry,
                row.context
            )
        })
        .collect();
    told.extend(recording.events.iter().map(|row| {
        let event_type = recording.event_type(row.event_type).unwrap();
        let track = row.track.and_then(|id| recording.track(id));
        let thread = track.map(|track| (track.os_id, track.name.map(|name| recording.text(name))));
        let pair = |own: &traceloom_model::Attribute| said::value(recording, &own.value);
        let pairs: Vec<String> = row.attributes.iter().map(pair).collect();
        let event = recording.text(event_type.name);
        format!(
            "event {event} {} {:?} {thread:?} {pairs:?}",
            row.time, row.end
        )
    }));
    let named = |id| {
        rows.iter()
            .find(|row| row.id == id)
            .map(|row| name(recording, row))
    };
    told.extend(
        recording
            .links
            .iter()
            .map(|link| format!("link {:?} to {:?}", named(link.from), named(link.to))),
    );
    told.sort();
    told
}

#[test]
fn what_was_read_is_written_and_reads_back_the_same() {
    let mut sources = vec![("otlp-traces-json", TRACE.as_bytes().to_vec())];
    for from in ["otlp-traces", "otlp-traces-json"] {
        sources.push((from, traceloom_samples::bytes(from, 5, 20_000)));
    }
    for (from, bytes) in sources {
        let recording = lowered(format(from), &bytes);
        for target in ["otlp-traces", "otlp-traces-json"] {
            let written = raise(format(target), &recording);
            let back = lowered(format(target), &written);
            assert_eq!(told(&back), told(&recording), "{from} as {target}");
            assert_eq!(notes(&back), notes(&recording), "{from} as {target}");
            // Once written it stays as it is.
            assert_eq!(raise(format(target), &back), written, "{from} as {target}");
        }
    }
}

/// A recording with everything that spans, events and links can have and no ids of the protocol.
#[test]
fn what_has_no_place_in_a_span_reads_back_from_attributes() {
    let recording = said::busy();
    for target in ["otlp-traces", "otlp-traces-json"] {
        let back = lowered(format(target), &raise(format(target), &recording));
        assert_eq!(notes(&back), [""; 0], "{target}");
        let rows = |recording: &Recording| {
            let rows = recording.spans.iter();
            let mut rows: Vec<String> = rows
                .map(|row| {
                    let kind = row.kind.map(|kind| recording.text(kind).into_owned());
                    let counters: Vec<i64> = row.counters.iter().map(|own| own.1).collect();
                    format!(
                        "{} {kind:?} {} {} {:?} {} {counters:?}",
                        name(recording, &row),
                        row.start,
                        row.end,
                        row.status,
                        row.entry
                    )
                })
                .collect();
            rows.sort();
            rows
        };
        assert_eq!(rows(&back), rows(&recording), "{target}");
        for row in recording.spans.iter().filter(|row| row.context.is_some()) {
            let mut same = back.spans.iter();
            let found = same.find(|other| {
                (name(&back, other), other.start) == (name(&recording, &row), row.start)
            });
            assert_eq!(found.unwrap().context, row.context, "{target}");
        }
        let times = |recording: &Recording| {
            // An exception is an event of its span there.
            let is_own = |row: &traceloom_model::EventRow<'_>| {
                let event_type = recording.event_type(row.event_type).unwrap();
                recording.text(event_type.name) != "exception"
            };
            let own = recording.events.iter().filter(is_own);
            let mut times: Vec<_> = own.map(|row| (row.time, row.end)).collect();
            times.sort();
            times
        };
        assert_eq!(times(&back), times(&recording), "{target}");
        assert_eq!(back.links.len(), recording.links.len(), "{target}");
    }
}

/// A message of one span.
fn message(fill: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    put_message(&mut out, 1, |resource| {
        put_message(resource, 2, |scope| put_message(scope, 2, fill));
    });
    out
}

#[test]
fn ids_of_wrong_lengths_and_times_that_are_none_are_told() {
    let bytes = message(|span| {
        put_bytes(span, 1, &[7; 15]);
        put_bytes(span, 2, &[7; 9]);
        put_bytes(span, 4, &[7; 3]);
        put_bytes(span, 5, b"odd");
        put_number(span, 6, 77);
        put_fixed64(span, 7, 90);
        put_fixed64(span, 8, 80);
        put_number(span, 10, u64::MAX);
    });
    let recording = lowered(format("otlp-traces"), &bytes);
    let expected = [
        "bad_id",
        "bad_parent_id",
        "dropped",
        "end_before_start",
        "span_kind",
    ];
    assert_eq!(notes(&recording), expected);
    let row = span(&recording, "odd");
    assert_eq!((row.context, row.start, row.end), (None, 90, 90));
    // What was there in place of ids is kept.
    let texts = row.attributes.iter().filter_map(|own| match own.value {
        Value::Text(id) => Some(recording.text(id).into_owned()),
        _ => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), ["07".repeat(15), "07".repeat(9)]);
}

#[test]
fn circles_repeats_and_depth_end() {
    let mut bytes = Vec::new();
    for (id, parent) in [(1_u64, 2_u64), (2, 1), (3, 3), (3, 0)] {
        bytes.extend(message(|span| {
            put_bytes(span, 1, &[1; 16]);
            put_bytes(span, 2, &id.to_be_bytes());
            put_bytes(span, 4, &parent.to_be_bytes());
            put_fixed64(span, 7, 10);
            put_fixed64(span, 8, 20);
        }));
    }
    let recording = lowered(format("otlp-traces"), &bytes);
    assert_eq!(notes(&recording), ["parent_circle", "repeated_span_id"]);
    assert_eq!(recording.spans.len(), 4);

    let nested = |depth: usize| {
        let (open, close) = ("{\"arrayValue\":{\"values\":[", "]}}");
        let value = open.repeat(depth) + &close.repeat(depth);
        TRACE.replace("{\"stringValue\": \"batch\"}", &value)
    };
    let deep = lowered(format("otlp-traces-json"), nested(50_000).as_bytes());
    assert_eq!(notes(&deep), ["dropped", "limit_depth"]);
    assert_eq!(deep.spans.len(), 5);
}

#[test]
fn what_is_no_value_of_its_member_has_a_note_with_its_offset() {
    let text = TRACE.replace(
        "\"droppedEventsCount\": 4",
        "\"droppedEventsCount\": {}, \"more\": 1",
    );
    let recording = lowered(format("otlp-traces-json"), text.as_bytes());
    let notes = recording.notes.kept();
    let offset = |kind: &str| notes.iter().find(|note| note.kind == kind).unwrap().offset;
    let at = |part: &str| text.find(part).unwrap() as u64;
    assert_eq!(offset("json_type"), at("\"droppedEventsCount\": {}") + 22);
    assert_eq!(offset("unknown_member"), at("\"more\": 1") + 8);
    let text = TRACE.replace("\"droppedEventsCount\": 4", "\"endTimeUnixNano\": \"3\"");
    let recording = lowered(format("otlp-traces-json"), text.as_bytes());
    let note = &recording.notes.kept()[0];
    let begin = text.find(
        "{\"traceId\": \"0000000000000000000000000000000a\", \"spanId\": \"0000000000000001\"",
    );
    assert_eq!(
        (note.kind, Some(note.offset)),
        ("end_before_start", begin.map(|at| at as u64))
    );
}

#[test]
fn profiles_in_json_are_those_of_protobuf() {
    let recording = lowered(
        format("otlp-profiles-json"),
        &traceloom_samples::bytes("otlp-profiles-json", 4, 30_000),
    );
    assert!(
        recording
            .samples
            .iter()
            .map(|batch| batch.len())
            .sum::<usize>()
            > 100
    );
    assert_eq!(
        recording.notes.total(),
        0,
        "{:?}",
        recording.notes.kept().first()
    );
    let top = top::top(&recording, 0);
    assert_eq!(top.rows.len(), 2, "{top:?}");
    let again = lowered(
        format("otlp-profiles"),
        &raise(format("otlp-profiles"), &recording),
    );
    assert_eq!(top::top(&again, 0), top);
}

#[test]
fn spans_of_zipkin_have_services_parents_and_annotations() {
    let text = r#"[[{"traceId": "a", "id": "3", "parentId": "2", "name": "select", "timestamp": 30, "duration": 20,
        "localEndpoint": {"serviceName": "shop", "port": 80}, "tags": {"error": "", "rows": "7"}},
      {"traceId": "a", "id": "2", "name": "buy", "kind": "SERVER", "timestamp": 10, "duration": 90, "debug": true,
        "localEndpoint": {"serviceName": "shop", "port": 80}, "remoteEndpoint": {"ipv4": "192.0.2.9"},
        "annotations": [{"timestamp": 40, "value": "half"}]}],
     [{"traceId": "a", "id": "2", "parentId": "1", "shared": true, "name": "call", "kind": "CLIENT", "timestamp": 5,
        "localEndpoint": {"serviceName": "web"}}, {"traceId": "xyz", "id": "1", "name": "bad", "timestamp": 1},
      {"traceId": "b", "id": "1", "name": "never"}, 7]]"#;
    let recording = lowered(format("zipkin"), text.as_bytes());
    assert_eq!(notes(&recording), ["bad_id", "no_time", "not_a_span"]);
    let [select, buy, call] = ["select", "buy", "call"].map(|name| span(&recording, name));
    assert_eq!(
        (select.parent, select.status),
        (Some(buy.id), SpanStatus::Error)
    );
    assert_eq!((select.start, select.end), (30_000, 50_000));
    assert_eq!((call.parent, call.status), (None, SpanStatus::PartialEnd));
    assert_eq!(
        [&buy, &call].map(|row| service(&recording, row)),
        ["shop", "web"]
    );
    assert_eq!(recording.text(buy.kind.unwrap()), "server");
    assert_eq!((buy.context.unwrap().trace, buy.attributes.len()), (10, 2));
    assert_eq!(recording.events.row(0).unwrap().time, 40_000);
}

#[test]
fn spans_of_zipkin_mean_the_same_in_protobuf() {
    let span = |fill: &dyn Fn(&mut Vec<u8>)| {
        let mut list = Vec::new();
        put_message(&mut list, 1, |out| fill(out));
        list
    };
    let first = span(&|out| {
        put_bytes(out, 1, &[0, 0, 0, 0, 0, 0, 0, 10]);
        put_bytes(out, 2, &[0, 0, 0, 0, 0, 0, 0, 1]);
        put_bytes(out, 3, &[0, 0, 0, 0, 0, 0, 0, 2]);
        put_number(out, 4, 2);
        put_bytes(out, 5, b"get /\"x\"");
        put_fixed64(out, 6, 1_700_000_000_000_007);
        put_number(out, 7, 20);
        put_message(out, 8, |local| {
            put_bytes(local, 1, b"stock");
            put_bytes(local, 2, &[192, 0, 2, 1]);
            put_number(local, 4, 9000);
        });
        put_message(out, 9, |remote| {
            put_bytes(remote, 1, b"shop");
            put_bytes(
                remote,
                3,
                &[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            );
        });
        put_message(out, 10, |annotation| {
            put_fixed64(annotation, 1, 1_700_000_000_000_009);
            put_bytes(annotation, 2, b"miss");
        });
        put_message(out, 11, |tag| {
            put_bytes(tag, 1, b"error");
            put_bytes(tag, 2, b"late");
        });
        put_number(out, 12, 1);
        put_number(out, 13, 1);
    });
    let json = r#"[{"traceId": "000000000000000a", "parentId": "0000000000000001", "id": "0000000000000002",
        "kind": "SERVER", "name": "get /\"x\"", "timestamp": 1700000000000007, "duration": 20,
        "localEndpoint": {"serviceName": "stock", "ipv4": "192.0.2.1", "port": 9000},
        "remoteEndpoint": {"serviceName": "shop", "ipv6": "2001:db8::1"}, "debug": true, "shared": true,
        "annotations": [{"timestamp": 1700000000000009, "value": "miss"}], "tags": {"error": "late"}}]"#;
    let expected = said::said(&lowered(format("zipkin"), json.as_bytes()));
    assert_eq!(expected.len(), 2);
    let protobuf = format("zipkin-protobuf");
    assert_eq!(said::said(&lowered(protobuf, &first)), expected);
    // A span without ids has a note at its own offset; one that is cut is told.
    let nameless = span(&|out| put_fixed64(out, 6, 1_700_000_000_000_007));
    let list = [&first[..], &nameless, &first[..9]].concat();
    let recording = lowered(protobuf, &list);
    assert_eq!(notes(&recording), ["bad_id", "truncated"]);
    let kept = recording.notes.kept();
    let bad = kept.iter().find(|note| note.kind == "bad_id").unwrap();
    assert_eq!(bad.offset, first.len() as u64);
}
