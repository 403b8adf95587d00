//! Perfetto traces: there and back, and what other writers make of the format.
#![allow(missing_docs, reason = "a test")]

#[allow(dead_code, reason = "not every test needs all of it")]
mod raised;
#[allow(dead_code, reason = "not every test needs all of it")]
mod said;
#[allow(dead_code, reason = "not every test needs all of it")]
mod top;

use raised::raise;
use said::said;
use top::lowered;
use traceloom_formats::protobuf::{put_bytes, put_number};
use traceloom_formats::{Format, LowerOptions, SliceSource, by_name};
use traceloom_model::Recording;

fn perfetto() -> &'static Format {
    by_name("perfetto").expect("a format")
}

fn sampled(seed: u64, bytes: u64) -> Vec<u8> {
    let mut out = Vec::new();
    traceloom_samples::by_name(perfetto().name).expect("samples")(seed, bytes, &mut |piece| {
        out.extend_from_slice(piece)
    });
    out
}

fn differing(left: &[String], right: &[String]) -> Option<String> {
    let at = left
        .iter()
        .zip(right)
        .position(|(left, right)| left != right);
    let at = at.or((left.len() != right.len()).then_some(left.len().min(right.len())))?;
    Some(format!("{:?}\n{:?}", left.get(at), right.get(at)))
}

#[test]
fn a_trace_read_and_written_says_the_same() {
    let recording = lowered(perfetto(), &sampled(1, 200_000));
    assert!(recording.spans.len() > 1000 && !recording.links.is_empty());
    let again = lowered(perfetto(), &raise(perfetto(), &recording));
    assert_eq!(differing(&said(&recording), &said(&again)), None);
    assert_eq!(again.notes.total(), 0, "{:?}", again.notes.kept().first());
}

#[test]
fn everything_a_trace_can_hold_comes_back() {
    let recording = said::busy();
    let again = lowered(perfetto(), &raise(perfetto(), &recording));
    assert_eq!(differing(&said(&recording), &said(&again)), None);
    assert_eq!(again.notes.total(), 0, "{:?}", again.notes.kept().first());
}

/// A trace of packets of one sequence.
#[derive(Default)]
struct Packets(Vec<u8>);

impl Packets {
    fn put(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut packet = Vec::new();
        put_number(&mut packet, 10, 1);
        write(&mut packet);
        put_bytes(&mut self.0, 1, &packet);
    }

    /// Clocks that stood at these times together, the first one the primary.
    fn snapshot(&mut self, clocks: &[(u64, u64)]) {
        self.put(|packet| {
            let mut snapshot = Vec::new();
            for &(clock, time) in clocks {
                let mut reading = Vec::new();
                put_number(&mut reading, 1, clock);
                put_number(&mut reading, 2, time);
                put_bytes(&mut snapshot, 1, &reading);
            }
            put_number(&mut snapshot, 2, clocks[0].0);
            put_bytes(packet, 6, &snapshot);
        });
    }

    /// A slice of a track begins (1) or ends (2), by a clock.
    fn slice(&mut self, kind: u64, track: u64, (clock, time): (u64, u64), name: &str) {
        self.put(|packet| {
            let mut event = Vec::new();
            put_number(&mut event, 9, kind);
            put_number(&mut event, 11, track);
            put_bytes(&mut event, 23, name.as_bytes());
            put_number(packet, 8, time);
            put_number(packet, 58, clock);
            put_bytes(packet, 11, &event);
        });
    }
}

/// Reads a trace with room for so many slices that wait.
fn read_with_room(packets: &Packets, room: u64) -> Recording {
    let mut options = LowerOptions::default();
    options.limits.set("open_spans", room).unwrap();
    let input = SliceSource::default().with("trace.pftrace", perfetto(), &packets.0);
    let mut read = Recording::default();
    perfetto().lower.unwrap()(&input, &options, &mut read).unwrap();
    read
}

fn depths(recording: &Recording, name: &str) -> Vec<u32> {
    let rows = recording.spans.iter();
    let named = rows.filter(|row| {
        let function = row.function.map(|id| recording.function_name(id));
        function.is_some_and(|found| found == name)
    });
    named.map(|row| row.depth).collect()
}

