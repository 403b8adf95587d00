//! The model to a profile.
//!
//! Fields of `Profile` may come in any order, so samples are written as they pass, each right after the
//! locations, functions and strings that it is the first to use. Only what has an id is kept.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, BATCH_ROWS, Clock, Definitions, Flow, Merge, Note, Order, Profile, ProfileId, Recording,
    SampleBatch, SampleRow, Scope, Sink, StackId, StringId, Timestamp, Unit, ValueType,
    ValueTypeId,
};

use super::SUMS;
use super::symbols::{DEEPEST, SymbolWriter};
use crate::protobuf::Wire;
use crate::protobuf::{put_bytes, put_number, put_packed, put_tag};
use crate::wire::put_leb128;
use crate::{Error, Output, RaiseOptions, Target};

/// Builds a target that writes a profile.
///
/// The variant `sums` adds up samples that differ in nothing but their times, and leaves these out.
///
/// # Errors
/// `Usage` for any other variant.
pub fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let sums = match options.variant.as_deref() {
        None => None,
        Some(SUMS) => Some(SampleSums::default()),
        Some(other) => {
            let text = format!("pprof has no variant `{other}`; there is {SUMS}");
            return Err(Error::usage(text));
        }
    };
    Ok(Box::new(Writer {
        output,
        symbols: SymbolWriter::new(),
        kept: Vec::new(),
        n_kept: 0,
        first: None,
        clock: Clock::Unix,
        dated: false,
        taken: None,
        columns: None,
        late: 0,
        sums,
        places: StackPlaces::default(),
        values: Vec::new(),
        labels: Vec::new(),
        body: Vec::new(),
        error: None,
    }))
}

/// Samples kept back until the columns are fixed, so that a profile defined late still has its own.
const KEPT_SAMPLES: usize = 4 * BATCH_ROWS;

/// Bytes collected before they are handed to the output.
const PIECE: usize = 1 << 20;

struct Writer<'o> {
    output: &'o mut dyn Output,
    symbols: SymbolWriter,
    kept: Vec<SampleBatch>,
    n_kept: usize,
    /// The profile of the first sample, which speaks for all.
    first: Option<ProfileId>,
    /// The clock of the recording that passes, and whether that of the first sample has a date.
    clock: Clock,
    dated: bool,
    /// The first and the last time of samples.
    taken: Option<(Timestamp, Timestamp)>,
    columns: Option<WrittenColumns>,
    /// Samples whose profile came after the columns were fixed.
    late: u64,
    /// What is not written until the end, where samples are added up.
    sums: Option<SampleSums>,
    places: StackPlaces,
    // Of one sample after the other.
    values: Vec<i64>,
    labels: Vec<u8>,
    body: Vec<u8>,
    error: Option<Error>,
}

/// The values of samples that differ in nothing else but their times, by the fields of their messages, with their order.
type SampleSums = HashMap<Box<[u8]>, (usize, Vec<i64>), RandomState>;

/// Samples that are added up at most; those of more are written, and others like them apart.
const MOST_SUMS: usize = 1 << 20;

/// The locations of the last stacks, as a field of a sample.
#[derive(Default)]
struct StackPlaces {
    last: Vec<Option<(StackId, Vec<u8>)>>,
    location_ids: Vec<u64>,
}

impl StackPlaces {
    /// Stacks that are remembered.
    const SLOTS: usize = 1 << 10;
    /// Bytes of a field that is.
    const LONGEST: usize = 1 << 12;

    /// Appends the locations of a stack, each written when it is first used.
    fn put(&mut self, stack: Option<StackId>, symbols: &mut SymbolWriter, body: &mut Vec<u8>) {
        let Some(stack) = stack else { return };
        let at = stack.index() % Self::SLOTS;
        if let Some(Some((known, field))) = self.last.get(at)
            && *known == stack
        {
            return body.extend_from_slice(field);
        }
        self.location_ids.clear();
        let mut next = Some(stack);
        while let Some(stack) = next {
            let (location, caller) = symbols.place(stack);
            self.location_ids.push(location);
            next = caller.filter(|_| self.location_ids.len() < DEEPEST);
        }
        let from = body.len();
        put_packed(body, 1, self.location_ids.iter().copied());
        if body.len() - from <= Self::LONGEST {
            self.last.resize(Self::SLOTS, None);
            let field = body.get(from..).unwrap_or_default().to_vec();
            self.last
                .get_mut(at)
                .map(|slot| slot.insert((stack, field)));
        }
    }
}

/// The value columns written, and where each profile's lie among them.
struct WrittenColumns {
    types: Vec<ValueTypeId>,
    of_profile: HashMap<ProfileId, Vec<Option<usize>>, RandomState>,
}

