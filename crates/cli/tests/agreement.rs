//! Views of calls agree on the total, whatever is filtered.

mod program;

#[path = "../../formats/tests/corpus/mod.rs"]
mod corpus;

use std::path::Path;

use program::{SHOP, json_rows, run, sample};
use serde_json::Value;
use traceloom_analysis::stage::Tee;
use traceloom_analysis::{Functions, TreeBuilder, TreeOptions, TreeSource};
use traceloom_formats::LowerOptions;
use traceloom_input::{Input, OpenOptions};
use traceloom_model::{
    Asks, Clock, Definitions, Flow, Note, Order, PathBatch, SampleBatch, Sink, SpanBatch,
    StepBatch, StringId, Wants,
};

/// Returns the total of `top` or `tree` over calls, 0 where there are none.
fn total(view: &str, path: &str, flags: &[&str]) -> i64 {
    shown(view, path, flags).0
}

/// Returns the total of `top` or `tree` over calls, and whether it is of async tracks.
fn shown(view: &str, path: &str, flags: &[&str]) -> (i64, bool) {
    let output = run(&[&[view, "--json", path], flags].concat());
    let measures = json_rows(&output);
    let wall = measures.iter().find(|measure| {
        measure["measure"] == "wall" && measure.get("source").is_none_or(|of| of == "calls")
    });
    wall.map_or((0, false), |wall| {
        let total = wall["total"].as_i64().expect("a total");
        (total, wall["tracks"] == "async")
    })
}

/// Returns the total of the calls in no other call that are on thread or on async tracks, and how many calls are listed.
fn listed(path: &str, flags: &[&str], on_async: bool) -> (i64, usize) {
    let list = [
        "calls",
        "--json",
        "--columns",
        "duration,nested,async",
        path,
    ];
    let calls = json_rows(&run(&[&list, flags].concat()));
    let counted = calls
        .iter()
        .filter(|call| call["nested"] == false && call["async"] == on_async);
    let total = counted.map(|call| call["duration"].as_i64().expect("a duration"));
    (total.sum(), calls.len())
}

/// Returns the total of the first graph of calls in a page, 0 where it has none.
fn drawn(view: &str, path: &str, flags: &[&str], page: &Path) -> i64 {
    let name = page.to_string_lossy();
    let output = run(&[&[view, path, "--force", "-o", &name], flags].concat());
    if !output.status.success() {
        return 0;
    }
    let text = std::fs::read_to_string(page).expect("a page");
    let Some((_, graph)) = text.split_once("\"source\":\"calls\"") else {
        return 0;
    };
    let (_, total) = graph.split_once("\"total\":").expect("a total");
    let end = total.find(|c: char| c != '-' && !c.is_ascii_digit());
    total[..end.expect("more")].parse().expect("a number")
}

const FILTERS: [&[&str]; 13] = [
    &[],
    &["--errors"],
    &["--min-duration", "500ms"],
    &["--filter", "time >= 2026-03-14T04:52:00Z"],
    &["--filter", "time < 2026-03-14T04:51:55Z"],
    &["--filter", "duration > 100ms and not error"],
    &["--filter", "+GET -search"],
    &["--filter", "thread ~ exec"],
    &["--since", "2026-03-14T04:51:57.2Z"],
    &["--since", "+9s", "--until", "+10s"],
    &["--until", "-1s", "--min-duration", "200ms"],
    &["--since", "+2s", "--filter", "$web.method=POST"],
    &["--since", "+2s", "--errors"],
];

