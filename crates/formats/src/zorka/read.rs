//! Bytes to items: one pass, one look at the tag and the byte after it (SPEC.md §0).
//!
//! No version stands in a stream, and a store may hold several: which generation an item is of follows
//! from its tag together with the next byte, because no two generations agree on both.

use super::cbor::{Cbor, Fault, Value};
use super::record::{
    AttributeForm, Attributes, Begin, End, EndForm, Exception, Item, Method, Order, Start,
    StartForm, Symbol, Values,
};

/// Mask of the tick in a packed word.
pub(crate) const TICK: u64 = 0xff_ffff_ffff;

/// What an item cannot know from its own bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// Order of the enclosing record's words, for epilogs without tag.
    pub order: Option<Order>,
    /// The window ends where the input does.
    pub eof: bool,
    /// How a begin of two items is read.
    pub begin: TwoItems,
}

/// What the second of two items in a begin is (SPEC.md §1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TwoItems {
    /// Below 65,536 a trace type, else a span.
    #[default]
    Guess,
    /// A trace type: S0, S0b, B1.
    Type,
    /// A span: B2.
    Span,
}

/// Reads the item at the cursor.
///
/// # Errors
/// `Short` when the window ends inside it, `Bad` and `Limit` when it is none.
#[inline(always)]
pub fn item<'a>(cbor: &mut Cbor<'a>, context: &Context) -> Result<Item<'a>, Fault> {
    match quick(cbor, context) {
        Some(item) => Ok(item),
        None => any_item(cbor, context),
    }
}

/// Reads the shapes that make up nearly all of any stream: record begins, and ends of few calls.
#[inline(always)]
fn quick<'a>(cbor: &mut Cbor<'a>, context: &Context) -> Option<Item<'a>> {
    let &[a, b, c, d, e, f, g, h, i, j, k, l] = cbor.window::<12>()?;
    let started = match u32::from_be_bytes([a, b, c, d]) {
        0xc89f_cb48 => Some((StartForm::Tagged, Order::Little)),
        0xc89f_ca48 => Some((StartForm::Tagged, Order::Big)),
        0xd80b_9f48 => Some((StartForm::Seed { tag: 11 }, Order::Little)),
        0xd80a_9f48 => Some((StartForm::Seed { tag: 10 }, Order::Big)),
        _ => None,
    };
    if let Some((form, order)) = started {
        let (time, method) = unpack([e, f, g, h, i, j, k, l], order);
        cbor.advance(12);
        return Some(Item::Start(Start {
            form,
            order,
            time,
            method: method.cast_signed(),
        }));
    }
    let (form, order, word, len) = match (a, b) {
        (0xc3, 0x9f) | (0xc4, 0x82 | 0x83) if c == 0x1b => return quick_nanos(cbor, a, b),
        (0xc9, 0xa1) | (0xc6, 0x82) => return quick_attribute(cbor, a),
        (0xcd, 0x48) if k == 0xff => {
            let word = [c, d, e, f, g, h, i, j];
            (EndForm::Tagged, Order::Little, word, 11)
        }
        (0xcc, 0x48) if k == 0xff => {
            let word = [c, d, e, f, g, h, i, j];
            (EndForm::Tagged, Order::Big, word, 11)
        }
        (0x48, _) if j == 0xff => {
            let word = [b, c, d, e, f, g, h, i];
            (EndForm::Untagged, context.order?, word, 10)
        }
        _ => return None,
    };
    let (time, calls) = unpack(word, order);
    cbor.advance(len);
    Some(Item::End(End {
        form,
        order,
        long: false,
        closed: true,
        time,
        calls,
        flags: None,
    }))
}

/// Reads a record begin or end of C whose time takes eight bytes, as nearly all do.
#[inline]
fn quick_nanos<'a>(cbor: &mut Cbor<'a>, tag: u8, second: u8) -> Option<Item<'a>> {
    let &[_, _, _, ref time @ .., first, n1, n2, n3, n4, n5] = cbor.window::<17>()?;
    let time: [u8; 8] = *time;
    let raw = u64::from_be_bytes(time);
    if !(1 << 32..1 << 63).contains(&raw) {
        return None;
    }
    let (number, after) = match first {
        0..24 => (i64::from(first), 12),
        0x18 if n1 >= 24 => (i64::from(n1), 13),
        0x19 if n1 > 0 => (i64::from(u16::from_be_bytes([n1, n2])), 14),
        _ => return None,
    };
    if tag == 0xc3 {
        cbor.advance(after);
        return Some(Item::Start(Start {
            form: StartForm::Nanos,
            order: Order::Little,
            time: raw.cast_signed(),
            method: number,
        }));
    }
    let rest = match after {
        12 => [n1, n2, n3, n4],
        13 => [n2, n3, n4, n5],
        _ => return None,
    };
    let (flags, len) = match (second, rest) {
        (0x82, [0xff, ..]) => (None, after + 1),
        (0x83, [0x19, high, low, 0xff]) if high > 0 => {
            (Some(i64::from(u16::from_be_bytes([high, low]))), after + 4)
        }
        _ => return None,
    };
    cbor.advance(len);
    Some(Item::End(End {
        form: EndForm::Nanos,
        order: Order::Little,
        long: false,
        closed: true,
        time: raw.cast_signed(),
        calls: number.cast_unsigned(),
        flags,
    }))
}

