//! Calls of a recorder as posts.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::registry::{MethodId, Registry, SymbolId};
use super::session::{Post, Session};
use super::trace::{Trace, Value};
use crate::calls::buffer::CallBuffer;
use crate::calls::event::{CallEvent, FieldValue};
use crate::calls::method::MethodWord;
use crate::calls::names::NameTable;
use crate::calls::taken::TakenEvents;
use crate::calls::{RecorderState, TraceOutput, sealed::Drains};
use crate::engine::{Drain, ThreadBuffer as _};

/// Bytes of a trace. What does not fit is left out, and its call is counted as cut.
const LARGEST_TRACE: usize = 1 << 20;

/// Time between two attempts to send a post.
const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// Sends posts by an HTTP client of the program.
///
/// Each outermost call becomes a trace of its own, with all calls inside it. `send` is called on the writer's thread, which may
/// wait there, and returns the status of the answer, or `None` where there is none. What is not taken is sent again once a second,
/// with all definitions before it; meanwhile buffers fill, and what has no room there is dropped and counted.
///
/// ```
/// use traceloom_emit::zorka::{Post, PostSender};
/// use traceloom_emit::{Options, Recorder};
///
/// let send = |post: &Post| {
///     println!("POST {}: {} bytes", post.path, post.body.len());
///     Some(202)
/// };
/// let recorder = Recorder::start(PostSender::new("shop", "HTTP", send), Options::default())?;
/// let thread = recorder.thread("main");
/// let mut call = thread.call("shop.Orders.list()");
/// call.set("url", "/orders");
/// drop(call);
/// assert_eq!(recorder.close().written, 1);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct PostSender<F> {
    program: String,
    kind: String,
    send: F,
}

impl<F: FnMut(&Post) -> Option<u16> + Send + 'static> PostSender<F> {
    /// Returns a sender for a program. `kind` is the type of its traces, such as `HTTP`; names of calls without a class are methods of
    /// the class `program`.
    pub fn new(program: &str, kind: &str, send: F) -> Self {
        Self {
            program: program.to_owned(),
            kind: kind.to_owned(),
            send,
        }
    }
}

impl<F> fmt::Debug for PostSender<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { program, kind, .. } = self;
        let mut out = out.debug_struct("PostSender");
        out.field("program", program).field("kind", kind);
        out.finish_non_exhaustive()
    }
}

impl<F: FnMut(&Post) -> Option<u16> + Send + 'static> TraceOutput for PostSender<F> {}

impl<F: FnMut(&Post) -> Option<u16> + Send + 'static> Drains for PostSender<F> {
    fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>> {
        let registry = Registry::default();
        Box::new(PostDrain {
            taken: TakenEvents::new(state.shared.options.buffer),
            epoch: state.shared.clock.epoch(),
            state,
            kind: registry.symbol(&self.kind),
            thread_name: registry.symbol("thread.name"),
            session: Session::new(random()),
            registry,
            program: self.program,
            send: self.send,
            names: NameTable::new(&[]),
            attribute_names: NameTable::new(&[]),
            methods: HashMap::new(),
            threads: HashMap::new(),
            last: 0,
            finished: None,
            next_try: Instant::now(),
        })
    }
}

/// Returns a number that nobody can guess.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The calls of a thread since its outermost open one began.
struct TraceInProgress {
    buffer: Arc<CallBuffer>,
    trace: Trace,
    depth: usize,
    n_ends: u64,
    is_cut: bool,
}

struct PostDrain<F> {
    state: RecorderState,
    /// Nanoseconds from 1970 to the trace's time 0.
    epoch: u64,
    program: String,
    send: F,
    session: Session,
    registry: Registry,
    kind: SymbolId,
    thread_name: SymbolId,
    names: NameTable,
    attribute_names: NameTable,
    /// Methods by the number of their name.
    methods: HashMap<u32, MethodId>,
    threads: HashMap<u32, TraceInProgress>,
    taken: TakenEvents,
    /// Time of the last event that is encoded.
    last: u64,
    /// The thread whose trace is to be sent.
    finished: Option<u32>,
    next_try: Instant,
}

