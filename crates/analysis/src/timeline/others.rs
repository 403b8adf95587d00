//! Tracks beside the busiest ones: one line for those of a process, which says how much they did and when, and one for those of
//! processes beyond the first so many.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use traceloom_model::bounds::{in_memory, saturated_u32, saturated_u64};
use traceloom_model::{Recording, Timestamp, TrackKind};

use super::collect::NONE;
use super::held::{HeldRows, Spans, get};
use super::order::{id, process};
use super::{RowKind, Totals};

/// Stretches that the time of a line is divided into, at most.
const STRETCHES: usize = 4_096;

/// The shortest stretch: 2 to so many nanoseconds.
const SHORTEST: u32 = 10;

/// Processes that have such a line, at most: each may take 200 KB.
const MOST_PROCESSES: usize = 250;

/// The line of all other processes stands among theirs under this name.
const OTHER_PROCESSES: &str = "other processes";

/// What ran in one stretch of time on the tracks of a line.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: Timestamp,
    end: Timestamp,
    /// What began in it.
    count: u64,
    /// Nanoseconds that all of it took, of all tracks together.
    filled: u64,
    /// The longest that began in it, and its name.
    longest: u64,
    name: u32,
}

impl Stretch {
    const NONE: Self = Self {
        start: Timestamp::MAX,
        end: Timestamp::MIN,
        count: 0,
        filled: 0,
        longest: 0,
        name: NONE,
    };

    fn is_empty(&self) -> bool {
        self.start > self.end
    }

    fn join(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.filled = self.filled.saturating_add(other.filled);
        if other.count > 0 && (self.count == 0 || other.longest > self.longest) {
            (self.longest, self.name) = (other.longest, other.name);
        }
        self.count = self.count.saturating_add(other.count);
    }
}

/// What is drawn of a stretch, or of several where nothing new began.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LineItem {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) name: u32,
    pub(super) count: u32,
    pub(super) filled: u64,
}

/// How busy tracks were, in equal stretches that grow as the recording does.
#[derive(Debug, Default)]
pub(super) struct LineCourse {
    /// A stretch is 2 to this many nanoseconds long.
    exponent: u32,
    /// The number of the first stretch since time zero.
    first: i64,
    stretches: Vec<Stretch>,
}

impl LineCourse {
    /// Adds `count` things of one name that took so long together.
    fn add(&mut self, (start, end): (Timestamp, Timestamp), filled: u64, count: u32, name: u32) {
        self.exponent = self.exponent.max(SHORTEST);
        let (from, to) = loop {
            let (from, to) = (start >> self.exponent, last_of(start, end) >> self.exponent);
            let (low, high) = match self.stretches.len() {
                0 => (from, to),
                len => (
                    from.min(self.first),
                    to.max(self.first.saturating_add_unsigned(len as u64 - 1)),
                ),
            };
            if in_memory(high.abs_diff(low)) < STRETCHES {
                self.reach(low, high);
                break (from, to);
            }
            self.coarsen();
        };
        let length = end.abs_diff(start);
        for number in from..=to {
            let begins = (number << self.exponent).max(start);
            let ends = match number == to {
                true => end,
                false => (number + 1) << self.exponent,
            };
            let part = u128::from(ends.abs_diff(begins)) * u128::from(filled);
            let is_first = number == from;
            let one = Stretch {
                start: begins,
                end: ends,
                count: if is_first { count.into() } else { 0 },
                filled: saturated_u64(part / u128::from(length.max(1))),
                longest: if is_first { filled } else { 0 },
                name,
            };
            let at = in_memory(number.abs_diff(self.first));
            if let Some(stretch) = self.stretches.get_mut(at) {
                stretch.join(&one);
            }
        }
    }

    /// Has stretches from one number to another.
    fn reach(&mut self, low: i64, high: i64) {
        if self.stretches.is_empty() {
            self.first = low;
        }
        let before = in_memory(self.first.abs_diff(low));
        if before > 0 {
            let new = std::iter::repeat_n(Stretch::NONE, before);
            self.stretches.splice(0..0, new);
            self.first = low;
        }
        let needed = in_memory(high.abs_diff(low)) + 1;
        let len = self.stretches.len().max(needed);
        self.stretches.resize(len, Stretch::NONE);
    }

