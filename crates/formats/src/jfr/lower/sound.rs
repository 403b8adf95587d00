//! Chunks in which nothing is out of order, read in windows that hold no chunk.

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Limit, Limits};

use super::super::header::{HEADER, Header, begins_chunk};
use super::super::schema::TypeSchemas;
use super::super::split::PartView;
use super::super::walk::{after_alike, find_schema, head, named_metadata};
use crate::{Error, Pull};

/// A chunk up to this size is looked at as a whole; of a larger one the metadata at its end is read apart.
const WHOLE: u64 = 1 << 20;

/// Reads the header of a chunk that was finished and is not above the limit.
pub(super) fn sound_header(bytes: &[u8], limits: &Limits) -> Option<Header> {
    let header = Header::read(bytes).filter(|_| begins_chunk(bytes))?;
    let is_sound = header.is_supported()
        && header.finished()
        && header.ticks_per_second > 0
        && header.chunk_size <= limits.of(Limit::Record);
    is_sound.then_some(header)
}

/// Reads the types of the chunk that the pull is at, unless they are those that are known.
pub(super) fn sound_schema<'k>(
    pull: &mut dyn Pull,
    view: &mut PartView<'_>,
    offset: u64,
    header: &Header,
    limits: &Limits,
    known: &'k mut Option<TypeSchemas>,
) -> Result<Option<&'k TypeSchemas>, Error> {
    if header.chunk_size > WHOLE {
        let body = view.metadata(offset, header)?;
        return Ok(body.and_then(|body| TypeSchemas::settle(known, body, limits)));
    }
    let size = in_memory(header.chunk_size);
    let window = pull.pull(0, size)?;
    let Some(chunk) = window.bytes.get(..size) else {
        return Ok(None);
    };
    let named = named_metadata(chunk, header);
    let settled = named.and_then(|body| TypeSchemas::settle(known, body, limits));
    if settled.is_none() {
        *known = find_schema(chunk, header, limits);
    }
    Ok(known.as_ref())
}

/// Walks over the events of the chunk that the pull is at, by their sizes, and shows `met` each type id that is not that of the
/// event before. Returns the bytes of the last window that are of the chunk; none where sizes do not lead to its end.
///
/// # Errors
/// What the pull fails with.
pub(super) fn walk_sizes(
    pull: &mut dyn Pull,
    header: &Header,
    mut met: impl FnMut(u64),
) -> Result<Option<usize>, Error> {
    let (mut left, mut consumed, mut at, mut need) = (header.chunk_size, 0, HEADER, HEADER);
    let mut last = None;
    loop {
        let window = pull.pull(consumed, need)?;
        let end = window.bytes.len().min(in_memory(left));
        let bytes = subslice(window.bytes, 0..end);
        while let Some(head) = head(bytes, at, header.compressed()) {
            at = if last.replace(head.type_id) == Some(head.type_id) {
                after_alike(bytes, &head, header.compressed())
            } else {
                met(head.type_id);
                head.end
            };
        }
        if at as u64 == left {
            return Ok(Some(at));
        }
        if end as u64 == left || window.eof {
            return Ok(None);
        }
        // The event is longer than what is left of the window.
        left -= at as u64;
        (consumed, need, at) = (at, (end - at) * 2 + HEADER, 0);
    }
}
