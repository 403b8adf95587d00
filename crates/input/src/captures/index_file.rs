//! What the files of indexes have in common: a head, compressed pieces, and a directory of them at the end.
//!
//! `CAPTURES.md` has the bytes.

use std::fs::File;

use traceloom_log::disk::PlacedFile as _;

use super::ContentHash;

/// Bytes before the first piece: magic, version, hash of what the index is of.
pub(super) const HEAD: usize = 8 + 4 + 32;
/// Bytes behind the directory: where it begins, its bytes stored and decoded, its hash.
pub(super) const TRAILER: usize = 8 + 4 + 4 + 32;

/// A kind of index.
pub(super) struct IndexFormat {
    pub(super) magic: &'static [u8; 8],
    /// The version that is written, and the only one that is read: an index can be made again.
    pub(super) version: u32,
    /// Most decoded bytes of a piece or a directory.
    pub(super) largest: usize,
}

impl IndexFormat {
    /// Reads the directory of an index; returns it with its stored size. None where the index is of something else, of another
    /// version or damaged.
    pub(super) fn directory(&self, file: &File, of: ContentHash) -> Option<(Vec<u8>, u32)> {
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, 0).ok()?;
        let head = head.strip_prefix(self.magic)?;
        let head = head.strip_prefix(&self.version.to_le_bytes())?;
        if head != of.0 {
            return None;
        }
        let trailer_at = file.metadata().ok()?.len().checked_sub(TRAILER as u64)?;
        let mut trailer = [0; TRAILER];
        file.read_exact_at(&mut trailer, trailer_at).ok()?;
        let (offset, rest) = trailer.split_first_chunk()?;
        let (n_stored, rest) = rest.split_first_chunk()?;
        let (n_decoded, hash) = rest.split_first_chunk()?;
        let offset = u64::from_le_bytes(*offset);
        let n_stored = u32::from_le_bytes(*n_stored);
        if offset.checked_add(u64::from(n_stored)) != Some(trailer_at) {
            return None;
        }
        let mut stored = vec![0; n_stored as usize];
        file.read_exact_at(&mut stored, offset).ok()?;
        if ContentHash::of(&[&of.0, stored.as_slice()].concat()).0 != *hash {
            return None;
        }
        let directory = self.decoded(&stored, u32::from_le_bytes(*n_decoded))?;
        Some((directory, n_stored))
    }

    /// Decompresses bytes of which it is known how many they are.
    pub(super) fn decoded(&self, stored: &[u8], n_decoded: u32) -> Option<Vec<u8>> {
        let n_decoded = n_decoded as usize;
        if n_decoded > self.largest {
            return None;
        }
        let decoded = zstd::bulk::decompress(stored, n_decoded).ok()?;
        (decoded.len() == n_decoded).then_some(decoded)
    }
}

/// Returns the first bytes of the hash of a piece.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let hash = ContentHash::of(bytes).0;
    hash.first_chunk()
        .map_or(0, |first| u64::from_le_bytes(*first))
}
