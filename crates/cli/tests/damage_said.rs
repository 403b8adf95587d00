//! Damage is said by every command that reads the part, and in the pages that are drawn of it.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command.output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file whose last record is cut: `cut.NAME`.
fn cut(name: &str, folder: &Path) -> String {
    let sample = traceloom_samples::by_name(name).expect("a sample");
    let mut bytes = Vec::new();
    sample(5, 8_000, &mut |piece| bytes.extend_from_slice(piece));
    bytes.truncate(bytes.len() - 3);
    let file = format!("cut.{name}");
    std::fs::write(folder.join(&file), bytes).expect("the file is written");
    file
}

const SAID: &str = "cut.heph: 0 damage and 1 warn notes; `traceloom check cut.heph` lists them";

#[test]
fn every_view_says_that_a_record_does_not_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = cut("heph", folder.path());
    assert_eq!(run(&["check", &file], folder.path()).status.code(), Some(1));
    for command in [
        &["calls"][..],
        &["calls", "--json"],
        &["calls", "--by", "thread"],
        &["events"],
        &["metrics"],
        &["monitors"],
        &["objects"],
        &["top"],
        &["top", "--json"],
        &["tree"],
        &["timeline"],
        &["timeline", "--json"],
        &["report", "-o", "-"],
        &["flame", "-o", "-"],
        &["convert", "--to", "chrome", "-o", "-"],
        &["slice", "--since", "+1us", "--to", "chrome", "-o", "-"],
    ] {
        let output = run(&[command, &[&file]].concat(), folder.path());
        let told = text(&output.stderr);
        assert!(told.contains(SAID), "{command:?}: {told}");
    }
    for command in [&["diff"][..], &["merge", "--to", "chrome", "-o", "-"]] {
        let output = run(&[command, &[&file, &file]].concat(), folder.path());
        let told = text(&output.stderr);
        assert_eq!(told.matches(SAID).count(), 2, "{command:?}: {told}");
    }
    // A second reading of what was read is not told again.
    for command in [&["report", "-o", "-"][..], &["top"], &["flame", "-o", "-"]] {
        let output = run(&[command, &[&file]].concat(), folder.path());
        assert_eq!(text(&output.stderr).matches(SAID).count(), 1, "{command:?}");
    }
}

#[test]
fn pages_say_it_where_it_is_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = cut("heph", folder.path());
    for (args, page) in [
        (&["flame", &file, "-o", "a.svg"][..], "a.svg"),
        (&["flame", &file, "-o", "a.html"], "a.html"),
        (&["timeline", &file, "-o", "b.html"], "b.html"),
        (&["diff", &file, &file, "-o", "c.svg"], "c.svg"),
        (&["diff", &file, &file, "-o", "c.html"], "c.html"),
    ] {
        let output = run(args, folder.path());
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
        let page = std::fs::read_to_string(folder.path().join(page)).expect("the page");
        assert_eq!(page.matches(SAID).count(), 1, "{args:?}");
    }
    let output = run(&["report", &file, "-o", "-"], folder.path());
    assert!(text(&output.stdout).contains("last packet cut"));
}

/// A recorded conversation of an agent, with a byte more inside the data of its calls.
fn torn_conversation(folder: &Path) -> (String, String) {
    let sample = traceloom_samples::by_name("cdt-tcp").expect("a sample");
    let mut bytes = Vec::new();
    sample(3, 60_000, &mut |piece| bytes.extend_from_slice(piece));
    std::fs::write(folder.join("whole.tcpdump"), &bytes).expect("the file is written");
    let magic = [0xff, 0xfe, 0xfd, 0xfc];
    let calls = bytes.windows(4).position(|bytes| bytes == magic);
    let calls = calls.expect("the head of the calls");
    let head: Vec<u8> = [&[2], &bytes[calls - 20..calls - 4]].concat();
    let sent = |from: usize| {
        let next = bytes[from..].windows(17).position(|bytes| bytes == head);
        from + next.expect("data of the calls") + 21
    };
    let behind = sent(sent(calls));
    bytes.insert(behind + 60, 0x41);
    std::fs::write(folder.join("torn.tcpdump"), bytes).expect("the file is written");
    ("whole.tcpdump".to_owned(), "torn.tcpdump".to_owned())
}

