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
pub(crate) struct SpanExtent {
    pub(crate) id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) track: TrackId,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
}

/// Takes begins and ends in the order in which they lie on their lanes.
pub(crate) trait PairSink {
    /// What is written of a span.
    type Body;
    /// A lane as the target names it.
    type Line: Copy;

    /// Whether spans are written where they end, so that a span may follow its children in the output.
    const AT_END: bool = false;

    /// Returns a lane of a track; lane 0 is the track itself.
    fn line(&mut self, track: TrackId, lane: u32) -> Self::Line;

    /// Takes the begin of a span; `outermost` says that no other one is around it on this lane.
    fn begin(&mut self, line: Self::Line, extent: &SpanExtent, body: &Self::Body, outermost: bool);

    /// Takes the end of the span that began last of those that are open.
    fn end(&mut self, line: Self::Line, extent: &SpanExtent, body: &Self::Body, outermost: bool);
}

const NONE: u32 = u32::MAX;

/// Lanes looked at before another one is opened.
const SCANNED: usize = 64;

#[derive(Debug)]
struct HeldSpan<B> {
    extent: SpanExtent,
    body: B,
    /// The lane on which descendants are written already.
    begun_on: Option<u32>,
    first_child: u32,
    next: u32,
    done: bool,
}

/// Holds spans, with what is written of each, until their tree is whole.
#[derive(Debug)]
pub(crate) struct BeginEnd<B> {
    rows: Vec<HeldSpan<B>>,
    free: Vec<u32>,
    /// Children of spans that have not come, the last one first.
    waiting: SpanMap<u32>,
    /// Spans of a source without order, until the end.
    loose: Option<Vec<u32>>,
    /// Where each lane of a track is free again.
    lanes: HashMap<TrackId, Vec<Timestamp>, RandomState>,
    /// Lanes of spans to come some of whose descendants are written, for targets that write spans where they end.
    begun: SpanMap<u32>,
    limit: usize,
    around: Vec<OpenParent>,
    /// Children to come of what is around, the first one of each last.
    children: Vec<u32>,
}

