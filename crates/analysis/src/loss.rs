//! What a target cannot hold, counted as it passes.

mod batches;
mod definitions;
mod parents;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::text::value_text;
use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, AttrKeyId, Attribute, Attributes, Batch, Capabilities, Clock, ElementType, EventTypeId,
    Feature, Flow, ProfileId, Recording, Sink, Stage, StringId, TrackId, Value, ValueTypeId,
};

use parents::Parents;

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
    /// Takes what a target says that it left out of a feature: names and counts. They replace what was counted of the
    /// feature, unless the target holds some of it by name: then they are about that.
    pub fn take_left_out(
        &mut self,
        holds: Capabilities,
        feature: Feature,
        names: impl IntoIterator<Item = (String, u64)>,
    ) {
        let kind = feature.name();
        let at = self.lost.iter().position(|lost| lost.kind == kind);
        let at = at.unwrap_or(self.lost.len());
        if !holds.own().iter().any(|(own, _)| *own == feature) {
            self.lost.retain(|lost| lost.kind != kind);
        }
        let names = names.into_iter().map(|(field, count)| Lost {
            kind,
            field,
            count,
            example: String::new(),
        });
        self.lost.splice(at..at, names);
    }

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
pub const COARSENS: [Feature; 9] = [
    Feature::UnsignedIntegers,
    Feature::WideIntegers,
    Feature::SubMillisecond,
    Feature::SubMicrosecond,
    Feature::UnknownOrigin,
    Feature::TypedAttributes,
    Feature::FloatAttributes,
    Feature::AsyncTracks,
    Feature::PartialSpans,
];

/// The largest integer up to which a double holds all.
const EXACT: u64 = 1 << 53;

/// Names kept apart for one feature; more are counted together.
const FIELDS: usize = 200;

/// An entry of the report under way.
struct LossEntry {
    feature: Feature,
    entry: Lost,
}

