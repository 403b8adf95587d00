//! Perfetto traces: there and back, and what other writers make of the format.
#![allow(missing_docs, reason = "a test")]

#[allow(dead_code, reason = "not every test needs all of it")]
mod raised;
#[allow(dead_code, reason = "not every test needs all of it")]
mod said;
#[allow(dead_code, reason = "not every test needs all of it")]
mod top;

use raised::raise;
use said::said;
use top::lowered;
use traceloom_formats::{Format, by_name};

fn perfetto() -> &'static Format {
    by_name("perfetto").expect("a format")
}

fn sampled(seed: u64, bytes: u64) -> Vec<u8> {
    let mut out = Vec::new();
    traceloom_samples::by_name(perfetto().name).expect("samples")(seed, bytes, &mut |piece| {
        out.extend_from_slice(piece)
    });
    out
}

fn differing(left: &[String], right: &[String]) -> Option<String> {
    let at = left
        .iter()
        .zip(right)
        .position(|(left, right)| left != right);
    let at = at.or((left.len() != right.len()).then_some(left.len().min(right.len())))?;
    Some(format!("{:?}\n{:?}", left.get(at), right.get(at)))
}

#[test]
fn a_trace_read_and_written_says_the_same() {
    let recording = lowered(perfetto(), &sampled(1, 200_000));
    assert!(recording.spans.len() > 1000 && !recording.links.is_empty());
    let again = lowered(perfetto(), &raise(perfetto(), &recording));
    assert_eq!(differing(&said(&recording), &said(&again)), None);
    assert_eq!(again.notes.total(), 0, "{:?}", again.notes.kept().first());
}

#[test]
fn everything_a_trace_can_hold_comes_back() {
    let recording = said::busy();
    let again = lowered(perfetto(), &raise(perfetto(), &recording));
    assert_eq!(differing(&said(&recording), &said(&again)), None);
    assert_eq!(again.notes.total(), 0, "{:?}", again.notes.kept().first());
}
