//! Nodes to stacks, hits to samples.

use std::collections::HashMap;

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{
    BATCH_ROWS, Clock, Flow, Order, Profile, ProfileId, SampleBatch, SampleRow, Sink, StackId,
    Tables, Unit, ValueType,
};

use crate::profile::v8::{frame, stack};
use crate::text::json::{Kind, Lowered, Value, lower_documents};
use crate::{Error, LowerOptions, Source, warn};

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    // Microseconds of a monotonic clock.
    let clock = |tables: &mut Tables| Clock::Unknown(Some(tables.string("v8")));
    lower_documents(source, options, sink, Order::None, clock, document)
}

/// A node: its id, its parent's place in the list, and what it hit.
struct ProfileNode {
    id: i64,
    stack: StackId,
    hits: i64,
}

fn document(root: Value<'_>, to: &mut Lowered<'_>) -> Flow {
    let nodes = match root.get("head") {
        Some(head) => nested(head, to)?,
        None => flat(root, to)?,
    };
    let Nodes(nodes) = nodes;
    let by_id: HashMap<i64, StackId> = nodes.iter().map(|node| (node.id, node.stack)).collect();
    // The oldest profiles count seconds, all later ones microseconds.
    let old = root.get("head").is_some();
    let factor = if old { 1_000_000_000 } else { 1_000 };
    let start = root.get("startTime").and_then(|time| time.scaled(factor));
    let end = root.get("endTime").and_then(|time| time.scaled(factor));
    let samples = HitList {
        root,
        by_id: &by_id,
        start: start.unwrap_or(0),
        end,
    };
    let n_samples = samples.lower(to)?;
    let hits = nodes
        .iter()
        .fold(0_i64, |sum, node| sum.saturating_add(node.hits));
    if hits > 0 && hits != n_samples.0 {
        hit_counts(&nodes, start, end, to)?;
    }
    Flow::Continue(())
}

struct Nodes(Vec<ProfileNode>);
struct HitCount(i64);

type Found<T> = std::ops::ControlFlow<(), T>;

fn number(value: Value<'_>, key: &str) -> Option<i64> {
    value.get(key).and_then(Value::i64)
}

/// Reads a list of nodes that name their children, or their parents.
fn flat(root: Value<'_>, to: &mut Lowered<'_>) -> Found<Nodes> {
    let values: Vec<Value<'_>> = root
        .get("nodes")
        .into_iter()
        .flat_map(Value::items)
        .collect();
    let mut places: HashMap<i64, usize> = HashMap::new();
    for (at, value) in values.iter().enumerate() {
        if let Some(id) = number(*value, "id") {
            places.insert(id, at);
        }
    }
    let mut parents: Vec<Option<usize>> = vec![None; values.len()];
    for (at, value) in values.iter().enumerate() {
        for child in value.get("children").into_iter().flat_map(Value::items) {
            let place = child.i64().and_then(|id| places.get(&id));
            if let Some(parent) = place.and_then(|&place| parents.get_mut(place)) {
                *parent = Some(at);
            }
        }
        let own = number(*value, "parent").and_then(|id| places.get(&id).copied());
        if let (Some(parent), Some(slot)) = (own, parents.get_mut(at)) {
            *slot = slot.or(Some(parent));
        }
    }
    let mut stacks: Vec<Option<StackId>> = vec![None; values.len()];
    let mut nodes = Vec::with_capacity(values.len());
    let mut path = Vec::new();
    for at in 0..values.len() {
        // Up to an ancestor that has its stack, then down again; a cycle ends where it began.
        path.clear();
        let mut next = Some(at);
        let mut parent = None;
        while let Some(place) = next {
            if let Some(Some(known)) = stacks.get(place) {
                parent = Some(*known);
                break;
            }
            if path.len() > values.len() {
                let offset = values.get(at).map_or(0, |value| value.start());
                to.note(warn(
                    "node_cycle",
                    offset as u64,
                    "a node that is its own ancestor",
                ))?;
                path.truncate(1);
                break;
            }
            path.push(place);
            next = parents.get(place).copied().flatten();
        }
        while let Some(place) = path.pop() {
            let Some(value) = values.get(place) else {
                continue;
            };
            let frame = frame(value.get("callFrame").unwrap_or(*value), to.tables);
            let own = stack(parent, frame, to.tables);
            parent = Some(own);
            if let Some(slot) = stacks.get_mut(place) {
                *slot = Some(own);
            }
        }
    }
    for (value, stack) in values.iter().zip(stacks) {
        let Some(stack) = stack else { continue };
        nodes.push(ProfileNode {
            id: number(*value, "id").unwrap_or(-1),
            stack,
            hits: number(*value, "hitCount").unwrap_or(0),
        });
    }
    Found::Continue(Nodes(nodes))
}

