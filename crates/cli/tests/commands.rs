//! The program as a user meets it: exit codes, help, pipes, output.

mod program;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use program::{SHOP, command, run, stdout, text};
use serde_json::Value;

fn file_of_shop(stream: &str) -> PathBuf {
    let mut folders = vec![PathBuf::from(SHOP)];
    while let Some(folder) = folders.pop() {
        if folder.ends_with(stream) {
            return folder.join("000001.gz");
        }
        let entries = std::fs::read_dir(folder).expect("a folder of testdata");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        folders.extend(paths.filter(|path| path.is_dir()));
    }
    panic!("testdata has no stream {stream}");
}

#[test]
fn a_path_alone_says_what_is_in_it_and_what_to_do_next() {
    let shown = stdout(&[SHOP]);
    assert!(shown.contains("cdt-dump"), "{shown}");
    assert!(shown.contains("55 call"), "{shown}");
    assert!(
        shown
            .lines()
            .last()
            .unwrap_or("")
            .starts_with("next: traceloom "),
        "{shown}"
    );
}

#[test]
fn a_folder_is_summed_up_by_process() {
    let shown = stdout(&["info", SHOP]);
    let bold = |shown: &str| {
        let names = shown.lines().filter(|line| !line.starts_with(' '));
        names.count()
    };
    // The folder, its one process, and the hint.
    assert_eq!(bold(&shown), 3, "{shown}");
    for part in [
        "8 parts",
        "55 call",
        "time     2026-03-14T",
        "--parts prints every part",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let parts = stdout(&["info", "--parts", SHOP]);
    assert_eq!(bold(&parts), 9, "{parts}");
    assert!(parts.contains("/calls/000001"), "{parts}");
}

#[test]
fn every_empty_answer_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (folded, svg) = (file("a.folded"), file("a.svg"));
    std::fs::write(&folded, "main;a 10\nmain;b 5\n").expect("a file");
    let none = "method=nothing";
    for (args, why) in [
        (&["calls", SHOP, "--filter", none][..], "none of 56 calls"),
        (
            &["calls", SHOP, "--json", "--filter", none],
            "none of 56 calls",
        ),
        (
            &["calls", SHOP, "--by", "thread", "--filter", none],
            "none of 56 calls",
        ),
        (
            &["calls", SHOP, "--with-method", "nothing"],
            "none of 56 calls has the method",
        ),
        (&["calls", &folded], "`traceloom top` shows it"),
        (&["top", SHOP, "--filter", none], "none of 56 calls"),
        (
            &["top", SHOP, "--json", "--filter", none],
            "none of 56 calls",
        ),
        (&["tree", SHOP, "--min-duration", "1h"], "none of 56 calls"),
        (
            &["flame", SHOP, "-o", &svg, "--filter", none],
            "none of 56 calls",
        ),
        (&["timeline", SHOP, "--filter", none], "none of 56 calls"),
        (&["diff", SHOP, SHOP, "--filter", none], "none of 56 calls"),
        (&["top", &folded, "--filter", none], "none of 2 samples"),
        (&["events", SHOP, "--filter", none], "none of 26 events"),
        (
            &["events", SHOP, "--type", "pause", "--filter", none],
            "no event of type `pause`",
        ),
        (&["events", &folded], "no events here"),
        (&["events", &folded, "--json"], "no events here"),
        (&["monitors", &folded], "no monitors"),
        (&["metrics", &folded], "no metrics"),
    ] {
        let output = run(args);
        let told = text(&output.stderr);
        assert!(told.contains(why), "{args:?}: {told}");
        assert_ne!(output.status.code(), Some(2), "{args:?}: {told}");
        let shown = text(&output.stdout);
        assert!(
            !shown.contains("traceloom:") && !shown.contains("no events"),
            "{shown}"
        );
        if args.contains(&"--json") {
            let lines = shown.lines().map(serde_json::from_str::<Value>);
            assert!(lines.into_iter().all(|line| line.is_ok()), "{shown}");
        }
    }
}

#[test]
fn info_prints_the_documented_keys() {
    let calls = file_of_shop("calls");
    let object: Value =
        serde_json::from_str(&stdout(&["info", "--json", &calls.to_string_lossy()])).expect("JSON");
    assert_eq!(object["format"], "cdt-calls");
    assert_eq!(object["wrappers"], serde_json::json!(["gzip"]));
    assert_eq!(
        object["records"],
        serde_json::json!({"call": 55, "calls_header": 1})
    );
    assert_eq!(object["time"]["origin"], "unix");
    assert!(object["decoded_bytes"].as_u64() > object["bytes"].as_u64());
    let folder: Value = serde_json::from_str(&stdout(&["info", "--json", SHOP])).expect("JSON");
    assert_eq!(folder["format"], "cdt-dump");
    assert_eq!(folder["inputs"].as_array().map(Vec::len), Some(8));
}

