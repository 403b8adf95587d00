//! How a collector is set, and whether it may start so.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use traceloom_formats::protocol::Protocol;
use traceloom_input::captures::DataFolder;

use crate::Error;
use crate::forward::ForwardOptions;
use crate::log_events::Level;
use crate::pull::PullTarget;
use crate::questions::Answers;
use crate::seal::SealRules;
use crate::tls::{TlsKeys, TlsOptions};
use crate::tokens::Tokens;

/// How to run a collector.
#[derive(Clone, Debug)]
pub struct Options {
    /// Its data folder.
    pub data: PathBuf,
    /// Where it listens.
    pub listeners: Vec<Listen>,
    /// Where datagrams are received, in protocols that have them.
    pub datagrams: Vec<Listen>,
    /// Files that grow, each with what is in it.
    pub followed: Vec<(&'static Protocol, PathBuf)>,
    /// Where HTTP is spoken.
    pub http: Option<HttpOptions>,
    /// OpenTelemetry's exporters over gRPC, if they are listened to.
    pub otlp_grpc: Option<HttpOptions>,
    /// Programs whose profiles are pulled.
    pub pulled: Vec<PullTarget>,
    /// Bytes that an upload may have.
    pub upload_bytes: u64,
    /// Tags that Datakit's input sets on every profile, over those of its sender, such as `env:prod,zone:b`.
    pub input_tags: String,
    /// Where points of Datakit's profiles are sent on to.
    pub forward: Option<ForwardOptions>,
    /// Who answers questions about what was received, and derives points.
    pub answers: Option<Answers>,
    /// Bytes that senders of one tenant may post in a minute; unlimited without.
    pub tenant_bytes: Option<u64>,
    /// Posts that come again are stored again: with this, tests of repeats fail.
    pub forgets_repeats: bool,
    /// It may listen where other machines reach it, although senders do not say who they are.
    pub allow_remote: bool,
    /// Connections at a time.
    pub connections: usize,
    /// Namespaces whose senders are told to stop.
    pub unwanted: Vec<String>,
    /// Time that connections have for their end once the collector is asked to stop.
    pub grace: Duration,
    /// When captures are sealed, and how long they are kept.
    pub seal: SealRules,
    /// Keys of the listeners that speak TLS.
    pub tls: Option<TlsOptions>,
    /// What matters less is not said.
    pub log_level: Level,
    /// The settings as an operator knows them, by name; pages show them.
    pub settings: serde_json::Value,
    /// What pages show and go by: `categories`, the rules as their file has them, and `filters`, each with `name` and `filter`.
    pub shown: serde_json::Value,
}

/// A listener.
#[derive(Clone, Debug)]
pub struct Listen {
    /// What is spoken.
    pub protocol: &'static Protocol,
    /// Where.
    pub address: SocketAddr,
    /// It speaks TLS.
    pub tls: bool,
}

/// The HTTP side.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// Where it listens.
    pub address: SocketAddr,
    /// It speaks TLS.
    pub tls: bool,
    /// Requests need a token on this machine too; from other machines they always do.
    pub requires_token: bool,
}

/// Checks settings before anything is made or opened.
///
/// # Errors
/// When other machines would reach what does not ask who they are, a data folder is none, or TLS has no usable keys.
pub fn check(options: &Options) -> Result<(), Error> {
    tls_keys(options)?;
    let asks_for_certificates = options
        .tls
        .as_ref()
        .is_some_and(|tls| tls.client_ca.is_some());
    for listener in options.listeners.iter().chain(&options.datagrams) {
        let address = listener.address;
        let is_known = listener.tls && asks_for_certificates;
        if !address.ip().is_loopback() && !options.allow_remote && !is_known {
            return Err(Error::new(format!(
                "{address} can be reached from other machines, and senders of {} do not say who they are: \
                 --tls-client-ca asks them for certificates, and --allow-remote listens there all the same",
                listener.protocol.captures.name
            )));
        }
    }
    for http in options.http.iter().chain(&options.otlp_grpc) {
        let is_known = http.address.ip().is_loopback() || (http.tls && asks_for_certificates);
        if !is_known && !has_token(&options.data)? {
            return Err(Error::new(format!(
                "{} can be reached from other machines, and there is no token: `traceloom token add NAME --data {}` makes one",
                http.address,
                options.data.display()
            )));
        }
    }
    Ok(())
}

/// Reads the keys for TLS, if any listener speaks it.
pub(crate) fn tls_keys(options: &Options) -> Result<Option<TlsKeys>, Error> {
    let listeners = options
        .listeners
        .iter()
        .map(|listener| (listener.address, listener.tls));
    let http = options.http.iter().chain(&options.otlp_grpc);
    let http = http.map(|http| (http.address, http.tls));
    let speaks = listeners.chain(http).find(|(_, tls)| *tls);
    match (&options.tls, speaks) {
        (Some(tls), _) => TlsKeys::load(tls).map(Some),
        (None, None) => Ok(None),
        (None, Some((address, _))) => Err(Error::new(format!(
            "{address} is to speak TLS, and has no certificate: --tls-cert and --tls-key name one"
        ))),
    }
}

/// Returns `true` if a data folder has a token; one that is not there yet has none.
fn has_token(data: &Path) -> Result<bool, Error> {
    if !data.exists() {
        return Ok(false);
    }
    Ok(!Tokens::open(&DataFolder::open(data)?)?.list().is_empty())
}
