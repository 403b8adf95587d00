//! A first pass over a trace: names, frames, the clock, and in which order each thread's events come.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use traceloom_model::bounds::subslice;
use traceloom_model::{Flow, Limit, Limits, Note};

use super::by_thread::ByThread;
use super::event::{TraceEvent, id_number, number, thread_words, word};
use super::facts::WrittenTrackFacts;
use super::split::{TracePiece, TraceSplitter};
use crate::Step;
use crate::codec::each_window;
use crate::text::json::{Document, Kind, Value, scale};
use crate::{Error, Pull, damage, info};

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
    No,
}

#[derive(Debug)]
struct SurveyedIds {
    start: i64,
    end: i64,
    by_start: bool,
    by_end: bool,
    /// Complete events so far.
    n_complete: u32,
    /// Those that lie in no other one that has come, with their starts: in the end the outermost ones.
    tops: Vec<(i64, u32)>,
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
    /// Complete events come by their end, as the writer says.
    is_finish: bool,
    n_tops: usize,
    threads: ByThread<SurveyedIds>,
}

/// Reads all events; none when the taker of notes broke.
pub(super) fn survey(
    pull: &mut dyn Pull,
    limits: &Limits,
    note: &mut dyn FnMut(Note) -> Flow,
) -> Result<Option<TraceSurvey>, Error> {
    let mut survey = TraceSurvey::default();
    let most = limits.size(Limit::Table);
    let whole = each(pull, limits, |piece| match piece {
        TracePart::Event(value, _) => {
            survey.event(&TraceEvent::read(value), most);
            Flow::Continue(())
        }
        TracePart::Member(key, value) => {
            survey.member(key, value, most);
            Flow::Continue(())
        }
        TracePart::Note(text) => note(text),
    })?;
    Ok(whole.then_some(survey))
}

/// What a walk over a trace meets.
pub(super) enum TracePart<'d> {
    /// An event and its offset.
    Event(Value<'d>, u64),
    /// A member of the outermost object.
    Member(&'d [u8], Value<'d>),
    Note(Note),
}

