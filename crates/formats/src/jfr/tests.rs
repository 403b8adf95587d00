//! Vectors with one defect each, and laws over the seeded sample.

#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use traceloom_model::{FrameKind, Level, Limits, Recording, Value};

use super::FORMAT;
use crate::{
    Confidence, Error, ErrorKind, LowerOptions, Piece, Probe, Records, SliceSource, Source,
    read_chunked, read_slice,
};
use traceloom_samples::jfr::{
    Bytes, ChunkBuilder, DescribedField, DescribedType, How, TYPES, sample,
};

fn read(bytes: &[u8]) -> Records {
    let mut records = Records::default();
    read_slice(
        FORMAT.reader(&Limits::default()).as_mut(),
        bytes,
        &mut records,
    );
    assert_eq!(records.written(), bytes, "records tile and write the input");
    records
}

fn try_lower(source: &dyn Source) -> Result<Recording, Error> {
    let mut recording = Recording::default();
    let lower = FORMAT.lower.unwrap();
    lower(source, &LowerOptions::default(), &mut recording).map(|()| recording)
}

fn lower(bytes: &[u8]) -> Recording {
    try_lower(&SliceSource::default().with("a.jfr", &FORMAT, bytes)).unwrap()
}

fn made(seed: u64, size: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    sample(seed, size, &mut |piece| bytes.extend_from_slice(piece));
    bytes
}

fn notes(records: &Records) -> Vec<(&'static str, Level)> {
    records
        .notes()
        .iter()
        .map(|note| (note.kind, note.level))
        .collect()
}

fn count(records: &Records, kind: &str) -> usize {
    records
        .kinds()
        .iter()
        .filter(|&&found| found == kind)
        .count()
}

/// A chunk of eight samples, its pools, and its metadata, in this order.
fn vector(compressed: bool) -> ChunkBuilder {
    let mut chunk = ChunkBuilder::new(2, compressed, 1_700_000_000_000_000_000, 1_000_000_000);
    for at in 0..8 {
        let body = chunk
            .bytes()
            .long(1_000 + at * 100)
            .long(u64::MAX - 1)
            .long(7)
            .long(1);
        chunk.event(101, &body);
    }
    let value = || Bytes::new(compressed);
    let frame =
        |method: u64, line: u32, kind: u64| value().long(method).int(line).int(3).long(kind);
    let trace = value()
        .raw(&[1])
        .int(2)
        .raw(&frame(2, 11, 2).out)
        .raw(&frame(1, 22, 1).out);
    chunk.checkpoint(&[
        (26, vec![(7, trace)]),
        (
            28,
            vec![
                (1, value().long(1).long(2).long(9).int(1)),
                (2, value().long(1).long(3).long(9).int(1)),
            ],
        ),
    ]);
    chunk.checkpoint(&[
        (21, vec![(1, value().long(1).int(1))]),
        (
            22,
            vec![(
                u64::MAX - 1,
                value().text("main").long(40).text("main").long(1),
            )],
        ),
        (
            24,
            vec![
                (1, value().text("JIT compiled")),
                (2, value().text("Inlined")),
            ],
        ),
        (25, vec![(1, value().text("STATE_RUNNABLE"))]),
        (
            30,
            vec![
                (1, value().text("com/acme/Shop")),
                (2, value().text("buy")),
                (3, value().text("pay")),
                (9, value().text("()V")),
            ],
        ),
    ]);
    chunk.metadata(&[TYPES]);
    chunk
}

