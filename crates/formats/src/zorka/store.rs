//! `traces.dat`: the blocks of a zorka-tdb store (SPEC.md §4.2).

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limit, Limits};

use crate::{Chunk, Field, Opaque, Reader, Record, RecordSink, Step, damage, warn};

const MAGIC: [u8; 4] = *b"ZTS0";
const BLOCK: [u8; 4] = *b"ZCH0";

/// The 16 bytes at the beginning of a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreHeader {
    /// Low nibble 0 plain, 1 deflate, 2 LZ4; 0x10 blocks have check sums.
    pub flags: u32,
    /// Two words that are zero.
    pub reserved: [u32; 2],
}

/// One block: what the indexer made of one post.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreBlock<'a> {
    /// Offset of its magic.
    pub offset: u64,
    /// Length of what it unpacks to.
    pub plain_size: u32,
    /// CRC-32 of the packed bytes.
    pub crc: u32,
    /// The packed bytes.
    pub data: &'a [u8],
}

impl StoreBlock<'_> {
    /// Returns true if the check sum is right.
    #[must_use]
    pub fn intact(&self) -> bool {
        crc32fast::hash(self.data) == self.crc
    }

    /// Unpacks the block; what there is of it when it is damaged.
    ///
    /// # Errors
    /// A word for the note: the method is unknown, the data is damaged, or its size is not believed.
    pub fn unpack(&self, flags: u32, limits: &Limits) -> Result<Vec<u8>, &'static str> {
        let size = self.plain_size as usize;
        // Deflate packs at most 1,032 to one, LZ4 255 to one.
        if size > limits.size(Limit::Record) || size > self.data.len().saturating_mul(1032) + 64 {
            return Err("limit_record");
        }
        match flags & 0x0f {
            0 => Ok(self.data.to_vec()),
            1 => inflate(self.data, size),
            2 if size > self.data.len().saturating_mul(255) + 64 => Err("limit_record"),
            2 => lz4_flex::block::decompress(self.data, size).map_err(|_| "bad_block"),
            _ => Err("unknown_compression"),
        }
    }
}

/// Inflates raw deflate data that ends in a flush instead of a final block.
///
/// The output grows as it fills: the size in the block's header is a limit, not a promise.
fn inflate(data: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
    let mut plain = vec![0; size.min(data.len().saturating_mul(4) + 64)];
    let mut state = Box::<DecompressorOxide>::default();
    let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (mut taken, mut written) = (0, 0);
    loop {
        let rest = subslice(data, taken..);
        let (status, read, wrote) = decompress(&mut state, rest, &mut plain, written, flags);
        taken += read;
        written += wrote;
        if status == TINFLStatus::HasMoreOutput && plain.len() < size {
            plain.resize(plain.len().saturating_mul(2).min(size), 0);
            continue;
        }
        plain.truncate(written);
        return if written == size {
            Ok(plain)
        } else {
            Err("bad_block")
        };
    }
}

/// A record of the store file.
enum StorePiece<'a> {
    Header(StoreHeader),
    Block(StoreBlock<'a>, u32),
}

impl Record for StorePiece<'_> {
    fn kind(&self) -> &str {
        match self {
            Self::Header(_) => "store_header",
            Self::Block(..) => "block",
        }
    }

    fn offset(&self) -> u64 {
        match self {
            Self::Header(_) => 0,
            Self::Block(block, _) => block.offset,
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Header(_) => 16,
            Self::Block(block, _) => 16 + block.data.len() as u64,
        }
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        match self {
            Self::Header(header) => {
                show("flags", Field::U64(u64::from(header.flags)));
                let name = match header.flags & 0x0f {
                    0 => "none",
                    1 => "deflate",
                    2 => "lz4",
                    _ => "unknown",
                };
                show("compression", Field::Str(name));
            }
            Self::Block(block, _) => {
                show("csize", Field::U64(block.data.len() as u64));
                show("lsize", Field::U64(u64::from(block.plain_size)));
                show("crc32", Field::U64(u64::from(block.crc)));
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Header(header) => {
                out.extend(MAGIC);
                out.extend(header.flags.to_be_bytes());
                for word in header.reserved {
                    out.extend(word.to_be_bytes());
                }
            }
            Self::Block(block, csize) => {
                out.extend(BLOCK);
                out.extend(csize.to_be_bytes());
                out.extend(block.plain_size.to_be_bytes());
                out.extend(block.crc.to_be_bytes());
                out.extend_from_slice(block.data);
            }
        }
    }
}

/// Takes blocks as they are read.
pub(crate) trait Blocks {
    fn block(&mut self, block: &StoreBlock<'_>, flags: u32) -> Flow;
    fn piece(&mut self, record: &dyn Record) -> Flow;
    fn note(&mut self, note: traceloom_model::Note) -> Flow;
}

struct StoreRecord<'o>(&'o mut dyn RecordSink);

impl Blocks for StoreRecord<'_> {
    fn block(&mut self, _block: &StoreBlock<'_>, _flags: u32) -> Flow {
        Flow::Continue(())
    }

    fn piece(&mut self, record: &dyn Record) -> Flow {
        self.0.record(record)
    }

    fn note(&mut self, note: traceloom_model::Note) -> Flow {
        self.0.note(note)
    }
}

