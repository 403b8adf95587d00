//! Processor profiles of V8: its call frames, and profiles told in pieces among the events of a trace (chrome/SPEC.md §6).
//!
//! `Profile` names the thread and says when it begins; each `ProfileChunk` adds nodes to its tree, and samples with the times
//! between them. Process and id tell one profile from another.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Frame, FrameId, Function, Level, Limit, Limits, Profile, ProfileId, SampleRow, Stack, StackId,
    Tables, Timestamp, TrackId, Unit, ValueType,
};

use crate::codec::CountedNotes;
use crate::spans::rows::PendingRows;
use crate::text::json::Value;

/// Values of a sample: one, and how long it lasted.
pub(crate) const COLUMNS: usize = 2;

/// What a piece is of.
pub(crate) struct PieceOf {
    /// What tells its profile from others.
    pub(crate) key: Box<[u8]>,
    /// It begins the profile: the thread of its event is the one that is profiled. All others are told by another thread.
    pub(crate) begins: bool,
    /// The time of its event.
    pub(crate) time: Timestamp,
}

/// Returns whether an event of this name begins a profile, none where it is no piece of any.
pub(crate) fn begins_profile(name: &[u8]) -> Option<bool> {
    match name {
        b"Profile" => Some(true),
        b"ProfileChunk" => Some(false),
        _ => None,
    }
}

/// The profiles of a trace so far.
#[derive(Debug, Default)]
pub(crate) struct V8Profiles {
    profiles: HashMap<Box<[u8]>, V8Profile, RandomState>,
    /// One for all of them: a sample's thread says which one it is of.
    id: Option<ProfileId>,
    n_nodes: usize,
}

#[derive(Debug, Default)]
struct V8Profile {
    track: Option<TrackId>,
    stacks: HashMap<i64, StackId, RandomState>,
    now: Timestamp,
    /// The sample that lasts until the next one comes.
    last: Option<V8Sample>,
}

/// A sample, and how long it lasted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct V8Sample {
    stack: Option<StackId>,
    time: Timestamp,
    values: [i64; COLUMNS],
    track: Option<TrackId>,
}

impl V8Sample {
    pub(crate) fn row(&self) -> SampleRow<'_> {
        SampleRow {
            stack: self.stack,
            values: &self.values,
            time: Some(self.time),
            track: self.track,
            span: None,
            labels: &[],
        }
    }
}

/// What reading a piece brings.
#[derive(Debug, Default)]
pub(crate) struct V8Piece {
    /// Samples of which it is known how long they lasted.
    pub(crate) samples: Vec<V8Sample>,
    /// Samples of nodes that do not exist.
    n_unknown: u64,
    /// Nodes that are more than allowed.
    n_left_out: u64,
}

impl V8Piece {
    /// Notes what is to be said of it.
    pub(crate) fn note(&self, offset: u64, tally: &mut CountedNotes) {
        let unknown = "samples of nodes that do not exist";
        let left_out = "nodes of profiles are more than allowed";
        for (kind, count, text) in [
            ("unknown_node", self.n_unknown, unknown),
            ("limit_table", self.n_left_out, left_out),
        ] {
            if count > 0 {
                tally.add_many(Level::Warn, kind, offset, count, || text.to_owned());
            }
        }
    }
}

impl V8Profiles {
    /// Returns the profile that all samples are of.
    pub(crate) fn id(&mut self, tables: &mut Tables) -> ProfileId {
        *self.id.get_or_insert_with(|| {
            let count = tables.string("samples");
            let time = tables.string("time");
            let value_types = vec![
                tables.value_type(ValueType::sum(count, Unit::Count)),
                tables.value_type(ValueType::sum(time, Unit::Nanoseconds)),
            ];
            tables.profile(Profile {
                default: value_types.last().copied(),
                value_types,
                ..Profile::default()
            })
        })
    }

