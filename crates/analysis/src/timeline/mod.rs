//! When what ran: tracks over time, as rows that a terminal sums up and a page draws.
//!
//! A [`Collector`] keeps one recording, a [`Timeline`] lays out any number of them. On a track, spans come first, a
//! level below what calls them, in as many lanes as overlap asks for; then waits for monitors, other events, samples.
//! What concerns the whole process, pauses and losses of data, is on a track of its own, and bands across the others
//! repeat it.
//!
//! ```
//! use traceloom_analysis::timeline::{Collector, Timeline};
//! use traceloom_model::{Function, Sink, SpanBatch, SpanRow, Tables, Track};
//!
//! let mut tables = Tables::new();
//! let buy = tables.string("com.acme.Shop.buy");
//! let buy = tables.function(Function::named(buy));
//! let main = tables.string("main");
//! let main = tables.track(Track::thread(main));
//! let mut spans = SpanBatch::default();
//! spans.push(&SpanRow::call(tables.reserve_span(), main, buy, 1_000, 5_000));
//!
//! let mut collector = Collector::default();
//! let _ = collector.define(tables.take_definitions());
//! let _ = collector.spans(spans);
//! let mut timeline = Timeline::default();
//! timeline.add("shop", collector, false);
//! let track = &timeline.tracks[0];
//! assert_eq!((track.name.as_str(), track.totals.spans, track.totals.busy), ("main", 1, 4_000));
//! ```

mod activity;
mod attribute_lists;
mod bits;
mod build;
mod collect;
mod data;
mod details;
mod fold;
mod held;
pub(crate) mod html;
mod levels;
mod loss;
mod nest;
mod order;
mod others;
mod points;
mod thin;
mod track;

pub use activity::Activity;
pub use collect::Collector;
pub use html::{MOST_ITEMS, MOST_TRACKS, html, missing};
pub use track::{Counter, Totals, Track, TrackLine, Waited};

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;
use traceloom_model::bounds::row_number;

use crate::grouped;
use details::Details;

/// Its start was not recorded.
pub(crate) const PARTIAL_START: u8 = 1;
/// Its end was not recorded.
pub(crate) const PARTIAL_END: u8 = 2;
/// It failed.
pub(crate) const FAILED: u8 = 4;

/// What a row holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RowKind {
    /// Times during which no thread of the process ran.
    Pause,
    /// Data that is missing: the producer said so, or the input is damaged there.
    Loss,
    /// Spans of one lane and level.
    Span,
    /// Waits for monitors and locks.
    Wait,
    /// Other events.
    Event,
    /// Samples.
    Sample,
}

impl RowKind {
    /// Returns its word in JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Loss => "loss",
            Self::Span => "span",
            Self::Wait => "wait",
            Self::Event => "event",
            Self::Sample => "sample",
        }
    }
}

/// One row of a track: items that follow each other and do not overlap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// What it holds.
    pub kind: RowKind,
    /// Lane, from 0: items of different lanes may overlap.
    pub lane: u32,
    /// Level within its lane, from 0: what lies within an item of the level above.
    pub level: u32,
    /// The value that its samples count, empty for other rows.
    pub value: String,
    /// Its items in the columns of the timeline.
    pub(crate) items: Range<usize>,
}

/// Items of all rows in columns: 45 bytes each.
#[derive(Debug, Default)]
pub(crate) struct Items {
    pub(crate) start: Vec<Timestamp>,
    pub(crate) end: Vec<Timestamp>,
    pub(crate) name: Vec<u32>,
    /// The list of its attributes among those of its recording, 0 for none.
    pub(crate) detail: Vec<u32>,
    /// Nanoseconds that its children on the same track cover.
    pub(crate) covered: Vec<u64>,
    pub(crate) flags: Vec<u8>,
    /// How many it is: more than 1 where they are held together.
    pub(crate) count: Vec<u32>,
    /// Nanoseconds that they fill.
    pub(crate) filled: Vec<u64>,
}

/// One of the recordings.
#[derive(Debug)]
pub struct Source {
    /// What it is called.
    pub title: String,
    /// Its times are of the Unix epoch; otherwise they are comparable among themselves alone.
    pub unix: bool,
    /// The first and the last time in it, none when nothing has a time.
    pub times: Option<(Timestamp, Timestamp)>,
    /// Samples without a time: they are in no row.
    pub timeless: u64,
    /// Damage of the input of which nothing tells the time.
    pub unplaced: u64,
    /// Lists of attributes that found no room.
    pub details_left_out: u64,
    /// Tracks that have no line of their own, because there were too many ([`Collector::with_tracks`]).
    pub other_tracks: u64,
    /// Counters that are not there for the same reason.
    pub other_counters: u64,
    /// Points of the others that are left out; the least and the greatest of each stretch of time are there.
    pub points_left_out: u64,
    details: Details,
}

/// Recordings over time.
#[derive(Debug)]
pub struct Timeline {
    /// The recordings, in the order in which they were added.
    pub sources: Vec<Source>,
    /// Tracks, those of a process below each other, with lanes and async work under what they hang from.
    pub tracks: Vec<Track>,
    /// Rows of all tracks.
    pub rows: Vec<Row>,
    /// Counters.
    pub counters: Vec<Counter>,
    pub(crate) items: Items,
    pub(crate) names: Names,
    /// Items that are held; of more, short neighbours are held as one.
    most: usize,
}

