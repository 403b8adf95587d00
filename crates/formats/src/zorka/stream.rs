//! A stream of items with what surrounds them: nesting, damage, notes (SPEC.md §1.5, §8).

use traceloom_model::bounds::{in_memory, subslice};
use traceloom_model::{Flow, Level, Limit, Limits, Note};

use super::cbor::{Bounds, Cbor, CborFault};
use super::read::{self, Context, TwoItems};
use super::record::{Begin, End, Item, Order, Record, Start, StartForm};
use super::session::Base;
use crate::{Chunk, Step, damage, info, warn};

/// Takes items as they are read.
pub trait Visit {
    /// Takes an item; breaking ends the reading.
    fn record(&mut self, record: &Record<'_>) -> Flow;

    /// Takes the begin and the end of a record that holds nothing else; returns false where they are to come as records.
    #[inline(always)]
    fn leaf(&mut self, _start: &Start, _end: &End) -> bool {
        false
    }

    /// Takes a note; breaking ends the reading.
    fn note(&mut self, note: Note) -> Flow;
}

/// A visitor that needs no reader built for it alone.
impl Visit for &mut (dyn Visit + '_) {
    fn record(&mut self, record: &Record<'_>) -> Flow {
        (**self).record(record)
    }

    fn note(&mut self, note: Note) -> Flow {
        (**self).note(note)
    }
}

/// Nanoseconds of a tick.
pub(crate) const TICK_NS: i64 = 65_536;

/// Most damaged bytes of one record.
const PIECE: usize = 64 << 10;

/// Bytes that failed readings may look at in vain before they are given up with what they looked at.
const RETRIES: u64 = 1 << 20;

/// Longest pattern that [`sync`] looks at.
const PATTERN: usize = 11;

/// Bytes that are no item, from where they began.
#[derive(Clone, Debug)]
struct Damage {
    start: u64,
    fault: CborFault,
    /// Nothing before this offset is looked at.
    past: u64,
}

/// The decoder of one stream: bytes in windows, items and notes out.
#[derive(Clone, Debug)]
pub struct Reader {
    bounds: Bounds,
    record: usize,
    depth: usize,
    begin: TwoItems,
    /// The orders of the open records' words.
    open: Vec<Order>,
    /// Open records above the depth limit.
    deeper: u64,
    last: Start,
    base: Option<Base>,
    damage: Option<Damage>,
    wasted: u64,
    orphans: bool,
    guessed: bool,
}

impl Reader {
    /// A decoder with these limits in force.
    #[must_use]
    pub fn new(limits: &Limits, begin: TwoItems) -> Self {
        Self {
            bounds: Bounds::new(limits),
            record: limits.size(Limit::Record),
            depth: limits.size(Limit::Depth),
            begin,
            open: Vec::new(),
            deeper: 0,
            last: Start {
                form: StartForm::Bare,
                order: Order::Little,
                time: 0,
                method: 0,
            },
            base: None,
            damage: None,
            wasted: 0,
            orphans: false,
            guessed: false,
        }
    }

    /// Returns how many records are open.
    #[must_use]
    pub fn depth(&self) -> u64 {
        self.open.len() as u64 + self.deeper
    }

    /// Returns the longest item of a few values that is within all limits.
    pub(super) fn most(&self) -> usize {
        let few = self.bounds.values() > 23;
        self.bounds.string().min(self.record) * usize::from(few)
    }

    /// Returns true if records above the depth limit are open.
    pub(super) const fn is_deeper(&self) -> bool {
        self.deeper > 0
    }

    /// Returns the order of the innermost record's words.
    #[inline]
    pub(super) fn order(&self) -> Option<Order> {
        self.open.last().copied()
    }

    /// Opens a record; false at the depth limit.
    #[inline]
    pub(super) fn opened(&mut self, start: &Start) -> bool {
        if self.open.len() >= self.depth {
            return false;
        }
        self.last = *start;
        self.open.push(start.order);
        true
    }

    /// Closes the innermost record; false when none is open here.
    #[inline]
    pub(super) fn closed(&mut self) -> bool {
        self.open.pop().is_some()
    }

    /// Returns where the clock stands.
    #[inline]
    pub(super) const fn base(&self) -> Option<&Base> {
        self.base.as_ref()
    }

