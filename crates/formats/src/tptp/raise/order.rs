//! Messages in the order of their times.
//!
//! The model tells of events before calls, and of a call when it ends; a trace tells of everything when it
//! happened. What is written waits here until a limit of bytes is reached, and leaves in order, the older half
//! of it at a time: a trace of any size is in order but for calls that are longer than what fits.
//!
//! A call is in order itself. What waits is therefore kept as runs, each in order, and leaves by merging them:
//! sorting the messages one by one would look at each of them a dozen times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
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

/// One message: its bytes follow those of the message before.
#[derive(Clone, Copy, Debug)]
struct Row {
    time: i64,
    len: usize,
    rank: Rank,
}

/// Messages side by side.
#[derive(Clone, Debug)]
struct Stretch {
    rows: Range<usize>,
    bytes: Range<usize>,
}

/// Messages that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    /// The first row of each run and where its bytes begin; a run is in order.
    runs: Vec<(usize, usize)>,
    most: Option<usize>,
}

/// Time and rank of the first message of a run, and which run it is: what has one time stays as it came.
type Head = (i64, Rank, usize);

impl Waiting {
    /// Takes a message that happened at `time`: the bytes that `write` appends.
    #[inline]
    pub fn push(&mut self, time: i64, rank: Rank, write: impl FnOnce(&mut Vec<u8>)) {
        let (row, at) = (self.rows.len(), self.bytes.len());
        write(&mut self.bytes);
        let len = self.bytes.len() - at;
        self.run(time, rank, row, at);
        self.rows.push(Row { time, len, rank });
    }

    /// Begins a run where the message of `row` comes before the one it stands behind.
    #[inline]
    fn run(&mut self, time: i64, rank: Rank, row: usize, at: usize) {
        let last = row.checked_sub(1).and_then(|last| self.rows.get(last));
        if last.is_none_or(|last| (time, rank) < (last.time, last.rank)) {
            self.runs.push((row, at));
        }
    }

