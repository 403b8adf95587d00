//! What is held of more than there is room for.

use std::borrow::Cow;

use proptest::prelude::*;

use traceloom_model::{Attribute, AttributeKey, Value};

use super::*;
use crate::hotspots::Categories;

/// Calls of 100 ns every 200 ns with two levels below, children first; every thousandth takes 100 times as long.
fn many(collector: &mut Collector, calls: i64, mut seen: impl FnMut(&Collector)) {
    let mut made = Made::default();
    let main = made.thread("main");
    let names = ["call", "query", "wait", "slow"].map(|name| made.function(name));
    let _ = collector.define(made.tables.take_definitions());
    let mut start = 0;
    let mut ids = 0;
    for call in 0..calls {
        let is_slow = call % 1_000 == 999;
        let length = if is_slow { 10_000 } else { 100 };
        let mut spans = SpanBatch::default();
        let id = |level| SpanId(ids + level);
        let times = [
            (2, start + 10, start + 20),
            (2, start + 20, start + 30),
            (1, start + 10, start + length - 10),
            (0, start, start + length),
        ];
        for (nth, (level, from, to)) in times.into_iter().enumerate() {
            let name = if is_slow && level == 0 { 3 } else { level };
            let own = if nth == 0 { 3 } else { level as u64 };
            spans.push(&SpanRow {
                parent: (level > 0).then(|| id(level as u64 - 1)),
                depth: u32::try_from(level).unwrap(),
                ..SpanRow::call(id(own), main, names[name], from, to)
            });
        }
        ids += 4;
        start += 2 * length;
        let _ = collector.spans(spans);
        seen(collector);
    }
}

fn laid_out(collector: Collector) -> Timeline {
    let mut timeline = Timeline::default();
    timeline.add("made", collector, false);
    timeline
}

/// Items as counts and names, by level.
fn items_of(timeline: &Timeline, level: u32) -> Vec<(u32, &str)> {
    let row = timeline.rows.iter().find(|row| row.level == level).unwrap();
    let items = row.items.clone();
    let name = |at: usize| timeline.names.texts[timeline.items.name[at] as usize].as_str();
    items
        .map(|at| (timeline.items.count[at], name(at)))
        .collect()
}

#[test]
fn a_long_recording_is_held_in_as_many_rows_as_have_room() {
    const ROOM: usize = 1_000;
    let mut whole = Collector::default();
    many(&mut whole, 20_000, |_| {});
    let whole = laid_out(whole);
    let mut thinned = Collector::holding(ROOM);
    many(&mut thinned, 20_000, |held| assert!(held.held() <= ROOM));
    let thinned = laid_out(thinned);
    assert_eq!(whole.held_together(), 0);
    assert!(thinned.held_together() > 70_000);
    assert_eq!(thinned.tracks[0].totals, whole.tracks[0].totals);
    assert_eq!(thinned.times(), whole.times());
    for level in 0..3 {
        let count = |timeline| -> u32 { items_of(timeline, level).iter().map(|row| row.0).sum() };
        assert_eq!(count(&thinned), count(&whole), "level {level}");
    }
    // The long ones keep their own place, and what lies in them stays theirs.
    let calls = items_of(&thinned, 0);
    assert_eq!(calls.iter().filter(|&&row| row == (1, "slow")).count(), 20);
    let shares = |timeline: &Timeline| {
        let activity = Activity::of(timeline, 0, 50);
        activity.share(timeline, &timeline.tracks[0], RowKind::Span)
    };
    for (one, other) in shares(&thinned).into_iter().zip(shares(&whole)) {
        assert!(one.abs_diff(other) <= 2, "{one} {other}");
    }
    let page = |timeline: &Timeline| html(timeline, &Categories::default(), ("made", ""), None);
    assert!(page(&whole).contains("\"all\":true"));
    assert!(page(&thinned).contains("\"all\":false"));
}

#[test]
fn recordings_beside_each_other_share_the_room() {
    let mut timeline = Timeline::holding(2_000);
    for _ in 0..20 {
        let mut collector = Collector::holding(2_000);
        many(&mut collector, 250, |_| {});
        timeline.add("made", collector, false);
        assert!(timeline.items.start.len() <= 2_000);
    }
    assert_eq!(timeline.totals().spans, 20_000);
    let held: u64 = timeline
        .items
        .count
        .iter()
        .map(|&count| u64::from(count))
        .sum();
    assert_eq!(held, 20_000);
    for row in &timeline.rows {
        let ends = &timeline.items.end[row.items.clone()];
        let starts = timeline.items.start[row.items.clone()].iter();
        assert!(
            ends.iter()
                .zip(starts.skip(1))
                .all(|(end, next)| end <= next)
        );
    }
}