#[test]
fn every_view_of_the_shipped_dump_has_one_total_under_every_filter() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.html");
    let rules = folder.path().join("rules.txt");
    let text = "org.springframework.* * EXCLUDE\n* find* EXCLUDE\n* * INCLUDE\n";
    std::fs::write(&rules, text).expect("a file");
    let rules = rules.to_string_lossy();
    let hidden = ["--filter-file", &rules];
    let hidden_long = ["--filter-file", &rules, "--min-duration", "300ms"];
    let filters = FILTERS.iter().copied();
    let mut totals = Vec::new();
    for flags in filters.chain([&hidden[..], &hidden_long]) {
        let top = total("top", SHOP, flags);
        assert_eq!(total("tree", SHOP, flags), top, "tree {flags:?}");
        assert_eq!(listed(SHOP, flags, false).0, top, "calls {flags:?}");
        assert_eq!(drawn("flame", SHOP, flags, &page), top, "flame {flags:?}");
        assert_eq!(drawn("report", SHOP, flags, &page), top, "report {flags:?}");
        if !flags.is_empty() {
            let part = folder.path().join("part").to_string_lossy().into_owned();
            let output = run(&[&["slice", SHOP, &part, "--force"], flags].concat());
            assert!(output.status.success(), "slice {flags:?}");
            assert_eq!(total("top", &part, &[]), top, "slice {flags:?}");
        }
        totals.push(top);
    }
    assert_eq!((totals[0], totals[3]), (13_870_000_000, 4_322_000_000));
    // No filter is one that takes all or nothing.
    for (total, flags) in totals.iter().zip(&FILTERS).skip(1) {
        assert!(0 < *total && *total < totals[0], "{flags:?}: {total}");
    }
}

#[test]
fn views_and_conversions_of_samples_take_the_same_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (whole, part) = (path("whole.jfr"), path("part.pb"));
    std::fs::write(&whole, sample("jfr", 7, 100_000)).expect("a file");
    let totals = |path: &str, flags: &[&str]| {
        let measures = json_rows(&run(&[&["top", "--json", path], flags].concat()));
        let of_samples = measures.iter().filter(|row| row["source"] == "samples");
        let totals = of_samples.map(|row| (row["measure"].to_string(), row["total"].to_string()));
        totals.collect::<std::collections::BTreeMap<_, _>>()
    };
    let all = totals(&whole, &[]);
    let mut partial = 0;
    for filter in [
        "thread ~ 1",
        "not thread ~ 1",
        "method ~ [a-m]",
        "class ~ java",
    ] {
        let flags = ["--filter", filter];
        let shown = totals(&whole, &flags);
        partial += usize::from(shown != all && !shown.is_empty());
        let to = ["convert", &whole, "-o", &part, "--to", "pprof", "--force"];
        run(&[&to, &flags[..]].concat());
        for (measure, total) in totals(&part, &[]) {
            assert_eq!(shown.get(&measure), Some(&total), "{filter}: {measure}");
        }
    }
    assert!(partial > 0, "no filter takes some and not others");
}

#[test]
fn top_and_calls_agree_for_every_file_of_the_corpus() {
    let Some(files) = corpus::files("") else {
        return;
    };
    let root = std::env::var("TRACELOOM_CORPUS").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").to_owned()
    });
    // Sampled profiles have no calls, and pieces of a file are parts of one that is looked at.
    let of_calls = |name: &String| {
        !(name.contains("expected")
            || name.ends_with(".md")
            || name.starts_with("datakit/")
            || name.contains("heph/derived")
            || name.contains(".chunk"))
    };
    let folders = [
        "cdt/test-service",
        "cdt/dump",
        "cdt/torn",
        "heph/real",
        "zorka/gen-b-agent-streaming",
        "zorka/gen-c-agent-local",
        "zorka/gen-c-writer",
    ];
    let names = files.into_iter().filter(of_calls);
    let names = names.chain(folders.map(str::to_owned));
    let filters: [&[&str]; 5] = [
        &[],
        &["--async"],
        &["--min-duration", "2ms"],
        &["--filter", "not error"],
        &["--since", "+1ms", "--until", "-1ms"],
    ];
    let (mut with_calls, mut across, mut async_only) = (0, 0, 0);
    for name in names {
        let path = format!("{root}/{name}");
        for flags in filters {
            let (top, on_async) = shown("top", &path, flags);
            async_only += usize::from(on_async);
            if flags == ["--async"] {
                let list = [
                    "calls",
                    "--json",
                    "--columns",
                    "duration,nested,async",
                    &path,
                ];
                let calls = json_rows(&run(&list));
                across += usize::from(calls.iter().any(|call| call["async"] == true));
                let outer = calls.iter().filter(|call| call["nested"] == false);
                let all = outer.map(|call| call["duration"].as_i64().expect("a duration"));
                assert_eq!(all.sum::<i64>(), top, "{name} {flags:?}");
                continue;
            }
            let (calls, listed) = listed(&path, flags, on_async);
            assert_eq!(calls, top, "{name} {flags:?}");
            with_calls += usize::from(flags.is_empty() && listed > 0);
        }
    }
    assert!(with_calls >= 60 && across >= 5, "{with_calls} {across}");
    assert!(async_only >= 4, "{async_only}");
}

