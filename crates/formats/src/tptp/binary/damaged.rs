//! Messages whose size lies, and how reading goes on behind damage.

use traceloom_model::Note;

use super::decode::{Decoded, Slots, decode};
use super::read::{MessageStep, Phase, Reader, took};
use super::size::{self, LOOK};
use super::{HEADER, Shape};
use crate::tptp::table::{Layout, Schema};
use crate::tptp::visit::{Item, Visit};
use crate::{Opaque, damage, warn};

/// Length of the pieces in which bytes that are no records are handed out.
const PIECE: usize = 64 << 10;

impl Reader {
    /// A known message whose size runs past the window: the size lies, or the data is cut.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    pub(super) fn beyond<'a, V: Visit>(
        &mut self,
        schema: &'static Schema,
        size: u32,
        bytes: &'a [u8],
        offset: u64,
        eof: bool,
        slots: &mut Slots<'a>,
        out: &mut V,
    ) -> MessageStep {
        let total = self.shape.total(size);
        if total < HEADER {
            return MessageStep::Lost;
        }
        if total <= self.most && !eof {
            return MessageStep::Need(total);
        }
        if total > self.most {
            let text = format!("a message of {total} bytes, limit {}", self.most);
            if out.note(damage("limit_record", offset, text)).is_break() {
                return MessageStep::Stop;
            }
            return MessageStep::Lost;
        }
        let payload = bytes.get(HEADER..).unwrap_or_default();
        match decode(schema, payload, self.shape, slots) {
            Some(decoded) if self.ends_here(&decoded, payload, eof) => {
                self.resized(schema, size, decoded, payload, offset, slots, out)
            }
            _ => MessageStep::Cut,
        }
    }

    /// A known message whose fields do not fill its size.
    #[cold]
    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    pub(super) fn unfit<'a, V: Visit>(
        &mut self,
        schema: &'static Schema,
        size: u32,
        decoded: Option<Decoded<'a>>,
        bytes: &'a [u8],
        offset: u64,
        eof: bool,
        slots: &mut Slots<'a>,
        out: &mut V,
    ) -> MessageStep {
        let total = self.shape.total(size);
        let ahead = total.saturating_add(2 * LOOK);
        if bytes.len() <= ahead && !eof {
            return MessageStep::Need(ahead + 1);
        }
        let eof = eof && bytes.len() <= ahead;
        let bytes = bytes.get(..ahead).unwrap_or(bytes);
        let payload = bytes.get(HEADER..total).unwrap_or_default();
        let wider = bytes.get(HEADER..).unwrap_or_default();
        if let Some(decoded) = decoded {
            // The fields end early. If another message follows them at once, the size was damaged.
            let inside = wider.get(..payload.len() + LOOK).unwrap_or(wider);
            if self.ends_here(&decoded, inside, false) {
                return self.resized(schema, size, decoded, wider, offset, slots, out);
            }
            // `decoded` may belong to a later attempt than the slots: fill them again.
            if let Some(decoded) = decode(schema, payload, self.shape, slots) {
                return self.emit(schema, decoded, payload, None, offset, slots, out);
            }
        }
        if !size::goes_on(bytes.get(total..).unwrap_or_default(), self.shape, eof)
            && let Some(decoded) = decode(schema, wider, self.shape, slots)
            && self.ends_here(&decoded, wider, eof)
        {
            return self.resized(schema, size, decoded, wider, offset, slots, out);
        }
        let text = format!(
            "the fields of {} do not fit into its {total} bytes",
            schema.element
        );
        if out
            .note(damage("bad_message", offset, text).counting(total as u64))
            .is_break()
        {
            return MessageStep::Stop;
        }
        let opaque = Opaque::damage(offset, bytes.get(..total).unwrap_or(bytes));
        took(out.item(Item::Opaque(&opaque)), total)
    }

    /// Returns true if the stream goes on right behind the fields.
    pub(super) fn ends_here(&self, decoded: &Decoded<'_>, payload: &[u8], eof: bool) -> bool {
        let behind = payload.get(decoded.used..).unwrap_or_default();
        !self.shape.newer
            && decoded.layout != Layout::Broken
            && self.decided
            && size::goes_on(behind, self.shape, eof)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    pub(super) fn resized<'a, V: Visit>(
        &mut self,
        schema: &'static Schema,
        size: u32,
        decoded: Decoded<'a>,
        payload: &'a [u8],
        offset: u64,
        slots: &Slots<'a>,
        out: &mut V,
    ) -> MessageStep {
        let text = format!(
            "size {size} of {}, whose fields take {} bytes",
            schema.element, decoded.used
        );
        if out.note(damage("bad_size", offset, text)).is_break() {
            return MessageStep::Stop;
        }
        let payload = payload.get(..decoded.used).unwrap_or(payload);
        self.emit(schema, decoded, payload, Some(size), offset, slots, out)
    }

    /// Looks for two messages in a row, or one right before the end.
    pub(super) fn resync<V: Visit>(
        &mut self,
        bytes: &[u8],
        here: u64,
        eof: bool,
        (from, told, cut): (u64, u64, bool),
        out: &mut V,
    ) -> MessageStep {
        // Bytes from `told` on are still in the window, so `here` is where it begins.
        debug_assert_eq!(here, told);
        let first = usize::from(here == from);
        let last = if eof {
            bytes.len()
        } else {
            bytes.len().saturating_sub(2 * LOOK)
        };
        let found = (first..last.min(PIECE)).find_map(|at| {
            self.starts_at(bytes.get(at..)?, eof)
                .map(|shape| (at, shape))
        });
        let (length, found) = match found {
            Some((at, shape)) => (at, Some(shape)),
            None if last >= PIECE => (PIECE, None),
            None if eof => (bytes.len(), None),
            None => return MessageStep::Need((PIECE + 2 * LOOK).max(bytes.len() + 1)),
        };
        let end = here + length as u64;
        self.phase = Phase::Lost {
            from,
            told: end,
            cut,
        };
        let opaque = Opaque::damage(here, bytes.get(..length).unwrap_or(bytes));
        if length > 0 && out.item(Item::Opaque(&opaque)).is_break() {
            return MessageStep::Stop;
        }
        let at_end = eof && length == bytes.len();
        if found.is_some() || at_end {
            if let Some(shape) = found {
                self.shape = shape;
                self.decided = true;
            }
            self.phase = Phase::Messages;
            let note = if cut && found.is_none() {
                warn("truncated", from, "the input ends inside a message")
            } else {
                damage("lost_sync", from, "no message begins here")
            };
            if out
                .note(Note {
                    count: end - from,
                    ..note
                })
                .is_break()
            {
                return MessageStep::Stop;
            }
        }
        MessageStep::Took(length)
    }

    pub(super) fn starts_at(&self, bytes: &[u8], eof: bool) -> Option<Shape> {
        let exclusive = if self.decided {
            &[self.shape.exclusive][..]
        } else {
            &[false, true]
        };
        exclusive.iter().find_map(|&exclusive| {
            let shape = Shape {
                exclusive,
                ..self.shape
            };
            let total = size::certain(bytes, shape)?;
            size::goes_on(bytes.get(total..)?, shape, eof).then_some(shape)
        })
    }
}

/// Hands out bytes that are no records, in pieces whose ends do not depend on the window.
pub(super) fn piece<V: Visit>(
    bytes: &[u8],
    here: u64,
    eof: bool,
    kind: &'static str,
    out: &mut V,
) -> MessageStep {
    let bytes = match bytes.get(..PIECE) {
        Some(piece) => piece,
        None if eof => bytes,
        None => return MessageStep::Need(PIECE),
    };
    let opaque = Opaque {
        kind,
        offset: here,
        bytes,
    };
    took(out.item(Item::Opaque(&opaque)), bytes.len())
}
