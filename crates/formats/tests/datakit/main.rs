//! Datakit: profile points with their contradictions, bundles, metrics, flame graphs; and the other JSON
//! profiles: speedscope, Chrome's `.cpuprofile`, stackprof and Go's metrics.

mod bundles;
#[path = "../corpus/mod.rs"]
mod corpus;
mod flame;
mod ingest;
mod json_profiles;
mod metrics;
mod points;

use traceloom_formats::{
    Confidence, FORMATS, Format, LowerOptions, Part, Probe, Pull, SlicePull, Source, by_name,
};
use traceloom_model::Recording;

fn lower(name: &str, file: &str, bytes: &[u8]) -> Recording {
    let format = by_name(name).expect("a format");
    let source = Memory::new(&[(file, bytes)], Some(format));
    let mut recording = Recording::default();
    (format.lower.expect("a lowering"))(&source, &LowerOptions::default(), &mut recording)
        .expect("readable");
    recording
}

struct Memory<'m> {
    parts: Vec<Part>,
    bytes: Vec<&'m [u8]>,
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
