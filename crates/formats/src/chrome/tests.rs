//! What comes out is valid JSON whatever goes in.

use traceloom_model::{
    Attribute, Clock, CounterBatch, ElementType, EventBatch, EventRow, EventType, Function, Order,
    Series, SpanBatch, SpanRow, SpanStatus, Tables, Track, Unit, Value,
};

use super::FORMAT;
use crate::RaiseOptions;

fn written(
    variant: Option<&str>,
    fill: impl FnOnce(&mut Tables, &mut dyn crate::Target),
) -> (String, serde_json::Value) {
    let mut out = Vec::new();
    let options = RaiseOptions {
        variant: variant.map(str::to_owned),
        ..RaiseOptions::default()
    };
    let mut target = (FORMAT.raise.unwrap())(&options, &mut out).unwrap();
    let mut tables = Tables::new();
    target.begin(Order::Finish, Clock::Unix);
    fill(&mut tables, target.as_mut());
    let _ = target.define(tables.take_definitions());
    target.finish().unwrap();
    drop(target);
    let text = String::from_utf8(out).unwrap();
    let json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (text, json)
}

#[test]
fn strings_and_numbers_are_valid_and_exact() {
    let (text, _) = written(None, |tables, target| {
        let name = tables.bytes(b"q\" b\\ n\n \x01 \xff \xc5\xbc");
        let function = tables.function(Function::named(name));
        let thread = tables.string("main");
        let track = tables.track(Track::thread(thread));
        let text = tables.string("\u{7f}\u{2028}");
        let list = |values: Vec<Value>| Value::List(ElementType::Any, values.into());
        let pair = |key: Value| (key, Value::Null);
        let values = [
            Value::U64(u64::MAX),
            Value::U64((1 << 53) - 1),
            Value::I64(i64::MIN),
            Value::I64(-7),
            Value::F64(7.0),
            Value::F64(-0.0),
            Value::F64(f64::NAN),
            Value::F64(f64::NEG_INFINITY),
            Value::F64(1e300),
            Value::Bytes([0, 255].into()),
            list(vec![Value::Bool(true), list(vec![]), Value::Text(text)]),
            Value::Map([pair(Value::Text(text))].into()),
            Value::Map([pair(Value::U64(1)), pair(Value::U64(1))].into()),
            Value::Map([].into()),
        ];
        let key = tables.attribute_named("k");
        let attributes: Vec<Attribute> = values
            .into_iter()
            .map(|value| Attribute::new(key, value))
            .collect();
        let mut spans = SpanBatch::default();
        let id = tables.reserve_span();
        spans.push(&SpanRow {
            attributes: &attributes,
            status: SpanStatus::Error,
            ..SpanRow::call(
                id,
                track,
                function,
                1_795_224_167_171_606_363,
                1_795_224_167_171_607_000,
            )
        });
        let _ = target.define(tables.take_definitions());
        let _ = target.spans(spans);
    });
    let line = text.lines().nth(1).unwrap();
    let expected = concat!(
        r#"{"ph":"X","pid":1,"tid":1,"ts":1795224167171606.363,"dur":0.637,"name":"q\" b\\ n\n \u0001 "#,
        "\u{fffd} ż\",",
        r#""args":{"k":"18446744073709551615","k#2":9007199254740991,"k#3":"-9223372036854775808","k#4":-7,"#,
        r#""k#5":7.0,"k#6":-0.0,"k#7":"NaN","k#8":"-Infinity","k#9":1e300,"k#10":"00ff","k#11":[true,[],""#,
        "\u{7f}\u{2028}\"],\"k#12\":{\"\u{7f}\u{2028}\":null},",
        r#""k#13":[[1,null],[1,null]],"k#14":{},"span.status":"error"}},"#,
    );
    assert_eq!(line, expected);
}

#[test]
fn values_may_be_nested_as_deeply_as_they_like() {
    let (text, _) = written(None, |tables, target| {
        let mut value = Value::U64(1);
        for _ in 0..100 {
            value = Value::List(ElementType::Any, [value].into());
        }
        let key = tables.attribute_named("deep");
        let event_type = EventType {
            name: tables.string("event"),
            label: None,
            fields: vec![key],
        };
        let event_type = tables.event_type(event_type);
        let mut events = EventBatch::default();
        events.push(&EventRow {
            attributes: &[Attribute::new(key, value)],
            ..EventRow::of_process(event_type, -1, None)
        });
        let _ = target.define(tables.take_definitions());
        let _ = target.events(events);
    });
    assert!(text.contains("\"ts\":-0.001,\"s\":\"p\",\"name\":\"event\""));
    assert!(text.contains(&format!("{}1{}", "[".repeat(100), "]".repeat(100))));
}

#[test]
fn events_with_an_end_are_pairs_and_counters_have_values() {
    let (_, json) = written(None, |tables, target| {
        let name = tables.string("pause");
        let event_type = tables.event_type(EventType {
            name,
            label: None,
            fields: Vec::new(),
        });
        let mut events = EventBatch::default();
        events.push(&EventRow::of_process(event_type, 1000, Some(3500)));
        let series = tables.series(Series {
            name,
            unit: Unit::Count,
            track: None,
        });
        let mut counters = CounterBatch::default();
        counters.push(series, 0, f64::INFINITY);
        let _ = target.define(tables.take_definitions());
        let _ = target.events(events);
        let _ = target.counters(counters);
    });
    let events = json
        .get("traceEvents")
        .and_then(serde_json::Value::as_array)
        .unwrap();
    let field = |row: usize, key: &str| {
        events
            .get(row)
            .and_then(|event| event.get(key))
            .unwrap()
            .to_string()
    };
    assert_eq!(
        [field(0, "ph"), field(1, "ph"), field(2, "ph")],
        ["\"b\"", "\"e\"", "\"C\""]
    );
    assert_eq!([field(0, "ts"), field(1, "ts")], ["1", "3.5"]);
    assert_eq!(field(0, "id"), field(1, "id"));
    assert_eq!(field(2, "args"), "{\"value\":\"Infinity\"}");
}

#[test]
fn what_is_never_defined_prints_its_number_and_times_can_be_relative() {
    let (text, json) = written(Some("relative"), |tables, target| {
        let mut other = Tables::new();
        let name = other.string("never told");
        let function = other.function(Function::named(name));
        let track = other.track(Track::thread(name));
        let id = tables.reserve_span();
        let mut spans = SpanBatch::default();
        spans.push(&SpanRow::call(
            id,
            track,
            function,
            5_000_000_001,
            5_000_000_002,
        ));
        let _ = target.spans(spans);
    });
    assert!(text.contains("\"ts\":0,\"dur\":0.001,\"name\":\"#0\"}"));
    assert_eq!(
        json.pointer("/otherData/base_time_ns").unwrap(),
        "5000000001"
    );
}

#[test]
fn an_unknown_variant_is_refused() {
    let mut out = Vec::new();
    let options = RaiseOptions {
        variant: Some("catapult".to_owned()),
        ..RaiseOptions::default()
    };
    let refused = (FORMAT.raise.unwrap())(&options, &mut out).err().unwrap();
    assert_eq!(
        refused.to_string(),
        "chrome has no variant `catapult`; there is `relative`"
    );
}
