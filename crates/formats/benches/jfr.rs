//! Recordings: every event decoded and checked, against jfrs on the same bytes in the same run.
//!
//! `cargo bench -p traceloom-formats --bench jfr [-- FILE]`: FILE is a decompressed recording; else the
//! corpus' async-profiler.jfr, and the seeded sample where there is no corpus. Times are CPU seconds of
//! this process, the best of several rounds.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench reads a file and its arguments"
)]

use std::hint::black_box;
use std::io::{Cursor, Read as _};

use traceloom_formats::{LowerOptions, Record, RecordSink, SliceSource, by_name, read_slice};
use traceloom_model::{Asks, Definitions, Flow, Limits, Note, Sink};

const ROUNDS: usize = 7;

#[derive(Default)]
struct Count(u64);

impl RecordSink for Count {
    fn record(&mut self, record: &dyn Record) -> Flow {
        black_box(record.offset());
        self.0 += 1;
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        println!("{note:?}");
        Flow::Continue(())
    }
}

/// Takes samples, as a folded target does.
struct Samples;

impl Sink for Samples {
    fn asks(&self) -> Asks {
        Asks {
            sampled_events: false,
            ..Asks::default()
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        black_box(definitions);
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Takes everything and keeps nothing.
struct Everything;

impl Sink for Everything {
    fn define(&mut self, definitions: Definitions) -> Flow {
        black_box(definitions);
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn main() {
    let bytes = input();
    let format = by_name("jfr").unwrap();
    let mut events = 0;
    let decoded = best(|| {
        let mut count = Count::default();
        read_slice(
            format.reader(&Limits::default()).as_mut(),
            &bytes,
            &mut count,
        );
        events = count.0;
    });
    let mut theirs = 0;
    let jfrs = best(|| theirs = count_with_jfrs(&bytes));
    let samples = best(|| lower(&bytes, &mut Samples));
    let all = best(|| lower(&bytes, &mut Everything));
    let size = bytes.len() as f64;
    println!(
        "{} bytes, {events} records, {theirs} events for jfrs",
        bytes.len()
    );
    for (what, seconds) in [
        ("every record decoded and checked", decoded),
        ("jfrs, every event", jfrs),
        ("lowered to samples and other events", samples),
        ("lowered, sampled events twice", all),
    ] {
        println!(
            "{what:40} {:8.2} ms {:8.0} MB/s",
            seconds * 1e3,
            size / seconds / 1e6
        );
    }
    println!("{:.1} times faster than jfrs", jfrs / decoded);
}

fn lower(bytes: &[u8], sink: &mut dyn Sink) {
    let format = by_name("jfr").unwrap();
    let source = SliceSource::default().with("a.jfr", format, bytes);
    format.lower.unwrap()(&source, &LowerOptions::default(), sink).unwrap();
}

fn count_with_jfrs(bytes: &[u8]) -> u64 {
    let mut reader = jfrs::reader::JfrReader::new(Cursor::new(bytes));
    let mut events = 0;
    for (mut reader, chunk) in reader.chunks().flatten() {
        for event in reader.events(&chunk).flatten() {
            black_box(event.class.name());
            events += 1;
        }
    }
    events
}

fn input() -> Vec<u8> {
    if let Some(path) = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'))
    {
        return std::fs::read(path).unwrap();
    }
    let corpus = std::env::var("TRACELOOM_CORPUS")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").into());
    let mut bytes = Vec::new();
    match std::fs::read(format!("{corpus}/datakit/jfrp_async-profiler.jfr.gz")) {
        Ok(packed) => {
            flate2::read::GzDecoder::new(&packed[..])
                .read_to_end(&mut bytes)
                .unwrap();
        }
        Err(_) => {
            let sample = traceloom_samples::by_name("jfr").unwrap();
            sample(1, 8 << 20, &mut |piece| bytes.extend_from_slice(piece));
        }
    }
    bytes
}

fn best(mut work: impl FnMut()) -> f64 {
    let round = |_| {
        let begin = cpu_seconds();
        work();
        cpu_seconds() - begin
    };
    (0..ROUNDS).map(round).fold(f64::MAX, f64::min)
}

/// Processor time of this thread, from the kernel.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat
        .split(' ')
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}
