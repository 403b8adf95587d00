//! Records of the binary CPU profile: words of the machine that wrote it (SPEC.md §1).

use traceloom_model::{Flow, Limit, Limits};

use super::maps::Entry;
use crate::lines::{Line, Lines, Next};
use crate::{Chunk, Field, Opaque, Reader, Record, RecordSink, Step, damage};

/// How the words of a file are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Words {
    pub(super) size: usize,
    pub(super) big: bool,
}

/// Words of the header before those that its second one counts.
const HEADER: usize = 2;
/// Words a header may have more than today's three.
const HEADER_WORDS: u64 = 64;

impl Words {
    const ALL: [Self; 4] = [
        Self {
            size: 4,
            big: false,
        },
        Self { size: 4, big: true },
        Self {
            size: 8,
            big: false,
        },
        Self { size: 8, big: true },
    ];

    /// Finds the words in which the first bytes are a header; none when they are no header or too few.
    pub(super) fn detect(head: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|words| {
            let word = |nth: usize| words.get(head, nth);
            let three =
                word(0) == Some(0) && word(1).is_some_and(|n| (3..=HEADER_WORDS).contains(&n));
            three
                && word(2).is_some_and(|version| version < 2)
                && word(3).is_some_and(|period| period > 0 && period < 1 << 32)
                && word(4) == Some(0)
        })
    }

    /// Returns the word at position `nth`.
    pub(super) fn get(self, bytes: &[u8], nth: usize) -> Option<u64> {
        let at = nth.checked_mul(self.size)?;
        let bytes = bytes.get(at..at.checked_add(self.size)?)?;
        match (self.size, self.big) {
            (4, false) => Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?))),
            (4, true) => Some(u64::from(u32::from_be_bytes(bytes.try_into().ok()?))),
            (_, false) => Some(u64::from_le_bytes(bytes.try_into().ok()?)),
            (_, true) => Some(u64::from_be_bytes(bytes.try_into().ok()?)),
        }
    }

    fn put(self, out: &mut Vec<u8>, word: u64) {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = word.to_le_bytes();
        match (self.size, self.big) {
            (4, false) => out.extend([b0, b1, b2, b3]),
            (4, true) => out.extend([b3, b2, b1, b0]),
            (_, false) => out.extend([b0, b1, b2, b3, b4, b5, b6, b7]),
            (_, true) => out.extend([b7, b6, b5, b4, b3, b2, b1, b0]),
        }
    }
}

/// A record: the header, a sample, the end mark, or a line of the map.
#[derive(Clone, Debug)]
pub struct CpuRecord<'a> {
    offset: u64,
    content: Content<'a>,
}

#[derive(Clone, Debug)]
enum Content<'a> {
    Words {
        kind: &'static str,
        words: Words,
        values: Vec<u64>,
    },
    Line {
        text: &'a [u8],
        end: &'a [u8],
        entry: Option<Entry>,
    },
}

impl<'a> CpuRecord<'a> {
    pub(super) fn line(line: &Line<'a>) -> Self {
        Self {
            offset: line.offset,
            content: Content::Line {
                text: line.text,
                end: line.end,
                entry: Entry::parse(line.text),
            },
        }
    }

    /// Returns count and addresses of a sample.
    pub(super) fn sample(&self) -> Option<(u64, &[u64])> {
        match &self.content {
            Content::Words {
                kind: "sample",
                values,
                ..
            } => {
                let (&count, rest) = values.split_first()?;
                Some((count, rest.get(1..)?))
            }
            _ => None,
        }
    }

    /// Returns the words of the header.
    pub(super) fn header(&self) -> Option<&[u64]> {
        match &self.content {
            Content::Words {
                kind: "header",
                values,
                ..
            } => Some(values),
            _ => None,
        }
    }

    /// Returns the text of a line.
    pub(super) fn text(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Line { text, .. } => Some(text),
            Content::Words { .. } => None,
        }
    }
}

/// Shows the fields of a line of the map.
pub(super) fn show_entry(entry: &Entry, show: &mut dyn FnMut(&str, Field<'_>)) {
    show("start", Field::U64(entry.start));
    show("limit", Field::U64(entry.limit));
    show("offset", Field::U64(entry.offset));
    show("permissions", Field::Text(&entry.permissions));
    show("file", Field::Text(&entry.file));
    show("build_id", Field::Text(&entry.build_id));
}

impl Record for CpuRecord<'_> {
    fn kind(&self) -> &'static str {
        match &self.content {
            Content::Words { kind, .. } => kind,
            Content::Line { entry: Some(_), .. } => "mapping",
            Content::Line { .. } => "line",
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        match &self.content {
            Content::Words { words, values, .. } => (values.len() * words.size) as u64,
            Content::Line { text, end, .. } => (text.len() + end.len()) as u64,
        }
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let list = |values: &[u64]| -> Vec<Field<'static>> {
            values.iter().map(|&value| Field::U64(value)).collect()
        };
        match &self.content {
            Content::Words {
                kind: "header",
                words,
                values,
            } => {
                let names = ["", "header_words", "version", "period_us", "padding"];
                show("word_bytes", Field::U64(words.size as u64));
                show("big_endian", Field::Bool(words.big));
                for (&name, &value) in names.iter().zip(values).skip(1) {
                    show(name, Field::U64(value));
                }
                if let Some(more @ [_, ..]) = values.get(names.len()..) {
                    show("more", Field::List(&list(more)));
                }
            }
            Content::Words { values, .. } => {
                show("count", Field::U64(values.first().copied().unwrap_or(0)));
                show("pcs", Field::List(&list(values.get(2..).unwrap_or(&[]))));
            }
            Content::Line {
                entry: Some(entry), ..
            } => show_entry(entry, show),
            Content::Line { text, .. } => show("text", Field::Text(text)),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match &self.content {
            Content::Words { words, values, .. } => {
                values.iter().for_each(|&value| words.put(out, value));
            }
            // Lines of the map are padded with blanks as their writer pleases.
            Content::Line { text, end, .. } => {
                out.extend_from_slice(text);
                out.extend_from_slice(end);
            }
        }
    }
}

