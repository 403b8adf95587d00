//! What every folder of a format shows: the same names, and an example that compiles.

use super::Finding;
use super::tree::{RepoFile, Tree};

/// How the row of a format begins.
const ROW: &str = "Format = Format {";

/// Names that a folder of a format gives what every format has, and that nothing stands in front of.
const SHARED_NAMES: [&str; 3] = ["Reader", "Visit", "Writer"];

/// Refuses formats that name their row, their reader or their writer in a way of their own, that export what their row
/// holds, or whose head shows no example.
pub fn formats_have_one_face(tree: &Tree) -> Vec<Finding> {
    let is_folder = |file: &&RepoFile| {
        let path = file.path.strip_prefix("crates/formats/src/");
        let module = path.and_then(|path| path.strip_suffix("/mod.rs"));
        module.is_some_and(|module| !module.contains('/')) && file.text.contains(ROW)
    };
    let folders = tree.with_extension(&["rs"]).filter(is_folder);
    folders.flat_map(findings_of).collect()
}

fn findings_of(file: &RepoFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |line: usize, message: &str| {
        findings.push(Finding::new(&file.path, line, message));
    };
    let head = file.text.lines().take_while(|line| line.starts_with("//!"));
    if !head.into_iter().any(|line| line == "//! ```") {
        find(1, "the head of a format shows an example that compiles");
    }
    let rows = |line: &&str| line.starts_with("pub ") && line.ends_with(ROW);
    let n_rows = file.text.lines().filter(rows).count();
    for (at, line) in (1..).zip(file.text.lines()) {
        if rows(&line) {
            if !line.starts_with("pub const ") {
                find(at, "the row of a format is a constant");
            }
            if n_rows == 1 && !line.starts_with("pub const FORMAT:") {
                find(at, "the row of a folder with one format is called `FORMAT`");
            }
        }
        let Some(exported) = line.trim_start().strip_prefix("pub use ") else {
            continue;
        };
        if matches!(exported, "lower::lower;" | "raise::raise;") {
            find(at, "lowering and raising are reached through the row");
        }
        for name in exported.split(|c: char| !c.is_alphanumeric()) {
            let mut shared = SHARED_NAMES.into_iter();
            if let Some(shared) = shared.find(|&shared| name != shared && name.ends_with(shared)) {
                find(
                    at,
                    &format!("`{name}` is called `{shared}`: the folder names the format"),
                );
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("crates/formats/src/heph/mod.rs", text)]);
        let findings = formats_have_one_face(&tree).into_iter();
        findings.map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn the_names_of_a_format_are_those_of_all() {
        let good = "//! ```\n//! ```\npub use read::{Reader, Visit};\n\
                    pub const FORMAT: Format = Format {\n};\n";
        assert_eq!(messages(good), [""; 0]);
        let two = "//! ```\npub const A: Format = Format {\npub const B: Format = Format {\n";
        assert_eq!(messages(two), [""; 0]);
        let bad = "pub use lower::lower;\npub use read::{LineReader, Row};\n\
                   pub static HEPH: Format = Format {\n";
        let path = "crates/formats/src/heph/mod.rs";
        let expected = [
            ":1: the head of a format shows an example that compiles",
            ":1: lowering and raising are reached through the row",
            ":2: `LineReader` is called `Reader`: the folder names the format",
            ":3: the row of a format is a constant",
            ":3: the row of a folder with one format is called `FORMAT`",
        ];
        assert_eq!(messages(bad), expected.map(|line| format!("{path}{line}")));
    }

    #[test]
    fn folders_that_formats_share_are_free() {
        assert_eq!(messages("pub use put::put_bytes;\n"), [""; 0]);
    }
}
