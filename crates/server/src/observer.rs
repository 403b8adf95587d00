//! What sessions and requests tell the log and the audit log.

use std::sync::Arc;

use crate::audit::{Actor, Audit, AuditLine};
use crate::log_events::{EventLog, Level, LogEvent};

/// Where sessions and requests leave what happened. None of them waits.
#[derive(Clone)]
pub(crate) struct Observer {
    pub(crate) log: EventLog,
    pub(crate) audit: Arc<Audit>,
}

impl Observer {
    /// Learns that a session or a request was refused; `on` is what was asked for.
    pub(crate) fn refused(&self, who: Actor, on: &str, reason: &str) {
        self.log.say(Level::Debug, || {
            LogEvent::new(Level::Debug, "refused")
                .with("peer", who.peer.clone().unwrap_or_default())
                .with("on", on)
                .with("reason", reason)
        });
        self.audit.note(AuditLine::refused(who, on, reason));
    }

    /// Learns what became of something that an operator asked for.
    pub(crate) fn asked(&self, who: Actor, what: &'static str, on: &str, outcome: &str) {
        self.log.say(Level::Info, || {
            LogEvent::new(Level::Info, what)
                .with("peer", who.peer.clone().unwrap_or_default())
                .with("on", on)
                .with("outcome", outcome)
        });
        self.audit.note(AuditLine::new(who, what, on, outcome));
    }

    /// Tells the log of a connection.
    pub(crate) fn connection(&self, text: &'static str, fields: &[(&'static str, String)]) {
        self.log.say(Level::Debug, || {
            let event = LogEvent::new(Level::Debug, text);
            let fields = fields.iter().cloned();
            fields.fold(event, |event, (name, value)| event.with(name, value))
        });
    }
}
