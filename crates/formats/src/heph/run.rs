//! One run of a trace while it is lowered: its streams, substreams and actors.

use traceloom_model::{Flow, ResourceId, SpanId, StringId, Track, TrackId, TrackKind};

use super::actors::{self, Runs};
use super::lower::{Map, Out, Placed};
use super::nest::{Nest, Rows};
use super::record::Event;
use super::survey::{Class, Run};
use crate::{damage, info};

#[derive(Debug)]
pub(super) struct RunState {
    run: Run,
    /// Substreams are missing and actors are there: they are recovered.
    recover: bool,
    streams: Vec<Stream>,
    stream_of: Map<u32, usize>,
    last_stream: Option<(u32, usize)>,
    lines: Vec<Line>,
    line_of: Map<(u32, Option<u64>), usize>,
    last_line: Option<((u32, Option<u64>), usize)>,
    actor_names: Map<u64, StringId>,
    /// Streams that run actors at some time.
    running: Vec<u32>,
    /// Workers that ran actors, for the events of stream 0.
    workers: Vec<usize>,
    resource: Option<ResourceId>,
    waiting: usize,
    waiting_bytes: usize,
    recovered: u64,
    ambiguous: u64,
    released: u64,
}

#[derive(Debug)]
struct Stream {
    id: u32,
    track: TrackId,
    /// Position of its own line, once it has one.
    line: Option<usize>,
    is_worker: bool,
    runs: Runs,
    /// Events that wait for their actor.
    held: Rows,
}

/// A track and its lanes.
#[derive(Debug)]
struct Line {
    /// Position of its stream.
    stream: usize,
    /// The substream or actor; none for the stream itself.
    within: Option<u64>,
    nest: Nest,
    lanes: Vec<TrackId>,
    /// The line's own track, while its name is not known.
    nameless: Option<(TrackId, Track)>,
}

/// More streams than this cannot be workers of one process: thread-safe actors stay unassigned.
const MOST_WORKERS: usize = 1024;

/// How much is tried when waiting events are looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Effort {
    /// Lines that grew enough since the last time.
    Due,
    /// Every line.
    Every,
    /// Every line, and nothing keeps waiting.
    All,
}

impl RunState {
    pub fn begin(run: Run, resource: ResourceId, recover: bool) -> Self {
        Self {
            recover: recover && run.has_running && !run.has_substreams,
            running: run.horizon.running().collect(),
            run,
            streams: Vec::new(),
            stream_of: Map::default(),
            last_stream: None,
            lines: Vec::new(),
            line_of: Map::default(),
            last_line: None,
            actor_names: Map::default(),
            workers: Vec::new(),
            resource: Some(resource),
            waiting: 0,
            waiting_bytes: 0,
            recovered: 0,
            ambiguous: 0,
            released: 0,
        }
    }

    /// Tells whether counters mean something in this run.
    pub fn uses_counters(&self) -> bool {
        self.run.uses_counters
    }

    /// Returns how many events wait for what may enclose them.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns how many bytes they take.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Takes an event.
    pub fn event(&mut self, event: &Event<'_>, out: &mut Out<'_>) {
        let at = self.stream(event.stream, out);
        let class = Class::of(event);
        if class == Class::Running
            && let (Some(actor), name) = actors::actor(event)
        {
            self.actor_runs(at, event, actor);
            if let Some(name) = name.filter(|_| !self.actor_names.contains_key(&actor)) {
                let name = out.names.text(name);
                self.actor_names.insert(actor, name);
            }
        }
        self.waiting += 1;
        self.waiting_bytes +=
            event.description.len() + event.attributes.bytes.len() + event.undecoded.len();
        if self.recover && class == Class::Plain {
            if let Some(stream) = self.streams.get_mut(at) {
                stream.held.push(event);
            }
            return;
        }
        let within = (event.substream != 0).then_some(event.substream);
        let line = self.streams.get(at).and_then(|stream| stream.line);
        if let (None, Some(line)) = (within, line.and_then(|line| self.lines.get_mut(line))) {
            line.nest.rows.push(event);
            return;
        }
        if let Some(rows) = self.rows(event.stream, within) {
            rows.push(event);
        }
    }

    fn actor_runs(&mut self, at: usize, event: &Event<'_>, actor: u64) {
        let Some(stream) = self.streams.get_mut(at).filter(|_| self.recover) else {
            return;
        };
        stream.runs.push(event, actor);
        if !stream.is_worker {
            stream.is_worker = true;
            self.workers.push(at);
        }
    }

    fn stream(&mut self, id: u32, out: &mut Out<'_>) -> usize {
        if let Some((_, at)) = self.last_stream.filter(|(last, _)| *last == id) {
            return at;
        }
        if let Some(&at) = self.stream_of.get(&id) {
            self.last_stream = Some((id, at));
            return at;
        }
        let at = self.streams.len();
        self.stream_of.insert(id, at);
        // Coordinator and thread-safe actors of any worker share stream 0 (SPEC.md §3).
        let kind = if id == 0 {
            TrackKind::Stream
        } else {
            TrackKind::Thread
        };
        let track = out.tables().new_track(Track {
            kind,
            resource: self.resource,
            id: Some(u64::from(id)),
            ..Track::default()
        });
        self.streams.push(Stream {
            id,
            track,
            line: None,
            runs: Runs::default(),
            held: Rows::default(),
            is_worker: false,
        });
        at
    }

