//! The walk over trace files: blocks, damage between them, events of one thread at a time (§6).

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use traceloom_model::{
    Attribute, Flow, Limit, Limits, Note, PartId, ResourceId, SpanId, StringId, Track, TrackId,
    ValueTypeId,
};

use super::calls::Counters;
use super::output::{Broken, Output};
use super::rows::{Key, Window};
use super::values::Values;
use super::words::Dictionary;
use crate::cdt::text;
use crate::cdt::trace::{
    BLOCK_HEAD, Block, Event, LOOK, TraceAction, partial_block, plausible_block,
};
use crate::wire::Cursor;
use crate::wire::units::{Passed, Recovery, Skip, Sync, tail};
use crate::{Error, ErrorKind, Opaque, Pull, Source};

/// How much of the trees the sink wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    /// Root calls.
    Roots,
    /// Enter and exit steps, with the rows of calls or without.
    Steps { calls: bool },
    /// Every span with its tags.
    Spans,
}

impl Depth {
    /// Returns `true` if the rows of calls are pushed with their tags, which without spans are those of the root.
    pub(super) const fn keeps_tags(self) -> bool {
        !matches!(self, Self::Steps { calls: false })
    }
}

/// An open method.
pub(super) struct Frame {
    pub(super) id: SpanId,
    pub(super) method: u32,
    pub(super) start: i64,
    /// Where its tags begin in the thread's list.
    pub(super) tags: usize,
}

/// An open root call.
pub(super) struct Root {
    pub(super) key: Key,
    pub(super) part: u32,
    pub(super) method: u32,
    pub(super) start: i64,
    pub(super) enters: u32,
    pub(super) red: bool,
}

pub(super) struct Thread {
    pub(super) id: i64,
    pub(super) track: TrackId,
    pub(super) named: bool,
    /// Open methods; in trees of steps their number is all that is kept.
    pub(super) depth: u32,
    pub(super) frames: Vec<Frame>,
    pub(super) tags: Vec<Attribute>,
    pub(super) root: Option<Root>,
    /// Time of the last enter or exit, milliseconds; the next one is not before it.
    pub(super) last: i64,
    /// Methods open beyond the depth limit.
    pub(super) beyond: u32,
    /// The next exit ends the call although methods around it are open: their exits are lost.
    pub(super) ends: bool,
}

/// What is left to read of a block, and where its calls begin.
pub(super) struct BlockProgress {
    pub(super) thread: usize,
    pub(super) offset: u32,
    pub(super) index: u32,
    pub(super) elapsed: i32,
    pub(super) roots: Vec<u32>,
    pub(super) next: usize,
}

impl BlockProgress {
    /// Returns true if a call is known to begin at the event, and goes on to the next one.
    #[inline]
    pub(super) fn begins_here(&mut self) -> bool {
        while let Some(&root) = self.roots.get(self.next) {
            if root > self.index {
                return false;
            }
            self.next += 1;
            if root == self.index {
                return true;
            }
        }
        false
    }
}

/// The walk over the trace.
pub(super) struct Walk<'a, 's, 'k> {
    pub(super) out: &'a mut Output<'k>,
    pub(super) words: &'a mut Dictionary,
    pub(super) values: &'a mut Values<'s>,
    pub(super) rows: &'a mut Window<'s>,
    pub(super) counters: &'a Counters,
    pub(super) depth: Depth,
    /// Values that are left out are looked at for the notes about them.
    pub(super) checks_values: bool,
    pub(super) tracks: Tracks,
    /// There are files of calls at all.
    pub(super) has_rows: bool,
    /// The one call to follow, instead of all.
    pub(super) only: Option<Key>,
    pub(super) done: bool,
    pub(super) threads: Vec<Thread>,
    pub(super) by_id: HashMap<i64, usize>,
    pub(super) string_limit: usize,
    pub(super) most_frames: u32,
    pub(super) file: u32,
    pub(super) part: u32,
    pub(super) start: i64,
    pub(super) block: Option<BlockProgress>,
    /// Offset of the block that is read.
    pub(super) here: u32,
    /// Calls that should have a row and have none so far.
    pub(super) bare: HashSet<Key>,
    pub(super) scratch: Scratch,
}

/// What every track shares, and tracks by the numbers of their names.
pub(super) struct Tracks {
    pub(super) resource: Option<ResourceId>,
    pub(super) by_name: HashMap<u32, TrackId>,
}

/// Lists that are filled for each call.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) numbers: Vec<(ValueTypeId, i64)>,
    pub(super) attributes: Vec<Attribute>,
}

/// Why reading a window stopped.
pub(super) enum Stop {
    /// More bytes are needed: consumed, and how many must follow.
    More(usize, usize),
    /// The file ends here.
    End,
    /// The block cannot be read on: consumed, and what is said of the bytes up to the next one.
    Damage(usize, Note),
    /// The sink broke, or the one call asked for is complete.
    Done,
}

/// An error, or the end of interest.
pub(super) enum Halt {
    Broken,
    Failed(Error),
}

