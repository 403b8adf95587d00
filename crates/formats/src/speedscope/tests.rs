#![allow(
    clippy::indexing_slicing,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use traceloom_model::{Recording, SpanStatus};

use super::FORMAT;
use crate::{LowerOptions, SliceSource};

fn lower(text: &str) -> Recording {
    let source = SliceSource::default().with("p.speedscope.json", &FORMAT, text.as_bytes());
    let mut recording = Recording::default();
    (FORMAT.lower.unwrap())(&source, &LowerOptions::default(), &mut recording).unwrap();
    recording
}

fn file(profile: &str) -> String {
    format!(
        r#"{{"shared":{{"frames":[{{"name":"a"}},{{"name":"b","file":"b.c","line":3}}]}},"profiles":[{profile}]}}"#
    )
}

#[test]
fn events_in_time_are_spans() {
    let recording = lower(&file(
        r#"{"type":"evented","name":"t","unit":"milliseconds","startValue":0,"endValue":9.5,"events":[
        {"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1.5},{"type":"C","frame":1,"at":2.25}]}"#,
    ));
    let spans: Vec<_> = recording
        .spans
        .iter()
        .map(|s| (s.start, s.end, s.depth, s.status))
        .collect();
    assert_eq!(
        spans,
        [
            (1_500_000, 2_250_000, 1, SpanStatus::Complete),
            (0, 9_500_000, 0, SpanStatus::PartialEnd)
        ]
    );
}

#[test]
fn events_in_bytes_are_weights() {
    let recording = lower(&file(
        r#"{"type":"evented","name":"t","unit":"bytes","startValue":0,"endValue":10,"events":[
        {"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":4},{"type":"C","frame":1,"at":7},{"type":"C","frame":0,"at":10}]}"#,
    ));
    let values: Vec<_> = recording.samples[0]
        .iter()
        .map(|row| row.values[0])
        .collect();
    assert_eq!(values, [4, 3, 3]);
}

#[test]
fn fractions_of_a_second_are_exact() {
    let recording = lower(&file(
        r#"{"type":"sampled","name":"t","unit":"seconds","startValue":0,"endValue":1,"samples":[[0],[0,1],[9]],"weights":[0.1,0.000000001,2e-3]}"#,
    ));
    let values: Vec<_> = recording.samples[0]
        .iter()
        .map(|row| row.values[0])
        .collect();
    assert_eq!(values, [100_000_000, 1, 2_000_000]);
    let notes: Vec<_> = recording
        .notes
        .kept()
        .iter()
        .map(|note| note.kind)
        .collect();
    assert_eq!(notes, ["unknown_frame"]);
}
