//! TPTP traces against the corpus and against the vectors of the Python encoder in `testdata/tptp`.

mod corpus;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use traceloom_formats::tptp::{self, binary::Shape};
use traceloom_formats::{
    Change, Field, Format, Record, RecordSink, SlicePull, by_name, read_chunked, read_slice,
};
use traceloom_model::{Flow, Level, Limits, Note};

fn value(field: &Field<'_>) -> Value {
    match field {
        Field::U64(value) => json!(value),
        Field::I64(value) => json!(value),
        Field::F64(value) => json!(value),
        Field::Bool(value) => json!(value),
        Field::Str(value) => json!(value),
        Field::Text(value) => json!(String::from_utf8_lossy(value)),
        Field::Bytes(bytes) => {
            let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": digits.concat() })
        }
        Field::List(values) => values.iter().map(value).collect(),
        other => panic!("no TPTP field is {other:?}"),
    }
}

#[derive(Default, PartialEq, Debug)]
struct Rows {
    rows: Vec<Map<String, Value>>,
    notes: Vec<Note>,
    written: Vec<u8>,
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
        let before = self.written.len();
        record.write(&mut self.written);
        assert_eq!(
            (self.written.len() - before) as u64,
            record.len(),
            "{}",
            record.kind()
        );
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}

fn read(format: &Format, bytes: &[u8]) -> Rows {
    let mut rows = Rows::default();
    read_slice(format.reader(&Limits::default()).as_mut(), bytes, &mut rows);
    rows
}

