//! Sealing, deleting and backups on a disk that stops between any two operations: they come to the same in the end.
#![allow(missing_docs, reason = "a test")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use traceloom_formats::heph;
use traceloom_input::captures::{
    Capture, CaptureDisks, CaptureId, Captures, ContentHash, EVENTS, Event, Manifests,
};
use traceloom_log::disk::{Disk as _, DiskFault, Simulated, Survivors};
use traceloom_log::{Log, Options, Position, Record, Snapshot};
use traceloom_server::{Error, Request, SealLog, SealRules, Sealer};

struct WrittenLog(Log);

impl SealLog for WrittenLog {
    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    fn commit(&mut self, events: &[(CaptureId, Event)]) -> Result<(), Error> {
        for (id, event) in events {
            let (kind, bytes) = event.encode();
            store(&mut self.0, *id, EVENTS, kind, &bytes)?;
        }
        Ok(())
    }

    fn truncate(&mut self, position: Position) -> Result<(), Error> {
        let is_all = position == self.0.snapshot().end();
        let begun = if is_all {
            self.0.begin_segment()
        } else {
            Ok(())
        };
        let truncated = begun.and_then(|()| self.0.truncate(position));
        truncated.map_err(|error| Error::new(error.to_string()))
    }
}

fn store(log: &mut Log, id: CaptureId, stream: u32, kind: u8, bytes: &[u8]) -> Result<(), Error> {
    let record = Record {
        session: id.session(),
        stream,
        kind,
        bytes,
    };
    let stored = log.commit(&[record]).map(drop);
    stored.map_err(|error| Error::new(error.to_string()))
}

fn disks(disk: &Simulated) -> CaptureDisks {
    CaptureDisks {
        chunks: Arc::new(disk.folder("chunks")),
        manifests: Manifests::new(Arc::new(disk.folder("captures"))),
        lease: None,
    }
}

fn rules(level: i32) -> SealRules {
    SealRules {
        piece_bytes: 400_000,
        age: Duration::from_secs(3_600),
        log_bytes: 1 << 30,
        level,
        ..SealRules::default()
    }
}

/// Bytes of a capture that compress to something; those of capture 2 begin as those of capture 1.
fn sent(number: u64) -> Vec<u8> {
    let tail = (0..40_000_u64).flat_map(|n| (n.wrapping_mul(n) ^ number).to_le_bytes());
    let head = (0..64_u32 << 10).flat_map(u32::to_le_bytes);
    head.chain(tail).collect()
}

fn open(disk: &Simulated, level: i32) -> Result<(WrittenLog, Sealer), Error> {
    let options = Options {
        segment_bytes: 300_000,
        salt: 7,
        ..Options::default()
    };
    let opened = Log::open(Arc::new(disk.clone()), options);
    let (log, recovered) = opened.map_err(|error| Error::new(error.to_string()))?;
    let sealer = Sealer::new(disks(disk), None, rules(level), recovered.incarnation)?;
    Ok((WrittenLog(log), sealer))
}

/// A log with two Heph traces, of which the second goes on.
fn received(disk: &Simulated) -> (WrittenLog, Sealer) {
    let (mut log, sealer) = open(disk, 1).expect("a log");
    let ids = [CaptureId::new(1, 1), CaptureId::new(1, 2)];
    for id in ids {
        let event = Event::Opened {
            protocol: heph::PROTOCOL.captures.number,
            at_ns: 5,
            peer: "127.0.0.1:9".to_owned(),
        };
        log.commit(&[(id, event)]).expect("stored");
    }
    let (one, two) = (sent(1), sent(2));
    for (one, two) in one.chunks(30_000).zip(two.chunks(30_000)) {
        store(&mut log.0, ids[0], 0, 16, one).expect("stored");
        store(&mut log.0, ids[1], 0, 16, two).expect("stored");
    }
    let end = Event::Closed {
        at_ns: 6,
        orderly: true,
        reason: "end_of_stream".to_owned(),
    };
    log.commit(&[(ids[0], end)]).expect("stored");
    (log, sealer)
}

fn captures(disk: &Simulated) -> Captures {
    let (snapshot, recovered) = Snapshot::open(disk).expect("a log");
    Captures::of(&snapshot, recovered, false, &disks(disk)).expect("captures")
}

fn exported(captures: &Captures, capture: &Capture) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in &capture.parts {
        let copied = captures.copy(part, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        copied.expect("it can be read");
        assert_eq!(part.n_bytes, bytes.len() as u64);
    }
    bytes
}

/// What chunks there are, and what each capture exports as.
fn outcome(disk: &Simulated) -> (Vec<String>, BTreeMap<String, Vec<u8>>) {
    let mut chunks = disk.folder("chunks").list().expect("chunks");
    chunks.retain(|name| !name.ends_with(".new"));
    chunks.sort();
    let captures = captures(disk);
    let list = captures.list.iter();
    let exported = list.map(|capture| {
        assert_eq!(capture.doubts, [""; 0], "{}", capture.id);
        (capture.id.to_string(), exported(&captures, capture))
    });
    (chunks, exported.collect())
}

