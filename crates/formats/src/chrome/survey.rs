//! A first pass over a trace: names, frames, the clock, and in which order each thread's events come.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::bounds::row_number;
use traceloom_model::{Clock, Flow, Limit, Limits, Note, Tables};

use super::by_thread::ByThread;
use super::event::{EventKey, TraceEvent};
use super::facts::WrittenTrackFacts;
use super::flows::{FlowNumbers, FlowStep, LateFlow, LateFlows};
use super::points::is_event;
use super::scout::{EventsAhead, KeptEvents};
use super::walk::{TracePart, each};
use crate::Error;
use crate::codec::two_pass::Pass;
use crate::text::json::{Document, Token, Value};

/// Process and thread as the trace writes them.
pub(super) type Thread = (Box<[u8]>, Box<[u8]>);

/// A frame of the table of stack frames.
#[derive(Clone, Debug, Default)]
pub(super) struct StackFrame {
    pub(super) name: Box<[u8]>,
    pub(super) category: Box<[u8]>,
    pub(super) parent: Option<Box<[u8]>>,
}

/// In which order the events of a thread come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sorted {
    /// By the time at which they begin.
    ByStart,
    /// Complete events by the time at which they end: what is inside comes before.
    ByEnd,
    /// Neither; one lies so many nanoseconds behind what came before it at most.
    Late(i64),
}

#[derive(Debug)]
struct SurveyedIds {
    /// The latest begin of all.
    start: i64,
    /// How far another one lay behind such a begin, and how far a flow.
    late_by: i64,
    flow_late_by: i64,
    end: i64,
    by_start: bool,
    by_end: bool,
    /// Complete events so far.
    n_complete: u32,
    /// Those that lie in no other one that has come, with their starts: in the end the outermost ones.
    tops: Vec<(i64, u32)>,
    /// Where its late flows are.
    late: Option<u32>,
}

/// What is known of a trace before its events are lowered.
#[derive(Debug, Default)]
pub(super) struct TraceSurvey {
    pub(super) process_names: HashMap<Box<[u8]>, Box<[u8]>, RandomState>,
    pub(super) thread_names: HashMap<Thread, Box<[u8]>, RandomState>,
    /// What our writer says of threads beside their names.
    pub(super) facts: HashMap<Thread, WrittenTrackFacts, RandomState>,
    /// Processes whose id our writer made up, with the id they had, if they were processes at all.
    pub(super) made_up: HashMap<Box<[u8]>, Option<Option<u64>>, RandomState>,
    pub(super) labels: HashMap<Box<[u8]>, Box<[u8]>, RandomState>,
    pub(super) frames: HashMap<Box<[u8]>, StackFrame, RandomState>,
    pub(super) is_unix: bool,
    pub(super) base_ns: i64,
    pub(super) has_flows: bool,
    /// Late flows are kept, and told apart.
    wants_flows: bool,
    flows: FlowNumbers,
    /// Those of one thread each.
    late: Vec<Vec<LateFlow>>,
    n_late: usize,
    asynchronous: AsyncOrder,
    /// Complete events come by their end, as the writer says.
    is_finish: bool,
    n_tops: usize,
    threads: ByThread<SurveyedIds>,
    /// Where events are.
    pub(super) events: KeptEvents,
}

/// In which order asynchronous slices begin and end, over all ids.
#[derive(Clone, Copy, Debug)]
struct AsyncOrder {
    latest: i64,
    /// How far a step lay behind such a latest one.
    late_by: i64,
}

impl Default for AsyncOrder {
    fn default() -> Self {
        Self {
            latest: i64::MIN,
            late_by: 0,
        }
    }
}

impl AsyncOrder {
    fn take(&mut self, time: i64) {
        self.late_by = self.late_by.max(self.latest.saturating_sub(time));
        self.latest = self.latest.max(time);
    }
}

