//! The course of a call: what kinds of work it did when, level by level, as a drawing that fits into a row.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::ops::Range;

use foldhash::fast::RandomState;
use traceloom_model::Timestamp;

use super::{Report, SlowCall};
use crate::Symbol;
use crate::hotspots::{TreeWork, token, unnamed};
use crate::timeline::{Row, RowKind, Timeline, Track};

/// Columns of time, and levels from the call on; deeper ones are not drawn.
const COLUMNS: usize = 110;
const LEVELS: u32 = 8;

/// What draws the courses of calls.
pub(super) struct Courses<'r> {
    timeline: &'r Timeline,
    /// The token of each name of the timeline.
    tokens: Vec<&'static str>,
    tracks: HashMap<&'r str, Vec<&'r Track>, RandomState>,
}

/// A call in the rows of a timeline.
struct Spans<'r> {
    /// Rows of its lane from its own on, callers first.
    rows: Vec<&'r Row>,
    from: Timestamp,
    to: Timestamp,
}

impl<'r> Courses<'r> {
    pub(super) fn new(report: &Report<'r>) -> Self {
        let tree = report.trees.first();
        let own = tree.map(|tree| TreeWork::of(tree, report.categories).own);
        let own = own.unwrap_or_default();
        let token = |name: &String| {
            let symbol = Symbol::named(name);
            let category = report.categories.of(name);
            let category = category.and_then(|at| report.categories.names().get(at));
            match category {
                Some(category) => token(category),
                None => unnamed(&symbol, &own).0,
            }
        };
        let mut tracks: HashMap<&str, Vec<&Track>, RandomState> = HashMap::default();
        for track in &report.timeline.tracks {
            tracks.entry(track.name.as_str()).or_default().push(track);
        }
        Self {
            timeline: report.timeline,
            tokens: report.timeline.names.texts.iter().map(token).collect(),
            tracks,
        }
    }

    /// Draws a call; nothing where it is in no row of the timeline, or took no time.
    pub(super) fn draw(&self, call: &SlowCall) -> String {
        let Some(spans) = self.find(call) else {
            return String::new();
        };
        let mut paths: BTreeMap<&str, String> = BTreeMap::new();
        let levels = spans.rows.len().min(LEVELS as usize);
        for (level, row) in spans.rows.iter().take(levels).enumerate() {
            let columns = self.columns(row, &spans);
            let mut from = 0;
            while let Some(&token) = columns.get(from) {
                let same = columns.iter().skip(from).take_while(|&&one| one == token);
                let wide = same.count();
                if let Some(token) = token {
                    let path = paths.entry(token).or_default();
                    let _ = write!(path, "M{from} {level}h{wide}v.9h-{wide}z");
                }
                from += wide;
            }
        }
        let mut out = format!(
            "<svg class=\"course\" viewBox=\"0 0 {COLUMNS} {LEVELS}\" preserveAspectRatio=\"none\" aria-hidden=\"true\">"
        );
        for (token, path) in paths {
            let _ = write!(out, "<path class=\"{token}\" d=\"{path}\"/>");
        }
        out.push_str("</svg>");
        out
    }

    /// Returns the nanoseconds that a call spent in work of this token, none where spans of it are held together.
    pub(super) fn spent(&self, call: &SlowCall, token: &str) -> Option<u64> {
        let Some(spans) = self.find(call) else {
            return Some(0);
        };
        let items = &self.timeline.items;
        let mut sum = 0_u64;
        for item in spans.rows.iter().flat_map(|row| self.within(row, &spans)) {
            if items.count.get(item).is_some_and(|&count| count > 1) {
                return None;
            }
            if self.token(item) == Some(token) {
                let covered = items.covered.get(item).copied().unwrap_or(0);
                sum = sum.saturating_add(self.length(item).saturating_sub(covered));
            }
        }
        Some(sum)
    }

    /// Finds a call in the tracks of its thread.
    fn find(&self, call: &SlowCall) -> Option<Spans<'r>> {
        let (from, to) = (
            call.start,
            call.start.saturating_add_unsigned(call.duration),
        );
        let items = &self.timeline.items;
        let is_call = |row: &Row| {
            let starts = items.start.get(row.items.clone()).unwrap_or_default();
            let before = starts.partition_point(|&start| start < from);
            let mut same = (row.items.start + before..row.items.end)
                .take_while(|&item| items.start.get(item) == Some(&from));
            same.any(|item| items.end.get(item) == Some(&to))
        };
        for track in self.tracks.get(call.thread.as_str())? {
            let rows = self.timeline.rows_of(track);
            let spans = || rows.iter().filter(|row| row.kind == RowKind::Span);
            let Some(own) = spans().find(|row| is_call(row)).filter(|_| to > from) else {
                continue;
            };
            let mut below: Vec<&Row> = spans()
                .filter(|row| row.lane == own.lane && row.level >= own.level)
                .collect();
            below.sort_by_key(|row| row.level);
            return Some(Spans {
                rows: below,
                from,
                to,
            });
        }
        None
    }

    /// The items of a row that lie in a call.
    fn within(&self, row: &Row, spans: &Spans<'_>) -> Range<usize> {
        let items = &self.timeline.items;
        let starts = items.start.get(row.items.clone()).unwrap_or_default();
        let first = starts.partition_point(|&start| start < spans.from);
        let last = starts.partition_point(|&start| start < spans.to);
        row.items.start + first..row.items.start + last.max(first)
    }

    fn token(&self, item: usize) -> Option<&'static str> {
        let name = *self.timeline.items.name.get(item)?;
        self.tokens.get(name as usize).copied()
    }

    fn length(&self, item: usize) -> u64 {
        let items = &self.timeline.items;
        let times = items.start.get(item).zip(items.end.get(item));
        times.map_or(0, |(start, end)| end.abs_diff(*start))
    }

    /// The kind of work that fills most of each column.
    fn columns(&self, row: &Row, spans: &Spans<'_>) -> [Option<&'static str>; COLUMNS] {
        let items = &self.timeline.items;
        let whole = u128::from(spans.to.abs_diff(spans.from)).max(1);
        let place = |time: Timestamp| {
            let since = u128::from(time.clamp(spans.from, spans.to).abs_diff(spans.from));
            since * COLUMNS as u128
        };
        let mut most = [(0_u128, None); COLUMNS];
        for item in self.within(row, spans) {
            let times = items.start.get(item).zip(items.end.get(item));
            let Some((from, to)) = times.map(|(from, to)| (place(*from), place(*to))) else {
                continue;
            };
            let first = usize::try_from(from / whole).unwrap_or(COLUMNS);
            for (column, best) in most.iter_mut().enumerate().skip(first) {
                let start = column as u128 * whole;
                let covered = to.min(start + whole).saturating_sub(from.max(start));
                if start >= to {
                    break;
                }
                if covered > best.0 {
                    *best = (covered, self.token(item));
                }
            }
        }
        most.map(|(_, token)| token)
    }
}
