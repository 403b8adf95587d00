//! The model to folded stacks: one line for each path, in the order of the tables.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{
    Asks, Definitions, Feature, Flow, Note, Profile, ProfileId, Recording, SampleBatch, Sink,
    StackId, StringId,
};

use super::paths::{Paths, Sum};
use super::value::{AFTER, BEFORE, LineValue, NO_STACK};
use crate::codec::Buffered;
use crate::text::scalars;
use crate::{Error, LeftOut, Output, RaiseOptions, Target};

/// Builds a target that writes folded stacks.
///
/// The variant `lines` adds ` (file:line)` to frames; any other names the value to write. Without a name it
/// is chosen from all profiles (SPEC.md §3).
///
/// # Errors
/// None; the signature is that of every raising.
pub fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let variant = options.variant.as_deref();
    Ok(Box::new(Writer {
        out: Buffered::new(output, ""),
        tables: Recording::default(),
        sums: BTreeMap::new(),
        first: None,
        lost: Vec::new(),
        lines: variant == Some("lines"),
        column: variant
            .filter(|&variant| variant != "lines")
            .map(str::to_owned),
    }))
}

struct Writer<'o> {
    out: Buffered<'o>,
    /// The tables of the model; no rows but those of tables.
    tables: Recording,
    /// By profile: definitions may come after the samples, so which columns are meant is known at the end.
    sums: BTreeMap<ProfileId, StackSums>,
    /// The profile of the first sample.
    first: Option<ProfileId>,
    lost: Vec<LeftOut>,
    lines: bool,
    column: Option<String>,
}

/// Sums of every column of a profile, stack by stack.
#[derive(Default)]
struct StackSums {
    width: usize,
    /// The row of each stack that has samples, counted from 1. Of many recordings each has a small part of all stacks.
    rows: HashMap<StackId, u32, RandomState>,
    /// The same of samples without stack.
    without: u32,
    /// The sums, row by row.
    values: Vec<i64>,
    /// For each column, the number of samples that have a value in it other than 0.
    samples: Vec<u64>,
}

impl StackSums {
    /// Returns the sums of a stack, 0 when it is new.
    #[inline]
    fn of(&mut self, stack: Option<StackId>) -> &mut [i64] {
        if self.width == 0 {
            return &mut [];
        }
        let slot = match stack {
            None => &mut self.without,
            Some(stack) => self.rows.entry(stack).or_default(),
        };
        if *slot == 0 {
            let end = self.values.len() + self.width;
            self.values.resize(end, 0);
            *slot = row_number(end / self.width);
        }
        let from = (*slot as usize - 1) * self.width;
        self.values
            .get_mut(from..from + self.width)
            .unwrap_or_default()
    }

    /// Returns the sums in `columns` of samples without stack, and those of stacks.
    fn columns<'s>(
        &'s self,
        columns: &'s [usize],
    ) -> (Option<Sum>, impl Iterator<Item = (StackId, Sum)> + 's) {
        let value = move |row: u32| {
            let from = (row as usize).checked_sub(1)? * self.width;
            let sums = self.values.get(from..from + self.width)?;
            let mut of = columns.iter().map(|&at| sums.get(at).copied().unwrap_or(0));
            Some([of.next().unwrap_or(0), of.next().unwrap_or(0)])
        };
        let stacks = self.rows.iter();
        (
            value(self.without),
            stacks.filter_map(move |(&stack, &row)| Some((stack, value(row)?))),
        )
    }
}

/// The columns to write of each profile that has them all.
struct ChosenColumns {
    of_profile: HashMap<ProfileId, Vec<usize>, RandomState>,
    /// How many numbers a line has.
    width: usize,
}

