//! Interning: rows in, dense ids out, and what is new since the last batch.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use indexmap::map::raw_entry_v1::RawEntryApiV1;
use indexmap::{IndexMap, IndexSet};

use crate::bounds::row_number;
use crate::values::ValueTable;
use crate::{
    AttrKeyId, AttributeKey, Class, ClassId, Definitions, EventType, EventTypeId, Exception,
    ExceptionId, Frame, FrameId, Function, FunctionId, Mapping, MappingId, Profile, ProfileId,
    Resource, ResourceId, Series, SeriesId, SpanId, Stack, StackId, StringId, Text, Track, TrackId,
    ValueType, ValueTypeId,
};

/// Most rows a batch may hold.
pub const BATCH_ROWS: usize = 65_536;

/// Bytes of values remembered at once, and what remembering one costs besides.
const VALUE_BYTES: usize = 4 << 20;
const VALUE_COST: usize = 64;

type Interned<T> = IndexSet<T, RandomState>;

/// The tables of one reader.
///
/// Rows that are equal share an id. Rows with identity of their own (resources, profiles, event types,
/// exceptions) get a new id each time. A row may be redefined later, for instance when a thread's name
/// turns up after its first span: the id stays and the sink is told again.
#[derive(Debug, Default)]
pub struct Tables {
    /// Ids ascend: values take numbers in between.
    strings: IndexMap<Box<[u8]>, StringId, RandomState>,
    values: ValueTable,
    value_bytes: usize,
    /// Values that are shared no more, of which rows to come may still tell.
    retired: Vec<StringId>,
    /// Some of them are new since [`Tables::settle`].
    unsettled: bool,
    /// Passing strings since the last definitions: where in `new` each is, by the hash of its bytes.
    passing: HashMap<u64, u32, RandomState>,
    passed: Vec<StringId>,
    next_string: u32,
    tracks: Interned<Track>,
    classes: Interned<Class>,
    functions: Interned<Function>,
    mappings: Interned<Mapping>,
    frames: Interned<Frame>,
    stacks: Interned<Stack>,
    value_types: Interned<ValueType>,
    series: Interned<Series>,
    attribute_keys: Interned<AttributeKey>,
    resources: u32,
    profiles: u32,
    event_types: u32,
    exceptions: u32,
    own_tracks: u32,
    own_functions: u32,
    own_stacks: u32,
    spans: u64,
    new: Definitions,
}

fn intern<T: Clone + Eq + Hash, I: Copy>(
    table: &mut Interned<T>,
    new: &mut Vec<(I, T)>,
    id: fn(u32) -> I,
    row: T,
) -> I {
    if let Some(index) = table.get_index_of(&row) {
        return id(row_number(index));
    }
    let (index, _) = table.insert_full(row.clone());
    let id = id(row_number(index));
    new.push((id, row));
    id
}

fn count(counter: &mut u32) -> u32 {
    let number = *counter;
    *counter = counter.saturating_add(1);
    number
}

impl Tables {
    /// Empty tables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Interns a string.
    pub fn string(&mut self, text: &str) -> StringId {
        self.bytes(text.as_bytes())
    }

    /// Interns a string that may not be UTF-8.
    pub fn bytes(&mut self, text: &[u8]) -> StringId {
        if let Some(&id) = self.strings.get(text) {
            return id;
        }
        let id = self.new_string(text);
        self.strings.insert(text.into(), id);
        id
    }

    /// Adds a string that the reader knows to be new, or whose rows nobody compares by their ids: it is not remembered
    /// here, and equal ones have an id each.
    pub fn new_bytes(&mut self, text: &[u8]) -> StringId {
        self.new_string(text)
    }

    /// Makes room for the next definitions of so many strings and functions.
    pub fn reserve(&mut self, strings: usize, functions: usize) {
        self.new.strings.reserve(strings);
        self.new.functions.reserve(functions);
    }

    /// Interns a string of which a recording may hold any number: a parameter's value, a message.
    ///
    /// Equal values share an id while they are near each other; the tables forget them in between, so
    /// that memory does not follow the input. [`Tables::string_bytes`] does not know them.
    pub fn value(&mut self, text: &[u8]) -> StringId {
        // Hashed once for both tables and the remembering.
        let hash = self.strings.hasher().hash_one(text);
        let strings = self.strings.raw_entry_v1();
        if let Some((_, &id)) = strings.from_key_hashed_nocheck(hash, text) {
            return id;
        }
        if let Some(id) = self.values.get(hash, text) {
            return id;
        }
        if self.value_bytes > VALUE_BYTES {
            self.retired.extend(self.values.drain());
            self.unsettled = true;
            self.value_bytes = 0;
        }
        let id = self.new_string(text);
        self.value_bytes += text.len() + VALUE_COST;
        let other = self.values.insert(hash, text, id);
        self.retired.extend(other);
        id
    }

