//! Chunks in which nothing is out of order, read in windows that hold no chunk.

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Limit, Limits};

use super::super::event_head::{EventHead, after_alike, head};
use super::super::header::{HEADER, Header, begins_chunk};
use super::super::scan::Scan;
use super::super::schema::{KnownTypes, TypeSchemas};
use super::super::split::PartView;
use super::super::walk::{find_schema, named_metadata};
use crate::{Error, Pull};

/// A chunk up to this size is looked at as a whole; of a larger one the metadata at its end is read apart.
pub(super) const WHOLE: u64 = 1 << 20;

/// The fewest bytes that hold any size and type.
const HEAD: usize = 18;

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
    known: &'k mut KnownTypes,
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
    Ok(known.as_deref())
}

/// Shows the windows of the chunk that the pull is at to `take`, from behind its header on, as [`each_window_within`] does. Returns
/// the bytes of the last window that are of the chunk.
///
/// # Errors
/// What the pull fails with.
pub(super) fn each_window_of(
    pull: &mut dyn Pull,
    header: &Header,
    take: impl FnMut(&[u8], u64) -> Option<usize>,
) -> Result<Option<usize>, Error> {
    let length = in_memory(header.chunk_size) - HEADER;
    each_window_within(pull, HEADER, length, header.compressed(), take)
}

/// Shows windows of `length` bytes, `consumed` bytes behind where the pull is, to `take`: each with its offset in the part and
/// beginning with an event; `take` returns the length of the whole events in it. Returns the bytes of the last window that are of
/// the length; none where `take` returns none, or sizes do not lead to the end.
///
/// # Errors
/// What the pull fails with.
pub(super) fn each_window_within(
    pull: &mut dyn Pull,
    mut consumed: usize,
    length: usize,
    compressed: bool,
    mut take: impl FnMut(&[u8], u64) -> Option<usize>,
) -> Result<Option<usize>, Error> {
    let (mut left, mut need) = (length, HEAD);
    loop {
        let window = pull.pull(consumed, need)?;
        let bytes = window.bytes.get(..left).unwrap_or(window.bytes);
        let Some(taken) = take(bytes, window.offset) else {
            return Ok(None);
        };
        if bytes.len() == left {
            return Ok((taken == left).then_some(taken));
        }
        let rest = subslice(bytes, taken..);
        let mut scan = Scan::new(rest, compressed);
        let size = scan.integer(4).map_or(0, |(size, _)| in_memory(size));
        if window.eof || (size <= rest.len() && rest.len() >= HEAD) {
            return Ok(None);
        }
        (left, consumed) = (left - taken, taken);
        need = size.min(left).max(rest.len() + 1);
    }
}

/// Walks over the whole events that `bytes` begin with, by their sizes, and shows them to `meet`, but for those of the type `known`,
/// which is the last one that `meet` returned true for until one of another type comes. Returns their length.
pub(super) fn each_event(
    bytes: &[u8],
    compressed: bool,
    known: &mut Option<u64>,
    mut meet: impl FnMut(&EventHead) -> bool,
) -> usize {
    let mut at = 0;
    while let Some(head) = head(bytes, at, compressed) {
        at = if *known == Some(head.type_id) {
            after_alike(bytes, &head, compressed)
        } else {
            *known = meet(&head).then_some(head.type_id);
            head.end
        };
    }
    at
}

/// Walks over the events of the chunk that the pull is at as [`each_event`] does, and tells `meet` the offset at which the window
/// begins. Returns the bytes of the last window that are of the chunk; none where sizes do not lead to its end.
///
/// # Errors
/// What the pull fails with.
pub(super) fn walk_sizes(
    pull: &mut dyn Pull,
    header: &Header,
    mut meet: impl FnMut(u64, &EventHead) -> bool,
) -> Result<Option<usize>, Error> {
    let mut known = None;
    each_window_of(pull, header, |bytes, window| {
        let meet = |head: &EventHead| meet(window, head);
        Some(each_event(bytes, header.compressed(), &mut known, meet))
    })
}
