//! Writers for programs that trace.
//!
//! A traced program links this crate and nothing below it: there are no dependencies by default. [`heph`] writes spans with typed
//! attributes to a file, a TCP connection or datagrams, in the format that `traceloom serve --heph` receives and every
//! command reads. A [`Recorder`] writes calls as [`cdt`], [`tptp`], [`chrome`] or [`perfetto`] have them. [`zorka`] makes call
//! trees as Zorka's agents post them, for an HTTP client of the program.
//!
//! ```
//! use traceloom_emit::heph::{Options, Sink, Tracer};
//!
//! let folder = tempfile::tempdir()?;
//! let tracer = Tracer::start(Sink::file(folder.path().join("shop.heph"))?, Options::default())?;
//! let stream = tracer.stream();
//! {
//!     let mut span = stream.span("GET /orders");
//!     span.set("status", 200_u64);
//!     span.set("user", "ana");
//! }
//! let report = tracer.close();
//! assert_eq!((report.written, report.dropped), (1, 0));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! With the feature `tracing` there are `TracingLayer` and `RecorderLayer`, layers for `tracing-subscriber`.
//!
//! Absent on purpose: reading, sampling, global state, async.

mod bounds;
mod calls;
pub mod cdt;
pub mod chrome;
mod clock;
mod engine;
pub mod heph;
#[cfg(feature = "tracing")]
mod layer;
pub mod perfetto;
pub mod tptp;
mod value;
pub mod zorka;

pub use calls::{CallGuard, PauseRecorder, Recorder, ThreadRecorder, TraceOutput};
pub use engine::{DROPPED, Options, Report};
#[cfg(feature = "tracing")]
pub use layer::{RecorderLayer, TracingLayer};
pub use value::Value;
