//! Independent pieces of a recording: its chunks, so that several threads can decode it.

use std::ops::Range;

use traceloom_model::bounds::subslice;
use traceloom_model::{Limit, Limits};

use super::event_head::{METADATA, head};
use super::header::{HEADER, Header, RecordingExtent, begins_chunk, find_magic};
use super::lower::choose;
use super::scan::Scan;
use super::schema::TypeSchemas;
use crate::{Chunk, Error, Pieces, Pull, Source};

/// The event that tells later chunks something: which endpoint a span belongs to.
const ENDPOINT: &str = "datadog.Endpoint";

/// Finds the chunks of part `part` by their headers, without reading the events between them.
///
/// A chunk begins a piece when its own metadata can be read and no chunk before it may hold endpoints
/// of spans, which hold for the chunks after as well. The last chunk may be unfinished or cut. None
/// where headers do not lead from chunk to chunk: finding the chunks is then the reader's work.
///
/// # Errors
/// What opening the part fails with.
pub(super) fn split(
    source: &dyn Source,
    part: usize,
    limits: &Limits,
) -> Result<Option<Pieces>, Error> {
    let mut view = PartView::new(source, part);
    let mut ranges: Vec<Range<u64>> = Vec::new();
    let mut extent = RecordingExtent::default();
    let mut known = None;
    let mut endpoints = false;
    let mut start = 0_u64;
    loop {
        let window = view.at(start, HEADER)?;
        let header = Header::read(window.bytes)
            .filter(Header::is_supported)
            .filter(|_| begins_chunk(window.bytes));
        let Some(header) = header else {
            return Ok(None);
        };
        extent.add(&header);
        let end = start.saturating_add(header.chunk_size);
        let finished = header.finished() && header.chunk_size <= limits.of(Limit::Record);
        let body = match finished {
            true => view.metadata(start, &header)?,
            false => None,
        };
        let types = body.and_then(|body| TypeSchemas::settle(&mut known, body, limits));
        // The byte before the end tells a whole chunk from a cut one.
        let there = finished && !view.at(end - 1, 1)?.bytes.is_empty();
        let types = types.filter(|_| there);
        match (ranges.last_mut(), types) {
            (Some(last), None) => last.end = end,
            (Some(last), Some(_)) if endpoints => last.end = end,
            _ => ranges.push(start..end),
        }
        endpoints |= types.is_some_and(|types| types.has(ENDPOINT));
        let next = view.at(end, 8)?;
        let (last, clean) = match there {
            true => (next.bytes.is_empty(), begins_chunk(next.bytes)),
            false => (true, false),
        };
        if last {
            // What the last chunk is cut at must not be another chunk.
            let more = !there && view.has_magic(start + HEADER as u64)?;
            if let Some(last) = ranges.last_mut() {
                last.end = u64::MAX;
            }
            let Some(mut whole) = extent.whole().filter(|_| !more) else {
                return Ok(None);
            };
            let mut surveyed = None;
            if ranges.len() > 1 {
                let (choice, chunks) = choose(source, part..part + 1, limits, &mut known)?;
                whole.choice = choice.code();
                surveyed = Some(chunks.say());
            }
            return Ok(Some(Pieces {
                ranges,
                whole,
                surveyed,
            }));
        }
        if !clean {
            return Ok(None);
        }
        start = end;
    }
}

/// A part seen through windows at rising offsets.
pub(super) struct PartView<'s> {
    source: &'s dyn Source,
    part: usize,
    pull: Option<Box<dyn Pull + 's>>,
    offset: u64,
    len: usize,
}

impl<'s> PartView<'s> {
    pub(super) fn new(source: &'s dyn Source, part: usize) -> Self {
        Self {
            source,
            part,
            pull: None,
            offset: 0,
            len: 0,
        }
    }

    /// Returns a window that begins at `offset` and holds `need` bytes, unless the part ends before.
    fn at(&mut self, offset: u64, need: usize) -> Result<Chunk<'_>, Error> {
        let ahead = offset.checked_sub(self.offset);
        let ahead = ahead.and_then(|ahead| usize::try_from(ahead).ok());
        // Near places are in the window; far ones are not worth reading up to.
        let step = ahead.filter(|&ahead| ahead < self.len || ahead == 0);
        let (mut pull, step) = match (self.pull.take(), step) {
            (Some(pull), Some(step)) => (pull, step),
            _ => (self.source.open(self.part, offset)?, 0),
        };
        self.len = pull.pull(step, need)?.bytes.len();
        self.offset = offset;
        self.pull.insert(pull).pull(0, need)
    }

    /// Finds the body of a chunk's metadata where the header says it is; none when there is something else.
    pub(super) fn metadata(
        &mut self,
        start: u64,
        header: &Header,
    ) -> Result<Option<Scan<'_>>, Error> {
        let inside = HEADER as u64..header.chunk_size;
        if !inside.contains(&header.metadata_offset) {
            return Ok(None);
        }
        let at = start.saturating_add(header.metadata_offset);
        let left = usize::try_from(header.chunk_size - header.metadata_offset);
        let compressed = header.compressed();
        let window = self.at(at, 16)?;
        let mut scan = Scan::new(window.bytes, compressed);
        let size = scan.integer(4).map_or(0, |(size, _)| size);
        let Some(size) = usize::try_from(size)
            .ok()
            .filter(|&size| left.is_ok_and(|left| size <= left))
        else {
            return Ok(None);
        };
        let window = self.at(at, size)?;
        let event = subslice(window.bytes, ..size);
        let head = head(event, 0, compressed).filter(|head| head.type_id == METADATA);
        Ok(head.map(|head| Scan::new(subslice(event, head.body..head.end), compressed)))
    }

    /// Returns true if a chunk begins at or after `from`.
    fn has_magic(&mut self, from: u64) -> Result<bool, Error> {
        let mut pull = self.source.open(self.part, from)?;
        let mut consumed = 0;
        loop {
            let window = pull.pull(consumed, HEADER)?;
            if find_magic(window.bytes, 0).is_some() {
                return Ok(true);
            }
            if window.eof {
                return Ok(false);
            }
            // A chunk may begin with the last bytes of the window.
            consumed = window.bytes.len().saturating_sub(8);
        }
    }
}
