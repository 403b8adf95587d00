//! Labels of samples that say something of the whole profile (SPEC.md §6).

use std::collections::HashMap;

use traceloom_model::{
    Asks, AttrKeyId, Definitions, Flow, Note, Recording, SampleBatch, Sink, StringId, Value, Wants,
};

use crate::points::SpanLink;

/// A sink that keeps the first text of every label.
#[derive(Default)]
pub(super) struct SampleLabels {
    names: Recording,
    /// Key, first text, and whether there was another.
    found: Vec<(AttrKeyId, StringId, bool)>,
    /// Where a key is in `found`.
    places: HashMap<AttrKeyId, usize>,
}

/// A label's value as a tag.
pub(super) struct LabelTag {
    pub(super) key: String,
    pub(super) value: String,
    /// Other samples have other values.
    pub(super) differs: bool,
}

/// Labels that are of a sample alone: its thread; its span is another matter.
const OWN: [&str; 6] = [
    "thread_id",
    "thread_name",
    "thread id",
    "thread name",
    "thread native id",
    "thread",
];

impl SampleLabels {
    /// Returns the labels that are tags, in the order in which they were met.
    pub(super) fn tags(&self) -> impl Iterator<Item = LabelTag> {
        self.found.iter().filter_map(|&(key, value, differs)| {
            let key = self.names.text(self.names.attribute_key(key)?.name);
            let own = OWN.contains(&key.as_ref()) || SpanLink::is_key(&key);
            (!own).then(|| LabelTag {
                key: key.into_owned(),
                value: self.names.text(value).into_owned(),
                differs,
            })
        })
    }
}

impl Sink for SampleLabels {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::NoSpans,
            ..Asks::default()
        }
    }

    fn define(&mut self, new: Definitions) -> Flow {
        self.names.define(Definitions {
            strings: new.strings,
            attribute_keys: new.attribute_keys,
            ..Definitions::default()
        })
    }

    fn samples(&mut self, batch: SampleBatch) -> Flow {
        for sample in batch.iter() {
            for label in sample.labels {
                let Value::Text(text) = label.value else {
                    continue;
                };
                let next = self.found.len();
                let at = *self.places.entry(label.key).or_insert(next);
                match self.found.get_mut(at) {
                    Some((_, first, differs)) => *differs |= *first != text,
                    None => self.found.push((label.key, text, false)),
                }
            }
        }
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}