    /// Tells whether some must leave.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.bytes.len() >= self.most.unwrap_or(MOST)
    }

    /// Returns the latest time of what waits, ends left aside.
    pub fn latest(&self) -> i64 {
        let others = self.rows.iter().filter(|row| row.rank != Rank::Ends);
        others.map(|row| row.time).max().unwrap_or(i64::MIN)
    }

    /// Hands over the older half of the bytes, but no ends; all of it when `all` is set.
    pub fn leave(&mut self, all: bool, out: &mut impl FnMut(&[u8])) {
        let half = self.bytes.len() / 2;
        let stay = self.hand_over(if all { usize::MAX } else { half }, all, out);
        self.close_ranks(&stay);
        // Where ends fill it, they leave too: looking through them each time would take quadratic time.
        if !all && self.bytes.len() > half + half / 2 {
            self.leave(true, out);
        }
    }

    /// Merges the runs until `most` bytes have left, and returns what stays as it lies.
    fn hand_over(&self, most: usize, ends: bool, out: &mut impl FnMut(&[u8])) -> Vec<Stretch> {
        let mut runs = self.stretches();
        let mut first: Vec<Head> = Vec::with_capacity(runs.len());
        for (at, run) in runs.iter().enumerate() {
            let row = self.rows.get(run.rows.start);
            first.extend(row.map(|row| (row.time, row.rank, at)));
        }
        first.sort_unstable();
        let mut first = first.into_iter().peekable();
        let mut heads: BinaryHeap<Reverse<Head>> = BinaryHeap::new();
        let mut passed = Vec::new();
        let mut gone = 0;
        // What lies in one piece leaves in one piece.
        let mut piece = 0..0;
        while gone < most {
            let oldest = heads.peek().map(|head| head.0);
            if let Some(next) = first.next_if(|next| oldest.is_none_or(|oldest| *next < oldest)) {
                heads.push(Reverse(next));
                continue;
            }
            let Some((_, _, at)) = oldest else { break };
            let Some(run) = runs.get_mut(at) else { break };
            // The second of a heap is one of the two below its top.
            let others = heads.as_slice().iter().skip(1).take(2).map(|head| head.0);
            let second = others.chain(first.peek().copied()).min();
            let mut rows = self.rows.get(run.rows.clone()).unwrap_or_default().iter();
            let mut next = rows.next();
            while let Some(row) = next {
                if gone >= most || second.is_some_and(|second| second < (row.time, row.rank, at)) {
                    break;
                }
                let bytes = run.bytes.start..run.bytes.start + row.len;
                run.bytes.start = bytes.end;
                if ends || row.rank != Rank::Ends {
                    gone += row.len;
                    if piece.end != bytes.start {
                        out(self.bytes.get(piece).unwrap_or_default());
                        piece = bytes.start..bytes.start;
                    }
                    piece.end = bytes.end;
                } else {
                    let rows = run.rows.start..run.rows.start + 1;
                    passed.push(Stretch { rows, bytes });
                }
                run.rows.start += 1;
                next = rows.next();
            }
            if let Some(mut head) = heads.peek_mut() {
                match next {
                    Some(row) => *head = Reverse((row.time, row.rank, at)),
                    None => drop(PeekMut::pop(head)),
                }
            }
        }
        out(self.bytes.get(piece).unwrap_or_default());
        runs.retain(|run| !run.rows.is_empty());
        runs.append(&mut passed);
        runs.sort_unstable_by_key(|stretch| stretch.rows.start);
        runs
    }

    fn stretches(&self) -> Vec<Stretch> {
        let ends = self.runs.iter().skip(1).copied();
        let ends = ends.chain([(self.rows.len(), self.bytes.len())]);
        let runs = self.runs.iter().zip(ends);
        runs.map(|(&(row, at), (end, end_at))| Stretch {
            rows: row..end,
            bytes: at..end_at,
        })
        .collect()
    }

    /// Moves what stays to the front.
    fn close_ranks(&mut self, stay: &[Stretch]) {
        self.runs.clear();
        let (mut row, mut at) = (0, 0);
        for Stretch { rows, bytes } in stay {
            if let Some(&first) = self.rows.get(rows.start) {
                self.run(first.time, first.rank, row, at);
            }
            self.rows.copy_within(rows.clone(), row);
            self.bytes.copy_within(bytes.clone(), at);
            row += rows.len();
            at += bytes.len();
        }
        self.rows.truncate(row);
        self.bytes.truncate(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leave(waiting: &mut Waiting, all: bool) -> String {
        let mut out = Vec::new();
        waiting.leave(all, &mut |piece| out.extend_from_slice(piece));
        String::from_utf8(out).unwrap()
    }

    fn push(waiting: &mut Waiting, time: i64, rank: Rank, message: &str) {
        waiting.push(time, rank, |out| out.extend_from_slice(message.as_bytes()));
    }

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
            push(&mut waiting, time, rank, message);
        }
        assert!(!waiting.is_full());
        assert_eq!(waiting.latest(), 30);
        assert_eq!(leave(&mut waiting, false), "_ab");
        push(&mut waiting, 25, Rank::Happens, "d");
        assert_eq!(leave(&mut waiting, true), "zydc");
        for _ in 0..8 {
            push(&mut waiting, 0, Rank::Ends, "e");
        }
        assert!(waiting.is_full());
        assert_eq!(leave(&mut waiting, false), "eeeeeeee");
    }

    proptest::proptest! {
        /// Leaving is what sorting everything by time and rank gives, halves at a time.
        #[test]
        fn merging_runs_is_sorting(
            rows in proptest::collection::vec((0..6_i64, 0..5_u8, 1..4_usize, 0..9_u8), 0..60),
        ) {
            let mut waiting = Waiting::default();
            let mut sorted: Vec<(i64, Rank, String)> = Vec::new();
            let (mut left, mut expected) = (String::new(), String::new());
            for (number, (time, rank, len, then)) in rows.into_iter().enumerate() {
                let rank = match rank {
                    0 => Rank::Defines,
                    1 => Rank::Ends,
                    _ => Rank::Happens,
                };
                let message = format!("<{number}{}", ">".repeat(len));
                push(&mut waiting, time, rank, &message);
                sorted.push((time, rank, message));
                if then > 0 {
                    continue;
                }
                left += &leave(&mut waiting, false);
                sorted.sort_by_key(|row| (row.0, row.1));
                let half = sorted.iter().map(|row| row.2.len()).sum::<usize>() / 2;
                let (mut gone, mut kept) = (0, Vec::new());
                for row in std::mem::take(&mut sorted) {
                    if gone < half && row.1 != Rank::Ends {
                        gone += row.2.len();
                        expected += &row.2;
                    } else {
                        kept.push(row);
                    }
                }
                let stay: usize = kept.iter().map(|row| row.2.len()).sum();
                if stay > half + half / 2 {
                    kept.drain(..).for_each(|row| expected += &row.2);
                }
                sorted = kept;
            }
            left += &leave(&mut waiting, true);
            sorted.sort_by_key(|row| (row.0, row.1));
            sorted.iter().for_each(|row| expected += &row.2);
            proptest::prop_assert_eq!(left, expected);
        }
    }
}
