//! Entries and exits, traced and aggregated, and raising them again.

use traceloom_model::{Clock, Feature, Merge, Scope, SpanStatus};

use super::events::events;
use super::*;
use crate::tptp::{BINARY, XML};

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

/// Two classes that nothing defines have a method of one name each, and one of them is defined late.
#[test]
fn methods_of_undefined_classes_are_told_apart() {
    let define = |class, method| {
        let draft = draft("methodDef").number("classIdRef", class);
        draft.number("methodId", method).text("name", "run")
    };
    let bytes = trace(
        1_000_000_000,
        &[
            define(8, 80),
            define(9, 90),
            define(0, 100),
            entry(1, 80, 1, 10),
            exit(1, 80, 1, 20),
            entry(1, 90, 2, 30),
            draft("classDef")
                .number("classId", 9)
                .text("name", "com/acme/Late"),
            exit(1, 90, 2, 40),
            entry(1, 100, 3, 50),
            exit(1, 100, 3, 60),
        ],
    );
    for bytes in [bytes.clone(), raise(&BINARY, &BINARY, &bytes)] {
        let recording = lower(&BINARY, &bytes);
        let names: Vec<String> = spans(&recording).into_iter().map(|row| row.0).collect();
        assert_eq!(names, ["class#8.run", "com.acme.Late.run", "run"]);
    }
}

/// A trace defines before it refers, whatever the order in which the model tells.
#[test]
fn what_is_raised_defines_before_it_refers() {
    let mut aggregated = definitions();
    let node = |element| {
        let draft = draft(element).number("threadIdRef", 1);
        draft.number("methodIdRef", 71)
    };
    aggregated.extend([node("agMethodEntry"), node("agMethodExit")]);
    let aggregated = trace(1_000_000_000, &aggregated);
    defines_first(&raise(&XML, &BINARY, &aggregated), 4);
    defines_first(&raise(&XML, &BINARY, &sample(&BINARY, 300_000)), 1_000);
}

fn defines_first(document: &[u8], least: usize) {
    let document = std::str::from_utf8(document).unwrap();
    let (mut defined, mut references) = (std::collections::HashSet::new(), 0);
    let ids = |line: &str, name: &str| -> Option<String> {
        let (_, rest) = line.split_once(&format!(" {name}=\""))?;
        Some(format!(
            "{} {}",
            name.trim_end_matches("Ref"),
            rest.split('"').next()?
        ))
    };
    for line in document.lines() {
        for name in ["threadId", "classId", "methodId"] {
            defined.extend(ids(line, name));
            if let Some(id) = ids(line, &format!("{name}Ref")) {
                references += 1;
                assert!(defined.contains(&id), "{line}");
            }
        }
    }
    assert!(references >= least, "{references}");
}
