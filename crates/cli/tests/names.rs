//! Names that tables print find exactly their function when they are given back.

mod program;

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use program::{run, stdout};
use serde_json::Value;
use traceloom_analysis::names::{FunctionMatch, FunctionPattern, ShortNames};
use traceloom_analysis::{TreeBuilder, TreeOptions};
use traceloom_formats::LowerOptions;
use traceloom_input::{Input, OpenOptions};

const TESTDATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");

/// Names looked for in each input: each is compared with all others.
const NAMES: usize = 60;

/// Returns the inputs: testdata, and every process and file of the corpus.
fn inputs() -> Vec<PathBuf> {
    let mut inputs = vec![PathBuf::from(TESTDATA).join("shop")];
    let mut add = |root: &Path| {
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
                match entry.path() {
                    path if path.is_dir() => folders.push(path),
                    path => inputs.push(path),
                }
            }
        }
    };
    add(&Path::new(TESTDATA).join("tptp"));
    if let Some(root) = corpus::root() {
        add(&root);
        inputs.push(root.join("cdt"));
    }
    inputs
}

/// Returns the names of all functions of an input; none where it is no recording.
fn functions(path: &Path) -> Vec<String> {
    let path = path.to_string_lossy();
    let Ok(input) = Input::open(&*path, &OpenOptions::default()) else {
        return Vec::new();
    };
    let mut names = BTreeSet::new();
    for document in input.documents() {
        let lowers = document
            .format()
            .is_some_and(|format| format.lower.is_some());
        let mut builder = TreeBuilder::new(TreeOptions::default());
        if lowers
            && traceloom_input::lower(&document, &LowerOptions::default(), &mut builder).is_ok()
        {
            let trees = builder.finish();
            let found = trees.into_trees();
            names.extend(found.flat_map(|tree| {
                let names = tree.function_names().map(str::to_owned);
                names.collect::<Vec<_>>()
            }));
        }
    }
    names.into_iter().collect()
}

#[test]
fn a_printed_name_of_any_capture_is_exactly_its_function() {
    let mut looked_for = 0;
    for input in inputs() {
        let names = functions(&input);
        let all = || names.iter().map(String::as_str);
        let short = ShortNames::new(all());
        let find = |text: &str, name: &str| {
            let pattern: FunctionPattern = text.parse().expect("any text");
            match pattern.find(all()) {
                Ok(FunctionMatch::Name(found)) => assert_eq!(found, name, "{text}"),
                other => panic!("{}: {text} for {name}: {other:?}", input.display()),
            }
        };
        for name in all().step_by(names.len().div_ceil(NAMES).max(1)) {
            if name.trim().is_empty() {
                continue;
            }
            looked_for += 1;
            let shown = short.show(name);
            find(&shown, name);
            find(name, name);
            // What a terminal of 40 columns would leave of it.
            let chars: Vec<char> = shown.chars().collect();
            if chars.len() > 40 {
                let head: String = chars[..13].iter().collect();
                let tail: String = chars[chars.len() - 26..].iter().collect();
                if short.is_unique(&head, &tail) {
                    find(&format!("{head}…{tail}"), name);
                }
            }
        }
    }
    assert!(looked_for > 50, "{looked_for} names");
}

/// Writes folded stacks whose functions are hard to tell apart.
fn alike(folder: &Path) -> String {
    let path = folder.join("alike.folded");
    let stacks = "main;com.acme.Order.buy 10\n\
        main;com.ajax.Order.buy 20\n\
        main;main.(*Server).Serve;com.acme.Order.sell(int) 30\n\
        domain;c.a.Basket.add 40\n\
        domain;com.acme.Basket.add 50\n";
    std::fs::write(&path, stacks).expect("a file in a folder of its own");
    path.to_string_lossy().into_owned()
}

/// Returns the functions that are roots of `tree --callees-of NAME`.
fn roots(path: &str, name: &str) -> Vec<String> {
    let args = ["tree", "--json", "--min-percent", "0", "--callees-of"];
    let text = stdout(&[&args[..], &[name, path]].concat());
    let trees = text.lines().map(serde_json::from_str::<Value>);
    let mut found = BTreeSet::new();
    for tree in trees {
        let tree = tree.expect("an object");
        for node in tree["nodes"].as_array().expect("nodes") {
            if node["depth"] == 0 {
                found.insert(node["function"].as_str().expect("a name").to_owned());
            }
        }
    }
    found.into_iter().collect()
}

/// Returns the last column of the rows of a table, behind a heading and the names of columns.
fn last_column(table: &str) -> Vec<&str> {
    let rows = table.lines().skip(2);
    rows.filter_map(|row| Some(row.rsplit_once("  ")?.1.trim()))
        .collect()
}

