//! The model to traces (SPEC.md §7).
//!
//! A span is encoded when it comes and waits for the span around it, because its trace is that of its call; then it
//! stays a while, so that events and links that come later get into it. Of both there is a bound: beyond it spans
//! get ids before their parents come, and events become spans of their own.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use traceloom_model::{
    Clock, Definitions, EventBatch, EventRow, Flow, LinkBatch, Note, Order, ResourceId, Sink,
    SpanBatch, SpanId, SpanRow, StringId, Timestamp, TrackId,
};

use super::ids::{Assigned, AssignedIds, IdentitySource, SpanIds};
use super::names;
use super::span::{Encoder, ScopeNumber, put_flag, put_text};
use crate::codec::Buffered;
use crate::otlp::value::put_resource;
use crate::protobuf::{fields, put_bytes, put_message};
use crate::spans::parents_first::{ParentLists, PendingSpan};
use crate::spans::stash::{Stash, Stashed};
use crate::{Error, Output, RaiseOptions, Target};

/// Appends a message `TracesData` in an encoding.
pub(in crate::otlp) type Encoding = fn(&[u8], &mut Vec<u8>);

/// Builds a target that writes traces in an encoding, of the format `name`.
///
/// # Errors
/// `Usage` for a variant, there are none.
pub(in crate::otlp) fn open<'o>(
    options: &RaiseOptions,
    output: &'o mut dyn Output,
    encoding: Encoding,
    name: &str,
) -> Result<Box<dyn Target + 'o>, Error> {
    if let Some(variant) = &options.variant {
        return Err(Error::usage(format!("{name} has no variant `{variant}`")));
    }
    Ok(Box::new(Writer {
        out: Buffered::new(output, ""),
        encoding,
        clock: None,
        encoder: Encoder::default(),
        ids: AssignedIds::default(),
        pending: ParentLists::default(),
        n_pending: 0,
        bodies: Stash::default(),
        links: HashMap::default(),
        held: HeldSpans::default(),
        n_events: 0,
        is_empty: true,
    }))
}

/// Spans that wait for the span around them, at most.
const PENDING: usize = 1 << 20;

/// Spans, and bytes of them, that are held for events and links to come.
const HELD: usize = 1 << 18;
const HELD_BYTES: usize = 64 << 20;

/// Links held for spans that have not come, at most.
const LINKS: usize = 1 << 20;

/// A span that waits for its parent.
struct PendingBody {
    identity: IdentitySource,
    parent: Option<SpanId>,
    entry: bool,
    track: TrackId,
    scope: ScopeNumber,
    body: Stashed,
}

impl PendingSpan for PendingBody {
    fn id(&self) -> SpanId {
        self.identity.id
    }

    fn order(&self) -> (i64, i64) {
        (self.identity.start, 0)
    }
}

struct Writer<'o> {
    out: Buffered<'o>,
    encoding: Encoding,
    clock: Option<Clock>,
    encoder: Encoder,
    ids: AssignedIds,
    pending: ParentLists<PendingBody>,
    n_pending: usize,
    /// What is encoded of them.
    bodies: Stash<u8>,
    /// What each span follows from.
    links: HashMap<SpanId, Vec<SpanId>, RandomState>,
    held: HeldSpans,
    /// Events that were written as spans.
    n_events: u64,
    is_empty: bool,
}

/// A span with its ids, encoded.
struct EncodedSpan {
    /// None for an event.
    id: Option<SpanId>,
    ids: SpanIds,
    start: Timestamp,
    end: Timestamp,
    /// Position of an older span with the same span id.
    older: Option<usize>,
    track: Option<TrackId>,
    process: Option<ResourceId>,
    scope: ScopeNumber,
    bytes: Vec<u8>,
}

