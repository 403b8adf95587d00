//! The list of formats, conversions between two of them, and formats that are recognised only.

mod native;
mod schema;
mod unsupported;

pub use native::{NATIVE, native_conversion};
pub use schema::register_schema;
pub use unsupported::unsupported;

use crate::codec::protocol::Protocol;
use crate::{
    Format, cdt, chrome, columnar, cpuprofile, csv, datakit, firefox, flamejson, folded, gometrics,
    goroutines, gperf, heph, jfr, jvmtext, lineproto, otlp, perfetto, perfscript, pprof,
    speedscope, stackprof, tptp, zipkin, zorka,
};

/// Every protocol that a collector receives.
pub const PROTOCOLS: &[&Protocol] = &[&cdt::PROTOCOL, &heph::PROTOCOL, &tptp::PROTOCOL];

/// Every format, siblings together, in the order tables show them.
pub const FORMATS: &[&Format] = &[
    &cdt::CALLS,
    &cdt::TRACE,
    &cdt::DICTIONARY,
    &cdt::PARAMS,
    &cdt::SUSPEND,
    &cdt::SQL,
    &cdt::XML,
    &cdt::STRINGS,
    &cdt::GC,
    &cdt::BLST,
    &cdt::TCP,
    &cdt::DUMP,
    &cdt::STREAMS,
    &heph::FORMAT,
    &zorka::S0,
    &zorka::S0B,
    &zorka::B1,
    &zorka::B2,
    &zorka::C,
    &zorka::AGD,
    &zorka::STORE,
    &zorka::REQUESTS,
    &tptp::BINARY,
    &tptp::XML,
    &datakit::FORMAT,
    &datakit::EVENT,
    &datakit::REQUEST,
    &datakit::INGEST,
    &datakit::CONFIG,
    &lineproto::FORMAT,
    &flamejson::FORMAT,
    &gometrics::FORMAT,
    &pprof::FORMAT,
    &gperf::CPU,
    &gperf::HEAP,
    &gperf::CONTENTION,
    &gperf::COUNT,
    &goroutines::FORMAT,
    &jfr::FORMAT,
    &jvmtext::THREADS,
    &jvmtext::TOP,
    &jvmtext::GC_LOG,
    &folded::FORMAT,
    &perfscript::FORMAT,
    &chrome::FORMAT,
    &perfetto::FORMAT,
    &otlp::PROFILES,
    &otlp::PROFILES_JSON,
    &otlp::TRACES,
    &otlp::TRACES_JSON,
    &zipkin::FORMAT,
    &zipkin::PROTOBUF,
    &speedscope::FORMAT,
    &cpuprofile::FORMAT,
    &cpuprofile::HEAP,
    &stackprof::FORMAT,
    &firefox::FORMAT,
    &csv::FORMAT,
    &columnar::ARROW,
    &columnar::PARQUET,
];

/// Finds a format by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
