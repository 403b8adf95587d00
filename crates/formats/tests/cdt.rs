//! CDT streams of the corpus against what an independent decoder says they hold.

mod corpus;

use std::collections::BTreeMap;
use std::io::Read as _;

use serde_json::{Map, Value, json};
use traceloom_formats::{
    Confidence, FORMATS, Field, Format, Probe, Record, RecordSink, by_name, cdt, read_slice,
};
use traceloom_model::{Flow, Level, Limits, Note};

/// Records as maps of their fields, with kind, offset and length.
#[derive(Default)]
struct Rows {
    rows: Vec<Map<String, Value>>,
    notes: Vec<Note>,
    written: Vec<u8>,
}

fn value(field: &Field<'_>) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => json!(value),
        Field::U64(value) | Field::Id(_, value) => json!(value),
        Field::I64(value) => json!(value),
        Field::F64(value) => json!(value),
        Field::Str(value) => json!(value),
        Field::Text(value) => json!(String::from_utf8_lossy(value)),
        Field::Utf16(value) => json!(traceloom_formats::wire::Utf16(value).to_lossy()),
        Field::Bytes(bytes) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!(digits.concat())
        }
        Field::List(values) => values.iter().map(value).collect(),
        Field::Map(rows) => {
            let rows = rows.iter();
            rows.map(|(k, v)| json!([value(k), value(v)])).collect()
        }
    }
}

impl RecordSink for Rows {
    fn record(&mut self, record: &dyn Record) -> Flow {
        let mut row = Map::new();
        row.insert("kind".to_owned(), json!(record.kind()));
        row.insert("offset".to_owned(), json!(record.offset()));
        row.insert("bytes".to_owned(), json!(record.len()));
        record.fields(&mut |name, field| {
            row.insert(name.to_owned(), value(&field));
        });
        self.rows.push(row);
        record.write(&mut self.written);
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}

impl Rows {
    fn of(format: &Format, bytes: &[u8]) -> Self {
        let mut rows = Self::default();
        read_slice(format.reader(&Limits::default()).as_mut(), bytes, &mut rows);
        assert!(rows.written == bytes, "{format:?}: written bytes differ");
        rows
    }

    fn kind(&self, kind: &str) -> Vec<&Map<String, Value>> {
        self.rows.iter().filter(|row| row["kind"] == kind).collect()
    }

    fn damage(&self) -> Vec<(&'static str, u64)> {
        let notes = self.notes.iter();
        let damage = notes.filter(|note| note.level == Level::Damage);
        damage.map(|note| (note.kind, note.offset)).collect()
    }
}

/// Unpacks a gzip member, with or without its trailer.
fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // The error of a missing trailer comes after all the data.
    let _ = flate2::read::GzDecoder::new(bytes).read_to_end(&mut out);
    out
}

fn expected(path: &str) -> Value {
    let bytes = corpus::file(path).expect("an expected file beside its capture");
    let text = String::from_utf8(gunzip(&bytes)).expect("JSON of the corpus");
    serde_json::from_str(&paired(&text)).expect("JSON of the corpus")
}

/// Replaces escapes of unpaired surrogates, which the corpus has and JSON forbids, by U+FFFD.
fn paired(json: &str) -> String {
    let unit = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(json.len());
    let mut rest = 0;
    while let Some(found) = json[rest..].find("\\u") {
        let at = rest + found;
        out.push_str(&json[rest..at]);
        let low = unit(at + 6).is_some_and(|low| (0xdc00..0xe000).contains(&low));
        let (text, length) = match unit(at) {
            Some(0xd800..0xdc00) if low => (&json[at..at + 12], 12),
            Some(0xd800..0xe000) => ("\\ufffd", 6),
            _ => (&json[at..at + 6], 6),
        };
        out.push_str(text);
        rest = at + length;
    }
    out.push_str(&json[rest..]);
    out
}

fn decoded(path: &str) -> Option<Vec<u8>> {
    let bytes = corpus::file(path)?;
    Some(if path.ends_with(".gz") {
        gunzip(&bytes)
    } else {
        bytes
    })
}

