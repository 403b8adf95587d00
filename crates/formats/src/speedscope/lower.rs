//! Profiles to samples and spans.

use traceloom_model::bounds::row_number;
use traceloom_model::{
    BATCH_ROWS, Clock, Flow, Frame, FrameId, Function, FunctionId, Limits, Order, Profile,
    SampleBatch, SampleRow, Sink, SpanBatch, SpanId, SpanRow, SpanStatus, Stack, StackId, Tables,
    Track, TrackId, Unit, ValueType,
};

use crate::points::model_unit;
use crate::text::json::{Document, Lowered, Value, lower_documents};
use crate::{Error, LowerOptions, Source, damage, warn};

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let origin = origin(source)?;
    // speedscope's times count from where its producer began, unless one of ours says where that is.
    let clock = |tables: &mut Tables| match origin {
        Some(TimeOrigin { unix: true, .. }) => Clock::Unix,
        _ => Clock::Unknown(Some(tables.string("speedscope"))),
    };
    let base = origin.map(|origin| origin.base);
    let document = |root: Value<'_>, to: &mut Lowered<'_>| document(root, base, to);
    lower_documents(source, options, sink, Order::Nested, clock, document)
}

/// Bytes in which our writer has said what its times count from.
const HEAD: usize = 512;

/// What our own files say of their times.
#[derive(Clone, Copy)]
struct TimeOrigin {
    unix: bool,
    base: i64,
}

/// Looks for the origin in the first part; files of one recording share it.
fn origin(source: &dyn Source) -> Result<Option<TimeOrigin>, Error> {
    if source.parts().len() != 1 {
        return Ok(None);
    }
    let mut pull = source.open(0, 0)?;
    let head = pull.pull(0, HEAD)?.bytes;
    let head = Document::parse(head.get(..HEAD).unwrap_or(head), &Limits::default());
    let ours = head.root().and_then(|root| root.get("traceloom"));
    let base = ours.and_then(|ours| ours.get("base_time_ns")?.text()?.parse().ok());
    Ok(base.map(|base| TimeOrigin {
        unix: ours
            .and_then(|ours| ours.get("clock"))
            .and_then(Value::bytes)
            .is_some_and(|clock| *clock == *b"unix"),
        base,
    }))
}

fn text(value: Option<Value<'_>>, tables: &mut Tables) -> Option<traceloom_model::StringId> {
    let bytes = value?.bytes()?;
    (!bytes.is_empty()).then(|| tables.bytes(&bytes))
}

fn small(value: Option<Value<'_>>) -> u32 {
    value
        .and_then(Value::u64)
        .and_then(|number| u32::try_from(number).ok())
        .unwrap_or(0)
}

fn document(root: Value<'_>, base: Option<i64>, to: &mut Lowered<'_>) -> Flow {
    let shared = root.get("shared").and_then(|shared| shared.get("frames"));
    let mut frames = Vec::new();
    for item in shared.into_iter().flat_map(Value::items) {
        let name = item.get("name").and_then(Value::bytes).unwrap_or_default();
        let name = to.tables.bytes(&name);
        let file = text(item.get("file"), to.tables);
        let function = to.tables.function(Function {
            file,
            ..Function::named(name)
        });
        let frame = to.tables.frame(Frame {
            function: Some(function),
            line: small(item.get("line")),
            column: small(item.get("col")),
            ..Frame::default()
        });
        frames.push((frame, function));
    }
    for item in root.get("profiles").into_iter().flat_map(Value::items) {
        let kind = item.get("type").and_then(Value::text).unwrap_or_default();
        let unit = item.get("unit").and_then(Value::text).unwrap_or_default();
        let (unit, factor) = model_unit(&unit, to.tables);
        let profile = WholeProfile {
            value: item,
            frames: &frames,
            unit,
            factor,
            base,
        };
        match (&*kind, unit) {
            ("sampled", _) => profile.sampled(to)?,
            ("evented", Unit::Nanoseconds) => profile.spans(to)?,
            ("evented", _) => profile.weights(to)?,
            (other, _) => {
                let text = format!("a profile of the unknown type `{other}`");
                to.note(damage("unknown_profile", item.start() as u64, text))?;
            }
        }
    }
    Flow::Continue(())
}

