//! TLS of senders.

use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::pem::{PemFile, provider};
use crate::Error;

/// How a sender speaks TLS with one collector.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    host: ServerName<'static>,
}

impl std::fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TlsClient").field(&self.host).finish()
    }
}

impl TlsClient {
    /// Prepares TLS with `host`, a name or an address without a port, whose certificate one of `ca` has signed.
    /// `identity` is the sender's own certificate chain and key, for collectors that ask for one.
    ///
    /// # Errors
    /// When a file cannot be read or is not PEM, a key does not fit its certificate, or `host` can be no one's name.
    pub fn new(host: &str, ca: &Path, identity: Option<(&Path, &Path)>) -> Result<Self, Error> {
        let ca = PemFile::read(ca)?;
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(error.to_string()))?
            .with_root_certificates(ca.roots()?);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let (certificate, key) = (PemFile::read(certificate)?, PemFile::read(key)?);
                config
                    .with_client_auth_cert(certificate.certificates()?, key.key()?)
                    .map_err(|error| certificate.error(error))?
            }
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned());
        Ok(Self {
            config: Arc::new(config),
            host: name.map_err(|_| Error::new(format!("`{host}` is no name of a host")))?,
        })
    }

    pub(crate) async fn connect(&self, socket: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        let connector = TlsConnector::from(self.config.clone());
        connector.connect(self.host.clone(), socket).await
    }
}
