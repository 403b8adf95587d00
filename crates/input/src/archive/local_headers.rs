//! Members by the headers that stand before them, for archives whose directory is cut off or damaged.

use std::collections::HashMap;
use std::io::{self, BufReader, Read};

use flate2::bufread::DeflateDecoder;
use flate2::{Crc, CrcReader};

use traceloom_model::bounds::subslice;

use super::{MemberFault, Unzipped};
use crate::intake::Intake;
use crate::spool::{Spool, SpoolReader};

/// Bytes of a header before the member's name.
const HEAD: usize = 30;
const HEADER: [u8; 4] = *b"PK\x03\x04";
const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";
const DIRECTORY: [u8; 4] = *b"PK\x01\x02";

/// What stands before a member.
struct LocalHeader {
    encrypted: bool,
    /// Checksum and sizes follow the bytes.
    described_behind: bool,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    name: String,
    /// Where the member's bytes begin.
    data: u64,
}

/// Checksum and size of what was decoded, the size in 32 bits.
#[derive(Clone, Copy)]
struct Sum {
    crc: u32,
    size: u32,
}

impl Sum {
    fn of(crc: &Crc) -> Self {
        Self {
            crc: crc.sum(),
            size: crc.amount(),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_le_bytes(*word))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*word))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*word))
}

impl LocalHeader {
    fn read(archive: &Spool, at: u64) -> io::Result<Option<Self>> {
        let mut bytes = vec![0; HEAD];
        let mut reader = SpoolReader::new(archive.clone(), at);
        if reader.read_exact(&mut bytes).is_err() {
            return Ok(None);
        }
        let length = |at| u16_at(&bytes, at).map_or(0, u64::from);
        let behind = length(26) + length(28);
        reader.take(behind).read_to_end(&mut bytes)?;
        Ok(Self::parse(&bytes, at))
    }

    fn parse(bytes: &[u8], at: u64) -> Option<Self> {
        let flags = u16_at(bytes, 6)?;
        let name_end = HEAD + usize::from(u16_at(bytes, 26)?);
        let end = name_end + usize::from(u16_at(bytes, 28)?);
        let name = bytes.get(HEAD..name_end)?;
        let extra = bytes.get(name_end..end)?;
        // Versions go to 6.3; what claims a later one is no header.
        if u16_at(bytes, 4)? & 0xff > 63 || name.is_empty() || name.contains(&0) {
            return None;
        }
        let (mut packed, mut size) = (u32_at(bytes, 18)?.into(), u32_at(bytes, 22)?.into());
        if let Some(long) = zip64(extra) {
            if size == u64::from(u32::MAX) {
                size = u64_at(long, 0)?;
            }
            if packed == u64::from(u32::MAX) {
                packed = u64_at(long, 8)?;
            }
        }
        Some(Self {
            encrypted: flags & 1 != 0,
            described_behind: flags & 8 != 0,
            method: u16_at(bytes, 8)?,
            crc: u32_at(bytes, 14)?,
            packed,
            size,
            name: String::from_utf8_lossy(name).replace('\\', "/"),
            data: at + end as u64,
        })
    }
}

/// Returns the extra field that holds sizes of 64 bits.
fn zip64(mut extra: &[u8]) -> Option<&[u8]> {
    loop {
        let (id, len) = (u16_at(extra, 0)?, usize::from(u16_at(extra, 2)?));
        let field = extra.get(4..4 + len)?;
        if id == 1 {
            return Some(field);
        }
        extra = extra.get(4 + len..)?;
    }
}

/// Finds one of `marks` at or after `from`.
fn find(archive: &Spool, from: u64, marks: &[[u8; 4]]) -> io::Result<Option<u64>> {
    // The next member is mostly right behind: what is looked at grows with what was looked at in vain.
    let mut window = vec![0; 64];
    let (mut at, mut have) = (from, 0);
    loop {
        let len = archive.read_at(window.get_mut(have..).unwrap_or(&mut []), at + have as u64)?;
        if len == 0 {
            return Ok(None);
        }
        have += len;
        let bytes = subslice(&window, ..have);
        let hit = |four: &[u8]| marks.iter().any(|mark| mark == four);
        if let Some(hit) = bytes.windows(4).position(hit) {
            return Ok(Some(at + hit as u64));
        }
        let kept = have.min(3);
        window.copy_within(have - kept..have, 0);
        at += (have - kept) as u64;
        have = kept;
        window.resize((window.len() * 4).min(64 << 10), 0);
    }
}

/// Decompresses every member whose header is found.
pub(super) fn members(
    archive: &Spool,
    intake: &Intake,
) -> io::Result<Vec<(Unzipped, Option<MemberFault>)>> {
    let mut members = Vec::new();
    let mut descriptors = Descriptors::default();
    let mut at = 0;
    while let Some(header_at) = find(archive, at, &[HEADER])? {
        at = header_at + 4;
        let Some(header) = LocalHeader::read(archive, header_at)? else {
            continue;
        };
        let (member, fault, end) = read(archive, &header, &mut descriptors, intake)?;
        at = end.max(at);
        intake.opening.add(at - header_at);
        if !header.name.ends_with('/') {
            members.push((member, fault));
        }
    }
    Ok(members)
}

