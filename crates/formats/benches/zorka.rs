//! Decoding speed of Zorka streams against a bare CBOR skip loop, in one run.
//!
//! `cargo bench -p traceloom-formats --bench zorka [-- MEGABYTES]`. Times are processor time of this
//! process. Inputs are generated from a seed, 256 MB each unless asked otherwise. The skip loop reads
//! heads and steps over strings, nothing else. The original Java readers were measured at 245 MB/s and
//! 10 M records/s for B and at 490 MB/s and 17 M records/s for C: 24 and 29 bytes a record, where the
//! samples have 40, so that each is read again with one of 24 of its attributes.

use std::hint::black_box;

use traceloom_formats::zorka::{CborValue, Item, Reader, Record, TwoItems, Visit, cbor};
use traceloom_formats::{
    Chunk, Format, LowerOptions, RecordSink, SliceSource, by_name, read_slice,
};
use traceloom_model::{Definitions, Flow, Limits, Note, Sink, SpanBatch};

/// Processor time of this process in seconds.
#[expect(
    clippy::disallowed_methods,
    reason = "the library reads no files, its bench asks for its processor time"
)]
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = stat.split(' ').next();
    let nanoseconds = first.and_then(|word| word.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// Runs a body three times and returns the least processor time and its result.
fn timed<T>(mut body: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::MAX;
    let mut result = None;
    for _ in 0..3 {
        let start = cpu_seconds();
        let value = black_box(body());
        best = best.min(cpu_seconds() - start);
        result = Some(value);
    }
    (best, result.expect("three runs"))
}

/// Looks at every field of every item.
#[derive(Default)]
struct Fields {
    records: u64,
    items: u64,
    sum: u64,
}

impl Fields {
    fn value(&mut self, value: CborValue<'_>) {
        self.sum = self.sum.wrapping_add(match value {
            CborValue::Int(value) => value.cast_unsigned(),
            CborValue::Text(text) => {
                text.len() as u64 + u64::from(text.first().copied().unwrap_or(0))
            }
            CborValue::Raw(raw) => raw.len() as u64,
            CborValue::Ref(id) => id,
            CborValue::F64(bits) => bits,
            CborValue::Bool(value) => u64::from(value),
            _ => 1,
        });
    }

    /// Takes what is neither a record's start nor its end.
    #[inline(never)]
    fn other(&mut self, item: &Item<'_>) {
        match item {
            Item::Begin(begin) => self.sum ^= begin.clock_ms.cast_unsigned(),
            Item::Attributes(attributes) => {
                for (key, value) in attributes.pairs() {
                    self.value(key);
                    self.value(value);
                }
            }
            Item::Exception(exception) => {
                exception.values.iter().for_each(|value| self.value(value))
            }
            Item::ExceptionRef { id, .. } => self.sum ^= id,
            Item::Symbol(symbol) => self.value(symbol.text),
            Item::Method(method) => self.sum ^= method.id.cast_unsigned(),
            other => panic!("{other:?} in a sample"),
        }
    }
}

impl Visit for Fields {
    // Where the decoder knows which item it hands on, so does what is inlined there.
    #[inline(always)]
    fn record(&mut self, record: &Record<'_>) -> Flow {
        self.items += 1;
        match record.item {
            Item::Start(start) => {
                self.records += 1;
                self.sum ^= start.time.cast_unsigned() ^ start.method.cast_unsigned();
            }
            Item::End(end) => self.sum ^= end.time.cast_unsigned() ^ end.calls,
            other => self.other(other),
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Keeps one of 24 attributes, and everything else.
#[derive(Default)]
struct Sparse {
    kept: Vec<u8>,
    attributes: u64,
}

impl Visit for Sparse {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        let is_attribute = matches!(record.item, Item::Attributes(_));
        self.attributes += u64::from(is_attribute);
        if !is_attribute || self.attributes.is_multiple_of(24) {
            self.kept.extend_from_slice(record.bytes);
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Counts what a reader of any format gives.
#[derive(Default)]
struct Count(u64, u64);

impl RecordSink for Count {
    fn record(&mut self, record: &dyn traceloom_formats::Record) -> Flow {
        self.0 += 1;
        self.1 += record.len();
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Counts spans.
#[derive(Default)]
struct Spans(u64);

impl Sink for Spans {
    fn define(&mut self, _definitions: Definitions) -> Flow {
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.0 += batch.len() as u64;
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn visit(bytes: &[u8], visitor: &mut impl Visit) {
    let chunk = Chunk {
        bytes,
        offset: 0,
        eof: true,
    };
    Reader::new(&Limits::default(), TwoItems::Guess).read(chunk, visitor);
}

fn decode(bytes: &[u8]) -> Fields {
    let mut fields = Fields::default();
    visit(bytes, &mut fields);
    fields
}

fn rate(name: &str, bytes: usize, seconds: f64, units: u64, unit: &str) -> f64 {
    let speed = bytes as f64 / seconds / 1e6;
    let per_second = units as f64 / seconds / 1e6;
    println!("{name:<28} {speed:>7.0} MB/s {per_second:>8.1} M {unit}/s");
    speed
}

fn compare(format: &'static Format, bytes: usize) {
    let mut input = Vec::with_capacity(bytes + (1 << 20));
    let sample = traceloom_samples::by_name(format.name).expect("every row has samples");
    sample(7, bytes as u64, &mut |piece| input.extend_from_slice(piece));
    let limits = Limits::default();
    let (len, name) = (input.len(), format.name);

    let (seconds, items) = timed(|| cbor::skip_all(&input, &limits));
    let skip = rate(&format!("{name} skip loop"), len, seconds, items, "items");

    let (seconds, fields) = timed(|| decode(&input));
    black_box(fields.sum);
    let decoded = rate(
        &format!("{name} decode, all fields"),
        len,
        seconds,
        fields.records,
        "records",
    );

    let mut sparse = Sparse::default();
    visit(&input, &mut sparse);
    let kept = sparse.kept.len();
    let (seconds, few) = timed(|| decode(&sparse.kept));
    black_box(few.sum);
    rate(
        &format!("{name} decode, {} B a record", kept as u64 / few.records),
        kept,
        seconds,
        few.records,
        "records",
    );

    let (seconds, count) = timed(|| {
        let mut count = Count::default();
        read_slice(format.reader(&limits).as_mut(), &input, &mut count);
        count
    });
    assert_eq!(count.1, len as u64, "records tile the input");
    rate(&format!("{name} reader"), len, seconds, count.0, "items");

    let (seconds, spans) = timed(|| {
        let source = SliceSource::default().with("sample", format, &input);
        let mut spans = Spans::default();
        let lower = format.lower.expect("every row lowers");
        lower(&source, &LowerOptions::default(), &mut spans).expect("memory can be read");
        spans.0
    });
    assert_eq!(spans, fields.records);
    rate(&format!("{name} lower"), len, seconds, spans, "spans");
    println!("{name} decode is {:.2} of the skip loop", decoded / skip);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the library takes no arguments, its bench does"
)]
fn main() {
    let megabytes = std::env::args().find_map(|word| word.parse::<usize>().ok());
    let bytes = megabytes.unwrap_or(256) << 20;
    for name in ["zorka-s0", "zorka-b2", "zorka-c"] {
        compare(by_name(name).expect("a row"), bytes);
    }
}
