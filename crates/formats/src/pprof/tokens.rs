//! A field of any message, taken apart into tokens: what records show and write back.

use super::proto::{Wire, delimited, packed, padded, skip, tag, varint};
use super::schema::{Field, Kind, PROFILE, find};
use crate::Error;

/// One field of the message or of a message inside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) number: u32,
    /// None for numbers the schema does not know and for values of the wrong wire type.
    pub(super) field: Option<&'static Field>,
    pub(super) value: Value,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    /// Bytes of the record, from and to.
    Bytes(usize, usize),
    /// Entries of [`Tokens::numbers`], from and to.
    Packed(usize, usize),
    /// The tokens after this one, so many of them.
    Message(usize),
}

/// The tokens of one record; the vectors serve record after record.
#[derive(Clone, Debug, Default)]
pub(super) struct Tokens {
    pub(super) tokens: Vec<Token>,
    pub(super) numbers: Vec<u64>,
    /// A varint was longer than it needed to be: only the bytes themselves can be written back.
    pub(super) padded: bool,
    /// The first field whose wire type is not the schema's, and its offset.
    pub(super) wrong_wire: Option<(&'static Field, u64)>,
    limit: usize,
}

impl Tokens {
    /// `limit` bounds tokens and packed numbers of one record.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Takes the bytes of one field of `Profile` apart; they lie at `offset`.
    ///
    /// The first token is the field itself. Nesting is the schema's, three messages deep, so the
    /// recursion is too.
    ///
    /// # Errors
    /// `Invalid` where the bytes of a message inside are no fields, `Limit` for too many of them.
    pub(super) fn parse(&mut self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.tokens.clear();
        self.numbers.clear();
        self.padded = false;
        self.wrong_wire = None;
        self.fields(bytes, 0, bytes.len(), &PROFILE, offset)
    }

    fn fields(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        end: usize,
        message: &'static [Field],
        base: u64,
    ) -> Result<(), Error> {
        let bytes = bytes.get(..end).unwrap_or(bytes);
        while at < end {
            let start = at;
            let bad = |what: &str, at: usize| {
                Error::invalid(base + at as u64, format!("{what} is cut or too long"))
            };
            let (raw, next) = varint(bytes, at).ok_or_else(|| bad("tag", at))?;
            self.see(bytes, at, next);
            at = next;
            let (number, wire) = tag(raw).ok_or_else(|| {
                Error::invalid(base + start as u64, format!("tag {raw:#x} is none"))
            })?;
            let field = match find(message, number) {
                Some(field) if field.takes(wire) => Some(field),
                Some(field) => {
                    let place = (field, base + start as u64);
                    self.wrong_wire.get_or_insert(place);
                    None
                }
                None => None,
            };
            if self.tokens.len() + self.numbers.len() >= self.limit {
                let text = format!("more than {} values in one record", self.limit);
                return Err(Error::limit(base + start as u64, text));
            }
            let slot = self.tokens.len();
            let mut value = Value::Message(0);
            self.tokens.push(Token {
                number,
                field,
                value,
            });
            match wire {
                Wire::Varint => {
                    let (number, next) = varint(bytes, at).ok_or_else(|| bad("varint", at))?;
                    self.see(bytes, at, next);
                    value = Value::Varint(number);
                    at = next;
                }
                Wire::Fixed64 | Wire::Fixed32 => {
                    let next = skip(bytes, at, wire).ok_or_else(|| bad("fixed value", at))?;
                    let raw = bytes.get(at..next).unwrap_or(&[]);
                    value = match (raw.first_chunk::<8>(), raw.first_chunk::<4>()) {
                        (Some(&eight), _) => Value::Fixed64(eight),
                        (None, Some(&four)) => Value::Fixed32(four),
                        (None, None) => return Err(bad("fixed value", at)),
                    };
                    at = next;
                }
                Wire::Len => {
                    let (body, next) =
                        delimited(bytes, at).ok_or_else(|| bad("length or what it covers", at))?;
                    let from = next - body.len();
                    self.see(bytes, at, from);
                    match field.map(|field| &field.kind) {
                        Some(Kind::Message(inner)) => {
                            self.fields(bytes, from, next, inner, base)?;
                            value = Value::Message(self.tokens.len() - slot - 1);
                        }
                        Some(Kind::Text) | None => value = Value::Bytes(from, next),
                        Some(_) => value = self.run(body, base + from as u64)?,
                    }
                    at = next;
                }
            }
            if let Some(token) = self.tokens.get_mut(slot) {
                token.value = value;
            }
        }
        Ok(())
    }

    /// Reads a packed list.
    fn run(&mut self, body: &[u8], offset: u64) -> Result<Value, Error> {
        let from = self.numbers.len();
        // A varint has at least one byte, so a body within the limit is a list within it.
        if self.tokens.len() + from + body.iter().filter(|&&byte| byte < 0x80).count() > self.limit
        {
            let text = format!("more than {} values in one record", self.limit);
            return Err(Error::limit(offset, text));
        }
        packed(body, &mut self.numbers, |number| number)
            .ok_or_else(|| Error::invalid(offset, "packed list ends inside a varint"))?;
        let mut start = 0;
        for (at, &byte) in body.iter().enumerate() {
            if byte < 0x80 {
                self.padded |= byte == 0 && at > start;
                start = at + 1;
            }
        }
        Ok(Value::Packed(from, self.numbers.len()))
    }

    fn see(&mut self, bytes: &[u8], from: usize, to: usize) {
        self.padded |= padded(bytes.get(from..to).unwrap_or(&[]));
    }
}
