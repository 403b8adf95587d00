//! Totals of one chunk, from windows of it.

use traceloom_model::Limits;
use traceloom_model::bounds::subslice;

use super::super::event_head::{CHECKPOINT, EventHead, METADATA, head};
use super::super::header::{ChunkClock, Header};
use super::super::metadata::MetadataEvent;
use super::super::record::is_ticks;
use super::super::scan::Scan;
use super::super::schema::{FieldEncoding, FieldSchema, TypeSchemas};
use super::super::value::{DecodedValue, DecodingRules, SkippedValues};
use super::amounts::{AmountFields, SampleAmount};
use super::context::ChunkLookahead;
use super::kept::KeptBytes;
use super::plan::is_of_stacks;
use super::profiles::{Rule, Subject};
use super::sound::each_window_of;
use crate::{Error, Pull};

/// The most groups of samples of one type: states of threads are few.
const GROUPS: usize = 64;

/// What all samples of a group have in common.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum GroupKey {
    /// They say their amounts.
    Known(Subject),
    /// They stand for intervals of a clock.
    Intervals(Subject),
    /// They stand for an interval of the clock that a state tells: a key of its pool.
    State(Option<u64>),
}

/// Samples of one type, added up.
pub(super) struct SampleGroup {
    pub(super) key: GroupKey,
    /// Offset of the first.
    pub(super) first: u64,
    pub(super) samples: u64,
    /// Of what the events say: things and their amount, or weights.
    pub(super) totals: [i128; 2],
    /// The weight that is farthest from 0.
    pub(super) heaviest: i64,
}

/// The events of one type.
pub(super) struct TypeSum {
    pub(super) n_events: u64,
    times: TimeFields,
    pub(super) sampled: Option<(Rule, AmountFields)>,
    /// They say something about others.
    early: bool,
    pub(super) groups: Vec<SampleGroup>,
    last: usize,
}

/// Where the times of an event are.
#[derive(Clone, Copy, PartialEq, Debug)]
enum TimeFields {
    None,
    /// The start is the first field, and a duration the second, if there is one.
    First {
        duration: bool,
    },
    /// In any other place.
    At {
        start: usize,
        duration: Option<usize>,
    },
}

impl TimeFields {
    fn of(fields: &[FieldSchema]) -> Self {
        let at = |name: &str| {
            let is_time = |field: &FieldSchema| field.name == name && is_ticks(field.meaning);
            fields.iter().rposition(is_time)
        };
        let is_long = |at: usize| {
            let field = fields.get(at);
            field.is_some_and(|field| field.kind == FieldEncoding::Long && !field.array)
        };
        match (at("startTime"), at("duration")) {
            (None, _) => Self::None,
            (Some(0), None) if is_long(0) => Self::First { duration: false },
            (Some(0), Some(1)) if is_long(0) && is_long(1) => Self::First { duration: true },
            (Some(start), duration) => Self::At { start, duration },
        }
    }

    /// Returns the ticks at which an event starts and ends.
    #[inline]
    fn read(self, mut body: Scan<'_>, cells: &[DecodedValue<'_>]) -> Option<(i64, i64)> {
        let cell = |at: usize| match cells.get(at) {
            Some(&DecodedValue::Int(ticks)) => Some(ticks),
            _ => None,
        };
        let (start, duration) = match self {
            Self::None => return None,
            Self::First { duration } => {
                let start = body.long().ok()?.cast_signed();
                let duration = if duration { body.long().ok()? } else { 0 };
                (start, duration.cast_signed())
            }
            Self::At { start, duration } => (cell(start)?, duration.and_then(cell).unwrap_or(0)),
        };
        Some((start, start.saturating_add(duration.max(0))))
    }
}

impl TypeSum {
    fn new(name: &str, fields: &[FieldSchema]) -> Self {
        let rule = Rule::of(name);
        let amounts = AmountFields::new(name, rule, fields);
        Self {
            n_events: 0,
            times: TimeFields::of(fields),
            sampled: rule.map(|rule| (rule, amounts)),
            // Endpoints of spans name no amount.
            early: ChunkLookahead::reads(name) && name != "datadog.Endpoint",
            groups: Vec::new(),
            last: 0,
        }
    }

    /// Returns true if its events need not be taken apart.
    fn is_counted(&self) -> bool {
        let is_apart = matches!(self.times, TimeFields::At { .. });
        self.sampled.is_none() && !is_apart
    }

    /// Adds a sample; none when the samples are of too many kinds.
    fn add(&mut self, key: GroupKey, values: [i64; 2], offset: u64) -> Option<()> {
        let is_last = |group: &SampleGroup| group.key == key;
        if !self.groups.get(self.last).is_some_and(is_last) {
            let known = self.groups.iter().position(is_last);
            self.last = known.unwrap_or(self.groups.len());
            if known.is_none() {
                self.groups.push(SampleGroup {
                    key,
                    first: offset,
                    samples: 0,
                    totals: [0; 2],
                    heaviest: 0,
                });
            }
        }
        let group = self.groups.get_mut(self.last)?;
        group.samples += 1;
        for (total, value) in group.totals.iter_mut().zip(values) {
            *total += i128::from(value);
        }
        let [weight, _] = values;
        if weight.unsigned_abs() > group.heaviest.unsigned_abs() {
            group.heaviest = weight;
        }
        (self.groups.len() <= GROUPS).then_some(())
    }
}