/// Reads one pair of a small symbol and a short text or small integer.
#[inline]
fn quick_attribute<'a>(cbor: &mut Cbor<'a>, tag: u8) -> Option<Item<'a>> {
    let &[_, _, c, d, e, f, g, ..] = cbor.window::<12>()?;
    let (key, head, next) = match (c, d) {
        (0xc6, 0..24) if tag == 0xc9 => (2, e, f),
        (0xc6, 0x18) if tag == 0xc9 && e >= 24 => (3, f, g),
        (0..24, _) => (1, d, e),
        _ => return None,
    };
    let value = match head {
        0..24 => 1,
        0x60..0x78 => 1 + usize::from(head & 0x1f),
        0x78 if next >= 24 => 2 + usize::from(next),
        _ => return None,
    };
    let body = cbor.pair(2, key + value)?;
    let form = if tag == 0xc9 {
        AttributeForm::Map { tag: 9 }
    } else {
        AttributeForm::Nanos
    };
    Some(Item::Attributes(Attributes::new(form, body)))
}

fn any_item<'a>(cbor: &mut Cbor<'a>, context: &Context) -> Result<Item<'a>, Fault> {
    let first = cbor.peek()?;
    match first >> 5 {
        6 => {
            let tag = cbor.head()?.value;
            let next = cbor.peek()?;
            if next == 0x9f {
                return start(cbor, tag, first);
            }
            tagged(cbor, tag, next, context)
        }
        2 if matches!(first, 0x48 | 0x50) => end_word(cbor, EndForm::Untagged, None, context),
        7 if first == 0xff => {
            cbor.step();
            Ok(Item::Break)
        }
        _ => Err(Fault::Bad("expected a tag")),
    }
}

#[inline(always)]
fn unpack(word: [u8; 8], order: Order) -> (i64, u64) {
    let value = match order {
        Order::Little => u64::from_le_bytes(word),
        Order::Big => u64::from_be_bytes(word),
    };
    ((value & TICK).cast_signed(), value >> 40)
}

fn seed_start<'a>(cbor: &mut Cbor<'a>, tag: u64, first: u8) -> Result<Item<'a>, Fault> {
    let [_, length] = cbor.array()?;
    if length != 0x48 {
        return Err(Fault::Bad("a record without its first word"));
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

fn start<'a>(cbor: &mut Cbor<'a>, tag: u64, first: u8) -> Result<Item<'a>, Fault> {
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
        9 | 12 => Err(Fault::Bad("attributes that are no map")),
        _ => unknown(cbor),
    }
}

fn unknown<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, Fault> {
    cbor.skip()?;
    Ok(Item::Unknown)
}

