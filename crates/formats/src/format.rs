//! What a format offers, as plain function pointers.

use std::fmt;

use traceloom_model::{Capabilities, Limits, Sink};

use crate::{Confidence, Error, Fork, Output, Part, Probe, Pull, Source, Target};

/// One format: a row of [`crate::FORMATS`].
pub struct Format {
    /// Name, as `--input-format` and `--to` take it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// File name extensions, without dot, the one to write first.
    pub extensions: &'static [&'static str],
    /// Tells whether a part is of this format.
    pub probe: fn(&Probe<'_>) -> Option<Confidence>,
    /// Builds a reader of native records; none for formats that are sets of parts.
    pub reader: Option<OpenReader>,
    /// Finds the parts inside a part: the streams of a recorded conversation.
    pub members: Option<Members>,
    /// Finds which parts of a folder or archive belong together.
    pub set: Option<Set>,
    /// Lowers a source to the model.
    pub lower: Option<Lower>,
    /// Writes the model.
    pub raise: Option<Raise>,
    /// What a writer of this format can hold.
    pub holds: Capabilities,
    /// Makes data of this format, for laws, fuzzing and benches.
    pub sample: Option<Sample>,
}

impl Format {
    /// Builds a reader; a format that is a set of parts reads nothing by itself.
    ///
    /// # Panics
    /// When the format has no reader; check [`Format::reader`] first.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "documented: callers choose formats that have one"
    )]
    pub fn reader(&self, limits: &Limits) -> Box<dyn Fork> {
        (self.reader.expect("a format with native records"))(limits)
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Builds a reader of native records with these limits in force.
pub type OpenReader = fn(&Limits) -> Box<dyn Fork>;

/// Lowers a source into a sink; damage becomes notes, only an unreadable source is an error.
pub type Lower = fn(&dyn Source, &LowerOptions, &mut dyn Sink) -> Result<(), Error>;

/// Builds a target that writes this format.
pub type Raise =
    for<'o> fn(&RaiseOptions, &'o mut dyn Output) -> Result<Box<dyn Target + 'o>, Error>;

/// Makes about `bytes` bytes of this format from a seed, in pieces.
pub type Sample = fn(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8]));

/// Lists the parts inside a part.
pub type Members = fn(&mut dyn Pull, &Limits) -> Result<Vec<Member>, Error>;

/// Groups parts: each group lowers as one source. Parts in no group stand alone.
pub type Set = fn(&[Part]) -> Vec<Vec<usize>>;

/// A part inside a part: pieces of the enclosing bytes, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its path inside the part.
    pub name: String,
    /// Offset and length of its pieces.
    pub pieces: Vec<(u64, u32)>,
}

/// What a lowering is asked for besides its source.
#[derive(Clone, Debug, Default)]
pub struct LowerOptions {
    /// Limits in force.
    pub limits: Limits,
    /// Lower only the call whose origin is here: part, offset, index.
    pub only: Option<traceloom_model::Origin>,
}

/// What a raising is asked for besides its output.
#[derive(Clone, Debug, Default)]
pub struct RaiseOptions {
    /// The variant after the colon of `--to NAME:variant`.
    pub variant: Option<String>,
}
