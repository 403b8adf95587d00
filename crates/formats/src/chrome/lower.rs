//! Trace events to the model, after a survey of all of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Attribute, AttributeKey, BATCH_ROWS, Class, ClassId, Clock, CounterBatch, EventBatch, EventRow,
    EventType, EventTypeId, Flow, Frame, Function, Level, LinkBatch, Note, ObjectBatch, ObjectId,
    ObjectRow, Order, PartId, Profile, ProfileId, Resource, ResourceId, SampleBatch, SampleRow,
    Series, Sink, SpanBatch, Stack, StackId, StringId, Tables, Timestamp, Track, TrackId,
    TrackKind, Unit, Value as Held, ValueType,
};

use super::event::{Event, number, word};
use super::survey::{Part, Sorted, Survey, Thread, each, id_of, numeric, survey, thread};
use crate::json::{Kind, Value};
use crate::marks::{self, Mark};
use crate::slices::{Annotated, Flows, Open, Slices, Step};
use crate::tally::Tally;
use crate::{Error, LowerOptions, Source};

/// Lowers every part of a source, each a trace of its own.
///
/// # Errors
/// What the source fails with.
pub(super) fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    let mut tables = Tables::new();
    let mut begun = false;
    for part in 0..source.parts().len() {
        let id = PartId(u32::try_from(part).unwrap_or(u32::MAX));
        let mut note = |note| sink.note(Note { part: id, ..note });
        let survey = survey(source.open(part, 0)?.as_mut(), &options.limits, &mut note)?;
        let Some(survey) = survey else { break };
        if !std::mem::replace(&mut begun, true) {
            let clock = if survey.is_unix {
                Clock::Unix
            } else {
                Clock::Unknown(Some(tables.string("chrome")))
            };
            // Asynchronous events of one track may overlap.
            sink.begin(Order::Finish, clock);
        }
        if survey.has_flows && sink.links(LinkBatch::default()).is_break() {
            break;
        }
        let mut lowering = Lowering::new(&survey, &mut tables, options);
        let mut pull = source.open(part, 0)?;
        let whole = each(pull.as_mut(), &options.limits, |piece| match piece {
            Part::Event(value, offset) => {
                lowering.event(&Event::read(value), offset);
                lowering.flush(sink, BATCH_ROWS)
            }
            Part::Member(..) | Part::Note(_) => Flow::Continue(()),
        })?;
        if !whole || lowering.finish(sink).is_break() {
            break;
        }
        let mut notes = lowering.tally.into_notes();
        if !notes.all(|note| sink.note(Note { part: id, ..note }).is_continue()) {
            break;
        }
    }
    Ok(())
}

/// Lanes of a thread looked at for a place; what fits on none overlaps on the last one.
const LANES: u32 = 64;

/// Values inside values that are read; deeper ones read as nothing.
const DEEPEST: usize = 64;

struct Lowering<'a> {
    survey: &'a Survey,
    tables: &'a mut Tables,
    tally: Tally,
    slices: Slices,
    processes: HashMap<Box<[u8]>, Option<ResourceId>, RandomState>,
    threads: HashMap<Thread, (TrackId, Sorted), RandomState>,
    lanes: HashMap<(TrackId, u32), TrackId, RandomState>,
    by_end: HashMap<TrackId, Vec<Ended>, RandomState>,
    n_by_end: usize,
    asynchronous: HashMap<(Box<[u8]>, Box<[u8]>, Box<[u8]>), TrackId, RandomState>,
    flows: HashMap<Box<[u8]>, u64, RandomState>,
    /// Flows that end at the next event of a track.
    arriving: HashMap<TrackId, Vec<u64>, RandomState>,
    objects: HashMap<Box<[u8]>, u64, RandomState>,
    event_types: HashMap<StringId, EventTypeId, RandomState>,
    stacks: HashMap<Box<[u8]>, Option<StackId>, RandomState>,
    samples: Option<(ProfileId, SampleBatch)>,
    events: EventBatch,
    counters: CounterBatch,
    rows: ObjectBatch,
    most: usize,
}

