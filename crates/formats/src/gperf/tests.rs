//! Vectors of one property each.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use traceloom_model::{Level, Limits, Recording};

use super::*;
use crate::{LowerOptions, Records, SliceSource, read_chunked, read_slice};

fn words(words: &[u64], size: usize, big: bool) -> Vec<u8> {
    let bytes = |&word: &u64| {
        let bytes = word.to_be_bytes();
        let mut bytes = bytes[8 - size..].to_vec();
        if !big {
            bytes.reverse();
        }
        bytes
    };
    words.iter().flat_map(bytes).collect()
}

const PROFILE: [u64; 16] = [
    0, 3, 0, 10_000, 0, 2, 2, 0x40_1000, 0x40_2001, 1, 1, 0x50_0000, 5, 2, 0x40_1000, 0x40_3001,
];

fn recording(format: &'static Format, bytes: &[u8]) -> Recording {
    let source = SliceSource::default().with("x", format, bytes);
    let mut recording = Recording::default();
    format.lower.unwrap()(&source, &LowerOptions::default(), &mut recording).unwrap();
    recording
}

#[test]
fn every_word_size_and_order() {
    for (size, big) in [(4, false), (4, true), (8, false), (8, true)] {
        let mut bytes = words(&PROFILE, size, big);
        bytes.extend(words(&[0, 1, 0], size, big));
        bytes.extend(b"400000-500000: /srv/app\nbuild=x\n");
        let mut records = Records::default();
        read_slice(
            &mut CpuReader::new(&Limits::default()),
            &bytes,
            &mut records,
        );
        let kinds = [
            "header", "sample", "sample", "sample", "end", "mapping", "line",
        ];
        assert_eq!(records.kinds(), kinds);
        assert_eq!(records.written(), bytes);
        assert_eq!(records.notes(), []);
        let recording = recording(&CPU, &bytes);
        let batch = &recording.samples[0];
        assert_eq!([0, 1, 2].map(|row| batch.values(row)[0]), [2, 1, 5]);
        assert_eq!(batch.values(2)[1], 50_000_000);
        let leaf = recording.stack(batch.stack[0].unwrap()).unwrap();
        let caller = recording.stack(leaf.parent.unwrap()).unwrap();
        let frame = recording.frame(caller.frame).unwrap();
        assert_eq!(frame.address, Some(0x40_2000));
        let file = recording.mapping(frame.mapping.unwrap()).unwrap().file;
        assert_eq!(recording.text(file.unwrap()), "/srv/app");
        let outside = recording.stack(batch.stack[1].unwrap()).unwrap();
        assert_eq!(recording.frame(outside.frame).unwrap().mapping, None);
    }
}

#[test]
fn frames_of_the_signal_handler_are_removed() {
    let mut all = vec![0, 3, 0, 10_000, 0];
    for sample in 0..64 {
        all.extend([1, 4, 0x40_0000 + sample, 0x7f01, 0x7f11, 0x40_1001]);
    }
    // One of 64 has no handler; another has its innermost frame twice.
    all.extend([1, 2, 0x40_0100, 0x40_1001]);
    all.extend([1, 4, 0x40_0200, 0x7f01, 0x7f11, 0x40_0200]);
    all.extend([0, 1, 0]);
    let recording = recording(&CPU, &words(&all, 8, false));
    let depth = |row: usize| {
        let mut depth = 0;
        let mut next = recording.samples[0].stack[row];
        while let Some(stack) = next {
            depth += 1;
            next = recording.stack(stack).unwrap().parent;
        }
        depth
    };
    assert_eq!([0, 63, 64, 65].map(depth), [2, 2, 2, 1]);
}

#[test]
fn torn_profiles_keep_what_they_have() {
    let mut bytes = words(&PROFILE, 8, false);
    bytes.extend([7; 11]);
    let mut whole = Records::default();
    read_slice(&mut CpuReader::new(&Limits::default()), &bytes, &mut whole);
    assert_eq!(
        whole.kinds(),
        ["header", "sample", "sample", "sample", "damage"]
    );
    assert_eq!(whole.written(), bytes);
    assert_eq!(whole.notes().len(), 1);
    assert_eq!(
        (
            whole.notes()[0].kind,
            whole.notes()[0].offset,
            whole.notes()[0].count
        ),
        ("truncated", 128, 11)
    );
    for size in 1..50 {
        let mut cut = Records::default();
        let cuts = (1..).map(|n| n * size);
        read_chunked(
            &mut CpuReader::new(&Limits::default()),
            &bytes,
            cuts,
            &mut cut,
        );
        assert!(cut == whole, "chunks of {size}");
    }
    assert_eq!(recording(&CPU, &bytes).samples[0].len(), 3);
    for cut in 0..bytes.len() {
        let mut records = Records::default();
        read_slice(
            &mut CpuReader::new(&Limits::default()),
            &bytes[..cut],
            &mut records,
        );
        assert_eq!(records.written(), &bytes[..cut]);
    }
}

#[test]
fn a_depth_that_lies_allocates_nothing() {
    let bytes = words(&[0, 3, 0, 10_000, 0, 1, u64::MAX / 2, 5], 8, false);
    let mut records = Records::default();
    read_slice(
        &mut CpuReader::new(&Limits::default()),
        &bytes,
        &mut records,
    );
    assert_eq!(records.kinds(), ["header", "damage"]);
    assert_eq!(records.notes()[0].kind, "limit_values");
    assert_eq!(records.written(), bytes);
}

#[test]
fn heap_lines() {
    let text = b"heap profile:      3:     3000 [     9:     9000] @ heap_v2/1000\n\
        \x20    1:     1000 [     1:     1000] @ 0x401001 0x402001\n\
        1: 10 [2: 20] @\n# comment\nnonsense\n     0:        0 [     5:     5000] @ 0x401001\n\
        --- Memory map: ---\n  app=/srv/app\n  00400000-00500000: $app/main\n";
    let mut records = Records::default();
    read_slice(&mut HeapReader::new(&Limits::default()), text, &mut records);
    let kinds = [
        "header", "sample", "sample", "line", "damage", "sample", "line", "line", "mapping",
    ];
    assert_eq!(records.kinds(), kinds);
    assert_eq!(records.written(), text);
    assert_eq!(records.notes()[0].kind, "no_sample");
    let recording = recording(&HEAP, text);
    let batch = &recording.samples[0];
    assert_eq!(batch.width(), 4);
    // 1 / (1 - e^-1) = 1.5819...
    assert_eq!(batch.values(0), [1, 1581, 1, 1581]);
    assert_eq!(batch.stack[1], None);
    assert_eq!(batch.values(2)[2..], [0, 0]);
    let file = recording.mappings[0].as_ref().unwrap().file.unwrap();
    assert_eq!(recording.text(file), "/srv/app/main");
    assert_eq!(recording.notes.worst(), Some(Level::Damage));
}
