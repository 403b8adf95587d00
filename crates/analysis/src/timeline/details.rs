//! What spans and events carry besides their times: names with values, each text kept once, and numbers as they are.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{Recording, StackId, StringId};

use super::collect::{NONE, frames};
use super::held::{get, retain, set};

/// Characters of a value that are kept: a statement is recognised by fewer.
const LONGEST: usize = 2_000;

/// Bytes that a text costs besides the text itself, and those of a stack, a large number, a pair and a list.
const TEXT_COST: usize = 48;
const STACK_COST: usize = 16;
const NUMBER_COST: usize = 8;
const PAIR_COST: usize = 8;
const LIST_COST: usize = 4;

/// The number of a list that found no room.
pub(super) const LEFT_OUT: u32 = u32::MAX;

/// A name or a value: a string of the recording's tables or the frames of a stack, which are looked up once, any other text,
/// or a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum DetailText<'t> {
    String(StringId),
    Stack(StackId),
    Other(&'t str),
    Number(i64),
}

impl From<StringId> for DetailText<'_> {
    fn from(id: StringId) -> Self {
        Self::String(id)
    }
}

impl<'t> From<&'t str> for DetailText<'t> {
    fn from(text: &'t str) -> Self {
        Self::Other(text)
    }
}

/// Takes a name and its value.
pub(super) type AddDetail<'a> = &'a mut dyn FnMut(DetailText<'_>, DetailText<'_>);

/// Lists of named values, in a bounded number of bytes.
///
/// A recording of a million calls has a million different statements or the same ten. Texts are kept once; when the
/// bound is met, further lists are left out until there is room again.
#[derive(Debug)]
pub(super) struct Details {
    texts: Vec<Box<str>>,
    known: HashMap<u64, u32, RandomState>,
    /// By string of the recording: the number of its text, or [`NONE`].
    of_strings: Vec<u32>,
    /// The numbers of the texts of stacks.
    of_stacks: HashMap<StackId, u32, RandomState>,
    /// Names, as numbers of texts, and values.
    pairs: Vec<(u32, KeptValue)>,
    /// Large numbers, in the order of the pairs.
    numbers: Vec<i64>,
    /// Where each list ends in `pairs`.
    ends: Vec<u32>,
    bytes: usize,
    room: usize,
    /// What is to be left of the room.
    spared: usize,
}

/// A value of a pair, in 32 bits.
#[derive(Clone, Copy, Debug)]
struct KeptValue(u32);

/// What a [`KeptValue`] stands for.
enum ValueKind {
    /// A text by its number.
    Text(u32),
    Small(u32),
    /// A number by its place in [`Details::numbers`].
    Large(u32),
}

impl KeptValue {
    const TEXTS: u32 = 1 << 31;
    const SMALL: u32 = 1 << 30;

    fn text(at: u32) -> Option<Self> {
        (at < Self::TEXTS).then_some(Self(at))
    }

    fn small(number: i64) -> Option<Self> {
        let number = u32::try_from(number).ok()?;
        (number < Self::SMALL).then_some(Self(Self::TEXTS | number))
    }

    fn large(at: u32) -> Option<Self> {
        (at < Self::SMALL).then_some(Self(Self::TEXTS | Self::SMALL | at))
    }

    fn kind(self) -> ValueKind {
        let rest = self.0 & (Self::SMALL - 1);
        match (self.0 & Self::TEXTS != 0, self.0 & Self::SMALL != 0) {
            (false, _) => ValueKind::Text(self.0),
            (true, false) => ValueKind::Small(rest),
            (true, true) => ValueKind::Large(rest),
        }
    }
}

impl Details {
    pub(super) fn new(bytes: usize) -> Self {
        Self {
            texts: Vec::new(),
            known: HashMap::default(),
            of_strings: Vec::new(),
            of_stacks: HashMap::default(),
            pairs: Vec::new(),
            numbers: Vec::new(),
            ends: Vec::new(),
            bytes,
            room: bytes,
            spared: 0,
        }
    }

