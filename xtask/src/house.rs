//! `cargo xtask house`: how the code reads, in numbers that can be compared with those of other projects.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::cargo::root;
use crate::tidy::floors;
use crate::tidy::rust::{self, SourceLine};
use crate::tidy::tree::{RepoFile, Tree};

/// Prints lines and rooms by crate, names of types, phrases in comments, and the largest functions and files.
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
    rooms_by_crate(&tree);
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
    n_product: usize,
    n_tests: usize,
}

impl<'t> MeasuredFile<'t> {
    fn new(file: &'t RepoFile) -> Self {
        let lines = rust::split(&file.text);
        let is_written = |line: &&SourceLine| **line != SourceLine::default();
        let n_written = lines.iter().filter(is_written).count();
        let product = if is_test(&file.path) {
            Vec::new()
        } else {
            rust::without_tests(lines)
        };
        let n_product = product.iter().filter(is_written).count();
        Self {
            path: &file.path,
            product,
            n_product,
            n_tests: n_written - n_product,
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
        let (product, tests) = crates.entry(file.krate()).or_default();
        *product += file.n_product;
        *tests += file.n_tests;
    }
    println!("lines that are not blank: product, tests");
    for (name, (product, tests)) in &crates {
        println!("  {name:12} {product:>8} {tests:>8}");
    }
    let sum = |of: fn(&(usize, usize)) -> usize| crates.values().map(of).sum::<usize>();
    let (product, tests) = (sum(|lines| lines.0), sum(|lines| lines.1));
    println!("  {:12} {product:>8} {tests:>8}\n", "all");
}

/// Prints what lies at the top of each crate: files, folders, imports between them, the longest chain of
/// these, and imports in circles.
fn rooms_by_crate(tree: &Tree) {
    println!("top-level modules: loose files, folders, arrows, floors, in circles");
    for name in floors::crates(tree) {
        let modules = floors::modules(tree, name);
        let (folders, loose): (Vec<_>, Vec<_>) = modules.iter().partition(|(_, folder)| **folder);
        let imports = floors::imports(tree, name);
        let arrows: BTreeSet<(&str, &str)> = imports
            .iter()
            .map(|import| (import.from.as_str(), import.to.as_str()))
            .collect();
        println!(
            "  {name:12} {:>4} {:>4} {:>4} {:>4} {:>4}",
            loose.len(),
            folders.len(),
            arrows.len(),
            n_floors(&arrows),
            floors::circles_of(tree, name).len()
        );
    }
    println!();
}

/// Returns how many modules the longest chain of imports has; one in a circle counts once.
fn n_floors(arrows: &BTreeSet<(&str, &str)>) -> usize {
    fn height<'m>(
        module: &'m str,
        arrows: &BTreeSet<(&'m str, &'m str)>,
        known: &mut BTreeMap<&'m str, usize>,
    ) -> usize {
        if let Some(&height) = known.get(module) {
            return height;
        }
        // Until it is known, so that a circle ends.
        known.insert(module, 0);
        let below = arrows.iter().filter(|(from, _)| *from == module);
        let highest = below.map(|(_, to)| height(to, arrows, known)).max();
        let own = 1 + highest.unwrap_or(0);
        known.insert(module, own);
        own
    }
    let mut known = BTreeMap::new();
    let starts = arrows.iter().map(|(from, _)| *from);
    starts
        .map(|from| height(from, arrows, &mut known))
        .max()
        .unwrap_or(1)
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
    let mut nouns: BTreeSet<&str> = BTreeSet::new();
    let mut prefixed: Vec<(&str, &str)> = Vec::new();
    for file in files {
        for line in &file.product {
            if let Some(name) = declared_type(&line.code) {
                places.entry(name).or_default().push(file.path);
                let noun = noun(name, file.path);
                nouns.insert(noun);
                if noun != name {
                    prefixed.push((name, file.path));
                }
            }
        }
    }
    let n_types: usize = places.values().map(Vec::len).sum();
    let share = |n: usize| 100 * n / n_types.max(1);
    println!(
        "types: {n_types}, names: {}, distinct: {} %, without prefixes of their folder: {} %",
        places.len(),
        share(places.len()),
        share(nouns.len())
    );
    let mut repeated: Vec<_> = places.iter().filter(|(_, files)| files.len() > 1).collect();
    repeated.sort_by_key(|(name, files)| (std::cmp::Reverse(files.len()), **name));
    for (name, files) in repeated.iter().take(40) {
        println!("  {:>3} {name}", files.len());
    }
    println!(
        "names that begin with that of their folder or file: {}",
        prefixed.len()
    );
    for (name, path) in prefixed {
        println!("  {name} {path}");
    }
    println!();
}

/// Returns a name without the name of a folder or file around it in front: `Place` for `CdtPlace` in `cdt/`.
fn noun<'n>(name: &'n str, path: &str) -> &'n str {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let inside = path.split_once("/src/").map_or("", |(_, inside)| inside);
    let prefixes = inside.split('/').map(|part| part.replace('_', ""));
    let mut nouns = prefixes.filter_map(|prefix| {
        let (head, rest) = name.split_at_checked(prefix.len())?;
        let is_word = rest.starts_with(|c: char| c.is_ascii_uppercase());
        (head.eq_ignore_ascii_case(&prefix) && is_word).then_some(rest)
    });
    nouns.next().unwrap_or(name)
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
    fn the_name_of_a_folder_or_file_is_no_part_of_the_noun() {
        let path = "crates/formats/src/cdt/text_file/rows.rs";
        assert_eq!(noun("CdtPlace", path), "Place");
        assert_eq!(noun("TextFileRow", path), "Row");
        assert_eq!(noun("RowsOfText", path), "OfText");
        assert_eq!(noun("Cdt", path), "Cdt");
        assert_eq!(noun("Rowset", path), "Rowset");
    }

    #[test]
    fn floors_are_the_longest_chain_of_imports() {
        let arrows = BTreeSet::from([("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]);
        assert_eq!(n_floors(&arrows), 3);
        assert_eq!(n_floors(&BTreeSet::from([("a", "b"), ("b", "a")])), 2);
        assert_eq!(n_floors(&BTreeSet::new()), 1);
    }

    #[test]
    fn tests_are_no_product() {
        assert!(is_test("crates/cli/tests/views.rs"));
        assert!(is_test("crates/formats/src/jfr/tests.rs"));
        assert!(!is_test("crates/formats/src/jfr/read.rs"));
    }
}
