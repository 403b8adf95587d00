//! Firefox profiles: against what the profiler's own crate writes for the same data, and against a checker
//! written from the format's type definitions.
#![allow(missing_docs, reason = "a test")]

mod raised;
#[allow(dead_code, reason = "this test lowers, it reports nothing")]
mod top;

use std::collections::{BTreeMap, BTreeSet};

use fxprof_processed_profile as fx;
use fxprof_processed_profile::Timestamp as At;
use raised::raise;
use serde_json::Value as Json;
use top::lowered;
use traceloom_formats::{FORMATS, by_name};
use traceloom_model::{
    Attribute, Clock, CounterBatch, EventBatch, EventRow, EventType, Frame, Function, Mapping,
    Order, Profile, Recording, Resource, SampleBatch, SampleRow, Series, Sink, SpanBatch, SpanRow,
    Stack, Tables, Track, Unit, Value, ValueType,
};

const START_MS: i64 = 1_795_254_184_000;

/// Nanoseconds after the start.
fn at(ns: i64) -> i64 {
    START_MS * 1_000_000 + ns
}

/// Stacks of the example, outermost first; samples as time, stack and weight.
const STACKS: [&[&str]; 3] = [&["main", "buy"], &["main", "buy", "price"], &["main"]];
const SAMPLES: [(i64, usize, i64); 4] = [
    (0, 0, 1),
    (1_000_000, 1, 2),
    (2_500_000, 1, 1),
    (3_000_001, 2, 1),
];

fn ours() -> Recording {
    let mut tables = Tables::new();
    let shop = tables.string("shop");
    let resource = tables.resource(Resource {
        service: Some(shop),
        pid: Some(123),
        ..Resource::default()
    });
    let track = |tables: &mut Tables, name, os_id| {
        let name = tables.string(name);
        tables.track(Track {
            resource: Some(resource),
            os_id: Some(os_id),
            ..Track::thread(name)
        })
    };
    let main = track(&mut tables, "shop", 123);
    let worker = track(&mut tables, "worker", 124);
    let mut stacks = Vec::new();
    for names in STACKS {
        let mut parent = None;
        for name in names {
            let name = tables.string(name);
            let function = tables.function(Function::named(name));
            let frame = tables.frame(Frame::of(function));
            parent = Some(tables.stack(Stack::under(parent, frame)));
        }
        stacks.push(parent);
    }
    let (file, build_id) = (tables.string("/usr/lib/libc.so.6"), tables.string("f0fc29"));
    let mapping = tables.mapping(Mapping {
        start: 0x7000,
        limit: 0x9000,
        offset: 0x100,
        file: Some(file),
        build_id: Some(build_id),
    });
    let frame = tables.frame(Frame {
        address: Some(0x7010),
        mapping: Some(mapping),
        ..Frame::default()
    });
    let native = tables.stack(Stack::under(None, frame));
    let samples = tables.string("samples");
    let samples = tables.value_type(ValueType::sum(samples, Unit::Count));
    let profile = tables.profile(Profile {
        value_types: vec![samples],
        ..Profile::default()
    });
    let mut batch = SampleBatch::new(profile, 1);
    let mut push = |time, stack, weight, track| {
        batch.push(&SampleRow {
            stack,
            values: &[weight],
            time: Some(at(time)),
            track: Some(track),
            span: None,
            labels: &[],
        });
    };
    for (time, stack, weight) in SAMPLES {
        push(time, stacks[stack], weight, main);
    }
    push(500, Some(native), 1, worker);
    let order = tables.attribute_named("order");
    let number = tables.string("A-1");
    let checkout = tables.string("checkout");
    let checkout = tables.function(Function::named(checkout));
    let mut spans = SpanBatch::default();
    spans.push(&SpanRow {
        attributes: &[Attribute::new(order, Value::Text(number))],
        ..SpanRow::call(
            tables.reserve_span(),
            main,
            checkout,
            at(250),
            at(2_000_000),
        )
    });
    let retry = tables.string("retry");
    let retry = tables.event_type(EventType {
        name: retry,
        label: None,
        fields: vec![order],
    });
    let mut events = EventBatch::default();
    events.push(&EventRow {
        event_type: retry,
        track: Some(worker),
        time: at(1_500),
        end: None,
        object: None,
        owner: None,
        stack: stacks[2],
        attributes: &[Attribute::new(order, Value::U64(7))],
    });
    let heap = tables.string("heap");
    let heap = tables.series(Series {
        name: heap,
        unit: Unit::Bytes,
        track: Some(main),
    });
    let mut counters = CounterBatch::default();
    counters.push(heap, at(0), 100.0);
    counters.push(heap, at(1_000_000), 1_100.0);
    counters.push(heap, at(2_000_000), 900.5);
    let mut recording = Recording::default();
    recording.begin(Order::Nested, Clock::Unix);
    let _ = recording.define(tables.take_definitions());
    let _ = recording.samples(batch);
    let _ = recording.spans(spans);
    let _ = recording.events(events);
    let _ = recording.counters(counters);
    recording
}

