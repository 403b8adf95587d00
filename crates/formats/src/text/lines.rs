//! Lines of text formats: found chunk by chunk, of any length.

use memchr::memchr;
use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limit, Limits, Note};

use crate::codec::each_window;
use crate::{Chunk, Opaque, RecordSink, Step, damage};

/// One line as it lies in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) offset: u64,
    /// The line without its end.
    pub(crate) text: &'a [u8],
    /// `\n`, `\r\n` or, at the end of the input, nothing.
    pub(crate) end: &'a [u8],
}

impl Line<'_> {
    pub(crate) fn len(&self) -> usize {
        self.text.len() + self.end.len()
    }
}

/// What lies at a place of the input.
#[derive(Debug)]
pub(crate) enum LineStep<'a> {
    Line(Line<'a>),
    /// A piece of a line above the limit; the note comes with its last piece.
    Long {
        offset: u64,
        bytes: &'a [u8],
        note: Option<Box<Note>>,
    },
    /// The window must hold so many bytes.
    Need(usize),
    /// The window is used up.
    End,
}

/// Bytes of a line above the limit that one piece holds at most.
const BLOCK: usize = 64 << 10;

/// Finds lines.
#[derive(Clone, Debug)]
pub(crate) struct LineSplitter {
    limit: usize,
    /// Offset and length so far of a line above the limit.
    long: Option<(u64, u64)>,
    /// Where the window began when its bytes were last searched in vain, and how many.
    searched: (u64, usize),
}

impl LineSplitter {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limit: limits.size(Limit::Record),
            long: None,
            searched: (0, 0),
        }
    }

    /// Looks at the first bytes of a window that lies at `offset`.
    #[inline]
    pub(crate) fn next<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> LineStep<'a> {
        if let Some((start, length)) = self.long {
            return self.rest_of_long(window, offset, eof, start, length);
        }
        if window.is_empty() {
            return LineStep::End;
        }
        let from = match self.searched {
            (start, searched) if start == offset => searched.min(window.len()),
            _ => 0,
        };
        let found = memchr(b'\n', subslice(window, from..)).map(|at| from + at);
        let length = found.map_or(window.len(), |at| at + 1);
        if length > self.limit {
            self.long = Some((offset, 0));
            return self.rest_of_long(window, offset, eof, offset, 0);
        }
        if found.is_none() && !eof {
            self.searched = (offset, window.len());
            // Twice as much as before: a long line is copied and searched a bounded number of times.
            let more = window.len().saturating_mul(2).max(256);
            return LineStep::Need(more.min(self.limit.saturating_add(1)).max(window.len() + 1));
        }
        let line = window.get(..length).unwrap_or(window);
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = match text.strip_suffix(b"\r") {
            Some(text) if found.is_some() => text,
            _ => text,
        };
        LineStep::Line(Line {
            offset,
            text,
            end: subslice(line, text.len()..),
        })
    }

    fn rest_of_long<'a>(
        &mut self,
        window: &'a [u8],
        offset: u64,
        eof: bool,
        start: u64,
        length: u64,
    ) -> LineStep<'a> {
        if window.len() < BLOCK && !eof {
            return LineStep::Need(BLOCK);
        }
        let block = window.get(..BLOCK).unwrap_or(window);
        let found = memchr(b'\n', block);
        let bytes = match found {
            Some(at) => block.get(..=at).unwrap_or(block),
            None => block,
        };
        let length = length + bytes.len() as u64;
        let over = found.is_some() || (eof && bytes.len() == window.len());
        self.long = (!over).then_some((start, length));
        let note = over.then(|| {
            let text = format!("a line of {length} bytes, the limit is {}", self.limit);
            Box::new(damage("limit_record", start, text).counting(length))
        });
        LineStep::Long {
            offset,
            bytes,
            note,
        }
    }
}

