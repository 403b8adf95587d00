//! `report` chooses what the other views choose, and says what is wrong once.

use std::process::{Command, Output};

const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/shop");

fn report(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_traceloom"));
    command.arg("report").args(args).output().expect("it runs")
}

fn page(args: &[&str]) -> String {
    let written = report(&[args, &["-o", "-"]].concat());
    assert!(written.status.success(), "{args:?}");
    String::from_utf8(written.stdout).expect("UTF-8")
}

#[test]
fn flags_choose_what_is_on_the_page() {
    let whole = page(&[SHOP]);
    assert!(whole.contains("<dd>56 calls of 1,121 spans; 1 failed, 1.8 %</dd>"));
    // A page that is mailed does not name the folders of whoever made it.
    assert!(!whole.contains(env!("CARGO_MANIFEST_DIR")));
    let errors = page(&[SHOP, "--errors"]);
    assert!(errors.contains("<dd>1 call of 8 spans; 1 failed, 100.0 %</dd>"));
    assert!(
        errors.contains("--errors -o -</dd>"),
        "the page says how it was made"
    );
    assert!(errors.contains("com.acme.shop.payment.PaymentFailedException: order 88198: the gateway did not answer within 2000 ms"));
    let good = page(&[SHOP, "--filter", "not error"]);
    assert!(good.contains("<dd>55 calls of "));
    assert!(!good.contains("id=\"errors\"") && good.contains("no errors"));
    // Tables are cut where asked, and say so.
    let short = page(&[SHOP, "-n", "3"]);
    assert!(short.contains("53 other calls took less."));
    assert!(short.len() < whole.len());
    let twice = page(&[SHOP, SHOP]);
    assert!(twice.contains("<dd>112 calls of 2,242 spans; 2 failed, 1.8 %</dd>"));
}

#[test]
fn what_is_wrong_is_told_once() {
    let missing = report(&["/nonexistent/file", SHOP, "-o", "-"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&missing.stderr).lines().count(), 1);
    assert!(String::from_utf8_lossy(&missing.stdout).contains("56 calls"));
    let folder = tempfile::tempdir().expect("a folder");
    let cut = folder.path().join("cut.folded");
    std::fs::write(&cut, "a;b 3\na;c what\nb 2\n").expect("a file");
    let as_folded = ["--input-format", "folded", "-o", "-"];
    let damaged = report(&[&[&*cut.to_string_lossy()], &as_folded[..]].concat());
    assert_eq!(damaged.status.code(), Some(0));
    let told = String::from_utf8_lossy(&damaged.stderr).into_owned();
    assert_eq!(told.lines().count(), 1, "{told}");
    let text = String::from_utf8_lossy(&damaged.stdout).into_owned();
    assert!(text.contains("<h2 id=\"notes\">Notes</h2>"));

    let usage = |args: &[&str], reason: &str| {
        let output = report(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains(reason),
            "{args:?}"
        );
    };
    usage(&[SHOP, "-o", "x.pdf"], "end the name in .html");
    let target = folder.path().join("there.html");
    std::fs::write(&target, "mine").expect("a file");
    let kept = report(&[SHOP, "-o", &target.to_string_lossy()]);
    assert_eq!(kept.status.code(), Some(1));
    assert_eq!(std::fs::read(&target).expect("a file"), b"mine");
}

/// Recordings that are read apart and those that one reading serves count once, side by side too; paths keep their numbers.
#[test]
fn every_recording_counts_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jfr");
    std::fs::write(&path, traceloom_samples::bytes("jfr", 3, 40_000)).expect("a file");
    let jfr = path.to_string_lossy();
    let calls = "<dd>56 calls of 1,121 spans; 1 failed, 1.8 %</dd>";
    let alone = page(&[&jfr]);
    let (_, about) = alone.split_once("class=\"about\">").expect("the head");
    let (samples, _) = about.split_once(" samples").expect("samples");
    assert!((3..9).contains(&samples.len()), "{samples}");
    for both in [page(&[SHOP, &jfr]), page(&[&jfr, SHOP])] {
        assert!(both.contains(calls));
        let counted = format!("56 calls · {samples} samples");
        assert!(both.contains(&counted), "{counted}");
    }
    let rules = folder.path().join("rules");
    std::fs::write(&rules, "com.acme.shop.payment* * EXCLUDE\n").expect("a file");
    let hidden = page(&[SHOP, "--filter-file", &rules.to_string_lossy()]);
    assert!(hidden.contains("<dd>56 calls of "));
    let shifted = ["/nonexistent/file", SHOP, "--shift", "2=+1h", "-o", "-"];
    let shifted = report(&shifted);
    assert_eq!(shifted.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&shifted.stderr).lines().count(), 1);
    assert!(String::from_utf8_lossy(&shifted.stdout).contains(calls));
}

/// What the shipped dump is made to show is found by the commands that it is shown with.
#[test]
fn the_story_of_the_sample_is_found() {
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_traceloom"))
            .args(args)
            .output();
        let output = output.expect("the program");
        assert!(output.status.success(), "{args:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    // The slowest calls: the answer that never came, the slow statement, the end of the line at the lock.
    let columns = "title,status,wait_time,suspended";
    let slowest = run(&[
        "calls",
        SHOP,
        "--csv",
        "--sort",
        "-duration",
        "-n",
        "3",
        "--columns",
        columns,
    ]);
    let lines: Vec<&str> = slowest.lines().skip(1).collect();
    for (line, parts) in lines.iter().zip([
        ["/api/orders/88198/payment", "error"],
        ["/api/search?q=lamp", "complete"],
        ["/api/baskets/88207/checkout", "1338"],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{line}");
    }
    // The pause in one call, and 97 statements of another.
    let paused = run(&[
        "calls",
        SHOP,
        "--csv",
        "--sort",
        "-suspended",
        "-n",
        "1",
        "--columns",
        "title,suspended",
    ]);
    assert!(paused.contains("/api/price-lists/garden.csv"), "{paused}");
    assert!(paused.contains(",640000000"), "{paused}");
    let shapes = run(&[
        "top",
        SHOP,
        "--by",
        "sql-shape",
        "--filter",
        "4711",
        "--csv",
    ]);
    let shape = "from order_item i where i.order_id = ?";
    assert!(shapes.contains(shape), "{shapes}");
    let errors = page(&[SHOP]);
    for text in [
        "order 88198: the gateway did not answer",
        "java.net.SocketTimeoutException: Read timed out",
    ] {
        assert!(errors.contains(text), "{text}");
    }
}
