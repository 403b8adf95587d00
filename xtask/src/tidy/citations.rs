//! Sections that code cites: each is one of the specification it names.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::tree::Tree;

/// Where the folders of formats are, each with its `SPEC.md`.
const FORMATS: &str = "crates/formats/src/";

/// Refuses a section that the `SPEC.md` of the folder does not have, or that of the folder named before it: `cdt/SPEC.md` §5.
pub fn cited_sections_exist(tree: &Tree) -> Vec<Finding> {
    let specs: BTreeMap<&str, BTreeSet<String>> = tree
        .with_extension(&["md"])
        .filter_map(|file| {
            let folder = file.path.strip_prefix(FORMATS)?.strip_suffix("/SPEC.md")?;
            Some((folder, file.text.lines().flat_map(sections_of).collect()))
        })
        .collect();
    let mut findings = Vec::new();
    for file in tree.with_extension(&["rs", "md"]) {
        let Some(path) = file.path.strip_prefix(FORMATS) else {
            continue;
        };
        let own = path.split('/').next().unwrap_or_default();
        // A specification may name the sections of the one it retells.
        let retells = path.ends_with(".md");
        for (at, line) in (1..).zip(file.text.lines()) {
            let mut before = String::new();
            for piece in line.split_inclusive('§') {
                let cited = number_at(piece);
                let named = named_folder(&before);
                let has = |folder: &str| specs.get(folder).is_some_and(|has| has.contains(cited));
                let is_citation = before.ends_with('§') && !cited.is_empty();
                if is_citation && !has(named.unwrap_or(own)) && (named.is_some() || !retells) {
                    let folder = named.unwrap_or(own);
                    let message = format!("`{folder}/SPEC.md` has no section {cited}");
                    findings.push(Finding::new(&file.path, at, message));
                }
                before.push_str(piece);
            }
        }
    }
    findings
}

/// The folder whose specification was named last: the last word before the last `/SPEC.md`.
fn named_folder(before: &str) -> Option<&str> {
    let (path, _) = before.rsplit_once("/SPEC.md")?;
    path.rsplit(|c: char| !c.is_ascii_alphanumeric()).next()
}

/// The number that a text begins with: `5`, `5.2`.
fn number_at(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

/// The sections that a line of a specification begins: `## 5 Calls`, `- 2.1 phrase`, `- **§6.2, §6.3** Unknown`.
fn sections_of(line: &str) -> Vec<String> {
    let rest = line.trim_start_matches(['#', '-', '*', ' ']);
    if rest.len() == line.len() {
        return Vec::new();
    }
    // Bold words begin many a line; a section in them has its sign.
    if line.starts_with('*') && !rest.starts_with('§') {
        return Vec::new();
    }
    let mut sections = Vec::new();
    for part in rest.trim_start_matches('§').split(", §") {
        let number = number_at(part);
        if number.is_empty() {
            break;
        }
        sections.push(number.to_owned());
        if number.len() < part.len() {
            break;
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let spec = "# CDT\n## 5 Calls\n- 5.1 head\n- **§6.2, §6.3** Both\n";
        let tree = Tree::of(&[("crates/formats/src/cdt/SPEC.md", spec), (path, text)]);
        let findings = cited_sections_exist(&tree).into_iter();
        findings.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_section_is_one_of_the_folder() {
        let path = "crates/formats/src/cdt/calls.rs";
        assert_eq!(messages(path, "// §5, §5.1. Also SPEC.md §6.3.\n"), [""; 0]);
        let missing = format!("{path}:2: `cdt/SPEC.md` has no section 5.4");
        assert_eq!(messages(path, "\n/// Rows (§5, §5.4).\n"), [missing]);
    }

    #[test]
    fn another_folder_is_named_before_the_section() {
        let path = "crates/formats/src/wire/units.rs";
        assert_eq!(messages(path, "// `cdt/SPEC.md` §5.1\n"), [""; 0]);
        let missing = format!("{path}:1: `cdt/SPEC.md` has no section 9");
        assert_eq!(messages(path, "// (`cdt/SPEC.md` §5, §9)\n"), [missing]);
        let missing = format!("{path}:1: `wire/SPEC.md` has no section 5");
        assert_eq!(messages(path, "// SPEC.md §5\n"), [missing]);
    }
}