#[test]
fn a_chunk_means_what_it_says() {
    for compressed in [true, false] {
        let bytes = vector(compressed).finish();
        let records = read(&bytes);
        assert_eq!(notes(&records), []);
        assert_eq!(count(&records, "jdk.ExecutionSample"), 8);
        assert_eq!(count(&records, "jdk.CheckPoint"), 2);
        assert_eq!(count(&records, "jdk.Metadata"), 1);
        let (_, _, _, fields) = &records.rows()[1];
        assert_eq!(
            fields,
            "startTime=I64(1000) sampledThread=Id(\"java.lang.Thread\", 18446744073709551614) \
             stackTrace=Id(\"jdk.types.StackTrace\", 7) state=Id(\"jdk.types.ThreadState\", 1) \
             units=Map([(Str(\"startTime\"), Str(\"ticks\"))]) \
             annotations=Map([(Str(\"startTime\"), Map([(Str(\"Timestamp\"), Str(\"TICKS\"))]))]) "
        );

        let recording = lower(&bytes);
        assert_eq!(recording.notes.total(), 0);
        assert_eq!(recording.events.len(), 8);
        let [batch] = &recording.samples[..] else {
            panic!("one profile")
        };
        let sample = batch.row(1).unwrap();
        assert_eq!(sample.time, Some(1_700_000_000_000_000_100));
        assert_eq!(sample.values, [1, 10_000_000]);
        let track = recording.track(sample.track.unwrap()).unwrap();
        assert_eq!((track.os_id, track.id), (Some(40), Some(1)));
        assert_eq!(recording.text(track.name.unwrap()), "main");
        let leaf = recording.stack(sample.stack.unwrap()).unwrap();
        assert!(leaf.truncated);
        let frame = recording.frame(leaf.frame).unwrap();
        assert_eq!(
            (frame.line, frame.kind, frame.inlined),
            (11, FrameKind::Inlined, true)
        );
        assert_eq!(
            recording.function_name(frame.function.unwrap()),
            "com.acme.Shop.pay"
        );
        let root = recording.stack(leaf.parent.unwrap()).unwrap();
        let frame = recording.frame(root.frame).unwrap();
        let function = recording.function(frame.function.unwrap()).unwrap();
        assert_eq!(recording.text(function.name), "com.acme.Shop.buy");
        assert_eq!(recording.text(function.package.unwrap()), "com.acme");
        assert_eq!(recording.text(function.signature.unwrap()), "()V");
        assert_eq!(root.parent, None);
        let label = &sample.labels[0];
        let key = recording.attribute_key(label.key).unwrap();
        assert_eq!(recording.text(key.name), "state");
    }
}

#[test]
fn one_bad_byte_costs_an_event_or_a_pool() {
    let bytes = vector(true).finish();
    let sound = read(&bytes);
    let rows: Vec<(String, u64, u64)> = sound
        .rows()
        .iter()
        .map(|row| (row.0.clone(), row.1, row.2))
        .collect();
    let size_of = |at: usize| usize::try_from(rows[at].1).unwrap();
    // Every byte of the third sample, each with several wrong values.
    for at in size_of(3)..size_of(4) {
        for flip in [0x01, 0x40, 0x80, 0xff] {
            let mut bad = bytes.clone();
            bad[at] ^= flip;
            let records = read(&bad);
            let left = count(&records, "jdk.ExecutionSample");
            assert!(left >= 6, "byte {at} ^ {flip:#x} leaves {left} samples");
            assert_eq!(
                count(&records, "jdk.CheckPoint"),
                2,
                "byte {at} ^ {flip:#x}"
            );
            assert_eq!(
                lower(&bad)
                    .samples
                    .iter()
                    .map(|batch| batch.len())
                    .sum::<usize>(),
                left
            );
        }
    }
    // A count in the first pool of the second checkpoint: the other pools are found behind it.
    let head = 4 + 1 + 3 + 1 + 1;
    let mut bad = bytes.clone();
    bad[size_of(10) + head + 1] = 0x7f;
    let records = read(&bad);
    assert_eq!(notes(&records), [("lost_constants", Level::Damage)]);
    let recording = lower(&bad);
    let track = recording.tracks[0].as_ref().unwrap();
    assert_eq!(recording.text(track.name.unwrap()), "main");
    let names: Vec<_> = recording.functions.iter().flatten().collect();
    assert_eq!(
        recording.text(names[0].name),
        "pay",
        "the class is lost, the method is not"
    );
}

#[test]
fn damage_anywhere_is_notes() {
    let bytes = vector(true).finish();
    for cut in 0..bytes.len() {
        let records = read(&bytes[..cut]);
        assert!(cut == 0 || !records.notes().is_empty(), "cut at {cut}");
        let _ = try_lower(&SliceSource::default().with("a", &FORMAT, &bytes[..cut]));
    }
    for at in 0..bytes.len() {
        for bit in [at % 7, 7] {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            read(&bad);
            let _ = try_lower(&SliceSource::default().with("a", &FORMAT, &bad));
        }
    }
}

