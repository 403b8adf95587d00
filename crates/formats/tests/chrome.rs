//! Chrome traces: every phase of the format, and what our own writer makes of a recording.
#![allow(missing_docs, reason = "a test")]

#[allow(dead_code, reason = "not every test needs all of it")]
mod raised;
#[allow(dead_code, reason = "not every test needs all of it")]
mod said;
#[allow(dead_code, reason = "not every test needs all of it")]
mod top;

use std::collections::HashMap;

use proptest::prelude::*;
use raised::raise;
use said::said;
use top::lowered;
use traceloom_formats::{Confidence, Format, LowerOptions, Probe, SliceSource, by_name};
use traceloom_model::{
    Clock, Function, Order, Recording, Sink as _, SpanBatch, SpanId, SpanRow, Tables, Track,
};

fn chrome() -> &'static Format {
    by_name("chrome").expect("a format")
}

fn read(text: &str) -> Recording {
    lowered(chrome(), text.as_bytes())
}

/// Name, start, end and depth of each span, in the order in which they are pushed.
fn spans(recording: &Recording) -> Vec<(String, i64, i64, u32)> {
    let rows = recording.spans.iter();
    rows.map(|row| {
        let name = row
            .function
            .map(|id| recording.function_name(id).into_owned());
        (name.unwrap_or_default(), row.start, row.end, row.depth)
    })
    .collect()
}

fn row(name: &str, start: i64, end: i64, depth: u32) -> (String, i64, i64, u32) {
    (name.to_owned(), start, end, depth)
}

fn kinds(recording: &Recording) -> Vec<&str> {
    recording
        .notes
        .kept()
        .iter()
        .map(|note| note.kind)
        .collect()
}

#[test]
fn begins_and_ends_nest_and_times_are_exact() {
    let recording = read(
        r#"[{"ph":"B","pid":1,"tid":"2","ts":"1795224167171606.363","name":"a"},
        {"ph":"B","pid":1,"tid":2,"ts":1795224167171606.5,"name":"b","args":{"n":18446744073709551615}},
        {"ph":"E","pid":1,"tid":2,"ts":1795224167171607},
        {"ph":"E","pid":1,"tid":2,"ts":1.795224167171608e15,"args":{"late":true}}"#,
    );
    let base = 1_795_224_167_171_606_000;
    assert_eq!(
        spans(&recording),
        [
            row("b", base + 500, base + 1000, 1),
            row("a", base + 363, base + 2000, 0)
        ]
    );
    let names: Vec<_> = recording
        .spans
        .attributes
        .all()
        .iter()
        .map(|one| {
            recording
                .text(recording.attribute_key(one.key).unwrap().name)
                .into_owned()
        })
        .collect();
    assert_eq!(names, ["n", "late"]);
    assert_eq!(kinds(&recording), ["unterminated"]);
}

#[test]
fn complete_events_nest_whatever_their_order() {
    let event = |name: &str, ts: i64, dur: i64| {
        format!(r#"{{"ph":"X","pid":1,"tid":1,"name":"{name}","ts":{ts},"dur":{dur}}}"#)
    };
    let nested = [
        row("c", 1000, 2000, 2),
        row("b", 1000, 4000, 1),
        row("d", 5000, 5000, 1),
        row("a", 0, 5000, 0),
    ];
    let begins = [event("a", 0, 5), event("b", 1, 3), event("c", 1, 1)];
    let by_start = read(&format!("[{}]", begins.join(",")));
    assert_eq!(
        spans(&by_start),
        [nested[0].clone(), nested[1].clone(), nested[3].clone()]
    );
    let ends = [
        event("c", 1, 1),
        event("b", 1, 3),
        event("d", 5, 0),
        event("a", 0, 5),
    ];
    let by_end = read(&format!("{{\"traceEvents\":[{}]}}", ends.join(",\n")));
    assert_eq!(spans(&by_end), nested);
    let mixed = [event("b", 1, 3), event("a", 0, 5), event("c", 1, 1)];
    let mixed = read(&format!("[{}]", mixed.join(",")));
    assert_eq!(
        spans(&mixed),
        [nested[0].clone(), nested[1].clone(), nested[3].clone()]
    );
}

#[test]
fn overlapping_events_lie_on_lanes_and_keep_their_times() {
    let recording = read(
        r#"[{"ph":"X","pid":1,"tid":1,"name":"a","ts":0,"dur":10},
        {"ph":"X","pid":1,"tid":1,"name":"b","ts":5,"dur":10}]"#,
    );
    assert_eq!(
        spans(&recording),
        [row("a", 0, 10_000, 0), row("b", 5000, 15_000, 0)]
    );
    let tracks = &recording.spans.track;
    assert_ne!(tracks[0], tracks[1]);
}

