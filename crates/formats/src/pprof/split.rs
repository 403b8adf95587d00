//! The fields of `Profile` one after the other, and the way back into step after damage.

use traceloom_model::{Flow, Limit, Limits, Note};

use super::proto::{Wire, padded, skip, tag, varint};
use super::schema::{Field as Spec, Kind, PROFILE, find};
use crate::{Error, Pull, damage};

/// A field of `Profile` as it lies in the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    pub(super) offset: u64,
    /// Tag, length and value.
    pub(super) bytes: &'a [u8],
    pub(super) number: u32,
    pub(super) value: Value<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    Varint(u64),
    Len(&'a [u8]),
    /// A wire type that no field of the schema has.
    Fixed,
}

/// What lies at a place of the input.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    Field(Field<'a>),
    /// Bytes that are no fields; the note comes with the last piece of a stretch.
    Damage {
        offset: u64,
        bytes: &'a [u8],
        note: Option<Box<Note>>,
    },
}

/// The answer of [`Splitter::next`].
#[derive(Debug)]
pub(super) enum Next<'a> {
    Piece(Piece<'a>),
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

/// Finds the fields. The state is the damaged stretch it is in.
#[derive(Clone, Debug)]
pub(super) struct Splitter {
    lost: Option<Lost>,
    limit: usize,
}

#[derive(Clone, Debug)]
struct Lost {
    kind: &'static str,
    offset: u64,
    bytes: u64,
    text: String,
}

enum Head {
    Field(u32, Wire, usize),
    /// More bytes are needed: this many in all.
    Cut(usize),
    Bad(&'static str, String),
}

impl Splitter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            lost: None,
            limit: limits.size(Limit::Record),
        }
    }

    /// Looks at the first bytes of a window that lies at `offset`.
    #[inline]
    pub(super) fn next<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> Next<'a> {
        match self.short(window, offset) {
            Some(field) => Next::Piece(Piece::Field(field)),
            None => self.any(window, offset, eof),
        }
    }

    /// Splits off a field with a tag of one byte and a length of one or two: nearly every field is.
    #[inline]
    fn short<'a>(&self, window: &'a [u8], offset: u64) -> Option<Field<'a>> {
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
        if bytes.len() > self.limit {
            return None;
        }
        Some(Field {
            offset,
            bytes,
            number: u32::from(tag >> 3),
            value: Value::Len(bytes.get(at..)?),
        })
    }

    fn any<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> Next<'a> {
        if self.lost.is_some() {
            return self.scan(window, offset, eof, 0);
        }
        if window.is_empty() {
            return Next::End;
        }
        let bad = match head(window, self.limit) {
            Head::Field(number, wire, end) => {
                if let Some(field) = field(window, offset, number, wire, end) {
                    return Next::Piece(Piece::Field(field));
                }
                ("invalid_tag", "field cannot be read".to_owned())
            }
            Head::Cut(need) if !eof => return Next::Need(need),
            Head::Cut(need) => {
                let text = format!("{} more bytes belong to this field", need - window.len());
                if window.len() <= TORN {
                    let note = damage("truncated", offset, text).counting(window.len() as u64);
                    return Next::Piece(Piece::Damage {
                        offset,
                        bytes: window,
                        note: Some(Box::new(note)),
                    });
                }
                ("truncated", text)
            }
            Head::Bad(kind, text) => (kind, text),
        };
        if !eof && window.len() < BLOCK + LOOKAHEAD {
            return Next::Need(BLOCK + LOOKAHEAD);
        }
        self.lost = Some(Lost {
            kind: bad.0,
            offset,
            bytes: 0,
            text: bad.1,
        });
        self.scan(window, offset, eof, 1)
    }

    /// Steps over damage from place `from` of the window on.
    fn scan<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool, from: usize) -> Next<'a> {
        if !eof && window.len() < BLOCK + LOOKAHEAD {
            return Next::Need(BLOCK + LOOKAHEAD);
        }
        let end = window.len().min(BLOCK);
        let found = (from..end).find(|&at| in_step(window.get(at..).unwrap_or(&[])));
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
            return Next::End;
        }
        Next::Piece(Piece::Damage {
            offset,
            bytes,
            note,
        })
    }
}