    /// Makes stretches twice as long.
    fn coarsen(&mut self) {
        self.exponent += 1;
        let old = std::mem::take(&mut self.stretches);
        let first = self.first;
        self.first = first >> 1;
        for (number, stretch) in (first..).zip(&old) {
            let at = in_memory((number >> 1).abs_diff(self.first));
            match self.stretches.get_mut(at) {
                Some(known) => known.join(stretch),
                None => self.stretches.push(*stretch),
            }
        }
    }

    /// What is drawn, in the order of time.
    pub(super) fn items(&self) -> Vec<LineItem> {
        let mut items: Vec<LineItem> = Vec::new();
        let mut is_open = false;
        for stretch in &self.stretches {
            if stretch.is_empty() {
                is_open = false;
                continue;
            }
            let (start, end) = (stretch.start, stretch.end);
            match items.last_mut().filter(|_| is_open && stretch.count == 0) {
                Some(last) => {
                    last.end = last.end.max(end);
                    last.filled = last.filled.saturating_add(stretch.filled);
                }
                None => items.push(LineItem {
                    // The end of what began before may reach into this one.
                    start: items
                        .last()
                        .map_or(start, |last: &LineItem| start.max(last.end)),
                    end,
                    name: stretch.name,
                    count: saturated_u32(stretch.count.max(1)),
                    filled: stretch.filled,
                }),
            }
            is_open = true;
        }
        for item in &mut items {
            item.end = item.end.max(item.start);
            // Several that ran at the same time fill it once.
            item.filled = item.filled.min(item.end.abs_diff(item.start));
        }
        items
    }
}

/// The last nanosecond that something fills.
fn last_of(start: Timestamp, end: Timestamp) -> Timestamp {
    end.saturating_sub(1).max(start)
}

/// The line of a process.
#[derive(Debug, Default)]
pub(super) struct OtherLine {
    pub(super) process: String,
    /// How many tracks it stands for, and how many of these are threads.
    pub(super) tracks: u64,
    pub(super) threads: u64,
    pub(super) totals: Totals,
    /// By kind of row; samples by their profile too.
    pub(super) courses: BTreeMap<(RowKind, u32), LineCourse>,
}

impl OtherLine {
    /// What it is called.
    pub(super) fn name(&self) -> String {
        let (one, many) = match self.threads == self.tracks {
            true => ("thread", "threads"),
            false => ("track", "tracks"),
        };
        let word = if self.tracks == 1 { one } else { many };
        format!("{} other {word}", crate::grouped(self.tracks))
    }
}

/// One of the tracks that have no line of their own.
#[derive(Clone, Copy, Debug)]
struct OtherTrack {
    line: usize,
    /// The end of the last outermost span that was added up.
    reached: Timestamp,
}

/// Tracks that have no line of their own.
#[derive(Debug, Default)]
pub(super) struct Others {
    tracks: HashMap<u32, OtherTrack, RandomState>,
    lines: Vec<OtherLine>,
    /// Lines by the name of their process.
    numbers: HashMap<String, usize, RandomState>,
}

impl Others {
    /// Takes the tracks beside the `most` busiest, and adds up what is held of them.
    ///
    /// While a recording is read, spans whose callers may come yet stay; at its `end` nothing does.
    pub(super) fn take(
        &mut self,
        tables: &Recording,
        (spans, marks): (&mut Spans, &mut BTreeMap<(RowKind, u32), HeldRows>),
        most: usize,
        end: bool,
    ) {
        self.choose(tables, spans, marks, most);
        if self.tracks.is_empty() {
            return;
        }
        let mut kept = vec![true; spans.rows.len()];
        for (track, numbers) in spans.by_start(0, |track| self.has(track)) {
            let Some(other) = self.tracks.get_mut(&track) else {
                continue;
            };
            let Some(line) = self.lines.get_mut(other.line) else {
                continue;
            };
            let course = line.courses.entry((RowKind::Span, 0)).or_default();
            for at in numbers {
                let (start, stop) = (get(&spans.rows.start, at), get(&spans.rows.end, at));
                let is_root = get(&spans.parent, at) == u64::MAX;
                let is_inside = stop <= other.reached;
                if !is_root && !is_inside && !end {
                    continue;
                }
                if let Some(kept) = kept.get_mut(at as usize) {
                    *kept = false;
                }
                if is_inside && !is_root {
                    continue;
                }
                let (filled, count) = (get(&spans.rows.filled, at), get(&spans.rows.count, at));
                let busy = stop
                    .abs_diff(start.max(other.reached).min(stop))
                    .min(filled);
                line.totals.busy = line.totals.busy.saturating_add(busy);
                other.reached = other.reached.max(stop);
                course.add((start, stop), filled, count, get(&spans.rows.name, at));
            }
        }
        spans.keep(&kept);
        for (&key, marks) in marks {
            self.take_marks(key, marks);
        }
    }

