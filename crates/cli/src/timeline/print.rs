//! The summary on a terminal: a line for what a track has of each kind.

use std::cmp::Reverse;
use std::io::Write;

use traceloom_analysis::timeline::{Activity, Counter, RowKind, Timeline, Track, TrackLine};

use super::Options;
use super::json::kinds;
use crate::numbers::{count, duration, things};
use crate::style::Style;
use crate::table::Table;
use crate::trees::amount;

/// Tracks that fit a screen.
const SCREEN: usize = 30;

/// Columns of a terminal that the others want beside the bars, and the fewest bars.
const OTHERS: usize = 70;
const FEWEST: usize = 20;

/// A share of a column, from nothing to all of it.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn print(
    timeline: &Timeline,
    options: &Options,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Some((start, end)) = timeline.times() else {
        return Ok(());
    };
    // Bars take what the other columns leave of a narrow terminal.
    let room = style.width().filter(|_| !options.wide);
    let most = room.map_or(usize::MAX, |width| width.saturating_sub(OTHERS).max(FEWEST));
    let columns = usize::from(options.columns).min(most);
    let heading = heading(timeline, (start, end), columns, style);
    writeln!(out, "{}", style.bold(heading))?;
    let shown = shown(timeline, options.rows.unwrap_or(SCREEN));
    let mut table = Table::new(&[
        "track", "what", "count", "time", "share", "longest", "marks", "activity",
    ]);
    let rows = TrackRows {
        timeline,
        length: end.abs_diff(start),
        columns,
        exact: options.wide,
    };
    for &track in &shown {
        for (line, kind) in kinds(timeline, track).into_iter().enumerate() {
            table.row(rows.row(track, kind, line == 0));
        }
    }
    for counter in &timeline.counters {
        table.row(counter_row(timeline, counter, columns));
    }
    table
        .without_empty()
        .whole(options.wide)
        .print(style, out)?;
    print_hints(timeline, shown.len(), style, out)
}

/// From when to when it is, and how long a column lasts.
fn heading(timeline: &Timeline, (start, end): (i64, i64), columns: usize, style: &Style) -> String {
    let length = end.abs_diff(start);
    let column = duration(length / columns.max(1) as u64);
    let when = match is_dated(timeline) {
        true => format!("{} to {}", style.when(true, start), style.when(true, end)),
        false => "a clock without a date".to_owned(),
    };
    let of = match timeline.sources.as_slice() {
        [source] => source.title.clone(),
        sources => things(sources.len() as u64, "recording", "recordings"),
    };
    format!("{of}  {when} ({}), a column is {column}", duration(length))
}

fn is_dated(timeline: &Timeline) -> bool {
    timeline.sources.iter().any(|source| source.unix)
}

/// Prints what the table leaves out, and how to see it.
fn print_hints(
    timeline: &Timeline,
    shown: usize,
    style: &Style,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let all = timeline.tracks.len();
    if shown < all {
        let text = format!(
            "the busiest {} of {} tracks; -n 0 prints all",
            count(shown as u64),
            count(all as u64)
        );
        writeln!(out, "{}", style.dim(text))?;
    }
    let together = timeline.held_together();
    if together > 0 {
        let text = format!(
            "{} of the shortest spans, events and samples are held together: bars are right to a small part of a column",
            count(together)
        );
        writeln!(out, "{}", style.dim(text))?;
    }
    if let Some((from, to)) = timeline.bulk() {
        let when = match is_dated(timeline) {
            true => format!(
                "from {} to {}",
                style.when(true, from),
                style.when(true, to)
            ),
            false => format!("in {}", duration(to.abs_diff(from))),
        };
        let text = format!("nearly everything lies {when}; --since and --until leave out the rest");
        writeln!(out, "{}", style.dim(text))?;
    }
    let undated = timeline
        .sources
        .iter()
        .filter(|source| !source.unix)
        .count();
    if timeline.sources.len() > 1 && undated > 0 {
        let own = things(undated as u64, "recording", "recordings");
        let text = format!("{own} with a clock of no known origin, drawn from the start of each");
        writeln!(out, "{}", style.dim(text))?;
    }
    Ok(())
}

/// Makes the rows of tracks.
struct TrackRows<'t> {
    timeline: &'t Timeline,
    /// Nanoseconds of the whole.
    length: u64,
    columns: usize,
    /// Times are printed in nanoseconds.
    exact: bool,
}

impl TrackRows<'_> {
    /// Returns the row of what a track has of a kind; its first row names the track.
    fn row(&self, track: &Track, kind: RowKind, is_first: bool) -> [String; 8] {
        let timeline = self.timeline;
        let several = timeline.sources.len() > 1;
        let name = if is_first {
            label(timeline, track, several)
        } else {
            String::new()
        };
        let activity = Activity::of(timeline, track.source, self.columns);
        let activity = match kind {
            RowKind::Event | RowKind::Sample => heights(&activity.count(timeline, track, kind)),
            _ => bars(&activity.share(timeline, track, kind)),
        };
        let (number, lasted) = numbers(track, kind);
        let share = match (kind, lasted) {
            (RowKind::Span | RowKind::Pause, Some(lasted)) => share(lasted, self.length),
            _ => String::new(),
        };
        let (longest, marks) = match kind {
            RowKind::Span => (self.time(track.totals.longest), marks(track)),
            _ => (String::new(), String::new()),
        };
        [
            name,
            kind_word(kind).to_owned(),
            count(number),
            lasted.map_or_else(String::new, |lasted| self.time(lasted)),
            share,
            longest,
            marks,
            activity,
        ]
    }

    fn time(&self, ns: u64) -> String {
        match self.exact {
            true => ns.to_string(),
            false => duration(ns),
        }
    }
}

