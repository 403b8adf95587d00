//! The numbered files of a stream.

use super::FolderLayout;
use crate::{Error, Output};

/// Bytes gathered before they are handed out: rows and blocks are small, and an output looks a file up by name.
const HELD: usize = 32 << 10;

/// Where the streams of a process lie.
pub(super) struct StreamFolder {
    pub(super) layout: FolderLayout,
    pub(super) path: String,
}

impl StreamFolder {
    pub(super) fn name(&self, stream: &str, index: u32) -> String {
        let suffix = match self.layout {
            FolderLayout::Streams => "",
            FolderLayout::Dump => ".gz",
        };
        format!("{}/{stream}/{index:06}{suffix}", self.path)
    }

    /// Writes the only file of a stream.
    pub(super) fn whole(
        &self,
        stream: &str,
        bytes: &[u8],
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        let name = self.name(stream, 1);
        out.write(&name, bytes)?;
        out.end(&name)
    }
}

/// The file of a stream that is being written.
#[derive(Default)]
pub(super) struct StreamWriter {
    pub(super) index: u32,
    /// Bytes handed out.
    gone: u64,
    /// What is appended to it, until it is handed out.
    pub(super) held: Vec<u8>,
}

impl StreamWriter {
    /// Returns how many bytes it has.
    pub(super) fn len(&self) -> u64 {
        self.gone + self.held.len() as u64
    }

    /// Ends the file.
    pub(super) fn end(
        &mut self,
        place: (&StreamFolder, &str),
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        self.flush(place, out)?;
        let (folder, stream) = place;
        out.end(&folder.name(stream, self.index))
    }

    /// Begins the next file.
    pub(super) fn next(
        &mut self,
        place: (&StreamFolder, &str),
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        self.end(place, out)?;
        self.index += 1;
        self.gone = 0;
        Ok(())
    }

    /// Hands out what is gathered once there is much of it.
    #[inline]
    pub(super) fn spill(
        &mut self,
        place: (&StreamFolder, &str),
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        if self.held.len() < HELD {
            return Ok(());
        }
        self.flush(place, out)
    }

    /// Hands out what is gathered.
    pub(super) fn flush(
        &mut self,
        (folder, stream): (&StreamFolder, &str),
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        if !self.held.is_empty() {
            out.write(&folder.name(stream, self.index), &self.held)?;
            self.gone += self.held.len() as u64;
            self.held.clear();
        }
        Ok(())
    }
}
