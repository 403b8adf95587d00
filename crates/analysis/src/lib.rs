//! Views over the model: what ran, for how long, called by whom.
//!
//! A reader lowers its data into one of the sinks here ([`TreeBuilder`], [`calls::CallTable`]…); what comes out
//! is a plain value that a command prints or a renderer draws. [`CallTree`] is the middle of it: `top`,
//! `tree` and the flame graph are passes over one tree, so their totals cannot differ.
//!
//! Deliberately absent: files, clocks, threads, terminals. Rows come out, strings for people are made by
//! the program that prints them.
//!
//! ```
//! use traceloom_analysis::{TreeBuilder, TreeOptions, top};
//! use traceloom_model::{Function, Sink, StepBatch, Tables, Track};
//!
//! let mut tables = Tables::new();
//! let buy = tables.string("com.acme.Shop.buy");
//! let buy = tables.function(Function::named(buy));
//! let main = tables.string("main");
//! let mut steps = StepBatch::default();
//! steps.track(tables.track(Track::thread(main)));
//! steps.enter(100, buy);
//! steps.exit(350);
//!
//! let mut builder = TreeBuilder::new(TreeOptions::default());
//! let _ = builder.define(tables.take_definitions());
//! let _ = builder.steps(steps);
//! let tree = builder.finish().spans.unwrap();
//! let rows = top(&tree);
//! assert_eq!(tree.symbol(rows[0].symbol).name, "com.acme.Shop.buy");
//! assert_eq!((rows[0].own, rows[0].total, rows[0].count), (250, 250, 1));
//! ```

#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)]
#![cfg_attr(
    test,
    expect(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a test fails by panicking"
    )
)]

mod adjust;
pub mod calls;
mod calltree;
mod colour;
mod column;
pub mod diff;
pub mod distributed;
pub mod exceptions;
pub mod filter;
mod finding;
pub mod flame;
pub mod hotspots;
pub mod loss;
#[cfg(test)]
mod made;
mod measure;
mod merge_stack;
pub mod monitors;
pub mod names;
pub mod objects;
mod page;
mod pauses;
pub mod query;
pub mod report;
mod sandwich;
pub mod shape;
mod sketch;
pub mod stage;
mod symbol;
pub mod text;
pub mod timeline;
mod tree;

pub use adjust::{AdjustError, Adjustment, FoundAdjustment, adjust};
pub use calltree::{
    CallTree, Dimension, Durations, FrameFilter, Functions, GroupBy, GroupTop, NoGroup, Node,
    NodeStretch, OverTime, OverTimeCollector, Predicate, Shown, SymbolTable, TopRow, TreeBuilder,
    TreeOptions, Trees, TreesSum, choose_tracks, top, top_of_groups,
};
pub use finding::finding;
pub use measure::{AsyncCalls, Measure, MeasureUnit, Tracks, TreeSource, amount, grouped, minutes};
pub use merge_stack::MergeStack;
pub use page::{escaped, mailed};
pub use pauses::{Pauses, is_pause};
pub use sandwich::{DirectCalls, Direction, Edge, callees_of, callers_of, direct_calls, usages_of};
pub use sketch::Sketch;
pub use symbol::{Symbol, SymbolId, symbol_of_function};
pub use tree::{Visible, bottom_up, keep_largest, visible};
