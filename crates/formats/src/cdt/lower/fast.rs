//! Nine of ten events, read in a loop of their own beside that of [`crate::cdt::trace::blocks`].
//!
//! Without it `traceloom top` of a 64 MB dump takes 1.2 times the processor time of the whole process.

use std::mem::take;

use traceloom_model::bounds::subslice;

use super::output::STEPS;
use super::walk::{BlockProgress, Walk};
use crate::cdt::head::{Head, value_len};
use crate::cdt::text::ns;
use crate::wire::Cursor;

impl Walk<'_, '_, '_> {
    /// Reads plain steps inside a call as far as they go: known methods entered and left, tags that
    /// mean nothing to steps. What is anything else is left to the caller.
    ///
    /// Nine of ten events of a trace pass here; the thread's state stays in registers.
    pub(super) fn run(
        &mut self,
        cursor: &mut Cursor<'_>,
        block: &mut BlockProgress,
        block_elapsed: &mut i32,
    ) {
        let Some(thread) = self.threads.get_mut(block.thread) else {
            return;
        };
        let special = self.words.special;
        let named = thread.named;
        let plain_tag = |id: u32| {
            let thread_name = !named && special.java_thread == Some(id);
            id != special.call_info && id != special.call_red && !thread_name
        };
        let words = &*self.words;
        let checks = self.checks_values;
        let to_check = |id: u32, value: &[u8]| {
            let is_big = value.first().is_some_and(|kind| kind & 1 == 1);
            checks && (is_big || !words.knows(id))
        };
        let Some(root) = thread.root.as_mut() else {
            return;
        };
        if thread.beyond > 0 || thread.ends || thread.depth == 0 {
            return;
        }
        let functions = words.functions();
        let steps = &mut self.out.steps;
        let (keeps_tags, keeps_steps) = (self.depth.keeps_tags(), !self.notes_only);
        let room = STEPS.saturating_sub(steps.len() + 1);
        steps.track(thread.track);
        // Columns and bounds of our own: through `self` each step would load them anew.
        let (mut times, mut entered) = (take(&mut steps.time), take(&mut steps.function));
        let (start, most_frames, string_limit) = (self.start, self.most_frames, self.string_limit);
        let next_root = block.roots.get(block.next).copied().unwrap_or(u32::MAX);
        // Tags count as well: the caller comes back as long as there are events.
        let most = room.min(next_root.saturating_sub(block.index) as usize);
        let (mut depth, mut last, mut elapsed) = (thread.depth, thread.last, *block_elapsed);
        let (mut enters, mut done) = (0_u32, 0_u32);
        let bytes = cursor.rest();
        let mut at = 0;
        while (done as usize) < most {
            let rest = subslice(bytes, at..);
            let word = rest.first_chunk().copied().map(u64::from_le_bytes);
            let Some(head) = word.and_then(Head::read) else {
                break;
            };
            if head.tag {
                let value = subslice(rest, head.len..);
                match value_len(value, string_limit) {
                    // Tags of the call itself tell about it.
                    _ if keeps_tags && depth == 1 => break,
                    Some(len) if plain_tag(head.id) && !to_check(head.id, value) => {
                        at += head.len + len;
                    }
                    _ => break,
                }
                elapsed = elapsed.wrapping_add(head.elapsed);
                done += 1;
                continue;
            }
            let below = depth
                .wrapping_sub(1)
                .wrapping_add(2 * u32::from(head.enter));
            // Exits have no id, and find none below the first one.
            let at_function = head.id as usize + usize::from(head.enter);
            let function = functions.get(at_function).copied().flatten();
            // The caller ends calls, resolves words and keeps to the depth limit.
            let deep = below.wrapping_sub(1) >= most_frames;
            if deep | (function.is_some() != head.enter) {
                break;
            }
            depth = below;
            enters += u32::from(head.enter);
            elapsed = elapsed.wrapping_add(head.elapsed);
            last = start.saturating_add(i64::from(elapsed)).max(last);
            if keeps_steps {
                times.push(ns(last));
                entered.push(function);
            }
            at += head.len;
            done += 1;
        }
        (steps.time, steps.function) = (times, entered);
        cursor.seek(cursor.position() + at);
        root.enters = root.enters.saturating_add(enters);
        (thread.depth, thread.last) = (depth, last);
        *block_elapsed = elapsed;
        block.index = block.index.wrapping_add(done);
    }
}
