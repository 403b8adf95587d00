//! Processor profiles of V8, told in pieces among the events of a trace.
//!
//! `Profile` names the thread and says when it begins; each `ProfileChunk` adds nodes to its tree, and samples with the times
//! between them. Process and id tell one profile from another.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{
    Limit, Limits, Profile, ProfileId, SampleRow, StackId, Tables, Timestamp, TrackId, Unit,
    ValueType,
};

use super::event::{EventId, EventKey, TraceEvent};
use crate::cpuprofile;
use crate::text::json::{Token, Value};

/// Values of a sample: one, and how long it lasted.
pub(super) const COLUMNS: usize = 2;

/// Returns true if a sample event is a piece of such a profile.
pub(super) fn is_piece(event: TraceEvent<'_>) -> bool {
    let name = event.get(EventKey::Name).and_then(Token::bytes);
    let named = name.is_some_and(|name| matches!(&*name, b"Profile" | b"ProfileChunk"));
    named && event.has(EventKey::Arguments)
}

/// What a piece is of.
pub(super) struct PieceOf {
    key: Box<[u8]>,
    begins: bool,
    time: Timestamp,
}

impl PieceOf {
    pub(super) fn of(event: TraceEvent<'_>, time: Timestamp, limits: &Limits) -> Self {
        let mut key = event
            .get(EventKey::Process)
            .map(Token::word)
            .unwrap_or_default()
            .into_owned();
        key.push(0);
        key.extend_from_slice(&EventId::of(event, limits).word);
        let name = event.get(EventKey::Name).and_then(Token::bytes);
        Self {
            key: key.into(),
            begins: name.is_some_and(|name| *name == *b"Profile"),
            time,
        }
    }

    /// Returns true if the thread of its event is the one that is profiled; chunks are told by another one.
    pub(super) fn is_of_thread(&self) -> bool {
        self.begins
    }
}

/// The profiles of a trace so far.
#[derive(Debug, Default)]
pub(super) struct V8Profiles {
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
pub(super) struct V8Sample {
    stack: Option<StackId>,
    time: Timestamp,
    values: [i64; COLUMNS],
    track: Option<TrackId>,
}

impl V8Sample {
    pub(super) fn row(&self) -> SampleRow<'_> {
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
pub(super) struct V8Piece {
    /// Samples of which it is known how long they lasted.
    pub(super) samples: Vec<V8Sample>,
    /// Samples of nodes that do not exist.
    pub(super) n_unknown: usize,
    /// Nodes that are more than allowed.
    pub(super) n_left_out: usize,
}

impl V8Profiles {
    /// Returns the profile that all samples are of.
    pub(super) fn id(&mut self, tables: &mut Tables) -> ProfileId {
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
    pub(super) fn take(
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
            read.n_unknown += usize::from(stack.is_none());
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

    /// Takes the last sample of each profile, which lasts for nothing.
    pub(super) fn finish(&mut self) -> Vec<V8Sample> {
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
        let frame = cpuprofile::frame(node.get("callFrame").unwrap_or(node), tables);
        let stack = cpuprofile::stack(parent.copied(), frame, tables);
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