/// The busiest tracks in their order, and those of processes; all where `most` is 0.
pub(super) fn shown(timeline: &Timeline, most: usize) -> Vec<&Track> {
    let rank = |track: &Track| {
        let totals = &track.totals;
        let process = track.line == TrackLine::Process;
        Reverse((process, totals.busy, totals.samples + totals.events))
    };
    let mut order: Vec<(usize, &Track)> = timeline.tracks.iter().enumerate().collect();
    if most > 0 && order.len() > most {
        order.sort_by_key(|&(at, track)| (rank(track), at));
        order.truncate(most);
        order.sort_by_key(|&(at, _)| at);
    }
    order.into_iter().map(|(_, track)| track).collect()
}

fn label(timeline: &Timeline, track: &Track, several: bool) -> String {
    let name = track.name.replace(['\n', '\r', '\t'], " ");
    let indent = "  ".repeat(track.level.min(8) as usize);
    let of = match track.line {
        TrackLine::Process => " (process)".to_owned(),
        TrackLine::Of(_) if !several => String::new(),
        TrackLine::Of(_) if !track.process.is_empty() => format!(" ({})", track.process),
        TrackLine::Of(_) => timeline
            .sources
            .get(track.source)
            .map_or_else(String::new, |source| format!(" ({})", source.title)),
    };
    format!("{indent}{name}{of}")
}

fn kind_word(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Pause => "pauses",
        RowKind::Loss => "lost data",
        RowKind::Span => "spans",
        RowKind::Wait => "waits",
        RowKind::Event => "events",
        RowKind::Sample => "samples",
    }
}

/// How many there are, and how long they took where that says something.
fn numbers(track: &Track, kind: RowKind) -> (u64, Option<u64>) {
    let totals = &track.totals;
    match kind {
        RowKind::Pause => (totals.pauses.count, Some(totals.pauses.total)),
        RowKind::Loss => (totals.losses.count, Some(totals.losses.total)),
        RowKind::Span => (totals.spans, Some(totals.busy)),
        RowKind::Wait => {
            let sum = |of: fn(&traceloom_analysis::timeline::Waited) -> u64| {
                totals.waits.iter().map(of).fold(0, u64::saturating_add)
            };
            (sum(|waits| waits.count), Some(sum(|waits| waits.total)))
        }
        RowKind::Event => (totals.events, None),
        RowKind::Sample => (totals.samples, None),
    }
}

/// What is not as it should be.
fn marks(track: &Track) -> String {
    let totals = &track.totals;
    let all = [
        (totals.partial, "partial"),
        (totals.failed, "failed"),
        (totals.undrawn, "not drawn"),
    ];
    let some = all.iter().filter(|(number, _)| *number > 0);
    let texts: Vec<String> = some
        .map(|(number, word)| format!("{} {word}", count(*number)))
        .collect();
    texts.join(", ")
}

fn share(part: u64, whole: u64) -> String {
    let hundredths = u128::from(part) * 10_000 / u128::from(whole.max(1));
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

fn bars(thousandths: &[u16]) -> String {
    let bar = |&share: &u16| {
        let height = usize::from(share.min(1000)).div_ceil(125);
        BARS.get(height).copied().unwrap_or(' ')
    };
    thousandths.iter().map(bar).collect()
}

/// Counts as bars, the largest as a full one.
fn heights(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let share = |&count: &u64| {
        let share = (u128::from(count) * 1000).div_ceil(u128::from(most));
        u16::try_from(share).unwrap_or(1000)
    };
    bars(&counts.iter().map(share).collect::<Vec<u16>>())
}

fn counter_row(timeline: &Timeline, counter: &Counter, columns: usize) -> [String; 8] {
    let levels = Activity::of(timeline, counter.source, columns).level(counter);
    let values = || counter.points.iter().map(|&(_, value)| value);
    let (least, most) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let bar = |level: &Option<f64>| {
        let Some(level) = level else { return ' ' };
        let steps = BARS.iter().skip(1).enumerate();
        let part = if most > least {
            (level - least) / (most - least)
        } else {
            1.0
        };
        let reached = steps.take_while(|(step, _)| part * 8.0 >= *step as f64);
        reached.last().map_or('▁', |(_, &bar)| bar)
    };
    let blank = String::new;
    [
        counter.name.clone(),
        "counter".to_owned(),
        count(counter.points.len() as u64),
        blank(),
        blank(),
        blank(),
        format!("{} to {}", level(counter, least), level(counter, most)),
        levels.iter().map(bar).collect(),
    ]
}

/// A value of a counter; whole numbers in the unit a person would take.
fn level(counter: &Counter, value: f64) -> String {
    let whole = value.to_string().parse::<i64>();
    whole.map_or_else(
        |_| format!("{value} {}", counter.unit.word()),
        |value| amount(&counter.unit, value),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_what_is_there_at_all() {
        assert_eq!(bars(&[0, 1, 125, 126, 1000]), " ▁▁▂█");
        assert_eq!(heights(&[0, 1, 500, 1000]), " ▁▄█");
        assert_eq!(heights(&[]), "");
        assert_eq!(share(1, 3), "33.33%");
    }
}
