//! Which of the two forms the first bytes of a part are.

use traceloom_model::{Flow, Limits, Note};

use super::charset::Charset;
use super::table::by_element;
use super::visit::{Item, Visit};
use super::xml;
use crate::{Chunk, Confidence, Probe};

/// The magic of the descriptor (SPEC.md §1).
pub(super) fn binary(probe: &Probe<'_>) -> Option<Confidence> {
    let magic = probe.head.get(..4)?;
    (magic == b"0TBF" || magic == b"\0TBF").then_some(Confidence::Certain)
}

/// A root called `TRACE`, or elements of a live stream as the reader finds them (SPEC.md §7).
///
/// Elements of the XML form alone and those whose names other documents use may come first: the name of
/// the file, an id that is a reference, or an element further on tells them apart.
pub(super) fn xml(probe: &Probe<'_>) -> Option<Confidence> {
    let mut looking = Looking {
        named: probe.name.to_ascii_lowercase().ends_with(".trcxml"),
        found: false,
    };
    let chunk = Chunk {
        bytes: probe.head,
        offset: 0,
        eof: probe.whole,
    };
    xml::Reader::new(&Limits::default()).read(chunk, &mut (&mut looking as &mut dyn Visit));
    looking.found.then_some(Confidence::Certain)
}

struct Looking {
    named: bool,
    found: bool,
}

impl Visit for Looking {
    fn item(&mut self, item: Item<'_, '_>) -> Flow {
        let found = match item {
            Item::Element(element) => tells(element.raw, element.charset, self.named),
            // The input may end inside its first element.
            Item::Opaque(cut) => {
                self.found |= tells(cut.bytes, Charset::Utf8, self.named);
                return Flow::Break(());
            }
            Item::Piece(piece) => match piece.kind {
                "root_start" => true,
                "text" => {
                    let blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0;
                    return if piece.raw.iter().all(blank) {
                        Flow::Continue(())
                    } else {
                        Flow::Break(())
                    };
                }
                "cdata" | "end_tag" => return Flow::Break(()),
                _ => false,
            },
            _ => return Flow::Break(()),
        };
        self.found |= found;
        if found {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Elements of the XML form alone (SPEC.md §8).
const XML_ONLY: [&str; 16] = [
    "methodBody",
    "methodCall",
    "methodReturn",
    "objDef",
    "value",
    "method",
    "tag",
    "code",
    "processSuspend",
    "processResume",
    "classUnload",
    "line",
    "objMove",
    "throw",
    "catch",
    "methodCount",
];

fn tells(element: &[u8], charset: Charset, named: bool) -> bool {
    let head = element.get(..4096).unwrap_or(element);
    let text = charset.decode(head).unwrap_or_else(Into::into);
    let tag = text.split_once('>').map_or(&*text, |(tag, _)| tag);
    let name = tag.trim_start_matches('<');
    let name = name
        .split([' ', '/', '\t', '\r', '\n'])
        .next()
        .unwrap_or(name);
    let schema = by_element(name.as_bytes());
    if schema.is_none() && !XML_ONLY.contains(&name) {
        return false;
    }
    // `node`, `filter`, `option` and `custom` are names that other documents use.
    let telling = schema.is_some_and(|schema| !matches!(schema.id, 1001 | 1007 | 1008 | 1041));
    telling || named || tag.contains("IdRef=") || tag.contains(" nodeId=")
}
