//! The model to a file: a profile for each track and column (SPEC.md, "Written").

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{
    Asks, Clock, Definitions, Flow, FrameId, FunctionId, Merge, Note, Order, ProfileId, Recording,
    SampleBatch, Scope, Sink, SpanBatch, StackId, StringId, Timestamp, TrackId, Unit,
};

use super::events::{EventList, EventPrefix};
use super::nest::{FrameStep, lanes};
use super::spans::{FrameSpan, FrameSpans};
use super::stacks::StackWriter;
use crate::codec::Buffered;
use crate::text::label;
use crate::text::scalars;
use crate::{Error, Output, RaiseOptions, Target};

/// Builds a target that writes speedscope's JSON.
///
/// The variant `functions` leaves lines out, so that frames of one function are one.
///
/// # Errors
/// `Usage` for another variant.
pub(super) fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    let lines = match options.variant.as_deref() {
        None => true,
        Some("functions") => false,
        Some(other) => {
            let text = format!("speedscope has no variant `{other}`; there is `functions`");
            return Err(Error::usage(text));
        }
    };
    Ok(Box::new(Writer {
        out: Buffered::new(output, ""),
        tables: Recording::default(),
        clock: Clock::default(),
        lines,
        spans: Vec::new(),
        samples: BTreeMap::new(),
        functions: SpanFunctions::default(),
        frames: SharedFrames::default(),
    }))
}

struct Writer<'o> {
    out: Buffered<'o>,
    /// The tables of the model; no rows but those of tables.
    tables: Recording,
    clock: Clock,
    lines: bool,
    /// By track.
    spans: Vec<FrameSpans>,
    samples: BTreeMap<(ProfileId, Option<TrackId>), Kernel>,
    functions: SpanFunctions,
    frames: SharedFrames,
}

/// Samples of one profile on one track.
#[derive(Default)]
struct Kernel {
    stacks: Vec<Option<StackId>>,
    /// As many for each sample as the profile has columns.
    values: Vec<i64>,
}

/// Functions of spans by the number that [`FrameSpan::frame`] holds, in the order of their first use: frames are known
/// at the end.
#[derive(Default)]
struct SpanFunctions {
    /// Of none, then of each one.
    numbers: Vec<Option<u32>>,
    rows: Vec<Option<FunctionId>>,
}

impl SpanFunctions {
    #[inline]
    fn number(&mut self, id: Option<FunctionId>) -> u32 {
        let at = id.map_or(0, |id| id.index() + 1);
        if let Some(&Some(known)) = self.numbers.get(at) {
            return known;
        }
        if self.numbers.len() <= at {
            self.numbers.resize(at + 1, None);
        }
        let number = row_number(self.rows.len());
        self.rows.push(id);
        if let Some(slot) = self.numbers.get_mut(at) {
            *slot = Some(number);
        }
        number
    }
}

/// The shared frames, in the order of their first use.
#[derive(Default)]
struct SharedFrames {
    known: HashMap<Box<[u8]>, u32, RandomState>,
    rows: Vec<Box<[u8]>>,
    /// By frame.
    of_frame: Vec<Option<u32>>,
}

impl SharedFrames {
    /// Returns the number of a frame given as JSON.
    fn number(&mut self, row: Vec<u8>) -> u32 {
        let row = row.into_boxed_slice();
        if let Some(&known) = self.known.get(&row) {
            return known;
        }
        let number = row_number(self.rows.len());
        self.rows.push(row.clone());
        self.known.insert(row, number);
        number
    }

    fn row(name: &[u8], file: Option<&[u8]>, line: u32, column: u32) -> Vec<u8> {
        let mut row = b"{\"name\":\"".to_vec();
        scalars::inner(name, &mut row);
        row.push(b'"');
        if let Some(file) = file {
            row.extend_from_slice(b",\"file\":\"");
            scalars::inner(file, &mut row);
            row.push(b'"');
        }
        for (member, number) in [(&b",\"line\":"[..], line), (b",\"col\":", column)] {
            if number > 0 {
                row.extend_from_slice(member);
                scalars::digits(u64::from(number), &mut row);
            }
        }
        row.push(b'}');
        row
    }

    fn of_function(&mut self, tables: &Recording, id: Option<FunctionId>, lines: bool) -> u32 {
        let row = id.and_then(|id| tables.function(id));
        let file = row.and_then(|row| Some(label::text(tables, row.file?)));
        let line = row.map_or(0, |row| row.line);
        let name = label::function(tables, id);
        let line = if lines { line } else { 0 };
        self.number(Self::row(&name, file.as_deref(), line, 0))
    }

