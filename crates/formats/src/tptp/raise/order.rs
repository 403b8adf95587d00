//! Messages in the order of their times.
//!
//! The model tells of events before calls, and of a call when it ends; a trace tells of everything when it
//! happened. What is written waits here until a limit of bytes is reached, and leaves in order, the older half
//! of it at a time: a trace of any size is in order but for calls that are longer than what fits.
//!
//! A call is in order itself. What waits is therefore kept as runs, each in order, and leaves by merging them:
//! sorting the messages one by one would look at each of them a dozen times. The entries and exits that nearly
//! all of a trace consists of wait as the few numbers they are made of, a quarter of what they take when written.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

use traceloom_model::TrackId;
use traceloom_model::bounds::{in_memory, saturated_u64};

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

/// What an entry or exit is made of besides its time and its track, where its method is known by its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Brief {
    /// 0 for none.
    pub method: u32,
    pub ticket: u32,
    /// 0 for an exit.
    pub depth: u32,
}

/// A message that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OrderedMessage<'b> {
    /// One or several, as they are written.
    Written(&'b [u8]),
    /// One that is still to be written, of a track and a time.
    Brief(TrackId, i64, Brief),
}

/// One message that waits; what is written follows the bytes of the message before.
#[derive(Clone, Copy, Debug)]
struct PendingMessage {
    time: i64,
    what: MessageForm,
}

#[derive(Clone, Copy, Debug)]
enum MessageForm {
    /// How many bytes it has.
    Written(Rank, usize),
    Brief(Brief),
}

impl PendingMessage {
    #[inline]
    const fn rank(&self) -> Rank {
        match self.what {
            MessageForm::Written(rank, _) => rank,
            MessageForm::Brief(_) => Rank::Happens,
        }
    }

    /// Returns how many of the bytes that wait are its own.
    #[inline]
    const fn held(&self) -> usize {
        match self.what {
            MessageForm::Written(_, len) => len,
            MessageForm::Brief(_) => 0,
        }
    }
}

/// Messages side by side.
#[derive(Clone, Debug)]
struct MessageRange {
    rows: Range<usize>,
    bytes: Range<usize>,
    track: TrackId,
}

/// Where messages begin that are in order, those among them that are still to be written of one track.
#[derive(Clone, Copy, Debug)]
struct SortedRun {
    row: usize,
    at: usize,
    track: TrackId,
}

/// Messages that wait.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    bytes: Vec<u8>,
    rows: Vec<PendingMessage>,
    runs: Vec<SortedRun>,
    /// How many bytes they take when written.
    len: usize,
    /// How many of them an entry and an exit take.
    lens: [usize; 2],
    most: Option<usize>,
}

/// Time and rank of the first message of a run, and which run it is: what has one time stays as it came. They are
/// one number, because numbers are compared at once.
type Head = u128;

/// Which bits of it say the run.
const RUN: Head = (1 << 62) - 1;

#[inline]
fn head(time: i64, rank: Rank, run: usize) -> Head {
    let time = time.cast_unsigned() ^ 1 << 63;
    u128::from(time) << 64 | (rank as u128) << 62 | run as u128
}

/// Returns the time of a head.
#[inline]
fn time(head: Head) -> i64 {
    let time = saturated_u64(head >> 64);
    (time ^ 1 << 63).cast_signed()
}

impl MessageQueue {
    /// None, of which entries and exits take this many bytes.
    pub fn new(lens: [usize; 2]) -> Self {
        Self {
            lens,
            ..Self::default()
        }
    }

    /// Takes a message that happened at `time`: the bytes that `write` appends.
    #[inline]
    pub fn push(&mut self, time: i64, rank: Rank, write: impl FnOnce(&mut Vec<u8>)) {
        let (row, at) = (self.rows.len(), self.bytes.len());
        write(&mut self.bytes);
        let len = self.bytes.len() - at;
        let track = self.runs.last().map_or(TrackId::new(0), |run| run.track);
        self.run((time, rank), SortedRun { row, at, track });
        self.len += len;
        let what = MessageForm::Written(rank, len);
        self.rows.push(PendingMessage { time, what });
    }

