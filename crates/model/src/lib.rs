//! What every format means: one model for exact call traces, sampled profiles and what goes with them.
//!
//! A reader of some format *lowers* its records to the batches of this crate and pushes them into a
//! [`Sink`]; a writer *raises* them again. Nothing here opens a file, knows a format or draws a picture.
//!
//! Deliberately absent: derived values. Self time, suspended time and percentiles are functions in
//! `traceloom-analysis`; the model stores only what a producer said.
//!
//! ```
//! use traceloom_model::{Function, Recording, Sink, SpanBatch, SpanRow, SpanStatus, Tables, Track};
//!
//! let mut tables = Tables::new();
//! let name = tables.string("void com.acme.Shop.buy()");
//! let buy = tables.function(Function::named(name));
//! let main = tables.string("main");
//! let track = tables.track(Track::thread(main));
//!
//! let mut spans = SpanBatch::default();
//! let id = tables.reserve_span();
//! spans.push(&SpanRow::call(id, track, buy, 1_000, 5_000));
//!
//! let mut recording = Recording::default();
//! recording.define(tables.take_definitions());
//! recording.spans(spans);
//! assert_eq!(recording.spans.end, [5_000]);
//! assert_eq!(recording.spans.status, [SpanStatus::Complete]);
//! ```

mod attribute;
pub mod bounds;
mod capability;
mod code;
mod concat;
mod definitions;
mod event;
pub mod flat;
mod id;
mod join;
mod limits;
mod note;
mod object;
mod path;
mod printable;
mod profile;
mod recording;
mod renumber;
mod resource;
mod sink;
mod span;
mod span_map;
mod sparse;
mod stage;
mod step;
mod strings;
mod tables;
mod text;
mod time;
mod unit;
mod values;

pub use attribute::{Attribute, AttributeKey, Attributes, ElementType, Value};
pub use capability::{Capabilities, Feature, Variant};
pub use code::{Class, Frame, FrameKind, Function, Mapping, Stack};
pub use concat::Concat;
pub use definitions::Definitions;
pub use event::{CounterBatch, EventBatch, EventRow, EventType, Link, LinkBatch, Series};
pub use id::{
    AttrKeyId, ClassId, EventTypeId, ExceptionId, FrameId, FunctionId, MappingId, ObjectId,
    ProfileId, ResourceId, SeriesId, SpanId, StackId, StringId, TrackId, ValueTypeId,
};
pub use join::Join;
pub use limits::{Limit, Limits, UnknownLimit};
pub use note::{Level, Note, Notes, PartId};
pub use object::{EdgeBatch, ObjectBatch, ObjectRow, RootBatch};
pub use path::{PathBatch, Spot};
pub use printable::{is_formula, is_harmful, is_plain, printable};
pub use profile::{AddedUp, Merge, Profile, SampleBatch, SampleRow, Scope, ValueType};
pub use recording::Recording;
pub use resource::{Resource, Track, TrackKind};
pub use sink::{Asks, Flow, Order, Sink, Wants};
pub use span::{Exception, Origin, SpanBatch, SpanContext, SpanRow, SpanStatus};
pub use span_map::SpanMap;
pub use sparse::{Each, Sparse};
pub use stage::{Batch, Stage};
pub use step::StepBatch;
pub use strings::{Forgotten, Strings};
pub use tables::{BATCH_ROWS, Tables};
pub use text::Text;
pub use time::{Clock, TickRate, Timestamp};
pub use unit::Unit;
