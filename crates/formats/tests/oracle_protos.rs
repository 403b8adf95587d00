//! What we write, as the classes decode it that others generated from the published messages.
//!
//! `python3` needs opentelemetry-proto, perfetto and protobuf, in the folder `TRACELOOM_PYTHONPATH` names or
//! installed. Without them the tests say so and pass.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that runs a program on files"
)]

#[allow(dead_code, reason = "not every test needs all of it")]
mod raised;
#[allow(dead_code, reason = "not every test needs all of it")]
mod said;
#[allow(dead_code, reason = "not every test needs all of it")]
mod top;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use raised::raise;
use said::busy;
use serde_json::{Value, json};
use top::{lowered, name};
use traceloom_formats::by_name;
use traceloom_model::{Recording, SpanId, Unit};

/// Runs a script on bytes; none when Python or a module it imports is missing.
fn ask(script: &str, module: &str, bytes: &[u8]) -> Option<Vec<Value>> {
    let mut python = Command::new("python3");
    if let Some(path) = std::env::var_os("TRACELOOM_PYTHONPATH") {
        python.env("PYTHONPATH", path);
    }
    let mut probe = Command::new("python3");
    if let Some(path) = std::env::var_os("TRACELOOM_PYTHONPATH") {
        probe.env("PYTHONPATH", path);
    }
    let probed = probe.args(["-c", &format!("import {module}")]).output();
    if !probed.is_ok_and(|output| output.status.success()) {
        println!("python3 with {module} not found, skipped");
        return None;
    }
    // Tests run beside each other.
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let name = match bytes {
        [] => format!("{script}.bin"),
        _ => format!("{script}.{}.bin", ASKED.fetch_add(1, Ordering::Relaxed)),
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, bytes).expect("a file");
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/oracle")
        .join(script);
    let output = python.arg(path).arg(&file).output().expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    Some(lines.collect())
}

/// What a recording says of each column of each profile, as the script says it.
fn profiles(recording: &Recording) -> Vec<Value> {
    let mut all = Vec::new();
    for (index, profile) in (0_u32..).zip(recording.profiles.iter().flatten()) {
        for (column, &id) in profile.value_types.iter().enumerate() {
            let row = recording.value_type(id).expect("a column");
            let mut leaves: BTreeMap<String, i64> = BTreeMap::new();
            let (mut samples, mut frames, mut times) = (0, 0, 0);
            let batches = recording
                .samples
                .iter()
                .filter(|batch| batch.profile.raw() == index);
            for sample in batches.flat_map(|batch| batch.iter()) {
                let path = top::frames(recording, sample.stack);
                let leaf = path.first().map(|&frame| match recording.frame(frame) {
                    Some(row) if row.function.is_some() => name(recording, frame),
                    _ => String::new(),
                });
                *leaves.entry(leaf.unwrap_or_default()).or_default() += sample.values[column];
                samples += 1;
                frames += path.len();
                times += usize::from(sample.time.is_some());
            }
            let unit = match row.unit {
                Unit::Nanoseconds => "nanoseconds".to_owned(),
                Unit::Bytes => "bytes".to_owned(),
                Unit::Count => "count".to_owned(),
                Unit::Other(id) => recording.text(id).into_owned(),
                other => format!("{other:?}").to_lowercase(),
            };
            let total: i64 = leaves.values().sum();
            let leaves: Vec<_> = leaves
                .into_iter()
                .filter(|&(_, value)| value != 0)
                .collect();
            all.push(json!({
                "type": recording.text(row.name), "unit": unit, "samples": samples, "total": total,
                "frames": frames, "times": times, "leaves": leaves,
            }));
        }
    }
    all
}

#[test]
fn profiles_decode_with_the_same_totals() {
    let otlp = by_name("otlp-profiles").unwrap();
    for from in ["pprof", "otlp-profiles", "jfr", "speedscope", "cpuprofile"] {
        let format = by_name(from).unwrap();
        let mut bytes = Vec::new();
        traceloom_samples::by_name(format.name).unwrap()(3, 40_000, &mut |piece| {
            bytes.extend_from_slice(piece)
        });
        let recording = lowered(format, &bytes);
        let written = raise(otlp, &recording);
        let module = "opentelemetry.proto.profiles.v1development.profiles_pb2";
        let Some(theirs) = ask("read_otlp.py", module, &written) else {
            return;
        };
        let ours = profiles(&recording);
        assert!(!ours.is_empty(), "{from}");
        let mut sorted = [theirs, ours];
        for list in &mut sorted {
            list.retain(|row| row["samples"] != 0);
            list.sort_by_key(|row| row.to_string());
        }
        assert_eq!(sorted[0], sorted[1], "{from}");
    }
}

