//! Data of pages: JSON that can stand inside a script element.

use std::fmt::{Display, Write as _};

use crate::MeasureUnit;

/// Writes one object, key by key.
///
/// Rows are best told as columns: a page of 100,000 objects parses ten times slower than the same numbers in lists.
pub(crate) struct Object<'o> {
    out: &'o mut String,
    first: bool,
}

impl<'o> Object<'o> {
    /// Writes the object that `fill` fills.
    pub(crate) fn write(out: &'o mut String, fill: impl FnOnce(&mut Object<'_>)) {
        out.push('{');
        let mut object = Object { out, first: true };
        fill(&mut object);
        object.out.push('}');
    }

    /// Writes a key and lets the caller write its value.
    pub(crate) fn key(&mut self, key: &str) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        string(self.out, key);
        self.out.push(':');
        self.out
    }

    pub(crate) fn text(&mut self, key: &str, text: &str) {
        string(self.key(key), text);
    }

    /// Writes a unit as `amount` of `ui/src/shared` takes it: what it scales by, and how it is called where that says nothing.
    pub(crate) fn unit(&mut self, unit: &MeasureUnit) {
        let (scale, name) = match unit {
            MeasureUnit::Nanoseconds => ("ns", ""),
            MeasureUnit::Bytes => ("bytes", ""),
            MeasureUnit::Count => ("count", ""),
            MeasureUnit::Chars => ("count", "chars"),
            MeasureUnit::Percent => ("count", "%"),
            MeasureUnit::Other(name) => ("count", name.as_str()),
        };
        self.text("unit", scale);
        self.text("unit_name", name);
    }

    /// Writes a number or a truth value.
    pub(crate) fn value(&mut self, key: &str, value: impl Display) {
        let _ = write!(self.key(key), "{value}");
    }

    pub(crate) fn texts<T: AsRef<str>>(&mut self, key: &str, texts: impl Iterator<Item = T>) {
        list(self.key(key), texts, |out, text| string(out, text.as_ref()));
    }

    /// Writes numbers in few characters; `numbers` of `ui/src/shared` reads them.
    pub(crate) fn column(&mut self, key: &str, numbers: impl Iterator<Item = i64>) {
        column(self.key(key), numbers);
    }

    pub(crate) fn values<N: Display>(&mut self, key: &str, values: impl Iterator<Item = N>) {
        list(self.key(key), values, |out, value| {
            let _ = write!(out, "{value}");
        });
    }
}

/// Writes a column of numbers as text that `numbers` of `ui/src/shared` reads: a quarter of what a list takes where they are small.
///
/// Each number, its sign in the lowest bit, lies in digits of five bits, the lowest first; a sixth bit says that
/// another digit follows. The digits are those of base 64, as in source maps.
fn column(out: &mut String, numbers: impl Iterator<Item = i64>) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push('"');
    for number in numbers {
        let mut rest = (number << 1 ^ number >> 63).cast_unsigned();
        loop {
            let more = rest > 31;
            let digit = rest.to_le_bytes()[0] & 31 | u8::from(more) << 5;
            out.push(
                DIGITS
                    .get(usize::from(digit))
                    .map_or('A', |&digit| digit.into()),
            );
            rest >>= 5;
            if !more {
                break;
            }
        }
    }
    out.push('"');
}

/// Writes a list of items.
pub(crate) fn list<T>(
    out: &mut String,
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    out.push('[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(out, item);
    }
    out.push(']');
}

/// Writes a string: `<` is always escaped, so that nothing in it ends the element, and so are the line ends that
/// scripts once did not know inside strings.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '<' => out.push_str("\\u003c"),
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Returns how many bytes a text takes as JSON, with what separates it from the next; more where it has characters from U+2000
/// to U+2FFF.
pub(crate) fn json_len(text: &str) -> usize {
    /// How many bytes more than one each byte takes.
    #[expect(
        clippy::indexing_slicing,
        reason = "bytes index 256 entries, while compiling"
    )]
    const MORE: [u8; 256] = {
        let mut more = [0; 256];
        let mut control = 0;
        while control < 0x20 {
            more[control] = 5;
            control += 1;
        }
        more[b'<' as usize] = 5;
        more[b'"' as usize] = 1;
        more[b'\\' as usize] = 1;
        // Of three bytes, and some such characters are written in six.
        more[0xe2] = 3;
        more
    };
    let more = |byte: u8| usize::from(MORE.get(usize::from(byte)).copied().unwrap_or(0));
    text.len() + text.bytes().map(more).sum::<usize>() + 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_take_one_digit() {
        let mut out = String::new();
        column(
            &mut out,
            [0, 1, -1, 15, 16, -17, i64::MAX, i64::MIN].into_iter(),
        );
        assert_eq!(out, "\"ACBegBhB+///////////P////////////P\"");
    }

    #[test]
    fn nothing_ends_the_element() {
        let mut out = String::new();
        Object::write(&mut out, |object| {
            object.text("</a", "\"\\\n");
            object.texts("b", ["</script><!--", "\0\u{2028}\u{2029}é"].iter());
            object.values("c", [1, -2].into_iter());
            object.value("d", true);
        });
        assert_eq!(
            out,
            "{\"\\u003c/a\":\"\\\"\\\\\\u000a\",\"b\":[\"\\u003c/script>\\u003c!--\",\
             \"\\u0000\\u2028\\u2029é\"],\"c\":[1,-2],\"d\":true}"
        );
    }

    #[test]
    fn a_text_takes_the_bytes_that_are_said() {
        let all: String = (0..0x250).filter_map(char::from_u32).collect();
        for text in ["", "a \"word\"\n", "</script>&", &all, "\u{2028}\u{2029}"] {
            let mut out = String::new();
            string(&mut out, text);
            assert_eq!(json_len(text), out.len() + 2, "{text:?}");
        }
        // Not all of their block are escaped.
        assert_eq!(json_len("…"), 10);
    }
}
