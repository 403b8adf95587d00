//! Vectors of one property each.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use traceloom_model::{Level, Limits, Recording, Unit, Value};

use super::*;
use crate::{LowerOptions, Records, SliceSource, read_chunked, read_slice};

fn words(words: &[u64], size: usize, big: bool) -> Vec<u8> {
    let bytes = |&word: &u64| {
        let bytes = word.to_be_bytes();
        let mut bytes = bytes[8 - size..].to_vec();
        if !big {
            bytes.reverse();
        }
        bytes
    };
    words.iter().flat_map(bytes).collect()
}

const PROFILE: [u64; 16] = [
    0, 3, 0, 10_000, 0, 2, 2, 0x40_1000, 0x40_2001, 1, 1, 0x50_0000, 5, 2, 0x40_1000, 0x40_3001,
];

fn recording(format: &'static Format, bytes: &[u8]) -> Recording {
    let source = SliceSource::default().with("x", format, bytes);
    let mut recording = Recording::default();
    format.lower.unwrap()(&source, &LowerOptions::default(), &mut recording).unwrap();
    recording
}

#[test]
fn every_word_size_and_order() {
    for (size, big) in [(4, false), (4, true), (8, false), (8, true)] {
        let mut bytes = words(&PROFILE, size, big);
        bytes.extend(words(&[0, 1, 0], size, big));
        bytes.extend(b"400000-500000: /srv/app\nbuild=x\n");
        let mut records = Records::default();
        read_slice(&mut Reader::new(&Limits::default()), &bytes, &mut records);
        let kinds = [
            "header", "sample", "sample", "sample", "end", "mapping", "line",
        ];
        assert_eq!(records.kinds(), kinds);
        assert_eq!(records.written(), bytes);
        assert_eq!(records.notes(), []);
        let recording = recording(&CPU, &bytes);
        let batch = &recording.samples[0];
        assert_eq!([0, 1, 2].map(|row| batch.values(row)[0]), [2, 1, 5]);
        assert_eq!(batch.values(2)[1], 50_000_000);
        let leaf = recording.stack(batch.stack[0].unwrap()).unwrap();
        let caller = recording.stack(leaf.parent.unwrap()).unwrap();
        let frame = recording.frame(caller.frame).unwrap();
        assert_eq!(frame.address, Some(0x40_2000));
        let file = recording.mapping(frame.mapping.unwrap()).unwrap().file;
        assert_eq!(recording.text(file.unwrap()), "/srv/app");
        let outside = recording.stack(batch.stack[1].unwrap()).unwrap();
        assert_eq!(recording.frame(outside.frame).unwrap().mapping, None);
    }
}

#[test]
fn frames_of_the_signal_handler_are_removed() {
    let mut all = vec![0, 3, 0, 10_000, 0];
    for sample in 0..64 {
        all.extend([1, 4, 0x40_0000 + sample, 0x7f01, 0x7f11, 0x40_1001]);
    }
    // One of 64 has no handler; another has its innermost frame twice.
    all.extend([1, 2, 0x40_0100, 0x40_1001]);
    all.extend([1, 4, 0x40_0200, 0x7f01, 0x7f11, 0x40_0200]);
    all.extend([0, 1, 0]);
    let recording = recording(&CPU, &words(&all, 8, false));
    let depth = |row: usize| {
        let mut depth = 0;
        let mut next = recording.samples[0].stack[row];
        while let Some(stack) = next {
            depth += 1;
            next = recording.stack(stack).unwrap().parent;
        }
        depth
    };
    assert_eq!([0, 63, 64, 65].map(depth), [2, 2, 2, 1]);
}

