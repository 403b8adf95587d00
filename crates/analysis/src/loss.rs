//! What a target cannot hold, counted as it passes.

mod parents;

use std::collections::{BTreeSet, HashMap};

use crate::calls::value_text;
use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, AttrKeyId, Attribute, Attributes, Batch, Capabilities, Definitions, ElementType,
    EventBatch, EventTypeId, Feature, Flow, FrameKind, Merge, ProfileId, Recording, SampleBatch,
    Scope, Sink, SpanBatch, SpanStatus, Stage, StringId, Track, TrackId, TrackKind, Unit, Value,
    ValueTypeId,
};

use parents::{Parents, distant};

/// One kind of meaning that went missing, or that was kept in another form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The feature, a word from the closed set of [`Feature::name`].
    pub kind: &'static str,
    /// What of it: an attribute's name, a counter's, an event type's; empty where there is one thing.
    pub field: String,
    /// How many of them.
    pub count: u64,
    /// The first one met.
    pub example: String,
}

/// The loss of one conversion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// What the target does not have.
    pub lost: Vec<Lost>,
    /// What it has in coarser form: times rounded, typed values as text.
    pub changed: Vec<Lost>,
}

impl Losses {
    /// Adds the loss of another recording, entries of one kind and field together.
    pub fn merge(&mut self, other: Self) {
        for (own, other) in [
            (&mut self.lost, other.lost),
            (&mut self.changed, other.changed),
        ] {
            for entry in other {
                let same =
                    |known: &&mut Lost| known.kind == entry.kind && known.field == entry.field;
                match own.iter_mut().find(same) {
                    Some(known) => known.count = known.count.saturating_add(entry.count),
                    None => own.push(entry),
                }
            }
        }
    }
}

/// Features whose absence coarsens a value instead of dropping it.
pub const COARSENS: [Feature; 5] = [
    Feature::SubMillisecond,
    Feature::SubMicrosecond,
    Feature::TypedAttributes,
    Feature::AsyncTracks,
    Feature::PartialSpans,
];

/// Names kept apart for one feature; more are counted together.
const FIELDS: usize = 200;

/// An entry of the report under way.
struct Found {
    feature: Feature,
    entry: Lost,
}

/// What a feature is counted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Name {
    /// There is one of it.
    Nothing,
    Word(&'static str),
    Text(StringId),
    Key(AttrKeyId),
    Event(EventTypeId),
    Counter(ValueTypeId),
}

/// A sink between a source and a target.
///
/// It looks at every row, counts what `holds` does not list, and passes everything on. The report is
/// what was there against what can be held; no pair of formats has a list of its own.
pub struct Loss<'t, S: Sink + ?Sized> {
    to: &'t mut S,
    holds: Capabilities,
    found: Vec<Found>,
    /// Places in `found`, by what names them.
    known: HashMap<(Feature, String), usize, RandomState>,
    /// The same by ids, which rows have: a name is written out once for all rows up to the next
    /// definition, which may change it.
    by_id: HashMap<(Feature, Name), Option<usize>, RandomState>,
    tables: Recording,
    keys: Vec<Option<StringId>>,
    events: Vec<Option<StringId>>,
    counters: Vec<Option<StringId>>,
    lanes: Vec<bool>,
    parents: Parents,
    profiles: BTreeSet<ProfileId>,
    /// For each attribute key, how often the batch at hand has it and where first; zeros between batches.
    counts: Vec<(u64, usize)>,
}

impl<'t, S: Sink + ?Sized> Loss<'t, S> {
    /// Watches what goes to `to`, which can hold `holds`.
    #[must_use]
    pub fn new(to: &'t mut S, holds: Capabilities) -> Self {
        Self {
            to,
            holds,
            found: Vec::new(),
            known: HashMap::default(),
            by_id: HashMap::default(),
            tables: Recording::default(),
            keys: Vec::new(),
            events: Vec::new(),
            counters: Vec::new(),
            lanes: Vec::new(),
            parents: Parents::default(),
            profiles: BTreeSet::new(),
            counts: Vec::new(),
        }
    }