/// Reads all events; none when the taker of notes broke.
pub(super) fn survey(
    pass: &mut Pass<'_>,
    limits: &Limits,
    wants_flows: bool,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Result<Option<TraceSurvey>, Error> {
    let mut survey = TraceSurvey {
        wants_flows,
        ..TraceSurvey::default()
    };
    let (pull, mut known) = EventsAhead::of(pass);
    let whole = each(pull, limits, &mut known, |part| {
        part.each_note(note)?;
        match part {
            TracePart::Event { event, .. } => survey.event(event, limits),
            TracePart::Member { key, value, .. } => survey.member(key, value, limits),
            _ => {}
        }
        Flow::Continue(())
    })?;
    survey.events = known.into_kept();
    Ok(whole.then_some(survey))
}

impl SurveyedIds {
    /// Counts a complete event; those of its thread that lie in it are no outermost ones.
    fn complete(&mut self, start: i64, room: bool) {
        if self.by_end {
            while self.tops.last().is_some_and(|&(top, _)| top >= start) {
                self.tops.pop();
            }
            if room {
                self.tops.push((start, self.n_complete));
            }
        } else {
            self.tops = Vec::new();
        }
        self.n_complete = self.n_complete.saturating_add(1);
    }
}

impl TraceSurvey {
    pub(super) fn clock(&self, tables: &mut Tables) -> Clock {
        match self.is_unix {
            true => Clock::Unix,
            false => Clock::Unknown(Some(tables.string("chrome"))),
        }
    }

    /// Returns in which order the events of a thread come.
    pub(super) fn sorted(&self, (process, thread): &Thread) -> Sorted {
        match self.threads.get(process, thread) {
            Some(SurveyedIds { by_end: true, .. }) if self.is_finish => Sorted::ByEnd,
            Some(SurveyedIds { by_start: true, .. }) | None => Sorted::ByStart,
            Some(SurveyedIds { by_end: true, .. }) => Sorted::ByEnd,
            Some(seen) => Sorted::Late(seen.late_by.max(seen.flow_late_by)),
        }
    }

    /// Returns how far an asynchronous slice begins or ends behind another one that came before it, in nanoseconds.
    pub(super) fn asynchronous_late_by(&self) -> i64 {
        self.asynchronous.late_by
    }

    /// Takes the numbers of flows met so far, and the late flows of each thread that has a place for them.
    pub(super) fn take_flows(&mut self) -> (FlowNumbers, Vec<LateFlows>) {
        let late = std::mem::take(&mut self.late).into_iter().map(|mut rows| {
            rows.sort_by_key(|row| row.time);
            LateFlows::new(rows, self.base_ns)
        });
        (std::mem::take(&mut self.flows), late.collect())
    }

    /// Returns where the late flows of a thread are that is in order without them.
    pub(super) fn late_flows(&self, (process, thread): &Thread) -> Option<u32> {
        let seen = self.threads.get(process, thread)?;
        seen.late.filter(|_| seen.by_start)
    }

    /// Returns which complete events of a thread, counted from nought, lie in no other one: a thread's events
    /// before such a one need not wait for more. Known for threads whose events come by their end.
    pub(super) fn outermost(&self, (process, thread): &Thread) -> impl Iterator<Item = u32> {
        let seen = self.threads.get(process, thread).filter(|seen| seen.by_end);
        let tops = seen.into_iter().flat_map(|seen| &seen.tops);
        tops.map(|&(_, nth)| nth)
    }

    fn event(&mut self, event: TraceEvent<'_>, limits: &Limits) {
        let phase = event.phase();
        self.has_flows |= matches!(phase, b's' | b't' | b'f') || event.has(EventKey::BindId);
        if phase == b'M' {
            return self.metadata(event, limits);
        }
        let is_asynchronous = matches!(phase, b'b' | b'e' | b'S' | b'F');
        let is_flow = matches!(phase, b's' | b't' | b'f');
        if !(is_asynchronous || is_flow || matches!(phase, b'X' | b'B' | b'E')) {
            return;
        }
        let Some(start) = event.time() else { return };
        if is_asynchronous {
            if !is_event(event) {
                self.asynchronous.take(start);
            }
            return;
        }
        let end = start.saturating_add(event.duration().unwrap_or(0));
        let complete = phase == b'X';
        let (process, thread) = event.thread_words();
        let most = limits.size(Limit::Table);
        let full = self.threads.len() >= most;
        match self.threads.get_mut(&process, &thread) {
            Some(seen) if is_flow && start < seen.start => {
                seen.by_end = false;
                if self.wants_flows {
                    seen.flow_late_by = seen.flow_late_by.max(seen.start.saturating_sub(start));
                }
                if seen.by_start && self.wants_flows {
                    self.late_flow((process.as_ref(), thread.as_ref()), start, event, limits);
                }
            }
            Some(seen) => {
                seen.by_start &= start >= seen.start;
                seen.late_by = seen.late_by.max(seen.start.saturating_sub(start));
                seen.by_end &= complete && end >= seen.end;
                seen.start = seen.start.max(start);
                seen.end = end;
                let held = seen.tops.len();
                if complete && !event.has(EventKey::BindId) {
                    seen.complete(start, self.n_tops < most);
                }
                self.n_tops = (self.n_tops + seen.tops.len()).saturating_sub(held);
            }
            None if !full => {
                let mut seen = SurveyedIds {
                    start,
                    late_by: 0,
                    flow_late_by: 0,
                    end,
                    by_start: true,
                    by_end: complete,
                    n_complete: 0,
                    tops: Vec::new(),
                    late: None,
                };
                if complete && !event.has(EventKey::BindId) {
                    seen.complete(start, true);
                }
                self.threads.insert((process.into(), thread.into()), seen);
            }
            None => {}
        }
    }

    /// Keeps a flow event of a thread that is in order without it; where too many are kept the thread is not.
    fn late_flow(
        &mut self,
        (process, thread): (&[u8], &[u8]),
        time: i64,
        event: TraceEvent<'_>,
        limits: &Limits,
    ) {
        let is_full = self.n_late >= limits.size(Limit::OpenSpans);
        let Some(seen) = self.threads.get_mut(process, thread) else {
            return;
        };
        if is_full {
            seen.by_start = false;
            return;
        }
        let nth = *seen.late.get_or_insert(row_number(self.late.len()));
        if nth as usize >= self.late.len() {
            self.late.push(Vec::new());
        }
        if let Some(rows) = self.late.get_mut(nth as usize) {
            let (flow, step) = (self.flows.of(event, limits), FlowStep::of(event));
            rows.push(LateFlow { time, flow, step });
            self.n_late += 1;
        }
    }

    fn metadata(&mut self, event: TraceEvent<'_>, limits: &Limits) {
        let most = limits.size(Limit::Table);
        let known = self.process_names.len() + self.thread_names.len() + self.labels.len();
        let full = known + self.facts.len() + self.made_up.len() >= most;
        let (Some(args), false) = (event.get(EventKey::Arguments), full) else {
            return;
        };
        let args = Document::parse(args.raw(), limits);
        let Some(args) = args.root() else { return };
        let (process, thread) = thread(event);
        let text = |key: &str| args.get(key).map(Value::owned_word);
        let name = event
            .get(EventKey::Name)
            .and_then(Token::bytes)
            .unwrap_or_default();
        match (&*name, args.get("process"), args.get("track")) {
            (b"process_name", Some(row), _) => {
                let pid = row.get("pid").map(|pid| numeric(&pid.word()));
                self.made_up.insert(process.clone(), pid);
            }
            (b"thread_name", _, Some(row)) => {
                let thread = (process.clone(), thread.clone());
                self.facts.insert(thread, WrittenTrackFacts::read(row));
            }
            _ => {}
        }
        match (&*name, text("name"), text("labels")) {
            (b"process_name", Some(name), _) => {
                self.process_names.insert(process, name);
            }
            (b"thread_name", Some(name), _) => {
                self.thread_names.insert((process, thread), name);
            }
            (b"process_labels", _, Some(labels)) => {
                self.labels.insert(process, labels);
            }
            _ => {}
        }
    }

    pub(super) fn member(&mut self, key: &Document<'_>, value: &Document<'_>, limits: &Limits) {
        let (Some(key), Some(value)) = (key.root().and_then(Value::bytes), value.root()) else {
            return;
        };
        match &*key {
            b"stackFrames" => {
                for row in value.items().take(limits.size(Limit::Table)) {
                    let text = |key: &str| row.get(key).map(Value::owned_word);
                    let frame = StackFrame {
                        name: text("name").unwrap_or_default(),
                        category: text("category").unwrap_or_default(),
                        parent: text("parent"),
                    };
                    let id = row.key().unwrap_or_default();
                    self.frames.insert(id.into_owned().into(), frame);
                }
            }
            b"otherData" | b"metadata" => {
                let clock = value.get("clock").and_then(Value::bytes);
                self.is_unix |= clock.is_some_and(|clock| *clock == *b"unix");
                let order = value.get("order").and_then(Value::bytes);
                self.is_finish |= order.is_some_and(|order| *order == *b"finish");
                let base = value.get("base_time_ns").map(Value::token);
                self.base_ns = base.and_then(|base| base.scaled(1)).unwrap_or(self.base_ns);
            }
            _ => {}
        }
    }

    /// Returns the frames that lead to a frame, the outermost first; a circle is cut where it closes.
    pub(super) fn path(&self, id: &[u8]) -> Vec<&StackFrame> {
        let mut path = Vec::new();
        let mut seen: HashSet<&[u8], RandomState> = HashSet::default();
        let mut next = self.frames.get_key_value(id);
        while let Some((id, frame)) = next {
            if !seen.insert(id) {
                break;
            }
            path.push(frame);
            let parent = frame.parent.as_ref();
            next = parent.and_then(|parent| self.frames.get_key_value(parent));
        }
        path.reverse();
        path
    }
}

/// Process and thread of an event.
pub(super) fn thread(event: TraceEvent<'_>) -> Thread {
    let (process, thread) = event.thread_words();
    (process.into(), thread.into())
}

/// The number of a process or thread, where its word is one.
pub(super) fn numeric(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}
