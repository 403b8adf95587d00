//! Recordings to the model: every event as a typed event, and what profilers emit as samples too.

mod alike;
mod amounts;
mod chunk_pools;
mod chunk_summary;
mod constants;
mod context;
mod frames;
mod kept;
mod kinds;
mod memo;
mod met;
#[cfg(test)]
mod narrow;
mod places;
mod plan;
mod profiles;
mod quick;
mod references;
mod rows;
mod sampling;
mod sound;
mod stacks;
mod summary;
mod survey;
mod texts;
mod values;
mod windows;

use profiles::AllocSource;
pub(super) use summary::summarise;
pub(super) use survey::choose;
pub(super) use texts::ChunkConstants;

use std::collections::HashMap;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;
use traceloom_model::{
    Clock, CounterBatch, EventBatch, EventRow, Flow, Limits, Note, Order, ResourceId, Sink,
    StringId, Tables,
};

use self::alike::AlikeSamples;
use self::chunk_pools::{ChunkPools, Types};
use self::constants::{Constants, Into, ThreadRegistry};
use self::context::ChunkLookahead;
use self::met::{MetSamples, RecordingChoice};
use self::places::SurveyedChunks;
use self::plan::{EventTypes, Plan, Plans};
use self::profiles::{Profiles, ROWS, Rule};
use self::references::MetReferences;
use self::rows::EventRowParts;
use self::sound::WHOLE;
use self::windows::LookOver;
use super::event_head::head;
use super::frame::{ChunkCutter, ExtentSource, PieceSink, unsupported, unsupported_version};
use super::header::{Header, RecordingExtent};
use super::read::{note_of, settle_schema};
use super::record::ChunkContext;
use super::scan::Scan;
use super::schema::{KnownTypes, TypeSchemas};
use super::value::DecodedValue;
use super::walk::{ChunkStretch, EventWalk, Outline};
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
    lower_windows(source, options, sink, WHOLE)
}

