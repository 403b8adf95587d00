//! Which calls go on, with everything in them.

use std::num::NonZeroU64;

use traceloom_model::{
    Asks, Batch, Flow, Forgotten, Level, Note, Order, Recording, SampleBatch, Sink, SpanBatch,
    SpanId, SpanRow, Stage, StringId,
};

use super::held::HeldSpans;
use crate::filter::{CallOfRow, SampleFilter, Selection};

/// One call or sample in so many, the same ones in every run.
///
/// The choice depends on the trace's id, where there is one, so that all processes of a distributed trace
/// are chosen alike; else on the number of the call, scattered so that no rhythm of the program meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction(NonZeroU64);

impl Fraction {
    /// One in `of`.
    #[must_use]
    pub const fn one_in(of: NonZeroU64) -> Self {
        Self(of)
    }

    fn takes(self, number: u64) -> bool {
        scatter(number) % self.0 == 0
    }

    fn takes_call(self, id: SpanId, row: Option<&SpanRow<'_>>) -> bool {
        let context = row.and_then(|row| row.context);
        let trace = context
            .map(|context| context.trace)
            .filter(|&trace| trace != 0);
        let number = trace.map_or(id.0, |trace| {
            let half = |bits: u128| u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0);
            half(trace >> 64) ^ half(trace)
        });
        self.takes(number)
    }
}

/// SplitMix64's last step: neighbours land far from each other.
fn scatter(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Passes on the calls that are chosen, with every span in them, the samples that the filter accepts, and a fraction
/// of both.
///
/// A call's spans come before it and wait for it. Events, counters, links and heap objects belong to no call
/// and pass. Spans whose call never comes are dropped when a
/// selection asks about calls: nothing tells which one they belong to.
pub struct Choose<'s> {
    to: &'s mut dyn Sink,
    selection: Selection,
    fraction: Option<Fraction>,
    limit: usize,
    tables: Recording,
    order: Order,
    held: HeldSpans,
    samples: u64,
    chosen: Option<SampleFilter>,
    /// Strings that nothing to come refers to, except spans that are held.
    passed: Forgotten,
}

impl std::fmt::Debug for Choose<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Choose")
            .field("selection", &self.selection)
            .field("fraction", &self.fraction)
            .finish_non_exhaustive()
    }
}

impl<'s> Choose<'s> {
    /// Passes on to `to` what is chosen, holding back about `limit` spans at most
    /// ([`traceloom_model::Limit::OpenSpans`]).
    pub fn new(
        to: &'s mut dyn Sink,
        selection: Selection,
        fraction: Option<Fraction>,
        limit: usize,
    ) -> Self {
        let filter = Some(selection.filter.clone()).filter(|filter| !filter.is_empty());
        Self {
            to,
            chosen: filter.map(SampleFilter::new),
            selection,
            fraction,
            limit,
            tables: Recording::default(),
            order: Order::default(),
            held: HeldSpans::default(),
            samples: 0,
            passed: Forgotten::default(),
        }
    }

    /// Decides about the spans whose call never came.
    pub fn finish(mut self) -> Flow {
        self.decide_all()
    }

    fn is_inert(&self) -> bool {
        self.selection.is_empty() && self.fraction.is_none()
    }

    fn takes(&self, row: &SpanRow<'_>) -> bool {
        self.fraction
            .is_none_or(|part| part.takes_call(row.id, Some(row)))
            && (self.selection.is_empty()
                || self.selection.accepts(&CallOfRow::new(&self.tables, row)))
    }

    fn spans(&mut self, batch: &SpanBatch) -> Flow {
        let mut chosen = SpanBatch::default();
        for row in batch.iter() {
            if row.parent.is_some() || self.order == Order::None {
                self.held.put(&row);
                continue;
            }
            let inside = self.held.take(row.id);
            if self.takes(&row) {
                inside
                    .iter()
                    .filter_map(|&at| self.held.spans.row(at))
                    .for_each(|row| chosen.push(&row));
                chosen.push(&row);
            }
            self.held.forget(&inside);
        }
        if !chosen.is_empty() {
            self.to.spans(chosen)?;
        }
        if self.order != Order::None && self.held.len() > self.limit {
            let text = "more open spans than allowed: decided about without the calls around them";
            let count = self.held.len() as u64;
            self.to
                .note(Note::new(Level::Damage, "limit_open_spans", 0, text).counting(count))?;
            self.decide_all()?;
        }
        Flow::Continue(())
    }

    fn decide_all(&mut self) -> Flow {
        let held = std::mem::take(&mut self.held);
        let roots = held.roots();
        let mut chosen = SpanBatch::default();
        for (at, row) in held
            .spans
            .iter()
            .enumerate()
            .filter(|(at, _)| !held.gone(*at))
        {
            let Some(root) = roots.get(at).and_then(|&root| held.spans.row(root)) else {
                continue;
            };
            let takes = match root.parent {
                None => self.takes(&root),
                Some(parent) => {
                    self.selection.is_empty()
                        && self
                            .fraction
                            .is_none_or(|part| part.takes_call(parent, None))
                }
            };
            if takes {
                chosen.push(&row);
            }
            if chosen.len() == traceloom_model::BATCH_ROWS {
                self.to.spans(std::mem::take(&mut chosen))?;
            }
        }
        if chosen.is_empty() {
            return Flow::Continue(());
        }
        self.to.spans(chosen)
    }

    /// Lets strings go that no span tells of which is held.
    fn forget(&mut self, strings: &[StringId]) {
        let held = self.held.spans.attributes.all().iter();
        let free = self.passed.free(strings, held.map(|one| &one.value));
        self.tables.drop_strings(&free);
        if !free.is_empty() {
            self.to.forget(&free);
        }
    }

    fn samples(&mut self, batch: SampleBatch) -> SampleBatch {
        let batch = match &mut self.chosen {
            Some(chosen) => chosen.choose(&self.tables, batch),
            None => batch,
        };
        let Some(fraction) = self.fraction else {
            return batch;
        };
        let mut chosen = SampleBatch::new(batch.profile, batch.width());
        for row in batch.iter() {
            if fraction.takes(self.samples) {
                chosen.push(&row);
            }
            self.samples += 1;
        }
        chosen
    }
}

impl Stage for Choose<'_> {
    fn asks(&self) -> Asks {
        let asks = self.to.asks();
        let wants = match self.is_inert() {
            true => asks.wants,
            false => asks.wants.without_steps(),
        };
        Asks {
            wants,
            // Samples are chosen by their stacks, threads and labels.
            labels: asks.labels || self.chosen.is_some(),
            sums: asks.sums && self.chosen.is_none(),
            stacks: asks.stacks || self.chosen.is_some(),
            timeless_stacks: asks.timeless_stacks || self.chosen.is_some(),
            ..asks
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        if self.is_inert() {
            return batch.push(self.to);
        }
        match batch {
            Batch::Steps(_) => Flow::Continue(()),
            Batch::Spans(spans) => self.spans(&spans),
            Batch::Samples(samples) => {
                let chosen = self.samples(samples);
                self.to.samples(chosen)
            }
            Batch::Begin(order, _) => {
                self.order = order;
                batch.push(self.to)
            }
            Batch::Forget(strings) => {
                self.forget(&strings);
                Flow::Continue(())
            }
            Batch::Define(new) => {
                // Strings of every call are kept only when calls are asked about them.
                if !self.selection.is_empty() {
                    self.tables.define(new.clone())?;
                }
                self.to.define(new)
            }
            other => other.push(self.to),
        }
    }
}
