//! Flows: their numbers, and those told behind slices that begin later.
//!
//! Chromium writes slices by their begin and then all flows, so that only the time of a flow says which slice it is of. The
//! survey keeps those of threads that are in order without them; a slice need not wait for what comes behind it.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{Limits, Timestamp};

use super::event::{EventId, EventKey, TraceEvent};
use crate::spans::slices::Flows;
use crate::text::json::Token;

/// The numbers of flows, by what tells them apart.
#[derive(Debug, Default)]
pub(super) struct FlowNumbers {
    numbers: HashMap<Box<[u8]>, u64, RandomState>,
    /// Kept for its memory.
    word: Vec<u8>,
}

impl FlowNumbers {
    /// Returns the number of the flow that an event is of.
    pub(super) fn of(&mut self, event: TraceEvent<'_>, limits: &Limits) -> u64 {
        let mut word = std::mem::take(&mut self.word);
        word.clear();
        for key in [EventKey::Category, EventKey::Name] {
            let part = event.get(key).map(Token::word).unwrap_or_default();
            word.extend_from_slice(&part);
            word.push(0);
        }
        word.extend_from_slice(&EventId::of(event, limits).word);
        let number = self.named(&word);
        self.word = word;
        number
    }

    /// Returns the number of a flow, the next one where its word is new.
    pub(super) fn named(&mut self, word: &[u8]) -> u64 {
        if let Some(&known) = self.numbers.get(word) {
            return known;
        }
        let next = self.numbers.len() as u64;
        self.numbers.insert(word.into(), next);
        next
    }
}

/// What a flow event says of the slice that it is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FlowStep {
    /// The flow begins or goes on at the slice that is open.
    On,
    /// It ends there.
    Ending,
    /// It ends at the next slice of the thread.
    Arriving,
}

impl FlowStep {
    pub(super) fn of(event: TraceEvent<'_>) -> Self {
        if event.phase() != b'f' {
            return Self::On;
        }
        let binding = event.get(EventKey::BindingPoint).and_then(Token::bytes);
        match binding.is_some_and(|binding| *binding == *b"e") {
            true => Self::Ending,
            false => Self::Arriving,
        }
    }

    /// Returns a flow that takes this step at a slice.
    pub(super) fn flows(self, id: Option<u64>) -> Flows {
        let mut flows = Flows::default();
        match self {
            Self::On => flows.on.extend(id),
            Self::Ending | Self::Arriving => flows.ending.extend(id),
        }
        flows
    }
}

/// A flow event that is told behind a slice of its thread that begins later.
#[derive(Clone, Copy, Debug)]
pub(super) struct LateFlow {
    /// As the trace writes it, in nanoseconds.
    pub(super) time: i64,
    pub(super) flow: u64,
    pub(super) step: FlowStep,
}

/// The late flows of a thread as the walk over its slices comes to them.
#[derive(Debug)]
pub(super) struct LateFlows {
    rows: std::vec::IntoIter<LateFlow>,
    base_ns: i64,
    /// The time of what came last.
    reached: Timestamp,
}

impl LateFlows {
    pub(super) fn new(rows: Vec<LateFlow>, base_ns: i64) -> Self {
        Self {
            rows: rows.into_iter(),
            base_ns,
            reached: Timestamp::MIN,
        }
    }

    /// Returns true if a flow event that comes now is among the late ones.
    pub(super) fn holds(&self, time: Timestamp) -> bool {
        time < self.reached
    }

    /// Goes on to a time.
    pub(super) fn reach(&mut self, time: Timestamp) {
        self.reached = time;
    }

    /// Takes the next one that lies before a time.
    pub(super) fn next_before(&mut self, until: Timestamp) -> Option<(Timestamp, LateFlow)> {
        let next = self.rows.as_slice().first()?;
        let time = next.time.saturating_add(self.base_ns);
        let next = (time < until).then_some(*next)?;
        self.rows.next();
        Some((time, next))
    }
}
