//! Lowering, raising, damage and the sample generator.

#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use traceloom_model::{Clock, Feature, Level, Limits, Merge, Recording, Scope, SpanStatus, Value};

use super::binary::{Shape, Writer};
use super::message::Draft;
use super::table::by_element;
use super::{BINARY, XML};
use crate::{Format, LowerOptions, RaiseOptions, Records, SliceSource, read_chunked, read_slice};

const EPOCH: u64 = 1_204_279_200_000_000_000;
const T0: i64 = 1_204_279_200_000_000_000;

fn draft(element: &str) -> Draft<'static> {
    Draft::new(by_element(element.as_bytes()).unwrap())
}

fn trace(frequency: u64, drafts: &[Draft<'_>]) -> Vec<u8> {
    let mut writer = Writer::new(Shape::default(), true);
    let mut out = Vec::new();
    writer.descriptor(0, 1, &mut out);
    writer.frequency(frequency, &mut out);
    for draft in drafts {
        writer.message(&draft.message(), &mut out);
    }
    out
}

fn lower(format: &'static Format, bytes: &[u8]) -> Recording {
    lower_named("trace", format, bytes, &LowerOptions::default())
}

fn lower_named(
    name: &str,
    format: &'static Format,
    bytes: &[u8],
    options: &LowerOptions,
) -> Recording {
    let source = SliceSource::default().with(name, format, bytes);
    let mut recording = Recording::default();
    (format.lower.unwrap())(&source, options, &mut recording).unwrap();
    recording
}

fn raise(format: &'static Format, from: &'static Format, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    {
        let mut target = (format.raise.unwrap())(&RaiseOptions::default(), &mut out).unwrap();
        let source = SliceSource::default().with("trace", from, bytes);
        (from.lower.unwrap())(&source, &LowerOptions::default(), target.as_mut()).unwrap();
        target.finish().unwrap();
    }
    out
}

/// Method, status, start, end, depth and thread of every span.
fn spans(recording: &Recording) -> Vec<(String, SpanStatus, i64, i64, u32, String)> {
    let rows = recording.spans.iter();
    rows.map(|row| {
        let track = recording.track(row.track).unwrap();
        let thread = track.name.map_or_else(
            || format!("#{}", track.id.unwrap()),
            |name| recording.text(name).into(),
        );
        let name = recording.function_name(row.function.unwrap()).into_owned();
        (
            name,
            row.status,
            row.start - T0,
            row.end - T0,
            row.depth,
            thread,
        )
    })
    .collect()
}

fn entry(thread: u64, method: u64, ticket: u64, time: u64) -> Draft<'static> {
    let draft = draft("methodEntry")
        .number("threadIdRef", thread)
        .number("methodIdRef", method);
    draft
        .number("ticket", ticket)
        .number("time", EPOCH + time)
        .number("classIdRef", 7)
}

fn exit(thread: u64, method: u64, ticket: u64, time: u64) -> Draft<'static> {
    let draft = draft("methodExit")
        .number("threadIdRef", thread)
        .number("methodIdRef", method);
    draft.number("ticket", ticket).number("time", EPOCH + time)
}

fn definitions() -> Vec<Draft<'static>> {
    vec![
        draft("threadStart")
            .number("threadId", 1)
            .number("time", EPOCH)
            .text("threadName", "main"),
        draft("classDef")
            .number("classId", 7)
            .text("name", "com/acme/Shop")
            .text("sourceName", "Shop.java"),
        draft("methodDef")
            .number("methodId", 70)
            .number("classIdRef", 7)
            .text("name", "-init-"),
        draft("methodDef")
            .number("methodId", 71)
            .number("classIdRef", 7)
            .text("name", "buy")
            .text("signature", "(I)V")
            .number("startLineNumber", 12)
            .number("isStatic", 1),
    ]
}

