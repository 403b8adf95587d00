use traceloom_formats::protocol::Identity;
use traceloom_log::Position;

use super::*;

#[test]
fn events_are_read_as_they_were_written() {
    let events = [
        Event::Opened {
            protocol: 1,
            at_ns: -1,
            peer: "127.0.0.1:5".to_owned(),
        },
        Event::Closed {
            at_ns: i64::MAX,
            orderly: true,
            reason: "goodbye".to_owned(),
        },
        Event::Seal {
            at_ns: 7,
            why: SealReason::Unpin,
        },
        Event::Sealed {
            revision: u64::MAX,
            manifest: ContentHash::of(b"manifest"),
        },
        Event::Resumed {
            at_ns: -3,
            incarnation: 9,
        },
        Event::Deleted {
            at_ns: 9,
            asked: true,
        },
    ];
    for event in events {
        let (kind, bytes) = event.encode();
        assert_eq!(Event::decode(kind, &bytes), Some(event));
        assert_eq!(Event::decode(kind, &bytes[..8]), None);
        assert_eq!(Event::decode(77, &bytes), None);
    }
}

#[test]
fn ids_are_read_as_they_are_shown() {
    let id = CaptureId::new(3, 17);
    assert_eq!(id.to_string(), "3-17");
    assert_eq!("3-17".parse(), Ok(id));
    for text in ["3", "3-", "-1", "3-017", "x-1", "3-1099511627776"] {
        assert!(text.parse::<CaptureId>().is_err(), "{text}");
    }
}

#[test]
fn a_folder_is_private_and_used_by_one() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("a/data");
    let folder = DataFolder::create(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(DataFolder::is_at(&path));
    assert!(!folder.is_in_use());
    let lock = folder.lock().unwrap();
    assert!(folder.is_in_use());
    let error = DataFolder::create(&path).unwrap().lock().unwrap_err();
    assert!(error.to_string().contains("another collector"), "{error}");
    drop(lock);
    assert!(folder.lock().is_ok());

    let other = scratch.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("mine"), "x").unwrap();
    let error = DataFolder::create(&other).unwrap_err();
    assert!(error.to_string().contains("something else"), "{error}");
    assert!(DataFolder::open(&other).is_err());
}

/// The bytes of version 1 are these for ever.
#[test]
fn manifests_are_read_as_they_were_written() {
    let chunk = |byte| ChunkRef {
        hash: ContentHash([byte; 32]),
        n_bytes: u32::from(byte),
        n_stored: 7,
    };
    let part = |name: &str, chunks: Vec<ChunkRef>| ManifestPart {
        name: name.to_owned(),
        n_units: 3,
        n_bytes: chunks.iter().map(|chunk| u64::from(chunk.n_bytes)).sum(),
        chunks,
    };
    let manifest = Manifest {
        id: CaptureId::new(2, 9),
        revision: 4,
        base: 1,
        end: Position(77),
        sealed_ns: -5,
        pinned: true,
        protocol: 1,
        opened_ns: 6,
        peer: "127.0.0.1:5".to_owned(),
        identity: Identity {
            service: "shop".to_owned(),
            instance: "pod".to_owned(),
            namespace: String::new(),
            version: String::new(),
        },
        closed: Some(SessionEnd {
            at_ns: 8,
            orderly: true,
            reason: "goodbye".to_owned(),
        }),
        doubts: vec!["a doubt".to_owned()],
        parts: vec![
            part("pod/calls/000001", vec![chunk(1), chunk(2)]),
            part("é", Vec::new()),
        ],
        context: vec![ContextEntry {
            stream: 3,
            kind: 17,
            bytes: b"entry".to_vec(),
        }],
        incarnation: 2,
    };
    let bytes = manifest.encode();
    assert_eq!(
        ContentHash::of(&bytes).to_string(),
        "abae8decb82550152d47e17d70289af24732b3d2260dbd63ec277b6e5a80c96c"
    );
    assert_eq!(Manifest::decode(&bytes).as_ref(), Ok(&manifest));
    for length in 0..bytes.len() {
        assert!(Manifest::decode(&bytes[..length]).is_err(), "{length}");
    }
    let resumed = Manifest {
        incarnation: 3,
        ..manifest.clone()
    };
    assert_eq!(Manifest::decode(&resumed.encode()), Ok(resumed));
    let mut newer = bytes.clone();
    newer[8] = 2;
    let error = Manifest::decode(&newer).unwrap_err();
    assert!(error.contains("newer"), "{error}");

    let mut later = manifest.clone();
    (later.revision, later.base) = (5, 4);
    later.parts = vec![part("pod/calls/000001", vec![chunk(5)]), part("é", vec![])];
    let joined = manifest.clone().with(later);
    assert_eq!((joined.revision, joined.base), (5, 1));
    assert_eq!(joined.parts[0].chunks, [chunk(1), chunk(2), chunk(5)]);
    assert_eq!((joined.parts[0].n_units, joined.parts[0].n_bytes), (6, 8));
    assert_eq!(joined.context.len(), 2);

    assert_eq!(Manifest::file_name(manifest.id, 4), "2-9.4");
    assert_eq!(Manifest::of_file_name("2-9.4"), Some((manifest.id, 4)));
    for name in ["2-9.04", "2-9.4.new", "2-9", "x"] {
        assert_eq!(Manifest::of_file_name(name), None, "{name}");
    }
}
