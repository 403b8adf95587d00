//! `serve --demo`: a first look is not empty, and nothing of it stays.

mod collected;

use collected::{Collector, eventually, json_lines, text};
use std::process::{Command, Stdio};

#[test]
fn every_listener_gets_the_shop() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let collector = Collector::start(&data, &["--demo"]);
    let data = text(&data);
    let captures = eventually(|| {
        let captures = json_lines(&["captures", "ls", data, "--json"]);
        let ended = captures.iter().filter(|capture| capture["state"] != "open");
        (ended.count() == 4).then_some(captures)
    });
    let protocols: Vec<_> = captures
        .iter()
        .map(|capture| capture["protocol"].as_str())
        .collect();
    for protocol in ["cdt", "heph", "tptp", "upload"] {
        assert!(protocols.contains(&Some(protocol)), "{protocols:?}");
    }
    // The agents of three tools saw the same slowest call.
    let calls = json_lines(&["calls", data, "--json", "--sort=-duration", "-n=3"]);
    let longest: Vec<_> = calls.iter().map(|call| call["duration"].as_i64()).collect();
    assert_eq!(longest, [Some(2_008_000_000); 3]);
    assert_eq!(collector.terminate().0, Some(0));
}

#[test]
fn without_a_folder_nothing_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("tmp");
    std::fs::create_dir(&own).expect("a folder");
    let off = [
        "--heph",
        "off",
        "--heph-udp",
        "off",
        "--tptp",
        "off",
        "--http",
        "off",
    ];
    let mut child = Command::new(env!("CARGO_BIN_EXE_traceloom"))
        .args([
            "serve",
            "--demo",
            "--cdt",
            "127.0.0.1:0",
            "--otlp-grpc",
            "off",
        ])
        .args(off)
        .current_dir(folder.path())
        .env("TMPDIR", &own)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a collector");
    let inside = || std::fs::read_dir(&own).expect("a folder").count();
    eventually(|| (inside() > 0).then_some(()));
    let asked = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(asked.expect("kill runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert_eq!(inside(), 0);
    assert!(!folder.path().join("traceloom-data").exists());
}
