//! Events to the model: a profile for each kind of event, a sample for each event (SPEC.md §2).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, BATCH_ROWS, Clock, Flow, FrameKind, Function, Limit, Mapping, Note,
    Order, PartId, Profile, ProfileId, Resource, ResourceId, SampleBatch, SampleRow, Sink, Stack,
    StringId, Tables, Track, TrackId, Unit, Value, ValueType,
};

use super::event::{EventLineFields, StackLine};
use super::read::{Record, ScriptContent, no_line};
use crate::text::lines;
use crate::{Error, LowerOptions, Source, damage};

/// Lowers every part of a source.
///
/// # Errors
/// What the source fails with.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut model = Tables::new();
    let clock = model.string("perf");
    sink.begin(Order::Nested, Clock::Unknown(Some(clock)));
    let keys = ["cpu", "fields"].map(|name| model.attribute_named(name));
    for part in 0..source.parts().len() {
        let id = PartId::nth(part);
        let mut events = SampledEvents {
            model: &mut model,
            keys,
            profiles: HashMap::default(),
            tracks: HashMap::default(),
            processes: HashMap::default(),
            open: None,
            frames: Vec::new(),
            symbol: None,
            depth: options.limits.size(Limit::Depth),
            too_deep: false,
        };
        let mut pull = source.open(part, 0)?;
        let mut within = false;
        let whole = lines::each(pull.as_mut(), &options.limits, &mut |line| {
            let place = |note| Note { part: id, ..note };
            let line = match line {
                Ok(line) => line,
                Err(note) => return sink.note(place(note)),
            };
            let record = Record::new(&line, within);
            within = record.opens(within);
            match record.content {
                ScriptContent::Event(event) => {
                    events.close(sink)?;
                    events.open(&event);
                    if let Some(frame) = StackLine::parse_words(event.rest).filter(alone) {
                        events.frame(&frame);
                    }
                }
                ScriptContent::Frame(frame) => events.frame(&frame),
                ScriptContent::Source(file, number) => events.source(file, number),
                ScriptContent::Blank => events.close(sink)?,
                ScriptContent::Comment => {}
                ScriptContent::Other => sink.note(place(no_line(&line)))?,
            }
            if std::mem::take(&mut events.too_deep) {
                let text = "a stack has too many frames, the outermost are cut off";
                sink.note(place(damage("limit_depth", line.offset, text)))?;
            }
            Flow::Continue(())
        })?;
        if !whole || events.close(sink).is_break() || events.flush(sink).is_break() {
            break;
        }
    }
    Ok(())
}

/// A frame on the event's own line is one only with an object: fields of tracepoints look alike.
fn alone(frame: &StackLine<'_>) -> bool {
    frame.object.is_some() || frame.inlined
}

struct SampledEvents<'m> {
    model: &'m mut Tables,
    /// The labels of the processor and of a tracepoint's fields.
    keys: [AttrKeyId; 2],
    profiles: HashMap<Box<[u8]>, SampledEvent, RandomState>,
    tracks: HashMap<Thread, TrackId, RandomState>,
    processes: HashMap<u64, ResourceId, RandomState>,
    open: Option<PendingSample>,
    /// Frames of the open event, the innermost first.
    frames: Vec<traceloom_model::Frame>,
    /// The symbol of the last of them.
    symbol: Option<StringId>,
    depth: usize,
    too_deep: bool,
}

/// Command, process and thread.
type Thread = (Box<[u8]>, Option<u64>, Option<u64>);

/// A kind of event: its profile, and the samples not yet handed over.
struct SampledEvent {
    profile: ProfileId,
    width: usize,
    batch: SampleBatch,
}

struct PendingSample {
    event: Box<[u8]>,
    track: TrackId,
    time: Option<i64>,
    period: Option<i64>,
    labels: Vec<Attribute>,
}

