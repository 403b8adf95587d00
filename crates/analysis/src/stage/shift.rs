//! Clocks put right by hand: nothing else moves a recording in time.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, Attributes, Batch, Clock, Definitions, Flow, ResourceId, Sink, Stage, StringId,
    Timestamp, TrackId,
};

/// How far to move a recording, and how far the tracks of a service in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shifts {
    /// Everything, in nanoseconds; none leaves a clock of unknown origin as it is.
    pub all: Option<i64>,
    /// Tracks of services by name, and what has no track when the recording is of that service alone.
    pub services: Vec<(String, i64)>,
}

impl Shifts {
    /// Returns true if nothing moves.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_none() && self.services.is_empty()
    }
}

/// Moves times by what it was told.
///
/// A clock of unknown origin that is moved as a whole counts as placed: it becomes the Unix clock, because
/// whoever named the distance knows where zero is.
pub struct Shift<'s> {
    to: &'s mut dyn Sink,
    shifts: Shifts,
    met: Vec<bool>,
    names: HashMap<StringId, usize, RandomState>,
    /// Which of the services each resource is of; none for another one.
    resources: HashMap<ResourceId, (Option<ResourceId>, Option<StringId>), RandomState>,
    tracks: HashMap<TrackId, (Option<ResourceId>, Option<TrackId>), RandomState>,
    series: HashMap<traceloom_model::SeriesId, Option<TrackId>, RandomState>,
}

impl std::fmt::Debug for Shift<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shift")
            .field("shifts", &self.shifts)
            .finish_non_exhaustive()
    }
}

impl<'s> Shift<'s> {
    /// Moves what goes to `to`.
    pub fn new(to: &'s mut dyn Sink, shifts: Shifts) -> Self {
        Self {
            to,
            met: vec![false; shifts.services.len()],
            shifts,
            names: HashMap::default(),
            resources: HashMap::default(),
            tracks: HashMap::default(),
            series: HashMap::default(),
        }
    }

    /// Returns which of the services this recording has, in their order.
    #[must_use]
    pub fn finish(self) -> Vec<bool> {
        self.met
    }

    fn remember(&mut self, new: &Definitions) {
        if self.shifts.services.is_empty() {
            return;
        }
        for (id, text) in &new.strings {
            let named = |(name, _): &(String, i64)| text.as_str() == Some(name);
            if let Some(at) = self.shifts.services.iter().position(named) {
                self.names.insert(*id, at);
            }
        }
        for (id, row) in &new.resources {
            self.resources.insert(*id, (row.parent, row.service));
            if let Some(&at) = row.service.and_then(|name| self.names.get(&name))
                && let Some(met) = self.met.get_mut(at)
            {
                *met = true;
            }
        }
        for (id, row) in &new.tracks {
            self.tracks.insert(*id, (row.resource, row.parent));
        }
        for (id, row) in &new.series {
            self.series.insert(*id, row.track);
        }
    }

    fn service_of(&self, track: TrackId) -> Option<usize> {
        let mut at = Some(track);
        let mut resource = None;
        // Ids fall towards the root in no format that promises it: a bound ends a circle.
        for _ in 0..16 {
            let Some(&(of, parent)) = at.and_then(|track| self.tracks.get(&track)) else {
                break;
            };
            if of.is_some() {
                resource = of;
                break;
            }
            at = parent;
        }
        for _ in 0..16 {
            let &(parent, service) = self.resources.get(&resource?)?;
            if let Some(name) = service {
                return self.names.get(&name).copied();
            }
            resource = parent;
        }
        None
    }

    /// How far what has no track moves: with its service, when there is but one.
    fn of_process(&self) -> i64 {
        let mut services = self.resources.values().filter_map(|(_, service)| *service);
        let first = services.next();
        if services.any(|other| Some(other) != first) {
            return 0;
        }
        self.by(first.and_then(|name| self.names.get(&name).copied()))
    }

    fn by(&self, service: Option<usize>) -> i64 {
        let by = service.and_then(|at| self.shifts.services.get(at));
        by.map_or(0, |(_, by)| *by)
    }

    fn distance(&self, track: Option<TrackId>) -> i64 {
        let all = self.shifts.all.unwrap_or(0);
        if self.shifts.services.is_empty() {
            return all;
        }
        let own = track.map_or_else(
            || self.of_process(),
            |track| self.by(self.service_of(track)),
        );
        all.saturating_add(own)
    }

    fn attributes(attributes: &mut Attributes, by: impl Fn(usize) -> i64) {
        for row in 0..attributes.rows() {
            for attribute in attributes.row_mut(row) {
                move_some(&mut attribute.at, by(row));
            }
        }
    }
}

fn move_by(time: &mut Timestamp, by: i64) {
    *time = time.saturating_add(by);
}

fn move_some(time: &mut Option<Timestamp>, by: i64) {
    if let Some(time) = time {
        move_by(time, by);
    }
}

impl Stage for Shift<'_> {
    fn asks(&self) -> Asks {
        self.to.asks()
    }

    fn pass(&mut self, mut batch: Batch) -> Flow {
        match &mut batch {
            Batch::Begin(_, clock) => {
                if self.shifts.all.is_some() {
                    *clock = Clock::Unix;
                }
            }
            Batch::Define(new) => {
                self.remember(new);
                let by = self.distance(None);
                for (_, profile) in &mut new.profiles {
                    move_some(&mut profile.time, by);
                }
            }
            Batch::Spans(spans) => {
                let by: Vec<i64> = spans
                    .track
                    .iter()
                    .map(|&track| self.distance(Some(track)))
                    .collect();
                let times = spans.start.iter_mut().zip(&mut spans.end);
                for ((start, end), &by) in times.zip(&by) {
                    move_by(start, by);
                    move_by(end, by);
                }
                Self::attributes(&mut spans.attributes, |row| {
                    by.get(row).copied().unwrap_or(0)
                });
            }
            Batch::Steps(steps) => {
                let runs: Vec<_> = steps.runs().collect();
                for (track, range) in runs {
                    let by = self.distance(Some(track));
                    let times = steps.time.get_mut(range).unwrap_or_default();
                    times.iter_mut().for_each(|time| move_by(time, by));
                }
            }
            Batch::Samples(samples) => {
                for (time, track) in samples.time.iter_mut().zip(&samples.track) {
                    move_some(time, self.distance(*track));
                }
            }
            Batch::Events(events) => {
                let by: Vec<i64> = events
                    .track
                    .iter()
                    .map(|&track| self.distance(track))
                    .collect();
                let times = events.time.iter_mut().zip(&mut events.end);
                for ((time, end), &by) in times.zip(&by) {
                    move_by(time, by);
                    move_some(end, by);
                }
                Self::attributes(&mut events.attributes, |row| {
                    by.get(row).copied().unwrap_or(0)
                });
            }
            Batch::Counters(points) => {
                for (time, series) in points.time.iter_mut().zip(&points.series) {
                    let track = self.series.get(series).copied().flatten();
                    move_by(time, self.distance(track));
                }
            }
            Batch::Objects(objects) => {
                for row in &mut objects.rows {
                    move_some(&mut row.time, self.distance(row.thread));
                }
            }
            Batch::Links(_)
            | Batch::Edges(_)
            | Batch::Roots(_)
            | Batch::Paths(_)
            | Batch::Forget(_)
            | Batch::Note(_) => {}
        }
        batch.push(self.to)
    }
}