    /// Returns what was counted, features in their order, fields by name.
    #[must_use]
    pub fn finish(self) -> Losses {
        let mut losses = Losses::default();
        let mut found = self.found;
        found.sort_by(|a, b| (a.feature, &a.entry.field).cmp(&(b.feature, &b.entry.field)));
        for Found { feature, entry } in found {
            if COARSENS.contains(&feature) {
                losses.changed.push(entry);
            } else {
                losses.lost.push(entry);
            }
        }
        losses
    }

    fn lose(&mut self, feature: Feature, name: Name, count: u64) {
        self.lose_with(feature, name, count, |_| String::new());
    }

    /// Counts rows of a feature that may be held, in which case nobody looks at them.
    fn lose_of(&mut self, feature: Feature, rows: impl FnOnce(&Self) -> usize) {
        if !self.holds.holds(feature) {
            self.lose(feature, Name::Nothing, rows(self) as u64);
        }
    }

    fn lose_with(
        &mut self,
        feature: Feature,
        name: Name,
        count: u64,
        example: impl FnOnce(&Self) -> String,
    ) {
        if count == 0 || self.holds.holds(feature) {
            return;
        }
        let at = match self.by_id.get(&(feature, name)) {
            Some(&at) => at,
            None => {
                let at = self.find(feature, name, example);
                self.by_id.insert((feature, name), at);
                at
            }
        };
        if let Some(found) = at.and_then(|at| self.found.get_mut(at)) {
            found.entry.count = found.entry.count.saturating_add(count);
        }
    }

    fn find(
        &mut self,
        feature: Feature,
        name: Name,
        example: impl FnOnce(&Self) -> String,
    ) -> Option<usize> {
        let mut key = (feature, self.written(name));
        if self.holds.holds_named(feature, &key.1) {
            return None;
        }
        if !self.known.contains_key(&key) {
            let same = |found: &&Found| found.feature == feature;
            if self.found.iter().filter(same).count() >= FIELDS {
                key.1 = "(others)".to_owned();
            }
        }
        if let Some(&at) = self.known.get(&key) {
            return Some(at);
        }
        let entry = Lost {
            kind: feature.name(),
            field: key.1.clone(),
            count: 0,
            example: example(self),
        };
        self.found.push(Found { feature, entry });
        self.known.insert(key, self.found.len() - 1);
        Some(self.found.len() - 1)
    }

    fn text(&self, id: StringId) -> String {
        self.tables.text(id).into_owned()
    }

    fn written(&self, name: Name) -> String {
        let (table, row) = match name {
            Name::Nothing => return String::new(),
            Name::Word(word) => return word.to_owned(),
            Name::Text(id) => return self.text(id),
            Name::Key(id) => (&self.keys, id.index()),
            Name::Event(id) => (&self.events, id.index()),
            Name::Counter(id) => (&self.counters, id.index()),
        };
        let name = table.get(row).copied().flatten();
        name.map_or_else(|| format!("#{row}"), |name| self.text(name))
    }

    fn attributes(&mut self, attributes: &Attributes, feature: Feature) {
        if !self.holds.holds(feature) {
            return self.lose_attributes(attributes.all(), feature);
        }
        let typed = self.holds.holds(Feature::TypedAttributes);
        for attribute in attributes.all() {
            let plain = match attribute.value {
                Value::List(..) | Value::Map(_) => false,
                Value::Null | Value::Text(_) => true,
                _ => typed,
            };
            if !plain || attribute.at.is_some() || attribute.from.is_some() {
                self.attribute(attribute, feature);
            }
        }
    }