/// Compares the rows of one stream with an expected file; returns the number of rows compared.
fn compare(format: &Format, bytes: &[u8], expected: &Value) -> usize {
    let rows = Rows::of(format, bytes);
    assert_eq!(expected["size"], json!(bytes.len()));
    if expected["complete"] == json!(true) {
        assert_eq!(rows.notes, [], "{format:?}");
    }
    let list = |key: &str| expected[key].as_array().expect("a list").clone();
    match expected["stream"].as_str().expect("a stream") {
        "calls" => compare_calls(&rows, expected),
        "trace" => compare_trace(&rows, expected),
        "dictionary" => {
            compare_phrases(&rows, expected);
            let (got, words) = (rows.kind("word"), list("words"));
            assert_eq!(got.len(), words.len());
            for (got, want) in got.iter().zip(&words) {
                assert_eq!(got["id"], want[0]);
                assert_eq!(got["offset"], want[1]);
                assert_eq!(got["word"], want[2]);
            }
            words.len()
        }
        "params" => {
            let (got, params) = (rows.kind("param"), list("params"));
            assert_eq!(got.len(), params.len());
            for (got, want) in got.iter().zip(&params) {
                for key in ["offset", "name", "order", "signature"] {
                    assert_eq!(got[key], want[key]);
                }
                for key in ["index", "list"] {
                    assert_eq!(got[key], json!(want[key] == json!(1)));
                }
            }
            params.len()
        }
        "suspend" => {
            compare_phrases(&rows, expected);
            let start = rows.kind("suspend_start")[0];
            assert_eq!(start["start_time"], expected["start_time"]);
            let (got, pauses) = (rows.kind("pause"), list("pauses"));
            assert_eq!(got.len(), pauses.len());
            for (got, want) in got.iter().zip(&pauses) {
                for (at, key) in ["offset", "time", "delta", "delay"].into_iter().enumerate() {
                    assert_eq!(got[key], want[at]);
                }
            }
            let total: u64 = got.iter().filter_map(|row| row["delay"].as_u64()).sum();
            assert_eq!(json!(total), expected["total_delay"]);
            pauses.len()
        }
        "sql" | "xml" => {
            let (got, values) = (rows.kind("string"), list("values"));
            assert_eq!(got.len(), values.len());
            for (got, want) in got.iter().zip(&values) {
                assert_eq!(got["offset"], want[0]);
                assert_eq!(got["text"], want[1]);
            }
            values.len()
        }
        other => panic!("unknown stream {other}"),
    }
}

fn compare_phrases(rows: &Rows, expected: &Value) {
    let got = rows.kind("phrase").into_iter();
    let got: Vec<Value> = got
        .map(|row| json!([row["offset"], row["length"]]))
        .collect();
    assert_eq!(json!(got), expected["phrases"]);
}

fn compare_calls(rows: &Rows, expected: &Value) -> usize {
    let header = rows.kind("calls_header")[0];
    assert_eq!(header["version"], expected["format"]);
    assert_eq!(header["start_time"], expected["start_time"]);
    let calls = expected["calls"].as_array().expect("calls");
    let got = rows.kind("call");
    assert_eq!(got.len(), calls.len());
    for (got, want) in got.iter().zip(calls) {
        assert_eq!(got["time_delta"], want["delta"]);
        assert_eq!(got["thread_name"], want["thread"]);
        for (key, want) in want.as_object().expect("a call") {
            if !["delta", "thread", "params"].contains(&key.as_str()) {
                assert_eq!(&got[key], want, "{key}");
            }
        }
        // The producer keeps values in a set: only their membership is fixed.
        let pairs = got["params"].as_array().expect("params").iter();
        let pairs: Value = pairs
            .map(|param| json!([param[0][1], param[1][1]]))
            .collect();
        assert_eq!(param_set(&pairs), param_set(&want["params"]));
    }
    calls.len()
}

fn param_set(params: &Value) -> BTreeMap<u64, Vec<String>> {
    let row = |param: &Value| {
        let values = param[1].as_array().expect("values").iter();
        let mut values: Vec<String> = values.map(ToString::to_string).collect();
        values.sort();
        (param[0].as_u64().expect("an id"), values)
    };
    params.as_array().expect("params").iter().map(row).collect()
}

