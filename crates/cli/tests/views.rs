//! `top`, `tree`, `flame` and `report` print the same totals, whatever the file.

mod program;

#[path = "../../analysis/src/page/numbers.rs"]
mod columns;
#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use program::{json_rows, run};
use serde_json::Value;

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
        let values = (
            number(&row["self"]),
            number(&row["total"]),
            number(&row["count"]),
        );
        // Overloads are one function.
        let again = functions.insert(name, values);
        assert_eq!(again, None, "{}", row["function"]);
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

/// The trees of the flame graphs on a page.
fn graphs(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a page");
    let parts = text.split("<section class=\"flame\"").skip(1);
    let graphs = |part: &str| -> Vec<Value> {
        let start = part.find("[{\"title\":").expect("data");
        let mut values = serde_json::Deserializer::from_str(&part[start..]).into_iter();
        let mut values: Vec<Value> = values.next().expect("data").expect("JSON");
        // The same calls by what functions belong to; the pages of twelve captures compare those.
        values.retain(|value| value["dimension"] == "method");
        values
    };
    parts.flat_map(graphs).collect()
}

/// A column of a page's data.
fn numbers(page: &Value, name: &str) -> Vec<i64> {
    let text = page[name].as_str();
    columns::numbers(text.unwrap_or_else(|| panic!("column {name}")))
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
    let name = |symbol: i64| {
        let name = &names[usize::try_from(symbol).expect("a row")];
        name.as_str().expect("a name").to_owned()
    };
    let mut functions = fold(
        symbol
            .iter()
            .enumerate()
            .map(|(row, &symbol)| (depths[row], name(symbol), totals[row], own[row], count[row])),
    );
    let rest = &page["rest"];
    if !rest.is_null() {
        let [symbol, own, total, count] =
            ["symbol", "own", "total", "count"].map(|name| numbers(rest, name));
        for (at, &symbol) in symbol.iter().enumerate() {
            let row = functions.entry(name(symbol)).or_default();
            row.0 += own[at];
            row.1 += total[at];
            row.2 += count[at];
        }
    }
    functions
}

fn agree(path: &str, folder: &Path) -> bool {
    let top = run(&["top", "--json", path]);
    let tree = run(&["tree", "--json", "--min-percent", "0", path]);
    let output = folder.join("flame.html");
    let flame = run(&["flame", "--force", "-o", &output.to_string_lossy(), path]);
    assert_eq!(top.status.code(), tree.status.code(), "{path}");
    if !top.status.success() || json_rows(&top).is_empty() {
        assert!(!top.stderr.is_empty(), "{path}: empty without a reason");
        assert!(!flame.status.success(), "{path}: a picture of nothing");
        return false;
    }
    assert!(flame.status.success(), "{path}");
    let written = folder.join("report.html");
    let report = run(&["report", "--force", "-o", &written.to_string_lossy(), path]);
    assert!(
        report.status.success(),
        "{path}: {}",
        String::from_utf8_lossy(&report.stderr)
    );
    let reported = graphs(&written);
    // One page holds the graphs of all values.
    assert_eq!(String::from_utf8_lossy(&flame.stdout).lines().count(), 1);
    let pages = graphs(&output);
    let (tops, trees) = (json_rows(&top), json_rows(&tree));
    assert_eq!(tops.len(), trees.len(), "{path}");
    assert_eq!(tops.len(), pages.len(), "{path}");
    assert_eq!(tops.len(), reported.len(), "{path}");
    for (number, ((top, tree), page)) in tops.iter().zip(&trees).zip(&pages).enumerate() {
        let reported = &reported[number];
        let measure = &top["measure"];
        assert_eq!(top["total"], tree["total"], "{path} {measure}");
        assert_eq!(top["total"], page["total"], "{path} {measure}");
        assert_eq!(top["total"], reported["total"], "{path} {measure}");
        assert_eq!(of_top(top), of_tree(tree), "{path} {measure}: top and tree");
        assert_eq!(
            of_top(top),
            of_page(page),
            "{path} {measure}: top and flame"
        );
        assert_eq!(
            of_page(page),
            of_page(reported),
            "{path} {measure}: flame and report"
        );
    }
    true
}