#[test]
fn calls_pair_by_ticket() {
    use SpanStatus::{Complete, PartialEnd, PartialStart};
    let mut drafts = definitions();
    drafts.extend([
        entry(1, 71, 1, 10),
        entry(2, 70, 1, 15),
        entry(1, 70, 2, 20),
        exit(1, 70, 2, 30).number("threadCpuTime", 5),
        entry(1, 71, 3, 40),
        entry(1, 72, 4, 50),
        // Tickets 4 and 3 never end: their caller does.
        exit(1, 71, 1, 60),
        exit(1, 71, 99, 70),
        exit(2, 70, 1, 80),
        entry(1, 70, 5, 90),
    ]);
    let recording = lower(&BINARY, &trace(1_000_000_000, &drafts));
    let (main, other) = ("main".to_owned(), "#2".to_owned());
    let (buy, init) = (
        "com.acme.Shop.buy".to_owned(),
        "com.acme.Shop.<init>".to_owned(),
    );
    let unknown = "com.acme.Shop.method#72".to_owned();
    assert_eq!(
        spans(&recording),
        [
            (init.clone(), Complete, 20, 30, 1, main.clone()),
            (unknown, PartialEnd, 50, 60, 2, main.clone()),
            (buy.clone(), PartialEnd, 40, 60, 1, main.clone()),
            (buy.clone(), Complete, 10, 60, 0, main.clone()),
            (buy, PartialStart, 60, 70, 0, main.clone()),
            (init.clone(), Complete, 15, 80, 0, other),
            (init, PartialEnd, 90, 90, 0, main),
        ]
    );
    assert_eq!(recording.clock, Clock::Unix);
    let cpu: Vec<i64> = recording
        .spans
        .counters(0)
        .iter()
        .map(|(_, value)| *value)
        .collect();
    assert_eq!(cpu, [5]);
    let buy = recording
        .functions
        .iter()
        .flatten()
        .find(|f| f.line == 12)
        .unwrap();
    assert_eq!(
        (buy.modifiers, recording.text(buy.file.unwrap()).as_ref()),
        (8, "Shop.java")
    );
    assert_eq!(recording.text(buy.package.unwrap()), "com.acme");

    let only = LowerOptions {
        only: recording.spans.row(5).unwrap().origin,
        ..LowerOptions::default()
    };
    let one = lower_named("trace", &BINARY, &trace(1_000_000_000, &drafts), &only);
    assert_eq!(one.spans.len(), 1);
    assert_eq!(one.spans.start[0], T0 + 15);
}

#[test]
fn ids_are_given_out_again() {
    let start = |name, time| {
        draft("threadStart")
            .number("threadId", 5)
            .number("time", EPOCH + time)
            .text("threadName", name)
    };
    let class = |name| draft("classDef").number("classId", 7).text("name", name);
    let method = |name| {
        draft("methodDef")
            .number("methodId", 5)
            .number("classIdRef", 7)
            .text("name", name)
    };
    let alloc = |time| {
        draft("objAlloc")
            .number("objId", 5)
            .number("size", 16)
            .number("time", EPOCH + time)
    };
    let drafts = [
        start("first", 1),
        class("a/A"),
        method("one"),
        alloc(2),
        entry(5, 5, 1, 3),
        exit(5, 5, 1, 4),
        draft("threadEnd")
            .number("threadIdRef", 5)
            .number("time", EPOCH + 5),
        draft("objFree")
            .number("objIdRef", 5)
            .number("objAge", 2)
            .number("time", EPOCH + 5),
        start("second", 6),
        class("b/B"),
        method("two"),
        alloc(7),
        entry(5, 5, 1, 8),
        exit(5, 5, 1, 9),
    ];
    let recording = lower(&BINARY, &trace(1_000_000_000, &drafts));
    let seen: Vec<_> = spans(&recording)
        .into_iter()
        .map(|span| (span.0, span.5))
        .collect();
    assert_eq!(
        seen,
        [
            ("a.A.one".into(), "first".into()),
            ("b.B.two".into(), "second".into())
        ]
    );
    let objects: Vec<_> = recording
        .objects
        .iter()
        .map(|o| (o.id.0, o.generation, o.size))
        .collect();
    assert_eq!(objects, [(5, 0, 16), (5, 1, 16)]);
}

