//! Errors of the outside world; each carries the path it is about.

use std::fmt;
use std::path::{Path, PathBuf};

/// Something outside could not be read or written.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    message: String,
    source: Option<std::io::Error>,
}

impl Error {
    /// The operating system refused something about `path`.
    #[must_use]
    pub fn io(path: impl AsRef<Path>, error: std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        Self(Box::new(Inner {
            path,
            message: error.to_string(),
            source: Some(error),
        }))
    }

    /// `path` cannot be used, in a sentence.
    #[must_use]
    pub fn about(path: impl AsRef<Path>, message: impl Into<String>) -> Self {
        let path = path.as_ref().to_owned();
        Self(Box::new(Inner {
            path,
            message: message.into(),
            source: None,
        }))
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns what is wrong, without the path.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns true if the operating system refused something.
    pub(crate) fn is_io(&self) -> bool {
        self.0.source.is_some()
    }

    /// Returns true if the path does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0
            .source
            .as_ref()
            .is_some_and(|e| e.kind() == std::io::ErrorKind::NotFound)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.path.display(), self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|error| error as _)
    }
}

impl From<Error> for traceloom_formats::Error {
    fn from(error: Error) -> Self {
        Self::io(error.to_string())
    }
}
