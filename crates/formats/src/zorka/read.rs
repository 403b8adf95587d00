//! Bytes to items: one pass, one look at the tag and the byte after it (SPEC.md §0).
//!
//! No version stands in a stream, and a store may hold several: which generation an item is of follows
//! from its tag together with the next byte, because no two generations agree on both.

mod attributes;
mod records;

use super::cbor::{Cbor, CborFault, CborValue};
use super::record::{
    Begin, EndForm, Exception, Item, Method, Order, Start, StartForm, Symbol, ValueRun,
};
use attributes::{attribute_map, pair, upward};
pub(super) use records::{TICK, unpack};
use records::{end_nanos, end_word, start};

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
pub fn item<'a>(cbor: &mut Cbor<'a>, context: &Context) -> Result<Item<'a>, CborFault> {
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
        _ => Err(CborFault::Bad("expected a tag")),
    }
}

fn unknown<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, CborFault> {
    cbor.skip()?;
    Ok(Item::Unknown)
}

fn tagged<'a>(
    cbor: &mut Cbor<'a>,
    tag: u64,
    next: u8,
    context: &Context,
) -> Result<Item<'a>, CborFault> {
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
                return Err(CborFault::Bad("a record start of another length"));
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
                return Err(CborFault::Bad("a fact that is not one pair"));
            }
            let (key, value) = (cbor.int()?, cbor.value()?);
            Ok(Item::Info { key, value })
        }
        (1, 4) => symbol(cbor),
        (2, 4) => {
            if cbor.definite_array()? != 4 {
                return Err(CborFault::Bad("a method of another length"));
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

fn begin<'a>(cbor: &mut Cbor<'a>, nanos: bool, context: &Context) -> Result<Item<'a>, CborFault> {
    let count = cbor.definite_array()?;
    if count == 0 || count > if nanos { 4 } else { 3 } {
        return Err(CborFault::Bad("a trace begin of another length"));
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

fn exception<'a>(cbor: &mut Cbor<'a>, tag: u64) -> Result<Item<'a>, CborFault> {
    let count = cbor.definite_array()?;
    if !matches!(count, 5 | 6) {
        return Err(CborFault::Bad("an exception of another length"));
    }
    let from = cbor.position();
    for _ in 0..count {
        cbor.value()?;
    }
    Ok(Item::Exception(Exception {
        tag: if tag == 7 { 7 } else { 0x22 },
        values: ValueRun::new(count, cbor.since(from)),
    }))
}

fn symbol<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, CborFault> {
    let count = cbor.definite_array()?;
    if !matches!(count, 2 | 3) {
        return Err(CborFault::Bad("a symbol of another length"));
    }
    let id = cbor.int()?;
    let text = cbor.value()?;
    if !matches!(
        text,
        CborValue::Text(_) | CborValue::Null | CborValue::Raw(_)
    ) {
        return Err(CborFault::Bad("a symbol that is no text"));
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

fn chunk<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, CborFault> {
    let from = cbor.position();
    for _ in 0..CHUNK_INTS {
        cbor.int()?;
    }
    for _ in 0..2 {
        if cbor.peek()? >> 5 != 5 {
            return Err(CborFault::Bad("chunk metadata without its maps"));
        }
        cbor.value()?;
    }
    Ok(Item::Chunk(ValueRun::new(CHUNK_INTS + 2, cbor.since(from))))
}
