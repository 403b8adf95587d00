//! The model to a profile (SPEC.md).

use traceloom_model::{
    Asks, Attributes, Clock, CounterBatch, Definitions, EventBatch, Flow, Note, Order, Recording,
    SampleBatch, Sink, SpanBatch, Timestamp, Unit,
};

use super::code::{CATEGORIES, CodeTables};
use super::column::{column, length, milliseconds, since, some_index, text};
use super::forms::Schemas;
use super::kept::Markers;
use super::markers::MarkerTexts;
use super::plan::{PlannedThread, Weight, base, threads};
use super::rows::MarkerRows;
use crate::codec::Buffered;
use crate::text::label;
use crate::text::scalars;
use crate::{Error, Output, RaiseOptions, Target};

/// Builds a target that writes a profile.
///
/// The variant names the value column to write, which is else the profile's default.
///
/// # Errors
/// None; the signature is that of every raising.
pub(super) fn raise<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
) -> Result<Box<dyn Target + 'o>, Error> {
    Ok(Box::new(Writer {
        column: options.variant.clone(),
        recording: Recording::default(),
        rows: MarkerRows::default(),
        out: Buffered::new(output, ""),
    }))
}

struct Writer<'o> {
    column: Option<String>,
    /// Tables, counters and samples.
    recording: Recording,
    /// Spans and events.
    rows: MarkerRows,
    out: Buffered<'o>,
}

impl Sink for Writer<'_> {
    fn asks(&self) -> Asks {
        Asks {
            sampled_events: false,
            ..Asks::default()
        }
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.recording.begin(order, clock);
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.recording.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.rows.spans(batch);
        Flow::Continue(())
    }

    fn samples(&mut self, mut batch: SampleBatch) -> Flow {
        batch.labels = Attributes::default();
        self.recording.samples(batch)
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        self.rows.events(batch);
        Flow::Continue(())
    }

    fn counters(&mut self, batch: CounterBatch) -> Flow {
        self.recording.counters(batch)
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        let recording = std::mem::take(&mut self.recording);
        let rows = std::mem::take(&mut self.rows);
        self.write(&recording, rows)
    }
}

impl Writer<'_> {
    fn write(&mut self, recording: &Recording, mut rows: MarkerRows) -> Result<(), Error> {
        let mut threads = threads(recording, &rows, self.column.as_deref());
        if let Some(column) = &self.column
            && threads.iter().all(|thread| thread.column.is_none())
        {
            return Err(Error::usage(format!("no profile has a column `{column}`")));
        }
        let base = base(recording, &rows);
        let schemas = Schemas::of(&rows, recording);
        let mut tracks = rows.take_tracks();
        let mut code = CodeTables::new(recording);
        let mut words = MarkerTexts::new(recording, &rows, &schemas);
        self.meta(recording, &schemas, base);
        self.out.text("\"threads\":[");
        for (at, thread) in threads.iter_mut().enumerate() {
            self.out.text(if at > 0 { ",\n" } else { "\n" });
            let markers = thread.markers.then(|| tracks.take(thread.track));
            let markers = markers.unwrap_or_default();
            code.begin();
            self.thread(recording, base, (thread, &markers), &mut code, &mut words);
        }
        self.out.text("\n],");
        self.counters(recording, &threads, base);
        code.put_libs(&mut self.out);
        self.out.text("\"pages\":[],\"profilerOverhead\":[]}\n");
        self.out.finish()
    }

    fn meta(&mut self, recording: &Recording, schemas: &Schemas, base: Timestamp) {
        let out = &mut self.out;
        out.text("{\"meta\":{");
        column(out, "categories", CATEGORIES, |(name, color), out| {
            out.extend_from_slice(b"{\"name\":");
            text(name, out);
            out.extend_from_slice(b",\"color\":");
            text(color, out);
            out.extend_from_slice(b",\"subcategories\":[\"Other\"]}");
        });
        schemas.put(recording, out);
        out.text("\"interval\":");
        milliseconds(interval(recording), &mut out.bytes);
        // A clock that nobody knows counts from the day the profiler would show anyway.
        out.text(",\"startTime\":");
        let unix = recording.clock == Clock::Unix;
        milliseconds(i128::from(if unix { base } else { 0 }), &mut out.bytes);
        out.text(",\"product\":");
        let named = recording.resources.iter().flatten();
        let service = named.filter_map(|row| row.service).next();
        let product = service.map_or_else(
            || b"traceloom".to_vec(),
            |service| label::text(recording, service),
        );
        text(&product, &mut out.bytes);
        out.text(
            ",\"importedFrom\":\"traceloom\",\"processType\":0,\"stackwalk\":0,\"debug\":false,\
             \"version\":24,\"preprocessedProfileVersion\":55,\"symbolicated\":true,\
             \"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,\
             \"sourceCodeIsNotOnSearchfox\":true,\"pausedRanges\":[],\
             \"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},\
             \"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}},\n",
        );
    }

    fn thread<'r>(
        &mut self,
        recording: &'r Recording,
        base: Timestamp,
        (thread, markers): (&mut PlannedThread, &Markers),
        code: &mut CodeTables<'r>,
        words: &mut MarkerTexts<'r>,
    ) {
        let out = &mut self.out;
        out.text("{\"name\":");
        text(&thread.name, &mut out.bytes);
        out.text(if thread.main {
            ",\"isMainThread\":true,"
        } else {
            ",\"isMainThread\":false,"
        });
        let resource = thread.resource.and_then(|id| recording.resource(id));
        let name = resource.and_then(|row| row.service.or(row.instance).or(row.host));
        if let Some(name) = name {
            out.text("\"processName\":");
            text(label::text(recording, name), &mut out.bytes);
            out.text(",");
        }
        out.text("\"pid\":");
        text(&thread.pid, &mut out.bytes);
        out.text(",\"tid\":");
        scalars::unsigned(thread.tid, &mut out.bytes);
        out.text(
            ",\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,\
             \"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],",
        );
        if markers.has_spans {
            out.text("\"showMarkersInTimeline\":true,");
        }
        samples(thread, recording, base, code, out);
        words.put(markers, base, code, out);
        code.put(out);
        code.put_strings(out);
        // Every member above ends with a comma.
        out.text("\"traceloomTrack\":");
        some_index(thread.track.map(|id| id.raw()), &mut out.bytes);
        out.text("}");
    }

    fn counters(&mut self, recording: &Recording, threads: &[PlannedThread], base: Timestamp) {
        let mut points: Vec<Vec<(Timestamp, f64)>> = Vec::new();
        points.resize_with(recording.series.len(), Vec::new);
        let batch = &recording.counters;
        for ((series, &time), &value) in batch.series.iter().zip(&batch.time).zip(&batch.value) {
            if let Some(points) = points.get_mut(series.index()) {
                points.push((time, value));
            }
        }
        let out = &mut self.out;
        out.text("\"counters\":[");
        let mut first = true;
        for (series, mut points) in recording.series.iter().zip(points) {
            let Some(series) = series.as_ref().filter(|_| !points.is_empty()) else {
                continue;
            };
            points.sort_by_key(|&(time, _)| time);
            let resource = series.track.and_then(|id| recording.track(id)?.resource);
            let mains = threads.iter().enumerate().filter(|(_, thread)| thread.main);
            let main = mains
                .clone()
                .find(|(_, thread)| thread.resource == resource)
                .or_else(|| mains.clone().next());
            out.text(if first {
                "\n{\"name\":"
            } else {
                ",\n{\"name\":"
            });
            first = false;
            text(label::text(recording, series.name), &mut out.bytes);
            let memory = series.unit == Unit::Bytes;
            out.text(",\"category\":");
            text(if memory { "Memory" } else { "Other" }, &mut out.bytes);
            out.text(",\"description\":");
            let track = series.track.map(|id| label::track(recording, id));
            text(track.unwrap_or_default(), &mut out.bytes);
            out.text(",\"pid\":");
            text(main.map_or("0", |(_, thread)| &thread.pid), &mut out.bytes);
            out.text(",\"mainThreadIndex\":");
            scalars::digits(main.map_or(0, |(at, _)| at as u64), &mut out.bytes);
            out.text(",\"samples\":{");
            column(out, "time", &points, |point, out| since(base, point.0, out));
            // The profiler adds up what it reads.
            let before = std::iter::once(0.0).chain(points.iter().map(|point| point.1));
            let steps = points.iter().zip(before);
            column(out, "count", steps, |(point, before), out| {
                scalars::float(point.1 - before, out);
            });
            length(out, points.len());
            out.text("}}");
        }
        out.text("],");
    }
}

