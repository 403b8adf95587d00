//! What metrics are computed from: totals of sampled values, and events by their types.

use std::collections::{BTreeMap, HashMap, HashSet};

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{EventRow, EventTypeId, Recording, Unit, Value};

use super::float;
use super::shares::ProfileShare;
use crate::points::{EventKind, Language};

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
        share: &ProfileShare,
        language: Option<Language>,
        file: &str,
    ) -> Self {
        let mut totals: HashMap<String, Total> = HashMap::new();
        let batches = share.batches.iter();
        for batch in batches.filter_map(|&at| recording.samples.get(at)) {
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
    pub(crate) fn of(recording: &'r Recording, share: &ProfileShare) -> Self {
        let mut by_type: BTreeMap<EventTypeId, Vec<usize>> = BTreeMap::new();
        for &row in &share.events {
            if let Some(&id) = recording.events.event_type.get(row) {
                by_type.entry(id).or_default().push(row);
            }
        }
        let mut rows: HashMap<String, Vec<usize>> = HashMap::new();
        for (id, of_type) in by_type {
            if let Some(found) = recording.event_type(id) {
                let name = recording.text(found.name).into_owned();
                rows.entry(name).or_default().extend(of_type);
            }
        }
        // Types of one name have their events in the order in which they came.
        rows.values_mut().for_each(|rows| rows.sort_unstable());
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
