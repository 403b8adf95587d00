//! Spans of the crate `tracing`, written by a [`Recorder`].

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::{LookupSpan, SpanRef};

use super::open::{OpenSpan, layer_number};
use super::tasks::{TaskSpan, TaskTracks};
use super::threads::{LayerOfThread, on_this_thread};
use super::visit::{FieldSink, FieldVisitor};
use crate::calls::{Recorder, SpareBytes, ThreadRecorder, put};
use crate::value::Value;

/// A layer that writes spans and events of `tracing` in the format of a [`Recorder`].
///
/// [`RecorderLayer::new`] shows what each thread did: a call from each time that a span was entered until it was left, which is once in
/// plain functions and once a poll in asynchronous ones. A span that is left before one that was entered after it cuts that one in two.
/// [`RecorderLayer::tasks`] shows each span as one call from its beginning to its end, waiting included, wherever it was entered.
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
    /// Where spans go that are shown as a whole; none where threads are shown.
    tasks: Option<TaskTracks>,
    /// Tells the entries of this layer in what threads hold apart from those of others.
    number: u64,
}

impl RecorderLayer {
    /// Returns a layer that shows what threads did.
    #[must_use]
    pub fn new(recorder: Arc<Recorder>) -> Self {
        Self::with(recorder, None)
    }

    /// Returns a layer that shows spans from their beginning to their end.
    ///
    /// A track is none of a thread: it is called `tasks 1` and so on, and has a span inside its parent. Spans that run beside each other
    /// inside one parent are on tracks of their own. Every span that is not inside its parent has the attribute `task`, the number of the
    /// outermost span around it, and `parent`, the name of its parent if it has one.
    ///
    /// There are at most 1024 tracks; spans that would need more are dropped and counted.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tracing_subscriber::layer::SubscriberExt as _;
    /// # use traceloom_emit::{Options, Recorder, RecorderLayer, perfetto};
    /// # let folder = tempfile::tempdir()?;
    /// # let file = perfetto::PerfettoFile::create(folder.path().join("shop.perfetto-trace"))?;
    /// # let recorder = Arc::new(Recorder::start(file, Options::default())?);
    /// let subscriber = tracing_subscriber::registry().with(RecorderLayer::tasks(recorder.clone()));
    /// tracing::subscriber::with_default(subscriber, || {
    ///     let task = tracing::info_span!("task");
    ///     task.in_scope(|| {});
    ///     task.in_scope(|| {});
    /// });
    /// assert_eq!(recorder.close().written, 1);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn tasks(recorder: Arc<Recorder>) -> Self {
        Self::with(recorder, Some(TaskTracks::new()))
    }

    fn with(recorder: Arc<Recorder>, tasks: Option<TaskTracks>) -> Self {
        Self {
            recorder,
            tasks,
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

/// What a layer keeps of an open span.
#[derive(Debug)]
struct SpanCall {
    /// Not there while values are added to them: their `Debug` may trace.
    fields: Option<SpanFields>,
    /// Where tasks are shown, and this one is.
    task: Option<TaskSpan>,
}

type KeptCall = OpenSpan<SpanCall>;

impl<S: Subscriber + for<'l> LookupSpan<'l>> Layer<S> for RecorderLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut fields = SpanFields::default();
        attributes.record(&mut FieldVisitor::all(&mut fields));
        let tasks = self.tasks.as_ref();
        let task = tasks.and_then(|tasks| {
            self.begin_task(tasks, span.parent().as_ref(), span.name(), &mut fields)
        });
        let fields = Some(fields);
        KeptCall::keep(&span, self.number, SpanCall { fields, task });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let fields = KeptCall::of(&span, self.number, |call| call.fields.take()).flatten();
        if let Some(mut fields) = fields {
            values.record(&mut FieldVisitor::all(&mut fields));
            KeptCall::of(&span, self.number, |call| call.fields = Some(fields));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let mut fields = SpanFields::default();
        event.record(&mut FieldVisitor::all(&mut fields));
        fields.attribute("level", metadata.level().as_str().into());
        fields.attribute("target", metadata.target().into());
        if let Some(tasks) = &self.tasks {
            let span = context.event_span(event);
            let task = self.begin_task(tasks, span.as_ref(), metadata.name(), &mut fields);
            if let Some(task) = task {
                tasks.end(task, &fields.bytes.0, fields.is_cut);
            }
            return;
        }
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
        if self.tasks.is_some() {
            return;
        }
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
        if self.tasks.is_some() {
            return;
        }
        let Some(span) = context.span(id) else {
            return;
        };
        self.on_this_thread(|thread| {
            let Some(number) = thread.leave(id) else {
                return;
            };
            KeptCall::of(&span, self.number, |call| {
                if let Some(fields) = &call.fields {
                    thread.recorder.add(number, &fields.bytes.0, fields.is_cut);
                }
            });
            thread.recorder.exit(number, thread.recorder.now());
        });
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let (Some(tasks), Some(span)) = (&self.tasks, context.span(&id)) else {
            return;
        };
        KeptCall::of(&span, self.number, |call| {
            if let Some(task) = call.task.take() {
                let fields = call.fields.take().unwrap_or_default();
                tasks.end(task, &fields.bytes.0, fields.is_cut);
            }
        });
    }
}

impl RecorderLayer {
    /// Begins a call of a task, with what says where it belongs among its attributes.
    fn begin_task<'r, R: LookupSpan<'r>>(
        &self,
        tasks: &TaskTracks,
        parent: Option<&SpanRef<'r, R>>,
        name: &str,
        fields: &mut SpanFields,
    ) -> Option<TaskSpan> {
        let around = parent.and_then(|parent| {
            let task = KeptCall::of(parent, self.number, |call| call.task);
            Some((task.flatten()?, parent.name()))
        });
        let task = tasks.begin(&self.recorder, around.map(|(task, _)| task), name)?;
        if task.is_apart {
            fields.attribute("task", task.task.into());
            if let Some((_, parent)) = around {
                fields.attribute("parent", parent.into());
            }
        }
        Some(task)
    }
}
