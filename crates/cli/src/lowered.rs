//! Lowering the recordings of an input into a sink, with what went wrong counted on the way.

use std::fmt::Write as _;

use traceloom_formats::LowerOptions;
use traceloom_input::{Document, Input};
use traceloom_model::{Asks, Batch, Flow, Level, Note, Notes, Sink, Stage};

use crate::args::Common;

/// Returns the recordings of an input that can be lowered.
///
/// # Errors
/// When there is none: the reason is what a person needs to know then.
pub(crate) fn documents(input: &Input) -> anyhow::Result<Vec<Document<'_>>> {
    let lowers = |document: &Document<'_>| {
        document
            .format()
            .is_some_and(|format| format.lower.is_some())
    };
    let documents: Vec<_> = input.documents().filter(lowers).collect();
    if !documents.is_empty() {
        return Ok(documents);
    }
    let mut reason = String::new();
    for part in input.parts().iter().take(3) {
        match (&part.unknown, part.part.format) {
            (Some(unknown), _) => write!(reason, "; {}: {}", part.part.name, unknown.sentence())?,
            (None, Some(format)) => write!(reason, "; {} is {}", part.part.name, format.title)?,
            (None, None) => {}
        }
    }
    anyhow::bail!("{}: nothing here to show{reason}", input.path())
}

/// Lowers one recording into `sink`; notes are collected, the first damage stops with `--strict`.
pub(crate) fn lower(
    document: &Document<'_>,
    options: &LowerOptions,
    common: &Common,
    sink: &mut dyn Sink,
) -> anyhow::Result<Notes> {
    let mut watched = Watched {
        to: sink,
        notes: Notes::default(),
        strict: common.strict,
        stopped: None,
    };
    if let Some(lower) = document.format().and_then(|format| format.lower) {
        lower(document, options, &mut watched)?;
    }
    match watched.stopped {
        Some(note) => anyhow::bail!("{} at {:#x}: {}", note.kind, note.offset, note.text),
        None => Ok(watched.notes),
    }
}

/// Says on standard error when a view rests on damaged data.
pub(crate) fn mention(path: &str, notes: &[Notes]) {
    let sum = |wanted| -> u64 {
        let counts = notes.iter().flat_map(Notes::counts);
        counts
            .filter(|&(level, ..)| level == wanted)
            .map(|(.., count)| count)
            .sum()
    };
    let (warn, damage) = (sum(Level::Warn), sum(Level::Damage));
    if warn + damage > 0 {
        eprintln!(
            "traceloom: {path}: {damage} damage and {warn} warn notes; `traceloom check` lists them"
        );
    }
}

struct Watched<'s> {
    to: &'s mut dyn Sink,
    notes: Notes,
    strict: bool,
    stopped: Option<Note>,
}

impl Stage for Watched<'_> {
    fn asks(&self) -> Asks {
        Asks::of(self.to)
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        if let Batch::Note(note) = &batch {
            self.notes.push_placed(note.clone());
            if self.strict && note.level == Level::Damage {
                self.stopped = Some(note.clone());
                return Flow::Break(());
            }
        }
        batch.push(self.to)
    }
}
