//! Lines of tracks beside the busiest, and counters of many points.

use super::*;
use crate::hotspots::Categories;

const THREADS: i64 = 60;
const CALLS: i64 = 40;

/// Threads of which each is busier than the one before; calls have a callee each and come children first.
fn threads(mut collector: Collector) -> Timeline {
    let mut made = Made::default();
    let service = made.tables.string("shop");
    let resource = made.tables.resource(traceloom_model::Resource {
        service: Some(service),
        ..traceloom_model::Resource::default()
    });
    let names = ["call", "query"].map(|name| made.function(name));
    let tracks: Vec<TrackId> = (0..THREADS)
        .map(|thread| {
            let name = made.tables.string(&format!("thread {thread}"));
            made.tables.track(traceloom_model::Track {
                resource: Some(resource),
                ..traceloom_model::Track::thread(name)
            })
        })
        .collect();
    made.event("park", Some(tracks[0]), 5, Some(9));
    let _ = collector.define(made.tables.take_definitions());
    collector.begin(Order::Nested, Clock::Unix);
    let _ = collector.events(made.events);
    let mut id = 0;
    for call in 0..CALLS {
        for (thread, &track) in (0..).zip(&tracks) {
            let start = call * 10_000;
            let end = start + 100 + thread;
            let mut spans = SpanBatch::default();
            spans.push(&SpanRow {
                parent: Some(SpanId(id)),
                depth: 1,
                ..SpanRow::call(SpanId(id + 1), track, names[1], start + 10, end - 10)
            });
            spans.push(&SpanRow::call(SpanId(id), track, names[0], start, end));
            id += 2;
            let _ = collector.spans(spans);
        }
    }
    let mut timeline = Timeline::default();
    timeline.add("made", collector, false);
    timeline
}

fn page(timeline: &Timeline) -> String {
    html(timeline, &Categories::default(), ("made", ""), None)
}

#[test]
fn the_least_busy_tracks_are_one_line_of_their_process() {
    let whole = threads(Collector::default());
    assert_eq!((whole.tracks.len(), whole.left_out()), (60, None));
    // At the end, and while the recording is read.
    for room in [1_000_000, 1_000] {
        let timeline = threads(Collector::holding(room).with_tracks(10));
        assert_eq!(timeline.tracks.len(), 11);
        let totals = Totals {
            undrawn: 0,
            ..timeline.totals()
        };
        assert_eq!(totals, whole.totals(), "{room}");
        let (line, own) = timeline.tracks.split_last().unwrap();
        assert_eq!(
            (line.name.as_str(), line.process.as_str()),
            ("50 other threads", "shop")
        );
        assert_eq!(line.stands_for, 50);
        assert!(own.iter().all(|track| track.stands_for == 0));
        if room > 1_000 {
            let busiest: Vec<String> = (50..60).map(|thread| format!("thread {thread}")).collect();
            assert!(own.iter().map(|track| &track.name).eq(&busiest));
        }
        let kinds = timeline.rows_of(line).iter().map(|row| row.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [RowKind::Span, RowKind::Event]);
        let counts = Activity::of(&timeline, 0, 40).count(&timeline, line, RowKind::Span);
        // Every call without its callee, in the stretch in which it began.
        assert!(counts.iter().all(|&count| count >= 40), "{counts:?}");
        assert_eq!(counts.iter().sum::<u64>(), 50 * 40);
        let said = timeline.left_out().unwrap();
        assert!(
            said.starts_with("50 of the least busy tracks have no line of their own"),
            "{said}"
        );
        let page = page(&timeline);
        assert!(page.contains("60 tracks") && page.contains("no line of their own"));
        assert!(page.contains("50 other threads"));
    }
}

