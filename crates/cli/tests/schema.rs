//! Attribute types and options of Heph that its specification leaves open, described in a schema.

mod program;

use std::fs;
use std::path::Path;
use std::process::Output;

use program::{json_rows, run};
use serde_json::{Value, json};

const SCHEMA: &str = "# What the shop's writer adds.\n\
    heph type 0x05 bool\nheph type 0x06 bytes\nheph type 0x10 float\nheph type 0x11 signed\n\
    heph type 0x12 text\n\nheph option workers int\nheph option build text\n\
    1500 cacheMiss threadIdRef:long time:ticks region:text\n";

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn option(name: &str, value: &[u8]) -> Vec<u8> {
    let name = named(name);
    let size = u32::try_from(8 + name.len() + value.len()).expect("a size");
    [b"\x75\xd1\x1d\x4d", &size.to_be_bytes()[..], &name, value].concat()
}

fn named(name: &str) -> Vec<u8> {
    let length = u16::try_from(name.len()).expect("a length");
    [&length.to_be_bytes()[..], name.as_bytes()].concat()
}

/// An event of stream 1 with attributes of one name, type byte and value each.
fn event(counter: u32, start: u64, attributes: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut body = [&1_u32.to_be_bytes()[..], &counter.to_be_bytes(), &[0; 8]].concat();
    body.extend([start.to_be_bytes(), (start + 1000).to_be_bytes()].concat());
    body.extend(named("sell"));
    for (name, type_byte, value) in attributes {
        body.extend(named(name));
        body.push(*type_byte);
        body.extend(*value);
    }
    let size = u32::try_from(8 + body.len()).expect("a size");
    [b"\xc1\xfc\x1f\xb7", &size.to_be_bytes()[..], &body].concat()
}

fn trace() -> Vec<u8> {
    let all: [(&str, u8, &[u8]); 7] = [
        ("hit", 0x05, &[1]),
        ("hits", 0x85, &[0, 3, 1, 0, 1]),
        ("key", 0x06, &[0, 2, 0xfe, 0xff]),
        ("keys", 0x86, &[0, 2, 0, 1, 0x80, 0, 0]),
        ("ratio", 0x10, &0.5_f32.to_be_bytes()),
        ("change", 0x11, &(-3_i32).to_be_bytes()),
        ("items", 0x01, &7_u64.to_be_bytes()),
    ];
    [
        option("epoch", &1_700_000_000_000_000_000_u64.to_be_bytes()),
        option("workers", &[0, 0, 1, 0]),
        option("build", b"r12"),
        event(0, 10, &all),
        // The second list ends behind its packet, and what a boolean cannot be is none.
        event(
            1,
            2_000,
            &[("note", 0x12, b"\0\x02ok"), ("hits", 0x85, &[0, 9, 1])],
        ),
        event(2, 4_000, &[("hit", 0x05, &[2])]),
    ]
    .concat()
}

fn attributes(rows: &[Value], at: usize) -> Vec<(String, Value)> {
    let events = rows.iter().filter(|row| row["kind"] == "event");
    let event = events.into_iter().nth(at).expect("an event");
    let list = event["attributes"].as_array().expect("a list");
    let pair = |one: &Value| {
        (
            one["name"].as_str().expect("a name").to_owned(),
            one["value"].clone(),
        )
    };
    list.iter().map(pair).collect()
}

