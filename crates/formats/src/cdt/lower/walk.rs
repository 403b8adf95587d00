//! From the events of trace files to the model: one thread at a time, in calls and trees (§6).

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use traceloom_model::bounds::{saturated_u32, subslice};
use traceloom_model::{
    Attribute, Limit, Limits, Note, PartId, ResourceId, SpanId, StringId, Tables, Track, TrackId,
    Value, ValueTypeId,
};

use super::calls::CounterTypes;
use super::output::{Broken, Output};
use super::plain::{PlainRules, PlainSteps};
use super::rows::{CallPosition, TreeRows};
use super::values::Values;
use super::words::Dictionary;
use crate::cdt::text;
use crate::cdt::trace::blocks::{
    BlockReader, Resume, TimedEvent, TraceUnit, TraceVisitor, UnreadableBytes,
};
use crate::cdt::trace::{Block, TraceAction};
use crate::codec::Ahead;
use crate::codec::each_window;
use crate::wire::units::tail;
use crate::wire::{Cursor, Utf16};
use crate::{Error, ErrorKind, Opaque, Source, Step};

/// How much of the trees the sink wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Depth {
    /// Root calls.
    Roots,
    /// Enter and exit steps, with the rows of calls or without.
    Steps { calls: bool },
    /// Every span with its tags, and its steps or not.
    Spans { steps: bool },
}

impl Depth {
    /// Returns `true` if steps are pushed.
    pub(super) const fn has_steps(self) -> bool {
        matches!(self, Self::Steps { .. } | Self::Spans { steps: true })
    }

    /// Returns `true` if every span is pushed.
    pub(super) const fn has_spans(self) -> bool {
        matches!(self, Self::Spans { .. })
    }

    /// Returns `true` if the rows of calls are pushed with their tags, which without spans are those of the root.
    pub(super) const fn keeps_tags(self) -> bool {
        !matches!(self, Self::Steps { calls: false })
    }
}

/// An open method.
pub(super) struct OpenMethod {
    pub(super) id: SpanId,
    pub(super) method: u32,
    pub(super) start: i64,
    /// Where its tags begin in the thread's list.
    pub(super) tags: usize,
}

/// An open root call.
pub(super) struct Root {
    pub(super) key: CallPosition,
    pub(super) part: u32,
    pub(super) method: u32,
    pub(super) start: i64,
    pub(super) enters: u32,
    pub(super) red: bool,
}

pub(super) struct TraceThread {
    pub(super) id: i64,
    pub(super) track: TrackId,
    pub(super) named: bool,
    /// Open methods; in trees of steps their number is all that is kept.
    pub(super) depth: u32,
    pub(super) frames: Vec<OpenMethod>,
    pub(super) tags: Vec<Attribute>,
    /// Texts of tags of the call that nobody may want.
    pub(super) texts: PendingTexts,
    pub(super) root: Option<Root>,
    /// Time of the last enter or exit, milliseconds; the next one is not before it.
    pub(super) last: i64,
    /// Methods open beyond the depth limit.
    pub(super) beyond: u32,
    /// The next exit ends the call although methods around it are open: their exits are lost.
    pub(super) ends: bool,
}

/// Texts that become values once their call has ended, if anybody wants them then.
#[derive(Default)]
pub(super) struct PendingTexts {
    bytes: Vec<u8>,
    /// Numbers of the tags, each with the end of its bytes.
    tags: Vec<(usize, usize)>,
}

impl PendingTexts {
    /// Bytes that may wait.
    const MOST: usize = 64 << 10;

    /// Keeps the text of a tag; returns false if there is no room for it.
    pub(super) fn push(&mut self, tag: usize, text: Utf16<'_>) -> bool {
        let end = self.bytes.len().saturating_add(text.0.len());
        let has_room = end <= Self::MOST;
        if has_room {
            self.bytes.extend_from_slice(text.0);
            self.tags.push((tag, end));
        }
        has_room
    }

    /// Puts the texts into their tags and is empty then.
    pub(super) fn put(&mut self, tags: &mut [Attribute], tables: &mut Tables) {
        let mut start = 0;
        for &(tag, end) in &self.tags {
            let text = Utf16(subslice(&self.bytes, start..end)).to_wtf8();
            if let Some(tag) = tags.get_mut(tag) {
                tag.value = Value::Text(tables.value(&text));
            }
            start = end;
        }
        self.clear();
    }

