//! Which version of the format samples are laid out by: told by what they hold, nothing else says it.
//!
//! Versions 1.9 and 1.10 put values, attributes and link of a sample under different numbers and kept
//! the message's name, so that a reader of one finds neither values nor attributes in the other's.

use super::sample::SampleLists;
use crate::protobuf::{RawValue, fields, packed_varints};

/// The order of a sample's fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum SampleFieldOrder {
    /// Values, attributes, link in fields 2, 3, 4.
    V1_9,
    /// Attributes, link, values in fields 2, 3, 4: versions 1.10 and 1.11.
    #[default]
    V1_10,
}

/// What the samples of a message speak for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Votes {
    old: u64,
    new: u64,
    /// Field 2 with no timestamps: attributes of a sample without a value are no sample.
    bare: u64,
    /// Field 2 has as many entries as there are timestamps.
    paired: u64,
    unpaired: u64,
    /// Largest entry of field 2.
    largest: u64,
}

impl Votes {
    /// Counts a sample.
    pub(super) fn take(&mut self, body: &[u8], scratch: &mut SampleLists) {
        scratch.clear();
        let (mut decided, mut timestamps) = (false, 0);
        for (number, value) in fields(body) {
            match (number, value) {
                (3, RawValue::Len(_)) | (4, RawValue::Varint(_)) => {
                    self.old += 1;
                    decided = true;
                }
                (3, RawValue::Varint(_)) | (4, RawValue::Len(_)) => {
                    self.new += 1;
                    decided = true;
                }
                (2, value) => packed_varints(value, &mut scratch.numbers),
                (5, RawValue::Len(run)) => timestamps += run.len() / 8,
                (5, _) => timestamps += 1,
                _ => {}
            }
        }
        if decided || scratch.numbers.is_empty() {
            return;
        }
        let most = scratch.numbers.iter().max().copied().unwrap_or(0);
        self.largest = self.largest.max(most);
        if timestamps == 0 {
            self.bare += 1;
        } else if timestamps == scratch.numbers.len() {
            self.paired += 1;
        } else {
            self.unpaired += 1;
        }
    }

    /// Decides; `attributes` is the length of the attribute table.
    pub(super) fn layout(&self, attributes: usize) -> SampleFieldOrder {
        if self.old != self.new {
            return if self.old > self.new {
                SampleFieldOrder::V1_9
            } else {
                SampleFieldOrder::V1_10
            };
        }
        if self.old == 0 && self.bare > 0 {
            return SampleFieldOrder::V1_9;
        }
        let fits = self.largest < attributes as u64;
        if self.old == 0 && self.paired > 0 && self.unpaired == 0 && !fits {
            return SampleFieldOrder::V1_9;
        }
        SampleFieldOrder::V1_10
    }
}
