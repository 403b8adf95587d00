//! The pieces of one recording into one sink: what is equal in two pieces becomes one row.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::renumber::Renumber;
use crate::{
    Asks, AttrKeyId, Batch, Class, ClassId, Definitions, EventType, EventTypeId, Exception,
    ExceptionId, Flow, Frame, FrameId, Function, FunctionId, Mapping, MappingId, ObjectId, Profile,
    ProfileId, Resource, ResourceId, Series, SeriesId, Sink, SpanId, Stack, StackId, Stage,
    StringId, Tables, Track, TrackId, TrackKind, Unit, ValueType, ValueTypeId,
};

/// A sink that tells the rows of each piece again to tables of its own, so that a recording lowered in
/// pieces comes out as if it had been lowered in one go: same rows, same ids, same order.
///
/// Equal rows are one. Rows with an identity of their own are told apart by it:
///
/// - a thread by its id of the runtime, else by its id of the system and its name;
/// - a profile by its value columns: settings of later pieces are added;
/// - an event type by name and fields;
/// - the first process counts, because the pieces are of one.
///
/// Pieces are to come in their order, with [`Join::next_piece`] between them. Memory is that of the tables,
/// and of the numbers of one piece.
pub struct Join<'s, S: Sink + ?Sized> {
    to: &'s mut S,
    tables: Tables,
    ids: JoinedIds,
    process: Option<ResourceId>,
    resources: Vec<(Resource, ResourceId)>,
    tracks: HashMap<TrackIdentity, (TrackId, Option<StringId>)>,
    profiles: Vec<(Profile, ProfileId)>,
    event_types: HashMap<(StringId, Vec<AttrKeyId>), EventTypeId, RandomState>,
    spans: u64,
    next_span: u64,
    dumps: u32,
    next_dump: u32,
    begun: bool,
}

/// What identifies a line of execution; the name only where no id of the runtime does.
#[derive(PartialEq, Eq, Hash)]
struct TrackIdentity {
    kind: TrackKind,
    parent: Option<TrackId>,
    lane: u32,
    os_id: Option<u64>,
    id: Result<u64, Option<StringId>>,
}

/// Ids of the joined recording, by the numbers of one piece.
#[derive(Default)]
struct JoinedIds {
    strings: Vec<Option<StringId>>,
    resources: Vec<Option<ResourceId>>,
    tracks: Vec<Option<TrackId>>,
    classes: Vec<Option<ClassId>>,
    functions: Vec<Option<FunctionId>>,
    mappings: Vec<Option<MappingId>>,
    frames: Vec<Option<FrameId>>,
    stacks: Vec<Option<StackId>>,
    value_types: Vec<Option<ValueTypeId>>,
    profiles: Vec<Option<ProfileId>>,
    event_types: Vec<Option<EventTypeId>>,
    series: Vec<Option<SeriesId>>,
    exceptions: Vec<Option<ExceptionId>>,
    attribute_keys: Vec<Option<AttrKeyId>>,
}

fn set<T>(table: &mut Vec<Option<T>>, at: usize, id: T) {
    if table.len() <= at {
        table.resize_with(at + 1, || None);
    }
    if let Some(slot) = table.get_mut(at) {
        *slot = Some(id);
    }
}

impl<'s, S: Sink + ?Sized> Join<'s, S> {
    /// Passes a recording on to `to`.
    #[must_use]
    pub fn new(to: &'s mut S) -> Self {
        Self {
            to,
            tables: Tables::new(),
            ids: JoinedIds::default(),
            process: None,
            resources: Vec::new(),
            tracks: HashMap::new(),
            profiles: Vec::new(),
            event_types: HashMap::default(),
            spans: 0,
            next_span: 0,
            dumps: 0,
            next_dump: 0,
            begun: false,
        }
    }

    /// Says that a piece is complete and the next one follows.
    pub fn next_piece(&mut self) {
        self.ids = JoinedIds::default();
        self.spans = self.next_span;
        self.dumps = self.next_dump;
    }

    fn unnamed(&mut self, number: u32) -> StringId {
        self.tables.string(&format!("#{number}"))
    }

    fn add_resource(&mut self, row: Resource) -> ResourceId {
        if row.parent.is_none()
            && let Some(process) = self.process
        {
            return process;
        }
        if let Some((_, known)) = self.resources.iter().find(|(known, _)| *known == row) {
            return *known;
        }
        let id = self.tables.resource(row.clone());
        if row.parent.is_none() {
            self.process = Some(id);
        }
        self.resources.push((row, id));
        id
    }

