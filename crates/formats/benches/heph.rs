//! Heph: decoding of every field against an unchecked walk over the same bytes, and the way to Chrome JSON.
//!
//! `cargo bench -p traceloom-formats --bench heph`. CPU time of this thread; the best of several rounds;
//! the ratios the project wants are at least 40 % of the walk and 4 million events a second to JSON.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "the walk is the yardstick: it trusts its input on purpose"
)]

use std::hint::black_box;
use std::time::Duration;

use traceloom_formats::heph::{CounterCheck, Event, FORMAT, Metadata, Reader, Value, Visit, texts};
use traceloom_formats::{Chunk, LowerOptions, Opaque, Output, RaiseOptions, SliceSource, by_name};
use traceloom_model::{Flow, Limits, Note};

mod cpu;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BYTES: u64 = 64 << 20;
const ROUNDS: usize = 9;

fn main() {
    let mut trace = Vec::new();
    (traceloom_samples::by_name(FORMAT.name).unwrap())(1, BYTES, &mut |piece| {
        trace.extend_from_slice(piece)
    });
    let mut sum = Sum::default();
    decode(&trace, &mut sum);
    let events = sum.events;
    assert_eq!(unsafe { walk(&trace) }, sum, "both see the same fields");
    println!("{events} events, {} bytes", trace.len());

    let only: Option<String> = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    if only.as_deref() == Some("lower") {
        // For a profiler: `cargo bench … -- lower`.
        best(|| lower(black_box(&trace), &mut NoSink));
        return;
    }
    let walked = best(|| {
        black_box(unsafe { walk(black_box(&trace)) });
    });
    let decoded = best(|| {
        let mut sum = Sum::default();
        decode(black_box(&trace), &mut sum);
        black_box(sum);
    });
    let lowered = best(|| lower(black_box(&trace), &mut NoSink));
    let mut size = 0;
    let chrome = best(|| size = to_chrome(black_box(&trace)));
    report("unchecked walk", events, walked);
    report("decode, every field validated", events, decoded);
    report("lower (two passes, nesting, actors)", events, lowered);
    report("to Chrome JSON", events, chrome);
    let ratio = walked.as_secs_f64() / decoded.as_secs_f64() * 100.0;
    println!("decode is {ratio:.0} % of the walk; JSON has {size} bytes");
}

fn report(what: &str, events: u64, time: Duration) {
    let rate = f64::from(u32::try_from(events).unwrap()) / time.as_secs_f64() / 1e6;
    println!("{what:40} {rate:8.2} M events/s {time:>12?}");
}

fn best(work: impl FnMut()) -> Duration {
    Duration::from_secs_f64(cpu::best(ROUNDS, work))
}

/// What both sides compute: it needs every field.
#[derive(Default, Debug, PartialEq)]
struct Sum {
    events: u64,
    numbers: u64,
    text_bytes: u64,
}

impl Sum {
    fn number(&mut self, number: u64) {
        self.numbers = self.numbers.rotate_left(1) ^ number;
    }

    fn text(&mut self, length: usize) {
        self.text_bytes += length as u64;
    }
}

impl Visit for Sum {
    fn metadata(&mut self, _metadata: &Metadata<'_>) -> Flow {
        Flow::Continue(())
    }

    fn opaque(&mut self, _opaque: &Opaque<'_>) -> Flow {
        Flow::Continue(())
    }

