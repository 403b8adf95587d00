//! What comes out: a row a monitor.

use std::borrow::Cow;

use traceloom_model::{ObjectId, Recording, StackId, TrackId};

use super::WaitKind;
use crate::names;

/// Waits of one kind, added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// Nanoseconds of those whose begin and end were recorded.
    pub total: u64,
    /// The longest of them.
    pub longest: u64,
    /// Those of which the begin or the end was not recorded; they have no length.
    pub open: u64,
    /// Thread dumps that show a thread waiting; they have no length either and are not in `count`.
    pub seen: u64,
}

impl Waits {
    pub(super) fn add(&mut self, length: Option<u64>) {
        self.count += 1;
        match length {
            Some(ns) => {
                self.total = self.total.saturating_add(ns);
                self.longest = self.longest.max(ns);
            }
            None => self.open += 1,
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        self.longest = self.longest.max(other.longest);
        self.open += other.open;
        self.seen += other.seen;
    }
}

/// What one thread or stack has in a monitor's waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share<I> {
    /// The thread or stack; none for waits that do not say, or came after the memory for shares was full.
    pub of: Option<I>,
    /// How many waits, and how many sightings in thread dumps.
    pub count: u64,
    /// Nanoseconds.
    pub total: u64,
}

/// A monitor, or all monitors of a class.
#[derive(Clone, PartialEq, Debug)]
pub struct Monitor {
    /// The object; none for all of a class, and where the producer does not tell objects apart.
    pub object: Option<ObjectId>,
    /// How often the object's id had been given out before.
    pub generation: u32,
    /// Name of its class, where it is known.
    pub class: Option<String>,
    /// The thread whose own object it is: waiting for it is `Thread.join`.
    pub of_thread: Option<TrackId>,
    /// Waits by kind, in the order of [`WaitKind::ALL`].
    pub waits: [Waits; 3],
    /// Threads that waited, by falling time.
    pub threads: Vec<Share<TrackId>>,
    /// Threads that held it when others came, by falling time.
    pub owners: Vec<Share<TrackId>>,
    /// Where threads waited, by falling time.
    pub stacks: Vec<Share<StackId>>,
}

impl Monitor {
    /// Returns the waits of one kind.
    #[must_use]
    pub fn of(&self, kind: WaitKind) -> Waits {
        let [contended, waited, parked] = self.waits;
        match kind {
            WaitKind::Contended => contended,
            WaitKind::Waited => waited,
            WaitKind::Parked => parked,
        }
    }

    /// Returns how many waits of any kind there were, sightings included.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.waits
            .iter()
            .map(|waits| waits.count + waits.seen)
            .sum()
    }

    /// Returns the nanoseconds of all waits.
    #[must_use]
    pub fn total(&self) -> u64 {
        let totals = self.waits.iter().map(|waits| waits.total);
        totals.fold(0, u64::saturating_add)
    }

    /// Returns the longest wait of any kind.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.waits.iter().map(|w| w.longest).max().unwrap_or(0)
    }
}

/// The monitors of a recording, with the tables that their ids point into.
#[derive(Debug, Default)]
pub struct Monitors {
    /// Definitions; spans, samples and events are empty.
    pub tables: Recording,
    /// The monitors, by falling time blocked at the entrance, then by falling time in all.
    pub rows: Vec<Monitor>,
    /// Monitors that found no room: their waits are counted here and in no row.
    pub crowded_out: u64,
    /// Waits that the filter did not accept.
    pub refused: u64,
    /// Events that were read, of whatever kind.
    pub events: u64,
    /// Samples that were read and name no lock.
    pub samples: u64,
}

impl Monitors {
    /// Returns a thread's name, or its id.
    #[must_use]
    pub fn thread(&self, id: TrackId) -> String {
        let Some(track) = self.tables.track(id) else {
            return format!("#{}", id.raw());
        };
        match (track.name, track.id.or(track.os_id)) {
            (Some(name), _) => self.tables.text(name).into_owned(),
            (None, Some(number)) => format!("thread {number}"),
            (None, None) => format!("#{}", id.raw()),
        }
    }

    /// Returns the frames of a stack, innermost first: functions with the line where it is known.
    #[must_use]
    pub fn frames(&self, stack: StackId) -> Vec<String> {
        const MOST: usize = 4096;
        let mut frames = Vec::new();
        let mut next = Some(stack);
        while let Some(id) = next.filter(|_| frames.len() < MOST) {
            let Some(row) = self.tables.stack(id) else {
                frames.push(format!("#{}", id.raw()));
                break;
            };
            let frame = self.tables.frame(row.frame);
            let name = match frame.and_then(|frame| frame.function) {
                Some(function) => self.tables.function_name(function),
                None => Cow::Borrowed("(unknown)"),
            };
            let name = names::demangle(&name).into_owned();
            frames.push(match frame.map_or(0, |frame| frame.line) {
                0 => name,
                line => format!("{name}:{line}"),
            });
            next = row.parent;
        }
        frames
    }
}
