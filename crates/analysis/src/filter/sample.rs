//! Which samples and events count.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, EventRow, EventTypeId, FunctionId, ObjectRow, ProfileId, Recording, SampleBatch,
    SampleRow, StackId, TrackId,
};

use super::{CallView, Filter, class_and_method};
use crate::symbol::{symbol_of_frame, symbol_of_function};
use crate::text::{of_resource_from, service_name, track_name, value_text};

/// Chooses samples by the functions on their stacks, their thread, time, labels and values.
///
/// Samples are judged when they come, by what is defined until then.
#[derive(Debug)]
pub(crate) struct SampleFilter {
    filter: Filter,
    /// Verdicts by stack and thread, while nothing else of a sample is asked for.
    verdicts: Option<HashMap<(Option<StackId>, Option<TrackId>), bool, RandomState>>,
    profile: Option<ProfileId>,
    names: FunctionNames,
    /// Samples that passed, and those that were refused.
    pub told: (u64, u64),
}

/// Names of functions, found out once each.
#[derive(Debug, Default)]
struct FunctionNames(Vec<OnceCell<String>>);

impl FunctionNames {
    /// Makes room for the functions that are defined.
    fn reach(&mut self, tables: &Recording) {
        self.0.resize_with(tables.functions.len(), OnceCell::new);
    }
}

impl SampleFilter {
    pub fn new(filter: Filter) -> Self {
        Self {
            verdicts: (!filter.asks_for_values()).then(HashMap::default),
            filter,
            profile: None,
            names: FunctionNames::default(),
            told: (0, 0),
        }
    }

    /// Returns the samples that pass.
    pub fn choose(&mut self, tables: &Recording, batch: SampleBatch) -> SampleBatch {
        if self.filter.is_empty() {
            return batch;
        }
        self.names.reach(tables);
        // Another profile may be of another process.
        if self.profile.replace(batch.profile) != Some(batch.profile)
            && let Some(verdicts) = &mut self.verdicts
        {
            verdicts.clear();
        }
        let mut chosen = SampleBatch::new(batch.profile, batch.width());
        for row in batch.iter() {
            if self.accepts(tables, batch.profile, &row) {
                chosen.push(&row);
                self.told.0 += 1;
            } else {
                self.told.1 += 1;
            }
        }
        chosen
    }

    fn accepts(&mut self, tables: &Recording, profile: ProfileId, row: &SampleRow<'_>) -> bool {
        let view = Moment::of_sample(tables, &self.names, profile, row);
        match &mut self.verdicts {
            Some(verdicts) if row.labels.is_empty() => *verdicts
                .entry((row.stack, row.track))
                .or_insert_with(|| self.filter.accepts(&view)),
            _ => self.filter.accepts(&view),
        }
    }
}

/// Chooses events by their type, which is their title and kind, their fields, thread, time, length, and the functions
/// on their stacks; and what is about an object by its class too.
#[derive(Debug)]
pub(crate) struct EventFilter {
    filter: Filter,
    names: FunctionNames,
}

impl EventFilter {
    /// Chooses what `filter` accepts.
    #[must_use]
    pub fn new(filter: Filter) -> Self {
        Self {
            filter,
            names: FunctionNames::default(),
        }
    }

    /// Returns true if an event passes, by what is defined until then.
    pub fn accepts(&mut self, tables: &Recording, row: &EventRow<'_>) -> bool {
        if self.filter.is_empty() {
            return true;
        }
        self.names.reach(tables);
        self.filter
            .accepts(&Moment::of_event(tables, &self.names, row))
    }

    /// Returns true if everything passes.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter.is_empty()
    }

    /// Returns true if an event about an object of this class passes.
    pub(crate) fn accepts_about(
        &mut self,
        tables: &Recording,
        row: &EventRow<'_>,
        class: Option<&str>,
    ) -> bool {
        self.names.reach(tables);
        self.filter.accepts(&Moment {
            of: class,
            ..Moment::of_event(tables, &self.names, row)
        })
    }

    /// Returns true if a sample about an object of this class passes.
    pub(crate) fn accepts_sample(
        &mut self,
        tables: &Recording,
        profile: ProfileId,
        row: &SampleRow<'_>,
        class: Option<&str>,
    ) -> bool {
        self.names.reach(tables);
        self.filter.accepts(&Moment {
            of: class,
            ..Moment::of_sample(tables, &self.names, profile, row)
        })
    }

    /// Returns true if an object of this class passes, by its size and where, when and by whom it was allocated.
    pub(crate) fn accepts_object(
        &mut self,
        tables: &Recording,
        row: &ObjectRow,
        class: Option<&str>,
    ) -> bool {
        self.names.reach(tables);
        self.filter.accepts(&Moment {
            of: class,
            stack: row.site,
            track: row.thread,
            time: row.time,
            size: Some(row.size),
            ..Moment::new(tables, &self.names)
        })
    }

    /// Returns true if something passes of which nothing is known.
    pub(crate) fn accepts_unknown(&self, tables: &Recording) -> bool {
        self.filter.accepts(&Moment::new(tables, &self.names))
    }
}