#[test]
fn totals_agree_where_a_page_leaves_out_the_narrowest_frames() {
    let folder = tempfile::tempdir().expect("a folder");
    for (format, written) in [
        ("chrome", calls_of_many_functions(270_000)),
        ("pprof", program::sample("pprof", 7, 2_500_000)),
    ] {
        let path = folder.path().join(format);
        std::fs::write(&path, written).expect("a file");
        let path = path.to_string_lossy();
        assert!(agree(&path, folder.path()));
        for page in ["report.html", "flame.html"] {
            let page = folder.path().join(page);
            let graph = &graphs(&page)[0];
            let nodes = numbers(graph, "own").len();
            assert!((10_000..=250_000).contains(&nodes), "{nodes} nodes");
            assert!(!graph["rest"].is_null());
            let text = std::fs::read_to_string(&page).expect("a page");
            assert!(text.contains("have no frame of their own"));
        }
        let picture = folder.path().join("x.svg");
        let told = run(&["flame", "--force", "-o", &picture.to_string_lossy(), &path]);
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(told.contains("have no frame of their own"), "{told}");
        let picture = std::fs::read_to_string(&picture).expect("a picture");
        assert!(picture.contains(">more than ") && picture.contains("narrower frame"));
    }
}

/// A Chrome trace of calls of one function, which call so many others, each once.
fn calls_of_many_functions(count: u64) -> Vec<u8> {
    const EACH: u64 = 1_000;
    let event = |name: &str, start: u64, length: u64| {
        let times = format!("\"ts\":{start},\"dur\":{length}");
        format!("{{\"ph\":\"X\",\"pid\":1,\"tid\":1,{times},\"name\":\"{name}\"}}")
    };
    let mut events = Vec::new();
    for number in 0..count {
        let start = number * 300;
        if number % EACH == 0 {
            events.push(event("main", start, EACH * 300));
        }
        events.push(event(&format!("f{number}"), start, 1 + number % 270));
    }
    format!("[{}]", events.join(",\n")).into_bytes()
}

/// The root of a flame graph as JSON, which is deeper than serde_json follows.
fn root(path: &str, folder: &Path) -> (i64, String) {
    let output = folder.join("flame.json");
    let file = output.to_string_lossy();
    let written = run(&[
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
        let tree = run(&["tree", "--json", &path]);
        if name.contains("expected") || !tree.status.success() {
            continue;
        }
        let Some(first) = json_rows(&tree).into_iter().next() else {
            continue;
        };
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

/// The files and folders of the corpus, where there is one.
fn inputs() -> Vec<String> {
    let Some(files) = corpus::files("") else {
        return Vec::new();
    };
    let root = std::env::var("TRACELOOM_CORPUS").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").to_owned()
    });
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
    let inputs = inputs.chain(folders.map(str::to_owned));
    inputs.map(|name| format!("{root}/{name}")).collect()
}

#[test]
fn totals_agree_for_every_file_of_the_corpus() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shown = 0;
    let inputs = inputs();
    if inputs.is_empty() {
        return;
    }
    for path in inputs {
        shown += usize::from(agree(&path, folder.path()));
    }
    assert!(shown >= 40, "only {shown} inputs had something to show");
}

/// Own values and counts of functions in the groups of a tree, and what the groups come to.
fn of_groups(tree: &Value) -> (BTreeMap<String, (i64, i64)>, i64) {
    let (mut functions, mut total) = (BTreeMap::new(), 0);
    for node in tree["nodes"].as_array().expect("nodes") {
        if node["group"] == true {
            assert_eq!(number(&node["depth"]), 0);
            assert_eq!(number(&node["self"]), 0);
            total += number(&node["total"]);
            continue;
        }
        assert!(number(&node["depth"]) > 0, "{node} is in no group");
        let name = node["function"].as_str().expect("a name").to_owned();
        let sum: &mut (i64, i64) = functions.entry(name).or_default();
        sum.0 += number(&node["self"]);
        sum.1 += number(&node["count"]);
    }
    (functions, total)
}

/// What the functions of a whole tree come to, without those of which nothing was counted.
fn of_whole(tree: &Value) -> (BTreeMap<String, (i64, i64)>, i64) {
    let functions = of_tree(tree).into_iter();
    let functions = functions.map(|(name, (own, _, count))| (name, (own, count)));
    (functions.collect(), number(&tree["total"]))
}

