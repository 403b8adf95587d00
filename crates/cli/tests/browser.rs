//! Pages in a browser: what they show is what the program prints, they touch no network, and axe finds no serious fault.
//!
//! Each test is a script of `tests/browser/`, run by node with `playwright-core` and `axe-core` out of the folder
//! `node_modules` that `TRACELOOM_NPM` names and the `chromium` of the search path (`TRACELOOM_CHROMIUM` names
//! another); `.ci/run` brings them. Where one of them is missing the tests say so and do nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser")
}

/// The packages' folder and the browser.
fn browser() -> Result<(PathBuf, String), String> {
    let packages = std::env::var_os("TRACELOOM_NPM").map(PathBuf::from);
    let packages = packages.ok_or("TRACELOOM_NPM is not set")?;
    for package in ["playwright-core", "axe-core"] {
        if !packages.join(package).is_dir() {
            return Err(format!("{} is not there", packages.join(package).display()));
        }
    }
    let chromium = std::env::var("TRACELOOM_CHROMIUM").or_else(|_| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut files = std::env::split_paths(&path).map(|folder| folder.join("chromium"));
        let file = files.find(|file| file.is_file());
        file.map(|file| file.to_string_lossy().into_owned())
            .ok_or("no chromium on the search path")
    })?;
    for program in ["node", &chromium] {
        let mut command = Command::new(program);
        let command = command.arg("--version").stdout(Stdio::null());
        if !command
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|end| end.success())
        {
            return Err(format!("{program} does not run"));
        }
    }
    Ok((packages, chromium))
}

/// Runs a script with what it is to read.
fn run(script: &str, inputs: &[&str]) {
    let (packages, chromium) = match browser() {
        Ok(found) => found,
        Err(reason) => {
            eprintln!("skipped: {script}: {reason}");
            return;
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new("node")
        .arg(scripts().join(script))
        .args(inputs)
        .env("TRACELOOM_NPM", packages)
        .env("TRACELOOM_CHROMIUM", chromium)
        .env("TRACELOOM_BINARY", env!("CARGO_BIN_EXE_traceloom"))
        .env("TRACELOOM_FOLDER", folder.path())
        .output()
        .expect("node runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {said}");
}

#[test]
fn every_script_is_run() {
    let here = include_str!("browser.rs");
    for entry in std::fs::read_dir(scripts()).expect("scripts") {
        let name = entry.expect("a file").file_name();
        let name = name.to_string_lossy();
        let run = here.contains(&format!("run(\"{name}\""));
        assert!(run || name == "browser.mjs", "{name} is run by no test");
    }
}

#[test]
fn flame() {
    run("flame.mjs", &[SHOP]);
}

#[test]
fn diff() {
    run("diff.mjs", &[]);
}

#[test]
fn timeline() {
    run("timeline.mjs", &[SHOP]);
}

#[test]
fn report() {
    run("report.mjs", &[SHOP]);
}

#[test]
fn states() {
    run("states.mjs", &[SHOP]);
}

#[test]
fn app() {
    run("app.mjs", &[SHOP]);
}

#[test]
fn agent() {
    run("agent.mjs", &[]);
}

#[test]
fn budget() {
    run("budget.mjs", &[SHOP]);
}

#[test]
fn calls() {
    run("calls.mjs", &[SHOP]);
}

#[test]
fn call() {
    run("call.mjs", &[SHOP]);
}

#[test]
fn profiles() {
    run("profiles.mjs", &[SHOP]);
}

#[test]
fn versions() {
    run("versions.mjs", &[]);
}

#[test]
fn senders() {
    match std::env::var("TRACELOOM_SENDERS") {
        Ok(senders) => run("senders.mjs", &[&senders]),
        Err(_) => {
            eprintln!("skipped: senders.mjs: TRACELOOM_SENDERS names no folder of Python packages")
        }
    }
}

#[test]
fn tiles() {
    run("tiles.mjs", &[SHOP]);
}

#[test]
fn memory() {
    if let Some(captures) = corpus() {
        let recording = captures.iter().find(|path| path.ends_with("main.jfr"));
        run("memory.mjs", &[recording.expect("a recording with a heap")]);
    }
}

#[test]
fn captures_page() {
    let vector = format!("{SHOP}/../tptp/vectors/aggregated_calls.trcbin");
    run("captures.mjs", &[SHOP, &vector]);
}

#[test]
fn demo() {
    run("demo.mjs", &[]);
}

#[test]
fn settings() {
    run("settings.mjs", &[SHOP]);
}

#[test]
fn everywhere() {
    let vector = format!("{SHOP}/../tptp/vectors/aggregated_calls.trcbin");
    run("everywhere.mjs", &[SHOP, &vector]);
}

/// Captures of every producer.
const CAPTURES: [&str; 12] = [
    "datakit/dk_ddtrace_python.pprof",
    "datakit/dk_go_cpu.pprof",
    "datakit/dk_go_delta-heap.pprof",
    "datakit/dk_ddtrace_main.jfr",
    "datakit/gpprof_cppbench.heap",
    "datakit/jfrp_example.jfr.gz",
    "datakit/parca_labels.pb.gz",
    "datakit/rs_pprof-rs_profile.pb",
    "datakit/ss_chrome_sucrase.cpuprofile",
    "datakit/ss_perf-vertx.collapsed.txt",
    "heph/real/new_http_small.bin",
    "tptp/syn_le_inclusive.trcbin",
];

/// The captures, unless there is no corpus and none is asked for.
fn corpus() -> Option<Vec<String>> {
    let root = std::env::var("TRACELOOM_CORPUS").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").to_owned()
    });
    if !Path::new(&root).is_dir() && std::env::var_os("TRACELOOM_CORPUS_REQUIRED").is_none() {
        eprintln!("skipped: there is no corpus at {root}");
        return None;
    }
    let path = |name: &&str| format!("{root}/{name}");
    Some(CAPTURES.iter().map(path).collect())
}

