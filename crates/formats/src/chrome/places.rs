//! Process and thread ids of tracks, as written.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{ResourceId, Track, TrackId};

use super::value::JsonNames;

/// Ids for what has none, where the small ones are taken: no operating system gives them out.
const FIRST_MADE_UP: u64 = 5_000_000;
/// The largest id that every viewer takes.
const LARGEST: u64 = i32::MAX.unsigned_abs() as u64;
/// Tracks above a track that are searched for a process.
const DEEPEST: usize = 16;

/// A line of events: a track, or one beside it for spans that overlap others on the track.
#[derive(Clone, Debug)]
pub(super) struct OutputLine {
    pub(super) track: Option<TrackId>,
    /// 0 for the track itself.
    pub(super) overlap: u32,
    pub(super) pid: u64,
    pub(super) tid: u64,
    /// How its events begin, up to the time.
    pub(super) text: Box<[u8]>,
}

/// All lines in the order of their first events. An id that is written once stays.
#[derive(Debug, Default)]
pub(super) struct OutputLines {
    pub(super) rows: Vec<OutputLine>,
    /// Indices of tracks themselves, by track; the first one is of no track.
    tracks: Vec<Option<u32>>,
    overlaps: HashMap<(TrackId, u32), u32, RandomState>,
    pub(super) processes: Vec<(Option<ResourceId>, u64)>,
    pids: HashMap<Option<ResourceId>, u64, RandomState>,
    taken_pids: HashSet<u64, RandomState>,
    taken_tids: HashSet<(u64, u64), RandomState>,
}

impl OutputLines {
    /// Returns the index of a line.
    pub(super) fn line(&mut self, track: Option<TrackId>, overlap: u32, names: &JsonNames) -> u32 {
        let at = track.map_or(0, |track| track.index() + 1);
        if overlap == 0 {
            if let Some(&Some(known)) = self.tracks.get(at) {
                return known;
            }
        } else if let Some(&known) = track.and_then(|track| self.overlaps.get(&(track, overlap))) {
            return known;
        }
        let new = self.add(track, overlap, names);
        match track {
            Some(track) if overlap > 0 => {
                self.overlaps.insert((track, overlap), new);
            }
            _ => {
                if self.tracks.len() <= at {
                    self.tracks.resize(at + 1, None);
                }
                if let Some(slot) = self.tracks.get_mut(at) {
                    *slot = Some(new);
                }
            }
        }
        new
    }

    /// Returns the index of a track, if anything was written on it.
    pub(super) fn known(&self, track: TrackId) -> Option<&OutputLine> {
        let at = self.tracks.get(track.index() + 1).copied().flatten()?;
        self.rows.get(at as usize)
    }

    fn add(&mut self, track: Option<TrackId>, overlap: u32, names: &JsonNames) -> u32 {
        let row = track.and_then(|track| names.tracks.get(&track));
        let pid = self.pid(process_of(row, names), names);
        let tid = match (track, row) {
            (None, _) => 0,
            (Some(track), row) if overlap == 0 => {
                let own = row.and_then(|row| row.os_id.or(row.id));
                let own = own.filter(|tid| (1..=LARGEST).contains(tid));
                let small = u64::from(track.raw()) + 1;
                self.tid(pid, own.unwrap_or(small), track)
            }
            (Some(track), _) => self.tid(pid, FIRST_MADE_UP, track),
        };
        let text = format!(",\n{{\"ph\":\"X\",\"pid\":{pid},\"tid\":{tid},\"ts\":");
        self.rows.push(OutputLine {
            track,
            overlap,
            pid,
            tid,
            text: text.into_bytes().into_boxed_slice(),
        });
        row_number(self.rows.len() - 1)
    }

    /// Returns `wanted`, or an id that no other line of the process has.
    fn tid(&mut self, pid: u64, wanted: u64, track: TrackId) -> u64 {
        let mut tid = wanted;
        while !self.taken_tids.insert((pid, tid)) {
            tid = tid.max(FIRST_MADE_UP + u64::from(track.raw())) + 1;
        }
        tid
    }

    /// Returns the process id of a resource: its own where that is free.
    pub(super) fn pid(&mut self, id: Option<ResourceId>, names: &JsonNames) -> u64 {
        if let Some(&known) = self.pids.get(&id) {
            return known;
        }
        let own = id.and_then(|id| names.resources.get(&id)?.pid);
        let own = own.filter(|pid| (1..=LARGEST).contains(pid));
        let small = id.map_or(0, |id| u64::from(id.raw())) + 1;
        let mut pid = own.unwrap_or(small);
        while !self.taken_pids.insert(pid) {
            pid = pid.max(FIRST_MADE_UP) + 1;
        }
        self.pids.insert(id, pid);
        self.processes.push((id, pid));
        pid
    }
}

/// Returns the process of a track: its own, or that of the nearest track above it.
fn process_of(row: Option<&Track>, names: &JsonNames) -> Option<ResourceId> {
    let mut next = row;
    for _ in 0..DEEPEST {
        let row = next?;
        if row.resource.is_some() {
            return row.resource;
        }
        next = row.parent.and_then(|parent| names.tracks.get(&parent));
    }
    None
}
