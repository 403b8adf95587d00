//! From when to when a recording reaches.

use traceloom_model::{Asks, Batch, Clock, Flow, Stage, Timestamp, Wants};

/// A sink that keeps the first and the last time it sees, and the clock they are of.
#[derive(Debug, Default)]
pub struct Extent {
    clock: Option<Clock>,
    times: Option<(Timestamp, Timestamp)>,
    clock_only: bool,
}

impl Extent {
    /// Stops at the first batch: only the clock is of interest.
    #[must_use]
    pub fn of_clock() -> Self {
        Self {
            clock_only: true,
            ..Self::default()
        }
    }

    /// Returns the clock, none when the reader named none.
    #[must_use]
    pub fn clock(&self) -> Option<Clock> {
        self.clock
    }

    /// Returns the first and the last time, none when nothing has a time.
    #[must_use]
    pub fn times(&self) -> Option<(Timestamp, Timestamp)> {
        self.times
    }

    fn see(&mut self, time: Timestamp) {
        let (first, last) = self.times.get_or_insert((time, time));
        *first = time.min(*first);
        *last = time.max(*last);
    }

    fn see_all<'t>(&mut self, times: impl IntoIterator<Item = &'t Timestamp>) {
        times.into_iter().for_each(|&time| self.see(time));
    }
}

impl Stage for Extent {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Steps { calls: true },
            sampled_events: false,
            derived_samples: false,
            stacks: true,
            timeless_stacks: false,
            events: true,
            labels: false,
            sums: false,
            checks_values: false,
            unused: false,
            amounts_only: false,
            notes_only: false,
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match &batch {
            Batch::Begin(_, clock) => {
                self.clock = Some(*clock);
                return Flow::Continue(());
            }
            Batch::Spans(spans) => {
                self.see_all(&spans.start);
                self.see_all(&spans.end);
            }
            Batch::Steps(steps) => self.see_all(&steps.time),
            Batch::Samples(samples) => self.see_all(samples.time.iter().flatten()),
            Batch::Events(events) => {
                self.see_all(&events.time);
                self.see_all(events.end.iter().flatten());
            }
            Batch::Counters(points) => self.see_all(&points.time),
            // What is defined has no time, and comes before what has.
            Batch::Define(_)
            | Batch::Paths(_)
            | Batch::Forget(_)
            | Batch::Links(_)
            | Batch::Objects(_)
            | Batch::Edges(_)
            | Batch::Roots(_)
            | Batch::Note(_) => {}
        }
        if self.clock_only {
            Flow::Break(())
        } else {
            Flow::Continue(())
        }
    }
}
