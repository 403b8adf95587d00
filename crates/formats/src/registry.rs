//! The list of formats.

use crate::{Format, cpuprofile, datakit, flamejson, gometrics, lineproto, speedscope, stackprof};

/// Every format, siblings together, in the order tables show them.
pub const FORMATS: &[&Format] = &[
    &datakit::FORMAT,
    &datakit::EVENT,
    &datakit::REQUEST,
    &datakit::INGEST,
    &lineproto::FORMAT,
    &flamejson::FORMAT,
    &speedscope::FORMAT,
    &cpuprofile::FORMAT,
    &stackprof::FORMAT,
    &gometrics::FORMAT,
];

/// Finds a format by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
