use traceloom_model::{
    AttrKeyId, Attribute, EdgeBatch, EventRow, EventTypeId, ObjectId, Profile, RootBatch,
    SampleBatch, SampleRow, Sink, Unit, Value, ValueType,
};

use super::*;
use crate::made::MadeName;

/// Frees an object; `age` is the attribute that tells its age.
fn release(
    made: &mut MadeName,
    event_type: EventTypeId,
    id: u64,
    time: i64,
    age: Option<(AttrKeyId, u64)>,
) {
    let attributes: Vec<_> = age
        .map(|(key, age)| Attribute::new(key, Value::U64(age)))
        .into_iter()
        .collect();
    made.events.push(&EventRow {
        object: Some(ObjectId(id)),
        attributes: &attributes,
        ..EventRow::of_process(event_type, time, None)
    });
}

fn row<'o>(objects: &'o Objects, class: &str) -> &'o ClassRow {
    let mut rows = objects.classes.iter();
    rows.find(|row| row.class.as_deref() == Some(class))
        .unwrap()
}

const fn amount(count: u64, bytes: u64) -> Amount {
    Amount { count, bytes }
}

/// Two collections: what was allocated and freed between them, what lives, how old it got.
#[test]
fn objects_live_age_and_die() {
    let mut made = MadeName::default();
    let (free, gc) = (made.event_type("obj_free"), made.event_type("gc"));
    let age = made.tables.attribute_named("obj_age");
    let (a, b) = (made.class("A"), made.class("B"));
    let mut table = ObjectTable::new(ObjectOptions::default());
    made.allocate(1, 0, a, 100, Some(10));
    made.allocate(2, 0, a, 100, Some(11));
    made.allocate(3, 0, b, 8, Some(12));
    release(&mut made, free, 1, 21, None);
    made.events.push(&EventRow::of_process(gc, 20, Some(25)));
    made.flush(&mut table);
    // An id given out again in the same nanosecond in which its object ended.
    made.allocate(1, 0, b, 8, Some(30));
    release(&mut made, free, 3, 40, Some((age, 7)));
    made.allocate(3, 0, b, 16, Some(40));
    release(&mut made, free, 2, 41, None);
    made.events.push(&EventRow::of_process(gc, 35, Some(45)));
    made.flush(&mut table);
    made.allocate(4, 0, a, 1, Some(50));
    release(&mut made, free, 77, 60, None);
    made.flush(&mut table);
    let objects = table.finish();
    assert!(objects.source.tracked && !objects.source.sampled);
    let a = row(&objects, "A");
    assert_eq!(
        (a.allocated, a.freed, a.live),
        (amount(3, 201), amount(2, 200), amount(1, 1))
    );
    // One died in the first collection, the other had survived it.
    assert_eq!((a.freed_ages.sum, a.freed_ages.oldest), (1, 1));
    assert_eq!(
        a.delta,
        Some(Change {
            count: -1,
            bytes: -100
        })
    );
    assert_eq!(a.live_ages.oldest, 0);
    let b = row(&objects, "B");
    assert_eq!(
        (b.allocated, b.freed, b.live),
        (amount(3, 32), amount(1, 8), amount(2, 24))
    );
    assert_eq!((b.freed_ages.objects, b.freed_ages.sum), (1, 7));
    assert_eq!(
        b.live_ages,
        Ages {
            objects: 2,
            sum: 2,
            oldest: 1
        }
    );
    let unknown = objects
        .classes
        .iter()
        .find(|row| row.class.is_none())
        .unwrap();
    assert_eq!(unknown.freed, amount(1, 0));
    let told: Vec<_> = objects
        .collections
        .iter()
        .map(|found| {
            (
                found.time,
                found.took,
                found.allocated.unwrap(),
                found.freed.unwrap(),
                found.live.unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                Some(20),
                Some(5),
                amount(3, 208),
                amount(1, 100),
                amount(2, 108)
            ),
            (
                Some(35),
                Some(10),
                amount(2, 24),
                amount(2, 108),
                amount(2, 24)
            ),
            (None, None, amount(1, 1), amount(1, 0), amount(3, 25)),
        ]
    );
    let changed: Vec<_> = objects.collections[1].changes(&objects.names).collect();
    assert_eq!(
        changed[0],
        (
            Some("A"),
            Change {
                count: -1,
                bytes: -100
            }
        )
    );
    assert_eq!(
        changed[1],
        (
            Some("B"),
            Change {
                count: 1,
                bytes: 16
            }
        )
    );
}

