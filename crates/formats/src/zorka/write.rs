//! Items to bytes, each in the form it says (SPEC.md §1 to §4).

use super::cbor::CborValue;
use super::record::{
    AttributeForm, Attributes, Begin, End, EndForm, Item, Order, Start, StartForm, ValueRun,
};

/// Appends a head in its shortest form.
#[inline(always)]
pub fn head(out: &mut Vec<u8>, major: u8, value: u64) {
    let major = major << 5;
    let bytes = value.to_be_bytes();
    let [.., b6, b7] = bytes;
    match value {
        0..24 => out.push(major | b7),
        24..0x100 => out.extend_from_slice(&[major | 24, b7]),
        0x100..0x1_0000 => out.extend_from_slice(&[major | 25, b6, b7]),
        _ => long_head(out, major, bytes),
    }
}

fn long_head(out: &mut Vec<u8>, major: u8, bytes: [u8; 8]) {
    if let [0, 0, 0, 0, rest @ ..] = bytes {
        out.push(major | 26);
        out.extend_from_slice(&rest);
    } else {
        out.push(major | 27);
        out.extend_from_slice(&bytes);
    }
}

/// Appends two bytes and an integer that is a time, mostly of eight bytes.
#[inline]
fn time(out: &mut Vec<u8>, first: [u8; 2], time: i64) {
    if time <= i64::from(u32::MAX) {
        out.extend_from_slice(&first);
        return int(out, time);
    }
    let [tag, next] = first;
    let [a, b, c, d, e, f, g, h] = time.to_be_bytes();
    out.extend_from_slice(&[tag, next, 0x1b, a, b, c, d, e, f, g, h]);
}

/// Returns four bytes and a word behind them.
#[inline(always)]
fn before(first: [u8; 4], word: [u8; 8]) -> [u8; 12] {
    let [a, b, c, d] = first;
    let [e, f, g, h, i, j, k, l] = word;
    [a, b, c, d, e, f, g, h, i, j, k, l]
}

/// Appends an integer of either sign.
#[inline]
pub fn int(out: &mut Vec<u8>, value: i64) {
    let sign = value >> 63;
    head(out, u8::from(value < 0), (value ^ sign).cast_unsigned());
}

/// Appends a text.
#[inline]
pub fn text(out: &mut Vec<u8>, text: &[u8]) {
    head(out, 3, text.len() as u64);
    out.extend_from_slice(text);
}

