//! Two sinks on threads of their own, each for half of the tracks.

use traceloom_model::bounds::subslice;
use traceloom_model::{Asks, Batch, Flow, Sink, Stage, StepBatch};

use crate::piped;

/// Runs `read` on this thread and two sinks on two others: steps of every second track go to `second`,
/// all else to `first`, definitions to both.
///
/// Folding steps takes about twice the time of decoding them, so one sink alone would leave the reader
/// waiting half of the time. Steps of one track depend on no other track. They may not name spans: those
/// rows come in a batch of their own, to one sink.
pub fn piped_halves<T>(
    first: &mut (dyn Sink + Send),
    second: &mut (dyn Sink + Send),
    read: impl FnOnce(&mut dyn Sink) -> T,
) -> T {
    piped(first, |first| {
        piped(second, |second| read(&mut Halves { first, second }))
    })
}

struct Halves<'s> {
    first: &'s mut dyn Sink,
    second: &'s mut dyn Sink,
}

impl Halves<'_> {
    fn both(&mut self, batch: Batch) -> Flow {
        batch.clone().push(self.second)?;
        batch.push(self.first)
    }

    fn steps(&mut self, batch: &StepBatch) -> Flow {
        let mut halves = [StepBatch::default(), StepBatch::default()];
        for (track, range) in batch.runs() {
            let Some(half) = halves.get_mut(track.index() % 2) else {
                continue;
            };
            half.track(track);
            half.time
                .extend_from_slice(subslice(&batch.time, range.clone()));
            half.function
                .extend_from_slice(subslice(&batch.function, range));
        }
        let [even, odd] = halves;
        if !odd.is_empty() {
            self.second.steps(odd)?;
        }
        if even.is_empty() {
            return Flow::Continue(());
        }
        self.first.steps(even)
    }
}

impl Stage for Halves<'_> {
    fn asks(&self) -> Asks {
        self.first.asks()
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        match batch {
            Batch::Begin(..) | Batch::Define(_) | Batch::Forget(_) => self.both(batch),
            Batch::Steps(steps) => self.steps(&steps),
            other => other.push(self.first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_model::{Definitions, FunctionId, Note, TrackId};

    #[derive(Default)]
    struct Runs(Vec<(TrackId, usize)>);

    impl Sink for Runs {
        fn define(&mut self, _new: Definitions) -> Flow {
            Flow::Continue(())
        }

        fn steps(&mut self, batch: StepBatch) -> Flow {
            self.0
                .extend(batch.runs().map(|(track, steps)| (track, steps.len())));
            Flow::Continue(())
        }

        fn note(&mut self, _note: Note) -> Flow {
            Flow::Continue(())
        }
    }

    #[test]
    fn each_track_keeps_its_steps_and_its_sink() {
        let mut batch = StepBatch::default();
        for (track, steps) in [(0, 2), (1, 3), (2, 1), (1, 4), (0, 5)] {
            batch.track(TrackId::new(track));
            for time in 0..steps {
                batch.enter(time, FunctionId::new(7));
            }
        }
        let (mut first, mut second) = (Runs::default(), Runs::default());
        let flow = piped_halves(&mut first, &mut second, |sink| sink.steps(batch));
        assert!(flow.is_continue());
        let runs = |runs: &[(u32, usize)]| -> Vec<(TrackId, usize)> {
            runs.iter()
                .map(|&(track, n)| (TrackId::new(track), n))
                .collect()
        };
        assert_eq!(first.0, runs(&[(0, 2), (2, 1), (0, 5)]));
        // Steps of one track that come together are one run.
        assert_eq!(second.0, runs(&[(1, 7)]));
    }
}
