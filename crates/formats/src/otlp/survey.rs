//! Everything of profiles but their samples: dictionaries, the layout of the samples, the clock.

use traceloom_model::{Flow, Level, Limits, Note};

use super::dictionary::ProfilesDictionary;
use super::layout::{SampleFieldOrder, Votes};
use super::sample::SampleLists;
use super::schema::{DICTIONARY, PROFILE, PROFILES_DATA, PROFILES_SCHEMA, RESOURCE_PROFILES};
use crate::codec::CountedNotes;
use crate::protobuf::{Content, FieldSplitter, each_field, fields};
use crate::{Error, Pull};

/// One message: its dictionary, and how its samples are laid out.
#[derive(Debug, Default)]
pub(super) struct MessageSegment {
    pub(super) dictionary: ProfilesDictionary,
    has_dictionary: bool,
    votes: Votes,
}

impl MessageSegment {
    /// Returns how its samples are laid out.
    pub(super) fn layout(&self) -> SampleFieldOrder {
        self.votes.layout(self.dictionary.attributes.len())
    }
}

/// All messages of a part.
#[derive(Debug, Default)]
pub(super) struct MessageSegments {
    pub(super) all: Vec<MessageSegment>,
    /// Which of them each `resource_profiles` belongs to.
    pub(super) of_resource: Vec<usize>,
    /// The clock of all times, where it does not count from 1970.
    pub(super) clock: Option<Vec<u8>>,
    /// What the survey met.
    pub(super) tally: CountedNotes,
}

/// The attribute of a resource by which our own writer says that times do not count from 1970.
pub(super) const CLOCK: &str = "traceloom.clock";

/// Finds the clock in a `Resource`.
pub(super) fn clock(body: &[u8]) -> Option<Vec<u8>> {
    for (_, row) in fields(body).filter(|&(number, _)| number == 1) {
        let mut key = fields(row.bytes());
        if key.any(|(number, key)| number == 1 && key.bytes() == CLOCK.as_bytes()) {
            let value = fields(row.bytes()).find(|&(number, _)| number == 2)?.1;
            let text = fields(value.bytes()).find(|&(number, _)| number == 1)?.1;
            return Some(text.bytes().to_vec());
        }
    }
    None
}

/// Reads everything but the samples; none when the taker of notes broke.
pub(super) fn survey(
    pull: &mut dyn Pull,
    limits: &Limits,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Result<Option<MessageSegments>, Error> {
    let mut segments = MessageSegments::default();
    segments.all.push(MessageSegment::default());
    let mut dictionary_first = None;
    let mut scratch = SampleLists::default();
    let mut splitter = FieldSplitter::new(PROFILES_SCHEMA, limits);
    let whole = each_field(pull, &mut splitter, note, |field, _| {
        let here = segments.all.len() - 1;
        let has_dictionary = segments.all.last().is_some_and(|last| last.has_dictionary);
        if std::ptr::eq(field.within, &PROFILES_DATA) {
            let is_dictionary = field.number == 2;
            let first = *dictionary_first.get_or_insert(is_dictionary);
            let next = has_dictionary && (is_dictionary || !first);
            if next {
                segments.all.push(MessageSegment::default());
                segments
                    .tally
                    .add(Level::Info, "concatenated", field.offset, || {
                        "another message begins here, with a dictionary of its own".to_owned()
                    });
            }
            let here = here + usize::from(next);
            if is_dictionary {
                if let Some(last) = segments.all.last_mut() {
                    last.has_dictionary = true;
                }
            } else if field.number == 1 {
                segments.of_resource.push(here);
            }
            return Flow::Continue(());
        }
        let Some(segment) = segments.all.last_mut() else {
            return Flow::Continue(());
        };
        let Content::Len(body) = field.value else {
            return Flow::Continue(());
        };
        if std::ptr::eq(field.within, &RESOURCE_PROFILES) && field.number == 1 {
            segments.clock = segments.clock.take().or_else(|| clock(body));
        } else if std::ptr::eq(field.within, &DICTIONARY) {
            if !segment.dictionary.take(field.number, body, limits) {
                segments
                    .tally
                    .add(Level::Damage, "limit_table", field.offset, || {
                        "the dictionary holds more than the limits allow".to_owned()
                    });
            }
        } else if std::ptr::eq(field.within, &PROFILE) {
            match field.number {
                2 => segment.votes.take(body, &mut scratch),
                3 => segments.tally.add(Level::Damage, "old_layout", field.offset, || {
                    "profiles of version 1.8 and before have their stacks elsewhere, which is not read"
                        .to_owned()
                }),
                _ => {}
            }
        }
        Flow::Continue(())
    })?;
    Ok(whole.then_some(segments))
}