#[test]
fn every_command_prints_names_that_every_flag_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = alike(folder.path());
    let tables = [
        vec!["top", &path],
        vec!["top", &path, "--incoming", "Order"],
        vec!["tree", &path, "--min-percent", "0"],
        vec!["diff", &path, &path],
    ];
    for args in &tables {
        let table = stdout(args);
        let names = last_column(&table);
        assert!(names.len() >= 2, "{args:?}: {table}");
        for name in names {
            let name = name.trim_start_matches("… ");
            let found = roots(&path, name);
            assert_eq!(found.len(), 1, "{args:?}: {name}: {found:?}");
            let incoming = stdout(&["top", &path, "--incoming", name, "--json"]);
            assert!(!incoming.contains("functions\":null"));
            stdout(&["top", &path, "--focus", name]);
            stdout(&["tree", &path, "--usages", name]);
            stdout(&["diff", &path, &path, "--focus", name]);
            let condition = format!("total({name}) > +5%");
            stdout(&["diff", &path, &path, "--fail-if", &condition]);
        }
    }
    let shown = stdout(&["top", &path]);
    for name in [
        "com.acme.Order.buy",
        "com.ajax.Order.buy",
        "c.a.Order.sell",
        "c.a.Basket.add",
    ] {
        assert!(shown.contains(&format!("  {name}\n")), "{name}: {shown}");
    }
    assert_eq!(roots(&path, "main"), ["main"]);
    assert_eq!(roots(&path, "main$"), ["domain", "main"]);
    assert_eq!(
        roots(&path, "main.(*Server).Serve"),
        ["main.(*Server).Serve"]
    );
    assert_eq!(roots(&path, "com.aj…buy"), ["com.ajax.Order.buy"]);
}

#[test]
fn a_name_that_may_be_several_functions_is_an_error_that_names_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = alike(folder.path());
    for (command, flag) in [
        ("top", "--focus"),
        ("top", "--ignore"),
        ("top", "--incoming"),
        ("top", "--outgoing"),
        ("tree", "--callers-of"),
        ("tree", "--callees-of"),
        ("tree", "--usages"),
    ] {
        for name in ["c.a.Order.buy", "com.a…Order.buy"] {
            let output = run(&[command, &path, flag, name]);
            let told = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command} {flag}: {told}");
            for part in [flag, "com.acme.Order.buy", "com.ajax.Order.buy"] {
                assert!(told.contains(part), "{command} {flag}: {told}");
            }
        }
    }
    let output = run(&["diff", &path, &path, "--fail-if", "self(c.a.Order.buy) > 1"]);
    assert_eq!(output.status.code(), Some(2));
    let output = run(&["top", &path, "--focus", "gone.(*Client"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("neither the name of a function"), "{told}");
}

#[test]
fn methods_to_adjust_are_named_as_tables_print_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = alike(folder.path());
    let total = |rule: &str| {
        let top = stdout(&["top", "--json", &path, "--adjust", rule]);
        let top: Value = serde_json::from_str(&top).expect("JSON");
        top["total"].as_i64()
    };
    for (rule, expected) in [
        // Names of one function each, of which two would be regular expressions for others too.
        ("main=0", 90),
        ("main.(*Server).Serve=0", 120),
        ("c.a.Order.sell=0", 120),
        ("com.aj…buy * 2", 170),
        ("com.acme.Order.buy*0", 140),
        // An expression.
        ("main$=0", 0),
    ] {
        assert_eq!(total(rule), Some(expected), "{rule}");
    }
    let compared = stdout(&["diff", "--json", &path, "--adjust", "com.aj…buy=0"]);
    let compared: Value = serde_json::from_str(&compared).expect("JSON");
    let changed = compared["functions"].as_array().expect("functions").iter();
    let changed = changed.filter(|row| row["self_change"] != 0.0);
    let changed: Vec<_> = changed.map(|row| &row["function"]).collect();
    assert_eq!(changed, ["com.ajax.Order.buy"]);
    let output = run(&["top", &path, "--adjust", "c.a.Order.buy*2"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("--adjust: `c.a.Order.buy` may be"), "{told}");
}