impl WrittenColumns {
    /// Profiles of several recordings share the columns that say the same. Columns that cover callees or have no
    /// sum are left out: every reader adds up the values of a stack and of those below it.
    fn of(tables: &Recording) -> Self {
        let mut columns = Self {
            types: Vec::new(),
            of_profile: HashMap::default(),
        };
        let same = |a: ValueTypeId, b: ValueTypeId| {
            let (Some(left), Some(right)) = (tables.value_type(a), tables.value_type(b)) else {
                return a == b;
            };
            let says = |row: &ValueType| (row.unit, row.merge, row.scope);
            says(left) == says(right) && tables.text(left.name) == tables.text(right.name)
        };
        for (id, profile) in profiles(tables) {
            let mut own = Vec::new();
            for &value_type in &profile.value_types {
                let row = tables.value_type(value_type);
                if row.is_some_and(|row| !is_own(row)) {
                    own.push(None);
                    continue;
                }
                // A column that a profile has twice stays two columns.
                let mut known = columns.types.iter().enumerate();
                let known = known
                    .find(|&(at, &known)| same(known, value_type) && !own.contains(&Some(at)))
                    .map(|(at, _)| at);
                own.push(Some(known.unwrap_or(columns.types.len())));
                if known.is_none() {
                    columns.types.push(value_type);
                }
            }
            columns.of_profile.insert(id, own);
        }
        columns
    }
}

fn is_own(row: &ValueType) -> bool {
    row.merge == Merge::Sum && row.scope == Scope::Own
}

fn profiles(tables: &Recording) -> impl Iterator<Item = (ProfileId, &Profile)> {
    (0..u32::MAX)
        .zip(&tables.profiles)
        .filter_map(|(index, row)| Some((ProfileId::new(index), row.as_ref()?)))
}

