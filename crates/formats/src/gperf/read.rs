//! Bytes to records: lines, and the words of the CPU profile between them.

use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limit, Limits, Note};

use super::record::Record;
use super::text::ProfileParser;
use super::words::{HEADER, WordEncoding};
use crate::text::lines::{LineSplitter, LineStep};
use crate::{Chunk, Opaque, RecordSink, Step, damage};

/// Reads every profile of this folder.
#[derive(Clone, Debug)]
pub struct Reader {
    state: ReadState,
    words: WordEncoding,
    java: bool,
    lines: LineSplitter,
    parser: ProfileParser,
    values: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReadState {
    /// Nothing was read: words or lines.
    Start,
    Header,
    Samples,
    Text,
    Lost(&'static str, u64, u64),
}

/// Bytes of damage that one record holds at most.
const BLOCK: usize = 4096;

/// Bytes of the shortest header with words of 8 bytes.
const SHORTEST: usize = 40;

enum FoundRecord<'a> {
    Record(Record<'a>),
    Damage(&'a [u8], Option<Note>),
    Need(usize),
    End,
}

/// Returns `true` if a profile begins with a line. The words of a header are mostly zero bytes.
fn begins_with_text(window: &[u8]) -> bool {
    let head = window.get(..SHORTEST).unwrap_or(window);
    let printable = |byte: &u8| *byte >= b' ' || byte.is_ascii_whitespace();
    let n_zeros = head.iter().filter(|&&byte| byte == 0).count();
    head.first().is_some_and(printable) && n_zeros < 4
}

impl Reader {
    /// Builds a reader at the beginning of a part.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            state: ReadState::Start,
            words: WordEncoding {
                size: 8,
                big: false,
            },
            java: false,
            lines: LineSplitter::new(limits),
            parser: ProfileParser::new(),
            values: limits.of(Limit::Values),
        }
    }

    fn next<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> FoundRecord<'a> {
        if window.is_empty() {
            return FoundRecord::End;
        }
        match self.state {
            ReadState::Start if window.len() < SHORTEST && !eof => FoundRecord::Need(SHORTEST),
            ReadState::Start => {
                let text = begins_with_text(window);
                self.state = if text {
                    ReadState::Text
                } else {
                    ReadState::Header
                };
                self.next(window, offset, eof)
            }
            ReadState::Header => self.header(window, offset, eof),
            ReadState::Samples => self.sample(window, offset, eof),
            ReadState::Text => self.line(window, offset, eof),
            ReadState::Lost(..) if window.len() < BLOCK && !eof => FoundRecord::Need(BLOCK),
            ReadState::Lost(..) => {
                let bytes = window.get(..BLOCK).unwrap_or(window);
                if let ReadState::Lost(_, _, lost) = &mut self.state {
                    *lost += bytes.len() as u64;
                }
                FoundRecord::Damage(bytes, None)
            }
        }
    }

