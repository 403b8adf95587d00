//! Just enough of Rust's lexical structure to tell code, comments and literals apart.

/// A source line split into what the compiler reads and what people read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SourceLine {
    /// The code, with the contents of string and character literals left out.
    pub code: String,
    /// The text of the comments, from after `//` or `/*`; a doc comment keeps its third mark.
    pub comment: String,
}

enum LexState {
    Code,
    LineComment,
    /// Block comments nest.
    BlockComment {
        depth: usize,
    },
    Text,
    /// Ends at a quote followed by as many `#`.
    RawText {
        n_hashes: usize,
    },
}

/// Splits a source file, whose literals and comments may span lines.
pub fn split(text: &str) -> Vec<SourceLine> {
    let chars: Vec<char> = text.chars().collect();
    let mut lines = Vec::new();
    let mut line = SourceLine::default();
    let mut inside = LexState::Code;
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let rest = &chars[at..];
        if c == '\n' {
            lines.push(std::mem::take(&mut line));
            if matches!(inside, LexState::LineComment) {
                inside = LexState::Code;
            }
            at += 1;
            continue;
        }
        at += match &mut inside {
            LexState::Code => {
                let after_word = line.code.chars().next_back().is_some_and(is_word);
                let (next, code, length) = leave_code(rest, after_word);
                inside = next;
                line.code.extend(code);
                length
            }
            LexState::LineComment => {
                line.comment.push(c);
                1
            }
            LexState::BlockComment { depth } => {
                if rest.starts_with(&['/', '*']) {
                    *depth += 1;
                    2
                } else if rest.starts_with(&['*', '/']) {
                    *depth -= 1;
                    if *depth == 0 {
                        inside = LexState::Code;
                    }
                    2
                } else {
                    line.comment.push(c);
                    1
                }
            }
            LexState::Text => match c {
                // A backslash at the end of a line leaves the line break to be counted.
                '\\' if rest.get(1) != Some(&'\n') => 2,
                '"' => {
                    line.code.push('"');
                    inside = LexState::Code;
                    1
                }
                _ => 1,
            },
            LexState::RawText { n_hashes } => {
                let n_found = rest[1..].iter().take_while(|&&c| c == '#').count();
                if c == '"' && n_found >= *n_hashes {
                    let length = 1 + *n_hashes;
                    line.code.push('"');
                    inside = LexState::Code;
                    length
                } else {
                    1
                }
            }
        };
    }
    if line != SourceLine::default() {
        lines.push(line);
    }
    lines
}

/// What the first characters open, the code they stand for, and how many they are.
fn leave_code(rest: &[char], after_word: bool) -> (LexState, Option<char>, usize) {
    let c = rest[0];
    if rest.starts_with(&['/', '/']) {
        return (LexState::LineComment, None, 2);
    }
    if rest.starts_with(&['/', '*']) {
        return (LexState::BlockComment { depth: 1 }, None, 2);
    }
    if c == '"' {
        return (LexState::Text, Some('"'), 1);
    }
    if c == '\'' {
        let length = char_literal(rest).unwrap_or(1);
        return (LexState::Code, Some('\''), length);
    }
    if let Some((n_hashes, length)) = raw_text(rest)
        && !after_word
    {
        return (LexState::RawText { n_hashes }, Some('"'), length);
    }
    (LexState::Code, Some(c), 1)
}

/// The length of a character literal, or nothing where a lifetime starts.
fn char_literal(rest: &[char]) -> Option<usize> {
    match rest.get(1..)? {
        ['\\', _, more @ ..] => {
            let n_more = more.iter().position(|&c| c == '\'')?;
            Some(3 + n_more + 1)
        }
        [_, '\'', ..] => Some(3),
        _ => None,
    }
}

