//! Laws and single decisions on packets built field by field.

#![allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use std::cmp::Reverse;

use proptest::prelude::*;
use traceloom_model::{
    Clock, Function, Level, Limits, Order, Recording, SpanBatch, SpanId, SpanRow, SpanStatus,
    Tables, Track, TrackKind, Value as ModelValue,
};
use traceloom_samples::Random;

use super::record::{Attributes, Event, Layout, Metadata, Value};
use super::{FORMAT, record, write};
use crate::{
    Confidence, LowerOptions, Probe, RaiseOptions, Records, SliceSource, read_chunked, read_slice,
};

/// Builds a trace packet by packet.
#[derive(Default)]
struct Trace {
    bytes: Vec<u8>,
    layout: Layout,
}

impl Trace {
    fn epoch(mut self, epoch: u64) -> Self {
        let value = epoch.to_be_bytes();
        let (offset, name, value) = (0, &b"epoch"[..], &value[..]);
        write::metadata(
            &Metadata {
                offset,
                name,
                value,
            },
            &mut self.bytes,
        );
        self
    }

    fn event(self, stream: u32, counter: u32, times: (u64, u64), name: &str) -> Self {
        self.full((stream, 0), counter, times, name, &[])
    }

    fn full(
        mut self,
        (stream, substream): (u32, u64),
        counter: u32,
        (start, end): (u64, u64),
        name: &str,
        attributes: &[(&str, Value<'_>)],
    ) -> Self {
        let mut bytes = Vec::new();
        for &(name, value) in attributes {
            let name = name.as_bytes();
            write::put_attribute(&record::Attribute { name, value }, &mut bytes);
        }
        let event = Event {
            offset: 0,
            layout: self.layout,
            stream,
            counter,
            substream,
            start,
            end,
            description_length: name.len() as u16,
            description: name.as_bytes(),
            attributes: Attributes { bytes: &bytes },
            undecoded: &[],
            valid_text: true,
            complete: true,
        };
        write::event(&event, &mut self.bytes);
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn notes(&self) -> Vec<(&'static str, u64)> {
        let records = read(&self.bytes);
        let notes = records.notes().iter();
        notes.map(|note| (note.kind, note.count)).collect()
    }
}

fn read(bytes: &[u8]) -> Records {
    let mut records = Records::default();
    let mut reader = FORMAT.reader(&Limits::default());
    assert!(read_slice(reader.as_mut(), bytes, &mut records));
    records
}

fn lower_with(bytes: &[u8], options: &LowerOptions) -> Recording {
    let source = SliceSource::default().with("trace.heph", &FORMAT, bytes);
    let mut recording = Recording::default();
    (FORMAT.lower.unwrap())(&source, options, &mut recording).unwrap();
    recording
}

fn lower(bytes: &[u8]) -> Recording {
    lower_with(bytes, &LowerOptions::default())
}

fn sample(bytes: u64) -> Vec<u8> {
    let mut trace = Vec::new();
    (traceloom_samples::by_name(FORMAT.name).unwrap())(7, bytes, &mut |piece| {
        trace.extend_from_slice(piece)
    });
    trace
}

/// Name, parent's name, depth, kind of track and lane of each span, by start.
fn shape(recording: &Recording) -> Vec<(String, Option<String>, u32, TrackKind, u32)> {
    let spans = &recording.spans;
    let name = |row: usize| {
        recording
            .function_name(spans.function[row].unwrap())
            .into_owned()
    };
    let mut rows: Vec<usize> = (0..spans.len()).collect();
    rows.sort_by_key(|&row| (spans.start[row], Reverse(spans.end[row]), Reverse(row)));
    let row = |row: usize| {
        let parent = spans.parent[row].map(|id| spans.id.iter().position(|&other| other == id));
        let track = recording.track(spans.track[row]).unwrap();
        let parent = parent.map(|row| name(row.unwrap()));
        (name(row), parent, spans.depth[row], track.kind, track.lane)
    };
    rows.into_iter().map(row).collect()
}

fn check_laws(bytes: &[u8]) {
    let whole = read(bytes);
    assert!(whole.written() == bytes, "bytes are not given back");
    for step in [1, 5, 61] {
        let mut cut = Records::default();
        let mut reader = FORMAT.reader(&Limits::default());
        read_chunked(reader.as_mut(), bytes, (0..).step_by(step), &mut cut);
        assert_eq!(cut.rows(), whole.rows(), "steps of {step}");
        assert_eq!(cut.notes(), whole.notes(), "steps of {step}");
    }
    let spans = lower(bytes).spans.len();
    assert!(
        spans
            <= whole
                .kinds()
                .iter()
                .filter(|kind| **kind == "event")
                .count()
    );
}

#[test]
fn the_seeds_examples_are_written_byte_for_byte() {
    let metadata = Trace::default().epoch(1_610_113_734_118_010_000);
    let expected = [
        0x75, 0xd1, 0x1d, 0x4d, 0, 0, 0, 0x17, 0, 5, b'e', b'p', b'o', b'c', b'h', 0x16, 0x58,
        0x45, 0xe9, 0x12, 0x14, 0xec, 0x90,
    ];
    assert_eq!(metadata.bytes, expected);
    let pair = [123.456_f64.to_be_bytes(), 789.0_f64.to_be_bytes()];
    let attributes = [("Test", Value::U64(123)), ("Test2", Value::F64s(&pair))];
    let event = Trace::default().full((0, 1), 0, (100, 200), "My event", &attributes);
    assert_eq!(event.bytes.len(), 91);
    assert_eq!(event.bytes[..8], [0xc1, 0xfc, 0x1f, 0xb7, 0, 0, 0, 0x5b]);
    assert_eq!(event.bytes[50..63], *b"\0\x04Test\x01\0\0\0\0\0\0");
    assert_eq!(event.bytes[65..75], *b"\0\x05Test2\x83\0\x02");
    check_laws(&event.bytes);
}

#[test]
fn every_truncation_and_every_flipped_bit_keeps_the_laws() {
    let trace = sample(1200);
    for length in 0..trace.len() {
        check_laws(&trace[..length]);
    }
    for at in 0..trace.len() {
        let mut flipped = trace.clone();
        flipped[at] ^= 1 << (at % 8);
        check_laws(&flipped);
    }
}

proptest! {
    #[test]
    fn garbage_between_packets_keeps_the_laws(pieces in prop::collection::vec(piece(), 0..12)) {
        check_laws(&pieces.concat());
    }
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let packets = sample(700);
    let cut = packets.clone();
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(record::EVENT.to_vec()),
        Just(record::METADATA.to_vec()),
        Just(packets),
        (0..cut.len()).prop_map(move |from| cut[from..].to_vec()),
        prop::collection::vec(any::<u8>(), 0..60).prop_map(|noise| {
            let size = (noise.len() as u32 + 8).to_be_bytes();
            [&record::EVENT[..], &size, &noise].concat()
        }),
    ]
}

#[test]
fn heads_inside_heads_are_searched_in_linear_time() {
    // Attributes of 53 bytes whose names hold a head; what follows a head reads as an attribute that
    // ends six further on, so that each head parses as far as its size reaches, and fails only there.
    let mut bytes = b"noise".to_vec();
    for _ in 0..200_000 {
        bytes.extend([0, 42]);
        bytes.extend(record::EVENT);
        bytes.extend(5_000_000_u32.to_be_bytes());
        bytes.extend([0; 34]);
        bytes.extend([1, 60, 0, 0, 0, 0, 0, 0, 0]);
    }
    let records = read(&bytes);
    assert!(records.written() == bytes);
}

#[test]
fn damage_is_shown_in_pieces() {
    let trace = Trace::default()
        .raw(&vec![0; 200_000])
        .event(1, 0, (1, 2), "after");
    let records = read(&trace.bytes);
    assert_eq!(
        records.kinds(),
        ["damage", "damage", "damage", "damage", "event"]
    );
    assert_eq!(trace.notes(), [("skipped_bytes", 200_000)]);
    check_laws(&trace.bytes);
}

#[test]
fn a_packet_between_two_noises_is_found() {
    let trace = Trace::default()
        .raw(b"late join")
        .event(1, 0, (1, 2), "kept")
        .raw(b"noise");
    let trace = trace.event(1, 1, (3, 4), "kept too");
    assert_eq!(
        read(&trace.bytes).kinds(),
        ["damage", "event", "damage", "event"]
    );
}

#[test]
fn a_size_beyond_the_limit_is_no_packet() {
    let mut limits = Limits::default();
    limits.set("record", 60).unwrap();
    let long = "a description that needs more than the limit";
    let trace = Trace::default()
        .event(1, 0, (1, 2), long)
        .event(1, 1, (3, 4), "short");
    let mut records = Records::default();
    read_slice(FORMAT.reader(&limits).as_mut(), &trace.bytes, &mut records);
    assert_eq!(records.kinds(), ["damage", "event"]);
    assert_eq!(records.notes()[0].kind, "limit_record");
    assert_eq!(records.written(), trace.bytes);
}

#[test]
fn the_layout_without_substreams_is_recognised_and_given_back() {
    let mut trace = Trace::default().epoch(5);
    trace.layout = Layout::NoSubstream;
    for counter in 0..20 {
        let at = u64::from(counter) * 1_000_000_007;
        trace = trace.full(
            (1, 0),
            counter,
            (at, at + 17),
            "event",
            &[("n", Value::U64(at))],
        );
    }
    check_laws(&trace.bytes);
    assert_eq!(trace.notes(), [("old_layout", 1)]);
    assert_eq!(lower(&trace.bytes).spans.start[3], 3_000_000_026);
}

#[test]
fn counters_tell_loss_lateness_and_doubles_apart() {
    let trace = |counters: &[u32]| {
        let mut trace = Trace::default();
        for (&counter, at) in counters.iter().zip(0..) {
            trace = trace.event(1, counter, (at * 10, at * 10 + 5), "event");
        }
        trace.notes()
    };
    assert_eq!(trace(&[0, 1, 2, 5, 6]), [("lost_packets", 2)]);
    assert_eq!(trace(&[0, 2, 3, 1, 4]), [("late_packets", 1)]);
    assert_eq!(
        trace(&[0, 4, 2, 5]),
        [
            ("lost_packets", 1),
            ("lost_packets", 1),
            ("late_packets", 1)
        ]
    );
    assert_eq!(trace(&[0, 1, 1, 2]), [("duplicate_packets", 1)]);
    assert_eq!(trace(&[1, 0, 2]), [("late_packets", 1)]);
    assert_eq!(trace(&[3, 4]), [("late_start", 3)]);
    assert_eq!(trace(&[u32::MAX - 1, u32::MAX, 0, 1]), [("late_start", 1)]);
    assert_eq!(trace(&[0, 0, 0, 0]), [("counters_unused", 1)]);
    let again: Vec<u32> = (0..3000).chain(0..5).collect();
    assert_eq!(trace(&again), [("counter_restart", 1)]);
    let late: Vec<u32> = (0..1).chain(2..1030).chain([1]).collect();
    assert_eq!(trace(&late)[0], ("lost_packets", 1), "the window is over");
}

#[test]
fn a_packet_that_comes_twice_is_one_span() {
    let trace = Trace::default()
        .epoch(0)
        .event(1, 0, (0, 9), "a")
        .event(1, 1, (10, 19), "b");
    let trace = trace.event(1, 1, (10, 19), "b").event(1, 2, (20, 29), "c");
    assert_eq!(lower(&trace.bytes).spans.len(), 3);
    let unused = Trace::default()
        .event(1, 0, (0, 9), "a")
        .event(1, 0, (10, 19), "b");
    assert_eq!(lower(&unused.bytes).spans.len(), 2);
}

#[test]
fn one_epoch_dates_all_and_a_restart_begins_a_run() {
    let late = Trace::default().event(1, 0, (5, 7), "before").epoch(1000);
    let recording = lower(&late.bytes);
    assert_eq!(
        (recording.clock, recording.spans.start[0]),
        (Clock::Unix, 1005)
    );

    let corrected = Trace::default()
        .epoch(1000)
        .event(1, 0, (5, 7), "a")
        .epoch(2000)
        .event(1, 1, (8, 9), "b");
    assert_eq!(corrected.notes(), [("second_epoch", 1)]);
    assert_eq!(lower(&corrected.bytes).spans.start, [2005, 2008]);

    let two = Trace::default()
        .epoch(1000)
        .event(1, 0, (5, 7), "a")
        .event(2, 0, (5, 7), "a");
    let two = two
        .epoch(9000)
        .event(3, 0, (1, 2), "new stream")
        .event(1, 0, (5, 7), "b");
    assert_eq!(two.notes(), [("new_run", 1)]);
    let recording = lower(&two.bytes);
    assert_eq!(recording.spans.start, [1005, 1005, 9001, 9005]);
    assert_eq!(recording.resources.len(), 2);
    let resource = |row: usize| {
        recording
            .track(recording.spans.track[row])
            .unwrap()
            .resource
    };
    assert!(resource(0) == resource(1) && resource(2) == resource(3) && resource(0) != resource(2));
}

#[test]
fn nesting_of_the_corner_cases() {
    let seed = Trace::default()
        .event(1, 0, (10, 20), "A")
        .event(1, 1, (5, 15), "B");
    let lanes: Vec<_> = shape(&lower(&seed.bytes))
        .into_iter()
        .map(|row| (row.0, row.1, row.4))
        .collect();
    assert_eq!(
        lanes,
        [("B".to_owned(), None, 0), ("A".to_owned(), None, 1)]
    );

    let equal = Trace::default()
        .event(1, 0, (10, 20), "inner")
        .event(1, 1, (10, 20), "outer");
    assert_eq!(shape(&lower(&equal.bytes))[1].1.as_deref(), Some("outer"));

    let border = Trace::default()
        .event(1, 0, (10, 10), "point")
        .event(1, 1, (5, 10), "ends");
    let border = border.event(1, 2, (10, 30), "starts");
    let rows = shape(&lower(&border.bytes));
    let point = rows.iter().find(|row| row.0 == "point").unwrap();
    assert_eq!(point.1.as_deref(), Some("starts"));

    let apart =
        Trace::default()
            .full((1, 11), 0, (0, 20), "a", &[])
            .full((1, 22), 1, (10, 30), "b", &[]);
    assert!(
        shape(&lower(&apart.bytes))
            .iter()
            .all(|row| row.3 == TrackKind::Async && row.4 == 0)
    );
}

/// The rule as the specification states it, over everything at once.
fn naive_parents(events: &[(u64, u64)]) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&at| (events[at].0, Reverse(events[at].1), Reverse(at)));
    let mut parents = vec![None; events.len()];
    let mut stack: Vec<usize> = Vec::new();
    for at in order {
        while stack
            .last()
            .is_some_and(|&top| events[top].1 <= events[at].0)
        {
            stack.pop();
        }
        parents[at] = stack
            .last()
            .copied()
            .filter(|&top| events[at].1 <= events[top].1);
        stack.push(at);
    }
    parents
}

