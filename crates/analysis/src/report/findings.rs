//! What a report says besides trees: plain rows of text and numbers, so that those of several inputs add up.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::errors::Error;
use crate::Sketch;
use traceloom_model::Timestamp;

/// Rows of a table that are kept; a page for people is no archive.
pub(super) const MOST: usize = 10_000;

/// What was found in recordings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Calls read.
    pub read: u64,
    /// Calls selected.
    pub selected: u64,
    /// Selected calls that failed.
    pub failed: u64,
    /// Spans of the selected calls, the calls among them.
    pub spans: u64,
    /// Samples read.
    pub samples: u64,
    /// Events read.
    pub events: u64,
    /// The first and the last time of anything.
    pub extent: Option<(Timestamp, Timestamp)>,
    /// The slowest of the selected calls, the slowest first.
    pub calls: Vec<SlowCall>,
    /// Selected calls by duration: how many took up to each of [`STEPS`], and longer.
    pub durations: [u64; STEPS.len() + 1],
    /// How long the selected calls took whose end was recorded.
    pub took: Sketch,
    /// Pauses of the process, the longest first.
    pub pauses: Vec<Pause>,
    /// All pauses: how many, and the nanoseconds in which at least one of them was.
    pub paused: (u64, u64),
    /// Errors by what they say, numbers aside.
    pub errors: BTreeMap<String, ErrorGroup>,
    /// Statements by shape.
    pub statements: BTreeMap<String, StatementGroup>,
    /// Threads and other tracks by name.
    pub threads: BTreeMap<String, Thread>,
    /// Errors, shapes and threads beyond the most that are kept.
    pub beyond: u64,
}

/// Durations that calls are counted by, in nanoseconds.
pub const STEPS: [u64; 11] = [
    1_000_000,
    3_000_000,
    10_000_000,
    30_000_000,
    100_000_000,
    300_000_000,
    1_000_000_000,
    3_000_000_000,
    10_000_000_000,
    30_000_000_000,
    100_000_000_000,
];

/// A call that took long.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowCall {
    /// What `traceloom call` finds it by, and the input it is in.
    pub id: (String, String),
    /// When it began.
    pub start: Timestamp,
    /// Nanoseconds.
    pub duration: u64,
    /// Title, else method.
    pub title: String,
    /// Full name of the method.
    pub method: String,
    /// Name of its track.
    pub thread: String,
    /// It failed.
    pub failed: bool,
    /// Its other columns: counters and parameters.
    pub details: Vec<(String, String)>,
}

/// One pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it began.
    pub start: Timestamp,
    /// Nanoseconds.
    pub duration: u64,
    /// Its kind, and what its event says.
    pub what: String,
}

/// Errors that say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorGroup {
    /// One of them, word by word.
    pub example: Error,
    /// How many there are.
    pub count: u64,
    /// When the first one was.
    pub first: Timestamp,
    /// When the last one was.
    pub last: Timestamp,
}

/// Statements of one shape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementGroup {
    /// How many there are.
    pub count: u64,
    /// Nanoseconds of the spans that ran them, together.
    pub total: u64,
    /// Of the longest one.
    pub longest: u64,
    /// Spans that failed.
    pub failed: u64,
}

/// What ran on a thread or another track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    /// Selected calls.
    pub calls: u64,
    /// Their nanoseconds.
    pub busy: u64,
    /// Samples.
    pub samples: u64,
}

impl Findings {
    /// Adds what was found in another recording; of calls and pauses `most` are kept.
    pub fn add(&mut self, other: Self, most: usize) {
        self.read += other.read;
        self.selected += other.selected;
        self.failed += other.failed;
        self.spans += other.spans;
        self.samples += other.samples;
        self.events += other.events;
        self.beyond += other.beyond;
        self.paused.0 += other.paused.0;
        self.paused.1 += other.paused.1;
        if let Some((start, end)) = other.extent {
            self.seen(start, end);
        }
        self.took.merge(&other.took);
        for (sum, more) in self.durations.iter_mut().zip(other.durations) {
            *sum += more;
        }
        if !other.calls.is_empty() {
            self.calls.extend(other.calls);
            self.calls.sort_by_key(|call| Reverse(call.duration));
            self.calls.truncate(most);
        }
        if !other.pauses.is_empty() {
            self.pauses.extend(other.pauses);
            self.pauses.sort_by_key(|pause| Reverse(pause.duration));
            self.pauses.truncate(most);
        }
        for (key, group) in other.errors {
            self.error(key, group);
        }
        for (shape, group) in other.statements {
            self.statement(&shape, &group);
        }
        for (name, thread) in other.threads {
            self.thread(name, thread);
        }
        self.cut();
    }

