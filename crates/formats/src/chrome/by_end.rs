//! Complete events of threads whose events come by their end: kept until what lies around them has come.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use traceloom_model::{Timestamp, TrackId};

use crate::slices::{Annotated, Open, Step};

/// The events that are kept.
#[derive(Debug)]
pub(super) struct ByEnd {
    rows: HashMap<TrackId, Vec<Ended>, RandomState>,
    n_rows: usize,
    most: usize,
}

#[derive(Debug)]
struct Ended {
    open: Open,
    end: Timestamp,
    /// How many of those before it lie inside it.
    inside: usize,
}

/// A step of the walk over events that lie inside one another.
enum Walk {
    Begin(usize),
    End(Timestamp),
}

impl ByEnd {
    /// Keeps `most` events at most.
    pub(super) fn new(most: usize) -> Self {
        Self {
            rows: HashMap::default(),
            n_rows: 0,
            most,
        }
    }

    /// Returns the tracks of which something is kept.
    pub(super) fn tracks(&self) -> Vec<TrackId> {
        let mut tracks: Vec<TrackId> = self.rows.keys().copied().collect();
        tracks.sort_unstable();
        tracks
    }

    /// Keeps an event that comes after those inside it.
    ///
    /// Returns the track of which most is kept when that is too much.
    pub(super) fn push(&mut self, track: TrackId, open: Open, end: Timestamp) -> Option<TrackId> {
        let rows = self.rows.entry(track).or_default();
        let mut inside = 0;
        while let Some(row) = rows
            .len()
            .checked_sub(inside + 1)
            .and_then(|at| rows.get(at))
        {
            if row.open.start < open.start {
                break;
            }
            inside += 1 + row.inside;
        }
        rows.push(Ended { open, end, inside });
        self.n_rows += 1;
        if self.n_rows <= self.most {
            return None;
        }
        let fullest = self.rows.iter();
        let fullest = fullest.max_by_key(|(track, rows)| (rows.len(), **track));
        fullest.map(|(&track, _)| track)
    }

    /// Begins and ends the events kept of a track, the outer ones around the inner ones.
    pub(super) fn release(&mut self, track: TrackId) -> Vec<(Timestamp, Step)> {
        let rows = self.rows.remove(&track).unwrap_or_default();
        self.n_rows -= rows.len();
        let mut steps = Vec::with_capacity(2 * rows.len());
        let extents: Vec<(Timestamp, usize)> =
            rows.iter().map(|row| (row.end, row.inside)).collect();
        let mut opens: Vec<Option<Open>> = rows.into_iter().map(|row| Some(row.open)).collect();
        let mut walk = Vec::new();
        // Events inside one another lie right before it, each with those inside it.
        let outermost = |walk: &mut Vec<Walk>, from: usize, to: usize| {
            let mut end = to;
            while let Some(at) = end.checked_sub(1).filter(|&at| at >= from) {
                walk.push(Walk::Begin(at));
                end = at - extents.get(at).map_or(0, |&(_, inside)| inside.min(at));
            }
        };
        outermost(&mut walk, 0, opens.len());
        while let Some(step) = walk.pop() {
            match step {
                Walk::Begin(at) => {
                    let Some(mut open) = opens.get_mut(at).and_then(Option::take) else {
                        continue;
                    };
                    let (end, inside) = extents.get(at).copied().unwrap_or_default();
                    open.until = None;
                    steps.push((open.start, Step::Begin(open)));
                    walk.push(Walk::End(end));
                    outermost(&mut walk, at - inside.min(at), at);
                }
                Walk::End(end) => steps.push((end, Step::End(Annotated::default()))),
            }
        }
        steps
    }
}