    /// Forgets the texts.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.tags.clear();
    }
}

/// What is left to read of a block, and where its calls begin.
#[derive(Default)]
pub(super) struct BlockProgress {
    pub(super) thread: usize,
    pub(super) offset: u32,
    pub(super) index: u32,
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
    pub(super) rows: &'a mut TreeRows<'s>,
    pub(super) counters: &'a CounterTypes,
    pub(super) depth: Depth,
    /// Values that are left out are looked at for the notes about them.
    pub(super) checks_values: bool,
    /// Nobody takes rows.
    pub(super) notes_only: bool,
    pub(super) tracks: TracksByThread,
    /// There are files of calls at all.
    pub(super) has_rows: bool,
    /// The one call to follow, instead of all.
    pub(super) only: Option<CallPosition>,
    pub(super) done: bool,
    pub(super) threads: Vec<TraceThread>,
    pub(super) by_id: HashMap<i64, usize>,
    pub(super) string_limit: usize,
    pub(super) most_frames: u32,
    pub(super) plain: PlainRules,
    pub(super) ahead: Ahead<'s, PlainSteps>,
    pub(super) file: u32,
    pub(super) part: u32,
    pub(super) start: i64,
    /// Offset of the block that is read.
    pub(super) here: u32,
    /// Calls that should have a row and have none so far.
    pub(super) bare: HashSet<CallPosition>,
    pub(super) scratch: Scratch,
}

/// What every track shares, and tracks by the numbers of their names; `None` is a thread without a name.
pub(super) struct TracksByThread {
    pub(super) resource: Option<ResourceId>,
    pub(super) by_name: HashMap<Option<u32>, TrackId>,
}

/// Lists that are filled for each call.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) numbers: Vec<(ValueTypeId, i64)>,
    pub(super) attributes: Vec<Attribute>,
}

/// Where the block of the one call to follow begins, and the timer start of its file.
pub(super) struct FirstBlock {
    pub(super) offset: u64,
    pub(super) timer_start: i64,
}

