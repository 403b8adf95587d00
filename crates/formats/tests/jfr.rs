//! Recordings of the corpus, and one made on the spot, against what the JDK says they hold.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and reads files"
)]

mod corpus;

use std::collections::BTreeMap;
use std::io::Read as _;

use traceloom_formats::{Record, RecordSink, by_name, read_slice};
use traceloom_model::{Flow, Level, Limits, Note};

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
    read_slice(format.reader(&Limits::default()).as_mut(), bytes, &mut facts);
    facts
}

fn recording(name: &str) -> Option<Vec<u8>> {
    let bytes = corpus::file(&format!("datakit/{name}"))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Some(bytes);
    }
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
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
        let special = ["jdk.Metadata", "jdk.CheckPoint"].map(|kind| counts[kind].0);
        let events = total - special.iter().sum::<u64>();
        let theirs = expected["jfr"]["n_events"].as_u64().unwrap();
        assert!([total, events].contains(&theirs), "{name}: {total}, {events}, {theirs}");
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
    assert_eq!((note.kind, note.level), ("unsupported_version", Level::Damage));
    assert!(note.text.contains("unsupported version 0.9"), "{}", note.text);
}
