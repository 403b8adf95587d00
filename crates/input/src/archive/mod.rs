//! Members of zip archives, damaged ones included.

mod locals;

use std::io::{self, Read, Seek, SeekFrom};

use traceloom_formats::{damage, warn};
use traceloom_model::Note;
use zip::ZipArchive;
use zip::result::{ZipError, ZipResult};

use crate::spool::Spool;
use crate::{Error, Progress};

/// Tells whether decoded bytes begin like a zip archive.
pub(crate) fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// One member, decompressed as far as its bytes allow, and what is wrong with it.
#[derive(Debug)]
pub(crate) struct Unzipped {
    pub(crate) name: String,
    pub(crate) bytes: Spool,
    pub(crate) notes: Vec<Note>,
}

/// Why a member has no bytes or not all of them.
#[derive(Debug)]
enum Fault {
    Encrypted,
    Other(String),
}

impl Unzipped {
    /// Takes in what a member decodes to.
    fn new(name: String, bytes: impl Read) -> io::Result<(Self, Option<Fault>)> {
        let (bytes, error) = Spool::fill(bytes)?;
        let fault = error.map(|error| Fault::Other(error.to_string()));
        let notes = Vec::new();
        Ok((Self { name, bytes, notes }, fault))
    }

    fn empty(name: String) -> Self {
        Self {
            name,
            bytes: Spool::Memory(Vec::new().into()),
            notes: Vec::new(),
        }
    }

    fn with(mut self, fault: Option<Fault>) -> Self {
        let at = self.bytes.size();
        self.notes.extend(fault.map(|fault| match fault {
            Fault::Encrypted => damage("encrypted", at, "the archive's member is encrypted"),
            Fault::Other(why) => {
                let text = format!("the archive's member is damaged: {why}");
                damage("damaged_member", at, text)
            }
        }));
        self
    }
}

/// Decompresses the files of an archive, sorted by name. Where its directory is missing or damaged, the
/// members are found by their own headers.
///
/// # Errors
/// When nothing in it can be read: it is no archive, or all of it is encrypted.
pub(crate) fn unzip(
    path: &str,
    archive: &Spool,
    progress: &Progress,
) -> Result<Vec<Unzipped>, Error> {
    let seekable = Seekable {
        spool: archive.clone(),
        at: 0,
    };
    progress.begin(archive.size());
    let found = match ZipArchive::new(seekable) {
        Ok(archive) => listed(path, archive, progress)?,
        Err(error) => {
            let mut found = locals::members(archive, progress).map_err(|e| Error::io(path, e))?;
            let Some((first, _)) = found.first_mut() else {
                return Err(Error::about(path, format!("zip archive: {error}")));
            };
            let text = format!(
                "the archive's directory cannot be read ({error}); members are found by their own headers"
            );
            first.notes.push(warn("archive_without_directory", 0, text));
            found
        }
    };
    let encrypted = |(_, fault): &(_, Option<Fault>)| matches!(fault, Some(Fault::Encrypted));
    if !found.is_empty() && found.iter().all(encrypted) {
        return Err(Error::about(
            path,
            "the zip archive is encrypted; unpack it with its password and pass the folder",
        ));
    }
    let members = found.into_iter();
    let mut members: Vec<_> = members.map(|(member, fault)| member.with(fault)).collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(members)
}

/// Decompresses what the archive's directory lists.
fn listed(
    path: &str,
    mut archive: ZipArchive<Seekable>,
    progress: &Progress,
) -> Result<Vec<(Unzipped, Option<Fault>)>, Error> {
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index);
        let (name, is_file) =
            match entry.and_then(|entry| Ok((name(entry.name())?, entry.is_file()))) {
                Ok(entry) => entry,
                Err(error) => {
                    let name = format!("member-{}", index + 1);
                    let fault = Fault::Other(error.to_string());
                    members.push((Unzipped::empty(name), Some(fault)));
                    continue;
                }
            };
        if !is_file {
            continue;
        }
        let member = match archive.by_index(index) {
            Ok(member) => {
                let packed = member.compressed_size();
                let member = Unzipped::new(name, member).map_err(|e| Error::io(path, e))?;
                progress.add(packed);
                member
            }
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                (Unzipped::empty(name), Some(Fault::Encrypted))
            }
            Err(error) => (Unzipped::empty(name), Some(Fault::Other(error.to_string()))),
        };
        members.push(member);
    }
    Ok(members)
}

fn name(name: ZipResult<std::borrow::Cow<'_, str>>) -> ZipResult<String> {
    Ok(name?.replace('\\', "/"))
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
