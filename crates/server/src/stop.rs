use std::sync::Arc;

use tokio::sync::watch;

/// Asks a running collector to end: connections finish what they have, then it returns.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Asks once; more often changes nothing.
    pub fn now(&self) {
        self.0.send_replace(true);
    }

    /// Returns `true` once somebody asked.
    pub(crate) fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}
