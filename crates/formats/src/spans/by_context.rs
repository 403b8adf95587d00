//! Spans that name their parents by ids: who is whose parent, and which tracks hold them.
//!
//! Spans of a distributed trace come in any order and say nothing of lines of execution. A span's parent is
//! looked up among the spans of its own process: the caller in another process is told by [`SpanContext`] alone,
//! because the clocks of two processes do not agree. A child lies on the track of its parent where it fits into
//! it and beside its siblings; one that does not, as concurrent work does, begins a lane. What has no parent
//! here takes the first track of its process that is free.
//!
//! [`SpanContext`]: traceloom_model::SpanContext

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{ResourceId, StringId, Tables, Timestamp, Track, TrackId, TrackKind};

/// What has to be known of a span to place it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdentifiedSpan {
    /// Trace and span id; none for a span without valid ids.
    pub(crate) ids: Option<(u128, u64)>,
    /// Span id of the parent, 0 for none.
    pub(crate) parent: u64,
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// The process, in numbers of the reader.
    pub(crate) process: u32,
    /// The thread, in numbers of the reader; 0 where it is not known.
    pub(crate) thread: u32,
}

/// Where a span is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SpanPlace {
    /// The parent, by its position.
    pub(crate) parent: Option<u32>,
    /// Spans around it on its track.
    pub(crate) depth: u32,
    /// Its track, by the position in [`PlacedSpans::lines`].
    pub(crate) line: u32,
}

/// A track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SpanLine {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    /// Which of the process's lines it is, or of its thread's, from 0.
    pub(crate) number: u32,
    /// It holds what does not fit elsewhere; the lane's number, from 1.
    pub(crate) lane: Option<u32>,
}

/// All spans of a part, placed.
#[derive(Debug, Default)]
pub(crate) struct PlacedSpans {
    pub(crate) places: Vec<SpanPlace>,
    pub(crate) lines: Vec<SpanLine>,
    /// Spans whose ids another span of the process has, by their positions.
    pub(crate) repeated: Vec<u32>,
    /// Spans that are their own ancestors, by their positions; each is cut off its parent.
    pub(crate) circular: Vec<u32>,
    by_ids: HashMap<(u128, u64), u32, RandomState>,
}

/// What a line is looked up by: process, thread, and whether it is for spans that do not fit.
type LineGroup = (u32, u32, bool);

const NONE: u32 = u32::MAX;

fn position(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}

impl PlacedSpans {
    /// Places spans, in time n log n.
    pub(crate) fn of(spans: &[IdentifiedSpan]) -> Self {
        let mut placed = Self::default();
        let mut parents = placed.find_parents(spans);
        placed.cut_circles(&mut parents);
        let order = parents_first(&parents);
        let fits = fitting(spans, &parents);
        placed.lay_out(spans, &parents, &fits, &order);
        placed
    }

    /// Finds a span of any process by its ids: the first one that has them.
    pub(crate) fn find(&self, trace: u128, span: u64) -> Option<usize> {
        let at = self.by_ids.get(&(trace, span))?;
        usize::try_from(*at).ok()
    }

    fn find_parents(&mut self, spans: &[IdentifiedSpan]) -> Vec<u32> {
        let mut known: HashMap<(u32, u128, u64), u32, RandomState> = HashMap::default();
        for (at, span) in spans.iter().enumerate() {
            let Some((trace, id)) = span.ids else {
                continue;
            };
            self.by_ids.entry((trace, id)).or_insert(position(at));
            let first = known
                .entry((span.process, trace, id))
                .or_insert(position(at));
            if *first != position(at) {
                self.repeated.push(position(at));
            }
        }
        let parent = |span: &IdentifiedSpan| {
            let (trace, _) = span.ids.filter(|_| span.parent != 0)?;
            known.get(&(span.process, trace, span.parent)).copied()
        };
        spans
            .iter()
            .map(|span| parent(span).unwrap_or(NONE))
            .collect()
    }

    /// Makes a root of one span in each circle of parents.
    fn cut_circles(&mut self, parents: &mut [u32]) {
        // The walk on which a span was met, from 1.
        let mut met = vec![0_u32; parents.len()];
        for from in 0..parents.len() {
            let walk = position(from) + 1;
            let (mut at, mut last) = (from, from);
            while let Some(seen) = met.get_mut(at) {
                if *seen == walk {
                    if let Some(parent) = parents.get_mut(last) {
                        *parent = NONE;
                    }
                    self.circular.push(position(last));
                }
                if *seen != 0 {
                    break;
                }
                *seen = walk;
                last = at;
                at = parents
                    .get(at)
                    .map_or(usize::MAX, |&parent| parent as usize);
            }
        }
    }

