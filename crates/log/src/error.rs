use std::fmt;
use std::io;

/// Why the log could not be opened, written or read.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    segment: u64,
    offset: u64,
    text: String,
    source: Option<io::Error>,
}

/// What kind of failure an [`Error`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file system refused an operation.
    Io,
    /// Committed data is damaged, or a segment is missing. Nothing was changed.
    Corrupt,
    /// A segment was written by a version that this one does not know. Nothing was changed.
    UnknownVersion,
    /// An earlier write or sync failed. Nothing is accepted until the log is opened again.
    Poisoned,
    /// A record is larger than the log takes.
    TooLarge,
}

impl Error {
    pub(crate) fn io(segment: u64, doing: &str, source: io::Error) -> Self {
        let text = doing.to_owned();
        Self::with(ErrorKind::Io, segment, 0, text, Some(source))
    }

    pub(crate) fn corrupt(segment: u64, offset: u64, text: impl Into<String>) -> Self {
        Self::with(ErrorKind::Corrupt, segment, offset, text.into(), None)
    }

    pub(crate) fn unknown_version(segment: u64, version: u32) -> Self {
        let text = format!("format version {version} is newer than this program reads");
        Self::with(ErrorKind::UnknownVersion, segment, 0, text, None)
    }

    pub(crate) fn poisoned(segment: u64) -> Self {
        let text = "an earlier write or sync failed".to_owned();
        Self::with(ErrorKind::Poisoned, segment, 0, text, None)
    }

    pub(crate) fn too_large(length: usize, limit: usize) -> Self {
        let text = format!("a record of {length} bytes is over the limit of {limit}");
        Self::with(ErrorKind::TooLarge, 0, 0, text, None)
    }

    fn with(
        kind: ErrorKind,
        segment: u64,
        offset: u64,
        text: String,
        source: Option<io::Error>,
    ) -> Self {
        Self(Box::new(Inner {
            kind,
            segment,
            offset,
            text,
            source,
        }))
    }

    /// Returns what kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the number of the segment concerned; 0 when there is none.
    #[must_use]
    pub fn segment(&self) -> u64 {
        self.0.segment
    }

    /// Returns the offset in the segment's file at which the damage begins; 0 when there is none.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.0.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.0;
        write!(f, "{}", inner.text)?;
        if inner.segment > 0 {
            write!(f, " (segment {}", inner.segment)?;
            if inner.kind == ErrorKind::Corrupt {
                write!(f, ", offset {:#x}", inner.offset)?;
            }
            write!(f, ")")?;
        }
        match &inner.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}
