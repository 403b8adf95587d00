//! What each tenant may take of what all share: room for bodies that are being received, and bytes over time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

/// The part of all room that one tenant may take, so that a flood of one leaves room for others.
const SHARE: usize = 4;

/// Tenants by the names that tokens have for them, of which an operator makes a few; senders without a token are one.
#[derive(Debug)]
pub(crate) struct Tenants {
    known: Mutex<HashMap<String, Arc<Tenant>>>,
    /// KiB of room of each.
    room_kib: usize,
    /// Bytes a minute of each; unlimited without.
    quota: Option<u64>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Tenant {
    /// Room, in KiB.
    pub(crate) room: Arc<Semaphore>,
    /// What it may send now.
    budget: Option<Mutex<Refill>>,
}

/// Bytes that come back over time.
#[derive(Debug)]
struct Refill {
    /// Bytes a minute, and at most.
    most: f64,
    left: f64,
    at: Instant,
}

impl Tenants {
    pub(crate) fn new(all_room_kib: usize, quota: Option<u64>) -> Self {
        Self {
            known: Mutex::default(),
            room_kib: all_room_kib / SHARE,
            quota,
        }
    }

    pub(crate) fn find(&self, name: &str) -> Arc<Tenant> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(name) {
            return found.clone();
        }
        let budget = self.quota.map(|quota| {
            #[expect(clippy::cast_precision_loss, reason = "a quota is no exact science")]
            let most = quota as f64;
            Mutex::new(Refill {
                most,
                left: most,
                at: Instant::now(),
            })
        });
        let tenant = Arc::new(Tenant {
            room: Arc::new(Semaphore::new(self.room_kib)),
            budget,
        });
        known.insert(name.to_owned(), tenant.clone());
        tenant
    }
}

impl Tenant {
    /// Takes bytes from what the tenant may send.
    ///
    /// # Errors
    /// The time after which it may send so many.
    pub(crate) fn take(&self, n_bytes: usize, now: Instant) -> Result<(), Duration> {
        let Some(budget) = &self.budget else {
            return Ok(());
        };
        let mut budget = budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.take(n_bytes, now)
    }
}

impl Refill {
    fn take(&mut self, n_bytes: usize, now: Instant) -> Result<(), Duration> {
        let a_second = self.most / 60.0;
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * a_second).min(self.most);
        self.at = now;
        #[expect(clippy::cast_precision_loss, reason = "a body has 32 MiB at most")]
        let n_bytes = n_bytes as f64;
        // What is larger than a whole minute's takes that, and those after it wait longer.
        let missing = n_bytes.min(self.most) - self.left;
        if missing > 0.0 {
            return Err(Duration::from_secs_f64(missing / a_second));
        }
        self.left -= n_bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_over_a_minute() {
        let start = Instant::now();
        let after = |seconds: u64| start + Duration::from_secs(seconds);
        let mut budget = Refill {
            most: 600.0,
            left: 600.0,
            at: start,
        };
        assert_eq!(budget.take(500, start), Ok(()));
        assert_eq!(budget.take(200, start), Err(Duration::from_secs(10)));
        assert_eq!(budget.take(200, after(10)), Ok(()));
        assert_eq!(budget.take(600, after(70)), Ok(()));
        // Larger than a minute's: it takes all, and what comes then waits for more than a minute.
        assert_eq!(budget.take(1200, after(130)), Ok(()));
        assert_eq!(budget.take(60, after(130)), Err(Duration::from_secs(66)));
    }

    #[test]
    fn a_tenant_has_a_part_of_the_room_and_no_quota_unless_asked_for() {
        let tenants = Tenants::new(400, None);
        let tenant = tenants.find("a");
        assert_eq!(tenant.room.available_permits(), 100);
        assert!(Arc::ptr_eq(&tenant, &tenants.find("a")));
        assert!(!Arc::ptr_eq(&tenant, &tenants.find("b")));
        assert_eq!(tenant.take(usize::MAX, Instant::now()), Ok(()));
    }
}
