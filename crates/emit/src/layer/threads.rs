//! What layers have of each thread.

use std::cell::RefCell;
use std::thread::LocalKey;

use tracing_core::span::Id;

/// The layers of a thread.
pub type LayersOfThread<T> = LocalKey<RefCell<Vec<LayerOfThread<T>>>>;

/// What a layer has of a thread.
pub struct LayerOfThread<T> {
    layer: u64,
    /// What records there.
    pub recorder: T,
    /// Spans that the thread is in, each with a number of the layer's.
    entered: Vec<(Id, u64)>,
}

impl<T> LayerOfThread<T> {
    pub fn enter(&mut self, span: &Id, number: u64) {
        self.entered.push((span.clone(), number));
    }

    /// Returns the number of a span that is left; none of one that was entered before the layer was there.
    pub fn leave(&mut self, span: &Id) -> Option<u64> {
        let at = self
            .entered
            .iter()
            .rposition(|(entered, _)| entered == span)?;
        Some(self.entered.remove(at).1)
    }
}

/// Calls `with` with what a layer has of this thread; not at all on a thread that is ending.
pub fn on_this_thread<T, R>(
    layers: &'static LayersOfThread<T>,
    layer: u64,
    begin: impl FnOnce() -> T,
    with: impl FnOnce(&mut LayerOfThread<T>) -> R,
) -> Option<R> {
    let result = layers.try_with(|layers| {
        let mut layers = layers.borrow_mut();
        let at = layers.iter().position(|one| one.layer == layer);
        let at = at.unwrap_or_else(|| {
            layers.push(LayerOfThread {
                layer,
                recorder: begin(),
                entered: Vec::new(),
            });
            layers.len() - 1
        });
        with(&mut layers[at])
    });
    result.ok()
}
