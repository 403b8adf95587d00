//! Calls of threads, for the formats that write beginnings and ends: what they share.

pub(crate) mod buffer;
pub(crate) mod bytes;
pub(crate) mod event;
pub(crate) mod method;
pub(crate) mod names;
mod pauses;
pub(crate) mod put;
mod recorder;
mod spare;
pub(crate) mod taken;
pub(crate) mod text;
mod thread;

use std::sync::Arc;
use std::time::Instant;

pub use pauses::PauseRecorder;
pub use recorder::Recorder;
pub use thread::{CallGuard, ThreadRecorder};

use crate::engine::Drain;
use buffer::CallBuffer;
pub(crate) use recorder::RecorderState;
pub(crate) use spare::SpareBytes;

/// Where the calls of a [`Recorder`] go: a format and a file, folder or peer. Made by the modules of the formats.
pub trait TraceOutput: sealed::Drains {}

pub(crate) mod sealed {
    use super::{CallBuffer, Drain, RecorderState};

    /// Made into what the writer's thread writes with.
    pub trait Drains {
        fn drain(self, state: RecorderState) -> Box<dyn Drain<CallBuffer>>;
    }
}

/// A format's drain, chosen when the program runs.
pub(crate) struct BoxedDrain(Box<dyn Drain<CallBuffer>>);

impl Drain<CallBuffer> for BoxedDrain {
    fn proceed(&mut self) -> bool {
        self.0.proceed()
    }

    fn take(&mut self, buffer: &Arc<CallBuffer>) {
        self.0.take(buffer);
    }

    fn is_confirmed(&mut self) -> bool {
        self.0.is_confirmed()
    }

    fn conclude(&mut self) {
        self.0.conclude();
    }

    fn end(&mut self) {
        self.0.end();
    }

    fn finish(&mut self, until: Option<Instant>) {
        self.0.finish(until);
    }
}
