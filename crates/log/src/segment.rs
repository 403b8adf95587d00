//! One segment: its file, how far it is committed, and the groups in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::Error;
use crate::Position;
use crate::disk::{Disk, File, read_exact_at};
use crate::frame::{self, GROUP_HEADER, GROUP_MAGIC, GroupHeader, SEGMENT_HEADER, SegmentHeader};

/// Bytes read at a time where a group is looked for.
const WINDOW: usize = 1 << 20;

/// Returns the name of a segment's file.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:020}.seg")
}

/// Returns the name that a segment has until its header is durable.
pub(crate) fn new_file_name(number: u64) -> String {
    format!("{number:020}.new")
}

/// Returns the number in a segment's file name.
pub(crate) fn number_of(name: &str, extension: &str) -> Option<u64> {
    let digits = name.strip_suffix(extension)?;
    let whole = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole { digits.parse().ok() } else { None }
}

/// How far a segment is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommittedExtent {
    /// Bytes up to the end of the last committed group.
    pub(crate) bytes: u64,
    /// Number of groups.
    pub(crate) n_groups: u64,
    /// Position behind the last record.
    pub(crate) end: u64,
}

/// A segment with its open file. Dropping the last handle of a removed segment frees its space.
pub(crate) struct OpenSegment {
    pub(crate) header: SegmentHeader,
    pub(crate) file: Arc<dyn File>,
    extent: Mutex<CommittedExtent>,
}

impl OpenSegment {
    /// Wraps a segment that ends with its header.
    pub(crate) fn empty(header: SegmentHeader, file: Arc<dyn File>) -> Self {
        let extent = Mutex::new(CommittedExtent {
            bytes: SEGMENT_HEADER as u64,
            n_groups: 0,
            end: header.first,
        });
        Self {
            header,
            file,
            extent,
        }
    }

    /// Opens a segment and reads its header. It counts as empty until [`OpenSegment::set_extent`].
    pub(crate) fn open(disk: &dyn Disk, name: &str, number: u64) -> Result<Self, Error> {
        let file = disk
            .open(name)
            .map_err(|error| Error::io(number, "cannot open", error))?;
        let mut bytes = [0; SEGMENT_HEADER];
        match read_exact_at(&*file, &mut bytes, 0) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(Error::corrupt(number, 0, "the header is cut"));
            }
            read => read.map_err(|error| Error::io(number, "cannot read the header", error))?,
        }
        Ok(Self::empty(SegmentHeader::decode(&bytes, number)?, file))
    }

    pub(crate) fn extent(&self) -> CommittedExtent {
        *self.lock()
    }

    pub(crate) fn set_extent(&self, extent: CommittedExtent) {
        *self.lock() = extent;
    }

    fn lock(&self) -> MutexGuard<'_, CommittedExtent> {
        // An extent is one assignment: it is whole, whoever panicked.
        self.extent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the groups of a segment in order.
pub(crate) struct GroupReader {
    segment: Arc<OpenSegment>,
    /// Offset at which reading ends.
    end: u64,
    /// Position of the first record whose group is read whole and checked.
    checked_from: u64,
    read: CommittedExtent,
    group: Vec<u8>,
}

/// Why no group can be read at an offset.
#[derive(Debug)]
pub(crate) enum UnreadableGroup {
    /// The bytes are not the group that belongs there.
    Invalid { offset: u64, reason: &'static str },
    /// The file system refused.
    Io(std::io::Error),
}

impl UnreadableGroup {
    pub(crate) fn into_error(self, segment: u64) -> Error {
        match self {
            Self::Invalid { offset, reason } => Error::corrupt(segment, offset, reason),
            Self::Io(error) => Error::io(segment, "cannot read", error),
        }
    }
}

impl GroupReader {
    /// Starts at the first group and stops at offset `end`.
    pub(crate) fn new(segment: Arc<OpenSegment>, end: u64) -> Self {
        let read = CommittedExtent {
            bytes: SEGMENT_HEADER as u64,
            n_groups: 0,
            end: segment.header.first,
        };
        Self {
            segment,
            end,
            checked_from: 0,
            read,
            group: Vec::new(),
        }
    }

