//! Leaving functions out of a recording, as if the producer had not traced them.
//!
//! What an excluded function called hangs under whoever called it, its own time falls to that caller,
//! and frames of it are in no stack. A span is told by its function, and its callees come before it, so
//! the recording is read twice: [`HideSurvey`] learns which spans go, [`Hide`] passes on the others.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, Batch, Definitions, Flow, FunctionId, Link, LinkBatch, Note, ProfileId, Recording,
    SampleBatch, SampleRow, Scope, Sink, SpanBatch, SpanId, SpanRow, Stack, StackId, Stage,
    TrackId, Unit, Wants,
};

use super::Filter;
use crate::measure::goes_with_function;

/// The first reading: which functions the filter refuses, and which spans are theirs.
///
/// Memory is that of the tables, some 32 bytes for each span that goes and some 16 for each row of a statistic.
#[derive(Debug)]
pub struct HideSurvey<'f> {
    filter: &'f Filter,
    tables: Recording,
    /// Verdicts on functions that are defined: whether they go.
    verdicts: Vec<Option<bool>>,
    /// The parent of each span that goes.
    gone: HashMap<SpanId, Option<SpanId>, RandomState>,
    /// Spans of functions that nothing defined yet.
    undecided: Vec<(SpanId, FunctionId, Option<SpanId>)>,
    /// Statistics by the place they are of: those that stay.
    told: HashSet<Place, RandomState>,
    /// What statistics that go leave to those of their callers.
    owed: HashMap<Place, Vec<i64>, RandomState>,
}

/// What a row of a statistic is of.
type Place = (ProfileId, Option<TrackId>, StackId);

/// What becomes of a column's values when their function goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HiddenColumn {
    /// They are the caller's from then on.
    Passes,
    /// The caller has them already.
    Included,
    /// They go too.
    Goes,
}

impl<'f> HideSurvey<'f> {
    /// A survey before anything was read.
    #[must_use]
    pub fn new(filter: &'f Filter) -> Self {
        Self {
            filter,
            tables: Recording::default(),
            verdicts: Vec::new(),
            gone: HashMap::default(),
            undecided: Vec::new(),
            told: HashSet::default(),
            owed: HashMap::default(),
        }
    }

    /// Returns how many spans go.
    #[must_use]
    pub fn hidden_spans(&self) -> usize {
        self.gone.len()
    }

    /// Settles what could not be decided before everything was defined.
    pub fn settle(&mut self) {
        for (span, function, parent) in std::mem::take(&mut self.undecided) {
            if self.goes(function).unwrap_or(false) {
                self.gone.insert(span, parent);
            }
        }
    }

    /// Returns true if a function goes, none when it is not defined.
    fn goes(&mut self, function: FunctionId) -> Option<bool> {
        let at = function.index();
        if self.verdicts.len() <= at {
            self.verdicts.resize(at + 1, None);
        }
        let verdict = self.verdicts.get_mut(at)?;
        if verdict.is_none() {
            let row = self.tables.function(function)?;
            *verdict = Some(!self.filter.admits(&self.tables.text(row.name)));
        }
        *verdict
    }

    /// The nearest enclosing span that stays.
    fn above(&self, mut parent: Option<SpanId>) -> Option<SpanId> {
        // A circle of parents ends after as many steps as there are spans that go.
        for _ in 0..=self.gone.len() {
            match parent.and_then(|parent| self.gone.get(&parent)) {
                Some(&next) => parent = next,
                None => return parent,
            }
        }
        None
    }

    /// The stack without the frames that go, and whether its innermost frame went.
    fn stack(&mut self, stack: StackId) -> (Option<StackId>, bool) {
        let mut next = Some(stack);
        for _ in 0..=self.tables.stacks.len() {
            let Some(id) = next else { break };
            let Some(&row) = self.tables.stack(id) else {
                return (Some(id), id != stack);
            };
            let function = self.tables.frame(row.frame).and_then(|row| row.function);
            let goes = function.and_then(|function| self.goes(function));
            if goes != Some(true) {
                return (Some(id), id != stack);
            }
            next = row.parent;
        }
        (None, true)
    }

    fn definitions(&mut self, mut definitions: Definitions) -> Definitions {
        definitions.stacks.retain_mut(|(id, row)| {
            let stays = !self.stack(*id).1;
            let parent = row.parent.and_then(|parent| self.stack(parent).0);
            *row = Stack { parent, ..*row };
            stays
        });
        definitions
    }

    fn kept_spans(&self, batch: SpanBatch) -> SpanBatch {
        if self.gone.is_empty() {
            return batch;
        }
        let mut kept = SpanBatch::with_capacity(batch.len());
        for row in batch.iter().filter(|row| !self.gone.contains_key(&row.id)) {
            let parent = self.above(row.parent);
            kept.push(&SpanRow {
                parent,
                entry: row.entry || parent.is_none(),
                ..row
            });
        }
        kept
    }

