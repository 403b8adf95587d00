//! Commands over inputs in which there is nothing to show: each says why, and ends as docs/exit-codes.md has it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

/// Commands that list or count. `IN` is the input.
const LISTS: &[&str] = &[
    "top IN",
    "top IN --json",
    "top IN --csv",
    "top IN --hotspots",
    "top IN --by thread",
    "top IN --percentiles",
    "top IN --incoming run",
    "tree IN",
    "tree IN --bottom-up",
    "tree IN --by thread",
    "calls IN",
    "calls IN --json",
    "calls IN --csv",
    "calls IN --percentiles",
    "calls IN --by thread",
    "timeline IN",
    "timeline IN --json",
    "events IN",
    "metrics IN",
    "monitors IN",
    "objects IN",
];

/// Commands that draw; `OUT` does not exist before.
const DRAWINGS: &[&str] = &[
    "flame IN -o OUT.svg",
    "flame IN -o OUT.html",
    "report IN -o OUT.html",
    "timeline IN -o OUT.html",
];

/// Commands that write traces.
const CONVERSIONS: &[&str] = &[
    "convert IN OUT --to chrome",
    "convert IN OUT --to folded --as-samples",
    "slice IN OUT --errors",
    "merge IN IN OUT --to perfetto",
];

/// What takes nothing of the shop's dump.
const FILTERS: &[&[&str]] = &[
    &["--filter", "duration > 1h"],
    &["--min-duration", "1h"],
    &["--since", "2030-01-01T00:00:00Z"],
];

fn run(line: &str, input: &Path, output: &Path, more: &[&str]) -> Output {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let words = line.split(' ').map(|word| match word {
        "IN" => text(input),
        word if word.starts_with("OUT") => word.replace("OUT", &text(output)),
        word => word.to_owned(),
    });
    Command::new(env!("CARGO_BIN_EXE_traceloom"))
        .args(words)
        .args(more)
        .output()
        .expect("the program starts")
}

/// Checks how a command ended, and that it said why, each sentence once.
fn ends_with(code: i32, line: &str, ended: &Output) {
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(code), "{line}: {told}");
    assert!(!told.trim().is_empty(), "{line}: nothing is said");
    let mut sentences = BTreeSet::new();
    for sentence in told.lines().filter(|line| line.starts_with("traceloom: ")) {
        assert!(sentences.insert(sentence), "{line}: said twice: {sentence}");
    }
}

/// Recordings without calls, samples, events and counters.
fn empty_recordings(folder: &Path) -> Vec<PathBuf> {
    let files: [(&str, &[u8]); 3] = [
        ("empty.json", b"{\"traceEvents\":[]}"),
        ("empty.folded", b"# nothing ran\n"),
        (
            "empty.trcxml",
            b"<?xml version=\"1.0\"?>\n<TRACE>\n</TRACE>\n",
        ),
    ];
    let write = |(name, bytes): &(&str, &[u8])| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).expect("a file in a folder of its own");
        path
    };
    files.iter().map(write).collect()
}

#[test]
fn of_an_empty_recording_lists_are_an_answer_and_nothing_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    for input in empty_recordings(folder.path()) {
        let name = input.display();
        for line in LISTS {
            ends_with(
                0,
                &format!("{name}: {line}"),
                &run(line, &input, &output, &[]),
            );
        }
        for line in DRAWINGS {
            ends_with(
                1,
                &format!("{name}: {line}"),
                &run(line, &input, &output, &[]),
            );
        }
        for extension in ["svg", "html"] {
            assert!(!output.with_extension(extension).exists(), "{name}");
        }
    }
}

#[test]
fn where_filters_take_nothing_lists_are_an_answer_and_nothing_is_drawn() {
    /// Those that have no calls to choose.
    const OF_EVENTS: [&str; 2] = ["metrics", "objects"];
    let folder = tempfile::tempdir().expect("a folder");
    let output = folder.path().join("out");
    let shop = Path::new(SHOP);
    for filter in FILTERS {
        let of_time = filter.first() == Some(&"--since");
        let takes = |line: &&&str| {
            let command = line.split(' ').next().unwrap_or_default();
            of_time || !OF_EVENTS.contains(&command)
        };
        for line in LISTS.iter().filter(takes) {
            let command = line.split(' ').next().unwrap_or_default();
            // Theirs chooses events, and the longest call is no measure of an event.
            if matches!(command, "events" | "monitors") && !of_time {
                continue;
            }
            ends_with(
                0,
                &format!("{filter:?} {line}"),
                &run(line, shop, &output, filter),
            );
        }
        for line in DRAWINGS {
            // Pauses and counters are drawn where calls are chosen.
            if !of_time && !line.starts_with("flame") {
                continue;
            }
            ends_with(
                1,
                &format!("{filter:?} {line}"),
                &run(line, shop, &output, filter),
            );
        }
        for extension in ["svg", "html"] {
            assert!(!output.with_extension(extension).exists(), "{filter:?}");
        }
    }
}

#[test]
fn a_conversion_says_that_filters_take_nothing() {
    let shop = Path::new(SHOP);
    for filter in FILTERS {
        for line in CONVERSIONS
            .iter()
            .filter(|line| !line.contains("--as-samples"))
        {
            let folder = tempfile::tempdir().expect("a folder");
            let ended = run(line, shop, &folder.path().join("out"), filter);
            ends_with(0, &format!("{filter:?} {line}"), &ended);
            let told = String::from_utf8_lossy(&ended.stderr);
            let why =
                told.contains("the filter takes none of") || told.contains("nothing from 2030");
            assert!(why, "{filter:?} {line}: {told}");
        }
    }
}

#[test]
fn of_what_is_no_recording_every_command_fails_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let garbage = folder.path().join("garbage.bin");
    std::fs::write(&garbage, [0xA5; 300]).expect("a file");
    let nobody = folder.path().join("nobody");
    std::fs::create_dir(&nobody).expect("a folder");
    let missing = folder.path().join("missing.pprof");
    let dictionary = folder.path().join(".traceloom-output");
    std::fs::write(&dictionary, "traceloom\n").expect("a file");
    let output = folder.path().join("out");
    for input in [garbage, nobody, missing, dictionary] {
        let name = input.display();
        for line in ["info IN", "check IN", "dump IN"]
            .iter()
            .chain(LISTS)
            .chain(DRAWINGS)
            .chain(CONVERSIONS)
        {
            let ended = run(line, &input, &output, &[]);
            ends_with(1, &format!("{name}: {line}"), &ended);
            assert!(!output.exists(), "{name}: {line}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_the_system_refuses_is_damage_and_the_others_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("stacks.folded"), "main;run 3\n").expect("a file");
    // Reading it at its start is an input/output error.
    std::os::unix::fs::symlink("/proc/self/mem", folder.path().join("bad")).expect("a link");
    let path = folder.path();
    let elsewhere = tempfile::tempdir().expect("a folder");
    for line in [
        "info IN",
        "top IN",
        "tree IN",
        "flame IN -o OUT.svg",
        "convert IN OUT --to folded",
    ] {
        let output = elsewhere.path().join("out");
        ends_with(1, line, &run(line, path, &output, &[]));
    }
    let checked = run("check IN", path, path, &[]);
    ends_with(1, "check", &checked);
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(
        text.contains("bad: damage unreadable: Input/output error"),
        "{text}"
    );
    assert!(text.contains("1 part read, 1 damage"), "{text}");
}
