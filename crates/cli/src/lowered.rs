//! Lowering the recordings of an input into a sink, with what went wrong counted on the way.

use std::fmt::Write as _;

use traceloom_formats::LowerOptions;
use traceloom_input::{Document, Input};
use traceloom_model::{
    Clock, CounterBatch, Definitions, EdgeBatch, EventBatch, Flow, Level, LinkBatch, Note, Notes,
    ObjectBatch, Order, RootBatch, SampleBatch, Sink, SpanBatch, StepBatch, Wants,
};

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
    traceloom_input::lower(document, options, &mut watched)?;
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

impl Sink for Watched<'_> {
    fn wants(&self) -> Wants {
        self.to.wants()
    }

    fn wants_sampled_events(&self) -> bool {
        self.to.wants_sampled_events()
    }

    fn wants_derived_samples(&self) -> bool {
        self.to.wants_derived_samples()
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.to.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.to.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.to.spans(batch)
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        self.to.steps(batch)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.to.samples(batch)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.to.events(batch)
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        self.to.counters(batch)
    }

    fn links(&mut self, batch: LinkBatch) -> Flow {
        self.to.links(batch)
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        self.to.objects(batch)
    }

    fn edges(&mut self, batch: EdgeBatch) -> Flow {
        self.to.edges(batch)
    }

    fn roots(&mut self, batch: RootBatch) -> Flow {
        self.to.roots(batch)
    }

    fn note(&mut self, note: Note) -> Flow {
        self.notes.push_placed(note.clone());
        if self.strict && note.level == Level::Damage {
            self.stopped = Some(note);
            return Flow::Break(());
        }
        self.to.note(note)
    }
}
