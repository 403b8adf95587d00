//! What a recording says of its spans, events, counters and links, in words: for comparing one with
//! another whose tables are numbered differently.

use std::collections::HashMap;

use traceloom_model::{Attribute, Recording, SpanId, TrackId, Unit, Value};

fn track(recording: &Recording, id: TrackId) -> String {
    let Some(row) = recording.track(id) else {
        return format!("track #{}", id.raw());
    };
    let mut words = format!("{:?} {}", row.kind, row.lane);
    if let Some(name) = row.name {
        words += &format!(" {:?}", recording.text(name));
    }
    words += &format!(" os {:?} id {:?}", row.os_id, row.id);
    if let Some(resource) = row.resource.and_then(|id| recording.resource(id)) {
        let text = |id: Option<_>| id.map(|id| recording.text(id).into_owned());
        words += &format!(
            " of {:?} {:?} {:?} pid {:?}",
            text(resource.service),
            text(resource.instance),
            text(resource.host),
            resource.pid
        );
    }
    if let Some(parent) = row.parent {
        words += &format!(" below ({})", track(recording, parent));
    }
    words
}

fn unit(recording: &Recording, unit: Unit) -> String {
    match unit {
        Unit::Other(id) => recording.text(id).into_owned(),
        known => format!("{known:?}"),
    }
}

/// Returns a value in words.
pub fn value(recording: &Recording, value: &Value) -> String {
    match value {
        Value::Text(id) => format!("{:?}", recording.text(*id)),
        Value::F64(value) => format!("F64({:#x})", value.to_bits()),
        Value::List(kind, list) => {
            let all: Vec<String> = list.iter().map(|one| self::value(recording, one)).collect();
            let kind = if list.is_empty() {
                String::new()
            } else {
                format!("{kind:?}")
            };
            format!("{kind}{all:?}")
        }
        Value::Map(map) => {
            let pair = |(key, one): &(Value, Value)| {
                format!(
                    "{}: {}",
                    self::value(recording, key),
                    self::value(recording, one)
                )
            };
            let all: Vec<String> = map.iter().map(pair).collect();
            format!("{all:?}")
        }
        other => format!("{other:?}"),
    }
}

fn attributes(recording: &Recording, list: &[Attribute]) -> String {
    let mut words = String::new();
    for attribute in list {
        let key = recording.attribute_key(attribute.key).expect("a key");
        let name = recording.text(key.name);
        words += &format!(" {name}={}", value(recording, &attribute.value));
    }
    words
}

/// Says every span, event, counter point and link in a line, sorted.
#[allow(dead_code, reason = "not every test needs all of it")]
pub fn said(recording: &Recording) -> Vec<String> {
    let spans: HashMap<SpanId, String> = recording
        .spans
        .iter()
        .map(|span| {
            let name = span
                .function
                .map(|id| recording.function_name(id).into_owned());
            (span.id, format!("{name:?} {}..{}", span.start, span.end))
        })
        .collect();
    let span = |id: SpanId| {
        spans
            .get(&id)
            .cloned()
            .unwrap_or_else(|| "unknown".to_owned())
    };
    let mut lines = Vec::new();
    for row in recording.spans.iter() {
        let function = row.function.and_then(|id| recording.function(id));
        let place = function.map(|row| (row.file.map(|id| recording.text(id)), row.line));
        let exception = row
            .exception
            .and_then(|id| recording.exception(id))
            .map(|row| {
                let text = |id: Option<_>| id.map(|id| recording.text(id).into_owned());
                (text(row.class), text(row.message))
            });
        let counters: Vec<String> = row
            .counters
            .iter()
            .map(|&(id, value)| {
                let row = recording.value_type(id).expect("a counter");
                format!(
                    "{}={value} {}",
                    recording.text(row.name),
                    unit(recording, row.unit)
                )
            })
            .collect();
        lines.push(format!(
            "span {} {place:?} in {:?} depth {} on {} kind {:?} {:?} entry {} {counters:?} {exception:?} {:?}{}",
            span(row.id),
            row.parent.map(span),
            row.depth,
            track(recording, row.track),
            row.kind.map(|id| recording.text(id)),
            row.status,
            row.entry,
            row.context,
            attributes(recording, row.attributes),
        ));
    }
    for row in recording.events.iter() {
        let kind = recording.event_type(row.event_type).expect("an event type");
        lines.push(format!(
            "event {:?} {}..{:?} on {:?}{}",
            recording.text(kind.name),
            row.time,
            row.end,
            row.track.map(|id| track(recording, id)),
            attributes(recording, row.attributes),
        ));
    }
    let points = recording
        .counters
        .series
        .iter()
        .zip(&recording.counters.time);
    for ((&series, time), point) in points.zip(&recording.counters.value) {
        let row = recording.series_row(series).expect("a series");
        lines.push(format!(
            "counter {:?} {} on {:?} at {time}: {:#x}",
            recording.text(row.name),
            unit(recording, row.unit),
            row.track.map(|id| track(recording, id)),
            point.to_bits()
        ));
    }
    for link in &recording.links {
        lines.push(format!("link {} -> {}", span(link.from), span(link.to)));
    }
    lines.sort();
    lines
}

