//! Waiting events, and what they say besides their times.

use traceloom_model::bounds::{length_u32, saturated_u16, subslice};

use super::mark::EventPosition;
use super::names::DescriptionNumber;
use super::record::{Attributes, Event};

/// Bytes that may lie about before what is left is moved together.
const SLACK: usize = 1 << 16;

/// An event that waits for what may enclose it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PendingEvent {
    pub start: u64,
    /// Not before `start`.
    pub end: u64,
    pub offset: u64,
    pub described: DescriptionNumber,
    body: usize,
    attributes: u32,
    undecoded: u32,
    /// Bytes of a description that has no number.
    description: u16,
    /// How many rows further the one is that encloses it; 0 when none does so far.
    pub up: u32,
    /// Rows that it encloses, with itself.
    pub size: u32,
    /// How many of the last rows it encloses; [`PendingEvent::CONTAINED`] for what it contains.
    pub encloses: u32,
    /// A call inside another, or an outermost event that is no call.
    pub is_other_entry: bool,
}

impl PendingEvent {
    /// Containment decides what the row encloses.
    pub const CONTAINED: u32 = u32::MAX;

    fn len(&self) -> usize {
        usize::from(self.description) + self.attributes as usize + self.undecoded as usize
    }
}

/// What is said of an event besides its times.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventBody<'a> {
    /// The description, when it has no number.
    pub description: &'a [u8],
    pub attributes: Attributes<'a>,
    pub undecoded: &'a [u8],
}

/// The bytes of waiting events in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    bytes: Vec<u8>,
    /// Bytes of rows that still wait.
    needed: usize,
}

impl Bodies {
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Keeps the bytes of an event, `attributes` in place of its own.
    #[inline]
    pub fn keep(
        &mut self,
        event: &Event<'_>,
        attributes: &[u8],
        mark: EventPosition,
        described: DescriptionNumber,
    ) -> PendingEvent {
        let length = |bytes: &[u8]| length_u32(bytes.len());
        let body = self.bytes.len();
        let mut description = 0;
        if described.number().is_none() {
            description = saturated_u16(event.description.len());
            self.bytes.extend_from_slice(event.description);
        }
        if !attributes.is_empty() {
            self.bytes.extend_from_slice(attributes);
        }
        if !event.undecoded.is_empty() {
            self.bytes.extend_from_slice(event.undecoded);
        }
        self.needed += self.bytes.len() - body;
        PendingEvent {
            start: event.start,
            end: event.end.max(event.start),
            offset: event.offset,
            described,
            body,
            attributes: length(attributes),
            undecoded: length(event.undecoded),
            description,
            up: 0,
            size: 1,
            encloses: mark.encloses.unwrap_or(PendingEvent::CONTAINED),
            is_other_entry: mark.is_other_entry,
        }
    }

    fn bytes_of(&self, row: &PendingEvent) -> &[u8] {
        subslice(&self.bytes, row.body..row.body + row.len())
    }

    #[inline]
    pub fn body(&self, row: &PendingEvent) -> EventBody<'_> {
        let bytes = self.bytes_of(row);
        let (description, rest) = bytes
            .split_at_checked(usize::from(row.description))
            .unwrap_or_default();
        let (attributes, undecoded) = rest
            .split_at_checked(row.attributes as usize)
            .unwrap_or_default();
        EventBody {
            description,
            attributes: Attributes { bytes: attributes },
            undecoded,
        }
    }

    /// Learns that a row waits no longer.
    #[inline]
    pub fn let_go(&mut self, row: &PendingEvent) {
        self.needed -= row.len();
    }

    /// Moves what `rows` need together, when more lies about than that: they are all that wait.
    pub fn tidy<'r>(&mut self, rows: impl Iterator<Item = &'r mut PendingEvent>) {
        if self.bytes.len() < SLACK + 2 * self.needed {
            return;
        }
        let mut left = Vec::with_capacity(self.needed + SLACK);
        for row in rows {
            let body = left.len();
            left.extend_from_slice(self.bytes_of(row));
            row.body = body;
        }
        self.bytes = left;
    }
}