impl<F: FnMut(&Post) -> Option<u16> + Send + 'static> PostDrain<F> {
    /// Sends the trace that is finished; returns `false` if nobody took it.
    fn post(&mut self) -> bool {
        let Some(thread) = self.finished.and_then(|id| self.threads.get_mut(&id)) else {
            return true;
        };
        if Instant::now() < self.next_try {
            return false;
        }
        let id = u128::from(random()) << 64 | u128::from(random());
        let posts = self.session.posts(&self.registry, &thread.trace, id);
        let is_taken =
            |status: Option<u16>| status.is_some_and(|status| (200..300).contains(&status));
        if !posts.iter().all(|post| is_taken((self.send)(post))) {
            self.session.refused();
            self.next_try = Instant::now() + BETWEEN_TRIES;
            return false;
        }
        self.state
            .shared
            .n_written
            .fetch_add(thread.n_ends, Ordering::AcqRel);
        let is_cut = thread.is_cut || thread.trace.dropped() > 0;
        thread.buffer.cut(u64::from(is_cut));
        thread.trace.clear();
        thread.n_ends = 0;
        thread.is_cut = false;
        self.finished = None;
        true
    }

    /// Encodes events until a trace is finished; returns `false` at the end of the buffer.
    fn encode(&mut self, owner: &Arc<CallBuffer>) -> bool {
        let mut thread = self
            .threads
            .remove(&owner.id)
            .unwrap_or_else(|| TraceInProgress {
                buffer: owner.clone(),
                trace: Trace::new(LARGEST_TRACE, Duration::ZERO),
                depth: 0,
                n_ends: 0,
                is_cut: false,
            });
        let mut events = self.taken.events();
        let mut n_left = events.0.len();
        while self.finished.is_none()
            && let Some(event) = events.next()
        {
            n_left = events.0.len();
            self.last = self.last.max(event.time());
            for event in event.or_losses(self.last).into_iter().flatten() {
                match event {
                    CallEvent::Enter { time, name } => {
                        let (method, is_shared) = method(
                            &mut self.names,
                            &mut self.methods,
                            &self.registry,
                            (name, &self.program),
                        );
                        thread.is_cut |= is_shared;
                        thread.trace.enter_at(method, time);
                        if thread.depth == 0 {
                            let ms = self.epoch.saturating_add(time) / 1_000_000;
                            thread.trace.begin(ms, self.kind, None);
                            let name = Value::Text(&owner.name);
                            thread.trace.attribute(self.thread_name, name);
                        }
                        thread.depth += 1;
                    }
                    CallEvent::Attribute { name, value } => {
                        let (number, is_shared) = self.attribute_names.number(name);
                        thread.is_cut |= is_shared;
                        let name = self.attribute_names.name(number);
                        let symbol = self.registry.symbol(name);
                        put_value(&mut thread.trace, symbol, value);
                    }
                    CallEvent::Exit { time } => {
                        thread.trace.exit_at(time);
                        thread.n_ends += 1;
                        thread.depth = thread.depth.saturating_sub(1);
                        if thread.depth == 0 {
                            self.finished = Some(owner.id);
                        }
                    }
                    CallEvent::Lost { .. } => {}
                }
            }
        }
        self.taken.keep_last(n_left);
        self.threads.insert(owner.id, thread);
        self.finished.is_some()
    }
}

/// Returns the number of a name as a method, and `true` if it stands for another one too.
fn method(
    names: &mut NameTable,
    methods: &mut HashMap<u32, MethodId>,
    registry: &Registry,
    (name, program): (&str, &str),
) -> (MethodId, bool) {
    let (number, is_shared) = names.number(name);
    let method = *methods.entry(number).or_insert_with(|| {
        let word = MethodWord::parse(names.name(number), program);
        registry.method(word.class, word.method, word.signature)
    });
    (method, is_shared)
}

fn put_value(trace: &mut Trace, symbol: SymbolId, value: FieldValue<'_>) {
    match value {
        FieldValue::I64(number) => trace.attribute(symbol, Value::Integer(number)),
        FieldValue::Text(text) => trace.attribute(symbol, Value::Text(text)),
        FieldValue::U64(number) if i64::try_from(number).is_ok() => {
            trace.attribute(symbol, Value::Integer(number.cast_signed()));
        }
        other => trace.attribute(symbol, Value::Text(&other.to_string())),
    }
}

impl<F: FnMut(&Post) -> Option<u16> + Send + 'static> Drain<CallBuffer> for PostDrain<F> {
    fn proceed(&mut self) -> bool {
        loop {
            if !self.post() {
                return false;
            }
            let Some(owner) = self.taken.owner() else {
                return true;
            };
            if !self.encode(&owner) {
                self.taken.clear();
                return true;
            }
        }
    }

    fn take(&mut self, buffer: &Arc<CallBuffer>) {
        if self.taken.take(buffer) {
            self.last = 0;
        }
    }

    fn is_confirmed(&mut self) -> bool {
        self.threads.retain(|_, thread| !thread.buffer.is_done());
        true
    }

    fn end(&mut self) {
        let now = self.state.shared.clock.now();
        // What lies in calls that have not ended is lost with them.
        for thread in self.threads.values() {
            thread.buffer.lose(thread.n_ends, now);
        }
        self.taken.lose(now);
    }
}
