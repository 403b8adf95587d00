//! A sink on another thread: the reader decodes while batches before are folded or written.

use std::sync::mpsc::{SyncSender, sync_channel};

use traceloom_model::{Asks, Batch, Flow, Sink, Stage};

/// Batches that may wait; with at most 64 Ki rows each, some tens of megabytes.
const WAITING: usize = 4;

/// Runs `read` on this thread and `sink` on another one, joined by a bounded channel.
///
/// A sink that breaks stops the reader at its next batch.
pub fn piped<T>(sink: &mut (dyn Sink + Send), read: impl FnOnce(&mut dyn Sink) -> T) -> T {
    let asks = Asks::of(sink);
    let (sender, receiver) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while let Ok(batch) = receiver.recv() {
                if Batch::push(batch, sink).is_break() {
                    break;
                }
            }
        });
        read(&mut Sender { asks, sender })
    })
}

struct Sender {
    asks: Asks,
    sender: SyncSender<Batch>,
}

impl Stage for Sender {
    fn asks(&self) -> Asks {
        self.asks
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match self.sender.send(batch) {
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
