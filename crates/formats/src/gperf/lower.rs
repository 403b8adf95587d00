//! The profiles to the model: addresses in mapped binaries, with names where the file has them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::subslice;
use traceloom_model::{
    AttrKeyId, Attribute, AttributeKey, BATCH_ROWS, Clock, Flow, Frame, FrameId, Function, Limits,
    Note, Order, PartId, Profile, SampleBatch, SampleRow, Sink, Stack, StackId, Tables, Unit,
    Value,
};

use super::maps::{MappedRange, Maps};
use super::read::Reader;
use super::record::{GperfContent, Record, SampleNumbers};
use super::scheme::{SampleValues, Scheme};
use super::symbols::{self, AddressSymbol, AddressSymbols};
use crate::codec::each_window;
use crate::{Error, LowerOptions, Source, warn};

/// Lowers every part as a profile of its own.
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
        let Some(mut samples) = read(source, part, &options.limits, sink)? else {
            return Ok(());
        };
        if samples.of_words {
            samples.remove_handlers();
        }
        let (profile, factor) = samples.scheme.profile(&mut model);
        samples.multiply(profile.value_types.len(), factor);
        if samples.emit(profile, &mut model, sink).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// A profile as its file has it, held whole: names and the memory map come last.
#[derive(Default)]
struct HeldProfile {
    scheme: Scheme,
    /// The profile is one of words.
    of_words: bool,
    /// Values of every sample, as many as there are columns.
    values: Vec<i64>,
    addresses: Vec<u64>,
    ends: Vec<usize>,
    /// Bytes of one object, for heap samples.
    sizes: Vec<i64>,
    /// Row, key and value.
    labels: Vec<(usize, Vec<u8>, Vec<u8>)>,
    symbols: AddressSymbols,
    binary: Option<Vec<u8>>,
    maps: Maps,
    /// A stack of jemalloc, until the line with its numbers.
    pending: Option<(u64, Vec<u64>)>,
    /// The totals of jemalloc were read.
    totalled: bool,
}

