//! What a folder of segments holds, and whether all of it is there.

use std::collections::HashSet;
use std::sync::Arc;

use crate::Position;
use crate::disk::Disk;
use crate::segment::{
    CommittedExtent, GroupReader, OpenSegment, UnreadableGroup, number_of, whole_group_behind,
};
use crate::{Error, segment};

/// What [`crate::Log::open`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// The opening of the log that this is, from 1.
    pub incarnation: u64,
    /// Position of the first record.
    pub start: Position,
    /// Position behind the last record.
    pub end: Position,
    /// An interrupted write behind the last group, if there was one.
    pub torn: Option<TornTail>,
}

/// Bytes behind the last committed group: a write that a crash interrupted. They were never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// Number of the segment.
    pub segment: u64,
    /// Offset of the first byte that is left out.
    pub offset: u64,
    /// Number of bytes that are left out.
    pub bytes: u64,
    /// Why they are no group.
    pub reason: &'static str,
}

/// A folder whose segments were all checked.
pub(crate) struct RecoveredFolder {
    /// Segments in order, each with its extent set.
    pub(crate) live: Vec<Arc<OpenSegment>>,
    /// Names of files that a later segment or an interrupted start made superfluous.
    pub(crate) superfluous: Vec<String>,
    /// The highest number that a file of the folder has.
    pub(crate) last_number: u64,
    /// The highest incarnation in a header.
    pub(crate) incarnation: u64,
    torn: Option<TornTail>,
}

impl RecoveredFolder {
    pub(crate) fn recovered(&self) -> Recovered {
        let start = self.live.first().map_or(0, |segment| segment.header.first);
        let end = self.live.last().map_or(0, |segment| segment.extent().end);
        Recovered {
            incarnation: self.incarnation,
            start: Position(start),
            end: Position(end),
            torn: self.torn.clone(),
        }
    }
}

/// Reads and checks the segments of a folder from a record on, without changing anything.
pub(crate) fn find(disk: &dyn Disk, from: Position) -> Result<RecoveredFolder, Error> {
    let names = disk
        .list()
        .map_err(|error| Error::io(0, "cannot list the folder", error))?;
    let mut segments = Vec::new();
    let mut superfluous = Vec::new();
    let mut last_number = 0;
    for name in names {
        if let Some(number) = number_of(&name, ".seg") {
            segments.push(Arc::new(OpenSegment::open(disk, &name, number)?));
            last_number = last_number.max(number);
        } else if let Some(number) = number_of(&name, ".new") {
            superfluous.push(name);
            last_number = last_number.max(number);
        }
    }
    segments.sort_by_key(|segment| segment.header.number);
    let incarnations = segments.iter().map(|segment| segment.header.incarnation);
    let incarnation = incarnations.max().unwrap_or(0);
    let superseded: HashSet<u64> = segments
        .iter()
        .map(|segment| segment.header.supersedes)
        .collect();
    segments.retain(|segment| {
        let number = segment.header.number;
        let live = !superseded.contains(&number);
        if !live {
            superfluous.push(segment::file_name(number));
        }
        live
    });
    let torn = check(&segments, from)?;
    Ok(RecoveredFolder {
        live: segments,
        superfluous,
        last_number,
        incarnation,
        torn,
    })
}

/// Reads every group from a record on, sets the extents, and holds each segment against the one before it. Of a segment before that
/// record, the next one says where it ends.
fn check(segments: &[Arc<OpenSegment>], from: Position) -> Result<Option<TornTail>, Error> {
    for (before, segment) in segments.iter().zip(segments.iter().skip(1)) {
        let extent = match segment.header.first <= from.0 {
            true => CommittedExtent {
                bytes: segment.header.predecessor_end,
                n_groups: 0,
                end: segment.header.first,
            },
            false => read_whole(before, from)?,
        };
        before.set_extent(extent);
        let (number, header) = (before.header.number, &segment.header);
        if header.predecessor != number {
            let text = format!(
                "segment {} should come before it and is missing",
                header.predecessor
            );
            return Err(Error::corrupt(header.number, 0, text));
        }
        if (header.predecessor_end, header.first) != (extent.bytes, extent.end) {
            let text = format!(
                "ends at record {}, but segment {} goes on from offset {:#x} and record {}",
                extent.end, header.number, header.predecessor_end, header.first
            );
            return Err(Error::corrupt(number, extent.bytes, text));
        }
    }
    let Some(last) = segments.last() else {
        return Ok(None);
    };
    let (extent, torn) = read_last(last, from)?;
    last.set_extent(extent);
    Ok(torn)
}

/// Reads a segment that was finished: every byte belongs to a group.
fn read_whole(segment: &Arc<OpenSegment>, from: Position) -> Result<CommittedExtent, Error> {
    let number = segment.header.number;
    let groups = GroupReader::new(segment.clone(), length(segment)?);
    let mut groups = groups.checked_from(from);
    while groups
        .advance()
        .map_err(|broken| broken.into_error(number))?
        .is_some()
    {}
    Ok(groups.extent())
}

/// Reads the segment that was written last: what a crash interrupted is left out and reported.
fn read_last(
    segment: &Arc<OpenSegment>,
    from: Position,
) -> Result<(CommittedExtent, Option<TornTail>), Error> {
    let number = segment.header.number;
    let file_end = length(segment)?;
    let mut groups = GroupReader::new(segment.clone(), file_end).checked_from(from);
    loop {
        match groups.advance() {
            Ok(Some(_)) => {}
            Ok(None) => return Ok((groups.extent(), None)),
            Err(UnreadableGroup::Io(error)) => return Err(Error::io(number, "cannot read", error)),
            Err(UnreadableGroup::Invalid { offset, reason }) => {
                let behind = whole_group_behind(segment, offset)
                    .map_err(|error| Error::io(number, "cannot read", error))?;
                if let Some(behind) = behind {
                    let text = format!("{reason}, although a whole group follows at {behind:#x}");
                    return Err(Error::corrupt(number, offset, text));
                }
                let torn = TornTail {
                    segment: number,
                    offset,
                    bytes: file_end - offset,
                    reason,
                };
                return Ok((groups.extent(), Some(torn)));
            }
        }
    }
}

fn length(segment: &OpenSegment) -> Result<u64, Error> {
    let length = segment.file.length();
    length.map_err(|error| Error::io(segment.header.number, "cannot read the length", error))
}