fn groups_come_to_the_whole(path: &str, bys: &[&str]) -> usize {
    let whole = run(&["tree", "--json", "--min-percent", "0", path]);
    if !whole.status.success() {
        return 0;
    }
    let whole = json_rows(&whole);
    let mut groups = 0;
    for by in bys {
        let grouped = run(&["tree", "--json", "--min-percent", "0", "--by", by, path]);
        assert!(grouped.status.success(), "{path} by {by}");
        let grouped = json_rows(&grouped);
        assert_eq!(grouped.len(), whole.len(), "{path} by {by}");
        for (grouped, whole) in grouped.iter().zip(&whole) {
            assert_eq!(
                of_groups(grouped),
                of_whole(whole),
                "{path} by {by}: {}",
                whole["measure"]
            );
            let nodes = grouped["nodes"].as_array().expect("nodes");
            groups += nodes.iter().filter(|node| node["group"] == true).count();
        }
        let top = run(&["top", "--json", "--by", by, path]);
        for (top, whole) in json_rows(&top).iter().zip(&whole) {
            let totals = top["groups"].as_array().expect("groups").iter();
            let total: i64 = totals.map(|group| number(&group["total"])).sum();
            assert_eq!(total, number(&whole["total"]), "{path} by {by}");
        }
    }
    groups
}

#[test]
fn groups_come_to_the_whole_for_every_file_of_the_corpus() {
    let mut groups = 0;
    let inputs = inputs();
    if inputs.is_empty() {
        return;
    }
    for path in inputs {
        groups += groups_come_to_the_whole(&path, &["thread", "sql-shape", "web.url"]);
    }
    assert!(groups >= 500, "only {groups} groups");
}

#[test]
fn groups_come_to_the_whole_for_the_shipped_dump() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let bys = ["thread", "service", "title", "kind", "sql-shape", "web.url"];
    assert!(groups_come_to_the_whole(shop, &bys) > 100);
}

