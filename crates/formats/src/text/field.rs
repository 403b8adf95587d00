//! Fields of records as text.

use std::io::Write as _;

use super::scalars;
use crate::Field;
use crate::wire::Utf16;

impl Field<'_> {
    /// Appends it as people read it: strings in quotes with the escapes of Rust, bytes in hexadecimal, a row of a table
    /// behind `#`.
    ///
    /// ```
    /// use traceloom_formats::Field;
    ///
    /// let mut line = Vec::new();
    /// Field::List(&[Field::Id("string", 7), Field::Str("a\nb"), Field::Bytes(&[0, 255])]).put_text(&mut line);
    /// assert_eq!(line, br#"[#7, "a\nb", 0x00ff]"#);
    /// ```
    pub fn put_text(&self, out: &mut Vec<u8>) {
        match self {
            Field::Null => out.extend_from_slice(b"null"),
            Field::Bool(true) => out.extend_from_slice(b"true"),
            Field::Bool(false) => out.extend_from_slice(b"false"),
            Field::U64(value) => scalars::digits(*value, out),
            Field::I64(value) => scalars::decimal(*value, out),
            Field::F64(value) => put_float(*value, out),
            Field::Id(_, id) => {
                out.push(b'#');
                scalars::digits(*id, out);
            }
            Field::Str(text) => put_quoted(text, out),
            Field::Text(bytes) => put_quoted(&String::from_utf8_lossy(bytes), out),
            Field::Utf16(units) => put_quoted(&Utf16(units).to_lossy(), out),
            Field::Bytes(bytes) => {
                out.extend_from_slice(b"0x");
                scalars::hex_digits(bytes, out);
            }
            Field::List(items) => put_list(items, out),
            Field::Map(entries) => {
                out.push(b'{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    if at > 0 {
                        out.extend_from_slice(b", ");
                    }
                    key.put_text(out);
                    out.extend_from_slice(b": ");
                    value.put_text(out);
                }
                out.push(b'}');
            }
        }
    }
}

fn put_list(items: &[Field<'_>], out: &mut Vec<u8>) {
    /// Bytes that a row of a table takes at most, with what separates it.
    const LONGEST: usize = 24;
    out.push(b'[');
    out.reserve(items.len() * LONGEST);
    for (at, item) in items.iter().enumerate() {
        match item {
            // Most of what a dump of stacks prints.
            Field::Id(_, id) if at > 0 => {
                out.extend_from_slice(b", #");
                scalars::digits(*id, out);
            }
            item => {
                if at > 0 {
                    out.extend_from_slice(b", ");
                }
                item.put_text(out);
            }
        }
    }
    out.push(b']');
}

/// Appends a text in quotes, with the escapes of Rust.
fn put_quoted(text: &str, out: &mut Vec<u8>) {
    let is_printed = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.bytes().all(is_printed) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Memory takes whatever is written to it.
        let _ = write!(out, "{text:?}");
    }
}

fn put_float(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 {
            b"Infinity"
        } else {
            b"-Infinity"
        });
    } else {
        let _ = write!(out, "{value:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(field: &Field<'_>) -> String {
        let mut out = Vec::new();
        field.put_text(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_are_quoted_as_rust_does_and_lists_keep_their_order() {
        for shown in [
            "",
            "plain text",
            "a\"b",
            "back\\slash",
            "new\nline",
            "é",
            "\u{7f}",
            "\u{202e}",
        ] {
            assert_eq!(text(&Field::Str(shown)), format!("{shown:?}"));
        }
        let pairs = [
            (Field::Str("id"), Field::Id("string", 7)),
            (Field::Null, Field::F64(-0.0)),
        ];
        let items = [
            Field::I64(i64::MIN),
            Field::Map(&pairs),
            Field::Bytes(&[0, 255]),
            Field::List(&[]),
            Field::Id("string", u64::MAX),
        ];
        assert_eq!(
            text(&Field::List(&items)),
            r#"[-9223372036854775808, {"id": #7, null: -0.0}, 0x00ff, [], #18446744073709551615]"#
        );
        assert_eq!(text(&Field::F64(f64::NEG_INFINITY)), "-Infinity");
    }
}
