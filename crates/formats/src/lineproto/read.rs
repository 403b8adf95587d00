//! Lines to records; bad lines are named by number and left behind.

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Flow, Limit, Limits, Note};

use super::record::Point;
use super::scan::{ScanStop, Scanner};
use crate::{Chunk, Opaque, RecordSink, Step, damage};

/// Bytes of one record while a line above the limit is stepped over.
const PIECE: usize = 1 << 20;

/// Reads line protocol.
#[derive(Clone, Debug)]
pub struct Reader {
    limit: usize,
    /// Line ends before `counted`.
    lines: u64,
    counted: u64,
    /// The current line is above the limit.
    skipping: bool,
}

impl Reader {
    /// A reader with these limits in force; [`Limit::Record`] bounds a line.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.size(Limit::Record),
            lines: 0,
            counted: 0,
            skipping: false,
        }
    }

    /// Reads every whole line of `chunk` into a sink that knows points.
    pub(super) fn read_lines(&mut self, chunk: Chunk<'_>, out: &mut impl LineSink) -> Step {
        let consumed = match self.lines(chunk, out) {
            Ok(read) => read,
            Err(stop) => return stop,
        };
        self.count_to(chunk, chunk.offset + consumed as u64);
        let left = chunk.bytes.len() - consumed;
        let need = left.saturating_mul(2).max(4 << 10);
        let need = need.min(self.limit.saturating_add(1));
        Step::More {
            consumed,
            need: if self.skipping { PIECE } else { need },
        }
    }

    /// Reads lines up to the first that is incomplete; returns the bytes read.
    fn lines(&mut self, chunk: Chunk<'_>, out: &mut impl LineSink) -> Result<usize, Step> {
        let mut lines = Lines::new(chunk, self.limit);
        loop {
            if self.skipping && !self.skip(&mut lines, out)? {
                break;
            }
            let step = match lines.next() {
                None | Some(Line::Incomplete) => break,
                Some(Line::Point(point)) => out.point(point),
                Some(Line::Other(record)) => out.other(&record),
                Some(Line::Bad(record, why)) => {
                    let line = self.count_to(chunk, record.offset) + 1;
                    let text = format!("line {line}: {why}");
                    match out.note(damage("bad_line", record.offset, text)) {
                        Flow::Continue(()) => out.other(&record),
                        stop => stop,
                    }
                }
                Some(Line::TooLong) => {
                    self.skipping = true;
                    let offset = chunk.offset + lines.at as u64;
                    let line = self.count_to(chunk, offset) + 1;
                    let text = format!("line {line}: above {} bytes", self.limit);
                    out.note(damage("limit_record", offset, text))
                }
            };
            if step.is_break() {
                return Err(Step::Stop);
            }
        }
        Ok(lines.at)
    }

    /// Counts the line ends before `offset`, each once.
    fn count_to(&mut self, chunk: Chunk<'_>, offset: u64) -> u64 {
        let place = |offset: u64| in_memory(offset - chunk.offset);
        let range = place(self.counted)..place(offset);
        let bytes = subslice(chunk.bytes, range);
        self.lines += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.counted = offset;
        self.lines
    }

    /// Steps over the rest of a line above the limit; false when it goes on after the window.
    fn skip(&mut self, lines: &mut Lines<'_>, out: &mut impl LineSink) -> Result<bool, Step> {
        loop {
            let rest = subslice(lines.chunk.bytes, lines.at..);
            let window = rest.get(..PIECE).unwrap_or(rest);
            let end = memchr::memchr(b'\n', window);
            let piece = match end {
                Some(end) => window.get(..=end).unwrap_or(window),
                None if window.len() == PIECE || lines.chunk.eof => window,
                None => return Ok(false),
            };
            let offset = lines.chunk.offset + lines.at as u64;
            if !piece.is_empty() && out.other(&Opaque::damage(offset, piece)).is_break() {
                return Err(Step::Stop);
            }
            lines.at += piece.len();
            if end.is_some() {
                self.skipping = false;
                return Ok(true);
            }
            if piece.is_empty() {
                return Ok(false);
            }
        }
    }
}

