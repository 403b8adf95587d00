//! `cargo xtask names [--renew]`: the public names of the published crates, beside those of the version that `docs/names.txt` lists.
//!
//! A program that uses a crate breaks when a name that it uses goes away. Until 1.0 that takes another second number of the version,
//! from then on another first one. What changes behind a name, such as the type of an argument, `cargo semver-checks` compares.

mod pages;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use crate::cargo::{cargo, root, succeed, target};
use crate::tidy::package_name;
use crate::version::{Version, declared};

/// A line with the version, then a line for each name.
const LISTED: &str = "docs/names.txt";

/// What a version promises: names, sorted.
type Names = BTreeSet<String>;

/// Builds the documentation, then does what [`compare`] does or, to renew, writes the names that are there.
///
/// # Errors
/// As those of [`compare`]; or when a file cannot be read or written.
pub fn run(renew: bool) -> Result<(), String> {
    document()?;
    if renew { write() } else { compare() }
}

/// Builds the documentation of every crate, with everything that a program may use.
///
/// # Errors
/// When there is anything to warn of.
pub fn document() -> Result<(), String> {
    let mut doc = cargo(["doc", "--workspace", "--no-deps"]);
    doc.args(["--features", "traceloom-emit/tracing"]);
    succeed(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Compares the names in the documentation that was built last with the listed ones.
///
/// # Errors
/// When a name went away that the version promises, or the list is of another version.
pub fn compare() -> Result<(), String> {
    let (listed, version, names) = (listed()?, declared()?, names()?);
    let gone = gone(&listed, version, &names);
    if !gone.is_empty() {
        return Err(told(&gone, version));
    }
    if listed.version != version {
        return Err(format!(
            "{LISTED} has the names of {} and Cargo.toml says {version}: write those with `cargo xtask names --renew`",
            listed.version
        ));
    }
    let n_new = names.difference(&listed.names).count();
    println!(
        "{} public names of {version} are there; {n_new} are new since then",
        listed.names.len()
    );
    Ok(())
}

fn write() -> Result<(), String> {
    let (version, names) = (declared()?, names()?);
    if let Ok(listed) = listed() {
        let gone = gone(&listed, version, &names);
        if !gone.is_empty() {
            return Err(told(&gone, version));
        }
    }
    let mut text = format!("{version}\n");
    for name in &names {
        let _ = writeln!(text, "{name}");
    }
    fs::write(root().join(LISTED), text).map_err(|error| format!("{LISTED}: {error}"))
}

/// The names of a version.
struct ListedNames {
    version: Version,
    names: Names,
}

fn listed() -> Result<ListedNames, String> {
    let text = fs::read_to_string(root().join(LISTED));
    let text = text.map_err(|error| format!("{LISTED}: {error}"))?;
    parse(&text).ok_or_else(|| format!("{LISTED} does not begin with a version"))
}

fn parse(text: &str) -> Option<ListedNames> {
    let (version, names) = text.split_once('\n')?;
    Some(ListedNames {
        version: Version::parse(version)?,
        names: names.lines().map(str::to_owned).collect(),
    })
}

/// Returns the names that a version has to have and lacks.
fn gone<'l>(listed: &'l ListedNames, version: Version, names: &'l Names) -> Vec<&'l str> {
    if !version.is_compatible(listed.version) {
        return Vec::new();
    }
    let gone = listed.names.difference(names);
    gone.map(String::as_str).collect()
}

fn told(gone: &[&str], version: Version) -> String {
    format!(
        "public names went away, and {version} promises them:\n  {}\nkeep them, or raise the version so that it promises nothing; \
         those that were never published are deleted from {LISTED} by hand",
        gone.join("\n  ")
    )
}

/// Reads the names of every published crate out of its documentation.
fn names() -> Result<Names, String> {
    let mut names = Names::new();
    for package in published()? {
        let name = package.replace('-', "_");
        let folder = target().join("doc").join(&name);
        pages::names(&folder, &name, &mut names)?;
    }
    Ok(names)
}

/// Returns the packages that are published.
fn published() -> Result<Vec<String>, String> {
    let crates = fs::read_dir(root().join("crates")).map_err(|error| error.to_string())?;
    let mut packages = Vec::new();
    for entry in crates {
        let manifest = entry.map_err(|error| error.to_string())?.path();
        let manifest = manifest.join("Cargo.toml");
        let text = fs::read_to_string(&manifest);
        let text = text.map_err(|error| format!("{}: {error}", manifest.display()))?;
        if !text.lines().any(|line| line == "publish = false") {
            packages.extend(package_name(&text));
        }
    }
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Names {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_version_promises_the_names_that_are_listed() {
        let listed = parse("0.2.0\na::B (struct)\na::B::c\n").expect("a list");
        assert_eq!(listed.names, names(&["a::B (struct)", "a::B::c"]));
        let [patch, minor] =
            ["0.2.1", "0.3.0"].map(|version| Version::parse(version).expect("a version"));
        let more = names(&["a::B (struct)", "a::B::c", "a::d (fn)"]);
        let fewer = names(&["a::B (struct)", "a::d (fn)"]);
        assert!(gone(&listed, patch, &more).is_empty());
        assert_eq!(gone(&listed, patch, &fewer), ["a::B::c"]);
        assert!(gone(&listed, minor, &fewer).is_empty());
    }

    #[test]
    fn the_list_is_of_the_declared_version_and_in_order() {
        let text = fs::read_to_string(root().join(LISTED)).expect("a list");
        let listed = parse(&text).expect("a version in front");
        assert_eq!(Ok(listed.version), declared());
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(lines.is_sorted() && !lines.is_empty());
        assert_eq!(lines.len(), listed.names.len());
    }

    #[test]
    fn crates_are_published_unless_they_say_otherwise() {
        let packages = published().expect("manifests");
        assert!(packages.iter().any(|package| package == "traceloom"));
        assert!(packages.iter().any(|package| package == "traceloom-emit"));
        assert!(
            !packages
                .iter()
                .any(|package| package == "traceloom-samples")
        );
    }
}
