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

#[test]
fn the_dimensions_on_offer_do_not_depend_on_the_one_chosen() {
    let Some(recording) = super::go_bundle() else {
        return;
    };
    // The rest of the document is deeper than serde_json follows.
    let offered_by = |recording: &Recording, variant: &str| -> serde_json::Value {
        let options = traceloom_formats::flamejson::Options::of_variant(Some(variant));
        let options = options.expect("a variant");
        let document = traceloom_formats::flamejson::write_recording(recording, &options);
        let text = String::from_utf8(document.expect("a graph")).expect("text");
        let (_, list) = text.split_once("\"available_dimension\":").expect("a list");
        let (list, _) = list.split_once(']').expect("its end");
        serde_json::from_str(&format!("{list}]")).expect("JSON")
    };
    let offered = |variant: &str| offered_by(&recording, variant);
    let all = offered("method");
    assert_eq!(
        all,
        serde_json::json!(["method", "package", "line", "library"])
    );
    for dimension in ["package", "line", "library"] {
        assert_eq!(offered(dimension), all, "{dimension}");
    }
    let Some(bytes) = super::corpus::file("datakit/dk_ddtrace_main.jfr") else {
        return;
    };
    let java = lower("jfr", "main.jfr", &bytes);
    let all = offered_by(&java, "method");
    assert_eq!(
        all,
        serde_json::json!(["method", "package", "line", "thread", "class"])
    );
    assert_eq!(offered_by(&java, "thread"), all);
    assert_eq!(offered_by(&java, "class"), all);
}

#[test]
fn a_dimension_that_no_frame_has_is_refused_with_those_there_are() {
    let recording = lower(
        "flamegraph-json",
        "f.json",
        r#"{"unit":"ns","root_frame":{"value":3,"method":"a","line":4,"package":"p"}}"#.as_bytes(),
    );
    for dimension in ["class", "thread", "library"] {
        let options = traceloom_formats::flamejson::Options::of_variant(Some(dimension));
        let written =
            traceloom_formats::flamejson::write_recording(&recording, &options.expect("a variant"));
        assert_eq!(
            written.expect_err("nothing to draw").to_string(),
            format!("no frame has a {dimension}; the dimensions here are method, package, line")
        );
    }
}

#[test]
fn a_node_without_a_class_has_no_package() {
    let recording = lower(
        "flamegraph-json",
        "f.json",
        r#"{"unit":"ns","root_frame":{"value":3,"method":"a","package":"p","sub_frame":[{"value":2,"method":"b","package":"q","class":"C"}]}}"#.as_bytes(),
    );
    let written = flame(&recording, "class");
    let unknown = &written["root_frame"]["sub_frame"][0];
    assert_eq!(unknown["method"], "(unknown)");
    assert_eq!(
        unknown["package"], "",
        "it stands for frames of any package"
    );
    assert_eq!(unknown["sub_frame"][0]["method"], "q.C");
    assert_eq!(unknown["sub_frame"][0]["package"], "q");
}

#[test]
fn spans_have_dimensions_too() {
    let trace = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a.B.c","file":"x.java"},{"name":"d.E.f","file":"y.java"}]},"profiles":[{"type":"evented","name":"t","unit":"nanoseconds","startValue":0,"endValue":10,"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":2},{"type":"C","frame":1,"at":5},{"type":"C","frame":0,"at":10}]}]}"#;
    let recording = lower("speedscope", "t.json", trace.as_bytes());
    assert!(!recording.spans.is_empty());
    let written = flame(&recording, "class");
    let top = &written["root_frame"]["sub_frame"][0];
    assert_eq!(
        (&top["class"], &top["package"]),
        (&serde_json::json!("B"), &serde_json::json!("a"))
    );
    assert_eq!(top["sub_frame"][0]["class"], "E");
}

