//! Datakit: profile points with their contradictions, bundles, metrics, flame graphs, and the JSON formats
//! that come with them.

mod corpus;

use std::collections::BTreeMap;

use traceloom_formats::datakit::{
    self, Metadata, Profile, Sample, SampleValue, TimeUnit, TraceFunc,
};
use traceloom_formats::lineproto::{Dialect, FieldValue, Line, Lines, OwnedPoint, Writer};
use traceloom_formats::{
    Chunk, Confidence, FORMATS, Format, LowerOptions, Part, Probe, Pull, RaiseOptions, Records,
    SlicePull, Source, by_name, read_slice,
};
use traceloom_model::{Limits, Recording};

fn profile() -> Profile {
    Profile {
        profile_id: "cq6r".into(),
        agent_ver: "1.65.0".into(),
        endpoint: "GET /movies".into(),
        service: "go-profiling-demo".into(),
        env: "prod".into(),
        version: "v1.2".into(),
        start: 1_723_123_941_746_316_117,
        end: 1_723_124_001_866_316_117,
        duration: 60_120_000_000,
        host: "node-1".into(),
        pid: "31145".into(),
        language: "golang".into(),
        runtime: "go".into(),
        runtime_os: "linux".into(),
        runtime_arch: "amd64".into(),
        format: "pprof".into(),
        ..Profile::default()
    }
}

fn written(point: &OwnedPoint) -> String {
    let mut out = Vec::new();
    Writer::new(&mut out, Dialect::Influx).point(point);
    String::from_utf8(out).expect("text")
}

fn parsed(line: &str) -> OwnedPoint {
    let chunk = Chunk {
        bytes: line.as_bytes(),
        offset: 0,
        eof: true,
    };
    match Lines::new(chunk, usize::MAX).next() {
        Some(Line::Point(point)) => OwnedPoint::from(point),
        other => panic!("{line}: {other:?}"),
    }
}

fn from_line(line: &str) -> Profile {
    Profile::from_point(&parsed(line), &Limits::default())
}

#[test]
fn the_specification_s_example_line() {
    let line = written(&profile().to_point(TimeUnit::Micros, false));
    assert_eq!(
        line,
        "profile,endpoint=GET\\ /movies,env=prod,host=node-1,language=golang,runtime=go,runtime_arch=amd64,runtime_os=linux,service=go-profiling-demo,version=v1.2 profile_id=\"cq6r\",agent_ver=\"1.65.0\",start=1723123941746316i,end=1723124001866316i,duration=60120000i,pid=\"31145\",format=\"pprof\" 1723123941746316117\n"
    );
    let read = from_line(&line);
    assert_eq!(
        (read.start, read.duration),
        (1_723_123_941_746_316_117, 60_120_000_000)
    );
    assert_eq!(
        read.end, 1_723_124_001_866_316_000,
        "microseconds are what the point holds"
    );
    let exact = written(&profile().to_point(TimeUnit::Nanos, false));
    assert_eq!(from_line(&exact), profile());
}

#[test]
fn c1_endpoint_is_a_tag_and_read_from_either_home() {
    let point = profile().to_point(TimeUnit::Micros, false);
    assert!(point.tags.iter().any(|(key, _)| key == b"endpoint"));
    assert!(!point.fields.iter().any(|(key, _)| key == b"endpoint"));
    assert_eq!(
        from_line("profile profile_id=\"a\",endpoint=\"field\"\n").endpoint,
        "field"
    );
    assert_eq!(
        from_line("profile,endpoint=tag profile_id=\"a\",endpoint=\"field\"\n").endpoint,
        "tag"
    );
}

#[test]
fn c2_language_is_a_tag() {
    assert_eq!(
        from_line("profile profile_id=\"a\",language=\"Golang\"\n").language,
        "golang"
    );
    let point = profile().to_point(TimeUnit::Micros, false);
    assert!(
        point
            .tags
            .contains(&(b"language".to_vec(), b"golang".to_vec()))
    );
}

#[test]
fn c3_runtime_has_three_spellings() {
    for line in [
        "profile,runtime=jvm profile_id=\"a\"\n",
        "profile,Runtime=jvm profile_id=\"a\"\n",
        "profile profile_id=\"a\",runtime=\"jvm\"\n",
    ] {
        let read = from_line(line);
        assert_eq!(read.runtime, "jvm", "{line}");
        assert!(
            read.tags.is_empty(),
            "{line}: an alias is no tag of its own"
        );
    }
}

#[test]
fn c4_os_and_architecture_are_tags_or_fields() {
    let read = from_line("profile profile_id=\"a\",runtime_os=\"linux\",runtime_arch=\"arm64\"\n");
    assert_eq!(
        (read.runtime_os.as_str(), read.runtime_arch.as_str()),
        ("linux", "arm64")
    );
    let point = profile().to_point(TimeUnit::Micros, false);
    for key in [&b"runtime_os"[..], b"runtime_arch"] {
        assert!(point.tags.iter().any(|(known, _)| known == key));
    }
}

