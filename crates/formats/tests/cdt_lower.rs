//! CDT lowered: calls and trees agree, whatever container they come in and however much is asked for.

mod corpus;

use std::collections::BTreeMap;

use traceloom_formats::{
    Error, Format, LowerOptions, Part, Pull, RaiseOptions, Records, SlicePull, Source, cdt,
    read_slice,
};
use traceloom_model::{
    Definitions, Flow, Function, Level, Limits, Note, Origin, Recording, Sink, SpanBatch, SpanRow,
    SpanStatus, StepBatch, Tables, Track, Unit, Value, ValueType, Wants,
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
    cdt::sample::dump(seed, bytes, "shop", &mut files).expect("written to memory");
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

#[test]
fn every_call_agrees_with_its_tree() {
    let Some(source) = test_service() else { return };
    let recording = source.lower();
    assert_eq!(worse_than_info(&recording), Vec::<&Note>::new());
    assert_eq!(recording.spans.len(), 1456);
    let rows: Vec<_> = recording
        .spans
        .iter()
        .filter(|span| !span.counters.is_empty())
        .collect();
    assert_eq!(rows.len(), 45);
    let mut spans_below = BTreeMap::new();
    let parents: BTreeMap<_, _> = recording
        .spans
        .iter()
        .map(|span| (span.id, span.parent))
        .collect();
    for span in recording.spans.iter() {
        let mut root = span.id;
        while let Some(parent) = parents[&root] {
            root = parent;
        }
        *spans_below.entry(root).or_insert(0) += 1;
    }
    for row in &rows {
        assert!(row.entry && row.parent.is_none());
        assert_eq!(row.counters[0].1, spans_below[&row.id]);
        let named = recording.track(row.track).and_then(|track| track.name);
        assert!(named.is_some());
    }
    assert_eq!(recording.events.len(), 504);
    let stopped: i64 = recording
        .events
        .iter()
        .map(|pause| pause.end.expect("an end") - pause.time)
        .sum();
    assert_eq!(stopped, 38_546_000_000);
}

#[test]
fn big_values_are_resolved() {
    let Some(source) = test_service() else { return };
    let recording = source.lower();
    let mut statements = 0;
    let mut binds = 0;
    for span in recording.spans.iter() {
        for attribute in span.attributes {
            let key = recording.attribute_key(attribute.key).expect("a key");
            let Value::Text(value) = attribute.value else {
                continue;
            };
            match recording.text(key.name).as_ref() {
                "sql" => {
                    statements += 1;
                    let text = recording.text(value).to_lowercase();
                    assert!(
                        text.starts_with("select") || text.starts_with("create"),
                        "{text}"
                    );
                    assert!(key.signature.is_some());
                    assert!(attribute.at.is_some());
                }
                "binds" => {
                    binds += 1;
                    assert!(recording.text(value).contains(": "));
                }
                _ => {}
            }
        }
    }
    assert!(statements > 9 && binds == 36, "{statements} {binds}");
}

#[test]
fn a_conversation_tells_the_same() {
    let Some(source) = test_service() else { return };
    let bytes = corpus::file("cdt/tcp/test-service.tcpdump").expect("beside the streams");
    let members = cdt::TCP.members.expect("members");
    let mut pull = SlicePull::new(&bytes, 0);
    let members = members(&mut pull, &Default::default()).expect("members");
    let mut again = Owned::default();
    for member in members {
        let mut joined = Vec::new();
        for (offset, length) in member.pieces {
            let start = usize::try_from(offset).expect("in memory");
            joined.extend_from_slice(&bytes[start..start + length as usize]);
        }
        let format = format_of(&member.name);
        if format != &cdt::GC {
            again.add(&member.name, format, joined);
        }
    }
    let set = cdt::STREAMS.set.expect("a set")(&again.parts);
    assert_eq!(set.len(), 1);
    let (separate, together) = (source.lower(), again.lower());
    assert_eq!(told(&separate), told(&together));
    assert_eq!(separate.events.time, together.events.time);
}

/// Wants less than every span.
struct Less {
    wants: Wants,
    recording: Recording,
    steps: Vec<StepBatch>,
    named: usize,
}

impl Sink for Less {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.recording.define(definitions)
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        self.named += batch.calls.len();
        self.steps.push(batch);
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.recording.spans(batch)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.recording.note(note)
    }
}

