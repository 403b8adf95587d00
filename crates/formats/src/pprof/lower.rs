//! A profile to the model.

use traceloom_model::bounds::in_memory;
use traceloom_model::{
    Clock, Flow, Level, Limits, Order, PathBatch, Profile, ProfileId, SampleBatch, SampleRow, Sink,
    StringId, Tables, ValueTypeId,
};

use super::code::Code;
use super::columns::{Samples, Tables as Columns};
use super::decode::{samples, tables};
use super::labels::Labels;
use crate::codec::CountedNotes;
use crate::profile::unit;
use crate::{Error, LowerOptions, Source};

/// Lowers every part of a source, each a profile of its own.
///
/// # Errors
/// What the source fails with.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::Nested, Clock::Unix);
    let mut model = Tables::new();
    for part in 0..source.parts().len() {
        let id = traceloom_model::PartId::nth(part);
        if !profile(source, part, id, options, &mut model, sink)? {
            break;
        }
    }
    Ok(())
}

/// Returns false when the sink broke.
fn profile(
    source: &dyn Source,
    part: usize,
    id: traceloom_model::PartId,
    options: &LowerOptions,
    model: &mut Tables,
    sink: &mut dyn Sink,
) -> Result<bool, Error> {
    let limits = &options.limits;
    let place = |note| traceloom_model::Note { part: id, ..note };
    let mut pull = source.open(part, 0)?;
    let Some(columns) = tables(pull.as_mut(), limits, &mut |note| sink.note(place(note)))? else {
        return Ok(false);
    };
    drop(pull);
    let asks = sink.asks();
    let is_bare = asks.notes_only || asks.amounts_only;
    // Paths have no labels, by which samples of the base of a difference are known.
    let stacks = asks.stacks || is_bare || columns.strings.contains(b"pprof::base");
    let wanted = match (is_bare, asks.timeless_stacks) {
        (true, _) => WantedStacks::None,
        (_, false) => WantedStacks::Timed,
        (_, true) => WantedStacks::All,
    };
    let mut lowering = Lowering::new(&columns, model, limits, (stacks, wanted));
    if sink.define(lowering.model.take_definitions()).is_break() {
        return Ok(false);
    }
    if !lowering.stacks {
        // The first blocks have most of them, unless the tables are not what samples are about.
        let [strings, functions] = [columns.strings.len(), columns.function.len()];
        lowering
            .model
            .reserve(strings.min(AT_ONCE), functions.min(AT_ONCE));
    }
    let cell = std::cell::RefCell::new(&mut *sink);
    for stretch in &columns.sample {
        let mut pull = source.open(part, stretch.start)?;
        let whole = samples(
            pull.as_mut(),
            stretch.end,
            limits,
            &mut |note| cell.borrow_mut().note(place(note)),
            &mut |block| lowering.block(block, &mut **cell.borrow_mut()),
        )?;
        if !whole {
            return Ok(false);
        }
    }
    let mut notes = lowering.tally.into_notes();
    Ok(notes.all(|note| sink.note(place(note)).is_continue()))
}

/// Strings and functions that room is made for before samples name them.
const AT_ONCE: usize = 1 << 16;

struct Lowering<'a> {
    model: &'a mut Tables,
    code: Code<'a>,
    labels: Labels<'a>,
    strings: ProfileStrings<'a>,
    tally: CountedNotes,
    profile: ProfileId,
    /// What a value of each column is multiplied with.
    factors: Vec<i64>,
    plain: bool,
    /// Stacks go to the stack table.
    stacks: bool,
    wanted: WantedStacks,
    n_values: usize,
}

/// Which samples are wanted with their stacks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WantedStacks {
    All,
    /// Those that have a time.
    Timed,
    None,
}

/// Strings of the profile that the model was given.
pub(super) struct ProfileStrings<'a> {
    columns: &'a Columns,
    /// The index tells strings apart well enough: the model need not compare them.
    own: bool,
    ids: Vec<Option<StringId>>,
}

