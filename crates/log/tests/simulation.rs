//! The log on a disk that crashes between any two operations: what was acknowledged is there once, in order.

#![allow(missing_docs, reason = "tests")]

use std::collections::VecDeque;
use std::sync::Arc;

use traceloom_log::disk::{Disk, DiskFault, Simulated, Survivors};
use traceloom_log::{ErrorKind, Log, Options, Position, Record, Snapshot};

/// A small generator (xorshift), so that a seed replays.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// What must be in the log.
#[derive(Default)]
struct Model {
    /// Position of the first record of `acknowledged`.
    start: u64,
    acknowledged: VecDeque<Vec<u8>>,
    /// Records of the commit that failed last: the log may hold them.
    uncertain: Vec<Vec<u8>>,
    /// Records before this position may have been deleted.
    truncated: u64,
}

impl Model {
    fn end(&self) -> u64 {
        self.start + self.acknowledged.len() as u64
    }

    /// Holds what the log has against what it must have; from then on it must have all of that.
    fn compare(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let (start, end) = (snapshot.start().0, snapshot.end().0);
        if start > self.truncated.max(self.start) {
            return Err(format!(
                "starts at {start}, truncated below {}",
                self.truncated
            ));
        }
        if start < self.start {
            return Err(format!(
                "record {start} came back after it was deleted for good"
            ));
        }
        let mut found = VecDeque::new();
        let mut reader = snapshot.reader();
        while let Some(group) = reader.next_group().map_err(|error| error.to_string())? {
            if group.start.0 != start + found.len() as u64 {
                return Err(format!("a group starts at {}", group.start));
            }
            for record in group.records() {
                if record.session != checksum(record.bytes) || record.kind != 3 {
                    return Err("a record changed".to_owned());
                }
                found.push_back(record.bytes.to_vec());
            }
        }
        if end != start + found.len() as u64 {
            return Err(format!(
                "ends at {end} with {} records from {start}",
                found.len()
            ));
        }
        if end < self.end() {
            return Err(format!(
                "{} acknowledged records are missing",
                self.end() - end
            ));
        }
        let expected = self.acknowledged.iter().skip((start - self.start) as usize);
        let expected = expected.chain(&self.uncertain);
        if !found.iter().eq(expected.take(found.len()))
            || end > self.end() + self.uncertain.len() as u64
        {
            return Err("the log holds other records than were committed".to_owned());
        }
        self.start = start;
        self.acknowledged = found;
        self.uncertain.clear();
        Ok(())
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(7, |sum, &byte| sum * 31 % 1_000_003 + u64::from(byte))
}

/// Runs the log through crashes and failures.
fn simulate(seed: u64, lie: bool) -> Result<(), String> {
    let mut random = Random::new(seed);
    let disk = Simulated::default();
    if lie {
        disk.lie();
    }
    let mut model = Model::default();
    for _ in 0..2 + random.below(6) {
        let fault = [DiskFault::Crash, DiskFault::Error][random.below(2) as usize];
        // Openings are short: many faults must come early to fall into them.
        let within = [6, 20, 60][random.below(3) as usize];
        disk.fail_at(disk.n_changes() + random.below(within), fault);
        let options = Options {
            segment_bytes: 150 + random.below(1_000),
            salt: seed,
            ..Options::default()
        };
        match Log::open(Arc::new(disk.clone()), options) {
            Ok((log, _)) => {
                model.compare(&log.snapshot()).or_else(|error| {
                    // The machine may stop while the log is read.
                    if error.contains("the machine stopped") {
                        Ok(())
                    } else {
                        Err(error)
                    }
                })?;
                work(log, &mut model, &mut random)?;
            }
            Err(error) if error.kind() == ErrorKind::Io => {}
            Err(error) => return Err(format!("cannot be opened: {error}")),
        }
        disk.restart(match random.below(3) {
            0 => Survivors::None,
            1 => Survivors::All,
            _ => Survivors::Some(seed + random.below(1 << 32)),
        });
    }
    disk.restart(Survivors::None);
    let (log, _) =
        Log::open(Arc::new(disk), Options::default()).map_err(|error| error.to_string())?;
    model.compare(&log.snapshot())
}

/// Commits and truncates until something fails.
fn work(mut log: Log, model: &mut Model, random: &mut Random) -> Result<(), String> {
    for _ in 0..random.below(40) {
        let group: Vec<Vec<u8>> = (0..1 + random.below(4))
            .map(|_| {
                (0..random.below(90))
                    .map(|_| random.below(256) as u8)
                    .collect()
            })
            .collect();
        let records: Vec<Record<'_>> = group
            .iter()
            .map(|bytes| Record {
                session: checksum(bytes),
                stream: 1,
                kind: 3,
                bytes,
            })
            .collect();
        match log.commit(&records) {
            Ok(Position(start)) if start == model.end() => model.acknowledged.extend(group),
            Ok(start) => return Err(format!("committed at {start} in place of {}", model.end())),
            Err(error) if error.kind() == ErrorKind::Io => {
                let again = log.commit(&records).map_err(|error| error.kind());
                model.uncertain = group;
                return match again {
                    Err(ErrorKind::Poisoned) => Ok(()),
                    _ => Err("a commit after a failed one was accepted".to_owned()),
                };
            }
            Err(error) => return Err(error.to_string()),
        }
        if random.below(8) == 0 {
            let position = model.start + random.below(model.acknowledged.len() as u64 + 1);
            model.truncated = model.truncated.max(position);
            // A file that cannot be removed is removed later.
            let _ = log.truncate(Position(position));
        }
    }
    Ok(())
}

#[test]
fn acknowledged_records_outlast_crashes() {
    let seeds = std::env::var("TRACELOOM_SEEDS").map_or(10_000, |seeds| seeds.parse().unwrap());
    for seed in 0..seeds {
        if let Err(error) = simulate(seed, false) {
            panic!("seed {seed}: {error}");
        }
    }
}

#[test]
fn a_sync_that_does_nothing_is_noticed() {
    assert!((0..200).any(|seed| simulate(seed, true).is_err()));
}

fn options(salt: u64) -> Options {
    Options {
        segment_bytes: 400,
        salt,
        ..Options::default()
    }
}

/// A log of several segments with its records.
fn written() -> (Simulated, Vec<Vec<u8>>) {
    let disk = Simulated::default();
    let (mut log, _) = Log::open(Arc::new(disk.clone()), options(5)).unwrap();
    let mut records = Vec::new();
    for n in 0..24_u8 {
        let bytes = vec![n; 20 + usize::from(n)];
        let record = Record {
            session: 1,
            stream: 2,
            kind: 3,
            bytes: &bytes,
        };
        log.commit(&[record, record]).unwrap();
        records.extend([bytes.clone(), bytes]);
    }
    assert!(log.snapshot().segments().count() > 4);
    (disk, records)
}

fn read(snapshot: &Snapshot) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    let mut reader = snapshot.reader();
    while let Some(group) = reader.next_group().unwrap() {
        records.extend(group.records().map(|record| record.bytes.to_vec()));
    }
    records
}

