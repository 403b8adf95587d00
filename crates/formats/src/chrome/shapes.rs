//! How the events of a trace look between their values, so that one that looks like others is looked through by them.
//!
//! Programs write events one way: what lies between two values, `,"ts":`, comes in many of them. The shapes are a tree of
//! these texts, each with what came behind the value that follows it. What an event has between its values is compared with
//! them, without a look at what it means; only values are looked through as they always are.

use std::num::NonZeroU16;

use super::event::EventPlaces;
use super::runs::EventLayout;
use crate::text::json::plain_value;

/// Bytes between two values that are compared at once.
const TEXT: usize = 16;

/// Texts of a tree, and those that may follow one value, which are compared one by one.
const MOST: usize = 1000;
const MOST_BESIDE: usize = 16;

/// Events that were found count up to so many of those that are not.
const MOST_WORTH: i32 = 10_000;

/// The shapes of events.
#[derive(Clone, Debug, Default)]
pub(super) struct EventShapes {
    texts: Vec<ShapeText>,
    layouts: Vec<EventLayout>,
    /// There was no room for another text: of events that have few shapes all are known by then.
    is_full: bool,
    /// Events that were found, less those that were not since there is no room: below zero none is looked for any more.
    worth: i32,
}

/// What lies before a value, or behind the last one.
#[derive(Clone, Debug)]
struct ShapeText {
    /// With zeros behind it, and ones where it has bytes.
    text: u128,
    mask: u128,
    length: u8,
    /// Another text that may be in its place.
    beside: Option<NonZeroU16>,
    then: Then,
}

/// What follows a text.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// The value of a member of this number, and behind it one of these texts.
    Value(u8, Option<NonZeroU16>),
    /// Nothing: the event has this layout.
    End(u16),
}

impl EventShapes {
    /// Looks through the event that `text` begins with, and returns where it ends; none where none of the shapes is its own,
    /// or where anything in its values is unusual.
    #[inline]
    pub(super) fn find(
        &mut self,
        text: &[u8],
        deepest: usize,
        places: &mut EventPlaces,
    ) -> Option<usize> {
        let inside = deepest.checked_sub(1)?;
        if self.worth < 0 {
            return None;
        }
        let (mut known, mut at) = (self.texts.first()?, 0);
        let (mut nth, mut any_length, mut escaped) = (0, 0, 0);
        loop {
            let ahead = u128::from_le_bytes(*text.get(at..)?.first_chunk()?);
            while (ahead ^ known.text) & known.mask != 0 {
                known = self.at(known.beside)?;
            }
            at += usize::from(known.length);
            match known.then {
                Then::End(layout) => {
                    let layout = self.layouts.get(usize::from(layout))?;
                    places.finish_as(layout, any_length, escaped & layout.found);
                    self.worth = (self.worth + 1).min(MOST_WORTH);
                    return Some(at);
                }
                Then::Value(member, next) => {
                    let place = plain_value(text, at, inside)?;
                    any_length |= places.put_nth(nth, member, place);
                    // Of several members of one number the last counts.
                    escaped = escaped & !(1 << member) | u32::from(place.is_escaped) << member;
                    (known, at) = (self.at(next)?, place.end as usize);
                    nth += 1;
                }
            }
        }
    }

    #[inline]
    fn at(&self, link: Option<NonZeroU16>) -> Option<&ShapeText> {
        self.texts.get(place(link?))
    }

    /// Takes the shape of an event that was looked through.
    #[cold]
    pub(super) fn learn(&mut self, text: &[u8], places: &EventPlaces) {
        let (Some((layout, lengths)), Ok(n_layouts)) =
            (places.layout(), u16::try_from(self.layouts.len()))
        else {
            return;
        };
        let gaps = layout.members.iter().map(|&[_, gap]| gap);
        self.worth -= i32::from(self.is_full);
        if self.is_full || gaps.chain([layout.rest]).any(|gap| usize::from(gap) > TEXT) {
            return;
        }
        let (mut at, mut above) = (0, None);
        for (&[member, gap], &length) in layout.members.iter().zip(lengths) {
            let gap = usize::from(gap);
            let then = Then::Value(member, None);
            above = self.find_or_add(above, text.get(at..at + gap), then);
            if above.is_none() {
                return;
            }
            at += gap + usize::from(length);
        }
        let rest = text.get(at..at + usize::from(layout.rest));
        if self
            .find_or_add(above, rest, Then::End(n_layouts))
            .is_some()
        {
            self.layouts.push(*layout);
        }
    }

