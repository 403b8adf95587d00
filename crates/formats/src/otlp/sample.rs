//! One sample, decoded by the layout of its message.

use super::layout::SampleFieldOrder;
use crate::protobuf::{RawValue, fields, packed_fixed, packed_varints};

/// The lists of a sample; they serve sample after sample.
#[derive(Debug, Default)]
pub(super) struct SampleLists {
    pub(super) numbers: Vec<u64>,
    pub(super) attributes: Vec<u64>,
    pub(super) values: Vec<u64>,
    pub(super) timestamps: Vec<u64>,
    pub(super) stack: u64,
    pub(super) link: u64,
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