/// Takes lines as they are read; breaking ends the reading.
pub(super) trait LineSink {
    /// Takes a point.
    fn point(&mut self, point: &Point<'_>) -> Flow;

    /// Takes a line, or a piece of one, that is no point.
    fn other(&mut self, record: &Opaque<'_>) -> Flow;

    /// Takes a note.
    fn note(&mut self, note: Note) -> Flow;
}

/// Hands lines on as records.
struct AsRecords<'o>(&'o mut dyn RecordSink);

impl LineSink for AsRecords<'_> {
    fn point(&mut self, point: &Point<'_>) -> Flow {
        self.0.record(point)
    }

    fn other(&mut self, record: &Opaque<'_>) -> Flow {
        self.0.record(record)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.0.note(note)
    }
}

impl crate::Reader for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        self.read_lines(chunk, &mut AsRecords(out))
    }
}

/// One line.
#[derive(Debug)]
pub enum Line<'l, 'a> {
    /// A point.
    Point(&'l Point<'a>),
    /// A comment or a blank line.
    Other(Opaque<'a>),
    /// A line that is no point, and why.
    Bad(Opaque<'a>, &'static str),
    /// The window ends inside the line.
    Incomplete,
    /// The line is above the limit; the walker stays where it is.
    TooLong,
}

/// Walks the lines of a window; the point's vectors are used again for every line.
#[derive(Debug)]
pub struct Lines<'a> {
    chunk: Chunk<'a>,
    at: usize,
    limit: usize,
    point: Point<'a>,
}

impl<'a> Lines<'a> {
    /// Walks the lines of `chunk`; `limit` is the most bytes a line may have.
    #[must_use]
    pub fn new(chunk: Chunk<'a>, limit: usize) -> Self {
        Self {
            chunk,
            at: 0,
            limit,
            point: Point::default(),
        }
    }

    /// Returns true if the line at hand, which the window cuts, is a point as far as it goes: its fields have
    /// begun.
    pub(super) fn begins_point(&mut self) -> bool {
        Scanner::new(self.chunk.bytes, self.at, false).begins_point(&mut self.point)
    }

    /// Reads the next line; none at the end of the window.
    #[expect(
        clippy::should_implement_trait,
        reason = "the line borrows from the walker, which Iterator cannot say"
    )]
    pub fn next(&mut self) -> Option<Line<'_, 'a>> {
        let all = self.chunk.bytes;
        let end = self.at.saturating_add(self.limit).saturating_add(1);
        // One byte above the limit is all that is looked at, so that windows of any size agree.
        let (bytes, eof) = match all.get(..end) {
            Some(cut) if end < all.len() || !self.chunk.eof => (cut, false),
            _ => (all, self.chunk.eof),
        };
        let rest = bytes.get(self.at..)?;
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | 0);
        let first = match rest.first()? {
            b' ' | b'\t' | b'\r' | 0 => rest.iter().find(|byte| !is_blank(byte)),
            first => Some(first),
        };
        let long = rest.len() > self.limit;
        let incomplete = if long {
            Line::TooLong
        } else {
            Line::Incomplete
        };
        let why = match first {
            Some(b'#') => Err("comment"),
            Some(b'\n') | None => Err("blank"),
            Some(_) => Ok(Scanner::new(bytes, self.at, eof).point(&mut self.point)),
        };
        let until_newline = || match memchr::memchr(b'\n', rest) {
            Some(end) => rest.get(..=end),
            None => eof.then_some(rest),
        };
        let offset = self.chunk.offset + self.at as u64;
        let why = match why {
            Ok(Ok(end)) => {
                self.point.offset = offset;
                self.at = end;
                return Some(Line::Point(&self.point));
            }
            Ok(Err(ScanStop::Incomplete)) => return Some(incomplete),
            Ok(Err(ScanStop::Bad(why))) => Ok(why),
            Err(kind) => Err(kind),
        };
        let Some(bytes) = until_newline().filter(|bytes| bytes.len() <= self.limit) else {
            return Some(incomplete);
        };
        self.at += bytes.len();
        Some(match why {
            Ok(why) => Line::Bad(Opaque::damage(offset, bytes), why),
            Err(kind) => Line::Other(Opaque {
                kind,
                offset,
                bytes,
            }),
        })
    }
}
