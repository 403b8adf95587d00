//! The sink that keeps the calls asked for.

use std::cmp::Ordering;
use std::collections::HashSet;

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    Asks, Attribute, Clock, Definitions, EventBatch, ExceptionId, Flow, FunctionId, Note, Order,
    Origin, Recording, Sink, SpanBatch, SpanContext, SpanId, SpanRow, SpanStatus, StringId,
    Timestamp, TrackId, Value, ValueTypeId, Wants,
};

use super::cell::SortKey;
use super::of_calls;
use super::uses::Finder;
use super::{CallCounts, CallsAfter, Column, Uses};
use crate::Pauses;
use crate::filter::{CallOfRow, Selection};
use crate::names::FunctionMatch;
use crate::text::is_async;

/// What a [`CallTable`] keeps.
#[derive(Clone, Debug, Default)]
pub struct CallQuery {
    /// Which calls.
    pub selection: Selection,
    /// Only calls in which a method matches, its name found out where it is mangled; how often and for how long is
    /// told of each.
    pub with_method: Option<FunctionMatch>,
    /// The column to sort by and whether the greatest come first; none for the order they were read in.
    pub sort: Option<(Column, bool)>,
    /// Only calls behind this place of the order, those with its key included: [`super::CallList`] leaves out as many as the place
    /// says.
    pub after: Option<CallsAfter>,
    /// Most calls to keep, of those behind the place.
    pub limit: Option<usize>,
}

impl CallQuery {
    /// Returns `true` if keys are known when everything was read: a pause may come after the call that it stopped.
    fn sorts_at_the_end(&self) -> bool {
        matches!(self.sort, Some((Column::Suspended, _)))
    }

    /// Returns the most calls to hold: those with the key of the place may be on earlier pages.
    #[must_use]
    pub fn most(&self) -> usize {
        let skip = self.after.as_ref().map_or(0, CallsAfter::skip);
        self.limit.unwrap_or(usize::MAX).saturating_add(skip)
    }

    /// Returns how two keys sort: the call that comes first is less.
    pub(super) fn compare(&self, a: &SortKey, b: &SortKey) -> Ordering {
        match self.sort {
            Some((_, true)) => b.cmp(a),
            _ => a.cmp(b),
        }
    }

    /// Returns `true` if a call with this key is on an earlier page.
    fn is_behind(&self, key: &SortKey) -> bool {
        let descending = self.sort.as_ref().is_some_and(|&(_, falling)| falling);
        self.after
            .as_ref()
            .is_some_and(|after| after.is_behind(key, descending))
    }
}

/// A call that was kept.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields of traceloom_model::SpanRow")]
pub struct Call {
    pub id: SpanId,
    pub track: TrackId,
    pub function: Option<FunctionId>,
    pub kind: Option<StringId>,
    pub start: Timestamp,
    pub end: Timestamp,
    pub status: SpanStatus,
    pub counters: Box<[(ValueTypeId, i64)]>,
    pub attributes: Box<[Attribute]>,
    pub exception: Option<ExceptionId>,
    pub context: Option<SpanContext>,
    pub origin: Option<Origin>,
    pub uses: Option<Uses>,
    /// It is inside another call.
    pub nested: bool,
}

impl Call {
    fn of(row: &SpanRow<'_>, uses: Option<Uses>) -> Self {
        Self {
            id: row.id,
            track: row.track,
            function: row.function,
            kind: row.kind,
            start: row.start,
            end: row.end,
            status: row.status,
            counters: row.counters.into(),
            attributes: row.attributes.into(),
            exception: row.exception,
            context: row.context,
            origin: row.origin,
            uses,
            nested: row.parent.is_some(),
        }
    }

    /// Returns the duration in nanoseconds.
    #[must_use]
    pub fn duration(&self) -> u64 {
        if self.end > self.start {
            self.end.abs_diff(self.start)
        } else {
            0
        }
    }

    /// Returns how much of it was recorded, and how it ended.
    #[must_use]
    pub fn state(&self) -> CallState {
        match self.status {
            SpanStatus::PartialEnd => CallState::Running,
            SpanStatus::PartialStart => CallState::Begun,
            _ if self.failed() => CallState::Error,
            _ => CallState::Complete,
        }
    }

    /// Returns true if it failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.status == SpanStatus::Error || self.exception.is_some()
    }
}

/// How much of a call was recorded, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// It ended well.
    Complete,
    /// It failed.
    Error,
    /// Its end is not in the recording: it was running when recording ended, or goes on after the stretch of time.
    Running,
    /// Its start is not in the recording or before the stretch of time.
    Begun,
}

impl CallState {
    /// Returns the word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Error => "error",
            Self::Running => "running",
            Self::Begun => "begun",
        }
    }

    /// Returns `true` if a part of the call is not in the recording.
    #[must_use]
    pub const fn is_partial(self) -> bool {
        matches!(self, Self::Running | Self::Begun)
    }
}

/// Who sent a recording to a collector. Recordings themselves may name nobody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// The service; empty where it is not known.
    pub service: String,
    /// Its process; empty where it is not known.
    pub instance: String,
}

