//! The trace of a process.

use std::io;
use std::time::Duration;

use super::drain::PacketDrain;
use super::sink::Sink;
use super::stream::{Stream, StreamBuffer};
use crate::engine::{Engine, Options, Report};

/// A running trace. Dropping it closes it.
#[derive(Debug)]
pub struct Tracer(Engine<StreamBuffer>);

impl Tracer {
    /// Begins a trace: its time 0 is this call.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(sink: Sink, options: Options) -> io::Result<Self> {
        let engine = Engine::start(options, |shared| PacketDrain::new(shared.clone(), sink))?;
        Ok(Self(engine))
    }

    /// Begins a stream; each thread should have its own.
    #[must_use]
    pub fn stream(&self) -> Stream {
        Stream::new(self.0.shared.clone())
    }

    /// Returns the nanoseconds since the trace began.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.0.shared.clock.now()
    }

    /// Waits until the sink took everything that was recorded before this call. Returns `false` if it did not within
    /// `patience`.
    pub fn flush(&self, patience: Duration) -> bool {
        self.0.shared.flush(patience)
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn report(&self) -> Report {
        self.0.shared.report()
    }

    /// Writes what is left, for at most [`Options::patience`], and ends the trace. Spans that end later are dropped.
    ///
    /// `std::process::exit` drops nothing: a program that ends by it calls this before.
    pub fn close(&self) -> Report {
        self.0.close()
    }
}
