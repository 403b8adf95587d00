//! Events as trees: a stack for each thread, across blocks and files (§6).

use traceloom_model::bounds::row_number;
use traceloom_model::{Attribute, SpanRow, SpanStatus, StringId, Value};

use super::output::STEPS;
use super::rows::CallPosition;
use super::values::Big;
use super::walk::{BlockProgress, Depth, Halt, OpenMethod, Root, Walk};
use crate::cdt::text::ns;
use crate::cdt::trace::{TagValue, ValueReference};
use crate::wire::Utf16;

impl Walk<'_, '_, '_> {
    pub(super) fn enter(
        &mut self,
        block: &mut BlockProgress,
        method: u32,
        time: i64,
        offset: u64,
    ) -> Result<(), Halt> {
        let begins = !block.roots.is_empty() && block.begins_here();
        if begins && self.is_open(block.thread) && self.names(block, method) {
            let text = "a call begins inside another one whose end is lost";
            self.note(crate::warn("merged_calls", offset, text))?;
            self.abandon(block.thread)?;
        }
        let Some(thread) = self.threads.get_mut(block.thread) else {
            return Ok(());
        };
        if thread.depth >= self.most_frames {
            thread.beyond += 1;
            if thread.beyond == 1 {
                let text = format!(
                    "methods nested deeper than {} are left out",
                    self.most_frames
                );
                self.note(crate::damage("limit_depth", offset, text))?;
            }
            return Ok(());
        }
        let time = time.max(thread.last);
        thread.last = time;
        if thread.depth == 0 {
            thread.root = Some(Root {
                key: CallPosition {
                    file: self.file,
                    block: block.offset,
                    index: block.index,
                },
                part: self.part,
                method,
                start: time,
                enters: 0,
                red: false,
            });
        }
        if thread.depth == 0 || self.depth != Depth::Roots {
            self.words.used(method, self.part, offset);
        }
        thread.depth += 1;
        if let Some(root) = &mut thread.root {
            root.enters = root.enters.saturating_add(1);
        }
        if self.depth.has_spans() {
            let id = self.out.tables.reserve_span();
            thread.frames.push(OpenMethod {
                id,
                method,
                start: time,
                tags: thread.tags.len(),
            });
        }
        if self.depth.has_steps() {
            let function = self.words.function(method, &mut self.out.tables);
            self.out.steps.track(thread.track);
            self.out.steps.enter(ns(time), function);
        }
        self.flush_steps()
    }

    pub(super) fn is_open(&self, at: usize) -> bool {
        self.threads.get(at).is_some_and(|thread| thread.depth > 0)
    }

    /// Returns true if the row that names this event names its method too: a damaged row may point
    /// anywhere.
    pub(super) fn names(&self, block: &BlockProgress, method: u32) -> bool {
        let key = CallPosition {
            file: self.file,
            block: block.offset,
            index: block.index,
        };
        self.rows.method(key) == Some(method)
    }

    pub(super) fn exit(&mut self, at: usize, time: i64, offset: u64) -> Result<(), Halt> {
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        if thread.beyond > 0 {
            thread.beyond -= 1;
            return Ok(());
        }
        let time = time.max(thread.last);
        if thread.depth == 0 {
            let text = format!("an exit on thread {} where nothing is open", thread.id);
            return self.note(crate::warn("exit_without_enter", offset, text));
        }
        thread.last = time;
        thread.depth -= 1;
        let ended = thread.depth == 0;
        let early = std::mem::take(&mut thread.ends) && !ended;
        if self.depth.has_steps() {
            self.out.steps.track(thread.track);
            self.out.steps.exit(ns(time));
        }
        if ended {
            self.end(at, time, SpanStatus::Complete)?;
        } else {
            self.close(at, time, SpanStatus::Complete)?;
            if early {
                self.abandon(at)?;
            }
        }
        self.flush_steps()
    }

    /// Pushes what is collected if there are many steps.
    #[inline]
    fn flush_steps(&mut self) -> Result<(), Halt> {
        if self.out.steps.len() >= STEPS {
            self.out.flush()?;
        }
        Ok(())
    }

    /// Ends the innermost method of a tree of spans, which is no root.
    pub(super) fn close(&mut self, at: usize, end: i64, status: SpanStatus) -> Result<(), Halt> {
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        let Some(frame) = thread.frames.pop() else {
            return Ok(());
        };
        let function = self.words.function(frame.method, &mut self.out.tables);
        let row = SpanRow {
            id: frame.id,
            parent: thread.frames.last().map(|parent| parent.id),
            depth: row_number(thread.frames.len()),
            track: thread.track,
            function: Some(function),
            kind: None,
            start: ns(frame.start),
            end: ns(end),
            status,
            entry: false,
            counters: &[],
            attributes: &[],
            exception: None,
            context: None,
            origin: None,
        };
        if self.depth.has_steps() {
            let number = row_number(self.out.spans.len());
            self.out.steps.inner.push(number);
        }
        let tags = &mut thread.tags;
        let own = frame.tags.min(tags.len());
        Ok(self
            .out
            .span_made(&row, |made| made.extend(tags.drain(own..)))?)
    }

    /// Ends what is open on a thread: the ends were not recorded, or are lost.
    pub(super) fn abandon(&mut self, at: usize) -> Result<(), Halt> {
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        thread.beyond = 0;
        let last = thread.last;
        let open = thread.depth;
        if open == 0 {
            return Ok(());
        }
        for left in (0..open).rev() {
            if let Some(thread) = self.threads.get_mut(at) {
                thread.depth = left;
                thread.ends = false;
            }
            if let Some(thread) = self.threads.get(at).filter(|_| self.depth.has_steps()) {
                self.out.steps.track(thread.track);
                self.out.steps.exit(ns(last));
            }
            // The row of the call goes with its last exit.
            if left > 0 {
                self.close(at, last, SpanStatus::PartialEnd)?;
                self.flush_steps()?;
            }
        }
        self.end(at, last, SpanStatus::PartialEnd)
    }

    pub(super) fn tag(
        &mut self,
        at: usize,
        id: u32,
        value: TagValue<'_>,
        time: i64,
        offset: u64,
    ) -> Result<(), Halt> {
        let special = self.words.special;
        let Some(thread) = self.threads.get_mut(at) else {
            return Ok(());
        };
        let empty = matches!(value, TagValue::Inline(Utf16(&[])));
        if id == special.call_info && empty {
            if thread.depth > 1 && thread.beyond == 0 {
                thread.ends = true;
                let text = "a call ends inside another one: exits are lost";
                return self.note(crate::warn("merged_calls", offset, text));
            }
            return Ok(());
        }
        if thread.depth == 0 {
            let text = format!("a tag on thread {} where no call is open", thread.id);
            return self.note(crate::warn("tag_outside_call", offset, text));
        }
        let of_root = self.depth.keeps_tags() && thread.depth == 1;
        if id == special.call_red
            && let Some(root) = &mut thread.root
        {
            root.red = true;
        }
        if !thread.named
            && special.java_thread == Some(id)
            && let TagValue::Inline(name) = value
        {
            thread.named = true;
            let name = name.to_wtf8();
            self.rename(at, &name);
        }
        if !self.depth.has_spans() && !of_root {
            return match self.checks_values {
                true => self.check_tag(id, value, offset),
                false => Ok(()),
            };
        }
        self.words.used(id, self.part, offset);
        let key = self.words.key(id, &mut self.out.tables);
        if of_root
            && matches!(value, TagValue::Inline(_) | TagValue::Indexed(_))
            && let Some(root) = self.threads.get(at).and_then(|thread| thread.root.as_ref())
            && !self.out.sink.wants_details(ns(root.start), None)
        {
            return Ok(());
        }
        let value = match value {
            TagValue::Inline(text) | TagValue::Indexed(text) => {
                let only_calls = self.depth == Depth::Roots;
                let is_kept = self
                    .threads
                    .get_mut(at)
                    .is_some_and(|thread| only_calls && thread.texts.push(thread.tags.len(), text));
                match is_kept {
                    true => Value::Null,
                    false => Value::Text(self.out.tables.value(&text.to_wtf8())),
                }
            }
            TagValue::Big(place) => Value::Text(self.big(Big::Xml, place, offset)?),
            TagValue::Deduplicated(place) => Value::Text(self.big(Big::Sql, place, offset)?),
        };
        let at_time = Some(ns(time));
        if let Some(thread) = self.threads.get_mut(at) {
            thread.tags.push(Attribute {
                key,
                value,
                at: at_time,
                from: None,
            });
        }
        Ok(())
    }

    /// Looks at a tag for what is missing, and keeps nothing of it.
    fn check_tag(&mut self, id: u32, value: TagValue<'_>, offset: u64) -> Result<(), Halt> {
        self.words.used(id, self.part, offset);
        let from = (self.part, offset);
        let note = match value {
            TagValue::Inline(_) | TagValue::Indexed(_) => None,
            TagValue::Big(place) => self.values.check(Big::Xml, place, from),
            TagValue::Deduplicated(place) => self.values.check(Big::Sql, place, from),
        };
        match note {
            Some(note) => Ok(self.out.note(note)?),
            None => Ok(()),
        }
    }

    fn big(&mut self, big: Big, place: ValueReference, offset: u64) -> Result<StringId, Halt> {
        let from = (self.part, offset);
        let (id, note) = self.values.text(big, place, from, &mut self.out.tables);
        if let Some(note) = note {
            self.out.note(note)?;
        }
        Ok(id)
    }
}
