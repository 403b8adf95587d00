//! Batches on their way to the sink.

use traceloom_model::{
    Attribute, EventBatch, Flow, Note, Sink, SpanBatch, SpanRow, StepBatch, Tables,
};

/// Spans or events of a batch: what lies between this sink and the next stays in a core's cache, and a batch of
/// rows with their texts takes less than a megabyte.
pub(super) const ROWS: usize = 1024;
/// Steps of a batch.
pub(super) const STEPS: usize = 16 * ROWS;

/// Collects rows and pushes them in batches, definitions first.
pub(super) struct Output<'k> {
    pub(super) tables: Tables,
    pub(super) sink: &'k mut dyn Sink,
    pub(super) spans: SpanBatch,
    pub(super) steps: StepBatch,
    pub(super) events: EventBatch,
    pub(super) broken: bool,
}

/// The sink broke; reading is over.
pub(super) struct Broken;

impl<'k> Output<'k> {
    pub(super) fn new(sink: &'k mut dyn Sink) -> Self {
        Self {
            tables: Tables::new(),
            sink,
            spans: SpanBatch::default(),
            steps: StepBatch::default(),
            events: EventBatch::default(),
            broken: false,
        }
    }

    fn take(&mut self, flow: Flow) -> Result<(), Broken> {
        if flow.is_break() {
            self.broken = true;
        }
        self.check()
    }

    fn check(&self) -> Result<(), Broken> {
        if self.broken { Err(Broken) } else { Ok(()) }
    }

    fn define(&mut self) -> Result<(), Broken> {
        let definitions = self.tables.take_definitions();
        if definitions.is_empty() {
            return self.check();
        }
        let flow = self.sink.define(definitions);
        self.take(flow)
    }

    /// Pushes what is collected.
    pub(super) fn flush(&mut self) -> Result<(), Broken> {
        self.check()?;
        self.define()?;
        if !self.steps.is_empty() {
            // The next batch will be as long: growing it would copy it several times.
            let mut next = StepBatch::default();
            next.time.reserve(self.steps.len());
            next.function.reserve(self.steps.len());
            next.inner.reserve(self.steps.inner.len());
            let batch = std::mem::replace(&mut self.steps, next);
            let flow = self.sink.steps(batch);
            self.take(flow)?;
        }
        if !self.spans.is_empty() {
            let next = SpanBatch::with_capacity(self.spans.len());
            let batch = std::mem::replace(&mut self.spans, next);
            let flow = self.sink.spans(batch);
            self.take(flow)?;
        }
        if !self.events.is_empty() {
            let batch = std::mem::take(&mut self.events);
            let flow = self.sink.events(batch);
            self.take(flow)?;
        }
        let passed = self.tables.take_passed();
        if !passed.is_empty() {
            self.sink.forget(&passed);
        }
        Ok(())
    }

    /// Adds a span.
    pub(super) fn span(&mut self, row: &SpanRow<'_>) -> Result<(), Broken> {
        self.span_made(row, |made| made.extend_from_slice(row.attributes))
    }

    /// Adds a span with the attributes that `make` appends in place of its own.
    #[inline]
    pub(super) fn span_made(
        &mut self,
        row: &SpanRow<'_>,
        make: impl FnOnce(&mut Vec<Attribute>),
    ) -> Result<(), Broken> {
        self.spans.push_made(row, make);
        if self.spans.len() >= ROWS || self.spans.attributes.all().len() >= ROWS * 4 {
            return self.flush();
        }
        Ok(())
    }

    /// Pushes a note that names its part.
    pub(super) fn note(&mut self, note: Note) -> Result<(), Broken> {
        self.check()?;
        let flow = self.sink.note(note);
        self.take(flow)
    }

    pub(super) fn notes(&mut self, notes: &mut Vec<Note>) -> Result<(), Broken> {
        for note in notes.drain(..) {
            self.note(note)?;
        }
        Ok(())
    }
}
