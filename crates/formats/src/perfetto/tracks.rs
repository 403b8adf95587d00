//! Track descriptors to tracks, processes, counters (SPEC.md §4).

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::subslice;
use traceloom_model::{
    Attribute, AttributeKey, Resource, ResourceId, Series, SeriesId, Tables, Track, TrackId,
    TrackKind, Unit, Value,
};

use super::describe::{self, TrackDescription};
use crate::protobuf::fields;
use crate::spans::by_line::SliceLine;

/// A track as its descriptors tell, the last one of each fact.
#[derive(Clone, Debug, Default)]
pub(super) struct TrackFacts {
    pub(super) parent: Option<u64>,
    name: Option<Vec<u8>>,
    description: Vec<u8>,
    process: Option<ProcessDescriptor>,
    thread: Option<ThreadDescriptor>,
    counter: Option<CounterTrack>,
}

#[derive(Clone, Debug, Default)]
struct ProcessDescriptor {
    pid: u64,
    name: Option<Vec<u8>>,
    command: Vec<Vec<u8>>,
    labels: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
struct ThreadDescriptor {
    pid: u64,
    tid: u64,
    name: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
pub(super) struct CounterTrack {
    r#type: u64,
    unit: u64,
    unit_name: Vec<u8>,
    pub(super) multiplier: i64,
    pub(super) incremental: bool,
}

impl TrackFacts {
    /// Returns the id of the track that a `TrackDescriptor` tells about.
    pub(super) fn uuid(body: &[u8]) -> u64 {
        let uuids = fields(body).filter(|&(number, _)| number == 1);
        uuids.last().map_or(0, |(_, value)| value.number())
    }

    /// Adds what another descriptor of the track says.
    pub(super) fn take(&mut self, body: &[u8]) {
        for (number, value) in fields(body) {
            match number {
                5 => self.parent = Some(value.number()),
                2 | 10 | 13 => self.name = Some(value.bytes().to_vec()),
                14 => self.description = value.bytes().to_vec(),
                3 => self.process = Some(process(value.bytes())),
                4 => self.thread = Some(thread(value.bytes())),
                8 => self.counter = Some(counter(value.bytes())),
                _ => {}
            }
        }
    }

    pub(super) fn is_thread(&self) -> bool {
        self.thread.is_some()
    }
}

fn process(body: &[u8]) -> ProcessDescriptor {
    let mut process = ProcessDescriptor::default();
    for (number, value) in fields(body) {
        match number {
            1 => process.pid = value.number(),
            2 => process.command.push(value.bytes().to_vec()),
            6 => process.name = Some(value.bytes().to_vec()),
            8 => process.labels.push(value.bytes().to_vec()),
            _ => {}
        }
    }
    process
}

fn thread(body: &[u8]) -> ThreadDescriptor {
    let mut thread = ThreadDescriptor::default();
    for (number, value) in fields(body) {
        match number {
            1 => thread.pid = value.number(),
            2 => thread.tid = value.number(),
            5 => thread.name = Some(value.bytes().to_vec()),
            _ => {}
        }
    }
    thread
}

fn counter(body: &[u8]) -> CounterTrack {
    let mut counter = CounterTrack {
        r#type: 0,
        unit: 0,
        unit_name: Vec::new(),
        multiplier: 1,
        incremental: false,
    };
    for (number, value) in fields(body) {
        match number {
            1 => counter.r#type = value.number(),
            3 => counter.unit = value.number(),
            4 => counter.multiplier = value.number().cast_signed(),
            5 => counter.incremental = value.number() != 0,
            6 => counter.unit_name = value.bytes().to_vec(),
            _ => {}
        }
    }
    counter
}

/// What an id of a track stands for in the model.
#[derive(Clone, Debug)]
pub(super) enum TrackTarget {
    /// Slices and instants lie on a track.
    Track(TrackId),
    /// Slices lie on a track and overlap others of it.
    Overlap(SliceLine),
    /// Instants belong to the whole process; slices lie on the track.
    Process(TrackId),
    /// Slices are events with an end, of this track.
    Events(Option<TrackId>),
}

/// The tracks of a trace.
#[derive(Debug, Default)]
pub(super) struct TrackTable {
    descriptors: HashMap<u64, TrackFacts, RandomState>,
    lines: HashMap<u64, TrackTarget, RandomState>,
    series: HashMap<u64, (SeriesId, Option<CounterTrack>), RandomState>,
    processes: HashMap<u64, ResourceId, RandomState>,
    by_pid: HashMap<u64, u64, RandomState>,
    has_threads: bool,
}

/// Parents that a track has at most: beyond it they go round in a circle.
const DEEPEST: usize = 64;

impl TrackTable {
    pub(super) fn new(descriptors: HashMap<u64, TrackFacts, RandomState>) -> Self {
        let told = descriptors.iter();
        let pids = told.filter_map(|(&uuid, row)| Some((row.process.as_ref()?.pid, uuid)));
        Self {
            has_threads: descriptors.values().any(TrackFacts::is_thread),
            by_pid: pids.collect(),
            descriptors,
            ..Self::default()
        }
    }

