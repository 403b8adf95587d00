//! Blocks of a CDT trace stream over and over: a large trace with the mix of a real one.
//!
//! `cargo run --release -p traceloom-input --example repeated_trace -- trace.bin 400000000 > big/trace.bin`,
//! with the `dictionary.bin` of the first beside the second.

use std::io::{self, Write};

/// Bytes before the first block: when the recording began.
const HEAD: usize = 8;

fn main() -> io::Result<()> {
    let usage = || io::Error::other("usage: repeated_trace FILE BYTES");
    let mut arguments = std::env::args().skip(1);
    let trace = std::fs::read(arguments.next().ok_or_else(usage)?)?;
    let bytes = arguments.next().and_then(|bytes| bytes.parse().ok());
    let bytes: usize = bytes.ok_or_else(usage)?;
    let Some((head, blocks)) = trace.split_at_checked(HEAD).filter(|all| !all.1.is_empty()) else {
        return Err(io::Error::other("no block in it"));
    };
    let mut out = io::stdout().lock();
    out.write_all(head)?;
    let mut written = HEAD;
    while written < bytes {
        out.write_all(blocks)?;
        written += blocks.len();
    }
    out.flush()
}
