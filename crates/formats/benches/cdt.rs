//! Decoding speed of CDT calls and trace, against a bare skip loop and the memory, in one run.
//!
//! `cargo bench -p traceloom-formats --bench cdt [-- MEGABYTES]`. Times are processor time of this
//! process. Inputs are generated from a seed, 256 MB each unless asked otherwise. The skip loop walks
//! the same varints and string lengths without keeping anything: what remains above it is the price
//! of fields and checks.

use std::collections::BTreeMap;
use std::hint::black_box;

use traceloom_formats::cdt::calls::{Header, Row, RowLimits};
use traceloom_formats::cdt::head::{Head, value_len};
use traceloom_formats::cdt::trace::{Block, Event, TraceAction};
use traceloom_formats::wire::Cursor;
use traceloom_formats::{
    Error, Format, LowerOptions, Record, RecordSink, SliceSource, by_name, cdt, read_slice,
};
use traceloom_model::{Asks, Definitions, Flow, Limits, Note, Sink, SpanBatch, StepBatch, Wants};
use traceloom_samples::cdt::{Detail, Service, StreamName};

/// Processor time of this process in seconds, from the kernel's clock ticks.
#[expect(
    clippy::disallowed_methods,
    reason = "the library reads no files, its bench asks for its processor time"
)]
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = stat
        .split(' ')
        .next()
        .and_then(|word| word.parse::<f64>().ok());
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

fn generate(stream: StreamName, detail: Detail, bytes: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes + 4096);
    let mut service = Service::new(7, detail);
    service.rotate(false);
    let mut emit = |made: StreamName, _: u32, piece: &[u8]| {
        if made == stream {
            out.extend_from_slice(piece);
        }
        if out.len() >= bytes {
            return Err(Error::usage("enough"));
        }
        Ok(())
    };
    let _ = service.begin(&mut emit);
    while service.step(&mut emit).is_ok() {}
    out
}

fn rate(name: &str, bytes: usize, seconds: f64, units: u64, unit: &str) -> f64 {
    let speed = bytes as f64 / seconds / 1e6;
    let per_second = units as f64 / seconds / 1e6;
    println!("{name:<34} {speed:>8.0} MB/s {per_second:>9.2} M {unit}/s");
    speed
}

/// Bytes a second that memory gives: the best of several passes over a buffer far above any cache.
///
/// Eight sums of eight words each are more than a core can have on their way at once, so what is
/// measured is the memory and not an addition that waits for another.
fn bandwidth() -> f64 {
    const WORDS: usize = 128 << 20 >> 3;
    let buffer: Vec<u64> = (0..WORDS as u64).collect();
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = cpu_seconds();
        let mut sums = [0_u64; 64];
        let (groups, _) = black_box(&buffer).as_chunks::<64>();
        for group in groups {
            for (sum, word) in sums.iter_mut().zip(group) {
                *sum = sum.wrapping_add(*word);
            }
        }
        black_box(sums);
        best = best.min(cpu_seconds() - start);
    }
    (WORDS * 8) as f64 / best / 1e6
}

