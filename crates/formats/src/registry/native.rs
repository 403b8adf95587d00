//! Conversions between formats that hold the same records, without the model in between.

use crate::NativeConvert;
#[cfg(feature = "datakit")]
use crate::flamejson;
#[cfg(feature = "tptp")]
use crate::tptp;

/// Formats that convert into each other record by record: from, to, how.
pub const NATIVE: &[(&str, &str, NativeConvert)] = &[
    #[cfg(feature = "tptp")]
    ("tptp-binary", "tptp-xml", tptp::to_xml),
    #[cfg(feature = "tptp")]
    ("tptp-xml", "tptp-binary", tptp::to_binary),
    #[cfg(feature = "datakit")]
    ("flamegraph-json", "flamegraph-json", flamejson::rewrite),
];

/// Finds the conversion between two formats that needs no model.
#[must_use]
pub fn native_conversion(from: &str, to: &str) -> Option<NativeConvert> {
    let found = NATIVE.iter().find(|row| (row.0, row.1) == (from, to));
    found.map(|row| row.2)
}
