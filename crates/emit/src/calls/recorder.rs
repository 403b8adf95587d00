//! The trace of a process, for formats that nest calls.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::buffer::CallBuffer;
use super::pauses::PauseRecorder;
use super::thread::ThreadRecorder;
use super::{BoxedDrain, TraceOutput};
use crate::engine::{Engine, Options, Report, SharedState};

/// What threads, recorder and output share.
#[derive(Debug)]
pub struct RecorderState {
    pub shared: Arc<SharedState<CallBuffer>>,
    /// Calls that begin while it is `false` are not recorded.
    pub is_recording: Arc<AtomicBool>,
}

/// A running trace of calls, in the format of its [`TraceOutput`]. Dropping it closes it.
///
/// Threads record into buffers of their own; one thread of the recorder encodes and writes, so that a traced thread never
/// waits for a disk or a peer. A buffer that is full takes no more calls until it was written: they are dropped and counted
/// by [`Recorder::report`], and the trace has a call [`DROPPED`](crate::DROPPED) in their place.
#[derive(Debug)]
pub struct Recorder {
    engine: Engine<CallBuffer>,
    state: Arc<RecorderState>,
}

impl Recorder {
    /// Begins a trace: its time 0 is this call.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(output: impl TraceOutput, options: Options) -> io::Result<Self> {
        let is_recording = Arc::new(AtomicBool::new(true));
        let state = is_recording.clone();
        let drain = |shared: &Arc<SharedState<CallBuffer>>| {
            BoxedDrain(output.drain(RecorderState {
                shared: shared.clone(),
                is_recording,
            }))
        };
        let engine = Engine::start(options, drain)?;
        let state = Arc::new(RecorderState {
            shared: engine.shared.clone(),
            is_recording: state,
        });
        Ok(Self { engine, state })
    }

    /// Begins the calls of a thread, under a name that viewers show.
    #[must_use]
    pub fn thread(&self, name: &str) -> ThreadRecorder {
        ThreadRecorder::new(self.state.clone(), name)
    }

    /// Begins the pauses of the process.
    #[must_use]
    pub fn pauses(&self) -> PauseRecorder {
        PauseRecorder(ThreadRecorder::of_pauses(self.state.clone()))
    }

    /// Returns the nanoseconds since the trace began.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.state.shared.clock.now()
    }

    /// Waits until the output took everything that was recorded before this call, and a collector confirmed it where its
    /// protocol has that. Returns `false` if it did not within `patience`.
    pub fn flush(&self, patience: Duration) -> bool {
        self.state.shared.flush(patience)
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.state.shared.report()
    }

    /// Writes what is left, for at most [`Options::patience`], and ends the trace. Calls that end later are dropped.
    ///
    /// `std::process::exit` drops nothing: a program that ends by it calls this before.
    pub fn close(&self) -> Report {
        self.engine.close()
    }
}
