//! Objects by class: how many were allocated, live and were freed, how old they grew, and what changed
//! from one garbage collection to the next.
//!
//! Three kinds of producers become one table: those that report every allocation and release (TPTP),
//! those that sample allocations and survivors (JFR and what is derived from it), and those that count
//! the heap by class at a collection (`jdk.ObjectCountAfterGC`). [`Source`] says which it was.

mod alive;
mod census;
mod collect;
mod collections;
mod row;
mod tracked;

pub use collect::{ObjectOptions, ObjectTable};
pub use row::{Ages, Amount, Change, ClassRow, Collection, Objects, Referrer, Source};

#[cfg(test)]
mod tests;