#[test]
fn c5_times_are_read_by_their_size_and_duration_by_theirs() {
    let micros = from_line(
        "profile profile_id=\"a\",start=1723123941746316i,end=1723124001866316i,duration=60120000i\n",
    );
    assert_eq!(
        (micros.start, micros.duration),
        (1_723_123_941_746_316_000, 60_120_000_000)
    );
    let nanos = from_line(
        "profile profile_id=\"a\",start=1723123941746316117i,end=1723124001866316117i,duration=60120000000i\n",
    );
    assert_eq!(
        (nanos.start, nanos.duration),
        (1_723_123_941_746_316_117, 60_120_000_000)
    );
    // A long duration in microseconds is no nanoseconds, and alone it is microseconds.
    let alone = from_line("profile profile_id=\"a\",duration=60120000000i 5000\n");
    assert_eq!((alone.start, alone.duration), (5000, 60_120_000_000_000));
    // Floored, and not the difference of the floored ends.
    let odd = Profile {
        start: 1_999,
        end: 3_001,
        duration: 1_002,
        ..profile()
    };
    let point = odd.to_point(TimeUnit::Micros, false);
    let field = |key: &[u8]| {
        point
            .fields
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value.clone())
    };
    assert_eq!(field(b"duration"), Some(FieldValue::I64(1)));
    assert_eq!(
        (field(b"start"), field(b"end")),
        (Some(FieldValue::I64(1)), Some(FieldValue::I64(3)))
    );
    let before = Profile {
        start: -1,
        ..profile()
    };
    let point = before.to_point(TimeUnit::Micros, false);
    assert!(
        point
            .fields
            .contains(&(b"start".to_vec(), FieldValue::I64(-1))),
        "towards minus infinity"
    );
}

fn sample() -> Sample {
    Sample {
        values: vec![SampleValue {
            kind: "cpu".into(),
            value: 10_000_000,
            unit: "nanoseconds".into(),
        }],
        span_id: "18446744073709551615".into(),
        root_span_id: "7".into(),
        trace_endpoint: "GET /a \"b\"".into(),
        labels: BTreeMap::from([("k".into(), "v\n".into())]),
        stack_trace: vec![TraceFunc {
            name: "main.work".into(),
            file: "main.go".into(),
            line: 12,
        }],
    }
}

#[test]
fn c6_optional_keys_are_text_fields_and_samples_only_on_request() {
    let full = Profile {
        language_ver: "1.22".into(),
        oss_path: vec!["a/b".into(), "c".into()],
        metrics: BTreeMap::from([("prof_go_gcs_per_sec".into(), "0.5".into())]),
        samples: BTreeMap::from([("cpu-time".into(), vec![sample(), sample()])]),
        ..profile()
    };
    let line = written(&full.to_point(TimeUnit::Nanos, true));
    assert_eq!(from_line(&line), full);
    let plain = written(&full.to_point(TimeUnit::Nanos, false));
    assert!(!plain.contains("samples="), "samples outgrow a field");
    assert!(plain.contains("oss_path=\"[\\\"a/b\\\",\\\"c\\\"]\""));
}

#[test]
fn c7_samples_are_one_or_many() {
    let one = r#"profile profile_id="a",samples="{\"cpu\":{\"values\":[{\"type\":\"cpu\",\"value\":5,\"unit\":\"ns\"}]}}""#;
    let many = r#"profile profile_id="a",samples="{\"cpu\":[{\"values\":[{\"type\":\"cpu\",\"value\":5,\"unit\":\"ns\"}]}]}""#;
    assert_eq!(from_line(one).samples, from_line(many).samples);
    assert_eq!(from_line(one).samples["cpu"][0].values[0].value, 5);
}

#[test]
fn c8_agent_version_has_aliases_in_order() {
    let line =
        "profile profile_id=\"a\",profiler_version=\"3\",library_ver=\"2\",agent_ver=\"1\"\n";
    assert_eq!(from_line(line).agent_ver, "1");
    assert_eq!(
        from_line("profile profile_id=\"a\",profiler_version=\"3\",library_ver=\"2\"\n").agent_ver,
        "2"
    );
    assert_eq!(
        from_line("profile profile_id=\"a\",profiler_version=\"3\"\n").agent_ver,
        "3"
    );
}

#[test]
fn c9_pid_is_text_and_read_as_number_or_alias() {
    for line in [
        "profile profile_id=\"a\",pid=\"1234\"\n",
        "profile profile_id=\"a\",pid=1234i\n",
        "profile profile_id=\"a\",process_id=1234i\n",
        "profile,process_id=1234 profile_id=\"a\"\n",
    ] {
        assert_eq!(from_line(line).pid, "1234", "{line}");
    }
}

