//! A collector whose disk is full, on a file system of its own.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;
#[path = "collected/ledgers.rs"]
mod ledgers;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use collected::{Collector, eventually, run, stdout, streams, text};
use ledgers::{Agents, acknowledged, compare, log_bytes, sources};

/// A file system in memory; it is gone when this is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Returns `None` where this process may not mount one.
    fn mount(at: PathBuf, mib: u32) -> Option<Self> {
        std::fs::create_dir(&at).expect("a folder");
        let size = format!("size={mib}m");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then_some(Self(at))
    }

    /// Writes a file that leaves about so much room.
    fn fill(&self, left: usize) -> PathBuf {
        let path = self.0.join("filler");
        let mut filler = std::fs::File::create(&path).expect("a file");
        let piece = vec![1; 1 << 20];
        while filler.write_all(&piece).is_ok() {}
        let length = filler.metadata().expect("a size").len();
        filler.set_len(length - left as u64).expect("room");
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn n_captures(data: &Path) -> usize {
    let listed = stdout(&["captures", "ls", "--json", "--data", text(data)]);
    listed.lines().count()
}

/// Agents fill the disk: the process says why and ends, everything acknowledged is there, and the next start seals and
/// deletes in the room of the ballast although nobody made any.
#[test]
fn a_full_disk_loses_nothing_and_the_ballast_lets_it_seal_and_delete() {
    let scratch = tempfile::tempdir().expect("a folder");
    let streams = streams(scratch.path());
    let Some(disk) = SmallDisk::mount(scratch.path().join("disk"), 300) else {
        println!("skipped: this process may not mount a file system");
        return;
    };
    let data = disk.0.join("data");
    // Segments of 4 MiB.
    let settings = ["--log-kib", "32768"];
    let mut collector = Collector::start(&data, &settings);
    let ballast = data.join("ballast");
    eventually(|| ballast.exists().then_some(()));
    disk.fill(12 << 20);
    let agents = Agents::start(&streams, &collector.url, scratch.path().join("ledger"));
    let ended = collector.child.wait().expect("an end");
    let said = collector.messages();
    assert_eq!(ended.code(), Some(1), "{said}");
    assert!(said.contains("the log failed"), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    assert!(ballast.exists(), "it is for the next start");
    let ledger = agents.end();
    assert!(ledger.iter().map(acknowledged).sum::<u64>() > 2_000_000);
    compare(&data, &ledger, &sources(&streams));

    let collector = Collector::start(&data, &settings);
    eventually(|| (log_bytes(&data) < 2_000).then_some(()));
    assert!(!ballast.exists(), "its room was needed");
    compare(&data, &ledger, &sources(&streams));
    // What was sealed made room enough for more.
    stdout(&["send", text(&streams), "--to", &collector.url]);
    let n_before = n_captures(&data);
    let until = ["--until", "2100-01-01T00:00:00Z"];
    let deleted = run(&[&["captures", "delete", "--data", text(&data)][..], &until].concat());
    let told = String::from_utf8_lossy(&deleted.stderr).into_owned();
    assert!(deleted.status.success(), "{told}");
    assert!(n_before >= 5, "{n_before}");
    eventually(|| (n_captures(&data) == 0).then_some(()));
    // A process that decodes them for the catalog may read chunks until then.
    let n_chunks = || {
        let chunks = std::fs::read_dir(data.join("chunks")).expect("a folder");
        chunks.count()
    };
    eventually(|| (n_chunks() == 0).then_some(()));
    assert_eq!(collector.terminate().0, Some(0));
}
