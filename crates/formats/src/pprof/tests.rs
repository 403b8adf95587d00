//! Vectors of one property each, and what must hold for any bytes.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use proptest::prelude::*;
use traceloom_model::{Level, Limits, Recording, Unit, Value};

use super::*;
use crate::protobuf::{put_bytes, put_number, put_packed};
use crate::{LowerOptions, Records, SliceSource, read_chunked, read_slice};

/// A message under construction.
#[derive(Default, Clone)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, number: u32, value: u64) -> Self {
        put_number(&mut self.0, number, value);
        self
    }

    fn bytes(mut self, number: u32, bytes: &[u8]) -> Self {
        put_bytes(&mut self.0, number, bytes);
        self
    }

    fn message(self, number: u32, message: Self) -> Self {
        self.bytes(number, &message.0)
    }

    fn packed(mut self, number: u32, values: &[u64]) -> Self {
        put_packed(&mut self.0, number, values.iter().copied());
        self
    }

    fn strings(self, texts: &[&str]) -> Self {
        texts
            .iter()
            .fold(self, |all, text| all.bytes(6, text.as_bytes()))
    }
}

fn message() -> Message {
    Message::default()
}

/// One column `cpu` in nanoseconds; strings from 3 on are the caller's.
fn profile() -> Message {
    message()
        .message(1, message().number(1, 1).number(2, 2))
        .strings(&["", "cpu", "nanoseconds"])
}

fn read(bytes: &[u8]) -> Records {
    let mut records = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), bytes, &mut records);
    records
}

fn lowered_within(bytes: &[u8], limits: Limits) -> Recording {
    let source = SliceSource::default().with("x.pprof", &FORMAT, bytes);
    let mut recording = Recording::default();
    let options = LowerOptions {
        limits,
        ..LowerOptions::default()
    };
    lower::lower(&source, &options, &mut recording).unwrap();
    recording
}

fn lowered(bytes: &[u8]) -> Recording {
    lowered_within(bytes, Limits::default())
}

fn notes(recording: &Recording) -> Vec<(Level, &'static str)> {
    recording
        .notes
        .counts()
        .map(|(level, kind, _)| (level, kind))
        .collect()
}

/// The frames of a sample, the innermost first: function, line, address and whether it is inlined.
fn frames(recording: &Recording, row: usize) -> Vec<(String, u32, u64, bool)> {
    let mut frames = Vec::new();
    let mut next = recording.samples[0].stack[row];
    while let Some(stack) = next.and_then(|id| recording.stack(id)) {
        let frame = recording.frame(stack.frame).unwrap();
        let name = frame
            .function
            .map_or("-".into(), |id| recording.function_name(id).into_owned());
        frames.push((name, frame.line, frame.address.unwrap_or(0), frame.inlined));
        next = stack.parent;
    }
    frames
}

