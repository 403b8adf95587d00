//! Members of tar archives, damaged ones included.
//!
//! The members are ranges of the archive's bytes: nothing is copied. Own code and not a crate's, because those take a
//! long name or a pax header into memory whatever length it claims, and stop at the first damaged header.

use std::io;

use traceloom_formats::damage;
use traceloom_model::bounds::subslice;
use traceloom_model::{Level, Note};

use super::Unzipped;
use crate::spool::Spool;

const BLOCK: usize = 512;
/// Bytes of a long name or of a pax header that are looked at.
const MOST_EXTENSION: u64 = 1 << 20;

/// Returns `true` if decoded bytes begin with the header of a tar member.
pub(crate) fn is_tar(head: &[u8]) -> bool {
    head.first_chunk()
        .is_some_and(|block| TarHeader::parse(block).is_some())
}

/// What stands before a member.
struct TarHeader {
    name: String,
    kind: u8,
    size: u64,
}

impl TarHeader {
    /// Reads a header; none where its checksum is another one.
    fn parse(block: &[u8; BLOCK]) -> Option<Self> {
        const CHECKSUM: std::ops::Range<usize> = 148..156;
        let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        let spaces = u64::from(b' ') * CHECKSUM.len() as u64;
        let expected = sum(&block[..CHECKSUM.start]) + spaces + sum(&block[CHECKSUM.end..]);
        if number(&block[CHECKSUM])? != expected || block[0] == 0 {
            return None;
        }
        let mut name = text(&block[..100]);
        let is_posix = block[257..].starts_with(b"ustar\0");
        let prefix = text(&block[345..500]);
        if is_posix && !prefix.is_empty() {
            name = format!("{prefix}/{name}");
        }
        Some(Self {
            name,
            kind: block[156],
            size: number(&block[124..136])?,
        })
    }
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&field[..end.unwrap_or(field.len())]).into_owned()
}

/// A number in octal digits, or in binary where its first bit is set.
fn number(field: &[u8]) -> Option<u64> {
    if let [0x80, rest @ ..] = field {
        return rest.iter().try_fold(0_u64, |sum, &byte| {
            Some(sum.checked_mul(256)? + u64::from(byte))
        });
    }
    let digits = field.iter().skip_while(|&&byte| byte == b' ');
    let mut digits = digits.take_while(|&&byte| byte != 0 && byte != b' ');
    digits.try_fold(0_u64, |sum, &byte| match byte {
        b'0'..=b'7' => Some(sum.checked_mul(8)? + u64::from(byte - b'0')),
        _ => None,
    })
}

/// Finds the files of an archive, as far as it goes.
pub(crate) fn members(archive: &Spool) -> io::Result<Vec<Unzipped>> {
    let mut found = Vec::new();
    let mut walk = TarWalk {
        archive,
        at: 0,
        long: Extension::default(),
        notes: Vec::new(),
    };
    while let Some(member) = walk.next()? {
        found.push(member);
    }
    // What is wrong behind the last member is told with it.
    match (found.last_mut(), walk.notes.first()) {
        (Some(last), _) => last.notes.append(&mut walk.notes),
        (None, Some(note)) => {
            return Err(io::Error::other(format!("tar archive: {}", note.text)));
        }
        (None, None) => {}
    }
    Ok(found)
}

/// What members before a member say about it.
#[derive(Default)]
struct Extension {
    name: Option<String>,
    size: Option<u64>,
    /// Its bytes begin with a map of holes.
    sparse: bool,
}

struct TarWalk<'a> {
    archive: &'a Spool,
    at: u64,
    long: Extension,
    notes: Vec<Note>,
}

