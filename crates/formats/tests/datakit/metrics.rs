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
