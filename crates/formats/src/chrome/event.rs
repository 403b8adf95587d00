//! The members of an event.

use std::borrow::Cow;

use crate::text::json::{Kind, Value, scale, short_key};

const PH: u64 = short_key(b"ph");
const NAME: u64 = short_key(b"name");
const CAT: u64 = short_key(b"cat");
const PID: u64 = short_key(b"pid");
const TID: u64 = short_key(b"tid");
const TS: u64 = short_key(b"ts");
const DUR: u64 = short_key(b"dur");
const ID: u64 = short_key(b"id");
const ID2: u64 = short_key(b"id2");
const BIND_ID: u64 = short_key(b"bind_id");
const FLOW_IN: u64 = short_key(b"flow_in");
const FLOW_OUT: u64 = short_key(b"flow_out");
const SCOPE: u64 = short_key(b"s");
const ID_SCOPE: u64 = short_key(b"scope");
const BP: u64 = short_key(b"bp");
const ARGS: u64 = short_key(b"args");
const SF: u64 = short_key(b"sf");

/// An event; what is not there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TraceEvent<'d> {
    ph: Option<Value<'d>>,
    pub(super) name: Option<Value<'d>>,
    pub(super) cat: Option<Value<'d>>,
    pub(super) pid: Option<Value<'d>>,
    pub(super) tid: Option<Value<'d>>,
    pub(super) id: Option<Value<'d>>,
    pub(super) id2: Option<Value<'d>>,
    pub(super) bind_id: Option<Value<'d>>,
    pub(super) flow_in: bool,
    pub(super) flow_out: bool,
    pub(super) scope: Option<Value<'d>>,
    /// What ids are told apart in.
    pub(super) id_scope: Option<Value<'d>>,
    pub(super) bp: Option<Value<'d>>,
    pub(super) args: Option<Value<'d>>,
    pub(super) sf: Option<Value<'d>>,
    /// Nanoseconds.
    pub(super) ts: Option<i64>,
    pub(super) dur: Option<i64>,
}

impl<'d> TraceEvent<'d> {
    pub(super) fn read(value: Value<'d>) -> Self {
        let mut event = Self::default();
        for member in value.items() {
            match member.short_key() {
                Some(key) => event.put(key, member),
                // A key with escapes, or longer than any of these.
                None => {
                    let key = member.key().filter(|key| key.len() <= 8);
                    event.put(key.map_or(0, |key| short_key(&key)), member);
                }
            }
        }
        event
    }

    #[inline]
    fn put(&mut self, key: u64, member: Value<'d>) {
        match key {
            PH => self.ph = Some(member),
            NAME => self.name = Some(member),
            CAT => self.cat = Some(member),
            PID => self.pid = Some(member),
            TID => self.tid = Some(member),
            TS => self.ts = nanoseconds(member),
            DUR => self.dur = nanoseconds(member),
            ID => self.id = Some(member),
            ID2 => self.id2 = Some(member),
            BIND_ID => self.bind_id = Some(member),
            FLOW_IN => self.flow_in = member.kind() == Kind::True,
            FLOW_OUT => self.flow_out = member.kind() == Kind::True,
            SCOPE => self.scope = Some(member),
            ID_SCOPE => self.id_scope = Some(member),
            BP => self.bp = Some(member),
            ARGS => self.args = Some(member),
            SF => self.sf = Some(member),
            _ => {}
        }
    }

    /// The phase, 0 for none.
    pub(super) fn phase(&self) -> u8 {
        let text = self.ph.and_then(Value::bytes);
        text.and_then(|text| text.first().copied()).unwrap_or(0)
    }
}

/// Microseconds, a number or the text of one, as nanoseconds: rounded down, never through a float.
fn nanoseconds(value: Value<'_>) -> Option<i64> {
    scale(&number(value)?, 1000)
}

/// The digits of a number, or of a text that holds one.
pub(super) fn number<'d>(value: Value<'d>) -> Option<Cow<'d, str>> {
    match value.kind() {
        Kind::Number => value.number().map(Cow::Borrowed),
        Kind::String => value.text().map(|text| Cow::Owned(text.trim().to_owned())),
        _ => None,
    }
}

/// A word that tells one id from another: its text, whatever its type.
pub(super) fn word(value: Value<'_>) -> Box<[u8]> {
    borrowed_word(value).into()
}

/// A word as it stands in the text, where it has no escapes.
pub(super) fn borrowed_word(value: Value<'_>) -> Cow<'_, [u8]> {
    let text = value.bytes();
    text.unwrap_or_else(|| value.raw().into())
}

/// The words of the process and the thread of an event.
pub(super) fn thread_words<'d>(event: &TraceEvent<'d>) -> (Cow<'d, [u8]>, Cow<'d, [u8]>) {
    let text = |value: Option<Value<'d>>| value.map(borrowed_word).unwrap_or_default();
    (text(event.pid), text(event.tid))
}

/// An id as a number: decimal, or hexadecimal behind `0x`.
pub(super) fn id_number(value: Value<'_>) -> Option<u64> {
    let text = number(value)?;
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => {
            let unsigned = text.parse().ok();
            unsigned.or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
        }
    }
}
