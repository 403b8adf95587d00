//! Labels of samples to bytes.

use traceloom_model::{AttrKeyId, ElementType, SampleRow, StringId, Timestamp, Unit, Value};

use super::labels::{LabelRole, ROLES};
use super::symbols::SymbolWriter;
use crate::profile::unit;
use crate::protobuf::Wire;
use crate::protobuf::{put_message, put_number, put_tag};
use crate::wire::put_leb128;

/// Keys of labels by what they are the key of, and texts of labels, as indices of strings; 0 where they are not written yet.
#[derive(Default)]
pub(super) struct LabelStrings {
    keys: Vec<Option<WrittenKey>>,
    texts: Vec<u64>,
    /// The keys of [`OWN`].
    own: [u64; 4],
}

#[derive(Clone, Copy)]
struct WrittenKey {
    name: u64,
    unit: Unit,
    role: Option<LabelRole>,
}

/// Keys of what samples have besides their labels.
const OWN: [&str; 4] = [
    "thread id",
    "thread native id",
    "thread name",
    "end_timestamp_ns",
];

impl SymbolWriter {
    /// Appends the labels of a sample as fields of its message, with those that say its thread, and its time where it is
    /// given.
    pub(super) fn labels(
        &mut self,
        sample: &SampleRow<'_>,
        time: Option<Timestamp>,
        fields: &mut Vec<u8>,
    ) {
        let (mut says_thread, mut says_time) = (false, false);
        for label in sample.labels {
            let key = self.label_key(label.key);
            match key.role {
                Some(LabelRole::Time) => says_time = true,
                Some(_) => says_thread = true,
                None => {}
            }
            self.put_label(fields, key.name, &label.value, key.unit);
        }
        let track = sample.track.filter(|_| !says_thread);
        if let Some(track) = track.and_then(|id| self.tables.track(id)) {
            let number = |id: u64| Value::I64(id.cast_signed());
            let said = [
                track.id.map(number),
                track.os_id.map(number),
                track.name.map(Value::Text),
            ];
            for (own, value) in said.iter().enumerate() {
                if let Some(value) = value {
                    let key = self.own_key(own);
                    self.put_label(fields, key, value, Unit::Count);
                }
            }
        }
        if let Some(time) = time.filter(|_| !says_time) {
            let key = self.own_key(OWN.len() - 1);
            self.put_label(fields, key, &Value::I64(time), Unit::Count);
        }
    }

    /// Returns the key of [`OWN`] at `at`.
    fn own_key(&mut self, at: usize) -> u64 {
        match self.label_strings.own.get(at) {
            Some(&known @ 1..) => known,
            _ => {
                let index = self.string(OWN.get(at).copied().unwrap_or_default().as_bytes());
                if let Some(slot) = self.label_strings.own.get_mut(at) {
                    *slot = index;
                }
                index
            }
        }
    }

    fn label_key(&mut self, id: AttrKeyId) -> WrittenKey {
        if let Some(&Some(known)) = self.label_strings.keys.get(id.index()) {
            return known;
        }
        let row = self.tables.attribute_key(id).copied();
        let name = row.map_or_else(
            || format!("#{}", id.raw()).into_bytes(),
            |row| self.text(row.name),
        );
        let role = ROLES.iter().find(|(known, _)| known.as_bytes() == name);
        let key = WrittenKey {
            name: self.string(&name),
            unit: row.map_or(Unit::Count, |row| row.unit),
            role: role.map(|&(_, role)| role),
        };
        if row.is_some_and(|row| self.tables.string(row.name).is_some()) {
            let keys = &mut self.label_strings.keys;
            if keys.len() <= id.index() {
                keys.resize(id.index() + 1, None);
            }
            keys.get_mut(id.index()).map(|slot| slot.insert(key));
        }
        key
    }

    /// Returns the index of a text; an empty string at an index of its own is a string all the same.
    fn label_text(&mut self, id: StringId) -> u64 {
        if let Some(&known @ 1..) = self.label_strings.texts.get(id.index()) {
            return known;
        }
        let index = self.entry(&self.text(id));
        if self.tables.string(id).is_some() {
            let texts = &mut self.label_strings.texts;
            if texts.len() <= id.index() {
                texts.resize(id.index() + 1, 0);
            }
            if let Some(slot) = texts.get_mut(id.index()) {
                *slot = index;
            }
        }
        index
    }

    fn put_label(&mut self, fields: &mut Vec<u8>, key: u64, value: &Value, unit: Unit) {
        put_message(fields, 3, |body| {
            put_number(body, 1, key);
            match value {
                Value::Null => {}
                &Value::I64(number) => self.put_num(body, number.cast_unsigned(), unit),
                &Value::U64(number) => self.put_num(body, number, unit),
                &Value::Text(id) => put_number(body, 2, self.label_text(id)),
                other => {
                    let text = self.value_text(other);
                    put_number(body, 2, self.entry(&text));
                }
            }
        });
    }

    fn put_num(&mut self, body: &mut Vec<u8>, number: u64, unit: Unit) {
        put_tag(body, 3, Wire::Varint);
        put_leb128(body, number);
        if unit != Unit::Count {
            let index = match unit::spell(unit) {
                Ok(spelling) => self.string(spelling.as_bytes()),
                Err(text) => self.named(Some(text)),
            };
            put_number(body, 4, index);
        }
    }

    /// A value that is no integer, as text: labels hold strings and integers alone.
    fn value_text(&self, value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        self.put_text(&mut out, value, 0);
        out
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
