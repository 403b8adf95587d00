//! Windows over a reader: what decoders are fed with.

use std::io::{self, Read};

use traceloom_formats::{Chunk, Error as FormatError, Pull};
use traceloom_model::bounds::subslice;

use super::StoredBytes;

/// Bytes read ahead of what is asked for: few at first, for small files, twice as many each time.
const FIRST_AHEAD: usize = 64 << 10;
const MOST_AHEAD: usize = 1 << 20;

/// A growing window over a reader. It never holds more than what was asked for plus a megabyte, and
/// grows with the bytes that arrive, not with what a hostile length asks for, unless a file is as long as that.
pub(crate) struct GrowingWindow<'r> {
    reader: Box<dyn Read + 'r>,
    stored: &'r StoredBytes,
    /// How long all of it is, where that is known.
    length: Option<u64>,
    buffer: Vec<u8>,
    start: usize,
    filled: usize,
    offset: u64,
    eof: bool,
    ahead: usize,
}

impl<'r> GrowingWindow<'r> {
    /// A window over a reader of `stored`, which is told when the reader breaks.
    pub(crate) fn new(reader: Box<dyn Read + 'r>, stored: &'r StoredBytes, offset: u64) -> Self {
        Self {
            reader,
            stored,
            length: stored.decoded_size(),
            buffer: stored.intake.spare().take(),
            start: 0,
            filled: 0,
            offset,
            eof: false,
            ahead: FIRST_AHEAD,
        }
    }

    /// Returns true if so many more bytes are known to follow.
    fn is_there(&self, more: usize) -> bool {
        let end = self.offset + (self.filled - self.start) as u64;
        self.length
            .is_some_and(|length| end.saturating_add(more as u64) <= length)
    }

    /// Takes a longer buffer; one that is asked for anew has zeros without a write.
    fn grow(&mut self, length: usize) {
        // Rounded up, so that it is long enough for the next piece as well: memory behind what is filled costs nothing.
        let mut longer = vec![0; length.next_power_of_two()];
        let held = subslice(&self.buffer, self.start..self.filled);
        if let Some(place) = longer.get_mut(..held.len()) {
            place.copy_from_slice(held);
        }
        self.filled = held.len();
        self.start = 0;
        self.buffer = longer;
    }

    fn fill(&mut self, need: usize) -> Result<(), FormatError> {
        while self.filled - self.start < need && !self.eof {
            let have = self.filled - self.start;
            let is_behind = self.start >= self.ahead.max(have);
            let is_full = self.buffer.len() - self.filled < self.ahead / 2;
            if self.start > 0 && (have == 0 || is_behind || is_full) {
                self.buffer.copy_within(self.start..self.filled, 0);
                self.start = 0;
                self.filled = have;
            }
            let missing = need - have;
            let wanted = missing.saturating_add(self.ahead);
            let free = self.buffer.len() - self.filled;
            let is_there = self.is_there(missing);
            // Doubled at most, so that what is asked for is believed only as it arrives.
            let more = match is_there {
                true => wanted,
                false => have.clamp(self.ahead, wanted),
            };
            let is_small = self.buffer.len() < self.ahead || is_there && free < missing;
            if free < more && (is_small || free < self.ahead / 2) {
                self.grow(have + more);
                self.ahead = MOST_AHEAD.min(self.ahead * 2);
            }
            let end = self.buffer.len().min(self.filled.saturating_add(more));
            let Some(space) = self.buffer.get_mut(self.filled..end) else {
                break;
            };
            match self.reader.read(space) {
                Ok(0) => self.eof = true,
                Ok(len) => self.filled += len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let end = self.offset + (self.filled - self.start) as u64;
                    self.stored.ended(end, error)?;
                    self.eof = true;
                }
            }
        }
        Ok(())
    }
}

impl Drop for GrowingWindow<'_> {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.stored.intake.spare().keep(buffer);
    }
}

