//! Ids for rows that a stage adds to another's tables.

use traceloom_model::{
    AttrKeyId, Definitions, FrameId, FunctionId, ProfileId, SpanId, StackId, StringId, Text,
    TrackId, ValueTypeId,
};

/// The first id of each table that nobody has used, and what was added there.
///
/// A stage that adds rows does so at the end, when every id of the reader is known.
#[derive(Debug, Default)]
pub(super) struct AddedRows {
    strings: u32,
    tracks: u32,
    functions: u32,
    frames: u32,
    stacks: u32,
    profiles: u32,
    value_types: u32,
    attribute_keys: u32,
    spans: u64,
    new: Definitions,
}

fn after<I: Copy, R>(rows: &[(I, R)], raw: fn(I) -> u32, next: &mut u32) {
    let most = rows.iter().map(|(id, _)| raw(*id).saturating_add(1)).max();
    *next = most.map_or(*next, |most| most.max(*next));
}

fn take(next: &mut u32) -> u32 {
    let id = *next;
    *next = id.saturating_add(1);
    id
}

macro_rules! adds {
    ($($method:ident $table:ident $id:ident $row:path)*) => {$(
        pub(super) fn $method(&mut self, row: $row) -> $id {
            let id = $id::new(take(&mut self.$table));
            self.new.$table.push((id, row));
            id
        }
    )*};
}

impl AddedRows {
    /// Notes the ids that `new` uses.
    pub(super) fn see(&mut self, new: &Definitions) {
        after(&new.strings, StringId::raw, &mut self.strings);
        after(&new.tracks, TrackId::raw, &mut self.tracks);
        after(&new.functions, FunctionId::raw, &mut self.functions);
        after(&new.frames, FrameId::raw, &mut self.frames);
        after(&new.stacks, StackId::raw, &mut self.stacks);
        after(&new.profiles, ProfileId::raw, &mut self.profiles);
        after(&new.value_types, ValueTypeId::raw, &mut self.value_types);
        after(
            &new.attribute_keys,
            AttrKeyId::raw,
            &mut self.attribute_keys,
        );
    }

    /// Notes that spans use ids up to `id`.
    pub(super) fn see_span(&mut self, id: SpanId) {
        self.spans = self.spans.max(id.0.saturating_add(1));
    }

    adds! {
        track tracks TrackId traceloom_model::Track
        function functions FunctionId traceloom_model::Function
        frame frames FrameId traceloom_model::Frame
        stack stacks StackId traceloom_model::Stack
        profile profiles ProfileId traceloom_model::Profile
        value_type value_types ValueTypeId traceloom_model::ValueType
    }

    pub(super) fn string(&mut self, text: &str) -> StringId {
        let id = StringId::new(take(&mut self.strings));
        self.new.strings.push((id, Text::from(text)));
        id
    }

    pub(super) fn span(&mut self) -> SpanId {
        let id = SpanId(self.spans);
        self.spans = self.spans.saturating_add(1);
        id
    }

    /// Returns what was added since the last call.
    pub(super) fn take(&mut self) -> Definitions {
        std::mem::take(&mut self.new)
    }
}
