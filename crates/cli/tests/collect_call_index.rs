//! Lists of calls from the indexes of captures are those of the captures, and read as much as a page needs.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use collected::http::{ask, captures, request};
use collected::indexes::damage;
use collected::{Collector, eventually, json_rows, push, run, stdout, text};
use serde_json::{Value, json};

/// Waits until each of `n` captures is decoded.
fn decoded(data: &Path, n: usize) {
    eventually(|| {
        let rows = captures(data);
        let is_decoded = |row: &Value| row["facts"].is_object();
        (rows.len() == n && rows.iter().all(is_decoded)).then_some(())
    });
}

/// The folder of indexes, and what it is called while nobody is to find it.
fn indexes(data: &Path) -> [PathBuf; 2] {
    [data.join("calls"), data.join("calls.away")]
}

/// Answers a question from indexes, and from the captures themselves.
fn both(data: &Path, args: &[&str]) -> [Vec<Value>; 2] {
    let [there, away] = indexes(data);
    let all = [&["calls", text(data), "--json", "--page"], args].concat();
    let indexed = json_rows(&run(&all));
    fs::rename(&there, &away).expect("indexes");
    let read = json_rows(&run(&all));
    fs::rename(&away, &there).expect("indexes");
    [indexed, read]
}

/// Returns the rows without the numbers by which a folder of several captures counts its parts, and the last line.
fn rows(mut lines: Vec<Value>) -> (Vec<Value>, Value) {
    let end = lines.pop().expect("a last line");
    for line in &mut lines {
        line.as_object_mut().expect("an object").remove("id");
    }
    (lines, end)
}

/// Holds the rows of two answers against each other.
#[track_caller]
fn assert_same(indexed: &[Value], read: &[Value], what: &dyn std::fmt::Debug) {
    let differs = indexed
        .iter()
        .zip(read)
        .position(|(one, other)| one != other);
    if let Some(at) = differs {
        panic!(
            "{what:?}: row {at}: {} in place of {}",
            indexed[at], read[at]
        );
    }
    assert_eq!(indexed.len(), read.len(), "{what:?}");
}

/// Calls of a busy service as Chrome writes them: eight threads, one call a millisecond, some levels below each.
fn requests(n: u64) -> String {
    let mut events = Vec::new();
    for at in 0..n {
        let (tid, ts, dur) = (at % 8, at * 1000, 900 + at * 7919 % 5000);
        let name = |layer: &str, at: u64| format!("com.acme.shop.{layer}{}.work", at % 60);
        events.push(json!({"ph": "X", "pid": 1, "tid": tid, "ts": ts * 8, "dur": dur, "name": name("Service", at)}));
        for layer in 0..6 {
            let ts = ts * 8 + layer * 100;
            events.push(json!({"ph": "X", "pid": 1, "tid": tid, "ts": ts, "dur": 90, "name": name("Layer", at + layer)}));
        }
    }
    Value::Array(events).to_string()
}

/// A collector with captures of every format that has calls.
fn collected_calls(scratch: &Path) -> (Collector, PathBuf, usize) {
    let data = scratch.join("data");
    let collector = Collector::start(&data, &[]);
    for service in ["first", "second"] {
        let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
        stdout(&["send", shop, "--to", &collector.url, "--service", service]);
    }
    let formats = [
        "chrome",
        "otlp-traces",
        "zipkin",
        "perfetto",
        "zorka-s0",
        "heph",
        "jfr",
        "pprof",
    ];
    for (seed, format) in (1..).zip(formats) {
        let bytes = traceloom_samples::bytes(format, seed, 60_000);
        push(
            &collector,
            scratch,
            &format!("sample-{format}"),
            format,
            &bytes,
        );
    }
    // Equal calls of two captures, and none at all.
    for name in ["once", "again"] {
        push(&collector, scratch, name, name, requests(3000).as_bytes());
    }
    push(
        &collector,
        scratch,
        "unknown",
        "unknown",
        b"nothing of any format\n\0\x01",
    );
    let n = 2 + formats.len() + 3;
    decoded(&data, n);
    (collector, data, n)
}

