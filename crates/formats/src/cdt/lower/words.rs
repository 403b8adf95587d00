//! Ids of the dictionary as functions and attribute keys of the model.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, AttributeKey, Class, Flow, Function, FunctionId, Limit, Limits, Note, PartId,
    Tables, Unit,
};

use super::method::Method;
use crate::cdt::dictionary::Words;
use crate::cdt::params::{Param, ParamRows};
use crate::cdt::phrase::Rows;
use crate::wire::{Cursor, Utf16};
use crate::{Error, RecordSink};

/// The words of a process, resolved when they are first used: the agent may write an id before its
/// word, and most words are never used.
#[derive(Default)]
pub(super) struct Dictionary {
    words: Vec<Option<Box<[u8]>>>,
    /// Words whose ids are far above the number of words.
    sparse: BTreeMap<u32, Box<[u8]>>,
    /// Words that came, those of one id each.
    count: usize,
    /// By id, after one that is no function: what an exit finds.
    functions: Vec<Option<FunctionId>>,
    keys: Vec<Option<AttrKeyId>>,
    far: HashMap<u32, (Option<FunctionId>, Option<AttrKeyId>), RandomState>,
    params: HashMap<Box<[u8]>, ParamKey>,
    /// Ids without a word that were used.
    missing: HashMap<u32, Missing, RandomState>,
    /// Ids of tags with a meaning of their own.
    pub(super) special: Special,
}

/// Ids below this are looked up in a table, and so are those below this many times the number of words.
const DENSE: usize = 64 << 10;
const DENSE_PER_WORD: usize = 8;

/// Tags that the agent gives a meaning. The first two have the same id everywhere (§0).
#[derive(Clone, Copy, Debug)]
pub(super) struct Special {
    pub(super) call_info: u32,
    pub(super) call_red: u32,
    pub(super) java_thread: Option<u32>,
}

impl Default for Special {
    fn default() -> Self {
        Self {
            call_info: 0,
            call_red: 1,
            java_thread: None,
        }
    }
}

/// Where an id without a word is used first, and how often.
struct Missing {
    part: u32,
    offset: u64,
    count: u64,
}

struct ParamKey {
    index: bool,
    list: bool,
    order: i32,
    signature: Box<[u8]>,
}

impl Dictionary {
    fn put(&mut self, id: u32, text: Utf16<'_>, limit: usize) {
        let at = id as usize;
        if at >= limit {
            return;
        }
        self.count += 1;
        let text = text.to_wtf8();
        match text.as_slice() {
            b"call.info" => self.special.call_info = id,
            b"call.red" => self.special.call_red = id,
            b"java.thread" => self.special.java_thread = Some(id),
            _ => {}
        }
        let text = text.into_boxed_slice();
        // A table by id is as long as the largest id, which a few bytes may say: it grows with the words that came.
        if at >= self.words.len() && at < DENSE + DENSE_PER_WORD.saturating_mul(self.count) {
            self.words.resize(at + 1, None);
        }
        match self.words.get_mut(at) {
            Some(slot) => *slot = Some(text),
            None => {
                self.sparse.insert(id, text);
            }
        }
    }

