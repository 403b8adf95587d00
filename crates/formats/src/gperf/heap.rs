//! Records of the text heap profile, a line each (SPEC.md §2).

use traceloom_model::{Flow, Limits};

use super::cpu::show_entry;
use super::maps::Entry;
use crate::lines::{Line, Lines, Next};
use crate::{Chunk, Field, Opaque, Reader, Record, RecordSink, Step, damage};

/// The four numbers that header and samples have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) in_use_objects: i64,
    pub(super) in_use_bytes: i64,
    pub(super) alloc_objects: i64,
    pub(super) alloc_bytes: i64,
}

impl Counts {
    /// Reads `N: N [N: N] @` and returns what follows.
    fn parse(text: &[u8]) -> Option<(Self, &[u8])> {
        let (in_use_objects, rest) = number(text)?;
        let (in_use_bytes, rest) = number(mark(rest, b':')?)?;
        let (alloc_objects, rest) = number(mark(rest, b'[')?)?;
        let (alloc_bytes, rest) = number(mark(rest, b':')?)?;
        let rest = mark(mark(rest, b']')?, b'@')?;
        let counts = Self {
            in_use_objects,
            in_use_bytes,
            alloc_objects,
            alloc_bytes,
        };
        Some((counts, rest))
    }

    fn put(&self, out: &mut Vec<u8>) {
        let Self {
            in_use_objects,
            in_use_bytes,
            alloc_objects,
            alloc_bytes,
        } = self;
        let text =
            format!("{in_use_objects:6}: {in_use_bytes:8} [{alloc_objects:6}: {alloc_bytes:8}] @");
        out.extend(text.bytes());
    }
}

fn number(text: &[u8]) -> Option<(i64, &[u8])> {
    let text = text.trim_ascii_start();
    let digit = |&(at, byte): &(usize, &u8)| byte.is_ascii_digit() || (at == 0 && *byte == b'-');
    let len = text.iter().enumerate().take_while(digit).count();
    let (digits, rest) = text.split_at(len);
    Some((std::str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

fn mark(text: &[u8], mark: u8) -> Option<&[u8]> {
    text.trim_ascii_start().strip_prefix(&[mark])
}

/// The first line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Header<'a> {
    pub(super) counts: Counts,
    /// `heapz_v2`, `heap_v2`, `heapprofile`, `heap`, `growthz` or `fragmentationz`.
    pub(super) kind: &'a [u8],
    pub(super) rate: Option<i64>,
}

const TITLE: &[u8] = b"heap profile:";
const KINDS: [&[u8]; 8] = [
    b"heapz_v2",
    b"heap_v2",
    b"heapprofile",
    b"heap",
    b"growth",
    b"growthz",
    b"fragmentation",
    b"fragmentationz",
];

impl<'a> Header<'a> {
    /// Takes the first line apart; none when it is that of another format.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let (counts, rest) = Counts::parse(line.strip_prefix(TITLE)?)?;
        let rest = rest.trim_ascii();
        let (kind, rate) = match rest.iter().position(|&byte| byte == b'/') {
            Some(at) => (rest.get(..at)?, Some(number(rest.get(at + 1..)?)?.0)),
            None => (rest, None),
        };
        KINDS.contains(&kind).then_some(Self { counts, kind, rate })
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(TITLE);
        out.push(b' ');
        self.counts.put(out);
        out.push(b' ');
        out.extend_from_slice(self.kind);
        if let Some(rate) = self.rate {
            out.extend(format!("/{rate}").bytes());
        }
    }
}

/// A line of the profile.
#[derive(Clone, Debug)]
pub struct HeapRecord<'a> {
    offset: u64,
    text: &'a [u8],
    end: &'a [u8],
    pub(super) content: Content<'a>,
    /// The line is written from its fields.
    plain: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Content<'a> {
    Header(Header<'a>),
    Sample(Counts, Vec<u64>),
    Mapping(Entry),
    Line,
}

/// Where in the file a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Header,
    Samples,
    Map,
}

impl<'a> HeapRecord<'a> {
    /// The line without its end.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }
}

/// Takes the lines of a heap profile apart, in their order.
#[derive(Clone, Debug)]
pub(super) struct Parser {
    part: Part,
}

impl Parser {
    pub(super) fn new() -> Self {
        Self { part: Part::Header }
    }

