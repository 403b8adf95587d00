//! Sessions of agents that the collector knows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use traceloom_formats::zorka::AgentSymbols;
use traceloom_input::captures::CaptureId;

/// Sessions that are known at a time.
const MOST_SESSIONS: usize = 4096;
/// Bytes that the definitions of all sessions may take.
const MOST_OF_ALL: usize = 256 << 20;

/// The sessions of agents.
#[derive(Default)]
pub(crate) struct Agents {
    /// By tenant and name.
    known: Mutex<HashMap<SessionKey, KnownSession>>,
    /// Sessions that agents asked for, by their names.
    opened: Mutex<HashMap<String, OpenedSession>>,
}

pub(super) type SessionKey = (String, String);

struct KnownSession {
    session: Arc<tokio::sync::Mutex<Session>>,
    used: Instant,
    /// Bytes of its definitions.
    n_bytes: usize,
}

/// A session that an agent asked for. Its name is random, so that who knows it may send for it.
struct OpenedSession {
    /// The tenant of the token that it was opened with; empty without one.
    tenant: String,
    used: Instant,
}

/// What is known of a session.
#[derive(Default)]
pub(super) struct Session {
    pub(super) symbols: AgentSymbols,
    /// The capture that has its definitions, and when it began, in Unix nanoseconds, which tells this beginning from others.
    pub(super) kept: Option<(CaptureId, i64)>,
}

impl Agents {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionKey, KnownSession>> {
        // A session that is forgotten begins anew.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, key: &SessionKey) -> Option<Arc<tokio::sync::Mutex<Session>>> {
        let mut known = self.lock();
        let found = known.get_mut(key)?;
        found.used = Instant::now();
        Some(found.session.clone())
    }

    pub(super) fn find_or_begin(&self, key: &SessionKey) -> Arc<tokio::sync::Mutex<Session>> {
        let mut known = self.lock();
        let found = known.entry(key.clone()).or_insert_with(|| KnownSession {
            session: Arc::default(),
            used: Instant::now(),
            n_bytes: 0,
        });
        found.used = Instant::now();
        let session = found.session.clone();
        shrink(&mut known);
        session
    }

    /// Notes how much a session takes, and forgets those that were not used for longest where all take too much.
    pub(super) fn measure(&self, key: &SessionKey, n_bytes: usize) {
        let mut known = self.lock();
        if let Some(found) = known.get_mut(key) {
            found.n_bytes = n_bytes;
        }
        shrink(&mut known);
    }

    pub(super) fn forget(&self, key: &SessionKey) {
        self.lock().remove(key);
    }

    /// Opens a session of this name for a tenant.
    pub(super) fn open(&self, session: String, tenant: String) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let used = Instant::now();
        opened.insert(session, OpenedSession { tenant, used });
        if opened.len() > MOST_SESSIONS {
            let oldest = opened.iter().min_by_key(|(_, session)| session.used);
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                opened.remove(&oldest);
            }
        }
    }

    /// Returns the tenant that opened a session; `None` for one that nobody opened.
    pub(super) fn opened(&self, session: &str) -> Option<String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let found = opened.get_mut(session)?;
        found.used = Instant::now();
        Some(found.tenant.clone())
    }
}

/// Forgets sessions that were not used for longest, where there are too many or all take too much.
fn shrink(known: &mut HashMap<SessionKey, KnownSession>) {
    let mut total: usize = known.values().map(|session| session.n_bytes).sum();
    while known.len() > MOST_SESSIONS || total > MOST_OF_ALL {
        let oldest = known.iter().min_by_key(|(_, session)| session.used);
        let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
            return;
        };
        total -= known.remove(&oldest).map_or(0, |session| session.n_bytes);
    }
}