const SEED: &str = r#"{
    "unit": "毫秒",
    "available_dimension": [
        "method",
        "package",
        "line",
        "thread"
    ],
    "dimension": "method",
    "root_frame": {
        "value": 10000,
        "method": "List TaskProcessor.processTasks(List, int, TimeUnit, TaskMethod)",
        "line": 239,
        "sub_frame": [
            {
                "value": 3000,
                "method": "Unsafe.park(boolean, long)",
                "line": 319,
                "sub_frame": [],
                "thread": "",
                "modifier": "",
                "library": "Standard Library",
                "package": "com.sun.management.internal",
                "class": "PlainSocketImpl"
            },
            {
                "value": 7000,
                "method": "SocketInputStream.socketRead0(FileDescriptor, byte[], int, int, int)",
                "line": 403,
                "sub_frame": [],
                "thread": "",
                "modifier": "",
                "library": "Standard Library",
                "package": "com.sun.management.internal",
                "class": "SocketInputStream"
            }
        ],
        "thread": "",
        "modifier": "public",
        "library": "Standard Library",
        "package": "com.sun.management.internal",
        "class": "PlainSocketImpl"
    }
}"#;

fn lower(name: &str, file: &str, bytes: &[u8]) -> Recording {
    let format = by_name(name).expect("a format");
    let source = Memory::new(&[(file, bytes)], Some(format));
    let mut recording = Recording::default();
    (format.lower.expect("a lowering"))(&source, &LowerOptions::default(), &mut recording)
        .expect("readable");
    recording
}

fn flame(recording: &Recording, variant: &str) -> serde_json::Value {
    let options =
        traceloom_formats::flamejson::Options::of_variant(Some(variant)).expect("a variant");
    let document =
        traceloom_formats::flamejson::write_recording(recording, &options).expect("a graph");
    serde_json::from_slice(&document).expect("JSON")
}

#[test]
fn the_seed_s_example_returns_unchanged_and_means_what_it_says() {
    let mut records = Records::default();
    let format = by_name("flamegraph-json").expect("a format");
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        SEED.as_bytes(),
        &mut records,
    );
    assert_eq!(records.written(), SEED.as_bytes());
    assert!(records.notes().is_empty());
    let recording = lower("flamegraph-json", "f.json", SEED.as_bytes());
    let values: Vec<_> = recording.samples[0]
        .iter()
        .map(|row| row.values[0])
        .collect();
    assert_eq!(
        values,
        [3_000_000_000, 7_000_000_000],
        "milliseconds become nanoseconds"
    );
}

#[test]
fn c10_root_frame_is_one_object_and_a_list_is_read() {
    let list = r#"{"unit":"ns","dimension":"method","root_frame":[{"value":3,"method":"a","sub_frame":[{"value":1,"method":"b"}]},{"value":4,"method":"c"}]}"#;
    let recording = lower("flamegraph-json", "f.json", list.as_bytes());
    let written = flame(&recording, "");
    assert_eq!(written["root_frame"]["value"], 7);
    let names: Vec<_> = written["root_frame"]["sub_frame"]
        .as_array()
        .expect("children")
        .iter()
        .map(|frame| frame["method"].as_str())
        .collect();
    assert_eq!(names, [Some("c"), Some("a")], "largest first");
}

#[test]
fn c11_source_files_are_written_when_known_and_dimensions_follow_the_data() {
    let recording = lower(
        "flamegraph-json",
        "f.json",
        r#"{"unit":"ns","root_frame":{"value":3,"method":"a","source_file":"a.py","line":4,"sub_frame":[]}}"#.as_bytes(),
    );
    let written = flame(&recording, "");
    let frame = &written["root_frame"]["sub_frame"][0];
    assert_eq!(frame["source_file"], "a.py");
    assert_eq!(
        written["available_dimension"],
        serde_json::json!(["method", "line"])
    );
    let seed = lower("flamegraph-json", "f.json", SEED.as_bytes());
    let written = flame(&seed, "class");
    assert_eq!(written["dimension"], "class");
    assert_eq!(
        written["available_dimension"],
        serde_json::json!(["method", "package", "line", "class", "library"])
    );
    // The root and its first child are of one class: equal neighbours are one node.
    let top = &written["root_frame"]["sub_frame"][0];
    assert_eq!(
        (&top["class"], &top["value"]),
        (
            &serde_json::json!("PlainSocketImpl"),
            &serde_json::json!(10_000_000_000_i64)
        )
    );
    assert_eq!(top["sub_frame"].as_array().map(Vec::len), Some(1));
    let shown = flame(&seed, "method,unit=ms,lang=zh");
    assert_eq!(
        (&shown["unit"], &shown["root_frame"]["value"]),
        (&serde_json::json!("毫秒"), &serde_json::json!(10_000))
    );
}

