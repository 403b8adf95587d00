//! Captures that left the log: pins, deletions and backups, as operators do them.
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use collected::{
    Collector, command, eventually, exported, json_lines, noise, push, run, stdout, text,
};
use serde_json::Value;

fn captures(data: &Path, more: &[&str]) -> Vec<Value> {
    json_lines(&[&["captures", "ls", "--json", "--data", text(data)], more].concat())
}

fn ids(captures: &[Value]) -> Vec<&str> {
    let ids = captures.iter().map(|capture| capture["id"].as_str());
    ids.collect::<Option<_>>().expect("ids")
}

/// Waits until every capture has left the log.
fn wait_until_sealed(data: &Path) {
    let until = Instant::now() + Duration::from_secs(30);
    while captures(data, &[])
        .iter()
        .any(|capture| capture["revision"] == 0)
    {
        assert!(Instant::now() < until, "nothing is sealed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn n_chunks(data: &Path) -> usize {
    std::fs::read_dir(data.join("chunks"))
        .expect("a folder")
        .count()
}

#[test]
fn pins_and_deletions_reach_a_running_collector_and_are_done_without_one() {
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let (first, shared) = (noise(1, 700_000), noise(2, 300_000));
    let collector = Collector::start(&data, &[]);
    push(&collector, scratch, "first", "shop", &first);
    push(&collector, scratch, "second", "shop", &shared);
    push(&collector, scratch, "third", "billing", &shared);
    wait_until_sealed(&data);
    // Equal bytes are stored once: three chunks of the first, two of the others.
    assert_eq!(n_chunks(&data), 5);
    assert_eq!(
        ids(&captures(&data, &["--service", "shop"])),
        ["1-1", "1-2"]
    );
    assert_eq!(captures(&data, &["--since", "-1h"]).len(), 3);
    assert!(captures(&data, &["--until", "-1h"]).is_empty());

    let of = |what: &str, id: &str| run(&["captures", what, id, "--data", text(&data)]);
    assert!(of("pin", "1-1").status.success());
    assert_eq!(captures(&data, &[])[0]["pinned"], true);
    assert!(of("unpin", "1-1").status.success());
    assert_eq!(captures(&data, &[])[0]["pinned"], false);
    let unknown = of("pin", "7-7");
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(
        unknown.status.code() == Some(1) && said.contains("has no capture 7-7"),
        "{said}"
    );
    let all = run(&["captures", "delete", "--data", text(&data)]);
    assert_eq!(all.status.code(), Some(2));

    // What another capture has stays.
    assert!(of("delete", "1-2").status.success());
    assert_eq!(ids(&captures(&data, &[])), ["1-1", "1-3"]);
    assert_eq!(n_chunks(&data), 5);
    assert!(exported(&data, "1-3", "third") == shared);
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");

    let deleted = [
        "captures",
        "delete",
        "--service",
        "billing",
        "--data",
        text(&data),
    ];
    assert!(run(&deleted).status.success());
    assert_eq!(n_chunks(&data), 3);
    // The next start brings nothing back, and gives no id again.
    let collector = Collector::start(&data, &[]);
    assert_eq!(ids(&captures(&data, &[])), ["1-1"]);
    push(&collector, scratch, "fourth", "shop", b"x");
    let listed = captures(&data, &[]);
    let ids = ids(&listed);
    assert!(
        ids.len() == 2 && ids[0] == "1-1" && !["1-2", "1-3"].contains(&ids[1]),
        "{ids:?}"
    );
    assert!(exported(&data, "1-1", "first") == first);
    assert!(run(&["check", text(&data)]).status.code() != Some(70));
}

/// The commands of docs/durability.md, word for word but for the folders.
fn copy_commands() -> String {
    let document = include_str!("../../../docs/durability.md");
    let (_, chapter) = document
        .split_once("## Backup and restore")
        .expect("a chapter");
    let (_, fenced) = chapter.split_once("```\n").expect("commands");
    let (commands, _) = fenced.split_once("```").expect("an end");
    commands.to_owned()
}

#[test]
fn a_backup_of_a_running_collector_is_restored_as_another_start() {
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let streams = collected::streams(scratch);
    // Small sizes, so that much is sealed and truncated while it is copied.
    let small = ["--seal-kib", "64", "--log-kib", "256"];
    let collector = Collector::start(&data, &small);
    let before = noise(3, 2_000_000);
    push(&collector, scratch, "before", "shop", &before);
    let mut load = command(&[
        "send",
        text(&streams),
        "--to",
        &collector.url,
        "--agents",
        "3",
    ])
    .args(["--loop", "--rate", "4000000"])
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .expect("agents");
    std::thread::sleep(Duration::from_secs(1));
    let copied = Command::new("bash")
        .args(["-ec", &copy_commands().replace("DIR", text(&data))])
        .current_dir(scratch)
        .output()
        .expect("bash runs");
    load.kill().expect("a kill");
    load.wait().expect("an end");
    let said = String::from_utf8_lossy(&copied.stderr);
    assert!(copied.status.success(), "{said}");
    drop(collector);
    // The machine is lost; what decoded captures may write for a moment more.
    eventually(|| {
        let _ = std::fs::remove_dir_all(&data);
        (!data.exists()).then_some(())
    });

    let backup = PathBuf::from(scratch).join("backup");
    assert!(exported(&backup, "1-1", "before") == before);
    let listed = captures(&backup, &[]);
    assert_eq!(ids(&listed)[0], "1-1");
    assert!(
        listed.len() > 1,
        "what agents sent is in it, too: {listed:?}"
    );
    stdout(&["log", "verify", text(&backup)]);
    let collector = Collector::start(&backup, &small);
    push(&collector, scratch, "after", "shop", b"after");
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    let again = captures(&backup, &[]);
    assert_eq!(again.len(), listed.len() + 1);
    assert!(
        again
            .iter()
            .any(|one| one["id"].as_str().is_some_and(|id| !id.starts_with("1-")))
    );
    assert!(exported(&backup, "1-1", "before") == before);
    // Every stream of an agent is readable, as far as it was copied.
    let checked = run(&["check", text(&backup)]);
    assert!(matches!(checked.status.code(), Some(0 | 1)));
    let calls = stdout(&["calls", "--csv", text(&backup)]);
    assert!(calls.lines().count() > 50, "{calls}");
}
