//! Labels of samples to bytes.

use traceloom_model::{ElementType, SampleRow, Unit, Value};

use super::labels::{LabelRole, ROLES};
use super::symbols::SymbolWriter;
use crate::profile::unit;
use crate::protobuf::Wire;
use crate::protobuf::{put_bytes, put_number, put_tag};
use crate::wire::put_leb128;

impl SymbolWriter {
    /// The labels of a sample as fields of its message, with those that say its thread and time.
    pub(super) fn labels(&mut self, sample: &SampleRow<'_>) -> Vec<u8> {
        let mut fields = Vec::new();
        let mut said = Vec::new();
        for label in sample.labels {
            let key = self.tables.attribute_key(label.key).copied();
            let name = key.map_or_else(
                || format!("#{}", label.key.raw()).into_bytes(),
                |key| self.text(key.name),
            );
            let role = ROLES.iter().find(|(known, _)| known.as_bytes() == name);
            said.extend(role.map(|&(_, role)| role));
            let unit = key.map_or(Unit::Count, |key| key.unit);
            self.put_label(&mut fields, &name, &label.value, unit);
        }
        let track = sample.track.and_then(|id| self.tables.track(id)).cloned();
        if let Some(track) = track
            && !said.iter().any(|&role| role != LabelRole::Time)
        {
            let number = |id: u64| Value::I64(id.cast_signed());
            for (name, value) in [
                ("thread id", track.id.map(number)),
                ("thread native id", track.os_id.map(number)),
                ("thread name", track.name.map(Value::Text)),
            ] {
                if let Some(value) = value {
                    let unit = Unit::Count;
                    self.put_label(&mut fields, name.as_bytes(), &value, unit);
                }
            }
        }
        if let Some(time) = sample.time
            && !said.contains(&LabelRole::Time)
        {
            let value = Value::I64(time);
            let unit = Unit::Count;
            self.put_label(&mut fields, b"end_timestamp_ns", &value, unit);
        }
        fields
    }

    fn put_label(&mut self, fields: &mut Vec<u8>, name: &[u8], value: &Value, unit: Unit) {
        let mut body = Vec::new();
        let key = self.string(name);
        put_number(&mut body, 1, key);
        match value {
            Value::Null => {}
            &Value::I64(number) => self.put_num(&mut body, number.cast_unsigned(), unit),
            &Value::U64(number) => self.put_num(&mut body, number, unit),
            other => {
                let text = self.value_text(other);
                // An empty string at an index of its own is a string all the same.
                let index = self.entry(&text);
                put_number(&mut body, 2, index);
            }
        }
        put_bytes(fields, 3, &body);
    }

    fn put_num(&mut self, body: &mut Vec<u8>, number: u64, unit: Unit) {
        put_tag(body, 3, Wire::Varint);
        put_leb128(body, number);
        if unit != Unit::Count {
            let spelling = match unit::spell(unit) {
                Ok(spelling) => spelling.as_bytes().to_vec(),
                Err(text) => self.text(text),
            };
            let index = self.string(&spelling);
            put_number(body, 4, index);
        }
    }

    /// A value that is no integer, as text: labels hold strings and integers alone.
    fn value_text(&self, value: &Value) -> Vec<u8> {
        match value {
            Value::Text(id) => self.text(*id),
            other => {
                let mut out = Vec::new();
                self.put_text(&mut out, other, 0);
                out
            }
        }
    }

    fn put_text(&self, out: &mut Vec<u8>, value: &Value, depth: usize) {
        match value {
            Value::Null => out.extend(b"null"),
            Value::I64(number) => out.extend(number.to_string().bytes()),
            Value::U64(number) => out.extend(number.to_string().bytes()),
            Value::F64(number) => out.extend(number.to_string().bytes()),
            Value::Bool(flag) => out.extend(flag.to_string().bytes()),
            Value::Text(id) => out.extend(self.text(*id)),
            Value::Bytes(bytes) => {
                bytes
                    .iter()
                    .for_each(|byte| out.extend(format!("{byte:02x}").bytes()));
            }
            Value::Exception(id) => out.extend(format!("exception #{}", id.raw()).bytes()),
            // Values nest as deep as their source let them.
            Value::List(..) | Value::Map(_) if depth > 64 => out.extend("…".bytes()),
            Value::List(ElementType::Text, values) if depth == 0 && values.len() == 1 => {
                values
                    .iter()
                    .for_each(|value| self.put_text(out, value, depth + 1));
            }
            Value::List(_, values) => {
                out.push(b'[');
                for (at, value) in values.iter().enumerate() {
                    out.extend(if at > 0 { ", ".bytes() } else { "".bytes() });
                    self.put_text(out, value, depth + 1);
                }
                out.push(b']');
            }
            Value::Map(pairs) => {
                out.push(b'{');
                for (at, (key, value)) in pairs.iter().enumerate() {
                    out.extend(if at > 0 { ", ".bytes() } else { "".bytes() });
                    self.put_text(out, key, depth + 1);
                    out.extend(b": ");
                    self.put_text(out, value, depth + 1);
                }
                out.push(b'}');
            }
        }
    }
}
