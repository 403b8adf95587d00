//! What a collector makes of the bodies of requests, over bytes that a fuzzer chooses: `cargo fuzz run requests`.
//!
//! The first byte chooses a reader, the rest is the body.

#![no_main]

#[path = "../../crates/formats/tests/bodies/mod.rs"]
mod bodies;

use bodies::READERS;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [reader, body @ ..] = data else { return };
    let (name, reader) = READERS[usize::from(*reader) % READERS.len()];
    reader(body).unwrap_or_else(|fault| panic!("{name}: {fault}"));
});