fn less(source: &Owned, wants: Wants) -> Less {
    let mut sink = Less {
        wants,
        recording: Recording::default(),
        steps: Vec::new(),
        named: 0,
    };
    source.lower_into(&LowerOptions::default(), &mut sink);
    sink
}

#[test]
fn less_is_a_part_of_more() {
    for source in [test_service(), Some(sample(3, 800_000))]
        .into_iter()
        .flatten()
    {
        let all = source.lower();
        let steps = less(&source, Wants::Steps { calls: true });
        let enters: usize = steps
            .steps
            .iter()
            .map(|batch| batch.function.iter().flatten().count())
            .sum();
        assert_eq!(enters, all.spans.len());
        let rows = all.spans.iter().filter(|span| !span.counters.is_empty());
        let rows = rows.count();
        assert_eq!((steps.named, steps.recording.spans.len()), (rows, rows));
        let only_rows = less(&source, Wants::Calls);
        assert_eq!(only_rows.recording.spans.len(), rows);
        assert!(only_rows.steps.is_empty());
        let key = |recording: &Recording| {
            let calls = recording
                .spans
                .iter()
                .filter(|span| !span.counters.is_empty());
            let mut keys: Vec<_> = calls
                .map(|span| {
                    let counters: Vec<i64> = span.counters.iter().map(|pair| pair.1).collect();
                    let origin = span.origin.expect("an origin");
                    (span.start, span.end, counters, origin.offset, origin.index)
                })
                .collect();
            keys.sort();
            keys
        };
        assert_eq!(key(&all), key(&steps.recording));
        assert_eq!(key(&all), key(&only_rows.recording));
    }
}

#[test]
fn a_sample_is_consistent() {
    let source = sample(11, 1_500_000);
    let recording = source.lower();
    assert_eq!(worse_than_info(&recording), Vec::<&Note>::new());
    let status = |wanted| {
        recording
            .spans
            .status
            .iter()
            .filter(|&&s| s == wanted)
            .count()
    };
    assert!(status(SpanStatus::Error) > 0);
    assert!(status(SpanStatus::PartialEnd) > 0);
    let resource = recording.resources[0].as_ref().expect("a process");
    assert_eq!(recording.text(resource.service.expect("a service")), "shop");
}

#[test]
fn one_call_is_found_by_its_origin() {
    let source = sample(5, 400_000);
    let all = source.lower();
    let roots: Vec<_> = all.spans.iter().filter(|span| span.entry).collect();
    for root in roots.iter().step_by(17) {
        let one = source.lower_only(root.origin);
        let found: Vec<_> = one.spans.iter().filter(|span| span.entry).collect();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].start, found[0].end), (root.start, root.end));
        assert_eq!(found[0].counters.len(), root.counters.len());
        assert_eq!(found[0].attributes.len(), root.attributes.len());
    }
}

#[test]
fn params_of_another_restart() {
    let Some(files) = corpus::files("cdt/dump/server1") else {
        return;
    };
    let parts: Vec<Part> = files
        .iter()
        .map(|file| file.trim_start_matches("cdt/dump/").trim_end_matches(".gz"))
        .filter(|name| !name.ends_with(".blst") && !name.contains("1643822510743/params"))
        .map(|name| Part {
            name: name.to_owned(),
            format: Some(format_of(name)),
            size: None,
        })
        .collect();
    let groups = cdt::DUMP.set.expect("a set")(&parts);
    assert_eq!(groups.len(), 2);
    assert_eq!(
        cdt::STREAMS.set.expect("a set")(&parts),
        Vec::<Vec<usize>>::new()
    );
    for group in &groups {
        let params = group
            .iter()
            .filter(|&&at| parts[at].format == Some(&cdt::PARAMS));
        assert_eq!(params.count(), 1);
    }
}

