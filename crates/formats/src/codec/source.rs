//! The parts of an input as lowering sees them: named, formatted, readable from any offset.

use std::ops::Range;

use traceloom_model::bounds::{in_memory, subslice};

use crate::{Chunk, Error, Format, Reader, RecordSink, Scouted, Step};

/// One part of an input.
#[derive(Clone, Debug)]
pub struct Part {
    /// Path inside the input, with `/`, without compression suffixes.
    pub name: String,
    /// What it was recognised as.
    pub format: Option<&'static Format>,
    /// Length of its decoded bytes, where that is known without reading them.
    pub size: Option<u64>,
}

/// Bytes in windows that the caller widens.
pub trait Pull {
    /// Drops the first `consumed` bytes of the last window and returns the next one, which holds at
    /// least `need` bytes unless it is the last.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] when the bytes cannot be had.
    fn pull(&mut self, consumed: usize, need: usize) -> Result<Chunk<'_>, Error>;
}

/// The parts that belong together: one file, or the streams of one process.
pub trait Source {
    /// Returns the parts, in the order of their names.
    fn parts(&self) -> &[Part];

    /// Returns the folder that the names of the parts count from, with `/`; empty when nobody knows.
    ///
    /// Agents and collectors tell in folders above a recording whose it is.
    fn location(&self) -> &str {
        ""
    }

    /// Opens part `part` at `offset` of its decoded bytes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] when it cannot be opened, [`crate::ErrorKind::Usage`] when there is no
    /// such part.
    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error>;

    /// Returns what a [`crate::Scout`] says next of the source, once it says it; none where no scout is at work any more.
    fn heard(&self) -> Option<Scouted> {
        None
    }
}

/// Runs a reader over everything a pull gives.
///
/// Returns false when the sink broke.
///
/// # Errors
/// What the pull fails with.
pub fn drive(
    pull: &mut dyn Pull,
    reader: &mut dyn Reader,
    out: &mut dyn RecordSink,
) -> Result<bool, Error> {
    each_window(pull, 1, |window| reader.read(window, out))
}

/// Shows the windows of a part to `read`, the first one of at least `need` bytes, as each step asks.
///
/// Returns false when `read` stopped.
///
/// # Errors
/// What the pull fails with.
#[inline]
pub(crate) fn each_window(
    pull: &mut dyn Pull,
    mut need: usize,
    mut read: impl FnMut(Chunk<'_>) -> Step,
) -> Result<bool, Error> {
    let mut consumed = 0;
    loop {
        let window = pull.pull(consumed, need)?;
        let eof = window.eof;
        match read(window) {
            Step::Stop => return Ok(false),
            Step::More { .. } if eof => return Ok(true),
            Step::More {
                consumed: taken,
                need: wanted,
            } => (consumed, need) = (taken, wanted),
        }
    }
}

/// A pull over bytes in memory: one window with everything.
#[derive(Debug)]
pub struct SlicePull<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> SlicePull<'a> {
    /// Reads `bytes` from `offset` on.
    #[must_use]
    pub fn new(bytes: &'a [u8], offset: u64) -> Self {
        let at = in_memory(offset).min(bytes.len());
        Self { bytes, at }
    }
}

impl Pull for SlicePull<'_> {
    fn pull(&mut self, consumed: usize, _need: usize) -> Result<Chunk<'_>, Error> {
        self.at = self.at.saturating_add(consumed).min(self.bytes.len());
        let bytes = subslice(self.bytes, self.at..);
        Ok(Chunk {
            bytes,
            offset: self.at as u64,
            eof: true,
        })
    }
}

/// A source over bytes in memory.
#[derive(Debug, Default)]
pub struct SliceSource<'a> {
    parts: Vec<Part>,
    bytes: Vec<&'a [u8]>,
}

impl<'a> SliceSource<'a> {
    /// Adds a part.
    #[must_use]
    pub fn with(mut self, name: &str, format: &'static Format, bytes: &'a [u8]) -> Self {
        let size = Some(bytes.len() as u64);
        self.parts.push(Part {
            name: name.to_owned(),
            format: Some(format),
            size,
        });
        self.bytes.push(bytes);
        self
    }
}

impl Source for SliceSource<'_> {
    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        let bytes = self.bytes.get(part);
        let bytes = bytes.ok_or_else(|| Error::usage(format!("there is no part {part}")))?;
        Ok(Box::new(SlicePull::new(bytes, offset)))
    }
}

/// One range of a part as a source of its own; offsets in notes stay those of the part.
#[expect(
    missing_debug_implementations,
    reason = "a source need not be printable"
)]
pub struct Piece<'s> {
    source: &'s dyn Source,
    part: usize,
    range: Range<u64>,
    parts: Vec<Part>,
}

impl<'s> Piece<'s> {
    /// Takes `range` of part `part`.
    #[must_use]
    pub fn new(source: &'s dyn Source, part: usize, range: Range<u64>) -> Self {
        let parts = source.parts().get(part).cloned().into_iter().collect();
        Self {
            source,
            part,
            range,
            parts,
        }
    }
}

impl Source for Piece<'_> {
    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn location(&self) -> &str {
        self.source.location()
    }

    fn open(&self, part: usize, offset: u64) -> Result<Box<dyn Pull + '_>, Error> {
        if part != 0 {
            return Err(Error::usage(format!("there is no part {part}")));
        }
        let from = self.range.start.saturating_add(offset);
        Ok(Box::new(Within {
            pull: self.source.open(self.part, from)?,
            end: self.range.end,
        }))
    }
}

/// A pull that ends where its range does.
struct Within<'p> {
    pull: Box<dyn Pull + 'p>,
    end: u64,
}

impl Pull for Within<'_> {
    fn pull(&mut self, consumed: usize, need: usize) -> Result<Chunk<'_>, Error> {
        let window = self.pull.pull(consumed, need)?;
        let left = self.end.saturating_sub(window.offset);
        let left = in_memory(left);
        Ok(match window.bytes.get(..left) {
            Some(bytes) => Chunk {
                bytes,
                offset: window.offset,
                eof: true,
            },
            None => window,
        })
    }
}