#[test]
fn the_tracks_of_many_processes_are_one_line() {
    let mut made = Made {
        collector: Collector::default().with_tracks(10),
        ..Made::default()
    };
    for process in 0..400_i64 {
        let resource = made.tables.resource(traceloom_model::Resource {
            pid: Some(process.unsigned_abs() + 1),
            ..traceloom_model::Resource::default()
        });
        let name = made.tables.string("main");
        let track = made.tables.track(traceloom_model::Track {
            resource: Some(resource),
            ..traceloom_model::Track::thread(name)
        });
        made.span(
            track,
            (process * 100, process * 100 + 99 - process / 5),
            None,
        );
    }
    let timeline = made.timeline();
    let lines = timeline.tracks.iter().filter(|track| track.stands_for > 0);
    let (others, processes): (Vec<_>, Vec<_>) =
        lines.partition(|line| line.process == "other processes");
    assert_eq!((timeline.tracks.len(), processes.len()), (261, 250));
    assert!(processes.iter().all(|line| line.stands_for == 1));
    assert_eq!(others.len(), 1);
    assert_eq!(others[0].name, "140 other threads");
    // The least busy ones.
    let busy: u64 = (260..400).map(|process| 99 - process / 5).sum();
    assert_eq!(others[0].totals.busy, busy);
    assert_eq!(timeline.sources[0].other_tracks, 390);
}

#[test]
fn few_tracks_and_points_are_all_on_the_page() {
    let whole = threads(Collector::default());
    let bounded = threads(Collector::default().with_tracks(60));
    assert_eq!(page(&bounded), page(&whole));
}

#[test]
fn what_runs_for_a_long_time_is_one_item_and_time_has_no_end() {
    let mut made = Made {
        collector: Collector::default().with_tracks(0),
        ..Made::default()
    };
    let main = made.thread("main");
    made.span(main, (0, 1_000_000), None);
    let other = made.thread("other");
    made.span(other, (2_000_000, i64::MAX), None);
    made.span(other, (i64::MIN, i64::MIN + 5), None);
    let timeline = made.timeline();
    let (_, _, _, items) = &rows(&timeline, 0)[0];
    assert_eq!(items.first().unwrap().0, i64::MIN);
    assert_eq!(items.last().unwrap().1, i64::MAX);
    assert!(items.len() <= 3);
    let counts = &timeline.items.count;
    assert_eq!(counts.iter().sum::<u32>(), 3);
    let mut made = Made {
        collector: Collector::default().with_tracks(0),
        ..Made::default()
    };
    let main = made.thread("main");
    made.span(main, (0, 1_000_000), None);
    let timeline = made.timeline();
    assert_eq!(
        rows(&timeline, 0),
        [(RowKind::Span, 0, 0, vec![(0, 1_000_000)])]
    );
    assert_eq!(timeline.items.filled, [1_000_000]);
    assert_eq!(timeline.tracks[0].totals.busy, 1_000_000);
}

#[test]
fn points_of_a_counter_keep_the_least_and_the_greatest() {
    const POINTS: i64 = 2_000_000;
    let counted = |collector: Collector, points: i64| {
        let mut made = Made {
            collector,
            ..Made::default()
        };
        let name = made.tables.string("heap");
        let series = made.tables.series(Series {
            name,
            unit: Unit::Bytes,
            track: None,
        });
        let mut collector = made.collect();
        for first in (0..points).step_by(4_096) {
            let mut batch = CounterBatch::default();
            for at in first..points.min(first + 4_096) {
                let value = if at == 777_777 {
                    1e9
                } else {
                    f64::from(u16::try_from(at % 1_000).unwrap())
                };
                batch.push(series, at * 10, value);
            }
            let _ = collector.counters(batch);
        }
        let mut timeline = Timeline::default();
        timeline.add("made", collector, false);
        timeline
    };
    let whole = counted(Collector::default(), POINTS);
    let thinned = counted(Collector::default().with_tracks(10), POINTS);
    let [all, kept] = [&whole, &thinned].map(|timeline| &timeline.counters[0].points);
    assert_eq!(i64::try_from(all.len()).unwrap(), POINTS);
    assert!(kept.len() <= 400_000, "{}", kept.len());
    assert!(kept.is_sorted_by_key(|point| point.0));
    assert_eq!((kept.first(), kept.last()), (all.first(), all.last()));
    assert!(kept.contains(&(7_777_770, 1e9)));
    let left_out = thinned.sources[0].points_left_out;
    assert_eq!(left_out, (all.len() - kept.len()) as u64);
    assert!(page(&thinned).contains(&format!("\"points_left_out\":{left_out}")));
    let few = counted(Collector::default().with_tracks(10), 1_000);
    assert_eq!(few.counters, counted(Collector::default(), 1_000).counters);
}