#[test]
fn damage_costs_one_block() {
    let source = sample(9, 500_000);
    let whole = source.lower();
    let trace = source
        .parts
        .iter()
        .position(|part| part.format == Some(&cdt::TRACE));
    let trace = trace.expect("a trace");
    let mut torn = Owned::default();
    for (part, bytes) in source.parts.iter().zip(&source.bytes) {
        torn.add(&part.name, part.format.expect("a format"), bytes.clone());
    }
    // A tag of a type that nobody knows, in the middle of the file.
    let bytes = &mut torn.bytes[trace];
    let at = bytes.len() / 2;
    let found = bytes[at..]
        .windows(4)
        .position(|w| w == [0x02, 0x0b, 0x00, 0x0d]);
    let at = at + found.expect("a tag of the kind that begins a call's tail");
    bytes[at + 2] = 0x77;
    let recording = torn.lower();
    let kinds: Vec<_> = recording.notes.counts().collect();
    assert!(
        kinds
            .iter()
            .any(|&(level, kind, _)| (level, kind) == (Level::Damage, "unknown_tag_type")),
        "{kinds:?}"
    );
    let lost = whole.spans.len().abs_diff(recording.spans.len());
    assert!(lost < 600, "{lost} spans lost: more than a block holds");
}

/// Writes what a source lowers to and reads it back.
fn round(source: &Owned, target: &'static Format) -> (Owned, Recording) {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let raise = target.raise.expect("a target");
    let mut target = raise(&RaiseOptions::default(), &mut files).expect("no variant");
    source.lower_into(&LowerOptions::default(), target.as_mut());
    target.finish().expect("memory");
    drop(target);
    let mut again = Owned::default();
    for (name, bytes) in files {
        let name = name.trim_end_matches(".gz");
        again.add(name, format_of(name), bytes);
    }
    let recording = again.lower();
    (again, recording)
}

fn pauses(recording: &Recording) -> Vec<(i64, Option<i64>)> {
    let is_pause = |id| {
        let row = recording.event_type(id).expect("an event type");
        recording.text(row.name) == "pause"
    };
    let events = recording.events.iter();
    let pauses = events.filter(|event| is_pause(event.event_type));
    pauses.map(|pause| (pause.time, pause.end)).collect()
}

#[test]
fn raised_and_lowered_tells_the_same() {
    for source in [test_service(), Some(sample(3, 300_000))]
        .into_iter()
        .flatten()
    {
        let before = source.lower();
        for target in [&cdt::STREAMS, &cdt::DUMP] {
            let (again, after) = round(&source, target);
            assert_eq!(worse_than_info(&after), Vec::<&Note>::new(), "{target:?}");
            let (before_told, after_told) = (told(&before), told(&after));
            assert_eq!(before_told.len(), after_told.len());
            for (before, after) in before_told.iter().zip(&after_told) {
                assert_eq!(before, after);
            }
            // Streams hold pauses and no other events: those of the collector's log stay behind.
            assert_eq!(pauses(&before), pauses(&after));
            let set = target.set.expect("a set")(&again.parts);
            assert_eq!(set.len(), 1, "{:?}", again.parts);
        }
    }
}

#[test]
fn phrases_are_cut_between_records() {
    let (streams, _) = round(&sample(3, 300_000), &cdt::STREAMS);
    let mut phrases = 0;
    for (part, bytes) in streams.parts.iter().zip(&streams.bytes) {
        let format = part.format.expect("a format");
        let mut records = Records::default();
        read_slice(
            format.reader(&Limits::default()).as_mut(),
            bytes,
            &mut records,
        );
        assert_eq!(records.notes(), [], "{}", part.name);
        assert!(records.written() == bytes);
        for (kind, _, _, fields) in records.rows() {
            if kind == "phrase" {
                phrases += 1;
                let length = fields
                    .trim_start_matches("length=U64(")
                    .trim_end_matches(") ");
                assert!(length.parse::<u32>().expect("a number") <= 10_239);
            }
        }
    }
    assert!(phrases > 3);
}

