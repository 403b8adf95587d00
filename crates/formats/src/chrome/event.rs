//! The members of an event.

use std::borrow::Cow;

use traceloom_model::Limits;

use crate::text::json::{Document, Kind, Token, TokenPlace, Value, short_key};

/// A member that is looked at.
#[derive(Clone, Copy, PartialEq, Debug)]
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

/// The keys of the members that are looked at.
const KEYS: [(&[u8], EventKey); EventKey::COUNT] = [
    (b"ph", EventKey::Phase),
    (b"name", EventKey::Name),
    (b"cat", EventKey::Category),
    (b"pid", EventKey::Process),
    (b"tid", EventKey::Thread),
    (b"ts", EventKey::Time),
    (b"dur", EventKey::Duration),
    (b"id", EventKey::Id),
    (b"id2", EventKey::Id2),
    (b"bind_id", EventKey::BindId),
    (b"flow_in", EventKey::FlowIn),
    (b"flow_out", EventKey::FlowOut),
    (b"s", EventKey::Scope),
    (b"scope", EventKey::IdScope),
    (b"bp", EventKey::BindingPoint),
    (b"args", EventKey::Arguments),
    (b"sf", EventKey::StackFrame),
];

/// The members by their packed keys, each where [`place_of`] says.
const TABLE: [(u64, EventKey); 32] = {
    let mut table = [(0, EventKey::Phase); 32];
    let mut rest = &mut table as &mut [(u64, EventKey)];
    let mut place = 0;
    while let [row, after @ ..] = rest {
        if let Some(key) = key_at(place) {
            *row = key;
        }
        place += 1;
        rest = after;
    }
    table
};

/// A factor that brings each key to a place of its own, and one of them to the first one: what is no key is brought there,
/// and rows without a key are like it.
const SPREAD: u64 = 0x75d7_9381_80be_19d3;

const fn place_of(key: u64) -> usize {
    (key.wrapping_mul(SPREAD) >> 59) as usize
}

const fn key_at(place: usize) -> Option<(u64, EventKey)> {
    let mut rest = &KEYS as &[(&[u8], EventKey)];
    while let [(key, member), after @ ..] = rest {
        let key = short_key(key);
        if place_of(key) == place {
            return Some((key, *member));
        }
        rest = after;
    }
    None
}

impl EventKey {
    /// The number of them.
    const COUNT: usize = Self::StackFrame as usize + 1;

    /// Returns the member that has this key, packed by [`short_key`].
    #[inline]
    fn of(key: u64) -> Option<Self> {
        let &(known, member) = TABLE.get(place_of(key))?;
        (known == key).then_some(member)
    }
}

/// Where the members of an event are in its text.
#[derive(Clone, Debug, Default)]
pub(super) struct EventPlaces {
    /// Where each begins and ends.
    places: [(u32, u32); EventKey::COUNT],
    /// A bit for each member that is there.
    found: u32,
    /// A bit for each of them that has escapes in it.
    escaped: u32,
}

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
        (self.found, self.escaped) = (0, 0);
    }

    /// Takes the place of a member; of several with one key the last counts.
    #[inline]
    pub(super) fn put(&mut self, key: u64, place: TokenPlace) {
        if let Some(key) = EventKey::of(key)
            && let Some(slot) = self.places.get_mut(key as usize)
        {
            *slot = (place.start, place.end);
            let bit = 1 << key as u32;
            self.found |= bit;
            self.escaped = self.escaped & !bit | u32::from(place.is_escaped) << key as u32;
        }
    }

    #[inline]
    fn has(&self, key: EventKey) -> bool {
        self.found & 1 << key as u32 != 0
    }

    /// Returns them in the fewest bytes; none of an event that is large or has many members, as few have.
    #[inline]
    pub(super) fn packed(&self) -> Option<PackedPlaces> {
        let mut packed = PackedPlaces {
            places: [(0, 0); PACKED],
            found: self.found,
            escaped: self.escaped,
        };
        let mut slots = packed.places.iter_mut();
        let mut left = self.found;
        while left != 0 {
            let (start, end) = *self.places.get(left.trailing_zeros() as usize)?;
            *slots.next()? = (u16::try_from(start).ok()?, u16::try_from(end).ok()?);
            left &= left - 1;
        }
        Some(packed)
    }

    /// Takes the places that were packed.
    #[inline]
    pub(super) fn unpack(&mut self, packed: &PackedPlaces) {
        (self.found, self.escaped) = (packed.found, packed.escaped);
        let mut left = packed.found;
        for &(start, end) in &packed.places {
            if left == 0 {
                break;
            }
            if let Some(slot) = self.places.get_mut(left.trailing_zeros() as usize) {
                *slot = (u32::from(start), u32::from(end));
            }
            left &= left - 1;
        }
    }
}

