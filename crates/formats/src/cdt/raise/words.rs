//! The dictionary and the params of what is written.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{AttrKeyId, FunctionId};

use super::tables::StreamTables;
use crate::cdt::params::{Param, VERSION};
use crate::cdt::text;
use crate::codec::ById;
use crate::wire::Utf16;

/// The ids that agents give the same word everywhere (§0).
const FIRST: [&str; 3] = ["call.info", "call.red", "call.idle"];
pub(super) const CALL_INFO: u32 = 0;
pub(super) const CALL_RED: u32 = 1;

/// A word that a table of the model has.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum TableWord {
    Function(FunctionId),
    Key(AttrKeyId),
}

/// Ids handed out so far. Words are written at the end, because a definition may come late.
#[derive(Default)]
pub(super) struct WordNumbers {
    functions: ById<u32>,
    keys: HashMap<AttrKeyId, u32, RandomState>,
    others: HashMap<String, u32, RandomState>,
    order: Vec<(u32, TableWord)>,
    named: Vec<(u32, String)>,
    next: u32,
}

impl WordNumbers {
    fn new_id(&mut self) -> u32 {
        let first = u32::try_from(FIRST.len()).unwrap_or(0);
        let id = self.next + first;
        self.next = self.next.saturating_add(1);
        id
    }

    pub(super) fn function(&mut self, id: FunctionId) -> u32 {
        if let Some(&word) = self.functions.get(id.index()) {
            return word;
        }
        let word = self.new_id();
        self.functions.put(id.index(), word);
        self.order.push((word, TableWord::Function(id)));
        word
    }

    pub(super) fn key(&mut self, id: AttrKeyId, names: &StreamTables) -> u32 {
        if let Some(&word) = self.keys.get(&id) {
            return word;
        }
        let name = names.key(id).map(|key| names.bytes(key.name));
        let same = |first: &&str| name.as_deref() == Some(first.as_bytes());
        let word = match (0..).zip(FIRST.iter()).find(|(_, first)| same(first)) {
            Some((word, _)) => word,
            None => {
                let word = self.new_id();
                self.order.push((word, TableWord::Key(id)));
                word
            }
        };
        self.keys.insert(id, word);
        word
    }

    /// Takes the words that were handed out away from those that were defined.
    pub(super) fn take_used(&self, defined: &mut BTreeMap<usize, Vec<TableWord>>) {
        let is_unused = |word: &TableWord| match word {
            TableWord::Function(id) => self.functions.get(id.index()).is_none(),
            TableWord::Key(id) => !self.keys.contains_key(id),
        };
        defined
            .values_mut()
            .for_each(|words| words.retain(is_unused));
    }

    /// Adds words that nothing refers to.
    pub(super) fn add(&mut self, words: Vec<TableWord>, names: &StreamTables) {
        for word in words {
            match word {
                TableWord::Function(id) => self.function(id),
                TableWord::Key(id) => self.key(id, names),
            };
        }
    }

    /// Returns the id of a word that no table has.
    pub(super) fn word(&mut self, text: &str) -> u32 {
        if let Some(&word) = self.others.get(text) {
            return word;
        }
        let word = self.new_id();
        self.others.insert(text.to_owned(), word);
        self.named.push((word, text.to_owned()));
        word
    }

    /// Shows the records of the dictionary, in order of their ids.
    pub(super) fn dictionary(&self, names: &StreamTables, each: &mut dyn FnMut(&[u8])) {
        let mut record = Vec::new();
        let mut put = |word: &[u8]| {
            record.clear();
            text::put(&mut record, Utf16(&Utf16::encode_wtf8(word)));
            each(&record);
        };
        FIRST.iter().for_each(|word| put(word.as_bytes()));
        let mut tables = self.order.iter().peekable();
        let mut named = self.named.iter().peekable();
        loop {
            let next_named = named.peek().map_or(u32::MAX, |(id, _)| *id);
            match tables.next_if(|(id, _)| *id < next_named) {
                Some((_, TableWord::Function(id))) => put(&names.method(*id)),
                Some((_, TableWord::Key(id))) => match names.key(*id) {
                    Some(key) => put(&names.bytes(key.name)),
                    None => put(format!("#{}", id.raw()).as_bytes()),
                },
                None => match named.next() {
                    Some((_, text)) => put(text.as_bytes()),
                    None => return,
                },
            }
        }
    }

    /// Shows the records of the params stream: the version, then the keys that have display rules.
    pub(super) fn params(&self, names: &StreamTables, each: &mut dyn FnMut(&[u8])) {
        each(&[VERSION]);
        let mut keys: Vec<(u32, AttrKeyId)> =
            self.keys.iter().map(|(&id, &word)| (word, id)).collect();
        keys.sort_unstable_by_key(|&(word, id)| (word, id.raw()));
        let mut record = Vec::new();
        for key in keys.into_iter().filter_map(|(_, id)| names.key(id)) {
            let ruled = key.order != 0 || key.list || key.index || key.signature.is_some();
            if !ruled {
                continue;
            }
            let name = Utf16::encode_wtf8(&names.bytes(key.name));
            let signature = key.signature.map(|id| Utf16::encode_wtf8(&names.bytes(id)));
            record.clear();
            Param {
                name: Utf16(&name),
                index: key.index,
                list: key.list,
                order: key.order.cast_unsigned(),
                signature: Utf16(signature.as_deref().unwrap_or(&[])),
            }
            .write(&mut record);
            each(&record);
        }
    }
}