/// Nanoseconds between samples, a millisecond where nobody says.
fn interval(recording: &Recording) -> i128 {
    let periods = recording.profiles.iter().flatten().filter_map(|profile| {
        let (id, period) = profile.period?;
        let row = recording.value_type(id)?;
        (row.unit == Unit::Nanoseconds && period > 0).then_some(period)
    });
    periods.map(i128::from).next().unwrap_or(1_000_000)
}

/// Writes the samples of a thread by their time, with a comma behind the table. Samples without a time
/// follow each other at the sampling interval.
fn samples(
    thread: &mut PlannedThread,
    recording: &Recording,
    base: Timestamp,
    code: &mut CodeTables<'_>,
    out: &mut Buffered<'_>,
) {
    let row = |&(batch, row): &(usize, usize)| recording.samples.get(batch)?.row(row);
    let time = |at: &(usize, usize)| row(at).and_then(|row| row.time);
    let timed = thread.samples.iter().all(|at| time(at).is_some());
    if timed {
        thread.samples.sort_by_key(time);
    }
    let rows = &thread.samples;
    let interval = interval(recording);
    out.text("\"samples\":{");
    let stacks: Vec<Option<u32>> = rows.iter().map(|at| code.stack(row(at)?.stack?)).collect();
    column(out, "stack", stacks, some_index);
    let mut position = 0_i128;
    let times = rows.iter().map(|at| match time(at).filter(|_| timed) {
        Some(time) => i128::from(time) - i128::from(base),
        None => {
            position += interval;
            position - interval
        }
    });
    let times: Vec<i128> = times.collect();
    column(out, "time", times, milliseconds);
    let (value, kind) = thread.column.unwrap_or((0, Weight::Samples));
    let weights = rows.iter().map(|at| {
        let row = row(at);
        row.and_then(|row| row.values.get(value).copied())
            .unwrap_or(0)
    });
    column(out, "weight", weights, |weight, out| match kind {
        Weight::Time => milliseconds(i128::from(weight), out),
        Weight::Bytes | Weight::Samples => scalars::decimal(weight, out),
    });
    out.text(match kind {
        Weight::Time => "\"weightType\":\"tracing-ms\",",
        Weight::Bytes => "\"weightType\":\"bytes\",",
        Weight::Samples => "\"weightType\":\"samples\",",
    });
    length(out, rows.len());
    out.text("},");
}
