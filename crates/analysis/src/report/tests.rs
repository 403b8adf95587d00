use super::*;
use crate::filter::Selection;
use crate::timeline::Timeline;
use traceloom_model::{
    Attribute, EventBatch, EventRow, EventType, Exception, Function, Sink, SpanBatch, SpanRow,
    Tables, Track, Value,
};

/// Ten calls of 1 to 10 ms with a statement in each, three exceptions of two kinds, of which one passes through two
/// spans, and two pauses that overlap.
fn fill(sink: &mut dyn Sink) {
    let mut tables = Tables::new();
    let mut function = |name: &str| {
        let name = tables.string(name);
        tables.function(Function::named(name))
    };
    let (service, query) = (function("com.acme.Http.service"), function("Db.query"));
    let thread = tables.string("exec-1");
    let track = tables.track(Track::thread(thread));
    let sql = tables.attribute_named("sql");
    let class = tables.string("a.Gone");
    let mut exceptions = Vec::new();
    for message in ["no item 17", "no item 4", "no shop"] {
        let message = Some(tables.string(message));
        let cause = exceptions
            .first()
            .copied()
            .filter(|_| exceptions.len() == 2);
        exceptions.push(tables.exception(Exception {
            class: Some(class),
            message,
            stack: None,
            cause,
        }));
    }
    let mut batch = SpanBatch::default();
    for number in 0..10_i64 {
        let start = number * 100_000_000;
        let text = tables.string(&format!("select * from item where id = {number}"));
        let attributes = [Attribute::new(sql, Value::Text(text))];
        let call = tables.reserve_span();
        let thrown = usize::try_from(number).ok();
        let thrown = thrown.and_then(|number| exceptions.get(number).copied());
        let inner = SpanRow::call(tables.reserve_span(), track, query, start, start + 400_000);
        batch.push(&SpanRow {
            parent: Some(call),
            entry: false,
            depth: 1,
            attributes: &attributes,
            exception: thrown,
            ..inner
        });
        let end = start + (number + 1) * 1_000_000;
        batch.push(&SpanRow {
            exception: thrown.filter(|_| number == 0),
            ..SpanRow::call(call, track, service, start, end)
        });
    }
    let name = tables.string("pause");
    let pause = tables.event_type(EventType {
        name,
        label: None,
        fields: Vec::new(),
    });
    let mut pauses = EventBatch::default();
    pauses.push(&EventRow::of_process(pause, 100, Some(300)));
    pauses.push(&EventRow::of_process(pause, 250, Some(600)));
    let _ = sink.define(tables.take_definitions());
    let _ = sink.spans(batch);
    let _ = sink.events(pauses);
}

fn found(selection: Selection, most: usize) -> Findings {
    let mut calls = CallCollector::new(selection, most);
    fill(&mut calls);
    let mut found = calls.finish(|call| ("in".to_owned(), format!("#{}", call.id.0)));
    let mut rest = Collector::new(most);
    fill(&mut rest);
    found.add(rest.finish(), most);
    found
}

#[test]
fn everything_is_counted_once() {
    let found = found(Selection::default(), 3);
    assert_eq!((found.read, found.selected, found.failed), (10, 10, 1));
    assert_eq!(found.spans, 20);
    assert_eq!(found.extent, Some((0, 910_000_000)));
    let slowest: Vec<u64> = found.calls.iter().map(|call| call.duration).collect();
    assert_eq!(slowest, [10_000_000, 9_000_000, 8_000_000]);
    assert_eq!(found.durations, [1, 2, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(found.took.percentile(50), Some(5_000_000));
    // Two pauses of 200 and 350 ns, of which 50 were the same.
    assert_eq!(found.paused, (2, 500));
    assert_eq!(found.pauses[0].duration, 350);
    let shape = &found.statements["select * from item where id = ?"];
    assert_eq!((shape.count, shape.total, shape.failed), (10, 4_000_000, 3));
    let errors: Vec<_> = found
        .errors
        .values()
        .map(|group| (group.count, group.example.headings.join(" < ")))
        .collect();
    assert_eq!(
        errors,
        [
            (2, "a.Gone: no item 17".to_owned()),
            (1, "a.Gone: no shop < a.Gone: no item 17".to_owned())
        ]
    );
    let thread = found.threads["exec-1"];
    assert_eq!((thread.calls, thread.busy), (10, 55_000_000));
}

#[test]
fn findings_of_inputs_add_up() {
    let one = found(Selection::default(), 3);
    let mut two = one.clone();
    two.add(one.clone(), 4);
    assert_eq!((two.selected, two.spans, two.paused), (20, 40, (4, 1_000)));
    assert_eq!(two.calls.len(), 4);
    assert_eq!(two.calls[1].duration, 10_000_000);
    assert_eq!(two.statements["select * from item where id = ?"].count, 20);
    assert_eq!(two.errors.len(), one.errors.len());
    let slow = found(
        Selection {
            min_duration: 9_000_000,
            ..Selection::default()
        },
        3,
    );
    assert_eq!((slow.read, slow.selected), (10, 2));
}

#[test]
fn more_than_a_page_holds_is_counted() {
    let mut found = Findings::default();
    for number in 0..20_000_u32 {
        // The last are the largest.
        let thread = Thread {
            busy: number.into(),
            ..Thread::default()
        };
        found.thread(format!("t{number}"), thread);
        let shape = format!("select {number:x}");
        let group = StatementGroup {
            count: 1,
            total: number.into(),
            ..StatementGroup::default()
        };
        found.statement(&shape, &group);
    }
    found.cut();
    assert_eq!(
        (found.threads.len(), found.statements.len()),
        (10_000, 10_000)
    );
    assert_eq!(found.beyond, 20_000);
    assert!(found.threads.contains_key("t19999"));
    assert!(found.threads.values().all(|thread| thread.busy >= 10_000));
    assert!(found.statements.values().all(|one| one.total >= 10_000));
}

#[test]
fn an_empty_report_says_what_is_missing() {
    let found = Findings::default();
    let timeline = Timeline::default();
    let page = html(&Report {
        title: "<nothing>",
        made: "test",
        sources: &[],
        findings: &found,
        trees: &[],
        over_time: &[],
        timeline: &timeline,
        notes: (&[], 0),
        categories: &crate::hotspots::Categories::default(),
        rows: 10,
        when: &|time| time.to_string(),
    });
    assert!(page.contains("<h1>&lt;nothing&gt;</h1>"));
    assert!(page.contains("no calls, no functions, no SQL statements, no errors, no pauses"));
    assert!(!page.contains("<h2"));
}
