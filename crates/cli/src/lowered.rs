//! Lowering the recordings of an input into a sink, with what went wrong counted on the way.

use std::collections::HashSet;
use std::fmt::Write as _;

use traceloom_formats::{Format, LowerOptions, Record, RecordSink};
use traceloom_input::{Document, Input};
use traceloom_model::{Asks, Batch, Flow, Level, Limits, Note, Notes, Sink, Stage, Timestamp};

use crate::args::Common;
use crate::asked::SeenNames;
use crate::info::shell_word;
use crate::outcome::heed;
use crate::streams::message;

/// Returns the recordings of an input that can be lowered.
///
/// # Errors
/// When there is none: the reason is what a person needs to know then.
pub(crate) fn documents(input: &Input) -> anyhow::Result<Vec<Document<'_>>> {
    let documents: Vec<_> = lowerable(input).collect();
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

/// Returns true if an input is one recording, which can be lowered.
pub(crate) fn is_one(input: &Input) -> bool {
    lowerable(input).take(2).count() == 1
}

fn lowerable(input: &Input) -> impl Iterator<Item = Document<'_>> {
    let lowers = |document: &Document<'_>| {
        let format = document.format();
        format.is_some_and(|format| format.lower.is_some())
    };
    input.documents().filter(lowers)
}

/// Lowers one recording into `sink`; notes are collected, the first damage stops with `--strict`.
pub(crate) fn lower(
    document: &Document<'_>,
    options: &LowerOptions,
    common: &Common,
    sink: &mut dyn Sink,
) -> anyhow::Result<Notes> {
    watched(common, sink, |sink| {
        Ok(traceloom_input::lower(document, options, sink)?)
    })
}

/// Has `read` push a recording into `sink`; notes are collected, the first damage stops with `--strict`.
pub(crate) fn watched(
    common: &Common,
    sink: &mut dyn Sink,
    read: impl FnOnce(&mut dyn Sink) -> anyhow::Result<()>,
) -> anyhow::Result<Notes> {
    let mut watched = Watched {
        to: sink,
        notes: Notes::default(),
        strict: common.strict,
        stopped: None,
        names: common.asked.names_of_recording(),
    };
    read(&mut watched)?;
    match watched.stopped {
        Some(note) => anyhow::bail!("{} at {:#x}: {}", note.kind, note.offset, note.text),
        None => Ok(watched.notes),
    }
}

/// Says on standard error when a view rests on damaged data.
///
/// `notes` are those of the recordings; parts that are none of a recording are damaged too.
pub(crate) fn mention(input: &Input, notes: &[Notes]) {
    if let Some(sentence) = doubt(input, notes) {
        message!("{sentence}");
    }
}

/// Returns how much of an input is damaged or doubtful, and which command lists it.
pub(crate) fn doubt(input: &Input, notes: &[Notes]) -> Option<String> {
    let lowers = |format: Option<&'static Format>| format.is_some_and(|it| it.lower.is_some());
    let read: HashSet<usize> = input
        .documents()
        .filter(|document| lowers(document.format()))
        .flat_map(|document| document.members().map(|(at, _)| at).collect::<Vec<_>>())
        .collect();
    let unread: Vec<usize> = (0..input.parts().len())
        .filter(|at| !read.contains(at))
        .collect();
    let beside = unread.iter().flat_map(|&at| notes_beside(input, at));
    let beside: Vec<Note> = beside.collect();
    // A stream of a process whose head is damaged is a file that nobody knows: `check` warns of those.
    let unknown = unread.iter().filter(|&&at| {
        input
            .parts()
            .get(at)
            .is_some_and(|part| part.unknown.is_some())
    });
    let unknown = unknown.count() as u64;
    let sum = |wanted| -> u64 {
        let counts = notes.iter().flat_map(Notes::counts);
        let counted = counts.filter(|&(level, ..)| level == wanted);
        let of_parts = beside.iter().filter(|note| note.level == wanted);
        counted.map(|(.., count)| count).sum::<u64>() + of_parts.count() as u64
    };
    let (warn, damage) = (sum(Level::Warn) + unknown, sum(Level::Damage));
    let path = input.path();
    (warn + damage > 0).then(|| {
        format!(
            "{path}: {damage} damage and {warn} warn notes; `traceloom check {}` lists them",
            shell_word(path)
        )
    })
}

/// Returns what is wrong with the bytes of a part that belongs to no recording, such as a container of other parts, whose
/// own records no lowering reads.
fn notes_beside(input: &Input, at: usize) -> Vec<Note> {
    let format = input.parts().get(at).and_then(|part| part.part.format);
    let container = format.filter(|format| format.members.is_some());
    let Some(reader) = container.and_then(|format| format.reader) else {
        return input.notes(at);
    };
    let mut kept = KeptNotes::default();
    let reader = &mut reader(&Limits::default());
    match input.read(at, 0, reader.as_mut(), &mut kept) {
        Ok(_) => kept.0,
        // It was read when its members were found, and what cannot be read again was told then.
        Err(_) => Vec::new(),
    }
}

#[derive(Default)]
struct KeptNotes(Vec<Note>);

impl RecordSink for KeptNotes {
    fn record(&mut self, _record: &dyn Record) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.0.push(note);
        if self.0.len() < Notes::KEPT {
            Flow::Continue(())
        } else {
            Flow::Break(())
        }
    }
}

struct Watched<'s> {
    to: &'s mut dyn Sink,
    notes: Notes,
    strict: bool,
    stopped: Option<Note>,
    names: Option<SeenNames>,
}

impl Stage for Watched<'_> {
    fn asks(&self) -> Asks {
        self.to.asks()
    }

    fn wants_details(&self, start: Timestamp, end: Option<Timestamp>) -> bool {
        self.to.wants_details(start, end)
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        if let Some(names) = &mut self.names {
            names.see(&batch);
        }
        if let Batch::Note(note) = &batch {
            heed(note);
            self.notes.push_placed(note.clone());
            if self.strict && note.level == Level::Damage {
                self.stopped = Some(note.clone());
                return Flow::Break(());
            }
        }
        batch.push(self.to)
    }
}