/// A recording of everything that a trace of begins and ends can hold: spans of one time, asynchronous
/// and overlapping ones, every kind of attribute, events, counters, links.
#[allow(dead_code, reason = "not every test needs it")]
pub fn busy() -> Recording {
    use traceloom_model::{
        CounterBatch, ElementType, EventBatch, EventRow, EventType, Exception, Function, Link,
        LinkBatch, Resource, Series, Sink as _, SpanBatch, SpanContext, SpanRow, SpanStatus,
        Tables, Track, TrackKind, ValueType,
    };
    let mut tables = Tables::new();
    let mut text = |text: &str| tables.string(text);
    let [shop, host, main, pool, poll, lock] =
        ["shop", "node-1", "main", "pool", "poll", "lock"].map(&mut text);
    let [buy, pay, cpu, file, queue, kind] =
        ["buy", "pay", "cpu", "shop.rs", "queue", "web"].map(&mut text);
    let resource = tables.resource(Resource {
        service: Some(shop),
        host: Some(host),
        pid: Some(71),
        ..Resource::default()
    });
    let thread = tables.track(Track {
        resource: Some(resource),
        name: Some(main),
        os_id: Some(72),
        id: Some(1),
        ..Track::default()
    });
    let twin = tables.track(Track {
        resource: Some(resource),
        name: Some(pool),
        os_id: Some(72),
        ..Track::default()
    });
    let line = |kind, lane, parent| Track {
        kind,
        lane,
        parent,
        resource: Some(resource),
        name: Some(poll),
        ..Track::default()
    };
    let polls = tables.track(line(TrackKind::Async, 0, None));
    let lane = tables.track(line(TrackKind::Lane, 3, Some(thread)));
    let stream = tables.track(line(TrackKind::Stream, 0, None));
    let buy = tables.function(Function {
        file: Some(file),
        line: 7,
        ..Function::named(buy)
    });
    let pay = tables.function(Function::named(pay));
    let counter = tables.value_type(ValueType::sum(cpu, Unit::Nanoseconds));
    let exception = tables.exception(Exception {
        class: Some(lock),
        message: Some(queue),
        stack: None,
        cause: None,
    });
    let keys =
        ["a", "b", "a", "list", "map", "none", "bytes"].map(|name| tables.attribute_named(name));
    let list = [Value::I64(-1), Value::I64(1 << 60)];
    let map = [
        (Value::Text(file), Value::Bool(true)),
        (Value::Text(main), Value::Map([].into())),
    ];
    let values = [
        Value::U64(u64::MAX),
        Value::I64(i64::MIN),
        Value::F64(-0.0),
        Value::List(ElementType::I64, list.into()),
        Value::Map(map.into()),
        Value::Null,
        Value::Bytes([0, 255, 7].into()),
    ];
    let attributes: Vec<Attribute> = keys
        .into_iter()
        .zip(values)
        .map(|(key, value)| Attribute::new(key, value))
        .collect();
    let base = 1_700_000_000_123_456_789_i64;
    let mut spans = SpanBatch::default();
    let ids: Vec<SpanId> = (0..9).map(|_| tables.reserve_span()).collect();
    let call = |id: usize, track, function, start: i64, end: i64| {
        SpanRow::call(ids[id], track, function, base + start, base + end)
    };
    // 0 holds 1 and 2, which fill it; 3 begins where it ends and is empty, 4 is a call of that time.
    let below = |row: SpanRow<'static>, depth| SpanRow {
        parent: Some(ids[0]),
        depth,
        entry: false,
        ..row
    };
    spans.push(&below(call(1, thread, pay, 0, 10), 1));
    spans.push(&below(call(2, thread, pay, 10, 20), 1));
    spans.push(&below(call(3, thread, pay, 20, 20), 1));
    let counters = [(counter, i64::MAX)];
    spans.push(&SpanRow {
        kind: Some(kind),
        status: SpanStatus::Error,
        counters: &counters,
        attributes: &attributes,
        exception: Some(exception),
        context: Some(SpanContext {
            trace: u128::MAX - 5,
            span: u64::MAX - 6,
            parent: 7,
        }),
        ..call(0, thread, buy, 0, 20)
    });
    spans.push(&SpanRow {
        entry: false,
        status: SpanStatus::PartialEnd,
        ..call(4, thread, pay, 20, 20)
    });
    spans.push(&call(5, twin, buy, 5, 6));
    spans.push(&call(6, polls, buy, 0, 100));
    spans.push(&call(7, lane, buy, 3, 17));
    spans.push(&SpanRow {
        status: SpanStatus::PartialStart,
        ..call(8, stream, buy, 1, 2)
    });
    let wait = tables.event_type(EventType {
        name: lock,
        label: None,
        fields: Vec::new(),
    });
    let mut events = EventBatch::default();
    for (track, time, end) in [
        (Some(thread), 4, None),
        (None, 5, None),
        (Some(thread), 8, Some(15)),
        (Some(thread), 10, Some(30)),
        (None, 12, Some(13)),
    ] {
        events.push(&EventRow {
            track,
            attributes: &attributes,
            ..EventRow::of_process(wait, base + time, end.map(|end: i64| base + end))
        });
    }
    let of_thread = tables.series(Series {
        name: queue,
        unit: Unit::Percent,
        track: Some(thread),
    });
    let of_all = tables.series(Series {
        name: queue,
        unit: Unit::Bytes,
        track: None,
    });
    let mut points = CounterBatch::default();
    points.push(of_thread, base, 0.5);
    points.push(of_all, base + 1, 1e15);
    let link = |from: usize, to: usize| Link {
        from: ids[from],
        to: ids[to],
        kind: None,
    };
    let links = vec![link(1, 5), link(6, 5)];
    let mut recording = Recording::default();
    let _ = recording.define(tables.take_definitions());
    let _ = recording.links(LinkBatch { links });
    let _ = recording.spans(spans);
    let _ = recording.events(events);
    let _ = recording.counters(points);
    recording
}
