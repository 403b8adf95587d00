//! Which crate may know which, and what the crates without I/O must not touch.

use super::manifest::{Kind, dependencies, package_name};
use super::tree::Tree;
use super::{Finding, rust};
use std::collections::BTreeMap;

/// Each folder of `crates/` with the folders it may depend on, the lowest first.
///
/// `input` knows `formats` because it asks them what a file is, and `cli` knows
/// `server` because it is the one binary. Dev-dependencies are free: a test may go
/// through the layers above, and makes its inputs with `samples`, which is in no
/// list: the program does not contain it.
const LAYERS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("formats", &["model"]),
    ("samples", &["model", "formats"]),
    ("analysis", &["model"]),
    ("tables", &["model"]),
    ("log", &["model"]),
    ("emit", &[]),
    ("store", &["model", "tables"]),
    ("input", &["model", "formats", "log"]),
    (
        "server",
        &[
            "model", "formats", "analysis", "tables", "log", "store", "input",
        ],
    ),
    (
        "cli",
        &[
            "model", "formats", "analysis", "tables", "log", "store", "input", "server",
        ],
    ),
    ("page", &["cli"]),
    ("python", &["tables", "cli"]),
];

/// The crates that do no I/O: pure functions of what they are given.
pub const PURE_CRATES: [&str; 3] = ["model", "formats", "analysis"];

/// What reaches outside the process, or runs beside the caller.
const OUTSIDE: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Refuses a dependency between our crates that the layers do not allow.
pub fn crates_depend_downwards(tree: &Tree) -> Vec<Finding> {
    let manifests: Vec<_> = tree
        .written()
        .filter_map(|file| Some((crate_of(&file.path, "Cargo.toml")?, file)))
        .collect();
    let folder_of: BTreeMap<String, &str> = manifests
        .iter()
        .filter_map(|&(folder, file)| Some((package_name(&file.text)?, folder)))
        .collect();
    let mut findings = Vec::new();
    for (folder, file) in manifests {
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == folder) else {
            let message = format!("`{folder}` has no place in LAYERS of xtask/src/tidy/layers.rs");
            findings.push(Finding::new(&file.path, 1, message));
            continue;
        };
        for dependency in dependencies(&file.text) {
            let Some(&below) = folder_of.get(&dependency.package) else {
                continue;
            };
            if dependency.kind != Kind::Dev && !allowed.contains(&below) {
                let message = format!("`{folder}` must not depend on `{below}`");
                findings.push(Finding::new(&file.path, dependency.line, message));
            }
        }
    }
    findings
}

