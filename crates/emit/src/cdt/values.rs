//! Values in a stream of their own, each once in its file.

use std::collections::HashMap;

use super::primitives::put_text;

/// Values that are remembered, as in agents, and bytes of them. Beyond, all are forgotten, and written again when they come again.
const MOST_VALUES: usize = 10_000;
const MOST_BYTES: usize = 4 << 20;

/// The values of a file, and where they are.
#[derive(Default)]
pub struct ValueTable {
    places: HashMap<Box<str>, u32>,
    /// Bytes of the remembered values.
    n_bytes: usize,
    /// The file, and its bytes before the block that is being encoded.
    file: u32,
    size: u64,
    /// What the block adds to the file.
    pub added: Vec<u8>,
}

impl ValueTable {
    /// Learns that nobody has the values so far.
    pub fn forget(&mut self) {
        self.places.clear();
        self.n_bytes = 0;
    }

    /// Learns where the values of the next block go: to a file that has so many bytes.
    pub fn begin_block(&mut self, file: u32, size: u64) {
        if self.file != file {
            self.forget();
        }
        self.file = file;
        self.size = size;
        self.added.clear();
    }

    /// Returns file and place of a value, which is added if it is new; `None` where places do not reach.
    pub fn place(&mut self, text: &str) -> Option<(u32, u32)> {
        if let Some(&place) = self.places.get(text) {
            return Some((self.file, place));
        }
        // Readers take places as signed numbers of 32 bits.
        let place = self.size + self.added.len() as u64;
        let place = i32::try_from(place).ok()?.cast_unsigned();
        if self.places.len() == MOST_VALUES || self.n_bytes + text.len() > MOST_BYTES {
            self.forget();
        }
        put_text(&mut self.added, text);
        self.n_bytes += text.len();
        self.places.insert(text.into(), place);
        Some((self.file, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_added_once_to_a_file() {
        let mut values = ValueTable::default();
        values.begin_block(1, 100);
        assert_eq!(values.place("ab"), Some((1, 100)));
        assert_eq!(values.place("c"), Some((1, 105)));
        assert_eq!(values.place("ab"), Some((1, 100)));
        assert_eq!(values.added, [2, 0, 0x61, 0, 0x62, 1, 0, 0x63]);
        values.begin_block(1, 108);
        assert_eq!(values.place("c"), Some((1, 105)));
        assert!(values.added.is_empty());
        values.begin_block(2, 0);
        assert_eq!(values.place("c"), Some((2, 0)));
        values.begin_block(2, 1 << 31);
        assert_eq!(values.place("d"), None);
        for n in 0..MOST_VALUES {
            values.begin_block(3, 0);
            values.place(&n.to_string());
        }
        assert_eq!(values.places.len(), MOST_VALUES);
        values.place("one more");
        assert_eq!(values.places.len(), 1);
    }
}