    /// Returns what a track is in the model.
    pub(super) fn line(&mut self, uuid: u64, tables: &mut Tables) -> TrackTarget {
        self.line_below(uuid, tables, 0)
    }

    fn line_below(&mut self, uuid: u64, tables: &mut Tables, depth: usize) -> TrackTarget {
        if let Some(line) = self.lines.get(&uuid) {
            return line.clone();
        }
        let line = self.new_line(uuid, tables, depth);
        self.lines.insert(uuid, line.clone());
        line
    }

    fn new_line(&mut self, uuid: u64, tables: &mut Tables, depth: usize) -> TrackTarget {
        let Some(row) = self.descriptors.get(&uuid).cloned() else {
            let id = Some(uuid).filter(|&uuid| uuid != 0);
            let track = tables.track(Track {
                kind: TrackKind::Stream,
                id,
                ..Track::default()
            });
            return match uuid {
                0 => TrackTarget::Process(track),
                _ => TrackTarget::Track(track),
            };
        };
        let described = TrackDescription::parse(&row.description);
        let parent_row = row.parent.filter(|&parent| {
            depth < DEEPEST && parent != uuid && self.descriptors.contains_key(&parent)
        });
        let mut parent = None;
        let mut resource = None;
        if let Some(above) = parent_row {
            match self.line_below(above, tables, depth + 1) {
                TrackTarget::Track(track) | TrackTarget::Overlap(SliceLine { track, .. }) => {
                    parent = Some(track)
                }
                TrackTarget::Process(_) | TrackTarget::Events(_) => {}
            }
            resource = self.resource_of(above, tables);
        }
        if described.kind == Some(describe::TrackScope::Events) {
            return TrackTarget::Events(parent);
        }
        if let (Some(describe::TrackScope::Overlap(number)), Some(track)) = (described.kind, parent)
        {
            return TrackTarget::Overlap(SliceLine { track, number });
        }
        let text = |bytes: &Option<Vec<u8>>, tables: &mut Tables| {
            let bytes = bytes.as_ref().filter(|bytes| !bytes.is_empty());
            bytes.map(|bytes| tables.bytes(bytes))
        };
        if let Some(thread) = &row.thread {
            let name = text(&thread.name, tables).or_else(|| text(&row.name, tables));
            let resource = self.process(thread.pid, tables);
            let os_id = match described.thread_id {
                Some(id) => id,
                None => Some(thread.tid),
            };
            return TrackTarget::Track(tables.track(Track {
                kind: TrackKind::Thread,
                resource,
                parent,
                lane: 0,
                name,
                os_id,
                id: described.id,
            }));
        }
        let name = text(&row.name, tables);
        if row.process.is_some() {
            let resource = self.resource_of(uuid, tables);
            return TrackTarget::Process(tables.track(Track {
                kind: TrackKind::Stream,
                resource,
                name,
                ..Track::default()
            }));
        }
        let (kind, lane) = match described.kind {
            Some(describe::TrackScope::Stream) => (TrackKind::Stream, 0),
            Some(describe::TrackScope::Async) => (TrackKind::Async, 0),
            Some(describe::TrackScope::Lane(lane)) => (TrackKind::Lane, lane),
            Some(describe::TrackScope::Events | describe::TrackScope::Overlap(_)) | None => {
                let kind = if self.has_threads {
                    TrackKind::Async
                } else {
                    TrackKind::Stream
                };
                (kind, 0)
            }
        };
        // Two tracks that agree in everything told are two all the same.
        let plain = described.kind.is_none();
        TrackTarget::Track(tables.track(Track {
            kind,
            resource,
            parent,
            lane,
            name,
            os_id: described.thread_id.flatten(),
            id: described.id.or(plain.then_some(uuid)),
        }))
    }

    /// Returns the process that a track belongs to.
    fn resource_of(&mut self, uuid: u64, tables: &mut Tables) -> Option<ResourceId> {
        let pid = self.pid(uuid)?;
        self.process(pid, tables)
    }

