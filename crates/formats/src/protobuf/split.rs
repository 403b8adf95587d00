//! The fields of a message one after the other, and the way back into step after damage.

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Flow, Limit, Limits, Note};

use super::schema::{FieldSpec as Spec, FieldType, find};
use super::wire::{Wire, padded, skip, tag, varint};
use crate::Step;
use crate::codec::each_window;
use crate::{Error, Pull, damage};

/// A field as it lies in the input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldBytes<'a> {
    pub(crate) offset: u64,
    /// Tag, length and value; of a container the tag and length alone.
    pub(crate) bytes: &'a [u8],
    pub(crate) number: u32,
    /// The message it is a field of.
    pub(crate) within: &'static [Spec],
    pub(crate) value: FieldValueKind<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FieldValueKind<'a> {
    Varint(u64),
    Len(&'a [u8]),
    Fixed64(u64),
    Fixed32(u32),
    /// A container of so many bytes begins; its fields follow.
    Enter(u64),
}

/// What lies at a place of the input.
#[derive(Debug)]
pub(crate) enum MessagePiece<'a> {
    Field(FieldBytes<'a>),
    /// Bytes that are no fields; the note comes with the last piece of a stretch.
    Damage {
        offset: u64,
        bytes: &'a [u8],
        note: Option<Box<Note>>,
    },
}

/// The answer of [`FieldSplitter::next`].
#[derive(Debug)]
pub(crate) enum SplitStep<'a> {
    Piece(MessagePiece<'a>),
    /// The window must hold so many bytes.
    Need(usize),
    /// The window is used up.
    End,
}

/// Bytes of a damaged stretch that one piece holds at most.
const BLOCK: usize = 4096;
/// Fields in a row that prove the reader to be in step again.
const PROOF: usize = 3;
/// Bytes a field may have to take part in that proof.
const PROOF_FIELD: usize = 512;
/// Bytes that deciding about one place can take: tags and lengths have at most 20.
const LOOKAHEAD: usize = PROOF * (PROOF_FIELD + 20);
/// A length that runs past the end is a torn file when no more than this is left, else a lie.
const TORN: usize = 4096;

/// Finds the fields. The state is the damaged stretch it is in, and the containers around it.
#[derive(Clone, Debug)]
pub(crate) struct FieldSplitter {
    lost: Option<LostBytes>,
    limit: usize,
    root: MessageSchema,
    /// Containers around the next field, with the offset where each ends.
    around: Vec<(&'static [Spec], u64)>,
    /// The input was found to end inside a field.
    torn: bool,
}

/// The message whose fields are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageSchema {
    pub(crate) fields: &'static [Spec],
    /// The fields are all there are; else other numbers are as good as known ones.
    pub(crate) closed: bool,
}

#[derive(Clone, Debug)]
struct LostBytes {
    kind: &'static str,
    offset: u64,
    bytes: u64,
    text: String,
}

enum FieldHead {
    Field(u32, Wire, usize),
    /// More bytes are needed: this many in all.
    Cut(usize),
    Bad(&'static str, String),
}

impl FieldSplitter {
    pub(crate) fn new(root: MessageSchema, limits: &Limits) -> Self {
        Self {
            lost: None,
            limit: limits.size(Limit::Record),
            root,
            around: Vec::new(),
            torn: false,
        }
    }

    fn fields(&self) -> &'static [Spec] {
        self.around
            .last()
            .map_or(self.root.fields, |&(fields, _)| fields)
    }