impl From<Broken> for Halt {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of a walk, named once")]
pub(super) fn walk<'a, 's, 'k>(
    out: &'a mut Output<'k>,
    words: &'a mut Dictionary,
    values: &'a mut Values<'s>,
    rows: &'a mut Window<'s>,
    counters: &'a Counters,
    depth: Depth,
    resource: Option<ResourceId>,
    limits: &Limits,
) -> Walk<'a, 's, 'k> {
    Walk {
        checks_values: out.sink.asks().checks_values && depth != Depth::Spans,
        out,
        words,
        values,
        rows,
        counters,
        depth,
        tracks: Tracks {
            resource,
            by_name: HashMap::new(),
        },
        has_rows: true,
        only: None,
        done: false,
        threads: Vec::new(),
        by_id: HashMap::new(),
        string_limit: text::limit(limits),
        most_frames: u32::try_from(limits.of(Limit::Depth)).unwrap_or(u32::MAX),
        file: 0,
        part: 0,
        start: 0,
        block: None,
        here: 0,
        bare: HashSet::new(),
        scratch: Scratch::default(),
    }
}

impl<'s> Walk<'_, 's, '_> {
    /// Reads one file; with `from`, begins at the block there.
    pub(super) fn file(
        &mut self,
        source: &'s dyn Source,
        file: u32,
        part: usize,
        from: Option<u64>,
    ) -> Result<(), Halt> {
        self.file = file;
        self.part = u32::try_from(part).unwrap_or(u32::MAX);
        let mut pull = source.open(part, 0)?;
        let head = pull.pull(0, 8)?;
        let Some(start) = head.bytes.first_chunk::<8>() else {
            let size = head.bytes.len();
            if size > 0 {
                let text = format!("the file ends after {size} bytes of its timer start");
                self.note(crate::warn("partial_record", 0, text))?;
            }
            return Ok(());
        };
        self.start = i64::from_be_bytes(*start);
        let (mut consumed, mut need) = (8, 1);
        if let Some(from) = from {
            pull = source.open(part, from)?;
            consumed = 0;
        }
        loop {
            let chunk = pull.pull(consumed, need)?;
            let mut cursor = Cursor::new(chunk.bytes, chunk.offset);
            match self.window(&mut cursor, chunk.eof)? {
                Stop::More(taken, more) => (consumed, need) = (taken, more),
                Stop::End | Stop::Done => return Ok(()),
                Stop::Damage(taken, note) => {
                    (consumed, need) = match self.resume(pull.as_mut(), taken, note)? {
                        Some(taken) => (taken, 1),
                        None => return Ok(()),
                    };
                }
            }
            if self.done {
                return Ok(());
            }
        }
    }

    pub(super) fn window(&mut self, cursor: &mut Cursor<'_>, eof: bool) -> Result<Stop, Halt> {
        loop {
            let at = cursor.position();
            if self.block.is_none() {
                if cursor.is_empty() {
                    return Ok(if eof { Stop::End } else { Stop::More(at, 1) });
                }
                let offset = cursor.offset();
                match Block::read(cursor) {
                    Ok(block) => self.begin(block, offset)?,
                    Err(_) if !eof => return Ok(Stop::More(at, BLOCK_HEAD)),
                    Err(error) => {
                        let have = cursor.rest().len();
                        self.note(tail("trace block", &error, offset, have))?;
                        return Ok(Stop::End);
                    }
                }
                continue;
            }
            let Some(mut block) = self.block.take() else {
                continue;
            };
            let result = self.events(cursor, &mut block);
            if self.done {
                return Ok(Stop::Done);
            }
            match result? {
                None => {}
                Some(error) => {
                    let at = cursor.position();
                    let offset = cursor.offset();
                    let have = cursor.rest().len();
                    match error.kind() {
                        ErrorKind::Truncated { need } if !eof => {
                            self.block = Some(block);
                            return Ok(Stop::More(at, have.saturating_add(need)));
                        }
                        ErrorKind::Truncated { .. } => {
                            self.note(match have {
                                0 => partial_block(offset),
                                _ => tail("event", &error, offset, have),
                            })?;
                            return Ok(Stop::End);
                        }
                        _ => {
                            self.abandon(block.thread)?;
                            let kind = match error.kind() {
                                ErrorKind::Unsupported => "unknown_tag_type",
                                ErrorKind::Limit => "limit_string",
                                _ => "undecodable",
                            };
                            let text = format!("the rest of a trace block is lost: {error}");
                            return Ok(Stop::Damage(at, crate::damage(kind, offset, text)));
                        }
                    }
                }
            }
        }
    }

