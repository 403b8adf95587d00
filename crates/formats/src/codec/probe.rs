//! Detection: what a reader can tell from the first bytes, the name and the neighbours.

/// What is known of a part before anybody reads it.
#[derive(Clone, Copy, Debug)]
pub struct Probe<'a> {
    /// The first decoded bytes, at least 64 KiB of them where there are so many.
    pub head: &'a [u8],
    /// `head` is all there is.
    pub whole: bool,
    /// Path of the part inside the input, with `/`, without compression suffixes.
    pub name: &'a str,
    /// Names of the files in its folder that are read with it, its own among them.
    pub siblings: &'a [&'a str],
}

impl<'a> Probe<'a> {
    /// Returns the last component of the name.
    #[must_use]
    pub fn file_name(&self) -> &'a str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    /// Returns the folder that holds the part, none at the top.
    #[must_use]
    pub fn folder(&self) -> Option<&'a str> {
        let (folder, _) = self.name.rsplit_once('/')?;
        folder.rsplit('/').next()
    }
}

/// How sure a format is that a part is its own.
///
/// `Certain` needs a magic number or a full parse of the head; no format is certain or likely about
/// another's file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Confidence {
    /// The bytes do not contradict it.
    Possible,
    /// Structure fits, or the name says so and the bytes agree.
    Likely,
    /// Nothing else looks like this.
    Certain,
}