fn vectors() -> Vec<Value> {
    let index = testdata("index.jsonl");
    let index = std::str::from_utf8(&index).unwrap();
    index
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[allow(
    clippy::disallowed_methods,
    reason = "the library reads no files, its tests do"
)]
fn testdata(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tptp/vectors/");
    std::fs::read(format!("{path}{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn is_xml(name: &str) -> bool {
    name.ends_with(".trcxml")
}

fn format_of(name: &str) -> &'static Format {
    by_name(if is_xml(name) {
        "tptp-xml"
    } else {
        "tptp-binary"
    })
    .unwrap()
}

/// Vectors with their bytes; the archive is what `traceloom-input` opens.
fn each(mut then: impl FnMut(&str, &Value, Vec<u8>)) {
    let mut seen = 0;
    for vector in vectors() {
        let name = vector["file"].as_str().unwrap();
        if !name.ends_with(".zip") {
            seen += 1;
            then(name, &vector, testdata(name));
        }
    }
    assert!(seen > 100, "{seen} vectors");
}

/// The rows a vector promises, with our names.
fn expected(name: &str) -> Vec<Map<String, Value>> {
    let stem = name.rsplit_once('.').unwrap().0;
    let text = testdata(&format!("{stem}.expected.jsonl"));
    let text = String::from_utf8(text).unwrap();
    text.lines()
        .map(|line| {
            let seen: Map<String, Value> = serde_json::from_str(line).unwrap();
            let mut row = Map::new();
            let schema = seen["name"]
                .as_str()
                .and_then(|name| tptp::by_element(name.as_bytes()));
            row.insert(
                "kind".into(),
                match (schema, seen["name"].as_str()) {
                    (Some(schema), _) => json!(schema.kind),
                    (None, Some(name)) => json!(name),
                    (None, None) => json!("unknown"),
                },
            );
            row.insert("offset".into(), seen["offset"].clone());
            row.insert("bytes".into(), seen["bytes"].clone());
            for (field, value) in seen["fields"].as_object().unwrap() {
                row.insert(ours(schema, field), value.clone());
            }
            if let Some(trailing) = seen.get("trailing") {
                row.insert("trailing".into(), trailing.clone());
            }
            row
        })
        .collect()
}

fn ours(schema: Option<&'static tptp::Schema>, attribute: &str) -> String {
    let Some(schema) = schema else {
        return if attribute == "ticksPerSecond" {
            "ticks_per_second".into()
        } else {
            attribute.into()
        };
    };
    let layouts = [tptp::Layout::Table, tptp::Layout::Wide];
    let fields = layouts.into_iter().flat_map(|layout| schema.fields(layout));
    let field = fields
        .into_iter()
        .find(|field| field.attribute == attribute);
    field
        .unwrap_or_else(|| panic!("{} has no {attribute}", schema.element))
        .name
        .to_owned()
}

/// What only our records say, or only in their own way.
fn comparable(rows: &Rows) -> Vec<Map<String, Value>> {
    const OURS: &[&str] = &[
        "descriptor",
        "damage",
        "gap",
        "byte_order_mark",
        "prolog",
        "instruction",
        "comment",
        "cdata",
        "text",
        "root_start",
        "root_end",
        "unknown_element",
    ];
    let rows = rows
        .rows
        .iter()
        .filter(|row| !OURS.contains(&row["kind"].as_str().unwrap()));
    rows.map(|row| {
        let mut row = row.clone();
        for extra in ["sized", "as_double"] {
            row.remove(extra);
        }
        if row["kind"] == "unknown" && row.contains_key("payload") {
            row.remove("id");
        }
        row
    })
    .collect()
}

#[test]
fn records_are_those_of_the_other_encoder() {
    each(|name, vector, bytes| {
        let rows = read(format_of(name), &bytes);
        let promised = if vector["messages"] == 0 {
            Vec::new()
        } else {
            expected(name)
        };
        let mut seen = comparable(&rows);
        if let Some(at) = vector.get("at") {
            // The other reader stops there, this one goes on.
            seen.retain(|row| row["offset"].as_u64() < at.as_u64());
        }
        assert_eq!(seen, promised, "{name}");
        assert_eq!(rows.written, bytes, "{name}");
    });
}

#[test]
fn outcomes_are_those_of_the_other_encoder() {
    each(|name, vector, bytes| {
        let rows = read(format_of(name), &bytes);
        let worst = rows.notes.iter().map(|note| note.level).max();
        let at = vector.get("at").and_then(Value::as_u64);
        let outcome = vector["outcome"].as_str().unwrap();
        let said = |level, kind: &str| {
            rows.notes.iter().any(|n| {
                n.level == level && (kind.is_empty() || n.kind == kind) && Some(n.offset) == at
            })
        };
        let fits = match outcome {
            "ok" => worst.is_none_or(|level| level < Level::Warn),
            "warn" => worst == Some(Level::Warn),
            "truncated" => said(Level::Warn, "truncated") && worst <= Some(Level::Warn),
            _ => said(Level::Damage, ""),
        };
        assert!(fits, "{name}: {outcome} at {at:?}, {:?}", rows.notes);
    });
}

#[test]
fn cuts_change_nothing() {
    each(|name, _, bytes| {
        let format = format_of(name);
        let whole = read(format, &bytes);
        let mut by_one = Rows::default();
        read_chunked(
            format.reader(&Limits::default()).as_mut(),
            &bytes,
            0..bytes.len(),
            &mut by_one,
        );
        assert_eq!(by_one, whole, "{name}");
        for cut in 0..bytes.len().min(600) {
            let mut rows = Rows::default();
            read_chunked(
                format.reader(&Limits::default()).as_mut(),
                &bytes,
                [cut].into_iter(),
                &mut rows,
            );
            assert_eq!(rows, whole, "{name} cut at {cut}");
        }
    });
}

fn convert(bytes: &[u8], to_xml: bool) -> (Vec<u8>, Vec<Change>, Vec<Note>) {
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let mut take = |note| {
        notes.push(note);
        Flow::Continue(())
    };
    let mut pull = SlicePull::new(bytes, 0);
    let limits = Limits::default();
    let run = if to_xml {
        tptp::to_xml
    } else {
        tptp::to_binary
    };
    let changes = run(&mut pull, &limits, &mut out, &mut take).unwrap();
    (out, changes, notes)
}

/// The document without the words of the instruction that only we write.
fn without_our_words(document: &[u8]) -> String {
    let text = String::from_utf8(document.to_vec()).unwrap();
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    if let Some(line) = lines.get_mut(1) {
        let words = line.strip_suffix("?>").unwrap().split(' ');
        let kept: Vec<&str> = words
            .filter(|w| !w.starts_with("system=") && !w.starts_with("size="))
            .collect();
        *line = kept.join(" ") + "?>";
    }
    lines.join("\n")
}

#[test]
fn documents_are_those_of_the_other_encoder() {
    let mut twins = 0;
    each(|name, vector, bytes| {
        let Some(twin) = vector.get("twin") else {
            return;
        };
        twins += 1;
        let twin = String::from_utf8(testdata(twin.as_str().unwrap())).unwrap();
        let (document, _, _) = convert(&bytes, true);
        assert_eq!(without_our_words(&document), twin, "{name}");
    });
    assert!(twins > 70, "{twins} twins");
}

#[test]
fn binary_to_xml_to_binary_gives_the_bytes_back() {
    let mut exact = 0;
    each(|name, vector, bytes| {
        if is_xml(name) || vector["outcome"] == "error" || vector["outcome"] == "truncated" {
            return;
        }
        let (document, changes, _) = convert(&bytes, true);
        let (back, more, _) = convert(&document, false);
        assert!(
            (back == bytes) != (!changes.is_empty() || !more.is_empty()),
            "{name}: {} bytes back of {}, {changes:?} {more:?}",
            back.len(),
            bytes.len()
        );
        exact += usize::from(back == bytes);
    });
    for name in [
        "all_full_le",
        "all_default_le",
        "all_full_be",
        "sample_be_exclusive_unsized",
        "frequency_3579545",
    ] {
        let bytes = testdata(&format!("{name}.trcbin"));
        let (document, changes, _) = convert(&bytes, true);
        assert_eq!(changes, [], "{name}");
        assert_eq!(convert(&document, false).0, bytes, "{name}");
    }
    assert!(exact > 60, "{exact} streams came back");
}

#[test]
fn a_million_messages_come_back() {
    let mut bytes = Vec::new();
    let format = by_name("tptp-binary").unwrap();
    (traceloom_samples::by_name(format.name).unwrap())(11, 90 << 20, &mut |piece| {
        bytes.extend_from_slice(piece)
    });
    let (document, changes, notes) = convert(&bytes, true);
    assert_eq!((changes, notes), (vec![], vec![]));
    let messages = document.iter().filter(|&&byte| byte == b'\n').count() - 4;
    assert!(messages > 1_000_000, "{messages}");
    let (back, changes, notes) = convert(&document, false);
    assert_eq!((changes, notes), (vec![], vec![]));
    assert!(back == bytes);
    assert!(convert(&back, true).0 == document);
}

/// A document of the other encoder, made binary, holds the messages of its binary vector.
#[test]
fn documents_of_the_other_encoder_become_the_same_messages() {
    each(|name, vector, _| {
        let Some(twin) = vector.get("twin") else {
            return;
        };
        // What XML rounds, has no layout for, or writes as more nanoseconds than 64 bits hold.
        if name.starts_with("frequency_2666666667")
            || name.contains("exit_wide")
            || name.starts_with("both_wide")
            || name.starts_with("frequency_double")
            || name.starts_with("frequency_after_events")
            || name.starts_with("gap_system")
        {
            return;
        }
        let (bytes, _, _) = convert(&testdata(twin.as_str().unwrap()), false);
        let rows = read(format_of("x.trcbin"), &bytes);
        let strip = |rows: Vec<Map<String, Value>>| -> Vec<Map<String, Value>> {
            let rows = rows.into_iter().filter(|row| {
                !["encoding", "frequency", "unknown"].contains(&row["kind"].as_str().unwrap())
            });
            rows.map(|mut row| {
                for place in ["offset", "bytes", "trailing"] {
                    row.remove(place);
                }
                row
            })
            .collect()
        };
        let promised = if vector["messages"] == 0 {
            Vec::new()
        } else {
            expected(name)
        };
        assert_eq!(strip(comparable(&rows)), strip(promised), "{name}");
    });
}

/// What is known of the corpus from its description (SPEC.md §6, §11).
#[test]
fn corpus() {
    let Some(whole) = corpus::file("tptp/syn_le_inclusive.trcbin") else {
        return;
    };
    let rows = read(format_of("x.trcbin"), &whole);
    assert_eq!(rows.written, whole);
    let mut kinds = BTreeMap::new();
    for row in &rows.rows {
        *kinds.entry(row["kind"].as_str().unwrap()).or_insert(0) += 1;
    }
    let once = [
        "agent_create",
        "agent_destroy",
        "class_def",
        "descriptor",
        "encoding",
        "filter",
        "frequency",
        "method_def",
        "method_entry",
        "method_exit",
        "mon_contended_enter",
        "node",
        "option",
        "process_create",
        "thread_end",
        "thread_start",
        "trace_end",
        "trace_start",
        "unknown",
    ];
    assert_eq!(kinds, once.map(|kind| (kind, 1)).into());
    let notes: Vec<_> = rows
        .notes
        .iter()
        .map(|n| (n.kind, n.level, n.offset, n.count))
        .collect();
    assert_eq!(notes, [("unknown_message", Level::Warn, 0x250, 1)]);
    let contended = rows
        .rows
        .iter()
        .find(|row| row["kind"] == "mon_contended_enter")
        .unwrap();
    assert_eq!(
        contended["stack_methods"],
        json!(["pkg/Foo.a", "pkg/Foo.b"])
    );
    assert_eq!(contended["stack_lines"], json!([11, 12]));

    let cut = corpus::file("tptp/syn_le_truncated.trcbin").unwrap();
    let rows = read(format_of("x.trcbin"), &cut);
    assert_eq!(rows.written, cut);
    let notes: Vec<_> = rows
        .notes
        .iter()
        .map(|n| (n.kind, n.level, n.offset, n.count))
        .collect();
    assert_eq!(
        notes,
        [
            ("truncated", Level::Warn, 0x333, 11),
            ("unknown_message", Level::Warn, 0x250, 1)
        ]
    );

    let shape = Shape::default();
    let message = corpus::file("tptp/threadStart_1009_74.bin").unwrap();
    let name = tptp::binary::read_message(&message, shape, |message| {
        assert_eq!(message.schema.element, "threadStart");
        assert_eq!(message.number("time"), 1_185_890_426_304_424_453);
        message.text("threadName").into_owned()
    });
    assert_eq!(name.unwrap(), "Reference Handler");
    let mut illustration = corpus::file("tptp/seed_example_60.bin").unwrap();
    assert_eq!(illustration.len(), 60);
    assert!(tptp::binary::read_message(&illustration, shape, |_| ()).is_err());
    illustration[..2].copy_from_slice(&1009_u16.to_le_bytes());
    assert!(tptp::binary::read_message(&illustration, shape, |_| ()).is_err());

    // The seed's line and the 74 bytes are the same event.
    let line = corpus::file("tptp/seed_threadStart.trcxml-fragment").unwrap();
    let (bytes, changes, _) = convert(&line, false);
    assert_eq!(changes, []);
    assert_eq!(bytes[12 + 12 + 14..], message[..]);
    let (document, _, _) = convert(&bytes, true);
    let document = String::from_utf8(document).unwrap();
    let line = String::from_utf8(line).unwrap();
    assert!(document.contains(line.trim_end()), "{document}");
}
