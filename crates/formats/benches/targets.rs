//! Text targets: megabytes of output a second of CPU time, without reading.
//!
//! `cargo bench -p traceloom-formats --bench targets`. The recording is Heph spans with attributes, and a
//! pprof profile, both in memory; the project wants 300 MB/s of JSON.

#![allow(clippy::unwrap_used, reason = "a bench")]

mod cpu;

use std::hint::black_box;

use traceloom_formats::{Error, LowerOptions, Output, RaiseOptions, SliceSource, by_name};
use traceloom_model::{Batch, Clock, Definitions, Flow, Note, Order, SampleBatch, Sink, SpanBatch};

const BYTES: u64 = 32 << 20;

/// Everything a lowering pushes, to be pushed again.
#[derive(Default)]
struct Tape(Vec<Batch>);

impl Tape {
    fn keep(&mut self, batch: Batch) -> Flow {
        self.0.push(batch);
        Flow::Continue(())
    }
}

impl Sink for Tape {
    fn begin(&mut self, order: Order, clock: Clock) {
        self.0.push(Batch::Begin(order, clock));
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.keep(Batch::Define(new))
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.keep(Batch::Spans(batch))
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.keep(Batch::Samples(batch))
    }

    fn note(&mut self, _: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Counts bytes.
#[derive(Default)]
struct Counted(u64);

impl Output for Counted {
    fn write(&mut self, _: &str, bytes: &[u8]) -> Result<(), Error> {
        self.0 += black_box(bytes).len() as u64;
        Ok(())
    }
}

fn main() {
    for source in ["heph", "pprof"] {
        let format = by_name(source).unwrap();
        let mut bytes = Vec::new();
        (format.sample.unwrap())(1, BYTES, &mut |piece| bytes.extend_from_slice(piece));
        let input = SliceSource::default().with("sample", format, &bytes);
        let mut tape = Tape::default();
        (format.lower.unwrap())(&input, &LowerOptions::default(), &mut tape).unwrap();
        // Playing a tape copies it, which is not the writer's work.
        let copied = cpu::best(3, || drop(black_box(tape.0.clone())));
        for name in ["chrome", "speedscope", "firefox", "csv"] {
            let target = by_name(name).unwrap();
            let mut size = 0;
            let seconds = cpu::best(3, || {
                let mut out = Counted::default();
                {
                    let mut writer =
                        (target.raise.unwrap())(&RaiseOptions::default(), &mut out).unwrap();
                    for batch in tape.0.clone() {
                        let _ = batch.push(writer.as_mut());
                    }
                    writer.finish().unwrap();
                }
                size = out.0;
            });
            let own = (seconds - copied).max(1e-9);
            let megabytes = size as f64 / 1e6;
            println!(
                "{source:8} to {name:10} {megabytes:8.1} MB {:8.0} MB/s",
                megabytes / own
            );
        }
    }
}
