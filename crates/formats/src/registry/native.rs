//! Conversions between formats that hold the same records, without the model in between.

use crate::{NativeConvert, flamejson, tptp};

/// Formats that convert into each other record by record: from, to, how.
pub const NATIVE: &[(&str, &str, NativeConvert)] = &[
    ("tptp-binary", "tptp-xml", tptp::to_xml),
    ("tptp-xml", "tptp-binary", tptp::to_binary),
    ("flamegraph-json", "flamegraph-json", flamejson::rewrite),
];

/// Finds the conversion between two formats that needs no model.
#[must_use]
pub fn native_conversion(from: &str, to: &str) -> Option<NativeConvert> {
    let found = NATIVE.iter().find(|row| (row.0, row.1) == (from, to));
    found.map(|row| row.2)
}
