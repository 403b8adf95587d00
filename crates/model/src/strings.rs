//! Strings by id, of which some may be dropped again.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::{StringId, Text, Value};

/// Strings by number, in pages: what is dropped leaves eight bytes a page.
///
/// A list of calls passes millions of parameter values and keeps those of a few rows. Their numbers only
/// ascend, so a plain vector would grow with what passes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strings {
    pages: Vec<Option<Page>>,
    len: usize,
}

const PAGE: usize = 256;

#[derive(Clone, Debug, PartialEq)]
struct Page {
    rows: Box<[Option<Text>]>,
    held: usize,
}

impl Strings {
    /// Returns the string of a number, none when it was never put or is dropped.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<&Text> {
        let page = self.pages.get(number / PAGE)?.as_ref()?;
        page.rows.get(number % PAGE)?.as_ref()
    }

    /// Puts a string under a number.
    pub fn put(&mut self, number: usize, text: Text) {
        let at = number / PAGE;
        if self.pages.len() <= at {
            self.pages.resize(at + 1, None);
        }
        self.len = self.len.max(number + 1);
        let Some(slot) = self.pages.get_mut(at) else {
            return;
        };
        let page = slot.get_or_insert_with(|| Page {
            rows: vec![None; PAGE].into(),
            held: 0,
        });
        if let Some(row) = page.rows.get_mut(number % PAGE) {
            page.held += usize::from(row.replace(text).is_none());
        }
    }

    /// Drops the string of a number.
    pub fn drop_row(&mut self, number: usize) {
        let Some(slot) = self.pages.get_mut(number / PAGE) else {
            return;
        };
        let Some(page) = slot else { return };
        let row = page.rows.get_mut(number % PAGE).and_then(Option::take);
        page.held -= usize::from(row.is_some());
        if page.held == 0 {
            *slot = None;
        }
    }

    /// Returns one more than the highest number that was put.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tells whether nothing was ever put.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over all numbers from 0 on, with none for what is not there.
    pub fn iter(&self) -> impl Iterator<Item = &Option<Text>> {
        const ABSENT: &Option<Text> = &None;
        (0..self.len).map(|number| {
            let page = self.pages.get(number / PAGE).and_then(Option::as_ref);
            page.and_then(|page| page.rows.get(number % PAGE))
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
        for number in 0..10_000 {
            strings.put(number, Text::from(number.to_string().as_str()));
            if number != 700 {
                strings.drop_row(number);
            }
        }
        strings.put(700, Text::from("again"));
        strings.drop_row(700_000);
        assert_eq!(strings.pages.iter().flatten().count(), 1);
        assert_eq!(strings.get(700).and_then(Text::as_str), Some("again"));
        assert_eq!((strings.get(699), strings.get(9_999)), (None, None));
        assert_eq!((strings.len(), strings.iter().count()), (10_000, 10_000));
        assert_eq!(strings.iter().flatten().count(), 1);
        strings.drop_row(700);
        strings.drop_row(700);
        assert_eq!(strings.pages.iter().flatten().count(), 0);
    }
}