/// Members that packed places hold.
const PACKED: usize = 8;

/// Places of members as one thread tells another: every cache line that goes from one to the other is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedPlaces {
    /// In the order of their keys.
    places: [(u16, u16); PACKED],
    found: u32,
    escaped: u32,
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

    /// Returns where its members are.
    pub(super) fn places(self) -> &'d EventPlaces {
        self.places
    }

    #[inline]
    pub(super) fn get(self, key: EventKey) -> Option<Token<'d>> {
        let &(start, end) = self.places.places.get(key as usize)?;
        let place = TokenPlace {
            start,
            end,
            is_escaped: self.places.escaped & 1 << key as u32 != 0,
        };
        self.has(key).then(|| place.of(self.text))
    }

    #[inline]
    pub(super) fn has(self, key: EventKey) -> bool {
        self.places.has(key)
    }

    pub(super) fn is_true(self, key: EventKey) -> bool {
        self.get(key)
            .is_some_and(|value| value.kind() == Kind::True)
    }

    /// The phase, 0 for none.
    #[inline]
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
        self.get(EventKey::Time)?.nanoseconds()
    }

    /// The duration, in nanoseconds.
    #[inline]
    pub(super) fn duration(self) -> Option<i64> {
        self.get(EventKey::Duration)?.nanoseconds()
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

    /// The words of its process and its thread.
    #[inline]
    pub(super) fn thread_words(self) -> (Cow<'d, [u8]>, Cow<'d, [u8]>) {
        let text = |key| self.get(key).map(Token::word).unwrap_or_default();
        (text(EventKey::Process), text(EventKey::Thread))
    }
}

/// The id of an object, a flow or an asynchronous event.
pub(super) struct EventId<'d> {
    pub(super) word: Cow<'d, [u8]>,
    /// The process belongs to it.
    pub(super) is_local: bool,
}

impl<'d> EventId<'d> {
    pub(super) fn of(event: TraceEvent<'d>, limits: &Limits) -> Self {
        let known = |word, is_local| Self { word, is_local };
        if let Some(id) = event.get(EventKey::Id) {
            return known(id.word(), false);
        }
        let id2 = event.get(EventKey::Id2);
        let id2 = id2.map(|id2| Document::parse(id2.raw(), limits));
        let id2 = id2.as_ref().and_then(Document::root);
        let get = |key| Some(Cow::Owned(id2?.get(key)?.word().into_owned()));
        match (get("global"), get("local")) {
            (Some(word), _) => known(word, false),
            (None, Some(word)) => known(word, true),
            (None, None) => known(Cow::default(), false),
        }
    }

    /// Returns the id as a number: decimal, or hexadecimal behind `0x`.
    pub(super) fn number(&self) -> Option<u64> {
        let text = std::str::from_utf8(&self.word).ok()?.trim();
        match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => {
                let unsigned = text.parse().ok();
                unsigned.or_else(|| text.parse::<i64>().ok().map(i64::cast_unsigned))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_by_their_keys() {
        for (key, member) in KEYS {
            assert_eq!(EventKey::of(short_key(key)), Some(member));
        }
        for other in [
            0,
            u64::MAX,
            short_key(b""),
            short_key(b"tids"),
            short_key(b"flow_ins"),
        ] {
            assert_eq!(EventKey::of(other), None);
        }
    }
}
