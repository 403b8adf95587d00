//! Exceptions with their stacks and causes, in the order of their generation.

use traceloom_model::bounds::saturated_i64;
use traceloom_model::{ExceptionId, FrameKind, Recording};

use super::super::cbor::CborValue;
use super::super::dialect::Generation;
use super::super::record::Item;
use super::super::write;
use super::{Encoder, symbol_type};

impl Encoder {
    /// Writes an exception the first time, and what refers to it after that.
    pub(super) fn exception(&mut self, id: ExceptionId, words: &Recording) {
        if let Some(&number) = self.exceptions.get(&id) {
            let tag = self.dialect.exception_ref_tag;
            let id = number.cast_unsigned();
            return self.item(&Item::ExceptionRef { tag, id });
        }
        let mut chain = vec![id];
        let mut cause = None;
        while let Some(&last) = chain.last() {
            let next = words.exception(last).and_then(|row| row.cause);
            match next {
                None => break,
                // A chain that comes back to itself ends where it does.
                Some(next) if chain.contains(&next) || chain.len() > 255 => break,
                Some(next) => match self.exceptions.get(&next) {
                    Some(&number) => {
                        cause = Some(number);
                        break;
                    }
                    None => chain.push(next),
                },
            }
        }
        let mut inner: Option<Vec<u8>> = None;
        let s0 = self.dialect.generation == Generation::S0;
        while let Some(id) = chain.pop() {
            let number = saturated_i64(self.exceptions.len()) + 1;
            self.exceptions.insert(id, number);
            let written = self.one_exception(id, number, cause, inner.as_deref(), words);
            if s0 {
                inner = Some(written);
            } else {
                self.trace.extend(written);
            }
            cause = Some(number);
        }
        self.trace.extend(inner.unwrap_or_default());
    }

    pub(super) fn one_exception(
        &mut self,
        id: ExceptionId,
        number: i64,
        cause: Option<i64>,
        inner: Option<&[u8]>,
        words: &Recording,
    ) -> Vec<u8> {
        let s0 = self.dialect.generation == Generation::S0;
        let row = words.exception(id);
        let class = row.and_then(|row| row.class);
        let class = class.map_or(0, |text| self.symbol(text, symbol_type::CLASS, words));
        let mut out = Vec::new();
        write::head(&mut out, 6, u64::from(self.dialect.exception_tag));
        out.push(0x85);
        write::int(&mut out, number);
        if self.dialect.generation == Generation::C {
            write::int(&mut out, class);
        } else {
            write::value(&mut out, CborValue::Ref(class.cast_unsigned()));
        }
        match row.and_then(|row| words.string(row.message?)) {
            Some(text) => write::text(&mut out, text.as_bytes()),
            None => out.push(0xf6),
        }
        let stack = self.stack(id, words);
        if s0 {
            out.extend(stack);
            match (inner, cause) {
                (Some(inner), _) => out.extend_from_slice(inner),
                (None, Some(number)) => {
                    let tag = self.dialect.exception_ref_tag;
                    let id = number.cast_unsigned();
                    write::item(&mut out, &Item::ExceptionRef { tag, id });
                }
                (None, None) => out.push(0xf6),
            }
        } else {
            write::int(&mut out, cause.unwrap_or(0));
            out.extend(stack);
        }
        out
    }

    pub(super) fn stack(&mut self, id: ExceptionId, words: &Recording) -> Vec<u8> {
        let s0 = self.dialect.generation == Generation::S0;
        let mut frames = Vec::new();
        let mut count = 0;
        let mut next = words.exception(id).and_then(|row| row.stack);
        while let Some(stack) = next.and_then(|id| words.stack(id)) {
            let frame = words.frame(stack.frame).cloned().unwrap_or_default();
            let (class, method) = match frame.function {
                Some(function) => self.class_and_name(function, words),
                None => (0, 0),
            };
            let file = frame.function.and_then(|id| words.function(id)?.file);
            let file = file.map_or(0, |text| self.symbol(text, symbol_type::PLAIN, words));
            frames.push(0x84);
            for symbol in [class, method, file] {
                if s0 {
                    write::value(&mut frames, CborValue::Ref(symbol.cast_unsigned()));
                } else {
                    write::int(&mut frames, symbol);
                }
            }
            let native = s0 && frame.kind == FrameKind::Native;
            write::int(&mut frames, if native { -2 } else { i64::from(frame.line) });
            count += 1;
            next = stack.parent;
        }
        let mut out = Vec::with_capacity(frames.len() + 5);
        write::head(&mut out, 4, count);
        out.extend(frames);
        out
    }
}
