//! A field of any message, taken apart into tokens: what records show and write back.

use traceloom_model::bounds::subslice;

use super::put::{put_bytes, put_tag, varint_len};
use super::schema::{FieldSpec, FieldType, find};
use super::wire::{Wire, delimited, packed, padded, skip, tag, varint};
use crate::Error;
use crate::wire::put_leb128;

/// One field of the message or of a message inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) number: u32,
    /// None for numbers the schema does not know and for values of the wrong wire type.
    pub(crate) field: Option<&'static FieldSpec>,
    pub(crate) value: TokenValue,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum TokenValue {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    /// Bytes of the record, from and to.
    Bytes(usize, usize),
    /// Entries of [`Tokens::numbers`], from and to.
    Packed(usize, usize),
    /// The same, of eight bytes each in the input.
    PackedFixed(usize, usize),
    /// The tokens after this one, so many of them.
    Message(usize),
}

/// The tokens of one record; the vectors serve record after record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    pub(crate) tokens: Vec<Token>,
    pub(crate) numbers: Vec<u64>,
    /// A varint was longer than it needed to be: only the bytes themselves can be written back.
    pub(crate) padded: bool,
    /// The first field whose wire type is not the schema's, and its offset.
    pub(crate) wrong_wire: Option<(&'static FieldSpec, u64)>,
    limit: usize,
    depth: usize,
}

/// Messages inside messages that are taken apart: as deep as other decoders go.
const DEEPEST: usize = 100;

impl Tokens {
    /// `limit` bounds tokens and packed numbers of one record.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Takes the bytes of one field of a message `root` apart; they lie at `offset`.
    ///
    /// The first token is the field itself. Messages deeper than [`DEEPEST`] stay bytes, so that the
    /// recursion ends.
    ///
    /// # Errors
    /// `Invalid` where the bytes of a message inside are no fields, `Limit` for too many of them.
    pub(crate) fn parse(
        &mut self,
        bytes: &[u8],
        offset: u64,
        root: &'static [FieldSpec],
    ) -> Result<(), Error> {
        self.tokens.clear();
        self.numbers.clear();
        self.padded = false;
        self.wrong_wire = None;
        self.depth = 0;
        self.fields(bytes, 0, bytes.len(), root, offset)
    }

