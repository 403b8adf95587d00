//! TPTP decoding speed: binary against a bare skip with string scan, XML against quick-xml's bare event
//! loop, on the same bytes in the same run.
//!
//! `cargo bench -p traceloom-formats --bench tptp [-- MEGABYTES]`. Times are processor time of this
//! thread; inputs are generated from a seed, 256 MB each unless asked otherwise. The skip loop reads
//! every header, looks the message up and scans its payload for the ends of strings, no more.

mod cpu;

use std::hint::black_box;

use traceloom_formats::tptp::{self, Kind, Layout};
use traceloom_formats::{Format, Output, Record, RecordSink, SlicePull, by_name, read_slice};
use traceloom_model::{Flow, Limits, Note};

const ROUNDS: usize = 3;

#[derive(Default)]
struct Count {
    records: u64,
    notes: u64,
}

impl RecordSink for Count {
    fn record(&mut self, record: &dyn Record) -> Flow {
        self.records += 1;
        black_box(record.len());
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        self.notes += 1;
        Flow::Continue(())
    }
}

struct Discard(u64);

impl Output for Discard {
    fn write(&mut self, _name: &str, bytes: &[u8]) -> Result<(), traceloom_formats::Error> {
        self.0 += bytes.len() as u64;
        Ok(())
    }
}

fn main() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the library takes no arguments, its bench does"
    )]
    let megabytes = std::env::args()
        .filter_map(|word| word.parse().ok())
        .next()
        .unwrap_or(256);
    for name in ["tptp-binary", "tptp-xml"] {
        let format = by_name(name).expect("a registered format");
        let bytes = generate(format, megabytes << 20);
        let size = bytes.len() as f64 / 1e9;
        let mut records = 0;
        let decode = cpu::best(ROUNDS, || records = decode(format, &bytes));
        let (bare, what) = if name == "tptp-binary" {
            (
                cpu::best(ROUNDS, || {
                    black_box(skip(&bytes));
                }),
                "skip with string scan",
            )
        } else {
            (
                cpu::best(ROUNDS, || {
                    black_box(events(&bytes));
                }),
                "quick-xml events",
            )
        };
        let convert = cpu::best(1, || convert(name == "tptp-binary", &bytes));
        println!(
            "{name}: {:.0} MB, {records} records; decode {:.2} GB/s, {what} {:.2} GB/s, ratio {:.0} %; convert {:.2} GB/s",
            size * 1e3,
            size / decode,
            size / bare,
            100.0 * bare / decode,
            size / convert,
        );
    }
}

fn generate(format: &Format, bytes: u64) -> Vec<u8> {
    let mut out = Vec::new();
    (traceloom_samples::by_name(format.name).expect("a sample generator"))(
        7,
        bytes,
        &mut |piece| out.extend_from_slice(piece),
    );
    out
}

fn decode(format: &Format, bytes: &[u8]) -> u64 {
    let mut count = Count::default();
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        bytes,
        &mut count,
    );
    assert_eq!(count.notes, 0);
    count.records
}

/// Steps over messages by size and finds the ends of their strings.
fn skip(bytes: &[u8]) -> u64 {
    let mut strings = 0;
    let mut rest = &bytes[12..];
    while let Some(head) = rest.first_chunk::<6>() {
        let id = u16::from_le_bytes([head[0], head[1]]);
        let size = u32::from_le_bytes([head[2], head[3], head[4], head[5]]) as usize;
        let mut at = 6;
        for field in tptp::by_id(id).map_or(&[][..], |schema| schema.fields(Layout::Table)) {
            if field.kind == Kind::Text {
                at += memchr::memchr(0, &rest[at..]).expect("strings end") + 1;
                strings += 1;
            } else {
                at += field.kind.least();
            }
        }
        black_box(at);
        rest = &rest[size..];
    }
    strings
}

fn events(bytes: &[u8]) -> u64 {
    let text = std::str::from_utf8(bytes).expect("UTF-8");
    let mut reader = quick_xml::Reader::from_str(text);
    let mut count = 0;
    loop {
        match reader.read_event().expect("well-formed XML") {
            quick_xml::events::Event::Eof => return count,
            event => {
                black_box(&event);
                count += 1;
            }
        }
    }
}

fn convert(binary: bool, bytes: &[u8]) {
    let mut pull = SlicePull::new(bytes, 0);
    let run = if binary {
        tptp::to_xml
    } else {
        tptp::to_binary
    };
    let mut out = Discard(0);
    let changes = run(&mut pull, &Limits::default(), &mut out, &mut |_| {
        Flow::Continue(())
    });
    assert_eq!(changes.expect("memory does not fail"), []);
}