#[test]
fn c12_language_is_written_in_lower_case_and_compared_in_any() {
    let language = |text: &str| {
        let profile = Profile {
            language: text.into(),
            ..profile()
        };
        let point = profile.to_point(TimeUnit::Micros, false);
        let tag = point.tags.into_iter().find(|(key, _)| key == b"language");
        String::from_utf8(tag.expect("a language").1).expect("text")
    };
    assert_eq!(language("Java"), "java");
    assert_eq!(language("Golang"), "golang");
    assert_eq!(language("COBOL"), "unknown");
}

#[test]
fn c13_newer_fields_are_kept() {
    let line = "profile,service=s profile_id=\"a\",runtime_id=\"r\",profiler=\"ddtrace\",runtime_version=\"17\",runtime_compiler=\"hotspot\",__file_size=77i,start=1i,end=2i,duration=1i,pid=\"1\" 1000\n";
    let read = from_line(line);
    assert_eq!(read.extra["runtime_id"], "r");
    assert_eq!(read.file_size, Some(77));
    let again = from_line(&written(&read.to_point(TimeUnit::Micros, false)));
    assert_eq!(again, read);
}

#[test]
fn a_key_is_never_tag_and_field_at_once() {
    let full = Profile {
        tags: BTreeMap::from([("pid".into(), "9".into()), ("team".into(), "x".into())]),
        ..profile()
    };
    let point = full.to_point(TimeUnit::Micros, false);
    let both = point
        .tags
        .iter()
        .filter(|(key, _)| point.fields.iter().any(|(field, _)| field == key));
    assert_eq!(both.count(), 0);
    assert!(point.tags.contains(&(b"team".to_vec(), b"x".to_vec())));
}

#[test]
fn every_point_parses_back_to_the_same_profile_through_the_model() {
    let full = Profile {
        language_ver: "1.22".into(),
        oss_path: vec!["a/b".into()],
        metrics: BTreeMap::from([("m".into(), "0.5".into())]),
        tags: BTreeMap::from([("team".into(), "a, b=c".into())]),
        samples: BTreeMap::from([("cpu-time".into(), vec![sample()])]),
        file_size: Some(5),
        ..profile()
    };
    let line = written(&full.to_point(TimeUnit::Nanos, true));
    let format = by_name("line-protocol").expect("a format");
    let source = Memory::new(&[("p.lp", line.as_bytes())], Some(format));
    let mut out = Vec::new();
    let options = RaiseOptions {
        variant: Some("ns,samples".into()),
    };
    let mut target = (format.raise.expect("a writer"))(&options, &mut out).expect("a target");
    (format.lower.expect("a lowering"))(&source, &LowerOptions::default(), target.as_mut())
        .expect("readable");
    target.finish().expect("written");
    drop(target);
    assert_eq!(String::from_utf8(out).expect("text"), line);
}

struct Memory<'m> {
    parts: Vec<Part>,
    bytes: Vec<&'m [u8]>,
}

impl<'m> Memory<'m> {
    /// Parts with the format that detection finds, or with one for all.
    fn new(files: &[(&str, &'m [u8])], format: Option<&'static Format>) -> Self {
        let part = |(name, bytes): &(&str, &'m [u8])| Part {
            name: (*name).to_owned(),
            format: format.or_else(|| detect(name, bytes)),
            size: Some(bytes.len() as u64),
        };
        Self {
            parts: files.iter().map(part).collect(),
            bytes: files.iter().map(|(_, bytes)| *bytes).collect(),
        }
    }
}

fn detect(name: &str, bytes: &[u8]) -> Option<&'static Format> {
    let probe = Probe {
        head: bytes,
        whole: true,
        name,
        siblings: &[],
    };
    let answers = FORMATS
        .iter()
        .filter_map(|format| Some(((format.probe)(&probe)?, *format)));
    let best = answers.filter(|(confidence, _)| *confidence > Confidence::Possible);
    best.max_by_key(|(confidence, _)| *confidence)
        .map(|(_, format)| format)
}

impl Source for Memory<'_> {
    fn parts(&self) -> &[Part] {
        &self.parts
    }

    fn open(
        &self,
        part: usize,
        offset: u64,
    ) -> Result<Box<dyn Pull + '_>, traceloom_formats::Error> {
        Ok(Box::new(SlicePull::new(self.bytes[part], offset)))
    }
}

