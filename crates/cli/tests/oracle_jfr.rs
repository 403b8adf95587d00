//! `info` of recordings beside `jfr summary` of the JDK: the same events, as often.
//!
//! Without the JDK, or without the corpus, the test says so and passes.

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What the JDK counts: events by type, those of which there are none left out.
fn summary(path: &Path) -> Option<BTreeMap<String, u64>> {
    let shown = Command::new("jfr").arg("summary").arg(path).output().ok()?;
    assert!(shown.status.success(), "{}", path.display());
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let mut counts = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [name, count, size] = words[..]
            && let (Ok(count), Ok(_)) = (count.parse::<u64>(), size.parse::<u64>())
            && count > 0
        {
            // A type whose metadata differs between chunks has several lines.
            *counts.entry(name.to_owned()).or_default() += count;
        }
    }
    Some(counts)
}

#[test]
fn events_are_those_of_the_jdk() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        "dk_ddtrace_main.jfr",
        "jfrp_async-profiler.jfr.gz",
        "jfrp_dd-trace-java.jfr.gz",
        "jfrp_dump2.jfr.gz",
        "jfrp_example.jfr.gz",
        "jfrp_nativemem.jfr.gz",
        "jfrp_object-allocation-sample.jfr.gz",
    ] {
        let Some(bytes) = corpus::file(&format!("datakit/{name}")) else {
            return;
        };
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        if name.ends_with(".gz") {
            let unpacked = Command::new("gzip").arg("-d").arg(&path).status();
            assert!(unpacked.is_ok_and(|status| status.success()), "gzip {name}");
        }
        let path = folder.path().join(name.trim_end_matches(".gz"));
        let Some(theirs) = summary(&path) else {
            println!("no jfr tool found, skipped");
            return;
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
        let shown = command.args(["info", "--json"]).arg(&path).output();
        let shown = shown.expect("the program runs");
        let info: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        let records = info["records"].as_object().expect("kinds");
        assert!(theirs.len() > 3, "{name}");
        for (kind, count) in &theirs {
            assert_eq!(records[kind].as_u64(), Some(*count), "{name}: {kind}");
        }
        let ours = records.keys().filter(|kind| *kind != "chunk");
        let ours: Vec<&String> = ours.filter(|kind| !theirs.contains_key(*kind)).collect();
        assert!(ours.is_empty(), "{name}: {ours:?}");
    }
}
