//! Lines of the text profiles: which line means what depends on the lines before it (SPEC.md §2).

use traceloom_model::bounds::subslice;

use super::heap::{self, AllocationCounts, HeapHeader};
use super::maps::MappedRange;
use super::record::{GperfContent, Record, SampleNumbers};
use super::symbols;
use crate::text::lines::Line;

/// What the samples of a text profile look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SampleLayout {
    Heap,
    Jemalloc,
    /// A value and a count: contention, and the heap of Java.
    Pairs,
    Counts,
    /// The first line was damaged: the first sample decides.
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProfileSection {
    /// Before the line that says which profile it is.
    Head,
    Symbols,
    Samples(SampleLayout),
    Map,
    /// Behind a CPU profile of Java.
    Locations,
}

/// Takes the lines of a profile apart, in their order.
#[derive(Clone, Debug)]
pub(super) struct ProfileParser {
    place: ProfileSection,
    /// The words of a CPU profile follow.
    pub(super) words_follow: bool,
}

impl ProfileParser {
    pub(super) fn new() -> Self {
        Self {
            place: ProfileSection::Head,
            words_follow: false,
        }
    }

    /// Goes on behind the words of a CPU profile.
    pub(super) fn after_words(&mut self, java: bool) {
        self.words_follow = false;
        self.place = if java {
            ProfileSection::Locations
        } else {
            ProfileSection::Map
        };
    }

    /// Returns the record of a line, none when it is not what belongs there.
    pub(super) fn line<'a>(&mut self, line: &Line<'a>) -> Option<Record<'a>> {
        let content = self.content(line.text)?;
        Some(Record::line(line, content))
    }

    fn content<'a>(&mut self, text: &'a [u8]) -> Option<GperfContent<'a>> {
        let trimmed = text.trim_ascii();
        if is_map_sentinel(trimmed) && self.place != ProfileSection::Head {
            self.place = ProfileSection::Map;
            return Some(GperfContent::Line);
        }
        if trimmed.is_empty() {
            return Some(GperfContent::Line);
        }
        match self.place {
            ProfileSection::Head => self.head(text),
            ProfileSection::Symbols => self.symbol(text),
            ProfileSection::Samples(shape) => self.sample(shape, text),
            ProfileSection::Map => {
                Some(MappedRange::parse(text).map_or(GperfContent::Line, GperfContent::Mapping))
            }
            ProfileSection::Locations => Some(location(text).unwrap_or(GperfContent::Line)),
        }
    }

    fn head<'a>(&mut self, text: &'a [u8]) -> Option<GperfContent<'a>> {
        if text.starts_with(b"%") || text.starts_with(b"#") {
            return Some(GperfContent::Line);
        }
        self.place = ProfileSection::Samples(SampleLayout::Unknown);
        if let Some(marker) = marker(text) {
            self.place = match marker {
                b"symbol" => ProfileSection::Symbols,
                b"profile" | b"heap" | b"growth" => ProfileSection::Head,
                _ => ProfileSection::Samples(shape_of(marker)?),
            };
            self.words_follow = marker == b"profile";
            return Some(GperfContent::Marker(marker));
        }
        if let Some(header) = HeapHeader::parse(text) {
            self.place = ProfileSection::Samples(SampleLayout::Heap);
            return Some(GperfContent::Heap(header));
        }
        if let Some(rate) = jemalloc(text) {
            self.place = ProfileSection::Samples(SampleLayout::Jemalloc);
            return Some(GperfContent::Jemalloc(rate));
        }
        let (kind, total) = total(text)?;
        self.place = ProfileSection::Samples(SampleLayout::Counts);
        Some(GperfContent::Total(kind, total))
    }

    fn symbol<'a>(&mut self, text: &'a [u8]) -> Option<GperfContent<'a>> {
        if let Some(marker) = marker(text) {
            self.place = ProfileSection::Head;
            return Some(GperfContent::Marker(marker));
        }
        if let Some((address, names)) = symbols::section_line(text) {
            return Some(GperfContent::Symbol(address, names));
        }
        attribute(text)
    }

    fn sample<'a>(&mut self, shape: SampleLayout, text: &'a [u8]) -> Option<GperfContent<'a>> {
        if let Some(labels) = text.strip_prefix(b"# labels: ") {
            return Some(GperfContent::Labels(labels));
        }
        if let Some((address, symbol)) = symbols::comment(text) {
            return Some(GperfContent::Comment(address, symbol));
        }
        if text.trim_ascii_start().starts_with(b"#") {
            return Some(GperfContent::Line);
        }
        let sample = |numbers, rest: &[u8]| {
            let addresses = symbols::addresses(heap::mark(rest, b'@')?)?;
            Some(GperfContent::Sample(numbers, addresses))
        };
        match shape {
            SampleLayout::Heap => {
                let (counts, rest) = AllocationCounts::parse(text)?;
                sample(SampleNumbers::Heap(counts), rest)
            }
            SampleLayout::Jemalloc if text.trim_ascii_start().starts_with(b"@") => {
                sample(SampleNumbers::None, text)
            }
            SampleLayout::Jemalloc => {
                let colon = text.iter().position(|&byte| byte == b':')?;
                let (thread, rest) = text.split_at(colon);
                let (counts, rest) = AllocationCounts::parse(rest.get(1..)?)?;
                let thread = thread.trim_ascii();
                let fits = thread.starts_with(b"t") && rest.trim_ascii().is_empty();
                fits.then_some(GperfContent::Thread(thread, counts))
            }
            SampleLayout::Unknown => {
                let shapes = [
                    SampleLayout::Heap,
                    SampleLayout::Pairs,
                    SampleLayout::Counts,
                    SampleLayout::Jemalloc,
                ];
                shapes.into_iter().find_map(|shape| {
                    let content = self.sample(shape, text)?;
                    if matches!(content, GperfContent::Sample(..)) {
                        self.place = ProfileSection::Samples(shape);
                    }
                    Some(content)
                })
            }
            SampleLayout::Counts => {
                let (count, rest) = heap::number(text)?;
                sample(SampleNumbers::Count(count), rest)
            }
            SampleLayout::Pairs => {
                if let Some(marker) = marker(text) {
                    return Some(GperfContent::Marker(marker));
                }
                let pair = heap::number(text).and_then(|(value, rest)| {
                    let (count, rest) = heap::number(rest)?;
                    sample(SampleNumbers::Pair(value, count), rest)
                });
                pair.or_else(|| location(text))
                    .or_else(|| attribute(text))
                    .or_else(|| kernel_mapping(text))
            }
        }
    }
}

