//! Chunk headers, and where a chunk ends.

use crate::wire::Cursor;
use traceloom_model::TickRate;

use crate::Whole;

/// What every recording and every chunk begins with.
pub const MAGIC: &[u8; 4] = b"FLR\0";

/// Bytes of a chunk header.
pub const HEADER: usize = 68;

/// The header of a chunk (SPEC.md §2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Major version: 1 before JDK 11, else 2.
    pub major: u16,
    /// Minor version.
    pub minor: u16,
    /// Bytes of the chunk with its header.
    pub chunk_size: u64,
    /// Where the last checkpoint begins, from the beginning of the chunk.
    pub constant_pool_offset: u64,
    /// Where the metadata begins, from the beginning of the chunk.
    pub metadata_offset: u64,
    /// When the chunk begins, in nanoseconds since 1970.
    pub start_time_ns: i64,
    /// How long it lasts, in nanoseconds.
    pub duration_ns: i64,
    /// Ticks of its clock at its beginning.
    pub start_ticks: i64,
    /// Ticks a second.
    pub ticks_per_second: u64,
    /// 0 once the chunk is finished.
    pub file_state: u8,
    /// Flags; the last bit of the last byte: integers are compressed.
    pub capabilities: [u8; 3],
}

impl Header {
    /// Reads a header; none when there are fewer than [`HEADER`] bytes or they do not begin one.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(bytes, 0);
        if &cursor.array::<4>("magic").ok()? != MAGIC {
            return None;
        }
        let major = cursor.u16_be("major version").ok()?;
        let minor = cursor.u16_be("minor version").ok()?;
        let [chunk_size, constant_pool_offset, metadata_offset] = [
            cursor.u64_be("chunk size").ok()?,
            cursor.u64_be("constant pool offset").ok()?,
            cursor.u64_be("metadata offset").ok()?,
        ];
        let [start_time_ns, duration_ns, start_ticks] = [
            cursor.i64_be("start time").ok()?,
            cursor.i64_be("duration").ok()?,
            cursor.i64_be("start ticks").ok()?,
        ];
        let ticks_per_second = cursor.u64_be("ticks per second").ok()?;
        let [file_state, a, b, c] = cursor.array("features").ok()?;
        Some(Self {
            major,
            minor,
            chunk_size,
            constant_pool_offset,
            metadata_offset,
            start_time_ns,
            duration_ns,
            start_ticks,
            ticks_per_second,
            file_state,
            capabilities: [a, b, c],
        })
    }

    /// Appends the header's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        out.extend(self.major.to_be_bytes());
        out.extend(self.minor.to_be_bytes());
        out.extend(self.chunk_size.to_be_bytes());
        out.extend(self.constant_pool_offset.to_be_bytes());
        out.extend(self.metadata_offset.to_be_bytes());
        out.extend(self.start_time_ns.to_be_bytes());
        out.extend(self.duration_ns.to_be_bytes());
        out.extend(self.start_ticks.to_be_bytes());
        out.extend(self.ticks_per_second.to_be_bytes());
        out.push(self.file_state);
        out.extend(self.capabilities);
    }

    /// Returns true if this reader knows the version: 1.x and 2.x share one layout.
    pub(super) fn is_supported(&self) -> bool {
        matches!(self.major, 1 | 2)
    }

    /// Returns true if integers are in base 128.
    #[must_use]
    pub fn compressed(&self) -> bool {
        let [_, _, low] = self.capabilities;
        low & 1 != 0
    }

    /// Returns true if the writer said it was done with the chunk.
    pub(super) fn finished(&self) -> bool {
        self.file_state == 0 && self.chunk_size >= HEADER as u64
    }

    /// Returns the clock of the chunk's ticks.
    pub(super) fn clock(&self) -> ChunkClock {
        let fallback = TickRate::per_second(1_000_000_000);
        ChunkClock {
            start_ns: self.start_time_ns,
            start_ticks: self.start_ticks,
            per_second: match self.ticks_per_second {
                0 => 1_000_000_000,
                rate => rate,
            },
            rate: TickRate::per_second(self.ticks_per_second).or(fallback),
        }
    }
}

