//! Recordings of the corpus, and one made on the spot, against what the JDK says they hold.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test fails by panicking, reads files and runs the JDK"
)]

mod corpus;

use std::collections::BTreeMap;
use std::io::Read as _;

use traceloom_formats::{LowerOptions, Record, RecordSink, SliceSource, by_name, read_slice};
use traceloom_model::{Flow, Level, Limits, Note, Recording};

const FILES: [&str; 7] = [
    "jfrp_async-profiler.jfr.gz",
    "jfrp_dd-trace-java.jfr.gz",
    "jfrp_dump2.jfr.gz",
    "jfrp_example.jfr.gz",
    "jfrp_nativemem.jfr.gz",
    "jfrp_object-allocation-sample.jfr.gz",
    "dk_ddtrace_main.jfr",
];

/// Counts records, and sees that they tile the input and write it again.
#[derive(Default)]
struct Facts {
    counts: BTreeMap<String, (u64, u64)>,
    end: u64,
    written: Vec<u8>,
    shown: u64,
    notes: Vec<Note>,
}

impl RecordSink for Facts {
    fn record(&mut self, record: &dyn Record) -> Flow {
        assert_eq!(record.offset(), self.end, "records tile");
        self.end += record.len();
        record.write(&mut self.written);
        assert_eq!(self.written.len() as u64, self.end, "{}", record.kind());
        record.fields(&mut |_, _| self.shown += 1);
        let (count, bytes) = self.counts.entry(record.kind().to_owned()).or_default();
        *count += 1;
        *bytes += record.len();
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}

fn facts(bytes: &[u8]) -> Facts {
    let mut facts = Facts::default();
    let format = by_name("jfr").unwrap();
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        bytes,
        &mut facts,
    );
    facts
}

fn recording(name: &str) -> Option<Vec<u8>> {
    let bytes = corpus::file(&format!("datakit/{name}"))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Some(bytes);
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..])
        .read_to_end(&mut plain)
        .unwrap();
    Some(plain)
}

fn expected(name: &str) -> Option<serde_json::Value> {
    let json = corpus::file(&format!("datakit/expected/{name}.json"))?;
    Some(serde_json::from_slice(&json).unwrap())
}

#[test]
fn every_type_is_counted_as_the_jdk_counts_it() {
    for name in FILES {
        let (Some(bytes), Some(expected)) = (recording(name), expected(name)) else {
            return;
        };
        let facts = facts(&bytes);
        assert_eq!(facts.notes, [], "{name}");
        assert!(facts.written == bytes, "{name} is written as it was read");
        let mut counts = facts.counts;
        let chunks = counts.remove("chunk").unwrap();
        assert_eq!(chunks.0.to_string(), expected["jfr"]["chunks"], "{name}");
        let theirs: BTreeMap<String, (u64, u64)> = expected["jfr"]["events"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(kind, facts)| {
                let of = |key: &str| facts[key].as_u64().unwrap();
                (kind.clone(), (of("count"), of("bytes")))
            })
            .collect();
        for (kind, theirs) in &theirs {
            assert_eq!(counts.get(kind), Some(theirs), "{kind} of {name}");
        }
        // The list of expected types stops at sixty; the totals do not.
        let types = expected["jfr"]["n_event_types_with_data"].as_u64();
        assert_eq!(Some(counts.len() as u64), types, "{name}");
        let total = counts.values().map(|(count, _)| count).sum::<u64>();
        assert_eq!(Some(total), expected["jfr"]["n_events"].as_u64(), "{name}");
    }
}

#[test]
fn version_0_9_is_named() {
    let Some(bytes) = recording("dk_prof.jfr") else {
        return;
    };
    let facts = facts(&bytes);
    assert!(facts.written == bytes);
    let [note] = &facts.notes[..] else {
        panic!("{:?}", facts.notes)
    };
    assert_eq!(
        (note.kind, note.level),
        ("unsupported_version", Level::Damage)
    );
    assert!(
        note.text.contains("unsupported version 0.9"),
        "{}",
        note.text
    );
}

fn lowered(bytes: &[u8]) -> Recording {
    let format = by_name("jfr").unwrap();
    let source = SliceSource::default().with("a.jfr", format, bytes);
    let mut recording = Recording::default();
    let lower = format.lower.unwrap();
    lower(&source, &LowerOptions::default(), &mut recording).unwrap();
    recording
}

/// Sums a value column over all samples that have it.
fn total(recording: &Recording, column: &str) -> i64 {
    let mut sum = 0;
    for batch in &recording.samples {
        let profile = recording.profile(batch.profile).unwrap();
        for (at, &id) in profile.value_types.iter().enumerate() {
            let value_type = recording.value_type(id).unwrap();
            if recording.text(value_type.name) == column {
                sum += (0..batch.len())
                    .map(|row| batch.values(row)[at])
                    .sum::<i64>();
            }
        }
    }
    sum
}

