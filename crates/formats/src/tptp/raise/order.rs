//! Messages in the order of their times.
//!
//! The model tells of events before calls, and of a call when it ends; a trace tells of everything when it
//! happened. What is written waits here until a limit of bytes is reached, and leaves in order, the older half
//! of it at a time: a trace of any size is in order but for calls that are longer than what fits.

use std::ops::Range;

/// Bytes that wait at most.
const MOST: usize = 64 << 20;

/// Where a message belongs among those of its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    /// It defines what others refer to.
    Defines,
    /// It happened.
    Happens,
    /// It ends a thread, a trace or an agent: nothing of those comes after it.
    Ends,
}

/// Messages that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    bytes: Vec<u8>,
    rows: Vec<(i64, Rank, Range<usize>)>,
    most: Option<usize>,
}

impl Waiting {
    /// Takes a message that happened at `time`.
    pub fn push(&mut self, time: i64, rank: Rank, message: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.rows.push((time, rank, start..self.bytes.len()));
    }

    /// Tells whether some must leave.
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= self.most.unwrap_or(MOST)
    }

    /// Returns the latest time of what waits, ends left aside.
    pub fn latest(&self) -> i64 {
        let others = self.rows.iter().filter(|row| row.1 != Rank::Ends);
        others.map(|row| row.0).max().unwrap_or(i64::MIN)
    }

    /// Hands over the older half of the bytes, but no ends; all of it when `all` is set.
    pub fn leave(&mut self, all: bool, out: &mut Vec<u8>) {
        // What has one time stays as it came.
        self.rows.sort_by_key(|row| (row.0, row.1));
        let half = self.bytes.len() / 2;
        let bytes = std::mem::take(&mut self.bytes);
        let mut gone = 0;
        for (time, rank, range) in std::mem::take(&mut self.rows) {
            let message = bytes.get(range).unwrap_or_default();
            if all || gone < half && rank != Rank::Ends {
                gone += message.len();
                out.extend_from_slice(message);
            } else {
                self.push(time, rank, message);
            }
        }
        // Where ends fill it, they leave too: looking through them each time would take quadratic time.
        if !all && self.bytes.len() > half + half / 2 {
            self.leave(true, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_half_leaves_and_ends_wait() {
        let mut waiting = Waiting {
            most: Some(8),
            ..Waiting::default()
        };
        for (time, rank, message) in [
            (30, Rank::Happens, "c"),
            (10, Rank::Happens, "a"),
            (10, Rank::Ends, "z"),
            (10, Rank::Happens, "b"),
            (10, Rank::Defines, "_"),
            (20, Rank::Ends, "y"),
        ] {
            waiting.push(time, rank, message.as_bytes());
        }
        assert!(!waiting.is_full());
        assert_eq!(waiting.latest(), 30);
        let mut out = Vec::new();
        waiting.leave(false, &mut out);
        assert_eq!(out, b"_ab");
        waiting.push(25, Rank::Happens, b"d");
        waiting.leave(true, &mut out);
        assert_eq!(out, b"_abzydc");
        for _ in 0..8 {
            waiting.push(0, Rank::Ends, b"e");
        }
        assert!(waiting.is_full());
        out.clear();
        waiting.leave(false, &mut out);
        assert_eq!(out, b"eeeeeeee");
    }
}