    /// Adds a string that only the rows of the next batches refer to.
    ///
    /// Equal strings share an id up to the next [`Tables::take_definitions`]. When the batches are
    /// pushed, [`Tables::take_passed`] has what the sink may forget.
    pub fn passing(&mut self, text: &[u8]) -> StringId {
        let hash = self.passing.hasher().hash_one(text);
        if let Some(&at) = self.passing.get(&hash)
            && let Some((id, known)) = self.new.strings.get(at as usize)
            && known.as_bytes() == text
        {
            return *id;
        }
        self.passing
            .insert(hash, row_number(self.new.strings.len()));
        let id = self.new_string(text);
        self.passed.push(id);
        id
    }

    /// Returns true if there are more values for [`Tables::settle`] than when it was called last.
    #[must_use]
    pub const fn has_retired(&self) -> bool {
        self.unsettled
    }

    /// Lets the values pass that are shared no more and that no row to come tells of: all but `held`.
    ///
    /// What rows of a reader are still open, only the reader knows. One that asks now and then whether
    /// there is something to settle has sinks whose memory does not follow its values.
    pub fn settle(&mut self, held: &HashSet<StringId, RandomState>) {
        let (kept, passed): (Vec<_>, Vec<_>) = std::mem::take(&mut self.retired)
            .into_iter()
            .partition(|id| held.contains(id));
        self.retired = kept;
        self.unsettled = false;
        self.passed.extend(passed);
    }

    /// Returns the strings that were defined to pass with the batches just pushed, for
    /// [`crate::Sink::forget`].
    pub fn take_passed(&mut self) -> Vec<StringId> {
        std::mem::take(&mut self.passed)
    }

    fn new_string(&mut self, text: &[u8]) -> StringId {
        let id = StringId::new(count(&mut self.next_string));
        self.new.strings.push((id, Text::from_bytes(text.to_vec())));
        id
    }

    /// Returns the bytes of a string interned here, empty for a value.
    #[must_use]
    pub fn string_bytes(&self, id: StringId) -> &[u8] {
        let found = self.strings.binary_search_by(|_, known| known.cmp(&id));
        let row = found.ok().and_then(|at| self.strings.get_index(at));
        row.map_or(&[], |(bytes, _)| bytes)
    }

    /// Interns a track: equal tracks are one.
    ///
    /// A table uses either this or [`Tables::new_track`], because both number tracks from 0.
    pub fn track(&mut self, track: Track) -> TrackId {
        debug_assert_eq!(
            self.own_tracks, 0,
            "tracks are interned or numbered, not both"
        );
        intern(&mut self.tracks, &mut self.new.tracks, TrackId::new, track)
    }

    /// Adds a track with an identity of its own; [`Tables::redefine_track`] may name it later.
    pub fn new_track(&mut self, track: Track) -> TrackId {
        debug_assert!(
            self.tracks.is_empty(),
            "tracks are interned or numbered, not both"
        );
        let id = TrackId::new(count(&mut self.own_tracks));
        self.new.tracks.push((id, track));
        id
    }

    /// Gives a track a new row under its old id.
    pub fn redefine_track(&mut self, id: TrackId, track: Track) {
        self.new.tracks.push((id, track));
    }

    /// Adds a resource.
    pub fn resource(&mut self, resource: Resource) -> ResourceId {
        let id = ResourceId::new(count(&mut self.resources));
        self.new.resources.push((id, resource));
        id
    }

    /// Interns a class.
    pub fn class(&mut self, class: Class) -> ClassId {
        intern(
            &mut self.classes,
            &mut self.new.classes,
            ClassId::new,
            class,
        )
    }

    /// Interns a function.
    ///
    /// A table uses either this or [`Tables::new_function`], because both number functions from 0.
    pub fn function(&mut self, function: Function) -> FunctionId {
        debug_assert_eq!(
            self.own_functions, 0,
            "functions are interned or numbered, not both"
        );
        intern(
            &mut self.functions,
            &mut self.new.functions,
            FunctionId::new,
            function,
        )
    }

    /// Adds a function that the reader knows to be new, or that nobody compares by its id.
    pub fn new_function(&mut self, function: Function) -> FunctionId {
        debug_assert!(
            self.functions.is_empty(),
            "functions are interned or numbered, not both"
        );
        let id = FunctionId::new(count(&mut self.own_functions));
        self.new.functions.push((id, function));
        id
    }

    /// Interns a mapping.
    pub fn mapping(&mut self, mapping: Mapping) -> MappingId {
        intern(
            &mut self.mappings,
            &mut self.new.mappings,
            MappingId::new,
            mapping,
        )
    }

    /// Interns a frame.
    pub fn frame(&mut self, frame: Frame) -> FrameId {
        intern(&mut self.frames, &mut self.new.frames, FrameId::new, frame)
    }

    /// Interns a stack.
    ///
    /// A table uses either this or [`Tables::new_stack`], because both number stacks from 0.
    pub fn stack(&mut self, stack: Stack) -> StackId {
        debug_assert_eq!(
            self.own_stacks, 0,
            "stacks are interned or numbered, not both"
        );
        intern(&mut self.stacks, &mut self.new.stacks, StackId::new, stack)
    }

