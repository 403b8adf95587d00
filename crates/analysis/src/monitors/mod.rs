//! Contention by object: which monitors threads waited for, how long, who held them, and where.
//!
//! What a producer calls it does not matter: TPTP's paired monitor messages, the JDK's
//! `jdk.JavaMonitorEnter`, `jdk.JavaMonitorWait` and `jdk.ThreadPark`, and the locks that thread dumps
//! name become one table.

mod collect;
mod kind;
mod row;

pub use collect::{MonitorOptions, MonitorTable};
pub use kind::WaitKind;
pub use row::{Monitor, Monitors, Share, Waits};

#[cfg(test)]
mod tests;
