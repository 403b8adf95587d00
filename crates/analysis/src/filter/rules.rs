//! Filter files of TPTP's profiler as a second front end of the filter language.
//!
//! ```text
//! com.acme.shop.*   *       INCLUDE
//! com.acme.*        get*    EXCLUDE
//! *                 -init-  EXCLUDE
//! ```
//!
//! A rule a line: class, method, what to do with the methods that match. `*` stands at an end of a name
//! for any rest of it. The first rule that matches decides, and a method that none matches stays.

use std::fmt;

use super::Filter;

/// A name with at most one `*` at each end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    text: String,
    open_start: bool,
    open_end: bool,
}

impl Pattern {
    /// Reads a pattern; `*` counts at the start and at the end, elsewhere it is a character.
    #[must_use]
    pub fn new(pattern: &str) -> Self {
        let (open_start, rest) = match pattern.strip_prefix('*') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let (open_end, rest) = match rest.strip_suffix('*') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        // A lone star is open on both sides.
        let open_end = open_end || (open_start && rest.is_empty());
        Self {
            text: rest
                .replace('/', ".")
                .replace("-clinit-", "<clinit>")
                .replace("-init-", "<init>"),
            open_start,
            open_end,
        }
    }

    /// Returns true if a name matches; packages are separated by dots.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match (self.open_start, self.open_end) {
            (true, true) => name.contains(&self.text),
            (true, false) => name.ends_with(&self.text),
            (false, true) => name.starts_with(&self.text),
            (false, false) => name == self.text,
        }
    }
}

/// Splits `void com.acme.Shop.buy(int) (Shop.java:7)` into class and method, as producers write them.
pub(crate) fn class_and_method(name: &str) -> (&str, &str) {
    let name = plain(name);
    name.rsplit_once(['.', '/']).unwrap_or(("", name))
}

/// Returns `com.acme.Shop.buy` of `void com.acme.Shop.buy(int) (Shop.java:7)`.
pub(super) fn plain(name: &str) -> &str {
    let name = name
        .split_once('(')
        .map_or(name, |(name, _)| name)
        .trim_end();
    name.rsplit_once(' ').map_or(name, |(_, name)| name)
}

/// What is wrong with a filter file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What was expected.
    pub message: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for RuleError {}

/// Reads a filter file; empty lines and lines that start with `#` are left out.
///
/// # Errors
/// [`RuleError`] for the first line that is no rule.
pub fn rules(text: &str) -> Result<Filter, RuleError> {
    let mut rules = Vec::new();
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            let rule = rule(line).map_err(|message| RuleError {
                line: at + 1,
                message,
            })?;
            rules.push(rule);
        }
    }
    Ok(Filter::First(rules))
}

fn rule(line: &str) -> Result<(Filter, bool), String> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let &[class, method, mode] = words.as_slice() else {
        return Err(format!(
            "`{line}`: expected `class method INCLUDE` or `class method EXCLUDE`"
        ));
    };
    let keep = match mode.to_ascii_uppercase().as_str() {
        "INCLUDE" => true,
        "EXCLUDE" => false,
        _ => return Err(format!("`{mode}`: the modes are INCLUDE and EXCLUDE")),
    };
    let method = Filter::Method {
        class: pattern(class)?,
        method: pattern(method)?,
    };
    Ok((method, keep))
}

/// TPTP's rules have `*` at the ends of a name alone; elsewhere it would match nothing.
fn pattern(word: &str) -> Result<Pattern, String> {
    let inside = word.strip_prefix('*').unwrap_or(word);
    let inside = inside.strip_suffix('*').unwrap_or(inside);
    match inside.split_once('*') {
        Some((before, _)) => Err(format!(
            "`{word}`: the `*` after `{before}` is inside a name; it stands at an end"
        )),
        None => Ok(Pattern::new(word)),
    }
}
