//! Events into blocks, blocks into files of trace.

use traceloom_model::bounds::{saturated_i32, saturated_u32};

use super::{BLOCK, ProcessStreams, ROTATE};
use crate::cdt::trace::{Block, Event, TraceAction};
use crate::{Error, Output};

impl ProcessStreams {
    /// Adds an event to the block; a full one goes out first.
    #[inline(always)]
    pub(super) fn event(
        &mut self,
        thread: i64,
        what: TraceAction<'_>,
        at: i64,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        if self.events == 0 || self.events >= BLOCK {
            self.begin(thread, at, out)?;
        }
        let elapsed = saturated_i32(at - self.last);
        self.last += i64::from(elapsed);
        Event { elapsed, what }.write(&mut self.trace.held);
        self.events += 1;
        Ok(())
    }

    /// Begins a block, in another file where this one cannot hold it.
    fn begin(&mut self, thread: i64, at: i64, out: &mut dyn Output) -> Result<(), Error> {
        self.flush(out)?;
        // Events count milliseconds from the file's start in 32 bits.
        let far = at.abs_diff(self.start) > 1 << 30;
        if self.trace.index == 0 || far || self.trace.len() >= ROTATE {
            if far {
                self.start = at;
            }
            self.trace.next((&self.folder, "trace"), out)?;
            self.trace.held.extend(self.start.to_be_bytes());
        }
        let offset = saturated_u32(self.trace.len());
        self.place.get_or_insert((self.trace.index, offset));
        Block {
            thread_id: thread,
            real_time: at,
        }
        .write(&mut self.trace.held);
        self.last = self.start;
        Ok(())
    }

    /// Ends the block.
    pub(super) fn flush(&mut self, out: &mut dyn Output) -> Result<(), Error> {
        if self.events == 0 {
            return Ok(());
        }
        self.events = 0;
        self.trace.held.push(3);
        self.trace.spill((&self.folder, "trace"), out)
    }
}
