//! Columns of a page as bytes in base64: numbers of variable length, seven bits a byte, lowest first.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes of an element, as many threes as give no rest.
const BLOCK: usize = 3 << 17;

/// Bytes as they grow.
#[derive(Debug, Default)]
pub(super) struct Bits(Vec<u8>);

impl Bits {
    /// Returns how many bytes they are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a byte.
    pub(super) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Adds a number: a byte up to 127, ten at most.
    pub(super) fn number(&mut self, number: impl Into<u64>) {
        let mut left: u64 = number.into();
        loop {
            let low = u8::try_from(left & 127).unwrap_or(0);
            left >>= 7;
            if left == 0 {
                self.0.push(low);
                return;
            }
            self.0.push(low | 128);
        }
    }

    /// Adds a number of things in memory.
    pub(super) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    /// Adds a float, its lowest byte first.
    pub(super) fn float(&mut self, value: f64) {
        self.0.extend(value.to_le_bytes());
    }

    /// Adds all bytes of another.
    pub(super) fn append(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
    }

    /// Writes them in base64, an element for each half a megabyte: a browser that appends to the text of a longer one
    /// copies it for every piece of the file that comes.
    pub(super) fn write_blocks(&self, out: &mut String) {
        out.reserve(self.0.len().div_ceil(3) * 4 + self.0.len() / 4_096);
        for block in self.0.chunks(BLOCK) {
            out.push_str("\n<script type=\"text/plain\">");
            write(block, out);
            out.push_str("</script>");
        }
    }
}

/// Writes bytes in base64.
fn write(bytes: &[u8], out: &mut String) {
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_u32 {
            let sextet = (bits >> (18 - 6 * place)) & 63;
            let letter = ALPHABET.get(sextet as usize).copied().unwrap_or(b'A');
            out.push(if place as usize <= three.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_base64() {
        let mut bits = Bits::default();
        bits.number(5_u64);
        bits.number(300_u64);
        bits.number(u64::MAX);
        assert_eq!(bits.0[..3], [5, 0xac, 2]);
        assert_eq!(
            bits.0[3..],
            [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]
        );
        let text = |bytes: &[u8]| {
            let mut out = String::new();
            write(bytes, &mut out);
            out
        };
        assert_eq!(text(b""), "");
        assert_eq!(text(b"f"), "Zg==");
        assert_eq!(text(b"fo"), "Zm8=");
        assert_eq!(text(b"foobar"), "Zm9vYmFy");
        assert_eq!(text(&[251, 255]), "+/8=");
        let mut blocks = String::new();
        Bits(vec![0; BLOCK + 1]).write_blocks(&mut blocks);
        assert_eq!(blocks.matches("<script type=\"text/plain\">").count(), 2);
        assert!(blocks.ends_with(">AA==</script>"));
    }
}
