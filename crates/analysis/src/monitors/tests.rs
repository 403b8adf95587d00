use traceloom_model::{
    Attribute, EventRow, ObjectId, Profile, SampleBatch, SampleRow, Sink, TrackId, Unit, Value,
    ValueType,
};

use super::*;
use crate::made::MadeName;

/// An object of a class, allocated at `time`.
fn object(made: &mut MadeName, id: u64, generation: u32, class: &str, time: i64) {
    let class = made.class(class);
    made.allocate(id, generation, class, 16, Some(time));
}

fn share<I>(of: I, count: u64, total: u64) -> Share<I> {
    Share {
        of: Some(of),
        count,
        total,
    }
}

#[test]
fn waits_owners_and_stacks_add_up_by_object() {
    let mut made = MadeName::default();
    let blocked = made.event_type("monitor_contention");
    let waited = made.event_type("monitor_wait");
    let other = made.event_type("gc");
    let (one, two, three) = (made.thread("one"), made.thread("two"), made.thread("three"));
    let buy = made.stack(&["main", "com.acme.Shop.buy"]);
    let sell = made.stack(&["main", "com.acme.Shop.sell"]);
    object(&mut made, 9, 0, "com.acme.Shop", 5);
    for (event_type, track, time, end, owner, stack) in [
        (blocked, one, 10, Some(30), Some(three), buy),
        (blocked, two, 10, Some(60), Some(three), buy),
        (blocked, two, 70, Some(75), Some(one), sell),
        (blocked, two, 80, None, Some(one), sell),
        (waited, one, 90, Some(190), None, sell),
    ] {
        made.events.push(&EventRow {
            track: Some(track),
            object: Some(ObjectId(9)),
            owner,
            stack: Some(stack),
            ..EventRow::of_process(event_type, time, end)
        });
    }
    made.events
        .push(&EventRow::of_process(other, 100, Some(110)));
    let mut table = MonitorTable::new(MonitorOptions::default());
    made.flush(&mut table);
    let monitors = table.finish();
    assert_eq!(monitors.events, 6);
    let [row] = monitors.rows.as_slice() else {
        panic!("{:?}", monitors.rows);
    };
    assert_eq!(row.class.as_deref(), Some("com.acme.Shop"));
    assert_eq!(row.object, Some(ObjectId(9)));
    let contended = Waits {
        count: 4,
        total: 75,
        longest: 50,
        open: 1,
        seen: 0,
    };
    assert_eq!(row.of(WaitKind::Contended), contended);
    assert_eq!(row.of(WaitKind::Waited).total, 100);
    assert_eq!(row.of(WaitKind::Parked), Waits::default());
    assert_eq!(row.owners, [share(three, 2, 70), share(one, 2, 5)]);
    assert_eq!(row.threads, [share(one, 2, 120), share(two, 3, 55)]);
    assert_eq!(row.stacks, [share(sell, 3, 105), share(buy, 2, 70)]);
    let frames = monitors.frames(sell);
    assert_eq!(frames, ["com.acme.Shop.sell:7", "main:7"]);
    assert_eq!(monitors.thread(two), "two");
}

/// TPTP tells of the contention inside of the wait; the nanosecond counts once, whichever comes first.
#[test]
fn a_contention_inside_a_wait_counts_once() {
    for wait_first in [false, true] {
        let mut made = MadeName::default();
        let blocked = made.event_type("monitor_contention");
        let waited = made.event_type("monitor_wait");
        let (one, two) = (made.thread("one"), made.thread("two"));
        let mut rows = [
            (blocked, one, 10, 20),
            (blocked, one, 150, 180),
            (waited, one, 100, 200),
            // Another thread, and a contention that is no part of the wait.
            (waited, two, 100, 190),
            (blocked, two, 195, 199),
        ];
        if wait_first {
            rows.sort_by_key(|row| row.2);
        }
        for (event_type, track, time, end) in rows {
            made.events.push(&EventRow {
                track: Some(track),
                object: Some(ObjectId(9)),
                ..EventRow::of_process(event_type, time, Some(end))
            });
        }
        let mut table = MonitorTable::new(MonitorOptions::default());
        made.flush(&mut table);
        let monitors = table.finish();
        let row = &monitors.rows[0];
        assert_eq!(row.of(WaitKind::Contended).total, 10 + 30 + 4);
        assert_eq!(row.of(WaitKind::Waited).total, 70 + 90);
        assert_eq!(row.of(WaitKind::Waited).longest, 90);
        assert_eq!(row.threads, [share(one, 3, 110), share(two, 2, 94)]);
    }
}

/// One id, three objects in turn: each wait belongs to the object of its time, whatever the batches.
#[test]
fn objects_that_share_an_id_are_told_apart() {
    let mut made = MadeName::default();
    let blocked = made.event_type("monitor_contention");
    let mut table = MonitorTable::new(MonitorOptions::default());
    let wait = |made: &mut MadeName, time| {
        let row = EventRow::of_process(blocked, time, Some(time + 1));
        made.events.push(&EventRow {
            object: Some(ObjectId(1)),
            ..row
        });
    };
    object(&mut made, 1, 0, "A", 10);
    wait(&mut made, 15);
    object(&mut made, 1, 1, "B", 20);
    wait(&mut made, 25);
    made.flush(&mut table);
    wait(&mut made, 30);
    object(&mut made, 1, 2, "A", 40);
    wait(&mut made, 45);
    made.flush(&mut table);
    let monitors = table.finish();
    let mut rows: Vec<_> = monitors
        .rows
        .iter()
        .map(|row| (row.class.as_deref().unwrap(), row.generation, row.count()))
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, [("A", 0, 1), ("A", 2, 1), ("B", 1, 2)]);
}