    fn kept_samples(&mut self, batch: &SampleBatch) -> SampleBatch {
        let columns = self.columns(batch.profile);
        let statistic = columns.contains(&HiddenColumn::Goes);
        let mut kept = SampleBatch::new(batch.profile, batch.width());
        let mut values = Vec::new();
        for row in batch.iter() {
            let (stack, cut) = row.stack.map_or((None, false), |stack| self.stack(stack));
            if cut && stack.is_none() {
                continue;
            }
            values.clear();
            values.extend_from_slice(row.values);
            if let Some(stack) = stack.filter(|_| statistic) {
                let place = (batch.profile, row.track, stack);
                if cut && self.told.contains(&place) {
                    continue;
                }
                let owed = self.owed.remove(&place);
                if cut {
                    // Its caller has no row: the first of those that go becomes one.
                    let Some(owed) = owed else { continue };
                    values = owed;
                } else {
                    for (value, owed) in values.iter_mut().zip(owed.unwrap_or_default()) {
                        *value = value.saturating_add(owed);
                    }
                }
            } else if cut {
                for (value, column) in values.iter_mut().zip(&columns) {
                    if *column == HiddenColumn::Included {
                        *value = 0;
                    }
                }
            }
            kept.push(&SampleRow {
                stack,
                values: &values,
                span: self.above(row.span),
                ..row
            });
        }
        kept
    }

    /// Learns which places of a statistic have a row that stays, and what the others leave to them.
    fn take_statistic(&mut self, batch: &SampleBatch, columns: &[HiddenColumn]) {
        for row in batch.iter() {
            let Some(stack) = row.stack else { continue };
            let (above, cut) = self.stack(stack);
            let Some(above) = above else { continue };
            let place = (batch.profile, row.track, above);
            if !cut {
                self.told.insert(place);
                continue;
            }
            let owed = self.owed.entry(place).or_default();
            owed.resize(batch.width(), 0);
            for ((owed, value), column) in owed.iter_mut().zip(row.values).zip(columns) {
                if *column == HiddenColumn::Passes {
                    *owed = owed.saturating_add(*value);
                }
            }
        }
    }

    fn kept_links(&self, batch: LinkBatch) -> LinkBatch {
        let links = batch.links.into_iter().filter_map(|link| {
            let from = self.above(Some(link.from))?;
            let to = self.above(Some(link.to))?;
            Some(Link { from, to, ..link })
        });
        LinkBatch {
            links: links.collect(),
        }
    }

    fn columns(&self, profile: ProfileId) -> Vec<HiddenColumn> {
        let types = self
            .tables
            .profile(profile)
            .map(|row| row.value_types.as_slice());
        let types = types.unwrap_or_default().iter();
        let columns = types.map(|&id| {
            let Some(row) = self.tables.value_type(id) else {
                return HiddenColumn::Passes;
            };
            let name = self.tables.text(row.name);
            if goes_with_function(&name, row.unit == Unit::Count, row.merge) {
                HiddenColumn::Goes
            } else if row.scope == Scope::Inclusive {
                HiddenColumn::Included
            } else {
                HiddenColumn::Passes
            }
        });
        columns.collect()
    }
}

impl Sink for HideSurvey<'_> {
    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        let columns = batch.id.iter().zip(&batch.function).zip(&batch.parent);
        for ((&id, &function), &parent) in columns {
            let Some(function) = function else { continue };
            match self.goes(function) {
                Some(true) => {
                    self.gone.insert(id, parent);
                }
                Some(false) => {}
                None => self.undecided.push((id, function, parent)),
            }
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        let columns = self.columns(batch.profile);
        if columns.contains(&HiddenColumn::Goes) {
            self.take_statistic(&batch, &columns);
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// The second reading: passes on what stays.
///
/// Spans keep the depth the producer gave them, and with it their order. A sample all of whose frames go
/// goes too. Events stay, because no function makes them.
pub struct Hide<'s, 'f> {
    survey: &'s mut HideSurvey<'f>,
    to: &'s mut dyn Sink,
}

impl std::fmt::Debug for Hide<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hide")
            .field("survey", &self.survey)
            .finish_non_exhaustive()
    }
}

impl<'s, 'f> Hide<'s, 'f> {
    /// Passes on to `to`; `survey` has seen the same input.
    pub fn new(survey: &'s mut HideSurvey<'f>, to: &'s mut dyn Sink) -> Self {
        Self { survey, to }
    }
}

impl Stage for Hide<'_, '_> {
    /// Steps name no span, so spans are asked for instead.
    fn asks(&self) -> Asks {
        let asks = self.to.asks();
        let wants = match asks.wants {
            // What a hidden call called are calls.
            Wants::Calls => Wants::Spans,
            wants => wants.without_steps(),
        };
        Asks {
            wants,
            // Frames are hidden in stacks.
            stacks: true,
            timeless_stacks: true,
            ..asks
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let survey = &mut *self.survey;
        let batch = match batch {
            Batch::Define(definitions) => Batch::Define(survey.definitions(definitions)),
            Batch::Spans(batch) => Batch::Spans(survey.kept_spans(batch)),
            Batch::Samples(batch) => Batch::Samples(survey.kept_samples(&batch)),
            Batch::Links(batch) => Batch::Links(survey.kept_links(batch)),
            Batch::Events(mut batch) => {
                for stack in &mut batch.stack {
                    *stack = stack.and_then(|stack| survey.stack(stack).0);
                }
                Batch::Events(batch)
            }
            Batch::Objects(mut batch) => {
                for row in &mut batch.rows {
                    row.site = row.site.and_then(|site| survey.stack(site).0);
                }
                Batch::Objects(batch)
            }
            other => other,
        };
        let nothing = match &batch {
            Batch::Spans(batch) => batch.is_empty(),
            Batch::Samples(batch) => batch.is_empty(),
            Batch::Links(batch) => batch.links.is_empty(),
            _ => false,
        };
        if nothing {
            return Flow::Continue(());
        }
        batch.push(self.to)
    }
}
