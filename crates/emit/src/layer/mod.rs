//! Layers for `tracing-subscriber`.

mod calls;
mod open;
mod packets;
mod visit;

pub use calls::RecorderLayer;
pub use packets::TracingLayer;
