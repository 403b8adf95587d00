//! Names of captures on terminals, in rows and as file names.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns `text` as one line without effects on a terminal.
///
/// Captures hold what their producers were given, and a thread or a statement may be named by an attacker. Control
/// characters would move the cursor, set the title of the window or begin a row of their own; direction overrides and
/// invisible characters make one name look like another. Each becomes the escape that Rust writes: `\n`, `\u{1b}`.
/// Backslashes stay single, because nearly all of them stand in paths that a person copies.
///
/// ```
/// use traceloom_model::printable;
///
/// assert_eq!(printable("http-1\u{1b}[2J\n"), r"http-1\u{1b}[2J\n");
/// assert_eq!(printable("naïve 名前"), "naïve 名前");
/// ```
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_printed = |byte: u8| matches!(byte, b' '..=b'~');
    if text.bytes().all(is_printed) {
        return Cow::Borrowed(text);
    }
    let mut before = '\0';
    let found = text.char_indices().find(|&(_, c)| {
        let unsafe_here = is_harmful(c, before);
        before = c;
        unsafe_here
    });
    let Some((first, _)) = found else {
        return Cow::Borrowed(text);
    };
    let (plain, rest) = text.split_at(first);
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(plain);
    let mut before = plain.chars().next_back().unwrap_or('\0');
    for c in rest.chars() {
        push(c, before, &mut shown);
        before = c;
    }
    Cow::Owned(shown)
}

/// Returns `true` if all bytes are ASCII that is printed, or ends of lines.
///
/// ```
/// use traceloom_model::is_plain;
///
/// assert!(is_plain(b"plain text\n"));
/// assert!(!is_plain("\u{e9}".as_bytes()) && !is_plain(b"\x1b[2J") && !is_plain(b"\x7f"));
/// ```
#[must_use]
pub fn is_plain(bytes: &[u8]) -> bool {
    let is_printed = |byte: u8| (byte.wrapping_sub(b' ') <= b'~' - b' ') | (byte == b'\n');
    // Without an early end the loop takes many bytes at once.
    let all = |all, &byte: &u8| all & is_printed(byte);
    bytes.chunks(256).all(|block| block.iter().fold(true, all))
}

/// Returns `true` for a text that a spreadsheet would run instead of show: it begins as a formula does and is no number.
///
/// ```
/// use traceloom_model::is_formula;
///
/// assert!(is_formula("=HYPERLINK(A1)") && is_formula("@SUM(A1)") && is_formula("-2+3"));
/// assert!(!is_formula("-2.5") && !is_formula("a=b"));
/// ```
#[must_use]
pub fn is_formula(cell: &str) -> bool {
    match cell.as_bytes().first() {
        Some(b'=' | b'@' | b'\t' | b'\r') => true,
        Some(b'+' | b'-') => cell.parse::<f64>().is_err(),
        _ => false,
    }
}

fn push(c: char, before: char, shown: &mut String) {
    match c {
        c if !is_harmful(c, before) => shown.push(c),
        '\n' => shown.push_str(r"\n"),
        '\r' => shown.push_str(r"\r"),
        '\t' => shown.push_str(r"\t"),
        c => {
            let _ = write!(shown, r"\u{{{:x}}}", u32::from(c));
        }
    }
}

/// Returns `true` if `c`, behind `before`, acts on a terminal, on rows or on the order of its neighbours.
///
/// The joiners U+200C and U+200D belong to the spelling of several scripts and to emoji, but not behind ASCII, where
/// they only make two equal names differ.
#[must_use]
pub fn is_harmful(c: char, before: char) -> bool {
    match c {
        ' '..='~' => false,
        '\u{200c}' | '\u{200d}' => before.is_ascii(),
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}' => {
            true
        }
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        let all = (0..=0x10_ffff).filter_map(char::from_u32);
        let joiner = |c: char| matches!(c, '\u{200c}' | '\u{200d}');
        let all: String = all.filter(|&c| is_harmful(c, 'a') && !joiner(c)).collect();
        assert!(
            printable(&all)
                .bytes()
                .all(|byte| (b' '..=b'~').contains(&byte))
        );
        for harmful in [
            '\0', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{2029}', '\u{feff}',
        ] {
            assert!(all.contains(harmful), "{harmful:?}");
        }
        assert_eq!(printable("a\r\n\tb\u{9d}"), r"a\r\n\tb\u{9d}");
    }

    #[test]
    fn what_is_spelled_with_joiners_is_left() {
        for text in ["نمی\u{200c}خواهم", "👨\u{200d}👩", "C:\\new", ""] {
            assert_eq!(printable(text), text);
        }
        assert_eq!(printable("pay\u{200d}ment"), r"pay\u{200d}ment");
        assert_eq!(printable("\u{200c}payment"), r"\u{200c}payment");
    }
}
