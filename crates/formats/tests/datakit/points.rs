//! Points: the contradictions C1 to C9, C12 and C13, and the way there and back.

use std::collections::BTreeMap;

use traceloom_formats::datakit::{Profile, Sample, SampleValue, TimeUnit, TraceFunc};
use traceloom_formats::lineproto::{Dialect, FieldValue, Line, Lines, OwnedPoint, Writer};
use traceloom_formats::{Chunk, LowerOptions, RaiseOptions, by_name};
use traceloom_model::Limits;

use super::Memory;

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
    assert!(!point.fields.iter().any(|(key, _)| key == b"language"));
    let both = "profile,language=java profile_id=\"a\",language=\"python\"\n";
    assert_eq!(from_line(both).language, "java", "the tag wins");
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
        let point = read.to_point(TimeUnit::Micros, false);
        assert!(point.tags.contains(&(b"runtime".to_vec(), b"jvm".to_vec())));
        assert!(
            !point
                .fields
                .iter()
                .any(|(key, _)| key.eq_ignore_ascii_case(b"runtime"))
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
        assert!(!point.fields.iter().any(|(known, _)| known == key));
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
    assert!(line.contains(
        r#"samples="{\"cpu-time\":[{\"values\":[{\"type\":\"cpu\",\"value\":10000000,\"unit\":\"nanoseconds\"}],\"span_id\":\"18446744073709551615\",\"root_span_id\":\"7\",\"trace_endpoint\":"#
    ));
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
    let again = written(&from_line(line).to_point(TimeUnit::Micros, false));
    assert!(again.contains("agent_ver=\"1\""), "{again}");
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
        let again = written(&from_line(line).to_point(TimeUnit::Micros, false));
        assert!(again.contains(",pid=\"1234\""), "{again}");
    }
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
    assert_eq!(
        from_line("profile,language=JavaScript profile_id=\"a\"\n").language,
        "nodejs"
    );
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
        ..RaiseOptions::default()
    };
    let mut target = (format.raise.expect("a writer"))(&options, &mut out).expect("a target");
    (format.lower.expect("a lowering"))(&source, &LowerOptions::default(), target.as_mut())
        .expect("readable");
    target.finish().expect("written");
    drop(target);
    assert_eq!(String::from_utf8(out).expect("text"), line);
}

#[test]
fn samples_that_are_too_long_for_a_field_go_on_in_further_points() {
    let sample = |at: i64| Sample {
        values: vec![SampleValue {
            kind: "cpu".to_owned(),
            value: at,
            unit: "nanoseconds".to_owned(),
        }],
        stack_trace: vec![TraceFunc {
            name: format!("main.step\"{at}"),
            ..TraceFunc::default()
        }],
        ..Sample::default()
    };
    let mut profile = profile();
    profile.profile_id = "p-1".to_owned();
    let events = ["cpu-time", "wall-time"];
    for event in events {
        profile
            .samples
            .insert(event.to_owned(), (0..10).map(sample).collect());
    }
    let points = profile.to_points(TimeUnit::Micros, true, 600);
    assert!(points.len() > 3, "{}", points.len());
    let text: String = points.iter().map(written).collect();
    for (at, line) in text.lines().enumerate() {
        assert!(line.contains(&format!("samples_part={}", at + 1)), "{line}");
        assert!(line.contains(&format!("samples_parts={}i", points.len())));
        assert!(line.contains("profile_id=\"p-1\""));
        let part = from_line(line);
        assert!(part.samples.values().map(Vec::len).sum::<usize>() > 0);
        assert_eq!(part.start, profile.start);
    }
    let mut read: std::collections::BTreeMap<String, Vec<Sample>> = Default::default();
    for line in text.lines() {
        for (event, samples) in from_line(line).samples {
            read.entry(event).or_default().extend(samples);
        }
    }
    assert_eq!(read, profile.samples);
    // Enough room: one point, and nothing that counts.
    let [point] = &profile.to_points(TimeUnit::Micros, true, 1 << 20)[..] else {
        panic!("one point");
    };
    assert!(!written(point).contains("samples_part"));
}

#[test]
fn no_time_is_invented() {
    for line in [
        "profile,service=a profile_id=\"x\",duration=6i\n",
        "profile,service=a profile_id=\"x\" 1723123941746316117\n",
        "profile,service=a profile_id=\"x\",start=1723123941746316i\n",
        "profile,service=a profile_id=\"x\",other=\"kept\"\n",
    ] {
        let point = from_line(line).to_point(TimeUnit::Micros, false);
        assert_eq!(written(&point), line);
    }
}

#[test]
fn an_id_follows_from_what_a_profile_holds() {
    let id = |change: fn(&mut Profile), samples| {
        let mut profile = profile();
        profile.profile_id.clear();
        change(&mut profile);
        profile.fill_id(samples);
        profile.profile_id
    };
    let first = id(|_| {}, 1);
    assert_eq!(first, id(|_| {}, 1));
    assert_ne!(first, id(|_| {}, 2));
    assert_ne!(first, id(|profile| profile.service = "other".to_owned(), 1));
    let parts: Vec<usize> = first.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12]);
    // Version 8, variant 2.
    assert_eq!(&first[14..15], "8");
    assert!("89ab".contains(&first[19..20]), "{first}");
}