#[test]
fn chunks_of_the_input_do_not_matter() {
    let mut inputs = vec![made(3, 40_000)];
    let mut torn = made(4, 300_000);
    torn.truncate(290_000);
    torn.splice(0..0, [7; 100_000]);
    inputs.push(torn);
    let mut open = vector(true);
    open.header.file_state = 1;
    inputs.push(open.into_bytes());
    for bytes in inputs {
        let whole = read(&bytes);
        for step in [1_usize, 7, 1_000, 65_537] {
            let step = step.max(bytes.len() / 3_000);
            let mut cut = Records::default();
            let mut reader = FORMAT.reader(&Limits::default());
            let cuts = (0..bytes.len()).step_by(step);
            read_chunked(reader.as_mut(), &bytes, cuts, &mut cut);
            assert_eq!(cut, whole, "in steps of {step}");
        }
    }
}

#[test]
fn the_sample_lowers_whole_and_in_pieces() {
    let bytes = made(1, 1_200_000);
    let records = read(&bytes);
    assert_eq!(notes(&records), []);
    assert_eq!(count(&records, "chunk"), 5);
    let whole = lower(&bytes);
    assert_eq!(whole.notes.total(), 0);
    let samples = count(&records, "jdk.ExecutionSample");
    let events = records.kinds().len() - 5 - 5 - 10;
    assert_eq!(whole.events.len(), events);
    let source = SliceSource::default().with("a.jfr", &FORMAT, &bytes);
    let split = FORMAT.split.unwrap();
    let pieces = split(&source, 0, &Limits::default()).unwrap().unwrap();
    assert_eq!(pieces.ranges.len(), 5);
    let pieces: Vec<Recording> = pieces
        .ranges
        .into_iter()
        .map(|range| try_lower(&Piece::new(&source, 0, range)).unwrap())
        .collect();
    let sum: usize = pieces.iter().map(|piece| piece.events.len()).sum();
    assert_eq!(sum, events);
    let of_cpu = |recording: &Recording| -> usize {
        let mut all = 0;
        for batch in &recording.samples {
            let profile = recording.profile(batch.profile).unwrap();
            let default = recording.value_type(profile.default.unwrap()).unwrap();
            all += usize::from(recording.text(default.name) == "cpu") * batch.len();
        }
        all
    };
    assert_eq!(of_cpu(&whole), samples);
    assert_eq!(pieces.iter().map(of_cpu).sum::<usize>(), samples);
}

#[test]
fn chunks_that_overlap_last_from_the_first_start_to_the_last_end() {
    let mut bytes = Vec::new();
    for (start_ns, duration_ns) in [(2_000, 60_000), (1_000, 50_000), (3_000, 60_000)] {
        let mut chunk = vector(true);
        chunk.header.start_time_ns = start_ns;
        chunk.header.duration_ns = duration_ns;
        bytes.extend(chunk.finish());
    }
    let time = |recording: &Recording| {
        let profile = recording.profiles.iter().flatten().next().unwrap();
        (profile.time, profile.duration)
    };
    assert_eq!(time(&lower(&bytes)), (Some(1_000), Some(62_000)));
    let source = SliceSource::default().with("a.jfr", &FORMAT, &bytes);
    let split = FORMAT.split.unwrap();
    let whole = split(&source, 0, &Limits::default())
        .unwrap()
        .unwrap()
        .whole;
    assert_eq!((whole.time, whole.duration), (1_000, 62_000));
}

#[test]
fn every_kind_of_value_is_kept() {
    let bytes = made(1, 100_000);
    let recording = lower(&bytes);
    let row = recording
        .events
        .iter()
        .find(|row| {
            let found = recording.event_type(row.event_type).unwrap();
            recording.text(found.name) == "com.acme.Everything"
        })
        .unwrap();
    let shown: Vec<String> = row
        .attributes
        .iter()
        .map(|attribute| show(&recording, &attribute.value))
        .collect();
    assert_eq!(
        shown[..5],
        ["true", "233u", "2.2250738585072014e-308", "-1", "-1"]
    );
    assert_eq!(
        shown[6],
        "[null, , from the pool, caf\u{e9}, a\u{20ac}, a\u{e9}]"
    );
    assert_eq!(shown[7], "{from: 1u, to: 18446744073709551615u}");
    assert!(shown[8].ends_with("{from: 3u, to: 4u}]"), "{}", shown[8]);
}

