use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;
use crate::Position;
use crate::disk::File;
use crate::frame::{GROUP_HEADER, GroupHeader, RECORD_HEADER, Record, Records};
use crate::segment::{CommittedExtent, GroupReader, OpenSegment};

/// The segments of a log, shared between its writer and those who read it.
#[derive(Clone, Default)]
pub(crate) struct Segments(Arc<Mutex<Vec<Arc<OpenSegment>>>>);

impl Segments {
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Vec<Arc<OpenSegment>>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let segments = self.with(|segments| {
            let extents = segments
                .iter()
                .map(|segment| (segment.clone(), segment.extent()));
            extents.collect()
        });
        Snapshot { segments }
    }
}

/// What was committed at one moment. It stays readable while the log goes on and deletes segments.
#[derive(Clone)]
pub struct Snapshot {
    segments: Vec<(Arc<OpenSegment>, CommittedExtent)>,
}

impl Snapshot {
    /// Reads the segments of a log that nobody writes, without changing anything.
    ///
    /// # Errors
    /// As [`crate::Log::open`]; a torn tail is left out and reported.
    pub fn open(disk: &dyn crate::disk::Disk) -> Result<(Self, crate::Recovered), Error> {
        Self::open_from(disk, Position(0))
    }

    /// As [`Snapshot::open`], for whoever needs the records from `position` on: of segments and groups before it no more than the
    /// headers is read and checked.
    ///
    /// # Errors
    /// As [`Snapshot::open`], as far as the log is read.
    pub fn open_from(
        disk: &dyn crate::disk::Disk,
        position: Position,
    ) -> Result<(Self, crate::Recovered), Error> {
        let found = crate::recover::find(disk, position)?;
        let segments = Segments::default();
        segments.with(|list| list.extend(found.live.iter().cloned()));
        Ok((segments.snapshot(), found.recovered()))
    }

    /// Returns the position of the first record that is still there.
    #[must_use]
    pub fn start(&self) -> Position {
        let first = self.segments.first();
        Position(first.map_or(0, |(segment, _)| segment.header.first))
    }

    /// Returns the position behind the last committed record.
    #[must_use]
    pub fn end(&self) -> Position {
        Position(self.segments.last().map_or(0, |(_, extent)| extent.end))
    }

    /// Returns number, incarnation, first position, end position, groups and bytes of each segment.
    pub fn segments(&self) -> impl Iterator<Item = SegmentSummary> + '_ {
        self.segments
            .iter()
            .map(|(segment, extent)| SegmentSummary {
                number: segment.header.number,
                incarnation: segment.header.incarnation,
                start: Position(segment.header.first),
                end: Position(extent.end),
                n_groups: extent.n_groups,
                bytes: extent.bytes,
            })
    }

    /// Returns the file of each segment, with its number and committed bytes.
    pub fn files(&self) -> impl Iterator<Item = (u64, u64, Arc<dyn File>)> + '_ {
        let files = self.segments.iter();
        files.map(|(segment, extent)| (segment.header.number, extent.bytes, segment.file.clone()))
    }

    /// Reads from the first record.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader_from(self.start())
    }

    /// Reads from the group that holds the record at `position`, or from the first one behind it.
    #[must_use]
    pub fn reader_from(&self, position: Position) -> Reader {
        let mut segments = self.segments.clone();
        segments.retain(|(_, extent)| extent.end > position.0);
        Reader {
            segments: segments.into_iter(),
            current: None,
            from: position.0,
            place: None,
        }
    }

    /// Reads on behind what a reader of an earlier snapshot of the log has read.
    #[must_use]
    pub fn reader_behind(&self, place: &ReadPlace) -> Reader {
        let mut segments = self.segments.clone();
        segments.retain(|(segment, _)| segment.header.number >= place.segment);
        let mut segments = segments.into_iter();
        let first = segments.as_slice().first();
        let is_there = first.is_some_and(|(first, _)| first.header.number == place.segment);
        let current = match is_there {
            true => segments.next(),
            false => None,
        };
        Reader {
            segments,
            current: current
                .map(|(segment, extent)| GroupReader::resume(segment, extent.bytes, place.read)),
            from: place.read.end,
            place: Some(place.clone()),
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.segments()).finish()
    }
}

/// One segment as a listing shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentSummary {
    /// Number of the segment, from 1.
    pub number: u64,
    /// The opening of the log that wrote it, from 1.
    pub incarnation: u64,
    /// Position of the first record.
    pub start: Position,
    /// Position behind the last record.
    pub end: Position,
    /// Number of committed groups.
    pub n_groups: u64,
    /// Committed bytes of the file.
    pub bytes: u64,
}

/// How far a reader has read.
#[derive(Debug, Clone)]
pub struct ReadPlace {
    segment: u64,
    read: CommittedExtent,
}

/// Reads the committed groups of a [`Snapshot`] in order.
pub struct Reader {
    segments: std::vec::IntoIter<(Arc<OpenSegment>, CommittedExtent)>,
    current: Option<GroupReader>,
    from: u64,
    place: Option<ReadPlace>,
}

/// Records that were committed together.
#[derive(Debug)]
pub struct Group<'r> {
    /// Position of the first record.
    pub start: Position,
    /// Number of the segment.
    pub segment: u64,
    /// Offset of the group in the segment's file.
    pub offset: u64,
    bytes: &'r [u8],
}

impl<'r> Group<'r> {
    /// Returns the records in order; the n-th is at position `start + n`.
    pub fn records(&self) -> impl Iterator<Item = Record<'r>> + use<'r> {
        Records::new(self.bytes)
    }

    /// Returns the records in order, each with the offset of its own bytes in the segment's file.
    pub fn located(&self) -> impl Iterator<Item = (u64, Record<'r>)> + use<'r> {
        let mut end = self.offset + GROUP_HEADER as u64;
        self.records().map(move |record| {
            let at = end + RECORD_HEADER as u64;
            end = at + record.bytes.len() as u64;
            (at, record)
        })
    }
}

impl Reader {
    /// Returns how far it has read, for [`Snapshot::reader_behind`]; `None` where there was no group yet.
    #[must_use]
    pub fn place(&self) -> Option<ReadPlace> {
        self.place.clone()
    }

    /// Reads the next group; `None` at the end of the snapshot.
    ///
    /// # Errors
    /// When the file cannot be read, or no longer holds what was committed.
    pub fn next_group(&mut self) -> Result<Option<Group<'_>>, Error> {
        while let Some(header) = self.advance()? {
            if header.first + u64::from(header.n_records) <= self.from {
                continue;
            }
            let Some(groups) = &self.current else { break };
            return Ok(Some(Group {
                start: Position(header.first),
                segment: groups.segment().header.number,
                offset: header.offset,
                bytes: groups.payload(),
            }));
        }
        Ok(None)
    }

    /// Reads a group, going on to the next segment where one ends.
    fn advance(&mut self) -> Result<Option<GroupHeader>, Error> {
        loop {
            let groups = match &mut self.current {
                Some(groups) => groups,
                none => {
                    let Some((segment, extent)) = self.segments.next() else {
                        return Ok(None);
                    };
                    let groups = GroupReader::new(segment, extent.bytes);
                    none.insert(groups.checked_from(Position(self.from)))
                }
            };
            let number = groups.segment().header.number;
            let found = groups
                .advance()
                .map_err(|broken| broken.into_error(number))?;
            if found.is_some() {
                self.place = Some(ReadPlace {
                    segment: number,
                    read: groups.extent(),
                });
                return Ok(found);
            }
            self.current = None;
        }
    }
}
