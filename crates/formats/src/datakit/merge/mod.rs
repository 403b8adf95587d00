//! One recording into the tables of another: what several files of a bundle say, under one set of ids.
//!
//! A file's lowering numbers its rows from 0, so its rows are told again to the bundle's tables, which
//! make equal ones equal across files. The file is held in memory meanwhile: bundles are uploads, some
//! megabytes each.

mod batches;
mod rows;

use std::collections::HashMap;

use traceloom_model::{
    AttrKeyId, Attribute, ClassId, EventTypeId, ExceptionId, Flow, FrameId, FunctionId, MappingId,
    Note, PartId, Profile, ProfileId, Recording, ResourceId, SeriesId, Sink, SpanId, StackId,
    StringId, Tables, Text, Track, TrackId, TrackKind, Unit, Value, ValueTypeId,
};

/// What a bundle changes in the rows of a file.
pub(super) struct RowEdit<'c> {
    /// The resource of the bundle; the file's own hang under it.
    pub(super) resource: ResourceId,
    /// The end of the profile: the time of what the file reports of the whole process and dates not.
    pub(super) end: i64,
    /// The file's part in the source.
    pub(super) part: PartId,
    /// The name of a value in the bundle: from its name and whether it is a plain count.
    pub(super) rename: &'c dyn Fn(&str, bool) -> Option<String>,
    /// Completes a profile.
    pub(super) complete: &'c dyn Fn(&mut Profile, &mut Tables),
}

/// Tracks of the bundle: several files name the same threads.
#[derive(Default)]
pub(super) struct BundleTracks(HashMap<Track, TrackId>);

/// Pushes everything a recording holds, except notes about nothing, into `sink`.
pub(super) fn merge(
    from: Recording,
    change: &RowEdit<'_>,
    tracks: &mut BundleTracks,
    tables: &mut Tables,
    sink: &mut dyn Sink,
) -> Flow {
    let mut merge = FileMerge {
        change,
        tables,
        ids: MergedIds::default(),
    };
    merge.tables_of(&from, tracks);
    for note in from.notes.kept() {
        sink.note(Note {
            part: change.part,
            ..note.clone()
        })?;
    }
    sink.define(merge.tables.take_definitions())?;
    merge.batches(from, sink)?;
    let new = merge.tables.take_definitions();
    if new.is_empty() {
        Flow::Continue(())
    } else {
        sink.define(new)
    }
}

#[derive(Default)]
struct MergedIds {
    strings: Vec<StringId>,
    resources: Vec<ResourceId>,
    tracks: Vec<TrackId>,
    /// The track of events that are on none.
    process: Option<TrackId>,
    classes: Vec<ClassId>,
    functions: Vec<FunctionId>,
    mappings: Vec<MappingId>,
    frames: Vec<FrameId>,
    stacks: Vec<Option<StackId>>,
    value_types: Vec<ValueTypeId>,
    /// Event types given to columns, and the columns' own names in the file.
    renamed: Vec<(StringId, StringId)>,
    profiles: Vec<ProfileId>,
    event_types: Vec<EventTypeId>,
    series: Vec<SeriesId>,
    exceptions: Vec<ExceptionId>,
    attribute_keys: Vec<AttrKeyId>,
    spans: HashMap<SpanId, SpanId>,
}

struct FileMerge<'m> {
    change: &'m RowEdit<'m>,
    tables: &'m mut Tables,
    ids: MergedIds,
}

