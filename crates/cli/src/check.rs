//! `check`: every note, and an exit code.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::mpsc::{SyncSender, sync_channel};

use clap::Args;
use traceloom_formats::{Format, LowerOptions, Source as _, damage};
use traceloom_input::{Document, Input, lower};
use traceloom_model::{
    Asks, Batch, Clock, CounterBatch, Definitions, EventBatch, Flow, Level, Note, Notes, Order,
    PartId, SampleBatch, Sink, SpanBatch, Stage, Timestamp, Wants, printable,
};

use crate::Outcome;
use crate::args::Common;
use crate::beside::{Cancellable, beside};
use crate::event_watch::EventWatch;
use crate::info::{PartSummary, gather_part, note_json};
use crate::numbers::count;
use crate::open::{open_among, with_progress};
use crate::streams::stdout;
use crate::style::Style;

/// Print every note; exit 1 when something is doubtful or damaged.
#[derive(Args)]
#[command(
    after_help = "Levels: info (a choice was taken), warn (doubtful data was kept), damage (bytes or\n\
    meaning were lost). Exit 0 means at most info.\n\nExamples:\n  \
    traceloom check dump/\n  \
    traceloom check calls.bin --json"
)]
pub(crate) struct Options {
    /// Files, folders, archives, or `-`.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<String>,
    /// Notes to print of each path; 0 prints all, as without it. The exit code and the last line are of all of them.
    #[arg(short = 'n', long, value_name = "ROWS", default_value_t = 0)]
    rows: usize,
    /// Print JSON Lines, one note a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let style = Style::new(&options.common)?;
    let mut out = stdout();
    let mut worst = None;
    let mut missing = false;
    for path in &options.paths {
        let Some(input) = open_among(path, &options.paths, &options.common)? else {
            missing = true;
            continue;
        };
        let notes = with_progress(&input, "checking", || {
            examine(&input, &CheckedParts::all(&input), &options.common, None)
        })?;
        unread(&input, options, &style, &mut out)?;
        print(&input, &notes, options, &style, &mut out)?;
        worst = worst.max(notes.worst());
    }
    out.flush()?;
    Ok(if missing || worst >= Some(Level::Warn) {
        Outcome::Failed
    } else {
        Outcome::Done
    })
}

/// Parts of an input and the recordings that consist of them.
pub(crate) struct CheckedParts<'i> {
    /// Numbers of the parts.
    pub(crate) parts: Vec<usize>,
    /// The recordings.
    pub(crate) documents: Vec<Document<'i>>,
}

impl<'i> CheckedParts<'i> {
    /// Returns all of an input.
    fn all(input: &'i Input) -> Self {
        Self {
            parts: (0..input.parts().len()).collect(),
            documents: input.documents().collect(),
        }
    }
}

/// Reads parts record by record, then recordings through their lowering, which sees what single parts cannot: rows that disagree, ids
/// without words, files that are missing. `watch` sees what is lowered.
pub(crate) fn examine(
    input: &Input,
    checked: &CheckedParts<'_>,
    common: &Common,
    watch: Option<&mut EventWatch>,
) -> anyhow::Result<Notes> {
    let mut sink = NoteCollector {
        strict: common.strict,
        watch,
        ..NoteCollector::default()
    };
    // What is read together with others, such as a log in a bundle, belongs there whatever it is.
    let together = checked
        .documents
        .iter()
        .filter(|document| document.parts().len() > 1);
    let members: HashSet<usize> = together
        .flat_map(|document| document.members().map(|(at, _)| at).collect::<Vec<_>>())
        .collect();
    for &at in &checked.parts {
        let unknown = input.parts().get(at).and_then(|part| part.unknown.as_ref());
        if let Some(unknown) = unknown {
            // A file that nobody knows is all that was asked about; among others it was not checked.
            let level = match (is_many(input), members.contains(&at)) {
                (false, _) => Level::Damage,
                (true, false) => Level::Warn,
                (true, true) => Level::Info,
            };
            let note = Note::new(level, "unknown_format", 0, unknown.sentence());
            let part = part_id(at);
            let _ = sink.add(Note { part, ..note });
        }
    }
    let options = common.lower_options()?;
    match sink.watch.is_some() {
        true => {
            read_parts(input, checked, common, &mut sink)?;
            lower_after(checked, &options, &mut sink)?;
        }
        false => read_and_lower(input, checked, common, &options, &mut sink)?,
    }
    Ok(sink.notes)
}

