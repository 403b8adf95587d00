//! Bytes to elements, one pass, values borrowed from the window.

use traceloom_model::{Flow, Level, Limit, Limits, Note};

use super::record::{Element, Piece};
use super::tag::{Ends, Mark, Scan};
use crate::tptp::binary::MOST;
use crate::tptp::charset::Charset;
use crate::tptp::markup::{Attributes, mask, name_end};
use crate::tptp::message::{Form, Frames, Message, Slot, Texts};
use crate::tptp::seconds;
use crate::tptp::table::{FieldDef, Kind, Layout, MOST_FIELDS, Schema, by_element};
use crate::tptp::visit::{Item, Tally, ToRecords, Visit};
use crate::{Chunk, Opaque, Reader, RecordSink, Step, damage, info};

/// Longest piece of text handed out at once.
const PIECE: usize = 64 << 10;

/// Unknown elements without an end that are searched for it: the first to the limit, the others one
/// piece, those after them not at all, so that no input takes more than linear time.
const UNCLOSED: u32 = 64;

/// The root element of a document.
const ROOT: &[u8] = b"TRACE";

/// Reads an XML trace: a document, or elements one after the other.
#[derive(Clone, Debug)]
pub struct Xml {
    most: usize,
    started: bool,
    charset: Charset,
    in_root: bool,
    elements: bool,
    done: bool,
    ends: Ends,
    subtree: Subtree,
    unclosed: u32,
    tally: Tally,
}

/// How far the end of an element was looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Subtree {
    element: u64,
    at: usize,
    depth: u64,
}

/// The window: its bytes, and its markup with one byte a code unit.
#[derive(Clone, Copy)]
struct Window<'a, 't> {
    raw: &'a [u8],
    text: &'t [u8],
    scale: usize,
    offset: u64,
    eof: bool,
}

impl<'a> Window<'a, '_> {
    fn raw(&self, from: usize, to: usize) -> &'a [u8] {
        self.raw
            .get(from * self.scale..to * self.scale)
            .unwrap_or_default()
    }

    fn offset(&self, at: usize) -> u64 {
        self.offset + (at * self.scale) as u64
    }
}

enum Next {
    Took(usize),
    Need(usize),
    Broken,
    Cut,
    Stop,
}

/// What a message is put together in.
struct Scratch<'a> {
    /// A string may hold bytes or references that mean nothing.
    doubtful: bool,
    slots: [Slot<'a>; MOST_FIELDS],
}

impl Reader for Xml {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        self.run(chunk, &mut ToRecords(out))
    }
}