/// A marker with one field.
struct One {
    name: &'static str,
    text: Option<fx::StringHandle>,
    number: f64,
}

impl fx::Marker for One {
    fn marker_type(&self, profile: &mut fx::Profile) -> fx::MarkerTypeHandle {
        let format = match self.text {
            Some(_) => fx::MarkerFieldFormat::SanitizedString,
            None => fx::MarkerFieldFormat::Integer,
        };
        profile.register_marker_type(fx::RuntimeSchemaMarkerSchema {
            type_name: if self.text.is_some() {
                "Span"
            } else {
                self.name
            }
            .to_owned(),
            locations: fx::MarkerLocations::MARKER_CHART | fx::MarkerLocations::MARKER_TABLE,
            chart_label: None,
            tooltip_label: None,
            table_label: None,
            description: None,
            fields: vec![fx::RuntimeSchemaMarkerField {
                key: "order".to_owned(),
                label: "order".to_owned(),
                format,
                flags: fx::MarkerFieldFlags::empty(),
            }],
            graphs: Vec::new(),
        })
    }

    fn name(&self, profile: &mut fx::Profile) -> fx::StringHandle {
        profile.intern_string(self.name)
    }

    fn category(&self, _: &mut fx::Profile) -> fx::CategoryHandle {
        fx::CategoryHandle::OTHER
    }

    fn string_field_value(&self, _: u32) -> fx::StringHandle {
        self.text.expect("a text")
    }

    fn number_field_value(&self, _: u32) -> f64 {
        self.number
    }
}

fn theirs() -> Json {
    let ns = |ns: i64| At::from_nanos_since_reference(ns.unsigned_abs());
    let reference = fx::ReferenceTimestamp::from_millis_since_unix_epoch(START_MS as f64);
    let interval = fx::SamplingInterval::from_millis(1);
    let mut profile = fx::Profile::new("shop", reference, interval);
    let process = profile.add_process("shop", 123, ns(0));
    let main = profile.add_thread(process, 123, ns(0), true);
    let worker = profile.add_thread(process, 124, ns(0), false);
    profile.set_thread_name(worker, "worker");
    let other = fx::CategoryHandle::OTHER;
    let info = |frame| fx::FrameInfo {
        frame,
        category_pair: other.into(),
        flags: fx::FrameFlags::empty(),
    };
    let stack_on = |profile: &mut fx::Profile, thread, names: &[&str]| {
        let frames: Vec<_> = names
            .iter()
            .map(|name| info(fx::Frame::Label(profile.intern_string(name))))
            .collect();
        profile.intern_stack_frames(thread, frames.into_iter())
    };
    for (time, stack, weight) in SAMPLES {
        let stack = stack_on(&mut profile, main, STACKS[stack]);
        let weight = i32::try_from(weight).expect("small");
        profile.add_sample(main, ns(time), stack, fx::CpuDelta::ZERO, weight);
    }
    let lib = profile.add_lib(fx::LibraryInfo {
        name: "libc.so.6".to_owned(),
        debug_name: "libc.so.6".to_owned(),
        path: "/usr/lib/libc.so.6".to_owned(),
        debug_path: "/usr/lib/libc.so.6".to_owned(),
        debug_id: fx::debugid::DebugId::nil(),
        code_id: Some("f0fc29".to_owned()),
        arch: None,
        symbol_table: None,
    });
    profile.add_lib_mapping(process, lib, 0x7000, 0x9000, 0x100);
    let frame = info(fx::Frame::InstructionPointer(0x7010));
    let stack = profile.intern_stack_frames(worker, std::iter::once(frame));
    profile.add_sample(worker, ns(500), stack, fx::CpuDelta::ZERO, 1);
    let text = profile.intern_string("A-1");
    let span = One {
        name: "checkout",
        text: Some(text),
        number: 0.0,
    };
    profile.add_marker(
        main,
        fx::MarkerTiming::Interval(ns(250), ns(2_000_000)),
        span,
    );
    let retry = One {
        name: "retry",
        text: None,
        number: 7.0,
    };
    let marker = profile.add_marker(worker, fx::MarkerTiming::Instant(ns(1_500)), retry);
    let stack = stack_on(&mut profile, worker, STACKS[2]);
    profile.set_marker_stack(worker, marker, stack);
    let heap = profile.add_counter(process, "heap", "Memory", "shop");
    profile.add_counter_sample(heap, ns(0), 100.0, 0);
    profile.add_counter_sample(heap, ns(1_000_000), 1_000.0, 0);
    profile.add_counter_sample(heap, ns(2_000_000), -199.5, 0);
    serde_json::to_value(&profile).expect("JSON")
}

