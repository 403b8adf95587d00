//! The seed formats as targets, and what the program tells of them.
#![allow(missing_docs, reason = "a test")]

mod program;

use std::collections::BTreeSet;
use std::path::PathBuf;

use program::{SHOP, json_lines, run, sample, stdout, text};
use serde_json::Value;
use traceloom_formats::{FORMATS, by_name};

/// A folder of its own for a test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("traceloom-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("a file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Functions and totals come back from streams, whatever was read.
#[test]
fn names_come_back_from_streams() {
    let scratch = Scratch::new("names");
    let mut compared = 0;
    for source in ["heph", "zorka-c", "zorka-b2", "chrome"] {
        let bytes = sample(source, 7, 3_000);
        let extension = by_name(source).expect("a format").extensions[0];
        let path = scratch.file(&format!("in.{extension}"), &bytes);
        // Names that the source does not tell stay numbers.
        let unnamed = |table: &str| table.matches(" #").count();
        let before = unnamed(&stdout(&["top", &path, "-n", "0", "--wide"]));
        for target in ["cdt-streams", "cdt-dump"] {
            let out = scratch.path(&format!("{source}-{target}"));
            run(&["convert", &path, "--to", target, "-o", &out]);
            let table = stdout(&["top", &out, "-n", "0", "--wide"]);
            assert_eq!(unnamed(&table), before, "{source} to {target}: {table}");
            assert!(table.lines().count() > 5, "{source} to {target}: {table}");
            compared += 1;
        }
    }
    assert_eq!(compared, 8);
}