/// The number of `#` and the length of what opens a raw string: `r"`, `br#"`, `cr##"` …
fn raw_text(rest: &[char]) -> Option<(usize, usize)> {
    let n_letters = match rest {
        ['r', ..] => 1,
        ['b' | 'c', 'r', ..] => 2,
        _ => return None,
    };
    let hashes = &rest[n_letters..];
    let n_hashes = hashes.iter().take_while(|&&c| c == '#').count();
    (hashes.get(n_hashes) == Some(&'"')).then_some((n_hashes, n_letters + n_hashes + 1))
}

/// Empties the lines of items marked `#[cfg(test)]`, keeping the numbers of the others.
pub fn without_tests(mut lines: Vec<SourceLine>) -> Vec<SourceLine> {
    let whole = lines
        .iter()
        .any(|line| line.code.trim_start().starts_with("#![cfg(test)]"));
    let mut item: Option<TestItem> = whole.then(TestItem::endless);
    for line in &mut lines {
        if item.is_none() && is_test_attribute(&line.code) {
            item = Some(TestItem::default());
        }
        if let Some(open) = &mut item {
            let ended = open.ends_in(&line.code);
            *line = SourceLine::default();
            if ended {
                item = None;
            }
        }
    }
    lines
}

fn is_test_attribute(code: &str) -> bool {
    let code = code.trim_start();
    code.starts_with("#[cfg(test)]") || code.starts_with("#[cfg(all(test,")
}

/// An item is over at its closing brace, or at a semicolon outside every bracket.
#[derive(Default)]
struct TestItem {
    depth: usize,
}

impl TestItem {
    fn endless() -> Self {
        Self { depth: usize::MAX }
    }

    fn ends_in(&mut self, code: &str) -> bool {
        for c in code.chars() {
            match c {
                '{' | '(' | '[' => self.depth = self.depth.saturating_add(1),
                ')' | ']' => self.depth = self.depth.saturating_sub(1),
                '}' if self.depth == 1 => return true,
                '}' => self.depth = self.depth.saturating_sub(1),
                ';' if self.depth == 0 => return true,
                _ => {}
            }
        }
        false
    }
}

/// The paths that start with `root::`, each with its line; groups are taken apart.
pub fn paths_under(root: &str, lines: &[SourceLine]) -> Vec<(usize, String)> {
    let code: Vec<&str> = lines.iter().map(|line| line.code.as_str()).collect();
    let code: Vec<char> = code.join("\n").chars().collect();
    let needle: Vec<char> = format!("{root}::").chars().collect();
    let mut paths = Vec::new();
    for start in 0..code.len() {
        let within_word = start > 0 && is_word(code[start - 1]);
        if code[start..].starts_with(&needle) && !within_word {
            let mut at = start + needle.len();
            path_tree(&code, &mut at, root, &mut paths);
        }
    }
    let line_of = |at: usize| 1 + code[..at].iter().filter(|&&c| c == '\n').count();
    let located = paths.into_iter().map(|(at, path)| (line_of(at), path));
    located.collect()
}

fn path_tree(code: &[char], at: &mut usize, prefix: &str, found: &mut Vec<(usize, String)>) {
    skip_space(code, at);
    if code.get(*at) == Some(&'{') {
        *at += 1;
        while skip_space(code, at).is_some_and(|c| c != '}') {
            path_tree(code, at, prefix, found);
            while skip_space(code, at).is_some_and(|c| c != ',' && c != '}') {
                *at += 1;
            }
            if code.get(*at) == Some(&',') {
                *at += 1;
            }
        }
        *at += 1;
        return;
    }
    let start = *at;
    while code.get(*at).copied().is_some_and(is_word) {
        *at += 1;
    }
    let word: String = code[start..*at].iter().collect();
    if word.is_empty() {
        return;
    }
    let path = format!("{prefix}::{word}");
    let follows = |c: char| is_word(c) || c == '{';
    let goes_on =
        code[*at..].starts_with(&[':', ':']) && code.get(*at + 2).copied().is_some_and(follows);
    if goes_on {
        *at += 2;
        path_tree(code, at, &path, found);
    } else {
        found.push((start, path));
    }
}

