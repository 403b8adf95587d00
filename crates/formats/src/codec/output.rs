//! Where targets write.

use traceloom_model::flat::{FlatRows, Flatten};
use traceloom_model::{Feature, Flow, Sink};

use crate::Error;

/// Takes the bytes of one or many files; on another thread than the reader's when stages overlap.
pub trait Output: Send {
    /// Appends `bytes` to the file `name`, a relative path with `/`; empty for a target of one file.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] when the bytes cannot be written.
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error>;

    /// Says that nothing more is written to the file `name`, so that it may be closed before the rest is written.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] when what is left of it cannot be written.
    fn end(&mut self, _name: &str) -> Result<(), Error> {
        Ok(())
    }
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

    /// Returns what was left out, feature by feature, once finished; nothing for a target that makes no choice.
    ///
    /// Which value a file of one value holds depends on everything that came, so only the target knows.
    fn left_out(&self) -> Vec<(Feature, Vec<LeftOut>)> {
        Vec::new()
    }
}

/// Returns the entry of a feature that has no names, `None` where nothing of it was left out.
pub(crate) fn left_out_of(feature: Feature, count: u64) -> Option<(Feature, Vec<LeftOut>)> {
    let name = String::new();
    (count > 0).then(|| (feature, vec![LeftOut { name, count }]))
}

/// What a target left out by its own choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// The name of the value or of the event type.
    pub name: String,
    /// The number of samples or events that have it.
    pub count: u64,
}

/// Takes the rows of the flat tables and can be finished: with [`Flatten`] around it, a target.
pub trait RowTarget: FlatRows + Send {
    /// Writes what is left; no row follows.
    ///
    /// # Errors
    /// The first error met.
    fn end(&mut self) -> Result<(), Error>;
}

impl<R: RowTarget> Target for Flatten<R> {
    fn finish(&mut self) -> Result<(), Error> {
        // A sink that breaks has met the error that its end returns.
        let _ = self.complete();
        self.rows().end()
    }
}

/// Bytes gathered before they are handed out.
const BUFFER: usize = 64 << 10;

/// Gathers what a target writes to a file and keeps the first error until it is finished.
pub(crate) struct Buffered<'o> {
    output: &'o mut dyn Output,
    name: String,
    /// What is not handed out yet.
    pub(crate) bytes: Vec<u8>,
    error: Option<Error>,
}

impl<'o> Buffered<'o> {
    /// Writes the file `name`, empty for a target of one file.
    pub(crate) fn new(output: &'o mut dyn Output, name: &str) -> Self {
        Self {
            output,
            name: name.to_owned(),
            bytes: Vec::with_capacity(2 * BUFFER),
            error: None,
        }
    }

    #[inline]
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Hands out what is gathered once it is worth it.
    #[inline]
    pub(crate) fn spill(&mut self) {
        if self.bytes.len() >= BUFFER {
            self.hand_out();
        }
    }

    /// Hands out what is gathered once it is worth it, and says whether to go on.
    #[inline]
    pub(crate) fn spilled(&mut self) -> Flow {
        self.spill();
        if self.error.is_none() {
            Flow::Continue(())
        } else {
            Flow::Break(())
        }
    }

    /// Keeps an error that is none of writing, unless there is one already.
    pub(crate) fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    fn hand_out(&mut self) {
        if self.error.is_none() {
            self.error = self.output.write(&self.name, &self.bytes).err();
        }
        self.bytes.clear();
    }

    /// Hands out the rest.
    ///
    /// # Errors
    /// The first that writing met.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        self.hand_out();
        self.error.take().map_or(Ok(()), Err)
    }
}
