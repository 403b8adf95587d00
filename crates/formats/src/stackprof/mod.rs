//! stackprof's JSON: Ruby frames by address, and the raw stacks when the profile kept them.
//!
//! With raw stacks every stack is a sample; without them only each frame's own samples are known, and
//! those become stacks of one frame, with a note.

mod lower;

use traceloom_model::{Capabilities, Limits};

use crate::json::{Document, JsonReader, Kind, Layout};
use crate::{Confidence, Format, Probe};

/// stackprof.
pub const FORMAT: Format = Format {
    name: "stackprof",
    title: "stackprof JSON (Ruby)",
    extensions: &["json", "stackprof"],
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
    elements: &[(&["frames", "*"], "frame")],
    time: |_| None,
};

fn probe(probe: &Probe<'_>) -> Option<Confidence> {
    if !probe.head.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let document = Document::parse(probe.head, &Limits::default());
    let root = document.root().filter(|root| root.kind() == Kind::Object)?;
    let has = |key: &str| root.get(key).is_some();
    (has("mode") && has("interval") && has("frames") && (has("samples") || has("gc_samples")))
        .then_some(Confidence::Certain)
}

fn sample(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8])) {
    let n_stacks = (bytes / 10).max(1);
    out(
        format!("{{\"version\":1.2,\"mode\":\"wall\",\"interval\":1000,\"samples\":{n_stacks},")
            .as_bytes(),
    );
    out(b"\"gc_samples\":0,\"missed_samples\":0,\"metadata\":{},\"frames\":{");
    out(b"\"11\":{\"name\":\"Shop#buy\",\"file\":\"shop.rb\",\"line\":3,\"total_samples\":1,\"samples\":0},");
    out(b"\"12\":{\"name\":\"Cart#add\",\"file\":\"cart.rb\",\"line\":9,\"total_samples\":1,\"samples\":1}},");
    out(b"\"raw\":[2,11,12,1");
    for at in 1..n_stacks {
        out(format!(",1,1{},1", 1 + seed.wrapping_mul(at) % 2).as_bytes());
    }
    out(b"]}\n");
}
