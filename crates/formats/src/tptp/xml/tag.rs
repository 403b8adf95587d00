//! Where a piece of markup ends, in time linear in the window.

use memchr::memmem;
use quick_xml::parser::{ElementParser, Parser};

use traceloom_model::bounds::in_memory;

/// What a `<` begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MarkupKind {
    /// `<name …>`
    Start,
    /// `<name …/>`
    Empty,
    /// `</name>`
    End,
    /// `<!-- … -->`
    Comment,
    /// `<![CDATA[ … ]]>`
    CData,
    /// `<! … >`
    Doctype,
    /// `<? … ?>`
    Instruction,
}

/// What was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TagScan {
    /// A whole piece of markup of this length.
    Whole(MarkupKind, usize),
    /// The window ends inside it.
    Partial,
    /// Another `<` comes first: this one begins nothing.
    Broken,
}

/// Offsets up to which an end was looked for in vain, so that many beginnings without an end cost no
/// more than one.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    comment: u64,
    cdata: u64,
    doctype: u64,
    instruction: u64,
}

impl Ends {
    /// Finds the end of the markup at the start of `text`, which lies at `here` and begins with `<`.
    #[inline]
    pub fn scan(&mut self, text: &[u8], here: u64) -> TagScan {
        match text.get(1) {
            None => TagScan::Partial,
            Some(b'!') => self.scan_bang(text, here),
            Some(b'?') => {
                let found = find(text, 2, here, b"?>", &mut self.instruction);
                found.map_or(TagScan::Partial, |end| {
                    TagScan::Whole(MarkupKind::Instruction, end)
                })
            }
            Some(&second) => {
                let body = text.get(1..).unwrap_or_default();
                if let Some(scan) = quick(body) {
                    return scan;
                }
                let next = memchr::memchr(b'<', body);
                let tag = body.get(..next.unwrap_or(body.len())).unwrap_or(body);
                let end = if second == b'/' {
                    memchr::memchr(b'>', tag)
                } else {
                    ElementParser::default().feed(tag)
                };
                let Some(end) = end else {
                    return if next.is_some() {
                        TagScan::Broken
                    } else {
                        TagScan::Partial
                    };
                };
                let mark = if second == b'/' {
                    MarkupKind::End
                } else if tag.get(end.wrapping_sub(1)) == Some(&b'/') {
                    MarkupKind::Empty
                } else {
                    MarkupKind::Start
                };
                TagScan::Whole(mark, end + 2)
            }
        }
    }

    #[cold]
    fn scan_bang(&mut self, text: &[u8], here: u64) -> TagScan {
        const CDATA: &[u8] = b"<![CDATA[";
        if text.starts_with(b"<!--") {
            let found = find(text, 4, here, b"-->", &mut self.comment);
            return found.map_or(TagScan::Partial, |end| {
                TagScan::Whole(MarkupKind::Comment, end)
            });
        }
        if text.starts_with(CDATA) {
            let found = find(text, CDATA.len(), here, b"]]>", &mut self.cdata);
            return found.map_or(TagScan::Partial, |end| {
                TagScan::Whole(MarkupKind::CData, end)
            });
        }
        if b"<!--".starts_with(text) || CDATA.starts_with(text) {
            return TagScan::Partial;
        }
        if here < self.doctype {
            return TagScan::Broken;
        }
        let head = text.get(..DOCTYPE).unwrap_or(text);
        doctype(head).unwrap_or_else(|| {
            if text.len() < DOCTYPE {
                return TagScan::Partial;
            }
            self.doctype = here + DOCTYPE as u64;
            TagScan::Broken
        })
    }
}

/// Finds the end of a tag `<name a="…" …/>` in one step: the first `>`, where a double quote closes
/// right before it and no single quote has come. Anything else is for the parser that counts quotes.
#[inline]
fn quick(body: &[u8]) -> Option<TagScan> {
    let end = memchr::memchr3(b'>', b'<', b'\'', body)?;
    let (&[before, quote], mark) = match body.get(..end)?.split_last_chunk::<3>()?.1 {
        [before, quote, b'/'] => (&[*before, *quote], MarkupKind::Empty),
        [_, before, quote] => (&[*before, *quote], MarkupKind::Start),
    };
    let closes = quote == b'"' && before != b'=' && body.first() != Some(&b'/');
    (closes && body.get(end) == Some(&b'>')).then_some(TagScan::Whole(mark, end + 2))
}

