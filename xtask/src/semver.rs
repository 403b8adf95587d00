//! What `cargo semver-checks` finds since the last release: not only names, but what stands behind them.

use std::time::Duration;

use crate::cargo::{cargo, output, program, succeed, succeeds_within};
use crate::version::{Version, declared};

/// Returns true if there is something to compare with.
pub fn is_installed() -> bool {
    let version = &mut cargo(["semver-checks", "--version"]);
    succeeds_within(version, Duration::from_secs(60))
}

/// Returns the tag of the last release before this revision: `v` and its version.
pub fn last_release() -> Option<String> {
    let mut git = program("git");
    git.args(["describe", "--tags", "--abbrev=0", "--match", "v[0-9]*"]);
    let tag = String::from_utf8(output(&mut git)?).ok()?;
    Some(tag.trim().to_owned())
}

/// Compares the published crates with those of a release.
///
/// # Errors
/// When one of them breaks programs that the declared version promises not to break.
pub fn check(release: &str) -> Result<(), String> {
    let version = declared()?;
    let released = release.strip_prefix('v').and_then(Version::parse);
    let may_break = released.is_none_or(|released| !version.is_compatible(released));
    let change = if may_break { "major" } else { "minor" };
    let mut check = cargo(["semver-checks", "--workspace", "--baseline-rev", release]);
    succeed(check.args(["--release-type", change]))
}
