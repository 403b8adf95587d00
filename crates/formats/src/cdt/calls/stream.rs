//! The rows of a calls stream one after another, and the next row behind damage (§5, §12).
//!
//! Nothing marks the beginning of a row. Behind damage one is found by reading on from every byte: three rows in
//! sequence whose numbers agents write, or fewer that end with the stream. Whether a name follows a thread index
//! depends on how many names came before, and damage may have swallowed some: a search tries each count that the
//! indices of its rows allow. Rows of format 0 have too few numbers to tell one.

use traceloom_model::{Limits, Note};

use super::{Header, Row, RowLimits};
use crate::cdt::threads::Threads;
use crate::wire::units::{Recovery, Sync, tail};
use crate::wire::{Cursor, Utf16};
use crate::{Error, ErrorKind};

/// Rows that must follow each other for a beginning to be believed.
const CHAIN: usize = 3;
/// Bytes from the beginning of such rows that are looked at.
const LOOK: usize = 4 << 10;
/// Values of a row that is looked for.
const VALUES: usize = 128;
/// Bytes of a row that is long: most have a tenth.
const LONG: usize = 1024;
/// Rows that no agent writes, with nothing better in sight, after which a stream is believed as it is.
const UNUSUAL: u32 = 16;
/// Bytes behind such a row in which something better is looked for.
const REACH: usize = 32 << 10;
/// Names of threads that one stretch of damage may have swallowed.
const LOST_NAMES: u32 = 4096;
/// Trace files that one stretch of damage may have skipped.
const FILES: u32 = 16;
/// A week in milliseconds: the longest call, and the longest time between two, that is looked for.
const WEEK: u32 = 7 * 86_400_000;

/// What a calls stream is made of.
pub(in crate::cdt) enum HeaderOrRow<'a> {
    Header(Header),
    Row(Row<'a>),
}

/// The reader of the rows of one file.
#[derive(Clone)]
pub(in crate::cdt) struct RowStream {
    limits: RowLimits,
    pub(in crate::cdt) header: Option<Header>,
    /// Start of the last row, epoch milliseconds.
    pub(in crate::cdt) time: i64,
    pub(in crate::cdt) threads: Threads,
    /// Trace file of the last row.
    file: Option<u32>,
    /// The stream ended inside the row that could not be read: what is behind its first byte is likely its own.
    torn: bool,
    /// Rows that no agent writes and that were taken all the same.
    unusual: u32,
    /// A search found the next row: what its place speaks for is not asked again.
    found: bool,
    /// A row that a search found could not be read.
    misled: bool,
    /// Rows were lost: times behind them lack their deltas, and each row is held against what agents write.
    pub(in crate::cdt) damaged: bool,
}

impl RowStream {
    pub(in crate::cdt) fn new(limits: &Limits) -> Self {
        Self {
            limits: RowLimits::new(limits),
            header: None,
            time: 0,
            threads: Threads::new(limits),
            file: None,
            torn: false,
            unusual: 0,
            found: false,
            misled: false,
            damaged: false,
        }
    }

    /// Begins the next file. Thread names of the last one keep their numbers.
    pub(in crate::cdt) fn restart(&mut self) {
        self.header = None;
        self.time = 0;
        self.threads.restart();
        self.file = None;
        self.torn = false;
        self.unusual = 0;
        self.found = false;
        self.misled = false;
        self.damaged = false;
    }

    pub(in crate::cdt) const fn limits(&self) -> RowLimits {
        self.limits
    }

    /// Returns the format of the file; 0 before its header.
    pub(in crate::cdt) fn version(&self) -> u8 {
        self.header.map_or(0, |header| header.version)
    }