#[test]
fn a_running_call_is_listed_and_marked() {
    let shortest = ["calls", SHOP, "--json", "--sort", "duration", "-n", "2"];
    let shortest = json_rows(&run(&shortest));
    let running = &shortest[0];
    assert_eq!(running["status"], "running");
    assert_eq!(running["duration"], 2_000_000_i64);
    assert_eq!(shortest[1]["status"], "complete");
    assert_eq!(json_rows(&run(&["calls", SHOP, "--json"])).len(), 56);

    let csv = run(&[
        "calls",
        SHOP,
        "--csv",
        "--sort",
        "duration",
        "-n",
        "2",
        "--columns",
        "status",
    ]);
    let csv = String::from_utf8_lossy(&csv.stdout).into_owned();
    let cells: Vec<_> = csv.lines().map(|line| line.rsplit(',').next()).collect();
    assert_eq!(cells, [Some("status"), Some("running"), Some("complete")]);

    let table = run(&["calls", SHOP, "--sort", "duration", "-n", "2"]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].contains(" status "), "{table}");
    assert!(lines[1].contains(" running "), "{table}");
    assert_eq!(
        lines[3],
        "56 calls, total 13.870 s, 2 shown; -n 0 prints all"
    );

    // Its end is not known, so it says nothing about how long most calls take.
    let sums = ["calls", SHOP, "--json", "--by", "method"];
    let sums = json_rows(&run(&sums));
    let partial: i64 = sums.iter().filter_map(|sum| sum["partial"].as_i64()).sum();
    let calls: i64 = sums.iter().filter_map(|sum| sum["calls"].as_i64()).sum();
    assert_eq!((partial, calls), (1, 56));

    // Its id leads to it.
    let id = running["id"].as_str().expect("an id");
    let call = json_rows(&run(&["call", SHOP, id, "--json"]));
    assert_eq!(call[0]["duration_ns"], running["duration"]);
}

#[test]
fn several_inputs_make_one_list_in_time_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let shift = |name: &str, by: &str| {
        let out = folder.path().join(name).to_string_lossy().into_owned();
        let made = run(&[
            "convert",
            SHOP,
            &out,
            "--to",
            "chrome",
            "--shift",
            &format!("{SHOP}={by}"),
        ]);
        assert!(made.status.success());
        out
    };
    let (early, late) = (shift("early.json", "-10ms"), shift("late.json", "+10ms"));
    let both = [late.as_str(), early.as_str()];
    let list = |flags: &[&str]| {
        let args = [
            &["calls", "--json", "--columns", "start,duration"],
            flags,
            &both,
        ]
        .concat();
        json_rows(&run(&args))
    };
    let all = list(&[]);
    assert_eq!(all.len(), 112);
    let number = |row: &Value, column: &str| row[column].as_i64().expect("a number");
    assert!(all.is_sorted_by_key(|row| number(row, "start")));
    let paths: Vec<_> = all.iter().map(|row| row["path"].as_str()).collect();
    let of = |path: &str| paths.iter().filter(|known| **known == Some(path)).count();
    assert_eq!((of(&early), of(&late)), (56, 56));
    assert_eq!(paths.first(), Some(&Some(early.as_str())));
    let changes = paths.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes > 20, "{changes}: one list after the other");

    let mut expected: Vec<_> = all.iter().map(|row| number(row, "duration")).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    let cut = list(&["--sort", "-duration", "-n", "5"]);
    let durations: Vec<_> = cut.iter().map(|row| number(row, "duration")).collect();
    assert_eq!(durations, expected[..5]);
    assert_eq!(list(&["-n", "3"]), all[..3]);

    let table = run(&[&["calls", "-n", "4"], &both[..]].concat());
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert_eq!(table.lines().count(), 6);
    let last = table.lines().last().expect("a summary");
    assert_eq!(last, "112 calls, total 27.740 s, 4 shown; -n 0 prints all");
}

