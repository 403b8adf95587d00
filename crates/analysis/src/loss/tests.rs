use super::*;
use traceloom_model::{Function, Recording, SpanBatch, SpanRow, SpanStatus, Tables};
use traceloom_model::{Merge, Track, Unit};

#[test]
fn what_is_not_held_is_counted_with_an_example() {
    let mut tables = Tables::new();
    let buy = tables.string("buy");
    let function = tables.function(Function::named(buy));
    let main = tables.string("main");
    let track = tables.track(Track::thread(main));
    let key = tables.attribute_named("web.url");
    let url = tables.string("/orders");
    let attributes = [Attribute::new(key, Value::Text(url))];
    let mut spans = SpanBatch::default();
    let call = SpanRow::call(tables.reserve_span(), track, function, 1_500, 2_000);
    spans.push(&SpanRow {
        attributes: &attributes,
        ..call.clone()
    });
    spans.push(&SpanRow {
        status: SpanStatus::Error,
        ..call
    });

    let mut recording = Recording::default();
    let holds = Capabilities::of(&[Feature::Spans, Feature::Tracks, Feature::SubMillisecond]);
    let mut loss = Loss::new(&mut recording, holds);
    let _ = loss.define(tables.take_definitions());
    let _ = Sink::spans(&mut loss, spans);
    let losses = loss.finish();

    let lost = |kind, field: &str, count, example: &str| Lost {
        kind,
        field: field.to_owned(),
        count,
        example: example.to_owned(),
    };
    assert_eq!(
        losses.lost,
        [
            lost("span_attributes", "web.url", 1, "/orders"),
            lost("error_status", "", 1, ""),
        ]
    );
    assert_eq!(losses.changed, [lost("sub_microsecond", "", 2, "")]);
    assert_eq!(recording.spans.len(), 2);
}

/// A format that has places for values of its own loses those of others alone.
#[test]
fn values_that_have_a_place_by_name_are_not_lost() {
    use traceloom_model::{Profile, ValueType};
    const OWN: &[(Feature, &str)] = &[
        (Feature::InclusiveValues, "least"),
        (Feature::ManyValues, "calls"),
        (Feature::ManyValues, "least"),
    ];
    let losses_of = |names: &[&str]| {
        let mut tables = Tables::new();
        let value_types = names.iter().map(|name| {
            let name = tables.string(name);
            tables.value_type(ValueType {
                merge: Merge::Min,
                ..ValueType::sum(name, Unit::Count)
            })
        });
        let value_types = value_types.collect();
        tables.profile(Profile {
            value_types,
            ..Profile::default()
        });
        let mut recording = Recording::default();
        let holds = Capabilities::of(&[Feature::Samples]).with_own(OWN);
        let mut loss = Loss::new(&mut recording, holds);
        let _ = loss.define(tables.take_definitions());
        let lost = loss.finish().lost;
        let rows = lost.into_iter();
        rows.map(|row| (row.kind, row.field, row.count))
            .collect::<Vec<_>>()
    };
    let inclusive = |name: &str| ("inclusive_values", name.to_owned(), 1);
    assert_eq!(losses_of(&["least"]), []);
    assert_eq!(losses_of(&["calls", "least"]), [inclusive("calls")]);
    assert_eq!(
        losses_of(&["least", "other"]),
        [("many_values", String::new(), 1), inclusive("other")]
    );
    assert_eq!(
        losses_of(&["one", "two"]),
        [
            ("many_values", String::new(), 1),
            inclusive("one"),
            inclusive("two")
        ]
    );
}