    /// Looks at the first bytes of a window that lies at `offset`.
    #[inline]
    pub(crate) fn next<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> SplitStep<'a> {
        if !self.around.is_empty() {
            return self.nested(window, offset, eof);
        }
        match self.short(window, offset) {
            Some(field) => SplitStep::Piece(MessagePiece::Field(field)),
            None => self.any(window, offset, eof),
        }
    }

    /// Looks for the next field of the innermost container that has one.
    fn nested<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> SplitStep<'a> {
        while let Some(&(_, end)) = self.around.last() {
            if offset < end {
                break;
            }
            self.around.pop();
        }
        let Some(&(_, end)) = self.around.last() else {
            return self.next(window, offset, eof);
        };
        let left = in_memory(end - offset);
        let (inner, whole) = match window.get(..left) {
            Some(inner) => (inner, true),
            None => (window, eof),
        };
        if eof && window.is_empty() {
            self.around.clear();
            if self.torn {
                return SplitStep::End;
            }
            let text = format!("{left} more bytes belong to the message around this place");
            return SplitStep::Piece(MessagePiece::Damage {
                offset,
                bytes: window,
                note: Some(Box::new(damage("truncated", offset, text))),
            });
        }
        match self.short(inner, offset) {
            Some(field) => SplitStep::Piece(MessagePiece::Field(field)),
            None => self.any(inner, offset, whole),
        }
    }

    /// Splits off the tag and length of a container.
    fn enter<'a>(&mut self, window: &'a [u8], offset: u64) -> Option<FieldBytes<'a>> {
        let (raw, at) = varint(window, 0)?;
        let (number, wire) = tag(raw)?;
        let within = self.fields();
        let spec = find(within, number)?;
        let FieldType::Container(inner) = spec.kind else {
            return None;
        };
        if wire != Wire::Len {
            return None;
        }
        let (len, at) = varint(window, at)?;
        let end = offset.checked_add(at as u64)?.checked_add(len)?;
        if self.around.last().is_some_and(|&(_, around)| end > around) {
            return None;
        }
        self.around.push((inner, end));
        Some(FieldBytes {
            offset,
            bytes: window.get(..at)?,
            number,
            within,
            value: FieldValueKind::Enter(len),
        })
    }

    /// Splits off a field with a tag of one byte and a length of one or two: nearly every field is.
    #[inline]
    fn short<'a>(&self, window: &'a [u8], offset: u64) -> Option<FieldBytes<'a>> {
        let &[tag, low, high, _] = window.first_chunk::<4>()?;
        if tag & 0x87 != 2 || tag < 8 || self.lost.is_some() {
            return None;
        }
        let (len, at) = match (low, high) {
            (0..0x80, _) => (usize::from(low), 2),
            (_, 0..0x80) => (usize::from(low & 0x7f) | usize::from(high) << 7, 3),
            _ => return None,
        };
        let bytes = window.get(..at + len)?;
        let within = self.fields();
        let container = find(within, u32::from(tag >> 3))
            .is_some_and(|spec| matches!(spec.kind, FieldType::Container(_)));
        if bytes.len() > self.limit || container {
            return None;
        }
        Some(FieldBytes {
            offset,
            bytes,
            number: u32::from(tag >> 3),
            within,
            value: FieldValueKind::Len(bytes.get(at..)?),
        })
    }

    fn any<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> SplitStep<'a> {
        if self.lost.is_some() {
            return self.scan(window, offset, eof, 0);
        }
        if window.is_empty() {
            return SplitStep::End;
        }
        if let Some(field) = self.enter(window, offset) {
            return SplitStep::Piece(MessagePiece::Field(field));
        }
        let within = self.fields();
        let bad = match head(window, self.limit) {
            FieldHead::Field(number, wire, end) if is_container(within, number, wire) => {
                let text = format!("a message of {end} bytes ends outside the one around it");
                ("message_length", text)
            }
            FieldHead::Field(number, wire, end) => {
                if let Some(field) = field(window, offset, (number, wire, end), within) {
                    return SplitStep::Piece(MessagePiece::Field(field));
                }
                ("invalid_tag", "field cannot be read".to_owned())
            }
            FieldHead::Cut(need) if !eof => return SplitStep::Need(need),
            FieldHead::Cut(need) => {
                let text = format!("{} more bytes belong to this field", need - window.len());
                if window.len() <= TORN {
                    self.torn = true;
                    let note = damage("truncated", offset, text).counting(window.len() as u64);
                    return SplitStep::Piece(MessagePiece::Damage {
                        offset,
                        bytes: window,
                        note: Some(Box::new(note)),
                    });
                }
                ("truncated", text)
            }
            FieldHead::Bad(kind, text) => (kind, text),
        };
        if !eof && window.len() < BLOCK + LOOKAHEAD {
            return SplitStep::Need(BLOCK + LOOKAHEAD);
        }
        self.lost = Some(LostBytes {
            kind: bad.0,
            offset,
            bytes: 0,
            text: bad.1,
        });
        self.scan(window, offset, eof, 1)
    }

    /// Steps over damage from place `from` of the window on.
    fn scan<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool, from: usize) -> SplitStep<'a> {
        if !eof && window.len() < BLOCK + LOOKAHEAD {
            return SplitStep::Need(BLOCK + LOOKAHEAD);
        }
        let end = window.len().min(BLOCK);
        let schema = MessageSchema {
            fields: self.fields(),
            ..self.root
        };
        let found = (from..end).find(|&at| in_step(subslice(window, at..), schema));
        let cut = found.unwrap_or(end);
        let bytes = window.get(..cut).unwrap_or(window);
        let over = found.is_some() || (eof && cut == window.len());
        let mut note = None;
        if let Some(lost) = &mut self.lost {
            lost.bytes += cut as u64;
            if over {
                let text = std::mem::take(&mut lost.text);
                let text = damage(lost.kind, lost.offset, text).counting(lost.bytes);
                note = Some(Box::new(text));
                self.lost = None;
            }
        }
        if bytes.is_empty() && note.is_none() {
            return SplitStep::End;
        }
        SplitStep::Piece(MessagePiece::Damage {
            offset,
            bytes,
            note,
        })
    }
}