/// Reads the oldest form: nodes inside nodes.
fn nested(head: Value<'_>, to: &mut Lowered<'_>) -> Found<Nodes> {
    let mut nodes = Vec::new();
    let mut open = vec![(head, None)];
    while let Some((value, parent)) = open.pop() {
        let frame = frame(value.get("callFrame").unwrap_or(value), to.tables);
        let own = stack(parent, frame, to.tables);
        nodes.push(ProfileNode {
            id: number(value, "id").unwrap_or(-1),
            stack: own,
            hits: number(value, "hitCount").unwrap_or(0),
        });
        let children = value.get("children").into_iter().flat_map(Value::items);
        open.extend(
            children
                .filter(|child| child.kind() == Kind::Object)
                .map(|child| (child, Some(own))),
        );
    }
    Found::Continue(Nodes(nodes))
}

struct HitList<'d> {
    root: Value<'d>,
    by_id: &'d HashMap<i64, StackId>,
    start: i64,
    end: Option<i64>,
}

impl HitList<'_> {
    /// Returns when each sample was taken, from deltas or from absolute times.
    fn times(&self, n_samples: usize) -> Vec<i64> {
        let list = |key: &str| self.root.get(key).into_iter().flat_map(Value::items);
        let mut times: Vec<i64> = Vec::with_capacity(n_samples);
        let mut now = self.start;
        for delta in list("timeDeltas").take(n_samples) {
            now = now.saturating_add(delta.scaled(1_000).unwrap_or(0));
            times.push(now);
        }
        if times.is_empty() {
            times.extend(
                list("timestamps")
                    .take(n_samples)
                    .filter_map(|time| time.scaled(1_000)),
            );
        }
        times
    }

    fn lower(&self, to: &mut Lowered<'_>) -> Found<HitCount> {
        let ids: Vec<Value<'_>> = self
            .root
            .get("samples")
            .into_iter()
            .flat_map(Value::items)
            .collect();
        if ids.is_empty() {
            return Found::Continue(HitCount(0));
        }
        let times = self.times(ids.len());
        let timed = times.len() == ids.len();
        let profile = self.profile(timed, to.tables);
        let width = if timed { 2 } else { 1 };
        let mut batch = SampleBatch::new(profile, width);
        for (at, id) in ids.iter().enumerate() {
            let stack = id.i64().and_then(|id| self.by_id.get(&id)).copied();
            if stack.is_none() {
                to.note(warn(
                    "unknown_node",
                    id.start() as u64,
                    "a sample of a node that does not exist",
                ))?;
            }
            let time = times.get(at).copied();
            let next = times.get(at + 1).copied().or(self.end);
            let lasted = next
                .zip(time)
                .map_or(0, |(next, time)| next.saturating_sub(time).max(0));
            batch.push(&SampleRow {
                stack,
                values: &[1, lasted],
                time: time.filter(|_| timed),
                track: None,
                span: None,
                labels: &[],
            });
            if batch.len() >= BATCH_ROWS {
                to.define()?;
                to.sink.samples(std::mem::replace(
                    &mut batch,
                    SampleBatch::new(profile, width),
                ))?;
            }
        }
        to.define()?;
        if !batch.is_empty() {
            to.sink.samples(batch)?;
        }
        Found::Continue(HitCount(saturated_i64(ids.len())))
    }

    fn profile(&self, timed: bool, tables: &mut Tables) -> ProfileId {
        let name = tables.string("samples");
        let mut value_types = vec![tables.value_type(ValueType::sum(name, Unit::Count))];
        if timed {
            let name = tables.string("time");
            value_types.push(tables.value_type(ValueType::sum(name, Unit::Nanoseconds)));
        }
        tables.profile(Profile {
            default: value_types.last().copied(),
            value_types,
            time: Some(self.start),
            duration: self.end.map(|end| end.saturating_sub(self.start)),
            ..Profile::default()
        })
    }
}

fn hit_counts(
    nodes: &[ProfileNode],
    start: Option<i64>,
    end: Option<i64>,
    to: &mut Lowered<'_>,
) -> Flow {
    let name = to.tables.string("hits");
    let kind = to.tables.value_type(ValueType::sum(name, Unit::Count));
    let profile = to.tables.profile(Profile {
        value_types: vec![kind],
        default: Some(kind),
        time: start,
        duration: start.zip(end).map(|(start, end)| end.saturating_sub(start)),
        ..Profile::default()
    });
    to.define()?;
    for nodes in nodes.chunks(BATCH_ROWS) {
        let mut batch = SampleBatch::new(profile, 1);
        for node in nodes.iter().filter(|node| node.hits != 0) {
            batch.push(&SampleRow {
                stack: Some(node.stack),
                values: &[node.hits],
                time: None,
                track: None,
                span: None,
                labels: &[],
            });
        }
        to.sink.samples(batch)?;
    }
    Flow::Continue(())
}
