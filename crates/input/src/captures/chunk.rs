//! Chunks: pieces of streams in files of their own, named by their content.

use std::fmt;
use std::io;
use std::str::FromStr;

use traceloom_log::disk::File;

/// Decoded bytes of a chunk; the last one of a sealed piece has fewer.
pub const CHUNK_BYTES: usize = 256 << 10;

/// Bytes that a file of a chunk may have.
const MOST_STORED: u64 = 2 * CHUNK_BYTES as u64;

/// The BLAKE3 hash of bytes: the name of a chunk, the fingerprint of a manifest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash(pub [u8; 32]);

impl ContentHash {
    /// Returns the hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for ContentHash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut hash = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 2 * hash.len() {
            return Err("a hash has 64 hex digits");
        }
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok();
            let parsed = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
            *byte = parsed.ok_or("a hash has hex digits alone")?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Compresses chunks, one after the other.
pub struct ChunkEncoder(zstd::bulk::Compressor<'static>);

impl ChunkEncoder {
    /// Compresses at a level, which changes no name.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new(level: i32) -> io::Result<Self> {
        zstd::bulk::Compressor::new(level).map(Self)
    }

    /// Returns the bytes of a chunk's file.
    ///
    /// # Errors
    /// When memory is short.
    pub fn encode(&mut self, decoded: &[u8]) -> io::Result<Vec<u8>> {
        self.0.compress(decoded)
    }
}

/// A chunk as a manifest lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRef {
    /// Hash of the decoded bytes.
    pub hash: ContentHash,
    /// Decoded bytes.
    pub n_bytes: u32,
    /// Bytes of its file.
    pub n_stored: u32,
}

impl ChunkRef {
    /// Returns the name of its file.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.zst", self.hash)
    }

    /// Reads the decoded bytes from the chunk's file, and holds them against its name.
    ///
    /// # Errors
    /// When the file cannot be read, or has other bytes.
    pub fn decode(&self, file: &dyn File) -> io::Result<Vec<u8>> {
        let damaged = |why: &str| {
            let text = format!("chunk {} is damaged: {why}", self.hash);
            io::Error::new(io::ErrorKind::InvalidData, text)
        };
        let length = file.length()?;
        if length > MOST_STORED || self.n_bytes as usize > CHUNK_BYTES {
            return Err(damaged("it is too large"));
        }
        let mut stored = vec![0; usize::try_from(length).unwrap_or(0)];
        let mut filled = 0;
        while let Some(room) = stored.get_mut(filled..).filter(|room| !room.is_empty()) {
            match file.read_at(room, filled as u64)? {
                0 => return Err(damaged("it is cut")),
                n_read => filled += n_read,
            }
        }
        let decoded = zstd::bulk::decompress(&stored, self.n_bytes as usize);
        let decoded = decoded.map_err(|_| damaged("it does not decompress"))?;
        match ContentHash::of(&decoded) == self.hash {
            true => Ok(decoded),
            false => Err(damaged("its bytes are not those of its name")),
        }
    }
}