#[test]
fn aggregated_calls_become_a_profile() {
    let open = |method, base, least, most, calls| {
        let draft = draft("agMethodEntry")
            .number("threadIdRef", 1)
            .number("methodIdRef", method)
            .number("baseTime", base);
        let draft = draft
            .number("minTime", least)
            .number("maxTime", most)
            .number("baseCPUTime", base / 2);
        draft.number("numCalls", calls)
    };
    let close = |method| {
        draft("agMethodExit")
            .number("threadIdRef", 1)
            .number("methodIdRef", method)
    };
    let mut drafts = definitions();
    drafts.extend([
        open(71, 500, 500, 500, 1),
        open(70, 90, 20, 40, 3),
        close(70),
        open(72, 7, 7, 7, 1),
        close(72),
        close(71),
    ]);
    let bytes = trace(1_000_000_000, &drafts);
    let check = |recording: &Recording| {
        let batch = &recording.samples[0];
        let mut rows: Vec<_> = batch
            .iter()
            .map(|row| {
                let mut names = Vec::new();
                let mut next = row.stack;
                while let Some(stack) = next.and_then(|id| recording.stack(id)) {
                    let frame = recording.frame(stack.frame).unwrap();
                    names.push(
                        recording
                            .function_name(frame.function.unwrap())
                            .into_owned(),
                    );
                    next = stack.parent;
                }
                (names.len(), names[0].clone(), row.values.to_vec())
            })
            .collect();
        rows.sort();
        assert_eq!(
            rows[0],
            (
                1,
                "com.acme.Shop.buy".into(),
                vec![500, 597, 500, 500, 250, 1]
            )
        );
        assert_eq!(
            rows[1],
            (
                2,
                "com.acme.Shop.<init>".into(),
                vec![90, 90, 20, 40, 45, 3]
            )
        );
        assert_eq!(rows[2].2, [7, 7, 7, 7, 3, 1]);
        assert_eq!(rows.len(), 3);
        let profile = recording.profile(batch.profile).unwrap();
        let types = profile
            .value_types
            .iter()
            .map(|id| recording.value_type(*id).unwrap());
        let types: Vec<_> = types
            .map(|t| (recording.text(t.name).into_owned(), t.merge, t.scope))
            .collect();
        assert_eq!(
            types[1],
            ("cumulative_time".into(), Merge::Sum, Scope::Inclusive)
        );
        assert_eq!(types[2], ("min_time".into(), Merge::Min, Scope::Own));
    };
    check(&lower(&BINARY, &bytes));
    check(&lower(&XML, &raise(&XML, &BINARY, &bytes)));
    check(&lower(&BINARY, &raise(&BINARY, &BINARY, &bytes)));
}

/// Start, end, object, owner's name, frames and attributes of an event.
type Told = (
    i64,
    Option<i64>,
    u64,
    String,
    Vec<(String, u32)>,
    BTreeMap<String, String>,
);

fn events(recording: &Recording, wanted: &str) -> Vec<Told> {
    let of_type = recording.events.iter().filter(|event| {
        recording.text(recording.event_type(event.event_type).unwrap().name) == wanted
    });
    of_type
        .map(|event| {
            let mut frames = Vec::new();
            let mut next = event.stack;
            while let Some(stack) = next.and_then(|id| recording.stack(id)) {
                let frame = recording.frame(stack.frame).unwrap();
                frames.push((
                    recording
                        .function_name(frame.function.unwrap())
                        .into_owned(),
                    frame.line,
                ));
                next = stack.parent;
            }
            let owner = event.owner.and_then(|owner| recording.track(owner)?.name);
            let attributes = event.attributes.iter().map(|a| {
                let value = match &a.value {
                    Value::Text(text) => recording.text(*text).into_owned(),
                    Value::U64(number) => number.to_string(),
                    Value::I64(number) => number.to_string(),
                    other => format!("{other:?}"),
                };
                (
                    recording
                        .text(recording.attribute_key(a.key).unwrap().name)
                        .into_owned(),
                    value,
                )
            });
            let owner = owner.map_or_else(String::new, |name| recording.text(name).into_owned());
            (
                event.time - T0,
                event.end.map(|end| end - T0),
                event.object.map_or(0, |o| o.0),
                owner,
                frames,
                attributes.collect(),
            )
        })
        .collect()
}

