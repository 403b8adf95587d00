//! Literals of SQL, whatever the dialect: the text is read by its tokens.

use super::pseudonym::Key;
use crate::shape::{dollar_quote, is_word, quoted};

/// Returns true if `text` holds a statement: a verb, and later the word that belongs to it.
pub(super) fn is_sql(text: &str) -> bool {
    const PAIRS: [(&str, &str); 12] = [
        ("select", "from"),
        ("select", "where"),
        ("insert", "into"),
        ("update", "set"),
        ("delete", "from"),
        ("merge", "into"),
        ("replace", "into"),
        ("alter", "table"),
        ("create", "table"),
        ("values", "("),
        ("where", "="),
        ("exec", "@"),
    ];
    let lower = text.to_ascii_lowercase();
    let word_at = |word: &str, from: usize| {
        let rest = lower.get(from..)?;
        rest.match_indices(word)
            .map(|(at, _)| from + at)
            .find(|&at| {
                let before = lower
                    .get(..at)
                    .and_then(|before| before.chars().next_back());
                let after = lower
                    .get(at + word.len()..)
                    .and_then(|after| after.chars().next());
                let apart = |c: Option<char>| c.is_none_or(|c| !is_word(c));
                !word.bytes().all(|b| b.is_ascii_alphabetic()) || (apart(before) && apart(after))
            })
    };
    let pair = PAIRS.iter().any(|(verb, word)| {
        word_at(verb, 0).is_some_and(|at| word_at(word, at + verb.len()).is_some())
    });
    // A statement of no table: `select 1`, `call billing(…)`, `begin update_it(7); end;`.
    let first = lower
        .trim_start()
        .split(|c: char| !is_word(c))
        .next()
        .unwrap_or("");
    pair || matches!(
        first,
        "select" | "call" | "exec" | "execute" | "begin" | "declare" | "with"
    )
}

/// Replaces literals by pseudonyms of their kind and drops comments.
pub(super) fn literals(key: Key, sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    let mut in_word = false;
    while let Some(first) = rest.chars().next() {
        let second = rest.chars().nth(1);
        let word = is_word(first);
        let length = match first {
            '-' if second == Some('-') => {
                out.push(' ');
                rest.find('\n').unwrap_or(rest.len())
            }
            '/' if second == Some('*') => {
                out.push(' ');
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            }
            '\'' => {
                let end = quoted(rest, '\'');
                let text = rest.get(..end).unwrap_or(rest);
                if text.trim_matches('\'').is_empty() {
                    out.push_str(text);
                } else {
                    out.push('\'');
                    out.push_str(&key.word("s", text));
                    out.push('\'');
                }
                end
            }
            '"' | '`' => {
                let end = quoted(rest, first);
                out.push_str(rest.get(..end).unwrap_or(rest));
                end
            }
            '$' if dollar_quote(rest).is_some() => {
                let end = dollar_quote(rest).unwrap_or(rest.len());
                out.push('\'');
                out.push_str(&key.word("s", rest.get(..end).unwrap_or(rest)));
                out.push('\'');
                end
            }
            '0'..='9' if !in_word => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_')
                    .unwrap_or(rest.len());
                let number = rest.get(..end).unwrap_or(rest);
                // `$1` and `:1` are places, not values.
                if out.ends_with(['$', ':']) {
                    out.push_str(number);
                } else {
                    out.push_str(&key.number(number));
                }
                end
            }
            other => {
                out.push(other);
                other.len_utf8()
            }
        };
        in_word = word && length == first.len_utf8();
        rest = rest.get(length..).unwrap_or("");
    }
    out
}