#[test]
fn asynchronous_events_are_matched_by_id() {
    let recording = read(
        r#"{"traceEvents":[
        {"ph":"b","cat":"net","id":"0x1","name":"get","pid":1,"tid":1,"ts":0},
        {"ph":"b","cat":"net","id":"0x2","name":"get","pid":1,"tid":1,"ts":1},
        {"ph":"b","cat":"net","id":"0x1","name":"dns","pid":1,"tid":2,"ts":2},
        {"ph":"n","cat":"net","id":"0x1","name":"hit","pid":1,"tid":2,"ts":2},
        {"ph":"e","cat":"net","id":"0x1","name":"dns","pid":1,"tid":2,"ts":3},
        {"ph":"e","cat":"net","id":"0x1","name":"get","pid":1,"tid":1,"ts":4}]}"#,
    );
    let mut all = spans(&recording);
    all.sort();
    let expected = [
        row("dns", 2000, 3000, 1),
        row("get", 0, 4000, 0),
        row("get", 1000, 4000, 0),
    ];
    assert_eq!(all, expected);
    assert_eq!(recording.events.len(), 1);
}

#[test]
fn instants_counters_flows_objects_frames_and_samples() {
    let recording = read(
        r#"{"displayTimeUnit":"ns","stackFrames":{"1":{"name":"main"},"x":{"name":"work","parent":"1"}},
        "traceEvents":[
        {"ph":"M","pid":7,"name":"process_name","args":{"name":"shop"}},
        {"ph":"M","pid":7,"tid":3,"name":"thread_name","args":{"name":"worker"}},
        {"ph":"X","pid":7,"tid":3,"name":"send","ts":0,"dur":2},
        {"ph":"s","pid":7,"tid":3,"name":"f","id":9,"ts":1},
        {"ph":"f","pid":7,"tid":4,"name":"f","id":9,"ts":2},
        {"ph":"X","pid":7,"tid":4,"name":"take","ts":3,"dur":2},
        {"ph":"i","pid":7,"tid":3,"name":"tick","ts":4,"sf":"x"},
        {"ph":"R","pid":7,"tid":3,"name":"mark","ts":4,"s":"p"},
        {"ph":"C","pid":7,"name":"mem","ts":5,"args":{"used":"1.5","value":2}},
        {"ph":"N","pid":7,"tid":3,"name":"Cart","id":"0xff","ts":6},
        {"ph":"O","pid":7,"tid":3,"name":"Cart","id":"0xff","ts":7,"args":{"snapshot":{"n":1}}},
        {"ph":"D","pid":7,"tid":3,"name":"Cart","id":"0xff","ts":8},
        {"ph":"P","pid":7,"tid":3,"name":"cpu","ts":9,"sf":"x"}]}"#,
    );
    let lines = said(&recording);
    let has = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(
        has(r#"link Some("send") 0..2000 -> Some("take") 3000..5000"#),
        "{lines:#?}"
    );
    assert!(has(r#"span Some("send") 0..2000"#) && has(r#""worker" os Some(3)"#));
    assert!(has(r#"of Some("shop") None None pid Some(7)"#));
    assert!(has(r#"event "mark" 4000..None on None"#));
    assert!(has(r#"counter "mem.used" Count on None"#) && has(r#"counter "mem" Count"#));
    assert_eq!(recording.counters.value, [1.5, 2.0]);
    assert_eq!(recording.objects.len(), 1);
    assert_eq!(recording.objects[0].id.0, 255);
    let stack = recording.events.row(0).unwrap().stack;
    assert_eq!(top::frames(&recording, stack).len(), 2);
    assert_eq!(recording.samples[0].len(), 1);
    assert_eq!(kinds(&recording), [""; 0]);
}

#[test]
fn what_our_writer_wrote_is_read_as_it_was() {
    let mut recording = said::busy();
    recording.clock = Clock::Unix;
    let text = raise(chrome(), &recording);
    let again = lowered(chrome(), &text);
    assert_eq!(again.clock, Clock::Unix);
    let pick = |recording: &Recording| {
        let rows = recording.spans.iter();
        let mut all: Vec<_> = rows
            .map(|row| {
                let name = row
                    .function
                    .map(|id| recording.function_name(id).into_owned());
                (name, row.start, row.end, row.status, row.context)
            })
            .collect();
        all.sort_by_key(|row| format!("{row:?}"));
        all
    };
    assert_eq!(pick(&again), pick(&recording));
    let ends = |recording: &Recording| {
        let rows = recording.events.iter();
        let mut all: Vec<_> = rows
            .map(|row| (row.time, row.end, row.track.is_some()))
            .collect();
        all.sort_unstable();
        all
    };
    assert!(ends(&recording).iter().any(|(_, end, _)| end.is_some()));
    assert_eq!(ends(&again), ends(&recording));
    assert_eq!(kinds(&again), [""; 0]);
}

/// Spans as they are pushed: id, parent, start and end; none outlasts its parent.
fn recorded(rows: &[(u64, Option<u64>, i64, i64)]) -> Recording {
    let mut tables = Tables::new();
    let name = tables.string("main");
    let track = tables.track(Track::thread(name));
    let names: Vec<_> = rows
        .iter()
        .map(|row| {
            let name = tables.string(&row.0.to_string());
            tables.function(Function::named(name))
        })
        .collect();
    let mut spans = SpanBatch::default();
    for (&(id, parent, start, end), function) in rows.iter().zip(names) {
        spans.push(&SpanRow {
            parent: parent.map(SpanId),
            entry: parent.is_none(),
            ..SpanRow::call(SpanId(id), track, function, start, end)
        });
    }
    let mut recording = Recording::default();
    recording.begin(Order::Nested, Clock::Unix);
    let _ = recording.define(tables.take_definitions());
    let _ = recording.spans(spans);
    recording
}

/// Name, start, end and the name of its parent.
fn family(recording: &Recording) -> Vec<(String, i64, i64, Option<String>)> {
    let name = |row: &SpanRow<'_>| recording.function_name(row.function.unwrap()).into_owned();
    let names: HashMap<SpanId, String> = recording
        .spans
        .iter()
        .map(|row| (row.id, name(&row)))
        .collect();
    let rows = recording.spans.iter();
    rows.map(|row| {
        let parent = row.parent.map(|id| names[&id].clone());
        (name(&row), row.start, row.end, parent)
    })
    .collect()
}

#[test]
fn calls_without_length_keep_their_parents() {
    let rows = [
        (1, Some(2), 5, 5),
        (2, Some(9), 5, 5),
        (3, Some(9), 5, 5),
        (4, Some(5), 5, 5),
        (5, Some(9), 5, 8),
        (6, Some(9), 8, 8),
        (7, Some(9), 8, 8),
        (9, None, 5, 8),
        (10, None, 8, 8),
        (12, Some(11), 8, 8),
        (11, None, 8, 8),
    ];
    let recording = recorded(&rows);
    let again = lowered(chrome(), &raise(chrome(), &recording));
    assert_eq!(family(&again), family(&recording));
}

#[test]
fn calls_of_one_thread_that_overlap_come_back_on_it() {
    // Two traces at a time: what the second one calls lies within the first one, and is not in it.
    let rows = [
        (2, Some(1), 1, 3),
        (4, Some(3), 4, 7),
        (1, None, 0, 8),
        (6, Some(5), 9, 9),
        (3, None, 2, 10),
        (5, None, 8, 12),
    ];
    let recording = recorded(&rows);
    for format in [chrome(), by_name("perfetto").expect("a format")] {
        let again = lowered(format, &raise(format, &recording));
        let sorted = |recording: &Recording| {
            let mut rows = family(recording);
            rows.sort();
            rows
        };
        assert_eq!(sorted(&again), sorted(&recording), "{}", format.name);
        let tracks: Vec<_> = again.spans.iter().map(|row| row.track).collect();
        assert_eq!(tracks, [tracks[0]; 6], "{}", format.name);
        assert!(
            again
                .spans
                .iter()
                .all(|row| row.entry == row.parent.is_none())
        );
    }
    // Viewers get lines that nest.
    let text = String::from_utf8(raise(chrome(), &recording)).unwrap();
    assert!(
        text.contains(r#""name":"main overlap 1","track":{"of":{"pid":1,"tid":1}}"#),
        "{text}"
    );
}

proptest! {
    /// Any tree, most of whose calls have no length.
    #[test]
    fn every_call_keeps_its_parent(steps in prop::collection::vec((0..3_u8, 0..2_i64), 1..120)) {
        let (mut rows, mut open, mut now, mut next) = (Vec::new(), Vec::new(), 0, 1);
        for (step, pause) in steps {
            now += pause;
            if step > 0 {
                open.push((next, now));
                next += 1;
            } else if let Some((id, start)) = open.pop() {
                rows.push((id, open.last().map(|&(id, _)| id), start, now));
            }
        }
        while let Some((id, start)) = open.pop() {
            rows.push((id, open.last().map(|&(id, _)| id), start, now));
        }
        let recording = recorded(&rows);
        let again = lowered(chrome(), &raise(chrome(), &recording));
        prop_assert_eq!(family(&again), family(&recording));
    }
}

#[test]
fn events_of_a_thread_do_not_wait_for_its_last_one() {
    let mut rows = Vec::new();
    for (call, start) in (0..100).zip((0..).step_by(10)) {
        let id = call * 4;
        let inside = (0..3_u8).map(|at| {
            (
                id + u64::from(at),
                Some(id + 3),
                start + i64::from(at),
                start + i64::from(at) + 1,
            )
        });
        rows.extend(inside);
        rows.push((id + 3, None, start, start + 3));
    }
    let recording = recorded(&rows);
    let text = raise(chrome(), &recording);
    let mut options = LowerOptions::default();
    options.limits.set("open_spans", 16).unwrap();
    let input = SliceSource::default().with("trace.json", chrome(), &text);
    let mut again = Recording::default();
    chrome().lower.unwrap()(&input, &options, &mut again).unwrap();
    assert_eq!(kinds(&again), [""; 0]);
    assert_eq!(family(&again), family(&recording));
}

/// Reads a trace with room for so many slices that wait.
fn read_with_room(text: &str, room: u64) -> Recording {
    let mut options = LowerOptions::default();
    options.limits.set("open_spans", room).unwrap();
    let input = SliceSource::default().with("trace.json", chrome(), text.as_bytes());
    let mut read = Recording::default();
    chrome().lower.unwrap()(&input, &options, &mut read).unwrap();
    read
}

#[test]
fn flows_behind_all_slices_find_theirs_and_no_slice_waits() {
    let slices = (0..100).map(|at| {
        let (thread, ts) = (at % 2 + 1, at * 10);
        format!(r#"{{"ph":"X","pid":1,"tid":{thread},"name":"n{at}","ts":{ts},"dur":5}}"#)
    });
    let flow = |phase: char, thread: u32, id: u32, ts: u32, rest: &str| {
        format!(
            r#"{{"ph":"{phase}","pid":1,"tid":{thread},"id":{id},"ts":{ts},"name":"go"{rest}}}"#
        )
    };
    let flows = [
        // The ends first: what they end is told last.
        flow('f', 2, 1, 52, r#","bp":"e""#),
        flow('f', 2, 2, 61, ""),
        flow('t', 1, 1, 41, ""),
        flow('s', 1, 2, 22, ""),
        flow('s', 1, 1, 1, ""),
        // In none.
        flow('s', 1, 3, 7, ""),
        // The number of the first flow again.
        flow('s', 1, 1, 601, ""),
        flow('f', 2, 1, 612, r#","bp":"e""#),
    ];
    let all: Vec<String> = slices.chain(flows).collect();
    let recording = read_with_room(&format!("[{}]", all.join(",\n")), 16);
    assert_eq!(kinds(&recording), [""; 0]);
    assert_eq!(recording.spans.len(), 100);
    let mut links: Vec<String> = said(&recording);
    links.retain(|line| line.contains("link"));
    links.sort();
    let link = |from: u32, to: u32| {
        let at = |nth: u32| (nth * 10_000, nth * 10_000 + 5_000);
        let ((a, b), (c, d)) = (at(from), at(to));
        format!(r#"link Some("n{from}") {a}..{b} -> Some("n{to}") {c}..{d}"#)
    };
    let has = |text: String| links.iter().any(|line| line.contains(&text));
    for (from, to) in [(0, 4), (4, 5), (2, 7), (60, 61)] {
        assert!(has(link(from, to)), "{from} to {to}: {links:#?}");
    }
    assert_eq!(links.len(), 4, "{links:#?}");
}

#[test]
fn slices_out_of_order_wait_for_what_may_be_late_alone() {
    let slice = |nth: i64| {
        let (name, ts, dur) = (nth % 10, nth * 10, if nth % 10 == 0 { 95 } else { 5 });
        format!(r#"{{"ph":"X","pid":1,"tid":1,"name":"n{name}","ts":{ts},"dur":{dur}}}"#)
    };
    let pair = |phase: char, nth: i64| {
        let (id, ts) = (nth / 2, nth * 10);
        format!(r#"{{"ph":"{phase}","cat":"c","id":{id},"name":"a","pid":1,"tid":2,"ts":{ts}}}"#)
    };
    let mut mixed = Vec::new();
    for nth in (0..6000).step_by(2) {
        // Later ones first, and both of them are in time before the next two.
        mixed.extend([slice(nth + 1), slice(nth)]);
        mixed.extend([pair('e', nth + 1), pair('b', nth)]);
    }
    let recording = read_with_room(&format!("[{}]", mixed.join(",\n")), 1200);
    assert_eq!(kinds(&recording), [""; 0]);
    let rows = spans(&recording);
    let of = |name: &str, depth: u32| {
        let those = rows.iter();
        let those = those.filter(|row| row.0 == name && row.3 == depth);
        those.count()
    };
    assert_eq!((of("n0", 0), of("n1", 1), of("n9", 1)), (600, 600, 600));
    assert_eq!((of("a", 0), rows.len()), (3000, 9000));
}

#[test]
fn asynchronous_slices_in_order_do_not_wait() {
    let pairs = (0..100).flat_map(|at| {
        ["b", "e"].map(|phase| {
            let ts = at * 10 + i32::from(phase == "e");
            format!(
                r#"{{"ph":"{phase}","cat":"c","id":{at},"name":"n","pid":1,"tid":1,"ts":{ts}}}"#
            )
        })
    });
    let mut all: Vec<String> = pairs.collect();
    let in_order = read_with_room(&format!("[{}]", all.join(",\n")), 16);
    assert_eq!(kinds(&in_order), [""; 0]);
    let mut expected = spans(&in_order);
    assert_eq!(expected.len(), 100);
    // An end before its begin: all of them wait.
    all.swap(10, 11);
    let mixed = read(&format!("[{}]", all.join(",\n")));
    assert_eq!(kinds(&mixed), [""; 0]);
    let mut spans = spans(&mixed);
    spans.sort();
    expected.sort();
    assert_eq!(spans, expected);
}

#[test]
fn profiles_of_v8_are_samples_of_their_thread() {
    let piece = |name: &str, thread: u32, ts: u32, data: &str| {
        format!(
            r#"{{"ph":"P","cat":"v8","name":"{name}","id":"0x1","pid":7,"tid":{thread},"ts":{ts},"args":{{"data":{data}}}}}"#
        )
    };
    let node = |id: u32, parent: &str, name: &str| {
        format!(
            r#"{{"id":{id},{parent}"callFrame":{{"functionName":"{name}","url":"shop.js","lineNumber":4}}}}"#
        )
    };
    let nodes = [
        node(1, "", "(root)"),
        node(2, r#""parent":1,"#, "checkout"),
        node(3, r#""parent":2,"#, "price"),
    ];
    let pieces = [
        piece("Profile", 3, 100, r#"{"startTime":90}"#),
        piece(
            "ProfileChunk",
            9,
            200,
            &format!(
                r#"{{"cpuProfile":{{"nodes":[{}],"samples":[2,3]}},"timeDeltas":[10,20]}}"#,
                nodes.join(",")
            ),
        ),
        piece(
            "ProfileChunk",
            9,
            300,
            r#"{"cpuProfile":{"samples":[3,77]},"timeDeltas":[30,-5],"endTime":160}"#,
        ),
    ];
    let recording = read(&format!("[{}]", pieces.join(",\n")));
    assert_eq!(kinds(&recording), ["unknown_node"]);
    let [samples] = recording.samples.as_slice() else {
        panic!("{:?}", recording.samples);
    };
    let rows = (0..samples.len()).map(|row| {
        let frames = top::frames(&recording, samples.stack[row]);
        (
            frames.len(),
            samples.time[row],
            samples.values(row).to_vec(),
        )
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            (2, Some(100_000), vec![1, 20_000]),
            (3, Some(120_000), vec![1, 30_000]),
            (3, Some(150_000), vec![1, 0]),
            (0, Some(145_000), vec![1, 15_000]),
        ]
    );
    let track = recording.track(samples.track[0].unwrap()).unwrap();
    assert_eq!(track.os_id, Some(3));
}

#[test]
fn damage_costs_an_event() {
    let recording = read(
        "[\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"a\",\"ts\":0,\"dur\":1},\n@@@@,\n\
         {\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"b\",\"ts\":2,\"dur\":1},\n{\"ph\":\"X\",\"pid\":1,\"na",
    );
    assert_eq!(
        spans(&recording),
        [row("a", 0, 1000, 0), row("b", 2000, 3000, 0)]
    );
    assert_eq!(
        kinds(&recording),
        ["unexpected_bytes", "truncated_event", "unterminated"]
    );
}

#[test]
fn a_trace_is_told_from_other_json() {
    let probe = |text: &str| {
        let name = "file.json";
        let whole = true;
        (chrome().probe)(&Probe {
            head: text.as_bytes(),
            whole,
            name,
            siblings: &[],
        })
    };
    let certain = Some(Confidence::Certain);
    assert_eq!(probe(r#"[{"ph":"X","ts":1,"dur":2,"name":"a"}"#), certain);
    assert_eq!(probe(r#"{"otherData":{},"traceEvents":[]}"#), certain);
    assert_eq!(probe(r#"[{"name":"a","value":1}]"#), None);
    assert_eq!(probe(r#"{"nodes":[{"id":1}],"samples":[1]}"#), None);
    assert_eq!(probe("[1,2,3]"), None);
}