fn list<'j>(json: &'j Json, name: &str) -> &'j [Json] {
    let found = json[name].as_array();
    found.unwrap_or_else(|| panic!("{name} is no list in {json}"))
}

fn index(json: &Json) -> Option<usize> {
    json.as_u64()
        .and_then(|number| usize::try_from(number).ok())
}

/// Times of a table, which come as they are or as differences, in nanoseconds.
fn times(table: &Json) -> Vec<i64> {
    let ns = |ms: &Json| (ms.as_f64().expect("a number") * 1e6).round() as i64;
    if table["time"].is_array() {
        return list(table, "time").iter().map(ns).collect();
    }
    let steps = list(table, "timeDeltas").iter().map(ns);
    let sum = |sum: &mut i64, step| {
        *sum += step;
        Some(*sum)
    };
    steps.scan(0, sum).collect()
}

fn frames(thread: &Json, stack: &Json) -> Vec<String> {
    let mut names = Vec::new();
    let mut next = index(stack);
    while let Some(stack) = next {
        let frame = index(&thread["stackTable"]["frame"][stack]).expect("a frame");
        let function = index(&thread["frameTable"]["func"][frame]).expect("a function");
        let name = index(&thread["funcTable"]["name"][function]).expect("a name");
        let category = &thread["frameTable"]["category"][frame];
        let address = &thread["frameTable"]["address"][frame];
        let resource = index(&thread["funcTable"]["resource"][function]).map(|resource| {
            let name = index(&thread["resourceTable"]["name"][resource]).expect("a name");
            let kind = &thread["resourceTable"]["type"][resource];
            format!(
                "{} {kind} {}",
                thread["stringArray"][name], thread["resourceTable"]["lib"][resource]
            )
        });
        let name = match resource {
            // Names of unknown functions are the profiler's affair.
            Some(_) => String::new(),
            None => thread["stringArray"][name].to_string(),
        };
        names.push(format!("{name} @{address} in {category} of {resource:?}"));
        next = index(&thread["stackTable"]["prefix"][stack]);
    }
    names.reverse();
    names
}

/// What a profile says, whatever its tables are numbered like.
fn said(profile: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    let meta = &profile["meta"];
    lines.push(format!(
        "{} from {:?} every {:?} version {} first category {}",
        meta["product"],
        meta["startTime"].as_f64(),
        meta["interval"].as_f64(),
        meta["preprocessedProfileVersion"],
        meta["categories"][0],
    ));
    for thread in list(profile, "threads") {
        lines.push(format!(
            "thread {} of {} {} tid {} main {}",
            thread["name"],
            thread["processName"],
            thread["pid"],
            thread["tid"].to_string().trim_matches('"'),
            thread["isMainThread"]
        ));
        let samples = &thread["samples"];
        for (row, time) in times(samples).into_iter().enumerate() {
            lines.push(format!(
                "  {time} {:?} × {} {}",
                frames(thread, &samples["stack"][row]),
                samples["weight"][row],
                samples["weightType"]
            ));
        }
        let markers = &thread["markers"];
        for row in 0..index(&markers["length"]).expect("a length") {
            let name = index(&markers["name"][row]).expect("a name");
            let data = &markers["data"][row];
            let ns = |time: &Json| time.as_f64().map(|ms| (ms * 1e6).round() as i64);
            lines.push(format!(
                "  marker {} {:?}..{:?} phase {} category {} {} order {:?} at {:?}",
                thread["stringArray"][name],
                ns(&markers["startTime"][row]),
                // The end of an instant is nothing, or nought.
                ns(&markers["endTime"][row]).filter(|_| markers["phase"][row] == 1),
                markers["phase"][row],
                markers["category"][row],
                data["type"],
                data["order"]
                    .as_f64()
                    .map_or_else(|| data["order"].to_string(), |n| n.to_string()),
                frames(thread, &data["cause"]["stack"]),
            ));
        }
    }
    for counter in list(profile, "counters") {
        let counts = list(&counter["samples"], "count").iter().map(Json::as_f64);
        lines.push(format!(
            "counter {} {} of {} thread {} {:?} {:?}",
            counter["name"],
            counter["category"],
            counter["pid"],
            counter["mainThreadIndex"],
            times(&counter["samples"]),
            counts.collect::<Vec<_>>(),
        ));
    }
    for lib in list(profile, "libs") {
        let words = ["name", "path", "debugName", "debugPath", "codeId"].map(|name| &lib[name]);
        lines.push(format!("lib {words:?}"));
    }
    lines
}

