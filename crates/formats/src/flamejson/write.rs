//! The object form, in the key order of the seed's example.

use traceloom_model::{Recording, Unit};

use super::raise::Options;
use super::tree::{GraphNode, GraphTree};
use crate::text::json::push_string;

/// The word of a unit and how many of the model's units are one.
pub(super) fn unit_word(recording: &Recording, unit: Unit, options: &Options) -> (String, i64) {
    let zh = options.lang.as_deref() == Some("zh");
    let word = |english: &str, chinese: &str| if zh { chinese } else { english }.to_owned();
    match (unit, options.unit.as_deref()) {
        (Unit::Nanoseconds, Some("us" | "µs")) => (word("µs", "微秒"), 1_000),
        (Unit::Nanoseconds, Some("ms")) => (word("ms", "毫秒"), 1_000_000),
        (Unit::Nanoseconds, Some("s")) => (word("s", "秒"), 1_000_000_000),
        (Unit::Nanoseconds, _) => (word("ns", "纳秒"), 1),
        (Unit::Bytes, Some("kb" | "KB" | "KiB")) => ("KiB".to_owned(), 1 << 10),
        (Unit::Bytes, Some("mb" | "MB" | "MiB")) => ("MiB".to_owned(), 1 << 20),
        (Unit::Bytes, _) => (word("bytes", "字节"), 1),
        (Unit::Percent, _) => ("percent".to_owned(), 1),
        (Unit::Other(name), _) => (recording.text(name).into_owned(), 1),
        _ => (word("count", "个"), 1),
    }
}

fn text(out: &mut Vec<u8>, key: &str, value: &str) {
    out.extend(format!(",\"{key}\":").bytes());
    push_string(value.as_bytes(), out);
}

/// Appends the document, without white space.
pub(super) fn document(
    recording: &Recording,
    tree: &GraphTree,
    options: &Options,
    out: &mut Vec<u8>,
) {
    let (unit, factor) = unit_word(recording, tree.unit, options);
    out.extend(b"{\"unit\":");
    push_string(unit.as_bytes(), out);
    out.extend(b",\"available_dimension\":[");
    for (at, dimension) in tree.available.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_string(dimension.name().as_bytes(), out);
    }
    out.extend(
        format!(
            "],\"dimension\":\"{}\",\"root_frame\":",
            options.dimension.name()
        )
        .bytes(),
    );
    frames(tree, factor, out);
    out.extend(b"}\n");
}

/// Appends the frames: a stack of our own, because trees are deeper than the program's.
fn frames(tree: &GraphTree, factor: i64, out: &mut Vec<u8>) {
    let mut open = vec![(0, 0)];
    while let Some((row, child)) = open.pop() {
        let Some(node) = tree.nodes.get(row) else {
            continue;
        };
        if child == 0 {
            begin(node, factor, out);
        }
        match node.children.get(child) {
            Some(&next) => {
                if child > 0 {
                    out.push(b',');
                }
                open.push((row, child + 1));
                open.push((next, 0));
            }
            None => end(node, out),
        }
    }
}

fn begin(node: &GraphNode, factor: i64, out: &mut Vec<u8>) {
    out.extend(format!("{{\"value\":{}", node.value.div_euclid(factor)).bytes());
    text(out, "method", &node.facts.method);
    if node.facts.line > 0 {
        out.extend(format!(",\"line\":{}", node.facts.line).bytes());
    }
    if !node.facts.source_file.is_empty() {
        text(out, "source_file", &node.facts.source_file);
    }
    out.extend(b",\"sub_frame\":[");
}

fn end(node: &GraphNode, out: &mut Vec<u8>) {
    out.push(b']');
    text(out, "thread", &node.thread);
    text(out, "modifier", &node.facts.modifier);
    text(out, "library", &node.facts.library);
    text(out, "package", &node.facts.package);
    text(out, "class", &node.facts.class);
    out.push(b'}');
}
