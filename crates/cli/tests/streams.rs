//! Standard output and standard error that cannot be written: nobody reads them, or the disk is full.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::process::{Command, Output, Stdio};

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

/// Stands for a folder with a profile that has metrics.
const BUNDLE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/bundle-of-metrics");
const TPTP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tptp/vectors");

fn command(args: &[&str]) -> Command {
    if args.contains(&BUNDLE) {
        const EVENT: &str = r#"{"attachments":["metrics.json"],"tags_profiler":"service:s,language:golang",
            "start":"2024-01-01T00:00:00Z","end":"2024-01-01T00:01:00Z"}"#;
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(BUNDLE).expect("a folder");
            let path = format!("{BUNDLE}/{name}");
            let partial = format!("{path}.{:?}", std::thread::current().id());
            std::fs::write(&partial, text).expect("a file in a folder of its own");
            std::fs::rename(&partial, &path).expect("its name");
        };
        write("event.json", EVENT);
        write("metrics.json", r#"[["go_num_goroutine",26]]"#);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.args(args).stdin(Stdio::null());
    command
}

/// A pipe that nobody reads any more.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn full_disk() -> Stdio {
    File::options()
        .write(true)
        .open("/dev/full")
        .expect("the device")
        .into()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Commands that print to standard error, with their exit codes.
const TALKERS: &[(&[&str], i32)] = &[
    (&["metrics", SHOP], 0),
    (&["monitors", SHOP], 0),
    (&["objects", SHOP], 0),
    (&["info", "no-such-file"], 1),
    (&["inof", "x"], 2),
    (&["calls"], 2),
    (&["calls", "--limit", "nonsense", SHOP], 2),
    (&["tree", "--adjust", "com.acme.Nowhere=0", SHOP], 0),
    (&["convert", SHOP, "--to", "chrome", "-o", "/dev/null"], 0),
    (&["timeline", "--until", "1970-01-01T00:00:00Z", SHOP], 0),
];

/// Commands that print to standard output.
const PRINTERS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["top", "--help"],
    &["formats"],
    &["formats", "--json"],
    &["completions", "bash"],
    &["man"],
    &["convert", "--to", "list"],
    &[SHOP],
    &["info", SHOP],
    &["dump", SHOP],
    &["check", SHOP],
    &["calls", SHOP],
    &["calls", "--csv", SHOP],
    &["calls", "--by", "service", SHOP],
    &["events", SHOP],
    &["top", SHOP],
    &["tree", SHOP],
    &["diff", SHOP, SHOP],
    &["objects", "--collections", SHOP],
    &["call", SHOP, "6.8.0"],
    &["call", "--json", SHOP, "6.8.0"],
    &["events", "--type", "pause", SHOP],
    &["events", "--type", "pause", "--csv", SHOP],
    &["metrics", BUNDLE],
    &["metrics", "--csv", BUNDLE],
    &["metrics", "--line-protocol", BUNDLE],
    &["monitors", TPTP],
    &["monitors", "--json", TPTP],
    &["monitors", "--csv", TPTP],
    &["objects", "--json", SHOP],
    &["objects", "--csv", "--collections", SHOP],
    &[
        "slice",
        SHOP,
        "--min-duration",
        "1ms",
        "--to",
        "chrome",
        "-o",
        "-",
    ],
    &["merge", SHOP, SHOP, "--to", "chrome", "-o", "-"],
    &["timeline", SHOP],
    &["timeline", "--json", SHOP],
    &["flame", SHOP, "-o", "-"],
    &["report", SHOP, "-o", "-"],
    &["convert", SHOP, "--to", "chrome", "-o", "-"],
    &["convert", SHOP, "--to", "folded", "--as-samples", "-o", "-"],
    &["convert", SHOP, "--to", "speedscope", "-o", "-"],
];

#[test]
fn a_standard_error_that_cannot_be_written_changes_no_exit_code() {
    for (args, code) in TALKERS {
        let heard = command(args).output().expect("the program runs");
        assert_eq!(
            heard.status.code(),
            Some(*code),
            "{args:?}: {}",
            text(&heard)
        );
        for lost in [closed_pipe, full_disk] {
            let status = command(args).stdout(Stdio::null()).stderr(lost()).status();
            let status = status.expect("the program runs");
            assert_eq!(status.code(), Some(*code), "{args:?}: {status}");
        }
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    for args in PRINTERS {
        let output = command(args)
            .stdout(closed_pipe())
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output));
        assert!(
            !text(&output).contains("pipe"),
            "{args:?}: {}",
            text(&output)
        );
    }
}

#[test]
fn a_full_disk_is_a_failure_that_says_so() {
    for args in PRINTERS {
        let output = command(args)
            .stdout(full_disk())
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", text(&output));
        let told = text(&output);
        let last = told.lines().last().unwrap_or_default();
        assert_eq!(
            last, "traceloom: standard output: No space left on device (os error 28)",
            "{args:?}",
        );
    }
}

#[test]
fn both_closed_is_no_crash() {
    for args in PRINTERS.iter().chain(TALKERS.iter().map(|(args, _)| args)) {
        let status = command(args)
            .stdout(closed_pipe())
            .stderr(closed_pipe())
            .status();
        let status = status.expect("the program runs");
        assert!(
            status.code().is_some_and(|code| code <= 2),
            "{args:?}: {status}"
        );
    }
}
