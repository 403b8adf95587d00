//! Which threads there are, and what is on each.

use std::collections::{BTreeMap, BTreeSet};

use traceloom_model::{Merge, ProfileId, Recording, ResourceId, Scope, Timestamp, TrackId, Unit};

use super::rows::MarkerRows;
use crate::text::label;

/// What a sample weighs and in which unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Weight {
    /// Plain numbers.
    Samples,
    /// Nanoseconds, written as milliseconds.
    Time,
    /// Bytes.
    Bytes,
}

/// A thread: a track with its markers, its samples of one profile, or both.
pub(super) struct PlannedThread {
    pub track: Option<TrackId>,
    pub resource: Option<ResourceId>,
    pub name: Vec<u8>,
    pub pid: String,
    pub tid: u64,
    pub main: bool,
    /// The markers of the track are on this thread.
    pub markers: bool,
    /// Batch and row, in time order.
    pub samples: Vec<(usize, usize)>,
    /// The column of the samples.
    pub column: Option<(usize, Weight)>,
}

impl PlannedThread {
    fn new(tables: &Recording, track: Option<TrackId>, number: usize) -> Self {
        let row = track.and_then(|id| tables.track(id));
        let resource = row.and_then(|row| row.resource);
        let known = row.and_then(|row| row.os_id.or(row.id));
        Self {
            track,
            resource,
            name: track.map_or_else(|| b"process".to_vec(), |id| label::track(tables, id)),
            pid: String::new(),
            tid: known.unwrap_or(number as u64),
            main: false,
            markers: false,
            samples: Vec::new(),
            column: None,
        }
    }
}

/// Lays a recording out in threads: tracks in their order, what has no track first.
///
/// A track whose samples are of several profiles has a thread for each, because a thread has one column
/// of weights; markers are on the first. `variant` chooses the column by name.
pub(super) fn threads(
    recording: &Recording,
    rows: &MarkerRows,
    variant: Option<&str>,
) -> Vec<PlannedThread> {
    let mut samples: BTreeMap<(Option<TrackId>, ProfileId), Vec<(usize, usize)>> = BTreeMap::new();
    for (at, batch) in recording.samples.iter().enumerate() {
        if column(recording, batch.profile, variant).is_none() {
            continue;
        }
        for (row, &track) in batch.track.iter().enumerate() {
            let rows = samples.entry((track, batch.profile)).or_default();
            rows.push((at, row));
        }
    }
    let mut tracks: BTreeSet<Option<TrackId>> = rows.tracks().collect();
    tracks.extend(samples.keys().map(|&(track, _)| track));
    // Counters belong to a thread, even when nothing else happened.
    if tracks.is_empty() && !recording.counters.time.is_empty() {
        tracks.insert(None);
    }
    let mut threads = Vec::new();
    for track in tracks {
        let mut thread = PlannedThread::new(recording, track, threads.len());
        thread.markers = true;
        let mut first = Some(thread);
        let profiles = samples.range((track, ProfileId::new(0))..);
        for (&(_, profile), rows) in profiles.take_while(|((of, _), _)| *of == track) {
            let mut thread = first.take().unwrap_or_else(|| {
                let mut more = PlannedThread::new(recording, track, threads.len());
                more.name
                    .extend(format!(" ({})", title(recording, profile, variant)).bytes());
                more
            });
            thread.samples.clone_from(rows);
            thread.column = column(recording, profile, variant);
            threads.push(thread);
        }
        threads.extend(first);
    }
    identify(recording, &mut threads);
    threads
}

/// The column of a profile that is written: the one asked for, else the one that every view shows, else the
/// last that is a weight.
fn column(
    recording: &Recording,
    profile: ProfileId,
    variant: Option<&str>,
) -> Option<(usize, Weight)> {
    let profile = recording.profile(profile)?;
    let weights = |at: usize| {
        let row = recording.value_type(*profile.value_types.get(at)?)?;
        let own = row.merge == Merge::Sum && row.scope == Scope::Own;
        own.then_some((
            at,
            match row.unit {
                Unit::Nanoseconds => Weight::Time,
                Unit::Bytes => Weight::Bytes,
                _ => Weight::Samples,
            },
        ))
    };
    if let Some(name) = variant {
        return weights(recording.shown_column(profile, &[name.to_owned()])?);
    }
    let shown = recording.shown_column(profile, &[]);
    let from_last = (0..profile.value_types.len()).rev();
    shown.into_iter().chain(from_last).find_map(weights)
}

fn title(recording: &Recording, profile: ProfileId, variant: Option<&str>) -> String {
    let column = column(recording, profile, variant).map(|(at, _)| at);
    let row = recording.profile(profile);
    let id = row.and_then(|row| row.value_types.get(column?).copied());
    let name = id.and_then(|id| Some(recording.text(recording.value_type(id)?.name)));
    name.map_or_else(|| "samples".to_owned(), std::borrow::Cow::into_owned)
}

/// Gives processes ids that differ, and each process one main thread.
fn identify(recording: &Recording, threads: &mut [PlannedThread]) {
    let mut pids: BTreeMap<Option<ResourceId>, String> = BTreeMap::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut mains: BTreeMap<Option<ResourceId>, usize> = BTreeMap::new();
    for (at, thread) in threads.iter_mut().enumerate() {
        let known = thread.resource.and_then(|id| recording.resource(id)?.pid);
        let pid = pids.entry(thread.resource).or_insert_with(|| {
            let plain = known.map_or_else(|| "0".to_owned(), |pid| pid.to_string());
            let numbered = (1_u64..).map(|number| format!("{plain}.{number}"));
            let mut names = std::iter::once(plain.clone()).chain(numbered);
            let free = names.find(|name| !taken.contains(name));
            let pid = free.unwrap_or(plain);
            taken.insert(pid.clone());
            pid
        });
        thread.pid.clone_from(pid);
        mains.entry(thread.resource).or_insert(at);
        if thread.name == b"main" || known.is_some_and(|pid| pid == thread.tid) {
            mains.entry(thread.resource).and_modify(|main| *main = at);
        }
    }
    for main in mains.into_values() {
        if let Some(thread) = threads.get_mut(main) {
            thread.main = true;
        }
    }
}

/// The first time of anything, in whole milliseconds.
pub(super) fn base(recording: &Recording, rows: &MarkerRows) -> Timestamp {
    let samples = recording.samples.iter().flat_map(|batch| &batch.time);
    let times = samples.flatten().chain(&recording.counters.time);
    let first = times.chain(&rows.first).min().copied().unwrap_or(0);
    first.saturating_sub(first.rem_euclid(1_000_000))
}
