//! Recording spans allocates nothing once a thread has its buffers.
#![allow(unsafe_code, reason = "an allocator that counts")]
#![allow(missing_docs, reason = "a test")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use traceloom_emit::heph::{Options, Sink, Tracer};

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

#[test]
fn recording_allocates_nothing_in_the_steady_state() {
    let folder = tempfile::tempdir().expect("a folder");
    let sink = Sink::file(folder.path().join("a.heph")).expect("a file");
    // Room for everything, should the writer get no time.
    let options = Options {
        buffer: 16 << 20,
        ..Options::default()
    };
    let tracer = Tracer::start(sink, options).expect("a thread");
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