/// Appends a value; a missing one leaves nothing.
pub fn value(out: &mut Vec<u8>, value: CborValue<'_>) {
    match value {
        CborValue::Null => out.push(0xf6),
        CborValue::Undefined => out.push(0xf7),
        CborValue::Bool(false) => out.push(0xf4),
        CborValue::Bool(true) => out.push(0xf5),
        CborValue::Int(value) => int(out, value),
        CborValue::Big(value) => head(out, 0, value),
        CborValue::NegativeBig(value) => head(out, 1, value),
        CborValue::Text(bytes) => text(out, bytes),
        CborValue::Bytes(bytes) => {
            head(out, 2, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        CborValue::F16(bits) => {
            out.push(0xf9);
            out.extend_from_slice(&bits.to_be_bytes());
        }
        CborValue::F32(bits) => {
            out.push(0xfa);
            out.extend_from_slice(&bits.to_be_bytes());
        }
        CborValue::F64(bits) => {
            out.push(0xfb);
            out.extend_from_slice(&bits.to_be_bytes());
        }
        CborValue::Ref(id) => {
            out.push(0xc6);
            head(out, 0, id);
        }
        CborValue::Simple(number) => head(out, 7, u64::from(number)),
        CborValue::Raw(raw) => out.extend_from_slice(raw),
        CborValue::Missing => {}
    }
}

fn values(out: &mut Vec<u8>, values: &ValueRun<'_>) {
    values.iter().for_each(|one| value(out, one));
}

/// Packs a tick and the 24 bits above it.
fn word(time: i64, above: u64, order: Order) -> [u8; 8] {
    let packed = time.cast_unsigned() & super::read::TICK | above << 40;
    ordered(packed, order)
}

const fn ordered(value: u64, order: Order) -> [u8; 8] {
    match order {
        Order::Little => value.to_le_bytes(),
        Order::Big => value.to_be_bytes(),
    }
}

/// Appends an item.
pub fn item(out: &mut Vec<u8>, item: &Item<'_>) {
    match item {
        Item::Start(it) => start(out, it),
        Item::Prolog(it) => prolog(out, it),
        Item::End(it) => end(out, it),
        Item::Break => out.push(0xff),
        Item::Begin(it) => begin(out, it),
        Item::Attributes(it) => attributes(out, it),
        Item::Exception(it) => {
            head(out, 6, u64::from(it.tag));
            head(out, 4, it.values.count);
            values(out, &it.values);
        }
        Item::ExceptionRef { tag, id } => {
            head(out, 6, u64::from(*tag));
            head(out, 0, *id);
        }
        Item::Flags(flags) => {
            out.push(0xcf);
            head(out, 0, *flags);
        }
        Item::Info { key, value: it } => {
            out.extend_from_slice(&[0xce, 0xa1]);
            int(out, *key);
            value(out, *it);
        }
        Item::Symbol(it) => {
            out.push(0xc1);
            head(out, 4, if it.symbol_type.is_some() { 3 } else { 2 });
            int(out, it.id);
            value(out, it.text);
            it.symbol_type.into_iter().for_each(|kind| int(out, kind));
        }
        Item::Method(it) => {
            out.extend_from_slice(&[0xc2, 0x84]);
            for field in [it.id, it.class, it.name, it.signature] {
                int(out, field);
            }
        }
        Item::Chunk(it) => {
            out.extend_from_slice(&[0xd8, 0x41]);
            values(out, it);
        }
        Item::Unknown | Item::Damage => {}
    }
}

#[inline]
pub(super) fn start(out: &mut Vec<u8>, start: &Start) {
    let packed = || word(start.time, start.method.cast_unsigned(), start.order);
    match start.form {
        StartForm::Seed { tag: tag @ 10.. } => {
            out.extend_from_slice(&before([0xd8, tag, 0x9f, 0x48], packed()));
        }
        StartForm::Seed { tag } => {
            out.extend_from_slice(&[0xc0 | tag, 0x9f, 0x48]);
            out.extend_from_slice(&packed());
        }
        StartForm::Tagged => {
            let tag = prolog_tag(start.order);
            out.extend_from_slice(&before([0xc8, 0x9f, tag, 0x48], packed()));
        }
        StartForm::Bare => out.extend_from_slice(&[0xc8, 0x9f]),
        StartForm::Nanos => {
            time(out, [0xc3, 0x9f], start.time);
            int(out, start.method);
        }
        StartForm::Stream => {
            out.extend_from_slice(&[0xc3, 0x82]);
            int(out, start.method);
            int(out, start.time);
        }
    }
}

const fn prolog_tag(order: Order) -> u8 {
    match order {
        Order::Big => 0xca,
        Order::Little => 0xcb,
    }
}

fn prolog(out: &mut Vec<u8>, start: &Start) {
    out.extend_from_slice(&[prolog_tag(start.order), 0x48]);
    out.extend_from_slice(&word(start.time, start.method.cast_unsigned(), start.order));
}

#[inline]
pub(super) fn end(out: &mut Vec<u8>, end: &End) {
    if end.form == EndForm::Nanos {
        let count = if end.flags.is_some() { 0x83 } else { 0x82 };
        time(out, [0xc4, count], end.time);
        int(out, end.calls.cast_signed());
        end.flags.into_iter().for_each(|flags| int(out, flags));
    } else {
        if end.form == EndForm::Tagged {
            out.push(match end.order {
                Order::Big => 0xcc,
                Order::Little => 0xcd,
            });
        }
        let above = if end.long { 0 } else { end.calls };
        let [a, b, c, d, e, f, g, h] = word(end.time, above, end.order);
        let kind = if end.long { 0x50 } else { 0x48 };
        out.extend_from_slice(&[kind, a, b, c, d, e, f, g, h]);
        if end.long {
            out.extend_from_slice(&ordered(end.calls, end.order));
        }
    }
    if end.closed {
        out.push(0xff);
    }
}

pub(super) fn begin(out: &mut Vec<u8>, begin: &Begin) {
    if begin.nanos {
        out.push(0xc5);
    } else {
        out.extend_from_slice(&[0xd8, 0x21]);
    }
    let rest = [begin.ttype, begin.span_id, begin.parent_id];
    head(out, 4, 1 + rest.iter().flatten().count() as u64);
    int(out, begin.clock_ms);
    rest.iter().flatten().for_each(|&field| int(out, field));
}

fn attributes(out: &mut Vec<u8>, attributes: &Attributes<'_>) {
    match (attributes.form, attributes.upward) {
        (AttributeForm::Map { tag }, _) => {
            out.push(0xc0 | tag);
            head(out, 5, attributes.count);
        }
        (AttributeForm::MapUpward { tag }, upward) => {
            out.extend_from_slice(&[0xc0 | tag, 0xd8, 0x26, 0xa1]);
            int(out, upward.unwrap_or(0));
            head(out, 5, attributes.count);
        }
        (AttributeForm::Upward, upward) => {
            out.extend_from_slice(&[0xd8, 0x26, 0x82]);
            int(out, upward.unwrap_or(0));
            head(out, 5, attributes.count);
        }
        (AttributeForm::Nanos, None) => out.extend_from_slice(&[0xc6, 0x82]),
        (AttributeForm::Nanos, Some(upward)) => {
            out.extend_from_slice(&[0xc6, 0x83]);
            int(out, upward);
        }
    }
    for (key, it) in attributes.pairs() {
        value(out, key);
        value(out, it);
    }
}
