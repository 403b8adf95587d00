//! What is written, read again.

use super::*;

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
            let mut named_by_a_row = std::collections::BTreeSet::new();
            for (before, mut after) in before_told.into_iter().zip(after_told) {
                // One call of a thread has a row for the thread's name, and rows have counters.
                let (thread, counters) = (&after.3, &after.6);
                let counts = |&(ref name, value): &(String, i64)| name == "calls" || value == 0;
                if before.6.is_empty() && !counters.is_empty() && counters.iter().all(counts) {
                    assert!(
                        named_by_a_row.insert(thread.clone()),
                        "a second row: {after:?}"
                    );
                    after.6.clear();
                }
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
                let length = fields.trim_start_matches("length=U64(");
                let length = length.split_once(')').expect("a number").0;
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
fn words_that_no_call_uses_are_written_too() {
    let Some(source) = test_service() else { return };
    let texts = |source: &Owned, format: &'static Format, field: &str| {
        let part = source
            .parts
            .iter()
            .position(|part| part.format == Some(format));
        let mut records = Records::default();
        let reader = format.reader.expect("a reader");
        let bytes = &source.bytes[part.expect("a part")];
        read_slice(reader(&Limits::default()).as_mut(), bytes, &mut records);
        let found = records.rows().iter().filter(|row| row.0 == field);
        let mut found: Vec<String> = found.map(|row| row.3.clone()).collect();
        found.sort();
        found.dedup();
        found
    };
    let (again, _) = round(&source, &cdt::STREAMS);
    for (format, kind) in [
        (&cdt::PARAMS, "param"),
        (&cdt::XML, "string"),
        (&cdt::SQL, "string"),
    ] {
        let (before, after) = (texts(&source, format, kind), texts(&again, format, kind));
        assert!(!before.is_empty());
        assert_eq!(before, after, "{}", format.name);
    }
    let words = |source: &Owned| {
        let found = texts(source, &cdt::DICTIONARY, "word");
        // In which phrase a word is depends on those before it.
        let word = |fields: &String| {
            let word = fields.split_once("word=").expect("a word").1;
            word.split(" phrase=").next().unwrap_or(word).to_owned()
        };
        found
            .iter()
            .map(word)
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert!(words(&again).is_superset(&words(&source)));
}

#[test]
fn each_recording_is_a_process_of_its_own() {
    let (one, two) = (sample(3, 100_000), sample(4, 100_000));
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let raise = cdt::DUMP.raise.expect("a target");
    let mut target = raise(&RaiseOptions::default(), &mut files).expect("no variant");
    let mut both = Concat::new(target.as_mut());
    for source in [&one, &two] {
        source.lower_into(&LowerOptions::default(), &mut both);
        both.next_recording(source.parts.len());
    }
    target.finish().expect("memory");
    drop(target);
    let mut again = Owned::default();
    for (name, bytes) in files {
        let name = name.trim_end_matches(".gz");
        again.add(name, format_of(name), bytes);
    }
    let sets = cdt::DUMP.set.expect("a set")(&again.parts);
    assert_eq!(sets.len(), 2);
    let mut found: Vec<_> = sets
        .iter()
        .map(|set| {
            let mut alone = Owned::default();
            for &part in set {
                let Part { name, format, .. } = &again.parts[part];
                alone.add(name, format.expect("a stream"), again.bytes[part].clone());
            }
            let recording = alone.lower();
            (recording.spans.len(), pauses(&recording))
        })
        .collect();
    let mut expected: Vec<_> = [&one, &two]
        .map(|source| (source.lower().spans.len(), pauses(&source.lower())))
        .into();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn calls_that_overlap_on_their_thread_keep_their_times() {
    let mut source = Owned::default();
    let write = traceloom_samples::by_name(cdt::CALLS.name).expect("a generator");
    for seed in [11, 12] {
        let mut rows = Vec::new();
        write(seed, 30_000, &mut |piece| rows.extend_from_slice(piece));
        source.add(&format!("calls/{seed:06}"), &cdt::CALLS, rows);
    }
    let before = source.lower();
    let mut ends = BTreeMap::new();
    let out_of_order = before.spans.iter().filter(|span| {
        let last = ends.insert(span.track, span.end);
        last.is_some_and(|end| span.start < end)
    });
    assert!(out_of_order.count() > 0);
    let (_, after) = round(&source, &cdt::DUMP);
    assert_eq!(worse_than_info(&after), Vec::<&Note>::new());
    let extents = |recording: &Recording| {
        let rows = recording.spans.iter();
        let mut all: Vec<_> = rows
            .map(|span| {
                let track = recording.track(span.track).expect("a track");
                let thread = track.name.map(|name| recording.text(name).into_owned());
                (span.start, span.end, thread)
            })
            .collect();
        all.sort();
        all
    };
    assert_eq!(extents(&after), extents(&before));
}
