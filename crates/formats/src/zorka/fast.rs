//! The shapes that make up nearly all of any stream, read without a decoder's detours.
//!
//! What is read here is what [`super::read::item`] would have read: the laws compare the two, because a
//! window that ends early leaves every item to the other. Each arm hands on an item whose kind it
//! knows, so that a visitor's look at it folds away.
//! Without it `traceloom check` of a 300 MB stream takes 1.3 times the processor time of the whole process.

use traceloom_model::Flow;
use traceloom_model::bounds::subslice;

use super::read::unpack;
use super::record::{
    AttributeForm, Attributes, End, EndForm, Item, Order, Record, Start, StartForm,
};
use super::stream::{Reader, Visit};
use crate::Chunk;

/// Bytes of the longest shape of a known length, which the window must hold.
const WINDOW: usize = 24;

impl Reader {
    /// Reads items of common shapes from `at` on; returns where the first is that is of none.
    #[inline]
    pub(super) fn run(
        &mut self,
        chunk: &Chunk<'_>,
        mut at: usize,
        out: &mut impl Visit,
    ) -> (usize, Flow) {
        let most = self.most();
        if most < WINDOW || self.is_deeper() {
            return (at, Flow::Continue(()));
        }
        let bytes = chunk.bytes;
        while let Some(rest) = bytes.get(at..)
            && let Some(window) = rest.first_chunk::<WINDOW>()
        {
            let &[a, b, c, ..] = window;
            let (len, flow) = match a {
                0xc8 | 0xd8 => {
                    let start = tagged_start(window).filter(|start| self.opened(start));
                    let Some(start) = start else { break };
                    (12, self.emit(chunk, at, 12, &Item::Start(start), out))
                }
                0xcc | 0xcd if b == 0x48 && bytes_at(window, 10) == [0xff] => {
                    if !self.closed() {
                        break;
                    }
                    let order = if a == 0xcc { Order::Big } else { Order::Little };
                    let end = word(bytes_at(window, 2), EndForm::Tagged, order);
                    (11, self.emit(chunk, at, 11, &Item::End(end), out))
                }
                0x48 if bytes_at(window, 9) == [0xff] => {
                    let Some(order) = self.order().filter(|_| self.closed()) else {
                        break;
                    };
                    let end = word(bytes_at(window, 1), EndForm::Untagged, order);
                    (10, self.emit(chunk, at, 10, &Item::End(end), out))
                }
                0xc3 if b == 0x9f => {
                    let start = nanos_start(window).filter(|(start, _)| self.opened(start));
                    let Some((start, len)) = start else { break };
                    match rest.get(len..).and_then(leaf_end) {
                        Some((end, end_len)) if out.leaf(&start, &end) => {
                            self.closed();
                            (len + end_len, Flow::Continue(()))
                        }
                        _ => (len, self.emit(chunk, at, len, &Item::Start(start), out)),
                    }
                }
                0xc4 if matches!(b, 0x82 | 0x83) => {
                    let end = nanos_end(window, b).filter(|_| self.closed());
                    let Some((end, len)) = end else { break };
                    (len, self.emit(chunk, at, len, &Item::End(end), out))
                }
                0xc6 | 0xc9 => {
                    let attributes = attributes(rest, [a, b, c]);
                    let attributes = attributes.filter(|(_, len)| *len <= most);
                    let Some((attributes, len)) = attributes else {
                        break;
                    };
                    let item = Item::Attributes(attributes);
                    (len, self.emit(chunk, at, len, &item, out))
                }
                _ => break,
            };
            if flow.is_break() {
                return (at, flow);
            }
            at += len;
        }
        (at, Flow::Continue(()))
    }

    #[inline(always)]
    fn emit(
        &self,
        chunk: &Chunk<'_>,
        at: usize,
        len: usize,
        item: &Item<'_>,
        out: &mut impl Visit,
    ) -> Flow {
        out.record(&Record {
            offset: chunk.offset + at as u64,
            bytes: subslice(chunk.bytes, at..at + len),
            canonical: true,
            item,
            base: self.base(),
        })
    }
}

