//! Where targets write.

use traceloom_model::Sink;

use crate::Error;

/// Takes the bytes of one or many files; on another thread than the reader's when stages overlap.
pub trait Output: Send {
    /// Appends `bytes` to the file `name`, a relative path with `/`; empty for a target of one file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] when the bytes cannot be written.
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error>;
}

impl Output for Vec<u8> {
    fn write(&mut self, _name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl Output for std::collections::BTreeMap<String, Vec<u8>> {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.entry(name.to_owned())
            .or_default()
            .extend_from_slice(bytes);
        Ok(())
    }
}

/// A writer of the model: a sink that can be finished.
pub trait Target: Sink + Send {
    /// Writes what is left and says what went wrong, if anything did.
    ///
    /// # Errors
    /// The first error met: writing failed, or the data cannot be held at all.
    fn finish(&mut self) -> Result<(), Error>;
}
