//! A target of many files on standard output: a zip archive.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use traceloom_formats::{Error as FormatError, Output};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::export::RawStdout;

/// The files of a folder, until the last of them is written: an archive has one after the other, and writers take turns.
///
/// Their bytes are in one file without a name, which goes with the process.
pub(super) struct SpooledFolder {
    spool: BufWriter<File>,
    n_bytes: u64,
    /// Where the bytes of each file are: offset and length.
    files: BTreeMap<String, Vec<(u64, u64)>>,
}

impl SpooledFolder {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            spool: BufWriter::with_capacity(64 << 10, tempfile::tempfile()?),
            n_bytes: 0,
            files: BTreeMap::new(),
        })
    }

    /// Writes the archive. Files whose names say gzip are compressed so, as they are in a folder.
    pub(super) fn print(self) -> anyhow::Result<()> {
        let mut spool = self
            .spool
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        let mut zip = ZipWriter::new_stream(BufWriter::with_capacity(64 << 10, RawStdout));
        for (name, pieces) in self.files {
            let is_packed = name.ends_with(".gz");
            let n_bytes: u64 = pieces.iter().map(|(_, length)| length).sum();
            let method = match is_packed {
                true => CompressionMethod::Stored,
                false => CompressionMethod::Deflated,
            };
            let options = SimpleFileOptions::default()
                .compression_method(method)
                .large_file(n_bytes >= u64::from(u32::MAX / 2));
            zip.start_file(name, options)?;
            if is_packed {
                let mut packed = GzEncoder::new(&mut zip, Compression::default());
                copy(&mut spool, &pieces, &mut packed)?;
                packed.finish()?;
            } else {
                copy(&mut spool, &pieces, &mut zip)?;
            }
        }
        zip.finish()?.into_inner().flush()?;
        Ok(())
    }
}

/// Copies the pieces of a file.
fn copy(spool: &mut File, pieces: &[(u64, u64)], to: &mut dyn Write) -> io::Result<()> {
    for &(offset, length) in pieces {
        spool.seek(SeekFrom::Start(offset))?;
        io::copy(&mut (&mut *spool).take(length), to)?;
    }
    Ok(())
}

impl Output for SpooledFolder {
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), FormatError> {
        let written = self.spool.write_all(bytes);
        written.map_err(|error| FormatError::writing("a temporary file", &error))?;
        let (offset, length) = (self.n_bytes, bytes.len() as u64);
        self.n_bytes += length;
        let pieces = match self.files.get_mut(name) {
            Some(pieces) => pieces,
            None => self.files.entry(name.to_owned()).or_default(),
        };
        match pieces.last_mut() {
            Some((first, before)) if *first + *before == offset => *before += length,
            _ => pieces.push((offset, length)),
        }
        Ok(())
    }
}

/// Takes what is written nowhere.
pub(super) struct NoOutput;

impl Output for NoOutput {
    fn write(&mut self, _name: &str, _bytes: &[u8]) -> Result<(), FormatError> {
        Ok(())
    }
}
