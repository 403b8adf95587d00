//! Codecs for profiler and trace formats.
//!
//! Each format is a folder: `record.rs` mirrors its specification field by field, `read.rs` and
//! `write.rs` move between bytes and records, `lower.rs` and `raise.rs` between records and
//! [`traceloom_model`]. [`FORMATS`] lists them all; detection, help, laws, fuzzing and benches walk that
//! list.
//!
//! Deliberately absent: files, sockets, clocks, threads. A [`Reader`] is a function of the bytes it is
//! shown; a [`Source`] hands lowering the parts of an input; an [`Output`] takes what a target writes.
//!
//! ```
//! use traceloom_formats::{Records, by_name, read_slice};
//! use traceloom_model::Limits;
//!
//! let dictionary = by_name("cdt-dictionary").unwrap();
//! let bytes = [2, 0, b'o', 0, b'k', 0];
//! let mut words = Records::default();
//! read_slice(dictionary.reader(&Limits::default()).as_mut(), &bytes, &mut words);
//! assert_eq!(words.kinds(), ["word", "word"]);
//! assert_eq!(words.written(), bytes);
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
    expect(clippy::unwrap_used, reason = "a test fails by panicking")
)]

mod begin_end;
mod bodies;
mod by_id;
pub mod cdt;
pub mod chrome;
pub mod columnar;
mod counted_notes;
pub mod cpuprofile;
pub mod csv;
pub mod datakit;
mod error;
pub mod firefox;
pub mod flamejson;
pub mod folded;
mod format;
pub mod gometrics;
pub mod goroutines;
pub mod gperf;
pub mod heph;
pub mod jfr;
pub mod json;
pub mod jvmtext;
mod label;
pub mod lineproto;
mod lines;
mod native;
mod note;
pub mod otlp;
mod output;
mod pending_spans;
pub mod perfetto;
pub mod perfscript;
pub mod pprof;
mod probe;
pub mod protobuf;
mod record;
mod registry;
mod reserved_args;
mod rows;
mod single_frame_locations;
mod slices;
mod source;
pub mod speedscope;
pub mod stackprof;
pub mod tptp;
mod two_pass;
mod unsupported;
mod whole_input;
mod whole_recording;
pub mod wire;
pub mod zorka;

pub use error::{Error, ErrorKind};
pub use format::{
    Format, Lower, LowerOptions, Member, Members, OpenReader, Pieces, Raise, RaiseOptions, Set,
    Split, Whole,
};
pub use native::{Change, NATIVE, NativeConvert, native_conversion};
pub use note::{damage, info, warn};
pub use output::{LeftOut, Output, RowTarget, Target};
pub use probe::{Confidence, Probe};
pub use record::{
    Chunk, Field, Fork, Opaque, Reader, Record, RecordSink, Records, Step, read_chunked, read_slice,
};
pub use registry::{FORMATS, by_name};
pub use source::{Part, Piece, Pull, SlicePull, SliceSource, Source, drive};
pub use unsupported::unsupported;
