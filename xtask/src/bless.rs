//! `cargo xtask bless`: rewrites what is generated, for the author to review as a diff.

use crate::cargo::{cargo, output, root, succeed};
use crate::names;
use std::fs;

/// Each document's path, and the arguments of `traceloom` whose standard output it holds.
const GENERATED_DOCUMENTS: &[(&str, &[&str])] = &[("docs/formats.md", &["formats", "--matrix"])];

/// Runs the tests so that they write what they otherwise compare, then the documents and the list of public names.
///
/// # Errors
/// When a test fails for another reason than a golden file, or a document cannot be made.
pub fn run() -> Result<(), String> {
    let mut tests = cargo(["test", "--workspace", "--no-fail-fast"]);
    tests.env("TRACELOOM_BLESS", "1");
    tests.env("INSTA_UPDATE", "always");
    succeed(&mut tests)?;

    for (path, args) in GENERATED_DOCUMENTS {
        let mut traceloom = cargo(["run", "--quiet", "--package", "traceloom", "--"]);
        let text = output(traceloom.args(*args))
            .ok_or_else(|| format!("traceloom {} failed", args.join(" ")))?;
        fs::write(root().join(path), text).map_err(|error| format!("{path}: {error}"))?;
    }
    names::run(true)
}