#[test]
fn monitors_and_collections_have_an_end() {
    let frames: &[(&[u8], u64)] = &[(b"com/acme/Shop.buy(I)V", 12), (b"com/acme/Main.main", 3)];
    let at = |element: &str, time| {
        draft(element)
            .number("threadIdRef", 2)
            .number("objIdRef", 9)
            .number("time", EPOCH + time)
    };
    let mut drafts = definitions();
    drafts.extend([
        at("monWait", 10).number("timeout", 250),
        at("monContendedEnter", 12)
            .number("threadOwner", 1)
            .stack(frames),
        at("monContendedEntered", 15),
        at("monWaited", 20).number("timeout", 1),
        at("monWaited", 25),
        at("monWait", 30),
        draft("gcStart").number("time", EPOCH + 40),
        draft("gcFinish")
            .number("time", EPOCH + 45)
            .number("usedObjs", 17),
        draft("custom").text("body", "probe says hello"),
    ]);
    let bytes = trace(1_000_000_000, &drafts);
    for (format, bytes) in [
        (&BINARY, bytes.clone()),
        (&BINARY, raise(&BINARY, &BINARY, &bytes)),
        (&XML, raise(&XML, &BINARY, &bytes)),
    ] {
        let recording = lower(format, &bytes);
        let waits = events(&recording, "monitor_wait");
        let attributes: BTreeMap<String, String> = [
            ("timeout".into(), "250".into()),
            ("waited_timeout".into(), "1".into()),
        ]
        .into();
        assert_eq!(
            waits[0],
            (10, Some(20), 9, String::new(), vec![], attributes)
        );
        assert_eq!((waits[1].0, waits[1].1, waits.len()), (30, None, 2));
        let contended = &events(&recording, "monitor_contention")[0];
        assert_eq!(
            (contended.0, contended.1, contended.3.as_str()),
            (12, Some(15), "main")
        );
        assert_eq!(
            contended.4,
            [
                ("com.acme.Shop.buy".into(), 12),
                ("com.acme.Main.main".into(), 3)
            ]
        );
        assert_eq!(events(&recording, "mon_waited")[0].0, 25);
        let gc = &events(&recording, "gc")[0];
        assert_eq!(
            (gc.0, gc.1, gc.5["used_objs"].as_str()),
            (40, Some(45), "17")
        );
        assert_eq!(
            events(&recording, "custom")[0].5["body"],
            "probe says hello"
        );
    }
}

