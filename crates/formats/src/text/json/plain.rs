//! Objects with nothing unusual in them, looked through in one pass and without a table of their values.

use traceloom_model::bounds::{length_u32, subslice};

use super::token::{Token, short_key_of};
use super::value::Kind;

/// Where a value is in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TokenPlace {
    pub(super) kind: Kind,
    pub(super) is_escaped: bool,
    pub(super) start: u32,
    pub(super) end: u32,
}

impl TokenPlace {
    /// Returns the value of the text that has this place in it.
    #[inline]
    pub(crate) fn of<'d>(&self, text: &'d [u8]) -> Token<'d> {
        let raw = subslice(text, self.start as usize..self.end as usize);
        Token::new(self.kind, raw, self.is_escaped)
    }
}

/// Containers inside containers that are looked through: each has a bit of a word.
const DEEPEST: usize = 64;

/// Looks through the object that `text` begins with and shows each member: its key, packed by [`short_key_of`], or 0 for a key
/// that is longer, and its place.
///
/// Returns where the object ends, none where anything in it is unusual: escapes in a key, exponents, more than `deepest`
/// containers inside one another, damage. [`Document::parse`](super::Document::parse) is for that, and what was shown up to
/// there counts for nothing.
pub(crate) fn plain_object(
    text: &[u8],
    deepest: usize,
    mut see: impl FnMut(u64, TokenPlace),
) -> Option<usize> {
    if text.first() != Some(&b'{') || deepest == 0 || text.len() > u32::MAX as usize {
        return None;
    }
    let deepest = deepest.min(DEEPEST) - 1;
    let mut at = after_space(text, 1);
    if text.get(at) == Some(&b'}') {
        return Some(at + 1);
    }
    loop {
        let (key, value) = plain_key(text, at)?;
        let place = plain_value(text, value, deepest)?;
        see(key, place);
        at = after_space(text, place.end as usize);
        match text.get(at)? {
            b',' => at = after_space(text, at + 1),
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

#[inline]
fn after_space(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// Reads a key without escapes and its colon: the packed key, and where its value begins.
#[inline]
fn plain_key(text: &[u8], at: usize) -> Option<(u64, usize)> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let word = text.get(at + 1..).and_then(<[u8]>::first_chunk);
    let word = word.copied().map(u64::from_le_bytes)?;
    let (key, end) = match ends_of_strings(word) {
        0 => {
            let (end, is_escaped) = quoted(text, at)?;
            if is_escaped {
                return None;
            }
            let key = if end - at == 9 {
                short_key_of(word, 8)
            } else {
                0
            };
            (key, end)
        }
        found => {
            let length = found.trailing_zeros() / 8;
            let end = at + 1 + length as usize;
            if text.get(end) != Some(&b'"') {
                return None;
            }
            (short_key_of(word, length), end)
        }
    };
    let colon = after_space(text, end + 1);
    (text.get(colon) == Some(&b':')).then(|| (key, after_space(text, colon + 1)))
}

/// Returns the place of the value that begins at `start`.
#[inline]
fn plain_value(text: &[u8], start: usize, deepest: usize) -> Option<TokenPlace> {
    let (kind, end, is_escaped) = match text.get(start)? {
        b'{' => (Kind::Object, plain_container(text, start, deepest)?, false),
        b'[' => (Kind::Array, plain_container(text, start, deepest)?, false),
        b't' | b'f' | b'n' => plain_word(text, start)?,
        _ => plain_scalar(text, start)?,
    };
    Some(TokenPlace {
        kind,
        is_escaped,
        start: length_u32(start),
        end: length_u32(end),
    })
}

/// Finds the end of an object or array.
fn plain_container(text: &[u8], start: usize, deepest: usize) -> Option<usize> {
    // The lowest bit is of the innermost one, and set for an object.
    let mut objects = 0_u64;
    let mut depth = 0;
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
            b't' | b'f' | b'n' => at = plain_word(text, at)?.1,
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

/// Returns kind and end of `true`, `false` or `null`.
fn plain_word(text: &[u8], start: usize) -> Option<(Kind, usize, bool)> {
    let rest = subslice(text, start..);
    let (kind, length) = match rest {
        [b't', b'r', b'u', b'e', ..] => (Kind::True, 4),
        [b'f', b'a', b'l', b's', b'e', ..] => (Kind::False, 5),
        [b'n', b'u', b'l', b'l', ..] => (Kind::Null, 4),
        _ => return None,
    };
    let is_end = !in_token(*rest.get(length)?);
    is_end.then_some((kind, start + length, false))
}

/// Returns true if a byte goes on with a number or a word.
fn in_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Finds the closing quote of the string that opens at `open`, and says whether there are escapes before it.
#[inline]
pub(super) fn quoted(bytes: &[u8], open: usize) -> Option<(usize, bool)> {
    let mut at = open + 1;
    let mut is_escaped = false;
    loop {
        at += quote_or_backslash(bytes.get(at..)?)?;
        match bytes.get(at) {
            Some(b'"') => return Some((at, is_escaped)),
            _ => at += 2,
        }
        is_escaped = true;
    }
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
#[inline]
pub(super) fn plain_number(bytes: &[u8]) -> Option<usize> {
    let run = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let first = usize::from(bytes.first() == Some(&b'-'));
    let mut end = run(first);
    if end == first {
        return None;
    }
    if bytes.get(end) == Some(&b'.') {
        let whole = end + 1;
        end = run(whole);
        if end == whole {
            return None;
        }
    }
    let is_end = !in_token(*bytes.get(end)?);
    is_end.then_some(end)
}

/// Has its highest bit set in each byte of a word that is a quote or a backslash, and may have it in bytes above the first of these.
#[inline]
fn ends_of_strings(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    zeros(word ^ QUOTES) | zeros(word ^ BACKSLASHES)
}
