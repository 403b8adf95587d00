//! The segments of a log behind each other, as bytes readable from any offset.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use traceloom_log::Snapshot;
use traceloom_log::disk::File;

/// The committed bytes of all segments.
#[derive(Default)]
pub(crate) struct Segments {
    /// Where each begins.
    files: Vec<(u64, Arc<dyn File>)>,
    start_of: HashMap<u64, u64>,
    size: u64,
}

impl Segments {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut segments = Self::default();
        for (number, bytes, file) in snapshot.files() {
            segments.files.push((segments.size, file));
            segments.start_of.insert(number, segments.size);
            segments.size += bytes;
        }
        segments
    }

    /// Returns where an offset of a segment lies.
    pub(super) fn locate(&self, segment: u64, offset: u64) -> u64 {
        self.start_of
            .get(&segment)
            .map_or(0, |start| start + offset)
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Reads within one segment.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let behind = self.files.partition_point(|(start, _)| *start <= offset);
        let found = behind.checked_sub(1).and_then(|at| self.files.get(at));
        found.map_or(Ok(0), |(start, file)| file.read_at(buffer, offset - start))
    }
}

impl fmt::Debug for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Segments").field(&self.size).finish()
    }
}
