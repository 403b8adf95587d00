//! The sink that adds waits up.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, AttrKeyId, Attribute, ClassId, Definitions, EventBatch, EventRow, EventTypeId, Flow,
    Note, ObjectBatch, ObjectId, ProfileId, Recording, SampleBatch, SampleRow, Sink, StackId,
    StringId, Timestamp, TrackId, Value, Wants,
};

use crate::filter::EventFilter;
use crate::filter::Filter;

use super::{Monitor, Monitors, Share, WaitKind, Waits};

/// What a [`MonitorTable`] keeps.
#[derive(Clone, Copy, Debug)]
pub struct MonitorOptions {
    /// One row a class instead of one an object: collectors that move objects change their addresses.
    pub by_class: bool,
    /// Most rows.
    pub most_monitors: usize,
    /// Most shares of threads, owners and stacks over all rows.
    pub most_shares: usize,
    /// Most objects whose class is remembered for when somebody waits for them.
    pub most_objects: usize,
}

impl Default for MonitorOptions {
    fn default() -> Self {
        Self {
            by_class: false,
            most_monitors: 1 << 18,
            most_shares: 1 << 20,
            most_objects: 1 << 20,
        }
    }
}

/// What a row is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct MonitorKey {
    object: Option<ObjectId>,
    generation: u32,
    class: ClassRecord,
}

/// A class, as the producer told it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ClassRecord {
    Unknown,
    Known(ClassId),
    Named(StringId),
    /// A lock as a thread dump prints it, `<0x…> (a java.util.LinkedList)`.
    Printed(StringId),
}

/// What a row is called: rows of one name are one.
#[derive(PartialEq, Eq, Hash, Debug)]
struct MonitorName {
    object: Option<ObjectId>,
    generation: u32,
    class: Option<String>,
}

/// An object under the id that it had from `since` on.
#[derive(Clone, Copy, Debug)]
struct MonitorVersion {
    since: Timestamp,
    generation: u32,
    class: Option<ClassId>,
}

#[derive(Debug, Default)]
struct GrowingMonitor {
    waits: [Waits; 3],
    threads: Shares<TrackId>,
    owners: Shares<TrackId>,
    stacks: Shares<StackId>,
}

impl GrowingMonitor {
    fn append(&mut self, other: Self) {
        for (own, other) in self.waits.iter_mut().zip(other.waits) {
            own.append(other);
        }
        self.threads.append(other.threads);
        self.owners.append(other.owners);
        self.stacks.append(other.stacks);
    }
}

#[derive(Debug)]
struct Shares<I>(HashMap<Option<I>, (u64, u64), RandomState>);

impl<I> Default for Shares<I> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<I: Copy + Eq + Hash + Ord> Shares<I> {
    /// Adds to the share of `of`, or to the one of nobody when there is no room for another.
    fn add(&mut self, of: Option<I>, length: Option<u64>, room: &mut usize) {
        let of = of.filter(|of| *room > 0 || self.0.contains_key(&Some(*of)));
        let share = match self.0.entry(of) {
            Entry::Occupied(share) => share.into_mut(),
            Entry::Vacant(empty) => {
                *room = room.saturating_sub(1);
                empty.insert((0, 0))
            }
        };
        share.0 += 1;
        share.1 = share.1.saturating_add(length.unwrap_or(0));
    }

    fn append(&mut self, other: Self) {
        for (of, (count, total)) in other.0 {
            let share = self.0.entry(of).or_default();
            share.0 += count;
            share.1 = share.1.saturating_add(total);
        }
    }

    fn finish(self) -> Vec<Share<I>> {
        let shares = self.0.into_iter();
        let mut shares: Vec<Share<I>> = shares
            .map(|(of, (count, total))| Share { of, count, total })
            .collect();
        shares.sort_unstable_by(|a, b| {
            let falling = (b.total, b.count).cmp(&(a.total, a.count));
            falling.then(a.of.cmp(&b.of))
        });
        shares
    }
}

/// What the value of an attribute or label tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LabelMeaning {
    Nothing,
    Class,
    Lock,
    State,
}