#[test]
fn dump_prints_a_json_object_a_record_that_tile_the_part() {
    let trace = file_of_shop("trace");
    let mut end = 0;
    for line in stdout(&["dump", "--json", &trace.to_string_lossy()]).lines() {
        let record: Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(record["offset"], end, "{line}");
        end += record["bytes"].as_u64().expect("a length");
    }
    assert!(end > 15_000);
    let three = stdout(&[
        "dump",
        "--json",
        "--start",
        "8",
        "--limit-records",
        "3",
        &trace.to_string_lossy(),
    ]);
    let first: Value = serde_json::from_str(three.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (first["kind"].as_str(), three.lines().count()),
        (Some("block"), 3)
    );
}

#[test]
fn dump_resolves_ids_through_the_dictionary_of_the_recording() {
    let lines = stdout(&["dump", "--json", "--resolve", "--part", "calls", SHOP]);
    let call = lines
        .lines()
        .find(|line| line.contains("\"kind\":\"call\""))
        .expect("a call");
    let call: Value = serde_json::from_str(call).expect("JSON");
    assert!(
        call["method_text"]
            .as_str()
            .is_some_and(|text| text.contains('(')),
        "{call}"
    );
    assert!(
        call["part"]
            .as_str()
            .is_some_and(|part| part.ends_with("calls/000001"))
    );
}

