//! Heph against the corpus: what an independent decoder found in each file.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod corpus;

use std::collections::BTreeMap;
use std::io::Read as _;

use serde_json::{Value as Json, json};
use traceloom_formats::heph::{CounterCheck, Event, FORMAT, Metadata, Reader, Value, Visit, texts};
use traceloom_formats::{
    Chunk, LowerOptions, Opaque, Record as _, Records, SliceSource, read_chunked, read_slice,
};
use traceloom_model::{Flow, Level, Limits, Note, Recording, TrackKind};

fn unpacked(path: &str) -> Option<Vec<u8>> {
    let bytes = corpus::file(path)?;
    if !path.ends_with(".gz") {
        return Some(bytes);
    }
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice())
        .read_to_end(&mut out)
        .unwrap();
    Some(out)
}

fn inputs() -> Vec<String> {
    let files = corpus::files("heph").unwrap_or_default();
    let is_input = |path: &String| !path.contains("/expected");
    files.into_iter().filter(is_input).collect()
}

#[derive(Default)]
struct Packets {
    rows: Vec<Json>,
    events: usize,
    notes: Vec<Note>,
}

impl Visit for Packets {
    fn metadata(&mut self, metadata: &Metadata<'_>) -> Flow {
        let name = String::from_utf8_lossy(metadata.name);
        self.rows.push(json!({
            "k": "meta", "off": metadata.offset, "size": metadata.len(),
            "name": name, "value": metadata.epoch(),
        }));
        Flow::Continue(())
    }

    fn event(&mut self, event: &Event<'_>, _seen: CounterCheck) -> Flow {
        self.events += 1;
        let text = String::from_utf8_lossy;
        let attrs = event.attributes;
        let attrs: Vec<Json> = attrs
            .map(|a| json!([text(a.name), a.value.type_byte(), value(a.value)]))
            .collect();
        self.rows.push(json!({
            "k": "event", "off": event.offset, "size": event.len(), "stream": event.stream,
            "counter": event.counter, "substream": event.substream, "start": event.start,
            "end": event.end, "desc": text(event.description), "attrs": attrs,
        }));
        Flow::Continue(())
    }

