//! Processes, threads, ids and lanes to tracks.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, Resource, ResourceId, Tables, Track, TrackId, TrackKind, Value as Held,
};

use super::event::{Event, word};
use super::survey::{Sorted, Survey, Thread, id_of, numeric, thread};

/// The tracks met so far.
pub(super) struct Tracks<'a> {
    survey: &'a Survey,
    processes: HashMap<Box<[u8]>, Option<ResourceId>, RandomState>,
    threads: HashMap<Thread, (TrackId, Sorted), RandomState>,
    lanes: HashMap<(TrackId, u32), TrackId, RandomState>,
    asynchronous: HashMap<(Box<[u8]>, Box<[u8]>, Box<[u8]>), TrackId, RandomState>,
}

impl<'a> Tracks<'a> {
    pub(super) fn new(survey: &'a Survey) -> Self {
        Self {
            survey,
            processes: HashMap::default(),
            threads: HashMap::default(),
            lanes: HashMap::default(),
            asynchronous: HashMap::default(),
        }
    }

    fn process(&mut self, pid: &[u8], tables: &mut Tables) -> Option<ResourceId> {
        if let Some(&known) = self.processes.get(pid) {
            return known;
        }
        let name = self.survey.process_names.get(pid);
        let number = numeric(pid);
        let id = (name.is_some() || !pid.is_empty()).then(|| {
            let mut resource = Resource {
                pid: number,
                service: name.map(|name| tables.bytes(name)),
                ..Resource::default()
            };
            if number.is_none() && name.is_none() {
                resource.service = Some(tables.bytes(pid));
            }
            if let Some(labels) = self.survey.labels.get(pid) {
                let key = tables.attribute_named("process_labels");
                let text = Held::Text(tables.bytes(labels));
                resource.attributes.push(Attribute::new(key, text));
            }
            tables.resource(resource)
        });
        self.processes.insert(pid.into(), id);
        id
    }

    /// The track of an event's thread, and the order in which its events come.
    pub(super) fn thread(&mut self, event: &Event<'_>, tables: &mut Tables) -> (TrackId, Sorted) {
        let thread = thread(event);
        if let Some(&known) = self.threads.get(&thread) {
            return known;
        }
        let resource = self.process(&thread.0, tables);
        let name = self.survey.thread_names.get(&thread);
        let os_id = numeric(&thread.1);
        let named = name.map(|name| tables.bytes(name));
        let word = || os_id.is_none() && !thread.1.is_empty();
        let name = named.or_else(|| word().then(|| tables.bytes(&thread.1)));
        let track = tables.track(Track {
            kind: TrackKind::Thread,
            resource,
            name,
            os_id,
            ..Track::default()
        });
        let sorted = self.survey.sorted(&thread);
        self.threads.insert(thread, (track, sorted));
        (track, sorted)
    }

    /// The track of an asynchronous event: one for each id.
    pub(super) fn asynchronous(&mut self, event: &Event<'_>, tables: &mut Tables) -> TrackId {
        let (id, local, number) = id_of(event);
        let category = event.cat.map(word).unwrap_or_default();
        let process = event.pid.map(word).unwrap_or_default();
        let owner = if local {
            process.clone()
        } else {
            Box::default()
        };
        let key = (category, id, owner);
        if let Some(&known) = self.asynchronous.get(&key) {
            return known;
        }
        let resource = self.process(&process, tables);
        let name = event.name.map(|name| tables.bytes(&word(name)));
        let count = self.asynchronous.len() as u64;
        let track = tables.track(Track {
            kind: TrackKind::Async,
            resource,
            name,
            id: Some(number.unwrap_or(count)),
            ..Track::default()
        });
        self.asynchronous.insert(key, track);
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