/// Longest document type declaration.
const DOCTYPE: usize = 64 << 10;

/// Finds the end of a document type declaration: past strings, and past the comments, instructions and
/// declarations that its brackets hold. None where `head` ends first.
fn doctype(head: &[u8]) -> Option<TagScan> {
    let (mut at, mut inside) = (2, false);
    while let Some(&byte) = head.get(at) {
        let rest = head.get(at..).unwrap_or_default();
        let past = |end: &[u8], skip: usize| {
            let body = rest.get(skip..)?;
            Some(skip + memmem::find(body, end)? + end.len())
        };
        let step = match byte {
            b'"' | b'\'' => past(&[byte], 1),
            b'>' if !inside => return Some(TagScan::Whole(MarkupKind::Doctype, at + 1)),
            b'<' if !inside => return Some(TagScan::Broken),
            b'<' if rest.starts_with(b"<!--") => past(b"-->", 4),
            b'<' if rest.starts_with(b"<?") => past(b"?>", 2),
            _ => {
                inside = byte == b'[' || inside && byte != b']';
                Some(1)
            }
        };
        at += step?;
    }
    None
}

/// Finds `end` in `text` from `skip` on and returns where it ends; `clean` remembers how far there is none.
fn find(text: &[u8], skip: usize, here: u64, end: &[u8], clean: &mut u64) -> Option<usize> {
    let known = in_memory(clean.saturating_sub(here));
    let from = known.max(skip);
    let found = memmem::find(text.get(from..).unwrap_or_default(), end);
    if found.is_none() {
        *clean = here + text.len().saturating_sub(end.len() - 1) as u64;
    }
    found.map(|at| from + at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> TagScan {
        Ends::default().scan(text.as_bytes(), 0)
    }

    #[test]
    fn ends_of_markup() {
        assert_eq!(
            scan("<a b='>' c=\"/>\"/>x"),
            TagScan::Whole(MarkupKind::Empty, 17)
        );
        assert_eq!(
            scan("<a b=\"x\" c=\"=\"/>x"),
            TagScan::Whole(MarkupKind::Empty, 16)
        );
        assert_eq!(scan("<a b=\"x\">x"), TagScan::Whole(MarkupKind::Start, 9));
        assert_eq!(
            scan("<a b='x\">' c=\"\"/>x"),
            TagScan::Whole(MarkupKind::Empty, 17)
        );
        assert_eq!(scan("<a>"), TagScan::Whole(MarkupKind::Start, 3));
        assert_eq!(scan("</a >b"), TagScan::Whole(MarkupKind::End, 5));
        assert_eq!(
            scan("<!-- <a> -- -->"),
            TagScan::Whole(MarkupKind::Comment, 15)
        );
        assert_eq!(
            scan("<![CDATA[<a>]]>"),
            TagScan::Whole(MarkupKind::CData, 15)
        );
        assert_eq!(
            scan("<!DOCTYPE a [<!ENTITY b \"c\">]>"),
            TagScan::Whole(MarkupKind::Doctype, 30)
        );
        assert_eq!(
            scan("<!DOCTYPE a [<!-- don't ]> --><?p ]>?><!ENTITY b \"]>\">\n]>\n<a/>"),
            TagScan::Whole(MarkupKind::Doctype, 57)
        );
        assert_eq!(
            scan("<?xml v='>'?>"),
            TagScan::Whole(MarkupKind::Instruction, 13)
        );
    }

    #[test]
    fn markup_that_does_not_end() {
        for partial in [
            "<", "<a b=\"", "<a b='>'", "<!", "<!-", "<!-- >", "<![CD", "<?xml >", "</a",
        ] {
            assert_eq!(scan(partial), TagScan::Partial, "{partial}");
        }
        assert_eq!(scan("<a b=\"<c/>"), TagScan::Broken);
        assert_eq!(scan("</a<b>"), TagScan::Broken);
    }

    #[test]
    fn an_end_looked_for_in_vain_is_remembered() {
        let mut ends = Ends::default();
        let text = b"<!-- a <!-- b -";
        assert_eq!(ends.scan(text, 100), TagScan::Partial);
        assert_eq!(ends.comment, 113);
        let longer = b"<!-- b -->";
        assert_eq!(
            ends.scan(longer, 107),
            TagScan::Whole(MarkupKind::Comment, 10)
        );
    }
}
