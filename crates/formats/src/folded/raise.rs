//! The model to folded stacks: one line for each path, in the order of the tables.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Definitions, Flow, FrameId, Note, ProfileId, Recording, SampleBatch, Sink, StackId, StringId,
};

use crate::{Error, Output, RaiseOptions, Target, label};

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
        output,
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
    output: &'o mut dyn Output,
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

/// A path by the text of its frames: stacks that differ in lines or addresses are one.
#[derive(Default)]
struct Paths {
    nodes: Vec<Path>,
    known: HashMap<PathKey, u32, RandomState>,
    of_stack: HashMap<StackId, u32, RandomState>,
}

/// The calling path, and the text of the frame.
type PathKey = (Option<u32>, Box<[u8]>);

struct Path {
    parent: Option<u32>,
    text: Box<[u8]>,
    value: Option<i64>,
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
        let mut paths = Paths::default();
        for (stack, value) in sums {
            let path = self.path(&mut paths, stack);
            if let Some(node) = paths.nodes.get_mut(path as usize) {
                add(&mut node.value, value);
            }
        }
        if let Some(value) = without_stack {
            self.put_line(b"", value)?;
        }
        let mut line = Vec::new();
        for index in 0..paths.nodes.len() {
            let Some(value) = paths.nodes.get(index).and_then(|node| node.value) else {
                continue;
            };
            let mut texts = Vec::new();
            let mut next = u32::try_from(index).ok();
            while let Some(node) = next.and_then(|node| paths.nodes.get(node as usize)) {
                texts.push(&node.text);
                next = node.parent;
            }
            line.clear();
            for text in texts.into_iter().rev() {
                if !line.is_empty() {
                    line.push(b';');
                }
                line.extend_from_slice(text);
            }
            self.put_line(&line, value)?;
        }
        Ok(())
    }

    /// Returns the path of a stack.
    fn path(&self, paths: &mut Paths, stack: StackId) -> u32 {
        let mut above = None;
        let mut missing = Vec::new();
        let mut next = Some(stack);
        while let Some(id) = next {
            if let Some(&known) = paths.of_stack.get(&id) {
                above = Some(known);
                break;
            }
            missing.push(id);
            next = self.tables.stack(id).and_then(|row| row.parent);
        }
        for id in missing.into_iter().rev() {
            let text = match self.tables.stack(id) {
                Some(row) => self.frame_text(row.frame),
                None => format!("#{}", id.raw()).into_bytes(),
            };
            let nodes = &mut paths.nodes;
            let key = (above, text.into_boxed_slice());
            let node = *paths.known.entry(key).or_insert_with_key(|(parent, text)| {
                nodes.push(Path {
                    parent: *parent,
                    text: text.clone(),
                    value: None,
                });
                u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
            });
            paths.of_stack.insert(id, node);
            above = Some(node);
        }
        above.unwrap_or(u32::MAX)
    }

    fn frame_text(&self, id: FrameId) -> Vec<u8> {
        let Some(frame) = self.tables.frame(id) else {
            return format!("#{}", id.raw()).into_bytes();
        };
        let Some(function) = frame.function else {
            return clean(label::frame(&self.tables, id));
        };
        let mut text = self.function_text(Some(function));
        let file = self.tables.function(function).and_then(|row| row.file);
        if let (true, Some(file)) = (self.lines, file) {
            text.extend(b" (");
            text.extend(clean(label::text(&self.tables, file)));
            if frame.line != 0 {
                text.extend(format!(":{}", frame.line).bytes());
            }
            text.push(b')');
        }
        text
    }

    fn function_text(&self, id: Option<traceloom_model::FunctionId>) -> Vec<u8> {
        clean(label::function(&self.tables, id))
    }

    fn put_line(&mut self, stack: &[u8], value: i64) -> Result<(), Error> {
        let mut line = stack.to_vec();
        line.extend(format!(" {value}\n").bytes());
        self.output.write("", &line)
    }
}

fn add(sum: &mut Option<i64>, value: i64) {
    *sum = Some(sum.unwrap_or(0).saturating_add(value));
}

/// What separates frames and lines becomes something that does not.
fn clean(mut text: Vec<u8>) -> Vec<u8> {
    for byte in &mut text {
        match byte {
            b';' => *byte = b':',
            b'\n' | b'\r' => *byte = b' ',
            _ => {}
        }
    }
    text
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
        self.put_samples()
    }
}
