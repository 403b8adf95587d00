//! Which folder of a crate may import which: formats stand side by side, and imports run in one direction.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{RepoFile, Tree};
use super::{Finding, rust};

/// The folder of `formats` that knows every format and that every format may ask.
const REGISTRY: &str = "registry";

/// An import of one top-level module of a crate by another.
pub struct Import<'t> {
    file: &'t RepoFile,
    line: usize,
    /// The module that imports.
    pub from: String,
    /// The module that is imported.
    pub to: String,
}

/// Refuses an import of a format by another format or by a folder that formats share.
pub fn formats_stand_side_by_side(tree: &Tree) -> Vec<Finding> {
    let imports = imports(tree, "formats");
    let listed = imports.iter().filter(|import| import.from == REGISTRY);
    let formats: BTreeSet<&str> = listed
        .map(|import| import.to.as_str())
        .filter(|&to| to != "codec")
        .collect();
    let mut findings: Vec<Finding> = imports
        .iter()
        .filter(|import| import.from != REGISTRY && formats.contains(import.to.as_str()))
        .map(|import| {
            let Import { from, to, .. } = import;
            let message = format!("`{from}` must not import the format `{to}`");
            Finding::new(&import.file.path, import.line, message)
        })
        .collect();
    for file in tree.with_extension(&["rs"]) {
        let name = file.path.strip_prefix("crates/formats/src/");
        if name.is_some_and(|name| !name.contains('/') && name != "lib.rs") {
            findings.push(Finding::new(&file.path, 1, "belongs in a folder"));
        }
    }
    findings
}

/// Refuses imports between the top-level modules of a crate that run in a circle.
pub fn modules_import_one_way(tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree).into_iter();
    crates.flat_map(|name| circles_of(tree, name)).collect()
}

/// The folders of `crates/`.
pub fn crates(tree: &Tree) -> BTreeSet<&str> {
    let paths = tree.with_extension(&["rs"]).map(|file| &file.path);
    let names = paths.filter_map(|path| path.strip_prefix("crates/")?.split('/').next());
    names.collect()
}

/// Finds the imports of a crate that are part of a circle.
pub fn circles_of(tree: &Tree, name: &str) -> Vec<Finding> {
    // What a format holds it finds through the registry, which knows the format.
    let imports: Vec<Import<'_>> = imports(tree, name)
        .into_iter()
        .filter(|import| import.to != REGISTRY)
        .collect();
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for import in &imports {
        below.entry(&import.from).or_default().insert(&import.to);
    }
    let is_circle = |import: &&Import<'_>| reaches(&below, &import.to, &import.from);
    let finding = |import: &Import<'_>| {
        let Import { from, to, .. } = import;
        let message = format!("`{from}` imports `{to}`, which imports `{from}` in a circle");
        Finding::new(&import.file.path, import.line, message)
    };
    imports.iter().filter(is_circle).map(finding).collect()
}

/// Returns true if a chain of imports leads from one module to another.
fn reaches<'t>(below: &BTreeMap<&'t str, BTreeSet<&'t str>>, from: &'t str, to: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            next.extend(below.get(module).into_iter().flatten());
        }
    }
    false
}

/// The path of a source file below `src/` without its extension; none for tests.
fn module_of<'t>(file: &'t RepoFile, name: &str) -> Option<&'t str> {
    let path = file.path.strip_prefix("crates/")?.strip_prefix(name)?;
    let path = path.strip_prefix("/src/")?.strip_suffix(".rs")?;
    let is_test = path.split('/').any(|part| part == "tests");
    (!is_test).then_some(path)
}

/// The top-level modules of a crate, and whether each is a folder.
pub fn modules(tree: &Tree, name: &str) -> BTreeMap<String, bool> {
    let mut modules = BTreeMap::new();
    let files = tree.with_extension(&["rs"]);
    for path in files.filter_map(|file| module_of(file, name)) {
        let (top, folder) = match path.split_once('/') {
            Some((top, _)) => (top, true),
            None => (path, false),
        };
        if !["lib", "main"].contains(&top) {
            *modules.entry(top.to_owned()).or_default() |= folder;
        }
    }
    modules
}