fn show(recording: &Recording, value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::I64(value) => value.to_string(),
        Value::U64(value) => format!("{value}u"),
        Value::F64(value) => format!("{value:e}"),
        Value::Bool(value) => value.to_string(),
        Value::Text(text) => recording.text(*text).into_owned(),
        Value::List(_, items) => {
            let items: Vec<String> = items.iter().map(|item| show(recording, item)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(pairs) => {
            let pair = |(key, value): &(Value, Value)| {
                format!("{}: {}", show(recording, key), show(recording, value))
            };
            format!(
                "{{{}}}",
                pairs.iter().map(pair).collect::<Vec<_>>().join(", ")
            )
        }
        other => format!("{other:?}"),
    }
}

const ODD: &[DescribedType] = &[
    // The class of an event loaded twice: two ids, one name.
    DescribedType(
        0x1_0000_0001,
        "com.acme.Twice",
        &[DescribedField("startTime", 11, How::Here, None)],
    ),
    DescribedType(
        0x1_0000_0002,
        "com.acme.Twice",
        &[DescribedField("startTime", 11, How::Here, None)],
    ),
    // Holds itself in place, which no value can.
    DescribedType(
        50,
        "com.acme.Self",
        &[DescribedField("inner", 50, How::Here, None)],
    ),
    DescribedType(
        51,
        "com.acme.Deep",
        &[DescribedField("inner", 51, How::Array, None)],
    ),
    DescribedType(
        52,
        "com.acme.Link",
        &[
            DescribedField("label", 20, How::Here, None),
            DescribedField("next", 52, How::Pool, None),
        ],
    ),
    DescribedType(53, "com.acme.Nothing", &[]),
    DescribedType(
        54,
        "com.acme.Crowd",
        &[DescribedField("nothing", 53, How::Array, None)],
    ),
    DescribedType(
        60,
        "com.acme.Odd",
        &[
            DescribedField("startTime", 11, How::Here, None),
            DescribedField("self", 50, How::Here, None),
        ],
    ),
    DescribedType(
        61,
        "com.acme.Nested",
        &[DescribedField("deep", 51, How::Here, None)],
    ),
    DescribedType(
        62,
        "com.acme.Linked",
        &[DescribedField("link", 52, How::Pool, None)],
    ),
    DescribedType(
        63,
        "com.acme.Crowded",
        &[DescribedField("crowd", 54, How::Here, None)],
    ),
];

#[test]
fn types_that_want_the_worst() {
    let mut chunk = ChunkBuilder::new(2, true, 0, 1);
    for id in [0x1_0000_0001, 0x1_0000_0002] {
        let body = chunk.bytes().long(1_001);
        chunk.event(id, &body);
    }
    let odd = chunk.bytes().long(1).raw(&[1; 200]);
    chunk.event(60, &odd);
    let nested = chunk.bytes().raw(&[1; 100]).raw(&[0]);
    chunk.event(61, &nested);
    let linked = chunk.bytes().long(1);
    chunk.event(62, &linked);
    let crowded = chunk.bytes().int(u32::MAX);
    chunk.event(63, &crowded);
    let link = |text: &str, next: u64| Bytes::new(true).text(text).long(next);
    chunk.checkpoint(&[(52, vec![(1, link("a", 2)), (2, link("b", 1))])]);
    chunk.metadata(&[TYPES, ODD]);
    let bytes = chunk.finish();
    let records = read(&bytes);
    assert_eq!(count(&records, "com.acme.Twice"), 2);
    let depth = ("limit_depth", Level::Damage);
    assert_eq!(notes(&records), [depth, depth]);
    let recording = lower(&bytes);
    let types: Vec<_> = recording.events.iter().map(|row| row.event_type).collect();
    assert_eq!(types.len(), 4);
    assert_eq!(types[0], types[1], "one event type for both ids");
    // One second into the chunk by a clock of one tick a second.
    assert_eq!(recording.events.time[0], 1_000_000_000);
    let row = recording.events.row(2).unwrap();
    let text = show(&recording, &row.attributes[0].value);
    assert!(
        text.starts_with("{label: a, next: {label: b, next: {label: a"),
        "{text}"
    );
    assert!(
        text.ends_with("{label: b, next: 1u}}}}}}}}"),
        "a circle ends as a number: {text}"
    );
}

#[test]
fn ends_that_headers_get_wrong() {
    let bytes = vector(true).finish();
    // Never finished, and another recording behind it.
    let mut open = vector(true);
    open.header.file_state = 1;
    open.header.metadata_offset = 0;
    let mut two = open.into_bytes();
    two.extend_from_slice(&bytes);
    let records = read(&two);
    assert_eq!(count(&records, "jdk.ExecutionSample"), 16);
    assert_eq!(notes(&records), [("unfinished_chunk", Level::Warn)]);
    // A size that swallows the next chunk, one that ends too early, and stray bytes between chunks.
    for (size, stray, expected) in [
        (1 << 40, 0, &["limit_record"][..]),
        (bytes.len() as u64 + 9, 0, &["chunk_size"]),
        (200, 0, &["chunk_size"]),
        (bytes.len() as u64, 5, &["stray_bytes"]),
    ] {
        let mut wrong = bytes.clone();
        wrong[8..16].copy_from_slice(&u64::to_be_bytes(size));
        wrong.extend(vec![0; stray]);
        wrong.extend_from_slice(&bytes);
        let records = read(&wrong);
        assert_eq!(count(&records, "jdk.ExecutionSample"), 16, "{size}");
        let kinds: Vec<_> = notes(&records).into_iter().map(|(kind, _)| kind).collect();
        assert_eq!(kinds, expected, "{size}");
        assert_eq!(lower(&wrong).events.len(), 16);
    }
    // The metadata is cut off: the types of the chunk before stand in.
    let mut cut = bytes.clone();
    cut.extend_from_slice(&bytes[..bytes.len() / 2]);
    let records = read(&cut);
    let kinds: Vec<_> = notes(&records).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds[..2], ["cut_chunk", "metadata_missing"]);
    assert_eq!(count(&records, "jdk.ExecutionSample"), 16);
    // Without any, events are still told apart.
    let records = read(&bytes[..bytes.len() / 2]);
    assert_eq!(count(&records, "event"), 8);
}