/// The calls that were kept, with the tables that their ids point into.
#[derive(Debug, Default)]
pub struct Calls {
    /// Definitions; spans and samples are empty.
    pub tables: Recording,
    /// The calls, in the order asked for.
    pub rows: Vec<Call>,
    /// What each call was sorted by, row by row.
    pub(super) keys: Vec<SortKey>,
    /// How many calls there are, kept or not.
    pub counts: CallCounts,
    /// Who sent them.
    pub sender: Sender,
    /// Pauses of the process.
    pub pauses: Pauses,
    pub(super) pauses_seen: bool,
}

/// Keeps calls as they pass, in memory bounded by the limit.
///
/// With a limit and a sort column at most twice the limit is held. Sorting by suspension holds every
/// selected call, because a pause may be read after the call it stopped.
#[derive(Debug, Default)]
pub struct CallTable {
    query: CallQuery,
    calls: Calls,
    /// The key of the last call that there is room for, once there is none for more; equal ones that come later sort behind it.
    edge: Option<SortKey>,
    pub(super) keys: Vec<(SortKey, u64, Call)>,
    /// Texts of the calls kept here that others may refer to as well, until they are forgotten.
    held: HashSet<StringId>,
    /// Texts that only calls kept here refer to.
    own: Vec<StringId>,
    /// Looks for methods in calls.
    finder: Option<Finder>,
}

impl CallTable {
    /// An empty table.
    #[must_use]
    pub fn new(query: CallQuery) -> Self {
        Self {
            finder: query.with_method.clone().map(Finder::new),
            query,
            ..Self::default()
        }
    }

    /// Says who sent the recording.
    #[must_use]
    pub fn sent_by(mut self, sender: Sender) -> Self {
        self.calls.sender = sender;
        self
    }

    /// Leaves out calls that do not sort before this key.
    pub(super) fn before(self, edge: Option<SortKey>) -> Self {
        Self { edge, ..self }
    }

    /// Counts calls that are known not to be among those to keep, and are not read.
    pub fn skip(&mut self, counts: CallCounts) {
        self.calls.counts.add(counts);
    }

    /// Returns the key of the last call that there is room for, once there is none for more, if it is a number. Equal ones that come
    /// later are not kept.
    #[must_use]
    pub const fn edge_number(&self) -> Option<i64> {
        match self.edge {
            Some(SortKey::Number(number)) => Some(number),
            _ => None,
        }
    }

    /// Returns true if a call is among those asked for.
    pub(crate) fn accepts(&self, row: &SpanRow<'_>) -> bool {
        let view = CallOfRow::new(&self.calls.tables, row);
        self.query.selection.accepts(&view)
    }

    /// Returns the definitions read so far.
    pub(crate) const fn tables(&self) -> &Recording {
        &self.calls.tables
    }

    /// Sorts what was kept and returns it.
    #[must_use]
    pub fn finish(mut self) -> Calls {
        if let Some(mut finder) = self.finder.take() {
            let (held, order) = finder.release();
            for row in order.into_iter().filter_map(|at| held.row(at)) {
                let uses = finder.take(&self.calls.tables, &row);
                self.take(&row, Some(uses));
            }
        }
        self.calls.pauses.settle();
        if let Some((column @ Column::Suspended, _)) = &self.query.sort {
            for (key, _, call) in &mut self.keys {
                *key = self.calls.cell(call, column).sort_key();
            }
            let query = &self.query;
            self.keys.retain(|(key, ..)| !query.is_behind(key));
        }
        self.cut();
        // Texts of a batch are forgotten after a cut in its midst.
        self.release_texts();
        let rows = self.keys.drain(..).map(|(key, _, call)| (key, call));
        (self.calls.keys, self.calls.rows) = rows.unzip();
        self.calls
    }

    /// Sorts and drops what is beyond the limit.
    fn cut(&mut self) {
        let query = &self.query;
        if query.sort.is_some() {
            self.keys
                .sort_unstable_by(|a, b| query.compare(&a.0, &b.0).then(a.1.cmp(&b.1)));
        }
        let limit = query.most();
        if self.keys.len() <= limit {
            return;
        }
        self.keys.truncate(limit);
        if !self.query.sorts_at_the_end() {
            self.edge = self.keys.last().map(|(key, ..)| key.clone());
        }
        self.release_texts();
    }

    /// Drops texts of calls that were kept for a while.
    fn release_texts(&mut self) {
        let mut still = HashSet::new();
        for (_, _, call) in &self.keys {
            texts_of(&call.attributes, &mut still);
        }
        self.held.retain(|id| still.contains(id));
        let strings = &mut self.calls.tables.strings;
        self.own.retain(|id| {
            let is_held = still.contains(id);
            if !is_held {
                strings.drop_row(id.index());
            }
            is_held
        });
    }

