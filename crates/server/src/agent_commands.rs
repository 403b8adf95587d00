//! Commands to agents whose connection is open.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};
use traceloom_formats::protocol::CommandRefusal;
use traceloom_input::captures::CaptureId;

/// Orders to one connection that it has not looked at.
const WAITING: usize = 4;

/// A command for the agent of a connection.
pub(crate) struct AgentOrder {
    pub(crate) id: [u8; 16],
    pub(crate) word: &'static str,
    pub(crate) answer: oneshot::Sender<Result<(), CommandRefusal>>,
}

/// The connections that are open, by their captures.
#[derive(Default)]
pub(crate) struct LiveAgents(Mutex<HashMap<CaptureId, mpsc::Sender<AgentOrder>>>);

/// Receives the orders of a connection while it is open.
pub(crate) struct Orders {
    pub(crate) receiver: mpsc::Receiver<AgentOrder>,
    id: CaptureId,
    agents: Arc<LiveAgents>,
}

impl Drop for Orders {
    fn drop(&mut self) {
        self.agents.lock().remove(&self.id);
    }
}

/// Why a command was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// No agent of this capture is connected.
    NotConnected,
    /// The session does not take it.
    Refused(CommandRefusal),
    /// The system has no random bytes.
    NoId,
}

impl LiveAgents {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<CaptureId, mpsc::Sender<AgentOrder>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns that the connection of a capture is open.
    pub(crate) fn connected(self: &Arc<Self>, id: CaptureId) -> Orders {
        let (sender, receiver) = mpsc::channel(WAITING);
        self.lock().insert(id, sender);
        Orders {
            receiver,
            id,
            agents: self.clone(),
        }
    }

    /// Has a command sent to the agent of a capture with its next acknowledgement, and returns the command's id.
    pub(crate) async fn send(
        &self,
        capture: CaptureId,
        word: &'static str,
    ) -> Result<[u8; 16], NotSent> {
        let orders = self.lock().get(&capture).cloned();
        let orders = orders.ok_or(NotSent::NotConnected)?;
        let mut id = [0; 16];
        getrandom::fill(&mut id).map_err(|_| NotSent::NoId)?;
        // A UUID of version 4.
        id[6] = id[6] & 0x0f | 0x40;
        id[8] = id[8] & 0x3f | 0x80;
        let (answer, answered) = oneshot::channel();
        let order = AgentOrder { id, word, answer };
        orders.try_send(order).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => NotSent::Refused(CommandRefusal::TooMany),
            mpsc::error::TrySendError::Closed(_) => NotSent::NotConnected,
        })?;
        match answered.await {
            Ok(Ok(())) => Ok(id),
            Ok(Err(refusal)) => Err(NotSent::Refused(refusal)),
            Err(_) => Err(NotSent::NotConnected),
        }
    }
}

/// Returns a UUID as text.
#[must_use]
pub fn uuid(id: [u8; 16]) -> String {
    let mut text = String::new();
    for (at, byte) in id.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
