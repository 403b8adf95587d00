//! Nothing is merged half done.

use super::tree::Tree;
use super::{Finding, rust};

/// Code that stands for code not written; looked for outside comments and literals.
const PLACEHOLDERS: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("#[ig", "nore"),
];

/// Notes to oneself, as whole words anywhere in a line.
const REMINDERS: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];

/// Refuses placeholders, ignored tests and reminders.
pub fn nothing_is_left_unfinished(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension(&["rs"]) {
        for (number, line) in (1..).zip(rust::split(&file.text)) {
            for placeholder in PLACEHOLDERS {
                if line.code.contains(placeholder) {
                    let message = format!("`{placeholder}` is left unfinished");
                    findings.push(Finding::new(&file.path, number, message));
                }
            }
        }
    }
    for file in tree.with_extension(&["rs", "md", "toml", "sh", "yml", "ts", "css", "html"]) {
        for (number, line) in file.lines() {
            let mut words = line.split(|c: char| !c.is_alphanumeric());
            if let Some(word) = words.find(|word| REMINDERS.contains(word)) {
                let message = format!("`{word}` is left unfinished");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let findings = nothing_is_left_unfinished(&Tree::of(&[(path, text)]));
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn placeholders_are_refused_in_code() {
        assert_eq!(lines("a.rs", concat!("fn f() {\n    to", "do!()\n}")), [2]);
        assert_eq!(
            lines("a.rs", concat!("fn f() { unimple", "mented!(\"g\") }")),
            [1]
        );
        assert_eq!(
            lines(
                "a.rs",
                concat!("#[test]\n#[ig", "nore = \"slow\"]\nfn f() {}")
            ),
            [2]
        );
    }

    #[test]
    fn a_string_or_a_comment_may_name_them() {
        assert_eq!(
            lines(
                "a.rs",
                concat!("let a = \"to", "do!()\"; // not `#[ig", "nore]`")
            ),
            []
        );
        assert_eq!(lines("a.md", concat!("`to", "do!()` is refused")), []);
    }

    #[test]
    fn reminders_are_refused_everywhere_as_whole_words() {
        assert_eq!(lines("a.rs", concat!("\n// FIX", "ME: later")), [2]);
        assert_eq!(lines("a.md", concat!("see XX", "X.")), [1]);
        assert_eq!(
            lines("a.toml", concat!("# XX", "XX is a placeholder of a port")),
            []
        );
    }
}
