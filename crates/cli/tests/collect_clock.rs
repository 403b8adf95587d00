//! The clock of the machine jumps by ten years while a collector runs: what was acknowledged stays, and retention deletes nothing early.
#![cfg(target_os = "linux")]
#![allow(missing_docs, reason = "a test")]

#[path = "collected/mod.rs"]
mod collected;

use std::path::{Path, PathBuf};

use collected::http::{captures, metric};
use collected::{Collector, eventually, push, run, stdout, streams, text};

/// Returns the library that lets the clock of a process jump.
fn faketime() -> Option<PathBuf> {
    let folders = [
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
    ];
    let paths = folders.map(|folder| Path::new(folder).join("faketime/libfaketimeMT.so.1"));
    paths.into_iter().find(|path| path.is_file())
}

/// A clock that stands in a file.
struct Clock {
    library: PathBuf,
    file: PathBuf,
}

impl Clock {
    /// Sets the clock by some days, at once for whoever asks.
    fn set(&self, days: i64) {
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{days:+}d\n")).expect("a file");
        std::fs::rename(&new, &self.file).expect("a file");
    }

    /// Starts a collector that has this clock; the time that passed is its machine's.
    fn start(&self, data: &Path, more: &[&str]) -> Collector {
        let script = format!(
            "export LD_PRELOAD={} FAKETIME_TIMESTAMP_FILE={} FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1; exec \"$0\" \"$@\"",
            text(&self.library),
            text(&self.file)
        );
        Collector::start_in(Some(&script), data, more)
    }
}

/// Waits until retention has looked at the captures since: it does so every ten seconds, by the clock that is noted as often.
fn wait_for_retention(data: &Path) {
    let noted = || std::fs::read_to_string(data.join("clock")).unwrap_or_default();
    for _ in 0..2 {
        let before = noted();
        eventually(|| (noted() != before).then_some(()));
    }
}

fn clock_wrong(collector: &Collector) -> f64 {
    metric(&collector.http, "traceloom_clock_wrong").expect("a sample")
}

/// Pushes a file of its own for a service.
fn push_named(collector: &Collector, scratch: &Path, name: &str) {
    push(collector, scratch, name, name, name.repeat(1000).as_bytes());
}

/// Holds every pushed file against what was received of it.
fn assert_kept(scratch: &Path, data: &Path, names: &[&str]) {
    let listed = captures(data);
    for name in names {
        let capture = listed.iter().find(|capture| capture["service"] == *name);
        let id = capture.and_then(|capture| capture["id"].as_str());
        let id = id.unwrap_or_else(|| panic!("{name} is gone: {listed:?}"));
        let out = scratch.join("out");
        stdout(&[
            "export",
            id,
            "--force",
            "--data",
            text(data),
            "-o",
            text(&out),
        ]);
        let exported = std::fs::read_to_string(out.join(name)).expect("the file");
        assert!(exported == name.repeat(1000), "{name}");
    }
    let sent = listed.iter().filter(|capture| capture["protocol"] == "cdt");
    assert_eq!(sent.count(), 1, "{listed:?}");
}

#[test]
fn clock_steps_of_ten_years_lose_and_delete_nothing() {
    const TEN_YEARS: i64 = 3650;
    let Some(library) = faketime() else {
        println!("skipped: there is no libfaketime");
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let scratch = scratch.path();
    let data = scratch.join("data");
    let clock = Clock {
        library,
        file: scratch.join("clock"),
    };
    let rules = ["--keep-days", "30", "--seal-seconds", "1"];
    clock.set(0);
    let collector = clock.start(&data, &rules);
    push_named(&collector, scratch, "before");
    stdout(&["send", text(&streams(scratch)), "--to", &collector.url]);
    wait_for_retention(&data);
    assert_eq!(clock_wrong(&collector), 0.0);

    clock.set(TEN_YEARS);
    eventually(|| (clock_wrong(&collector) == 1.0).then_some(()));
    push_named(&collector, scratch, "ahead");
    wait_for_retention(&data);
    assert_kept(scratch, &data, &["before", "ahead"]);
    // The process has this clock, not only its thread that deletes.
    let ahead = captures(&data);
    let opened = |name: &str| {
        let capture = ahead.iter().find(|capture| capture["service"] == name);
        capture
            .and_then(|capture| capture["opened_ns"].as_i64())
            .expect("a time")
    };
    assert!(opened("ahead") - opened("before") > (TEN_YEARS - 1) * 86_400_000_000_000);

    // A start while it is ahead believes no more of it, after a kill as well.
    drop(collector);
    let collector = clock.start(&data, &rules);
    push_named(&collector, scratch, "restarted");
    wait_for_retention(&data);
    assert_eq!(clock_wrong(&collector), 1.0);
    assert_kept(scratch, &data, &["before", "ahead", "restarted"]);

    // Twenty years back at once: what is received then is sealed and kept, too.
    clock.set(-TEN_YEARS);
    push_named(&collector, scratch, "behind");
    eventually(|| {
        let rows = captures(&data);
        let behind = rows.iter().find(|row| row["service"] == "behind");
        behind.is_some_and(|row| row["revision"] != 0).then_some(())
    });
    wait_for_retention(&data);
    assert_eq!(clock_wrong(&collector), 1.0);
    clock.set(0);
    eventually(|| (clock_wrong(&collector) == 0.0).then_some(()));
    push_named(&collector, scratch, "after");
    wait_for_retention(&data);
    let all = ["before", "ahead", "restarted", "behind", "after"];
    assert_kept(scratch, &data, &all);
    let (code, said) = collector.terminate();
    assert_eq!(code, Some(0), "{said}");
    for sentence in [
        "ALARM: the clock went",
        "s back; captures get its times",
        "as it should be again",
    ] {
        assert!(said.contains(sentence), "{said}");
    }

    // An operator who says that the clock is right has what is old deleted: by the order of captures, all behind the step are new.
    clock.set(TEN_YEARS);
    let collector = clock.start(&data, &[&rules[..], &["--trust-clock"]].concat());
    let left = || -> Vec<String> {
        let rows = captures(&data);
        let services = rows.iter().map(|row| row["service"].as_str());
        services
            .map(|name| name.expect("a name").to_owned())
            .collect()
    };
    eventually(|| (left() == ["ahead", "restarted", "behind", "after"]).then_some(()));
    drop(collector);
    assert!(run(&["log", "verify", text(&data)]).status.success());
}
