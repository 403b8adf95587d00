//! Symbols and methods of one agent session, and what they become in the model (SPEC.md §3).
//!
//! A session's numbers mean nothing in another: each has tables of its own, and a reset empties them.

use std::collections::HashMap as StdHashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, AttributeKey, Class, FrameId, Function, FunctionId, Limit, Limits, StringId, Tables,
};

use super::cbor::CborValue;
use super::record::{Method, Symbol};
use super::stream::{TICK_NS, ticks_between};

type HashMap<K, V> = StdHashMap<K, V, RandomState>;

/// Ids that are looked up in a row of their own: agents count from 1.
const DENSE: usize = 1 << 16;

/// What small numbers became: a row by number, and a table for those that are not small.
#[derive(Debug)]
struct SmallNumberTable<T> {
    dense: Vec<Option<T>>,
    sparse: HashMap<i64, T>,
}

impl<T> Default for SmallNumberTable<T> {
    fn default() -> Self {
        Self {
            dense: Vec::new(),
            sparse: HashMap::default(),
        }
    }
}

impl<T: Copy> SmallNumberTable<T> {
    #[inline(always)]
    fn of(&self, id: i64) -> Option<T> {
        match usize::try_from(id) {
            Ok(at) if at < DENSE => self.dense.get(at).copied().flatten(),
            _ => self.sparse.get(&id).copied(),
        }
    }

    fn set(&mut self, id: i64, known: T) {
        match usize::try_from(id) {
            Ok(at) if at < DENSE => {
                if self.dense.len() <= at {
                    self.dense.resize(at + 1, None);
                }
                if let Some(slot) = self.dense.get_mut(at) {
                    *slot = Some(known);
                }
            }
            _ => {
                self.sparse.insert(id, known);
            }
        }
    }

    fn clear(&mut self) {
        self.dense.clear();
        self.sparse.clear();
    }
}

/// A frame of a stack as a stream names it: class, method, file, line.
pub(crate) type FrameNames = [i64; 4];

/// Texts by symbol id, methods by method id: two separate number spaces.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionSymbols {
    texts: HashMap<u64, Box<[u8]>>,
    methods: HashMap<i64, Method>,
}

impl SessionSymbols {
    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Defines a symbol; returns whether what was known before has changed, or the table is full.
    ///
    /// In B a later definition wins, in C the first.
    pub(crate) fn define(&mut self, symbol: &Symbol<'_>, limits: &Limits) -> Result<bool, ()> {
        let text = match symbol.text {
            CborValue::Text(text) => text,
            _ => return Ok(false),
        };
        self.define_text(
            symbol.id.cast_unsigned(),
            text,
            symbol.symbol_type.is_some(),
            limits,
        )
    }

    pub(crate) fn define_text(
        &mut self,
        id: u64,
        text: &[u8],
        last_wins: bool,
        limits: &Limits,
    ) -> Result<bool, ()> {
        if let Some(known) = self.texts.get_mut(&id) {
            let changes = last_wins && **known != *text;
            if changes {
                *known = text.into();
            }
            return Ok(changes);
        }
        if self.texts.len() as u64 >= limits.of(Limit::Table) {
            return Err(());
        }
        self.texts.insert(id, text.into());
        Ok(true)
    }

    pub(crate) fn define_method(&mut self, method: &Method, limits: &Limits) -> Result<bool, ()> {
        if self.methods.get(&method.id) == Some(method) {
            return Ok(false);
        }
        if self.methods.len() as u64 >= limits.of(Limit::Table) {
            return Err(());
        }
        self.methods.insert(method.id, *method);
        Ok(true)
    }

    fn text(&self, id: u64) -> Option<&[u8]> {
        self.texts.get(&id).map(|text| &**text)
    }
}

/// One agent session while it is lowered: its tables, those of its folder behind them, and caches.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) own: SessionSymbols,
    functions: SmallNumberTable<FunctionId>,
    keys: SmallNumberTable<AttrKeyId>,
    frames: HashMap<FrameNames, FrameId>,
    /// Nanosecond clock of the last trace that had one: all traces of a process share its origin.
    pub(crate) base: Option<Base>,
}