fn compare_trace(rows: &Rows, expected: &Value) -> usize {
    let start = &rows.kind("trace_header")[0]["timer_start"];
    assert_eq!(*start, expected["timer_start"]);
    let start = start.as_i64().expect("a time");
    let mut got = rows.rows.iter().skip(1);
    let mut events = 0;
    for block in expected["blocks"].as_array().expect("blocks") {
        let head = got.next().expect("a block");
        assert_eq!(head["kind"], "block");
        for key in ["offset", "thread_id", "real_time"] {
            assert_eq!(head[key], block[key]);
        }
        for want in block["events"].as_array().expect("events") {
            let got = got.next().expect("an event");
            assert_eq!(got["offset"], want[0]);
            assert_eq!(got["kind"], want[1]);
            let time = got["time"].as_i64().expect("a time");
            assert_eq!(json!(time - start), want[2]);
            match want[1].as_str() {
                Some("enter") => assert_eq!(got["method"], want[3]),
                Some("tag") => {
                    assert_eq!(got["tag"], want[3]);
                    assert_eq!(got["value_type"], want[4]);
                    if let Some(value) = got.get("value") {
                        assert_eq!(*value, want[5]);
                    } else {
                        let place = [&got["file_index"], &got["value_offset"]];
                        assert_eq!(json!(place), want[5]);
                    }
                }
                _ => {}
            }
            events += 1;
        }
        assert_eq!(got.next().expect("a finish")["kind"], "finish");
    }
    assert!(got.next().is_none());
    for (kind, count) in expected["counts"].as_object().expect("counts") {
        assert_eq!(json!(rows.kind(kind).len()), *count);
    }
    events
}

#[test]
fn streams_of_one_process() {
    for (name, format, rows) in [
        ("calls", cdt::CALLS, 45),
        ("traces", cdt::TRACE, 3521),
        ("dictionary", cdt::DICTIONARY, 942),
        ("params", cdt::PARAMS, 122),
        ("suspend", cdt::SUSPEND, 504),
        ("sql", cdt::SQL, 9),
        ("xml", cdt::XML, 36),
    ] {
        let path = format!("cdt/test-service/{name}.bin");
        let Some(bytes) = corpus::file(&path) else {
            return;
        };
        let expected = expected(&format!("{path}.expected.json.gz"));
        assert_eq!(compare(&format, &bytes, &expected), rows, "{name}");
    }
    let gc = corpus::file("cdt/test-service/gc.bin").expect("beside the others");
    let rows = Rows::of(&cdt::GC, &gc);
    assert_eq!(rows.kind("line").len(), 148);
    assert_eq!(rows.notes, []);
}

#[test]
fn dump_directory() {
    let Some(files) = corpus::files("cdt/dump/expected") else {
        return;
    };
    let mut streams = 0;
    for file in files {
        let name = file.trim_start_matches("cdt/dump/expected/");
        let name = name.trim_end_matches(".json.gz").replace("__", "/");
        let path = format!("cdt/dump/{name}");
        let bytes = decoded(&path).expect("the stream of an expected file");
        let expected = expected(&file);
        if path.ends_with(".blst") {
            let rows = Rows::of(&cdt::BLST, &bytes);
            assert_eq!(rows.rows.len(), 1);
            assert_eq!(rows.rows[0]["format"], expected["format"]);
            continue;
        }
        let stream = path.split('/').rev().nth(1).expect("a stream's folder");
        let format = by_name(&format!("cdt-{stream}")).expect("a format");
        compare(format, &bytes, &expected);
        streams += 1;
    }
    assert_eq!(streams, 9);
}

#[test]
fn gzip_member_without_trailer() {
    let path = "cdt/gzip-no-trailer/test14.calls.gz";
    let Some(bytes) = decoded(path) else { return };
    let expected = expected(&format!("{path}.expected.json.gz"));
    assert_eq!(compare(&cdt::CALLS, &bytes, &expected), 14);
}