    /// Finds the next block after damage: where a row says there is one, or where it looks like one.
    fn resume(
        &mut self,
        pull: &mut dyn Pull,
        consumed: usize,
        note: Note,
    ) -> Result<Option<usize>, Halt> {
        let (mut consumed, mut need) = (consumed, LOOK);
        let mut skip = Skip::new((note, Recovery::Sync), false);
        let mut named: Option<Vec<u32>> = None;
        loop {
            let chunk = pull.pull(consumed, need)?;
            let named =
                named.get_or_insert_with(|| self.rows.offsets_after(self.file, chunk.offset));
            let mut cursor = Cursor::new(chunk.bytes, chunk.offset);
            let mut sync = |bytes: &[u8], offset: u64| {
                let is_named = u32::try_from(offset).is_ok_and(|o| named.binary_search(&o).is_ok());
                match plausible_block(bytes, self.start, chunk.eof) {
                    Some(true) => Sync::Hit,
                    Some(false) if is_named => Sync::Hit,
                    Some(false) => Sync::Miss,
                    None => Sync::Need(LOOK),
                }
            };
            let mut piece = |_: &Opaque<'_>| Flow::Continue(());
            match skip.pass(&mut cursor, chunk.eof, &mut sync, &mut piece) {
                Passed::Over(note) => {
                    let found = (!cursor.is_empty()).then(|| cursor.position());
                    self.note(note)?;
                    return Ok(found);
                }
                Passed::Need(more) => (consumed, need) = (cursor.position(), more),
                Passed::Stopped => return Ok(None),
            }
        }
    }

    pub(super) fn begin(&mut self, block: Block, offset: u64) -> Result<(), Halt> {
        self.rows.ahead()?;
        self.repeated(true)?;
        if self.out.tables.has_retired() {
            self.settle();
        }
        let mut notes = std::mem::take(&mut self.rows.notes);
        self.out.notes(&mut notes)?;
        let thread = self.thread(block.thread_id)?;
        let offset = u32::try_from(offset).unwrap_or(u32::MAX);
        self.here = offset;
        let roots = self.rows.roots(self.file, offset).to_vec();
        self.block = Some(BlockProgress {
            thread,
            offset,
            index: 0,
            elapsed: 0,
            roots,
            next: 0,
        });
        Ok(())
    }

    /// Lets values go that no open call has and that are not near enough to be met again.
    fn settle(&mut self) {
        let mut held: std::collections::HashSet<StringId, _> = self.values.known().collect();
        let open = self.threads.iter().flat_map(|thread| &thread.tags);
        for tag in open {
            tag.value.each_string(&mut |id| {
                held.insert(id);
            });
        }
        self.out.tables.settle(&held);
    }

    pub(super) fn thread(&mut self, id: i64) -> Result<usize, Halt> {
        if let Some(&at) = self.by_id.get(&id) {
            return Ok(at);
        }
        let at = self.threads.len();
        let track = self.out.tables.new_track(Track {
            resource: self.tracks.resource,
            id: u64::try_from(id).ok(),
            ..Track::default()
        });
        self.threads.push(Thread {
            id,
            track,
            named: false,
            depth: 0,
            frames: Vec::new(),
            tags: Vec::new(),
            root: None,
            last: i64::MIN,
            beyond: 0,
            ends: false,
        });
        self.by_id.insert(id, at);
        Ok(at)
    }

    pub(super) fn note(&mut self, note: Note) -> Result<(), Halt> {
        let note = Note {
            part: PartId(self.part),
            ..note
        };
        Ok(self.out.note(note)?)
    }

    /// Reads events to the end of the block; an error leaves the cursor before the event.
    pub(super) fn events(
        &mut self,
        cursor: &mut Cursor<'_>,
        block: &mut BlockProgress,
    ) -> Result<Option<Error>, Halt> {
        let runs = self.depth != Depth::Spans;
        loop {
            if runs {
                self.run(cursor, block);
            }
            let (at, offset) = (cursor.position(), cursor.offset());
            let event = match Event::read(cursor, self.string_limit) {
                Ok(event) => event,
                Err(error) => {
                    cursor.seek(at);
                    return Ok(Some(error));
                }
            };
            if let TraceAction::Finish(_) = event.what {
                return Ok(None);
            }
            block.elapsed = block.elapsed.wrapping_add(event.elapsed);
            let time = self.start.saturating_add(i64::from(block.elapsed));
            if self.passes(block) {
                match event.what {
                    TraceAction::Enter(method) => self.enter(block, method, time, offset)?,
                    TraceAction::Exit => self.exit(block.thread, time, offset)?,
                    TraceAction::Tag(id, value) => {
                        self.tag(block.thread, id, value, time, offset)?
                    }
                    TraceAction::Finish(_) => {}
                }
                if self.done {
                    return Ok(None);
                }
            }
            block.index = block.index.wrapping_add(1);
        }
    }

    /// Returns true if the event belongs to the one call asked for, if one is.
    #[inline]
    pub(super) fn passes(&self, block: &BlockProgress) -> bool {
        let Some(only) = self.only else { return true };
        let first = (self.file, block.offset) == (only.file, only.block);
        if first {
            return block.index >= only.index;
        }
        self.threads
            .get(block.thread)
            .is_some_and(|thread| thread.depth > 0)
    }

    /// Follows only the call that begins at `key`.
    pub(super) fn only(&mut self, key: Key) {
        self.only = Some(key);
    }

    /// Returns true if the call asked for is complete.
    pub(super) const fn is_done(&self) -> bool {
        self.done
    }
}
