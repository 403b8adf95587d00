//! The list of calls: which ones, in which order, with which columns.

mod cell;
mod list;
mod sums;
mod table;
mod uses;

pub use crate::column::Column;
pub use cell::Cell;
pub use list::{CallCounts, CallList, ListedCalls};
pub use sums::{CallSum, CallSums};
pub use table::{Call, CallQuery, CallState, CallTable, Calls};
pub use uses::Uses;

#[cfg(test)]
mod tests;
