//! Formats people have that are recognised and not read, with what to do about each.

use crate::csv;

const UNSUPPORTED: &[(&[u8], &str)] = &[
    (
        b"PERFILE2",
        "perf.data is not read: run `perf script` on it and pass its text",
    ),
    (
        b"PERFFILE",
        "perf.data is not read: run `perf script` on it and pass its text",
    ),
    (
        b"JAVA PROFILE 1.0",
        "a Java heap dump (hprof) is not read: open it with a heap analyser",
    ),
    (
        b"Nettrace",
        "a .NET nettrace is not read: convert it with `dotnet-trace convert`",
    ),
    (
        b"\xc1\x1f\xfc\xc1",
        "CTF 1.8 packets are not read: print them with babeltrace2",
    ),
    (
        b"\xc1\xfc\x1f\xc1",
        "CTF 1.8 packets are not read: print them with babeltrace2",
    ),
    (
        b"\x57\x1d\xd1\x75",
        "CTF 1.8 metadata is not read: print the trace with babeltrace2",
    ),
    (
        b"\x75\xd1\x1d\x57",
        "CTF 1.8 metadata is not read: print the trace with babeltrace2",
    ),
    (
        b"/* CTF 1.8",
        "CTF 1.8 metadata is not read: print the trace with babeltrace2",
    ),
    (
        b"# callgrind format",
        "callgrind output is not read: print it with callgrind_annotate",
    ),
    (
        b"FLR\0\0\0",
        "JFR 0.9 (Oracle JDK 7 and 8) is an unsupported version; 1.0 and later are read",
    ),
    (
        b"ARROW1",
        "Arrow IPC files are written and not read: query them with DuckDB, Polars or pandas",
    ),
    (
        b"PAR1",
        "Parquet files are written and not read: query them with DuckDB, Polars or pandas",
    ),
    (
        b"# austin",
        "Austin's samples are not read: convert them with austin2speedscope or austin2pprof",
    ),
    (
        b"MOJ",
        "Austin's MOJO samples are not read: convert them with mojo2austin, then austin2speedscope",
    ),
];

/// Beginnings of JSON documents, without its white space.
const REFUSED_JSON: &[(&[u8], &str)] = &[
    (
        b"{\"data\":[{\"traceID\":",
        "Jaeger's JSON is not read: Chrome trace JSON is, and Perfetto traces are",
    ),
    (
        b"{\"snapshot\":{\"meta\":",
        "a V8 heap snapshot is not read: open it in the Memory tab of Chrome's developer tools",
    ),
];

/// Returns what to tell somebody who has a file that begins like this, none when it is not refused.
#[must_use]
pub fn unsupported(head: &[u8]) -> Option<&'static str> {
    let magic = UNSUPPORTED
        .iter()
        .find(|(magic, _)| head.starts_with(magic));
    let sentence = magic.map(|&(_, sentence)| sentence);
    sentence.or_else(|| refused_json(head)).or_else(|| {
        if is_go_trace(head) {
            return Some("a Go execution trace is not read: `go tool trace -pprof=TYPE` makes profiles of it");
        }
        if csv::is_table(head) {
            return Some("a CSV table of a trace is written and not read: query it with DuckDB or Polars");
        }
        is_etl(head).then_some("a Windows event trace (ETL) is not read: convert it with tracerpt")
    })
}

fn refused_json(head: &[u8]) -> Option<&'static str> {
    /// Bytes that hold the longest beginning, however it is indented.
    const LOOKED_AT: usize = 256;
    let begins = |of: &[u8]| {
        let bytes = head.iter().take(LOOKED_AT);
        let mut bytes = bytes.filter(|byte| !byte.is_ascii_whitespace());
        of.iter().all(|expected| bytes.next() == Some(expected))
    };
    let found = REFUSED_JSON.iter().find(|(beginning, _)| begins(beginning));
    let sentence = found.map(|&(_, sentence)| sentence);
    sentence.or_else(|| gecko(head))
}

