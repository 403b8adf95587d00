//! Folded stacks to the model: a profile with the column `samples`, or `before` and `after` for a comparison.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::bounds::subslice;
use traceloom_model::{
    Asks, Attribute, BATCH_ROWS, Clock, Flow, Frame, FrameId, Function, FunctionId, Limit, Limits,
    Order, PartId, PathBatch, Profile, ProfileId, Resource, ResourceId, SampleBatch, SampleRow,
    Sink, Spot, Stack, StackId, Tables, Track, TrackId, Unit, Value, ValueType,
};

use super::frame::{Owner, owner, parts};
use super::read::{compares, no_count, split_count};
use super::value::{AFTER, BEFORE, NO_STACK, SAMPLES};
use crate::text::lines::{Line, each};
use crate::{Error, LowerOptions, Source, damage, warn};

/// Lines that are looked at before a file counts as a comparison.
const LOOKED_AT: usize = 1000;

/// Lowers every part of a source, each a profile of its own.
///
/// # Errors
/// What the source fails with.
pub fn lower(
    source: &dyn Source,
    options: &LowerOptions,
    sink: &mut dyn Sink,
) -> Result<(), Error> {
    sink.begin(Order::Nested, Clock::Unix);
    let mut stacks = StackTrie::new(&options.limits, Rows::of(&sink.asks()));
    for part in 0..source.parts().len() {
        stacks.pair = is_comparison(source, part, options)?;
        let names: &[&str] = match stacks.pair {
            true => &[BEFORE, AFTER],
            false => &[SAMPLES],
        };
        let columns = names.iter().map(|name| {
            let name = stacks.model.string(name);
            stacks.model.value_type(ValueType::sum(name, Unit::Count))
        });
        let value_types: Vec<_> = columns.collect();
        let width = value_types.len();
        let profile = stacks.model.profile(Profile {
            value_types,
            ..Profile::default()
        });
        let mut batch = LineBatch::new(profile, width);
        // Of another profile they are told again.
        stacks.told = 0;
        let id = PartId::nth(part);
        let place = |note| traceloom_model::Note { part: id, ..note };
        let mut pull = source.open(part, 0)?;
        let whole = each(pull.as_mut(), &options.limits, &mut |line| {
            let line = match line {
                Ok(line) => line,
                Err(note) => return sink.note(place(note)),
            };
            match stacks.line(&line, &mut batch) {
                Ok(()) => {}
                Err(note) => sink.note(place(note))?,
            }
            if batch.len() >= BATCH_ROWS {
                stacks.flush(&mut batch, sink)?;
            }
            Flow::Continue(())
        })?;
        if !whole || stacks.flush(&mut batch, sink).is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns `true` if every line among the first ends in two numbers, as lines of `difffolded.pl` do: one alone may
/// belong to a function whose name ends in a number.
fn is_comparison(source: &dyn Source, part: usize, options: &LowerOptions) -> Result<bool, Error> {
    let mut pull = source.open(part, 0)?;
    let (mut seen, mut pairs) = (0, 0);
    each(pull.as_mut(), &options.limits, &mut |line| {
        if let Ok(line) = line
            && let Some((stack, _)) = split_count(line.text)
        {
            seen += 1;
            pairs += usize::from(compares(stack));
        }
        if seen < LOOKED_AT && seen == pairs {
            Flow::Continue(())
        } else {
            Flow::Break(())
        }
    })?;
    Ok(seen > 0 && seen == pairs)
}

/// What becomes of lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Samples with stacks of the table.
    Stacks,
    /// Samples with their frames, and no table of stacks.
    Paths,
    /// Samples without stacks.
    Values,
    /// Nothing but notes.
    None,
}

impl Rows {
    /// Returns what a sink has use for; lines have no time.
    fn of(asks: &Asks) -> Self {
        if asks.notes_only {
            Self::None
        } else if asks.amounts_only || asks.stacks && !asks.timeless_stacks {
            Self::Values
        } else if asks.stacks || asks.labels {
            Self::Stacks
        } else {
            Self::Paths
        }
    }
}

/// Samples on their way to the sink, with stacks of the table or with paths.
struct LineBatch {
    profile: ProfileId,
    width: usize,
    samples: SampleBatch,
    paths: PathBatch,
}

impl LineBatch {
    fn new(profile: ProfileId, width: usize) -> Self {
        Self {
            profile,
            width,
            samples: SampleBatch::new(profile, width),
            paths: PathBatch::new(profile, width),
        }
    }

    fn len(&self) -> usize {
        self.samples.len() + self.paths.len()
    }
}

/// The stacks met so far.
///
/// Tools write lines in the order of their text, so most of a line is the beginning of the one before:
/// its stacks are taken from there and only the rest is looked up.
struct StackTrie {
    model: Tables,
    rows: Rows,
    frames: HashMap<Box<[u8]>, FrameId, RandomState>,
    /// The functions of frames by their number, and how many of them were told.
    functions: Vec<FunctionId>,
    told: usize,
    stacks: HashMap<(Option<StackId>, FrameId), StackId, RandomState>,
    owners: HashMap<(OwnerId, Box<[u8]>), OwnerId, RandomState>,
    /// The stack of the line before, and what holds after each of its frames.
    before: Vec<u8>,
    ends: Vec<TrieDepth>,
    owner: OwnerId,
    depth: usize,
    room: usize,
    /// Lines end in two numbers.
    pair: bool,
}

/// What holds after a frame.
#[derive(Clone, Copy)]
struct TrieDepth {
    /// Where the frame ends in the line.
    end: usize,
    /// None for one that names the process or thread.
    frame: Option<FrameId>,
    stack: Option<StackId>,
    owner: OwnerId,
}

/// The process and thread that leading frames name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct OwnerId {
    process: Option<ResourceId>,
    track: Option<TrackId>,
}