    /// Keeps the busiest threads, the statements that took longest, and the most frequent errors.
    pub(super) fn cut(&mut self) {
        let threads = beyond(&mut self.threads, |one| (one.busy, one.samples, one.calls));
        self.beyond += threads.count() as u64;
        self.cut_statements();
        self.cut_errors();
    }

    fn cut_statements(&mut self) {
        let rest = beyond(&mut self.statements, |group| (group.total, group.count));
        self.beyond += rest.map(|group| group.count).sum::<u64>();
    }

    fn cut_errors(&mut self) {
        let rest = beyond(&mut self.errors, |group| group.count);
        self.beyond += rest.map(|group| group.count).sum::<u64>();
    }

    /// Notes that something was from `start` to `end`.
    pub(super) fn seen(&mut self, start: Timestamp, end: Timestamp) {
        let (first, last) = self.extent.unwrap_or((start, end));
        self.extent = Some((first.min(start), last.max(end)));
    }

    /// Adds errors of one key.
    pub(super) fn error(&mut self, key: String, group: ErrorGroup) {
        let (count, times) = (group.count, (group.first, group.last));
        self.errors_like(key, count, times, || group.example);
    }

    /// Adds so many errors of one key, of which `example` makes one if it is the first of its kind.
    pub(super) fn errors_like(
        &mut self,
        key: String,
        count: u64,
        (first, last): (Timestamp, Timestamp),
        example: impl FnOnce() -> Error,
    ) {
        if self.errors.len() >= 2 * MOST {
            self.cut_errors();
        }
        match self.errors.get_mut(&key) {
            Some(sum) => {
                sum.count += count;
                sum.first = sum.first.min(first);
                sum.last = sum.last.max(last);
            }
            None => {
                let example = example();
                let group = ErrorGroup {
                    example,
                    count,
                    first,
                    last,
                };
                self.errors.insert(key, group);
            }
        }
    }

    /// Adds statements of one shape.
    pub(super) fn statement(&mut self, shape: &str, group: &StatementGroup) {
        if self.statements.len() >= 2 * MOST {
            self.cut_statements();
        }
        match self.statements.get_mut(shape) {
            Some(sum) => {
                sum.count += group.count;
                sum.total = sum.total.saturating_add(group.total);
                sum.longest = sum.longest.max(group.longest);
                sum.failed += group.failed;
            }
            None => {
                self.statements.insert(shape.to_owned(), group.clone());
            }
        }
    }

    /// Adds what ran on tracks of one name.
    pub(super) fn thread(&mut self, name: String, thread: Thread) {
        match self.threads.get_mut(&name) {
            Some(sum) => {
                sum.calls += thread.calls;
                sum.busy = sum.busy.saturating_add(thread.busy);
                sum.samples += thread.samples;
            }
            None => {
                self.threads.insert(name, thread);
            }
        }
    }
}

/// Keeps the largest rows of a table, and returns those beyond the most.
fn beyond<R, K: Ord>(
    rows: &mut BTreeMap<String, R>,
    size: impl Fn(&R) -> K,
) -> impl Iterator<Item = R> {
    let mut rest = Vec::new();
    if rows.len() > MOST {
        let mut all: Vec<(String, R)> = std::mem::take(rows).into_iter().collect();
        all.sort_by_key(|(_, row)| Reverse(size(row)));
        rest = all.split_off(MOST);
        rows.extend(all);
    }
    rest.into_iter().map(|(_, row)| row)
}
