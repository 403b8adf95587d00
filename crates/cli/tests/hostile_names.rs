//! Captures whose names attack the terminal: what leaves the program is text in rows, whichever format said it.

#[path = "collected/mod.rs"]
mod collected;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::json;

/// A colour that the program never uses, a window title, CSI and DEL as single characters, a line of its own, direction
/// overrides, line separators, what nobody sees, and a formula.
const HOSTILE: &str = "=cmd|x\u{1b}[35mred\u{1b}]0;owned\u{7}\u{9b}2J\u{7f}\r\nFORGED row\tx\u{202e}\u{2066}\u{2028}\u{2029}\u{200b}\u{feff}end";

/// Colours of the program itself.
const OWN: &[&str] = &["0", "1", "2", "31", "33", "36"];

fn run(args: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.args(args).current_dir(folder).stdin(Stdio::null());
    command.output().expect("the program runs")
}

fn named(what: &str) -> String {
    format!("{what}{HOSTILE}")
}

/// Calls of two threads with arguments, an async span, an instant, a counter and an error.
fn chrome() -> String {
    let at = |ph: &str, ts: u64| {
        json!({"ph": ph, "ts": ts, "pid": 1, "tid": 2, "name": named("method"), "cat": named("category"),
            "args": {named("key"): named("value"), "title": named("title"), "error": named("error")}})
    };
    let mut events = vec![
        json!({"ph": "M", "pid": 1, "tid": 2, "name": "thread_name", "args": {"name": named("thread")}}),
        json!({"ph": "M", "pid": 1, "name": "process_name", "args": {"name": named("service")}}),
        at("B", 1_000_000),
        at("B", 1_200_000),
        at("i", 1_500_000),
        at("E", 1_600_000),
        at("E", 3_000_000),
        // Ends without a begin, and a begin without an end.
        at("E", 3_200_000),
        at("B", 3_500_000),
    ];
    events.push(json!({"ph": "C", "ts": 1_000_000, "pid": 1, "name": named("counter"), "args": {named("series"): 3}}));
    for (ph, ts) in [("b", 1_000_000), ("e", 2_000_000)] {
        events.push(json!({"ph": ph, "ts": ts, "pid": 1, "tid": 2, "id": 7, "cat": named("async"), "name": named("async")}));
    }
    json!({ "traceEvents": events, "otherData": {named("meta"): named("data")} }).to_string()
}

fn speedscope() -> String {
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": named("recording"),
        "shared": {"frames": [
            {"name": named("function"), "file": named("path/file")},
            {"name": named("other")},
        ]},
        "profiles": [{"type": "sampled", "name": named("thread"), "unit": "milliseconds", "startValue": 0, "endValue": 30,
            "samples": [[0], [0, 1], [1]], "weights": [10, 15, 5]}],
    })
    .to_string()
}

fn folded() -> String {
    let name = HOSTILE.replace("\r\n", "\u{b}").replace('\u{2028}', "");
    format!("main;{name} 10\nmain;{name};leaf 5\nnot a line {name}\n")
}

/// The captures, and each in every format that can hold it.
fn captures(folder: &Path) -> Vec<PathBuf> {
    // A path with a line break, because a glob passes it on.
    let file = |name: &str| folder.join(format!("in\u{1b}[35m\u{9b}\u{202e}{name}"));
    let sources = [
        (file("a.json"), chrome(), &[][..]),
        (file("b.speedscope.json"), speedscope(), &[][..]),
        (file("c.folded"), folded(), &["--input-format", "folded"]),
    ];
    let list = run(&["convert", "--to", "list"], folder);
    let list = String::from_utf8(list.stdout).expect("text");
    let targets: Vec<&str> = list
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(targets.len() > 15, "{targets:?}");
    let inside = folder.join(named("folder"));
    std::fs::create_dir(&inside).expect("a folder");
    std::fs::write(inside.join(named("file")), chrome()).expect("the file is written");
    std::fs::write(inside.join(named("unknown")), "\u{1b}[2J what is this")
        .expect("the file is written");
    let mut captures = vec![inside];
    for (at, (source, bytes, flags)) in sources.iter().enumerate() {
        std::fs::write(source, bytes).expect("the file is written");
        captures.push(source.clone());
        for target in &targets {
            // Written by a build with the feature `tables` only.
            if matches!(*target, "arrow" | "parquet") {
                continue;
            }
            let output = folder.join(format!("out{at}-{target}"));
            let way = if *target == "cdt-dump" || target.contains("heph") {
                "--as-spans"
            } else {
                "--as-samples"
            };
            for flag in [None, Some(way)] {
                let paths = [
                    source.to_str().expect("text"),
                    "--to",
                    target,
                    "-o",
                    output.to_str().expect("text"),
                ];
                let args: Vec<&str> = ["convert"]
                    .into_iter()
                    .chain(paths)
                    .chain(flags.iter().copied())
                    .chain(flag)
                    .collect();
                let converted = run(&args, folder);
                clean(&args, &converted);
                if converted.status.success() {
                    captures.push(output);
                    break;
                }
            }
        }
    }
    captures
}

