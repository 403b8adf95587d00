//! What a person sees on a terminal: tables of any content, cut to its width, with names that find the function again.

mod program;

use program::{run, stdout, text};
use std::path::Path;
use std::process::Command;

fn corpus() -> Option<String> {
    let folder = std::env::var("TRACELOOM_CORPUS").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus").to_owned()
    });
    if Path::new(&folder).is_dir() {
        return Some(folder);
    }
    assert!(
        std::env::var_os("TRACELOOM_CORPUS_REQUIRED").is_none(),
        "there is no corpus at {folder}"
    );
    eprintln!("skipped: there is no corpus at {folder}");
    None
}

/// Writes a Chrome trace with a call on each of these threads, named like its thread.
fn threads(folder: &Path, names: &[&str]) -> String {
    let mut events = Vec::new();
    for (tid, name) in (1..).zip(names) {
        events.push(serde_json::json!({
            "ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name},
        }));
        events.push(serde_json::json!({
            "ph": "X", "name": name, "pid": 1, "tid": tid, "ts": 10 * tid, "dur": 5, "args": {"note": name},
        }));
    }
    let path = folder.join("threads.json");
    let trace = serde_json::json!({"traceEvents": events});
    std::fs::write(&path, trace.to_string()).expect("a file in a folder of its own");
    path.to_string_lossy().into_owned()
}

#[test]
fn text_of_any_length_is_printed_by_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let long = "x".repeat(70_000);
    let path = threads(folder.path(), &[&long, "main"]);
    for args in [
        &["calls", &path, "--columns", "all"][..],
        &["calls", &path, "--wide"],
        &["calls", &path, "--by", "thread"],
        &["timeline", &path],
        &["top", &path],
        &["top", &path, "--by", "thread"],
        &["tree", &path],
    ] {
        let shown = stdout(args);
        assert!(shown.contains(&long), "{args:?}");
        assert!(shown.contains("main"), "{args:?}");
        // Rows of other threads are not padded to the long one.
        let total: usize = shown.lines().map(|line| line.chars().count()).sum();
        assert!(total < 6 * 70_000, "{args:?}: {total} characters");
    }
}

#[test]
fn an_expression_of_any_length_is_pointed_at() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let long = "x".repeat(70_000);
    for args in [
        ["calls", shop, "--filter", &format!("{long} and")],
        ["top", shop, "--adjust", &format!("{long}*fast")],
    ] {
        let output = run(&args);
        assert_eq!(output.status.code(), Some(2));
        let told = text(&output.stderr);
        let last = told.lines().last().unwrap_or("");
        assert!(
            last.len() > 70_000 && last.ends_with(" ^"),
            "{}",
            last.len()
        );
    }
}

#[test]
fn captures_with_long_attributes_are_listed() {
    let Some(corpus) = corpus() else { return };
    let heph = format!("{corpus}/heph");
    let long = format!("{heph}/real_defects/long_attr.bin.gz");
    for args in [
        &["calls", &heph][..],
        &["calls", "--columns", "all", &long],
        &["timeline", &long],
        &["events", &heph],
    ] {
        let output = run(args);
        let told = text(&output.stderr);
        assert!(!told.contains("panicked"), "{args:?}: {told}");
        assert!(output.status.code().is_some(), "{args:?}: {told}");
    }
    let every = stdout(&["calls", "--columns", "all", &long]);
    assert!(every.lines().any(|line| line.len() > 65_535));
}

/// Runs a command on a terminal of so many columns and returns its lines; none where `script` is not installed.
fn on_terminal(columns: usize, args: &[&str]) -> Option<Vec<String>> {
    let quoted = args.iter().map(|arg| format!("'{arg}'"));
    let typed = format!(
        "stty cols {columns} rows 50; NO_COLOR=1 '{}' {}",
        env!("CARGO_BIN_EXE_traceloom"),
        quoted.collect::<Vec<_>>().join(" ")
    );
    let mut script = Command::new("script");
    let run = script
        .args(["-qec", &typed, "/dev/null"])
        .env("SHELL", "/bin/sh");
    let Ok(output) = run.stdin(std::process::Stdio::null()).output() else {
        eprintln!("skipped: there is no program `script`");
        return None;
    };
    let shown = text(&output.stdout).replace('\r', "");
    assert!(output.status.success(), "{args:?}: {shown}");
    Some(shown.lines().map(str::to_owned).collect())
}

