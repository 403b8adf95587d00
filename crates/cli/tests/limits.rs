//! What little input may cost: memory and file handles that the system grants are enough.
#![cfg(target_os = "linux")]

mod program;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use program::{SHOP, copy_folder, text};

/// Runs the program in a shell that limits it first.
fn limited(limit: &str, args: &[&str]) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limit}; exec \"$0\" \"$@\"")]);
    shell.arg(env!("CARGO_BIN_EXE_traceloom")).args(args);
    shell.output().expect("the program runs")
}

/// A million of KiB of addresses, which allocators reserve in blocks larger than what they use.
const MEMORY: &str = "ulimit -v 1000000";

/// Appends a number in seven bits a byte.
fn put_varint(out: &mut Vec<u8>, mut number: usize) {
    while number > 0x7f {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A dictionary of words with ids of their own, the last of which is as large as ids may be.
#[test]
fn a_word_with_a_large_id_takes_no_table_of_that_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut words = Vec::new();
    for id in (0..40).chain([(64 << 20) - 1]) {
        let word = format!("void shop.Stock.take{id}() (Stock.java:1) [shop.jar]");
        put_varint(&mut words, id);
        put_varint(&mut words, word.len());
        words.extend(word.encode_utf16().flat_map(u16::to_be_bytes));
    }
    let mut trace = 1_773_463_907_604_u64.to_be_bytes().to_vec();
    trace.extend(traceloom_samples::bytes("cdt-trace", 3, 5_000).split_off(8));
    std::fs::write(folder.path().join("dictionary.bin"), words).expect("a file");
    std::fs::write(folder.path().join("trace.bin"), trace).expect("a file");
    let path = folder.path().to_str().expect("a path");
    for command in ["info", "dump", "top", "calls"] {
        let output = limited(MEMORY, &[command, path]);
        let said = text(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
    }
    let dumped = text(&limited(MEMORY, &["dump", path]).stdout);
    assert!(dumped.contains("take67108863"), "{dumped}");
    let top = text(&limited(MEMORY, &["top", path]).stdout);
    assert!(
        top.contains("shop.Stock.take") || top.contains("s.Stock.take"),
        "{top}"
    );
}

#[test]
fn what_decodes_to_a_thousand_times_its_size_ends_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("zeros.gz");
    let file = std::fs::File::create(&path).expect("a file");
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    let zeros = vec![0; 1 << 20];
    for _ in 0..300 {
        gzip.write_all(&zeros).expect("it is written");
    }
    gzip.finish().expect("it is written");
    let path = path.to_str().expect("a path");
    for command in ["info", "check", "top"] {
        let output = limited(MEMORY, &[command, path]);
        assert_eq!(output.status.code(), Some(1), "{command}");
    }
    let said = text(&limited(MEMORY, &["info", path]).stdout);
    assert!(
        said.contains("limit_ratio") && said.contains("--limit ratio"),
        "{said}"
    );
}

/// Each restart is written as six files, and all of them are open for writing at some time.
#[test]
fn many_restarts_become_folders_with_few_file_handles() {
    let folder = tempfile::tempdir().expect("a folder");
    let day = "shop-backend/2026/03/14";
    let shop = Path::new(SHOP).join(day).join("1773463907604");
    for restart in 0..60 {
        let start = 1_773_463_907_604_u64 + restart * 100_000;
        copy_folder(
            &shop,
            &folder.path().join("dump").join(day).join(start.to_string()),
        );
    }
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (dump, streams) = (path("dump"), path("streams"));
    let args = ["convert", &dump, "-o", &streams, "--to", "cdt-streams"];
    let output = limited("ulimit -n 64", &args);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let listed = text(&limited("ulimit -n 64", &["calls", &streams, "-n", "1"]).stdout);
    // Of the 56 calls of the recording, sixty times.
    assert!(listed.contains("3,360 calls"), "{listed}");
}