    /// Reads a piece; `track` is the thread that is profiled, where the piece says so, and `base_ns` is added to its times.
    pub(crate) fn take(
        &mut self,
        piece: PieceOf,
        data: Value<'_>,
        (track, base_ns): (Option<TrackId>, i64),
        tables: &mut Tables,
        limits: &Limits,
    ) -> V8Piece {
        let mut read = V8Piece::default();
        let most = limits.size(Limit::Table);
        let is_full = self.profiles.len() >= most && !self.profiles.contains_key(&piece.key);
        if is_full {
            read.n_left_out = 1;
            return read;
        }
        let time = |key: &str| {
            let time = data.get(key).and_then(|time| time.scaled(1_000));
            time.map(|time| time.saturating_add(base_ns))
        };
        let profile = self.profiles.entry(piece.key);
        let profile = profile.or_insert_with(|| V8Profile {
            now: piece.time,
            ..V8Profile::default()
        });
        if piece.begins {
            read.samples.extend(profile.last.take());
            *profile = V8Profile {
                track,
                now: time("startTime").unwrap_or(piece.time),
                ..V8Profile::default()
            };
        }
        let tree = data.get("cpuProfile");
        for node in tree.into_iter().flat_map(|tree| items(tree, "nodes")) {
            if self.n_nodes >= most {
                read.n_left_out += 1;
                continue;
            }
            self.n_nodes += 1;
            profile.node(node, tables);
        }
        let mut deltas = items(data, "timeDeltas");
        for sample in tree.into_iter().flat_map(|tree| items(tree, "samples")) {
            let delta = deltas.next().and_then(|delta| delta.scaled(1_000));
            profile.now = profile.now.saturating_add(delta.unwrap_or(0));
            let stack = sample.i64().and_then(|id| profile.stacks.get(&id)).copied();
            read.n_unknown += u64::from(stack.is_none());
            read.samples.extend(profile.ended_at(profile.now));
            profile.last = Some(V8Sample {
                stack,
                time: profile.now,
                values: [1, 0],
                track: profile.track,
            });
        }
        if let Some(end) = time("endTime") {
            read.samples.extend(profile.ended_at(end));
        }
        read
    }

    /// Adds samples to the rows of a trace.
    pub(crate) fn put(
        &mut self,
        samples: &[V8Sample],
        rows: &mut PendingRows,
        tables: &mut Tables,
    ) {
        for sample in samples {
            let profile = self.id(tables);
            rows.sample(profile, &sample.row());
        }
    }

    /// Takes the last sample of each profile, which lasts for nothing.
    pub(crate) fn finish(&mut self) -> Vec<V8Sample> {
        let mut last: Vec<V8Sample> = self
            .profiles
            .values_mut()
            .filter_map(|profile| profile.last.take())
            .collect();
        last.sort_by_key(|sample| (sample.time, sample.track));
        last
    }
}

/// Returns the items of a member.
fn items<'d>(of: Value<'d>, key: &str) -> impl Iterator<Item = Value<'d>> + use<'d> {
    of.get(key).into_iter().flat_map(Value::items)
}

impl V8Profile {
    /// Adds a node: those above it came before.
    fn node(&mut self, node: Value<'_>, tables: &mut Tables) {
        let number = |key: &str| node.get(key).and_then(Value::i64);
        let Some(id) = number("id") else { return };
        let parent = number("parent").and_then(|parent| self.stacks.get(&parent));
        let frame = frame(node.get("callFrame").unwrap_or(node), tables);
        let stack = stack(parent.copied(), frame, tables);
        self.stacks.insert(id, stack);
    }

    /// Takes the sample that came last, which lasted until then.
    fn ended_at(&mut self, until: Timestamp) -> Option<V8Sample> {
        let mut last = self.last.take()?;
        let lasted = until.saturating_sub(last.time).max(0);
        last.values = [1, lasted];
        Some(last)
    }
}

/// Returns the frame that a call frame of V8 is.
pub(crate) fn frame(value: Value<'_>, tables: &mut Tables) -> FrameId {
    let text = |key: &str| value.get(key).and_then(Value::bytes).unwrap_or_default();
    let name = text("functionName");
    let name = if name.is_empty() {
        tables.string("(anonymous)")
    } else {
        tables.bytes(&name)
    };
    let url = text("url");
    let file = (!url.is_empty()).then(|| tables.bytes(&url));
    // Lines and columns count from 0, -1 means none.
    let from_one = |key: &str| {
        let number = value.get(key).and_then(Value::i64).unwrap_or(-1);
        u32::try_from(number.saturating_add(1)).unwrap_or(0)
    };
    let (line, column) = (from_one("lineNumber"), from_one("columnNumber"));
    let function = tables.function(Function {
        file,
        line,
        ..Function::named(name)
    });
    tables.frame(Frame {
        function: Some(function),
        line,
        column,
        ..Frame::default()
    })
}

/// Returns the stack of a frame below another stack.
pub(crate) fn stack(parent: Option<StackId>, frame: FrameId, tables: &mut Tables) -> StackId {
    tables.stack(Stack {
        parent,
        frame,
        truncated: false,
    })
}