fn bundle(files: &[(&str, &[u8])]) -> Recording {
    let source = Memory::new(files, None);
    let format = by_name("datakit").expect("a format");
    let groups = (format.set.expect("a set"))(source.parts());
    assert_eq!(
        groups,
        [(0..files.len()).collect::<Vec<_>>()],
        "one bundle of all files, metadata first"
    );
    let mut recording = Recording::default();
    (format.lower.expect("a lowering"))(&source, &LowerOptions::default(), &mut recording)
        .expect("readable");
    recording
}

fn total(recording: &Recording, name: &str) -> Option<i64> {
    let mut found = None;
    for batch in &recording.samples {
        let row = recording.profile(batch.profile).expect("a profile");
        for (column, &id) in row.value_types.iter().enumerate() {
            let kind = recording.value_type(id).expect("a value type");
            if recording.text(kind.name) == name {
                let sum: i64 = batch.iter().map(|sample| sample.values[column]).sum();
                found = Some(found.unwrap_or(0) + sum);
            }
        }
    }
    found
}

const GO_EVENT: &str = r#"{"attachments":["cpu.pprof","delta-heap.pprof","delta-mutex.pprof","delta-block.pprof","goroutines.pprof","metrics.json"],"tags_profiler":"service:movies,env:prod,version:v1,host:node-1,language:golang,runtime:go,pid:31145,runtime_os:linux,runtime_arch:amd64,team:core","start":"2024-08-09T13:32:21.746316117Z","end":"2024-08-09T13:33:21.746316117Z","family":"golang","format":"pprof","version":"4"}"#;

fn go_bundle() -> Option<Recording> {
    let names = [
        "cpu.pprof",
        "delta-heap.pprof",
        "delta-mutex.pprof",
        "delta-block.pprof",
        "goroutines.pprof",
        "metrics.json",
    ];
    let mut files = Vec::new();
    for name in names {
        let bytes = corpus::file(&format!("datakit/dk_go_{name}"))?;
        let mut plain = Vec::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            use std::io::Read as _;
            flate2::read::MultiGzDecoder::new(&bytes[..])
                .read_to_end(&mut plain)
                .expect("gzip");
        } else {
            plain = bytes;
        }
        files.push((name, plain));
    }
    let mut parts: Vec<(&str, &[u8])> = vec![("event.json", GO_EVENT.as_bytes())];
    parts.extend(files.iter().map(|(name, bytes)| (*name, bytes.as_slice())));
    Some(bundle(&parts))
}

#[test]
fn a_go_bundle_has_datakit_s_totals_under_datakit_s_names() {
    let Some(recording) = go_bundle() else { return };
    let expected = [
        ("cpu-time", 6_070_000_000),
        ("alloc-samples", 535),
        ("alloc-space", 16_699_978),
        ("heap-live-objects", 55_422),
        ("heap-space", 18_585_974),
        ("mutex", 1_603_409),
        ("block", 1_136_108_787_243),
        ("goroutines", 25),
    ];
    for (name, value) in expected {
        assert_eq!(total(&recording, name), Some(value), "{name}");
    }
    let facts = datakit::profiles(&recording, true);
    assert_eq!(facts.len(), 1, "one recording, one profile");
    let facts = &facts[0];
    assert_eq!(
        (
            facts.service.as_str(),
            facts.version.as_str(),
            facts.pid.as_str()
        ),
        ("movies", "v1", "31145")
    );
    assert_eq!(facts.tags["team"], "core");
    let linked = facts.samples["cpu-time"]
        .iter()
        .filter(|sample| !sample.span_id.is_empty());
    assert_eq!(linked.count(), 222);
    let endpoints = facts.samples["cpu-time"]
        .iter()
        .filter(|sample| !sample.trace_endpoint.is_empty());
    assert_eq!(endpoints.count(), 222);
}

#[test]
fn go_metrics_are_reported_or_derived() {
    let Some(recording) = go_bundle() else { return };
    let facts = datakit::profiles(&recording, false).remove(0);
    let metrics = datakit::metrics(&recording, &facts);
    let value = |name: &str| metrics.get(name).cloned();
    assert_eq!(
        value("prof_go_num_goroutine"),
        Some(FieldValue::I64(26)),
        "reported wins"
    );
    assert_eq!(
        value("prof_go_gc_pause_time"),
        Some(FieldValue::F64(0.000_009_653_467_931_308_03))
    );
    assert_eq!(
        value("prof_go_blocked_time"),
        Some(FieldValue::I64(1_136_108_787_243))
    );
    assert_eq!(
        value("prof_go_mutex_delay_time"),
        Some(FieldValue::I64(1_603_409))
    );
    assert_eq!(
        value("prof_go_lifetime_heap_bytes"),
        Some(FieldValue::I64(18_585_974))
    );
    let Some(FieldValue::F64(cores)) = value("prof_go_cpu_cores") else {
        panic!("cores");
    };
    assert!((cores - 6.07 / 60.0).abs() < 1e-9, "{cores}");
    let Some(FieldValue::F64(bytes)) = value("prof_go_alloc_bytes_total") else {
        panic!("bytes");
    };
    assert!(
        (bytes - 232_769.733_333_333_34 * 60.0).abs() < 1.0,
        "{bytes}"
    );
    let point = metrics.to_point(&facts);
    assert_eq!(point.measurement, b"profiling_metrics");
    assert_eq!(point.time, Some(facts.end));
}