const COMMANDS: &[&[&str]] = &[
    &[],
    &["info"],
    &["info", "--json"],
    &["dump"],
    &["dump", "--resolve"],
    &["dump", "--json", "--resolve"],
    &["check"],
    &["check", "--json"],
    &["calls"],
    &["calls", "--wide", "--columns", "all"],
    &["calls", "--json", "--columns", "all"],
    &["calls", "--csv", "--columns", "all"],
    &["calls", "--by", "thread"],
    &["calls", "--by", "thread", "--json"],
    &["events"],
    &["events", "--json"],
    &["events", "--csv"],
    &["metrics"],
    &["metrics", "--json"],
    &["metrics", "--csv"],
    &["metrics", "--line-protocol"],
    &["top"],
    &["top", "--wide", "--async"],
    &["top", "--json"],
    &["top", "--csv"],
    &["top", "--by", "thread"],
    &["top", "--hotspots"],
    &["top", "--incoming", "method"],
    &["tree"],
    &["tree", "--wide", "--async"],
    &["tree", "--json"],
    &["tree", "--csv"],
    &["objects"],
    &["monitors"],
    &["timeline"],
    &["timeline", "--wide"],
    &["timeline", "--json"],
    &["top", "--strict"],
    &["top", "--value", "nothing"],
    &["top", "--focus", "nothing"],
    &["top", "--since", "2000-01-01"],
    &["calls", "--with-method", "nothing"],
];

/// Asserts that both streams are lines of text, with no colours but the program's own and no row that data began.
fn clean(args: &[&str], output: &Output) {
    for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let text =
            std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{args:?} {stream}: {error}"));
        assert_text(args, stream, text);
    }
    assert!(
        output.status.code().is_some_and(|code| code <= 2),
        "{args:?}: {}",
        output.status
    );
}

fn assert_text(args: &[&str], stream: &str, text: &str) {
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        assert!(
            !line.trim_start().starts_with("FORGED"),
            "{args:?} {stream}: {line:?}"
        );
        let mut pieces = line.split("\u{1b}[");
        let plain = pieces.next().into_iter().map(str::to_owned);
        let colored = pieces.map(|piece| {
            let (code, rest) = piece.split_once('m').unwrap_or((piece, ""));
            assert!(OWN.contains(&code), "{args:?} {stream}: {line:?}");
            rest.to_owned()
        });
        for piece in plain.chain(colored) {
            let raw = piece.chars().find(|&c| {
                c.is_control() || matches!(c, '\u{200b}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
            });
            assert_eq!(raw, None, "{args:?} {stream}: {line:?}");
        }
    }
}

#[test]
fn names_of_captures_never_act_on_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let captures = captures(folder.path());
    assert!(captures.len() > 25, "{captures:?}");
    let mut shown = 0;
    // Several at once, because most of the time is the start of the program.
    for group in captures.chunks(9) {
        let paths: Vec<&str> = group
            .iter()
            .map(|path| path.to_str().expect("text"))
            .collect();
        for command in COMMANDS {
            let args = [*command, &["--color", "always"], &paths].concat();
            let output = run(&args, folder.path());
            clean(&args, &output);
            shown += usize::from(String::from_utf8_lossy(&output.stdout).contains("owned"));
        }
    }
    for capture in captures.iter().step_by(4) {
        let path = capture.to_str().expect("text");
        let listed = run(&["calls", "--json", path], folder.path());
        let lines = String::from_utf8(listed.stdout).expect("text");
        let first = lines.lines().next().unwrap_or_default();
        let Ok(first) = serde_json::from_str::<serde_json::Value>(first) else {
            continue;
        };
        let id = first["id"].as_str().expect("an id");
        for flags in [&["--wide"][..], &["--json"]] {
            let args = [&["call", path, id, "--color", "always"], flags].concat();
            let output = run(&args, folder.path());
            clean(&args, &output);
            assert!(output.status.success(), "{args:?}");
        }
        let args = ["diff", path, path, "--color", "always"];
        clean(&args, &run(&args, folder.path()));
    }
    // The names were there: most formats show them in most commands.
    assert!(shown > 100, "{shown}");
}