/// Members that theirs has and ours need not: optional ones, and the other form of a column.
const OPTIONAL: [&str; 4] = [
    "timeDeltas",
    "threadCPUDelta",
    "number",
    "showMarkersInTimeline",
];

/// Every member of theirs is in ours with the same type, as far as an example of both is there.
fn same_shape(ours: &Json, theirs: &Json, path: &str) {
    match (ours, theirs) {
        (Json::Object(ours), Json::Object(theirs)) => {
            for (name, theirs) in theirs {
                match ours.get(name) {
                    Some(ours) => same_shape(ours, theirs, &format!("{path}.{name}")),
                    None => assert!(
                        OPTIONAL.contains(&name.as_str()),
                        "{path}.{name} is missing"
                    ),
                }
            }
        }
        (Json::Array(ours), Json::Array(theirs)) => {
            for (ours, theirs) in ours.iter().zip(theirs) {
                same_shape(ours, theirs, &format!("{path}[]"));
            }
        }
        (Json::Null, _) | (_, Json::Null) => {}
        // Theirs makes texts of thread ids; the definition allows both.
        _ if path.ends_with(".tid") => {}
        _ => assert_eq!(
            std::mem::discriminant(ours),
            std::mem::discriminant(theirs),
            "{path}: {ours} for {theirs}"
        ),
    }
}

#[test]
fn our_profile_says_what_the_profilers_own_crate_says() {
    let ours = raise(by_name("firefox").unwrap(), &ours());
    let ours: Json = serde_json::from_slice(&ours).expect("JSON");
    let theirs = theirs();
    checked(&ours);
    checked(&theirs);
    same_shape(&ours, &theirs, "");
    assert_eq!(said(&ours), said(&theirs));
}

/// Checks a profile against the type definitions that are the format's documentation: every table's columns
/// have its length, every index leads to a row, callers stand before callees, times ascend, markers
/// have schemas, processes one main thread, and the default category is there.
fn checked(profile: &Json) {
    let meta = &profile["meta"];
    for name in [
        "interval",
        "startTime",
        "processType",
        "version",
        "preprocessedProfileVersion",
    ] {
        assert!(meta[name].is_number(), "meta.{name}");
    }
    assert!(meta["product"].is_string());
    let categories = list(meta, "categories");
    assert!(
        categories
            .iter()
            .any(|category| category["color"] == "grey")
    );
    for category in categories {
        assert_eq!(category["subcategories"][0], "Other", "{category}");
    }
    let mut schemas = BTreeMap::new();
    for schema in list(meta, "markerSchema") {
        assert!(schema["display"].is_array(), "{schema}");
        let fields = list(schema, "fields").iter();
        let fields = fields.map(|field| (text(&field["key"]), text(&field["format"])));
        let known = schemas.insert(text(&schema["name"]), fields.collect::<BTreeMap<_, _>>());
        assert!(known.is_none(), "two schemas of one name: {schema}");
    }
    let libs = list(profile, "libs");
    for lib in libs {
        for name in ["name", "path", "debugName", "debugPath", "breakpadId"] {
            assert!(lib[name].is_string(), "{lib}");
        }
        assert!(
            lib["codeId"].is_string() || lib["codeId"].is_null(),
            "{lib}"
        );
    }
    let mut mains: BTreeMap<String, usize> = BTreeMap::new();
    let threads = list(profile, "threads");
    for thread in threads {
        *mains.entry(text(&thread["pid"])).or_default() +=
            usize::from(thread["isMainThread"].as_bool().expect("a flag"));
        check_thread(thread, categories.len(), libs.len(), &schemas);
    }
    assert!(mains.values().all(|&count| count == 1), "{mains:?}");
    for counter in list(profile, "counters") {
        let main = index(&counter["mainThreadIndex"]).expect("an index");
        assert_eq!(threads[main]["pid"], counter["pid"]);
        assert!(counter["category"].is_string() && counter["description"].is_string());
        columns(&counter["samples"], "counter");
        ascending(&counter["samples"]);
    }
}

