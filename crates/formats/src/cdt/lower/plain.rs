//! Plain steps inside a call, added up: all that a list of calls needs of nine of ten events.
//!
//! Where it can, a scout adds them up on a thread ahead of the walk. What it says of the bytes from an offset on is
//! true whatever came before, so that the walk takes it where it comes to that offset in a state that it fits, and adds
//! up by itself elsewhere.

use foldhash::{HashMap, HashMapExt};
use traceloom_model::bounds::{saturated_u32, subslice};
use traceloom_model::{Asks, Flow, Limit, Limits, Note, Wants};

use super::parts::Parts;
use super::walk::{BlockProgress, Walk};
use super::words::{Dictionary, Special, WordRows};
use crate::cdt::head::{Head, StepHead, value_len};
use crate::cdt::phrase::Phrased;
use crate::cdt::text;
use crate::cdt::trace::blocks::{
    BlockReader, Resume, TimedEvent, TraceUnit, TraceVisitor, UnreadableBytes,
};
use crate::cdt::trace::{Block, TagValue, TraceAction};
use crate::codec::{Stretch, each_window};
use crate::wire::units::Stream;
use crate::wire::{Cursor, Utf16};
use crate::{Error, ErrorKind, Opaque, Record, RecordSink, Scouted, Source, Step, drive};

/// Neighbouring steps inside a call, and tags that say nothing about it, added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PlainSteps {
    /// The bytes that they take.
    len: usize,
    /// Steps and tags.
    events: u32,
    enters: u32,
    /// Methods that are open before them and behind them.
    depth_before: u32,
    depth: u32,
    /// Times of the event before them and of the last of them.
    elapsed_before: i32,
    elapsed: i32,
    /// The latest time of a step, if there is any.
    latest: Option<i32>,
}

/// What ends a run of plain steps.
#[derive(Clone, Copy)]
pub(super) struct PlainRules {
    special: Special,
    string_limit: usize,
    most_frames: u32,
}

impl PlainRules {
    pub(super) fn new(words: &Dictionary, limits: &Limits) -> Self {
        Self {
            special: words.special,
            string_limit: text::limit(limits),
            most_frames: saturated_u32(limits.of(Limit::Depth)),
        }
    }

    /// Returns true if a tag of a method inside a call means nothing to the call.
    fn is_plain(&self, id: u32) -> bool {
        let special = &self.special;
        id != special.call_info && id != special.call_red && special.java_thread != Some(id)
    }

    /// Adds up the plain steps that `bytes` begin with, up to `most` of them: methods entered and left inside a call
    /// that is `depth` deep, and their tags.
    fn add_up(&self, bytes: &[u8], depth: u32, elapsed: i32, most: u32) -> PlainSteps {
        let (mut now, mut at, mut events, mut tags) = (depth, 0, 0_u32, 0_u32);
        let (mut time, mut latest) = (elapsed, i32::MIN);
        while events < most {
            let rest = subslice(bytes, at..);
            let Some(word) = rest.first_chunk().copied().map(u64::from_le_bytes) else {
                break;
            };
            let Some(step) = StepHead::read(word) else {
                // Tags of the call itself tell about it.
                let tag = Head::read(word).filter(|head| head.tag && now > 1);
                let Some(tag) = tag.filter(|tag| self.is_plain(tag.id)) else {
                    break;
                };
                let Some(len) = value_len(subslice(rest, tag.len..), self.string_limit) else {
                    break;
                };
                at += tag.len + len;
                time = time.wrapping_add(tag.elapsed);
                tags += 1;
                events += 1;
                continue;
            };
            let next = now.wrapping_sub(1).wrapping_add(2 * u32::from(step.enter));
            // The caller ends calls and keeps to the depth limit.
            if next.wrapping_sub(1) >= self.most_frames {
                break;
            }
            now = next;
            time = time.wrapping_add(step.elapsed);
            latest = latest.max(time);
            at += step.len;
            events += 1;
        }
        let steps = events - tags;
        PlainSteps {
            len: at,
            events,
            // As many more as the depth has grown.
            enters: steps.wrapping_add(now).wrapping_sub(depth) / 2,
            depth_before: depth,
            depth: now,
            elapsed_before: elapsed,
            elapsed: time,
            latest: (steps > 0).then_some(latest),
        }
    }
}

impl Walk<'_, '_, '_> {
    /// Passes over plain steps inside a call as far as they go.
    pub(super) fn pass_plain(
        &mut self,
        cursor: &mut Cursor<'_>,
        block: &mut BlockProgress,
        block_elapsed: &mut i32,
    ) {
        let Some(thread) = self.threads.get_mut(block.thread) else {
            return;
        };
        let Some(root) = thread.root.as_mut() else {
            return;
        };
        if self.checks_values || thread.beyond > 0 || thread.ends || thread.depth == 0 {
            return;
        }
        let most = match block.roots.get(block.next) {
            Some(next_root) => next_root.saturating_sub(block.index),
            None => u32::MAX,
        };
        let (bytes, depth, elapsed) = (cursor.rest(), thread.depth, *block_elapsed);
        let found = self.ahead.at(self.file, cursor.offset());
        let found = found.filter(|steps| {
            let before = (steps.depth_before, steps.elapsed_before);
            before == (depth, elapsed) && steps.events <= most && steps.len <= bytes.len()
        });
        let steps = found
            .copied()
            .unwrap_or_else(|| self.plain.add_up(bytes, depth, elapsed, most));
        cursor.seek(cursor.position() + steps.len);
        root.enters = root.enters.saturating_add(steps.enters);
        thread.depth = steps.depth;
        if let Some(latest) = steps.latest {
            let latest = self.start.saturating_add(i64::from(latest));
            thread.last = thread.last.max(latest);
        }
        *block_elapsed = steps.elapsed;
        block.index = block.index.wrapping_add(steps.events);
    }
}