    /// Returns the process id of a track: its own, or that of the nearest track above it which has one.
    pub(super) fn pid(&self, uuid: u64) -> Option<u64> {
        let mut at = uuid;
        for _ in 0..DEEPEST {
            let row = self.descriptors.get(&at)?;
            let process = row.process.as_ref().map(|process| process.pid);
            let pid = process.or_else(|| Some(row.thread.as_ref()?.pid));
            if pid.is_some() {
                return pid;
            }
            at = row.parent?;
        }
        None
    }

    fn process(&mut self, pid: u64, tables: &mut Tables) -> Option<ResourceId> {
        if let Some(&known) = self.processes.get(&pid) {
            return Some(known);
        }
        let row = self
            .by_pid
            .get(&pid)
            .and_then(|uuid| self.descriptors.get(uuid));
        let row = row.and_then(|row| Some((row.process.as_ref()?, &row.description)));
        let no_process =
            row.is_some_and(|(_, description)| TrackDescription::parse(description).no_process);
        if no_process || (row.is_none() && pid == 0) {
            return None;
        }
        let mut resource = Resource {
            pid: Some(pid),
            ..Resource::default()
        };
        if let Some((process, description)) = row {
            if TrackDescription::parse(description).no_pid {
                resource.pid = None;
            }
            let name = process.name.as_ref().filter(|name| !name.is_empty());
            resource.service = name.map(|name| tables.bytes(name));
            for label in &process.labels {
                take_label(&mut resource, label, tables);
            }
            if !process.command.is_empty() {
                let key = tables.attribute_named("process.command_line");
                let text = tables.value(&process.command.join(&b' '));
                resource
                    .attributes
                    .push(Attribute::new(key, Value::Text(text)));
            }
        }
        let id = tables.resource(resource);
        self.processes.insert(pid, id);
        Some(id)
    }

    /// Returns the series of a counter track, and how its values are to be read.
    pub(super) fn series(
        &mut self,
        uuid: u64,
        tables: &mut Tables,
    ) -> (SeriesId, Option<CounterTrack>) {
        if let Some(known) = self.series.get(&uuid) {
            return known.clone();
        }
        let row = self.descriptors.get(&uuid).cloned().unwrap_or_default();
        let track = row
            .parent
            .and_then(|parent| match self.line(parent, tables) {
                TrackTarget::Track(track) | TrackTarget::Overlap(SliceLine { track, .. }) => {
                    Some(track)
                }
                TrackTarget::Process(_) | TrackTarget::Events(_) => None,
            });
        let kind = row.counter.as_ref().map_or(0, |counter| counter.r#type);
        let name = match (row.name.as_deref(), kind) {
            (Some(name), _) => tables.bytes(name),
            (None, 1) => tables.string("thread_time"),
            (None, 2) => tables.string("thread_instruction_count"),
            (None, _) => tables.string(&format!("counter {uuid}")),
        };
        let unit = match row.counter.as_ref() {
            Some(counter) if !counter.unit_name.is_empty() => {
                Unit::Other(tables.bytes(&counter.unit_name))
            }
            Some(CounterTrack { unit: 1, .. } | CounterTrack { r#type: 1, .. }) => {
                Unit::Nanoseconds
            }
            Some(CounterTrack { unit: 3, .. }) => Unit::Bytes,
            _ => Unit::Count,
        };
        let unit = describe::unit(unit, tables);
        let id = tables.series(Series { name, unit, track });
        self.series.insert(uuid, (id, row.counter.clone()));
        (id, row.counter)
    }
}

/// Takes a label `name=value` back into the fact it was, any other as an attribute.
fn take_label(resource: &mut Resource, label: &[u8], tables: &mut Tables) {
    let split = label.iter().position(|&byte| byte == b'=');
    let (name, value) = match split.and_then(|at| label.split_at_checked(at)) {
        Some((name, value)) => (name, subslice(value, 1..)),
        None => (&b"label"[..], label),
    };
    let text = tables.bytes(value);
    let fact = match name {
        b"instance" => &mut resource.instance,
        b"host" => &mut resource.host,
        b"namespace" => &mut resource.namespace,
        b"language" => &mut resource.language,
        b"runtime" => &mut resource.runtime,
        b"os" => &mut resource.os,
        b"arch" => &mut resource.arch,
        b"version" => &mut resource.version,
        b"env" => &mut resource.env,
        other => {
            let name = tables.bytes(other);
            let key = tables.attribute_key(AttributeKey::named(name));
            let attribute = Attribute::new(key, Value::Text(text));
            return resource.attributes.push(attribute);
        }
    };
    *fact = Some(text);
}
