//! Names by the room there is: the method never yields to its class, nor the class to its package.
//!
//! Pages have the same rules in `ui/src/shared/names.ts`; `ui/examples/names.json` holds them together.

use super::java::short_form;
use super::short::without_line;

/// `lambda$bar$3` becomes `bar λ3`.
fn lambda(method: &str) -> String {
    let parts = method
        .strip_prefix("lambda$")
        .and_then(|rest| rest.rsplit_once('$'));
    match parts {
        Some((name, number))
            if !name.is_empty()
                && !number.is_empty()
                && number.bytes().all(|c| c.is_ascii_digit()) =>
        {
            format!("{name} λ{number}")
        }
        _ => method.to_owned(),
    }
}

/// Levels of a Java method; none for names of another shape.
fn java(name: &str) -> Option<Vec<String>> {
    let (initials, owned) = short_form(name)?;
    let Some((class, method)) = owned.rsplit_once('.') else {
        return Some(vec![format!("{initials}{owned}"), owned.into_owned()]);
    };
    let method = lambda(method);
    let short = format!("{class}.{method}");
    Some(vec![format!("{initials}{short}"), short, method])
}

/// Returns text without what stands in angle brackets; none where they do not match.
fn without_templates(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len());
    let mut depth = 0_u32;
    let mut before = ' ';
    for c in name.chars() {
        match c {
            '<' => {
                if depth == 0 {
                    out.push_str("<…");
                }
                depth += 1;
            }
            '>' if before != '-' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            out.push(c);
        }
        before = c;
    }
    (depth == 0).then_some(out)
}

/// Levels of a Rust or C++ name.
fn scoped(name: &str) -> Vec<String> {
    let plain = match name.contains("operator") {
        true => None,
        false => without_templates(name),
    };
    let Some(plain) = plain else {
        return vec![name.to_owned()];
    };
    // Arguments begin behind a name, not at the start of one, as `(anonymous namespace)` does.
    let mut opened = plain.match_indices('(').map(|(at, _)| at);
    let end = opened.find(|&at| at > 0 && !plain.get(..at).is_some_and(|head| head.ends_with(':')));
    let path = end.and_then(|end| plain.get(..end)).unwrap_or(&plain);
    let mut parts: Vec<&str> = path.split("::").collect();
    let mut last = parts.pop().unwrap_or("").to_owned();
    // A closure says nothing without what it stands in.
    while last.starts_with('{')
        && let Some(owner) = parts.pop()
    {
        last = format!("{owner}::{last}");
    }
    match parts.as_slice() {
        [] => vec![last],
        [owner] => vec![format!("{owner}::{last}"), last],
        [.., owner] => vec![
            format!("{}::{last}", parts.join("::")),
            format!("{owner}::{last}"),
            last,
        ],
    }
}

/// Levels of a name of parts between dots, perhaps behind a path: Go, Python, JavaScript.
fn dotted(name: &str) -> Vec<String> {
    let is_part = |c: char| c.is_alphanumeric() || "_$<>()*[]·{}#@%/.,;-".contains(c);
    let mut levels = vec![name.to_owned()];
    if !name.chars().all(is_part) {
        return levels;
    }
    let from = name.rfind('/').map_or(0, |at| at + 1);
    let suffix = |at: usize| name.get(at..).unwrap_or("").to_owned();
    if from > 0 {
        levels.push(suffix(from));
    }
    let mut depth = 0_i32;
    for (at, c) in name.char_indices().skip_while(|&(at, _)| at < from) {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '.' if depth == 0 && at > from && at + 1 < name.len() => levels.push(suffix(at + 1)),
            _ => {}
        }
    }
    levels
}

/// Returns a name and its shorter forms, the longest first; each ends with the last one, the method.
#[must_use]
pub(crate) fn levels(name: &str) -> Vec<String> {
    let (function, line) = without_line(name);
    let mut levels = levels_of(function);
    for level in &mut levels {
        level.push_str(line);
    }
    levels
}

/// Returns true if a name is a file of native code, perhaps with the version behind.
fn is_library(name: &str) -> bool {
    let is_version = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = name.rsplit('.').skip_while(is_version);
    let is_versioned = parts.next() == Some("so") && parts.next().is_some();
    let end = name.rsplit_once('.').map(|(_, end)| end);
    is_versioned || matches!(end, Some("dll" | "dylib" | "jnilib"))
}

fn levels_of(name: &str) -> Vec<String> {
    if name.contains("+0x") {
        return vec![name.to_owned()];
    }
    if is_library(name) {
        let mut levels = vec![name.to_owned()];
        levels.extend(name.rsplit_once('/').map(|(_, file)| file.to_owned()));
        return levels;
    }
    if name.contains("::") {
        return scoped(name);
    }
    if let Some(levels) = java(name) {
        return levels;
    }
    match name.contains(char::is_whitespace) {
        true => vec![name.to_owned()],
        false => dotted(name),
    }
}

/// Cuts a text to a number of characters: in the middle, and at the end where few remain.
fn cut(text: &str, room: usize) -> String {
    let count = text.chars().count();
    if count <= room {
        return text.to_owned();
    }
    if room < 3 {
        return String::new();
    }
    let head = match room {
        ..9 => room - 1,
        _ => ((room - 1) * 65).div_ceil(100),
    };
    let start = text.chars().take(head);
    let tail = text.chars().skip(count - (room - 1 - head));
    start.chain(std::iter::once('…')).chain(tail).collect()
}

/// Returns the longest form of a name that fits into so many characters; of a method that does not, as much as fits.
#[must_use]
pub(crate) fn fit(levels: &[String], room: usize) -> String {
    let fitting = levels.iter().find(|level| level.chars().count() <= room);
    match (fitting, levels.last()) {
        (Some(level), _) => level.clone(),
        (None, Some(method)) => cut(method, room),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_as_they_do_in_pages() {
        let table = include_str!("../../../../ui/examples/names.json");
        let table: Vec<(String, usize, String)> = serde_json::from_str(table).unwrap();
        assert!(table.len() > 40);
        for (name, room, label) in table {
            let levels = levels(&name);
            assert_eq!(fit(&levels, room), label, "{name} in {room}: {levels:?}");
            let method = levels.last().unwrap();
            assert!(levels.iter().all(|level| level.ends_with(method.as_str())));
        }
    }
}