#[test]
fn torn_profiles_keep_what_they_have() {
    let mut bytes = words(&PROFILE, 8, false);
    bytes.extend([7; 11]);
    let mut whole = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), &bytes, &mut whole);
    assert_eq!(
        whole.kinds(),
        ["header", "sample", "sample", "sample", "damage"]
    );
    assert_eq!(whole.written(), bytes);
    assert_eq!(whole.notes().len(), 1);
    assert_eq!(
        (
            whole.notes()[0].kind,
            whole.notes()[0].offset,
            whole.notes()[0].count
        ),
        ("truncated", 128, 11)
    );
    for size in 1..50 {
        let mut cut = Records::default();
        let cuts = (1..).map(|n| n * size);
        read_chunked(&mut Reader::new(&Limits::default()), &bytes, cuts, &mut cut);
        assert!(cut == whole, "chunks of {size}");
    }
    assert_eq!(recording(&CPU, &bytes).samples[0].len(), 3);
    for cut in 0..bytes.len() {
        let mut records = Records::default();
        read_slice(
            &mut Reader::new(&Limits::default()),
            &bytes[..cut],
            &mut records,
        );
        assert_eq!(records.written(), &bytes[..cut]);
    }
}

#[test]
fn a_depth_that_lies_allocates_nothing() {
    let bytes = words(&[0, 3, 0, 10_000, 0, 1, u64::MAX / 2, 5], 8, false);
    let mut records = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), &bytes, &mut records);
    assert_eq!(records.kinds(), ["header", "damage"]);
    assert_eq!(records.notes()[0].kind, "limit_values");
    assert_eq!(records.written(), bytes);
}

#[test]
fn heap_lines() {
    let text = b"heap profile:      3:     3000 [     9:     9000] @ heap_v2/1000\n\
        \x20    1:     1000 [     1:     1000] @ 0x401001 0x402001\n\
        1: 10 [2: 20] @\n# comment\nnonsense\n     0:        0 [     5:     5000] @ 0x401001\n\
        --- Memory map: ---\n  app=/srv/app\n  00400000-00500000: $app/main\n";
    let mut records = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), text, &mut records);
    let kinds = [
        "header", "sample", "sample", "line", "damage", "sample", "line", "line", "mapping",
    ];
    assert_eq!(records.kinds(), kinds);
    assert_eq!(records.written(), text);
    assert_eq!(records.notes()[0].kind, "no_sample");
    let recording = recording(&HEAP, text);
    let batch = &recording.samples[0];
    assert_eq!(batch.width(), 4);
    // 1 / (1 - e^-1) = 1.5819...
    assert_eq!(batch.values(0), [1, 1581, 1, 1581]);
    assert_eq!(batch.stack[1], None);
    assert_eq!(batch.values(2)[2..], [0, 0]);
    let file = recording.mappings[0].as_ref().unwrap().file.unwrap();
    assert_eq!(recording.text(file), "/srv/app/main");
    assert_eq!(recording.notes.worst(), Some(Level::Damage));
}

/// The stack of a sample, the innermost first: name or address, and line.
fn stack(recording: &Recording, row: usize) -> Vec<String> {
    let mut frames = Vec::new();
    let mut next = recording.samples[0].stack[row];
    while let Some(stack) = next {
        let stack = recording.stack(stack).unwrap();
        let frame = recording.frame(stack.frame).unwrap();
        frames.push(match frame.function {
            Some(function) => {
                let name = recording.function(function).unwrap().name;
                format!("{}:{}", recording.text(name), frame.line)
            }
            None => format!("{:#x}", frame.address.unwrap()),
        });
        next = stack.parent;
    }
    frames
}

fn columns(recording: &Recording) -> Vec<String> {
    let types = recording.profiles[0].as_ref().unwrap().value_types.iter();
    let names = types.map(|&id| recording.value_type(id).unwrap().name);
    names
        .map(|name| recording.text(name).into_owned())
        .collect()
}

fn note_kinds(recording: &Recording) -> Vec<&'static str> {
    recording
        .notes
        .kept()
        .iter()
        .map(|note| note.kind)
        .collect()
}

/// Reads a text whole and in pieces of every size: the same records, which write the same bytes.
fn kinds(bytes: &[u8]) -> Vec<String> {
    let mut whole = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), bytes, &mut whole);
    assert_eq!(whole.written(), bytes);
    for size in [1, 7, 64] {
        let mut cut = Records::default();
        let cuts = (1..).map(|n| n * size);
        read_chunked(&mut Reader::new(&Limits::default()), bytes, cuts, &mut cut);
        assert!(cut == whole, "chunks of {size}");
    }
    whole
        .kinds()
        .iter()
        .map(|kind| (*kind).to_owned())
        .collect()
}

