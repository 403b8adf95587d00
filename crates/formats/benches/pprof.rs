//! How fast profiles decode, against prost on the same bytes in the same run.
//!
//! `cargo bench -p traceloom-formats --bench pprof [-- FILE]`: FILE is a decompressed profile, else the
//! seeded sample of the format is used. Times are CPU seconds of this process, the best of the rounds.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    reason = "a bench reads a file and its arguments"
)]

use std::hint::black_box;

use prost::Message as _;
use traceloom_formats::{
    LowerOptions, Record, RecordSink, SlicePull, SliceSource, by_name, pprof, read_slice,
};
use traceloom_model::{Definitions, Flow, Limits, Note, SampleBatch, Sink};

mod cpu;
mod schema;

const ROUNDS: usize = 15;

#[derive(Default)]
struct Count(u64);

impl RecordSink for Count {
    fn record(&mut self, _record: &dyn Record) -> Flow {
        self.0 += 1;
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Sink for Count {
    fn define(&mut self, _definitions: Definitions) -> Flow {
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.0 += batch.len() as u64;
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn columns(bytes: &[u8]) -> usize {
    let limits = Limits::default();
    let mut note = |_| Flow::Continue(());
    let tables = pprof::decode::tables(&mut SlicePull::new(bytes, 0), &limits, &mut note);
    let tables = black_box(tables.expect("bytes in memory").expect("no sink broke"));
    let mut seen = 0;
    let mut see = |block: &pprof::Samples| {
        seen += black_box(block).len();
        Flow::Continue(())
    };
    for stretch in &tables.sample {
        let pull = &mut SlicePull::new(bytes, stretch.start);
        let until = stretch.end;
        pprof::decode::samples(pull, until, &limits, &mut note, &mut see).expect("in memory");
    }
    seen
}

fn main() {
    let file = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let bytes = match file {
        Some(path) => std::fs::read(path).expect("a readable file"),
        None => {
            let mut bytes = Vec::new();
            let make = traceloom_samples::by_name(pprof::FORMAT.name).expect("a generator");
            make(7, 2_500_000, &mut |piece| bytes.extend_from_slice(piece));
            bytes
        }
    };
    let format = by_name("pprof").expect("a format");
    let samples = schema::Profile::decode(bytes.as_slice())
        .expect("a profile")
        .sample
        .len();
    assert_eq!(columns(&bytes), samples);
    println!("{} bytes, {samples} samples", bytes.len());
    let prost = cpu::best(ROUNDS, || {
        black_box(schema::Profile::decode(bytes.as_slice()).expect("a profile"));
    });
    let report = |what: &str, seconds: f64| {
        println!(
            "{what:<28} {:8.3} ms {:7.0} MB/s {:6.2} x prost",
            seconds * 1e3,
            bytes.len() as f64 / seconds / 1e6,
            prost / seconds
        );
    };
    report("prost decode", prost);
    report(
        "columns (every field)",
        cpu::best(ROUNDS, || {
            black_box(columns(&bytes));
        }),
    );
    report(
        "records (dump)",
        cpu::best(ROUNDS, || {
            let mut count = Count::default();
            read_slice(
                format.reader(&Limits::default()).as_mut(),
                &bytes,
                &mut count,
            );
            black_box(count.0);
        }),
    );
    report(
        "lowered (model)",
        cpu::best(ROUNDS, || {
            let source = SliceSource::default().with("profile", format, &bytes);
            let mut count = Count::default();
            (pprof::FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut count)
                .expect("bytes in memory");
            black_box(count.0);
        }),
    );
}
