//! The table that counts objects.

mod sink;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{
    AttrKeyId, Attribute, ClassId, Clock, EventBatch, EventRow, EventTypeId, ObjectId, ObjectRow,
    ProfileId, Recording, StringId, Timestamp, Value,
};

use crate::filter::EventFilter;
use crate::filter::Filter;

use super::census::Census;
use super::collections::Collections;
use super::row::{Ages, Amount, ClassRow, Collection, Objects, Referrer};
use super::tracked::Tracked;

/// What an [`ObjectTable`] keeps.
#[derive(Clone, Copy, Debug)]
pub struct ObjectOptions {
    /// Most objects followed from their birth to their end: 16 bytes each where ids count up, else 40.
    pub most_objects: usize,
    /// Most collections, and most classes over all of them.
    pub most_collections: usize,
    /// Most pairs of classes that refer to each other.
    pub most_pairs: usize,
}

impl Default for ObjectOptions {
    fn default() -> Self {
        Self {
            most_objects: 16 << 20,
            most_collections: 1 << 20,
            most_pairs: 1 << 20,
        }
    }
}

/// A class while it is counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassTally {
    pub allocated: Amount,
    pub freed: Amount,
    pub live: Amount,
    pub sampled_live: Amount,
    pub freed_ages: Ages,
    pub live_ages: Ages,
    roots: u64,
    references: u64,
}

/// A class, as the producer told it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ClassNames {
    Nothing,
    Class(ClassId),
    Name(StringId),
}

/// Classes by number.
#[derive(Debug, Default)]
pub(super) struct Classes {
    numbers: HashMap<ClassNames, u32, RandomState>,
    rows: Vec<ClassTally>,
}

impl Classes {
    fn number(&mut self, told: ClassNames) -> u32 {
        let next = row_number(self.rows.len());
        let number = *self.numbers.entry(told).or_insert(next);
        if number == next {
            self.rows.push(ClassTally::default());
        }
        number
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "numbers are handed out by this table"
    )]
    pub fn tally(&mut self, number: u32) -> &mut ClassTally {
        &mut self.rows[number as usize]
    }
}

/// What an event means here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EventMeaning {
    Nothing,
    Free,
    Collection,
    Counted,
    HeapUsed,
}

/// What a field of an event or sample tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FieldMeaning {
    Nothing,
    Class,
    /// A structure whose field `type` is the class.
    Object,
    Age,
    Number,
    Count,
    Bytes,
    Used,
    When,
    /// The id that may move, where the other one is not given.
    Moving,
}

/// Columns of a heap profile: objects and bytes, allocated and live.
#[derive(Clone, Copy, Debug, Default)]
struct HeapColumns {
    allocated: (Option<usize>, Option<usize>),
    live: (Option<usize>, Option<usize>),
}

/// Counts objects by class as they pass.
///
/// Memory is what the options allow, and the definitions of the input. The objects of a flush come after
/// its events, so a batch of events is held until they do, and the two are merged by time.
#[derive(Debug, Default)]
pub struct ObjectTable {
    options: ObjectOptions,
    tables: Recording,
    result: Objects,
    classes: Classes,
    tracked: Tracked,
    census: Census,
    collections: Collections,
    pairs: HashMap<(u32, u32), u64, RandomState>,
    meanings: Vec<Option<EventMeaning>>,
    tells: HashMap<AttrKeyId, FieldMeaning, RandomState>,
    profiles: HashMap<ProfileId, Option<HeapColumns>, RandomState>,
    held: Option<EventBatch>,
    waiting: Vec<ObjectRow>,
    filter: Option<EventFilter>,
}

