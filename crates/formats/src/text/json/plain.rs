//! Objects with nothing unusual in them, looked through in one pass and without a table of their values.

use traceloom_model::bounds::{length_u32, subslice};

use super::token::Token;
use super::value::Kind;

/// Where a value is in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TokenPlace {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) is_escaped: bool,
}

impl TokenPlace {
    /// Returns the value of the text that has this place in it.
    #[inline]
    pub(crate) fn of<'d>(&self, text: &'d [u8]) -> Token<'d> {
        let raw = subslice(text, self.start as usize..self.end as usize);
        // The first byte of a value says what it is.
        let kind = match raw.first() {
            Some(b'"') => Kind::String,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        };
        Token::new(kind, raw, self.is_escaped)
    }
}

/// Containers inside containers that are looked through: each has a bit of a word.
const DEEPEST: usize = 64;

/// Looks through the object that `text` begins with and shows each member: its key, packed by [`short_key`](super::short_key),
/// or 0 for one that is longer, and its place.
///
/// Returns where the object ends, none where anything in it is unusual: escapes in a key, exponents, more than `deepest`
/// containers inside one another, damage. [`Document::parse`](super::Document::parse) is for that, and what was shown up to
/// there counts for nothing. A text has less than 4 GiB.
pub(crate) fn plain_object(
    text: &[u8],
    deepest: usize,
    mut see: impl FnMut(u64, TokenPlace),
) -> Option<usize> {
    let inside = deepest.checked_sub(1)?;
    if text.first() != Some(&b'{') {
        return None;
    }
    let mut at = after_space(text, 1);
    if text.get(at) == Some(&b'}') {
        return Some(at + 1);
    }
    loop {
        let (key, value) = plain_key(text, at)?;
        let place = plain_value(text, value, inside)?;
        see(key, place);
        at = place.end as usize;
        match text.get(at)? {
            b',' => at = after_space(text, at + 1),
            b'}' => return Some(at + 1),
            _ => {
                at = after_more_space(text, at);
                match text.get(at)? {
                    b',' => at = after_space(text, at + 1),
                    b'}' => return Some(at + 1),
                    _ => return None,
                }
            }
        }
    }
}

#[inline]
fn after_space(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b' ' | b'\t' | b'\n' | b'\r') => after_more_space(text, at + 1),
        _ => at,
    }
}

#[cold]
#[inline(never)]
fn after_more_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Reads a key without escapes and its colon: the packed key, and where its value begins.
// Called for each member of each event: what is not usual is out of its way.
#[inline(always)]
fn plain_key(text: &[u8], at: usize) -> Option<(u64, usize)> {
    let (b'"', rest) = text.get(at..)?.split_first()? else {
        return None;
    };
    let word = u64::from_le_bytes(*rest.first_chunk()?);
    let found = ends_of_strings(word);
    if found == 0 {
        return plain_long_key(text, at, word);
    }
    let end = at + 1 + found.trailing_zeros() as usize / 8;
    // The key and its quote.
    let key = word & (found ^ (found - 1));
    match text.get(end..end + 3)? {
        [b'"', b':', next] if *next > b' ' => Some((key, end + 2)),
        [b'"', ..] => Some((key, after_colon(text, end + 1)?)),
        _ => None,
    }
}

/// Reads a key of eight bytes or more, the first ones of which are `word`.
#[cold]
#[inline(never)]
fn plain_long_key(text: &[u8], at: usize, word: u64) -> Option<(u64, usize)> {
    let (end, is_escaped) = quoted(text, at)?;
    let key = if end - at == 9 { word } else { 0 };
    let value = after_colon(text, end + 1)?;
    (!is_escaped).then_some((key, value))
}

#[cold]
#[inline(never)]
fn after_colon(text: &[u8], at: usize) -> Option<usize> {
    let colon = after_space(text, at);
    (text.get(colon) == Some(&b':')).then(|| after_space(text, colon + 1))
}

/// Returns the place of the value that begins at `start`, behind which another byte than those of tokens comes; none where
/// anything in it is unusual, as in [`plain_object`]. It has no more than `deepest` containers inside one another.
#[inline(always)]
pub(crate) fn plain_value(text: &[u8], start: usize, deepest: usize) -> Option<TokenPlace> {
    let mut is_escaped = false;
    let end = match text.get(start)? {
        b'"' => {
            let end;
            (end, is_escaped) = short_quoted(text, start)?;
            end + 1
        }
        b'{' | b'[' => plain_container(text, start, deepest)?,
        b't' | b'f' | b'n' => plain_word(text, start)?,
        _ => start + plain_number(subslice(text, start..))?,
    };
    Some(TokenPlace {
        start: length_u32(start),
        end: length_u32(end),
        is_escaped,
    })
}