#[test]
fn a_call_shows_functions_of_one_short_name_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("alike.json");
    let span = |name: &str, ts: u32, dur: u32| {
        format!(r#"{{"ph":"X","pid":1,"tid":1,"name":"{name}","ts":{ts},"dur":{dur}}}"#)
    };
    let events = [
        span("com.acme.Order.buy", 0, 100),
        span("com.ajax.Order.buy", 10, 20),
        span("com.acme.Basket.add", 40, 20),
    ];
    std::fs::write(&path, format!("[{}]", events.join(","))).expect("a file");
    let path = path.to_string_lossy();
    let list = stdout(&["calls", "--json", &path]);
    let call: Value = serde_json::from_str(list.lines().next().expect("a call")).expect("JSON");
    let id = call["id"].as_str().expect("an id");
    let text = stdout(&["call", &path, id]);
    for name in [
        "com.acme.Order.buy",
        "com.ajax.Order.buy",
        " c.a.Basket.add",
    ] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

/// Spans of methods with one short name, and one of its own.
fn nested(folder: &Path, name: &str, inner: &[&str]) -> String {
    let path = folder.join(name);
    let span = |at: usize, name: &str| {
        let (ts, dur) = (at * 10, 200 - at * 20);
        format!(r#"{{"ph":"X","pid":1,"tid":1,"name":"{name}","ts":{ts},"dur":{dur}}}"#)
    };
    let all = [&["com.acme.Web.get"], inner].concat();
    let events: Vec<String> = (0..).zip(&all).map(|(at, name)| span(at, name)).collect();
    std::fs::write(&path, format!("[{}]", events.join(","))).expect("a file");
    path.to_string_lossy().into_owned()
}

#[test]
fn calls_with_a_method_take_its_printed_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = [
        "com.acme.Order.buy",
        "com.ajax.Order.buy",
        "com.acme.Basket.add",
        "com.acme.Basket.addAll",
    ];
    let path = nested(folder.path(), "a.json", &inner);
    let uses = |paths: &[&str], name: &str| -> Vec<i64> {
        let args = ["calls", "--json", "--with-method", name];
        let rows = stdout(&[&args[..], paths].concat());
        let rows = rows.lines().map(|row| {
            let row: Value = serde_json::from_str(row).expect("JSON");
            row["uses"].as_i64().expect("a number")
        });
        rows.collect()
    };
    let alone = [path.as_str()];
    assert_eq!(uses(&alone, "c.a.Basket.add"), [1]);
    assert_eq!(uses(&alone, "com.aj…buy"), [1]);
    assert_eq!(uses(&alone, "Basket.add"), [2]);
    assert!(uses(&alone, "c.a.Basket.remove").is_empty());
    let refused = |paths: &[&str], name: &str| {
        let output = run(&[&["calls", "--with-method", name], paths].concat());
        assert_eq!(output.status.code(), Some(2), "{name}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let told = refused(&alone, "c.a.Order.buy");
    assert!(
        told.contains("--with-method: `c.a.Order.buy` may be"),
        "{told}"
    );
    // A name means one function of all paths.
    let other = nested(
        folder.path(),
        "b.json",
        &["com.ajax.Basket.add", "com.acme.Basket.added"],
    );
    let both = [path.as_str(), &other];
    let told = refused(&both, "c.a.Basket.add");
    assert!(told.contains("com.ajax.Basket.add"), "{told}");
    assert_eq!(uses(&both, "com.acme.Basket.add"), [1]);
    // Standard input is read once.
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.args(["calls", "-", "--json", "--with-method", "c.a.Basket.add"]);
    command.stdin(std::fs::File::open(&path).expect("a file"));
    let piped = String::from_utf8(command.output().expect("the program runs").stdout);
    assert_eq!(piped.expect("text").lines().count(), 1);
}

/// Methods of one name that take other arguments are one row, in JSON as in tables; each call is a row of its own.
#[test]
fn overloads_are_one_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("overloads.trcxml");
    let trace = r#"<?xml version="1.0" encoding="UTF-8"?>
<TRACE>
<threadStart threadId="5" time="1204279200.000000000" threadName="main"/>
<classDef name="shop/Cart" classId="1"/>
<methodDef name="add" signature="(I)V" methodId="1" classIdRef="1"/>
<methodDef name="add" signature="(Ljava/lang/String;)V" methodId="2" classIdRef="1"/>
<methodEntry threadIdRef="5" time="1204279200.000000100" methodIdRef="1" classIdRef="1" ticket="1"/>
<methodExit threadIdRef="5" time="1204279200.000000300" methodIdRef="1" classIdRef="1" ticket="1"/>
<methodEntry threadIdRef="5" time="1204279200.000000400" methodIdRef="2" classIdRef="1" ticket="2"/>
<methodExit threadIdRef="5" time="1204279200.000000900" methodIdRef="2" classIdRef="1" ticket="2"/>
</TRACE>
"#;
    std::fs::write(&path, trace).expect("a file");
    let path = path.to_str().expect("a path");
    let of = |rows: &Value| -> Vec<(String, Value, Value)> {
        let rows = rows.as_array().expect("rows").iter();
        let name = |row: &Value| row["function"].as_str().expect("a name").to_owned();
        rows.map(|row| (name(row), row["count"].clone(), row["total"].clone()))
            .collect()
    };
    let both = [("shop.Cart.add".to_owned(), Value::from(2), Value::from(700))];
    let json = |args: &[&str]| -> Vec<Value> {
        let lines = stdout(args);
        let values = lines.lines().map(serde_json::from_str);
        values.collect::<Result<_, _>>().expect("JSON")
    };
    assert_eq!(of(&json(&["top", "--json", path])[0]["functions"]), both);
    assert_eq!(of(&json(&["tree", "--json", path])[0]["nodes"]), both);
    let calls = json(&["calls", "--json", path]);
    let lengths: Vec<_> = calls.iter().map(|call| call["duration"].as_u64()).collect();
    assert_eq!(lengths, [Some(200), Some(500)]);
    let table = stdout(&["top", path]);
    assert_eq!(table.matches("Cart.add").count(), 1, "{table}");
}
