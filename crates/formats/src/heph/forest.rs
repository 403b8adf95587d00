//! What a reader nests by containment while events are written, to mark those that it would nest otherwise.

use traceloom_model::{SpanId, TrackId};

use super::lower::Map;

/// Tracks that are remembered; a recording may have one for each call.
const MOST_TRACKS: usize = 1 << 14;
/// Runs of siblings of one track that are remembered.
const MOST_RUNS: usize = 1 << 20;

/// The forests of the tracks of a recording.
#[derive(Debug, Default)]
pub(super) struct Forests {
    all: Map<TrackId, Forest>,
    /// More forests than this are too many.
    most: usize,
}

impl Forests {
    /// Returns the forest of a track; `is_known` is true if events were written on it before.
    pub fn of(&mut self, track: TrackId, is_known: bool) -> &mut Forest {
        if self.all.len() >= self.most.max(MOST_TRACKS) {
            let has_children = |forest: &Forest| forest.runs.iter().any(|run| run.parent.is_some());
            self.all.retain(|_, forest| has_children(forest));
            self.most = 2 * self.all.len();
        }
        self.all.entry(track).or_insert_with(|| Forest {
            is_cut: is_known,
            ..Forest::default()
        })
    }
}

/// The events written on one track that nothing written encloses so far.
#[derive(Debug, Default)]
pub(super) struct Forest {
    runs: Vec<SiblingList>,
    /// There are more events, written before those of `runs`.
    is_cut: bool,
    /// Start and end of the event written last.
    last: Option<(u64, u64)>,
}

/// Neighbours with the same parent.
#[derive(Debug)]
struct SiblingList {
    parent: Option<SpanId>,
    /// How many events these are, with those that they enclose.
    size: u32,
    first_start: u64,
    last_start: u64,
    /// Start and end of the last one.
    last: (u64, u64),
}

impl Forest {
    /// Adds an event; returns how many it encloses when containment finds others than its children.
    ///
    /// The decision is that of [`super::nest::Nest`].
    pub fn add(&mut self, id: SpanId, parent: Option<SpanId>, start: u64, end: u64) -> Option<u32> {
        let end = end.max(start);
        let is_child = |run: &mut SiblingList| run.parent == Some(id);
        let children = self.runs.pop_if(is_child);
        let is_after = |last: (u64, u64)| last.1 < end || (last.1 == end && last.0 >= start);
        let is_beside = |run: &SiblingList| run.last.0 < start && run.last.1 <= start;
        let is_inside = |run: &SiblingList| start <= run.first_start && run.last_start < end;
        let is_contained = self.last.is_none_or(is_after)
            && self.runs.last().map_or(!self.is_cut, is_beside)
            && children.as_ref().is_none_or(is_inside);
        let encloses = children.map_or(0, |run| run.size);
        self.last = Some((start, end));
        let size = encloses.saturating_add(1);
        match self.runs.last_mut() {
            Some(run) if run.parent == parent => {
                run.size = run.size.saturating_add(size);
                run.first_start = run.first_start.min(start);
                run.last_start = run.last_start.max(start);
                run.last = (start, end);
            }
            _ => {
                if self.runs.len() == MOST_RUNS {
                    self.is_cut = true;
                    self.runs.drain(..MOST_RUNS / 2);
                }
                self.runs.push(SiblingList {
                    parent,
                    size,
                    first_start: start,
                    last_start: start,
                    last: (start, end),
                });
            }
        }
        (!is_contained).then_some(encloses)
    }
}
