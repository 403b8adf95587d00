//! One run of a trace while it is lowered: its streams, substreams and actors.

use std::collections::VecDeque;

use traceloom_model::{Flow, ResourceId, StringId, Track, TrackId, TrackKind};

use super::actors::{self, ActorRun, Runs};
use super::bodies::PendingEvent;
use super::line::{Address, LanedTrack, SettleScratch, TrackTemplate};
use super::lower::{Map, PassOutput};
use super::mark::EventPosition;
use super::record::Event;
use super::survey::{RunSummary, TrackClass};
use crate::{damage, info};

#[derive(Debug)]
pub(super) struct RunState {
    run: RunSummary,
    /// Substreams are missing and actors are there: they are recovered.
    recover: bool,
    streams: Vec<StreamState>,
    stream_of: Map<u32, usize>,
    last_stream: Option<(u32, usize)>,
    lines: Vec<LanedTrack>,
    line_of: Map<Address, usize>,
    last_line: Option<(Address, usize)>,
    actor_names: Map<u64, StringId>,
    /// Streams that run actors at some time.
    running: Vec<u32>,
    /// Workers that ran actors, for the events of stream 0.
    workers: Vec<usize>,
    resource: Option<ResourceId>,
    waiting: usize,
    room: SettleScratch,
    recovered: u64,
    ambiguous: u64,
    released: u64,
}

