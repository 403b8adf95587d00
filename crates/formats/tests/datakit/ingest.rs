//! Pyroscope's `/ingest` as it was sent: bundles, tags, and what a server refuses.

use traceloom_formats::datakit;
use traceloom_model::{Level, Recording};

use super::{corpus, detect, lower};

const QUERY: &str = "name=shop%7Benv%3Dprod%7D&from=1700000000&until=1700000010";

fn post(query: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /ingest?{query} HTTP/1.1\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn multipart(query: &str, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let head = format!(
            "--q\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{name}\"\r\n\r\n"
        );
        body.extend([head.as_bytes(), content, b"\r\n"].concat());
    }
    body.extend(b"--q--\r\n");
    post(query, "multipart/form-data; boundary=q", &body)
}

fn read(recording: &[u8]) -> Recording {
    lower("pyroscope-ingest", "r.http", recording)
}

fn notes(recording: &Recording) -> Vec<(&'static str, Level)> {
    let notes = recording.notes.kept().iter();
    notes.map(|note| (note.kind, note.level)).collect()
}

/// Names of the value columns that samples came for.
fn columns(recording: &Recording) -> Vec<String> {
    let mut names = Vec::new();
    for batch in &recording.samples {
        let profile = recording.profile(batch.profile).expect("a profile");
        let types = profile.value_types.iter();
        let types = types.map(|&id| recording.value_type(id).expect("a type").name);
        names.extend(types.map(|name| recording.text(name).into_owned()));
    }
    names
}

#[test]
fn a_sample_type_config_is_no_attachment() {
    let config = br#"{"delay":{"units":"lock_nanoseconds","display-name":"mutex_duration"}}"#;
    let found = detect("sample_type_config", config).expect("a format");
    assert_eq!(found.name, "pyroscope-config");
    let recording = read(&multipart(
        &format!("{QUERY}&spyName=gospy"),
        &[
            ("profile", b"[[\"go_num_goroutine\",26]]"),
            ("sample_type_config", config),
        ],
    ));
    assert_eq!(notes(&recording), []);
    let setting = |profile: &traceloom_model::Profile| {
        let mut settings = profile.settings.iter();
        settings.any(|setting| {
            recording.text(recording.attribute_key(setting.key).expect("a key").name)
                == "attachment"
        })
    };
    assert!(!recording.profiles.iter().flatten().any(setting));
    assert_eq!(recording.events.len(), 1, "the file that it names was read");
}

#[test]
fn labels_of_a_plain_body_are_tags() {
    let Some(bytes) = corpus::file("datakit/parca_labels.pb.gz") else {
        return;
    };
    use std::io::Read as _;
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..])
        .read_to_end(&mut plain)
        .expect("gzip");
    let direct = lower("pprof", "p.pb", &plain);
    let mut labels = Vec::new();
    for batch in &direct.samples {
        for sample in batch.iter() {
            for label in sample.labels {
                let key = direct.attribute_key(label.key).expect("a key").name;
                let value = datakit_value(&direct, &label.value);
                labels.extend(value.map(|value| (direct.text(key).into_owned(), value)));
            }
        }
    }
    assert!(!labels.is_empty(), "the file has labels");
    let query = format!("{QUERY}&spyName=gospy&format=pprof");
    let of = |recording: &Recording| datakit::profiles(recording, false).remove(0).tags;
    let tags = of(&read(&post(&query, "binary/octet-stream", &plain)));
    for (key, _) in &labels {
        let first = labels.iter().find(|(known, _)| known == key);
        let own = ["thread_id", "thread_name", "span_id"].contains(&key.as_str());
        assert_eq!(
            tags.get(key),
            first.map(|(_, value)| value).filter(|_| !own),
            "{key}"
        );
    }
    let tags = of(&read(&multipart(&query, &[("profile", &plain)])));
    assert!(
        labels.iter().all(|(key, _)| !tags.contains_key(key)),
        "of no other body"
    );
}

fn datakit_value(recording: &Recording, value: &traceloom_model::Value) -> Option<String> {
    match value {
        traceloom_model::Value::Text(id) => Some(recording.text(*id).into_owned()),
        _ => None,
    }
}

