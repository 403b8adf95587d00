//! Agents that know what they were told, and captures held against that.

#[path = "../../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use traceloom_input::captures::{Captures, DataFolder};

use crate::collected::{command, text};

/// Agents that send without an end.
pub struct Agents {
    pub child: Child,
    ledger: PathBuf,
}

impl Agents {
    pub fn start(streams: &Path, url: &str, ledger: PathBuf) -> Self {
        let child = command(&["send", text(streams), "--to", url, "--loop"])
            .args(["--agents", "4", "--rate", "15000000", "--ledger"])
            .arg(&ledger)
            .stderr(Stdio::null())
            .spawn()
            .expect("agents");
        Self { child, ledger }
    }

    /// Waits until they notice that the collector is gone; returns what they were told.
    pub fn end(mut self) -> Vec<Value> {
        let until = Instant::now() + Duration::from_secs(30);
        while self.child.try_wait().expect("a process").is_none() {
            assert!(
                Instant::now() < until,
                "agents notice a collector that is gone"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        let ledger = std::fs::read_to_string(&self.ledger).expect("a ledger");
        let rows = ledger
            .lines()
            .map(|row| serde_json::from_str(row).expect("JSON"));
        rows.collect()
    }
}

pub fn acknowledged(row: &Value) -> u64 {
    row["acknowledged"].as_u64().expect("a count")
}

/// The bytes of each stream of a folder, by the names that parts of it have.
pub fn sources(folder: &Path) -> HashMap<String, Vec<u8>> {
    let files = corpus::files_below(folder).into_iter();
    files.filter(|(name, _)| name.contains('/')).collect()
}

/// Holds the captures of a data folder against what agents were told.
pub fn compare(data: &Path, ledgers: &[Value], sources: &HashMap<String, Vec<u8>>) {
    let captures = Captures::read(&DataFolder::open(data).expect("a folder")).expect("captures");
    let mut by_instance = HashMap::new();
    for capture in &captures.list {
        assert_eq!(capture.doubts, [""; 0]);
        let instance = capture.identity.instance.as_str();
        let before = by_instance.insert(instance, capture);
        assert!(
            before.is_none() || instance.is_empty(),
            "{instance} is there twice"
        );
    }
    for row in ledgers.iter().filter(|row| acknowledged(row) > 0) {
        let part = row["part"].as_str().expect("a part");
        let source = &sources[part];
        let capture = by_instance[row["instance"].as_str().expect("a name")];
        let kept = capture.parts.iter().find(|kept| kept.name.ends_with(part));
        let kept = kept.unwrap_or_else(|| panic!("{row} is not there"));
        assert!(
            kept.n_bytes >= acknowledged(row),
            "{row}: {} are there",
            kept.n_bytes
        );
        assert!(
            kept.n_bytes <= row["sent"].as_u64().expect("a count"),
            "{row}"
        );
        let mut at = 0;
        let compared = captures.copy(kept, &mut |bytes| {
            for &byte in bytes {
                assert_eq!(byte, source[at % source.len()], "{row} at {at}");
                at += 1;
            }
            Ok(())
        });
        compared.expect("it can be read");
        assert_eq!(at as u64, kept.n_bytes);
    }
}

/// Returns the bytes that the log takes on disk.
pub fn log_bytes(data: &Path) -> u64 {
    let files = std::fs::read_dir(data.join("log")).expect("a log");
    let sizes = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
    sizes.sum()
}
