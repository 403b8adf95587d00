//! Folders of every format that has one, as captures and as what captures are converted to: their values are those of the folder itself.

mod collected;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use collected::http::{Answer, ask};
use collected::program::sample;
use collected::{Collector, SHOP, eventually, json_lines, run, stdout, text};
use serde_json::Value;

/// Targets that are folders of files, in a program without Arrow and Parquet.
const FOLDERS: [&str; 4] = ["cdt-dump", "cdt-streams", "datakit", "csv"];

/// What a path opens to: calls, and the functions of every measure. A value may be there under another name.
fn values(path: &Path) -> (Option<Value>, Vec<Value>) {
    let path = text(path);
    let overview = run(&["calls", path, "--overview", "--json"]);
    let overview = serde_json::from_slice(&overview.stdout).ok();
    let top = run(&["top", path, "--json", "--wide", "-n", "100000"]);
    let printed = String::from_utf8(top.stdout).expect("text");
    let tables = printed.lines().map(|line| {
        let table: Value = serde_json::from_str(line).expect("JSON");
        table["functions"].clone()
    });
    (overview, tables.collect())
}

/// A folder of each format that has one.
fn folders(scratch: &Path) -> Vec<(&'static str, PathBuf)> {
    let converted = |from: &str, to: &str| {
        let path = scratch.join(format!("a-{to}"));
        stdout(&["convert", from, text(&path), "--to", to]);
        path
    };
    let profile = scratch.join("cpu.pprof");
    fs::write(&profile, sample("pprof", 5, 60_000)).expect("a file");
    // The stream of a session in two chunks, which are no traces alone.
    let session = scratch.join("a-zorka");
    fs::create_dir(&session).expect("a folder");
    let stream = sample("zorka-c", 5, 60_000);
    let (one, two) = stream.split_at(stream.len() / 2 + 3);
    fs::write(session.join("s.trc.chunk0.bin"), one).expect("a file");
    fs::write(session.join("s.trc.chunk1.bin"), two).expect("a file");
    vec![
        ("cdt-dump", converted(SHOP, "cdt-dump")),
        ("cdt-streams", converted(SHOP, "cdt-streams")),
        ("datakit", converted(text(&profile), "datakit")),
        ("zorka", session),
    ]
}

fn converted(http: &str, id: &str, to: &str) -> Answer {
    let host = http.trim_start_matches("http://");
    let path = format!("/api/v1/captures/{id}/convert?to={to}");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    ask(http, request.as_bytes())
}

/// The files of an archive.
fn unpacked(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).expect("an archive");
    let mut files = BTreeMap::new();
    for at in 0..archive.len() {
        let mut file = archive.by_index(at).expect("a file");
        let mut content = Vec::new();
        let _ = file.read_to_end(&mut content).expect("its bytes");
        let name = file.name().expect("a name").into_owned();
        files.insert(name, content);
    }
    files
}

/// The files of a folder.
fn written(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = text(path.strip_prefix(folder).expect("a name")).to_owned();
            // The mark of a folder that was written is of that folder.
            if !name.starts_with('.') {
                files.insert(name, fs::read(&path).expect("its bytes"));
            }
        }
    }
    files
}

/// A folder that was pushed is what it was, and whatever it is converted to by the page holds what the command writes of the folder.
#[test]
fn folders_are_captures_and_are_converted_by_value() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let mut n_compared = 0;
    for (format, folder) in folders(scratch.path()) {
        stdout(&["push", text(&folder), "--to", &collector.http]);
        let captures = json_lines(&["captures", "ls", text(&data), "--json"]);
        let id = captures.last().expect("a capture")["id"].clone();
        let id = id.as_str().expect("an id");
        let capture = PathBuf::from(format!("{}#{id}", text(&data)));
        let own = values(&folder);
        assert!(!own.1.is_empty(), "{format}");
        assert_eq!(values(&capture), own, "{format}");
        for to in FOLDERS.into_iter().chain(["chrome", "pprof", "folded"]) {
            let what = format!("{format} to {to}");
            let here = scratch.path().join(format!("{format}-as.{to}"));
            let printed = run(&["convert", text(&folder), text(&here), "--to", to]);
            let answer = converted(&collector.http, id, to);
            if !printed.status.success() {
                assert_eq!(answer.status, 422, "{what}: {}", answer.body);
                continue;
            }
            assert_eq!(answer.status, 200, "{what}: {}", answer.body);
            n_compared += 1;
            let is_folder = FOLDERS.contains(&to);
            assert_eq!(answer.head.contains("application/zip"), is_folder, "{what}");
            if to == "csv" {
                let (sent, expected) = (unpacked(&answer.bytes), written(&here));
                let names = |of: &BTreeMap<String, Vec<u8>>| of.keys().cloned().collect::<Vec<_>>();
                assert_eq!(names(&sent), names(&expected), "{what}");
                // Notes name the parts, which are those of a capture here.
                for (name, bytes) in expected.iter().filter(|(name, _)| *name != "notes.csv") {
                    assert!(sent[name] == *bytes, "{what}: {name}");
                }
                continue;
            }
            let sent = scratch.path().join(format!("{format}-sent.{to}"));
            fs::write(&sent, &answer.bytes).expect("a file");
            assert_eq!(values(&sent), values(&here), "{what}");
        }
    }
    assert!(n_compared >= 16, "{n_compared}");
}

#[test]
fn a_capture_is_converted_to_a_folder_as_an_archive() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    let to = format!("cdt://{}", collector.address());
    stdout(&["send", SHOP, "--to", &to, "--service", "shop"]);
    eventually(|| {
        let captures = json_lines(&["captures", "ls", text(&data), "--json"]);
        (captures[0]["state"] == "goodbye").then_some(())
    });
    let capture = format!("{}#1-1", text(&data));
    for to in ["cdt-dump", "cdt-streams"] {
        let answer = converted(&collector.http, "1-1", to);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let printed = run(&["convert", &capture, "--to", to, "-o", "-"]);
        assert!(printed.stdout == answer.bytes, "{to}");
        let folder = scratch.path().join(to);
        stdout(&["convert", &capture, text(&folder), "--to", to]);
        // The same files; compressed ones may be cut elsewhere.
        let (sent, expected) = (unpacked(&answer.bytes), written(&folder));
        assert!(sent.keys().eq(expected.keys()), "{to}");
        let archive = scratch.path().join(format!("{to}.zip"));
        fs::write(&archive, &answer.bytes).expect("a file");
        assert_eq!(values(&archive), values(&folder), "{to}");
        assert!(values(&archive).0.expect("calls")["calls"].as_u64() > Some(50));
        let losses = format!("/api/v1/captures/1-1/losses?to={to}");
        let host = collector.http.trim_start_matches("http://");
        let request = format!("GET {losses} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let losses: Value =
            serde_json::from_str(&ask(&collector.http, request.as_bytes()).body).expect("JSON");
        let again = scratch.path().join(format!("{to}-again"));
        let said = json_lines(&["convert", &capture, text(&again), "--to", to, "--json"]);
        assert_eq!(losses["rows"], Value::from(said), "{to}");
    }
}