/// async-profiler pads sizes to five bytes: a bit above the 32nd is not a size that fits after all.
#[test]
fn a_size_above_32_bits_is_damage() {
    let mut chunk = vector(true);
    let at = chunk.out.len();
    let event = [0x8b, 0x80, 0x80, 0x80, 0x10, 101, 1, 1, 1, 1, 1];
    chunk.out.extend_from_slice(&event);
    let body = chunk.bytes().long(2_000).long(1).long(7).long(1);
    chunk.event(101, &body);
    let bytes = chunk.finish();
    let records = read(&bytes);
    assert_eq!(notes(&records), [("lost_bytes", Level::Damage)]);
    assert_eq!(records.notes()[0].offset, at as u64);
    assert_eq!(records.notes()[0].count, event.len() as u64);
    assert_eq!(count(&records, "jdk.ExecutionSample"), 9);
}

#[test]
fn other_versions_are_named() {
    let mut old = b"FLR\0\0\0\0\x09".to_vec();
    old.extend([0; 200]);
    let records = read(&old);
    assert_eq!(notes(&records), [("unsupported_version", Level::Damage)]);
    let error = try_lower(&SliceSource::default().with("a", &FORMAT, &old)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.message().starts_with("unsupported version 0.9"),
        "{error}"
    );
    let probe = |head: &[u8], name: &str| {
        (FORMAT.probe)(&Probe {
            head,
            whole: true,
            name,
            siblings: &[],
        })
    };
    assert_eq!(probe(&old, "x"), Some(Confidence::Certain));
    assert_eq!(probe(b"FLR", "x.jfr"), None);
    assert_eq!(
        probe(b"garbage FLR\0\0\x02\0\0", "x.jfr"),
        Some(Confidence::Possible)
    );
}

const TICKS: Option<(u64, &str)> = Some((40, "TICKS"));
const MORE: &[DescribedType] = &[
    DescribedType(
        110,
        "jdk.ObjectAllocationInNewTLAB",
        &[
            DescribedField("startTime", 11, How::Here, TICKS),
            DescribedField("eventThread", 22, How::Pool, None),
            DescribedField("stackTrace", 26, How::Pool, None),
            DescribedField("tlabSize", 11, How::Here, None),
        ],
    ),
    DescribedType(
        111,
        "jdk.NativeMethodSample",
        &[
            DescribedField("startTime", 11, How::Here, TICKS),
            DescribedField("sampledThread", 22, How::Pool, None),
            DescribedField("stackTrace", 26, How::Pool, None),
            DescribedField("state", 25, How::Pool, None),
        ],
    ),
];
/// A chunk of events by their types: execution samples and allocations.
fn sampled(events: &[u64]) -> Vec<u8> {
    let mut chunk = ChunkBuilder::new(2, true, 1_700_000_000_000_000_000, 1_000_000_000);
    for (at, &kind) in (0_u64..).zip(events) {
        let body = chunk.bytes().long(1_000 + at).long(1).long(7);
        let body = match kind {
            103 => body.long(1).long(1_000),
            110 => body.long(5_000),
            _ => body.long(1),
        };
        chunk.event(kind, &body);
    }
    chunk.metadata(&[TYPES, MORE]);
    chunk.finish()
}