#[test]
fn nothing_divides_by_zero() {
    let recording = lower(
        "go-metrics",
        "metrics.json",
        br#"[["go_alloc_bytes_per_sec",5],["go_gc_pause_time",0.5]]"#,
    );
    for language in ["golang", "java", "python"] {
        let facts = Profile {
            start: 5,
            end: 5,
            language: language.into(),
            ..Profile::default()
        };
        for (name, value) in datakit::metrics(&recording, &facts).values {
            assert!(
                !matches!(value, FieldValue::F64(float) if !float.is_finite()),
                "{name}"
            );
            assert!(
                !name.ends_with("_per_sec")
                    || name == "prof_go_alloc_bytes_per_sec"
                    || name == "prof_jvm_context_switches_per_sec",
                "{name} without a duration"
            );
        }
    }
}

#[test]
fn a_python_bundle_has_all_event_types_and_links() {
    let Some(bytes) = corpus::file("datakit/dk_ddtrace_python.pprof") else {
        return;
    };
    let mut plain = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        use std::io::Read as _;
        flate2::read::MultiGzDecoder::new(&bytes[..])
            .read_to_end(&mut plain)
            .expect("gzip");
    } else {
        plain = bytes;
    }
    let event = br#"{"attachments":["auto.pprof"],"tags_profiler":"service:demo,runtime:CPython","start":"2024-08-21T08:55:59.430203Z","end":"2024-08-21T16:57:03.430203+08:00","family":"python","version":"4"}"#;
    let recording = bundle(&[("up/event.json", event), ("up/auto.pprof", &plain)]);
    assert_eq!(total(&recording, "wall-time"), Some(132_095_573_542));
    assert_eq!(total(&recording, "heap-space"), Some(24_367_668));
    let facts = datakit::profiles(&recording, false).remove(0);
    assert_eq!(facts.language, "python");
    assert_eq!(
        facts.duration, 64_000_000_000,
        "offsets of the times are read"
    );
    let metrics = datakit::metrics(&recording, &facts);
    let Some(FieldValue::F64(cores)) = metrics.get("prof_python_cpu_cores").cloned() else {
        panic!("cores");
    };
    assert!((cores - 7.990_188_678 / 64.0).abs() < 1e-9, "{cores}");
    assert_eq!(
        metrics.get("prof_python_wall_time"),
        Some(&FieldValue::I64(132_095_573_542))
    );
    let threads = flame(&recording, "thread,value=wall-time");
    assert_eq!(threads["root_frame"]["value"], 132_095_573_542_i64);
    // Deeper than serde_json follows: read by our own reader.
    let options = traceloom_formats::flamejson::Options::of_variant(Some("value=wall-time"));
    let graph =
        traceloom_formats::flamejson::write_recording(&recording, &options.expect("a variant"));
    let again = lower("flamegraph-json", "f.json", &graph.expect("a graph"));
    assert_eq!(total(&again, "value"), Some(132_095_573_542));
}