    fn lay_out(&mut self, spans: &[IdentifiedSpan], parents: &[u32], fits: &[bool], order: &[u32]) {
        let mut heads: Vec<(LineGroup, Timestamp, Timestamp, u32)> = Vec::new();
        for (at, (span, parent)) in spans.iter().zip(parents).enumerate() {
            if fits.get(at) != Some(&true) {
                let group = (span.process, span.thread, *parent != NONE);
                heads.push((group, span.start, span.end, position(at)));
            }
        }
        heads.sort_unstable_by_key(|&(group, start, end, at)| (group, start, Reverse(end), at));
        let blank = SpanPlace {
            parent: None,
            depth: 0,
            line: 0,
        };
        self.places = vec![blank; spans.len()];
        let mut group = None;
        let mut numbers = 0;
        let mut lanes: HashMap<(u32, u32), u32, RandomState> = HashMap::default();
        // Lines of the group by the time at which they are free.
        let mut free: BinaryHeap<Reverse<(Timestamp, u32)>> = BinaryHeap::new();
        for (own, start, end, at) in heads {
            if group != Some(own) {
                free.clear();
                group = Some(own);
                numbers = 0;
            }
            let next = free.peek().filter(|next| next.0.0 <= start).copied();
            let line = match next {
                Some(Reverse((_, line))) => {
                    free.pop();
                    line
                }
                None => {
                    let (process, thread, apart) = own;
                    let is_lane = apart || (thread != 0 && numbers > 0);
                    let lane = is_lane.then(|| {
                        let lane = lanes.entry((process, thread)).or_default();
                        *lane += 1;
                        *lane
                    });
                    self.lines.push(SpanLine {
                        process,
                        thread,
                        number: numbers,
                        lane,
                    });
                    numbers += 1;
                    position(self.lines.len() - 1)
                }
            };
            free.push(Reverse((end, line)));
            if let Some(place) = self.places.get_mut(at as usize) {
                place.line = line;
            }
        }
        for &at in order {
            let parent = parents.get(at as usize).copied().unwrap_or(NONE);
            let around = self.places.get(parent as usize).copied();
            let fit = fits.get(at as usize) == Some(&true);
            if let Some(place) = self.places.get_mut(at as usize) {
                place.parent = around.map(|_| parent);
                if let Some(around) = around.filter(|_| fit) {
                    (place.line, place.depth) = (around.line, around.depth.saturating_add(1));
                }
            }
        }
    }
}

/// Orders positions so that a parent comes before its children; circles are cut before.
fn parents_first(parents: &[u32]) -> Vec<u32> {
    let mut order = Vec::with_capacity(parents.len());
    let mut done = vec![false; parents.len()];
    let mut path = Vec::new();
    for at in 0..parents.len() {
        let mut next = at;
        while done.get(next) == Some(&false) {
            if let Some(done) = done.get_mut(next) {
                *done = true;
            }
            path.push(position(next));
            next = parents
                .get(next)
                .map_or(usize::MAX, |&parent| parent as usize);
        }
        while let Some(at) = path.pop() {
            order.push(at);
        }
    }
    order
}

/// Returns which spans lie on the track of their parent: inside it, on its thread, and beside their siblings there.
fn fitting(spans: &[IdentifiedSpan], parents: &[u32]) -> Vec<bool> {
    let mut fits = vec![false; spans.len()];
    let mut children: Vec<(u32, Timestamp, Reverse<Timestamp>, u32)> = Vec::new();
    for (at, (span, &parent)) in spans.iter().zip(parents).enumerate() {
        if parent != NONE {
            children.push((parent, span.start, Reverse(span.end), position(at)));
        }
    }
    children.sort_unstable();
    let (mut last, mut free) = (NONE, Timestamp::MIN);
    for (parent, start, Reverse(end), at) in children {
        let around = spans.get(parent as usize);
        let (Some(around), Some(span)) = (around, spans.get(at as usize)) else {
            continue;
        };
        if parent != last {
            (last, free) = (parent, around.start);
        }
        if span.thread == around.thread && start >= free && end <= around.end {
            free = end;
            if let Some(fit) = fits.get_mut(at as usize) {
                *fit = true;
            }
        }
    }
    fits
}

/// A thread as a reader knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct ThreadName {
    pub(crate) id: Option<u64>,
    pub(crate) name: Option<StringId>,
}

