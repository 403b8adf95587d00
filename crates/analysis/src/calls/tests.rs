use super::*;
use crate::Pauses;
use crate::filter::Selection;
use crate::names::FunctionMatch;
use crate::text::title;
use traceloom_model::{
    Attribute, Clock, EventBatch, EventRow, EventType, Function, Order, Sink, SpanBatch, SpanRow,
    SpanStatus, Tables, Track, Unit, Value, ValueType,
};

/// Sixty calls: durations 1 to 60 ms in a shuffled order, every seventh failed, titles and a counter.
fn fill(table: &mut CallTable) {
    let mut tables = Tables::new();
    let name = tables.string("com.acme.Http.service");
    let service = tables.function(Function::named(name));
    let name = tables.string("exec-1");
    let track = tables.track(Track::thread(name));
    let title = tables.attribute_named("profiler.title");
    let cpu = tables.string("cpu");
    let cpu = tables.value_type(ValueType::sum(cpu, Unit::Nanoseconds));
    let name = tables.string("pause");
    let pause = tables.event_type(EventType {
        name,
        label: None,
        fields: Vec::new(),
    });
    let mut batch = SpanBatch::default();
    for number in 0..60_i64 {
        let ms = number * 17 % 60 + 1;
        let text = tables.string(&format!("GET /orders/{ms}"));
        let attributes = [Attribute::new(title, Value::Text(text))];
        let counters = [(cpu, ms * 10)];
        let start = number * 100_000_000;
        batch.push(&SpanRow {
            counters: &counters,
            attributes: &attributes,
            status: if ms % 7 == 0 {
                SpanStatus::Error
            } else {
                SpanStatus::Complete
            },
            ..SpanRow::call(
                tables.reserve_span(),
                track,
                service,
                start,
                start + ms * 1_000_000,
            )
        });
    }
    let mut pauses = EventBatch::default();
    pauses.push(&EventRow::of_process(pause, 200_000_000, Some(202_000_000)));
    let _ = table.define(tables.take_definitions());
    let _ = table.spans(batch);
    let _ = table.events(pauses);
}

fn list(query: CallQuery) -> Calls {
    let mut table = CallTable::new(query);
    fill(&mut table);
    table.finish()
}

fn milliseconds(calls: &Calls) -> Vec<u64> {
    calls
        .rows
        .iter()
        .map(|call| call.duration() / 1_000_000)
        .collect()
}

#[test]
fn top_n_by_duration_and_by_a_counter() {
    for column in [Column::Duration, Column::Cpu, Column::Named("cpu".into())] {
        let calls = list(CallQuery {
            sort: Some((column, true)),
            limit: Some(3),
            ..CallQuery::default()
        });
        assert_eq!(milliseconds(&calls), [60, 59, 58]);
        assert_eq!((calls.counts.read, calls.counts.selected), (60, 60));
    }
}

#[test]
fn top_n_holds_twice_the_limit_at_most() {
    let mut table = CallTable::new(CallQuery {
        sort: Some((Column::Duration, false)),
        limit: Some(700),
        ..CallQuery::default()
    });
    for _ in 0..100 {
        fill(&mut table);
        assert!(table.keys.len() < 1400);
    }
    let calls = table.finish();
    assert_eq!(calls.rows.len(), 700);
    assert_eq!(calls.rows[699].duration(), 7_000_000);
}

#[test]
fn selection_by_duration_errors_and_words() {
    let calls = list(CallQuery {
        selection: Selection {
            filter: "-'/orders/42' $profiler.title=GET".parse().unwrap(),
            min_duration: 30_000_000,
            errors: true,
        },
        sort: Some((Column::Duration, false)),
        ..CallQuery::default()
    });
    assert_eq!(milliseconds(&calls), [35, 49, 56]);
    assert_eq!((calls.counts.read, calls.counts.selected), (60, 3));
}

#[test]
fn cells_and_columns() {
    let calls = list(CallQuery {
        limit: Some(3),
        ..CallQuery::default()
    });
    let call = &calls.rows[2];
    assert_eq!(call.duration(), 35_000_000);
    let cell = |name: &str| calls.cell(call, &name.parse().unwrap());
    assert_eq!(cell("start"), Cell::Time(200_000_000));
    assert_eq!(cell("cpu"), Cell::Nanoseconds(350));
    assert_eq!(cell("suspended"), Cell::Nanoseconds(2_000_000));
    assert_eq!(cell("thread"), Cell::Text("exec-1".into()));
    assert_eq!(cell("title"), Cell::Text("GET /orders/35".into()));
    assert_eq!(cell("method"), Cell::Text("com.acme.Http.service".into()));
    assert_eq!(cell("error"), Cell::Bool(true));
    assert_eq!(cell("queue"), Cell::None);
    let names: Vec<_> = calls
        .columns()
        .iter()
        .map(|c| c.name().to_owned())
        .collect();
    assert_eq!(names.last().unwrap(), "profiler.title");
    assert_eq!(names.iter().filter(|name| *name == "cpu").count(), 1);
}

