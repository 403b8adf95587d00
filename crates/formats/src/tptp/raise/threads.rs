//! Tracks as threads: their ids, and what waits on each.

use std::collections::HashSet;

use traceloom_model::TrackId;
use traceloom_model::bounds::row_number;

use super::Writer;
use super::order::Rank;
use super::schema;
use super::tree::PendingCall;
use crate::tptp::message::Draft;

/// Thread ids for tracks that have none of their own, or one that is taken.
const OWN_IDS: u64 = 1 << 32;

/// A track.
#[derive(Debug, Default)]
pub(super) struct WrittenTrack {
    pub id: Option<u64>,
    /// The first time at which it did something, while nothing has told of it.
    pub starting: Option<i64>,
    /// Spans whose call is not complete.
    pub pending: PendingCall,
    /// How many spans were written.
    pub tickets: u64,
    /// The latest time written: what is nested stays so, whatever its times say.
    latest: Option<i64>,
}

impl WrittenTrack {
    #[inline]
    pub fn in_order(&mut self, time: i64) -> i64 {
        let time = self.latest.map_or(time, |latest| latest.max(time));
        self.latest = Some(time);
        time
    }
}

/// Tracks by their place in the table of them.
#[derive(Debug, Default)]
pub(super) struct TrackNumbers {
    tracks: Vec<WrittenTrack>,
    used: HashSet<u64>,
    /// Tracks with another number than the one recorded.
    pub renumbered: u64,
}

impl TrackNumbers {
    /// Lends a track.
    #[inline]
    pub fn of(&mut self, track: TrackId) -> &mut WrittenTrack {
        let at = track.index();
        if self.tracks.len() <= at {
            self.tracks.resize_with(at + 1, WrittenTrack::default);
        }
        #[expect(clippy::indexing_slicing, reason = "the table was made long enough")]
        &mut self.tracks[at]
    }

    /// Returns the id of a track, 0 when it has none yet.
    #[inline]
    pub fn known(&self, track: TrackId) -> u64 {
        let thread = self.tracks.get(track.index());
        thread.and_then(|thread| thread.id).unwrap_or(0)
    }

    /// Returns the tracks that were lent so far, and those between them.
    pub fn all(&self) -> impl Iterator<Item = TrackId> + use<> {
        let last = row_number(self.tracks.len());
        (0..last).map(TrackId::new)
    }
}

impl Writer<'_> {
    /// Takes the id of a track that does something at `time`, and tells of its thread when it is new.
    #[inline]
    pub(super) fn thread(&mut self, track: TrackId, time: i64) -> u64 {
        let thread = self.threads.of(track);
        if let Some(id) = thread.id {
            if let Some(first) = &mut thread.starting {
                *first = time.min(*first);
            }
            return id;
        }
        let id = self.thread_id(track);
        self.threads.of(track).starting = Some(time);
        id
    }

    pub(super) fn thread_id(&mut self, track: TrackId) -> u64 {
        if let Some(id) = self.threads.of(track).id {
            return id;
        }
        let row = self.tables.track(track);
        let recorded = row.and_then(|row| row.id.or(row.os_id));
        let wanted = recorded.filter(|&id| id != 0);
        let own = OWN_IDS + u64::from(track.raw());
        let used = &mut self.threads.used;
        let id = wanted.filter(|id| !used.contains(id)).unwrap_or(own);
        used.insert(id);
        if recorded.is_some_and(|recorded| recorded != id) {
            self.threads.renumbered += 1;
        }
        self.threads.of(track).id = Some(id);
        id
    }

    /// Tells of the threads that nothing has told of.
    pub(super) fn start_threads(&mut self) {
        for track in self.threads.all() {
            let thread = self.threads.of(track);
            let (Some(time), id) = (thread.starting.take(), thread.id) else {
                continue;
            };
            let name = self.tables.track(track).and_then(|row| row.name);
            let name = self.text(name);
            let draft = Draft::new(schema(1009)).number("threadId", id.unwrap_or(0));
            self.put(time, Rank::Defines, &draft.text("threadName", &name));
        }
    }
}