impl Pull for GrowingWindow<'_> {
    fn pull(&mut self, consumed: usize, need: usize) -> Result<Chunk<'_>, FormatError> {
        let consumed = consumed.min(self.filled - self.start);
        self.start += consumed;
        self.offset += consumed as u64;
        self.fill(need.max(1))?;
        if !self.eof && self.filled - self.start < self.ahead / 4 {
            self.fill((self.ahead / 4).max(need))?;
        }
        let bytes = subslice(&self.buffer, self.start..self.filled);
        Ok(Chunk {
            bytes,
            offset: self.offset,
            eof: self.eof,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spool::Spool;
    use crate::store::Store;

    /// A reader that gives a byte at a time and then breaks like a cut gzip stream.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match (self.0.split_first(), buffer.first_mut()) {
                (Some((&byte, rest)), Some(slot)) => {
                    *slot = byte;
                    self.0 = rest;
                    Ok(1)
                }
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }

    /// A reader that gives six bytes and then fails as a broken disk does.
    struct BrokenDisk(bool);

    impl Read for BrokenDisk {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            const EIO: i32 = 5;
            match (self.0, buffer.first_chunk_mut()) {
                (false, Some(first)) => {
                    self.0 = true;
                    *first = *b"abcdef";
                    Ok(first.len())
                }
                _ => Err(io::Error::from_raw_os_error(EIO)),
            }
        }
    }

    #[test]
    fn what_the_system_cannot_read_is_damage_with_its_offset() {
        let store = Store::Spooled(Spool::Memory(Vec::new().into()));
        let stored = StoredBytes::new("t".to_owned(), store, 0);
        let mut window = GrowingWindow::new(Box::new(BrokenDisk(false)), &stored, 0);
        let chunk = window.pull(0, usize::MAX).unwrap();
        assert_eq!((chunk.bytes, chunk.eof), (&b"abcdef"[..], true));
        let notes = stored.notes();
        let told = notes
            .iter()
            .map(|note| (note.level, note.kind, note.offset));
        let damage = traceloom_model::Level::Damage;
        assert_eq!(told.collect::<Vec<_>>(), [(damage, "unreadable", 6)]);
    }

    #[test]
    fn windows_grow_to_a_megabyte_and_begin_small() {
        let store = Store::Spooled(Spool::Memory(Vec::new().into()));
        let stored = StoredBytes::new("t".to_owned(), store, 0);
        let bytes = vec![7; 8 << 20];
        let mut window = GrowingWindow::new(Box::new(&bytes[..]), &stored, 0);
        let (mut sizes, mut consumed) = (Vec::new(), 0);
        loop {
            let chunk = window.pull(consumed, 1).unwrap();
            consumed = chunk.bytes.len();
            sizes.push(consumed);
            if chunk.eof {
                break;
            }
        }
        assert_eq!(sizes.iter().sum::<usize>(), bytes.len());
        assert_eq!(sizes.first(), Some(&FIRST_AHEAD));
        assert_eq!(sizes.iter().max(), Some(&MOST_AHEAD));
        assert!(sizes.len() < 16, "{sizes:?}");
    }

    #[test]
    fn a_length_is_believed_where_the_file_has_it() {
        let store = || Store::Spooled(Spool::Memory(Vec::new().into()));
        let bytes = vec![7; 4 << 20];
        for (length, need, held) in [
            // Once, for what is asked for; doubled where that is not known to be there.
            (4 << 20, 3 << 20, 4 << 20),
            (0, 3 << 20, 6 << 20),
            (4 << 20, usize::MAX, 8 << 20),
        ] {
            let stored = StoredBytes::new("t".to_owned(), store(), length);
            let mut window = GrowingWindow::new(Box::new(&bytes[..]), &stored, 0);
            let got = window.pull(0, need).unwrap().bytes.len();
            assert!(got >= need.min(bytes.len()), "{got} of {need}");
            assert!(
                window.buffer.len() <= held,
                "{} of {need}",
                window.buffer.len()
            );
        }
    }

    #[test]
    fn a_window_takes_the_buffer_of_the_one_before() {
        let store = Store::Spooled(Spool::Memory(Vec::new().into()));
        let stored = StoredBytes::new("t".to_owned(), store, 4 << 20);
        let bytes = vec![7; 4 << 20];
        let mut first = GrowingWindow::new(Box::new(&bytes[..]), &stored, 0);
        first.pull(0, 3 << 20).unwrap();
        let length = first.buffer.len();
        drop(first);
        let mut second = GrowingWindow::new(Box::new(&bytes[..]), &stored, 0);
        assert_eq!(second.buffer.len(), length);
        // However long it is, no more is read than is asked for and the usual step ahead.
        let read = second.pull(0, 1).unwrap().bytes.len();
        assert!((1..=1 + FIRST_AHEAD).contains(&read), "{read}");
    }

    #[test]
    fn everything_before_a_cut_arrives() {
        let store = Store::Spooled(Spool::Memory(Vec::new().into()));
        let stored = StoredBytes::new("t".to_owned(), store, 0);
        let mut window = GrowingWindow::new(Box::new(Trickle(b"abcdef")), &stored, 0);
        assert_eq!(window.pull(0, 2).unwrap().bytes.first(), Some(&b'a'));
        let chunk = window.pull(4, usize::MAX).unwrap();
        assert_eq!(
            (chunk.bytes, chunk.offset, chunk.eof),
            (&b"ef"[..], 4, true)
        );
        let notes = stored.notes();
        let told = notes.iter().map(|note| (note.kind, note.offset));
        assert_eq!(told.collect::<Vec<_>>(), [("compressed_without_end", 6)]);
    }
}
