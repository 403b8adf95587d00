use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a collector did since it started.
#[derive(Debug, Default)]
pub struct Counts {
    /// What became of TLS files that changed.
    pub tls: Arc<TlsCounts>,
    listeners: Mutex<BTreeMap<&'static str, Arc<ListenerCounts>>>,
    /// What sealing did, and what is before it.
    pub sealing: SealCounts,
    /// What became of profiles whose points are sent on.
    pub forwarding: ForwardCounts,
    /// What became of sealed captures whose facts go into the catalog.
    pub facts: FactsCounts,
}

/// Sealed captures that are decoded for the catalog.
#[derive(Debug, Default)]
pub struct FactsCounts {
    /// Revisions that came into the queue.
    pub queued: Counter,
    /// Revisions that left it.
    pub taken: Counter,
    /// Captures that were decoded.
    pub decoded: Counter,
    /// Captures that no process decoded within its limits.
    pub undecodable: Counter,
}

impl FactsCounts {
    /// Returns the number of revisions in the queue.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.queued.get().saturating_sub(self.taken.get())
    }
}

/// Profiles whose points are sent on to a database.
#[derive(Debug, Default)]
pub struct ForwardCounts {
    /// Profiles that came into the queue.
    pub queued: Counter,
    /// Profiles that left it.
    pub taken: Counter,
    /// Profiles whose points the database took.
    pub forwarded: Counter,
    /// Profiles whose points it did not get, by a word for why.
    pub lost: CountsByReason,
}

impl ForwardCounts {
    /// Returns the number of profiles in the queue, and of those whose points are being sent.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.queued.get().saturating_sub(self.taken.get())
    }
}

/// Sealing after its last step.
#[derive(Debug, Default)]
pub struct SealCounts {
    /// Bytes of data in the log that are not sealed.
    pub unsealed_bytes: AtomicU64,
    /// When the oldest of them was seen, in Unix nanoseconds; 0 where there are none.
    pub oldest_unsealed_ns: AtomicI64,
    /// Bytes of data that were sealed.
    pub sealed_bytes: AtomicU64,
    /// Bytes of chunks that were written for them.
    pub chunk_bytes: AtomicU64,
    /// The clock is not where the time that passed has it.
    pub clock_is_wrong: AtomicBool,
}

/// What one listener did.
#[derive(Debug, Default)]
pub struct ListenerCounts {
    /// Connections that were taken.
    pub sessions: Counter,
    /// Units received.
    pub received: Counter,
    /// Bytes received.
    pub received_bytes: Counter,
    /// Units of which the session, or the reader of the post, knew what they are.
    pub decoded: Counter,
    /// How far the clocks of senders are from this machine's.
    pub clock: ClockOffset,
    /// Units acknowledged.
    pub acknowledged: Counter,
    /// Units safe in the log, of protocols without acknowledgements.
    pub stored: Counter,
    /// Connections and requests refused, by a word for why.
    pub refused: CountsByReason,
    /// Connections that ended, by a word for why.
    pub ended: CountsByReason,
    /// Units that came again and were not stored again.
    pub suppressed: Counter,
    /// Units that came after later ones, and were counted as lost.
    pub late: Counter,
    /// Datagrams that the system had no room for, and units that the sender's counters miss.
    pub lost: CountsByReason,
}

/// Reading TLS files again.
#[derive(Debug, Default)]
pub struct TlsCounts {
    /// Times that new keys came into use.
    pub reloads: Counter,
    /// Times that the files could not be used.
    pub failures: Counter,
    stale: AtomicBool,
}