#[test]
fn the_log_of_the_collector_is_kept() {
    let scratch = Scratch::new("gc");
    let log = scratch.file("gc.gc", &sample("cdt-gc", 7, 3_000));
    let events = |path: &str| {
        stdout(&["events", path, "--type", "pause", "--csv", "-n", "0"])
            .lines()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let before = events(&log);
    assert!(before.len() > 10, "{before:?}");
    for target in ["cdt-streams", "cdt-dump"] {
        let out = scratch.path(target);
        let converted = run(&["convert", &log, "--to", target, "-o", &out]);
        assert!(converted.status.success(), "{}", text(&converted.stderr));
        let gc = stdout(&["events", &out, "--type", "gc.pause", "--csv", "-n", "0"]);
        let after: Vec<&str> = gc.lines().collect();
        assert_eq!(after.len(), before.len(), "{target}");
        // Ends are told in milliseconds; durations, causes and sizes are exact.
        for (was, is) in before.iter().zip(&after).skip(1) {
            let fields = |row: &str| row.splitn(3, ',').nth(2).map(str::to_owned);
            assert_eq!(fields(was), fields(is), "{target}");
        }
    }
}

/// One byte too many in a conversation: the calls are there, and the damage is told.
#[test]
fn a_damaged_conversation_is_told_and_read_on() {
    let scratch = Scratch::new("tcp");
    let whole = sample("cdt-tcp", 7, 30_000);
    let path = scratch.file("whole.tcpdump", &whole);
    let calls = |path: &str| {
        stdout(&["calls", path, "--json", "-n", "0"])
            .lines()
            .count()
    };
    let all = calls(&path);
    assert!(all > 10, "{all}");
    assert!(run(&["check", &path]).status.success());
    for share in 1..6 {
        let at = whole.len() * share / 6;
        let mut bytes = whole.clone();
        bytes.insert(at, 0x5a);
        let path = scratch.file("damaged.tcpdump", &bytes);
        let output = run(&["calls", &path, "-n", "0"]);
        let said = text(&output.stderr);
        assert!(said.contains("damage"), "at {at}: {said}");
        assert!(
            calls(&path) * 10 >= all * 8,
            "at {at}: {} of {all}",
            calls(&path)
        );
        assert_eq!(run(&["check", &path]).status.code(), Some(1), "at {at}");
    }
}

/// A clock without a date is no date in any command; one with a date is that date.
#[test]
fn no_time_is_in_1970() {
    let scratch = Scratch::new("times");
    let epoch = 1_767_225_600_000_000_000_u64;
    let event = |start: u64| {
        let mut bytes = vec![0xc1, 0xfc, 0x1f, 0xb7, 0, 0, 0, 46];
        bytes.extend([0; 16]);
        bytes.extend(start.to_be_bytes());
        bytes.extend((start + 1000).to_be_bytes());
        bytes.extend([0, 4, b'w', b'o', b'r', b'k']);
        bytes
    };
    let mut dated = vec![0x75, 0xd1, 0x1d, 0x4d, 0, 0, 0, 23, 0, 5];
    dated.extend(b"epoch");
    dated.extend(epoch.to_be_bytes());
    dated.extend(event(5_000));
    let undated = event(5_000);
    // Runs behind each other: counters that begin again behind an epoch make the second.
    let mixed = [undated.clone(), dated.clone()].concat();
    // A message without a time before the first that has one, in a trace of 2007.
    let late = "<TRACE><filter pattern=\"*\" genericPattern=\"*\" mode=\"INCLUDE\" methodGenericPattern=\"*\"/>\n\
        <traceStart traceId=\"t\"/>\n\
        <threadStart threadId=\"1\" time=\"1185890426.304424453\" threadName=\"main\"/>\n\
        <gcStart/><gcFinish time=\"1185890426.404424453\"/></TRACE>";
    let dated = scratch.file("dated.heph", &dated);
    let undated = scratch.file("undated.heph", &undated);
    let mixed = scratch.file("mixed.heph", &mixed);
    let late = scratch.file("late.trcxml", late.as_bytes());
    let page = scratch.path("page.html");
    let commands: [&[&str]; 9] = [
        &["info"],
        &["calls"],
        &["calls", "--wide"],
        &["top"],
        &["tree"],
        &["timeline"],
        &["report", "-o", &page, "--force"],
        &["events"],
        &["dump"],
    ];
    for path in [&dated, &undated, &mixed, &late] {
        for command in commands {
            let mut args = vec![command[0], path.as_str()];
            args.extend(&command[1..]);
            let output = run(&args);
            let mut said = text(&output.stdout) + &text(&output.stderr);
            if let Ok(page) = std::fs::read_to_string(&page) {
                said += &page;
                let _ = std::fs::remove_file(&page);
            }
            assert!(!said.contains("1970-01"), "{args:?}: {said}");
        }
    }
    let info = stdout(&["info", &dated]);
    assert!(info.contains("2026-01-01T00:00:00.000005Z"), "{info}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&["info", "--json", &dated])).expect("JSON");
    assert_eq!(json["time"]["start_ns"], epoch + 5_000);
    assert_eq!(json["time"]["origin"], "unix");
    let of_mixed = stdout(&["calls", &mixed, "--json"]);
    for call in of_mixed.lines() {
        let call: serde_json::Value = serde_json::from_str(call).expect("JSON");
        assert_eq!(call["start"], epoch + 5_000, "{call}");
    }
    assert_eq!(of_mixed.lines().count(), 2);
    let points = scratch.path("points.lp");
    let chrome = scratch.file(
        "undated.json",
        br#"{"traceEvents":[{"ph":"i","name":"mark","pid":1,"tid":1,"ts":12,"s":"t"},{"ph":"C","name":"heap","pid":1,"ts":13,"args":{"x":1}}]}"#,
    );
    for (path, written) in [(&late, 1), (&undated, 0), (&chrome, 0)] {
        let to = [
            "--to",
            "line-protocol:events",
            "-o",
            &points,
            "--force",
            "--losses",
        ];
        let output = run(&[&["convert", path.as_str()], &to[..]].concat());
        let lines = std::fs::read_to_string(&points).expect("points");
        assert_eq!(!lines.is_empty(), written > 0, "{path}: {lines}");
        if path == &chrome {
            let told = text(&output.stderr);
            assert!(
                told.contains("mark") && told.contains("(counters)"),
                "{told}"
            );
        }
        for line in lines.lines() {
            let time = line.rsplit(' ').next().expect("a time");
            assert!(time.len() >= 19, "{path}: {line}: {}", text(&output.stderr));
        }
    }
    let calls = stdout(&["calls", &undated]);
    assert!(calls.contains("5 µs"), "{calls}");
    let events = stdout(&["events", &late, "--type", "*", "--json", "-n", "0"]);
    for line in events.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(
            event["time"].as_i64() >= Some(1_185_890_426_304_424_453),
            "{line}"
        );
    }
    assert!(events.lines().count() >= 3, "{events}");
}

/// Each format of calls holds its counters and no more, and the loss report says which are lost.
#[test]
fn calls_are_written_in_every_format() {
    let scratch = Scratch::new("calls");
    let since = [
        ("logs_written", 1),
        // Rows have it from version 2 on; the agent's text at the end of a call has it as well.
        ("cpu", 1),
        ("memory_used", 2),
        ("net_written", 3),
        ("queue", 4),
    ];
    for version in 1..=4_u64 {
        let out = scratch.path(&format!("v{version}"));
        let to = format!("cdt-streams:calls{version}");
        let report = stdout(&["convert", SHOP, "--to", &to, "-o", &out, "--json"]);
        let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
        let lost = report["lost"].as_array().expect("a list");
        let counters = lost.iter().filter(|lost| lost["kind"] == "span_counters");
        let lost: Vec<&str> = counters.filter_map(|lost| lost["field"].as_str()).collect();
        assert_eq!(
            lost.contains(&"cpu_time"),
            version < 2,
            "{version}: {lost:?}"
        );
        assert_eq!(
            lost.contains(&"net_read"),
            version < 3,
            "{version}: {lost:?}"
        );
        assert_eq!(
            lost.contains(&"queue_wait"),
            version < 4,
            "{version}: {lost:?}"
        );
        assert!(!lost.contains(&"logs_written"), "{version}: {lost:?}");
        assert!(run(&["check", &out]).status.success(), "{version}");
        let records = json_lines(&["dump", &out, "--json"]);
        let header = records
            .iter()
            .find(|record| record["kind"] == "calls_header");
        assert_eq!(header.expect("a header")["version"], version);
        let calls = json_lines(&["calls", &out, "--json", "-n", "0", "--columns", "all"]);
        assert!(calls.len() >= 53, "{}", calls.len());
        let whole = json_lines(&["calls", SHOP, "--json", "-n", "0", "--columns", "all"]);
        for (field, first) in since {
            let sum = |calls: &[serde_json::Value]| {
                calls
                    .iter()
                    .filter_map(|call| call[field].as_i64())
                    .sum::<i64>()
            };
            let wanted = if version >= first { sum(&whole) } else { 0 };
            assert_eq!(sum(&calls), wanted, "{version} {field}");
        }
    }
    let refused = run(&[
        "convert",
        SHOP,
        "--to",
        "cdt-dump:calls5",
        "-o",
        &scratch.path("x"),
    ]);
    assert!(
        text(&refused.stderr).contains("calls1 to calls4"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn tptp_is_written_in_both_byte_orders() {
    let scratch = Scratch::new("orders");
    let calls = |path: &str| {
        let mut calls = json_lines(&["calls", path, "--json", "-n", "0"]);
        for call in &mut calls {
            // Where a call lies is its own.
            call.as_object_mut().expect("an object").remove("id");
        }
        calls
    };
    let plain = scratch.path("plain.trcbin");
    stdout(&["convert", SHOP, "--to", "tptp-binary", "-o", &plain]);
    let expected = calls(&plain);
    assert!(expected.len() >= 53, "{}", expected.len());
    for (variant, platform, order) in [("be", 1, 0), ("32", 0, 1), ("be,32", 0, 0)] {
        let out = scratch.path(&format!("{platform}{order}.trcbin"));
        let to = format!("tptp-binary:{variant}");
        stdout(&["convert", SHOP, "--to", &to, "-o", &out]);
        let bytes = std::fs::read(&out).expect("the file");
        assert_eq!(bytes[6..8], [platform, order], "{variant}");
        assert!(run(&["check", &out]).status.success(), "{variant}");
        assert_eq!(calls(&out), expected, "{variant}");
    }
}

/// Returns the lines of a format in `--to list`.
fn section<'l>(listed: &'l str, format: &str) -> Vec<&'l str> {
    let is_name = |line: &&str| line.split_whitespace().next() == Some(format);
    let mut lines = listed.lines().skip_while(|line| !is_name(line));
    let first = lines.next();
    let variants = lines.take_while(|line| line.starts_with("  :"));
    first.into_iter().chain(variants).collect()
}

/// `--to list` has a line for every variant, and a variant that it lists can be asked for.
#[test]
fn every_variant_is_listed() {
    let listed = stdout(&["convert", "--to", "list"]);
    let scratch = Scratch::new("variants");
    let mut variants = 0;
    for format in FORMATS.iter().filter(|format| format.raise.is_some()) {
        for variant in format.holds.variants() {
            let line = format!(":{}", variant.name);
            assert!(listed.contains(&line), "{} {line}: {listed}", format.name);
            let open = variant.name.chars().any(|c| c.is_ascii_uppercase());
            if !open {
                let to = format!("{}:{}", format.name, variant.name);
                let out = scratch.path(&variants.to_string());
                let output = run(&["convert", SHOP, "--to", &to, "-o", &out, "--as-samples"]);
                let said = text(&output.stderr);
                assert!(!said.contains("no variant"), "{to}: {said}");
            }
            variants += 1;
        }
        // What a format says it has when it is asked for another one is listed too.
        let to = format!("{}:xyzzy", format.name);
        let mut said = String::new();
        for more in [&[][..], &["--as-samples"]] {
            let out = scratch.path("refused");
            let args = ["convert", SHOP, "--to", &to, "-o", &out];
            said = text(&run(&[&args, more].concat()).stderr);
            if !said.contains("--as-samples writes") {
                break;
            }
        }
        let there = said
            .split_once("there are ")
            .or(said.split_once("there is "));
        let words = there.map_or("", |(_, words)| words);
        let words = words.split(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c));
        let own = section(&listed, format.name);
        for word in words.filter(|word| !["", "and", "to", "none"].contains(word)) {
            let listed = own.iter().any(|line| line.contains(word));
            assert!(listed, "{word} of {}: {own:?}", format.name);
        }
        let open = ["folded", "firefox"].contains(&format.name);
        let refused = if open {
            "no profile has a column"
        } else {
            "no variant"
        };
        let absent = said.contains("without the feature `tables`");
        assert!(absent || said.contains(refused), "{to}: {said}");
    }
    assert!(variants > 20, "{variants}");
}

/// A trace as the description lists it: level, header and elapsed time of every event; and the phrases of words.
#[test]
fn a_dump_shows_level_header_and_phrase() {
    let scratch = Scratch::new("dump");
    let start = 1_767_225_600_000_i64;
    let mut trace = start.to_be_bytes().to_vec();
    trace.extend(1_i64.to_be_bytes());
    trace.extend((start + 1101).to_be_bytes());
    // ENTER 9 after 1,101 ms, ENTER 35, EXIT after 3 ms, TAG 18 "ab", EXIT.
    trace.extend([0xb4, 0x22, 0x09, 0x00, 0x23, 0x0d, 0x02, 0x12, 0x00, 0x02]);
    trace.extend([0, b'a', 0, b'b', 0x01, 0x03]);
    let path = scratch.file("trace.bin", &trace);
    let records = json_lines(&["dump", &path, "--json"]);
    let events: Vec<_> = records.iter().skip(2).collect();
    let shown = |field: &str| -> Vec<Option<i64>> {
        events.iter().map(|event| event[field].as_i64()).collect()
    };
    let kinds: Vec<_> = events.iter().map(|event| event["kind"].as_str()).collect();
    assert_eq!(
        kinds,
        ["enter", "enter", "exit", "tag", "exit", "finish"].map(Some)
    );
    assert_eq!(shown("level")[..5], [0, 1, 1, 0, 0].map(Some));
    assert_eq!(shown("header")[..6], [180, 0, 13, 2, 1, 3].map(Some));
    assert_eq!(shown("elapsed")[..5], [1101, 0, 3, 0, 0].map(Some));

    let words = ["call.info", "call.red", "shop.Basket.total"];
    let mut dictionary = Vec::new();
    for word in words {
        let units: Vec<u8> = word.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let length = u32::try_from(units.len() + 1).expect("short");
        dictionary.extend(length.to_be_bytes());
        dictionary.push(u8::try_from(word.len()).expect("short"));
        dictionary.extend(units);
    }
    let path = scratch.file("dictionary.bin", &dictionary);
    let records = json_lines(&["dump", &path, "--json"]);
    let phrases: Vec<_> = records
        .iter()
        .filter(|record| record["kind"] == "word")
        .map(|word| word["phrase"].as_i64())
        .collect();
    assert_eq!(phrases, [1, 2, 3].map(Some));
}

/// Two records of the seed's generation that begin with the same number, which is no symbol: one trace, found by it.
#[test]
fn a_trace_is_found_by_its_number() {
    let scratch = Scratch::new("number");
    let mut record = vec![0xd8, 0x0b, 0x9f, 0x48];
    record.extend([0x67, 0x45, 0x23, 0x01, 0x00, 0x0a, 0x00, 0x00]);
    record.extend([
        0xd8, 0x21, 0x82, 0x1b, 0, 0, 0x01, 0x65, 0x92, 0x0d, 0x0e, 0xf0, 7,
    ]);
    record.push(0x48);
    record.extend([0xb0, 0x46, 0x23, 0x01, 0x00, 0x04, 0x00, 0x00, 0xff]);
    let other: Vec<u8> = record
        .iter()
        .map(|&byte| if byte == 7 { 9 } else { byte })
        .collect();
    // A stream that defines symbols tells by that what is none.
    let symbol = [0xc1, 0x82, 0x18, 0x64, 0x61, b'a'];
    let path = scratch.file("s0.bin", &[&symbol[..], &record, &record, &other].concat());
    let trace = format!("trace {:032x}", 7);
    let shown = stdout(&["call", &path, "7"]);
    assert!(shown.contains(&trace), "{shown}");
    let spans = shown
        .lines()
        .find(|line| line.contains("spans"))
        .expect("a count");
    assert!(spans.trim_end().ends_with(" 2"), "{shown}");
    assert_eq!(shown, stdout(&["call", &path, &trace["trace ".len()..]]));
    let unknown = run(&["call", &path, "8"]);
    assert_eq!(unknown.status.code(), Some(1));
}

/// Adds what a value is, and what those in it are.
fn kinds(value: &Value, found: &mut BTreeSet<&'static str>) {
    found.insert(match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    });
    if let Value::Array(items) = value {
        items.iter().for_each(|item| kinds(item, found));
    }
}

