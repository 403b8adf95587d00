//! Monitors, collections, the heap, producers, clocks and names.

use std::collections::BTreeMap;

use traceloom_model::{Clock, Flow, Level, Note, Value};

use super::*;
use crate::Chunk;
use crate::tptp::{BINARY, Item, Visit, XML};

/// Start, end, object, owner's name, frames and attributes of an event.
pub(super) type Told = (
    i64,
    Option<i64>,
    u64,
    String,
    Vec<(String, u32)>,
    BTreeMap<String, String>,
);

pub(super) fn events(recording: &Recording, wanted: &str) -> Vec<Told> {
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

/// Times of the messages of a binary stream that have one, in their order.
fn times(bytes: &[u8]) -> Vec<(&'static str, u64)> {
    struct Times(Vec<(&'static str, u64)>);
    impl Visit for Times {
        fn item(&mut self, item: Item<'_, '_>) -> Flow {
            if let Item::Data(data) = item {
                let time = data.message.number("time");
                self.0
                    .extend((time != 0).then_some((data.message.schema.element, time)));
            }
            Flow::Continue(())
        }

        fn note(&mut self, note: Note) -> Flow {
            panic!("{note:?}")
        }
    }
    let mut times = Times(Vec::new());
    let chunk = Chunk {
        bytes,
        offset: 0,
        eof: true,
    };
    crate::tptp::binary::Reader::new(&Limits::default()).read(chunk, &mut times);
    times.0
}

/// Whatever order the model has them in, messages are written when they happened, with their stacks.
#[test]
fn what_is_raised_is_in_the_order_of_time() {
    let frames: &[(&[u8], u64)] = &[(b"com/acme/Shop.buy", 12), (b"com/acme/Main.main", 3)];
    let mut drafts = definitions();
    let at = |element: &str, time: u64| {
        let draft = draft(element).number("threadIdRef", 1);
        draft.number("time", EPOCH + time).number("objIdRef", 9)
    };
    drafts.extend([
        draft("threadStart")
            .number("threadId", 2)
            .number("time", EPOCH + 1)
            .text("threadName", "worker"),
        entry(1, 71, 1, 10),
        entry(2, 70, 1, 15),
        at("monWait", 20).stack(frames),
        at("monContendedEnter", 30).number("threadOwner", 2),
        exit(2, 70, 1, 35),
        at("monContendedEntered", 40),
        at("monWaited", 50),
        draft("threadEnd")
            .number("threadIdRef", 2)
            .number("time", EPOCH + 55),
        at("monWaited", 60).stack(frames),
        exit(1, 71, 1, 70),
    ]);
    let bytes = trace(1_000_000_000, &drafts);
    let raised = raise(&BINARY, &BINARY, &bytes);
    let timed = times(&raised);
    assert!(timed.is_sorted_by_key(|row| row.1), "{timed:?}");
    assert_eq!(timed.len(), 12, "{timed:?}");
    let (first, second) = (lower(&BINARY, &bytes), lower(&BINARY, &raised));
    for kind in [
        "monitor_wait",
        "monitor_contention",
        "mon_waited",
        "thread_end",
    ] {
        let sorted = |recording: &Recording| {
            let mut rows = events(recording, kind);
            rows.sort_by_key(|row| row.0);
            rows
        };
        assert_eq!(sorted(&second), sorted(&first), "{kind}");
    }
    assert_eq!(events(&second, "mon_waited")[0].4.len(), 2);
    assert_eq!(second.events.len(), first.events.len());
}
