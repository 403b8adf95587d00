//! From spans that come at their end to begins and ends, for targets that write those.
//!
//! A span is held until the outermost span around it has come, because only then the begin of that one
//! can be written before its own. The tree of parents decides the order, not the times: spans of one time
//! keep their nesting, and what finished first comes first. A span that overlaps a sibling, or sticks out
//! of its parent, goes to a lane beside its track with all below it; no time is changed.
//!
//! Memory follows the largest tree, up to a limit of spans. Beyond it what is held is written without the
//! spans around it, which find their place on a lane when they come.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use traceloom_model::{SpanId, SpanMap, Timestamp, TrackId};

/// What the order of spans depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) track: TrackId,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// Takes begins and ends in the order in which they lie on their lanes.
pub(crate) trait Marks {
    /// What is written of a span.
    type Body;
    /// A lane as the target names it.
    type Line: Copy;

    /// Returns a lane of a track; lane 0 is the track itself.
    fn line(&mut self, track: TrackId, lane: u32) -> Self::Line;

    /// Takes the begin of a span.
    fn begin(&mut self, line: Self::Line, time: Timestamp, body: &Self::Body);

    /// Takes the end of the span that began last of those that are open.
    fn end(&mut self, line: Self::Line, time: Timestamp);
}

const NONE: u32 = u32::MAX;

/// Lanes looked at before another one is opened.
const SCANNED: usize = 64;

#[derive(Debug)]
struct Row<B> {
    extent: Extent,
    body: B,
    first_child: u32,
    next: u32,
    done: bool,
}

/// Holds spans, with what is written of each, until their tree is whole.
#[derive(Debug)]
pub(crate) struct BeginEnd<B> {
    rows: Vec<Row<B>>,
    free: Vec<u32>,
    /// Children of spans that have not come, the last one first.
    waiting: SpanMap<u32>,
    /// Spans of a source without order, until the end.
    loose: Option<Vec<u32>>,
    /// Where each lane of a track is free again.
    lanes: HashMap<TrackId, Vec<Timestamp>, RandomState>,
    limit: usize,
    around: Vec<Frame>,
    /// Children to come of what is around, the first one of each last.
    children: Vec<u32>,
}

/// A span whose children are being written.
#[derive(Debug)]
struct Frame {
    row: u32,
    end: Timestamp,
    /// Where its children begin.
    first: usize,
    /// End of the child before.
    cursor: Timestamp,
}

impl<B> BeginEnd<B> {
    /// Holds `limit` spans at most; `ordered` says that parents come after their children.
    pub(crate) fn new(limit: usize, ordered: bool) -> Self {
        Self {
            rows: Vec::new(),
            free: Vec::new(),
            waiting: SpanMap::default(),
            loose: (!ordered).then(Vec::new),
            lanes: HashMap::default(),
            limit: limit.max(1),
            around: Vec::new(),
            children: Vec::new(),
        }
    }

    /// Takes a span; whole trees go to `put`.
    pub(crate) fn take(&mut self, extent: Extent, body: B, put: &mut impl Marks<Body = B>) {
        let first_child = match self.loose {
            Some(_) => NONE,
            None => self.waiting.remove(extent.id).unwrap_or(NONE),
        };
        if self.loose.is_none() && extent.parent.is_none() && first_child == NONE {
            return self.write_alone(extent, &body, put);
        }
        let at = self.keep(Row {
            extent,
            body,
            first_child,
            next: NONE,
            done: false,
        });
        match (&mut self.loose, extent.parent) {
            (Some(loose), _) => loose.push(at),
            (None, None) => self.write(at, put),
            (None, Some(parent)) => self.wait(parent, at),
        }
        if self.rows.len() - self.free.len() > self.limit {
            self.finish(put);
        }
    }

    /// Returns for how many spans there is room.
    pub(crate) const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Lends what is held to be written.
    pub(crate) fn bodies_mut(&mut self) -> impl Iterator<Item = &mut B> {
        let held = self.rows.iter_mut().filter(|row| !row.done);
        held.map(|row| &mut row.body)
    }

