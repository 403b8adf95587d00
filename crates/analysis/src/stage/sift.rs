//! Which events and samples go on.

use traceloom_model::{Asks, Batch, EventBatch, Flow, Recording, Sink, Stage};

use crate::filter::Filter;
use crate::filter::{EventFilter, SampleFilter};

/// Passes on the events and samples that a filter accepts, and everything else.
///
/// Each is judged when it comes, by what is defined until then. [`super::Choose`] is about calls, to which events
/// belong to none; this is for views of events.
pub struct Sift<'s> {
    to: &'s mut dyn Sink,
    tables: Recording,
    events: EventFilter,
    samples: SampleFilter,
    told: (u64, u64),
}

impl std::fmt::Debug for Sift<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let told = &mut f.debug_struct("Sift");
        told.field("events", &self.events).finish_non_exhaustive()
    }
}

impl<'s> Sift<'s> {
    /// Passes on to `to` what `filter` accepts.
    pub fn new(to: &'s mut dyn Sink, filter: Filter) -> Self {
        Self {
            to,
            tables: Recording::default(),
            events: EventFilter::new(filter.clone()),
            samples: SampleFilter::new(filter),
            told: (0, 0),
        }
    }

    /// Returns how many events and samples passed, and how many were refused; both none without a filter.
    #[must_use]
    pub fn told(&self) -> (u64, u64) {
        let (passed, refused) = self.samples.told;
        (self.told.0 + passed, self.told.1 + refused)
    }
}

impl Stage for Sift<'_> {
    fn asks(&self) -> Asks {
        let asks = self.to.asks();
        Asks {
            // What is chosen by its functions has them.
            stacks: asks.stacks || !self.events.is_empty(),
            timeless_stacks: asks.timeless_stacks || !self.events.is_empty(),
            sums: asks.sums && self.events.is_empty(),
            ..asks
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        if self.events.is_empty() {
            return batch.push(self.to);
        }
        match batch {
            Batch::Define(new) => {
                self.tables.define(new.clone())?;
                self.to.define(new)
            }
            Batch::Forget(strings) => {
                self.tables.drop_strings(&strings);
                self.to.forget(&strings);
                Flow::Continue(())
            }
            Batch::Events(batch) => {
                let mut chosen = EventBatch::default();
                for row in batch.iter() {
                    if self.events.accepts(&self.tables, &row) {
                        chosen.push(&row);
                    }
                }
                self.told.0 += chosen.len() as u64;
                self.told.1 += (batch.len() - chosen.len()) as u64;
                self.to.events(chosen)
            }
            Batch::Samples(batch) => self.to.samples(self.samples.choose(&self.tables, batch)),
            other => other.push(self.to),
        }
    }
}