#[test]
fn long_traces_nest_like_short_ones() {
    // Calls of up to five levels, some of them across many blocks of the first pass.
    let mut random = Random::new(99);
    let mut below = |below| random.number(below);
    let (mut now, mut open, mut events) = (0, Vec::new(), Vec::new());
    while events.len() < 30_000 {
        now += below(3);
        if open.len() < 5 && below(2) == 0 {
            open.push(now);
        } else if open.len() > 1 || (!open.is_empty() && below(9000) == 0) {
            events.push((open.pop().unwrap(), now));
        }
    }
    events.extend(open.into_iter().rev().map(|start| (start, now)));
    let mut trace = Trace::default();
    for (&times, counter) in events.iter().zip(0..) {
        trace = trace.event(1, counter, times, "call");
    }
    let expected = naive_parents(&events);
    let recording = lower(&trace.bytes);
    let spans = &recording.spans;
    let size = trace.bytes.len() as u64 / events.len() as u64;
    let at = |row: usize| (spans.origin.get(row).unwrap().offset / size) as usize;
    let mut row_of = std::collections::HashMap::new();
    spans.id.iter().enumerate().for_each(|(row, &id)| {
        row_of.insert(id, row);
    });
    assert_eq!(spans.len(), events.len());
    for row in 0..spans.len() {
        assert_eq!(
            spans.parent[row].map(|id| at(row_of[&id])),
            expected[at(row)],
            "event {}",
            at(row)
        );
    }
    assert_eq!(recording.notes.total(), 1, "no epoch, nothing else");

    let mut options = LowerOptions::default();
    options.limits.set("open_spans", 2000).unwrap();
    let limited = lower_with(&trace.bytes, &options);
    assert_eq!(limited.spans.len(), events.len());
    assert!(
        limited
            .notes
            .counts()
            .any(|(level, kind, _)| level == Level::Damage && kind == "limit_open_spans")
    );
}

