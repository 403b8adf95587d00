//! What has to be known before the first span is told: processes, threads, and who is whose parent.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::{row_number, saturated_i64};
use traceloom_model::{Flow, Level, Limit, Limits, Note, Timestamp};

use super::names;
use crate::codec::CountedNotes;
use crate::otlp::schema::{RESOURCE_SPANS, SCOPE_SPANS, TRACES_DATA, TRACES_SCHEMA};
use crate::otlp::{survey, value};
use crate::protobuf::{Content, FieldSplitter, each_field, fields};
use crate::spans::by_context::{IdentifiedSpan, PlacedSpans};
use crate::{Error, Pull};

/// A part, before its spans are read.
#[derive(Debug, Default)]
pub(super) struct SurveyedTraces {
    pub(super) placed: PlacedSpans,
    /// Bodies of the resources, those of equal bytes once.
    pub(super) resources: Vec<Vec<u8>>,
    /// Id and name of each thread.
    pub(super) threads: Vec<(Option<u64>, Vec<u8>)>,
    /// The clock of all times, where it does not count from 1970.
    pub(super) clock: Option<Vec<u8>>,
    /// The process of each span that is an event.
    pub(super) events: Vec<u32>,
    /// The last time of a span: spans without end run until then.
    pub(super) last: Timestamp,
    pub(super) tally: CountedNotes,
}

/// The fields of a span that place it.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanHead<'a> {
    pub(super) trace: &'a [u8],
    pub(super) span: &'a [u8],
    pub(super) parent: &'a [u8],
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) thread: Option<u64>,
    pub(super) thread_name: &'a [u8],
    /// The span is an event of this form.
    pub(super) event: Option<&'a [u8]>,
}

impl<'a> SpanHead<'a> {
    pub(super) fn of(body: &'a [u8]) -> Self {
        let mut head = Self::default();
        for (number, raw) in fields(body) {
            match number {
                1 => head.trace = raw.bytes(),
                2 => head.span = raw.bytes(),
                4 => head.parent = raw.bytes(),
                7 => head.start = raw.number(),
                8 => head.end = raw.number(),
                9 => head.attribute(raw.bytes()),
                _ => {}
            }
        }
        head
    }

    fn attribute(&mut self, pair: &'a [u8]) {
        let (mut key, mut any) = (&[][..], &[][..]);
        for (number, raw) in fields(pair) {
            match number {
                1 => key = raw.bytes(),
                2 => any = raw.bytes(),
                _ => {}
            }
        }
        let (id, name) = (names::THREAD_ID.as_bytes(), names::THREAD_NAME.as_bytes());
        let event = names::EVENT.as_bytes();
        if ![id, name, event].contains(&key) {
            return;
        }
        for (number, raw) in fields(any) {
            match number {
                1 if key == name => self.thread_name = raw.bytes(),
                1 if key == event => self.event = Some(raw.bytes()),
                3 if key == id => self.thread = Some(raw.number()),
                _ => {}
            }
        }
    }

    /// Returns the ids of the span; none where one has another length than the protocol's, or is all zeros.
    pub(super) fn ids(&self) -> Option<(u128, u64)> {
        let (trace, span) = (value::id(self.trace), value::span_id(self.span));
        let whole = self.trace.len() == 16 && self.span.len() == 8;
        (whole && trace != 0 && span != 0).then_some((trace, span))
    }

    pub(super) fn parent(&self) -> u64 {
        match self.parent.len() {
            8 => value::span_id(self.parent),
            _ => 0,
        }
    }

    /// Returns true if no end was recorded.
    pub(super) fn is_open(&self) -> bool {
        self.end == 0 && self.start != 0
    }

    fn tell(&self, offset: u64, tally: &mut CountedNotes) {
        let mut told = |kind, text: &str| {
            tally.add(Level::Damage, kind, offset, || text.to_owned());
        };
        if self.ids().is_none() {
            told(
                "bad_id",
                "a span whose ids are not 16 and 8 bytes that are not all zero",
            );
        }
        if !matches!(self.parent.len(), 0 | 8) {
            told("bad_parent_id", "the id of a parent is not 8 bytes");
        }
        if self.end != 0 && self.end < self.start {
            told("end_before_start", "a span ends before it starts");
        }
        if self.start.max(self.end) > i64::MAX.cast_unsigned() {
            told("late_time", "a span has a time after 2262");
        }
    }
}

/// Returns a time of the protocol in the model's range.
pub(super) fn time(nanos: u64) -> Timestamp {
    saturated_i64(nanos)
}

