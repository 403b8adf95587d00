//! What a collector holds of its captures is what reading its folder says, whatever was received, sealed, decoded, pinned and deleted.
#![allow(missing_docs, reason = "a test")]

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use traceloom_formats::heph;
use traceloom_input::captures::{
    CaptureFacts, CaptureId, CaptureSummary, Captures, DataFolder, EVENTS, Event, FactsCatalog,
    FactsRow, HeldCaptures,
};
use traceloom_log::disk::Local;
use traceloom_log::{Log, Options, Position, Record, Snapshot};
use traceloom_server::{Error, Request, SealLog, SealRules, Sealer};

struct WrittenLog(Log);

impl WrittenLog {
    fn store(&mut self, id: CaptureId, stream: u32, kind: u8, bytes: &[u8]) {
        let record = Record {
            session: id.session(),
            stream,
            kind,
            bytes,
        };
        let _ = self.0.commit(&[record]).expect("stored");
    }
}

impl SealLog for WrittenLog {
    fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    fn commit(&mut self, events: &[(CaptureId, Event)]) -> Result<(), Error> {
        for (id, event) in events {
            let (kind, bytes) = event.encode();
            self.store(*id, EVENTS, kind, &bytes);
        }
        Ok(())
    }

    fn truncate(&mut self, position: Position) -> Result<(), Error> {
        if position == self.0.snapshot().end() {
            self.0.begin_segment().expect("a segment");
        }
        self.0.truncate(position).expect("truncated");
        Ok(())
    }
}

/// Numbers of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).expect("small")
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }
}

fn rules() -> SealRules {
    SealRules {
        piece_bytes: 3_000,
        age: Duration::from_nanos(40),
        log_bytes: 20_000,
        ..SealRules::default()
    }
}

/// What reading the folder says.
fn read(folder: &DataFolder) -> String {
    let captures = Captures::read(folder).expect("captures").list;
    let summaries = captures.iter().map(CaptureSummary::from);
    format!("{:#?}", summaries.collect::<Vec<_>>())
}

fn held(held: &mut HeldCaptures, log: &WrittenLog) -> String {
    let summaries = held.refresh(&log.snapshot()).expect("captures");
    format!(
        "{:#?}",
        summaries.iter().map(AsRef::as_ref).collect::<Vec<_>>()
    )
}

/// Adds the facts of a capture as a process that decoded it does.
fn decoded(folder: &DataFolder, id: CaptureId, n_calls: u64) {
    let captures = Captures::read(folder).expect("captures").list;
    let capture = captures.iter().find(|capture| capture.id == id);
    let Some((capture, manifest)) = capture.and_then(|one| Some((one, one.manifest?))) else {
        return;
    };
    let row = FactsRow {
        id,
        revision: capture.revision,
        manifest,
        facts: Some(CaptureFacts {
            n_calls,
            ..CaptureFacts::default()
        }),
    };
    FactsCatalog::of(folder).add(&[row]).expect("written");
}

fn run(seed: u64) {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = DataFolder::create(&scratch.path().join("data")).expect("a data folder");
    let _lock = folder.lock().expect("a lock");
    let mut random = Random(seed);
    let mut now_ns = 100;
    let mut compared = 0;
    for _ in 0..3 {
        let disk = Local::new(&folder.log()).expect("a log");
        let options = Options {
            segment_bytes: 2_500,
            ..Options::default()
        };
        let (log, recovered) = Log::open(Arc::new(disk), options).expect("a log");
        let mut log = WrittenLog(log);
        let incarnation = recovered.incarnation;
        let disks = folder.disks().expect("folders");
        let mut sealer =
            Sealer::new(disks, Some(folder.clone()), rules(), incarnation).expect("a sealer");
        let mut known = HeldCaptures::new(&folder, Some(incarnation)).expect("captures");
        let (mut open, mut ended) = (Vec::new(), Vec::new());
        let mut number = 0;
        for _ in 0..120 {
            now_ns += 7;
            match random.below(12) {
                0 | 1 => {
                    number += 1;
                    let id = CaptureId::new(incarnation, number);
                    let event = Event::Opened {
                        protocol: heph::PROTOCOL.captures.number,
                        at_ns: now_ns,
                        peer: "127.0.0.1:9".to_owned(),
                    };
                    log.commit(&[(id, event)]).expect("stored");
                    open.push(id);
                }
                2..=5 => {
                    let bytes = vec![b'x'; random.below(900)];
                    if let Some(id) = random.one(&open) {
                        log.store(id, 0, 16, &bytes);
                    }
                }
                6 if !open.is_empty() => {
                    let id = open.swap_remove(random.below(open.len()));
                    let event = Event::Closed {
                        at_ns: now_ns,
                        orderly: true,
                        reason: "end_of_stream".to_owned(),
                    };
                    log.commit(&[(id, event)]).expect("stored");
                    ended.push(id);
                }
                7 => {
                    if let Some(id) = random.one(&ended) {
                        decoded(&folder, id, seed);
                    }
                }
                // What is damaged or written again does not count twice.
                8 => FactsCatalog::of(&folder).tidy(|_| true).expect("tidy"),
                what => {
                    let request = match (what, random.one(&ended)) {
                        (9, Some(id)) => vec![Request::Pin(id)],
                        (10, Some(id)) => vec![Request::Delete(id)],
                        _ => Vec::new(),
                    };
                    sealer.step(&mut log, now_ns, &request).expect("sealed");
                }
            }
            if random.below(3) == 0 {
                assert_eq!(held(&mut known, &log), read(&folder), "seed {seed}");
                compared += 1;
            }
        }
        assert_eq!(held(&mut known, &log), read(&folder), "seed {seed}");
        drop(sealer);
        drop(log);
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn what_is_held_is_what_the_folder_says() {
    for seed in 1..=5 {
        run(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
    }
}

/// A file of facts that another process wrote anew, with as many lines, is read from its beginning.
#[test]
fn facts_that_were_written_again_are_read_again() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = DataFolder::create(&scratch.path().join("data")).expect("a data folder");
    let _lock = folder.lock().expect("a lock");
    let disk = Local::new(&folder.log()).expect("a log");
    let (log, recovered) = Log::open(Arc::new(disk), Options::default()).expect("a log");
    let mut log = WrittenLog(log);
    let incarnation = recovered.incarnation;
    let disks = folder.disks().expect("folders");
    let mut sealer =
        Sealer::new(disks, Some(folder.clone()), rules(), incarnation).expect("a sealer");
    let ids = [1, 2].map(|number| CaptureId::new(incarnation, number));
    for id in ids {
        let opened = Event::Opened {
            protocol: heph::PROTOCOL.captures.number,
            at_ns: 5,
            peer: String::new(),
        };
        let closed = Event::Closed {
            at_ns: 6,
            orderly: true,
            reason: "end_of_stream".to_owned(),
        };
        log.commit(&[(id, opened), (id, closed)]).expect("stored");
    }
    sealer.step(&mut log, 10, &[]).expect("sealed");
    let mut known = HeldCaptures::new(&folder, Some(incarnation)).expect("captures");
    for n_calls in [11, 12] {
        // The same number of bytes, other lines.
        let _ = fs::remove_file(folder.path().join("catalog"));
        for id in ids {
            decoded(&folder, id, n_calls);
        }
        let held = held(&mut known, &log);
        assert_eq!(held, read(&folder));
        assert_eq!(held.matches(&format!("n_calls: {n_calls}")).count(), 2);
    }
}