/// Returns what a refused command says, in one line.
fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn a_value_that_nothing_has_is_an_error_that_names_those_that_are_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (out, samples) = (at("out.html"), at("samples.pb"));
    for view in ["top", "tree", "flame", "report"] {
        let mut args = vec![view, SHOP, "--value", "cpu"];
        if matches!(view, "flame" | "report") {
            args.extend(["-o", &out]);
        }
        let said = refused(&args);
        assert!(
            said.contains("--value cpu: nothing here has it; there are wall."),
            "{said}"
        );
        assert!(
            said.contains("cpu_time") && said.contains("traceloom calls"),
            "{said}"
        );
    }
    assert!(!Path::new(&out).exists());
    assert!(refused(&["diff", SHOP, SHOP, "--value", "cpu"]).contains("there are wall."));
    let said = refused(&["convert", SHOP, &at("x.folded"), "--value", "cpu"]);
    assert!(
        said.contains("--value cpu: there are no sampled values here"),
        "{said}"
    );

    let made = run(&["convert", SHOP, &samples, "--to", "pprof", "--as-samples"]);
    assert!(made.status.success());
    let named = json_rows(&run(&["info", &samples, "--json"]));
    let values = named[0]["values"].as_array().expect("values");
    let first = values[0]["type"].as_str().expect("a name");
    let said = refused(&["top", &samples, "--value", &format!("{first}x")]);
    assert!(said.contains(&format!("did you mean `{first}`?")), "{said}");

    // Calls have wall time, and samples beside them what they have.
    assert_eq!(total("top", SHOP, &["--value", "wall"]), 13_870_000_000);
    let both = ["top", "--json", SHOP, &samples, "--value", first];
    let both = json_rows(&run(&both));
    assert_eq!(both.len(), 1);
    assert_eq!(both[0]["source"], "samples");
}

