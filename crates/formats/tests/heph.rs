//! Heph against the corpus: what an independent decoder found in each file.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod corpus;

use std::collections::BTreeMap;
use std::io::Read as _;

use serde_json::{Value as Json, json};
use traceloom_formats::heph::{Decoder, HEPH, Packet, Seen, Value, Visit, texts};
use traceloom_formats::{Chunk, LowerOptions, Records, SliceSource, read_chunked, read_slice};
use traceloom_model::{Flow, Level, Limits, Note, Recording, TrackKind};

fn unpacked(path: &str) -> Option<Vec<u8>> {
    let bytes = corpus::file(path)?;
    if !path.ends_with(".gz") {
        return Some(bytes);
    }
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes.as_slice())
        .read_to_end(&mut out)
        .unwrap();
    Some(out)
}

fn inputs() -> Vec<String> {
    let files = corpus::files("heph").unwrap_or_default();
    let is_input = |path: &String| !path.contains("/expected");
    files.into_iter().filter(is_input).collect()
}

#[derive(Default)]
struct Packets {
    rows: Vec<Json>,
    events: usize,
    notes: Vec<Note>,
}

impl Visit for Packets {
    fn packet(&mut self, packet: &Packet<'_>, _seen: Seen) -> Flow {
        let size = packet.record().len();
        match packet {
            Packet::Metadata(metadata) => {
                let name = String::from_utf8_lossy(metadata.name);
                self.rows.push(json!({"k": "meta", "off": metadata.offset, "size": size, "name": name, "value": metadata.epoch()}));
            }
            Packet::Event(event) => {
                self.events += 1;
                let attrs: Vec<Json> = event
                    .attributes
                    .map(|a| {
                        json!([
                            String::from_utf8_lossy(a.name),
                            a.value.type_byte(),
                            value(a.value)
                        ])
                    })
                    .collect();
                self.rows.push(json!({
                    "k": "event", "off": event.offset, "size": size, "stream": event.stream,
                    "counter": event.counter, "substream": event.substream, "start": event.start,
                    "end": event.end, "desc": String::from_utf8_lossy(event.description), "attrs": attrs,
                }));
            }
            Packet::Opaque(_) => {}
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}

fn value(value: Value<'_>) -> Json {
    match value {
        Value::U64(value) => json!(value),
        Value::I64(value) => json!(value),
        Value::F64(value) => json!(value),
        Value::Text(text) => json!(String::from_utf8_lossy(text)),
        Value::U64s(raw) => raw.iter().map(|raw| u64::from_be_bytes(*raw)).collect(),
        Value::I64s(raw) => raw.iter().map(|raw| i64::from_be_bytes(*raw)).collect(),
        Value::F64s(raw) => raw.iter().map(|raw| f64::from_be_bytes(*raw)).collect(),
        Value::Texts(_, bytes) => texts(bytes).map(String::from_utf8_lossy).collect(),
    }
}

fn packets(bytes: &[u8]) -> Packets {
    let mut packets = Packets::default();
    let whole = Chunk {
        bytes,
        offset: 0,
        eof: true,
    };
    Decoder::new(&Limits::default()).read(whole, &mut packets);
    packets
}

fn counts(notes: &[Note]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for note in notes {
        *counts.entry(note.kind).or_default() += note.count;
    }
    counts
}

fn lower(bytes: &[u8]) -> Recording {
    let source = SliceSource::default().with("trace.heph", &HEPH, bytes);
    let mut recording = Recording::default();
    (HEPH.lower.unwrap())(&source, &LowerOptions::default(), &mut recording).unwrap();
    recording
}

#[test]
fn show() {
    for path in inputs() {
        let bytes = unpacked(&path).unwrap();
        let p = packets(&bytes);
        let r = lower(&bytes);
        println!("{path}: {} rows {} events {:?} | spans {} {:?} {:?}", p.rows.len(), p.events, counts(&p.notes), r.spans.len(), counts(r.notes.kept()), r.clock);
    }
}
