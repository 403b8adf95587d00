//! `cargo xtask tidy`: the rules of this repository that no compiler knows.
//!
//! A rule is a function from the files of the repository to findings, so each is
//! tested on files that exist only in its test. There is no list of exceptions and
//! no comment that silences a rule, except `// tidy: long:` for long files.

mod answers;
mod citations;
mod face;
pub mod floors;
mod layers;
mod leftovers;
mod length;
mod links;
mod machine;
mod manifest;
mod names;
mod prose;
pub mod rust;
pub mod tree;
mod whitespace;

pub use layers::PURE_CRATES;
pub use manifest::package_name;

use crate::cargo::root;
use std::fmt;
use tree::Tree;

/// One violation, printed as `file:line: what is wrong`.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        let (path, message) = (path.to_owned(), message.into());
        Self {
            path,
            line,
            message,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

const RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    answers::impossible_states_have_types,
    citations::cited_sections_exist,
    face::formats_have_one_face,
    floors::modules_import_one_way,
    floors::formats_stand_side_by_side,
    layers::crates_depend_downwards,
    layers::pure_crates_ban_the_same,
    layers::pure_crates_do_no_io,
    leftovers::nothing_is_left_unfinished,
    length::long_files_say_why,
    links::architecture_names_files,
    links::relative_links_resolve,
    machine::nothing_names_a_machine,
    manifest::dependencies_are_justified,
    names::names_say_what_is_inside,
    prose::comments_are_plain,
    prose::comments_do_not_narrate,
    prose::words_state_facts,
    whitespace::lines_end_cleanly,
];

/// Applies every rule to the files of the repository and prints what they find.
///
/// # Errors
/// Counts the findings, if there are any.
pub fn run() -> Result<(), String> {
    let tree = Tree::read(&root())?;
    let findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n_findings => Err(format!("tidy: {n_findings} findings")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        assert_eq!(run(), Ok(()));
    }

    #[test]
    fn a_finding_is_printed_where_an_editor_can_follow_it() {
        let finding = Finding::new("crates/model/src/lib.rs", 7, "trailing whitespace");
        assert_eq!(
            finding.to_string(),
            "crates/model/src/lib.rs:7: trailing whitespace"
        );
    }

    #[test]
    fn the_rules_accept_an_empty_repository() {
        let tree = Tree::of(&[]);
        assert!(RULES.iter().all(|rule| rule(&tree).is_empty()));
    }
}
