//! Escapes: which characters a backslash protects depends on where it stands.

use std::borrow::Cow;

/// A place in a line (SPEC.md §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Escapes {
    /// Comma and space.
    Measurement,
    /// Comma, equals sign and space.
    Tag,
    /// Those of a tag and the quote.
    FieldKey,
    /// Quote and backslash.
    Text,
}

impl Escapes {
    const fn holds(self, byte: u8) -> bool {
        match self {
            Self::Measurement => matches!(byte, b',' | b' '),
            Self::Tag => matches!(byte, b',' | b'=' | b' '),
            Self::FieldKey => matches!(byte, b',' | b'=' | b' ' | b'"'),
            Self::Text => matches!(byte, b'"' | b'\\'),
        }
    }
}

/// Resolves the escapes of `raw`; a backslash before any other character is itself.
#[must_use]
pub fn unescape(raw: &[u8], escapes: Escapes) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match tail.split_first() {
            Some((&next, after)) if first == b'\\' && escapes.holds(next) => {
                out.push(next);
                rest = after;
            }
            _ => out.push(first),
        }
    }
    Cow::Owned(out)
}

/// Appends `plain` with its escapes.
pub fn escape(plain: &[u8], escapes: Escapes, out: &mut Vec<u8>) {
    let found = match escapes {
        Escapes::Measurement => memchr::memchr2(b',', b' ', plain),
        Escapes::Tag => memchr::memchr3(b',', b'=', b' ', plain),
        Escapes::FieldKey => plain.iter().position(|byte| escapes.holds(*byte)),
        Escapes::Text => memchr::memchr2(b'"', b'\\', plain),
    };
    let Some(first) = found else {
        return out.extend_from_slice(plain);
    };
    let (clean, rest) = plain.split_at_checked(first).unwrap_or((plain, &[]));
    out.extend_from_slice(clean);
    for &byte in rest {
        if escapes.holds(byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
}