#[test]
fn async_tracks_show_where_threads_have_nothing_and_are_announced_where_they_have_little() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let actor = r#"{"ph":"b","cat":"a","id":1,"pid":1,"tid":1,"name":"actor","ts":0},
        {"ph":"b","cat":"a","id":1,"pid":1,"tid":1,"name":"step","ts":100},
        {"ph":"e","cat":"a","id":1,"pid":1,"tid":1,"name":"step","ts":400},
        {"ph":"e","cat":"a","id":1,"pid":1,"tid":1,"name":"actor","ts":1000}"#;
    let poll = r#"{"ph":"X","pid":1,"tid":1,"name":"poll","ts":0,"dur":40}"#;
    let (only, both, page) = (at("only.json"), at("both.json"), at("page.html"));
    std::fs::write(&only, format!("[{actor}]")).expect("a file");
    std::fs::write(&both, format!("[{actor},{poll}]")).expect("a file");

    for view in ["top", "tree"] {
        assert_eq!(shown(view, &only, &[]), (1_000_000, true), "{view}");
        assert_eq!(shown(view, &both, &[]), (40_000, false), "{view}");
        assert_eq!(
            shown(view, &both, &["--async"]),
            (1_040_000, false),
            "{view}"
        );
        let said = run(&[view, &only]);
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(
            said.starts_with("wall (async tracks) of calls, total 1 ms"),
            "{said}"
        );
        assert!(said.contains("step"), "{said}");
        let said = run(&[view, &both]);
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(
            said.starts_with("wall (without 1 async call of 1 ms: --async) of calls"),
            "{said}"
        );
        let measures = json_rows(&run(&[view, &both, "--json"]));
        assert_eq!(measures[0]["async_left_out"]["total"], 1_000_000);
        // One rule over everything given: the threads of one recording are enough.
        let two = ["--json", &both, &only];
        let two = json_rows(&run(&[&[view], &two[..]].concat()));
        assert_eq!((two.len(), &two[0]["total"]), (1, &40_000.into()), "{view}");
    }
    for view in ["flame", "report"] {
        assert_eq!(
            drawn(view, &only, &[], Path::new(&page)),
            1_000_000,
            "{view}"
        );
        assert_eq!(drawn(view, &both, &[], Path::new(&page)), 40_000, "{view}");
        let text = std::fs::read_to_string(&page).expect("a page");
        assert!(
            text.contains("without 1 async call of 1 ms: --async"),
            "{view}"
        );
    }
    // A part that is worth a look is announced, however much threads hold beside it, and a hundredth is not.
    for (thread, is_announced) in [(2_000, true), (20_000, true), (100_000, false)] {
        let poll = format!(r#"{{"ph":"X","pid":1,"tid":1,"name":"poll","ts":0,"dur":{thread}}}"#);
        std::fs::write(&both, format!("[{actor},{poll}]")).expect("a file");
        for view in ["top", "tree"] {
            let said = run(&[view, &both]);
            let said = String::from_utf8_lossy(&said.stdout).into_owned();
            let remark = "(without 1 async call of 1 ms: --async)";
            assert_eq!(said.contains(remark), is_announced, "{view}: {said}");
        }
    }
    // A filter that takes no call of a thread does not make others count.
    let none = total("top", &both, &["--filter", "actor"]);
    assert_eq!(none, 0);
}

/// `-n` cuts what programs read as it cuts what people do, and the header's total stays that of all rows.
#[test]
fn rows_are_as_many_as_asked_for_in_every_output() {
    for extra in [
        &[][..],
        &["--percentiles"],
        &["--focus", "acme"],
        &["--sort", "total"],
    ] {
        let top = |flags: &[&str]| run(&[&["top", SHOP], extra, flags].concat());
        let of_json = |flags: &[&str]| {
            let row = json_rows(&top(&[&["--json"], flags].concat())).remove(0);
            let functions = row["functions"].as_array().expect("functions").clone();
            (row["total"].clone(), functions)
        };
        let (all, cut) = (of_json(&[]), of_json(&["-n", "3"]));
        assert!(all.1.len() > 30);
        assert_eq!((cut.0, &cut.1[..]), (all.0.clone(), &all.1[..3]));
        assert_eq!(of_json(&["-n", "0"]), all);
        // No function's own time is in another's: together they are what the header says.
        let own = all.1.iter().map(|row| row["self"].as_i64().expect("ns"));
        assert_eq!(Some(own.sum::<i64>()), all.0.as_i64(), "{extra:?}");
        let lines = |flags: &[&str]| String::from_utf8_lossy(&top(flags).stdout).lines().count();
        assert_eq!(lines(&["--csv", "-n", "3"]), 4);
        assert_eq!(lines(&["--csv"]), all.1.len() + 1);
        assert_eq!(lines(&["-n", "3"]), 6);
    }
    let by = ["top", SHOP, "--json", "--by", "thread", "-n", "2"];
    let groups = json_rows(&run(&by));
    let groups = groups[0]["groups"].as_array().expect("groups").clone();
    assert_eq!(groups.len(), 2);
}

/// Asks for other things than a tree does, and counts those that only a reader with a short way brings.
struct Asked {
    builder: TreeBuilder,
    asks: fn(Asks) -> Asks,
    steps: usize,
    paths: usize,
}

impl Sink for Asked {
    fn asks(&self) -> Asks {
        (self.asks)(self.builder.asks())
    }

    fn begin(&mut self, order: Order, clock: Clock) {
        self.builder.begin(order, clock);
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.builder.define(new)
    }