/// Decompresses one member; returns where its bytes end too, as far as that is known.
fn read(
    archive: &Spool,
    header: &LocalHeader,
    descriptors: &mut Descriptors,
    intake: &Intake,
) -> io::Result<(Unzipped, Option<MemberFault>, u64)> {
    let LocalHeader { data, packed, .. } = *header;
    let name = header.name.clone();
    let known = !header.described_behind || packed > 0;
    let whole = known && data.saturating_add(packed) <= archive.size();
    let end = data.saturating_add(packed).min(archive.size());
    if header.encrypted || !matches!(header.method, 0 | 8) {
        let fault = match header.encrypted {
            true => MemberFault::Encrypted,
            false => {
                MemberFault::Other(format!("compression method {} is not read", header.method))
            }
        };
        return Ok((
            Unzipped::empty(name),
            Some(fault),
            if whole { end } else { data },
        ));
    }
    let bytes = SpoolReader::new(archive.clone(), data);
    let packed_size = match known {
        true => packed,
        false => archive.size(),
    };
    let (member, fault, end, crc) = if header.method == 8 {
        let limit = if known { packed } else { u64::MAX };
        let decoder = DeflateDecoder::new(BufReader::new(bytes.take(limit)));
        let mut decoder = CrcReader::new(decoder);
        let (member, fault) = Unzipped::new(name, &mut decoder, packed_size, intake)?;
        // A broken stream may have run on into the next members.
        let end = match fault {
            Some(_) if whole => end,
            Some(_) => data,
            None => data + decoder.get_ref().total_in(),
        };
        let crc = Sum::of(decoder.crc());
        (member, fault, end, crc)
    } else {
        let end = if known {
            end
        } else {
            descriptors.stored_end(archive, data)?
        };
        let mut reader = CrcReader::new(bytes.take(end - data));
        let (member, mut fault) = Unzipped::new(name, &mut reader, packed_size, intake)?;
        if known && !whole {
            fault = fault.or_else(|| Some(MemberFault::Other("the archive ends in it".to_owned())));
        }
        let crc = Sum::of(reader.crc());
        (member, fault, end, crc)
    };
    let fault = match fault {
        None => disagreement(archive, header, crc, end)?,
        fault => fault,
    };
    Ok((member, fault, end))
}

/// The descriptors of an archive by where the bytes of their members begin.
///
/// A descriptor stands behind its member and has its length. One pass over the archive finds all of them, so that
/// members whose descriptor is missing do not each look through the rest of the archive.
#[derive(Default)]
struct Descriptors(Option<HashMap<u64, u64>>);

impl Descriptors {
    /// Descriptors that are kept; an archive of more than this may be made of nothing else.
    const MOST: usize = 1 << 20;

    /// Where a member that is not compressed ends: before the descriptor that says so, else before what
    /// follows any member.
    fn stored_end(&mut self, archive: &Spool, data: u64) -> io::Result<u64> {
        let known = match &mut self.0 {
            Some(known) => known,
            unread => unread.insert(Self::read(archive)?),
        };
        if let Some(&end) = known.get(&data) {
            return Ok(end);
        }
        let next = find(archive, data, &[HEADER, DIRECTORY])?;
        let next = next.unwrap_or(archive.size());
        // The mark of a descriptor may be missing.
        let mut bare = [0; 12];
        if let Some(end) = next.checked_sub(12).filter(|&end| end >= data)
            && archive.read_at(&mut bare, end)? == bare.len()
            && u32_at(&bare, 4).map(u64::from) == Some(end - data)
        {
            return Ok(end);
        }
        Ok(next)
    }

    fn read(archive: &Spool) -> io::Result<HashMap<u64, u64>> {
        let mut known = HashMap::new();
        let mut at = 0;
        while known.len() < Self::MOST
            && let Some(found) = find(archive, at, &[DESCRIPTOR])?
        {
            let mut descriptor = [0; 16];
            let _ = archive.read_at(&mut descriptor, found)?;
            let packed = u32_at(&descriptor, 8).map(u64::from);
            if let Some(data) = packed.and_then(|packed| found.checked_sub(packed)) {
                known.entry(data).or_insert(found);
            }
            at = found + 4;
        }
        Ok(known)
    }
}

/// Compares what was decoded with what the header says of it, or the descriptor behind it.
fn disagreement(
    archive: &Spool,
    header: &LocalHeader,
    found: Sum,
    end: u64,
) -> io::Result<Option<MemberFault>> {
    let expected = if header.described_behind {
        let mut behind = [0; 8];
        let len = archive.read_at(&mut behind, end)?;
        match (behind.starts_with(&DESCRIPTOR), len) {
            (true, 8) => u32_at(&behind, 4),
            (false, 4..) => u32_at(&behind, 0),
            _ => {
                return Ok(Some(MemberFault::Other(
                    "the archive ends behind it".to_owned(),
                )));
            }
        }
    } else {
        Some(header.crc)
    };
    if expected != Some(found.crc) {
        return Ok(Some(MemberFault::Other(
            "its checksum is another one".to_owned(),
        )));
    }
    let size = header.size & u64::from(u32::MAX);
    let differs = !header.described_behind && size != u64::from(found.size);
    Ok(differs.then(|| MemberFault::Other("its size is another one".to_owned())))
}
