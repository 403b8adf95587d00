//! The pieces of XML that both directions share: attributes inside a tag, references, frames.

use quick_xml::parser::{ElementParser, Parser};

use super::charset::Charset;
use super::message::Form;
use super::seconds;

/// Resolves references, and white space as an XML reader sees it.
///
/// # Errors
/// The text as it stands, when it holds a reference that means nothing.
pub(super) fn unescape(text: &str, form: Form) -> Result<String, String> {
    let normal: String = if text.contains(['\t', '\r', '\n']) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        if form == Form::Attribute {
            text.replace(['\n', '\t'], " ")
        } else {
            text
        }
    } else {
        text.to_owned()
    };
    match quick_xml::escape::unescape(&normal) {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(normal),
    }
}

/// Appends `text` for an attribute or for content.
///
/// Returns how many characters XML 1.0 has no place for; they become U+FFFD.
pub(super) fn escape(text: &str, out: &mut Vec<u8>) -> u64 {
    let bytes = text.as_bytes();
    let special = |&byte: &u8| byte < 0x20 || matches!(byte, b'&' | b'<' | b'>' | b'"' | 0xef);
    if !bytes.iter().any(special) {
        out.extend_from_slice(bytes);
        return 0;
    }
    let mut bad = 0;
    let mut buffer = [0; 4];
    for c in text.chars() {
        let escaped: &[u8] = match c {
            '&' => b"&amp;",
            '<' => b"&lt;",
            '>' => b"&gt;",
            '"' => b"&quot;",
            '\t' => b"&#9;",
            '\n' => b"&#10;",
            '\r' => b"&#13;",
            '\0'..'\u{20}' | '\u{fffe}' | '\u{ffff}' => {
                bad += 1;
                "\u{fffd}".as_bytes()
            }
            other => other.encode_utf8(&mut buffer).as_bytes(),
        };
        out.extend_from_slice(escaped);
    }
    bad
}

/// Places of an attribute inside a tag: its name and its value without quotes.
#[derive(Clone, Debug)]
pub(super) struct AttributeRange {
    pub name: std::ops::Range<usize>,
    pub value: std::ops::Range<usize>,
}

/// Iterates over the attributes of a tag `<name …>`; an item is an error where the tag makes no sense.
#[derive(Clone, Debug)]
pub(super) struct AttributeIter<'t> {
    tag: &'t [u8],
    at: usize,
}

impl<'t> AttributeIter<'t> {
    pub fn new(tag: &'t [u8]) -> Self {
        Self {
            tag,
            at: name_end(tag),
        }
    }

    fn after_space(&self, mut at: usize) -> usize {
        while self.tag.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        at
    }
}

/// Returns where the name of a tag ends; `tag` begins with `<` or `</`.
pub(super) fn name_end(tag: &[u8]) -> usize {
    let start = if tag.get(1) == Some(&b'/') { 2 } else { 1 };
    let name = tag.get(start..).unwrap_or_default();
    let ends = |&byte: &u8| matches!(byte, b' ' | b'>' | b'/' | b'\t' | b'\n' | b'\r');
    start + name.iter().position(ends).unwrap_or(name.len())
}

impl Iterator for AttributeIter<'_> {
    type Item = Result<AttributeRange, ()>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let start = self.after_space(self.at);
        match self.tag.get(start) {
            None | Some(b'>') => return None,
            Some(b'/') if self.tag.get(start + 1) == Some(&b'>') => return None,
            _ => {}
        }
        let rest = self.tag.get(start..).unwrap_or_default();
        let ends = |&byte: &u8| byte == b'=' || byte.is_ascii_whitespace();
        let Some(length) = rest.iter().position(ends) else {
            self.at = self.tag.len();
            return Some(Err(()));
        };
        let name = start..start + length;
        let equals = self.after_space(name.end);
        let quote_at = self.after_space(equals + 1);
        let quote = self.tag.get(quote_at).copied().unwrap_or(0);
        if self.tag.get(equals) != Some(&b'=') || !matches!(quote, b'"' | b'\'') {
            self.at = self.tag.len();
            return Some(Err(()));
        }
        let value = self.tag.get(quote_at + 1..).unwrap_or_default();
        let Some(length) = value.iter().position(|&byte| byte == quote) else {
            self.at = self.tag.len();
            return Some(Err(()));
        };
        let value = quote_at + 1..quote_at + 1 + length;
        self.at = value.end + 1;
        Some(Ok(AttributeRange { name, value }))
    }
}

/// What stands between the tags of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ElementContent<'a> {
    /// `<annotation name="stack" method=… line=…/>`; not `exact` when there was more to it.
    Frame {
        method: &'a [u8],
        line: u64,
        exact: bool,
    },
    /// Text, or markup of any other kind.
    Stray,
}