impl StackTrie {
    fn new(limits: &Limits, rows: Rows) -> Self {
        Self {
            model: Tables::new(),
            rows,
            frames: HashMap::default(),
            functions: Vec::new(),
            told: 0,
            stacks: HashMap::default(),
            owners: HashMap::default(),
            before: Vec::new(),
            ends: Vec::new(),
            owner: OwnerId::default(),
            depth: limits.size(Limit::Depth),
            room: limits.size(Limit::Table),
            pair: false,
        }
    }

    fn line(
        &mut self,
        line: &Line<'_>,
        batch: &mut LineBatch,
    ) -> Result<(), traceloom_model::Note> {
        if line.text.trim_ascii().is_empty() {
            return Ok(());
        }
        let Some((stack, count)) = split_count(line.text) else {
            return if line.text.starts_with(b"#") {
                Ok(())
            } else {
                Err(no_count(line))
            };
        };
        let mut note = None;
        let last = number(count, line.offset, &mut note);
        let (stack, values) =
            match split_count(stack).filter(|(stack, _)| self.pair && !stack.is_empty()) {
                Some((stack, count)) => (stack, [number(count, line.offset, &mut note), last]),
                None => {
                    if self.pair {
                        let text =
                            "a line of a comparison has one number, which counts as the one after";
                        note = Some(warn("one_number", line.offset, text));
                        (stack, [0, last])
                    } else {
                        (stack, [last, 0])
                    }
                }
            };
        let found = self.stack(stack);
        if found.limited {
            let text = "a stack has too many frames, the innermost are cut off";
            note = Some(damage("limit_depth", line.offset, text));
        }
        let values = values.get(..batch.width).unwrap_or(&values);
        match self.rows {
            Rows::None => {}
            Rows::Paths => {
                let frames = self.ends.iter().rev().filter_map(|place| place.frame);
                batch.paths.extend_sites(frames.map(FrameId::raw));
                batch.paths.push(values);
            }
            Rows::Stacks | Rows::Values => batch.samples.push(&SampleRow {
                stack: found.stack,
                values,
                time: None,
                track: self.owner.track,
                span: None,
                labels: &[],
            }),
        }
        note.map_or(Ok(()), Err)
    }

    fn stack(&mut self, text: &[u8]) -> ParsedStack {
        let text = if text == NO_STACK { b"" } else { text };
        let shared = common(&self.before, text);
        // A frame of the line before is one of this line where both go on the same way after it.
        let whole = |end: usize| end <= shared && matches!(text.get(end), None | Some(b';'));
        let kept = self
            .ends
            .iter()
            .take_while(|place| whole(place.end))
            .count();
        self.ends.truncate(kept);
        let (mut at, mut stack) = (0, None);
        self.owner = OwnerId::default();
        if let Some(last) = self.ends.last() {
            (at, stack) = (last.end + 1, last.stack);
            self.owner = last.owner;
        }
        let mut limited = false;
        // A stack that ends in `;` has a last frame without a name.
        while at < text.len() || (at == text.len() && text.last() == Some(&b';')) {
            let rest = subslice(text, at..);
            let len = memchr::memchr(b';', rest).unwrap_or(rest.len());
            let frame = rest.get(..len).unwrap_or(rest);
            let leading = self.ends.last().is_none_or(|last| last.frame.is_none());
            let mut called = None;
            if !(leading && self.ends.len() < 2 && self.owned(frame)) {
                if self.ends.len() >= self.depth || self.is_full() {
                    limited = true;
                    break;
                }
                let frame = self.frame(frame);
                stack = self.call(stack, frame);
                called = Some(frame);
            }
            self.ends.push(TrieDepth {
                end: at + len,
                frame: called,
                stack,
                owner: self.owner,
            });
            at += len + 1;
        }
        self.before.clear();
        self.before.extend_from_slice(text);
        ParsedStack { stack, limited }
    }

