//! Spans that a target has no place for.

use traceloom_model::{Asks, Batch, Capabilities, Feature, Flow, Sink, Stage, Wants};

/// The number of rows that passed a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PassedRows {
    /// Spans.
    pub spans: u64,
    /// Samples.
    pub samples: u64,
    /// Spans came as steps, which are not counted.
    pub steps: bool,
}

/// Withholds spans from a target of samples: some writers would merge them, which nobody asked for.
pub struct WithheldSpans<'s, S: Sink + ?Sized> {
    to: &'s mut S,
    holds: Capabilities,
    passed: PassedRows,
}

impl<'s, S: Sink + ?Sized> WithheldSpans<'s, S> {
    /// Passes to `to` what it `holds`.
    pub fn new(to: &'s mut S, holds: Capabilities) -> Self {
        Self {
            to,
            holds,
            passed: PassedRows::default(),
        }
    }

    /// Returns the number of rows that came, withheld ones included.
    #[must_use]
    pub fn passed(&self) -> PassedRows {
        self.passed
    }
}

impl<S: Sink + ?Sized> Stage for WithheldSpans<'_, S> {
    fn asks(&self) -> Asks {
        let asks = self.to.asks();
        // What is withheld from the target is counted, and steps are not.
        let wants = if self.holds.holds(Feature::Spans) {
            asks.wants
        } else {
            Wants::Spans
        };
        Asks { wants, ..asks }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match &batch {
            Batch::Spans(spans) => self.passed.spans += spans.len() as u64,
            Batch::Samples(samples) => self.passed.samples += samples.len() as u64,
            Batch::Steps(_) => self.passed.steps |= batch.rows() > 0,
            _ => {}
        }
        let spans = matches!(batch, Batch::Spans(_) | Batch::Steps(_));
        if spans && !self.holds.holds(Feature::Spans) {
            return Flow::Continue(());
        }
        batch.push(self.to)
    }
}
