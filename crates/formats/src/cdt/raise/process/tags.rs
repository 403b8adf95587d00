//! Attributes as tags of a tree.

use traceloom_model::bounds::saturated_u32;
use traceloom_model::{Attribute, StringId, Value};

use super::call::CallInProgress;
use super::value::put_utf16;
use super::{KNOWN, LONG, ProcessStreams, ROTATE, ms};
use crate::cdt::raise::tables::StreamTables;
use crate::cdt::raise::words::CALL_RED;
use crate::cdt::text;
use crate::cdt::trace::{TagValue, TraceAction, ValueReference};
use crate::wire::Utf16;
use crate::{Error, Output};

impl ProcessStreams {
    /// Writes the tags of a span that ends at `end`, those that come no later than a child that starts at
    /// `before`, and returns how many they are.
    pub(super) fn tags<'t>(
        &mut self,
        tags: impl Iterator<Item = &'t Attribute>,
        (before, end): (Option<i64>, i64),
        call: &mut CallInProgress,
        names: &StreamTables,
        out: &mut dyn Output,
    ) -> Result<usize, Error> {
        let mut written = 0;
        for tag in tags {
            let at = tag.at.map(ms);
            if let (Some(at), Some(before)) = (at, before)
                && at > before
            {
                break;
            }
            written += 1;
            call.now = at.map_or(call.now, |at| at.clamp(call.now, end.max(call.now)));
            self.attribute(call, tag, names, out)?;
        }
        Ok(written)
    }

    /// Writes an attribute as a tag, a list as one tag for each value.
    fn attribute(
        &mut self,
        call: &mut CallInProgress,
        tag: &Attribute,
        names: &StreamTables,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        let key = self.key(tag.key, names);
        call.red |= key.red;
        let word = self.word(tag.key, key, names);
        let indexed = key.index || word == CALL_RED;
        for value in values(&tag.value) {
            if let Value::Text(id) = value
                && key.kind == Some(true)
                && !indexed
            {
                let place = self.statement(*id, names, out)?;
                let what = TraceAction::Tag(word, TagValue::Deduplicated(place));
                self.event(call.thread, what, call.now, out)?;
                continue;
            }
            // Lent to the event, which gives it back.
            let mut text = std::mem::take(&mut self.text);
            text.clear();
            put_utf16(value, names, &mut self.digits, &mut text);
            let value = if indexed {
                TagValue::Indexed(Utf16(&text))
            } else if key.kind == Some(false) || text.len() > LONG {
                TagValue::Big(self.big(&text, out)?)
            } else {
                TagValue::Inline(Utf16(&text))
            };
            self.event(call.thread, TraceAction::Tag(word, value), call.now, out)?;
            self.text = text;
        }
        Ok(())
    }

    fn statement(
        &mut self,
        id: StringId,
        names: &StreamTables,
        out: &mut dyn Output,
    ) -> Result<ValueReference, Error> {
        if self.sql.len() >= ROTATE || self.statements.len() >= KNOWN {
            self.statements.clear();
        }
        if let Some(&place) = self.statements.get(&id) {
            return Ok(place);
        }
        self.text.clear();
        Utf16::put_encoded(&names.bytes(id), &mut self.text);
        let place = self.sql.append((&self.folder, "sql"), &self.text, out)?;
        self.statements.insert(id, place);
        Ok(place)
    }

    fn big(&mut self, text: &[u8], out: &mut dyn Output) -> Result<ValueReference, Error> {
        self.xml.append((&self.folder, "xml"), text, out)
    }
}

impl super::StreamWriter {
    /// Appends a text to a stream of texts, in another file where this one is full.
    fn append(
        &mut self,
        place: (&super::StreamFolder, &str),
        text: &[u8],
        out: &mut dyn Output,
    ) -> Result<ValueReference, Error> {
        if self.index == 0 || self.len() >= ROTATE {
            self.next(place, out)?;
        }
        let at = ValueReference {
            file_index: self.index,
            offset: saturated_u32(self.len()),
        };
        text::put(&mut self.held, Utf16(text));
        self.spill(place, out)?;
        Ok(at)
    }
}

/// Returns the values of a list, or what is none as the only one.
pub(super) fn values(value: &Value) -> &[Value] {
    match value {
        Value::List(_, values) => values,
        value => std::slice::from_ref(value),
    }
}
