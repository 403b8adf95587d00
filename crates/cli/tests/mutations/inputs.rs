//! What is damaged: samples of the formats, `testdata`, captures of the corpus, and archives of them.

use std::path::{Path, PathBuf};

use traceloom_formats::FORMATS;

/// An intact input.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// It is one file without compression, so that offsets in it are those of records.
    pub(crate) plain: bool,
}

impl Source {
    fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let packed = [&b"\x1f\x8b"[..], b"PK", b"\x28\xb5\x2f\xfd", b"BZh"];
        let plain = !packed.iter().any(|magic| bytes.starts_with(magic));
        Self {
            name: name.into(),
            bytes,
            plain,
        }
    }

    /// Returns `true` if records are lines, of which a shorter one may be as good as the whole.
    pub(crate) fn is_lines(&self) -> bool {
        let json = serde_json::from_slice::<serde::de::IgnoredAny>(&self.bytes).is_ok();
        let xml = self.bytes.trim_ascii_start().starts_with(b"<");
        !json && !xml && std::str::from_utf8(&self.bytes).is_ok()
    }
}

/// Returns every input of at most `most` bytes.
pub(crate) fn sources(most: usize) -> Vec<Source> {
    let mut sources = Vec::new();
    for format in FORMATS {
        let Some(sample) = traceloom_samples::by_name(format.name) else {
            continue;
        };
        let mut bytes = Vec::new();
        sample(11, 12_000, &mut |piece| bytes.extend_from_slice(piece));
        sources.push(Source::new(format.name, bytes));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = std::env::var_os("TRACELOOM_CORPUS")
        .map_or_else(|| root.join("../shared/corpus"), PathBuf::from);
    if !corpus.is_dir() {
        println!("corpus not found: only samples and testdata are damaged");
    }
    for folder in [root.join("testdata"), corpus] {
        let mut files = files(&folder);
        files.sort();
        for path in files {
            let small = std::fs::metadata(&path).is_ok_and(|found| found.len() <= most as u64);
            if let Some(bytes) = small.then(|| std::fs::read(&path).ok()).flatten() {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                sources.push(Source::new(name, bytes));
            }
        }
    }
    let wrapped: Vec<Source> = sources.iter().step_by(9).map(wrapped).collect();
    sources.extend(wrapped);
    sources.retain(|source| !source.bytes.is_empty());
    sources
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// An archive in an archive, compressed.
fn wrapped(source: &Source) -> Source {
    let inner = zip(&[("a.bin", &source.bytes), ("b.bin", &source.bytes)]);
    let outer = gzip(&zip(&[("inner.zip", &inner), ("beside", &source.bytes)]));
    Source::new(format!("{}.zip.gz", source.name), outer)
}

/// Stored members, as a zip writer without compression makes them.
fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in members {
        let mut common = Vec::new();
        common.extend(10u16.to_le_bytes());
        common.extend([0; 8]);
        common.extend(crc(bytes).to_le_bytes());
        common.extend(length(bytes).to_le_bytes());
        common.extend(length(bytes).to_le_bytes());
        common.extend([name.len() as u8, 0, 0, 0]);
        directory.extend(*b"PK\x01\x02\x0a\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(length(&file).to_le_bytes());
        directory.extend(name.as_bytes());
        file.extend(*b"PK\x03\x04");
        file.extend(common);
        file.extend(name.as_bytes());
        file.extend(*bytes);
    }
    let start = length(&file);
    file.extend(&directory);
    file.extend(*b"PK\x05\x06\0\0\0\0");
    file.extend([members.len() as u8, 0, members.len() as u8, 0]);
    file.extend(length(&directory).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0; 2]);
    file
}

/// One member of stored blocks.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut file = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    let mut blocks = bytes.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let size = block.len() as u16;
        file.push(u8::from(blocks.peek().is_none()));
        file.extend(size.to_le_bytes());
        file.extend((!size).to_le_bytes());
        file.extend(block);
    }
    file.extend(crc(bytes).to_le_bytes());
    file.extend(length(bytes).to_le_bytes());
    file
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("a small file")
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| match crc & 1 {
        0 => crc >> 1,
        _ => crc >> 1 ^ 0xedb8_8320,
    };
    !bytes
        .iter()
        .fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}