    /// Counts attributes that all get lost: key by key, because a batch has few keys and many rows.
    fn lose_attributes(&mut self, attributes: &[Attribute], feature: Feature) {
        let mut counts = std::mem::take(&mut self.counts);
        for (at, attribute) in attributes.iter().enumerate() {
            let key = attribute.key.index();
            if counts.len() <= key {
                counts.resize(key + 1, (0, 0));
            }
            if let Some((count, first)) = counts.get_mut(key) {
                if *count == 0 {
                    *first = at;
                }
                *count += 1;
            }
        }
        let mut met: Vec<_> = counts.iter_mut().filter(|(count, _)| *count > 0).collect();
        // In the order of the rows, which decides whose names are told apart.
        met.sort_unstable_by_key(|(_, first)| *first);
        for (count, first) in met {
            let count = std::mem::take(count);
            let Some(attribute) = attributes.get(*first) else {
                continue;
            };
            self.lose_with(feature, Name::Key(attribute.key), count, |loss| {
                value_text(&loss.tables, &attribute.value).into_owned()
            });
        }
        self.counts = counts;
    }

    fn attribute(&mut self, attribute: &Attribute, feature: Feature) {
        let key = Name::Key(attribute.key);
        if !self.holds.holds(feature) {
            self.lose_with(feature, key, 1, |loss| {
                value_text(&loss.tables, &attribute.value).into_owned()
            });
            return;
        }
        if attribute.at.is_some() {
            self.lose(Feature::AttributeTimes, key, 1);
        }
        if attribute.from.is_some() {
            self.lose(Feature::UpwardAttributes, key, 1);
        }
        match &attribute.value {
            Value::Null | Value::Text(_) => {}
            Value::List(kind, _) if *kind != ElementType::Any => {
                if !self.holds.holds(Feature::NestedAttributes) {
                    self.lose(Feature::ListAttributes, key, 1);
                }
            }
            Value::List(..) | Value::Map(_) => self.lose(Feature::NestedAttributes, key, 1),
            _ => self.lose(Feature::TypedAttributes, key, 1),
        }
    }