const RAW_GECKO: &str = "a raw Gecko profile is not read: open it in profiler.firefox.com, which makes a processed \
    one of it, and save that";

const PROCESSED_GECKO: &str =
    "a Firefox profile is written and not read: open it in profiler.firefox.com";

/// Returns the sentence for a profile of Firefox. Either `meta` or `threads` may come first, so the members that tell
/// one are looked for anywhere in the head.
fn gecko(head: &[u8]) -> Option<&'static str> {
    let known: [&[u8]; 4] = [b"\"meta\"", b"\"threads\"", b"\"libs\"", b"\"pages\""];
    let first = head.trim_ascii_start().strip_prefix(b"{")?;
    let first = first.trim_ascii_start();
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    if !known.iter().any(|name| first.starts_with(name)) {
        return None;
    }
    if has(b"\"preprocessedProfileVersion\"") {
        return Some(PROCESSED_GECKO);
    }
    // Tables of samples have a schema and rows, which processing turns into columns.
    let is_raw = has(b"\"schema\"")
        && (has(b"\"markerSchema\"") || has(b"\"stackTable\"") || has(b"\"frameTable\""))
        && (has(b"\"startTime\"") || has(b"\"samples\""));
    is_raw.then_some(RAW_GECKO)
}

/// `go 1.22 trace` in 16 bytes, the rest of which are zero.
fn is_go_trace(head: &[u8]) -> bool {
    let Some(magic) = head.first_chunk::<16>() else {
        return false;
    };
    let end = magic
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(magic.len());
    let (text, zeros) = magic.split_at(end);
    text.starts_with(b"go 1.") && text.ends_with(b" trace") && zeros.iter().all(|&byte| byte == 0)
}

/// An ETL file begins with a buffer header: its size, twice, around a fill level below it, and the
/// file's first event is the logfile header.
fn is_etl(head: &[u8]) -> bool {
    let word = |at: usize| {
        head.get(at..)?
            .first_chunk()
            .map(|bytes| u32::from_le_bytes(*bytes))
    };
    match (word(0), word(4), word(8), head.get(0x48..0x4c)) {
        (Some(size), Some(saved), Some(offset), Some(marker)) => {
            size.is_power_of_two()
                && (0x1000..=0x10_0000).contains(&size)
                && saved == offset
                && saved <= size
                && matches!(marker, [_, _, 0x01 | 0x02, 0xc0])
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_people_have_gets_a_sentence_each() {
        let says = |head: &[u8], word: &str| {
            let sentence = unsupported(head).unwrap_or_default();
            assert!(sentence.contains(word), "{word}: {sentence}");
        };
        says(
            b"{\n  \"data\": [\n    {\n      \"traceID\": \"5af7\"",
            "Jaeger",
        );
        says(b"{\"snapshot\":{\"meta\":{\"node_fields\"", "heap snapshot");
        says(b"go 1.22 trace\0\0\0\x01\x02", "Go execution trace");
        says(b"# austin: 3.6.0\n# interval: 100\n", "Austin");
        says(b"MOJ\x03\x09", "mojo2austin");
        says(
            b"{\"meta\":{\"version\":27,\"startTime\":1.5,\"markerSchema\":[]},\"threads\":[{\"samples\":\
              {\"schema\":{\"stack\":0,\"time\":1},\"data\":[]}}]}",
            "profiler.firefox.com",
        );
        let processed =
            b"{\"meta\":{\"preprocessedProfileVersion\":55,\"markerSchema\":[],\"startTime\":1},\
            \"threads\":[{\"samples\":{\"schema\":1}}]}";
        says(processed, "a Firefox profile is written");
        says(b"ARROW1\0\0", "Arrow");
        says(b"PAR1\x15\x04", "Parquet");
        says(b"origin,name\r\nunix,\r\n", "CSV");
        assert_eq!(unsupported(b"origin,name,more\r\n"), None);
        assert_eq!(unsupported(b"{\"data\":[1,2]}"), None);
        assert_eq!(unsupported(b"go 1.22 main;f 3\n\n\n\n"), None);
    }
}