/// Reads a part; none when the sink wants no more.
fn read(
    source: &dyn Source,
    part: usize,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<Option<HeldProfile>, Error> {
    let id = PartId::nth(part);
    let mut samples = HeldProfile::default();
    let mut notes = Vec::new();
    let mut reader = Reader::new(limits);
    let mut pull = source.open(part, 0)?;
    let whole = each_window(pull.as_mut(), 1, |window| {
        let told = std::cell::RefCell::new(&mut *sink);
        let tell = |note: Note| told.borrow_mut().note(Note { part: id, ..note });
        reader.each(
            window,
            &mut |record| {
                if let Ok(record) = record {
                    samples.take(&record, &mut notes);
                }
                notes.drain(..).try_for_each(tell)
            },
            &mut |note| tell(note),
        )
    })?;
    if !whole {
        return Ok(None);
    }
    samples.end(&mut notes);
    for note in notes {
        if sink.note(Note { part: id, ..note }).is_break() {
            return Ok(None);
        }
    }
    Ok(Some(samples))
}

impl HeldProfile {
    fn take(&mut self, record: &Record<'_>, notes: &mut Vec<Note>) {
        let offset = record.offset;
        match &record.content {
            GperfContent::Words {
                kind: "header",
                values,
                ..
            } => {
                self.scheme.words(values);
                self.of_words = true;
                // What follows the leaf is a return address, unless names were already found for it.
                self.symbols.exact = true;
            }
            GperfContent::Words {
                kind: "sample",
                values,
                ..
            } => self.words(values),
            GperfContent::Words { .. } | GperfContent::Line => {}
            GperfContent::Marker(b"symbol") => self.symbols.exact = true,
            GperfContent::Marker(marker) => {
                self.scheme.marker(marker);
                self.symbols.exact |= self.scheme.java;
            }
            GperfContent::Heap(header) => self.scheme.heap(header),
            GperfContent::Jemalloc(rate) => self.scheme.jemalloc(*rate),
            GperfContent::Total(kind, total) => self.scheme.counts(kind, *total, offset),
            GperfContent::Attribute(b"binary", path) => self.binary = Some(path.to_vec()),
            GperfContent::Attribute(name, value) => {
                notes.extend(self.scheme.attribute(name, value, offset));
                self.symbols.exact |= self.scheme.java;
            }
            GperfContent::Sample(numbers, addresses) => {
                self.sample(*numbers, addresses, offset, notes)
            }
            GperfContent::Thread(thread, counts) => {
                if *thread == b"t*" {
                    match self.pending.take() {
                        Some((offset, addresses)) => {
                            let values = self.scheme.of_heap(counts, offset);
                            self.push(values, &addresses, notes);
                        }
                        None if !self.totalled => self.scheme.totals(counts),
                        None => {}
                    }
                    self.totalled = true;
                }
            }
            GperfContent::Symbol(address, names) => {
                self.symbols.add(*address, symbols::section_names(names));
            }
            GperfContent::Comment(address, symbol) => {
                self.symbols.comment(*address, symbol.clone())
            }
            GperfContent::Labels(text) => match symbols::labels(text) {
                Some(labels) => {
                    if let Some(row) = self.ends.len().checked_sub(1) {
                        let labels = labels.into_iter();
                        self.labels
                            .extend(labels.map(|(key, value)| (row, key, value)));
                    }
                }
                None => notes.push(warn("no_labels", offset, "labels that cannot be read")),
            },
            GperfContent::Location(address, symbol) => {
                self.symbols.add(*address, vec![symbol.clone()])
            }
            GperfContent::Mapping(_) => {}
        }
        if matches!(
            record.content,
            GperfContent::Mapping(_) | GperfContent::Line
        ) {
            self.maps.line(record.text());
        }
    }

    fn words(&mut self, values: &[u64]) {
        let Some((&count, rest)) = values.split_first() else {
            return;
        };
        let named = self.scheme.java || !self.symbols.is_empty();
        // Callers' addresses are those of return: one before lies in the call.
        let before = |(depth, &pc): (usize, &u64)| pc.wrapping_sub(u64::from(depth > 0 && !named));
        let pcs = subslice(rest, 1..).iter().enumerate().map(before);
        self.addresses.extend(pcs);
        self.ends.push(self.addresses.len());
        self.values.extend(self.scheme.of_words(count).row);
    }

    fn sample(
        &mut self,
        numbers: SampleNumbers,
        addresses: &[u64],
        offset: u64,
        notes: &mut Vec<Note>,
    ) {
        self.end_comments();
        let values = match numbers {
            SampleNumbers::Heap(counts) => self.scheme.of_heap(&counts, offset),
            SampleNumbers::Pair(value, count) => self.scheme.of_pair(value, count, offset),
            SampleNumbers::Count(count) => self.scheme.of_count(count),
            SampleNumbers::None => {
                self.without_numbers(notes);
                self.pending = Some((offset, addresses.to_vec()));
                return;
            }
        };
        self.push(values, addresses, notes);
    }

    fn push(&mut self, values: SampleValues, addresses: &[u64], notes: &mut Vec<Note>) {
        notes.extend(values.note);
        self.sizes.extend(values.size);
        self.values.extend(values.row);
        // The stacks of threads are filled up with zeros.
        let known = addresses.iter().take_while(|&&address| address != 0);
        self.addresses.extend(known);
        self.ends.push(self.addresses.len());
    }

    /// Ends the comments below a sample, and leaves out the frames that Go's own binary profiles leave out (SPEC.md §5):
    /// `runtime.goexit`, the only one without a comment behind others, and in heap profiles the allocator.
    fn end_comments(&mut self) {
        let Some((first, last)) = self.symbols.end_comments() else {
            return;
        };
        let Some(row) = self.ends.len().checked_sub(1) else {
            return;
        };
        let is_at =
            |address: u64, comment| address == comment || address.wrapping_sub(1) == comment;
        let stack = self.stack(row);
        if stack.last().is_some_and(|&address| !is_at(address, last)) {
            self.addresses.pop();
        }
        self.ends.truncate(row);
        self.ends.push(self.addresses.len());
        let stack = self.stack(row);
        let hidden = stack.iter().position(|&address| is_at(address, first));
        let start = self.addresses.len().saturating_sub(stack.len());
        if let Some(hidden) = hidden.filter(|_| self.scheme.is_heap()) {
            self.addresses.drain(start..start + hidden);
        }
        if let Some(end) = self.ends.last_mut() {
            *end = self.addresses.len();
        }
    }

    fn without_numbers(&mut self, notes: &mut Vec<Note>) {
        if let Some((offset, _)) = self.pending.take() {
            notes.push(warn("no_numbers", offset, "a stack without numbers"));
        }
    }

    fn end(&mut self, notes: &mut Vec<Note>) {
        self.end_comments();
        self.without_numbers(notes);
        notes.extend(self.scheme.finish(&mut self.values));
        if let Some(file) = self.binary.take().filter(|_| self.maps.is_empty()) {
            self.maps.push(MappedRange {
                limit: u64::MAX,
                file,
                ..MappedRange::default()
            });
        }
    }

    fn stack(&self, row: usize) -> &[u64] {
        let start = row.checked_sub(1).and_then(|row| self.ends.get(row));
        let end = self.ends.get(row).copied().unwrap_or(0);
        subslice(&self.addresses, start.copied().unwrap_or(0)..end)
    }

    /// Multiplies the last column.
    fn multiply(&mut self, width: usize, factor: i64) {
        if factor != 1 {
            let rows = self.values.chunks_exact_mut(width.max(1));
            for value in rows.filter_map(<[i64]>::last_mut) {
                *value = value.saturating_mul(factor);
            }
        }
    }

    /// Removes what the profiler left in the stacks: up to two frames of its signal handler, which
    /// nearly all samples have in second place, and a second copy of the innermost frame (SPEC.md §4).
    fn remove_handlers(&mut self) {
        if self.scheme.java {
            return;
        }
        let n_samples = self.ends.len();
        let mut stacks: Vec<Vec<u64>> =
            (0..n_samples).map(|row| self.stack(row).to_vec()).collect();
        let margin = n_samples / 32;
        for _ in 0..2 {
            let mut counts: HashMap<u64, usize, RandomState> = HashMap::default();
            for stack in &stacks {
                if let Some(&second) = stack.get(1) {
                    *counts.entry(second).or_default() += 1;
                }
            }
            let common = counts
                .into_iter()
                .filter(|&(_, count)| count >= n_samples - margin)
                .max_by_key(|&(address, count)| (count, address));
            let Some((handler, _)) = common else { break };
            for stack in &mut stacks {
                if stack.get(1) == Some(&handler) {
                    stack.remove(1);
                }
            }
        }
        self.addresses.clear();
        self.ends.clear();
        for mut stack in stacks {
            if let &[leaf, second, ..] = stack.as_slice()
                && leaf == second.wrapping_add(1)
            {
                stack.remove(1);
            }
            self.addresses.extend(stack);
            self.ends.push(self.addresses.len());
        }
    }

    fn emit(&mut self, profile: Profile, model: &mut Tables, sink: &mut dyn Sink) -> Flow {
        let width = profile.value_types.len();
        let profile = model.profile(profile);
        self.maps.define(model);
        let labels = self.labels(model);
        let mut frames: HashMap<u64, Vec<FrameId>, RandomState> = HashMap::default();
        let mut batch = SampleBatch::new(profile, width);
        for row in 0..self.ends.len() {
            let mut stack: Option<StackId> = None;
            for &address in self.stack(row).iter().rev() {
                let of_address = frames
                    .entry(address)
                    .or_insert_with(|| self.frames(address, model));
                for &frame in of_address.iter().rev() {
                    stack = Some(model.stack(Stack {
                        parent: stack,
                        frame,
                        truncated: false,
                    }));
                }
            }
            let first = labels.partition_point(|label| label.0 < row);
            let own = subslice(&labels, first..).iter();
            let own: Vec<Attribute> = own
                .take_while(|label| label.0 == row)
                .map(|label| label.1.clone())
                .collect();
            batch.push(&SampleRow {
                stack,
                values: subslice(&self.values, row * width..(row + 1) * width),
                time: None,
                track: None,
                span: None,
                labels: &own,
            });
            if batch.len() >= BATCH_ROWS {
                let full = std::mem::replace(&mut batch, SampleBatch::new(profile, width));
                sink.define(model.take_definitions())?;
                sink.samples(full)?;
            }
        }
        sink.define(model.take_definitions())?;
        if batch.is_empty() {
            return Flow::Continue(());
        }
        sink.samples(batch)
    }

    /// Returns the labels in the order of their rows.
    fn labels(&self, model: &mut Tables) -> Vec<(usize, Attribute)> {
        let size_key = model.string("bytes");
        let size_key: AttrKeyId = model.attribute_key(AttributeKey {
            unit: Unit::Bytes,
            ..AttributeKey::named(size_key)
        });
        let sizes = self.sizes.iter().enumerate();
        let mut labels: Vec<(usize, Attribute)> = sizes
            .map(|(row, &size)| (row, Attribute::new(size_key, Value::I64(size))))
            .collect();
        for (row, key, value) in &self.labels {
            let name = model.bytes(key);
            let key = model.attribute_key(AttributeKey::named(name));
            let value = Value::Text(model.bytes(value));
            labels.push((*row, Attribute::new(key, value)));
        }
        labels.sort_by_key(|label| label.0);
        labels
    }

    /// Returns the frames at an address, the innermost first.
    fn frames(&self, address: u64, model: &mut Tables) -> Vec<FrameId> {
        let Some((address, functions)) = self.symbols.find(address) else {
            let address = address.wrapping_sub(u64::from(!self.symbols.exact));
            return vec![model.frame(Frame {
                address: Some(address),
                mapping: self.maps.find(address),
                ..Frame::default()
            })];
        };
        let address = (!self.scheme.java).then_some(address);
        let mapping = address.and_then(|address| self.maps.find(address));
        let frame = |(depth, symbol): (usize, &AddressSymbol)| {
            let file = (!symbol.file.is_empty()).then(|| model.bytes(&symbol.file));
            let name = model.bytes(&symbol.function);
            let function = model.function(Function {
                file,
                ..Function::named(name)
            });
            model.frame(Frame {
                function: Some(function),
                line: symbol.line,
                address,
                mapping,
                inlined: depth + 1 < functions.len(),
                ..Frame::default()
            })
        };
        functions.iter().enumerate().map(frame).collect()
    }
}
