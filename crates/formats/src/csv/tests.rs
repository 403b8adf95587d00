#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use traceloom_model::{
    Attribute, Clock, CounterBatch, Function, Order, Series, SpanBatch, SpanRow, Tables, Track,
    Unit, Value,
};

use super::FORMAT;
use crate::RaiseOptions;

#[test]
fn fields_are_quoted_where_they_must_be_and_nothing_is_not_an_empty_text() {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut target = (FORMAT.raise.unwrap())(&RaiseOptions::default(), &mut files).unwrap();
    let mut tables = Tables::new();
    let name = tables.string("say \"hi\", twice");
    let function = tables.function(Function::named(name));
    let empty = tables.string("");
    let track = tables.track(Track::thread(empty));
    let key = tables.attribute_named("sql");
    let sql = tables.string("select 1\nfrom dual");
    let series = tables.series(Series {
        name: empty,
        unit: Unit::Bytes,
        track: None,
    });
    let mut spans = SpanBatch::default();
    spans.push(&SpanRow {
        attributes: &[Attribute::new(key, Value::Text(sql))],
        ..SpanRow::call(tables.reserve_span(), track, function, -1_500, i64::MAX)
    });
    let mut counters = CounterBatch::default();
    counters.push(series, 1_795_254_184_000_000_001, 0.5);
    target.begin(Order::Nested, Clock::Unix);
    let _ = target.define(tables.take_definitions());
    let _ = target.spans(spans);
    let _ = target.counters(counters);
    target.finish().unwrap();
    drop(target);

    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let spans = text("spans.csv");
    let (header, row) = spans.trim_end().split_once("\r\n").unwrap();
    assert!(header.starts_with("span_id,parent_id,depth,track_id,function_id,name,kind,ts_ns,ts,"));
    // A duration beyond the signed range keeps its bits.
    assert_eq!(
        row,
        "0,,0,0,0,\"say \"\"hi\"\", twice\",,-1500,1969-12-31T23:59:59.999998Z,9223372036854775807,\
         -9223372036854774309,complete,true,,,,,,,"
    );
    assert!(text("tracks.csv").ends_with("\r\n0,thread,,,0,\"\",,\r\n"));
    assert!(text("attributes.csv").contains("spans,0,0,0,sql,text,\"select 1\nfrom dual\",,\r\n"));
    assert!(
        text("counters.csv")
            .ends_with("\r\n0,1795254184000000001,2026-11-21T09:43:04.000000Z,0.5\r\n")
    );
    // Tables without rows have their header, so that a query finds them.
    assert_eq!(text("edges.csv"), "dump,from_object_id,to_object_id\r\n");
    assert_eq!(files.len(), traceloom_model::flat::TABLES.len());
}