/// Plays a change of a disk to its end, then again with the machine stopping at each of its operations.
fn at_every_operation(
    before: impl Fn(&Simulated) -> (WrittenLog, Sealer),
    change: impl Fn(&mut Sealer, &mut WrittenLog) -> Result<(), Error>,
    check: impl Fn(&Simulated, &str),
) -> u64 {
    let whole = Simulated::default();
    let (mut log, mut sealer) = before(&whole);
    let start = whole.n_changes();
    change(&mut sealer, &mut log).expect("no fault");
    check(&whole, "without a fault");
    let end = whole.n_changes();
    for at in start..end {
        for survivors in [Survivors::None, Survivors::All, Survivors::Some(at)] {
            let disk = Simulated::default();
            let (mut log, mut sealer) = before(&disk);
            disk.fail_at(at, DiskFault::Crash);
            // It fails, unless it was a removal that need not succeed.
            let _ = change(&mut sealer, &mut log);
            disk.restart(survivors);
            let (mut log, mut sealer) = open(&disk, 5).expect("it opens");
            change(&mut sealer, &mut log).expect("it goes on");
            disk.restart(Survivors::None);
            check(&disk, &format!("operation {at}, {survivors:?}"));
        }
    }
    end - start
}

#[test]
fn sealing_again_comes_to_the_same_chunks_wherever_it_was_stopped() {
    let uninterrupted = {
        let disk = Simulated::default();
        let (mut log, mut sealer) = received(&disk);
        sealer.step(&mut log, 10, &[]).expect("sealed");
        outcome(&disk)
    };
    let (chunks, exports) = &uninterrupted;
    // Two chunks and a rest each, the first one shared.
    assert_eq!(chunks.len(), 5);
    assert_eq!(exports["1-1"], sent(1));
    assert_eq!(exports["1-2"], sent(2));
    let n_operations = at_every_operation(
        received,
        |sealer, log| sealer.step(log, 10, &[]),
        |disk, when| {
            assert!(outcome(disk) == uninterrupted, "{when}");
            let (snapshot, _) = Snapshot::open(disk).expect("a log");
            assert!(
                snapshot.start() > Position(20),
                "{when}: nothing is truncated"
            );
        },
    );
    assert!(n_operations > 50, "{n_operations} operations show nothing");
}

fn sealed(disk: &Simulated) -> (WrittenLog, Sealer) {
    let (mut log, mut sealer) = received(disk);
    sealer.step(&mut log, 10, &[]).expect("sealed");
    (log, sealer)
}

#[test]
fn deleting_leaves_no_chunk_of_its_own_wherever_it_was_stopped() {
    let id = CaptureId::new(1, 1);
    let shared = ContentHash::of(&sent(1)[..256 << 10]).to_string();
    let n_operations = at_every_operation(
        sealed,
        |sealer, log| {
            sealer.step(log, 20, &[Request::Delete(id)])?;
            // Nothing brings it back, neither the log nor a manifest.
            assert!(!sealer.is_behind());
            Ok(())
        },
        |disk, when| {
            let (chunks, exports) = outcome(disk);
            assert_eq!(chunks.len(), 3, "{when}");
            assert!(
                chunks.iter().any(|name| name.starts_with(&shared)),
                "{when}"
            );
            assert_eq!(exports.keys().collect::<Vec<_>>(), ["1-2"], "{when}");
            assert!(exports["1-2"] == sent(2), "{when}");
        },
    );
    assert!(n_operations > 5, "{n_operations} operations show nothing");
}

#[test]
fn what_is_being_sent_is_not_deleted_and_pins_hold_against_retention() {
    let disk = Simulated::default();
    let (mut log, mut sealer) = sealed(&disk);
    let ids = [CaptureId::new(1, 1), CaptureId::new(1, 2)];
    sealer
        .step(&mut log, 20, &[Request::Delete(ids[1])])
        .expect("a step");
    assert_eq!(
        sealer.take_events(),
        ["capture 1-2 is being sent, and is not deleted"]
    );
    assert_eq!(captures(&disk).list.len(), 2);
    sealer
        .step(&mut log, 30, &[Request::Pin(ids[0])])
        .expect("a step");
    let pinned: Vec<_> = captures(&disk).list.iter().map(|one| one.pinned).collect();
    assert_eq!(pinned, [true, false]);
    drop((log, sealer));

    // The next start: both ended, and retention would take them.
    let keep = |level| SealRules {
        keep: Some(Duration::from_nanos(100)),
        ..rules(level)
    };
    let (mut log, _) = open(&disk, 1).expect("a log");
    let mut sealer = Sealer::new(disks(&disk), None, keep(1), 2).expect("captures");
    sealer.step(&mut log, 50, &[]).expect("a step");
    assert_eq!(captures(&disk).list.len(), 2);
    sealer.step(&mut log, 20_000_000_000, &[]).expect("a step");
    let left: Vec<_> = captures(&disk).list.iter().map(|one| one.id).collect();
    assert_eq!(left, [ids[0]]);
    sealer
        .step(&mut log, 20_000_000_001, &[Request::Unpin(ids[0])])
        .expect("a step");
    sealer.step(&mut log, 40_000_000_000, &[]).expect("a step");
    assert_eq!(outcome(&disk), (Vec::new(), BTreeMap::new()));
}