#[test]
fn suspension_sorts_although_pauses_come_last() {
    let calls = list(CallQuery {
        sort: Some((Column::Suspended, true)),
        limit: Some(1),
        ..CallQuery::default()
    });
    assert_eq!(milliseconds(&calls), [35]);
    let none = Calls::default();
    assert_eq!(
        none.pauses.suspended(0, 5),
        Pauses::default().suspended(0, 5)
    );
}

#[test]
fn title_from_the_request() {
    let mut tables = Tables::new();
    let mut attributes = Vec::new();
    for (name, value) in [
        ("web.remote.addr", "10.1.2.3"),
        ("web.method", "GET"),
        ("web.url", "http://shop/orders"),
        ("web.query", "id=5"),
    ] {
        let key = tables.attribute_named(name);
        attributes.push(Attribute::new(key, Value::Text(tables.string(value))));
    }
    let mut recording = traceloom_model::Recording::default();
    let _ = recording.define(tables.take_definitions());
    assert_eq!(
        title(&recording, &attributes).unwrap(),
        "GET http://shop/orders?id=5, client: 10.1.2.3"
    );
    assert_eq!(title(&recording, &attributes[..2]), None);
}

/// Pushes batches of calls whose titles pass, the longest ones in the middle.
fn pass(table: &mut CallTable, calls: i64) {
    let mut tables = Tables::new();
    let name = tables.string("exec-1");
    let track = tables.track(Track::thread(name));
    let name = tables.string("service");
    let service = tables.function(Function::named(name));
    let title = tables.attribute_named("title");
    for first in (0..calls).step_by(100) {
        let mut batch = SpanBatch::default();
        for number in first..first + 100 {
            // Every title is there twice in its batch.
            let text = tables.passing(format!("call {}", number / 2).as_bytes());
            let attributes = [Attribute::new(title, Value::Text(text))];
            let duration = calls - (number - calls / 2).abs();
            batch.push(&SpanRow {
                attributes: &attributes,
                ..SpanRow::call(tables.reserve_span(), track, service, 0, duration)
            });
        }
        let _ = table.define(tables.take_definitions());
        let _ = table.spans(batch);
        table.forget(&tables.take_passed());
    }
}

fn titles_of(calls: &Calls) -> Vec<String> {
    let rows = calls.rows.iter();
    let titles = rows.map(|call| match calls.cell(call, &Column::Title) {
        Cell::Text(text) => text.into_owned(),
        other => panic!("{other:?}"),
    });
    titles.collect()
}

#[test]
fn texts_of_kept_calls_outlive_the_batches_behind_them() {
    let mut table = CallTable::new(CallQuery {
        sort: Some((Column::Start, false)),
        limit: Some(2),
        ..CallQuery::default()
    });
    let mut tables = Tables::new();
    let name = tables.string("exec-1");
    let track = tables.track(Track::thread(name));
    let name = tables.string("service");
    let service = tables.function(Function::named(name));
    let title = tables.attribute_named("title");
    let mut texts = Vec::new();
    for start in 0..3 {
        let text = tables.value(format!("call {start}").as_bytes());
        texts.push(text);
        let attributes = [Attribute::new(title, Value::Text(text))];
        let mut batch = SpanBatch::default();
        batch.push(&SpanRow {
            attributes: &attributes,
            ..SpanRow::call(tables.reserve_span(), track, service, start, start + 1)
        });
        let _ = table.define(tables.take_definitions());
        let _ = table.spans(batch);
    }
    table.forget(&texts);
    assert_eq!(titles_of(&table.finish()), ["call 0", "call 1"]);
}

#[test]
fn details_of_calls_without_room_are_not_wanted() {
    let query = |selection| CallQuery {
        sort: Some((Column::Duration, true)),
        limit: Some(2),
        selection,
        ..CallQuery::default()
    };
    let mut table = CallTable::new(query(Selection::default()));
    assert!(table.wants_details(0, Some(1)));
    pass(&mut table, 20_000);
    assert!(!table.wants_details(0, Some(1)));
    assert!(table.wants_details(0, Some(20_001)));
    // How long it takes is not known yet.
    assert!(table.wants_details(0, None));
    let mut table = CallTable::new(query(Selection {
        min_duration: 1,
        ..Selection::default()
    }));
    pass(&mut table, 20_000);
    assert!(table.wants_details(0, Some(1)));
}

#[test]
fn texts_of_calls_that_are_not_kept_are_forgotten() {
    let titles = |sort, limit| {
        let mut table = CallTable::new(CallQuery {
            sort,
            limit: Some(limit),
            ..CallQuery::default()
        });
        pass(&mut table, 20_000);
        let calls = table.finish();
        let texts = calls.tables.strings.iter().flatten().count();
        assert!(texts < 3 + 2 * limit, "{texts} texts for {limit} calls");
        titles_of(&calls)
    };
    assert_eq!(titles(None, 3), ["call 0", "call 0", "call 1"]);
    let longest = titles(Some((Column::Duration, true)), 2);
    assert_eq!(longest, ["call 5000", "call 4999"]);
}

