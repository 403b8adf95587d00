//! Symbols and methods, numbered as they are used and defined before.

use traceloom_model::{FunctionId, Recording, StringId};

use super::super::cbor::CborValue;
use super::super::dialect::Generation;
use super::super::record::{Item, Method, Symbol};
use super::super::write;
use super::{Encoder, symbol_type};
use crate::Error;

impl Encoder {
    /// Defines a symbol that nothing uses, for a stream of nothing: no bytes at all could be of any format.
    pub(in crate::zorka) fn define_one(&mut self, out: &mut Vec<u8>) {
        self.symbol_of(b"component", symbol_type::PLAIN);
        out.append(&mut self.definitions);
    }

    /// Numbers a text, defining it when it is new.
    pub(super) fn symbol(&mut self, text: StringId, kind: i64, words: &Recording) -> i64 {
        if let Some(&known) = self.of_texts.get(&text) {
            return known;
        }
        match words.string(text) {
            Some(string) => {
                let id = self.symbol_of(string.as_bytes(), kind);
                self.of_texts.insert(text, id);
                id
            }
            None => self.symbol_of(format!("#{}", text.raw()).as_bytes(), kind),
        }
    }

    pub(super) fn symbol_of(&mut self, text: &[u8], kind: i64) -> i64 {
        if let Some(&id) = self.symbols.get(text) {
            return id;
        }
        let mut id = self.last_symbol + 1;
        while self.reserved.remove(&id) {
            id += 1;
        }
        self.last_symbol = id;
        self.symbols.insert(text.into(), id);
        let symbol = Symbol {
            id,
            text: CborValue::Text(text),
            symbol_type: self.dialect.typed_symbols.then_some(kind),
        };
        write::item(&mut self.definitions, &Item::Symbol(symbol));
        id
    }

    /// Numbers a method; 0 stands for none.
    pub(super) fn method(
        &mut self,
        function: Option<FunctionId>,
        words: &Recording,
    ) -> Result<i64, Error> {
        let Some(id) = function else { return Ok(0) };
        if let Some(known) = self.known.method(id) {
            return Ok(known);
        }
        let number = self.known.n_methods + 1;
        if number > 0xff_ffff && self.dialect.generation != Generation::C {
            let text = "more than 16,777,215 methods: packed words have 24 bits for them";
            return Err(Error::limit(0, text));
        }
        let (class, name) = self.class_and_name(id, words);
        let signature = words.function(id).and_then(|function| function.signature);
        let signature =
            signature.map_or(0, |text| self.symbol(text, symbol_type::SIGNATURE, words));
        let method = Method {
            id: number,
            class,
            name,
            signature,
        };
        write::item(&mut self.definitions, &Item::Method(method));
        self.known.number(id, number);
        Ok(number)
    }

    /// Splits a function into the symbols of its class and of its name in it.
    pub(super) fn class_and_name(&mut self, id: FunctionId, words: &Recording) -> (i64, i64) {
        let function = words.function(id);
        let whole = match function.and_then(|function| words.string(function.name)) {
            Some(text) => text.as_bytes().to_vec(),
            None => format!("#{}", id.raw()).into_bytes(),
        };
        let class = function
            .and_then(|function| words.class(function.class?))
            .and_then(|class| words.string(class.name));
        let Some(class) = class else {
            return (0, self.symbol_of(&whole, symbol_type::METHOD));
        };
        let own = whole
            .strip_prefix(class.as_bytes())
            .and_then(|rest| rest.strip_prefix(b"."));
        let class = self.symbol_of(class.as_bytes(), symbol_type::CLASS);
        (
            class,
            self.symbol_of(own.unwrap_or(&whole), symbol_type::METHOD),
        )
    }
}
