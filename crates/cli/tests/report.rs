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
    assert!(whole.contains("<dd>55 calls of 4,679 spans; 1 failed, 1.8 %</dd>"));
    // A page that is mailed does not name the folders of whoever made it.
    assert!(!whole.contains(env!("CARGO_MANIFEST_DIR")));
    let errors = page(&[SHOP, "--errors"]);
    assert!(errors.contains("<dd>1 call of 65 spans; 1 failed, 100.0 %</dd>"));
    assert!(
        errors.contains("--errors -o -</dd>"),
        "the page says how it was made"
    );
    assert!(errors.contains("com.acme.shop.AddressNotFoundException: no address 119850"));
    let good = page(&[SHOP, "--filter", "not error"]);
    assert!(good.contains("<dd>54 calls of "));
    assert!(!good.contains("id=\"errors\"") && good.contains("no errors"));
    // Tables are cut where asked, and say so.
    let short = page(&[SHOP, "-n", "3"]);
    assert!(short.contains("52 other calls took less."));
    assert!(short.len() < whole.len());
    let twice = page(&[SHOP, SHOP]);
    assert!(twice.contains("<dd>110 calls of 9,358 spans; 2 failed, 1.8 %</dd>"));
}

#[test]
fn what_is_wrong_is_told_once() {
    let missing = report(&["/nonexistent/file", SHOP, "-o", "-"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&missing.stderr).lines().count(), 1);
    assert!(String::from_utf8_lossy(&missing.stdout).contains("55 calls"));
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
