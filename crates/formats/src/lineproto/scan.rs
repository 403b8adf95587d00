//! One line of bytes to a [`Point`], in a single pass.
//!
//! Backslashes protect only the characters that end a token, so a token ends at the first such character
//! whose predecessor is no backslash. A table lookup a byte finds it; keys and values are some ten bytes
//! long, too short for a vector search to pay.

use traceloom_model::bounds::subslice;

use super::record::{Field, Point, Value};
use super::{KEY_LIMIT, base64};

const COMMA: u8 = 1;
const SPACE: u8 = 2;
const EQUALS: u8 = 4;
const NEWLINE: u8 = 8;

#[expect(
    clippy::indexing_slicing,
    reason = "bytes index 256 entries, while compiling"
)]
const CLASS: [u8; 256] = {
    let mut table = [0; 256];
    table[b',' as usize] = COMMA;
    table[b' ' as usize] = SPACE;
    table[b'=' as usize] = EQUALS;
    table[b'\n' as usize] = NEWLINE;
    table
};

/// Why a line gave no point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScanStop {
    /// The window ends inside the line.
    Incomplete,
    /// The line is no point.
    Bad(&'static str),
}

use ScanStop::{Bad, Incomplete};

pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    eof: bool,
}

impl<'a> Scanner<'a> {
    /// Scans the line that begins at `at`; `eof` says that the line may end with the bytes.
    pub(super) fn new(bytes: &'a [u8], at: usize, eof: bool) -> Self {
        Self { bytes, at, eof }
    }