#[test]
fn a_group_that_nothing_is_in_is_told() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let top = run(&["top", "--by", "pod", shop]);
    let said = String::from_utf8_lossy(&top.stderr).into_owned();
    assert!(said.contains("--by pod: nothing here has that"), "{said}");
    assert!(String::from_utf8_lossy(&top.stdout).contains("(no pod)"));
    let refused = run(&["tree", "--by", "", shop]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn percentiles_of_calls_are_those_of_their_list() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let calls = json_rows(&run(&["calls", "--json", shop]));
    let groups = json_rows(&run(&["calls", "--json", "--by", "service", shop]));
    let [group] = groups.as_slice() else {
        panic!("{groups:?}");
    };
    assert_eq!(number(&group["calls"]), calls.len() as i64);
    let max = calls.iter().map(|call| number(&call["duration"])).max();
    let partial = number(&group["partial"]);
    assert!(number(&group["durations"]["max"]) <= max.expect("calls") && partial <= 1);
    let kinds = run(&["calls", "--percentiles", "--sort", "-max", "-n", "2", shop]);
    let kinds = String::from_utf8_lossy(&kinds.stdout).into_owned();
    assert!(kinds.contains("p95") && kinds.contains('?'), "{kinds}");
    let refused = run(&["calls", "--by", "thread", "--sort", "p42", shop]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn direct_calls_and_calls_with_a_method_come_to_its_row() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let top = json_rows(&run(&["top", "--json", shop])).remove(0);
    let rows = top["functions"].as_array().expect("functions");
    for row in rows.iter().step_by(40) {
        let name = row["function"].as_str().expect("a name");
        let exactly = format!("^{}$", name.replace(['.', '$', '(', ')', '<', '>'], "."));
        let incoming = json_rows(&run(&["top", "--json", "--incoming", &exactly, shop]));
        let found = &incoming[0];
        assert_eq!(found["total"], row["total"], "{name}");
        let sum = |key: &str| -> i64 {
            let edges = found["functions"].as_array().expect("functions").iter();
            edges.map(|edge| number(&edge[key])).sum()
        };
        assert_eq!(sum("self"), number(&row["self"]), "{name}");
        assert_eq!(sum("count"), number(&row["count"]), "{name}");
        let calls = run(&["calls", "--json", "--with-method", &exactly, shop]);
        let calls = json_rows(&calls);
        let uses: i64 = calls.iter().map(|call| number(&call["uses"])).sum();
        let time: i64 = calls.iter().map(|call| number(&call["used_time"])).sum();
        assert_eq!(uses, number(&row["count"]), "{name}");
        assert_eq!(time, number(&row["total"]), "{name}");
    }
    let outgoing = json_rows(&run(&["top", "--json", "--outgoing", ".", shop]));
    let tree = json_rows(&run(&["tree", "--json", "--min-percent", "0", shop])).remove(0);
    let nodes = tree["nodes"].as_array().expect("nodes").iter();
    let roots = nodes.filter(|node| node["depth"] == 0);
    let roots: i64 = roots.map(|node| number(&node["count"])).sum();
    let all: i64 = rows.iter().map(|row| number(&row["count"])).sum();
    let edges = outgoing[0]["functions"]
        .as_array()
        .expect("functions")
        .iter();
    let called: i64 = edges.map(|edge| number(&edge["count"])).sum();
    assert_eq!(
        called,
        all - roots,
        "everything but the calls themselves is called"
    );
    let none = run(&["top", "--incoming", "no such method", shop]);
    assert!(String::from_utf8_lossy(&none.stderr).contains("no function matches"));
}

#[test]
fn adjusted_times_are_told_and_follow_in_every_view() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let method = "PasswordHasher.matches";
    let plain = json_rows(&run(&["top", "--json", shop])).remove(0);
    let rows = plain["functions"].as_array().expect("functions");
    let name = |row: &&Value| row["function"].as_str().expect("a name").contains(method);
    let row = rows.iter().find(name).expect("the method");
    let gone = format!("{method}=0");
    let adjusted = ["--adjust", gone.as_str(), shop];
    let of = |command: &[&str]| json_rows(&run(&[command, &adjusted].concat())).remove(0);
    let top = of(&["top", "--json"]);
    assert_eq!(
        number(&top["total"]),
        number(&plain["total"]) - number(&row["total"])
    );
    assert_eq!(top["adjusted"], gone.as_str());
    let tree = of(&["tree", "--json", "--min-percent", "0"]);
    assert_eq!(of_top(&top), of_tree(&tree));
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join("rules");
    std::fs::write(&rules, format!("# slower\n\n{method} * 3\n")).expect("a file");
    let file = format!("@{}", rules.display());
    let diff = json_rows(&run(&["diff", "--json", "--adjust", &file, shop])).remove(0);
    let more = 2 * number(&row["self"]);
    let own = diff["functions"].as_array().expect("functions").iter();
    let own: Vec<_> = own.filter(|row| row["self_change"] != 0.0).collect();
    assert_eq!(own.len(), 1, "{own:?}");
    assert_eq!(own[0]["self_change"].as_f64(), Some(more as f64));
    let said = run(&["top", "--adjust", "Foo*x", shop]);
    assert_eq!(said.status.code(), Some(2));
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.contains("--adjust: expected a factor") && said.contains("(column 5)"),
        "{said}"
    );
    std::fs::write(&rules, "a*1\nb").expect("a file");
    let said = run(&["tree", "--adjust", &file, shop]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("line 2: expected METHOD*FACTOR"), "{said}");
    let said = run(&["top", "--adjust", "no such method*2", shop]);
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("no method matches"), "{said}");
}

/// Total of a measure.
fn total_of(top: &Output, measure: &Value) -> Vec<i64> {
    let tables = json_rows(top).into_iter();
    let tables = tables.filter(|table| table["measure"] == *measure);
    tables.map(|table| number(&table["total"])).collect()
}