impl TarWalk<'_> {
    /// Finds the next file.
    fn next(&mut self) -> io::Result<Option<Unzipped>> {
        while let Some((header, offset)) = self.header()? {
            let data = self.at;
            let extension = std::mem::take(&mut self.long);
            let size = extension.size.unwrap_or(header.size);
            let left = self.archive.size().saturating_sub(data);
            let padded = size.saturating_add(BLOCK as u64 - 1) / BLOCK as u64 * BLOCK as u64;
            self.at = data.saturating_add(padded.min(left));
            match header.kind {
                b'L' => {
                    let name = self.bytes(data, size.min(left))?;
                    self.long = Extension {
                        name: Some(text(&name)),
                        ..extension
                    };
                }
                b'x' => {
                    let records = self.bytes(data, size.min(left))?;
                    self.long = pax(&records);
                }
                b'S' => {
                    self.at = data.saturating_add(self.more_holes(data)? + padded);
                    self.skip_sparse(&extension.name.unwrap_or(header.name), offset);
                }
                0 | b'0' | b'7' if extension.sparse => {
                    self.skip_sparse(&extension.name.unwrap_or(header.name), offset);
                }
                0 | b'0' | b'7' => {
                    let name = extension.name.unwrap_or(header.name);
                    let mut notes = std::mem::take(&mut self.notes);
                    if size > left {
                        let text = format!(
                            "the archive ends in its member at {offset:#x}, {} bytes early",
                            size - left
                        );
                        notes.push(damage("damaged_member", left, text));
                    }
                    let bytes = self.archive.slice(data, size.min(left));
                    let name = name
                        .trim_start_matches("./")
                        .trim_start_matches('/')
                        .to_owned();
                    return Ok(Some(Unzipped { name, bytes, notes }));
                }
                // Folders, links, devices, and headers about all members.
                _ => {}
            }
        }
        Ok(None)
    }

    /// Notes a member that is not read: its bytes are those between the holes.
    fn skip_sparse(&mut self, name: &str, offset: u64) {
        let text = format!(
            "`{name}` is a sparse file, which is not read; archived without --sparse it is"
        );
        self.notes
            .push(Note::new(Level::Warn, "sparse_member", offset, text));
    }

    /// Returns the length of the blocks behind an old header of GNU's that list more holes; each says if another follows.
    fn more_holes(&self, data: u64) -> io::Result<u64> {
        let last = |block: &[u8; BLOCK], at: usize| block[at] == 0;
        let mut block = [0; BLOCK];
        let before = data.saturating_sub(BLOCK as u64);
        let (mut len, mut end) = (0, fill(self.archive, &mut block, before)? < BLOCK);
        end |= last(&block, 482);
        while !end {
            end = fill(self.archive, &mut block, data + len)? < BLOCK || last(&block, 504);
            len += BLOCK as u64;
        }
        Ok(len)
    }

    /// Reads the next header, and past damage to one; none at the end.
    fn header(&mut self) -> io::Result<Option<(TarHeader, u64)>> {
        let mut damaged: Option<u64> = None;
        loop {
            let offset = self.at;
            let mut block = [0; BLOCK];
            let len = fill(self.archive, &mut block, offset)?;
            let end = len < BLOCK || block == [0; BLOCK];
            let header = if end { None } else { TarHeader::parse(&block) };
            let cut = 0 < len && len < BLOCK && damaged.is_none();
            if let Some(start) = damaged.filter(|_| end || header.is_some()) {
                let text = format!("{} bytes from {start:#x} on are no members", offset - start);
                self.notes.push(damage("damaged_archive", start, text));
            }
            if cut {
                let text = "the archive ends in a header";
                self.notes.push(damage("damaged_archive", offset, text));
            }
            if end {
                return Ok(None);
            }
            self.at = offset + BLOCK as u64;
            match header {
                Some(header) => return Ok(Some((header, offset))),
                None => damaged = damaged.or(Some(offset)),
            }
        }
    }

    fn bytes(&self, at: u64, len: u64) -> io::Result<Vec<u8>> {
        let len = usize::try_from(len.min(MOST_EXTENSION)).unwrap_or(0);
        let mut bytes = vec![0; len];
        let len = fill(self.archive, &mut bytes, at)?;
        bytes.truncate(len);
        Ok(bytes)
    }
}

fn fill(archive: &Spool, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut have = 0;
    while have < buffer.len() {
        match archive.read_at(&mut buffer[have..], at + have as u64)? {
            0 => break,
            len => have += len,
        }
    }
    Ok(have)
}

/// Path and size of `LENGTH KEY=VALUE\n` records.
fn pax(records: &[u8]) -> Extension {
    let mut found = Extension::default();
    let mut rest = records;
    while let Some(space) = rest.iter().position(|&byte| byte == b' ') {
        let length = std::str::from_utf8(&rest[..space]).ok();
        let Some(length) = length.and_then(|digits| digits.parse::<usize>().ok()) else {
            break;
        };
        let Some(record) = rest.get(space + 1..length.saturating_sub(1)) else {
            break;
        };
        let record = String::from_utf8_lossy(record);
        match record.split_once('=') {
            Some(("path", path)) if !found.sparse => found.name = Some(path.to_owned()),
            Some(("GNU.sparse.name", path)) => found.name = Some(path.to_owned()),
            Some(("size", size)) => found.size = size.parse().ok(),
            Some((key, _)) if key.starts_with("GNU.sparse.") => found.sparse = true,
            _ => {}
        }
        rest = subslice(rest, length..);
    }
    found
}
