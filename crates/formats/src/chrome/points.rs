//! Events that are no slices: instants, counters, objects, samples.

use traceloom_model::{
    Attribute, Class, ClassId, EventRow, EventTypeId, Frame, Function, Level, Limits, ObjectId,
    ObjectRow, Profile, ProfileId, SampleRow, Series, Stack, StackId, Tables, Timestamp, TrackId,
    Unit, Value as Held, ValueType,
};

use super::arguments::text;
use super::event::{EventId, EventKey, TraceEvent};
use super::lower::Lowering;
use crate::profile::v8::{PieceOf, V8Sample, begins_profile};
use crate::text::json::{Kind, Token, Value};

/// What ids of events with an end are told apart in, so that they are no asynchronous spans.
pub(super) const EVENTS: &str = "traceloom.event";

/// Returns true if an asynchronous event is an event with an end, as our writer marks it.
pub(super) fn is_event(event: TraceEvent<'_>) -> bool {
    let scope = event.get(EventKey::IdScope).and_then(Token::bytes);
    scope.is_some_and(|scope| *scope == *EVENTS.as_bytes())
}

/// An event whose end is to come.
pub(super) struct Timed {
    id: Box<[u8]>,
    event_type: EventTypeId,
    track: Option<TrackId>,
    time: Timestamp,
    attributes: Vec<Attribute>,
}