    /// Keeps a list; returns its number, counted from 1, 0 for an empty one, or [`LEFT_OUT`].
    pub(super) fn list(&mut self, tables: &Recording, fill: impl FnOnce(AddDetail<'_>)) -> u32 {
        self.list_of(tables, false, fill)
    }

    /// Keeps a list as [`Self::list`] does. What is short may soon be held together with others: half of the room is for what
    /// is longer.
    pub(super) fn list_of(
        &mut self,
        tables: &Recording,
        is_short: bool,
        fill: impl FnOnce(AddDetail<'_>),
    ) -> u32 {
        self.spared = self.spared_of(is_short);
        let start = (self.pairs.len(), self.numbers.len());
        let mut missing = false;
        fill(&mut |name, value| {
            missing = missing || self.pair(tables, name, value).is_none();
        });
        if !missing && self.pairs.len() == start.0 {
            return 0;
        }
        let ended = if missing { None } else { self.end() };
        ended.unwrap_or_else(|| {
            self.room += (self.pairs.len() - start.0) * PAIR_COST;
            self.room += (self.numbers.len() - start.1) * NUMBER_COST;
            self.pairs.truncate(start.0);
            self.numbers.truncate(start.1);
            LEFT_OUT
        })
    }

    /// What is to be left of the room after a list of what is short, or long.
    fn spared_of(&self, is_short: bool) -> usize {
        if is_short { self.bytes / 2 } else { 0 }
    }

    /// Returns true if there is room for a pair of texts that are known.
    pub(super) fn has_room(&self, is_short: bool) -> bool {
        self.room >= self.spared_of(is_short) + PAIR_COST
    }

    /// Returns true if short things may have no more lists.
    pub(super) fn is_crowded(&self) -> bool {
        self.room < self.bytes / 2
    }

    fn take(&mut self, bytes: usize) -> Option<()> {
        let left = self.room.checked_sub(bytes)?;
        (left >= self.spared).then(|| self.room = left)
    }

    fn pair(
        &mut self,
        tables: &Recording,
        name: DetailText<'_>,
        value: DetailText<'_>,
    ) -> Option<()> {
        let pair = (self.number(tables, name)?, self.value(tables, value)?);
        self.take(PAIR_COST)?;
        self.pairs.push(pair);
        Some(())
    }

    /// Ends a list behind the last pair and returns its number.
    fn end(&mut self) -> Option<u32> {
        let end = u32::try_from(self.pairs.len()).ok()?;
        let number = u32::try_from(self.ends.len() + 1).ok()?;
        self.take(LIST_COST)?;
        self.ends.push(end);
        (number != LEFT_OUT).then_some(number)
    }

    /// Keeps the lists that are marked by their number less one, and returns the new number of each.
    pub(super) fn keep(&mut self, kept: &[bool]) -> Vec<u32> {
        let mut lists = vec![0; self.ends.len()];
        let mut texts = vec![false; self.texts.len()];
        let mut ends = Vec::new();
        let (mut from, mut pairs) = (0, 0);
        let mut numbers = Vec::new();
        for ((&end, &kept), list) in self.ends.iter().zip(kept).zip(&mut lists) {
            let of = from..end as usize;
            from = of.end;
            if !kept {
                continue;
            }
            for (name, value) in self.pairs.get_mut(of.clone()).unwrap_or_default() {
                set(&mut texts, *name, true);
                match value.kind() {
                    ValueKind::Text(at) => set(&mut texts, at, true),
                    ValueKind::Small(_) => {}
                    ValueKind::Large(at) => {
                        let new = KeptValue::large(row_number(numbers.len()));
                        *value = new.unwrap_or(*value);
                        numbers.push(get(&self.numbers, at));
                    }
                }
            }
            let len = of.len();
            self.pairs.copy_within(of, pairs);
            pairs += len;
            ends.push(row_number(pairs));
            *list = row_number(ends.len());
        }
        self.pairs.truncate(pairs);
        self.ends = ends;
        self.numbers = numbers;
        self.keep_texts(&texts);
        lists
    }

    /// Keeps the texts that are used, and adds up how much room is left.
    fn keep_texts(&mut self, used: &[bool]) {
        let mut numbers = vec![0; used.len()];
        for (new, at) in (0..).zip(used.iter().enumerate().filter(|(_, used)| **used)) {
            set(&mut numbers, row_number(at.0), new);
        }
        retain(&mut self.texts, used);
        for (name, value) in &mut self.pairs {
            *name = get(&numbers, *name);
            if let ValueKind::Text(at) = value.kind() {
                *value = KeptValue(get(&numbers, at));
            }
        }
        let keep = |at: &mut u32| {
            let is_used = get(used, *at);
            *at = get(&numbers, *at);
            is_used
        };
        self.known.retain(|_, at| keep(at));
        self.of_stacks.retain(|_, at| keep(at));
        for at in &mut self.of_strings {
            *at = match get(used, *at) {
                true => get(&numbers, *at),
                false => NONE,
            };
        }
        let texts = self.texts.iter().map(|text| text.len() + TEXT_COST);
        let lists = self.pairs.len() * PAIR_COST + self.ends.len() * LIST_COST;
        let lists = lists + self.of_stacks.len() * STACK_COST;
        let taken = texts.sum::<usize>() + self.numbers.len() * NUMBER_COST + lists;
        self.room = self.bytes.saturating_sub(taken);
    }

    /// How many lists there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// How many texts there are.
    pub(super) fn n_texts(&self) -> usize {
        self.texts.len()
    }

    /// Iterates over the names of a list, each followed by its value; those that are kept as texts come with the number of the
    /// text.
    pub(super) fn words(&self, list: u32) -> impl Iterator<Item = (Option<u32>, Cow<'_, str>)> {
        let text = |at: u32| {
            let text = self.texts.get(at as usize).map_or("", |text| text);
            (Some(at), text.into())
        };
        let pairs = self.pairs.get(self.range(list)).unwrap_or_default();
        pairs.iter().flat_map(move |&(name, value)| {
            let value = match value.kind() {
                ValueKind::Text(at) => text(at),
                ValueKind::Small(number) => (None, number.to_string().into()),
                ValueKind::Large(at) => (None, get(&self.numbers, at).to_string().into()),
            };
            [text(name), value]
        })
    }

    /// The names and values of a list.
    #[cfg(test)]
    pub(super) fn pairs(&self, list: u32) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
        let mut words = self.words(list).map(|(_, word)| word);
        std::iter::from_fn(move || Some((words.next()?, words.next()?)))
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

    /// Forgets strings whose numbers may be given to others.
    pub(super) fn forget(&mut self, strings: &[StringId]) {
        for id in strings {
            set(&mut self.of_strings, id.raw(), NONE);
        }
    }

    fn number(&mut self, tables: &Recording, text: DetailText<'_>) -> Option<u32> {
        let id = match text {
            DetailText::String(id) => id,
            DetailText::Stack(id) => return self.stack(tables, id),
            DetailText::Other(text) => return self.text(text),
            DetailText::Number(number) => return self.text(&number.to_string()),
        };
        let known = self.of_strings.get(id.index()).copied();
        if let Some(known) = known.filter(|&known| known != NONE) {
            return Some(known);
        }
        let at = self.text(&tables.text(id))?;
        if self.of_strings.len() <= id.index() {
            self.of_strings.resize(id.index() + 1, NONE);
        }
        set(&mut self.of_strings, id.raw(), at);
        Some(at)
    }

    fn stack(&mut self, tables: &Recording, id: StackId) -> Option<u32> {
        if let Some(&known) = self.of_stacks.get(&id) {
            return Some(known);
        }
        let at = self.text(&frames(tables, id))?;
        // One that is defined later has another text then.
        if tables.stack(id).is_some() {
            self.take(STACK_COST)?;
            self.of_stacks.insert(id, at);
        }
        Some(at)
    }

    fn value(&mut self, tables: &Recording, value: DetailText<'_>) -> Option<KeptValue> {
        let DetailText::Number(number) = value else {
            return KeptValue::text(self.number(tables, value)?);
        };
        if let Some(small) = KeptValue::small(number) {
            return Some(small);
        }
        let large = KeptValue::large(u32::try_from(self.numbers.len()).ok()?)?;
        self.take(NUMBER_COST)?;
        self.numbers.push(number);
        Some(large)
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
        self.take(text.len() + TEXT_COST)?;
        let at = u32::try_from(self.texts.len()).ok()?;
        self.texts.push(text.into());
        self.known.insert(hash, at);
        Some(at)
    }
}

fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= LONGEST {
        return text.into();
    }
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
    use traceloom_model::{Frame, Function, Sink as _, Stack, Tables};

    use super::*;

    #[test]
    fn texts_are_kept_once_and_lists_are_bounded() {
        let (mut details, none) = (Details::new(400), Recording::default());
        let first = details.list(&none, |add| {
            add("url".into(), "/orders".into());
            add("status".into(), "200".into());
        });
        let second = details.list(&none, |add| add("url".into(), "/orders".into()));
        assert_eq!((first, second, details.texts.len()), (1, 2, 4));
        assert_eq!(details.list(&none, |_| {}), 0);
        let long = "x".repeat(500);
        assert_eq!(
            details.list(&none, |add| add("sql".into(), long.as_str().into())),
            LEFT_OUT
        );
        assert_eq!(
            details.pairs(1).collect::<Vec<_>>(),
            [
                ("url".into(), "/orders".into()),
                ("status".into(), "200".into())
            ]
        );
        assert_eq!(
            details.pairs(2).collect::<Vec<_>>(),
            [("url".into(), "/orders".into())]
        );
        assert_eq!(details.pairs(0).count() + details.pairs(9).count(), 0);
        assert_eq!(details.pairs(LEFT_OUT).count(), 0);
    }

    #[test]
    fn known_texts_take_room_too() {
        let (mut details, none) = (Details::new(400), Recording::default());
        let kept = (0..1_000)
            .filter(|_| details.list(&none, |add| add("url".into(), "/".into())) != LEFT_OUT);
        assert_eq!(
            kept.count(),
            (400 - 2 * TEXT_COST - 4) / (PAIR_COST + LIST_COST)
        );
    }

    #[test]
    fn lists_that_nobody_has_any_more_give_their_room_back() {
        let (mut details, none) = (Details::new(400), Recording::default());
        let mut numbers: Vec<u32> = (0..10)
            .map(|at| {
                details.list(&none, |add| {
                    add("sql".into(), format!("select {at}").as_str().into())
                })
            })
            .collect();
        assert_eq!(numbers.last(), Some(&LEFT_OUT));
        let kept: Vec<bool> = numbers.iter().map(|&list| list == 2 || list == 4).collect();
        numbers = details.keep(&kept);
        assert_eq!(numbers.get(..4), Some([0, 1, 0, 2].as_slice()));
        assert_eq!(
            details.pairs(1).collect::<Vec<_>>(),
            [("sql".into(), "select 1".into())]
        );
        assert_eq!(
            details.pairs(2).collect::<Vec<_>>(),
            [("sql".into(), "select 3".into())]
        );
        assert_ne!(
            details.list(&none, |add| add("sql".into(), "select 10".into())),
            LEFT_OUT
        );
    }

    #[test]
    fn a_stack_is_a_text_until_nobody_has_it_any_more() {
        let mut tables = Tables::new();
        let mut recording = Recording::default();
        let mut above = None;
        for name in ["run", "read"] {
            let name = tables.string(name);
            let function = tables.function(Function::named(name));
            let frame = tables.frame(Frame::of(function));
            above = Some(tables.stack(Stack {
                frame,
                parent: above,
                truncated: false,
            }));
        }
        let stack = above.unwrap();
        let _ = recording.define(tables.take_definitions());
        let mut details = Details::new(1_000);
        let mut list = |name: &str| {
            let add = |add: AddDetail<'_>| add(name.into(), DetailText::Stack(stack));
            details.list(&recording, add)
        };
        assert_eq!((list("stack"), list("held at")), (1, 2));
        assert_eq!(details.n_texts(), 3);
        let pair = |name: &str| (name.to_owned().into(), "read\nrun".into());
        assert!(details.pairs(2).eq([pair("held at")]));
        // What is left has other numbers, and the stack is still known.
        assert_eq!(details.keep(&[false, true]), [0, 1]);
        let add = |add: AddDetail<'_>| add("stack".into(), DetailText::Stack(stack));
        assert_eq!(details.list(&recording, add), 2);
        assert!(details.pairs(1).eq([pair("held at")]));
        assert!(details.pairs(2).eq([pair("stack")]));
        assert_eq!(details.n_texts(), 3);
        // It is made anew when it was forgotten.
        assert_eq!(details.keep(&[false, false]), [0, 0]);
        assert_eq!(details.n_texts(), 0);
        assert_eq!(details.list(&recording, add), 1);
        assert!(details.pairs(1).eq([pair("stack")]));
    }

    #[test]
    fn a_long_value_says_how_long_it_was() {
        let text = "é".repeat(3_000);
        assert!(shortened(&text).ends_with("é… (3000 characters)"));
        assert_eq!(shortened("short"), "short");
    }

    #[test]
    fn numbers_stay_numbers_until_they_are_shown() {
        let (mut details, none) = (Details::new(1_000), Recording::default());
        let lists: Vec<u32> = (0..9)
            .map(|at| {
                details.list(&none, |add| {
                    add("bytes".into(), DetailText::Number((at - 4) << 20));
                    add("url".into(), "/".into());
                    add("time".into(), DetailText::Number(i64::MAX - at));
                })
            })
            .collect();
        assert_eq!(details.texts.len(), 4);
        let room = details.room;
        let told = |details: &Details, list: u32| {
            let pairs = details
                .pairs(list)
                .map(|(name, value)| format!("{name} {value}"));
            pairs.collect::<Vec<_>>()
        };
        let third = ["bytes -2097152", "url /", "time 9223372036854775805"];
        assert_eq!(told(&details, 3), third);
        let kept: Vec<bool> = lists.iter().map(|&list| list == 3 || list == 9).collect();
        assert_eq!(details.keep(&kept).get(..4), Some([0, 0, 1, 0].as_slice()));
        assert_eq!(told(&details, 1), third);
        let ninth = ["bytes 4194304", "url /", "time 9223372036854775799"];
        assert_eq!(told(&details, 2), ninth);
        // The last five of nine have a small number.
        assert_eq!(details.numbers.len(), 3);
        let of_lists = (7 * 2 - 4) * NUMBER_COST + 7 * (3 * PAIR_COST + LIST_COST);
        assert_eq!(details.room, room + of_lists);
        // What finds no room leaves none of its numbers.
        let all = |add: AddDetail<'_>| {
            (-9..99).for_each(|at| add("bytes".into(), DetailText::Number(at)));
        };
        let room = details.room;
        assert_eq!(details.list(&none, all), LEFT_OUT);
        assert_eq!((details.room, details.numbers.len()), (room, 3));
    }
}