#[test]
fn calls_of_indexes_are_those_of_the_captures() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (_collector, data, n) = collected_calls(scratch.path());
    let made = fs::read_dir(data.join("calls")).expect("indexes");
    assert_eq!(made.count(), n);
    let wanted: [&[&str]; 16] = [
        &["--sort=-start"],
        &["--sort=start"],
        &["--sort=-duration"],
        &["--sort=duration"],
        &["--sort=-end"],
        &["--sort=-suspended"],
        &["--sort=thread"],
        &["--sort=-title"],
        &["--sort=-service"],
        &["--sort=instance"],
        &["--sort=-memory_used"],
        &["--sort=-duration", "--errors"],
        &["--sort=-start", "--filter", "duration > 2ms"],
        &["--sort=-start", "--filter", "no such words anywhere"],
        &[
            "--sort=-duration",
            "--filter",
            "service = first or Service7",
        ],
        &[
            "--sort=-start",
            "--columns",
            "start,method,component,exception",
        ],
    ];
    for args in wanted {
        for n in ["7", "900"] {
            let [indexed, read] = both(&data, &[args, &["-n", n]].concat());
            let ((indexed, end), (read, whole)) = (rows(indexed), rows(read));
            assert_same(&indexed, &read, &args);
            assert_eq!(end["next"], whole["next"], "{args:?}");
            assert!(end["index_bytes"].as_u64() > Some(0), "{args:?}: {end}");
            assert_eq!(whole["index_bytes"], 0, "{args:?}: {whole}");
            if !args.contains(&"--sort=-start") {
                for count in ["read", "selected"] {
                    assert_eq!(end[count], whole[count], "{args:?}: {count}");
                }
            }
        }
    }
}

#[test]
fn pages_of_indexes_follow_each_other_to_the_end() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (_collector, data, _) = collected_calls(scratch.path());
    for sort in ["--sort=-start", "--sort=-duration", "--sort=duration"] {
        let page = |n: &str, after: Option<&str>| {
            let mut args = vec!["calls", text(&data), "--json", "--page", sort, "-n", n];
            args.extend(after.into_iter().flat_map(|after| ["--after", after]));
            rows(json_rows(&run(&args)))
        };
        let (all, _) = page("100000", None);
        assert!(all.len() > 6000, "{}", all.len());
        let names = |rows: &[Value]| -> Vec<Value> {
            rows.iter().map(|row| row["capture"].clone()).collect()
        };
        let (mut paged, mut after) = (Vec::new(), None::<String>);
        for _ in 0..4 {
            let (rows, end) = page("700", after.as_deref());
            paged.extend(names(&rows));
            after = end["next"].as_str().map(str::to_owned);
        }
        assert_eq!(paged, names(&all)[..2800], "{sort}");
    }
}

#[test]
fn a_stretch_of_time_is_read_from_indexes_too() {
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let collector = Collector::start(&data, &[]);
    for service in ["first", "second"] {
        let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
        stdout(&["send", shop, "--to", &collector.url, "--service", service]);
    }
    decoded(&data, 2);
    let (all, _) = rows(json_rows(&run(&[
        "calls",
        text(&data),
        "--json",
        "--page",
        "--sort=start",
    ])));
    let start = |row: usize| all[row]["start"].to_string();
    let (since, until) = (start(all.len() / 3), start(all.len() / 2));
    for sort in ["--sort=-start", "--sort=-duration", "--sort=-suspended"] {
        for bounds in [
            &["--since", &since][..],
            &["--since", &since, "--until", &until],
        ] {
            let [indexed, read] = both(&data, &[bounds, &[sort, "-n", "400"]].concat());
            let ((indexed, end), (read, whole)) = (rows(indexed), rows(read));
            assert!(!read.is_empty());
            assert_same(&indexed, &read, &(sort, bounds));
            assert!(end["index_bytes"].as_u64() > Some(0));
            assert_eq!(whole["index_bytes"], 0);
        }
    }
}

#[test]
fn a_page_reads_as_many_bytes_as_it_needs_and_no_capture() {
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let collector = Collector::start(&data, &[]);
    let trace = scratch.join("requests.json");
    fs::write(&trace, requests(30_000)).expect("a file");
    let streams = scratch.join("streams");
    stdout(&[
        "convert",
        text(&trace),
        text(&streams),
        "--to",
        "cdt-streams",
    ]);
    let send = [
        "send",
        text(&streams),
        "--to",
        &collector.url,
        "--agents",
        "3",
    ];
    stdout(&send);
    decoded(&data, 3);
    let size: u64 = fs::read_dir(data.join("calls"))
        .expect("indexes")
        .map(|entry| entry.expect("an entry").metadata().expect("a size").len())
        .sum();
    // Where the bytes of captures are away, only indexes answer.
    fs::rename(data.join("chunks"), data.join("chunks.away")).expect("chunks");
    fs::create_dir(data.join("chunks")).expect("a folder");
    let page = |args: &[&str]| {
        let all = [
            &["calls", text(&data), "--json", "--page", "-n", "200"],
            args,
        ]
        .concat();
        rows(json_rows(&run(&all)))
    };
    let (newest, end) = page(&["--sort=-start"]);
    assert_eq!(newest.len(), 200);
    let read = end["index_bytes"].as_u64().expect("bytes");
    assert!(read * 8 < size, "{read} of {size} bytes");
    assert_eq!(
        (&end["captures_read"], &end["is_whole"]),
        (&json!(3), &json!(false))
    );
    // A filter that few calls pass: some more first, and everything where that is not enough.
    let (rare, _) = page(&["--sort=-start", "--filter", "Service7.work"]);
    assert_eq!(rare.len(), 200);
    let (none, end) = page(&["--sort=-start", "--filter", "duration > 1h"]);
    assert_eq!((none.len(), &end["is_whole"]), (0, &json!(true)));
    let (longest, end) = page(&["--sort=-duration"]);
    assert_eq!((longest.len(), &end["selected"]), (200, &json!(90_000)));
    assert_eq!(longest[0]["duration"], 5_000_000);
    drop(collector);
}