#[test]
fn tables_fit_the_terminal_and_wide_or_a_pipe_do_not() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let folder = tempfile::tempdir().expect("a folder");
    let long = "com.acme.shop.LongName.".to_owned() + &"注文".repeat(100);
    let path = threads(folder.path(), &[&long, "main"]);
    for args in [
        &["calls", shop][..],
        &["calls", &path],
        &["calls", shop, "--percentiles"],
        &["top", shop],
        &["top", &path],
        &["top", shop, "--by", "thread"],
        &["top", shop, "--hotspots"],
        &["tree", shop],
        &["tree", &path],
        &["timeline", shop],
        &["events", shop, "--type", "pause"],
        &["diff", shop, shop],
    ] {
        for columns in [80, 120] {
            let Some(lines) = on_terminal(columns, args) else {
                return;
            };
            assert!(lines.len() > 1, "{args:?}: {lines:?}");
            // Headings and sums are sentences, which a terminal may break.
            let rows = lines.iter().filter(|line| line.contains("  "));
            for line in rows.filter(|line| !line.contains(", total ") && !line.contains(" to ")) {
                let width = unicode_width::UnicodeWidthStr::width(line.as_str());
                assert!(width <= columns, "{args:?} on {columns}: {width}: {line}");
            }
        }
    }
    let Some(narrow) = on_terminal(80, &["calls", shop]) else {
        return;
    };
    let all = narrow.join("\n");
    assert!(
        all.contains("…") && all.contains("--wide prints every column"),
        "{all}"
    );
    let wide = on_terminal(80, &["calls", shop, "--wide"]).expect("a terminal");
    assert!(
        wide.iter().any(|line| line.chars().count() > 120),
        "{wide:?}"
    );
    let piped = stdout(&["calls", shop]);
    assert!(!piped.contains('…') && piped.lines().any(|line| line.chars().count() > 120));
    let chosen = on_terminal(
        80,
        &[
            "calls",
            shop,
            "--columns",
            "start,cpu,queue,calls,transactions,title",
        ],
    );
    let head = chosen.expect("a terminal").remove(0);
    assert!(
        head.contains("queue") && head.contains("transactions"),
        "{head}"
    );
}

#[test]
fn a_person_at_a_terminal_reads_what_takes_most_and_a_pipe_the_table_alone() {
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");
    let of_kinds =
        "Calls spend 31 % of 13.9 s waiting for the network and 30 % waiting for locks and queues";
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, stacks: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, stacks).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let many = file(
        "many.folded",
        "com.acme.Shop.serve;com.acme.Tax.of 90\ncom.acme.Shop.serve 30\n",
    );
    let few = file("few.folded", "com.acme.Shop.serve 99\n");
    let Some(shown) = on_terminal(120, &["top", shop]) else {
        return;
    };
    assert_eq!(shown[1], of_kinds, "{shown:?}");
    let piped = stdout(&["top", shop]);
    assert!(!piped.contains(of_kinds), "{piped}");
    // The table below it is the same one.
    let rows = |lines: &[String]| -> Vec<String> {
        let numbers = lines.iter().map(|line| line.split_whitespace().take(5));
        numbers
            .map(|row| row.collect::<Vec<_>>().join(" "))
            .collect()
    };
    let piped: Vec<String> = piped.lines().map(str::to_owned).collect();
    assert_eq!(rows(&shown[2..]), rows(&piped[1..]));
    for (args, said) in [
        (
            &["top", &*many][..],
            Some("Tax.of takes 75 % of 120 samples by itself"),
        ),
        (&["top", &*few], None),
        (&["top", shop, "--filter", "duration > 1s"], None),
        (&["top", shop, "--dimension", "package"], None),
    ] {
        let shown = on_terminal(120, args).expect("a terminal");
        match said {
            Some(said) => assert_eq!(shown[1], said, "{args:?}: {shown:?}"),
            None => assert!(
                shown[1].trim_start().starts_with("self"),
                "{args:?}: {shown:?}"
            ),
        }
    }
    for flag in ["--json", "--csv"] {
        let shown = on_terminal(120, &["top", shop, flag])
            .expect("a terminal")
            .join("\n");
        let piped = stdout(&["top", shop, flag]).replace('\r', "");
        assert_eq!(shown.trim(), piped.trim(), "{flag}");
    }
}

#[test]
fn names_as_they_are_shown_find_the_function() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.folded");
    let stacks = "com.acme.shop.Order.buy;org.db.Session.load 70\ncat.and.sun.Order.sell;x 3\ncom.acme.shop.Order.sell;y 4\n";
    std::fs::write(&path, stacks).expect("a file");
    let path = path.to_string_lossy();
    let shown = stdout(&["top", &path]);
    assert!(shown.contains("c.a.s.Order.buy"), "{shown}");
    let sell = ["cat.and.sun.Order.sell", "com.acme.shop.Order.sell"];
    assert!(sell.iter().all(|name| shown.contains(name)), "{shown}");
    for args in [
        &["top", &*path, "--incoming", "^o.d.Session.load$"][..],
        &["top", &path, "--outgoing", "^c.a.s.Order.buy$"],
        &["top", &path, "--focus", "^c.a.s.Order.buy$"],
        &["tree", &path, "--callers-of", "^o.d.Session.load$"],
        &["tree", &path, "--callees-of", "^c.a.s.Order.buy$"],
        &["tree", &path, "--usages", "^o.d.Session.load$"],
    ] {
        let shown = stdout(args);
        assert!(shown.contains("70"), "{args:?}: {shown}");
    }
    let guard = |condition: &str| run(&["diff", &path, &path, "--fail-if", condition]);
    assert_eq!(
        guard("total(c.a.s.Order.buy) > +10%").status.code(),
        Some(0)
    );
    let refused = guard("total(c.a.s.Order.sell) > +10%");
    let told = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(
        told.contains("cat.and.sun.Order.sell") && told.contains("com.acme.shop.Order.sell"),
        "{told}"
    );
}
