//! When captures are sealed, and when retention deletes them.

use std::collections::HashMap;
use std::time::Duration;

use traceloom_input::captures::{
    CaptureFacts, CaptureId, ContentHash, Event, FactsCatalog, FactsRow, Manifest, SealReason,
};
use traceloom_model::bounds::saturated_i64;

use super::{Audited, SealLog, Sealer};
use crate::Error;

/// When to seal, and what to keep.
#[derive(Clone, Debug)]
pub struct SealRules {
    /// Bytes of a capture that are sealed while it goes on.
    pub piece_bytes: u64,
    /// Time after which a capture that goes on is sealed.
    pub age: Duration,
    /// Bytes of the log; beyond, the captures with the oldest records are sealed.
    pub log_bytes: u64,
    /// Compression level of chunks. It changes no name.
    pub level: i32,
    /// Time after its receipt that a capture is kept; for ever without.
    pub keep: Option<Duration>,
    /// Which captures are kept for longer than that.
    pub keep_slow: Option<SlowRule>,
    /// Bytes that chunks of all captures may take; the oldest captures go first.
    pub keep_bytes: Option<u64>,
    /// The clock is right, however far it is from the time that passed.
    pub trusts_clock: bool,
}

/// Captures with slow or failed calls, and how long they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowRule {
    /// A call that takes as long is slow; only failed calls count without.
    pub slow: Option<Duration>,
    /// Time after its receipt that such a capture is kept.
    pub keep: Duration,
}

impl SlowRule {
    /// Returns `true` if a capture is kept for longer, so far as it is known: one that is not decoded yet, or cannot be, may have
    /// slow calls.
    fn holds(&self, facts: Option<&CaptureFacts>) -> bool {
        let is_slow = |facts: &CaptureFacts| {
            let longest = Duration::from_nanos(facts.longest_ns);
            facts.n_errors > 0
                || self
                    .slow
                    .is_some_and(|slow| facts.n_calls > 0 && longest >= slow)
        };
        facts.is_none_or(is_slow)
    }
}

impl Default for SealRules {
    fn default() -> Self {
        Self {
            piece_bytes: 16 << 20,
            age: Duration::from_secs(300),
            log_bytes: 512 << 20,
            level: 1,
            keep: None,
            keep_slow: None,
            keep_bytes: None,
            trusts_clock: false,
        }
    }
}

impl SealRules {
    /// Returns the bytes of a segment: the log shrinks by whole ones.
    pub(crate) fn segment_bytes(&self) -> u64 {
        (self.log_bytes / 8).clamp(64 << 10, 64 << 20)
    }
}

/// Time between two looks at what retention may take.
const RETENTION_EVERY: i64 = 10_000_000_000;

/// What retention knows of captures.
#[derive(Default)]
pub(super) struct RetentionClock {
    next_ns: i64,
    rows: HashMap<CaptureId, RetentionRow>,
}

#[derive(Clone, Copy)]
struct RetentionRow {
    revision: u64,
    manifest: ContentHash,
    opened_ns: i64,
    received_ns: i64,
    n_stored: u64,
    pinned: bool,
    closed: bool,
    incarnation: u64,
}

impl RetentionRow {
    fn of(manifest: &Manifest, hash: ContentHash) -> Self {
        let closed = manifest.closed.as_ref();
        Self {
            revision: manifest.revision,
            manifest: hash,
            opened_ns: manifest.opened_ns,
            received_ns: closed.map_or(manifest.sealed_ns, |closed| closed.at_ns),
            n_stored: manifest
                .chunks()
                .map(|chunk| u64::from(chunk.n_stored))
                .sum(),
            pinned: manifest.pinned,
            closed: closed.is_some(),
            incarnation: manifest.incarnation,
        }
    }
}