    fn of_frame(&mut self, tables: &Recording, id: FrameId, lines: bool) -> u32 {
        if let Some(&Some(known)) = self.of_frame.get(id.index()) {
            return known;
        }
        let frame = tables.frame(id);
        let number = match frame.filter(|_| lines) {
            Some(row) if row.line > 0 || row.function.is_none() => {
                let function = row.function.and_then(|id| tables.function(id));
                let file = function.and_then(|row| Some(label::text(tables, row.file?)));
                let name = label::frame(tables, id);
                self.number(Self::row(&name, file.as_deref(), row.line, row.column))
            }
            Some(row) => self.of_function(tables, row.function, lines),
            None => match frame.and_then(|row| row.function) {
                Some(function) => self.of_function(tables, Some(function), lines),
                None => self.number(Self::row(&label::frame(tables, id), None, 0, 0)),
            },
        };
        if self.of_frame.len() <= id.index() {
            self.of_frame.resize(id.index() + 1, None);
        }
        if let Some(slot) = self.of_frame.get_mut(id.index()) {
            *slot = Some(number);
        }
        number
    }
}

impl Sink for Writer<'_> {
    fn asks(&self) -> Asks {
        Asks {
            sampled_events: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, _order: Order, clock: Clock) {
        self.clock = clock;
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for span in batch.iter() {
            let at = span.track.index();
            if self.spans.len() <= at {
                self.spans.resize_with(at + 1, FrameSpans::default);
            }
            if let Some(spans) = self.spans.get_mut(at) {
                spans.push(FrameSpan {
                    id: span.id,
                    parent: span.parent,
                    start: span.start,
                    end: span.end.max(span.start),
                    frame: self.functions.number(span.function),
                });
            }
        }
        Flow::Continue(())
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        for (row, (&stack, &track)) in batch.stack.iter().zip(&batch.track).enumerate() {
            let kernel = self.samples.entry((batch.profile, track)).or_default();
            kernel.stacks.push(stack);
            kernel.values.extend_from_slice(batch.values(row));
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

/// A column that is written.
struct WrittenColumn {
    at: usize,
    width: usize,
    name: Vec<u8>,
    unit: &'static str,
    /// Shown first.
    shown: bool,
}

impl Writer<'_> {
    /// The columns of a profile that are weights of the innermost frame.
    fn columns(&self, id: ProfileId) -> Vec<WrittenColumn> {
        let Some(profile) = self.tables.profile(id) else {
            return Vec::new();
        };
        let width = profile.value_types.len();
        let shown = self.tables.shown_column(profile, &[]);
        let columns = profile.value_types.iter().enumerate();
        let weights = columns.filter_map(|(at, &id)| {
            let row = self.tables.value_type(id)?;
            if row.merge != Merge::Sum || row.scope != Scope::Own {
                return None;
            }
            Some(WrittenColumn {
                at,
                width,
                name: label::text(&self.tables, row.name),
                unit: match row.unit {
                    Unit::Nanoseconds => "nanoseconds",
                    Unit::Bytes => "bytes",
                    _ => "none",
                },
                shown: shown == Some(at),
            })
        });
        weights.collect()
    }

    fn head(&mut self, n_profiles: &mut usize, kind: &str, name: &[u8], unit: &str) {
        self.out.text(if *n_profiles == 0 { "\n" } else { ",\n" });
        *n_profiles += 1;
        self.out.text("{\"type\":\"");
        self.out.text(kind);
        self.out.text("\",\"name\":\"");
        scalars::inner(name, &mut self.out.bytes);
        self.out.text("\",\"unit\":\"");
        self.out.text(unit);
        self.out.text("\",");
    }

    fn sampled(&mut self, n_profiles: &mut usize) -> Option<usize> {
        let mut active = None;
        let samples = std::mem::take(&mut self.samples);
        let mut stacks = StackWriter::default();
        for ((profile, track), kernel) in samples {
            let columns = self.columns(profile);
            let many = columns.len() > 1;
            for column in columns {
                let mut name = track.map_or_else(Vec::new, |id| label::track(&self.tables, id));
                if name.is_empty() {
                    name.clone_from(&column.name);
                } else if many {
                    name.extend_from_slice(b" (");
                    name.extend_from_slice(&column.name);
                    name.push(b')');
                }
                if column.shown && active.is_none() {
                    active = Some(*n_profiles);
                }
                self.head(n_profiles, "sampled", &name, column.unit);
                self.weighted(&kernel, &column, &mut stacks);
            }
        }
        active
    }

    /// Writes stacks and weights; what weighs nothing in one of many columns is left out of it.
    fn weighted(&mut self, kernel: &Kernel, column: &WrittenColumn, stacks: &mut StackWriter) {
        let rows = || {
            let values = kernel.values.chunks_exact(column.width.max(1));
            let weights = values.filter_map(|values| values.get(column.at).copied());
            let rows = kernel.stacks.iter().copied().zip(weights);
            rows.filter(|&(_, weight)| weight > 0 || weight == 0 && column.width == 1)
        };
        self.out.text("\"samples\":[");
        let mut first = true;
        for (stack, _) in rows() {
            self.out.text(if first { "[" } else { ",[" });
            first = false;
            let frames = &mut self.frames;
            let (tables, lines) = (&self.tables, self.lines);
            let mut number = |frame| frames.of_frame(tables, frame, lines);
            stacks.put(stack, tables, &mut number, &mut self.out.bytes);
            self.out.bytes.push(b']');
            self.out.spill();
        }
        self.out.text("],\"weights\":[");
        let mut total: i128 = 0;
        let mut first = true;
        for (_, weight) in rows() {
            if !first {
                self.out.bytes.push(b',');
            }
            first = false;
            total += i128::from(weight);
            scalars::digits(weight.unsigned_abs(), &mut self.out.bytes);
            self.out.spill();
        }
        let end = format!("],\"startValue\":0,\"endValue\":{total}}}");
        self.out.text(&end);
    }

    fn evented(&mut self, n_profiles: &mut usize, base: Timestamp) {
        let functions = std::mem::take(&mut self.functions.rows).into_iter();
        let number = |id| self.frames.of_function(&self.tables, id, self.lines);
        let heads: Vec<EventPrefix> = functions.map(number).map(EventPrefix::of).collect();
        let by_track = std::mem::take(&mut self.spans);
        for (track, spans) in (0..).map(TrackId::new).zip(by_track) {
            if spans.is_empty() {
                continue;
            }
            let name = label::track(&self.tables, track);
            self.head(n_profiles, "evented", &name, "nanoseconds");
            let mut events = EventList::begin(&mut self.out, base, &heads);
            // The first lane is written at once: nearly always there is no other.
            let mut others: Vec<Vec<FrameStep>> = Vec::new();
            lanes(&spans, &mut |lane, step| {
                let Some(other) = lane.checked_sub(1) else {
                    return events.put(&step);
                };
                if others.len() < lane {
                    others.resize_with(lane, Vec::new);
                }
                if let Some(steps) = others.get_mut(other) {
                    steps.push(step);
                }
            });
            events.end();
            drop(spans);
            for (lane, steps) in (1..).zip(others) {
                let mut name = name.clone();
                name.extend(format!(" lane {lane}").bytes());
                self.head(n_profiles, "evented", &name, "nanoseconds");
                let mut events = EventList::begin(&mut self.out, base, &heads);
                steps.iter().for_each(|step| events.put(step));
                events.end();
            }
        }
    }

    fn shared(&mut self) {
        self.out.text("\n],\"shared\":{\"frames\":[");
        for (at, row) in self.frames.rows.iter().enumerate() {
            self.out.text(if at == 0 { "\n" } else { ",\n" });
            self.out.bytes.extend_from_slice(row);
            self.out.spill();
        }
        self.out.text("\n]}");
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let starts = self
            .spans
            .iter()
            .flat_map(FrameSpans::iter)
            .map(|span| span.start);
        let base = starts.min();
        self.out.text(
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"traceloom\",",
        );
        if let Some(base) = base {
            let clock = match self.clock {
                Clock::Unix => "unix",
                Clock::Unknown(_) => "unknown",
            };
            let origin =
                format!("\"traceloom\":{{\"clock\":\"{clock}\",\"base_time_ns\":\"{base}\"}},");
            self.out.text(&origin);
        }
        self.out.text("\"profiles\":[");
        let mut n_profiles = 0;
        self.evented(&mut n_profiles, base.unwrap_or(0));
        let active = self.sampled(&mut n_profiles);
        self.shared();
        if let Some(active) = active.filter(|&active| active > 0) {
            let text = format!(",\"activeProfileIndex\":{active}");
            self.out.text(&text);
        }
        self.out.text("}\n");
        self.out.finish()
    }
}