/// Adds up waits as they pass.
///
/// Memory is bounded by the options and by the definitions of the input. The objects of a flush come
/// after its events, so a batch of events is held until they do, or the next batch.
#[derive(Debug, Default)]
pub struct MonitorTable {
    options: MonitorOptions,
    result: Monitors,
    rows: HashMap<MonitorKey, GrowingMonitor, RandomState>,
    kinds: Vec<Option<Option<WaitKind>>>,
    tells: HashMap<AttrKeyId, LabelMeaning, RandomState>,
    held: Option<EventBatch>,
    /// Objects for which somebody may wait, by their ids: most producers count them up.
    objects: Vec<(ObjectId, Option<ClassId>)>,
    /// Those whose ids come in no order, or were given out again.
    others: HashMap<ObjectId, MonitorVersion, RandomState>,
    /// Versions that objects of the held batch's time were replaced by.
    earlier: Vec<(ObjectId, MonitorVersion)>,
    threads: HashMap<ObjectId, TrackId, RandomState>,
    /// The last contention of each thread for each object.
    entered: HashMap<(TrackId, ObjectId), (Timestamp, Timestamp), RandomState>,
    shares: usize,
    filter: Option<EventFilter>,
}

impl MonitorTable {
    /// An empty table.
    #[must_use]
    pub fn new(options: MonitorOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Counts only waits that `filter` accepts: its `class` is that of the object, its `duration` that of the wait.
    #[must_use]
    pub fn choosing(self, filter: Filter) -> Self {
        Self {
            filter: (!filter.is_empty()).then(|| EventFilter::new(filter)),
            ..self
        }
    }

    /// Returns the rows.
    #[must_use]
    pub fn finish(mut self) -> Monitors {
        self.release();
        let mut named: HashMap<MonitorName, GrowingMonitor, RandomState> = HashMap::default();
        for (key, row) in std::mem::take(&mut self.rows) {
            match named.entry(self.name(key)) {
                Entry::Vacant(empty) => {
                    empty.insert(row);
                }
                Entry::Occupied(known) => known.into_mut().append(row),
            }
        }
        let rows = named.into_iter().map(|(name, row)| self.row(name, row));
        let mut rows: Vec<Monitor> = rows.collect();
        rows.sort_by(|a, b| {
            let rank = |row: &Monitor| {
                let contended = row.of(WaitKind::Contended);
                let sighted = contended.count + contended.seen;
                (contended.total, row.total(), sighted, row.count())
            };
            let name = |row: &Monitor| (row.class.clone(), row.object, row.generation);
            rank(b).cmp(&rank(a)).then_with(|| name(a).cmp(&name(b)))
        });
        self.result.rows = rows;
        self.result
    }

    fn name(&self, key: MonitorKey) -> MonitorName {
        let object = match key.class {
            ClassRecord::Printed(lock) => address(&self.result.tables.text(lock)),
            _ => key.object,
        };
        MonitorName {
            object: object.filter(|_| !self.options.by_class),
            generation: key.generation,
            class: self.class_name(key.class).map(Cow::into_owned),
        }
    }

    fn class_name(&self, class: ClassRecord) -> Option<Cow<'_, str>> {
        let tables = &self.result.tables;
        match class {
            ClassRecord::Unknown => None,
            ClassRecord::Known(id) => tables.class(id).map(|row| tables.text(row.name)),
            ClassRecord::Named(name) => Some(tables.text(name)),
            ClassRecord::Printed(lock) => match tables.text(lock) {
                Cow::Borrowed(lock) => printed_class(lock).map(Cow::Borrowed),
                Cow::Owned(lock) => printed_class(&lock).map(|class| class.to_owned().into()),
            },
        }
    }

    /// Returns true if a wait counts, and remembers when it does not.
    fn counts(
        &mut self,
        class: ClassRecord,
        accepts: impl FnOnce(&mut EventFilter, &Recording, Option<&str>) -> bool,
    ) -> bool {
        let Some(mut filter) = self.filter.take() else {
            return true;
        };
        let name = self.class_name(class);
        let counts = accepts(&mut filter, &self.result.tables, name.as_deref());
        self.result.refused += u64::from(!counts);
        self.filter = Some(filter);
        counts
    }

    fn row(&self, name: MonitorName, row: GrowingMonitor) -> Monitor {
        let threads = &self.threads;
        Monitor {
            of_thread: name.object.and_then(|object| threads.get(&object).copied()),
            object: name.object,
            generation: name.generation,
            class: name.class,
            waits: row.waits,
            threads: row.threads.finish(),
            owners: row.owners.finish(),
            stacks: row.stacks.finish(),
        }
    }

    fn kind(&mut self, event_type: EventTypeId) -> Option<WaitKind> {
        let at = event_type.index();
        if self.kinds.len() <= at {
            self.kinds.resize(at + 1, None);
        }
        let slot = self.kinds.get_mut(at)?;
        if slot.is_none() {
            let tables = &self.result.tables;
            let name = tables.text(tables.event_type(event_type)?.name);
            *slot = Some(WaitKind::of_event(&name));
        }
        slot.flatten()
    }