#[test]
fn other_content_types_are_refused() {
    let body = b"main;work 3\n";
    let query = format!("{QUERY}&spyName=gospy&format=folded");
    for plain in [
        "binary/octet-stream",
        "Binary/Octet-Stream",
        "binary/octet-stream+trie",
    ] {
        let recording = read(&post(&query, plain, body));
        assert_eq!(notes(&recording), [], "{plain}");
        assert_eq!(columns(&recording), ["cpu-samples"], "{plain}");
    }
    for other in ["text/plain", "application/json", "binary/octet", ""] {
        let recording = read(&post(&query, other, body));
        assert_eq!(
            notes(&recording),
            [("content_type", Level::Damage)],
            "{other}"
        );
        assert!(recording.samples.is_empty(), "{other}");
        assert_eq!(
            datakit::profiles(&recording, false)[0].service,
            "shop",
            "{other}"
        );
    }
}

#[test]
fn a_query_without_readable_times_is_damage() {
    let body = b"main;work 3\n";
    for (query, n_bad) in [
        ("name=shop&from=1700000000&until=1700000010", 0),
        ("name=shop&from=yesterday&until=1700000010", 1),
        ("name=shop&from=1700000000&until=", 1),
        ("name=shop", 2),
    ] {
        let recording = read(&post(query, "binary/octet-stream", body));
        assert_eq!(
            notes(&recording),
            vec![("bad_time", Level::Damage); n_bad],
            "{query}"
        );
        assert_eq!(
            columns(&recording),
            ["cpu-samples"],
            "what can be read is kept"
        );
    }
}

#[test]
fn every_head_of_a_session_is_metadata() {
    let query = "name=shop%7B__session_id__%3D7%7D&from=1700000000&until=1700000010&spyName=gospy";
    let upload = |metrics: &str| multipart(query, &[("metrics.json", metrics.as_bytes())]);
    let both = [
        upload(r#"[["go_num_goroutine",26]]"#),
        upload(r#"[["go_gcs_per_sec",0.5]]"#),
    ]
    .concat();
    let recording = read(&both);
    assert_eq!(notes(&recording), []);
    assert_eq!(recording.resources.iter().flatten().count(), 1);
    assert_eq!(recording.events.len(), 2);
}

#[test]
fn node_s_three_requests_are_one_profile() {
    let upload = |kind: &str| {
        let query = format!(
            "name=shop.{kind}%7Benv%3Dprod%7D&from=1700000000&until=1700000010&spyName=nodespy"
        );
        let body = format!("main;{kind} 3\n");
        post(&query, "binary/octet-stream", body.as_bytes())
    };
    let all = ["cpu", "inuse_objects", "inuse_space"].map(upload).concat();
    let recording = read(&all);
    let profiles = datakit::profiles(&recording, false);
    let [profile] = profiles.as_slice() else {
        panic!("{} profiles", profiles.len());
    };
    assert_eq!(
        (profile.service.as_str(), profile.language.as_str()),
        ("shop", "nodejs")
    );
    let mut files: Vec<_> = recording
        .profiles
        .iter()
        .flatten()
        .flat_map(|profile| &profile.settings)
        .filter(|setting| {
            recording.text(recording.attribute_key(setting.key).expect("a key").name)
                == "attachment"
        })
        .filter_map(|setting| datakit_value(&recording, &setting.value))
        .collect();
    files.sort();
    assert_eq!(
        files,
        ["cpu.pprof", "inuse_objects.pprof", "inuse_space.pprof"]
    );
}

#[test]
fn languages_are_the_spies_own() {
    for (spy, language) in [
        ("gospy", "golang"),
        ("pyspy", "python"),
        ("rbspy", "ruby"),
        ("javaspy", "java"),
        ("pyroscope-rs", "rust"),
        ("ebpfspy", "cpp"),
        ("dotnetspy", "dotnet"),
    ] {
        let query = format!("{QUERY}&spyName={spy}");
        let recording = read(&post(&query, "binary/octet-stream", b"main;work 3\n"));
        assert_eq!(
            datakit::profiles(&recording, false)[0].language,
            language,
            "{spy}"
        );
    }
}
