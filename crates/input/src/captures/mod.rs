//! The data folder of a collector: its log, and the captures in it.
//!
//! [`DataFolder`] is the folder, [`Event`] what the collector itself writes to the log, and [`Captures`] what senders
//! sent, put together by the protocols' own rules from manifests, chunks and the log, while the collector runs as well
//! as afterwards. [`CaptureBuilder`] is what puts one together, for readers and for whoever seals. `CAPTURES.md` of this
//! crate has the bytes of manifests and chunks.

mod builder;
mod bytes;
pub mod call_index;
mod chosen;
mod chunk;
mod event;
mod facts;
mod folder;
mod index_file;
mod manifest;
mod manifests;
pub mod posts;
pub mod profile_index;
mod read;
mod summary;
#[cfg(test)]
mod tests;
pub mod upload;

pub use builder::{CaptureBuilder, SealDraft, UnsealedPart};
pub use bytes::CapturedBytes;
pub use chosen::{ChosenCaptures, beginning_name};
pub use chunk::{CHUNK_BYTES, ChunkEncoder, ChunkRef, ContentHash};
pub use event::{EVENTS, Event, SealReason};
pub use facts::{CaptureFacts, FactsCatalog, FactsRow, NoteCounts};
pub use folder::{CaptureDisks, DEFAULT, DataFolder, Lock, ReaderLease};
pub use manifest::{ContextEntry, Manifest, ManifestPart, SessionEnd};
pub use manifests::Manifests;
pub use read::{Capture, CaptureId, CapturePart, Captures, State};
pub use summary::{CaptureSummary, HeldCaptures};
