//! The facts of an input, as text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use traceloom_formats::Source as _;
use traceloom_input::{Document, Input, InputPart};
use traceloom_model::{Notes, printable};

use super::{Options, PartSummary, summary};
use crate::numbers::{count, duration, size};
use crate::style::Style;

/// Prints the facts of each part; one summary for the parts of a document.
pub(super) fn print(
    input: &Input,
    facts: &[PartSummary],
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let many = input.is_folder() || input.parts().len() > 1;
    if many {
        heading(input, style, out)?;
    }
    // The first part of a document stands for all of them.
    let mut within = BTreeSet::new();
    let mut first = BTreeMap::new();
    if !options.parts {
        for document in documents_of_many(input) {
            let members: Vec<usize> = document.members().map(|(at, _)| at).collect();
            within.extend(members.iter().copied());
            first.extend(members.first().map(|&at| (at, document)));
        }
    }
    for (at, (part, own)) in input.parts().iter().zip(facts).enumerate() {
        if let Some(document) = first.get(&at) {
            summary::print(document, facts, style, out)?;
        }
        if within.contains(&at) {
            continue;
        }
        let name = if many {
            part.part.name.as_str()
        } else {
            input.path()
        };
        writeln!(out, "{}", style.bold(name))?;
        print_part(part, own, style, out)?;
    }
    if !within.is_empty() {
        writeln!(out, "{}", style.dim("--parts prints every part"))?;
    }
    Ok(())
}

/// Returns the documents that several parts make up.
fn documents_of_many(input: &Input) -> impl Iterator<Item = Document<'_>> {
    let documents = input.documents();
    documents.filter(|document| document.parts().len() > 1)
}

/// Prints what a folder or an archive holds.
fn heading(input: &Input, style: &Style, out: &mut impl Write) -> anyhow::Result<()> {
    let parts = input.parts().len();
    let noun = if parts == 1 { "part" } else { "parts" };
    let path = style.bold(input.path());
    let stored = size(input.stored_size());
    writeln!(out, "{path}  {parts} {noun}, {stored}")?;
    for document in documents_of_many(input) {
        if let Some(format) = document.format() {
            let parts = document.parts().len();
            writeln!(out, "  {}: {} ({parts} parts)", format.name, format.title)?;
        }
    }
    if parts == 0 {
        writeln!(out, "  the folder holds no files")?;
    }
    Ok(())
}

fn print_part(
    part: &InputPart,
    facts: &PartSummary,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut row = |label: &str, text: &str| {
        let label = style.dim(format!("{label:8}"));
        writeln!(out, "  {label} {}", printable(text))
    };
    let format = match (part.part.format, &part.unknown) {
        (Some(format), _) => format!("{} ({})", format.name, format.title),
        (None, Some(unknown)) => unknown.sentence(),
        (None, None) => "unknown".to_owned(),
    };
    row("format", &format)?;
    row("size", &sizes(part, facts.decoded))?;
    if !facts.records.counts.is_empty() {
        let kinds = facts.records.sorted().into_iter();
        let kinds = kinds.map(|(kind, number)| format!("{} {kind}", count(number)));
        row("records", &kinds.collect::<Vec<_>>().join(", "))?;
    }
    if let Some((start, end)) = facts.time {
        let stretch = stretch(start, end, facts.clock.as_deref(), style);
        row("time", &stretch)?;
    }
    for value in &facts.values {
        row("value", &value.line())?;
    }
    print_note_counts(&facts.notes, style, out)?;
    Ok(())
}

/// The size as stored; of a wrapped part that of its decoded bytes too.
fn sizes(part: &InputPart, decoded: u64) -> String {
    let stored = size(part.stored_size());
    let wrappers = part.wrappers().iter().rev();
    let wrappers: Vec<_> = wrappers.map(|wrapper| wrapper.name()).collect();
    match wrappers.as_slice() {
        [] => stored,
        wrappers => format!(
            "{stored} {}, {} decoded",
            wrappers.join(" in "),
            size(decoded)
        ),
    }
}

/// From when to when, and how long.
pub(super) fn stretch(start: i64, end: i64, clock: Option<&str>, style: &Style) -> String {
    let length = duration(end.abs_diff(start));
    let when = |time| style.when(clock.is_none(), time);
    let of = clock.map_or_else(String::new, |clock| format!(" of the clock `{clock}`"));
    format!("{} to {}{of} ({length})", when(start), when(end))
}

fn print_note_counts(notes: &Notes, style: &Style, out: &mut impl Write) -> io::Result<()> {
    for (level, kind, number) in notes.counts() {
        let example = notes
            .kept()
            .iter()
            .find(|note| note.level == level && note.kind == kind);
        let place = example.map_or_else(String::new, |note| {
            format!(", first at {:#x}: {}", note.offset, printable(&note.text))
        });
        let label = style.dim("note    ");
        writeln!(
            out,
            "  {label} {} {kind} ×{}{place}",
            style.level(level),
            count(number)
        )?;
    }
    Ok(())
}
