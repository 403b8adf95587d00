//! From the order in which spans end to the order in which they begin and end.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::{
    Asks, Batch, Flow, Level, Note, Sink, SpanBatch, SpanId, SpanRow, SpanStatus, Stage, Timestamp,
    TrackId, Wants,
};

/// Takes begins and ends of spans, properly nested on each lane of a track.
///
/// Everything else arrives through [`Sink`], as it was pushed.
pub trait BeginEnd: Sink {
    /// A span begins on `lane` of its track. Lane 0 is the track itself; others hold what overlaps it.
    fn enter(&mut self, span: &SpanRow<'_>, lane: u32) -> Flow;

    /// The span that began last on this lane ends.
    fn exit(&mut self, span: &SpanRow<'_>, lane: u32) -> Flow;
}

/// Turns spans that come by their end into begins and ends.
///
/// A call is held until its root comes, because only then it is known what lies around the first of
/// its spans; then it is handed on whole and forgotten. Calls come in the order in which they end. Spans
/// that overlap a sibling partly go to a lane of their own, the first that is free. When more spans are
/// held than allowed, the track that holds most is handed on without its root: a `limit_open_spans` note
/// says so, and the spans that enclose them follow later, marked as partial, beginning where these ended.
pub struct Reorder<'t> {
    to: &'t mut dyn BeginEnd,
    limit: usize,
    held: usize,
    tracks: HashMap<TrackId, Line, RandomState>,
}

/// What of a track waits for its root.
#[derive(Default)]
struct Line {
    spans: SpanBatch,
    /// What was handed on early: enclosing spans that come later cannot begin before this.
    floor: Option<Timestamp>,
}

impl std::fmt::Debug for Reorder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reorder")
            .field("limit", &self.limit)
            .field("held", &self.held)
            .finish_non_exhaustive()
    }
}

impl<'t> Reorder<'t> {
    /// Hands on to `to`, holding `limit` spans at most ([`traceloom_model::Limit::OpenSpans`]).
    pub fn new(to: &'t mut dyn BeginEnd, limit: usize) -> Self {
        Self {
            to,
            limit: limit.max(1),
            held: 0,
            tracks: HashMap::default(),
        }
    }

    /// Hands on what is held: calls whose root never came.
    pub fn finish(&mut self) -> Flow {
        let mut tracks: Vec<TrackId> = self.tracks.keys().copied().collect();
        tracks.sort_unstable();
        for track in tracks {
            self.hand_on(track)?;
        }
        Flow::Continue(())
    }

    fn take(&mut self, row: &SpanRow<'_>) -> Flow {
        let line = self.tracks.entry(row.track).or_default();
        line.spans.push(row);
        self.held += 1;
        if row.parent.is_none() {
            self.hand_on(row.track)?;
            if let Some(line) = self.tracks.get_mut(&row.track) {
                line.floor = None;
            }
        } else if self.held > self.limit {
            let fullest = self
                .tracks
                .iter()
                .max_by_key(|(track, line)| (line.spans.len(), Reverse(**track)));
            let Some((&track, line)) = fullest else {
                return Flow::Continue(());
            };
            let count = line.spans.len() as u64;
            let end = line.spans.end.iter().max().copied();
            let text = "more open spans than allowed: written without those around them";
            let note = Note::new(Level::Damage, "limit_open_spans", 0, text).counting(count);
            self.to.note(note)?;
            self.hand_on(track)?;
            if let Some(line) = self.tracks.get_mut(&track) {
                line.floor = line.floor.max(end);
            }
        }
        Flow::Continue(())
    }

    /// Hands on all that is held of a track.
    fn hand_on(&mut self, track: TrackId) -> Flow {
        let Some(line) = self.tracks.get_mut(&track) else {
            return Flow::Continue(());
        };
        let mut spans = std::mem::take(&mut line.spans);
        self.held -= spans.len();
        if let Some(floor) = line.floor {
            let columns = spans.start.iter_mut().zip(&mut spans.end);
            for ((start, end), status) in columns.zip(&mut spans.status) {
                if *start < floor {
                    *start = floor;
                    *end = (*end).max(floor);
                    *status = SpanStatus::PartialStart;
                }
            }
        }
        let mut order: Vec<usize> = (0..spans.len()).collect();
        let depths = depths(&spans);
        // Callers before callees that begin with them; those of one depth as they came.
        order.sort_by_key(|&at| {
            let start = spans.start.get(at).copied();
            let end = spans.end.get(at).copied();
            (start, Reverse(end), depths.get(at).copied(), at)
        });
        let mut lanes = Lanes::default();
        for at in order {
            let Some(row) = spans.row(at) else { continue };
            self.close(&mut lanes, &spans, Some(row.start))?;
            let lane = lanes.open(at, row.end);
            self.to.enter(&row, lane)?;
        }
        self.close(&mut lanes, &spans, None)
    }

