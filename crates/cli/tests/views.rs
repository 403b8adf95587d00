//! `top`, `tree` and `flame` print the same totals, whatever the file.

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn traceloom(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.args(args).output().expect("the program runs")
}

fn json_lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Own value, total and count of each function.
type Functions = BTreeMap<String, (i64, i64, i64)>;

/// Adds up nodes that come depth first; in a recursion the outermost node's total counts.
fn fold(nodes: impl Iterator<Item = (usize, String, i64, i64, i64)>) -> Functions {
    let mut path: Vec<String> = Vec::new();
    let mut functions = Functions::new();
    for (depth, name, total, own, count) in nodes {
        path.truncate(depth);
        let row = functions.entry(name.clone()).or_default();
        row.0 += own;
        if !path.contains(&name) {
            row.1 += total;
        }
        row.2 += count;
        path.push(name);
    }
    functions
}

fn number(value: &Value) -> i64 {
    value.as_i64().expect("an integer")
}

fn of_top(top: &Value) -> Functions {
    let rows = top["functions"].as_array().expect("functions").iter();
    let mut functions = Functions::new();
    for row in rows {
        let name = row["function"].as_str().expect("a name").to_owned();
        // Overloads share a name; the other views are compared by name.
        let sum = functions.entry(name).or_default();
        sum.0 += number(&row["self"]);
        sum.1 += number(&row["total"]);
        sum.2 += number(&row["count"]);
    }
    functions
}

fn of_tree(tree: &Value) -> Functions {
    fold(tree["nodes"].as_array().expect("nodes").iter().map(|node| {
        let name = node["function"].as_str().expect("a name").to_owned();
        let depth = usize::try_from(number(&node["depth"])).expect("a depth");
        (
            depth,
            name,
            number(&node["total"]),
            number(&node["self"]),
            number(&node["count"]),
        )
    }))
}

fn page(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).expect("a page");
    let start = text.find("{\"title\":").expect("data");
    let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter();
    values.next().expect("data").expect("JSON")
}