/// An error, or the end of interest.
pub(super) enum Halt {
    /// The sink wants no more.
    Broken,
    /// The one call asked for is complete.
    Done,
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
    rows: &'a mut TreeRows<'s>,
    counters: &'a CounterTypes,
    depth: Depth,
    resource: Option<ResourceId>,
    limits: &Limits,
) -> Walk<'a, 's, 'k> {
    Walk {
        checks_values: out.sink.asks().checks_values && !depth.has_spans(),
        notes_only: out.sink.asks().notes_only,
        plain: PlainRules::new(words, limits),
        ahead: Ahead::nothing(),
        out,
        words,
        values,
        rows,
        counters,
        depth,
        tracks: TracksByThread {
            resource,
            by_name: HashMap::new(),
        },
        has_rows: true,
        only: None,
        done: false,
        threads: Vec::new(),
        by_id: HashMap::new(),
        string_limit: text::limit(limits),
        most_frames: saturated_u32(limits.of(Limit::Depth)),
        file: 0,
        part: 0,
        start: 0,
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
        from: Option<FirstBlock>,
    ) -> Result<(), Halt> {
        self.file = file;
        self.part = PartId::nth(part).0;
        let offset = from.as_ref().map_or(0, |first| first.offset);
        let mut reader = match from {
            Some(first) => {
                self.start = first.timer_start;
                BlockReader::at_block(self.string_limit, first.timer_start)
            }
            None => BlockReader::new(self.string_limit),
        };
        let mut pull = source.open(part, offset)?;
        let mut lowering = TraceLowering {
            walk: self,
            block: BlockProgress::default(),
        };
        let mut halted = Ok(());
        each_window(pull.as_mut(), 1, |window| {
            reader.read(window, &mut lowering).unwrap_or_else(|halt| {
                halted = Err(halt);
                Step::Stop
            })
        })?;
        match halted {
            Err(Halt::Done) => Ok(()),
            halted => halted,
        }
    }

    /// Makes ready for the events of a block.
    fn begin(&mut self, block: Block, offset: u64) -> Result<BlockProgress, Halt> {
        self.rows.ahead()?;
        self.repeated(true)?;
        if self.out.tables.has_retired() {
            self.settle();
        }
        let mut notes = std::mem::take(&mut self.rows.notes);
        self.out.notes(&mut notes)?;
        let thread = self.thread(block.thread_id)?;
        let offset = saturated_u32(offset);
        self.here = offset;
        let roots = self.rows.roots(self.file, offset).to_vec();
        Ok(BlockProgress {
            thread,
            offset,
            index: 0,
            roots,
            next: 0,
        })
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
        self.threads.push(TraceThread {
            id,
            track,
            named: false,
            depth: 0,
            frames: Vec::new(),
            tags: Vec::new(),
            texts: PendingTexts::default(),
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
    pub(super) fn only(&mut self, key: CallPosition) {
        self.only = Some(key);
    }

    /// Returns true if the call asked for is complete.
    pub(super) const fn is_done(&self) -> bool {
        self.done
    }
}

/// Turns the events of one file into trees and calls.
struct TraceLowering<'w, 'a, 's, 'k> {
    walk: &'w mut Walk<'a, 's, 'k>,
    block: BlockProgress,
}

impl TraceVisitor for TraceLowering<'_, '_, '_, '_> {
    type Stop = Halt;

    fn header(&mut self, start: i64) -> Result<(), Halt> {
        self.walk.start = start;
        Ok(())
    }

    fn block(&mut self, offset: u64, block: Block) -> Result<(), Halt> {
        self.block = self.walk.begin(block, offset)?;
        Ok(())
    }

    #[inline(always)]
    fn run(
        &mut self,
        cursor: &mut Cursor<'_>,
        _start: i64,
        elapsed: &mut i32,
    ) -> Result<(), Self::Stop> {
        match self.walk.depth {
            Depth::Roots => self.walk.pass_plain(cursor, &mut self.block, elapsed),
            Depth::Steps { .. } => self.walk.run(cursor, &mut self.block, elapsed),
            Depth::Spans { .. } => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn event(&mut self, event: &TimedEvent<'_>) -> Result<(), Halt> {
        let (time, offset) = (event.time, event.offset);
        let (walk, block) = (&mut *self.walk, &mut self.block);
        if walk.passes(block) {
            match event.event.what {
                TraceAction::Enter(method) => walk.enter(block, method, time, offset)?,
                TraceAction::Exit => walk.exit(block.thread, time, offset)?,
                TraceAction::Tag(id, value) => walk.tag(block.thread, id, value, time, offset)?,
                TraceAction::Finish(_) => {}
            }
            if walk.done {
                return Err(Halt::Done);
            }
        }
        block.index = block.index.wrapping_add(1);
        Ok(())
    }

    fn damaged(&mut self, damage: UnreadableBytes) -> Result<Resume, Halt> {
        let UnreadableBytes {
            expected,
            error,
            offset,
            rest,
        } = damage;
        let cut = match (expected, error.kind()) {
            (TraceUnit::Header, _) => {
                let text = format!("the file ends after {rest} bytes of its timer start");
                Some(crate::warn("partial_record", offset, text))
            }
            (TraceUnit::Block, _) => Some(tail("trace block", &error, offset, rest)),
            (TraceUnit::Event, ErrorKind::Truncated { .. }) => {
                Some(tail("event", &error, offset, rest))
            }
            (TraceUnit::Event, _) => None,
        };
        if let Some(note) = cut {
            self.walk.note(note)?;
            return Ok(Resume::End);
        }
        self.walk.abandon(self.block.thread)?;
        let kind = match error.kind() {
            ErrorKind::Unsupported => "unknown_tag_type",
            ErrorKind::Limit => "limit_string",
            _ => "undecodable",
        };
        let text = format!("the rest of a trace block is lost: {error}");
        Ok(Resume::NextBlock {
            note: crate::damage(kind, offset, text),
            known_blocks: self.walk.rows.offsets_after(self.walk.file, offset),
        })
    }

    fn skipped(&mut self, _bytes: &Opaque<'_>) -> Result<(), Halt> {
        Ok(())
    }

    fn note(&mut self, note: Note) -> Result<(), Halt> {
        self.walk.note(note)
    }
}