/// The imports between top-level modules of a crate, by the modules in which names live.
pub fn imports<'t>(tree: &'t Tree, name: &str) -> Vec<Import<'t>> {
    let files: Vec<(&RepoFile, &str)> = tree
        .with_extension(&["rs"])
        .filter_map(|file| Some((file, module_of(file, name)?)))
        .collect();
    let top = |module: &str| module.split('/').next().unwrap_or_default().to_owned();
    let modules: BTreeSet<String> = files.iter().map(|&(_, module)| top(module)).collect();
    let mut home: BTreeMap<String, String> = BTreeMap::new();
    for (file, _) in files
        .iter()
        .filter(|(_, module)| ["lib", "main"].contains(module))
    {
        let lines = rust::split(&file.text);
        for module in &modules {
            for (_, path) in rust::paths_under(module, &lines) {
                let exported = path.rsplit("::").next().unwrap_or_default();
                home.insert(exported.to_owned(), module.clone());
            }
        }
    }
    let mut imports = Vec::new();
    for (file, module) in files {
        let from = top(module);
        if ["lib", "main"].contains(&from.as_str()) {
            continue;
        }
        let lines = rust::without_tests(rust::split(&file.text));
        let inside: Vec<&str> = module.split('/').filter(|part| *part != "mod").collect();
        let paths = ["crate", "super"].map(|root| rust::paths_under(root, &lines));
        for (line, path) in paths.into_iter().flatten() {
            let Some(named) = named_at_top(&path, &inside) else {
                continue;
            };
            let to = if modules.contains(named) {
                named
            } else if let Some(module) = home.get(named) {
                module
            } else {
                continue;
            };
            if to != from {
                let (from, to) = (from.clone(), to.to_owned());
                imports.push(Import {
                    file,
                    line,
                    from,
                    to,
                });
            }
        }
    }
    imports
}

/// The name that a path has at the top of its crate; none for one that stays inside its module.
fn named_at_top<'p>(path: &'p str, inside: &[&str]) -> Option<&'p str> {
    let mut parts = path.split("::").peekable();
    let mut depth = inside.len();
    while parts.next_if_eq(&"super").is_some() {
        depth = depth.saturating_sub(1);
    }
    if parts.next_if_eq(&"crate").is_some() {
        depth = 0;
    }
    (depth == 0).then(|| parts.next())?
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTERED: (&str, &str) = (
        "crates/formats/src/registry/mod.rs",
        "use crate::{Format, heph, jfr};",
    );
    const LIB: (&str, &str) = (
        "crates/formats/src/lib.rs",
        "mod registry;\npub use codec::{Error, Format};\npub use registry::by_name;",
    );
    const CODEC: (&str, &str) = ("crates/formats/src/codec/mod.rs", "");
    const HEPH: (&str, &str) = ("crates/formats/src/heph/mod.rs", "use crate::Error;");

    fn formats(more: &[(&str, &str)]) -> Vec<Finding> {
        let files = [&[REGISTERED, LIB, CODEC, HEPH][..], more].concat();
        let tree = Tree::of(&files);
        let mut findings = formats_stand_side_by_side(&tree);
        findings.extend(modules_import_one_way(&tree));
        findings
    }

    #[test]
    fn a_format_must_not_import_another() {
        let path = "crates/formats/src/jfr/lower/mod.rs";
        let message = "`jfr` must not import the format `heph`";
        for text in [
            "\nuse crate::heph::mark;",
            "\nuse crate::{\n wire, heph};",
            "\nfn f() { super::super::heph::mark() }",
        ] {
            let found = formats(&[(path, text)]);
            let line = if text.contains("{\n") { 3 } else { 2 };
            assert_eq!(found, [Finding::new(path, line, message)], "{text}");
        }
    }

    #[test]
    fn what_is_shared_must_not_import_a_format() {
        let path = "crates/formats/src/text/lines.rs";
        let message = "`text` must not import the format `heph`";
        let found = formats(&[(path, "use crate::heph::mark;")]);
        assert_eq!(found, [Finding::new(path, 1, message)]);
    }

    #[test]
    fn own_modules_shared_folders_tests_and_the_registry_are_fine() {
        let path = "crates/formats/src/jfr/lower/mod.rs";
        for text in [
            "use super::header;\nuse super::super::jfr::walk;",
            "use crate::codec::units;\nuse crate::Error;",
            "use crate::by_name;",
            "#[cfg(test)]\nmod tests {\n use crate::heph::HEPH;\n}",
        ] {
            assert_eq!(formats(&[(path, text)]), [], "{text}");
        }
    }

    #[test]
    fn loose_files_are_refused() {
        let path = "crates/formats/src/lines.rs";
        let found = formats(&[(path, "")]);
        assert_eq!(found, [Finding::new(path, 1, "belongs in a folder")]);
    }

    #[test]
    fn circles_are_refused_between_modules_and_not_inside_one() {
        let circle = |paths: [&str; 2]| {
            let [a, b] = paths.map(|path| format!("crates/input/src/{path}"));
            let tree = Tree::of(&[(&a, "use crate::b::B;"), (&b, "use crate::a::A;")]);
            modules_import_one_way(&tree).len()
        };
        assert_eq!(circle(["a.rs", "b/c.rs"]), 2);
        assert_eq!(circle(["a.rs", "b.rs"]), 2);
        assert_eq!(circle(["a.rs", "a/b.rs"]), 0);
    }

    #[test]
    fn a_name_exported_by_the_root_of_a_program_counts_for_its_module() {
        let tree = Tree::of(&[
            (
                "crates/cli/src/main.rs",
                "mod a;\nmod b;\npub(crate) use b::Outcome;",
            ),
            ("crates/cli/src/a.rs", "use crate::Outcome;"),
            ("crates/cli/src/b.rs", "use crate::a::A;"),
        ]);
        assert_eq!(modules_import_one_way(&tree).len(), 2);
    }
}
