//! Native records of any format whose messages are given as tables.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::put::{put_tag, varint_len};
use super::schema::Kind;
use super::split::Field as Split;
use super::tokens::{Siblings, Token, Tokens, Value, put_tokens};
use super::wire::Wire;
use crate::wire::put_leb128;
use crate::{Field, Record as Native};

/// A field of the outermost message or of a container.
#[derive(Debug)]
pub(super) struct Record<'a> {
    kind: &'static str,
    offset: u64,
    bytes: &'a [u8],
    number: u32,
    body: Body<'a>,
}

#[derive(Debug)]
enum Body<'a> {
    /// The head of a container of so many bytes.
    Head(u64),
    /// None of its tokens was written longer than needed.
    Tokens(&'a Tokens),
    /// The bytes alone can be written back.
    Padded(&'a Tokens),
}

/// Levels of values inside values that are shown.
const SHOWN: usize = 40;

impl<'a> Record<'a> {
    pub(super) fn new(kind: &'static str, field: &Split<'a>, tokens: &'a Tokens) -> Self {
        Self {
            kind,
            offset: field.offset,
            bytes: field.bytes,
            number: field.number,
            body: match tokens.padded {
                false => Body::Tokens(tokens),
                true => Body::Padded(tokens),
            },
        }
    }

    pub(super) fn head(kind: &'static str, field: &Split<'a>, length: u64) -> Self {
        Self {
            kind,
            offset: field.offset,
            bytes: field.bytes,
            number: field.number,
            body: Body::Head(length),
        }
    }

    /// Returns true if the head was written longer than it need be.
    fn padded_head(&self, length: u64) -> bool {
        let tag = u64::from(self.number) << 3;
        self.bytes.len() as u64 != varint_len(tag) + varint_len(length)
    }

    fn tokens(&self) -> Option<&'a Tokens> {
        match self.body {
            Body::Head(_) => None,
            Body::Tokens(tokens) | Body::Padded(tokens) => Some(tokens),
        }
    }
}

/// A named value on its level of nesting; what is inside it are values of the next level.
struct Shown<'a> {
    name: Cow<'static, str>,
    what: What<'a>,
}

enum What<'a> {
    Field(Field<'a>),
    List(Range<usize>),
    Map(Range<usize>),
}

/// A value on its way to its level.
enum Pending<'a> {
    Field(Field<'a>),
    Message(&'a [Token]),
    List(Vec<Pending<'a>>),
}

/// Puts what is shown of a message on levels: what is inside a value lies together on the next one.
fn levels<'a>(content: &'a [Token], tokens: &'a Tokens, bytes: &'a [u8]) -> Vec<Vec<Shown<'a>>> {
    let mut levels = Vec::new();
    let mut pending = members(content, tokens, bytes);
    while !pending.is_empty() {
        let mut level = Vec::with_capacity(pending.len());
        let mut next = Vec::new();
        let deepest = levels.len() >= SHOWN;
        for (name, value) in pending {
            let from = next.len();
            let what = match value {
                Pending::Field(field) => What::Field(field),
                Pending::Message(_) | Pending::List(_) if deepest => What::Field(Field::Str("…")),
                Pending::Message(content) => {
                    next.extend(members(content, tokens, bytes));
                    What::Map(from..next.len())
                }
                Pending::List(list) => {
                    next.extend(list.into_iter().map(|value| (Cow::Borrowed(""), value)));
                    What::List(from..next.len())
                }
            };
            level.push(Shown { name, what });
        }
        levels.push(level);
        pending = next;
    }
    levels
}

