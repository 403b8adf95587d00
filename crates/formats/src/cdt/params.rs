//! Params: how each parameter is shown, joined to the dictionary by name (§3).

use traceloom_model::{Flow, Limits};

use super::dictionary::count;
use super::phrase::{Rows, score};
use super::text;
use crate::wire::{Cursor, Utf16, put_u32_varint};
use crate::{Error, Field, Record, RecordSink};

/// The version of the stream that is known.
pub const VERSION: u8 = 1;

/// One parameter, borrowed from the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param<'a> {
    /// Its name; the dictionary word of the same text is its number.
    pub name: Utf16<'a>,
    /// Its values are copied to the calls row.
    pub index: bool,
    /// All values are shown.
    pub list: bool,
    /// Display priority, ascending.
    pub order: u32,
    /// The function that renders its values; empty for none.
    pub signature: Utf16<'a>,
}

impl<'a> Param<'a> {
    /// Reads a parameter.
    ///
    /// # Errors
    /// `Truncated`, `Invalid` for a varint that is too long, `Limit` for a string above the limit.
    pub fn read(cursor: &mut Cursor<'a>, string_limit: usize) -> Result<Self, Error> {
        Ok(Self {
            name: text::string(cursor, string_limit, "parameter name")?,
            index: cursor.u8("index")? == 1,
            list: cursor.u8("list")? == 1,
            order: cursor.varint32("order")?,
            signature: text::string(cursor, string_limit, "signature")?,
        })
    }

    /// Appends the parameter.
    pub fn write(&self, out: &mut Vec<u8>) {
        text::put(out, self.name);
        out.push(u8::from(self.index));
        out.push(u8::from(self.list));
        put_u32_varint(out, self.order);
        text::put(out, self.signature);
    }
}

/// Tells from the head of a stream whether it comes in phrases; `None` when it is no params stream.
pub(super) fn framed(head: &[u8], whole: bool) -> Option<bool> {
    let reads = |framed: bool| {
        let mut version = false;
        score(head, whole, framed, |cursor, score| {
            let at = cursor.offset();
            if !std::mem::replace(&mut version, true) {
                return match cursor.u8("version")? {
                    VERSION => Ok(()),
                    other => Err(Error::invalid(at, format!("version {other}"))),
                };
            }
            count(score, text::string(cursor, 1 << 20, "name")?);
            for _ in 0..2 {
                if cursor.u8("flag")? > 1 {
                    return Err(Error::invalid(at, "flag"));
                }
            }
            cursor.varint32("order")?;
            text::string(cursor, 1 << 20, "signature").map(|_| ())
        })
        .filter(|score| score.rows > 0)
    };
    match head.first() {
        Some(&VERSION) => reads(false).map(|_| false),
        Some(0) => reads(true).map(|_| true),
        _ => None,
    }
}

/// The record reader of parameters.
#[derive(Clone)]
pub(super) struct ParamRows {
    string_limit: usize,
    version: bool,
}

impl ParamRows {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            string_limit: text::limit(limits),
            version: false,
        }
    }
}

impl Rows for ParamRows {
    const WHAT: &'static str = "parameter";

    fn row(&mut self, cursor: &mut Cursor<'_>, out: &mut dyn RecordSink) -> Result<Flow, Error> {
        let (start, offset) = (cursor.position(), cursor.offset());
        if !self.version {
            let version = cursor.u8("params version")?;
            if version != VERSION {
                let message = format!("params version {version}; {VERSION} is known");
                return Err(Error::unsupported(offset, message));
            }
            self.version = true;
            return Ok(out.record(&VersionRecord { offset }));
        }
        let param = Param::read(cursor, self.string_limit)?;
        Ok(out.record(&ParamRecord {
            param,
            offset,
            raw: cursor.slice(start, cursor.position()),
            exact: !cursor.take_padded(),
        }))
    }

    fn decide(&mut self, head: &[u8], whole: bool) -> bool {
        // No phrase is long enough to begin with the version, no version is 0.
        framed(head, whole).unwrap_or(head.first() == Some(&0))
    }
}

struct VersionRecord {
    offset: u64,
}

impl Record for VersionRecord {
    fn kind(&self) -> &'static str {
        "params_version"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        1
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("version", Field::U64(u64::from(VERSION)));
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
    }
}

struct ParamRecord<'a> {
    param: Param<'a>,
    offset: u64,
    raw: &'a [u8],
    exact: bool,
}

impl Record for ParamRecord<'_> {
    fn kind(&self) -> &'static str {
        "param"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("name", Field::Utf16(self.param.name.0));
        show("index", Field::Bool(self.param.index));
        show("list", Field::Bool(self.param.list));
        show("order", Field::U64(u64::from(self.param.order)));
        show("signature", Field::Utf16(self.param.signature.0));
    }

    fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        if self.exact {
            self.param.write(out);
        }
        // Flags that are neither 0 nor 1 count as 0 and stay as they are.
        if out.get(start..) != Some(self.raw) {
            out.truncate(start);
            out.extend_from_slice(self.raw);
        }
    }
}