#[test]
fn a_flame_graph_to_a_flame_graph_is_the_same_document() {
    let convert = traceloom_formats::native_conversion("flamegraph-json", "flamegraph-json");
    let convert = convert.expect("a conversion");
    let run = |text: &str| {
        let mut pull = traceloom_formats::SlicePull::new(text.as_bytes(), 0);
        let (mut out, mut notes) = (Vec::new(), Vec::new());
        let mut note = |note: traceloom_model::Note| {
            notes.push(note.kind);
            std::ops::ControlFlow::Continue(())
        };
        convert(&mut pull, &Limits::default(), &mut out, &mut note).expect("written");
        (String::from_utf8(out).expect("text"), notes)
    };
    assert_eq!(run(SEED), (SEED.to_owned(), Vec::new()));
    // A cut document is not written again as it is: what can be read of it is a document.
    let (again, notes) = run(&SEED[..SEED.len() - 60]);
    assert_eq!(notes, ["truncated_json_string", "truncated_json"]);
    let json: serde_json::Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(json["root_frame"]["value"], 10_000_000_000_i64);
    // Through the model, where a dimension is asked for, methods keep the lines that all their frames agree on.
    let written = flame(
        &lower("flamegraph-json", "f.json", SEED.as_bytes()),
        "method",
    );
    let top = &written["root_frame"]["sub_frame"][0];
    assert_eq!(top["line"], 239);
    assert_eq!(top["sub_frame"][0]["line"], 403);
}

#[test]
fn the_value_is_that_of_the_first_samples_as_in_every_view() {
    use traceloom_model::{Profile, SampleBatch, SampleRow, Sink, Tables, Unit, ValueType};
    let mut tables = Tables::new();
    let mut recording = Recording::default();
    let mut profile = |names: [&str; 2], default: usize| {
        let types = names.map(|name| {
            let name = tables.string(name);
            tables.value_type(ValueType::sum(name, Unit::Count))
        });
        tables.profile(Profile {
            value_types: types.to_vec(),
            default: Some(types[default]),
            ..Profile::default()
        })
    };
    let (late, early) = (profile(["a", "b"], 0), profile(["c", "d"], 0));
    let again = profile(["d", "c"], 1);
    let _ = recording.define(tables.take_definitions());
    for (profile, values) in [(early, [5, 7]), (late, [1, 2]), (again, [100, 10])] {
        let mut batch = SampleBatch::new(profile, 2);
        batch.push(&SampleRow {
            stack: None,
            values: &values,
            time: None,
            track: None,
            span: None,
            labels: &[],
        });
        let _ = recording.samples(batch);
    }
    let value = |variant: &str| flame(&recording, variant)["root_frame"]["value"].clone();
    assert_eq!(value(""), 15, "`c` of both profiles that show it");
    assert_eq!(value("value=d"), 107);
    assert_eq!(value("value=b"), 2);
}

#[test]
fn lists_of_the_positional_form_know_lines_and_threads() {
    let folded = r#"{"unit":"count","root_frame":{"value":9,"method":"root","sub_frame":[
        {"value":5,"method":"f","line":1,"thread":"one"},{"value":3,"method":"f","line":2,"thread":"two"},
        {"value":1,"method":"g","line":1,"thread":"two"}]}}"#;
    let recording = lower("flamegraph-json", "f.json", folded.as_bytes());
    let written = flame(&recording, "guance-array");
    let rows = |title: &str| -> Vec<(String, i64)> {
        let dimensions = written["data"]["dimensions"].as_array().expect("a list");
        let found = dimensions.iter().find(|list| list["dimension"] == title);
        let rows = found.expect(title)["data"].as_array().expect("rows").iter();
        rows.map(|row| {
            let title = row["title"].as_str().expect("a title");
            (title.to_owned(), row["value"].as_i64().expect("a value"))
        })
        .collect()
    };
    let of = |rows: &[(&str, i64)]| -> Vec<(String, i64)> {
        rows.iter()
            .map(|(title, value)| ((*title).to_owned(), *value))
            .collect()
    };
    assert_eq!(rows("Function"), of(&[("f", 8), ("g", 1)]));
    assert_eq!(
        rows("Function + Line"),
        of(&[("f:1", 5), ("f:2", 3), ("g:1", 1)])
    );
    assert_eq!(rows("Thread Name"), of(&[("one", 5), ("two", 4)]));
}
