//! The numbered files of a stream.

use super::Layout;
use crate::{Error, Output};

/// Bytes gathered before they are handed out: rows and blocks are small, and an output looks a file up by name.
const HELD: usize = 32 << 10;

/// Where the streams of a process lie.
pub(super) struct Folder {
    pub(super) layout: Layout,
    pub(super) path: String,
}

impl Folder {
    pub(super) fn name(&self, stream: &str, index: u32) -> String {
        let suffix = match self.layout {
            Layout::Streams => "",
            Layout::Dump => ".gz",
        };
        format!("{}/{stream}/{index:06}{suffix}", self.path)
    }
}

/// The file of a stream that is being written.
#[derive(Default)]
pub(super) struct File {
    pub(super) index: u32,
    pub(super) bytes: u64,
    held: Vec<u8>,
}

impl File {
    /// Begins the next file.
    pub(super) fn next(
        &mut self,
        place: (&Folder, &str),
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        self.flush(place, out)?;
        let (folder, stream) = place;
        out.end(&folder.name(stream, self.index))?;
        self.index += 1;
        self.bytes = 0;
        Ok(())
    }

    /// Appends bytes.
    pub(super) fn put(
        &mut self,
        place: (&Folder, &str),
        bytes: &[u8],
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        self.held.extend_from_slice(bytes);
        self.bytes += bytes.len() as u64;
        if self.held.len() >= HELD {
            self.flush(place, out)?;
        }
        Ok(())
    }

    /// Hands out what is gathered.
    pub(super) fn flush(
        &mut self,
        (folder, stream): (&Folder, &str),
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        if !self.held.is_empty() {
            out.write(&folder.name(stream, self.index), &self.held)?;
            self.held.clear();
        }
        Ok(())
    }
}
