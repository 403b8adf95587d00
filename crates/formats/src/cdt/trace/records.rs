//! A trace stream as native records, for `dump` and `info` (§6).

use std::collections::HashMap;

use traceloom_model::{Flow, Limit, Limits, Note};

use super::blocks::{BlockReader, Resume, TimedEvent, TraceUnit, TraceVisitor, UnreadableBytes};
use super::sums::EventSums;
use super::{BLOCK_HEAD, Block, Event, TagValue, TraceAction};
use crate::cdt::text::{self, ns};
use crate::wire::Cursor;
use crate::wire::units::tail;
use crate::{Chunk, ErrorKind, Field, Opaque, Reader, Record, RecordSink, RecordSums, Step};

/// The record reader of a trace stream.
#[derive(Clone)]
pub(in crate::cdt) struct Trace {
    blocks: BlockReader,
    levels: Levels,
    string_limit: usize,
}

impl Trace {
    pub(in crate::cdt) fn new(limits: &Limits) -> Self {
        let string_limit = text::limit(limits);
        Self {
            blocks: BlockReader::new(string_limit),
            levels: Levels::new(limits),
            string_limit,
        }
    }
}

impl Reader for Trace {
    fn read(&mut self, chunk: Chunk<'_>, out: &mut dyn RecordSink) -> Step {
        let mut records = TraceRecords {
            levels: &mut self.levels,
            string_limit: self.string_limit,
            sums: out.only_sums(),
            out,
        };
        match self.blocks.read(chunk, &mut records) {
            Ok(step) => step,
            Err(SinkBroke) => Step::Stop,
        }
    }
}

/// How many methods are open around each event.
#[derive(Clone)]
struct Levels {
    /// The thread of the block, and how many of its methods are open.
    thread: i64,
    depth: u32,
    /// Open methods of the threads whose stacks go on in later blocks.
    depths: HashMap<i64, u32>,
    threads: usize,
}

impl Levels {
    fn new(limits: &Limits) -> Self {
        Self {
            thread: 0,
            depth: 0,
            depths: HashMap::new(),
            threads: limits.size(Limit::Table),
        }
    }

    /// Goes over to the thread of a block.
    fn enter_block(&mut self, thread: i64) {
        let known = self.depths.len() < self.threads || self.depths.contains_key(&self.thread);
        match self.depth {
            0 => drop(self.depths.remove(&self.thread)),
            depth if known => drop(self.depths.insert(self.thread, depth)),
            _ => {}
        }
        self.thread = thread;
        self.depth = self.depths.get(&thread).copied().unwrap_or(0);
    }

    /// Returns how many methods are open around the one that an event belongs to.
    fn level(&mut self, what: &TraceAction<'_>) -> u32 {
        match what {
            TraceAction::Enter(_) => {
                self.depth = self.depth.saturating_add(1);
                self.depth - 1
            }
            TraceAction::Exit => {
                self.depth = self.depth.saturating_sub(1);
                self.depth
            }
            TraceAction::Tag(..) | TraceAction::Finish(_) => self.depth.saturating_sub(1),
        }
    }
}

/// Turns what a file holds into records.
struct TraceRecords<'a, 'o> {
    levels: &'a mut Levels,
    string_limit: usize,
    /// Nobody looks at single records.
    sums: bool,
    out: &'a mut (dyn RecordSink + 'o),
}

/// The sink wants no more records.
struct SinkBroke;

fn unless_broken(flow: Flow) -> Result<(), SinkBroke> {
    match flow {
        Flow::Continue(()) => Ok(()),
        Flow::Break(()) => Err(SinkBroke),
    }
}

impl TraceVisitor for TraceRecords<'_, '_> {
    type Stop = SinkBroke;

    fn header(&mut self, start: i64) -> Result<(), SinkBroke> {
        let offset = 0;
        unless_broken(self.out.record(&TraceHeader { offset, start }))
    }

    fn block(&mut self, offset: u64, block: Block) -> Result<(), SinkBroke> {
        self.levels.enter_block(block.thread_id);
        unless_broken(self.out.record(&BlockRecord { offset, block }))
    }

    #[inline]
    fn run(
        &mut self,
        cursor: &mut Cursor<'_>,
        start: i64,
        elapsed: &mut i32,
    ) -> Result<(), SinkBroke> {
        if !self.sums {
            return Ok(());
        }
        let sums = EventSums::of(
            cursor.rest(),
            self.string_limit,
            *elapsed,
            self.levels.depth,
        );
        let Some((least, most)) = sums.range else {
            return Ok(());
        };
        cursor.seek(cursor.position() + sums.len);
        (*elapsed, self.levels.depth) = (sums.elapsed, sums.depth);
        let time = |elapsed: i32| ns(start.saturating_add(i64::from(elapsed)));
        unless_broken(self.out.sums(&RecordSums {
            kinds: &[
                ("enter", sums.enters),
                ("exit", sums.exits),
                ("tag", sums.tags),
            ],
            end: cursor.offset(),
            time: Some((time(least), time(most))),
        }))
    }