    fn add_track(&mut self, mut row: Track) -> TrackId {
        row.resource = row.resource.or(self.process);
        let identity = TrackIdentity {
            kind: row.kind,
            parent: row.parent,
            lane: row.lane,
            os_id: row.os_id,
            id: row.id.ok_or(row.name),
        };
        let name = row.name;
        match self.tracks.get_mut(&identity) {
            Some((known, last)) => {
                if *last != name {
                    *last = name;
                    self.tables.redefine_track(*known, row);
                }
                *known
            }
            None => {
                let id = self.tables.new_track(row);
                self.tracks.insert(identity, (id, name));
                id
            }
        }
    }

    fn add_profile(&mut self, row: Profile) -> ProfileId {
        let same = |known: &&mut (Profile, ProfileId)| known.0.value_types == row.value_types;
        let Some((known, id)) = self.profiles.iter_mut().find(same) else {
            let id = self.tables.profile(row.clone());
            self.profiles.push((row, id));
            return id;
        };
        let mut joined = Profile {
            period: known.period.or(row.period),
            time: known.time.or(row.time),
            duration: known.duration.or(row.duration),
            ..known.clone()
        };
        for setting in row.settings {
            if !joined.settings.contains(&setting) {
                joined.settings.push(setting);
            }
        }
        for comment in row.comments {
            if !joined.comments.contains(&comment) {
                joined.comments.push(comment);
            }
        }
        if joined != *known {
            self.tables.redefine_profile(*id, joined.clone());
            *known = joined;
        }
        *id
    }

    fn add_event_type(&mut self, row: EventType) -> EventTypeId {
        let key = (row.name, row.fields.clone());
        let tables = &mut self.tables;
        let known = self.event_types.entry(key);
        *known.or_insert_with(|| tables.event_type(row))
    }

    /// Takes the rows of a piece, each table after those it refers to.
    fn rows(&mut self, new: Definitions) {
        for (id, text) in new.strings {
            let known = self.tables.bytes(text.as_bytes());
            set(&mut self.ids.strings, id.index(), known);
        }
        for (id, mut row) in new.classes {
            self.class_row(&mut row);
            let known = self.tables.class(row);
            set(&mut self.ids.classes, id.index(), known);
        }
        for (id, mut row) in new.functions {
            self.function_row(&mut row);
            let known = self.tables.function(row);
            set(&mut self.ids.functions, id.index(), known);
        }
        for (id, mut row) in new.mappings {
            self.mapping_row(&mut row);
            let known = self.tables.mapping(row);
            set(&mut self.ids.mappings, id.index(), known);
        }
        for (id, mut row) in new.frames {
            self.frame_row(&mut row);
            let known = self.tables.frame(row);
            set(&mut self.ids.frames, id.index(), known);
        }
        for (id, mut row) in new.stacks {
            self.stack_row(&mut row);
            let known = self.tables.stack(row);
            set(&mut self.ids.stacks, id.index(), known);
        }
        for (id, mut row) in new.exceptions {
            self.exception_row(&mut row);
            let known = self.tables.exception(row);
            set(&mut self.ids.exceptions, id.index(), known);
        }
        for (id, mut row) in new.attribute_keys {
            self.attribute_key_row(&mut row);
            let known = self.tables.attribute_key(row);
            set(&mut self.ids.attribute_keys, id.index(), known);
        }
        for (id, mut row) in new.resources {
            self.resource_row(&mut row);
            let known = self.add_resource(row);
            set(&mut self.ids.resources, id.index(), known);
        }
        for (id, mut row) in new.tracks {
            self.track_row(&mut row);
            let known = self.add_track(row);
            set(&mut self.ids.tracks, id.index(), known);
        }
        for (id, mut row) in new.value_types {
            self.value_type_row(&mut row);
            let known = self.tables.value_type(row);
            set(&mut self.ids.value_types, id.index(), known);
        }
        for (id, mut row) in new.profiles {
            self.profile_row(&mut row);
            let known = self.add_profile(row);
            set(&mut self.ids.profiles, id.index(), known);
        }
        for (id, mut row) in new.event_types {
            self.event_type_row(&mut row);
            let known = self.add_event_type(row);
            set(&mut self.ids.event_types, id.index(), known);
        }
        for (id, mut row) in new.series {
            self.series_row(&mut row);
            let known = self.tables.series(row);
            set(&mut self.ids.series, id.index(), known);
        }
    }

    fn define_new(&mut self) -> Flow {
        let new = self.tables.take_definitions();
        if new.is_empty() {
            return Flow::Continue(());
        }
        self.to.define(new)
    }
}

