//! From bytes to events: the one loop over a trace file, for `dump` and for lowering (§6).

use traceloom_model::{Flow, Note};

use super::{Block, Event, LOOK, TraceAction, plausible_block};
use crate::wire::Cursor;
use crate::wire::units::{Passed, Recovery, Skip, Sync};
use crate::{Chunk, Error, ErrorKind, Opaque, Step};

/// Takes what a trace file holds, in its order.
pub(in crate::cdt) trait TraceVisitor {
    /// Why reading ends before the file does.
    type Stop;

    /// Takes the timer's start, epoch milliseconds: the first eight bytes.
    fn header(&mut self, start: i64) -> Result<(), Self::Stop>;

    /// Takes the head of a block.
    fn block(&mut self, offset: u64, block: Block) -> Result<(), Self::Stop>;

    /// Reads events of the block as far as they are plain, in a loop of its own, and adds their time to
    /// `elapsed`, the milliseconds since `start`.
    ///
    /// # Errors
    /// As for single events.
    #[inline]
    fn run(
        &mut self,
        _cursor: &mut Cursor<'_>,
        _start: i64,
        _elapsed: &mut i32,
    ) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// Takes an event of the block; the last one is its finish.
    fn event(&mut self, event: &TimedEvent<'_>) -> Result<(), Self::Stop>;

    /// Takes bytes that nothing can be read from, and decides how reading goes on.
    fn damaged(&mut self, damage: UnreadableBytes) -> Result<Resume, Self::Stop>;

    /// Takes bytes between damage and the next block.
    fn skipped(&mut self, bytes: &Opaque<'_>) -> Result<(), Self::Stop>;

    /// Takes a note.
    fn note(&mut self, note: Note) -> Result<(), Self::Stop>;
}

/// An event with its place and time.
pub(in crate::cdt) struct TimedEvent<'a> {
    pub(in crate::cdt) offset: u64,
    pub(in crate::cdt) event: Event<'a>,
    /// Epoch milliseconds.
    pub(in crate::cdt) time: i64,
    /// Its bytes.
    pub(in crate::cdt) raw: &'a [u8],
    /// A varint in it is longer than it needs to be.
    pub(in crate::cdt) padded: bool,
}

/// Bytes that nothing can be read from.
pub(in crate::cdt) struct UnreadableBytes {
    /// What should be there.
    pub(in crate::cdt) expected: TraceUnit,
    pub(in crate::cdt) error: Error,
    pub(in crate::cdt) offset: u64,
    /// How many bytes of the input are known from there on; at its end, all that are left.
    pub(in crate::cdt) rest: usize,
}

/// What damage makes unreadable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::cdt) enum TraceUnit {
    /// The timer's start.
    Header,
    /// The head of a block.
    Block,
    /// An event, and what follows it in its block.
    Event,
}

/// How reading goes on after damage.
pub(in crate::cdt) enum Resume {
    /// At the next block: at one of these offsets, in ascending order, or where bytes look like one.
    NextBlock {
        /// What is said of the bytes up to there.
        note: Note,
        known_blocks: Vec<u32>,
    },
    /// Not at all.
    End,
}

/// The reader of a trace file.
#[derive(Clone)]
pub(in crate::cdt) struct BlockReader {
    string_limit: usize,
    /// The timer's start, once it is read.
    start: Option<i64>,
    in_block: bool,
    /// Milliseconds from the timer's start to the last event of the block.
    elapsed: i32,
    resync: Option<Resync>,
}

/// The way from damage to the next block.
#[derive(Clone)]
struct Resync {
    skip: Skip,
    known_blocks: Vec<u32>,
}

impl BlockReader {
    /// Begins at the head of a file; strings longer than `string_limit` bytes are damage.
    pub(in crate::cdt) const fn new(string_limit: usize) -> Self {
        Self {
            string_limit,
            start: None,
            in_block: false,
            elapsed: 0,
            resync: None,
        }
    }

    /// Begins at a block instead of at the head of the file, whose timer start is `start`.
    pub(in crate::cdt) const fn at_block(string_limit: usize, start: i64) -> Self {
        let mut reader = Self::new(string_limit);
        reader.start = Some(start);
        reader
    }

