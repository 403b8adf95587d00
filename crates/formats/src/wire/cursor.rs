//! A borrowing cursor that knows its absolute offset and never panics.

use traceloom_model::bounds::subslice;

use crate::Error;

/// Reads integers, strings and slices from a window of the input.
///
/// Every method names what it reads, so that an error can say it. `Truncated` errors count the bytes
/// missing from the window; a reader that has not seen the end asks for them.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    base: u64,
    padded: bool,
}

impl<'a> Cursor<'a> {
    /// Reads `bytes`, whose first one lies at `offset` of the part.
    #[must_use]
    #[inline]
    pub const fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self {
            bytes,
            at: 0,
            base: offset,
            padded: false,
        }
    }

    /// Returns the offset of the next byte in the part.
    #[must_use]
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns how many bytes of the window were read.
    #[must_use]
    #[inline]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Moves to a position of the window; past its end means its end.
    #[inline]
    pub fn seek(&mut self, position: usize) {
        self.at = position.min(self.bytes.len());
    }

    /// Returns the bytes not read yet.
    #[must_use]
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        subslice(self.bytes, self.at..)
    }

    /// Returns the bytes between two positions of the window.
    #[must_use]
    #[inline]
    pub fn slice(&self, from: usize, to: usize) -> &'a [u8] {
        subslice(self.bytes, from..to)
    }

    /// Returns true if the window is used up.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns true if a varint read since the last call was longer than it needed to be.
    ///
    /// Such a value decodes like the short form but must be written back as it was.
    #[inline]
    pub fn take_padded(&mut self) -> bool {
        std::mem::take(&mut self.padded)
    }

    /// Reads `len` bytes.
    ///
    /// # Errors
    /// `Truncated` when the window holds fewer.
    #[inline]
    pub fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], Error> {
        match self
            .at
            .checked_add(len)
            .and_then(|end| self.bytes.get(self.at..end))
        {
            Some(slice) => {
                self.at += len;
                Ok(slice)
            }
            None => Err(self.short(what, len)),
        }
    }

    /// Reads a fixed number of bytes.
    ///
    /// # Errors
    /// `Truncated` when the window holds fewer.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Error> {
        match self.rest().first_chunk::<N>() {
            Some(array) => {
                self.at += N;
                Ok(*array)
            }
            None => Err(self.short(what, N)),
        }
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// `Truncated` at the end of the window.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8, Error> {
        match self.bytes.get(self.at) {
            Some(&byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err(self.short(what, 1)),
        }
    }

    /// Reads a big-endian `u16`.
    ///
    /// # Errors
    /// `Truncated` when the window holds fewer than 2 bytes.
    #[inline]
    pub fn u16_be(&mut self, what: &'static str) -> Result<u16, Error> {
        self.array(what).map(u16::from_be_bytes)
    }

    /// Reads a big-endian `u32`.
    ///
    /// # Errors
    /// `Truncated` when the window holds fewer than 4 bytes.
    #[inline]
    pub fn u32_be(&mut self, what: &'static str) -> Result<u32, Error> {
        self.array(what).map(u32::from_be_bytes)
    }

    /// Reads a big-endian `u64`.
    ///
    /// # Errors
    /// `Truncated` when the window holds fewer than 8 bytes.
    #[inline]
    pub fn u64_be(&mut self, what: &'static str) -> Result<u64, Error> {
        self.array(what).map(u64::from_be_bytes)
    }

    /// Reads a big-endian `i64`.
    ///
    /// # Errors
    /// `Truncated` when the window holds fewer than 8 bytes.
    #[inline]
    pub fn i64_be(&mut self, what: &'static str) -> Result<i64, Error> {
        self.array(what).map(i64::from_be_bytes)
    }

    /// Reads a base-128 varint of at most 32 bits, low group first.
    ///
    /// # Errors
    /// `Truncated` at the end of the window, `Invalid` when the value has more than 32 bits.
    #[inline]
    pub fn varint32(&mut self, what: &'static str) -> Result<u32, Error> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u32::from(byte))
            }
            _ => self.varint32_long(what),
        }
    }

    #[inline]
    fn varint32_long(&mut self, what: &'static str) -> Result<u32, Error> {
        if let Some((value, length)) = self.varint_in_word()
            && length <= 5
            && let Ok(value) = u32::try_from(value)
        {
            self.at += length;
            return Ok(value);
        }
        self.varint32_slow(what)
    }

    /// Decodes a varint of 2 to 8 bytes from one load, without a branch a byte.
    #[inline]
    fn varint_in_word(&mut self) -> Option<(u64, usize)> {
        const LAST: u64 = 0x8080_8080_8080_8080;
        let word = u64::from_le_bytes(*self.rest().first_chunk()?);
        let last = !word & LAST;
        if last == 0 {
            return None;
        }
        let length = last.trailing_zeros() as usize / 8 + 1;
        let bits = word & (last ^ (last - 1)) & !LAST;
        // Neighbouring groups of 7 bits move together: pairs, then fours, then eights.
        let bits = bits & 0x007f_007f_007f_007f | (bits & 0x7f00_7f00_7f00_7f00) >> 1;
        let bits = bits & 0x0000_3fff_0000_3fff | (bits & 0x3fff_0000_3fff_0000) >> 2;
        let bits = bits & 0x0fff_ffff | (bits & 0x0fff_ffff_0000_0000) >> 4;
        self.padded |= bits >> (7 * (length - 1)) == 0;
        Some((bits, length))
    }

    #[cold]
    fn varint32_slow(&mut self, what: &'static str) -> Result<u32, Error> {
        let mut value = 0_u32;
        for (group, &byte) in self.rest().iter().take(5).enumerate() {
            if group == 4 && byte > 0x0f {
                return Err(Error::invalid(
                    self.offset(),
                    format!("{what} has more than 32 bits: fifth varint byte is {byte:#04x}"),
                ));
            }
            value |= u32::from(byte & 0x7f) << (7 * group);
            if byte < 0x80 {
                self.padded |= byte == 0 && group > 0;
                self.at += group + 1;
                return Ok(value);
            }
        }
        let have = self.rest().len();
        Err(self.short(what, have + 1))
    }

    /// Reads a base-128 varint of at most 64 bits, low group first.
    ///
    /// # Errors
    /// `Truncated` at the end of the window, `Invalid` when the value has more than 64 bits.
    #[inline]
    pub fn leb128(&mut self, what: &'static str) -> Result<u64, Error> {
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => self.leb128_long(what),
        }
    }

    #[inline]
    fn leb128_long(&mut self, what: &'static str) -> Result<u64, Error> {
        if let Some((value, length)) = self.varint_in_word() {
            self.at += length;
            return Ok(value);
        }
        self.leb128_slow(what)
    }

    #[cold]
    fn leb128_slow(&mut self, what: &'static str) -> Result<u64, Error> {
        let mut value = 0_u64;
        for (group, &byte) in self.rest().iter().take(10).enumerate() {
            if group == 9 && byte > 1 {
                return Err(Error::invalid(
                    self.offset(),
                    format!("{what} has more than 64 bits: tenth varint byte is {byte:#04x}"),
                ));
            }
            value |= u64::from(byte & 0x7f) << (7 * group);
            if byte < 0x80 {
                self.padded |= byte == 0 && group > 0;
                self.at += group + 1;
                return Ok(value);
            }
        }
        let have = self.rest().len();
        Err(self.short(what, have + 1))
    }

    /// Reads a zigzag varint of at most 32 bits.
    ///
    /// # Errors
    /// As [`Cursor::varint32`].
    #[inline]
    pub fn zigzag32(&mut self, what: &'static str) -> Result<i32, Error> {
        let raw = self.varint32(what)?;
        Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }

    #[cold]
    fn short(&self, what: &'static str, len: usize) -> Error {
        let have = self.bytes.len().saturating_sub(self.at);
        Error::truncated(self.offset(), what, len.saturating_sub(have).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn varint_edges() {
        let read = |bytes: &[u8]| Cursor::new(bytes, 0).varint32("v");
        assert_eq!(
            read(&[0xff, 0xff, 0xff, 0xff, 0x0f]).unwrap().cast_signed(),
            -1
        );
        assert_eq!(
            read(&[0xd9, 0xfa, 0xff, 0xff, 0x0f]).unwrap().cast_signed(),
            -679
        );
        let overlong = read(&[0xff, 0xff, 0xff, 0xff, 0x10]).unwrap_err();
        assert_eq!(overlong.kind(), ErrorKind::Invalid);
        let cut = read(&[0x80, 0x80]).unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::Truncated { need: 1 });
        assert_eq!(Cursor::new(&[0xcd, 0x0a], 0).zigzag32("v").unwrap(), -679);
    }

    #[test]
    fn padding_is_seen_once() {
        let mut cursor = Cursor::new(&[0x81, 0x00, 0x01], 0);
        assert_eq!(cursor.varint32("v").unwrap(), 1);
        assert!(cursor.take_padded());
        assert_eq!(cursor.varint32("v").unwrap(), 1);
        assert!(!cursor.take_padded());
    }

    #[test]
    fn both_ways_of_reading_agree() {
        for value in (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, u64::MAX >> bit]) {
            let mut bytes = Vec::new();
            crate::wire::put_leb128(&mut bytes, value);
            let short = Cursor::new(&bytes, 0).leb128("v");
            let length = bytes.len();
            bytes.extend([0xff; 8]);
            let mut cursor = Cursor::new(&bytes, 0);
            assert_eq!(cursor.leb128("v"), Ok(value));
            assert_eq!((cursor.position(), cursor.take_padded()), (length, false));
            assert_eq!(short, Ok(value));
            let narrow = Cursor::new(&bytes, 0).varint32("v").ok();
            assert_eq!(narrow, u32::try_from(value).ok());
        }
        let padded = [0xff, 0x80, 0x80, 0x00, 1, 2, 3, 4, 5];
        let mut cursor = Cursor::new(&padded, 0);
        assert_eq!(
            (cursor.varint32("v"), cursor.take_padded()),
            (Ok(0x7f), true)
        );
        assert_eq!(cursor.position(), 4);
    }

    #[test]
    fn six_byte_leb128() {
        let bytes = [0xc0, 0xcb, 0x9e, 0xe8, 0xc3, 0x2a];
        assert_eq!(
            Cursor::new(&bytes, 0).leb128("v").unwrap(),
            1_461_312_792_000
        );
    }
}