    /// Reads every whole item of `chunk`.
    pub fn read(&mut self, chunk: Chunk<'_>, out: &mut impl Visit) -> Step {
        let bytes = chunk.bytes;
        let mut at = 0;
        loop {
            if self.damage.is_some() {
                match self.step_over(&chunk, &mut at, out) {
                    None => {}
                    Some(step) => return step,
                }
            }
            if self.damage.is_none() {
                let flow;
                (at, flow) = self.run(&chunk, at, out);
                if flow.is_break() {
                    return Step::Stop;
                }
            }
            if at >= bytes.len() {
                let stopped = chunk.eof && self.finish(chunk.offset + at as u64, out).is_break();
                return if stopped {
                    Step::Stop
                } else {
                    Step::More {
                        consumed: at,
                        need: 1,
                    }
                };
            }
            let context = Context {
                order: self.open.last().copied(),
                eof: chunk.eof,
                begin: self.begin,
            };
            let mut cbor = Cbor::new(bytes, at, self.bounds);
            let mut read = read::item(&mut cbor, &context);
            let end = cbor.position();
            if read.is_ok() && end - at > self.record {
                read = Err(CborFault::Limit("limit_record"));
            }
            match read {
                // By reference: the item is large, and just written in small stores.
                Ok(ref item) => {
                    let offset = chunk.offset + at as u64;
                    if self.follow(item, offset, out).is_break() {
                        return Step::Stop;
                    }
                    let record = Record {
                        offset,
                        bytes: subslice(bytes, at..end),
                        canonical: cbor.canonical() && !matches!(item, Item::Unknown),
                        item,
                        base: self.base.as_ref(),
                    };
                    if out.record(&record).is_break() {
                        return Step::Stop;
                    }
                    at = end;
                }
                Err(CborFault::Short(total)) if !chunk.eof && total - at <= self.record => {
                    // Twice the window each time, so that a long item is looked at a few times only.
                    let need = (total - at).max((bytes.len() - at).saturating_mul(2));
                    return Step::More { consumed: at, need };
                }
                Err(fault) => {
                    let fault = match fault {
                        CborFault::Short(total) if total - at > self.record => {
                            CborFault::Limit("limit_record")
                        }
                        fault => fault,
                    };
                    self.fail(chunk.offset, at, end, bytes.len(), fault);
                }
            }
        }
    }

    fn fail(&mut self, offset: u64, at: usize, end: usize, window: usize, fault: CborFault) {
        let seen = match fault {
            CborFault::Short(_) => window,
            CborFault::Limit("limit_record") => at.saturating_add(self.record).min(window),
            _ => end,
        };
        let start = offset + at as u64;
        self.wasted += (seen - at) as u64;
        let past = if self.wasted > RETRIES + 2 * start {
            offset + seen as u64
        } else {
            start + 1
        };
        self.damage = Some(Damage {
            start,
            fault,
            past: past.max(start + 1),
        });
    }

    /// Keeps track of nesting and clock, and notes what an item does to them.
    #[inline]
    fn follow(&mut self, item: &Item<'_>, offset: u64, out: &mut impl Visit) -> Flow {
        match item {
            Item::Start(start) => {
                self.last = *start;
                if self.open.len() < self.depth {
                    self.open.push(start.order);
                } else {
                    self.deeper += 1;
                    if self.deeper == 1 {
                        let text = format!("more than {} records are open", self.depth);
                        out.note(damage("limit_depth", offset, text))?;
                    }
                }
            }
            Item::Prolog(start) => {
                self.last = *start;
                if let Some(top) = self.open.last_mut() {
                    *top = start.order;
                }
            }
            Item::End(end) => {
                self.close(end.closed, offset, out)?;
            }
            Item::Break => self.close(true, offset, out)?,
            Item::Begin(begin) => {
                self.base = Some(Base {
                    clock_ns: begin.clock_ms.saturating_mul(1_000_000),
                    raw: self.last.time,
                    ticks: !matches!(self.last.form, StartForm::Nanos | StartForm::Stream),
                });
                self.doubt(begin, offset, out)?;
            }
            Item::Attributes(attributes) if attributes.missing => {
                let text = "the writer left out an attribute's value";
                out.note(damage("missing_value", offset, text))?;
            }
            Item::Unknown => {
                let text = "an item of unknown meaning is kept as it is";
                out.note(warn("unknown_item", offset, text))?;
            }
            _ => {}
        }
        Flow::Continue(())
    }

    fn close(&mut self, closed: bool, offset: u64, out: &mut impl Visit) -> Flow {
        if self.open.is_empty() && !self.orphans {
            self.orphans = true;
            let text = "records end that began before this stream";
            out.note(info("continuation", offset, text))?;
        }
        if closed {
            if self.deeper > 0 {
                self.deeper -= 1;
            } else {
                self.open.pop();
            }
        }
        Flow::Continue(())
    }

    /// Notes once that a begin of two items was read by a guess (SPEC.md §1.1).
    fn doubt(&mut self, begin: &Begin, offset: u64, out: &mut impl Visit) -> Flow {
        let two = begin.parent_id.is_none() && (begin.ttype.is_some() != begin.span_id.is_some());
        let seed = matches!(self.last.form, StartForm::Seed { .. });
        if begin.nanos || !two || seed || self.guessed || self.begin != TwoItems::Guess {
            return Flow::Continue(());
        }
        self.guessed = true;
        let text = if begin.ttype.is_some() {
            "a begin of two small integers is read as clock and trace type (B1)"
        } else {
            "a begin of two integers is read as clock and span id (B2)"
        };
        out.note(info("guessed_begin", offset, text))
    }

    fn finish(&mut self, offset: u64, out: &mut impl Visit) -> Flow {
        let open = self.depth();
        if open > 0 {
            let text = format!("{open} records are still open at the end");
            out.note(warn("open_records", offset, text).counting(open))?;
        }
        Flow::Continue(())
    }

