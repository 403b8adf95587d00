//! The summary as JSON.

use serde_json::{Map, Value, json};
use traceloom_analysis::monitors::WaitKind;
use traceloom_analysis::timeline::{Activity, RowKind, Timeline, Totals, Track, Waited};

use super::print::shown;

/// One object: recordings, tracks with what they come to, counters.
pub(super) fn json(timeline: &Timeline, columns: usize, most: usize) -> Value {
    let times = timeline.times();
    let sources = timeline.sources.iter().map(|source| {
        json!({
            "name": source.title,
            "origin": if source.unix { "unix" } else { "unknown" },
            "start_ns": source.times.map(|(start, _)| start),
            "end_ns": source.times.map(|(_, end)| end),
            "samples_without_time": source.timeless,
            "damage_without_time": source.unplaced,
            "attributes_left_out": source.details_left_out,
        })
    });
    let tracks = shown(timeline, most).into_iter();
    let tracks = tracks.map(|track| track_json(timeline, track, columns));
    let counters = timeline.counters.iter().map(|counter| {
        let values = || counter.points.iter().map(|&(_, value)| value);
        json!({
            "source": counter.source,
            "track": counter.track,
            "name": counter.name,
            "unit": counter.unit.word(),
            "points": counter.points.len(),
            "min": values().reduce(f64::min),
            "max": values().reduce(f64::max),
            "last": values().next_back(),
            "levels": Activity::of(timeline, counter.source, columns).level(counter),
        })
    });
    json!({
        "start_ns": times.map(|(start, _)| start),
        "end_ns": times.map(|(_, end)| end),
        "columns": columns,
        "held_together": timeline.held_together(),
        "sources": sources.collect::<Vec<_>>(),
        "tracks": tracks.collect::<Vec<_>>(),
        "counters": counters.collect::<Vec<_>>(),
    })
}

fn track_json(timeline: &Timeline, track: &Track, columns: usize) -> Value {
    let Totals {
        spans,
        partial,
        failed,
        busy,
        longest,
        pauses,
        losses,
        events,
        samples,
        undrawn,
        ..
    } = track.totals;
    let count = |of: Waited| json!({ "count": of.count, "total_ns": of.total });
    let waits = WaitKind::ALL.map(|kind| {
        let waits = track.totals.waits_of(kind);
        (kind.word().to_owned(), count(waits))
    });
    let activity = Activity::of(timeline, track.source, columns);
    let mut shares = Map::new();
    for kind in kinds(timeline, track) {
        let values = match kind {
            RowKind::Event | RowKind::Sample => json!(activity.count(timeline, track, kind)),
            kind => json!(activity.share(timeline, track, kind)),
        };
        shares.insert(kind.word().to_owned(), values);
    }
    json!({
        "source": track.source,
        "name": track.name,
        "process": track.process,
        "kind": track.line.word(),
        "level": track.level,
        "rows": track.rows.len(),
        "spans": spans,
        "partial": partial,
        "failed": failed,
        "busy_ns": busy,
        "longest_ns": longest,
        "waits": waits.into_iter().collect::<Map<_, _>>(),
        "pauses": count(pauses),
        "losses": count(losses),
        "events": events,
        "samples": samples,
        "not_drawn": undrawn,
        "activity": shares,
    })
}

/// The kinds of rows that a track has, each once.
pub(super) fn kinds(timeline: &Timeline, track: &Track) -> Vec<RowKind> {
    let rows = timeline.rows.get(track.rows.clone()).unwrap_or_default();
    let mut kinds: Vec<RowKind> = rows.iter().map(|row| row.kind).collect();
    kinds.dedup();
    kinds
}
