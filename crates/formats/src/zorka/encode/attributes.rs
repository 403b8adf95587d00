//! Attributes of a record, those handed up to it, and values as CBOR.

use std::io::Write as _;

use traceloom_model::{Attribute, Recording, StringId, Value as ModelValue, ValueTypeId};

use super::super::cbor::{Cbor, CborValue};
use super::super::diagnostic::{self, diagnostic};
use super::super::dialect::{Generation, ValueForms};
use super::super::write;
use super::{Encoder, Handed, PendingRecord, TRACE_ID, TraceOverrides, symbol_type};
use crate::spans::parents_first::PendingSpans;
use crate::text::scalars::{decimal, digits};

/// Lists and maps inside each other that are written; deeper ones become null.
const NESTED: u32 = 128;

impl Encoder {
    /// Writes the attributes of a span without those set by others and the one at `without`, and its counters.
    pub(super) fn attributes(
        &mut self,
        own: &[Attribute],
        without: Option<usize>,
        counters: &[(ValueTypeId, i64)],
        said: TraceOverrides,
        words: &Recording,
    ) {
        if self.dialect.generation == Generation::B2 {
            let upward = self.dialect.upward;
            let written = |one: &&Attribute| {
                words.attribute_key(one.key).is_some() && !(upward && one.from.is_some())
            };
            let mut count = own.iter().filter(written).count();
            for &(id, _) in counters {
                let named = words.value_type(id).is_some();
                count += usize::from(named && !self.counts_calls(id, words));
            }
            count += usize::from(said.trace.is_some());
            count += said
                .thread
                .map_or(0, |(_, id)| 1 + usize::from(id.is_some()));
            if count == 0 {
                return;
            }
            self.trace.push(0xc0 | self.dialect.attribute_tag);
            write::head(&mut self.trace, 5, count as u64);
        }
        for (at, attribute) in own.iter().enumerate() {
            if without == Some(at) || self.dialect.upward && attribute.from.is_some() {
                continue;
            }
            if let Some(key) = self.key(attribute.key, words) {
                self.pair(key, &attribute.value, words);
            }
        }
        for &(id, value) in counters {
            if !self.counts_calls(id, words)
                && let Some(name) = self.counter(id, words)
            {
                self.pair(name, &ModelValue::I64(value), words);
            }
        }
        if let Some(id) = said.trace {
            let key = self.thread_key(2, TRACE_ID.as_bytes());
            self.start_pair(key);
            write::text(&mut self.trace, format!("{id:032x}").as_bytes());
        }
        if let Some((name, id)) = said.thread {
            let key = self.thread_key(0, b"thread.name");
            self.pair(key, &ModelValue::Text(name), words);
            if let Some(id) = id {
                let key = self.thread_key(1, b"thread.id");
                self.pair(key, &ModelValue::U64(id), words);
            }
        }
    }

    fn pair(&mut self, id: i64, value: &ModelValue, words: &Recording) {
        self.start_pair(id);
        self.value(value, words);
    }

    /// Writes the key of a pair.
    fn start_pair(&mut self, id: i64) {
        match self.dialect.generation {
            Generation::S0 => {
                let tag = 0xc0 | self.dialect.attribute_tag;
                self.trace.extend_from_slice(&[tag, 0xa1]);
                write::int(&mut self.trace, id);
            }
            Generation::B2 => {
                self.trace.push(0xc6);
                write::head(&mut self.trace, 0, id.cast_unsigned());
            }
            Generation::C => {
                self.trace.extend_from_slice(&[0xc6, 0x82]);
                write::int(&mut self.trace, id);
            }
        }
    }

    pub(super) fn upward(
        &mut self,
        ttype: Option<StringId>,
        attribute: &Attribute,
        words: &Recording,
    ) {
        let Some(key) = words.attribute_key(attribute.key) else {
            return;
        };
        let ttype = ttype.map_or(0, |kind| self.symbol(kind, symbol_type::PLAIN, words));
        let id = self.symbol(key.name, symbol_type::PLAIN, words);
        match self.dialect.generation {
            Generation::C => {
                self.trace.extend([0xc6, 0x83]);
                write::int(&mut self.trace, ttype);
                write::int(&mut self.trace, id);
            }
            Generation::B2 => {
                self.trace.extend([0xd8, 0x26, 0x82]);
                write::int(&mut self.trace, ttype);
                self.trace.push(0xa1);
                write::value(&mut self.trace, CborValue::Ref(id.cast_unsigned()));
            }
            Generation::S0 => {
                let tag = 0xc0 | self.dialect.attribute_tag;
                self.trace.extend([tag, 0xd8, 0x26, 0xa1]);
                write::int(&mut self.trace, ttype);
                self.trace.push(0xa1);
                write::int(&mut self.trace, id);
            }
        }
        self.value(&attribute.value, words);
    }

    /// Keeps attributes that another span set for the record where they are written.
    pub(super) fn take_upward(&mut self, node: &PendingRecord, kept: &PendingSpans<PendingRecord>) {
        if !self.dialect.upward || !node.handed_up {
            return;
        }
        for attribute in kept.attributes.of(node.own.attributes) {
            if let Some(from) = attribute.from {
                let handed = self.upward.entry(from).or_default();
                handed.push(Handed {
                    to: node.id,
                    kind: node.kind,
                    attribute: attribute.clone(),
                });
            }
        }
    }

