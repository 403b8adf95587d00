//! Which actor an event belongs to, where its writer left the substream out (SPEC.md §6.12).
//!
//! Since December 2024 the runtime writes substream 0 for everything. An event is written while its actor
//! is being run, so its end lies inside exactly one `Running … process` event: of the same stream, or for
//! stream 0, which all workers share, of any worker that ran a thread-safe process then.

use std::collections::VecDeque;

use super::record::{Event, Value};

/// Most intervals kept of one worker while events wait for them.
const MOST: usize = 1 << 20;

/// Returns true if an event of this description is an actor being run.
pub(super) fn is_running(description: &[u8]) -> bool {
    // Compared as wholes: a pattern would compare byte by byte.
    match description.len() {
        28 => description == b"Running thread-local process",
        27 => description == b"Running thread-safe process",
        _ => false,
    }
}

/// Returns true if the runtime writes events of this description about itself (SPEC.md §3).
pub(super) fn is_runtime(description: &[u8]) -> bool {
    const OTHERS: [&[u8]; 13] = [
        b"Building runtime",
        b"Setting up the coordinator",
        b"Spawning worker threads",
        b"Initialised the worker thread",
        b"Initialising the worker thread",
        b"Running user function",
        b"Polling for OS events",
        b"Joining worker",
        b"Joining sync worker",
        b"Checking process signals",
        b"Checking (sync) workers",
        b"Processing communication message",
        b"Processing communication message(s)",
    ];
    match description.first() {
        Some(b'S') if description.starts_with(b"Scheduling ") => {
            description.starts_with(b"Scheduling processes")
                || description.starts_with(b"Scheduling thread-")
        }
        Some(b'R') if description.starts_with(b"Relaying process signal") => true,
        Some(b'B' | b'S' | b'I' | b'R' | b'P' | b'J' | b'C') => OTHERS.contains(&description),
        _ => false,
    }
}

/// One run of an actor.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActorRun {
    start: u64,
    pub end: u64,
    pub actor: u64,
}

/// The runs of one worker, in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct Runs {
    all: VecDeque<ActorRun>,
    /// Those of thread-safe processes alone.
    shared: VecDeque<ActorRun>,
    /// Runs before these lie in blocks already settled.
    settled: (usize, usize),
    /// Where the last look ended: events come by their ends, so that the next one is near.
    cursor: (usize, usize),
}

/// Returns the actor's id and name in the attributes of its run.
pub(super) fn actor<'a>(event: &Event<'a>) -> (Option<u64>, Option<&'a [u8]>) {
    let mut found = (None, None);
    for attribute in event.attributes {
        match (attribute.name, attribute.value) {
            (b"id", Value::U64(id)) => found.0 = Some(id),
            (b"name", Value::Text(name)) => found.1 = Some(name),
            _ => {}
        }
    }
    found
}

impl Runs {
    /// Adds a run.
    pub fn push(&mut self, event: &Event<'_>, actor: u64) {
        let Event { start, end, .. } = *event;
        let run = ActorRun { start, end, actor };
        if event.description == b"Running thread-safe process" {
            add(&mut self.shared, run, &mut self.settled.1);
        }
        add(&mut self.all, run, &mut self.settled.0);
    }

    /// Returns the run under way at `time`.
    pub fn at(&mut self, time: u64) -> Option<ActorRun> {
        covering(&self.all, &mut self.cursor.0, time)
    }

    /// Returns the run of a thread-safe actor under way at `time`.
    pub fn shared_at(&mut self, time: u64) -> Option<ActorRun> {
        covering(&self.shared, &mut self.cursor.1, time)
    }

    /// Forgets the runs before the last call of this that end before `needed`.
    pub fn settle(&mut self, needed: u64) {
        let settle = |runs: &mut VecDeque<ActorRun>, settled: &mut usize| {
            let over = runs
                .iter()
                .take(*settled)
                .take_while(|run| run.end < needed)
                .count();
            runs.drain(..over);
            *settled = runs.len();
        };
        settle(&mut self.all, &mut self.settled.0);
        settle(&mut self.shared, &mut self.settled.1);
    }
}

fn add(runs: &mut VecDeque<ActorRun>, run: ActorRun, settled: &mut usize) {
    // Ends rise within a worker; one that does not would hide its elders from the binary search.
    while runs.back().is_some_and(|last| last.end > run.end) {
        runs.pop_back();
    }
    if runs.len() >= MOST {
        runs.pop_front();
    }
    *settled = (*settled).min(runs.len());
    runs.push_back(run);
}

fn covering(runs: &VecDeque<ActorRun>, cursor: &mut usize, time: u64) -> Option<ActorRun> {
    const STEPS: usize = 8;
    let is_over = |at: usize| runs.get(at).is_some_and(|run| run.end < time);
    let mut at = *cursor;
    let after_others = at == 0 || is_over(at - 1);
    for _ in 0..STEPS {
        if !is_over(at) {
            break;
        }
        at += 1;
    }
    if !after_others || is_over(at) {
        at = runs.partition_point(|run| run.end < time);
    }
    *cursor = at;
    runs.get(at).copied().filter(|run| run.start <= time)
}