#[test]
fn fields_are_shown_by_name() {
    let label = message().number(1, 3).number(3, 5).number(4, 2);
    let sample = message()
        .packed(1, &[1, 300])
        .packed(2, &[7])
        .message(3, label);
    let bytes = profile()
        .strings(&["size"])
        .message(2, sample)
        .number(9, 1_000)
        .0;
    let records = read(&bytes);
    let shown: Vec<&str> = records.rows().iter().map(|row| row.3.trim()).collect();
    assert_eq!(
        records.kinds(),
        [
            "sample_type",
            "string",
            "string",
            "string",
            "string",
            "sample",
            "time_nanos"
        ]
    );
    assert_eq!(shown[0], r#"type=Id("string", 1) unit=Id("string", 2)"#);
    assert!(
        shown[3].starts_with("index=Id(\"string\", 2) value=Text("),
        "{}",
        shown[3]
    );
    assert_eq!(
        shown[5],
        r#"location_id=List([Id("location", 1), Id("location", 300)]) value=List([I64(7)]) label=List([Map([(Str("key"), Id("string", 3)), (Str("str"), Id("string", 0)), (Str("num"), I64(5)), (Str("num_unit"), Id("string", 2))])])"#
    );
    assert_eq!(shown[6], "value=I64(1000)");
    assert_eq!(records.written(), bytes);
}

#[test]
fn packed_and_single_values_mean_the_same() {
    let locations = message()
        .message(4, message().number(1, 1).number(3, 0x10))
        .message(4, message().number(1, 2).number(3, 0x20));
    let packed = message().packed(1, &[1, 2]).packed(2, &[5]);
    let single = message().number(2, 5).number(1, 1).number(1, 2);
    let mixed = message().packed(1, &[1]).number(1, 2).packed(2, &[5]);
    let mut bytes = profile().0;
    bytes.extend(locations.0);
    for sample in [packed, single, mixed] {
        put_bytes(&mut bytes, 2, &sample.0);
    }
    assert_eq!(read(&bytes).written(), bytes);
    let recording = lowered(&bytes);
    assert_eq!(notes(&recording), []);
    assert_eq!(recording.samples[0].stack[0], recording.samples[0].stack[1]);
    assert_eq!(recording.samples[0].stack[0], recording.samples[0].stack[2]);
    assert_eq!(
        [0, 1, 2].map(|row| recording.samples[0].values(row)[0]),
        [5, 5, 5]
    );
}

#[test]
fn inlined_lines_are_frames() {
    let bytes = profile()
        .strings(&["leaf", "middle", "root", "x.go"])
        .message(5, message().number(1, 1).number(2, 3).number(4, 6))
        .message(5, message().number(1, 2).number(2, 4).number(3, 3))
        .message(5, message().number(1, 9).number(3, 5))
        .message(
            4,
            message()
                .number(1, 1)
                .number(3, 0x10)
                .message(4, message().number(1, 1).number(2, 11))
                .message(4, message().number(1, 2).number(2, 22)),
        )
        .message(
            4,
            message()
                .number(1, 700_000)
                .message(4, message().number(1, 9)),
        )
        .message(2, message().packed(1, &[1, 700_000]).packed(2, &[1]))
        .0;
    let recording = lowered(&bytes);
    assert_eq!(notes(&recording), []);
    let expected = [
        ("leaf".to_owned(), 11, 0x10, true),
        ("middle".to_owned(), 22, 0x10, false),
        ("root".to_owned(), 0, 0, false),
    ];
    assert_eq!(frames(&recording, 0), expected);
    let middle = recording
        .functions
        .iter()
        .flatten()
        .find(|row| row.system_name.is_some());
    assert_eq!(recording.text(middle.unwrap().system_name.unwrap()), "leaf");
}

#[test]
fn what_producers_get_wrong_is_noted_and_kept() {
    // Function and location with the id 0, a line without function, one too large, a location that is
    // nowhere, an empty one, a string beyond the table, too many values.
    let bytes = profile()
        .strings(&["f"])
        .bytes(6, b"caf\xe9")
        .message(5, message().number(2, 3))
        .message(4, message().message(4, message().number(2, 1 << 40)))
        .message(4, message().number(1, 2))
        .message(
            4,
            message().number(1, 3).message(4, message().number(1, 77)),
        )
        .message(2, message().packed(1, &[0, 2, 3, 55]).packed(2, &[1, 2]))
        .message(
            2,
            message()
                .packed(2, &[1])
                .message(3, message().number(1, 99).number(2, 4)),
        )
        .0;
    let recording = lowered(&bytes);
    let expected = [
        (Level::Warn, "empty_location"),
        (Level::Warn, "id_zero"),
        (Level::Warn, "invalid_text"),
        (Level::Warn, "line_out_of_range"),
        (Level::Damage, "function_id"),
        (Level::Damage, "location_id"),
        (Level::Damage, "string_index"),
        (Level::Damage, "value_count"),
    ];
    assert_eq!(notes(&recording), expected);
    let expected = [
        ("f".to_owned(), u32::MAX, 0, false),
        ("-".to_owned(), 0, 0, false),
        ("-".to_owned(), 0, 0, false),
        ("-".to_owned(), 0, 0, false),
    ];
    assert_eq!(frames(&recording, 0), expected);
    let Value::Text(text) = recording.samples[0].labels.row(1)[0].value else {
        panic!("a text");
    };
    assert_eq!(recording.string(text).unwrap().as_bytes(), b"caf\xe9");
}

#[test]
fn units_are_the_models() {
    let bytes = message()
        .message(1, message().number(1, 1).number(2, 2))
        .message(1, message().number(1, 1).number(2, 3))
        .message(1, message().number(1, 1).number(2, 1))
        .strings(&["", "wall", "milliseconds", "KiB", "size", "bytes", "count"])
        .message(
            2,
            message()
                .packed(2, &[3, 2, 1])
                .message(3, message().number(1, 4).number(3, 9).number(4, 5))
                .message(3, message().number(1, 4).number(3, 9).number(4, 6))
                .message(3, message().number(1, 4).number(3, 9))
                .message(3, message().number(1, 4)),
        )
        .message(2, message().packed(2, &[i64::MAX.cast_unsigned(), 0, 0]))
        .0;
    let recording = lowered(&bytes);
    assert_eq!(recording.samples[0].values(0), [3_000_000, 2048, 1]);
    assert_eq!(recording.samples[0].values(1), [i64::MAX, 0, 0]);
    assert_eq!(
        notes(&recording),
        [
            (Level::Info, "unit_scaled"),
            (Level::Damage, "value_out_of_range")
        ]
    );
    let labels = recording.samples[0].labels.row(0);
    let unit = |row: usize| recording.attribute_key(labels[row].key).unwrap().unit;
    assert_eq!(unit(0), Unit::Bytes);
    assert!(matches!(unit(1), Unit::Other(_)));
    assert_eq!(unit(2), Unit::Count);
    assert_eq!(labels[3].value, Value::Null);
}

#[test]
fn threads_and_times_of_labels() {
    let texts = [
        "thread id",
        "thread name",
        "end_timestamp_ns",
        "worker",
        "12",
    ];
    let bytes = profile()
        .strings(&texts)
        .message(
            2,
            message()
                .packed(2, &[1])
                .message(3, message().number(1, 3).number(2, 7))
                .message(3, message().number(1, 4).number(2, 6))
                .message(3, message().number(1, 5).number(3, 1_000)),
        )
        .0;
    let recording = lowered(&bytes);
    let batch = &recording.samples[0];
    let track = recording.track(batch.track[0].unwrap()).unwrap();
    assert_eq!((track.id, track.os_id), (Some(12), None));
    assert_eq!(recording.text(track.name.unwrap()), "worker");
    assert_eq!(batch.time, [Some(1_000)]);
    assert_eq!(batch.labels.row(0).len(), 3);
}

#[test]
fn wrong_wire_types_and_unknown_fields_are_kept() {
    let bytes = profile()
        .message(2, message().bytes(9, b"new").number(12, 5).packed(2, &[1]))
        .number(1, 5)
        .bytes(9, b"late")
        .number(31, 8)
        .message(2, message().packed(2, &[2]).number(3, 1))
        .0;
    let mut fixed = bytes.clone();
    fixed.extend([0x51, 1, 2, 3, 4, 5, 6, 7, 8, 0x55, 1, 2, 3, 4]);
    let records = read(&fixed);
    assert_eq!(records.written(), fixed);
    let kinds = [
        "sample", "unknown", "unknown", "unknown", "sample", "unknown", "unknown",
    ];
    assert_eq!(records.kinds()[4..], kinds);
    assert_eq!(records.notes().len(), 5);
    assert!(
        records
            .notes()
            .iter()
            .all(|note| note.kind == "wrong_wire_type")
    );
    let recording = lowered(&fixed);
    let samples: usize = recording.samples.iter().map(|batch| batch.len()).sum();
    assert_eq!(samples, 2);
    assert_eq!(
        notes(&recording),
        [
            (Level::Info, "unknown_field"),
            (Level::Warn, "wrong_wire_type")
        ]
    );
    let noted = recording.notes.counts().map(|(_, _, count)| count);
    assert_eq!(noted.collect::<Vec<_>>(), [1, 5]);
}

#[test]
fn varints_longer_than_needed_are_written_back() {
    let mut bytes = profile().0;
    bytes.extend([0x92, 0x00, 0x85, 0x00, 0x12, 0x83, 0x00, 0x81, 0x00]);
    let records = read(&bytes);
    assert_eq!(records.kinds().last(), Some(&"damage"));
    bytes.truncate(bytes.len() - 9);
    bytes.extend([0x92, 0x00, 0x84, 0x00, 0x12, 0x82, 0x81, 0x00]);
    bytes.extend([0x12, 0x05, 0x90, 0x00, 0x87, 0x80, 0x00]);
    let records = read(&bytes);
    assert_eq!(records.written(), bytes);
    assert_eq!(lowered(&bytes).samples[0].values(0), [7]);
}

#[test]
fn damage_is_stepped_over() {
    let mut bytes = Vec::new();
    traceloom_samples::by_name(FORMAT.name).unwrap()(1, 20_000, &mut |piece| {
        bytes.extend_from_slice(piece)
    });
    let clean = read(&bytes);
    let middle = clean.rows()[40].1;
    let at = usize::try_from(middle).unwrap();
    let mut torn = bytes[..at].to_vec();
    torn.extend([0xff; 300]);
    torn.extend_from_slice(&bytes[at..]);
    let records = read(&torn);
    assert_eq!(records.written(), torn);
    assert_eq!(records.notes().len(), 1);
    let note = &records.notes()[0];
    assert_eq!(
        (note.kind, note.offset, note.count),
        ("invalid_tag", middle, 300)
    );
    let mut kinds = clean.kinds();
    kinds.insert(40, "damage");
    assert_eq!(records.kinds(), kinds);
    // A length that runs past the end: what lies under it is found again.
    let mut long = bytes[..at].to_vec();
    long.extend([0x12, 0xff, 0xff, 0x7f]);
    long.extend_from_slice(&bytes[at..]);
    let records = read(&long);
    assert_eq!(records.kinds(), kinds);
    assert_eq!(records.notes()[0].kind, "truncated");
    assert_eq!(records.notes()[0].count, 4);
    let cut = read(&bytes[..at + 3]);
    assert_eq!(cut.kinds()[..40], clean.kinds()[..40]);
    assert_eq!(cut.kinds()[40..], ["damage"]);
}

#[test]
fn limits_hold() {
    let location = message().number(1, 1).number(3, 5);
    let bytes = profile()
        .strings(&["a string of some length"])
        .message(4, location)
        .message(2, message().packed(1, &[1; 50]).packed(2, &[1]))
        .message(2, message().packed(1, &[1, 1]).packed(2, &[1]))
        .0;
    let within = |name: &str, value: u64| {
        let mut limits = Limits::default();
        limits.set(name, value).unwrap();
        lowered_within(&bytes, limits)
    };
    assert_eq!(
        notes(&within("string", 16)),
        [(Level::Damage, "limit_string")]
    );
    assert_eq!(
        notes(&within("values", 20)),
        [(Level::Damage, "limit_values")]
    );
    let deep = within("depth", 10);
    assert_eq!(notes(&deep), [(Level::Damage, "limit_depth")]);
    assert_eq!(frames(&deep, 0).len(), 10);
    assert!(deep.stacks.iter().flatten().any(|stack| stack.truncated));
    assert_eq!(frames(&deep, 1).len(), 2);
    assert_eq!(
        notes(&within("table", 2)),
        [
            (Level::Damage, "limit_table"),
            (Level::Damage, "string_index")
        ]
    );
    let mut limits = Limits::default();
    limits.set("record", 30).unwrap();
    let mut records = Records::default();
    read_slice(&mut Reader::new(&limits), &bytes, &mut records);
    assert_eq!(records.notes()[0].kind, "limit_record");
    assert_eq!(records.written(), bytes);
}

#[test]
fn a_length_that_lies_allocates_nothing() {
    for length in [
        [0xff, 0xff, 0xff, 0xff, 0x0f],
        [0xff, 0xff, 0xff, 0xff, 0x7f],
    ] {
        let mut bytes = vec![0x12];
        bytes.extend(length);
        let records = read(&bytes);
        assert_eq!(records.kinds(), ["damage"]);
        assert_eq!(records.written(), bytes);
    }
}

fn made(seed: u64, bytes: u64) -> Vec<u8> {
    let mut made = Vec::new();
    traceloom_samples::by_name(FORMAT.name).unwrap()(seed, bytes, &mut |piece| {
        made.extend_from_slice(piece)
    });
    made
}

/// Bytes in windows no larger than what was asked for.
struct Drip<'a>(Vec<crate::Part>, &'a [u8]);

