//! The members of an event.

use std::borrow::Cow;

use traceloom_model::Limits;
use traceloom_model::bounds::saturated_u16;

use super::runs::{EventLayout, MEMBERS};
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

    #[cfg(test)]
    pub(super) fn all() -> [Self; Self::COUNT] {
        KEYS.map(|(_, key)| key)
    }

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
    /// Where each that is looked at begins and ends.
    places: [(u32, u32); EventKey::COUNT],
    layout: EventLayout,
    /// The lengths of the values of the layout.
    lengths: [u16; MEMBERS],
    /// Where the last value ends.
    end: u32,
    /// It has more members than a layout, or a value or what is before it is larger than the numbers of one.
    is_large: bool,
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
        self.layout = EventLayout::default();
        (self.end, self.is_large) = (0, false);
    }

    /// Takes the place of a member; of several with one key the last counts.
    #[inline]
    pub(super) fn put(&mut self, key: u64, place: TokenPlace) {
        let key = EventKey::of(key);
        self.put_in_layout(key.map_or(EventKey::COUNT, |key| key as usize), place);
        if let Some(key) = key
            && let Some(slot) = self.places.get_mut(key as usize)
        {
            *slot = (place.start, place.end);
            let EventLayout { found, escaped, .. } = &mut self.layout;
            let bit = 1 << key as u32;
            *found |= bit;
            *escaped = *escaped & !bit | u32::from(place.is_escaped) << key as u32;
        }
    }

    #[inline]
    fn put_in_layout(&mut self, number: usize, place: TokenPlace) {
        let layout = &mut self.layout;
        let nth = usize::from(layout.n_members);
        // Places of what is damaged may be anywhere.
        let gap = u8::try_from(place.start.wrapping_sub(self.end));
        let length = u16::try_from(place.end.wrapping_sub(place.start));
        self.end = place.end;
        if let (Some(to_member), Some(to_length), Ok(gap), Ok(length)) = (
            layout.members.get_mut(nth),
            self.lengths.get_mut(nth),
            gap,
            length,
        ) {
            *to_member = [number.to_le_bytes()[0], gap];
            *to_length = length;
            layout.n_members += 1;
            layout.is_wide |= length > u16::from(u8::MAX);
        } else {
            self.is_large = true;
        }
    }

    #[inline]
    fn has(&self, key: EventKey) -> bool {
        self.layout.found & 1 << key as u32 != 0
    }

    /// Says how long the event is, of which all members were put.
    #[inline]
    pub(super) fn finish(&mut self, length: usize) {
        match u8::try_from(length.wrapping_sub(self.end as usize)) {
            Ok(rest) => self.layout.rest = rest,
            Err(_) => self.is_large = true,
        }
    }

    /// Returns the layout of the event and the lengths of its values; none where it has too many members, or large ones.
    #[inline]
    pub(super) fn layout(&self) -> Option<(&EventLayout, &[u16])> {
        let lengths = self.lengths.get(..usize::from(self.layout.n_members))?;
        (!self.is_large).then_some((&self.layout, lengths))
    }

    /// Takes the place of the `nth` member of a layout that is known in the end, by its number; returns its length.
    #[inline(always)]
    pub(super) fn put_nth(&mut self, nth: usize, number: u8, place: TokenPlace) -> u32 {
        let length = place.end - place.start;
        if let Some(to_length) = self.lengths.get_mut(nth) {
            *to_length = saturated_u16(length as usize);
        }
        if let Some(slot) = self.places.get_mut(usize::from(number)) {
            *slot = (place.start, place.end);
        }
        length
    }

    /// Says that what was put is a layout's; `any_length` has the bits of all lengths.
    #[inline]
    pub(super) fn finish_as(&mut self, layout: &EventLayout, any_length: u32, escaped: u32) {
        self.layout = EventLayout {
            is_wide: any_length > u32::from(u8::MAX),
            escaped,
            ..*layout
        };
        self.is_large = any_length > u32::from(u16::MAX);
    }

    /// Takes the places of the members of an event by its layout and the lengths of its values; returns its own length.
    #[inline]
    pub(super) fn take_layout(
        &mut self,
        layout: &EventLayout,
        lengths: impl Iterator<Item = u16>,
    ) -> u32 {
        (self.layout.found, self.layout.escaped) = (layout.found, layout.escaped);
        let mut end = 0;
        // By number: two iterators side by side become calls.
        for (nth, length) in lengths.enumerate() {
            let Some(&[member, gap]) = layout.members.get(nth) else {
                break;
            };
            let start = end + u32::from(gap);
            end = start + u32::from(length);
            if let Some(slot) = self.places.get_mut(usize::from(member)) {
                *slot = (start, end);
            }
        }
        end + u32::from(layout.rest)
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
            is_escaped: self.places.layout.escaped & 1 << key as u32 != 0,
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
