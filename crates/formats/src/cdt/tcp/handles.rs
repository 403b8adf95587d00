//! Handles of open streams: 128 random bits, by which commands are found again after damage.

use std::collections::HashSet;

use traceloom_model::bounds::subslice;

use super::{Command, Handle, LONGEST_FIELD, VERSIONS};
use crate::Error;
use crate::wire::Cursor;
use crate::wire::units::Sync;

/// Stream names an agent may open.
pub(in crate::cdt) const STREAMS: [&[u8]; 10] = [
    b"trace",
    b"calls",
    b"xml",
    b"sql",
    b"posDictionary",
    b"callsDictionary",
    b"dictionary",
    b"suspend",
    b"gc",
    b"params",
];

/// Open streams of a conversation; a hostile one cannot open more.
const OPEN: usize = 65_536;
/// Streams that a damaged handle is compared with: the ones opened last.
const COMPARED: usize = 64;

/// Bytes of a data command before its data: code, handle and length.
pub(super) const DATA_HEAD: usize = 21;

/// The handles of the streams that were opened.
#[derive(Clone, Default)]
pub(super) struct Handles {
    open: HashSet<Handle>,
    last: Vec<Handle>,
}

impl Handles {
    pub(super) fn open(&mut self, handle: Handle) {
        if self.open.len() < OPEN && self.open.insert(handle) {
            if self.last.len() == COMPARED {
                self.last.remove(0);
            }
            self.last.push(handle);
        }
    }

    pub(super) fn contains(&self, handle: &Handle) -> bool {
        self.open.contains(handle)
    }

    /// Returns the open handle that 15 to 17 bytes differ from by one byte changed, missing or added, or
    /// by a shift of one byte.
    pub(super) fn like(&self, bytes: &[u8]) -> Option<Handle> {
        let near = |handle: &&Handle| is_one_edit(bytes, &handle[..]) || is_shifted(bytes, handle);
        self.last.iter().rev().find(near).copied()
    }

    /// Reads the next command.
    ///
    /// Data that holds the beginning of another data command of an open stream is cut short or has a wrong
    /// length: no data has the 128 random bits of a handle in it. The check looks at the bytes behind the
    /// data too, because the command that follows may begin inside it.
    ///
    /// # Errors
    /// As [`Command::read`]; `Invalid` for data with a command inside.
    pub(super) fn command<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        eof: bool,
    ) -> Result<Command<'a>, Error> {
        let start = cursor.position();
        let offset = cursor.offset();
        let command = Command::read(cursor, &|handle| self.contains(handle))?;
        let Command::RcvData { data, .. } = &command else {
            return Ok(command);
        };
        let end = cursor.position();
        let behind = cursor.rest().len();
        if behind < DATA_HEAD && !eof {
            let need = DATA_HEAD - behind;
            return Err(Error::truncated(cursor.offset(), "next command", need));
        }
        let window = cursor.slice(start + DATA_HEAD, end + behind.min(DATA_HEAD));
        let begins = |&at: &usize| {
            let at = subslice(window, at..);
            at.first() == Some(&0x02) && self.is_data(at)
        };
        if let Some(length) = (0..data.len()).find(begins) {
            let message = format!(
                "data of {} bytes, but the next command begins after {length}",
                data.len()
            );
            return Err(Error::invalid(offset, message));
        }
        Ok(command)
    }

    /// Returns `true` if a data command of an open stream begins here.
    fn is_data(&self, bytes: &[u8]) -> bool {
        let Some((head, _)) = bytes.split_first_chunk::<DATA_HEAD>() else {
            return false;
        };
        let Some((&[0x02], rest)) = head.split_first_chunk::<1>() else {
            return false;
        };
        let Some((handle, length)) = rest.split_first_chunk::<16>() else {
            return false;
        };
        let length = <[u8; 4]>::try_from(length).map_or(u32::MAX, u32::from_be_bytes);
        length as usize <= LONGEST_FIELD && self.contains(handle)
    }

    /// Returns whether a command that can be told apart from data begins at `bytes`.
    pub(super) fn sync(&self, bytes: &[u8], eof: bool) -> Sync {
        let miss_or_need = |needed: usize| {
            if bytes.len() >= needed || eof {
                Sync::Miss
            } else {
                Sync::Need(needed)
            }
        };
        match bytes {
            [0x02, ..] if self.is_data(bytes) => Sync::Hit,
            [0x02, ..] => miss_or_need(DATA_HEAD),
            [0x15, 0, 0, 0, length, rest @ ..] => match rest.get(..usize::from(*length)) {
                Some(name) if STREAMS.contains(&name) => Sync::Hit,
                Some(_) => Sync::Miss,
                None if *length > 32 => Sync::Miss,
                None => miss_or_need(5 + usize::from(*length)),
            },
            [0x15, rest @ ..] if rest.len() < 4 => miss_or_need(5),
            [0x14, rest @ ..] => match rest.first_chunk::<8>() {
                Some(version) if VERSIONS.contains(&i64::from_be_bytes(*version)) => Sync::Hit,
                Some(_) => Sync::Miss,
                None => miss_or_need(9),
            },
            [] => miss_or_need(1),
            _ => Sync::Miss,
        }
    }
}

/// Counts the places where a stream of a known name is opened.
pub(in crate::cdt) fn openings(head: &[u8]) -> usize {
    let none = Handles::default();
    let places = (0..head.len()).filter_map(|at| head.get(at..));
    let is_opening =
        |bytes: &&[u8]| bytes.first() == Some(&0x15) && none.sync(bytes, true) == Sync::Hit;
    places.filter(is_opening).count()
}

/// Returns `true` if `a` becomes `b` by changing, adding or removing at most one byte.
pub(super) fn is_one_edit(a: &[u8], b: &[u8]) -> bool {
    let longer = a.len().max(b.len());
    let pairs = a.iter().zip(b);
    let same_front = pairs.take_while(|(a, b)| a == b).count();
    let pairs = a.iter().rev().zip(b.iter().rev());
    let same_back = pairs.take_while(|(a, b)| a == b).count();
    a.len().abs_diff(b.len()) <= 1 && same_front + same_back + 1 >= longer
}

/// Returns `true` if a handle was read one byte too early or too late.
fn is_shifted(bytes: &[u8], handle: &Handle) -> bool {
    let [_, late @ ..] = handle;
    let [early @ .., _] = handle;
    bytes.len() == handle.len() && (bytes.starts_with(late) || bytes.ends_with(early))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_handle_is_like_the_one_it_was() {
        let mut handles = Handles::default();
        let handle: Handle = *b"0123456789abcdef";
        handles.open(*b"ABCDEFGHIJKLMNOP");
        handles.open(handle);
        let like = |bytes: &[u8]| handles.like(bytes);
        for damaged in [
            &b"0123X56789abcdef"[..],
            b"012356789abcdef",
            b"0123X456789abcdef",
            b"X0123456789abcde",
            b"123456789abcdefX",
        ] {
            assert_eq!(like(damaged), Some(handle), "{}", damaged.escape_ascii());
        }
        assert_eq!(like(b"01X3X56789abcdef"), None);
        assert_eq!(like(b"0123456789abcd"), None);
    }
}