#[test]
fn described_types_are_read_shown_and_written_back() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = |name: &str| scratch.path().join(name).to_string_lossy().into_owned();
    let [file, schema, back, chrome] = ["a.heph", "shop.schema", "b.heph", "c.json"].map(path);
    fs::write(&file, trace()).expect("a trace");
    fs::write(&schema, SCHEMA).expect("a schema");
    let with = |args: &[&str]| run(&[args, &["--schema", &schema]].concat());

    let records = json_rows(&with(&["dump", &file, "--json"]));
    let shown: Vec<Value> = attributes(&records, 0)
        .into_iter()
        .map(|one| one.1)
        .collect();
    assert_eq!(shown[0], json!(true));
    assert_eq!(shown[1], json!([true, false, true]));
    assert_eq!(shown[4..], [json!(0.5), json!(-3), json!(7)]);
    assert_eq!(attributes(&records, 1), [("note".to_owned(), json!("ok"))]);
    assert_eq!(attributes(&records, 2), []);
    let options = records.iter().filter(|record| record["kind"] == "metadata");
    let values: Vec<&Value> = options.map(|option| &option["value"]).collect();
    assert_eq!(values[1..], [&json!(256), &json!("r12")]);

    for (from, to) in [(&file, &back), (&file, &chrome)] {
        let converted = with(&["convert", from, to]);
        assert!(converted.status.success(), "{}", stderr(&converted));
    }
    // Booleans, bytes and options keep their types. Other numbers get those of the specification.
    let again = json_rows(&with(&["dump", &back, "--json"]));
    for at in 0..3 {
        assert_eq!(attributes(&again, at), attributes(&records, at));
    }
    let bytes = fs::read(&back).expect("a trace");
    for part in [
        &b"\0\x03hit\x05\x01"[..],
        b"\0\x04hits\x85\0\x03\x01\0\x01",
        b"\0\x03key\x06\0\x02\xfe\xff",
        b"\0\x04keys\x86\0\x02\0\x01\x80\0\0",
        b"workers\0\0\x01\0",
        b"buildr12",
        b"\0\x04hits\x85\0\x09\x01",
    ] {
        assert!(bytes.windows(part.len()).any(|at| at == part), "{part:?}");
    }
    let chrome: Value = serde_json::from_slice(&fs::read(&chrome).expect("a trace")).expect("JSON");
    let text = chrome.to_string();
    assert!(text.contains(r#""hits":[true,false,true]"#), "{text}");

    // Without the schema the bytes from the first unknown type on are kept, and said to be.
    let unknown = json_rows(&run(&["dump", &file, "--json"]));
    assert_eq!(attributes(&unknown, 0), []);
    let checked = stdout(&run(&["check", &file]));
    assert!(checked.contains("attributes"), "{checked}");
    let copied = run(&["convert", &file, &back, "--force"]);
    assert!(copied.status.success(), "{}", stderr(&copied));
    assert_eq!(
        json_rows(&with(&["dump", &back, "--json"])).len(),
        records.len()
    );
}

#[test]
fn the_schema_is_taken_from_every_name_it_has() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = |name: &str| scratch.path().join(name);
    let [file, schema] = ["a.heph", "shop.schema"].map(path);
    fs::write(&file, trace()).expect("a trace");
    fs::write(&schema, SCHEMA).expect("a schema");
    let shown = |args: &[&str], variable: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_traceloom"));
        command.args(["dump", "--json"]).arg(&file).args(args);
        if !variable.is_empty() {
            command.env(variable, &schema);
        }
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", stderr(&output));
        attributes(&json_rows(&output), 0).len()
    };
    let schema = schema.to_string_lossy();
    assert_eq!(shown(&[], ""), 0);
    assert_eq!(shown(&["--schema", &schema], ""), 7);
    assert_eq!(shown(&["--tptp-messages", &schema], ""), 7);
    assert_eq!(shown(&[], "TRACELOOM_SCHEMA"), 7);
    assert_eq!(shown(&[], "TRACELOOM_TPTP_MESSAGES"), 7);
}

/// The first wrong line is said, whichever format it is of.
#[test]
fn a_wrong_line_is_said() {
    let scratch = tempfile::tempdir().expect("a folder");
    let schema = scratch.path().join("shop.schema");
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let cases = [
        (
            "1500 a b:int\nheph type 3 bool\n1500 c d:int\n",
            "line 2: `3` is no type of one's own",
        ),
        (
            "1500 a\nheph type 3 bool\n",
            "line 1: a message has at least one field",
        ),
    ];
    for (lines, expected) in cases {
        fs::write(&schema, lines).expect("a schema");
        let refused = run(&["info", shop, "--schema", text(&schema)]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(stderr(&refused).contains(expected), "{}", stderr(&refused));
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
