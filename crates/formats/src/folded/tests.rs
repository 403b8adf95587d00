//! Vectors of one property each.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use traceloom_model::{FrameKind, Level, Recording};

use super::frame::{Owner, owner, parts};
use super::*;
use crate::{LowerOptions, RaiseOptions, Records, SliceSource, Target, read_chunked, read_slice};
use traceloom_model::{Definitions, Limits, ProfileId, Sink as _};

fn lowered(text: &[u8]) -> Recording {
    let source = SliceSource::default().with("x.folded", &FORMAT, text);
    let mut recording = Recording::default();
    lower::lower(&source, &LowerOptions::default(), &mut recording).unwrap();
    recording
}

/// Stacks as `name:name count`, the root first.
fn stacks(recording: &Recording) -> Vec<String> {
    let rows = recording.samples.iter().flat_map(|batch| batch.iter());
    rows.map(|sample| {
        let mut names = Vec::new();
        let mut next = sample.stack;
        while let Some(row) = next.and_then(|id| recording.stack(id)) {
            let function = recording.frame(row.frame).unwrap().function.unwrap();
            names.push(recording.function_name(function).into_owned());
            next = row.parent;
        }
        names.reverse();
        format!("{} {}", names.join(":"), sample.values.first().unwrap())
    })
    .collect()
}

#[test]
fn frames_of_every_producer() {
    let plain = |name| (name, None, 0, FrameKind::Unknown);
    for (text, expected) in [
        ("main", plain("main")),
        (
            "f (app.py:12)",
            ("f", Some("app.py"), 12, FrameKind::Unknown),
        ),
        (
            "<listcomp> (a b/app.py:3)",
            ("<listcomp>", Some("a b/app.py"), 3, FrameKind::Unknown),
        ),
        ("f (app.py)", ("f", Some("app.py"), 0, FrameKind::Unknown)),
        (
            "read (libc.so.6)",
            ("read", Some("libc.so.6"), 0, FrameKind::Unknown),
        ),
        ("A::b(int, char)", plain("A::b(int, char)")),
        ("A::b (int)", plain("A::b (int)")),
        ("net/http.(*conn).serve", plain("net/http.(*conn).serve")),
        (
            "java/lang/String.length_[j]",
            ("java/lang/String.length_[j]", None, 0, FrameKind::Jit),
        ),
        ("tcp_send_[k]", ("tcp_send_[k]", None, 0, FrameKind::Kernel)),
        ("x_[0]", ("x_[0]", None, 0, FrameKind::Interpreted)),
        ("", plain("")),
    ] {
        let parts = parts(text.as_bytes());
        let (name, file, line, kind) = expected;
        assert_eq!(parts.name, name.as_bytes(), "{text}");
        assert_eq!(parts.file, file.map(str::as_bytes), "{text}");
        assert_eq!((parts.line, parts.kind), (line, kind), "{text}");
    }
    let thread = |name: Option<&'static str>, os_id, id| {
        Some(Owner::Thread {
            name: name.map(str::as_bytes),
            os_id,
            id,
        })
    };
    for (text, expected) in [
        ("thread (0x7F10)", thread(None, None, Some(0x7f10))),
        (
            "thread (12): worker 1",
            thread(Some("worker 1"), Some(12), None),
        ),
        ("[main tid=77]", thread(Some("main"), Some(77), None)),
        ("[tid=77]", thread(None, Some(77), None)),
        ("[unknown]", None),
        ("thread (x)", None),
        (
            "process 9:\"app\"",
            Some(Owner::Process {
                pid: 9,
                command: b"app",
            }),
        ),
    ] {
        assert_eq!(owner(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn lines_share_what_they_begin_with() {
    let text = b"a;b;c 1\na;b 2\na;b;d 3\na;bc 4\nab 5\na;b;c 6\n;; 7\n 8\na; 9\na 10\n";
    let recording = lowered(text);
    let expected = [
        "a:b:c 1", "a:b 2", "a:b:d 3", "a:bc 4", "ab 5", "a:b:c 6", ":: 7", " 8", "a: 9", "a 10",
    ];
    assert_eq!(stacks(&recording), expected);
    assert_eq!(recording.samples[0].stack[0], recording.samples[0].stack[5]);
    assert_eq!(recording.notes.total(), 0);
}

#[test]
fn threads_are_tracks() {
    let text = b"process 7:\"python app.py\";thread (0x10);f (a.py:3) 1\n\
        process 7:\"python app.py\";thread (0x20);f (a.py:3) 2\nprocess 8:\"x\";thread (0x10);f (a.py:3) 3\n\
        g 4\nprocess 7:\"python app.py\";thread (0x10);g 5\n";
    let recording = lowered(text);
    let batch = &recording.samples[0];
    let ids = |row: usize| {
        let track = recording.track(batch.track[row]?)?;
        let pid = recording.resource(track.resource?)?.pid?;
        Some((pid, track.id?))
    };
    let all: Vec<_> = (0..5).map(ids).collect();
    assert_eq!(
        all,
        [
            Some((7, 16)),
            Some((7, 32)),
            Some((8, 16)),
            None,
            Some((7, 16))
        ]
    );
    assert_eq!(stacks(&recording), ["f 1", "f 2", "f 3", "g 4", "g 5"]);
}

#[test]
fn odd_lines_are_noted_and_kept() {
    let text = b"# made by hand\na;b 1\r\n\nno count here\na 2.75\na 1e3\na 99999999999999999999\na\t3\nlast 4";
    let recording = lowered(text);
    let expected = ["a:b 1", "a 2", "a 9223372036854775807", "a 3", "last 4"];
    assert_eq!(stacks(&recording), expected);
    let counts: Vec<_> = recording.notes.counts().collect();
    assert_eq!(
        counts,
        [
            (Level::Warn, "fraction", 1),
            (Level::Damage, "no_count", 2),
            (Level::Damage, "value_out_of_range", 1)
        ]
    );
    let mut whole = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), text, &mut whole);
    assert_eq!(whole.written(), text);
    let kinds = [
        "comment", "stack", "blank", "damage", "stack", "damage", "stack", "stack", "stack",
    ];
    assert_eq!(whole.kinds(), kinds);
    for size in 1..40 {
        let mut cut = Records::default();
        let cuts = (1..).map(|n| n * size);
        read_chunked(&mut Reader::new(&Limits::default()), text, cuts, &mut cut);
        assert!(cut == whole, "chunks of {size}");
    }
}

#[test]
fn a_line_of_a_megabyte() {
    let mut text = vec![b'x'; 1 << 20];
    text.extend_from_slice(b";leaf 3\n");
    let recording = lowered(&text);
    assert_eq!(recording.samples[0].values(0), [3]);
    assert_eq!(recording.notes.total(), 0);
}

#[test]
fn written_stacks_read_back() {
    let text = b"a;b 3\na;c (x.py:2) 4\n 5\n";
    let recording = lowered(text);
    let mut bytes = Vec::new();
    let options = RaiseOptions {
        variant: Some("lines".to_owned()),
        ..RaiseOptions::default()
    };
    let mut target = raise::raise(&options, &mut bytes).unwrap();
    pour(&recording, target.as_mut());
    drop(target);
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "(no stack) 5\na;b 3\na;c (x.py:2) 4\n"
    );
}