impl<'a> ProfileStrings<'a> {
    fn new(columns: &'a Columns, own: bool) -> Self {
        Self {
            columns,
            own,
            ids: vec![None; columns.strings.len()],
        }
    }

    /// Returns the bytes at `index`, none and a note where the table has no such entry.
    pub(super) fn bytes(
        &self,
        index: i64,
        offset: u64,
        tally: &mut CountedNotes,
    ) -> Option<&'a [u8]> {
        let found = self.columns.strings.get(index);
        // A profile without any string table uses index 0 for "nothing" all the same.
        if found.is_none() && index != 0 {
            tally.add(Level::Damage, "string_index", offset, || {
                format!(
                    "string {index} is referred to, the table has {} entries",
                    self.columns.strings.len()
                )
            });
        }
        found
    }

    /// Interns the string at `index`; one that does not exist is empty.
    pub(super) fn id(
        &mut self,
        index: i64,
        offset: u64,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) -> StringId {
        let slot = in_memory(index);
        if let Some(&Some(id)) = self.ids.get(slot) {
            return id;
        }
        let bytes = self.bytes(index, offset, tally).unwrap_or(&[]);
        let id = match self.own {
            true => model.new_bytes(bytes),
            false => model.bytes(bytes),
        };
        if let Some(entry) = self.ids.get_mut(slot) {
            *entry = Some(id);
        }
        id
    }

    /// Interns the string at `index` unless it is empty.
    pub(super) fn some(
        &mut self,
        index: i64,
        offset: u64,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) -> Option<StringId> {
        let bytes = self.bytes(index, offset, tally)?;
        (!bytes.is_empty()).then(|| self.id(index, offset, model, tally))
    }
}

impl<'a> Lowering<'a> {
    fn new(
        columns: &'a Columns,
        model: &'a mut Tables,
        limits: &'a Limits,
        (stacks, wanted): (bool, WantedStacks),
    ) -> Self {
        let mut tally = CountedNotes::default();
        let mut strings = ProfileStrings::new(columns, !stacks);
        let mut factors = Vec::new();
        let mut value_types = Vec::new();
        for column in &columns.sample_type {
            let (id, factor) = value_type(*column, &mut strings, model, &mut tally);
            value_types.push(id);
            factors.push(factor);
        }
        let row = header(columns, value_types, &mut strings, model, &mut tally);
        let profile = model.profile(row);
        let code = Code::new(columns, limits, !stacks, &mut strings, model, &mut tally);
        let labels = Labels::new(columns);
        Self {
            model,
            code,
            labels,
            strings,
            tally,
            profile,
            plain: factors.iter().all(|&factor| factor == 1),
            stacks,
            wanted,
            n_values: factors.len(),
            factors,
        }
    }

    fn block(&mut self, block: &Samples, sink: &mut dyn Sink) -> Flow {
        let mut batch = SampleBatch::new(self.profile, self.n_values);
        let mut paths = PathBatch::new(self.profile, self.n_values);
        if !self.stacks {
            paths.reserve(block.len(), block.location_id.len());
        }
        let mut scaled = Vec::new();
        for (row, &offset) in block.offsets.iter().enumerate() {
            let Some(sample) = block.get(row) else {
                continue;
            };
            let labels = self.labels.lower(
                sample.label,
                offset,
                &mut self.strings,
                self.model,
                &mut self.tally,
            );
            if sample.value.len() != self.n_values {
                self.tally.add(Level::Damage, "value_count", offset, || {
                    format!(
                        "a sample has {} values, the profile {} columns",
                        sample.value.len(),
                        self.n_values
                    )
                });
            }
            let values = if self.plain {
                sample.value
            } else {
                scaled.clear();
                for (&value, &factor) in sample.value.iter().zip(&self.factors) {
                    scaled.push(scale(value, factor, offset, &mut self.tally));
                }
                &scaled
            };
            if !self.stacks {
                self.code.path(
                    sample.location_id,
                    offset,
                    (&mut self.strings, &mut *self.model),
                    &mut self.tally,
                    &mut paths,
                );
                paths.push(values);
                continue;
            }
            let is_wanted = match self.wanted {
                WantedStacks::All => true,
                WantedStacks::Timed => labels.time.is_some(),
                WantedStacks::None => false,
            };
            let of_stack = match is_wanted {
                true => self.code.stack(
                    sample.location_id,
                    offset,
                    &mut self.strings,
                    self.model,
                    &mut self.tally,
                ),
                false => {
                    self.code.check_path(
                        sample.location_id,
                        offset,
                        &mut self.strings,
                        self.model,
                        &mut self.tally,
                    );
                    None
                }
            };
            batch.push(&SampleRow {
                stack: of_stack,
                values,
                time: labels.time,
                track: labels.track,
                span: None,
                labels: labels.attributes,
            });
        }
        let new = self.model.take_definitions();
        if !new.is_empty() {
            sink.define(new)?;
        }
        if !paths.is_empty() {
            return sink.paths(paths);
        }
        if batch.is_empty() {
            return Flow::Continue(());
        }
        sink.samples(batch)
    }
}