/// Replaces words in a capture of any format by as many bytes that attack, in UTF-8 and UTF-16; which words follows
/// from the seed, so that those that hold the format together are left in some.
fn with_hostile_words(bytes: &[u8], seed: u64) -> Vec<u8> {
    const RAW: [&str; 3] = ["\u{1b}[35mred", "\u{202e}\u{9b}xyz", "\r\nFORGED"];
    const JSON: [&str; 3] = [r"\u001bre", r"\u202exy", r"\nFORGED"];
    /// Where a line is a record, a line break in a name is the end of the name.
    const LINES: [&str; 3] = ["\u{1b}[35mred", "\u{202e}\u{9b}xyz", "\u{b}\u{7f}FORGED"];
    let patterns = match bytes.first() {
        Some(b'{' | b'[') => JSON,
        _ if !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok() => LINES,
        _ => RAW,
    };
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._/$ <>".contains(&byte);
    let mut hostile = bytes.to_vec();
    for width in [1, 2] {
        let mut at = 0;
        while at < bytes.len() {
            let units = bytes[at..].chunks_exact(width);
            let letters =
                units.map(|unit| (unit.len() == 1 || unit[0] == 0) && is_letter(unit[width - 1]));
            let length = letters.take_while(|is_letter| *is_letter).count() * width;
            let word = &bytes[at..at + length];
            let sum = word.iter().fold(seed, |sum, &byte| {
                (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            }) >> 20;
            let pattern = patterns[usize::try_from(sum / 3 % 3).expect("small")];
            let pattern = match width {
                1 => pattern.as_bytes().to_vec(),
                _ => pattern.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            };
            // Keys of JSON are left, because every one of them holds the format together.
            let is_key = bytes[at + length..].starts_with(b"\":");
            if length >= pattern.len() && !is_key && sum.is_multiple_of(3) {
                hostile[at..at + pattern.len()].copy_from_slice(&pattern);
            }
            at += length.max(1);
        }
    }
    hostile
}

/// Formats that are only read have no writer that could put hostile names in: their samples get them as bytes.
#[test]
fn names_in_formats_that_are_only_read_never_act_on_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let only_read = traceloom_formats::FORMATS
        .iter()
        .filter(|format| format.raise.is_none());
    let (mut all, mut unseen) = (Vec::new(), Vec::new());
    for format in only_read {
        let Some(sample) = traceloom_samples::by_name(format.name) else {
            continue;
        };
        let mut bytes = Vec::new();
        sample(3, 2_000, &mut |piece| bytes.extend_from_slice(piece));
        // Names of these are shorter than what attacks.
        for name in ["work", "stock", "Shop#buy"] {
            if format.name.ends_with("profile") || format.name == "stackprof" {
                let text = String::from_utf8(bytes).expect("JSON");
                bytes = text
                    .replace(&json!(name).to_string(), &json!(named(name)).to_string())
                    .into_bytes();
            }
        }
        let paths: Vec<String> = (0..3)
            .map(|seed| {
                let name = format!("{}-{seed}", format.name);
                std::fs::write(folder.path().join(&name), with_hostile_words(&bytes, seed))
                    .expect("a file");
                name
            })
            .collect();
        let own: Vec<&str> = paths.iter().map(String::as_str).collect();
        let forced = ["--color", "always", "--input-format", format.name];
        let mut is_shown = false;
        for command in ["dump", "top", "check"] {
            let args = [&[command][..], &forced, &own].concat();
            let output = run(&args, folder.path());
            clean(&args, &output);
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            let mut words = ["[35mred", "FORGED", "xyz"].into_iter();
            is_shown |= words.any(|word| said.contains(word));
        }
        if !is_shown {
            unseen.push(format.name);
        }
        all.extend(paths);
    }
    assert!(all.len() > 50, "{all:?}");
    assert_eq!(unseen, NAMELESS, "formats whose names were not seen");
    for group in all.chunks(32) {
        let group: Vec<&str> = group.iter().map(String::as_str).collect();
        for command in COMMANDS.iter().filter(|command| !command.is_empty()) {
            let args = [*command, &["--color", "always"], &group].concat();
            clean(&args, &run(&args, folder.path()));
        }
    }
}

/// Formats whose samples have no words of their own: no text at all, compressed chunks, a container of others.
const NAMELESS: &[&str] = &["cdt-suspend", "zorka-store", "datakit-request"];

#[test]
fn names_of_captures_become_no_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path());
    let mut folders: Vec<PathBuf> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir() && !path.to_string_lossy().contains("FORGED"))
        .collect();
    let mut files = 0;
    while let Some(open) = folders.pop() {
        for entry in std::fs::read_dir(open).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .expect("a name of text");
            assert_eq!(traceloom_model::printable(name), name, "{path:?}");
            files += 1;
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    assert!(files > 20, "{files}");
}