impl ObjectTable {
    /// An empty table.
    #[must_use]
    pub fn new(options: ObjectOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Counts only objects that `filter` accepts: by their class, their size, and where, when and by which thread
    /// they were allocated; of a heap that is counted by class, by the class.
    #[must_use]
    pub fn choosing(self, filter: Filter) -> Self {
        Self {
            filter: (!filter.is_empty()).then(|| EventFilter::new(filter)),
            ..self
        }
    }

    /// Returns true if something of a class counts, and remembers when it does not.
    fn counts(
        &mut self,
        class: ClassNames,
        accepts: impl FnOnce(&mut EventFilter, &Recording, Option<&str>) -> bool,
    ) -> bool {
        let Some(mut filter) = self.filter.take() else {
            return true;
        };
        let name = self.class_name(class);
        let counts = accepts(&mut filter, &self.tables, name.as_deref());
        self.result.refused += u64::from(!counts);
        self.filter = Some(filter);
        counts
    }

    /// Returns the class of an object, and true if references to it count.
    fn referred(&mut self, id: ObjectId) -> (u32, bool) {
        match self.tracked.class_of(id) {
            Some(class) => (class, !self.tracked.refuses(id)),
            None => {
                let filter = self.filter.as_ref();
                let counts = filter.is_none_or(|filter| filter.accepts_unknown(&self.tables));
                (self.classes.number(ClassNames::Nothing), counts)
            }
        }
    }

    /// Returns what was counted.
    #[must_use]
    pub fn finish(mut self) -> Objects {
        self.release();
        let most = self.options.most_collections;
        let after_a_collection = self.tracked.collections > 0;
        let deltas = self.collections.last.clone();
        if after_a_collection && !self.tracked.interval.is_empty() {
            let live = self.live();
            let row = Collection::default();
            self.collections.close(row, &mut self.tracked, live, most);
        }
        self.tracked.age(&mut self.classes);
        let counted = !self.census.counts.is_empty();
        let mut rows = vec![ClassRow::default(); self.classes.rows.len()];
        for (row, tally) in rows.iter_mut().zip(&self.classes.rows) {
            let followed = self.result.source.tracked || self.result.source.dumped;
            *row = ClassRow {
                class: None,
                allocated: tally.allocated,
                freed: tally.freed,
                live: if followed {
                    tally.live
                } else {
                    tally.sampled_live
                },
                delta: after_a_collection.then_some(super::Change::default()),
                freed_ages: tally.freed_ages,
                live_ages: tally.live_ages,
                roots: tally.roots,
                references: tally.references,
                held_by: Vec::new(),
            };
        }
        for (&class, &change) in &deltas {
            if let Some(row) = rows.get_mut(class as usize) {
                row.delta = Some(change);
            }
        }
        if let (Some(last), before) = self.census.last_two() {
            for row in &mut rows {
                row.live = Amount::default();
                row.delta = before.map(|_| super::Change::default());
            }
            for (&class, &amount) in &last.classes {
                if let Some(row) = rows.get_mut(class as usize) {
                    row.live = amount;
                }
            }
            for (class, change) in before.map_or_else(Vec::new, |before| last.since(before)) {
                if let Some(row) = rows.get_mut(class as usize) {
                    row.delta = Some(change);
                }
            }
        }
        let mut names: Vec<Option<String>> = vec![None; rows.len()];
        for (&told, &number) in &self.classes.numbers {
            if let Some(name) = names.get_mut(number as usize) {
                *name = self.class_name(told);
            }
        }
        let name = |number: u32| names.get(number as usize).cloned().flatten();
        for (&(from, to), &references) in &self.pairs {
            if let Some(row) = rows.get_mut(to as usize) {
                let by = name(from);
                row.held_by.push(Referrer { by, references });
            }
        }
        for (row, name) in rows.iter_mut().zip(&names) {
            row.class.clone_from(name);
        }
        let rows = ClassRow::joined(rows);
        let collections = self.collections.left_out;
        self.result.collections = self.collections.finish(&self.census, most);
        self.result.names = names;
        self.result.dated = self.tables.clock == Clock::Unix;
        self.result.collections_left_out = collections;
        self.result.source.counted = counted;
        self.result.crowded_out = self.tracked.crowded_out;
        self.result.classes = rows;
        self.result
    }

    fn class_name(&self, told: ClassNames) -> Option<String> {
        let name = match told {
            ClassNames::Nothing => return None,
            ClassNames::Class(id) => match self.tables.class(id) {
                Some(row) => row.name,
                None => return Some(format!("#{}", id.raw())),
            },
            ClassNames::Name(name) => name,
        };
        Some(self.tables.text(name).into_owned())
    }

    fn live(&self) -> Amount {
        let mut live = Amount::default();
        let rows = self.classes.rows.iter();
        rows.for_each(|tally| live.add(tally.live));
        live
    }

    fn meaning(&mut self, event_type: EventTypeId) -> EventMeaning {
        let at = event_type.index();
        if self.meanings.len() <= at {
            self.meanings.resize(at + 1, None);
        }
        let tables = &self.tables;
        let Some(slot) = self.meanings.get_mut(at) else {
            return EventMeaning::Nothing;
        };
        if slot.is_none() {
            let Some(row) = tables.event_type(event_type) else {
                return EventMeaning::Nothing;
            };
            let name = tables.text(row.name);
            let mut fields = row
                .fields
                .iter()
                .filter_map(|&key| tables.attribute_key(key));
            *slot = Some(match name.strip_prefix("com.oracle.").unwrap_or(&name) {
                "obj_free" => EventMeaning::Free,
                "gc" | "gc_finish" | "jdk.GarbageCollection" => EventMeaning::Collection,
                "jdk.ObjectCount" | "jdk.ObjectCountAfterGC" => EventMeaning::Counted,
                "jdk.GCHeapSummary" => EventMeaning::HeapUsed,
                // A collector's log: its pauses say what the heap was.
                _ if fields.any(|key| tables.text(key.name) == "heap_after") => {
                    EventMeaning::Collection
                }
                _ => EventMeaning::Nothing,
            });
        }
        slot.unwrap_or(EventMeaning::Nothing)
    }

    fn tells(&mut self, key: AttrKeyId) -> FieldMeaning {
        let tables = &self.tables;
        *self.tells.entry(key).or_insert_with(|| {
            let name = tables.attribute_key(key).map(|row| tables.text(row.name));
            match name.as_deref() {
                Some("objectClass") => FieldMeaning::Class,
                Some("object") => FieldMeaning::Object,
                Some("obj_age" | "age") => FieldMeaning::Age,
                Some("gcId" | "number") => FieldMeaning::Number,
                Some("count") => FieldMeaning::Count,
                Some("totalSize") => FieldMeaning::Bytes,
                Some("used_obj_space" | "heap_after" | "heapUsed") => FieldMeaning::Used,
                Some("when") => FieldMeaning::When,
                Some("transient_obj_id_ref") => FieldMeaning::Moving,
                _ => FieldMeaning::Nothing,
            }
        })
    }

    fn find<'a>(&mut self, attributes: &'a [Attribute], wanted: FieldMeaning) -> Option<&'a Value> {
        let mut found = attributes.iter();
        let found = found.find(|attribute| self.tells(attribute.key) == wanted);
        found.map(|attribute| &attribute.value)
    }

    fn number(&mut self, attributes: &[Attribute], wanted: FieldMeaning) -> Option<u64> {
        match *self.find(attributes, wanted)? {
            Value::U64(number) => Some(number),
            Value::I64(number) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    fn named_class(&mut self, attributes: &[Attribute]) -> Option<ClassNames> {
        if let Some(&Value::Text(name)) = self.find(attributes, FieldMeaning::Class) {
            return Some(ClassNames::Name(name));
        }
        let Some(Value::Map(fields)) = self.find(attributes, FieldMeaning::Object) else {
            return None;
        };
        let tables = &self.tables;
        let is_type =
            |key: &Value| matches!(key, Value::Text(name) if tables.text(*name) == "type");
        fields.iter().find_map(|(key, value)| match value {
            Value::Text(name) if is_type(key) => Some(ClassNames::Name(*name)),
            _ => None,
        })
    }

    /// Merges the events and objects that wait.
    fn release(&mut self) {
        self.tracked.forget_ended();
        let objects = std::mem::take(&mut self.waiting);
        let mut objects = objects.iter().peekable();
        let batch = self.held.take().unwrap_or_default();
        self.result.events += batch.len() as u64;
        for row in batch.iter() {
            let meaning = self.meaning(row.event_type);
            if meaning == EventMeaning::Nothing {
                continue;
            }
            let object = match (row.object, meaning) {
                (None, EventMeaning::Free) => self
                    .number(row.attributes, FieldMeaning::Moving)
                    .map(ObjectId),
                (object, _) => object,
            };
            let time = row.end.unwrap_or(row.time);
            while let Some(born) = objects.next_if(|born| {
                let at = born.time.unwrap_or(Timestamp::MIN);
                // At the same time: the end of an object that lives comes before its id is given out again.
                let ends = object.is_some_and(|id| self.tracked.lives(id));
                at < time || (at == time && !ends)
            }) {
                self.allocate(born);
            }
            self.event(meaning, object, &row);
        }
        for born in objects {
            self.allocate(born);
        }
    }

    fn allocate(&mut self, row: &ObjectRow) {
        let told = row.class.map_or(ClassNames::Nothing, ClassNames::Class);
        let counts = self.counts(told, |filter, tables, class| {
            filter.accepts_object(tables, row, class)
        });
        let class = self.classes.number(told);
        match row.time {
            Some(_) => self.result.source.tracked = true,
            None => self.result.source.dumped = true,
        }
        let most = self.options.most_objects;
        let classes = &mut self.classes;
        self.tracked.allocate(row, class, counts, most, classes);
    }

    fn event(&mut self, meaning: EventMeaning, object: Option<ObjectId>, row: &EventRow<'_>) {
        let most = self.options.most_collections;
        match meaning {
            EventMeaning::Nothing => {}
            EventMeaning::Free => {
                let age = self.number(row.attributes, FieldMeaning::Age);
                let id = object.unwrap_or(ObjectId(0));
                self.tracked.seen = true;
                self.result.source.tracked = true;
                if !self.tracked.free(id, age, &mut self.classes)
                    && self.counts(ClassNames::Nothing, |filter, tables, class| {
                        filter.accepts_about(tables, row, class)
                    })
                {
                    let unknown = self.classes.number(ClassNames::Nothing);
                    let tally = self.classes.tally(unknown);
                    self.tracked.free_unknown(unknown, age, tally);
                }
            }
            EventMeaning::Collection => {
                let number = self.number(row.attributes, FieldMeaning::Number);
                let found = Collection {
                    number: number.unwrap_or_else(|| self.collections.next_number()),
                    time: Some(row.time),
                    took: row.end.map(|end| end.max(row.time).abs_diff(row.time)),
                    used: self.number(row.attributes, FieldMeaning::Used),
                    ..Collection::default()
                };
                let live = self.live();
                self.collections.close(found, &mut self.tracked, live, most);
            }
            EventMeaning::Counted => {
                let number = self
                    .number(row.attributes, FieldMeaning::Number)
                    .unwrap_or(0);
                let class = self
                    .named_class(row.attributes)
                    .unwrap_or(ClassNames::Nothing);
                if !self.counts(class, |filter, tables, class| {
                    filter.accepts_about(tables, row, class)
                }) {
                    return;
                }
                let class = self.classes.number(class);
                let amount = Amount {
                    count: self
                        .number(row.attributes, FieldMeaning::Count)
                        .unwrap_or(0),
                    bytes: self
                        .number(row.attributes, FieldMeaning::Bytes)
                        .unwrap_or(0),
                };
                self.census.add(number, row.time, class, amount, most);
            }
            EventMeaning::HeapUsed => {
                let after = match self.find(row.attributes, FieldMeaning::When) {
                    Some(&Value::Text(when)) => self.tables.text(when).starts_with("After"),
                    _ => false,
                };
                let number = self.number(row.attributes, FieldMeaning::Number);
                let used = self.number(row.attributes, FieldMeaning::Used);
                if let (true, Some(number), Some(used)) = (after, number, used) {
                    self.collections.used(number, used, most);
                }
            }
        }
    }

    fn columns(&mut self, profile: ProfileId) -> Option<HeapColumns> {
        if let Some(known) = self.profiles.get(&profile) {
            return *known;
        }
        let tables = &self.tables;
        let row = tables.profile(profile)?;
        let names: Vec<_> = row
            .value_types
            .iter()
            .map(|&id| tables.value_type(id).map(|row| tables.text(row.name)))
            .collect();
        let find = |wanted: &[&str]| {
            let mut names = names.iter();
            names.position(|name| {
                name.as_ref()
                    .is_some_and(|name| wanted.contains(&name.as_ref()))
            })
        };
        let columns = HeapColumns {
            allocated: (
                find(&["alloc_objects", "alloc_tlab_events", "alloc_sample_events"]),
                find(&["alloc", "alloc_space", "alloc_tlab", "alloc_sample"]),
            ),
            live: (
                find(&["live_objects", "inuse_objects", "old_objects"]),
                find(&["live", "inuse_space", "old_object_size"]),
            ),
        };
        let some =
            |(count, bytes): (Option<usize>, Option<usize>)| count.is_some() || bytes.is_some();
        let columns = (some(columns.allocated) || some(columns.live)).then_some(columns);
        self.profiles.insert(profile, columns);
        columns
    }
}
