//! What metrics are computed from: totals of sampled values, and events by their types.

use std::collections::{HashMap, HashSet};

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{EventRow, Recording, Unit, Value};

use super::float;
use crate::points::header::GroupedProfile;
use crate::points::{EventKind, Language};

/// What of a recording belongs to one of its profiles.
pub(crate) enum ProfileShare<'g> {
    /// All of it.
    Whole,
    /// Of these profiles what the one at this place has.
    One(&'g [GroupedProfile], usize),
}

impl ProfileShare<'_> {
    fn has_profile(&self, at: usize) -> bool {
        match self {
            Self::Whole => true,
            Self::One(groups, own) => groups
                .get(*own)
                .is_some_and(|group| group.rows.contains(&at)),
        }
    }

    /// An event belongs to the process of its track; one on no track to the profile of its time.
    fn has_event(&self, recording: &Recording, at: usize) -> bool {
        let Self::One(groups, own) = self else {
            return true;
        };
        let (Some(group), Some(event)) = (groups.get(*own), recording.events.row(at)) else {
            return false;
        };
        let mut resource = event
            .track
            .and_then(|track| recording.track(track)?.resource);
        // A chain longer than the table would be a cycle.
        for _ in 0..recording.resources.len() {
            let Some(id) = resource else { break };
            if groups.iter().any(|group| group.owner == Some(id.index())) {
                return group.owner == Some(id.index());
            }
            resource = recording.resource(id).and_then(|row| row.parent);
        }
        let away = |group: &GroupedProfile| {
            let (start, end) = (group.profile.start, group.profile.end);
            let before = start.saturating_sub(event.time);
            before.max(event.time.saturating_sub(end)).max(0)
        };
        // The first of equals: no event counts twice.
        let nearest = (0..groups.len()).min_by_key(|&at| groups.get(at).map(away));
        nearest == Some(*own)
    }
}

/// Totals of the value columns, by their own names and by Datakit's.
pub(crate) struct ColumnTotals(HashMap<String, Total>);

#[derive(Clone, Copy, Default)]
struct Total {
    sum: i64,
    unit: Unit,
}

impl ColumnTotals {
    pub(crate) fn of(
        recording: &Recording,
        share: &ProfileShare<'_>,
        language: Option<Language>,
        file: &str,
    ) -> Self {
        let mut totals: HashMap<String, Total> = HashMap::new();
        for batch in &recording.samples {
            if !share.has_profile(batch.profile.index()) {
                continue;
            }
            let Some(profile) = recording.profile(batch.profile) else {
                continue;
            };
            let mut named: HashSet<&str> = HashSet::new();
            for (column, &id) in profile.value_types.iter().enumerate() {
                let Some(kind) = recording.value_type(id) else {
                    continue;
                };
                let mut sum: i64 = 0;
                for row in 0..batch.len() {
                    let value = batch.values(row).get(column).copied().unwrap_or(0);
                    sum = sum.saturating_add(value);
                }
                let own = recording.text(kind.name).into_owned();
                // The first of two columns that Datakit would call the same is the one.
                let event = EventKind::of_column(recording, language, file, kind);
                let event = event.filter(|event| event.name != own && named.insert(event.name));
                let event = event.map(|event| event.name.to_owned());
                for name in event.into_iter().chain([own]) {
                    let total = totals.entry(name).or_default();
                    total.unit = kind.unit;
                    total.sum = total.sum.saturating_add(sum);
                }
            }
        }
        Self(totals)
    }

    /// Returns the total of the first of `names` that a profile has.
    pub(crate) fn total(&self, names: &[&str]) -> Option<i64> {
        names
            .iter()
            .find_map(|name| self.0.get(*name))
            .map(|total| total.sum)
    }

    /// Returns such a total when it is a time.
    pub(crate) fn time(&self, names: &[&str]) -> Option<i64> {
        let mut totals = names.iter().filter_map(|name| self.0.get(*name));
        totals
            .find(|total| total.unit == Unit::Nanoseconds)
            .map(|total| total.sum)
    }
}

/// Events by the name of their type.
pub(crate) struct EventsByType<'r> {
    recording: &'r Recording,
    rows: HashMap<String, Vec<usize>>,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Times {
    pub(super) max: i64,
    pub(super) total: i64,
    pub(super) count: i64,
}

impl<'r> EventsByType<'r> {
    pub(crate) fn of(recording: &'r Recording, share: &ProfileShare<'_>) -> Self {
        let mut names: Vec<Option<String>> = Vec::new();
        for row in &recording.event_types {
            names.push(
                row.as_ref()
                    .map(|row| recording.text(row.name).into_owned()),
            );
        }
        let mut rows: HashMap<String, Vec<usize>> = HashMap::new();
        for (row, id) in recording.events.event_type.iter().enumerate() {
            if let Some(Some(name)) = names.get(id.index())
                && share.has_event(recording, row)
            {
                match rows.get_mut(name) {
                    Some(list) => list.push(row),
                    None => {
                        rows.insert(name.clone(), vec![row]);
                    }
                }
            }
        }
        Self { recording, rows }
    }

    pub(crate) fn language(&self) -> Option<Language> {
        if self.rows.contains_key(crate::points::GO_METRICS) {
            return Some(Language::Golang);
        }
        let java = |name: &String| name.starts_with("jdk.") || name.starts_with("datadog.");
        self.rows.keys().any(java).then_some(Language::Java)
    }

    pub(crate) fn each(&self, name: &str) -> impl Iterator<Item = EventRow<'r>> {
        let rows = self.rows.get(name).map_or(&[][..], Vec::as_slice);
        rows.iter()
            .filter_map(|&row| self.recording.events.row(row))
    }

    pub(crate) fn count(&self, name: &str) -> i64 {
        let count = self.rows.get(name).map_or(0, Vec::len);
        saturated_i64(count)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.rows.contains_key(name)
    }

    pub(crate) fn value(&self, row: &EventRow<'r>, key: &str) -> Option<&'r Value> {
        let found = row.attributes.iter().find(|attribute| {
            let name = self.recording.attribute_key(attribute.key);
            name.is_some_and(|name| self.recording.text(name.name) == key)
        });
        found.map(|attribute| &attribute.value)
    }

    pub(crate) fn number(&self, row: &EventRow<'r>, key: &str) -> Option<f64> {
        match self.value(row, key)? {
            Value::I64(value) => Some(float(*value)),
            Value::U64(value) => Some(float(saturated_i64(*value))),
            Value::F64(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn integer(&self, row: &EventRow<'r>, key: &str) -> Option<i64> {
        match self.value(row, key)? {
            Value::I64(value) => Some(*value),
            Value::U64(value) => i64::try_from(*value).ok(),
            #[expect(clippy::cast_possible_truncation, reason = "saturates")]
            Value::F64(value) => Some(*value as i64),
            _ => None,
        }
    }

    pub(crate) fn times(&self, name: &str) -> Times {
        let mut times = Times::default();
        for row in self.each(name) {
            let length = row.end.map_or(0, |end| end.saturating_sub(row.time));
            times.max = times.max.max(length);
            times.total = times.total.saturating_add(length);
            times.count += 1;
        }
        times
    }

    /// Returns the largest value of a field and the sum of all.
    pub(crate) fn amounts(&self, name: &str, key: &str) -> (i64, i64) {
        let values = self.each(name).filter_map(|row| self.integer(&row, key));
        values.fold((0, 0), |(max, total), value| {
            (value.max(max), value.saturating_add(total))
        })
    }
}