/// Repairs times of receipt that a wrong clock gave. Captures are numbered in the order in which they began: one that seems older than one
/// before it is as old as that, and one of the future is as old as the next one that is not, or new.
fn repair(rows: &mut [(CaptureId, RetentionRow)], now_ns: i64) {
    rows.sort_by_key(|(id, _)| *id);
    let mut newest = i64::MIN;
    for (_, row) in &mut *rows {
        if row.opened_ns <= now_ns {
            newest = newest.max(row.opened_ns);
        }
        row.received_ns = row.received_ns.max(newest);
    }
    let mut next = now_ns;
    for (_, row) in rows.iter_mut().rev() {
        if row.received_ns > now_ns {
            row.received_ns = next;
        } else {
            next = row.received_ns;
        }
    }
}

fn nanoseconds(time: Duration) -> i64 {
    saturated_i64(time.as_nanos())
}

impl Sealer {
    /// Returns the decisions to seal that are due.
    pub(super) fn due(&self, log: &dyn SealLog, at_ns: i64) -> Vec<(CaptureId, Event)> {
        let snapshot = log.snapshot();
        let segments: Vec<_> = snapshot.segments().collect();
        let mut n_bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
        let mut needed = None;
        if n_bytes > self.rules.log_bytes {
            for segment in &segments {
                if n_bytes > self.rules.log_bytes / 2 {
                    n_bytes -= segment.bytes;
                    needed = Some(segment.end);
                }
            }
        }
        let mut due = Vec::new();
        for (id, tracked) in &self.sessions {
            let builder = &tracked.builder;
            let Some(first) = builder.first_unsealed().filter(|_| builder.can_seal()) else {
                continue;
            };
            let is_over = !builder.may_go_on(self.incarnation);
            let since = tracked.since_ns.unwrap_or(at_ns);
            // A clock that was set back would have it wait for years.
            let age_ns = at_ns.checked_sub(since).filter(|age| *age >= 0);
            let is_old = age_ns.is_none_or(|age| age >= nanoseconds(self.rules.age));
            let why = if is_over {
                SealReason::End
            } else if builder.n_unsealed() >= self.rules.piece_bytes {
                SealReason::Size
            } else if needed.is_some_and(|needed| first < needed) {
                SealReason::Log
            } else if is_old {
                SealReason::Age
            } else {
                continue;
            };
            due.push((*id, Event::Seal { at_ns, why }));
        }
        due
    }

    /// Returns what decoding captures showed, where a rule goes by that. A capture that nothing is known of may have slow calls.
    fn facts(&mut self) -> HashMap<CaptureId, FactsRow> {
        let (Some(folder), Some(_)) = (&self.folder, self.rules.keep_slow) else {
            return HashMap::new();
        };
        FactsCatalog::read(folder).unwrap_or_else(|error| {
            self.events
                .push(format!("retention knows of no slow calls: {error}"));
            HashMap::new()
        })
    }

