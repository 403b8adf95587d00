//! New rows of tables, on their way from a reader to a sink.

use crate::{
    AttrKeyId, AttributeKey, Class, ClassId, EventType, EventTypeId, Exception, ExceptionId, Frame,
    FrameId, Function, FunctionId, Mapping, MappingId, Profile, ProfileId, Resource, ResourceId,
    Series, SeriesId, Stack, StackId, StringId, Text, Track, TrackId, ValueType, ValueTypeId,
};

/// Table rows that a sink has not seen, each with its id.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "each field is the table its type names")]
pub struct Definitions {
    pub strings: Vec<(StringId, Text)>,
    pub resources: Vec<(ResourceId, Resource)>,
    pub tracks: Vec<(TrackId, Track)>,
    pub classes: Vec<(ClassId, Class)>,
    pub functions: Vec<(FunctionId, Function)>,
    pub mappings: Vec<(MappingId, Mapping)>,
    pub frames: Vec<(FrameId, Frame)>,
    pub stacks: Vec<(StackId, Stack)>,
    pub value_types: Vec<(ValueTypeId, ValueType)>,
    pub profiles: Vec<(ProfileId, Profile)>,
    pub event_types: Vec<(EventTypeId, EventType)>,
    pub series: Vec<(SeriesId, Series)>,
    pub exceptions: Vec<(ExceptionId, Exception)>,
    pub attribute_keys: Vec<(AttrKeyId, AttributeKey)>,
}

impl Definitions {
    /// Returns `true` if nothing is defined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
