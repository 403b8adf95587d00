//! Nesting by containment of the events of one track (SPEC.md §6.11).

use traceloom_model::bounds::row_number;

use super::bodies::PendingEvent;
use super::sorted;

/// Where an event lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Nesting {
    /// Its row.
    pub row: usize,
    /// How many of those placed begin before it.
    pub number: u32,
    /// The number of the enclosing event.
    pub parent: Option<u32>,
    /// The row of the outermost enclosing event, or its own.
    pub root: usize,
    pub depth: u32,
    pub lane: usize,
}

/// The waiting events of one track, in file order.
///
/// Writers write at the end, so that each row nearly always encloses some of the last ones before it and
/// touches no other. As long as that is so, rows are nested as they come.
#[derive(Debug)]
pub(super) struct EventNest {
    rows: Vec<PendingEvent>,
    /// Rows that none encloses so far.
    roots: Vec<usize>,
    /// Rows came by their ends and none overlaps another partly.
    is_nested: bool,
    /// Spans that overlapped the innermost open one partly.
    pub overlaps: u64,
    retry: usize,
}

impl Default for EventNest {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            roots: Vec::new(),
            is_nested: true,
            overlaps: 0,
            retry: 0,
        }
    }
}

impl EventNest {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn row(&self, at: usize) -> Option<&PendingEvent> {
        self.rows.get(at)
    }

    pub fn rows_mut(&mut self) -> impl Iterator<Item = &mut PendingEvent> {
        self.rows.iter_mut()
    }

    /// Returns true if so many rows came since the last attempt that another one pays.
    pub fn is_due(&self) -> bool {
        self.rows.len() >= self.retry
    }

    #[inline]
    pub fn push(&mut self, mut row: PendingEvent) {
        if self.is_nested {
            self.is_nested = self.enclose(&mut row);
        }
        self.rows.push(row);
    }

    /// Finds what the next row encloses; false when it does not simply enclose the last ones.
    #[inline]
    fn enclose(&mut self, row: &mut PendingEvent) -> bool {
        let at = self.rows.len();
        (row.up, row.size) = (0, 1);
        // Equal ends would have to come by their starts, the later ones first.
        let is_after = |last: &PendingEvent| {
            last.end < row.end || (last.end == row.end && last.start >= row.start)
        };
        if row.encloses != PendingEvent::CONTAINED {
            self.enclose_marked(row);
            return true;
        }
        if !self.rows.last().is_none_or(is_after) {
            return false;
        }
        while let Some(&root) = self.roots.last()
            && let Some(last) = self.rows.get_mut(root)
        {
            if last.start < row.start {
                if last.end > row.start {
                    return false;
                }
                break;
            }
            // A point at its end is not in it.
            if last.start >= row.end {
                return false;
            }
            let Ok(up) = u32::try_from(at - root) else {
                return false;
            };
            last.up = up;
            row.size += last.size;
            self.roots.pop();
        }
        self.roots.push(at);
        true
    }

    /// Makes the next row enclose as many of the last ones as it says, or fewer where those are gone.
    #[inline(never)]
    fn enclose_marked(&mut self, row: &mut PendingEvent) {
        let at = self.rows.len();
        let whole = row.encloses.saturating_add(1);
        while let Some(&root) = self.roots.last()
            && let Some(last) = self.rows.get_mut(root)
            && let Some(size) = row.size.checked_add(last.size)
            && size <= whole
            && let Ok(up) = u32::try_from(at - root)
        {
            last.up = up;
            row.size = size;
            self.roots.pop();
        }
        self.roots.push(at);
    }

