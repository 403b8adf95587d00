//! `cargo xtask check`: the one list of what must hold before a change is merged.

use crate::cargo::{cargo, program, root, succeed, succeeds_within};
use crate::instructions::{self, Comparison};
use crate::{book, msrv, names, page, python, semver, tidy};
use std::path::PathBuf;
use std::time::{Duration, Instant};

struct CheckStep {
    name: &'static str,
    run: fn() -> Result<CheckVerdict, String>,
}

enum CheckVerdict {
    Passed,
    Skipped(String),
}

/// Cheap steps first; the tests last, so that their closing lines end the output.
const STEPS: &[CheckStep] = &[
    CheckStep {
        name: "cargo fmt",
        run: || passes(&["fmt", "--all", "--check"]),
    },
    CheckStep {
        // Once, with all that can be built: twice takes three minutes more.
        name: "cargo clippy with Arrow and Parquet",
        run: || {
            let lints = ["--", "-D", "warnings"];
            passes(&[&["clippy", "--all-targets"], WITH_TABLES, &lints[..]].concat())
        },
    },
    CheckStep {
        name: "tidy",
        run: || tidy::run().map(|()| CheckVerdict::Passed),
    },
    CheckStep {
        name: "cargo check for wasm32",
        run: pure_crates_build_for_wasm,
    },
    CheckStep {
        name: "cargo check with the oldest compiler",
        run: || match msrv::declared()? {
            version if msrv::is_installed(&version) => {
                msrv::check(&version).map(|()| CheckVerdict::Passed)
            }
            version => Ok(CheckVerdict::Skipped(format!(
                "rustup has no compiler {version}, the oldest that Cargo.toml declares"
            ))),
        },
    },
    CheckStep {
        name: "cargo doc",
        run: || names::document().map(|()| CheckVerdict::Passed),
    },
    // Reads what the step before it wrote.
    CheckStep {
        name: "public names",
        run: || names::compare().map(|()| CheckVerdict::Passed),
    },
    CheckStep {
        name: "cargo semver-checks",
        run: nothing_breaks_since_the_release,
    },
    CheckStep {
        name: "cargo deny",
        run: dependencies_are_allowed,
    },
    CheckStep {
        name: "cargo deny advisories",
        run: no_known_vulnerability,
    },
    CheckStep {
        name: "cargo package",
        run: crates_are_packaged,
    },
    CheckStep {
        name: "corpus of captures",
        run: corpus_is_there,
    },
    CheckStep {
        name: "scripts of pages",
        run: pages_are_as_built,
    },
    CheckStep {
        name: "cargo test",
        run: || passes(&["test", "--workspace"]),
    },
    CheckStep {
        name: "the page that reads files",
        run: page_reads_files,
    },
    // Behind the tests, which build the program.
    CheckStep {
        name: "the wheel for Python",
        run: || match python::missing() {
            Some(reason) => Ok(CheckVerdict::Skipped(reason.to_owned())),
            None => python::run().map(|()| CheckVerdict::Passed),
        },
    },
    CheckStep {
        name: "documents as a site",
        run: || match book::is_possible() {
            true => {
                book::run(&root().join("target/debug/traceloom")).map(|()| CheckVerdict::Passed)
            }
            false => Ok(CheckVerdict::Skipped("mdbook is not installed".to_owned())),
        },
    },
    CheckStep {
        name: "instructions of commands",
        run: || {
            instructions::compare(false).map(|comparison| match comparison {
                Comparison::Passed => CheckVerdict::Passed,
                Comparison::Skipped(reason) => CheckVerdict::Skipped(reason),
            })
        },
    },
    CheckStep {
        name: "cargo test with Arrow and Parquet",
        run: || passes(&[&["test", "--test", "tables"], WITH_TABLES].concat()),
    },
];

/// The program with the feature that default builds leave out; of the whole workspace, so that what it depends
/// on is built as for the other steps.
const WITH_TABLES: &[&str] = &["--workspace", "--features", "traceloom/tables"];

/// Runs every step until one fails.
///
/// # Errors
/// Names the step that failed; its own output says why.
pub fn run() -> Result<(), String> {
    let start = Instant::now();
    let mut skipped = 0;
    for step in STEPS {
        println!("==> {}", step.name);
        match (step.run)() {
            Ok(CheckVerdict::Passed) => {}
            Ok(CheckVerdict::Skipped(reason)) => {
                println!("skipped: {reason}");
                skipped += 1;
            }
            Err(reason) => {
                let seconds = start.elapsed().as_secs();
                return Err(format!("{} failed after {seconds} s: {reason}", step.name));
            }
        }
    }
    println!(
        "==> total: {} steps passed, {skipped} skipped, {} s",
        STEPS.len() - skipped,
        start.elapsed().as_secs()
    );
    Ok(())
}

fn passes(args: &[&str]) -> Result<CheckVerdict, String> {
    succeed(&mut cargo(args)).map(|()| CheckVerdict::Passed)
}

/// The crates that do no I/O and hold no C code must build where there is neither, and so must the library over them.
fn pure_crates_build_for_wasm() -> Result<CheckVerdict, String> {
    if !page::is_possible() {
        return Ok(CheckVerdict::Skipped("target not installed".to_owned()));
    }
    let mut check = cargo(["check", "--target", page::TARGET, "--no-default-features"]);
    // With one dialect of five: whoever builds on the library may leave the others out.
    check.args([
        "--lib",
        "--package",
        "traceloom",
        "--features",
        "traceloom/heph",
    ]);
    for name in tidy::PURE_CRATES {
        check.args(["--package", &format!("traceloom-{name}")]);
    }
    succeed(&mut check).map(|()| CheckVerdict::Passed)
}

