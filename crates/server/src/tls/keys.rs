//! Certificates and keys of listeners, read again when their files change.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use tokio::sync::watch;

use super::pem::{PemFile, provider};
use crate::Error;
use crate::counts::TlsCounts;

/// Time between two looks at the files.
const LOOK: Duration = Duration::from_secs(1);

/// Where the keys of listeners are.
#[derive(Clone, Debug)]
pub struct TlsOptions {
    /// PEM file of the certificate, with those between it and its CA behind it.
    pub certificate: PathBuf,
    /// PEM file of its private key.
    pub key: PathBuf,
    /// PEM file of the CAs that sign certificates of senders; senders need one then.
    pub client_ca: Option<PathBuf>,
    /// Has the files read again although they did not change.
    pub reload: Reload,
}

/// Asks a running collector to read its TLS files again.
#[derive(Clone, Debug)]
pub struct Reload(Arc<watch::Sender<u64>>);

impl Default for Reload {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Reload {
    /// Asks once more.
    pub fn now(&self) {
        self.0.send_modify(|n_asked| *n_asked += 1);
    }
}

/// The keys in use.
pub(crate) struct TlsKeys {
    options: TlsOptions,
    loaded: Mutex<Loaded>,
}

struct Loaded {
    config: Arc<ServerConfig>,
    /// Hash of the files that were read last, usable or not.
    tried: blake3::Hash,
}

impl TlsKeys {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be read, is not PEM, or the key is another certificate's.
    pub(crate) fn load(options: &TlsOptions) -> Result<Self, Error> {
        let tried = content(options);
        Ok(Self {
            options: options.clone(),
            loaded: Mutex::new(Loaded {
                config: Arc::new(config(options)?),
                tried,
            }),
        })
    }

    /// Returns what the next handshake is made with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.config.clone()
    }

    /// Reads the files again whenever they changed or somebody asks, and counts and tells how that went.
    pub(crate) async fn watch(
        self: Arc<Self>,
        counts: Arc<TlsCounts>,
        tell: impl Fn(String) + Send,
    ) {
        let mut asked = self.options.reload.0.subscribe();
        let mut before = self.tried();
        loop {
            let is_asked = tokio::select! {
                changed = asked.changed() => changed.is_ok(),
                () = tokio::time::sleep(LOOK) => false,
            };
            let keys = self.clone();
            let looked = tokio::task::spawn_blocking(move || {
                let now = content(&keys.options);
                // Of files that are being replaced one after the other, only the last state is tried.
                let settled = now == before && now != keys.tried();
                (now, (is_asked || settled).then(|| keys.reload(now)))
            });
            let Ok((now, reloaded)) = looked.await else {
                return;
            };
            before = now;
            match reloaded {
                None => {}
                Some(Ok(())) => {
                    counts.reloaded();
                    tell("the TLS certificate and key were read again".to_owned());
                }
                Some(Err(error)) => {
                    counts.failed();
                    tell(format!(
                        "ALARM: the TLS files cannot be used, and those read before stay in use: {error}"
                    ));
                }
            }
        }
    }

    fn tried(&self) -> blake3::Hash {
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.tried
    }

    fn reload(&self, content: blake3::Hash) -> Result<(), Error> {
        let config = config(&self.options);
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.tried = content;
        loaded.config = Arc::new(config?);
        Ok(())
    }
}

/// Returns a hash of what the files hold; one that cannot be read counts as empty.
fn content(options: &TlsOptions) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    let paths = [
        Some(&options.certificate),
        Some(&options.key),
        options.client_ca.as_ref(),
    ];
    for path in paths.into_iter().flatten() {
        let bytes = std::fs::read(path).unwrap_or_default();
        hasher.update(blake3::hash(&bytes).as_bytes());
    }
    hasher.finalize()
}

fn config(options: &TlsOptions) -> Result<ServerConfig, Error> {
    let certificate = PemFile::read(&options.certificate)?;
    let key = PemFile::read(&options.key)?;
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::new(error.to_string()))?;
    let config = match &options.client_ca {
        None => config.with_no_client_auth(),
        Some(path) => {
            let ca = PemFile::read(path)?;
            let roots = Arc::new(ca.roots()?);
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
            config.with_client_cert_verifier(verifier.build().map_err(|error| ca.error(error))?)
        }
    };
    config
        .with_single_cert(certificate.certificates()?, key.key()?)
        .map_err(|error| certificate.error(error))
}