    /// Places the events that nothing from `horizon` on can enclose or overlap, all of them when `all`, in
    /// the order in which they finished; [`EventNest::drop_placed`] forgets them.
    pub fn place(&mut self, horizon: u64, all: bool, placed: &mut Vec<Nesting>) {
        placed.clear();
        if !self.is_nested {
            self.overlaps += sorted::place(&self.rows, horizon, all, placed);
            return;
        }
        let rows = &self.rows;
        let is_over = |root: &usize| all || rows.get(*root).is_some_and(|row| row.end < horizon);
        // Rows that say what they enclose need not come by their ends.
        let over = self.roots.iter().take_while(|root| is_over(root)).count();
        let last = over.checked_sub(1).and_then(|at| self.roots.get(at));
        let count = last.map_or(0, |last| last + 1);
        placed.resize(count, Nesting::default());
        // What encloses a row comes after it.
        for at in (0..count).rev() {
            let Some(row) = rows.get(at) else { continue };
            let within = at + row.up as usize;
            let outer = placed.get(within).copied().filter(|_| row.up > 0);
            let depth = outer.map_or(0, |outer| outer.depth + 1);
            // Before it begin those that enclose it, and of the rows before it those it does not enclose.
            let number = row_number(at + 1) - row.size + depth;
            if let Some(place) = placed.get_mut(at) {
                *place = Nesting {
                    row: at,
                    number,
                    parent: outer.map(|outer| outer.number),
                    root: outer.map_or(at, |outer| outer.root),
                    depth,
                    lane: 0,
                };
            }
        }
    }

    /// Forgets what the last [`EventNest::place`] placed.
    pub fn drop_placed(&mut self, placed: &[Nesting]) {
        self.retry = (self.rows.len() - placed.len()) * 2;
        if self.is_nested {
            self.rows.drain(..placed.len());
            let over = self.roots.partition_point(|root| *root < placed.len());
            self.roots.drain(..over);
            self.roots.iter_mut().for_each(|root| *root -= placed.len());
            return;
        }
        let mut is_placed = vec![false; self.rows.len()];
        for place in placed {
            if let Some(slot) = is_placed.get_mut(place.row) {
                *slot = true;
            }
        }
        let mut is_placed = is_placed.into_iter();
        self.rows.retain(|_| is_placed.next() == Some(false));
        self.roots.clear();
        self.is_nested = true;
        for row in std::mem::take(&mut self.rows) {
            self.push(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traceloom_samples::Random;

    fn row(start: u64, end: u64) -> PendingEvent {
        let mut row = PendingEvent::default();
        (row.start, row.end) = (start, end);
        row.encloses = PendingEvent::CONTAINED;
        row
    }

    #[test]
    fn rows_nested_as_they_come_lie_where_sorted_ones_do() {
        let mut random = Random::new(7);
        let mut below = |below| random.number(below);
        let (mut nested, mut sorted) = (0, 0);
        for round in 0..4000 {
            let mut nest = EventNest::default();
            let mut rows = Vec::new();
            let (mut now, mut starts) = (0, Vec::new());
            for _ in 0..12 {
                // Time stands still now and then, and few rounds have rows that overlap partly.
                now += below(3);
                starts.push(now);
                while below(2) == 0 && !starts.is_empty() {
                    now += below(3);
                    let at = starts.len() - 1 - usize::from(round % 8 == 0 && starts.len() > 1);
                    let row = row(starts.remove(at), now);
                    nest.push(row);
                    rows.push(row);
                }
            }
            let horizon = below(now + 2);
            let (mut places, mut expected) = (Vec::new(), Vec::new());
            let count = |is: bool| u32::from(is);
            nested += count(nest.is_nested);
            sorted += count(!nest.is_nested);
            for all in [false, true] {
                nest.place(horizon, all, &mut places);
                sorted::place(&rows, horizon, all, &mut expected);
                assert_eq!(places, expected, "{rows:?}");
                expected.clear();
                if !all {
                    nest.drop_placed(&places);
                    let mut at = 0..;
                    rows.retain(|_| {
                        let at = at.next();
                        !places.iter().any(|place| Some(place.row) == at)
                    });
                }
            }
        }
        assert!(nested > 500 && sorted > 500, "{nested} {sorted}");
    }
}
