//! `--input-format` with a format that the input is not of, containers above all.

mod program;

use std::path::Path;

use program::{SHOP, run};
use traceloom_formats::FORMATS;

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("a file");
    path.to_string_lossy().into_owned()
}

/// An upload whose attachment is an upload whose attachment is an upload …
fn nested(levels: u32) -> Vec<u8> {
    let (mut before, mut after) = (String::new(), Vec::new());
    for level in 0..levels {
        before += &format!(
            "--b{level}\r\nContent-Disposition: form-data; name=\"prof\"; filename=\"prof\"\r\n\r\n"
        );
        after.push(format!("\r\n--b{level}--\r\n"));
    }
    after.reverse();
    format!("{before}main;read 7\n{}", after.concat()).into_bytes()
}

#[test]
fn no_format_forced_on_any_input_aborts() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folded = write(
        scratch.path(),
        "prof.folded",
        b"main;read 7\nmain;write 5\n",
    );
    let deep = write(scratch.path(), "deep.http", &nested(3000));
    for format in FORMATS {
        for input in [folded.as_str(), &deep, SHOP] {
            for command in ["check", "top"] {
                let args = [command, "--input-format", format.name, input];
                let output = run(&args);
                let code = output.status.code();
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(matches!(code, Some(0..=2)), "{args:?}: {code:?} {text}");
            }
        }
    }
}

#[test]
fn a_container_is_read_as_one_and_its_parts_as_what_they_are() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let folded = write(scratch.path(), "cpu.folded", b"main;read 7\nmain;write 5\n");
    let output = run(&["top", "--csv", "--input-format", "datakit", &folded]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("read"), "{text}");
    let total = |args: &[&str]| {
        let output = run(&[&["top", "--json"], args].concat());
        assert!(output.status.success());
        let line = String::from_utf8_lossy(&output.stdout).into_owned();
        let object: serde_json::Value = serde_json::from_str(line.trim()).expect("JSON");
        object["total"].as_i64().expect("a number")
    };
    let recognised = total(&[SHOP]);
    assert!(recognised > 0);
    assert_eq!(total(&["--input-format", "cdt-dump", SHOP]), recognised);
    assert_eq!(total(&["--input-format", "cdt-streams", SHOP]), recognised);
}

#[test]
fn a_format_that_is_only_written_cannot_be_read_as() {
    let output = run(&["info", "--input-format", "csv", SHOP]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("`csv` is written, not read"), "{text}");
}
