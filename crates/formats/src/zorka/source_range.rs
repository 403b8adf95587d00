//! Places of items: parts of the source, and offsets in them.

use traceloom_model::bounds::{in_memory, row_number};
use traceloom_model::{Origin, PartId};

/// Where the bytes of a stream lie in the source.
pub(crate) enum SourceRange {
    /// A part, as nearly every stream is.
    Part(PartId),
    /// Parts that are one stream: offset in the stream and part, ascending.
    Parts(Vec<(u64, usize)>),
    /// A body inside a line or block: its items are counted.
    Inside {
        /// The part.
        part: usize,
        /// Offset of the line or block.
        offset: u64,
    },
}

impl SourceRange {
    /// Returns the place of an item, of which `count` came before it.
    #[inline]
    pub(crate) fn origin(&self, offset: u64, count: u64) -> Origin {
        let (part, offset, index) = match self {
            Self::Part(part) => (*part, offset, 0),
            Self::Parts(parts) => {
                let after = parts.partition_point(|&(start, _)| start <= offset);
                let found = after.checked_sub(1).and_then(|at| parts.get(at));
                let (part, start) = found.map_or((0, 0), |&(start, part)| (part, start));
                (PartId::nth(part), offset - start, 0)
            }
            Self::Inside { part, offset } => {
                let index = row_number(in_memory(count));
                (PartId::nth(*part), *offset, index)
            }
        };
        Origin {
            part,
            offset,
            index,
        }
    }
}
