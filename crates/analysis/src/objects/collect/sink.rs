//! What passes by, and what of it is counted.

use traceloom_model::{
    Asks, Clock, Definitions, EdgeBatch, EventBatch, Flow, Note, ObjectBatch, Order, RootBatch,
    SampleBatch, Sink, Wants,
};

use super::super::row::Amount;
use super::{FieldMeaning, ObjectTable};

impl Sink for ObjectTable {
    fn begin(&mut self, order: Order, clock: Clock) {
        self.tables.begin(order, clock);
    }

    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::NoSpans,
            sampled_events: false,
            ..Asks::default()
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.release();
        self.held = Some(batch);
        Flow::Continue(())
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        self.waiting = batch.rows;
        self.release();
        Flow::Continue(())
    }

    fn edges(&mut self, batch: EdgeBatch) -> Flow {
        if self.held.is_some() {
            self.release();
        }
        self.result.source.dumped = true;
        for (&from, &to) in batch.from.iter().zip(&batch.to) {
            let (to, true) = self.referred(to) else {
                continue;
            };
            let (from, _) = self.referred(from);
            let tally = self.classes.tally(to);
            tally.references += 1;
            if self.pairs.len() < self.options.most_pairs || self.pairs.contains_key(&(from, to)) {
                *self.pairs.entry((from, to)).or_default() += 1;
            }
        }
        Flow::Continue(())
    }

    fn roots(&mut self, batch: RootBatch) -> Flow {
        if self.held.is_some() {
            self.release();
        }
        self.result.source.dumped = true;
        for &object in &batch.object {
            let (class, counts) = self.referred(object);
            self.classes.tally(class).roots += u64::from(counts);
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        let Some(columns) = self.columns(batch.profile) else {
            return Flow::Continue(());
        };
        for row in batch.iter() {
            let Some(class) = self.named_class(row.labels) else {
                self.result.unclassed += 1;
                continue;
            };
            self.result.source.sampled = true;
            if !self.counts(class, |filter, tables, class| {
                filter.accepts_sample(tables, batch.profile, &row, class)
            }) {
                continue;
            }
            let amount = |(count, bytes): (Option<usize>, Option<usize>)| {
                let value = |at: Option<usize>| row.values.get(at?).copied();
                let value = |at| u64::try_from(value(at).unwrap_or(0)).unwrap_or(0);
                Amount {
                    count: value(count),
                    bytes: value(bytes),
                }
            };
            let (allocated, live) = (amount(columns.allocated), amount(columns.live));
            let age = self.number(row.labels, FieldMeaning::Age);
            let class = self.classes.number(class);
            let tally = self.classes.tally(class);
            tally.allocated.add(allocated);
            tally.sampled_live.add(live);
            if let Some(age) = age.filter(|_| !live.is_empty()) {
                tally.live_ages.add(age, live.count.max(1));
            }
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
