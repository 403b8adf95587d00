//! What a span with two attributes takes of the thread that records it: here, in tracing-chrome and in OpenTelemetry's SDK.
//!
//! `cargo bench -p traceloom-emit --features tracing --bench spans`. Processor time of the recording thread, without that
//! of the thread that writes; the best of several rounds, in turn. Everybody has room for all spans of a round, so that
//! nobody is fast by dropping, and throws the bytes away in the end. The project wants less than 100 ns beside the two
//! readings of the clock.

use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use opentelemetry::KeyValue;
use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter,
};
use traceloom_emit::heph::{Options, Sink, Tracer};
use traceloom_emit::zorka::{PostSender, Registry, Trace, Value};
use traceloom_emit::{
    Recorder, RecorderLayer, ThreadRecorder, TraceOutput, TracingLayer, cdt, chrome, perfetto, tptp,
};
use tracing_subscriber::layer::SubscriberExt as _;

/// Spans of a round.
const N: u32 = 4_000;
const ROUNDS: usize = 400;

/// Throws spans away.
#[derive(Debug)]
struct Nowhere;

impl SpanExporter for Nowhere {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        black_box(batch);
        Ok(())
    }
}

struct Contender<'c> {
    name: &'static str,
    /// Records the spans of a round.
    round: Box<dyn FnMut() + 'c>,
    /// Waits until they are written.
    settle: Box<dyn FnMut() + 'c>,
    best: f64,
}

impl<'c> Contender<'c> {
    fn new(name: &'static str, round: impl FnMut() + 'c, settle: impl FnMut() + 'c) -> Self {
        Self {
            name,
            round: Box::new(round),
            settle: Box::new(settle),
            best: f64::INFINITY,
        }
    }
}

fn options() -> Options {
    Options {
        buffer: 4 << 20,
        ..Options::default()
    }
}

fn tracer() -> Tracer {
    let sink = Sink::file("/dev/null").expect("a file");
    Tracer::start(sink, options()).expect("a thread")
}

fn recorder(output: impl TraceOutput) -> Recorder {
    Recorder::start(output, options()).expect("a thread")
}

/// Records the calls of a round.
fn called(thread: &ThreadRecorder) {
    for n in 0..N {
        let mut call = thread.call("GET /orders");
        call.set("rows", n);
        call.set("user", "ana");
    }
}

/// The recorders of all formats, with the names of their rows. What they write goes nowhere, but for the folder of CDT, which is
/// removed.
fn recorders(folder: &Path) -> Vec<(&'static str, Recorder)> {
    let null = "/dev/null";
    let dump = cdt::DumpFolder::create(folder, "shop").expect("a folder");
    let tptp = |form| tptp::TptpFile::create(null, "shop", form).expect("a file");
    let chrome = || chrome::ChromeFile::create(null).expect("a file");
    let perfetto = || perfetto::PerfettoFile::create(null).expect("a file");
    vec![
        ("traceloom-emit, CDT", recorder(dump)),
        (
            "traceloom-emit, TPTP binary",
            recorder(tptp(tptp::TraceForm::Binary)),
        ),
        (
            "traceloom-emit, TPTP XML",
            recorder(tptp(tptp::TraceForm::Xml)),
        ),
        ("traceloom-emit, Chrome", recorder(chrome())),
        ("traceloom-emit, Perfetto", recorder(perfetto())),
        (
            "traceloom-emit, Zorka's posts",
            recorder(PostSender::new("shop", "HTTP", |_| Some(202))),
        ),
    ]
}

fn traced() {
    for n in 0..N {
        let _span = tracing::info_span!("GET /orders", rows = n, user = "ana").entered();
    }
}

