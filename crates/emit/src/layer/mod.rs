//! Layers for `tracing-subscriber`.

mod calls;
mod open;
mod packets;
mod tasks;
mod threads;
mod visit;

pub use calls::RecorderLayer;
pub use packets::TracingLayer;
