//! Processes, threads, ids and lanes to tracks.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, Limits, Resource, ResourceId, Tables, Track, TrackId, TrackKind, Value as Held,
};

use super::LABELS;
use super::by_thread::ByThread;
use super::event::{EventId, EventKey, TraceEvent};
use super::facts::WrittenTrackFacts;
use super::survey::{Sorted, Thread, TraceSurvey, numeric};
use crate::spans::by_line::SliceLine;
use crate::text::json::Token;

/// Tracks above one another that are looked at.
const DEEPEST: usize = 64;

/// Where the slices of a thread go.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThreadPlace {
    pub(super) line: SliceLine,
    pub(super) sorted: Sorted,
    /// Where its late flows are.
    pub(super) late: Option<u32>,
}

/// The tracks met so far.
pub(super) struct TrackLines<'a> {
    survey: &'a TraceSurvey,
    processes: HashMap<Box<[u8]>, Option<ResourceId>, RandomState>,
    threads: ByThread<ThreadPlace>,
    /// Lines of spans that overlap others, by their track.
    n_overlaps: HashMap<TrackId, u32, RandomState>,
    lanes: HashMap<(TrackId, u32), TrackId, RandomState>,
    /// By category, id and process, each behind its length.
    asynchronous: HashMap<Box<[u8]>, TrackId, RandomState>,
    /// Kept for its memory.
    key: Vec<u8>,
}

impl<'a> TrackLines<'a> {
    pub(super) fn new(survey: &'a TraceSurvey) -> Self {
        Self {
            survey,
            processes: HashMap::default(),
            threads: ByThread::default(),
            n_overlaps: HashMap::default(),
            lanes: HashMap::default(),
            asynchronous: HashMap::default(),
            key: Vec::new(),
        }
    }

    fn process(&mut self, pid: &[u8], tables: &mut Tables) -> Option<ResourceId> {
        if let Some(&known) = self.processes.get(pid) {
            return known;
        }
        let name = self.survey.process_names.get(pid);
        let made_up = self.survey.made_up.get(pid);
        let number = match made_up {
            Some(own) => own.flatten(),
            None => numeric(pid),
        };
        let known = made_up != Some(&None) && (name.is_some() || !pid.is_empty());
        let id = known.then(|| {
            let mut resource = Resource {
                pid: number,
                service: name.map(|name| tables.bytes(name)),
                ..Resource::default()
            };
            if number.is_none() && name.is_none() && made_up.is_none() {
                resource.service = Some(tables.bytes(pid));
            }
            if let Some(labels) = self.survey.labels.get(pid) {
                let key = tables.attribute_named(LABELS);
                let text = Held::Text(tables.bytes(labels));
                resource.attributes.push(Attribute::new(key, text));
            }
            tables.resource(resource)
        });
        self.processes.insert(pid.into(), id);
        id
    }

    /// The place of an event's thread.
    pub(super) fn thread(&mut self, event: TraceEvent<'_>, tables: &mut Tables) -> ThreadPlace {
        let (process, thread) = event.thread_words();
        if let Some(&known) = self.threads.get(&process, &thread) {
            return known;
        }
        let thread = (process.into(), thread.into());
        let line = self.line(&thread, tables, 0);
        self.put(thread, line)
    }

    fn put(&mut self, thread: Thread, line: SliceLine) -> ThreadPlace {
        let place = ThreadPlace {
            line,
            sorted: self.survey.sorted(&thread),
            late: self.survey.late_flows(&thread),
        };
        self.threads.insert(thread, place);
        place
    }

    fn line(&mut self, thread: &Thread, tables: &mut Tables, depth: usize) -> SliceLine {
        if let Some(known) = self.threads.get(&thread.0, &thread.1) {
            return known.line;
        }
        let survey = self.survey;
        let facts = survey.facts.get(thread);
        let mut above = |tracks: &mut Self, thread: Option<&Thread>| {
            let above = thread.filter(|_| depth < DEEPEST)?;
            let line = tracks.line(above, tables, depth + 1);
            tracks.put(above.clone(), line);
            Some(line.track)
        };
        if let Some(track) = above(self, facts.and_then(|facts| facts.of.as_ref())) {
            let number = self.n_overlaps.entry(track).or_default();
            *number = number.saturating_add(1);
            let number = *number;
            return SliceLine { track, number };
        }
        let parent = above(self, facts.and_then(|facts| facts.parent.as_ref()));
        let resource = self.process(&thread.0, tables);
        let name = survey.thread_names.get(thread);
        let tid = numeric(&thread.1);
        let named = name.map(|name| tables.bytes(name));
        let word = || tid.is_none() && !thread.1.is_empty();
        let name = named.or_else(|| word().then(|| tables.bytes(&thread.1)));
        let plain = WrittenTrackFacts::default();
        let facts = facts.unwrap_or(&plain);
        let name = match &facts.name {
            Some(own) => own.as_ref().map(|name| tables.bytes(name)),
            None => name,
        };
        let track = tables.track(Track {
            kind: facts.kind,
            resource,
            parent,
            lane: facts.lane,
            name,
            os_id: facts.os_id.unwrap_or(tid),
            id: facts.id,
        });
        track.into()
    }

    /// The track of an asynchronous event: one for each id.
    pub(super) fn asynchronous(
        &mut self,
        event: TraceEvent<'_>,
        limits: &Limits,
        tables: &mut Tables,
    ) -> TrackId {
        let id = EventId::of(event, limits);
        let word = |key| event.get(key).map(Token::word).unwrap_or_default();
        let (category, process) = (word(EventKey::Category), word(EventKey::Process));
        let owner: &[u8] = if id.is_local { &process } else { &[] };
        self.key.clear();
        for part in [&category, &id.word, owner] {
            self.key.extend_from_slice(&part.len().to_le_bytes());
            self.key.extend_from_slice(part);
        }
        if let Some(&known) = self.asynchronous.get(self.key.as_slice()) {
            return known;
        }
        let resource = self.process(&process, tables);
        let name = event
            .get(EventKey::Name)
            .map(|name| tables.bytes(&name.word()));
        let count = self.asynchronous.len() as u64;
        let track = tables.track(Track {
            kind: TrackKind::Async,
            resource,
            name,
            id: Some(id.number().unwrap_or(count)),
            ..Track::default()
        });
        self.asynchronous.insert(self.key.as_slice().into(), track);
        track
    }

    /// The lane of that number beside a track.
    pub(super) fn lane(&mut self, track: TrackId, lane: u32, tables: &mut Tables) -> TrackId {
        *self.lanes.entry((track, lane)).or_insert_with(|| {
            tables.track(Track {
                kind: TrackKind::Lane,
                parent: Some(track),
                lane,
                ..Track::default()
            })
        })
    }
}