impl FileMerge<'_> {
    fn string(&mut self, id: StringId) -> StringId {
        match self.ids.strings.get(id.index()) {
            Some(&known) => known,
            None => self.tables.string(&format!("#{}", id.raw())),
        }
    }

    fn some(&mut self, id: Option<StringId>) -> Option<StringId> {
        id.map(|id| self.string(id))
    }

    fn unit(&mut self, unit: Unit) -> Unit {
        match unit {
            Unit::Other(name) => Unit::Other(self.string(name)),
            known => known,
        }
    }

    /// Tells the tables again, each after those it refers to. A row refers to earlier rows of its own
    /// table only, because a lowering needs their ids to build it.
    fn tables_of(&mut self, from: &Recording, tracks: &mut BundleTracks) {
        for (at, row) in from.strings.iter().enumerate() {
            let undefined;
            let bytes = match row.as_ref().map(Text::as_bytes) {
                Some(bytes) => bytes,
                None => {
                    undefined = format!("#{at}");
                    undefined.as_bytes()
                }
            };
            let id = self.tables.bytes(bytes);
            self.ids.strings.push(id);
        }
        for row in &from.attribute_keys {
            let id = self.attribute_key(row.as_ref());
            self.ids.attribute_keys.push(id);
        }
        for row in &from.classes {
            let id = self.class(row.as_ref());
            self.ids.classes.push(id);
        }
        for row in &from.functions {
            let id = self.function(row.as_ref());
            self.ids.functions.push(id);
        }
        for row in &from.mappings {
            let mut row = row.clone().unwrap_or_default();
            row.file = self.some(row.file);
            row.build_id = self.some(row.build_id);
            let id = self.tables.mapping(row);
            self.ids.mappings.push(id);
        }
        for row in &from.frames {
            let id = self.frame(row.as_ref());
            self.ids.frames.push(id);
        }
        for row in &from.stacks {
            let id = row.as_ref().and_then(|row| self.stack(row));
            self.ids.stacks.push(id);
        }
        for row in &from.exceptions {
            let id = self.exception(row.as_ref());
            self.ids.exceptions.push(id);
        }
        for row in &from.resources {
            let id = self.resource(row.as_ref());
            self.ids.resources.push(id);
        }
        for row in &from.tracks {
            let row = self.track(row.as_ref());
            let tables = &mut *self.tables;
            let id = *tracks
                .0
                .entry(row.clone())
                .or_insert_with(|| tables.new_track(row));
            self.ids.tracks.push(id);
        }
        // An event of no thread is of the bundle's process and of no other's.
        if from.events.track.contains(&None) {
            let row = Track {
                kind: TrackKind::Stream,
                resource: Some(self.change.resource),
                ..Track::default()
            };
            let tables = &mut *self.tables;
            let id = tracks.0.entry(row.clone());
            self.ids.process = Some(*id.or_insert_with(|| tables.new_track(row)));
        }
        for row in &from.value_types {
            let id = self.value_type(from, row.as_ref());
            self.ids.value_types.push(id);
        }
        for row in &from.profiles {
            let id = self.profile(row.as_ref());
            self.ids.profiles.push(id);
        }
        for row in &from.event_types {
            let id = self.event_type(row.as_ref());
            self.ids.event_types.push(id);
        }
        for row in &from.series {
            let id = self.series(row.as_ref());
            self.ids.series.push(id);
        }
    }

    fn stack_id(&self, id: Option<StackId>) -> Option<StackId> {
        known(&self.ids.stacks, id?.index()).flatten()
    }

    fn track_id(&self, id: Option<TrackId>) -> Option<TrackId> {
        known(&self.ids.tracks, id?.index())
    }

    fn span_id(&mut self, id: SpanId) -> SpanId {
        let tables = &mut *self.tables;
        *self
            .ids
            .spans
            .entry(id)
            .or_insert_with(|| tables.reserve_span())
    }

    fn attributes(&mut self, attributes: &[Attribute]) -> Vec<Attribute> {
        let mut told = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            let key = match known(&self.ids.attribute_keys, attribute.key.index()) {
                Some(key) => key,
                None => self
                    .tables
                    .attribute_named(&format!("#{}", attribute.key.raw())),
            };
            told.push(Attribute {
                key,
                value: self.value(&attribute.value, 0),
                at: attribute.at,
                from: attribute.from.map(|id| self.span_id(id)),
            });
        }
        told
    }

    fn value(&mut self, value: &Value, depth: usize) -> Value {
        // Deeper values come from no format; a bound keeps the recursion off the end of the stack.
        const DEEPEST: usize = 512;
        match value {
            _ if depth > DEEPEST => Value::Null,
            Value::Text(id) => Value::Text(self.string(*id)),
            Value::List(kind, items) => {
                let items = items
                    .iter()
                    .map(|item| self.value(item, depth + 1))
                    .collect();
                Value::List(*kind, items)
            }
            Value::Map(entries) => {
                let mut entry = |(key, value): &(Value, Value)| {
                    (self.value(key, depth + 1), self.value(value, depth + 1))
                };
                Value::Map(entries.iter().map(&mut entry).collect())
            }
            Value::Exception(id) => match known(&self.ids.exceptions, id.index()) {
                Some(id) => Value::Exception(id),
                None => Value::Null,
            },
            plain => plain.clone(),
        }
    }
}

fn known<T: Copy>(ids: &[T], index: usize) -> Option<T> {
    ids.get(index).copied()
}