    /// Ends what ended by `time`, earliest first, so that all lanes move through time together.
    fn close(&mut self, lanes: &mut Lanes, spans: &SpanBatch, time: Option<Timestamp>) -> Flow {
        while let Some((at, lane)) = lanes.close(time) {
            if let Some(row) = spans.row(at) {
                self.to.exit(&row, lane)?;
            }
        }
        Flow::Continue(())
    }
}

/// Lanes looked at before a free one is taken: nesting is nearly always found on the first.
const SCANNED: usize = 64;

/// What is open on each lane.
#[derive(Default)]
struct Lanes {
    /// Ends of what is open, innermost last.
    open: Vec<Vec<Timestamp>>,
    /// Lanes beyond the scanned ones on which nothing is open.
    free: BTreeSet<usize>,
    /// What ends next: of spans that end together the one that began last, which is the inner one.
    ends: BinaryHeap<(Reverse<Timestamp>, u64, usize, usize)>,
    begun: u64,
}

impl Lanes {
    /// Puts a span on the first lane where it lies within what is open.
    fn open(&mut self, at: usize, end: Timestamp) -> u32 {
        let fits = |open: &Vec<Timestamp>| open.last().is_none_or(|&around| end <= around);
        let scanned = self.open.iter().take(SCANNED).position(fits);
        let lane = scanned
            .or_else(|| self.free.pop_first())
            .unwrap_or_else(|| {
                self.open.push(Vec::new());
                self.open.len() - 1
            });
        if let Some(open) = self.open.get_mut(lane) {
            open.push(end);
        }
        self.begun += 1;
        self.ends.push((Reverse(end), self.begun, at, lane));
        u32::try_from(lane).unwrap_or(u32::MAX)
    }

    /// Takes off the next span that ends by `time`.
    fn close(&mut self, time: Option<Timestamp>) -> Option<(usize, u32)> {
        let next = self.ends.peek_mut()?;
        if time.is_some_and(|time| next.0.0 > time) {
            return None;
        }
        let (_, _, at, lane) = PeekMut::pop(next);
        if let Some(open) = self.open.get_mut(lane) {
            open.pop();
            if lane >= SCANNED && open.is_empty() {
                self.free.insert(lane);
            }
        }
        Some((at, u32::try_from(lane).unwrap_or(u32::MAX)))
    }
}

/// How many held spans enclose each by parentage; a circle of parents ends where it closes.
fn depths(spans: &SpanBatch) -> Vec<u32> {
    let rows: HashMap<SpanId, usize, RandomState> = spans
        .id
        .iter()
        .enumerate()
        .map(|(at, &id)| (id, at))
        .collect();
    let mut depths: Vec<Option<u32>> = vec![None; spans.len()];
    let mut path = Vec::new();
    for at in 0..spans.len() {
        path.clear();
        let mut next = Some(at);
        let mut above = 0;
        while let Some(here) = next {
            if let Some(&Some(known)) = depths.get(here) {
                above = known + 1;
                break;
            }
            // Marked before its parents are known, so that a circle meets it.
            if let Some(slot) = depths.get_mut(here) {
                *slot = Some(0);
            }
            path.push(here);
            let parent = spans.parent.get(here).copied().flatten();
            next = parent.and_then(|parent| rows.get(&parent).copied());
        }
        for &here in path.iter().rev() {
            if let Some(slot) = depths.get_mut(here) {
                *slot = Some(above);
            }
            above += 1;
        }
    }
    depths.into_iter().map(|depth| depth.unwrap_or(0)).collect()
}