    /// Takes an entry or exit that happened on a track at `time`.
    #[inline]
    pub fn push_brief(&mut self, track: TrackId, time: i64, brief: Brief) {
        let (row, at) = (self.rows.len(), self.bytes.len());
        self.run((time, Rank::Happens), SortedRun { row, at, track });
        self.len += self.brief_len(&brief);
        let what = MessageForm::Brief(brief);
        self.rows.push(PendingMessage { time, what });
    }

    #[inline]
    const fn brief_len(&self, brief: &Brief) -> usize {
        let [entry, exit] = self.lens;
        if brief.depth == 0 { exit } else { entry }
    }

    /// Begins a run where a message comes before the one it stands behind, or is of another track.
    #[inline]
    fn run(&mut self, own: (i64, Rank), run: SortedRun) {
        let follows = |last: &PendingMessage| (last.time, last.rank()) <= own;
        if self.rows.get(run.row.wrapping_sub(1)).is_some_and(follows)
            && self.runs.last().is_some_and(|last| last.track == run.track)
        {
            return;
        }
        self.runs.push(run);
    }

    /// Returns true if some must leave.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len >= self.most.unwrap_or(MOST)
    }

    /// Returns the latest time of what waits, ends left aside.
    pub fn latest(&self) -> i64 {
        let others = self.rows.iter().filter(|row| row.rank() != Rank::Ends);
        others.map(|row| row.time).max().unwrap_or(i64::MIN)
    }

    /// Hands over the older half of the bytes, but no ends; all of it when `all` is set.
    pub fn leave(&mut self, all: bool, out: &mut impl FnMut(OrderedMessage<'_>)) {
        let half = self.len / 2;
        let (gone, stay) = self.hand_over(if all { usize::MAX } else { half }, all, out);
        self.close_ranks(&stay);
        self.len -= gone;
        // Where ends fill it, they leave too: looking through them each time would take quadratic time.
        if !all && self.len > half + half / 2 {
            self.leave(true, out);
        }
    }

    /// Merges the runs until `most` bytes have left; returns how many did and what stays as it lies.
    fn hand_over(
        &self,
        most: usize,
        ends: bool,
        out: &mut impl FnMut(OrderedMessage<'_>),
    ) -> (usize, Vec<MessageRange>) {
        let mut runs = self.stretches();
        let mut first: Vec<Head> = Vec::with_capacity(runs.len());
        for (at, run) in runs.iter().enumerate() {
            let row = self.rows.get(run.rows.start);
            first.extend(row.map(|row| head(row.time, row.rank(), at)));
        }
        first.sort_unstable();
        let mut first = first.into_iter().peekable();
        let mut heads: BinaryHeap<Reverse<Head>> = BinaryHeap::new();
        let mut passed = Vec::new();
        let mut gone = 0;
        // What lies in one piece leaves in one piece.
        let mut piece = 0..0;
        let hand_out = |piece: Range<usize>, out: &mut dyn FnMut(OrderedMessage<'_>)| {
            out(OrderedMessage::Written(
                self.bytes.get(piece).unwrap_or_default(),
            ));
        };
        while gone < most {
            // The second of a heap is one of the two below its top.
            let of = |at: usize| heads.as_slice().get(at).map_or(Head::MAX, |head| head.0);
            let (oldest, left, right) = (of(0), of(1), of(2));
            let next = first.peek().copied().unwrap_or(Head::MAX);
            if next < oldest {
                first.next();
                heads.push(Reverse(next));
                continue;
            }
            let second = left.min(right).min(next);
            let second_time = time(second);
            let at = in_memory(oldest & RUN);
            let Some(run) = runs.get_mut(at) else { break };
            let mut rows = self.rows.get(run.rows.clone()).unwrap_or_default().iter();
            let mut next = rows.next();
            while let Some(row) = next {
                let is_next = row.time < second_time || head(row.time, row.rank(), at) < second;
                if gone >= most || !is_next {
                    break;
                }
                let bytes = run.bytes.start..run.bytes.start + row.held();
                run.bytes.start = bytes.end;
                let track = run.track;
                match row.what {
                    MessageForm::Written(rank, _) if !ends && rank == Rank::Ends => {
                        let rows = run.rows.start..run.rows.start + 1;
                        passed.push(MessageRange { rows, bytes, track });
                    }
                    MessageForm::Written(_, len) => {
                        gone += len;
                        if piece.end != bytes.start {
                            hand_out(std::mem::replace(&mut piece, bytes.start..bytes.start), out);
                        }
                        piece.end = bytes.end;
                    }
                    MessageForm::Brief(brief) => {
                        gone += self.brief_len(&brief);
                        if !piece.is_empty() {
                            hand_out(std::mem::take(&mut piece), out);
                        }
                        out(OrderedMessage::Brief(track, row.time, brief));
                    }
                }
                run.rows.start += 1;
                next = rows.next();
            }
            if let Some(mut oldest) = heads.peek_mut() {
                match next {
                    Some(row) => *oldest = Reverse(head(row.time, row.rank(), at)),
                    None => drop(PeekMut::pop(oldest)),
                }
            }
        }
        hand_out(piece, out);
        runs.retain(|run| !run.rows.is_empty());
        runs.append(&mut passed);
        runs.sort_unstable_by_key(|stretch| stretch.rows.start);
        (gone, runs)
    }

    fn stretches(&self) -> Vec<MessageRange> {
        let ends = self.runs.iter().skip(1).map(|run| (run.row, run.at));
        let ends = ends.chain([(self.rows.len(), self.bytes.len())]);
        let runs = self.runs.iter().zip(ends);
        runs.map(|(run, (end, end_at))| MessageRange {
            rows: run.row..end,
            bytes: run.at..end_at,
            track: run.track,
        })
        .collect()
    }

    /// Moves what stays to the front.
    fn close_ranks(&mut self, stay: &[MessageRange]) {
        self.runs.clear();
        let (mut row, mut at) = (0, 0);
        for &MessageRange {
            ref rows,
            ref bytes,
            track,
        } in stay
        {
            if let Some(&first) = self.rows.get(rows.start) {
                self.run((first.time, first.rank()), SortedRun { row, at, track });
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

    fn leave(waiting: &mut MessageQueue, all: bool) -> String {
        let mut out = Vec::new();
        waiting.leave(all, &mut |message| match message {
            OrderedMessage::Written(piece) => out.extend_from_slice(piece),
            OrderedMessage::Brief(track, time, brief) => {
                assert_eq!(track.raw(), brief.method);
                let text = format!("<{}@{time}!", brief.ticket);
                out.extend(text.bytes());
            }
        });
        String::from_utf8(out).unwrap()
    }

    fn push(waiting: &mut MessageQueue, time: i64, rank: Rank, message: &str) {
        waiting.push(time, rank, |out| out.extend_from_slice(message.as_bytes()));
    }

    #[test]
    fn the_older_half_leaves_and_ends_wait() {
        let mut waiting = MessageQueue {
            most: Some(8),
            ..MessageQueue::default()
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
            let mut waiting = MessageQueue::new([6, 6]);
            let mut sorted: Vec<(i64, Rank, String)> = Vec::new();
            let (mut left, mut expected) = (String::new(), String::new());
            for (number, (time, rank, len, then)) in rows.into_iter().enumerate() {
                let rank = match rank {
                    0 => Rank::Defines,
                    1 => Rank::Ends,
                    _ => Rank::Happens,
                };
                let mut message = format!("<{number}{}", ">".repeat(len));
                if rank == Rank::Happens && number % 3 == 0 {
                    message = format!("<{:2}@{time}!", number + 10);
                    let track = u32::from(len == 2);
                    let brief = Brief {
                        method: track,
                        ticket: u32::try_from(number + 10).unwrap(),
                        depth: u32::from(number % 2 == 0),
                    };
                    waiting.push_brief(TrackId::new(track), time, brief);
                } else {
                    push(&mut waiting, time, rank, &message);
                }
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