/// Reads the parts record by record.
fn read_parts(
    input: &Input,
    checked: &CheckedParts<'_>,
    common: &Common,
    sink: &mut NoteCollector<'_>,
) -> anyhow::Result<()> {
    let of_lowering: HashSet<usize> = match sink.watch.is_some() {
        true => HashSet::new(),
        false => checked.documents.iter().filter_map(lowered_alone).collect(),
    };
    for at in checked
        .parts
        .iter()
        .copied()
        .filter(|at| !of_lowering.contains(at))
    {
        // Nobody but a watch counts records.
        let facts = match sink.watch.is_some() {
            true => PartSummary::new(common.strict),
            false => PartSummary::of_notes(common.strict),
        };
        let facts = gather_part(input, at, &common.limits()?, facts)?;
        for note in facts.notes.kept() {
            let _ = sink.add(note.clone());
        }
        sink.overflow(part_id(at), &facts.notes);
        if let Some(watch) = &mut sink.watch {
            watch.read(at, &facts);
        }
        if facts.stopped {
            break;
        }
    }
    sink.lowering = true;
    Ok(())
}

/// Returns the one part of a recording whose lowering notes all that its reader would.
fn lowered_alone(document: &Document<'_>) -> Option<usize> {
    let mut members = document.members();
    let (Some((at, part)), None) = (members.next(), members.next()) else {
        return None;
    };
    let is_enough = |format: &&Format| format.lowers_notes && format.lower.is_some();
    part.part.format.filter(is_enough).map(|_| at)
}

/// Lowers the recordings, and shows them to the watch.
fn lower_after(
    checked: &CheckedParts<'_>,
    options: &LowerOptions,
    sink: &mut NoteCollector<'_>,
) -> anyhow::Result<()> {
    for document in &checked.documents {
        if sink.stopped {
            break;
        }
        sink.places = document.members().map(|(at, _)| at).collect();
        lower(document, options, sink)?;
        if let Some(watch) = &mut sink.watch {
            watch.end(&sink.places);
        }
    }
    Ok(())
}

/// Lowers the recordings on a thread beside the one that reads the parts; their notes wait for those of the parts.
fn read_and_lower(
    input: &Input,
    checked: &CheckedParts<'_>,
    common: &Common,
    options: &LowerOptions,
    sink: &mut NoteCollector<'_>,
) -> anyhow::Result<()> {
    let (sender, notes) = sync_channel(Notes::KEPT);
    let (read, lowered) = beside(
        |cancelled| {
            // Dropped with this closure, which ends a thread that waits to send one more.
            let notes = notes;
            let read = read_parts(input, checked, common, sink);
            if read.is_err() || sink.stopped {
                cancelled.set();
                return read;
            }
            for note in notes {
                if sink.add(note).is_break() {
                    cancelled.set();
                    break;
                }
            }
            Ok(())
        },
        |cancelled| {
            // Dropped with this closure, which ends the other one's wait for notes.
            let sender = sender;
            for document in &checked.documents {
                let mut notes = NoteSender {
                    places: document.members().map(|(at, _)| at).collect(),
                    sender: &sender,
                };
                let mut sink = Cancellable {
                    sink: &mut notes,
                    cancelled,
                };
                lower(document, options, &mut sink)?;
            }
            Ok(())
        },
    );
    read?;
    match sink.stopped {
        true => Ok(()),
        false => lowered,
    }
}

/// Asks for all that notes depend on.
fn asks() -> Asks {
    Asks {
        wants: Wants::Steps { calls: true },
        checks_values: true,
        ..Asks::default()
    }
}

/// Sends the notes of a lowering, each with its part of the input.
struct NoteSender<'n> {
    places: Vec<usize>,
    sender: &'n SyncSender<Note>,
}

impl Stage for NoteSender<'_> {
    fn asks(&self) -> Asks {
        Asks {
            notes_only: true,
            ..asks()
        }
    }

    fn wants_details(&self, _start: Timestamp, _end: Option<Timestamp>) -> bool {
        false
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let Batch::Note(note) = batch else {
            return Flow::Continue(());
        };
        let part = place(&self.places, &note);
        match self.sender.send(Note { part, ..note }) {
            Ok(()) => Flow::Continue(()),
            Err(_) => Flow::Break(()),
        }
    }
}

/// Returns the part of the input that a note of a recording is about, given the numbers of the recording's parts.
fn place(places: &[usize], note: &Note) -> PartId {
    let place = places.get(note.part.0 as usize).copied();
    part_id(place.unwrap_or(0))
}