    #[inline]
    fn word(&self, id: u32) -> Option<&[u8]> {
        match self.words.get(id as usize) {
            Some(Some(word)) => Some(word),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&id).map(AsRef::as_ref),
        }
    }

    /// Returns true if an id has a word.
    #[inline]
    pub(super) fn knows(&self, id: u32) -> bool {
        self.word(id).is_some()
    }

    /// Remembers that an id is used at an offset of a part, where it has no word.
    #[inline]
    pub(super) fn used(&mut self, id: u32, part: u32, offset: u64) {
        if self.word(id).is_none() {
            self.miss(id, part, offset);
        }
    }

    #[cold]
    fn miss(&mut self, id: u32, part: u32, offset: u64) {
        if self.missing.len() >= 100_000 && !self.missing.contains_key(&id) {
            return;
        }
        let missing = self.missing.entry(id).or_insert(Missing {
            part,
            offset,
            count: 0,
        });
        missing.count += 1;
        if missing.part == part {
            missing.offset = missing.offset.min(offset);
        }
    }

    /// Returns a note for each word that is missing, in the order of first uses; one for all where there
    /// is no dictionary.
    pub(super) fn missing(&self, dictionary: bool) -> Vec<Note> {
        let mut missing: Vec<(u32, &Missing)> = self
            .missing
            .iter()
            .map(|(&id, missing)| (id, missing))
            .collect();
        missing.sort_by_key(|&(id, missing)| (missing.part, missing.offset, id));
        if !dictionary {
            let text = "no dictionary is beside it: methods and parameters are shown as #id";
            let note = |&(_, first): &(u32, &Missing)| Note {
                part: PartId(first.part),
                ..crate::info("no_dictionary", first.offset, text)
            };
            return missing.first().map(note).into_iter().collect();
        }
        let note = |(id, missing): (u32, &Missing)| Note {
            part: PartId(missing.part),
            count: missing.count,
            ..crate::warn(
                "missing_word",
                missing.offset,
                format!("the dictionary has no word {id}"),
            )
        };
        missing.into_iter().map(note).collect()
    }

    /// Returns the function of an id.
    #[inline]
    pub(super) fn function(&mut self, id: u32, tables: &mut Tables) -> FunctionId {
        match self.functions.get((id as usize).saturating_add(1)) {
            Some(&Some(function)) => function,
            _ => self.new_function(id, tables),
        }
    }

    /// Defines the words that nothing referred to, methods as functions and the rest as keys, and the keys
    /// that have display rules alone.
    pub(super) fn define_unused(&mut self, tables: &mut Tables) {
        let sparse: Vec<u32> = self.sparse.keys().copied().collect();
        for id in (0..).take(self.words.len()).chain(sparse) {
            let at = id as usize;
            let is_used = self.functions.get(at + 1).is_some_and(Option::is_some)
                || self.keys.get(at).is_some_and(Option::is_some)
                || self.far.contains_key(&id);
            let Some(word) = self.word(id).filter(|_| !is_used) else {
                continue;
            };
            let text = std::str::from_utf8(word).ok();
            if text.and_then(Method::parse).is_some() {
                self.function(id, tables);
            } else {
                self.key(id, tables);
            }
        }
        let mut rules: Vec<&[u8]> = self.params.keys().map(AsRef::as_ref).collect();
        rules.sort_unstable();
        for word in rules {
            let key = self.described(word, tables);
            tables.attribute_key(key);
        }
    }

    /// Returns the key that a word names, with its display rules.
    fn described(&self, word: &[u8], tables: &mut Tables) -> AttributeKey {
        let mut key = AttributeKey::named(tables.bytes(word));
        if let Some(param) = self.params.get(word) {
            key.order = param.order;
            key.list = param.list;
            key.index = param.index;
            key.signature = (!param.signature.is_empty()).then(|| tables.bytes(&param.signature));
        }
        key.unit = unit_of(word);
        key
    }

    /// Returns the functions resolved so far, by id, after one that is none.
    pub(super) fn functions(&self) -> &[Option<FunctionId>] {
        &self.functions
    }

    #[cold]
    fn new_function(&mut self, id: u32, tables: &mut Tables) -> FunctionId {
        if let Some(&(Some(function), _)) = self.far.get(&id) {
            return function;
        }
        let function = match self.word(id) {
            Some(word) => match std::str::from_utf8(word).ok().and_then(Method::parse) {
                Some(method) => function_of(&method, word, tables),
                None => Function::named(tables.bytes(word)),
            },
            None => Function::named(tables.string(&format!("#{id}"))),
        };
        let function = tables.function(function);
        let at = id as usize;
        // An id without a word is looked up each time, so that its uses are counted.
        if at < self.words.len() && self.word(id).is_some() {
            self.functions.resize(self.words.len() + 1, None);
            if let Some(slot) = self.functions.get_mut(at + 1) {
                *slot = Some(function);
            }
        } else {
            self.far.entry(id).or_default().0 = Some(function);
        }
        function
    }

    /// Returns the attribute key of an id.
    pub(super) fn key(&mut self, id: u32, tables: &mut Tables) -> AttrKeyId {
        if let Some(&Some(key)) = self.keys.get(id as usize) {
            return key;
        }
        if let Some(&(_, Some(key))) = self.far.get(&id) {
            return key;
        }
        let key = match self.word(id) {
            Some(word) => self.described(word, tables),
            None => AttributeKey::named(tables.string(&format!("#{id}"))),
        };
        let key = tables.attribute_key(key);
        let at = id as usize;
        if at < self.words.len() {
            self.keys.resize(self.words.len(), None);
            if let Some(slot) = self.keys.get_mut(at) {
                *slot = Some(key);
            }
        } else {
            self.far.entry(id).or_default().1 = Some(key);
        }
        key
    }
}