    /// Reads only the headers of groups that end before `position`.
    pub(crate) fn checked_from(self, position: Position) -> Self {
        Self {
            checked_from: position.0,
            ..self
        }
    }

    /// Goes on behind groups that were read before.
    pub(crate) fn resume(segment: Arc<OpenSegment>, end: u64, read: CommittedExtent) -> Self {
        let reader = Self::new(segment, end);
        Self { read, ..reader }
    }

    /// Returns the segment being read.
    pub(crate) fn segment(&self) -> &OpenSegment {
        &self.segment
    }

    /// Returns the extent of the groups read so far.
    pub(crate) fn extent(&self) -> CommittedExtent {
        self.read
    }

    /// Returns the records of the group that was read last, framed.
    pub(crate) fn payload(&self) -> &[u8] {
        self.group.get(GROUP_HEADER..).unwrap_or_default()
    }

    /// Reads the next group; `None` at the end.
    pub(crate) fn advance(&mut self) -> Result<Option<GroupHeader>, UnreadableGroup> {
        let offset = self.read.bytes;
        if offset >= self.end {
            return Ok(None);
        }
        let invalid = |reason| UnreadableGroup::Invalid { offset, reason };
        if self.end - offset < GROUP_HEADER as u64 {
            return Err(invalid("the group is cut within its header"));
        }
        self.group.resize(GROUP_HEADER, 0);
        let file = &*self.segment.file;
        read_exact_at(file, &mut self.group, offset).map_err(UnreadableGroup::Io)?;
        let header = GroupHeader::decode(&self.group).ok_or(invalid("there is no group"))?;
        let whole = GROUP_HEADER as u64 + u64::from(header.length);
        if self.end - offset < whole {
            return Err(invalid("the group is cut"));
        }
        let group_end = header.first.saturating_add(u64::from(header.n_records));
        if group_end > self.checked_from {
            self.group.resize(GROUP_HEADER + header.length as usize, 0);
            let payload = &mut self.group[GROUP_HEADER..];
            let payload_at = offset + GROUP_HEADER as u64;
            read_exact_at(file, payload, payload_at).map_err(UnreadableGroup::Io)?;
            if !frame::checksum_holds(&self.segment.header, &self.group) {
                return Err(invalid("the checksum of the group does not hold"));
            }
        }
        let expected = (offset, self.read.n_groups, self.read.end);
        if (header.offset, header.number, header.first) != expected {
            return Err(invalid("the group belongs elsewhere"));
        }
        self.read = CommittedExtent {
            bytes: offset + whole,
            n_groups: header.number + 1,
            end: header.first + u64::from(header.n_records),
        };
        Ok(Some(header))
    }
}

/// Returns the offset of a whole group behind `from`, if there is one.
///
/// What lies behind an interrupted write is no group: only one group is written at a time. A whole group
/// behind invalid bytes means that committed bytes were changed.
pub(crate) fn whole_group_behind(segment: &OpenSegment, from: u64) -> std::io::Result<Option<u64>> {
    let file = &*segment.file;
    let end = file.length()?;
    let mut window = vec![0; WINDOW + GROUP_HEADER];
    let mut at = from + 1;
    while at + GROUP_HEADER as u64 <= end {
        let length = usize::try_from(end - at).map_or(window.len(), |left| left.min(window.len()));
        read_exact_at(file, &mut window[..length], at)?;
        let n_places = length - GROUP_HEADER + 1;
        for place in 0..n_places {
            let bytes = &window[place..place + GROUP_HEADER];
            if bytes[..4] != *GROUP_MAGIC {
                continue;
            }
            let offset = at + place as u64;
            let Some(header) = GroupHeader::decode(bytes) else {
                continue;
            };
            let group_end = offset + GROUP_HEADER as u64 + u64::from(header.length);
            if header.offset != offset || group_end > end {
                continue;
            }
            let mut group = vec![0; GROUP_HEADER + header.length as usize];
            read_exact_at(file, &mut group, offset)?;
            if frame::checksum_holds(&segment.header, &group) {
                return Ok(Some(offset));
            }
        }
        at += n_places as u64;
    }
    Ok(None)
}
