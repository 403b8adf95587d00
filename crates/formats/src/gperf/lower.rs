//! Both profiles to the model. Frames are addresses in mapped binaries, without names.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, AttributeKey, BATCH_ROWS, Clock, Flow, Frame, Level, Limits, Note, Order, PartId,
    Profile, SampleBatch, SampleRow, Sink, Stack, StackId, Tables, Unit, Value, ValueType,
    ValueTypeId,
};

use super::cpu::CpuReader;
use super::heap::{Content, Counts, Parser, no_sample};
use super::maps::Maps;
use crate::{Error, LowerOptions, Source, Step, lines};

/// A profile as its file has it, held whole: the memory map that addresses need comes last.
#[derive(Default)]
struct Samples {
    /// Values of every sample, as many as there are columns.
    values: Vec<i64>,
    addresses: Vec<u64>,
    ends: Vec<usize>,
    /// Bytes of one object, for heap samples.
    sizes: Vec<i64>,
    maps: Maps,
}

impl Samples {
    fn push(&mut self, values: &[i64], addresses: impl Iterator<Item = u64>) {
        self.values.extend_from_slice(values);
        self.addresses.extend(addresses);
        self.ends.push(self.addresses.len());
    }

    fn stack(&self, row: usize) -> &[u64] {
        let start = row.checked_sub(1).and_then(|row| self.ends.get(row));
        let end = self.ends.get(row).copied().unwrap_or(0);
        self.addresses
            .get(start.copied().unwrap_or(0)..end)
            .unwrap_or(&[])
    }
}

/// Lowers every part as a CPU profile.
///
/// # Errors
/// What the source fails with.
pub fn lower_cpu(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::Nested, Clock::Unix);
    let mut model = Tables::new();
    for part in 0..source.parts().len() {
        let id = PartId(u32::try_from(part).unwrap_or(u32::MAX));
        let Some((samples, period)) = read_cpu(source, part, id, &options.limits, sink)? else {
            return Ok(());
        };
        let samples = without_handlers(samples);
        let columns = [("samples", Unit::Count), ("cpu", Unit::Nanoseconds)];
        let columns = define(&mut model, &columns);
        let profile = Profile {
            period: columns.get(1).map(|&cpu| (cpu, period)),
            value_types: columns,
            ..Profile::default()
        };
        if emit(samples, profile, &mut model, sink).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

fn define(model: &mut Tables, columns: &[(&str, Unit)]) -> Vec<ValueTypeId> {
    let mut ids = Vec::new();
    for &(name, unit) in columns {
        let name = model.string(name);
        ids.push(model.value_type(ValueType::sum(name, unit)));
    }
    ids
}

fn read_cpu(
    source: &dyn Source,
    part: usize,
    id: PartId,
    limits: &Limits,
    sink: &mut dyn Sink,
) -> Result<Option<(Samples, i64)>, Error> {
    let mut samples = Samples::default();
    let mut period = 0;
    let mut reader = CpuReader::new(limits);
    let mut pull = source.open(part, 0)?;
    let (mut consumed, mut need) = (0, 1);
    loop {
        let chunk = pull.pull(consumed, need)?;
        let eof = chunk.eof;
        let step = reader.each(
            chunk,
            &mut |record| {
                let Ok(record) = record else {
                    return Flow::Continue(());
                };
                if let Some(words) = record.header() {
                    let micros = words.get(3).copied().unwrap_or(0);
                    period = i64::try_from(micros).unwrap_or(0).saturating_mul(1000);
                } else if let Some((count, pcs)) = record.sample() {
                    let count = i64::try_from(count).unwrap_or(i64::MAX);
                    let values = [count, count.saturating_mul(period)];
                    // Callers' addresses are those of return: one before lies in the call.
                    let before =
                        |(depth, &pc): (usize, &u64)| pc.wrapping_sub(u64::from(depth > 0));
                    samples.push(&values, pcs.iter().enumerate().map(before));
                } else if let Some(line) = record.text() {
                    samples.maps.line(line);
                }
                Flow::Continue(())
            },
            &mut |note| sink.note(Note { part: id, ..note }),
        );
        match step {
            Step::Stop => return Ok(None),
            Step::More { .. } if eof => return Ok(Some((samples, period))),
            Step::More {
                consumed: taken,
                need: wanted,
            } => (consumed, need) = (taken, wanted),
        }
    }
}

/// Removes what the profiler left in the stacks: up to two frames of its signal handler, which nearly
/// all samples have in second place, and a second copy of the innermost frame (SPEC.md §4).
fn without_handlers(mut samples: Samples) -> Samples {
    let n_samples = samples.ends.len();
    let mut stacks: Vec<Vec<u64>> = (0..n_samples)
        .map(|row| samples.stack(row).to_vec())
        .collect();
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
    samples.addresses.clear();
    samples.ends.clear();
    for mut stack in stacks {
        if let &[leaf, second, ..] = stack.as_slice()
            && leaf == second.wrapping_add(1)
        {
            stack.remove(1);
        }
        samples.addresses.extend(stack);
        samples.ends.push(samples.addresses.len());
    }
    samples
}

/// Lowers every part as a heap profile.
///
/// # Errors
/// What the source fails with.
pub fn lower_heap(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::Nested, Clock::Unix);
    let mut model = Tables::new();
    for part in 0..source.parts().len() {
        let id = PartId(u32::try_from(part).unwrap_or(u32::MAX));
        let mut samples = Samples::default();
        let mut parser = Parser::new();
        let mut scheme = Scheme::default();
        let mut pull = source.open(part, 0)?;
        let whole = lines::each(pull.as_mut(), &options.limits, &mut |line| {
            let place = |note| Note { part: id, ..note };
            let line = match line {
                Ok(line) => line,
                Err(note) => return sink.note(place(note)),
            };
            let Some(record) = parser.line(&line) else {
                return sink.note(place(no_sample(&line)));
            };
            match &record.content {
                Content::Header(header) => {
                    scheme = Scheme::of(header.kind, header.rate, &header.counts)
                }
                Content::Sample(counts, addresses) => {
                    if let Some(note) = scheme.push(counts, addresses, line.offset, &mut samples) {
                        return sink.note(place(note));
                    }
                }
                Content::Mapping(_) | Content::Line => samples.maps.line(record.text()),
            }
            Flow::Continue(())
        })?;
        if !whole {
            return Ok(());
        }
        let space = define(&mut model, &[("space", Unit::Bytes)]);
        let profile = Profile {
            value_types: define(&mut model, scheme.columns()),
            period: space.first().map(|&space| (space, scheme.period)),
            ..Profile::default()
        };
        if emit(samples, profile, &mut model, sink).is_break() {
            return Ok(());
        }
    }
    Ok(())
}