fn tagged<'a>(
    cbor: &mut Cbor<'a>,
    tag: u64,
    next: u8,
    context: &Context,
) -> Result<Item<'a>, Fault> {
    match (tag, next >> 5) {
        (9 | 12, 5 | 6) => attribute_map(cbor, if tag == 9 { 9 } else { 12 }, context),
        (12, 2) if matches!(next, 0x48 | 0x50) => {
            end_word(cbor, EndForm::Tagged, Some(Order::Big), context)
        }
        (13, 2) if matches!(next, 0x48 | 0x50) => {
            end_word(cbor, EndForm::Tagged, Some(Order::Little), context)
        }
        (10 | 11, 2) if next == 0x48 => {
            cbor.step();
            let order = if tag == 10 { Order::Big } else { Order::Little };
            let (time, method) = unpack(cbor.array()?, order);
            Ok(Item::Prolog(Start {
                form: StartForm::Tagged,
                order,
                time,
                method: method.cast_signed(),
            }))
        }
        (6, 4) => pair(cbor),
        (4, 4) => end_nanos(cbor, context),
        (3, 4) => {
            if cbor.definite_array()? != 2 {
                return Err(Fault::Bad("a record start of another length"));
            }
            let (method, time) = (cbor.int()?, cbor.int()?);
            Ok(Item::Start(Start {
                form: StartForm::Stream,
                order: Order::Little,
                time,
                method,
            }))
        }
        (0x21 | 5, 4) => begin(cbor, tag == 5, context),
        (0x26, 4) => upward(cbor),
        (0x22 | 7, 4) => exception(cbor, tag),
        (0x23 | 8, 0 | 1) => {
            let id = cbor.int()?.cast_unsigned();
            if id > i64::MAX.cast_unsigned() {
                cbor.not_canonical();
            }
            let tag = if tag == 8 { 8 } else { 0x23 };
            Ok(Item::ExceptionRef { tag, id })
        }
        (0x0f, 0) => Ok(Item::Flags(cbor.head()?.value)),
        (0x0e, 5) => {
            if cbor.head()?.value != 1 || next == 0xbf {
                return Err(Fault::Bad("a fact that is not one pair"));
            }
            let (key, value) = (cbor.int()?, cbor.value()?);
            Ok(Item::Info { key, value })
        }
        (1, 4) => symbol(cbor),
        (2, 4) => {
            if cbor.definite_array()? != 4 {
                return Err(Fault::Bad("a method of another length"));
            }
            let (id, class) = (cbor.int()?, cbor.int()?);
            let (name, signature) = (cbor.int()?, cbor.int()?);
            Ok(Item::Method(Method {
                id,
                class,
                name,
                signature,
            }))
        }
        (0x41, 0 | 1) => chunk(cbor),
        _ => unknown(cbor),
    }
}

/// Takes the `ff` after an epilog, which closes the record's array.
fn closing(cbor: &mut Cbor<'_>, context: &Context) -> Result<bool, Fault> {
    match cbor.next_is(0xff) {
        Some(true) => {
            cbor.step();
            Ok(true)
        }
        Some(false) => Ok(false),
        None if context.eof => Ok(false),
        None => Err(Fault::Short(cbor.position() + 1)),
    }
}

fn end_word<'a>(
    cbor: &mut Cbor<'a>,
    form: EndForm,
    order: Option<Order>,
    context: &Context,
) -> Result<Item<'a>, Fault> {
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

fn end_nanos<'a>(cbor: &mut Cbor<'a>, context: &Context) -> Result<Item<'a>, Fault> {
    let count = cbor.definite_array()?;
    if !matches!(count, 2 | 3) {
        return Err(Fault::Bad("a record end of another length"));
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

fn begin<'a>(cbor: &mut Cbor<'a>, nanos: bool, context: &Context) -> Result<Item<'a>, Fault> {
    let count = cbor.definite_array()?;
    if count == 0 || count > if nanos { 4 } else { 3 } {
        return Err(Fault::Bad("a trace begin of another length"));
    }
    let mut begin = Begin {
        nanos,
        clock_ms: cbor.int()?,
        ..Begin::default()
    };
    if count == 1 {
        return Ok(Item::Begin(begin));
    }
    let second = cbor.int()?;
    let is_type = match context.begin {
        _ if nanos => true,
        _ if count == 3 => false,
        TwoItems::Type => true,
        TwoItems::Span => false,
        TwoItems::Guess => (0..65_536).contains(&second),
    };
    if is_type {
        begin.ttype = Some(second);
    } else {
        begin.span_id = Some(second);
    }
    let rest = count - 2;
    if rest > 0 {
        let next = Some(cbor.int()?);
        if nanos {
            begin.span_id = next;
        } else {
            begin.parent_id = next;
        }
    }
    if rest > 1 {
        begin.parent_id = Some(cbor.int()?);
    }
    Ok(Item::Begin(begin))
}

/// Steps over the pairs of a map whose head was read; returns how many there are.
fn pairs(cbor: &mut Cbor<'_>, indefinite: bool, count: u64) -> Result<u64, Fault> {
    if !indefinite {
        for _ in 0..count {
            cbor.value()?;
            cbor.value()?;
        }
        return Ok(count);
    }
    let mut seen = 0;
    cbor.not_canonical();
    while cbor.peek()? != 0xff {
        cbor.value()?;
        cbor.value()?;
        seen += 1;
    }
    Ok(seen)
}