    /// Returns the deletions that retention decides.
    pub(super) fn expired(&mut self, at_ns: i64) -> Result<Vec<(CaptureId, Event)>, Error> {
        let (keep, keep_bytes) = (self.rules.keep, self.rules.keep_bytes);
        let now_ns = self.believed_ns.unwrap_or(at_ns);
        let waits =
            now_ns < self.retention.next_ns && now_ns >= self.retention.next_ns - RETENTION_EVERY;
        if (keep.is_none() && keep_bytes.is_none()) || waits {
            return Ok(Vec::new());
        }
        self.retention.next_ns = now_ns.saturating_add(RETENTION_EVERY);
        let rows = &mut self.retention.rows;
        rows.retain(|id, _| self.revisions.contains_key(id));
        for (&id, &revision) in &self.revisions {
            if rows.get(&id).is_none_or(|row| row.revision != revision) {
                match self.disks.manifests.read_hashed(id, revision) {
                    Ok((manifest, hash)) => {
                        rows.insert(id, RetentionRow::of(&manifest, hash));
                    }
                    Err(error) => self
                        .events
                        .push(format!("retention leaves it alone: {error}")),
                }
            }
        }
        let facts = self.facts();
        let rows = &self.retention.rows;
        let mut total: u64 = rows.values().map(|row| row.n_stored).sum();
        let mut oldest: Vec<_> = rows.iter().map(|(id, row)| (*id, *row)).collect();
        repair(&mut oldest, now_ns);
        oldest.sort_by_key(|(id, row)| (row.received_ns, *id));
        let mut expired = Vec::new();
        for (id, row) in oldest {
            let running = self.incarnation;
            let tracked = self.sessions.get(&id);
            // A session that goes on again may not be sealed since.
            let goes_on = tracked.is_some_and(|tracked| tracked.builder.may_go_on(running));
            let is_over = (row.closed || row.incarnation != running) && !goes_on;
            let age_ns = now_ns.saturating_sub(row.received_ns);
            let known = facts
                .get(&id)
                .filter(|facts| facts.manifest == row.manifest);
            let known = known.and_then(|facts| facts.facts.as_ref());
            let slow = self.rules.keep_slow.filter(|slow| slow.holds(known));
            let (keep, rule) = match (keep, slow) {
                (Some(keep), Some(slow)) if slow.keep > keep => (Some(slow.keep), "keep-slow-days"),
                (keep, _) => (keep, "keep-days"),
            };
            let is_old = keep.is_some_and(|keep| age_ns > nanoseconds(keep));
            let is_surplus = keep_bytes.is_some_and(|most| total > most);
            let is_free = is_over && !row.pinned && !self.deleted.contains_key(&id);
            if is_free && (is_old || is_surplus) {
                total -= row.n_stored;
                self.audited.push(Audited {
                    what: "delete",
                    capture: id,
                    rule: Some(if is_old { rule } else { "keep-mib" }),
                    outcome: "done".to_owned(),
                });
                expired.push((
                    id,
                    Event::Deleted {
                        at_ns,
                        asked: false,
                    },
                ));
            }
        }
        Ok(expired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(opened_ns: i64, received_ns: i64) -> RetentionRow {
        RetentionRow {
            revision: 1,
            manifest: ContentHash::of(b""),
            opened_ns,
            received_ns,
            n_stored: 1,
            pinned: false,
            closed: true,
            incarnation: 1,
        }
    }

    #[test]
    fn a_capture_with_slow_or_failed_calls_is_kept_for_longer() {
        let keep = Duration::from_secs(9);
        let slow = SlowRule {
            slow: Some(Duration::from_secs(1)),
            keep,
        };
        let failed = SlowRule { slow: None, keep };
        let facts = |n_calls, n_errors, longest_ns| CaptureFacts {
            n_calls,
            n_errors,
            longest_ns,
            ..CaptureFacts::default()
        };
        for (known, by_slow, by_failed) in [
            (None, true, true),
            (Some(facts(0, 0, 0)), false, false),
            (Some(facts(3, 0, 999_999_999)), false, false),
            (Some(facts(3, 0, 1_000_000_000)), true, false),
            (Some(facts(3, 1, 5)), true, true),
        ] {
            assert_eq!(slow.holds(known.as_ref()), by_slow, "{known:?}");
            assert_eq!(failed.holds(known.as_ref()), by_failed, "{known:?}");
        }
    }

    #[test]
    fn times_of_a_wrong_clock_are_repaired_by_the_order_of_captures() {
        const NOW: i64 = 1000;
        // In order, ten years behind, in order, ten years ahead, in order, ahead.
        let given = [
            row(100, 150),
            row(-9000, -8000),
            row(300, 310),
            row(9000, 9100),
            row(500, 505),
            row(9900, 9950),
        ];
        let rows = (1..).zip(given);
        let mut rows: Vec<_> = rows
            .map(|(number, row)| (CaptureId::new(1, number), row))
            .collect();
        rows.reverse();
        repair(&mut rows, NOW);
        let repaired: Vec<i64> = rows.iter().map(|(_, row)| row.received_ns).collect();
        assert_eq!(repaired, [150, 100, 310, 505, 505, NOW]);
    }
}
