//! `filelist.blst`: the agent's log of the files it keeps (§9).

use traceloom_model::{Flow, Limits, Note};

use super::strings::TextRecord;
use super::text::{self, ns};
use crate::wire::units::{Recovery, Units};
use crate::wire::{Cursor, Utf16, put_leb128};
use crate::{Error, ErrorKind, Field, Record, RecordSink};

/// The word that a file list begins with; its format number follows.
pub const MAGIC: &str = "LOGFORMAT";

/// One entry, borrowed from the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'a> {
    /// `A` added, `D` deleted, `C` created.
    pub op: Utf16<'a>,
    /// Path relative to the list.
    pub path: Utf16<'a>,
    /// Time of last change, epoch milliseconds.
    pub mtime: u64,
    /// Bytes.
    pub size: u64,
    /// A file that must not outlive this one; from format 2 on.
    pub dependent: Option<Utf16<'a>>,
}

impl<'a> Entry<'a> {
    fn read(cursor: &mut Cursor<'a>, format: u32, string_limit: usize) -> Result<Self, Error> {
        let mut entry = Self {
            op: string(cursor, string_limit, "operation")?,
            path: string(cursor, string_limit, "path")?,
            mtime: cursor.leb128("time")?,
            size: cursor.leb128("size")?,
            dependent: None,
        };
        if format >= 2 {
            entry.dependent = Some(string(cursor, string_limit, "dependent path")?);
        }
        Ok(entry)
    }

    /// Appends the entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        text::put(out, self.op);
        text::put(out, self.path);
        put_leb128(out, self.mtime);
        put_leb128(out, self.size);
        if let Some(path) = self.dependent {
            text::put(out, path);
        }
    }
}

/// Reads a string; a length that cannot be is reported where its text would begin.
fn string<'a>(
    cursor: &mut Cursor<'a>,
    limit: usize,
    what: &'static str,
) -> Result<Utf16<'a>, Error> {
    text::string(cursor, limit, what).map_err(|error| match error.kind() {
        ErrorKind::Invalid => Error::invalid(error.offset() + 5, error.message()),
        _ => error,
    })
}

/// The record reader of a file list.
#[derive(Clone)]
pub(super) struct FileList {
    string_limit: usize,
    format: Option<u32>,
}

impl FileList {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            string_limit: text::limit(limits),
            format: None,
        }
    }
}

impl Units for FileList {
    fn unit(
        &mut self,
        cursor: &mut Cursor<'_>,
        _eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error> {
        let (start, offset) = (cursor.position(), cursor.offset());
        let Some(format) = self.format else {
            let text = string(cursor, self.string_limit, "file list format")?;
            let word = text.to_lossy();
            let number = word.strip_prefix(MAGIC).and_then(|n| n.parse().ok());
            let number = number.filter(|n| (1..=4).contains(n)).ok_or_else(|| {
                Error::unsupported(
                    offset,
                    format!("file list `{word}`; LOGFORMAT1 to 4 are known"),
                )
            })?;
            self.format = Some(number);
            return Ok(out.record(&TextRecord {
                kind: "blst_header",
                field: "format",
                text,
                offset,
                raw: cursor.slice(start, cursor.position()),
                exact: !cursor.take_padded(),
            }));
        };
        let entry = Entry::read(cursor, format, self.string_limit)?;
        let raw = cursor.slice(start, cursor.position());
        let exact = !cursor.take_padded();
        let known = ["A", "D", "C"].iter().any(|op| entry.op.is(op));
        if !known {
            let text = "an entry that is neither added, deleted nor created";
            let note = crate::warn("unknown_operation", offset, text);
            if out.note(note).is_break() {
                return Ok(Flow::Break(()));
            }
        }
        Ok(out.record(&EntryRecord {
            entry,
            offset,
            raw,
            exact,
        }))
    }

    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery) {
        let at = match error.kind() {
            ErrorKind::Invalid => error.offset(),
            _ => offset,
        };
        let note = crate::wire::units::tail("file list entry", error, at, rest);
        (note, Recovery::Rest)
    }
}

struct EntryRecord<'a> {
    entry: Entry<'a>,
    offset: u64,
    raw: &'a [u8],
    exact: bool,
}

impl Record for EntryRecord<'_> {
    fn kind(&self) -> &'static str {
        "blst"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("op", Field::Utf16(self.entry.op.0));
        show("path", Field::Utf16(self.entry.path.0));
        show("mtime", Field::U64(self.entry.mtime));
        show("size", Field::U64(self.entry.size));
        if let Some(path) = self.entry.dependent {
            show("dependent", Field::Utf16(path.0));
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.exact {
            self.entry.write(out);
        } else {
            out.extend_from_slice(self.raw);
        }
    }

    fn time(&self) -> Option<(i64, i64)> {
        let time = i64::try_from(self.entry.mtime)
            .ok()
            .filter(|&time| time > 0)?;
        Some((ns(time), ns(time)))
    }
}
