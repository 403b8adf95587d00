//! Elements: where one ends, and what it is.

use traceloom_model::{Flow, Level};

use super::read::{ElementStep, MarkupWindow, MessageScratch, PIECE, ROOT, Reader, Subtree, took};
use super::record::Element;
use super::tag::{MarkupKind, TagScan};
use crate::tptp::markup::name_end;
use crate::tptp::table::by_element;
use crate::tptp::visit::{Item, Visit};
use crate::{Opaque, damage};

/// Unknown elements without an end that are searched for it: the first to the limit, the others one
/// piece, those after them not at all, so that no input takes more than linear time.
const UNCLOSED: u32 = 64;

impl Reader {
    #[inline]
    pub(super) fn tag<'a, V: Visit>(
        &mut self,
        window: &MarkupWindow<'a, '_>,
        at: usize,
        tag: &[u8],
        mark: MarkupKind,
        scratch: &mut MessageScratch<'a>,
        out: &mut V,
    ) -> ElementStep {
        let name = tag.get(1..name_end(tag)).unwrap_or_default();
        let schema = by_element(name);
        if schema.is_none() && name == ROOT {
            self.elements = true;
            self.in_root |= mark == MarkupKind::Start;
            return self.piece("root_start", window, at, tag.len(), out);
        }
        let (length, inner) = if mark == MarkupKind::Empty {
            (tag.len(), tag.len()..tag.len())
        } else {
            match self.subtree(window, at, tag.len(), schema.is_some(), out) {
                Ok((length, end)) => (length, tag.len()..end),
                Err(next) => return next,
            }
        };
        let offset = window.offset(at);
        let raw = window.raw(at, at + length);
        let Some(schema) = schema else {
            self.tally.count(Level::Info, "unknown_element", 0, offset);
            let element = Element {
                offset,
                raw,
                charset: self.charset,
                message: None,
            };
            return took(out.item(Item::Element(&element)), length);
        };
        self.elements = true;
        let inner = window.raw(at + inner.start, at + inner.end);
        let (message, doubtful) = self.message(schema, window, at, tag, inner, scratch);
        if doubtful && !message.is_valid() {
            self.tally
                .count(Level::Warn, "invalid_text", schema.id, offset);
        }
        let element = Element {
            offset,
            raw,
            charset: self.charset,
            message: Some(message),
        };
        took(out.item(Item::Element(&element)), length)
    }

    /// Finds the end of an element that has content: the length of all of it, and where its content ends.
    #[cold]
    pub(super) fn subtree<V: Visit>(
        &mut self,
        window: &MarkupWindow<'_, '_>,
        at: usize,
        start: usize,
        known: bool,
        out: &mut V,
    ) -> Result<(usize, usize), ElementStep> {
        let most = match self.unclosed {
            0 => self.most,
            _ if known => self.most,
            1..UNCLOSED => PIECE,
            _ => 0,
        };
        let all = window.text.get(at..).unwrap_or_default();
        let rest = all.get(..most).unwrap_or(all);
        let offset = window.offset(at);
        let mut state = if self.subtree.element == offset && self.subtree.depth > 0 {
            self.subtree
        } else {
            Subtree {
                element: offset,
                at: start,
                depth: 1,
            }
        };
        loop {
            let body = rest.get(state.at..).unwrap_or_default();
            let Some(open) = memchr::memchr(b'<', body) else {
                state.at = rest.len();
                break;
            };
            let here = state.at + open;
            let markup = rest.get(here..).unwrap_or_default();
            state.at = here;
            let (mark, length) = match self.ends.scan(markup, window.offset(at + here)) {
                TagScan::Whole(mark, length) => (mark, length),
                TagScan::Broken => {
                    state.at = here + 1;
                    continue;
                }
                TagScan::Partial => break,
            };
            let tag = markup.get(..length).unwrap_or(markup);
            let name = tag
                .get(if mark == MarkupKind::End { 2 } else { 1 }..name_end(tag))
                .unwrap_or_default();
            let foreign = match mark {
                MarkupKind::Start | MarkupKind::Empty => known && by_element(name).is_some(),
                MarkupKind::End => name == ROOT,
                _ => false,
            };
            if foreign && !known {
                return Err(self.unclosed(window, at, start, out));
            }
            if foreign {
                self.subtree = Subtree::default();
                let text = "an element is not closed before the next one";
                if out
                    .note(damage("unclosed_element", offset, text))
                    .is_break()
                {
                    return Err(ElementStep::Stop);
                }
                return Ok((here, here));
            }
            state.at = here + length;
            match mark {
                MarkupKind::Start => state.depth += 1,
                MarkupKind::End => state.depth -= 1,
                _ => {}
            }
            if state.depth == 0 {
                self.subtree = Subtree::default();
                return Ok((state.at, here));
            }
        }
        let step = self.unfinished(window, (at, start), known, most, out);
        if let ElementStep::Need(_) = step {
            self.subtree = state;
        }
        Err(step)
    }

    /// Returns how reading goes on after an element whose end is not among the first `most` bytes of the window.
    fn unfinished<V: Visit>(
        &mut self,
        window: &MarkupWindow<'_, '_>,
        (at, start): (usize, usize),
        known: bool,
        most: usize,
        out: &mut V,
    ) -> ElementStep {
        let n_bytes = window.text.len().saturating_sub(at);
        let too_long = n_bytes > most;
        // A short one at the end is cut; what it holds happened in no trace (SPEC.md §8).
        if window.eof && n_bytes <= most.min(PIECE) {
            return ElementStep::Cut;
        }
        if !known && (window.eof || too_long) {
            return self.unclosed(window, at, start, out);
        }
        if window.eof && !too_long {
            return ElementStep::Cut;
        }
        if !too_long {
            return ElementStep::Need(n_bytes + 1);
        }
        self.subtree = Subtree::default();
        let text = format!("an element of more than {most} bytes");
        match out.note(damage("limit_record", window.offset(at), text)) {
            Flow::Break(()) => ElementStep::Stop,
            Flow::Continue(()) => ElementStep::Broken,
        }
    }

    /// An element that no table has and that never ends: its start tag is damage, what follows is read.
    pub(super) fn unclosed<V: Visit>(
        &mut self,
        window: &MarkupWindow<'_, '_>,
        at: usize,
        start: usize,
        out: &mut V,
    ) -> ElementStep {
        self.subtree = Subtree::default();
        self.unclosed += 1;
        let offset = window.offset(at);
        let opaque = Opaque::damage(offset, window.raw(at, at + start));
        if out.item(Item::Opaque(&opaque)).is_break() {
            return ElementStep::Stop;
        }
        let note = damage(
            "unclosed_element",
            offset,
            "an unknown element is not closed",
        );
        took(out.note(note.counting(start as u64)), start)
    }
}