    // Beside the walk, which adds up in place.
    #[inline(always)]
    fn event(&mut self, event: &Event<'_>, _seen: CounterCheck) -> Flow {
        self.events += 1;
        self.number(u64::from(event.stream));
        self.number(u64::from(event.counter));
        self.number(event.substream);
        self.number(event.start);
        self.number(event.end);
        self.text(event.description.len());
        for attribute in event.attributes {
            self.text(attribute.name.len());
            match attribute.value {
                Value::U64(value) => self.number(value),
                Value::I64(value) => self.number(value.cast_unsigned()),
                Value::F64(value) => self.number(value.to_bits()),
                Value::Text(text) => self.text(text.len()),
                Value::U64s(raw) | Value::I64s(raw) | Value::F64s(raw) => {
                    raw.iter()
                        .for_each(|raw| self.number(u64::from_be_bytes(*raw)));
                }
                Value::Texts(_, bytes) => texts(bytes).for_each(|text| self.text(text.len())),
                Value::Described(described) => self.text(described.bytes.len()),
            }
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        panic!("the sample is clean: {note:?}");
    }
}

fn decode(trace: &[u8], sum: &mut Sum) {
    let whole = Chunk {
        bytes: trace,
        offset: 0,
        eof: true,
    };
    Reader::new(&Limits::default()).read(whole, sum);
}

/// Reads every field without looking at one length twice.
///
/// # Safety
/// `trace` must be whole packets of the current layout, without damage.
unsafe fn walk(trace: &[u8]) -> Sum {
    let mut sum = Sum::default();
    let mut at = trace.as_ptr();
    // SAFETY: the sample is whole packets, so that every read below lies inside it.
    unsafe {
        let end = at.add(trace.len());
        while at < end {
            let next = at.add(u32_at(at.add(4)) as usize);
            if *at != 0xc1 {
                at = next;
                continue;
            }
            sum.events += 1;
            sum.number(u64::from(u32_at(at.add(8))));
            sum.number(u64::from(u32_at(at.add(12))));
            for field in [16, 24, 32] {
                sum.number(u64_at(at.add(field)));
            }
            let length = u16_at(at.add(40));
            sum.text(length);
            at = at.add(42 + length);
            while at < next {
                let length = u16_at(at);
                sum.text(length);
                let kind = *at.add(2 + length);
                at = at.add(3 + length);
                match kind {
                    1..=3 => {
                        sum.number(u64_at(at));
                        at = at.add(8);
                    }
                    4 => {
                        let length = u16_at(at);
                        sum.text(length);
                        at = at.add(2 + length);
                    }
                    0x84 => {
                        let count = u16_at(at);
                        at = at.add(2);
                        for _ in 0..count {
                            let length = u16_at(at);
                            sum.text(length);
                            at = at.add(2 + length);
                        }
                    }
                    _ => {
                        let count = u16_at(at);
                        at = at.add(2);
                        for _ in 0..count {
                            sum.number(u64_at(at));
                            at = at.add(8);
                        }
                    }
                }
            }
        }
    }
    sum
}

unsafe fn u16_at(at: *const u8) -> usize {
    // SAFETY: the caller's.
    usize::from(u16::from_be(unsafe { at.cast::<u16>().read_unaligned() }))
}

unsafe fn u32_at(at: *const u8) -> u32 {
    // SAFETY: the caller's.
    u32::from_be(unsafe { at.cast::<u32>().read_unaligned() })
}

unsafe fn u64_at(at: *const u8) -> u64 {
    // SAFETY: the caller's.
    u64::from_be(unsafe { at.cast::<u64>().read_unaligned() })
}

struct NoSink;

impl traceloom_model::Sink for NoSink {
    fn define(&mut self, definitions: traceloom_model::Definitions) -> Flow {
        black_box(definitions);
        Flow::Continue(())
    }

    fn spans(&mut self, batch: traceloom_model::SpanBatch) -> Flow {
        black_box(batch);
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

fn lower(trace: &[u8], sink: &mut dyn traceloom_model::Sink) {
    let source = SliceSource::default().with("sample.heph", &FORMAT, trace);
    (FORMAT.lower.unwrap())(&source, &LowerOptions::default(), sink).unwrap();
}

struct Count(usize);

impl Output for Count {
    fn write(&mut self, _name: &str, bytes: &[u8]) -> Result<(), traceloom_formats::Error> {
        self.0 += black_box(bytes).len();
        Ok(())
    }
}

fn to_chrome(trace: &[u8]) -> usize {
    let mut count = Count(0);
    let chrome = by_name("chrome").unwrap();
    let mut target = (chrome.raise.unwrap())(&RaiseOptions::default(), &mut count).unwrap();
    lower(trace, target.as_mut());
    target.finish().unwrap();
    drop(target);
    count.0
}
