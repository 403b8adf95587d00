//! A collector that follows a growing Heph file is killed at random moments: every record of the file occurs once.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use collected::http::captures;
use collected::kills::{Random, kill_rounds, kill_seed};
use collected::{Collector, eventually, records, stdout, text};

/// Appends to a file in pieces that have nothing to do with packets, as far as `most` allows, until it is whole.
fn write_slowly(path: &Path, bytes: &[u8], seed: u64, most: &AtomicUsize) {
    let mut random = Random(seed);
    let mut file = File::create(path).expect("a file");
    let mut n_written = 0;
    while n_written < bytes.len() {
        let room = most.load(Ordering::Relaxed).saturating_sub(n_written);
        let length = 1 + random.below(4096) as usize;
        let piece = &bytes[n_written..][..length.min(room)];
        file.write_all(piece).expect("room");
        n_written += piece.len();
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Bytes of the only capture that are in the log or sealed.
fn n_stored(data: &Path) -> u64 {
    let rows = captures(data);
    let parts = rows
        .iter()
        .flat_map(|row| row["parts"].as_array().expect("parts").clone());
    parts
        .map(|part| part["bytes"].as_u64().expect("bytes"))
        .sum()
}

/// `TRACELOOM_KILL_ROUNDS` takes more rounds than ten.
#[test]
fn every_record_of_a_followed_file_occurs_once_after_kills() {
    let n_rounds = kill_rounds(10);
    let seed = kill_seed();
    let mut random = Random(seed);
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let path = scratch.path().join("app.heph");
    let bytes = traceloom_samples::bytes("heph", 23, 1_000_000);
    // Each round has its share of the file, so that kills meet it as it grows.
    let most = Arc::new(AtomicUsize::new(0));
    let writer = std::thread::spawn({
        let (path, bytes, most) = (path.clone(), bytes.clone(), most.clone());
        move || write_slowly(&path, &bytes, seed, &most)
    });
    // Sealed all the time, so that kills meet sealing and a log that was cut as well.
    let small = [
        "--seal-kib",
        "16",
        "--seal-seconds",
        "1",
        "--log-kib",
        "200",
    ];
    let flags = [&["--heph-file", text(&path)][..], &small].concat();
    let mut stored = Vec::new();
    let share = bytes.len() / (usize::try_from(n_rounds).expect("a number") + 1);
    for _ in 0..n_rounds {
        most.fetch_add(share, Ordering::Relaxed);
        let mut collector = Collector::start(&data, &flags);
        std::thread::sleep(Duration::from_millis(100 + random.below(400)));
        collector.child.kill().expect("it runs");
        collector.child.wait().expect("an end");
        stored.push(n_stored(&data));
    }
    assert!(stored.is_sorted(), "{stored:?}");
    assert!(
        stored.first() < stored.last() && stored.last() < Some(&(bytes.len() as u64)),
        "the file did not grow beside the kills: {stored:?}"
    );
    most.store(bytes.len(), Ordering::Relaxed);
    let collector = Collector::start(&data, &flags);
    writer.join().expect("a whole file");
    eventually(|| (n_stored(&data) == bytes.len() as u64).then_some(()));
    drop(collector);
    let rows = captures(&data);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let out = scratch.path().join("out");
    let id = rows[0]["id"].as_str().expect("an id");
    stdout(&["export", id, "--data", text(&data), "-o", text(&out)]);
    assert!(std::fs::read(out.join("trace.heph")).expect("the trace") == bytes);
    let expected = records(text(&path), None);
    assert!(
        expected.len() > 1000,
        "{} records are no load",
        expected.len()
    );
    assert!(records(&format!("{}#{id}", text(&data)), None) == expected);
}
