//! Where outputs go, what they replace, and what is left of them when a command does not end.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn shop() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop")
}

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_traceloom"))
}

fn run(args: &[&str], folder: &Path) -> Output {
    let mut command = program();
    command.current_dir(folder).args(args);
    command.output().expect("the program runs")
}

fn done(args: &[&str], folder: &Path) {
    let output = run(args, folder);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
}

fn refused(args: &[&str], folder: &Path, words: &str) {
    let output = run(args, folder);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{args:?}: {text}");
    assert!(text.contains(words), "{args:?}: {text}");
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry.expect("an entry")))
        .collect();
    names.sort();
    names
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a scratch folder")
}

const STREAMS: [&str; 4] = ["--to", "cdt-streams", "-o", "out"];

#[test]
fn force_replaces_a_folder_that_the_program_wrote_and_no_other() {
    let scratch = scratch();
    let at = scratch.path();
    let again = [&["convert", shop()][..], &STREAMS, &["--force"]].concat();
    // Somebody's folder.
    fs::create_dir(at.join("out")).expect("a folder");
    fs::write(at.join("out/thesis.txt"), "years of work").expect("a file");
    refused(&again, at, "holds `thesis.txt`");
    assert_eq!(names(&at.join("out")), ["thesis.txt"]);
    fs::remove_file(at.join("out/thesis.txt")).expect("removed");
    // Nothing is lost with an empty one.
    done(&again, at);
    let written = names(&at.join("out"));
    assert!(written.contains(&".traceloom-output".to_owned()));
    // A folder that the program wrote, and one in which somebody put a file since.
    fs::write(at.join("out/dictionary.bak"), "").expect("a file");
    refused(
        &again,
        at,
        "holds `dictionary.bak`, which traceloom did not write",
    );
    fs::remove_file(at.join("out/dictionary.bak")).expect("removed");
    refused(
        &[&["convert", shop()][..], &STREAMS].concat(),
        at,
        "--force overwrites",
    );
    done(&again, at);
    assert_eq!(names(&at.join("out")), written);
    assert_eq!(names(at), ["out"], "nothing hidden is left");
    // A file is no folder, nor a folder a file.
    fs::remove_dir_all(at.join("out")).expect("removed");
    fs::write(at.join("out"), "a file").expect("a file");
    refused(&again, at, "out: is a file");
    fs::create_dir(at.join("out.svg")).expect("a folder");
    refused(
        &["flame", shop(), "-o", "out.svg", "--force"],
        at,
        "out.svg: is a folder",
    );
}

#[test]
fn the_marker_is_no_member_of_what_was_written() {
    let scratch = scratch();
    let at = scratch.path();
    done(&[&["convert", shop()][..], &STREAMS].concat(), at);
    let output = run(&["info", "out", "--json"], at);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && !text.contains("traceloom-output"),
        "{text}"
    );
    assert!(!text.contains("\"format\":null"), "{text}");
}

#[test]
fn a_link_stays_and_the_file_behind_it_is_replaced() {
    let scratch = scratch();
    let at = scratch.path();
    fs::create_dir(at.join("data")).expect("a folder");
    symlink("data/real.json", at.join("link.json")).expect("a link");
    // The first time there is nothing behind it.
    for force in [&[][..], &["--force"]] {
        done(&[&["convert", shop(), "link.json"][..], force].concat(), at);
        let link = fs::symlink_metadata(at.join("link.json")).expect("is there");
        assert!(link.file_type().is_symlink());
        let real = fs::symlink_metadata(at.join("data/real.json")).expect("was written");
        assert!(real.is_file() && real.len() > 1000);
        fs::write(at.join("data/real.json"), "").expect("emptied");
    }
    refused(
        &["convert", shop(), "link.json"],
        at,
        "link.json: exists already",
    );
    assert_eq!(names(&at.join("data")), ["real.json"]);
    // A folder behind a link is replaced as one that is named.
    fs::create_dir(at.join("data/out")).expect("a folder");
    symlink("data/out", at.join("out")).expect("a link");
    done(
        &[&["convert", shop()][..], &STREAMS, &["--force"]].concat(),
        at,
    );
    assert!(at.join("out").is_symlink() && at.join("data/out/.traceloom-output").is_file());
}

#[test]
fn outputs_without_o_are_not_overwritten_either() {
    let scratch = scratch();
    let at = scratch.path();
    for (command, output) in [("report", "shop.report.html"), ("flame", "shop.svg")] {
        fs::write(at.join(output), "mine").expect("a file");
        refused(
            &[command, shop()],
            at,
            "exists already; --force overwrites it",
        );
        assert_eq!(fs::read(at.join(output)).expect("is there"), b"mine");
        done(&[command, shop(), "--force"], at);
        assert!(fs::metadata(at.join(output)).expect("is there").len() > 1000);
    }
    assert_eq!(names(at), ["shop.report.html", "shop.svg"]);
}

/// A signal, by its name for `kill`, ends a conversion at work with `code`; nothing of its output is left, and what it
/// was to replace stays.
fn interrupted(signal: &str, code: i32, output: &str, to: &str) {
    let scratch = scratch();
    let at = scratch.path();
    done(&["convert", shop(), "--to", to, "-o", output], at);
    let before = names(at);
    let mut command = program();
    command.current_dir(at).arg("convert").args([shop(); 30]);
    command.args(["--to", to, "-o", output, "--force"]);
    let mut child = command
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    let is_partial = |name: &String| name.ends_with(".partial");
    while !names(at).iter().any(is_partial) {
        let ended = child.try_wait().expect("a child");
        assert_eq!(ended, None, "it ended before its output began");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    let sent = Command::new("kill").args([signal, &id]).status();
    assert!(sent.expect("kill runs").success());
    let status = child.wait().expect("ends");
    assert_eq!(status.code(), Some(code), "{signal}");
    assert_eq!(names(at), before, "{signal}");
}

#[test]
fn ctrl_c_removes_a_partial_file() {
    interrupted("-INT", 130, "out.json", "chrome");
}

#[test]
fn a_closed_terminal_removes_a_partial_file() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if mask.is_none_or(|mask| mask & 1 == 1) {
        eprintln!("skipped: SIGHUP is ignored here, or the system does not say");
        return;
    }
    interrupted("-HUP", 129, "out.json", "chrome");
}

#[test]
fn sigterm_removes_a_partial_folder() {
    interrupted("-TERM", 143, "out", "cdt-streams");
}