/// Loads bytes at once: those of a window, taken apart by a pattern, are loaded one by one.
#[inline(always)]
fn bytes_at<const N: usize>(window: &[u8; WINDOW], at: usize) -> [u8; N] {
    let found = window.get(at..).and_then(|rest| rest.first_chunk());
    found.copied().unwrap_or([0; N])
}

/// Reads a begin of 12 bytes whose tag tells its order.
#[inline(always)]
fn tagged_start(window: &[u8; WINDOW]) -> Option<Start> {
    let (form, order) = match u32::from_be_bytes(bytes_at(window, 0)) {
        0xc89f_cb48 => (StartForm::Tagged, Order::Little),
        0xc89f_ca48 => (StartForm::Tagged, Order::Big),
        0xd80b_9f48 => (StartForm::Seed { tag: 11 }, Order::Little),
        0xd80a_9f48 => (StartForm::Seed { tag: 10 }, Order::Big),
        _ => return None,
    };
    let (time, method) = unpack(bytes_at(window, 4), order);
    Some(Start {
        form,
        order,
        time,
        method: method.cast_signed(),
    })
}

/// Reads a begin of C; returns it with its length.
#[inline(always)]
fn nanos_start(window: &[u8; WINDOW]) -> Option<(Start, usize)> {
    let (time, method, len) = nanos(window)?;
    let start = Start {
        form: StartForm::Nanos,
        order: Order::Little,
        time,
        method,
    };
    Some((start, len))
}

/// Reads an end of C, whose second byte says whether it has flags; returns it with its length.
#[inline(always)]
fn nanos_end(window: &[u8; WINDOW], second: u8) -> Option<(End, usize)> {
    let (time, calls, len) = nanos(window)?;
    let [first, high, low, last] = bytes_at(window, len);
    let (flags, len) = match (second, first) {
        (0x82, 0xff) => (None, len + 1),
        (0x83, 0x19) if high > 0 && last == 0xff => {
            (Some(i64::from(u16::from_be_bytes([high, low]))), len + 4)
        }
        _ => return None,
    };
    let end = End {
        form: EndForm::Nanos,
        order: Order::Little,
        long: false,
        closed: true,
        time,
        calls: calls.cast_unsigned(),
        flags,
    };
    Some((end, len))
}

/// Reads the end of a record that nothing else is in, as most records are; returns it with its length.
#[inline(always)]
fn leaf_end(rest: &[u8]) -> Option<(End, usize)> {
    let window: &[u8; WINDOW] = rest.first_chunk()?;
    match window {
        [0xc4, 0x82, ..] => nanos_end(window, 0x82),
        _ => None,
    }
}

/// Reads attributes; returns them with their length.
#[inline(always)]
fn attributes(rest: &[u8], first: [u8; 3]) -> Option<(Attributes<'_>, usize)> {
    let (form, upward, count, head) = match first {
        [0xc9, count @ 0xa1..=0xb7, _] => {
            let count = u64::from(count & 0x1f);
            (AttributeForm::Map { tag: 9 }, None, count, 2)
        }
        [0xc6, 0x82, _] => (AttributeForm::Nanos, None, 1, 2),
        [0xc6, 0x83, up @ 0..24] => (AttributeForm::Nanos, Some(i64::from(up)), 1, 3),
        _ => return None,
    };
    // Of one pair, as C's are, there is nothing to count.
    let body = match count {
        1 => pairs(rest, head, 1),
        count => pairs(rest, head, count),
    }?;
    Some((Attributes::of(form, upward, count, body), head + body.len()))
}

#[inline(always)]
fn word(word: [u8; 8], form: EndForm, order: Order) -> End {
    let (time, calls) = unpack(word, order);
    End {
        form,
        order,
        long: false,
        closed: true,
        time,
        calls,
        flags: None,
    }
}