fn attribute_map<'a>(cbor: &mut Cbor<'a>, tag: u8, context: &Context) -> Result<Item<'a>, Fault> {
    let mut head = cbor.head()?;
    let mut attributes = Attributes::new(AttributeForm::Map { tag }, &[]);
    if head.major == 6 {
        if head.value != 0x26 {
            return unknown(cbor);
        }
        head = cbor.head()?;
        if head.major != 5 || head.value != 1 {
            return Err(Fault::Bad("an upward attribute that is not one pair"));
        }
        attributes.form = AttributeForm::MapUpward { tag };
        attributes.upward = Some(cbor.int()?);
        head = cbor.head()?;
        if head.major != 5 {
            return Err(Fault::Bad("an upward attribute without a map"));
        }
    }
    let from = cbor.position();
    if head.value == 1 && head.info == 1 && cbor.peek()? >> 5 == 0 {
        // An int key: S0, whose writer leaves out the value of an object it cannot write.
        cbor.value()?;
        if value_is_missing(cbor, context)? {
            attributes.missing = true;
        } else {
            cbor.value()?;
        }
    } else {
        if head.value > cbor.bounds().values() {
            return Err(Fault::Limit("limit_values"));
        }
        attributes.count = pairs(cbor, head.info == 31, head.value)?;
    }
    let (count, missing) = (attributes.count, attributes.missing);
    let (form, upward) = (attributes.form, attributes.upward);
    attributes = Attributes::new(form, cbor.since(from));
    (attributes.count, attributes.missing, attributes.upward) = (count, missing, upward);
    if head.info == 31 {
        cbor.step();
    }
    Ok(Item::Attributes(attributes))
}

/// Tells whether the record goes on where a value should be: the next item, or the epilog and its break.
fn value_is_missing(cbor: &Cbor<'_>, context: &Context) -> Result<bool, Fault> {
    let broken_after = |len| match cbor.peek_at(len) {
        Ok(byte) => Ok(byte == 0xff),
        Err(_) if context.eof => Ok(false),
        Err(short) => Err(short),
    };
    match cbor.peek()? {
        0xff | 0xc9 => Ok(true),
        0xd8 => Ok(matches!(cbor.peek_at(1)?, 10 | 11 | 0x21 | 0x22 | 0x23)),
        0x48 => broken_after(9),
        0x50 => broken_after(17),
        _ => Ok(false),
    }
}

fn upward<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, Fault> {
    if cbor.definite_array()? != 2 {
        return Err(Fault::Bad("an upward attribute of another length"));
    }
    let upward = cbor.int()?;
    let head = cbor.head()?;
    if head.major != 5 {
        return Err(Fault::Bad("an upward attribute without a map"));
    }
    if head.value > cbor.bounds().values() {
        return Err(Fault::Limit("limit_values"));
    }
    let from = cbor.position();
    let count = pairs(cbor, head.info == 31, head.value)?;
    let mut attributes = Attributes::new(AttributeForm::Upward, cbor.since(from));
    attributes.count = count;
    attributes.upward = Some(upward);
    if head.info == 31 {
        cbor.step();
    }
    Ok(Item::Attributes(attributes))
}

fn pair<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, Fault> {
    let upward = match cbor.definite_array()? {
        2 => None,
        3 => Some(cbor.int()?),
        _ => return Err(Fault::Bad("an attribute of another length")),
    };
    let from = cbor.position();
    cbor.value()?;
    cbor.value()?;
    let mut attributes = Attributes::new(AttributeForm::Nanos, cbor.since(from));
    attributes.upward = upward;
    Ok(Item::Attributes(attributes))
}

fn exception<'a>(cbor: &mut Cbor<'a>, tag: u64) -> Result<Item<'a>, Fault> {
    let count = cbor.definite_array()?;
    if !matches!(count, 5 | 6) {
        return Err(Fault::Bad("an exception of another length"));
    }
    let from = cbor.position();
    for _ in 0..count {
        cbor.value()?;
    }
    Ok(Item::Exception(Exception {
        tag: if tag == 7 { 7 } else { 0x22 },
        values: Values::new(count, cbor.since(from)),
    }))
}

fn symbol<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, Fault> {
    let count = cbor.definite_array()?;
    if !matches!(count, 2 | 3) {
        return Err(Fault::Bad("a symbol of another length"));
    }
    let id = cbor.int()?;
    let text = cbor.value()?;
    if !matches!(text, Value::Text(_) | Value::Null | Value::Raw(_)) {
        return Err(Fault::Bad("a symbol that is no text"));
    }
    let symbol_type = if count == 3 { Some(cbor.int()?) } else { None };
    Ok(Item::Symbol(Symbol {
        id,
        text,
        symbol_type,
    }))
}

/// Integers of chunk metadata, before its two maps (SPEC.md §4.1).
pub(crate) const CHUNK_INTS: u64 = 17;

fn chunk<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, Fault> {
    let from = cbor.position();
    for _ in 0..CHUNK_INTS {
        cbor.int()?;
    }
    for _ in 0..2 {
        if cbor.peek()? >> 5 != 5 {
            return Err(Fault::Bad("chunk metadata without its maps"));
        }
        cbor.value()?;
    }
    Ok(Item::Chunk(Values::new(CHUNK_INTS + 2, cbor.since(from))))
}
