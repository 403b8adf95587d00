//! Native records behind one face: what `dump`, `info`, `check` and the laws need of any format.

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Note};

/// A window of the decoded input.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Offset of the first of them in the decoded part.
    pub offset: u64,
    /// Nothing follows them.
    pub eof: bool,
}

/// What a reader did with a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Whole records were read.
    More {
        /// Bytes that need not be shown again. At the end of the input: all of them.
        consumed: usize,
        /// Bytes after the consumed ones that the next chunk must hold at least, unless it is the last.
        need: usize,
    },
    /// The sink broke; reading is over.
    Stop,
}

/// A reader of one part: bytes in, records and notes out.
///
/// Laws: the records a reader emits tile the input, so that writing them in order gives the bytes back;
/// cutting the input into chunks anywhere changes neither records nor notes nor offsets; memory depends
/// on the largest record and the limits, not on the input.
pub trait Reader {
    /// Reads every whole record of `chunk`.
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step;
}

/// A reader whose state can be copied, as every registered one is.
///
/// What the laws stand on: an input is tried with an end or a damage at each of its records in one pass.
pub trait Fork: Reader {
    /// Returns a reader in the same state, which reads on by itself.
    fn fork(&self) -> Box<dyn Fork>;
}

impl<R: Reader + Clone + 'static> Fork for R {
    fn fork(&self) -> Box<dyn Fork> {
        Box::new(self.clone())
    }
}

/// Takes records and notes as they are read.
pub trait RecordSink {
    /// Takes a record; breaking ends the reading.
    fn record(&mut self, record: &dyn Record) -> Flow;

    /// Returns true if it only sums records up: readers may call [`RecordSink::sums`] for many of them then, which
    /// takes a fraction of the time. Whoever says so has to count those as well.
    fn only_sums(&self) -> bool {
        false
    }

    /// Returns true if it has no use for records, nor for sums of them: readers need not show any.
    fn only_notes(&self) -> bool {
        false
    }

    /// Takes records that follow one another, summed up; breaking ends the reading.
    fn sums(&mut self, _sums: &RecordSums<'_>) -> Flow {
        Flow::Continue(())
    }

    /// Takes a note; breaking ends the reading.
    fn note(&mut self, note: Note) -> Flow;
}

/// Records that follow one another, summed up.
#[derive(Clone, Copy, Debug)]
pub struct RecordSums<'s> {
    /// How many there are of each kind, as [`Record::kind`] has them; some may be 0, and a kind may come again.
    pub kinds: &'s [(&'static str, u64)],
    /// Where the last one ends in the decoded part.
    pub end: u64,
    /// The times they cover together, as [`Record::time`].
    pub time: Option<(i64, i64)>,
}

/// Records of one reader that are summed up while it reads; none of them has a [`Record::time_zero`].
#[derive(Debug, Default)]
pub(crate) struct KindSums {
    kinds: Vec<(&'static str, u64)>,
    end: u64,
    time: Option<(i64, i64)>,
}

impl KindSums {
    /// Counts a record of a kind that ends there and covers these times.
    #[inline]
    pub(crate) fn add(&mut self, kind: &'static str, end: u64, time: Option<(i64, i64)>) {
        self.end = self.end.max(end);
        if let Some((start, end)) = time {
            let (first, last) = self.time.unwrap_or((start, end));
            self.time = Some((first.min(start), last.max(end)));
        }
        // By where a name is: no text is compared.
        let mut known = self.kinds.iter_mut();
        match known.find(|(known, _)| std::ptr::eq(*known, kind)) {
            Some((_, n)) => *n += 1,
            None => self.kinds.push((kind, 1)),
        }
    }

    /// Tells a sink of the records so far.
    pub(crate) fn tell(&mut self, out: &mut dyn RecordSink) -> Flow {
        if self.kinds.is_empty() {
            return Flow::Continue(());
        }
        let told = std::mem::take(self);
        out.sums(&RecordSums {
            kinds: &told.kinds,
            end: told.end,
            time: told.time,
        })
    }
}

/// What counting a record needs of it.
#[derive(Clone, Copy, Debug)]
pub struct RecordSummary<'r> {
    /// As [`Record::kind`].
    pub kind: &'r str,
    /// Where it ends in the decoded part.
    pub end: u64,
    /// As [`Record::time`].
    pub time: Option<(i64, i64)>,
    /// As [`Record::time_zero`].
    pub time_zero: Option<i64>,
}

/// One native record: the smallest unit of its specification with an offset of its own.
pub trait Record {
    /// Returns its kind as `dump` prints it: in `snake_case`, or the recording's own name for it where a
    /// format describes its records itself (JFR event types).
    fn kind(&self) -> &str;

    /// Returns where it begins in the decoded part.
    fn offset(&self) -> u64;

    /// Returns its length in bytes.
    fn len(&self) -> u64;