    /// Returns the record of a line, none when it is not what belongs there.
    pub(super) fn line<'a>(&mut self, line: &Line<'a>) -> Option<HeapRecord<'a>> {
        let text = line.text;
        let quiet = text.trim_ascii().is_empty() || text.trim_ascii().starts_with(b"#");
        let sentinel = [&b"--- Memory map: ---"[..], b"MAPPED_LIBRARIES:"]
            .iter()
            .any(|mark| text.windows(mark.len()).any(|part| part == *mark));
        let content = match self.part {
            Part::Header => {
                self.part = Part::Samples;
                Content::Header(Header::parse(text)?)
            }
            _ if quiet => Content::Line,
            Part::Samples if sentinel => {
                self.part = Part::Map;
                Content::Line
            }
            Part::Samples => sample(text)?,
            Part::Map => Entry::parse(text).map_or(Content::Line, Content::Mapping),
        };
        let mut written = Vec::new();
        match &content {
            Content::Header(header) => header.put(&mut written),
            Content::Sample(counts, addresses) => put_sample(&mut written, counts, addresses),
            Content::Mapping(_) | Content::Line => {}
        }
        Some(HeapRecord {
            offset: line.offset,
            text,
            end: line.end,
            content,
            plain: written == text,
        })
    }
}

fn sample<'a>(text: &[u8]) -> Option<Content<'a>> {
    let (counts, rest) = Counts::parse(text)?;
    let addresses = rest
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| {
            let digits = word.strip_prefix(b"0x")?;
            u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        });
    Some(Content::Sample(counts, addresses.collect::<Option<_>>()?))
}

fn put_sample(out: &mut Vec<u8>, counts: &Counts, addresses: &[u64]) {
    counts.put(out);
    for address in addresses {
        out.extend(format!(" {address:#x}").bytes());
    }
}

impl Record for HeapRecord<'_> {
    fn kind(&self) -> &'static str {
        match self.content {
            Content::Header(_) => "header",
            Content::Sample(..) => "sample",
            Content::Mapping(_) => "mapping",
            Content::Line => "line",
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        (self.text.len() + self.end.len()) as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        let counts = |counts: &Counts, show: &mut dyn FnMut(&str, Field<'_>)| {
            show("in_use_objects", Field::I64(counts.in_use_objects));
            show("in_use_bytes", Field::I64(counts.in_use_bytes));
            show("alloc_objects", Field::I64(counts.alloc_objects));
            show("alloc_bytes", Field::I64(counts.alloc_bytes));
        };
        match &self.content {
            Content::Header(header) => {
                counts(&header.counts, show);
                show("profile", Field::Text(header.kind));
                show("rate", header.rate.map_or(Field::Null, Field::I64));
            }
            Content::Sample(values, addresses) => {
                counts(values, show);
                let list: Vec<_> = addresses.iter().map(|&at| Field::U64(at)).collect();
                show("addresses", Field::List(&list));
            }
            Content::Mapping(entry) => show_entry(entry, show),
            Content::Line => show("text", Field::Text(self.text)),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match &self.content {
            Content::Header(header) if self.plain => header.put(out),
            Content::Sample(counts, addresses) if self.plain => put_sample(out, counts, addresses),
            _ => out.extend_from_slice(self.text),
        }
        out.extend_from_slice(self.end);
    }
}

/// Reads the text heap profile.
#[derive(Clone, Debug)]
pub struct HeapReader {
    lines: Lines,
    parser: Parser,
}

impl HeapReader {
    /// Builds a reader at the beginning of a part.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            lines: Lines::new(limits),
            parser: Parser::new(),
        }
    }

    fn line(&mut self, line: &Line<'_>, out: &mut dyn RecordSink) -> Flow {
        if let Some(record) = self.parser.line(line) {
            return out.record(&record);
        }
        let mut bytes = line.text.to_vec();
        bytes.extend_from_slice(line.end);
        out.record(&Opaque::damage(line.offset, &bytes))?;
        out.note(no_sample(line))
    }
}

/// The note about a line that is no sample.
pub(super) fn no_sample(line: &Line<'_>) -> traceloom_model::Note {
    let text = "a line is neither header nor sample";
    damage("no_sample", line.offset, text).counting(line.len() as u64)
}

impl Reader for HeapReader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let mut at = 0;
        loop {
            let window = chunk.bytes.get(at..).unwrap_or(&[]);
            let next = self.lines.next(window, chunk.offset + at as u64, chunk.eof);
            let flow = match next {
                Next::Need(need) => return Step::More { consumed: at, need },
                Next::End => {
                    return Step::More {
                        consumed: at,
                        need: 1,
                    };
                }
                Next::Line(line) => {
                    at += line.len();
                    self.line(&line, out)
                }
                Next::Long {
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
}