    #[inline]
    fn event(&mut self, event: &TimedEvent<'_>) -> Result<(), SinkBroke> {
        let record = EventRecord {
            offset: event.offset,
            level: self.levels.level(&event.event.what),
            exact: !event.padded,
            event: event.event,
            raw: event.raw,
            time: event.time,
        };
        unless_broken(self.out.record(&record))
    }

    fn damaged(&mut self, damage: UnreadableBytes) -> Result<Resume, SinkBroke> {
        let UnreadableBytes { offset, rest, .. } = damage;
        let (what, error) = match damage.expected {
            TraceUnit::Header => ("trace header", damage.error),
            TraceUnit::Block => ("trace block", damage.error.within("trace block")),
            TraceUnit::Event => ("event", damage.error.within("event").within("trace block")),
        };
        let note = match error.kind() {
            ErrorKind::Unsupported => crate::damage("unknown_tag_type", offset, error.to_string()),
            _ => tail(what, &error, offset, rest),
        };
        let known_blocks = Vec::new();
        Ok(Resume::NextBlock { note, known_blocks })
    }

    fn skipped(&mut self, bytes: &Opaque<'_>) -> Result<(), SinkBroke> {
        unless_broken(self.out.record(bytes))
    }

    fn note(&mut self, note: Note) -> Result<(), SinkBroke> {
        unless_broken(self.out.note(note))
    }
}

struct TraceHeader {
    offset: u64,
    start: i64,
}

impl Record for TraceHeader {
    fn kind(&self) -> &'static str {
        "trace_header"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        8
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("timer_start", Field::I64(self.start));
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.start.to_be_bytes());
    }

    fn time(&self) -> Option<(i64, i64)> {
        Some((ns(self.start), ns(self.start)))
    }
}

struct BlockRecord {
    offset: u64,
    block: Block,
}

impl Record for BlockRecord {
    fn kind(&self) -> &'static str {
        "block"
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        BLOCK_HEAD as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        show("thread_id", Field::I64(self.block.thread_id));
        show("real_time", Field::I64(self.block.real_time));
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.block.write(out);
    }

    fn time(&self) -> Option<(i64, i64)> {
        let time = ns(self.block.real_time);
        Some((time, time))
    }
}

struct EventRecord<'a> {
    offset: u64,
    event: Event<'a>,
    raw: &'a [u8],
    exact: bool,
    time: i64,
    level: u32,
}

impl EventRecord<'_> {
    /// Returns true if the extension of `elapsed` is the one a writer would choose: none below 32, and
    /// no bits that the shift drops.
    fn canonical_elapsed(&self) -> bool {
        let Some((&header, rest)) = self.raw.split_first() else {
            return true;
        };
        if header & 3 == 3 || header & 0x80 == 0 {
            return true;
        }
        let extension = Cursor::new(rest, 0).varint32("elapsed").unwrap_or(0);
        !(0..32).contains(&self.event.elapsed)
            && extension == (self.event.elapsed >> 5).cast_unsigned()
    }
}

impl Record for EventRecord<'_> {
    fn kind(&self) -> &'static str {
        match self.event.what {
            TraceAction::Enter(_) => "enter",
            TraceAction::Exit => "exit",
            TraceAction::Tag(..) => "tag",
            TraceAction::Finish(_) => "finish",
        }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn len(&self) -> u64 {
        self.raw.len() as u64
    }

    fn fields(&self, show: &mut dyn FnMut(&str, Field<'_>)) {
        if let TraceAction::Finish(byte) = self.event.what {
            return show("header", Field::U64(u64::from(byte)));
        }
        show("level", Field::U64(u64::from(self.level)));
        let header = self.raw.first().copied().unwrap_or(0);
        show("header", Field::U64(u64::from(header)));
        show("elapsed", Field::I64(i64::from(self.event.elapsed)));
        show("time", Field::I64(self.time));
        match self.event.what {
            TraceAction::Enter(method) => {
                show("method", Field::Id("dictionary", u64::from(method)))
            }
            TraceAction::Exit | TraceAction::Finish(_) => {}
            TraceAction::Tag(id, value) => {
                show("tag", Field::Id("dictionary", u64::from(id)));
                show("value_type", Field::U64(u64::from(value.type_byte())));
                match value {
                    TagValue::Inline(value) | TagValue::Indexed(value) => {
                        show("value", Field::Utf16(value.0));
                    }
                    TagValue::Big(place) | TagValue::Deduplicated(place) => {
                        show("file_index", Field::U64(u64::from(place.file_index)));
                        show("value_offset", Field::U64(u64::from(place.offset)));
                    }
                }
            }
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        if self.exact && self.canonical_elapsed() {
            self.event.write(out);
        } else {
            out.extend_from_slice(self.raw);
        }
    }

    fn time(&self) -> Option<(i64, i64)> {
        match self.event.what {
            TraceAction::Finish(_) => None,
            _ => Some((ns(self.time), ns(self.time))),
        }
    }
}
