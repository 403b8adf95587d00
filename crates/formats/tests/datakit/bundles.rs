//! Bundles: files, metadata, requests as they were sent.

use traceloom_formats::datakit::{Metadata, Profile};
use traceloom_formats::lineproto::FieldValue;
use traceloom_formats::{LowerOptions, Records, SlicePull, by_name, datakit, read_slice};
use traceloom_model::{Limits, Recording};

use super::corpus;
use super::flame::flame;
use super::{bundle, detect, go_bundle, lower, total};

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
fn the_order_of_the_files_changes_nothing() {
    let part = |name: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\r\nmain;{name} 1\r\n"
        )
    };
    let event = "--b\r\nContent-Disposition: form-data; name=\"event\"; filename=\"event.json\"\r\n\r\n{\"tags_profiler\":\"service:s\"}\r\n";
    let of = |names: [&str; 4]| {
        let files = names.map(part).concat();
        let body = format!("{files}{event}--b--\r\n");
        let recording = lower("datakit-request", "r.http", body.as_bytes());
        let functions = recording.functions.iter().flatten();
        let names = functions.map(|row| recording.text(row.name).into_owned());
        names.filter(|name| name != "main").collect::<Vec<_>>()
    };
    let names = [
        "cpu.pprof",
        "delta-heap.pprof",
        "delta-mutex.pprof",
        "goroutines.pprof",
    ];
    assert_eq!(of(names), names);
    let [cpu, heap, mutex, goroutines] = names;
    assert_eq!(of([mutex, goroutines, cpu, heap]), names);
}

#[test]
fn a_field_names_a_file_whose_own_name_says_nothing() {
    let part = |field: &str, file: &str| {
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{file}\"\r\n\r\n{METRICS}\r\n"
        )
    };
    let body = [
        part("event", "event.json"),
        part("delta-mutex", "blob"),
        part("file", "delta-heap.pprof"),
        part("main", "app.jfr"),
        part("other", "../../etc/passwd"),
        "--b--\r\n".to_owned(),
    ]
    .concat();
    let names: Vec<_> = members("datakit-request", body.as_bytes())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        [
            "event.json",
            "delta-mutex",
            "delta-heap.pprof",
            "app.jfr",
            "passwd"
        ]
    );
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
fn the_last_value_of_the_older_form_ends_before_the_file_that_follows() {
    let value = |name: &str, content: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
    };
    let body = [
        value("runtime", "JAVA"),
        value("tags[]", "service:old"),
        format!("--b\r\nContent-Disposition: form-data; name=\"metrics\"; filename=\"metrics.json\"\r\n\r\n{METRICS}\r\n--b--\r\n"),
    ]
    .concat();
    let found = members("datakit-request", body.as_bytes());
    let form = &found[0].1;
    let mut records = Records::default();
    let format = by_name("datakit-request").expect("a format");
    read_slice(
        format.reader(&Limits::default()).as_mut(),
        form,
        &mut records,
    );
    assert!(records.notes().is_empty(), "{:?}", records.notes());
    let (facts, _) = facts_of("datakit-request", body.as_bytes());
    assert_eq!(facts.service, "old");
}

#[test]
fn uploads_behind_each_other_stay_profiles_of_their_own() {
    use traceloom_model::Concat;
    let upload = |service: &str, goroutines: u32, sink: &mut dyn traceloom_model::Sink| {
        let event = format!(
            r#"{{"attachments":["metrics.json"],"tags_profiler":"service:{service},language:golang","start":"2024-01-0{goroutines}T00:00:00Z","end":"2024-01-0{goroutines}T00:01:00Z"}}"#
        );
        let metrics = format!(r#"[["go_num_goroutine",{goroutines}]]"#);
        let files: [(&str, &[u8]); 2] = [
            ("up/event.json", event.as_bytes()),
            ("up/metrics.json", metrics.as_bytes()),
        ];
        let lower = by_name("datakit").and_then(|format| format.lower);
        let source = super::Memory::new(&files, None);
        lower.expect("a lowering")(&source, &LowerOptions::default(), sink).expect("readable");
    };
    let mut both = Recording::default();
    let mut concat = Concat::new(&mut both);
    upload("a", 1, &mut concat);
    concat.next_recording(2);
    upload("b", 2, &mut concat);
    let services: Vec<_> = datakit::profiles(&both, false)
        .into_iter()
        .map(|profile| profile.service)
        .collect();
    assert_eq!(services, ["a", "b"]);
    let metrics = datakit::all_metrics(&both, "");
    let goroutines: Vec<_> = metrics
        .iter()
        .map(|(_, metrics)| metrics.get("prof_go_num_goroutine").cloned())
        .collect();
    assert_eq!(
        goroutines,
        [Some(FieldValue::I64(1)), Some(FieldValue::I64(2))]
    );
    let dates: Vec<_> = both
        .events
        .time
        .iter()
        .map(|time| time / 1_000_000_000)
        .collect();
    assert_eq!(
        dates,
        [1_704_067_260, 1_704_153_660],
        "the ends of the profiles"
    );
}
