//! A sink on another thread: the reader decodes while batches before are folded or written.

use std::sync::mpsc::{SyncSender, sync_channel};

use traceloom_model::{Asks, Batch, Definitions, Flow, Sink, Stage};

/// Bundles of [`ROWS`] rows that may wait, some ten megabytes in all; what is larger counts as several.
///
/// A sink stops now and then, to thin what it holds: until it goes on, the reader has somewhere to put what it reads.
const WAITING: usize = 24;

/// Rows and definitions, and batches, that are sent together: each time the other thread may have to be woken.
const ROWS: usize = 2048;
const BATCHES: usize = 64;

/// Steps, of 12 bytes each, that count as one row.
const STEPS: usize = 8;

/// Bytes of texts that count as one row.
const TEXT: usize = 128;

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
    /// Rows, and what counts as some.
    rows: usize,
}

impl Bundles {
    fn send(&mut self) -> Flow {
        let places = std::mem::take(&mut self.rows) / ROWS;
        let bundle = std::mem::take(&mut self.bundle);
        self.put(bundle)?;
        (1..places.min(WAITING)).try_for_each(|_| self.put(Vec::new()))
    }

    fn put(&self, bundle: Vec<Batch>) -> Flow {
        match self.sender.send(bundle) {
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
            Batch::Define(new) => definitions(new),
            other => other.rows(),
        };
        self.bundle.push(batch);
        if self.rows < ROWS && self.bundle.len() < BATCHES {
            return Flow::Continue(());
        }
        self.send()
    }
}

/// How many rows definitions count as: of other tables than these there are few.
fn definitions(new: &Definitions) -> usize {
    let texts = new.strings.iter().map(|(_, text)| text.as_bytes().len());
    let code = new.functions.len() + new.frames.len() + new.stacks.len();
    texts.sum::<usize>() / TEXT + new.strings.len() + code
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
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;
    use traceloom_model::{Level, Note, Notes, StepBatch, StringId, Text};

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
        let most = (WAITING + 3) * BATCHES;
        assert!(sent <= most, "{sent} notes went out after the third");
    }

    /// Counts batches of steps and of definitions, and takes its time.
    struct Slow<'c>(&'c AtomicUsize);

    impl Slow<'_> {
        fn take(&self) -> Flow {
            std::thread::sleep(Duration::from_millis(2));
            self.0.fetch_add(1, Ordering::SeqCst);
            Flow::Continue(())
        }
    }

    impl Sink for Slow<'_> {
        fn define(&mut self, _new: Definitions) -> Flow {
            self.take()
        }

        fn steps(&mut self, _batch: StepBatch) -> Flow {
            self.take()
        }

        fn note(&mut self, _note: Note) -> Flow {
            Flow::Continue(())
        }
    }

    /// Returns how many of so many batches waited or were being taken at most.
    fn most_waiting(count: usize, batch: impl Fn() -> Batch) -> usize {
        let taken = AtomicUsize::new(0);
        let most = piped(&mut Slow(&taken), |to| {
            let waiting = (1..=count).map(|sent| {
                let _ = batch().push(to);
                sent - taken.load(Ordering::SeqCst)
            });
            waiting.max()
        });
        assert_eq!(taken.into_inner(), count);
        most.unwrap_or(0)
    }

    #[test]
    fn few_large_batches_wait() {
        const PLACES: usize = 4;
        let steps = || {
            let mut batch = StepBatch::default();
            batch.time.resize(PLACES * ROWS * STEPS, 0);
            Batch::Steps(batch)
        };
        assert!(most_waiting(3 * WAITING, steps) <= WAITING / PLACES);
        let define = || {
            let text = Text::from_bytes(vec![b'x'; PLACES * ROWS * TEXT]);
            Batch::Define(Definitions {
                strings: vec![(StringId::new(0), text)],
                ..Definitions::default()
            })
        };
        assert!(most_waiting(3 * WAITING, define) <= WAITING / PLACES);
        // One that has all places waits alone, behind the one that is taken.
        let whole = || {
            let mut batch = StepBatch::default();
            batch.time.resize(2 * WAITING * ROWS * STEPS, 0);
            Batch::Steps(batch)
        };
        assert!(most_waiting(6, whole) <= 2);
    }
}