#[test]
fn standard_input_reads_like_a_file() {
    let calls = std::fs::read(file_of_shop("calls")).expect("testdata");
    let mut child = command(&["dump", "--json", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(&calls)
        .expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(
        text(&output.stdout),
        stdout(&["dump", "--json", &file_of_shop("calls").to_string_lossy()])
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = command(&["dump", "--json", SHOP])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn check_fails_on_damage_and_says_where() {
    assert_eq!(run(&["check", SHOP]).status.code(), Some(0));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("calls.bin");
    let mut bytes = vec![
        0xff, 0xfe, 0xfd, 0xfc, 0, 0, 0, 4, 0, 0, 1, 0x89, 0xc1, 0x6d, 0x88, 0x8b,
    ];
    bytes.extend([0xff; 40]);
    std::fs::write(&path, bytes).expect("a file");
    let output = run(&["check", &path.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("damage") && shown.contains("0x10"),
        "{shown}"
    );
    let strict = run(&["top", "--strict", &path.to_string_lossy()]);
    assert_eq!(strict.status.code(), Some(1));
    assert!(!strict.stderr.is_empty());
}

#[test]
fn mistakes_get_a_hint_and_exit_code_2() {
    let misspelt = run(&["inof", SHOP]);
    assert_eq!(misspelt.status.code(), Some(2));
    assert!(
        text(&misspelt.stderr).contains("info"),
        "{}",
        text(&misspelt.stderr)
    );
    let format = run(&["info", "--input-format", "cdt-cals", SHOP]);
    assert_eq!(format.status.code(), Some(2));
    assert!(text(&format.stderr).contains("cdt-calls"));
    let limit = run(&["info", "--limit", "strnig=1", SHOP]);
    assert_eq!(limit.status.code(), Some(2));
    assert!(text(&limit.stderr).contains("string"));
    let filter = run(&["calls", "--filter", "'open", SHOP]);
    assert_eq!(filter.status.code(), Some(2));
    assert!(text(&filter.stderr).contains("column"));
    assert_eq!(run(&["info", "/nonexistent/file"]).status.code(), Some(1));
}

#[test]
fn calls_are_found_again_by_their_id() {
    let lines = stdout(&["calls", "--json", "--sort", "-duration", "-n", "1", SHOP]);
    let call: Value = serde_json::from_str(lines.trim()).expect("one call");
    let id = call["id"].as_str().expect("an id");
    let one: Value = serde_json::from_str(&stdout(&["call", "--json", SHOP, id])).expect("JSON");
    assert_eq!(one["duration_ns"], call["duration"]);
    assert_eq!(one["title"], call["title"]);
    let spans = one["spans"].as_array().expect("spans");
    assert_eq!(spans.len() as u64, call["calls"].as_u64().expect("ENTERs"));
    assert_eq!(run(&["call", SHOP, "no.such.id"]).status.code(), Some(2));
    assert_eq!(run(&["call", SHOP, "6.1.0"]).status.code(), Some(1));
}

#[test]
fn a_call_has_one_id_in_its_row() {
    let head = |columns: &str| {
        let table = stdout(&["calls", "-n", "1", "--csv", "--columns", columns, SHOP]);
        table.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(head("id"), "id");
    assert_eq!(head("duration,id,thread"), "id,duration (ns),thread");
}

#[test]
fn filters_select_the_same_calls_everywhere() {
    let all = stdout(&["calls", "--csv", SHOP]).lines().count() - 1;
    let posts = stdout(&["calls", "--csv", "--filter", "+POST", SHOP])
        .lines()
        .count()
        - 1;
    let others = stdout(&["calls", "--csv", "--filter", "-POST", SHOP])
        .lines()
        .count()
        - 1;
    assert!(posts > 0 && others > 0);
    assert_eq!(posts + others, all);
    let total = |filter: &str| {
        let top: Value =
            serde_json::from_str(stdout(&["top", "--json", "--filter", filter, SHOP]).trim())
                .expect("JSON");
        top["total"].as_i64().expect("a total")
    };
    assert_eq!(total("+POST") + total("-POST"), total(""));
    for condition in [
        "duration > 100ms",
        "$web.method = GET and not error",
        "thread ~ 'exec-1[0-9]$' or cpu >= 60ms",
        "service = shop-backend and duration <= 1s",
    ] {
        let opposite = format!("not ({condition})");
        let count = |filter: &str| {
            let calls = stdout(&["calls", "--csv", "--filter", filter, SHOP]);
            calls.lines().count() - 1
        };
        let (some, rest) = (count(condition), count(&opposite));
        assert!(some > 0 && rest > 0, "{condition}: {some} and {rest}");
        assert_eq!(some + rest, all, "{condition}");
        assert_eq!(
            total(condition) + total(&opposite),
            total(""),
            "{condition}"
        );
    }
}

#[test]
fn both_sides_of_a_function_come_to_its_total() {
    let top: Value = serde_json::from_str(stdout(&["top", "--json", SHOP]).trim()).expect("JSON");
    let rows = top["functions"].as_array().expect("functions");
    assert!(rows.len() > 20);
    for row in rows.iter().take(5) {
        let name = row["function"].as_str().expect("a name");
        let escaped: String = name
            .chars()
            .map(|c| {
                if c.is_alphanumeric() {
                    c.to_string()
                } else {
                    format!("\\{c}")
                }
            })
            .collect();
        let exactly = format!("^{escaped}$");
        for side in ["--callers-of", "--callees-of", "--usages"] {
            let tree = stdout(&["tree", "--json", "--min-percent", "0", side, &exactly, SHOP]);
            let tree: Value = serde_json::from_str(tree.trim()).expect("JSON");
            assert_eq!(tree["total"], row["total"], "{side} {name}");
        }
    }
}

#[test]
fn categories_come_to_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join("rules.txt");
    let text = "web com.acme.shop.order.OrderController\nweb org.springframework.web.\njdbc org.postgresql.\n";
    std::fs::write(&rules, text).expect("a file");
    let rules = rules.to_string_lossy();
    let found: Value =
        serde_json::from_str(stdout(&["top", "--json", "--categories", &rules, SHOP]).trim())
            .expect("JSON");
    let categories = found["categories"].as_array().expect("categories");
    let mut names: Vec<_> = categories
        .iter()
        .map(|row| row["category"].as_str().unwrap_or("rest"))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["jdbc", "rest", "web"]);
    let sum: i64 = categories
        .iter()
        .map(|row| row["self"].as_i64().expect("a value"))
        .sum();
    assert_eq!(Some(sum), found["total"].as_i64());
    std::fs::write(&*rules, "web").expect("a file");
    assert_eq!(
        run(&["top", "--categories", &rules, SHOP]).status.code(),
        Some(2)
    );
    assert!(
        stdout(&["top", "--hotspots", "--categories", "default", SHOP]).contains("org.hibernate.")
    );
    // Nothing is read for them, so that there need be nothing.
    assert_eq!(
        stdout(&["top", "--categories", "default"]),
        stdout(&["top", "--categories", "default", SHOP])
    );
    let none = run(&["top", "--categories", &rules]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("name a PATH"));
}

#[test]
fn conversion_there_and_back_keeps_the_calls() {
    let folder = tempfile::tempdir().expect("a folder");
    let streams = folder.path().join("streams");
    let dump = folder.path().join("dump");
    let convert = |from: &str, to: &Path, format: &str| {
        let output = run(&["convert", from, &to.to_string_lossy(), "--to", format]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    convert(SHOP, &streams, "cdt-streams");
    convert(&streams.to_string_lossy(), &dump, "cdt-dump");
    let columns = "start,duration,cpu,queue,calls,thread,title,memory_used,method,error";
    let list = |path: &str| {
        let text = stdout(&[
            "calls",
            "--csv",
            "--sort",
            "start",
            "--columns",
            columns,
            path,
        ]);
        // Ids name places in files, which conversion moves.
        let rows = text
            .lines()
            .map(|line| line.split_once(',').expect("columns").1.to_owned());
        rows.collect::<Vec<_>>()
    };
    assert_eq!(list(SHOP), list(&streams.to_string_lossy()));
    assert_eq!(list(SHOP), list(&dump.to_string_lossy()));
    let again = run(&["convert", SHOP, &dump.to_string_lossy(), "--to", "cdt-dump"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("--force"));
}

/// Commands that show several inputs, with what they need beside the paths.
const SEVERAL: [&[&str]; 13] = [
    &["info"],
    &["dump", "--limit-records", "1"],
    &["check"],
    &["calls", "-n", "1"],
    &["events"],
    &["top", "-n", "1"],
    &["tree"],
    &["flame", "-o", "-"],
    &["report", "-n", "1", "-o", "-"],
    &["timeline"],
    &["metrics"],
    &["monitors"],
    &["objects"],
];

#[test]
fn an_input_that_is_missing_hides_none_of_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let strange = folder.path().join("strange");
    std::fs::write(&strange, [7; 20]).expect("a file");
    let strange = strange.to_string_lossy();
    for words in SEVERAL {
        let with = |paths: &[&str]| run(&[words, paths].concat());
        let alone = with(&[SHOP]);
        assert_eq!(alone.status.code(), Some(0), "{words:?}");
        for other in ["/nonexistent/file", &strange] {
            let both = with(&[other, SHOP]);
            // What is in a file that nobody knows is for `info` to say, and no failure of it.
            if words[0] != "info" || other != strange {
                assert_eq!(both.status.code(), Some(1), "{words:?} {other}");
            }
            let (shown, all) = (text(&alone.stdout), text(&both.stdout));
            let last = shown.lines().last().unwrap_or("");
            assert!(all.contains(last), "{words:?} {other}: {all}");
        }
        let none = with(&["/nonexistent/file", "/nonexistent/other"]);
        assert_eq!(none.status.code(), Some(1), "{words:?}");
        assert_eq!(text(&none.stderr).lines().count(), 2, "{words:?}");
    }
}

#[test]
fn the_next_command_fits_what_is_there() {
    let next = |path: &str| {
        let shown = text(&run(&[path]).stdout);
        let last = shown.lines().last().unwrap_or("").to_owned();
        last.split(' ').nth(2).unwrap_or("").to_owned()
    };
    assert_eq!(next(SHOP), "calls");
    assert_eq!(next(&file_of_shop("suspend").to_string_lossy()), "events");
    assert_eq!(next(&file_of_shop("dictionary").to_string_lossy()), "dump");
    let folder = tempfile::tempdir().expect("a folder");
    let folded = folder.path().join("a.folded");
    std::fs::write(&folded, "main;work 3\nmain 1\n").expect("a file");
    assert_eq!(next(&folded.to_string_lossy()), "top");
    let damaged = folder.path().join("calls");
    let magic = [0xff, 0xfe, 0xfd, 0xfc, 0, 0, 0, 9, 0, 0, 0, 0];
    std::fs::write(&damaged, magic).expect("a file");
    assert_eq!(next(&damaged.to_string_lossy()), "check");
}

#[test]
fn a_guess_and_a_cut_head_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let told = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("a file");
        text(&run(&["check", &path.to_string_lossy()]).stdout)
    };
    let mut pauses = 1_643_822_464_927_i64.to_be_bytes().to_vec();
    pauses.extend([0x56, 0x43]);
    let guessed = told("a", &pauses);
    assert!(
        guessed.contains("guessed_format at 0x0: taken for cdt-suspend"),
        "{guessed}"
    );
    let named = told("suspend", &pauses);
    assert!(named.contains("0 info"), "{named}");
    for len in [4, 8, 12, 15] {
        let head = [
            0xff, 0xfe, 0xfd, 0xfc, 0, 0, 0, 4, 0, 0, 1, 0x89, 0xc1, 0x6d, 0x88,
        ];
        let cut = told("b", &head[..len]);
        assert!(
            cut.contains("the input ends inside a calls header"),
            "{len}: {cut}"
        );
    }
}

#[test]
fn generated_texts_name_every_command() {
    let help = stdout(&["--help"]);
    let man = stdout(&["man"]);
    for name in [
        "info", "dump", "check", "calls", "call", "events", "top", "tree", "flame", "timeline",
        "monitors", "objects", "metrics", "convert", "slice", "merge", "formats",
    ] {
        assert!(help.contains(&format!("\n  {name} ")), "{name} in --help");
        assert!(man.contains(name), "{name} in the manual page");
        assert!(
            stdout(&[name, "--help"]).contains("Usage: "),
            "{name} --help"
        );
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            stdout(&["completions", shell]).contains("traceloom"),
            "{shell}"
        );
    }
}
