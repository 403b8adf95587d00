//! The attributes that events nearly always have, known before they are read.

use traceloom_model::AttrKeyId;

use super::known::{NameIds, ShortName};

/// The place after a description or a head that has no number.
pub(super) const NOWHERE: usize = usize::MAX;

/// Name and type of an attribute, as they stand before its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttributeHead {
    /// Bytes up to the value.
    pub length: usize,
    pub type_byte: u8,
    pub key: AttrKeyId,
    /// The place of what follows.
    pub next: usize,
}

/// The heads there are, and at every place the one that stood there the last time.
///
/// Places are the beginning of an event of each description and the end of each attribute: events of one
/// description nearly always have the same attributes.
#[derive(Debug, Default)]
pub(super) struct Heads {
    heads: Vec<(ShortName, AttributeHead)>,
    known: NameIds<usize>,
    /// Which head is expected, at even places after a description, at odd ones after a head.
    expected: Vec<usize>,
}

impl Heads {
    /// Returns the place where the attributes of a description begin.
    pub fn first(description: Option<usize>) -> usize {
        description.map_or(NOWHERE, |number| 2 * number)
    }

    /// Returns the head expected at a place when `bytes` begin with it.
    #[inline(always)]
    pub fn expected(&self, place: usize, bytes: &[u8]) -> Option<AttributeHead> {
        let (words, head) = self.heads.get(*self.expected.get(place)?)?;
        words.begin(bytes).then_some(*head)
    }

    /// Finds the head that these bytes are.
    pub fn known(&mut self, bytes: &[u8]) -> Option<AttributeHead> {
        let at = self.known.get(bytes)?;
        self.heads.get(at).map(|(_, head)| *head)
    }

    /// Remembers a head that `bytes` begin with, unless it is long.
    pub fn add(&mut self, bytes: &[u8], head: AttributeHead) -> AttributeHead {
        let Some((bytes, words)) = bytes
            .get(..head.length)
            .and_then(|bytes| Some((bytes, ShortName::of(bytes)?)))
        else {
            return head;
        };
        let at = self.heads.len();
        let head = AttributeHead {
            next: 2 * at + 1,
            ..head
        };
        self.known.insert(bytes, at);
        self.heads.push((words, head));
        head
    }

    /// Expects a head at a place the next time.
    pub fn expect(&mut self, place: usize, head: &AttributeHead) {
        if place == NOWHERE || head.next == NOWHERE {
            return;
        }
        if self.expected.len() <= place {
            self.expected.resize(place + 1, NOWHERE);
        }
        if let Some(expected) = self.expected.get_mut(place) {
            *expected = head.next / 2;
        }
    }
}
