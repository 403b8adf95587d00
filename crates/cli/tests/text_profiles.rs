//! Profiles as servers print them for people: Go's `debug=1` and `debug=2`, symbolized gperftools, V8's heap.

mod program;

use std::path::Path;

use program::run;
use serde_json::Value;

/// Writes a file and returns the tables of `top`: the measure, its total, and name, self and total of each function.
type Table = (String, i64, Vec<(String, i64, i64)>);

fn top(folder: &Path, name: &str, bytes: &[u8], more: &[&str]) -> Vec<Table> {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file");
    let path = path.to_string_lossy();
    let shown = run(&[&["top", "--json", &path], more].concat());
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.success(), "{name}: {said}");
    let text = String::from_utf8(shown.stdout).expect("text");
    let tables = text.lines().map(|line| {
        let table: Value = serde_json::from_str(line).expect("JSON");
        let number = |value: &Value| value.as_i64().expect("an integer");
        let rows = table["functions"].as_array().expect("functions").iter();
        let rows = rows.map(|row| {
            let name = row["function"].as_str().expect("a name").to_owned();
            (name, number(&row["self"]), number(&row["total"]))
        });
        let measure = table["measure"].as_str().expect("a name").to_owned();
        (measure, number(&table["total"]), rows.collect())
    });
    tables.collect()
}

fn rows(table: &[(&str, i64, i64)]) -> Vec<(String, i64, i64)> {
    let row = |&(name, own, total): &(&str, i64, i64)| (name.to_owned(), own, total);
    table.iter().map(row).collect()
}

#[test]
fn a_symbolized_cpu_profile_has_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bytes =
        b"--- symbol\nbinary=/srv/app\n0x5 leaf\n0x16 a--b\n---\n--- profile\n".to_vec();
    let words: [u64; 16] = [0, 3, 0, 1_000, 0, 3, 2, 5, 0x16, 1, 2, 5, 0x26, 2, 1, 0x16];
    let words = words.iter().chain(&[0, 1, 0]);
    bytes.extend(words.flat_map(|word| word.to_le_bytes()));
    let tables = top(folder.path(), "x.prof", &bytes, &["--value", "cpu"]);
    let expected = rows(&[
        ("leaf", 4_000_000, 4_000_000),
        ("b", 2_000_000, 5_000_000),
        ("a", 0, 5_000_000),
        ("app+0x26", 0, 1_000_000),
    ]);
    assert_eq!(tables[0].1, 6_000_000);
    assert_eq!(tables[0].2, expected);
}

#[test]
fn what_go_prints_for_people_is_a_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let counted =
        b"goroutine profile: total 3\n2 @ 0x11 0x21 0x31\n#\t0x10\tmain.wait+0x1\t/a.go:7\n\
        #\t0x20\tmain.main+0x1\t/a.go:9\n\n1 @ 0x21 0x31\n#\t0x20\tmain.main+0x1\t/a.go:9\n\n";
    let tables = top(folder.path(), "goroutine.txt", counted, &[]);
    assert_eq!(tables[0].1, 3);
    assert_eq!(
        tables[0].2,
        rows(&[("main.wait", 2, 2), ("main.main", 1, 3)])
    );

    let dump = b"goroutine 1 [running]:\nmain.wait(0x1)\n\t/a.go:7 +0x1\nmain.main()\n\t/a.go:9 +0x1\n\n\
        goroutine 7 [chan receive, 2 minutes]:\nmain.wait(...)\n\t/a.go:7\ncreated by main.main in goroutine 1\n\t/a.go:9 +0x5\n";
    let tables = top(folder.path(), "dump.txt", dump, &[]);
    assert_eq!(
        tables[0].2,
        rows(&[("main.wait", 2, 2), ("main.main", 0, 1)])
    );

    let mutex = b"--- mutex:\ncycles/second=2000000000\nsampling period=1\n4000 2 @ 0x11\n#\t0x10\tmain.f+0x1\t/a.go:7\n\n";
    let tables = top(folder.path(), "mutex.txt", mutex, &["--value", "delay"]);
    assert_eq!(tables[0].2, rows(&[("main.f", 2_000, 2_000)]));
}

#[test]
fn a_heap_profile_of_v8_and_a_raw_gecko_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let heap = br#"{"head":{"callFrame":{"functionName":"(root)"},"selfSize":0,"id":1,"children":[
        {"callFrame":{"functionName":"stock","url":"shop.js","lineNumber":3},"selfSize":300,"id":2,"children":[]}]}}"#;
    let tables = top(folder.path(), "x.heapprofile", heap, &[]);
    assert_eq!(
        tables[0].2,
        rows(&[("stock", 300, 300), ("(root)", 0, 300)])
    );

    let raw = folder.path().join("gecko.json");
    let text = r#"{"meta":{"version":27,"startTime":1.5,"markerSchema":[]},"threads":[{"samples":{"schema":{"stack":0},"data":[]}}]}"#;
    std::fs::write(&raw, text).expect("a file");
    let shown = run(&["top", &raw.to_string_lossy()]);
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(!shown.status.success(), "{said}");
    assert!(said.contains("profiler.firefox.com"), "{said}");
}

/// A field of a point holds 32 MiB: samples that are longer as JSON become further points of the same profile, each with
/// JSON of its own and a count.
#[test]
fn samples_of_datakit_are_never_cut_inside_a_string() {
    const STACKS: i64 = 26;
    let folder = tempfile::tempdir().expect("a folder");
    let (stacks, points) = (folder.path().join("x.folded"), folder.path().join("x.lp"));
    // A cut anywhere would fall into such a name, into an escape of it or into a letter.
    let name = r#"f"\é"#.repeat(200_000);
    let lines = (1..=STACKS).map(|at| format!("main;{name}{at} {at}\n"));
    std::fs::write(&stacks, lines.collect::<String>()).expect("a file");
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let (from, to) = (path(&stacks), path(&points));
    let variant = "line-protocol:samples,service=shop";
    let written = run(&["convert", &from, "--to", variant, "-o", &to]);
    assert!(written.status.success());

    let text = std::fs::read_to_string(&points).expect("points");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() > 1, "{}", lines.len());
    let id = |line: &str| {
        let (_, rest) = line.split_once("profile_id=\"").expect("an id");
        rest.split('"').next().expect("its end").to_owned()
    };
    let mut n_samples = 0;
    for (number, line) in (1..).zip(&lines) {
        let head = format!("profile,samples_part={number},service=shop ");
        assert!(line.starts_with(&head), "{line:.200}");
        assert!(line.contains(&format!("samples_parts={}i", lines.len())));
        assert_eq!(id(line), id(lines[0]));
        let (_, field) = line.split_once("samples=\"").expect("samples");
        // In a field a quote and a backslash have a backslash before them.
        let mut json = String::new();
        let mut letters = field.chars();
        while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
            json.extend(match letter {
                '\\' => letters.next(),
                letter => Some(letter),
            });
        }
        assert!(json.len() <= 32 << 20, "{}", json.len());
        let samples: Value = serde_json::from_str(&json).expect("JSON");
        for (_, samples) in samples.as_object().expect("samples by event") {
            n_samples += samples.as_array().expect("samples").len();
        }
    }
    assert_eq!(i64::try_from(n_samples), Ok(STACKS));
    let back = run(&["top", "--json", "-n", "1", &to]).stdout;
    let back: Value = serde_json::from_slice(&back).expect("a table");
    assert_eq!(back["total"], STACKS * (STACKS + 1) / 2);
}