    /// Returns where the text is that lies behind another one and its value, or behind none; none where it cannot be added.
    fn find_or_add(
        &mut self,
        above: Option<usize>,
        text: Option<&[u8]>,
        then: Then,
    ) -> Option<usize> {
        let text = text?;
        let (mut bytes, mut mask) = ([0; TEXT], [0; TEXT]);
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        mask.get_mut(..text.len())?.fill(u8::MAX);
        let added = ShapeText {
            text: u128::from_le_bytes(bytes),
            mask: u128::from_le_bytes(mask),
            length: u8::try_from(text.len()).ok()?,
            beside: None,
            then,
        };
        let first = match above {
            None => (!self.texts.is_empty()).then_some(0),
            Some(above) => match self.texts.get(above)?.then {
                Then::Value(_, next) => next.map(place),
                Then::End(_) => None,
            },
        };
        let among = |at: &usize| self.texts.get(*at)?.beside.map(place);
        let beside: Vec<usize> = std::iter::successors(first, among).collect();
        for &at in &beside {
            let known = self.texts.get(at)?;
            if (known.text, known.mask) == (added.text, added.mask) {
                let both = (known.then, then);
                return matches!(both, (Then::Value(..), Then::Value(..))).then_some(at);
            }
        }
        self.is_full = beside.len() >= MOST_BESIDE || self.texts.len() >= MOST;
        if self.is_full {
            return None;
        }
        let at = self.texts.len();
        let link = NonZeroU16::new(u16::try_from(at).ok()?);
        self.texts.push(added);
        if let Some(&last) = beside.last() {
            self.texts.get_mut(last)?.beside = link;
        } else if let Some(above) = above
            && let Then::Value(_, next) = &mut self.texts.get_mut(above)?.then
        {
            *next = link;
        }
        Some(at)
    }
}

fn place(link: NonZeroU16) -> usize {
    usize::from(link.get())
}

#[cfg(test)]
mod tests {
    use traceloom_samples::Random;

    use super::*;
    use crate::chrome::event::{EventKey, TraceEvent};
    use crate::text::json::plain_object;

    const DEEPEST: usize = 3;

    fn event(random: &mut Random) -> Vec<u8> {
        let (mut text, space) = (vec![b'{'], random.pick(&["", "", " "]));
        for nth in 0..random.below(8) {
            let separator = if nth == 0 { "" } else { "," };
            let key = random.pick(&[
                "ph",
                "name",
                "ts",
                "ts",
                "s",
                "args",
                "of many letters",
                "a\\n",
            ]);
            let value = match random.below(14) {
                0 => "[{},[1,\"]\"]]",
                1 => "[[[1]]]",
                2 => "\"a\\\"b\"",
                3 => "1.5e3",
                4 => "nul",
                5 => "01.",
                6 => "false",
                _ => random.pick(&["\"X\"", "\"a name of some letters\"", "17", "-5.250", "{}"]),
            };
            text.extend_from_slice(
                format!("{separator}{space}\"{key}\":{space}{value}").as_bytes(),
            );
        }
        text.extend_from_slice(format!("{space}}},{{").as_bytes());
        if random.per_mille(100) {
            let at = random.index(text.len());
            if let Some(byte) = text.get_mut(at) {
                *byte = byte.wrapping_add(13);
            }
        }
        text.extend_from_slice(&[b' '; TEXT]);
        text
    }

    /// Where an event ends, and its members.
    type Seen = Option<(usize, Vec<Option<Vec<u8>>>)>;

    fn seen(end: Option<usize>, text: &[u8], places: &EventPlaces) -> Seen {
        let event = TraceEvent::new(text, places);
        let members = EventKey::all().map(|key| Some(event.get(key)?.raw().to_vec()));
        Some((end?, members.to_vec()))
    }

    #[test]
    fn what_a_shape_finds_is_what_is_found_without() {
        let mut random = Random::new(3);
        let (mut n_found, mut n_escaped, mut n_plain) = (0, 0, 0);
        let mut shapes = EventShapes::default();
        let mut places = EventPlaces::default();
        for _ in 0..20_000 {
            let text = event(&mut random);
            let end = shapes.find(&text, DEEPEST, &mut places);
            let by_shape = seen(end, &text, &places);
            let layout = places
                .layout()
                .map(|(layout, lengths)| (*layout, lengths.to_vec()));
            places.clear();
            let end = plain_object(&text, DEEPEST, |key, place| places.put(key, place));
            if let Some(end) = end {
                places.finish(end);
                shapes.learn(&text, &places);
                n_plain += 1;
            }
            if by_shape.is_some() {
                n_found += 1;
                n_escaped += u32::from(layout.as_ref().unwrap().0.escaped != 0);
                assert_eq!(by_shape, seen(end, &text, &places));
                let plain = places
                    .layout()
                    .map(|(layout, lengths)| (*layout, lengths.to_vec()));
                assert_eq!(layout, plain);
            }
        }
        assert!(n_found * 3 > n_plain, "{n_found} of {n_plain}");
        assert!(n_escaped > 100 && n_plain < 19_000 && shapes.texts.len() <= MOST);
    }
}
