//! What was found of attribute keys, value types and functions, by their rows.

use traceloom_model::{AttrKeyId, FunctionId, Recording, StringId, ValueTypeId};

use super::{Encoder, symbol_type};
use crate::codec::ById;

/// Rows that were looked at.
#[derive(Debug, Default)]
pub(super) struct RowCache {
    keys: ById<SymbolKey>,
    counters: ById<SymbolKey>,
    methods: ById<i64>,
    /// Symbols of the keys that name threads.
    threads: ById<i64>,
    /// How many methods were numbered.
    pub(super) n_methods: i64,
}

/// What an attribute or a counter means to this format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AttributeRole {
    /// Nothing.
    Plain,
    /// An attribute that keeps the flags of a record.
    Flags,
    /// An attribute that names the thread of a trace.
    Thread,
    /// A counter of calls, which has a place of its own.
    Calls,
}

#[derive(Clone, Copy, Debug)]
struct SymbolKey {
    role: AttributeRole,
    /// The symbol of its name, once it was written.
    symbol: Option<i64>,
}

impl RowCache {
    #[inline]
    pub(super) fn method(&self, id: FunctionId) -> Option<i64> {
        self.methods.get(id.index()).copied()
    }

    pub(super) fn number(&mut self, id: FunctionId, number: i64) {
        self.n_methods = number;
        self.methods.put(id.index(), number);
    }
}

impl Encoder {
    /// Returns what an attribute means; nothing when its key was never defined.
    #[inline]
    pub(super) fn role(&mut self, id: AttrKeyId, words: &Recording) -> AttributeRole {
        if let Some(known) = self.known.keys.get(id.index()) {
            return known.role;
        }
        let Some(key) = words.attribute_key(id) else {
            return AttributeRole::Plain;
        };
        let role = match words.text(key.name).as_ref() {
            "flags" => AttributeRole::Flags,
            "thread.name" | "thread.id" => AttributeRole::Thread,
            _ => AttributeRole::Plain,
        };
        let key = SymbolKey { role, symbol: None };
        self.known.keys.put(id.index(), key);
        role
    }

    /// Returns the symbol of an attribute's name, none when its key was never defined.
    #[inline]
    pub(super) fn key(&mut self, id: AttrKeyId, words: &Recording) -> Option<i64> {
        if let Some(known) = self.known.keys.get(id.index())
            && known.symbol.is_some()
        {
            return known.symbol;
        }
        let name = words.attribute_key(id)?.name;
        let role = self.role(id, words);
        let (written, symbol) = self.named(name, words);
        self.known.keys.put(id.index(), SymbolKey { role, symbol });
        Some(written)
    }

    /// Returns the symbol of a key that names threads, the `number`-th of them.
    pub(super) fn thread_key(&mut self, number: usize, text: &[u8]) -> i64 {
        if let Some(&known) = self.known.threads.get(number) {
            return known;
        }
        let symbol = self.symbol_of(text, symbol_type::PLAIN);
        self.known.threads.put(number, symbol);
        symbol
    }

    /// Returns true if a counter is the number of calls, which has a place of its own.
    #[inline]
    pub(super) fn counts_calls(&mut self, id: ValueTypeId, words: &Recording) -> bool {
        if let Some(known) = self.known.counters.get(id.index()) {
            return known.role == AttributeRole::Calls;
        }
        let Some(row) = words.value_type(id) else {
            return false;
        };
        let calls = words.text(row.name) == "calls";
        let role = if calls {
            AttributeRole::Calls
        } else {
            AttributeRole::Plain
        };
        let key = SymbolKey { role, symbol: None };
        self.known.counters.put(id.index(), key);
        calls
    }

    /// Returns the symbol of a counter's name, none when its type was never defined.
    pub(super) fn counter(&mut self, id: ValueTypeId, words: &Recording) -> Option<i64> {
        if let Some(known) = self.known.counters.get(id.index())
            && known.symbol.is_some()
        {
            return known.symbol;
        }
        let name = words.value_type(id)?.name;
        let calls = self.counts_calls(id, words);
        let role = if calls {
            AttributeRole::Calls
        } else {
            AttributeRole::Plain
        };
        let (written, symbol) = self.named(name, words);
        let key = SymbolKey { role, symbol };
        self.known.counters.put(id.index(), key);
        Some(written)
    }

    /// Returns the symbol of a name, and once more where that may be kept.
    fn named(&mut self, name: StringId, words: &Recording) -> (i64, Option<i64>) {
        let symbol = self.symbol(name, symbol_type::PLAIN, words);
        (symbol, words.string(name).map(|_| symbol))
    }
}
