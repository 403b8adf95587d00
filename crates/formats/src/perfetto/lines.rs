//! Descriptors of the tracks that are written, each before the first packet on it.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::{EventTypeId, ResourceId, SeriesId, Track, TrackId, TrackKind, Unit, Value};

use super::annotate::DefinedTexts;
use super::describe::describe;
use super::raise::Packets;
use crate::protobuf::{put_bytes, put_number};

/// Events with an end: their track, their type, and the lane beside others like them.
pub(super) type EventLine = (Option<TrackId>, EventTypeId, usize);

/// Ids of what was described.
#[derive(Debug, Default)]
pub(super) struct TrackUuids {
    next: u64,
    /// The lane asked for last: most events lie on the one before.
    last: Option<((TrackId, u32), u64)>,
    tracks: HashMap<(TrackId, u32), u64, RandomState>,
    processes: HashMap<Option<ResourceId>, (u64, u64), RandomState>,
    series: HashMap<SeriesId, u64, RandomState>,
    events: HashMap<EventLine, u64, RandomState>,
    threads: HashMap<TrackId, u64, RandomState>,
    pids: HashSet<u64, RandomState>,
    tids: HashSet<(u64, u64), RandomState>,
}

/// Process and thread ids that no system gives out: for what has none, or one that is taken.
const FIRST_MADE_UP: u64 = 5_000_000;
/// The largest id that every reader takes.
const LARGEST: u64 = i32::MAX.unsigned_abs() as u64;

/// The parent of a track: older than it, because others would go round in a circle.
fn parent(track: TrackId, texts: &DefinedTexts) -> Option<TrackId> {
    let parent = texts.tables.track(track)?.parent;
    parent.filter(|&parent| parent < track)
}

