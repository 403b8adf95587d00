//! Contention by object: which monitors threads waited for, how long, who held them, and where.
//!
//! What a producer calls it does not matter: TPTP's paired monitor messages, the JDK's
//! `jdk.JavaMonitorEnter`, `jdk.JavaMonitorWait` and `jdk.ThreadPark`, and the locks that thread dumps
//! name become one table. A thread that was notified may have to wait for the monitor again before its wait
//! is over: that time is contention, and no part of the wait.

mod collect;
mod kind;
mod row;

pub use collect::{MonitorOptions, MonitorTable};
pub use kind::WaitKind;
pub use row::{Monitor, Monitors, Share, Waits};

#[cfg(test)]
mod tests;
