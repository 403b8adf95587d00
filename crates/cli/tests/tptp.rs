//! TPTP traces as the program's users meet them: monitors, objects, statistics, filter files, conversions.

mod program;

use std::path::{Path, PathBuf};
use std::process::Output;

use program::{json_rows, run, sample};
use serde_json::{Value, json};

fn vector(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tptp/vectors");
    let path: PathBuf = root.join(name);
    path.to_str().expect("a path in UTF-8").to_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns rows without the file that each says it is of.
fn unnamed(rows: Vec<Value>, file: &str) -> Vec<Value> {
    let name = file.rsplit('/').next();
    let unnamed = |mut row: Value| {
        let of = row["recording"]["file"].take();
        assert_eq!(of.as_str().and_then(|of| of.rsplit('/').next()), name);
        row
    };
    rows.into_iter().map(unnamed).collect()
}

/// Both forms of one trace say the same, and what they say is in the vector.
#[test]
fn monitors_of_both_forms() {
    let told = ["trcbin", "trcxml"].map(|form| {
        let file = vector(&format!("monitors_depth_0.{form}"));
        unnamed(json_rows(&run(&["monitors", &file, "--json"])), &file)
    });
    assert_eq!(told[0], told[1]);
    let [monitor] = told[0].as_slice() else {
        panic!("{:?}", told[0]);
    };
    assert_eq!(monitor["object"], 9);
    assert_eq!(
        monitor["contended"],
        json!({"count": 1, "total_ns": 1, "longest_ns": 1, "open": 0, "seen": 0})
    );
    assert_eq!(monitor["waited"]["total_ns"], 1);
    assert_eq!(monitor["parked"]["count"], 0);
}

#[test]
fn monitors_tell_owners_and_stacks() {
    let file = vector("all_full_le.trcbin");
    let monitors = json_rows(&run(&["monitors", &file, "--json"]));
    assert_eq!(monitors.len(), 4);
    let owned: Vec<&Value> = monitors
        .iter()
        .filter(|monitor| !monitor["owners"].as_array().expect("owners").is_empty())
        .collect();
    assert_eq!(owned.len(), 1);
    assert_eq!(owned[0]["contended"]["open"], 1);
    assert_eq!(owned[0]["stacks"][0]["frames"][0], "pkg.Top.run:17");
    let text = stdout(&run(&["monitors", &file, "--stacks"]));
    assert!(
        text.contains("held by  thread 1167563295931225317: 1 time"),
        "{text}"
    );
    assert!(text.contains(" p.Top.run:17"), "{text}");
    let csv = stdout(&run(&["monitors", &file, "--csv"]));
    let mut lines = csv.lines();
    let columns = lines.next().expect("a head").split(',').count();
    assert_eq!(columns, 22);
    assert!(
        lines.all(|line| line.split(',').count() == columns),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 5);
    let two = stdout(&run(&["monitors", &file, "--csv", "-n", "2"]));
    assert_eq!(two.lines().count(), 3);
}

#[test]
fn objects_age_between_collections() {
    let file = vector("garbage_collection.trcbin");
    let all = json_rows(&run(&["objects", &file, "--json"]));
    let [objects] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!(
        objects["source"],
        json!({"tracked": true, "sampled": false, "counted": false, "dumped": false})
    );
    let class = &objects["classes"][0];
    assert_eq!(class["class"], "class#3");
    assert_eq!(class["allocated"], json!({"count": 1, "bytes": 24}));
    assert_eq!(class["freed"], json!({"count": 1, "bytes": 24}));
    assert_eq!(class["live"], json!({"count": 0, "bytes": 0}));
    assert_eq!(class["delta"], json!({"count": -1, "bytes": -24}));
    assert_eq!(
        class["freed_ages"],
        json!({"objects": 1, "sum": 1, "oldest": 1})
    );
    let live: Vec<&Value> = objects["collections"]
        .as_array()
        .expect("collections")
        .iter()
        .map(|found| &found["live"]["bytes"])
        .collect();
    assert_eq!(live, [24, 0]);
    let text = stdout(&run(&["objects", &file, "--collections"]));
    assert!(text.contains("-24 B class#3"), "{text}");
    let xml = vector("garbage_collection.trcxml");
    let other = unnamed(json_rows(&run(&["objects", &xml, "--json"])), &xml);
    assert_eq!(other, unnamed(all, &file));
}

/// An object that a filter refuses counts nowhere, its end neither.
#[test]
fn objects_are_chosen_one_by_one() {
    let file = vector("garbage_collection.trcbin");
    let of = |filter: &str| run(&["objects", &file, "--json", "--filter", filter]);
    let all = json_rows(&run(&["objects", &file, "--json"]));
    assert_eq!(json_rows(&of("class = class#3 and size <= 24")), all);
    let none = json_rows(&of("size > 24"));
    assert_eq!(none[0]["classes"], json!([]));
    let changed = none[0]["collections"].as_array().expect("collections");
    assert!(changed.iter().all(|found| found["changed"] == json!([])));
    let dump = vector("heap_snapshot.trcbin");
    let dump = run(&["objects", &dump, "--filter", "class = nothing"]);
    assert!(stderr(&dump).contains("the filter takes none of"));
}

#[test]
fn objects_of_a_dump_tell_who_refers() {
    let file = vector("heap_snapshot.trcbin");
    let objects = json_rows(&run(&["objects", &file, "--json"]));
    let classes = objects[0]["classes"].as_array().expect("classes");
    let known = classes.iter().find(|row| row["class"] == "class#21");
    let known = known.expect("the class of the root");
    assert_eq!(
        (&known["roots"], &known["references"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(known["held_by"], json!([{"class": null, "references": 1}]));
    assert_eq!(objects[0]["source"]["dumped"], true);
}

/// An input without what a view shows gets a sentence, no table and no failure.
#[test]
fn empty_views_say_why() {
    let file = vector("id_reuse.trcbin");
    let monitors = run(&["monitors", &file]);
    assert!(monitors.status.success() && monitors.stdout.is_empty());
    let said = stderr(&monitors);
    assert!(
        said.contains("none of its 4 events is a wait for a monitor"),
        "{said}"
    );
    let file = vector("monitors_depth_0.trcbin");
    let objects = run(&["objects", &file, "--json"]);
    assert!(objects.status.success() && objects.stdout.is_empty());
    let said = stderr(&objects);
    assert!(
        said.contains("none of its 2 events is about the heap"),
        "{said}"
    );
    for command in ["monitors", "objects"] {
        let help = stdout(&run(&[command, "--help"]));
        assert!(help.contains("Examples:"), "{help}");
        let unknown = run(&[command, &file, "--sort", "nothing"]);
        assert_eq!(unknown.status.code(), Some(2));
    }
}

/// Views of a made-up trace agree on both forms, and sums are those of the records.
#[test]
fn made_up_traces_add_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.trcbin");
    std::fs::write(&path, sample("tptp-binary", 7, 3_000_000)).expect("written");
    let path = path.to_str().expect("UTF-8");
    let dump = stdout(&run(&["dump", path, "--json"]));
    let count = |kind: &str| dump.matches(&format!("\"kind\":\"{kind}\"")).count() as u64;
    let monitors = json_rows(&run(&["monitors", path, "--json"]));
    let sum = |rows: &[Value], group: &str, field: &str| -> u64 {
        rows.iter()
            .map(|row| row[group][field].as_u64().expect("a number"))
            .sum()
    };
    assert!(count("mon_contended_enter") + count("mon_wait") > 10);
    assert_eq!(
        sum(&monitors, "contended", "count"),
        count("mon_contended_enter")
    );
    assert_eq!(sum(&monitors, "waited", "count"), count("mon_wait"));
    for monitor in &monitors {
        let shares = |name: &str| -> u64 {
            let shares = monitor[name].as_array().expect("shares").iter();
            shares
                .map(|share| share["total_ns"].as_u64().expect("a number"))
                .sum()
        };
        let total: u64 = ["contended", "waited", "parked"]
            .iter()
            .map(|kind| monitor[kind]["total_ns"].as_u64().expect("a number"))
            .sum();
        assert_eq!((shares("threads"), shares("stacks")), (total, total));
    }
    let objects = json_rows(&run(&["objects", path, "--json"]));
    let classes = objects[0]["classes"].as_array().expect("classes");
    assert!(count("obj_alloc") > 100 && count("gc_start") > 1);
    assert_eq!(sum(classes, "allocated", "count"), count("obj_alloc"));
    assert_eq!(sum(classes, "freed", "count"), count("obj_free"));
    let collections = objects[0]["collections"].as_array().expect("collections");
    let timed = collections
        .iter()
        .filter(|found| !found["time_ns"].is_null());
    assert_eq!(timed.count() as u64, count("gc_start"));
    let allocated: u64 = collections
        .iter()
        .map(|found| found["allocated"]["count"].as_u64().expect("a number"))
        .sum();
    assert_eq!(allocated, count("obj_alloc"));
}

/// A statistic shows all its columns in one table; a name chooses one.
#[test]
fn aggregated_calls_show_minimum_maximum_and_inclusive_values() {
    let file = vector("aggregated_calls.trcbin");
    let rows = json_rows(&run(&["top", &file, "--json"]));
    assert_eq!(rows.len(), 1);
    let functions = rows[0]["functions"].as_array().expect("functions");
    let inner = functions.iter().find(|row| row["function"] == "method#11");
    assert_eq!(
        inner.expect("the method")["values"],
        json!({
            "cumulative_time": 90, "min_time": 20, "max_time": 40, "base_cpu_time": 80, "calls": 3,
        })
    );
    let text = stdout(&run(&["top", &file]));
    let head = text.lines().nth(1).expect("a head");
    for column in ["cumulative_time", "min_time", "max_time", "calls"] {
        assert!(head.contains(column), "{head}");
    }
    let one = json_rows(&run(&["top", &file, "--json", "--value", "max_time"]));
    assert_eq!(one[0]["measure"], "max_time");
    assert!(one[0]["functions"][0].get("values").is_none());
    let tree = json_rows(&run(&["tree", &file, "--json", "--min-percent", "0"]));
    assert_eq!(tree[0]["total"], rows[0]["total"]);
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("flame.svg");
    let page = page.to_str().expect("UTF-8");
    assert!(run(&["flame", &file, "-o", page]).status.success());
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("method#11"));
}

/// The caller of an excluded method gets its time, in views and in what is converted, and nothing else.
#[test]
fn filter_files_leave_the_callers_statistics_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let file = vector("aggregated_calls.trcbin");
    let row = |path: &str, flags: &[&str], name: &str| -> Option<Value> {
        let all = json_rows(&run(&[&["top", path, "--json"], flags].concat()));
        let rows = all[0]["functions"].as_array().expect("functions");
        rows.iter().find(|row| row["function"] == name).cloned()
    };
    let outer = row(&file, &[], "method#10").expect("the caller");
    let inner = row(&file, &[], "method#11").expect("the method");
    std::fs::write(at("filters.txt"), "* method#11 EXCLUDE\n").expect("written");
    let filters = at("filters.txt");
    let filter = ["--filter-file", filters.as_str()];
    let left = row(&file, &filter, "method#10").expect("the caller");
    let number = |row: &Value, name: &str| row[name].as_i64().expect("a number");
    assert_eq!(
        number(&left, "self"),
        number(&outer, "self") + number(&inner, "self")
    );
    for column in ["min_time", "max_time", "calls", "cumulative_time"] {
        assert_eq!(left["values"][column], outer["values"][column], "{column}");
    }
    assert_eq!(row(&file, &filter, "method#11"), None);
    for output in [at("out.trcxml"), at("out.trcbin")] {
        let done = run(&[&["convert", &file, &output], &filter[..]].concat());
        assert!(done.status.success(), "{}", stderr(&done));
        let again = row(&output, &[], "method#10").expect("the caller");
        for column in ["self", "total", "values"] {
            assert_eq!(again[column], left[column], "{output}: {column}");
        }
    }
}

fn functions(rows: &[Value]) -> Vec<String> {
    let rows = rows[0]["functions"].as_array().expect("functions").iter();
    rows.map(|row| row["function"].as_str().expect("a name").to_owned())
        .collect()
}

/// Nothing left is said, and tables that programs read keep their heads.
#[test]
fn nothing_left_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(at("filters.txt"), "* * EXCLUDE\n").expect("written");
    let filters = at("filters.txt");
    for file in [
        "aggregated_calls.trcbin",
        "sample_le_inclusive_sized.trcbin",
    ] {
        let file = vector(file);
        for command in ["top", "tree"] {
            for flags in [
                ["--filter-file", filters.as_str()],
                ["--focus", "no such method"],
            ] {
                let done = run(&[&[command, &file], &flags[..]].concat());
                assert!(done.status.success());
                let said = stderr(&done);
                assert!(
                    said.contains("nothing is left of"),
                    "{command} {flags:?}: {said}"
                );
            }
            let done = run(&[command, &file]);
            assert!(!stderr(&done).contains("nothing is left"), "{command}");
        }
    }
    let file = vector("aggregated_calls.trcbin");
    let done = run(&["objects", &file, "--csv"]);
    assert!(stdout(&done).starts_with("class,"), "{}", stdout(&done));
    assert_eq!(stdout(&done).lines().count(), 1);
    let done = run(&["objects", &file, "--csv", "--collections"]);
    assert!(
        stdout(&done).starts_with("number,time_ns,"),
        "{}",
        stdout(&done)
    );
    assert!(stderr(&done).contains("no objects"), "{}", stderr(&done));
}