/// An id is looked up; what the piece never defined becomes a row that says so.
macro_rules! lookups {
    ($($method:ident $table:ident $id:ident $self:ident $number:ident $missing:expr;)*) => {$(
        fn $method(&mut self, id: &mut $id) {
            let at = id.index();
            let known = self.ids.$table.get(at).copied().flatten();
            *id = match known {
                Some(known) => known,
                None => {
                    let ($self, $number) = (&mut *self, id.raw());
                    let made: $id = $missing;
                    set(&mut self.ids.$table, at, made);
                    made
                }
            };
        }
    )*};
}

impl<S: Sink + ?Sized> Renumber for Join<'_, S> {
    lookups! {
        string strings StringId join number join.unnamed(number);
        resource resources ResourceId join _number join.add_resource(Resource::default());
        track tracks TrackId join number {
            let name = join.unnamed(number);
            join.add_track(Track::thread(name))
        };
        class classes ClassId join number {
            let name = join.unnamed(number);
            join.tables.class(Class { name, superclass: None, loader: None, file: None })
        };
        function functions FunctionId join number {
            let name = join.unnamed(number);
            join.tables.function(Function::named(name))
        };
        mapping mappings MappingId join _number join.tables.mapping(Mapping::default());
        frame frames FrameId join _number join.tables.frame(Frame::default());
        stack stacks StackId join _number {
            let frame = join.tables.frame(Frame::default());
            join.tables.stack(Stack { parent: None, frame, truncated: true })
        };
        value_type value_types ValueTypeId join number {
            let name = join.unnamed(number);
            join.tables.value_type(ValueType::sum(name, Unit::Count))
        };
        profile profiles ProfileId join _number join.add_profile(Profile::default());
        event_type event_types EventTypeId join number {
            let name = join.unnamed(number);
            join.add_event_type(EventType { name, label: None, fields: Vec::new() })
        };
        series series SeriesId join number {
            let name = join.unnamed(number);
            join.tables.series(Series { name, unit: Unit::Count, track: None })
        };
        exception exceptions ExceptionId join _number {
            join.tables.exception(Exception { class: None, message: None, stack: None, cause: None })
        };
        attribute_key attribute_keys AttrKeyId join number {
            join.tables.attribute_named(&format!("#{number}"))
        };
    }

    fn span(&mut self, id: &mut SpanId) {
        id.0 = id.0.saturating_add(self.spans);
        self.next_span = self.next_span.max(id.0.saturating_add(1));
    }

    /// Objects are known by the number their process gave them: the same in every piece.
    fn object(&mut self, _id: &mut ObjectId) {}

    fn dump(&mut self, dump: &mut u32) {
        *dump = dump.saturating_add(self.dumps);
        self.next_dump = self.next_dump.max(dump.saturating_add(1));
    }
}

