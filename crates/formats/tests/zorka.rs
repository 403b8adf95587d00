//! Every Zorka capture of the corpus against what an independent decoder says it holds.

mod corpus;

use serde_json::{Map, Value as Json, json};
use traceloom_formats::zorka::{
    Attributes, Cbor, CborValue, EndForm, Exception, Item, Reader, Record, StartForm, TwoItems,
    ValueRun, Visit,
};
use traceloom_formats::{Chunk, FORMATS, Probe, Records, Step, read_slice};
use traceloom_model::{Flow, Limits, Note};

fn lines(bytes: &[u8]) -> Vec<Json> {
    let text = std::str::from_utf8(bytes).expect("JSON lines");
    let parse = |line: &str| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(parse).collect()
}

/// Keeps events in the words of the expectations.
#[derive(Default)]
struct Events {
    b: Vec<Json>,
    c: Vec<Json>,
    /// Open records and finished roots, in the words for S0.
    open: Vec<Map<String, Json>>,
    trees: Vec<Json>,
    notes: Vec<Note>,
}

fn bounds() -> traceloom_formats::zorka::Bounds {
    traceloom_formats::zorka::Bounds::new(&Limits::default())
}

fn key(value: CborValue<'_>) -> String {
    match json_of(value) {
        Json::String(text) => text,
        Json::Object(reference) => reference["ref"].to_string(),
        other => other.to_string(),
    }
}

fn json_of(value: CborValue<'_>) -> Json {
    match value {
        CborValue::Null | CborValue::Undefined | CborValue::Missing => Json::Null,
        CborValue::Bool(value) => json!(value),
        CborValue::Int(value) => json!(value),
        CborValue::Big(value) => json!(value),
        CborValue::Text(text) => json!(String::from_utf8_lossy(text)),
        CborValue::F32(bits) => json!(f32::from_bits(bits)),
        CborValue::F64(bits) => json!(f64::from_bits(bits)),
        CborValue::Ref(id) => json!({ "ref": id }),
        CborValue::Raw(raw) => container(raw),
        other => panic!("a value the corpus does not have: {other:?}"),
    }
}

fn container(raw: &[u8]) -> Json {
    let parts = ValueRun::elements(raw);
    match Cbor::new(raw, 0, bounds()).head().expect("a head").major {
        4 => parts.into_iter().map(json_of).collect(),
        5 => {
            let pair = |pair: &[CborValue<'_>]| (key(pair[0]), json_of(pair[1]));
            Json::Object(parts.chunks(2).map(pair).collect())
        }
        major => panic!("a container of major type {major}"),
    }
}

fn pairs(attributes: &Attributes<'_>) -> Json {
    let pair = |(name, value)| (key(name), json_of(value));
    Json::Object(attributes.pairs().map(pair).collect())
}

/// The inline causes of S0 nest: the innermost is written first.
fn s0_exception(exception: &Exception<'_>) -> Json {
    let fields = exception.fields().expect("five fields");
    let cause = match fields.cause {
        CborValue::Raw(raw) => match first(raw) {
            Item::Exception(cause) => s0_exception(&cause),
            Item::ExceptionRef { id, .. } => json!({"_": "E", "id": id}),
            other => panic!("a cause that is {other:?}"),
        },
        _ => Json::Null,
    };
    let mut shown = json!({"_": "E", "id": json_of(fields.id), "class": json_of(fields.class),
        "message": json_of(fields.message), "stack": json_of(fields.stack)});
    if !cause.is_null() {
        shown["cause"] = cause;
    }
    shown
}

fn first(bytes: &[u8]) -> Item<'_> {
    let mut cbor = Cbor::new(bytes, 0, bounds());
    traceloom_formats::zorka::item(&mut cbor, &traceloom_formats::zorka::Context::default())
        .expect("an item")
}

impl Events {
    fn read(bytes: &[u8]) -> Self {
        let mut events = Self::default();
        let chunk = Chunk {
            bytes,
            offset: 0,
            eof: true,
        };
        let step = Reader::new(&Limits::default(), TwoItems::Guess).read(chunk, &mut events);
        assert!(matches!(step, Step::More { consumed, .. } if consumed == bytes.len()));
        events
    }