impl TlsCounts {
    pub(crate) fn reloaded(&self) {
        self.reloads.add(1);
        self.stale.store(false, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.failures.add(1);
        self.stale.store(true, Ordering::Relaxed);
    }

    /// Returns `true` while older keys are in use because the files cannot be.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }
}

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Returns the count.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The offset of the sender's clock that is farthest away. What was told in the last hour counts, and in some part of the hour
/// before: a long connection of CDT tells its time once an hour.
#[derive(Debug, Default)]
pub struct ClockOffset(Mutex<[HourOffset; 2]>);

#[derive(Debug, Default, Clone, Copy)]
struct HourOffset {
    /// Number of the hour since 1970.
    hour: i64,
    farthest_ms: Option<i64>,
}

impl ClockOffset {
    /// Learns what a sender's clock said at a moment, both in Unix milliseconds.
    pub(crate) fn told(&self, sender_ms: i64, now_ms: i64) {
        let hour = now_ms.div_euclid(3_600_000);
        let mut hours = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hours[0].hour != hour {
            let farthest_ms = None;
            *hours = [HourOffset { hour, farthest_ms }, hours[0]];
        }
        let offset_ms = sender_ms.saturating_sub(now_ms);
        let farthest = hours[0].farthest_ms.get_or_insert(offset_ms);
        if offset_ms.unsigned_abs() > farthest.unsigned_abs() {
            *farthest = offset_ms;
        }
    }

    /// Returns the farthest offset in milliseconds, positive where the sender's clock is ahead; `None` if no sender told its time.
    #[must_use]
    pub fn farthest_ms(&self, now_ms: i64) -> Option<i64> {
        let hour = now_ms.div_euclid(3_600_000);
        let hours = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = hours
            .iter()
            .filter(|one| (hour - 1..=hour).contains(&one.hour));
        let offsets = recent.filter_map(|one| one.farthest_ms);
        offsets.max_by_key(|offset| offset.unsigned_abs())
    }
}

/// Counts by words from a closed list.
#[derive(Debug, Default)]
pub struct CountsByReason(Mutex<BTreeMap<&'static str, u64>>);

impl CountsByReason {
    pub(crate) fn add(&self, reason: &'static str) {
        self.add_many(reason, 1);
    }

    pub(crate) fn add_many(&self, reason: &'static str, n: u64) {
        if n > 0 {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *counts.entry(reason).or_default() += n;
        }
    }

    /// Returns the counts.
    #[must_use]
    pub fn get(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.clone()
    }
}

impl Counts {
    /// Returns what the listener of a name did.
    #[must_use]
    pub fn listener(&self, name: &'static str) -> Arc<ListenerCounts> {
        let mut listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.entry(name).or_default().clone()
    }

    /// Returns what every listener did, by its name.
    #[must_use]
    pub fn listeners(&self) -> BTreeMap<&'static str, Arc<ListenerCounts>> {
        let listeners = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        listeners.clone()
    }

    /// Returns how many connections ended for each reason.
    #[must_use]
    pub fn endings(&self) -> BTreeMap<&'static str, u64> {
        let mut endings = BTreeMap::new();
        for listener in self.listeners().values() {
            for (reason, n) in listener.ended.get() {
                *endings.entry(reason).or_default() += n;
            }
        }
        endings
    }

    /// Returns the counts as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let listeners = self.listeners();
        let sum = |of: &dyn Fn(&ListenerCounts) -> u64| -> u64 {
            listeners.values().map(|listener| of(listener)).sum()
        };
        let things = |n: u64, one: &str, many: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{n} {many}"),
        };
        let stored = match sum(&|one| one.stored.get()) {
            0 => String::new(),
            stored => format!(", {stored} stored without acknowledgement"),
        };
        format!(
            "{}, {} received, {} acknowledged{stored}, {} refused",
            things(sum(&|one| one.sessions.get()), "connection", "connections"),
            things(sum(&|one| one.received.get()), "unit", "units"),
            sum(&|one| one.acknowledged.get()),
            sum(&|one| one.refused.get().values().sum()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farthest_clock_of_the_last_hours_is_told() {
        const HOUR: i64 = 3_600_000;
        let offset = ClockOffset::default();
        assert_eq!(offset.farthest_ms(0), None);
        let now = 1000 * HOUR;
        for sender_ms in [now + 5, now - 900, now + 300] {
            offset.told(sender_ms, now);
        }
        assert_eq!(offset.farthest_ms(now), Some(-900));
        offset.told(now + HOUR + 7, now + HOUR);
        assert_eq!(offset.farthest_ms(now + HOUR), Some(-900));
        assert_eq!(offset.farthest_ms(now + 2 * HOUR), Some(7));
        assert_eq!(offset.farthest_ms(now + 3 * HOUR), None);
        offset.told(i64::MIN, now + 3 * HOUR);
        assert_eq!(offset.farthest_ms(now + 3 * HOUR), Some(i64::MIN));
    }
}
