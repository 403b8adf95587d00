//! What a thread does while it waits.

/// The ways to wait for an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum WaitKind {
    /// Blocked at the entrance: another thread holds the monitor.
    Contended,
    /// Waiting inside to be notified.
    Waited,
    /// Parked by a lock of `java.util.concurrent`.
    Parked,
}

impl WaitKind {
    /// Every kind, in the order of the columns.
    pub const ALL: [Self; 3] = [Self::Contended, Self::Waited, Self::Parked];

    /// Returns its word in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Contended => "contended",
            Self::Waited => "waited",
            Self::Parked => "parked",
        }
    }

    /// Returns the kind that events of this name are.
    pub(crate) fn of_event(name: &str) -> Option<Self> {
        Some(match name.strip_prefix("com.oracle.").unwrap_or(name) {
            "monitor_contention"
            | "mon_contended_enter"
            | "mon_contended_entered"
            | "jdk.JavaMonitorEnter"
            | "profiler.NativeLock" => Self::Contended,
            "monitor_wait" | "mon_wait" | "mon_waited" | "jdk.JavaMonitorWait" => Self::Waited,
            "jdk.ThreadPark" => Self::Parked,
            _ => return None,
        })
    }

    /// Returns the kind that a thread state of a dump means, as the JVM words it.
    pub(super) fn of_state(state: &str) -> Self {
        if state.contains("BLOCKED") || state.contains("waiting for monitor entry") {
            Self::Contended
        } else if state.contains("parking") {
            Self::Parked
        } else {
            Self::Waited
        }
    }
}
