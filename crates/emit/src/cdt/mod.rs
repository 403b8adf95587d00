//! Calls as the streams of CDT's agents: into a dump folder or to a collector.
//!
//! The trace has the beginnings and ends of all calls and their attributes, calls has a row for each outermost one, and the
//! dictionary numbers names. Suspend has what [`PauseRecorder`](crate::PauseRecorder) records. Sql has the values of
//! attributes that the program names, each once. A name may be a method as Java's agents spell them,
//! `void shop.Orders.list() (orders.rs:12) [shop]`, or anything else.
//!
//! # Units and limits
//!
//! Times are cut to milliseconds since 1970. Values are texts; one of a list is a tag of its own. 65,536 names are told apart, those
//! beyond are called `(other names)`; of a longer name the first 5,000 bytes are kept. [`Report::cut`](crate::Report::cut) counts
//! the calls that this changes.

mod block;
mod conversation;
mod drain;
mod folder;
mod link;
mod link_stream;
mod params;
mod pauses;
mod primitives;
mod row;
mod streams;
mod values;

pub use folder::DumpFolder;
pub use link::CollectorLink;
