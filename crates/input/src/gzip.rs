//! Gzip members one behind the other, every byte before a fault kept.
//!
//! The decoders of `flate2` drop what the failing call had decoded already: up to a read buffer of good data
//! before a damaged block. Here the bytes come first and the fault with the next call.

use std::io::{self, BufRead, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// Decodes members until the stored bytes end.
pub(crate) struct Members<R> {
    stored: R,
    inflate: Decompress,
    checksum: Crc,
    place: InflateOffset,
}

enum InflateOffset {
    /// Before a member; the first one must be there.
    Between {
        first: bool,
    },
    Body,
    /// After a fault, which is told once all before it was handed out.
    Fault(Option<io::Error>),
}

impl<R: BufRead> Members<R> {
    pub(crate) fn new(stored: R) -> Self {
        Self {
            stored,
            inflate: Decompress::new(false),
            checksum: Crc::new(),
            place: InflateOffset::Between { first: true },
        }
    }

    /// Steps over a header (RFC 1952 §2.3); false when there is no further member.
    fn header(&mut self, first: bool) -> io::Result<bool> {
        if !first && self.stored.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let head: [u8; 10] = self.bytes()?;
        let [0x1f, 0x8b, 8, flags, ..] = head else {
            return Err(corrupt("no gzip member begins here"));
        };
        const CHECKSUM: u8 = 2;
        const EXTRA: u8 = 4;
        const NAME: u8 = 8;
        const COMMENT: u8 = 16;
        if flags & EXTRA != 0 {
            let length = u64::from(u16::from_le_bytes(self.bytes()?));
            let skipped = io::copy(&mut (&mut self.stored).take(length), &mut io::sink())?;
            if skipped < length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        for text in [NAME, COMMENT] {
            if flags & text != 0 {
                while self.bytes()? != [0] {}
            }
        }
        if flags & CHECKSUM != 0 {
            let _: [u8; 2] = self.bytes()?;
        }
        self.inflate.reset(false);
        self.checksum.reset();
        Ok(true)
    }

    fn trailer(&mut self) -> io::Result<()> {
        let sum = u32::from_le_bytes(self.bytes()?);
        let length = u32::from_le_bytes(self.bytes()?);
        if sum != self.checksum.sum() || length != self.checksum.amount() {
            return Err(corrupt("a gzip checksum does not match its data"));
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stored.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Decodes into `out`: how many bytes, and whether the member ended or failed behind them.
    fn body(&mut self, out: &mut [u8]) -> io::Result<(usize, io::Result<Status>)> {
        let stored = self.stored.fill_buf()?;
        if stored.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(stored, out, FlushDecompress::None);
        let count = |total: u64, before: u64| usize::try_from(total - before).unwrap_or(0);
        self.stored.consume(count(self.inflate.total_in(), read));
        let written = count(self.inflate.total_out(), written);
        self.checksum.update(&out[..written]);
        Ok((written, status.map_err(|error| corrupt(&error.to_string()))))
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            match &mut self.place {
                InflateOffset::Fault(fault) => return fault.take().map_or(Ok(0), Err),
                InflateOffset::Between { first } => {
                    let first = *first;
                    if !self.header(first)? {
                        return Ok(0);
                    }
                    self.place = InflateOffset::Body;
                }
                InflateOffset::Body => {
                    let (written, status) = self.body(out)?;
                    match status {
                        Ok(Status::StreamEnd) => {
                            self.place = match self.trailer() {
                                Ok(()) => InflateOffset::Between { first: false },
                                Err(fault) => InflateOffset::Fault(Some(fault)),
                            };
                        }
                        Ok(_) => {}
                        Err(fault) => self.place = InflateOffset::Fault(Some(fault)),
                    }
                    if written > 0 {
                        return Ok(written);
                    }
                }
            }
        }
    }
}

fn corrupt(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Text that does not compress to nothing, numbered by line.
    fn lines(count: u64) -> Vec<u8> {
        let number = |line: u64| line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        (0..count)
            .flat_map(|line| format!("{line} {:x}\n", number(line)).into_bytes())
            .collect()
    }

    fn unpacked(stored: &[u8]) -> (Vec<u8>, Option<io::ErrorKind>) {
        let mut out = Vec::new();
        let result = Members::new(stored).read_to_end(&mut out);
        (out, result.err().map(|error| error.kind()))
    }

    #[test]
    fn members_follow_each_other() {
        let stored = [packed(b"one, "), packed(b""), packed(b"two")].concat();
        assert_eq!(unpacked(&stored), (b"one, two".to_vec(), None));
    }

    #[test]
    fn optional_header_fields_are_stepped_over() {
        let mut stored = Vec::new();
        let mut encoder = flate2::GzBuilder::new()
            .filename("calls.bin")
            .comment("of a restart")
            .extra(*b"four")
            .write(&mut stored, Default::default());
        encoder.write_all(b"data").unwrap();
        encoder.finish().unwrap();
        assert_eq!(unpacked(&stored), (b"data".to_vec(), None));
    }

    #[test]
    fn a_missing_trailer_is_an_early_end() {
        let stored = packed(b"data");
        for missing in 1..=8 {
            let (bytes, error) = unpacked(&stored[..stored.len() - missing]);
            assert_eq!(bytes, b"data");
            assert_eq!(error, Some(io::ErrorKind::UnexpectedEof));
        }
    }

    #[test]
    fn a_wrong_checksum_comes_after_the_data() {
        let mut stored = packed(b"data");
        let at = stored.len() - 6;
        stored[at] ^= 1;
        let expected = (b"data".to_vec(), Some(io::ErrorKind::InvalidData));
        assert_eq!(unpacked(&stored), expected);
    }

    #[test]
    fn everything_before_a_damaged_block_comes_out() {
        let original = lines(20_000);
        let mut stored = packed(&original);
        // A member whose deflate data ends in the reserved block type, wherever it is cut.
        let whole = stored.len();
        stored.truncate(whole / 2);
        stored.extend([0xff; 64]);
        // What comes out byte for byte, so that no call can drop more than one.
        let mut slow = Members::new(stored.as_slice());
        let mut byte_by_byte = Vec::new();
        let mut byte = [0];
        while let Ok(1) = slow.read(&mut byte) {
            byte_by_byte.push(byte[0]);
        }
        let (bytes, error) = unpacked(&stored);
        assert_eq!(error, Some(io::ErrorKind::InvalidData));
        assert!(
            bytes == byte_by_byte,
            "{} of {}",
            bytes.len(),
            byte_by_byte.len()
        );
        let same = original.iter().zip(&bytes).take_while(|(a, b)| a == b);
        assert!(same.count() > original.len() / 3);
    }
}
