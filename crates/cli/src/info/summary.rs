//! One summary for the parts that belong together: the streams of a process.

use std::collections::BTreeMap;
use std::io::Write;

use traceloom_formats::Source as _;
use traceloom_input::Document;
use traceloom_model::{Level, printable};

use super::PartSummary;
use super::print::stretch;
use crate::numbers::{count, size, things};
use crate::style::Style;

/// Prints what the parts of a document hold together.
pub(super) fn print(
    document: &Document<'_>,
    facts: &[PartSummary],
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let members: Vec<_> = document.members().collect();
    let names: Vec<&str> = document.parts().iter().map(|part| &*part.name).collect();
    let of: Vec<&PartSummary> = members
        .iter()
        .filter_map(|(at, _)| facts.get(*at))
        .collect();
    writeln!(out, "{}", style.bold(printable(folder(&names))))?;
    let mut row = |label: &str, text: &str| {
        let label = style.dim(format!("{label:8}"));
        writeln!(out, "  {label} {}", printable(text))
    };
    if let Some(format) = document.format() {
        row("format", &format!("{} ({})", format.name, format.title))?;
    }
    let stored = members.iter().map(|(_, part)| part.stored_size()).sum();
    let decoded = of.iter().map(|facts| facts.decoded).sum();
    let parts = things(members.len() as u64, "part", "parts");
    let sizes = match stored == decoded {
        true => size(stored),
        false => format!("{}, {} decoded", size(stored), size(decoded)),
    };
    row("size", &format!("{parts}, {sizes}"))?;
    let mut records: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, number) in of.iter().flat_map(|facts| facts.records.sorted()) {
        *records.entry(kind).or_default() += number;
    }
    if !records.is_empty() {
        let kinds = records.iter();
        let kinds = kinds.map(|(kind, number)| format!("{} {kind}", count(*number)));
        row("records", &kinds.collect::<Vec<_>>().join(", "))?;
    }
    let times = || of.iter().filter_map(|facts| facts.time);
    let start = times().map(|(start, _)| start).min();
    if let Some((start, end)) = start.zip(times().map(|(_, end)| end).max()) {
        let clock = of.iter().find_map(|facts| facts.clock.as_deref());
        row("time", &stretch(start, end, clock, style))?;
    }
    for value in of.iter().flat_map(|facts| &facts.values) {
        row("value", &value.line())?;
    }
    let mut notes: BTreeMap<(Level, &str), u64> = BTreeMap::new();
    for (level, kind, number) in of.iter().flat_map(|facts| facts.notes.counts()) {
        *notes.entry((level, kind)).or_default() += number;
    }
    for ((level, kind), number) in notes {
        let label = style.dim("note    ");
        let level = style.level(level);
        writeln!(out, "  {label} {level} {kind} ×{}", count(number))?;
    }
    Ok(())
}

/// Returns the folder that all of these names lie in.
fn folder<'n>(names: &[&'n str]) -> &'n str {
    let Some((first, rest)) = names.split_first() else {
        return "";
    };
    let mut end = first.rfind('/').unwrap_or(0);
    while end > 0 && !rest.iter().all(|name| name.starts_with(&first[..=end])) {
        end = first[..end].rfind('/').unwrap_or(0);
    }
    match end {
        0 => first,
        end => &first[..end],
    }
}

#[cfg(test)]
mod tests {
    use super::folder;

    #[test]
    fn parts_are_named_by_the_folder_around_them() {
        assert_eq!(folder(&["a/b/calls/1", "a/b/trace/1"]), "a/b");
        assert_eq!(folder(&["a/bc/1", "a/b/1"]), "a");
        assert_eq!(folder(&["x", "y"]), "x");
        assert_eq!(folder(&[]), "");
    }
}
