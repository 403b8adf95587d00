//! Recording spans allocates nothing once a thread has its buffers.
#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(missing_docs, reason = "a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use traceloom_emit::heph::{Sink, Tracer};
use traceloom_emit::zorka::PostSender;
use traceloom_emit::{Options, Recorder, TraceOutput, cdt, chrome, perfetto, tptp};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: hands every request to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise is the one of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from `System.alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Room for everything, should the writer get no time.
fn roomy() -> Options {
    Options {
        buffer: 16 << 20,
        ..Options::default()
    }
}

#[test]
fn recording_spans_of_heph_allocates_nothing_in_the_steady_state() {
    let folder = tempfile::tempdir().expect("a folder");
    let sink = Sink::file(folder.path().join("a.heph")).expect("a file");
    let tracer = Tracer::start(sink, roomy()).expect("a thread");
    let stream = tracer.stream();
    let spans = |n: u64| {
        for i in 0..n {
            let mut outer = stream.span("outer");
            let mut inner = stream.span("inner");
            inner.set("rows", i);
            inner.set_formatted("text", format_args!("{i} of {n}"));
            drop(inner);
            outer.set("list", &[i, n][..]);
        }
        stream.record("known", 7, 1..2, &[("a", 1.5.into()), ("b", "text".into())]);
    };
    spans(100);
    let before = ALLOCATIONS.get();
    spans(20_000);
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert_eq!(tracer.close().written, 2 * 20_100 + 2);
}

/// Records calls for an output, whose thread may allocate, and returns what it took of the recording one.
fn allocations_for(output: impl TraceOutput) -> u64 {
    let recorder = Recorder::start(output, roomy()).expect("a thread");
    let thread = recorder.thread("main");
    let calls = |n: u64| {
        for i in 0..n {
            let mut outer = thread.call("outer");
            let mut inner = thread.call("inner");
            inner.set("rows", i);
            inner.set_formatted("text", format_args!("{i} of {n}"));
            drop(inner);
            outer.set("list", &[i, n][..]);
        }
        thread.record("known", 7..8, &[("a", 1.5.into()), ("b", "text".into())]);
    };
    calls(100);
    let before = ALLOCATIONS.get();
    calls(20_000);
    let allocations = ALLOCATIONS.get() - before;
    drop(thread);
    assert_eq!(recorder.close().written, 2 * 20_100 + 2);
    allocations
}

#[test]
fn recording_calls_allocates_nothing_in_the_steady_state() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let dump = cdt::DumpFolder::create(folder.path(), "shop").expect("a folder");
    assert_eq!(allocations_for(dump), 0);
    let form = tptp::TraceForm::Binary;
    let file = tptp::TptpFile::create(path("a.trcbin"), "shop", form).expect("a file");
    assert_eq!(allocations_for(file), 0);
    let file = chrome::ChromeFile::create(path("a.json")).expect("a file");
    assert_eq!(allocations_for(file), 0);
    let file = perfetto::PerfettoFile::create(path("a.perfetto-trace")).expect("a file");
    assert_eq!(allocations_for(file), 0);
    assert_eq!(
        allocations_for(PostSender::new("shop", "HTTP", |_| Some(202))),
        0
    );
}
