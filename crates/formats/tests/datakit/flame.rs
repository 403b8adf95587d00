//! Flame graph JSON: the example of the specification, C10 and C11, the positional form.

use traceloom_formats::{Records, by_name, read_slice};
use traceloom_model::{Limits, Recording};

use super::{lower, total};

const SEED: &str = r#"{
    "unit": "毫秒",
    "available_dimension": [
        "method",
        "package",
        "line",
        "thread"
    ],
    "dimension": "method",
    "root_frame": {
        "value": 10000,
        "method": "List TaskProcessor.processTasks(List, int, TimeUnit, TaskMethod)",
        "line": 239,
        "sub_frame": [
            {
                "value": 3000,
                "method": "Unsafe.park(boolean, long)",
                "line": 319,
                "sub_frame": [],
                "thread": "",
                "modifier": "",
                "library": "Standard Library",
                "package": "com.sun.management.internal",
                "class": "PlainSocketImpl"
            },
            {
                "value": 7000,
                "method": "SocketInputStream.socketRead0(FileDescriptor, byte[], int, int, int)",
                "line": 403,
                "sub_frame": [],
                "thread": "",
                "modifier": "",
                "library": "Standard Library",
                "package": "com.sun.management.internal",
                "class": "SocketInputStream"
            }
        ],
        "thread": "",
        "modifier": "public",
        "library": "Standard Library",
        "package": "com.sun.management.internal",
        "class": "PlainSocketImpl"
    }
}"#;

pub(crate) fn flame(recording: &Recording, variant: &str) -> serde_json::Value {
    let options =
        traceloom_formats::flamejson::Options::of_variant(Some(variant)).expect("a variant");
    let document =
        traceloom_formats::flamejson::write_recording(recording, &options).expect("a graph");
    serde_json::from_slice(&document).expect("JSON")
}

#[test]
fn the_seed_s_example_returns_unchanged_and_means_what_it_says() {
    let mut records = Records::default();
    let format = by_name("flamegraph-json").expect("a format");
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        SEED.as_bytes(),
        &mut records,
    );
    assert_eq!(records.written(), SEED.as_bytes());
    assert!(records.notes().is_empty());
    let recording = lower("flamegraph-json", "f.json", SEED.as_bytes());
    let values: Vec<_> = recording.samples[0]
        .iter()
        .map(|row| row.values[0])
        .collect();
    assert_eq!(
        values,
        [3_000_000_000, 7_000_000_000],
        "milliseconds become nanoseconds"
    );
}

#[test]
fn c10_root_frame_is_one_object_and_a_list_is_read() {
    let list = r#"{"unit":"ns","dimension":"method","root_frame":[{"value":3,"method":"a","sub_frame":[{"value":1,"method":"b"}]},{"value":4,"method":"c"}]}"#;
    let recording = lower("flamegraph-json", "f.json", list.as_bytes());
    let written = flame(&recording, "");
    assert_eq!(written["root_frame"]["value"], 7);
    let names: Vec<_> = written["root_frame"]["sub_frame"]
        .as_array()
        .expect("children")
        .iter()
        .map(|frame| frame["method"].as_str())
        .collect();
    assert_eq!(names, [Some("c"), Some("a")], "largest first");
}

#[test]
fn c11_source_files_are_written_when_known_and_dimensions_follow_the_data() {
    let recording = lower(
        "flamegraph-json",
        "f.json",
        r#"{"unit":"ns","root_frame":{"value":3,"method":"a","source_file":"a.py","line":4,"sub_frame":[]}}"#.as_bytes(),
    );
    let written = flame(&recording, "");
    let frame = &written["root_frame"]["sub_frame"][0];
    assert_eq!(frame["source_file"], "a.py");
    assert_eq!(
        written["available_dimension"],
        serde_json::json!(["method", "line"])
    );
    let seed = lower("flamegraph-json", "f.json", SEED.as_bytes());
    let written = flame(&seed, "class");
    assert_eq!(written["dimension"], "class");
    assert_eq!(
        written["available_dimension"],
        serde_json::json!(["method", "package", "line", "class", "library"])
    );
    // The root and its first child are of one class: equal neighbours are one node.
    let top = &written["root_frame"]["sub_frame"][0];
    assert_eq!(
        (&top["class"], &top["value"]),
        (
            &serde_json::json!("PlainSocketImpl"),
            &serde_json::json!(10_000_000_000_i64)
        )
    );
    assert_eq!(top["sub_frame"].as_array().map(Vec::len), Some(1));
    let shown = flame(&seed, "method,unit=ms,lang=zh");
    assert_eq!(
        (&shown["unit"], &shown["root_frame"]["value"]),
        (&serde_json::json!("毫秒"), &serde_json::json!(10_000))
    );
}

#[test]
fn the_positional_form_reads_back() {
    let seed = lower("flamegraph-json", "f.json", SEED.as_bytes());
    let options =
        traceloom_formats::flamejson::Options::of_variant(Some("guance-array")).expect("a variant");
    let document = traceloom_formats::flamejson::write_recording(&seed, &options).expect("a graph");
    let json: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    let root = json["data"]["rootFrame"].as_array().expect("an array");
    assert_eq!(root.len(), 16);
    assert_eq!(
        (&json["code"], &root[1], &root[3]),
        (
            &serde_json::json!(0),
            &serde_json::json!(10_000_000),
            &serde_json::json!("100.00")
        )
    );
    assert_eq!(json["data"]["dimensions"][0]["data"][0]["percent"], "70.00");
    let again = lower("flamegraph-json", "f.json", &document);
    assert_eq!(total(&again, "value"), Some(10_000_000_000));
}