struct Dripping<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl crate::Pull for Dripping<'_> {
    fn pull(&mut self, consumed: usize, need: usize) -> Result<crate::Chunk<'_>, crate::Error> {
        self.at += consumed;
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let window = rest.get(..need.max(1)).unwrap_or(rest);
        Ok(crate::Chunk {
            bytes: window,
            offset: self.at as u64,
            eof: window.len() == rest.len(),
        })
    }
}

impl crate::Source for Drip<'_> {
    fn parts(&self) -> &[crate::Part] {
        &self.0
    }

    fn open(&self, _part: usize, offset: u64) -> Result<Box<dyn crate::Pull + '_>, crate::Error> {
        Ok(Box::new(Dripping {
            bytes: self.1,
            at: usize::try_from(offset).unwrap(),
        }))
    }
}

#[test]
fn windows_do_not_change_what_is_lowered() {
    let bytes = made(9, 40_000);
    let part = crate::Part {
        name: "x.pprof".to_owned(),
        format: Some(&FORMAT),
        size: None,
    };
    let mut dripped = Recording::default();
    let source = Drip(vec![part], &bytes);
    lower::lower(&source, &LowerOptions::default(), &mut dripped).unwrap();
    let whole = lowered(&bytes);
    assert_eq!(dripped.samples, whole.samples);
    assert_eq!(dripped.strings, whole.strings);
    assert_eq!(dripped.stacks, whole.stacks);
    assert_eq!(dripped.frames, whole.frames);
    assert_eq!(whole.notes.total(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any bytes: records tile them, cuts do not matter, and both decoders lose the same places.
    #[test]
    fn any_bytes(
        seed in 0_u64..50,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        noise in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        step in 1_usize..3000,
    ) {
        let mut bytes = made(seed, 6_000);
        for (place, value) in flips {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let place = at.index(bytes.len());
        bytes.splice(place..place, noise);
        bytes.truncate(cut.index(bytes.len()) + 1);
        let whole = read(&bytes);
        prop_assert!(whole.written() == bytes);
        let mut offset = 0;
        for row in whole.rows() {
            prop_assert_eq!(row.1, offset);
            offset += row.2;
        }
        let mut chunked = Records::default();
        let cuts = (1..).map(|n| n * step);
        read_chunked(&mut Reader::new(&Limits::default()), &bytes, cuts, &mut chunked);
        prop_assert!(chunked == whole);
        let recording = lowered(&bytes);
        let lost = |kind: &str| kind == "malformed" || kind.starts_with("invalid_t") || kind == "truncated";
        let ours: Vec<u64> = whole.notes().iter().filter(|note| lost(note.kind)).map(|note| note.offset).collect();
        let mut theirs: Vec<u64> = recording.notes.kept().iter()
            .filter(|note| lost(note.kind) && note.kind != "invalid_text")
            .map(|note| note.offset).collect();
        theirs.sort_unstable();
        let mut sorted = ours;
        sorted.sort_unstable();
        prop_assert_eq!(theirs, sorted);
        let samples = whole.kinds().iter().filter(|&&kind| kind == "sample").count();
        let lowered_samples: usize = recording.samples.iter().map(|batch| batch.len()).sum();
        prop_assert_eq!(samples, lowered_samples);
    }

    #[test]
    fn garbage(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let records = read(&bytes);
        prop_assert!(records.written() == bytes);
        lowered(&bytes);
    }
}