    fn rows(&mut self, stream: u32, within: Option<u64>) -> Option<&mut Rows> {
        if let Some((_, at)) = self.last_line.filter(|(last, _)| *last == (stream, within)) {
            return self.lines.get_mut(at).map(|line| &mut line.nest.rows);
        }
        let next = self.lines.len();
        let at = *self.line_of.entry((stream, within)).or_insert(next);
        self.last_line = Some(((stream, within), at));
        if at == next {
            let stream = *self.stream_of.get(&stream)?;
            if within.is_none() {
                self.streams.get_mut(stream)?.line = Some(at);
            }
            self.lines.push(Line {
                stream,
                within,
                nest: Nest::default(),
                lanes: Vec::new(),
                nameless: None,
            });
        }
        self.lines.get_mut(at).map(|line| &mut line.nest.rows)
    }

    /// Pushes the spans that no event after `block` can enclose.
    pub fn settle(&mut self, block: u32, effort: Effort, out: &mut Out<'_>) -> Flow {
        let all = effort == Effort::All;
        if self.recover {
            self.assign(block, all);
        }
        let horizons = self.horizons(block);
        for line in &mut self.lines {
            if line.nest.rows.len() == 0 || (effort == Effort::Due && !line.nest.is_due()) {
                continue;
            }
            let Some(stream) = self.streams.get(line.stream) else {
                continue;
            };
            let (thread, within) = horizons.get(line.stream).copied().unwrap_or_default();
            let horizon = if line.within.is_none() {
                thread
            } else {
                within
            };
            let tracks = Tracks {
                stream: stream.track,
                resource: self.resource,
                names: &self.actor_names,
                epoch: self.run.epoch,
            };
            line.push(horizon, all, &tracks, out)?;
        }
        self.waiting = self.held().chain(self.nested()).map(Rows::len).sum();
        self.waiting_bytes = self.held().chain(self.nested()).map(Rows::byte_len).sum();
        Flow::Continue(())
    }

    fn held(&self) -> impl Iterator<Item = &Rows> {
        self.streams.iter().map(|stream| &stream.held)
    }

    fn nested(&self) -> impl Iterator<Item = &Rows> {
        self.lines.iter().map(|line| &line.nest.rows)
    }

    /// Makes room when too many events wait.
    pub fn relieve(&mut self, block: u32, most: usize, out: &mut Out<'_>) -> Flow {
        self.settle(block, Effort::Every, out)?;
        if self.waiting > most / 2 || self.waiting_bytes > super::lower::MOST_BYTES / 2 {
            self.released += self.waiting as u64;
            self.settle(block, Effort::All, out)?;
        }
        Flow::Continue(())
    }

    /// Moves events to the line of their actor, those that no later run of an actor can cover.
    fn assign(&mut self, block: u32, all: bool) {
        let mut earliest = u64::MAX;
        for &stream in &self.running {
            earliest = earliest.min(self.run.horizon.after(stream, Class::Running, block));
        }
        for at in 0..self.streams.len() {
            let Some(stream) = self
                .streams
                .get_mut(at)
                .filter(|stream| stream.held.len() > 0)
            else {
                continue;
            };
            let id = stream.id;
            let mut held = std::mem::take(&mut stream.held);
            let horizon = if id == 0 {
                earliest
            } else {
                self.run.horizon.after(id, Class::Running, block)
            };
            loop {
                let first = held.iter().next().map(|row| row.end);
                let Some(end) = first.filter(|&end| all || end < horizon) else {
                    break;
                };
                let actor = self.actor_at(at, end);
                self.recovered += u64::from(actor.is_some());
                match self.rows(id, actor) {
                    Some(rows) => held.move_first(rows),
                    None => break,
                }
            }
            held.compact();
            if let Some(stream) = self.streams.get_mut(at) {
                stream.held = held;
            }
        }
        let needed = |stream: &Stream| {
            stream
                .held
                .iter()
                .map(|row| row.end)
                .min()
                .unwrap_or(u64::MAX)
        };
        let by_zero = self
            .stream_of
            .get(&0)
            .and_then(|&at| self.streams.get(at))
            .map_or(u64::MAX, needed);
        for stream in &mut self.streams {
            let own = needed(stream);
            stream.runs.settle(own.min(by_zero));
        }
    }

    fn actor_at(&mut self, at: usize, end: u64) -> Option<u64> {
        let stream = self.streams.get_mut(at)?;
        if stream.id != 0 {
            return stream.runs.at(end);
        }
        let streams = &mut self.streams;
        let workers = self.workers.iter().take(MOST_WORKERS);
        let mut found = workers.filter_map(|&at| streams.get_mut(at)?.runs.shared_at(end));
        let actor = found.next()?;
        if found.next().is_some() || self.workers.len() > MOST_WORKERS {
            self.ambiguous += 1;
            return None;
        }
        Some(actor)
    }

