//! Text beside JVM streams, as the corpus has it.

mod corpus;

use std::collections::BTreeMap;

use traceloom_formats::{Format, LowerOptions, SliceSource, jvmtext};
use traceloom_model::{Clock, Recording, Value};

fn lowered(format: &'static Format, path: &str) -> Option<Recording> {
    let bytes = corpus::file(path)?;
    let source = SliceSource::default().with(path, format, &bytes);
    let mut recording = Recording::default();
    let lower = format.lower.expect("a lowering");
    lower(&source, &LowerOptions::default(), &mut recording).expect("bytes in memory");
    assert_eq!(recording.clock, Clock::Unix);
    Some(recording)
}

#[test]
fn a_thread_dump_is_a_sample_of_every_thread() {
    let path = "cdt/text/20231219T062435UTC.td.txt";
    let Some(recording) = lowered(&jvmtext::THREADS, path) else {
        return;
    };
    let [batch] = recording.samples.as_slice() else {
        panic!("one batch");
    };
    assert_eq!(batch.len(), 75);
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for sample in batch.iter() {
        assert_eq!(sample.time, Some(1_702_967_074_000_000_000));
        let state = sample.labels.first().expect("a state");
        let Value::Text(state) = state.value else {
            panic!("a text");
        };
        *states
            .entry(recording.text(state).into_owned())
            .or_default() += 1;
    }
    assert_eq!(states["RUNNABLE"], 18);
    assert_eq!(states["WAITING (parking)"], 26);
    assert_eq!(states["TIMED_WAITING (parking)"], 25);
    let finalizer = batch.iter().find(|sample| {
        let track = sample.track.and_then(|track| recording.track(track));
        let name = track.and_then(|track| track.name);
        name.is_some_and(|name| recording.text(name) == "Finalizer")
    });
    let mut stack = finalizer.expect("the thread").stack;
    let mut frames = Vec::new();
    while let Some(row) = stack.and_then(|stack| recording.stack(stack)) {
        let frame = recording.frame(row.frame).expect("a frame");
        let name = recording.function_name(frame.function.expect("a function"));
        frames.push((name.into_owned(), frame.line));
        stack = row.parent;
    }
    assert_eq!(frames.len(), 4);
    assert_eq!(frames[0], ("java.lang.Object.wait".to_owned(), 0));
    assert_eq!(
        frames[1],
        ("java.lang.ref.ReferenceQueue.remove".to_owned(), 155)
    );
}

#[test]
fn a_collectors_log_is_pauses_and_heap_sizes() {
    let path = "cdt/text/20231219T062953UTC.gc.log";
    let Some(recording) = lowered(&jvmtext::GC_LOG, path) else {
        return;
    };
    let bytes = corpus::file(path).expect("it was there");
    let text = String::from_utf8(bytes).expect("a text");
    let pauses = text.lines().filter(|line| line.contains("Pause")).count();
    assert!(pauses > 100);
    assert_eq!(recording.events.len(), pauses);
    let first = recording.events.row(0).expect("a pause");
    assert_eq!(first.end, Some(1_702_963_791_478_000_000));
    assert_eq!(first.end.map(|end| end - first.time), Some(14_356_000));
    assert_eq!(
        &recording.counters.value[..3],
        [195.0, 62.0, 494.0].map(|m| m * 1_048_576.0)
    );
}

#[test]
fn top_is_counters() {
    let path = "cdt/text/20231219T061734UTC.top.txt";
    let Some(recording) = lowered(&jvmtext::TOP, path) else {
        return;
    };
    let points = recording
        .counters
        .series
        .iter()
        .zip(&recording.counters.value);
    let mut values: BTreeMap<(String, Option<u64>), f64> = BTreeMap::new();
    for (&series, &value) in points {
        let row = recording.series_row(series).expect("a series");
        let track = row.track.and_then(|track| recording.track(track)?.os_id);
        values.insert((recording.text(row.name).into_owned(), track), value);
    }
    let at = |name: &str, pid| values[&(name.to_owned(), pid)];
    assert_eq!(at("load.1m", None), 7.57);
    assert_eq!(at("threads.total", None), 76.0);
    assert_eq!(at("cpu.us", None), 100.0);
    assert_eq!(at("mem.total", None), 64_308.2 * 1_048_576.0);
    assert_eq!(at("mem.avail", None), 42_922.1 * 1_048_576.0);
    assert_eq!(at("cpu", Some(249)), 5.9);
    assert!(
        recording
            .counters
            .time
            .iter()
            .all(|&time| time == 1_702_966_653_000_000_000)
    );
}
