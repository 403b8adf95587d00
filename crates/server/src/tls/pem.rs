//! Certificates and keys as PEM files have them.

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::Error;

/// A PEM file that was read.
pub(super) struct PemFile<'p> {
    path: &'p Path,
    pub(super) bytes: Vec<u8>,
}

impl<'p> PemFile<'p> {
    pub(super) fn read(path: &'p Path) -> Result<Self, Error> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self { path, bytes }),
            Err(error) => Err(Error::new(format!("{}: {error}", path.display()))),
        }
    }

    /// Returns an error that names the file.
    pub(super) fn error(&self, reason: impl std::fmt::Display) -> Error {
        Error::new(format!("{}: {reason}", self.path.display()))
    }

    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, Error> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.bytes).collect();
        let certificates = certificates.map_err(|error| self.error(error))?;
        match certificates.is_empty() {
            true => Err(self.error("there is no PEM certificate in it")),
            false => Ok(certificates),
        }
    }

    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, Error> {
        PrivateKeyDer::from_pem_slice(&self.bytes)
            .map_err(|_| self.error("there is no PEM private key without a passphrase in it"))
    }

    /// Returns the certificates as those that are trusted to sign others.
    pub(super) fn roots(&self) -> Result<RootCertStore, Error> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            roots.add(certificate).map_err(|error| self.error(error))?;
        }
        Ok(roots)
    }
}

/// Returns the implementation of ciphers.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