    /// Reads what `chunk` holds whole.
    ///
    /// # Errors
    /// What the visitor stops with.
    pub(in crate::cdt) fn read<V: TraceVisitor>(
        &mut self,
        chunk: Chunk<'_>,
        visitor: &mut V,
    ) -> Result<Step, V::Stop> {
        let mut cursor = Cursor::new(chunk.bytes, chunk.offset);
        loop {
            if let Some(need) = self.resynchronise(&mut cursor, chunk.eof, visitor)? {
                let consumed = cursor.position();
                return Ok(Step::More { consumed, need });
            }
            if cursor.is_empty() {
                if chunk.eof && self.in_block {
                    visitor.note(partial_block(cursor.offset()))?;
                }
                let consumed = cursor.position();
                return Ok(Step::More { consumed, need: 1 });
            }
            let Some((expected, error)) = self.unit(&mut cursor, visitor)? else {
                continue;
            };
            let consumed = cursor.position();
            let rest = cursor.rest().len();
            if let (ErrorKind::Truncated { need }, false) = (error.kind(), chunk.eof) {
                let need = rest.saturating_add(need);
                return Ok(Step::More { consumed, need });
            }
            // Where the input ends between two events, nothing is damaged.
            if rest == 0 {
                continue;
            }
            self.in_block = false;
            let offset = cursor.offset();
            let damage = UnreadableBytes {
                expected,
                error,
                offset,
                rest,
            };
            match visitor.damaged(damage)? {
                Resume::NextBlock { note, known_blocks } => {
                    let skip = Skip::new((note, Recovery::Sync), false);
                    self.resync = Some(Resync { skip, known_blocks });
                }
                Resume::End => {
                    let consumed = chunk.bytes.len();
                    return Ok(Step::More { consumed, need: 1 });
                }
            }
        }
    }

    /// Reads the timer's start, the head of a block, or events to the end of the block. An error leaves
    /// the cursor before what cannot be read.
    #[inline(always)]
    fn unit<V: TraceVisitor>(
        &mut self,
        cursor: &mut Cursor<'_>,
        visitor: &mut V,
    ) -> Result<Option<(TraceUnit, Error)>, V::Stop> {
        let (at, offset) = (cursor.position(), cursor.offset());
        let Some(start) = self.start else {
            return match cursor.i64_be("timer start") {
                Ok(start) => {
                    self.start = Some(start);
                    visitor.header(start).map(|()| None)
                }
                Err(error) => {
                    cursor.seek(at);
                    Ok(Some((TraceUnit::Header, error)))
                }
            };
        };
        if self.in_block {
            let error = self.events(start, cursor, visitor)?;
            return Ok(error.map(|error| (TraceUnit::Event, error)));
        }
        match Block::read(cursor) {
            Ok(block) => {
                self.in_block = true;
                self.elapsed = 0;
                visitor.block(offset, block).map(|()| None)
            }
            Err(error) => {
                cursor.seek(at);
                Ok(Some((TraceUnit::Block, error)))
            }
        }
    }

    /// Reads events to the end of the block; an error leaves the cursor before the event.
    #[inline(always)]
    fn events<V: TraceVisitor>(
        &mut self,
        start: i64,
        cursor: &mut Cursor<'_>,
        visitor: &mut V,
    ) -> Result<Option<Error>, V::Stop> {
        loop {
            visitor.run(cursor, start, &mut self.elapsed)?;
            let (at, offset) = (cursor.position(), cursor.offset());
            let event = match Event::read(cursor, self.string_limit) {
                Ok(event) => event,
                Err(error) => {
                    cursor.seek(at);
                    return Ok(Some(error));
                }
            };
            self.elapsed = self.elapsed.wrapping_add(event.elapsed);
            let timed = TimedEvent {
                offset,
                event,
                time: start.saturating_add(i64::from(self.elapsed)),
                raw: cursor.slice(at, cursor.position()),
                padded: cursor.take_padded(),
            };
            visitor.event(&timed)?;
            if let TraceAction::Finish(_) = event.what {
                self.in_block = false;
                return Ok(None);
            }
        }
    }

    /// Passes over damage, if the reader is in any; returns the length of the window it needs to go on.
    fn resynchronise<V: TraceVisitor>(
        &mut self,
        cursor: &mut Cursor<'_>,
        eof: bool,
        visitor: &mut V,
    ) -> Result<Option<usize>, V::Stop> {
        let Some(Resync { skip, known_blocks }) = &mut self.resync else {
            return Ok(None);
        };
        let start = self.start.unwrap_or(0);
        let mut sync = |bytes: &[u8], offset: u64| {
            let is_known = u32::try_from(offset)
                .is_ok_and(|offset| known_blocks.binary_search(&offset).is_ok());
            match plausible_block(bytes, start, eof) {
                Some(false) if !is_known => Sync::Miss,
                None => Sync::Need(LOOK),
                Some(_) => Sync::Hit,
            }
        };
        let mut stop = None;
        let mut piece = |bytes: &Opaque<'_>| match visitor.skipped(bytes) {
            Ok(()) => Flow::Continue(()),
            Err(reason) => {
                stop = Some(reason);
                Flow::Break(())
            }
        };
        let passed = skip.pass(cursor, eof, &mut sync, &mut piece);
        if let Some(stop) = stop {
            return Err(stop);
        }
        match passed {
            Passed::Need(need) => return Ok(Some(need)),
            Passed::Over(note) => {
                self.resync = None;
                visitor.note(note)?;
            }
            // Only the visitor stops it, which returned above.
            Passed::Stopped => self.resync = None,
        }
        Ok(None)
    }
}

/// The note for a file whose last block has no end.
fn partial_block(offset: u64) -> Note {
    let text = "the input ends inside a trace block, between two events";
    crate::warn("partial_block", offset, text)
}