fn head(window: &[u8], limit: usize) -> Head {
    let Some((raw, at)) = varint(window, 0) else {
        return if window.len() < 10 {
            Head::Cut(window.len() + 1)
        } else {
            Head::Bad("invalid_tag", "tag has more than 64 bits".to_owned())
        };
    };
    let Some((number, wire)) = tag(raw) else {
        return Head::Bad("invalid_tag", format!("{raw:#x} is no tag"));
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
            return Head::Bad("limit_record", text);
        };
        return if end <= window.len() {
            Head::Field(number, wire, end)
        } else {
            Head::Cut(end)
        };
    }
    match skip(window, at, wire) {
        Some(end) => Head::Field(number, wire, end),
        None if wire == Wire::Varint => cut_varint(window, at),
        None => Head::Cut(at + if wire == Wire::Fixed64 { 8 } else { 4 }),
    }
}

fn cut_varint(window: &[u8], at: usize) -> Head {
    if window.len() - at < 10 {
        Head::Cut(window.len() + 1)
    } else {
        Head::Bad("invalid_varint", "varint has more than 64 bits".to_owned())
    }
}

fn field(window: &[u8], offset: u64, number: u32, wire: Wire, end: usize) -> Option<Field<'_>> {
    let bytes = window.get(..end)?;
    let (_, at) = varint(bytes, 0)?;
    let value = match wire {
        Wire::Varint => Value::Varint(varint(bytes, at)?.0),
        Wire::Len => Value::Len(bytes.get(varint(bytes, at)?.1..)?),
        Wire::Fixed64 | Wire::Fixed32 => Value::Fixed,
    };
    Some(Field {
        offset,
        bytes,
        number,
        value,
    })
}

/// Tells whether fields that a writer of profiles would write begin here.
///
/// Single bytes of text pass for tags of numbers, so a message or string must be among them.
pub(super) fn in_step(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut solid = false;
    for proven in 0..PROOF {
        if rest.is_empty() {
            return solid && proven > 0;
        }
        let Head::Field(number, wire, end) = head(rest, PROOF_FIELD) else {
            return false;
        };
        let Some(spec) = find(&PROFILE, number).filter(|spec| spec.takes(wire)) else {
            return false;
        };
        let Some(field) = field(rest, 0, number, wire, end) else {
            return false;
        };
        if let (Kind::Text | Kind::Message(_), Value::Len(body)) = (&spec.kind, field.value) {
            solid = true;
            let fits = match &spec.kind {
                Kind::Message(schema) => !body.is_empty() && fits(body, schema),
                _ => std::str::from_utf8(body).is_ok(),
            };
            if !fits {
                return false;
            }
        }
        rest = rest.get(end..).unwrap_or(&[]);
    }
    solid
}

/// Tells whether bytes are a message of the schema with no field that it does not know.
pub(super) fn fits(body: &[u8], schema: &'static [Spec]) -> bool {
    let mut at = 0;
    while at < body.len() {
        let Some((raw, next)) = varint(body, at) else {
            return false;
        };
        let known = tag(raw).and_then(|(number, wire)| {
            let spec = find(schema, number)?;
            (spec.takes(wire) && !padded(body.get(at..next)?)).then_some((spec, wire))
        });
        let Some((spec, wire)) = known else {
            return false;
        };
        let Some(end) = skip(body, next, wire) else {
            return false;
        };
        if let Kind::Message(inner) = &spec.kind {
            let inside = varint(body, next).and_then(|(_, from)| body.get(from..end));
            if !inside.is_some_and(|inside| fits(inside, inner)) {
                return false;
            }
        }
        at = end;
    }
    true
}

/// Shows every piece of a part that begins before `until` to `see`, until it breaks.
///
/// Returns false when it broke.
///
/// # Errors
/// What the pull fails with.
pub(super) fn each(
    pull: &mut dyn Pull,
    limits: &Limits,
    until: u64,
    mut see: impl FnMut(Piece<'_>) -> Flow,
) -> Result<bool, Error> {
    let mut splitter = Splitter::new(limits);
    let (mut consumed, mut need) = (0, 1);
    loop {
        let chunk = pull.pull(consumed, need)?;
        let mut at = 0;
        need = loop {
            let window = chunk.bytes.get(at..).unwrap_or(&[]);
            let offset = chunk.offset + at as u64;
            if offset >= until {
                return Ok(true);
            }
            match splitter.next(window, offset, chunk.eof) {
                Next::Piece(piece) => {
                    at += match &piece {
                        Piece::Field(field) => field.bytes.len(),
                        Piece::Damage { bytes, .. } => bytes.len(),
                    };
                    if see(piece).is_break() {
                        return Ok(false);
                    }
                }
                Next::Need(need) => break need,
                Next::End => break 1,
            }
        };
        if chunk.eof {
            return Ok(true);
        }
        consumed = at;
    }
}
