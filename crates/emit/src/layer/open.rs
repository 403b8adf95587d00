//! What layers keep of open spans.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing_subscriber::registry::{LookupSpan, SpanRef};

/// Returns a number that tells a layer's entries apart from those of others.
pub fn layer_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What a layer keeps of an open span.
#[derive(Debug)]
pub struct OpenSpan<V> {
    layer: u64,
    value: V,
    /// What another layer keeps.
    next: Option<Box<OpenSpan<V>>>,
}

impl<V: Send + Sync + 'static> OpenSpan<V> {
    /// Keeps a value of a layer with a span.
    pub fn keep<'r, R: LookupSpan<'r>>(span: &SpanRef<'r, R>, layer: u64, value: V) {
        let mut open = Self {
            layer,
            value,
            next: None,
        };
        let mut extensions = span.extensions_mut();
        if let Some(other) = extensions.get_mut::<Self>() {
            open.next = other.next.take();
            other.next = Some(Box::new(open));
        } else {
            extensions.insert(open);
        }
    }

    /// Calls `with` with what a layer keeps of a span, if that began after the layer was there.
    pub fn of<'r, T, R: LookupSpan<'r>>(
        span: &SpanRef<'r, R>,
        layer: u64,
        with: impl FnOnce(&mut V) -> T,
    ) -> Option<T> {
        let mut extensions = span.extensions_mut();
        let mut open = extensions.get_mut::<Self>();
        while let Some(one) = open {
            if one.layer == layer {
                return Some(with(&mut one.value));
            }
            open = one.next.as_deref_mut();
        }
        None
    }
}