fn contents(disk: &Simulated) -> Vec<(String, Vec<u8>)> {
    let mut names = disk.list().unwrap();
    names.sort();
    let with_bytes = names.into_iter().map(|name| {
        let file = disk.open(&name).unwrap();
        let mut bytes = vec![0; file.length().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        (name, bytes)
    });
    with_bytes.collect()
}

#[test]
fn a_flipped_byte_is_a_torn_tail_in_the_last_group_and_corruption_elsewhere() {
    let (disk, records) = written();
    let files = contents(&disk);
    let (last, last_bytes) = files.last().unwrap();
    let snapshot = Snapshot::open(&disk).unwrap().0;
    let mut reader = snapshot.reader();
    let mut last_group = 0;
    while let Some(group) = reader.next_group().unwrap() {
        last_group = group.offset as usize;
    }
    for (name, bytes) in &files {
        for offset in 0..bytes.len() {
            for bits in [0x01, 0x80, 0xff] {
                disk.flip(name, offset, bits);
                let before = contents(&disk);
                let opened = Snapshot::open(&disk);
                if name == last && offset >= last_group {
                    let (snapshot, recovered) = opened.unwrap();
                    let torn = recovered.torn.unwrap();
                    assert_eq!(torn.offset as usize, last_group);
                    assert_eq!(torn.bytes as usize, last_bytes.len() - last_group);
                    assert_eq!(read(&snapshot), records[..records.len() - 2]);
                } else {
                    let kind = opened.unwrap_err().kind();
                    let version = (8..12).contains(&offset);
                    assert!(
                        kind == ErrorKind::Corrupt || version && kind == ErrorKind::UnknownVersion,
                        "{name} at {offset:#x}: {kind:?}"
                    );
                    let refused = Log::open(Arc::new(disk.clone()), options(6));
                    assert_eq!(refused.unwrap_err().kind(), kind);
                    assert_eq!(contents(&disk), before, "a refused log is left as it is");
                }
                disk.flip(name, offset, bits);
            }
        }
    }
}

#[test]
fn a_missing_segment_is_corruption() {
    let (disk, _) = written();
    let mut names = disk.list().unwrap();
    names.sort();
    disk.remove(&names[2]).unwrap();
    let error = Snapshot::open(&disk).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("is missing"), "{error}");
}

