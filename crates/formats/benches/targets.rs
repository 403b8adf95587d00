//! Every target against its source: what a conversion takes, a second of processor time.
//!
//! `cargo bench -p traceloom-formats --bench targets [-- MEGABYTES [SOURCE…] [to TARGET…]]`. Inputs are
//! generated from a seed, in memory, 200 MB each unless asked otherwise. A line says how fast the conversion is by its
//! output and by its input, how fast the writer alone is (the conversion less the lowering it begins with),
//! and the conversion's input speed as a share of the source's decoding and of its lowering. The project
//! wants 300 MB/s of output of JSON, and half of the source's decoding of binary targets.

#![allow(clippy::unwrap_used, reason = "a bench")]

use std::collections::BTreeMap;
use std::hint::black_box;

use traceloom_formats::{
    Error, Format, LowerOptions, Output, RaiseOptions, Record, RecordSink, SliceSource, by_name,
    read_slice,
};
use traceloom_model::{Definitions, Feature, Flow, Limits, Note, SampleBatch, Sink, SpanBatch};

/// The allocator of the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SOURCES: [&str; 6] = [
    "cdt-dump",
    "heph",
    "zorka-c",
    "tptp-binary",
    "pprof",
    "perfetto",
];

const TARGETS: [&str; 14] = [
    "chrome",
    "speedscope",
    "firefox",
    "csv",
    "perfetto",
    "otlp-profiles",
    "pprof",
    "heph",
    "zorka-s0",
    "zorka-b2",
    "zorka-c",
    "tptp-binary",
    "cdt-dump",
    "folded",
];

/// Counts bytes.
#[derive(Default)]
struct Counted(u64);

impl Output for Counted {
    fn write(&mut self, _: &str, bytes: &[u8]) -> Result<(), Error> {
        self.0 += black_box(bytes).len() as u64;
        Ok(())
    }
}

/// Takes records, or rows, and keeps none.
#[derive(Default)]
struct Seen {
    spans: u64,
    samples: u64,
}

impl RecordSink for Seen {
    fn record(&mut self, record: &dyn Record) -> Flow {
        black_box(record.len());
        Flow::Continue(())
    }

    fn note(&mut self, _: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Sink for Seen {
    fn define(&mut self, new: Definitions) -> Flow {
        black_box(new);
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.spans += black_box(batch).len() as u64;
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.samples += black_box(batch).len() as u64;
        Flow::Continue(())
    }

    fn note(&mut self, _: Note) -> Flow {
        Flow::Continue(())
    }
}

/// An input in memory: one file, or the streams of a process.
struct Input {
    parts: Vec<(String, &'static Format, Vec<u8>)>,
}

impl Input {
    fn new(name: &str, bytes: u64) -> Self {
        let format = by_name(name).unwrap();
        if let Some(sample) = traceloom_samples::by_name(format.name) {
            let mut whole = Vec::new();
            sample(7, bytes, &mut |piece| whole.extend_from_slice(piece));
            return Self {
                parts: vec![("sample".to_owned(), format, whole)],
            };
        }
        // A dump has a fourth more than its trace.
        let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        traceloom_samples::cdt::dump(7, bytes / 5 * 4, "shop", &mut files).unwrap();
        let parts = files.into_iter().filter_map(|(name, bytes)| {
            let stream = name.rsplit('/').nth(1)?;
            let known = by_name(&format!("cdt-{stream}")).or_else(|| by_name("cdt-strings"));
            Some((name.clone(), known?, bytes))
        });
        Self {
            parts: parts.collect(),
        }
    }

    fn len(&self) -> usize {
        self.parts.iter().map(|(_, _, bytes)| bytes.len()).sum()
    }

    fn decode(&self) {
        for (_, format, bytes) in &self.parts {
            let mut reader = format.reader(&Limits::default());
            read_slice(reader.as_mut(), bytes, &mut Seen::default());
        }
    }

    fn lower(&self, format: &Format, sink: &mut dyn Sink) {
        let mut source = SliceSource::default();
        for (name, format, bytes) in &self.parts {
            source = source.with(name, format, bytes);
        }
        format.lower.unwrap()(&source, &LowerOptions::default(), sink).unwrap();
    }
}

/// Least seconds of processor time of three runs.
fn seconds(mut work: impl FnMut()) -> f64 {
    let run = |_| {
        let start = cpu_time::ThreadTime::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..3).map(run).fold(f64::INFINITY, f64::min)
}

/// Returns true if a target holds what a source has.
fn fits(target: &Format, seen: &Seen) -> bool {
    let spans = seen.spans > 0 && target.holds.holds(Feature::Spans);
    spans || seen.samples > 0 && target.holds.holds(Feature::Samples)
}

/// Returns what of `all` is among the words, all of it when nothing is.
fn asked(words: &[String], all: &[&'static str]) -> Vec<&'static str> {
    let chosen = all
        .iter()
        .filter(|name| words.iter().any(|word| word == *name));
    let chosen: Vec<&str> = chosen.copied().collect();
    if chosen.is_empty() {
        all.to_vec()
    } else {
        chosen
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the library takes no arguments, its bench does"
)]
fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let megabytes = words.iter().find_map(|word| word.parse::<u64>().ok());
    let to = words.iter().position(|word| word == "to");
    let (from, to) = words.split_at(to.unwrap_or(words.len()));
    println!(
        "{:11} {:13} {:>9} {:>8} {:>8} {:>8} {:>7} {:>7}",
        "source", "target", "output", "output", "writer", "input", "of its", "of its"
    );
    println!(
        "{:11} {:13} {:>9} {:>8} {:>8} {:>8} {:>7} {:>7}",
        "", "", "MB", "MB/s", "MB/s", "MB/s", "decode", "lower"
    );
    for source in asked(from, &SOURCES) {
        let input = Input::new(source, megabytes.unwrap_or(200) * 1_000_000);
        let format = by_name(source).unwrap();
        let bytes = input.len() as f64 / 1e6;
        let decode = seconds(|| input.decode());
        let mut seen = Seen::default();
        let lower = seconds(|| {
            seen = Seen::default();
            input.lower(format, &mut seen);
        });
        println!(
            "{source:11} {:13} {:>9} {:>8} {:>8} {:>8.0}",
            "decode",
            "",
            "",
            "",
            bytes / decode
        );
        println!(
            "{source:11} {:13} {:>9} {:>8} {:>8} {:>8.0} {:>6.0}%",
            "lower",
            "",
            "",
            "",
            bytes / lower,
            100.0 * decode / lower
        );
        let targets = asked(to, &TARGETS).into_iter().filter_map(by_name);
        for target in targets.filter(|target| fits(target, &seen)) {
            let mut size = 0;
            let whole = seconds(|| {
                let mut out = Counted::default();
                let raise = target.raise.unwrap();
                let mut writer = raise(&RaiseOptions::default(), &mut out).unwrap();
                input.lower(format, writer.as_mut());
                writer.finish().unwrap();
                drop(writer);
                size = out.0;
            });
            let output = size as f64 / 1e6;
            println!(
                "{source:11} {:13} {output:>9.1} {:>8.0} {:>8.0} {:>8.0} {:>6.0}% {:>6.0}%",
                target.name,
                output / whole,
                output / (whole - lower).max(1e-9),
                bytes / whole,
                100.0 * decode / whole,
                100.0 * lower / whole,
            );
        }
    }
}
