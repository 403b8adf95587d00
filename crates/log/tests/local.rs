//! The log and its queue on a real file system.

#![allow(missing_docs, reason = "tests")]

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use traceloom_log::disk::{Disk, File, Local};
use traceloom_log::{ErrorKind, Log, Options, Queue, Record, Refused};

fn open(folder: &Path, options: Options) -> Log {
    let disk = Arc::new(Local::new(folder).unwrap());
    Log::open(disk, options).unwrap().0
}

fn records(log: &Log) -> Vec<(u64, Vec<u8>)> {
    let mut records = Vec::new();
    let mut reader = log.snapshot().reader();
    while let Some(group) = reader.next_group().unwrap() {
        records.extend(
            group
                .records()
                .map(|record| (record.session, record.bytes.to_vec())),
        );
    }
    records
}

#[test]
fn eight_threads_submit_and_every_record_is_there_once_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 100_000,
        group_bytes: 5_000,
        ..Options::default()
    };
    let groups = Arc::new(AtomicUsize::new(0));
    let counted = groups.clone();
    let progress = Box::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let queue = Queue::start(open(folder.path(), options.clone()), progress).unwrap();
    std::thread::scope(|scope| {
        for session in 0..8_u64 {
            let queue = &queue;
            scope.spawn(move || {
                for n in 0..500_u64 {
                    let bytes = n.to_le_bytes().repeat(1 + n as usize % 40);
                    let record = Record {
                        session,
                        stream: 0,
                        kind: 1,
                        bytes: &bytes,
                    };
                    let position = loop {
                        match queue.submit(&record) {
                            Ok(position) => break position,
                            Err(refused) => assert_eq!(refused, Refused::Full),
                        }
                        std::thread::yield_now();
                    };
                    if n % 10 == 0 {
                        queue.wait(position).unwrap();
                        assert!(queue.durable() > position);
                    }
                }
            });
        }
    });
    let closed = queue.close().unwrap();
    assert!(groups.load(Ordering::Relaxed) > 100);
    drop(closed);
    let log = open(folder.path(), options);
    let records = records(&log);
    assert_eq!(records.len(), 4_000);
    for session in 0..8 {
        let of_session = records.iter().filter(|(of, _)| *of == session);
        let numbers =
            of_session.map(|(_, bytes)| u64::from_le_bytes(bytes[..8].try_into().unwrap()));
        assert!(numbers.eq(0..500));
    }
}

#[test]
fn records_submitted_together_are_one_group_whatever_their_size() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        group_bytes: 1_000,
        ..Options::default()
    };
    let queue = Queue::start(open(folder.path(), options.clone()), Box::new(|| {})).unwrap();
    let piece = [7; 900];
    let of = |session| Record {
        session,
        stream: 0,
        kind: 1,
        bytes: &piece,
    };
    for session in 0..20 {
        let three = [of(session), of(session), of(session)];
        let position = loop {
            match queue.submit_together(&three) {
                Ok(position) => break position,
                Err(refused) => assert_eq!(refused, Refused::Full),
            }
        };
        assert_eq!(position.0, session * 3 + 2);
    }
    let log = queue.close().unwrap();
    let mut reader = log.snapshot().reader();
    let mut groups: Vec<Vec<u64>> = Vec::new();
    while let Some(group) = reader.next_group().unwrap() {
        groups.push(group.records().map(|record| record.session).collect());
    }
    let expected: Vec<Vec<u64>> = (0..20).map(|session| vec![session; 3]).collect();
    assert_eq!(groups, expected);
}

#[test]
fn segments_of_a_newer_version_are_refused_and_left() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), Options::default()));
    let path = folder.path().join(format!("{:020}.seg", 1));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 200;
    std::fs::write(&path, &bytes).unwrap();
    let disk = Arc::new(Local::new(folder.path()).unwrap());
    let error = Log::open(disk, Options::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownVersion);
    assert_eq!(
        error.to_string(),
        "format version 200 is newer than this program reads (segment 1)"
    );
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let mut log = open(folder.path(), Options::default());
    let record = Record {
        session: 0,
        stream: 0,
        kind: 0,
        bytes: b"x",
    };
    log.commit(&[record]).unwrap();
    drop(log);
    let log = open(folder.path(), Options::default());
    assert_eq!(records(&log), [(0, b"x".to_vec())]);
    assert!(folder.path().join("notes.txt").exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

const UNIT: Record<'_> = Record {
    session: 0,
    stream: 0,
    kind: 0,
    bytes: b"unit",
};