/// Shows every event, member and note of a part until `see` breaks; returns false when it did.
pub(super) fn each(
    pull: &mut dyn Pull,
    limits: &Limits,
    mut see: impl FnMut(TracePart<'_>) -> Flow,
) -> Result<bool, Error> {
    let mut splitter = TraceSplitter::new(limits);
    let mut ended = false;
    let whole = each_window(pull, 1, |chunk| {
        let mut at = 0;
        let need = loop {
            let window = subslice(chunk.bytes, at..);
            let offset = chunk.offset + at as u64;
            let (len, flow) = match splitter.next(window, chunk.eof) {
                TracePiece::Need(need) => break need,
                TracePiece::End => {
                    if splitter.unterminated && chunk.eof {
                        let text = "the trace ends without closing its brackets, as it may";
                        let note = info("unterminated", offset, text);
                        ended = see(TracePart::Note(note)).is_continue();
                        return Step::Stop;
                    }
                    break 1;
                }
                TracePiece::Text(len) => (len, Flow::Continue(())),
                TracePiece::Event(from, end) => {
                    let text = subslice(window, from..end);
                    let flow = splitter.parsed(text, |document| {
                        defects(document, offset + from as u64, &mut see)?;
                        match document.root() {
                            Some(value) => see(TracePart::Event(value, offset)),
                            None => Flow::Continue(()),
                        }
                    });
                    (end, flow)
                }
                TracePiece::Member(key, from, end) => {
                    let document = Document::parse(subslice(window, from..end), limits);
                    let key = subslice(window, key..from);
                    let key = Document::parse(key, limits);
                    let name = key.root().and_then(Value::bytes).unwrap_or_default();
                    let mut flow = defects(&document, offset + from as u64, &mut see);
                    if let (Some(value), true) = (document.root(), flow.is_continue()) {
                        flow = see(TracePart::Member(&name, value));
                    }
                    (end, flow)
                }
                TracePiece::Damage(len, kind) => {
                    let text = "bytes that are no event and no member";
                    let note = damage(kind, offset, text).counting(len as u64);
                    (len, see(TracePart::Note(note)))
                }
            };
            if flow.is_break() {
                return Step::Stop;
            }
            at += len;
        };
        Step::More { consumed: at, need }
    })?;
    Ok(whole || ended)
}

/// Notes each place of a document that is not JSON, as reading its record does.
fn defects(
    document: &Document<'_>,
    from: u64,
    see: &mut impl FnMut(TracePart<'_>) -> Flow,
) -> Flow {
    for defect in document.defects() {
        let note = damage(defect.kind, from + defect.offset as u64, defect.text);
        let skipped = (defect.skipped as u64).max(1);
        see(TracePart::Note(note.counting(skipped)))?;
    }
    Flow::Continue(())
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
    /// Returns in which order the events of a thread come.
    pub(super) fn sorted(&self, (process, thread): &Thread) -> Sorted {
        match self.threads.get(process, thread) {
            Some(SurveyedIds { by_end: true, .. }) if self.is_finish => Sorted::ByEnd,
            Some(SurveyedIds { by_start: true, .. }) | None => Sorted::ByStart,
            Some(SurveyedIds { by_end: true, .. }) => Sorted::ByEnd,
            Some(_) => Sorted::No,
        }
    }

    /// Returns which complete events of a thread, counted from nought, lie in no other one: a thread's events
    /// before such a one need not wait for more. Known for threads whose events come by their end.
    pub(super) fn outermost(&self, (process, thread): &Thread) -> impl Iterator<Item = u32> {
        let seen = self.threads.get(process, thread).filter(|seen| seen.by_end);
        let tops = seen.into_iter().flat_map(|seen| &seen.tops);
        tops.map(|&(_, nth)| nth)
    }

    fn event(&mut self, event: &TraceEvent<'_>, most: usize) {
        let phase = event.phase();
        self.has_flows |= matches!(phase, b's' | b't' | b'f') || event.bind_id.is_some();
        if phase == b'M' {
            return self.metadata(event, most);
        }
        if !matches!(phase, b'X' | b'B' | b'E' | b's' | b't' | b'f') {
            return;
        }
        let Some(start) = event.ts else { return };
        let end = start.saturating_add(event.dur.unwrap_or(0));
        let complete = phase == b'X';
        let (process, thread) = thread_words(event);
        let full = self.threads.len() >= most;
        match self.threads.get_mut(&process, &thread) {
            Some(seen) => {
                seen.by_start &= start >= seen.start;
                seen.by_end &= complete && end >= seen.end;
                seen.start = start;
                seen.end = end;
                let held = seen.tops.len();
                if complete && event.bind_id.is_none() {
                    seen.complete(start, self.n_tops < most);
                }
                self.n_tops = (self.n_tops + seen.tops.len()).saturating_sub(held);
            }
            None if !full => {
                let mut seen = SurveyedIds {
                    start,
                    end,
                    by_start: true,
                    by_end: complete,
                    n_complete: 0,
                    tops: Vec::new(),
                };
                if complete && event.bind_id.is_none() {
                    seen.complete(start, true);
                }
                self.threads.insert((process.into(), thread.into()), seen);
            }
            None => {}
        }
    }

    fn metadata(&mut self, event: &TraceEvent<'_>, most: usize) {
        let known = self.process_names.len() + self.thread_names.len() + self.labels.len();
        let full = known + self.facts.len() + self.made_up.len() >= most;
        let (Some(args), false) = (event.args, full) else {
            return;
        };
        let (process, thread) = thread(event);
        let text = |key: &str| args.get(key).map(word);
        let name = event.name.and_then(Value::bytes).unwrap_or_default();
        match (&*name, args.get("process"), args.get("track")) {
            (b"process_name", Some(row), _) => {
                let pid = row.get("pid").map(|pid| numeric(&word(pid)));
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

    fn member(&mut self, key: &[u8], value: Value<'_>, most: usize) {
        match key {
            b"stackFrames" => {
                for row in value.items().take(most) {
                    let text = |key: &str| row.get(key).map(word);
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
                let base = value.get("base_time_ns").and_then(number);
                self.base_ns = base
                    .and_then(|base| scale(&base, 1))
                    .unwrap_or(self.base_ns);
            }
            _ => {}
        }
    }

    /// Returns the frames that lead to a frame, the outermost first; a circle is cut where it closes.
    pub(super) fn path(&self, id: Value<'_>) -> Vec<&StackFrame> {
        let mut path = Vec::new();
        let mut seen: HashSet<&[u8], RandomState> = HashSet::default();
        let start = word(id);
        let mut next = self.frames.get_key_value(&start);
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
pub(super) fn thread(event: &TraceEvent<'_>) -> Thread {
    let (process, thread) = thread_words(event);
    (process.into(), thread.into())
}

/// The number of a process or thread, where its word is one.
pub(super) fn numeric(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// An id of an object, a flow or an asynchronous event: its word, and whether the process belongs to it.
pub(super) fn id_of(event: &TraceEvent<'_>) -> (Box<[u8]>, bool, Option<u64>) {
    if let Some(id) = event.id {
        return (word(id), false, id_number(id));
    }
    let Some(id2) = event.id2.filter(|id2| id2.kind() == Kind::Object) else {
        return (Box::default(), false, None);
    };
    let (local, global) = (id2.get("local"), id2.get("global"));
    match (global, local) {
        (Some(id), _) => (word(id), false, id_number(id)),
        (None, Some(id)) => (word(id), true, id_number(id)),
        (None, None) => (Box::default(), false, None),
    }
}
