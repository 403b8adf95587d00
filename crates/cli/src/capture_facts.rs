//! Decodes sealed captures, for the catalog of their data folder.

use std::collections::BTreeMap;
use std::io::Write as _;

use traceloom_input::captures::{
    CaptureFacts, CaptureId, Captures, DataFolder, FactsRow, NoteCounts,
};
use traceloom_input::{Document, Input};
use traceloom_model::{Level, Notes};

use crate::args::Common;
use crate::check::{CheckedParts, examine};
use crate::event_watch::EventWatch;
use crate::open::open;
use crate::streams::stdout;

/// Prints a row of the catalog for each of some captures, as soon as it is decoded. Captures that are not sealed, or not there, have
/// none.
pub(crate) fn print(folder: &DataFolder, ids: &[CaptureId], common: &Common) -> anyhow::Result<()> {
    let captures = Captures::read_chosen(folder, ids)?.list;
    let names: Vec<String> = captures.iter().map(|one| one.id.to_string()).collect();
    if names.is_empty() {
        return Ok(());
    }
    let path = format!("{}#{}", folder.path().display(), names.join(","));
    let input = open(&path, common)?;
    let mut by_capture = by_capture(&input);
    let mut out = stdout();
    for capture in captures {
        let nothing = CheckedParts {
            parts: Vec::new(),
            documents: Vec::new(),
        };
        let checked = by_capture.remove(&capture.id).unwrap_or(nothing);
        let Some(manifest) = capture.manifest else {
            continue;
        };
        let mut watch = EventWatch::default();
        let notes = examine(&input, &checked, common, Some(&mut watch))?;
        let facts = CaptureFacts {
            notes: counts(&notes),
            ..watch.finish()
        };
        let row = FactsRow {
            id: capture.id,
            revision: capture.revision,
            manifest,
            facts: Some(facts),
        };
        writeln!(out, "{row}")?;
        out.flush()?;
    }
    Ok(())
}

/// Returns the parts and the recordings of each capture.
fn by_capture(input: &Input) -> BTreeMap<CaptureId, CheckedParts<'_>> {
    let mut found = BTreeMap::new();
    let new = || CheckedParts {
        parts: Vec::new(),
        documents: Vec::new(),
    };
    for at in 0..input.parts().len() {
        if let Some(id) = capture_of(input, at) {
            found.entry(id).or_insert_with(new).parts.push(at);
        }
    }
    for document in input.documents() {
        let id = first_part(&document).and_then(|at| capture_of(input, at));
        if let Some(id) = id {
            found.entry(id).or_insert_with(new).documents.push(document);
        }
    }
    found
}

fn first_part(document: &Document<'_>) -> Option<usize> {
    document.members().next().map(|(at, _)| at)
}

/// Returns the capture of a part: the part around it that is inside of no other has its name.
fn capture_of(input: &Input, at: usize) -> Option<CaptureId> {
    let mut part = input.parts().get(at)?;
    while let Some(around) = part.inside.and_then(|at| input.parts().get(at)) {
        part = around;
    }
    let (capture, _) = part.part.name.split_once('/')?;
    capture.parse().ok()
}

fn counts(notes: &Notes) -> NoteCounts {
    let of = |wanted: Level| -> u64 {
        let counts = notes.counts().filter(|(level, ..)| *level == wanted);
        counts.map(|(.., count)| count).sum()
    };
    NoteCounts {
        info: of(Level::Info),
        warn: of(Level::Warn),
        damage: of(Level::Damage),
    }
}