    /// Reads the header or the next row.
    ///
    /// # Errors
    /// Those of [`Header::read`] and [`Row::read`], and `Invalid` for a row that no agent writes where damage is
    /// evident. An error leaves `self` as it was.
    pub(in crate::cdt) fn next<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        eof: bool,
    ) -> Result<HeaderOrRow<'a>, Error> {
        let Some(header) = self.header else {
            let header = Header::read(cursor)?;
            self.header = Some(header);
            self.time = header.start_time;
            return Ok(HeaderOrRow::Header(header));
        };
        let place = (cursor.position(), cursor.offset());
        let names = self.threads.len();
        let row = Row::read(cursor, header.version, names, &self.limits)
            .map_err(|error| error.within("call"))?;
        if !self.found {
            self.check(&row, cursor, place, eof)?;
        }
        self.found = false;
        self.time = self.time.saturating_add(i64::from(row.time_delta));
        self.file = Some(row.trace_file_index);
        if let Some(name) = row.thread_name {
            self.threads.push(name);
        }
        Ok(HeaderOrRow::Row(row))
    }

    /// Refuses a row that was read from the middle of another one, or that swallowed those behind it.
    ///
    /// A row that no agent writes, or a long one, must be followed by a row; else rows that begin inside of it,
    /// or soon behind one that no agent writes, show that it is none. Where there are none either, the stream is
    /// an unusual one.
    fn check(
        &mut self,
        row: &Row<'_>,
        cursor: &Cursor<'_>,
        (start, offset): (usize, u64),
        eof: bool,
    ) -> Result<(), Error> {
        if self.version() == 0 {
            return Ok(());
        }
        let names = self.threads.len();
        let len = cursor.position() - start;
        let possible = is_possible(row, names);
        let likely = !self.damaged || (possible && is_likely(row, self.file));
        let unasked = self.unusual >= UNUSUAL && likely;
        if (possible && likely && len <= LONG) || unasked {
            return Ok(());
        }
        let refused = || {
            let why = match possible && likely {
                true => "it reaches over the rows behind it",
                false => "no agent writes such numbers",
            };
            Err(Error::invalid(offset, why).within("call"))
        };
        if !likely {
            return refused();
        }
        let rest = cursor.rest();
        if rest.len() < LOOK && !eof {
            return Err(Error::truncated(cursor.offset(), "call", LOOK - rest.len()));
        }
        if rest.is_empty() || self.is_followed(rest) {
            return Ok(());
        }
        let mut from = cursor.clone();
        from.seek(start);
        let bytes = from.rest();
        let reach = if possible { len } else { REACH };
        let inside = (1..reach.min(REACH)).filter_map(|at| bytes.get(at..));
        for rest in inside {
            match self.chain(rest, eof) {
                Lookahead::Names(_) => return refused(),
                Lookahead::Need => {
                    return Err(Error::truncated(
                        cursor.offset(),
                        "call",
                        2 * LOOK - rest.len().min(LOOK),
                    ));
                }
                Lookahead::Nothing => {}
            }
        }
        self.unusual += 1;
        Ok(())
    }

    /// Returns true if the numbers of a row follow. Its parameters may be long.
    fn is_followed(&self, bytes: &[u8]) -> bool {
        let names = self.threads.len();
        // The row before may have named a thread, and this one may name the next.
        [names, names.saturating_add(1), u32::MAX]
            .into_iter()
            .any(|count| {
                let mut cursor = Cursor::new(bytes, 0);
                let row = Row::read_numbers(&mut cursor, self.version(), count, &self.limits);
                row.is_ok_and(|row| {
                    is_possible(&row, names.saturating_add(1)) && is_likely(&row, self.file)
                })
            })
    }

    /// Says what a row that cannot be read means, and how to go on.
    pub(in crate::cdt) fn failed(
        &mut self,
        error: &Error,
        offset: u64,
        rest: usize,
    ) -> (Note, Recovery) {
        self.torn = matches!(error.kind(), ErrorKind::Truncated { .. });
        self.misled = std::mem::take(&mut self.found);
        match self.header {
            // Eight numbers of any size are no pattern to look for.
            Some(Header { version: 0, .. }) => (tail("call", error, offset, rest), Recovery::Rest),
            Some(_) => (tail("call", error, offset, rest), Recovery::Sync),
            None => (tail("calls header", error, offset, rest), Recovery::Rest),
        }
    }

    /// Returns true if the row that failed may be read with other names before it.
    pub(in crate::cdt) const fn tries_again(&self) -> bool {
        !self.misled
    }

    /// Looks for a row at the start of `bytes`; after a hit, [`RowStream::next`] reads it.
    pub(in crate::cdt) fn sync(&mut self, bytes: &[u8], eof: bool) -> Sync {
        match self.chain(bytes, eof) {
            Lookahead::Names(names) => {
                self.threads.lose(names);
                self.damaged = true;
                self.found = true;
                Sync::Hit
            }
            Lookahead::Need => Sync::Need(LOOK),
            Lookahead::Nothing => Sync::Miss,
        }
    }

    fn chain(&self, bytes: &[u8], eof: bool) -> Lookahead {
        let window = bytes.get(..LOOK).unwrap_or(bytes);
        let ends = eof && window.len() == bytes.len();
        let chain = Chain {
            version: self.version(),
            limits: RowLimits {
                string: LOOK,
                values: VALUES,
            },
            ends,
            fewest: if self.torn { 2 } else { 1 },
            full: window.len() == LOOK,
            most: self.threads.len().saturating_add(LOST_NAMES),
        };
        let names = NameCounts::AtLeast(self.threads.len());
        chain.follow(&mut Cursor::new(window, 0), CHAIN, names, self.file)
    }
}

/// How many names came before a row, as far as the rows before it tell.
#[derive(Clone, Copy)]
enum NameCounts {
    Exactly(u32),
    AtLeast(u32),
}