/// A complete event of a thread whose events come by their end.
struct Ended {
    open: Open,
    end: Timestamp,
    /// How many of those before it lie inside it.
    inside: usize,
}

/// A step of the walk over events that lie inside one another.
enum Walk {
    Begin(usize),
    End(Timestamp),
}

impl<'a> Lowering<'a> {
    fn new(survey: &'a Survey, tables: &'a mut Tables, options: &LowerOptions) -> Self {
        Self {
            survey,
            tables,
            tally: Tally::default(),
            slices: Slices::new(&options.limits),
            processes: HashMap::default(),
            threads: HashMap::default(),
            lanes: HashMap::default(),
            by_end: HashMap::default(),
            n_by_end: 0,
            asynchronous: HashMap::default(),
            flows: HashMap::default(),
            arriving: HashMap::default(),
            objects: HashMap::default(),
            event_types: HashMap::default(),
            stacks: HashMap::default(),
            samples: None,
            events: EventBatch::default(),
            counters: CounterBatch::default(),
            rows: ObjectBatch::default(),
            most: options.limits.size(traceloom_model::Limit::OpenSpans),
        }
    }

    fn event(&mut self, event: &Event<'_>, offset: u64) {
        let phase = event.phase();
        if phase == b'M' {
            return;
        }
        let Some(ts) = event.ts else {
            self.tally.add(Level::Damage, "no_timestamp", offset, || {
                format!("an event of phase `{}` has no time", phase.escape_ascii())
            });
            return;
        };
        let time = ts.saturating_add(self.survey.base_ns);
        match phase {
            b'X' => self.complete(event, time, offset),
            b'B' => {
                let open = self.open(event, time, None);
                self.on_thread(event, time, Step::Begin(open), offset);
            }
            b'E' => {
                let annotated = self.annotated(event.args);
                self.on_thread(event, time, Step::End(annotated), offset);
            }
            b'b' | b'S' => {
                let track = self.asynchronous(event);
                let open = self.open(event, time, None);
                self.hold(track, time, Flows::default(), Step::Begin(open), offset);
            }
            b'e' | b'F' => {
                let track = self.asynchronous(event);
                let annotated = self.annotated(event.args);
                self.hold(track, time, Flows::default(), Step::End(annotated), offset);
            }
            b'n' | b'T' | b'p' => {
                let track = self.asynchronous(event);
                self.instant(event, Some(track), time);
            }
            b'i' | b'I' | b'R' => {
                let scope = event.scope.and_then(Value::bytes);
                let of_thread = scope.is_none_or(|scope| *scope == *b"t");
                let track = of_thread.then(|| self.thread(event).0);
                self.instant(event, track, time);
            }
            b'C' => self.counter(event, time),
            b's' | b't' | b'f' => self.flow(event, phase, time, offset),
            b'N' | b'O' | b'D' => self.object(event, phase, time),
            b'P' => self.sample(event, time),
            other => self.tally.add(Level::Info, "other_phase", offset, || {
                format!("events of phase `{}` are left out", other.escape_ascii())
            }),
        }
    }

    fn text(&mut self, value: Option<Value<'_>>) -> Option<StringId> {
        let text = value.map(word)?;
        Some(self.tables.bytes(&text))
    }

    fn process(&mut self, pid: &[u8]) -> Option<ResourceId> {
        if let Some(&known) = self.processes.get(pid) {
            return known;
        }
        let name = self.survey.process_names.get(pid);
        let number = numeric(pid);
        let id = (name.is_some() || !pid.is_empty()).then(|| {
            let mut resource = Resource {
                pid: number,
                service: name.map(|name| self.tables.bytes(name)),
                ..Resource::default()
            };
            if number.is_none() && name.is_none() {
                resource.service = Some(self.tables.bytes(pid));
            }
            if let Some(labels) = self.survey.labels.get(pid) {
                let key = self.tables.attribute_named("process_labels");
                let text = Held::Text(self.tables.bytes(labels));
                resource.attributes.push(Attribute::new(key, text));
            }
            self.tables.resource(resource)
        });
        self.processes.insert(pid.into(), id);
        id
    }