/// Builds the page and opens files in it: the one test that needs a module for another target.
fn page_reads_files() -> Result<CheckVerdict, String> {
    if !page::is_possible() {
        return Ok(CheckVerdict::Skipped("target not installed".to_owned()));
    }
    let page = page::run()?;
    let mut test = cargo([
        "test",
        "--workspace",
        "--test",
        "browser",
        "--",
        "--exact",
        "page",
    ]);
    succeed(test.env("TRACELOOM_PAGE", page)).map(|()| CheckVerdict::Passed)
}

fn nothing_breaks_since_the_release() -> Result<CheckVerdict, String> {
    if !semver::is_installed() {
        let reason = "cargo-semver-checks is not installed";
        return Ok(CheckVerdict::Skipped(reason.to_owned()));
    }
    match semver::last_release() {
        Some(release) => semver::check(&release).map(|()| CheckVerdict::Passed),
        None => Ok(CheckVerdict::Skipped(
            "no release is tagged: there is nothing to compare with".to_owned(),
        )),
    }
}

/// Packages every crate that is published, without building it again: clippy builds the same sources, and what they include lies
/// within their crates. The index is that of the steps before.
fn crates_are_packaged() -> Result<CheckVerdict, String> {
    let mut package = cargo([
        "package",
        "--workspace",
        "--no-verify",
        "--allow-dirty",
        "--offline",
    ]);
    for name in ["traceloom-page", "traceloom-samples", "xtask"] {
        package.args(["--exclude", name]);
    }
    succeed(package.arg("--quiet")).map(|()| CheckVerdict::Passed)
}

/// Says once what each test says where nobody hears it: the runner keeps the output of tests that pass.
fn corpus_is_there() -> Result<CheckVerdict, String> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus");
    let corpus = std::env::var_os("TRACELOOM_CORPUS").map_or_else(|| beside.into(), PathBuf::from);
    if corpus.is_dir() {
        return Ok(CheckVerdict::Passed);
    }
    if std::env::var_os("TRACELOOM_CORPUS_REQUIRED").is_some_and(|value| value == "1") {
        return Err("the corpus is required and not there".to_owned());
    }
    Ok(CheckVerdict::Skipped(
        "corpus not found (../shared/corpus, or TRACELOOM_CORPUS): tests that read captures do nothing".to_owned(),
    ))
}

/// Checks the scripts of pages, tests them, and compares what they build to with what the crates embed.
fn pages_are_as_built() -> Result<CheckVerdict, String> {
    const NO_NPM: &str = "npm is not installed";
    let is_required = std::env::var_os("CI").is_some_and(|value| value == "true");
    let missing = |reason: &'static str| match is_required {
        true => Err(reason),
        false => Ok(CheckVerdict::Skipped(reason.to_owned())),
    };
    if !succeeds_within(program("npm").arg("--version"), Duration::from_secs(60)) {
        return missing(NO_NPM).map_err(str::to_owned);
    }
    let changed = |path: &str| root().join(path).metadata()?.modified();
    let installed = changed("ui/node_modules/.package-lock.json").ok();
    let locked = changed("ui/package-lock.json").map_err(|error| error.to_string())?;
    if installed.is_none_or(|installed| installed < locked) {
        // Not `npm ci`, which refuses where the registry lacks a binary for another system.
        let mut install = program("npm");
        install.args(["install", "--no-save", "--loglevel=error", "--prefix", "ui"]);
        if succeed(&mut install).is_err() {
            return missing("npm cannot install what ui/package-lock.json names")
                .map_err(str::to_owned);
        }
    }
    let mut check = program("npm");
    check.args(["run", "--silent", "check", "--prefix", "ui"]);
    succeed(&mut check).map(|()| CheckVerdict::Passed)
}

const DENY_NOT_INSTALLED: &str = "cargo-deny is not installed";

fn dependencies_are_allowed() -> Result<CheckVerdict, String> {
    if deny_is_installed() {
        return passes(&["deny", "check", "bans", "licenses", "sources"]);
    }
    if std::env::var_os("CI").is_some_and(|value| value == "true") {
        return Err(format!("{DENY_NOT_INSTALLED}; .ci/run installs it"));
    }
    Ok(CheckVerdict::Skipped(DENY_NOT_INSTALLED.to_owned()))
}

/// Apart from the other `cargo deny` checks, which need no network.
fn no_known_vulnerability() -> Result<CheckVerdict, String> {
    if !deny_is_installed() {
        return Ok(CheckVerdict::Skipped(DENY_NOT_INSTALLED.to_owned()));
    }
    let fetch = &mut cargo(["deny", "fetch", "db"]);
    if !succeeds_within(fetch, Duration::from_secs(120)) {
        return Ok(CheckVerdict::Skipped(
            "the advisory database cannot be reached".to_owned(),
        ));
    }
    passes(&["deny", "check", "advisories"])
}

fn deny_is_installed() -> bool {
    succeeds_within(&mut cargo(["deny", "--version"]), Duration::from_secs(60))
}