impl Writer<'_> {
    /// Fixes the columns: those of every profile defined so far, in the order of the profiles.
    fn fix_columns(&mut self) {
        let columns = WrittenColumns::of(&self.symbols.tables);
        for &value_type in &columns.types {
            let row = self.symbols.tables.value_type(value_type).copied();
            let name = row.map_or_else(Vec::new, |row| self.symbols.text(row.name));
            let unit = row.map_or(Unit::Count, |row| row.unit);
            let body = self.symbols.value_type(&name, unit);
            put_bytes(&mut self.symbols.bytes, 1, &body);
        }
        self.columns = Some(columns);
    }

    /// Writes the batches kept back; those that refer to rows not yet defined only at the end.
    fn put_kept(&mut self, end: bool) {
        if self.columns.is_none() {
            self.fix_columns();
        }
        for batch in std::mem::take(&mut self.kept) {
            if end || self.symbols.defined(&batch.stack) {
                self.n_kept -= batch.len();
                for sample in batch.iter() {
                    self.put_sample(batch.profile, &sample);
                    self.flush(PIECE);
                }
            } else {
                self.kept.push(batch);
            }
        }
    }

    fn put_sample(&mut self, profile: ProfileId, sample: &SampleRow<'_>) {
        let Some(columns) = &self.columns else { return };
        let Some(own) = columns.of_profile.get(&profile) else {
            self.late += 1;
            return;
        };
        let values = &mut self.values;
        values.clear();
        values.resize(columns.types.len(), 0);
        for (&at, &value) in own.iter().zip(sample.values) {
            if let Some(slot) = at.and_then(|at| values.get_mut(at)) {
                *slot = value;
            }
        }
        let time = sample.time.filter(|_| self.sums.is_none());
        let (labels, body) = (&mut self.labels, &mut self.body);
        labels.clear();
        self.symbols.labels(sample, time, labels);
        body.clear();
        self.places.put(sample.stack, &mut self.symbols, body);
        let Some(sums) = &mut self.sums else {
            put_values(&self.values, body);
            body.extend_from_slice(labels);
            put_bytes(&mut self.symbols.bytes, 2, body);
            return;
        };
        body.extend_from_slice(labels);
        match sums.get_mut(body.as_slice()) {
            Some((_, known)) => {
                for (sum, value) in known.iter_mut().zip(&self.values) {
                    *sum = sum.saturating_add(*value);
                }
            }
            None => {
                let values = (sums.len(), self.values.clone());
                sums.insert(body.as_slice().into(), values);
                if sums.len() >= MOST_SUMS {
                    self.put_sums();
                }
            }
        }
    }

    /// Writes the samples that were added up.
    fn put_sums(&mut self) {
        let sums = self.sums.iter_mut().flat_map(HashMap::drain);
        let mut sums: Vec<_> = sums.collect();
        sums.sort_unstable_by_key(|(_, (at, _))| *at);
        for (fields, (_, values)) in sums {
            let mut message = fields.into_vec();
            put_values(&values, &mut message);
            put_bytes(&mut self.symbols.bytes, 2, &message);
            self.flush(PIECE);
        }
    }

    /// Writes what belongs to the whole profile; where there are several, what the one with the first sample says.
    fn put_header(&mut self) {
        self.symbols.mappings();
        let profiles: Vec<Profile> = profiles(&self.symbols.tables)
            .map(|(_, row)| row.clone())
            .collect();
        let comments = profiles.iter().flat_map(|profile| &profile.comments);
        for &comment in comments {
            let text = self.symbols.text(comment);
            let index = self.symbols.entry(&text);
            put_tag(&mut self.symbols.bytes, 13, Wire::Varint);
            put_leb128(&mut self.symbols.bytes, index);
        }
        let said = self
            .first
            .and_then(|id| self.symbols.tables.profile(id))
            .cloned();
        let Some(first) = said.as_ref().or(profiles.first()) else {
            return;
        };
        let default = self.default_column(first);
        for (number, id) in [
            (7, first.drop_frames),
            (8, first.keep_frames),
            (14, default),
            (15, first.doc_url),
        ] {
            let index = self.symbols.named(id);
            put_number(&mut self.symbols.bytes, number, index);
        }
        let bytes = &mut self.symbols.bytes;
        let taken = self.taken;
        let time = first.time.or(taken.map(|(from, _)| from));
        let time = time.filter(|_| self.dated);
        let duration = taken.map(|(from, to)| to.saturating_sub(from));
        let duration = first.duration.or(duration);
        put_number(bytes, 9, time.unwrap_or(0).cast_unsigned());
        put_number(bytes, 10, duration.unwrap_or(0).cast_unsigned());
        if let Some((id, amount)) = first.period
            && let Some(row) = self.symbols.tables.value_type(id).copied()
        {
            let name = self.symbols.text(row.name);
            let body = self.symbols.value_type(&name, row.unit);
            put_bytes(&mut self.symbols.bytes, 11, &body);
            put_number(&mut self.symbols.bytes, 12, amount.cast_unsigned());
        }
    }

    /// Returns the name of the column that views of `first` show, where readers would not choose it anyway:
    /// they take the last, which belongs to another profile where there are several.
    fn default_column(&self, first: &Profile) -> Option<StringId> {
        let tables = &self.symbols.tables;
        let shown = tables.shown_column(first, &[])?;
        let shown = first.value_types.get(shown).copied()?;
        tables.value_type(shown).filter(|row| is_own(row))?;
        let last = self
            .columns
            .as_ref()
            .and_then(|columns| columns.types.last());
        let said = first.default == Some(shown) || last != Some(&shown);
        said.then(|| tables.value_type(shown).map(|row| row.name))?
    }

    fn flush(&mut self, above: usize) {
        if self.symbols.bytes.len() > above && self.error.is_none() {
            self.error = self.output.write("", &self.symbols.bytes).err();
        }
        if self.symbols.bytes.len() > above {
            self.symbols.bytes.clear();
        }
    }

    fn flow(&self) -> Flow {
        match self.error {
            Some(_) => Flow::Break(()),
            None => Flow::Continue(()),
        }
    }
}

fn put_values(values: &[i64], body: &mut Vec<u8>) {
    let values = values.iter().map(|value| value.cast_unsigned());
    put_packed(body, 2, values);
}

impl Sink for Writer<'_> {
    fn asks(&self) -> Asks {
        Asks {
            sums: self.sums.is_some(),
            ..Asks::default()
        }
    }

    fn begin(&mut self, _order: Order, clock: Clock) {
        self.clock = clock;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.symbols.tables.define(definitions)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.n_kept += batch.len();
        if self.first.is_none() {
            self.first = Some(batch.profile);
            self.dated = self.clock == Clock::Unix;
        }
        if self.first == Some(batch.profile) {
            for time in batch.times() {
                let (from, to) = self.taken.unwrap_or((time, time));
                self.taken = Some((from.min(time), to.max(time)));
            }
        }
        self.kept.push(batch);
        if self.columns.is_some() || self.n_kept >= KEPT_SAMPLES {
            self.put_kept(false);
        }
        self.flow()
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        self.put_kept(true);
        self.put_sums();
        self.put_header();
        self.flush(0);
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.late > 0 {
            return Err(Error::usage(format!(
                "{} samples are left out: their columns came up after {KEPT_SAMPLES} samples of others",
                self.late
            )));
        }
        Ok(())
    }
}
