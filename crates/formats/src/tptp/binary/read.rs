//! Bytes to records, one pass, messages borrowed from the window.

use traceloom_model::{Flow, Level, Limit, Limits};

use super::damaged::piece;
use super::decode::{Decoded, Slots, decode};
use super::record::Data;
use super::size::{self, Decision};
use super::{HEADER, MOST, Shape};
use crate::tptp::call::Call;
use crate::tptp::charset::Charset;
use crate::tptp::message::{Message, Slot, Texts};
use crate::tptp::table::{Layout, MOST_FIELDS, Schema, by_id};
use crate::tptp::visit::{Item, RecordAdapter, SharedNotes, Visit};
use crate::{Chunk, RecordSink, Step, damage, warn};

/// Reads a binary stream.
#[derive(Clone, Debug)]
pub struct Reader {
    pub(super) most: usize,
    pub(super) phase: Phase,
    pub(super) shape: Shape,
    pub(super) decided: bool,
    pub(super) charset: Charset,
    pub(super) ticks_per_second: Option<u64>,
    pub(super) first_time: Option<u64>,
    pub(super) tally: SharedNotes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Descriptor,
    Gap {
        until: u64,
    },
    Skip {
        until: u64,
    },
    Messages,
    /// Looking for the next message; bytes before `told` are handed out.
    Lost {
        from: u64,
        told: u64,
        cut: bool,
    },
    /// Nothing can be read any more.
    Dead,
    Done,
}

/// What became of the bytes at the start of the window.
pub(super) enum MessageStep {
    Took(usize),
    Need(usize),
    Lost,
    Cut,
    Stop,
}

impl From<Flow> for MessageStep {
    fn from(flow: Flow) -> Self {
        if flow.is_break() {
            Self::Stop
        } else {
            Self::Took(0)
        }
    }
}

impl crate::Reader for Reader {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let mut adapter = RecordAdapter(out);
        let mut visitor: &mut dyn Visit = &mut adapter;
        self.read(chunk, &mut visitor)
    }
}

