//! The events of a lane, as they are written.

use traceloom_model::Timestamp;

use super::nest::FrameStep;
use crate::codec::Buffered;
use crate::text::scalars;
use crate::wire::put_start;

/// What of an event comes before its time: text of a width that is known, of which so much counts.
pub(super) struct EventPrefix {
    text: [u8; WIDTH],
    len: usize,
}

const WIDTH: usize = 40;
/// Where it says whether the frame is entered or left.
const TYPE: usize = 10;

impl EventPrefix {
    pub fn of(frame: u32) -> Self {
        let mut row = b",{\"type\":\"O\",\"frame\":".to_vec();
        scalars::digits(u64::from(frame), &mut row);
        row.extend_from_slice(b",\"at\":");
        let len = row.len();
        row.resize(WIDTH, b' ');
        Self {
            text: row.first_chunk().copied().unwrap_or([b' '; WIDTH]),
            len,
        }
    }
}

/// A list of events that is being written, with its first and last time around it.
pub(super) struct EventList<'w, 'o> {
    out: &'w mut Buffered<'o>,
    base: Timestamp,
    heads: &'w [EventPrefix],
    last: Option<u64>,
}

impl<'w, 'o> EventList<'w, 'o> {
    /// Begins a list of events at `base` or later.
    pub fn begin(out: &'w mut Buffered<'o>, base: Timestamp, heads: &'w [EventPrefix]) -> Self {
        Self {
            out,
            base,
            heads,
            last: None,
        }
    }

    /// Writes an event.
    #[inline]
    pub fn put(&mut self, step: &FrameStep) {
        let at = step.at.abs_diff(self.base);
        let is_first = self.last.replace(at).is_none();
        if is_first {
            self.first(at);
        }
        let out = &mut self.out.bytes;
        if let Some(head) = self.heads.get(step.frame as usize) {
            let begin = out.len();
            put_start(out, head.text, head.len);
            if !step.enter
                && let Some(kind) = out.get_mut(begin + TYPE)
            {
                *kind = b'C';
            }
            if is_first {
                out.remove(begin);
            }
        }
        scalars::digits(at, out);
        out.push(b'}');
        self.out.spill();
    }

    #[cold]
    fn first(&mut self, at: u64) {
        let out = &mut self.out.bytes;
        out.extend_from_slice(b"\"startValue\":");
        scalars::digits(at, out);
        out.extend_from_slice(b",\"events\":[");
    }

    /// Ends the list, which has an event.
    pub fn end(self) {
        self.out.text("],\"endValue\":");
        scalars::digits(self.last.unwrap_or(0), &mut self.out.bytes);
        self.out.bytes.push(b'}');
    }
}
