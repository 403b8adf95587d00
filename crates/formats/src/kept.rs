//! Targets that can write only once they know the whole recording.

use traceloom_model::{
    Clock, CounterBatch, Definitions, EventBatch, Flow, Note, Order, Recording, SampleBatch, Sink,
    SpanBatch,
};

use crate::{Error, Target};

/// What such a target has use for, besides spans and samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Keep {
    /// Nothing.
    Calls,
    /// Events and counters.
    Events,
}

/// Keeps a recording until it is finished, and writes it then.
pub(crate) struct Kept<W> {
    keep: Keep,
    recording: Recording,
    write: Option<W>,
}

impl<W: FnOnce(Recording) -> Result<(), Error> + Send> Kept<W> {
    pub(crate) fn new(keep: Keep, write: W) -> Self {
        Self {
            keep,
            recording: Recording::default(),
            write: Some(write),
        }
    }
}

impl<W: FnOnce(Recording) -> Result<(), Error> + Send> Sink for Kept<W> {
    fn wants_sampled_events(&self) -> bool {
        // Drawn as samples; where no event is drawn, their types still say what language it was.
        self.keep == Keep::Calls
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.recording.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.recording.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.recording.spans(batch)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.recording.samples(batch)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        match self.keep {
            Keep::Calls => Flow::Continue(()),
            Keep::Events => self.recording.events(batch),
        }
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        match self.keep {
            Keep::Calls => Flow::Continue(()),
            Keep::Events => self.recording.counters(batch),
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl<W: FnOnce(Recording) -> Result<(), Error> + Send> Target for Kept<W> {
    fn finish(&mut self) -> Result<(), Error> {
        let recording = std::mem::take(&mut self.recording);
        self.write.take().map_or(Ok(()), |write| write(recording))
    }
}