/// Counts the samples that came before each profile was defined.
#[derive(Default)]
struct Announced {
    n_samples: usize,
    profiles: Vec<usize>,
}

impl traceloom_model::Sink for Announced {
    fn define(&mut self, new: traceloom_model::Definitions) -> traceloom_model::Flow {
        self.profiles
            .extend(new.profiles.iter().map(|_| self.n_samples));
        traceloom_model::Flow::Continue(())
    }

    fn samples(&mut self, batch: traceloom_model::SampleBatch) -> traceloom_model::Flow {
        self.n_samples += batch.len();
        traceloom_model::Flow::Continue(())
    }

    fn note(&mut self, _: traceloom_model::Note) -> traceloom_model::Flow {
        traceloom_model::Flow::Continue(())
    }
}

/// A target with one list of columns waits for a million samples at most.
#[test]
fn profiles_are_made_long_before_their_samples() {
    let allocations = [110; 40_000];
    let last = sampled(&[101, 111]);
    let one = sampled(&[&allocations[..], &[101, 111]].concat());
    let several = [sampled(&allocations), last.clone(), last].concat();
    for bytes in [one, several] {
        let source = SliceSource::default().with("a.jfr", &FORMAT, &bytes);
        let mut announced = Announced::default();
        FORMAT.lower.unwrap()(&source, &LowerOptions::default(), &mut announced).unwrap();
        assert!(announced.n_samples > 40_000);
        let [alloc, others @ ..] = announced.profiles.as_slice() else {
            panic!("no profile");
        };
        assert_eq!(*alloc, 0);
        assert!(others.len() >= 2);
        assert!(
            others[..2].iter().all(|&before| before < 20_000),
            "{others:?}"
        );
    }
}

#[test]
fn allocations_have_one_source_and_the_value_says_which() {
    let values = |bytes: &[u8]| {
        let recording = lower(bytes);
        let mut sums = Vec::new();
        for batch in &recording.samples {
            let profile = recording.profile(batch.profile).unwrap();
            let name = recording.value_type(profile.value_types[1]).unwrap().name;
            let sum: i64 = (0..batch.len()).map(|row| batch.values(row)[1]).sum();
            sums.push((recording.text(name).into_owned(), sum));
        }
        (sums, recording.events.len())
    };
    let of = |name: &str, sum: i64| (name.to_owned(), sum);
    // What both say counts once; the events of the other source are there all the same.
    let both = values(&sampled(&[103, 110, 103, 110]));
    assert_eq!(both, (vec![of("alloc_tlab", 10_000)], 4));
    let samples = values(&sampled(&[103, 103, 103]));
    assert_eq!(samples, (vec![of("alloc_sample", 3_000)], 3));
    // A thread in native code may wait there: that is no CPU time.
    let mixed = values(&sampled(&[101, 111, 111]));
    let expected = vec![of("cpu", 10_000_000), of("native", 20_000_000)];
    assert_eq!(mixed, (expected, 3));

    // The settings change between chunks: the source of all is the one that covers most of them.
    let chunks = |kinds: &[&[u64]]| {
        kinds
            .iter()
            .flat_map(|events| sampled(events))
            .collect::<Vec<u8>>()
    };
    let allocations = |bytes: &[u8]| {
        let (sums, n_events) = values(bytes);
        let whole: i64 = sums.iter().map(|(_, sum)| sum).sum();
        assert!(sums.iter().all(|(name, _)| *name == sums[0].0), "{sums:?}");
        let notes = lower(bytes).notes;
        let other = notes
            .kept()
            .iter()
            .filter(|note| note.kind == "other_allocations");
        let places: Vec<u64> = other.map(|note| note.offset).collect();
        (sums[0].0.clone(), whole, n_events, places, in_pieces(bytes))
    };
    let first = sampled(&[110, 110]).len() as u64;
    let pieces = |name: &str, sums: &[i64]| {
        let sums = sums.iter().map(|&sum| (name.to_owned(), sum));
        sums.collect::<Vec<_>>()
    };
    assert_eq!(
        allocations(&chunks(&[&[103, 110], &[103, 103]])),
        (
            "alloc_sample".to_owned(),
            3_000,
            4,
            vec![],
            pieces("alloc_sample", &[1_000, 2_000])
        )
    );
    assert_eq!(
        allocations(&chunks(&[&[103, 110], &[110, 103]])),
        (
            "alloc_tlab".to_owned(),
            10_000,
            4,
            vec![],
            pieces("alloc_tlab", &[5_000, 5_000])
        )
    );
    // Neither covers more: the events of buffers say more, and the other chunk is told.
    assert_eq!(
        allocations(&chunks(&[&[110, 110], &[103, 103]])),
        (
            "alloc_tlab".to_owned(),
            10_000,
            4,
            vec![first],
            pieces("alloc_tlab", &[10_000])
        )
    );
}

