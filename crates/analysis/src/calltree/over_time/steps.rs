//! Enter and exit steps, added to the times of the paths that they make.

use traceloom_model::{FunctionId, Timestamp, TrackId};

use super::super::arena::ROOT;
use super::calls::CallTimes;
use crate::symbol::key_of_function;

/// What is open on one track after the last step that came for it.
#[derive(Debug)]
pub(super) struct StepLine {
    /// Nodes, outermost first.
    open: Vec<u32>,
    last: Timestamp,
}

impl CallTimes {
    /// Takes steps of one track.
    pub(super) fn take_steps(
        &mut self,
        track: TrackId,
        times: &[Timestamp],
        functions: &[Option<FunctionId>],
    ) {
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
            return;
        };
        let line = self.lines.entry(track).or_insert_with(|| StepLine {
            open: Vec::new(),
            last: first,
        });
        let thread = track.raw();
        self.grid.extend(line.last.min(first), last);
        let mut stretch = 0..0;
        for (&time, &function) in times.iter().zip(functions) {
            let from = line.last;
            line.last = time.max(from);
            let top = line.open.last().copied();
            if !stretch.contains(&time) {
                self.sums.flush(&mut self.grid, stretch.start, thread);
                if let Some(top) = top {
                    self.grid.add_time((from, line.last), thread, top);
                }
                stretch = self.grid.stretch_of(time);
            } else if from < time
                && let Some(top) = top
            {
                self.sums.add_time(top, (from, time));
            }
            if function.is_some() {
                let node = self
                    .arena
                    .child(top.unwrap_or(ROOT), key_of_function(function));
                self.sums.count(node);
                line.open.push(node);
            } else {
                line.open.pop();
            }
        }
        self.sums.flush(&mut self.grid, stretch.start, thread);
    }
}
