//! The list of formats.

use crate::{Format, zorka};

/// Every format, siblings together, in the order tables show them.
pub const FORMATS: &[&Format] = &[
    &zorka::S0,
    &zorka::S0B,
    &zorka::B1,
    &zorka::B2,
    &zorka::C,
    &zorka::AGD,
    &zorka::STORE,
    &zorka::REQUESTS,
];

/// Finds a format by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
