//! What Zorka captures mean: spans, exceptions, clocks, statistics, once each.

mod corpus;

use std::fmt::Write as _;

use traceloom_formats::{
    Confidence, FORMATS, Format, LowerOptions, Probe, RaiseOptions, SliceSource, Target, by_name,
};
use traceloom_model::{Definitions, Recording, SpanRow, Value};

/// Finds the row that claims a part most surely.
fn format_of(name: &str, bytes: &[u8]) -> Option<&'static Format> {
    let probe = Probe {
        head: &bytes[..bytes.len().min(64 << 10)],
        whole: bytes.len() <= 64 << 10,
        name,
        siblings: &[],
    };
    let claim = |format: &&'static Format| Some(((format.probe)(&probe)?, *format));
    let best = FORMATS
        .iter()
        .filter_map(claim)
        .max_by_key(|claim| claim.0)?;
    (best.0 > Confidence::Possible).then_some(best.1)
}

/// Lowers parts as one source.
fn lower(parts: &[(String, Vec<u8>)]) -> Recording {
    let mut source = SliceSource::default();
    for (name, bytes) in parts {
        // As in a folder: pieces that are the middle of a string have no format of their own.
        let format = format_of(name, bytes).or_else(|| by_name("zorka-b2"));
        source = source.with(name, format.expect("a row"), bytes);
    }
    let mut recording = Recording::default();
    let lower = by_name("zorka-c").expect("a row").lower.expect("lowers");
    lower(&source, &LowerOptions::default(), &mut recording).expect("lowers");
    recording
}

fn folder(path: &str, keep: impl Fn(&str) -> bool) -> Option<Vec<(String, Vec<u8>)>> {
    let names = corpus::files(path)?;
    names
        .into_iter()
        .filter(|name| !name.contains("expected") && keep(name))
        .map(|name| Some((name.clone(), corpus::file(&name)?)))
        .collect()
}

