//! What the tables of the model say, as far as streams need it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, AttributeKey, Definitions, EventTypeId, FunctionId, Recording, Resource, ResourceId,
    Sink, StringId, Track, TrackId, ValueTypeId,
};

use super::process::ProcessIdentity;
use super::words::TableWord;
use crate::cdt::COUNTERS;
use crate::codec::ById;

/// Rows by id, those that streams can hold.
#[derive(Default)]
pub(super) struct StreamTables {
    tables: Recording,
    /// The recordings that tracks and resources came with.
    track_recordings: HashMap<TrackId, usize, RandomState>,
    resource_recordings: BTreeMap<ResourceId, usize>,
    /// Functions and keys by the recording they came with, in the order in which they came.
    words: BTreeMap<usize, Vec<TableWord>>,
    /// Which field of a row holds a counter, where one does.
    fields: ById<Option<usize>>,
}

impl StreamTables {
    /// Takes definitions of the recording of a number.
    pub(super) fn define(&mut self, new: Definitions, recording: usize) {
        let tracks = new.tracks.iter().map(|(id, _)| (*id, recording));
        self.track_recordings.extend(tracks);
        let resources = new.resources.iter().map(|(id, _)| (*id, recording));
        self.resource_recordings.extend(resources);
        let words = self.words.entry(recording).or_default();
        words.extend(new.functions.iter().map(|(id, _)| TableWord::Function(*id)));
        words.extend(new.attribute_keys.iter().map(|(id, _)| TableWord::Key(*id)));
        let counters: Vec<ValueTypeId> = new.value_types.iter().map(|(id, _)| *id).collect();
        let _ = self.tables.define(Definitions {
            strings: new.strings,
            functions: new.functions,
            attribute_keys: new.attribute_keys,
            tracks: new.tracks,
            resources: new.resources,
            value_types: new.value_types,
            event_types: new.event_types,
            ..Definitions::default()
        });
        for id in counters {
            let name = self.counter(id);
            let field = COUNTERS.iter().position(|(known, ..)| *known == name);
            self.fields.put(id.index(), field);
        }
    }

    /// Drops strings that nothing tells of any more.
    pub(super) fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    /// Returns the bytes of a string, `#id` when it was never defined.
    pub(super) fn bytes(&self, id: StringId) -> Cow<'_, [u8]> {
        match self.tables.string(id) {
            Some(text) => Cow::Borrowed(text.as_bytes()),
            None => Cow::Owned(format!("#{}", id.raw()).into_bytes()),
        }
    }

    pub(super) fn text(&self, id: StringId) -> Cow<'_, str> {
        self.tables.text(id)
    }

    pub(super) fn key(&self, id: AttrKeyId) -> Option<&AttributeKey> {
        self.tables.attribute_key(id)
    }

    pub(super) fn counter(&self, id: ValueTypeId) -> Cow<'_, str> {
        match self.tables.value_type(id) {
            Some(row) => self.text(row.name),
            None => Cow::Owned(format!("#{}", id.raw())),
        }
    }

    /// Returns which field of a row holds a counter, by its place among [`COUNTERS`].
    pub(super) fn counter_field(&self, id: ValueTypeId) -> Option<usize> {
        *self.fields.get(id.index())?
    }

    /// Returns the name of an event type.
    pub(super) fn event_type(&self, id: EventTypeId) -> Option<Cow<'_, str>> {
        let row = self.tables.event_type(id)?;
        Some(self.text(row.name))
    }

    pub(super) fn is_pause(&self, id: EventTypeId) -> bool {
        let row = self.tables.event_type(id);
        row.is_some_and(|row| self.text(row.name) == "pause")
    }

    pub(super) fn track(&self, id: TrackId) -> Option<&Track> {
        self.tables.track(id)
    }

    /// Returns the tracks that have names.
    pub(super) fn named_tracks(&self) -> impl Iterator<Item = TrackId> {
        let rows = (0..).map(TrackId::new).zip(&self.tables.tracks);
        rows.filter(|(_, row)| row.as_ref().is_some_and(|row| row.name.is_some()))
            .map(|(id, _)| id)
    }

    pub(super) fn recording_of(&self, track: TrackId) -> Option<usize> {
        self.track_recordings.get(&track).copied()
    }

    /// Returns the resources with the recordings they came with.
    pub(super) fn resources(&self) -> impl Iterator<Item = (ResourceId, usize, &Resource)> {
        let known = self.resource_recordings.iter();
        known.filter_map(|(&id, &recording)| Some((id, recording, self.tables.resource(id)?)))
    }

    /// Returns the first resource of a recording.
    pub(super) fn first_resource(&self, recording: usize) -> Option<ResourceId> {
        let mut resources = self.resource_recordings.iter();
        resources
            .find(|&(_, &of)| of == recording)
            .map(|(&id, _)| id)
    }

    /// Returns the functions and keys of each recording.
    pub(super) fn defined(&self) -> BTreeMap<usize, Vec<TableWord>> {
        self.words.clone()
    }

    pub(super) fn resource_of(&self, track: TrackId) -> Option<ResourceId> {
        self.tables.track(track)?.resource
    }

    /// Writes a function as the agent names methods (§3).
    pub(super) fn method(&self, id: FunctionId) -> Vec<u8> {
        let Some(function) = self.tables.function(id) else {
            return format!("#{}", id.raw()).into_bytes();
        };
        let own = function.system_name.map(|name| self.bytes(name));
        let is_method = |word: &Cow<'_, [u8]>| {
            let text = std::str::from_utf8(word).ok();
            text.and_then(super::super::Method::parse).is_some()
        };
        if let Some(word) = own.filter(is_method) {
            return word.into_owned();
        }
        let name = self.bytes(function.name);
        let plain = function.file.is_none() && function.library.is_none();
        let Ok(name) = std::str::from_utf8(&name) else {
            return name.into_owned();
        };
        if plain || !name.contains('.') || name.contains(' ') {
            return name.as_bytes().to_vec();
        }
        // Signatures are `return (arguments)` or the arguments alone.
        let signature = function
            .signature
            .map_or(Cow::Borrowed(""), |id| self.text(id));
        let (returns, arguments) = match signature.split_once('(') {
            Some((returns, rest)) => (returns.trim(), rest.trim_end_matches(')')),
            None => ("", ""),
        };
        let returns = if returns.is_empty() { "void" } else { returns };
        let mut word = format!("{returns} {name}({arguments})");
        if let Some(file) = function.file {
            word += &match function.line {
                0 => format!(" ({})", self.text(file)),
                line => format!(" ({}:{line})", self.text(file)),
            };
        }
        if let Some(library) = function.library {
            word += &format!(" [{}]", self.text(library));
        }
        word.into_bytes()
    }

    /// Names the folders of a process, the `number`-th of the recording.
    pub(super) fn identity(&self, resource: Option<ResourceId>, number: usize) -> ProcessIdentity {
        let row = resource.and_then(|id| self.tables.resource(id));
        let word = |id: Option<StringId>| {
            let text = self.text(id?).replace(['/', '\\', '\0'], "_");
            (!text.is_empty() && text != "." && text != "..").then_some(text)
        };
        let service = row.and_then(|row| word(row.service));
        let instance = row.and_then(|row| word(row.instance));
        ProcessIdentity {
            service,
            instance,
            number,
        }
    }
}