#[test]
fn filters_choose_samples_as_frames_and_threads_do() {
    let (mut methods, mut threads) = (0, 0);
    for path in inputs().iter().filter(|path| path.contains("/datakit/")) {
        for table in json_rows(&run(&["top", "--json", path])) {
            if table["source"] != "samples" {
                continue;
            }
            let whole = number(&table["total"]);
            let rows = table["functions"].as_array().expect("functions").iter();
            let part = |row: &&Value| (1..whole).contains(&number(&row["total"]));
            let names = rows.filter(part).filter_map(|row| row["function"].as_str());
            let plain = |c: char| c.is_ascii_alphanumeric() || "._:/".contains(c);
            let Some(name) = names.into_iter().find(|name| name.chars().all(plain)) else {
                continue;
            };
            let filter = format!("method = '{name}'");
            let focus = format!("(?i)^{}$", name.replace('.', "\\."));
            let chosen = run(&["top", "--json", "--filter", &filter, path]);
            let focused = run(&["top", "--json", "--focus", &focus, path]);
            let measure = &table["measure"];
            assert_eq!(
                total_of(&chosen, measure),
                total_of(&focused, measure),
                "{path}: {name}"
            );
            methods += 1;
        }
        for table in json_rows(&run(&["top", "--json", "--by", "thread", path])) {
            let groups = table["groups"].as_array().into_iter().flatten();
            let simple = |group: &&Value| {
                let name = group["group"].as_str().unwrap_or("(");
                !name.contains(['(', '\'', '"']) && !name.is_empty()
            };
            let Some(group) = groups.into_iter().find(simple) else {
                continue;
            };
            let filter = format!("thread = '{}'", group["group"].as_str().expect("a name"));
            let chosen = run(&["top", "--json", "--filter", &filter, path]);
            let chosen = total_of(&chosen, &table["measure"]);
            // Names of threads are compared in any case.
            assert!(
                chosen.iter().all(|&total| total >= number(&group["total"])),
                "{path} {filter}"
            );
            threads += usize::from(chosen == [number(&group["total"])]);
        }
    }
    if std::env::var_os("TRACELOOM_CORPUS").is_some() {
        assert!(
            methods >= 20 && threads >= 5,
            "{methods} methods, {threads} threads"
        );
    }
}

/// What functions belong to comes to the same total in the table, the tree and the picture.
#[test]
fn classes_packages_and_libraries_come_to_the_whole() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    for (dimension, name) in [
        ("class", "com.acme.shop.stock.StockLedger"),
        ("package", "com.acme.shop.stock"),
        ("library", "shop-core-4.2.1.jar"),
    ] {
        let flags = ["--json", "--dimension", dimension, shop];
        let top = json_rows(&run(&[&["top"], &flags[..]].concat())).remove(0);
        let rows = top["functions"].as_array().expect("rows");
        let own: i64 = rows.iter().map(|row| number(&row["self"])).sum();
        assert_eq!(own, number(&top["total"]), "{dimension}");
        assert!(rows.iter().any(|row| row["function"] == name), "{top}");
        let all = ["--min-percent", "0"];
        let tree = json_rows(&run(&[&["tree"], &all[..], &flags[..]].concat())).remove(0);
        assert_eq!(of_top(&top), of_tree(&tree), "{dimension}");
        let args = ["flame", shop, "-o", "-", "--dimension", dimension];
        let svg = run(&args);
        assert!(
            String::from_utf8_lossy(&svg.stdout).contains(name),
            "{dimension}"
        );
    }
    for args in [
        &["top", shop, "--dimension", "class", "--hotspots"][..],
        &["top", shop, "--dimension", "thread", "--by", "host"],
        &["flame", shop, "--dimension", "thread", "--by", "host"],
    ] {
        assert_eq!(run(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn threads_are_a_dimension_and_calls_have_no_lines() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    for view in ["top", "tree"] {
        let by = run(&[view, shop, "--json", "--by", "thread"]);
        let dimension = run(&[view, shop, "--json", "--dimension", "thread"]);
        assert_eq!(by.stdout, dimension.stdout, "{view}");
    }
    let svg = run(&["flame", shop, "-o", "-", "--dimension", "thread"]);
    assert!(String::from_utf8_lossy(&svg.stdout).contains("http-nio-8080-exec-12: "));
    let lines = run(&["top", shop, "--json", "--dimension", "line"]);
    assert_eq!(lines.stdout, run(&["top", shop, "--json"]).stdout);
    let said = String::from_utf8_lossy(&lines.stderr);
    assert!(
        said.contains("calls have no lines; functions are shown"),
        "{said}"
    );
}