    fn fields(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        end: usize,
        message: &'static [FieldSpec],
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
            let mut value = TokenValue::Message(0);
            self.tokens.push(Token {
                number,
                field,
                value,
            });
            match wire {
                Wire::Varint => {
                    let (number, next) = varint(bytes, at).ok_or_else(|| bad("varint", at))?;
                    self.see(bytes, at, next);
                    value = TokenValue::Varint(number);
                    at = next;
                }
                Wire::Fixed64 | Wire::Fixed32 => {
                    let next = skip(bytes, at, wire).ok_or_else(|| bad("fixed value", at))?;
                    let raw = subslice(bytes, at..next);
                    value = match (raw.first_chunk::<8>(), raw.first_chunk::<4>()) {
                        (Some(&eight), _) => TokenValue::Fixed64(eight),
                        (None, Some(&four)) => TokenValue::Fixed32(four),
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
                        Some(FieldType::Message(inner) | FieldType::Container(inner))
                            if self.depth < DEEPEST =>
                        {
                            self.depth += 1;
                            self.fields(bytes, from, next, inner, base)?;
                            self.depth -= 1;
                            value = TokenValue::Message(self.tokens.len() - slot - 1);
                        }
                        None
                        | Some(
                            FieldType::Text
                            | FieldType::Bytes
                            | FieldType::Message(_)
                            | FieldType::Container(_),
                        ) => value = TokenValue::Bytes(from, next),
                        Some(FieldType::Fixed64 | FieldType::Double) => {
                            value = self.fixed_run(body, base + from as u64)?;
                        }
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
    fn run(&mut self, body: &[u8], offset: u64) -> Result<TokenValue, Error> {
        let from = self.numbers.len();
        // A varint has at least one byte, so a body within the limit is a list within it.
        if self.tokens.len() + from + body.iter().filter(|&&byte| byte < 0x80).count() > self.limit
        {
            let text = format!("more than {} values in one record", self.limit);
            return Err(Error::limit(offset, text));
        }
        packed(body, &mut self.numbers, |number| number)
            .ok_or_else(|| Error::invalid(offset, "packed list ends inside a varint"))?;
        // The last byte of a longer varint is zero. Without an early end the loop takes many bytes at once.
        let is_padded = |pair: (&u8, &u8)| (*pair.0 >= 0x80) & (*pair.1 == 0);
        let pairs = body.iter().zip(body.iter().skip(1));
        self.padded |= pairs.fold(false, |found, pair| found | is_padded(pair));
        Ok(TokenValue::Packed(from, self.numbers.len()))
    }

    /// Reads a packed list of values of eight bytes.
    fn fixed_run(&mut self, body: &[u8], offset: u64) -> Result<TokenValue, Error> {
        let from = self.numbers.len();
        if self.tokens.len() + from + body.len() / 8 > self.limit {
            let text = format!("more than {} values in one record", self.limit);
            return Err(Error::limit(offset, text));
        }
        let chunks = body.chunks_exact(8);
        if !chunks.remainder().is_empty() {
            return Err(Error::invalid(offset, "packed list ends inside a value"));
        }
        let values = chunks.filter_map(|chunk| Some(u64::from_le_bytes(*chunk.first_chunk()?)));
        self.numbers.extend(values);
        Ok(TokenValue::PackedFixed(from, self.numbers.len()))
    }

    fn see(&mut self, bytes: &[u8], from: usize, to: usize) {
        self.padded |= padded(subslice(bytes, from..to));
    }
}

/// Appends tokens in their order; `numbers` and `bytes` are what they refer to.
pub(crate) fn put_tokens(out: &mut Vec<u8>, tokens: &[Token], numbers: &[u64], bytes: &[u8]) {
    let mut rest = tokens;
    while let Some((token, tail)) = rest.split_first() {
        rest = put_token(out, (numbers, bytes), token, tail);
    }
}

/// Appends one token and returns those after it and its content.
fn put_token<'t>(
    out: &mut Vec<u8>,
    (numbers, bytes): (&[u64], &[u8]),
    token: &Token,
    tail: &'t [Token],
) -> &'t [Token] {
    match token.value {
        TokenValue::Varint(value) => {
            put_tag(out, token.number, Wire::Varint);
            put_leb128(out, value);
        }
        TokenValue::Fixed64(value) => {
            put_tag(out, token.number, Wire::Fixed64);
            out.extend(value);
        }
        TokenValue::Fixed32(value) => {
            put_tag(out, token.number, Wire::Fixed32);
            out.extend(value);
        }
        TokenValue::Bytes(from, to) => {
            put_bytes(out, token.number, subslice(bytes, from..to));
        }
        TokenValue::Packed(from, to) => {
            let values = subslice(numbers, from..to);
            let len = values.iter().map(|&value| varint_len(value)).sum();
            put_tag(out, token.number, Wire::Len);
            put_leb128(out, len);
            values.iter().for_each(|&value| put_leb128(out, value));
        }
        TokenValue::PackedFixed(from, to) => {
            let values = subslice(numbers, from..to);
            put_tag(out, token.number, Wire::Len);
            put_leb128(out, values.len() as u64 * 8);
            values
                .iter()
                .for_each(|value| out.extend(value.to_le_bytes()));
        }
        TokenValue::Message(count) => {
            let (mut inner, after) = tail.split_at_checked(count).unwrap_or((tail, &[]));
            let mut body = Vec::new();
            while let Some((token, tail)) = inner.split_first() {
                inner = put_token(&mut body, (numbers, bytes), token, tail);
            }
            put_bytes(out, token.number, &body);
            return after;
        }
    }
    tail
}

/// Iterates over tokens of one message, each with the tokens inside it.
pub(crate) struct TokenIter<'t>(pub(crate) &'t [Token]);

impl<'t> Iterator for TokenIter<'t> {
    type Item = (&'t Token, &'t [Token]);

    fn next(&mut self) -> Option<Self::Item> {
        let (token, tail) = self.0.split_first()?;
        let count = match token.value {
            TokenValue::Message(count) => count,
            _ => 0,
        };
        let (inner, after) = tail.split_at_checked(count).unwrap_or((tail, &[]));
        self.0 = after;
        Some((token, inner))
    }
}