    fn take_marks(&mut self, key: (RowKind, u32), marks: &mut HeldRows) {
        let mut kept = vec![true; marks.start.len()];
        for (at, kept) in (0..).zip(&mut kept) {
            let other = self.tracks.get(&get(&marks.track, at));
            let Some(line) = other.and_then(|other| self.lines.get_mut(other.line)) else {
                continue;
            };
            *kept = false;
            let times = (get(&marks.start, at), get(&marks.end, at));
            let (filled, count) = (get(&marks.filled, at), get(&marks.count, at));
            let course = line.courses.entry(key).or_default();
            course.add(times, filled, count, get(&marks.name, at));
        }
        marks.keep(&kept);
    }

    /// Returns true if a track is one of them.
    pub(super) fn has(&self, track: u32) -> bool {
        self.tracks.contains_key(&track)
    }

    /// Takes the least busy of more than `most` tracks.
    fn choose(
        &mut self,
        tables: &Recording,
        spans: &Spans,
        marks: &BTreeMap<(RowKind, u32), HeldRows>,
        most: usize,
    ) {
        // How long outermost spans took, and how much there is at all.
        let mut work: HashMap<u32, (u64, u64), RandomState> = HashMap::default();
        for at in 0..saturated_u32(spans.rows.len() as u64) {
            let (busy, count) = work.entry(get(&spans.rows.track, at)).or_default();
            if get(&spans.parent, at) == u64::MAX {
                *busy = busy.saturating_add(get(&spans.rows.filled, at));
            }
            *count += u64::from(get(&spans.rows.count, at));
        }
        for ((kind, _), marks) in marks {
            for (&track, &count) in marks.track.iter().zip(&marks.count) {
                let (busy, sum) = work.entry(track).or_default();
                *sum += u64::from(count);
                // What concerns the whole process shows beside all tracks.
                if matches!(kind, RowKind::Pause | RowKind::Loss) {
                    *busy = u64::MAX;
                }
            }
        }
        let mut own: Vec<(u64, u64, u32)> = work
            .into_iter()
            .filter(|(track, _)| *track != NONE && !self.tracks.contains_key(track))
            .map(|(track, (busy, count))| (busy, count, track))
            .collect();
        if own.len() <= most {
            return;
        }
        own.sort_unstable_by(|a, b| (b.0, b.1, a.2).cmp(&(a.0, a.1, b.2)));
        for &(_, _, track) in own.iter().skip(most) {
            self.add(tables, track);
        }
    }

    fn add(&mut self, tables: &Recording, track: u32) {
        let of = id(track);
        let mut name = of.map_or_else(String::new, |id| process(tables, id));
        if self.lines.len() >= MOST_PROCESSES && !self.numbers.contains_key(&name) {
            OTHER_PROCESSES.clone_into(&mut name);
        }
        let known = self.numbers.get(&name).copied();
        let line = known.unwrap_or_else(|| {
            self.numbers.insert(name.clone(), self.lines.len());
            self.lines.push(OtherLine {
                process: name,
                ..OtherLine::default()
            });
            self.lines.len() - 1
        });
        let kind = of.and_then(|id| tables.track(id)).map(|row| row.kind);
        if let Some(line) = self.lines.get_mut(line) {
            line.tracks += 1;
            line.threads += u64::from(kind.unwrap_or_default() == TrackKind::Thread);
        }
        let reached = Timestamp::MIN;
        self.tracks.insert(track, OtherTrack { line, reached });
    }

    /// Returns the number of the line that a track belongs to.
    pub(super) fn line_of(&self, track: u32) -> Option<usize> {
        self.tracks.get(&track).map(|other| other.line)
    }

    /// Returns how many tracks there are without a line of their own.
    pub(super) fn len(&self) -> u64 {
        self.tracks.len() as u64
    }

    /// Returns the lines with what their tracks come to.
    pub(super) fn lines(&mut self, totals: &HashMap<u32, Totals, RandomState>) -> &[OtherLine] {
        for (track, other) in &self.tracks {
            if let (Some(line), Some(of)) = (self.lines.get_mut(other.line), totals.get(track)) {
                line.totals.add(of);
            }
        }
        &self.lines
    }
}
