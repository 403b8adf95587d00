//! Native records: the fields of the message `Profile`, one after the other.

use traceloom_model::bounds::subslice;

use crate::protobuf::{FieldSpec as Spec, FieldType, Token, TokenIter, TokenValue, put_tokens};
use crate::{Field, Record as Native};

/// One field of `Profile`: a sample, a location, an entry of the string table (SPEC.md §1).
#[derive(Debug)]
pub struct Record<'a> {
    pub(super) kind: &'static str,
    pub(super) offset: u64,
    pub(super) bytes: &'a [u8],
    pub(super) tokens: &'a [Token],
    pub(super) numbers: &'a [u64],
    /// The source wrote some varint longer than needed.
    pub(super) padded: bool,
    /// Position in the string table, for its entries.
    pub(super) index: Option<u64>,
    /// From when to when the profile was taken, for the fields that say so.
    pub(super) stretch: Option<(i64, i64)>,
}

impl Record<'_> {
    fn scalar<'f>(&'f self, kind: &FieldType, raw: u64) -> Field<'f> {
        match kind {
            FieldType::Signed => Field::I64(raw.cast_signed()),
            FieldType::Flag if raw < 2 => Field::Bool(raw == 1),
            // A negative string index has no string: shown as what it is.
            FieldType::Id("string") if raw.cast_signed() < 0 => Field::I64(raw.cast_signed()),
            FieldType::Id(table) => Field::Id(table, raw),
            _ => Field::U64(raw),
        }
    }

    fn raw(&self, value: TokenValue) -> Field<'_> {
        match value {
            TokenValue::Varint(raw) => Field::U64(raw),
            TokenValue::Fixed64(raw) => Field::U64(u64::from_le_bytes(raw)),
            TokenValue::Fixed32(raw) => Field::U64(u64::from(u32::from_le_bytes(raw))),
            TokenValue::Bytes(from, to) => Field::Bytes(subslice(self.bytes, from..to)),
            TokenValue::Packed(..) | TokenValue::PackedFixed(..) | TokenValue::Message(_) => {
                Field::Null
            }
        }
    }

    /// Shows the fields of a message in the schema's order; absent ones have the value 0.
    fn message(
        &self,
        schema: &'static [Spec],
        tokens: &[Token],
        show: &mut dyn FnMut(&str, Field<'_>),
    ) {
        for spec in schema {
            let of_spec = || {
                TokenIter(tokens)
                    .filter(|(token, _)| token.field.is_some_and(|field| std::ptr::eq(field, spec)))
            };
            if let FieldType::Message(inner) = &spec.kind {
                let rows: Vec<Vec<(String, Field<'_>)>> = of_spec()
                    .map(|(_, content)| self.pairs(inner, content))
                    .collect();
                let maps: Vec<Vec<(Field<'_>, Field<'_>)>> = rows
                    .iter()
                    .map(|row| {
                        row.iter()
                            .map(|(name, value)| (Field::Str(name), value.clone()))
                            .collect()
                    })
                    .collect();
                let list: Vec<Field<'_>> = maps.iter().map(|map| Field::Map(map)).collect();
                show(spec.name, Field::List(&list));
            } else if spec.repeated {
                let mut list = Vec::new();
                for (token, _) in of_spec() {
                    match token.value {
                        TokenValue::Varint(raw) => list.push(self.scalar(&spec.kind, raw)),
                        TokenValue::Packed(from, to) => {
                            let run = subslice(self.numbers, from..to);
                            list.extend(run.iter().map(|&raw| self.scalar(&spec.kind, raw)));
                        }
                        _ => {}
                    }
                }
                show(spec.name, Field::List(&list));
            } else {
                let last = of_spec().last().map(|(token, _)| token.value);
                let raw = match last {
                    Some(TokenValue::Varint(raw)) => raw,
                    _ => 0,
                };
                show(spec.name, self.scalar(&spec.kind, raw));
            }
        }
        let unknown: Vec<[(Field<'_>, Field<'_>); 2]> = TokenIter(tokens)
            .filter(|(token, _)| token.field.is_none())
            .map(|(token, _)| {
                [
                    (Field::Str("field"), Field::U64(u64::from(token.number))),
                    (Field::Str("value"), self.raw(token.value)),
                ]
            })
            .collect();
        if !unknown.is_empty() {
            let list: Vec<Field<'_>> = unknown.iter().map(|pair| Field::Map(pair)).collect();
            show("unknown", Field::List(&list));
        }
    }

    /// The fields of a message that holds no lists: a label or a line.
    fn pairs(&self, schema: &'static [Spec], tokens: &[Token]) -> Vec<(String, Field<'_>)> {
        let mut pairs = Vec::new();
        for spec in schema {
            let last = TokenIter(tokens)
                .filter(|(token, _)| token.field.is_some_and(|field| std::ptr::eq(field, spec)))
                .last();
            let raw = match last.map(|(token, _)| token.value) {
                Some(TokenValue::Varint(raw)) => raw,
                _ => 0,
            };
            pairs.push((spec.name.to_owned(), self.scalar(&spec.kind, raw)));
        }
        for (token, _) in TokenIter(tokens).filter(|(token, _)| token.field.is_none()) {
            pairs.push((format!("unknown_{}", token.number), self.raw(token.value)));
        }
        pairs
    }
}

impl Native for Record<'_> {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let Some((token, content)) = self.tokens.split_first() else {
            return;
        };
        let Some(spec) = token.field else {
            show("field", Field::U64(u64::from(token.number)));
            return show("value", self.raw(token.value));
        };
        if let Some(index) = self.index {
            show("index", Field::Id("string", index));
        }
        match (&spec.kind, token.value) {
            (FieldType::Message(schema), _) => self.message(schema, content, show),
            (FieldType::Text, TokenValue::Bytes(from, to)) => {
                show("value", Field::Text(subslice(self.bytes, from..to)));
            }
            (kind, TokenValue::Varint(raw)) => show("value", self.scalar(kind, raw)),
            (kind, TokenValue::Packed(from, to)) => {
                let run = subslice(self.numbers, from..to);
                let list: Vec<_> = run.iter().map(|&raw| self.scalar(kind, raw)).collect();
                show("value", Field::List(&list));
            }
            (_, value) => show("value", self.raw(value)),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.padded {
            out.extend_from_slice(self.bytes);
        } else {
            put_tokens(out, self.tokens, self.numbers, self.bytes);
        }
    }

    fn time(&self) -> Option<(i64, i64)> {
        self.stretch
    }
}
