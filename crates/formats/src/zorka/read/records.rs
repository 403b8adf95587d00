//! How records begin and end, in packed words and in plain integers (SPEC.md §1, §2).

use super::super::cbor::{Cbor, CborFault};
use super::super::record::{End, EndForm, Item, Order, Start, StartForm};
use super::{Context, unknown};

/// Mask of the tick in a packed word.
pub(crate) const TICK: u64 = 0xff_ffff_ffff;

#[inline(always)]
pub(in super::super) fn unpack(word: [u8; 8], order: Order) -> (i64, u64) {
    let value = match order {
        Order::Little => u64::from_le_bytes(word),
        Order::Big => u64::from_be_bytes(word),
    };
    ((value & TICK).cast_signed(), value >> 40)
}

pub(super) fn start<'a>(cbor: &mut Cbor<'a>, tag: u64, first: u8) -> Result<Item<'a>, CborFault> {
    match tag {
        8 => {
            let prolog = match (cbor.peek_at(1), cbor.peek_at(2)) {
                (Ok(0xca), Ok(0x48)) => Some(Order::Big),
                (Ok(0xcb), Ok(0x48)) => Some(Order::Little),
                (Ok(0xca | 0xcb), Err(short)) | (Err(short), _) => return Err(short),
                _ => None,
            };
            let Some(order) = prolog else {
                cbor.step();
                return Ok(Item::Start(Start {
                    form: StartForm::Bare,
                    order: Order::Little,
                    time: 0,
                    method: 0,
                }));
            };
            let [_, _, _, word @ ..] = cbor.array::<11>()?;
            let (time, method) = unpack(word, order);
            Ok(Item::Start(Start {
                form: StartForm::Tagged,
                order,
                time,
                method: method.cast_signed(),
            }))
        }
        3 => {
            cbor.step();
            let (time, method) = (cbor.int()?, cbor.int()?);
            Ok(Item::Start(Start {
                form: StartForm::Nanos,
                order: Order::Little,
                time,
                method,
            }))
        }
        6 | 7 | 10 | 11 => seed_start(cbor, tag, first),
        9 | 12 => Err(CborFault::Bad("attributes that are no map")),
        _ => unknown(cbor),
    }
}

fn seed_start<'a>(cbor: &mut Cbor<'a>, tag: u64, first: u8) -> Result<Item<'a>, CborFault> {
    let [_, length] = cbor.array()?;
    if length != 0x48 {
        return Err(CborFault::Bad("a record without its first word"));
    }
    let (tag, order) = match tag {
        10 => (10, Order::Big),
        11 => (11, Order::Little),
        6 => (6, Order::Big),
        _ => (7, Order::Little),
    };
    let (time, method) = unpack(cbor.array()?, order);
    if matches!(tag, 10 | 11) {
        // S0 writes its tag in two bytes, so that the header fills four.
        cbor.set_canonical(first == 0xd8);
    }
    Ok(Item::Start(Start {
        form: StartForm::Seed { tag },
        order,
        time,
        method: method.cast_signed(),
    }))
}

/// Takes the `ff` after an epilog, which closes the record's array.
fn closing(cbor: &mut Cbor<'_>, context: &Context) -> Result<bool, CborFault> {
    match cbor.next_is(0xff) {
        Some(true) => {
            cbor.step();
            Ok(true)
        }
        Some(false) => Ok(false),
        None if context.eof => Ok(false),
        None => Err(CborFault::Short(cbor.position() + 1)),
    }
}

pub(super) fn end_word<'a>(
    cbor: &mut Cbor<'a>,
    form: EndForm,
    order: Option<Order>,
    context: &Context,
) -> Result<Item<'a>, CborFault> {
    let [length] = cbor.array()?;
    let word: [u8; 8] = cbor.array()?;
    let order = order.or(context.order).unwrap_or_else(|| guess(word));
    let (time, short) = unpack(word, order);
    let long = length == 0x50;
    let calls = if long {
        if short != 0 {
            cbor.not_canonical();
        }
        match order {
            Order::Little => u64::from_le_bytes(cbor.array()?),
            Order::Big => u64::from_be_bytes(cbor.array()?),
        }
    } else {
        short
    };
    let closed = closing(cbor, context)?;
    Ok(Item::End(End {
        form,
        order,
        long,
        closed,
        time,
        calls,
        flags: None,
    }))
}

/// Orders the word of an epilog whose record is not here: fewer calls are the likelier.
fn guess(word: [u8; 8]) -> Order {
    if unpack(word, Order::Big).1 < unpack(word, Order::Little).1 {
        Order::Big
    } else {
        Order::Little
    }
}

pub(super) fn end_nanos<'a>(cbor: &mut Cbor<'a>, context: &Context) -> Result<Item<'a>, CborFault> {
    let count = cbor.definite_array()?;
    if !matches!(count, 2 | 3) {
        return Err(CborFault::Bad("a record end of another length"));
    }
    let time = cbor.int()?;
    let calls = cbor.int()?;
    if calls < 0 {
        cbor.not_canonical();
    }
    let flags = if count == 3 { Some(cbor.int()?) } else { None };
    let closed = closing(cbor, context)?;
    Ok(Item::End(End {
        form: EndForm::Nanos,
        order: Order::Little,
        long: false,
        closed,
        time,
        calls: calls.cast_unsigned(),
        flags,
    }))
}
