//! Phrases: length-prefixed runs of whole records, as collectors receive three of the streams (§2.1).

use traceloom_model::{Flow, Limit, Limits, Note};

use crate::wire::Cursor;
use crate::wire::units::{Recovery, Units, tail};
use crate::{Error, ErrorKind, Field, Opaque, Record, RecordSink};

/// The longest phrase an agent writes: its buffer, less what the last record left free.
pub const LONGEST: u32 = 10_239;

/// So much of a stream is looked at to tell its variant, where there is so much.
pub(super) const HEAD: usize = 32 << 10;

/// The records of a stream that comes in phrases or bare.
pub(super) trait Rows {
    /// What a record is called in notes.
    const WHAT: &'static str;

    /// Reads one record and emits it. An error must leave `self` as it was.
    fn row(&mut self, cursor: &mut Cursor<'_>, out: &mut dyn RecordSink) -> Result<Flow, Error>;

    /// Decides from the head of the stream how it is written; returns whether in phrases.
    fn decide(&mut self, head: &[u8], whole: bool) -> bool;
}

/// A stream of rows in phrases or bare, told apart once by its head.
#[derive(Clone)]
pub(super) struct Phrased<R> {
    rows: R,
    framed: Option<bool>,
    /// Phrases begun so far.
    number: u64,
    left: usize,
    longest: usize,
}

impl<R: Rows> Phrased<R> {
    pub(super) fn new(rows: R, limits: &Limits) -> Self {
        Self {
            rows,
            framed: None,
            number: 0,
            left: 0,
            longest: limits.size(Limit::String),
        }
    }

    fn phrase(&mut self, cursor: &mut Cursor<'_>, out: &mut dyn RecordSink) -> Result<Flow, Error> {
        let offset = cursor.offset();
        let length = cursor.u32_be("phrase length")?;
        if length as usize > self.longest {
            let message = format!("phrase of {length} bytes is above the string limit");
            return Err(Error::limit(offset, message));
        }
        self.left = length as usize;
        self.number += 1;
        let phrase = Phrase {
            offset,
            length,
            number: self.number,
        };
        if out.record(&phrase).is_break() {
            return Ok(Flow::Break(()));
        }
        if length > LONGEST {
            let text = format!("phrase of {length} bytes; agents write at most {LONGEST}");
            return Ok(out.note(crate::info("long_phrase", offset, text)));
        }
        Ok(Flow::Continue(()))
    }

    /// Steps over what is left of a phrase that cannot be read on.
    fn abandon(
        &mut self,
        error: &Error,
        cursor: &mut Cursor<'_>,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error> {
        let offset = cursor.offset();
        let bytes = cursor.bytes(self.left, "phrase")?;
        self.left = 0;
        let text = format!("the rest of a phrase holds no whole {}: {error}", R::WHAT);
        let note = crate::damage("undecodable_phrase", offset, text).counting(bytes.len() as u64);
        if out.record(&Opaque::damage(offset, bytes)).is_break() {
            return Ok(Flow::Break(()));
        }
        Ok(out.note(note))
    }
}

impl<R: Rows> Units for Phrased<R> {
    fn unit(
        &mut self,
        cursor: &mut Cursor<'_>,
        eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error> {
        let window = cursor.rest();
        let framed = match self.framed {
            Some(framed) => framed,
            None if window.len() < HEAD && !eof => {
                let need = HEAD - window.len();
                return Err(Error::truncated(cursor.offset(), "stream head", need));
            }
            None => {
                let head = window.get(..HEAD).unwrap_or(window);
                let framed = self.rows.decide(head, eof && head.len() == window.len());
                self.framed = Some(framed);
                framed
            }
        };
        if !framed {
            return self.rows.row(cursor, out);
        }
        if self.left == 0 {
            return self.phrase(cursor, out);
        }
        let part = window.get(..self.left).unwrap_or(window);
        let mut inner = Cursor::new(part, cursor.offset());
        let mut numbered = Numbered {
            to: out,
            phrase: self.number,
        };
        let read = self.rows.row(&mut inner, &mut numbered);
        match read {
            Ok(flow) => {
                self.left -= inner.position();
                cursor.seek(cursor.position() + inner.position());
                Ok(flow)
            }
            Err(error) if part.len() < self.left && is_truncated(&error) => Err(error),
            Err(error) if part.len() < self.left && eof => Err(error),
            Err(error) => self.abandon(&error, cursor, out),
        }
    }

    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery) {
        (tail(R::WHAT, error, offset, rest), Recovery::Rest)
    }

