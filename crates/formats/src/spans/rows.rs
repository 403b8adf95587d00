//! Rows of readers that meet one event at a time, until there are enough of them for a batch.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    BATCH_ROWS, CounterBatch, EventBatch, EventType, EventTypeId, Flow, ObjectBatch, ProfileId,
    SampleBatch, SampleRow, Sink, SpanBatch, StringId, Tables,
};

use crate::spans::slices::Slices;

/// What is not handed on yet, beside the spans and links of [`Slices`].
#[derive(Debug, Default)]
pub(crate) struct PendingRows {
    pub(crate) events: EventBatch,
    pub(crate) counters: CounterBatch,
    pub(crate) objects: ObjectBatch,
    /// Each of one profile, of which there are few.
    samples: Vec<SampleBatch>,
    event_types: HashMap<StringId, EventTypeId, RandomState>,
}

impl PendingRows {
    /// Returns the type of events of a name.
    pub(crate) fn event_type(&mut self, name: StringId, tables: &mut Tables) -> EventTypeId {
        *self.event_types.entry(name).or_insert_with(|| {
            tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            })
        })
    }

    /// Adds a sample of a profile.
    pub(crate) fn sample(&mut self, profile: ProfileId, row: &SampleRow<'_>) {
        let mut batches = self.samples.iter_mut();
        match batches.find(|of| of.profile == profile && of.len() < BATCH_ROWS) {
            Some(batch) => batch.push(row),
            None => {
                let mut batch = SampleBatch::new(profile, row.values.len());
                batch.push(row);
                self.samples.push(batch);
            }
        }
    }

    /// Hands on what there is, once it is `least` rows of a kind.
    #[inline]
    pub(crate) fn flush(
        &mut self,
        slices: &mut Slices,
        tables: &mut Tables,
        sink: &mut dyn Sink,
        least: usize,
    ) -> Flow {
        match self.has_rows(slices, least) {
            true => self.push(slices, tables, sink, least),
            false => Flow::Continue(()),
        }
    }

    /// Returns true if there are `least` rows of a kind.
    #[inline]
    fn has_rows(&self, slices: &Slices, least: usize) -> bool {
        let sampled = self.samples.iter().map(SampleBatch::len).max();
        slices.spans.len() >= least
            || slices.links.links.len() >= least
            || self.events.len() >= least
            || self.counters.time.len() >= least
            || self.objects.rows.len() >= least
            || sampled.is_some_and(|sampled| sampled >= least)
    }

    fn push(
        &mut self,
        slices: &mut Slices,
        tables: &mut Tables,
        sink: &mut dyn Sink,
        room: usize,
    ) -> Flow {
        let new = tables.take_definitions();
        if !new.is_empty() {
            sink.define(new)?;
        }
        if !slices.links.links.is_empty() {
            sink.links(std::mem::take(&mut slices.links))?;
        }
        let next = SpanBatch::with_capacity(room);
        push_spans(std::mem::replace(&mut slices.spans, next), sink)?;
        if !self.events.is_empty() {
            sink.events(std::mem::take(&mut self.events))?;
        }
        if !self.counters.time.is_empty() {
            sink.counters(std::mem::take(&mut self.counters))?;
        }
        if !self.objects.rows.is_empty() {
            sink.objects(std::mem::take(&mut self.objects))?;
        }
        for batch in self.samples.drain(..) {
            sink.samples(batch)?;
        }
        Flow::Continue(())
    }
}

/// Pushes spans, of which all those that were out of order come at once.
fn push_spans(spans: SpanBatch, sink: &mut dyn Sink) -> Flow {
    if spans.len() <= BATCH_ROWS {
        return if spans.is_empty() {
            Flow::Continue(())
        } else {
            sink.spans(spans)
        };
    }
    let mut piece = SpanBatch::default();
    for row in spans.iter() {
        piece.push(&row);
        if piece.len() == BATCH_ROWS {
            sink.spans(std::mem::take(&mut piece))?;
        }
    }
    if piece.is_empty() {
        Flow::Continue(())
    } else {
        sink.spans(piece)
    }
}

/// Pushes events, of which one record may have brought more than a batch has rows.
pub(crate) fn push_events(events: EventBatch, sink: &mut dyn Sink) -> Flow {
    if events.len() <= BATCH_ROWS {
        return if events.is_empty() {
            Flow::Continue(())
        } else {
            sink.events(events)
        };
    }
    let mut piece = EventBatch::default();
    for row in events.iter() {
        piece.push(&row);
        if piece.len() == BATCH_ROWS {
            sink.events(std::mem::take(&mut piece))?;
        }
    }
    if piece.is_empty() {
        Flow::Continue(())
    } else {
        sink.events(piece)
    }
}