/// Multiplies a value with what its unit stands for.
pub(super) fn scale(value: i64, factor: i64, offset: u64, tally: &mut CountedNotes) -> i64 {
    value.checked_mul(factor).unwrap_or_else(|| {
        tally.add(Level::Damage, "value_out_of_range", offset, || {
            format!("{value} times {factor} has more than 64 bits")
        });
        if value < 0 { i64::MIN } else { i64::MAX }
    })
}

fn value_type(
    column: super::columns::ValueType,
    strings: &mut ProfileStrings<'_>,
    model: &mut Tables,
    tally: &mut CountedNotes,
) -> (ValueTypeId, i64) {
    let name = strings.id(column.r#type, 0, model, tally);
    let spelling = strings.bytes(column.unit, 0, tally).unwrap_or(&[]);
    let (unit, factor) = unit::parse(spelling, model);
    if factor != 1 {
        tally.add(Level::Info, "unit_scaled", 0, || {
            format!("values in {} are scaled", String::from_utf8_lossy(spelling))
        });
    }
    (
        model.value_type(traceloom_model::ValueType::sum(name, unit)),
        factor,
    )
}

fn header(
    columns: &Columns,
    value_types: Vec<ValueTypeId>,
    strings: &mut ProfileStrings<'_>,
    model: &mut Tables,
    tally: &mut CountedNotes,
) -> Profile {
    let default = strings
        .bytes(columns.default_sample_type, 0, tally)
        .filter(|name| !name.is_empty())
        .and_then(|name| {
            let position = columns
                .sample_type
                .iter()
                .position(|column| columns.strings.get(column.r#type) == Some(name));
            if position.is_none() {
                tally.add(Level::Warn, "default_sample_type", 0, || {
                    let name = String::from_utf8_lossy(name);
                    format!("the default sample type `{name}` is none of the columns")
                });
            }
            value_types.get(position?).copied()
        });
    let period = columns.period_type.map(|column| {
        let (id, factor) = value_type(column, strings, model, tally);
        (id, scale(columns.period, factor, 0, tally))
    });
    if period.is_none() && columns.period != 0 {
        tally.add(Level::Warn, "period", 0, || {
            "the period has no type and is not used".to_owned()
        });
    }
    Profile {
        value_types,
        default,
        period,
        time: Some(columns.time_nanos).filter(|&time| time != 0),
        duration: Some(columns.duration_nanos).filter(|&duration| duration != 0),
        comments: columns
            .comment
            .iter()
            .map(|&index| strings.id(index, 0, model, tally))
            .collect(),
        drop_frames: strings.some(columns.drop_frames, 0, model, tally),
        keep_frames: strings.some(columns.keep_frames, 0, model, tally),
        doc_url: strings.some(columns.doc_url, 0, model, tally),
        settings: Vec::new(),
        resource: None,
    }
}
