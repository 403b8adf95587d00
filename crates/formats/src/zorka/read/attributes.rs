//! Attributes: of a record, and of one that encloses it (SPEC.md §1.2).

use super::super::cbor::{Cbor, CborFault};
use super::super::record::{AttributeForm, Attributes, Item};
use super::{Context, unknown};

pub(super) fn attribute_map<'a>(
    cbor: &mut Cbor<'a>,
    tag: u8,
    context: &Context,
) -> Result<Item<'a>, CborFault> {
    let mut head = cbor.head()?;
    let mut attributes = Attributes::new(AttributeForm::Map { tag }, &[]);
    if head.major == 6 {
        if head.value != 0x26 {
            return unknown(cbor);
        }
        head = cbor.head()?;
        if head.major != 5 || head.value != 1 {
            return Err(CborFault::Bad("an upward attribute that is not one pair"));
        }
        attributes.form = AttributeForm::MapUpward { tag };
        attributes.upward = Some(cbor.int()?);
        head = cbor.head()?;
        if head.major != 5 {
            return Err(CborFault::Bad("an upward attribute without a map"));
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
            return Err(CborFault::Limit("limit_values"));
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

/// Returns true if the record goes on where a value should be: the next item, or the epilog and its break.
fn value_is_missing(cbor: &Cbor<'_>, context: &Context) -> Result<bool, CborFault> {
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

pub(super) fn upward<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, CborFault> {
    if cbor.definite_array()? != 2 {
        return Err(CborFault::Bad("an upward attribute of another length"));
    }
    let upward = cbor.int()?;
    let head = cbor.head()?;
    if head.major != 5 {
        return Err(CborFault::Bad("an upward attribute without a map"));
    }
    if head.value > cbor.bounds().values() {
        return Err(CborFault::Limit("limit_values"));
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

pub(super) fn pair<'a>(cbor: &mut Cbor<'a>) -> Result<Item<'a>, CborFault> {
    let upward = match cbor.definite_array()? {
        2 => None,
        3 => Some(cbor.int()?),
        _ => return Err(CborFault::Bad("an attribute of another length")),
    };
    let from = cbor.position();
    cbor.value()?;
    cbor.value()?;
    let mut attributes = Attributes::new(AttributeForm::Nanos, cbor.since(from));
    attributes.upward = upward;
    Ok(Item::Attributes(attributes))
}

/// Steps over the pairs of a map whose head was read; returns how many there are.
fn pairs(cbor: &mut Cbor<'_>, indefinite: bool, count: u64) -> Result<u64, CborFault> {
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