impl Default for Timeline {
    fn default() -> Self {
        Self::holding(MOST_ITEMS)
    }
}

impl Timeline {
    /// Starts with nothing; at most about so many spans, events and samples of all recordings are held one by one.
    #[must_use]
    pub fn holding(most: usize) -> Self {
        Self {
            sources: Vec::new(),
            tracks: Vec::new(),
            rows: Vec::new(),
            counters: Vec::new(),
            items: Items::default(),
            names: Names::default(),
            most,
        }
    }

    /// Returns how many spans, events and samples are held together with others, for want of room.
    #[must_use]
    pub fn held_together(&self) -> u64 {
        let counts = self.items.count.iter().map(|&count| u64::from(count));
        counts.filter(|&count| count > 1).sum()
    }

    /// Says what has no line of its own, where there is anything.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        let sum = |of: fn(&Source) -> u64| self.sources.iter().map(of).fold(0, u64::saturating_add);
        let tracks = sum(|source| source.other_tracks);
        let counters = sum(|source| source.other_counters);
        let said = [
            (tracks > 0).then(|| {
                format!(
                    "{} of the least busy tracks have no line of their own: one line for those of each process, or of many, says how much they did",
                    grouped(tracks)
                )
            }),
            (counters > 0).then(|| format!("{} counters of few points are not drawn", grouped(counters))),
        ];
        let said: Vec<String> = said.into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// Returns from when to when it reaches: times of clocks that nobody placed are counted from their start.
    #[must_use]
    pub fn times(&self) -> Option<(Timestamp, Timestamp)> {
        let placed = self.sources.iter().filter(|source| source.unix);
        let placed = placed.filter_map(|source| source.times);
        let placed = placed.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)));
        let own = self.sources.iter().filter(|source| !source.unix);
        let own = own.filter_map(|source| source.times);
        match (placed, own.clone().count()) {
            (None, 1) => own.clone().next(),
            (None, 0) => None,
            (placed, _) => {
                let longest = own.map(|(start, end)| end.abs_diff(start)).max();
                let (start, end) = placed.unwrap_or((0, 0));
                let reach = start.saturating_add_unsigned(longest.unwrap_or(0));
                Some((start, end.max(reach)))
            }
        }
    }

    /// Returns where nearly everything lies, when a few items far away make the whole more than a thousand times longer:
    /// damage can say any time.
    #[must_use]
    pub fn bulk(&self) -> Option<(Timestamp, Timestamp)> {
        let (start, end) = self.times()?;
        let placed = |column: &[Timestamp]| {
            let mut times: Vec<Timestamp> = Vec::with_capacity(column.len());
            for track in &self.tracks {
                let base = self.base(track.source, start);
                for row in self.rows_of(track) {
                    let items = column.get(row.items.clone()).unwrap_or_default();
                    let since = items.iter().map(|time| time.saturating_sub(base));
                    times.extend(since.map(|since| start.saturating_add(since)));
                }
            }
            times
        };
        let few = self.items.start.len().div_ceil(100).max(2);
        let last = self.items.start.len().checked_sub(few + 1)?;
        let mut starts = placed(&self.items.start);
        let mut ends = placed(&self.items.end);
        if last <= few || starts.len() <= last {
            return None;
        }
        let (_, &mut first, _) = starts.select_nth_unstable(few);
        let (_, &mut last, _) = ends.select_nth_unstable(last);
        let length = last.abs_diff(first).max(1);
        let slack = i64::try_from(length / 20).unwrap_or(0);
        (end.abs_diff(start) / 1000 > length).then(|| {
            (
                first.saturating_sub(slack).max(start),
                last.saturating_add(slack).min(end),
            )
        })
    }

    /// Returns what is time zero of a recording's rows when [`Timeline::times`] begins at `start`.
    #[must_use]
    pub fn base(&self, source: usize, start: Timestamp) -> Timestamp {
        match self.sources.get(source) {
            Some(source) if !source.unix => source.times.map_or(start, |(first, _)| first),
            _ => start,
        }
    }

    /// Returns the sum of the totals of all tracks.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut all = Totals::default();
        self.tracks.iter().for_each(|track| all.add(&track.totals));
        all
    }

    /// Returns true if nothing in it has a time.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.counters.is_empty()
    }

    pub(crate) fn rows_of(&self, track: &Track) -> &[Row] {
        self.rows.get(track.rows.clone()).unwrap_or_default()
    }
}

/// Names of spans and events, each once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) texts: Vec<String>,
    known: HashMap<String, u32, RandomState>,
}

impl Names {
    fn intern(&mut self, text: String) -> u32 {
        if let Some(&known) = self.known.get(&text) {
            return known;
        }
        let number = row_number(self.texts.len());
        self.texts.push(text.clone());
        self.known.insert(text, number);
        number
    }
}

#[cfg(test)]
mod tests;