/// Lowers every part of `source`, in windows what is larger than `whole` bytes.
fn lower_windows(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
    whole: u64,
) -> Result<(), Error> {
    sink.begin(Order::None, Clock::Unix);
    let mut lowering = Lowering::new(options.limits, sink);
    lowering.whole = options.whole;
    lowering.profiles.time = options.whole.map(|whole| whole.time);
    let mut surveyed = SurveyedChunks::of(options.surveyed.as_ref()).unwrap_or_default();
    lowering.schema.clone_from(&surveyed.types);
    lowering.choice = match options
        .whole
        .and_then(|whole| RecordingChoice::of_code(whole.choice))
    {
        Some(chosen) => Some(chosen),
        None if survey::is_one_chunk(source)? => None,
        None => {
            let (parts, known) = (0..source.parts().len(), &mut lowering.schema);
            let (choice, chunks) = choose(source, parts, &options.limits, known)?;
            surveyed = chunks;
            Some(choice)
        }
    };
    for part in 0..source.parts().len() {
        let mut pull = source.open(part, 0)?;
        let pull = pull.as_mut();
        let window = pull.pull(0, 8)?;
        if let Some((major, minor)) = unsupported_version(window.bytes) {
            return Err(Error::unsupported(window.offset, unsupported(major, minor)));
        }
        let mut look_over = LookOver::new(source, part, pull, &surveyed, whole)?;
        let mut frames = ChunkCutter::default();
        let (mut consumed, mut need) = (0, 8);
        loop {
            if let Some(look_over) = look_over.as_mut().filter(|_| frames.is_between_chunks()) {
                match lowering.windows(look_over, pull, consumed)? {
                    ControlFlow::Break(()) => return Ok(()),
                    // What was asked for was of a chunk before.
                    ControlFlow::Continue(true) => need = 8,
                    ControlFlow::Continue(false) => {}
                }
                consumed = 0;
            }
            let window = pull.pull(consumed, need)?;
            let is_last = window.eof;
            match frames.feed(window, &options.limits, &mut lowering) {
                Step::Stop => return Ok(()),
                Step::More { .. } if is_last => break,
                Step::More {
                    consumed: taken,
                    need: wanted,
                } => (consumed, need) = (taken, wanted),
            }
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
    schema: KnownTypes,
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
        events: impl Iterator<Item = (usize, Scan<'c>)>,
        alloc: AllocSource,
        constants: &mut Constants<'_>,
    ) {
        self.context.next_chunk(events, constants, &mut self.tables);
        self.context.settle(alloc, &mut self.tables);
        if self.resource.is_none()
            && let Some(resource) = self.context.process()
        {
            self.resource = Some(self.tables.resource(resource));
        }
    }

    fn begin_chunk(&mut self, header: &Header) {
        self.extent.add(header);
        self.profiles.time.get_or_insert(header.start_time_ns);
    }

    fn into(&mut self) -> Into<'_> {
        Into {
            tables: &mut self.tables,
            threads: &mut self.threads,
            resource: self.resource,
        }
    }

    /// Lowers the events of a chunk that is in memory.
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
        let amounts_only = self.amounts_only;
        let wanted = |index| wants_constants(schema, index, amounts_only);
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
        let early = outline.early.iter().filter_map(|&at| {
            let head = head(bytes, at, compressed)?;
            Some((schema.index(head.type_id)?, walk.body(&head)))
        });
        self.look_ahead(early, alloc, &mut constants);
        let place = ChunkContext::new((bytes, offset), header, rules, &limits);
        if outline.reached == bytes.len() {
            walk.step_over(self.stepped_over(schema));
        }
        let mut events = ChunkEvents::default();
        self.events(&mut walk, &place, end, &mut events, &mut constants)?;
        self.end_chunk(offset, events, &constants)
    }

    /// Returns the types, by their index, whose events say nothing that is wanted.
    fn stepped_over(&self, schema: &TypeSchemas) -> Vec<bool> {
        if self.wants_events {
            return Vec::new();
        }
        let is_sample = |name| Rule::of(name).is_some_and(|rule| self.context.admits(rule));
        let types = schema.types.iter();
        types.map(|found| !is_sample(&found.name)).collect()
    }

    /// Hands on what is left of the chunk at `offset`.
    fn end_chunk(
        &mut self,
        offset: u64,
        mut events: ChunkEvents,
        constants: &Constants<'_>,
    ) -> Flow {
        self.end_sums(&mut events.alike, constants)?;
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

    /// Takes every event of a walk: as a sample, as an event, or as both.
    fn events<'w>(
        &mut self,
        walk: &mut EventWalk<'w, '_>,
        place: &ChunkContext<'_>,
        end: ExtentSource,
        events: &mut ChunkEvents,
        constants: &mut Constants<'_>,
    ) -> Flow {
        let schema = constants.rules.schema;
        let ChunkEvents {
            plans,
            row,
            alike,
            references,
        } = events;
        let mut cells: Vec<DecodedValue<'w>> = Vec::new();
        loop {
            if self.notes_only && place.header.compressed() {
                walk.run(|chunk, head, type_index| references.pass(chunk, head, type_index));
            } else if self.sums && place.header.compressed() {
                let (clock, profiles) = (&constants.clock, &mut self.profiles);
                let mut n_alike = 0;
                walk.run(|chunk, head, type_index| {
                    let (added, reached) = alike.add(chunk, head, type_index, clock, profiles);
                    n_alike += added;
                    reached
                });
                self.count_samples(n_alike);
            }
            let Some(stretch) = &walk.next(&mut cells) else {
                return ControlFlow::Continue(());
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
            self.row(plan, fields, &cells, constants, row);
            if self.notes_only {
                references.meet(place.chunk, &head, type_index, plan, fields);
                continue;
            }
            if let Some(rule) = plan.rule {
                // The first of its kind, where samples are added up.
                let is_first = alike.can_add(place.chunk, &head, type_index);
                let kind = self.sample(rule, plan, &cells, is_first, constants, row)?;
                if let Some(kind) = kind {
                    alike.meet(type_index, kind);
                }
                if self.sums && !self.is_event(plan) {
                    alike.learn(type_index, plan, fields);
                }
                if self.profiles.has_many_rows() {
                    self.end_sums(alike, constants)?;
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

/// What is known of the events of a chunk while they are lowered.
#[derive(Default)]
struct ChunkEvents {
    plans: Plans,
    row: EventRowParts,
    alike: AlikeSamples,
    references: MetReferences,
}

/// Returns true if constants of the type at `index` are looked up.
fn wants_constants(schema: &TypeSchemas, index: usize, amounts_only: bool) -> bool {
    !amounts_only || !plan::is_of_stacks(schema.last_word(index))
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
        self.begin_chunk(header);
        let mut known = self.schema.take();
        let limits = self.limits;
        settle_schema(&mut known, bytes, offset, header, &limits, &mut |note| {
            self.sink.note(note)
        })?;
        let nothing = TypeSchemas::default();
        let types = Types {
            known: known.as_deref(),
            schema: known.as_deref().unwrap_or(&nothing),
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
