//! Datakit bundles as people have them: a folder, a zip archive, recorded requests with compressed files.
#![allow(
    clippy::disallowed_methods,
    reason = "a test writes the files it opens"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use traceloom_formats::{LowerOptions, by_name, datakit};
use traceloom_input::{Input, OpenOptions};
use traceloom_model::Recording;

const METRICS: &str = r#"[["go_num_goroutine",26]]"#;

fn event(service: &str) -> String {
    format!(
        r#"{{"attachments":["metrics.json"],"tags_profiler":"service:{service},language:golang","start":"2024-01-01T00:00:00Z","end":"2024-01-01T00:01:00Z"}}"#
    )
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// The services of the bundles at a path, and the goroutines their metrics report.
fn services(path: &Path) -> Vec<(String, bool)> {
    let input =
        Input::open(path.to_str().expect("a path"), &OpenOptions::default()).expect("an input");
    let mut found = Vec::new();
    for document in input.documents() {
        assert_eq!(
            document.format(),
            by_name("datakit"),
            "{:?}",
            document
                .members()
                .map(|(_, part)| &part.part.name)
                .collect::<Vec<_>>()
        );
        let lower = document
            .format()
            .and_then(|format| format.lower)
            .expect("a lowering");
        let mut recording = Recording::default();
        lower(&document, &LowerOptions::default(), &mut recording).expect("readable");
        for profile in datakit::profiles(&recording, false) {
            let metrics = datakit::metrics(&recording, &profile);
            found.push((
                profile.service,
                metrics.get("prof_go_num_goroutine").is_some(),
            ));
        }
    }
    found.sort();
    found
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).expect("in memory");
    packed.finish().expect("in memory")
}

fn multipart(service: &str) -> Vec<u8> {
    let head = "Content-Disposition: form-data; name=";
    let mut body = format!(
        "--b\r\n{head}\"event\"; filename=\"event.json\"\r\n\r\n{}",
        event(service)
    )
    .into_bytes();
    body.extend(
        format!("\r\n--b\r\n{head}\"metrics.json\"; filename=\"metrics.json\"\r\n\r\n").bytes(),
    );
    body.extend(gzip(METRICS.as_bytes()));
    body.extend(b"\r\n--b--\r\n");
    body
}

#[test]
fn a_folder_is_a_bundle_and_compression_of_a_file_changes_nothing() {
    let folder = scratch("bundle-folder");
    std::fs::write(folder.join("event.json"), event("a")).expect("written");
    std::fs::write(folder.join("metrics.json"), gzip(METRICS.as_bytes())).expect("written");
    std::fs::write(folder.join("code-provenance.txt"), "kept, not read").expect("written");
    assert_eq!(services(&folder), [("a".to_owned(), true)]);
}

#[test]
fn a_recorded_body_opens_its_compressed_files() {
    let folder = scratch("bundle-body");
    let file = folder.join("upload.multipart");
    std::fs::write(&file, multipart("m")).expect("written");
    assert_eq!(services(&file), [("m".to_owned(), true)]);
}

#[test]
fn two_recordings_in_a_folder_do_not_mix() {
    let folder = scratch("bundle-two");
    std::fs::write(folder.join("1.multipart"), multipart("one")).expect("written");
    std::fs::write(folder.join("2.multipart"), multipart("two")).expect("written");
    assert_eq!(
        services(&folder),
        [("one".to_owned(), true), ("two".to_owned(), true)]
    );
}

#[test]
fn a_body_that_is_compressed_as_a_whole_is_opened() {
    let folder = scratch("bundle-encoded");
    let post = |target: &str, body: &[u8]| {
        let head = format!(
            "POST {target} HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let file = folder.join("upload.http");
    let recorded = post("/profiling/v1/input", &gzip(&multipart("m")));
    std::fs::write(&file, recorded).expect("written");
    assert_eq!(services(&file), [("m".to_owned(), true)]);
    let body = format!(
        "--b\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"metrics.json\"\r\n\r\n{METRICS}\r\n--b--\r\n"
    );
    let target = "/ingest?name=shop&from=1700000000&until=1700000010&spyName=gospy";
    std::fs::write(&file, post(target, &gzip(body.as_bytes()))).expect("written");
    assert_eq!(services(&file), [("shop".to_owned(), true)]);
}