/// How the numbers of a heap profile are meant.
#[derive(Clone, Copy, Default)]
struct Scheme {
    period: i64,
    /// Samples are one in so many bytes and stand for more than they are.
    sampled: bool,
    allocations: bool,
}

impl Scheme {
    fn of(kind: &[u8], rate: Option<i64>, total: &Counts) -> Self {
        let rate = rate.unwrap_or(0);
        let differs = |alloc: i64, in_use: i64| alloc != in_use && alloc != 0;
        let (sampled, period) = match kind {
            b"heapz_v2" | b"heap_v2" => (true, rate),
            // Go doubles the rate when it writes.
            b"heap" => (true, rate / 2),
            _ => (false, 1),
        };
        let heap = kind.starts_with(b"heap");
        Self {
            period,
            sampled,
            allocations: heap
                && (differs(total.alloc_objects, total.in_use_objects)
                    || differs(total.alloc_bytes, total.in_use_bytes)),
        }
    }

    fn columns(self) -> &'static [(&'static str, Unit)] {
        if self.allocations {
            &[
                ("alloc_objects", Unit::Count),
                ("alloc_space", Unit::Bytes),
                ("inuse_objects", Unit::Count),
                ("inuse_space", Unit::Bytes),
            ]
        } else {
            &[("objects", Unit::Count), ("space", Unit::Bytes)]
        }
    }

    fn push(
        self,
        counts: &Counts,
        addresses: &[u64],
        offset: u64,
        samples: &mut Samples,
    ) -> Option<Note> {
        let mut values = Vec::new();
        let mut size = 0;
        let mut note = None;
        let allocated = self
            .allocations
            .then_some((counts.alloc_objects, counts.alloc_bytes));
        let in_use = (counts.in_use_objects, counts.in_use_bytes);
        for (objects, bytes) in allocated.into_iter().chain([in_use]) {
            if objects == 0 && bytes != 0 {
                let text = format!("no objects have {bytes} bytes");
                note = Some(Note::new(Level::Warn, "bytes_of_nothing", offset, text));
            }
            if objects != 0 {
                size = bytes.checked_div(objects).unwrap_or(0);
            }
            let (objects, bytes) = if self.sampled {
                unsampled(objects, bytes, self.period)
            } else {
                (objects, bytes)
            };
            values.extend([objects, bytes]);
        }
        samples.sizes.push(size);
        samples.push(
            &values,
            addresses.iter().map(|address| address.wrapping_sub(1)),
        );
        note
    }
}

/// Estimates what a sample stands for: it was taken with the probability 1 − e^(−size/rate)
/// (SPEC.md §4).
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "an estimate, cut to whole numbers as other readers do"
)]
fn unsampled(objects: i64, bytes: i64, rate: i64) -> (i64, i64) {
    if objects == 0 || bytes == 0 {
        return (0, 0);
    }
    if rate <= 1 {
        return (objects, bytes);
    }
    let size = bytes as f64 / objects as f64;
    let scale = 1.0 / (1.0 - (-size / rate as f64).exp());
    (
        (objects as f64 * scale) as i64,
        (bytes as f64 * scale) as i64,
    )
}

fn emit(mut samples: Samples, profile: Profile, model: &mut Tables, sink: &mut dyn Sink) -> Flow {
    let width = profile.value_types.len();
    let profile = model.profile(profile);
    samples.maps.define(model);
    let size_key = model.string("bytes");
    let size_key = model.attribute_key(AttributeKey {
        unit: Unit::Bytes,
        ..AttributeKey::named(size_key)
    });
    let mut batch = SampleBatch::new(profile, width);
    for row in 0..samples.ends.len() {
        let mut stack: Option<StackId> = None;
        for &address in samples.stack(row).iter().rev() {
            let frame = model.frame(Frame {
                address: Some(address),
                mapping: samples.maps.find(address),
                ..Frame::default()
            });
            stack = Some(model.stack(Stack {
                parent: stack,
                frame,
                truncated: false,
            }));
        }
        let label = samples
            .sizes
            .get(row)
            .map(|&size| Attribute::new(size_key, Value::I64(size)));
        batch.push(&SampleRow {
            stack,
            values: samples
                .values
                .get(row * width..(row + 1) * width)
                .unwrap_or(&[]),
            time: None,
            track: None,
            span: None,
            labels: label.as_slice(),
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