#[test]
fn what_is_damaged_or_of_another_manifest_is_read_from_the_capture() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (collector, data, n) = collected_calls(scratch.path());
    let ask = |sort: &str| {
        rows(json_rows(&run(&[
            "calls",
            text(&data),
            "--json",
            "--page",
            "-n",
            "50",
            sort,
        ])))
    };
    let sorts = ["--sort=-start", "--sort=-duration"];
    let expected = sorts.map(|sort| ask(sort).0);
    let mut indexes: Vec<PathBuf> = fs::read_dir(data.join("calls"))
        .expect("indexes")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    indexes.sort();
    damage(&indexes);
    assert_eq!(sorts.map(|sort| ask(sort).0), expected);
    // The next start makes those again that were never made for these manifests.
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    for path in &indexes {
        fs::remove_file(path).expect("an index");
    }
    let left = data.join("calls/1-999.new");
    fs::write(&left, b"half").expect("a file");
    let collector = Collector::start(&data, &[]);
    eventually(|| indexes.iter().all(|path| path.is_file()).then_some(()));
    assert!(!left.exists());
    let first = captures(&data)[0]["id"].as_str().expect("an id").to_owned();
    stdout(&["captures", "delete", &first, "--data", text(&data)]);
    eventually(|| (captures(&data).len() == n - 1).then_some(()));
    eventually(|| (!data.join("calls").join(&first).exists()).then_some(()));
    drop(collector);
}

/// Calls of all services can be told apart, although CDT's own recordings name none.
#[test]
fn calls_tell_who_sent_them() {
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    let collector = Collector::start(&data, &[]);
    for service in ["first", "second"] {
        let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
        stdout(&["send", shop, "--to", &collector.url, "--service", service]);
    }
    decoded(&data, 2);
    let captures = captures(&data);
    let sent_by = |of: &Value, what: &str| {
        let mut all = captures.iter();
        all.find(|row| row["id"] == of["capture"]["id"])
            .map(|row| row[what].clone())
    };
    let [indexed, read] = both(&data, &["--sort=-duration", "-n=20"]);
    for calls in [indexed, read] {
        let (calls, _) = rows(calls);
        assert_eq!(calls.len(), 20);
        for call in &calls {
            assert_eq!(Some(call["service"].clone()), sent_by(call, "service"));
            assert_eq!(Some(call["instance"].clone()), sent_by(call, "instance"));
        }
        assert_ne!(
            calls[0]["service"], calls[1]["service"],
            "each call came twice"
        );
    }
    let csv = stdout(&[
        "calls",
        text(&data),
        "--csv",
        "-n=0",
        "--columns",
        "service",
    ]);
    for service in ["first", "second"] {
        let of = csv.lines().filter(|line| line.ends_with(service)).count();
        assert_eq!(of, 56, "{csv}");
    }
}

/// A folder of many small captures of three calls, which begin at microseconds by the numbers of the capture and of the call; in each
/// the second call takes longer than in any before.
fn many_small_captures(data: &Path, n: u64, start_us: fn(u64, u64) -> u64) {
    const AT_A_TIME: u64 = 8;
    let collector = Collector::start(data, &[]);
    let spans = |capture: u64| {
        let spans = (0..3).map(|span| {
            let id = format!("{:016x}", 1 + 3 * capture + span);
            json!({
                "traceId": id,
                "id": id,
                "name": if capture == 0 { "get /oldest" } else { "get /orders" },
                "timestamp": 1_700_000_000_000_000 + start_us(capture, span),
                "duration": 1000 + if span == 1 { capture } else { 0 },
                "localEndpoint": {"serviceName": "shop"},
            })
        });
        Value::Array(spans.collect()).to_string()
    };
    std::thread::scope(|scope| {
        for first in 0..AT_A_TIME {
            let http = &collector.http;
            scope.spawn(move || {
                // They come in another order than that of their times.
                for at in (first..n).step_by(AT_A_TIME as usize) {
                    let line = "POST /api/v1/upload?name=spans.json&service=shop";
                    let body = spans(at * 7919 % n);
                    let request = request(http, line, "", body.as_bytes());
                    let answer = ask(http, &request);
                    assert!(answer.status < 300, "{}", answer.body);
                }
            });
        }
    });
    // Every hundred of them has the time that all of a smaller folder have.
    for wanted in (100..=n).step_by(100) {
        eventually(|| {
            let catalog = fs::read_to_string(data.join("catalog")).ok()?;
            let rows = catalog.lines().filter(|line| !line.is_empty());
            (rows.count() as u64 >= wanted).then_some(())
        });
    }
    decoded(data, usize::try_from(n).expect("a number"));
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
}

