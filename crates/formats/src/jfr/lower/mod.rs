//! Recordings to the model: every event as a typed event, and what profilers emit as samples too.

mod alike;
mod amounts;
mod chunk_pools;
mod chunk_summary;
mod constants;
mod context;
mod frames;
mod kinds;
mod memo;
mod met;
mod plan;
mod profiles;
mod quick;
mod references;
mod sampling;
mod sound;
mod stacks;
mod summary;
mod survey;
mod texts;
mod values;

use profiles::AllocSource;
pub(super) use summary::summarise;
pub(super) use survey::choose;
pub(super) use texts::ChunkConstants;

use std::collections::HashMap;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, Clock, CounterBatch, EventBatch, EventRow, Flow, Limits, Note, ObjectId, Order,
    ResourceId, Series, Sink, StackId, StringId, Tables, TrackId, Value,
};

use self::alike::AlikeSamples;
use self::chunk_pools::{ChunkPools, Types};
use self::constants::{Constants, Into, ThreadRegistry};
use self::context::ChunkLookahead;
use self::met::{MetSamples, RecordingChoice};
use self::plan::{CounterField, EventTypes, FieldRole, Plan, Plans};
use self::profiles::{Profiles, ROWS, Rule};
use self::references::MetReferences;
use super::frame::{ChunkCutter, ExtentSource, PieceSink, unsupported, unsupported_version};
use super::header::{Header, RecordingExtent};
use super::read::{note_of, settle_schema};
use super::record::ChunkContext;
use super::schema::{FieldSchema, TypeSchemas};
use super::value::DecodedValue;
use super::walk::{ChunkStretch, EventWalk, Outline, head};
use crate::codec::each_window;
use crate::{Error, LowerOptions, Source, Step, Whole, damage, info, warn};

/// Lowers every part of `source`.
///
/// # Errors
/// When the bytes cannot be had, or begin a recording of a version that is not read.
pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::None, Clock::Unix);
    let mut lowering = Lowering::new(options.limits, sink);
    lowering.whole = options.whole;
    lowering.profiles.time = options.whole.map(|whole| whole.time);
    lowering.choice = match options
        .whole
        .and_then(|whole| RecordingChoice::of_code(whole.choice))
    {
        Some(chosen) => Some(chosen),
        None if survey::is_one_chunk(source)? => None,
        None => {
            let parts = 0..source.parts().len();
            Some(choose(
                source,
                parts,
                &options.limits,
                &mut lowering.schema,
            )?)
        }
    };
    for part in 0..source.parts().len() {
        let mut pull = source.open(part, 0)?;
        let mut frames = ChunkCutter::default();
        let mut first = true;
        let mut refused = None;
        let whole = each_window(pull.as_mut(), 8, |window| {
            if std::mem::take(&mut first)
                && let Some((major, minor)) = unsupported_version(window.bytes)
            {
                refused = Some(Error::unsupported(window.offset, unsupported(major, minor)));
                return Step::Stop;
            }
            frames.feed(window, &options.limits, &mut lowering)
        })?;
        match refused {
            Some(error) => return Err(error),
            None if whole => {}
            None => return Ok(()),
        }
    }
    let _ = lowering.finish();
    Ok(())
}

/// What lowering carries from chunk to chunk.
struct Lowering<'s> {
    limits: Limits,
    sink: &'s mut dyn Sink,
    tables: Tables,
    schema: Option<TypeSchemas>,
    threads: ThreadRegistry,
    event_types: EventTypes,
    profiles: Profiles,
    context: ChunkLookahead,
    resource: Option<ResourceId>,
    events: EventBatch,
    counters: CounterBatch,
    extent: RecordingExtent,
    /// The recording, when its chunks are lowered apart.
    whole: Option<Whole>,
    sampled_events: bool,
    amounts_only: bool,
    /// Events are wanted, and labels and threads of samples.
    wants_events: bool,
    wants_labels: bool,
    /// Samples that are alike may be added up.
    sums: bool,
    /// Nothing but notes is wanted.
    notes_only: bool,
    /// What all chunks of the recording say; none when its only chunk decides.
    choice: Option<RecordingChoice>,
    /// Kinds of samples of the chunks so far, and how many samples there were.
    met: MetSamples,
    n_samples: u64,
    /// Whether threads of a state are on a processor, where the state says so.
    on_cpu: HashMap<StringId, Option<bool>, RandomState>,
}

/// What one event says, taken apart.
#[derive(Default)]
struct EventRowParts {
    time: i64,
    length: Option<i64>,
    track: Option<TrackId>,
    owner: Option<TrackId>,
    stack: Option<StackId>,
    object: Option<ObjectId>,
    /// The text of the field with the thread's state.
    state: Option<StringId>,
    attributes: Vec<Attribute>,
    labels: Vec<Attribute>,
}

