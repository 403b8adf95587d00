//! Targets that can write only once they know the whole recording.

use traceloom_model::{
    Clock, Definitions, Feature, Flow, Note, Order, Recording, SampleBatch, Sink, SpanBatch,
};

use crate::{Error, LeftOut, Target};

/// Keeps the tables, spans and samples of a recording until it is finished, and writes it then.
///
/// Of events that are told as samples too it keeps the types, which say what language it was. Writing returns the values
/// that were left out of several.
pub(crate) struct WholeRecording<W> {
    recording: Recording,
    write: Option<W>,
    left_out: Vec<LeftOut>,
}

impl<W: FnOnce(Recording) -> Result<Vec<LeftOut>, Error> + Send> WholeRecording<W> {
    pub(crate) fn new(write: W) -> Self {
        Self {
            recording: Recording::default(),
            write: Some(write),
            left_out: Vec::new(),
        }
    }
}

impl<W: FnOnce(Recording) -> Result<Vec<LeftOut>, Error> + Send> Sink for WholeRecording<W> {
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

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl<W: FnOnce(Recording) -> Result<Vec<LeftOut>, Error> + Send> Target for WholeRecording<W> {
    fn finish(&mut self) -> Result<(), Error> {
        let recording = std::mem::take(&mut self.recording);
        if let Some(write) = self.write.take() {
            self.left_out = write(recording)?;
        }
        Ok(())
    }

    fn left_out(&self) -> Vec<(Feature, Vec<LeftOut>)> {
        vec![(Feature::ManyValues, self.left_out.clone())]
    }
}
