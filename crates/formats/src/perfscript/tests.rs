//! Vectors of one property each.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use traceloom_model::{Limits, Recording};

use super::event::{EventLineFields, StackLine};
use super::*;
use crate::{LowerOptions, Records, SliceSource, read_chunked, read_slice};

const TEXT: &[u8] = b"# captured on: x\n#\n\
shop  40/41 [002] 6544.038708: 235000 cpu-clock:u: \n\
\x20           7f53 shop::buy(int, char)+0x1f (/srv/shop/server (deleted))\n\
\x20  cart.rs:12\n\
\x20           7f60 shop::main (inlined)\n\
\x20           7f60 [unknown] ([unknown])\n\
\x20   ffffffff8103ce3b native_safe_halt ([kernel.kallsyms])\n\
\n\
V8 Worker 9 40/42 [000] 6544.5: 1 cpu-clock:u: \n\
\x20           88 LazyCompile:~pay /srv/x.js:3 (/tmp/perf-40.map)\n\
\n\
swapper     0 [001] 6545.000001: sched:sched_switch: prev_comm=x ==> next=y\n\
swapper     0 [001] 6545.000002:      4 cycles:  ffffffff81 idle ([kernel.kallsyms])\n\
garbage\n";

#[test]
fn events_of_every_spelling() {
    let event = |line: &'static str| EventLineFields::parse(line.as_bytes());
    let full = event("java 12688/12764 [002] 6544038.708352: 235 cpu-clock:").unwrap();
    assert_eq!(
        (full.command, full.pid, full.tid),
        (&b"java"[..], Some(12_688), Some(12_764))
    );
    assert_eq!(
        (full.cpu, full.time_ns),
        (Some(2), Some(6_544_038_708_352_000))
    );
    assert_eq!(
        (full.period, full.event, full.rest),
        (Some(235), &b"cpu-clock"[..], &b""[..])
    );
    let blank = event("V8 WorkerThread 24636/25607 [000] 94564.109216: 100 cycles:u:").unwrap();
    assert_eq!(
        (blank.command, blank.event),
        (&b"V8 WorkerThread"[..], &b"cycles:u"[..])
    );
    let numbered = event("pool 3 thread 4 99 [000] 1.000000: 100 cycles:").unwrap();
    assert_eq!(
        (numbered.command, numbered.tid),
        (&b"pool 3 thread 4"[..], Some(99))
    );
    let right = event("         swapper     0 [000] 158665.570607: cpu-clock: ").unwrap();
    assert_eq!(
        (right.command, right.tid, right.period),
        (&b"swapper"[..], Some(0), None)
    );
    let no_cpu = event("node 7 12.000000001:  1 cycles:ppp: ").unwrap();
    assert_eq!((no_cpu.time_ns, no_cpu.cpu), (Some(12_000_000_001), None));
    let gone = event(":-1 -1 [000] 1.5: cycles:").unwrap();
    assert_eq!(gone.tid, Some(u64::from(u32::MAX)));
    for line in [
        "a b c",
        "x 1 y:",
        "\t7f53 main (/x)",
        "a;b;c 12",
        "",
        "1.5: cycles:",
    ] {
        assert_eq!(event(line), None, "{line}");
    }
}

#[test]
fn frames_of_every_spelling() {
    let frame = |line: &'static str| StackLine::parse(line.as_bytes()).unwrap();
    let plain = frame("\t7f53 std::map<int, A (*)(int)>::at(int const&)+0x1f (/lib/x.so)");
    assert_eq!(
        plain.symbol,
        Some(&b"std::map<int, A (*)(int)>::at(int const&)"[..])
    );
    assert_eq!((plain.address, plain.symbol_offset), (0x7f53, Some(0x1f)));
    assert_eq!(plain.object, Some(&b"/lib/x.so"[..]));
    let deleted = frame("  1 f (/srv/x (deleted))");
    assert_eq!(deleted.object, Some(&b"/srv/x (deleted)"[..]));
    let unknown = frame("  1 [unknown] (/srv/x)");
    assert_eq!(
        (unknown.symbol, unknown.object),
        (None, Some(&b"/srv/x"[..]))
    );
    assert!(frame("  1 f (inlined)").inlined);
    assert_eq!(frame("  1 f").symbol, Some(&b"f"[..]));
    assert_eq!(StackLine::parse(b"7f53 f (x)"), None);
    assert_eq!(StackLine::parse(b"  main.c:12"), None);
}

#[test]
fn records_and_samples() {
    let mut whole = Records::default();
    read_slice(&mut Reader::new(&Limits::default()), TEXT, &mut whole);
    let kinds = [
        "comment", "comment", "event", "frame", "source", "frame", "frame", "frame", "blank",
        "event", "frame", "blank", "event", "event", "line",
    ];
    assert_eq!(whole.kinds(), kinds);
    assert_eq!(whole.written(), TEXT);
    assert_eq!(whole.notes().len(), 1);
    for size in [1, 2, 5, 30, 100] {
        let mut cut = Records::default();
        let cuts = (1..).map(|n| n * size);
        read_chunked(&mut Reader::new(&Limits::default()), TEXT, cuts, &mut cut);
        assert!(cut == whole, "chunks of {size}");
    }
    let source = SliceSource::default().with("x", &FORMAT, TEXT);
    let mut recording = Recording::default();
    lower::lower(&source, &LowerOptions::default(), &mut recording).unwrap();
    let sizes: Vec<_> = recording
        .samples
        .iter()
        .map(|batch| (batch.len(), batch.width()))
        .collect();
    assert_eq!(sizes, [(2, 2), (1, 1), (1, 2)]);
    let batch = &recording.samples[0];
    assert_eq!(batch.values(0), [1, 235_000]);
    assert_eq!(batch.time[1], Some(6_544_500_000_000));
    let thread = recording.track(batch.track[1].unwrap()).unwrap();
    assert_eq!(recording.text(thread.name.unwrap()), "V8 Worker 9");
    assert_eq!(
        recording.resource(thread.resource.unwrap()).unwrap().pid,
        Some(40)
    );
    let leaf = recording.stack(batch.stack[0].unwrap()).unwrap();
    let frame = recording.frame(leaf.frame).unwrap();
    let function = recording.function(frame.function.unwrap()).unwrap();
    assert_eq!(recording.text(function.name), "shop::buy(int, char)");
    assert_eq!(recording.text(function.file.unwrap()), "cart.rs");
    assert_eq!(frame.line, 12);
    let only = recording
        .stack(recording.samples[2].stack[0].unwrap())
        .unwrap();
    assert_eq!(only.parent, None);
    assert_eq!(
        recording.frame(only.frame).unwrap().kind,
        traceloom_model::FrameKind::Kernel
    );
}

#[test]
fn detected() {
    let confidence = |head: &[u8]| {
        probe(&Probe {
            head,
            whole: true,
            name: "x",
            siblings: &[],
        })
    };
    assert_eq!(confidence(TEXT), Some(Confidence::Likely));
    assert_eq!(confidence(b"a;b;c 12\na;b 3\n"), None);
    let made = traceloom_samples::bytes("perf-script", 1, 5_000);
    assert_eq!(confidence(&made), Some(Confidence::Likely));
}
