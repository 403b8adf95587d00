//! A file that is long says why.

use super::Finding;
use super::tree::Tree;

const MOST_LINES: usize = 1_000;

/// How a long file starts the line that gives its reason.
const EXCUSE: &str = "// tidy: long:";

/// The excuse stands at the top, where the reader meets it.
const EXCUSE_WITHIN: usize = 5;

/// Refuses Rust files of more than 1,000 lines without a reason near their first line.
pub fn long_files_say_why(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension(&["rs"]) {
        let n_lines = file.lines().count();
        let mut top = file.lines().take(EXCUSE_WITHIN);
        let is_excused = top.any(|(_, line)| {
            let reason = line.strip_prefix(EXCUSE);
            reason.is_some_and(|reason| !reason.trim().is_empty())
        });
        if n_lines > MOST_LINES && !is_excused {
            let message = format!(
                "{n_lines} lines are more than {MOST_LINES}: split the file, \
                 or say `{EXCUSE} reason` at its top"
            );
            findings.push(Finding::new(&file.path, 1, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> usize {
        long_files_say_why(&Tree::of(&[("a.rs", text)])).len()
    }

    #[test]
    fn a_long_file_is_refused_unless_it_says_why() {
        let long = "x\n".repeat(MOST_LINES + 1);
        assert_eq!(findings(&long), 1);
        assert_eq!(findings(&format!("{EXCUSE}\n{long}")), 1);
        assert_eq!(
            findings(&format!("//! A table.\n{EXCUSE} a table\n{long}")),
            0
        );
        assert_eq!(findings(&format!("{long}{EXCUSE} too late\n")), 1);
    }

    #[test]
    fn a_file_of_the_greatest_length_is_fine() {
        assert_eq!(findings(&"x\n".repeat(MOST_LINES)), 0);
    }
}
