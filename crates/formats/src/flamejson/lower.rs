//! A flame graph to samples: what a frame has above its children is a sample of its stack.

use std::collections::HashMap;

use traceloom_model::{
    BATCH_ROWS, Class, Clock, Flow, Frame, Function, Order, Profile, ProfileId, SampleBatch,
    SampleRow, Sink, Stack, StackId, Track, TrackId, ValueType,
};

use super::facts::modifier_bits;
use crate::points::model_unit;
use crate::text::json::{Kind, Lowered, Value, lower_documents};
use crate::{Error, LowerOptions, Source, warn};

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

fn document(root: Value<'_>, to: &mut Lowered<'_>) -> Flow {
    // The positional form lies in an envelope; its unit is in every frame.
    let positional = root.get("data").and_then(|data| data.get("rootFrame"));
    let top = root.get("root_frame").or(positional);
    let Some(top) = top else {
        let text = "the document has no root frame";
        return to.note(warn("no_root_frame", root.start() as u64, text));
    };
    let unit = match positional {
        Some(frame) => frame.items().nth(2).and_then(|unit| unit.items().nth(1)),
        None => root.get("unit"),
    };
    let unit = unit.and_then(Value::text).unwrap_or_default();
    let (unit, factor) = model_unit(&unit, to.tables);
    let name = to.tables.string("value");
    let kind = to.tables.value_type(ValueType::sum(name, unit));
    let profile = to.tables.profile(Profile {
        value_types: vec![kind],
        default: Some(kind),
        ..Profile::default()
    });
    let mut walk = NodeWalk {
        profile,
        factor,
        batch: SampleBatch::new(profile, 1),
        threads: HashMap::new(),
    };
    let is_frame = |value: Value<'_>| {
        value
            .items()
            .next()
            .is_some_and(|first| first.kind() != Kind::Array)
    };
    let mut open: Vec<(Value<'_>, Option<StackId>)> = Vec::new();
    // `root_frame` is one object or a list of them.
    let list = top.kind() == Kind::Array && positional.is_none();
    if list || top.kind() == Kind::Array && !is_frame(top) {
        let mut roots: Vec<_> = top.items().collect();
        roots.reverse();
        open.extend(roots.into_iter().map(|root| (root, None)));
    } else {
        open.push((top, None));
    }
    while let Some((frame, parent)) = open.pop() {
        let stack = walk.frame(frame, parent, to)?;
        let mut children: Vec<_> = children(frame).collect();
        children.reverse();
        open.extend(children.into_iter().map(|child| (child, Some(stack))));
    }
    walk.flush(1, to)
}

/// A property by its name, or by its place in the positional form.
fn property<'d>(frame: Value<'d>, name: &str, place: usize) -> Option<Value<'d>> {
    match frame.kind() {
        Kind::Array => frame.items().nth(place),
        _ => frame.get(name),
    }
}

fn children<'d>(frame: Value<'d>) -> impl Iterator<Item = Value<'d>> {
    property(frame, "sub_frame", 15)
        .into_iter()
        .flat_map(Value::items)
}

struct NodeWalk {
    profile: ProfileId,
    factor: i64,
    batch: SampleBatch,
    threads: HashMap<Vec<u8>, TrackId>,
}

impl NodeWalk {
    fn value(&self, frame: Value<'_>) -> i64 {
        let value = property(frame, "value", 1);
        let quoted = value
            .and_then(Value::text)
            .and_then(|text| text.trim().parse::<i64>().ok());
        let number = value.and_then(|value| value.scaled(self.factor));
        number
            .or_else(|| quoted?.checked_mul(self.factor))
            .unwrap_or(0)
    }

    fn frame(
        &mut self,
        frame: Value<'_>,
        parent: Option<StackId>,
        to: &mut Lowered<'_>,
    ) -> std::ops::ControlFlow<(), StackId> {
        let text = |name: &str, place: usize, to: &mut Lowered<'_>| {
            let bytes = property(frame, name, place)?.bytes()?;
            (!bytes.is_empty()).then(|| to.tables.bytes(&bytes))
        };
        let name = text("method", 4, to).unwrap_or_else(|| to.tables.string(""));
        let class = text("class", 10, to).map(|name| {
            to.tables.class(Class {
                name,
                superclass: None,
                loader: None,
                file: None,
            })
        });
        let modifier = property(frame, "modifier", usize::MAX).and_then(Value::text);
        let function = Function {
            class,
            package: text("package", 13, to),
            library: text("library", 12, to),
            file: text("source_file", 6, to),
            modifiers: modifier.map_or(0, |words| modifier_bits(&words)),
            ..Function::named(name)
        };
        let function = to.tables.function(function);
        let line = property(frame, "line", 5).and_then(Value::u64);
        let id = to.tables.frame(Frame {
            function: Some(function),
            line: line.and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
            ..Frame::default()
        });
        let stack = to.tables.stack(Stack {
            parent,
            frame: id,
            truncated: false,
        });
        let below = children(frame)
            .map(|child| self.value(child))
            .fold(0, i64::saturating_add);
        let own = self.value(frame).saturating_sub(below);
        if own < 0 {
            let text = "a frame with less than its callees together";
            to.note(warn("value_below_callees", frame.start() as u64, text))?;
        }
        if own > 0 {
            let thread = property(frame, "thread", 9).and_then(Value::bytes);
            let track = thread.filter(|name| !name.is_empty()).map(|name| {
                let tables = &mut *to.tables;
                *self.threads.entry(name.to_vec()).or_insert_with(|| {
                    let name = tables.bytes(&name);
                    tables.new_track(Track::thread(name))
                })
            });
            self.batch.push(&SampleRow {
                stack: Some(stack),
                values: &[own],
                time: None,
                track,
                span: None,
                labels: &[],
            });
            self.flush(BATCH_ROWS, to)?;
        }
        std::ops::ControlFlow::Continue(stack)
    }

    fn flush(&mut self, above: usize, to: &mut Lowered<'_>) -> Flow {
        if self.batch.len() < above {
            return Flow::Continue(());
        }
        to.define()?;
        let full = std::mem::replace(&mut self.batch, SampleBatch::new(self.profile, 1));
        to.sink.samples(full)
    }
}
