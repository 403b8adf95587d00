//! `cargo xtask house`: how the code reads, in numbers that can be compared with those of other projects.

use std::collections::{BTreeMap, HashMap};

use crate::cargo::root;
use crate::tidy::rust::{self, SourceLine};
use crate::tidy::tree::{RepoFile, Tree};

/// Prints lines by crate, names of types, phrases in comments, and the largest functions and files.
///
/// # Errors
/// When the tree cannot be read.
pub fn run() -> Result<(), String> {
    let tree = Tree::read(&root())?;
    let files: Vec<MeasuredFile> = tree
        .with_extension(&["rs"])
        .map(MeasuredFile::new)
        .collect();
    lines_by_crate(&files);
    type_names(&files);
    phrases(&files);
    largest_functions(&files);
    largest_files(&files);
    Ok(())
}

struct MeasuredFile<'t> {
    path: &'t str,
    /// Lines of the product: those of tests are empty.
    product: Vec<SourceLine>,
    n_lines: usize,
    n_product: usize,
}

impl<'t> MeasuredFile<'t> {
    fn new(file: &'t RepoFile) -> Self {
        let lines = rust::split(&file.text);
        let n_lines = lines.len();
        let product = if is_test(&file.path) {
            Vec::new()
        } else {
            rust::without_tests(lines)
        };
        let n_product = product
            .iter()
            .filter(|line| **line != SourceLine::default())
            .count();
        Self {
            path: &file.path,
            product,
            n_lines,
            n_product,
        }
    }

    fn krate(&self) -> &str {
        let mut parts = self.path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some(name)) => name,
            (Some(name), _) => name,
            (None, _) => "",
        }
    }
}

fn is_test(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.any(|part| ["tests", "benches", "examples", "fuzz", "tests.rs"].contains(&part))
}

fn lines_by_crate(files: &[MeasuredFile<'_>]) {
    let mut crates: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for file in files {
        let (all, product) = crates.entry(file.krate()).or_default();
        *all += file.n_lines;
        *product += file.n_product;
    }
    println!("lines, and those of the product (no tests, no blank lines)");
    for (name, (all, product)) in &crates {
        println!("  {name:12} {all:>8} {product:>8}");
    }
    let sum = |of: fn(&(usize, usize)) -> usize| crates.values().map(of).sum::<usize>();
    let (all, product) = (sum(|lines| lines.0), sum(|lines| lines.1));
    println!("  {:12} {all:>8} {product:>8}\n", "all");
}

/// The name in a line that declares a type.
fn declared_type(code: &str) -> Option<&str> {
    // A field may be called `union`.
    if code.trim_start().starts_with("union:") {
        return None;
    }
    let mut words = code
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty());
    loop {
        match words.next()? {
            "pub" | "crate" | "super" | "in" | "unsafe" => {}
            "struct" | "enum" | "trait" | "union" => return words.next(),
            _ => return None,
        }
    }
}

