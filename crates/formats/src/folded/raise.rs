//! The model to folded stacks: one line for each path, in the order of the tables.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Definitions, Flow, Note, ProfileId, Recording, SampleBatch, Sink, StackId, StringId,
};

use super::paths::Paths;
use crate::chrome::json;
use crate::output::Buffered;
use crate::{Error, Output, RaiseOptions, Target};

/// Builds a target that writes folded stacks.
///
/// The variant `lines` adds ` (file:line)` to frames; any other names the value column to write, which
/// is else the profile's default, else its last.
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
        sums: HashMap::default(),
        first: None,
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
    /// By profile: definitions may come after the samples, so which profile and column are meant is known
    /// at the end.
    sums: HashMap<ProfileId, Sums, RandomState>,
    /// The profile of the first sample.
    first: Option<ProfileId>,
    lines: bool,
    column: Option<String>,
}

/// Sums of every column of a profile, stack by stack.
#[derive(Default)]
struct Sums {
    width: usize,
    /// The row of each stack, from 1; 0 for stacks without samples.
    rows: Vec<u32>,
    /// The same of samples without stack.
    without: u32,
    /// The sums, row by row.
    values: Vec<i64>,
}

impl Sums {
    /// Returns the sums of a stack, 0 when it is new.
    #[inline]
    fn of(&mut self, stack: Option<StackId>) -> &mut [i64] {
        if self.width == 0 {
            return &mut [];
        }
        let slot = match stack {
            None => &mut self.without,
            Some(stack) => {
                if self.rows.len() <= stack.index() {
                    self.rows.resize(stack.index() + 1, 0);
                }
                match self.rows.get_mut(stack.index()) {
                    Some(slot) => slot,
                    None => return &mut [],
                }
            }
        };
        if *slot == 0 {
            let end = self.values.len() + self.width;
            self.values.resize(end, 0);
            *slot = u32::try_from(end / self.width).unwrap_or(u32::MAX);
        }
        let from = (*slot as usize - 1) * self.width;
        self.values
            .get_mut(from..from + self.width)
            .unwrap_or_default()
    }

    /// Returns the sum in `column` of samples without stack, and those of stacks, in the order of the table.
    fn column(&self, column: usize) -> (Option<i64>, impl Iterator<Item = (StackId, i64)> + '_) {
        let value = move |row: u32| {
            let from = (row as usize).checked_sub(1)? * self.width;
            let sums = self.values.get(from..from + self.width)?;
            sums.get(column).copied()
        };
        let rows = (0..).zip(&self.rows);
        (
            value(self.without),
            rows.filter_map(move |(stack, &row)| Some((StackId::new(stack), value(row)?))),
        )
    }
}

impl Writer<'_> {
    /// Finds the profile and column to write: those of the name that was asked for, else of the profile that
    /// samples came for first.
    fn columns(&self) -> HashMap<ProfileId, usize, RandomState> {
        let mut columns = HashMap::default();
        let wanted = self.column.as_slice();
        for (index, profile) in (0..u32::MAX).zip(&self.tables.profiles) {
            let Some(profile) = profile else { continue };
            let id = ProfileId::new(index);
            let meant = !wanted.is_empty() || self.first == Some(id);
            let column = self.tables.shown_column(profile, wanted);
            if let Some(at) = column.filter(|_| meant) {
                columns.insert(id, at);
            }
        }
        columns
    }

    fn put_samples(&mut self) -> Result<(), Error> {
        let columns = self.columns();
        if let (Some(column), true) = (&self.column, columns.is_empty()) {
            return Err(Error::usage(format!("no profile has a column `{column}`")));
        }
        let mut sums = Vec::new();
        let mut without_stack = None;
        for (profile, column) in columns {
            if let Some(found) = self.sums.get(&profile) {
                let (without, stacks) = found.column(column);
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
        if let Some(value) = without_stack {
            put_line(b"", value, &mut self.out);
        }
        let out = &mut self.out;
        paths.each(|line, value| put_line(line, value, out));
        Ok(())
    }
}

fn put_line(stack: &[u8], value: i64, out: &mut Buffered<'_>) {
    let bytes = &mut out.bytes;
    bytes.extend_from_slice(stack);
    bytes.push(b' ');
    json::decimal(value, bytes);
    bytes.push(b'\n');
    out.spill();
}

fn add(sum: &mut Option<i64>, value: i64) {
    *sum = Some(sum.unwrap_or(0).saturating_add(value));
}

impl Sink for Writer<'_> {
    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        if !batch.is_empty() {
            self.first.get_or_insert(batch.profile);
        }
        let sums = self.sums.entry(batch.profile).or_insert_with(|| Sums {
            width: batch.width(),
            ..Sums::default()
        });
        for (row, &stack) in batch.stack.iter().enumerate() {
            for (sum, &value) in sums.of(stack).iter_mut().zip(batch.values(row)) {
                *sum = sum.saturating_add(value);
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
}
