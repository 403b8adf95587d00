//! What the collector does, as OpenMetrics. Labels are listeners and reasons, which come from closed lists.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use traceloom_model::bounds::saturated_i64;

use super::{Http, refusal};
use crate::Counts;
use crate::counts::ListenerCounts;
use crate::journal::{unix_ms, unix_ns};

/// A count of a listener: its name, what it is, and where it is read.
type Row = (&'static str, &'static str, fn(&ListenerCounts) -> u64);

const COUNTS: [Row; 8] = [
    ("connections", "Connections taken", |one| one.sessions.get()),
    ("received_units", "Units received", |one| one.received.get()),
    ("received_bytes", "Bytes received", |one| {
        one.received_bytes.get()
    }),
    (
        "decoded_units",
        "Units of which the session, or the reader of the post, knew what they are",
        |one| one.decoded.get(),
    ),
    (
        "acknowledged_units",
        "Units acknowledged after they were safe",
        |one| one.acknowledged.get(),
    ),
    (
        "stored_units",
        "Units safe, of protocols without acknowledgements",
        |one| one.stored.get(),
    ),
    (
        "suppressed_units",
        "Units that came again and were not stored again",
        |one| one.suppressed.get(),
    ),
    (
        "late_units",
        "Units that came after later ones, and were counted as lost",
        |one| one.late.get(),
    ),
];

/// Counts by reason of a listener.
type ByReason = (
    &'static str,
    &'static str,
    fn(&ListenerCounts) -> BTreeMap<&'static str, u64>,
);

#[derive(Debug)]
struct GaugeReadings {
    counts: Arc<Counts>,
    log_segments: u64,
    log_bytes: u64,
    failed: bool,
}

impl Collector for GaugeReadings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let listeners = self.counts.listeners();
        listener_counts(&listeners, &mut encoder)?;
        counts_by_reason(&listeners, &mut encoder)?;
        clock_offsets(&listeners, &mut encoder)?;
        self.counters(&mut encoder)?;
        self.gauges(&mut encoder)
    }
}

/// Listeners by name.
type Listeners = BTreeMap<&'static str, Arc<ListenerCounts>>;

fn listener_counts(
    listeners: &Listeners,
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    for (name, help, count) in COUNTS {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (listener, counts) in listeners {
            let labels = [("listener", *listener)];
            ConstCounter::new(count(counts)).encode(metric.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn counts_by_reason(
    listeners: &Listeners,
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    let by_reason: [ByReason; 3] = [
        ("refused", "Connections and requests refused", |one| {
            one.refused.get()
        }),
        ("ended", "Connections ended", |one| one.ended.get()),
        ("lost_units", "Units that did not come", |one| {
            one.lost.get()
        }),
    ];
    for (name, help, of) in by_reason {
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (listener, counts) in listeners {
            for (reason, n) in of(counts) {
                let labels = [("listener", *listener), ("reason", reason)];
                ConstCounter::new(n).encode(metric.encode_family(&labels)?)?;
            }
        }
    }
    Ok(())
}

fn clock_offsets(
    listeners: &Listeners,
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    let name = "clock_offset_seconds";
    let help = "How far the sender's clock that is farthest away is ahead";
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (listener, counts) in listeners {
        if let Some(offset_ms) = counts.clock.farthest_ms(unix_ms()) {
            let labels = [("listener", *listener)];
            let seconds = offset_ms as f64 / 1e3;
            ConstGauge::new(seconds).encode(metric.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn load(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

impl GaugeReadings {
    /// Encodes the counters that are of no listener.
    fn counters(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let name = "unforwarded_profiles";
        let help = "Profiles whose points were not sent on";
        let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (reason, n) in self.counts.forwarding.lost.get() {
            let labels = [("reason", reason)];
            ConstCounter::new(n).encode(metric.encode_family(&labels)?)?;
        }
        let tls = &self.counts.tls;
        let sealing = &self.counts.sealing;
        let alone = [
            (
                "tls_reloads",
                "Times that new TLS keys came into use",
                tls.reloads.get(),
            ),
            (
                "tls_reload_failures",
                "Times that changed TLS files could not be used",
                tls.failures.get(),
            ),
            (
                "sealed_bytes",
                "Bytes of data that were sealed",
                load(&sealing.sealed_bytes),
            ),
            (
                "forwarded_profiles",
                "Profiles whose points were sent on",
                self.counts.forwarding.forwarded.get(),
            ),
            (
                "chunk_bytes",
                "Bytes of chunks that were written for them",
                load(&sealing.chunk_bytes),
            ),
        ];
        for (name, help, value) in alone {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(metric)?;
        }
        Ok(())
    }

    /// Encodes values that go up and down.
    fn gauges(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let tls = &self.counts.tls;
        let sealing = &self.counts.sealing;
        let oldest = match sealing.oldest_unsealed_ns.load(Ordering::Relaxed) {
            0 => 0,
            since => u64::try_from((unix_ns() - since) / 1_000_000_000).unwrap_or(0),
        };
        let gauges = [
            (
                "tls_keys_stale",
                "1 while the TLS files cannot be used and older keys are",
                u64::from(tls.is_stale()),
            ),
            (
                "unsealed_bytes",
                "Bytes of data in the log that are not sealed",
                load(&sealing.unsealed_bytes),
            ),
            (
                "oldest_unsealed_seconds",
                "Age of the oldest of them",
                oldest,
            ),
            (
                "forward_queue",
                "Profiles whose points are to be sent on",
                self.counts.forwarding.waiting(),
            ),
            (
                "facts_queue",
                "Sealed captures that are to be decoded for the catalog",
                self.counts.facts.waiting(),
            ),
            (
                "clock_wrong",
                "1 while the clock is not where the time that passed has it",
                u64::from(sealing.clock_is_wrong.load(Ordering::Relaxed)),
            ),
            ("log_segments", "Segments of the log", self.log_segments),
            ("log_bytes", "Bytes of the log", self.log_bytes),
            (
                "log_failed",
                "1 after a write or sync of the log failed",
                u64::from(self.failed),
            ),
        ];
        for (name, help, value) in gauges {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(saturated_i64(value)).encode(metric)?;
        }
        Ok(())
    }
}

/// Answers with all counts.
pub(super) async fn text(State(http): State<Arc<Http>>) -> Response {
    let (log_segments, log_bytes) = http.journal.size();
    let mut registry = Registry::with_prefix("traceloom");
    registry.register_collector(Box::new(GaugeReadings {
        counts: http.all_counts.clone(),
        log_segments,
        log_bytes,
        failed: http.journal.failure().is_some(),
    }));
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}
