//! Events into blocks, blocks into files of trace.

use super::{BLOCK, Process, ROTATE};
use crate::cdt::trace::{Block, Event, What};
use crate::{Error, Output};

impl Process {
    /// Adds an event to the block; a full one goes out first.
    pub(super) fn event(
        &mut self,
        thread: i64,
        what: What<'_>,
        at: i64,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        if self.events >= BLOCK {
            self.flush(out)?;
        }
        if self.events == 0 {
            self.begin(at, out)?;
            let offset = u32::try_from(self.trace.bytes).unwrap_or(u32::MAX);
            self.place.get_or_insert((self.trace.index, offset));
            Block {
                thread_id: thread,
                real_time: at,
            }
            .write(&mut self.block);
            self.last = self.start;
        }
        let elapsed = i32::try_from(at - self.last).unwrap_or(i32::MAX);
        self.last += i64::from(elapsed);
        Event { elapsed, what }.write(&mut self.block);
        self.events += 1;
        Ok(())
    }

    /// Makes sure that the trace file can hold a block that begins at a time.
    fn begin(&mut self, at: i64, out: &mut dyn Output) -> Result<(), Error> {
        // Events count milliseconds from the file's start in 32 bits.
        let far = at.abs_diff(self.start) > 1 << 30;
        if self.trace.index > 0 && !far && self.trace.bytes < ROTATE {
            return Ok(());
        }
        if far {
            self.start = at;
        }
        let place = (&self.folder, "trace");
        self.trace.next(place, out)?;
        self.trace.put(place, &self.start.to_be_bytes(), out)
    }

    /// Writes the block.
    pub(super) fn flush(&mut self, out: &mut dyn Output) -> Result<(), Error> {
        if self.events == 0 {
            return Ok(());
        }
        self.block.push(3);
        self.trace.put((&self.folder, "trace"), &self.block, out)?;
        self.block.clear();
        self.events = 0;
        Ok(())
    }
}
