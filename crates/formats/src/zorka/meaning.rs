//! Values and exceptions in the words of the model.

use std::collections::HashSet;

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, AttributeKey, ElementType, Exception as ModelException, ExceptionId,
    Frame, FrameId, Function, Limits, Stack, StackId, StringId, Tables, Value as ModelValue,
};

use super::cbor::{Cbor, CborValue};
use super::diagnostic::{diagnostic, half};
use super::open_trace::KnownExceptions;
use super::record::{Attributes, Exception, ExceptionFields, Item, ValueRun, inline_exception};
use super::session::{FrameNames, Session, SessionSymbols};

/// Containers inside containers that become lists and maps; deeper ones stay bytes.
const NESTED: u32 = 64;

/// Inline causes that are followed.
const CAUSES: usize = 256;

/// What a lowering resolves with.
pub(crate) struct LoweringLookup<'l> {
    pub(crate) session: &'l mut Session,
    pub(crate) union: &'l SessionSymbols,
    pub(crate) tables: &'l mut Tables,
    /// Values that exceptions say.
    pub(crate) messages: &'l mut HashSet<StringId, RandomState>,
    pub(crate) limits: &'l Limits,
    /// Keys whose values name tracks: few, and looked at again.
    pub(crate) of_threads: [AttrKeyId; 2],
    /// The key of the attribute that says the trace id.
    pub(crate) of_trace: AttrKeyId,
    /// The record has a begin, whose trace id an attribute may say.
    pub(crate) begun: bool,
    /// The trace id that an attribute said.
    pub(crate) trace_id: Option<u128>,
    /// No other attribute is wanted.
    pub(crate) threads_only: bool,
    /// No attribute is wanted, but notes about them.
    pub(crate) notes_only: bool,
    /// What exceptions say is wanted; otherwise their numbers are remembered alone.
    pub(crate) wants_exceptions: bool,
    /// A value was too deep for the model.
    pub(crate) too_deep: bool,
}

/// Reads a trace id of 32 hexadecimal digits.
fn trace_id(value: CborValue<'_>) -> Option<u128> {
    let CborValue::Text(text) = value else {
        return None;
    };
    let digits = text.len() == 32 && text.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(text).ok().filter(|_| digits)?;
    u128::from_str_radix(text, 16).ok()
}