fn skip_varint(bytes: &[u8], at: &mut usize) -> u64 {
    let mut value = 0;
    let mut shift = 0;
    while let Some(&byte) = bytes.get(*at) {
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    value
}

fn skip_string(bytes: &[u8], at: &mut usize) {
    *at += skip_varint(bytes, at) as usize * 2;
}

/// Walks rows of format 4 without keeping a field.
fn skip_calls(bytes: &[u8]) -> u64 {
    let mut at = 16;
    let mut rows = 0;
    let mut names = 0;
    while at < bytes.len() {
        for _ in 0..4 {
            skip_varint(bytes, &mut at);
        }
        if skip_varint(bytes, &mut at) == names {
            skip_string(bytes, &mut at);
            names += 1;
        }
        for _ in 0..14 {
            skip_varint(bytes, &mut at);
        }
        for _ in 0..skip_varint(bytes, &mut at) {
            skip_varint(bytes, &mut at);
            for _ in 0..skip_varint(bytes, &mut at) {
                skip_string(bytes, &mut at);
            }
        }
        rows += 1;
    }
    rows
}

/// Walks events without keeping a field.
fn skip_trace(bytes: &[u8]) -> u64 {
    let mut at = 8;
    let mut events = 0;
    while at + 16 < bytes.len() {
        at += 16;
        while let Some(&header) = bytes.get(at) {
            at += 1;
            if header & 3 == 3 {
                break;
            }
            if header & 0x80 != 0 {
                skip_varint(bytes, &mut at);
            }
            match header & 3 {
                0 => {
                    skip_varint(bytes, &mut at);
                }
                1 => {}
                _ => {
                    skip_varint(bytes, &mut at);
                    let kind = bytes.get(at).copied().unwrap_or(0);
                    at += 1;
                    if kind & 1 == 0 {
                        skip_string(bytes, &mut at);
                    } else {
                        skip_varint(bytes, &mut at);
                        skip_varint(bytes, &mut at);
                    }
                }
            }
            events += 1;
        }
    }
    events
}

fn decode_calls(bytes: &[u8]) -> (u64, u64) {
    let limits = RowLimits::new(&Limits::default());
    let mut cursor = Cursor::new(bytes, 0);
    let header = Header::read(&mut cursor).expect("a header");
    let (mut rows, mut names, mut check) = (0, 0, 0_u64);
    while !cursor.is_empty() {
        let Ok(row) = Row::read(&mut cursor, header.version, names, &limits) else {
            break;
        };
        names += u32::from(row.thread_name.is_some());
        check = check.wrapping_add(u64::from(row.duration) + row.memory_used + row.net_read);
        rows += 1;
    }
    (rows, check)
}

fn decode_trace(bytes: &[u8]) -> (u64, u64) {
    let mut cursor = Cursor::new(bytes, 0);
    cursor.i64_be("timer start").expect("a header");
    let (mut events, mut check) = (0, 0_u64);
    'blocks: while !cursor.is_empty() {
        if Block::read(&mut cursor).is_err() {
            break;
        }
        let mut elapsed = 0_i32;
        loop {
            let rest = cursor.rest();
            let mut at = 0;
            while let Some(bytes) = rest.get(at..)
                && let Some(word) = bytes.first_chunk()
                && let Some(head) = Head::read(u64::from_le_bytes(*word))
            {
                if head.tag {
                    let value = bytes.get(head.len..);
                    match value.and_then(|value| value_len(value, 16 << 20)) {
                        Some(len) => at += len,
                        None => break,
                    }
                }
                at += head.len;
                elapsed = elapsed.wrapping_add(head.elapsed);
                check = check.wrapping_add(u64::from(head.id));
                check = check.wrapping_add(u64::from(elapsed.cast_unsigned()));
                events += 1;
            }
            cursor.seek(cursor.position() + at);
            let Ok(event) = Event::read(&mut cursor, 16 << 20) else {
                break 'blocks;
            };
            elapsed = elapsed.wrapping_add(event.elapsed);
            match event.what {
                TraceAction::Finish(_) => break,
                TraceAction::Enter(method) => check = check.wrapping_add(u64::from(method)),
                TraceAction::Exit => {}
                TraceAction::Tag(id, _) => check = check.wrapping_add(u64::from(id)),
            }
            check = check.wrapping_add(u64::from(elapsed.cast_unsigned()));
            events += 1;
        }
    }
    (events, check)
}

#[derive(Default)]
struct Count(u64);