/// Where a clock stands: the wall time of a raw time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Base {
    pub(crate) clock_ns: i64,
    pub(crate) raw: i64,
    pub(crate) ticks: bool,
}

impl Base {
    /// Returns the wall time of a raw time of the same kind.
    #[inline]
    pub(crate) fn wall(&self, raw: i64) -> i64 {
        let past = if self.ticks {
            ticks_between(self.raw, raw).saturating_mul(TICK_NS)
        } else {
            raw.saturating_sub(self.raw)
        };
        self.clock_ns.saturating_add(past)
    }
}

impl Session {
    /// A session that begins with these definitions.
    pub(crate) fn of(own: SessionSymbols) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// Forgets what was resolved, after a definition changed.
    pub(crate) fn forget(&mut self) {
        self.functions.clear();
        self.keys.clear();
        self.frames.clear();
    }

    /// Empties the tables: the agent sends everything again.
    pub(crate) fn reset(&mut self) {
        self.own = SessionSymbols::default();
        self.forget();
    }

    /// Returns the text of a symbol.
    pub(crate) fn text<'s>(&'s self, union: &'s SessionSymbols, id: u64) -> Option<&'s [u8]> {
        self.own.text(id).or_else(|| union.text(id))
    }

    /// Interns the text of a symbol, `#id` when it is not defined.
    pub(crate) fn string(&self, union: &SessionSymbols, id: u64, tables: &mut Tables) -> StringId {
        match self.text(union, id) {
            Some(text) => tables.bytes(text),
            None => tables.string(&format!("#{id}")),
        }
    }

    /// Returns the function of a method id; none for 0, which stands for no method.
    #[inline]
    pub(crate) fn function(
        &mut self,
        union: &SessionSymbols,
        id: i64,
        tables: &mut Tables,
    ) -> Option<FunctionId> {
        if let Some(function) = self.functions.of(id) {
            return Some(function);
        }
        self.new_function(union, id, tables)
    }

    fn new_function(
        &mut self,
        union: &SessionSymbols,
        id: i64,
        tables: &mut Tables,
    ) -> Option<FunctionId> {
        let known = self.own.methods.get(&id).or_else(|| union.methods.get(&id));
        let function = match known.copied() {
            None if id == 0 => return None,
            None => Function::named(tables.string(&format!("#{id}"))),
            Some(method) => self.named(union, &method, tables),
        };
        let function = tables.function(function);
        self.functions.set(id, function);
        Some(function)
    }

    fn named(&self, union: &SessionSymbols, method: &Method, tables: &mut Tables) -> Function {
        let text = |id: i64| match self.text(union, id.cast_unsigned()) {
            Some(text) => text.to_vec(),
            None => format!("#{id}").into_bytes(),
        };
        let mut name = Vec::new();
        if method.class != 0 {
            name.extend(text(method.class));
            name.push(b'.');
        }
        name.extend(text(method.name));
        let class = (method.class != 0).then(|| {
            let name = tables.bytes(&text(method.class));
            tables.class(Class {
                name,
                superclass: None,
                loader: None,
                file: None,
            })
        });
        let signature = (method.signature != 0).then(|| {
            let text = text(method.signature);
            tables.bytes(&text)
        });
        Function {
            class,
            signature,
            ..Function::named(tables.bytes(&name))
        }
    }

    /// Returns the key of an attribute named by a symbol.
    pub(crate) fn key(
        &mut self,
        union: &SessionSymbols,
        id: u64,
        tables: &mut Tables,
    ) -> AttrKeyId {
        let number = id.cast_signed();
        if let Some(key) = self.keys.of(number) {
            return key;
        }
        let name = self.string(union, id, tables);
        let key = tables.attribute_key(AttributeKey::named(name));
        self.keys.set(number, key);
        key
    }

    /// Returns the frame of a stack that was named so before.
    pub(crate) fn frame(&self, names: &FrameNames) -> Option<FrameId> {
        self.frames.get(names).copied()
    }

    /// Remembers what a frame became, until a definition changes.
    pub(crate) fn know_frame(&mut self, names: FrameNames, frame: FrameId, limits: &Limits) {
        if (self.frames.len() as u64) < limits.of(Limit::Table) {
            self.frames.insert(names, frame);
        }
    }
}
