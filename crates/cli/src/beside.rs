//! Reading an input record by record and lowering it at the same time, each on a thread.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use traceloom_model::{Asks, Batch, Flow, Sink, Stage, Timestamp};

/// Runs `lowering` on a thread of its own and `reading` on this one; returns what both return.
///
/// `reading` sets the flag when nothing of the lowering is wanted any more.
pub(crate) fn beside<R, L: Send>(
    reading: impl FnOnce(&Cancelled) -> R,
    lowering: impl FnOnce(&Cancelled) -> L + Send,
) -> (R, L) {
    let cancelled = Cancelled::default();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| lowering(&cancelled));
        let read = reading(&cancelled);
        match thread.join() {
            Ok(lowered) => (read, lowered),
            Err(panic) => resume_unwind(panic),
        }
    })
}

/// A flag that ends a lowering.
#[derive(Default)]
pub(crate) struct Cancelled(AtomicBool);

impl Cancelled {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A sink that breaks once a flag is set.
pub(crate) struct Cancellable<'s> {
    pub(crate) sink: &'s mut dyn Sink,
    pub(crate) cancelled: &'s Cancelled,
}

impl Stage for Cancellable<'_> {
    fn asks(&self) -> Asks {
        self.sink.asks()
    }

    fn wants_details(&self, start: Timestamp, end: Option<Timestamp>) -> bool {
        self.sink.wants_details(start, end)
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match self.cancelled.is_set() {
            true => Flow::Break(()),
            false => batch.push(self.sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_model::{CounterBatch, Recording};

    #[test]
    fn a_cancelled_sink_breaks_and_both_results_come_back() {
        let (read, flows) = beside(
            |cancelled| {
                cancelled.set();
                7
            },
            |cancelled| {
                let mut recording = Recording::default();
                let mut sink = Cancellable {
                    sink: &mut recording,
                    cancelled,
                };
                while sink.counters(CounterBatch::default()).is_continue() {}
                "ended"
            },
        );
        assert_eq!((read, flows), (7, "ended"));
    }
}