#[test]
fn heaps_and_producers() {
    let drafts = [
        draft("node")
            .text("nodeId", "n")
            .text("hostname", "ws.example.org")
            .number("timezone", (-480_i64).cast_unsigned()),
        draft("processCreate")
            .text("processId", "p")
            .text("nodeIdRef", "n")
            .number("pid", 42),
        draft("agentCreate")
            .text("agentId", "a")
            .text("processIdRef", "p")
            .text("version", "2.000"),
        draft("traceStart")
            .text("traceId", "t")
            .text("agentIdRef", "a")
            .number("time", EPOCH),
        draft("heapDumpDef")
            .number("heapDumpId", 11)
            .number("time", EPOCH + 1)
            .text("name", "one"),
        draft("gcRoot")
            .number("objIdRef", 900)
            .text("type", "JNI_GLOBAL"),
        draft("objReference")
            .number("srcIdRef", 900)
            .number("targetIdRef", 901)
            .number("heapDumpIdRef", 11),
        draft("heapDumpDef")
            .number("heapDumpId", 12)
            .number("time", EPOCH + 2)
            .text("name", "two"),
        draft("gcRoot")
            .number("objIdRef", 902)
            .text("type", "STACK"),
        draft("objReference")
            .number("srcIdRef", 902)
            .number("targetIdRef", 901)
            .number("heapDumpIdRef", 12),
    ];
    let bytes = trace(1_000_000_000, &drafts);
    for bytes in [bytes.clone(), raise(&BINARY, &BINARY, &bytes)] {
        let recording = lower(&BINARY, &bytes);
        assert_eq!(recording.roots.dump, [0, 1]);
        assert_eq!(
            recording
                .roots
                .object
                .iter()
                .map(|o| o.0)
                .collect::<Vec<_>>(),
            [900, 902]
        );
        assert_eq!(recording.edges.dump, [0, 1]);
        let kinds = events(&recording, "root_kind");
        assert_eq!(
            (kinds[0].5["name"].as_str(), kinds[1].5["name"].as_str()),
            ("JNI_GLOBAL", "STACK")
        );
        let rows: Vec<_> = recording.resources.iter().flatten().collect();
        assert_eq!(rows.len(), 4);
        assert_eq!(recording.text(rows[0].host.unwrap()), "ws.example.org");
        assert_eq!(rows[1].pid, Some(42));
        assert_eq!(
            rows.iter()
                .map(|row| row.parent.map(|p| p.raw()))
                .collect::<Vec<_>>(),
            [None, Some(0), Some(1), Some(2)]
        );
        let west = rows[0]
            .attributes
            .iter()
            .any(|a| a.value == Value::I64(-480));
        assert!(west);
    }
}

#[test]
fn ticks_without_an_epoch_start_at_zero() {
    let boot = 3_000_000_000_000;
    let drafts = [
        draft("methodEntry")
            .number("threadIdRef", 1)
            .number("time", boot)
            .number("ticket", 1),
        draft("methodExit")
            .number("threadIdRef", 1)
            .number("time", boot + 3)
            .number("ticket", 1),
    ];
    let recording = lower(&BINARY, &trace(2_000_000_000, &drafts));
    assert!(matches!(recording.clock, Clock::Unknown(Some(_))));
    // Three ticks of half a nanosecond, rounded down.
    assert_eq!((recording.spans.start[0], recording.spans.end[0]), (0, 1));
}

#[test]
fn a_name_that_contradicts_is_told() {
    let bytes = trace(1_000_000_000, &definitions());
    let kinds = |recording: &Recording| {
        recording
            .notes
            .kept()
            .iter()
            .map(|n| (n.kind, n.level))
            .collect::<Vec<_>>()
    };
    let options = LowerOptions::default();
    let wrong = lower_named("out/a.trcxml", &BINARY, &bytes, &options);
    assert_eq!(kinds(&wrong), [("name_contradicts", Level::Warn)]);
    assert_eq!(
        kinds(&lower_named("a.trcbin", &BINARY, &bytes, &options)),
        []
    );
}

/// Lower, raise, lower: calls, their times and their methods are the same.
#[test]
fn what_is_raised_lowers_to_the_same_calls() {
    for format in [&BINARY, &XML] {
        let bytes = sample(format, 200_000);
        let first = lower(format, &bytes);
        assert!(first.spans.len() > 200, "{}", first.spans.len());
        for target in [&BINARY, &XML] {
            let second = lower(target, &raise(target, format, &bytes));
            let sorted = |recording: &Recording| {
                let mut spans = spans(recording);
                spans.sort_by_key(|span| (span.2, span.4, span.5.clone()));
                spans
            };
            assert_eq!(sorted(&second), sorted(&first), "{format:?} to {target:?}");
            assert_eq!(second.objects.len(), first.objects.len());
            assert_eq!(
                events(&second, "monitor_contention"),
                events(&first, "monitor_contention")
            );
            assert_eq!(events(&second, "gc"), events(&first, "gc"));
            assert_eq!(second.notes.total(), 0, "{:?}", second.notes.kept());
        }
        assert!(format.holds.holds(Feature::Spans));
    }
}

