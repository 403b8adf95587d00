use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::Arc;

use crate::disk::Disk;
use crate::frame::{GroupBuffer, RECORD_HEADER, Record, SegmentHeader};
use crate::read::{Segments, Snapshot};
use crate::recover::{self, Recovered};
use crate::segment::{CommittedExtent, GroupReader, OpenSegment, file_name, new_file_name};
use crate::{Error, Position};

/// Sizes of a log.
#[derive(Debug, Clone)]
pub struct Options {
    /// Bytes after which a new segment is begun.
    pub segment_bytes: u64,
    /// Bytes of records that one group takes; a larger record is a group of its own.
    pub group_bytes: usize,
    /// Bytes that a record may have.
    pub record_bytes: usize,
    /// What makes the checksums of this opening unpredictable.
    pub salt: u64,
    /// The opening is counted behind this one, whatever the segments say.
    pub after_incarnation: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            group_bytes: 8 << 20,
            record_bytes: 16 << 20,
            salt: RandomState::new().hash_one("salt of a log"),
            after_incarnation: 0,
        }
    }
}

/// The writer of a folder of segments. There is one for a folder at a time; whoever opens it takes care of that.
///
/// After a failed write or sync, nothing is accepted any more: what reached the disk is unknown, and a second
/// sync that succeeds would prove nothing. Opening the log again copies what is readable and syncs the copy.
pub struct Log {
    disk: Arc<dyn Disk>,
    options: Options,
    segments: Segments,
    active: Arc<OpenSegment>,
    incarnation: u64,
    group: GroupBuffer,
    poisoned: bool,
}

impl Log {
    /// Recovers a folder, or begins a log in an empty one.
    ///
    /// The segment that was written last is copied to a new one, synced, and removed: the page cache may have
    /// shown what never reached the disk. Nothing is ever appended to a recovered segment.
    ///
    /// # Errors
    /// When a finished segment is damaged or missing, when the last one has a whole group behind a damaged one,
    /// or when a newer program wrote a segment; the folder is as it was then. When the file system refuses.
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<(Self, Recovered), Error> {
        let mut found = recover::find(&*disk, Position(0))?;
        // A name may be in memory only: it must be durable before the segment that it replaces is removed.
        sync_folder(&*disk, 0)?;
        for name in &found.superfluous {
            let removed = disk.remove(name);
            removed.map_err(|error| Error::io(0, "cannot remove a superfluous file", error))?;
        }
        found.incarnation = found.incarnation.max(options.after_incarnation) + 1;
        let recovered = found.recovered();

        let last = found.live.pop();
        let number = found.last_number + 1;
        let header = SegmentHeader {
            number,
            incarnation: found.incarnation,
            first: last.as_ref().map_or(0, |last| last.header.first),
            predecessor: last.as_ref().map_or(0, |last| last.header.predecessor),
            predecessor_end: last.as_ref().map_or(0, |last| last.header.predecessor_end),
            supersedes: last.as_ref().map_or(0, |last| last.header.number),
            salt: salt(options.salt, number),
        };
        let active = Arc::new(begin_segment(&*disk, header, last.as_ref())?);
        if let Some(last) = last {
            let number = last.header.number;
            remove_segment(&*disk, number)?;
        }
        let segments = Segments::default();
        segments.with(|list| {
            list.append(&mut found.live);
            list.push(active.clone());
        });
        let log = Self {
            disk,
            options,
            segments,
            active,
            incarnation: found.incarnation,
            group: GroupBuffer::new(),
            poisoned: false,
        };
        Ok((log, recovered))
    }

    /// Commits records as one group and returns the position of the first one. They are durable on return.
    ///
    /// # Errors
    /// When a record is too large, which changes nothing; when a write or sync fails, now or before. Whether the
    /// records will be there after the next opening is unknown in the latter case.
    pub fn commit(&mut self, records: &[Record<'_>]) -> Result<Position, Error> {
        let mut group = std::mem::replace(&mut self.group, GroupBuffer::new());
        group.clear();
        for record in records {
            self.options.check(record)?;
            group.push(record);
        }
        let committed = self.commit_group(&mut group);
        self.group = group;
        committed
    }

    /// Commits the records of `group`; the buffer is left as it is.
    pub(crate) fn commit_group(&mut self, group: &mut GroupBuffer) -> Result<Position, Error> {
        if self.poisoned {
            return Err(Error::poisoned(self.active.header.number));
        }
        let start = Position(self.active.extent().end);
        if group.is_empty() {
            return Ok(start);
        }
        let written = self.write_group(group);
        self.poisoned = written.is_err();
        written.map(|()| start)
    }

    fn write_group(&mut self, group: &mut GroupBuffer) -> Result<(), Error> {
        let extent = self.active.extent();
        if extent.n_groups > 0 && extent.bytes + group.len() as u64 > self.options.segment_bytes {
            self.begin_next_segment()?;
        }
        append_group(&self.active, group)?;
        sync(&self.active).map(|()| {
            self.active
                .set_extent(extent_with(self.active.extent(), group))
        })
    }

    /// Begins a new segment, unless the one that is being written has no record.
    ///
    /// # Errors
    /// When the file system refuses. Nothing is accepted after that.
    pub fn begin_segment(&mut self) -> Result<(), Error> {
        if self.poisoned {
            return Err(Error::poisoned(self.active.header.number));
        }
        if self.active.extent().n_groups == 0 {
            return Ok(());
        }
        let begun = self.begin_next_segment();
        self.poisoned = begun.is_err();
        begun
    }

    fn begin_next_segment(&mut self) -> Result<(), Error> {
        let (last, extent) = (&self.active.header, self.active.extent());
        let number = last.number + 1;
        let header = SegmentHeader {
            number,
            incarnation: self.incarnation,
            first: extent.end,
            predecessor: last.number,
            predecessor_end: extent.bytes,
            supersedes: 0,
            salt: salt(self.options.salt, number),
        };
        self.active = Arc::new(begin_segment(&*self.disk, header, None)?);
        self.segments.with(|list| list.push(self.active.clone()));
        Ok(())
    }

    /// Deletes the segments all of whose records are before `position`. Snapshots of them stay readable.
    ///
    /// The segment that is being written stays; [`Log::begin_segment`] makes it one that can go.
    ///
    /// # Errors
    /// When the file system refuses; the log goes on, and a later call tries again.
    pub fn truncate(&mut self, position: Position) -> Result<(), Error> {
        remove_before(&self.segments, &*self.disk, position)
    }

    /// Returns what is committed now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.segments.snapshot()
    }

    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        self.disk.clone()
    }

    pub(crate) fn segments(&self) -> Segments {
        self.segments.clone()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Log").field(&self.snapshot()).finish()
    }
}

