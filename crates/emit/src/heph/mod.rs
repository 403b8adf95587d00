//! Spans as Heph packets: a [`Tracer`] for the process, a [`Stream`] for each thread, a [`Span`] for each call.
//!
//! A stream encodes finished spans into a buffer of its own. One thread of the tracer takes what the buffers hold and
//! writes it to the [`Sink`], so that a traced thread never waits for a disk or a peer. Recording a span takes two
//! readings of the clock, one uncontended lock and one copy, and allocates nothing once the buffers of a thread exist.
//!
//! # What is lost, and how one learns of it
//!
//! Memory is bounded by [`Options::buffer`] bytes a stream. Where a sink is slower than the program, a full buffer takes
//! no more spans until it was written: they are *dropped*. Each dropped span uses up a number of the packet counter, so
//! that a reader sees the gap; the next packet of the stream is an event called [`DROPPED`] with their number; and
//! [`Tracer::report`] counts them. What a killed process had not written, at most [`Options::interval`] of spans, is lost
//! without such a packet, and so are bytes that the operating system had accepted for a connection that broke: Heph has
//! no acknowledgements.
//!
//! Texts longer than 65,535 bytes and lists of more elements do not fit into a packet. They are cut, texts between
//! characters, and [`Report::cut`] counts the spans.

mod drain;
mod packet;
mod sink;
mod stream;
mod tracer;

#[cfg(feature = "tracing")]
pub(crate) use packet::Packet;
pub use sink::Sink;
pub use stream::{Span, Stream};
pub use tracer::Tracer;

pub use crate::engine::{DROPPED, Options, Report};
pub use crate::value::Value;