fn text(json: &Json) -> String {
    json.as_str()
        .unwrap_or_else(|| panic!("{json} is no text"))
        .to_owned()
}

/// Returns the length of a table after checking that of its columns.
fn columns(table: &Json, name: &str) -> usize {
    let length = index(&table["length"]).unwrap_or_else(|| panic!("{name} has no length"));
    for (column, items) in table.as_object().expect("a table") {
        if let Some(items) = items.as_array() {
            assert_eq!(items.len(), length, "{name}.{column}");
        }
    }
    length
}

fn leads(table: &Json, column: &str, below: usize, optional: bool) {
    for item in list(table, column) {
        let is_none = item.is_null() || item.as_i64() == Some(-1);
        let row = index(item).is_some_and(|row| row < below);
        assert!(row || optional && is_none, "{column}: {item} of {below}");
    }
}

fn ascending(table: &Json) {
    let times = times(table);
    assert!(times.is_sorted(), "{times:?}");
}

fn check_thread(
    thread: &Json,
    categories: usize,
    libs: usize,
    schemas: &BTreeMap<String, BTreeMap<String, String>>,
) {
    assert!(thread["name"].is_string() && thread["processType"].is_string());
    assert!(thread["tid"].is_number() || thread["tid"].is_string());
    assert!(thread["registerTime"].is_number() && thread["processStartupTime"].is_number());
    assert!(thread["pausedRanges"].is_array());
    let strings = list(thread, "stringArray");
    let unique: BTreeSet<String> = strings.iter().map(text).collect();
    assert_eq!(unique.len(), strings.len(), "a string comes twice");
    let names = [
        "frameTable",
        "funcTable",
        "resourceTable",
        "stackTable",
        "nativeSymbols",
    ];
    let [frames, functions, resources, stacks, symbols] =
        names.map(|name| columns(&thread[name], name));
    leads(&thread["frameTable"], "func", functions, false);
    leads(&thread["frameTable"], "category", categories, true);
    leads(&thread["frameTable"], "nativeSymbol", symbols, true);
    leads(&thread["funcTable"], "name", strings.len(), false);
    leads(&thread["funcTable"], "fileName", strings.len(), true);
    leads(&thread["funcTable"], "resource", resources, true);
    leads(&thread["resourceTable"], "name", strings.len(), false);
    leads(&thread["resourceTable"], "lib", libs, true);
    leads(&thread["stackTable"], "frame", frames, false);
    for (row, prefix) in list(&thread["stackTable"], "prefix").iter().enumerate() {
        assert!(prefix.is_null() || index(prefix).is_some_and(|prefix| prefix < row));
    }
    let samples = &thread["samples"];
    columns(samples, "samples");
    leads(samples, "stack", stacks, true);
    ascending(samples);
    let kind = text(&samples["weightType"]);
    assert!(
        ["samples", "tracing-ms", "bytes"].contains(&kind.as_str()),
        "{kind}"
    );
    let markers = &thread["markers"];
    let length = columns(markers, "markers");
    leads(markers, "name", strings.len(), false);
    leads(markers, "category", categories, false);
    for row in 0..length {
        let (start, end) = (&markers["startTime"][row], &markers["endTime"][row]);
        match markers["phase"][row].as_u64() {
            Some(0) => assert!(start.is_number()),
            Some(1) => assert!(start.as_f64() <= end.as_f64() && end.is_number()),
            other => panic!("phase {other:?}"),
        }
        let data = &markers["data"][row];
        let fields = &schemas[&text(&data["type"])];
        for (name, value) in data.as_object().expect("a payload") {
            let Some(format) = fields.get(name) else {
                continue;
            };
            match format.as_str() {
                "integer" | "decimal" | "bytes" | "duration" => {
                    assert!(value.is_number(), "{name}: {value} as {format}");
                }
                "unique-string" => assert!(index(value).is_some_and(|at| at < strings.len())),
                _ => assert!(value.is_string(), "{name}: {value} as {format}"),
            }
        }
        let stack = &data["cause"]["stack"];
        assert!(stack.is_null() || index(stack).is_some_and(|stack| stack < stacks));
    }
}

