use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a collector did since it started.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections that became sessions.
    pub sessions: AtomicU64,
    /// Units received.
    pub received: AtomicU64,
    /// Units acknowledged.
    pub acknowledged: AtomicU64,
    /// Units safe in the log, of protocols without acknowledgements.
    pub stored: AtomicU64,
    /// Connections refused because there were too many.
    pub refused: AtomicU64,
    /// Sessions that ended, by a word for why.
    ended: Mutex<BTreeMap<&'static str, u64>>,
}

impl Counts {
    pub(crate) fn add(counter: &AtomicU64, n: u64) {
        counter.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self, reason: &'static str) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended.entry(reason).or_default() += 1;
    }

    /// Returns how many sessions ended for each reason.
    #[must_use]
    pub fn endings(&self) -> BTreeMap<&'static str, u64> {
        self.ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the counts as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let stored = match of(&self.stored) {
            0 => String::new(),
            stored => format!(", {stored} stored without acknowledgement"),
        };
        format!(
            "{} sessions, {} units received, {} acknowledged{stored}, {} connections refused",
            of(&self.sessions),
            of(&self.received),
            of(&self.acknowledged),
            of(&self.refused)
        )
    }
}
