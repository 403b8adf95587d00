#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use traceloom_model::{Asks, Batch, Flow, Limits, Recording, Stage};

use super::{Dialect, FORMAT, Line, Lines, Reader, Value, Writer};
use crate::points::{FieldValue, OwnedPoint};
use crate::{
    Chunk, Confidence, LowerOptions, Probe, RaiseOptions, Records, SliceSource, read_chunked,
    read_slice,
};

fn read(text: &[u8]) -> Records {
    let mut records = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), text, &mut records);
    assert_eq!(records.written(), text, "records tile the input");
    records
}

fn one(text: &str) -> OwnedPoint {
    let chunk = Chunk {
        bytes: text.as_bytes(),
        offset: 0,
        eof: true,
    };
    match Lines::new(chunk, usize::MAX).next() {
        Some(Line::Point(point)) => OwnedPoint::from(point),
        other => panic!("{text}: {other:?}"),
    }
}

fn why_bad(text: &str) -> String {
    let records = read(text.as_bytes());
    let note = records.notes().first().expect("a note");
    assert_eq!(note.kind, "bad_line");
    note.text.clone()
}

#[test]
fn every_kind_of_value_is_read() {
    let point = one(
        "m,a=b i=-12i,u=18446744073709551615u,f=1.5,e=1e9,n=-0.5,w=1,t=T,no=false,s=\"x \\\"y\\\" \\\\ \\n\",b=\"aGk=\"b,l=[1i,2i],fl=[1.5,2],sl=[\"a,]\",\"b\"],bl=[true,false],el=[] 7",
    );
    let value = |key: &str| {
        let found = point.fields.iter().find(|(name, _)| name == key.as_bytes());
        found.map(|(_, value)| value.clone()).expect(key)
    };
    assert_eq!(value("i"), FieldValue::I64(-12));
    assert_eq!(value("u"), FieldValue::U64(u64::MAX));
    assert_eq!(value("f"), FieldValue::F64(1.5));
    assert_eq!(value("e"), FieldValue::F64(1e9));
    assert_eq!(value("n"), FieldValue::F64(-0.5));
    assert_eq!(value("w"), FieldValue::F64(1.0));
    assert_eq!(value("t"), FieldValue::Bool(true));
    assert_eq!(value("no"), FieldValue::Bool(false));
    assert_eq!(value("s"), "x \"y\" \\ \\n".into());
    assert_eq!(value("b"), FieldValue::Bytes(b"hi".to_vec()));
    assert_eq!(
        value("l"),
        FieldValue::List(vec![FieldValue::I64(1), FieldValue::I64(2)])
    );
    assert_eq!(
        value("fl"),
        FieldValue::List(vec![FieldValue::F64(1.5), FieldValue::F64(2.0)])
    );
    assert_eq!(
        value("sl"),
        FieldValue::List(vec!["a,]".into(), "b".into()])
    );
    assert_eq!(
        value("bl"),
        FieldValue::List(vec![FieldValue::Bool(true), FieldValue::Bool(false)])
    );
    assert_eq!(value("el"), FieldValue::List(vec![]));
    assert_eq!(point.time, Some(7));
}

#[test]
fn a_string_may_hold_line_ends_and_the_next_line_counts_on() {
    let records = read(b"a b=\"x\ny\"\nbad\nc d=1i\n");
    assert_eq!(records.kinds(), ["point", "damage", "point"]);
    assert_eq!(records.notes()[0].text, "line 3: missing fields");
}

