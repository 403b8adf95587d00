//! Calls: their trees, then their rows.

use traceloom_model::{Attribute, FunctionId, SpanStatus};

use super::ProcessStreams;
use crate::cdt::raise::tables::StreamTables;
use crate::cdt::raise::tracks::TrackInfo;
use crate::cdt::raise::words::{CALL_INFO, CALL_RED};
use crate::cdt::raise::{OutermostSpan, PendingCallSpan};
use crate::cdt::trace::{TagValue, TraceAction};
use crate::spans::parents_first::{Children, PendingSpans, ValuesAt};
use crate::wire::Utf16;
use crate::{Error, Output};

/// A call while it is written.
pub(super) struct CallInProgress {
    pub(super) thread: i64,
    pub(super) enters: u32,
    /// Nothing need be added to say that it failed, or did not.
    pub(super) red: bool,
    /// Time of the event before.
    pub(super) now: i64,
}

/// What a call is walked with, kept for the next one.
#[derive(Default)]
pub(super) struct CallScratch {
    stack: Vec<SpanCursor>,
    /// Attributes of the root that its tree has, by their places, in the order of their times.
    tags: Vec<usize>,
}

/// A span that is being written.
struct SpanCursor {
    end: i64,
    own: ValuesAt,
    /// How many of its attributes are written.
    tag: usize,
    /// Those that are not written.
    children: Children,
    /// Its exit is not written: it never ended.
    endless: bool,
}

impl ProcessStreams {
    /// Writes a call: its tree, then its row.
    pub(in crate::cdt::raise) fn call(
        &mut self,
        root: &OutermostSpan,
        track: &mut TrackInfo,
        kept: &mut PendingSpans<PendingCallSpan>,
        names: &StreamTables,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        let node = &root.node;
        let (thread, lane) = track.thread(node.track, node.start, &mut self.taken, names);
        self.place = None;
        let mut call = CallInProgress {
            thread,
            enters: 0,
            red: node.status != SpanStatus::Error,
            now: node.start,
        };
        // Nothing but a tree says so, when the failed call has no parameter of that meaning.
        let mut red = |tag: &Attribute| self.key(tag.key, names).red;
        let attributes = kept.attributes.of(node.own.attributes);
        call.red |= attributes.iter().any(&mut red);
        let counters = kept.counters.of(node.own.counters);
        let (counters, counted) = (self.counters(counters, names), !counters.is_empty());
        let mut walk = std::mem::take(&mut self.walk);
        let long = node.end - node.start > 20;
        let whole = long || !root.children.is_empty() || counted;
        // Readers have the names of threads from rows alone.
        let names_thread = || {
            let name = names.track(node.track).and_then(|row| row.name);
            track.lacks_row(lane) && name.is_some()
        };
        let row = !root.open && (whole || names_thread());
        walk.order_tags(attributes, !row);

        self.enter(node, &mut call, out)?;
        walk.stack.push(SpanCursor {
            end: node.end,
            own: ValuesAt::default(),
            tag: 0,
            children: root.children,
            endless: root.open,
        });
        self.tree(node.own, &mut walk, &mut call, kept, names, out)?;
        walk.tags.clear();
        self.walk = walk;
        if !root.open {
            call.now = node.end.max(call.now);
            for (word, value) in &counters.others {
                let value = Utf16::encode(value);
                self.mark(&call, *word, TagValue::Inline(Utf16(&value)), out)?;
            }
            if !call.red {
                self.mark(&call, CALL_RED, TagValue::Indexed(Utf16(&[])), out)?;
            }
            self.mark(&call, CALL_INFO, TagValue::Inline(Utf16(&[])), out)?;
            self.event(thread, TraceAction::Exit, call.now, out)?;
        }
        self.flush(out)?;
        track.leave(lane, call.now);
        if row {
            track.put_row(lane);
            let attributes = kept.attributes.of(node.own.attributes);
            self.row(
                (node, attributes),
                &call,
                track,
                &counters.known,
                names,
                out,
            )?;
        }
        kept.release(node.own);
        Ok(())
    }

