//! States that cannot be are not answered in silence.

use super::tree::{RepoFile, Tree};
use super::{Finding, rust};

/// Files in which such an answer means something, and how many there are: an absent limit is none, a minimum of
/// nothing is the largest number, a text that nobody sent is empty. A number may go down and not up.
const MEANT: &[(&str, usize)] = &[
    ("crates/analysis/src/calls/table.rs", 1),
    ("crates/analysis/src/sketch.rs", 1),
    ("crates/analysis/src/timeline/order.rs", 1),
    ("crates/emit/src/bounds.rs", 3),
    ("crates/emit/src/zorka/trace.rs", 2),
    ("crates/formats/src/cdt/lower/fast.rs", 1),
    ("crates/formats/src/cdt/raise/words.rs", 1),
    ("crates/formats/src/cdt/tcp/members.rs", 1),
    ("crates/formats/src/chrome/read.rs", 1),
    ("crates/formats/src/heph/lower.rs", 1),
    ("crates/formats/src/jfr/header.rs", 1),
    ("crates/formats/src/otlp/code.rs", 1),
    ("crates/formats/src/otlp/dictionary.rs", 1),
    ("crates/formats/src/otlp/probe.rs", 1),
    ("crates/formats/src/pprof/labels.rs", 2),
    ("crates/formats/src/pprof/lower.rs", 2),
    ("crates/formats/src/pprof/probe.rs", 1),
    ("crates/formats/src/tptp/convert/to_binary.rs", 1),
    ("crates/formats/src/tptp/emit.rs", 1),
    ("crates/formats/src/tptp/raise/order.rs", 1),
    ("crates/formats/src/zorka/lower.rs", 1),
    ("crates/model/src/bounds.rs", 8),
    ("crates/model/src/sparse.rs", 2),
    ("crates/server/src/files.rs", 2),
];

/// Refuses `unwrap_or` with an empty slice or with the largest number in the product.
pub fn impossible_states_have_types(tree: &Tree) -> Vec<Finding> {
    let files = tree.with_extension(&["rs"]);
    let products = files.filter(|file| is_product(&file.path));
    products.flat_map(|file| judge(file, MEANT)).collect()
}

/// The samples are for tests.
fn is_product(path: &str) -> bool {
    let is_tests = path.ends_with("/tests.rs") || path.ends_with("_tests.rs");
    let is_source = path.starts_with("crates/") && path.contains("/src/");
    is_source && !is_tests && !path.starts_with("crates/samples/")
}

fn judge(file: &RepoFile, meant: &[(&str, usize)]) -> Vec<Finding> {
    let lines = rust::without_tests(rust::split(&file.text));
    let answers: Vec<usize> = (1..)
        .zip(&lines)
        .filter(|(_, line)| is_answer(&line.code))
        .map(|(number, _)| number)
        .collect();
    let meant = meant.iter().find(|(path, _)| *path == file.path);
    let n_meant = meant.map_or(0, |&(_, n_meant)| n_meant);
    if answers.len() < n_meant {
        let message = format!(
            "{} silent answers are fewer than the {n_meant} of `tidy/answers.rs`: lower the number there",
            answers.len()
        );
        return vec![Finding::new(&file.path, 1, message)];
    }
    if answers.len() == n_meant {
        return Vec::new();
    }
    let finding = |number| {
        let message = "a silent answer: use a helper of `model::bounds` that names what it means, or an error";
        Finding::new(&file.path, number, message)
    };
    answers.into_iter().map(finding).collect()
}

/// Returns true if a line falls back to an empty slice or to the largest number of a type.
fn is_answer(code: &str) -> bool {
    let mut fallbacks = code.split(".unwrap_or(").skip(1);
    fallbacks.any(|rest| {
        let argument = rest.split(')').next().unwrap_or(rest);
        argument == "&[]" || argument == "MAX" || argument.ends_with("::MAX")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/formats/src/a.rs";
    const TWO: &str =
        "let a = b.get(1..).unwrap_or(&[]);\nlet c = u32::try_from(d)\n    .unwrap_or(u32::MAX);\n";

    fn lines(path: &str, text: &str, meant: &[(&str, usize)]) -> Vec<usize> {
        let tree = Tree::of(&[(path, text)]);
        let files = tree.all();
        let findings = files.flat_map(|file| judge(file, meant));
        findings.map(|finding| finding.line).collect()
    }

    #[test]
    fn an_empty_slice_and_the_largest_number_are_silent_answers() {
        assert_eq!(lines(PATH, TWO, &[]), [1, 3]);
        assert_eq!(lines(PATH, "let a = b.unwrap_or(Head::MAX);", &[]), [1]);
        assert_eq!(lines(PATH, "let a = b.unwrap_or(0);", &[]), []);
        assert_eq!(
            lines(PATH, "// .unwrap_or(&[])\n\"x.unwrap_or(&[])\"", &[]),
            []
        );
    }

    #[test]
    fn tests_may_answer_as_they_like() {
        let text = format!("#[cfg(test)]\nmod tests {{\n{TWO}}}\n");
        assert_eq!(lines(PATH, &text, &[]), []);
        assert_eq!(
            impossible_states_have_types(&Tree::of(&[("crates/a/src/tests.rs", TWO)])),
            []
        );
        assert_eq!(
            impossible_states_have_types(&Tree::of(&[(PATH, TWO)])).len(),
            2
        );
    }

    #[test]
    fn a_number_of_meant_answers_is_exact() {
        assert_eq!(lines(PATH, TWO, &[(PATH, 2)]), []);
        assert_eq!(lines(PATH, TWO, &[(PATH, 1)]), [1, 3]);
        assert_eq!(lines(PATH, TWO, &[(PATH, 3)]), [1]);
    }
}
