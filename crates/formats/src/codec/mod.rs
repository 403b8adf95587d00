//! What every codec is made of: the row of the registry, records and their readers, parts, outputs, errors, notes.

mod ahead;
mod by_id;
mod control;
mod counted_notes;
mod description;
mod error;
mod flat_tables;
mod format;
mod native;
mod note;
pub(crate) mod one_way;
mod output;
mod probe;
pub mod protocol;
mod record;
mod source;
mod surveyed;
pub(crate) mod translated;
pub(crate) mod two_pass;
mod whole_input;
mod whole_recording;

pub use ahead::Scouted;
pub(crate) use ahead::{Ahead, Stretch};
pub(crate) use by_id::ById;
pub(crate) use counted_notes::CountedNotes;
pub use description::DescriptionError;
pub use error::{Error, ErrorKind};
pub(crate) use flat_tables::TABLES_HOLD;
pub use format::{
    ColumnTotal, Format, Lower, LowerOptions, Member, Members, OpenReader, Pieces, Raise,
    RaiseOptions, RecordingSummary, Scout, Set, Split, Summarise, Whole,
};
pub use native::{Change, NativeConvert};
pub use note::{damage, info, warn};
pub(crate) use output::{Buffered, left_out_of};
pub use output::{LeftOut, Output, RowTarget, Target};
pub use probe::{Confidence, Probe};
pub(crate) use record::KindSums;
pub use record::{
    Chunk, Field, Fork, Opaque, Reader, Record, RecordSink, RecordSummary, RecordSums, Records,
    Step, read_chunked, read_slice,
};
pub(crate) use source::each_window;
pub use source::{Part, Piece, Pull, SlicePull, SliceSource, Source, drive};
pub use surveyed::Surveyed;
pub(crate) use whole_input::{WholeInput, whole};
pub(crate) use whole_recording::WholeRecording;
