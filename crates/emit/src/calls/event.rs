//! What a thread did, as it lies in its buffer until the writer takes it.
//!
//! Attributes of a call stand right before its end. Numbers are little-endian.

use std::fmt;

use crate::engine::DROPPED;
pub(super) const ENTER: u8 = 1;
pub(super) const ATTRIBUTE: u8 = 2;
pub(super) const EXIT: u8 = 3;
pub(super) const LOST: u8 = 4;

/// Bytes of the end of a call, for which there is always room.
pub const EXIT_SIZE: usize = 9;
/// Bytes of a report of losses.
pub const LOST_SIZE: usize = 25;

/// One of the things that a thread did. Times are nanoseconds since the trace began.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CallEvent<'b> {
    Enter {
        time: u64,
        name: &'b str,
    },
    Attribute {
        name: &'b str,
        value: FieldValue<'b>,
    },
    Exit {
        time: u64,
    },
    Lost {
        n_spans: u64,
        first: u64,
        last: u64,
    },
}

impl CallEvent<'_> {
    /// Returns when it happened; 0 for what has no time of its own.
    pub fn time(&self) -> u64 {
        match *self {
            Self::Enter { time, .. } | Self::Exit { time } => time,
            Self::Attribute { .. } | Self::Lost { .. } => 0,
        }
    }

    /// Returns the events of the call that stands for losses, or an event that reports none as it is. Nothing begins before
    /// `earliest`.
    pub fn or_losses(self, earliest: u64) -> [Option<Self>; 3] {
        let Self::Lost {
            n_spans,
            first,
            last,
        } = self
        else {
            return [Some(self), None, None];
        };
        let time = first.max(earliest);
        let value = FieldValue::U64(n_spans);
        [
            Some(Self::Enter {
                time,
                name: DROPPED,
            }),
            Some(Self::Attribute {
                name: "events",
                value,
            }),
            Some(Self::Exit {
                time: last.max(time),
            }),
        ]
    }
}

/// A value as it lies in a buffer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum FieldValue<'b> {
    U64(u64),
    I64(i64),
    F64(f64),
    Text(&'b str),
    List(FieldList<'b>),
}

/// The elements of a list.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FieldList<'b> {
    kind: u8,
    n_items: u16,
    bytes: &'b [u8],
}

pub(super) const U64: u8 = 1;
pub(super) const I64: u8 = 2;
pub(super) const F64: u8 = 3;
pub(super) const TEXT: u8 = 4;
pub(super) const LIST: u8 = 0x80;

/// Reads the events of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct CallEvents<'b>(pub &'b [u8]);

impl<'b> CallEvents<'b> {
    fn bytes(&mut self, n_bytes: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(n_bytes)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<&'b str> {
        let length = self.array().map(u16::from_le_bytes)?;
        // The texts of a buffer are texts.
        Some(str::from_utf8(self.bytes(length.into())?).unwrap_or_default())
    }

    fn value(&mut self) -> Option<FieldValue<'b>> {
        let kind = self.array::<1>()?[0];
        Some(match kind {
            U64 => FieldValue::U64(self.u64()?),
            I64 => FieldValue::I64(self.u64()?.cast_signed()),
            F64 => FieldValue::F64(f64::from_bits(self.u64()?)),
            TEXT => FieldValue::Text(self.text()?),
            kind => {
                let n_items = self.array().map(u16::from_le_bytes)?;
                let size = self.array().map(u32::from_le_bytes)?;
                let bytes = self.bytes(usize::try_from(size).ok()?)?;
                let kind = kind & !LIST;
                FieldValue::List(FieldList {
                    kind,
                    n_items,
                    bytes,
                })
            }
        })
    }
}

impl<'b> Iterator for CallEvents<'b> {
    type Item = CallEvent<'b>;

    fn next(&mut self) -> Option<CallEvent<'b>> {
        Some(match self.array::<1>()?[0] {
            ENTER => CallEvent::Enter {
                time: self.u64()?,
                name: self.text()?,
            },
            ATTRIBUTE => CallEvent::Attribute {
                name: self.text()?,
                value: self.value()?,
            },
            EXIT => CallEvent::Exit { time: self.u64()? },
            _ => CallEvent::Lost {
                n_spans: self.u64()?,
                first: self.u64()?,
                last: self.u64()?,
            },
        })
    }
}

impl<'b> FieldList<'b> {
    pub fn items(self) -> impl Iterator<Item = FieldValue<'b>> {
        let mut items = CallEvents(self.bytes);
        (0..self.n_items).filter_map(move |_| {
            Some(match self.kind {
                U64 => FieldValue::U64(items.u64()?),
                I64 => FieldValue::I64(items.u64()?.cast_signed()),
                F64 => FieldValue::F64(f64::from_bits(items.u64()?)),
                _ => FieldValue::Text(items.text()?),
            })
        })
    }
}

/// Writes a value the way most formats spell it: a list in brackets.
impl fmt::Display for FieldValue<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::U64(value) => value.fmt(out),
            Self::I64(value) => value.fmt(out),
            Self::F64(value) => value.fmt(out),
            Self::Text(text) => out.write_str(text),
            Self::List(list) => {
                for (at, item) in list.items().enumerate() {
                    out.write_str(if at == 0 { "[" } else { ", " })?;
                    item.fmt(out)?;
                }
                out.write_str(if list.n_items == 0 { "[]" } else { "]" })
            }
        }
    }
}

/// Returns the number of calls that end in `bytes`.
pub fn count_ends(bytes: &[u8]) -> u64 {
    let ends = CallEvents(bytes).filter(|event| matches!(event, CallEvent::Exit { .. }));
    ends.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::put::{
        put_attribute, put_enter, put_exit, put_formatted, put_lost, set_enter_time,
    };
    use crate::value::Value;

    #[test]
    fn what_is_put_is_read_back() {
        let mut bytes = Vec::new();
        assert!(!put_enter(&mut bytes, 5, "GET /"));
        set_enter_time(&mut bytes, 7);
        assert!(!put_attribute(&mut bytes, "n", Value::I64(-3)));
        assert!(!put_attribute(&mut bytes, "l", Value::Texts(&["a", "bc"])));
        assert!(!put_formatted(&mut bytes, "f", format_args!("{}:{}", 1, 2)));
        put_exit(&mut bytes, 9);
        put_lost(&mut bytes, 2, 3, 4);
        assert_eq!(count_ends(&bytes), 1);
        let shown: Vec<String> = CallEvents(&bytes)
            .map(|event| match event {
                CallEvent::Enter { time, name } => format!("{time} {name}"),
                CallEvent::Attribute { name, value } => format!("{name}={value}"),
                CallEvent::Exit { time } => format!("{time}"),
                CallEvent::Lost {
                    n_spans,
                    first,
                    last,
                } => format!("{n_spans} {first} {last}"),
            })
            .collect();
        assert_eq!(
            shown,
            ["7 GET /", "n=-3", "l=[a, bc]", "f=1:2", "9", "2 3 4"]
        );
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut bytes = Vec::new();
        let long = "é".repeat(40_000);
        assert!(put_attribute(&mut bytes, "a", Value::Text(&long)));
        assert!(put_formatted(&mut bytes, "b", format_args!("x{long}")));
        for event in CallEvents(&bytes) {
            let CallEvent::Attribute {
                value: FieldValue::Text(text),
                ..
            } = event
            else {
                panic!("{event:?}");
            };
            assert!((65_534..=65_535).contains(&text.len()), "{}", text.len());
        }
    }
}