/// The fields of a message, those of one number together, in the order in which they come.
fn members<'a>(
    content: &'a [Token],
    tokens: &'a Tokens,
    bytes: &'a [u8],
) -> Vec<(Cow<'static, str>, Pending<'a>)> {
    let mut rows: Vec<(&Token, Vec<Pending<'a>>)> = Vec::new();
    let mut places: HashMap<u32, usize, RandomState> = HashMap::default();
    for (token, inner) in Siblings(content) {
        let place = *places.entry(token.number).or_insert(rows.len());
        if place == rows.len() {
            rows.push((token, Vec::new()));
        }
        let Some((_, values)) = rows.get_mut(place) else {
            continue;
        };
        let kind = token.field.map(|field| &field.kind);
        match token.value {
            Value::Message(_) => values.push(Pending::Message(inner)),
            Value::Packed(from, to) | Value::PackedFixed(from, to) => {
                let run = tokens.numbers.get(from..to).unwrap_or(&[]);
                values.extend(run.iter().map(|&raw| Pending::Field(number(kind, raw))));
            }
            Value::Varint(raw) => values.push(Pending::Field(number(kind, raw))),
            Value::Fixed64(raw) => {
                values.push(Pending::Field(number(kind, u64::from_le_bytes(raw))));
            }
            Value::Fixed32(raw) => {
                values.push(Pending::Field(number(kind, u32::from_le_bytes(raw).into())));
            }
            Value::Bytes(from, to) => {
                let bytes = bytes.get(from..to).unwrap_or(&[]);
                values.push(Pending::Field(match kind {
                    Some(Kind::Text) => Field::Text(bytes),
                    _ => Field::Bytes(bytes),
                }));
            }
        }
    }
    let row = |(token, mut values): (&Token, Vec<Pending<'a>>)| {
        let name = match token.field {
            Some(field) => Cow::Borrowed(field.name),
            None => Cow::Owned(format!("unknown_{}", token.number)),
        };
        let repeated = token.field.is_some_and(|field| field.repeated);
        match (values.pop(), repeated) {
            (Some(only), false) if values.is_empty() => (name, only),
            (last, _) => {
                values.extend(last);
                (name, Pending::List(values))
            }
        }
    };
    rows.into_iter().map(row).collect()
}

fn number(kind: Option<&Kind>, raw: u64) -> Field<'static> {
    match kind {
        Some(Kind::Signed) => Field::I64(raw.cast_signed()),
        Some(Kind::Flag) if raw < 2 => Field::Bool(raw == 1),
        Some(Kind::Double) => Field::F64(f64::from_bits(raw)),
        Some(Kind::Id(table)) => Field::Id(table, raw),
        _ => Field::U64(raw),
    }
}

/// Resolves the last level by the one below it, and goes on to the level above until the first.
fn rise(
    levels: &[Vec<Shown<'_>>],
    pairs: &[(Field<'_>, Field<'_>)],
    values: &[Field<'_>],
    show: &mut dyn FnMut(&str, Field<'_>),
) {
    let Some((level, above)) = levels.split_last() else {
        return;
    };
    let mut fields: Vec<Field<'_>> = Vec::with_capacity(level.len());
    for shown in level {
        fields.push(match &shown.what {
            What::Field(field) => field.clone(),
            What::List(range) => Field::List(values.get(range.clone()).unwrap_or(&[])),
            What::Map(range) => Field::Map(pairs.get(range.clone()).unwrap_or(&[])),
        });
    }
    if above.is_empty() {
        for (shown, field) in level.iter().zip(fields) {
            show(&shown.name, field);
        }
        return;
    }
    let names = level.iter().map(|shown| Field::Str(&shown.name));
    let named: Vec<_> = names.zip(fields.iter().cloned()).collect();
    rise(above, &named, &fields, show);
}

impl Native for Record<'_> {
    fn kind(&self) -> &str {
        self.kind
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let Some(tokens) = self.tokens() else {
            if let Body::Head(length) = self.body {
                show("length", Field::U64(length));
            }
            return;
        };
        let levels = match tokens.tokens.split_first() {
            Some((token, content)) if matches!(token.value, Value::Message(_)) => {
                levels(content, tokens, self.bytes)
            }
            _ => {
                let mut levels = levels(&tokens.tokens, tokens, self.bytes);
                if let Some([only]) = levels.first_mut().map(Vec::as_mut_slice) {
                    only.name = Cow::Borrowed("value");
                }
                levels
            }
        };
        rise(&levels, &[], &[], show);
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self.body {
            Body::Head(length) if !self.padded_head(length) => {
                put_tag(out, self.number, Wire::Len);
                put_leb128(out, length);
            }
            Body::Tokens(tokens) => {
                put_tokens(out, &tokens.tokens, &tokens.numbers, self.bytes);
            }
            Body::Head(_) | Body::Padded(_) => out.extend_from_slice(self.bytes),
        }
    }
}