#[test]
fn events_samples_and_tracks_of_their_own_are_counted_all() {
    let mut made = Made {
        collector: Collector::holding(100),
        ..Made::default()
    };
    for time in 0..5_000 {
        made.event("jdk.SocketRead", None, time, Some(time + 1));
        made.event("jdk.ThreadPark", None, time, Some(time + 1));
    }
    for thread in 0..300 {
        let track = made.thread(&format!("thread {thread}"));
        made.span(track, (thread, thread + 1), None);
    }
    let collector = made.collect();
    // A row a thread is the least that there can be.
    assert!(collector.held() < 500);
    let timeline = laid_out(collector);
    let totals = timeline.totals();
    assert_eq!((totals.events, totals.spans), (5_000, 300));
    assert_eq!(
        totals.waits_of(WaitKind::Parked),
        Waited {
            count: 5_000,
            total: 5_000
        }
    );
    let process = &timeline.tracks[0];
    let counts = Activity::of(&timeline, 0, 10).count(&timeline, process, RowKind::Event);
    assert_eq!(counts.iter().sum::<u64>(), 5_000);
}

/// Calls of one thread as steps make them, held whole and in `room` rows.
fn whole_and_thinned(steps: Vec<(u8, u8)>, room: usize) -> [Timeline; 2] {
    let mut collectors = [Collector::default(), Collector::holding(room)];
    let mut made = Made::default();
    let main = made.thread("main");
    let name = made.function("f");
    let definitions = made.tables.take_definitions();
    for collector in &mut collectors {
        let _ = collector.define(definitions.clone());
    }
    let mut open: Vec<(SpanId, i64)> = Vec::new();
    let mut time = 0;
    // In the end all come that began.
    let ends = [(3, 1); 10];
    for (what, passed) in steps.into_iter().chain(ends) {
        time += i64::from(passed);
        if what < 2 && open.len() < 10 {
            open.push((made.tables.reserve_span(), time));
        } else if let Some((id, start)) = open.pop() {
            for collector in &mut collectors {
                let mut spans = SpanBatch::default();
                spans.push(&SpanRow {
                    parent: open.last().map(|above| above.0),
                    depth: u32::try_from(open.len()).unwrap(),
                    ..SpanRow::call(id, main, name, start, time)
                });
                let _ = collector.spans(spans);
            }
        }
    }
    collectors.map(laid_out)
}

proptest! {
    #[test]
    fn totals_are_those_of_all_spans(
        steps in proptest::collection::vec((0_u8..4, 1_u8..20), 1..1_500),
        room in 100_usize..200,
    ) {
        let [whole, thinned] = whole_and_thinned(steps, room);
        prop_assert_eq!(whole.totals(), thinned.totals());
        prop_assert_eq!(whole.times(), thinned.times());
        // What nests is in one lane, and each level has all of its spans.
        prop_assert!(thinned.rows.iter().all(|row| row.lane == 0));
        prop_assert_eq!(whole.rows.len(), thinned.rows.len());
        for (one, other) in whole.rows.iter().zip(&thinned.rows) {
            let count = |row: &Row| thinned.items.count[row.items.clone()].iter().sum::<u32>();
            prop_assert_eq!(one.items.len(), count(other) as usize);
        }
    }

    #[test]
    fn a_coarse_clock_changes_nothing(
        steps in proptest::collection::vec((0_u8..4, 0_u8..3), 1..3_000),
        room in 100_usize..200,
    ) {
        let [whole, thinned] = whole_and_thinned(steps, room);
        prop_assert_eq!(whole.totals(), thinned.totals());
        prop_assert_eq!(whole.times(), thinned.times());
        prop_assert!(thinned.rows.iter().all(|row| row.lane == 0));
        let held: u64 = thinned.items.count.iter().map(|&count| u64::from(count)).sum();
        prop_assert_eq!(held, thinned.totals().spans);
    }
}

/// Room for attributes is for those that are held, not for those that came first.
#[test]
fn a_long_span_has_its_attributes_however_late_it_comes() {
    let mut made = Made::default();
    let main = made.thread("main");
    let call = made.function("call");
    let key = made.tables.string("sql");
    let key = made.tables.attribute_key(AttributeKey::named(key));
    let mut collector = Collector::holding(1_000);
    for at in 0..20_000_i64 {
        let text = format!("select {at}, {}", "x".repeat(40));
        let text = Value::Text(made.tables.string(&text));
        let length = if at % 4_000 == 3_999 { 1_000 } else { 10 };
        let mut spans = SpanBatch::default();
        spans.push(&SpanRow {
            attributes: &[Attribute::new(key, text)],
            ..SpanRow::call(
                made.tables.reserve_span(),
                main,
                call,
                at * 1_000,
                at * 1_000 + length,
            )
        });
        let _ = collector.define(made.tables.take_definitions());
        let _ = collector.spans(spans);
    }
    let timeline = laid_out(collector);
    let items = &timeline.items;
    let lists: Vec<Vec<(Cow<'_, str>, Cow<'_, str>)>> = (0..items.start.len())
        .filter(|&at| items.end[at] - items.start[at] == 1_000 && items.count[at] == 1)
        .map(|at| {
            timeline.sources[0]
                .details
                .pairs(items.detail[at])
                .collect()
        })
        .collect();
    assert_eq!(lists.len(), 5);
    for (list, at) in lists.iter().zip([3_999, 7_999, 11_999, 15_999, 19_999]) {
        let [(name, text)] = &list[..] else {
            panic!("{list:?}");
        };
        assert_eq!(name, "sql");
        assert!(text.starts_with(&format!("select {at},")), "{text}");
    }
}