    /// Reads a point; returns the offset after its line end.
    pub(super) fn point(&mut self, point: &mut Point<'a>) -> Result<usize, ScanStop> {
        point.clear();
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\t' | 0)) {
            self.at += 1;
        }
        point.lead = self.slice(start, self.at);
        let name = self.at;
        let mut class = self.token(COMMA | SPACE | NEWLINE)?;
        point.measurement = self.slice(name, self.at);
        if point.measurement.is_empty() {
            return Err(Bad("missing measurement"));
        }
        let mut sorted = true;
        let mut previous: &[u8] = &[];
        while class == COMMA {
            let key = self.tag_key()?;
            let (value, next) = self.tag_value()?;
            class = next;
            sorted &= previous < key;
            previous = key;
            point.tags.push((key, value));
        }
        if !sorted && has_duplicate(&point.tags) {
            return Err(Bad("duplicate tag key"));
        }
        let series = self.at - name;
        if class != SPACE {
            return Err(Bad("missing fields"));
        }
        point.gap = self.blanks();
        self.fields(point, series)?;
        self.time(point)?;
        self.line_end(point)?;
        Ok(self.at)
    }

    /// Returns true if the bytes are the beginning of a point and hold a field, or the beginning of a text one.
    pub(super) fn begins_point(&mut self, point: &mut Point<'a>) -> bool {
        let cut = self.point(point) == Err(Incomplete);
        let in_text = self.bytes.get(self.at.saturating_sub(1)..);
        let in_text = in_text.is_some_and(|rest| rest.starts_with(b"=\""));
        cut && (in_text || !point.fields.is_empty())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        subslice(self.bytes, start..end)
    }

    /// The class that ends the bytes: a line end at the end of the input, otherwise unknown.
    fn end_class(&mut self) -> Result<u8, ScanStop> {
        self.at = self.bytes.len();
        if self.eof {
            Ok(NEWLINE)
        } else {
            Err(Incomplete)
        }
    }

    /// Moves to the next unprotected byte of a class in `ends` and returns its class.
    #[inline]
    fn token(&mut self, ends: u8) -> Result<u8, ScanStop> {
        let start = self.at;
        loop {
            let rest = subslice(self.bytes, self.at..);
            let class_of = |byte: &u8| CLASS.get(usize::from(*byte)).copied().unwrap_or(0) & ends;
            let Some(length) = rest.iter().position(|byte| class_of(byte) != 0) else {
                return self.end_class();
            };
            self.at += length;
            let protected = self.at > start && self.bytes.get(self.at - 1) == Some(&b'\\');
            let class = self.bytes.get(self.at).map_or(0, class_of);
            if !protected || class == NEWLINE {
                return Ok(class);
            }
            self.at += 1;
        }
    }

    #[inline]
    fn tag_key(&mut self) -> Result<&'a [u8], ScanStop> {
        self.at += 1;
        let start = self.at;
        let class = self.token(COMMA | SPACE | EQUALS | NEWLINE)?;
        let key = self.slice(start, self.at);
        if key.is_empty() {
            return Err(Bad("missing tag key"));
        }
        if class != EQUALS {
            return Err(Bad("missing tag value"));
        }
        self.at += 1;
        Ok(key)
    }

    #[inline]
    fn tag_value(&mut self) -> Result<(&'a [u8], u8), ScanStop> {
        let start = self.at;
        let class = self.token(COMMA | SPACE | EQUALS | NEWLINE)?;
        let value = self.slice(start, self.at);
        if value.is_empty() {
            return Err(Bad("missing tag value"));
        }
        if class == EQUALS {
            return Err(Bad("unprotected `=` in a tag value"));
        }
        Ok((value, class))
    }

    fn blanks(&mut self) -> &'a [u8] {
        let start = self.at;
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
        self.slice(start, self.at)
    }

    fn fields(&mut self, point: &mut Point<'a>, series: usize) -> Result<(), ScanStop> {
        loop {
            let start = self.at;
            let class = self.token(COMMA | SPACE | EQUALS | NEWLINE)?;
            let key = self.slice(start, self.at);
            if class != EQUALS {
                let text = if key.is_empty() {
                    "missing fields"
                } else {
                    "missing field value"
                };
                return Err(Bad(text));
            }
            if key.is_empty() {
                return Err(Bad("missing field key"));
            }
            if series + key.len() > KEY_LIMIT {
                return Err(Bad("series and field key above 65,535 bytes"));
            }
            self.at += 1;
            let value_start = self.at;
            let value = self.value()?;
            point.fields.push(Field {
                key,
                token: self.slice(value_start, self.at),
                value,
            });
            if self.peek() != Some(b',') {
                return Ok(());
            }
            self.at += 1;
        }
    }

    #[inline]
    fn value(&mut self) -> Result<Value<'a>, ScanStop> {
        let value = match self.peek() {
            None if !self.eof => return Err(Incomplete),
            Some(b'"') => self.quoted()?,
            Some(b'[') => self.list()?,
            _ => self.plain()?,
        };
        match self.peek() {
            None if !self.eof => Err(Incomplete),
            None | Some(b',' | b' ' | b'\n' | b'\r' | b']') => Ok(value),
            Some(_) => Err(Bad("bytes after a field value")),
        }
    }

    fn quoted(&mut self) -> Result<Value<'a>, ScanStop> {
        let start = self.at + 1;
        let mut from = start;
        loop {
            let rest = subslice(self.bytes, from..);
            let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                return self.unbalanced();
            };
            let stop = from + found;
            if self.bytes.get(stop) == Some(&b'"') {
                self.at = stop + 1;
                break;
            }
            // Only these two are escapes; any other backslash stands for itself.
            from = match self.bytes.get(stop + 1) {
                Some(b'"' | b'\\') => stop + 2,
                Some(_) => stop + 1,
                None => return self.unbalanced(),
            };
        }
        let inside = self.slice(start, self.at - 1);
        if self.peek() != Some(b'b') {
            return Ok(Value::Text(inside));
        }
        self.at += 1;
        if base64::decode(inside).is_none() {
            return Err(Bad("a byte field that is no base64"));
        }
        Ok(Value::Bytes(inside))
    }

    fn unbalanced<T>(&self) -> Result<T, ScanStop> {
        Err(if self.eof {
            Bad("unbalanced quotes")
        } else {
            Incomplete
        })
    }

    fn list(&mut self) -> Result<Value<'a>, ScanStop> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek() {
                None if !self.eof => return Err(Incomplete),
                None | Some(b'\n') => return Err(Bad("a list without end")),
                Some(b']') => break,
                Some(b'[') => return Err(Bad("a list inside a list")),
                Some(b',') if self.at > start => self.at += 1,
                _ => {}
            }
            self.value()?;
            if !matches!(self.peek(), Some(b',' | b']')) {
                return Err(match self.peek() {
                    None if !self.eof => Incomplete,
                    _ => Bad("a list without end"),
                });
            }
        }
        let inside = self.slice(start, self.at);
        self.at += 1;
        Ok(Value::List(inside))
    }

    #[inline]
    fn plain(&mut self) -> Result<Value<'a>, ScanStop> {
        let rest = subslice(self.bytes, self.at..);
        let ends = |byte: &u8| matches!(byte, b',' | b' ' | b'\n' | b'\r' | b']');
        let token = match rest.iter().position(ends) {
            Some(length) => rest.get(..length).unwrap_or(rest),
            None if self.eof => rest,
            None => return Err(Incomplete),
        };
        let value = number(token).ok_or(Bad(if token.is_empty() {
            "missing field value"
        } else {
            "invalid field value"
        }))?;
        self.at += token.len();
        Ok(value)
    }

    fn time(&mut self, point: &mut Point<'a>) -> Result<(), ScanStop> {
        point.time_gap = self.blanks();
        let start = self.at;
        if matches!(self.peek(), Some(b'-' | b'+')) {
            self.at += 1;
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.peek().is_none() && !self.eof {
            return Err(Incomplete);
        }
        point.time_token = self.slice(start, self.at);
        if !point.time_token.is_empty() {
            let time = integer(point.time_token).ok_or(Bad("invalid timestamp"))?;
            point.time = Some(time);
        }
        Ok(())
    }

    fn line_end(&mut self, point: &mut Point<'a>) -> Result<(), ScanStop> {
        let start = self.at;
        while matches!(self.peek(), Some(b' ' | b'\r')) {
            self.at += 1;
        }
        match self.peek() {
            None if !self.eof => return Err(Incomplete),
            Some(b'\n') => self.at += 1,
            None => {}
            Some(_) => return Err(Bad("invalid timestamp")),
        }
        point.tail = self.slice(start, self.at);
        Ok(())
    }
}

