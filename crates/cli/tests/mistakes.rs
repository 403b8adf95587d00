//! What is mistyped is told, with what was meant, and never answered with something else or nothing.
mod program;

use program::{SHOP, run, text};

const TPTP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tptp");

/// Runs a command that must be refused before it prints anything, and returns what it told.
fn refused(args: &[&str]) -> String {
    let output = run(args);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {told}");
    assert_eq!(text(&output.stdout), "", "{args:?}: {told}");
    told
}

#[test]
fn a_misspelt_field_of_a_filter_is_an_error_in_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (json, svg, html) = (file("a.json"), file("a.svg"), file("a.html"));
    for command in [
        &["top", SHOP][..],
        &["tree", SHOP],
        &["flame", SHOP, "-o", &svg],
        &["report", SHOP, "-o", &html],
        &["timeline", SHOP],
        &["diff", SHOP, SHOP],
        &["events", SHOP],
        &["events", SHOP, "-n", "1"],
        &["metrics", SHOP],
        &["monitors", SHOP],
        &["objects", SHOP],
        &["convert", SHOP, &json],
        &["slice", SHOP, &json],
        &["merge", SHOP, SHOP, &json],
    ] {
        let args = [command, &["--filter", "duraton>5s"]].concat();
        let told = refused(&args);
        let near = "`duraton`; did you mean `duration`?";
        assert!(told.contains(near), "{args:?}: {told}");
    }
    for (filter, near) in [
        ("duraton > 5s", "`duraton`; did you mean `duration`?"),
        ("sevice=shop", "`sevice`; did you mean `service`?"),
        ("not $web.ulr = /orders", "did you mean `web.url`?"),
    ] {
        let told = refused(&["top", SHOP, TPTP, "--filter", filter]);
        assert!(told.contains(near), "{filter}: {told}");
    }
    assert!(!folder.path().join("a.json").exists());
}

#[test]
fn misspelt_columns_and_groups_are_errors() {
    for (args, near) in [
        (&["top", SHOP, "--by", "thred"][..], "`thread`"),
        (&["tree", SHOP, "--by", "web.ulr"], "`web.url`"),
        (&["calls", SHOP, "--by", "tittle"], "`title`"),
        (&["calls", SHOP, "--percentiles", "--sort", "-p9"], "`p90`"),
        (&["events", SHOP, "--sort", "event"], "`events`"),
        (&["events", SHOP, "--type", "paus"], "`pause`"),
        (
            &["events", SHOP, "--type", "pause", "--sort", "tim"],
            "`time`",
        ),
        (
            &["events", SHOP, "--type", "pause", "--columns", "tiem"],
            "`time`",
        ),
        (&["top", SHOP, "--sort", "totl"], "'total'"),
        (&["monitors", SHOP, "--sort", "wited"], "'waited'"),
        (&["objects", SHOP, "--sort", "allocate"], "'allocated'"),
        (&["diff", SHOP, SHOP, "--sort", "counts"], "'count'"),
    ] {
        let told = refused(args);
        assert!(told.contains(near), "{args:?}: {told}");
    }
    let told = refused(&["top", SHOP, "--filter", "zzz > 5"]);
    assert!(told.contains("; there are "), "{told}");
}

#[test]
fn a_target_or_variant_that_is_not_there_is_an_error_that_names_those_that_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").to_string_lossy().into_owned();
    for (target, said) in [
        ("nonsense", "`--to list` prints them"),
        ("cdt-dump:calls5", "there are calls1 to calls4"),
        ("cdt-streams:calls5", "there are calls1 to calls4"),
        ("zorka-c:foo", "there are: agent typed"),
        ("tptp-binary:64", "64"),
        ("heph:foo", "heph has no variant `foo`"),
        ("pprof:foo", "pprof has no variant `foo`"),
        ("csv:foo", "csv has no variant `foo`"),
    ] {
        let told = refused(&["convert", SHOP, "-o", &out, "--to", target]);
        assert!(told.contains(said), "{target}: {told}");
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_value_of_calls_where_samples_are_written_says_as_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").to_string_lossy().into_owned();
    for target in ["firefox", "folded", "pprof", "speedscope"] {
        for value in ["wall", "nonsense", "cpu"] {
            let args = [
                "convert", SHOP, "-o", &out, "--to", target, "--value", value,
            ];
            let told = refused(&args);
            assert!(told.contains("--as-samples"), "{args:?}: {told}");
            // What is proposed exists.
            assert!(!told.contains("start,nonsense"), "{told}");
            assert!(!told.contains("start,wall"), "{told}");
            let is_near = told.contains("start,cpu_time,title");
            assert_eq!(is_near, value == "cpu", "{told}");
            let args = [&args[..], &["--as-samples"]].concat();
            let output = run(&args);
            assert_eq!(output.status.success(), value == "wall", "{args:?}");
            let _ = std::fs::remove_file(&out);
        }
    }
}

#[test]
fn a_number_without_unit_is_no_time() {
    for args in [
        &["calls", SHOP, "--min-duration", "5"][..],
        &["calls", SHOP, "--since", "5"],
        &["calls", SHOP, "--since", "+5"],
        &["calls", SHOP, "--since", "-5"],
        &["calls", SHOP, "--until", "1772366400"],
        &["calls", SHOP, "--shift", "shop=+5"],
        &["call", SHOP, "5.4320.0", "--min-duration", "5"],
        &["top", SHOP, "--filter", "duration > 5"],
        &["top", SHOP, "--filter", "time > 5"],
        &["top", SHOP, "--filter", "cpu>5"],
        &["tree", SHOP, "--filter", "cpu_time > 5"],
        &[
            "convert", SHOP, "-", "--to", "folded", "--filter", "cpu > 5",
        ],
    ] {
        let told = refused(args);
        assert!(told.contains("no unit"), "{args:?}: {told}");
    }
    for filter in ["cpu>1us", "cpu >1us", "cpu > 1us", "cpu>0.001ms"] {
        let output = run(&["top", SHOP, "--filter", filter]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{filter}: {told}");
    }
}

#[test]
fn names_that_the_data_has_are_no_mistakes() {
    for filter in [
        "web.url=/orders",
        "$web.url ~ orders",
        "calls > 5 and queue < 1h",
        "plain words",
        "nothing=here",
        "List<String>",
    ] {
        let output = run(&["top", SHOP, "--filter", filter]);
        let told = text(&output.stderr);
        assert_ne!(output.status.code(), Some(2), "{filter}: {told}");
    }
}

#[test]
fn the_number_of_an_input_counts_those_that_cannot_be_opened() {
    for command in ["calls", "events", "timeline"] {
        let output = run(&[command, "/nowhere", SHOP, "--shift", "2=+1s"]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command}: {told}");
        assert!(!told.contains("--shift"), "{command}: {told}");
        assert_ne!(text(&output.stdout), "", "{command}");
    }
}
