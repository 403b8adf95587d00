//! Entries and exits, which make up nearly all of a trace: what they say, without the way through the table.

use super::message::Message;
use super::table::Layout;

/// A thread by the id that does not move, or by the one that may: those numbers are no relatives.
pub(super) type Key = (bool, u64);

/// Names a thread by the first of its ids that is none of 0.
#[inline]
pub(super) fn key(fixed: u64, transient: u64) -> Key {
    if fixed != 0 {
        (true, fixed)
    } else {
        (false, transient)
    }
}

/// Takes the id that does not move, or else the one that may.
#[inline]
pub(super) fn either(fixed: u64, transient: u64) -> u64 {
    if fixed != 0 { fixed } else { transient }
}

/// What an entry or an exit says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// It is an entry.
    pub entry: bool,
    pub(super) thread: Key,
    pub(super) time: u64,
    pub(super) ticket: u64,
    pub(super) method: u64,
    pub(super) class: u64,
    pub(super) object: u64,
    pub(super) cpu: u64,
}

impl Call {
    /// Takes it from a message.
    pub(super) fn of(message: &Message<'_>) -> Self {
        if message.layout == Layout::Wide {
            return Self {
                entry: message.schema.id == ENTRY,
                thread: key(
                    message.number("threadIdRef"),
                    message.number("transientThreadIdRef"),
                ),
                time: message.number("time"),
                ticket: message.number("ticket"),
                method: message.number("methodIdRef"),
                class: either(
                    message.number("classIdRef"),
                    message.number("transientClassIdRef"),
                ),
                object: either(
                    message.number("objIdRef"),
                    message.number("transientObjIdRef"),
                ),
                cpu: message.number("threadCpuTime"),
            };
        }
        let at = |place| message.number_at(place);
        let thread = key(at(1), at(0));
        if message.schema.id == ENTRY {
            Self {
                entry: true,
                thread,
                time: at(2),
                ticket: at(4),
                method: at(3),
                class: at(6),
                object: at(5),
                cpu: at(7),
            }
        } else {
            Self {
                entry: false,
                thread,
                time: at(2),
                ticket: at(3),
                method: at(5),
                class: either(at(9), at(8)),
                object: either(at(7), at(6)),
                cpu: at(4),
            }
        }
    }

    /// Reads it from the bytes behind the header of message `id`, when they are those of the table's layout with
    /// empty strings.
    #[inline(always)]
    pub(super) fn read(id: u16, payload: &[u8], big: bool) -> Option<Self> {
        let long = |bytes: &[u8; 8]| {
            let number = u64::from_le_bytes(*bytes);
            if big { number.swap_bytes() } else { number }
        };
        let int = |bytes: &[u8; 4]| {
            let number = u32::from_le_bytes(*bytes);
            u64::from(if big { number.swap_bytes() } else { number })
        };
        let (threads, rest) = payload.split_first_chunk::<16>()?;
        let (time, rest) = rest.split_first_chunk()?;
        let (transient, fixed) = threads.split_first_chunk()?;
        let fixed = fixed.first_chunk()?;
        let (thread, time) = (key(long(fixed), long(transient)), long(time));
        match id {
            ENTRY => {
                let rest: &[u8; 54] = rest.try_into().ok()?;
                let (method, rest) = rest.split_first_chunk()?;
                let (ticket, rest) = rest.split_first_chunk()?;
                let (longs, strings) = rest.as_chunks::<8>();
                let [object, class, cpu, _, _] = longs else {
                    return None;
                };
                (strings == [0; 2]).then(|| Self {
                    entry: true,
                    thread,
                    time,
                    ticket: int(ticket),
                    method: long(method),
                    class: long(class),
                    object: long(object),
                    cpu: long(cpu),
                })
            }
            EXIT => {
                let rest: &[u8; 55] = rest.try_into().ok()?;
                let (ticket, rest) = rest.split_first_chunk()?;
                let (longs, strings) = rest.as_chunks::<8>();
                let [cpu, method, moving_object, object, moving_class, class] = longs else {
                    return None;
                };
                (strings == [0; 3]).then(|| Self {
                    entry: false,
                    thread,
                    time,
                    ticket: int(ticket),
                    method: long(method),
                    class: either(long(class), long(moving_class)),
                    object: either(long(object), long(moving_object)),
                    cpu: long(cpu),
                })
            }
            _ => None,
        }
    }
}

const ENTRY: u16 = 1015;
const EXIT: u16 = 1016;

#[cfg(test)]
mod tests {
    #![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

    use proptest::prelude::*;

    use super::*;
    use crate::tptp::binary::{Shape, decode};
    use crate::tptp::message::{Slot, Texts};
    use crate::tptp::table::{MOST_FIELDS, by_id};

    proptest! {
        /// What is read without the table is what is read with it.
        #[test]
        fn calls_are_those_of_the_table(
            exit: bool,
            big: bool,
            mut payload in prop::collection::vec(prop_oneof![Just(0), any::<u8>()], 90),
            strings in 0..4_usize,
        ) {
            let (id, length) = if exit { (EXIT, 79) } else { (ENTRY, 78) };
            payload.truncate(length);
            payload[length - strings..].fill(0);
            let mut slots = [Slot::Number(0); MOST_FIELDS];
            let shape = Shape { big, ..Shape::default() };
            let decoded = decode(by_id(id).unwrap(), &payload, shape, &mut slots);
            let decoded = decoded.filter(|all| all.used == length && all.layout == Layout::Table);
            let read = Call::read(id, &payload, big);
            prop_assert!(read.is_some() || strings < 2 + usize::from(exit));
            if let Some(read) = read {
                let decoded = decoded.unwrap();
                let message = Message {
                    schema: by_id(id).unwrap(),
                    layout: decoded.layout,
                    values: &slots[..decoded.fields],
                    frames: decoded.frames,
                    texts: Texts::default(),
                };
                prop_assert_eq!(read, Call::of(&message));
            }
            prop_assert_eq!(Call::read(id, &payload[1..], big), None);
            payload.push(0);
            prop_assert_eq!(Call::read(id, &payload, big), None);
        }
    }
}