#[test]
fn torn_calls() {
    let path = "cdt/torn/test_call.calls.bin";
    let Some(bytes) = corpus::file(path) else {
        return;
    };
    let mut expected = expected(&format!("{path}.expected.json.gz"));
    let rows = Rows::of(&cdt::CALLS, &bytes);
    // The first thread index beyond the names: the other decoder reads on from the middle of a string there.
    let torn = 2157;
    let calls = rows.kind("call");
    let whole = calls
        .iter()
        .filter(|row| row["offset"].as_u64() < Some(torn));
    let whole = whole.count();
    let wanted = expected["calls"].as_array_mut().expect("calls");
    assert!(
        wanted[whole]["thread"]
            .as_str()
            .is_some_and(|name| name.starts_with("unknown"))
    );
    wanted.truncate(whole);
    let before = Rows::of(&cdt::CALLS, &bytes[..2157]);
    assert_eq!(compare_calls(&before, &expected), 14);
    assert_eq!(rows.damage().first(), Some(&("undecodable", torn)));
    // Rows are found again behind each tear, of the same service and the same hour.
    assert!(calls.len() > 200, "{}", calls.len());
    let start = expected["start_time"].as_i64().expect("a time");
    for row in calls {
        assert_eq!(row["trace_file_index"], json!(1), "{row:?}");
        assert!(
            row["time"].as_i64().expect("a time").abs_diff(start) < 3_600_000,
            "{row:?}"
        );
    }
}

#[test]
fn file_list() {
    let path = "cdt/blst/oom_filelist_logformat1.blst";
    let Some(bytes) = corpus::file(path) else {
        return;
    };
    let expected = expected(&format!("{path}.expected.json.gz"));
    let rows = Rows::of(&cdt::BLST, &bytes);
    let entries = rows.kind("blst");
    let wanted = expected["entries"].as_array().expect("entries");
    assert_eq!((entries.len(), wanted.len()), (197, 197));
    for (got, want) in entries.iter().zip(wanted) {
        assert_eq!((&got["mtime"], &got["size"]), (&want[2], &want[3]));
    }
    for (got, want) in entries.iter().zip(wanted) {
        assert_eq!((&got["op"], &got["path"]), (&want[0], &want[1]));
    }
    assert_eq!(rows.damage(), [("undecodable", 20_297)]);
    assert_eq!(rows.kind("damage")[0]["offset"], expected["consumed"]);
}

#[test]
fn conversation() {
    let path = "cdt/tcp/test-service.tcpdump";
    let Some(bytes) = corpus::file(path) else {
        return;
    };
    let expected = expected(&format!("{path}.expected.json.gz"));
    let rows = Rows::of(&cdt::TCP, &bytes);
    assert_eq!(rows.notes, []);
    let commands = expected["commands"].as_array().expect("commands");
    let listed = commands.iter().filter(|command| command[0].is_u64());
    assert!(listed.clone().count() >= 50);
    for (got, want) in rows.rows.iter().zip(listed.take(50)) {
        assert_eq!(got["offset"], want[0]);
        let kind = want[1].as_str().expect("a name").to_lowercase();
        assert_eq!(got["kind"], json!(kind));
        let pairs: &[(&str, &str)] = match kind.as_str() {
            "rcv_data" => &[("handle", "handle"), ("length", "len")],
            "init_stream_v2" => &[
                ("stream", "name"),
                ("requested_sequence", "requested_seq"),
                ("reset", "reset"),
                ("handle", "handle"),
                ("rotation_period", "rotation_period"),
                ("rotation_size", "rotation_size"),
                ("sequence", "seq"),
            ],
            "get_protocol_version_v2" => &[
                ("client_version", "client"),
                ("pod", "pod"),
                ("service", "service"),
                ("namespace", "namespace"),
                ("server_version", "server"),
            ],
            _ => &[],
        };
        for &(ours, theirs) in pairs {
            assert_eq!(got[ours], want[2][theirs], "{kind} {ours}");
        }
    }
    let stats = expected["stats"].as_object().expect("counts");
    assert_eq!(stats.len(), 5);
    for (kind, count) in stats {
        assert_eq!(json!(rows.kind(&kind.to_lowercase()).len()), *count);
    }
    assert_eq!(rows.rows.len(), 1405);
}