    fn opaque(&mut self, _opaque: &Opaque<'_>) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}

fn value(value: Value<'_>) -> Json {
    match value {
        Value::U64(value) => json!(value),
        Value::I64(value) => json!(value),
        Value::F64(value) => json!(value),
        Value::Text(text) => json!(String::from_utf8_lossy(text)),
        Value::U64s(raw) => raw.iter().map(|raw| u64::from_be_bytes(*raw)).collect(),
        Value::I64s(raw) => raw.iter().map(|raw| i64::from_be_bytes(*raw)).collect(),
        Value::F64s(raw) => raw.iter().map(|raw| f64::from_be_bytes(*raw)).collect(),
        Value::Texts(_, bytes) => texts(bytes).map(String::from_utf8_lossy).collect(),
        Value::Described(value) => panic!("{value:?}: nothing is described here"),
    }
}

fn packets(bytes: &[u8]) -> Packets {
    let mut packets = Packets::default();
    let whole = Chunk {
        bytes,
        offset: 0,
        eof: true,
    };
    Reader::new(&Limits::default()).read(whole, &mut packets);
    packets
}

fn counts(notes: &[Note]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for note in notes {
        *counts.entry(note.kind).or_default() += note.count;
    }
    counts
}

fn lower(bytes: &[u8]) -> Recording {
    let source = SliceSource::default().with("trace.heph", &FORMAT, bytes);
    let mut recording = Recording::default();
    (FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut recording).unwrap();
    recording
}

#[test]
fn every_file_is_given_back_and_cuts_do_not_matter() {
    for path in inputs() {
        let bytes = unpacked(&path).unwrap();
        let read = |cuts: Option<usize>| {
            let mut records = Records::default();
            let mut reader = FORMAT.reader(&Limits::default());
            let whole = match cuts {
                None => read_slice(reader.as_mut(), &bytes, &mut records),
                Some(step) => {
                    read_chunked(reader.as_mut(), &bytes, (0..).step_by(step), &mut records)
                }
            };
            assert!(whole);
            records
        };
        let whole = read(None);
        assert!(whole.written() == bytes, "{path} is not given back");
        for step in [1, 7, 64, 4096] {
            if bytes.len() < 100_000 || step > 7 {
                assert!(read(Some(step)) == whole, "{path} in steps of {step}");
            }
        }
    }
}

#[test]
fn real_traces_hold_what_the_independent_decoder_found() {
    let mut compared = 0;
    for path in inputs().iter().filter(|path| path.contains("/real/")) {
        let name = path.rsplit('/').next().unwrap().split('.').next().unwrap();
        let expected = unpacked(&format!("heph/expected/{name}.jsonl.gz")).unwrap();
        let expected = String::from_utf8(expected).unwrap();
        let expected: Vec<Json> = expected
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let found = packets(&unpacked(path).unwrap());
        assert_eq!(found.rows, expected, "{path}");
        assert_eq!(found.notes, [], "{path}");
        compared += 1;
    }
    assert!(compared == 6 || inputs().is_empty());
}

#[test]
fn damaged_copies_are_recovered() {
    let Some(expected) = corpus::file("heph/derived/expected.json") else {
        return;
    };
    let expected: Json = serde_json::from_slice(&expected).unwrap();
    for (name, facts) in expected.as_object().unwrap() {
        let found = packets(&unpacked(&format!("heph/derived/{name}.heph")).unwrap());
        let notes = counts(&found.notes);
        for key in ["events", "whole_events"] {
            if let Some(events) = facts.get(key) {
                assert_eq!(json!(found.events), *events, "{name}");
            }
        }
        if let Some(duplicates) = facts.get("duplicates") {
            assert_eq!(json!(notes["duplicate_packets"]), *duplicates, "{name}");
        }
        for (stream, missing) in facts
            .get("missing_per_stream")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
        {
            let of_stream = format!("stream {stream}");
            let lost = found.notes.iter().filter(|note| {
                ["lost_packets", "late_start"].contains(&note.kind)
                    && note.text.split([':', ' ']).take(2).eq(of_stream.split(' '))
            });
            assert_eq!(
                json!(lost.map(|note| note.count).sum::<u64>()),
                *missing,
                "{name} {stream}"
            );
        }
    }
}

/// File, events, kinds of notes with their counts.
type Hand = (&'static str, usize, &'static [(&'static str, u64)]);

const HAND: [Hand; 50] = [
    ("all_types.heph", 1, &[("late_start", 41)]),
    ("attr_cut_in_value.heph", 2, &[("attributes_incomplete", 7)]),
    (
        "attr_one_byte_tail.heph",
        2,
        &[("attributes_incomplete", 1)],
    ),
    ("bad_utf8_desc.heph", 2, &[("invalid_text", 1)]),
    ("collide_1000.heph.gz", 1000, &[]),
    ("concatenated.heph", 4, &[("new_run", 1)]),
    ("counter_duplicate.heph", 4, &[("duplicate_packets", 1)]),
    ("counter_gap.heph", 5, &[("lost_packets", 2)]),
    ("counter_reordered.heph", 4, &[("late_packets", 1)]),
    ("counter_wrap.heph", 4, &[("late_start", 1)]),
    (
        "desc_past_end.heph",
        1,
        &[("description_cut", 1), ("skipped_bytes", 3)],
    ),
    ("empty_file.heph", 0, &[]),
    ("end_before_start.heph", 2, &[("end_before_start", 1)]),
    ("epoch_long.heph", 1, &[("bad_epoch", 1)]),
    ("epoch_max.heph", 1, &[]),
    ("epoch_short.heph", 1, &[("bad_epoch", 1)]),
    ("epoch_then_event.heph", 1, &[]),
    ("equal_intervals.heph", 2, &[]),
    ("event_min42.heph", 1, &[]),
    ("garbage_between.heph", 2, &[("skipped_bytes", 10)]),
    ("little_endian.heph", 0, &[("skipped_bytes", 23)]),
    ("long_strings.heph.gz", 1, &[]),
    ("magic_inside_text.heph", 2, &[]),
    ("many_metadata.heph.gz", 1, &[]),
    ("metadata_last.heph", 1, &[]),
    ("metadata_middle.heph", 2, &[]),
    ("metadata_size10.heph", 1, &[("unknown_option", 1)]),
    ("no_metadata.heph", 1, &[]),
    ("old_layout_2021_01.heph", 1, &[("old_layout", 1)]),
    ("packet_150.heph", 100, &[]),
    ("padding_tail.heph", 2, &[("attributes_incomplete", 4)]),
    (
        "reserved_bits_type.heph",
        1,
        &[("attributes_incomplete", 12)],
    ),
    ("same_start_shorter_later.heph", 2, &[]),
    ("seed_both.heph", 1, &[]),
    ("seed_event.heph", 1, &[]),
    ("seed_metadata.heph", 0, &[]),
    ("seed_parent_example.heph", 2, &[]),
    ("size_0.heph", 0, &[("skipped_bytes", 43)]),
    ("size_35.heph", 0, &[("skipped_bytes", 43)]),
    (
        "size_huge.heph",
        1,
        &[("late_start", 1), ("limit_record", 43)],
    ),
    ("torn_write.heph", 1, &[("skipped_bytes", 50)]),
    ("true_containment.heph", 2, &[]),
    ("truncated_header.heph", 1, &[("packet_cut", 3)]),
    ("truncated_tail.heph", 1, &[("packet_cut", 44)]),
    ("two_epochs.heph", 2, &[("new_run", 1)]),
    ("two_substreams_overlap.heph", 3, &[]),
    ("unknown_option.heph", 1, &[("unknown_option", 1)]),
    ("unknown_type.heph", 2, &[("attributes_incomplete", 12)]),
    ("untyped_array.heph", 2, &[("attributes_incomplete", 14)]),
    ("zero_length_in_parent.heph", 3, &[]),
];

#[test]
fn hand_made_files_show_their_one_property() {
    for (name, events, notes) in HAND {
        let plain = format!("heph/hand/{name}");
        let Some(bytes) = unpacked(&plain) else {
            return;
        };
        let found = packets(&bytes);
        assert_eq!(found.events, events, "{name}");
        assert_eq!(
            counts(&found.notes),
            notes.iter().copied().collect(),
            "{name}"
        );
    }
    assert_eq!(HAND.len(), corpus::files("heph/hand").unwrap().len());
}

#[test]
fn defects_of_the_real_writer_cost_no_event() {
    let expected = [
        ("attr_65535.bin.gz", 19, None),
        ("big_array.bin.gz", 18, None),
        ("controls.bin", 17, None),
        ("dup.bin", 19, None),
        ("fmt_split.bin.gz", 17, Some(("invalid_text", 1))),
        ("fmterr.bin", 16, None),
        (
            "long_attr.bin.gz",
            17,
            Some(("attributes_incomplete", 65_552)),
        ),
        (
            "long_desc.bin.gz",
            18,
            Some(("attributes_incomplete", 65_552)),
        ),
        ("nested.bin", 12, Some(("attributes_incomplete", 20))),
        ("nonfinite.bin", 13, None),
        (
            "wrap_array.bin.gz",
            19,
            Some(("attributes_incomplete", 524_304)),
        ),
    ];
    for (name, events, note) in expected {
        let Some(bytes) = unpacked(&format!("heph/real_defects/{name}")) else {
            return;
        };
        let found = packets(&bytes);
        assert_eq!(found.events, events, "{name}");
        assert_eq!(counts(&found.notes), note.into_iter().collect(), "{name}");
    }
}

#[test]
fn actors_are_recovered_and_nothing_overlaps() {
    let expected = [
        ("new_7_tracing.bin.log", 90, 36),
        ("new_chain_arrays_small.bin", 294, 180),
        ("new_chain_plain_small.bin", 287, 180),
        ("new_http_small.bin", 291, 24),
        ("old_8_tracing.bin.log", 90, 0),
        ("old_chain_arrays_small.bin", 299, 0),
    ];
    for (name, spans, recovered) in expected {
        let Some(bytes) = unpacked(&format!("heph/real/{name}")) else {
            return;
        };
        let recording = lower(&bytes);
        assert_eq!(recording.spans.len(), spans, "{name}");
        let notes = counts(recording.notes.kept());
        assert_eq!(
            notes.get("actors_recovered").copied().unwrap_or(0),
            recovered,
            "{name}"
        );
        assert_eq!(notes.get("partial_overlap"), None, "{name}");
        assert!(
            recording
                .notes
                .worst()
                .is_none_or(|level| level == Level::Info),
            "{name}"
        );
        let actors = recording
            .tracks
            .iter()
            .flatten()
            .filter(|track| track.kind == TrackKind::Async);
        assert!(
            actors.clone().count() > 0 && actors.clone().all(|track| track.name.is_some()),
            "{name}"
        );
    }
}

#[test]
fn nesting_is_containment_and_ends_rise_on_every_track() {
    for path in inputs() {
        let recording = lower(&unpacked(&path).unwrap());
        let spans = &recording.spans;
        let row_of: BTreeMap<_, _> = spans
            .id
            .iter()
            .enumerate()
            .map(|(row, id)| (*id, row))
            .collect();
        assert_eq!(row_of.len(), spans.len(), "{path}: ids are given twice");
        let mut last = BTreeMap::new();
        for (row, span) in spans.iter().enumerate() {
            let before = last.insert(span.track, span.end);
            assert!(
                before.is_none_or(|end| end <= span.end),
                "{path}: span {row}"
            );
            let Some(parent) = span.parent.map(|parent| row_of[&parent]) else {
                assert_eq!(span.depth, 0);
                continue;
            };
            assert!(parent > row, "{path}: a parent comes before its child");
            assert_eq!(spans.track[parent], span.track);
            assert_eq!(spans.depth[parent] + 1, span.depth);
            assert!(
                spans.start[parent] <= span.start && span.end <= spans.end[parent],
                "{path}"
            );
        }
    }
}

#[test]
fn chrome_json_moves_no_event() {
    for path in inputs() {
        let bytes = unpacked(&path).unwrap();
        let recording = lower(&bytes);
        let source = SliceSource::default().with("trace.heph", &FORMAT, &bytes);
        let mut out = Vec::new();
        let chrome = traceloom_formats::by_name("chrome").unwrap();
        let mut target = (chrome.raise.unwrap())(&Default::default(), &mut out).unwrap();
        (FORMAT.lower.unwrap())(&source, &LowerOptions::default(), target.as_mut()).unwrap();
        target.finish().unwrap();
        drop(target);
        let text = String::from_utf8(out).unwrap();
        let json: Json =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(json["traceEvents"].is_array());
        let lines = text
            .lines()
            .filter(|line| line.starts_with("{\"ph\":\"X\""));
        let mut times: Vec<(String, String)> = lines
            .map(|line| (number(line, "ts"), number(line, "dur")))
            .collect();
        let mut expected: Vec<(String, String)> = recording
            .spans
            .iter()
            .map(|span| {
                (
                    micros(i128::from(span.start)),
                    micros(i128::from(span.duration())),
                )
            })
            .collect();
        // Parents are written before their children, whatever order they came in.
        times.sort();
        expected.sort();
        assert_eq!(times, expected, "{path}");
    }
}

fn number(line: &str, key: &str) -> String {
    let (_, rest) = line.split_once(&format!("\"{key}\":")).unwrap();
    rest.split([',', '}']).next().unwrap().to_owned()
}

fn micros(ns: i128) -> String {
    match ns % 1000 {
        0 => (ns / 1000).to_string(),
        rest => format!("{}.{rest:03}", ns / 1000),
    }
}
