//! Rows of the calls streams, a bounded number ahead of the trace.
//!
//! The agent writes the row of a call when it writes the block in which the call ends, so rows and
//! roots come in one order, but for files that were collected, cut or merged differently. A window of
//! rows covers that; a row that falls out of the window is remembered by its place alone.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use traceloom_model::{Flow, Limits, Note, PartId};

use crate::cdt::calls::{HeaderOrRow, Row, RowLimits, RowStream, unknown_thread};
use crate::wire::units::{Passed, Skip};
use crate::wire::{Cursor, Utf16};
use crate::{Error, ErrorKind, Pull, Source};

/// Where a call begins: trace file, block and event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct CallPosition {
    pub(super) file: u32,
    pub(super) block: u32,
    pub(super) index: u32,
}

/// A row that was read, kept as its bytes.
#[derive(Clone, Debug)]
pub(super) struct BufferedRow {
    pub(super) key: CallPosition,
    /// Start, epoch milliseconds.
    pub(super) time: i64,
    /// No row before it was lost: deltas of lost rows are missing in `time`.
    pub(super) dated: bool,
    pub(super) method: u32,
    pub(super) calls: u32,
    /// Milliseconds.
    pub(super) duration: u32,
    version: u8,
    /// Thread names seen before the row: a name that is not among them comes with the row.
    names: u32,
    /// Number of the thread's name; none when the row's index is beyond the names.
    pub(super) thread: Option<u32>,
    pub(super) part: u32,
    pub(super) offset: u64,
    bytes: Box<[u8]>,
}

impl BufferedRow {
    /// Decodes the row again; it was decoded once, so this cannot fail.
    pub(super) fn row(&self, limits: &RowLimits) -> Option<Row<'_>> {
        let mut cursor = Cursor::new(&self.bytes, self.offset);
        Row::read(&mut cursor, self.version, self.names, limits).ok()
    }

    /// Returns the format of the row's file.
    pub(super) const fn version(&self) -> u8 {
        self.version
    }
}

/// A file of calls that is being read.
struct CallsFile<'s> {
    part: usize,
    pull: Box<dyn Pull + 's>,
    consumed: usize,
    need: usize,
    skip: Option<Skip>,
}

/// The rows of all files of calls, in order.
pub(super) struct Reader<'s> {
    source: &'s dyn Source,
    left: VecDeque<usize>,
    file: Option<CallsFile<'s>>,
    state: SharedRows,
}

/// What the files share.
struct SharedRows {
    rows: RowStream,
    /// Keys of the rows read, where rows may repeat.
    seen: Option<HashSet<CallPosition>>,
}

impl<'s> Reader<'s> {
    /// Reads the parts in order; with `ranges`, rows that repeat are left out.
    pub(super) fn new(
        source: &'s dyn Source,
        parts: &[usize],
        ranges: bool,
        limits: &Limits,
    ) -> Self {
        Self {
            source,
            left: parts.iter().copied().collect(),
            file: None,
            state: SharedRows {
                rows: RowStream::new(limits),
                seen: ranges.then(HashSet::new),
            },
        }
    }

    /// Shows up to `most` rows; returns how many there were, 0 at the end.
    ///
    /// `each` gets the key, the row and what belongs to it.
    pub(super) fn read(
        &mut self,
        most: usize,
        notes: &mut Vec<Note>,
        each: &mut dyn FnMut(ParsedRow<'_>),
    ) -> Result<usize, Error> {
        let mut shown = 0;
        while shown < most {
            let Some(file) = &mut self.file else {
                let Some(part) = self.left.pop_front() else {
                    return Ok(shown);
                };
                self.file = Some(CallsFile {
                    part,
                    pull: self.source.open(part, 0)?,
                    consumed: 0,
                    need: 1,
                    skip: None,
                });
                self.state.rows.restart();
                continue;
            };
            let ended = file.read(&mut self.state, most, &mut shown, notes, each)?;
            if ended {
                self.file = None;
            }
        }
        Ok(shown)
    }
}

/// A row as it is read.
pub(super) struct ParsedRow<'a> {
    pub(super) key: CallPosition,
    pub(super) time: i64,
    pub(super) dated: bool,
    pub(super) row: Row<'a>,
    pub(super) thread: Option<u32>,
    pub(super) name: Option<Utf16<'a>>,
    pub(super) version: u8,
    names: u32,
    pub(super) part: u32,
    pub(super) offset: u64,
    bytes: &'a [u8],
}