#[test]
fn streams_of_a_conversation_equal_the_files() {
    let Some(bytes) = corpus::file("cdt/tcp/test-service.tcpdump") else {
        return;
    };
    let members = cdt::TCP.members.expect("members");
    let mut pull = traceloom_formats::SlicePull::new(&bytes, 0);
    let members = members(&mut pull, &Limits::default()).expect("members");
    assert_eq!(members.len(), 8);
    for member in members {
        let mut parts = member.name.rsplit('/');
        assert_eq!(parts.next(), Some("000001"));
        let stream = parts.next().expect("a stream");
        let stream = if stream == "trace" { "traces" } else { stream };
        let mut joined = Vec::new();
        for (offset, length) in member.pieces {
            let start = usize::try_from(offset).expect("in memory");
            joined.extend_from_slice(&bytes[start..start + length as usize]);
        }
        let file = corpus::file(&format!("cdt/test-service/{stream}.bin")).expect("the file");
        assert!(joined == file, "{}", member.name);
    }
}

/// Returns the formats that claim a part, best first.
fn claims(name: &str, bytes: &[u8]) -> Vec<(Confidence, &'static str)> {
    let head = &bytes[..bytes.len().min(64 << 10)];
    let probe = Probe {
        head,
        whole: head.len() == bytes.len(),
        name,
        siblings: &[],
    };
    let claim = |format: &&'static Format| Some(((format.probe)(&probe)?, format.name));
    let mut claims: Vec<_> = FORMATS.iter().filter_map(claim).collect();
    claims.sort_by_key(|&(confidence, _)| std::cmp::Reverse(confidence));
    claims
}

/// Asserts that `format` alone is surest about a part.
fn assert_claimed(name: &str, bytes: &[u8], format: &str, least: Confidence) {
    let found = claims(name, bytes);
    let best = found.first().unwrap_or_else(|| panic!("{name}: no claim"));
    assert_eq!(best.1, format, "{name}: {found:?}");
    assert!(best.0 >= least, "{name}: {found:?}");
    let rival = found.get(1).is_some_and(|second| second.0 == best.0);
    assert!(!rival, "{name}: {found:?}");
}

#[test]
fn every_stream_is_recognised() {
    for (name, format, alone) in [
        ("calls", "cdt-calls", "cdt-calls"),
        ("traces", "cdt-trace", "cdt-trace"),
        ("dictionary", "cdt-dictionary", "cdt-dictionary"),
        ("params", "cdt-params", "cdt-params"),
        ("suspend", "cdt-suspend", "cdt-suspend"),
        ("sql", "cdt-sql", "cdt-strings"),
        ("xml", "cdt-xml", "cdt-strings"),
    ] {
        let Some(bytes) = corpus::file(&format!("cdt/test-service/{name}.bin")) else {
            return;
        };
        assert_claimed(&format!("{name}.bin"), &bytes, format, Confidence::Likely);
        // Under a name that says nothing, content decides as far as it can.
        assert_claimed("capture.bin", &bytes, alone, Confidence::Likely);
    }
    for file in corpus::files("cdt/dump/server1").expect("the corpus is there") {
        let bytes = decoded(&file).expect("a file");
        let name = file.trim_start_matches("cdt/dump/").trim_end_matches(".gz");
        let format = match name.split('/').rev().nth(1).expect("a folder") {
            "server1" => "cdt-blst".to_owned(),
            stream => format!("cdt-{stream}"),
        };
        assert_claimed(name, &bytes, &format, Confidence::Likely);
    }
    for (file, format) in [
        ("tcp/test-service.tcpdump", "cdt-tcp"),
        ("torn/test_call.calls.bin", "cdt-calls"),
    ] {
        let bytes = corpus::file(&format!("cdt/{file}")).expect("the corpus is there");
        assert_claimed("x", &bytes, format, Confidence::Certain);
    }
    let gc = corpus::file("cdt/test-service/gc.bin").expect("the corpus is there");
    assert_claimed("gc.bin", &gc, "cdt-gc", Confidence::Likely);
}

#[test]
fn samples_read_without_notes() {
    for format in FORMATS
        .iter()
        .filter(|format| format.name.starts_with("cdt-"))
    {
        let Some(sample) =
            traceloom_samples::by_name(format.name).filter(|_| format.reader.is_some())
        else {
            continue;
        };
        for seed in 0..4 {
            let mut bytes = Vec::new();
            sample(seed, 100_000, &mut |piece| bytes.extend_from_slice(piece));
            assert!(bytes.len() >= 90_000, "{format:?}");
            let rows = Rows::of(format, &bytes);
            assert_eq!(rows.notes, [], "{format:?} {seed}");
        }
    }
}