#[test]
fn jvm_metrics_are_datakit_s_own() {
    let Some(bytes) = corpus::file("datakit/dk_ddtrace_main.jfr") else {
        return;
    };
    let event = br#"{"attachments":["main.jfr"],"tags_profiler":"service:demo,language:jvm","start":"2024-08-08T15:47:06Z","end":"2024-08-08T15:49:07Z","family":"java","format":"jfr","version":"4"}"#;
    let recording = bundle(&[("event.json", event), ("main.jfr", &bytes)]);
    let facts = datakit::profiles(&recording, false).remove(0);
    let metrics = datakit::metrics(&recording, &facts);
    let int = |name: &str| match metrics.get(name) {
        Some(FieldValue::I64(value)) => *value,
        other => panic!("{name}: {other:?}"),
    };
    let float = |name: &str| match metrics.get(name) {
        Some(FieldValue::F64(value)) => *value,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(int("prof_jvm_throws_total"), 1157);
    assert_eq!(int("prof_jvm_lifetime_heap_objects"), 143);
    assert_eq!(int("prof_jvm_lifetime_heap_bytes"), 35_138_456);
    assert_eq!(int("prof_jvm_max_gc_pause_time"), 15_854_015);
    assert_eq!(int("prof_jvm_gc_pause_time"), 52_231_494);
    assert_eq!(int("prof_jvm_compilation_time"), 591_968_297);
    assert_eq!(int("prof_jvm_socket_io_max_read_time"), 84_878_274);
    assert_eq!(int("prof_jvm_socket_io_max_read_bytes"), 5);
    assert_eq!(int("prof_jvm_socket_io_read_time"), 5_214_817_242);
    assert_eq!(int("prof_jvm_socket_io_read_bytes"), 890);
    let near = |name: &str, expected: f64| {
        let value = float(name);
        assert!(
            (value - expected).abs() <= expected.abs() * 1e-6,
            "{name}: {value} is not {expected}"
        );
    };
    near("prof_jvm_cpu_cores", 26.64 / 121.0);
    near("prof_jvm_alloc_bytes_total", 230_031_991.844_369_9);
    near("prof_jvm_allocs_per_sec", 5_387_135.504_516_959 / 121.0);
    near("prof_jvm_direct_alloc_bytes_per_sec", 131_072.0 / 121.0);
    near("prof_jvm_context_switches_per_sec", 9_601.539_388_020_834);
    near("prof_jvm_threads_created_per_sec", 70.0 / 121.0);
}

#[test]
fn metadata_merges_by_the_rules() {
    let event = br#"{"tags_profiler":"service:a,url:http://x:80/,:odd,flag,version:","sub_custom_tags":"team:x,service:b","version":"4","host":"from-top","endpoint_counts":{"GET /":1,"x":[1,2]},"attachments":["a","b"],"n":123456789012345678}"#;
    let metadata = Metadata::from_event(event, &Limits::default());
    assert_eq!(
        metadata.get("service"),
        "b",
        "the sender's own tags override"
    );
    assert_eq!(
        metadata.get("url"),
        "http://x:80/",
        "only the first colon splits"
    );
    assert_eq!(metadata.get(":odd"), "");
    assert_eq!(
        metadata.get("version"),
        "",
        "the document's version is not the service's"
    );
    assert_eq!(metadata.get("host"), "from-top");
    assert_eq!(metadata.get("endpoint_counts"), "{\"GET /\":1,\"x\":[1,2]}");
    assert_eq!(
        metadata.get("n"),
        "123456789012345678",
        "integers stay exact"
    );
    assert_eq!(metadata.attachments, ["a", "b"]);
}

/// What a reader of requests finds: member names and contents.
fn members(name: &str, recording: &[u8]) -> Vec<(String, Vec<u8>)> {
    let format = by_name(name).expect("a format");
    assert_eq!(
        detect("r.http", recording).map(|format| format.name),
        Some(name)
    );
    let mut records = Records::default();
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        recording,
        &mut records,
    );
    assert_eq!(records.written(), recording);
    let mut pull = SlicePull::new(recording, 0);
    let members =
        (format.members.expect("members"))(&mut pull, &Limits::default()).expect("readable");
    let content = |pieces: &[(u64, u32)]| {
        let piece =
            |&(at, length): &(u64, u32)| &recording[at as usize..at as usize + length as usize];
        pieces.iter().flat_map(piece).copied().collect::<Vec<u8>>()
    };
    members
        .into_iter()
        .map(|member| (member.name, content(&member.pieces)))
        .collect()
}

const METRICS: &str = r#"[["go_num_goroutine",26]]"#;

fn facts_of(name: &str, recording: &[u8]) -> (Profile, Recording) {
    let recording = lower(name, "r.http", recording);
    (datakit::profiles(&recording, false).remove(0), recording)
}

#[test]
fn a_multipart_body_is_a_bundle_in_any_order_of_parts() {
    let part = |name: &str, content: &str| {
        format!(
            "--xyz\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}.json\"\r\nContent-Type: application/json\r\n\r\n{content}\r\n"
        )
    };
    let event = r#"{"attachments":["metrics.json"],"tags_profiler":"service:s,language:golang","start":"2024-01-01T00:00:00Z","end":"2024-01-01T00:01:00Z"}"#;
    for parts in [
        [part("event", event), part("metrics", METRICS)],
        [part("metrics", METRICS), part("event", event)],
    ] {
        let body = format!("{}--xyz--\r\n", parts.concat());
        let mut found = members("datakit-request", body.as_bytes());
        found.sort();
        assert_eq!(
            found,
            [
                ("event.json".to_owned(), event.as_bytes().to_vec()),
                ("metrics.json".to_owned(), METRICS.as_bytes().to_vec())
            ]
        );
        let (facts, recording) = facts_of("datakit-request", body.as_bytes());
        assert_eq!(
            (facts.service.as_str(), facts.duration),
            ("s", 60_000_000_000)
        );
        assert_eq!(
            datakit::metrics(&recording, &facts).get("prof_go_num_goroutine"),
            Some(&FieldValue::I64(26))
        );
        assert_eq!(recording.notes.total(), 0, "{:?}", recording.notes.kept());
    }
}