/// Writes a file of every format that has a generator and that no conversion writes.
fn samples(folder: &Path) -> Vec<String> {
    const BYTES: u64 = 4_000;
    let write = |(name, _): &(&str, traceloom_samples::Sample)| {
        let format = traceloom_formats::by_name(name).expect("a format");
        if format.raise.is_some() {
            return None;
        }
        let extension = format.extensions.first().unwrap_or(&"bin");
        let path = folder.join(format!("{name}.{extension}"));
        std::fs::write(&path, traceloom_samples::bytes(name, 7, BYTES)).expect("a file");
        Some(path.to_str().expect("text").to_owned())
    };
    let written = traceloom_samples::SAMPLES.iter().filter_map(write);
    written.collect()
}

#[test]
fn drops() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = vec![SHOP.to_owned()];
    files.extend(samples(folder.path()));
    files.extend(corpus().unwrap_or_default());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    run("drops.mjs", &files);
}

#[test]
fn captures() {
    if let Some(captures) = corpus() {
        let captures: Vec<&str> = captures.iter().map(String::as_str).collect();
        run("corpus.mjs", &captures);
    }
}

#[test]
fn pictures_and_differences() {
    let captures = corpus().unwrap_or_default();
    let captures = captures.iter().map(String::as_str);
    let all: Vec<&str> = std::iter::once(SHOP).chain(captures).collect();
    run("pictures.mjs", &all);
}

/// The page with the library in it; `cargo xtask check` builds it and says where it is.
#[test]
fn page() {
    let Some(page) = std::env::var_os("TRACELOOM_PAGE") else {
        eprintln!("skipped: page.mjs: TRACELOOM_PAGE names no page; `cargo xtask page` builds one");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let mut inputs = vec![page.to_str().expect("UTF-8").to_owned()];
    for (format, extension) in [
        ("heph", "heph"),
        ("pprof", "pb"),
        ("jfr", "jfr"),
        ("folded", "folded"),
        ("perfetto", "pftrace"),
        ("tptp-binary", "trcbin"),
    ] {
        let path = folder.path().join(format!("sample.{extension}"));
        let bytes = traceloom_samples::bytes(format, 3, 60_000);
        std::fs::write(&path, bytes).expect("a file");
        inputs.push(path.to_str().expect("UTF-8").to_owned());
    }
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    run("page.mjs", &inputs);
}