    /// Adds a stack that the reader knows to be new: readers that tell stacks apart by less than a
    /// row need not have them hashed again.
    pub fn new_stack(&mut self, stack: Stack) -> StackId {
        debug_assert!(
            self.stacks.is_empty(),
            "stacks are interned or numbered, not both"
        );
        let id = StackId::new(count(&mut self.own_stacks));
        self.new.stacks.push((id, stack));
        id
    }

    /// Interns a value type.
    pub fn value_type(&mut self, value_type: ValueType) -> ValueTypeId {
        intern(
            &mut self.value_types,
            &mut self.new.value_types,
            ValueTypeId::new,
            value_type,
        )
    }

    /// Interns a counter series.
    pub fn series(&mut self, series: Series) -> SeriesId {
        intern(
            &mut self.series,
            &mut self.new.series,
            SeriesId::new,
            series,
        )
    }

    /// Interns an attribute key.
    pub fn attribute_key(&mut self, key: AttributeKey) -> AttrKeyId {
        intern(
            &mut self.attribute_keys,
            &mut self.new.attribute_keys,
            AttrKeyId::new,
            key,
        )
    }

    /// Interns an attribute key of which only the name is known.
    pub fn attribute_named(&mut self, name: &str) -> AttrKeyId {
        let name = self.string(name);
        self.attribute_key(AttributeKey::named(name))
    }

    /// Adds a profile.
    pub fn profile(&mut self, profile: Profile) -> ProfileId {
        let id = ProfileId::new(count(&mut self.profiles));
        self.new.profiles.push((id, profile));
        id
    }

    /// Gives a profile a new row under its old id.
    pub fn redefine_profile(&mut self, id: ProfileId, profile: Profile) {
        self.new.profiles.push((id, profile));
    }

    /// Adds an event type.
    pub fn event_type(&mut self, event_type: EventType) -> EventTypeId {
        let id = EventTypeId::new(count(&mut self.event_types));
        self.new.event_types.push((id, event_type));
        id
    }

    /// Adds an exception.
    pub fn exception(&mut self, exception: Exception) -> ExceptionId {
        let id = ExceptionId::new(count(&mut self.exceptions));
        self.new.exceptions.push((id, exception));
        id
    }

    /// Reserves the id of a span that starts.
    pub fn reserve_span(&mut self) -> SpanId {
        self.reserve_spans(1)
    }

    /// Reserves the ids of so many spans, the first of which it returns.
    pub fn reserve_spans(&mut self, count: u64) -> SpanId {
        let first = SpanId(self.spans);
        self.spans += count;
        first
    }

    /// Pushes what was defined since the last call, if anything was.
    pub fn push_definitions(&mut self, sink: &mut dyn crate::Sink) -> crate::Flow {
        let new = self.take_definitions();
        if new.is_empty() {
            return crate::Flow::Continue(());
        }
        sink.define(new)
    }

    /// Returns what was defined since the last call, for [`crate::Sink::define`].
    pub fn take_definitions(&mut self) -> Definitions {
        self.passing.clear();
        std::mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passing_strings_are_shared_until_they_are_defined() {
        let mut tables = Tables::new();
        let name = tables.string("GET");
        let first = tables.passing(b"/orders/1");
        assert_ne!(tables.passing(b"GET"), name);
        assert_eq!(tables.passing(b"/orders/1"), first);
        let definitions = tables.take_definitions();
        let texts: Vec<_> = definitions
            .strings
            .iter()
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(texts, [Some("GET"), Some("/orders/1"), Some("GET")]);
        let second = tables.passing(b"/orders/1");
        assert_ne!(second, first);
        assert_eq!(tables.take_passed().len(), 3);
        assert_eq!(tables.take_passed(), []);
    }

    #[test]
    fn values_pass_once_no_open_row_tells_of_them() {
        let mut tables = Tables::new();
        let open = tables.value(b"/orders/open");
        let name = tables.string("web.url");
        for number in 0..100_000 {
            tables.value(format!("/orders/{number}").as_bytes());
        }
        assert!(tables.has_retired());
        let held = std::iter::once(open).collect();
        tables.settle(&held);
        let passed = tables.take_passed();
        assert!(passed.len() > 30_000 && passed.len() < 100_000);
        assert!(!passed.contains(&open) && !passed.contains(&name));
        tables.settle(&HashSet::default());
        assert_eq!(tables.take_passed(), [open]);
        assert!(!tables.has_retired());
    }

    #[test]
    fn values_are_forgotten_and_strings_are_not() {
        let mut tables = Tables::new();
        let name = tables.string("web.url");
        let first = tables.value(b"/orders/0");
        assert_eq!(tables.value(b"/orders/0"), first);
        for number in 1..200_000 {
            tables.value(format!("/orders/{number}").as_bytes());
            let _ = tables.take_definitions();
        }
        assert!(tables.has_retired());
        assert_ne!(tables.value(b"/orders/0"), first);
        assert_eq!(tables.value(b"web.url"), name);
        let last = tables.string("web.method");
        assert_eq!(tables.string_bytes(name), b"web.url");
        assert_eq!(tables.string_bytes(last), b"web.method");
        assert_eq!(tables.string_bytes(first), b"");
    }
}
