//! Members of zip and tar archives, damaged ones included.

mod local_headers;
mod tar;

use std::io::{self, Read, Seek, SeekFrom};

use traceloom_formats::{damage, warn};
use traceloom_model::Note;
use zip::ZipArchive;
use zip::result::{ZipError, ZipResult};

use crate::intake::{Hit, Intake};
use crate::progress::ProgressMark;
use crate::spool::Spool;
use crate::{Error, Wrapper};

/// Bytes that tell an archive.
pub(crate) const HEAD: usize = 512;

/// Returns what kind of archive decoded bytes begin like.
pub(crate) fn kind(head: &[u8]) -> Option<Wrapper> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Some(Wrapper::Zip);
    }
    tar::is_tar(head).then_some(Wrapper::Tar)
}

/// Finds the members of an archive.
///
/// # Errors
/// When nothing in it can be read.
pub(crate) fn members(
    kind: Wrapper,
    path: &str,
    archive: &Spool,
    intake: &Intake,
) -> Result<Vec<Unzipped>, Error> {
    match kind {
        Wrapper::Tar => tar::members(archive).map_err(|error| Error::io(path, error)),
        _ => unzip(path, archive, intake),
    }
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
enum MemberFault {
    Encrypted,
    Limit(&'static str, String),
    Other(String),
}

impl Unzipped {
    /// Takes in what a member of `packed` bytes decodes to.
    fn new(
        name: String,
        bytes: impl Read,
        packed: u64,
        intake: &Intake,
    ) -> io::Result<(Self, Option<MemberFault>)> {
        let mark = ProgressMark::default();
        let (bytes, error) = Spool::fill(intake.limited(bytes, packed, &mark), intake)?;
        let fault = error.map(|error| match Hit::of(&error) {
            Some(hit) => MemberFault::Limit(hit.kind, hit.to_string()),
            None => MemberFault::Other(error.to_string()),
        });
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

    fn with(mut self, fault: Option<MemberFault>) -> Self {
        let at = self.bytes.size();
        self.notes.extend(fault.map(|fault| match fault {
            MemberFault::Encrypted => damage("encrypted", at, "the archive's member is encrypted"),
            MemberFault::Limit(kind, why) => damage(kind, at, why),
            MemberFault::Other(why) => {
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
fn unzip(path: &str, archive: &Spool, intake: &Intake) -> Result<Vec<Unzipped>, Error> {
    let seekable = Seekable {
        spool: archive.clone(),
        at: 0,
    };
    intake.opening.begin(archive.size());
    let found = match ZipArchive::new(seekable) {
        Ok(archive) => listed(path, archive, intake)?,
        Err(error) => {
            let mut found =
                local_headers::members(archive, intake).map_err(|e| Error::io(path, e))?;
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
    let encrypted =
        |(_, fault): &(_, Option<MemberFault>)| matches!(fault, Some(MemberFault::Encrypted));
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
    intake: &Intake,
) -> Result<Vec<(Unzipped, Option<MemberFault>)>, Error> {
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index);
        let (name, is_file) =
            match entry.and_then(|entry| Ok((name(entry.name())?, entry.is_file()))) {
                Ok(entry) => entry,
                Err(error) => {
                    let name = format!("member-{}", index + 1);
                    let fault = MemberFault::Other(error.to_string());
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
                let member = Unzipped::new(name, member, packed, intake);
                let member = member.map_err(|e| Error::io(path, e))?;
                intake.opening.add(packed);
                member
            }
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => {
                (Unzipped::empty(name), Some(MemberFault::Encrypted))
            }
            Err(error) => (
                Unzipped::empty(name),
                Some(MemberFault::Other(error.to_string())),
            ),
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