    /// The track of an event's thread, and the order in which its events come.
    fn thread(&mut self, event: &Event<'_>) -> (TrackId, Sorted) {
        let thread = thread(event);
        if let Some(&known) = self.threads.get(&thread) {
            return known;
        }
        let resource = self.process(&thread.0);
        let name = self.survey.thread_names.get(&thread);
        let os_id = numeric(&thread.1);
        let named = name.map(|name| self.tables.bytes(name));
        let word = || os_id.is_none() && !thread.1.is_empty();
        let name = named.or_else(|| word().then(|| self.tables.bytes(&thread.1)));
        let track = self.tables.track(Track {
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
    fn asynchronous(&mut self, event: &Event<'_>) -> TrackId {
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
        let resource = self.process(&process);
        let name = self.text(event.name);
        let count = self.asynchronous.len() as u64;
        let track = self.tables.track(Track {
            kind: TrackKind::Async,
            resource,
            name,
            id: Some(number.unwrap_or(count)),
            ..Track::default()
        });
        self.asynchronous.insert(key, track);
        track
    }

    fn open(&mut self, event: &Event<'_>, time: Timestamp, until: Option<Timestamp>) -> Open {
        let name = self.text(event.name).filter(|_| event.name.is_some());
        let function = name.map(|name| self.tables.function(Function::named(name)));
        let kind = self.text(event.cat);
        let kind = kind.filter(|&kind| !self.tables.string_bytes(kind).is_empty());
        Open {
            name,
            function,
            kind,
            start: time,
            annotated: self.annotated(event.args),
            until,
        }
    }

    /// A complete event.
    fn complete(&mut self, event: &Event<'_>, time: Timestamp, offset: u64) {
        let until = time.saturating_add(event.dur.unwrap_or(0).max(0));
        let open = self.open(event, time, Some(until));
        let (track, sorted) = self.thread(event);
        if sorted == Sorted::ByEnd && event.bind_id.is_none() {
            return self.ended(track, open, until, offset);
        }
        self.on_thread(event, time, Step::Begin(open), offset);
    }

    /// Keeps an event that comes after those inside it.
    fn ended(&mut self, track: TrackId, open: Open, end: Timestamp, offset: u64) {
        let rows = self.by_end.entry(track).or_default();
        let mut inside = 0;
        while let Some(row) = rows
            .len()
            .checked_sub(inside + 1)
            .and_then(|at| rows.get(at))
        {
            if row.open.start < open.start {
                break;
            }
            inside += 1 + row.inside;
        }
        rows.push(Ended { open, end, inside });
        self.n_by_end += 1;
        if self.n_by_end > self.most {
            self.tally
                .add(Level::Damage, "limit_open_spans", offset, || {
                    "more events than allowed wait for the one around them".to_owned()
                });
            let fullest = self.by_end.iter();
            let fullest = fullest.max_by_key(|(track, rows)| (rows.len(), **track));
            if let Some(track) = fullest.map(|(&track, _)| track) {
                self.release(track);
            }
        }
    }

    /// Begins and ends the events kept of a track, the outer ones around the inner ones.
    fn release(&mut self, track: TrackId) {
        let rows = self.by_end.remove(&track).unwrap_or_default();
        self.n_by_end -= rows.len();
        let extents: Vec<(Timestamp, usize)> =
            rows.iter().map(|row| (row.end, row.inside)).collect();
        let mut opens: Vec<Option<Open>> = rows.into_iter().map(|row| Some(row.open)).collect();
        let mut walk = Vec::new();
        // Events inside one another lie right before it, each with those inside it.
        let outermost = |walk: &mut Vec<Walk>, from: usize, to: usize| {
            let mut end = to;
            while let Some(at) = end.checked_sub(1).filter(|&at| at >= from) {
                walk.push(Walk::Begin(at));
                end = at - extents.get(at).map_or(0, |&(_, inside)| inside.min(at));
            }
        };
        outermost(&mut walk, 0, opens.len());
        while let Some(step) = walk.pop() {
            match step {
                Walk::Begin(at) => {
                    let Some(mut open) = opens.get_mut(at).and_then(Option::take) else {
                        continue;
                    };
                    let (end, inside) = extents.get(at).copied().unwrap_or_default();
                    open.until = None;
                    let start = open.start;
                    let flows = Flows::default();
                    self.take(track, start, &flows, Step::Begin(open), 0);
                    walk.push(Walk::End(end));
                    outermost(&mut walk, at - inside.min(at), at);
                }
                Walk::End(end) => {
                    let step = Step::End(Annotated::default());
                    self.take(track, end, &Flows::default(), step, 0);
                }
            }
        }
    }

    fn on_thread(&mut self, event: &Event<'_>, time: Timestamp, step: Step, offset: u64) {
        let (track, sorted) = self.thread(event);
        let mut flows = Flows::default();
        if let Some(id) = event.bind_id {
            let id = self.flow_id(word(id));
            match (event.flow_in, event.flow_out) {
                (true, false) => flows.ending.push(id),
                (_, true) => flows.on.push(id),
                (false, false) => {}
            }
        }
        if matches!(step, Step::Begin(_)) {
            let arrived = self.arriving.remove(&track);
            flows.ending.extend(arrived.unwrap_or_default());
        }
        if sorted == Sorted::ByStart {
            self.take(track, time, &flows, step, offset);
        } else {
            self.hold(track, time, flows, step, offset);
        }
    }

    /// Takes a step on a track, or on a lane beside it where it would overlap.
    fn take(&mut self, track: TrackId, time: Timestamp, flows: &Flows, step: Step, offset: u64) {
        let mut place = track;
        if let Step::Begin(Open {
            until: Some(until), ..
        }) = step
        {
            for lane in 1..LANES {
                if self.slices.fits(place, time, until) {
                    break;
                }
                place = self.lane(track, lane);
            }
        }
        let (tables, tally) = (&mut *self.tables, &mut self.tally);
        self.slices
            .take(place, (time, offset), flows, step, tables, tally);
    }

    fn lane(&mut self, track: TrackId, lane: u32) -> TrackId {
        let tables = &mut *self.tables;
        *self.lanes.entry((track, lane)).or_insert_with(|| {
            tables.track(Track {
                kind: TrackKind::Lane,
                parent: Some(track),
                lane,
                ..Track::default()
            })
        })
    }

    /// Keeps a step of a track that is out of order.
    fn hold(&mut self, track: TrackId, time: Timestamp, flows: Flows, step: Step, offset: u64) {
        if let Some(full) = self.slices.hold(track, time, flows, step) {
            self.tally
                .add(Level::Damage, "limit_open_spans", offset, || {
                    "events out of order are more than allowed: what follows may nest wrongly"
                        .to_owned()
                });
            self.put_held(full);
        }
    }

    fn put_held(&mut self, track: TrackId) {
        for (time, flows, step) in self.slices.release(track) {
            self.take(track, time, &flows, step, 0);
        }
    }

    fn flow_id(&mut self, word: Box<[u8]>) -> u64 {
        let next = self.flows.len() as u64;
        *self.flows.entry(word).or_insert(next)
    }

    /// A flow begins, goes on or ends: at the slice that is open, or at the next one.
    fn flow(&mut self, event: &Event<'_>, phase: u8, time: Timestamp, offset: u64) {
        let (id, _, _) = id_of(event);
        let mut word = event.cat.map(word).unwrap_or_default().into_vec();
        word.push(0);
        word.extend_from_slice(&event.name.map(self::word).unwrap_or_default());
        word.push(0);
        word.extend_from_slice(&id);
        let id = self.flow_id(word.into());
        let (track, _) = self.thread(event);
        let enclosing = event.bp.and_then(Value::bytes);
        let enclosing = enclosing.is_some_and(|bp| *bp == *b"e");
        if phase == b'f' && !enclosing {
            return self.arriving.entry(track).or_default().push(id);
        }
        let flows = match phase {
            b'f' => Flows {
                ending: vec![id],
                ..Flows::default()
            },
            _ => Flows {
                on: vec![id],
                ..Flows::default()
            },
        };
        let (track, sorted) = self.thread(event);
        if sorted == Sorted::ByStart {
            self.take(track, time, &flows, Step::Touch, offset);
        } else {
            self.hold(track, time, flows, Step::Touch, offset);
        }
    }

    fn event_type(&mut self, name: StringId) -> EventTypeId {
        let tables = &mut *self.tables;
        *self.event_types.entry(name).or_insert_with(|| {
            tables.event_type(EventType {
                name,
                label: None,
                fields: Vec::new(),
            })
        })
    }

    fn instant(&mut self, event: &Event<'_>, track: Option<TrackId>, time: Timestamp) {
        let name = self.text(event.name);
        let name = name.unwrap_or_else(|| self.tables.string(""));
        let event_type = self.event_type(name);
        let mut attributes = self.annotated(event.args).attributes;
        let category = self.text(event.cat);
        if let Some(category) = category.filter(|&id| !self.tables.string_bytes(id).is_empty()) {
            let key = self.tables.attribute_named("category");
            attributes.push(Attribute::new(key, Held::Text(category)));
        }
        let stack = event.sf.and_then(|id| self.stack(id));
        self.events.push(&EventRow {
            track,
            stack,
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
    }

    fn stack(&mut self, id: Value<'_>) -> Option<StackId> {
        let key = word(id);
        if let Some(&known) = self.stacks.get(&key) {
            return known;
        }
        let mut parent = None;
        for frame in self.survey.path(id) {
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
    fn counter(&mut self, event: &Event<'_>, time: Timestamp) {
        let name = event.name.map(word).unwrap_or_default();
        let members = event.args.into_iter().flat_map(Value::items);
        for member in members {
            let value = match member.kind() {
                Kind::Number => member.f64(),
                Kind::String => number(member).and_then(|text| text.parse().ok()),
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
            let name = self.tables.bytes(&full);
            let series = self.tables.series(Series {
                name,
                unit: Unit::Count,
                track: None,
            });
            self.counters.push(series, time, value);
        }
    }

    fn object(&mut self, event: &Event<'_>, phase: u8, time: Timestamp) {
        let (id, _, number) = id_of(event);
        let next = self.objects.len() as u64;
        let id = ObjectId(number.unwrap_or_else(|| *self.objects.entry(id).or_insert(next)));
        let class = self.text(event.name);
        let (track, _) = self.thread(event);
        if phase == b'N' {
            let class: Option<ClassId> = class.map(|name| {
                self.tables.class(Class {
                    name,
                    superclass: None,
                    loader: None,
                    file: None,
                })
            });
            self.rows.rows.push(ObjectRow {
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
        let event_type = self.event_type(name);
        let mut attributes = self.annotated(event.args).attributes;
        if let Some(class) = class {
            let key = self.tables.attribute_named("object.class");
            attributes.push(Attribute::new(key, Held::Text(class)));
        }
        self.events.push(&EventRow {
            track: Some(track),
            object: Some(id),
            attributes: &attributes,
            ..EventRow::of_process(event_type, time, None)
        });
    }

    fn sample(&mut self, event: &Event<'_>, time: Timestamp) {
        let (track, _) = self.thread(event);
        let stack = event.sf.and_then(|id| self.stack(id));
        let tables = &mut *self.tables;
        let (_, batch) = self.samples.get_or_insert_with(|| {
            let name = tables.string("samples");
            let value_type = tables.value_type(ValueType::sum(name, Unit::Count));
            let id = tables.profile(Profile {
                value_types: vec![value_type],
                ..Profile::default()
            });
            (id, SampleBatch::new(id, 1))
        });
        batch.push(&SampleRow {
            stack,
            values: &[1],
            time: Some(time),
            track: Some(track),
            span: None,
            labels: &[],
        });
    }

    fn annotated(&mut self, args: Option<Value<'_>>) -> Annotated {
        let mut annotated = Annotated::default();
        for member in args.into_iter().flat_map(Value::items) {
            let Some(key) = member.key() else { continue };
            if let Some(mark) = marks::mark(&key) {
                if mark == Mark::Exception && member.kind() == Kind::Object {
                    let class = self.text(
                        member
                            .get("class")
                            .filter(|class| class.kind() == Kind::String),
                    );
                    let message = self.text(member.get("message"));
                    annotated.marks.except(class, message, self.tables);
                    continue;
                }
                let text = member.bytes().unwrap_or_default();
                if annotated.marks.set(mark, &text) {
                    continue;
                }
            }
            let name = self.tables.bytes(&key);
            let key = self.tables.attribute_key(AttributeKey::named(name));
            let value = held(member, self.tables, 0);
            annotated.attributes.push(Attribute::new(key, value));
        }
        annotated
    }

    /// Hands on what there is, once it is `least` rows of a kind.
    fn flush(&mut self, sink: &mut dyn Sink, least: usize) -> Flow {
        let sampled = self.samples.as_ref().map_or(0, |(_, batch)| batch.len());
        let full = self.slices.spans.len() >= least
            || self.events.len() >= least
            || self.counters.time.len() >= least
            || self.rows.rows.len() >= least
            || sampled >= least;
        if !full {
            return Flow::Continue(());
        }
        let new = self.tables.take_definitions();
        if !new.is_empty() {
            sink.define(new)?;
        }
        if !self.slices.links.links.is_empty() {
            sink.links(std::mem::take(&mut self.slices.links))?;
        }
        for piece in pieces(std::mem::take(&mut self.slices.spans)) {
            sink.spans(piece)?;
        }
        if !self.events.is_empty() {
            sink.events(std::mem::take(&mut self.events))?;
        }
        if !self.counters.time.is_empty() {
            sink.counters(std::mem::take(&mut self.counters))?;
        }
        if !self.rows.rows.is_empty() {
            sink.objects(std::mem::take(&mut self.rows))?;
        }
        if let Some((id, batch)) = self.samples.as_mut().filter(|(_, batch)| !batch.is_empty()) {
            let next = SampleBatch::new(*id, 1);
            sink.samples(std::mem::replace(batch, next))?;
        }
        Flow::Continue(())
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Flow {
        let mut tracks: Vec<TrackId> = self.by_end.keys().copied().collect();
        tracks.sort_unstable();
        for track in tracks {
            self.release(track);
            self.flush(sink, BATCH_ROWS)?;
        }
        for track in self.slices.holding() {
            self.put_held(track);
            self.flush(sink, BATCH_ROWS)?;
        }
        while self.slices.end_one() {
            self.flush(sink, BATCH_ROWS)?;
        }
        self.flush(sink, 0)
    }
}

/// Cuts what came all at once into batches.
fn pieces(spans: SpanBatch) -> Vec<SpanBatch> {
    if spans.len() <= BATCH_ROWS {
        return if spans.is_empty() {
            Vec::new()
        } else {
            vec![spans]
        };
    }
    let mut all = Vec::new();
    let mut piece = SpanBatch::default();
    for row in spans.iter() {
        piece.push(&row);
        if piece.len() == BATCH_ROWS {
            all.push(std::mem::take(&mut piece));
        }
    }
    if !piece.is_empty() {
        all.push(piece);
    }
    all
}

fn held(value: Value<'_>, tables: &mut Tables, depth: usize) -> Held {
    match value.kind() {
        Kind::Null => Held::Null,
        Kind::True => Held::Bool(true),
        Kind::False => Held::Bool(false),
        Kind::Number => {
            let text = value.number().unwrap_or("0");
            if let Ok(signed) = text.parse() {
                return Held::I64(signed);
            }
            match text.parse() {
                Ok(unsigned) => Held::U64(unsigned),
                Err(_) => Held::F64(text.parse().unwrap_or(0.0)),
            }
        }
        Kind::String => Held::Text(tables.value(&value.bytes().unwrap_or_default())),
        Kind::Array | Kind::Object if depth > DEEPEST => Held::Null,
        Kind::Array => {
            let list: Vec<Held> = value
                .items()
                .map(|one| held(one, tables, depth + 1))
                .collect();
            Held::List(crate::perfetto::element_type(&list), list.into())
        }
        Kind::Object => {
            let mut map = Vec::new();
            for member in value.items() {
                let key = member.key().unwrap_or_default();
                let key = Held::Text(tables.bytes(&key));
                map.push((key, held(member, tables, depth + 1)));
            }
            Held::Map(map.into())
        }
    }
}