/// Adds up plain steps of all trace files ahead of a lowering that wants calls alone.
pub(in crate::cdt) fn scout(
    source: &dyn Source,
    limits: &Limits,
    asks: Asks,
    tell: &mut dyn FnMut(Scouted) -> Flow,
) -> Result<(), Error> {
    // Amounts are known before a scout has gone far.
    if asks.wants != Wants::Calls || asks.amounts_only {
        return Ok(());
    }
    let parts = Parts::of(source);
    let sizes = parts
        .trace
        .values()
        .map(|&part| source.parts().get(part)?.size);
    // What has to be decompressed would be so twice, and little is read before a thread begins.
    let size = sizes.sum::<Option<u64>>();
    if size.is_none_or(|size| size < LEAST_SIZE) {
        return Ok(());
    }
    let mut words = Dictionary::default();
    for &part in &parts.dictionary {
        let mut reader = Stream::new(Phrased::new(WordRows::new(limits, &mut words), limits));
        drive(source.open(part, 0)?.as_mut(), &mut reader, &mut Unheard)?;
    }
    let mut scout = Scout {
        rules: PlainRules::new(&words, limits),
        depths: HashMap::new(),
        most_threads: limits.size(Limit::Table),
        thread: 0,
        depth: 0,
        runs: Vec::new(),
    };
    for (&file, &part) in &parts.trace {
        let mut reader = BlockReader::new(scout.rules.string_limit);
        let mut tell = |until: u64, scout: &mut Scout| {
            let found = std::mem::take(&mut scout.runs);
            let pass = file;
            tell(Stretch { pass, until, found }.say())
        };
        let mut pull = source.open(part, 0)?;
        let is_read = each_window(pull.as_mut(), 1, |window| {
            let offset = window.offset;
            let Ok(step) = reader.read(window, &mut scout);
            let until = match step {
                Step::More { consumed, .. } => offset + consumed as u64,
                Step::Stop => offset,
            };
            match tell(until, &mut scout) {
                Flow::Continue(()) => step,
                Flow::Break(()) => Step::Stop,
            }
        })?;
        if !is_read || tell(u64::MAX, &mut scout).is_break() {
            break;
        }
    }
    Ok(())
}

/// Bytes of traces for which a scout pays.
const LEAST_SIZE: u64 = 2 << 20;

/// Events of a run that is worth telling.
const LEAST_EVENTS: u32 = 8;

/// Takes nothing.
struct Unheard;

impl RecordSink for Unheard {
    fn record(&mut self, _record: &dyn Record) -> Flow {
        Flow::Continue(())
    }

    fn note(&mut self, _note: Note) -> Flow {
        Flow::Continue(())
    }
}

/// Reads traces for their plain steps. How deep a thread is it only guesses where anything is damaged, since the rows
/// of calls are not looked at.
struct Scout {
    rules: PlainRules,
    /// Of threads that are inside a call, but for the one at hand.
    depths: HashMap<i64, u32>,
    most_threads: usize,
    thread: i64,
    depth: u32,
    runs: Vec<(u64, PlainSteps)>,
}

impl TraceVisitor for Scout {
    type Stop = std::convert::Infallible;

    fn header(&mut self, _start: i64) -> Result<(), Self::Stop> {
        Ok(())
    }

    fn block(&mut self, _offset: u64, block: Block) -> Result<(), Self::Stop> {
        if self.depth > 0 && self.depths.len() < self.most_threads {
            self.depths.insert(self.thread, self.depth);
        }
        self.thread = block.thread_id;
        self.depth = self.depths.remove(&self.thread).unwrap_or(0);
        Ok(())
    }

    #[inline(always)]
    fn run(
        &mut self,
        cursor: &mut Cursor<'_>,
        _start: i64,
        elapsed: &mut i32,
    ) -> Result<(), Self::Stop> {
        if self.depth == 0 {
            return Ok(());
        }
        let steps = self
            .rules
            .add_up(cursor.rest(), self.depth, *elapsed, u32::MAX);
        if steps.events >= LEAST_EVENTS {
            self.runs.push((cursor.offset(), steps));
        }
        cursor.seek(cursor.position() + steps.len);
        self.depth = steps.depth;
        *elapsed = steps.elapsed;
        Ok(())
    }

    fn event(&mut self, event: &TimedEvent<'_>) -> Result<(), Self::Stop> {
        match event.event.what {
            TraceAction::Enter(_) => self.depth = self.depth.saturating_add(1),
            TraceAction::Exit => self.depth = self.depth.saturating_sub(1),
            // A call ends; exits before it may be lost.
            TraceAction::Tag(id, TagValue::Inline(Utf16(&[])))
                if id == self.rules.special.call_info =>
            {
                self.depth = self.depth.min(1);
            }
            TraceAction::Tag(..) | TraceAction::Finish(_) => {}
        }
        Ok(())
    }

    fn damaged(&mut self, damage: UnreadableBytes) -> Result<Resume, Self::Stop> {
        let is_cut = matches!(damage.error.kind(), ErrorKind::Truncated { .. });
        if is_cut || damage.expected != TraceUnit::Event {
            return Ok(Resume::End);
        }
        self.depth = 0;
        Ok(Resume::NextBlock {
            note: crate::damage("undecodable", damage.offset, ""),
            known_blocks: Vec::new(),
        })
    }

    fn skipped(&mut self, _bytes: &Opaque<'_>) -> Result<(), Self::Stop> {
        Ok(())
    }

    fn note(&mut self, _note: Note) -> Result<(), Self::Stop> {
        Ok(())
    }
}