#[test]
fn what_a_failed_sync_lost_is_durable_after_the_next_opening() {
    let disk = Simulated::default();
    let (mut log, _) = Log::open(Arc::new(disk.clone()), options(1)).unwrap();
    let record = |bytes| Record {
        session: 1,
        stream: 1,
        kind: 0,
        bytes,
    };
    log.commit(&[record(b"safe")]).unwrap();
    disk.fail_at(disk.n_changes() + 1, DiskFault::Error);
    assert_eq!(
        log.commit(&[record(b"lost")]).unwrap_err().kind(),
        ErrorKind::Io
    );
    drop(log);
    // The process starts again on the same machine, whose page cache still shows the record.
    disk.restart(Survivors::All);
    let (log, recovered) = Log::open(Arc::new(disk.clone()), options(2)).unwrap();
    assert_eq!((recovered.end, recovered.incarnation), (Position(2), 2));
    drop(log);
    disk.restart(Survivors::None);
    let (snapshot, recovered) = Snapshot::open(&disk).unwrap();
    assert_eq!(recovered.torn, None);
    assert_eq!(read(&snapshot), [b"safe", b"lost"]);
}

#[test]
fn a_snapshot_stays_readable_when_its_segments_are_deleted() {
    let (disk, records) = written();
    let (mut log, _) = Log::open(Arc::new(disk.clone()), options(7)).unwrap();
    let snapshot = log.snapshot();
    log.truncate(Position(40)).unwrap();
    assert!(log.snapshot().start() > Position(30));
    assert_eq!(read(&snapshot), records);
    let from = log
        .snapshot()
        .reader_from(Position(45))
        .next_group()
        .unwrap()
        .map(|group| group.start);
    assert_eq!(from, Some(Position(44)));
}

#[test]
fn a_record_that_looks_like_a_group_is_none() {
    // The record holds a whole group of the same log, of another segment.
    let (disk, _) = written();
    let group = contents(&disk)[1].1[80..].to_vec();
    let folder = Simulated::default();
    let (mut log, _) = Log::open(Arc::new(folder.clone()), Options::default()).unwrap();
    let record = Record {
        session: 1,
        stream: 1,
        kind: 0,
        bytes: &group,
    };
    log.commit(&[record]).unwrap();
    // The group around it is damaged: what it holds must not pass for a group behind the damage.
    let name = folder.list().unwrap().pop().unwrap();
    folder.flip(&name, 81, 0xff);
    let (_, recovered) = Snapshot::open(&folder).unwrap();
    assert_eq!(recovered.torn.unwrap().offset, 80);
}
