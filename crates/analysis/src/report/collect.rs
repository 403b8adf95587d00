//! The sink that looks at every span, sample and event once.

use std::collections::{BTreeMap, HashMap, HashSet};

use traceloom_model::{
    Asks, Clock, Definitions, EventBatch, EventRow, ExceptionId, Flow, Note, Order, Recording,
    SampleBatch, Sink, SpanBatch, SpanRow, StringId, Timestamp, TrackId,
};

use super::attribute_keys::AttributeKeys;
use super::errors::Error;
use super::findings::{Findings, Pause, StatementGroup, Thread};
use super::statements::StatementShapes;
use crate::Pauses;
use crate::calltree::thread_name;
use crate::filter::CallOfRow;
use crate::filter::CallView as _;
use crate::pauses::is_pause;
use crate::text::value_text;

/// Collects what a report says of one recording. Which calls count is chosen before: [`crate::stage::Choose`].
#[derive(Debug)]
pub struct Collector {
    tables: Recording,
    found: Findings,
    keys: AttributeKeys,
    statements: StatementShapes,
    pauses: Pauses,
    /// Most pauses that are kept.
    most: usize,
    /// Exceptions that were told: spans that one passes through all have it.
    thrown: HashSet<ExceptionId>,
    tracks: HashMap<TrackId, Thread>,
}

impl Collector {
    /// Starts with nothing; of the longest pauses `most` are kept.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            tables: Recording::default(),
            found: Findings::default(),
            keys: AttributeKeys::default(),
            statements: StatementShapes::default(),
            pauses: Pauses::default(),
            most,
            thrown: HashSet::new(),
            tracks: HashMap::new(),
        }
    }

    /// Returns what was found.
    #[must_use]
    pub fn finish(mut self) -> Findings {
        self.cut_pauses();
        for (&track, &thread) in &self.tracks {
            let name = thread_name(&self.tables, track).into_owned();
            self.found.thread(name, thread);
        }
        // Samples without times: what their profiles say.
        let profiles = self.tables.profiles.iter().flatten();
        for (start, duration) in profiles.filter_map(|row| row.time.zip(row.duration)) {
            self.found.seen(start, start.saturating_add(duration));
        }
        self.pauses.settle();
        let paused = self.pauses.iter();
        self.found.paused.1 = paused.map(|(start, end)| end.abs_diff(start)).sum();
        self.found.cut();
        self.found
    }

    fn cut_pauses(&mut self) {
        let pauses = &mut self.found.pauses;
        pauses.sort_by_key(|pause| (std::cmp::Reverse(pause.duration), pause.start));
        pauses.truncate(self.most);
    }

    fn error(&mut self, error: Error, time: Timestamp) {
        self.found
            .errors_like(error.key(), 1, (time, time), || error);
    }

    /// Adds an exception, unless it was told: of most of them others say the same.
    fn exception(&mut self, id: ExceptionId, time: Timestamp) {
        if self.thrown.insert(id) {
            let tables = &self.tables;
            let error = Error::of_exception(tables, id);
            self.found.errors_like(error.key(), 1, (time, time), || {
                error.with_stacks(tables, id)
            });
        }
    }

    fn span(&mut self, row: &SpanRow<'_>) {
        self.found.spans += 1;
        self.found.seen(row.start, row.end);
        let tables = &self.tables;
        let told = self.keys.told(tables, row.attributes);
        if let Some(statement) = told.statement
            && let Some(shape) = self.statements.of_value(tables, statement)
        {
            let group = StatementGroup {
                count: 1,
                total: row.duration(),
                longest: row.duration(),
                failed: CallOfRow::new(tables, row).failed().into(),
            };
            self.found.statement(shape, &group);
        }
        if let Some(id) = row.exception {
            self.exception(id, row.end);
        } else if told.has_error
            && let Some(error) = Error::of_attributes(&self.tables, row.attributes)
        {
            self.error(error, row.end);
        }
    }

    fn event(&mut self, row: &EventRow<'_>) {
        self.found.events += 1;
        self.found.seen(row.time, row.end.unwrap_or(row.time));
        let tables = &self.tables;
        let name = tables
            .event_type(row.event_type)
            .map_or_else(String::new, |event| tables.text(event.name).into_owned());
        if let Some(end) = row.end.filter(|_| is_pause(&name)) {
            let pause = Pause {
                start: row.time,
                duration: end.abs_diff(row.time),
                what: describe(tables, &name, row),
            };
            self.found.paused.0 += 1;
            self.pauses.add(row.time, end);
            self.found.pauses.push(pause);
            if self.found.pauses.len() >= self.most.saturating_mul(2).max(1024) {
                self.cut_pauses();
            }
        } else if let Some(error) = thrown(tables, &name, row) {
            self.error(error, row.time);
        }
    }
}

/// An event of an exception: a span event of OpenTelemetry, or the JVM's.
fn thrown(tables: &Recording, name: &str, row: &EventRow<'_>) -> Option<Error> {
    if name == "exception" {
        return Error::of_attributes(tables, row.attributes);
    }
    if !matches!(name, "jdk.JavaErrorThrow" | "jdk.JavaExceptionThrow") {
        return None;
    }
    let named = |wanted: &str| {
        row.attributes.iter().find_map(|attribute| {
            let key = tables.attribute_key(attribute.key)?;
            (tables.text(key.name) == wanted).then(|| value_text(tables, &attribute.value))
        })
    };
    let class = named("thrownClass")?.into_owned();
    let message = named("message").filter(|message| !message.is_empty());
    let heading = message.map_or(class.clone(), |message| format!("{class}: {message}"));
    let mut error = Error::of_text(&heading)?;
    if let Some(stack) = row.stack {
        error.add_stack(tables, stack);
    }
    Some(error)
}

/// What a pause was: its kind, and its fields.
fn describe(tables: &Recording, name: &str, row: &EventRow<'_>) -> String {
    const FIELDS: usize = 6;
    let mut text = name.to_owned();
    for attribute in row.attributes.iter().take(FIELDS) {
        let key = tables.attribute_key(attribute.key);
        let key = key.map_or_else(Default::default, |key| tables.text(key.name));
        let value = value_text(tables, &attribute.value);
        if !value.is_empty() {
            text.push_str(&format!(" {key}={value}"));
        }
    }
    text
}

impl Sink for Collector {
    fn asks(&self) -> Asks {
        Asks {
            derived_samples: false,
            timeless_stacks: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.tables.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for row in batch.iter() {
            self.span(&row);
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        let mut of_track: BTreeMap<TrackId, u64> = BTreeMap::new();
        for row in batch.iter() {
            self.found.samples += 1;
            if let Some(time) = row.time {
                self.found.seen(time, time);
            }
            if let Some(track) = row.track {
                *of_track.entry(track).or_default() += 1;
            }
        }
        for (track, samples) in of_track {
            self.tracks.entry(track).or_default().samples += samples;
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        for row in batch.iter() {
            self.event(&row);
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
        self.statements.forget(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