/// Finds the end of an object or array.
fn plain_container(text: &[u8], start: usize, deepest: usize) -> Option<usize> {
    // The lowest bit is of the innermost one, and set for an object.
    let mut objects = 0_u64;
    let mut depth = 0;
    let deepest = deepest.min(DEEPEST - 1);
    let mut at = start;
    loop {
        match text.get(at)? {
            &bracket @ (b'{' | b'[') => {
                depth += 1;
                if depth > deepest {
                    return None;
                }
                let is_object = bracket == b'{';
                objects = objects << 1 | u64::from(is_object);
                at = after_space(text, at + 1);
                let is_empty = text.get(at) == Some(if is_object { &b'}' } else { &b']' });
                if !is_empty {
                    if is_object {
                        at = plain_key(text, at)?.1;
                    }
                    continue;
                }
            }
            b't' | b'f' | b'n' => at = plain_word(text, at)?,
            _ => at = plain_scalar(text, at)?.1,
        }
        loop {
            at = after_space(text, at);
            let is_object = objects & 1 == 1;
            match text.get(at)? {
                b',' => {
                    at = after_space(text, at + 1);
                    if is_object {
                        at = plain_key(text, at)?.1;
                    }
                    break;
                }
                b'}' if is_object => {}
                b']' if !is_object => {}
                _ => return None,
            }
            at += 1;
            depth -= 1;
            objects >>= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
}

/// Finds the end of `true`, `false` or `null`.
fn plain_word(text: &[u8], start: usize) -> Option<usize> {
    let rest = subslice(text, start..);
    let length = match rest {
        [b't', b'r', b'u', b'e', ..] | [b'n', b'u', b'l', b'l', ..] => 4,
        [b'f', b'a', b'l', b's', b'e', ..] => 5,
        _ => return None,
    };
    let is_end = !in_token(*rest.get(length)?);
    is_end.then_some(start + length)
}

/// Returns true if a byte goes on with a number or a word.
fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Does what [`quoted`] does, at once where a string is short.
#[inline(always)]
fn short_quoted(bytes: &[u8], open: usize) -> Option<(usize, bool)> {
    let word = u64::from_le_bytes(*bytes.get(open + 1..)?.first_chunk()?);
    let found = ends_of_strings(word);
    let end = open + 1 + found.trailing_zeros() as usize / 8;
    match bytes.get(end) {
        Some(b'"') if found != 0 => Some((end, false)),
        _ => quoted(bytes, open),
    }
}

/// Finds the closing quote of the string that opens at `open`, and says whether there are escapes before it.
#[inline(never)]
pub(super) fn quoted(bytes: &[u8], open: usize) -> Option<(usize, bool)> {
    let at = open + 1 + quote_or_backslash(bytes.get(open + 1..)?)?;
    match bytes.get(at) {
        Some(b'"') => Some((at, false)),
        _ => Some((end_of_escaped(bytes, at)?, true)),
    }
}

/// Finds the closing quote of a string whose first escape is at `at`.
#[cold]
fn end_of_escaped(bytes: &[u8], mut at: usize) -> Option<usize> {
    while bytes.get(at) != Some(&b'"') {
        at += 2;
        at += quote_or_backslash(bytes.get(at..)?)?;
    }
    Some(at)
}

/// Returns kind and end of the string or the number without exponent at `start`, and whether there are escapes in it.
#[inline]
pub(super) fn plain_scalar(bytes: &[u8], start: usize) -> Option<(Kind, usize, bool)> {
    match bytes.get(start)? {
        b'"' => {
            let (end, is_escaped) = quoted(bytes, start)?;
            Some((Kind::String, end + 1, is_escaped))
        }
        b'-' | b'0'..=b'9' => {
            let length = plain_number(subslice(bytes, start..))?;
            Some((Kind::Number, start + length, false))
        }
        _ => None,
    }
}

/// Finds the first quote or backslash, eight bytes at a time: strings of a trace are too short for a vector search to pay.
#[inline]
pub(crate) fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let found = ends_of_strings(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let in_rest = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
    in_rest.map(|found| at + found)
}

/// Returns the length of a number without exponent, as nearly all are, if another byte than those of tokens follows it.
#[inline(always)]
pub(super) fn plain_number(bytes: &[u8]) -> Option<usize> {
    let first = usize::from(bytes.first() == Some(&b'-'));
    let mut end = end_of_digits(bytes, first);
    if end == first {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        let whole = end + 1;
        end = end_of_digits(bytes, whole);
        if end == whole {
            return None;
        }
    }
    let is_end = !in_token(*bytes.get(end)?);
    is_end.then_some(end)
}

/// Steps over digits, eight at a time.
#[inline(always)]
fn end_of_digits(bytes: &[u8], mut at: usize) -> usize {
    let rest = loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(word) = rest.first_chunk() else {
            break rest;
        };
        let others = not_digits(u64::from_le_bytes(*word) ^ ZEROS);
        if others != 0 {
            return at + others.trailing_zeros() as usize / 8;
        }
        at += 8;
    };
    at + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

const ONES: u64 = u64::MAX / 255;
/// Turns eight digits into their values.
pub(super) const ZEROS: u64 = ONES * b'0' as u64;

/// Has the highest bit set of each byte that is no value of a digit.
#[inline(always)]
pub(super) const fn not_digits(values: u64) -> u64 {
    const HIGHEST: u64 = ONES << 7;
    const TO_HIGHEST: u64 = ONES * (0x80 - 10);
    // It is set, or adding does it.
    (((values & !HIGHEST) + TO_HIGHEST) | values) & HIGHEST
}

/// Has its highest bit set in each byte of a word that is a quote or a backslash, and may have it in bytes above the first of these.
#[inline]
fn ends_of_strings(word: u64) -> u64 {
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES)
}
