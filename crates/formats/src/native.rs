//! Conversions between formats that hold the same records, without the model in between.

use traceloom_model::{Flow, Limits, Note};

use crate::{Error, Output, Pull, flamejson, tptp};

/// Rewrites one part of a format as another; notes about the input go to the last argument.
pub type NativeConvert = fn(
    &mut dyn Pull,
    &Limits,
    &mut dyn Output,
    &mut dyn FnMut(Note) -> Flow,
) -> Result<Vec<Change>, Error>;

/// What a conversion could not keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// It is gone, not only written in another way.
    pub lost: bool,
    /// Kind of the record it belonged to.
    pub kind: &'static str,
    /// The part of the record.
    pub field: &'static str,
    /// How often.
    pub count: u64,
    /// Where it happened first.
    pub offset: u64,
}

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
