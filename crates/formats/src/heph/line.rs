//! A track while it is lowered: the events on it that wait, and its lanes.

use std::ops::ControlFlow;

use traceloom_model::bounds::{in_memory, row_number};
use traceloom_model::{ResourceId, SpanId, StringId, Track, TrackId, TrackKind};

use super::bodies::Bodies;
use super::lower::{Map, PassOutput, Placed};
use super::nest::{EventNest, Nesting};

/// A track and its lanes.
#[derive(Debug)]
pub(super) struct LanedTrack {
    /// Position of its stream.
    pub stream: usize,
    /// The substream or actor; none for the stream itself.
    pub within: Option<u64>,
    pub nest: EventNest,
    lanes: LaneTracks,
}

/// Where a line lies: stream, substream or actor, and the lane that its events are marked with.
pub(super) type Address = (u32, Option<u64>, u32);

/// The tracks of a line: its own, and those of spans that overlap partly.
#[derive(Debug, Default)]
struct LaneTracks {
    tracks: Vec<TrackId>,
    /// The line's own track, while its name is not known.
    nameless: Option<(TrackId, Track)>,
}

/// What lines are settled with, one after the other.
#[derive(Debug, Default)]
pub(super) struct SettleScratch {
    pub bodies: Bodies,
    placed: Vec<Nesting>,
}

/// What the tracks of a line are described with.
pub(super) struct TrackTemplate<'a> {
    pub stream: TrackId,
    pub resource: Option<ResourceId>,
    pub names: &'a Map<u64, StringId>,
    pub epoch: Option<u64>,
}

impl LanedTrack {
    pub fn new(stream: usize, within: Option<u64>) -> Self {
        Self {
            stream,
            within,
            nest: EventNest::default(),
            lanes: LaneTracks::default(),
        }
    }

    /// A lane of its own, beside the line whose track is `own`.
    pub fn beside(
        own: TrackId,
        base: &Self,
        number: u32,
        tracks: &TrackTemplate<'_>,
        out: &mut PassOutput<'_>,
    ) -> Self {
        let mut line = Self::new(base.stream, base.within);
        let number = in_memory(number);
        let row = lane(number, Some(own), base.within, tracks);
        line.lanes.tracks.push(out.tables().new_track(row));
        line
    }

    /// Returns the line's own track.
    pub fn track(
        &mut self,
        tracks: &TrackTemplate<'_>,
        out: &mut PassOutput<'_>,
    ) -> Option<TrackId> {
        self.lanes.track(0, self.within, tracks, out)
    }

    /// Pushes the spans that nothing from `horizon` on can enclose, all of them when `all`; returns how
    /// many events wait no longer.
    pub fn push(
        &mut self,
        horizon: u64,
        all: bool,
        tracks: &TrackTemplate<'_>,
        room: &mut SettleScratch,
        out: &mut PassOutput<'_>,
    ) -> ControlFlow<(), usize> {
        let SettleScratch { bodies, placed } = room;
        self.nest.place(horizon, all, placed);
        let first = out.tables().reserve_spans(placed.len() as u64);
        let id = |number: u32| SpanId(first.0 + u64::from(number));
        for place in &*placed {
            let Some(row) = self.nest.row(place.row) else {
                continue;
            };
            bodies.let_go(row);
            let root = || self.nest.row(place.root).map_or(0, |root| root.offset);
            let is_entry = place.parent.is_none() != row.is_other_entry;
            if !out.takes(root, place.parent.is_none() || is_entry) {
                continue;
            }
            let Some(track) = self.lanes.track(place.lane, self.within, tracks, out) else {
                continue;
            };
            let span = Placed {
                id: id(place.number),
                parent: place.parent.map(id),
                depth: place.depth,
                is_entry,
                track,
                start: row.start,
                end: row.end,
                offset: row.offset,
                described: row.described,
                body: bodies.body(row),
            };
            out.span(&span, tracks.epoch)?;
        }
        self.nest.drop_placed(placed);
        ControlFlow::Continue(placed.len())
    }

    /// Names the track when the actor's name turned up after its first span.
    pub fn name_late(&mut self, names: &Map<u64, StringId>, out: &mut PassOutput<'_>) {
        let name = self.within.and_then(|id| names.get(&id)).copied();
        if let (Some((id, row)), Some(_)) = (self.lanes.nameless.take(), name) {
            out.tables().redefine_track(id, Track { name, ..row });
        }
    }
}

impl LaneTracks {
    /// Returns the track of a lane.
    #[inline]
    fn track(
        &mut self,
        lane: usize,
        within: Option<u64>,
        tracks: &TrackTemplate<'_>,
        out: &mut PassOutput<'_>,
    ) -> Option<TrackId> {
        while self.tracks.len() <= lane {
            self.add(within, tracks, out);
        }
        self.tracks.get(lane).copied()
    }

    #[inline(never)]
    fn add(&mut self, within: Option<u64>, tracks: &TrackTemplate<'_>, out: &mut PassOutput<'_>) {
        let own = self.tracks.first().copied();
        let track = match (own, within) {
            (None, None) => tracks.stream,
            _ => {
                let row = lane(self.tracks.len(), own, within, tracks);
                let id = out.tables().new_track(row.clone());
                if own.is_none() && row.name.is_none() {
                    self.nameless = Some((id, row));
                }
                id
            }
        };
        self.tracks.push(track);
    }
}

/// Describes lane `number` of a line whose own track is `own`.
fn lane(
    number: usize,
    own: Option<TrackId>,
    within: Option<u64>,
    tracks: &TrackTemplate<'_>,
) -> Track {
    let name = within.and_then(|id| tracks.names.get(&id)).copied();
    match own {
        None => Track {
            kind: TrackKind::Async,
            parent: Some(tracks.stream),
            id: within,
            name,
            resource: tracks.resource,
            ..Track::default()
        },
        Some(own) => Track {
            kind: TrackKind::Lane,
            parent: Some(own),
            lane: row_number(number),
            id: within,
            name,
            resource: tracks.resource,
            ..Track::default()
        },
    }
}