    fn take(&mut self, row: &SpanRow<'_>, uses: Option<Uses>) {
        if !row.entry && row.parent.is_some() {
            return;
        }
        self.calls.counts.read += 1;
        if uses.is_some_and(|uses| uses.count == 0) {
            return;
        }
        let view = CallOfRow::new(&self.calls.tables, row);
        if self.query.selection.accepts(&view) {
            self.keep(row, uses);
        }
    }

    /// Returns false if a call that begins and ends then is known not to be kept.
    fn has_room(&self, start: Timestamp, end: Option<Timestamp>) -> bool {
        let Some((column, _)) = &self.query.sort else {
            return self.keys.len() < self.query.most();
        };
        let number = match (column, end) {
            (Column::Start, _) => Some(start),
            (Column::End, end) => end,
            (Column::Duration, Some(end)) => Some(end.saturating_sub(start).max(0)),
            _ => None,
        };
        let Some(key) = number.map(SortKey::Number) else {
            return true;
        };
        let is_beyond = |edge| self.query.compare(&key, edge).is_ge();
        !self.query.is_behind(&key) && !self.edge.as_ref().is_some_and(is_beyond)
    }

    fn keep(&mut self, row: &SpanRow<'_>, uses: Option<Uses>) {
        let counts = &mut self.calls.counts;
        let number = counts.selected;
        counts.selected += 1;
        let is_async = is_async(&self.calls.tables, row.track);
        counts.async_calls += u64::from(is_async);
        if row.parent.is_none() {
            let duration = saturated_i64(row.duration());
            let total = match is_async {
                true => &mut counts.async_total,
                false => &mut counts.total,
            };
            *total = total.saturating_add(duration);
        }
        let limit = self.query.most();
        let Some((column, _)) = &self.query.sort else {
            if self.keys.len() < limit {
                texts_of(row.attributes, &mut self.held);
                self.keys.push((SortKey::None, number, Call::of(row, uses)));
            }
            return;
        };
        let later = self.query.sorts_at_the_end();
        // Of most calls the key is all that is needed.
        let (key, call) = match number_of(row, column) {
            Some(number) => (SortKey::Number(number), None),
            None if later => (SortKey::None, None),
            None => {
                let call = Call::of(row, uses);
                (self.calls.cell(&call, column).sort_key(), Some(call))
            }
        };
        if !later && self.query.is_behind(&key) {
            return;
        }
        let is_beyond = |edge| self.query.compare(&key, edge).is_ge();
        if !later && self.edge.as_ref().is_some_and(is_beyond) {
            return;
        }
        let call = call.unwrap_or_else(|| Call::of(row, uses));
        texts_of(row.attributes, &mut self.held);
        self.keys.push((key, number, call));
        if !later && self.keys.len() >= limit.saturating_mul(2).max(1024) {
            self.cut();
        }
    }
}

/// Returns the key of a call that is not kept yet, where its column is a time of its own; see [`Calls::cell`].
fn number_of(row: &SpanRow<'_>, column: &Column) -> Option<i64> {
    match column {
        Column::Start => Some(row.start),
        Column::End => Some(row.end),
        Column::Duration => Some(saturated_i64(row.duration())),
        _ => None,
    }
}

/// Collects the strings that attributes hold.
fn texts_of(attributes: &[Attribute], into: &mut HashSet<StringId>) {
    let mut work: Vec<&Value> = attributes
        .iter()
        .map(|attribute| &attribute.value)
        .collect();
    while let Some(value) = work.pop() {
        match value {
            Value::Text(id) => {
                into.insert(*id);
            }
            Value::List(_, items) => work.extend(items.iter()),
            Value::Map(entries) => {
                work.extend(entries.iter().flat_map(|(key, value)| [key, value]))
            }
            _ => {}
        }
    }
}

impl Sink for CallTable {
    fn asks(&self) -> Asks {
        of_calls(match self.finder {
            None => Wants::Calls,
            Some(_) => Wants::Spans,
        })
    }

    fn wants_details(&self, start: Timestamp, end: Option<Timestamp>) -> bool {
        self.finder.is_some() || !self.query.selection.is_empty() || self.has_room(start, end)
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        if let Some(finder) = &mut self.finder {
            finder.begin(order);
        }
        self.calls.tables.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.calls.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        let Some(mut finder) = self.finder.take() else {
            batch.iter().for_each(|row| self.take(&row, None));
            return Flow::Continue(());
        };
        if let Some(batch) = finder.hold(batch) {
            for row in batch.iter() {
                let uses = finder.take(&self.calls.tables, &row);
                self.take(&row, Some(uses));
            }
        }
        self.finder = Some(finder);
        Flow::Continue(())
    }

    fn samples(&mut self, batch: traceloom_model::SampleBatch) -> Flow {
        self.calls.counts.samples += batch.len() as u64;
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.calls.pauses.add_events(&self.calls.tables, &batch);
        self.calls.pauses_seen = self.calls.pauses.iter().next().is_some();
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        if self.finder.as_ref().is_some_and(Finder::holds) {
            return;
        }
        for id in strings {
            if self.held.remove(id) {
                self.own.push(*id);
            } else {
                self.calls.tables.strings.drop_row(id.index());
            }
        }
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