#[test]
fn bad_lines_are_named_and_the_good_ones_kept() {
    let text = b"# comment\n\n  \nm f=1i 5\nm,k f=1i\nm,k= f=1i\nm,=v f=1i\nm,a=1,a=2 f=1i\nm f=\nm f=9223372036854775808i\nm f=inf\nm f=1i 12x\n,a=b f=1\nm f=\"x\nn g=t\n";
    let records = read(text);
    let kinds = records.kinds();
    assert_eq!(kinds.iter().filter(|kind| **kind == "point").count(), 2);
    let texts: Vec<_> = records
        .notes()
        .iter()
        .map(|note| note.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "line 5: missing tag value",
            "line 6: missing tag value",
            "line 7: missing tag key",
            "line 8: duplicate tag key",
            "line 9: missing field value",
            "line 10: invalid field value",
            "line 11: invalid field value",
            "line 12: invalid timestamp",
            "line 13: missing measurement",
            "line 14: unbalanced quotes",
        ]
    );
}

#[test]
fn carriage_returns_blanks_and_zero_bytes_are_let_through() {
    let records = read(b"\0\t m f=1i 5 \r\nm f=t\r\n\r\n");
    assert_eq!(records.kinds(), ["point", "point", "blank"]);
    assert!(records.notes().is_empty());
}

