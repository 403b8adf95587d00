//! A collector that is killed, and one whose disk fails: what agents were told is safe is there once.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;
#[path = "collected/ledgers.rs"]
mod ledgers;

use std::path::Path;
use std::time::Duration;

use collected::kills::{Random, kill_rounds, kill_seed};
use collected::{Collector, eventually, run, streams, text};
use ledgers::{Agents, acknowledged, compare, log_bytes, sources};
use traceloom_input::captures::{Captures, DataFolder};

/// `kill -9` at random moments under load. `TRACELOOM_KILL_ROUNDS` takes more of them.
#[test]
fn what_was_acknowledged_outlasts_kills() {
    let n_rounds = kill_rounds(30);
    let mut random = Random(kill_seed());
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let data = scratch.path().join("data");
    let mut ledgers = Vec::new();
    for round in 0..n_rounds {
        let mut collector = Collector::start(&data, SMALL);
        let ledger = scratch.path().join(format!("ledger{round}"));
        let agents = Agents::start(&streams, &collector.url, ledger);
        std::thread::sleep(Duration::from_millis(50 + random.below(350)));
        collector.child.kill().expect("it runs");
        collector.child.wait().expect("an end");
        ledgers.extend(agents.end());
    }
    let n_bytes: u64 = ledgers.iter().map(acknowledged).sum();
    assert!(n_bytes > n_rounds * 50_000, "{n_bytes} bytes are no load");
    // One more start recovers what the last kill left.
    let (code, said) = Collector::start(&data, SMALL).terminate();
    assert_eq!(code, Some(0), "{said}");
    compare(&data, &ledgers, &sources(&streams));
    // And one seals it all: what was received is in chunks, and the log is empty.
    let collector = Collector::start(&data, SMALL);
    eventually(|| (log_bytes(&data) < 2_000).then_some(()));
    assert_eq!(collector.terminate().0, Some(0));
    let captures = Captures::read(&DataFolder::open(&data).expect("a folder")).expect("captures");
    assert!(captures.list.iter().all(|capture| capture.revision > 0));
    assert!(captures.list.iter().any(|capture| capture.revision > 1));
    compare(&data, &ledgers, &sources(&streams));
}

/// Sizes at which captures are sealed all the time.
const SMALL: &[&str] = &[
    "--seal-kib",
    "100",
    "--seal-seconds",
    "1",
    "--log-kib",
    "2000",
];

/// The system refuses to let a file of the log grow, as a full disk does: nothing is acknowledged any more, the process
/// says why and ends, and the next start has everything that was acknowledged before.
#[test]
fn a_write_that_fails_ends_acknowledging_and_loses_nothing() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let data = scratch.path().join("data");
    let limited = |command: &str| format!("trap '' XFSZ; ulimit -f 4096; exec {command}");
    let mut collector = Collector::start_in(Some(&limited("\"$0\" \"$@\"")), &data, &[]);
    let agents = Agents::start(&streams, &collector.url, scratch.path().join("ledger"));
    let ended = collector.child.wait().expect("an end");
    let said = collector.messages();
    assert_eq!(ended.code(), Some(1), "{said}");
    assert!(
        said.contains("the log failed, and nothing was acknowledged since"),
        "{said}"
    );
    let ledger = agents.end();
    assert!(ledger.iter().map(acknowledged).sum::<u64>() > 500_000);
    compare(&data, &ledger, &sources(&streams));
    let (code, said) = Collector::start(&data, &[]).terminate();
    assert_eq!(code, Some(0), "{said}");
    compare(&data, &ledger, &sources(&streams));
}

/// Agents that are stopped by Ctrl-C know what they were told until then.
#[test]
fn a_ledger_of_stopped_agents_is_true() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let agents = Agents::start(&streams, &collector.url, scratch.path().join("ledger"));
    eventually(|| (log_bytes(&data) > 1_500_000).then_some(()));
    let pid = agents.child.id().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(asked.expect("kill runs").success());
    let ledger = agents.end();
    assert!(ledger.iter().map(acknowledged).sum::<u64>() > 500_000);
    assert_eq!(collector.terminate().0, Some(0));
    compare(&data, &ledger, &sources(&streams));
}

/// A byte that changed on disk is told by everybody, with its place, and nothing is removed.
/// Counts the whole groups of a segment (crates/log/FORMAT.md).
fn n_groups(segment: &Path) -> usize {
    let Ok(bytes) = std::fs::read(segment) else {
        return 0;
    };
    let mut rest = bytes.get(80..).unwrap_or_default();
    let mut n_groups = 0;
    while let Some(length) = rest.get(4..8) {
        let length = u32::from_le_bytes(length.try_into().expect("four bytes"));
        let Some(behind) = rest.get(40 + length as usize..) else {
            break;
        };
        (rest, n_groups) = (behind, n_groups + 1);
    }
    n_groups
}

#[test]
fn a_changed_byte_is_told_and_nothing_is_removed() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let data = scratch.path().join("data");
    let mut collector = Collector::start(&data, &[]);
    let agents = Agents::start(&streams, &collector.url, scratch.path().join("ledger"));
    let segment = data.join("log/00000000000000000001.seg");
    // A damaged last group would pass for an interrupted write: groups follow the one with the byte.
    eventually(|| (n_groups(&segment) >= 4).then_some(()));
    // Killed, so that what is being sent stays in the log.
    collector.child.kill().expect("it runs");
    collector.child.wait().expect("an end");
    agents.end();
    let mut bytes = std::fs::read(&segment).expect("a segment");
    bytes[200] ^= 4;
    std::fs::write(&segment, &bytes).expect("a segment");
    for args in [
        &["log", "verify", "--data", text(&data)][..],
        &["captures", "ls", "--data", text(&data)],
        &["serve", "--cdt", "127.0.0.1:0", "--data", text(&data)],
        &["info", text(&data)],
    ] {
        let output = run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {said}");
        assert!(
            said.contains("checksum of the group does not hold"),
            "{args:?}: {said}"
        );
        assert!(said.contains("(segment 1, offset 0x"), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read(&segment).expect("a segment"), bytes);
}