/// Reads a part but for what its spans say beside ids, times and threads; none when the taker of notes broke.
pub(super) fn survey(
    pull: &mut dyn Pull,
    limits: &Limits,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Result<Option<SurveyedTraces>, Error> {
    let mut surveyed = SurveyedTraces::default();
    let mut spans: Vec<IdentifiedSpan> = Vec::new();
    let mut offsets: Vec<u64> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut processes = Processes::default();
    let mut threads: HashMap<(Option<u64>, Vec<u8>), u32, RandomState> = HashMap::default();
    let most = limits.size(Limit::Table);
    let mut splitter = FieldSplitter::new(TRACES_SCHEMA, limits);
    let whole = each_field(pull, &mut splitter, note, |field, _| {
        if std::ptr::eq(field.within, &TRACES_DATA) {
            processes.end(&mut spans, &mut surveyed.events);
            return Flow::Continue(());
        }
        let Content::Len(body) = field.value else {
            return Flow::Continue(());
        };
        if std::ptr::eq(field.within, &RESOURCE_SPANS) && field.number == 1 {
            surveyed.clock = surveyed.clock.take().or_else(|| survey::clock(body));
            processes.body = body.to_vec();
        } else if std::ptr::eq(field.within, &SCOPE_SPANS) && field.number == 2 {
            let head = SpanHead::of(body);
            if spans.len() + surveyed.events.len() >= most {
                let text = || "more spans than the limits allow are left out".to_owned();
                let tally = &mut surveyed.tally;
                tally.add(Level::Damage, "limit_table", field.offset, text);
                return Flow::Continue(());
            }
            head.tell(field.offset, &mut surveyed.tally);
            if head.event.is_some() {
                surveyed.events.push(0);
                return Flow::Continue(());
            }
            let thread = match (head.thread, head.thread_name) {
                (None, b"") => 0,
                (id, name) => {
                    let next = row_number(threads.len() + 1);
                    *threads.entry((id, name.to_vec())).or_insert(next)
                }
            };
            let (start, end) = (time(head.start), time(head.end));
            surveyed.last = surveyed.last.max(start).max(end);
            if head.is_open() {
                open.push(spans.len());
            }
            offsets.push(field.offset);
            spans.push(IdentifiedSpan {
                ids: head.ids(),
                parent: head.parent(),
                start,
                end: end.max(start),
                process: 0,
                thread,
            });
        }
        Flow::Continue(())
    })?;
    processes.end(&mut spans, &mut surveyed.events);
    surveyed.resources = processes.bodies;
    for at in open {
        if let Some(span) = spans.get_mut(at) {
            span.end = surveyed.last;
        }
    }
    surveyed.placed = PlacedSpans::of(&spans);
    let mut rows: Vec<_> = threads.into_iter().collect();
    rows.sort_unstable_by_key(|&(_, number)| number);
    surveyed.threads = rows.into_iter().map(|(thread, _)| thread).collect();
    let offset = |at: &u32| offsets.get(*at as usize).copied().unwrap_or(0);
    for at in &surveyed.placed.repeated {
        let text = "two spans of a process have one id; what is in them is put into the first";
        let tally = &mut surveyed.tally;
        tally.add(Level::Warn, "repeated_span_id", offset(at), || {
            text.to_owned()
        });
    }
    for at in &surveyed.placed.circular {
        let text = "a span is its own ancestor; it is read as one without parent";
        let tally = &mut surveyed.tally;
        tally.add(Level::Damage, "parent_circle", offset(at), || {
            text.to_owned()
        });
    }
    Ok(whole.then_some(surveyed))
}

/// Processes: resources of equal bytes are one.
#[derive(Debug, Default)]
struct Processes {
    numbers: HashMap<Vec<u8>, u32, RandomState>,
    bodies: Vec<Vec<u8>>,
    /// The resource of the message that is read, which may come after its spans.
    body: Vec<u8>,
    /// Spans and events whose process is known.
    done: [usize; 2],
}

impl Processes {
    /// Says whose the spans and events since the last call are.
    fn end(&mut self, spans: &mut [IdentifiedSpan], events: &mut [u32]) {
        let body = std::mem::take(&mut self.body);
        let [known_spans, known_events] = self.done;
        self.done = [spans.len(), events.len()];
        let spans = spans.get_mut(known_spans..).unwrap_or_default();
        let events = events.get_mut(known_events..).unwrap_or_default();
        if spans.is_empty() && events.is_empty() {
            return;
        }
        let next = row_number(self.bodies.len());
        let number = *self.numbers.entry(body).or_insert_with_key(|body| {
            self.bodies.push(body.clone());
            next
        });
        spans.iter_mut().for_each(|span| span.process = number);
        events.fill(number);
    }
}