    /// Steps over damaged bytes up to where an item may begin.
    ///
    /// Returns none when reading goes on at `at`.
    fn step_over(
        &mut self,
        chunk: &Chunk<'_>,
        at: &mut usize,
        out: &mut impl Visit,
    ) -> Option<Step> {
        let found = self.damage.clone()?;
        let bytes = chunk.bytes;
        let from = *at;
        let past = in_memory(found.past.saturating_sub(chunk.offset));
        let mut to = from.max(past.min(bytes.len()));
        let mut synced = false;
        while to < bytes.len() && to - from < PIECE {
            let rest = subslice(bytes, to..);
            if rest.len() < PATTERN && !chunk.eof {
                break;
            }
            if sync(rest) {
                synced = true;
                break;
            }
            to += 1;
        }
        to = to.min(from + PIECE);
        let full = to - from == PIECE;
        let ended = !full && (synced || chunk.eof);
        if !full && !ended {
            let need = (bytes.len() - from + PATTERN).max(2 * (bytes.len() - from));
            return Some(Step::More {
                consumed: from,
                need: need.min(PIECE + PATTERN).max(bytes.len() - from + 1),
            });
        }
        let record = Record {
            offset: chunk.offset + from as u64,
            bytes: subslice(bytes, from..to),
            canonical: false,
            item: &Item::Damage,
            base: None,
        };
        *at = to;
        if to > from && out.record(&record).is_break() {
            return Some(Step::Stop);
        }
        if !ended {
            return None;
        }
        self.damage = None;
        let end = chunk.offset + to as u64;
        if out.note(describe(&found, end, synced)).is_break() {
            return Some(Step::Stop);
        }
        None
    }
}

fn describe(found: &Damage, end: u64, synced: bool) -> Note {
    let lost = end - found.start;
    let note = match found.fault {
        CborFault::Short(_) if !synced => {
            let text = format!("the input ends inside an item: {lost} bytes are kept unread");
            Note::new(Level::Warn, "partial_record", found.start, text)
        }
        CborFault::Short(_) => {
            let text = format!("an item says to be longer than the input: {lost} bytes are lost");
            damage("bad_item", found.start, text)
        }
        CborFault::Bad(what) => damage(
            "bad_item",
            found.start,
            format!("{what}: {lost} bytes are lost"),
        ),
        CborFault::Limit(kind) => damage(
            kind,
            found.start,
            format!("a length above the limit: {lost} bytes are stepped over"),
        ),
    };
    note.counting(lost)
}

/// Counts the ticks from `from` to `to`, 40-bit numbers that wrap: the nearer way round.
#[must_use]
pub fn ticks_between(from: i64, to: i64) -> i64 {
    let past = to.wrapping_sub(from) & read::TICK.cast_signed();
    if past > (read::TICK >> 1).cast_signed() {
        past - (read::TICK.cast_signed() + 1)
    } else {
        past
    }
}

/// Returns true if an item begins here for all that a dozen bytes can say.
///
/// Only beginnings that text does not contain by chance: a string cut in two is the usual damage.
fn sync(bytes: &[u8]) -> bool {
    let small = |byte: u8| byte <= 0x1b;
    match *bytes {
        [0xc8, 0x9f, 0xca | 0xcb, 0x48, ..] | [0xc8, 0x9f, 0xce, 0xa1, ..] => true,
        [0xd8, 0x0a | 0x0b, 0x9f, 0x48, ..] | [0xca | 0xcb, 0x9f, 0x48, ..] => true,
        [0xc3, 0x9f, 0x1a | 0x1b | 0x3a | 0x3b, ..] => true,
        [0xc3, 0x82, next, ..] => small(next),
        [0xcc | 0xcd, 0x48 | 0x50, ..] => true,
        [0xc1, 0x82 | 0x83, next, ..] | [0xc2, 0x84, next, ..] => small(next),
        [0xd8, 0x21, 0x81..=0x83, ..] | [0xd8, 0x22, 0x85, ..] => true,
        [0xd8, 0x23, next, ..] => small(next),
        [0xd8, 0x26, 0x82, ..] | [0xc9, 0xa1..=0xb7, 0xc6, ..] => true,
        [0xc4, 0x82 | 0x83, 0x1a | 0x1b | 0x3a | 0x3b, ..] => true,
        [0xc5, 0x82..=0x84, 0x1a | 0x1b, ..] => true,
        [0xc6, 0x82 | 0x83, next, ..] => small(next),
        [0xc7, 0x85 | 0x86, next, ..] => small(next),
        [0xc9, 0xa1..=0xb7, next, ..] => small(next),
        [0x48, _, _, _, _, _, _, _, _, 0xff] => true,
        [0x48, _, _, _, _, _, _, _, _, 0xff, next, ..] => {
            matches!(next, 0x48 | 0x50 | 0xc8 | 0xc9 | 0xd8 | 0xff)
        }
        _ => false,
    }
}