/// A sample, event or heap object as filters see it.
struct Moment<'a> {
    tables: &'a Recording,
    names: &'a FunctionNames,
    kind: Option<EventTypeId>,
    stack: Option<StackId>,
    track: Option<TrackId>,
    time: Option<i64>,
    duration: Option<u64>,
    attributes: &'a [Attribute],
    values: Option<(ProfileId, &'a [i64])>,
    /// Who held what was waited for.
    owner: Option<TrackId>,
    /// The class of the object that it is about.
    of: Option<&'a str>,
    /// The size of the object that it is.
    size: Option<u64>,
}

impl<'a> Moment<'a> {
    fn new(tables: &'a Recording, names: &'a FunctionNames) -> Self {
        Self {
            tables,
            names,
            kind: None,
            stack: None,
            track: None,
            time: None,
            duration: None,
            attributes: &[],
            values: None,
            owner: None,
            of: None,
            size: None,
        }
    }

    fn of_event(tables: &'a Recording, names: &'a FunctionNames, row: &EventRow<'a>) -> Self {
        Self {
            kind: Some(row.event_type),
            stack: row.stack,
            track: row.track,
            time: Some(row.time),
            duration: row.end.map(|end| end.abs_diff(row.time)),
            attributes: row.attributes,
            owner: row.owner,
            ..Self::new(tables, names)
        }
    }

    fn of_sample(
        tables: &'a Recording,
        names: &'a FunctionNames,
        profile: ProfileId,
        row: &SampleRow<'a>,
    ) -> Self {
        Self {
            stack: row.stack,
            track: row.track,
            time: row.time,
            attributes: row.labels,
            values: Some((profile, row.values)),
            ..Self::new(tables, names)
        }
    }

    fn name(&self, function: FunctionId) -> Cow<'_, str> {
        let name = || symbol_of_function(self.tables, function).name;
        match self.names.0.get(function.index()) {
            Some(known) => known.get_or_init(name).as_str().into(),
            None => name().into(),
        }
    }

    fn resource(&self) -> Option<traceloom_model::ResourceId> {
        let track = self.track.and_then(|track| self.tables.track(track));
        let of_profile = || self.tables.profile(self.values?.0)?.resource;
        track.and_then(|track| track.resource).or_else(of_profile)
    }
}

impl CallView for Moment<'_> {
    /// The innermost function.
    fn method(&self) -> Cow<'_, str> {
        let stack = self.stack.and_then(|stack| self.tables.stack(stack));
        let frame = stack.and_then(|stack| self.tables.frame(stack.frame));
        match frame.and_then(|frame| frame.function) {
            Some(function) => self.name(function),
            None => "".into(),
        }
    }

    fn methods(&self, each: &mut dyn FnMut(&str) -> bool) -> bool {
        let mut next = self.stack;
        // More callers than there are stacks are a circle.
        for _ in 0..=self.tables.stacks.len() {
            let Some(stack) = next.and_then(|stack| self.tables.stack(stack)) else {
                break;
            };
            let function = self
                .tables
                .frame(stack.frame)
                .and_then(|frame| frame.function);
            let found = match function {
                Some(function) => each(&self.name(function)),
                None => each(&symbol_of_frame(self.tables, stack.frame).name),
            };
            if found {
                return true;
            }
            next = stack.parent;
        }
        false
    }

    fn classes(&self, each: &mut dyn FnMut(&str) -> bool) -> bool {
        match self.of {
            Some(class) => each(class),
            None => self.methods(&mut |name| each(class_and_method(name).0)),
        }
    }

    fn params(&self, each: &mut dyn FnMut(&str, &str) -> bool) -> bool {
        let told = self.attributes.iter().any(|label| {
            let key = self.tables.attribute_key(label.key);
            let name = key.map_or("".into(), |key| self.tables.text(key.name));
            each(&name, &value_text(self.tables, &label.value))
        });
        let owner = self.owner.map(|track| track_name(self.tables, track));
        told || owner.is_some_and(|owner| each("owner", &owner))
            || self.of.is_some_and(|class| each("class", class))
    }

    fn title(&self) -> Option<Cow<'_, str>> {
        self.kind()
    }

    fn kind(&self) -> Option<Cow<'_, str>> {
        let row = self.tables.event_type(self.kind?)?;
        Some(self.tables.text(row.name))
    }

    fn time(&self) -> Option<i64> {
        self.time
    }

    fn duration(&self) -> Option<u64> {
        self.duration
    }

    fn thread(&self) -> Option<Cow<'_, str>> {
        self.track.map(|track| track_name(self.tables, track))
    }

    fn service(&self) -> Option<Cow<'_, str>> {
        service_name(self.tables, self.resource())
    }

    fn host(&self) -> Option<Cow<'_, str>> {
        of_resource_from(self.tables, self.resource(), |row| row.host)
    }

    fn counter(&self, name: &str) -> Option<i64> {
        if name == "size" && self.size.is_some() {
            return i64::try_from(self.size?).ok();
        }
        let (profile, values) = self.values?;
        let types = &self.tables.profile(profile)?.value_types;
        let at = types.iter().position(|&id| {
            let row = self.tables.value_type(id);
            row.is_some_and(|row| self.tables.text(row.name).eq_ignore_ascii_case(name))
        });
        values.get(at?).copied()
    }
}
