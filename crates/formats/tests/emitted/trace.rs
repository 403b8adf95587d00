//! A Heph trace as the reader of the project reads it.

use traceloom_formats::heph::{self, CounterCheck, Visit, texts};
use traceloom_formats::{Chunk, Opaque, Step};
use traceloom_model::{Flow, Limits, Note};

/// An event as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub stream: u32,
    pub counter: u32,
    pub substream: u64,
    pub start: u64,
    pub end: u64,
    pub name: String,
    pub attributes: Vec<(String, Read)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Read {
    U64(u64),
    I64(i64),
    F64(u64),
    Text(String),
    U64s(Vec<u64>),
    I64s(Vec<i64>),
    F64s(Vec<u64>),
    Texts(Vec<String>),
}

#[derive(Default)]
pub struct Trace {
    pub epochs: Vec<u64>,
    pub events: Vec<Event>,
    pub notes: Vec<&'static str>,
}

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

impl Visit for Trace {
    fn event(&mut self, event: &heph::Event<'_>, _: CounterCheck) -> Flow {
        assert!(event.complete && event.valid_text && event.undecoded.is_empty());
        let numbers = |list: &[[u8; 8]]| list.iter().map(|raw| u64::from_be_bytes(*raw)).collect();
        let attributes = event.attributes.map(|attribute| {
            let value = match attribute.value {
                heph::Value::U64(value) => Read::U64(value),
                heph::Value::I64(value) => Read::I64(value),
                heph::Value::F64(value) => Read::F64(value.to_bits()),
                heph::Value::Text(text) => Read::Text(utf8(text)),
                heph::Value::U64s(list) => Read::U64s(numbers(list)),
                heph::Value::I64s(list) => {
                    Read::I64s(list.iter().map(|raw| i64::from_be_bytes(*raw)).collect())
                }
                heph::Value::F64s(list) => Read::F64s(numbers(list)),
                heph::Value::Texts(_, bytes) => Read::Texts(texts(bytes).map(utf8).collect()),
                heph::Value::Described(value) => {
                    panic!("{value:?} is of no type that emitters write")
                }
            };
            (utf8(attribute.name), value)
        });
        self.events.push(Event {
            stream: event.stream,
            counter: event.counter,
            substream: event.substream,
            start: event.start,
            end: event.end,
            name: utf8(event.description),
            attributes: attributes.collect(),
        });
        Flow::Continue(())
    }

    fn metadata(&mut self, metadata: &heph::Metadata<'_>) -> Flow {
        self.epochs.push(metadata.epoch().expect("an epoch"));
        Flow::Continue(())
    }

    fn opaque(&mut self, opaque: &Opaque<'_>) -> Flow {
        panic!("not a packet at {}", opaque.offset);
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note.kind);
        Flow::Continue(())
    }
}

pub fn read(bytes: &[u8]) -> Trace {
    let mut trace = Trace::default();
    let mut reader = heph::Reader::new(&Limits::default());
    let chunk = Chunk {
        bytes,
        offset: 0,
        eof: true,
    };
    assert_ne!(reader.read(chunk, &mut trace), Step::Stop);
    trace
}