fn type_names(files: &[MeasuredFile<'_>]) {
    let mut places: HashMap<&str, Vec<&str>> = HashMap::new();
    for file in files {
        for line in &file.product {
            if let Some(name) = declared_type(&line.code) {
                places.entry(name).or_default().push(file.path);
            }
        }
    }
    let n_types: usize = places.values().map(Vec::len).sum();
    let (n_names, share) = (places.len(), 100 * places.len() / n_types.max(1));
    println!("types: {n_types}, names: {n_names}, distinct: {share} %");
    let mut repeated: Vec<_> = places.iter().filter(|(_, files)| files.len() > 1).collect();
    repeated.sort_by_key(|(name, files)| (std::cmp::Reverse(files.len()), **name));
    for (name, files) in repeated.iter().take(40) {
        println!("  {:>3} {name}", files.len());
    }
    println!();
}

fn phrases(files: &[MeasuredFile<'_>]) {
    const PHRASES: [&str; 10] = [
        "tells whether",
        "tells",
        "says",
        "said",
        "stands",
        "stood",
        "lies",
        "nothing",
        "whatever",
        "what ",
    ];
    let mut n_words = 0;
    let mut counts = [0; PHRASES.len()];
    for line in files.iter().flat_map(|file| &file.product) {
        let comment = line.comment.to_lowercase();
        n_words += comment.split_whitespace().count();
        for (count, phrase) in counts.iter_mut().zip(PHRASES) {
            *count += comment.matches(phrase).count();
        }
    }
    println!("words in comments: {n_words}; of them, and in 1,000");
    for (count, phrase) in counts.iter().zip(PHRASES) {
        let tenths = 10_000 * count / n_words.max(1);
        println!(
            "  {phrase:14} {count:>6} {:>4}.{}",
            tenths / 10,
            tenths % 10
        );
    }
    println!();
}

/// Name, first line and number of lines of each function.
fn functions(lines: &[SourceLine]) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = declared_function(&line.code) else {
            continue;
        };
        let (mut depth, mut opened) = (0_i64, false);
        for (end, line) in lines.iter().enumerate().skip(at) {
            for c in line.code.chars() {
                match c {
                    '{' => (depth, opened) = (depth + 1, true),
                    '}' => depth -= 1,
                    ';' if !opened => opened = depth == 0,
                    _ => {}
                }
            }
            if opened && depth <= 0 {
                found.push((name.to_owned(), at + 1, end + 1 - at));
                break;
            }
        }
    }
    found
}

fn declared_function(code: &str) -> Option<&str> {
    let (before, after) = code.split_once("fn ")?;
    let only_modifiers = before.split(|c: char| !c.is_alphanumeric()).all(|word| {
        [
            "", "pub", "crate", "super", "const", "unsafe", "in", "async", "extern",
        ]
        .contains(&word)
    });
    let name = after
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .next()?;
    (only_modifiers && !name.is_empty()).then_some(name)
}

fn largest_functions(files: &[MeasuredFile<'_>]) {
    let mut all: Vec<_> = files
        .iter()
        .flat_map(|file| {
            functions(&file.product)
                .into_iter()
                .map(move |of| (file.path, of))
        })
        .collect();
    all.sort_by_key(|(_, (_, _, length))| std::cmp::Reverse(*length));
    println!("largest functions");
    for (path, (name, line, length)) in all.iter().take(10) {
        println!("  {length:>4} {path}:{line} {name}");
    }
    println!();
}

fn largest_files(files: &[MeasuredFile<'_>]) {
    let mut all: Vec<_> = files
        .iter()
        .map(|file| (file.n_product, file.path))
        .collect();
    all.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    println!("largest files");
    for (length, path) in all.iter().take(10) {
        println!("  {length:>4} {path}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_found_by_their_declarations() {
        assert_eq!(
            declared_type("pub(crate) struct Reader<'a> {"),
            Some("Reader")
        );
        assert_eq!(declared_type("    enum Kind"), Some("Kind"));
        assert_eq!(declared_type("pub unsafe trait Pod {"), Some("Pod"));
        assert_eq!(declared_type("let struct_name = 1;"), None);
        assert_eq!(declared_type("impl Reader {"), None);
    }

    #[test]
    fn functions_end_at_their_brace() {
        let text = "fn a() {\n  if b { c }\n}\ntrait T {\n  fn d(&self) -> [u8; 2];\n  fn e(&self) {}\n}\n";
        let found = functions(&rust::split(text));
        let expected = [("a", 1, 3), ("d", 5, 1), ("e", 6, 1)];
        assert_eq!(
            found,
            expected.map(|(name, line, length)| (name.to_owned(), line, length))
        );
    }

    #[test]
    fn tests_are_no_product() {
        assert!(is_test("crates/cli/tests/views.rs"));
        assert!(is_test("crates/formats/src/jfr/tests.rs"));
        assert!(!is_test("crates/formats/src/jfr/read.rs"));
    }
}