/// What was found at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lookahead {
    /// Rows, before which so many names came.
    Names(u32),
    /// More bytes would tell.
    Need,
    Nothing,
}

/// A look at rows in sequence.
struct Chain {
    version: u8,
    limits: RowLimits,
    /// The stream ends with the window.
    ends: bool,
    /// Rows that are enough where the stream ends behind them.
    fewest: usize,
    /// The window is as long as it may be.
    full: bool,
    /// Names that may have come before.
    most: u32,
}

impl Chain {
    /// Reads `left` rows; returns the number of names before the first one.
    fn follow(
        &self,
        cursor: &mut Cursor<'_>,
        left: usize,
        names: NameCounts,
        file: Option<u32>,
    ) -> Lookahead {
        let (NameCounts::Exactly(least) | NameCounts::AtLeast(least)) = names;
        if left == 0 || (self.ends && CHAIN - left >= self.fewest && cursor.is_empty()) {
            return Lookahead::Names(least);
        }
        let start = cursor.position();
        let index = match self.index(cursor) {
            Ok(index) => index,
            Err(error) => return self.cut(&error, left, least),
        };
        // The counts under which the row reads differently: its index is the next name, or it is not.
        let named = Some(index).filter(|&index| match names {
            NameCounts::Exactly(count) => index == count,
            NameCounts::AtLeast(count) => index >= count && index <= self.most,
        });
        let unnamed = match names {
            NameCounts::Exactly(count) => (index < count).then_some(names),
            NameCounts::AtLeast(count) => {
                (index < self.most).then(|| NameCounts::AtLeast(count.max(index + 1)))
            }
        };
        let mut need = false;
        let readings = [
            named.map(|index| (index, NameCounts::Exactly(index + 1))),
            unnamed.map(|names| (u32::MAX, names)),
        ];
        for (count, then) in readings.into_iter().flatten() {
            cursor.seek(start);
            let found = match self.row(cursor, count, file) {
                Ok(Some(file)) => self.follow(cursor, left - 1, then, Some(file)),
                Ok(None) => Lookahead::Nothing,
                Err(error) => self.cut(&error, left, least),
            };
            match found {
                // The name is the row's own: it came after the names before it.
                Lookahead::Names(_) if count != u32::MAX => return Lookahead::Names(count),
                Lookahead::Names(names) => return Lookahead::Names(names),
                Lookahead::Need => need = true,
                Lookahead::Nothing => {}
            }
        }
        if need {
            Lookahead::Need
        } else {
            Lookahead::Nothing
        }
    }

    /// Reads a row that an agent may have written; returns its trace file.
    fn row(
        &self,
        cursor: &mut Cursor<'_>,
        names: u32,
        file: Option<u32>,
    ) -> Result<Option<u32>, Error> {
        let mut row = Row::read_numbers(cursor, self.version, names, &self.limits)?;
        if cursor.take_padded() || !is_possible(&row, u32::MAX) || !is_likely(&row, file) {
            return Ok(None);
        }
        row.read_params(cursor, &self.limits)?;
        Ok((!cursor.take_padded()).then_some(row.trace_file_index))
    }

    /// Reads a row's thread index.
    fn index(&self, cursor: &mut Cursor<'_>) -> Result<u32, Error> {
        for _ in 0..4 {
            cursor.varint32("call")?;
        }
        cursor.varint32("thread index")
    }

    /// Judges a row that cannot be read to its end: the stream's last one may be cut.
    fn cut(&self, error: &Error, left: usize, names: u32) -> Lookahead {
        match error.kind() {
            ErrorKind::Truncated { .. } if self.ends && left < CHAIN - 1 => Lookahead::Names(names),
            ErrorKind::Truncated { .. } if !self.ends && !self.full => Lookahead::Need,
            _ => Lookahead::Nothing,
        }
    }
}

/// Returns true if a row is one that agents can write, after `names` names of threads.
fn is_possible(row: &Row<'_>, names: u32) -> bool {
    row.trace_file_index > 0
        && row.calls > 0
        && row.buffer_offset >= 8
        && row.record_index < 1 << 24
        && row.thread_index <= names
}

/// Returns true if a row is like most, behind one of trace file `file`.
fn is_likely(row: &Row<'_>, file: Option<u32>) -> bool {
    let near = match file {
        Some(file) => row.trace_file_index.abs_diff(file) <= FILES,
        None => row.trace_file_index < 1 << 20,
    };
    let is_text = |name: Utf16<'_>| {
        let units = name.0.chunks_exact(2);
        (2..=1024).contains(&name.0.len()) && !units.into_iter().any(|unit| unit < &[0, 0x20][..])
    };
    near && row.time_delta.unsigned_abs() <= WEEK
        && row.duration <= WEEK
        && row.params.len() <= VALUES
        && row.thread_name.is_none_or(is_text)
}