    fn line<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> FoundRecord<'a> {
        match self.lines.next(window, offset, eof) {
            LineStep::Line(line) => match self.parser.line(&line) {
                Some(record) => {
                    if self.parser.words_follow {
                        self.state = ReadState::Header;
                    }
                    FoundRecord::Record(record)
                }
                None => {
                    let text = "a line is neither header nor sample";
                    let note = damage("no_sample", line.offset, text).counting(line.len() as u64);
                    FoundRecord::Damage(window.get(..line.len()).unwrap_or(window), Some(note))
                }
            },
            LineStep::Long { bytes, note, .. } => {
                FoundRecord::Damage(bytes, note.map(|note| *note))
            }
            LineStep::Need(need) => FoundRecord::Need(need),
            LineStep::End => FoundRecord::End,
        }
    }

    fn header<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> FoundRecord<'a> {
        if window.len() < SHORTEST && !eof {
            return FoundRecord::Need(SHORTEST);
        }
        let Some(words) = WordEncoding::detect(window) else {
            return self.lose("no_header", window, offset, eof);
        };
        self.words = words;
        self.java = words.get(window, 2) == Some(1);
        let more = words.get(window, 1).unwrap_or(0);
        let count = HEADER + usize::try_from(more).unwrap_or(0);
        if window.len() < count * words.size && !eof {
            return FoundRecord::Need(count * words.size);
        }
        match self.record("header", window, offset, count) {
            Some(record) => {
                self.state = ReadState::Samples;
                FoundRecord::Record(record)
            }
            None => self.lose("truncated", window, offset, eof),
        }
    }

    fn sample<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> FoundRecord<'a> {
        let words = self.words;
        if window.len() < 2 * words.size && !eof {
            return FoundRecord::Need(2 * words.size);
        }
        let Some(depth) = words.get(window, 1) else {
            return self.lose("truncated", window, offset, eof);
        };
        if depth > self.values {
            return self.lose("limit_values", window, offset, eof);
        }
        let count = 2 + usize::try_from(depth).unwrap_or(0);
        if window.len() < count * words.size {
            return if eof {
                self.lose("truncated", window, offset, eof)
            } else {
                FoundRecord::Need(count * words.size)
            };
        }
        let end = [0, 1, 2].map(|nth| words.get(window, nth)) == [Some(0), Some(1), Some(0)];
        let kind = if end { "end" } else { "sample" };
        if end {
            self.state = ReadState::Text;
            self.parser.after_words(self.java);
        }
        match self.record(kind, window, offset, count) {
            Some(record) => FoundRecord::Record(record),
            None => self.lose("truncated", window, offset, eof),
        }
    }

    fn record<'a>(
        &self,
        kind: &'static str,
        window: &'a [u8],
        offset: u64,
        count: usize,
    ) -> Option<Record<'a>> {
        let values = (0..count).map(|nth| self.words.get(window, nth));
        let values = values.collect::<Option<Vec<u64>>>()?;
        Some(Record::words(offset, kind, self.words, values))
    }

    /// Nothing marks the next sample, so all that follows is damage.
    fn lose<'a>(
        &mut self,
        kind: &'static str,
        window: &'a [u8],
        offset: u64,
        eof: bool,
    ) -> FoundRecord<'a> {
        self.state = ReadState::Lost(kind, offset, 0);
        self.next(window, offset, eof)
    }

    /// Reads a chunk with records of their own type, for lowering.
    pub(super) fn each(
        &mut self,
        chunk: Chunk<'_>,
        see: &mut dyn FnMut(Result<Record<'_>, Opaque<'_>>) -> Flow,
        note: &mut dyn FnMut(Note) -> Flow,
    ) -> Step {
        let mut at = 0;
        loop {
            let window = subslice(chunk.bytes, at..);
            let offset = chunk.offset + at as u64;
            let more = |need| Step::More { consumed: at, need };
            let flow = match self.next(window, offset, chunk.eof) {
                FoundRecord::Need(need) => return more(need),
                FoundRecord::End => {
                    if let (ReadState::Lost(kind, from, bytes), true) = (self.state, chunk.eof) {
                        let text = "nothing after this place can be read";
                        self.state = ReadState::Text;
                        if note(damage(kind, from, text).counting(bytes)).is_break() {
                            return Step::Stop;
                        }
                    }
                    return more(1);
                }
                FoundRecord::Record(record) => {
                    at += usize::try_from(crate::Record::len(&record)).unwrap_or(0);
                    see(Ok(record))
                }
                FoundRecord::Damage(bytes, said) => {
                    at += bytes.len();
                    let flow = see(Err(Opaque::damage(offset, bytes)));
                    match said {
                        Some(said) if flow.is_continue() => note(said),
                        _ => flow,
                    }
                }
            };
            if flow.is_break() {
                return Step::Stop;
            }
        }
    }
}

impl crate::Reader for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let out = std::cell::RefCell::new(out);
        self.each(
            chunk,
            &mut |record| match record {
                Ok(record) => out.borrow_mut().record(&record),
                Err(opaque) => out.borrow_mut().record(&opaque),
            },
            &mut |note| out.borrow_mut().note(note),
        )
    }
}