fn skip_space(code: &[char], at: &mut usize) -> Option<char> {
    while code.get(*at).is_some_and(|c| c.is_whitespace()) {
        *at += 1;
    }
    code.get(*at).copied()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        split(text).into_iter().map(|line| line.code).collect()
    }

    fn comments(text: &str) -> Vec<String> {
        split(text).into_iter().map(|line| line.comment).collect()
    }

    #[test]
    fn literals_hide_what_looks_like_a_comment() {
        assert_eq!(code(r#"let a = "// no"; // yes"#), [r#"let a = ""; "#]);
        assert_eq!(comments(r#"let a = "// no"; // yes"#), [" yes"]);
        assert_eq!(comments(r#"let a = "\"// no"; // yes"#), [" yes"]);
        assert_eq!(comments(r##"let a = r#"" // no"#; // yes"##), [" yes"]);
        assert_eq!(comments(r#"let a = br"\"; // yes"#), [" yes"]);
        assert_eq!(comments("let a = '\"'; // yes"), [" yes"]);
        assert_eq!(comments(r"let a = '\''; // yes"), [" yes"]);
        assert_eq!(comments(r"let a = '\u{22}'; // yes"), [" yes"]);
    }

    #[test]
    fn a_lifetime_is_not_a_literal() {
        let text = "fn f<'a>(x: &'a str) { \"'\"; } // yes";
        assert_eq!(comments(text), [" yes"]);
        assert_eq!(code(text), ["fn f<'a>(x: &'a str) { \"\"; } "]);
    }

    #[test]
    fn literals_and_comments_span_lines() {
        assert_eq!(code("a(\"x\ny\\\nz\") // c"), ["a(\"", "", "\") "]);
        assert_eq!(code("a /* b /* c */\nd */ e"), ["a ", " e"]);
        assert_eq!(
            comments("/// doc\n//! doc\n// plain"),
            ["/ doc", "! doc", " plain"]
        );
    }

    #[test]
    fn a_word_that_ends_in_r_opens_no_raw_string() {
        assert_eq!(code("bar\"\\\"\" b"), ["bar\"\" b"]);
    }

    #[test]
    fn test_items_are_emptied_and_the_rest_keeps_its_lines() {
        let text = "a\n#[cfg(test)]\nmod tests {\n  fn f() {}\n}\nb\n\
                    #[cfg(test)]\nmod other;\n#[cfg(test)] use x::{y};\nc\n";
        let left: Vec<(usize, String)> = (1..)
            .zip(without_tests(split(text)))
            .filter(|(_, line)| !line.code.is_empty())
            .map(|(number, line)| (number, line.code))
            .collect();
        assert_eq!(left, [(1, "a".into()), (6, "b".into()), (10, "c".into())]);
    }

    #[test]
    fn a_file_of_tests_is_emptied_whole() {
        let lines = without_tests(split("#![cfg(test)]\nfn f() {}\nfn g() {}\n"));
        assert!(lines.iter().all(|line| line.code.is_empty()));
    }

    #[test]
    fn use_groups_are_taken_apart() {
        let lines = split("use std::{\n  fs as files,\n  time::{Duration, Instant},\n};\n");
        let paths = paths_under("std", &lines);
        let expected = [
            (2, "std::fs"),
            (3, "std::time::Duration"),
            (3, "std::time::Instant"),
        ];
        assert_eq!(paths, expected.map(|(line, path)| (line, path.to_owned())));
    }

    #[test]
    fn calls_and_types_are_paths_too() {
        let lines = split("a(std::fs::read(b)); ::std::iter::from_fn::<u8, _>(c); my_std::fs::x");
        let paths: Vec<String> = paths_under("std", &lines)
            .into_iter()
            .map(|(_, path)| path)
            .collect();
        assert_eq!(paths, ["std::fs::read", "std::iter::from_fn"]);
    }

    #[test]
    fn an_unfinished_group_ends() {
        assert_eq!(paths_under("std", &split("use std::{*, fs")).len(), 1);
        assert_eq!(paths_under("std", &split("std::{")), []);
    }
}
