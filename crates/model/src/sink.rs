//! The sink: where lowered data goes, batch by batch.

use std::ops::ControlFlow;

use crate::{
    Clock, CounterBatch, Definitions, EdgeBatch, EventBatch, LinkBatch, Note, ObjectBatch,
    PathBatch, RootBatch, SampleBatch, SpanBatch, StepBatch, StringId, Timestamp,
};

/// Go on, or stop reading: a sink that has seen enough breaks.
pub type Flow = ControlFlow<()>;

/// The order in which a reader pushes the spans of one track.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// By end, children before their parent, properly nested.
    #[default]
    Nested,
    /// By end as the producer finished them; siblings may overlap.
    Finish,
    /// Any.
    None,
}

/// How much of nested spans a sink needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Wants {
    /// No spans: events, samples and counters alone.
    NoSpans,
    /// Calls without the spans inside them, those included that were running when recording ended.
    Calls,
    /// Enter and exit steps, and calls where [`StepBatch::calls`] refers to them.
    ///
    /// A reader that has no cheap steps pushes spans instead; a sink that wants steps takes both.
    Steps {
        /// The calls themselves are needed, to decide which of them count.
        calls: bool,
    },
    /// Every span.
    #[default]
    Spans,
    /// Every span, and before those of a batch their steps: of sinks that share one reading, some take spans and some steps.
    ///
    /// A reader that has no cheap steps pushes spans alone.
    SpansAndSteps,
}

impl Wants {
    /// Returns true if steps are taken.
    #[must_use]
    pub const fn has_steps(self) -> bool {
        matches!(self, Self::Steps { .. } | Self::SpansAndSteps)
    }

    /// Returns what is to be asked of a reader by who hands on spans, but no steps.
    #[must_use]
    pub const fn without_steps(self) -> Self {
        match self {
            Self::Steps { .. } | Self::SpansAndSteps => Self::Spans,
            wants @ (Self::NoSpans | Self::Calls | Self::Spans) => wants,
        }
    }
}

/// What a sink asks of a reader. A reader may push more than it is asked for, never less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asks {
    /// How much of nested spans the sink needs.
    pub wants: Wants,
    /// Events that lower to samples are wanted as events too.
    ///
    /// A view of samples, and a target that holds samples but no events, would get the same thing twice and
    /// count the second one as lost.
    pub sampled_events: bool,
    /// Statistics that follow from the spans themselves are wanted as samples.
    ///
    /// A target that holds the spans needs no sums of them, and would count them as lost.
    pub derived_samples: bool,
    /// Samples are wanted with stacks of the stack table.
    ///
    /// A sink that only adds up functions has no use for them. Where a reader can, it then pushes
    /// [`Sink::paths`], else samples all the same. Names and functions that are equal may then have several
    /// ids: who adds them up compares names.
    pub stacks: bool,
    /// With [`Self::stacks`], samples without a time are wanted with theirs, too.
    ///
    /// A sink that shows when samples were taken only counts the others.
    pub timeless_stacks: bool,
    /// Events and points of counters are wanted.
    ///
    /// A view of calls and samples has no use for them; a reader that can tell them apart before it looks into them is
    /// spared them, and the notes about what is in them.
    pub events: bool,
    /// Samples are wanted with their labels and threads.
    ///
    /// A sink that adds up samples by their stacks alone has no use for them.
    pub labels: bool,
    /// Samples are only added up.
    ///
    /// A reader may then push one row for many samples that are equal but for their times and values
    /// ([`crate::SampleBatch::added_up`]); without [`Self::labels`] those of one stack are equal.
    pub sums: bool,
    /// Values that are left out are checked all the same, for the notes about them.
    ///
    /// A sink that wants no more than steps is spared values in other streams and ids without words; one
    /// that lists damage asks for them here, and the reader keeps none of them.
    pub checks_values: bool,
    /// Definitions are wanted that no row refers to: words of a dictionary that no call uses.
    ///
    /// A target that writes such a dictionary loses them otherwise; to all others they mean nothing.
    pub unused: bool,
    /// Only the amounts of samples are added up, and which kinds of rows there are: samples need no stack,
    /// thread or label, events no attributes.
    ///
    /// A reader that has to resolve those is spared it, and the notes about them; one that does not may bring
    /// them all the same.
    pub amounts_only: bool,
    /// Only notes are taken: no row need be pushed and none be resolved but for the notes about it.
    pub notes_only: bool,
}

impl Default for Asks {
    fn default() -> Self {
        Self {
            wants: Wants::Spans,
            sampled_events: true,
            derived_samples: true,
            stacks: true,
            timeless_stacks: true,
            events: true,
            labels: true,
            sums: false,
            checks_values: false,
            unused: false,
            amounts_only: false,
            notes_only: false,
        }
    }
}

/// Takes what a reader lowers.
///
/// Laws for readers: an id may be used before [`Sink::define`] brings its definition, but the definition
/// comes before the end; batches hold at most [`crate::BATCH_ROWS`] rows; after a sink breaks, nothing
/// more is pushed. A sink ignores what it has no use for: each method has a body that does.
pub trait Sink {
    /// Returns what this sink asks of a reader: everything, and no checks of what is left out.
    fn asks(&self) -> Asks {
        Asks::default()
    }

    /// Returns false if this sink has no use for the attributes and counters of a call that begins and ends then, such as one that a
    /// list has no room for: a reader may push the call without them. What was refused once is refused from then on.
    ///
    /// Without an end it is asked of a call that is still open.
    fn wants_details(&self, _start: Timestamp, _end: Option<Timestamp>) -> bool {
        true
    }

    /// Says in which order spans come and what time zero is. Called before any batch, and once again before
    /// the batches of each further recording of the same kind that follows.
    fn begin(&mut self, _order: Order, _clock: Clock) {}

    /// Takes definitions of table rows.
    fn define(&mut self, definitions: Definitions) -> Flow;

    /// Takes spans.
    fn spans(&mut self, _batch: SpanBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes enter and exit steps.
    fn steps(&mut self, _batch: StepBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes samples.
    fn samples(&mut self, _batch: SampleBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes samples whose stacks are written out; the profile, functions and frames are defined before.
    fn paths(&mut self, _batch: PathBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes events.
    fn events(&mut self, _batch: EventBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes counter points.
    fn counters(&mut self, _batch: CounterBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes links. An empty batch before any span says that links will follow: targets that write a
    /// span before what follows from it is known then prepare for it.
    fn links(&mut self, _batch: LinkBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes heap objects.
    fn objects(&mut self, _batch: ObjectBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes references between heap objects.
    fn edges(&mut self, _batch: EdgeBatch) -> Flow {
        Flow::Continue(())
    }

    /// Takes heap roots.
    fn roots(&mut self, _batch: RootBatch) -> Flow {
        Flow::Continue(())
    }

    /// Says that nothing to come refers to these strings, right after the batches that did: a sink may drop those that it shows nowhere.
    ///
    /// Values of rows that stand alone are as many as the rows; a sink that keeps few rows has a
    /// bounded memory only without them.
    fn forget(&mut self, _strings: &[StringId]) {}

    /// Takes a note; breaking stops at it (`--strict`).
    fn note(&mut self, note: Note) -> Flow;
}
