//! Pipes, `/dev/stdin` and process substitution as inputs, and folders that cannot be read whole.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Samples of two stacks, which every command can show.
const FOLDED: &str = "main;read 7\nmain;write 5\n";

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_traceloom"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a scratch folder")
}

/// Runs `command` in bash with the program as `$T`.
fn bash(command: &str, at: &Path) -> Output {
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).current_dir(at);
    bash.env("T", env!("CARGO_BIN_EXE_traceloom"));
    bash.output().expect("bash runs")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("gzip runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(bytes).expect("is read");
    drop(stdin);
    child.wait_with_output().expect("ends").stdout
}

#[test]
fn every_command_reads_pipes_as_it_reads_files() {
    let scratch = scratch();
    let at = scratch.path();
    fs::write(at.join("stdin"), FOLDED).expect("a file");
    fs::write(at.join("packed.gz"), gzip(FOLDED.as_bytes())).expect("a file");
    let commands = [
        "top --csv IN",
        "tree IN",
        "flame -o - --title t IN",
        "report -o - --title t IN",
        "timeline --json IN",
        "check --json IN",
        "dump --json IN",
        "convert IN - --to folded",
        "diff IN stdin",
    ];
    for command in commands {
        let output = |input: &str| {
            let line = format!("$T {}", command.replace("IN", input));
            let output = bash(&line, at);
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{line}: {}", stderr(&output));
            assert!(!text.is_empty() || command.starts_with("check"), "{line}");
            // Titles and the command line of a report name the input.
            let page = command.starts_with("report") || command.starts_with("timeline");
            match page {
                true => text.matches("read").count().to_string(),
                false => text,
            }
        };
        let file = output("stdin");
        for input in [
            "/dev/stdin < stdin",
            "/dev/stdin < <(cat stdin)",
            "- < stdin",
            "<(cat stdin)",
            "<(cat packed.gz)",
        ] {
            let same = output(input);
            if !command.starts_with("report") && !command.starts_with("check") {
                let names = ["/dev/fd/63", "/dev/stdin", "standard input"];
                let plain = names
                    .iter()
                    .fold(same, |text, name| text.replace(name, "stdin"));
                assert!(plain == file, "{command} of {input}");
            }
        }
    }
}

#[test]
fn a_named_pipe_is_read_to_its_end() {
    let scratch = scratch();
    let at = scratch.path();
    let made = Command::new("mkfifo").arg(at.join("pipe")).status();
    assert!(made.expect("mkfifo runs").success());
    fs::write(at.join("packed.gz"), gzip(FOLDED.as_bytes())).expect("a file");
    let output = bash("cat packed.gz > pipe & $T info --json pipe", at);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let info: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(info["format"], "folded");
    assert_eq!(info["wrappers"], serde_json::json!(["gzip"]));
    assert_eq!(info["records"]["stack"], 2);
}

/// The program as somebody who may not read everything.
fn unprivileged() -> Command {
    let mut command = program();
    let root = fs::metadata("/proc/self").is_ok_and(|own| {
        use std::os::unix::fs::MetadataExt;
        own.uid() == 0
    });
    if root {
        command.uid(65534);
    }
    command
}

#[test]
fn what_cannot_be_read_in_a_folder_leaves_the_rest() {
    let scratch = scratch();
    let at = scratch.path();
    let mode = |path: &str, mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(at.join(path), mode).expect("is mine");
    };
    mode("", 0o755);
    fs::create_dir(at.join("secret")).expect("a folder");
    for name in ["a.folded", "b.folded", "secret/c.folded"] {
        fs::write(at.join(name), FOLDED).expect("a file");
    }
    mode("b.folded", 0);
    mode("secret", 0);
    let path = at.to_str().expect("text");
    let run = |args: &[&str]| unprivileged().args(args).arg(path).output();
    for args in [
        &["top", "--csv"][..],
        &["dump"],
        &["convert", "--to", "folded", "-o", "-"],
    ] {
        let output = match run(args) {
            Ok(output) => output,
            Err(error) => {
                eprintln!("skipped: the program does not start as another user: {error}");
                mode("secret", 0o755);
                return;
            }
        };
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {told}");
        assert_eq!(
            told.matches("ermission denied").count(),
            2,
            "{args:?}: {told}"
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("read"), "{args:?}: {text}");
        assert!(
            !text.contains("14"),
            "{args:?}: only a.folded counts: {text}"
        );
    }
    // As notes where notes are what is asked for.
    let output = run(&["check", "--json"]).expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1));
    let kinds = text.matches("\"kind\":\"unreadable\"").count();
    assert_eq!(kinds, 2, "{text}");
    mode("secret", 0o755);
}

#[test]
fn nothing_recognised_is_no_clean_bill() {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("empty")).expect("a folder");
    fs::create_dir(at.join("mixed")).expect("a folder");
    fs::create_dir(at.join("unknown")).expect("a folder");
    fs::write(at.join("junk"), [0xfa; 900]).expect("a file");
    fs::write(at.join("mixed/junk"), [0xfa; 900]).expect("a file");
    fs::write(at.join("mixed/a.folded"), FOLDED).expect("a file");
    for name in ["a", "b"] {
        fs::write(at.join("unknown").join(name), [0xfa; 900]).expect("a file");
    }
    let run = |command: &str, input: &str| {
        let output = bash(&format!("$T {command} {input}"), at);
        (output.status.code(), stderr(&output))
    };
    for command in [
        "info",
        "info --json",
        "dump",
        "check",
        "check --json",
        "top",
        "calls",
        "tree",
    ] {
        for (input, words) in [("empty", ""), ("junk", "unknown format"), ("unknown", "")] {
            let (code, text) = run(command, input);
            assert_eq!(code, Some(1), "{command} {input}: {text}");
            assert!(
                text.starts_with(&format!("traceloom: {input}: ")),
                "{command}: {text}"
            );
            assert!(text.contains(words), "{command} {input}: {text}");
        }
        let (code, text) = run(command, "mixed");
        let expected = if command.starts_with("check") { 1 } else { 0 };
        // Calls are not what the samples in it are.
        if command != "calls" {
            assert_eq!(code, Some(expected), "{command} mixed: {text}");
        }
    }
    // Garbage that was said to be something.
    let (code, text) = run("check --input-format pprof", "junk");
    assert_eq!(code, Some(1), "{text}");
}
