//! Sinks that stand between a reader and another sink.

use crate::{
    Asks, Clock, CounterBatch, Definitions, EdgeBatch, EventBatch, Flow, LinkBatch, Note,
    ObjectBatch, Order, PathBatch, RootBatch, SampleBatch, Sink, SpanBatch, StepBatch, StringId,
    Timestamp,
};

/// One call of a [`Sink`] method, as a value that can wait, be sent to a thread or be looked at.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "each is what the method of its name takes")]
pub enum Batch {
    Begin(Order, Clock),
    Define(Definitions),
    Spans(SpanBatch),
    Steps(StepBatch),
    Samples(SampleBatch),
    Paths(PathBatch),
    Events(EventBatch),
    Counters(CounterBatch),
    Links(LinkBatch),
    Objects(ObjectBatch),
    Edges(EdgeBatch),
    Roots(RootBatch),
    Forget(Vec<StringId>),
    Note(Note),
}

impl Batch {
    /// Returns how many rows it has, none for what says something else.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Spans(batch) => batch.len(),
            Self::Steps(batch) => batch.len(),
            Self::Samples(batch) => batch.len(),
            Self::Paths(batch) => batch.len(),
            Self::Events(batch) => batch.len(),
            Self::Counters(batch) => batch.series.len(),
            Self::Links(batch) => batch.links.len(),
            Self::Objects(batch) => batch.rows.len(),
            Self::Edges(batch) => batch.from.len(),
            Self::Roots(batch) => batch.object.len(),
            Self::Begin(..) | Self::Define(_) | Self::Forget(_) | Self::Note(_) => 0,
        }
    }

    /// Pushes it into `to`.
    pub fn push<S: Sink + ?Sized>(self, to: &mut S) -> Flow {
        match self {
            Self::Begin(order, clock) => {
                to.begin(order, clock);
                Flow::Continue(())
            }
            Self::Define(definitions) => to.define(definitions),
            Self::Spans(batch) => to.spans(batch),
            Self::Steps(batch) => to.steps(batch),
            Self::Samples(batch) => to.samples(batch),
            Self::Paths(batch) => to.paths(batch),
            Self::Events(batch) => to.events(batch),
            Self::Counters(batch) => to.counters(batch),
            Self::Links(batch) => to.links(batch),
            Self::Objects(batch) => to.objects(batch),
            Self::Edges(batch) => to.edges(batch),
            Self::Roots(batch) => to.roots(batch),
            Self::Forget(strings) => {
                to.forget(&strings);
                Flow::Continue(())
            }
            Self::Note(note) => to.note(note),
        }
    }
}

/// A sink that passes on what it does not change.
///
/// Everything comes through one method, so that a stage writes the arms it is about and one more for the
/// rest. The objection is a move of some hundred bytes a batch, which holds thousands of rows.
///
/// ```
/// use traceloom_model::{Asks, Batch, Flow, Sink, Stage};
///
/// /// Drops counter points.
/// struct Uncounted<'s>(&'s mut dyn Sink);
///
/// impl Stage for Uncounted<'_> {
///     fn asks(&self) -> Asks {
///         self.0.asks()
///     }
///
///     fn pass(&mut self, batch: Batch) -> Flow {
///         match batch {
///             Batch::Counters(_) => Flow::Continue(()),
///             other => other.push(self.0),
///         }
///     }
/// }
/// ```
pub trait Stage {
    /// Returns what this stage asks: nearly always the same as the sink behind it.
    fn asks(&self) -> Asks;

    /// Answers [`Sink::wants_details`]: a stage that hands on calls as they come may ask the sink behind it.
    fn wants_details(&self, _start: Timestamp, _end: Option<Timestamp>) -> bool {
        true
    }

    /// Takes one batch and pushes on what comes of it.
    fn pass(&mut self, batch: Batch) -> Flow;
}

impl<T: Stage + ?Sized> Sink for T {
    fn asks(&self) -> Asks {
        Stage::asks(self)
    }

    fn wants_details(&self, start: Timestamp, end: Option<Timestamp>) -> bool {
        Stage::wants_details(self, start, end)
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        let _ = self.pass(Batch::Begin(order, clock));
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.pass(Batch::Define(definitions))
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.pass(Batch::Spans(batch))
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        self.pass(Batch::Steps(batch))
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.pass(Batch::Samples(batch))
    }

    fn paths(&mut self, batch: PathBatch) -> Flow {
        self.pass(Batch::Paths(batch))
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.pass(Batch::Events(batch))
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        self.pass(Batch::Counters(batch))
    }

    fn links(&mut self, batch: LinkBatch) -> Flow {
        self.pass(Batch::Links(batch))
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        self.pass(Batch::Objects(batch))
    }

    fn edges(&mut self, batch: EdgeBatch) -> Flow {
        self.pass(Batch::Edges(batch))
    }

    fn roots(&mut self, batch: RootBatch) -> Flow {
        self.pass(Batch::Roots(batch))
    }

    fn forget(&mut self, strings: &[StringId]) {
        let _ = self.pass(Batch::Forget(strings.to_vec()));
    }

    fn note(&mut self, note: Note) -> Flow {
        self.pass(Batch::Note(note))
    }
}
