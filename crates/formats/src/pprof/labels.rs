//! Labels of samples: attributes, and the threads and times that some of them mean.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    AttrKeyId, Attribute, AttributeKey, Level, StringId, Tables, Timestamp, Track, TrackId, Unit,
    Value,
};

use super::columns::{Label, Tables as Columns};
use super::lower::{ProfileStrings, scale};
use crate::codec::CountedNotes;
use crate::profile::unit;

/// What a label says besides its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LabelRole {
    ThreadId,
    ThreadOsId,
    ThreadName,
    Time,
}

/// Keys that profilers write for threads and times (SPEC.md §3).
pub(super) const ROLES: [(&str, LabelRole); 7] = [
    ("thread id", LabelRole::ThreadId),
    ("thread_id", LabelRole::ThreadId),
    ("thread native id", LabelRole::ThreadOsId),
    ("thread name", LabelRole::ThreadName),
    ("thread_name", LabelRole::ThreadName),
    ("thread", LabelRole::ThreadName),
    ("end_timestamp_ns", LabelRole::Time),
];

#[derive(Clone, Copy)]
struct LabelKey {
    id: AttrKeyId,
    factor: i64,
    role: Option<LabelRole>,
}

/// Lowers the labels of one sample after the other.
pub(super) struct Labels<'a> {
    columns: &'a Columns,
    keys: HashMap<(i64, i64), LabelKey, RandomState>,
    tracks: HashMap<Track, TrackId, RandomState>,
    attributes: Vec<Attribute>,
}

/// The labels of one sample.
pub(super) struct SampleLabelRows<'l> {
    pub(super) attributes: &'l [Attribute],
    pub(super) track: Option<TrackId>,
    pub(super) time: Option<Timestamp>,
}

impl<'a> Labels<'a> {
    pub(super) fn new(columns: &'a Columns) -> Self {
        Self {
            columns,
            keys: HashMap::default(),
            tracks: HashMap::default(),
            attributes: Vec::new(),
        }
    }

    pub(super) fn lower(
        &mut self,
        labels: &[Label],
        offset: u64,
        strings: &mut ProfileStrings<'a>,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) -> SampleLabelRows<'_> {
        self.attributes.clear();
        let mut track = Track::default();
        let mut time = None;
        for label in labels {
            if label.str != 0 && label.num != 0 {
                tally.add(Level::Warn, "label_of_two_kinds", offset, || {
                    "a label has a string and a number, the string is used".to_owned()
                });
            }
            // A string's unit says nothing.
            let unit = if label.str == 0 { label.num_unit } else { 0 };
            let key = self.key(label.key, unit, offset, strings, model, tally);
            let value = match (label.str, label.num) {
                // Producers write an empty string so, and readers take it for no label.
                (0, 0) if unit == 0 => Value::Null,
                (0, num) => Value::I64(scale(num, key.factor, offset, tally)),
                (text, _) => Value::Text(strings.id(text, offset, model, tally)),
            };
            if let Some(role) = key.role {
                self.apply(role, label, &value, &mut track, &mut time);
            }
            self.attributes.push(Attribute::new(key.id, value));
        }
        let track = (track != Track::default()).then(|| {
            *self
                .tracks
                .entry(track.clone())
                .or_insert_with(|| model.track(track))
        });
        SampleLabelRows {
            attributes: &self.attributes,
            track,
            time,
        }
    }

    fn apply(
        &self,
        role: LabelRole,
        label: &Label,
        value: &Value,
        track: &mut Track,
        time: &mut Option<Timestamp>,
    ) {
        let text = || self.columns.strings.get(label.str);
        let number = || match value {
            Value::I64(number) => Some(number.cast_unsigned()),
            _ => std::str::from_utf8(text()?).ok()?.trim().parse().ok(),
        };
        match (role, value) {
            (LabelRole::ThreadId, _) => track.id = track.id.or_else(number),
            (LabelRole::ThreadOsId, _) => track.os_id = track.os_id.or_else(number),
            (LabelRole::ThreadName, Value::Text(name)) if text() != Some(b"") => {
                track.name = track.name.or(Some(*name));
            }
            (LabelRole::Time, Value::I64(at)) if *at != 0 => *time = time.or(Some(*at)),
            _ => {}
        }
    }

    fn key(
        &mut self,
        key: i64,
        num_unit: i64,
        offset: u64,
        strings: &mut ProfileStrings<'a>,
        model: &mut Tables,
        tally: &mut CountedNotes,
    ) -> LabelKey {
        if let Some(&known) = self.keys.get(&(key, num_unit)) {
            return known;
        }
        let name = strings.id(key, offset, model, tally);
        let spelling = strings.bytes(num_unit, offset, tally).unwrap_or(&[]);
        let (unit, factor) = label_unit(spelling, model);
        let text = self.columns.strings.get(key).unwrap_or(&[]);
        let role = ROLES
            .iter()
            .find(|(known, _)| known.as_bytes() == text)
            .map(|&(_, role)| role);
        let known = LabelKey {
            id: attribute_key(name, unit, model),
            factor,
            role,
        };
        self.keys.insert((key, num_unit), known);
        known
    }
}

/// The unit of a label: none counts things, and `count` in so many words is kept apart from none.
fn label_unit(spelling: &[u8], model: &mut Tables) -> (Unit, i64) {
    if spelling.is_empty() {
        return (Unit::Count, 1);
    }
    match unit::parse(spelling, model) {
        (Unit::Count, factor) => (Unit::Other(model.bytes(spelling)), factor),
        known => known,
    }
}

fn attribute_key(name: StringId, unit: Unit, model: &mut Tables) -> AttrKeyId {
    model.attribute_key(AttributeKey {
        unit,
        ..AttributeKey::named(name)
    })
}
