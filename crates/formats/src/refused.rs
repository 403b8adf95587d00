//! Formats people have that are recognised and not read, with what to do about each.

const REFUSED: &[(&[u8], &str)] = &[
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
];

/// Returns what to tell somebody who has a file that begins like this, none when it is not refused.
#[must_use]
pub fn refused(head: &[u8]) -> Option<&'static str> {
    let magic = REFUSED.iter().find(|(magic, _)| head.starts_with(magic));
    let sentence = magic.map(|&(_, sentence)| sentence);
    sentence.or_else(|| {
        is_etl(head).then_some("a Windows event trace (ETL) is not read: convert it with tracerpt")
    })
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
