//! Points to bytes.

use super::base64;
use super::record::{Point, Value};
use super::text::{Escapes, escape, unescape};
use crate::points::{FieldValue, OwnedPoint};
use crate::text::scalars::{decimal, digits};

/// Whose line protocol is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// What every InfluxDB reads: byte and list fields become texts.
    #[default]
    Influx,
    /// Guance's fork: byte fields, list fields, quotes escaped in field keys.
    Guance,
}

/// Appends points to a buffer, piece by piece.
///
/// The order is the line's: measurement, tags, fields, end. Nothing is checked here; [`OwnedPoint::check`]
/// makes a point legal, and callers that know their keys need not pay for it.
///
/// ```
/// use traceloom_formats::lineproto::{Dialect, Writer};
///
/// let mut out = Vec::new();
/// let mut line = Writer::new(&mut out, Dialect::Influx);
/// line.measurement(b"load");
/// line.tag(b"host", b"node 1");
/// line.i64(b"tasks", 3);
/// line.end(Some(1_700_000_000_000_000_000));
/// assert_eq!(out, b"load,host=node\\ 1 tasks=3i 1700000000000000000\n");
/// ```
#[derive(Debug)]
pub struct Writer<'o> {
    out: &'o mut Vec<u8>,
    dialect: Dialect,
    n_fields: usize,
}

impl<'o> Writer<'o> {
    /// Writes behind what `out` holds.
    pub fn new(out: &'o mut Vec<u8>, dialect: Dialect) -> Self {
        Self {
            out,
            dialect,
            n_fields: 0,
        }
    }

    /// Begins a point.
    pub fn measurement(&mut self, name: &[u8]) {
        self.n_fields = 0;
        escape(name, Escapes::Measurement, self.out);
    }

    /// Adds a tag.
    pub fn tag(&mut self, key: &[u8], value: &[u8]) {
        self.out.push(b',');
        escape(key, Escapes::Tag, self.out);
        self.out.push(b'=');
        escape(value, Escapes::Tag, self.out);
    }

    fn key(&mut self, key: &[u8]) {
        self.out.push(if self.n_fields == 0 { b' ' } else { b',' });
        self.n_fields += 1;
        let escapes = match self.dialect {
            Dialect::Influx => Escapes::Tag,
            Dialect::Guance => Escapes::FieldKey,
        };
        escape(key, escapes, self.out);
        self.out.push(b'=');
    }

    /// Adds a signed integer field.
    pub fn i64(&mut self, key: &[u8], value: i64) {
        self.key(key);
        decimal(value, self.out);
        self.out.push(b'i');
    }

    /// Adds an unsigned integer field.
    pub fn u64(&mut self, key: &[u8], value: u64) {
        self.key(key);
        digits(value, self.out);
        self.out.push(b'u');
    }

    /// Adds a float field; infinities become the fork's stand-ins, NaN becomes 0.
    pub fn f64(&mut self, key: &[u8], value: f64) {
        self.key(key);
        push_f64(value, self.out);
    }

    /// Adds a boolean field.
    pub fn bool(&mut self, key: &[u8], value: bool) {
        self.key(key);
        self.out
            .extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// Adds a text field.
    pub fn text(&mut self, key: &[u8], value: &[u8]) {
        self.key(key);
        push_text(value, self.out);
    }

    /// Adds a field of any kind.
    pub fn field(&mut self, key: &[u8], value: &FieldValue) {
        self.key(key);
        self.push(value);
    }

    fn push(&mut self, value: &FieldValue) {
        match value {
            FieldValue::I64(value) => {
                decimal(*value, self.out);
                self.out.push(b'i');
            }
            FieldValue::U64(value) => {
                digits(*value, self.out);
                self.out.push(b'u');
            }
            FieldValue::F64(value) => push_f64(*value, self.out),
            FieldValue::Bool(value) => {
                self.out
                    .extend_from_slice(if *value { b"true" } else { b"false" });
            }
            FieldValue::Text(text) => push_text(text, self.out),
            FieldValue::Bytes(bytes) => {
                self.out.push(b'"');
                base64::encode(bytes, self.out);
                self.out.push(b'"');
                if self.dialect == Dialect::Guance {
                    self.out.push(b'b');
                }
            }
            FieldValue::List(items) => self.push_list(items),
        }
    }

    fn push_list(&mut self, items: &[FieldValue]) {
        let mut inside = Vec::new();
        let mut list = Writer::new(&mut inside, self.dialect);
        list.out.push(b'[');
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                list.out.push(b',');
            }
            list.push(item);
        }
        list.out.push(b']');
        match self.dialect {
            Dialect::Guance => self.out.extend_from_slice(&inside),
            Dialect::Influx => push_text(&inside, self.out),
        }
    }

    /// Ends the point.
    pub fn end(&mut self, time: Option<i64>) {
        if let Some(time) = time {
            self.out.push(b' ');
            decimal(time, self.out);
        }
        self.out.push(b'\n');
    }

    /// Writes a point that was read, from its meaning: escapes are resolved and made again, numbers printed.
    ///
    /// [`crate::Record::write`] gives the bytes as they were; this gives the canonical line of the dialect.
    pub fn borrowed(&mut self, point: &Point<'_>) {
        self.n_fields = 0;
        // A token ends at the first unprotected special byte, so what it holds is escaped already.
        self.out.extend_from_slice(point.measurement);
        for (key, value) in &point.tags {
            self.out.push(b',');
            self.out.extend_from_slice(key);
            self.out.push(b'=');
            self.out.extend_from_slice(value);
        }
        for field in &point.fields {
            self.raw_key(field.key);
            match field.value {
                // Without a backslash there is nothing that could be escaped another way.
                Value::Text(raw) if memchr::memchr(b'\\', raw).is_none() => {
                    self.out.extend_from_slice(field.token);
                }
                Value::F64(value) => push_f64(value, self.out),
                value => self.push(&value.into()),
            }
        }
        self.end(point.time);
    }

    fn raw_key(&mut self, raw: &[u8]) {
        if memchr::memchr2(b'\\', b'"', raw).is_some() {
            return self.key(&unescape(raw, Escapes::FieldKey));
        }
        self.out.push(if self.n_fields == 0 { b' ' } else { b',' });
        self.n_fields += 1;
        self.out.extend_from_slice(raw);
        self.out.push(b'=');
    }

    /// Writes a whole point; one without fields is no line and is left out.
    pub fn point(&mut self, point: &OwnedPoint) {
        if point.fields.is_empty() {
            return;
        }
        self.measurement(&point.measurement);
        for (key, value) in &point.tags {
            self.tag(key, value);
        }
        for (key, value) in &point.fields {
            self.field(key, value);
        }
        self.end(point.time);
    }
}

fn push_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    escape(text, Escapes::Text, out);
    out.push(b'"');
}

fn push_f64(value: f64, out: &mut Vec<u8>) {
    use std::io::Write as _;
    let value = match value {
        nan if nan.is_nan() => 0.0,
        f64::INFINITY => 18_446_744_073_709_551_615.0,
        f64::NEG_INFINITY => -9_223_372_036_854_775_808.0,
        finite => finite,
    };
    // Rust's shortest form reads back to the same bits and uses no exponent below 1e16.
    let shown = if (1e-5..1e16).contains(&value.abs()) || value == 0.0 {
        write!(out, "{value}")
    } else {
        write!(out, "{value:e}")
    };
    debug_assert!(shown.is_ok(), "a vector takes every byte");
}
