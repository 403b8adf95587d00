//! A name says what is inside, not what kind of thing it is.

use super::Finding;
use super::tree::Tree;

/// Names under which anything could be put.
const EMPTY_NAMES: &[&str] = &[
    "common", "helper", "helpers", "traits", "types", "util", "utils",
];

/// `core` is as empty, but only as the name of a crate.
const EMPTY_CRATE_NAMES: &[&str] = &["core"];

/// Refuses files, module folders and crates with such a name.
pub fn names_say_what_is_inside(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension(&["rs"]) {
        let mut modules = file
            .path
            .split('/')
            .map(|part| part.trim_end_matches(".rs"));
        if let Some(name) = modules.find(|name| EMPTY_NAMES.contains(name)) {
            findings.push(Finding::new(&file.path, 1, refusal(name)));
        }
    }
    for file in tree.written().filter(|file| file.name() == "Cargo.toml") {
        let Some(package) = super::manifest::package_name(&file.text) else {
            continue;
        };
        let folder = file.path.rsplit('/').nth(1);
        let names = [package.rsplit('-').next(), folder];
        let mut refused = EMPTY_NAMES.iter().chain(EMPTY_CRATE_NAMES);
        if let Some(name) = refused.find(|name| names.contains(&Some(**name))) {
            findings.push(Finding::new(&file.path, 1, refusal(name)));
        }
    }
    findings
}

fn refusal(name: &str) -> String {
    format!("`{name}` does not say what is inside")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> usize {
        names_say_what_is_inside(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn files_that_could_hold_anything_are_refused() {
        for name in EMPTY_NAMES {
            assert_eq!(findings(&format!("crates/model/src/{name}.rs"), ""), 1);
            assert_eq!(findings(&format!("crates/model/src/{name}/span.rs"), ""), 1);
        }
        assert_eq!(findings("crates/model/src/value_types.rs", ""), 0);
        assert_eq!(findings("docs/types.md", ""), 0);
    }

    #[test]
    fn crates_that_could_hold_anything_are_refused() {
        let package = |name: &str| format!("[package]\nname = \"traceloom-{name}\"\n");
        assert_eq!(findings("crates/base/Cargo.toml", &package("core")), 1);
        assert_eq!(findings("crates/common/Cargo.toml", &package("shared")), 1);
        assert_eq!(findings("crates/model/Cargo.toml", &package("model")), 0);
    }
}