#[test]
fn traces_decode_with_the_same_slices_and_nesting() {
    let perfetto = by_name("perfetto").unwrap();
    let mut cases = vec![("busy", busy())];
    for from in ["perfetto", "heph", "zorka-c", "tptp-binary", "cdt-tcp"] {
        let format = by_name(from).unwrap();
        let mut bytes = Vec::new();
        let Some(sample) =
            traceloom_samples::by_name(format.name).filter(|_| format.lower.is_some())
        else {
            continue;
        };
        sample(3, 60_000, &mut |piece| bytes.extend_from_slice(piece));
        cases.push((from, lowered(format, &bytes)));
    }
    for (from, recording) in cases {
        let written = raise(perfetto, &recording);
        let module = "perfetto.protos.perfetto.trace.perfetto_trace_pb2";
        let Some(theirs) = ask("read_perfetto.py", module, &written) else {
            return;
        };
        let theirs = &theirs[0];
        let mut slices: BTreeMap<String, (u64, i64)> = BTreeMap::new();
        let mut nested: BTreeMap<(String, String), u64> = BTreeMap::new();
        let spans: HashMap<SpanId, _> =
            recording.spans.iter().map(|span| (span.id, span)).collect();
        let name = |id: Option<_>| {
            id.map_or_else(String::new, |id| recording.function_name(id).into_owned())
        };
        let mut across = 0;
        for span in recording.spans.iter() {
            let row = slices.entry(name(span.function)).or_default();
            row.0 += 1;
            row.1 += span.end - span.start;
            let parent = span.parent.and_then(|id| spans.get(&id));
            // Nesting is within a track; what sticks out of its parent lies beside it.
            let inside = parent.filter(|parent| {
                parent.track == span.track && parent.start <= span.start && span.end <= parent.end
            });
            across += usize::from(parent.is_some() && inside.is_none());
            let above = inside.map_or_else(String::new, |parent| name(parent.function));
            *nested.entry((above, name(span.function))).or_default() += 1;
        }
        assert!(!slices.is_empty(), "{from}");
        let with_end = recording.events.end.iter().flatten().count();
        for row in recording.events.iter().filter(|row| row.end.is_some()) {
            let kind = recording.event_type(row.event_type).unwrap();
            let name = recording.text(kind.name).into_owned();
            let slice = slices.entry(name.clone()).or_default();
            slice.0 += 1;
            slice.1 += row.end.unwrap() - row.time;
            *nested.entry((String::new(), name)).or_default() += 1;
        }
        let slices: Vec<_> = slices
            .into_iter()
            .map(|(name, (n, ns))| json!([name, n, ns]))
            .collect();
        assert_eq!(theirs["slices"], json!(slices), "{from}");
        if across == 0 && recording.order == traceloom_model::Order::Nested {
            let nested: Vec<_> = nested
                .into_iter()
                .map(|((above, name), n)| json!([above, name, n]))
                .collect();
            assert_eq!(theirs["nested"], json!(nested), "{from}");
        }
        assert_eq!(theirs["open"], 0, "{from}");
        assert_eq!(
            theirs["instants"],
            recording.events.len() - with_end,
            "{from}"
        );
        let sum: f64 = recording.counters.value.iter().sum();
        assert_eq!(
            theirs["counters"][0],
            recording.counters.value.len(),
            "{from}"
        );
        assert_eq!(
            theirs["counters"][1].as_str().map(str::parse),
            Some(Ok(sum)),
            "{from}"
        );
        if !recording.links.is_empty() {
            assert_eq!(theirs["links"], recording.links.len(), "{from}");
        }
    }
}