    /// Returns for each stream the earliest start that can still come on itself and on its substreams.
    fn horizons(&mut self, block: u32) -> Vec<(u64, u64)> {
        let horizon = &mut self.run.horizon;
        let streams = self.streams.iter();
        streams
            .map(|stream| {
                let mut after = |class| horizon.after(stream.id, class, block);
                let held = stream
                    .held
                    .iter()
                    .map(|row| row.start)
                    .min()
                    .unwrap_or(u64::MAX);
                let plain = after(Class::Plain).min(held);
                let thread = after(Class::Runtime).min(after(Class::Running)).min(plain);
                let within = if self.recover {
                    plain
                } else {
                    after(Class::Substream)
                };
                (thread, within)
            })
            .collect()
    }

    /// Pushes what waits and says what was found.
    pub fn finish(&mut self, out: &mut Out<'_>) -> Flow {
        self.settle(u32::MAX, Effort::All, out)?;
        for line in &mut self.lines {
            line.name_late(&self.actor_names, out);
            let overlaps = line.nest.overlaps;
            if overlaps > 0 {
                let stream = self.streams.get(line.stream).map_or(0, |stream| stream.id);
                let place = match line.within {
                    Some(within) => format!("stream {stream}, substream {within}"),
                    None => format!("stream {stream}"),
                };
                let text =
                    format!("{place}: {overlaps} spans overlap another partly and lie on lanes");
                out.note(info("partial_overlap", self.run.offset, text).counting(overlaps))?;
            }
        }
        if self.recover {
            let (recovered, ambiguous) = (self.recovered, self.ambiguous);
            let text = format!(
                "no substreams: {recovered} events are given to the actor that ran when they ended, \
                 {ambiguous} are ambiguous and stay on their stream"
            );
            out.note(info("actors_recovered", self.run.offset, text).counting(recovered))?;
        }
        if self.released > 0 {
            let released = self.released;
            let text = format!(
                "{released} spans were let go before what encloses them could come: nesting around them may be cut"
            );
            out.note(damage("limit_open_spans", self.run.offset, text).counting(released))?;
        }
        Flow::Continue(())
    }
}

struct Tracks<'a> {
    stream: TrackId,
    resource: Option<ResourceId>,
    names: &'a Map<u64, StringId>,
    epoch: Option<u64>,
}

impl Line {
    fn push(&mut self, horizon: u64, all: bool, tracks: &Tracks<'_>, out: &mut Out<'_>) -> Flow {
        let finish = self.nest.place(horizon, all);
        let places = self.nest.places();
        if places.is_empty() {
            self.nest.drop_placed();
            return Flow::Continue(());
        }
        let first = out.tables().reserve_span();
        (1..places.len()).for_each(|_| {
            out.tables().reserve_span();
        });
        let id = |place: usize| SpanId(first.0 + place as u64);
        let rows = &self.nest.rows;
        for at in finish {
            let Some((place, row)) = places
                .get(at)
                .and_then(|place| Some((place, rows.row(place.row)?)))
            else {
                continue;
            };
            let root = || rows.row(places.get(place.root)?.row);
            if !out.takes(
                || root().map_or(0, |root| root.offset),
                place.parent.is_none(),
            ) {
                continue;
            }
            while self.lanes.len() <= place.lane {
                let own = self.lanes.first().copied();
                let track = match (own, self.within) {
                    (None, None) => tracks.stream,
                    _ => {
                        let row = lane(self.lanes.len(), own, self.within, tracks);
                        let id = out.tables().new_track(row.clone());
                        if own.is_none() && row.name.is_none() {
                            self.nameless = Some((id, row));
                        }
                        id
                    }
                };
                self.lanes.push(track);
            }
            let Some(&track) = self.lanes.get(place.lane) else {
                continue;
            };
            let span = Placed {
                id: id(at),
                parent: place.parent.map(id),
                depth: place.depth,
                track,
                start: row.start,
                end: row.end,
                offset: row.offset,
                body: rows.body(row),
            };
            out.span(&span, tracks.epoch)?;
        }
        self.nest.drop_placed();
        Flow::Continue(())
    }

    /// Names the track when the actor's name turned up after its first span.
    fn name_late(&mut self, names: &Map<u64, StringId>, out: &mut Out<'_>) {
        let name = self.within.and_then(|id| names.get(&id)).copied();
        if let (Some((id, row)), Some(_)) = (self.nameless.take(), name) {
            out.tables().redefine_track(id, Track { name, ..row });
        }
    }
}

/// Describes lane `number` of a line whose own track is `own`.
fn lane(number: usize, own: Option<TrackId>, within: Option<u64>, tracks: &Tracks<'_>) -> Track {
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
            lane: u32::try_from(number).unwrap_or(u32::MAX),
            id: within,
            name,
            resource: tracks.resource,
            ..Track::default()
        },
    }
}
