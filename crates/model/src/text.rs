//! Strings as captures hold them: nearly always UTF-8, and kept when they are not.

use std::borrow::Cow;
use std::fmt;

/// A string of a capture: bytes, flagged when they are not valid UTF-8.
///
/// Java may emit unpaired surrogates and a cut write may end inside a character. Such bytes are kept
/// (surrogates as their three-byte generalised form) instead of being replaced, so that a writer can
/// give them back.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Text(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    Valid(Box<str>),
    Invalid(Box<[u8]>),
}

impl Text {
    /// Takes bytes that may or may not be UTF-8.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(valid) => Self(Repr::Valid(valid.into_boxed_str())),
            Err(error) => Self(Repr::Invalid(error.into_bytes().into_boxed_slice())),
        }
    }

    /// Returns the text when it is valid UTF-8.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Valid(valid) => Some(valid),
            Repr::Invalid(_) => None,
        }
    }

    /// Returns the bytes as they were.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Repr::Valid(valid) => valid.as_bytes(),
            Repr::Invalid(bytes) => bytes,
        }
    }

    /// Returns the text for people: invalid sequences become U+FFFD.
    #[inline]
    #[must_use]
    pub fn to_lossy(&self) -> Cow<'_, str> {
        match &self.0 {
            Repr::Valid(valid) => Cow::Borrowed(valid),
            Repr::Invalid(bytes) => String::from_utf8_lossy(bytes),
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Repr::Valid(text.into()))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_lossy())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Valid(valid) => fmt::Debug::fmt(valid, f),
            Repr::Invalid(bytes) => write!(f, "invalid {}", bytes.escape_ascii()),
        }
    }
}