#[test]
fn a_track_with_times_of_two_clocks_does_not_wait() {
    let mut packets = Packets::default();
    packets.snapshot(&[(6, 1_000_000), (64, 500)]);
    for call in 0..2000 {
        let at = 1_000_000 + call * 100;
        packets.slice(1, 7, (6, at), "outer");
        packets.slice(1, 7, (64, at + 10 - 999_500), "inner");
        packets.slice(2, 7, (6, at + 20), "");
        packets.slice(2, 7, (64, at + 30 - 999_500), "");
    }
    let recording = read_with_room(&packets, 16);
    assert_eq!(recording.notes.total(), 0, "{:?}", recording.notes.kept());
    assert_eq!(depths(&recording, "outer"), vec![0; 2000]);
    assert_eq!(depths(&recording, "inner"), vec![1; 2000]);
    assert!(recording.spans.iter().all(|row| row.end - row.start < 31));
}

#[test]
fn a_track_out_of_order_waits_for_what_may_be_late_alone() {
    let mut packets = Packets::default();
    // The second snapshot, at the end, says that the other clock went 200 ahead.
    packets.snapshot(&[(6, 1_000_000), (64, 500)]);
    for call in 0..2000 {
        let at = 1_000_000 + call * 1000;
        packets.slice(2, 7, (6, at + 300), "");
        packets.slice(1, 7, (6, at), "outer");
        packets.slice(2, 7, (64, at + 200 - 999_500), "");
        packets.slice(1, 7, (64, at + 100 - 999_500), "inner");
    }
    packets.snapshot(&[(6, 1_000_000 + 2_000_100), (64, 500 + 2_000_300)]);
    let recording = read_with_room(&packets, 600);
    assert_eq!(recording.notes.total(), 0, "{:?}", recording.notes.kept());
    assert_eq!(depths(&recording, "outer"), vec![0; 2000]);
    assert_eq!(depths(&recording, "inner"), vec![1; 2000]);
    // Without room they cannot wait.
    let recording = read_with_room(&packets, 100);
    let kinds = recording.notes.kept().iter().map(|note| note.kind);
    assert!(kinds.into_iter().any(|kind| kind == "limit_open_spans"));
}

#[test]
fn profiles_of_v8_are_samples_of_the_thread_of_their_sequence() {
    let mut packets = Packets::default();
    packets.snapshot(&[(6, 1_000_000), (3, 400_000)]);
    packets.put(|packet| {
        let (mut track, mut thread) = (Vec::new(), Vec::new());
        put_number(&mut track, 1, 7);
        put_number(&mut thread, 1, 40);
        put_number(&mut thread, 2, 41);
        put_bytes(&mut track, 4, &thread);
        put_bytes(packet, 60, &track);
        let (mut defaults, mut event) = (Vec::new(), Vec::new());
        put_number(&mut event, 11, 7);
        put_bytes(&mut defaults, 11, &event);
        put_bytes(packet, 59, &defaults);
    });
    let mut piece = |name: &str, at: u64, data: &str| {
        packets.put(|packet| {
            let (mut event, mut legacy, mut annotation) = (Vec::new(), Vec::new(), Vec::new());
            put_number(&mut legacy, 2, u64::from(b'P'));
            put_number(&mut legacy, 6, 1);
            put_bytes(&mut annotation, 10, b"data");
            put_bytes(&mut annotation, 9, data.as_bytes());
            put_number(&mut event, 11, 0);
            put_bytes(&mut event, 23, name.as_bytes());
            put_bytes(&mut event, 4, &annotation);
            put_bytes(&mut event, 6, &legacy);
            put_number(packet, 8, at);
            put_bytes(packet, 11, &event);
        });
    };
    piece("Profile", 1_100_000, r#"{"startTime":500}"#);
    piece(
        "ProfileChunk",
        1_200_000,
        r#"{"cpuProfile":{"nodes":[{"id":1,"callFrame":{"functionName":"price","url":"shop.js"}}],
            "samples":[1,1]},"timeDeltas":[10,20],"endTime":560}"#,
    );
    piece("Other", 1_300_000, "{}");
    let recording = read_with_room(&packets, 16);
    let notes = recording.notes.kept().iter();
    assert_eq!(
        notes.map(|note| note.kind).collect::<Vec<_>>(),
        ["other_sample"]
    );
    let [samples] = recording.samples.as_slice() else {
        panic!("{:?}", recording.samples);
    };
    // The monotonic clock is 600 µs behind.
    assert_eq!(samples.time, [Some(1_110_000), Some(1_130_000)]);
    assert_eq!(
        [samples.values(0), samples.values(1)],
        [[1, 20_000], [1, 30_000]]
    );
    assert_eq!(top::frames(&recording, samples.stack[1]).len(), 1);
    let track = recording.track(samples.track[0].unwrap()).unwrap();
    assert_eq!(track.os_id, Some(41));
}