/// A folder that removes nothing until it is told to.
struct Stuck {
    disk: Local,
    removing: mpsc::Sender<String>,
    released: Mutex<mpsc::Receiver<()>>,
}

impl Disk for Stuck {
    fn list(&self) -> std::io::Result<Vec<String>> {
        self.disk.list()
    }
    fn create(&self, name: &str) -> std::io::Result<Arc<dyn File>> {
        self.disk.create(name)
    }
    fn open(&self, name: &str) -> std::io::Result<Arc<dyn File>> {
        self.disk.open(name)
    }
    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.removing.send(name.to_owned()).unwrap();
        self.released.lock().unwrap().recv().unwrap();
        self.disk.remove(name)
    }
    fn sync_folder(&self) -> std::io::Result<()> {
        self.disk.sync_folder()
    }
}

#[test]
fn a_group_waits_for_no_segment_to_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (removing, removed) = mpsc::channel();
    let (release, released) = mpsc::channel();
    let disk = Stuck {
        disk: Local::new(folder.path()).unwrap(),
        removing,
        released: Mutex::new(released),
    };
    let (log, _) = Log::open(Arc::new(disk), Options::default()).unwrap();
    let queue = Queue::start(log, Box::new(|| {})).unwrap();
    let commit = || queue.wait(queue.submit(&UNIT).unwrap()).unwrap();
    commit();
    std::thread::scope(|scope| {
        let (queue, end) = (&queue, queue.durable());
        let truncating = scope.spawn(move || queue.truncate(end).unwrap());
        assert_eq!(removed.recv().unwrap(), format!("{:020}.seg", 1));
        commit();
        assert!(!truncating.is_finished());
        release.send(()).unwrap();
        truncating.join().unwrap();
        assert_eq!(queue.snapshot().start(), end);
    });
    // Of two segments, the one that is being written stays.
    let snapshot = queue.snapshot();
    let numbers = snapshot.segments().map(|segment| segment.number);
    assert_eq!(numbers.collect::<Vec<_>>(), [2]);
    assert_eq!(records(&queue.close().unwrap()).len(), 1);
}

/// A folder whose files cannot be synced after some time.
struct Failing {
    disk: Local,
    syncs_left: Arc<AtomicUsize>,
}

struct FailingFile(Arc<dyn File>, Arc<AtomicUsize>);

impl Disk for Failing {
    fn list(&self) -> std::io::Result<Vec<String>> {
        self.disk.list()
    }
    fn create(&self, name: &str) -> std::io::Result<Arc<dyn File>> {
        let file = self.disk.create(name)?;
        Ok(Arc::new(FailingFile(file, self.syncs_left.clone())))
    }
    fn open(&self, name: &str) -> std::io::Result<Arc<dyn File>> {
        self.disk.open(name)
    }
    fn rename(&self, from: &str, to: &str) -> std::io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> std::io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_folder(&self) -> std::io::Result<()> {
        self.disk.sync_folder()
    }
}

impl File for FailingFile {
    fn append(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.append(bytes)
    }
    fn sync(&self) -> std::io::Result<()> {
        if self.1.fetch_sub(1, Ordering::Relaxed) == 0 {
            return Err(std::io::Error::other("no more"));
        }
        self.0.sync()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
    fn length(&self) -> std::io::Result<u64> {
        self.0.length()
    }
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_and_everybody_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Failing {
        disk: Local::new(folder.path()).unwrap(),
        syncs_left: Arc::new(AtomicUsize::new(2)),
    };
    let (log, _) = Log::open(Arc::new(disk), Options::default()).unwrap();
    let queue = Queue::start(log, Box::new(|| {})).unwrap();
    let first = queue.submit(&UNIT).unwrap();
    queue.wait(first).unwrap();
    let second = queue.submit(&UNIT).unwrap();
    assert_eq!(queue.wait(second), Err(Refused::Ended));
    assert_eq!(queue.submit(&UNIT), Err(Refused::Ended));
    assert_eq!(queue.durable(), second);
    let failure = queue.close().unwrap_err();
    assert_eq!(failure.to_string(), "cannot sync (segment 1): no more");
}