    fn exception(&mut self, exception: &Exception<'_>) {
        let fields = exception.fields().expect("the fields of an exception");
        let (id, class) = (json_of(fields.id), json_of(fields.class));
        let (message, stack) = (json_of(fields.message), json_of(fields.stack));
        let number = class.get("ref").unwrap_or(&class).clone();
        if let Some(top) = self.open.last_mut() {
            top.insert("error".into(), s0_exception(exception));
        }
        if fields.cause.int().is_some() {
            let cause = json_of(fields.cause);
            self.b.push(
                json!({"e": "exc", "id": id, "class": number, "msg": message,
                "msgId": 0, "cause": cause, "stack": stack}),
            );
            self.c
                .push(json!({"e": "exc", "id": id, "class": class, "msg": message,
                "attrs": fields.attributes.map(json_of), "cause": cause, "stack": stack}));
        }
    }

    fn attributes(&mut self, attributes: &Attributes<'_>) {
        let shown = pairs(attributes);
        if let Some(top) = self.open.last_mut() {
            let (name, value) = match attributes.upward {
                None => ("attrs", None),
                Some(ttype) => ("upattrs", Some(json!({ttype.to_string(): shown}))),
            };
            match value {
                None => {
                    let into = top.entry(name).or_insert_with(|| json!({}));
                    let into = into.as_object_mut().expect("an object");
                    into.extend(shown.as_object().expect("an object").clone());
                }
                Some(value) => {
                    let into = top.entry(name).or_insert_with(|| json!([]));
                    into.as_array_mut().expect("an array").push(value);
                }
            }
        }
        for (name, value) in attributes.pairs() {
            self.c.push(
                json!({"e": "attr", "id": json_of(name), "ttype": attributes.upward,
                "v": json_of(value)}),
            );
        }
        self.b.push(match attributes.upward {
            None => json!({"e": "attr", "v": shown}),
            Some(ttype) => json!({"e": "upattr", "ttype": ttype, "v": shown}),
        });
    }
}

impl Visit for Events {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        match record.item {
            Item::Start(start) => {
                self.b.push(json!({"e": "start", "pos": record.offset}));
                self.b.push(json!({"e": "info", "k": 12, "v": start.time}));
                self.b
                    .push(json!({"e": "info", "k": 14, "v": start.method}));
                let mut shown = json!({"e": "start", "pos": record.offset, "tstart": start.time,
                    "mid": start.method});
                if start.form == StartForm::Stream {
                    shown["stream82"] = json!(true);
                }
                self.c.push(shown);
                let mut tree = Map::new();
                tree.insert("_".into(), json!("T"));
                tree.insert("method".into(), json!(start.method));
                tree.insert("tstart".into(), json!(start.time));
                self.open.push(tree);
            }
            Item::End(end) => {
                assert!(end.closed, "the corpus closes what it ends");
                self.b.push(json!({"e": "info", "k": 13, "v": end.time}));
                self.b.push(json!({"e": "info", "k": 9, "v": end.calls}));
                self.b.push(json!({"e": "end"}));
                let after = record.offset + record.bytes.len() as u64;
                self.c
                    .push(json!({"e": "end", "pos": after, "tstop": end.time,
                    "calls": end.calls, "flags": end.flags.unwrap_or(0)}));
                assert_eq!(
                    end.flags.is_some(),
                    end.form == EndForm::Nanos && end.flags.is_some()
                );
                if let Some(mut tree) = self.open.pop() {
                    tree.insert("tstop".into(), json!(end.time));
                    tree.insert("calls".into(), json!(end.calls));
                    let tree = Json::Object(tree);
                    match self.open.last_mut() {
                        None => self.trees.push(tree),
                        Some(parent) => {
                            let children = parent.entry("children").or_insert_with(|| json!([]));
                            children.as_array_mut().expect("an array").push(tree);
                        }
                    }
                }
            }
            Item::Begin(begin) => {
                self.b
                    .push(json!({"e": "info", "k": 5, "v": begin.clock_ms}));
                self.c.push(
                    json!({"e": "begin", "tstamp": begin.clock_ms, "ttype": begin.ttype,
                    "span": begin.span_id.unwrap_or(0), "parent": begin.parent_id.unwrap_or(0)}),
                );
                if let Some(top) = self.open.last_mut() {
                    let rest: Vec<_> = begin.ttype.into_iter().collect();
                    let shown = json!({"_": "B", "clock": begin.clock_ms, "rest": rest});
                    top.insert("begin".into(), shown);
                }
            }
            Item::Attributes(attributes) => self.attributes(attributes),
            Item::Exception(exception) => self.exception(exception),
            Item::ExceptionRef { id, .. } => {
                self.b.push(json!({"e": "excref", "id": id}));
                self.c.push(json!({"e": "excref", "id": id}));
                if let Some(top) = self.open.last_mut() {
                    top.insert("error".into(), json!({"_": "E", "id": id}));
                }
            }
            Item::Symbol(symbol) => {
                let text = json_of(symbol.text);
                match symbol.symbol_type {
                    Some(kind) => self
                        .b
                        .push(json!({"_": "S", "id": symbol.id, "s": text, "type": kind})),
                    None => self.c.push(json!({"e": "sym", "id": symbol.id, "s": text})),
                }
            }
            Item::Method(m) => {
                self.b.push(
                    json!({"_": "M", "id": m.id, "class": m.class, "method": m.name,
                    "sig": m.signature}),
                );
                self.c.push(
                    json!({"e": "method", "id": m.id, "c": m.class, "m": m.name, "g": m.signature}),
                );
            }
            other => panic!("{other:?} at {:#x}", record.offset),
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}

fn same(name: &str, found: &[Json], expected: &[Json]) {
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found, expected, "{name}: event {at}");
    }
    assert_eq!(found.len(), expected.len(), "{name}: number of events");
}