#[test]
fn calls_with_a_method_tell_how_often_and_how_long() {
    let mut tables = Tables::new();
    let [thread, web, query, idle] =
        ["main", "com.acme.Web.get", "com.acme.Db.query", "idle"].map(|text| tables.string(text));
    let track = tables.track(Track::thread(thread));
    let [web, query, idle] = [web, query, idle].map(|name| tables.function(Function::named(name)));
    let ids: Vec<_> = (0..6).map(|_| tables.reserve_span()).collect();
    let row = |id: usize, parent: Option<usize>, function, start, end| SpanRow {
        parent: parent.map(|at| ids[at]),
        entry: parent.is_none(),
        ..SpanRow::call(ids[id], track, function, start, end)
    };
    // get(query(query) query) and idle(): of queries in each other the outer one counts.
    let rows = [
        row(2, Some(1), query, 12, 18),
        row(1, Some(0), query, 10, 20),
        row(3, Some(0), query, 30, 35),
        row(0, None, web, 0, 50),
        row(4, None, idle, 60, 70),
    ];
    let definitions = tables.take_definitions();
    for (order, backwards) in [(Order::Nested, false), (Order::None, true)] {
        let mut table = CallTable::new(CallQuery {
            with_method: Some(FunctionMatch::Regex(
                regex_lite::Regex::new("query$").unwrap(),
            )),
            ..CallQuery::default()
        });
        table.begin(order, Clock::Unix);
        let _ = table.define(definitions.clone());
        let mut batch = SpanBatch::default();
        if backwards {
            rows.iter().rev().for_each(|row| batch.push(row));
        } else {
            rows.iter().for_each(|row| batch.push(row));
        }
        let _ = table.spans(batch);
        let calls = table.finish();
        assert_eq!((calls.counts.read, calls.rows.len()), (2, 1));
        let uses = Uses { count: 3, time: 15 };
        assert_eq!(calls.rows[0].uses, Some(uses));
        assert_eq!(
            calls.cell(&calls.rows[0], &Column::UsedTime),
            Cell::Nanoseconds(15)
        );
    }
}

#[test]
fn a_limit_takes_the_first_of_the_list() {
    use super::CallList;
    let title = Column::Attribute("profiler.title".into());
    let columns = [
        Column::Start,
        Column::End,
        Column::Duration,
        Column::Cpu,
        Column::Suspended,
        Column::Thread,
        Column::Title,
        title,
    ];
    for (column, falling) in columns
        .iter()
        .flat_map(|column| [(column, true), (column, false)])
    {
        let list = |limit| {
            let query = CallQuery {
                sort: Some((column.clone(), falling)),
                limit,
                ..CallQuery::default()
            };
            let mut list = CallList::new(&query);
            let mut numbers = 0..;
            for _ in 0..5 {
                let mut table = list.table(&query);
                fill(&mut table);
                let recording = numbers.next();
                list.add(table.finish(), |call| (recording, call.start));
            }
            list.finish()
        };
        let rows = |limit| -> Vec<(Option<i32>, i64)> {
            let order = list(limit).order.into_iter();
            order.map(|(.., id)| id).collect()
        };
        let whole = rows(None);
        assert_eq!(whole.len(), 300);
        for limit in [1, 2, 61, 150, 299, 301] {
            let some = rows(Some(limit));
            let first = &whole[..limit.min(300)];
            assert_eq!(some, first, "{limit} by {}, {falling}", column.name());
        }
        // What is not kept is counted.
        assert_eq!(list(Some(2)).counts, list(None).counts);
    }
}

#[test]
fn pages_come_to_the_list() {
    use super::{CallList, CallsAfter};
    let all = |limit, after: Option<CallsAfter>| {
        let query = CallQuery {
            sort: Some((Column::Duration, true)),
            limit,
            after,
            ..CallQuery::default()
        };
        let mut list = CallList::new(&query);
        // Two recordings, so that every key is there twice at least.
        for _ in 0..2 {
            let mut table = list.table(&query);
            fill(&mut table);
            list.add(table.finish(), |call| call.duration());
        }
        list.finish()
    };
    let whole: Vec<u64> = all(None, None).order.into_iter().map(|row| row.2).collect();
    assert!(whole.len() > 3, "{whole:?}");
    for size in 1..=whole.len() {
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let page = all(Some(size), after.take());
            assert!(page.order.len() <= size);
            paged.extend(page.order.iter().map(|row| row.2));
            after = page.places.last().cloned();
            if after.is_none() {
                break;
            }
        }
        assert_eq!(paged, whole, "pages of {size}");
    }
}