impl Writer<'_> {
    /// Returns the profiles that samples came for: those of CPU time, that of the first sample, the others.
    fn profiles(&self) -> Vec<(ProfileId, &Profile)> {
        let row = |id: ProfileId| Some((id, self.tables.profile(id)?));
        let mut all: Vec<_> = self.sums.keys().copied().filter_map(row).collect();
        all.sort_by_key(|&(id, row)| (!self.tables.shows_cpu(row), Some(id) != self.first));
        all
    }

    /// Chooses what to write: the value asked for; else before and after where every profile is a comparison;
    /// else the value that the first profile shows where all have it, another one that all have, and where they
    /// share none, the one that the first shows.
    fn choose(&self) -> Result<ChosenColumns, Error> {
        let profiles = self.profiles();
        let own = |profile: &Profile| {
            let types = profile.value_types.iter();
            types.map(|&id| LineValue::of(&self.tables, id)).collect()
        };
        let values: Vec<Vec<Option<LineValue>>> =
            profiles.iter().map(|(_, row)| own(row)).collect();
        let wanted: Vec<LineValue> = match (&self.column, values.first(), profiles.first()) {
            (Some(name), ..) => {
                let mut all = values.iter().flatten().flatten();
                let found = all.find(|value| value.name == *name);
                match found {
                    Some(value) => vec![value.clone()],
                    None => {
                        return Err(Error::usage(format!("no profile has a column `{name}`")));
                    }
                }
            }
            (None, Some(first), Some((_, profile))) => {
                let in_all = |value: &&LineValue| {
                    let mut others = values.iter();
                    others.all(|own| own.iter().flatten().any(|own| own == *value))
                };
                let pair: Vec<&LineValue> = first.iter().flatten().filter(in_all).collect();
                let shown = self.tables.shown_column(profile, &[]);
                let shown = shown.and_then(|at| first.get(at)?.as_ref());
                // Of columns that cover callees the first that does not stands in.
                let shown = shown.or_else(|| first.iter().flatten().next());
                match pair.as_slice() {
                    [before, after] if before.name == BEFORE && after.name == AFTER => {
                        vec![(*before).clone(), (*after).clone()]
                    }
                    common => {
                        let common = shown.filter(in_all).or(common.first().copied());
                        common.or(shown).into_iter().cloned().collect()
                    }
                }
            }
            _ => Vec::new(),
        };
        let place = |value: &LineValue, own: &[Option<LineValue>]| {
            own.iter().position(|own| own.as_ref() == Some(value))
        };
        let rows = profiles.iter().zip(&values).filter_map(|((id, _), own)| {
            let columns: Option<Vec<usize>> =
                wanted.iter().map(|value| place(value, own)).collect();
            Some((*id, columns.filter(|columns| !columns.is_empty())?))
        });
        Ok(ChosenColumns {
            of_profile: rows.collect(),
            width: wanted.len(),
        })
    }

    /// Counts the samples of values that are not written, by name.
    fn not_written(&self, chosen: &ChosenColumns) -> Vec<LeftOut> {
        let mut lost: BTreeMap<String, u64> = BTreeMap::new();
        for (id, profile) in self.profiles() {
            let written = chosen.of_profile.get(&id).map_or(&[][..], |own| own);
            let sums = self.sums.get(&id);
            for (at, &value_type) in profile.value_types.iter().enumerate() {
                let samples = sums.and_then(|sums| sums.samples.get(at).copied());
                let value = LineValue::of(&self.tables, value_type);
                if let (Some(value), Some(samples @ 1..)) = (value, samples)
                    && !written.contains(&at)
                {
                    *lost.entry(value.name).or_default() += samples;
                }
            }
        }
        let lost = lost.into_iter();
        lost.map(|(name, count)| LeftOut { name, count }).collect()
    }

    fn put_samples(&mut self) -> Result<(), Error> {
        let chosen = self.choose()?;
        self.lost = self.not_written(&chosen);
        let mut sums = Vec::new();
        let mut without_stack = None;
        for (profile, found) in &self.sums {
            if let Some(columns) = chosen.of_profile.get(profile) {
                let (without, stacks) = found.columns(columns);
                if let Some(value) = without {
                    add(&mut without_stack, value);
                }
                sums.extend(stacks);
            }
        }
        // Profiles come in any order; paths in that of the stacks.
        sums.sort_by_key(|&(stack, _)| stack);
        let mut paths = Paths::new(&self.tables, self.lines);
        for (stack, value) in sums {
            if let Some(sum) = paths.of_stack(stack) {
                add(sum, value);
            }
        }
        let out = &mut self.out;
        if let Some(value) = without_stack {
            put_line(NO_STACK, value, chosen.width, out);
        }
        paths.each(|line, value| {
            // The only frame has no name.
            let line = if line.is_empty() { b"[unknown]" } else { line };
            put_line(line, value, chosen.width, out);
        });
        Ok(())
    }
}

fn put_line(stack: &[u8], values: Sum, width: usize, out: &mut Buffered<'_>) {
    let bytes = &mut out.bytes;
    bytes.extend_from_slice(stack);
    for &value in values.iter().take(width) {
        bytes.push(b' ');
        scalars::decimal(value, bytes);
    }
    bytes.push(b'\n');
    out.spill();
}

fn add(sum: &mut Option<Sum>, values: Sum) {
    let sum = sum.get_or_insert_default();
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum = sum.saturating_add(value);
    }
}

impl Sink for Writer<'_> {
    fn asks(&self) -> Asks {
        Asks {
            sums: true,
            ..Asks::default()
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        if !batch.is_empty() {
            self.first.get_or_insert(batch.profile);
        }
        let sums = self.sums.entry(batch.profile).or_insert_with(|| StackSums {
            width: batch.width(),
            samples: vec![0; batch.width()],
            ..StackSums::default()
        });
        for (row, &stack) in batch.stack.iter().enumerate() {
            let values = batch.values(row);
            for (sum, &value) in sums.of(stack).iter_mut().zip(values) {
                *sum = sum.saturating_add(value);
            }
            for (samples, &value) in sums.samples.iter_mut().zip(values) {
                if value != 0 {
                    *samples += batch.count(row);
                }
            }
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        self.put_samples()?;
        // Of no samples there is no file, unless writing it failed.
        if self.out.bytes.is_empty() && self.out.spilled().is_continue() {
            return Ok(());
        }
        self.out.finish()
    }

    fn left_out(&self) -> Vec<(Feature, Vec<LeftOut>)> {
        vec![(Feature::ManyValues, self.lost.clone())]
    }
}
