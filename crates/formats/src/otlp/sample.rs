//! Samples, decoded by the layout of their message.

use traceloom_model::{Flow, Limits, Note};

use super::dictionary::ProfilesDictionary;
use super::layout::SampleFieldOrder;
use super::schema::{PROFILE, PROFILES_DATA, PROFILES_SCHEMA};
use super::survey::survey;
use crate::protobuf::{
    Content, FieldSplitter, MessagePiece, RawValue, each, fields, packed_fixed, packed_varints,
};
use crate::{Error, SlicePull};

/// Takes samples with the dictionary that they refer to; breaking ends the reading.
pub trait Visit {
    /// Takes a sample.
    fn sample(&mut self, dictionary: &ProfilesDictionary, sample: &SampleLists) -> Flow;

    /// Takes a note.
    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Hands out the samples of a `ProfilesData`, or of several end to end.
///
/// Every message is read twice, because its dictionary and what tells the layout may come after its samples.
///
/// # Errors
/// None of its own: bytes in memory can be read.
pub fn read<V: Visit>(messages: &[u8], limits: &Limits, out: &mut V) -> Result<(), Error> {
    let mut pull = SlicePull::new(messages, 0);
    let Some(segments) = survey(&mut pull, limits, &mut |note| out.note(note))? else {
        return Ok(());
    };
    let mut sample = SampleLists::default();
    let mut of_resource = segments.of_resource.iter();
    let mut segment = None;
    let mut splitter = FieldSplitter::new(PROFILES_SCHEMA, limits);
    let mut pull = SlicePull::new(messages, 0);
    each(&mut pull, &mut splitter, u64::MAX, |piece| {
        let MessagePiece::Field(field) = piece else {
            return Flow::Continue(());
        };
        if std::ptr::eq(field.within, &PROFILES_DATA) && field.number == 1 {
            segment = of_resource
                .next()
                .and_then(|&index| segments.all.get(index));
        }
        match (segment, field.number, field.value) {
            (Some(segment), 2, Content::Len(body)) if std::ptr::eq(field.within, &PROFILE) => {
                sample.read(body, segment.layout());
                out.sample(&segment.dictionary, &sample)
            }
            _ => Flow::Continue(()),
        }
    })?;
    Ok(())
}

/// The lists of a sample; they serve sample after sample.
#[derive(Debug, Default)]
pub struct SampleLists {
    pub(super) numbers: Vec<u64>,
    /// Rows of the table of attributes.
    pub attributes: Vec<u64>,
    /// Its values, as bits of signed integers; none where it counts its timestamps.
    pub values: Vec<u64>,
    /// Its times, in nanoseconds since 1970.
    pub timestamps: Vec<u64>,
    /// Its stack, in the dictionary.
    pub stack: u64,
    /// Its link, in the dictionary; 0 for none.
    pub link: u64,
}

impl SampleLists {
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
        self.attributes.clear();
        self.values.clear();
        self.timestamps.clear();
        self.stack = 0;
        self.link = 0;
    }

    /// Decodes a sample.
    pub(super) fn read(&mut self, body: &[u8], layout: SampleFieldOrder) {
        self.clear();
        for (number, value) in fields(body) {
            match (layout, number, value) {
                (_, 1, RawValue::Varint(stack)) => self.stack = stack,
                (SampleFieldOrder::V1_10, 2, _) | (SampleFieldOrder::V1_9, 3, _) => {
                    packed_varints(value, &mut self.attributes);
                }
                (SampleFieldOrder::V1_10, 3, RawValue::Varint(link))
                | (SampleFieldOrder::V1_9, 4, RawValue::Varint(link)) => {
                    self.link = link;
                }
                (SampleFieldOrder::V1_10, 4, _) | (SampleFieldOrder::V1_9, 2, _) => {
                    packed_varints(value, &mut self.values);
                }
                (_, 5, _) => packed_fixed(value, &mut self.timestamps),
                _ => {}
            }
        }
    }
}