/// Reads the lines of a chunk: each goes to `take`, pieces of lines above the limit out as damage.
pub(crate) fn read(
    lines: &mut LineSplitter,
    chunk: Chunk<'_>,
    out: &mut dyn RecordSink,
    mut take: impl FnMut(&Line<'_>, &mut dyn RecordSink) -> Flow,
) -> Step {
    let mut at = 0;
    loop {
        let window = subslice(chunk.bytes, at..);
        let flow = match lines.next(window, chunk.offset + at as u64, chunk.eof) {
            LineStep::Need(need) => return Step::More { consumed: at, need },
            LineStep::End => {
                return Step::More {
                    consumed: at,
                    need: 1,
                };
            }
            LineStep::Line(line) => {
                at += line.len();
                take(&line, out)
            }
            LineStep::Long {
                offset,
                bytes,
                note,
            } => {
                at += bytes.len();
                let flow = out.record(&Opaque::damage(offset, bytes));
                match note {
                    Some(note) if flow.is_continue() => out.note(*note),
                    _ => flow,
                }
            }
        };
        if flow.is_break() {
            return Step::Stop;
        }
    }
}

/// Emits a line that is none of its format, with the note that says so.
pub(crate) fn unread(line: &Line<'_>, note: Note, out: &mut dyn RecordSink) -> Flow {
    let mut bytes = line.text.to_vec();
    bytes.extend_from_slice(line.end);
    out.record(&Opaque::damage(line.offset, &bytes))?;
    out.note(note)
}

/// Shows each line of a part, and each note about lines above the limit.
///
/// Returns false when `see` broke.
///
/// # Errors
/// What the pull fails with.
pub(crate) fn each(
    pull: &mut dyn crate::Pull,
    limits: &Limits,
    see: &mut dyn FnMut(Result<Line<'_>, Note>) -> Flow,
) -> Result<bool, crate::Error> {
    let mut lines = LineSplitter::new(limits);
    each_window(pull, 1, |chunk| {
        let mut at = 0;
        let need = loop {
            let window = subslice(chunk.bytes, at..);
            let flow = match lines.next(window, chunk.offset + at as u64, chunk.eof) {
                LineStep::Line(line) => {
                    at += line.len();
                    see(Ok(line))
                }
                LineStep::Long { bytes, note, .. } => {
                    at += bytes.len();
                    note.map_or(Flow::Continue(()), |note| see(Err(*note)))
                }
                LineStep::Need(need) => break need,
                LineStep::End => break 1,
            };
            if flow.is_break() {
                return Step::Stop;
            }
        };
        Step::More { consumed: at, need }
    })
}

/// Reads a decimal number that is written as this crate writes it: no sign but a minus, no zero in
/// front.
pub(crate) fn canonical(text: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn lines(text: &[u8], limits: &Limits, cut: usize) -> Vec<(u64, Vec<u8>, Vec<u8>)> {
        let mut all = Vec::new();
        let mut lines = LineSplitter::new(limits);
        let (mut start, mut end) = (0, cut.min(text.len()));
        loop {
            let eof = end == text.len();
            let need = match lines.next(&text[start..end], start as u64, eof) {
                LineStep::Line(line) => {
                    start += line.len();
                    all.push((line.offset, line.text.to_vec(), line.end.to_vec()));
                    continue;
                }
                LineStep::Long {
                    offset,
                    bytes,
                    note,
                } => {
                    start += bytes.len();
                    let note = note.map_or(String::new(), |note| note.text);
                    all.push((offset, note.into_bytes(), b"long".to_vec()));
                    continue;
                }
                LineStep::Need(need) => need,
                LineStep::End => 1,
            };
            if eof {
                return all;
            }
            end = (start + need).max(end + cut).min(text.len());
        }
    }

    #[test]
    fn ends_and_cuts() {
        let text = b"a\r\n\n\rb\nc\r";
        let row = |offset, text: &[u8], end: &[u8]| (offset, text.to_vec(), end.to_vec());
        let expected = [
            row(0, b"a", b"\r\n"),
            row(3, b"", b"\n"),
            row(4, b"\rb", b"\n"),
            row(7, b"c\r", b""),
        ];
        for cut in 1..=text.len() {
            assert_eq!(lines(text, &Limits::default(), cut), expected);
        }
    }

    #[test]
    fn a_line_above_the_limit_is_stepped_over() {
        let mut limits = Limits::default();
        limits.set("record", 10).unwrap();
        let mut text = vec![b'x'; 200_000];
        text.extend(b"\nshort\n");
        let whole = lines(&text, &limits, text.len());
        assert_eq!(whole.len(), 5);
        assert_eq!(whole[3].1, b"a line of 200001 bytes, the limit is 10");
        assert_eq!(whole[4].1, b"short");
        assert_eq!(lines(&text, &limits, 1000), whole);
    }
}
