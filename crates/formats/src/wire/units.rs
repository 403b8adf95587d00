//! The loop of readers of whole units: whole units out, torn tails and damage kept.

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

    /// Says what is missing at the end of the input.
    fn finish(&mut self, _offset: u64, _out: &mut dyn RecordSink) -> Flow {
        Flow::Continue(())
    }
}

#[derive(Clone)]
struct Skip {
    note: Note,
    recovery: Recovery,
    skipped: u64,
    /// Bytes after the last piece that are known to hold no unit.
    scanned: usize,
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

    /// Emits skipped bytes until a unit begins; says how many bytes more it needs to go on.
    fn skip(
        &mut self,
        cursor: &mut Cursor<'_>,
        eof: bool,
        out: &mut dyn RecordSink,
    ) -> Result<Flow, usize> {
        let Some(skip) = &mut self.skip else {
            return Ok(Flow::Continue(()));
        };
        loop {
            let rest = cursor.rest();
            let reach = rest.len().min(PIECE);
            let mut hit = false;
            let mut need = None;
            if skip.recovery == Recovery::Rest {
                skip.scanned = reach;
            }
            while skip.scanned < reach {
                // The first byte of the damage was tried already.
                let first = skip.skipped == 0 && skip.scanned == 0;
                let at = rest.get(skip.scanned..).unwrap_or(&[]);
                match self.units.sync(at, eof) {
                    Sync::Hit if !first => {
                        hit = true;
                        break;
                    }
                    Sync::Need(bytes) if !eof => {
                        need = Some(skip.scanned.saturating_add(bytes));
                        break;
                    }
                    _ => skip.scanned += 1,
                }
            }
            let whole = hit || skip.scanned == PIECE || (eof && skip.scanned == rest.len());
            if !whole {
                return Err(need.unwrap_or(PIECE).max(rest.len() + 1));
            }
            let piece = rest.get(..skip.scanned).unwrap_or(&[]);
            if !piece.is_empty() {
                let record = Opaque::damage(cursor.offset(), piece);
                cursor.seek(cursor.position() + piece.len());
                skip.skipped += piece.len() as u64;
                skip.scanned = 0;
                if out.record(&record).is_break() {
                    return Ok(Flow::Break(()));
                }
            }
            if hit || (eof && cursor.is_empty()) {
                let note = skip.note.clone().counting(skip.skipped);
                self.skip = None;
                return Ok(out.note(note));
            }
        }
    }
}

impl<U: Units> Reader for Stream<U> {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let mut cursor = Cursor::new(chunk.bytes, chunk.offset);
        loop {
            let start = cursor.position();
            if self.skip.is_some() {
                match self.skip(&mut cursor, chunk.eof, out) {
                    Ok(Flow::Continue(())) => continue,
                    Ok(Flow::Break(())) => return Step::Stop,
                    Err(need) => {
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
                    let (note, recovery) = self.units.failed(&error, cursor.offset(), have);
                    self.skip = Some(Skip {
                        note,
                        recovery,
                        skipped: 0,
                        scanned: 0,
                    });
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
