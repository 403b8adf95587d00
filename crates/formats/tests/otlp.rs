//! OpenTelemetry profiles: there and back, and the layouts of the versions.
#![allow(missing_docs, reason = "a test")]

#[allow(dead_code, reason = "not every test needs all of it")]
mod raised;
#[allow(dead_code, reason = "not every test needs all of it")]
mod top;

use raised::{raise, words};
use top::{lowered, top};
use traceloom_formats::{Format, by_name};

fn otlp() -> &'static Format {
    by_name("otlp-profiles").expect("a format")
}

fn sampled(format: &'static Format, seed: u64, bytes: u64) -> Vec<u8> {
    let mut out = Vec::new();
    traceloom_samples::by_name(format.name).expect("samples")(seed, bytes, &mut |piece| {
        out.extend_from_slice(piece)
    });
    out
}

#[test]
fn profiles_read_and_written_say_the_same() {
    let recording = lowered(otlp(), &sampled(otlp(), 1, 60_000));
    assert!(
        recording
            .samples
            .iter()
            .map(|batch| batch.len())
            .sum::<usize>()
            > 100
    );
    let again = lowered(otlp(), &raise(otlp(), &recording));
    for (left, right) in words(&recording).iter().zip(words(&again)) {
        assert_eq!(*left, right);
    }
    assert_eq!(again.notes.total(), 0, "{:?}", again.notes.kept().first());
}

#[test]
fn a_profile_of_pprof_has_the_same_totals() {
    let pprof = by_name("pprof").expect("a format");
    let recording = lowered(pprof, &sampled(pprof, 2, 60_000));
    let again = lowered(otlp(), &raise(otlp(), &recording));
    // The second column became a profile of its own.
    let ours = top(&recording, 0);
    let mut first = again;
    first.samples.retain(|batch| batch.profile.raw() == 0);
    assert_eq!(top(&first, 0), ours);
}

fn field(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![
        number << 3 | 2,
        u8::try_from(body.len()).expect("a short field"),
    ];
    out.extend(body);
    out
}

/// A message of one profile with these samples, two attributes and two stacks.
fn message(samples: &[&[u8]]) -> Vec<u8> {
    let mut profile = field(1, &[0x08, 1, 0x10, 2]);
    for sample in samples {
        profile.extend(field(2, sample));
    }
    let scope = field(2, &profile);
    let resource = field(2, &scope);
    let mut out = field(1, &resource);
    let mut dictionary = Vec::new();
    for text in ["", "cpu", "count", "key"] {
        dictionary.extend(field(5, text.as_bytes()));
    }
    for table in [1, 2, 3, 4, 6, 7] {
        dictionary.extend(field(table, &[]));
    }
    dictionary.extend(field(6, &[0x08, 3, 0x12, 2, 0x18, 5]));
    dictionary.extend(field(2, &[0x10, 0x40]));
    dictionary.extend(field(7, &[0x0a, 1, 1]));
    out.extend(field(2, &dictionary));
    out
}

fn values(samples: &[&[u8]]) -> (Vec<(i64, usize, bool)>, bool) {
    let recording = lowered(otlp(), &message(samples));
    let rows = recording.samples.iter().flat_map(|batch| batch.iter());
    let rows = rows
        .map(|row| (row.values[0], row.labels.len(), row.time.is_some()))
        .collect();
    let notes: Vec<_> = recording
        .notes
        .kept()
        .iter()
        .map(|note| note.kind)
        .collect();
    assert!(notes.iter().all(|kind| *kind == "layout_1_9"), "{notes:?}");
    (rows, !notes.is_empty())
}

#[test]
fn layouts_of_a_sample_are_told_by_what_it_holds() {
    let time = [0x2a, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    let with_time = |head: &[u8]| [head, &time].concat();
    // Stack, attributes, values: version 1.10.
    assert_eq!(
        values(&[&[8, 1, 0x12, 1, 1, 0x22, 1, 9]]),
        (vec![(9, 1, false)], false)
    );
    // Stack, values, attributes: version 1.9.
    assert_eq!(
        values(&[&[8, 1, 0x12, 1, 9, 0x1a, 1, 1]]),
        (vec![(9, 1, false)], true)
    );
    // A value alone, in both.
    assert_eq!(values(&[&[8, 1, 0x22, 1, 9]]), (vec![(9, 0, false)], false));
    assert_eq!(values(&[&[8, 1, 0x12, 1, 9]]), (vec![(9, 0, false)], true));
    // A value with a link in 1.9, an attribute and a link and a timestamp in 1.10.
    assert_eq!(
        values(&[&[8, 1, 0x12, 1, 9, 0x20, 0]]),
        (vec![(9, 0, false)], true)
    );
    assert_eq!(
        values(&[&with_time(&[8, 1, 0x12, 1, 1, 0x18, 0])]),
        (vec![(1, 1, true)], false)
    );
    // Values with timestamps: 9 is no attribute of this message, 1 is one.
    assert_eq!(
        values(&[&with_time(&[8, 1, 0x12, 1, 9])]),
        (vec![(9, 0, true)], true)
    );
    assert_eq!(
        values(&[&with_time(&[8, 1, 0x12, 1, 1])]),
        (vec![(1, 1, true)], false)
    );
}

#[test]
fn messages_end_to_end_keep_their_dictionaries() {
    let mut two = message(&[&[8, 1, 0x12, 1, 1, 0x22, 1, 9]]);
    two.extend(message(&[&[8, 1, 0x12, 1, 9, 0x1a, 1, 1]]));
    let recording = lowered(otlp(), &two);
    let values: Vec<i64> = recording
        .samples
        .iter()
        .flat_map(|batch| batch.iter())
        .map(|row| row.values[0])
        .collect();
    assert_eq!(values, [9, 9]);
    assert_eq!(recording.profiles.len(), 2);
}
