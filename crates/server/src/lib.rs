//! The collector: socket → session → entries → log → sync → acknowledgement, and log → chunks and manifests.
//!
//! - [`serve`] runs listeners until a [`Stop`] says so.
//! - [`Sealer`] turns what the log has into chunks and manifests, and [`ask`] has captures pinned and deleted.
//! - [`send`] is the other end: it plays senders, for tests, demonstrations and measurements.
//! - [`Question`] is what pages and programs ask of the captures, and [`Answers`] who answers; [`Catalog`] is what is known of all of them.
//! - [`attach`] controls an agent that waits for a client, and [`play`] is such an agent.
//!
//! A connection is one task with one budget. What a session is, and what it stores, is a protocol's
//! ([`traceloom_formats::protocol`]); what becomes of it on disk is the log's ([`traceloom_log`]). Nothing here knows
//! a format.

mod agent_commands;
mod attach;
mod audit;
mod ballast;
mod catalog;
mod connection;
mod counts;
mod datagrams;
mod error;
mod facts;
mod files;
mod followed;
mod forward;
mod http;
mod journal;
mod latencies;
mod log_events;
mod observer;
mod post;
mod posts;
mod pull;
mod push;
mod questions;
mod seal;
mod send;
mod serve;
mod session_ids;
mod settings;
mod stop;
mod tenants;
#[cfg(test)]
mod tests;
mod tls;
mod tokens;
mod zorka_agent;

pub use agent_commands::uuid;
pub use attach::{
    AttachOptions, CommandQueue, Commands, PlayOptions, PlayedTrace, attach, commands, play,
};
pub use catalog::Catalog;
pub use counts::{
    Counter, Counts, CountsByReason, FactsCounts, ForwardCounts, ListenerCounts, SealCounts,
    TlsCounts,
};
pub use error::Error;
pub use facts::rebuild_catalog;
pub use forward::ForwardOptions;
pub use http::document as openapi;
pub use latencies::Latencies;
pub use log_events::{Level, LogEvent};
pub use post::{PostOptions, PostRequest, post, post_once};
pub use pull::{PullTarget, PulledProfile};
pub use push::{PushFile, PushOptions, Pushed, push};
pub use questions::{AnsweringCommand, Answers, Page, PartOf, ProcessedContent, Question};
pub use seal::{Request, SealLog, SealRules, Sealer, SlowRule, ask};
pub use send::{Ledger, SendOptions, Sent, Streams, send};
pub use serve::serve;
pub use settings::{HttpOptions, Listen, Options, check};
pub use stop::Stop;
pub use tls::{Reload, TlsClient, TlsOptions};
pub use tokens::{Right, StoredToken, Tokens, is_tenant};
pub use zorka_agent::{
    AgentGeneration, AgentOptions, AgentPost, AgentSession, AgentsSent, send_as_agents,
};
