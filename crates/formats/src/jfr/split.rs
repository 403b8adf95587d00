//! Independent ranges of a recording: its chunks, so that several threads can decode it.

use std::ops::Range;

use crate::{Chunk, Error, Part, Pull, Source};

use super::header::{HEADER, Header, begins_chunk};

/// Finds the chunks of part `part` by their headers, without reading what is between them.
///
/// The ranges tile the part; where a header does not lead to the next one, the last range goes on to the
/// end. Lowering each range as a [`Piece`] gives together what lowering the whole part gives, in tables
/// of their own; only a chunk whose metadata is lost can tell the difference, because it borrows the
/// types of the chunk before.
///
/// # Errors
/// What opening the part fails with.
pub fn split(source: &dyn Source, part: usize) -> Result<Vec<Range<u64>>, Error> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut start = 0_u64;
    loop {
        let mut pull = source.open(part, start)?;
        let window = pull.pull(0, HEADER)?;
        let header = Header::read(window.bytes).filter(|_| begins_chunk(window.bytes));
        let Some(header) = header.filter(Header::finished) else {
            // What is no finished chunk is left to the reader, together with all that follows.
            if !window.bytes.is_empty() || ranges.is_empty() {
                ranges.push(start..u64::MAX);
            }
            return Ok(ranges);
        };
        let end = start.saturating_add(header.chunk_size);
        drop(pull);
        let mut after = source.open(part, end)?;
        let next = after.pull(0, 8)?;
        // What follows is no chunk, or nothing, or lies beyond the end of a cut one.
        if !begins_chunk(next.bytes) {
            ranges.push(start..u64::MAX);
            return Ok(ranges);
        }
        ranges.push(start..end);
        start = end;
    }
}

/// One range of a part as a source of its own; offsets in notes stay those of the part.
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
        let left = usize::try_from(left).unwrap_or(usize::MAX);
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
