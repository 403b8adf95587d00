//! Profiles that senders post, and who posts them.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{stdout, text};

/// A profile of samples in a file, as a profiler writes it.
pub fn profile(scratch: &Path, folded: &str) -> Vec<u8> {
    let (from, to) = (scratch.join("a.folded"), scratch.join("a.pprof"));
    std::fs::write(&from, folded).expect("a file");
    stdout(&[
        "convert",
        text(&from),
        text(&to),
        "--to",
        "pprof",
        "--force",
    ]);
    let written = std::fs::read(&to).expect("a profile");
    let mut plain = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&written[..]);
    match decoder.read_to_end(&mut plain) {
        Ok(_) => plain,
        Err(_) => written,
    }
}

/// A field of bytes, as protobuf has it.
pub fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend_from_slice(content);
    bytes
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("compressed");
    encoder.finish().expect("compressed")
}

/// Returns each function with its own value, of everything in a path.
pub fn own_values(path: &Path) -> Vec<(String, i64)> {
    let rows = stdout(&["top", "--json", text(path)]);
    let top: Value = serde_json::from_str(&rows).expect("JSON");
    let rows = top["functions"].as_array().expect("functions");
    let mut values: Vec<_> = rows
        .iter()
        .map(|row| {
            let name = row["function"].as_str().expect("a name");
            (name.to_owned(), row["self"].as_i64().expect("a value"))
        })
        .filter(|(_, value)| *value > 0)
        .collect();
    values.sort();
    values
}

/// Where packages of senders are installed; a test of theirs is left out without.
pub fn senders() -> Option<PathBuf> {
    let found = std::env::var_os("TRACELOOM_SENDERS").map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: TRACELOOM_SENDERS names no folder of Python packages");
    }
    found
}
