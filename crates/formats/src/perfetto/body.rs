//! What is encoded of a span that waits for the spans around it.

use crate::wire::put_start;

/// Bytes of a span that lie in its row.
const SHORT: usize = 30;

/// A few bytes in place, more on the heap: most spans have a name and little else.
#[derive(Debug)]
pub(super) enum Body {
    Short(u8, [u8; SHORT]),
    Long(Box<[u8]>),
}

impl Body {
    #[inline]
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut short = [0; SHORT];
        match (short.get_mut(..bytes.len()), u8::try_from(bytes.len())) {
            (Some(own), Ok(len)) => {
                own.copy_from_slice(bytes);
                Self::Short(len, short)
            }
            _ => Self::Long(bytes.into()),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Short(len, _) => usize::from(*len),
            Self::Long(bytes) => bytes.len(),
        }
    }

    /// Appends the bytes.
    #[inline]
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Self::Short(len, bytes) => put_start(out, *bytes, usize::from(*len)),
            Self::Long(bytes) => out.extend_from_slice(bytes),
        }
    }
}