fn confidence(format: &Format, bytes: &[u8]) -> Option<Confidence> {
    (format.probe)(&Probe {
        head: bytes,
        whole: true,
        name: "x",
        siblings: &[],
    })
}

#[test]
fn symbols_before_a_cpu_profile_name_its_addresses() {
    let mut bytes = b"--- symbol\nbinary=/srv/app\n0x0000000000000005 leaf\n0x6 outer()--inner()\n---\n--- profile\n".to_vec();
    // Several second frames, or they would be the signal handler's.
    bytes.extend(words(
        &[0, 3, 0, 10_000, 0, 2, 2, 5, 6, 1, 2, 5, 9, 3, 1, 7],
        8,
        false,
    ));
    bytes.extend(words(&[0, 1, 0], 8, false));
    assert_eq!(
        kinds(&bytes),
        [
            "marker",
            "attribute",
            "symbol",
            "symbol",
            "marker",
            "marker",
            "header",
            "sample",
            "sample",
            "sample",
            "end"
        ]
    );
    assert_eq!(confidence(&CPU, &bytes), Some(Confidence::Certain));
    assert_eq!(confidence(&HEAP, &bytes), None);
    let recording = recording(&CPU, &bytes);
    assert_eq!(stack(&recording, 0), ["leaf:0", "inner():0", "outer():0"]);
    assert_eq!(stack(&recording, 1), ["leaf:0", "0x9"]);
    // The symbol of the call is found for an address of return too.
    assert_eq!(stack(&recording, 2), ["inner():0", "outer():0"]);
    let file = recording.mappings[0].as_ref().unwrap().file.unwrap();
    assert_eq!(recording.text(file), "/srv/app");
}

#[test]
fn symbols_before_heap_growth_and_contention() {
    let symbols = "--- symbol\n0x10 f\n---\n";
    let heap = format!(
        "{symbols}--- heap\nheap profile: 1: 8 [ 1: 8] @ heapprofile\n 1: 8 [ 1: 8] @ 0x10\n"
    );
    let growth =
        format!("{symbols}--- growth\nheap profile: 1: 8 [1: 8] @ growthz\n1: 8 [1: 8] @ 0x10\n");
    let contention =
        format!("{symbols}--- contention\ncycles/second = 2000000000\n 200 3 @ 0x10\n");
    for (text, format, values) in [
        (&heap, &HEAP, [1, 8]),
        (&growth, &HEAP, [1, 8]),
        (&contention, &CONTENTION, [3, 100]),
    ] {
        assert_eq!(
            confidence(format, text.as_bytes()),
            Some(Confidence::Certain)
        );
        let recording = recording(format, text.as_bytes());
        assert_eq!(recording.notes.total(), 0, "{text}");
        assert_eq!(stack(&recording, 0), ["f:0"], "{text}");
        assert_eq!(recording.samples[0].values(0), values, "{text}");
    }
}

#[test]
fn heaps_of_java_and_jemalloc() {
    let java = b"--- heapz 1 ---\nformat = java\nresolution = kilobytes\n  1048576 1 @ 0x3 0x4\n 5 0 @ 0x9\n\n 0x3 com.acme.A.f (A.java:7)\n 0x4 GC\n0x9 g (/usr/lib/jvm.so)\n";
    assert_eq!(confidence(&HEAP, java), Some(Confidence::Certain));
    let recorded = recording(&HEAP, java);
    assert_eq!(columns(&recorded), ["inuse_objects", "inuse_space"]);
    assert_eq!(stack(&recorded, 0), ["com.acme.A.f:7", "GC:0"]);
    assert_eq!(stack(&recorded, 1), ["g:0"]);
    // 1 / (1 - e^-2) = 1.1565...
    assert_eq!(recorded.samples[0].values(0), [1, 1_212_696 * 1024]);
    assert_eq!(note_kinds(&recorded), ["bytes_of_nothing"]);

    let jemalloc = b"heap_v2/1000\n  t*: 3: 3000 [0: 0]\n  t0: 3: 3000 [0: 0]\n@ 0x11 0x21\n  t*: 1: 1000 [0: 0]\n  t0: 1: 1000 [0: 0]\n@ 0x31\n@ 0x41\n  t*: 2: 2000 [0: 0]\n\nMAPPED_LIBRARIES:\n";
    assert_eq!(confidence(&HEAP, jemalloc), Some(Confidence::Certain));
    let recorded = recording(&HEAP, jemalloc);
    assert_eq!(columns(&recorded), ["objects", "space"]);
    assert_eq!(recorded.samples[0].len(), 2);
    assert_eq!(recorded.samples[0].values(0), [1, 1581]);
    assert_eq!(stack(&recorded, 0), ["0x10", "0x20"]);
    assert_eq!(stack(&recorded, 1), ["0x40"]);
    assert_eq!(note_kinds(&recorded), ["no_numbers"]);
}

