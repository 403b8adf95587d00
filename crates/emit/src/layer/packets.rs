//! Spans of the crate `tracing`, written by a [`Tracer`].

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::open::{OpenSpan, layer_number};
use super::threads::{LayerOfThread, on_this_thread};
use super::visit::{FieldSink, FieldVisitor, MESSAGE};
use crate::heph::{Packet, Stream, Tracer, Value};

/// A layer that writes spans and events of `tracing`.
///
/// [`TracingLayer::threads`] shows what each thread did: a call from each time that a span was entered until it was left,
/// which is once in plain functions and once a poll in asynchronous ones. [`TracingLayer::tasks`] shows each span as one
/// call from its beginning to its end, waiting included, grouped by the span without a parent that it belongs to.
///
/// An event becomes a call without duration, named by its message, with the attributes `level` and `target`.
/// Fields that are only `Debug` become texts; a `bool` becomes 0 or 1.
///
/// ```
/// use std::sync::Arc;
/// use tracing_subscriber::layer::SubscriberExt as _;
/// use traceloom_emit::TracingLayer;
/// use traceloom_emit::heph::{Options, Sink, Tracer};
///
/// let folder = tempfile::tempdir()?;
/// let sink = Sink::file(folder.path().join("shop.heph"))?;
/// let tracer = Arc::new(Tracer::start(sink, Options::default())?);
/// let subscriber = tracing_subscriber::registry().with(TracingLayer::threads(tracer.clone()));
/// tracing::subscriber::with_default(subscriber, || {
///     let _request = tracing::info_span!("request", rows = 3).entered();
///     tracing::info!(user = "ana", "logged in");
/// });
/// assert_eq!(tracer.close().written, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// `tracing` has no end of a program: call [`Tracer::close`] there, as here, to learn what was dropped.
#[derive(Debug)]
pub struct TracingLayer {
    tracer: Arc<Tracer>,
    style: Style,
    /// Tells the entries of this layer in what threads hold apart from those of others.
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Threads,
    Tasks,
}

impl TracingLayer {
    /// Returns a layer that shows what threads did.
    #[must_use]
    pub fn threads(tracer: Arc<Tracer>) -> Self {
        Self::new(tracer, Style::Threads)
    }

    /// Returns a layer that shows spans from their beginning to their end.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tracing_subscriber::layer::SubscriberExt as _;
    /// # use traceloom_emit::TracingLayer;
    /// # use traceloom_emit::heph::{Options, Sink, Tracer};
    /// # let folder = tempfile::tempdir()?;
    /// # let sink = Sink::file(folder.path().join("shop.heph"))?;
    /// # let tracer = Arc::new(Tracer::start(sink, Options::default())?);
    /// let subscriber = tracing_subscriber::registry().with(TracingLayer::tasks(tracer.clone()));
    /// tracing::subscriber::with_default(subscriber, || {
    ///     let task = tracing::info_span!("task");
    ///     task.in_scope(|| {});
    ///     task.in_scope(|| {});
    /// });
    /// assert_eq!(tracer.close().written, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn tasks(tracer: Arc<Tracer>) -> Self {
        Self::new(tracer, Style::Tasks)
    }

    fn new(tracer: Arc<Tracer>, style: Style) -> Self {
        Self {
            tracer,
            style,
            number: layer_number(),
        }
    }

    fn on_this_thread<T>(
        &self,
        with: impl FnOnce(&mut LayerOfThread<Arc<Stream>>) -> T,
    ) -> Option<T> {
        let begin = || Arc::new(self.tracer.stream());
        on_this_thread(&THREAD, self.number, begin, with)
    }
}

thread_local! {
    static THREAD: RefCell<Vec<LayerOfThread<Arc<Stream>>>> = const { RefCell::new(Vec::new()) };
}

/// What a layer keeps of an open span.
#[derive(Debug)]
struct SpanPacket {
    /// Not there while values are added to it: their `Debug` may trace.
    packet: Option<Packet>,
    task: Option<Task>,
}

