//! speedscope's file format: shared frames, and profiles of weighted stacks or of enters and exits.
//!
//! A `sampled` profile becomes samples, an `evented` one spans on a track of its own. Events counted in
//! something that is no time become samples too: what is between two of them is the weight of the stack.

mod events;
mod lower;
mod nest;
mod order;
mod pieces;
mod places;
mod raise;
mod spans;
mod stacks;

#[cfg(test)]
mod tests;

use traceloom_model::{Capabilities, Feature, Limits};

use crate::json::{Document, JsonReader, Kind, Layout, Value};
use crate::{Confidence, Format, Probe};

/// speedscope.
pub const FORMAT: Format = Format {
    name: "speedscope",
    title: "speedscope JSON",
    extensions: &["speedscope.json", "json"],
    probe,
    reader: Some(|limits| Box::new(JsonReader::new(&LAYOUT, limits))),
    members: None,
    set: None,
    lower: Some(lower::lower),
    split: None,
    raise: Some(raise::raise),
    holds: Capabilities::of(&[
        Feature::Spans,
        Feature::AsyncTracks,
        Feature::SubMillisecond,
        Feature::SubMicrosecond,
        Feature::Tracks,
        Feature::SourceLines,
        Feature::Samples,
        Feature::ManyValues,
        Feature::SampleTracks,
    ]),
    sample: Some(sample),
};

static LAYOUT: Layout = Layout {
    document: "file",
    elements: &[
        (&["shared", "frames", "*"], "frame"),
        (&["profiles", "*"], "profile"),
    ],
    time: |_| None,
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    let schema = root.get("$schema").and_then(Value::text);
    if schema.is_some_and(|schema| schema.contains("speedscope")) {
        return Some(Confidence::Certain);
    }
    let frames = root.get("shared").and_then(|shared| shared.get("frames"));
    let profiles = root.get("profiles");
    match (frames, profiles) {
        (Some(_), Some(_)) => Some(Confidence::Certain),
        _ if !probe.whole && (frames.is_some() || profiles.is_some()) => Some(Confidence::Possible),
        _ => None,
    }
}

fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    out(b"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"shared\":{\"frames\":[");
    out(b"{\"name\":\"main\"},{\"name\":\"work\",\"file\":\"work.rs\",\"line\":7},{\"name\":\"wait\"}]},");
    out(b"\"profiles\":[{\"type\":\"sampled\",\"name\":\"main\",\"unit\":\"microseconds\",\"startValue\":0,");
    let n_samples = (bytes / 12).max(1);
    out(b"\"samples\":[[0]");
    for at in 1..n_samples {
        out(format!(",[0,{}]", 1 + seed.wrapping_mul(at) % 2).as_bytes());
    }
    out(b"],\"weights\":[1");
    for at in 1..n_samples {
        out(format!(",{}", seed.wrapping_mul(at) % 1000).as_bytes());
    }
    out(b"],\"endValue\":1000}]}\n");
}
