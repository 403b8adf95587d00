//! Compression around a part: recognised by content, opened in layers, tolerant of missing ends.

use std::io::{self, BufReader, Read};

use crate::Error;
use crate::intake::Hit;

/// Compression around a part's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrapper {
    /// One or more gzip members.
    Gzip,
    /// A zlib stream.
    Zlib,
    /// Zstandard frames.
    Zstd,
    /// An LZ4 frame.
    Lz4,
    /// A member of a zip archive.
    Zip,
    /// A member of a tar archive.
    Tar,
}

impl Wrapper {
    /// Returns the word `info` prints.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
            Self::Zip => "zip",
            Self::Tar => "tar",
        }
    }

    /// Returns the wrapper of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        const ALL: [Wrapper; 6] = [
            Wrapper::Gzip,
            Wrapper::Zlib,
            Wrapper::Zstd,
            Wrapper::Lz4,
            Wrapper::Zip,
            Wrapper::Tar,
        ];
        ALL.into_iter().find(|wrapper| wrapper.name() == name)
    }

    /// Recognises a wrapper by the first bytes of what it wraps. Zlib has no magic number: its two header
    /// bytes must be among those that zlib writes and a first block must decompress.
    pub(crate) fn detect(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => {
                let mut block = [0; 64];
                let mut decoder = flate2::read::ZlibDecoder::new(head);
                matches!(decoder.read(&mut block), Ok(1..)).then_some(Self::Zlib)
            }
            _ => None,
        }
    }

    /// Returns a reader of what bytes hold, and the wrapper around it; bytes without one are read as they are. Nothing bounds
    /// how much comes out but the caller.
    #[must_use]
    pub fn reader_of(bytes: &[u8]) -> (Option<Self>, Box<dyn Read + '_>) {
        let found = Self::detect(bytes);
        let opened = found.and_then(|wrapper| wrapper.open(Box::new(bytes)).ok());
        match opened {
            Some(opened) => (found, opened),
            None => (None, Box::new(bytes)),
        }
    }

    /// Wraps a reader of stored bytes in a reader of decoded ones.
    pub(crate) fn open<'r>(self, stored: Box<dyn Read + 'r>) -> io::Result<Box<dyn Read + 'r>> {
        let buffered = BufReader::with_capacity(64 << 10, stored);
        Ok(match self {
            Self::Gzip => Box::new(crate::gzip::Members::new(buffered)),
            Self::Zlib => Box::new(flate2::bufread::ZlibDecoder::new(buffered)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(buffered)?),
            Self::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(buffered)),
            Self::Zip | Self::Tar => Box::new(buffered),
        })
    }

    /// Returns `true` for archives, whose members come without anything around them.
    pub(crate) fn is_archive(self) -> bool {
        matches!(self, Self::Zip | Self::Tar)
    }

    /// File name suffixes that go away with the wrapper.
    pub(crate) fn strip_suffix(name: &str) -> &str {
        let suffixes = [".gz", ".zz", ".zlib", ".zst", ".lz4"];
        suffixes
            .iter()
            .find_map(|suffix| name.strip_suffix(suffix))
            .unwrap_or(name)
    }
}

/// How decoding of the wrappers ended, when not at their proper end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The compressed stream stops without its trailer: a live or killed writer.
    NoTrailer,
    /// The compressed bytes are damaged.
    Corrupt(String),
    /// The system cannot read on: a broken disk, a server that went away.
    Unreadable(String),
    /// A limit was hit: its kind and what it says.
    Limit(&'static str, String),
}

impl Ending {
    /// Sorts a read error: the end of the compressed data, damage in it, or bytes that the system does not give.
    pub(crate) fn of(error: io::Error, path: &str) -> Result<Self, Error> {
        if let Some(hit) = Hit::of(&error) {
            return Ok(Self::Limit(hit.kind, hit.to_string()));
        }
        if error.raw_os_error().is_some() {
            return Ok(Self::Unreadable(error.to_string()));
        }
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(Self::NoTrailer),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
                Ok(Self::Corrupt(error.to_string()))
            }
            _ => Err(Error::io(path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zlib_needs_more_than_its_header() {
        assert_eq!(Wrapper::detect(&[0x78, 0x9c, 0xff, 0xff, 0xff]), None);
        let mut packed = Vec::new();
        let mut encoder = flate2::read::ZlibEncoder::new(&b"hello"[..], Default::default());
        encoder.read_to_end(&mut packed).unwrap();
        assert_eq!(Wrapper::detect(&packed), Some(Wrapper::Zlib));
    }
}