    /// Returns true if there is no room for another stack, or another frame of paths.
    fn is_full(&self) -> bool {
        self.stacks.len().max(self.frames.len()) >= self.room
    }

    fn frame(&mut self, text: &[u8]) -> FrameId {
        if let Some(&frame) = self.frames.get(text) {
            return frame;
        }
        let parts = parts(text);
        let name = self.model.bytes(parts.name);
        let file = parts.file.map(|file| self.model.bytes(file));
        let function = self.model.function(Function {
            file,
            ..Function::named(name)
        });
        let frame = self.model.frame(Frame {
            function: Some(function),
            line: parts.line,
            kind: parts.kind,
            inlined: parts.inlined,
            ..Frame::default()
        });
        if frame.index() == self.functions.len() {
            self.functions.push(function);
        }
        self.frames.insert(text.into(), frame);
        frame
    }

    /// Returns the stack of a frame and its caller, where stacks are wanted.
    fn call(&mut self, caller: Option<StackId>, frame: FrameId) -> Option<StackId> {
        if self.rows != Rows::Stacks {
            return None;
        }
        let model = &mut self.model;
        let stack = *self.stacks.entry((caller, frame)).or_insert_with(|| {
            model.new_stack(Stack {
                parent: caller,
                frame,
                truncated: false,
            })
        });
        Some(stack)
    }

    fn flush(&mut self, batch: &mut LineBatch, sink: &mut dyn Sink) -> Flow {
        let next = LineBatch::new(batch.profile, batch.width);
        let mut full = std::mem::replace(batch, next);
        sink.define(self.model.take_definitions())?;
        if !full.paths.is_empty() {
            for (site, &function) in (0..).zip(&self.functions).skip(self.told) {
                full.paths.tell(site, [Spot::Function(function)]);
            }
            self.told = self.functions.len();
            return sink.paths(full.paths);
        }
        match full.samples.is_empty() {
            true => Flow::Continue(()),
            false => sink.samples(full.samples),
        }
    }

    /// Takes a leading frame that names the process or thread.
    fn owned(&mut self, text: &[u8]) -> bool {
        let Some(owner) = owner(text) else {
            return false;
        };
        // A thread of one process is not that of another, so what was named before is part of the key.
        let key = (self.owner, Box::from(text));
        if let Some(&known) = self.owners.get(&key) {
            self.owner = known;
            return true;
        }
        let track = match owner {
            Owner::Process { pid, command } => {
                let key = self.model.attribute_named("command");
                let command = Value::Text(self.model.bytes(command));
                let process = self.model.resource(Resource {
                    pid: Some(pid),
                    attributes: vec![Attribute::new(key, command)],
                    ..Resource::default()
                });
                self.owner.process = Some(process);
                Track {
                    resource: self.owner.process,
                    ..Track::default()
                }
            }
            Owner::Thread { name, os_id, id } => Track {
                resource: self.owner.process,
                name: name.map(|name| self.model.bytes(name)),
                os_id,
                id,
                ..Track::default()
            },
        };
        self.owner.track = Some(self.model.track(track));
        self.owners.insert(key, self.owner);
        true
    }
}

/// Returns the whole part of a count.
fn number(count: &[u8], offset: u64, note: &mut Option<traceloom_model::Note>) -> i64 {
    let whole = count.split(|&byte| byte == b'.').next().unwrap_or(count);
    let value = std::str::from_utf8(whole)
        .ok()
        .and_then(|text| text.parse::<i64>().ok());
    let value = value.unwrap_or_else(|| {
        let text = "a count has more than 64 bits";
        *note = Some(damage("value_out_of_range", offset, text));
        if count.starts_with(b"-") {
            i64::MIN
        } else {
            i64::MAX
        }
    });
    if whole.len() < count.len() && count.iter().any(|byte| (b'1'..=b'9').contains(byte)) {
        let text = "the fraction of a count is cut off";
        *note = Some(warn("fraction", offset, text));
    }
    value
}

struct ParsedStack {
    stack: Option<StackId>,
    limited: bool,
}

/// The length of what two texts begin with alike.
fn common(a: &[u8], b: &[u8]) -> usize {
    const STEP: usize = 32;
    let steps = a.chunks_exact(STEP).zip(b.chunks_exact(STEP));
    let whole = STEP * steps.take_while(|(a, b)| a == b).count();
    let rest = a.iter().zip(b).skip(whole);
    whole + rest.take_while(|(a, b)| a == b).count()
}