/// Spans that events may still come for.
#[derive(Default)]
struct HeldSpans {
    spans: VecDeque<EncodedSpan>,
    n_bytes: usize,
    /// The number of spans that are gone: the first one's position.
    gone: usize,
    /// The newest span of each span id, by its position.
    by_id: HashMap<u64, usize, RandomState>,
}

/// Spans of one span id, of several traces, among which that of an event is looked for.
const SAME_IDS: usize = 64;

impl HeldSpans {
    fn push(&mut self, mut span: EncodedSpan) {
        self.n_bytes += span.bytes.len();
        if span.id.is_some() {
            let at = self.gone + self.spans.len();
            span.older = self.by_id.insert(span.ids.span, at);
        }
        self.spans.push_back(span);
    }

    fn at(&self, position: usize) -> Option<(usize, &EncodedSpan)> {
        let at = position.checked_sub(self.gone)?;
        self.spans.get(at).map(|span| (at, span))
    }

    /// Finds the span of an event by its span id: it is on the event's track, and goes on at its time if one of them does.
    fn find(&mut self, span: u64, event: &EventRow<'_>) -> Option<&mut EncodedSpan> {
        let mut found = None;
        let mut next = self.by_id.get(&span).copied();
        for _ in 0..SAME_IDS {
            let Some((at, span)) = next.and_then(|position| self.at(position)) else {
                break;
            };
            next = span.older;
            if span.track != event.track {
                continue;
            }
            found = found.or(Some(at));
            if (span.start..=span.end).contains(&event.time) {
                found = Some(at);
                break;
            }
        }
        self.spans.get_mut(found?)
    }

    /// Takes the oldest of the spans.
    fn take(&mut self, count: usize) -> Vec<EncodedSpan> {
        let taken: Vec<EncodedSpan> = self.spans.drain(..count).collect();
        for (at, span) in (self.gone..).zip(&taken) {
            self.n_bytes = self.n_bytes.saturating_sub(span.bytes.len());
            if self.by_id.get(&span.ids.span) == Some(&at) {
                self.by_id.remove(&span.ids.span);
            }
        }
        self.gone += taken.len();
        taken
    }
}

