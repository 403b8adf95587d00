//! Which lists of attributes a page has room for, and their texts, each once.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;

use super::bits::Bits;
use super::collect::NONE;
use super::details::LEFT_OUT;
use super::{Source, Timeline};
use crate::page::json_len;

/// Lists of attributes that a page has room for.
#[derive(Debug, Default)]
pub(super) struct AttributeLists {
    /// By recording, then by number there: numbers on the page, from 1; 0 for one that is not on it.
    numbers: Vec<Vec<u32>>,
    texts: PageTexts,
    pub(super) bits: Bits,
    pub(super) lists: u32,
    pub(super) left_out: u64,
}

impl AttributeLists {
    /// Takes the lists of the longest items.
    pub(super) fn choose(timeline: &Timeline, room: usize) -> Self {
        let items = &timeline.items;
        let mut wanted: Vec<(u64, usize, u32)> = Vec::new();
        for track in &timeline.tracks {
            for row in timeline.rows_of(track) {
                for at in row.items.clone() {
                    let detail = items.detail.get(at).copied().unwrap_or(0);
                    let times = items.end.get(at).zip(items.start.get(at));
                    if let Some((end, start)) = times
                        && !matches!(detail, 0 | LEFT_OUT)
                    {
                        wanted.push((end.abs_diff(*start), track.source, detail));
                    }
                }
            }
        }
        wanted.sort_unstable_by_key(|&(length, source, detail)| (Reverse(length), source, detail));
        let lists = |source: &Source| vec![0; source.details.len() + 1];
        let mut chosen = Self {
            numbers: timeline.sources.iter().map(lists).collect(),
            texts: PageTexts::of(timeline),
            ..Self::default()
        };
        let mut room = room;
        for (_, source, detail) in wanted {
            if chosen.number(source, detail) == 0 {
                chosen.add(timeline, (source, detail), &mut room);
            }
        }
        chosen
    }

    fn add(&mut self, timeline: &Timeline, (source, list): (usize, u32), room: &mut usize) {
        let details = timeline.sources.get(source).map(|source| &source.details);
        let words = details.into_iter().flat_map(|details| details.words(list));
        let words: Vec<Word<'_>> = words.map(|word| self.texts.find(source, word)).collect();
        let count = words.len() / 2;
        let size = words.iter().map(|word| word.size).sum::<usize>() + 4 * count;
        let number = self.numbers.get_mut(source);
        let number = number.and_then(|numbers| numbers.get_mut(list as usize));
        let (Some(left), Some(number)) = (room.checked_sub(size), number) else {
            self.left_out += 1;
            return;
        };
        *room = left;
        self.lists += 1;
        *number = self.lists;
        self.bits.count(count);
        for word in words {
            self.bits.number(self.texts.put(source, word));
        }
    }

    /// The texts of names and values.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.texts.iter().map(|text| &**text)
    }

    /// Bytes of all of it on the page.
    pub(super) fn page_len(&self) -> usize {
        self.texts.bytes + self.bits.len().div_ceil(3) * 4
    }

    pub(super) fn number(&self, source: usize, list: u32) -> u32 {
        let numbers = self.numbers.get(source);
        let number = numbers.and_then(|numbers| numbers.get(list as usize));
        number.copied().unwrap_or(0)
    }
}

/// Texts of a page, each once.
#[derive(Debug, Default)]
struct PageTexts {
    texts: Vec<Rc<str>>,
    numbers: HashMap<Rc<str>, u32, RandomState>,
    /// By recording, then by number there: numbers of texts on the page, or [`NONE`].
    of_sources: Vec<Vec<u32>>,
    /// Bytes of all as they stand on the page.
    bytes: usize,
}

/// A name or a value of a list.
struct Word<'t> {
    text: Cow<'t, str>,
    /// Its number in the recording.
    own: Option<u32>,
    /// Its number on the page, if it is there already.
    known: Option<u32>,
    /// Bytes that it takes, if it is new.
    size: usize,
}

impl PageTexts {
    fn of(timeline: &Timeline) -> Self {
        let unknown = |source: &Source| vec![NONE; source.details.n_texts()];
        Self {
            of_sources: timeline.sources.iter().map(unknown).collect(),
            ..Self::default()
        }
    }

    fn find<'t>(&self, source: usize, (own, text): (Option<u32>, Cow<'t, str>)) -> Word<'t> {
        let known = own.and_then(|own| self.of_sources.get(source)?.get(own as usize).copied());
        let known = known.filter(|&known| known != NONE);
        let known = known.or_else(|| self.numbers.get(&*text).copied());
        let size = known.map_or_else(|| json_len(&text), |_| 0);
        Word {
            text,
            own,
            known,
            size,
        }
    }

    /// Returns the number of a word, which is put behind all others if it is new.
    fn put(&mut self, source: usize, word: Word<'_>) -> u32 {
        // A list may have a word twice that is new.
        let known = word
            .known
            .or_else(|| self.numbers.get(&*word.text).copied());
        let number = known.unwrap_or_else(|| {
            let number = row_number(self.texts.len());
            let text: Rc<str> = word.text.into();
            self.bytes += word.size;
            self.texts.push(Rc::clone(&text));
            self.numbers.insert(text, number);
            number
        });
        let own = self.of_sources.get_mut(source).zip(word.own);
        if let Some(slot) = own.and_then(|(texts, own)| texts.get_mut(own as usize)) {
            *slot = number;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_two_recordings_is_on_the_page_once() {
        let mut texts = PageTexts {
            of_sources: vec![vec![NONE; 2]; 2],
            ..PageTexts::default()
        };
        let new = texts.find(0, (Some(1), "/orders".into()));
        assert_eq!((new.known, new.size), (None, json_len("/orders")));
        // All words of a list are found before the first of them is put.
        let again = texts.find(0, (None, "/orders".into()));
        assert_eq!((texts.put(0, new), texts.put(0, again)), (0, 0));
        assert_eq!(texts.of_sources, [[NONE, 0], [NONE, NONE]]);
        let other = texts.find(1, (Some(0), "/orders".into()));
        assert_eq!((other.known, other.size), (Some(0), 0));
        assert_eq!(texts.put(1, other), 0);
        let second = texts.find(1, (Some(1), "7".into()));
        assert_eq!(texts.put(1, second), 1);
        assert_eq!(texts.of_sources, [[NONE, 0], [0, 1]]);
        assert_eq!(texts.texts.len(), 2);
        assert_eq!(texts.bytes, json_len("/orders") + json_len("7"));
    }
}