fn main() {
    let heph = tracer();
    let stream = heph.stream();
    let layered = Arc::new(tracer());
    let layer = tracing_subscriber::registry().with(TracingLayer::threads(layered.clone()));
    let layer = tracing::Dispatch::new(layer);
    let folder = tempfile::tempdir().expect("a folder");
    let recorders = recorders(folder.path());
    let perfetto = perfetto::PerfettoFile::create("/dev/null").expect("a file");
    let perfetto = Arc::new(recorder(perfetto));
    let recorder_layer = RecorderLayer::new(perfetto.clone());
    let recorder_layer = tracing_subscriber::registry().with(recorder_layer);
    let recorder_layer = tracing::Dispatch::new(recorder_layer);
    let (chrome, chrome_guard) = tracing_chrome::ChromeLayerBuilder::new()
        .writer(io::sink())
        .include_args(true)
        .build();
    let chrome = tracing::Dispatch::new(tracing_subscriber::registry().with(chrome));
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(2 * N as usize)
        .build();
    let processor = BatchSpanProcessor::builder(Nowhere).with_batch_config(config);
    let provider = SdkTracerProvider::builder()
        .with_span_processor(processor.build())
        .build();
    let telemetry = provider.tracer("bench");
    let registry = Registry::default();
    let method = registry.method("demo.App", "orders", "()V");
    let (rows, user) = (registry.symbol("rows"), registry.symbol("user"));
    let mut calls = Trace::new(4 << 20, Duration::ZERO);

    let nothing = || {};
    let patience = Duration::from_secs(60);
    let mut contenders = vec![
        Contender::new(
            "two readings of the clock",
            || {
                for _ in 0..N {
                    black_box((Instant::now(), Instant::now()));
                }
            },
            nothing,
        ),
        Contender::new(
            "traceloom-emit, Heph",
            || {
                for n in 0..N {
                    let mut span = stream.span("GET /orders");
                    span.set("rows", n);
                    span.set("user", "ana");
                }
            },
            || assert!(heph.flush(patience)),
        ),
        Contender::new(
            "traceloom-emit, Zorka",
            || {
                calls.clear();
                for n in 0..N {
                    calls.enter(method);
                    calls.attribute(rows, Value::Integer(n.into()));
                    calls.attribute(user, Value::Text("ana"));
                    calls.exit();
                }
                black_box(calls.bytes());
            },
            nothing,
        ),
        Contender::new(
            "layer of tracing, Heph",
            || tracing::dispatcher::with_default(&layer, traced),
            || assert!(layered.flush(patience)),
        ),
        Contender::new(
            "layer of tracing, Perfetto",
            || tracing::dispatcher::with_default(&recorder_layer, traced),
            || assert!(perfetto.flush(patience)),
        ),
        Contender::new(
            "tracing-chrome",
            || tracing::dispatcher::with_default(&chrome, traced),
            || chrome_guard.flush(),
        ),
        Contender::new(
            "opentelemetry_sdk",
            || {
                for n in 0..N {
                    let mut span = telemetry.start("GET /orders");
                    span.set_attribute(KeyValue::new("rows", i64::from(n)));
                    span.set_attribute(KeyValue::new("user", "ana"));
                    span.end();
                }
            },
            || provider.force_flush().expect("a flush"),
        ),
    ];
    for (name, recorder) in &recorders {
        let thread = recorder.thread("main");
        contenders.push(Contender::new(
            name,
            move || called(&thread),
            || assert!(recorder.flush(patience)),
        ));
    }
    for _ in 0..ROUNDS {
        for contender in &mut contenders {
            let start = ThreadTime::now();
            (contender.round)();
            let took = start.elapsed().as_secs_f64() * 1e9 / f64::from(N);
            contender.best = contender.best.min(took);
            (contender.settle)();
        }
    }
    let (clock, ours) = (contenders[0].best, contenders[1].best);
    for contender in &contenders {
        println!(
            "{:34} {:7.1} ns a span, {:7.1} beside the clock, {:5.2} times ours",
            contender.name,
            contender.best,
            contender.best - clock,
            contender.best / ours
        );
    }
    drop(contenders);
    for tracer in [&heph, &*layered] {
        assert_eq!(tracer.report().dropped, 0);
    }
    for (name, recorder) in &recorders {
        assert_eq!(recorder.report().dropped, 0, "{name}");
    }
    assert_eq!(perfetto.report().dropped, 0);
}
