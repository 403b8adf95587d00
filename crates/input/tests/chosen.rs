//! Opening one capture of many: what is read does not grow with the others, nor with the log before.
#![cfg(target_os = "linux")]
#![allow(missing_docs, reason = "a test")]

use std::fs;
use std::sync::Arc;

use traceloom_formats::protocol::Identity;
use traceloom_input::captures::{
    CaptureId, Captures, ContentHash, DataFolder, EVENTS, Event, Manifest, SessionEnd, State,
};
use traceloom_input::{Input, OpenOptions};
use traceloom_log::disk::Local;
use traceloom_log::{Log, Options, Position, Record};

const N_CAPTURES: u64 = 10_000;
/// Bytes of a record that belongs to another capture.
const FILLER: usize = 64 << 10;

/// Returns the bytes that this thread has read from files so far.
fn n_read() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/io").expect("counts");
    let mut lines = counts.lines();
    let line = lines.find_map(|line| line.strip_prefix("rchar: "));
    line.and_then(|count| count.parse().ok()).expect("a count")
}

fn manifest(id: CaptureId, end: Position) -> Manifest {
    Manifest {
        id,
        revision: 1,
        base: 0,
        end,
        sealed_ns: 1,
        pinned: false,
        protocol: 2,
        opened_ns: 1,
        peer: "127.0.0.1:5".to_owned(),
        identity: Identity::default(),
        closed: Some(SessionEnd {
            at_ns: 2,
            orderly: true,
            reason: "goodbye".to_owned(),
        }),
        doubts: Vec::new(),
        parts: Vec::new(),
        context: Vec::new(),
        incarnation: 1,
    }
}

#[test]
fn one_capture_of_ten_thousand_is_opened_without_reading_the_others() {
    let scratch = tempfile::tempdir().expect("a folder");
    let folder = DataFolder::create(&scratch.path().join("data")).expect("a folder");
    // A log of several segments: records of one session, with the tombstone of capture 3 at its end.
    let disk = Arc::new(Local::new(&folder.log()).expect("a folder"));
    let options = Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let (mut log, _) = Log::open(disk, options).expect("a log");
    let filler = vec![7; FILLER];
    let (kind, opened) = Event::Opened {
        protocol: 2,
        at_ns: 1,
        peer: "127.0.0.1:9".to_owned(),
    }
    .encode();
    let other = CaptureId::new(1, N_CAPTURES + 1);
    let event = |kind, bytes| Record {
        session: other.session(),
        stream: EVENTS,
        kind,
        bytes,
    };
    log.commit(&[event(kind, &opened)]).expect("a commit");
    for _ in 0..100 {
        let record = Record {
            session: other.session(),
            stream: 1,
            kind: 1,
            bytes: &filler,
        };
        log.commit(&[record]).expect("a commit");
    }
    let end = log.snapshot().end();
    let (kind, bytes) = Event::Deleted {
        at_ns: 3,
        asked: true,
    }
    .encode();
    let deleted = Record {
        session: CaptureId::new(1, 3).session(),
        ..event(kind, &bytes)
    };
    log.commit(&[deleted]).expect("a commit");
    drop(log);
    for number in 1..=N_CAPTURES {
        let id = CaptureId::new(1, number);
        let bytes = manifest(id, end).encode();
        let name = Manifest::file_name(id, 1);
        fs::write(folder.path().join("captures").join(name), bytes).expect("a manifest");
    }
    let one = manifest(CaptureId::new(1, 1), end).encode().len() as u64;

    let read = |work: &dyn Fn()| {
        let before = n_read();
        work();
        n_read() - before
    };
    let chosen = |id: CaptureId| {
        Captures::read_chosen(&folder, &[id])
            .expect("captures")
            .list
    };
    let id = CaptureId::new(1, 7777);
    let n_bytes = read(&|| {
        let list = chosen(id);
        assert_eq!((list.len(), list[0].id), (1, id));
        assert!(matches!(list[0].state, State::Closed(_)) && list[0].is_sealed);
        assert_eq!(
            list[0].manifest.map(|hash| hash == ContentHash([0; 32])),
            Some(false)
        );
    });
    // The manifest, headers of segments and groups, and what asks for the counts.
    let most = 16 * one + 64 * 100 + 16_384;
    assert!(n_bytes < most, "{n_bytes} of at most {most}");
    let path = format!("{}#{id}", folder.path().display());
    let n_bytes = read(&|| drop(Input::open(&path, &OpenOptions::default()).expect("an input")));
    assert!(n_bytes < most, "{n_bytes} of at most {most}");

    // What is behind the manifest counts, and what is in the log alone is read from its beginning.
    assert!(chosen(CaptureId::new(1, 3)).is_empty());
    assert!(chosen(CaptureId::new(1, N_CAPTURES + 2)).is_empty());
    let list = chosen(other);
    assert_eq!((list.len(), list[0].opened_ns), (1, Some(1)));
    let n_bytes = read(&|| drop(chosen(other)));
    assert!(n_bytes > 100 * FILLER as u64, "{n_bytes}");
    let all = Captures::read(&folder).expect("captures").list;
    assert_eq!(all.len() as u64, N_CAPTURES);
    let same = all.iter().find(|capture| capture.id == id).expect("it");
    assert_eq!(format!("{same:?}"), format!("{:?}", chosen(id)[0]));
}