#[test]
fn totals_are_those_of_other_tools() {
    let check = |name: &str, expected: &[(&str, i64, i64)]| {
        let Some(bytes) = recording(name) else { return };
        let recording = lowered(&bytes);
        for &(column, value, slack) in expected {
            let ours = total(&recording, column);
            assert!(
                (ours - value).abs() <= slack,
                "{name}: {column} is {ours}, not {value}"
            );
        }
        let events = recording.events.len() as u64;
        let theirs = expected_events(name);
        assert_eq!(Some(events), theirs, "{name}: every event is a typed event");
        assert_eq!(
            recording.notes.worst().filter(|&worst| worst > Level::Info),
            None,
            "{name}"
        );
    };
    check(
        "jfrp_async-profiler.jfr.gz",
        &[
            ("cpu_samples", 110, 0),
            ("cpu", 1_100_000_000, 0),
            ("wall_samples", 199_551, 0),
            ("wall", 199_551 * 200_000_000, 0),
            ("alloc_tlab_events", 17, 0),
            ("alloc_tlab", 21_388_112, 0),
        ],
    );
    check(
        "jfrp_dd-trace-java.jfr.gz",
        &[
            ("cpu_samples", 113, 0),
            // The converters leave out one allocation without a stack, of 6,752 bytes.
            ("alloc_tlab_events", 3_817 + 1, 0),
            ("alloc_tlab", 1_267_833_688 + 6_752, 0),
            ("lock_count", 122, 0),
            // Each wait is rounded down to a nanosecond, the converter's total once.
            ("lock", 53_239_880_994, 122),
            ("old_objects", 9, 0),
            ("live_objects", 0, 0),
        ],
    );
    check(
        "jfrp_object-allocation-sample.jfr.gz",
        &[
            ("lock_count", 799, 0),
            ("lock", 362_425_381_709, 799),
            ("alloc_sample_events", 10_694, 0),
            ("alloc_tlab_events", 0, 0),
        ],
    );
    check(
        "jfrp_nativemem.jfr.gz",
        &[("nativemem_objects", 57, 0), ("nativemem", 34_861, 0)],
    );
    check(
        "jfrp_dump2.jfr.gz",
        &[("live_objects", 4, 0), ("alloc_tlab", 2_097_148, 0)],
    );
    check("jfrp_example.jfr.gz", &[("alloc_tlab_events", 290, 0)]);
    check(
        "dk_ddtrace_main.jfr",
        &[
            ("cpu", 26_640_000_000, 0),
            ("alloc", 230_031_992, 900),
            ("alloc_objects", 5_387_136, 900),
            ("live", 37_852_168, 150),
            ("live_objects", 765_973, 150),
            ("exception_samples", 1_157, 0),
            ("lock", 11_085_858, 0),
            ("lock_count", 1, 0),
        ],
    );
}

/// Returns how many events a recording has, besides metadata and checkpoints.
fn expected_events(name: &str) -> Option<u64> {
    let expected = expected(name)?;
    let all = expected["jfr"]["n_events"].as_u64()?;
    let special = ["jdk.Metadata", "jdk.CheckPoint"];
    let of = |kind: &str| expected["jfr"]["events"][kind]["count"].as_u64();
    Some(all - special.into_iter().filter_map(of).sum::<u64>())
}

/// A program that allocates, waits for a lock, sleeps, parks and throws.
const BUSY: &str = r#"
import java.util.concurrent.locks.LockSupport;

public class Busy {
    static final Object LOCK = new Object();
    static volatile Object kept;

    static void spin(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        while (System.nanoTime() < end) {
            kept = new byte[8192];
        }
    }

    public static void main(String[] args) throws Exception {
        Thread other = new Thread(() -> {
            for (int i = 0; i < 5; i++) {
                synchronized (LOCK) {
                    spin(60);
                }
            }
        }, "the other");
        other.start();
        for (int i = 0; i < 5; i++) {
            synchronized (LOCK) {
                spin(30);
            }
            try {
                throw new IllegalStateException("number " + i);
            } catch (IllegalStateException e) {
                kept = e;
            }
        }
        Thread.sleep(40);
        LockSupport.parkNanos(40_000_000);
        other.join();
        System.gc();
    }
}
"#;

/// Runs a tool of the JDK; none where there is no JDK.
fn jdk(tool: &str, arguments: &[&str], folder: &std::path::Path) -> Option<String> {
    let output = std::process::Command::new(tool)
        .args(arguments)
        .current_dir(folder)
        .output();
    let Ok(output) = output else {
        println!("no {tool} on this machine, skipped");
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{tool}: {}", text(&output.stderr));
    Some(text(&output.stdout))
}

/// Reads the counts of `jfr summary`: type, count, bytes; a name with several types has several lines.
fn summary(text: &str) -> BTreeMap<String, (u64, u64)> {
    let mut counts: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(kind) = words.next().filter(|kind| kind.contains('.')) else {
            continue;
        };
        let mut number = || words.next()?.parse::<u64>().ok();
        if let (Some(count @ 1..), Some(bytes)) = (number(), number()) {
            let sum = counts.entry(kind.to_owned()).or_default();
            sum.0 += count;
            sum.1 += bytes;
        }
    }
    counts
}