/// A span whose children are being written.
#[derive(Debug)]
struct OpenParent {
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
            begun: SpanMap::default(),
            limit: limit.max(1),
            around: Vec::new(),
            children: Vec::new(),
        }
    }

    /// Takes a span; whole trees go to `put`.
    pub(crate) fn take<M: PairSink<Body = B>>(&mut self, extent: SpanExtent, body: B, put: &mut M) {
        let begun_on = self.begun.remove(extent.id);
        if let (Some(lane), Some(parent)) = (begun_on, extent.parent) {
            self.begun.insert(parent, lane);
        }
        let first_child = match self.loose {
            Some(_) => NONE,
            None => self.waiting.remove(extent.id).unwrap_or(NONE),
        };
        let alone = first_child == NONE && begun_on.is_none();
        if self.loose.is_none() && extent.parent.is_none() && alone {
            return self.write_alone(extent, &body, put);
        }
        let at = self.keep(HeldSpan {
            extent,
            body,
            begun_on,
            first_child,
            next: NONE,
            done: false,
        });
        match (&mut self.loose, extent.parent) {
            (Some(loose), _) => loose.push(at),
            (None, None) => {
                self.write(at, put);
            }
            (None, Some(parent)) => self.wait(parent, at),
        }
        if self.rows.len() - self.free.len() > self.limit {
            self.write_held(put);
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
    pub(crate) fn finish<M: PairSink<Body = B>>(&mut self, put: &mut M) {
        self.write_held(put);
        self.begun = SpanMap::default();
    }

    /// Writes all that is held, also where the parents are still to come.
    fn write_held<M: PairSink<Body = B>>(&mut self, put: &mut M) {
        if let Some(loose) = self.loose.take() {
            self.finish_loose(loose, put);
            self.loose = Some(Vec::new());
            return;
        }
        let mut heads: Vec<(SpanId, u32)> = self.waiting.drain().collect();
        heads.sort_unstable();
        let mut roots = Vec::new();
        for (_, head) in heads {
            let from = roots.len();
            self.siblings(head, &mut roots);
            roots.get_mut(from..).unwrap_or_default().reverse();
        }
        if M::AT_END {
            roots.sort_by_key(|&at| self.row(at).map(|row| (row.extent.start, row.extent.end)));
        }
        for root in roots {
            let parent = self.row(root).and_then(|row| row.extent.parent);
            let lane = self.write(root, put);
            if M::AT_END
                && let (Some(parent), Some(lane)) = (parent, lane)
            {
                self.begun.insert(parent, lane);
            }
        }
    }

    /// Finds the parents of spans that came in any order.
    fn finish_loose<M: PairSink<Body = B>>(&mut self, loose: Vec<u32>, put: &mut M) {
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

    fn row(&self, at: u32) -> Option<&HeldSpan<B>> {
        self.rows.get(at as usize)
    }

    fn row_mut(&mut self, at: u32) -> Option<&mut HeldSpan<B>> {
        self.rows.get_mut(at as usize)
    }

    fn keep(&mut self, row: HeldSpan<B>) -> u32 {
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
    fn write_alone<M: PairSink<Body = B>>(&mut self, extent: SpanExtent, body: &B, put: &mut M) {
        let lane = self.lane(&extent, None);
        let line = put.line(extent.track, lane);
        put.begin(line, &extent, body, true);
        put.end(line, &extent, body, true);
    }

    /// Writes a span and all below it; returns the lane that it lies on.
    fn write<M: PairSink<Body = B>>(&mut self, root: u32, put: &mut M) -> Option<u32> {
        let mut around = std::mem::take(&mut self.around);
        let mut pending = std::mem::take(&mut self.children);
        let mut roots = VecDeque::new();
        let mut next_root = Some(root);
        let mut first_lane = None;
        while let Some(root) = next_root.take().or_else(|| roots.pop_front()) {
            let Some(row) = self.row(root).filter(|row| !row.done) else {
                continue;
            };
            // What is below lies within, so that the lane is free again at the root's own end.
            let (extent, begun_on) = (row.extent, row.begun_on);
            let track = extent.track;
            let lane = self.lane(&extent, begun_on);
            first_lane.get_or_insert(lane);
            let line = put.line(track, lane);
            let mut next = Some(root);
            loop {
                if let Some(at) = next.take() {
                    let Some(row) = self.row_mut(at) else { break };
                    row.done = true;
                    let SpanExtent { start, end, .. } = row.extent;
                    put.begin(line, &row.extent, &row.body, around.is_empty());
                    let (children, first) = (row.first_child, pending.len());
                    around.push(OpenParent {
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
                            put.begin(line, &row.extent, &row.body, false);
                            put.end(line, &row.extent, &row.body, false);
                            frame.cursor = row.extent.end;
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
                around.pop();
                if let Some(ended) = self.rows.get(row as usize) {
                    put.end(line, &ended.extent, &ended.body, around.is_empty());
                }
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
        first_lane
    }

    /// Takes a lane of its track for a span until its end: the one its descendants are on, else the one on which
    /// siblings wait for the same parent, else the first one that is free.
    fn lane(&mut self, extent: &SpanExtent, begun_on: Option<u32>) -> u32 {
        let start = extent.start;
        let lanes = self.lanes.entry(extent.track).or_default();
        let is_free = |&at: &u32| lanes.get(at as usize).is_some_and(|&free| free <= start);
        let with_siblings = || {
            let parent = extent.parent.filter(|_| !self.begun.is_empty())?;
            self.begun.get(parent).copied().filter(is_free)
        };
        let first_free = || {
            let found = lanes.iter().take(SCANNED).position(|&free| free <= start);
            u32::try_from(found?).ok()
        };
        let found = begun_on.or_else(with_siblings).or_else(first_free);
        let lane = found.unwrap_or_else(|| {
            lanes.push(start);
            u32::try_from(lanes.len() - 1).unwrap_or(NONE)
        });
        if let Some(free) = lanes.get_mut(lane as usize) {
            *free = extent.end.max(start).max(*free);
        }
        lane
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extent(id: u64, parent: Option<u64>, start: i64, end: i64) -> SpanExtent {
        SpanExtent {
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

    impl PairSink for Log {
        type Body = u64;
        type Line = u32;

        fn line(&mut self, _: TrackId, lane: u32) -> u32 {
            lane
        }

        fn begin(&mut self, lane: u32, _: &SpanExtent, id: &u64, _: bool) {
            self.0.push(format!("{lane}+{id}"));
        }

        fn end(&mut self, lane: u32, extent: &SpanExtent, _: &u64, _: bool) {
            self.0.push(format!("{lane}-{}", extent.end));
        }
    }

    fn run(limit: usize, ordered: bool, rows: &[SpanExtent]) -> Vec<String> {
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

    impl PairSink for Lanes {
        type Body = u64;
        type Line = (TrackId, u32);

        fn line(&mut self, track: TrackId, lane: u32) -> (TrackId, u32) {
            (track, lane)
        }

        fn begin(&mut self, line: (TrackId, u32), extent: &SpanExtent, id: &u64, outermost: bool) {
            self.reach(line, extent.start);
            let open = self.open.get(&line).map_or(0, Vec::len);
            assert_eq!(outermost, open == 0);
            self.open.entry(line).or_default().push(*id);
        }

        fn end(&mut self, line: (TrackId, u32), extent: &SpanExtent, body: &u64, _: bool) {
            self.reach(line, extent.end);
            let id = self.open.get_mut(&line).and_then(Vec::pop).unwrap();
            assert_eq!((id, extent.id), (*body, SpanId(id)));
            assert!(self.ended.insert(id, extent.end).is_none());
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

    /// Spans where they end, by lane.
    #[derive(Default)]
    struct Ends(Vec<String>);

    impl PairSink for Ends {
        type Body = u64;
        type Line = u32;
        const AT_END: bool = true;

        fn line(&mut self, _: TrackId, lane: u32) -> u32 {
            lane
        }

        fn begin(&mut self, _: u32, _: &SpanExtent, _: &u64, _: bool) {}

        fn end(&mut self, lane: u32, _: &SpanExtent, id: &u64, _: bool) {
            self.0.push(format!("{lane}:{id}"));
        }
    }

    #[test]
    fn spans_written_at_their_end_stay_on_the_lane_of_their_children_beyond_the_limit() {
        let rows = [
            extent(1, Some(8), 0, 1),
            extent(2, Some(8), 1, 2),
            extent(3, Some(8), 2, 3),
            extent(4, Some(8), 3, 4),
            extent(8, Some(9), 0, 5),
            extent(5, Some(9), 5, 6),
            extent(9, None, 0, 10),
            extent(6, None, 10, 11),
        ];
        let mut log = Ends::default();
        let mut all = BeginEnd::new(2, true);
        rows.iter()
            .for_each(|row| all.take(*row, row.id.0, &mut log));
        all.finish(&mut log);
        let expected = ["0:1", "0:2", "0:3", "0:4", "0:8", "0:5", "0:9", "0:6"];
        assert_eq!(log.0, expected);
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
            let mut rows: Vec<SpanExtent> = Vec::new();
            for (id, &(start, length, parent, track)) in (0_u64..).zip(&spans) {
                let parent = (parent > 0).then(|| id / 2 + parent);
                let track = TrackId::new(track);
                rows.push(SpanExtent { track, ..extent(id, parent, start, start + length) });
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
