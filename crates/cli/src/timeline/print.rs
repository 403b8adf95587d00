//! The summary on a terminal: a line for what a track has of each kind.

use std::cmp::Reverse;
use std::io::Write;

use traceloom_analysis::timeline::{Activity, Counter, RowKind, Timeline, Track, TrackLine};

use super::Options;
use super::json::kinds;
use crate::numbers::{count, duration, things};
use crate::style::Style;
use crate::table::Table;
use crate::trees::{amount, unit_word};

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
    let length = end.abs_diff(start);
    // Bars take what the other columns leave of a narrow terminal.
    let room = style.width().filter(|_| !options.wide);
    let most = room.map_or(usize::MAX, |width| width.saturating_sub(OTHERS).max(FEWEST));
    let columns = usize::from(options.columns).min(most);
    let column = duration(length / columns.max(1) as u64);
    let unix = timeline.sources.iter().any(|source| source.unix);
    let when = match unix {
        true => format!("{} to {}", style.when(true, start), style.when(true, end)),
        false => "a clock without a date".to_owned(),
    };
    let of = match timeline.sources.as_slice() {
        [source] => source.title.clone(),
        sources => things(sources.len() as u64, "recording", "recordings"),
    };
    let heading = format!("{of}  {when} ({}), a column is {column}", duration(length));
    writeln!(out, "{}", style.bold(heading))?;
    let shown = shown(timeline, options.rows.unwrap_or(SCREEN));
    let several = timeline.sources.len() > 1;
    let exact = options.wide;
    let time = |ns: u64| match exact {
        true => ns.to_string(),
        false => duration(ns),
    };
    let mut table = Table::new(&[
        "track", "what", "count", "time", "share", "longest", "marks", "activity",
    ]);
    for &track in &shown {
        let activity = Activity::of(timeline, track.source, columns);
        for (line, kind) in kinds(timeline, track).into_iter().enumerate() {
            let counts = matches!(kind, RowKind::Event | RowKind::Sample);
            let bars = match counts {
                true => heights(&activity.count(timeline, track, kind)),
                false => bars(&activity.share(timeline, track, kind)),
            };
            let (number, lasted) = numbers(track, kind);
            let first = line == 0;
            table.row([
                if first {
                    label(timeline, track, several)
                } else {
                    String::new()
                },
                kind_word(kind).to_owned(),
                count(number),
                lasted.map(time).unwrap_or_default(),
                match (kind, lasted) {
                    (RowKind::Span | RowKind::Pause, Some(lasted)) => share(lasted, length),
                    _ => String::new(),
                },
                match kind {
                    RowKind::Span => time(track.totals.longest),
                    _ => String::new(),
                },
                match kind {
                    RowKind::Span => marks(track),
                    _ => String::new(),
                },
                bars,
            ]);
        }
    }
    for counter in &timeline.counters {
        table.row(counter_row(timeline, counter, columns));
    }
    table
        .without_empty()
        .whole(options.wide)
        .print(style, out)?;
    let all = timeline.tracks.len();
    if shown.len() < all {
        let text = format!(
            "the busiest {} of {} tracks; -n 0 prints all",
            count(shown.len() as u64),
            count(all as u64)
        );
        writeln!(out, "{}", style.dim(text))?;
    }
    if let Some((from, to)) = timeline.bulk() {
        let when = match unix {
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
    let own = timeline.sources.iter().filter(|source| !source.unix);
    if several && own.clone().next().is_some() {
        let own = things(own.count() as u64, "recording", "recordings");
        let text = format!("{own} with a clock of no known origin, drawn from the start of each");
        writeln!(out, "{}", style.dim(text))?;
    }
    Ok(())
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
        |_| format!("{value} {}", unit_word(&counter.unit)),
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