impl SampledEvents<'_> {
    fn open(&mut self, event: &EventLineFields<'_>) {
        self.frames.clear();
        let track = self.track(event);
        let mut labels = Vec::new();
        let [cpu, fields] = self.keys;
        if let Some(number) = event.cpu {
            labels.push(Attribute::new(cpu, Value::U64(number)));
        }
        if !event.rest.is_empty()
            && !StackLine::parse_words(event.rest).is_some_and(|row| alone(&row))
        {
            let text = self.model.bytes(event.rest);
            labels.push(Attribute::new(fields, Value::Text(text)));
        }
        self.open = Some(PendingSample {
            event: event.event.into(),
            track,
            time: event.time_ns,
            period: event.period,
            labels,
        });
    }

    fn track(&mut self, event: &EventLineFields<'_>) -> TrackId {
        let key = (Box::from(event.command), event.pid, event.tid);
        if let Some(&track) = self.tracks.get(&key) {
            return track;
        }
        let model = &mut *self.model;
        let resource = event.pid.map(|pid| {
            *self.processes.entry(pid).or_insert_with(|| {
                model.resource(Resource {
                    pid: Some(pid),
                    ..Resource::default()
                })
            })
        });
        let name = self.model.bytes(event.command);
        let track = self.model.track(Track {
            name: Some(name),
            os_id: event.tid,
            resource,
            ..Track::default()
        });
        self.tracks.insert(key, track);
        track
    }

    fn frame(&mut self, frame: &StackLine<'_>) {
        if self.frames.len() >= self.depth {
            self.too_deep = self.frames.len() == self.depth;
            return;
        }
        self.symbol = frame.symbol.map(|symbol| self.model.bytes(symbol));
        let function = self
            .symbol
            .map(|name| self.model.function(Function::named(name)));
        let mapping = frame.object.map(|object| {
            let file = self.model.bytes(object);
            self.model.mapping(Mapping {
                file: Some(file),
                ..Mapping::default()
            })
        });
        self.frames.push(traceloom_model::Frame {
            function,
            address: Some(frame.address),
            mapping,
            inlined: frame.inlined,
            kind: frame.object.map_or(FrameKind::Unknown, kind),
            ..traceloom_model::Frame::default()
        });
    }

    fn source(&mut self, file: &[u8], line: u32) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        frame.line = line;
        if let Some(name) = self.symbol {
            let file = self.model.bytes(file);
            frame.function = Some(self.model.function(Function {
                file: Some(file),
                ..Function::named(name)
            }));
        }
    }

    /// Makes a sample of the open event.
    fn close(&mut self, sink: &mut dyn Sink) -> Flow {
        let Some(open) = self.open.take() else {
            return Flow::Continue(());
        };
        let mut stack = None;
        for frame in self.frames.drain(..).rev() {
            let frame = self.model.frame(frame);
            stack = Some(self.model.stack(Stack {
                parent: stack,
                frame,
                truncated: false,
            }));
        }
        let model = &mut *self.model;
        let kind = self
            .profiles
            .entry(open.event)
            .or_insert_with_key(|event| define(event, open.period.is_some(), model));
        kind.batch.push(&SampleRow {
            stack,
            values: &[1, open.period.unwrap_or(1)],
            time: open.time,
            track: Some(open.track),
            span: None,
            labels: &open.labels,
        });
        if kind.batch.len() >= BATCH_ROWS {
            return self.flush(sink);
        }
        Flow::Continue(())
    }

    fn flush(&mut self, sink: &mut dyn Sink) -> Flow {
        sink.define(self.model.take_definitions())?;
        let mut full = Vec::new();
        for kind in self.profiles.values_mut() {
            if !kind.batch.is_empty() {
                let empty = SampleBatch::new(kind.profile, kind.width);
                full.push(std::mem::replace(&mut kind.batch, empty));
            }
        }
        full.sort_by_key(|batch| batch.profile);
        full.into_iter().try_for_each(|batch| sink.samples(batch))
    }
}

/// The profile of a kind of event: how many there were and, where perf says it, for how much of what
/// they count.
fn define(event: &[u8], periods: bool, model: &mut Tables) -> SampledEvent {
    let name = model.string("samples");
    let samples = model.value_type(ValueType::sum(name, Unit::Count));
    let mut value_types = vec![samples];
    if periods {
        let plain = event.split(|&byte| byte == b':').next().unwrap_or(event);
        let clock = plain == b"cpu-clock" || plain == b"task-clock";
        let unit = if clock {
            Unit::Nanoseconds
        } else {
            Unit::Count
        };
        let name = model.bytes(event);
        value_types.push(model.value_type(ValueType::sum(name, unit)));
    }
    let width = value_types.len();
    let comment = model.bytes(event);
    let profile = model.profile(Profile {
        value_types,
        default: Some(samples),
        comments: vec![comment],
        ..Profile::default()
    });
    SampledEvent {
        profile,
        width,
        batch: SampleBatch::new(profile, width),
    }
}

/// How a frame of this object was executed, as far as its name tells.
fn kind(object: &[u8]) -> FrameKind {
    let kernel = object.starts_with(b"[kernel")
        || object.starts_with(b"[guest.kernel")
        || object.ends_with(b".ko")
        || object.ends_with(b"vmlinux")
        || object.windows(9).any(|part| part == b"/vmlinux-");
    let module = object.starts_with(b"[")
        && ![
            &b"[vdso]"[..],
            b"[vsyscall]",
            b"[stack]",
            b"[heap]",
            b"[anon]",
        ]
        .contains(&object);
    if kernel || module {
        FrameKind::Kernel
    } else if object.starts_with(b"/tmp/perf-") && object.ends_with(b".map") {
        FrameKind::Jit
    } else {
        FrameKind::Native
    }
}