impl TrackUuids {
    fn uuid(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Returns the id of a lane of a track.
    pub(super) fn track(
        &mut self,
        track: TrackId,
        lane: u32,
        texts: &DefinedTexts,
        packets: &mut Packets<'_>,
    ) -> u64 {
        match self.last {
            Some((place, uuid)) if place == (track, lane) => return uuid,
            _ => {}
        }
        if let Some(&known) = self.tracks.get(&(track, lane)) {
            self.last = Some(((track, lane), known));
            return known;
        }
        // Parents first, one after the other: a track may hang below any number of others.
        let mut chain = vec![track];
        while let Some(&below) = chain.last()
            && let Some(parent) = parent(below, texts)
            && !self.tracks.contains_key(&(parent, 0))
        {
            chain.push(parent);
        }
        for &above in chain.iter().skip(1).rev() {
            self.new_track(above, 0, texts, packets);
        }
        self.new_track(track, lane, texts, packets)
    }

    fn new_track(
        &mut self,
        track: TrackId,
        lane: u32,
        texts: &DefinedTexts,
        packets: &mut Packets<'_>,
    ) -> u64 {
        let uuid = self.uuid();
        self.tracks.insert((track, lane), uuid);
        self.describe_track(uuid, track, lane, texts, packets);
        uuid
    }

    /// Describes a track again that was described before more of it was known.
    pub(super) fn redefined(
        &mut self,
        track: TrackId,
        texts: &DefinedTexts,
        packets: &mut Packets<'_>,
    ) {
        if let Some(&uuid) = self.tracks.get(&(track, 0)) {
            self.describe_track(uuid, track, 0, texts, packets);
        }
    }

    fn describe_track(
        &mut self,
        uuid: u64,
        id: TrackId,
        lane: u32,
        texts: &DefinedTexts,
        packets: &mut Packets<'_>,
    ) {
        let tables = &texts.tables;
        let row = tables.track(id).cloned().unwrap_or_default();
        let mut body = Vec::new();
        put_number(&mut body, 1, uuid);
        let name = row.name.map(|name| tables.text(name).into_owned());
        if lane > 0 {
            let parent = self.track(id, 0, texts, packets);
            put_number(&mut body, 5, parent);
            if let Some(name) = name {
                put_bytes(&mut body, 2, name.as_bytes());
            }
            put_bytes(&mut body, 14, format!("overlap {lane}").as_bytes());
            return packets.put(60, &body);
        }
        let parent = parent(id, texts);
        let parent = parent.and_then(|parent| self.tracks.get(&(parent, 0)).copied());
        let (process, pid) = self.process(row.resource, texts, packets);
        let thread = row.kind == TrackKind::Thread;
        let above = match (parent, row.resource) {
            (Some(parent), _) => parent,
            (None, Some(_)) => process,
            (None, None) => 0,
        };
        put_number(
            &mut body,
            5,
            if thread { parent.unwrap_or(0) } else { above },
        );
        let mut thread_id = None;
        if thread {
            let tid = self.thread_id(id, &row, pid);
            thread_id = Some(tid);
            let mut fields = Vec::new();
            put_number(&mut fields, 1, pid);
            put_number(&mut fields, 2, tid);
            if let Some(name) = &name {
                put_bytes(&mut fields, 5, name.as_bytes());
            }
            put_bytes(&mut body, 4, &fields);
        } else if let Some(name) = &name {
            put_bytes(&mut body, 2, name.as_bytes());
        }
        let text = describe(&row, thread_id);
        if !text.is_empty() {
            put_bytes(&mut body, 14, text.as_bytes());
        }
        packets.put(60, &body);
    }

    /// Chooses a thread id that no other track of the process has.
    fn thread_id(&mut self, id: TrackId, row: &Track, pid: u64) -> u64 {
        let wanted = row.os_id.or(row.id);
        if let Some(&known) = self.threads.get(&id)
            && (known == wanted.unwrap_or(known) || known >= FIRST_MADE_UP)
        {
            return known;
        }
        let wanted = wanted.filter(|tid| (1..=LARGEST).contains(tid));
        let mut tid = wanted.unwrap_or(FIRST_MADE_UP + u64::from(id.raw()));
        while !self.tids.insert((pid, tid)) {
            tid = tid.max(FIRST_MADE_UP + u64::from(id.raw())) + 1;
        }
        self.threads.insert(id, tid);
        tid
    }

    /// Returns the id of a process track and the process id.
    fn process(
        &mut self,
        id: Option<ResourceId>,
        texts: &DefinedTexts,
        packets: &mut Packets<'_>,
    ) -> (u64, u64) {
        if let Some(&known) = self.processes.get(&id) {
            return known;
        }
        let tables = &texts.tables;
        let row = id.and_then(|id| tables.resource(id)).cloned();
        let row = row.unwrap_or_default();
        let uuid = self.uuid();
        let own = row.pid.filter(|pid| (1..=LARGEST).contains(pid));
        let mut pid = own.unwrap_or(FIRST_MADE_UP);
        while !self.pids.insert(pid) {
            pid = pid.max(FIRST_MADE_UP) + 1;
        }
        self.processes.insert(id, (uuid, pid));
        let mut process = Vec::new();
        put_number(&mut process, 1, pid);
        if let Some(name) = row.service {
            put_bytes(&mut process, 6, tables.text(name).as_bytes());
        }
        for (name, fact) in row.texts() {
            // The service is the name of the process.
            if let Some(fact) = fact.filter(|_| name != "service") {
                let label = format!("{name}={}", tables.text(fact));
                put_bytes(&mut process, 8, label.as_bytes());
            }
        }
        for attribute in &row.attributes {
            let key = tables.attribute_key(attribute.key);
            let name = key.map_or_else(String::new, |key| tables.text(key.name).into_owned());
            let value = match &attribute.value {
                Value::Text(text) => tables.text(*text).into_owned(),
                Value::Bool(value) => value.to_string(),
                Value::I64(value) => value.to_string(),
                Value::U64(value) => value.to_string(),
                Value::F64(value) => value.to_string(),
                other => format!("{other:?}"),
            };
            put_bytes(&mut process, 8, format!("{name}={value}").as_bytes());
        }
        let mut body = Vec::new();
        put_number(&mut body, 1, uuid);
        put_bytes(&mut body, 3, &process);
        let note = match (id, row.pid) {
            (None, _) => "no process",
            (Some(_), None) => "no process id",
            (Some(_), Some(_)) => "",
        };
        if !note.is_empty() {
            put_bytes(&mut body, 14, note.as_bytes());
        }
        packets.put(60, &body);
        (uuid, pid)
    }

    /// Returns the id of a counter track.
    pub(super) fn series(
        &mut self,
        id: SeriesId,
        texts: &DefinedTexts,
        packets: &mut Packets<'_>,
    ) -> u64 {
        if let Some(&known) = self.series.get(&id) {
            return known;
        }
        let tables = &texts.tables;
        let row = tables.series_row(id).cloned();
        let parent = row.as_ref().and_then(|row| row.track);
        let parent = parent.map_or(0, |track| self.track(track, 0, texts, packets));
        let uuid = self.uuid();
        self.series.insert(id, uuid);
        let mut counter = Vec::new();
        let mut body = Vec::new();
        put_number(&mut body, 1, uuid);
        put_number(&mut body, 5, parent);
        match row {
            Some(row) => {
                put_bytes(&mut body, 2, tables.text(row.name).as_bytes());
                match row.unit {
                    Unit::Nanoseconds => put_number(&mut counter, 3, 1),
                    Unit::Count => put_number(&mut counter, 3, 2),
                    Unit::Bytes => put_number(&mut counter, 3, 3),
                    Unit::Chars => put_bytes(&mut counter, 6, b"chars"),
                    Unit::Percent => put_bytes(&mut counter, 6, b"percent"),
                    Unit::Other(name) => put_bytes(&mut counter, 6, tables.text(name).as_bytes()),
                }
            }
            None => put_bytes(&mut body, 2, format!("#{}", id.raw()).as_bytes()),
        }
        put_bytes(&mut body, 8, &counter);
        packets.put(60, &body);
        uuid
    }

    /// Returns the id of a track of events.
    pub(super) fn events(
        &mut self,
        line: EventLine,
        texts: &DefinedTexts,
        packets: &mut Packets<'_>,
    ) -> u64 {
        if let Some(&known) = self.events.get(&line) {
            return known;
        }
        let (track, event_type, _) = line;
        let parent = track.map_or(0, |track| self.track(track, 0, texts, packets));
        let uuid = self.uuid();
        self.events.insert(line, uuid);
        let mut body = Vec::new();
        put_number(&mut body, 1, uuid);
        put_number(&mut body, 5, parent);
        put_bytes(&mut body, 2, texts.event_type(event_type).as_bytes());
        put_bytes(&mut body, 14, b"events");
        packets.put(60, &body);
        uuid
    }

    /// Describes what nothing lies on: it is known all the same.
    pub(super) fn rest(&mut self, texts: &DefinedTexts, packets: &mut Packets<'_>) {
        for index in (0..u32::MAX).take(texts.tables.tracks.len()) {
            let id = TrackId::new(index);
            if texts.tables.track(id).is_some() {
                self.track(id, 0, texts, packets);
            }
        }
    }
}