#[test]
fn the_jdk_of_this_machine_counts_the_same() {
    let folder = std::env::temp_dir().join(format!("traceloom-summary-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut differ = Vec::new();
    for name in FILES {
        let Some(bytes) = recording(name) else { break };
        std::fs::write(folder.join("a.jfr"), &bytes).unwrap();
        let summary_of = std::process::Command::new("jfr")
            .args(["summary", "a.jfr"])
            .current_dir(&folder)
            .output();
        let Ok(said) = summary_of else {
            println!("no jfr on this machine, skipped");
            break;
        };
        if !said.status.success() {
            println!("{name}: this JDK cannot read it, skipped");
            continue;
        }
        let mut counts = facts(&bytes).counts;
        counts.remove("chunk");
        if counts != summary(&String::from_utf8_lossy(&said.stdout)) {
            differ.push(name);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(differ, [""; 0]);
}

#[test]
fn a_fresh_recording_is_what_the_jdk_says() {
    let folder = std::env::temp_dir().join(format!("traceloom-jfr-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("Busy.java"), BUSY).unwrap();
    // Both sources of allocations.
    let record = "-XX:StartFlightRecording=settings=profile,jdk.ObjectAllocationInNewTLAB#enabled=true,\
        jdk.ObjectAllocationOutsideTLAB#enabled=true,filename=busy.jfr";
    let ran = jdk("java", &[record, "Busy.java"], &folder);
    let said = ran.and_then(|_| jdk("jfr", &["summary", "busy.jfr"], &folder));
    let bytes = std::fs::read(folder.join("busy.jfr"));
    let events = ["jdk.JavaMonitorEnter", "jdk.ThreadSleep"];
    let printed = said.as_ref().and_then(|_| {
        let wanted = events.join(",");
        jdk(
            "jfr",
            &["print", "--json", "--events", &wanted, "busy.jfr"],
            &folder,
        )
    });
    std::fs::remove_dir_all(&folder).unwrap();
    let (Some(said), Some(printed)) = (said, printed) else {
        return;
    };
    let bytes = bytes.unwrap();
    let facts = facts(&bytes);
    assert_eq!(facts.notes, []);
    assert!(facts.written == bytes);
    let mut counts = facts.counts;
    counts.remove("chunk");
    assert_eq!(counts, summary(&said));

    let recording = lowered(&bytes);
    let special = counts["jdk.Metadata"].0 + counts["jdk.CheckPoint"].0;
    let all: u64 = counts.values().map(|(count, _)| count).sum();
    assert_eq!(recording.events.len() as u64, all - special);
    for column in ["alloc_tlab", "lock"] {
        assert!(total(&recording, column) > 0, "{column}");
    }
    let count = |kind: &str| {
        counts
            .get(kind)
            .map_or(0, |&(count, _)| count.cast_signed())
    };
    assert!(count("jdk.ObjectAllocationSample") > 0);
    let buffers = [
        "jdk.ObjectAllocationInNewTLAB",
        "jdk.ObjectAllocationOutsideTLAB",
    ];
    let buffers: i64 = buffers.into_iter().map(count).sum();
    for (column, expected) in [
        ("alloc_tlab_events", buffers),
        ("alloc_sample_events", 0),
        ("cpu_samples", count("jdk.ExecutionSample")),
        ("native_samples", count("jdk.NativeMethodSample")),
        ("old_objects", count("jdk.OldObjectSample")),
        ("live_objects", 0),
    ] {
        assert_eq!(total(&recording, column), expected, "{column}");
    }
    // Monitor enters and sleeps: the same times, lengths, threads and top frames.
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let mut theirs: Vec<(String, String, String)> = Vec::new();
    for event in printed["recording"]["events"].as_array().unwrap() {
        let values = &event["values"];
        let frame = &values["stackTrace"]["frames"][0]["method"];
        let of = |value: &serde_json::Value| value.as_str().unwrap_or("").to_owned();
        let class = of(&frame["type"]["name"]).replace('/', ".");
        theirs.push((
            of(&event["type"]),
            of(&values["eventThread"]["javaName"]),
            format!("{class}.{}", of(&frame["name"])),
        ));
    }
    let mut ours = Vec::new();
    let mut longest = 0;
    for row in recording.events.iter() {
        let kind = recording.event_type(row.event_type).unwrap();
        let kind = recording.text(kind.name).into_owned();
        if !events.contains(&kind.as_str()) {
            continue;
        }
        let track = recording.track(row.track.unwrap()).unwrap();
        let stack = recording.stack(row.stack.unwrap()).unwrap();
        let frame = recording.frame(stack.frame).unwrap();
        ours.push((
            kind,
            recording.text(track.name.unwrap()).into_owned(),
            recording
                .function_name(frame.function.unwrap())
                .into_owned(),
        ));
        longest = longest.max(row.end.unwrap() - row.time);
    }
    ours.sort();
    theirs.sort();
    assert_eq!(ours, theirs);
    assert!(!ours.is_empty());
    assert!(
        (10_000_000..60_000_000_000).contains(&longest),
        "{longest} ns"
    );
}