/// The outermost span around a span, for [`TracingLayer::tasks`].
#[derive(Clone, Debug)]
struct Task {
    /// The stream of the thread that began it.
    stream: Arc<Stream>,
    number: u64,
}

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for TracingLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let task = match self.style {
            Style::Threads => None,
            Style::Tasks => self.task(&span),
        };
        let mut packet = Packet::begin(span.name(), self.tracer.now());
        attributes.record(&mut FieldVisitor::but_message(&mut packet));
        let open = SpanPacket {
            packet: Some(packet),
            task,
        };
        OpenSpan::keep(&span, self.number, open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let packet = self.on_open(&span, |open| open.packet.take()).flatten();
        if let Some(mut packet) = packet {
            values.record(&mut FieldVisitor::but_message(&mut packet));
            self.on_open(&span, |open| open.packet = Some(packet));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let now = self.tracer.now();
        let metadata = event.metadata();
        let mut message = MessageVisitor { packet: None, now };
        event.record(&mut message);
        let packet = message.packet;
        let mut packet = packet.unwrap_or_else(|| Packet::begin(metadata.name(), now));
        packet.attribute("level", metadata.level().as_str().into());
        packet.attribute("target", metadata.target().into());
        event.record(&mut FieldVisitor::but_message(&mut packet));
        let span = context.event_span(event);
        let task = span.and_then(|span| self.on_open(&span, |open| open.task.clone()));
        match task.flatten() {
            Some(task) => task.stream.end(&mut packet, task.number, now),
            None => {
                self.on_this_thread(|thread| thread.recorder.end(&mut packet, 0, now));
            }
        }
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        if self.style == Style::Threads {
            self.on_this_thread(|thread| {
                thread.enter(id, self.tracer.now());
            });
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if self.style != Style::Threads {
            return;
        }
        let now = self.tracer.now();
        let left = self.on_this_thread(|thread| {
            let start = thread.leave(id)?;
            Some((thread.recorder.clone(), start))
        });
        if let (Some((stream, start)), Some(span)) = (left.flatten(), context.span(id)) {
            self.on_open(&span, |open| {
                if let Some(packet) = &mut open.packet {
                    packet.set_start(start);
                    stream.end(packet, 0, now);
                }
            });
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id).filter(|_| self.style == Style::Tasks) else {
            return;
        };
        let now = self.tracer.now();
        self.on_open(&span, |open| {
            if let (Some(packet), Some(task)) = (&mut open.packet, &open.task) {
                task.stream.end(packet, task.number, now);
            }
        });
    }
}

impl TracingLayer {
    /// Calls `with` with what this layer keeps of a span, if that began after the layer was there.
    fn on_open<'r, T, R>(
        &self,
        span: &SpanRef<'r, R>,
        with: impl FnOnce(&mut SpanPacket) -> T,
    ) -> Option<T>
    where
        R: LookupSpan<'r>,
    {
        OpenSpan::of(span, self.number, with)
    }

    /// Returns the outermost span around a new one, or that one.
    fn task<'r, R: LookupSpan<'r>>(&self, span: &SpanRef<'r, R>) -> Option<Task> {
        let parent = span.parent();
        let task = parent.and_then(|parent| self.on_open(&parent, |open| open.task.clone()));
        task.flatten().or_else(|| {
            let number = span.id().into_u64();
            self.on_this_thread(|thread| Task {
                stream: thread.recorder.clone(),
                number,
            })
        })
    }
}

impl FieldSink for Packet {
    fn attribute(&mut self, name: &str, value: Value<'_>) {
        self.attribute(name, value);
    }

    fn formatted(&mut self, name: &str, value: fmt::Arguments<'_>) {
        self.formatted(name, value);
    }
}

/// Begins the packet of an event with its text.
struct MessageVisitor {
    packet: Option<Packet>,
    now: u64,
}

impl Visit for MessageVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == MESSAGE {
            self.packet = Some(Packet::begin(value, self.now));
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == MESSAGE {
            let packet = Packet::begin_formatted(format_args!("{value:?}"), self.now);
            self.packet = Some(packet);
        }
    }
}