/// What a first byte says of a scalar.
#[derive(Clone, Copy)]
struct ScalarShape {
    /// Bytes of the whole, 0 when more than the first byte decides.
    len: u8,
    /// Of the four bytes behind the first, those that tell whether a shorter form would have done,
    mask: u32,
    /// and the least they are when none would.
    least: u32,
}

/// Numbers come in all lengths and texts too, one as likely as another: what a branch could only guess, a
/// table answers.
const SHAPES: [ScalarShape; 256] = shapes();

#[expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "256 rows, one for each byte, made before the program runs"
)]
const fn shapes() -> [ScalarShape; 256] {
    const fn of(len: u8, mask: u32, least: u32) -> ScalarShape {
        ScalarShape { len, mask, least }
    }
    let mut shapes = [of(0, 0, 0); 256];
    let mut byte = 0;
    while byte < 256 {
        shapes[byte] = match byte {
            0x00..=0x17 | 0x20..=0x37 | 0xf4..=0xf7 => of(1, 0, 0),
            0x60..=0x77 => of(1 + (byte & 0x1f) as u8, 0, 0),
            0x18 | 0x38 => of(2, 0xff00_0000, 24 << 24),
            0x19 | 0x39 => of(3, 0xff00_0000, 1 << 24),
            0x1a | 0x3a => of(5, 0xffff_0000, 1 << 16),
            0x1b | 0x3b => of(9, 0xffff_ffff, 1),
            0xfb => of(9, 0, 0),
            _ => of(0, 0, 0),
        };
        byte += 1;
    }
    shapes
}

#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "256 rows, one for each byte")]
fn shape(first: u8) -> ScalarShape {
    SHAPES[usize::from(first)]
}

/// Reads a time of eight bytes and a number below 65,536, in C's begins and ends, behind two bytes.
#[inline(always)]
fn nanos(window: &[u8; WINDOW]) -> Option<(i64, i64, usize)> {
    let time = u64::from_be_bytes(bytes_at(window, 3));
    let [first] = bytes_at(window, 2);
    let number: [u8; 4] = bytes_at(window, 11);
    let [n0, ..] = number;
    let ScalarShape { len, mask, least } = shape(n0);
    let behind = u32::from_be_bytes(bytes_at(window, 12));
    if first != 0x1b || !(1 << 32..1 << 63).contains(&time) || n0 > 0x19 || behind & mask < least {
        return None;
    }
    let number = u32::from_be_bytes(number) >> (32 - 8 * u32::from(len));
    let number = number & (0xffff >> (8 * u32::from(len < 3)));
    Some((time.cast_signed(), i64::from(number), 11 + usize::from(len)))
}

/// Takes `count` keys and values behind `head` bytes, where all are short and in their shortest form.
#[inline(always)]
fn pairs(rest: &[u8], head: usize, count: u64) -> Option<&[u8]> {
    let mut end = head;
    for _ in 0..count {
        end += scalar(rest, end)?;
        end += scalar(rest, end)?;
    }
    rest.get(head..end)
}

/// Measures a number, text or reference in its shortest form; nothing else, and nothing at the end.
///
/// A value that an S0 writer left out is none of these: what follows is an item.
#[inline(always)]
fn scalar(rest: &[u8], at: usize) -> Option<usize> {
    let &[first, a, b, c, d] = rest.get(at..)?.first_chunk::<5>()?;
    let ScalarShape { len, mask, least } = shape(first);
    if len > 0 && u32::from_be_bytes([a, b, c, d]) & mask >= least {
        return Some(usize::from(len));
    }
    Some(match first {
        0x78 if a >= 24 => 2 + usize::from(a),
        0xc6 if a < 24 => 2,
        0xc6 if a == 0x18 && b >= 24 => 3,
        _ => return None,
    })
}
