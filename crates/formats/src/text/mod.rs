//! Text: lines, JSON, numbers, dates, and what text formats share.

pub(crate) mod calendar;
pub(crate) mod dumps;
mod field;
pub(crate) mod gc_log;
pub mod json;
pub(crate) mod label;
pub(crate) mod line_records;
pub(crate) mod lines;
pub(crate) mod scalars;
