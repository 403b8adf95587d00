use std::fmt;

/// Why the collector or a sender ended, as a sentence.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// Returns the error that `text` describes.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<traceloom_input::Error> for Error {
    fn from(error: traceloom_input::Error) -> Self {
        Self(error.to_string())
    }
}
