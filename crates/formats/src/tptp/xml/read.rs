//! Bytes to elements, one pass, values borrowed from the window.

use traceloom_model::{Flow, Level, Limit, Limits, Note};

use super::record::Piece;
use super::tag::{Ends, MarkupKind, TagScan};
use crate::tptp::binary::MOST;
use crate::tptp::charset::Charset;
use crate::tptp::markup::{AttributeIter, mask, name_end};
use crate::tptp::message::Slot;
use crate::tptp::table::MOST_FIELDS;
use crate::tptp::visit::{Item, RecordAdapter, SharedNotes, Visit};
use crate::{Chunk, Opaque, RecordSink, Step, damage, info, warn};

/// Longest piece of text handed out at once.
pub(super) const PIECE: usize = 64 << 10;

/// The root element of a document.
pub(super) const ROOT: &[u8] = b"TRACE";

/// Reads an XML trace: a document, or elements one after the other.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(super) most: usize,
    pub(super) started: bool,
    pub(super) charset: Charset,
    pub(super) in_root: bool,
    pub(super) elements: bool,
    pub(super) done: bool,
    pub(super) ends: Ends,
    pub(super) subtree: Subtree,
    pub(super) unclosed: u32,
    pub(super) tally: SharedNotes,
}

/// How far the end of an element was looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Subtree {
    pub(super) element: u64,
    pub(super) at: usize,
    pub(super) depth: u64,
}

/// The window: its bytes, and its markup with one byte a code unit.
#[derive(Clone, Copy)]
pub(super) struct MarkupWindow<'a, 't> {
    pub(super) raw: &'a [u8],
    pub(super) text: &'t [u8],
    pub(super) scale: usize,
    pub(super) offset: u64,
    pub(super) eof: bool,
}

impl<'a> MarkupWindow<'a, '_> {
    pub(super) fn raw(&self, from: usize, to: usize) -> &'a [u8] {
        self.raw
            .get(from * self.scale..to * self.scale)
            .unwrap_or_default()
    }

    pub(super) fn offset(&self, at: usize) -> u64 {
        self.offset + (at * self.scale) as u64
    }
}

pub(super) enum ElementStep {
    Took(usize),
    Need(usize),
    Broken,
    Cut,
    Stop,
}

/// What a message is put together in.
pub(super) struct MessageScratch<'a> {
    /// A string may hold bytes or references that mean nothing.
    pub(super) doubtful: bool,
    pub(super) slots: [Slot<'a>; MOST_FIELDS],
}

impl crate::Reader for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let mut adapter = RecordAdapter(out);
        let mut visitor: &mut dyn Visit = &mut adapter;
        self.read(chunk, &mut visitor)
    }
}

