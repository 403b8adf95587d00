//! Texts of encodings.

use std::fmt;
use std::io::Write as _;

/// Appends formatted text.
pub fn put(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    // Nothing that is written into memory fails.
    let _ = out.write_fmt(text);
}