/// What a feature is counted by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum FeatureName {
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
    found: Vec<LossEntry>,
    /// Places in `found`, by what names them.
    known: HashMap<(Feature, String), usize, RandomState>,
    /// The same by ids, which rows have: a name is written out once for all rows up to the next
    /// definition, which may change it.
    by_id: HashMap<(Feature, FeatureName), Option<usize>, RandomState>,
    tables: Recording,
    keys: Vec<Option<StringId>>,
    events: Vec<Option<StringId>>,
    counters: Vec<Option<StringId>>,
    series: Vec<Option<StringId>>,
    lanes: Vec<bool>,
    /// The clock has no date, and nothing that is written with a time of it has come.
    is_undated: bool,
    parents: Parents,
    profiles: BTreeSet<ProfileId>,
    /// Value types that are inclusive, or no sums, and that no profile had yet.
    wide: BTreeMap<ValueTypeId, StringId>,
    /// Functions with a place in the source that nothing held had yet.
    located: Vec<Option<StringId>>,
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
            series: Vec::new(),
            lanes: Vec::new(),
            is_undated: false,
            parents: Parents::default(),
            profiles: BTreeSet::new(),
            wide: BTreeMap::new(),
            located: Vec::new(),
            counts: Vec::new(),
        }
    }

    /// Returns what was counted, features in their order, fields by name.
    #[must_use]
    pub fn finish(self) -> Losses {
        let mut losses = Losses::default();
        let mut found = self.found;
        found.sort_by(|a, b| (a.feature, &a.entry.field).cmp(&(b.feature, &b.entry.field)));
        for LossEntry { feature, entry } in found {
            if COARSENS.contains(&feature) {
                losses.changed.push(entry);
            } else {
                losses.lost.push(entry);
            }
        }
        losses
    }

    fn lose(&mut self, feature: Feature, name: FeatureName, count: u64) {
        self.lose_with(feature, name, count, |_| String::new());
    }

    /// Counts rows of a feature that may be held, in which case nobody looks at them.
    fn lose_of(&mut self, feature: Feature, rows: impl FnOnce(&Self) -> usize) {
        if !self.holds.holds(feature) {
            self.lose(feature, FeatureName::Nothing, rows(self) as u64);
        }
    }

    fn lose_with(
        &mut self,
        feature: Feature,
        name: FeatureName,
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
        name: FeatureName,
        example: impl FnOnce(&Self) -> String,
    ) -> Option<usize> {
        let mut key = (feature, self.written(name));
        if self.holds.holds_named(feature, &key.1) {
            return None;
        }
        if !self.known.contains_key(&key) {
            let same = |found: &&LossEntry| found.feature == feature;
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
        self.found.push(LossEntry { feature, entry });
        self.known.insert(key, self.found.len() - 1);
        Some(self.found.len() - 1)
    }

    fn text(&self, id: StringId) -> String {
        self.tables.text(id).into_owned()
    }

    fn written(&self, name: FeatureName) -> String {
        let (table, row) = match name {
            FeatureName::Nothing => return String::new(),
            FeatureName::Word(word) => return word.to_owned(),
            FeatureName::Text(id) => return self.text(id),
            FeatureName::Key(id) => (&self.keys, id.index()),
            FeatureName::Event(id) => (&self.events, id.index()),
            FeatureName::Counter(id) => (&self.counters, id.index()),
        };
        let name = table.get(row).copied().flatten();
        name.map_or_else(|| format!("#{row}"), |name| self.text(name))
    }

    fn attributes(&mut self, attributes: &Attributes, feature: Feature) {
        if !self.holds.holds(feature) {
            return self.lose_attributes(attributes.all(), feature);
        }
        let typed = self.holds.holds(Feature::TypedAttributes);
        let floats = typed && self.holds.holds(Feature::FloatAttributes);
        let unsigned = typed && self.holds.holds(Feature::UnsignedIntegers);
        let wide = self.holds.holds(Feature::WideIntegers);
        for attribute in attributes.all() {
            let plain = match attribute.value {
                Value::List(..) | Value::Map(_) => false,
                Value::Null | Value::Text(_) => true,
                Value::U64(value) => unsigned && (wide || value <= EXACT),
                Value::I64(value) => typed && (wide || value.unsigned_abs() <= EXACT),
                Value::F64(_) => floats,
                _ => typed,
            };
            if !plain || attribute.at.is_some() || attribute.from.is_some() {
                self.attribute(attribute, feature, 1);
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
            self.lose_with(feature, FeatureName::Key(attribute.key), count, |loss| {
                value_text(&loss.tables, &attribute.value).into_owned()
            });
        }
        self.counts = counts;
    }

    /// Counts an attribute that so many rows have.
    fn attribute(&mut self, attribute: &Attribute, feature: Feature, rows: u64) {
        let key = FeatureName::Key(attribute.key);
        if !self.holds.holds(feature) {
            self.lose_with(feature, key, rows, |loss| {
                value_text(&loss.tables, &attribute.value).into_owned()
            });
            return;
        }
        if attribute.at.is_some() {
            self.lose(Feature::AttributeTimes, key, rows);
        }
        if attribute.from.is_some() {
            self.lose(Feature::UpwardAttributes, key, rows);
        }
        self.value(key, &attribute.value, rows);
    }

    /// Counts what a target that holds the attribute does not hold of its value, elements of lists and maps included.
    fn value(&mut self, key: FeatureName, value: &Value, rows: u64) {
        let nested = self.holds.holds(Feature::NestedAttributes);
        match value {
            Value::Null | Value::Text(_) => {}
            Value::List(kind, values) => {
                let uniform = *kind != ElementType::Any && !nested;
                let feature = if uniform {
                    Feature::ListAttributes
                } else {
                    Feature::NestedAttributes
                };
                self.lose(feature, key, rows);
                if self.holds.holds(feature) {
                    values.iter().for_each(|value| self.value(key, value, rows));
                }
            }
            Value::Map(pairs) => {
                self.lose(Feature::NestedAttributes, key, rows);
                for (name, value) in pairs.iter().filter(|_| nested) {
                    self.value(key, name, rows);
                    self.value(key, value, rows);
                }
            }
            _ if !self.holds.holds(Feature::TypedAttributes) => {
                self.lose(Feature::TypedAttributes, key, rows);
            }
            Value::U64(value) => {
                self.lose(Feature::UnsignedIntegers, key, rows);
                self.wide(key, *value, rows);
            }
            Value::I64(value) => self.wide(key, value.unsigned_abs(), rows),
            Value::F64(_) => self.lose(Feature::FloatAttributes, key, rows),
            Value::Bool(_) | Value::Bytes(_) | Value::Exception(_) => {}
        }
    }

    /// Counts an integer that a target of doubles rounds or writes as text.
    fn wide(&mut self, name: FeatureName, value: u64, rows: u64) {
        if value > EXACT {
            let example = |_: &Self| value.to_string();
            self.lose_with(Feature::WideIntegers, name, rows, example);
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
        self.lose(Feature::SubMillisecond, FeatureName::Nothing, below_ms);
        self.lose(Feature::SubMicrosecond, FeatureName::Nothing, below_us);
    }

    fn is_lane(&self, track: TrackId) -> bool {
        self.lanes.get(track.index()).copied().unwrap_or(false)
    }
}

impl<S: Sink + ?Sized> Stage for Loss<'_, S> {
    fn asks(&self) -> Asks {
        let asks = self.to.asks();
        let told_by_samples =
            self.holds.holds(Feature::Samples) && !self.holds.holds(Feature::Events);
        Asks {
            sampled_events: !told_by_samples && asks.sampled_events,
            derived_samples: !self.holds.holds(Feature::Spans) && asks.derived_samples,
            ..asks
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let one = FeatureName::Nothing;
        let keeps_times = match &batch {
            Batch::Spans(_) => self.holds.holds(Feature::Spans),
            Batch::Events(_) => self.holds.holds(Feature::Events),
            _ => false,
        };
        if keeps_times && std::mem::take(&mut self.is_undated) {
            self.lose(Feature::UnknownOrigin, one, 1);
        }
        match &batch {
            Batch::Begin(_, clock) => self.is_undated = matches!(clock, Clock::Unknown(_)),
            Batch::Steps(_) | Batch::Note(_) => {}
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
            Batch::Counters(points) => self.points(points),
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