/// Reads the binary CPU profile.
#[derive(Clone, Debug)]
pub struct CpuReader {
    state: State,
    words: Words,
    lines: Lines,
    values: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Header,
    Samples,
    Map,
    Lost(&'static str, u64, u64),
}

/// Bytes of damage that one record holds at most.
const BLOCK: usize = 4096;

enum Found<'a> {
    Record(CpuRecord<'a>),
    Damage(&'a [u8]),
    Need(usize),
    End,
}

impl CpuReader {
    /// Builds a reader at the beginning of a part.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            state: State::Header,
            words: Words {
                size: 8,
                big: false,
            },
            lines: Lines::new(limits),
            values: limits.of(Limit::Values),
        }
    }

    fn next<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> Found<'a> {
        if window.is_empty() {
            return Found::End;
        }
        match self.state {
            State::Header => self.header(window, offset, eof),
            State::Samples => self.sample(window, offset, eof),
            State::Map => match self.lines.next(window, offset, eof) {
                Next::Line(line) => Found::Record(CpuRecord::line(&line)),
                Next::Long { bytes, .. } => Found::Damage(bytes),
                Next::Need(need) => Found::Need(need),
                Next::End => Found::End,
            },
            State::Lost(..) if window.len() < BLOCK && !eof => Found::Need(BLOCK),
            State::Lost(..) => Found::Damage(window.get(..BLOCK).unwrap_or(window)),
        }
    }

    fn header<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> Found<'a> {
        if window.len() < 40 && !eof {
            return Found::Need(40);
        }
        let Some(words) = Words::detect(window) else {
            return self.lose("no_header", window, offset, eof);
        };
        self.words = words;
        let more = words.get(window, 1).unwrap_or(0);
        let count = HEADER + usize::try_from(more).unwrap_or(0);
        if window.len() < count * words.size && !eof {
            return Found::Need(count * words.size);
        }
        match self.record("header", window, offset, count) {
            Some(record) => {
                self.state = State::Samples;
                Found::Record(record)
            }
            None => self.lose("truncated", window, offset, eof),
        }
    }

    fn sample<'a>(&mut self, window: &'a [u8], offset: u64, eof: bool) -> Found<'a> {
        let words = self.words;
        if window.len() < 2 * words.size && !eof {
            return Found::Need(2 * words.size);
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
                Found::Need(count * words.size)
            };
        }
        let end = [0, 1, 2].map(|nth| words.get(window, nth)) == [Some(0), Some(1), Some(0)];
        let kind = if end { "end" } else { "sample" };
        if end {
            self.state = State::Map;
        }
        match self.record(kind, window, offset, count) {
            Some(record) => Found::Record(record),
            None => self.lose("truncated", window, offset, eof),
        }
    }

    fn record<'a>(
        &self,
        kind: &'static str,
        window: &'a [u8],
        offset: u64,
        count: usize,
    ) -> Option<CpuRecord<'a>> {
        let values = (0..count).map(|nth| self.words.get(window, nth));
        Some(CpuRecord {
            offset,
            content: Content::Words {
                kind,
                words: self.words,
                values: values.collect::<Option<Vec<u64>>>()?,
            },
        })
    }

    /// Nothing marks the next sample, so all that follows is damage.
    fn lose<'a>(
        &mut self,
        kind: &'static str,
        window: &'a [u8],
        offset: u64,
        eof: bool,
    ) -> Found<'a> {
        self.state = State::Lost(kind, offset, 0);
        self.next(window, offset, eof)
    }

    /// Reads a chunk with records of their own type, for lowering.
    pub(super) fn each(
        &mut self,
        chunk: Chunk<'_>,
        see: &mut dyn FnMut(Result<CpuRecord<'_>, Opaque<'_>>) -> Flow,
        note: &mut dyn FnMut(traceloom_model::Note) -> Flow,
    ) -> Step {
        let mut at = 0;
        loop {
            let window = chunk.bytes.get(at..).unwrap_or(&[]);
            let offset = chunk.offset + at as u64;
            let more = |need| Step::More { consumed: at, need };
            let flow = match self.next(window, offset, chunk.eof) {
                Found::Need(need) => return more(need),
                Found::End => {
                    if let (State::Lost(kind, from, bytes), true) = (self.state, chunk.eof) {
                        let text = "nothing after this place can be read";
                        self.state = State::Map;
                        if note(damage(kind, from, text).counting(bytes)).is_break() {
                            return Step::Stop;
                        }
                    }
                    return more(1);
                }
                Found::Record(record) => {
                    at += usize::try_from(record.len()).unwrap_or(0);
                    see(Ok(record))
                }
                Found::Damage(bytes) => {
                    at += bytes.len();
                    if let State::Lost(_, _, lost) = &mut self.state {
                        *lost += bytes.len() as u64;
                    }
                    see(Err(Opaque::damage(offset, bytes)))
                }
            };
            if flow.is_break() {
                return Step::Stop;
            }
        }
    }
}

impl Reader for CpuReader {
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
