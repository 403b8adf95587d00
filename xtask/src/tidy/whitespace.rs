//! Lines end where they seem to end.

use super::Finding;
use super::tree::Tree;

/// Refuses trailing whitespace, carriage returns and a missing newline at the end.
pub fn lines_end_cleanly(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.written() {
        for (number, line) in (1..).zip(file.text.split('\n')) {
            if line.ends_with(char::is_whitespace) {
                findings.push(Finding::new(&file.path, number, "trailing whitespace"));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            let last = file.lines().count();
            findings.push(Finding::new(&file.path, last, "no newline at the end"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<(usize, String)> {
        let findings = lines_end_cleanly(&Tree::of(&[(path, text)])).into_iter();
        findings.map(|found| (found.line, found.message)).collect()
    }

    #[test]
    fn trailing_whitespace_is_refused() {
        let expected = |line| vec![(line, "trailing whitespace".to_owned())];
        assert_eq!(findings("a.rs", "a\nb \n"), expected(2));
        assert_eq!(findings("a.md", "a\t\nb\n"), expected(1));
        assert_eq!(findings(".ci/run", "a\n\r\n"), expected(2));
    }

    #[test]
    fn a_missing_last_newline_is_refused() {
        let expected = [(2, "no newline at the end".to_owned())];
        assert_eq!(findings("a.rs", "a\nb"), expected);
    }

    #[test]
    fn empty_files_and_vectors_are_fine() {
        assert_eq!(findings("a.rs", ""), []);
        assert_eq!(findings("testdata/a.txt", "a \nb"), []);
    }
}