#[test]
fn escapes_protect_what_ends_a_token_and_nothing_else() {
    let point = one(r#"a\,b\ c\=d,k\=1=v\,\ \\w f\,g\=\ \"h=1i"#);
    assert_eq!(point.measurement, br"a,b c\=d");
    assert_eq!(point.tags, [(b"k=1".to_vec(), br"v, \\w".to_vec())]);
    assert_eq!(point.fields[0].0, b"f,g= \"h");
}

#[test]
fn the_series_limit_holds() {
    let long = "x".repeat(70_000);
    assert_eq!(
        why_bad(&format!("m,k={long} f=1i\n")),
        "line 1: series and field key above 65,535 bytes"
    );
}

#[test]
fn a_line_above_the_limit_is_stepped_over_whatever_the_windows() {
    let mut limits = Limits::default();
    limits.set("record", 40).unwrap();
    let text = format!(
        "a b=1i\nm s=\"{}\"\nc d=2i\n# {}\n",
        "y".repeat(60),
        "z".repeat(80)
    );
    let mut whole = Records::default();
    read_slice(&mut Reader::new(&limits), text.as_bytes(), &mut whole);
    let kinds: Vec<_> = whole
        .notes()
        .iter()
        .map(|note| (note.kind, note.text.as_str()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("limit_record", "line 2: above 40 bytes"),
            ("limit_record", "line 4: above 40 bytes")
        ]
    );
    assert_eq!(whole.kinds(), ["point", "damage", "point", "damage"]);
    assert_eq!(whole.written(), text.as_bytes());
    for cut in 1..text.len() {
        let mut cuts = Records::default();
        read_chunked(
            &mut Reader::new(&limits),
            text.as_bytes(),
            std::iter::once(cut),
            &mut cuts,
        );
        assert_eq!(cuts, whole, "cut at {cut}");
    }
}

#[test]
fn cuts_anywhere_change_nothing() {
    let mut text = traceloom_samples::bytes("line-protocol", 7, 1200);
    text.extend(b"bad line\n# c\nx y=\"open\n");
    let whole = read(&text);
    for cut in 1..text.len() {
        for second in [cut + 1, cut + 17] {
            let mut cuts = Records::default();
            let places = [cut, second.min(text.len())];
            read_chunked(
                &mut Reader::new(&Limits::default()),
                &text,
                places.into_iter(),
                &mut cuts,
            );
            assert_eq!(cuts, whole, "cut at {cut}");
        }
    }
}

#[test]
fn the_checker_makes_points_legal() {
    let mut point = OwnedPoint::new("");
    point.tag("b\n", "v\\");
    point.tag("a", &"é".repeat(600));
    point.tag("a", "again");
    point.field("a", FieldValue::I64(1));
    point.field("nan", FieldValue::F64(f64::NAN));
    point.field("inf", FieldValue::F64(f64::INFINITY));
    point.field("f", FieldValue::I64(1));
    let kinds: Vec<_> = point.check().iter().map(|warning| warning.kind).collect();
    assert_eq!(
        kinds,
        [
            "measurement_empty",
            "line_end_in_key",
            "backslash_at_end",
            "tag_value_cut",
            "duplicate_key",
            "not_finite",
            "not_finite",
            "duplicate_key"
        ]
    );
    assert_eq!(point.tags[0].1.len(), 1024);
    assert!(
        std::str::from_utf8(&point.tags[0].1).is_ok(),
        "cut between characters"
    );
    let mut out = Vec::new();
    Writer::new(&mut out, Dialect::Influx).point(&point);
    let again = one(std::str::from_utf8(&out).unwrap());
    assert_eq!(
        again.fields[0],
        (
            b"inf".to_vec(),
            FieldValue::F64(18_446_744_073_709_551_615.0)
        )
    );
    assert_eq!(again.tags, point.tags);
}

#[test]
fn dialects_differ_in_bytes_and_lists() {
    let mut point = OwnedPoint::new("m");
    point.field("b", FieldValue::Bytes(b"hi!".to_vec()));
    point.field("l", FieldValue::List(vec![FieldValue::I64(1), "x".into()]));
    let written = |dialect| {
        let mut out = Vec::new();
        Writer::new(&mut out, dialect).point(&point);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(written(Dialect::Guance), "m b=\"aGkh\"b,l=[1i,\"x\"]\n");
    assert_eq!(
        written(Dialect::Influx),
        "m b=\"aGkh\",l=\"[1i,\\\"x\\\"]\"\n"
    );
    assert_eq!(one(&written(Dialect::Guance)).fields, point.fields);
}

#[test]
fn events_lower_and_raise_again() {
    let text = "cpu,host=a\\ b load=0.5,n=3i,u=9u,ok=true,s=\"x\\\"y\" 100\ndisk free=1i 200\n";
    let source = SliceSource::default().with("p.lp", &FORMAT, text.as_bytes());
    let mut recording = Recording::default();
    (FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut recording).unwrap();
    assert_eq!(recording.events.len(), 2);
    let mut out = Vec::new();
    let mut target = (FORMAT.raise.unwrap())(&RaiseOptions::default(), &mut out).unwrap();
    (FORMAT.lower.unwrap())(&source, &LowerOptions::default(), target.as_mut()).unwrap();
    target.finish().unwrap();
    drop(target);
    assert_eq!(String::from_utf8(out).unwrap(), text);
}

/// Takes the rows of a lowering that was asked for less.
#[derive(Default)]
struct LoweredLess {
    asks: Asks,
    notes: Vec<(&'static str, u64)>,
    events: usize,
    attributes: usize,
    totals: BTreeMap<usize, i64>,
}

impl Stage for LoweredLess {
    fn asks(&self) -> Asks {
        self.asks
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match batch {
            Batch::Note(note) => self.notes.push((note.kind, note.offset)),
            Batch::Events(events) => {
                self.events += events.len();
                self.attributes += events.attributes.all().len();
            }
            Batch::Samples(samples) => {
                for (column, value) in
                    (0..samples.len()).flat_map(|row| samples.values(row).iter().enumerate())
                {
                    *self.totals.entry(column).or_default() += value;
                }
            }
            _ => {}
        }
        Flow::Continue(())
    }
}

#[test]
fn a_lowering_asked_for_less_says_the_same() {
    let samples = r#"{\"cpu\":[{\"values\":[{\"type\":\"cpu\",\"unit\":\"ns\",\"value\":7}]}]}"#;
    let text = format!(
        "load,host=a n=1i 5\nnever a point\nload n=2i\nprofile profile_id=\"x\"\nprofile profile_id=\"y\",start=1i,samples=\"{samples}\" 9\n"
    );
    let lowered = |asks: Asks| {
        let source = SliceSource::default().with("a.lp", &FORMAT, text.as_bytes());
        let mut sink = LoweredLess {
            asks,
            ..LoweredLess::default()
        };
        FORMAT.lower.unwrap()(&source, &LowerOptions::default(), &mut sink).unwrap();
        sink
    };
    let all = lowered(Asks::default());
    assert_eq!(all.notes, [("bad_line", 19), ("point_without_time", 33)]);
    assert_eq!((all.events, all.attributes), (2, 3));
    let amounts = lowered(Asks {
        amounts_only: true,
        ..Asks::default()
    });
    assert_eq!(
        (amounts.notes, amounts.events, amounts.attributes),
        (all.notes.clone(), 2, 0)
    );
    assert_eq!(amounts.totals, all.totals);
    assert_eq!(amounts.totals.values().sum::<i64>(), 7);
    let notes = lowered(Asks {
        notes_only: true,
        ..Asks::default()
    });
    assert_eq!(
        (notes.notes, notes.events, notes.totals.len()),
        (all.notes, 0, 0)
    );
}

fn field() -> impl Strategy<Value = FieldValue> {
    prop_oneof![
        any::<i64>().prop_map(FieldValue::I64),
        any::<u64>().prop_map(FieldValue::U64),
        proptest::num::f64::NORMAL.prop_map(FieldValue::F64),
        any::<bool>().prop_map(FieldValue::Bool),
        "[ -~é毫\n]{0,12}".prop_map(|text| FieldValue::Text(text.into_bytes())),
    ]
}

fn point(name: &'static str) -> impl Strategy<Value = OwnedPoint> {
    let tags = proptest::collection::btree_map(name, name, 0..4);
    let fields = proptest::collection::btree_map("[a-z=, é]{1,8}", field(), 1..5);
    (name, tags, fields, any::<Option<i64>>()).prop_map(|(measurement, tags, fields, time)| {
        let bytes = |text: String| text.into_bytes();
        let mut point = OwnedPoint {
            measurement: bytes(measurement),
            tags: tags
                .into_iter()
                .map(|(key, value)| (bytes(key), bytes(value)))
                .collect(),
            fields: fields
                .into_iter()
                .map(|(key, value)| (bytes(key), value))
                .collect(),
            time,
        };
        point.check();
        point
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(point in point("[a-z#=,\\\\ é毫]{1,8}")) {
        prop_assume!(!point.fields.is_empty());
        for dialect in [Dialect::Influx, Dialect::Guance] {
            let mut out = Vec::new();
            Writer::new(&mut out, dialect).point(&point);
            let chunk = Chunk { bytes: &out, offset: 0, eof: true };
            let mut lines = Lines::new(chunk, usize::MAX);
            match lines.next() {
                Some(Line::Point(read)) => {
                    prop_assert_eq!(&OwnedPoint::from(read), &point);
                    let mut again = Vec::new();
                    Writer::new(&mut again, dialect).borrowed(read);
                    prop_assert_eq!(&again, &out);
                }
                other => prop_assert!(false, "{:?} in {:?}", other, String::from_utf8_lossy(&out)),
            }
            prop_assert!(lines.next().is_none());
        }
    }

    #[test]
    fn any_bytes_tile_whatever_the_cuts(bytes in "[mf=, \"\\\\i1t#\n\r\\[\\]é]{0,60}", cuts: Vec<proptest::sample::Index>) {
        let bytes = bytes.as_bytes();
        let whole = read(bytes);
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.sort_unstable();
        let mut cut = Records::default();
        read_chunked(&mut Reader::new(&Limits::default()), bytes, places.into_iter(), &mut cut);
        prop_assert_eq!(&cut, &whole);
    }

    /// The crate accepts all that the influx dialect writes and reads the same values.
    #[test]
    fn the_oracle_agrees(point in point("[a-z=, é毫]{1,8}")) {
        use influxdb_line_protocol::{FieldValue as Theirs, parse_lines};
        prop_assume!(!point.fields.is_empty());
        let mut out = Vec::new();
        Writer::new(&mut out, Dialect::Influx).point(&point);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = parse_lines(&text).collect();
        prop_assert_eq!(lines.len(), 1);
        let line = lines.into_iter().next().unwrap();
        let line = line.map_err(|error| TestCaseError::fail(format!("{error} in {text:?}")))?;
        prop_assert_eq!(line.series.measurement.to_string().into_bytes(), point.measurement.clone());
        let tags: Vec<_> = line.series.tag_set.iter().flatten().map(|(key, value)| (key.to_string().into_bytes(), value.to_string().into_bytes())).collect();
        prop_assert_eq!(&tags, &point.tags);
        prop_assert_eq!(line.timestamp, point.time);
        for ((key, theirs), (own_key, own)) in line.field_set.iter().zip(&point.fields) {
            prop_assert_eq!(key.to_string().into_bytes(), own_key.clone());
            let same = match (theirs, own) {
                (Theirs::I64(a), FieldValue::I64(b)) => a == b,
                (Theirs::U64(a), FieldValue::U64(b)) => a == b,
                (Theirs::F64(a), FieldValue::F64(b)) => a == b,
                (Theirs::Boolean(a), FieldValue::Bool(b)) => a == b,
                (Theirs::String(a), FieldValue::Text(b)) => a.as_str().as_bytes() == b.as_slice(),
                _ => false,
            };
            prop_assert!(same, "{:?} is not {:?}", theirs, own);
        }
    }
}

#[test]
fn values_of_a_borrowed_point_need_no_copy() {
    let chunk = Chunk {
        bytes: b"m s=\"plain\" 1\n",
        offset: 0,
        eof: true,
    };
    let mut lines = Lines::new(chunk, usize::MAX);
    let Some(Line::Point(point)) = lines.next() else {
        panic!("a point");
    };
    assert_eq!(point.field("s"), Some(Value::Text(b"plain")));
    assert_eq!(point.name(), std::borrow::Cow::Borrowed(b"m"));
}

fn probe(name: &str, bytes: &[u8]) -> Option<Confidence> {
    let head = bytes.get(..64 << 10).unwrap_or(bytes);
    (FORMAT.probe)(&Probe {
        head,
        whole: head.len() == bytes.len(),
        name,
        siblings: &[],
    })
}

#[test]
fn a_first_line_longer_than_the_head_is_recognised() {
    let text = "x".repeat(70_000);
    for line in [
        format!("log,host=a message=\"{text}\" 5\n"),
        format!("# by hand\nlog level=1i,message=\"{text}\" 5\nlog level=2i 6\n"),
        format!("log list=[1i],message=\"{text}\" 5\n"),
    ] {
        assert_eq!(probe("p", line.as_bytes()), Some(Confidence::Likely));
        assert!(read(line.as_bytes()).notes().is_empty());
    }
    for other in [
        text.clone(),
        format!("{text} {text}"),
        format!("<a b=\"1\" c=\"{text}\""),
        format!("{{\"a\": \"{text}\""),
    ] {
        assert_eq!(probe("p", other.as_bytes()), None);
    }
}

#[test]
fn a_bad_first_line_hides_no_points() {
    let text = "nothing here\ncpu usage=1.5 5\ncpu usage=2 6\n";
    assert_eq!(probe("p", text.as_bytes()), Some(Confidence::Possible));
    assert_eq!(probe("p.lp", text.as_bytes()), Some(Confidence::Likely));
    let records = read(text.as_bytes());
    assert_eq!(records.kinds(), ["damage", "point", "point"]);
    let note = records.notes().first().expect("a note");
    assert_eq!((note.kind, note.offset), ("bad_line", 0));
    assert!(note.text.starts_with("line 1: "), "{}", note.text);
    let prose = "let x=1\nand so on\nwith words alone\nand no point\n";
    assert_eq!(probe("p", prose.as_bytes()), None);
}