    fn mark(
        &mut self,
        call: &CallInProgress,
        word: u32,
        value: TagValue<'_>,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        self.event(call.thread, TraceAction::Tag(word, value), call.now, out)
    }

    /// Writes what is inside the root: its tags and children in the order of their times.
    fn tree(
        &mut self,
        root: ValuesAt,
        walk: &mut CallScratch,
        call: &mut CallInProgress,
        kept: &mut PendingSpans<PendingCallSpan>,
        names: &StreamTables,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        let is_root = |depth: usize| depth == 1;
        loop {
            let depth = walk.stack.len();
            let Some(top) = walk.stack.last_mut() else {
                return Ok(());
            };
            let child = kept.waiting.peek(top.children);
            let times = (child.map(|child| child.start), top.end);
            let n_tags = if is_root(depth) {
                let attributes = kept.attributes.of(root.attributes);
                let tags = walk.tags.get(top.tag..).unwrap_or_default().iter();
                let tags = tags.filter_map(|&tag| attributes.get(tag));
                top.tag += self.tags(tags, times, call, names, out)?;
                walk.tags.len()
            } else {
                let tags = kept.attributes.of(top.own.attributes);
                let rest = tags.get(top.tag..).unwrap_or_default();
                top.tag += self.tags(rest.iter(), times, call, names, out)?;
                tags.len()
            };
            if let Some((mut child, children)) = kept.waiting.take(&mut top.children) {
                let last = top.children.is_empty() && top.tag >= n_tags;
                let endless = top.endless && last && child.status == SpanStatus::PartialEnd;
                child.end = child.end.clamp(child.start, top.end.max(child.start));
                self.enter(&child, call, out)?;
                order_tags(kept.attributes.of_mut(child.own.attributes));
                // Most have no children: they are written as a whole.
                if children.is_empty() {
                    let tags = kept.attributes.of(child.own.attributes).iter();
                    self.tags(tags, (None, child.end), call, names, out)?;
                    kept.release(child.own);
                    if !endless {
                        self.exit(child.end, call, out)?;
                    }
                    continue;
                }
                walk.stack.push(SpanCursor {
                    end: child.end,
                    own: child.own,
                    tag: 0,
                    children,
                    endless,
                });
                continue;
            }
            kept.release(top.own);
            let (end, endless) = (top.end, top.endless);
            walk.stack.pop();
            // The exit of the root comes behind what is told of the whole call.
            if !endless && !is_root(depth) {
                self.exit(end, call, out)?;
            }
        }
    }

    #[inline]
    fn exit(
        &mut self,
        end: i64,
        call: &mut CallInProgress,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        call.now = end.max(call.now);
        self.event(call.thread, TraceAction::Exit, call.now, out)
    }

    #[inline]
    fn enter(
        &mut self,
        node: &PendingCallSpan,
        call: &mut CallInProgress,
        out: &mut dyn Output,
    ) -> Result<(), Error> {
        call.now = node.start.max(call.now);
        call.enters = call.enters.saturating_add(1);
        let method = self.method(node.function);
        self.event(call.thread, TraceAction::Enter(method), call.now, out)
    }

    #[inline]
    pub(super) fn method(&mut self, function: Option<FunctionId>) -> u32 {
        match function {
            Some(function) => self.words.function(function),
            None => self.words.word("(unknown)"),
        }
    }
}

impl CallScratch {
    /// Finds which attributes of a root its tree has, those without a time only where it has `all`.
    fn order_tags(&mut self, attributes: &[Attribute], all: bool) {
        for (at, tag) in attributes.iter().enumerate() {
            if all || tag.at.is_some() {
                self.tags.push(at);
            }
        }
        let time = |at: &usize| attributes.get(*at).map(|tag| tag.at);
        if self.tags.len() > 1 && !self.tags.is_sorted_by_key(time) {
            self.tags.sort_by_key(time);
        }
    }
}

/// Puts tags in the order of their times.
#[inline]
fn order_tags(tags: &mut [Attribute]) {
    if tags.len() > 1 && !tags.is_sorted_by_key(|tag| tag.at) {
        tags.sort_by_key(|tag| tag.at);
    }
}