impl Writer<'_> {
    fn span(&mut self, span: &SpanRow<'_>) {
        let mut scope = 0;
        let body = self
            .bodies
            .keep_with(|out| scope = self.encoder.span(span, out));
        let node = PendingBody {
            identity: IdentitySource {
                id: span.id,
                context: span.context,
                start: span.start,
                end: span.end,
            },
            parent: span.parent,
            entry: span.entry,
            track: span.track,
            scope,
            body,
        };
        let Some(parent) = span.parent else {
            return self.place(node, None);
        };
        let known = match self.ids.of(parent) {
            None if self.ids.is_promised(span.id) => Some(self.ids.promise(parent)),
            known => known,
        };
        if known.is_some() {
            return self.place(node, known);
        }
        self.pending.push(parent, node);
        self.n_pending += 1;
        if self.n_pending > PENDING {
            self.place_all();
        }
    }

    /// Gives ids to all that waits, and to the parents that have not come.
    fn place_all(&mut self) {
        for (node, children) in self.pending.take_tops() {
            self.n_pending = self.n_pending.saturating_sub(1);
            let parent = node.parent.map(|parent| self.ids.promise(parent));
            let ids = self.hold(node, parent);
            self.place_below(children, ids);
        }
    }

    /// Gives ids to a span whose parent has some, and to what waited for it.
    fn place(&mut self, node: PendingBody, parent: Option<SpanIds>) {
        let children = self.pending.of(node.identity.id);
        let ids = self.hold(node, parent);
        self.place_below(children, ids);
    }

    fn place_below(&mut self, children: crate::spans::parents_first::Children, ids: SpanIds) {
        let mut left = vec![(children, ids)];
        while let Some((mut children, parent)) = left.pop() {
            let Some((node, own)) = self.pending.take(&mut children) else {
                continue;
            };
            self.n_pending = self.n_pending.saturating_sub(1);
            left.push((children, parent));
            let ids = self.hold(node, Some(parent));
            left.push((own, ids));
        }
    }

    fn hold(&mut self, node: PendingBody, parent: Option<SpanIds>) -> SpanIds {
        let Assigned {
            ids,
            parent,
            hides_context,
        } = self.ids.assign(&node.identity, parent);
        let mut bytes = Vec::with_capacity(node.body.len() + 64);
        put_ids(&mut bytes, ids, parent);
        self.bodies.move_to(node.body, &mut bytes);
        if node.entry != node.parent.is_none() {
            put_flag(&mut bytes, 9, names::ENTRY, node.entry);
        }
        if let Some(context) = node.identity.context.filter(|_| hides_context) {
            let [trace, span, parent] = names::CONTEXT;
            put_text(&mut bytes, 9, trace, &format!("{:032x}", context.trace));
            put_text(&mut bytes, 9, span, &format!("{:016x}", context.span));
            put_text(&mut bytes, 9, parent, &format!("{:016x}", context.parent));
        }
        self.held.push(EncodedSpan {
            id: Some(node.identity.id),
            ids,
            start: node.identity.start,
            end: node.identity.end,
            older: None,
            track: Some(node.track),
            process: self.encoder.process(Some(node.track)),
            scope: node.scope,
            bytes,
        });
        ids
    }

    fn event(&mut self, row: &EventRow<'_>) {
        let owners = row.attributes.iter();
        let mut owner = owners.filter_map(|attribute| self.encoder.owner(attribute));
        let owner = owner.next_back().filter(|_| row.end.is_none());
        if let Some(span) = owner.and_then(|owner| self.held.find(owner, row)) {
            let before = span.bytes.len();
            self.encoder.event(row, &mut span.bytes);
            self.held.n_bytes += span.bytes.len() - before;
            return;
        }
        let ids = self.ids.of_event(self.n_events);
        self.n_events += 1;
        let mut bytes = Vec::with_capacity(64);
        put_ids(&mut bytes, ids, 0);
        self.encoder.lone_event(row, &mut bytes);
        self.held.push(EncodedSpan {
            id: None,
            ids,
            start: row.time,
            end: row.end.unwrap_or(row.time),
            older: None,
            track: row.track,
            process: self.encoder.process(row.track),
            scope: 0,
            bytes,
        });
    }

    /// Writes the older half of what is held once there is much of it.
    fn spill(&mut self) -> Flow {
        if self.held.spans.len() > HELD || self.held.n_bytes > HELD_BYTES {
            self.put(self.held.spans.len().div_ceil(2));
        }
        let n_pending = self.n_pending;
        if self.bodies.is_wasteful(n_pending) {
            let places = self.pending.nodes_mut().map(|node| &mut node.body);
            self.bodies.compact(places);
        }
        self.out.spilled()
    }

    /// Writes the oldest spans, those of a process and scope together.
    fn put(&mut self, count: usize) {
        let mut spans = self.held.take(count);
        for span in &mut spans {
            self.put_links(span);
        }
        spans.sort_by_key(|span| (span.process, span.scope));
        for of_process in spans.chunk_by(|a, b| a.process == b.process) {
            let process = of_process.first().and_then(|span| span.process);
            let mut body = self.resource(process);
            for of_scope in of_process.chunk_by(|a, b| a.scope == b.scope) {
                let scope = of_scope.first().map_or(0, |span| span.scope);
                put_message(&mut body, 2, |scope_spans| {
                    self.encoder.put_scope(scope, scope_spans);
                    for span in of_scope {
                        put_bytes(scope_spans, 2, &span.bytes);
                    }
                });
            }
            self.put_process(&body);
        }
    }

    fn put_process(&mut self, body: &[u8]) {
        let mut message = Vec::with_capacity(body.len() + 8);
        put_bytes(&mut message, 1, body);
        (self.encoding)(&message, &mut self.out.bytes);
        self.out.spill();
        self.is_empty = false;
    }

    fn resource(&self, process: Option<ResourceId>) -> Vec<u8> {
        let tables = &self.encoder.tables;
        // The format counts from 1970: where times do not, a reader must be able to know.
        let clock = match self.clock.unwrap_or_default() {
            Clock::Unix => None,
            Clock::Unknown(Some(name)) => Some(tables.text(name).into_owned()),
            Clock::Unknown(None) => Some("unknown".to_owned()),
        };
        let row = self.encoder.resource(process);
        let mut body = Vec::new();
        put_resource(&mut body, row.as_ref(), clock.as_deref(), tables);
        body
    }

    /// Adds the spans that a span follows from, but for those it names already.
    fn put_links(&mut self, span: &mut EncodedSpan) {
        let from = span.id.and_then(|id| self.links.remove(&id));
        let from = from.unwrap_or_default();
        if from.is_empty() {
            return;
        }
        let named: Vec<SpanIds> = fields(&span.bytes)
            .filter(|&(number, _)| number == 13)
            .map(|(_, link)| linked(link.bytes()))
            .collect();
        for from in from {
            let ids = self.ids.promise(from);
            if !named.contains(&ids) {
                put_message(&mut span.bytes, 13, |link| {
                    put_bytes(link, 1, &ids.trace.to_be_bytes());
                    put_bytes(link, 2, &ids.span.to_be_bytes());
                });
            }
        }
    }
}

