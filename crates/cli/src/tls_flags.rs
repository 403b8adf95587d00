//! TLS of commands that send to a collector.

use std::path::PathBuf;

use clap::Args;
use traceloom_server::TlsClient;

use crate::usage::Usage;

/// How TLS is spoken with a collector.
#[derive(Args)]
#[command(next_help_heading = "TLS")]
pub(crate) struct TlsFlags {
    /// PEM file of the CA that signed the collector's certificate.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// PEM file of the certificate to show a collector that asks for one.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// PEM file of that certificate's private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl TlsFlags {
    /// Returns how to speak TLS with `host`, or `None` where `is_spoken` is not true.
    pub(crate) fn client(&self, host: &str, is_spoken: bool) -> anyhow::Result<Option<TlsClient>> {
        if !is_spoken {
            if self.tls_ca.is_some() || self.tls_cert.is_some() {
                let reason =
                    "the address is one without TLS: cdts://, hephs:// and https:// speak it";
                return Err(Usage(reason.to_owned()).into());
            }
            return Ok(None);
        }
        let Some(ca) = &self.tls_ca else {
            let reason = "TLS needs --tls-ca FILE, which signed the certificate of the collector";
            return Err(Usage(reason.to_owned()).into());
        };
        let identity = self.tls_cert.as_deref().zip(self.tls_key.as_deref());
        Ok(Some(TlsClient::new(host, ca, identity)?))
    }
}