fn head(window: &[u8], limit: usize) -> FieldHead {
    let Some((raw, at)) = varint(window, 0) else {
        return if window.len() < 10 {
            FieldHead::Cut(window.len() + 1)
        } else {
            FieldHead::Bad("invalid_tag", "tag has more than 64 bits".to_owned())
        };
    };
    let Some((number, wire)) = tag(raw) else {
        return FieldHead::Bad("invalid_tag", format!("{raw:#x} is no tag"));
    };
    if wire == Wire::Len {
        let Some((len, at)) = varint(window, at) else {
            return cut_varint(window, at);
        };
        let Some(end) = usize::try_from(len)
            .ok()
            .and_then(|len| at.checked_add(len))
            .filter(|&end| end <= limit)
        else {
            let text = format!("a field of {len} bytes, the limit is {limit}");
            return FieldHead::Bad("limit_record", text);
        };
        return if end <= window.len() {
            FieldHead::Field(number, wire, end)
        } else {
            FieldHead::Cut(end)
        };
    }
    match skip(window, at, wire) {
        Some(end) => FieldHead::Field(number, wire, end),
        None if wire == Wire::Varint => cut_varint(window, at),
        None => FieldHead::Cut(at + if wire == Wire::Fixed64 { 8 } else { 4 }),
    }
}

fn cut_varint(window: &[u8], at: usize) -> FieldHead {
    if window.len() - at < 10 {
        FieldHead::Cut(window.len() + 1)
    } else {
        FieldHead::Bad("invalid_varint", "varint has more than 64 bits".to_owned())
    }
}

fn is_container(within: &'static [Spec], number: u32, wire: Wire) -> bool {
    let spec = find(within, number).filter(|_| wire == Wire::Len);
    spec.is_some_and(|spec| matches!(spec.kind, FieldType::Container(_)))
}