/// Reads the ids of a link.
fn linked(link: &[u8]) -> SpanIds {
    let mut ids = SpanIds { trace: 0, span: 0 };
    for (number, raw) in fields(link) {
        match number {
            1 => ids.trace = crate::otlp::value::id(raw.bytes()),
            2 => ids.span = crate::otlp::value::span_id(raw.bytes()),
            _ => {}
        }
    }
    ids
}

fn put_ids(out: &mut Vec<u8>, ids: SpanIds, parent: u64) {
    put_bytes(out, 1, &ids.trace.to_be_bytes());
    put_bytes(out, 2, &ids.span.to_be_bytes());
    if parent != 0 {
        put_bytes(out, 4, &parent.to_be_bytes());
    }
}

impl Sink for Writer<'_> {
    fn begin(&mut self, order: Order, clock: Clock) {
        if self.clock.is_none() {
            self.clock = Some(clock);
            if order != Order::None {
                self.ids.forget_old();
            }
        }
    }

    fn define(&mut self, definitions: Definitions) -> Flow {
        self.encoder.tables.define(definitions)
    }

    fn spans(&mut self, batch: SpanBatch) -> Flow {
        for span in batch.iter() {
            self.span(&span);
            self.spill()?;
        }
        Flow::Continue(())
    }

    fn events(&mut self, batch: EventBatch) -> Flow {
        for row in batch.iter() {
            self.event(&row);
            self.spill()?;
        }
        Flow::Continue(())
    }

    fn links(&mut self, batch: LinkBatch) -> Flow {
        for link in batch.links {
            if self.links.len() < LINKS {
                self.links.entry(link.to).or_default().push(link.from);
            }
        }
        Flow::Continue(())
    }

    fn forget(&mut self, strings: &[StringId]) {
        // What is held is encoded already.
        self.encoder.tables.drop_strings(strings);
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

impl Target for Writer<'_> {
    fn finish(&mut self) -> Result<(), Error> {
        self.place_all();
        self.put(self.held.spans.len());
        if self.is_empty {
            // A trace of nothing is a trace all the same: its scope is what tells it from other messages.
            let mut body = self.resource(None);
            put_message(&mut body, 2, |scope_spans| {
                put_message(scope_spans, 1, |scope| put_bytes(scope, 1, b"traceloom"));
            });
            self.put_process(&body);
        }
        self.out.finish()
    }
}
