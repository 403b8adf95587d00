//! Typed row numbers: an id of one table cannot index another.

use std::num::NonZeroU32;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// Builds the id of row `index`, counted from 0; `u32::MAX` folds onto its predecessor.
            #[must_use]
            pub const fn new(index: u32) -> Self {
                Self(NonZeroU32::MIN.saturating_add(index))
            }

            /// Returns the row number this id stands for, from 0.
            #[must_use]
            pub const fn index(self) -> usize {
                (self.0.get() - 1) as usize
            }

            /// Returns the row number as the integer that columns and wire formats carry.
            #[must_use]
            pub const fn raw(self) -> u32 {
                self.0.get() - 1
            }
        }
    )*};
}

ids! {
    /// A row of the string table.
    StringId
    /// A node, process, agent or trace.
    ResourceId
    /// A thread, stream, async substream or lane.
    TrackId
    /// A class of the traced program.
    ClassId
    /// A function or method.
    FunctionId
    /// A mapped binary.
    MappingId
    /// A function at a line or address.
    FrameId
    /// A frame and the stack that called it.
    StackId
    /// A sampled profile or an aggregated statistic.
    ProfileId
    /// One of a profile's value columns.
    ValueTypeId
    /// A kind of event with its typed fields.
    EventTypeId
    /// A counter series.
    SeriesId
    /// An exception shared by the spans that saw it.
    ExceptionId
    /// The name, unit and display rules of an attribute.
    AttrKeyId
}

/// A span; reserved when it starts, so that children can name a parent that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SpanId(pub u64);

/// A heap object as its producer numbers it, unique together with its generation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectId(pub u64);