impl ParsedRow<'_> {
    /// Keeps the row.
    pub(super) fn hold(&self) -> BufferedRow {
        BufferedRow {
            key: self.key,
            time: self.time,
            dated: self.dated,
            method: self.row.method,
            calls: self.row.calls,
            duration: self.row.duration,
            version: self.version,
            names: self.names,
            thread: self.thread,
            part: self.part,
            offset: self.offset,
            bytes: self.bytes.into(),
        }
    }
}

impl CallsFile<'_> {
    /// Reads rows of one window; returns whether the file has ended.
    fn read(
        &mut self,
        state: &mut SharedRows,
        most: usize,
        shown: &mut usize,
        notes: &mut Vec<Note>,
        each: &mut dyn FnMut(ParsedRow<'_>),
    ) -> Result<bool, Error> {
        let SharedRows { rows, seen } = state;
        let part = PartId::nth(self.part);
        let mut note = |note: Note| {
            notes.push(Note { part, ..note });
        };
        let chunk = self.pull.pull(self.consumed, self.need)?;
        self.need = 1;
        let mut cursor = Cursor::new(chunk.bytes, chunk.offset);
        loop {
            if let Some(skip) = &mut self.skip {
                let mut sync = |bytes: &[u8], _| rows.sync(bytes, chunk.eof);
                let passed = skip.pass(&mut cursor, chunk.eof, &mut sync, &mut |_| {
                    Flow::Continue(())
                });
                match passed {
                    Passed::Over(told) => note(told),
                    Passed::Need(need) => {
                        (self.consumed, self.need) = (cursor.position(), need);
                        return Ok(false);
                    }
                    Passed::Stopped => return Ok(true),
                }
                self.skip = None;
            }
            let start = cursor.position();
            self.consumed = start;
            if cursor.is_empty() {
                return Ok(chunk.eof);
            }
            if *shown >= most {
                return Ok(false);
            }
            let offset = cursor.offset();
            let names = rows.threads.len();
            let row = match rows.next(&mut cursor, chunk.eof) {
                Ok(HeaderOrRow::Row(row)) => row,
                Ok(HeaderOrRow::Header(_)) => continue,
                Err(error) => {
                    let rest = chunk.bytes.len() - start;
                    if let (ErrorKind::Truncated { need }, false) = (error.kind(), chunk.eof) {
                        self.need = rest.saturating_add(need);
                        return Ok(false);
                    }
                    cursor.seek(start);
                    let failed = rows.failed(&error, offset, rest);
                    self.skip = Some(Skip::new(failed, rows.tries_again()));
                    continue;
                }
            };
            let key = CallPosition {
                file: row.trace_file_index,
                block: row.buffer_offset,
                index: row.record_index,
            };
            if let Some(seen) = seen
                && !seen.insert(key)
            {
                continue;
            }
            let version = rows.version();
            let thread = rows.threads.number(row.thread_index);
            if thread.is_none() && version >= 1 {
                note(unknown_thread(offset, row.thread_index, names));
            }
            *shown += 1;
            each(ParsedRow {
                key,
                row,
                name: thread.and_then(|number| rows.threads.text(number)),
                time: rows.time,
                dated: !rows.damaged,
                thread,
                version,
                names,
                part: part.0,
                offset,
                bytes: cursor.slice(start, cursor.position()),
            });
        }
    }
}

/// Rows kept ahead of the trace.
const WINDOW: usize = 2048;
/// Rows read at once.
const STEP: usize = 256;

/// A row that fell out of the window: where it is, and what its bytes do not say.
#[derive(Clone, Copy, Debug)]
struct Late {
    part: u32,
    offset: u64,
    time: i64,
    dated: bool,
    version: u8,
    names: u32,
    thread: Option<u32>,
}