/// A capture's name, its bytes and what it holds.
type Expectation = (String, Vec<u8>, Vec<Json>);

fn expectations() -> Option<Vec<Expectation>> {
    let mut found = Vec::new();
    for name in corpus::files("zorka")? {
        let capture = match name.split_once("/expected/") {
            Some((folder, file)) => format!("{folder}/{}", file.replace(".jsonl", ".bin")),
            None if name.starts_with("zorka/zico/") && name.ends_with(".jsonl") => {
                name.replace(".jsonl", ".bin")
            }
            None => continue,
        };
        let expected = lines(&corpus::file(&name)?);
        found.push((capture.clone(), corpus::file(&capture)?, expected));
    }
    Some(found)
}

#[test]
fn every_capture_holds_what_its_expectation_says() {
    let Some(all) = expectations() else { return };
    assert_eq!(all.len(), 72, "captures with expectations");
    for (name, bytes, expected) in all {
        let events = Events::read(&bytes);
        let found = if name.contains("/seedgen/") {
            &events.trees
        } else if name.contains("/gen-c") {
            &events.c
        } else {
            &events.b
        };
        same(&name, found, &expected);
    }
}

#[test]
fn captures_written_again_are_the_same_and_no_row_claims_anothers() {
    let Some(files) = corpus::files("zorka") else {
        return;
    };
    for name in files.iter().filter(|name| name.ends_with(".bin")) {
        let bytes = corpus::file(name).expect("a capture");
        let probe = Probe {
            head: &bytes,
            whole: true,
            name,
            siblings: &[],
        };
        let claims: Vec<&str> = FORMATS
            .iter()
            .filter(|format| (format.probe)(&probe).is_some())
            .map(|format| format.name)
            .collect();
        let expected = match name.as_str() {
            n if n.contains("agd") => "zorka-agd",
            n if n.contains("/s0b-") => "zorka-s0b",
            n if n.contains("/s0-") => "zorka-s0",
            n if n.contains("/gen-c") => "zorka-c",
            _ => "zorka-b2",
        };
        // A piece that is the middle of a string is known by its neighbours only.
        let fragment = name.contains(".chunk") && claims.is_empty();
        assert!(claims == [expected] || fragment, "{name}: {claims:?}");
        let format = traceloom_formats::by_name(expected).expect("a row");
        let mut records = Records::default();
        read_slice(
            format.reader(&Limits::default()).as_mut(),
            &bytes,
            &mut records,
        );
        assert!(records.written() == bytes, "{name}");
    }
}

#[test]
fn no_row_claims_captures_of_other_formats() {
    let Some(files) = corpus::files("") else {
        return;
    };
    for name in files.iter().filter(|name| !name.starts_with("zorka/")) {
        let bytes = corpus::file(name).expect("a capture");
        let probe = Probe {
            head: &bytes[..bytes.len().min(64 << 10)],
            whole: bytes.len() <= 64 << 10,
            name,
            siblings: &[],
        };
        for format in FORMATS
            .iter()
            .filter(|format| format.name.starts_with("zorka"))
        {
            assert_eq!((format.probe)(&probe), None, "{} {name}", format.name);
        }
    }
}
