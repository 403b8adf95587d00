//! What a format offers, as plain function pointers.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use traceloom_model::{
    Asks, Capabilities, Clock, Definitions, Flow, Limits, Note, ProfileId, Sink, Timestamp,
};

use crate::{
    Confidence, Error, Fork, Output, Part, Probe, Pull, Scouted, Source, Surveyed, Target,
};

/// One format: a row of [`crate::FORMATS`].
pub struct Format {
    /// Name, as `--input-format` and `--to` take it.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// File name extensions, without dot, the one to write first.
    pub extensions: &'static [&'static str],
    /// Bytes that nearly every file of the format begins with; empty where there are none.
    pub magic: &'static [u8],
    /// A beginning of a part reads as it does with more behind it: records and calls can be shown as bytes arrive.
    pub streams: bool,
    /// Returns how sure it is that a part is of this format.
    pub probe: fn(&Probe<'_>) -> Option<Confidence>,
    /// Builds a reader of native records; none for formats that are sets of parts.
    pub reader: Option<OpenReader>,
    /// Finds the parts inside a part: the streams of a recorded conversation.
    pub members: Option<Members>,
    /// Finds which parts of a folder or archive belong together.
    pub set: Option<Set>,
    /// Lowers a source to the model.
    pub lower: Option<Lower>,
    /// Lowering one part notes all that its reader does, at the same places and as often: `check` reads such a part once.
    pub lowers_notes: bool,
    /// Cuts a part into pieces that lower by themselves, for several threads.
    pub split: Option<Split>,
    /// Sums a recording up in one pass, for `info`.
    pub summarise: Option<Summarise>,
    /// Reads ahead of a lowering, on a thread of its own.
    pub scout: Option<Scout>,
    /// Writes the model.
    pub raise: Option<Raise>,
    /// What a writer of this format can hold.
    pub holds: Capabilities,
}

impl Format {
    /// A format that is neither recognised, read nor written: what a row does not say.
    pub const BASE: Self = Self {
        name: "",
        title: "",
        extensions: &[],
        magic: b"",
        streams: false,
        probe: |_| None,
        reader: None,
        members: None,
        set: None,
        lower: None,
        lowers_notes: false,
        split: None,
        summarise: None,
        scout: None,
        raise: None,
        holds: Capabilities::NONE,
    };

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

impl Format {
    /// Returns true if it is written as a folder of files: parts of it have formats of their own.
    #[must_use]
    pub const fn is_folder(&self) -> bool {
        self.set.is_some() && self.reader.is_none()
    }
}

/// Builds a reader of native records with these limits in force.
pub type OpenReader = fn(&Limits) -> Box<dyn Fork>;

/// Lowers a source into a sink; damage becomes notes, only an unreadable source is an error.
pub type Lower = fn(&dyn Source, &LowerOptions, &mut dyn Sink) -> Result<(), Error>;

/// Cuts a part of a source into pieces; none for a part that has to be lowered as a whole.
///
/// The pieces tile the part. Lowering them one after the other, each as a [`crate::Piece`] with
/// [`LowerOptions::whole`] and [`LowerOptions::surveyed`], into a [`traceloom_model::Join`] gives what lowering the part gives.
pub type Split = fn(&dyn Source, part: usize, &Limits) -> Result<Option<Pieces>, Error>;

/// Sums a recording up in one pass over windows of it; none where anything in it is out of order, which reading it
/// notes.
///
/// What it says is what reading every record and lowering them says.
pub type Summarise = fn(&dyn Source, &Limits) -> Result<Option<RecordingSummary>, Error>;

/// Reads a source ahead of its lowering, and says what the lowering then takes from [`crate::Source::heard`] in place of finding
/// it itself.
///
/// Says nothing of what it cannot read, and nothing at all where reading ahead does not pay.
pub type Scout =
    fn(&dyn Source, &Limits, Asks, &mut dyn FnMut(Scouted) -> Flow) -> Result<(), Error>;

/// Builds a target that writes this format.
pub type Raise =
    for<'o> fn(&RaiseOptions, &'o mut dyn Output) -> Result<Box<dyn Target + 'o>, Error>;

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
    /// What is wrong with its bytes where the enclosing part is damaged; offsets count in the member.
    pub notes: Vec<traceloom_model::Note>,
}

/// What a part was cut into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pieces {
    /// Where they are, in order; the last one goes on to the end, wherever that is.
    pub ranges: Vec<Range<u64>>,
    /// What each of them has to know of the others.
    pub whole: Whole,
    /// What was found out about them on the way.
    pub surveyed: Option<Surveyed>,
}

/// What is known of a recording before any of it is lowered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole {
    /// When it began.
    pub time: Timestamp,
    /// How long it lasted, in nanoseconds.
    pub duration: i64,
    /// What the format decided from all pieces, in a code of its own; 0 when there is nothing to decide.
    pub choice: u32,
}

/// The totals of a recording in which nothing is damaged.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RecordingSummary {
    /// The number of records of each kind.
    pub records: BTreeMap<String, u64>,
    /// The length of its decoded bytes.
    pub bytes: u64,
    /// The times that records cover, in nanoseconds.
    pub time: Option<(i64, i64)>,
    /// Where zero of these times lies; the name of a clock is in `definitions`.
    pub clock: Clock,
    /// The rows that the totals of values refer to, resources, and the types of its events.
    pub definitions: Definitions,
    /// Totals of the values of samples.
    pub values: Vec<ColumnTotal>,
    /// It has spans.
    pub spans: bool,
    /// It has events that are more than samples.
    pub events: bool,
    /// What is to be said of it, as reading it says.
    pub notes: Vec<Note>,
}

/// The total of one column of the samples of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnTotal {
    /// The profile.
    pub profile: ProfileId,
    /// Number of the column.
    pub column: usize,
    /// The number of samples.
    pub samples: u64,
    /// The sum of their values.
    pub total: i128,
}

/// What a lowering is asked for besides its source.
#[derive(Clone, Debug, Default)]
pub struct LowerOptions {
    /// Limits in force.
    pub limits: Limits,
    /// Lower only the call whose origin is here: part, offset, index.
    pub only: Option<traceloom_model::Origin>,
    /// Lower what the producer wrote and nothing inferred from it: Heph events stay on their stream
    /// although the actor they ran in is known.
    pub as_recorded: bool,
    /// The source is a piece of a larger recording, of which this is known.
    pub whole: Option<Whole>,
    /// What [`Pieces::surveyed`] says of the recording that the source is a [`crate::Piece`] of.
    pub surveyed: Option<Surveyed>,
}

/// What a raising is asked for besides its output.
#[derive(Clone, Debug, Default)]
pub struct RaiseOptions {
    /// The variant after the colon of `--to NAME:variant`.
    pub variant: Option<String>,
    /// The formats of the recordings that will come, in their order, where they are known.
    pub sources: Vec<&'static str>,
}
