//! Members of zip archives.

use std::io::{self, Read, Seek, SeekFrom};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::spool::Spool;
use crate::{Error, Progress};

/// Tells whether decoded bytes begin like a zip archive.
pub(crate) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// One member, decompressed; `cut` says how its data ended early.
pub(crate) struct Unzipped {
    pub(crate) name: String,
    pub(crate) bytes: Spool,
    pub(crate) cut: Option<io::Error>,
}

/// Decompresses the files of an archive, sorted by name.
///
/// # Errors
/// When it is no readable archive, or a member is encrypted or compressed in a way this build lacks.
pub(crate) fn unzip(
    path: &str,
    archive: Spool,
    progress: &Progress,
) -> Result<Vec<Unzipped>, Error> {
    let refuse = |error: ZipError| Error::about(path, format!("zip archive: {error}"));
    let size = archive.size();
    let mut archive = ZipArchive::new(Seekable {
        spool: archive,
        at: 0,
    })
    .map_err(refuse)?;
    progress.begin(size);
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let member = match archive.by_index(index) {
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                return Err(Error::about(
                    path,
                    "the zip archive is encrypted; unpack it with its password and pass the folder",
                ));
            }
            other => other.map_err(refuse)?,
        };
        if !member.is_file() {
            continue;
        }
        let packed = member.compressed_size();
        let name = member.name().map_err(refuse)?.replace('\\', "/");
        let (bytes, cut) = Spool::fill(member).map_err(|error| Error::io(path, error))?;
        progress.add(packed);
        members.push(Unzipped { name, bytes, cut });
    }
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(members)
}

struct Seekable {
    spool: Spool,
    at: u64,
}

impl Read for Seekable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.spool.read_at(buffer, self.at)?;
        self.at += len as u64;
        Ok(len)
    }
}

impl Seek for Seekable {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.spool.size().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