/// Reads a store block by block.
#[derive(Clone)]
pub(crate) struct StoreReader {
    record: usize,
    flags: u32,
    /// Bytes of the damaged run that were emitted.
    lost: u64,
    /// The run began like a block.
    torn: bool,
}

impl StoreReader {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            record: limits.size(Limit::Record),
            flags: 0x11,
            lost: 0,
            torn: false,
        }
    }

    pub(crate) fn blocks(&mut self, chunk: Chunk<'_>, out: &mut impl Blocks) -> Step {
        let mut at = 0;
        while let Some(rest) = chunk.bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let offset = chunk.offset + at as u64;
            let Some(&words) = rest.first_chunk::<16>() else {
                if !chunk.eof {
                    let need = 16;
                    return Step::More { consumed: at, need };
                }
                self.torn |= self.lost == 0;
                return match self.pieces(chunk, at, rest.len(), true, false, out) {
                    Ok(_) => Step::More {
                        consumed: chunk.bytes.len(),
                        need: 1,
                    },
                    Err(step) => step,
                };
            };
            let [w0, w1, w2, w3] = split(words);
            if w0 == MAGIC && offset == 0 {
                self.flags = u32::from_be_bytes(w1);
                let header = StoreHeader {
                    flags: self.flags,
                    reserved: [u32::from_be_bytes(w2), u32::from_be_bytes(w3)],
                };
                if out.piece(&StorePiece::Header(header)).is_break() {
                    return Step::Stop;
                }
                at += 16;
                continue;
            }
            let csize = u32::from_be_bytes(w1);
            let size = 16_usize.saturating_add(csize as usize);
            let data = rest.get(16..size);
            let data = match data {
                Some(data) if w0 == BLOCK && size <= self.record => data,
                None if w0 == BLOCK && size <= self.record && !chunk.eof => {
                    return Step::More {
                        consumed: at,
                        need: size,
                    };
                }
                _ => {
                    // At most one byte of a damaged run is looked at again with the next window.
                    let window = subslice(rest, 1..);
                    let next = window.windows(4).position(|four| four == BLOCK);
                    let until = match next {
                        Some(found) => found + 1,
                        None if chunk.eof => rest.len(),
                        None => rest.len().saturating_sub(3).max(1),
                    };
                    let ended = next.is_some() || chunk.eof;
                    self.torn |= self.lost == 0 && w0 == BLOCK;
                    match self.pieces(chunk, at, until, ended, next.is_some(), out) {
                        Ok(0) => {
                            let need = (64 << 10) + 4;
                            return Step::More { consumed: at, need };
                        }
                        Ok(consumed) => at += consumed,
                        Err(step) => return step,
                    }
                    continue;
                }
            };
            let block = StoreBlock {
                offset,
                plain_size: u32::from_be_bytes(w2),
                crc: u32::from_be_bytes(w3),
                data,
            };
            let checked = self.flags & 0x10 == 0 || block.intact();
            if out.piece(&StorePiece::Block(block, csize)).is_break() {
                return Step::Stop;
            }
            if !checked
                && out
                    .note(damage("bad_crc", offset, "a block's check sum is wrong"))
                    .is_break()
            {
                return Step::Stop;
            }
            if out.block(&block, self.flags).is_break() {
                return Step::Stop;
            }
            at += size;
        }
        Step::More {
            consumed: at,
            need: 1,
        }
    }

    /// Emits damaged bytes in pieces of 64 KiB, so that windows do not show in them.
    fn pieces(
        &mut self,
        chunk: Chunk<'_>,
        at: usize,
        until: usize,
        ended: bool,
        synced: bool,
        out: &mut impl Blocks,
    ) -> Result<usize, Step> {
        const PIECE: usize = 64 << 10;
        let len = until.min(PIECE);
        if len < PIECE && !ended {
            return Ok(0);
        }
        let offset = chunk.offset + at as u64;
        let bytes = subslice(chunk.bytes, at..at + len);
        let last = ended && len == until;
        self.lost += len as u64;
        if out.piece(&Opaque::damage(offset, bytes)).is_break() {
            return Err(Step::Stop);
        }
        if last {
            let start = offset + len as u64 - self.lost;
            let note = if self.torn && !synced {
                warn("partial_record", start, "the store ends inside a block")
            } else {
                damage("bad_block", start, "bytes that are no block")
            };
            let note = note.counting(self.lost);
            self.lost = 0;
            self.torn = false;
            if out.note(note).is_break() {
                return Err(Step::Stop);
            }
        }
        Ok(len)
    }
}

fn split(words: [u8; 16]) -> [[u8; 4]; 4] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = words;
    [[a, b, c, d], [e, f, g, h], [i, j, k, l], [m, n, o, p]]
}

impl Reader for StoreReader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        self.blocks(chunk, &mut StoreRecord(out))
    }
}

/// Tells why a block could not be unpacked.
pub(crate) fn refusal(word: &'static str, offset: u64) -> traceloom_model::Note {
    match word {
        "unknown_compression" => warn(word, offset, "a block is packed in an unknown way"),
        "limit_record" => damage(word, offset, "a block says to be larger than can be"),
        _ => damage(word, offset, "a block cannot be unpacked"),
    }
}