fn has_duplicate(tags: &[(&[u8], &[u8])]) -> bool {
    let mut keys: Vec<&[u8]> = tags.iter().map(|(key, _)| *key).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair.first() == pair.last())
}

/// Reads a number or boolean.
#[inline]
fn number(token: &[u8]) -> Option<Value<'static>> {
    match token {
        [digits @ .., b'i'] => integer(digits).map(Value::I64),
        [digits @ .., b'u'] => {
            let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            plain
                .then(|| ascii(digits)?.parse().ok())
                .flatten()
                .map(Value::U64)
        }
        b"t" | b"T" | b"true" | b"True" | b"TRUE" => Some(Value::Bool(true)),
        b"f" | b"F" | b"false" | b"False" | b"FALSE" => Some(Value::Bool(false)),
        _ => {
            // Rust's parser also reads words for infinity and NaN, which the format does not have.
            let spelled =
                |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
            let plain = token.iter().all(spelled);
            let value: f64 = plain.then(|| ascii(token)?.parse().ok())??;
            value.is_finite().then_some(Value::F64(value))
        }
    }
}

fn ascii(token: &[u8]) -> Option<&str> {
    std::str::from_utf8(token).ok()
}

/// Reads a decimal integer with an optional sign.
#[inline]
fn integer(token: &[u8]) -> Option<i64> {
    let (negative, digits) = match token {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return ascii(token)?.parse().ok();
    }
    let mut value: i64 = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// The elements of a list.
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    inside: &'a [u8],
    at: usize,
}

impl<'a> Elements<'a> {
    pub(super) fn new(inside: &'a [u8]) -> Self {
        Self { inside, at: 0 }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        if self.at >= self.inside.len() {
            return None;
        }
        let mut scanner = Scanner::new(self.inside, self.at, true);
        let value = scanner.value().ok()?;
        self.at = scanner.at + 1;
        Some(value)
    }
}
