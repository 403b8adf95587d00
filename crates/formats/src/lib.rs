//! Codecs for profiler and trace formats.
//!
//! Each format is a folder: `record.rs` mirrors its specification field by field, `read.rs` and
//! `write.rs` move between bytes and records, `lower.rs` and `raise.rs` between records and
//! [`traceloom_model`]. No format imports another; what several need is in the shared folders below them.
//! [`FORMATS`] lists them all; detection, help, laws, fuzzing and benches walk that list.
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

// The registry, which knows every format, and what asks all of them.
mod detect;
mod registry;

// The formats, of which none knows another.
pub mod cdt;
pub mod chrome;
pub mod columnar;
pub mod cpuprofile;
pub mod csv;
pub mod datakit;
pub mod firefox;
pub mod flamejson;
pub mod folded;
pub mod gometrics;
pub mod goroutines;
pub mod gperf;
pub mod heph;
pub mod jfr;
pub mod jvmtext;
pub mod lineproto;
pub mod otlp;
pub mod perfetto;
pub mod perfscript;
pub mod pprof;
pub mod speedscope;
pub mod stackprof;
pub mod tptp;
pub mod zipkin;
pub mod zorka;

// What they share.
mod codec;
mod points;
mod profile;
pub mod protobuf;
mod spans;
mod text;
pub mod wire;

pub use codec::protocol;
pub use codec::{
    Change, Chunk, ColumnTotal, Confidence, DescriptionError, Error, ErrorKind, Field, Fork,
    Format, LeftOut, Lower, LowerOptions, Member, Members, NativeConvert, Opaque, OpenReader,
    Output, Part, Piece, Pieces, Probe, Pull, Raise, RaiseOptions, Reader, Record, RecordSink,
    RecordSummary, RecordSums, RecordingSummary, Records, RowTarget, Scout, Scouted, Set,
    SlicePull, SliceSource, Source, Split, Step, Summarise, Surveyed, Target, Whole, damage, drive,
    info, read_chunked, read_slice, warn,
};
pub use detect::{Detected, Like, Near, PROBED, Unknown, detect, detect_bytes};
pub use registry::{
    FORMATS, NATIVE, PROTOCOLS, by_name, native_conversion, register_schema, unsupported,
};
pub use text::json;
