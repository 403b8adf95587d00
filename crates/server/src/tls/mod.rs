//! TLS of listeners and senders: keys that are read again when they change, and sockets with or without it.

mod client;
mod keys;
mod pem;
mod socket;

pub use client::TlsClient;
pub(crate) use keys::TlsKeys;
pub use keys::{Reload, TlsOptions};
pub(crate) use socket::{Socket, handshake};