#[test]
fn values_that_agents_lose_are_written_right() {
    // 256 MiB and 2^30 + 123 lose their upper bits in the agent's own encoder.
    let mut tables = Tables::new();
    let name = tables.string("void a.B.c() (B.java:1) [b.jar]");
    let function = tables.function(Function::named(name));
    let thread = tables.string("main");
    let track = tables.track(Track::thread(thread));
    let memory = tables.string("memory_used");
    let memory = tables.value_type(ValueType::sum(memory, Unit::Bytes));
    let mut spans = SpanBatch::default();
    for (at, value) in [1 << 28, (1 << 30) + 123, i64::MAX].into_iter().enumerate() {
        let start = 1_700_000_000_000_000_000 + at as i64 * 100_000_000;
        let id = tables.reserve_span();
        spans.push(&SpanRow {
            counters: &[(memory, value)],
            ..SpanRow::call(id, track, function, start, start + 50_000_000)
        });
    }
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let raise = cdt::STREAMS.raise.expect("a target");
    let mut target = raise(&RaiseOptions::default(), &mut files).expect("no variant");
    let _ = target.define(tables.take_definitions());
    let _ = target.spans(spans);
    target.finish().expect("memory");
    drop(target);
    let mut again = Owned::default();
    for (name, bytes) in files {
        again.add(&name, format_of(&name), bytes);
    }
    let recording = again.lower();
    let found: Vec<i64> = recording
        .spans
        .iter()
        .map(|span| {
            let named = |id| {
                let row = recording.value_type(id).expect("a value type");
                recording.text(row.name) == "memory_used"
            };
            let found = span.counters.iter().find(|(id, _)| named(*id));
            found.expect("the counter").1
        })
        .collect();
    assert_eq!(found, [1 << 28, (1 << 30) + 123, i64::MAX]);
}

#[test]
fn unnamed_strings_go_where_the_references_hit() {
    let Some(named) = test_service() else { return };
    let mut source = Owned::default();
    // The xml stream first: a single offset decodes in it as well.
    for name in ["xml", "sql", "dictionary", "params", "calls", "traces"] {
        let at = named.parts.iter().position(|part| part.name == name);
        let at = at.expect("a stream");
        let format = match name {
            "xml" | "sql" => &cdt::STRINGS,
            _ => named.parts[at].format.expect("a format"),
        };
        source.add(name, format, named.bytes[at].clone());
    }
    let (guessed, told_by_names) = (source.lower(), named.lower());
    assert_eq!(told(&guessed), told(&told_by_names));
    let of_guesses: Vec<&Note> = guessed
        .notes
        .kept()
        .iter()
        .filter(|note| note.kind == "guessed_stream")
        .collect();
    assert_eq!(of_guesses.len(), 2, "{of_guesses:?}");
    let missing = guessed
        .notes
        .kept()
        .iter()
        .any(|note| note.kind == "missing_values");
    assert!(!missing);
}

#[test]
fn calls_without_a_dictionary_are_not_doubtful() {
    let Some(named) = test_service() else { return };
    for name in ["calls", "traces"] {
        let at = named.parts.iter().position(|part| part.name == name);
        let at = at.expect("a stream");
        let mut source = Owned::default();
        let format = named.parts[at].format.expect("a format");
        source.add(name, format, named.bytes[at].clone());
        let notes = source.lower().notes;
        let without: Vec<&Note> = notes
            .kept()
            .iter()
            .filter(|note| note.kind.ends_with("_word") || note.kind == "no_dictionary")
            .collect();
        assert_eq!(without.len(), 1, "{name}");
        assert_eq!(without[0].level, Level::Info, "{name}");
        assert!(without[0].offset > 0, "{name}");
    }
}
