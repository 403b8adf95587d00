//! Spans of the crate `tracing`, written by a [`Recorder`].

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::open::{OpenSpan, layer_number};
use super::threads::{LayerOfThread, on_this_thread};
use super::visit::{FieldSink, FieldVisitor};
use crate::calls::{Recorder, SpareBytes, ThreadRecorder, put};
use crate::value::Value;

/// A layer that writes spans and events of `tracing` in the format of a [`Recorder`].
///
/// It shows what each thread did: a call from each time that a span was entered until it was left, which is once in plain functions
/// and once a poll in asynchronous ones. A span that is left before one that was entered after it cuts that one in two.
///
/// An event becomes a call without duration, named by its place in the source, with the attributes `message`, `level` and
/// `target`. Fields that are only `Debug` become texts; a `bool` becomes 0 or 1.
///
/// ```
/// use std::sync::Arc;
/// use tracing_subscriber::layer::SubscriberExt as _;
/// use traceloom_emit::{Options, Recorder, RecorderLayer, perfetto};
///
/// let folder = tempfile::tempdir()?;
/// let file = perfetto::PerfettoFile::create(folder.path().join("shop.perfetto-trace"))?;
/// let recorder = Arc::new(Recorder::start(file, Options::default())?);
/// let subscriber = tracing_subscriber::registry().with(RecorderLayer::new(recorder.clone()));
/// tracing::subscriber::with_default(subscriber, || {
///     let _request = tracing::info_span!("request", rows = 3).entered();
///     tracing::info!(user = "ana", "logged in");
/// });
/// assert_eq!(recorder.close().written, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// `tracing` has no end of a program: call [`Recorder::close`] there, as here, to learn what was dropped.
#[derive(Debug)]
pub struct RecorderLayer {
    recorder: Arc<Recorder>,
    /// Tells the entries of this layer in what threads hold apart from those of others.
    number: u64,
}

impl RecorderLayer {
    /// Returns a layer that shows what threads did.
    #[must_use]
    pub fn new(recorder: Arc<Recorder>) -> Self {
        Self {
            recorder,
            number: layer_number(),
        }
    }

    fn on_this_thread<T>(
        &self,
        with: impl FnOnce(&mut LayerOfThread<ThreadRecorder>) -> T,
    ) -> Option<T> {
        let begin = || {
            let thread = std::thread::current();
            self.recorder.thread(thread.name().unwrap_or("thread"))
        };
        on_this_thread(&THREAD, self.number, begin, with)
    }
}

thread_local! {
    static THREAD: RefCell<Vec<LayerOfThread<ThreadRecorder>>> = const { RefCell::new(Vec::new()) };
}

/// Attributes of an open span.
#[derive(Debug, Default)]
struct SpanFields {
    bytes: SpareBytes,
    is_cut: bool,
}

impl FieldSink for SpanFields {
    fn attribute(&mut self, name: &str, value: Value<'_>) {
        self.is_cut |= put::put_attribute(&mut self.bytes.0, name, value);
    }

    fn formatted(&mut self, name: &str, value: fmt::Arguments<'_>) {
        self.is_cut |= put::put_formatted(&mut self.bytes.0, name, value);
    }
}

/// Not there while values are added to it: their `Debug` may trace.
type KeptFields = OpenSpan<Option<SpanFields>>;

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for RecorderLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut fields = SpanFields::default();
        attributes.record(&mut FieldVisitor::all(&mut fields));
        KeptFields::keep(&span, self.number, Some(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let fields = KeptFields::of(&span, self.number, Option::take).flatten();
        if let Some(mut fields) = fields {
            values.record(&mut FieldVisitor::all(&mut fields));
            KeptFields::of(&span, self.number, |kept| *kept = Some(fields));
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let mut fields = SpanFields::default();
        event.record(&mut FieldVisitor::all(&mut fields));
        fields.attribute("level", metadata.level().as_str().into());
        fields.attribute("target", metadata.target().into());
        self.on_this_thread(|thread| {
            if thread.recorder.is_recording() {
                let now = thread.recorder.now();
                let number = thread.recorder.enter(now, metadata.name());
                thread.recorder.add(number, &fields.bytes.0, fields.is_cut);
                thread.recorder.exit(number, now);
            }
        });
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        self.on_this_thread(|thread| {
            if thread.recorder.is_recording() {
                let now = thread.recorder.now();
                let number = thread.recorder.enter(now, span.name());
                thread.enter(id, number);
            }
        });
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        self.on_this_thread(|thread| {
            let Some(number) = thread.leave(id) else {
                return;
            };
            KeptFields::of(&span, self.number, |fields| {
                if let Some(fields) = fields {
                    thread.recorder.add(number, &fields.bytes.0, fields.is_cut);
                }
            });
            thread.recorder.exit(number, thread.recorder.now());
        });
    }
}
