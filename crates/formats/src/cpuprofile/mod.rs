//! Chrome's and Node's `.cpuprofile`: a tree of call frames and the node each sample hit.
//!
//! Each sample is lowered with the time until the next one, as the browser's own tools count it. V8's hit
//! counts are kept as a profile of their own when they are not the number of samples: they also count
//! ticks that the sample list dropped.

mod lower;

use traceloom_model::{Capabilities, Limits};

use crate::json::{Document, JsonReader, Kind, Layout, Value};
use crate::{Confidence, Format, Probe};

/// `.cpuprofile`.
pub const FORMAT: Format = Format {
    name: "cpuprofile",
    title: "Chrome and Node CPU profile",
    extensions: &["cpuprofile"],
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    members: None,
    set: None,
    lower: Some(lower::lower),
    split: None,
    raise: None,
    holds: Capabilities::NONE,
    sample: Some(sample),
};

static LAYOUT: Layout = Layout {
    document: "profile",
    elements: &[(&["nodes", "*"], "node")],
    time: |root| {
        let time = |key: &str| root.get(key)?.scaled(1000);
        Some((time("startTime")?, time("endTime")?))
    },
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    let node = root.get("nodes").and_then(|nodes| nodes.items().next());
    if node.is_some_and(|node| node.get("callFrame").is_some()) {
        return Some(Confidence::Certain);
    }
    let head = root
        .get("head")
        .filter(|head| head.get("functionName").is_some());
    let head = head.and_then(|head| head.get("hitCount"));
    if head.and_then(Value::u64).is_some() {
        return Some(Confidence::Certain);
    }
    let named = probe.file_name().ends_with(".cpuprofile");
    (named && root.get("startTime").is_some()).then_some(Confidence::Possible)
}

fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(b"{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\",\"scriptId\":\"0\",\"url\":\"\",");
    out(b"\"lineNumber\":-1,\"columnNumber\":-1},\"hitCount\":0,\"children\":[2]},{\"id\":2,\"callFrame\":");
    out(b"{\"functionName\":\"work\",\"scriptId\":\"7\",\"url\":\"work.js\",\"lineNumber\":3,\"columnNumber\":8},");
    let n_samples = (bytes / 8).max(1);
    out(format!(
        "\"hitCount\":{n_samples}}}],\"startTime\":1000,\"endTime\":{},",
        2000 + n_samples * 999
    )
    .as_bytes());
    out(b"\"samples\":[2");
    for _ in 1..n_samples {
        out(b",2");
    }
    out(b"],\"timeDeltas\":[0");
    for at in 1..n_samples {
        out(format!(",{}", seed.wrapping_mul(at) % 999).as_bytes());
    }
    out(b"]}\n");
}