/// Commands that show data and are driven with outputs or ids of their own.
const DRIVEN_APART: &[&str] = &[
    "call", "convert", "diff", "flame", "merge", "report", "slice",
    // Its answers are those of other commands, in JSON.
    "mcp",
];

/// Commands that talk to a collector or show its data.
const OF_COLLECTORS: &[&str] = &[
    "serve", "send", "attach", "push", "command", "token", "captures", "export", "log",
];

/// Commands that show nothing that a capture or a client said.
const WITHOUT_DATA: &[&str] = &["formats", "completions", "man", "help"];

#[test]
fn every_command_of_the_program_is_driven() {
    let folder = tempfile::tempdir().expect("a folder");
    let help = String::from_utf8(run(&["--help"], folder.path()).stdout).expect("text");
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    assert!(commands.len() > 20, "{help}");
    for command in commands {
        let listed = COMMANDS.iter().any(|args| args.first() == Some(&command));
        let apart = [DRIVEN_APART, OF_COLLECTORS, WITHOUT_DATA].concat();
        assert!(
            listed || apart.contains(&command),
            "{command} is not driven"
        );
    }
}

#[test]
fn what_draws_and_writes_says_names_as_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let captures = captures(folder.path());
    for capture in captures.iter().step_by(3) {
        let path = capture.to_str().expect("text");
        for (command, output) in [
            ("flame", "x.svg"),
            ("report", "x.html"),
            ("timeline", "x.html"),
            ("slice", "x.perfetto-trace"),
            ("merge", "x.pprof"),
        ] {
            let output = folder
                .path()
                .join(format!("{command}{HOSTILE}{output}").replace('/', ""));
            let output = output.to_str().expect("text");
            let args = [command, path, "-o", output, "--force", "--color", "always"];
            let more: &[&str] = match command {
                "slice" => &["--min-duration", "1ns"],
                "merge" => &[path, "--as-samples", "--losses"],
                _ => &[],
            };
            let args = [&args[..], more].concat();
            clean(&args, &run(&args, folder.path()));
        }
    }
}

#[test]
fn names_that_clients_send_never_act_on_a_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    captures(folder.path());
    let data = folder.path().join(named("data").replace('/', ""));
    let data = data.to_str().expect("text");
    let name = named("name").replace('/', "");
    let run = |args: &[&str]| {
        let output = run(args, folder.path());
        clean(args, &output);
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    assert!(run(&["token", "add", &name, "--right", "upload", "--data", data]).0);
    run(&["token", "revoke", &named("nobody"), "--data", data]);
    // The tokens are for addresses of other machines alone.
    let collector = collected::Collector::start(Path::new(data), &[]);
    let streams = folder.path().join("out0-cdt-streams");
    let streams = streams.to_str().expect("text");
    let named = ["--service", &name, "--namespace", &name];
    assert!(run(&[&["send", streams, "--to", &collector.url], &named[..]].concat()).0);
    let heph = folder.path().join("out0-heph");
    assert!(
        run(&[
            "send",
            heph.to_str().expect("text"),
            "--to",
            &collector.heph
        ])
        .0
    );
    let file = folder
        .path()
        .join(format!("in\u{1b}[35m\u{9b}\u{202e}{}", "a.json"));
    let named = ["--service", &name, "--instance", &name];
    let file = file.to_str().expect("text");
    run(&[&["push", file, "--to", &collector.http], &named[..]].concat());
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    assert_text(&["serve"], "stderr", &said);
    let (_, listed) = run(&["captures", "ls", data]);
    assert!(listed.contains("FORGED"), "{listed}");
    for args in [
        &["captures", "ls", data, "--json"][..],
        &["captures", "receipts", data],
        &["captures", "receipts", data, "--json"],
        &["token", "ls", data],
        &["token", "ls", data, "--json"],
        &["log", "ls", data],
        &["log", "cat", data],
        &["log", "verify", data],
        &["info", data],
        &["calls", data],
        &["export", "nothing", "--data", data, "-o", &name],
    ] {
        run(args);
    }
    let listed = run(&["captures", "ls", data, "--json"]).1;
    for (at, line) in listed.lines().enumerate() {
        let capture: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let id = capture["id"]
            .as_str()
            .map_or_else(|| capture["id"].to_string(), str::to_owned);
        let output = folder.path().join(format!("exported{at}"));
        let output = output.to_str().expect("text");
        run(&["export", &id, "--data", data, "-o", output]);
    }
}