    /// Writes all that is held: spans whose parent never came too.
    pub(crate) fn finish(&mut self, put: &mut impl Marks<Body = B>) {
        if let Some(loose) = self.loose.take() {
            self.finish_loose(loose, put);
            self.loose = Some(Vec::new());
            return;
        }
        let mut heads: Vec<(SpanId, u32)> = self.waiting.drain().collect();
        heads.sort_unstable();
        for (_, head) in heads {
            let mut roots = Vec::new();
            self.siblings(head, &mut roots);
            for root in roots.into_iter().rev() {
                self.write(root, put);
            }
        }
    }

    /// Finds the parents of spans that came in any order.
    fn finish_loose(&mut self, loose: Vec<u32>, put: &mut impl Marks<Body = B>) {
        let ids = loose
            .iter()
            .filter_map(|&at| Some((self.row(at)?.extent.id, at)));
        let by_id: HashMap<SpanId, u32, RandomState> = ids.collect();
        let mut roots = Vec::new();
        for &at in &loose {
            let parent = self.row(at).and_then(|row| row.extent.parent);
            match parent.and_then(|parent| by_id.get(&parent)) {
                Some(&above) if above != at => {
                    let before = self
                        .row_mut(above)
                        .map(|row| std::mem::replace(&mut row.first_child, at));
                    if let Some(row) = self.row_mut(at) {
                        row.next = before.unwrap_or(NONE);
                    }
                }
                _ => roots.push(at),
            }
        }
        roots.sort_by_key(|&at| self.row(at).map(|row| (row.extent.start, row.extent.end)));
        // What is left then are parents in a circle: it is cut where it is met.
        for at in roots.into_iter().chain(loose) {
            if self.row(at).is_some_and(|row| !row.done) {
                self.write(at, put);
            }
        }
        self.rows.clear();
        self.free.clear();
    }

    fn row(&self, at: u32) -> Option<&Row<B>> {
        self.rows.get(at as usize)
    }

    fn row_mut(&mut self, at: u32) -> Option<&mut Row<B>> {
        self.rows.get_mut(at as usize)
    }

    fn keep(&mut self, row: Row<B>) -> u32 {
        if let Some(free) = self.free.pop()
            && let Some(slot) = self.row_mut(free)
        {
            *slot = row;
            return free;
        }
        self.rows.push(row);
        u32::try_from(self.rows.len() - 1).unwrap_or(NONE)
    }

    fn wait(&mut self, parent: SpanId, at: u32) {
        let before = self.waiting.insert(parent, at).unwrap_or(NONE);
        if let Some(row) = self.row_mut(at) {
            row.next = before;
        }
    }

    /// Appends the spans of a list, the one that starts first last: those of one start by their end, those of one
    /// end as they came.
    fn siblings(&self, head: u32, list: &mut Vec<u32>) {
        let from = list.len();
        let mut next = head;
        let mut after = (Timestamp::MAX, Timestamp::MAX);
        let mut in_order = true;
        while let Some(row) = self.row(next) {
            let own = (row.extent.start, row.extent.end);
            in_order &= own <= after;
            after = own;
            list.push(next);
            next = row.next;
        }
        if !in_order {
            let own = list.get_mut(from..).unwrap_or(&mut []);
            own.reverse();
            own.sort_by_key(|&at| self.row(at).map(|row| (row.extent.start, row.extent.end)));
            own.reverse();
        }
    }

    /// Writes a span that has no parent and no children.
    fn write_alone(&mut self, extent: Extent, body: &B, put: &mut impl Marks<Body = B>) {
        let Extent {
            track, start, end, ..
        } = extent;
        let lane = self.lane(track, start, end);
        let line = put.line(track, u32::try_from(lane).unwrap_or(NONE));
        put.begin(line, start, body);
        put.end(line, end);
    }