/// Calls `each` for every frame among an element's children.
pub(super) fn stack<'a>(children: &'a [u8], charset: Charset, each: &mut dyn FnMut(&'a [u8], u64)) {
    content(children, charset, &mut |content| {
        if let ElementContent::Frame { method, line, .. } = content {
            each(method, line);
        }
    });
}

/// Calls `each` for everything but white space among an element's children.
pub(super) fn content<'a>(
    children: &'a [u8],
    charset: Charset,
    each: &mut dyn FnMut(ElementContent<'a>),
) {
    let masked;
    let (text, scale) = match charset {
        Charset::Utf16(big) => {
            masked = mask(children, big);
            (masked.as_slice(), 2)
        }
        _ => (children, 1),
    };
    let mut at = 0;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let open = memchr::memchr(b'<', rest);
        let before = rest.get(..open.unwrap_or(rest.len())).unwrap_or(rest);
        if !before.iter().all(u8::is_ascii_whitespace) {
            each(ElementContent::Stray);
        }
        let Some(open) = open else {
            return;
        };
        let start = at + open;
        let rest = text.get(start..).unwrap_or_default();
        let Some(end) = ElementParser::default().feed(rest.get(1..).unwrap_or_default()) else {
            each(ElementContent::Stray);
            return;
        };
        let tag = rest.get(..end + 2).unwrap_or(rest);
        at = start + tag.len();
        if tag == b"</annotation>" {
            continue;
        }
        if tag.get(1..name_end(tag)) != Some(b"annotation") {
            each(ElementContent::Stray);
            continue;
        }
        let (mut is_stack, mut method, mut line, mut exact) = (false, &[][..], 0, true);
        for attribute in AttributeIter::new(tag) {
            let Ok(attribute) = attribute else {
                exact = false;
                break;
            };
            let value = tag.get(attribute.value.clone()).unwrap_or_default();
            match tag.get(attribute.name).unwrap_or_default() {
                b"name" => is_stack = value == b"stack",
                b"line" => {
                    let number = seconds::digits(value).filter(|_| !value.is_empty());
                    exact &= number.is_some();
                    line = number.unwrap_or(0);
                }
                b"method" => {
                    let from = (start + attribute.value.start) * scale;
                    let to = (start + attribute.value.end) * scale;
                    method = children.get(from..to).unwrap_or_default();
                }
                _ => exact = false,
            }
        }
        each(if is_stack {
            ElementContent::Frame {
                method,
                line,
                exact,
            }
        } else {
            ElementContent::Stray
        });
    }
}

/// One byte for every code unit of UTF-16: itself where it is ASCII, `?` elsewhere. Markup is ASCII, so
/// that the pieces of the masked text are those of the document at half the distance.
pub(super) fn mask(bytes: &[u8], big: bool) -> Vec<u8> {
    bytes
        .chunks_exact(2)
        .map(|unit| match (unit, big) {
            (&[0, low @ 0..0x80], true) | (&[low @ 0..0x80, 0], false) => low,
            _ => b'?',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(tag: &str) -> Vec<Result<(&str, &str), ()>> {
        AttributeIter::new(tag.as_bytes())
            .map(|a| a.map(|a| (&tag[a.name], &tag[a.value])))
            .collect()
    }

    #[test]
    fn attributes_in_any_dress() {
        assert_eq!(
            pairs("<a b=\"1\"\n\tc = '\"2\"' d=\"\" />"),
            [Ok(("b", "1")), Ok(("c", "\"2\"")), Ok(("d", ""))]
        );
        assert_eq!(pairs("<a/>"), []);
        assert_eq!(pairs("<a b=\"1\" c>"), [Ok(("b", "1")), Err(())]);
        assert_eq!(pairs("<a b=1 c=\"2\">"), [Err(())]);
    }

    #[test]
    fn references_and_white_space() {
        let text = "&lt;&#65;&#xE9;&amp;&apos;\r\n\t";
        assert_eq!(unescape(text, Form::Attribute).unwrap(), "<A\u{e9}&'  ");
        assert_eq!(unescape(text, Form::Content).unwrap(), "<A\u{e9}&'\n\t");
        assert_eq!(unescape("&nope;", Form::Content), Err("&nope;".to_owned()));
        let mut out = Vec::new();
        assert_eq!(escape("a<b>&\"c\"'\t\r\n\u{1}\u{ffff}", &mut out), 2);
        let expected = "a&lt;b&gt;&amp;&quot;c&quot;'&#9;&#13;&#10;\u{fffd}\u{fffd}";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