#[test]
fn contention_in_nanoseconds_and_without_a_clock() {
    let cpp = b"--- contentionz 1 ---\ncycles/second = 2000000000\nsampling period = 10\nms since reset = 7\ndiscarded samples = 0\n   400 3 @ 0x11\n--- Memory map: ---\n  10-20: /srv/app\n";
    let recorded = recording(&CONTENTION, cpp);
    assert_eq!(columns(&recorded), ["contentions", "delay"]);
    assert_eq!(recorded.samples[0].values(0), [30, 2_000]);
    let profile = recorded.profiles[0].as_ref().unwrap();
    assert_eq!(profile.duration, Some(7_000_000));
    assert_eq!(recorded.mappings.len(), 1);
    let java = b"--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 100\n 14 2 @ 0xd\n 0xd f (A.java:1)\n";
    let recorded = recording(&CONTENTION, java);
    assert_eq!(recorded.samples[0].values(0), [200, 1_400_000]);
    assert_eq!(stack(&recorded, 0), ["f:1"]);
    let bare = recording(
        &CONTENTION,
        b"--- contention:\n 14 2 @ 0xd\nsampling period=x\n",
    );
    assert_eq!(bare.samples[0].values(0), [2, 14]);
    let profile = bare.profiles[0].as_ref().unwrap();
    let Unit::Other(unit) = bare.value_type(profile.value_types[1]).unwrap().unit else {
        panic!("a unit of its own")
    };
    assert_eq!(bare.text(unit), "cycles");
    assert_eq!(note_kinds(&bare), ["no_number"]);
}

#[test]
fn mutexes_of_go_are_multiplied_once() {
    let mutex = |counts: [u64; 2]| {
        let [first, second] = counts;
        let text = format!(
            "--- mutex:\ncycles/second=1000000000\nsampling period=5\n500 {first} @ 0x11\n50 {second} @ 0x21\n"
        );
        let recorded = recording(&CONTENTION, text.as_bytes());
        let values = [0, 1].map(|row| recorded.samples[0].values(row).to_vec());
        (values, note_kinds(&recorded))
    };
    let scaled = [vec![10, 500], vec![5, 50]];
    assert_eq!(mutex([10, 5]), (scaled, vec!["already_scaled"]));
    assert_eq!(mutex([10, 4]), ([vec![50, 2500], vec![20, 250]], vec![]));
}

const GOROUTINES: &str = "goroutine profile: total 5\n\
    3 @ 0x11 0x21 0x31 0x41\n\
    # labels: {\"route\":\"/b\\\"uy\", \"n\\tx\":\"\\u00fc\"}\n\
    #\t0x20\tmain.inlined+0x1\t\t/src/a.go:7\n\
    #\t0x20\tmain.f[...]+0x1\t\t/src/a.go:9\n\
    #\t0x30\tmain.main+0x30\t/src/main.go:12\n\n\
    2 @ 0x0 0x0\n#\t0x0\n\n";