/// Rows on their way to their trees.
pub(super) struct TreeRows<'s> {
    reader: Reader<'s>,
    held: HashMap<CallPosition, BufferedRow>,
    order: VecDeque<CallPosition>,
    /// Events of a block that begin calls, by file and block, ascending.
    blocks: HashMap<(u32, u32), Vec<u32>>,
    late: HashMap<CallPosition, Late>,
    /// Those that no tree asked for, in the order of the files.
    late_in_order: VecDeque<(CallPosition, Late)>,
    /// Rows that name the same event as one before them, until the caller takes them.
    pub(super) repeated: Vec<BufferedRow>,
    ended: bool,
    pub(super) notes: Vec<Note>,
}

impl<'s> TreeRows<'s> {
    pub(super) fn new(reader: Reader<'s>) -> Self {
        Self {
            reader,
            held: HashMap::new(),
            order: VecDeque::new(),
            blocks: HashMap::new(),
            late: HashMap::new(),
            late_in_order: VecDeque::new(),
            repeated: Vec::new(),
            ended: false,
            notes: Vec::new(),
        }
    }

    pub(super) fn limits(&self) -> RowLimits {
        self.reader.state.rows.limits()
    }

    /// Returns a thread's name by its number.
    pub(super) fn thread(&self, number: u32) -> Option<Utf16<'_>> {
        self.reader.state.rows.threads.text(number)
    }

    /// Keeps the window half full, for [`TreeRows::roots`].
    pub(super) fn ahead(&mut self) -> Result<(), Error> {
        self.fill(WINDOW / 2)
    }

    /// Reads rows while there are fewer than `most`.
    fn fill(&mut self, most: usize) -> Result<(), Error> {
        if self.ended || self.held.len() >= most {
            return Ok(());
        }
        let (held, order, blocks) = (&mut self.held, &mut self.order, &mut self.blocks);
        let repeated = &mut self.repeated;
        let shown = self.reader.read(STEP, &mut self.notes, &mut |seen| {
            let key = seen.key;
            let indices = blocks.entry((key.file, key.block)).or_default();
            let at = indices.partition_point(|&index| index < key.index);
            if indices.get(at) != Some(&key.index) {
                indices.insert(at, key.index);
            }
            // Damaged rows may name one place: the first is the call's, the others are calls without a tree.
            match held.entry(key) {
                Entry::Occupied(_) => repeated.push(seen.hold()),
                Entry::Vacant(place) => {
                    place.insert(seen.hold());
                    order.push_back(key);
                }
            }
        })?;
        self.ended = shown == 0;
        Ok(())
    }

    /// Drops rows whose calls cannot be met any more to their places, so that reading can go on.
    fn evict(&mut self, is_past: &dyn Fn(CallPosition) -> bool) {
        let keys: Vec<CallPosition> = self
            .held
            .keys()
            .copied()
            .filter(|&key| is_past(key))
            .collect();
        for key in keys {
            if let Some(held) = self.remove(key) {
                let late = Late {
                    part: held.part,
                    offset: held.offset,
                    time: held.time,
                    dated: held.dated,
                    version: held.version,
                    names: held.names,
                    thread: held.thread,
                };
                self.late.insert(key, late);
            }
        }
    }

    fn remove(&mut self, key: CallPosition) -> Option<BufferedRow> {
        let held = self.held.remove(&key)?;
        let block = (key.file, key.block);
        if let Some(indices) = self.blocks.get_mut(&block) {
            indices.retain(|&index| index != key.index);
            if indices.is_empty() {
                self.blocks.remove(&block);
            }
        }
        // Keys of rows that were taken stay in the order until they come to its front.
        while let Some(front) = self.order.front()
            && !self.held.contains_key(front)
        {
            self.order.pop_front();
        }
        Some(held)
    }

    /// Returns the events of a block that begin calls, as far as rows were read.
    pub(super) fn roots(&self, file: u32, block: u32) -> &[u32] {
        self.blocks.get(&(file, block)).map_or(&[], Vec::as_slice)
    }

    /// Returns the offsets after `offset` that rows name in a file.
    pub(super) fn offsets_after(&self, file: u32, offset: u64) -> Vec<u32> {
        let blocks = self.blocks.keys();
        let mut found: Vec<u32> = blocks
            .filter(|&&(of, block)| of == file && u64::from(block) > offset)
            .map(|&(_, block)| block)
            .collect();
        found.sort_unstable();
        found
    }

    /// Takes the row of a call. With `expected`, reads on as far as the window allows; `is_past` tells
    /// of which rows the calls have gone by.
    pub(super) fn take(
        &mut self,
        key: CallPosition,
        expected: bool,
        is_past: &dyn Fn(CallPosition) -> bool,
    ) -> Result<Option<BufferedRow>, Error> {
        if let Some(held) = self.remove(key) {
            return Ok(Some(held));
        }
        if let Some(late) = self.late.remove(&key) {
            return Ok(self.reread(key, late));
        }
        if !expected {
            return Ok(None);
        }
        if self.held.len() >= WINDOW {
            self.evict(is_past);
        }
        while !self.ended && self.held.len() < WINDOW {
            self.fill(WINDOW)?;
            if let Some(held) = self.remove(key) {
                return Ok(Some(held));
            }
        }
        Ok(None)
    }

    /// Reads a late row again.
    fn reread(&self, key: CallPosition, late: Late) -> Option<BufferedRow> {
        let part = usize::try_from(late.part).ok()?;
        let mut pull = self.reader.source.open(part, late.offset).ok()?;
        let mut need = 256;
        loop {
            let chunk = pull.pull(0, need).ok()?;
            let mut cursor = Cursor::new(chunk.bytes, late.offset);
            match Row::read(&mut cursor, late.version, late.names, &self.limits()) {
                Ok(row) => {
                    return Some(BufferedRow {
                        key,
                        time: late.time,
                        dated: late.dated,
                        method: row.method,
                        calls: row.calls,
                        duration: row.duration,
                        version: late.version,
                        names: late.names,
                        thread: late.thread,
                        part: late.part,
                        offset: late.offset,
                        bytes: cursor.slice(0, cursor.position()).into(),
                    });
                }
                Err(error) => match error.kind() {
                    ErrorKind::Truncated { need: more } if !chunk.eof => {
                        need = chunk.bytes.len().saturating_add(more);
                    }
                    _ => return None,
                },
            }
        }
    }

    /// Takes the rows that no tree asked for, a few at a time; empty at the end.
    pub(super) fn leftover(&mut self) -> Result<Vec<BufferedRow>, Error> {
        self.fill(WINDOW)?;
        let mut rows: Vec<BufferedRow> = Vec::new();
        while let Some(key) = self.order.pop_front() {
            rows.extend(self.remove(key));
        }
        if rows.is_empty() && self.ended {
            if self.late_in_order.is_empty() {
                self.late_in_order = self.late.drain().collect();
                let place = |(_, late): &(CallPosition, Late)| (late.part, late.offset);
                self.late_in_order.make_contiguous().sort_by_key(place);
            }
            let n_late = self.late_in_order.len().min(WINDOW);
            let late: Vec<_> = self.late_in_order.drain(..n_late).collect();
            let again = late.into_iter();
            rows.extend(again.filter_map(|(key, late)| self.reread(key, late)));
        }
        Ok(rows)
    }

    /// Shows rows as they are read, holding none; returns how many, 0 at the end.
    pub(super) fn pass(&mut self, each: &mut dyn FnMut(ParsedRow<'_>)) -> Result<usize, Error> {
        self.reader.read(STEP, &mut self.notes, each)
    }

    /// Returns the method of a row that is held.
    pub(super) fn method(&self, key: CallPosition) -> Option<u32> {
        self.held.get(&key).map(|held| held.method)
    }

    /// Holds one row only, wherever it is.
    pub(super) fn only(&mut self, wanted: CallPosition) -> Result<(), Error> {
        let mut found = None;
        while found.is_none() {
            let shown = self.reader.read(WINDOW, &mut self.notes, &mut |seen| {
                if seen.key == wanted && found.is_none() {
                    found = Some(seen.hold());
                }
            })?;
            if shown == 0 {
                break;
            }
        }
        self.ended = true;
        if let Some(held) = found {
            self.held.insert(wanted, held);
        }
        Ok(())
    }
}
