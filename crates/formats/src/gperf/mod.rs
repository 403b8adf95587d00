//! The profiles of gperftools, and the text profiles of others that began as theirs: of Go's
//! `net/http/pprof` with `debug=1`, of Java agents, of jemalloc (SPEC.md).
//!
//! One reader and one lowering take them all; the rows tell them apart by their first line. Names come from the file alone:
//! no binary is opened.
//!
//! ```
//! use traceloom_formats::{Records, gperf, read_slice};
//! use traceloom_model::Limits;
//!
//! let bytes = b"heap profile: 1: 8 [2: 16] @ heapprofile\n1: 8 [2: 16] @ 0x10 0x20\n";
//! let mut records = Records::default();
//! read_slice(gperf::HEAP.reader(&Limits::default()).as_mut(), bytes, &mut records);
//! assert_eq!(records.kinds(), ["header", "sample"]);
//! assert_eq!(records.written(), bytes);
//! ```

mod heap;
mod lower;
mod maps;
mod read;
mod record;
mod scheme;
mod symbols;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use read::Reader;
pub use record::Record;

use crate::{Confidence, Format, Probe};

const GPERF: Format = Format {
    reader: Some(|limits| Box::new(Reader::new(limits))),
    lower: Some(lower::lower),
    lowers_notes: true,
    ..Format::BASE
};

/// The binary CPU profile.
pub const CPU: Format = Format {
    name: "gperf-cpu",
    title: "gperftools CPU profile",
    extensions: &["prof", "cpu"],
    magic: &[0; 8],
    probe: |probe| of_kind(probe, ProfileFormat::Cpu),
    ..GPERF
};

/// The text heap profile.
pub const HEAP: Format = Format {
    name: "gperf-heap",
    title: "heap profile as text (gperftools, jemalloc, Go, Java)",
    extensions: &["heap"],
    magic: b"heap pro",
    probe: |probe| of_kind(probe, ProfileFormat::Heap),
    ..GPERF
};

/// The text profile of contention.
pub const CONTENTION: Format = Format {
    name: "gperf-contention",
    title: "mutex, block or contention profile as text (gperftools, Go, Java)",
    extensions: &["contention"],
    magic: b"--- mute",
    probe: |probe| of_kind(probe, ProfileFormat::Contention),
    ..GPERF
};

/// A text profile that counts stacks.
pub const COUNT: Format = Format {
    name: "go-count",
    title: "goroutine or threadcreate profile as text (Go)",
    extensions: &["txt"],
    magic: b"goroutin",
    probe: |probe| of_kind(probe, ProfileFormat::Count),
    ..GPERF
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProfileFormat {
    Cpu,
    Heap,
    Contention,
    Count,
}

fn of_kind(probe: &Probe<'_>, kind: ProfileFormat) -> Option<Confidence> {
    (kind_of(probe.head) == Some(kind)).then_some(Confidence::Certain)
}

/// Finds the kind of a profile: by its first words, or by the first line that is neither a command nor in a
/// section of symbols.
fn kind_of(head: &[u8]) -> Option<ProfileFormat> {
    if words::WordEncoding::detect(head).is_some() {
        return Some(ProfileFormat::Cpu);
    }
    let mut in_symbols = false;
    for line in head.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let marker = text::marker(line);
        if in_symbols {
            in_symbols = marker.is_none();
            continue;
        }
        match marker {
            Some(b"symbol") => in_symbols = true,
            Some(b"profile") => return Some(ProfileFormat::Cpu),
            Some(b"heap" | b"growth") => return Some(ProfileFormat::Heap),
            Some(marker) if marker.starts_with(b"heapz") => return Some(ProfileFormat::Heap),
            Some(marker) => return text::shape_of(marker).map(|_| ProfileFormat::Contention),
            None if heap::HeapHeader::parse(line).is_some() => return Some(ProfileFormat::Heap),
            None if text::jemalloc(line).is_some() => return Some(ProfileFormat::Heap),
            None if text::total(line).is_some() => return Some(ProfileFormat::Count),
            None if line.starts_with(b"%") || line.starts_with(b"#") => {}
            None if line.trim_ascii().is_empty() => {}
            None => return None,
        }
    }
    // A section of symbols longer than what there is to look at is most often that of a CPU profile.
    in_symbols.then_some(ProfileFormat::Cpu)
}