impl Reader {
    /// A reader at the start of a document or of a live stream.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            most: limits.size(Limit::Record).min(MOST),
            started: false,
            charset: Charset::Utf8,
            in_root: false,
            elements: false,
            done: false,
            ends: Ends::default(),
            subtree: Subtree::default(),
            unclosed: 0,
            tally: SharedNotes::default(),
        }
    }

    /// Reads every whole record of `chunk`, as [`crate::Reader::read`] does, with their types.
    pub fn read<V: Visit>(&mut self, chunk: Chunk<'_>, out: &mut V) -> Step {
        let mut skip = 0;
        if !self.started {
            if chunk.bytes.len() < 4 && !chunk.eof {
                return Step::More {
                    consumed: 0,
                    need: 4,
                };
            }
            match self.start(&chunk, out) {
                std::ops::ControlFlow::Continue(bytes) => skip = bytes,
                std::ops::ControlFlow::Break(()) => return Step::Stop,
            }
        }
        let raw = chunk.bytes.get(skip..).unwrap_or_default();
        let masked;
        let (text, scale) = match self.charset {
            Charset::Utf16(big) => {
                masked = mask(raw, big);
                (masked.as_slice(), 2)
            }
            _ => (raw, 1),
        };
        let window = MarkupWindow {
            raw,
            text,
            scale,
            offset: chunk.offset + skip as u64,
            eof: chunk.eof,
        };
        match self.all(window, out) {
            Step::More { consumed, need } => Step::More {
                consumed: skip + consumed,
                need,
            },
            Step::Stop => Step::Stop,
        }
    }

    /// Looks at the first bytes: a mark, or the zeros of UTF-16.
    fn start<V: Visit>(
        &mut self,
        chunk: &Chunk<'_>,
        out: &mut V,
    ) -> std::ops::ControlFlow<(), usize> {
        self.started = true;
        let mark = match chunk.bytes {
            [0xef, 0xbb, 0xbf, ..] => 3,
            [0xff, 0xfe, ..] => {
                self.charset = Charset::Utf16(false);
                2
            }
            [0xfe, 0xff, ..] => {
                self.charset = Charset::Utf16(true);
                2
            }
            [b'<', 0, _, 0, ..] => {
                self.charset = Charset::Utf16(false);
                0
            }
            [0, b'<', 0, _, ..] => {
                self.charset = Charset::Utf16(true);
                0
            }
            _ => 0,
        };
        if mark > 0 {
            let piece = Piece {
                kind: "byte_order_mark",
                offset: chunk.offset,
                raw: chunk.bytes.get(..mark).unwrap_or_default(),
                charset: self.charset,
            };
            out.item(Item::Piece(&piece))?;
        }
        std::ops::ControlFlow::Continue(mark)
    }

    fn all<V: Visit>(&mut self, window: MarkupWindow<'_, '_>, out: &mut V) -> Step {
        let mut scratch = MessageScratch {
            doubtful: false,
            slots: [Slot::Number(0); MOST_FIELDS],
        };
        let mut at = 0;
        loop {
            let rest = window.text.get(at..).unwrap_or_default();
            if rest.is_empty() {
                let consumed = at * window.scale;
                if !window.eof {
                    return Step::More {
                        consumed,
                        need: window.scale,
                    };
                }
                return match self.end(window, consumed, out) {
                    Flow::Continue(()) => Step::More {
                        consumed: window.raw.len(),
                        need: 0,
                    },
                    Flow::Break(()) => Step::Stop,
                };
            }
            let next = if rest.first() == Some(&b'<') {
                self.markup(&window, at, &mut scratch, out)
            } else {
                self.text(&window, at, out)
            };
            let next = match next {
                ElementStep::Broken => self.broken(&window, at, out),
                ElementStep::Cut => cut(&window, at, out),
                next => next,
            };
            match next {
                ElementStep::Took(taken) => at += taken,
                ElementStep::Need(need) => {
                    return Step::More {
                        consumed: at * window.scale,
                        need: need.max(rest.len() + 1) * window.scale,
                    };
                }
                _ => return Step::Stop,
            }
        }
    }

    fn end<V: Visit>(
        &mut self,
        window: MarkupWindow<'_, '_>,
        consumed: usize,
        out: &mut V,
    ) -> Flow {
        if std::mem::replace(&mut self.done, true) {
            return Flow::Continue(());
        }
        let offset = window.offset + consumed as u64;
        if let Some(half) = window.raw.get(consumed..).filter(|half| !half.is_empty()) {
            out.item(Item::Opaque(&Opaque::damage(offset, half)))?;
            out.note(damage(
                "truncated",
                offset,
                "the input ends inside a character",
            ))?;
        }
        if self.in_root {
            out.note(info("no_end_tag", offset, "the root element is not closed"))?;
        }
        if !self.elements {
            out.note(damage(
                "not_tptp",
                0,
                "neither a TRACE element nor any of its elements",
            ))?;
        }
        self.tally.tell(wording, out)
    }

    /// White space, or text that should not be there.
    fn text<V: Visit>(
        &mut self,
        window: &MarkupWindow<'_, '_>,
        at: usize,
        out: &mut V,
    ) -> ElementStep {
        let rest = window.text.get(at..).unwrap_or_default();
        if let [b'\n', b'<', ..] = rest {
            return self.piece("text", window, at, 1, out);
        }
        let head = rest.get(..PIECE).unwrap_or(rest);
        let length = match memchr::memchr(b'<', head) {
            Some(length) => length,
            None if head.len() < rest.len() || head.len() == PIECE || window.eof => head.len(),
            None => return ElementStep::Need(rest.len() + 1),
        };
        let text = head.get(..length).unwrap_or(head);
        if !text.iter().all(u8::is_ascii_whitespace) {
            self.tally
                .count(Level::Warn, "stray_text", 0, window.offset(at));
        }
        self.piece("text", window, at, length, out)
    }

    pub(super) fn piece<V: Visit>(
        &self,
        kind: &'static str,
        window: &MarkupWindow<'_, '_>,
        at: usize,
        length: usize,
        out: &mut V,
    ) -> ElementStep {
        let piece = Piece {
            kind,
            offset: window.offset(at),
            raw: window.raw(at, at + length),
            charset: self.charset,
        };
        took(out.item(Item::Piece(&piece)), length)
    }

    #[inline]
    fn markup<'a, V: Visit>(
        &mut self,
        window: &MarkupWindow<'a, '_>,
        at: usize,
        scratch: &mut MessageScratch<'a>,
        out: &mut V,
    ) -> ElementStep {
        let rest = window.text.get(at..).unwrap_or_default();
        let (mark, length) = match self.ends.scan(rest, window.offset(at)) {
            TagScan::Whole(_, length) if length > self.most => return ElementStep::Broken,
            TagScan::Whole(mark, length) => (mark, length),
            TagScan::Broken => return ElementStep::Broken,
            TagScan::Partial if rest.len() <= self.most && window.eof => return ElementStep::Cut,
            TagScan::Partial if rest.len() > self.most => return ElementStep::Broken,
            TagScan::Partial => return ElementStep::Need(rest.len() + 1),
        };
        let tag = rest.get(..length).unwrap_or(rest);
        match mark {
            MarkupKind::Empty | MarkupKind::Start => self.tag(window, at, tag, mark, scratch, out),
            MarkupKind::End => {
                let root = tag.get(2..name_end(tag)) == Some(ROOT);
                if root {
                    self.in_root = false;
                } else {
                    self.tally
                        .count(Level::Warn, "stray_end_tag", 0, window.offset(at));
                }
                let kind = if root { "root_end" } else { "end_tag" };
                self.piece(kind, window, at, length, out)
            }
            MarkupKind::Comment => self.piece("comment", window, at, length, out),
            MarkupKind::CData => self.piece("cdata", window, at, length, out),
            MarkupKind::Doctype => self.piece("doctype", window, at, length, out),
            MarkupKind::Instruction if tag.starts_with(b"<?xml ") => {
                self.prolog(tag);
                self.piece("prolog", window, at, length, out)
            }
            MarkupKind::Instruction => self.piece("instruction", window, at, length, out),
        }
    }

    /// Takes the charset from a prolog, unless the bytes told it already.
    fn prolog(&mut self, tag: &[u8]) {
        if self.charset != Charset::Utf8 {
            return;
        }
        for attribute in AttributeIter::new(tag).flatten() {
            if tag.get(attribute.name) == Some(b"encoding") {
                let name = String::from_utf8_lossy(tag.get(attribute.value).unwrap_or_default());
                self.charset = Charset::named(&name).unwrap_or_default();
            }
        }
    }

    /// A `<` that begins nothing: everything up to the next one is damage.
    fn broken<V: Visit>(
        &mut self,
        window: &MarkupWindow<'_, '_>,
        at: usize,
        out: &mut V,
    ) -> ElementStep {
        let rest = window.text.get(at..).unwrap_or_default();
        let head = rest.get(..PIECE).unwrap_or(rest);
        let next = memchr::memchr(b'<', head.get(1..).unwrap_or_default());
        let length = match next {
            Some(next) => next + 1,
            None if head.len() == PIECE || window.eof => head.len(),
            None => return ElementStep::Need(PIECE),
        };
        let offset = window.offset(at);
        let opaque = Opaque::damage(offset, window.raw(at, at + length));
        if out.item(Item::Opaque(&opaque)).is_break() {
            return ElementStep::Stop;
        }
        let note = damage("broken_markup", offset, "markup that does not end");
        took(out.note(note.counting(length as u64)), length)
    }
}