impl Stage for Reorder<'_> {
    fn asks(&self) -> Asks {
        Asks {
            wants: Wants::Spans,
            ..Asks::of(self.to)
        }
    }

    fn pass(&mut self, batch: Batch) -> Flow {
        let Batch::Spans(spans) = batch else {
            return batch.push(self.to);
        };
        for row in spans.iter() {
            self.take(&row)?;
        }
        Flow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use traceloom_model::{Definitions, FunctionId};

    /// Writes begins and ends down, and checks that each lane nests and time never runs back.
    #[derive(Default)]
    struct Log {
        lines: Vec<String>,
        open: HashMap<(TrackId, u32), Vec<SpanId>>,
        time: HashMap<TrackId, Timestamp>,
        partial: usize,
        notes: u64,
    }

    impl Log {
        fn at(&mut self, track: TrackId, time: Timestamp) {
            let last = self.time.entry(track).or_insert(time);
            assert!(*last <= time, "{last} then {time}");
            *last = time;
        }
    }

    impl Sink for Log {
        fn define(&mut self, _: Definitions) -> Flow {
            Flow::Continue(())
        }

        fn note(&mut self, note: Note) -> Flow {
            assert_eq!(note.kind, "limit_open_spans");
            self.notes += 1;
            Flow::Continue(())
        }
    }

    impl BeginEnd for Log {
        fn enter(&mut self, span: &SpanRow<'_>, lane: u32) -> Flow {
            self.at(span.track, span.start);
            self.open
                .entry((span.track, lane))
                .or_default()
                .push(span.id);
            self.partial += usize::from(span.status == SpanStatus::PartialStart);
            self.lines.push(format!("{lane}+{}", span.id.0));
            Flow::Continue(())
        }

        fn exit(&mut self, span: &SpanRow<'_>, lane: u32) -> Flow {
            self.at(span.track, span.end);
            let open = self.open.get_mut(&(span.track, lane)).unwrap();
            assert_eq!(open.pop(), Some(span.id));
            self.lines.push(format!("{lane}-{}", span.id.0));
            Flow::Continue(())
        }
    }

    fn span(id: u64, parent: Option<u64>, start: i64, end: i64) -> SpanRow<'static> {
        SpanRow {
            parent: parent.map(SpanId),
            ..SpanRow::call(SpanId(id), TrackId::new(0), FunctionId::new(0), start, end)
        }
    }

    fn run(limit: usize, rows: &[SpanRow<'_>]) -> Log {
        let mut log = Log::default();
        let mut batch = SpanBatch::default();
        rows.iter().for_each(|row| batch.push(row));
        let mut reorder = Reorder::new(&mut log, limit);
        assert!(reorder.spans(batch).is_continue());
        assert!(reorder.finish().is_continue());
        assert!(log.open.values().all(Vec::is_empty));
        log
    }

    #[test]
    fn children_follow_their_parent() {
        let rows = [
            span(2, Some(1), 0, 5),
            span(3, Some(1), 5, 10),
            span(1, None, 0, 10),
            span(4, None, 10, 10),
        ];
        assert_eq!(
            run(9, &rows).lines,
            ["0+1", "0+2", "0-2", "0+3", "0-3", "0-1", "0+4", "0-4"]
        );
    }

    #[test]
    fn overlapping_siblings_get_lanes() {
        let rows = [
            span(2, Some(1), 0, 6),
            span(3, Some(1), 4, 8),
            span(4, Some(1), 7, 9),
            span(1, None, 0, 10),
        ];
        assert_eq!(
            run(9, &rows).lines,
            ["0+1", "0+2", "1+3", "0-2", "0+4", "1-3", "0-4", "0-1"]
        );
    }

    #[test]
    fn orphans_come_at_the_end() {
        let log = run(9, &[span(2, Some(1), 0, 5)]);
        assert_eq!(log.lines, ["0+2", "0-2"]);
    }

    #[test]
    fn beyond_the_limit_spans_go_on_without_their_parents() {
        let mut rows: Vec<_> = (0..10)
            .map(|n| {
                span(
                    n + 1,
                    Some(0),
                    i64::try_from(n).unwrap() * 10,
                    i64::try_from(n).unwrap() * 10 + 5,
                )
            })
            .collect();
        rows.push(span(0, None, 0, 200));
        rows.push(span(20, None, 300, 400));
        let log = run(4, &rows);
        assert_eq!(log.lines.len(), 24);
        assert_eq!((log.notes, log.partial), (2, 1));
    }

    proptest! {
        #[test]
        fn every_span_begins_and_ends_once(
            spans in prop::collection::vec((0..100_i64, 0..30_i64, 0..8_usize, 0..2_u32), 1..60),
            limit in 1..80_usize,
        ) {
            let mut rows: Vec<_> = spans
                .iter()
                .enumerate()
                .map(|(at, &(start, length, parent, track))| {
                    let parent = (parent > 0).then(|| (at / 2 + parent) as u64);
                    SpanRow {
                        track: TrackId::new(track),
                        ..span(at as u64, parent, start, start + length)
                    }
                })
                .collect();
            rows.sort_by_key(|row| row.end);
            let mut log = Log::default();
            let mut batch = SpanBatch::default();
            rows.iter().for_each(|row| batch.push(row));
            // Calls of one track may overlap here, which the log's clock does not allow: one root each.
            batch.parent.iter_mut().for_each(|parent| { parent.get_or_insert(SpanId(1_000)); });
            let mut reorder = Reorder::new(&mut log, limit);
            prop_assert!(reorder.spans(batch).is_continue());
            prop_assert!(reorder.finish().is_continue());
            prop_assert_eq!(log.lines.len(), rows.len() * 2);
            prop_assert!(log.open.values().all(Vec::is_empty));
        }
    }
}
