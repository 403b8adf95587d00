//! Complete events of threads whose events come by their end: kept until what lies around them has come.

use traceloom_model::Timestamp;

use crate::spans::by_line::{ByLine, SliceLine};
use crate::spans::slices::{OpenSlice, SliceArgs, SliceStep};

/// The events that are kept.
#[derive(Debug)]
pub(super) struct ByEnd {
    rows: ByLine<Vec<Ended>>,
    tops: ByLine<Option<Outermost>>,
    n_rows: usize,
    most: usize,
}

/// How many events of a track came, and which to come lie in no other one.
type Outermost = (u32, std::vec::IntoIter<u32>);

#[derive(Debug)]
struct Ended {
    open: OpenSlice,
    end: Timestamp,
    /// How many of those before it lie inside it.
    inside: usize,
    /// Which one it is of those of no length at its time that lie beside each other, counted from 1; 0 for one
    /// with a length.
    instant: u64,
}

impl Ended {
    fn is_instant_at(&self, time: Timestamp) -> bool {
        self.open.start == time && self.end == time
    }
}

/// A step of the walk over events that lie inside one another.
enum NestStep {
    Begin(usize),
    End(Timestamp),
}

impl ByEnd {
    /// Keeps `most` events at most.
    pub(super) fn new(most: usize) -> Self {
        Self {
            rows: ByLine::default(),
            tops: ByLine::default(),
            n_rows: 0,
            most,
        }
    }

    /// Returns the tracks of which something is kept.
    pub(super) fn lines(&self) -> Vec<SliceLine> {
        self.rows.in_use()
    }

    /// Counts an event of a track; true when it lies in no other one, so that what is kept is complete with it.
    ///
    /// The first call of a track asks for the events that lie in no other one.
    pub(super) fn completes(
        &mut self,
        line: SliceLine,
        outermost: impl FnOnce() -> Vec<u32>,
    ) -> bool {
        let row = self.tops.or_default(line);
        let (count, tops) = row.get_or_insert_with(|| (0, outermost().into_iter()));
        let nth = *count;
        *count = count.saturating_add(1);
        let top = tops.as_slice().first() == Some(&nth);
        if top {
            tops.next();
        }
        top
    }

    /// Keeps an event that comes after those inside it.
    ///
    /// Returns the tracks of which most is kept when that is too much.
    pub(super) fn push(
        &mut self,
        line: SliceLine,
        open: OpenSlice,
        end: Timestamp,
    ) -> Vec<SliceLine> {
        let rows = self.rows.or_default(line);
        let (start, follows) = (open.start, open.args.follows());
        let mut inside = 0;
        // Instants where it begins may lie in it, or before it: without a mark they are taken to lie in it.
        let mut instants = None;
        while let Some(row) = rows
            .len()
            .checked_sub(inside + 1)
            .and_then(|at| rows.get(at))
        {
            if row.open.start < start {
                break;
            }
            if row.is_instant_at(start) {
                let left = instants.get_or_insert(row.instant.saturating_sub(follows));
                if *left == 0 {
                    break;
                }
                *left -= 1;
            }
            inside += 1 + row.inside;
        }
        let before = rows
            .len()
            .checked_sub(inside + 1)
            .and_then(|at| rows.get(at));
        let before = before.filter(|row| row.is_instant_at(start));
        let instant = match before {
            _ if end > start => 0,
            Some(row) => row.instant + 1,
            None => 1,
        };
        rows.push(Ended {
            open,
            end,
            inside,
            instant,
        });
        self.n_rows += 1;
        match self.n_rows <= self.most {
            true => Vec::new(),
            false => self.rows.fullest(self.most),
        }
    }

    /// Begins and ends the events kept of a track, the outer ones around the inner ones.
    pub(super) fn release(&mut self, line: SliceLine) -> Vec<(Timestamp, SliceStep)> {
        let rows = self.rows.take(line);
        self.n_rows -= rows.len();
        let mut steps = Vec::with_capacity(2 * rows.len());
        let extents: Vec<(Timestamp, usize)> =
            rows.iter().map(|row| (row.end, row.inside)).collect();
        let mut opens: Vec<Option<OpenSlice>> =
            rows.into_iter().map(|row| Some(row.open)).collect();
        let mut walk = Vec::new();
        // Events inside one another lie right before it, each with those inside it.
        let outermost = |walk: &mut Vec<NestStep>, from: usize, to: usize| {
            let mut end = to;
            while let Some(at) = end.checked_sub(1).filter(|&at| at >= from) {
                walk.push(NestStep::Begin(at));
                end = at - extents.get(at).map_or(0, |&(_, inside)| inside.min(at));
            }
        };
        outermost(&mut walk, 0, opens.len());
        while let Some(step) = walk.pop() {
            match step {
                NestStep::Begin(at) => {
                    let Some(mut open) = opens.get_mut(at).and_then(Option::take) else {
                        continue;
                    };
                    let (end, inside) = extents.get(at).copied().unwrap_or_default();
                    open.until = None;
                    steps.push((open.start, SliceStep::Begin(open)));
                    walk.push(NestStep::End(end));
                    outermost(&mut walk, at - inside.min(at), at);
                }
                NestStep::End(end) => steps.push((end, SliceStep::End(SliceArgs::default()))),
            }
        }
        steps
    }
}