fn cut<V: Visit>(window: &MarkupWindow<'_, '_>, at: usize, out: &mut V) -> ElementStep {
    let length = window.text.len() - at;
    let offset = window.offset(at);
    let opaque = Opaque::damage(offset, window.raw(at, at + length));
    if out.item(Item::Opaque(&opaque)).is_break() {
        return ElementStep::Stop;
    }
    let note = warn("truncated", offset, "the input ends inside an element");
    let note = Note {
        count: length as u64,
        ..note
    };
    took(out.note(note), length)
}

pub(super) fn took(flow: Flow, length: usize) -> ElementStep {
    if flow.is_break() {
        ElementStep::Stop
    } else {
        ElementStep::Took(length)
    }
}

fn wording(kind: &'static str, id: u16) -> String {
    let name = crate::tptp::table::by_id(id).map_or("", |schema| schema.element);
    match kind {
        "unknown_element" => "elements that no table has".to_owned(),
        "unknown_attribute" => format!("attributes of {name} that no table has"),
        "bad_attribute" => format!("attributes of {name} that cannot be told apart"),
        "invalid_text" => format!("strings of {name} that are no text"),
        "bad_number" => format!("attributes of {name} whose value is no number, or none that fits"),
        "time_cut" => format!("times of {name} with more than nine digits, which are cut off"),
        "repeated_value" => format!("values of {name} that are given twice: the last one counts"),
        "stack_depth" => format!("stack depths of {name} that are not the number of its frames"),
        "unknown_content" => format!("elements {name} with content that no table has"),
        "stray_end_tag" => "end tags without a start".to_owned(),
        _ => "text between the elements".to_owned(),
    }
}
