//! CDT lowered: calls and trees agree, whatever container they come in and however much is asked for.

#[path = "../corpus/mod.rs"]
mod corpus;
mod damaged;
mod joined;
mod noted;
mod raised;

use std::collections::BTreeMap;

use traceloom_formats::{
    Error, Format, LowerOptions, Part, Pull, RaiseOptions, Records, SlicePull, Source, cdt,
    read_slice,
};
use traceloom_model::{
    Concat, Definitions, Flow, Function, Level, Limits, Note, Origin, Recording, Sink, SpanBatch,
    SpanRow, SpanStatus, StepBatch, Tables, Track, Unit, Value, ValueType, Wants,
};

/// Parts that own their bytes.
#[derive(Default)]
struct Owned {
    parts: Vec<Part>,
    bytes: Vec<Vec<u8>>,
}

impl Owned {
    fn add(&mut self, name: &str, format: &'static Format, bytes: Vec<u8>) {
        self.parts.push(Part {
            name: name.to_owned(),
            format: Some(format),
            size: None,
        });
        self.bytes.push(bytes);
    }

    fn lower(&self) -> Recording {
        self.lower_only(None)
    }

    fn lower_only(&self, only: Option<Origin>) -> Recording {
        let options = LowerOptions {
            only,
            ..LowerOptions::default()
        };
        let mut recording = Recording::default();
        self.lower_into(&options, &mut recording);
        recording
    }

    fn lower_into(&self, options: &LowerOptions, sink: &mut dyn Sink) {
        let lower = cdt::STREAMS.lower.expect("a lowering");
        lower(self, options, sink).expect("bytes in memory");
    }
}

/// Windows of odd sizes, so that every read crosses them.
struct Narrow<'a> {
    inner: SlicePull<'a>,
    size: usize,
}

impl Pull for Narrow<'_> {
    fn pull(
        &mut self,
        consumed: usize,
        need: usize,
    ) -> Result<traceloom_formats::Chunk<'_>, Error> {
        let chunk = self.inner.pull(consumed, need)?;
        let end = need.max(self.size).min(chunk.bytes.len());
        Ok(traceloom_formats::Chunk {
            bytes: &chunk.bytes[..end],
            eof: end == chunk.bytes.len(),
            ..chunk
        })
    }
}

impl Source for Owned {
    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        let bytes = self.bytes.get(part);
        let bytes = bytes.ok_or_else(|| Error::usage("no such part"))?;
        Ok(Box::new(Narrow {
            inner: SlicePull::new(bytes, offset),
            size: 777,
        }))
    }
}

fn test_service() -> Option<Owned> {
    let mut source = Owned::default();
    for (name, format) in [
        ("calls", &cdt::CALLS),
        ("dictionary", &cdt::DICTIONARY),
        ("params", &cdt::PARAMS),
        ("sql", &cdt::SQL),
        ("suspend", &cdt::SUSPEND),
        ("traces", &cdt::TRACE),
        ("xml", &cdt::XML),
    ] {
        let bytes = corpus::file(&format!("cdt/test-service/{name}.bin"))?;
        source.add(name, format, bytes);
    }
    Some(source)
}

fn format_of(name: &str) -> &'static Format {
    let stream = name.rsplit('/').nth(1).expect("a stream's folder");
    traceloom_formats::by_name(&format!("cdt-{stream}")).expect("a stream")
}

fn sample(seed: u64, bytes: u64) -> Owned {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    traceloom_samples::cdt::dump(seed, bytes, "shop", &mut files).expect("written to memory");
    let mut source = Owned::default();
    for (name, bytes) in files {
        source.add(&name, format_of(&name), bytes);
    }
    source
}

fn worse_than_info(recording: &Recording) -> Vec<&Note> {
    let notes = recording.notes.kept().iter();
    notes.filter(|note| note.level > Level::Info).collect()
}

/// What a span says, without ids that depend on the way it was read.
type Told = (
    i64,
    i64,
    String,
    String,
    u32,
    SpanStatus,
    Vec<(String, i64)>,
    Vec<(String, String, Option<i64>)>,
);

fn told(recording: &Recording) -> Vec<Told> {
    let text = |value: &Value| match value {
        Value::Text(id) => recording.text(*id).into_owned(),
        other => format!("{other:?}"),
    };
    let mut spans: Vec<Told> = recording
        .spans
        .iter()
        .map(|span| {
            let track = recording.track(span.track).expect("a track");
            let thread = track.name.map(|name| recording.text(name).into_owned());
            let function = span.function.expect("a function");
            let counters = span.counters.iter().map(|&(id, value)| {
                let counter = recording.value_type(id).expect("a value type");
                (recording.text(counter.name).into_owned(), value)
            });
            let attributes = span.attributes.iter().map(|attribute| {
                let key = recording.attribute_key(attribute.key).expect("a key");
                let name = recording.text(key.name).into_owned();
                (name, text(&attribute.value), attribute.at)
            });
            (
                span.start,
                span.end,
                recording.function_name(function).into_owned(),
                thread.unwrap_or_default(),
                span.depth,
                span.status,
                counters.collect(),
                attributes.collect(),
            )
        })
        .collect();
    spans.sort_by(|a, b| format!("{a:?}").cmp(&format!("{b:?}")));
    spans
}
