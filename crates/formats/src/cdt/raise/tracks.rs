//! Tracks as threads of processes.

use std::collections::HashSet;

use traceloom_model::TrackId;

use super::tables::StreamTables;

/// Threads of a track looked at before another one begins.
const SCANNED: usize = 64;

/// What is known of a track.
#[derive(Default)]
pub(super) struct TrackInfo {
    /// The process its calls are written in, and whether they all are as long as the track is not defined anew.
    process: Option<usize>,
    lasting: bool,
    /// What began before the end of the call before has a thread of its own.
    threads: Vec<WrittenThread>,
    /// How often it has another number than the one recorded.
    renumbered: u64,
    /// The file of calls that has its name, and the number of the name there.
    pub(super) name: Option<(u32, u32)>,
}

/// A thread that calls are written on.
struct WrittenThread {
    id: i64,
    /// End of its last call.
    free_at: i64,
    /// A call of it has a row, from which readers have the name of the thread.
    has_row: bool,
}

impl TrackInfo {
    /// Returns the Java thread id on which a call may begin, and its place among those of the track.
    ///
    /// Time on a thread never goes back, so a call that began before the one before it ended is on another
    /// thread, which its row gives the same name. The first thread of a track has the track's own id, where it
    /// has one that nobody else took.
    pub(super) fn thread(
        &mut self,
        id: TrackId,
        start: i64,
        taken: &mut HashSet<i64>,
        names: &StreamTables,
    ) -> (i64, usize) {
        let mut known = self.threads.iter().enumerate().take(SCANNED);
        if let Some((at, thread)) = known.find(|(_, thread)| thread.free_at <= start) {
            return (thread.id, at);
        }
        let row = names.track(id);
        let recorded = row.and_then(|row| row.id.or(row.os_id));
        let own = recorded
            .and_then(|id| i64::try_from(id).ok())
            .filter(|&id| id > 0);
        let mut new = own.unwrap_or_else(|| i64::from(id.raw()) + 1);
        while !taken.insert(new) {
            new = new % 1_000_000_000 + 1_000_000;
        }
        let is_recorded = |id: u64| i64::try_from(id).is_ok_and(|id| id == new);
        if self.threads.is_empty() && !recorded.is_none_or(is_recorded) {
            self.renumbered += 1;
        }
        let free_at = start;
        self.threads.push(WrittenThread {
            id: new,
            free_at,
            has_row: false,
        });
        (new, self.threads.len() - 1)
    }

    /// Returns true if no call of a thread has a row.
    pub(super) fn lacks_row(&self, thread: usize) -> bool {
        let thread = self.threads.get(thread);
        thread.is_some_and(|thread| !thread.has_row)
    }

    /// Says that a call of a thread has a row.
    pub(super) fn put_row(&mut self, thread: usize) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.has_row = true;
        }
    }

    /// Says that the call on a thread ended.
    pub(super) fn leave(&mut self, thread: usize, end: i64) {
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.free_at = end;
        }
    }
}

/// Tracks by their place in the table of them.
#[derive(Default)]
pub(super) struct TrackIndex(Vec<TrackInfo>);

impl TrackIndex {
    /// Says that a track is defined, maybe anew: it may belong to another process, and unless it `keeps_name` it
    /// has another name.
    pub(super) fn define(&mut self, id: TrackId, keeps_name: bool) {
        if let Some(track) = self.0.get_mut(id.index()) {
            track.lasting = false;
            track.name = None;
            for thread in &mut track.threads {
                thread.has_row &= keeps_name;
            }
        }
    }

    /// Returns the process that the calls of a track are written in, where that is known.
    #[inline]
    pub(super) fn process(&self, id: TrackId) -> Option<usize> {
        let track = self.0.get(id.index())?;
        track.process.filter(|_| track.lasting)
    }

    /// Says which process a track belongs to.
    pub(super) fn put(&mut self, id: TrackId, process: usize, lasting: bool) {
        if self.0.len() <= id.index() {
            self.0.resize_with(id.index() + 1, TrackInfo::default);
        }
        let Some(track) = self.0.get_mut(id.index()) else {
            return;
        };
        if track.process != Some(process) {
            *track = TrackInfo {
                renumbered: track.renumbered,
                ..TrackInfo::default()
            };
        }
        track.process = Some(process);
        track.lasting = lasting;
    }

    /// Returns how many threads have other numbers than the ones recorded.
    pub(super) fn renumbered(&self) -> u64 {
        self.0.iter().map(|track| track.renumbered).sum()
    }

    /// Returns how many threads of a track have no row that says its name.
    pub(super) fn unnamed(&self, id: TrackId) -> u64 {
        match self.0.get(id.index()).map(|track| &*track.threads) {
            // Nothing of the track is written.
            None | Some([]) => 1,
            Some(threads) => threads.iter().filter(|thread| !thread.has_row).count() as u64,
        }
    }

    /// Lends a track that was put into a process.
    #[inline]
    pub(super) fn of(&mut self, id: TrackId) -> Option<&mut TrackInfo> {
        self.0.get_mut(id.index())
    }
}