impl<'s> Lowering<'s> {
    fn new(limits: Limits, sink: &'s mut dyn Sink) -> Self {
        let asks = sink.asks();
        Self {
            limits,
            sink,
            tables: Tables::new(),
            schema: None,
            threads: ThreadRegistry::default(),
            event_types: EventTypes::default(),
            profiles: Profiles::default(),
            context: ChunkLookahead::default(),
            resource: None,
            events: EventBatch::default(),
            counters: CounterBatch::default(),
            extent: RecordingExtent::default(),
            whole: None,
            sampled_events: asks.sampled_events,
            amounts_only: asks.amounts_only,
            wants_events: asks.events,
            wants_labels: asks.labels,
            sums: asks.sums,
            notes_only: asks.notes_only,
            choice: None,
            met: MetSamples::default(),
            n_samples: 0,
            on_cpu: HashMap::default(),
        }
    }

    fn define(&mut self) -> Flow {
        let new = self.tables.take_definitions();
        if new.is_empty() {
            return ControlFlow::Continue(());
        }
        self.sink.define(new)
    }

    fn flush(&mut self) -> Flow {
        self.define()?;
        if !self.events.is_empty() {
            self.sink.events(std::mem::take(&mut self.events))?;
        }
        if !self.counters.time.is_empty() {
            self.sink.counters(std::mem::take(&mut self.counters))?;
        }
        ControlFlow::Continue(())
    }

    fn finish(&mut self) -> Flow {
        let whole = self.whole.or(self.extent.whole());
        let left = self.profiles.finish(whole, &mut self.tables);
        self.flush()?;
        left.into_iter()
            .try_for_each(|batch| self.sink.samples(batch))
    }