/// A method that a filter file excludes is in no view, list or output; its time falls to its caller.
#[test]
fn filter_files_leave_methods_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    std::fs::write(at("made.trcbin"), sample("tptp-binary", 7, 400_000)).expect("written");
    let input = at("made.trcbin");
    let all = json_rows(&run(&["top", &input, "--json"]));
    let names = functions(&all);
    let class = |name: &String| name.rsplit_once('.').expect("a class").0.to_owned();
    let excluded = class(&names[0]);
    let kept: Vec<&String> = names
        .iter()
        .filter(|name| class(name) != excluded)
        .collect();
    assert!(kept.len() < names.len() && !kept.is_empty());
    let rules = at("filters.txt");
    std::fs::write(
        &rules,
        format!("# one class\n{excluded} * EXCLUDE\n* * INCLUDE\n"),
    )
    .expect("written");
    let filter = ["--filter-file", rules.as_str()];
    let with = |args: &[&str]| run(&[args, &filter].concat());
    let left = json_rows(&with(&["top", &input, "--json"]));
    let mut left_names = functions(&left);
    left_names.sort_unstable();
    let mut wanted: Vec<String> = kept.into_iter().cloned().collect();
    wanted.sort_unstable();
    assert_eq!(left_names, wanted);
    // Nothing is lost but what excluded roots did themselves.
    let sum = |rows: &[Value], name: &str| -> i64 {
        let rows = rows[0]["functions"].as_array().expect("functions").iter();
        rows.map(|row| row[name].as_i64().expect("a number")).sum()
    };
    assert_eq!(
        sum(&left, "self"),
        left[0]["total"].as_i64().expect("a number")
    );
    assert!(sum(&left, "self") <= sum(&all, "self"));
    let tree = stdout(&with(&["tree", &input, "--json", "--min-percent", "0"]));
    assert!(
        !tree.contains(&format!("\"{excluded}.")),
        "{excluded} in the tree"
    );
    // What is converted holds the same calls, and the same totals.
    for output in ["out.trcxml", "out.trcbin"] {
        let output = at(output);
        let done = with(&["convert", &input, &output]);
        assert!(done.status.success(), "{}", stderr(&done));
        let again = json_rows(&run(&["top", &output, "--json"]));
        assert_eq!(again[0]["functions"], left[0]["functions"], "{output}");
        assert_eq!(again[0]["total"], left[0]["total"], "{output}");
    }
    let calls = json_rows(&with(&["calls", &input, "--json", "--columns", "method"]));
    let methods: Vec<&str> = calls
        .iter()
        .filter_map(|call| call["method"].as_str())
        .collect();
    assert_eq!(methods.len(), calls.len());
    assert!(methods.iter().all(|method| !method.starts_with(&excluded)));
    let every = json_rows(&run(&["calls", &input, "--json", "--columns", "method"]));
    let id = every[0]["id"].as_str().expect("an id");
    let call: Value =
        serde_json::from_slice(&with(&["call", &input, id, "--json"]).stdout).expect("JSON");
    let spans = call["spans"].as_array().expect("spans");
    let inner = spans.iter().skip(1);
    let inner: Vec<&str> = inner.filter_map(|span| span["function"].as_str()).collect();
    assert!(
        inner
            .iter()
            .all(|name| !name.starts_with(&format!("{excluded}."))),
        "{inner:?}"
    );
    let page = at("flame.svg");
    assert!(with(&["flame", &input, "-o", &page]).status.success());
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(!page.contains(&format!("{excluded}.")));
}