/// A chunk on the way through its windows.
pub(super) struct ChunkSummary<'s> {
    pub(super) header: &'s Header,
    pub(super) rules: DecodingRules<'s>,
    limits: Limits,
    clock: ChunkClock,
    pub(super) types: Vec<TypeSum>,
    /// Whether constants of a type are kept.
    wanted: Vec<bool>,
    /// Events that say something about others, and the constants that they and states refer to.
    pub(super) kept: KeptBytes,
    pub(super) n_metadata: u64,
    pub(super) n_checkpoints: u64,
    /// First start and last end of its events.
    pub(super) ticks: Option<(i64, i64)>,
}

impl<'s> ChunkSummary<'s> {
    pub(super) fn new(header: &'s Header, schema: &'s TypeSchemas, limits: &Limits) -> Self {
        let types = schema.types.iter();
        let types: Vec<TypeSum> = types
            .map(|found| TypeSum::new(&found.name, &found.fields))
            .collect();
        Self {
            header,
            rules: DecodingRules::new(schema, limits),
            limits: *limits,
            clock: header.clock(),
            wanted: referred_to(schema, &types),
            types,
            kept: KeptBytes::default(),
            n_metadata: 0,
            n_checkpoints: 0,
            ticks: None,
        }
    }

    /// Reads the chunk to its end, the pull being at its header; returns what of the last window is its. None when
    /// anything is out of order.
    pub(super) fn read(&mut self, pull: &mut dyn Pull) -> Result<Option<usize>, Error> {
        let header = self.header;
        each_window_of(pull, header, |bytes, offset| self.events(bytes, offset))
    }

    /// Takes the whole events of a window that begins at `offset` of the part; returns their length.
    fn events(&mut self, bytes: &[u8], offset: u64) -> Option<usize> {
        let mut cells = Vec::new();
        let mut at = 0;
        while let Some(head) = head(bytes, at, self.header.compressed()) {
            let body = subslice(bytes, head.body..head.end);
            let scan = Scan::new(body, self.header.compressed());
            match head.type_id {
                METADATA => {
                    let mut scan = scan;
                    if !self.rules.schema.is_described_by(scan) {
                        MetadataEvent::read(&mut scan, &self.limits, &mut SkippedValues).ok()?;
                    }
                    self.n_metadata += 1;
                }
                CHECKPOINT => self.checkpoint(scan)?,
                _ => {
                    self.event(&head, scan, offset + at as u64, &mut cells)?;
                }
            }
            at = head.end;
        }
        Some(at)
    }

    fn checkpoint(&mut self, body: Scan<'_>) -> Option<()> {
        self.n_checkpoints += 1;
        let wanted = |index| self.wanted.get(index) == Some(&true);
        self.kept
            .checkpoint(&self.rules, body, &self.limits, &wanted)
    }

    #[inline]
    fn event<'w>(
        &mut self,
        head: &EventHead,
        body: Scan<'w>,
        offset: u64,
        cells: &mut Vec<DecodedValue<'w>>,
    ) -> Option<()> {
        let index = self.rules.schema.index(head.type_id)?;
        let of = self.types.get_mut(index)?;
        of.n_events += 1;
        let mut scan = body;
        if of.is_counted() {
            self.rules.skip(&mut scan, index).ok()?;
        } else {
            self.rules.cells(&mut scan, index, cells).ok()?;
        }
        if scan.left() > 0 {
            return None;
        }
        if let Some((start, end)) = of.times.read(body, cells) {
            let (first, last) = self.ticks.unwrap_or((start, end));
            self.ticks = Some((first.min(start), last.max(end)));
        }
        if of.early {
            self.kept.event(index, body, &self.limits)?;
        }
        if let Some((rule, amounts)) = &of.sampled {
            let clock = self.clock;
            let nanoseconds = |meaning, value| clock.nanoseconds(meaning, value);
            let (key, values) = match amounts.of(*rule, cells, nanoseconds) {
                SampleAmount::Known(subject, values) => (GroupKey::Known(subject), values),
                SampleAmount::Intervals(subject, weight) => {
                    (GroupKey::Intervals(subject), [weight, 0])
                }
                SampleAmount::Interval => (GroupKey::State(state(amounts, cells)?), [1, 0]),
            };
            of.add(key, values, offset)?;
        }
        Some(())
    }
}

/// Returns the key of the state that a sample tells, if it does; none when the state is no constant.
fn state(amounts: &AmountFields, cells: &[DecodedValue<'_>]) -> Option<Option<u64>> {
    match amounts.state {
        Some(at) if !amounts.native => match cells.get(at) {
            Some(&DecodedValue::Ref(key)) => Some(Some(key)),
            _ => None,
        },
        _ => Some(None),
    }
}

/// Finds the types whose constants are asked for: what early events and states refer to, but for stacks.
fn referred_to(schema: &TypeSchemas, sums: &[TypeSum]) -> Vec<bool> {
    let mut wanted = vec![false; schema.types.len()];
    let mut open: Vec<usize> = schema.string.into_iter().collect();
    for (index, of) in sums.iter().enumerate() {
        if of.early {
            open.push(index);
        } else if let Some((Rule::Execution, amounts)) = &of.sampled
            && let Some(at) = amounts.state
            && let Some(FieldEncoding::Ref(target)) =
                schema.fields(index).get(at).map(|field| field.kind)
        {
            open.push(target);
        }
    }
    while let Some(index) = open.pop() {
        match wanted.get_mut(index) {
            Some(known) if !*known => *known = true,
            _ => continue,
        }
        for field in schema.fields(index) {
            if let FieldEncoding::Ref(target) | FieldEncoding::Struct(target) = field.kind
                && !is_of_stacks(schema.last_word(target))
            {
                open.push(target);
            }
        }
    }
    wanted
}
