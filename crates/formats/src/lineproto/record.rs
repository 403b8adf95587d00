//! One line as its parts, borrowed from the input.

use std::borrow::Cow;

use super::scan::Elements;
use super::text::{self, Escapes};
use crate::{Field as Shown, Record};

/// A field's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// `123i`
    I64(i64),
    /// `123u`
    U64(u64),
    /// `1.5`
    F64(f64),
    /// `t`, `true`, …
    Bool(bool),
    /// `"…"`: the bytes between the quotes, escapes in place; see [`text::unescape`].
    Text(&'a [u8]),
    /// `"…"b`: base64 between the quotes, valid.
    Bytes(&'a [u8]),
    /// `[…]`: the bytes between the brackets; [`Value::elements`] walks them.
    List(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Iterates over the elements of a list; over nothing for other values.
    #[must_use]
    pub fn elements(&self) -> Elements<'a> {
        match self {
            Self::List(inside) => Elements::new(inside),
            _ => Elements::new(&[]),
        }
    }
}

/// A field: its key and value as written, and what the value means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Field<'a> {
    /// The key, escapes in place.
    pub key: &'a [u8],
    /// The value's bytes as written, quotes and suffix included.
    pub token: &'a [u8],
    /// The value.
    pub value: Value<'a>,
}

/// A point: one line of the input, tags and fields in the order they are written.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Point<'a> {
    /// Offset of the line in the part.
    pub offset: u64,
    /// Blanks before the measurement.
    pub lead: &'a [u8],
    /// The measurement, escapes in place.
    pub measurement: &'a [u8],
    /// Keys and values of tags, escapes in place.
    pub tags: Vec<(&'a [u8], &'a [u8])>,
    /// Blanks between tags and fields.
    pub gap: &'a [u8],
    /// The fields.
    pub fields: Vec<Field<'a>>,
    /// Blanks before the time.
    pub time_gap: &'a [u8],
    /// The time as written, empty when there is none.
    pub time_token: &'a [u8],
    /// The time, in nanoseconds.
    pub time: Option<i64>,
    /// Everything after the last token: blanks and the line's end.
    pub tail: &'a [u8],
}

impl<'a> Point<'a> {
    /// Returns the measurement without escapes.
    #[must_use]
    pub fn name(&self) -> Cow<'a, [u8]> {
        text::unescape(self.measurement, Escapes::Measurement)
    }

    /// Returns the value of the first tag `key`, without escapes.
    #[must_use]
    pub fn tag(&self, key: &str) -> Option<Cow<'a, [u8]>> {
        let same = |found: &[u8]| *text::unescape(found, Escapes::Tag) == *key.as_bytes();
        let (_, value) = self.tags.iter().find(|(found, _)| same(found))?;
        Some(text::unescape(value, Escapes::Tag))
    }

    /// Returns the value of the first field `key`.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<Value<'a>> {
        let same = |found: &[u8]| *text::unescape(found, Escapes::FieldKey) == *key.as_bytes();
        let field = self.fields.iter().find(|field| same(field.key))?;
        Some(field.value)
    }

    pub(super) fn clear(&mut self) {
        self.tags.clear();
        self.fields.clear();
        self.time = None;
        (self.time_gap, self.time_token, self.tail) = (&[], &[], &[]);
    }
}

impl Record for Point<'_> {
    fn kind(&self) -> &'static str {
        "point"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        let tags = self
            .tags
            .iter()
            .map(|(key, value)| key.len() + value.len() + 2);
        let fields = self
            .fields
            .iter()
            .map(|field| field.key.len() + field.token.len() + 2);
        let rest = [
            self.lead,
            self.measurement,
            self.gap,
            self.time_gap,
            self.time_token,
            self.tail,
        ];
        let rest = rest.iter().map(|part| part.len());
        // Every field but the first has a comma before it.
        (tags.sum::<usize>() + fields.sum::<usize>() + rest.sum::<usize>()).saturating_sub(1) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Shown<'_>)) {
        show("measurement", Shown::Text(&self.name()));
        let tags: Vec<_> = self
            .tags
            .iter()
            .map(|(key, value)| {
                let of = |raw| text::unescape(raw, Escapes::Tag);
                (of(key), of(value))
            })
            .collect();
        let tags: Vec<_> = tags
            .iter()
            .map(|(key, value)| (Shown::Text(key), Shown::Text(value)))
            .collect();
        show("tags", Shown::Map(&tags));
        for field in &self.fields {
            let key = text::unescape(field.key, Escapes::FieldKey);
            let key = format!("fields.{}", String::from_utf8_lossy(&key));
            match field.value {
                Value::I64(value) => show(&key, Shown::I64(value)),
                Value::U64(value) => show(&key, Shown::U64(value)),
                Value::F64(value) => show(&key, Shown::F64(value)),
                Value::Bool(value) => show(&key, Shown::Bool(value)),
                Value::Text(raw) => show(&key, Shown::Text(&text::unescape(raw, Escapes::Text))),
                Value::Bytes(raw) => {
                    show(
                        &key,
                        Shown::Bytes(&super::base64::decode(raw).unwrap_or_default()),
                    );
                }
                Value::List(_) => show(&key, Shown::Text(field.token)),
            }
        }
        show("time", self.time.map_or(Shown::Null, Shown::I64));
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.lead);
        out.extend_from_slice(self.measurement);
        for (key, value) in &self.tags {
            out.push(b',');
            out.extend_from_slice(key);
            out.push(b'=');
            out.extend_from_slice(value);
        }
        out.extend_from_slice(self.gap);
        for (at, field) in self.fields.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(field.key);
            out.push(b'=');
            out.extend_from_slice(field.token);
        }
        out.extend_from_slice(self.time_gap);
        out.extend_from_slice(self.time_token);
        out.extend_from_slice(self.tail);
    }

    fn time(&self) -> Option<(i64, i64)> {
        self.time.map(|time| (time, time))
    }
}