#[test]
fn a_comparison_has_two_values() {
    let text = b"a;b 10 20\nworker 3 5 0\n";
    let recording = lowered(text);
    let batch = &recording.samples[0];
    assert_eq!(stacks(&recording), ["a:b 10", "worker 3 5"]);
    assert_eq!((batch.values(0)[1], batch.values(1)[1]), (20, 0));
    let names = recording.profile(batch.profile).unwrap().value_types.iter();
    let names = names.map(|&id| recording.text(recording.value_type(id).unwrap().name));
    assert_eq!(names.collect::<Vec<_>>(), ["before", "after"]);
    let mut records = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), text, &mut records);
    assert_eq!(records.written(), text);

    let mut bytes = Vec::new();
    let mut target = raise::raise(&RaiseOptions::default(), &mut bytes).unwrap();
    pour(&recording, target.as_mut());
    drop(target);
    assert_eq!(bytes, text);
    // Behind the lines that are looked at, one number is the one after.
    let long = [b"a;b 1 2\n".repeat(1000).as_slice(), b"a;c 7\n"].concat();
    let recording = lowered(&long);
    assert_eq!(recording.samples[0].values(1000), [0, 7]);
    let counts: Vec<_> = recording.notes.counts().collect();
    assert_eq!(counts, [(Level::Warn, "one_number", 1)]);
    // One line among others belongs to a function whose name ends in a number.
    let recording = lowered(b"worker 3 5\na;b 10\n");
    assert_eq!(stacks(&recording), ["worker 3 5", "a:b 10"]);
}

#[test]
fn a_sample_without_a_stack_is_written_with_a_name_and_read_back_without() {
    let recording = lowered(b"(no stack) 5\na 1\n");
    assert_eq!(stacks(&recording), [" 5", "a 1"]);
    assert_eq!(recording.samples[0].stack[0], None);
}

/// Of two profiles the second begins with a stack of the first and goes back in the table: sums are those of both, in the order
/// of the stacks.
#[test]
fn profiles_that_share_stacks_are_added_up() {
    let mut recording = lowered(b"main;a 1\nmain;b 2\nmain;c 4\n");
    let profile = recording.profile(ProfileId::new(0)).unwrap().clone();
    let _ = recording.define(Definitions {
        profiles: vec![(ProfileId::new(1), profile)],
        ..Definitions::default()
    });
    let mut second = recording.samples[0].clone();
    second.profile = ProfileId::new(1);
    second.stack.reverse();
    recording.samples.push(second);
    let mut out = Vec::new();
    let mut target = raise::raise(&RaiseOptions::default(), &mut out).unwrap();
    pour(&recording, target.as_mut());
    drop(target);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "main;a 5\nmain;b 4\nmain;c 5\n");
}

fn pour(recording: &Recording, target: &mut dyn Target) {
    let ids = |len: usize| 0..u32::try_from(len).unwrap();
    let _ = target.define(Definitions {
        strings: ids(recording.strings.len())
            .map(traceloom_model::StringId::new)
            .map(|id| (id, recording.string(id).unwrap().clone()))
            .collect(),
        functions: ids(recording.functions.len())
            .map(traceloom_model::FunctionId::new)
            .map(|id| (id, recording.function(id).unwrap().clone()))
            .collect(),
        frames: ids(recording.frames.len())
            .map(traceloom_model::FrameId::new)
            .map(|id| (id, recording.frame(id).unwrap().clone()))
            .collect(),
        stacks: ids(recording.stacks.len())
            .map(traceloom_model::StackId::new)
            .map(|id| (id, *recording.stack(id).unwrap()))
            .collect(),
        value_types: ids(recording.value_types.len())
            .map(traceloom_model::ValueTypeId::new)
            .map(|id| (id, *recording.value_type(id).unwrap()))
            .collect(),
        profiles: ids(recording.profiles.len())
            .map(traceloom_model::ProfileId::new)
            .map(|id| (id, recording.profile(id).unwrap().clone()))
            .collect(),
        ..Definitions::default()
    });
    for batch in &recording.samples {
        let _ = target.samples(batch.clone());
    }
    target.finish().unwrap();
}