/// Puts lines into the table of tracks.
///
/// `resources` and `threads` are what the numbers of processes and threads stand for.
pub(crate) fn tracks(
    lines: &[SpanLine],
    resources: &[ResourceId],
    threads: &[ThreadName],
    tables: &mut Tables,
) -> Vec<TrackId> {
    let mut firsts: BTreeMap<(u32, u32), TrackId> = BTreeMap::new();
    let mut tracks = Vec::with_capacity(lines.len());
    for line in lines {
        let resource = resources.get(line.process as usize).copied();
        let thread = match line.thread {
            0 => None,
            number => threads.get(number as usize - 1),
        };
        let row = |number: u32| match thread {
            Some(thread) => Track {
                kind: TrackKind::Thread,
                resource,
                name: thread.name,
                os_id: thread.id,
                ..Track::default()
            },
            None => Track {
                kind: TrackKind::Stream,
                resource,
                id: Some(u64::from(number) + 1),
                ..Track::default()
            },
        };
        let own = match line.lane {
            None => tables.track(row(line.number)),
            Some(lane) => {
                let first = firsts.entry((line.process, line.thread));
                let parent = *first.or_insert_with(|| tables.track(row(0)));
                let lane = Track {
                    kind: TrackKind::Lane,
                    parent: Some(parent),
                    lane,
                    ..row(0)
                };
                tables.track(lane)
            }
        };
        tracks.push(own);
    }
    tracks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn span(id: u64, parent: u64, start: Timestamp, end: Timestamp) -> IdentifiedSpan {
        IdentifiedSpan {
            ids: Some((1, id)),
            parent,
            start,
            end,
            process: 0,
            thread: 0,
        }
    }

    fn parents(placed: &PlacedSpans) -> Vec<Option<u32>> {
        placed.places.iter().map(|place| place.parent).collect()
    }

    fn lines(placed: &PlacedSpans) -> Vec<(u32, Option<u32>)> {
        let line = |place: &SpanPlace| placed.lines.get(place.line as usize).unwrap();
        let lines = placed.places.iter().map(line);
        lines.map(|line| (line.number, line.lane)).collect()
    }

    #[test]
    fn children_come_before_and_after_their_parents() {
        let spans = [
            span(3, 2, 20, 30),
            span(1, 0, 0, 100),
            span(2, 1, 10, 50),
            span(4, 1, 50, 60),
        ];
        let placed = PlacedSpans::of(&spans);
        assert_eq!(parents(&placed), [Some(2), None, Some(1), Some(1)]);
        let depths: Vec<u32> = placed.places.iter().map(|place| place.depth).collect();
        assert_eq!(depths, [2, 0, 1, 1]);
        assert_eq!(lines(&placed), [(0, None); 4]);
    }

    #[test]
    fn concurrent_children_are_on_lanes_and_concurrent_roots_on_lines() {
        let spans = [
            span(1, 0, 0, 100),
            span(2, 1, 10, 50),
            span(3, 1, 20, 60),
            span(4, 1, 90, 120),
            span(5, 0, 50, 70),
            span(6, 0, 100, 110),
        ];
        let placed = PlacedSpans::of(&spans);
        let expected = [(0, None), (0, None), (0, Some(1)), (0, Some(1)), (1, None)];
        // Either line of roots is free at 100.
        let mut lines = lines(&placed);
        assert_eq!(lines.pop().unwrap().1, None);
        assert_eq!(lines, expected);
        assert_eq!(placed.lines.len(), 3);
    }

    #[test]
    fn callers_in_other_processes_are_no_parents() {
        let mut server = span(2, 1, 10, 20);
        server.process = 1;
        let placed = PlacedSpans::of(&[span(1, 0, 0, 100), server]);
        assert_eq!(parents(&placed), [None, None]);
        assert_eq!(placed.find(1, 2), Some(1));
    }

    #[test]
    fn circles_and_repeated_ids_are_told() {
        let spans = [
            span(1, 2, 0, 9),
            span(2, 1, 0, 9),
            span(3, 3, 0, 9),
            span(3, 0, 0, 9),
        ];
        let placed = PlacedSpans::of(&spans);
        assert_eq!(placed.repeated, [3]);
        assert_eq!(placed.circular, [1, 2]);
        assert_eq!(parents(&placed), [Some(1), None, None, None]);
    }

    proptest! {
        #[test]
        fn what_is_on_one_line_nests(
            rows in prop::collection::vec((0..12_u64, 0..12_u64, 0..20_i64, 0..20_i64, 0..3_u32), 0..60),
        ) {
            let spans: Vec<IdentifiedSpan> = rows
                .into_iter()
                .map(|(id, parent, start, length, thread)| IdentifiedSpan {
                    thread,
                    ..span(id + 1, parent, start, start + length)
                })
                .collect();
            let placed = PlacedSpans::of(&spans);
            prop_assert_eq!(placed.places.len(), spans.len());
            for (a, one) in spans.iter().zip(&placed.places) {
                for (b, other) in spans.iter().zip(&placed.places) {
                    if one.line == other.line {
                        let apart = a.end <= b.start || b.end <= a.start;
                        let inside = (a.start <= b.start && b.end <= a.end)
                            || (b.start <= a.start && a.end <= b.end);
                        prop_assert!(apart || inside, "{:?} {:?}", a, b);
                    }
                }
            }
        }
    }
}
