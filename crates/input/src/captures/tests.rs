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