    /// Writes a span and all below it.
    fn write(&mut self, root: u32, put: &mut impl Marks<Body = B>) {
        let mut around = std::mem::take(&mut self.around);
        let mut pending = std::mem::take(&mut self.children);
        let mut roots = VecDeque::new();
        let mut next_root = Some(root);
        while let Some(root) = next_root.take().or_else(|| roots.pop_front()) {
            let Some(row) = self.row(root).filter(|row| !row.done) else {
                continue;
            };
            // What is below lies within, so that the lane is free again at the root's own end.
            let Extent {
                track, start, end, ..
            } = row.extent;
            let lane = self.lane(track, start, end);
            let line = put.line(track, u32::try_from(lane).unwrap_or(NONE));
            let mut next = Some(root);
            loop {
                if let Some(at) = next.take() {
                    let Some(row) = self.row_mut(at) else { break };
                    row.done = true;
                    let Extent { start, end, .. } = row.extent;
                    put.begin(line, start, &row.body);
                    let (children, first) = (row.first_child, pending.len());
                    around.push(Frame {
                        row: at,
                        end,
                        first,
                        cursor: start,
                    });
                    self.siblings(children, &mut pending);
                }
                let Some(frame) = around.last_mut() else {
                    break;
                };
                if pending.len() > frame.first
                    && let Some(child) = pending.pop()
                {
                    let fits = self.row(child).is_some_and(|row| {
                        !row.done
                            && row.extent.track == track
                            && row.extent.start >= frame.cursor
                            && row.extent.end <= frame.end
                    });
                    match self.rows.get_mut(child as usize) {
                        // Most have no children: they are written as a whole.
                        Some(row) if fits && row.first_child == NONE => {
                            row.done = true;
                            let Extent { start, end, .. } = row.extent;
                            put.begin(line, start, &row.body);
                            put.end(line, end);
                            frame.cursor = end;
                            if self.loose.is_none() {
                                self.free.push(child);
                            }
                        }
                        Some(_) if fits => next = Some(child),
                        _ => roots.push_back(child),
                    }
                    continue;
                }
                let (row, end) = (frame.row, frame.end);
                put.end(line, end);
                around.pop();
                if self.loose.is_none() {
                    self.free.push(row);
                }
                if let Some(above) = around.last_mut() {
                    above.cursor = end;
                }
            }
        }
        around.clear();
        pending.clear();
        (self.around, self.children) = (around, pending);
    }