#[test]
fn every_sample_of_every_format_makes_a_profile_that_holds_together() {
    let firefox = by_name("firefox").unwrap();
    let mut n_profiles = 0;
    for format in FORMATS {
        let (Some(sample), Some(_)) = (traceloom_samples::by_name(format.name), format.lower)
        else {
            continue;
        };
        let mut bytes = Vec::new();
        sample(7, 20_000, &mut |piece| bytes.extend_from_slice(piece));
        let recording = lowered(format, &bytes);
        let profile: Json = serde_json::from_slice(&raise(firefox, &recording))
            .unwrap_or_else(|error| panic!("{}: {error}", format.name));
        checked(&profile);
        let threads = list(&profile, "threads");
        let markers = threads
            .iter()
            .filter_map(|thread| index(&thread["markers"]["length"]));
        let expected = recording.spans.len() + recording.events.len();
        assert_eq!(markers.sum::<usize>(), expected, "{}", format.name);
        n_profiles += 1;
    }
    assert!(n_profiles > 20, "{n_profiles} formats have samples");
}

#[test]
fn profiles_show_the_column_that_views_show() {
    let mut tables = Tables::new();
    let mut column = |name, unit| {
        let name = tables.string(name);
        tables.value_type(ValueType::sum(name, unit))
    };
    let (calls, cpu) = (
        column("calls", Unit::Count),
        column("cpu", Unit::Nanoseconds),
    );
    let live = column("live", Unit::Bytes);
    // The first one has no default, which makes it its last; the second one says its first.
    let profiles = [
        (vec![calls, cpu], None, 1),
        (vec![live, calls], Some(live), 0),
    ];
    let name = tables.string("main");
    let function = tables.function(Function::named(name));
    let frame = tables.frame(Frame::of(function));
    let stack = tables.stack(Stack::under(None, frame));
    let mut recording = Recording::default();
    let mut batches = Vec::new();
    for (value_types, default, shown) in profiles {
        let profile = Profile {
            value_types,
            default,
            ..Profile::default()
        };
        let id = tables.profile(profile.clone());
        let mut batch = SampleBatch::new(id, 2);
        batch.push(&SampleRow::at(stack, &[3, 5]));
        batches.push((batch, profile, shown));
    }
    let defined = tables.take_definitions();
    let _ = recording.define(defined.clone());
    for (batch, profile, shown) in batches {
        assert_eq!(recording.shown_column(&profile, &[]), Some(shown));
        let mut one = Recording::default();
        let _ = one.define(defined.clone());
        let _ = one.samples(batch);
        let profile: Json =
            serde_json::from_slice(&raise(by_name("firefox").unwrap(), &one)).unwrap();
        let weight = &profile["threads"][0]["samples"];
        let kind = ["bytes", "tracing-ms"][shown];
        assert_eq!(weight["weightType"], kind);
        assert_eq!(weight["weight"][0].as_f64(), Some([3.0, 0.000_005][shown]));
        let speedscope: Json =
            serde_json::from_slice(&raise(by_name("speedscope").unwrap(), &one)).unwrap();
        let active = speedscope["activeProfileIndex"].as_u64().unwrap_or(0);
        let name = ["live", "cpu"][shown];
        let active = &speedscope["profiles"][usize::try_from(active).unwrap()];
        assert_eq!(active["name"], name);
        let pprof = by_name("pprof").unwrap();
        let again = lowered(pprof, &raise(pprof, &one));
        let row = again.profiles.iter().flatten().next().unwrap();
        let at = again.shown_column(row, &[]).unwrap();
        let row = again.value_type(row.value_types[at]).unwrap();
        assert_eq!(again.text(row.name), name);
    }
}
