//! What a reader pushes, reduced to the events that were asked for.

use std::collections::BTreeMap;

use traceloom_model::{
    Asks, AttrKeyId, Clock, Definitions, EventBatch, EventTypeId, Flow, Note, Order, Recording,
    Sink, Timestamp, Unit, Wants,
};

/// A type's name as it was typed: all of it, its last word, or with `*` for anything.
#[derive(Debug)]
pub(super) struct TypePattern {
    text: String,
}

impl TypePattern {
    pub(super) fn new(text: &str) -> Self {
        Self {
            text: text.trim().to_lowercase(),
        }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let word = name.rsplit('.').next().unwrap_or(&name);
        glob(&self.text, &name) || glob(&self.text, word)
    }
}

/// Matches `*` against any run of characters, in time linear in pattern times name.
fn glob(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut rest = rest;
    let mut last = None;
    for piece in pieces {
        if let Some(between) = last.replace(piece) {
            match rest.split_once(between) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

/// A type of event and what there is of it.
pub(super) struct EventTypeSummary {
    pub(super) name: String,
    pub(super) label: Option<String>,
    pub(super) count: u64,
    /// Nanoseconds of all its events together; none when none of them lasts.
    pub(super) duration: Option<u64>,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
    /// Fields with the words of their units.
    pub(super) fields: Vec<(String, Option<String>)>,
}

#[derive(Clone, Copy, Default)]
struct TypeTally {
    count: u64,
    duration: Option<u64>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

/// Keeps events of the types asked for, and counts those of every type.
pub(super) struct EventCollector {
    pub(super) tables: Recording,
    pub(super) events: EventBatch,
    patterns: Vec<TypePattern>,
    enough: Option<usize>,
    /// By number of the type: whether it was asked for, once its name is known.
    wanted: Vec<Option<bool>>,
    tallies: Vec<TypeTally>,
}

impl EventCollector {
    /// Keeps what matches `patterns`, at most `enough` events.
    pub(super) fn new(patterns: Vec<TypePattern>, enough: Option<usize>) -> Self {
        Self {
            tables: Recording::default(),
            events: EventBatch::default(),
            patterns,
            enough,
            wanted: Vec::new(),
            tallies: Vec::new(),
        }
    }

    /// Returns the rows of events that were asked for, when all types are defined.
    pub(super) fn rows(&self) -> Vec<usize> {
        let mut known = std::collections::BTreeMap::new();
        let types = self.events.event_type.iter().enumerate();
        types
            .filter(|&(_, &id)| {
                *known.entry(id).or_insert_with(|| {
                    let row = self.tables.event_type(id);
                    let name = row.map(|row| self.tables.text(row.name));
                    name.is_some_and(|name| self.patterns.iter().any(|p| p.matches(&name)))
                })
            })
            .map(|(row, _)| row)
            .collect()
    }

    fn wants_type(&mut self, id: EventTypeId) -> bool {
        if self.wanted.len() <= id.index() {
            self.wanted.resize(id.index() + 1, None);
        }
        if let Some(&Some(known)) = self.wanted.get(id.index()) {
            return known;
        }
        let Some(row) = self.tables.event_type(id) else {
            // Not defined yet: kept, and left out when rows are chosen.
            return !self.patterns.is_empty();
        };
        let name = self.tables.text(row.name);
        let wanted = self.patterns.iter().any(|pattern| pattern.matches(&name));
        if let Some(slot) = self.wanted.get_mut(id.index()) {
            *slot = Some(wanted);
        }
        wanted
    }

    /// Returns the types there are, each name once: chunks of a recording may describe one again.
    pub(super) fn kinds(&self) -> Vec<EventTypeSummary> {
        let mut kinds: BTreeMap<String, EventTypeSummary> = BTreeMap::new();
        for (at, tally) in self.tallies.iter().enumerate() {
            if tally.count == 0 {
                continue;
            }
            let row = self.tables.event_types.get(at).and_then(Option::as_ref);
            let name = row.map_or_else(
                || format!("#{at}"),
                |row| self.tables.text(row.name).into_owned(),
            );
            let kind = kinds
                .entry(name.clone())
                .or_insert_with(|| EventTypeSummary {
                    name,
                    label: row.and_then(|row| Some(self.tables.text(row.label?).into_owned())),
                    count: 0,
                    duration: None,
                    first: None,
                    last: None,
                    fields: Vec::new(),
                });
            kind.count += tally.count;
            kind.duration = match (kind.duration, tally.duration) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (a, b) => a.or(b),
            };
            kind.first = [kind.first, tally.first].into_iter().flatten().min();
            kind.last = kind.last.max(tally.last);
            for &field in row.map_or(&[][..], |row| &row.fields) {
                let field = (self.field_name(field), self.field_unit(field));
                if !kind.fields.contains(&field) {
                    kind.fields.push(field);
                }
            }
        }
        kinds.into_values().collect()
    }

    /// Returns `true` if a type of this name is defined, whether or not an event of it came.
    pub(super) fn defines(&self, pattern: &TypePattern) -> bool {
        let mut rows = self.tables.event_types.iter().flatten();
        rows.any(|row| pattern.matches(&self.tables.text(row.name)))
    }

    pub(super) fn field_name(&self, key: AttrKeyId) -> String {
        match self.tables.attribute_key(key) {
            Some(row) => self.tables.text(row.name).into_owned(),
            None => format!("#{}", key.raw()),
        }
    }

    pub(super) fn unit_of(&self, key: AttrKeyId) -> Unit {
        self.tables
            .attribute_key(key)
            .map_or(Unit::Count, |row| row.unit)
    }

    pub(super) fn field_unit(&self, key: AttrKeyId) -> Option<String> {
        let unit = self.unit_of(key);
        let text = |id| self.tables.text(id).into_owned();
        (unit != Unit::Count).then(|| crate::info::unit_name(unit, &text))
    }
}

impl Sink for EventCollector {
    fn begin(&mut self, order: Order, clock: Clock) {
        self.tables.begin(order, clock);
    }

    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::NoSpans,
            ..Asks::default()
        }
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.tables.define(new)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        if self
            .enough
            .is_some_and(|enough| self.events.len() >= enough)
        {
            return Flow::Break(());
        }
        for event in batch.iter() {
            let at = event.event_type.index();
            if self.tallies.len() <= at {
                self.tallies.resize(at + 1, TypeTally::default());
            }
            if let Some(tally) = self.tallies.get_mut(at) {
                tally.count += 1;
                if let Some(end) = event.end {
                    let length = end.abs_diff(event.time);
                    tally.duration = Some(tally.duration.unwrap_or(0).saturating_add(length));
                }
                tally.first = Some(
                    tally
                        .first
                        .map_or(event.time, |first| first.min(event.time)),
                );
                tally.last = tally.last.max(Some(event.time));
            }
            if self.wants_type(event.event_type) {
                self.events.push(&event);
                if self
                    .enough
                    .is_some_and(|enough| self.events.len() >= enough)
                {
                    return Flow::Break(());
                }
            }
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_named_by_all_of_it_a_word_or_a_pattern() {
        for (typed, name, expected) in [
            ("jdk.GarbageCollection", "jdk.GarbageCollection", true),
            ("garbagecollection", "jdk.GarbageCollection", true),
            ("jdk.GC*", "jdk.GCHeapSummary", true),
            ("*Heap*Summary", "jdk.GCHeapSummary", true),
            ("jdk.GC", "jdk.GCHeapSummary", false),
            ("*a*b", "xaxbx", false),
            ("a*a", "a", false),
            ("*", "anything", true),
        ] {
            assert_eq!(
                TypePattern::new(typed).matches(name),
                expected,
                "{typed} {name}"
            );
        }
    }
}