struct WholeProfile<'d> {
    value: Value<'d>,
    frames: &'d [(FrameId, FunctionId)],
    unit: Unit,
    factor: i64,
    /// What times count from, in files that say so; their samples have no times.
    base: Option<i64>,
}

impl WholeProfile<'_> {
    fn amount(&self, value: Option<Value<'_>>) -> i64 {
        value
            .and_then(|value| value.scaled(self.factor))
            .unwrap_or(0)
    }

    fn time(&self, value: Option<Value<'_>>) -> i64 {
        self.amount(value).saturating_add(self.base.unwrap_or(0))
    }

    fn track(&self, tables: &mut Tables) -> TrackId {
        let name = text(self.value.get("name"), tables);
        tables.new_track(Track {
            name,
            ..Track::default()
        })
    }

    fn profile(&self, tables: &mut Tables) -> traceloom_model::ProfileId {
        let name = if self.unit == Unit::Nanoseconds {
            "time"
        } else {
            "weight"
        };
        let name = tables.string(name);
        let kind = tables.value_type(ValueType::sum(name, self.unit));
        let comments = text(self.value.get("name"), tables).into_iter().collect();
        let (start, end) = (
            self.amount(self.value.get("startValue")),
            self.value.get("endValue"),
        );
        let timed = self.unit == Unit::Nanoseconds && self.base.is_none();
        let duration = end.map(|end| self.amount(Some(end)).saturating_sub(start));
        tables.profile(Profile {
            value_types: vec![kind],
            default: Some(kind),
            time: timed.then_some(start),
            duration: duration.filter(|_| timed),
            comments,
            ..Profile::default()
        })
    }

    fn frame(&self, index: Value<'_>, to: &mut Lowered<'_>) -> Result<(FrameId, FunctionId), Flow> {
        let found = index.u64().and_then(|index| usize::try_from(index).ok());
        if let Some(&frame) = found.and_then(|index| self.frames.get(index)) {
            return Ok(frame);
        }
        let note = warn(
            "unknown_frame",
            index.start() as u64,
            "a frame that is not in the table",
        );
        if to.note(note).is_break() {
            return Err(Flow::Break(()));
        }
        let raw = String::from_utf8_lossy(index.raw()).into_owned();
        let name = to.tables.string(&format!("#{raw}"));
        let function = to.tables.function(Function::named(name));
        let frame = to.tables.frame(Frame {
            function: Some(function),
            ..Frame::default()
        });
        Ok((frame, function))
    }

    fn sampled(&self, to: &mut Lowered<'_>) -> Flow {
        let profile = self.profile(to.tables);
        let track = self.track(to.tables);
        let timed = self.unit == Unit::Nanoseconds && self.base.is_none();
        let mut time = self.amount(self.value.get("startValue"));
        let mut weights = self.value.get("weights").into_iter().flat_map(Value::items);
        let mut batch = SampleBatch::new(profile, 1);
        for sample in self.value.get("samples").into_iter().flat_map(Value::items) {
            let weight = self.amount(weights.next());
            let mut stack = None;
            for index in sample.items() {
                let frame = match self.frame(index, to) {
                    Ok((frame, _)) => frame,
                    Err(stop) => return stop,
                };
                stack = Some(push(stack, frame, to.tables));
            }
            batch.push(&SampleRow {
                stack,
                values: &[weight],
                time: timed.then_some(time),
                track: Some(track),
                span: None,
                labels: &[],
            });
            time = time.saturating_add(weight);
            if batch.len() >= BATCH_ROWS {
                to.define()?;
                to.sink
                    .samples(std::mem::replace(&mut batch, SampleBatch::new(profile, 1)))?;
            }
        }
        to.define()?;
        if batch.is_empty() {
            Flow::Continue(())
        } else {
            to.sink.samples(batch)
        }
    }

    /// Events in a unit that is no time: what lies between two is the weight of what is open.
    fn weights(&self, to: &mut Lowered<'_>) -> Flow {
        let profile = self.profile(to.tables);
        let track = self.track(to.tables);
        let mut batch = SampleBatch::new(profile, 1);
        let mut open: Vec<StackId> = Vec::new();
        let mut last = self.amount(self.value.get("startValue"));
        for event in self.value.get("events").into_iter().flat_map(Value::items) {
            let at = self.amount(event.get("at"));
            let weight = at.saturating_sub(last);
            if weight > 0 && !open.is_empty() {
                batch.push(&SampleRow {
                    stack: open.last().copied(),
                    values: &[weight],
                    time: None,
                    track: Some(track),
                    span: None,
                    labels: &[],
                });
            }
            last = at;
            if is_open(event) {
                let frame = match event.get("frame").map(|index| self.frame(index, to)) {
                    Some(Ok((frame, _))) => frame,
                    Some(Err(stop)) => return stop,
                    None => continue,
                };
                let stack = push(open.last().copied(), frame, to.tables);
                open.push(stack);
            } else {
                open.pop();
            }
            if batch.len() >= BATCH_ROWS {
                to.define()?;
                to.sink
                    .samples(std::mem::replace(&mut batch, SampleBatch::new(profile, 1)))?;
            }
        }
        to.define()?;
        if batch.is_empty() {
            Flow::Continue(())
        } else {
            to.sink.samples(batch)
        }
    }

    fn spans(&self, to: &mut Lowered<'_>) -> Flow {
        let track = self.track(to.tables);
        let mut spans = SpanBatch::default();
        let mut open: Vec<(SpanId, FunctionId, i64)> = Vec::new();
        let mut last = self.time(self.value.get("startValue"));
        for event in self.value.get("events").into_iter().flat_map(Value::items) {
            let at = self.time(event.get("at"));
            if at < last {
                let text = "an event before the one that precedes it; its time is moved";
                to.note(warn("time_backwards", event.start() as u64, text))?;
            }
            last = last.max(at);
            let function = match event.get("frame").map(|index| self.frame(index, to)) {
                Some(Ok((_, function))) => function,
                Some(Err(stop)) => return stop,
                None => continue,
            };
            if is_open(event) {
                let id = to.tables.reserve_span();
                open.push((id, function, last));
                continue;
            }
            let Some(place) = open.iter().rposition(|(_, opened, _)| *opened == function) else {
                let text = "an exit of a function that was not entered";
                to.note(warn("unmatched_exit", event.start() as u64, text))?;
                continue;
            };
            while open.len() > place {
                let status = if open.len() > place + 1 {
                    SpanStatus::PartialEnd
                } else {
                    SpanStatus::Complete
                };
                close(&mut open, last, status, track, &mut spans);
            }
            if spans.len() >= BATCH_ROWS / 2 {
                to.define()?;
                to.sink.spans(std::mem::take(&mut spans))?;
            }
        }
        let end = self
            .value
            .get("endValue")
            .map_or(last, |end| self.time(Some(end)).max(last));
        while !open.is_empty() {
            close(&mut open, end, SpanStatus::PartialEnd, track, &mut spans);
            if spans.len() >= BATCH_ROWS {
                to.define()?;
                to.sink.spans(std::mem::take(&mut spans))?;
            }
        }
        to.define()?;
        if spans.is_empty() {
            Flow::Continue(())
        } else {
            to.sink.spans(spans)
        }
    }
}

fn is_open(event: Value<'_>) -> bool {
    event
        .get("type")
        .and_then(Value::bytes)
        .is_some_and(|kind| *kind == *b"O")
}

fn push(parent: Option<StackId>, frame: FrameId, tables: &mut Tables) -> StackId {
    tables.stack(Stack {
        parent,
        frame,
        truncated: false,
    })
}

fn close(
    open: &mut Vec<(SpanId, FunctionId, i64)>,
    end: i64,
    status: SpanStatus,
    track: TrackId,
    spans: &mut SpanBatch,
) {
    let Some((id, function, start)) = open.pop() else {
        return;
    };
    spans.push(&SpanRow {
        parent: open.last().map(|(id, ..)| *id),
        depth: row_number(open.len()),
        status,
        entry: open.is_empty(),
        ..SpanRow::call(id, track, function, start, end)
    });
}
