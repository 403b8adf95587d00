//! Which unnamed stream of strings is sql and which is xml: the one in which the trace's references hit
//! beginnings of strings (§2).

use std::collections::{BTreeMap, BTreeSet};

use traceloom_model::{Flow, Limits, Note};

use super::parts::Parts;
use super::values::Big;
use super::{Halt, part_id};
use crate::cdt::strings::Strings;
use crate::cdt::trace::records::Trace;
use crate::wire::units::Stream;
use crate::{Field, Record, RecordSink, Source, drive};

/// Different offsets tested for one file.
const TESTED: usize = 1000;
/// References looked at.
const LOOKED_AT: usize = 1 << 20;

/// A file that tags refer to.
type File = (Big, u32);

/// Gathers where the big values of a trace are.
#[derive(Default)]
struct References {
    offsets: BTreeMap<File, BTreeSet<u64>>,
    seen: usize,
}

impl RecordSink for References {
    fn record(&mut self, record: &dyn Record) -> Flow {
        if record.kind() != "tag" {
            return Flow::Continue(());
        }
        let (mut big, mut file, mut offset) = (None, None, None);
        record.fields(&mut |name, field| match (name, field) {
            ("value_type", Field::U64(1)) => big = Some(Big::Xml),
            ("value_type", Field::U64(3)) => big = Some(Big::Sql),
            ("file_index", Field::U64(number)) => file = u32::try_from(number).ok(),
            ("value_offset", Field::U64(number)) => offset = Some(number),
            _ => {}
        });
        if let (Some(big), Some(file), Some(offset)) = (big, file, offset) {
            let offsets = self.offsets.entry((big, file)).or_default();
            if offsets.len() < TESTED {
                offsets.insert(offset);
            }
            self.seen += 1;
        }
        if self.seen < LOOKED_AT && self.offsets.len() < TESTED {
            Flow::Continue(())
        } else {
            Flow::Break(())
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Counts the references that hit beginnings of one stream's strings.
struct Hits<'a> {
    offsets: &'a BTreeMap<File, BTreeSet<u64>>,
    hits: BTreeMap<File, usize>,
    last: u64,
}

impl RecordSink for Hits<'_> {
    fn record(&mut self, record: &dyn Record) -> Flow {
        let at = record.offset();
        if record.kind() == "string" {
            for (&file, offsets) in self.offsets {
                if offsets.contains(&at) {
                    *self.hits.entry(file).or_default() += 1;
                }
            }
        }
        if at < self.last {
            Flow::Continue(())
        } else {
            Flow::Break(())
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Assigns streams of strings to the files that tags refer to and no part is known for; returns a note
/// for each.
pub(super) fn assign(
    source: &dyn Source,
    parts: &mut Parts,
    limits: &Limits,
) -> Result<Vec<Note>, Halt> {
    if parts.strings.is_empty() {
        return Ok(Vec::new());
    }
    let mut references = References::default();
    for &part in parts.trace.values() {
        let mut pull = source.open(part, 0)?;
        let mut reader = Trace::new(limits);
        if !drive(pull.as_mut(), &mut reader, &mut references)? {
            break;
        }
    }
    let mut offsets = references.offsets;
    offsets.retain(|(big, file), _| match big {
        Big::Sql => !parts.sql.contains_key(file),
        Big::Xml => !parts.xml.contains_key(file),
    });
    let last = offsets.values().filter_map(|set| set.last()).max();
    let Some(&last) = last else {
        return Ok(Vec::new());
    };
    let mut streams = Vec::new();
    for &part in &parts.strings {
        let mut sink = Hits {
            offsets: &offsets,
            hits: BTreeMap::new(),
            last,
        };
        let mut pull = source.open(part, 0)?;
        drive(
            pull.as_mut(),
            &mut Stream::new(Strings::new(limits)),
            &mut sink,
        )?;
        streams.push((part, sink.hits));
    }
    // The file with most references first: one at offset 0 alone hits every stream.
    let mut files: Vec<(File, usize)> = offsets
        .iter()
        .map(|(&file, set)| (file, set.len()))
        .collect();
    files.sort_by_key(|&(_, tested)| std::cmp::Reverse(tested));
    let mut notes = Vec::new();
    for ((big, file), tested) in files {
        let hits = |(_, hits): &(usize, BTreeMap<File, usize>)| {
            hits.get(&(big, file)).copied().unwrap_or(0)
        };
        // The first of equals, in the order of names.
        let best = streams
            .iter()
            .enumerate()
            .rev()
            .max_by_key(|(_, stream)| hits(stream));
        let Some((at, hit)) = best.map(|(at, stream)| (at, hits(stream))) else {
            break;
        };
        if hit == 0 || hit * 2 < tested {
            continue;
        }
        let (part, _) = streams.remove(at);
        parts.strings.retain(|&other| other != part);
        match big {
            Big::Sql => parts.sql.insert(file, part),
            Big::Xml => parts.xml.insert(file, part),
        };
        let name = big.name();
        let text = format!(
            "strings are taken for {name} file {file}: {hit} of {tested} places that tags point to begin \
             a string"
        );
        notes.push(Note {
            part: part_id(part),
            ..crate::info("guessed_stream", 0, text)
        });
    }
    Ok(notes)
}
