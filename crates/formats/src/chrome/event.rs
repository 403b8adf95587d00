//! The members of an event.

use std::borrow::Cow;

use crate::text::json::{Kind, Token, TokenPlace, Value, short_key};

/// A member that is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum EventKey {
    Phase,
    Name,
    Category,
    Process,
    Thread,
    Time,
    Duration,
    Id,
    Id2,
    BindId,
    FlowIn,
    FlowOut,
    Scope,
    /// What ids are told apart in.
    IdScope,
    BindingPoint,
    Arguments,
    StackFrame,
}

impl EventKey {
    /// The number of them.
    const COUNT: usize = Self::StackFrame as usize + 1;

    /// Returns the member that has this key, packed by [`short_key`].
    #[inline]
    fn of(key: u64) -> Option<Self> {
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
        Some(match key {
            PH => Self::Phase,
            NAME => Self::Name,
            CAT => Self::Category,
            PID => Self::Process,
            TID => Self::Thread,
            TS => Self::Time,
            DUR => Self::Duration,
            ID => Self::Id,
            ID2 => Self::Id2,
            BIND_ID => Self::BindId,
            FLOW_IN => Self::FlowIn,
            FLOW_OUT => Self::FlowOut,
            SCOPE => Self::Scope,
            ID_SCOPE => Self::IdScope,
            BP => Self::BindingPoint,
            ARGS => Self::Arguments,
            SF => Self::StackFrame,
            _ => return None,
        })
    }
}

/// Where the members of an event are in its text.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct EventPlaces([Option<TokenPlace>; EventKey::COUNT]);

impl EventPlaces {
    /// Returns the places of the members of a parsed event.
    pub(super) fn read(value: Value<'_>) -> Self {
        let mut places = Self::default();
        for member in value.items() {
            match member.short_key() {
                Some(key) => places.put(key, member.place()),
                // A key with escapes, or longer than any of these.
                None => {
                    let key = member.key().filter(|key| key.len() <= 8);
                    places.put(key.map_or(0, |key| short_key(&key)), member.place());
                }
            }
        }
        places
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(None);
    }

    /// Takes the place of a member; of several with one key the last counts.
    #[inline]
    pub(super) fn put(&mut self, key: u64, place: TokenPlace) {
        if let Some(key) = EventKey::of(key)
            && let Some(slot) = self.0.get_mut(key as usize)
        {
            *slot = Some(place);
        }
    }
}

/// An event; what is not there is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct TraceEvent<'d> {
    text: &'d [u8],
    places: &'d EventPlaces,
}

impl<'d> TraceEvent<'d> {
    pub(super) fn new(text: &'d [u8], places: &'d EventPlaces) -> Self {
        Self { text, places }
    }

    #[inline]
    pub(super) fn get(self, key: EventKey) -> Option<Token<'d>> {
        let place = self.places.0.get(key as usize)?.as_ref()?;
        Some(place.of(self.text))
    }

    pub(super) fn has(self, key: EventKey) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn is_true(self, key: EventKey) -> bool {
        self.get(key)
            .is_some_and(|value| value.kind() == Kind::True)
    }

    /// The phase, 0 for none.
    pub(super) fn phase(self) -> u8 {
        let Some(value) = self.get(EventKey::Phase) else {
            return 0;
        };
        match value.raw() {
            [b'"', first, b'"'] if *first != b'\\' => *first,
            _ => value
                .bytes()
                .and_then(|text| text.first().copied())
                .unwrap_or(0),
        }
    }

    /// The time, in nanoseconds.
    #[inline]
    pub(super) fn time(self) -> Option<i64> {
        self.nanoseconds(EventKey::Time)
    }

    /// The duration, in nanoseconds.
    #[inline]
    pub(super) fn duration(self) -> Option<i64> {
        self.nanoseconds(EventKey::Duration)
    }

    /// The times from which to which it goes; metadata has none of its own.
    pub(super) fn covered(self) -> Option<(i64, i64)> {
        if self.phase() == b'M' {
            return None;
        }
        let start = self.time()?;
        let duration = self.duration().unwrap_or(0);
        Some((start, start.saturating_add(duration)))
    }

    /// Microseconds, a number or the text of one, as nanoseconds: rounded down, never through a float.
    fn nanoseconds(self, key: EventKey) -> Option<i64> {
        self.get(key)?.scaled(1000)
    }

    /// The words of its process and its thread.
    pub(super) fn thread_words(self) -> (Cow<'d, [u8]>, Cow<'d, [u8]>) {
        let text = |key| self.get(key).map(Token::word).unwrap_or_default();
        (text(EventKey::Process), text(EventKey::Thread))
    }
}

/// An id as a number: decimal, or hexadecimal behind `0x`.
pub(super) fn id_number(value: Token<'_>) -> Option<u64> {
    let text = value.digits()?;
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => {
            let unsigned = text.parse().ok();
            unsigned.or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
        }
    }
}
