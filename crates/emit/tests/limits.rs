//! What is too large for a buffer.
#![allow(missing_docs, reason = "a test")]

use traceloom_emit::{Options, Recorder, chrome};

#[test]
fn attributes_without_room_are_cut_and_the_call_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.json");
    let options = Options {
        buffer: 16 << 10,
        ..Options::default()
    };
    let file = chrome::ChromeFile::create(&path).expect("a file");
    let recorder = Recorder::start(file, options).expect("a thread");
    let thread = recorder.thread("main");
    let text = "x".repeat(1_000);
    let mut around = thread.call("around");
    let mut large = thread.call("large");
    for _ in 0..1_000 {
        large.set("text", &text);
        around.set("text", &text);
    }
    large.set("huge", &"y".repeat(60_000));
    drop(large);
    drop(around);
    drop(thread);
    let report = recorder.close();
    assert_eq!((report.written, report.dropped, report.cut), (2, 0, 2));
    let written = std::fs::read_to_string(path).expect("text");
    assert!(written.contains("around") && written.contains("large"));
    assert!(!written.contains("yy"));
    // Eight of 1,000 bytes fit into half a buffer, for each call.
    assert_eq!(written.matches("\"text\"").count(), 2 * 8);
}
