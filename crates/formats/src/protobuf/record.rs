//! Native records of any format whose messages are given as tables.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use traceloom_model::bounds::subslice;

use super::put::{put_tag, varint_len};
use super::schema::FieldType;
use super::split::FieldBytes as Split;
use super::tokens::{Token, TokenIter, TokenValue, Tokens, put_tokens};
use super::wire::Wire;
use crate::wire::put_leb128;
use crate::{Field, Record as Native};

/// A field of the outermost message or of a container.
#[derive(Debug)]
pub(super) struct ProtoField<'a> {
    kind: &'static str,
    offset: u64,
    bytes: &'a [u8],
    number: u32,
    body: ShownBody<'a>,
}

#[derive(Debug)]
enum ShownBody<'a> {
    /// The head of a container of so many bytes.
    Head(u64),
    /// None of its tokens was written longer than needed.
    Tokens(&'a Tokens),
    /// The bytes alone can be written back.
    Padded(&'a Tokens),
}

/// Levels of values inside values that are shown.
const SHOWN: usize = 40;

impl<'a> ProtoField<'a> {
    pub(super) fn new(kind: &'static str, field: &Split<'a>, tokens: &'a Tokens) -> Self {
        Self {
            kind,
            offset: field.offset,
            bytes: field.bytes,
            number: field.number,
            body: match tokens.padded {
                false => ShownBody::Tokens(tokens),
                true => ShownBody::Padded(tokens),
            },
        }
    }

    pub(super) fn head(kind: &'static str, field: &Split<'a>, length: u64) -> Self {
        Self {
            kind,
            offset: field.offset,
            bytes: field.bytes,
            number: field.number,
            body: ShownBody::Head(length),
        }
    }

    /// Returns true if the head was written longer than it need be.
    fn padded_head(&self, length: u64) -> bool {
        let tag = u64::from(self.number) << 3;
        self.bytes.len() as u64 != varint_len(tag) + varint_len(length)
    }

    fn tokens(&self) -> Option<&'a Tokens> {
        match self.body {
            ShownBody::Head(_) => None,
            ShownBody::Tokens(tokens) | ShownBody::Padded(tokens) => Some(tokens),
        }
    }
}

/// A named value on its level of nesting; what is inside it are values of the next level.
struct ShownValue<'a> {
    name: Cow<'static, str>,
    what: RecordContent<'a>,
}

enum RecordContent<'a> {
    Field(Field<'a>),
    List(Range<usize>),
    Map(Range<usize>),
}

/// A value on its way to its level.
enum PendingValue<'a> {
    Field(Field<'a>),
    Message(&'a [Token]),
    List(Vec<PendingValue<'a>>),
}

/// Puts what is shown of a message on levels: what is inside a value lies together on the next one.
fn levels<'a>(
    content: &'a [Token],
    tokens: &'a Tokens,
    bytes: &'a [u8],
) -> Vec<Vec<ShownValue<'a>>> {
    let mut levels = Vec::new();
    let mut pending = members(content, tokens, bytes);
    while !pending.is_empty() {
        let mut level = Vec::with_capacity(pending.len());
        let mut next = Vec::new();
        let deepest = levels.len() >= SHOWN;
        for (name, value) in pending {
            let from = next.len();
            let what = match value {
                PendingValue::Field(field) => RecordContent::Field(field),
                PendingValue::Message(_) | PendingValue::List(_) if deepest => {
                    RecordContent::Field(Field::Str("…"))
                }
                PendingValue::Message(content) => {
                    next.extend(members(content, tokens, bytes));
                    RecordContent::Map(from..next.len())
                }
                PendingValue::List(list) => {
                    next.extend(list.into_iter().map(|value| (Cow::Borrowed(""), value)));
                    RecordContent::List(from..next.len())
                }
            };
            level.push(ShownValue { name, what });
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
) -> Vec<(Cow<'static, str>, PendingValue<'a>)> {
    let mut rows: Vec<(&Token, Vec<PendingValue<'a>>)> = Vec::new();
    let mut places: HashMap<u32, usize, RandomState> = HashMap::default();
    for (token, inner) in TokenIter(content) {
        let place = *places.entry(token.number).or_insert(rows.len());
        if place == rows.len() {
            rows.push((token, Vec::new()));
        }
        let Some((_, values)) = rows.get_mut(place) else {
            continue;
        };
        let kind = token.field.map(|field| &field.kind);
        match token.value {
            TokenValue::Message(_) => values.push(PendingValue::Message(inner)),
            TokenValue::Packed(from, to) | TokenValue::PackedFixed(from, to) => {
                let run = subslice(&tokens.numbers, from..to);
                values.extend(
                    run.iter()
                        .map(|&raw| PendingValue::Field(number(kind, raw))),
                );
            }
            TokenValue::Varint(raw) => values.push(PendingValue::Field(number(kind, raw))),
            TokenValue::Fixed64(raw) => {
                values.push(PendingValue::Field(number(kind, u64::from_le_bytes(raw))));
            }
            TokenValue::Fixed32(raw) => {
                values.push(PendingValue::Field(number(
                    kind,
                    u32::from_le_bytes(raw).into(),
                )));
            }
            TokenValue::Bytes(from, to) => {
                let bytes = subslice(bytes, from..to);
                values.push(PendingValue::Field(match kind {
                    Some(FieldType::Text) => Field::Text(bytes),
                    _ => Field::Bytes(bytes),
                }));
            }
        }
    }
    let row = |(token, mut values): (&Token, Vec<PendingValue<'a>>)| {
        let name = match token.field {
            Some(field) => Cow::Borrowed(field.name),
            None => Cow::Owned(format!("unknown_{}", token.number)),
        };
        let repeated = token.field.is_some_and(|field| field.repeated);
        match (values.pop(), repeated) {
            (Some(only), false) if values.is_empty() => (name, only),
            (last, _) => {
                values.extend(last);
                (name, PendingValue::List(values))
            }
        }
    };
    rows.into_iter().map(row).collect()
}

fn number(kind: Option<&FieldType>, raw: u64) -> Field<'static> {
    match kind {
        Some(FieldType::Signed) => Field::I64(raw.cast_signed()),
        Some(FieldType::Flag) if raw < 2 => Field::Bool(raw == 1),
        Some(FieldType::Double) => Field::F64(f64::from_bits(raw)),
        Some(FieldType::Id(table)) => Field::Id(table, raw),
        _ => Field::U64(raw),
    }
}

/// Resolves the last level by the one below it, and goes on to the level above until the first.
fn rise(
    levels: &[Vec<ShownValue<'_>>],
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
            RecordContent::Field(field) => field.clone(),
            RecordContent::List(range) => Field::List(subslice(values, range.clone())),
            RecordContent::Map(range) => Field::Map(subslice(pairs, range.clone())),
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

impl Native for ProtoField<'_> {
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
            if let ShownBody::Head(length) = self.body {
                show("length", Field::U64(length));
            }
            return;
        };
        let levels = match tokens.tokens.split_first() {
            Some((token, content)) if matches!(token.value, TokenValue::Message(_)) => {
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
            ShownBody::Head(length) if !self.padded_head(length) => {
                put_tag(out, self.number, Wire::Len);
                put_leb128(out, length);
            }
            ShownBody::Tokens(tokens) => {
                put_tokens(out, &tokens.tokens, &tokens.numbers, self.bytes);
            }
            ShownBody::Head(_) | ShownBody::Padded(_) => out.extend_from_slice(self.bytes),
        }
    }
}