    fn tells(&mut self, key: AttrKeyId) -> LabelMeaning {
        let tables = &self.result.tables;
        *self.tells.entry(key).or_insert_with(|| {
            let name = tables.attribute_key(key).map(|row| tables.text(row.name));
            match name.as_deref() {
                Some("monitorClass" | "parkedClass") => LabelMeaning::Class,
                Some("lock") => LabelMeaning::Lock,
                Some("state") => LabelMeaning::State,
                _ => LabelMeaning::Nothing,
            }
        })
    }

    fn find(&mut self, attributes: &[Attribute], wanted: LabelMeaning) -> Option<StringId> {
        attributes
            .iter()
            .find_map(|attribute| match attribute.value {
                Value::Text(text) if self.tells(attribute.key) == wanted => Some(text),
                _ => None,
            })
    }

    /// Adds the events that wait for the objects of their time.
    fn release(&mut self) {
        let Some(batch) = self.held.take() else {
            return;
        };
        self.result.events += batch.len() as u64;
        // In the order of their ends: what lies in a wait comes before it.
        let ends = batch.end.iter().zip(&batch.time);
        let ends: Vec<Timestamp> = ends.map(|(end, time)| end.unwrap_or(*time)).collect();
        let mut order: Vec<usize> = (0..batch.len()).collect();
        order.sort_by_key(|&at| ends.get(at));
        for row in order.into_iter().filter_map(|at| batch.row(at)) {
            match self.kind(row.event_type) {
                Some(kind) => self.event(kind, &row),
                None => self.other(&row),
            }
        }
        self.earlier.clear();
    }

    fn event(&mut self, kind: WaitKind, row: &EventRow<'_>) {
        let named = self.find(row.attributes, LabelMeaning::Class);
        let version = row.object.and_then(|object| self.version(object, row.time));
        let class = match (named, version) {
            (Some(name), _) => ClassRecord::Named(name),
            (
                None,
                Some(MonitorVersion {
                    class: Some(class), ..
                }),
            ) => ClassRecord::Known(class),
            (None, _) => ClassRecord::Unknown,
        };
        let generation = version.map_or(0, |version| version.generation);
        let length = row.end.map(|end| end.max(row.time).abs_diff(row.time));
        let length = length.map(|length| length.saturating_sub(self.reentry(kind, row)));
        if !self.counts(class, |filter, tables, class| {
            filter.accepts_about(tables, row, class)
        }) {
            return;
        }
        let by_class = self.options.by_class;
        let key = MonitorKey {
            object: row.object.filter(|_| !by_class),
            generation: if by_class { 0 } else { generation },
            class,
        };
        let owner = (kind == WaitKind::Contended).then_some(row.owner).flatten();
        self.add(key, |found, room| {
            let [contended, waited, parked] = &mut found.waits;
            match kind {
                WaitKind::Contended => contended.add(length),
                WaitKind::Waited => waited.add(length),
                WaitKind::Parked => parked.add(length),
            }
            found.threads.add(row.track, length, room);
            found.stacks.add(row.stack, length, room);
            if owner.is_some() {
                found.owners.add(owner, length, room);
            }
        });
    }

    /// How long a wait was a contention: a thread that was notified may wait for the monitor again before its
    /// wait ends. Both are told; the time counts once.
    fn reentry(&mut self, kind: WaitKind, row: &EventRow<'_>) -> u64 {
        let (Some(track), Some(object), Some(end)) = (row.track, row.object, row.end) else {
            return 0;
        };
        let key = (track, object);
        match kind {
            WaitKind::Contended => {
                if self.entered.len() < self.options.most_objects || self.entered.contains_key(&key)
                {
                    self.entered.insert(key, (row.time, end));
                }
                0
            }
            WaitKind::Waited => match self.entered.get(&key) {
                Some(&(from, to)) if row.time <= from && from <= to && to <= end => {
                    to.abs_diff(from)
                }
                _ => 0,
            },
            WaitKind::Parked => 0,
        }
    }

    fn add(&mut self, key: MonitorKey, then: impl FnOnce(&mut GrowingMonitor, &mut usize)) {
        if self.rows.len() >= self.options.most_monitors && !self.rows.contains_key(&key) {
            self.result.crowded_out += 1;
            return;
        }
        let mut room = self.options.most_shares.saturating_sub(self.shares);
        let before = room;
        then(self.rows.entry(key).or_default(), &mut room);
        self.shares += before - room;
    }