impl<S: Sink + ?Sized> Stage for Join<'_, S> {
    fn asks(&self) -> Asks {
        self.to.asks()
    }

    fn pass(&mut self, mut batch: Batch) -> Flow {
        match batch {
            Batch::Begin(..) if std::mem::replace(&mut self.begun, true) => Flow::Continue(()),
            Batch::Begin(..) | Batch::Note(_) => batch.push(self.to),
            Batch::Define(new) => {
                self.rows(new);
                self.define_new()
            }
            _ => {
                self.batch(&mut batch);
                self.define_new()?;
                batch.push(self.to)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Attribute, CounterBatch, Note, PathBatch, Recording, SampleBatch, Spot, StepBatch, Value,
    };

    fn piece(sink: &mut dyn Sink, thread: &str, setting: i64) {
        let mut tables = Tables::new();
        // Each piece numbers its strings in an order of its own.
        let thread = tables.string(thread);
        let cpu = tables.string("cpu");
        let cpu = tables.value_type(ValueType::sum(cpu, Unit::Nanoseconds));
        let key = tables.attribute_named("interval");
        let profile = tables.profile(Profile {
            value_types: vec![cpu],
            settings: vec![Attribute::new(key, Value::I64(setting))],
            ..Profile::default()
        });
        let track = tables.new_track(Track {
            id: Some(7),
            name: Some(thread),
            ..Track::default()
        });
        let name = tables.string("run");
        let function = Some(tables.function(Function::named(name)));
        let frame = tables.frame(Frame {
            function,
            ..Frame::default()
        });
        let stack = tables.stack(Stack {
            parent: None,
            frame,
            truncated: false,
        });
        let mut batch = SampleBatch::new(profile, 1);
        batch.push(&crate::SampleRow {
            stack: Some(stack),
            values: &[1],
            time: None,
            track: Some(track),
            span: None,
            labels: &[],
        });
        let _ = sink.define(tables.take_definitions());
        let _ = sink.samples(batch);
    }

    #[test]
    fn steps_stay_on_their_tracks() {
        #[derive(Default)]
        struct Tracks(Vec<[TrackId; 2]>);

        impl Sink for Tracks {
            fn define(&mut self, _new: Definitions) -> Flow {
                Flow::Continue(())
            }

            fn steps(&mut self, batch: StepBatch) -> Flow {
                self.0.push([batch.tracks[0].1, batch.open[0].0]);
                Flow::Continue(())
            }

            fn note(&mut self, _note: Note) -> Flow {
                Flow::Continue(())
            }
        }

        let mut tracks = Tracks::default();
        let mut join = Join::new(&mut tracks);
        for thread in ["main", "worker"] {
            let mut tables = Tables::new();
            let name = tables.string(thread);
            let track = tables.new_track(Track {
                name: Some(name),
                ..Track::default()
            });
            let function = tables.function(Function::named(name));
            let mut steps = StepBatch::default();
            steps.track(track);
            steps.enter(0, function);
            steps.open.push((track, 0));
            let _ = join.define(tables.take_definitions());
            let _ = join.steps(steps);
            join.next_piece();
        }
        let [first, second] = tracks.0[..] else {
            panic!("two batches")
        };
        assert_eq!((first[0], second[0]), (first[1], second[1]));
        assert_ne!(first, second);
    }

    #[test]
    fn what_is_equal_in_two_pieces_is_one_row() {
        let mut recording = Recording::default();
        let mut join = Join::new(&mut recording);
        piece(&mut join, "main", 10);
        join.next_piece();
        piece(&mut join, "renamed", 20);
        assert_eq!(recording.stacks.len(), 1);
        assert_eq!(recording.profiles.len(), 1);
        let settings = &recording.profiles[0].as_ref().unwrap().settings;
        let values: Vec<_> = settings.iter().map(|setting| &setting.value).collect();
        assert_eq!(values, [&Value::I64(10), &Value::I64(20)]);
        let name = recording.tracks[0].as_ref().unwrap().name.unwrap();
        assert_eq!(
            (recording.tracks.len(), &*recording.text(name)),
            (1, "renamed")
        );
        let of = |batch: &SampleBatch| (batch.profile, batch.stack[0], batch.track[0]);
        assert_eq!(of(&recording.samples[0]), of(&recording.samples[1]));
    }

    #[test]
    fn what_runs_at_sites_is_told_by_the_ids_of_the_whole() {
        #[derive(Default)]
        struct Spots(Vec<Spot>);
        impl Sink for Spots {
            fn define(&mut self, _new: Definitions) -> Flow {
                Flow::Continue(())
            }
            fn paths(&mut self, batch: PathBatch) -> Flow {
                self.0.extend(batch.told().flat_map(|(_, spots)| spots));
                Flow::Continue(())
            }
            fn note(&mut self, _note: Note) -> Flow {
                Flow::Continue(())
            }
        }
        let mut spots = Spots::default();
        let mut join = Join::new(&mut spots);
        for names in [["run", "stop"], ["stop", "run"]] {
            let mut tables = Tables::new();
            let cpu = tables.string("cpu");
            let cpu = tables.value_type(ValueType::sum(cpu, Unit::Count));
            let profile = tables.profile(Profile {
                value_types: vec![cpu],
                ..Profile::default()
            });
            let [_, function] = names.map(|name| {
                let name = tables.string(name);
                tables.function(Function::named(name))
            });
            let frame = tables.frame(Frame::of(function));
            let _ = join.define(tables.take_definitions());
            let mut batch = PathBatch::new(profile, 1);
            batch.tell(0, [Spot::Function(function), Spot::Frame(frame)]);
            let _ = join.paths(batch);
            join.next_piece();
        }
        let [stop, run] = [1, 0].map(|row| Spot::Function(FunctionId::new(row)));
        let frames = [0, 1].map(|row| Spot::Frame(FrameId::new(row)));
        assert_eq!(spots.0, [stop, frames[0], run, frames[1]]);
    }

    #[test]
    fn what_was_never_defined_says_so() {
        let mut recording = Recording::default();
        let mut join = Join::new(&mut recording);
        let mut counters = CounterBatch::default();
        counters.push(SeriesId::new(3), 0, 1.0);
        let _ = join.counters(counters);
        let series = recording.series_row(recording.counters.series[0]).unwrap();
        assert_eq!(recording.text(series.name), "#3");
    }
}