#[test]
fn comments_of_go_name_frames() {
    let bytes = GOROUTINES.as_bytes();
    assert_eq!(
        kinds(bytes),
        [
            "header", "sample", "labels", "frame", "frame", "frame", "line", "sample", "frame",
            "line"
        ]
    );
    assert_eq!(confidence(&COUNT, bytes), Some(Confidence::Certain));
    let recorded = recording(&COUNT, bytes);
    assert_eq!(columns(&recorded), ["goroutine"]);
    // 0x10 is of the runtime, 0x40 is `runtime.goexit`.
    let expected = ["0x10", "main.inlined:7", "main.f[...]:9", "main.main:12"];
    assert_eq!(stack(&recorded, 0), expected);
    assert_eq!(recorded.samples[0].stack[1], None);
    let labels: Vec<String> = recorded.samples[0]
        .labels
        .row(0)
        .iter()
        .map(|label| {
            let key = recorded.attribute_key(label.key).unwrap().name;
            let Value::Text(value) = label.value else {
                panic!("a text")
            };
            format!("{}={}", recorded.text(key), recorded.text(value))
        })
        .collect();
    assert_eq!(labels, ["route=/b\"uy", "n\tx=ü"]);
    assert_eq!(recorded.notes.total(), 0);
    let cut = GOROUTINES.split_inclusive("\n\n").next().unwrap();
    assert_eq!(
        note_kinds(&recording(&COUNT, cut.as_bytes())),
        ["other_total"]
    );
}

#[test]
fn a_function_that_calls_itself_is_not_inlined_into_itself() {
    let text = "goroutine profile: total 1\n1 @ 0x21 0x21 0x21 0x31\n\
        #\t0x20\tmain.f+0x1\t/src/a.go:7\n#\t0x20\tmain.f+0x1\t/src/a.go:7\n\
        #\t0x20\tmain.f+0x1\t/src/a.go:7\n#\t0x30\tmain.g+0x1\t/src/a.go:9\n\n";
    let recorded = recording(&COUNT, text.as_bytes());
    let expected = ["main.f:7", "main.f:7", "main.f:7", "main.g:9"];
    assert_eq!(stack(&recorded, 0), expected);
}

#[test]
fn the_allocator_is_left_out_of_heaps_of_go() {
    let text = "heap profile: 1: 1000 [2: 2001] @ heap/2000\n1: 1000 [2: 2000] @ 0x11 0x21 0x31\n\
        #\t0x20\tmain.f+0x1\t/src/a.go:7\n\n\n# runtime.MemStats\n# Alloc = 7\n";
    let recorded = recording(&HEAP, text.as_bytes());
    assert_eq!(stack(&recorded, 0), ["main.f:7"]);
    assert_eq!(recorded.samples[0].values(0), [3, 3163, 1, 1581]);
    assert_eq!(
        columns(&recorded),
        [
            "alloc_objects",
            "alloc_space",
            "inuse_objects",
            "inuse_space"
        ]
    );
}

#[test]
fn hostile_text_is_read_to_its_end() {
    let mut deep = b"goroutine profile: total 1\n1 @".to_vec();
    deep.extend(b" 0x21".repeat(50_000));
    deep.push(b'\n');
    deep.extend(b"#\t0x20\tf+0x1\ta:1\n".repeat(50_000));
    assert_eq!(stack(&recording(&COUNT, &deep), 0).len(), 50_000);
    for text in [
        "--- symbol\n",
        "--- symbol\n0x1 --\n0x2 a----b\n---\n--- profile\n",
        "--- \n--- symbol\n",
        "--- mutex:\n--- heapz 1 ---\n9223372036854775807 9223372036854775807 @ 0xffffffffffffffff\nsampling period=9223372036854775807\n",
        "--- contention\ncycles/second=1\n9223372036854775807 1 @\n-1 -1 @\n",
        "heap profile: 1: 1 [2: 3] @ heap/9223372036854775807\n-9223372036854775808: -1 [1: 1] @ 0x0\n",
        "heap_v2/1\n@\n@\nt*: 1: 1 [1: 1]\nt*: 1: 1 [1: 1]\n",
        "x profile: total 1\n# labels: {\"a\n# labels: {}\n1 @ 0xg\n#\t\n#\t0x\n",
        "goroutine profile: total 9223372036854775807\n9223372036854775807 @ 0x1\n9223372036854775807 @ 0x1\n",
    ] {
        kinds(text.as_bytes());
        let recorded = recording(&HEAP, text.as_bytes());
        let n_values = recorded.samples.iter().map(|batch| batch.width()).max();
        assert!(n_values.is_none_or(|n_values| n_values > 0), "{text}");
    }
    assert_eq!(confidence(&COUNT, b"a b profile: total 1\n"), None);
    assert_eq!(confidence(&CONTENTION, b"--- x\n"), None);
}