/// Lowers the pieces of a recording by themselves; returns the sums of the allocations of each.
fn in_pieces(bytes: &[u8]) -> Vec<(String, i64)> {
    let limits = Limits::default();
    let source = SliceSource::default().with("x.jfr", &FORMAT, bytes);
    let pieces = super::split::split(&source, 0, &limits).unwrap().unwrap();
    let mut sums = Vec::new();
    for range in pieces.ranges {
        let end = usize::try_from(range.end)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let start = usize::try_from(range.start).unwrap();
        let source = SliceSource::default().with("x.jfr", &FORMAT, &bytes[start..end]);
        let options = LowerOptions {
            whole: Some(pieces.whole),
            ..LowerOptions::default()
        };
        let mut recording = Recording::default();
        super::lower::lower(&source, &options, &mut recording).unwrap();
        for batch in &recording.samples {
            let profile = recording.profile(batch.profile).unwrap();
            let name = recording.value_type(profile.value_types[1]).unwrap().name;
            let sum: i64 = (0..batch.len()).map(|row| batch.values(row)[1]).sum();
            sums.push((recording.text(name).into_owned(), sum));
        }
    }
    sums
}

/// Adds up samples, as a sink that has no use for anything else.
#[derive(Default)]
struct Amounts {
    sums: std::collections::BTreeMap<(traceloom_model::ProfileId, usize), (u64, i128)>,
    n_stacks: usize,
    amounts_only: bool,
}

impl traceloom_model::Sink for Amounts {
    fn asks(&self) -> traceloom_model::Asks {
        traceloom_model::Asks {
            amounts_only: self.amounts_only,
            ..traceloom_model::Asks::default()
        }
    }

    fn define(&mut self, definitions: traceloom_model::Definitions) -> traceloom_model::Flow {
        self.n_stacks += definitions.stacks.len();
        traceloom_model::Flow::Continue(())
    }

    fn samples(&mut self, batch: traceloom_model::SampleBatch) -> traceloom_model::Flow {
        for row in 0..batch.len() {
            for (column, &value) in batch.values(row).iter().enumerate() {
                let sum = self.sums.entry((batch.profile, column)).or_default();
                *sum = (sum.0 + 1, sum.1 + i128::from(value));
            }
        }
        traceloom_model::Flow::Continue(())
    }

    fn note(&mut self, _: traceloom_model::Note) -> traceloom_model::Flow {
        traceloom_model::Flow::Continue(())
    }
}

#[test]
fn amounts_alone_are_those_of_samples_with_stacks() {
    for seed in 0..4 {
        let bytes = made(seed, 60_000);
        let source = SliceSource::default().with("a.jfr", &FORMAT, &bytes);
        let added_up = |amounts_only| {
            let mut amounts = Amounts {
                amounts_only,
                ..Amounts::default()
            };
            FORMAT.lower.unwrap()(&source, &LowerOptions::default(), &mut amounts).unwrap();
            amounts
        };
        let (whole, alone) = (added_up(false), added_up(true));
        assert!(!whole.sums.is_empty() && whole.n_stacks > 0, "seed {seed}");
        assert_eq!(alone.sums, whole.sums, "seed {seed}");
        assert_eq!(alone.n_stacks, 0, "seed {seed}");
    }
}