#[test]
fn actors_of_stream_0_come_from_any_worker_unless_two_run_at_once() {
    let run = |id| [("id", Value::U64(id)), ("name", Value::Text(b"shared"))];
    let safe = "Running thread-safe process";
    let trace = Trace::default()
        .epoch(0)
        .event(0, 0, (12, 14), "one runs")
        .full((1, 0), 0, (10, 20), safe, &run(7))
        .event(0, 1, (32, 34), "two run")
        .full((1, 0), 1, (30, 40), safe, &run(7))
        .full((2, 0), 0, (31, 41), safe, &run(8))
        .event(1, 2, (50, 51), "Polling for OS events");
    let recording = lower(&trace.bytes);
    let tracks: Vec<_> = shape(&recording)
        .into_iter()
        .map(|row| (row.0, row.3))
        .collect();
    assert!(tracks.contains(&("one runs".to_owned(), TrackKind::Async)));
    assert!(tracks.contains(&("two run".to_owned(), TrackKind::Stream)));
    let note = recording
        .notes
        .kept()
        .iter()
        .find(|note| note.kind == "actors_recovered")
        .unwrap();
    assert_eq!((note.level, note.count), (Level::Info, 1));
    assert!(note.text.contains("1 are ambiguous"));
}

#[test]
fn raising_keeps_names_times_values_and_nesting() {
    let trace = sample(60_000);
    let first = lower(&trace);
    let mut raised = Vec::new();
    let source = SliceSource::default().with("trace.heph", &FORMAT, &trace);
    let mut target = (FORMAT.raise.unwrap())(&RaiseOptions::default(), &mut raised).unwrap();
    (FORMAT.lower.unwrap())(&source, &LowerOptions::default(), target.as_mut()).unwrap();
    target.finish().unwrap();
    drop(target);
    assert_eq!(read(&raised).notes(), []);
    let second = lower(&raised);
    assert_eq!(shape(&second), shape(&first));
    let values = |recording: &Recording| {
        let mut rows: Vec<String> = recording
            .spans
            .iter()
            .map(|span| {
                let values: Vec<String> = span
                    .attributes
                    .iter()
                    .map(|attribute| {
                        let key = recording.attribute_key(attribute.key).unwrap();
                        format!(
                            "{}={}",
                            recording.text(key.name),
                            told(recording, &attribute.value)
                        )
                    })
                    .collect();
                format!("{} {} {values:?}", span.start, span.end)
            })
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(values(&second), values(&first));
}

/// A span of a test: name, the name of its parent, times, whether it is a call, and track.
type Call = (&'static str, &'static str, (i64, i64), bool, usize);

fn raised(calls: &[Call]) -> Vec<u8> {
    let mut tables = Tables::new();
    let own = tables.new_track(Track {
        kind: TrackKind::Thread,
        id: Some(7),
        ..Track::default()
    });
    let lane = tables.new_track(Track {
        kind: TrackKind::Lane,
        parent: Some(own),
        lane: 1,
        ..Track::default()
    });
    let id = |name: &str| calls.iter().position(|call| call.0 == name);
    let id = |name: &str| id(name).map(|at| SpanId(at as u64));
    let mut batch = SpanBatch::default();
    for &(name, parent, (start, end), entry, track) in calls {
        let text = tables.string(name);
        batch.push(&SpanRow {
            id: id(name).unwrap(),
            parent: id(parent),
            depth: 0,
            track: [own, lane][track],
            function: Some(tables.function(Function::named(text))),
            kind: None,
            start,
            end,
            status: SpanStatus::Complete,
            entry,
            counters: &[],
            attributes: &[],
            exception: None,
            context: None,
            origin: None,
        });
    }
    let mut bytes = Vec::new();
    let mut target = (FORMAT.raise.unwrap())(&RaiseOptions::default(), &mut bytes).unwrap();
    target.begin(Order::Nested, Clock::Unix);
    assert!(target.define(tables.take_definitions()).is_continue());
    assert!(target.spans(batch).is_continue());
    target.finish().unwrap();
    drop(target);
    bytes
}

#[test]
fn what_containment_does_not_tell_is_marked() {
    // Times alone would make `late` the parent of `early`, `twin` that of its equal, and would put points at the end of
    // what they are in outside of it.
    let calls: &[Call] = &[
        ("early", "", (10, 20), true, 0),
        ("in a twin", "twin", (30, 35), false, 0),
        ("twin", "late", (30, 40), false, 0),
        ("equal", "late", (30, 40), true, 0),
        ("point", "inner", (50, 50), false, 0),
        ("inner", "late", (45, 50), false, 0),
        ("on a lane", "lane", (20, 70), false, 1),
        ("late", "", (5, 60), true, 0),
        ("lane", "", (15, 70), true, 1),
        ("no call", "", (80, 80), false, 0),
        ("out of order", "", (50, 79), true, 0),
    ];
    let bytes = raised(calls);
    assert_eq!(read(&bytes).notes(), []);
    let recording = lower(&bytes);
    let spans = &recording.spans;
    let name = |row: usize| recording.function_name(spans.function[row].unwrap());
    let mut found: Vec<_> = (0..spans.len())
        .map(|row| {
            let parent = spans.parent[row].map(|id| spans.id.iter().position(|&other| other == id));
            let parent = parent.map_or_else(String::new, |row| name(row.unwrap()).into_owned());
            let track = recording.track(spans.track[row]).unwrap();
            let times = (spans.start[row], spans.end[row]);
            (
                name(row).into_owned(),
                parent,
                times,
                spans.entry[row],
                track.lane as usize,
            )
        })
        .collect();
    let mut expected: Vec<_> = calls
        .iter()
        .map(|&(name, parent, times, entry, track)| {
            (name.to_owned(), parent.to_owned(), times, entry, track)
        })
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!((0..spans.len()).all(|row| spans.iter().nth(row).unwrap().attributes.is_empty()));
    assert_eq!(recording.notes.total(), 0);
}

#[test]
fn what_containment_tells_is_not_marked() {
    let calls: &[Call] = &[
        ("first", "root", (1, 2), false, 0),
        ("inner", "second", (3, 4), false, 0),
        ("second", "root", (3, 4), false, 0),
        ("root", "", (0, 9), true, 0),
        ("next", "", (9, 12), true, 0),
    ];
    let bytes = raised(calls);
    let mark = b"traceloom.nest";
    assert!(!bytes.windows(mark.len()).any(|window| window == mark));
}

fn told(recording: &Recording, value: &ModelValue) -> String {
    match value {
        ModelValue::Text(id) => recording.text(*id).into_owned(),
        ModelValue::List(kind, values) => {
            let values: Vec<String> = values.iter().map(|value| told(recording, value)).collect();
            format!("{kind:?}{values:?}")
        }
        ModelValue::F64(value) => format!("f{:x}", value.to_bits()),
        other => format!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_decoded_is_raised_as_it_was() {
    let trace = Trace::default()
        .epoch(0)
        .full((1, 0), 0, (1, 2), "x", &[("k", Value::I64(-1))]);
    let (head, size) = (trace.bytes.len(), trace.bytes.len() - 23 + 5);
    let mut bytes = [&trace.bytes[..], b"\0\x01q\x05z"].concat();
    bytes[27..31].copy_from_slice(&(size as u32).to_be_bytes());
    let mut raised = Vec::new();
    let source = SliceSource::default().with("trace.heph", &FORMAT, &bytes);
    let mut target = (FORMAT.raise.unwrap())(&RaiseOptions::default(), &mut raised).unwrap();
    (FORMAT.lower.unwrap())(&source, &LowerOptions::default(), target.as_mut()).unwrap();
    target.finish().unwrap();
    drop(target);
    assert_eq!(raised, bytes);
    assert_eq!(raised[head..], *b"\0\x01q\x05z");
}

#[test]
fn one_call_alone_can_be_lowered() {
    let trace = Trace::default()
        .event(1, 0, (1, 2), "in a")
        .event(1, 1, (0, 5), "a")
        .event(1, 2, (7, 9), "b");
    let options = LowerOptions {
        only: lower(&trace.bytes).spans.origin.get(1).copied(),
        ..LowerOptions::default()
    };
    let names: Vec<_> = shape(&lower_with(&trace.bytes, &options))
        .into_iter()
        .map(|row| row.0)
        .collect();
    assert_eq!(names, ["a", "in a"]);
}

#[test]
fn probing() {
    let probe = |head: &[u8]| {
        (FORMAT.probe)(&Probe {
            head,
            whole: true,
            name: "x",
            siblings: &[],
        })
    };
    let trace = sample(2000);
    assert_eq!(probe(&trace), Some(Confidence::Certain));
    assert_eq!(probe(&trace[30..]), Some(Confidence::Likely));
    assert_eq!(probe(b"\xc1\xfc\x1f\xc1 a CTF packet"), None);
    assert_eq!(probe(b""), None);
}
