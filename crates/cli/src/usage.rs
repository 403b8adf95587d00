//! What is wrong with what was typed.

use std::fmt;

/// Something typed that cannot be meant: exit code 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Returns the name that differs least from `typed`, if any is near: people mistype what follows the
/// first letter, or stop early.
pub(crate) fn nearest<'n>(typed: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// Fewer letters are the beginning of too many names.
    const PREFIX: usize = 3;
    let typed = typed.to_lowercase();
    let most = 1 + typed.len() / 4;
    let scored = names.filter_map(|name| {
        let lower = name.to_lowercase();
        if lower.chars().next() != typed.chars().next() {
            return None;
        }
        let distance = distance(&typed, &lower);
        let begins = typed.len() >= PREFIX && lower.starts_with(&typed);
        (begins || distance <= most)
            .then_some((distance.min(if begins { most } else { distance }), name))
    });
    scored.min().map(|(_, name)| name)
}

/// Levenshtein distance over characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["info", "dump", "check"];
        assert_eq!(nearest("inof", names.into_iter()), Some("info"));
        assert_eq!(nearest("calls.bin", names.into_iter()), None);
        assert_eq!(nearest("nope", ["top"].into_iter()), None);
        let columns = ["duration", "Queue", "title"];
        assert_eq!(nearest("durat", columns.into_iter()), Some("duration"));
        assert_eq!(nearest("duraton", columns.into_iter()), Some("duration"));
        assert_eq!(nearest("queu", columns.into_iter()), Some("Queue"));
        assert_eq!(nearest("du", columns.into_iter()), None);
    }
}