fn sample(format: &Format, bytes: u64) -> Vec<u8> {
    let mut all = Vec::new();
    (format.sample.unwrap())(7, bytes, &mut |piece| all.extend_from_slice(piece));
    all
}

fn records(format: &Format, bytes: &[u8]) -> Records {
    let mut records = Records::default();
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        bytes,
        &mut records,
    );
    records
}

#[test]
fn samples_are_whole_traces() {
    for format in [&BINARY, &XML] {
        let bytes = sample(format, 300_000);
        let read = records(format, &bytes);
        assert_eq!(read.written(), bytes);
        assert_eq!(read.notes(), []);
        assert_eq!(bytes, sample(format, 300_000));
        assert!(bytes.len() > 290_000);
    }
}

/// Every flipped bit and every cut gives records that tile the input, whatever the chunks.
#[test]
fn damage_never_breaks_the_tiling() {
    for format in [&BINARY, &XML] {
        let whole = sample(format, 1 << 20);
        let bytes = &whole[..9_000];
        for at in 0..bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[at] ^= 1 << (at % 8);
            let read = records(format, &damaged);
            assert!(read.written() == damaged, "{format:?} bit at {at}");
            if at % 16 == 0 {
                let mut pieces = Records::default();
                let cuts = (0..damaged.len()).step_by(61);
                read_chunked(
                    format.reader(&Limits::default()).as_mut(),
                    &damaged,
                    cuts,
                    &mut pieces,
                );
                assert!(pieces == read, "{format:?} bit at {at} in pieces");
                let cut = records(format, &bytes[..at]);
                assert!(cut.written() == &bytes[..at], "{format:?} cut at {at}");
                lower(format, &damaged);
            }
        }
    }
}

/// A damaged size or a broken tag costs the record it is in, not the rest.
#[test]
fn reading_goes_on_behind_damage() {
    let bytes = sample(&BINARY, 60_000);
    let whole = records(&BINARY, &bytes);
    let n_records = whole.rows().len();
    for (nth, row) in whole.rows().iter().enumerate().skip(10).step_by(37) {
        let at = usize::try_from(row.1).unwrap();
        for (byte, flip) in [(2, 0x40), (3, 0x01), (2, 0x04), (5, 0x80), (0, 0x20)] {
            let mut damaged = bytes.clone();
            damaged[at + byte] ^= flip;
            let read = records(&BINARY, &damaged);
            assert!(read.written() == damaged);
            assert!(!read.notes().is_empty(), "record {nth} byte {byte}");
            assert!(
                read.rows().len() + 3 > n_records,
                "record {nth} byte {byte}: {} of {n_records}",
                read.rows().len()
            );
        }
    }
    let bytes = sample(&XML, 60_000);
    let whole = records(&XML, &bytes);
    let elements = |read: &Records| {
        read.kinds()
            .iter()
            .filter(|kind| kind.starts_with("method_"))
            .count()
    };
    let n_elements = elements(&whole);
    for at in (2_000..bytes.len() - 200).step_by(997) {
        for with in [b'"', b'<', b'>', b' ', b'/'] {
            let mut damaged = bytes.clone();
            damaged[at] = with;
            let read = records(&XML, &damaged);
            assert!(read.written() == damaged);
            assert!(
                elements(&read) + 2 >= n_elements,
                "{} of {n_elements}",
                elements(&read)
            );
        }
    }
}

#[test]
fn garbage_is_read_to_its_end() {
    for format in [&BINARY, &XML] {
        for garbage in [
            &b""[..],
            b"0TBF",
            b"<",
            b"hello <world",
            &[0; 100_000],
            &[b'<'; 100_000],
        ] {
            let read = records(format, garbage);
            assert_eq!(read.written(), garbage);
            assert!(!read.notes().is_empty());
        }
    }
    let quotes = b"<a \"".repeat(50_000);
    assert_eq!(records(&XML, &quotes).written(), quotes);
    let comments = b"<!-- <![CDATA[ <? ".repeat(20_000);
    assert_eq!(records(&XML, &comments).written(), comments);
}
