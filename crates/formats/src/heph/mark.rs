//! An attribute of ours that says where an event lies when containment says otherwise (SPEC.md, "What raising writes").

use super::record::{Attribute, Attributes, Value};
use super::write;

/// The attribute: a list of [`NUMBERS`] numbers, the last attribute of its event.
const NAME: &[u8] = b"traceloom.nest";
/// Events that it encloses, lane, and 1 when it is a call although it lies in one, or is none although it does not.
const NUMBERS: usize = 3;
/// Bytes of the attribute.
const LENGTH: usize = 2 + NAME.len() + 1 + 2 + NUMBERS * 8;
/// Containment decides what the event encloses.
const BY_CONTAINMENT: u64 = u64::MAX;

/// The place of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct EventPosition {
    /// How many of the last events of its lane it encloses; containment decides when absent.
    pub encloses: Option<u32>,
    /// Lane of its stream or substream; 0 is the stream or substream itself.
    pub lane: u32,
    /// A call inside another, or an outermost event that is no call.
    pub is_other_entry: bool,
}

impl EventPosition {
    /// Splits the mark off the attributes of an event.
    #[inline(always)]
    pub fn split(attributes: &[u8]) -> Option<(Self, &[u8])> {
        let (others, mark) = attributes.split_at_checked(attributes.len().checked_sub(LENGTH)?)?;
        if mark.get(2..2 + NAME.len()) != Some(NAME) {
            return None;
        }
        Self::checked(attributes, others)
    }

    /// The bytes may also be the end of a text: the mark is an attribute of its own.
    #[inline(never)]
    fn checked<'a>(attributes: &'a [u8], others: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let last = Attributes { bytes: attributes }.into_iter().last()?;
        let Attribute {
            name: NAME,
            value: Value::U64s(&[encloses, lane, entry]),
        } = last
        else {
            return None;
        };
        let number = |raw| u32::try_from(u64::from_be_bytes(raw)).ok();
        let mark = Self {
            encloses: number(encloses),
            lane: number(lane)?,
            is_other_entry: u64::from_be_bytes(entry) == 1,
        };
        Some((mark, others))
    }

    /// Appends the attribute, unless it says what containment says.
    pub fn write(self, out: &mut Vec<u8>) {
        if self == Self::default() {
            return;
        }
        let numbers = [
            self.encloses.map_or(BY_CONTAINMENT, u64::from),
            self.lane.into(),
            self.is_other_entry.into(),
        ];
        let numbers = numbers.map(u64::to_be_bytes);
        let attribute = Attribute {
            name: NAME,
            value: Value::U64s(&numbers),
        };
        write::put_attribute(&attribute, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_the_last_attribute_alone() {
        let mark = EventPosition {
            encloses: Some(7),
            lane: 2,
            is_other_entry: true,
        };
        let mut bytes = Vec::new();
        mark.write(&mut bytes);
        assert_eq!(bytes.len(), LENGTH);
        let mut all = b"\0\x01a\x01\0\0\0\0\0\0\0\x05".to_vec();
        let others = all.clone();
        all.extend(&bytes);
        assert_eq!(EventPosition::split(&all), Some((mark, &*others)));
        all.extend(b"\0\0\x04\0\0");
        assert_eq!(EventPosition::split(&all), None);
        let mut text = b"\0\x01a\x04".to_vec();
        text.extend(u16::try_from(LENGTH).unwrap().to_be_bytes());
        text.extend(&bytes);
        assert_eq!(EventPosition::split(&text), None);
        let mut none = Vec::new();
        EventPosition::default().write(&mut none);
        assert!(none.is_empty());
    }
}
