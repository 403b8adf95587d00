//! The loop of readers of whole units: whole units out, torn tails and damage kept.

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Note};

use crate::wire::Cursor;
use crate::{Chunk, Error, ErrorKind, Opaque, Reader, RecordSink, Step};

/// Skipped bytes become records of at most this size, counted from where the damage begins: neither a
/// cut of the input nor a damaged tail of gigabytes can change or swell them.
const PIECE: usize = 64 << 10;

/// How reading goes on after bytes that are no unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recovery {
    /// Nothing after them can be told apart.
    Rest,
    /// A later unit can be recognised by [`Units::sync`].
    Sync,
}

/// Whether a unit begins at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sync {
    /// It does.
    Hit,
    /// It does not.
    Miss,
    /// So many bytes from the place on would tell.
    Need(usize),
}

/// One stream: a unit is what is read or damaged as a whole.
pub(crate) trait Units {
    /// Reads one unit and emits its records.
    ///
    /// An error must leave `self` as it was: the unit is shown again with more bytes behind it.
    fn unit(
        &mut self,
        cursor: &mut Cursor<'_>,
        eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, Error>;

    /// Says what an undecodable unit of which `rest` bytes are left means, and how to go on.
    fn failed(&mut self, error: &Error, offset: u64, rest: usize) -> (Note, Recovery);

    /// Looks for a unit at the start of `bytes`, after [`Recovery::Sync`].
    fn sync(&mut self, _bytes: &[u8], _eof: bool) -> Sync {
        Sync::Miss
    }

    /// Returns true if [`Units::sync`] may find a unit where [`Units::unit`] failed.
    fn tries_again(&self) -> bool {
        false
    }

    /// Says what is missing at the end of the input.
    fn finish(&mut self, _offset: u64, _out: &mut dyn RecordSink) -> Flow {
        Flow::Continue(())
    }
}

/// Damage that is passed over to the next unit.
#[derive(Clone)]
pub(crate) struct Skip {
    note: Note,
    recovery: Recovery,
    skipped: u64,
    /// Bytes after the last piece that are known to hold no unit.
    scanned: usize,
    /// A unit may begin where the damage does: it was tried under other conditions.
    tries_again: bool,
}

/// How far a window brought [`Skip::pass`].
pub(crate) enum Passed {
    /// To a unit, or to the end of the input.
    Over(Note),
    /// To the window's end: it must have so many bytes.
    Need(usize),
    /// Whoever takes the pieces wants no more.
    Stopped,
}

impl Skip {
    pub(crate) fn new((note, recovery): (Note, Recovery), tries_again: bool) -> Self {
        Self {
            note,
            recovery,
            skipped: 0,
            scanned: 0,
            tries_again,
        }
    }

    /// Moves the cursor to the next unit, which `sync` recognises, and shows the bytes before it.
    pub(crate) fn pass(
        &mut self,
        cursor: &mut Cursor<'_>,
        eof: bool,
        sync: &mut dyn FnMut(&[u8], u64) -> Sync,
        piece: &mut dyn FnMut(&Opaque<'_>) -> Flow,
    ) -> Passed {
        loop {
            let rest = cursor.rest();
            let reach = rest.len().min(PIECE);
            let mut hit = false;
            let mut need = None;
            if self.recovery == Recovery::Rest {
                self.scanned = reach;
            }
            while self.scanned < reach {
                // The first byte of the damage was tried already.
                let first = self.skipped == 0 && self.scanned == 0 && !self.tries_again;
                let at = subslice(rest, self.scanned..);
                let offset = cursor.offset() + self.scanned as u64;
                match sync(at, offset) {
                    Sync::Hit if !first => {
                        hit = true;
                        break;
                    }
                    Sync::Need(bytes) if !eof => {
                        need = Some(self.scanned.saturating_add(bytes));
                        break;
                    }
                    _ => self.scanned += 1,
                }
            }
            let whole = hit || self.scanned == PIECE || (eof && self.scanned == rest.len());
            if !whole {
                return Passed::Need(need.unwrap_or(PIECE).max(rest.len() + 1));
            }
            let bytes = subslice(rest, ..self.scanned);
            if !bytes.is_empty() {
                let record = Opaque::damage(cursor.offset(), bytes);
                cursor.seek(cursor.position() + bytes.len());
                self.skipped += bytes.len() as u64;
                self.scanned = 0;
                if piece(&record).is_break() {
                    return Passed::Stopped;
                }
            }
            if hit || (eof && cursor.is_empty()) {
                return Passed::Over(self.note.clone().counting(self.skipped));
            }
        }
    }
}

/// The reader of a stream of units.
#[derive(Clone)]
pub(crate) struct Stream<U> {
    units: U,
    skip: Option<Skip>,
}

impl<U: Units> Stream<U> {
    pub(crate) const fn new(units: U) -> Self {
        Self { units, skip: None }
    }
}

impl<U: Units> Reader for Stream<U> {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let mut cursor = Cursor::new(chunk.bytes, chunk.offset);
        loop {
            let start = cursor.position();
            if let Some(skip) = &mut self.skip {
                let mut sync = |bytes: &[u8], _| self.units.sync(bytes, chunk.eof);
                let mut piece = |record: &Opaque<'_>| out.record(record);
                match skip.pass(&mut cursor, chunk.eof, &mut sync, &mut piece) {
                    Passed::Over(note) => {
                        self.skip = None;
                        match out.note(note) {
                            Flow::Continue(()) => continue,
                            Flow::Break(()) => return Step::Stop,
                        }
                    }
                    Passed::Stopped => return Step::Stop,
                    Passed::Need(need) => {
                        let consumed = cursor.position();
                        return Step::More { consumed, need };
                    }
                }
            }
            if cursor.is_empty() {
                if chunk.eof && self.units.finish(cursor.offset(), out).is_break() {
                    return Step::Stop;
                }
                return Step::More {
                    consumed: start,
                    need: 1,
                };
            }
            match self.units.unit(&mut cursor, chunk.eof, out) {
                Ok(Flow::Continue(())) => {}
                Ok(Flow::Break(())) => return Step::Stop,
                Err(error) => {
                    cursor.seek(start);
                    let have = cursor.rest().len();
                    if let (ErrorKind::Truncated { need }, false) = (error.kind(), chunk.eof) {
                        return Step::More {
                            consumed: start,
                            need: have.saturating_add(need),
                        };
                    }
                    let failed = self.units.failed(&error, cursor.offset(), have);
                    self.skip = Some(Skip::new(failed, self.units.tries_again()));
                }
            }
        }
    }
}

/// The note for a unit that is not whole: the last write of a file, cut, or damage.
///
/// A tail that claims much more than any agent writes is not a write cut short (`cdt/SPEC.md` §5.2, §12).
pub(crate) fn tail(what: &'static str, error: &Error, offset: u64, rest: usize) -> Note {
    /// Twice the longest string an agent keeps of a parameter, 50,000 code units.
    const PLAUSIBLE: usize = 200_000;
    match error.kind() {
        ErrorKind::Truncated { need } if rest.saturating_add(need) <= PLAUSIBLE => crate::warn(
            "partial_record",
            offset,
            format!("the input ends inside a {what}: {error}"),
        ),
        ErrorKind::Limit => crate::damage("limit_string", offset, error.to_string()),
        ErrorKind::Unsupported => crate::damage("unsupported_version", offset, error.to_string()),
        _ => crate::damage(
            "undecodable",
            offset,
            format!("no {what} can be read here: {error}"),
        ),
    }
}
