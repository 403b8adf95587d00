//! Tracks, and what they come to.

use std::ops::Range;

use traceloom_model::{Timestamp, TrackKind};

use crate::MeasureUnit;
use crate::monitors::WaitKind;

/// What a track is a line of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrackLine {
    /// A thread, stream, async substream or lane.
    Of(TrackKind),
    /// What concerns the whole process, and what has no track.
    Process,
}

impl TrackLine {
    /// Returns its word in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Of(TrackKind::Thread) => "thread",
            Self::Of(TrackKind::Stream) => "stream",
            Self::Of(TrackKind::Async) => "async",
            Self::Of(TrackKind::Lane) => "lane",
        }
    }
}

/// A track with its rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Track {
    /// The recording it is of.
    pub source: usize,
    /// Its name, else the number that its producer gives it.
    pub name: String,
    /// The service or process that it belongs to, empty when the producer names none.
    pub process: String,
    /// What it is a line of.
    pub line: TrackLine,
    /// How many tracks it hangs under.
    pub level: u32,
    /// How many tracks it is a line for that have none of their own; 0 for a track itself.
    pub stands_for: u64,
    /// What it comes to.
    pub totals: Totals,
    /// Its rows among those of the timeline.
    pub rows: Range<usize>,
}

/// Waits of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waited {
    /// How many.
    pub count: u64,
    /// Nanoseconds; waits that overlap on a track count each.
    pub total: u64,
}

impl Waited {
    pub(super) fn see(&mut self, length: u64) {
        self.count += 1;
        self.total = self.total.saturating_add(length);
    }
}

/// What a track comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Spans.
    pub spans: u64,
    /// Those of which start or end were not recorded.
    pub partial: u64,
    /// Those that failed.
    pub failed: u64,
    /// Nanoseconds during which at least one span ran.
    pub busy: u64,
    /// The longest span, in nanoseconds.
    pub longest: u64,
    /// Waits by kind, in the order of [`WaitKind::ALL`].
    pub waits: [Waited; 3],
    /// Pauses of the process.
    pub pauses: Waited,
    /// Stretches where data is missing.
    pub losses: Waited,
    /// Other events.
    pub events: u64,
    /// Samples.
    pub samples: u64,
    /// What is counted and not drawn: more lanes or levels than a track shows.
    pub undrawn: u64,
}

impl Totals {
    /// Returns the waits of a kind.
    #[must_use]
    pub fn waits_of(&self, kind: WaitKind) -> Waited {
        let [contended, waited, parked] = self.waits;
        match kind {
            WaitKind::Contended => contended,
            WaitKind::Waited => waited,
            WaitKind::Parked => parked,
        }
    }

    pub(super) fn waits_mut(&mut self, kind: WaitKind) -> &mut Waited {
        let [contended, waited, parked] = &mut self.waits;
        match kind {
            WaitKind::Contended => contended,
            WaitKind::Waited => waited,
            WaitKind::Parked => parked,
        }
    }

    /// Adds those of another track.
    pub(super) fn add(&mut self, other: &Self) {
        self.spans += other.spans;
        self.partial += other.partial;
        self.failed += other.failed;
        self.busy = self.busy.saturating_add(other.busy);
        self.longest = self.longest.max(other.longest);
        let pairs = self.waits.iter_mut().zip(&other.waits);
        let pauses = [
            (&mut self.pauses, &other.pauses),
            (&mut self.losses, &other.losses),
        ];
        for (own, other) in pairs.chain(pauses) {
            own.count += other.count;
            own.total = own.total.saturating_add(other.total);
        }
        self.events += other.events;
        self.samples += other.samples;
        self.undrawn += other.undrawn;
    }
}

/// A counter over time.
#[derive(Clone, PartialEq, Debug)]
pub struct Counter {
    /// The recording it is of.
    pub source: usize,
    /// The track it belongs to, none for the process.
    pub track: Option<usize>,
    /// Its name.
    pub name: String,
    /// The unit of its values.
    pub unit: MeasureUnit,
    /// Its points by time.
    pub points: Vec<(Timestamp, f64)>,
}