impl Options {
    pub(crate) fn check(&self, record: &Record<'_>) -> Result<(), Error> {
        let length = record.bytes.len();
        if length > self.record_bytes {
            return Err(Error::too_large(length, self.record_bytes));
        }
        Ok(())
    }

    /// Returns `true` if a group of `n_bytes` has no room for `record`.
    pub(crate) fn is_full(&self, n_bytes: usize, records: &[Record<'_>]) -> bool {
        let sizes = records
            .iter()
            .map(|record| RECORD_HEADER + record.bytes.len());
        n_bytes + sizes.sum::<usize>() > self.group_bytes
    }
}

/// Writes a segment with its header and the groups of `copied`, and makes it and its name durable.
fn begin_segment(
    disk: &dyn Disk,
    header: SegmentHeader,
    copied: Option<&Arc<OpenSegment>>,
) -> Result<OpenSegment, Error> {
    let number = header.number;
    let new = new_file_name(number);
    let io = |doing| move |error: io::Error| Error::io(number, doing, error);
    let file = disk.create(&new).map_err(io("cannot create"))?;
    file.append(&header.encode())
        .map_err(io("cannot write the header"))?;
    let segment = OpenSegment::empty(header, file);
    if let Some(copied) = copied {
        let mut groups = GroupReader::new(copied.clone(), copied.extent().bytes);
        let from = copied.header.number;
        let mut buffer = GroupBuffer::new();
        while let Some(group) = groups.advance().map_err(|broken| broken.into_error(from))? {
            buffer.clear();
            buffer.push_framed(groups.payload(), group.n_records);
            append_group(&segment, &mut buffer)?;
            segment.set_extent(extent_with(segment.extent(), &buffer));
        }
    }
    sync(&segment)?;
    disk.rename(&new, &file_name(number))
        .map_err(io("cannot rename"))?;
    sync_folder(disk, number)?;
    Ok(segment)
}

/// Writes a group behind the last one, without syncing it.
fn append_group(segment: &OpenSegment, group: &mut GroupBuffer) -> Result<(), Error> {
    let extent = segment.extent();
    let bytes = group.seal(&segment.header, extent.n_groups, extent.bytes, extent.end);
    let appended = segment.file.append(bytes);
    appended.map_err(|error| Error::io(segment.header.number, "cannot append", error))
}

fn extent_with(extent: CommittedExtent, group: &GroupBuffer) -> CommittedExtent {
    CommittedExtent {
        bytes: extent.bytes + group.len() as u64,
        n_groups: extent.n_groups + 1,
        end: extent.end + u64::from(group.n_records()),
    }
}

fn sync(segment: &OpenSegment) -> Result<(), Error> {
    let synced = segment.file.sync();
    synced.map_err(|error| Error::io(segment.header.number, "cannot sync", error))
}

fn sync_folder(disk: &dyn Disk, number: u64) -> Result<(), Error> {
    disk.sync_folder()
        .map_err(|error| Error::io(number, "cannot sync the folder", error))
}

/// Removes the segments all of whose records are before `position`, but for the last, which is being written.
pub(crate) fn remove_before(
    segments: &Segments,
    disk: &dyn Disk,
    position: Position,
) -> Result<(), Error> {
    loop {
        let first = segments.with(|list| match list.as_slice() {
            [first, _, ..] if first.extent().end <= position.0 => Some(first.clone()),
            _ => None,
        });
        let Some(first) = first else { return Ok(()) };
        // One after the other, each removal durable before the next: a crash leaves no gap.
        remove_segment(disk, first.header.number)?;
        segments.with(|list| list.remove(0));
    }
}

/// Removes a segment; one that is gone already was removed by a call that failed after it.
fn remove_segment(disk: &dyn Disk, number: u64) -> Result<(), Error> {
    match disk.remove(&file_name(number)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io(number, "cannot remove", error));
        }
        _ => {}
    }
    sync_folder(disk, number)
}

fn salt(salt: u64, number: u64) -> u64 {
    (salt ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
