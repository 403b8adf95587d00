//! Schemas of markers: what the profiler shows of them, and how the values of each key are written.

use std::collections::BTreeMap;

use traceloom_model::{AttrKeyId, Attribute, EventTypeId, Recording, Unit, Value};

use super::column::{column, text};
use super::rows::MarkerRows;
use crate::codec::Buffered;
use crate::text::label;

/// The schema of spans.
pub(super) const SPAN: &str = "Span";
/// Keys of a schema that are shown; the others are in the file alone.
const SHOWN: usize = 200;
/// Smallest integer that JavaScript does not hold.
const EXACT: u64 = 1 << 53;

/// How the values of one key are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ValueForm {
    Text,
    Integer,
    Decimal,
    Bytes,
    /// Nanoseconds, written as milliseconds.
    Duration,
}

impl ValueForm {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Bytes => "bytes",
            Self::Duration => "duration",
        }
    }
}

const INTEGERS: u8 = 1;
const DECIMALS: u8 = 2;
const OTHERS: u8 = 4;

/// Which kinds of values the keys of a schema have, by the keys' numbers: a key has one form for all of them.
#[derive(Clone, Default)]
pub(super) struct SeenForms(Vec<u8>);

impl SeenForms {
    #[inline]
    pub fn see(&mut self, attribute: &Attribute) {
        let kind = match attribute.value {
            Value::I64(number) if number.unsigned_abs() < EXACT => INTEGERS,
            Value::U64(number) if number < EXACT => INTEGERS,
            Value::F64(number) if number.is_finite() => DECIMALS,
            _ => OTHERS,
        };
        self.add(attribute.key.index(), kind);
    }

    #[inline]
    fn add(&mut self, key: usize, kinds: u8) {
        if self.0.len() <= key {
            self.0.resize(key + 1, 0);
        }
        if let Some(seen) = self.0.get_mut(key) {
            *seen |= kinds;
        }
    }

    fn forms(&self, recording: &Recording) -> Forms {
        let keys = (0..).map(AttrKeyId::new).zip(&self.0);
        let forms = keys.map(|(key, &kinds)| {
            let unit = recording.attribute_key(key).map(|row| row.unit);
            match (kinds, unit) {
                (0, _) => None,
                (INTEGERS, Some(Unit::Bytes)) => Some(ValueForm::Bytes),
                (INTEGERS, Some(Unit::Nanoseconds)) => Some(ValueForm::Duration),
                (INTEGERS, _) => Some(ValueForm::Integer),
                (DECIMALS, _) => Some(ValueForm::Decimal),
                (kinds, unit) => {
                    let plain = !matches!(unit, Some(Unit::Bytes | Unit::Nanoseconds));
                    let numbers = kinds == INTEGERS | DECIMALS;
                    Some(if numbers && plain {
                        ValueForm::Decimal
                    } else {
                        ValueForm::Text
                    })
                }
            }
        });
        Forms(forms.collect())
    }
}

/// The forms of a schema's keys, by the keys' numbers.
pub(super) struct Forms(Vec<Option<ValueForm>>);

impl Forms {
    #[inline]
    pub fn of(&self, key: AttrKeyId) -> ValueForm {
        let form = self.0.get(key.index()).copied().flatten();
        form.unwrap_or(ValueForm::Text)
    }
}

/// The form of every key, for each schema by name.
pub(super) struct Schemas(BTreeMap<Vec<u8>, Forms>);

impl Schemas {
    /// The schemas of everything that is a marker; types of events that share a name share a schema.
    pub fn of(rows: &MarkerRows, recording: &Recording) -> Self {
        let mut seen: BTreeMap<Vec<u8>, SeenForms> = BTreeMap::new();
        if let Some(spans) = &rows.of_spans {
            seen.insert(SPAN.into(), spans.clone());
        }
        for (id, of_type) in (0..).map(EventTypeId::new).zip(&rows.of_events) {
            let Some(of_type) = of_type else { continue };
            let all = seen.entry(schema_name(recording, id)).or_default();
            for (key, &kinds) in of_type.0.iter().enumerate() {
                all.add(key, kinds);
            }
        }
        let forms = |(name, seen): (_, SeenForms)| (name, seen.forms(recording));
        Self(seen.into_iter().map(forms).collect())
    }

    pub fn get(&self, name: &[u8]) -> Option<&Forms> {
        self.0.get(name)
    }

    pub fn put(&self, recording: &Recording, out: &mut Buffered<'_>) {
        column(out, "markerSchema", &self.0, |(name, keys), out| {
            out.extend_from_slice(b"{\"name\":");
            text(name, out);
            out.extend_from_slice(b",\"display\":[\"marker-chart\",\"marker-table\"");
            if name == SPAN.as_bytes() {
                out.extend_from_slice(b",\"timeline-overview\"");
            }
            out.extend_from_slice(
                b"],\"chartLabel\":\"{marker.name}\",\"tooltipLabel\":\"{marker.name}\",\"fields\":[",
            );
            let known = (0..).map(AttrKeyId::new).zip(&keys.0);
            let known = known.filter_map(|(key, form)| Some((key, (*form)?)));
            for (at, (key, form)) in known.take(SHOWN).enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(b"{\"key\":");
                text(key_name(recording, key), out);
                out.extend_from_slice(b",\"label\":");
                text(plain_name(recording, key), out);
                out.extend_from_slice(b",\"format\":\"");
                out.extend_from_slice(form.name().as_bytes());
                out.extend_from_slice(b"\"}");
            }
            out.extend_from_slice(b"]}");
        });
    }
}

/// The name of the schema of a type of events.
pub(super) fn schema_name(recording: &Recording, id: EventTypeId) -> Vec<u8> {
    let row = recording.event_type(id);
    let name = row.map_or_else(
        || format!("#{}", id.raw()).into_bytes(),
        |row| label::text(recording, row.name),
    );
    if name == SPAN.as_bytes() {
        b"Span event".to_vec()
    } else {
        name
    }
}

fn plain_name(recording: &Recording, key: AttrKeyId) -> Vec<u8> {
    match recording.attribute_key(key) {
        Some(row) => label::text(recording, row.name),
        None => format!("#{}", key.raw()).into_bytes(),
    }
}

/// The name of a key, apart from the members that the profiler itself looks at.
pub(super) fn key_name(recording: &Recording, key: AttrKeyId) -> Vec<u8> {
    let mut name = plain_name(recording, key);
    if matches!(
        &*name,
        b"type" | b"cause" | b"category" | b"stack" | b"innerWindowID"
    ) {
        name.insert(0, b'_');
    }
    name
}