    fn steps(&mut self, batch: StepBatch) -> Flow {
        self.steps += batch.len();
        self.builder.steps(batch)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        self.builder.spans(batch)
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        self.builder.samples(batch)
    }

    fn paths(&mut self, batch: PathBatch) -> Flow {
        self.paths += batch.len();
        self.builder.paths(batch)
    }

    fn forget(&mut self, strings: &[StringId]) {
        self.builder.forget(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// A function's name, own value, total, count and partial calls; the last of a measure is what all of it comes to.
type SummedRow = (String, i64, i64, u64, u64);

/// Returns what the calls or samples of an input come to, and how many steps and paths came.
fn summed(
    path: &str,
    asks: fn(Asks) -> Asks,
    functions: bool,
    source: TreeSource,
) -> (Vec<SummedRow>, [usize; 2]) {
    let mut all = Vec::new();
    let mut came = [0, 0];
    let Ok(input) = Input::open(path, &OpenOptions::default()) else {
        return (all, came);
    };
    for document in input.documents() {
        if document
            .format()
            .is_none_or(|format| format.lower.is_none())
        {
            continue;
        }
        let options = TreeOptions {
            functions,
            ..TreeOptions::default()
        };
        let mut sink = Asked {
            builder: TreeBuilder::new(options),
            asks,
            steps: 0,
            paths: 0,
        };
        let options = LowerOptions::default();
        let lowered = match asks(Asks::default()).wants == Wants::SpansAndSteps {
            true => {
                sink.asks = |asks| asks;
                let mut spans = EverySpan;
                let mut tee = Tee::new(vec![&mut sink as &mut dyn Sink, &mut spans]);
                traceloom_input::lower(&document, &options, &mut tee)
            }
            false => traceloom_input::lower(&document, &options, &mut sink),
        };
        if lowered.is_err() {
            continue;
        }
        came = [came[0] + sink.steps, came[1] + sink.paths];
        let of_all: Vec<Functions> = match functions {
            true => {
                let [functions, _] = sink.builder.finish_functions();
                functions
            }
            false => {
                let trees = sink.builder.finish().into_trees();
                trees.map(Functions::of).collect()
            }
        };
        for one in of_all.iter().filter(|one| one.measure.source == source) {
            all.extend(one.rows.iter().map(|row| {
                let name = one.symbols.name(row.symbol).to_owned();
                (name, row.own, row.total, row.count, row.partial)
            }));
            let whole = (one.measure.name.clone(), one.whole, one.total);
            all.push((whole.0, whole.1, whole.2, one.entries, 0));
        }
    }
    all.sort();
    (all, came)
}

/// Asks for what a tree does, and shares the reading with a sink of spans.
fn beside_spans(asks: Asks) -> Asks {
    Asks {
        wants: Wants::SpansAndSteps,
        ..asks
    }
}

/// Takes spans, and keeps nothing.
struct EverySpan;

impl Sink for EverySpan {
    fn define(&mut self, _new: Definitions) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// A stream of a call whose rows go with its steps, and one of so many records that they wait for none.
fn short_and_long(folder: &Path) -> String {
    let mut events = Vec::new();
    let mut at = 1_000_000;
    for (name, n_inner) in [("app.First.a", 5_000), ("app.Second.b", 20_000)] {
        let event = |name: &str, at: u64, length: u64| {
            format!(r#"{{"name":"{name}","ph":"X","ts":{at},"dur":{length},"pid":1,"tid":1}}"#)
        };
        events.push(event(name, at, n_inner * 10 + 10));
        let inner = (0..n_inner).map(|row| event(&format!("{name}.inner"), at + 5 + row * 10, 8));
        events.extend(inner);
        at += n_inner * 10 + 100;
    }
    let [json, stream] = ["long.json", "long.zorka-c"].map(|name| folder.join(name));
    std::fs::write(&json, format!("[{}]", events.join(","))).expect("a file");
    let [json, stream] = [json, stream].map(|path| path.to_string_lossy().into_owned());
    run(&["convert", &json, &stream, "--to", "zorka-c"]);
    stream
}

/// Returns every file below folders of the corpus, and the folders.
fn corpus_paths(parts: &[&str]) -> Vec<String> {
    let root = corpus::root().into_iter();
    let folders = root.flat_map(|root| parts.iter().map(move |part| root.join(part)));
    let paths = folders.flat_map(|folder| {
        let files = corpus::files_below(&folder).into_iter();
        let files: Vec<_> = files.map(|(name, _)| folder.join(name)).collect();
        files.into_iter().chain([folder])
    });
    paths
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

#[test]
fn paths_say_what_stacks_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut paths = Vec::new();
    for format in ["folded", "pprof"] {
        let path = folder.path().join(format);
        std::fs::write(&path, sample(format, 5, 300_000)).expect("a file");
        paths.push(path.to_string_lossy().into_owned());
    }
    // A process and a thread, no stack, frames without a name, the same again, and columns of a comparison.
    for (at, text) in [
        "java-?/7;main-?/8;a;b 3\njava-?/7;main-?/8;a;c 4\na;b_[j];b_[k] 2\n 5\n;; 6\na;b_[j];b_[k] -1\na;a;b;a 9\n",
        "a;b 1 2\na;c 3 0\na;b 1 2\n",
    ]
    .into_iter()
    .enumerate()
    {
        let path = folder.path().join(format!("{at}.folded"));
        std::fs::write(&path, text).expect("a file");
        paths.push(path.to_string_lossy().into_owned());
    }
    paths.extend(corpus_paths(&["datakit"]));
    let (mut compared, mut all) = (0, 0);
    for path in paths {
        let with_stacks = |asks: Asks| Asks {
            stacks: true,
            ..asks
        };
        let (stacks, none) = summed(&path, with_stacks, true, TreeSource::Samples);
        assert_eq!(none[1], 0, "{path}");
        let (told, came) = summed(&path, |asks| asks, true, TreeSource::Samples);
        assert_eq!(told, stacks, "{path}");
        all += came[1];
        compared += usize::from(came[1] > 0);
    }
    assert!(compared >= 4 && all > 100, "{compared} inputs, {all} paths");
}

#[test]
fn steps_say_what_spans_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut paths = vec![SHOP.to_owned()];
    for format in ["zorka-c", "zorka-b2"] {
        let whole = sample(format, 5, 200_000);
        // Records without a beginning or an end, times that go back.
        for harm in 0..24 {
            let mut bytes = whole.clone();
            for at in (harm * 31..bytes.len()).step_by(9973).filter(|_| harm > 0) {
                bytes[at] ^= 1 << (harm % 8);
            }
            bytes.truncate(bytes.len() - harm * 5);
            let path = folder.path().join(format!("{format}-{harm}"));
            std::fs::write(&path, bytes).expect("a file");
            paths.push(path.to_string_lossy().into_owned());
        }
    }
    paths.push(short_and_long(folder.path()));
    paths.extend(corpus_paths(&["cdt", "zorka"]));
    let (mut compared, mut steps, mut beside) = (0, 0, 0);
    for path in paths {
        let rows = |asks: Asks| Asks {
            wants: Wants::Spans,
            ..asks
        };
        let (spans, none) = summed(&path, rows, false, TreeSource::Spans);
        assert_eq!(none[0], 0, "{path}");
        for functions in [false, true] {
            let (told, came) = summed(&path, |asks| asks, functions, TreeSource::Spans);
            assert_eq!(told, spans, "{path}, functions alone: {functions}");
            steps += usize::from(came[0] > 0);
        }
        // Of a reader that pushes both, the tree takes the steps, and spans that are in none.
        let (told, came) = summed(&path, beside_spans, false, TreeSource::Spans);
        assert_eq!(told, spans, "{path}, steps beside spans");
        beside += usize::from(came[0] > 0);
        compared += usize::from(!spans.is_empty());
    }
    assert!(
        compared > 2 && steps > 4 && beside > 2,
        "{compared} inputs, {steps} with steps, {beside} with steps beside spans"
    );
}
