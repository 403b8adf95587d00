//! Strings by id, of which some may be dropped again.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::{StringId, Text, Value};

/// Strings by number, in pages: what is dropped leaves eight bytes for 65,536 numbers.
///
/// A list of calls passes millions of parameter values and keeps those of a few rows. Their numbers only
/// ascend, so a plain vector would grow with what passes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strings {
    shelves: Vec<Option<Box<Slots<Page>>>>,
    len: usize,
}

const PAGE: usize = 256;

type Page = Slots<Text>;

/// A page of rows that may be empty, or a shelf of such pages.
#[derive(Clone, Debug, PartialEq)]
struct Slots<T> {
    slots: Box<[Option<T>]>,
    held: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            slots: (0..PAGE).map(|_| None).collect(),
            held: 0,
        }
    }
}

impl<T> Slots<T> {
    fn get(&self, at: usize) -> Option<&T> {
        self.slots.get(at % PAGE)?.as_ref()
    }

    fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.slots.get_mut(at % PAGE)?.as_mut()
    }

    fn put(&mut self, at: usize, value: T) {
        if let Some(slot) = self.slots.get_mut(at % PAGE) {
            self.held += usize::from(slot.replace(value).is_none());
        }
    }

    /// Empties a slot. Returns true if all slots are empty now.
    fn empty(&mut self, at: usize) -> bool {
        let gone = self.slots.get_mut(at % PAGE).and_then(Option::take);
        self.held -= usize::from(gone.is_some());
        self.held == 0
    }
}

impl Strings {
    fn page(&self, number: usize) -> Option<&Page> {
        let shelf = self.shelves.get(number / PAGE / PAGE)?.as_ref()?;
        shelf.get(number / PAGE)
    }

    /// Returns the string of a number, none when it was never put or is dropped.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&Text> {
        self.page(number)?.get(number)
    }

    /// Puts a string under a number.
    pub fn put(&mut self, number: usize, text: Text) {
        let at = number / PAGE / PAGE;
        if self.shelves.len() <= at {
            self.shelves.resize(at + 1, None);
        }
        self.len = self.len.max(number + 1);
        let Some(shelf) = self.shelves.get_mut(at) else {
            return;
        };
        let shelf = shelf.get_or_insert_default();
        if shelf.get(number / PAGE).is_none() {
            shelf.put(number / PAGE, Page::default());
        }
        if let Some(page) = shelf.get_mut(number / PAGE) {
            page.put(number, text);
        }
    }

    /// Drops the string of a number.
    pub fn drop_row(&mut self, number: usize) {
        let Some(slot) = self.shelves.get_mut(number / PAGE / PAGE) else {
            return;
        };
        let Some(shelf) = slot else { return };
        let page = shelf.get_mut(number / PAGE);
        if page.is_some_and(|page| page.empty(number)) && shelf.empty(number / PAGE) {
            *slot = None;
        }
    }

    /// Returns one more than the highest number that was put.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if nothing was ever put into it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over all numbers from 0 on, with none for what is not there.
    pub fn iter(&self) -> impl Iterator<Item = &Option<Text>> {
        const ABSENT: &Option<Text> = &None;
        (0..self.len).map(|number| {
            let page = self.page(number);
            page.and_then(|page| page.slots.get(number % PAGE))
                .unwrap_or(ABSENT)
        })
    }
}

/// Strings that nothing to come refers to, of which rows that are held back still may.
///
/// A sink that holds rows may drop a string only when none of those tells of it either. Which ones do is
/// looked up each time something is forgotten, which is as rare as the strings of a reader are many.
#[derive(Clone, Debug, Default)]
pub struct Forgotten(Vec<StringId>);

impl Forgotten {
    /// Takes what a reader says to forget and returns what no held row tells of.
    ///
    /// `held` shows the values of the attributes of all rows that are held.
    pub fn free<'a, I: Iterator<Item = &'a Value>>(
        &mut self,
        strings: &[StringId],
        held: I,
    ) -> Vec<StringId> {
        self.0.extend_from_slice(strings);
        let mut told: HashSet<StringId, RandomState> = HashSet::default();
        for value in held {
            value.each_string(&mut |id| {
                told.insert(id);
            });
        }
        let (kept, free) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|id| told.contains(id));
        self.0 = kept;
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_held_rows_are_kept_until_those_go() {
        let [one, two, three] = [0, 1, 2].map(StringId::new);
        let list = Value::List(crate::ElementType::Text, [Value::Text(two)].into());
        let mut forgotten = Forgotten::default();
        assert_eq!(forgotten.free(&[one, two], [&list].into_iter()), [one]);
        assert_eq!(forgotten.free(&[three], [&list].into_iter()), [three]);
        assert_eq!(forgotten.free(&[], std::iter::empty()), [two]);
    }

    #[test]
    fn dropped_pages_are_free_and_numbers_stay() {
        let mut strings = Strings::default();
        let pages = |strings: &Strings| -> usize {
            let shelves = strings.shelves.iter().flatten();
            shelves.map(|shelf| shelf.held).sum()
        };
        for number in 0..100_000 {
            strings.put(number, Text::from(number.to_string().as_str()));
            if number != 700 {
                strings.drop_row(number);
            }
        }
        strings.put(700, Text::from("again"));
        strings.drop_row(700_000);
        assert_eq!((pages(&strings), strings.shelves.len()), (1, 2));
        assert_eq!(strings.get(700).and_then(Text::as_str), Some("again"));
        assert_eq!((strings.get(699), strings.get(99_999)), (None, None));
        assert_eq!((strings.len(), strings.iter().count()), (100_000, 100_000));
        assert_eq!(strings.iter().flatten().count(), 1);
        strings.drop_row(700);
        strings.drop_row(700);
        assert_eq!(strings.shelves.iter().flatten().count(), 0);
    }
}
