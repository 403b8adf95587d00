//! From an element's attributes and children to the fields of a message.

use traceloom_model::Level;

use super::read::{MarkupWindow, MessageScratch, Reader};
use crate::tptp::markup::{AttributeIter, ElementContent, content};
use crate::tptp::message::{Form, Frames, Message, Slot, Texts};
use crate::tptp::seconds;
use crate::tptp::table::{FieldDef, Kind, Layout, Schema};

impl Reader {
    pub(super) fn message<'a, 's>(
        &mut self,
        schema: &'static Schema,
        window: &MarkupWindow<'a, '_>,
        at: usize,
        tag: &[u8],
        inner: &'a [u8],
        scratch: &'s mut MessageScratch<'a>,
    ) -> (Message<'s>, bool)
    where
        'a: 's,
    {
        let mut layout = Layout::Table;
        if !self.fill(schema, layout, window, at, tag, scratch) {
            layout = Layout::Wide;
            self.fill(schema, layout, window, at, tag, scratch);
        }
        let mut form = Form::Attribute;
        let mut frames = Frames::None;
        let offset = window.offset(at);
        if schema.id == 1041 && !inner.is_empty() {
            form = if inner.contains(&b'<') {
                Form::Plain
            } else {
                Form::Content
            };
            if let Some(slot) = scratch.slots.first_mut() {
                if !matches!(slot, Slot::Text([])) {
                    self.tally
                        .count(Level::Info, "repeated_value", schema.id, offset);
                }
                *slot = Slot::Text(inner);
                scratch.doubtful = true;
            }
        } else {
            let (mut depth, mut stray) = (0, false);
            if !inner.is_empty() {
                content(inner, self.charset, &mut |found| match found {
                    ElementContent::Frame { exact, .. } if schema.has_stack() => {
                        depth += 1;
                        stray |= !exact;
                    }
                    _ => stray = true,
                });
            }
            if stray {
                self.tally
                    .count(Level::Info, "unknown_content", schema.id, offset);
            }
            if schema.has_stack() {
                frames = Frames::Markup(inner, self.charset);
                scratch.doubtful |= !inner.is_ascii() || inner.contains(&b'&');
                let place = schema.position(layout, "stackDepth");
                if let Some(slot) = place.and_then(|at| scratch.slots.get_mut(at)) {
                    if !matches!(slot, Slot::Number(told) if *told == 0 || *told == depth) {
                        self.tally
                            .count(Level::Info, "stack_depth", schema.id, offset);
                    }
                    *slot = Slot::Number(depth);
                }
            }
        }
        let fields = schema.fields(layout).len();
        let message = Message {
            schema,
            layout,
            values: scratch.slots.get(..fields).unwrap_or_default(),
            frames,
            texts: Texts {
                charset: self.charset,
                form,
            },
        };
        (message, scratch.doubtful)
    }

    /// Fills the slots from the attributes; false when one of them belongs to the wider layout.
    #[inline]
    pub(super) fn fill<'a>(
        &mut self,
        schema: &'static Schema,
        layout: Layout,
        window: &MarkupWindow<'a, '_>,
        at: usize,
        tag: &[u8],
        scratch: &mut MessageScratch<'a>,
    ) -> bool {
        let fields = schema.fields(layout);
        for (slot, field) in scratch.slots.iter_mut().zip(fields) {
            *slot = if field.kind == Kind::Text {
                Slot::Text(&[])
            } else {
                Slot::Number(0)
            };
        }
        scratch.doubtful = false;
        let (mut guess, mut seen) = (0, 0_u32);
        for attribute in AttributeIter::new(tag) {
            let offset = window.offset(at);
            let Ok(attribute) = attribute else {
                self.tally
                    .count(Level::Warn, "bad_attribute", schema.id, offset);
                break;
            };
            let name = tag.get(attribute.name).unwrap_or_default();
            let Some(position) = place(schema, layout, fields, name, &mut guess) else {
                if layout == Layout::Table && is_wide(schema, name) {
                    return false;
                }
                self.tally
                    .count(Level::Info, "unknown_attribute", schema.id, offset);
                continue;
            };
            let (Some(field), Some(slot)) = (fields.get(position), scratch.slots.get_mut(position))
            else {
                continue;
            };
            let bit = 1_u32 << position;
            if seen & bit != 0 {
                self.tally
                    .count(Level::Info, "repeated_value", schema.id, offset);
            }
            seen |= bit;
            if field.kind == Kind::Text {
                let text = window.raw(at + attribute.value.start, at + attribute.value.end);
                scratch.doubtful |= !text.is_ascii() || text.contains(&b'&');
                *slot = Slot::Text(text);
                continue;
            }
            let value = tag.get(attribute.value).unwrap_or_default();
            let number = if field.kind == Kind::Ticks {
                seconds::parse(value).map(|(nanos, exact)| {
                    if !exact {
                        self.tally.count(Level::Info, "time_cut", schema.id, offset);
                    }
                    nanos
                })
            } else {
                number(field.kind, value)
            };
            match number {
                Some(number) => *slot = Slot::Number(number),
                None => self
                    .tally
                    .count(Level::Warn, "bad_number", schema.id, offset),
            }
        }
        true
    }
}

/// Finds the field of an attribute; the next one in printed order is the likeliest.
#[inline]
fn place(
    schema: &'static Schema,
    layout: Layout,
    fields: &'static [FieldDef],
    name: &[u8],
    guess: &mut usize,
) -> Option<usize> {
    if layout == Layout::Table {
        for at in *guess..schema.printed.len() {
            let position = usize::from(*schema.printed.get(at)?);
            let Some(field) = fields.get(position) else {
                break;
            };
            if field.attribute.as_bytes() == name {
                *guess = at + 1;
                return Some(position);
            }
        }
    }
    fields
        .iter()
        .position(|field| field.attribute.as_bytes() == name && !field.kind.is_array())
}

fn is_wide(schema: &'static Schema, name: &[u8]) -> bool {
    let fields = schema.fields(Layout::Wide);
    fields
        .iter()
        .any(|field| field.attribute.as_bytes() == name)
}

#[inline]
fn number(kind: Kind, value: &[u8]) -> Option<u64> {
    if let Some(negative) = value.strip_prefix(b"-") {
        let magnitude = seconds::digits(negative).filter(|_| !negative.is_empty())?;
        let least = if matches!(kind, Kind::Long) {
            1 << 63
        } else {
            1 << 31
        };
        return (magnitude <= least && kind != Kind::Byte).then(|| magnitude.wrapping_neg());
    }
    let most = match kind {
        Kind::Byte => match value {
            b"true" => return Some(1),
            b"false" => return Some(0),
            _ => u64::from(u8::MAX),
        },
        Kind::Int => u64::from(u32::MAX),
        Kind::Signed => i32::MAX.unsigned_abs().into(),
        _ => u64::MAX,
    };
    seconds::digits(value).filter(|&number| number <= most && !value.is_empty())
}
