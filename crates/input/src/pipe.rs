//! A sink on another thread: the reader decodes while batches before are folded or written.

use std::sync::mpsc::{SyncSender, sync_channel};

use traceloom_model::{
    Clock, CounterBatch, Definitions, EdgeBatch, EventBatch, Flow, LinkBatch, Note, ObjectBatch,
    Order, RootBatch, SampleBatch, Sink, SpanBatch, StepBatch, Wants,
};

/// Batches that may wait; with at most 64 Ki rows each, some tens of megabytes.
const WAITING: usize = 4;

pub(crate) enum Message {
    Begin(Order, Clock),
    Define(Definitions),
    Spans(SpanBatch),
    Steps(StepBatch),
    Samples(SampleBatch),
    Events(EventBatch),
    Counters(CounterBatch),
    Links(LinkBatch),
    Objects(ObjectBatch),
    Edges(EdgeBatch),
    Roots(RootBatch),
    Note(Note),
}

/// Runs `read` on this thread and `sink` on another one, joined by a bounded channel.
///
/// A sink that breaks stops the reader at its next batch.
pub fn piped<T>(sink: &mut (dyn Sink + Send), read: impl FnOnce(&mut dyn Sink) -> T) -> T {
    let (sender, receiver) = sync_channel(WAITING);
    let mut sender = Sender::new(sink, sender);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while let Ok(message) = receiver.recv() {
                if pass(message, sink).is_break() {
                    break;
                }
            }
        });
        // The sender goes with the reading: the other thread ends when there is nobody to send.
        let result = read(&mut sender);
        drop(sender);
        result
    })
}

pub(crate) fn pass(message: Message, sink: &mut dyn Sink) -> Flow {
    match message {
        Message::Begin(order, clock) => {
            sink.begin(order, clock);
            Flow::Continue(())
        }
        Message::Define(definitions) => sink.define(definitions),
        Message::Spans(batch) => sink.spans(batch),
        Message::Steps(batch) => sink.steps(batch),
        Message::Samples(batch) => sink.samples(batch),
        Message::Events(batch) => sink.events(batch),
        Message::Counters(batch) => sink.counters(batch),
        Message::Links(batch) => sink.links(batch),
        Message::Objects(batch) => sink.objects(batch),
        Message::Edges(batch) => sink.edges(batch),
        Message::Roots(batch) => sink.roots(batch),
        Message::Note(note) => sink.note(note),
    }
}

/// A sink that sends, and answers as the sink on the other side does.
pub(crate) struct Sender<M = Message> {
    wants: Wants,
    sampled_events: bool,
    derived_samples: bool,
    sender: SyncSender<M>,
}

impl<M: From<Message>> Sender<M> {
    pub(crate) fn new(like: &dyn Sink, sender: SyncSender<M>) -> Self {
        Self {
            wants: like.wants(),
            sampled_events: like.wants_sampled_events(),
            derived_samples: like.wants_derived_samples(),
            sender,
        }
    }

    fn send(&self, message: Message) -> Flow {
        match self.sender.send(message.into()) {
            Ok(()) => Flow::Continue(()),
            Err(_) => Flow::Break(()),
        }
    }
}

impl<M: From<Message>> Sink for Sender<M> {
    fn wants(&self) -> Wants {
        self.wants
    }

    fn wants_sampled_events(&self) -> bool {
        self.sampled_events
    }

    fn wants_derived_samples(&self) -> bool {
        self.derived_samples
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        let _ = self.send(Message::Begin(order, clock));
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.send(Message::Define(definitions))
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.send(Message::Spans(batch))
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        self.send(Message::Steps(batch))
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.send(Message::Samples(batch))
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.send(Message::Events(batch))
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        self.send(Message::Counters(batch))
    }

    fn links(&mut self, batch: LinkBatch) -> Flow {
        self.send(Message::Links(batch))
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        self.send(Message::Objects(batch))
    }

    fn edges(&mut self, batch: EdgeBatch) -> Flow {
        self.send(Message::Edges(batch))
    }

    fn roots(&mut self, batch: RootBatch) -> Flow {
        self.send(Message::Roots(batch))
    }

    fn note(&mut self, note: Note) -> Flow {
        self.send(Message::Note(note))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_model::{Level, Notes};

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
