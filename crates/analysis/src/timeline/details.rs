//! What spans and events carry besides their times: pairs of texts, each text kept once.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// Characters of a value that are kept: a statement is recognised by fewer.
const LONGEST: usize = 2_000;

/// Bytes that a text and a pair cost besides the text itself.
const TEXT_COST: usize = 48;
const PAIR_COST: usize = 8;

/// Lists of named values, in a bounded number of bytes.
///
/// A recording of a million calls has a million different statements or the same ten. Texts are kept once; when the
/// bound is met, further lists are left out and counted.
#[derive(Debug)]
pub(super) struct Details {
    texts: Vec<Box<str>>,
    known: HashMap<u64, u32, RandomState>,
    pairs: Vec<(u32, u32)>,
    /// Where each list ends in `pairs`.
    ends: Vec<u32>,
    room: usize,
    left_out: u64,
}

impl Details {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            texts: Vec::new(),
            known: HashMap::default(),
            pairs: Vec::new(),
            ends: Vec::new(),
            room: bytes,
            left_out: 0,
        }
    }

    /// Keeps a list; returns its number, counted from 1, or 0 for an empty one and one that is left out.
    pub(super) fn list(&mut self, fill: impl FnOnce(&mut dyn FnMut(&str, &str))) -> u32 {
        let start = self.pairs.len();
        let mut missing = false;
        fill(&mut |name, value| {
            let pair = (self.text(name), self.text(value));
            match pair {
                (Some(name), Some(value)) => self.pairs.push((name, value)),
                _ => missing = true,
            }
        });
        self.room = self
            .room
            .saturating_sub((self.pairs.len() - start) * PAIR_COST);
        if missing {
            self.pairs.truncate(start);
            self.left_out += 1;
            return 0;
        }
        let end = u32::try_from(self.pairs.len());
        match end {
            Ok(end) if self.pairs.len() > start => {
                self.ends.push(end);
                u32::try_from(self.ends.len()).unwrap_or(0)
            }
            _ => {
                self.pairs.truncate(start);
                0
            }
        }
    }

    /// Returns how many lists found no room.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Iterates over the names and values of a list.
    pub(super) fn pairs(&self, number: u32) -> impl Iterator<Item = (&str, &str)> {
        let text = |at: u32| self.texts.get(at as usize).map_or("", |text| text);
        let pairs = self.pairs.get(self.range(number)).unwrap_or_default();
        pairs
            .iter()
            .map(move |&(name, value)| (text(name), text(value)))
    }

    fn range(&self, number: u32) -> std::ops::Range<usize> {
        let end = |number: u32| {
            let at = number.checked_sub(1)? as usize;
            self.ends.get(at).map(|&end| end as usize)
        };
        let Some(last) = end(number) else {
            return 0..0;
        };
        end(number - 1).unwrap_or(0)..last
    }

    fn text(&mut self, text: &str) -> Option<u32> {
        let text = shortened(text);
        let hash = self.known.hasher().hash_one(text.as_bytes());
        if let Some(&at) = self.known.get(&hash)
            && self
                .texts
                .get(at as usize)
                .is_some_and(|known| **known == *text)
        {
            return Some(at);
        }
        self.room = self.room.checked_sub(text.len() + TEXT_COST)?;
        let at = u32::try_from(self.texts.len()).ok()?;
        self.texts.push(text.into());
        self.known.insert(hash, at);
        Some(at)
    }
}

fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            format!("{kept}… ({} characters)", text.chars().count()).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_lists_are_bounded() {
        let mut details = Details::new(400);
        let first = details.list(|add| {
            add("url", "/orders");
            add("status", "200");
        });
        let second = details.list(|add| add("url", "/orders"));
        assert_eq!((first, second, details.texts.len()), (1, 2, 4));
        assert_eq!(details.list(|_| {}), 0);
        let long = "x".repeat(500);
        assert_eq!(details.list(|add| add("sql", &long)), 0);
        assert_eq!(details.left_out(), 1);
        assert_eq!(
            details.pairs(1).collect::<Vec<_>>(),
            [("url", "/orders"), ("status", "200")]
        );
        assert_eq!(details.pairs(2).collect::<Vec<_>>(), [("url", "/orders")]);
        assert_eq!(details.pairs(0).count() + details.pairs(9).count(), 0);
    }

    #[test]
    fn a_long_value_says_how_long_it_was() {
        let text = "é".repeat(3_000);
        assert!(shortened(&text).ends_with("é… (3000 characters)"));
        assert_eq!(shortened("short"), "short");
    }
}