    fn times<'a>(&mut self, times: impl Iterator<Item = &'a i64>) {
        let fine = [Feature::SubMillisecond, Feature::SubMicrosecond];
        if fine.into_iter().all(|feature| self.holds.holds(feature)) {
            return;
        }
        let (mut below_ms, mut below_us) = (0, 0);
        for time in times {
            below_ms += u64::from(time % 1_000_000 != 0);
            below_us += u64::from(time % 1_000 != 0);
        }
        self.lose(Feature::SubMillisecond, Name::Nothing, below_ms);
        self.lose(Feature::SubMicrosecond, Name::Nothing, below_us);
    }

    fn is_lane(&self, track: TrackId) -> bool {
        self.lanes.get(track.index()).copied().unwrap_or(false)
    }

    fn tables(&mut self, new: &Definitions) {
        let one = Name::Nothing;
        for (_, text) in &new.strings {
            let invalid = u64::from(text.as_str().is_none());
            self.lose_with(Feature::InvalidText, one, invalid, |_| format!("{text:?}"));
        }
        for (_, row) in &new.resources {
            self.lose(Feature::Resources, one, 1);
            for attribute in &row.attributes {
                self.attribute(attribute, Feature::Resources);
            }
        }
        for (_, row) in &new.tracks {
            let named = row.name.is_some() || row.os_id.is_some();
            let name = row.name;
            if !named && !self.holds.holds(Feature::Tracks) {
                self.lose(Feature::TrackIds, one, u64::from(row.id.is_some()));
            }
            self.lose_with(Feature::Tracks, one, u64::from(named), |loss| {
                name.map_or_else(String::new, |name| loss.text(name))
            });
        }
        for (_, row) in &new.functions {
            let detailed =
                row.package.is_some() || row.signature.is_some() || row.library.is_some();
            let name = row.name;
            let example = |loss: &Self| loss.text(name);
            self.lose_with(Feature::FunctionDetails, one, u64::from(detailed), example);
            let located = row.file.is_some() || row.line > 0;
            self.lose_with(Feature::SourceLines, one, u64::from(located), example);
        }
        for (_, row) in &new.frames {
            self.lose(Feature::Addresses, one, u64::from(row.address.is_some()));
            let kind = row.inlined || row.kind != FrameKind::Unknown;
            self.lose(Feature::FrameKinds, one, u64::from(kind));
            self.lose(Feature::SourceLines, one, u64::from(row.line > 0));
        }
        for (_, row) in &new.stacks {
            self.lose(Feature::TruncatedStacks, one, u64::from(row.truncated));
        }
        for (_, row) in &new.value_types {
            let wide = row.merge != Merge::Sum || row.scope != Scope::Own;
            let name = row.name;
            self.lose(Feature::InclusiveValues, Name::Text(name), u64::from(wide));
        }
        for (id, row) in &new.profiles {
            let headed = row.period.is_some()
                || row.duration.is_some()
                || row.time.is_some()
                || !row.comments.is_empty()
                || !row.settings.is_empty();
            self.lose(Feature::ProfileHeaders, one, u64::from(headed));
            // A target of one column has room for one of one profile, unless it has places for them by name.
            let first = self.profiles.is_empty();
            if self.profiles.insert(*id) {
                let own = |id: &ValueTypeId| {
                    let name = self.written(Name::Counter(*id));
                    self.holds.holds_named(Feature::ManyValues, &name)
                };
                let others = row.value_types.iter().filter(|id| !own(id)).count();
                let room = first && others == row.value_types.len() && others > 0;
                let others = others as u64 - u64::from(room);
                self.lose(Feature::ManyValues, one, others);
            }
        }
        for (_, row) in &new.exceptions {
            let class = row.class;
            self.lose_with(Feature::Exceptions, one, 1, |loss| {
                class.map_or_else(String::new, |class| loss.text(class))
            });
        }
        for (_, row) in &new.attribute_keys {
            let ruled = row.order != 0
                || row.list
                || row.index
                || row.signature.is_some()
                || row.unit != Unit::Count;
            let name = row.name;
            let example = |loss: &Self| loss.text(name);
            self.lose_with(Feature::AttributeKeys, one, u64::from(ruled), example);
        }
    }

    fn remember(&mut self, new: &Definitions) {
        for (id, text) in &new.strings {
            self.tables.strings.put(id.index(), text.clone());
        }
        for (id, row) in &new.attribute_keys {
            place(&mut self.keys, id.index(), row.name);
        }
        for (id, row) in &new.event_types {
            place(&mut self.events, id.index(), row.name);
        }
        for (id, row) in &new.value_types {
            place(&mut self.counters, id.index(), row.name);
        }
        for (id, row) in &new.tracks {
            if self.lanes.len() <= id.index() {
                self.lanes.resize(id.index() + 1, false);
            }
            if let Some(lane) = self.lanes.get_mut(id.index()) {
                *lane = overlaps(row);
            }
        }
    }
}

fn overlaps(track: &Track) -> bool {
    matches!(track.kind, TrackKind::Async | TrackKind::Lane)
}

fn place<T>(table: &mut Vec<Option<T>>, index: usize, row: T) {
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    if let Some(slot) = table.get_mut(index) {
        *slot = Some(row);
    }
}