impl Xml {
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
            tally: Tally::default(),
        }
    }

    /// Reads every whole record of `chunk`, as [`Reader::read`] does, with their types.
    pub fn run<V: Visit>(&mut self, chunk: Chunk<'_>, out: &mut V) -> Step {
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
        let window = Window {
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

    fn all<V: Visit>(&mut self, window: Window<'_, '_>, out: &mut V) -> Step {
        let mut scratch = Scratch {
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
                Next::Broken => self.broken(&window, at, out),
                Next::Cut => cut(&window, at, out),
                next => next,
            };
            match next {
                Next::Took(taken) => at += taken,
                Next::Need(need) => {
                    return Step::More {
                        consumed: at * window.scale,
                        need: need.max(rest.len() + 1) * window.scale,
                    };
                }
                _ => return Step::Stop,
            }
        }
    }

    fn end<V: Visit>(&mut self, window: Window<'_, '_>, consumed: usize, out: &mut V) -> Flow {
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
    fn text<V: Visit>(&mut self, window: &Window<'_, '_>, at: usize, out: &mut V) -> Next {
        let rest = window.text.get(at..).unwrap_or_default();
        if let [b'\n', b'<', ..] = rest {
            return self.piece("text", window, at, 1, out);
        }
        let head = rest.get(..PIECE).unwrap_or(rest);
        let length = match memchr::memchr(b'<', head) {
            Some(length) => length,
            None if head.len() < rest.len() || head.len() == PIECE || window.eof => head.len(),
            None => return Next::Need(rest.len() + 1),
        };
        let text = head.get(..length).unwrap_or(head);
        if !text.iter().all(u8::is_ascii_whitespace) {
            self.tally
                .count(Level::Warn, "stray_text", 0, window.offset(at));
        }
        self.piece("text", window, at, length, out)
    }

    fn piece<V: Visit>(
        &self,
        kind: &'static str,
        window: &Window<'_, '_>,
        at: usize,
        length: usize,
        out: &mut V,
    ) -> Next {
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
        window: &Window<'a, '_>,
        at: usize,
        scratch: &mut Scratch<'a>,
        out: &mut V,
    ) -> Next {
        let rest = window.text.get(at..).unwrap_or_default();
        let (mark, length) = match self.ends.scan(rest, window.offset(at)) {
            Scan::Whole(_, length) if length > self.most => return Next::Broken,
            Scan::Whole(mark, length) => (mark, length),
            Scan::Broken => return Next::Broken,
            Scan::Partial if rest.len() <= self.most && window.eof => return Next::Cut,
            Scan::Partial if rest.len() > self.most => return Next::Broken,
            Scan::Partial => return Next::Need(rest.len() + 1),
        };
        let tag = rest.get(..length).unwrap_or(rest);
        match mark {
            Mark::Empty | Mark::Start => self.tag(window, at, tag, mark, scratch, out),
            Mark::End => {
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
            Mark::Comment => self.piece("comment", window, at, length, out),
            Mark::CData => self.piece("cdata", window, at, length, out),
            Mark::Doctype => self.piece("doctype", window, at, length, out),
            Mark::Instruction if tag.starts_with(b"<?xml ") => {
                self.prolog(tag);
                self.piece("prolog", window, at, length, out)
            }
            Mark::Instruction => self.piece("instruction", window, at, length, out),
        }
    }

    /// Takes the charset from a prolog, unless the bytes told it already.
    fn prolog(&mut self, tag: &[u8]) {
        if self.charset != Charset::Utf8 {
            return;
        }
        for attribute in Attributes::new(tag).flatten() {
            if tag.get(attribute.name) == Some(b"encoding") {
                let name = String::from_utf8_lossy(tag.get(attribute.value).unwrap_or_default());
                self.charset = Charset::named(&name).unwrap_or_default();
            }
        }
    }

    #[inline]
    fn tag<'a, V: Visit>(
        &mut self,
        window: &Window<'a, '_>,
        at: usize,
        tag: &[u8],
        mark: Mark,
        scratch: &mut Scratch<'a>,
        out: &mut V,
    ) -> Next {
        let name = tag.get(1..name_end(tag)).unwrap_or_default();
        let schema = by_element(name);
        if schema.is_none() && name == ROOT {
            self.elements = true;
            self.in_root |= mark == Mark::Start;
            return self.piece("root_start", window, at, tag.len(), out);
        }
        let (length, inner) = if mark == Mark::Empty {
            (tag.len(), tag.len()..tag.len())
        } else {
            match self.subtree(window, at, tag.len(), schema.is_some(), out) {
                Ok((length, end)) => (length, tag.len()..end),
                Err(next) => return next,
            }
        };
        let offset = window.offset(at);
        let raw = window.raw(at, at + length);
        let Some(schema) = schema else {
            self.tally.count(Level::Info, "unknown_element", 0, offset);
            let element = Element {
                offset,
                raw,
                charset: self.charset,
                message: None,
            };
            return took(out.item(Item::Element(&element)), length);
        };
        self.elements = true;
        let inner = window.raw(at + inner.start, at + inner.end);
        let (message, doubtful) = self.message(schema, window, at, tag, inner, scratch);
        if doubtful && !message.is_valid() {
            self.tally
                .count(Level::Warn, "invalid_text", schema.id, offset);
        }
        let element = Element {
            offset,
            raw,
            charset: self.charset,
            message: Some(message),
        };
        took(out.item(Item::Element(&element)), length)
    }

    /// Finds the end of an element that has content: the length of all of it, and where its content ends.
    #[cold]
    fn subtree<V: Visit>(
        &mut self,
        window: &Window<'_, '_>,
        at: usize,
        start: usize,
        known: bool,
        out: &mut V,
    ) -> Result<(usize, usize), Next> {
        let most = match self.unclosed {
            0 => self.most,
            _ if known => self.most,
            1..UNCLOSED => PIECE,
            _ => 0,
        };
        let all = window.text.get(at..).unwrap_or_default();
        let rest = all.get(..most).unwrap_or(all);
        let offset = window.offset(at);
        let mut state = if self.subtree.element == offset && self.subtree.depth > 0 {
            self.subtree
        } else {
            Subtree {
                element: offset,
                at: start,
                depth: 1,
            }
        };
        loop {
            let body = rest.get(state.at..).unwrap_or_default();
            let Some(open) = memchr::memchr(b'<', body) else {
                state.at = rest.len();
                break;
            };
            let here = state.at + open;
            let markup = rest.get(here..).unwrap_or_default();
            state.at = here;
            let (mark, length) = match self.ends.scan(markup, window.offset(at + here)) {
                Scan::Whole(mark, length) => (mark, length),
                Scan::Broken => {
                    state.at = here + 1;
                    continue;
                }
                Scan::Partial => break,
            };
            let tag = markup.get(..length).unwrap_or(markup);
            let name = tag
                .get(if mark == Mark::End { 2 } else { 1 }..name_end(tag))
                .unwrap_or_default();
            let foreign = match mark {
                Mark::Start | Mark::Empty => known && by_element(name).is_some(),
                Mark::End => name == ROOT,
                _ => false,
            };
            if foreign && !known {
                return Err(self.unclosed(window, at, start, out));
            }
            if foreign {
                self.subtree = Subtree::default();
                let text = "an element is not closed before the next one";
                if out
                    .note(damage("unclosed_element", offset, text))
                    .is_break()
                {
                    return Err(Next::Stop);
                }
                return Ok((here, here));
            }
            state.at = here + length;
            match mark {
                Mark::Start => state.depth += 1,
                Mark::End => state.depth -= 1,
                _ => {}
            }
            if state.depth == 0 {
                self.subtree = Subtree::default();
                return Ok((state.at, here));
            }
        }
        let too_long = all.len() > most;
        if !known && (window.eof || too_long) {
            return Err(self.unclosed(window, at, start, out));
        }
        if window.eof && !too_long {
            return Err(Next::Cut);
        }
        if too_long {
            self.subtree = Subtree::default();
            let text = format!("an element of more than {most} bytes");
            let flow = out.note(damage("limit_record", offset, text));
            return Err(if flow.is_break() {
                Next::Stop
            } else {
                Next::Broken
            });
        }
        self.subtree = state;
        Err(Next::Need(rest.len() + 1))
    }

    /// An element that no table has and that never ends: its start tag is damage, what follows is read.
    fn unclosed<V: Visit>(
        &mut self,
        window: &Window<'_, '_>,
        at: usize,
        start: usize,
        out: &mut V,
    ) -> Next {
        self.subtree = Subtree::default();
        self.unclosed += 1;
        let offset = window.offset(at);
        let opaque = Opaque::damage(offset, window.raw(at, at + start));
        if out.item(Item::Opaque(&opaque)).is_break() {
            return Next::Stop;
        }
        let note = damage(
            "unclosed_element",
            offset,
            "an unknown element is not closed",
        );
        took(out.note(note.counting(start as u64)), start)
    }

    fn message<'a, 's>(
        &mut self,
        schema: &'static Schema,
        window: &Window<'a, '_>,
        at: usize,
        tag: &[u8],
        inner: &'a [u8],
        scratch: &'s mut Scratch<'a>,
    ) -> (Message<'s>, bool)
    where
        'a: 's,
    {
        let mut layout = Layout::Table;
        if !self.fill(schema, layout, window, at, tag, scratch) {
            layout = Layout::Wide;
            self.fill(schema, layout, window, at, tag, scratch);
        }
        let mut form = Form::Attribute;
        let mut frames = Frames::None;
        if schema.has_stack() {
            frames = Frames::Markup(inner, self.charset);
            scratch.doubtful |= !inner.is_ascii() || inner.contains(&b'&');
            let depth = schema.position(layout, "stackDepth");
            if let Some(slot) = depth.and_then(|at| scratch.slots.get_mut(at)) {
                *slot = Slot::Number(frames.count() as u64);
            }
        } else if schema.id == 1041 && !inner.is_empty() {
            form = if inner.contains(&b'<') {
                Form::Plain
            } else {
                Form::Content
            };
            if let Some(slot) = scratch.slots.first_mut() {
                *slot = Slot::Text(inner);
                scratch.doubtful = true;
            }
        }
        let fields = schema.fields(layout).len();
        let message = Message {
            schema,
            layout,
            values: scratch.slots.get(..fields).unwrap_or_default(),
            frames,
            texts: Texts {
                charset: self.charset,
                form,
            },
        };
        (message, scratch.doubtful)
    }

    /// Fills the slots from the attributes; false when one of them belongs to the wider layout.
    #[inline]
    fn fill<'a>(
        &mut self,
        schema: &'static Schema,
        layout: Layout,
        window: &Window<'a, '_>,
        at: usize,
        tag: &[u8],
        scratch: &mut Scratch<'a>,
    ) -> bool {
        let fields = schema.fields(layout);
        for (slot, field) in scratch.slots.iter_mut().zip(fields) {
            *slot = if field.kind == Kind::Text {
                Slot::Text(&[])
            } else {
                Slot::Number(0)
            };
        }
        scratch.doubtful = false;
        let mut guess = 0;
        for attribute in Attributes::new(tag) {
            let offset = window.offset(at);
            let Ok(attribute) = attribute else {
                self.tally
                    .count(Level::Warn, "bad_attribute", schema.id, offset);
                break;
            };
            let name = tag.get(attribute.name).unwrap_or_default();
            let Some(position) = place(schema, layout, fields, name, &mut guess) else {
                if layout == Layout::Table && is_wide(schema, name) {
                    return false;
                }
                self.tally
                    .count(Level::Info, "unknown_attribute", schema.id, offset);
                continue;
            };
            let (Some(field), Some(slot)) = (fields.get(position), scratch.slots.get_mut(position))
            else {
                continue;
            };
            if field.kind == Kind::Text {
                let text = window.raw(at + attribute.value.start, at + attribute.value.end);
                scratch.doubtful |= !text.is_ascii() || text.contains(&b'&');
                *slot = Slot::Text(text);
                continue;
            }
            let value = tag.get(attribute.value).unwrap_or_default();
            match number(field.kind, value) {
                Some(number) => *slot = Slot::Number(number),
                None => self
                    .tally
                    .count(Level::Warn, "bad_number", schema.id, offset),
            }
        }
        true
    }

    /// A `<` that begins nothing: everything up to the next one is damage.
    fn broken<V: Visit>(&mut self, window: &Window<'_, '_>, at: usize, out: &mut V) -> Next {
        let rest = window.text.get(at..).unwrap_or_default();
        let head = rest.get(..PIECE).unwrap_or(rest);
        let next = memchr::memchr(b'<', head.get(1..).unwrap_or_default());
        let length = match next {
            Some(next) => next + 1,
            None if head.len() == PIECE || window.eof => head.len(),
            None => return Next::Need(PIECE),
        };
        let offset = window.offset(at);
        let opaque = Opaque::damage(offset, window.raw(at, at + length));
        if out.item(Item::Opaque(&opaque)).is_break() {
            return Next::Stop;
        }
        let note = damage("broken_markup", offset, "markup that does not end");
        took(out.note(note.counting(length as u64)), length)
    }
}

fn cut<V: Visit>(window: &Window<'_, '_>, at: usize, out: &mut V) -> Next {
    let length = window.text.len() - at;
    let offset = window.offset(at);
    let opaque = Opaque::damage(offset, window.raw(at, at + length));
    if out.item(Item::Opaque(&opaque)).is_break() {
        return Next::Stop;
    }
    let note = info("truncated", offset, "the input ends inside an element");
    let note = Note {
        count: length as u64,
        ..note
    };
    took(out.note(note), length)
}

fn took(flow: Flow, length: usize) -> Next {
    if flow.is_break() {
        Next::Stop
    } else {
        Next::Took(length)
    }
}

/// Finds the field of an attribute; the next one in printed order is the likeliest.
#[inline]
fn place(
    schema: &'static Schema,
    layout: Layout,
    fields: &'static [FieldDef],
    name: &[u8],
    guess: &mut usize,
) -> Option<usize> {
    if layout == Layout::Table {
        for at in *guess..schema.printed.len() {
            let position = usize::from(*schema.printed.get(at)?);
            let Some(field) = fields.get(position) else {
                break;
            };
            if field.attribute.as_bytes() == name {
                *guess = at + 1;
                return Some(position);
            }
        }
    }
    fields
        .iter()
        .position(|field| field.attribute.as_bytes() == name && !field.kind.is_array())
}

fn is_wide(schema: &'static Schema, name: &[u8]) -> bool {
    let fields = schema.fields(Layout::Wide);
    fields
        .iter()
        .any(|field| field.attribute.as_bytes() == name)
}

#[inline]
fn number(kind: Kind, value: &[u8]) -> Option<u64> {
    if kind == Kind::Ticks {
        return seconds::parse(value);
    }
    if let Some(negative) = value.strip_prefix(b"-") {
        let magnitude = seconds::digits(negative).filter(|_| !negative.is_empty())?;
        let least = if matches!(kind, Kind::Long) {
            1 << 63
        } else {
            1 << 31
        };
        return (magnitude <= least && kind != Kind::Byte).then(|| magnitude.wrapping_neg());
    }
    let most = match kind {
        Kind::Byte => match value {
            b"true" => return Some(1),
            b"false" => return Some(0),
            _ => u64::from(u8::MAX),
        },
        Kind::Int => u64::from(u32::MAX),
        Kind::Signed => i32::MAX.unsigned_abs().into(),
        _ => u64::MAX,
    };
    seconds::digits(value).filter(|&number| number <= most && !value.is_empty())
}

fn wording(kind: &'static str, id: u16) -> String {
    let name = crate::tptp::table::by_id(id).map_or("", |schema| schema.element);
    match kind {
        "unknown_element" => "elements that no table has".to_owned(),
        "unknown_attribute" => format!("attributes of {name} that no table has"),
        "bad_attribute" => format!("attributes of {name} that cannot be told apart"),
        "invalid_text" => format!("strings of {name} that are no text"),
        "bad_number" => format!("attributes of {name} whose value is no number"),
        "stray_end_tag" => "end tags without a start".to_owned(),
        _ => "text between the elements".to_owned(),
    }
}