fn value(recording: &Recording, value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{:?}", recording.text(*text)),
        Value::List(_, values) => {
            let all: Vec<_> = values
                .iter()
                .map(|one| self::value(recording, one))
                .collect();
            format!("[{}]", all.join(", "))
        }
        Value::Map(pairs) => {
            let one = |(k, v): &(Value, Value)| {
                format!(
                    "{}: {}",
                    self::value(recording, k),
                    self::value(recording, v)
                )
            };
            let all: Vec<_> = pairs.iter().map(one).collect();
            format!("{{{}}}", all.join(", "))
        }
        Value::I64(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

fn line(recording: &Recording, span: &SpanRow<'_>) -> String {
    let mut out = String::new();
    let name = span.function.map(|id| recording.function_name(id));
    let _ = write!(
        out,
        "{}{} {:?} start={} dur={}",
        "  ".repeat(span.depth as usize),
        name.as_deref().unwrap_or("?"),
        span.status,
        span.start,
        span.duration()
    );
    for (_, calls) in span.counters {
        let _ = write!(out, " calls={calls}");
    }
    if let Some(kind) = span.kind {
        let _ = write!(out, " kind={}", recording.text(kind));
    }
    if span.entry {
        out.push_str(" entry");
    }
    if let Some(context) = span.context {
        let _ = write!(
            out,
            " trace={:x} span={:x} parent={:x}",
            context.trace, context.span, context.parent
        );
    }
    for attribute in span.attributes {
        let key = recording.attribute_key(attribute.key).expect("a key");
        let from = if attribute.from.is_some() { "^" } else { "" };
        let _ = write!(
            out,
            " {from}{}={}",
            recording.text(key.name),
            value(recording, &attribute.value)
        );
    }
    let mut exception = span.exception;
    while let Some(id) = exception {
        let row = recording.exception(id).expect("an exception");
        let text = |id: Option<_>| id.map_or("-".into(), |id| recording.text(id));
        let _ = write!(out, " !{}: {}", text(row.class), text(row.message));
        let mut stack = row.stack;
        while let Some(id) = stack {
            let row = recording.stack(id).expect("a stack");
            let frame = recording.frame(row.frame).expect("a frame");
            let name = recording.function_name(frame.function.expect("a function"));
            let _ = write!(out, " @{name}:{}", frame.line);
            stack = row.parent;
        }
        exception = row.cause;
    }
    out
}

fn show(recording: &Recording) -> Vec<String> {
    recording
        .spans
        .iter()
        .map(|span| line(recording, &span))
        .collect()
}

/// Returns the lines of the spans that `keep` keeps.
fn some(recording: &Recording, keep: impl Fn(&SpanRow<'_>) -> bool) -> Vec<String> {
    let spans = recording.spans.iter().filter(|span| keep(span));
    spans.map(|span| line(recording, &span)).collect()
}

fn notes(recording: &Recording) -> Vec<(&'static str, usize)> {
    let mut counted: Vec<(&'static str, usize)> = Vec::new();
    for note in recording.notes.kept() {
        match counted.iter_mut().find(|(kind, _)| *kind == note.kind) {
            Some((_, count)) => *count += 1,
            None => counted.push((note.kind, 1)),
        }
    }
    counted
}

/// Returns the statistics by method.
fn statistics(recording: &Recording) -> Vec<(String, Vec<i64>)> {
    let mut all = Vec::new();
    for row in recording.samples.iter().flat_map(|batch| batch.iter()) {
        let stack = recording.stack(row.stack.expect("a stack")).expect("a row");
        let frame = recording.frame(stack.frame).expect("a row");
        let name = recording.function_name(frame.function.expect("a function"));
        all.push((name.into_owned(), row.values.to_vec()));
    }
    all
}

fn statistic(recording: &Recording, name: &str) -> Vec<i64> {
    let all = statistics(recording);
    let found = all.into_iter().find(|(known, _)| known == name);
    found.expect("the method has statistics").1
}

#[test]
fn an_agents_posts_with_their_401_give_each_trace_once() {
    let Some(parts) = folder("zorka/gen-c-agent-local", |_| true) else {
        return;
    };
    let dump = |name: &str| name.ends_with("requests.jsonl");
    let only_dump: Vec<_> = parts.iter().filter(|part| dump(&part.0)).cloned().collect();
    let only_files: Vec<_> = parts
        .iter()
        .filter(|part| !dump(&part.0))
        .cloned()
        .collect();
    for (parts, headers) in [(&parts, true), (&only_dump, true), (&only_files, false)] {
        let recording = lower(parts);
        let calls = some(&recording, |span| span.entry);
        assert_eq!(calls.len(), 13, "{calls:#?}");
        let roots = some(&recording, |span| span.parent.is_none());
        assert_eq!(
            roots.len(),
            8,
            "five HTTP, three JOB; each SQL is inside its HTTP"
        );
        assert_eq!(recording.spans.len(), 40);
        let first = &roots[0];
        assert!(
            first.starts_with(
                "demo.App.handle Complete start=1795224958102000000 dur=32339217 calls=60 kind=HTTP"
            ),
            "{first}"
        );
        assert!(first.contains(" http.url=\"/a?q=1\" http.status_code=\"200\""));
        assert_eq!(
            first.contains("trace=6cea28287df5a54cf3200c7e17ae39e8"),
            headers
        );
        // Its SQL was posted alone three times: answered 401, again, and in here.
        assert_eq!(
            statistic(&recording, "demo.App.dao"),
            [5, 0, 22_393_758, 22_393_758, 1_047_181, 17_462_021]
        );
        let tracks: std::collections::HashSet<_> = recording.spans.track.iter().collect();
        assert_eq!(tracks.len(), 1, "all on the thread main");
        let track = recording.track(recording.spans.track[0]).expect("a track");
        assert_eq!(
            track.name.map(|name| recording.text(name)).as_deref(),
            Some("main")
        );
        assert_eq!(track.id, Some(1));
    }
}

#[test]
fn errors_are_the_records_that_failed() {
    let Some(parts) = folder("zorka/gen-c-agent-local", |_| true) else {
        return;
    };
    let recording = lower(&parts);
    let errors = some(&recording, |span| {
        span.entry && span.status == traceloom_model::SpanStatus::Error
    });
    // Every root has bit 0x08 in its flags; two have 0x1000.
    assert_eq!(errors.len(), 2, "{errors:#?}");
    assert!(errors[0].contains("http.url=\"/boom\""));
    assert!(
        errors[1].contains(
            " !java.lang.NullPointerException: null @demo.App.nullMsg:14 @demo.App.main:19"
        )
    );
    let thrown = "!java.lang.IllegalArgumentException: root cause @demo.App.deep:11 @demo.App.deep:11 @demo.App.deep:11 @demo.App.fail:10 @demo.App.handle:6 @demo.App.main:18";
    let shared = some(&recording, |_| true);
    let shared = shared.iter().filter(|line| line.contains(thrown)).count();
    assert_eq!(shared, 2, "thrown once, rethrown by reference once");
}

#[test]
fn chunks_are_one_stream_in_the_order_of_their_numbers() {
    for (path, stem, spans) in [
        ("zorka/seedgen", "/s0-le-chunked", 21),
        ("zorka/gen-b-driver", "/b-chunked", 13),
    ] {
        let Some(parts) = folder(path, |name| name.contains(stem)) else {
            return;
        };
        let whole: Vec<_> = parts
            .iter()
            .filter(|p| !p.0.contains(".chunk"))
            .cloned()
            .collect();
        let chunks: Vec<_> = parts
            .iter()
            .filter(|p| !p.0.ends_with("chunked.bin") && !p.0.ends_with("chunked.trc.bin"))
            .cloned()
            .collect();
        assert!(chunks.len() > 8 && chunks.len() < parts.len(), "{path}");
        let expected = show(&lower(&whole));
        assert_eq!(expected.len(), spans);
        let joined = lower(&chunks);
        assert_eq!(show(&joined), expected, "{path}");
        assert_eq!(notes(&joined), [], "{path}");
        let both = lower(&parts);
        assert_eq!(show(&both), expected, "{path}: the chunks repeat the whole");
        assert_eq!(notes(&both), [("repeated_chunks", 1)]);
    }
}

#[test]
fn seed_records_count_ticks_of_40_bits_and_methods_of_24() {
    let Some(parts) = folder("zorka/seedgen", |name| name.contains("/s0")) else {
        return;
    };
    for generation in ["/s0-", "/s0b-"] {
        let of = |name: &str| {
            let parts: Vec<_> = parts
                .iter()
                .filter(|p| p.0.contains(&format!("{generation}le-{name}.")))
                .cloned()
                .collect();
            assert_eq!(parts.len(), 2, "a capture and its symbols");
            show(&lower(&parts))
        };
        assert_eq!(
            of("highbits"),
            [
                "  #8388608 Complete start=1535753661000655360 dur=262144 calls=1",
                "#8388607 Complete start=1535753661000000000 dur=917504 calls=2 kind=HTTP entry",
            ]
        );
        assert_eq!(
            of("longcalls"),
            ["#40 Complete start=1535753657000000000 dur=327745536 calls=20000001 kind=HTTP entry"]
        );
        assert_eq!(
            of("calls-threshold"),
            [
                "#42 Complete start=1535753658000000000 dur=327745536 calls=16777215 kind=HTTP entry",
                "#43 Complete start=1535753659000000000 dur=327745536 calls=16777216 kind=HTTP entry",
            ]
        );
        assert_eq!(
            of("upattr"),
            [
                "  #31 Complete start=1535753656000000000 dur=589824 calls=1",
                "#30 Complete start=1535753656000000000 dur=589824 calls=2 kind=HTTP entry ^URI=\"up\" ^URI=\"any\"",
            ]
        );
        let wrapped = "!java.lang.IllegalStateException: wrapped: café @DrvS0.boom:22 @DrvS0.main:34 !java.lang.NumberFormatException: For input string: \"x1\" @java.lang.NumberFormatException.forInputString:67 @java.lang.Integer.parseInt:668 @java.lang.Integer.parseInt:786 @DrvS0.boom:22 @DrvS0.main:34";
        let exceptions = of("exception");
        assert!(exceptions[0].ends_with(wrapped), "{}", exceptions[0]);
        assert!(exceptions[1].ends_with(wrapped), "{}", exceptions[1]);
        assert!(!exceptions[2].contains('!'), "{}", exceptions[2]);
        assert_eq!(
            of("nested-attrs")[1],
            "    #11259375 Complete start=1535753654020643840 dur=196608 calls=1 RATIO=F64(1.5) RATIO=F64(0.25) LIST=[1, \"two\", 3, Null] MAP={\"k\": 1, 2: \"v\"} OK=Bool(true) NIL=Null NEG=-70000 NEG=-9223372036854775807 NEG=4294967296"
        );
    }
}

#[test]
fn legal_streams_that_the_original_readers_refuse_lower() {
    let Some(driver) = folder("zorka/gen-b-driver", |name| {
        name.contains("/b-floats") || name.contains("/b-upattr")
    }) else {
        return;
    };
    assert_eq!(
        show(&lower(&driver)),
        [
            "com.app.Web.handle Complete start=1556700003000000000 dur=327680 calls=1 entry misc=F64(1.5) misc=F64(0.25)",
            "  com.app.Svc.run Complete start=1556700001000000000 dur=327680 calls=1",
            "com.app.Web.handle Complete start=1556700001000000000 dur=589824 calls=2 entry ^http.url=\"upward\" ^http.url=\"upward-any\"",
        ]
    );
    let writer = folder("zorka/gen-c-writer", |name| {
        name.contains("containers") || name.contains("agd")
    });
    assert_eq!(
        show(&lower(&writer.expect("the corpus is there"))),
        [
            "com.myapp.MyClass.myMethod Complete start=1000000 dur=10 calls=1 kind=HTTP entry trace=0 span=9 parent=0 http.url=[1, 2] http.url={1: 2}",
            "com.myapp.MyClass.myMethod Complete start=1000000 dur=10 calls=1 kind=HTTP entry trace=0 span=9 parent=0 http.url=[\"ab\", 300]",
        ]
    );
}

#[test]
fn an_enclosing_record_that_never_ends_is_partial() {
    let Some(parts) = folder("zorka/gen-b-agent-streaming", |name| {
        name.contains("/000") || name.contains("/001")
    }) else {
        return;
    };
    let recording = lower(&parts);
    let partial = some(&recording, |span| span.parent.is_none());
    assert_eq!(
        partial,
        ["#106 PartialEnd start=1795224963579815424 dur=1506410496 entry"]
    );
    assert_eq!(recording.spans.len(), 7);
    assert_eq!(notes(&recording), [("open_records", 1)]);
}

#[test]
fn a_dump_and_its_bodies_as_files_are_the_same_posts() {
    let Some(parts) = folder("zorka/zico", |name| !name.ends_with(".jsonl")) else {
        return;
    };
    assert_eq!(parts.len(), 3);
    assert_eq!(
        show(&lower(&parts)),
        [
            "org.apache.catalina.core.StandardEngineValve.invoke Complete start=1556820267280000000 dur=6225920 calls=1 entry trace=7f128efec83c68ec733c1116ad0c9105 span=0 parent=0 component=\"http\" http.url=\"/index.jsp\" http.header.in.x-some-header.0=\"xxx\" http.status_code=\"200\" http.method=\"GET\" http.header.out.x-other-header.0=\"yyy\""
        ]
    );
}

/// Raises a recording as a format.
fn raise(recording: &Recording, to: &str, variant: Option<&str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = RaiseOptions {
        variant: variant.map(str::to_owned),
        ..RaiseOptions::default()
    };
    let raise = by_name(to).expect("a row").raise.expect("raises");
    let mut target = raise(&options, &mut bytes).expect("a variant");
    replay(recording, target.as_mut());
    target.finish().expect("written");
    drop(target);
    bytes
}

/// Pushes a recording into a sink again.
fn replay(recording: &Recording, sink: &mut dyn Target) {
    sink.begin(recording.order, recording.clock);
    macro_rules! rows {
        ($($table:ident $id:ident)*) => {
            Definitions {
                $($table: recording.$table.iter().enumerate().filter_map(|(at, row)| {
                    let id = traceloom_model::$id::new(u32::try_from(at).ok()?);
                    Some((id, row.clone()?))
                }).collect(),)*
            }
        };
    }
    let definitions = rows! {
        strings StringId resources ResourceId tracks TrackId classes ClassId functions FunctionId
        mappings MappingId frames FrameId stacks StackId value_types ValueTypeId
        profiles ProfileId event_types EventTypeId series SeriesId exceptions ExceptionId
        attribute_keys AttrKeyId
    };
    assert!(sink.define(definitions).is_continue());
    assert!(sink.spans(recording.spans.clone()).is_continue());
}

#[test]
fn the_processed_trace_says_what_the_raw_ones_said() {
    for path in [
        "zorka/seedgen",
        "zorka/gen-c-agent-local",
        "zorka/gen-b-driver",
    ] {
        let Some(parts) = folder(path, |_| true) else {
            return;
        };
        let raw = lower(&parts);
        let processed = raise(&raw, "zorka-c", Some("typed"));
        let again = lower(&[("all.bin".to_owned(), processed.clone())]);
        // Trace ids travel in headers; a span id without one stays.
        let plain = |recording: &Recording| -> Vec<String> {
            show(recording)
                .iter()
                .map(|line| without_trace_id(line))
                .collect()
        };
        assert_eq!(plain(&again), plain(&raw), "{path}");
        assert_eq!(statistics(&again).len(), statistics(&raw).len());
        for (name, row) in statistics(&raw) {
            assert_eq!(statistic(&again, &name), row, "{path} {name}");
        }
        assert!(
            raise(&again, "zorka-c", Some("typed")) == processed,
            "{path}: canonical"
        );
    }
}

fn without_trace_id(line: &str) -> String {
    let words = line
        .split(' ')
        .filter(|word| !word.starts_with("trace=") && *word != "span=0" && *word != "parent=0");
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_variant_is_read_back_and_written_the_same() {
    let Some(parts) = folder("zorka/seedgen", |name| name.contains("/s0-")) else {
        return;
    };
    let raw = lower(&parts);
    for (to, variant, start) in [
        ("zorka-s0", None, &[0xd8, 0x0b, 0x9f, 0x48]),
        ("zorka-s0", Some("be"), &[0xd8, 0x0a, 0x9f, 0x48]),
        ("zorka-s0", Some("seed-literal"), &[0xd8, 0x0b, 0x9f, 0x48]),
        ("zorka-b2", None, &[0xc8, 0x9f, 0xca, 0x48]),
        ("zorka-b2", Some("le"), &[0xc8, 0x9f, 0xcb, 0x48]),
    ] {
        let first = raise(&raw, to, variant);
        assert!(
            first.windows(4).any(|four| four == start),
            "{to} {variant:?}"
        );
        let format = format_of("all.bin", &first).expect("claimed");
        assert_eq!(format.name, to);
        let again = lower(&[("all.bin".to_owned(), first.clone())]);
        assert_eq!(notes(&again), [], "{to} {variant:?}");
        assert_eq!(again.spans.len(), raw.spans.len());
        assert_eq!(again.spans.depth, raw.spans.depth);
        for (again, raw) in again.spans.iter().zip(raw.spans.iter()) {
            assert_eq!(again.duration() / 65_536, raw.duration() / 65_536, "{to}");
            assert_eq!(again.counters.len(), raw.counters.len());
            assert_eq!(again.counters[0].1, raw.counters[0].1);
            assert_eq!(again.attributes.len(), raw.attributes.len());
            assert_eq!(again.exception.is_some(), raw.exception.is_some());
        }
        let second = raise(&again, to, variant);
        let third = lower(&[("all.bin".to_owned(), second.clone())]);
        assert!(
            raise(&third, to, variant) == second,
            "{to} {variant:?}: canonical"
        );
        if to == "zorka-s0" {
            let lines = show(&again);
            assert!(
                lines
                    .iter()
                    .any(|line| line.contains("MAP={\"k\": 1, 2: \"v\"}"))
            );
            assert!(
                lines
                    .iter()
                    .any(|line| line.contains("!java.lang.NumberFormatException"))
            );
            assert!(lines.iter().any(|line| line.contains("^URI=\"up\"")));
        }
        if variant == Some("seed-literal") {
            assert!(first.windows(2).any(|two| two == [0xcc, 0xa1]));
            assert!(!first.windows(3).any(|three| three == [0xc9, 0xa1, 0x02]));
        }
    }
}