impl RecordSink for Count {
    fn record(&mut self, record: &dyn Record) -> Flow {
        self.0 += 1;
        black_box(record.len());
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn records(format: &Format, bytes: &[u8]) -> u64 {
    let mut count = Count::default();
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        bytes,
        &mut count,
    );
    count.0
}

/// Takes as much as it asks for, and drops it.
struct Sunk(Wants, u64);

impl Sink for Sunk {
    fn asks(&self) -> Asks {
        Asks {
            wants: self.0,
            ..Asks::default()
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        black_box(definitions);
        Flow::Continue(())
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        self.1 += black_box(batch).len() as u64;
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.1 += black_box(batch).len() as u64;
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        black_box(note);
        Flow::Continue(())
    }
}

/// Lowers a dump, as much of it as each kind of view asks for.
fn lowering(bytes: u64) {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    traceloom_samples::cdt::dump(7, bytes, "shop", &mut files).expect("memory");
    let mut source = SliceSource::default();
    let mut size = BTreeMap::new();
    for (name, bytes) in &files {
        let stream = name.rsplit('/').nth(1).unwrap_or("");
        let format = by_name(&format!("cdt-{stream}")).expect("a stream");
        source = source.with(name, format, bytes);
        *size.entry(stream).or_insert(0) += bytes.len();
    }
    println!("dump: {size:?}");
    let lower = cdt::DUMP.lower.expect("a lowering");
    for (name, wants, streams) in [
        ("  lowered to rows of calls", Wants::Calls, &["calls"][..]),
        (
            "  lowered to steps",
            Wants::Steps { calls: false },
            &["trace"],
        ),
        (
            "  lowered to steps and rows",
            Wants::Steps { calls: true },
            &["calls", "trace"],
        ),
        ("  lowered to spans", Wants::Spans, &["calls", "trace"]),
    ] {
        let (seconds, units) = timed(|| {
            let mut sink = Sunk(wants, 0);
            lower(&source, &LowerOptions::default(), &mut sink).expect("memory");
            sink.1
        });
        let bytes = streams.iter().filter_map(|stream| size.get(stream)).sum();
        rate(name, bytes, seconds, units, "units");
    }
}

fn main() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the library takes no arguments, its bench does"
    )]
    let megabytes = std::env::args().filter_map(|word| word.parse().ok()).next();
    let bytes = megabytes.unwrap_or(256_usize) << 20;
    let lean = Detail {
        trace: false,
        params: false,
    };
    let heavy = Detail {
        trace: false,
        params: true,
    };
    let inputs = [
        ("calls with parameters", StreamName::Calls, heavy),
        ("calls, lean rows", StreamName::Calls, lean),
        ("trace", StreamName::Trace, Detail::default()),
    ];
    let memory = bandwidth();
    println!("memory read: {memory:.0} MB/s");
    for (name, stream, detail) in inputs {
        let data = generate(stream, detail, bytes);
        println!("{name}: {} bytes", data.len());
        let trace = stream == StreamName::Trace;
        let unit = if trace { "events" } else { "rows" };
        let (seconds, units) = timed(|| {
            if trace {
                skip_trace(&data)
            } else {
                skip_calls(&data)
            }
        });
        let skip = rate("  skip loop", data.len(), seconds, units, unit);
        let (seconds, (units, _)) = timed(|| {
            if trace {
                decode_trace(&data)
            } else {
                decode_calls(&data)
            }
        });
        let decoded = rate("  decoded", data.len(), seconds, units, unit);
        println!(
            "  decoded is {:.0} % of the skip loop, {:.0} % of memory",
            decoded / skip * 100.0,
            decoded / memory * 100.0
        );
        let format = if trace { &cdt::TRACE } else { &cdt::CALLS };
        let (seconds, units) = timed(|| records(format, &data));
        rate("  as records", data.len(), seconds, units, "records");
    }
    lowering(bytes as u64);
    captured(bytes);
}

/// The mix of a real service, where the corpus is there: its blocks over and over.
#[expect(
    clippy::disallowed_methods,
    reason = "the library reads no files, its bench reads a capture"
)]
fn captured(bytes: usize) {
    let Some(corpus) = std::env::var_os("TRACELOOM_CORPUS") else {
        return;
    };
    let path = std::path::Path::new(&corpus).join("cdt/test-service/traces.bin");
    let Ok(capture) = std::fs::read(path) else {
        return;
    };
    let (start, blocks) = capture.split_at(8);
    let mut data = start.to_vec();
    while data.len() < bytes {
        data.extend_from_slice(blocks);
    }
    println!("captured blocks, repeated: {} bytes", data.len());
    let (seconds, units) = timed(|| skip_trace(&data));
    rate("  skip loop", data.len(), seconds, units, "events");
    let (seconds, (units, _)) = timed(|| decode_trace(&data));
    rate("  decoded", data.len(), seconds, units, "events");
    let source = SliceSource::default().with("trace", &cdt::TRACE, &data);
    let lower = cdt::TRACE.lower.expect("a lowering");
    let (seconds, units) = timed(|| {
        let mut sink = Sunk(Wants::Steps { calls: false }, 0);
        lower(&source, &LowerOptions::default(), &mut sink).expect("memory");
        sink.1
    });
    rate("  lowered to steps", data.len(), seconds, units, "steps");
}