    /// Returns true if it has no bytes of its own.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shows its fields, in the order of the specification.
    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>));

    /// Appends its bytes, from its fields.
    fn write(&self, out: &mut Vec<u8>);

    /// Returns the text that a [`Field::Id`] of this record stands for, where the record itself knows: ids
    /// that hold for a part of the input only, such as constants of a JFR chunk.
    fn resolve(&self, _table: &str, _id: u64) -> Option<String> {
        None
    }

    /// Returns the times it covers, in nanoseconds of the part's clock, for `info`.
    fn time(&self) -> Option<(i64, i64)> {
        None
    }

    /// Returns when zero of the clock is that [`Record::time`] of the records counts from, in nanoseconds since
    /// 1970: for a record that says so, whether it comes before the times or after them.
    fn time_zero(&self) -> Option<i64> {
        None
    }

    /// Returns all that counting needs at once: through `dyn`, each of the methods takes a call of its own.
    fn summary(&self) -> RecordSummary<'_> {
        RecordSummary {
            kind: self.kind(),
            end: self.offset() + self.len(),
            time: self.time(),
            time_zero: self.time_zero(),
        }
    }
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Field<'a> {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// An unsigned integer.
    U64(u64),
    /// A signed integer.
    I64(i64),
    /// A float.
    F64(f64),
    /// A string.
    Str(&'a str),
    /// A string that should be UTF-8 and may not be.
    Text(&'a [u8]),
    /// A string of big-endian UTF-16 code units.
    Utf16(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A row of the table named first; `--resolve` adds its text.
    Id(&'a str, u64),
    /// A list.
    List(&'a [Field<'a>]),
    /// A map, in order.
    Map(&'a [(Field<'a>, Field<'a>)]),
}

/// Bytes that were stepped over: damage, padding, an undecodable tail.
#[derive(Clone, Copy, Debug)]
pub struct Opaque<'a> {
    /// Kind, `damage` unless the format has a word for it.
    pub kind: &'static str,
    /// Where it begins.
    pub offset: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

impl<'a> Opaque<'a> {
    /// Damaged bytes.
    #[must_use]
    pub const fn damage(offset: u64, bytes: &'a [u8]) -> Self {
        Self {
            kind: "damage",
            offset,
            bytes,
        }
    }
}

impl Record for Opaque<'_> {
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
        const SHOWN: usize = 256;
        let head = self.bytes.get(..SHOWN).unwrap_or(self.bytes);
        show("data", Field::Bytes(head));
        if head.len() < self.bytes.len() {
            show("data_cut", Field::Bool(true));
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.bytes);
    }
}

/// Shows a reader a whole slice.
///
/// Returns false when the sink broke.
pub fn read_slice(reader: &mut dyn Reader, bytes: &[u8], out: &mut dyn RecordSink) -> bool {
    reader.read(
        Chunk {
            bytes,
            offset: 0,
            eof: true,
        },
        out,
    ) != Step::Stop
}

/// Shows a reader a slice in pieces: each cut is the least the reader gets to see next.
///
/// Returns false when the sink broke. What tests and fuzzers use to prove that cuts do not matter.
pub fn read_chunked(
    reader: &mut dyn Reader,
    bytes: &[u8],
    mut cuts: impl Iterator<Item = usize>,
    out: &mut dyn RecordSink,
) -> bool {
    let mut start = 0;
    let mut end = 0;
    loop {
        let eof = end == bytes.len();
        let window = subslice(bytes, start..end);
        let chunk = Chunk {
            bytes: window,
            offset: start as u64,
            eof,
        };
        let Step::More { consumed, need } = reader.read(chunk, out) else {
            return false;
        };
        if eof {
            return true;
        }
        start += consumed;
        let next = cuts.find(|&cut| cut > end).unwrap_or(bytes.len());
        end = next.max(start.saturating_add(need)).min(bytes.len());
    }
}

/// A sink that keeps kinds, offsets, written bytes, shown fields and notes: for tests and examples.
#[derive(Debug, Default, PartialEq)]
pub struct Records {
    rows: Vec<(String, u64, u64, String)>,
    written: Vec<u8>,
    notes: Vec<Note>,
}

impl Records {
    /// Returns the kinds in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.0.as_str()).collect()
    }

    /// Returns kind, offset, length and fields of each record; the fields in a debugging form.
    #[must_use]
    pub fn rows(&self) -> &[(String, u64, u64, String)] {
        &self.rows
    }

    /// Returns what the records wrote, one after the other.
    #[must_use]
    pub fn written(&self) -> &[u8] {
        &self.written
    }

    /// Returns the notes.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

impl RecordSink for Records {
    fn record(&mut self, record: &dyn Record) -> Flow {
        use std::fmt::Write as _;
        let mut fields = String::new();
        record.fields(&mut |name, value| {
            let _ = write!(fields, "{name}={value:?} ");
        });
        self.rows.push((
            record.kind().to_owned(),
            record.offset(),
            record.len(),
            fields,
        ));
        record.write(&mut self.written);
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push(note);
        Flow::Continue(())
    }
}
