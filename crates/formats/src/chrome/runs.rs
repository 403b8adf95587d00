//! Where events and their members are, in about as many bytes as an event has members: for who reads them again.
//!
//! Events of a trace are alike: as much lies between the values of one as between those of many others. A run has each such
//! layout once, and of an event its number and how long the values are.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use foldhash::fast::RandomState;

use super::event::EventPlaces;

/// Members of a layout; events with more are in no run.
pub(super) const MEMBERS: usize = 16;

/// What events have in common but for the lengths of their values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct EventLayout {
    /// Of each member, in the order of the text, its number among those that are looked at, and how far behind the value before
    /// it, or the beginning of the event, its value begins.
    pub(super) members: [[u8; 2]; MEMBERS],
    pub(super) n_members: u8,
    /// How far behind the last value the event ends.
    pub(super) rest: u8,
    /// The lengths of values take two bytes each.
    pub(super) is_wide: bool,
    /// A bit for each member that is looked at and there, and for each of those that has escapes in it.
    pub(super) found: u32,
    pub(super) escaped: u32,
}

impl Hash for EventLayout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for eight in self.members.as_flattened().as_chunks().0 {
            state.write_u128(u128::from_le_bytes(*eight));
        }
        state.write_u64(u64::from(self.escaped) << 32 | u64::from(self.rest));
    }
}

/// Events of a stretch of a trace.
#[derive(Debug, Default)]
pub(super) struct EventRun {
    /// Where the stretch begins and ends.
    extent: Range<u64>,
    layouts: Vec<EventLayout>,
    /// Of each event the number of its layout, how far behind the one before it it begins, and the lengths of its values.
    bytes: Vec<u8>,
}

impl EventRun {
    /// Returns where the first event begins and where the last one ends.
    pub(super) fn extent(&self) -> Range<u64> {
        self.extent.clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns how much memory its events take.
    pub(super) fn size(&self) -> u64 {
        let inside = self.bytes.capacity() + self.layouts.capacity() * size_of::<EventLayout>();
        (size_of::<Self>() + inside) as u64
    }
}

/// Makes runs of events.
#[derive(Debug, Default)]
pub(super) struct EventRunWriter {
    run: EventRun,
    numbers: HashMap<EventLayout, u8, RandomState>,
    n_events: usize,
}

impl EventRunWriter {
    /// Returns how many events the run has.
    pub(super) fn n_events(&self) -> usize {
        self.n_events
    }

    /// Adds the event at an offset, which lies behind all others; returns the run so far where the event is the first one of
    /// another.
    #[inline]
    pub(super) fn push(
        &mut self,
        offset: u64,
        length: usize,
        places: &EventPlaces,
    ) -> Option<EventRun> {
        let (layout, lengths) = places.layout()?;
        let (number, gap, full) = match (self.numbers.get(layout), self.gap(offset)) {
            (Some(&number), Some(gap)) => (number, gap, None),
            _ => self.meet(layout, offset),
        };
        let bytes = &mut self.run.bytes;
        bytes.push(number);
        match u8::try_from(gap) {
            Ok(near) if near != FAR => bytes.push(near),
            _ => put_far(bytes, gap),
        }
        match layout.is_wide {
            false => bytes.extend(lengths.iter().map(|length| length.to_le_bytes()[0])),
            true => bytes.extend(lengths.iter().flat_map(|length| length.to_le_bytes())),
        }
        self.run.extent.end = offset + length as u64;
        self.n_events += 1;
        full
    }

    /// Returns how far behind the last event an offset lies; none where that is too far.
    #[inline]
    fn gap(&self, offset: u64) -> Option<u32> {
        u32::try_from(offset - self.run.extent.end).ok()
    }

    /// Gives a layout a number, in another run where this one has no room or is far away; returns it with the gap before
    /// the event that has the layout, and the run that ended.
    #[cold]
    fn meet(&mut self, layout: &EventLayout, offset: u64) -> (u8, u32, Option<EventRun>) {
        let number = u8::try_from(self.run.layouts.len()).ok();
        let (number, gap, full) = match (number, self.gap(offset)) {
            (Some(number), Some(gap)) if self.n_events > 0 => (number, gap, None),
            _ => {
                let full = self.take();
                self.run.extent = offset..offset;
                (0, 0, Some(full).filter(|run| !run.is_empty()))
            }
        };
        self.run.layouts.push(*layout);
        self.numbers.insert(*layout, number);
        (number, gap, full)
    }

    /// Returns the run so far.
    pub(super) fn take(&mut self) -> EventRun {
        self.numbers.clear();
        self.n_events = 0;
        let mut run = std::mem::take(&mut self.run);
        run.bytes.shrink_to_fit();
        run.layouts.shrink_to_fit();
        run
    }
}

/// Follows the events of a run.
#[derive(Debug, Default)]
pub(super) struct EventRunReader {
    run: EventRun,
    /// The bytes that were read, and where the last event ends.
    at: usize,
    end: u64,
}

impl EventRunReader {
    pub(super) fn new(run: EventRun) -> Self {
        Self {
            at: 0,
            end: run.extent.start,
            run,
        }
    }

    /// Returns the run, with the events that were read.
    pub(super) fn into_run(self) -> EventRun {
        self.run
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.run.bytes.len()
    }

    /// Returns the length of the event at an offset and takes the places of its members; none where the run has no event there.
    #[inline]
    pub(super) fn event(&mut self, offset: u64, places: &mut EventPlaces) -> Option<u32> {
        loop {
            let rest = self.run.bytes.get(self.at..)?;
            let (&[number, near], rest) = rest.split_first_chunk()?;
            let (gap, rest) = match near {
                FAR => far(rest)?,
                near => (u32::from(near), rest),
            };
            let begin = self.end + u64::from(gap);
            if begin > offset {
                return None;
            }
            let layout = self.run.layouts.get(usize::from(number))?;
            let n_members = usize::from(layout.n_members);
            let (length, rest) = if layout.is_wide {
                let (lengths, rest) = rest.split_at_checked(2 * n_members)?;
                let lengths = lengths.as_chunks().0.iter();
                let lengths = lengths.map(|length| u16::from_le_bytes(*length));
                (places.take_layout(layout, lengths), rest)
            } else {
                let (lengths, rest) = rest.split_at_checked(n_members)?;
                let lengths = lengths.iter().map(|length| u16::from(*length));
                (places.take_layout(layout, lengths), rest)
            };
            self.at = self.run.bytes.len() - rest.len();
            self.end = begin + u64::from(length);
            if begin == offset {
                return Some(length);
            }
        }
    }
}

/// Stands for a gap of so many bytes or more, in four bytes behind it.
const FAR: u8 = u8::MAX;

#[cold]
fn put_far(bytes: &mut Vec<u8>, gap: u32) {
    bytes.push(FAR);
    bytes.extend_from_slice(&gap.to_le_bytes());
}

#[cold]
fn far(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (gap, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*gap), rest))
}
