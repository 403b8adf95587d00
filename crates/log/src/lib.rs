//! An append-only log in numbered, checksummed segments.
//!
//! A *record* is a few bytes that belong to a stream of a session. Records are committed in *groups*: a
//! group is written with one append and one `fdatasync`, and is durable when [`Log::commit`] returns. Its
//! checksum is the commit marker: a group whose checksum holds was written whole.
//!
//! - [`Log`] is the single writer: it recovers a folder, commits groups, and deletes segments that nobody
//!   needs any more.
//! - [`Queue`] puts a thread in front of it. A group is what arrived while the previous group was synced;
//!   there is no timer.
//! - [`Reader`] reads committed groups of a [`Snapshot`], also while the log is written.
//! - [`disk::Disk`] is the file system as the log sees it. [`disk::Local`] is a folder; the simulations use
//!   one that forgets what was not synced.
//!
//! What is promised, and what the folder looks like, is in `FORMAT.md` of this crate.
//!
//! ```
//! use std::sync::Arc;
//! use traceloom_log::{Log, Options, Record, disk::Local};
//!
//! let folder = tempfile::tempdir()?;
//! let disk = Arc::new(Local::new(folder.path())?);
//! let (mut log, recovered) = Log::open(disk, Options::default())?;
//! assert_eq!(recovered.end.0, 0);
//! log.commit(&[Record { session: 7, stream: 1, kind: 2, bytes: b"unit" }])?;
//!
//! let mut reader = log.snapshot().reader();
//! while let Some(group) = reader.next_group()? {
//!     for record in group.records() {
//!         assert_eq!((record.session, record.bytes), (7, &b"unit"[..]));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Absent on purpose: async, timers, formats, compression, and any meaning of a record's `kind`.

pub mod disk;
mod error;
mod frame;
mod log;
mod position;
mod queue;
mod read;
mod recover;
mod segment;

pub use error::{Error, ErrorKind};
pub use frame::{FORMAT_VERSION, Record};
pub use log::{Log, Options};
pub use position::Position;
pub use queue::{Queue, Refused};
pub use read::{Group, ReadPlace, Reader, Snapshot};
pub use recover::{Recovered, TornTail};