/// What a recording says of its spans, as the script says it.
fn spans(recording: &Recording) -> Vec<Value> {
    let text = |id| recording.function_name(id).into_owned();
    let named = |row: &traceloom_model::SpanRow<'_>| row.function.map(text).unwrap_or_default();
    let rows: Vec<_> = recording.spans.iter().collect();
    let by_id: HashMap<SpanId, String> = rows.iter().map(|row| (row.id, named(row))).collect();
    let of_context = |row: &traceloom_model::SpanRow<'_>| {
        row.context.map(|own| ((own.trace, own.span), named(row)))
    };
    let by_context: HashMap<_, _> = rows.iter().filter_map(of_context).collect();
    let mut all = Vec::new();
    for row in &rows {
        let track = recording.track(row.track).unwrap();
        let resource = track.resource.and_then(|id| recording.resource(id));
        let service = resource.and_then(|resource| resource.service);
        let caller = row.context.map(|own| (own.trace, own.parent));
        let caller = caller.and_then(|caller| by_context.get(&caller));
        let parent = row.parent.and_then(|parent| by_id.get(&parent)).or(caller);
        let is_own = |name: &str| name.starts_with("otel.");
        let integers = row.attributes.iter().filter_map(|own| {
            let key = recording.attribute_key(own.key)?.name;
            match own.value {
                traceloom_model::Value::I64(value) if !is_own(&recording.text(key)) => Some(value),
                _ => None,
            }
        });
        let id = row.context.map(|own| format!("{:016x}", own.span));
        let of_span = |event: &traceloom_model::EventRow<'_>| {
            event.track == Some(row.track)
                && event.attributes.iter().any(|own| match own.value {
                    traceloom_model::Value::Text(text) => Some(recording.text(text).into()) == id,
                    _ => false,
                })
                && (row.start..=row.end).contains(&event.time)
        };
        let events = recording.events.iter().filter(of_span);
        let mut events: Vec<String> = events
            .map(|event| {
                let row = recording.event_types[event.event_type.index()].as_ref();
                recording.text(row.unwrap().name).into_owned()
            })
            .collect();
        events.sort_unstable();
        let elsewhere = row.attributes.iter().filter(|own| {
            let key = recording.attribute_key(own.key).unwrap().name;
            recording.text(key) == "otel.link"
        });
        let here = recording.links.iter().filter(|link| link.to == row.id);
        all.push(json!({
            "service": service.map(|id| recording.text(id).into_owned()).unwrap_or_default(),
            "name": named(row),
            "parent": parent.cloned().unwrap_or_default(),
            "start": row.start,
            "end": row.end,
            "failed": row.status == traceloom_model::SpanStatus::Error,
            "integers": integers.sum::<i64>(),
            "events": events,
            "links": elsewhere.count() + here.count(),
        }));
    }
    all.sort_by_key(|row| row.to_string());
    all
}

#[test]
fn spans_decode_with_the_same_parents_values_and_events() {
    let module = "opentelemetry.proto.trace.v1.trace_pb2";
    let Some(made) = ask("make_traces.py", module, &[]) else {
        return;
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("make_traces.py.bin");
    let theirs = std::fs::read(file).expect("what the script made");
    let protobuf = by_name("otlp-traces").unwrap();
    let recording = lowered(protobuf, &theirs);
    assert_eq!(made[0]["spans"], recording.spans.len());
    assert_eq!(recording.notes.total(), 0);
    // Theirs as they read it, and as we do; then what we write of it, in both encodings.
    let json = by_name("otlp-traces-json").unwrap();
    let written = [protobuf, json].map(|target| raise(target, &recording));
    for bytes in [theirs].iter().chain(&written) {
        let mut said = ask("read_traces.py", module, bytes).unwrap();
        for row in &mut said {
            // The model has the caller's name alone.
            row.as_object_mut().expect("a row").remove("caller");
        }
        said.sort_by_key(|row| row.to_string());
        assert_eq!(said, spans(&recording));
    }
}

/// Spans of every kind of source get ids by which the classes of others find the parents that the source has.
#[test]
fn spans_of_other_formats_decode_with_their_parents() {
    let module = "opentelemetry.proto.trace.v1.trace_pb2";
    let mut cases = vec![("busy", busy())];
    for from in [
        "zipkin",
        "heph",
        "zorka-c",
        "chrome",
        "perfetto",
        "otlp-traces",
    ] {
        let format = by_name(from).unwrap();
        let bytes = traceloom_samples::bytes(from, 3, 40_000);
        cases.push((from, lowered(format, &bytes)));
    }
    for (from, recording) in cases {
        let named = |id: Option<_>| {
            id.map_or_else(String::new, |id| recording.function_name(id).into_owned())
        };
        let by_id: HashMap<SpanId, _> = recording
            .spans
            .iter()
            .map(|span| (span.id, named(span.function)))
            .collect();
        let mut ours: Vec<Value> = recording
            .spans
            .iter()
            .map(|span| {
                let parent = span.parent.and_then(|parent| by_id.get(&parent)).cloned();
                let failed = span.status == traceloom_model::SpanStatus::Error;
                json!([
                    named(span.function),
                    parent.unwrap_or_default(),
                    span.start,
                    span.end,
                    failed
                ])
            })
            .collect();
        ours.sort_by_key(Value::to_string);
        assert!(!ours.is_empty(), "{from}");
        for target in ["otlp-traces", "otlp-traces-json"] {
            let written = raise(by_name(target).unwrap(), &recording);
            let Some(theirs) = ask("read_traces.py", module, &written) else {
                return;
            };
            // Callers in other services have ids too, and are no parents of the model.
            let rows = theirs.iter().filter(|row| row["event"] == Value::Null);
            let mut rows: Vec<Value> = rows
                .map(|row| {
                    let parent = row["parent"].as_str().expect("a name");
                    let is_own = from != "zipkin" && from != "otlp-traces"
                        || row["caller"] == row["service"];
                    let parent = if is_own { parent } else { "" };
                    json!([row["name"], parent, row["start"], row["end"], row["failed"]])
                })
                .collect();
            rows.sort_by_key(Value::to_string);
            assert_eq!(rows, ours, "{from} as {target}");
        }
    }
}