impl<S: Sink + ?Sized> Loss<'_, S> {
    fn spans(&mut self, batch: &SpanBatch) {
        let one = Name::Nothing;
        if !self.holds.holds(Feature::Spans) {
            self.lose(Feature::Spans, one, batch.len() as u64);
            return;
        }
        self.times(batch.start.iter().chain(&batch.end));
        if !self.holds.holds(Feature::DistantParents) {
            let distant = distant(&mut self.parents, batch);
            self.lose(Feature::DistantParents, one, distant);
        }
        // Column by column: what is held of them is not looked at, and most batches have nothing in most.
        let lanes = |loss: &Self| {
            batch
                .track
                .iter()
                .filter(|&&track| loss.is_lane(track))
                .count()
        };
        self.lose_of(Feature::AsyncTracks, lanes);
        let with = |wanted: &[SpanStatus]| {
            let found = batch.status.iter().filter(|status| wanted.contains(status));
            found.count()
        };
        let partial = [SpanStatus::PartialStart, SpanStatus::PartialEnd];
        self.lose_of(Feature::PartialSpans, |_| with(&partial));
        self.lose_of(Feature::ErrorStatus, |_| with(&[SpanStatus::Error]));
        self.lose_of(Feature::SpanContexts, |_| batch.context.values().len());
        self.lose_of(Feature::SpanKinds, |_| batch.kind.values().len());
        self.lose_of(Feature::Exceptions, |_| batch.exception.values().len());
        if !self.holds.holds(Feature::SpanCounters) {
            for &(counter, value) in (0..batch.len()).flat_map(|row| batch.counters(row)) {
                let name = Name::Counter(counter);
                self.lose_with(Feature::SpanCounters, name, 1, |_| value.to_string());
            }
        }
        self.attributes(&batch.attributes, Feature::SpanAttributes);
    }

    fn samples(&mut self, batch: &SampleBatch) {
        let one = Name::Nothing;
        if !self.holds.holds(Feature::Samples) {
            self.lose(Feature::Samples, one, batch.len() as u64);
            return;
        }
        let values = (0..batch.len()).flat_map(|row| batch.values(row));
        let negative = values.filter(|&&value| value < 0).count();
        self.lose(Feature::NegativeValues, one, negative as u64);
        let timed = batch.time.iter().flatten().count();
        self.lose(Feature::SampleTimes, one, timed as u64);
        let placed = batch.track.iter().flatten().count();
        self.lose(Feature::SampleTracks, one, placed as u64);
        let linked = batch.span.iter().flatten().count();
        self.lose(Feature::SampleSpans, one, linked as u64);
        self.attributes(&batch.labels, Feature::SampleLabels);
    }

    fn events(&mut self, batch: &EventBatch) {
        for row in batch.iter() {
            let name = Name::Event(row.event_type);
            let pause = row.track.is_none() && row.end.is_some();
            if pause && self.holds.holds(Feature::Pauses) && self.written(name) == "pause" {
                continue;
            }
            if !self.holds.holds(Feature::Events) {
                self.lose(Feature::Events, name, 1);
                continue;
            }
            self.lose(Feature::EventDurations, name, u64::from(row.end.is_some()));
        }
        if self.holds.holds(Feature::Events) {
            self.attributes(&batch.attributes, Feature::EventAttributes);
            self.times(batch.time.iter().chain(batch.end.iter().flatten()));
        }
    }

    fn heap(&mut self, what: &'static str, count: usize) {
        self.lose(Feature::HeapObjects, Name::Word(what), count as u64);
    }
}

impl<S: Sink + ?Sized> Stage for Loss<'_, S> {
    fn asks(&self) -> Asks {
        let asks = Asks::of(self.to);
        let told_by_samples =
            self.holds.holds(Feature::Samples) && !self.holds.holds(Feature::Events);
        Asks {
            sampled_events: !told_by_samples && asks.sampled_events,
            derived_samples: !self.holds.holds(Feature::Spans) && asks.derived_samples,
            ..asks
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let one = Name::Nothing;
        match &batch {
            Batch::Begin(..) | Batch::Steps(_) | Batch::Note(_) => {}
            Batch::Forget(strings) => self.tables.drop_strings(strings),
            Batch::Define(new) => {
                self.by_id.clear();
                self.remember(new);
                self.tables(new);
            }
            Batch::Spans(spans) => self.spans(spans),
            Batch::Samples(samples) => self.samples(samples),
            Batch::Paths(paths) => self.lose(Feature::Samples, one, paths.len() as u64),
            Batch::Events(events) => self.events(events),
            Batch::Counters(points) => self.lose(Feature::Counters, one, points.time.len() as u64),
            Batch::Links(links) => self.lose(Feature::Links, one, links.links.len() as u64),
            Batch::Objects(objects) => self.heap("object", objects.rows.len()),
            Batch::Edges(edges) => self.heap("reference", edges.from.len()),
            Batch::Roots(roots) => self.heap("root", roots.object.len()),
        }
        batch.push(self.to)
    }
}

#[cfg(test)]
mod tests;
