//! V8's `.heapprofile`: a tree of call frames with the bytes that each allocated and still holds (SPEC.md §2).

use std::collections::HashMap;

use traceloom_model::{
    Attribute, AttributeKey, BATCH_ROWS, Clock, Flow, Order, Profile, SampleBatch, SampleRow, Sink,
    StackId, Unit, Value as Label, ValueType,
};

use crate::profile::v8::{frame, stack};
use crate::text::json::{Document, Kind, Lowered, Value, lower_documents};
use crate::{Confidence, Error, LowerOptions, Probe, Source, warn};

/// Returns how sure it is that a JSON document is a sampling heap profile.
pub(super) fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &traceloom_model::Limits::default());
    let head = document.root().and_then(|root| root.get("head"))?;
    let sized = head.get("callFrame").is_some() && head.get("selfSize").is_some();
    sized.then_some(Confidence::Certain)
}

pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let clock = |tables: &mut traceloom_model::Tables| Clock::Unknown(Some(tables.string("v8")));
    lower_documents(source, options, sink, Order::None, clock, document)
}

struct AllocationNode {
    id: Option<i64>,
    stack: StackId,
    size: i64,
    at: usize,
}

fn nodes(head: Value<'_>, to: &mut Lowered<'_>) -> Vec<AllocationNode> {
    let mut nodes = Vec::new();
    let mut open = vec![(head, None)];
    while let Some((value, parent)) = open.pop() {
        let frame = frame(value.get("callFrame").unwrap_or(value), to.tables);
        let own = stack(parent, frame, to.tables);
        let number = |key: &str| value.get(key).and_then(Value::i64);
        nodes.push(AllocationNode {
            id: number("id"),
            stack: own,
            size: number("selfSize").unwrap_or(0),
            at: value.start(),
        });
        let children = value.get("children").into_iter().flat_map(Value::items);
        let children = children.filter(|child| child.kind() == Kind::Object);
        open.extend(children.map(|child| (child, Some(own))));
    }
    nodes
}

fn document(root: Value<'_>, to: &mut Lowered<'_>) -> Flow {
    let Some(head) = root.get("head") else {
        return to.note(warn("no_head", root.start() as u64, "no tree of frames"));
    };
    let nodes = nodes(head, to);
    let samples: Vec<Value<'_>> = root
        .get("samples")
        .into_iter()
        .flat_map(Value::items)
        .collect();
    let space = to.tables.string("space");
    let space = to.tables.value_type(ValueType::sum(space, Unit::Bytes));
    let mut value_types = vec![space];
    if !samples.is_empty() {
        let objects = to.tables.string("samples");
        value_types.push(to.tables.value_type(ValueType::sum(objects, Unit::Count)));
    }
    let width = value_types.len();
    let profile = to.tables.profile(Profile {
        value_types,
        default: Some(space),
        ..Profile::default()
    });
    let mut batch = SampleBatch::new(profile, width);
    let mut left: HashMap<i64, i64> = HashMap::new();
    let mut stacks: HashMap<i64, (StackId, usize)> = HashMap::new();
    for node in &nodes {
        if let Some(id) = node.id {
            *left.entry(id).or_default() = node.size;
            stacks.insert(id, (node.stack, node.at));
        }
    }
    let ordinal = to.tables.string("ordinal");
    let ordinal = to.tables.attribute_key(AttributeKey::named(ordinal));
    for sample in samples {
        let number = |key: &str| sample.get(key).and_then(Value::i64);
        let (Some(id), Some(size)) = (number("nodeId"), number("size")) else {
            to.note(warn(
                "no_sample",
                sample.start() as u64,
                "a sample without node or size",
            ))?;
            continue;
        };
        let Some(&(stack, _)) = stacks.get(&id) else {
            let text = "a sample of a node that does not exist";
            to.note(warn("unknown_node", sample.start() as u64, text))?;
            continue;
        };
        if let Some(left) = left.get_mut(&id) {
            *left = left.saturating_sub(size);
        }
        let label = number("ordinal").map(|at| Attribute::new(ordinal, Label::I64(at)));
        push(&mut batch, stack, &[size, 1], label.as_slice(), to)?;
    }
    // What the list of samples does not explain stays with the node: sizes of the tree are the truth.
    for node in &nodes {
        let size = match node.id {
            Some(id) => left.remove(&id).unwrap_or(0),
            None => node.size,
        };
        if size != 0 {
            let values = [size, 0];
            let values = values.get(..width).unwrap_or(&values);
            push(&mut batch, node.stack, values, &[], to)?;
        }
    }
    to.define()?;
    if batch.is_empty() {
        return Flow::Continue(());
    }
    to.sink.samples(batch)
}

fn push(
    batch: &mut SampleBatch,
    stack: StackId,
    values: &[i64],
    labels: &[Attribute],
    to: &mut Lowered<'_>,
) -> Flow {
    batch.push(&SampleRow {
        labels,
        ..SampleRow::at(stack, values)
    });
    if batch.len() < BATCH_ROWS {
        return Flow::Continue(());
    }
    to.define()?;
    let empty = SampleBatch::new(batch.profile, values.len());
    to.sink.samples(std::mem::replace(batch, empty))
}

#[cfg(test)]
mod tests {
    use traceloom_model::Recording;

    use super::*;
    use crate::{LowerOptions, SliceSource};

    fn recording(text: &str) -> Recording {
        let format = &super::super::HEAP;
        let source = SliceSource::default().with("x", format, text.as_bytes());
        let mut recording = Recording::default();
        lower(&source, &LowerOptions::default(), &mut recording).unwrap();
        recording
    }

    const TREE: &str = r#"{"head":{"callFrame":{"functionName":"(root)","url":"","lineNumber":-1},
        "selfSize":0,"id":1,"children":[{"callFrame":{"functionName":"","url":"a.js","lineNumber":4},
        "selfSize":300,"id":2,"children":[]},{"callFrame":{"functionName":"b"},"selfSize":-9,"id":3,"children":7}]}"#;

    fn values(recording: &Recording) -> Vec<Vec<i64>> {
        let batches = recording.samples.iter();
        let rows = batches.flat_map(|batch| (0..batch.len()).map(|row| batch.values(row).to_vec()));
        rows.collect()
    }

    #[test]
    fn sizes_of_the_tree_and_of_samples() {
        let tree = recording(&format!("{TREE}}}"));
        assert_eq!(values(&tree), [vec![-9], vec![300]]);
        let samples = r#","samples":[{"size":100,"nodeId":2,"ordinal":1},{"size":5,"nodeId":77},{"size":1}]}"#;
        let sampled = recording(&format!("{TREE}{samples}"));
        let mut rows = values(&sampled);
        rows.sort();
        // The tree says 300, the samples explain 100 of them.
        assert_eq!(rows, [vec![-9, 0], vec![100, 1], vec![200, 0]]);
        assert_eq!(sampled.notes.total(), 2);
    }

    #[test]
    fn what_is_none_is_not_recognised() {
        let confidence = |text: &str| {
            probe(&Probe {
                head: text.as_bytes(),
                whole: true,
                name: "x",
                siblings: &[],
            })
        };
        assert_eq!(confidence(&format!("{TREE}}}")), Some(Confidence::Certain));
        assert_eq!(
            confidence("{\"head\":{\"functionName\":\"a\",\"hitCount\":1}}"),
            None
        );
        assert_eq!(confidence("{\"head\":[]}"), None);
        let deep = format!("{}{}", "{\"head\":".repeat(5_000), "}".repeat(5_000));
        assert_eq!(confidence(&deep), None);
    }
}