#[test]
fn filter_files_that_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join("filters.txt");
    std::fs::write(&rules, "* * INCLUDE\ncom.acme.* EXCLUDE\n").expect("written");
    let rules = rules.to_str().expect("UTF-8");
    let input = vector("sample_le.trcbin");
    let done = run(&["top", &input, "--filter-file", rules]);
    assert_eq!(done.status.code(), Some(2));
    assert!(stderr(&done).contains("line 2"), "{}", stderr(&done));
    let done = run(&["top", &input, "--filter-file", "no-such-file"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(stderr(&done).contains("no-such-file"), "{}", stderr(&done));
}

/// TPTP's importer took zipped XML traces, whatever they were called.
#[test]
fn a_zip_with_a_trace_inside() {
    let zip = vector("xml_zipped.zip");
    let folder = tempfile::tempdir().expect("a folder");
    let renamed = folder.path().join("trace.trcxml");
    std::fs::copy(&zip, &renamed).expect("copied");
    let renamed = renamed.to_str().expect("UTF-8");
    let expected = std::fs::read_to_string(vector("xml_zipped.expected.jsonl")).expect("a file");
    let wanted = expected.lines().count();
    assert!(wanted > 3);
    for path in [zip.as_str(), renamed] {
        let info = json_rows(&run(&["info", path, "--json"]));
        let part = &info[0]["inputs"][0];
        assert_eq!(part["format"], "tptp-xml", "{path}");
        assert_eq!(part["wrappers"], json!(["zip"]), "{path}");
        let dump = json_rows(&run(&["dump", path, "--json"]));
        let xml = [
            "prolog",
            "instruction",
            "text",
            "root_start",
            "root_end",
            "comment",
            "note",
        ];
        let messages: Vec<&Value> = dump
            .iter()
            .filter(|row| !xml.contains(&row["kind"].as_str().expect("a kind")))
            .collect();
        assert_eq!(messages.len(), wanted, "{path}");
        for (message, line) in messages.iter().zip(expected.lines()) {
            let line: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(
                (&message["offset"], &message["bytes"]),
                (&line["offset"], &line["bytes"])
            );
        }
        let out = folder.path().join("out.trcbin");
        let out = out.to_str().expect("UTF-8");
        let done = run(&["convert", path, out, "--force"]);
        assert!(done.status.success(), "{}", stderr(&done));
        assert_eq!(&std::fs::read(out).expect("a trace")[..4], b"0TBF");
    }
}

/// Files the program names end in `.trcbin` and `.trcxml`; a name that says otherwise gets a warning.
#[test]
fn names_of_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = vector("id_reuse.trcbin");
    let into = folder.path().to_str().expect("UTF-8");
    for (format, name) in [
        ("tptp-xml", "id_reuse.trcxml"),
        ("tptp-binary", "id_reuse.trcbin"),
    ] {
        let done = run(&["convert", &input, into, "--to", format]);
        assert!(done.status.success(), "{}", stderr(&done));
        assert!(!stderr(&done).contains("warning"), "{}", stderr(&done));
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    let odd = folder.path().join("odd.trcxml");
    let odd = odd.to_str().expect("UTF-8");
    let done = run(&["convert", &input, odd, "--to", "tptp-binary"]);
    assert!(done.status.success());
    let said = stderr(&done);
    assert!(
        said.contains("warning") && said.contains("named like tptp-xml"),
        "{said}"
    );
    let checked = run(&["check", odd]);
    assert_eq!(checked.status.code(), Some(1));
    assert!(
        stdout(&checked).contains("name_contradicts"),
        "{}",
        stdout(&checked)
    );
    let top = run(&["top", odd]);
    assert!(stderr(&top).contains("1 warn notes"), "{}", stderr(&top));
}

/// A trace with messages of the author of an agent, in the XML form.
const DESCRIBED: &str = concat!(
    "<?xml version=\"1.0\"?>\n<TRACE>\n",
    "<threadStart threadId=\"7\" time=\"1773463900.5\" threadName=\"main\" groupName=\"main\" parentName=\"\"/>\n",
    "<cacheMiss threadIdRef=\"7\" time=\"1773463901.25\" region=\"prices &amp; stock\" size=\"12\" cost=\"0.004\"/>\n",
    "<cacheMiss threadIdRef=\"7\" time=\"1773463902.5\" region=\"orders\" size=\"1\"/>\n",
    "<parked threadIdRef=\"7\" time=\"1773463903.0\">",
    "<annotation name=\"stack\" method=\"java/lang/Thread.park\" line=\"9\"/></parked>\n",
    "</TRACE>\n"
);
const MESSAGES: &str = "# Messages of the shop's agent.\n\
    1500 cacheMiss threadIdRef:long time:ticks region:text size:int cost:ticks\n\n\
    1501 parked threadIdRef:long time:ticks stackDepth:int stack\n";

/// Both forms of a described message say the same, and lower to events with its fields, stack, thread and time.
#[test]
fn described_messages_are_read_and_written() {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = |name: &str| scratch.path().join(name).to_string_lossy().into_owned();
    let [xml, binary, back, messages] =
        ["a.trcxml", "a.trcbin", "b.trcxml", "messages.txt"].map(path);
    std::fs::write(&xml, DESCRIBED).expect("a trace");
    std::fs::write(&messages, MESSAGES).expect("a description");
    let with = |args: &[&str]| run(&[args, &["--tptp-messages", &messages]].concat());
    for (from, to) in [(&xml, &binary), (&binary, &back)] {
        let converted = with(&["convert", from, to]);
        assert!(converted.status.success(), "{}", stderr(&converted));
    }
    for kind in ["cache_miss", "parked"] {
        let events = [&xml, &binary, &back].map(|file| {
            let checked = with(&["check", file]);
            assert!(checked.status.success(), "{}", stdout(&checked));
            json_rows(&with(&["events", file, "--json", "--type", kind]))
        });
        assert_eq!(events[0], events[1]);
        assert_eq!(events[0], events[2]);
        let expected = match kind {
            "parked" => json!([
                {"thread": "main", "time": 1_773_463_903_000_000_000_u64, "stack": ["java.lang.Thread.park:9"]},
            ]),
            _ => json!([
                {"thread": "main", "time": 1_773_463_901_250_000_000_u64,
                 "attributes": {"region": "prices & stock", "size": 12, "cost": 4_000_000}},
                {"thread": "main", "time": 1_773_463_902_500_000_000_u64,
                 "attributes": {"region": "orders", "size": 1, "cost": null}},
            ]),
        };
        assert_eq!(json!(events[0]), expected);
    }
    let records = json_rows(&with(&["dump", &binary, "--json"]));
    let miss = records.iter().find(|record| record["kind"] == "cache_miss");
    assert_eq!(miss.expect("a record")["region"], "prices & stock");
    // Without the description its bytes are kept, and nothing is said to be known of them.
    let records = json_rows(&run(&["dump", &binary, "--json"]));
    let unknown = records.iter().filter(|record| record["kind"] == "unknown");
    let ids: Vec<&Value> = unknown.map(|record| &record["id"]).collect();
    assert_eq!(ids, [1500, 1500, 1501]);
    let checked = stdout(&run(&["check", &binary]));
    assert!(checked.contains("messages with id 1500"), "{checked}");
}

#[test]
fn a_wrong_description_is_said_with_its_line() {
    let scratch = tempfile::tempdir().expect("a folder");
    let messages = scratch.path().join("messages.txt");
    std::fs::write(&messages, "# mine\n1015 mine a:int\n").expect("a file");
    let messages = messages.to_string_lossy();
    let file = vector("monitors_depth_0.trcbin");
    let refused = run(&["info", &file, "--tptp-messages", &messages]);
    assert_eq!(refused.status.code(), Some(2));
    let said = stderr(&refused);
    assert!(
        said.contains("line 2: 1015 methodEntry is there already"),
        "{said}"
    );
    let missing = run(&["info", &file, "--tptp-messages", "/nowhere/messages"]);
    assert!(stderr(&missing).contains("--schema: /nowhere/messages"));
}
