//! The list of calls: which ones, in which order, with which columns.

mod after;
mod cell;
mod list;
mod overview;
mod sums;
mod table;
mod uses;

pub use crate::column::Column;
pub use after::CallsAfter;
pub use cell::Cell;
pub use list::{CallCounts, CallList, ListedCalls};
pub use overview::{CallsOverview, OverviewCell};
pub use sums::{CallSum, CallSums};
pub use table::{Call, CallQuery, CallState, CallTable, Calls, Sender};
pub use uses::Uses;

use traceloom_model::{Asks, Wants};

/// Returns what a sink asks for that takes calls and only counts samples.
fn of_calls(wants: Wants) -> Asks {
    Asks {
        wants,
        sampled_events: false,
        timeless_stacks: false,
        labels: false,
        ..Asks::default()
    }
}

#[cfg(test)]
mod tests;
