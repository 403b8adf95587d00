//! JFR: recordings of the JDK's Flight Recorder, async-profiler and Datadog's Java profiler.
//!
//! A recording is a row of chunks. Each chunk describes its own event types in a metadata event and
//! keeps what events refer to in constant pools, both written after the events that need them, so a
//! chunk is decoded as a whole and the largest one bounds memory. `SPEC.md` in this folder has the
//! layout.
//!
//! Deliberately absent: a writer. What lowering makes of a recording is written as other formats;
//! native records give the recording's own bytes back.
//!
//! ```
//! use traceloom_formats::{Chunk, jfr};
//! use traceloom_model::{Flow, Limits};
//!
//! struct Names(Vec<String>);
//!
//! impl jfr::Visit for Names {
//!     fn part(&mut self, part: &jfr::ChunkPart<'_, '_>) -> Flow {
//!         self.0.extend(part.event().map(|event| event.name().to_owned()));
//!         Flow::Continue(())
//!     }
//! }
//!
//! let mut names = Names(Vec::new());
//! let bytes = &traceloom_samples::bytes("jfr", 1, 20_000);
//! let recording = Chunk { bytes, offset: 0, eof: true };
//! jfr::Reader::new(&Limits::default()).read(recording, &mut names);
//! assert!(names.0.contains(&"jdk.ExecutionSample".to_owned()));
//! ```

mod event;
mod event_head;
mod frame;
mod header;
mod lower;
mod metadata;
mod pool;
mod raw_types;
mod read;
mod record;
mod scan;
mod schema;
mod shown;
mod split;
#[cfg(test)]
mod tests;
mod value;
mod walk;
mod words;

pub use event::{Event, Value, Visit};
pub use header::{HEADER, Header, MAGIC};
pub use read::Reader;
pub use record::{ChunkPart, ChunkRecord};
pub use scan::{compressed_width, put_integer};

use crate::{Confidence, Format, Probe};

/// The format's row in the registry.
pub const FORMAT: Format = Format {
    name: "jfr",
    title: "Java Flight Recorder recording",
    extensions: &["jfr"],
    magic: b"FLR\0\0\x02\0",
    probe,
    reader: Some(|limits| Box::new(Reader::new(limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    split: Some(split::split),
    summarise: Some(lower::summarise),
    ..Format::BASE
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if probe.head.starts_with(header::MAGIC) {
        return Some(Confidence::Certain);
    }
    let name = probe.file_name().to_ascii_lowercase();
    let torn = name.ends_with(".jfr") && header::find_magic(probe.head, 0).is_some();
    torn.then_some(Confidence::Possible)
}