/// A clock that is set back by ten years does not put sealing off until it is where it was.
#[test]
fn a_clock_that_was_set_back_does_not_put_sealing_off() {
    let disk = Simulated::default();
    let (mut log, mut sealer) = received(&disk);
    let ten_years = 315_576_000_000_000_000;
    let goes_on = CaptureId::new(1, 2);
    store(&mut log.0, goes_on, 0, 16, b"before").expect("stored");
    sealer.step(&mut log, ten_years, &[]).expect("sealed");
    let unsealed = b"a little";
    store(&mut log.0, goes_on, 0, 16, unsealed).expect("stored");
    sealer
        .step(&mut log, ten_years + 1, &[])
        .expect("nothing due");
    assert_eq!(sealer.n_unsealed(), unsealed.len() as u64);
    sealer.step(&mut log, 1, &[]).expect("sealed");
    assert_eq!(sealer.n_unsealed(), 0);
    // One step is one decision: what comes after it is as old as the clock says.
    store(&mut log.0, goes_on, 0, 16, unsealed).expect("stored");
    sealer.step(&mut log, 2, &[]).expect("nothing due");
    assert_eq!(sealer.n_unsealed(), unsealed.len() as u64);
}

#[test]
fn the_oldest_go_when_all_take_too_much() {
    let disk = Simulated::default();
    drop(sealed(&disk));
    let (mut log, _) = open(&disk, 1).expect("a log");
    let stored = |captures: &Captures| -> u64 {
        let parts = captures.list.iter().flat_map(|one| &one.parts);
        parts.map(|part| part.n_stored).sum()
    };
    let rules = SealRules {
        keep_bytes: Some(stored(&captures(&disk)) - 1),
        ..rules(1)
    };
    let mut sealer = Sealer::new(disks(&disk), None, rules, 2).expect("captures");
    sealer.step(&mut log, 50, &[]).expect("a step");
    let left: Vec<_> = captures(&disk).list.iter().map(|one| one.id).collect();
    assert_eq!(left, [CaptureId::new(1, 2)]);
}

#[test]
fn a_changed_byte_of_a_chunk_or_manifest_is_told() {
    let disk = Simulated::default();
    drop(sealed(&disk));
    let chunks = disk.folder("chunks");
    let name = chunks.list().expect("chunks").remove(0);
    let length = chunks
        .open(&name)
        .and_then(|file| file.length())
        .expect("a chunk");
    for offset in [0, length as usize / 2, length as usize - 1] {
        chunks.flip(&name, offset, 4);
        let captures = captures(&disk);
        let failures = captures.list.iter().flat_map(|one| &one.parts);
        let failures = failures.filter_map(|part| captures.copy(part, &mut |_| Ok(())).err());
        let failures: Vec<String> = failures.map(|error| error.to_string()).collect();
        assert!(!failures.is_empty(), "byte {offset}");
        assert!(failures[0].contains("is damaged"), "{failures:?}");
        chunks.flip(&name, offset, 4);
    }
    let manifests = disk.folder("captures");
    let length = manifests
        .open("1-1.1")
        .and_then(|file| file.length())
        .expect("a manifest");
    for offset in 0..length as usize {
        manifests.flip("1-1.1", offset, 1);
        let captures = captures(&disk);
        assert_eq!(captures.list.len(), 2, "byte {offset} hides a capture");
        let doubts = &captures.list[0].doubts;
        assert!(
            doubts[0].contains("manifest 1-1.1 is damaged"),
            "{doubts:?}"
        );
        manifests.flip("1-1.1", offset, 1);
    }
}

#[test]
fn a_manifest_that_is_missing_stops_a_start_while_the_log_says_it() {
    let disk = Simulated::default();
    let (mut log, mut sealer) = received(&disk);
    // Stopped before the log is truncated: the record that says `sealed` is there.
    let decided = Event::Seal {
        at_ns: 10,
        why: traceloom_input::captures::SealReason::End,
    };
    log.commit(&[(CaptureId::new(1, 1), decided)])
        .expect("stored");
    sealer.step(&mut log, 10, &[]).expect("sealed");
    let said = Event::Sealed {
        revision: 2,
        manifest: ContentHash::of(b""),
    };
    log.commit(&[(CaptureId::new(1, 1), said)]).expect("stored");
    let (mut log, mut sealer) = open(&disk, 1).expect("a log");
    let error = sealer
        .step(&mut log, 20, &[])
        .expect_err("a missing manifest");
    assert_eq!(
        error.to_string(),
        "capture 1-1 was sealed, and its manifest, revision 2, is missing"
    );
}