impl Lowering<'_> {
    /// An event with an end begins; its end is what comes next.
    pub(super) fn event_begins(&mut self, event: TraceEvent<'_>, time: Timestamp) {
        self.put_timed(None);
        let name = text(event.get(EventKey::Name), self.tables);
        let name = name.unwrap_or_else(|| self.tables.string(""));
        // Events of no thread have none of its numbers.
        let of_thread = event
            .get(EventKey::Thread)
            .is_some_and(|tid| *tid.word() != *b"0");
        self.timed = Some(Timed {
            id: EventId::of(event, self.limits).word.into(),
            event_type: self.rows.event_type(name, self.tables),
            track: of_thread.then(|| self.tracks.thread(event, self.tables).line.track),
            time,
            attributes: self.annotated(event).attributes,
        });
    }

    pub(super) fn event_ends(&mut self, event: TraceEvent<'_>, time: Timestamp, offset: u64) {
        let begun = self.timed.as_ref();
        if begun.is_some_and(|begun| *begun.id == *EventId::of(event, self.limits).word) {
            return self.put_timed(Some(time));
        }
        self.tally.add(Level::Warn, "unmatched_end", offset, || {
            "an event ends that did not begin right before".to_owned()
        });
    }

    pub(super) fn put_timed(&mut self, end: Option<Timestamp>) {
        if let Some(timed) = self.timed.take() {
            self.rows.events.push(&EventRow {
                track: timed.track,
                attributes: &timed.attributes,
                ..EventRow::of_process(timed.event_type, timed.time, end)
            });
        }
    }

    /// An event without a length.
    pub(super) fn instant(
        &mut self,
        event: TraceEvent<'_>,
        track: Option<TrackId>,
        time: Timestamp,
    ) {
        let name = text(event.get(EventKey::Name), self.tables);
        let name = name.unwrap_or_else(|| self.tables.string(""));
        let event_type = self.rows.event_type(name, self.tables);
        let mut attributes = self.annotated(event).attributes;
        let category = text(event.get(EventKey::Category), self.tables);
        if let Some(category) = category.filter(|&id| !self.tables.string_bytes(id).is_empty()) {
            let key = self.tables.attribute_named("category");
            attributes.push(Attribute::new(key, Held::Text(category)));
        }
        let stack = event
            .get(EventKey::StackFrame)
            .and_then(|id| self.stack(id));
        self.rows.events.push(&EventRow {
            track,
            stack,
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
    }

    /// A stack of the table of frames, each with the id of its caller.
    fn stack(&mut self, id: Token<'_>) -> Option<StackId> {
        let key: Box<[u8]> = id.word().into();
        if let Some(&known) = self.stacks.get(&key) {
            return known;
        }
        let mut parent = None;
        for frame in self.survey.path(&key) {
            let name = self.tables.bytes(&frame.name);
            let library = Some(&frame.category).filter(|category| !category.is_empty());
            let library = library.map(|category| self.tables.bytes(category));
            let function = self.tables.function(Function {
                library,
                ..Function::named(name)
            });
            let frame = self.tables.frame(Frame {
                function: Some(function),
                ..Frame::default()
            });
            parent = Some(self.tables.stack(Stack {
                parent,
                frame,
                truncated: false,
            }));
        }
        self.stacks.insert(key, parent);
        parent
    }

    /// Every member of the arguments is a series of its own.
    pub(super) fn counter(&mut self, event: TraceEvent<'_>, time: Timestamp) {
        let name = event
            .get(EventKey::Name)
            .map(Token::word)
            .unwrap_or_default();
        let Some(args) = event.get(EventKey::Arguments) else {
            return;
        };
        let (tables, counters) = (&mut *self.tables, &mut self.rows.counters);
        self.texts.parse(args.raw(), self.limits, |args| {
            for member in args.root().into_iter().flat_map(Value::items) {
                let value = match member.kind() {
                    Kind::Number => member.f64(),
                    Kind::String => member.token().digits().and_then(|text| text.parse().ok()),
                    _ => None,
                };
                let (Some(value), Some(key)) = (value, member.key()) else {
                    continue;
                };
                let mut full = name.to_vec();
                if *key != *b"value" {
                    full.push(b'.');
                    full.extend_from_slice(&key);
                }
                let name = tables.bytes(&full);
                let series = tables.series(Series {
                    name,
                    unit: Unit::Count,
                    track: None,
                });
                counters.push(series, time, value);
            }
        });
    }

    /// An object is made, told about or deleted.
    pub(super) fn object(&mut self, event: TraceEvent<'_>, phase: u8, time: Timestamp) {
        let id = EventId::of(event, self.limits);
        let next = self.objects.len() as u64;
        let number = id.number();
        let id = || *self.objects.entry(id.word.into()).or_insert(next);
        let id = ObjectId(number.unwrap_or_else(id));
        let class = text(event.get(EventKey::Name), self.tables);
        let track = self.tracks.thread(event, self.tables).line.track;
        if phase == b'N' {
            let class: Option<ClassId> = class.map(|name| {
                self.tables.class(Class {
                    name,
                    superclass: None,
                    loader: None,
                    file: None,
                })
            });
            self.rows.objects.rows.push(ObjectRow {
                id,
                generation: 0,
                class,
                size: 0,
                is_array: false,
                time: Some(time),
                site: None,
                thread: Some(track),
            });
            return;
        }
        let name = if phase == b'O' {
            "object_snapshot"
        } else {
            "object_deleted"
        };
        let name = self.tables.string(name);
        let event_type = self.rows.event_type(name, self.tables);
        let mut attributes = self.annotated(event).attributes;
        if let Some(class) = class {
            let key = self.tables.attribute_named("object.class");
            attributes.push(Attribute::new(key, Held::Text(class)));
        }
        self.rows.events.push(&EventRow {
            track: Some(track),
            object: Some(id),
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
    }

    /// A sample of the profile of all those that are told one by one.
    pub(super) fn sample(&mut self, event: TraceEvent<'_>, time: Timestamp) {
        let track = self.tracks.thread(event, self.tables).line.track;
        let stack = event
            .get(EventKey::StackFrame)
            .and_then(|id| self.stack(id));
        let tables = &mut *self.tables;
        let profile = *self.sampled.get_or_insert_with(|| sampled(tables));
        self.rows.sample(
            profile,
            &SampleRow {
                stack,
                values: &[1],
                time: Some(time),
                track: Some(track),
                span: None,
                labels: &[],
            },
        );
    }

    /// A piece of a profile of V8.
    pub(super) fn v8_piece(&mut self, event: TraceEvent<'_>, time: Timestamp, offset: u64) {
        let Some(args) = event.get(EventKey::Arguments) else {
            return;
        };
        let piece = piece_of(event, time, self.limits);
        let track = piece
            .begins
            .then(|| self.tracks.thread(event, self.tables).line.track);
        let (profiles, tables) = (&mut self.v8, &mut *self.tables);
        let at = (track, self.survey.base_ns);
        let read = self.texts.parse(args.raw(), self.limits, |args| {
            let data = args.root()?.get("data")?;
            Some(profiles.take(piece, data, at, tables, self.limits))
        });
        let read = read.unwrap_or_default();
        read.note(offset, self.tally);
        self.put_v8(&read.samples);
    }

    /// Pushes samples of V8 where rows are wanted.
    pub(super) fn put_v8(&mut self, samples: &[V8Sample]) {
        if self.wanted.rows {
            self.v8.put(samples, &mut self.rows, self.tables);
        }
    }
}

/// Returns true if a sample event is a piece of a profile of V8.
pub(super) fn is_piece(event: TraceEvent<'_>) -> bool {
    let name = event.get(EventKey::Name).and_then(Token::bytes);
    let named = name.is_some_and(|name| begins_profile(&name).is_some());
    named && event.has(EventKey::Arguments)
}

/// Returns what a piece is of: process and id tell profiles apart.
pub(super) fn piece_of(event: TraceEvent<'_>, time: Timestamp, limits: &Limits) -> PieceOf {
    let word = |key| event.get(key).map(Token::word).unwrap_or_default();
    let mut key = word(EventKey::Process).into_owned();
    key.push(0);
    key.extend_from_slice(&EventId::of(event, limits).word);
    PieceOf {
        key: key.into(),
        begins: begins_profile(&word(EventKey::Name)) == Some(true),
        time,
    }
}

/// Returns the profile of samples that are told one by one.
pub(super) fn sampled(tables: &mut Tables) -> ProfileId {
    let name = tables.string("samples");
    let value_type = tables.value_type(ValueType::sum(name, Unit::Count));
    tables.profile(Profile {
        value_types: vec![value_type],
        ..Profile::default()
    })
}
