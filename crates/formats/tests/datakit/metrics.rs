//! Metrics derived from bundles.

use traceloom_formats::datakit;
use traceloom_formats::datakit::Profile;
use traceloom_formats::lineproto::FieldValue;

use super::corpus;
use super::{bundle, go_bundle, lower};

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

fn plain(name: &str) -> Option<Vec<u8>> {
    let bytes = corpus::file(&format!("datakit/{name}"))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Some(bytes);
    }
    use std::io::Read as _;
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..])
        .read_to_end(&mut plain)
        .expect("gzip");
    Some(plain)
}

#[test]
fn a_bare_profile_has_the_metrics_that_it_can_tell() {
    for (file, name, expected) in [
        (
            "dk_go_delta-heap.pprof",
            "prof_go_lifetime_heap_bytes",
            18_585_974,
        ),
        (
            "dk_go_delta-mutex.pprof",
            "prof_go_mutex_delay_time",
            1_603_409,
        ),
        (
            "dk_go_delta-block.pprof",
            "prof_go_blocked_time",
            1_136_108_787_243,
        ),
        ("dk_go_goroutines.pprof", "prof_go_num_goroutine", 25),
        (
            "dk_ddtrace_python.pprof",
            "prof_python_wall_time",
            132_095_573_542,
        ),
    ] {
        let Some(bytes) = plain(file) else { return };
        let recording = lower("pprof", file, &bytes);
        let all = datakit::all_metrics(&recording, file);
        let [(_, metrics)] = all.as_slice() else {
            panic!("{file}: {all:?}");
        };
        assert_eq!(
            metrics.get(name),
            Some(&FieldValue::I64(expected)),
            "{file}"
        );
    }
    let Some(bytes) = plain("dk_go_cpu.pprof") else {
        return;
    };
    let recording = lower("pprof", "cpu.pprof", &bytes);
    let (profile, metrics) = datakit::all_metrics(&recording, "cpu.pprof").remove(0);
    let seconds = (profile.end - profile.start) as f64 / 1e9;
    let Some(FieldValue::F64(cores)) = metrics.get("prof_go_cpu_cores") else {
        panic!("{metrics:?}");
    };
    assert!(
        seconds > 1.0 && (cores * seconds - 6.07).abs() < 1e-9,
        "{cores} over {seconds}"
    );
}

#[test]
fn what_has_no_metrics_says_what_is_missing() {
    let folded = lower("folded", "a.folded", b"main;work 3\n");
    assert_eq!(datakit::all_metrics(&folded, "a.folded"), []);
    assert_eq!(
        datakit::missing(&folded, "a.folded"),
        "nothing says its language, and there are rules for Java, Go and Python"
    );
    let Some(bytes) = plain("rs_pprof-rs_profile.pb") else {
        return;
    };
    let rust = lower("pprof", "a.pb", &bytes);
    assert_eq!(datakit::all_metrics(&rust, "a.pb"), []);
    assert_eq!(
        datakit::missing(&rust, "a.pb"),
        "there are rules for Java, Go and Python, not for rust"
    );
    let Some(bytes) = plain("dk_go_delta-mutex.pprof") else {
        return;
    };
    let nameless = lower("pprof", "a.pb", &bytes);
    assert_eq!(
        datakit::all_metrics(&nameless, "a.pb"),
        [],
        "mutex or block: nothing tells"
    );
    assert!(datakit::missing(&nameless, "a.pb").ends_with("there is contentions, delay in a.pb"));
}

#[test]
fn overlapping_chunks_do_not_add_up() {
    let Some(bytes) = corpus::file("datakit/dk_ddtrace_main.jfr") else {
        return;
    };
    // Two recorders wrote a minute each, of the same minute.
    let recording = lower("jfr", "main.jfr", &bytes);
    let (profile, metrics) = datakit::all_metrics(&recording, "main.jfr").remove(0);
    let duration = profile.end - profile.start;
    assert_eq!(duration, 60_782_737_000);
    let Some(FieldValue::F64(cores)) = metrics.get("prof_jvm_cpu_cores") else {
        panic!("{metrics:?}");
    };
    assert!((cores - 26.64 / 60.782_737).abs() < 1e-9, "{cores}");
}

#[test]
fn bundles_of_one_time_share_no_event() {
    let request = |service: &str, goroutines: u32| {
        let body = format!(
            "--b\r\nContent-Disposition: form-data; name=\"event\"; filename=\"event.json\"\r\n\r\n\
             {{\"tags_profiler\":\"service:{service},language:golang\",\"start\":\"2024-01-01T00:00:00Z\",\"end\":\"2024-01-01T00:01:00Z\"}}\r\n\
             --b\r\nContent-Disposition: form-data; name=\"metrics\"; filename=\"metrics.json\"\r\n\r\n\
             [[\"go_num_goroutine\",{goroutines}]]\r\n--b--\r\n"
        );
        format!(
            "POST /profiling/v1/input HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let both = request("a", 1) + &request("b", 2);
    let recording = lower("datakit-request", "r.http", both.as_bytes());
    let all = datakit::all_metrics(&recording, "");
    let told: Vec<_> = all
        .iter()
        .map(|(profile, metrics)| (profile.service.as_str(), metrics.values.clone()))
        .collect();
    let value = |n| vec![("prof_go_num_goroutine".to_owned(), FieldValue::I64(n))];
    assert_eq!(told, [("a", value(1)), ("b", value(2))]);
}
