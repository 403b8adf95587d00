//! Damage that nobody is told of.
//!
//! A changed value may be as good as the one before, so most damage cannot be known for what it is. What must hold is
//! less, and is exact:
//!
//! - Where `check` finds nothing, the records of `dump` lie side by side from the first byte of the file to the last.
//! - Where `check` finds nothing and the input was only cut, the cut is between two records of the whole input. Excused
//!   are formats whose records are lines, in which half a number is a number, rests too short to tell a format by, and
//!   ends of which `check` says that something is open there.
//! - Where `check` finds something but values that are missing, no other command ends with 0 and an empty standard error.

use serde_json::Value;

use super::damage::Damaged;
use super::inputs::Source;
use super::program::Run;

/// Bytes that a format can be known by. What is left of fewer may be lines of text as well.
const TELLING: usize = 16;

/// Returns `true` if `check` read the input `name` and found it neither damaged nor doubtful.
pub(crate) fn clean(checked: &Run, name: &str) -> bool {
    let start = format!("{name}: ");
    let mut lines = checked
        .stdout
        .lines()
        .filter_map(|line| line.strip_prefix(&start));
    lines.any(|line| line.contains(" read, 0 damage, 0 warn,"))
}

/// Returns the notes that `check` printed of the input `name`; none where it could not read it.
fn notes<'r>(checked: &'r Run, name: &str) -> Option<Vec<&'r str>> {
    let summary = format!("{name}: ");
    let mut notes = Vec::new();
    for line in checked.stdout.lines() {
        if !line.contains(" read, ") {
            notes.push(line);
        } else if line.starts_with(&summary) {
            return Some(notes);
        } else {
            notes.clear();
        }
    }
    None
}

/// Returns `true` if `check` found something in the input `name` that every view meets.
pub(crate) fn doubted(checked: &Run, name: &str) -> bool {
    notes(checked, name).is_none_or(|notes| {
        notes.iter().any(|note| {
            let bad = note.contains(": damage ") || note.contains(": warn ");
            // Of values that nobody looks at `check` alone can say that they are not there.
            bad && !note.contains(": warn missing_values ")
        })
    })
}

/// Returns `true` if `check` says that the input ends with something open.
fn is_open(checked: &Run, name: &str) -> bool {
    let kinds = [" info no_end_tag ", " info unterminated "];
    let notes = notes(checked, name).unwrap_or_default();
    notes
        .iter()
        .any(|note| kinds.iter().any(|kind| note.contains(kind)))
}

/// Says what is not explained of an input in which `check` found nothing.
pub(crate) fn untiled(
    [checked, dumped]: [&Run; 2],
    name: &str,
    input: &Damaged,
    intact: &Source,
) -> Option<String> {
    if !intact.plain {
        return None;
    }
    let mut end = 0;
    for line in dumped.stdout.lines() {
        let Ok(record) = serde_json::from_str::<Value>(line) else {
            return Some(format!(
                "`dump --json` prints a line that is no JSON: {line}"
            ));
        };
        if record["part"] != name || record["kind"] == "note" {
            continue;
        }
        let (offset, bytes) = (record["offset"].as_u64()?, record["bytes"].as_u64()?);
        if offset != end {
            return Some(format!(
                "is clean, but a record is at {offset} where one ends at {end}"
            ));
        }
        end += bytes;
    }
    let length = input.bytes.len() as u64;
    if end != length {
        return Some(format!("is clean, but records end at {end} of {length}"));
    }
    let cut = input
        .cut
        .filter(|&cut| cut >= TELLING && !intact.is_lines())?;
    (!is_border(intact, cut) && !is_open(checked, name))
        .then(|| format!("is clean, but was cut inside a record, at {cut}"))
}

/// Returns `true` if a record of the whole input ends at `cut`, or with blanks behind it.
fn is_border(intact: &Source, cut: usize) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(&intact.name), &intact.bytes).expect("the file is written");
    let whole = Run::of(&["dump", "--json", &intact.name], folder.path());
    let records = whole
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ends = records.filter_map(|record| {
        let (offset, bytes) = (record["offset"].as_u64()?, record["bytes"].as_u64()?);
        usize::try_from(offset + bytes).ok()
    });
    let blank = |end: usize| {
        let rest = intact.bytes.get(cut..end);
        rest.is_some_and(|rest| rest.trim_ascii().is_empty())
    };
    ends.into_iter().any(blank)
}

/// Returns `true` if a run of one input ended well, or for no reason given, without a word about the input `name`.
pub(crate) fn silent(run: &Run, name: &str) -> bool {
    unsaid(run, name) && (run.succeeded() || run.stderr.is_empty())
}

/// Returns `true` if a run, of several inputs maybe, says nothing about the input `name`.
pub(crate) fn unsaid(run: &Run, name: &str) -> bool {
    // The others print notes among their rows.
    let quiet = [
        "calls", "convert", "events", "flame", "merge", "metrics", "monitors", "objects", "report",
        "timeline", "top", "tree",
    ];
    run.args
        .first()
        .is_some_and(|command| quiet.contains(&command.as_str()))
        && !run.stderr.contains(name)
}
