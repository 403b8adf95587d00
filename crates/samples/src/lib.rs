//! Made-up data of every format, for laws, tests, fuzzing and benches. The program does not contain it.
//!
//! A generator makes about as many bytes as it is asked for, in pieces, and the same ones for the same seed. All draw
//! their numbers from one [`Random`].
//!
//! ```
//! let recording = traceloom_samples::bytes("jfr", 7, 100_000);
//! assert!(recording.starts_with(b"FLR\0"));
//! assert_eq!(recording, traceloom_samples::bytes("jfr", 7, 100_000));
//! ```

pub mod cdt;
mod chrome;
mod datakit;
mod folded;
mod goroutines;
mod gperf;
mod heph;
pub mod jfr;
mod json_profiles;
mod jvm_text;
mod line_protocol;
mod otlp;
mod otlp_traces;
mod perf_script;
mod perfetto;
mod pprof;
mod random;
mod tptp;
mod zipkin;
pub mod zorka;

pub use random::{Random, mix};

/// Makes about `bytes` bytes of a format from a seed, in pieces.
pub type Sample = fn(seed: u64, bytes: u64, out: &mut dyn FnMut(&[u8]));

/// The generators, by the names of their formats.
pub const SAMPLES: &[(&str, Sample)] = &[
    ("cdt-calls", cdt::calls),
    ("cdt-trace", cdt::trace),
    ("cdt-dictionary", cdt::dictionary),
    ("cdt-params", cdt::params),
    ("cdt-suspend", cdt::suspend),
    ("cdt-sql", cdt::sql),
    ("cdt-xml", cdt::xml),
    ("cdt-gc", cdt::gc),
    ("cdt-blst", cdt::blst),
    ("cdt-tcp", cdt::tcp),
    ("heph", heph::sample),
    ("zorka-s0", zorka::s0),
    ("zorka-s0b", zorka::s0b),
    ("zorka-b1", zorka::b1),
    ("zorka-b2", zorka::b2),
    ("zorka-c", zorka::c),
    ("zorka-agd", zorka::agd),
    ("zorka-store", zorka::store),
    ("zorka-requests", zorka::requests),
    ("tptp-binary", tptp::binary),
    ("tptp-xml", tptp::xml),
    ("datakit-event", datakit::event),
    ("datakit-request", datakit::request),
    ("pyroscope-ingest", datakit::ingest),
    ("pyroscope-config", datakit::config),
    ("line-protocol", line_protocol::sample),
    ("flamegraph-json", json_profiles::flame_graph),
    ("go-metrics", json_profiles::go_metrics),
    ("pprof", pprof::sample),
    ("gperf-cpu", gperf::cpu),
    ("gperf-heap", gperf::heap),
    ("gperf-contention", gperf::contention),
    ("go-count", gperf::count),
    ("go-goroutines", goroutines::dump),
    ("jfr", jfr::sample),
    ("java-threads", jvm_text::threads),
    ("top-text", jvm_text::top),
    ("gc-log", cdt::gc),
    ("folded", folded::stacks),
    ("perf-script", perf_script::events),
    ("chrome", chrome::sample),
    ("perfetto", perfetto::sample),
    ("otlp-profiles", otlp::sample),
    ("otlp-profiles-json", otlp_traces::profile_json),
    ("otlp-traces", otlp_traces::protobuf),
    ("otlp-traces-json", otlp_traces::json),
    ("zipkin", zipkin::sample),
    ("zipkin-protobuf", zipkin::protobuf),
    ("speedscope", json_profiles::speedscope),
    ("cpuprofile", json_profiles::cpuprofile),
    ("heapprofile", json_profiles::heapprofile),
    ("stackprof", json_profiles::stackprof),
];

/// Returns the generator of a format.
#[must_use]
pub fn by_name(format: &str) -> Option<Sample> {
    let row = SAMPLES.iter().find(|(name, _)| *name == format);
    row.map(|&(_, sample)| sample)
}

/// Makes about `n_bytes` bytes of a format.
///
/// # Panics
/// When the format has no generator.
#[must_use]
pub fn bytes(format: &str, seed: u64, n_bytes: u64) -> Vec<u8> {
    let sample = by_name(format).unwrap_or_else(|| panic!("{format} has no generator"));
    let mut bytes = Vec::new();
    sample(seed, n_bytes, &mut |piece| bytes.extend_from_slice(piece));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_generator_is_of_a_format() {
        for (name, _) in SAMPLES {
            assert!(traceloom_formats::by_name(name).is_some(), "{name}");
        }
    }
}
