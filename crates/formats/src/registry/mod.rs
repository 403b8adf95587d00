//! The list of formats, conversions between two of them, and formats that are recognised only.

mod native;
mod schema;
mod unsupported;

pub use native::{NATIVE, native_conversion};
pub use schema::register_schema;
pub use unsupported::unsupported;

#[cfg(feature = "cdt")]
use crate::cdt;
use crate::codec::protocol::Protocol;
#[cfg(feature = "heph")]
use crate::heph;
#[cfg(feature = "tptp")]
use crate::tptp;
#[cfg(feature = "zorka")]
use crate::zorka;
use crate::{
    Format, chrome, columnar, cpuprofile, csv, firefox, folded, gometrics, goroutines, gperf, jfr,
    jvmtext, otlp, perfetto, perfscript, pprof, speedscope, stackprof, zipkin,
};
#[cfg(feature = "datakit")]
use crate::{datakit, flamejson, lineproto};

/// Every protocol that a collector receives, of the dialects whose feature is on.
pub const PROTOCOLS: &[&Protocol] = &[
    #[cfg(feature = "cdt")]
    &cdt::PROTOCOL,
    #[cfg(feature = "heph")]
    &heph::PROTOCOL,
    #[cfg(feature = "tptp")]
    &tptp::PROTOCOL,
];

/// Lists formats: those of a dialect where its feature is on, and the others.
macro_rules! formats {
    ($($dialect:literal: [$($of_dialect:path,)*],)* [$($other:path,)*]) => {
        &[$($(#[cfg(feature = $dialect)] &$of_dialect,)*)* $(&$other,)*]
    };
}

/// Every format, siblings together, in the order tables show them; of the dialects those whose feature is on.
pub const FORMATS: &[&Format] = formats![
    "cdt": [
        cdt::CALLS,
        cdt::TRACE,
        cdt::DICTIONARY,
        cdt::PARAMS,
        cdt::SUSPEND,
        cdt::SQL,
        cdt::XML,
        cdt::STRINGS,
        cdt::GC,
        cdt::BLST,
        cdt::TCP,
        cdt::DUMP,
        cdt::STREAMS,
    ],
    "heph": [
        heph::FORMAT,
    ],
    "zorka": [
        zorka::S0,
        zorka::S0B,
        zorka::B1,
        zorka::B2,
        zorka::C,
        zorka::AGD,
        zorka::STORE,
        zorka::REQUESTS,
    ],
    "tptp": [
        tptp::BINARY,
        tptp::XML,
    ],
    "datakit": [
        datakit::FORMAT,
        datakit::EVENT,
        datakit::REQUEST,
        datakit::INGEST,
        datakit::CONFIG,
        lineproto::FORMAT,
        flamejson::FORMAT,
    ],
    [
        gometrics::FORMAT,
        pprof::FORMAT,
        gperf::CPU,
        gperf::HEAP,
        gperf::CONTENTION,
        gperf::COUNT,
        goroutines::FORMAT,
        jfr::FORMAT,
        jvmtext::THREADS,
        jvmtext::TOP,
        jvmtext::GC_LOG,
        folded::FORMAT,
        perfscript::FORMAT,
        chrome::FORMAT,
        perfetto::FORMAT,
        otlp::PROFILES,
        otlp::PROFILES_JSON,
        otlp::TRACES,
        otlp::TRACES_JSON,
        zipkin::FORMAT,
        zipkin::PROTOBUF,
        speedscope::FORMAT,
        cpuprofile::FORMAT,
        cpuprofile::HEAP,
        stackprof::FORMAT,
        firefox::FORMAT,
        csv::FORMAT,
        columnar::ARROW,
        columnar::PARQUET,
    ]
];

/// Finds a format by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().copied().find(|format| format.name == name)
}
