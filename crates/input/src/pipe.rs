//! A sink on another thread: the reader decodes while batches before are folded or written.

use std::sync::mpsc::{SyncSender, sync_channel};

use traceloom_model::{Asks, Batch, Flow, Sink, Stage};

/// Bundles that may wait: a few rows over [`ROWS`] each, or one batch of up to 64 Ki rows.
const WAITING: usize = 4;

/// Rows, and batches, that are sent together: each time the other thread may have to be woken.
const ROWS: usize = 2048;
const BATCHES: usize = 64;

/// Steps, of 12 bytes each, that count as one row.
const STEPS: usize = 8;

/// Runs `read` on this thread and `sink` on another one, joined by a bounded channel.
///
/// A sink that breaks stops the reader soon after.
pub fn piped<T>(sink: &mut (dyn Sink + Send), read: impl FnOnce(&mut dyn Sink) -> T) -> T {
    let asks = sink.asks();
    let (sender, receiver) = sync_channel::<Vec<Batch>>(WAITING);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let batches = receiver.into_iter().flatten();
            let _ = batches
                .map(|batch| batch.push(sink))
                .try_for_each(|flow| flow);
        });
        let mut bundles = Bundles {
            asks,
            sender,
            bundle: Vec::new(),
            rows: 0,
        };
        let read = read(&mut bundles);
        // A sink that broke takes no more.
        let _ = bundles.send();
        read
    })
}

/// A sink that sends batches together.
struct Bundles {
    asks: Asks,
    sender: SyncSender<Vec<Batch>>,
    bundle: Vec<Batch>,
    rows: usize,
}

impl Bundles {
    fn send(&mut self) -> Flow {
        self.rows = 0;
        match self.sender.send(std::mem::take(&mut self.bundle)) {
            Ok(()) => Flow::Continue(()),
            Err(_) => Flow::Break(()),
        }
    }
}

impl Stage for Bundles {
    fn asks(&self) -> Asks {
        self.asks
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        self.rows += match &batch {
            Batch::Steps(steps) => steps.len() / STEPS,
            other => other.rows(),
        };
        self.bundle.push(batch);
        if self.rows < ROWS && self.bundle.len() < BATCHES {
            return Flow::Continue(());
        }
        self.send()
    }
}

/// A sink that sends, and asks what the sink on the other side does.
pub(crate) struct Sender<M = Batch> {
    pub(crate) asks: Asks,
    pub(crate) sender: SyncSender<M>,
}

impl<M: From<Batch>> Stage for Sender<M> {
    fn asks(&self) -> Asks {
        self.asks
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match self.sender.send(batch.into()) {
            Ok(()) => Flow::Continue(()),
            Err(_) => Flow::Break(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_model::{Definitions, Level, Note, Notes};

    #[derive(Default)]
    struct Three(Notes);

    impl Sink for Three {
        fn define(&mut self, _new: Definitions) -> Flow {
            Flow::Continue(())
        }

        fn note(&mut self, note: Note) -> Flow {
            self.0.push(note);
            if self.0.total() == 3 {
                Flow::Break(())
            } else {
                Flow::Continue(())
            }
        }
    }

    #[test]
    fn a_sink_that_breaks_stops_the_reader() {
        let mut sink = Three::default();
        let sent = piped(&mut sink, |to| {
            let note = |offset| Note::new(Level::Info, "n", offset, "");
            (0..1_000_000)
                .take_while(|&offset| to.note(note(offset)).is_continue())
                .count()
        });
        assert_eq!(sink.0.total(), 3);
        assert!(sent < 1_000, "{sent} notes went out after the third");
    }
}
