//! Strings: escapes resolved and made.

use std::borrow::Cow;

use traceloom_model::bounds::subslice;

/// Resolves the escapes between the quotes of a string.
///
/// An unpaired surrogate becomes its three-byte form, an unknown escape stays as it is written.
#[must_use]
pub fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let [first, tail @ ..] = rest {
        if *first != b'\\' {
            out.push(*first);
            rest = tail;
            continue;
        }
        let Some((&escape, after)) = tail.split_first() else {
            out.push(b'\\');
            break;
        };
        rest = after;
        match escape {
            b'"' | b'\\' | b'/' => out.push(escape),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'u' => rest = unicode(after, &mut out),
            other => out.extend([b'\\', other]),
        }
    }
    Cow::Owned(out)
}

fn hex4(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits.get(..4)?).ok()?;
    let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    plain.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Appends the character of a `\u` escape whose digits begin at `after`; returns what follows.
fn unicode<'r>(after: &'r [u8], out: &mut Vec<u8>) -> &'r [u8] {
    let Some(unit) = hex4(after) else {
        out.extend(b"\\u");
        return after;
    };
    let rest = subslice(after, 4..);
    if (0xd800..0xdc00).contains(&unit)
        && let Some(low) = rest.strip_prefix(b"\\u").and_then(hex4)
        && (0xdc00..0xe000).contains(&low)
    {
        push_code(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00), out);
        return subslice(rest, 6..);
    }
    push_code(unit, out);
    rest
}

fn push_code(code: u32, out: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(character) => out.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        None => {
            let low = |shift: u32| u8::try_from(code >> shift & 0x3f).unwrap_or(0);
            out.extend([0xe0 | low(12), 0x80 | low(6), 0x80 | low(0)]);
        }
    }
}

/// Appends `text` as a JSON string; bytes that are no UTF-8 become U+FFFD, which JSON needs.
pub fn push_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for character in String::from_utf8_lossy(text).chars() {
        match character {
            '"' => out.extend(b"\\\""),
            '\\' => out.extend(b"\\\\"),
            '\n' => out.extend(b"\\n"),
            '\r' => out.extend(b"\\r"),
            '\t' => out.extend(b"\\t"),
            '\0'..='\x1f' => out.extend(format!("\\u{:04x}", u32::from(character)).bytes()),
            other => out.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    out.push(b'"');
}