/// A column of a page's data, as `page.numbers` of its script reads it.
fn numbers(page: &Value, name: &str) -> Vec<i64> {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let text = page[name]
        .as_str()
        .unwrap_or_else(|| panic!("column {name}"));
    let (mut numbers, mut value, mut place) = (Vec::new(), 0_u64, 0);
    for c in text.chars() {
        let digit = DIGITS.find(c).expect("a digit") as u64;
        value |= (digit & 31) << place;
        place += 5;
        if digit & 32 == 0 {
            numbers.push((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
            (value, place) = (0, 0);
        }
    }
    numbers
}

fn of_page(page: &Value) -> Functions {
    let names = page["names"].as_array().expect("names");
    let [symbol, left, own, count] =
        ["symbol", "left", "own", "count"].map(|name| numbers(page, name));
    let mut totals = match page["more"] {
        Value::Null => vec![0; symbol.len()],
        _ => numbers(page, "more"),
    };
    let mut depths = Vec::with_capacity(symbol.len());
    let mut depth = 0;
    for left in left {
        depth -= left;
        depths.push(usize::try_from(depth).expect("a depth"));
        depth += 1;
    }
    let mut below: Vec<i64> = Vec::new();
    for (row, &depth) in depths.iter().enumerate().rev() {
        below.resize(below.len().max(depth + 2), 0);
        totals[row] += own[row] + std::mem::take(&mut below[depth + 1]);
        below[depth] += totals[row];
    }
    fold(symbol.iter().enumerate().map(|(row, &symbol)| {
        let name = &names[usize::try_from(symbol).expect("a row")];
        let name = name.as_str().expect("a name").to_owned();
        (depths[row], name, totals[row], own[row], count[row])
    }))
}

/// A name that two functions share (overloads) would count a recursion between them differently.
fn unambiguous(top: &Value) -> bool {
    let rows = top["functions"].as_array().expect("functions");
    let names: std::collections::BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row["function"].as_str())
        .collect();
    names.len() == rows.len()
}

fn agree(path: &str, folder: &Path) -> bool {
    let top = traceloom(&["top", "--json", path]);
    let tree = traceloom(&["tree", "--json", "--min-percent", "0", path]);
    let output = folder.join("flame.html");
    let flame = traceloom(&["flame", "--force", "-o", &output.to_string_lossy(), path]);
    assert_eq!(top.status.code(), tree.status.code(), "{path}");
    assert_eq!(top.status.code(), flame.status.code(), "{path}");
    if !top.status.success() {
        assert!(!top.stderr.is_empty(), "{path}: fails without a reason");
        return false;
    }
    let pages = String::from_utf8_lossy(&flame.stdout).into_owned();
    let (tops, trees) = (json_lines(&top), json_lines(&tree));
    assert_eq!(tops.len(), trees.len(), "{path}");
    assert_eq!(tops.len(), pages.lines().count(), "{path}");
    for ((top, tree), file) in tops.iter().zip(&trees).zip(pages.lines()) {
        let page = page(&PathBuf::from(file));
        let measure = &top["measure"];
        assert_eq!(top["total"], tree["total"], "{path} {measure}");
        assert_eq!(top["total"], page["total"], "{path} {measure}");
        if unambiguous(top) {
            assert_eq!(of_top(top), of_tree(tree), "{path} {measure}: top and tree");
            assert_eq!(
                of_top(top),
                of_page(&page),
                "{path} {measure}: top and flame"
            );
        }
    }
    true
}

/// The root of a flame graph as JSON, which is deeper than serde_json follows.
fn root(path: &str, folder: &Path) -> (i64, String) {
    let output = folder.join("flame.json");
    let file = output.to_string_lossy();
    let written = traceloom(&[
        "convert",
        path,
        "--to",
        "flamegraph-json",
        "--force",
        "-o",
        &file,
    ]);
    assert!(written.status.success(), "{path}");
    let text = std::fs::read_to_string(&output).expect("a document");
    let after = |key: &str| {
        text.split_once(key)
            .unwrap_or_else(|| panic!("{path}: {key}"))
            .1
    };
    let value = after("\"root_frame\":{\"value\":").split(',').next();
    let unit = after("\"unit\":\"").split('"').next();
    let value = value.and_then(|value| value.parse().ok()).expect("a value");
    (value, unit.expect("a unit").to_owned())
}

#[test]
fn flame_graph_json_is_of_the_value_that_the_views_show_first() {
    let Some(files) = corpus::files("datakit") else {
        return;
    };
    let base = std::env::var("TRACELOOM_CORPUS").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").to_owned()
    });
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    for name in files {
        let path = format!("{base}/{name}");
        let tree = traceloom(&["tree", "--json", &path]);
        if name.contains("expected") || !tree.status.success() {
            continue;
        }
        let first = json_lines(&tree).remove(0);
        let (value, unit) = root(&path, folder.path());
        assert_eq!(
            number(&first["total"]),
            value,
            "{name}: {}",
            first["measure"]
        );
        assert_eq!(first["unit"], unit.as_str(), "{name}");
        compared += 1;
    }
    assert!(compared >= 20, "only {compared} files have samples");
}

#[test]
fn totals_agree_for_the_shipped_dump() {
    let folder = tempfile::tempdir().expect("a folder");
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    assert!(agree(shop, folder.path()));
}

#[test]
fn totals_agree_for_every_file_of_the_corpus() {
    let Some(files) = corpus::files("") else {
        return;
    };
    let root = std::env::var("TRACELOOM_CORPUS").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").to_owned()
    });
    let folder = tempfile::tempdir().expect("a folder");
    let facts = |name: &String| {
        name.contains("expected") || name.ends_with(".md") || name.contains("chunk")
    };
    let inputs = files.into_iter().filter(|name| !facts(name));
    let folders = [
        "cdt/test-service",
        "cdt/dump",
        "zorka/gen-b-agent-streaming",
        "zorka/gen-c-agent-local",
    ];
    let mut shown = 0;
    for name in inputs.chain(folders.map(str::to_owned)) {
        shown += usize::from(agree(&format!("{root}/{name}"), folder.path()));
    }
    assert!(shown >= 40, "only {shown} inputs had something to show");
}