#[derive(Debug)]
struct StreamState {
    id: u32,
    track: TrackId,
    /// Position of its own line, once it has one.
    line: Option<usize>,
    is_worker: bool,
    runs: Runs,
    /// Events that wait for their actor.
    held: VecDeque<PendingEvent>,
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
    pub fn begin(run: RunSummary, resource: ResourceId, recover: bool) -> Self {
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
            room: SettleScratch::default(),
            recovered: 0,
            ambiguous: 0,
            released: 0,
        }
    }

    /// Returns true if counters mean something in this run.
    pub fn uses_counters(&self) -> bool {
        self.run.uses_counters
    }

    /// Returns how many events wait for what may enclose them.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns how many bytes they take.
    pub fn waiting_bytes(&self) -> usize {
        self.room.bodies.len() + self.waiting * size_of::<PendingEvent>()
    }

    /// Takes an event.
    #[inline(always)]
    pub fn event(&mut self, event: &Event<'_>, out: &mut PassOutput<'_>) {
        let at = self.stream(event.stream, out);
        let (described, class) = out.names.describe(event.description);
        let within = (event.substream != 0).then_some(event.substream);
        if within.is_none() && class == TrackClass::Running {
            self.actor_runs(at, event, out);
        }
        self.waiting += 1;
        let attributes = event.attributes.bytes;
        let marked = EventPosition::split(attributes);
        let (mark, attributes) = marked.unwrap_or((EventPosition::default(), attributes));
        let mut row = self.room.bodies.keep(event, attributes, mark, described);
        let Some(stream) = self.streams.get_mut(at) else {
            return;
        };
        if within.is_none() {
            if self.recover && class == TrackClass::Plain {
                // It lies among others than those that its mark counts.
                row.encloses = PendingEvent::CONTAINED;
                stream.held.push_back(row);
                return;
            }
            let line = stream.line.filter(|_| mark.lane == 0);
            if let Some(line) = line.and_then(|line| self.lines.get_mut(line)) {
                line.nest.push(row);
                return;
            }
        }
        let at = match mark.lane {
            0 => self.line(event.stream, within),
            lane => self.lane((event.stream, within, lane), out),
        };
        if let Some(line) = self.lines.get_mut(at) {
            line.nest.push(row);
        }
    }

    /// Takes note of an actor being run.
    #[inline(never)]
    fn actor_runs(&mut self, at: usize, event: &Event<'_>, out: &mut PassOutput<'_>) {
        let (Some(actor), name) = actors::actor(event) else {
            return;
        };
        if let Some(name) = name.filter(|_| !self.actor_names.contains_key(&actor)) {
            let name = out.names.text(name);
            self.actor_names.insert(actor, name);
        }
        let Some(stream) = self.streams.get_mut(at).filter(|_| self.recover) else {
            return;
        };
        stream.runs.push(event, actor);
        if !stream.is_worker {
            stream.is_worker = true;
            self.workers.push(at);
        }
    }

    #[inline]
    fn stream(&mut self, id: u32, out: &mut PassOutput<'_>) -> usize {
        if let Some((_, at)) = self.last_stream.filter(|(last, _)| *last == id) {
            return at;
        }
        self.other_stream(id, out)
    }

    #[inline(never)]
    fn other_stream(&mut self, id: u32, out: &mut PassOutput<'_>) -> usize {
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
        self.streams.push(StreamState {
            id,
            track,
            line: None,
            runs: Runs::default(),
            held: VecDeque::new(),
            is_worker: false,
        });
        at
    }

    /// Returns the position of a line.
    #[inline]
    fn line(&mut self, stream: u32, within: Option<u64>) -> usize {
        match self.last_line {
            Some((last, at)) if last == (stream, within, 0) => at,
            _ => self.other_line(stream, within),
        }
    }

    #[inline(never)]
    fn other_line(&mut self, stream: u32, within: Option<u64>) -> usize {
        let next = self.lines.len();
        let address = (stream, within, 0);
        let at = *self.line_of.entry(address).or_insert(next);
        self.last_line = Some((address, at));
        if at == next {
            let stream = self.stream_of.get(&stream).copied().unwrap_or(0);
            if let Some(stream) = self.streams.get_mut(stream).filter(|_| within.is_none()) {
                stream.line = Some(at);
            }
            self.lines.push(LanedTrack::new(stream, within));
        }
        at
    }

    /// Returns the position of the line of a lane that events are marked with.
    #[inline(never)]
    fn lane(&mut self, address: Address, out: &mut PassOutput<'_>) -> usize {
        if let Some(&at) = self.line_of.get(&address) {
            return at;
        }
        let (stream, within, lane) = address;
        let base = self.line(stream, within);
        let next = self.lines.len();
        let stream = self
            .stream_of
            .get(&stream)
            .and_then(|&at| self.streams.get(at));
        let (Some(base), Some(stream)) = (self.lines.get_mut(base), stream) else {
            return base;
        };
        let tracks = TrackTemplate {
            stream: stream.track,
            resource: self.resource,
            names: &self.actor_names,
            epoch: self.run.epoch,
        };
        let own = base.track(&tracks, out).unwrap_or(stream.track);
        let line = LanedTrack::beside(own, base, lane, &tracks, out);
        self.lines.push(line);
        self.line_of.insert(address, next);
        next
    }

    /// Pushes the spans that no event after `block` can enclose.
    pub fn settle(&mut self, block: u32, effort: Effort, out: &mut PassOutput<'_>) -> Flow {
        let all = effort == Effort::All;
        if self.recover {
            self.assign(block, all);
        }
        let horizons = self.horizons(block);
        for line in &mut self.lines {
            if line.nest.is_empty() || (effort == Effort::Due && !line.nest.is_due()) {
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
            let tracks = TrackTemplate {
                stream: stream.track,
                resource: self.resource,
                names: &self.actor_names,
                epoch: self.run.epoch,
            };
            self.waiting -= line.push(horizon, all, &tracks, &mut self.room, out)?;
        }
        let held = self.streams.iter_mut().flat_map(|stream| &mut stream.held);
        let nested = self.lines.iter_mut().flat_map(|line| line.nest.rows_mut());
        self.room.bodies.tidy(held.chain(nested));
        Flow::Continue(())
    }

    /// Makes room when too many events wait.
    pub fn relieve(&mut self, block: u32, most: usize, out: &mut PassOutput<'_>) -> Flow {
        self.settle(block, Effort::Every, out)?;
        if self.waiting > most / 2 || self.waiting_bytes() > super::lower::MOST_BYTES / 2 {
            self.released += self.waiting as u64;
            self.settle(block, Effort::All, out)?;
        }
        Flow::Continue(())
    }

    /// Moves events to the line of their actor, those that no later run of an actor can cover.
    fn assign(&mut self, block: u32, all: bool) {
        let mut earliest = u64::MAX;
        for &stream in &self.running {
            earliest = earliest.min(self.run.horizon.after(stream, TrackClass::Running, block));
        }
        for at in 0..self.streams.len() {
            let id = self.streams.get(at).map_or(0, |stream| stream.id);
            let horizon = if id == 0 {
                earliest
            } else {
                self.run.horizon.after(id, TrackClass::Running, block)
            };
            self.give(at, horizon, all);
        }
        let needed = |stream: &StreamState| {
            stream
                .held
                .iter()
                .map(|row| row.end)
                .fold(u64::MAX, u64::min)
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

    /// Moves what a stream holds to the lines of the actors, as far as it ends before `horizon`.
    fn give(&mut self, at: usize, horizon: u64, all: bool) {
        let Some(stream) = self.streams.get_mut(at) else {
            return;
        };
        let id = stream.id;
        let mut held = std::mem::take(&mut stream.held);
        // Several events on end are of one run.
        let mut last = None;
        while let Some(row) = held.front().filter(|row| all || row.end < horizon) {
            let line = match last {
                Some((from, to, line)) if from <= row.end && row.end <= to => {
                    self.recovered += 1;
                    line
                }
                _ => {
                    let run = self.running_at(at, row.end);
                    self.recovered += u64::from(run.is_some());
                    let line = self.line(id, run.map(|run| run.actor));
                    // Which of the others run is looked at for each event of stream 0.
                    last = run.filter(|_| id != 0).map(|run| (row.end, run.end, line));
                    line
                }
            };
            if let Some(line) = self.lines.get_mut(line) {
                line.nest.push(*row);
            }
            held.pop_front();
        }
        if let Some(stream) = self.streams.get_mut(at) {
            stream.held = held;
        }
    }

    /// Returns the run of an actor that an event of a stream that ends at `end` is of.
    fn running_at(&mut self, at: usize, end: u64) -> Option<ActorRun> {
        let stream = self.streams.get_mut(at)?;
        if stream.id != 0 {
            return stream.runs.at(end);
        }
        let streams = &mut self.streams;
        let workers = self.workers.iter().take(MOST_WORKERS);
        let mut found = workers.filter_map(|&at| streams.get_mut(at)?.runs.shared_at(end));
        let run = found.next()?;
        if found.next().is_some() || self.workers.len() > MOST_WORKERS {
            self.ambiguous += 1;
            return None;
        }
        Some(run)
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
                    .fold(u64::MAX, u64::min);
                let plain = after(TrackClass::Plain).min(held);
                let thread = after(TrackClass::Runtime)
                    .min(after(TrackClass::Running))
                    .min(plain);
                let within = if self.recover {
                    plain
                } else {
                    after(TrackClass::Substream)
                };
                (thread, within)
            })
            .collect()
    }

    /// Pushes what waits and says what was found.
    pub fn finish(&mut self, out: &mut PassOutput<'_>) -> Flow {
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
