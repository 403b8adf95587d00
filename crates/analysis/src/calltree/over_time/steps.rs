//! Enter and exit steps, added to the times of the paths that they make.

use traceloom_model::{FunctionId, Timestamp, TrackId};

use super::super::arena::ROOT;
use super::calls::CallTimes;
use crate::symbol::key_of_function;

/// What is open on one track after the last step that came for it.
#[derive(Debug, Default)]
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
        let line = self.lines.entry(track);
        let line = line.or_insert_with(|| std::mem::take(&mut self.spare_line));
        let thread = track.raw();
        let mut stretch = 0..0;
        for (&time, &function) in times.iter().zip(functions) {
            let top = line.open.last().copied();
            // Calls need not come in the order of their times: the next one may begin before the last one ended.
            let from = if top.is_some() { line.last } else { time };
            line.last = time.max(from);
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
        if line.open.is_empty() {
            self.spare_line = self.lines.remove(&track).unwrap_or_default();
        }
    }
}
