//! The list of formats.

use crate::{Format, folded, gperf, perfscript, pprof};

/// Every format, siblings together, in the order tables show them.
pub const FORMATS: &[&Format] = &[
    &pprof::PPROF,
    &folded::FOLDED,
    &perfscript::PERF_SCRIPT,
    &gperf::CPU,
    &gperf::HEAP,
];

/// Finds a format by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