    /// Takes the first lane of a track that is free at `start`, until `end`.
    fn lane(&mut self, track: TrackId, start: Timestamp, end: Timestamp) -> usize {
        let lanes = self.lanes.entry(track).or_default();
        let free = lanes.iter().take(SCANNED).position(|&free| free <= start);
        let lane = free.unwrap_or_else(|| {
            lanes.push(start);
            lanes.len() - 1
        });
        if let Some(slot) = lanes.get_mut(lane) {
            *slot = end.max(start);
        }
        lane
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extent(id: u64, parent: Option<u64>, start: i64, end: i64) -> Extent {
        Extent {
            id: SpanId(id),
            parent: parent.map(SpanId),
            track: TrackId::new(0),
            start,
            end,
        }
    }

    /// Begins and ends as texts.
    #[derive(Default)]
    struct Log(Vec<String>);

    impl Marks for Log {
        type Body = u64;
        type Line = u32;

        fn line(&mut self, _: TrackId, lane: u32) -> u32 {
            lane
        }

        fn begin(&mut self, lane: u32, _: Timestamp, id: &u64) {
            self.0.push(format!("{lane}+{id}"));
        }

        fn end(&mut self, lane: u32, time: Timestamp) {
            self.0.push(format!("{lane}-{time}"));
        }
    }

    fn run(limit: usize, ordered: bool, rows: &[Extent]) -> Vec<String> {
        let mut log = Log::default();
        let mut all = BeginEnd::new(limit, ordered);
        for row in rows {
            all.take(*row, row.id.0, &mut log);
        }
        all.finish(&mut log);
        log.0
    }

    /// What is open on every lane, when something last began or ended on it, and the ends of the spans.
    #[derive(Default)]
    struct Lanes {
        open: HashMap<(TrackId, u32), Vec<u64>>,
        last: HashMap<(TrackId, u32), i64>,
        ended: HashMap<u64, i64>,
    }

    impl Lanes {
        fn reach(&mut self, line: (TrackId, u32), time: i64) {
            assert!(*self.last.get(&line).unwrap_or(&0) <= time);
            self.last.insert(line, time);
        }
    }

    impl Marks for Lanes {
        type Body = u64;
        type Line = (TrackId, u32);

        fn line(&mut self, track: TrackId, lane: u32) -> (TrackId, u32) {
            (track, lane)
        }

        fn begin(&mut self, line: (TrackId, u32), time: Timestamp, id: &u64) {
            self.reach(line, time);
            self.open.entry(line).or_default().push(*id);
        }

        fn end(&mut self, line: (TrackId, u32), time: Timestamp) {
            self.reach(line, time);
            let id = self.open.get_mut(&line).and_then(Vec::pop).unwrap();
            assert!(self.ended.insert(id, time).is_none());
        }
    }

    #[test]
    fn nesting_of_one_time_follows_the_parents() {
        // 1 holds 2 and 3; all end together, and 3 begins where it ends.
        let rows = [
            extent(2, Some(1), 0, 5),
            extent(3, Some(1), 5, 5),
            extent(1, None, 0, 5),
            extent(4, None, 5, 5),
        ];
        let expected = ["0+1", "0+2", "0-5", "0+3", "0-5", "0-5", "0+4", "0-5"];
        assert_eq!(run(9, true, &rows), expected);
        let [a, b, c, d] = rows;
        assert_eq!(run(9, false, &[c, d, a, b]), expected);
    }

    #[test]
    fn what_overlaps_goes_to_a_lane_with_all_below_it() {
        let rows = [
            extent(2, Some(1), 0, 6),
            extent(4, Some(3), 5, 8),
            extent(3, Some(1), 4, 8),
            extent(5, Some(1), 7, 12),
            extent(1, None, 0, 10),
        ];
        let expected = [
            "0+1", "0+2", "0-6", "0-10", "1+3", "1+4", "1-8", "1-8", "2+5", "2-12",
        ];
        assert_eq!(run(9, true, &rows), expected);
    }

    #[test]
    fn beyond_the_limit_the_spans_around_follow_on_a_lane() {
        let rows = [
            extent(1, Some(9), 0, 1),
            extent(2, Some(9), 1, 2),
            extent(3, Some(9), 2, 3),
            extent(9, None, 0, 10),
        ];
        let expected = ["0+1", "0-1", "0+2", "0-2", "0+3", "0-3", "1+9", "1-10"];
        assert_eq!(run(2, true, &rows), expected);
    }

    #[test]
    fn parents_in_a_circle_end() {
        let rows = [extent(1, Some(2), 0, 1), extent(2, Some(1), 0, 1)];
        assert_eq!(run(9, true, &rows).len(), 4);
        assert_eq!(run(9, false, &rows).len(), 4);
    }

    proptest! {
        #[test]
        fn every_span_begins_and_ends_once_and_lanes_nest(
            spans in prop::collection::vec((0..60_i64, 0..30_i64, 0..9_u64, 0..2_u32), 1..60),
            limit in 1..80_usize,
            ordered: bool,
        ) {
            let mut rows: Vec<Extent> = Vec::new();
            for (id, &(start, length, parent, track)) in (0_u64..).zip(&spans) {
                let parent = (parent > 0).then(|| id / 2 + parent);
                let track = TrackId::new(track);
                rows.push(Extent { track, ..extent(id, parent, start, start + length) });
            }
            rows.sort_by_key(|row| row.end);
            let mut lanes = Lanes::default();
            let mut all = BeginEnd::new(limit, ordered);
            rows.iter().for_each(|row| all.take(*row, row.id.0, &mut lanes));
            all.finish(&mut lanes);
            prop_assert_eq!(lanes.ended.len(), rows.len());
            for row in &rows {
                prop_assert_eq!(lanes.ended.get(&row.id.0), Some(&row.end));
            }
        }
    }
}
