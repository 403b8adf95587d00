//! What `traceloom-emit` writes is read back as it was recorded.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test, of files and sockets"
)]

mod heph;
mod layer;
mod trace;
mod zorka;
