//! The laws over bytes that a fuzzer chooses: `cargo fuzz run laws`.
//!
//! The first byte chooses a row of the registry, the second and third a cut, the rest is the input.

#![no_main]

#[path = "../../crates/formats/tests/obey/mod.rs"]
mod obey;

use libfuzzer_sys::fuzz_target;
use traceloom_formats::FORMATS;

fuzz_target!(|data: &[u8]| {
    let [row, high, low, input @ ..] = data else { return };
    let format = FORMATS[usize::from(*row) % FORMATS.len()];
    if format.reader.is_some() {
        let cut = usize::from(u16::from_be_bytes([*high, *low]));
        obey::obeys(format, input, &[cut]).unwrap_or_else(|fault| panic!("{}: {fault}", format.name));
    }
});
