//! One reading for several sinks.

use traceloom_model::{Asks, Batch, Flow, Sink, Stage, Wants};

/// Hands everything to several sinks, in their order.
///
/// It asks a reader for what any of them asks: each of them is pushed more than it asked for, and passes over it. One that
/// breaks gets nothing more; reading ends when all have.
pub struct Tee<'s, S: Sink + ?Sized> {
    sinks: Vec<&'s mut S>,
}

impl<S: Sink + ?Sized> std::fmt::Debug for Tee<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tee")
            .field("sinks", &self.sinks.len())
            .finish()
    }
}

impl<'s, S: Sink + ?Sized> Tee<'s, S> {
    /// Hands everything to each of these.
    pub const fn new(sinks: Vec<&'s mut S>) -> Self {
        Self { sinks }
    }
}

impl<S: Sink + ?Sized> Stage for Tee<'_, S> {
    fn asks(&self) -> Asks {
        let asks = self.sinks.iter().map(|sink| sink.asks());
        asks.reduce(either).unwrap_or_default()
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let mut last = self.sinks.pop();
        self.sinks
            .retain_mut(|sink| batch.clone().push(&mut **sink).is_continue());
        last.take_if(|sink| batch.push(&mut **sink).is_break());
        self.sinks.extend(last);
        match self.sinks.is_empty() {
            true => Flow::Break(()),
            false => Flow::Continue(()),
        }
    }
}

/// Returns what satisfies both.
fn either(one: Asks, other: Asks) -> Asks {
    let wants = match (one.wants.min(other.wants), one.wants.max(other.wants)) {
        // Steps alone do not tell the rows of calls.
        (Wants::Calls, Wants::Steps { .. }) => Wants::Steps { calls: true },
        (_, most) => most,
    };
    Asks {
        wants,
        sampled_events: one.sampled_events || other.sampled_events,
        derived_samples: one.derived_samples || other.derived_samples,
        stacks: one.stacks || other.stacks,
        timeless_stacks: one.timeless_stacks || other.timeless_stacks,
        events: one.events || other.events,
        labels: one.labels || other.labels,
        sums: one.sums && other.sums,
        checks_values: one.checks_values || other.checks_values,
        unused: one.unused || other.unused,
        amounts_only: one.amounts_only && other.amounts_only,
        notes_only: one.notes_only && other.notes_only,
    }
}

#[cfg(test)]
mod tests {
    use traceloom_model::{Definitions, Level, Note, Notes};

    use super::*;

    struct Counted {
        asks: Asks,
        notes: Notes,
        most: u64,
    }

    impl Counted {
        fn new(asks: Asks, most: u64) -> Self {
            Self {
                asks,
                notes: Notes::default(),
                most,
            }
        }
    }

    impl Sink for Counted {
        fn asks(&self) -> Asks {
            self.asks
        }

        fn define(&mut self, _new: Definitions) -> Flow {
            Flow::Continue(())
        }

        fn note(&mut self, note: Note) -> Flow {
            self.notes.push(note);
            match self.notes.total() == self.most {
                true => Flow::Break(()),
                false => Flow::Continue(()),
            }
        }
    }

    #[test]
    fn a_sink_that_breaks_leaves_the_others_reading() {
        let mut sinks = [3, 5, 2].map(|most| Counted::new(Asks::default(), most));
        let mut tee = Tee::new(sinks.iter_mut().collect());
        let note = |offset| Note::new(Level::Info, "n", offset, "");
        let taken = (0..10).take_while(|&at| tee.note(note(at)).is_continue());
        // The fifth is the one that ended it.
        assert_eq!(taken.count(), 4);
        assert_eq!(sinks.map(|sink| sink.notes.total()), [3, 5, 2]);
    }

    #[test]
    fn a_tee_asks_for_what_any_of_its_sinks_asks() {
        let bare = Asks {
            wants: Wants::Calls,
            sampled_events: false,
            stacks: false,
            events: false,
            labels: false,
            amounts_only: true,
            notes_only: true,
            ..Asks::default()
        };
        let steps = Asks {
            wants: Wants::Steps { calls: false },
            sampled_events: true,
            events: true,
            checks_values: true,
            ..bare
        };
        let mut sinks = [bare, steps].map(|asks| Counted::new(asks, 1));
        let tee = Tee::new(sinks.iter_mut().collect());
        let wanted = Asks {
            wants: Wants::Steps { calls: true },
            ..steps
        };
        assert_eq!(Stage::asks(&tee), wanted);
        let spans = Asks::default();
        let mut sinks = [steps, spans].map(|asks| Counted::new(asks, 1));
        let tee = Tee::new(sinks.iter_mut().collect());
        let asks = Stage::asks(&tee);
        assert_eq!((asks.wants, asks.amounts_only), (Wants::Spans, false));
    }
}