impl Reader {
    /// A reader at the start of a stream.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            most: limits.size(Limit::Record).min(MOST),
            phase: Phase::Descriptor,
            shape: Shape::default(),
            decided: false,
            charset: Charset::Utf8,
            ticks_per_second: None,
            first_time: None,
            tally: SharedNotes::default(),
        }
    }

    /// Reads every whole record of `chunk`, as [`crate::Reader::read`] does, with their types.
    pub fn read<V: Visit>(&mut self, chunk: Chunk<'_>, out: &mut V) -> Step {
        let mut at = 0;
        let mut slots: Slots<'_> = [Slot::Number(0); MOST_FIELDS];
        loop {
            let rest = chunk.bytes.get(at..).unwrap_or_default();
            let here = chunk.offset + at as u64;
            if rest.is_empty() {
                if !chunk.eof {
                    return Step::More {
                        consumed: at,
                        need: 1,
                    };
                }
                return match self.end(here, out) {
                    Flow::Continue(()) => Step::More {
                        consumed: at,
                        need: 0,
                    },
                    Flow::Break(()) => Step::Stop,
                };
            }
            let next = match self.phase {
                Phase::Messages => self.message(rest, here, chunk.eof, &mut slots, out),
                Phase::Descriptor => self.descriptor(rest, here, chunk.eof, out),
                Phase::Gap { until } => self.gap(rest, here, chunk.eof, until, out),
                Phase::Skip { until } => self.skip(rest, here, chunk.eof, until, out),
                Phase::Lost { from, told, cut } => {
                    self.resync(rest, here, chunk.eof, (from, told, cut), out)
                }
                Phase::Dead | Phase::Done => piece(rest, here, chunk.eof, "damage", out),
            };
            match next {
                MessageStep::Took(taken) => at += taken,
                MessageStep::Need(need) => {
                    return Step::More {
                        consumed: at,
                        need: need.max(rest.len() + 1),
                    };
                }
                MessageStep::Stop => return Step::Stop,
                lost @ (MessageStep::Lost | MessageStep::Cut) => {
                    self.phase = Phase::Lost {
                        from: here,
                        told: here,
                        cut: matches!(lost, MessageStep::Cut),
                    };
                }
            }
        }
    }

    /// Tells at the end of the input what could only be told there.
    fn end<V: Visit>(&mut self, here: u64, out: &mut V) -> Flow {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Done => return Flow::Continue(()),
            Phase::Descriptor => out.note(damage("no_descriptor", here, "the input is empty"))?,
            Phase::Gap { until } | Phase::Skip { until } if here < until => {
                out.note(damage(
                    "truncated",
                    here,
                    format!("the data begins at {until:#x}, past the end"),
                ))?;
            }
            _ => {}
        }
        if let (None, Some(offset)) = (self.ticks_per_second, self.first_time) {
            out.note(warn(
                "frequency_missing",
                offset,
                "no frequency: times are taken for nanoseconds",
            ))?;
        }
        self.tally.tell(wording, out)
    }

    #[inline]
    pub(super) fn message<'a, V: Visit>(
        &mut self,
        bytes: &'a [u8],
        offset: u64,
        eof: bool,
        slots: &mut Slots<'a>,
        out: &mut V,
    ) -> MessageStep {
        let Some(&[a, b, size @ ..]) = bytes.first_chunk::<HEADER>() else {
            return self.short_header(bytes, offset, eof, out);
        };
        let id = self.shape.u16([a, b]);
        let size = self.shape.u32(size);
        let Some(schema) = by_id(id) else {
            return self.system(bytes, offset, eof, out);
        };
        if !self.decided {
            match size::decide(bytes, self.shape, eof) {
                Decision::Need(need) => return MessageStep::Need(need),
                decision => self.settle(decision),
            }
        }
        let total = self.shape.total(size);
        let Some(payload) = bytes.get(HEADER..total) else {
            return self.beyond(schema, size, bytes, offset, eof, slots, out);
        };
        if out.takes_calls()
            && let Some(call) = Call::read(id, payload, self.shape.big)
        {
            if self.ticks_per_second.is_none() {
                self.first_time.get_or_insert(offset);
            }
            return took(out.call(&call, offset), total);
        }
        match decode(schema, payload, self.shape, slots) {
            Some(decoded) if decoded.used == payload.len() => {
                self.emit(schema, decoded, payload, None, offset, slots, out)
            }
            decoded => self.unfit(schema, size, decoded, bytes, offset, eof, slots, out),
        }
    }

    pub(super) fn settle(&mut self, decision: Decision) {
        if let Decision::Exclusive(exclusive) = decision {
            self.decided = true;
            self.shape.exclusive = exclusive;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one record")]
    #[inline]
    pub(super) fn emit<'a, V: Visit>(
        &mut self,
        schema: &'static Schema,
        decoded: Decoded<'a>,
        payload: &'a [u8],
        declared: Option<u32>,
        offset: u64,
        slots: &Slots<'a>,
        out: &mut V,
    ) -> MessageStep {
        if decoded.layout != Layout::Table {
            let (level, kind) = match decoded.layout {
                Layout::Broken => (Level::Warn, "broken_stack"),
                Layout::Counted => (Level::Warn, "counted_stack"),
                _ => (Level::Info, "wide_layout"),
            };
            self.tally.count(level, kind, schema.id, offset);
        } else if decoded.used < payload.len() {
            self.tally
                .count(Level::Warn, "longer_message", schema.id, offset);
        }
        if self.ticks_per_second.is_none() && self.first_time.is_none() {
            self.first_time = super::record::has_time(schema).then_some(offset);
        }
        let bytes = HEADER + payload.len();
        let data = Data {
            offset,
            bytes,
            message: Message {
                schema,
                layout: decoded.layout,
                values: slots.get(..decoded.fields).unwrap_or_default(),
                frames: decoded.frames,
                texts: Texts {
                    charset: self.charset,
                    ..Texts::default()
                },
            },
            trailing: payload.get(decoded.used..).unwrap_or_default(),
            declared,
            ticks_per_second: self.ticks_per_second.unwrap_or(0),
            shape: self.shape,
        };
        if !decoded.ascii && !data.message.is_valid() {
            self.tally
                .count(Level::Warn, "invalid_text", schema.id, offset);
        }
        took(out.item(Item::Data(&data)), bytes)
    }

    /// Fewer than six bytes are left: only an unsized system message may be that short.
    #[cold]
    fn short_header<V: Visit>(
        &mut self,
        bytes: &[u8],
        offset: u64,
        eof: bool,
        out: &mut V,
    ) -> MessageStep {
        if !eof {
            return MessageStep::Need(HEADER);
        }
        match bytes.first_chunk::<2>() {
            Some(&id) if self.shape.u16(id) == 1 => self.system(bytes, offset, eof, out),
            _ => MessageStep::Cut,
        }
    }
}

pub(super) fn took(flow: Flow, bytes: usize) -> MessageStep {
    if flow.is_break() {
        MessageStep::Stop
    } else {
        MessageStep::Took(bytes)
    }
}

fn wording(kind: &'static str, id: u16) -> String {
    let name = by_id(id).map_or("", |schema| schema.element);
    match kind {
        "unknown_message" => format!("messages with id {id}, which no table has"),
        "wide_layout" => format!("{name} in its wider layout"),
        "counted_stack" => format!("stacks of {name} whose arrays carry counts of their own"),
        "invalid_text" => format!("strings of {name} that are none of their charset's"),
        "broken_stack" => format!("stacks of {name} that cannot be read: their bytes are kept"),
        _ => format!("{name} with bytes behind its last field"),
    }
}