/// Turns ticks of one chunk into nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkClock {
    start_ns: i64,
    start_ticks: i64,
    per_second: u64,
    rate: Option<TickRate>,
}

impl ChunkClock {
    /// Returns the length of `ticks`, in nanoseconds.
    #[inline]
    pub(super) fn length(&self, ticks: i64) -> i64 {
        const SECOND: u64 = 1_000_000_000;
        if self.per_second == SECOND {
            return ticks;
        }
        // The same as below without 128-bit division, which would be most of a sample's cost.
        if let Ok(ticks) = u64::try_from(ticks)
            && self.per_second > 0
            && self.per_second <= u64::MAX / SECOND
        {
            let seconds = ticks / self.per_second;
            let rest = (ticks % self.per_second) * SECOND / self.per_second;
            let ns = seconds
                .checked_mul(SECOND)
                .and_then(|ns| ns.checked_add(rest));
            return ns.and_then(|ns| i64::try_from(ns).ok()).unwrap_or(i64::MAX);
        }
        self.rate
            .map_or(ticks, |rate| rate.to_ns(i128::from(ticks)))
    }

    /// Returns the time at which the clock showed `ticks`, in nanoseconds since the Unix epoch.
    pub(super) fn time(&self, ticks: i64) -> i64 {
        let since = match ticks.checked_sub(self.start_ticks) {
            Some(since) => self.length(since),
            None => {
                let since = i128::from(ticks) - i128::from(self.start_ticks);
                self.rate.map_or(0, |rate| rate.to_ns(since))
            }
        };
        self.start_ns.saturating_add(since)
    }
}

/// From the first start of the chunks met to their last end: chunks of several recorders may overlap.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct RecordingExtent(Option<(i64, i64)>);

impl RecordingExtent {
    pub(super) fn add(&mut self, header: &Header) {
        let start = header.start_time_ns;
        let end = start.saturating_add(header.duration_ns.max(0));
        self.0 = Some(self.0.map_or((start, end), |(first, last)| {
            (first.min(start), last.max(end))
        }));
    }

    pub(super) fn whole(self) -> Option<Whole> {
        let (time, end) = self.0?;
        let duration = end.saturating_sub(time);
        Some(Whole {
            time,
            duration,
            choice: 0,
        })
    }
}

/// Finds the next thing in `bytes`, from `from` on, that looks like the beginning of a supported chunk.
pub(super) fn find_magic(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        at += rest.iter().position(|&byte| byte == b'F')?;
        if begins_chunk(bytes.get(at..)?) {
            return Some(at);
        }
        at += 1;
    }
}

/// Returns true if `bytes` begin like a chunk of a supported version.
pub(super) fn begins_chunk(bytes: &[u8]) -> bool {
    matches!(bytes, [b'F', b'L', b'R', 0, 0, 1 | 2, 0, 0..8, ..])
}

/// Returns true if `bytes`, the last of the input, could be the cut beginning of a chunk.
pub(super) fn is_cut_magic(bytes: &[u8]) -> bool {
    bytes.len() < 8 && b"FLR\0\0".iter().zip(bytes).all(|(a, b)| a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_divide_agree() {
        for per_second in [1, 3, 1_000_000_000, 1_800_000_000, u64::MAX / 1_000_000_000] {
            let rate = TickRate::per_second(per_second);
            let clock = ChunkClock {
                start_ns: 0,
                start_ticks: 0,
                per_second,
                rate,
            };
            for ticks in [0, 1, 2, 7, 1_799_999_999, 53_239_880_994, i64::MAX, -1, -7] {
                let exact = rate.unwrap().to_ns(i128::from(ticks));
                assert_eq!(clock.length(ticks), exact, "{ticks} at {per_second}");
            }
        }
    }
}
