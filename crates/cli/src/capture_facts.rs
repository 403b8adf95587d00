//! Decodes sealed captures, for the catalog of their data folder.

use std::collections::BTreeMap;
use std::io::Write as _;

use traceloom_analysis::is_pause;
use traceloom_formats::Source as _;
use traceloom_input::captures::call_index::CallIndexWriter;
use traceloom_input::captures::profile_index::{ProfileIndexWriter, SealedAt};
use traceloom_input::captures::{
    CaptureFacts, CaptureId, Captures, ContentHash, DataFolder, FactsRow, NoteCounts,
};
use traceloom_input::{Document, Input};
use traceloom_model::{Level, Notes};

use crate::args::Common;
use crate::check::{CheckedParts, examine};
use crate::event_watch::EventWatch;
use crate::lowered::lower;
use crate::open::open;
use crate::streams::{message, stdout};

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
        // Without an index, calls and samples are read from the capture.
        if let Err(error) = index(folder, (capture.id, manifest), &input, &checked, common) {
            message!(
                "{}: its calls or samples have no index: {error:#}",
                capture.id
            );
        }
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

/// Writes the indexes of a capture, of its samples first: where there is one of its calls, both were made.
fn index(
    folder: &DataFolder,
    (id, manifest): (CaptureId, ContentHash),
    input: &Input,
    checked: &CheckedParts<'_>,
    common: &Common,
) -> anyhow::Result<()> {
    let mut writer = CallIndexWriter::new(folder, id, manifest)?;
    let is_ours = |at: usize| capture_of(input, at) == Some(id);
    let first = (0..input.parts().len())
        .find(|&at| is_ours(at))
        .unwrap_or(0);
    let all = (0..input.parts().len()).filter(|&at| is_ours(at));
    let all: Vec<usize> = all.collect();
    let mut sampled = Vec::new();
    for document in &checked.documents {
        if document
            .format()
            .is_none_or(|format| format.lower.is_none())
        {
            continue;
        }
        let members = document.members().map(|(at, _)| at);
        let is_whole = members.eq(all.iter().copied());
        let part = |part| {
            let at = document.input_part(part)?;
            u32::try_from(at - first).ok()
        };
        let mut sink = writer.recording(part, is_whole, is_pause);
        lower(document, &common.lower_options()?, common, &mut sink)?;
        if sink.finish()? {
            sampled.push(document);
        }
    }
    index_profiles(folder, (id, manifest), (input, &all), &sampled, common)?;
    Ok(writer.finish()?)
}

/// Writes the index of the samples of a capture.
fn index_profiles(
    folder: &DataFolder,
    (id, manifest): (CaptureId, ContentHash),
    (input, parts): (&Input, &[usize]),
    sampled: &[&Document<'_>],
    common: &Common,
) -> anyhow::Result<()> {
    let schema = common.schema().map(std::fs::read).transpose()?;
    let sealed = SealedAt {
        folder: folder.clone(),
        id,
        manifest,
    };
    let mut writer = ProfileIndexWriter::new(folder, id, sealed.read_with(schema.as_deref()));
    if common.input_format.is_none()
        && let Some(parts) = input.recognised(parts)
    {
        writer.recognised(parts);
    }
    for document in sampled {
        let parts = document.parts().iter().map(|part| part.name.clone());
        let mut sink = writer.recording(parts.collect());
        lower(document, &common.lower_options()?, common, &mut sink)?;
        sink.finish()?;
    }
    Ok(writer.finish()?)
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
