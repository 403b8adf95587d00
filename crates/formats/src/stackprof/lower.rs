//! Frames and raw stacks to samples.

use std::collections::HashMap;

use traceloom_model::{
    BATCH_ROWS, Clock, Flow, Frame, FrameId, Function, FunctionId, Order, Profile, SampleBatch,
    SampleRow, Sink, Stack, StackId, Unit, ValueType,
};

use crate::text::json::{Lowered, Value, lower_documents};
use crate::{Error, LowerOptions, Source, damage, info, warn};

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    lower_documents(
        source,
        options,
        sink,
        Order::None,
        |_| Clock::Unix,
        document,
    )
}

struct RubyFrame {
    function: FunctionId,
    line: u32,
    own: i64,
}

fn document(root: Value<'_>, to: &mut Lowered<'_>) -> Flow {
    let mut frames: HashMap<Vec<u8>, RubyFrame> = HashMap::new();
    let mut order = Vec::new();
    for item in root.get("frames").into_iter().flat_map(Value::items) {
        let key = item.key().unwrap_or_default().into_owned();
        let text = |name: &str| item.get(name).and_then(Value::bytes).unwrap_or_default();
        let name = to.tables.bytes(&text("name"));
        let file = text("file");
        let file = (!file.is_empty()).then(|| to.tables.bytes(&file));
        let line = item.get("line").and_then(Value::u64);
        let line = line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0);
        let function = to.tables.function(Function {
            file,
            line,
            ..Function::named(name)
        });
        let own = item.get("samples").and_then(Value::i64).unwrap_or(0);
        order.push(key.clone());
        frames.insert(
            key,
            RubyFrame {
                function,
                line,
                own,
            },
        );
    }
    let values = ProfileColumns::of(root, to);
    if root.get("raw").is_some() {
        return raw(root, &frames, &values, to);
    }
    let text = "the profile kept no stacks: each frame is a stack of its own";
    to.note(info("no_raw_stacks", root.start() as u64, text))?;
    let mut batch = SampleBatch::new(values.profile, values.width);
    for frame in order
        .iter()
        .filter_map(|key| frames.get(key))
        .filter(|frame| frame.own != 0)
    {
        let id = to.tables.frame(Frame {
            function: Some(frame.function),
            line: frame.line,
            ..Frame::default()
        });
        let stack = push(None, id, to);
        values.push(&mut batch, Some(stack), frame.own);
        values.flush(&mut batch, BATCH_ROWS, to)?;
    }
    values.flush(&mut batch, 1, to)
}

/// The value columns: samples, and what they stand for.
struct ProfileColumns {
    profile: traceloom_model::ProfileId,
    width: usize,
    /// Amount of the second column that one sample stands for.
    each: i64,
}

impl ProfileColumns {
    fn of(root: Value<'_>, to: &mut Lowered<'_>) -> Self {
        let interval = root.get("interval").and_then(Value::i64).unwrap_or(0);
        let mode = root.get("mode").and_then(Value::text).unwrap_or_default();
        let samples = to.tables.string("samples");
        let mut value_types = vec![to.tables.value_type(ValueType::sum(samples, Unit::Count))];
        // Timers count microseconds, the object mode counts objects.
        let (name, unit, each) = match &*mode {
            "cpu" | "wall" => (&*mode, Unit::Nanoseconds, interval.saturating_mul(1_000)),
            "object" => ("objects", Unit::Count, interval),
            _ => ("", Unit::Count, 0),
        };
        let mut period = None;
        if each > 0 {
            let name = to.tables.string(name);
            let kind = to.tables.value_type(ValueType::sum(name, unit));
            value_types.push(kind);
            period = Some((kind, each));
        }
        let width = value_types.len();
        let profile = to.tables.profile(Profile {
            default: value_types.last().copied(),
            value_types,
            period,
            ..Profile::default()
        });
        Self {
            profile,
            width,
            each,
        }
    }

    fn push(&self, batch: &mut SampleBatch, stack: Option<StackId>, count: i64) {
        batch.push(&SampleRow {
            stack,
            values: &[count, count.saturating_mul(self.each)],
            time: None,
            track: None,
            span: None,
            labels: &[],
        });
    }

    fn flush(&self, batch: &mut SampleBatch, above: usize, to: &mut Lowered<'_>) -> Flow {
        if batch.len() < above {
            return Flow::Continue(());
        }
        to.define()?;
        let full = std::mem::replace(batch, SampleBatch::new(self.profile, self.width));
        to.sink.samples(full)
    }
}

fn push(parent: Option<StackId>, frame: FrameId, to: &mut Lowered<'_>) -> StackId {
    to.tables.stack(Stack {
        parent,
        frame,
        truncated: false,
    })
}

/// Reads `length, frame…, count` again and again; lines, where they are kept, lie in a list beside.
fn raw(
    root: Value<'_>,
    frames: &HashMap<Vec<u8>, RubyFrame>,
    values: &ProfileColumns,
    to: &mut Lowered<'_>,
) -> Flow {
    let mut items = root.get("raw").into_iter().flat_map(Value::items);
    let mut lines = root.get("raw_lines").into_iter().flat_map(Value::items);
    let mut batch = SampleBatch::new(values.profile, values.width);
    while let Some(length) = items.next() {
        lines.next();
        let Some(n_frames) = length.u64() else {
            let text = "expected the length of a stack";
            return to.note(damage("bad_stack", length.start() as u64, text));
        };
        let mut stack = None;
        for _ in 0..n_frames {
            let Some(item) = items.next() else {
                values.flush(&mut batch, 1, to)?;
                return to.note(damage(
                    "truncated_stack",
                    length.start() as u64,
                    "the stack ends early",
                ));
            };
            let line = lines
                .next()
                .and_then(Value::u64)
                .and_then(|line| u32::try_from(line).ok());
            let frame = match frames.get(item.raw()) {
                Some(frame) => Frame {
                    function: Some(frame.function),
                    line: line.unwrap_or(frame.line),
                    ..Frame::default()
                },
                None => {
                    let text = "a frame that is not in the table";
                    to.note(warn("unknown_frame", item.start() as u64, text))?;
                    Frame::default()
                }
            };
            let frame = to.tables.frame(frame);
            stack = Some(push(stack, frame, to));
        }
        lines.next();
        let count = items.next().and_then(Value::i64).unwrap_or(1);
        values.push(&mut batch, stack, count);
        values.flush(&mut batch, BATCH_ROWS, to)?;
    }
    values.flush(&mut batch, 1, to)
}