#[test]
fn classes_named_by_attributes_are_joined() {
    for (by_class, rows) in [(false, 2), (true, 1)] {
        let mut made = MadeName::default();
        let enter = made.event_type("jdk.JavaMonitorEnter");
        let park = made.event_type("com.oracle.jdk.ThreadPark");
        let keys = ["monitorClass", "parkedClass"].map(|name| made.tables.attribute_named(name));
        let class = Value::Text(made.tables.string("com.acme.Lock"));
        for (event_type, key, object) in
            [(enter, keys[0], 1), (enter, keys[0], 2), (park, keys[1], 2)]
        {
            made.events.push(&EventRow {
                object: Some(ObjectId(object)),
                attributes: &[Attribute::new(key, class.clone())],
                ..EventRow::of_process(event_type, 0, Some(10))
            });
        }
        let mut table = MonitorTable::new(MonitorOptions {
            by_class,
            ..MonitorOptions::default()
        });
        made.flush(&mut table);
        let monitors = table.finish();
        assert_eq!(monitors.rows.len(), rows, "{:?}", monitors.rows);
        let sum = |kind| {
            monitors
                .rows
                .iter()
                .map(|row| row.of(kind).total)
                .sum::<u64>()
        };
        assert_eq!(sum(WaitKind::Contended), 20);
        assert_eq!(sum(WaitKind::Parked), 10);
        for row in &monitors.rows {
            assert_eq!(row.class.as_deref(), Some("com.acme.Lock"));
            assert_eq!(row.object.is_none(), by_class);
        }
    }
}

#[test]
fn thread_dumps_count_as_seen() {
    let mut made = MadeName::default();
    let name = made.tables.string("threads");
    let value_type = made.tables.value_type(ValueType::sum(name, Unit::Count));
    let profile = made.tables.profile(Profile {
        value_types: vec![value_type],
        ..Profile::default()
    });
    let keys = ["state", "lock"].map(|name| made.tables.attribute_named(name));
    let lock = made.tables.string("<0x00000000eb0a> (a com.acme.Shop)");
    let mut batch = SampleBatch::new(profile, 1);
    for (state, locked) in [
        ("BLOCKED (on object monitor)", true),
        ("WAITING (on object monitor)", true),
        ("WAITING (parking)", true),
        ("RUNNABLE", false),
    ] {
        let state = Attribute::new(keys[0], Value::Text(made.tables.string(state)));
        let lock = Attribute::new(keys[1], Value::Text(lock));
        let labels = if locked {
            vec![state, lock]
        } else {
            vec![state]
        };
        batch.push(&SampleRow {
            stack: None,
            values: &[1],
            time: None,
            track: None,
            span: None,
            labels: &labels,
        });
    }
    let mut table = MonitorTable::new(MonitorOptions::default());
    let _ = table.define(made.tables.take_definitions());
    let _ = table.samples(batch);
    let monitors = table.finish();
    assert_eq!(monitors.samples, 1);
    let [row] = monitors.rows.as_slice() else {
        panic!("{:?}", monitors.rows);
    };
    assert_eq!(row.object, Some(ObjectId(0xeb0a)));
    assert_eq!(row.class.as_deref(), Some("com.acme.Shop"));
    assert_eq!(
        row.waits.map(|waits| (waits.seen, waits.count)),
        [(1, 0); 3]
    );
}

/// Memory follows the options, and what found no room is counted.
#[test]
fn bounds_hold() {
    let mut made = MadeName::default();
    let blocked = made.event_type("monitor_contention");
    let threads: Vec<TrackId> = (0..50).map(|n| made.thread(&format!("t{n}"))).collect();
    for (at, thread) in (0..).zip(&threads) {
        for object in 0..40 {
            made.events.push(&EventRow {
                track: Some(*thread),
                object: Some(ObjectId(object)),
                ..EventRow::of_process(blocked, at, Some(at + 1))
            });
        }
    }
    let mut table = MonitorTable::new(MonitorOptions {
        most_monitors: 10,
        most_shares: 25,
        ..MonitorOptions::default()
    });
    made.flush(&mut table);
    let monitors = table.finish();
    assert_eq!(monitors.rows.len(), 10);
    assert_eq!(monitors.crowded_out, 30 * 50);
    for row in &monitors.rows {
        assert_eq!(row.of(WaitKind::Contended).count, 50);
        assert_eq!(row.threads.iter().map(|share| share.count).sum::<u64>(), 50);
    }
    let shares: usize = monitors
        .rows
        .iter()
        .map(|row| row.threads.len() + row.stacks.len())
        .sum();
    assert!(shares <= 25 + 2 * 10, "{shares} shares");
}