fn field<'a>(
    window: &'a [u8],
    offset: u64,
    (number, wire, end): (u32, Wire, usize),
    within: &'static [Spec],
) -> Option<FieldBytes<'a>> {
    let bytes = window.get(..end)?;
    let (_, at) = varint(bytes, 0)?;
    let value = match wire {
        Wire::Varint => FieldValueKind::Varint(varint(bytes, at)?.0),
        Wire::Len => FieldValueKind::Len(bytes.get(varint(bytes, at)?.1..)?),
        Wire::Fixed64 => {
            FieldValueKind::Fixed64(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
        }
        Wire::Fixed32 => {
            FieldValueKind::Fixed32(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
        }
    };
    Some(FieldBytes {
        offset,
        bytes,
        number,
        within,
        value,
    })
}

/// Returns true if fields that a writer of such messages would write begin here.
///
/// Single bytes of text pass for tags of numbers, so a message or string must be among them.
pub(crate) fn in_step(bytes: &[u8], schema: MessageSchema) -> bool {
    let mut rest = bytes;
    let mut solid = false;
    for proven in 0..PROOF {
        if rest.is_empty() {
            return solid && proven > 0;
        }
        let FieldHead::Field(number, wire, end) = head(rest, PROOF_FIELD) else {
            return false;
        };
        let Some(spec) = find(schema.fields, number).filter(|spec| spec.takes(wire)) else {
            return false;
        };
        let Some(field) = field(rest, 0, (number, wire, end), schema.fields) else {
            return false;
        };
        if let (Wire::Len, FieldValueKind::Len(body)) = (spec.wire(), field.value) {
            solid = true;
            let fits = match &spec.kind {
                FieldType::Message(inner) | FieldType::Container(inner) => {
                    let inner = MessageSchema {
                        fields: inner,
                        ..schema
                    };
                    !body.is_empty() && fits(body, inner)
                }
                FieldType::Bytes => true,
                _ => std::str::from_utf8(body).is_ok(),
            };
            if !fits {
                return false;
            }
        }
        rest = subslice(rest, end..);
    }
    solid
}

/// Returns true if bytes are a message of the schema.
pub(crate) fn fits(body: &[u8], schema: MessageSchema) -> bool {
    fits_below(body, schema, 0)
}

fn fits_below(body: &[u8], schema: MessageSchema, depth: usize) -> bool {
    const DEEPEST: usize = 16;
    let mut at = 0;
    let (mut seen, mut known) = (false, false);
    while at < body.len() {
        let Some((raw, next)) = varint(body, at) else {
            return false;
        };
        let Some((number, wire)) = tag(raw) else {
            return false;
        };
        let Some(end) = skip(body, next, wire) else {
            return false;
        };
        seen = true;
        let spec = find(schema.fields, number);
        match spec {
            Some(spec) if !spec.takes(wire) => return false,
            None if schema.closed => return false,
            _ => known |= spec.is_some(),
        }
        if body.get(at..next).is_none_or(padded) {
            return false;
        }
        if let Some(FieldType::Message(inner) | FieldType::Container(inner)) =
            spec.map(|spec| &spec.kind)
            && depth < DEEPEST
        {
            let inside = varint(body, next).and_then(|(_, from)| body.get(from..end));
            let inner = MessageSchema {
                fields: inner,
                ..schema
            };
            if !inside.is_some_and(|inside| fits_below(inside, inner, depth + 1)) {
                return false;
            }
        }
        at = end;
    }
    known || !seen
}

/// Shows every piece of a part that begins before `until` to `see`, until it breaks.
///
/// Returns false when it broke.
///
/// # Errors
/// What the pull fails with.
pub(crate) fn each(
    pull: &mut dyn Pull,
    splitter: &mut FieldSplitter,
    until: u64,
    mut see: impl FnMut(&MessagePiece<'_>) -> Flow,
) -> Result<bool, Error> {
    let mut is_past = false;
    let whole = each_window(pull, 1, |chunk| {
        let mut at = 0;
        let need = loop {
            let window = subslice(chunk.bytes, at..);
            let offset = chunk.offset + at as u64;
            if offset >= until {
                is_past = true;
                return Step::Stop;
            }
            // Lent, not moved: a move waits for the stores of its parts.
            match &splitter.next(window, offset, chunk.eof) {
                SplitStep::Piece(piece) => {
                    at += match piece {
                        MessagePiece::Field(field) => field.bytes.len(),
                        MessagePiece::Damage { bytes, .. } => bytes.len(),
                    };
                    if see(piece).is_break() {
                        return Step::Stop;
                    }
                }
                SplitStep::Need(need) => break *need,
                SplitStep::End => break 1,
            }
        };
        Step::More { consumed: at, need }
    })?;
    Ok(whole || is_past)
}

/// Shows every field of an input to `see`, and what is wrong with the others to `note`, until one of them breaks.
///
/// Returns false when it did.
///
/// # Errors
/// What the pull fails with.
pub(crate) fn each_field(
    pull: &mut dyn Pull,
    splitter: &mut FieldSplitter,
    note: &mut dyn FnMut(Note) -> Flow,
    mut see: impl FnMut(&FieldBytes<'_>, &mut dyn FnMut(Note) -> Flow) -> Flow,
) -> Result<bool, Error> {
    each(pull, splitter, u64::MAX, |piece| match piece {
        MessagePiece::Field(field) => see(field, note),
        MessagePiece::Damage { note: None, .. } => Flow::Continue(()),
        MessagePiece::Damage {
            note: Some(text), ..
        } => note(Note::clone(text)),
    })
}