    fn finish(&mut self, offset: u64, out: &mut dyn RecordSink) -> Flow {
        if self.left == 0 {
            return Flow::Continue(());
        }
        let text = format!("the input ends {} bytes before its phrase does", self.left);
        out.note(crate::warn("partial_phrase", offset, text))
    }
}

fn is_truncated(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Truncated { .. })
}

/// What a parse of a stream's head found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Score {
    /// Rows read.
    pub rows: usize,
    /// Code units of their strings.
    pub units: usize,
    /// Code units that are no Latin text.
    pub odd: usize,
    /// Bytes read.
    pub consumed: usize,
    /// Phrases that rows fill to the last byte.
    pub filled: usize,
}

impl Score {
    /// Returns true if the strings look like text.
    pub(super) const fn texty(&self) -> bool {
        self.odd * 8 <= self.units
    }
}

/// Reads the head of a stream as rows of some kind; `None` when it cannot be that.
///
/// The head may end inside a row; a phrase may not.
pub(super) fn score(
    head: &[u8],
    whole: bool,
    framed: bool,
    mut row: impl FnMut(&mut Cursor<'_>, &mut Score) -> Result<(), Error>,
) -> Option<Score> {
    let mut score = Score::default();
    let mut rest = head;
    loop {
        let part = if framed {
            let Some((length, after)) = rest.split_first_chunk::<4>() else {
                break;
            };
            let length = u32::from_be_bytes(*length) as usize;
            if score.rows == 0 && (length > LONGEST as usize * 4 || length == 0) {
                return None;
            }
            let part;
            (part, rest) = after.split_at(length.min(after.len()));
            (part, part.len() == length)
        } else {
            (std::mem::take(&mut rest), whole)
        };
        let (part, complete) = part;
        let mut cursor = Cursor::new(part, 0);
        while !cursor.is_empty() {
            let start = cursor.position();
            match row(&mut cursor, &mut score) {
                Ok(()) => score.rows += 1,
                Err(error) if is_truncated(&error) && !(framed && complete) => {
                    cursor.seek(start);
                    break;
                }
                Err(_) => return None,
            }
        }
        score.filled += usize::from(framed && complete);
        score.consumed += cursor.position() + if framed { 4 } else { 0 };
        if rest.is_empty() {
            break;
        }
    }
    Some(score)
}

/// Packs records into phrases, cutting only between records (§2.1).
#[derive(Clone, Debug, Default)]
pub struct Phrases {
    pending: Vec<u8>,
}

impl Phrases {
    /// A phrase goes out once it holds so many bytes.
    const FULL: usize = 10_040;

    /// Adds a record; appends the phrases that are full to `out`.
    ///
    /// A record above the longest phrase makes a phrase of its own.
    pub fn record(&mut self, record: &[u8], out: &mut Vec<u8>) {
        if self.pending.len() + record.len() > LONGEST as usize {
            self.flush(out);
        }
        self.pending.extend_from_slice(record);
        if self.pending.len() >= Self::FULL {
            self.flush(out);
        }
    }

    /// Appends what is pending as a phrase, if anything is.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if let Ok(length @ 1..) = u32::try_from(self.pending.len()) {
            out.extend(length.to_be_bytes());
            out.append(&mut self.pending);
        }
    }
}

/// The head of a phrase: four bytes.
struct Phrase {
    offset: u64,
    length: u32,
    number: u64,
}

impl Record for Phrase {
    fn kind(&self) -> &'static str {
        "phrase"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        4
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("length", Field::U64(u64::from(self.length)));
        show("phrase", Field::U64(self.number));
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.length.to_be_bytes());
    }
}

/// Adds the number of their phrase to records.
struct Numbered<'a> {
    to: &'a mut dyn RecordSink,
    phrase: u64,
}

impl RecordSink for Numbered<'_> {
    fn record(&mut self, record: &dyn Record) -> Flow {
        let phrase = self.phrase;
        self.to.record(&InPhrase { record, phrase })
    }

    fn note(&mut self, note: Note) -> Flow {
        self.to.note(note)
    }
}

/// A record with the number of its phrase, which its bytes do not have.
struct InPhrase<'a> {
    record: &'a dyn Record,
    phrase: u64,
}

impl Record for InPhrase<'_> {
    fn kind(&self) -> &str {
        self.record.kind()
    }

    fn offset(&self) -> u64 {
        self.record.offset()
    }

    fn len(&self) -> u64 {
        self.record.len()
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        self.record.fields(show);
        show("phrase", Field::U64(self.phrase));
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.record.write(out);
    }

    fn resolve(&self, table: &str, id: u64) -> Option<String> {
        self.record.resolve(table, id)
    }

    fn time(&self) -> Option<(i64, i64)> {
        self.record.time()
    }

    fn time_zero(&self) -> Option<i64> {
        self.record.time_zero()
    }
}
