//! Spans of `tracing`.

use std::sync::Arc;

use traceloom_emit::TracingLayer;
use traceloom_emit::heph::{Options, Sink, Tracer};
use tracing_subscriber::layer::SubscriberExt as _;

use super::trace::{Event, Read, Trace, read};

/// Runs `work` under a layer and returns what was written.
fn traced(layer: fn(Arc<Tracer>) -> TracingLayer, work: impl FnOnce()) -> Trace {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.heph");
    let sink = Sink::file(&path).expect("a file");
    let tracer = Arc::new(Tracer::start(sink, Options::default()).expect("a thread"));
    let subscriber = tracing_subscriber::registry().with(layer(tracer.clone()));
    tracing::subscriber::with_default(subscriber, work);
    let report = tracer.close();
    let trace = read(&std::fs::read(&path).expect("a trace"));
    assert_eq!(trace.events.len() as u64, report.written);
    assert_eq!(report.dropped, 0);
    trace
}

fn text(text: &str) -> Read {
    Read::Text(text.to_owned())
}

fn attributes(event: &Event) -> Vec<(&str, &Read)> {
    let pairs = event.attributes.iter();
    pairs.map(|(name, value)| (name.as_str(), value)).collect()
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.events.iter().map(|event| &*event.name).collect()
}

#[test]
fn threads_show_a_call_each_time_that_a_span_is_entered() {
    let trace = traced(TracingLayer::threads, || {
        let outer = tracing::info_span!(
            "outer",
            u = 7_u64,
            i = -7_i64,
            f = 0.5,
            s = "text",
            yes = true,
            debug = ?Some(1),
            late = tracing::field::Empty,
        );
        outer.in_scope(|| {
            let _inner = tracing::info_span!("inner").entered();
            tracing::warn!(n = 3_u64, "found {}", 3);
        });
        outer.record("late", "now");
        outer.in_scope(|| {});
    });
    assert_eq!(names(&trace), ["found 3", "inner", "outer", "outer"]);
    let [event, inner, first, second] = &trace.events[..] else {
        panic!("{:?}", trace.events);
    };
    let warning = [
        ("level", &text("WARN")),
        ("target", &text(module_path!())),
        ("n", &Read::U64(3)),
    ];
    assert_eq!(attributes(event), warning);
    let (debug, s) = (text("Some(1)"), text("text"));
    let recorded = [
        ("u", &Read::U64(7)),
        ("i", &Read::I64(-7)),
        ("f", &Read::F64(0.5_f64.to_bits())),
        ("s", &s),
        ("yes", &Read::U64(1)),
        ("debug", &debug),
    ];
    assert_eq!(attributes(first), recorded);
    assert_eq!(
        attributes(second),
        [&recorded[..], &[("late", &text("now"))]].concat()
    );
    let times = [
        first.start,
        inner.start,
        event.start,
        event.end,
        inner.end,
        first.end,
        second.start,
        second.end,
    ];
    assert!(times.is_sorted(), "{times:?}");
    assert!(
        trace
            .events
            .iter()
            .all(|event| event.stream == 1 && event.substream == 0)
    );
}

#[test]
fn tasks_show_spans_from_their_beginning_to_their_end() {
    let trace = traced(TracingLayer::tasks, || {
        let first = tracing::info_span!("first");
        let second = tracing::info_span!("second");
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        // Two tasks in turn, one of which goes on elsewhere.
        first.in_scope(|| tracing::info!("begun"));
        second.in_scope(|| drop(tracing::info_span!("within")));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                tracing::dispatcher::with_default(&dispatch, || {
                    first.in_scope(|| drop(tracing::info_span!("elsewhere")));
                });
            });
        });
    });
    assert_eq!(
        names(&trace),
        ["begun", "within", "elsewhere", "second", "first"]
    );
    let [begun, within, elsewhere, second, first] = &trace.events[..] else {
        panic!("{:?}", trace.events);
    };
    let task = |event: &Event| (event.stream, event.substream);
    assert_eq!([begun, elsewhere].map(task), [task(first); 2]);
    assert_eq!(task(within), task(second));
    assert_ne!(task(first), task(second));
    assert!(first.start <= begun.start && elsewhere.end <= first.end);
    assert!(second.start <= within.start && within.end <= second.end);
}

#[test]
fn two_layers_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let tracers = ["a", "b"].map(|name| {
        let sink = Sink::file(folder.path().join(name)).expect("a file");
        Arc::new(Tracer::start(sink, Options::default()).expect("a thread"))
    });
    let subscriber = tracing_subscriber::registry()
        .with(TracingLayer::threads(tracers[0].clone()))
        .with(TracingLayer::tasks(tracers[1].clone()));
    tracing::subscriber::with_default(subscriber, || {
        let span = tracing::info_span!("span", n = 1_u64);
        span.in_scope(|| {});
        span.in_scope(|| {});
    });
    for (tracer, (name, n_spans)) in tracers.iter().zip([("a", 2), ("b", 1)]) {
        tracer.close();
        let trace = read(&std::fs::read(folder.path().join(name)).expect("a trace"));
        assert_eq!(names(&trace), vec!["span"; n_spans]);
        assert!(
            trace
                .events
                .iter()
                .all(|event| attributes(event) == [("n", &Read::U64(1))])
        );
    }
}

#[test]
fn values_that_trace_themselves_are_recorded() {
    struct Traces;
    impl std::fmt::Debug for Traces {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            tracing::info!("formatting");
            f.write_str("traced")
        }
    }
    let trace = traced(TracingLayer::tasks, || {
        let span = tracing::info_span!("span", value = tracing::field::Empty);
        span.in_scope(|| span.record("value", tracing::field::debug(Traces)));
    });
    assert_eq!(names(&trace), ["formatting", "span"]);
    assert_eq!(attributes(&trace.events[1]), [("value", &text("traced"))]);
}
