//! Batches of a file in the numbers of the bundle.

use traceloom_model::{
    Attribute, Attributes, BATCH_ROWS, CounterBatch, EventBatch, EventRow, Flow, LinkBatch,
    ObjectBatch, Origin, Recording, SampleBatch, SampleRow, Sink, SpanBatch, SpanRow, ValueTypeId,
};

use super::{FileMerge, known};

impl FileMerge<'_> {
    fn rows(&mut self, attributes: &Attributes, row: usize) -> Vec<Attribute> {
        self.attributes(attributes.row(row))
    }

    pub(super) fn batches(&mut self, from: Recording, sink: &mut dyn Sink) -> Flow {
        for batch in &from.samples {
            self.samples(batch, sink)?;
        }
        self.events(&from.events, sink)?;
        self.spans(&from.spans, sink)?;
        let counters = &from.counters;
        let points = counters
            .series
            .iter()
            .zip(&counters.time)
            .zip(&counters.value);
        let mut batch = CounterBatch::default();
        for ((series, &time), &value) in points {
            if let Some(series) = known(&self.ids.series, series.index()) {
                batch.push(series, time, value);
            }
            if batch.series.len() >= BATCH_ROWS {
                sink.counters(std::mem::take(&mut batch))?;
            }
        }
        if !batch.series.is_empty() {
            sink.counters(batch)?;
        }
        self.heap(from, sink)
    }

    fn samples(&mut self, from: &SampleBatch, sink: &mut dyn Sink) -> Flow {
        let Some(profile) = known(&self.ids.profiles, from.profile.index()) else {
            return Flow::Continue(());
        };
        let mut batch = SampleBatch::new(profile, from.width());
        for row in from.iter() {
            let labels = self.attributes(row.labels);
            batch.push(&SampleRow {
                stack: self.stack_id(row.stack),
                track: self.track_id(row.track),
                span: row.span.map(|id| self.span_id(id)),
                labels: &labels,
                ..row
            });
        }
        sink.samples(batch)
    }

    fn events(&mut self, from: &EventBatch, sink: &mut dyn Sink) -> Flow {
        let mut batch = EventBatch::default();
        let process = self.ids.process;
        for at in 0..from.len() {
            let Some(row) = from.row(at) else { continue };
            let Some(event_type) = known(&self.ids.event_types, row.event_type.index()) else {
                continue;
            };
            let attributes = self.rows(&from.attributes, at);
            let undated = row.time == 0 && row.track.is_none() && row.end.is_none();
            batch.push(&EventRow {
                event_type,
                time: if undated { self.change.end } else { row.time },
                track: self.track_id(row.track).or(process),
                owner: self.track_id(row.owner),
                stack: self.stack_id(row.stack),
                attributes: &attributes,
                ..row
            });
            if batch.len() >= BATCH_ROWS {
                sink.events(std::mem::take(&mut batch))?;
            }
        }
        if batch.is_empty() {
            Flow::Continue(())
        } else {
            sink.events(batch)
        }
    }

    fn spans(&mut self, from: &SpanBatch, sink: &mut dyn Sink) -> Flow {
        let mut batch = SpanBatch::default();
        for row in from.iter() {
            let Some(track) = self.track_id(Some(row.track)) else {
                continue;
            };
            let attributes = self.attributes(row.attributes);
            let counter = |&(id, value): &(ValueTypeId, i64)| {
                Some((known(&self.ids.value_types, id.index())?, value))
            };
            let counters: Vec<_> = row.counters.iter().filter_map(counter).collect();
            batch.push(&SpanRow {
                id: self.span_id(row.id),
                parent: row.parent.map(|id| self.span_id(id)),
                track,
                function: row
                    .function
                    .and_then(|id| known(&self.ids.functions, id.index())),
                kind: row.kind.map(|id| self.string(id)),
                counters: &counters,
                attributes: &attributes,
                exception: row
                    .exception
                    .and_then(|id| known(&self.ids.exceptions, id.index())),
                origin: row.origin.map(|origin| Origin {
                    part: self.change.part,
                    ..origin
                }),
                ..row
            });
            if batch.len() >= BATCH_ROWS {
                sink.spans(std::mem::take(&mut batch))?;
            }
        }
        if batch.is_empty() {
            Flow::Continue(())
        } else {
            sink.spans(batch)
        }
    }

    fn heap(&mut self, from: Recording, sink: &mut dyn Sink) -> Flow {
        let mut links = LinkBatch::default();
        for link in from.links {
            links.links.push(traceloom_model::Link {
                from: self.span_id(link.from),
                to: self.span_id(link.to),
                kind: self.some(link.kind),
            });
        }
        if !links.links.is_empty() {
            sink.links(links)?;
        }
        let mut objects = ObjectBatch::default();
        for mut row in from.objects {
            row.class = row
                .class
                .and_then(|id| known(&self.ids.classes, id.index()));
            row.thread = self.track_id(row.thread);
            row.site = self.stack_id(row.site);
            objects.rows.push(row);
        }
        if !objects.rows.is_empty() {
            sink.objects(objects)?;
        }
        if !from.edges.from.is_empty() {
            sink.edges(from.edges)?;
        }
        if from.roots.object.is_empty() {
            return Flow::Continue(());
        }
        sink.roots(from.roots)
    }
}
