//! Does the size field count its header? And: do these bytes look like a message at all?

use super::decode::{Slots, decode};
use super::{HEADER, Shape};
use crate::tptp::message::Slot;
use crate::tptp::table::{MOST_FIELDS, by_id};

/// Bytes looked at when a message has to prove itself: enough for two of the usual ones.
pub(super) const LOOK: usize = 8 << 10;

/// Bytes looked at when the meaning of sizes is decided.
const DECIDE: usize = 1 << 20;

/// What is known of the meaning of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decision {
    /// Sizes leave the header out, or not.
    Exclusive(bool),
    /// So many bytes are needed to tell.
    Need(usize),
    /// Nothing here tells.
    Open,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Vote {
    No,
    Maybe,
    Yes,
}

/// Decides from the first message whose fields are known, stepping over the others both ways
/// (SPEC.md §1.2).
pub(super) fn decide(bytes: &[u8], shape: Shape, eof: bool) -> Decision {
    let complete = eof || bytes.len() >= DECIDE;
    let bytes = bytes.get(..DECIDE).unwrap_or(bytes);
    let vote = |exclusive| walk(bytes, Shape { exclusive, ..shape }, complete);
    match (vote(false), vote(true)) {
        (Err(need), _) | (_, Err(need)) => Decision::Need(need.clamp(bytes.len() + 1, DECIDE)),
        (Ok(inclusive), Ok(exclusive)) if exclusive > inclusive => Decision::Exclusive(true),
        (Ok(Vote::Yes), _) => Decision::Exclusive(false),
        _ => Decision::Open,
    }
}

/// How well one meaning of sizes explains the bytes; an error is how many it takes to tell.
fn walk(bytes: &[u8], shape: Shape, complete: bool) -> Result<Vote, usize> {
    let mut at = 0;
    let out_of_bytes = |vote: Vote, need: usize| if complete { Ok(vote) } else { Err(need) };
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(&head) = rest.first_chunk::<HEADER>() else {
            let vote = if rest.is_empty() {
                Vote::Maybe
            } else {
                Vote::No
            };
            return out_of_bytes(vote, at + HEADER);
        };
        let (id, size) = header(head, shape);
        let total = shape.total(size);
        if !(HEADER..=super::MOST).contains(&total) {
            return Ok(Vote::No);
        }
        let Some(payload) = rest.get(HEADER..total) else {
            return out_of_bytes(Vote::No, at.saturating_add(total));
        };
        match fits(id, payload, shape) {
            Some(true) => return Ok(Vote::Yes),
            Some(false) => return Ok(Vote::No),
            None => at += total,
        }
    }
}

fn header(head: [u8; HEADER], shape: Shape) -> (u16, u32) {
    let [a, b, size @ ..] = head;
    (shape.u16([a, b]), shape.u32(size))
}

/// Returns true if a payload has exactly the fields of its id; none for ids that are not in the table.
fn fits(id: u16, payload: &[u8], shape: Shape) -> Option<bool> {
    match id {
        1 => Some(payload.split_last().is_some_and(|(last, name)| {
            *last == 0 && !name.is_empty() && name.iter().all(u8::is_ascii_graphic)
        })),
        2 => Some(payload.len() == 8),
        _ => {
            let schema = by_id(id)?;
            let mut slots: Slots<'_> = [Slot::Number(0); MOST_FIELDS];
            match decode(schema, payload, shape, &mut slots) {
                Some(decoded) if decoded.used == payload.len() => Some(true),
                // A later version may have added fields: that is no proof either way.
                Some(_) if shape.newer => None,
                _ => Some(false),
            }
        }
    }
}

/// Returns the length of the message at the start of `bytes` if it is one beyond doubt.
pub(super) fn certain(bytes: &[u8], shape: Shape) -> Option<usize> {
    let (id, size) = header(*bytes.first_chunk()?, shape);
    if id != 1 && id != 2 && by_id(id).is_none() {
        return None;
    }
    let total = shape.total(size);
    let payload = bytes.get(..LOOK).unwrap_or(bytes).get(HEADER..total)?;
    (fits(id, payload, shape) == Some(true)).then_some(total)
}

/// Returns true if the data goes on properly at the start of `bytes`: with a message, or not at all.
pub(super) fn goes_on(bytes: &[u8], shape: Shape, eof: bool) -> bool {
    (eof && bytes.is_empty()) || certain(bytes, shape).is_some()
}