/// Refuses files, sockets, clocks, threads and the environment where only data flows.
///
/// Clippy refuses the same through each crate's `clippy.toml`, types known; this
/// rule sees the code that is compiled for another target or feature too.
pub fn pure_crates_do_no_io(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension(&["rs"]) {
        let Some(name) = PURE_CRATES
            .iter()
            .find(|name| file.path.starts_with(&format!("crates/{name}/src/")))
        else {
            continue;
        };
        if file.name() == "tests.rs" || file.path.contains("/tests/") {
            continue;
        }
        let lines = rust::without_tests(rust::split(&file.text));
        for (line, path) in rust::paths_under("std", &lines) {
            if OUTSIDE.iter().any(|outside| is_within(&path, outside)) {
                let message = format!("`{name}` does no I/O, but names `{path}`");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

/// Refuses a pure crate whose `clippy.toml` is missing or unlike the first one's.
pub fn pure_crates_ban_the_same(tree: &Tree) -> Vec<Finding> {
    let text_at = |path: &str| {
        tree.all()
            .find(|file| file.path == path)
            .map(|file| &file.text)
    };
    let bans_of = |name: &str| text_at(&format!("crates/{name}/clippy.toml"));
    let first = PURE_CRATES[0];
    PURE_CRATES
        .iter()
        .filter(|name| text_at(&format!("crates/{name}/Cargo.toml")).is_some())
        .filter(|name| bans_of(name).is_none() || bans_of(name) != bans_of(first))
        .map(|name| {
            let message = format!("`{name}` must ban what crates/{first}/clippy.toml bans");
            Finding::new(&format!("crates/{name}/clippy.toml"), 1, message)
        })
        .collect()
}

/// The folder of `crates/` whose own file of this name the path is.
fn crate_of<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (folder, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    (rest == name).then_some(folder)
}

fn is_within(path: &str, outside: &str) -> bool {
    path.strip_prefix(outside)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"traceloom-{name}\"\n{rest}\n")
    }

    fn upward(folder: &str, rest: &str) -> Vec<Finding> {
        let path = format!("crates/{folder}/Cargo.toml");
        let text = manifest(folder, rest);
        crates_depend_downwards(&Tree::of(&[
            ("crates/model/Cargo.toml", &manifest("model", "")),
            ("crates/input/Cargo.toml", &manifest("input", "")),
            (&path, &text),
        ]))
    }

    fn outside(path: &str, text: &str) -> Vec<Finding> {
        pure_crates_do_no_io(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn a_lower_crate_must_not_know_a_higher_one() {
        let findings = upward(
            "formats",
            "[dependencies]\ntraceloom-input.workspace = true",
        );
        let message = "`formats` must not depend on `input`";
        let path = "crates/formats/Cargo.toml";
        assert_eq!(findings, [Finding::new(path, 4, message)]);
    }

    #[test]
    fn a_renamed_build_dependency_counts() {
        let rest = "[build-dependencies]\nx = { package = \"traceloom-input\", path = \"\" }";
        assert_eq!(upward("formats", rest).len(), 1);
    }

    #[test]
    fn downwards_and_for_tests_is_fine() {
        let rest = "[dependencies]\ntraceloom-model.workspace = true\nmemchr = \"2\"\n\
                    [dev-dependencies]\ntraceloom-input.workspace = true";
        assert_eq!(upward("formats", rest), []);
    }

    #[test]
    fn a_crate_without_a_layer_is_refused() {
        let findings = upward("misc", "");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.starts_with("`misc` has no place"));
    }

    #[test]
    fn every_layer_stands_above_those_it_may_know() {
        for (at, (folder, allowed)) in LAYERS.iter().enumerate() {
            let below: Vec<&str> = LAYERS[..at].iter().map(|(name, _)| *name).collect();
            for name in *allowed {
                assert!(below.contains(name), "{folder} knows {name}");
            }
        }
    }

    #[test]
    fn input_and_output_are_refused_in_pure_crates() {
        let path = "crates/model/src/time.rs";
        let findings = outside(path, "use std::{\n    fs,\n    time::Instant,\n};\n");
        assert_eq!(
            findings,
            [
                Finding::new(path, 2, "`model` does no I/O, but names `std::fs`"),
                Finding::new(
                    path,
                    3,
                    "`model` does no I/O, but names `std::time::Instant`"
                ),
            ]
        );
        assert_eq!(outside(path, "fn f() { std::env::var(\"A\"); }").len(), 1);
    }

    #[test]
    fn a_pure_crate_with_bans_of_its_own_is_refused() {
        let findings = |bans: &[(&str, &str)]| {
            let manifests = PURE_CRATES.map(|name| format!("crates/{name}/Cargo.toml"));
            let mut files: Vec<(&str, &str)> = Vec::new();
            files.extend(manifests.iter().map(|path| (path.as_str(), "")));
            files.extend(bans);
            let found = pure_crates_ban_the_same(&Tree::of(&files)).into_iter();
            found.map(|finding| finding.path).collect::<Vec<_>>()
        };
        let [model, formats, analysis] =
            PURE_CRATES.map(|name| format!("crates/{name}/clippy.toml"));
        assert_eq!(
            findings(&[(&model, "a"), (&formats, "a"), (&analysis, "a")]),
            [""; 0]
        );
        assert_eq!(
            findings(&[(&model, "a"), (&formats, "b"), (&analysis, "a")]),
            [formats]
        );
        assert_eq!(findings(&[(&model, "a")]).len(), 2);
    }

    #[test]
    fn durations_comments_tests_and_other_crates_are_left_alone() {
        let path = "crates/model/src/lib.rs";
        assert_eq!(outside(path, "use std::time::Duration;"), []);
        assert_eq!(outside(path, "/// Not `std::fs`.\nfn f() {}"), []);
        assert_eq!(
            outside(path, "#[cfg(test)]\nmod tests {\n    use std::fs;\n}"),
            []
        );
        assert_eq!(
            outside("crates/model/src/span/tests.rs", "use std::fs;"),
            []
        );
        assert_eq!(outside("crates/input/src/lib.rs", "use std::fs;"), []);
    }
}