/// Collects notes once each: a lowering repeats what the reader of a part said.
#[derive(Default)]
struct NoteCollector<'w> {
    notes: Notes,
    seen: HashSet<(PartId, &'static str, u64)>,
    /// What the readers said beyond `seen`: as many notes of the lowerings are repetitions.
    unseen: HashMap<(PartId, &'static str), u64>,
    lowering: bool,
    places: Vec<usize>,
    strict: bool,
    stopped: bool,
    watch: Option<&'w mut EventWatch>,
}

impl NoteCollector<'_> {
    fn add(&mut self, note: Note) -> Flow {
        let stop = self.strict && note.level == Level::Damage;
        let place = (note.part, note.kind, note.offset);
        if self.stopped || self.seen.contains(&place) || self.is_repeated(&note) {
            return Flow::Continue(());
        }
        if self.seen.len() < Notes::KEPT {
            self.seen.insert(place);
        } else if !self.lowering {
            *self.unseen.entry((note.part, note.kind)).or_default() += 1;
        }
        self.stopped |= stop;
        self.notes.push_placed(note);
        if stop {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }

    fn is_repeated(&mut self, note: &Note) -> bool {
        let left = self.unseen.get_mut(&(note.part, note.kind));
        match left.filter(|left| self.lowering && **left > 0) {
            Some(left) => {
                *left -= 1;
                true
            }
            None => false,
        }
    }

    fn overflow(&mut self, at: PartId, part: &Notes) {
        for (level, kind, total) in part.counts() {
            let kept = part
                .kept()
                .iter()
                .filter(|n| n.level == level && n.kind == kind)
                .count();
            let dropped = total.saturating_sub(kept as u64);
            *self.unseen.entry((at, kind)).or_default() += dropped;
            for _ in 0..dropped {
                self.notes.push_placed(Note::new(level, kind, 0, ""));
            }
        }
    }
}

impl Sink for NoteCollector<'_> {
    fn asks(&self) -> Asks {
        asks()
    }

    fn begin(&mut self, _order: Order, clock: Clock) {
        if let Some(watch) = &mut self.watch {
            watch.begin(clock);
        }
    }

    fn define(&mut self, _new: Definitions) -> Flow {
        Flow::Continue(())
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        if let Some(watch) = &mut self.watch {
            watch.spans(&batch);
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        if let Some(watch) = &mut self.watch {
            watch.times(batch.time.iter().flatten());
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        if let Some(watch) = &mut self.watch {
            watch.times(batch.time.iter());
            watch.times(batch.end.iter().flatten());
        }
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        if let Some(watch) = &mut self.watch {
            watch.times(batch.time.iter());
        }
        Flow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        let part = place(&self.places, &note);
        self.add(Note { part, ..note })
    }
}

/// Prints the files of a folder that are no parts because they could not be read.
fn unread(
    input: &Input,
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    for error in input.unread() {
        let name = error.path().display().to_string();
        let note = damage("unreadable", 0, error.message());
        if options.json {
            let mut object = note_json(&note);
            if let Some(map) = object.as_object_mut() {
                map.insert("part".into(), name.into());
            }
            writeln!(out, "{object}")?;
        } else {
            let level = style.level(note.level);
            writeln!(out, "{name}: {level} {}: {}", note.kind, note.text)?;
        }
    }
    Ok(())
}

fn is_many(input: &Input) -> bool {
    input.is_folder() || input.parts().len() > 1
}

fn part_id(at: usize) -> PartId {
    PartId::nth(at)
}

fn print(
    input: &Input,
    notes: &Notes,
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let many = is_many(input);
    let most = match options.rows {
        0 => usize::MAX,
        rows => rows,
    };
    for note in notes.kept().iter().take(most) {
        let part = input.parts().get(note.part.0 as usize);
        let name = part
            .filter(|_| many)
            .map_or(input.path(), |part| part.part.name.as_str());
        if options.json {
            let mut object = note_json(note);
            if let Some(map) = object.as_object_mut() {
                map.insert("part".into(), name.into());
            }
            writeln!(out, "{object}")?;
        } else {
            let times = if note.count == 1 {
                String::new()
            } else {
                format!(" ×{}", count(note.count))
            };
            let level = style.level(note.level);
            writeln!(
                out,
                "{}: {level} {}{times} at {:#x}: {}",
                printable(name),
                note.kind,
                note.offset,
                printable(&note.text)
            )?;
        }
    }
    if options.json {
        return Ok(());
    }
    let more = notes.kept().len().saturating_sub(most);
    if more > 0 {
        let more = count(more as u64);
        writeln!(out, "{more} more notes; -n 0 prints all")?;
    }
    if notes.dropped() > 0 {
        writeln!(out, "{} more notes, counted only:", count(notes.dropped()))?;
        for (level, kind, total) in notes.counts() {
            writeln!(out, "  {} {kind} ×{}", style.level(level), count(total))?;
        }
    }
    let sum = |wanted| {
        notes
            .counts()
            .filter(|&(level, ..)| level == wanted)
            .map(|(_, _, n)| n)
            .sum()
    };
    let (info, warn, damage) = (sum(Level::Info), sum(Level::Warn), sum(Level::Damage));
    let damage = damage + input.unread().len() as u64;
    let parts = input.parts().len();
    let noun = if parts == 1 { "part" } else { "parts" };
    writeln!(
        out,
        "{}: {parts} {noun} read, {} damage, {} warn, {} info",
        printable(input.path()),
        count(damage),
        count(warn),
        count(info)
    )?;
    Ok(())
}
