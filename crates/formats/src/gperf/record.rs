//! A record: some words of the CPU profile, or a line.

use traceloom_model::bounds::subslice;

use super::heap::{AllocationCounts, HeapHeader};
use super::maps::MappedRange;
use super::symbols::AddressSymbol;
use super::words::WordEncoding;
use crate::Field;
use crate::text::lines::Line;

/// The numbers of a sample in text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SampleNumbers {
    /// `objects: bytes [objects: bytes] @`.
    Heap(AllocationCounts),
    /// `value count @`: a delay or bytes, and how often.
    Pair(i64, i64),
    /// `count @`.
    Count(i64),
    /// `@`, with the numbers on the lines below.
    None,
}

#[derive(Clone, Debug)]
pub(super) enum GperfContent<'a> {
    /// The header, a sample or the end of a CPU profile.
    Words {
        kind: &'static str,
        words: WordEncoding,
        values: Vec<u64>,
    },
    /// A line that begins with `---`, without its dashes.
    Marker(&'a [u8]),
    Heap(HeapHeader<'a>),
    /// The first line of jemalloc, `heap_v2/RATE`.
    Jemalloc(i64),
    /// The first line of a profile of counts.
    Total(&'a [u8], i64),
    Attribute(&'a [u8], &'a [u8]),
    Sample(SampleNumbers, Vec<u64>),
    /// What a thread of jemalloc, or all of them (`t*`), have.
    Thread(&'a [u8], AllocationCounts),
    Symbol(u64, &'a [u8]),
    Comment(u64, Option<AddressSymbol>),
    Labels(&'a [u8]),
    Location(u64, AddressSymbol),
    Mapping(MappedRange),
    Line,
}

/// A record of one of the profiles.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    pub(super) offset: u64,
    pub(super) content: GperfContent<'a>,
    /// The line and its end, empty for words.
    text: &'a [u8],
    end: &'a [u8],
    /// The line is what `put` makes of the content.
    canonical: bool,
}

impl<'a> Record<'a> {
    pub(super) fn words(
        offset: u64,
        kind: &'static str,
        words: WordEncoding,
        values: Vec<u64>,
    ) -> Record<'static> {
        Record {
            offset,
            content: GperfContent::Words {
                kind,
                words,
                values,
            },
            text: b"",
            end: b"",
            canonical: true,
        }
    }

    pub(super) fn line(line: &Line<'a>, content: GperfContent<'a>) -> Self {
        let mut written = Vec::new();
        Self {
            offset: line.offset,
            text: line.text,
            end: line.end,
            canonical: put(&content, &mut written) && written == line.text,
            content,
        }
    }

    /// Returns the line without its end.
    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }
}

/// Writes a content as this crate does; false for lines of which only the text is kept.
fn put(content: &GperfContent<'_>, out: &mut Vec<u8>) -> bool {
    match content {
        GperfContent::Words { words, values, .. } => {
            values.iter().for_each(|&value| words.put(out, value));
        }
        GperfContent::Heap(header) => header.put(out),
        GperfContent::Jemalloc(rate) => out.extend(format!("heap_v2/{rate}").bytes()),
        GperfContent::Total(kind, total) => {
            out.extend_from_slice(kind);
            out.extend(format!(" profile: total {total}").bytes());
        }
        GperfContent::Attribute(name, value) => {
            out.extend_from_slice(name);
            out.push(b'=');
            out.extend_from_slice(value);
        }
        GperfContent::Sample(numbers, addresses) => {
            match numbers {
                SampleNumbers::Heap(counts) => counts.put(out),
                SampleNumbers::Pair(value, count) => out.extend(format!("{value} {count}").bytes()),
                SampleNumbers::Count(count) => out.extend(format!("{count}").bytes()),
                SampleNumbers::None => {}
            }
            out.extend_from_slice(if out.is_empty() { b"@" } else { b" @" });
            for address in addresses {
                out.extend(format!(" {address:#x}").bytes());
            }
        }
        GperfContent::Symbol(address, names) => {
            out.extend(format!("{address:#x} ").bytes());
            out.extend_from_slice(names);
        }
        GperfContent::Labels(labels) => {
            out.extend_from_slice(b"# labels: ");
            out.extend_from_slice(labels);
        }
        // These are padded with blanks as their writer pleases.
        GperfContent::Marker(_)
        | GperfContent::Thread(..)
        | GperfContent::Comment(..)
        | GperfContent::Location(..)
        | GperfContent::Mapping(_)
        | GperfContent::Line => return false,
    }
    true
}

fn show_counts(counts: &AllocationCounts, show: &mut dyn FnMut(&str, Field<'_>)) {
    show("in_use_objects", Field::I64(counts.in_use_objects));
    show("in_use_bytes", Field::I64(counts.in_use_bytes));
    show("alloc_objects", Field::I64(counts.alloc_objects));
    show("alloc_bytes", Field::I64(counts.alloc_bytes));
}

fn show_symbol(
    address: u64,
    symbol: Option<&AddressSymbol>,
    show: &mut dyn FnMut(&str, Field<'_>),
) {
    show("address", Field::U64(address));
    if let Some(symbol) = symbol {
        show("function", Field::Text(&symbol.function));
        show("file", Field::Text(&symbol.file));
        show("line", Field::U64(u64::from(symbol.line)));
    }
}

fn numbers(values: &[u64]) -> Vec<Field<'static>> {
    values.iter().map(|&value| Field::U64(value)).collect()
}

fn show_header(words: WordEncoding, values: &[u64], show: &mut dyn FnMut(&str, Field<'_>)) {
    let names = ["", "header_words", "version", "period_us", "padding"];
    show("word_bytes", Field::U64(words.size as u64));
    show("big_endian", Field::Bool(words.big));
    for (&name, &value) in names.iter().zip(values).skip(1) {
        show(name, Field::U64(value));
    }
    if let Some(more @ [_, ..]) = values.get(names.len()..) {
        show("more", Field::List(&numbers(more)));
    }
}

impl crate::Record for Record<'_> {
    fn kind(&self) -> &'static str {
        match &self.content {
            GperfContent::Words { kind, .. } => kind,
            GperfContent::Marker(_) => "marker",
            GperfContent::Heap(_) | GperfContent::Jemalloc(_) | GperfContent::Total(..) => "header",
            GperfContent::Attribute(..) => "attribute",
            GperfContent::Sample(..) => "sample",
            GperfContent::Thread(..) => "thread",
            GperfContent::Symbol(..) => "symbol",
            GperfContent::Comment(..) => "frame",
            GperfContent::Labels(_) => "labels",
            GperfContent::Location(..) => "location",
            GperfContent::Mapping(_) => "mapping",
            GperfContent::Line => "line",
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        match &self.content {
            GperfContent::Words { words, values, .. } => (values.len() * words.size) as u64,
            _ => (self.text.len() + self.end.len()) as u64,
        }
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        match &self.content {
            GperfContent::Words {
                kind: "header",
                words,
                values,
            } => show_header(*words, values, show),
            GperfContent::Words { values, .. } => {
                show("count", Field::U64(values.first().copied().unwrap_or(0)));
                show("pcs", Field::List(&numbers(subslice(values, 2..))));
            }
            GperfContent::Marker(marker) => show("marker", Field::Text(marker)),
            GperfContent::Heap(header) => {
                show_counts(&header.counts, show);
                show("profile", Field::Text(header.kind));
                show("rate", header.rate.map_or(Field::Null, Field::I64));
            }
            GperfContent::Jemalloc(rate) => show("rate", Field::I64(*rate)),
            GperfContent::Total(kind, total) => {
                show("profile", Field::Text(kind));
                show("total", Field::I64(*total));
            }
            GperfContent::Attribute(name, value) => {
                show("name", Field::Text(name));
                show("value", Field::Text(value));
            }
            GperfContent::Sample(values, addresses) => {
                match values {
                    SampleNumbers::Heap(counts) => show_counts(counts, show),
                    SampleNumbers::Pair(value, count) => {
                        show("value", Field::I64(*value));
                        show("count", Field::I64(*count));
                    }
                    SampleNumbers::Count(count) => show("count", Field::I64(*count)),
                    SampleNumbers::None => {}
                }
                show("addresses", Field::List(&numbers(addresses)));
            }
            GperfContent::Thread(thread, counts) => {
                show("thread", Field::Text(thread));
                show_counts(counts, show);
            }
            GperfContent::Symbol(address, names) => {
                show("address", Field::U64(*address));
                show("names", Field::Text(names));
            }
            GperfContent::Comment(address, symbol) => show_symbol(*address, symbol.as_ref(), show),
            GperfContent::Labels(labels) => show("labels", Field::Text(labels)),
            GperfContent::Location(address, symbol) => show_symbol(*address, Some(symbol), show),
            GperfContent::Mapping(entry) => {
                show("start", Field::U64(entry.start));
                show("limit", Field::U64(entry.limit));
                show("offset", Field::U64(entry.offset));
                show("permissions", Field::Text(&entry.permissions));
                show("file", Field::Text(&entry.file));
                show("build_id", Field::Text(&entry.build_id));
            }
            GperfContent::Line => show("text", Field::Text(self.text)),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.canonical {
            let mut written = Vec::new();
            put(&self.content, &mut written);
            out.extend(written);
        } else {
            out.extend_from_slice(self.text);
        }
        out.extend_from_slice(self.end);
    }
}