#[test]
fn dumps_tell_who_refers() {
    let mut made = MadeName::default();
    let free = made.event_type("obj_free");
    let (list, item) = (made.class("List"), made.class("Item"));
    made.allocate(1, 0, list, 24, Some(1));
    made.allocate(2, 0, item, 16, Some(2));
    made.allocate(3, 0, item, 16, None);
    let mut table = ObjectTable::new(ObjectOptions::default());
    made.flush(&mut table);
    // Freed in the batch in which the dump's references come.
    release(&mut made, free, 2, 9, None);
    made.flush(&mut table);
    let _ = table.edges(EdgeBatch {
        dump: vec![0; 4],
        from: vec![ObjectId(1), ObjectId(1), ObjectId(9), ObjectId(3)],
        to: vec![ObjectId(2), ObjectId(3), ObjectId(3), ObjectId(1)],
    });
    let _ = table.roots(RootBatch {
        dump: vec![0],
        object: vec![ObjectId(1)],
        kind: vec![0],
    });
    let objects = table.finish();
    assert!(objects.source.dumped && objects.source.tracked);
    let item = row(&objects, "Item");
    assert_eq!((item.references, item.roots, item.live.count), (3, 0, 1));
    let by = |by: Option<&str>, references| Referrer {
        by: by.map(str::to_owned),
        references,
    };
    assert_eq!(item.held_by, [by(Some("List"), 2), by(None, 1)]);
    let list = row(&objects, "List");
    assert_eq!((list.references, list.roots), (1, 1));
    assert_eq!(list.held_by, [by(Some("Item"), 1)]);
    assert_eq!(item.delta, None);
}

#[test]
fn counts_of_the_heap_give_deltas() {
    let mut made = MadeName::default();
    let count = made.event_type("jdk.ObjectCountAfterGC");
    let gc = made.event_type("jdk.GarbageCollection");
    let keys =
        ["gcId", "objectClass", "count", "totalSize"].map(|name| made.tables.attribute_named(name));
    let names = ["A", "B"].map(|name| made.tables.string(name));
    for (collection, class, number, bytes) in [(4, 0, 10, 100), (4, 1, 1, 8), (5, 0, 12, 120)] {
        made.events.push(&EventRow {
            attributes: &[
                Attribute::new(keys[0], Value::I64(collection)),
                Attribute::new(keys[1], Value::Text(names[class])),
                Attribute::new(keys[2], Value::I64(number)),
                Attribute::new(keys[3], Value::U64(bytes)),
            ],
            ..EventRow::of_process(count, collection * 100, None)
        });
    }
    // The collection itself is told later, as the order of a recording's buffers has it.
    made.events.push(&EventRow {
        attributes: &[Attribute::new(keys[0], Value::U64(4))],
        ..EventRow::of_process(gc, 390, Some(399))
    });
    let mut table = ObjectTable::new(ObjectOptions::default());
    made.flush(&mut table);
    let objects = table.finish();
    assert!(objects.source.counted && !objects.source.tracked);
    let (a, b) = (row(&objects, "A"), row(&objects, "B"));
    assert_eq!(
        (a.live, a.delta),
        (
            amount(12, 120),
            Some(Change {
                count: 2,
                bytes: 20
            })
        )
    );
    assert_eq!(
        (b.live, b.delta),
        (
            amount(0, 0),
            Some(Change {
                count: -1,
                bytes: -8
            })
        )
    );
    let told: Vec<_> = objects
        .collections
        .iter()
        .map(|found| {
            (
                found.number,
                found.time,
                found.took,
                found.live,
                found.classes.len(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (4, Some(390), Some(9), Some(amount(11, 108)), 0),
            (5, Some(500), None, Some(amount(12, 120)), 2),
        ]
    );
}

#[test]
fn samples_with_classes_are_counted() {
    let mut made = MadeName::default();
    let columns = [("alloc_objects", Unit::Count), ("alloc", Unit::Bytes)].map(|(name, unit)| {
        let name = made.tables.string(name);
        made.tables.value_type(ValueType::sum(name, unit))
    });
    let profile = made.tables.profile(Profile {
        value_types: columns.into(),
        ..Profile::default()
    });
    let class = made.tables.attribute_named("objectClass");
    let name = Attribute::new(class, Value::Text(made.tables.string("byte[]")));
    let mut batch = SampleBatch::new(profile, 2);
    for labels in [&[name][..], &[]] {
        batch.push(&SampleRow {
            stack: None,
            values: &[3, 4096],
            time: None,
            track: None,
            span: None,
            labels,
        });
    }
    let mut table = ObjectTable::new(ObjectOptions::default());
    let _ = table.define(made.tables.take_definitions());
    let _ = table.samples(batch);
    let objects = table.finish();
    assert!(objects.source.sampled);
    assert_eq!(
        (row(&objects, "byte[]").allocated, objects.unclassed),
        (amount(3, 4096), 1)
    );
}

#[test]
fn bounds_hold() {
    let mut made = MadeName::default();
    let gc = made.event_type("gc");
    let class = made.class("A");
    let mut table = ObjectTable::new(ObjectOptions {
        most_objects: 3,
        most_collections: 2,
        ..ObjectOptions::default()
    });
    for round in 0..4_i64 {
        for id in 0..10 {
            made.allocate(
                round.unsigned_abs() * 10 + id,
                0,
                class,
                1,
                Some(round * 10),
            );
        }
        made.events
            .push(&EventRow::of_process(gc, round * 10 + 5, None));
        made.flush(&mut table);
    }
    let objects = table.finish();
    assert_eq!((objects.crowded_out, objects.collections_left_out), (37, 2));
    assert_eq!(objects.collections.len(), 2);
    let a = row(&objects, "A");
    assert_eq!((a.allocated.count, a.live.count), (40, 3));
}