#[test]
fn a_byte_more_among_calls_costs_few_of_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, torn) = torn_conversation(folder.path());
    let calls = |file: &str| {
        let output = run(&["calls", file, "--json"], folder.path());
        text(&output.stdout).lines().count()
    };
    let (all, left) = (calls(&whole), calls(&torn));
    assert!(all > 50 && left + 8 > all, "{left} of {all}");
    let output = run(&["check", &torn], folder.path());
    assert_eq!(output.status.code(), Some(1));
    let told = text(&output.stdout);
    let passed_over = told
        .lines()
        .find(|line| line.contains("calls") && line.contains("undecodable"));
    assert!(
        passed_over.is_some_and(|line| line.contains("at 0x")),
        "{told}"
    );
}

/// Nothing repeats the magic number and the format of a stream of calls: without them it is not read, which is said,
/// and its calls come from the traces.
#[test]
fn a_damaged_header_of_calls_is_said_and_its_calls_are_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let to = ["--to", "cdt-streams", "-o", "streams"];
    let converted = run(&[&["convert", shop], &to[..]].concat(), folder.path());
    assert!(converted.status.success(), "{}", text(&converted.stderr));
    let streams = std::fs::read_dir(folder.path().join("streams")).expect("a folder");
    let mut processes = streams.map(|entry| entry.expect("an entry").path());
    let process = processes.find(|path| path.is_dir()).expect("a process");
    let path = process.join("calls/000001");
    let whole = std::fs::read(&path).expect("the stream");
    let calls = || {
        text(&run(&["calls", "streams", "--json"], folder.path()).stdout)
            .lines()
            .count()
    };
    let listed = calls();
    assert!(listed > 50, "{listed}");
    for at in 0..12 {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        std::fs::write(&path, damaged).expect("the stream");
        assert_eq!(calls(), listed, "byte {at}");
        let checked = run(&["check", "streams"], folder.path());
        assert_eq!(checked.status.code(), Some(1), "byte {at}");
        // What rows alone say of calls is missing then, and every view says where to look.
        for view in ["calls", "top", "tree", "timeline"] {
            let said = text(&run(&[view, "streams"], folder.path()).stderr);
            let place = "; `traceloom check streams` lists them";
            assert!(said.contains(place), "byte {at}, {view}: {said:?}");
        }
    }
}

#[test]
fn a_page_says_it_without_the_folders_of_whoever_makes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = cut("heph", folder.path());
    let path = folder.path().join(&file);
    let path = path.to_str().expect("a path");
    for (command, page) in [
        (&["flame"][..], "flame.html"),
        (&["flame"], "flame.svg"),
        (&["timeline"], "timeline.html"),
        (&["diff", path], "diff.html"),
    ] {
        let output = run(&[command, &[path, "-o", page]].concat(), folder.path());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let drawn = std::fs::read_to_string(folder.path().join(page)).expect("the page");
        assert!(drawn.contains(SAID), "{page}");
        let maker = folder.path().to_str().expect("a path");
        assert!(!drawn.contains(maker), "{page}");
    }
}

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

/// Copies a folder; of its streams of calls only the beginning.
fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder is read") {
        let entry = entry.expect("an entry");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copied(&path, &to);
            continue;
        }
        let mut bytes = std::fs::read(&path).expect("a file is read");
        if path
            .parent()
            .is_some_and(|folder| folder.ends_with("calls"))
        {
            bytes.truncate(500);
        }
        std::fs::write(to, bytes).expect("a file is written");
    }
}

/// The agent writes counters into the row of a call, and as text at its end.
#[test]
fn calls_whose_rows_are_lost_keep_the_counters_at_their_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    copied(Path::new(SHOP), &folder.path().join("cut"));
    let calls = |path: &str| {
        let output = run(&["calls", "--json", path], folder.path());
        let rows = text(&output.stdout);
        let rows: Vec<serde_json::Value> = rows
            .lines()
            .map(|line| serde_json::from_str(line).expect("a row"))
            .collect();
        rows
    };
    let (whole, cut) = (calls(SHOP), calls("cut"));
    assert_eq!(cut.len(), whole.len());
    let mut n_lost = 0;
    for row in &cut {
        let same = whole.iter().find(|whole| whole["id"] == row["id"]);
        let same = same.expect("the call of the whole dump");
        if row["counters"]
            .as_object()
            .is_some_and(serde_json::Map::is_empty)
        {
            n_lost += 1;
        }
        if !row["cpu"].is_null() {
            assert_eq!(row["cpu"], same["cpu"], "{}", row["id"]);
        }
    }
    assert!(n_lost > 40, "{n_lost} rows are lost");
    let with_cpu = cut.iter().filter(|row| row["cpu"].is_number()).count();
    assert!(
        with_cpu > 40,
        "{with_cpu} calls have a time of the processor"
    );
}