    /// Looks at the events that say how to take the others.
    fn look_ahead<'c>(
        &mut self,
        walk: &EventWalk<'c, 'c>,
        chunk: &'c [u8],
        outline: &Outline,
        alloc: AllocSource,
        constants: &mut Constants<'c>,
    ) {
        self.context.next_chunk();
        let schema = constants.rules.schema;
        let mut cells = Vec::new();
        for &at in &outline.early {
            let Some(head) = head(chunk, at, walk.compressed()) else {
                continue;
            };
            let Some(index) = schema.index(head.type_id) else {
                continue;
            };
            let Some(found) = schema.get(index) else {
                continue;
            };
            let mut scan = walk.body(&head);
            if constants.rules.cells(&mut scan, index, &mut cells).is_ok() {
                let tables = &mut self.tables;
                self.context
                    .take(&found.name, &found.fields, &cells, constants, tables);
            }
        }
        self.context.settle(alloc, &mut self.tables);
        if self.resource.is_none()
            && let Some(resource) = self.context.process()
        {
            self.resource = Some(self.tables.resource(resource));
        }
    }

    /// Takes an event apart by its plan.
    #[inline]
    fn row<'c>(
        &mut self,
        plan: &Plan,
        fields: &[FieldSchema],
        cells: &[DecodedValue<'c>],
        constants: &mut Constants<'c>,
        row: &mut EventRowParts,
    ) {
        let with_attributes = self.is_event(plan);
        row.length = None;
        row.track = None;
        row.owner = None;
        row.stack = None;
        row.object = None;
        row.state = None;
        row.attributes.clear();
        row.labels.clear();
        let fields = plan.roles.iter().zip(fields).zip(cells);
        for (at, ((role, field), cell)) in fields.enumerate() {
            match (role, cell) {
                (FieldRole::Start, &DecodedValue::Int(ticks)) => {
                    row.time = constants
                        .nanoseconds(start_meaning(field), ticks)
                        .unwrap_or(0);
                }
                (&FieldRole::Duration(meaning), &DecodedValue::Int(length)) => {
                    row.length = constants.nanoseconds(meaning, length).map(|ns| ns.max(0));
                }
                (&FieldRole::Thread(index), &DecodedValue::Ref(key)) => {
                    row.track = constants.thread(index, key, &mut self.into());
                }
                (&FieldRole::Owner(index, name), &DecodedValue::Ref(key)) => {
                    row.owner = constants.thread(index, key, &mut self.into());
                    let value = constants.value(field, cell, &mut self.tables);
                    row.attributes.push(Attribute::new(name, value));
                }
                (&FieldRole::Stack(index), &DecodedValue::Ref(key)) => {
                    row.stack = constants.stack(index, key, &mut self.tables);
                }
                (
                    &FieldRole::Attribute {
                        key,
                        label,
                        counter,
                    },
                    cell,
                ) => {
                    let value = constants.value(field, cell, &mut self.tables);
                    if let Some(counter) = counter.filter(|_| !self.notes_only) {
                        self.count(plan, counter, row, &value);
                    }
                    if let (Value::U64(address @ 1..), "address") = (&value, field.name.as_str()) {
                        row.object = Some(ObjectId(*address));
                    }
                    if plan.amounts.state == Some(at)
                        && let Value::Text(state) = value
                    {
                        row.state = Some(state);
                    }
                    let label = label.filter(|_| says_something(&value));
                    match label {
                        Some(label) if with_attributes => {
                            row.labels.push(Attribute::new(label, value.clone()));
                            row.attributes.push(Attribute::new(key, value));
                        }
                        Some(label) => row.labels.push(Attribute::new(label, value)),
                        None if with_attributes => {
                            row.attributes.push(Attribute::new(key, value));
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns true if what the plan is for is wanted as an event, whether it is a sample or not.
    fn is_event(&self, plan: &Plan) -> bool {
        let is_more = plan.rule.is_none_or(|rule| !rule.is_whole());
        self.wants_events && (self.sampled_events || is_more)
    }

    fn into(&mut self) -> Into<'_> {
        Into {
            tables: &mut self.tables,
            threads: &mut self.threads,
            resource: self.resource,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "counters of the model are floats"
    )]
    fn count(&mut self, plan: &Plan, counter: CounterField, row: &EventRowParts, value: &Value) {
        let number = match *value {
            Value::I64(number) => number as f64,
            Value::U64(number) => number as f64,
            Value::F64(number) => number,
            _ => return,
        };
        let series = match counter {
            CounterField::Process(series) => series,
            CounterField::Thread(at) => match plan.series.get(at) {
                Some(&(name, unit)) => self.tables.series(Series {
                    name,
                    unit,
                    track: row.track,
                }),
                None => return,
            },
        };
        self.counters.push(series, row.time, number);
    }

    fn chunk_events<'c>(
        &mut self,
        bytes: &'c [u8],
        offset: u64,
        header: &'c Header,
        end: ExtentSource,
        types: Types<'c>,
    ) -> Flow {
        let limits = self.limits;
        let schema = types.schema;
        let (outline, met) = outline(bytes, header, schema);
        let seen = survey::seen(bytes, header, schema, &outline, &met, &limits);
        let alloc = self.allocations(&seen, offset)?;
        survey::add_met(&mut self.met, schema, &met);
        let mut walk = EventWalk::new(bytes, header, types.known, schema, &limits);
        let wanted = |index| !self.amounts_only || !plan::is_of_stacks(schema.last_word(index));
        let chunk_pools = ChunkPools::of(bytes, header, &outline, types, &limits, &wanted);
        if chunk_pools.full {
            let text = "the constant pools have more entries than the limit `table` allows";
            self.sink.note(damage("limit_table", offset, text))?;
        }
        let rules = walk.rules();
        let compressed = header.compressed();
        let clock = header.clock();
        walk.step_over_checkpoints(chunk_pools.sound);
        let mut constants = Constants::new(rules, clock, bytes, compressed, chunk_pools.pools);
        self.look_ahead(&walk, bytes, &outline, alloc, &mut constants);
        let place = ChunkContext {
            chunk: bytes,
            offset,
            header,
            rules,
            limits: &limits,
            texts: None,
        };
        if outline.reached == bytes.len() && !self.wants_events {
            let is_sample = |name| Rule::of(name).is_some_and(|rule| self.context.admits(rule));
            let types = schema.types.iter();
            walk.step_over(types.map(|found| !is_sample(&found.name)).collect());
        }
        self.events(walk, &place, end, &mut constants)?;
        if constants.dangling > 0 {
            let count = constants.dangling;
            let text = format!("{count} constants that are referred to are in no pool");
            self.sink
                .note(info("dangling_reference", offset, text).counting(count))?;
        }
        self.settings();
        self.flush()
    }

    /// Chooses whose allocations are added up, and notes a chunk that has others.
    fn allocations(&mut self, seen: &[AllocSource], offset: u64) -> ControlFlow<(), AllocSource> {
        let known = self.choice.map(|choice| choice.alloc);
        let alloc = known.unwrap_or_else(|| {
            let mut coverage = survey::Coverage::default();
            coverage.add(seen);
            coverage.source()
        });
        if !seen.is_empty() && !seen.contains(&alloc) {
            let text = format!(
                "the recording's allocations are those of {}; the chunk says what it allocated by other events, which \
                 are not added up",
                alloc.events()
            );
            self.sink.note(warn("other_allocations", offset, text))?;
        }
        ControlFlow::Continue(alloc)
    }

    /// Takes every event of a chunk: as a sample, as an event, or as both.
    fn events<'c>(
        &mut self,
        mut walk: EventWalk<'c, 'c>,
        place: &ChunkContext<'_>,
        end: ExtentSource,
        constants: &mut Constants<'c>,
    ) -> Flow {
        let schema = constants.rules.schema;
        let mut plans = Plans::default();
        let mut cells = Vec::new();
        let mut row = EventRowParts::default();
        let mut alike = AlikeSamples::default();
        let mut references = MetReferences::default();
        loop {
            if self.notes_only && place.header.compressed() {
                walk.run(|chunk, head, type_index| references.has(chunk, head, type_index));
            } else if self.sums && place.header.compressed() {
                let (clock, profiles) = (&constants.clock, &mut self.profiles);
                let mut n_alike = 0;
                walk.run(|chunk, head, type_index| {
                    let added = alike.add(chunk, head, type_index, clock, profiles);
                    n_alike += u64::from(added);
                    added
                });
                self.count_samples(n_alike);
            }
            let Some(stretch) = &walk.next(&mut cells) else {
                return self.end_sums(&mut alike, constants);
            };
            if let Some(note) = note_of(stretch, place, end) {
                self.sink.note(note)?;
            }
            let &ChunkStretch::Event {
                head, type_index, ..
            } = stretch
            else {
                continue;
            };
            let fields = schema.fields(type_index);
            let context = &self.context;
            let admits = |rule| context.admits(rule);
            let (tables, event_types) = (&mut self.tables, &mut self.event_types);
            let (amounts_only, is_bare) =
                (self.amounts_only, !self.wants_events && !self.wants_labels);
            let plan = plans.get(type_index, || {
                let plan = Plan::new(schema, type_index, tables, event_types, &admits);
                match (amounts_only, is_bare) {
                    (true, _) => plan.of_amounts(false),
                    (_, true) => plan.of_amounts(true),
                    _ => plan,
                }
            });
            row.time = place.header.start_time_ns;
            self.row(plan, fields, &cells, constants, &mut row);
            if self.notes_only {
                references.meet(place.chunk, &head, type_index, plan, fields);
                continue;
            }
            if let Some(rule) = plan.rule {
                // The first of its kind, where samples are added up.
                let is_first = alike.can_add(place.chunk, &head, type_index);
                let kind = self.sample(rule, plan, &cells, is_first, constants, &mut row)?;
                if let Some(kind) = kind {
                    alike.meet(type_index, kind);
                }
                if self.sums && !self.is_event(plan) {
                    alike.learn(type_index, plan, fields);
                }
                if self.profiles.has_many_rows() {
                    self.end_sums(&mut alike, constants)?;
                }
            }
            if self.is_event(plan) {
                self.events.push(&EventRow {
                    event_type: plan.event_type,
                    track: row.track,
                    time: row.time,
                    end: row.length.map(|length| row.time.saturating_add(length)),
                    object: row.object,
                    owner: row.owner,
                    stack: row.stack,
                    attributes: &row.attributes,
                });
            }
            if self.events.len() >= ROWS || self.counters.time.len() >= ROWS {
                self.flush()?;
            }
        }
    }
}

/// Looks over a chunk: where its events are, and which types are met, by their index.
fn outline(bytes: &[u8], header: &Header, schema: &TypeSchemas) -> (Outline, Vec<bool>) {
    let reads: Vec<bool> = schema
        .types
        .iter()
        .map(|found| ChunkLookahead::reads(&found.name))
        .collect();
    let mut met = vec![false; schema.types.len()];
    let early = |id| {
        let Some(index) = schema.index(id) else {
            return false;
        };
        if let Some(met) = met.get_mut(index) {
            *met = true;
        }
        reads.get(index).copied().unwrap_or(false)
    };
    let outline = Outline::of(bytes, header.compressed(), early);
    (outline, met)
}

impl PieceSink for Lowering<'_> {
    fn chunk(&mut self, bytes: &[u8], offset: u64, header: &Header, end: ExtentSource) -> Flow {
        self.extent.add(header);
        self.profiles.time.get_or_insert(header.start_time_ns);
        let mut known = self.schema.take();
        let limits = self.limits;
        settle_schema(&mut known, bytes, offset, header, &limits, &mut |note| {
            self.sink.note(note)
        })?;
        let nothing = TypeSchemas::default();
        let types = Types {
            known: known.as_ref(),
            schema: known.as_ref().unwrap_or(&nothing),
        };
        let flow = self.chunk_events(bytes, offset, header, end, types);
        self.schema = known;
        flow
    }

    fn stray(&mut self, _bytes: &[u8], _offset: u64) -> Flow {
        ControlFlow::Continue(())
    }

    fn note(&mut self, note: Note) -> Flow {
        self.sink.note(note)
    }
}

fn start_meaning(field: &FieldSchema) -> super::schema::NumberMeaning {
    match field.meaning {
        super::schema::NumberMeaning::Plain => super::schema::NumberMeaning::TicksTime,
        known => known,
    }
}

/// Returns true if a label is worth keeping: null, 0 and empty texts stand for none.
fn says_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::U64(0) | Value::I64(0))
}
