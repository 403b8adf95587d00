//! What a damaged stretch of a conversation was: the data of a stream, or the opening of one.
//!
//! Records of streams refer to each other by offset. Data lost from the middle of a stream would move all
//! that follows, so the bytes of a damaged command are given to its stream in the length it had.

use traceloom_model::bounds::subslice;

use super::Handle;
use super::LONGEST_FIELD;
use super::handles::{DATA_HEAD, Handles, STREAMS, is_one_edit};

/// Bytes of a damaged stretch that are looked at: twice the longest command, with what follows it.
pub(super) const STRETCH: usize = 4 * LONGEST_FIELD;

/// Bytes that a deletion inside data makes its command reach into the next one.
const SHORT: usize = 2;

/// A data command as read, whose length may be wrong.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// Where its data begins.
    pub(super) data: u64,
    /// Bytes it says it has.
    pub(super) length: u32,
    /// The length field and the byte behind it.
    pub(super) field: [u8; 5],
}

/// Data found in a damaged stretch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FoundData {
    pub(super) handle: Handle,
    /// Bytes from the beginning of the stretch to the data.
    pub(super) at: usize,
    pub(super) length: u32,
}

/// Finds the data command that a stretch of damage was.
///
/// `stretch` goes from where a command should begin to the next one that is sure.
pub(super) fn data(stretch: &[u8], handles: &Handles) -> Option<FoundData> {
    // The code may be missing, changed or doubled, the handle one byte shorter, changed or longer.
    let shapes = [(1, 16), (0, 16), (2, 16), (1, 15), (1, 17)];
    shapes.into_iter().find_map(|(before, width)| {
        let code = stretch.get(..before)?;
        let bytes = stretch.get(before..before + width)?;
        let handle = handles.like(bytes)?;
        let exact = code == [0x02] && bytes == &handle[..];
        let at = before + width;
        let field: [u8; 5] = *stretch.get(at..)?.first_chunk()?;
        let (at, length) = length(stretch, at, field, exact)?;
        Some(FoundData { handle, at, length })
    })
}

/// Finds where data begins behind a length field at `at` of `stretch`, and its length.
///
/// `exact` says that code and handle are whole: then the damage is in the length or in the data.
fn length(stretch: &[u8], at: usize, field: [u8; 5], exact: bool) -> Option<(usize, u32)> {
    let [a, b, c, d, _] = field;
    let claimed = u32::from_be_bytes([a, b, c, d]);
    let data = at + 4;
    let reaches = data.saturating_add(claimed as usize);
    if claimed as usize <= LONGEST_FIELD && reaches <= stretch.len() + SHORT {
        return Some((data, claimed));
    }
    let sent = Sent {
        data: data as u64,
        length: claimed,
        field,
    };
    let repaired = exact.then(|| repaired(sent, stretch, 0)).flatten();
    repaired.and_then(|(data, length)| Some((usize::try_from(data).ok()?, length)))
}

/// Finds beginning and length of data whose length field is damaged, from what comes behind it: `rest` begins at
/// `start` and goes to the next command that is sure.
///
/// `None` when one changed, missing or added byte does not explain it.
pub(super) fn repaired(sent: Sent, rest: &[u8], start: u64) -> Option<(u64, u32)> {
    let end = start + rest.len() as u64;
    let totals = || ends(rest).filter_map(|behind| (end - behind as u64).checked_sub(sent.data));
    // A byte more or less is a byte added to the data or removed from it: its length was right.
    if totals().any(|total| total.abs_diff(sent.length.into()) <= SHORT as u64) {
        return None;
    }
    totals().find_map(|total| {
        let total = u32::try_from(total).ok()?;
        let [field @ .., _] = sent.field;
        let [short @ .., _] = field;
        let fits = |length: u32, field: &[u8]| {
            length as usize <= LONGEST_FIELD && is_one_edit(field, &length.to_be_bytes())
        };
        if fits(total, &field) {
            Some((sent.data, total))
        } else if total > 0 && fits(total - 1, &sent.field) {
            Some((sent.data + 1, total - 1))
        } else if fits(total + 1, &short) {
            Some((sent.data - 1, total + 1))
        } else {
            None
        }
    })
}

/// Returns how many bytes at the end of a stretch may be acknowledgements and flushes, the likeliest first.
fn ends(stretch: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let small = |byte: &&u8| matches!(byte, 0x00 | 0x11);
    let run = stretch.iter().rev().take_while(small).count();
    let flush = stretch.len() - run;
    let flush = subslice(stretch, flush..);
    let flush = flush.iter().position(|&byte| byte == 0x11);
    let flush = flush.map(|at| run - at);
    flush.into_iter().chain(0..=run.min(64))
}

/// Finds the stream that a damaged stretch opened.
pub(super) fn opened(stretch: &[u8]) -> Option<&'static str> {
    // Code and length stand before the name, one of them possibly missing or doubled.
    let places = (0..=7).filter_map(|at| stretch.get(at..));
    let named = |name: &'static [u8], bytes: &[u8]| {
        let len = name.len();
        let widths = [len, len.saturating_sub(1), len + 1];
        bytes.starts_with(name)
            || (len > 3
                && widths.iter().any(|&width| {
                    bytes
                        .get(..width)
                        .is_some_and(|bytes| is_one_edit(bytes, name))
                }))
    };
    let name = STREAMS
        .into_iter()
        .find(|name| places.clone().any(|bytes| named(name, bytes)));
    name.and_then(|name| std::str::from_utf8(name).ok())
}

/// Returns the stream whose name differs from `name` by one byte.
pub(super) fn named(name: &[u8]) -> Option<&'static [u8]> {
    let near = |known: &&'static [u8]| known.len() > 2 && is_one_edit(name, known);
    STREAMS.into_iter().find(near)
}

/// The bytes of a data command that a reader of members needs to remember.
pub(super) fn sent(command: &[u8], offset: u64) -> Option<Sent> {
    let field: [u8; 5] = *command.get(DATA_HEAD - 4..)?.first_chunk()?;
    let [a, b, c, d, _] = field;
    Some(Sent {
        data: offset + DATA_HEAD as u64,
        length: u32::from_be_bytes([a, b, c, d]),
        field,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDLE: Handle = *b"0123456789abcdef";

    fn command() -> Vec<u8> {
        let mut bytes = vec![0x02];
        bytes.extend(HANDLE);
        bytes.extend([0, 0, 1, 0x2c]);
        bytes.extend((0..300_u32).map(|at| u8::try_from(at % 250 + 2).unwrap()));
        bytes.extend([0x11, 0, 0]);
        bytes
    }

    fn found(stretch: &[u8]) -> Option<(usize, u32)> {
        let mut handles = Handles::default();
        handles.open(HANDLE);
        let found = data(stretch, &handles)?;
        assert_eq!(found.handle, HANDLE);
        Some((found.at, found.length))
    }

    #[test]
    fn one_byte_in_the_head_leaves_the_data_where_it_is() {
        assert_eq!(found(&command()), Some((21, 300)));
        for at in 0..20 {
            let mut deleted = command();
            deleted.remove(at);
            assert_eq!(found(&deleted), Some((20, 300)), "deleted at {at}");
            let mut added = command();
            added.insert(at, 0x7f);
            assert_eq!(found(&added), Some((22, 300)), "added at {at}");
            let mut changed = command();
            *changed.get_mut(at).unwrap() ^= 0x40;
            assert_eq!(found(&changed), Some((21, 300)), "changed at {at}");
        }
    }
}
