//! `cargo xtask clients`: other people's agents and exporters, installed at pinned versions, send to the collector.

use std::path::{Path, PathBuf};

use crate::cargo::{cargo, program, root, succeed};

/// Packages of PyPI with their versions; what they need comes with them.
const PACKAGES: &[(&str, &str)] = &[
    ("ddtrace", "4.16.0"),
    ("pyroscope-io", "1.4.0"),
    ("opentelemetry-sdk", "1.45.2"),
    ("opentelemetry-exporter-otlp-proto-http", "1.45.2"),
    ("opentelemetry-exporter-otlp-proto-grpc", "1.45.2"),
    ("opentelemetry-exporter-zipkin-json", "1.45.1"),
];

/// The tests that run them.
const TESTS: &[&str] = &["collect_datakit", "collect_pyroscope", "collect_exporters"];

/// Installs what is missing, and runs the tests.
///
/// # Errors
/// When a package is missing all the same, or a test fails.
pub fn run() -> Result<(), String> {
    let named = std::env::var_os("TRACELOOM_SENDERS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root().join("target/ci-tools/senders"));
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
    // All of the workspace, so that what is built is what `check` builds.
    let tests = TESTS.iter().flat_map(|test| ["--test", test]);
    let mut cargo = cargo(["test", "--workspace"].into_iter().chain(tests));
    succeed(cargo.env("TRACELOOM_SENDERS", &folder))
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
