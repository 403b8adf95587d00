//! One reading for several sinks.

use traceloom_model::{Asks, Batch, Flow, Sink, SpanBatch, Stage, Wants};

/// Hands everything to several sinks, in their order.
///
/// It asks a reader for what any of them asks: each of them is pushed more than it asked for, and passes over it. Steps, and
/// spans that they tell as well, go to those alone that asked for them. One that breaks gets nothing more; reading ends when
/// all have.
pub struct Tee<'s, S: Sink + ?Sized> {
    sinks: Vec<&'s mut S>,
    /// Rows of the next batch of spans that the last steps told.
    in_steps: usize,
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
        Self { sinks, in_steps: 0 }
    }

    /// Returns true if `sink` has a use for the batch.
    fn is_for(&self, batch: &Batch, sink: &S) -> bool {
        match batch {
            Batch::Steps(_) => sink.asks().wants.has_steps(),
            Batch::Spans(spans) if self.in_steps == spans.len() => {
                sink.asks().wants != Wants::Steps { calls: false }
            }
            _ => true,
        }
    }

    /// Returns what a sink is given in place of a batch that it has no use for.
    fn instead(batch: &Batch) -> Option<Batch> {
        // Rows that steps name are those of the next batch of spans, which has to come.
        matches!(batch, Batch::Spans(_)).then(|| Batch::Spans(SpanBatch::default()))
    }
}

impl<S: Sink + ?Sized> Stage for Tee<'_, S> {
    fn asks(&self) -> Asks {
        let asks = self.sinks.iter().map(|sink| sink.asks());
        asks.reduce(either).unwrap_or_default()
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let mut sinks = std::mem::take(&mut self.sinks);
        let last = sinks.iter().rposition(|sink| self.is_for(&batch, sink));
        let next_in_steps = match &batch {
            Batch::Steps(steps) => steps.n_rows_in_steps(),
            Batch::Spans(_) => 0,
            _ => self.in_steps,
        };
        let instead = Self::instead(&batch);
        // The last one that has a use for it takes the batch itself.
        let mut left = Some(batch);
        let mut places = 0..sinks.len();
        sinks.retain_mut(|sink| {
            let given = match &left {
                _ if places.next() == last => left.take(),
                Some(batch) if self.is_for(batch, sink) => left.clone(),
                _ => instead.clone(),
            };
            given.is_none_or(|batch| batch.push(&mut **sink).is_continue())
        });
        self.sinks = sinks;
        self.in_steps = next_in_steps;
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
        (Wants::Steps { .. }, Wants::Spans) => Wants::SpansAndSteps,
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
    use traceloom_model::{
        Definitions, FunctionId, Level, Note, Notes, SpanId, SpanRow, StepBatch, TrackId,
    };

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
        let both = Wants::SpansAndSteps;
        assert_eq!((asks.wants, asks.amounts_only), (both, false));
        let mut sinks = [bare, spans].map(|asks| Counted::new(asks, 1));
        let tee = Tee::new(sinks.iter_mut().collect());
        assert_eq!(Stage::asks(&tee).wants, Wants::Spans);
    }

    /// Takes spans, or steps and the spans that these do not tell.
    #[derive(Debug, Default)]
    struct Rows {
        wants: Wants,
        spans: Vec<usize>,
        n_steps: usize,
        named: Vec<u32>,
    }

    impl Sink for Rows {
        fn asks(&self) -> Asks {
            Asks {
                wants: self.wants,
                ..Asks::default()
            }
        }

        fn define(&mut self, _new: Definitions) -> Flow {
            Flow::Continue(())
        }

        fn steps(&mut self, batch: StepBatch) -> Flow {
            self.n_steps += batch.len();
            batch.rows_in_steps(&mut self.named);
            Flow::Continue(())
        }

        fn spans(&mut self, batch: SpanBatch) -> Flow {
            let named = std::mem::take(&mut self.named).into_iter();
            let told = named.filter(|&row| (row as usize) < batch.len()).count();
            self.spans.push(batch.len() - told);
            Flow::Continue(())
        }

        fn note(&mut self, _note: Note) -> Flow {
            Flow::Continue(())
        }
    }

    #[test]
    fn spans_that_steps_tell_go_to_those_who_asked_for_them() {
        let wants = [
            Wants::Steps { calls: false },
            Wants::Spans,
            Wants::Steps { calls: true },
            Wants::Calls,
            Wants::Steps { calls: false },
        ];
        let mut sinks = wants.map(|wants| Rows {
            wants,
            ..Rows::default()
        });
        let [first, second, others @ ..] = &mut sinks;
        // One of steps and one of spans in a tee of their own.
        let mut inner = Tee::new(vec![first, second]);
        let mut all: Vec<&mut dyn Sink> = vec![&mut inner];
        all.extend(others.iter_mut().map(|sink| sink as &mut dyn Sink));
        let mut tee = Tee::new(all);
        let row = SpanRow::call(SpanId(1), TrackId::new(0), FunctionId::new(0), 0, 1);
        let spans = |n_rows| {
            let mut spans = SpanBatch::default();
            (0..n_rows).for_each(|_| spans.push(&row));
            spans
        };
        let mut steps = StepBatch::default();
        steps.enter(0, FunctionId::new(0));
        steps.exit(1);
        steps.calls.push((1, 1));
        steps.inner.push(0);
        // Two of two rows are told, then none of two, then two of three, then none of one.
        for (steps, n_rows) in [(Some(&steps), 2), (None, 2), (Some(&steps), 3), (None, 1)] {
            if let Some(steps) = steps {
                assert!(tee.steps(steps.clone()).is_continue());
            }
            assert!(tee.spans(spans(n_rows)).is_continue());
        }
        let told = sinks.map(|sink| (sink.spans, sink.n_steps));
        let [steps, spans] = [(vec![0, 2, 1, 1], 4), (vec![2, 2, 3, 1], 0)];
        assert_eq!(
            told,
            [steps.clone(), spans.clone(), steps.clone(), spans, steps]
        );
    }
}
