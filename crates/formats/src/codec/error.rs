//! Errors that name the place: kind, offset, what was expected, the enclosing records.

use std::fmt;

/// What went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends; `need` more bytes would complete the item, as far as can be told.
    Truncated {
        /// Bytes missing at least.
        need: usize,
    },
    /// Bytes that no writer of the format produces.
    Invalid,
    /// A version or variant of the format that this reader does not know.
    Unsupported,
    /// A value above a limit in force.
    Limit,
    /// The input could not be read, or the output not written.
    Io,
    /// Whoever read the output went away.
    Closed,
    /// The request cannot be met by this format.
    Usage,
}

/// A located error, one word wide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Inner {
    kind: ErrorKind,
    offset: u64,
    message: String,
    within: Vec<&'static str>,
}

impl Error {
    /// The input ended inside `what`.
    #[cold]
    #[must_use]
    pub fn truncated(offset: u64, what: &str, need: usize) -> Self {
        let plural = if need == 1 { "" } else { "s" };
        let message = format!("truncated {what}: need {need} more byte{plural}");
        Self::new(ErrorKind::Truncated { need }, offset, message)
    }

    /// The bytes at `offset` cannot be what the format says.
    #[cold]
    #[must_use]
    pub fn invalid(offset: u64, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, offset, message.into())
    }

    /// A known format in a variant this reader does not read.
    #[cold]
    #[must_use]
    pub fn unsupported(offset: u64, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, offset, message.into())
    }

    /// A value above a limit.
    #[cold]
    #[must_use]
    pub fn limit(offset: u64, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, offset, message.into())
    }

    /// The operating system refused.
    #[cold]
    #[must_use]
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, 0, message.into())
    }

    /// The output at `place` cannot be written.
    #[cold]
    #[must_use]
    pub fn writing(place: &str, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => ErrorKind::Closed,
            _ => ErrorKind::Io,
        };
        Self::new(kind, 0, format!("{place}: {error}"))
    }

    /// The caller asked for something the format cannot do.
    #[cold]
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, 0, message.into())
    }

    fn new(kind: ErrorKind, offset: u64, message: String) -> Self {
        Self(Box::new(Inner {
            kind,
            offset,
            message,
            within: Vec::new(),
        }))
    }

    /// The same error inside the record `what`.
    #[cold]
    #[must_use]
    pub fn within(mut self, what: &'static str) -> Self {
        self.0.within.push(what);
        self
    }

    /// Returns what went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the offset in the decoded bytes of the part.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.0.offset
    }

    /// Returns the sentence without its place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            kind,
            offset,
            message,
            within,
        } = &*self.0;
        f.write_str(message)?;
        if matches!(kind, ErrorKind::Io | ErrorKind::Closed | ErrorKind::Usage) {
            return Ok(());
        }
        f.write_str(" (")?;
        for record in within {
            write!(f, "{record}, ")?;
        }
        write!(f, "offset {offset:#x})")
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_names_the_place() {
        let error = Error::truncated(0x1a2b, "method name", 12).within("trace block");
        let expected = "truncated method name: need 12 more bytes (trace block, offset 0x1a2b)";
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::Truncated { need: 12 });
    }
}