impl LoweringLookup<'_> {
    /// Lowers the pairs of an attribute item.
    pub(crate) fn attributes(&mut self, attributes: &Attributes<'_>, into: &mut Vec<Attribute>) {
        let mut pairs = attributes.keys();
        if self.notes_only {
            // What is not a container cannot be too deep.
            while pairs.next_key().is_some() {
                if pairs.is_container() {
                    pairs.value().map(|value| self.value(value, 0));
                }
            }
            return;
        }
        while let Some(key) = pairs.next_key() {
            let key = match key.symbol() {
                Some(id) => self.session.key(self.union, id, self.tables),
                None => {
                    let name = match key {
                        CborValue::Text(text) => self.tables.bytes(text),
                        other => self.tables.string(&diagnostic(other)),
                    };
                    self.tables.attribute_key(AttributeKey::named(name))
                }
            };
            let is_of_thread = self.of_threads.contains(&key);
            let is_trace_id = self.begun && key == self.of_trace;
            if self.threads_only && !is_of_thread && !is_trace_id {
                continue;
            }
            let Some(value) = pairs.value() else {
                return;
            };
            if is_trace_id && let Some(id) = trace_id(value) {
                self.trace_id = Some(id);
                continue;
            }
            if self.threads_only && !is_of_thread {
                continue;
            }
            let value = match value {
                CborValue::Text(text) if is_of_thread => ModelValue::Text(self.tables.bytes(text)),
                value => self.value(value, 0),
            };
            into.push(Attribute::new(key, value));
        }
    }

    /// Lowers a value; `depth` bounds the recursion.
    pub(crate) fn value(&mut self, value: CborValue<'_>, depth: u32) -> ModelValue {
        match value {
            CborValue::Null | CborValue::Undefined | CborValue::Missing => ModelValue::Null,
            CborValue::Bool(value) => ModelValue::Bool(value),
            CborValue::Int(value) => ModelValue::I64(value),
            CborValue::Big(value) => ModelValue::U64(value),
            CborValue::Text(text) => ModelValue::Text(self.tables.value(text)),
            CborValue::Bytes(bytes) => ModelValue::Bytes(bytes.into()),
            CborValue::F16(bits) => ModelValue::F64(half(bits)),
            CborValue::F32(bits) => ModelValue::F64(f64::from(f32::from_bits(bits))),
            CborValue::F64(bits) => ModelValue::F64(f64::from_bits(bits)),
            CborValue::Ref(id) => {
                ModelValue::Text(self.session.string(self.union, id, self.tables))
            }
            CborValue::NegativeBig(_) | CborValue::Simple(_) => {
                ModelValue::Text(self.tables.string(&diagnostic(value)))
            }
            CborValue::Raw(raw) => self.container(raw, depth),
        }
    }

    fn container(&mut self, raw: &[u8], depth: u32) -> ModelValue {
        if let Some((is_text, whole)) = Cbor::joined(raw) {
            return if is_text {
                ModelValue::Text(self.tables.value(&whole))
            } else {
                ModelValue::Bytes(whole.into())
            };
        }
        let major = raw.first().map_or(0, |first| first >> 5);
        if !matches!(major, 4 | 5) {
            let text = diagnostic(CborValue::Raw(raw));
            return ModelValue::Text(self.tables.string(&text));
        }
        if depth >= NESTED {
            self.too_deep = true;
            return ModelValue::Bytes(raw.into());
        }
        let parts: Vec<ModelValue> = ValueRun::elements(raw)
            .into_iter()
            .map(|part| self.value(part, depth + 1))
            .collect();
        if major == 4 {
            return ModelValue::List(ElementType::common(&parts), parts.into());
        }
        let mut pairs = Vec::with_capacity(parts.len() / 2);
        let mut parts = parts.into_iter();
        while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
            pairs.push((key, value));
        }
        ModelValue::Map(pairs.into())
    }

    /// Lowers an exception with its inline causes, the innermost first.
    pub(crate) fn exception(
        &mut self,
        exception: &Exception<'_>,
        known: &mut KnownExceptions,
    ) -> Option<ExceptionId> {
        let mut chain = vec![*exception];
        let mut cause = None;
        while let Some(last) = chain.last() {
            match last.cause()? {
                CborValue::Raw(raw) if chain.len() < CAUSES => match inline_exception(raw) {
                    Ok(Item::Exception(inner)) => chain.push(inner),
                    Ok(Item::ExceptionRef { id, .. }) => {
                        cause = known.get(&id.cast_signed()).copied().flatten();
                        break;
                    }
                    _ => break,
                },
                CborValue::Raw(_) => {
                    self.too_deep = true;
                    break;
                }
                // B and C number the cause; 0 is none.
                other => {
                    cause = other.int().and_then(|id| known.get(&id).copied().flatten());
                    break;
                }
            }
        }
        while let Some(exception) = chain.pop() {
            let number = exception.values.iter().next()?;
            let id = match self.wants_exceptions {
                true => Some(self.one_exception(&exception.fields()?, cause)),
                false => None,
            };
            if let Some(number) = number.int() {
                known.insert(number, id);
            }
            cause = id;
        }
        cause
    }

    fn one_exception(
        &mut self,
        fields: &ExceptionFields<'_>,
        cause: Option<ExceptionId>,
    ) -> ExceptionId {
        let class = self.name(fields.class);
        let message = match fields.message {
            CborValue::Text(text) => Some(self.tables.value(text)),
            CborValue::Raw(raw) => Cbor::joined(raw).map(|(_, whole)| self.tables.value(&whole)),
            CborValue::Ref(_) => self.name(fields.message),
            _ => None,
        };
        self.messages.extend(message);
        let stack = match fields.stack {
            CborValue::Raw(raw) => self.stack(raw),
            _ => None,
        };
        self.tables.exception(ModelException {
            class,
            message,
            stack,
            cause,
        })
    }

    /// Resolves a symbol, reference or text; none for null and 0.
    fn name(&mut self, value: CborValue<'_>) -> Option<StringId> {
        match value {
            CborValue::Text(text) => Some(self.tables.bytes(text)),
            _ => match value.symbol()? {
                0 => None,
                id => Some(self.session.string(self.union, id, self.tables)),
            },
        }
    }

    /// Lowers a stack, which lists the innermost frame first.
    fn stack(&mut self, raw: &[u8]) -> Option<StackId> {
        let mut parent = None;
        for frame in ValueRun::elements(raw).into_iter().rev() {
            let CborValue::Raw(raw) = frame else { continue };
            let frame = self.frame(raw);
            parent = Some(self.tables.stack(Stack {
                parent,
                frame,
                truncated: false,
            }));
        }
        parent
    }

    /// Lowers a frame: the same few thousand stand in all stacks of a program.
    fn frame(&mut self, raw: &[u8]) -> FrameId {
        let mut fields = ValueRun::array(raw);
        let mut next = || fields.next().unwrap_or(CborValue::Null);
        let (class, method, file, line) = (next(), next(), next(), next());
        let names = frame_names(class, method, file, line);
        if let Some(known) = names.and_then(|names| self.session.frame(&names)) {
            return known;
        }
        let class = self.name(class);
        let mut name = class.map_or_else(Vec::new, |class| {
            let mut name = self.tables.string_bytes(class).to_vec();
            name.push(b'.');
            name
        });
        if let Some(method) = self.name(method) {
            name.extend_from_slice(self.tables.string_bytes(method));
        }
        let class = class.map(|name| {
            self.tables.class(traceloom_model::Class {
                name,
                superclass: None,
                loader: None,
                file: None,
            })
        });
        let file = self.name(file);
        let name = self.tables.bytes(&name);
        let function = self.tables.function(Function {
            class,
            file,
            ..Function::named(name)
        });
        let frame = self.tables.frame(Frame {
            function: Some(function),
            // Java marks native frames with -2 and unknown lines with -1.
            line: line
                .int()
                .and_then(|line| u32::try_from(line).ok())
                .unwrap_or(0),
            kind: if line == CborValue::Int(-2) {
                traceloom_model::FrameKind::Native
            } else {
                traceloom_model::FrameKind::Unknown
            },
            ..Frame::default()
        });
        if let Some(names) = names {
            self.session.know_frame(names, frame, self.limits);
        }
        frame
    }
}

/// The numbers that name a frame; none when it is named by texts.
fn frame_names(
    class: CborValue<'_>,
    method: CborValue<'_>,
    file: CborValue<'_>,
    line: CborValue<'_>,
) -> Option<FrameNames> {
    let id = |value: CborValue<'_>| match value {
        CborValue::Null => Some(0),
        value => value.symbol().map(u64::cast_signed),
    };
    Some([id(class)?, id(method)?, id(file)?, line.int()?])
}