/// Returns what a line holds between `---` and, where it ends so, `---`.
pub(super) fn marker(text: &[u8]) -> Option<&[u8]> {
    let text = text.strip_prefix(b"---")?.trim_ascii();
    Some(text.strip_suffix(b"---").unwrap_or(text).trim_ascii())
}

/// Returns the form of the samples behind a marker.
pub(super) fn shape_of(marker: &[u8]) -> Option<SampleLayout> {
    let word = marker.split(u8::is_ascii_whitespace).next()?;
    let pairs: [&[u8]; 6] = [
        b"contention",
        b"contentionz",
        b"contention:",
        b"mutex:",
        b"heapz",
        b"Stacks:",
    ];
    pairs.contains(&word).then_some(SampleLayout::Pairs)
}

/// Reads `heap_v2/524288`, the whole first line of jemalloc.
pub(super) fn jemalloc(text: &[u8]) -> Option<i64> {
    let (rate, rest) = heap::number(text.strip_prefix(b"heap_v2/")?)?;
    rest.trim_ascii().is_empty().then_some(rate)
}

/// Reads `goroutine profile: total 7`.
pub(super) fn total(text: &[u8]) -> Option<(&[u8], i64)> {
    const TITLE: &[u8] = b" profile: total ";
    let at = text
        .windows(TITLE.len())
        .take(256)
        .position(|part| part == TITLE)?;
    let (kind, rest) = text.split_at(at);
    let (total, rest) = heap::number(rest.get(TITLE.len()..)?)?;
    let word = !kind.is_empty() && !kind.iter().any(u8::is_ascii_whitespace);
    (word && rest.trim_ascii().is_empty()).then_some((kind, total))
}

fn is_map_sentinel(text: &[u8]) -> bool {
    [&b"--- Memory map:"[..], b"MAPPED_LIBRARIES:"]
        .iter()
        .any(|sentinel| text.starts_with(sentinel))
}

fn attribute(text: &[u8]) -> Option<GperfContent<'_>> {
    let at = text.iter().position(|&byte| byte == b'=')?;
    let (name, value) = text.split_at(at);
    let name = name.trim_ascii();
    let first = name.first().is_some_and(u8::is_ascii_alphabetic);
    first.then(|| GperfContent::Attribute(name, subslice(value, 1..).trim_ascii()))
}

fn location(text: &[u8]) -> Option<GperfContent<'static>> {
    let (address, symbol) = symbols::location(text)?;
    Some(GperfContent::Location(address, symbol))
}

/// A map without a line before it, as some servers write it behind their samples.
fn kernel_mapping(text: &[u8]) -> Option<GperfContent<'static>> {
    let word = text.trim_ascii().split(u8::is_ascii_whitespace).next()?;
    let entry = MappedRange::parse(text).filter(|_| word.contains(&b'-'))?;
    Some(GperfContent::Mapping(entry))
}