/// Where all captures cover the same hour, the newest page opens no more of them than it has rows.
#[test]
fn a_page_of_captures_of_the_same_time_opens_one_a_row() {
    const N_CAPTURES: u64 = 300;
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    many_small_captures(&data, N_CAPTURES, |capture, span| {
        span * 1_800_000_000 + capture * 100
    });
    let page = |args: &[&str]| {
        let asked = ["calls", text(&data), "--json", "--page", "--sort=-start"];
        rows(json_rows(&run(&[&asked, args].concat())))
    };
    let (all, _) = page(&["-n=1000"]);
    assert_eq!(all.len() as u64, 3 * N_CAPTURES);
    let (newest, end) = page(&["-n=7"]);
    assert_eq!(newest, all[..7]);
    assert_eq!(end["indexes_opened"], 7, "{end}");
    assert_eq!(end["captures_read"], 7, "{end}");
    let next = end["next"].as_str().expect("a place");
    let (behind, _) = page(&["-n=7", "--after", next]);
    assert_eq!(behind, all[7..14]);
    // From a moment on as well; a call that began before it begins with it.
    let since = "--since=2023-11-14T22:45:00Z";
    let (of_hour, end) = page(&["-n=7", since]);
    assert_eq!(of_hour, newest);
    assert_eq!(end["indexes_opened"], 7, "{end}");
}

#[test]
fn pages_over_thousands_of_captures_open_few_files_at_a_time() {
    const N_CAPTURES: u64 = 2000;
    let scratch = tempfile::tempdir().expect("a folder");
    let data = scratch.path().join("data");
    // A minute of time each.
    many_small_captures(&data, N_CAPTURES, |capture, span| {
        capture * 60_000_000 + span * 1_000_000
    });
    // Only indexes answer, and there are fewer files to be had than indexes.
    fs::rename(data.join("chunks"), data.join("chunks.away")).expect("chunks");
    fs::create_dir(data.join("chunks")).expect("a folder");
    let page = |args: &[&str]| {
        let mut command = Command::new("bash");
        let shell = [
            "-c",
            "ulimit -n 64; exec \"$0\" \"$@\"",
            env!("CARGO_BIN_EXE_traceloom"),
        ];
        let asked = ["calls", text(&data), "--json", "--page", "-n", "7"];
        command.args(shell).args(asked).args(args);
        rows(json_rows(&command.output().expect("a shell")))
    };
    let number = |end: &Value, of: &str| end[of].as_u64().expect("a number");

    // Three captures hold the newest seven calls.
    let (newest, end) = page(&["--sort=-start"]);
    let starts: Vec<u64> = newest.iter().map(|call| number(call, "start")).collect();
    let minute = |capture: u64| 1_700_000_000_000_000_000 + capture * 60_000_000_000;
    let (last, second) = (minute(N_CAPTURES - 1), 1_000_000_000);
    assert_eq!(
        starts[..4],
        [
            last + 2 * second,
            last + second,
            last,
            minute(N_CAPTURES - 2) + 2 * second
        ]
    );
    assert_eq!(number(&end, "captures"), N_CAPTURES);
    assert_eq!(number(&end, "captures_read"), 3);
    assert_eq!(number(&end, "indexes_opened"), 3);

    // By duration every index is opened once, and closed again.
    let (longest, end) = page(&["--sort=-duration"]);
    let durations = longest.iter().map(|call| number(call, "duration"));
    let expected = (0..7).map(|at| (1000 + N_CAPTURES - 1 - at) * 1000);
    assert_eq!(durations.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(number(&end, "selected"), 3 * N_CAPTURES);
    assert_eq!(number(&end, "indexes_opened"), N_CAPTURES);

    // What passes a filter is in the oldest capture: all are looked at.
    let (oldest, end) = page(&["--sort=-start", "--filter", "oldest"]);
    let starts: Vec<u64> = oldest.iter().map(|call| number(call, "start")).collect();
    let first = minute(0);
    assert_eq!(starts, [first + 2 * second, first + second, first]);
    assert_eq!(number(&end, "captures_read"), N_CAPTURES);
    assert!(number(&end, "indexes_opened") < 2 * N_CAPTURES, "{end}");
}