    pub(super) fn value(&mut self, value: &ModelValue, words: &Recording) {
        let is_kept = match self.dialect.values {
            ValueForms::All => true,
            ValueForms::Scalars => !matches!(
                value,
                ModelValue::F64(_) | ModelValue::List(..) | ModelValue::Map(_)
            ),
            ValueForms::Texts => matches!(value, ModelValue::Text(_) | ModelValue::Null),
        };
        if !is_kept {
            self.digits.clear();
            if shown(value, &mut self.digits) {
                return write::text(&mut self.trace, &self.digits);
            }
            let mut plain = Vec::new();
            put(&mut plain, value, words, 0);
            let read = Cbor::checked(&plain).value();
            let text = read.map_or_else(|_| String::new(), |value| diagnostic(value));
            return write::text(&mut self.trace, text.as_bytes());
        }
        put(&mut self.trace, value, words, 0);
    }
}

/// Appends a number, a boolean or a list of such as its diagnostic notation; false for anything else.
fn shown(value: &ModelValue, out: &mut Vec<u8>) -> bool {
    // Nothing that is written into memory fails.
    let _ = match value {
        ModelValue::I64(value) => {
            decimal(*value, out);
            Ok(())
        }
        ModelValue::U64(value) => {
            digits(*value, out);
            Ok(())
        }
        ModelValue::F64(value) => write!(out, "{value:?}"),
        ModelValue::Bool(value) => write!(out, "{value}"),
        ModelValue::List(_, values) => return shown_list(values, out),
        _ => return false,
    };
    true
}

fn shown_list(values: &[ModelValue], out: &mut Vec<u8>) -> bool {
    let mut between = "[";
    for value in values {
        out.extend_from_slice(between.as_bytes());
        between = ", ";
        let is_list = matches!(value, ModelValue::List(..));
        if is_list || out.len() >= diagnostic::LONGEST || !shown(value, out) {
            return false;
        }
    }
    out.extend_from_slice(b"]");
    !values.is_empty() && out.len() < diagnostic::LONGEST
}

/// Appends a value as CBOR.
fn put(out: &mut Vec<u8>, value: &ModelValue, words: &Recording, depth: u32) {
    match value {
        _ if depth > NESTED => out.push(0xf6),
        ModelValue::Null => out.push(0xf6),
        ModelValue::I64(value) => write::int(out, *value),
        ModelValue::U64(value) => write::head(out, 0, *value),
        ModelValue::F64(value) => write::value(out, CborValue::F64(value.to_bits())),
        ModelValue::Bool(value) => write::value(out, CborValue::Bool(*value)),
        ModelValue::Text(id) => match words.string(*id) {
            Some(text) => write::text(out, text.as_bytes()),
            None => write::text(out, format!("#{}", id.raw()).as_bytes()),
        },
        ModelValue::Bytes(bytes) => write::value(out, CborValue::Bytes(bytes)),
        ModelValue::List(_, values) => {
            write::head(out, 4, values.len() as u64);
            for value in values {
                put(out, value, words, depth + 1);
            }
        }
        ModelValue::Map(pairs) => {
            write::head(out, 5, pairs.len() as u64);
            for (key, value) in pairs {
                put(out, key, words, depth + 1);
                put(out, value, words, depth + 1);
            }
        }
        ModelValue::Exception(id) => {
            let row = words.exception(*id);
            let text = |id: Option<StringId>| {
                id.map_or_else(String::new, |id| words.text(id).into_owned())
            };
            let class = text(row.and_then(|row| row.class));
            let message = text(row.and_then(|row| row.message));
            write::text(out, format!("{class}: {message}").as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use traceloom_model::ElementType;

    use super::*;

    #[test]
    fn numbers_and_lists_are_shown_as_in_the_diagnostic_notation() {
        let list = |values: &[ModelValue]| ModelValue::List(ElementType::Any, values.into());
        let numbers = [
            ModelValue::I64(i64::MIN),
            ModelValue::I64(-1),
            ModelValue::U64(u64::MAX),
            ModelValue::F64(-0.0),
            ModelValue::F64(1e300),
            ModelValue::F64(f64::NAN),
            ModelValue::Bool(true),
        ];
        let mut values = numbers.to_vec();
        values.extend((1..=7).map(|len| list(numbers.get(..len).unwrap())));
        values.extend([0, 2, 1365, 1366, 2000].map(|len| list(&vec![ModelValue::U64(1); len])));
        values.push(list(&[list(&[ModelValue::U64(1)])]));
        values.push(list(&[ModelValue::U64(1), ModelValue::Null]));
        let mut direct = 0;
        for value in &values {
            let (mut plain, mut text) = (Vec::new(), Vec::new());
            put(&mut plain, value, &Recording::default(), 0);
            let expected = diagnostic(Cbor::checked(&plain).value().unwrap());
            if shown(value, &mut text) {
                direct += 1;
                assert_eq!(String::from_utf8(text).unwrap(), expected);
            }
        }
        assert_eq!(direct, values.len() - 5);
    }
}
