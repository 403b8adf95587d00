//! How comments and documents are worded.

use super::tree::Tree;
use super::{Finding, rust};

/// Starts of comments that retell the next line.
const NARRATION: &[&str] = &["create the", "check if", "now ", "step "];

/// Praise; each stands for the words that start with it.
const PRAISE: &[&str] = &[
    concat!("rob", "ust"),
    concat!("comprehen", "sive"),
    concat!("seam", "less"),
    concat!("power", "ful"),
];

/// Phrases that readers stumble over, with what to write instead.
const BANNED: &[(&str, &str)] = &[
    (concat!("tells wh", "ether"), "returns true if"),
    (concat!("tells tr", "ue"), "returns true"),
];

/// Refuses phrases of comments that have a plain form.
pub fn comments_are_plain(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension(&["rs"]) {
        for (number, line) in (1..).zip(rust::split(&file.text)) {
            let comment = line.comment.to_lowercase();
            if let Some((phrase, plain)) =
                BANNED.iter().find(|(phrase, _)| comment.contains(phrase))
            {
                let message = format!("`{phrase}` in a comment: write `{plain}`");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

/// Refuses comments that narrate; doc comments are judged by people.
pub fn comments_do_not_narrate(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension(&["rs"]) {
        for (number, line) in (1..).zip(rust::split(&file.text)) {
            if line.comment.starts_with(['/', '!']) {
                continue;
            }
            let comment = line.comment.trim_start().to_lowercase();
            if let Some(start) = NARRATION.iter().find(|start| narrates(&comment, start)) {
                let message = format!("a comment says why; this one narrates: `{start}…`");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

/// A step is numbered; "step by step" tells something.
fn narrates(comment: &str, start: &str) -> bool {
    let Some(rest) = comment.strip_prefix(start) else {
        return false;
    };
    start != "step " || rest.starts_with(|c: char| c.is_ascii_digit())
}

/// Refuses words of praise in Rust files and documents.
pub fn words_state_facts(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension(&["rs", "md"]) {
        for (number, line) in file.lines() {
            let line = line.to_lowercase();
            let mut words = line.split(|c: char| !c.is_alphanumeric());
            let praises = |word: &&str| PRAISE.iter().any(|praise| word.starts_with(praise));
            if let Some(word) = words.find(praises) {
                let message = format!("`{word}` praises; state the fact or the limit");
                findings.push(Finding::new(&file.path, number, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrating(text: &str) -> usize {
        comments_do_not_narrate(&Tree::of(&[("a.rs", text)])).len()
    }

    fn praising(path: &str, text: &str) -> usize {
        words_state_facts(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn riddles_are_refused() {
        let comment = concat!("/// Tells wh", "ether it is open.");
        let refused = |text: &str| comments_are_plain(&Tree::of(&[("a.rs", text)])).len();
        assert_eq!(refused(comment), 1);
        assert_eq!(refused("/// Returns true if it is open."), 0);
        assert_eq!(refused(concat!("let a = \"tells wh", "ether\";")), 0);
    }

    #[test]
    fn narration_is_refused() {
        for comment in [
            "// Create the b",
            "// check if b",
            "a(); // Now b",
            "// Step 2: b",
        ] {
            assert_eq!(narrating(comment), 1, "{comment}");
        }
    }

    #[test]
    fn comments_that_say_why_are_fine() {
        for comment in [
            "// Nowhere else",
            "// step by step",
            "let a = \"// Now b\";",
        ] {
            assert_eq!(narrating(comment), 0, "{comment}");
        }
    }

    #[test]
    fn praise_is_refused_in_code_and_documents() {
        for praise in PRAISE {
            assert_eq!(praising("a.md", &format!("a {praise}ly made thing")), 1);
            assert_eq!(
                praising("a.rs", &format!("/// {}", praise.to_uppercase())),
                1
            );
        }
        assert_eq!(praising("a.txt", PRAISE[0]), 0);
    }
}