fn function_of(method: &Method<'_>, word: &[u8], tables: &mut Tables) -> Function {
    let optional =
        |tables: &mut Tables, text: &str| (!text.is_empty()).then(|| tables.string(text));
    let name = tables.string(method.name);
    let class = tables.string(method.class);
    let package = method
        .class
        .rsplit_once('.')
        .map_or("", |(package, _)| package);
    let file = optional(tables, method.file);
    let signature = format!("{} ({})", method.returns, method.arguments);
    let class = Class {
        name: class,
        superclass: None,
        loader: None,
        file,
    };
    Function {
        name,
        system_name: Some(tables.bytes(word)),
        class: Some(tables.class(class)),
        package: optional(tables, package),
        library: optional(tables, method.jar),
        file,
        line: method.line,
        signature: Some(tables.string(&signature)),
        modifiers: 0,
    }
}

/// The unit of a tag that the agent adds itself (§6.5). Values are texts in milliseconds and bytes.
fn unit_of(word: &[u8]) -> Unit {
    match word {
        b"memory.allocated" | b"io.disk.read" | b"io.disk.written" | b"io.net.read"
        | b"io.net.written" => Unit::Bytes,
        b"log.generated" | b"log.written" => Unit::Chars,
        _ => Unit::Count,
    }
}

/// Reads a dictionary part into a [`Dictionary`] instead of records.
pub(super) struct WordRows<'d> {
    pub(super) rows: Words,
    pub(super) into: &'d mut Dictionary,
    limit: usize,
}

impl<'d> WordRows<'d> {
    pub(super) fn new(limits: &Limits, into: &'d mut Dictionary) -> Self {
        Self {
            rows: Words::new(limits),
            into,
            limit: limits.size(Limit::Table),
        }
    }
}

impl Rows for WordRows<'_> {
    const WHAT: &'static str = "word";

    fn row(&mut self, cursor: &mut Cursor<'_>, out: &mut dyn RecordSink) -> Result<Flow, Error> {
        let offset = cursor.offset();
        let word = self.rows.word(cursor)?;
        self.into.put(word.id, word.text, self.limit);
        if word.id as usize == self.limit {
            let text = format!("word {} and later ones are above the table limit", word.id);
            return Ok(out.note(crate::damage("limit_table", offset, text)));
        }
        Ok(Flow::Continue(()))
    }

    fn decide(&mut self, head: &[u8], whole: bool) -> bool {
        self.rows.decide(head, whole)
    }
}

/// Reads a params part into a [`Dictionary`].
pub(super) struct ParamsInto<'d> {
    rows: ParamRows,
    version: bool,
    into: &'d mut Dictionary,
    string_limit: usize,
}

impl<'d> ParamsInto<'d> {
    pub(super) fn new(limits: &Limits, into: &'d mut Dictionary) -> Self {
        Self {
            rows: ParamRows::new(limits),
            version: false,
            into,
            string_limit: limits.size(Limit::String),
        }
    }
}

impl Rows for ParamsInto<'_> {
    const WHAT: &'static str = "parameter";

    fn row(&mut self, cursor: &mut Cursor<'_>, out: &mut dyn RecordSink) -> Result<Flow, Error> {
        if !self.version {
            let flow = self.rows.row(cursor, out)?;
            self.version = true;
            return Ok(flow);
        }
        let param = Param::read(cursor, self.string_limit)?;
        let key = ParamKey {
            index: param.index,
            list: param.list,
            order: param.order.cast_signed(),
            signature: param.signature.to_wtf8().into_boxed_slice(),
        };
        let name = param.name.to_wtf8().into_boxed_slice();
        self.into.params.insert(name, key);
        Ok(Flow::Continue(()))
    }

    fn decide(&mut self, head: &[u8], whole: bool) -> bool {
        self.rows.decide(head, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_id_takes_the_memory_of_one_word() {
        let mut words = Dictionary::default();
        let units: Vec<u8> = "void a.B.c() (B.java:1) [b.jar]"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        let last = (64 << 20) - 1;
        for id in [3, last, last - 7] {
            words.put(id, Utf16(&units), 64 << 20);
        }
        assert!(
            words.words.capacity() <= 2 * DENSE,
            "{}",
            words.words.capacity()
        );
        assert!(words.knows(3) && words.knows(last) && words.knows(last - 7));
        assert!(!words.knows(last - 1));
        let mut tables = Tables::new();
        let function = words.function(last, &mut tables);
        assert_eq!(
            words.function(3, &mut tables),
            function,
            "one word, one function"
        );
        let key = words.key(last - 7, &mut tables);
        assert_eq!(words.key(last - 7, &mut tables), key);
        words.define_unused(&mut tables);
        assert!(words.functions.capacity() <= 2 * DENSE);
        assert!(words.missing(true).is_empty());
    }

    #[test]
    fn ids_in_order_are_a_table() {
        let mut words = Dictionary::default();
        for id in 0..1000 {
            words.put(id, Utf16(&[0, b'a']), 64 << 20);
        }
        assert_eq!((words.words.len(), words.sparse.len()), (1000, 0));
    }
}