/// Values of attributes, the nested ones too, are JSON of their type in every command that tells them.
#[test]
fn attributes_of_traces_stay_structured() {
    let scratch = Scratch::new("typed");
    let expected = ["integer", "list", "text", "boolean", "float"];
    let mut typed = Vec::new();
    traceloom_samples::zorka::c_typed(7, 6_000, &mut |piece| typed.extend_from_slice(piece));
    for (format, bytes) in [
        ("zorka-s0", sample("zorka-s0", 7, 6_000)),
        ("zorka-c", typed),
    ] {
        let path = scratch.file(format, &bytes);
        let [mut dumped, mut listed, mut called] = [(); 3].map(|()| BTreeSet::new());
        for record in json_lines(&["dump", "--json", &path]) {
            for pair in record["attributes"].as_array().into_iter().flatten() {
                kinds(&pair[1], &mut dumped);
            }
        }
        for call in json_lines(&["calls", "--json", &path]) {
            let own = call["attributes"].as_object().expect("attributes");
            own.values().for_each(|value| kinds(value, &mut listed));
            let id = call["id"].as_str().expect("an id");
            let spans = json_lines(&["call", "--json", &path, id]).remove(0);
            let spans = spans["spans"].as_array().expect("spans").iter();
            for attribute in spans.flat_map(|span| span["attributes"].as_array().expect("a list")) {
                kinds(&attribute["value"], &mut called);
            }
        }
        // The list has those of first spans alone.
        for (command, found, all) in [
            ("dump", dumped, 5),
            ("call", called, 5),
            ("calls", listed, 2),
        ] {
            let missing = expected[..all].iter().find(|kind| !found.contains(*kind));
            assert_eq!(missing, None, "{command} of {format}: {found:?}");
        }
    }
}