    fn version(&self, object: ObjectId, at: Timestamp) -> Option<MonitorVersion> {
        let known = self.known(object)?;
        if known.since <= at {
            return Some(known);
        }
        let mut earlier = self.earlier.iter().rev();
        let found = earlier.find(|(of, version)| *of == object && version.since <= at);
        Some(found.map_or(known, |&(_, version)| version))
    }

    /// Returns what an id stands for now.
    fn known(&self, object: ObjectId) -> Option<MonitorVersion> {
        if let Some(&known) = self.others.get(&object) {
            return Some(known);
        }
        if self.is_next(object) {
            return None;
        }
        let found = self.objects.binary_search_by_key(&object, |&(id, _)| id);
        let &(_, class) = self.objects.get(found.ok()?)?;
        Some(MonitorVersion {
            since: Timestamp::MIN,
            generation: 0,
            class,
        })
    }

    /// Returns true if an id is above all those that were counted up.
    fn is_next(&self, object: ObjectId) -> bool {
        self.objects.last().is_none_or(|&(last, _)| last < object)
    }

    /// An id stands for an object from now on.
    fn learn(&mut self, object: ObjectId, version: MonitorVersion) {
        let is_more =
            self.is_next(object) && version.generation == 0 && !self.others.contains_key(&object);
        if is_more {
            self.objects.push((object, version.class));
        } else {
            self.others.insert(object, version);
        }
    }

    /// Takes from other events which objects are threads.
    fn other(&mut self, row: &EventRow<'_>) {
        let (Some(object), Some(track)) = (row.object, row.track) else {
            return;
        };
        let tables = &self.result.tables;
        let name = tables.event_type(row.event_type).map(|row| row.name);
        let starts = name.is_some_and(|name| tables.text(name) == "thread_start");
        if starts && self.threads.len() < self.options.most_objects {
            self.threads.insert(object, track);
        }
    }

    fn sample(&mut self, profile: ProfileId, row: &SampleRow<'_>) {
        let Some(lock) = self.find(row.labels, LabelMeaning::Lock) else {
            self.result.samples += 1;
            return;
        };
        if !self.counts(ClassRecord::Printed(lock), |filter, tables, class| {
            filter.accepts_sample(tables, profile, row, class)
        }) {
            return;
        }
        let state = self.find(row.labels, LabelMeaning::State);
        let tables = &self.result.tables;
        let kind = WaitKind::of_state(&state.map(|id| tables.text(id)).unwrap_or_default());
        let key = MonitorKey {
            object: None,
            generation: 0,
            class: ClassRecord::Printed(lock),
        };
        self.add(key, |found, room| {
            let [contended, waited, parked] = &mut found.waits;
            match kind {
                WaitKind::Contended => contended.seen += 1,
                WaitKind::Waited => waited.seen += 1,
                WaitKind::Parked => parked.seen += 1,
            }
            found.threads.add(row.track, None, room);
            found.stacks.add(row.stack, None, room);
        });
    }
}

/// The address in `<0x000000076b5f> (a java.util.LinkedList)`.
fn address(lock: &str) -> Option<ObjectId> {
    let (_, rest) = lock.split_once("<0x")?;
    let (digits, _) = rest.split_once('>')?;
    u64::from_str_radix(digits, 16).ok().map(ObjectId)
}

/// The class in it; a JVM that knows no object prints none.
fn printed_class(lock: &str) -> Option<&str> {
    let (_, rest) = lock.split_once("(a ")?;
    Some(rest.strip_suffix(')').unwrap_or(rest))
}

impl Sink for MonitorTable {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::NoSpans,
            ..Asks::default()
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.result.tables.define(definitions)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.release();
        self.held = Some(batch);
        Flow::Continue(())
    }

    fn objects(&mut self, batch: ObjectBatch) -> Flow {
        for row in batch.rows {
            let version = MonitorVersion {
                since: row.time.unwrap_or(Timestamp::MIN),
                generation: row.generation,
                class: row.class,
            };
            let before = self.known(row.id);
            let held = self.objects.len() + self.others.len();
            if before.is_none() && held >= self.options.most_objects {
                continue;
            }
            if let Some(before) = before.filter(|_| self.held.is_some()) {
                self.earlier.push((row.id, before));
            }
            self.learn(row.id, version);
        }
        self.release();
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        for row in batch.iter() {
            self.sample(batch.profile, &row);
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
