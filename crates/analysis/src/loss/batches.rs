//! What each kind of batch loses in a target.

use super::parents::distant;
use super::{FeatureName, Loss};
use traceloom_model::{
    CounterBatch, EventBatch, Feature, SampleBatch, Sink, SpanBatch, SpanContext, SpanRow,
    SpanStatus,
};

const fn identifies(context: &SpanContext) -> bool {
    context.span != 0 || context.parent != 0
}

impl<S: Sink + ?Sized> Loss<'_, S> {
    pub(super) fn spans(&mut self, batch: &SpanBatch) {
        let one = FeatureName::Nothing;
        if !self.holds.holds(Feature::Spans) {
            self.lose(Feature::Spans, one, batch.len() as u64);
            return;
        }
        self.times(batch.start.iter().chain(&batch.end));
        if !self.holds.holds(Feature::SourceLines) {
            for &function in batch.function.iter().flatten() {
                self.locate(function);
            }
        }
        if !self.holds.holds(Feature::DistantParents) {
            let distant = distant(&mut self.parents, batch);
            self.lose(Feature::DistantParents, one, distant);
        }
        // Column by column: what is held of them is not looked at, and most batches have nothing in most.
        let lanes = |loss: &Self| {
            batch
                .track
                .iter()
                .filter(|&&track| loss.is_lane(track))
                .count()
        };
        self.lose_of(Feature::AsyncTracks, lanes);
        let with = |wanted: &[SpanStatus]| {
            let found = batch.status.iter().filter(|status| wanted.contains(status));
            found.count()
        };
        let partial = [SpanStatus::PartialStart, SpanStatus::PartialEnd];
        self.lose_of(Feature::InnerCalls, |_| {
            let rows = batch.entry.iter().zip(&batch.parent);
            rows.filter(|(entry, parent)| **entry && parent.is_some())
                .count()
        });
        self.lose_of(Feature::PartialSpans, |_| with(&partial));
        // Where exceptions are held, a span that has one has failed.
        let thrown = self.holds.holds(Feature::Exceptions);
        let failed = |_: &Self| {
            let rows = batch.status.iter().enumerate();
            let rows = rows.filter(|(_, status)| **status == SpanStatus::Error);
            let said = |row: usize| {
                let row = batch.row(row);
                thrown && row.is_some_and(|row| row.exception.is_some())
            };
            rows.filter(|&(row, _)| !said(row)).count()
        };
        self.lose_of(Feature::ErrorStatus, failed);
        let contexts = |wanted: fn(&SpanContext) -> bool| {
            move |_: &Self| {
                let all = batch.context.values().iter();
                all.filter(|context| wanted(context)).count()
            }
        };
        self.lose_of(Feature::TraceIds, contexts(|context| context.trace != 0));
        self.lose_of(Feature::SpanContexts, contexts(identifies));
        self.lose_of(Feature::SpanKinds, |_| batch.kind.values().len());
        self.lose_of(Feature::InnerMarks, |loss| loss.inner_marks(batch));
        self.lose_of(Feature::Exceptions, |_| batch.exception.values().len());
        if !self.holds.holds(Feature::SpanCounters) {
            for &(counter, value) in (0..batch.len()).flat_map(|row| batch.counters(row)) {
                let name = FeatureName::Counter(counter);
                self.lose_with(Feature::SpanCounters, name, 1, |_| value.to_string());
            }
        } else if !self.holds.holds(Feature::InnerCounters) {
            let inner = |row: usize| !batch.entry.get(row).copied().unwrap_or(true);
            for row in (0..batch.len()).filter(|&row| inner(row)) {
                for &(counter, value) in batch.counters(row) {
                    let name = FeatureName::Counter(counter);
                    self.lose_with(Feature::InnerCounters, name, 1, |_| value.to_string());
                }
            }
        }
        if self.holds.holds(Feature::SpanCounters) && !self.holds.holds(Feature::WideIntegers) {
            for &(counter, value) in (0..batch.len()).flat_map(|row| batch.counters(row)) {
                self.wide(FeatureName::Counter(counter), value.unsigned_abs(), 1);
            }
        }
        self.attributes(&batch.attributes, Feature::SpanAttributes);
    }

    /// Returns the number of spans inside a call with a kind or ids of which the target holds those of calls alone.
    fn inner_marks(&self, batch: &SpanBatch) -> usize {
        let [kinds, contexts] =
            [Feature::SpanKinds, Feature::SpanContexts].map(|feature| self.holds.holds(feature));
        if batch.kind.values().is_empty() && batch.context.values().is_empty() {
            return 0;
        }
        let marked = |row: SpanRow<'_>| {
            let kind = kinds && row.kind.is_some();
            let ids = contexts && row.context.is_some();
            !row.entry && (kind || ids)
        };
        batch.iter().filter(|row| marked(row.clone())).count()
    }

    pub(super) fn samples(&mut self, batch: &SampleBatch) {
        let one = FeatureName::Nothing;
        if !self.holds.holds(Feature::Samples) {
            self.lose(Feature::Samples, one, batch.len() as u64);
            return;
        }
        let values = (0..batch.len()).flat_map(|row| batch.values(row));
        let negative = values.filter(|&&value| value < 0).count();
        self.lose(Feature::NegativeValues, one, negative as u64);
        if !self.holds.holds(Feature::WideIntegers) {
            for &value in (0..batch.len()).flat_map(|row| batch.values(row)) {
                self.wide(FeatureName::Word("sample values"), value.unsigned_abs(), 1);
            }
        }
        let count = |has: &dyn Fn(usize) -> bool| {
            let rows = (0..batch.len()).filter(|&row| has(row));
            rows.map(|row| batch.count(row)).sum()
        };
        let timed = count(&|row| matches!(batch.time.get(row), Some(Some(_))));
        self.lose(Feature::SampleTimes, one, timed);
        let placed = count(&|row| matches!(batch.track.get(row), Some(Some(_))));
        self.lose(Feature::SampleTracks, one, placed);
        let linked = count(&|row| matches!(batch.span.get(row), Some(Some(_))));
        self.lose(Feature::SampleSpans, one, linked);
        if batch.added_up.is_none() {
            return self.attributes(&batch.labels, Feature::SampleLabels);
        }
        for row in 0..batch.len() {
            let labels = batch.labels.row(row);
            let n_samples = batch.count(row);
            (labels.iter())
                .for_each(|label| self.attribute(label, Feature::SampleLabels, n_samples));
        }
    }

    pub(super) fn events(&mut self, batch: &EventBatch) {
        for row in batch.iter() {
            let name = FeatureName::Event(row.event_type);
            let pause = row.track.is_none() && row.end.is_some();
            if pause && self.holds.holds(Feature::Pauses) && self.written(name) == "pause" {
                continue;
            }
            if !self.holds.holds(Feature::Events) {
                let own = self
                    .holds
                    .own()
                    .contains(&(Feature::Events, self.written(name).as_ref()));
                if !own {
                    self.lose(Feature::Events, name, 1);
                }
                continue;
            }
            self.lose(Feature::EventDurations, name, u64::from(row.end.is_some()));
        }
        if self.holds.holds(Feature::Events) {
            self.attributes(&batch.attributes, Feature::EventAttributes);
            self.times(batch.time.iter().chain(batch.end.iter().flatten()));
        }
    }

    pub(super) fn points(&mut self, points: &CounterBatch) {
        if self.holds.holds(Feature::Counters) {
            return;
        }
        for series in &points.series {
            let name = self.series.get(series.index()).copied().flatten();
            let name = name.map_or(FeatureName::Nothing, FeatureName::Text);
            self.lose(Feature::Counters, name, 1);
        }
    }

    pub(super) fn heap(&mut self, what: &'static str, count: usize) {
        self.lose(Feature::HeapObjects, FeatureName::Word(what), count as u64);
    }
}
