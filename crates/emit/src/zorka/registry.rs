//! The numbers of texts and methods.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cbor;

/// Number of a text; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct SymbolId(pub(super) u32);

/// Number of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodId(pub(super) u32);

const SYMBOL: u8 = 1;
const METHOD: u8 = 2;

/// Names of classes, methods, attributes and trace types, and what was made of them. One serves the whole process.
///
/// It grows with what is different and forgets nothing: names belong here, values of attributes do not.
#[derive(Debug, Default)]
pub struct Registry {
    known: Mutex<KnownNames>,
}

#[derive(Debug, Default)]
struct KnownNames {
    symbols: HashMap<Box<str>, SymbolId>,
    methods: HashMap<[SymbolId; 3], MethodId>,
    /// Every definition in the order of the numbers, as it is sent.
    definitions: Vec<u8>,
}

impl Registry {
    /// Returns the number of a text.
    ///
    /// ```
    /// use traceloom_emit::zorka::Registry;
    ///
    /// let registry = Registry::default();
    /// assert_eq!(registry.symbol("url"), registry.symbol("url"));
    /// assert_ne!(registry.symbol("url"), registry.symbol("status"));
    /// ```
    ///
    /// # Panics
    /// At 2^32 texts.
    pub fn symbol(&self, text: &str) -> SymbolId {
        self.lock().symbol(text)
    }

    /// Returns the number of a method, whose signature is a descriptor such as `(I)V` or empty.
    ///
    /// # Panics
    /// At 2^32 methods.
    pub fn method(&self, class: &str, name: &str, signature: &str) -> MethodId {
        self.lock().method(class, name, signature)
    }

    /// Returns the definitions from `sent` bytes on.
    pub(super) fn definitions(&self, sent: usize) -> Vec<u8> {
        self.lock().definitions[sent..].to_vec()
    }

    fn lock(&self) -> MutexGuard<'_, KnownNames> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownNames {
    fn symbol(&mut self, text: &str) -> SymbolId {
        if let Some(&id) = self.symbols.get(text) {
            return id;
        }
        let id = SymbolId(next(self.symbols.len()));
        self.symbols.insert(text.into(), id);
        let out = &mut self.definitions;
        cbor::tag(out, SYMBOL);
        cbor::array(out, 2);
        cbor::unsigned(out, id.0.into());
        cbor::text(out, text);
        id
    }

    fn method(&mut self, class: &str, name: &str, signature: &str) -> MethodId {
        let parts = [class, name, signature].map(|text| self.symbol(text));
        if let Some(&id) = self.methods.get(&parts) {
            return id;
        }
        let id = MethodId(next(self.methods.len()));
        self.methods.insert(parts, id);
        let out = &mut self.definitions;
        cbor::tag(out, METHOD);
        cbor::array(out, 4);
        for number in [id.0, parts[0].0, parts[1].0, parts[2].0] {
            cbor::unsigned(out, number.into());
        }
        id
    }
}

fn next(n_known: usize) -> u32 {
    let next = u32::try_from(n_known).ok().and_then(|n| n.checked_add(1));
    next.expect("fewer than 2^32 names")
}