#[test]
fn the_older_form_has_no_event_file() {
    let value = |name: &str, content: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
    };
    let body = [
        value("tags[]", "service:old"),
        value("tags[]", "host:h:1"),
        value("recording-start", "2022-06-17T09:20:07.002305+08:00"),
        value("recording-end", "2022-06-17T09:21:08.261768Z"),
        value("runtime", "JAVA"),
        value("format", "jfr"),
        format!("--b\r\nContent-Disposition: form-data; name=\"metrics\"; filename=\"metrics.json\"\r\n\r\n{METRICS}\r\n--b--\r\n"),
    ]
    .concat();
    // Sent in chunks, with its head: every cut of the chunks is in a member.
    let chunks: String = body
        .as_bytes()
        .chunks(37)
        .map(|chunk| {
            format!(
                "{:x}\r\n{}\r\n",
                chunk.len(),
                std::str::from_utf8(chunk).expect("ASCII")
            )
        })
        .collect();
    let request = format!(
        "POST /profiling/v1/input HTTP/1.1\r\nHost: node.example.com\r\nContent-Type: multipart/form-data; boundary=\"b\"\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"
    );
    for recording in [body.as_bytes(), request.as_bytes()] {
        let found = members("datakit-request", recording);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["form", "metrics.json"]);
        assert_eq!(found[1].1, METRICS.as_bytes());
        let (facts, _) = facts_of("datakit-request", recording);
        assert_eq!(
            (
                facts.service.as_str(),
                facts.host.as_str(),
                facts.language.as_str()
            ),
            ("old", "h:1", "java")
        );
        assert_eq!(facts.start, 1_655_428_807_002_305_000);
        assert_eq!(facts.end, 1_655_457_668_261_768_000);
    }
}

#[test]
fn pyroscope_requests_of_one_session_are_one_bundle() {
    let request = |config: Option<&str>, until: u32| {
        let config = config.map_or_else(String::new, |config| format!("--q\r\nContent-Disposition: form-data; name=\"sample_type_config\"; filename=\"sample_type_config.json\"\r\n\r\n{config}\r\n"));
        let body = format!(
            "--q\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\n\r\n{METRICS}\r\n{config}--q--\r\n"
        );
        format!(
            "POST /ingest?name=shop%7B__session_id__%3D77%2Cenv%3Dprod%7D&from=1700000000&until={until}&spyName=gospy&sampleRate=100 HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=q\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let recording = [
        request(None, 1_700_000_010),
        request(
            Some(r#"{"alloc_objects":{"units":"objects"}}"#),
            1_700_000_010,
        ),
        request(
            Some(r#"{"contentions":{"display-name":"mutex_count"}}"#),
            1_700_000_010,
        ),
        request(
            Some(r#"{"delay":{"display-name":"block_duration"}}"#),
            1_700_000_010,
        ),
        request(Some(r#"{"goroutine":{}}"#), 1_700_000_020),
    ]
    .concat();
    let names: Vec<String> = members("pyroscope-ingest", recording.as_bytes())
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.ends_with(".pprof"))
        .collect();
    assert_eq!(
        names,
        [
            "request-1/cpu.pprof",
            "request-1/delta-heap.pprof",
            "request-1/delta-mutex.pprof",
            "request-1/delta-block.pprof",
            "request-2/goroutines.pprof"
        ]
    );
    let (facts, _) = facts_of("pyroscope-ingest", recording.as_bytes());
    assert_eq!(
        (
            facts.service.as_str(),
            facts.env.as_str(),
            facts.language.as_str()
        ),
        ("shop", "prod", "golang")
    );
    assert_eq!(
        (facts.start, facts.end),
        (1_700_000_000_000_000_000, 1_700_000_010_000_000_000)
    );
}

#[test]
fn the_positional_form_reads_back() {
    let seed = lower("flamegraph-json", "f.json", SEED.as_bytes());
    let options =
        traceloom_formats::flamejson::Options::of_variant(Some("guance-array")).expect("a variant");
    let document = traceloom_formats::flamejson::write_recording(&seed, &options).expect("a graph");
    let json: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    let root = json["data"]["rootFrame"].as_array().expect("an array");
    assert_eq!(root.len(), 16);
    assert_eq!(
        (&json["code"], &root[1], &root[3]),
        (
            &serde_json::json!(0),
            &serde_json::json!(10_000_000),
            &serde_json::json!("100.00")
        )
    );
    assert_eq!(json["data"]["dimensions"][0]["data"][0]["percent"], "70.00");
    let again = lower("flamegraph-json", "f.json", &document);
    assert_eq!(total(&again, "value"), Some(10_000_000_000));
}
